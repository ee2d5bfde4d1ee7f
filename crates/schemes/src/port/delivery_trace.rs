//! A link that follows a recorded trace of delivery opportunities, like the link of Mahimahi.
//!
//! Source: Netravali and others, Mahimahi: Accurate Record-and-Replay for HTTP, USENIX ATC 2015, section 3.2, and the
//! program itself, `src/frontend/link_queue.cc` at 18915b6, functions `rationalize` and `use_a_delivery_opportunity`.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | An opportunity delivers up to a fixed number of bytes at one time. | [`TraceCourse::transmit`] |
//! | (2) | Packets behind a short packet use the rest of its opportunity; a longer packet uses several opportunities. | [`TraceCourse::transmit`] |
//! | (3) | An opportunity is lost if no packet waits, also if a packet arrives at an idle link at the same time. | [`TraceCourse::transmit`] |
//! | (4) | The trace repeats from the time of its last opportunity. | [`OpportunityTimes::time_of`] |
//!
//! Cost: one comparison and one addition per packet and used opportunity, and a binary search after idle times. State:
//! 4 bytes per opportunity.
//!
//! Deviations:
//! 1. As on any link, the packet at the head leaves the queue when the transmitter is free, and waits there for its
//!    opportunity. In Mahimahi the packet waits in the queue, which is therefore longer by one packet. Departure times
//!    are the same.
//! 2. If a packet arrives at the time at which the previous one left the link idle, it can use the rest of the
//!    opportunity. In Mahimahi it cannot.
//! 3. An opportunity of Mahimahi has 1504 bytes, of which 4 are the header of its virtual interface; here it has 1500.

use crate::base::units::{BitRate, Time};
use std::sync::Arc;

/// Minimum rate reported to a discipline: the minimum rate of links.
const LEAST_TOLD: BitRate = BitRate(1000);

/// Times of the opportunities of a trace in whole milliseconds. The trace repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpportunityTimes(Arc<[u32]>);

impl OpportunityTimes {
    /// Creates times from non-decreasing values in ms. The last one, at which the trace repeats, must be above zero.
    #[must_use]
    pub fn new(times_ms: Vec<u32>) -> Option<Self> {
        let is_usable = times_ms.is_sorted() && times_ms.last().is_some_and(|&last| last > 0);
        is_usable.then(|| Self(times_ms.into()))
    }

    /// The times of one round in ms.
    #[must_use]
    pub fn times_ms(&self) -> &[u32] {
        &self.0
    }

    /// Duration of a round.
    #[must_use]
    pub fn period(&self) -> Time {
        Time::from_millis(u64::from(self.0[self.0.len() - 1]))
    }

    /// Time of the opportunity `number`, counted from 0 over all rounds (rule 4).
    #[must_use]
    pub fn time_of(&self, number: u64) -> Time {
        let (round, place) = (number / self.0.len() as u64, (number % self.0.len() as u64) as usize);
        Time(self.period().0.saturating_mul(round)).saturating_add(Time::from_millis(u64::from(self.0[place])))
    }

    /// Number of opportunities up to and including `time`.
    #[must_use]
    pub fn count_until(&self, time: Time) -> u64 {
        // The end of a round is the start of the next one, and counts as that start. So opportunities at zero of the
        // next round are included.
        let (round, within) = (time.0 / self.period().0, Time(time.0 % self.period().0));
        let place = self.0.partition_point(|&ms| Time::from_millis(u64::from(ms)) <= within);
        round * self.0.len() as u64 + place as u64
    }

    /// Mean rate in bit/s from `from` to `to`, with `bytes` per opportunity.
    #[must_use]
    pub fn mean_rate_bps(&self, bytes: u64, from: Time, to: Time) -> f64 {
        let opportunities = self.count_until(to) - self.count_until(from);
        (opportunities * bytes) as f64 * 8.0 / (to - from).as_secs_f64()
    }
}

/// A trace, and the rate reported to disciplines.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryTrace {
    /// Times of the opportunities.
    pub times: OpportunityTimes,
    /// Bytes on the wire per opportunity.
    pub opportunity_bytes: u64,
    /// Length of the windows whose mean rate is reported to disciplines after each window. If absent, only the initial
    /// rate is reported.
    pub told_window: Option<Time>,
}

impl DeliveryTrace {
    /// Mean rate of a round, rounded to integer bit/s.
    #[must_use]
    pub fn mean_rate(&self) -> BitRate {
        let bits = self.times.times_ms().len() as u64 * self.opportunity_bytes * 8;
        BitRate((bits as f64 / self.times.period().as_secs_f64()).round() as u64)
    }
}

/// Position in a trace.
#[derive(Clone, Debug)]
pub struct TraceCourse {
    trace: DeliveryTrace,
    /// Number of the next opportunity. `at` is the time of the last used opportunity, `bytes_left` its remaining bytes.
    next: u64,
    at: Time,
    bytes_left: u64,
    /// Number of the current window. `told` is the rate reported in this window.
    window: u64,
    told: BitRate,
}

impl TraceCourse {
    /// Starts at the beginning of a trace. `rate` is the rate initially reported.
    #[must_use]
    pub fn new(trace: DeliveryTrace, rate: BitRate) -> Self {
        Self { trace, next: 0, at: Time::ZERO, bytes_left: 0, window: 0, told: rate }
    }

    /// End of a transmission of `wire_bytes` that starts at `start`, which must not be before the end of the
    /// previous transmission.
    pub fn transmit(&mut self, wire_bytes: u32, start: Time) -> Time {
        if start > self.at {
            // No packet waited: rule (3).
            self.bytes_left = 0;
            self.next = self.next.max(self.trace.times.count_until(start));
        }
        let mut needed = u64::from(wire_bytes);
        while needed > self.bytes_left {
            needed -= self.bytes_left;
            self.bytes_left = self.trace.opportunity_bytes;
            self.at = self.trace.times.time_of(self.next);
            self.next += 1;
        }
        self.bytes_left -= needed;
        self.at
    }

    /// Rate reported to a discipline at `now`; times must not decrease.
    pub fn told_rate(&mut self, now: Time) -> BitRate {
        let Some(length) = self.trace.told_window else { return self.told };
        let window = now.0 / length.0;
        if window != self.window {
            self.window = window;
            let (from, to) = (Time((window - 1) * length.0), Time(window * length.0));
            let mean = self.trace.times.mean_rate_bps(self.trace.opportunity_bytes, from, to);
            self.told = BitRate(mean.round() as u64).max(LEAST_TOLD);
        }
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn trace(times_ms: &[u32]) -> DeliveryTrace {
        let times = OpportunityTimes::new(times_ms.to_vec()).unwrap();
        DeliveryTrace { times, opportunity_bytes: 1500, told_window: None }
    }

    fn course(times_ms: &[u32]) -> TraceCourse {
        TraceCourse::new(trace(times_ms), BitRate(1))
    }

    #[test]
    fn full_packets_leave_at_the_opportunities_and_the_trace_begins_anew_at_its_end() {
        // The opportunities are at 2, 5 and 5 ms. The trace repeats from 5 ms on: 7, 10, 10, 12 ms ...
        let mut course = course(&[2, 5, 5]);
        let mut now = Time::ZERO;
        for ms in [2, 5, 5, 7, 10, 10, 12] {
            now = course.transmit(1500, now);
            assert_eq!(now, Time::from_millis(ms));
        }
    }

    #[test]
    fn small_packets_that_wait_share_an_opportunity_and_long_ones_take_several() {
        let mut course = course(&[1]);
        // The packets of 500 and 700 bytes use 1200 of the 1500 bytes of the first opportunity. The packet of 400 bytes
        // also needs 100 bytes of the second opportunity. The packet of 4000 bytes takes 1400 + 1500 + 1100 bytes of
        // three opportunities.
        let ends = [500, 700, 400, 4000, 400].map(|bytes| {
            let at = course.at;
            course.transmit(bytes, at)
        });
        assert_eq!(ends, [1, 1, 2, 4, 4].map(Time::from_millis));
    }

    #[test]
    fn what_nobody_waits_for_is_lost() {
        let mut course = course(&[10, 20]);
        assert_eq!(course.transmit(100, Time::ZERO), Time::from_millis(10));
        // 1400 bytes were left at 10 ms. The opportunity at 20 ms is lost because the packet arrives at that time.
        assert_eq!(course.transmit(100, Time::from_millis(20)), Time::from_millis(30));
        // The idle time of 10 s is 500 rounds. The next opportunity comes 10 ms later.
        assert_eq!(course.transmit(100, Time::from_secs(10)), Time::from_millis(10_010));
    }

    #[test]
    fn opportunities_are_counted_over_rounds_as_they_come() {
        let times = OpportunityTimes::new(vec![0, 3, 3, 8]).unwrap();
        for number in 0..40 {
            let time = times.time_of(number);
            let brute = (0..60).filter(|&other| times.time_of(other) <= time).count() as u64;
            assert_eq!(times.count_until(time), brute, "{number}");
        }
        assert!(OpportunityTimes::new(vec![]).is_none());
        assert!(OpportunityTimes::new(vec![0, 0]).is_none());
        assert!(OpportunityTimes::new(vec![5, 4]).is_none());
    }

    #[test]
    fn the_told_rate_is_the_mean_of_the_window_before() {
        // The first 100 ms of each second have 8 opportunities. The rate is 8 * 12 000 bit / 0.5 s = 192 kbit/s in the
        // first window of each second, and 0 in the second window.
        let mut times: Vec<u32> = (1..=8).map(|i| i * 10).collect();
        times.push(1000);
        let mut trace = trace(&times);
        assert_eq!(trace.mean_rate(), BitRate(9 * 12_000));
        trace.told_window = Some(Time::from_millis(500));
        let mut course = TraceCourse::new(trace, BitRate(77_000));
        let mut told = |ms| course.told_rate(Time::from_millis(ms));
        assert_eq!((told(0), told(499)), (BitRate(77_000), BitRate(77_000)));
        assert_eq!(told(500), BitRate(192_000));
        // There is one opportunity from 500 to 1000 ms, exactly at the end: 12 000 bit / 0.5 s.
        assert_eq!(told(1000), BitRate(24_000));
        assert_eq!(told(1700), BitRate(192_000));
    }

    /// Computes departure times for these arrivals as in Mahimahi's source, one opportunity after the other.
    fn literal(times: &OpportunityTimes, arrivals: &[(Time, u32)]) -> Vec<Time> {
        let (mut waiting, mut to_come) = (VecDeque::new(), arrivals.iter().peekable());
        let (mut in_transit, mut left, mut number) = (0, Vec::new(), 0);
        while left.len() < arrivals.len() {
            let time = times.time_of(number);
            number += 1;
            // A packet cannot use an opportunity at or before the time of its arrival.
            while let Some((_, bytes)) = to_come.next_if(|(arrival, _)| *arrival < time) {
                waiting.push_back(*bytes);
            }
            let mut bytes_left = 1500;
            while bytes_left > 0 {
                if in_transit == 0 {
                    let Some(bytes) = waiting.pop_front() else { break };
                    in_transit = bytes;
                }
                let taken = bytes_left.min(in_transit);
                (bytes_left, in_transit) = (bytes_left - taken, in_transit - taken);
                if in_transit == 0 {
                    left.push(time);
                }
            }
        }
        left
    }

    proptest! {
        #[test]
        fn departures_are_those_of_mahimahi(
            gaps in prop::collection::vec(prop_oneof![3 => 0u32..4, 1 => 0u32..40], 1..30),
            packets in prop::collection::vec((prop_oneof![3 => 0u64..3_000, 1 => 0u64..200_000], 40u32..4000), 1..80),
        ) {
            let times: Vec<u32> = gaps.iter().scan(1, |now, gap| { *now += gap; Some(*now) }).collect();
            let times = OpportunityTimes::new(times).unwrap();
            // Arrivals are between whole milliseconds, since Mahimahi handles simultaneous events differently
            // (deviation 2).
            let arrivals: Vec<(Time, u32)> = packets
                .iter()
                .scan(0, |now, &(gap, bytes)| { *now += gap; Some((Time::from_nanos(*now * 1000 + 500), bytes)) })
                .collect();
            let trace = DeliveryTrace { times: times.clone(), opportunity_bytes: 1500, told_window: None };
            let mut course = TraceCourse::new(trace, BitRate(1));
            let mut free = Time::ZERO;
            let left: Vec<Time> = arrivals
                .iter()
                .map(|&(arrival, bytes)| { free = course.transmit(bytes, arrival.max(free)); free })
                .collect();
            prop_assert_eq!(left, literal(&times, &arrivals));
        }
    }
}
