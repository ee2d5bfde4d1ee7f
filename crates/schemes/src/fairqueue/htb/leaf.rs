//! The queue of a leaf of HTB.

use super::params::{HtbParams, LeafQueue};
use crate::contract::prelude::*;
use crate::fairqueue::cake::{Cake, CakeParams};
use crate::fairqueue::fq_codel::{FqCodel, FqCodelParams};
use std::collections::VecDeque;

/// Queue of a leaf.
#[derive(Debug)]
pub(super) enum Leaf<P> {
    Cake(Box<Cake<P>>),
    FqCodel(Box<FqCodel<P>>),
    DropTail { packets: VecDeque<P>, backlog: Backlog, limit: QueueLimit },
}

/// Ways per set of CAKE.
const WAYS: u32 = 8;
/// Rate for CAKE below a shaper, where there is no link rate. CAKE then has the target and quantum of a fast link.
const UNSHAPED: BitRate = BitRate(10_000_000_000_000);

impl<P: Packet> Leaf<P> {
    pub(super) fn new(params: &HtbParams, buffer: &BufferParams) -> Self {
        match params.leaf {
            LeafQueue::Cake => {
                let sets = params.leaf_queues.div_ceil(WAYS);
                let cake = CakeParams { sets, ways: WAYS, ..CakeParams::default() };
                Self::Cake(Box::new(Cake::new(&cake, buffer, UNSHAPED)))
            }
            LeafQueue::FqCodel => {
                let fq_codel = FqCodelParams { buckets: params.leaf_queues, ..FqCodelParams::default() };
                Self::FqCodel(Box::new(FqCodel::new(&fq_codel, buffer)))
            }
            LeafQueue::DropTail => {
                Self::DropTail { packets: VecDeque::new(), backlog: Backlog::default(), limit: buffer.limit }
            }
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        match self {
            Self::Cake(queue) => queue.backlog(),
            Self::FqCodel(queue) => queue.backlog(),
            Self::DropTail { backlog, .. } => *backlog,
        }
    }

    pub(super) fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        match self {
            Self::Cake(queue) => queue.enqueue(packet, now, rng, drops),
            Self::FqCodel(queue) => queue.enqueue(packet, now, rng, drops),
            Self::DropTail { packets, backlog, limit } => {
                if !backlog.has_room_for(packet.wire_bytes(), *limit) {
                    return drops.dropped(&packet, DropReason::Overlimit, *backlog);
                }
                packet.set_enqueued_at(now);
                backlog.add(packet.wire_bytes());
                packets.push_back(packet);
            }
        }
    }

    pub(super) fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        match self {
            Self::Cake(queue) => queue.dequeue(now, rng, drops),
            Self::FqCodel(queue) => queue.dequeue(now, rng, drops),
            Self::DropTail { packets, backlog, .. } => {
                let packet = packets.pop_front()?;
                backlog.remove(packet.wire_bytes());
                Some(packet)
            }
        }
    }

    /// Size of the queue in bytes, without packets.
    pub(super) fn state_bytes(&self) -> usize {
        match self {
            Self::Cake(queue) => queue.state_size().bytes,
            Self::FqCodel(queue) => queue.state_size().bytes,
            Self::DropTail { .. } => 0,
        }
    }
}
