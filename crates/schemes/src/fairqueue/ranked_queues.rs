//! Strict-priority FIFO queues for packets with ranks, used by schemes that approximate a sorted queue (PIFO).
//!
//! The scheme determines the rank of an arriving packet and chooses its queue, or drops it. The first non-empty queue
//! is served. Cost: O(1) per packet, in addition to its rank, for up to 64 queues. State: 64 bytes a queue.

use crate::contract::prelude::*;
use crate::fairqueue::drawn_ranks::{DrawnRanks, RankSource};
use crate::fairqueue::start_tags::StartTags;
use std::collections::VecDeque;

choices! {
    /// Way to divide the limit among the queues.
    pub enum QueueRoom {
        /// Each queue gets an equal part, at least one packet.
        Split = "split",
        /// Each queue may fill the port.
        Shared = "shared",
    }
}

#[derive(Clone, Debug)]
enum Ranks {
    StartTags(StartTags),
    Drawn(Box<DrawnRanks>),
}

#[derive(Clone, Debug)]
struct Fifo<P> {
    packets: VecDeque<(P, f64)>,
    length: Backlog,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct RankedQueues<P> {
    queues: Box<[Fifo<P>]>,
    /// Bit i is set if queue i is not empty.
    busy: u64,
    backlog: Backlog,
    limit: QueueLimit,
    queue_limit: QueueLimit,
    ranks: Ranks,
}

impl<P: Packet> RankedQueues<P> {
    /// Creates 1 to 64 empty queues.
    #[must_use]
    pub fn new(queues: u32, room: QueueRoom, rank: RankSource, share_per: FlowKey, port: &Port<'_>) -> Self {
        let limit = port.buffer.limit;
        let queue_limit = match (room, limit) {
            (QueueRoom::Shared, _) => limit,
            (QueueRoom::Split, QueueLimit::Packets(packets)) => QueueLimit::Packets((packets / queues).max(1)),
            (QueueRoom::Split, QueueLimit::Bytes(bytes)) => QueueLimit::Bytes(bytes / u64::from(queues)),
        };
        let ranks = match rank {
            RankSource::StartTag => Ranks::StartTags(StartTags::new(share_per, port.weights.clone())),
            drawn => Ranks::Drawn(Box::new(DrawnRanks::new(drawn))),
        };
        let queues = (0..queues).map(|_| Fifo { packets: VecDeque::new(), length: Backlog::default() }).collect();
        Self { queues, busy: 0, backlog: Backlog::default(), limit, queue_limit, ranks }
    }

    /// Rank of an arriving packet. The caller must then accept or reject the packet.
    #[inline]
    pub fn rank_of(&mut self, packet: &P, rng: &mut Rng) -> f64 {
        match &mut self.ranks {
            Ranks::StartTags(tags) => tags.of(packet),
            Ranks::Drawn(ranks) => ranks.draw(rng),
        }
    }

    /// Returns true if the port and `queue` have room. An empty queue has room for a packet that fits into the port.
    #[inline]
    pub fn has_room(&self, queue: u32, wire_bytes: u32) -> bool {
        let length = self.queues[queue as usize].length;
        !self.is_full_for(wire_bytes) && (length.packets == 0 || length.has_room_for(wire_bytes, self.queue_limit))
    }

    /// Returns true if the port has no room.
    #[inline]
    pub fn is_full_for(&self, wire_bytes: u32) -> bool {
        !self.backlog.has_room_for(wire_bytes, self.limit)
    }

    /// Appends a packet to `queue`.
    #[inline]
    pub fn accept(&mut self, queue: u32, mut packet: P, rank: f64, now: Time) {
        packet.set_enqueued_at(now);
        let wire_bytes = packet.wire_bytes();
        let fifo = &mut self.queues[queue as usize];
        fifo.packets.push_back((packet, rank));
        fifo.length.add(wire_bytes);
        self.backlog.add(wire_bytes);
        self.busy |= 1 << queue;
        if let Ranks::Drawn(ranks) = &mut self.ranks {
            ranks.accepted(rank);
        }
    }

    /// Drops an arriving packet.
    #[inline]
    pub fn refuse(&mut self, packet: &P, rank: f64, reason: DropReason, drops: &mut impl DropSink<P>) {
        match &mut self.ranks {
            Ranks::StartTags(tags) => tags.withdraw(packet, rank),
            Ranks::Drawn(ranks) => ranks.dropped(rank),
        }
        drops.dropped(packet, reason, self.backlog);
    }

    /// Removes and returns the first packet of the first non-empty queue.
    #[inline]
    pub fn serve(&mut self) -> Option<P> {
        if self.busy == 0 {
            if let Ranks::StartTags(tags) = &mut self.ranks {
                tags.idle();
            }
            return None;
        }
        let queue = self.busy.trailing_zeros();
        let fifo = &mut self.queues[queue as usize];
        let (packet, rank) = fifo.packets.pop_front()?;
        fifo.length.remove(packet.wire_bytes());
        self.backlog.remove(packet.wire_bytes());
        self.busy &= !(u64::from(fifo.packets.is_empty()) << queue);
        match &mut self.ranks {
            Ranks::StartTags(tags) => tags.served(&packet, rank),
            Ranks::Drawn(ranks) => ranks.served(rank),
        }
        Some(packet)
    }

    /// Backlog of all queues.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Free fraction of the limit of `queue`.
    #[inline]
    pub fn free_part(&self, queue: u32) -> f64 {
        1.0 - used_part(self.queues[queue as usize].length, self.queue_limit)
    }

    /// Used fraction of the port's limit.
    #[inline]
    pub fn used_part(&self) -> f64 {
        used_part(self.backlog, self.limit)
    }

    /// Number of flow records, and bytes of these queues.
    #[must_use]
    pub fn state_size(&self) -> StateSize {
        let (records, bytes) = match &self.ranks {
            Ranks::StartTags(tags) => (tags.flows(), tags.bytes()),
            Ranks::Drawn(ranks) => (0, size_of_val(&**ranks)),
        };
        StateSize { records, bytes: size_of_val(self) + size_of_val(&*self.queues) + bytes }
    }

    /// Reports readings for users.
    pub fn report(&self, report: Report<'_>) {
        match &self.ranks {
            Ranks::StartTags(tags) => {
                report("virtual_time_bits", tags.virtual_time());
                report("flows", tags.flows() as f64);
            }
            Ranks::Drawn(ranks) => ranks.report(report),
        }
    }
}

/// Returns the fraction of the limit that is used, in the unit of the limit (packets or bytes). The result is at most
/// 1, although an empty queue may accept a packet above its limit.
#[inline]
fn used_part(length: Backlog, limit: QueueLimit) -> f64 {
    let used = match limit {
        QueueLimit::Packets(limit) => f64::from(length.packets) / f64::from(limit),
        QueueLimit::Bytes(limit) => length.bytes as f64 / limit as f64,
    };
    used.min(1.0)
}
