//! A TCP connection with both ends. Its slot can be reused.

use crate::traffic::tcp::{AnySender, Receiver, TcpParams};
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::packet::TrafficClass;

/// Action when a transfer is fully acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// Keep the flow.
    Stay,
    /// Repeat the transfer over a new connection after a pause, `left` times.
    Repeat {
        /// Remaining transfers.
        left: u32,
    },
    /// Free the slot for another transfer, and decrement the number of open transfers of a web source.
    Recycle {
        /// Index in [`crate::network::Network::webs`].
        web: u32,
    },
    /// Wait for the next chunk that this video player requests.
    NextChunk {
        /// Index in [`crate::network::Network::players`].
        player: u32,
    },
}

/// Lifetime of a flow: a summary of [`AtEnd`] that the engine checks for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The whole run.
    Endless,
    /// One transfer.
    Once,
    /// Several chunks over the same connection.
    Chunks,
    /// One transfer, after which another connection replaces it.
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

/// A TCP connection with both ends, in five cache lines. The fields are ordered so that a segment that arrives in order
/// touches only the second line. An ACK of new data touches the second and third lines; only a loss touches the other
/// lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct TcpFlow {
    /// Time at which the connection is opened.
    pub start: Time,
    /// Time at which the last byte of a finite transfer was received; [`Time::NEVER`] until then.
    pub finish: Time,
    /// Receiving end. Each segment touches its second half.
    pub receiver: Receiver,
    /// Time of the flow's event in the event set. If the next deadline is later, the event set is not accessed.
    pub armed: Time,
    /// Index in [`crate::network::Network::tcp_params`].
    pub params: u32,
    /// Ingress node at which the packets of the flow enter.
    pub ingress: u16,
    /// Class of its packets.
    pub class: TrafficClass,
    /// Lifetime.
    pub span: Span,
    /// Sending end. Each ACK touches its first line.
    pub sender: AnySender,
    /// Payload delivered before the measurement.
    pub unmeasured_bytes: u64,
    /// Bytes on the wire that this connection received before the measurement, minus the bytes that earlier connections
    /// in this slot received during the measurement. Total minus this number gives the slot's bytes in the measurement.
    pub(super) unmeasured_wire_bytes: i64,
    /// Payload of a finite transfer; 0 for an endless one.
    pub transfer_bytes: u64,
    /// Flow number in its packets: slot and connection number combined, see [`flow_index`].
    pub id: u32,
    /// Index of the user.
    pub user: u32,
    /// Action at the end of the transfer, if it is finite.
    pub at_end: AtEnd,
}

/// Bits of a flow number that contain its index in [`crate::network::Network::flows`].
const INDEX_BITS: u32 = 20;
/// Maximum number of slots: long-lived flows, and concurrently open transfers.
pub const MOST_FLOWS: usize = 1_000_000;
/// Number of possible slots in a flow number.
pub(super) const MOST_NUMBERS: usize = 1 << INDEX_BITS;

/// Index in [`crate::network::Network::flows`] of the TCP flow with this number, unless flows have separate numbers:
/// see [`crate::network::Network::place_of`].
#[must_use]
#[inline]
pub fn flow_index(id: u32) -> u32 {
    id & ((1 << INDEX_BITS) - 1)
}

pub(super) fn numbered(index: u32, connection: u32) -> u32 {
    connection << INDEX_BITS | index
}

/// Number of the previous connection in the same slot.
pub(super) fn previous_id(id: u32) -> u32 {
    id.wrapping_sub(1 << INDEX_BITS)
}

/// Number of the next connection in the same slot; wraps after 4096 connections.
pub(super) fn next_id(id: u32) -> u32 {
    id.wrapping_add(1 << INDEX_BITS)
}

impl TcpFlow {
    /// Creates a connection that is not open yet. Arguments: `params` with their index; user, ingress and class of the
    /// packets; number of the connection and its action at the end; seed of the congestion control's random stream.
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

    /// Like [`TcpFlow::new`], for a slot in which no connection is opened.
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

    /// Bytes on the wire that reached the receiver during the measurement, including earlier connections in this slot.
    #[must_use]
    pub fn measured_wire_bytes(&self) -> u64 {
        self.receiver.wire_bytes().wrapping_add_signed(-self.unmeasured_wire_bytes)
    }

    /// The earlier of the two ends' timers.
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
        // The receiver ends with the second cache line; the sender begins 16 bytes into the third.
        assert_eq!((offset_of!(TcpFlow, armed), offset_of!(TcpFlow, sender)), (128, 144));
        assert_eq!(align_of::<TcpFlow>(), 64);
    }
}
