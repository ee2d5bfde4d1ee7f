//! An emulated link without a scheme: a drop-tail queue, a rate, a delay.
//!
//! A packet is never dropped after it has been queued, so all its times are known at its arrival. Its transmission
//! starts when the previous ones have ended. It leaves one propagation delay after its transmission ends.

use super::packet::NodePacket;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::contract::discipline::Backlog;
use fairlane_schemes::params;
use fairlane_schemes::port::Wire;
use std::collections::VecDeque;

params! {
    /// The emulated link from a neighbour to this node.
    pub struct IngressParams {
        /// Rate; unlimited if absent.
        rate: Option<BitRate> = null, in "1 kbit/s"..="1 Tbit/s", symbol "C_a", source "our choice";
        /// Propagation delay.
        delay: Time = "0 s", in "0 s"..="10 s", symbol "D_a", source "our choice";
        /// Maximum backlog.
        limit: QueueLimit = "1000 packets", in "1 packets"..="16777216 packets", source "our choice";
    }
}

/// The link, with packets waiting and in flight.
#[derive(Debug)]
pub struct IngressLink {
    params: IngressParams,
    free_at: Time,
    /// Waiting packets at the last arrival: start time of the transmission, and bytes.
    waiting: VecDeque<(Time, u32)>,
    backlog: Backlog,
    wire: Wire<NodePacket>,
}

impl IngressLink {
    /// Creates an idle link.
    #[must_use]
    pub fn new(params: IngressParams) -> Self {
        let wire = Wire::new(params.delay);
        Self { params, free_at: Time::ZERO, waiting: VecDeque::new(), backlog: Backlog::default(), wire }
    }

    /// Propagation delay: no packet leaves earlier than this after its arrival.
    #[must_use]
    pub fn delay(&self) -> Time {
        self.params.delay
    }

    /// Enqueues a packet at `now`, which must not precede the last arrival. Returns the packet if the queue is full.
    #[inline]
    pub fn offer(&mut self, packet: NodePacket, now: Time) -> Result<(), NodePacket> {
        let Some(rate) = self.params.rate else {
            self.wire.send(&packet, now);
            return Ok(());
        };
        while let Some(&(start, bytes)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.backlog.remove(bytes);
        }
        let start = now.max(self.free_at);
        if start > now {
            if !self.backlog.has_room_for(packet.bytes, self.params.limit) {
                return Err(packet);
            }
            self.waiting.push_back((start, packet.bytes));
            self.backlog.add(packet.bytes);
        }
        self.free_at = start + rate.time_of(u64::from(packet.bytes));
        self.wire.send(&packet, self.free_at);
        Ok(())
    }

    /// Time at which the next packet leaves; [`Time::NEVER`] if none is in flight.
    #[inline]
    pub fn next(&self) -> Time {
        self.wire.next_arrival()
    }

    /// Takes the next packet.
    #[inline]
    pub fn take(&mut self) -> Option<NodePacket> {
        self.wire.take().map(|(_, packet)| packet)
    }
}
