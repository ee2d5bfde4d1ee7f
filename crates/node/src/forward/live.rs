//! The forwarder on network interfaces, one thread.

use super::config::ForwardConfig;
use super::core::{Burst, Core};
use super::frame_pool::FrameId;
use super::outages::Outages;
use crate::io::{self, Asked, BATCH, Interface, Received};
use fairlane_schemes::base::units::Time;
use serde_json::{Value as Json, json};

/// A frame that is read later than this after it arrived counts as arrived this long ago: the real-time clock may step.
const OLDEST: Time = Time::from_millis(100);
/// How often it looks for signals while nothing happens: one may come just before the wait.
const LOOK: Time = Time::from_millis(50);
/// How often it reads the rings at least while frames are on their way: at a million frames a second a thousand wait.
const MOST_UNREAD: Time = Time::from_millis(1);
/// Bytes of both addresses of a frame.
const ADDRESSES: usize = 12;

/// Why the forwarder cannot run.
#[derive(Debug, thiserror::Error)]
#[error("{interface}: {problem}")]
pub struct OpenError {
    interface: String,
    problem: String,
}

impl OpenError {
    fn new(interface: &str, error: &std::io::Error) -> Self {
        let problem = match error.raw_os_error() {
            Some(libc::ENODEV) => "no such network interface".into(),
            Some(libc::EPERM) => "not permitted, the forwarder needs root or CAP_NET_RAW".into(),
            _ => error.to_string(),
        };
        Self { interface: interface.into(), problem }
    }
}

/// Forwards until a signal ends it (SIGINT, SIGTERM) or `duration` is over. `report` gets `{"ready": true}` once all ports
/// are open, then, at every SIGUSR1 and at the end, what was counted since the last time.
///
/// # Errors
/// An interface cannot be opened.
pub fn run(config: &ForwardConfig, duration: Option<Time>, mut report: impl FnMut(&Json)) -> Result<(), OpenError> {
    let frame_bytes = config.forward.frame_size.0 as usize;
    let open = |name: &str| Interface::open(name, frame_bytes, config.forward.ring);
    let names: Vec<&str> = config.ports.iter().map(|port| port.interface.as_str()).collect();
    let opened = names.iter().map(|name| open(name).map_err(|error| OpenError::new(name, &error)));
    let interfaces = opened.collect::<Result<Vec<_>, _>>()?;
    io::note_signals();
    let is_realtime = io::make_realtime(config.forward.realtime_priority);
    let outages = Outages::new(names.len());
    let mut host = Host { core: Core::new(config), interfaces, outages, start: io::monotonic(), frame_bytes };
    report(&json!({"ready": true}));
    let end = duration.unwrap_or(Time::NEVER);
    let unread = may_stay_unread(host.core.shortest_line());
    let mut descriptors = Vec::new();
    loop {
        let now = host.now();
        host.receive(now);
        host.core.run_until(now);
        host.send();
        host.outages.watch(&mut host.interfaces, &names, now, open);
        let asked = if now >= end { Some(Asked::Stop) } else { io::asked() };
        if asked.is_some() {
            report(&host.report(is_realtime));
        }
        if asked == Some(Asked::Stop) {
            return Ok(());
        }
        let (next, now) = (host.core.next().min(end), host.now());
        if next <= now {
            continue;
        }
        // Waking for an arrival costs more than forwarding it, for us and for who sent it.
        match unread.filter(|_| host.core.held() > 0) {
            Some(unread) => io::sleep_until(host.start + next.min(now + unread)),
            None => {
                if io::wait(&host.interfaces, (next - now).min(LOOK), &mut descriptors) {
                    host.note_errors();
                }
            }
        }
    }
}

/// How long frames may stay in the rings if all lines have at least this delay; `None` if they must be read at once.
///
/// Time stamps tell when frames came, and none has anything to do before the end of its line: half of the delay is left
/// for being late.
fn may_stay_unread(shortest_line: Time) -> Option<Time> {
    (shortest_line > Time::ZERO).then_some(Time(shortest_line.0 / 2).min(MOST_UNREAD))
}

struct Host {
    core: Core,
    interfaces: Vec<Interface>,
    outages: Outages,
    start: Time,
    frame_bytes: usize,
}

impl Host {
    /// Time since the start.
    #[inline]
    fn now(&self) -> Time {
        io::monotonic().saturating_sub(self.start)
    }

    #[inline]
    fn receive(&mut self, now: Time) {
        let realtime = io::realtime();
        for (port, interface) in self.interfaces.iter_mut().enumerate() {
            let core = &mut self.core;
            interface.receive(BATCH, |frame| {
                let age = Time(realtime.0.wrapping_sub(frame.at.0));
                // A stamp that is later than the reading of the clock wraps to a huge age.
                let age = if age > Time(u64::MAX / 2) { Time::ZERO } else { age.min(OLDEST) };
                arrive(core, port, &frame, now.saturating_sub(age), self.frame_bytes);
            });
        }
    }

    /// A port whose socket has an error is down; the error is taken.
    #[cold]
    fn note_errors(&mut self) {
        for port in 0..self.interfaces.len() {
            if let Some(error) = self.interfaces[port].take_error() {
                self.note_error(port, &error);
            }
        }
    }

    #[cold]
    fn note_error(&mut self, port: usize, error: &std::io::Error) {
        if self.outages.begin(port, error) {
            self.core.received(port).outages += 1;
        }
    }

    #[inline]
    fn send(&mut self) {
        while let Some(turn) = self.core.next_burst(self.now()) {
            self.send_batch(turn);
        }
    }

    #[inline]
    fn send_batch(&mut self, Burst { port, until }: Burst) {
        let mut due: [Option<(Time, FrameId)>; BATCH] = [None; BATCH];
        let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
        let mut count = 0;
        while count < BATCH
            && let Some(next) = self.core.take_due(port, until)
        {
            due[count] = Some(next);
            count += 1;
        }
        for (frame, (_, id)) in frames.iter_mut().zip(due.iter().flatten()) {
            *frame = self.core.frame(*id);
        }
        let mut sent = 0;
        let mut failed = None;
        while sent < count {
            match self.interfaces[port].send(&frames[sent..count]) {
                Ok(taken) => sent += taken.max(1),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let finished = self.now();
        if let Some(error) = failed {
            self.note_error(port, &error);
        }
        for (number, &(at, id)) in due.iter().flatten().enumerate() {
            self.core.release(id);
            let stats = self.core.sent(port);
            if number < sent {
                stats.lateness.record(finished.saturating_sub(at));
            } else {
                stats.send_errors += 1;
            }
        }
    }

    fn report(&mut self, is_realtime: bool) -> Json {
        for (port, interface) in self.interfaces.iter().enumerate() {
            self.core.received(port).kernel_drops += interface.drops();
        }
        let mut report = self.core.report();
        for (port, json) in report["ports"].as_array_mut().into_iter().flatten().enumerate() {
            json["up"] = (!self.outages.has(port)).into();
        }
        report["realtime"] = is_realtime.into();
        report["held_frames"] = self.core.held().into();
        report
    }
}

/// Hands a frame to the core, unless it cannot be passed on.
#[inline]
fn arrive(core: &mut Core, port: usize, frame: &Received<'_>, at: Time, frame_bytes: usize) {
    let tag_bytes = frame.tag.map_or(0, |tag| tag.len());
    if frame.length > frame.bytes.len() || frame.length + tag_bytes > frame_bytes {
        core.received(port).oversized += 1;
        return;
    }
    if frame.lacks_checksum {
        core.received(port).without_checksum += 1;
        return;
    }
    match (frame.tag, frame.bytes.split_at_checked(ADDRESSES)) {
        (Some(tag), Some((addresses, rest))) => {
            let mut head = [0; ADDRESSES + 4];
            head[..ADDRESSES].copy_from_slice(addresses);
            head[ADDRESSES..].copy_from_slice(&tag);
            core.arrive(port, &head, rest, at);
        }
        _ => core.arrive(port, frame.bytes, &[], at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_wait_in_the_rings_for_half_of_the_shortest_delay_and_no_more_than_a_millisecond() {
        assert_eq!(may_stay_unread(Time::ZERO), None);
        assert_eq!(may_stay_unread(Time::from_micros(300)), Some(Time::from_micros(150)));
        assert_eq!(may_stay_unread(Time::from_millis(5)), Some(Time::from_millis(1)));
    }
}
