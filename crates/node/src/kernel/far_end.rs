//! State of the far ends of links: if they read labels, and if they still write labels.
//!
//! The BPF programs ask neighbours if they read labels, and answer such requests (`planes/bpf/far_end.h`). The tool
//! decides when a port starts announcing that it reads labels, and stops the announcements before a detach.

use super::KernelError;
use super::links::name_of;
use super::programs::{open_pinned, read};
use crate::records::{LinkState, NeighbourKey, NeighbourState, PortRecord};
use libbpf_rs::{MapCore, MapFlags};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use zerocopy::{FromBytes, IntoBytes};

/// Maximum time from the writing of a label to its arrival at the other end of the link.
const IN_FLIGHT: Duration = Duration::from_millis(500);

/// Maximum wait for the last labels before a detach. Without a new announcement, the far end writes labels for at most
/// [`NeighbourState::READ_FOR`].
const GIVE_UP: Duration = Duration::from_secs(8);

/// Time after which a silenced port answers again if the tool was killed before the detach.
const SILENCE: Duration = Duration::from_secs(30);

/// The monotonic clock, which the programs also use.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Stops the announcements of ports before a detach, and waits until no labels arrive. Calls `tell` with the name of
/// each port whose far end writes labels.
///
/// # Errors
/// Labels still arrive, or a system call fails. The ports then announce again that they read labels.
pub(super) fn fall_silent(folder: &Path, going: &[PortRecord], tell: &dyn Fn(&str)) -> Result<(), KernelError> {
    // A missing interface receives no labels.
    let going: Vec<_> = going.iter().filter_map(|record| Some((record, name_of(record.ifindex)?))).collect();
    if going.is_empty() {
        return Ok(());
    }
    let (ports, states) = (open_pinned(folder, "ports")?, open_pinned(folder, "link_states")?);
    let silent_from = now_ns();
    let be_quiet = |until_ns: u64| {
        going.iter().try_for_each(|(record, _)| {
            let record = PortRecord { quiet_until_ns: until_ns, ..**record };
            let written = ports.update(PortRecord::place(record.ifindex).as_bytes(), record.as_bytes(), MapFlags::ANY);
            written.map_err(KernelError::refused("writing map ports"))
        })
    };
    be_quiet(silent_from + SILENCE.as_nanos() as u64)?;
    for (record, name) in &going {
        if state_of(&states, record.ifindex)?.is_asked(silent_from) {
            tell(name);
        }
    }
    let begin = Instant::now();
    for (record, name) in &going {
        while state_of(&states, record.ifindex)?.may_bring_labels(silent_from, now_ns()) {
            if begin.elapsed() > GIVE_UP {
                be_quiet(0)?;
                return Err(KernelError::LabelsComeIn(name.clone()));
            }
            sleep(Duration::from_millis(20));
        }
    }
    be_quiet(now_ns() + SILENCE.as_nanos() as u64)
}

fn state_of(states: &impl MapCore, ifindex: u32) -> Result<LinkState, KernelError> {
    Ok(read(states, "link_states", PortRecord::place(ifindex).as_bytes())?.unwrap_or_default())
}

impl LinkState {
    /// Returns true if the far end may be writing labels, because this port announced that it reads them.
    fn is_asked(&self, now_ns: u64) -> bool {
        self.answered_ns != 0 && now_ns < self.answered_ns + NeighbourState::READ_FOR.as_nanos() as u64
    }

    /// Returns true if labels may still arrive at a silenced port.
    fn may_bring_labels(&self, silent_from: u64, now_ns: u64) -> bool {
        let quiet_from = silent_from.max(self.late_ns) + IN_FLIGHT.as_nanos() as u64;
        let in_flight = self.answered_ns + (NeighbourState::READ_FOR + IN_FLIGHT).as_nanos() as u64;
        now_ns < quiet_from || (self.answered_ns != 0 && now_ns < in_flight)
    }
}

/// Treatment of labels towards the far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// The port has no carrier.
    None,
    /// Labels are written, since nodes that do not know the IPv6 option skip it.
    Harmless,
    /// Labels are written, since the configuration asserts that the far end reads them.
    Asserted,
    /// There were no labels to write recently.
    Idle,
    /// Labels are written, since all neighbours announce that they read them.
    Written,
    /// No labels are written to a neighbour that does not announce that it reads them.
    Waiting,
}

impl Labels {
    /// All states for reports.
    pub const ALL: [Self; 5] = [Self::Harmless, Self::Asserted, Self::Idle, Self::Written, Self::Waiting];

    /// Name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Harmless => "harmless",
            Self::Asserted => "asserted",
            Self::Idle => "idle",
            Self::Written => "written",
            Self::Waiting => "waiting",
        }
    }

    pub(super) fn of(record: &PortRecord, neighbours: &[Neighbour]) -> Self {
        if record.carrier == 0 {
            Self::None
        } else if record.asks == 0 {
            if record.needs_reader() { Self::Asserted } else { Self::Harmless }
        } else if neighbours.iter().any(|neighbour| neighbour.waits_s.is_some()) {
            Self::Waiting
        } else if neighbours.is_empty() {
            Self::Idle
        } else {
            Self::Written
        }
    }
}

/// Warning about a port that strips labels but does not announce this.
pub const SILENT: &str =
    "reads labels and does not say so: a detach is under way, or was interrupted; attach again or detach";

impl Neighbour {
    pub(super) fn waits_in_words(&self) -> Option<String> {
        self.waits_s.map(|waits_s| format!("{self} has not said for {waits_s:.1} s that it reads them"))
    }
}

/// A neighbour to which packets were sent in the last seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Ethernet address.
    pub mac: [u8; 6],
    /// Seconds since the neighbour's announcement that it reads labels expired, or since the first request if it has
    /// never announced this. `None` while the announcement is valid, and if it answered the last request.
    pub waits_s: Option<f64>,
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.mac;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A neighbour counts as having traffic if it was asked within this time.
const LATELY: Duration = Duration::from_secs(5);

/// Returns the neighbours with traffic, with the index of the port.
pub(super) fn neighbours(folder: &Path) -> Result<Vec<(u32, Neighbour)>, KernelError> {
    let map = open_pinned(folder, "neighbours")?;
    let now = now_ns();
    let mut all = Vec::new();
    for bytes in map.keys() {
        let Ok(key) = NeighbourKey::read_from_bytes(&bytes) else { continue };
        // Another neighbour may have replaced the entry.
        let Some(state) = read::<NeighbourState>(&map, "neighbours", &bytes)? else { continue };
        if now < state.asked_ns + LATELY.as_nanos() as u64 {
            all.push((key.ifindex, Neighbour { mac: key.mac, waits_s: state.waits_s(now) }));
        }
    }
    all.sort_by_key(|(index, neighbour)| (*index, neighbour.mac));
    Ok(all)
}

impl NeighbourState {
    /// Value of [`Neighbour::waits_s`] at the time `now_ns`.
    fn waits_s(&self, now_ns: u64) -> Option<f64> {
        let is_answered = self.until_ns >= self.asked_ns + Self::READ_FOR.as_nanos() as u64;
        (self.until_ns <= now_ns && !is_answered).then(|| (now_ns - self.until_ns) as f64 * 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_neighbour_waits_from_its_last_answer_on() {
        let at = |until: u64, asked: u64| NeighbourState { until_ns: until, asked_ns: asked, ..Default::default() };
        // The neighbour was first seen at 10 s. It answers neither the first request nor the second one at 12 s.
        assert_eq!(at(10 * SECOND, 10 * SECOND).waits_s(13 * SECOND), Some(3.0));
        assert_eq!(at(10 * SECOND, 12 * SECOND).waits_s(13 * SECOND), Some(3.0));
        // The neighbour was asked at 10 s and answered, so the answer is valid until 12 s. There was no traffic
        // afterwards.
        assert_eq!(at(12 * SECOND, 10 * SECOND).waits_s(11 * SECOND), None);
        assert_eq!(at(12 * SECOND, 10 * SECOND).waits_s(13 * SECOND), None);
        // The neighbour was asked again and did not answer. Labels are written while the previous answer is valid.
        assert_eq!(at(12 * SECOND, 11 * SECOND).waits_s(11 * SECOND), None);
        assert_eq!(at(12 * SECOND, 11 * SECOND).waits_s(13 * SECOND), Some(1.0));
    }

    #[test]
    fn a_port_that_fell_silent_waits_for_what_it_promised_and_for_what_still_comes() {
        let state = |answered: u64, late: u64| LinkState { answered_ns: answered, late_ns: late, ..Default::default() };
        let ms = |ms: u64| 100 * SECOND + ms * 1_000_000;
        // The port was not asked. Labels in flight arrive within half a second.
        assert!(state(0, 0).may_bring_labels(ms(0), ms(499)) && !state(0, 0).may_bring_labels(ms(0), ms(500)));
        // The port answered at 0 ms. The far end writes labels for 2 s, and labels in flight arrive half a second
        // later.
        assert!(
            state(ms(0), 0).may_bring_labels(ms(0), ms(2499)) && !state(ms(0), 0).may_bring_labels(ms(0), ms(2500))
        );
        // A label arrived at 700 ms. Further labels may arrive in the next half second.
        assert!(
            state(0, ms(700)).may_bring_labels(ms(0), ms(1199)) && !state(0, ms(700)).may_bring_labels(ms(0), ms(1200))
        );
    }
}
