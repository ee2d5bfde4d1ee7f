//! A shared line: arrivals of many hosts, in order.
//!
//! Many hosts have access links of the same rate and delay. On idle access links, packets of equal length take equally
//! long, and acknowledgements leave the shared reverse path one by one. So arrivals are in the order of sending,
//! regardless of the host. One ring buffer contains these arrivals of all hosts, and only the first arrival needs an
//! event. Arrivals that would break the order are stored in the line of their host ([`crate::network::hosts`]).

use fairlane_schemes::base::units::Time;
use fairlane_schemes::port::Ring;

/// A value that belongs to a user.
pub trait OfUser {
    /// Index of the user.
    fn user(&self) -> u32;
}

/// Arrivals ordered by time and, for equal times, by user.
#[derive(Clone, Debug)]
pub struct SharedLine<T> {
    arrivals: Ring<T>,
    /// Time and user of the last added arrival, even if this arrival has been taken.
    last: (Time, u32),
}

impl<T> Default for SharedLine<T> {
    fn default() -> Self {
        Self { arrivals: Ring::default(), last: (Time::ZERO, 0) }
    }
}

impl<T: OfUser + Copy> SharedLine<T> {
    /// Creates a line that accepts no arrival.
    #[must_use]
    pub fn closed() -> Self {
        Self { last: (Time::NEVER, u32::MAX), ..Self::default() }
    }

    /// Returns true if an arrival of `user` at `time` keeps the order.
    #[inline]
    pub fn keeps_order(&self, time: Time, user: u32) -> bool {
        time > self.last.0 || (time == self.last.0 && user >= self.last.1)
    }

    /// Appends an arrival that keeps the order. Returns true if it is the first.
    #[inline(always)]
    pub fn push(&mut self, time: Time, user: u32, make: impl Fn() -> T) -> bool {
        debug_assert!(self.keeps_order(time, user) && make().user() == user);
        self.last = (time, user);
        self.arrivals.push(time, make);
        self.arrivals.len() == 1
    }

    /// Takes the first arrival, which must exist. Also returns time and user of the next one, like
    /// [`SharedLine::first`].
    #[inline(always)]
    pub fn pop(&mut self) -> (T, (Time, u32)) {
        (self.arrivals.take().1, self.first())
    }

    /// Time and user of the first arrival; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        self.arrivals.get(0).map_or((Time::NEVER, 0), |(time, value)| (*time, value.user()))
    }

    /// Returns the arrival `places` positions after the first.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<&T> {
        self.arrivals.get(places).map(|(_, value)| value)
    }

    /// All arrivals, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(Time, T)> {
        self.arrivals.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl OfUser for u32 {
        fn user(&self) -> u32 {
            *self
        }
    }

    #[test]
    fn an_arrival_takes_56_bytes() {
        assert_eq!(size_of::<(Time, crate::network::sim_packet::SimPacket)>(), 56);
        assert_eq!(size_of::<(Time, crate::network::hosts::FlowAck)>(), 56);
    }

    #[test]
    fn order_is_by_time_then_by_user() {
        let mut line = SharedLine::default();
        assert_eq!(line.first().0, Time::NEVER);
        assert!(line.push(Time(5), 3, || 3));
        assert!(!line.keeps_order(Time(4), 9));
        assert!(!line.keeps_order(Time(5), 2));
        assert!(line.keeps_order(Time(5), 3));
        assert!(!line.push(Time(6), 1, || 1));
        assert_eq!(line.first(), (Time(5), 3));
        assert_eq!(line.pop(), (3, (Time(6), 1)));
        assert_eq!(line.pop().0, 1);
        // A new arrival must also follow arrivals that were already taken.
        assert!(!line.keeps_order(Time(5), 9));
        assert!(!SharedLine::<u32>::closed().keeps_order(Time(7), 9));
    }
}
