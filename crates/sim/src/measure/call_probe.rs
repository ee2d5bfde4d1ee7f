//! Receivers of calls. Measures delay, jitter, losses, and packets that arrive in time for a playout buffer of fixed
//! delay.
//!
//! Source: RFC 3550 6.4.1 (jitter); ITU-T G.1020 clause 7.2 (de-jitter buffer of fixed size).
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `J += (abs(D) - J) / 16` | [`Call::receive`] |
//! | (2) | a packet is played `P` after it was sent, `P` = delay of the first measured packet + buffer | the same |
//! | (3) | mouth to ear: speech in a packet + look-ahead + `P` | [`Call::figures`] |
//! | (4) | a packet with the number of one of the last 64 packets is a duplicate, and ignored | [`Call::is_duplicate`] |
//!
//! Cost: a few operations per packet of a call, and 150 bytes per call.
//!
//! Deviations:
//! 1. RFC 3550 reports the jitter at the time of a report. Here it is the mean over all packets received in the
//!    measurement.
//! 2. A phone may choose a new playout delay in each pause of the speech. Here speech has no pauses, and the first
//!    packet that arrives during the measurement sets the playout delay.
//! 3. A packet counts only if its playout time is within the measurement. Packets in flight at the end are neither
//!    played nor lost.

use super::e_model::{opinion, rating};
use crate::network::sim_packet::SimPacket;
use crate::scenario::VoipParams;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::port::DelayHistogram;

/// A call at its receiver.
#[derive(Clone, Debug)]
pub struct Call {
    params: VoipParams,
    /// Start and end of the measurement.
    window: (Time, Time),
    first: Time,
    /// Number of the last packet sent among those that arrived, plus 1.
    next: u64,
    /// The last 64 numbers before `next`: a bit for each that arrived, the highest number first.
    arrived: u64,
    /// Time from sending to playing; `None` before the first measured packet.
    playout: Option<Time>,
    /// Delay of the last packet; `None` before the first.
    last_delay_s: Option<f64>,
    jitter_s: f64,
    jitter_sum_s: f64,
    /// Number of measured packets that arrived. `due` is the number of these whose playout time is before the end, and
    /// `late` is how many of `due` arrived too late.
    came: u64,
    due: u64,
    late: u64,
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallFigures {
    /// Packets to be played during the measurement.
    pub due: u64,
    /// Packets that never arrived.
    pub lost: u64,
    /// Packets that arrived too late.
    pub late: u64,
    /// Mean jitter in seconds; `None`, like the next field, if no packet arrived.
    pub jitter_s: Option<f64>,
    /// Delay from mouth to ear.
    pub mouth_to_ear: Option<Time>,
    /// Transmission rating.
    pub rating: f64,
    /// Mean opinion score.
    pub opinion: f64,
}

impl Call {
    /// Creates a call whose first packet is sent at `first`.
    #[must_use]
    pub fn new(params: VoipParams, first: Time, window: (Time, Time)) -> Self {
        Self {
            params,
            window,
            first,
            next: 0,
            arrived: 0,
            playout: None,
            last_delay_s: None,
            jitter_s: 0.0,
            jitter_sum_s: 0.0,
            came: 0,
            due: 0,
            late: 0,
        }
    }

    /// Takes note of a packet sent at `sent`. Returns true if it has arrived before (rule 4).
    fn is_duplicate(&mut self, sent: Time) -> bool {
        let number = self.sent_before(sent);
        if number >= self.next {
            let shift = u32::try_from(number + 1 - self.next).unwrap_or(u32::MAX);
            self.arrived = self.arrived.checked_shl(shift).unwrap_or(0) | 1;
            self.next = number + 1;
            return false;
        }
        let bit = u32::try_from(self.next - 1 - number).ok().and_then(|age| 1u64.checked_shl(age)).unwrap_or(0);
        let is_known = self.arrived & bit != 0;
        self.arrived |= bit;
        is_known
    }

    /// Records a packet sent at `sent` that arrives at `now`. Returns true if it was sent during the measurement and
    /// is no duplicate.
    pub fn receive(&mut self, sent: Time, now: Time) -> bool {
        if self.is_duplicate(sent) {
            return false;
        }
        let delay = now - sent;
        let delay_s = delay.as_secs_f64();
        let difference = (delay_s - self.last_delay_s.replace(delay_s).unwrap_or(delay_s)).abs();
        self.jitter_s += (difference - self.jitter_s) / 16.0;
        if sent < self.window.0 {
            return false;
        }
        let playout = *self.playout.get_or_insert(delay + self.params.buffer);
        self.came += 1;
        self.jitter_sum_s += self.jitter_s;
        if sent.saturating_add(playout) < self.window.1 {
            self.due += 1;
            self.late += u64::from(delay > playout);
        }
        true
    }

    /// Outcome of the call, or `None` if no packet was to be played during the measurement.
    #[must_use]
    pub fn figures(&self) -> Option<CallFigures> {
        let (from, end) = self.window;
        let until = end.saturating_sub(self.playout.unwrap_or(Time::ZERO)).min(self.params.until.stop.unwrap_or(end));
        let due = self.sent_before(until).saturating_sub(self.sent_before(from));
        if due == 0 {
            return None;
        }
        // `self.due` excludes packets sent before `from`, which `receive` does not count.
        let lost = due.saturating_sub(self.due);
        let mouth_to_ear = self.playout.map(|playout| self.params.coding_delay() + playout);
        let missing = (lost + self.late) as f64 / due as f64;
        let rating = mouth_to_ear.map_or(0.0, |delay| rating(self.params.codec, delay, missing));
        Some(CallFigures {
            due,
            lost,
            late: self.late,
            jitter_s: (self.came > 0).then(|| self.jitter_sum_s / self.came as f64),
            mouth_to_ear,
            rating,
            opinion: opinion(rating),
        })
    }

    /// Number of packets sent before `time`. Ignores the source's stop time.
    fn sent_before(&self, time: Time) -> u64 {
        time.saturating_sub(self.first).0.div_ceil(self.params.packet_interval.0)
    }
}

/// All calls of a run.
#[derive(Clone, Debug, Default)]
pub struct CallProbes {
    calls: Vec<(u16, Call)>,
    /// Delays of the measured packets of each group.
    delays: Vec<DelayHistogram>,
    /// Index into `calls` for each unresponsive source, in the order of sources; `u32::MAX` for sources that are not
    /// calls.
    call_of_source: Vec<u32>,
    first_flow: u32,
}

impl CallProbes {
    /// Adds the next source: a call of `group`, or `None` if the source is not a call.
    pub fn add(&mut self, group: u16, call: Option<Call>) {
        self.call_of_source.push(if call.is_some() { self.calls.len() as u32 } else { u32::MAX });
        if let Some(call) = call {
            self.calls.push((group, call));
            let delays = usize::from(group) + 1;
            self.delays.resize_with(delays.max(self.delays.len()), DelayHistogram::default);
        }
    }

    /// Sets the flow number of the first source.
    pub fn number_from(&mut self, first_flow: u32) {
        self.first_flow = first_flow;
    }

    /// Records a packet that reaches the receiver of a call.
    pub fn receive(&mut self, packet: &SimPacket, now: Time) {
        let number = self.call_of_source[(packet.flow - self.first_flow) as usize];
        let (group, call) = &mut self.calls[number as usize];
        if call.receive(packet.timestamp, now) {
            self.delays[usize::from(*group)].record(now - packet.timestamp);
        }
    }

    /// Takes over the calls of the sources for which `has_source` returns true, from the probe of another part of the
    /// same network.
    pub fn take_over(&mut self, other: &mut Self, has_source: impl Fn(usize) -> bool) {
        for (_, &call) in self.call_of_source.iter().enumerate().filter(|(source, _)| has_source(*source)) {
            if let (Some(own), Some(others)) = (self.calls.get_mut(call as usize), other.calls.get_mut(call as usize)) {
                std::mem::swap(own, others);
            }
        }
        self.delays.iter_mut().zip(&other.delays).for_each(|(own, other)| own.add(other));
    }

    /// Calls of a group, user by user.
    pub fn of_group(&self, group: u16) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |(of, _)| *of == group).map(|(_, call)| call)
    }

    /// Packet delays of a group's calls; `None` or an empty histogram if the group has no calls.
    #[must_use]
    pub fn delays(&self, group: u16) -> Option<&DelayHistogram> {
        self.delays.get(usize::from(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a call that starts at 0.5 s and sends a packet every 20 ms. The buffer is 50 ms, and the measurement
    /// lasts from 1 s to 3 s.
    fn call() -> Call {
        Call::new(VoipParams::default(), Time::from_millis(500), (Time::from_secs(1), Time::from_secs(3)))
    }

    /// Sends packets from 0.5 s to 3 s. Each arrives after the delay in ms that `delay_ms` returns, or is lost.
    fn receive(call: &mut Call, delay_ms: impl Fn(u64) -> Option<u64>) {
        for number in 0..125 {
            let sent = Time::from_millis(500 + 20 * number);
            if let Some(delay) = delay_ms(number).filter(|&delay| sent + Time::from_millis(delay) < Time::from_secs(3))
            {
                call.receive(sent, sent + Time::from_millis(delay));
            }
        }
    }

    #[test]
    fn a_call_of_equal_delays_loses_nothing() {
        let mut call = call();
        receive(&mut call, |_| Some(30));
        let figures = call.figures().expect("it was measured");
        // Packets are played 80 ms after sending. So 96 packets, sent from 1 s until just before 2.92 s, are to be
        // played in the measurement. The mouth-to-ear delay is 20 + 80 ms.
        assert_eq!((figures.due, figures.lost, figures.late), (96, 0, 0));
        assert_eq!(figures.mouth_to_ear, Some(Time::from_millis(100)));
        assert!(figures.jitter_s.is_some_and(|jitter| jitter < 1e-12));
        assert_eq!(figures.opinion, opinion(rating(VoipParams::default().codec, Time::from_millis(100), 0.0)));
    }

    #[test]
    fn what_comes_after_its_time_is_late_and_what_does_not_come_is_lost() {
        // Packets 25 to 120 should be played during the measurement, 80 ms after sending. Packet 25, with a delay of 30
        // ms, sets this playout delay. Packets 30, 40 ... 120 are lost, and packets 35, 45 ... 115 arrive 1 ms too
        // late.
        let mut call = call();
        receive(&mut call, |number| match number % 10 {
            0 => None,
            5 if number > 25 => Some(81),
            _ => Some(30),
        });
        let figures = call.figures().expect("it was measured");
        assert_eq!((figures.due, figures.lost, figures.late), (96, 10, 9));
        let expected = rating(VoipParams::default().codec, Time::from_millis(100), 19.0 / 96.0);
        assert_eq!(figures.rating, expected);
    }

    #[test]
    fn jitter_that_alternates_tends_to_its_difference() {
        // Delays alternate between 30 and 40 ms, so |D| is 10 ms. After n differences J = 10 ms * (1 - (15/16)^n). 25
        // differences precede the measurement.
        let mut call = call();
        receive(&mut call, |number| Some(30 + 10 * (number % 2)));
        // Packet 123, sent at 2.96 s with a delay of 40 ms, would arrive at 3 s. The last packet that arrives before 3
        // s is 122.
        let jitters: Vec<f64> = (25..=122).map(|n| 0.01 * (1.0 - (15.0f64 / 16.0).powi(n))).collect();
        let mean = jitters.iter().sum::<f64>() / jitters.len() as f64;
        let found = call.figures().and_then(|figures| figures.jitter_s).expect("packets came");
        assert!((found - mean).abs() < 1e-9, "{found} {mean}");
    }

    #[test]
    fn a_call_without_any_packet_is_the_worst_and_one_that_had_none_to_play_is_none() {
        let mut silent = call();
        receive(&mut silent, |_| None);
        let figures = silent.figures().expect("packets were sent");
        assert_eq!((figures.due, figures.lost, figures.opinion), (100, 100, 1.0));
        let late = Call::new(VoipParams::default(), Time::from_secs(3), (Time::from_secs(1), Time::from_secs(3)));
        assert_eq!(late.figures(), None);
    }
}
