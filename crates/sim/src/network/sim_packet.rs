//! The simulator's packet: 48 bytes, moved by value.

use crate::cache_line::fetch;
use crate::traffic::tcp::Segment;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::{Ecn, Packet, TrafficClass};

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A datagram of an unresponsive source.
    Udp,
    /// A TCP data segment.
    Data,
    /// A TCP data segment that ends a burst (PSH).
    PushedData,
    /// The SYN of a TCP connection.
    Syn,
    /// An acknowledgement on a dumbbell with a reverse link, see [`super::ack_packets`].
    Ack,
}

/// A packet in flight from a sender to a receiver.
#[derive(Clone, Copy, Debug)]
pub struct SimPacket {
    /// Label, written by the marker.
    pub label: f64,
    /// Time at which the packet entered its current queue.
    pub enqueued_at: Time,
    /// Time at which the host sent the packet, which is also the TCP timestamp (TSval of RFC 7323).
    pub timestamp: Time,
    /// TCP segment number, or the slot of an acknowledgement.
    pub seq: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Index of the user.
    pub user: u32,
    /// Current position as an index into the table of hops.
    pub hop: u16,
    /// Ingress node at which the user's packet enters.
    pub ingress: u16,
    /// Length on the wire.
    pub wire_bytes: u16,
    /// Transport payload.
    pub payload: u16,
    /// Traffic class.
    pub class: TrafficClass,
    /// ECN field.
    pub ecn: Ecn,
    /// Content of the packet.
    pub kind: PacketKind,
    /// CWR flag of TCP (RFC 3168): the sender has reduced its window.
    pub cwr: bool,
}

impl SimPacket {
    /// A packet with all fields zero.
    pub const BLANK: Self = Self {
        label: 0.0,
        enqueued_at: Time::ZERO,
        timestamp: Time::ZERO,
        seq: 0,
        flow: 0,
        user: 0,
        hop: 0,
        ingress: 0,
        wire_bytes: 0,
        payload: 0,
        class: TrafficClass::BestEffort,
        ecn: Ecn::NotEct,
        kind: PacketKind::Udp,
        cwr: false,
    };

    /// The TCP segment in the packet.
    #[must_use]
    #[inline]
    pub fn segment(&self) -> Segment {
        Segment {
            seq: self.seq,
            payload: u32::from(self.payload),
            syn: self.kind == PacketKind::Syn,
            cwr: self.cwr,
            ecn: self.ecn,
            timestamp: self.timestamp,
            push: self.kind == PacketKind::PushedData,
        }
    }

    /// Prefetches the packet's cache lines, one or two.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.label);
        fetch(&self.cwr);
    }
}

impl Packet for SimPacket {
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline]
    fn user(&self) -> u32 {
        self.user
    }
    #[inline]
    fn wire_bytes(&self) -> u32 {
        u32::from(self.wire_bytes)
    }
    #[inline]
    fn class(&self) -> TrafficClass {
        self.class
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    #[inline]
    fn label(&self) -> f64 {
        self.label
    }
    #[inline]
    fn set_label(&mut self, label: f64) {
        self.label = label;
    }
    #[inline]
    fn enqueued_at(&self) -> Time {
        self.enqueued_at
    }
    #[inline]
    fn set_enqueued_at(&mut self, now: Time) {
        self.enqueued_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_48_bytes() {
        assert_eq!(size_of::<SimPacket>(), 48);
    }
}
