//! A TCP connection, both ends, and how its place is used again.

use crate::traffic::tcp::{AnySender, Receiver, TcpParams};
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::packet::TrafficClass;

/// What happens when a transfer is acknowledged to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The flow stays as it is.
    Stay,
    /// The same transfer again, over a new connection after a pause, `left` times.
    Repeat {
        /// Transfers still to come.
        left: u32,
    },
    /// Its place is free for another transfer; the web source of this index has one less open.
    Recycle {
        /// Index in [`crate::network::Network::webs`].
        web: u32,
    },
    /// The connection waits for the next chunk that this video player asks for.
    NextChunk {
        /// Index in [`crate::network::Network::players`].
        player: u32,
    },
}

/// How long a flow lasts: what the engine asks for each packet, of what [`AtEnd`] says in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// As long as the run.
    Endless,
    /// One transfer.
    Once,
    /// One chunk after another over the same connection.
    Chunks,
    /// One transfer, and another connection takes its place.
    Passing,
}

impl Span {
    fn of(transfer: Option<Bytes>, at_end: AtEnd) -> Self {
        match (transfer, at_end) {
            (None, _) => Self::Endless,
            (Some(_), AtEnd::Stay) => Self::Once,
            (Some(_), AtEnd::NextChunk { .. }) => Self::Chunks,
            (Some(_), AtEnd::Repeat { .. } | AtEnd::Recycle { .. }) => Self::Passing,
        }
    }
}

/// A TCP connection, both ends. In this order, five cache lines: a segment that arrives in order touches the second,
/// an ACK of new data the second and third, losses the rest.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct TcpFlow {
    /// When the connection is opened.
    pub start: Time,
    /// When the last byte of a finite transfer was received; [`Time::NEVER`] until then.
    pub finish: Time,
    /// The end that acknowledges data. Its second half is what each segment touches.
    pub receiver: Receiver,
    /// When the flow's event is due: no earlier deadline has to look it up.
    pub armed: Time,
    /// Index in [`crate::network::Network::tcp_params`].
    pub params: u32,
    /// Which of the user's ingress nodes its packets enter through.
    pub ingress: u16,
    /// Class of its packets.
    pub class: TrafficClass,
    /// How long it lasts.
    pub span: Span,
    /// The end that sends data. Its first line is what each ACK touches.
    pub sender: AnySender,
    /// Payload delivered before the measurement.
    pub unmeasured_bytes: u64,
    /// What its receiver has got is this plus what it got during the measurement, earlier connections at this place
    /// included: bytes on the wire, negative if most of it came over those.
    pub(super) unmeasured_wire_bytes: i64,
    /// Payload of a finite transfer; 0 for an endless one.
    pub transfer_bytes: u64,
    /// The number that its packets carry: its place, with the number of the connection above it. See [`flow_index`].
    pub id: u32,
    /// The user that it belongs to.
    pub user: u32,
    /// What happens at the end of a finite transfer.
    pub at_end: AtEnd,
}

/// Bits of a flow's number that tell its place in [`crate::network::Network::flows`].
const INDEX_BITS: u32 = 20;
/// Most places: flows that last, and transfers open at once.
pub const MOST_FLOWS: usize = 1_000_000;
/// Numbers of flows, connections apart.
pub(super) const MOST_NUMBERS: usize = 1 << INDEX_BITS;

/// Where the flow of this number is in [`crate::network::Network::flows`], if it is a TCP flow and has no number of its
/// own: see [`crate::network::Network::place_of`].
#[must_use]
#[inline]
pub fn flow_index(id: u32) -> u32 {
    id & ((1 << INDEX_BITS) - 1)
}

/// The number of a flow at place `index` that is connection number `connection` there.
pub(super) fn numbered(index: u32, connection: u32) -> u32 {
    connection << INDEX_BITS | index
}

/// The number of the connection before, at the same place.
pub(super) fn previous_id(id: u32) -> u32 {
    id.wrapping_sub(1 << INDEX_BITS)
}

/// The number of the next connection at the same place: 4096 of them, then they come round.
pub(super) fn next_id(id: u32) -> u32 {
    id.wrapping_add(1 << INDEX_BITS)
}

impl TcpFlow {
    /// A connection that is not open yet: `params` with their index; user, ingress and class of its packets; its number
    /// and what happens at its end; what its congestion control draws from.
    pub(super) fn new(
        (params, tcp): (u32, &TcpParams),
        (user, ingress, class): (u32, u16, TrafficClass),
        start: Time,
        transfer: Option<Bytes>,
        (id, at_end): (u32, AtEnd),
        seed: u64,
    ) -> Self {
        let sender = AnySender::new(tcp, transfer, seed);
        Self { sender, ..Self::unused((params, tcp), (user, ingress, class), start, transfer, (id, at_end)) }
    }

    /// As [`TcpFlow::new`], where none is to be opened.
    pub(super) fn unused(
        (params, tcp): (u32, &TcpParams),
        (user, ingress, class): (u32, u16, TrafficClass),
        start: Time,
        transfer: Option<Bytes>,
        (id, at_end): (u32, AtEnd),
    ) -> Self {
        Self {
            start,
            finish: Time::NEVER,
            receiver: Receiver::new(tcp),
            armed: start,
            params,
            ingress,
            class,
            span: Span::of(transfer, at_end),
            sender: AnySender::unused(tcp),
            unmeasured_bytes: 0,
            unmeasured_wire_bytes: 0,
            transfer_bytes: transfer.map_or(0, |bytes| bytes.0),
            id,
            user,
            at_end,
        }
    }

    /// Payload delivered over this connection during the measurement.
    #[must_use]
    pub fn measured_bytes(&self, params: &TcpParams) -> u64 {
        self.receiver.delivered_bytes(params) - self.unmeasured_bytes
    }

    /// Bytes on the wire that reached the receiver during the measurement, over earlier connections at this place too.
    #[must_use]
    pub fn measured_wire_bytes(&self) -> u64 {
        self.receiver.wire_bytes().wrapping_add_signed(-self.unmeasured_wire_bytes)
    }

    /// The earlier of the timers of both ends.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Time {
        self.sender.timer().min(self.receiver.timer())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn both_ends_of_a_flow_begin_their_lines() {
        // The second half of the receiver ends with the second line but for 8 bytes, the sender begins 8 bytes into the
        // third.
        assert_eq!((offset_of!(TcpFlow, armed), offset_of!(TcpFlow, sender)), (120, 136));
        assert_eq!(align_of::<TcpFlow>(), 64);
    }
}
