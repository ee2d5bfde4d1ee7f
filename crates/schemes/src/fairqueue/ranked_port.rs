//! A port that approximates a sorted queue: an arriving packet gets a rank, and the scheme selects its queue or drops
//! it.

use crate::contract::prelude::*;
use crate::fairqueue::ranked_queues::RankedQueues;
use std::fmt::Debug;

/// Selects the queue of a packet by its rank.
pub trait Placement: Clone + Debug {
    /// Returns a queue with room for a packet of `rank`, or the reason of the drop. Called once per arrival.
    fn place<P: Packet>(&mut self, queues: &RankedQueues<P>, rank: f64, wire_bytes: u32) -> Result<u32, DropReason>;
    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// The queues of one port and the rule that fills them.
#[derive(Clone, Debug)]
pub struct RankedPort<P, R> {
    /// The queues.
    pub queues: RankedQueues<P>,
    /// Admission rule.
    pub placement: R,
}

impl<P: Packet, R: Placement> QueueDiscipline<P> for RankedPort<P, R> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let rank = self.queues.rank_of(&packet, rng);
        match self.placement.place(&self.queues, rank, packet.wire_bytes()) {
            Ok(queue) => self.queues.accept(queue, packet, rank, now),
            Err(reason) => self.queues.refuse(&packet, rank, reason, drops),
        }
    }

    #[inline]
    fn dequeue(&mut self, _: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        self.queues.serve()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_size(&self) -> StateSize {
        let StateSize { records, bytes } = self.queues.state_size();
        let own = size_of_val(self) - size_of_val(&self.queues) + self.placement.heap_bytes();
        StateSize { records, bytes: bytes + own }
    }

    fn report(&self, report: Report<'_>) {
        self.queues.report(report);
    }
}
