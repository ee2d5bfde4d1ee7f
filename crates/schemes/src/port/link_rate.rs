//! The rate of a link (constant, changed in steps by a schedule, or a recorded trace), and its transmission times.

use super::delivery_trace::{DeliveryTrace, TraceCourse};
use crate::base::units::{BitRate, Time};

/// A rate with a cached transmission time: lengths repeat, and a comparison is cheaper than a division.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate: BitRate,
    bytes: u64,
    time: Time,
}

impl Serialiser {
    /// Creates a serialiser for `rate`, which must not be zero.
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

    /// Like [`BitRate::time_of`].
    #[inline]
    pub fn time_of(&mut self, bytes: u64) -> Time {
        if bytes != self.bytes {
            self.remember(bytes);
        }
        self.time
    }

    #[inline(never)]
    fn remember(&mut self, bytes: u64) {
        (self.bytes, self.time) = (bytes, self.rate.time_of(bytes));
    }
}

/// Rate of a link over time.
#[derive(Clone, Debug)]
pub struct LinkRate {
    current: Serialiser,
    /// Time at which the current rate ends; zero for a trace, which has no constant rate.
    holds_until: Time,
    course: Course,
}

/// The rate after the current step.
#[derive(Clone, Debug)]
enum Course {
    /// Future changes, the next one last.
    Steps(Vec<(Time, BitRate)>),
    /// A recorded trace.
    Trace(Box<TraceCourse>),
}

impl LinkRate {
    /// Creates a link whose rate is `initial` until the first of `changes`, which must be ordered by time.
    #[must_use]
    pub fn new(initial: BitRate, changes: &[(Time, BitRate)]) -> Self {
        let steps: Vec<_> = changes.iter().rev().copied().collect();
        let holds_until = next_change(&steps);
        Self { current: Serialiser::new(initial), holds_until, course: Course::Steps(steps) }
    }

    /// Creates a link that follows a trace. `told` is the rate that is initially reported to disciplines.
    #[must_use]
    pub fn following(trace: DeliveryTrace, told: BitRate) -> Self {
        let course = Course::Trace(TraceCourse::new(trace, told).into());
        Self { current: Serialiser::new(told), holds_until: Time::ZERO, course }
    }

    /// The initial rate.
    #[must_use]
    pub fn initial(&self) -> BitRate {
        self.current.rate()
    }

    /// Returns true if the rate never changes.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.holds_until == Time::NEVER
    }

    /// Returns the end of a transmission of `wire_bytes` that starts at `start`. Calls must be in the order of start
    /// times.
    #[inline(always)]
    pub fn transmit(&mut self, wire_bytes: u32, start: Time) -> Time {
        let end = start + self.current.time_of(u64::from(wire_bytes));
        if self.holds_until < end { self.transmit_across(wire_bytes, start) } else { end }
    }

    /// The rate reported to a discipline at `now`, which must not be before the last transmission.
    #[must_use]
    #[inline]
    pub fn at(&mut self, now: Time) -> BitRate {
        if now < self.holds_until { self.current.rate() } else { self.at_later(now) }
    }

    #[cold]
    fn at_later(&mut self, now: Time) -> BitRate {
        match &mut self.course {
            Course::Steps(changes) => {
                let passed = changes.iter().rev().take_while(|(change, _)| *change <= now).last();
                passed.map_or(self.current.rate(), |&(_, rate)| rate)
            }
            Course::Trace(course) => course.told_rate(now),
        }
    }

    /// Returns the end of a transmission that spans steps of the schedule, or several opportunities of a trace.
    #[cold]
    fn transmit_across(&mut self, wire_bytes: u32, start: Time) -> Time {
        let changes = match &mut self.course {
            Course::Steps(changes) => changes,
            Course::Trace(course) => return course.transmit(wire_bytes, start),
        };
        let mut bits_left = f64::from(wire_bytes) * 8.0;
        let mut now = start;
        while let Some(&(change, rate)) = changes.last() {
            let sent = change.saturating_sub(now).as_secs_f64() * self.current.rate().as_f64();
            if sent >= bits_left {
                break;
            }
            bits_left -= sent;
            now = now.max(change);
            // Later transmissions start after the end of this one, so the previous step is not needed any more.
            self.current = Serialiser::new(rate);
            changes.pop();
        }
        self.holds_until = next_change(changes);
        now + Time::from_secs_f64(bits_left / self.current.rate().as_f64())
    }
}

/// Time of the next change; [`Time::NEVER`] if there is none. The order of `changes` is reversed, so the next change is
/// the last.
fn next_change(changes: &[(Time, BitRate)]) -> Time {
    changes.last().map_or(Time::NEVER, |&(change, _)| change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_in_turn_take_their_own_times() {
        // At 10 Mbit/s, 1500 B take 1.2 ms and 54 B take 43.2 us.
        let mut serialiser = Serialiser::new(BitRate(10_000_000));
        let times = [1500, 1500, 54, 54, 1500, 0].map(|bytes| serialiser.time_of(bytes).0 / 1_000_000);
        assert_eq!(times, [1200, 1200, 43, 43, 1200, 0]);
    }

    #[test]
    fn a_change_within_a_transmission_counts_from_its_instant() {
        // Of 12 000 bit, 6 000 are sent at 10 Mbit/s until 0.6 ms. The other 6 000 take 1.2 ms at 5 Mbit/s.
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
