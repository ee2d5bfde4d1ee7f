//! The rate of a link: constant, or stepwise by a schedule; and how long packets take at it.

use crate::base::units::{BitRate, Time};

/// A rate with the time of the last length asked for: lengths repeat, and a comparison is cheaper than a division.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate: BitRate,
    bytes: u64,
    time: Time,
}

impl Serialiser {
    /// At `rate`, which must not be zero.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Self { rate, bytes: 0, time: Time::ZERO }
    }

    /// The rate.
    #[must_use]
    #[inline]
    pub fn rate(&self) -> BitRate {
        self.rate
    }

    /// As [`BitRate::time_of`].
    #[inline]
    pub fn time_of(&mut self, bytes: u64) -> Time {
        if bytes != self.bytes {
            (self.bytes, self.time) = (bytes, self.rate.time_of(bytes));
        }
        self.time
    }
}

/// Rate of a link over time.
#[derive(Clone, Debug)]
pub struct LinkRate {
    current: Serialiser,
    /// Changes still to come, the next one last.
    changes: Vec<(Time, BitRate)>,
}

impl LinkRate {
    /// `initial` until the first of `changes`, which come in the order of time.
    #[must_use]
    pub fn new(initial: BitRate, changes: &[(Time, BitRate)]) -> Self {
        Self { current: Serialiser::new(initial), changes: changes.iter().rev().copied().collect() }
    }

    /// When a transmission of `wire_bytes` that starts at `start` ends. Starts must not decrease.
    #[inline]
    pub fn transmit(&mut self, wire_bytes: u32, start: Time) -> Time {
        let end = start + self.current.time_of(u64::from(wire_bytes));
        match self.changes.last() {
            Some(&(change, _)) if change < end => self.transmit_across(wire_bytes, start),
            _ => end,
        }
    }

    /// The rate at `now`, not before the last transmission.
    #[must_use]
    #[inline]
    pub fn at(&self, now: Time) -> BitRate {
        let passed = self.changes.iter().rev().take_while(|(change, _)| *change <= now).last();
        passed.map_or(self.current.rate(), |&(_, rate)| rate)
    }

    /// Bit by bit over the steps of the schedule.
    fn transmit_across(&mut self, wire_bytes: u32, start: Time) -> Time {
        let mut bits_left = f64::from(wire_bytes) * 8.0;
        let mut now = start;
        while let Some(&(change, rate)) = self.changes.last() {
            let sent = change.saturating_sub(now).as_secs_f64() * self.current.rate().as_f64();
            if sent >= bits_left {
                break;
            }
            bits_left -= sent;
            now = now.max(change);
            // Transmissions start in order and this one ends later: the step is never needed again.
            self.current = Serialiser::new(rate);
            self.changes.pop();
        }
        now + Time::from_secs_f64(bits_left / self.current.rate().as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_in_turn_take_their_own_times() {
        // 1500 B and 54 B at 10 Mbit/s: 1.2 ms and 43.2 us.
        let mut serialiser = Serialiser::new(BitRate(10_000_000));
        let times = [1500, 1500, 54, 54, 1500, 0].map(|bytes| serialiser.time_of(bytes).0 / 1_000_000);
        assert_eq!(times, [1200, 1200, 43, 43, 1200, 0]);
    }

    #[test]
    fn a_change_within_a_transmission_counts_from_its_instant() {
        // 12 000 bit: 6 000 at 10 Mbit/s until 0.6 ms, the other 6 000 at 5 Mbit/s take 1.2 ms.
        let mut rate = LinkRate::new(BitRate(10_000_000), &[(Time::from_micros(600), BitRate(5_000_000))]);
        assert_eq!(rate.transmit(1500, Time::ZERO), Time::from_micros(1800));
        assert_eq!(rate.transmit(1500, Time::from_millis(2)), Time::from_micros(4400));
    }

    #[test]
    fn several_steps_can_pass_while_the_link_idles() {
        let steps = [(Time::from_secs(1), BitRate(1_000_000)), (Time::from_secs(2), BitRate(12_000_000))];
        let mut rate = LinkRate::new(BitRate(10_000_000), &steps);
        assert_eq!(rate.at(Time::from_millis(1500)), BitRate(1_000_000));
        assert_eq!(rate.at(Time::from_secs(3)), BitRate(12_000_000));
        assert_eq!(rate.transmit(1500, Time::from_secs(3)), Time::from_secs(3) + Time::from_millis(1));
    }
}
