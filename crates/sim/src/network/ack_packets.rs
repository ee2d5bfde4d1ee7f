//! Acknowledgements as packets, on a dumbbell with a reverse link.
//!
//! A user is at one end of the two links, and a server at the other end. Data of a source cross one link, and their
//! acknowledgements the other, where they wait, are labelled and are dropped like data. A packet of 48 bytes has no
//! room for an acknowledgement. So [`AckPackets`] stores it in a slot, whose number is the packet's `seq`, until the
//! packet is delivered or its loss is counted.
//!
//! The ingress nodes at the server's end are numbered after those at the user's end. So the ingress of a packet, flow
//! or source gives its direction, and each user has separate meters for both directions. An acknowledgement has the
//! traffic class of its flow, is not ECN-capable (RFC 3168 6.1.4), and has another flow number than the data. So
//! schemes and meters that tell flows apart treat data and acknowledgements as two flows.

use super::hosts::FlowAck;
use super::sim_packet::{PacketKind, SimPacket};
use super::tcp_flow::{Span, TcpFlow};
use fairlane_schemes::base::units::Time;

/// Bit that distinguishes the flow number of an acknowledgement from that of its data.
pub const ACK_FLOW: u32 = 1 << 31;

/// Acknowledgements in packets, and their routes. Empty without a reverse link.
#[derive(Clone, Debug)]
pub struct AckPackets {
    /// First hops of acknowledgements, by index of the TCP parameters of their flow.
    pub first_hops: Vec<u16>,
    /// Lowest number of the ingress nodes at the server's end; [`u16::MAX`] without a reverse link.
    pub first_ingress: u16,
    slots: Vec<FlowAck>,
    free: Vec<u32>,
    sent: u64,
    copied: u64,
    unpacked: u64,
    lost: u64,
}

impl AckPackets {
    /// Creates an empty list for this lowest ingress number at the server's end.
    #[must_use]
    pub fn new(first_ingress: u16) -> Self {
        Self {
            first_hops: Vec::new(),
            first_ingress,
            slots: Vec::new(),
            free: Vec::new(),
            sent: 0,
            copied: 0,
            unpacked: 0,
            lost: 0,
        }
    }

    /// Returns true if there is a reverse link.
    #[must_use]
    pub fn exist(&self) -> bool {
        self.first_ingress < u16::MAX
    }

    /// Returns true if packets of this ingress cross the reverse link.
    #[must_use]
    #[inline]
    pub fn is_reverse(&self, ingress: u16) -> bool {
        ingress >= self.first_ingress
    }

    /// Stores an acknowledgement of `flow` that its receiver sends at `now`. Returns its packet.
    pub fn pack(&mut self, ack: &FlowAck, flow: &TcpFlow, wire_bytes: u32, now: Time) -> SimPacket {
        self.sent += 1;
        let slot = self.store(*ack);
        let ingress = match flow.ingress.checked_sub(self.first_ingress) {
            Some(of_server) => of_server,
            None => flow.ingress + self.first_ingress,
        };
        SimPacket {
            timestamp: now,
            seq: slot,
            flow: if flow.span == Span::Passing { flow.id } else { ack.flow } ^ ACK_FLOW,
            user: ack.user,
            hop: self.first_hops[flow.params as usize],
            ingress,
            wire_bytes: wire_bytes as u16,
            class: flow.class,
            kind: PacketKind::Ack,
            ..SimPacket::BLANK
        }
    }

    fn store(&mut self, ack: FlowAck) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = ack;
            slot
        } else {
            self.slots.push(ack);
            self.slots.len() as u32 - 1
        }
    }

    /// Returns a copy of any packet. The copy of an acknowledgement has a separate slot.
    pub fn copy(&mut self, packet: &SimPacket) -> SimPacket {
        let mut copy = *packet;
        if packet.kind == PacketKind::Ack {
            self.copied += 1;
            copy.seq = self.store(*self.of(packet));
        }
        copy
    }

    /// Returns the acknowledgement in a packet.
    #[must_use]
    pub fn of(&self, packet: &SimPacket) -> &FlowAck {
        &self.slots[packet.seq as usize]
    }

    /// Takes the acknowledgement out of a delivered packet.
    pub fn unpack(&mut self, packet: &SimPacket) -> FlowAck {
        self.unpacked += 1;
        self.free.push(packet.seq);
        *self.of(packet)
    }

    /// Frees the slot of a lost packet.
    pub fn lose(&mut self, slot: u32) {
        self.lost += 1;
        self.free.push(slot);
    }

    /// Numbers of acknowledgements that were sent, copied, unpacked after delivery, and lost.
    #[must_use]
    pub fn accounting(&self) -> (u64, u64, u64, u64) {
        (self.sent, self.copied, self.unpacked, self.lost)
    }

    /// Number of acknowledgements in packets, including lost ones whose loss is not counted yet.
    #[must_use]
    pub fn in_packets(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
