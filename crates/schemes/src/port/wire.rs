//! Packets in flight on a link, in order.

use super::ring::Ring;
use crate::base::units::Time;

/// A first-in-first-out line of packets, each with the time at which it reaches the far end.
#[derive(Clone, Debug)]
pub struct Wire<P> {
    delay: Time,
    packets: Ring<P>,
}

impl<P: Copy> Wire<P> {
    /// An empty wire of this propagation delay.
    #[must_use]
    pub fn new(delay: Time) -> Self {
        Self { delay, packets: Ring::default() }
    }

    /// Propagation delay.
    #[must_use]
    pub fn delay(&self) -> Time {
        self.delay
    }

    /// Packets in flight, including those in transmission.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns true if nothing is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Sends a packet whose transmission ends at `end`, not before the one sent last.
    #[inline]
    pub fn send(&mut self, packet: &P, end: Time) {
        self.packets.push(end + self.delay, || *packet);
    }

    /// Stores the packet that `make` returns where the next one to send is; [`Wire::send_placed`] sends it.
    #[inline(always)]
    pub(super) fn place(&mut self, make: impl Fn() -> P) -> &mut P {
        self.packets.place(make)
    }

    /// Sends the packet that was placed last, as [`Wire::send`].
    #[inline(always)]
    pub(super) fn send_placed(&mut self, end: Time) {
        self.packets.append(end + self.delay);
    }

    /// The packet that was placed last, sent or not.
    #[inline(always)]
    pub(super) fn placed(&self, sent: bool) -> &P {
        self.packets.placed(sent)
    }

    /// The packet that reaches the far end `places` behind the next.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<&P> {
        self.packets.get(places).map(|(_, packet)| packet)
    }

    /// The same, with the time at which its transmission ends.
    #[inline]
    pub(super) fn ending(&self, places: usize) -> Option<(Time, &P)> {
        self.packets.get(places).map(|(time, packet)| (*time - self.delay, packet))
    }

    /// Time at which the next packet reaches the far end; [`Time::NEVER`] if none is in flight.
    #[must_use]
    #[inline]
    pub fn next_arrival(&self) -> Time {
        self.packets.get(0).map_or(Time::NEVER, |&(time, _)| time)
    }

    /// Takes the next packet, with the time at which it reaches the far end.
    #[inline]
    pub fn take(&mut self) -> Option<(Time, P)> {
        self.packets.pop()
    }

    /// As [`Wire::take`], if one is in flight.
    #[inline]
    pub(super) fn take_announced(&mut self) -> (Time, P) {
        self.packets.take()
    }
}
