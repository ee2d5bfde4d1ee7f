//! A fixed number of queues for hashed flows, served in turn; used by FQ-CoDel and FQ-PIE.
//!
//! Cost: a hash per packet, plus the costs of [`new_and_old`](super::new_and_old) and
//! [`queue_store`](super::queue_store).

use crate::contract::prelude::*;
use crate::fairqueue::cut_longest::{Stored, cut_longest};
use crate::fairqueue::new_and_old::{NewAndOld, Turning};
use crate::fairqueue::queue_store::{LengthMeasure, QueueStore};
use crate::flows::hash::{bucket, hash};

/// The queues of one port. Each has a record with the scheme's state.
#[derive(Clone, Debug)]
pub struct HashedQueues<P, R> {
    /// The queues.
    pub queues: QueueStore<P, (), Turning<R>>,
    turns: NewAndOld,
    /// Drawn at the first packet.
    seed: Option<u64>,
    limit: QueueLimit,
}

/// An arrival that is accepted.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<P> {
    /// The packet.
    pub packet: P,
    /// Its queue.
    pub queue: u32,
    /// Backlog before it.
    pub found: Backlog,
}

impl<P: Packet, R: Copy> HashedQueues<P, R> {
    /// Creates `count` empty queues, each with the record `idle`. A queue may send `quantum` per round.
    #[must_use]
    pub fn new(count: u32, idle: R, quantum: Bytes, limit: QueueLimit) -> Self {
        let mut queues = QueueStore::new(LengthMeasure::Bytes);
        (0..count).for_each(|_| _ = queues.open(Turning::new(idle)));
        Self { queues, turns: NewAndOld::new(quantum), seed: None, limit }
    }

    /// Returns true if a packet of `wire_bytes` fits into the buffer in addition to the backlog.
    #[inline]
    pub fn has_room(&self, waiting: Backlog, wire_bytes: u32) -> bool {
        waiting.has_room_for(wire_bytes, self.limit)
    }

    /// Queue of a flow or user, one of `count`.
    #[inline]
    pub fn queue_of(&mut self, key: u32, count: u32, rng: &mut Rng) -> u32 {
        let seed = *self.seed.get_or_insert_with(|| rng.bits());
        //= RFC 8290 4.1-1: A hash of the flow, salted at random and modulo the queues, picks the queue.
        bucket(hash(key, seed), count) as u32
    }

    /// Stores a packet. While the backlog exceeds the limit, drops at most `batch` packets of the longest queue, and
    /// passes the queue's record and the number of dropped packets to `cut`.
    #[inline]
    pub fn store(
        &mut self,
        arrival: Arrival<P>,
        now: Time,
        batch: u32,
        drops: &mut impl DropSink<P>,
        mut cut: impl FnMut(&mut R, u32),
    ) {
        let Arrival { mut packet, queue, found } = arrival;
        //= RFC 8290 4.1-2: The packet is stamped and goes to the tail of its queue.
        packet.set_enqueued_at(now);
        self.queues.push_back(queue, packet, ());
        self.turns.arrived(&mut self.queues, queue);
        let stored = Stored { queue, found };
        cut_longest(&mut self.queues, self.limit, batch, stored, drops, |record, packets| {
            cut(&mut record.own, packets);
        });
    }

    /// Returns the next packet. `serve` takes it from the queue whose turn it is, or empties that queue and returns
    /// `None`.
    #[inline]
    pub fn next(&mut self, serve: impl FnMut(&mut QueueStore<P, (), Turning<R>>, u32) -> Option<P>) -> Option<P> {
        self.turns.next(&mut self.queues, serve)
    }

    /// Backlog of all queues.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    /// Number of queues and their bytes on the heap.
    #[must_use]
    pub fn state_size(&self) -> StateSize {
        StateSize { records: self.queues.open_queues(), bytes: self.queues.state_bytes() }
    }
}
