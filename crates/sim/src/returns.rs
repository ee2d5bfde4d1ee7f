//! The way back of acknowledgements: first-in-first-out links without loss.
//!
//! Nothing can be dropped here, so the time of arrival is known when an acknowledgement is sent, and the whole way
//! back costs one event. All users share the reverse bottleneck; each has a reverse access link.

use crate::tcp::Ack;
use fairlane_schemes::units::{BitRate, Time};
use std::collections::VecDeque;

/// A FIFO link without loss.
#[derive(Clone, Debug)]
struct Pipe {
    rate: BitRate,
    delay: Time,
    busy_until: Time,
}

impl Pipe {
    /// When something of `wire_bytes` that enters at `now` reaches the far end. Entries come in the order of time.
    #[inline]
    fn pass(&mut self, wire_bytes: u32, now: Time) -> Time {
        self.busy_until = self.busy_until.max(now) + self.rate.time_of(u64::from(wire_bytes));
        self.busy_until + self.delay
    }
}

/// One user's way back.
#[derive(Clone, Debug)]
struct ReturnPath {
    access: Pipe,
    /// Acknowledgements on their way: arrival, flow, content.
    line: VecDeque<(Time, u32, Ack)>,
}

/// The ways back of all users.
#[derive(Clone, Debug)]
pub struct ReturnPaths {
    bottleneck: Pipe,
    paths: Vec<ReturnPath>,
}

impl ReturnPaths {
    /// The shared reverse bottleneck, no users yet.
    #[must_use]
    pub fn new(rate: BitRate, delay: Time) -> Self {
        Self { bottleneck: Pipe { rate, delay, busy_until: Time::ZERO }, paths: Vec::new() }
    }

    /// Adds a user with a reverse access link.
    pub fn add(&mut self, rate: BitRate, delay: Time) {
        let access = Pipe { rate, delay, busy_until: Time::ZERO };
        self.paths.push(ReturnPath { access, line: VecDeque::new() });
    }

    /// Number of users.
    #[must_use]
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether there are no users.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Sends an acknowledgement at `now`.
    #[inline]
    pub fn send(&mut self, user: u32, flow: u32, ack: Ack, wire_bytes: u32, now: Time) {
        let at_edge = self.bottleneck.pass(wire_bytes, now);
        let path = &mut self.paths[user as usize];
        path.line.push_back((path.access.pass(wire_bytes, at_edge), flow, ack));
    }

    /// When the user's next acknowledgement arrives.
    #[inline]
    pub fn next_arrival(&self, user: u32) -> Time {
        self.paths[user as usize].line.front().map_or(Time::NEVER, |&(time, ..)| time)
    }

    /// Takes the acknowledgement that arrives now: flow and content.
    #[inline]
    pub fn arrive(&mut self, user: u32) -> (u32, Ack) {
        let (_, flow, ack) = self.paths[user as usize].line.pop_front().expect("an arrival was announced");
        (flow, ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_takes_both_transmissions_and_both_delays() {
        // 54 B: 43.2 us at 10 Mbit/s, 4.32 us at 100 Mbit/s; 5 ms + 0.1 ms propagation.
        let mut returns = ReturnPaths::new(BitRate(10_000_000), Time::from_millis(5));
        returns.add(BitRate(100_000_000), Time::from_micros(100));
        let ack = Ack { ack: 1, ..Ack::default() };
        returns.send(0, 7, ack, 54, Time::ZERO);
        returns.send(0, 8, ack, 54, Time::ZERO);
        let first = Time::from_nanos(43_200 + 5_000_000 + 4_320 + 100_000);
        assert_eq!(returns.next_arrival(0), first);
        assert_eq!(returns.arrive(0).0, 7);
        // The second waits for the first at the bottleneck only: its access link is ten times faster.
        assert_eq!(returns.next_arrival(0), first + Time::from_nanos(43_200));
    }
}
