//! Packets in flight on a link, in order.

use super::ring::Ring;
use crate::base::units::Time;

/// A FIFO queue of packets, each with the time at which it reaches the far end.
#[derive(Clone, Debug)]
pub struct Wire<P> {
    delay: Time,
    packets: Ring<P>,
}

impl<P: Copy> Wire<P> {
    /// Creates an empty wire with this propagation delay.
    #[must_use]
    pub fn new(delay: Time) -> Self {
        Self { delay, packets: Ring::default() }
    }

    /// Propagation delay.
    #[must_use]
    pub fn delay(&self) -> Time {
        self.delay
    }

    /// Number of packets in flight or in transmission.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns true if no packet is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Sends a packet whose transmission ends at `end`, which must not be before that of the previous packet.
    #[inline]
    pub fn send(&mut self, packet: &P, end: Time) {
        self.packets.push(end + self.delay, || *packet);
    }

    /// Stores the packet that `make` returns in the slot of the next packet; [`Wire::send_placed`] sends it. Its
    /// transmission would end at `end`.
    #[inline(always)]
    pub(super) fn place(&mut self, end: Time, make: impl Fn() -> P) -> &mut P {
        self.packets.place(end + self.delay, make)
    }

    /// Sends the last placed packet, like [`Wire::send`].
    #[inline(always)]
    pub(super) fn send_placed(&mut self) {
        self.packets.append();
    }

    /// The last placed packet, sent or not.
    #[inline(always)]
    pub(super) fn placed(&self, sent: bool) -> &P {
        self.packets.placed(sent)
    }

    /// Returns the packet that reaches the far end `places` packets after the next one.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<&P> {
        self.packets.get(places).map(|(_, packet)| packet)
    }

    /// Like [`Wire::upcoming`], with the time at which the packet's transmission ends.
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

    /// Removes the next packet. Returns it with the time at which it reaches the far end.
    #[inline]
    pub fn take(&mut self) -> Option<(Time, P)> {
        self.packets.pop()
    }

    /// Like [`Wire::take`]; a packet must be in flight.
    #[inline]
    pub(super) fn take_announced(&mut self) -> (Time, P) {
        self.packets.take()
    }
}
