//! FIFO queues per traffic class, and the scheduler that selects between them.
//!
//! Source: abc2018 III-D2. The schedulers are plain FIFO, strict priority, and MEDF (modified earliest deadline first).
//! MEDF stamps a packet with its arrival time, and sends the head with the smaller stamp + offset first. The offset is
//! 0 for EF and `delta_BE * Q_max * MTU / C_b` for BE: a multiple of the time in which a link of rate C_b sends a full
//! buffer of Q_max packets. Comparing the heads is enough because stamps do not decrease within a queue.
//!
//! Deviations: 1. The classes share the limit; the paper implies this (Q = Q_BE + Q_EF).
//! 2. If deadlines are equal, EF is sent first; the paper does not specify this.
//! 3. The offset of BE depends on the link's initial rate and does not change with the rate.

use crate::base::units::{BitRate, Time};
use crate::contract::buffer::{BufferParams, Scheduler};
use crate::contract::discipline::Backlog;
use crate::contract::packet::{Packet, TrafficClass};
use std::collections::VecDeque;

/// Stores packets in queues per class and selects the next one. Makes no drop decisions.
#[derive(Clone, Debug)]
pub struct ClassQueues<P> {
    queues: [VecDeque<P>; TrafficClass::ALL.len()],
    backlog: Backlog,
    scheduler: Scheduler,
    be_offset: Time,
}

impl<P: Packet> ClassQueues<P> {
    /// Creates empty queues at a link of rate `rate`.
    #[must_use]
    pub fn new(params: &BufferParams, rate: BitRate) -> Self {
        Self {
            queues: Default::default(),
            backlog: Backlog::default(),
            scheduler: params.scheduler,
            be_offset: params.be_offset_at(rate),
        }
    }

    /// Returns true if packets leave in the order of arrival.
    pub fn is_fifo(&self) -> bool {
        self.scheduler == Scheduler::Fifo
    }

    /// Backlog.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Appends a packet to the queue of its class, with the enqueueing time `now`.
    #[inline]
    pub fn push(&mut self, packet: P, now: Time) {
        self.backlog.add(packet.wire_bytes());
        let queue = &mut self.queues[if self.scheduler == Scheduler::Fifo { 0 } else { packet.class().index() }];
        queue.push_back(packet);
        // Write the stamp after the push: copying a packet right after writing to it is slow.
        if let Some(packet) = queue.back_mut() {
            packet.set_enqueued_at(now);
        }
    }

    /// Removes the packet to be served next.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let queue = self.next_queue();
        let queue = &mut self.queues[queue];
        let packet = queue.pop_front()?;
        if queue.is_empty() {
            // Restarts at the first slot, which is in the cache; a queue that is mostly empty thus does not walk
            // through its buffer.
            queue.clear();
        }
        self.backlog.remove(packet.wire_bytes());
        Some(packet)
    }

    /// Arrival time of the packet to be served next; `None` if no packet waits.
    #[inline]
    pub fn head_enqueued_at(&self) -> Option<Time> {
        self.queues[self.next_queue()].front().map(Packet::enqueued_at)
    }

    /// Returns the packet to be served `places` after the next one, if no other queue is served in between.
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<&P> {
        self.queues[self.next_queue()].get(places)
    }

    /// The queue with the next packet to serve; any queue if all are empty.
    #[inline]
    fn next_queue(&self) -> usize {
        const BE: usize = TrafficClass::BestEffort.index();
        const EF: usize = TrafficClass::Expedited.index();
        // Usually no EF packet waits; with plain FIFO none ever does, since all packets are in the BE queue.
        let Some(ef) = self.queues[EF].front() else { return BE };
        match (self.scheduler, self.queues[BE].front()) {
            (Scheduler::Medf, Some(be)) if be.enqueued_at() + self.be_offset < ef.enqueued_at() => BE,
            _ => EF,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    fn queues(scheduler: Scheduler) -> ClassQueues<TestPacket> {
        ClassQueues::new(&BufferParams { scheduler, ..Default::default() }, BitRate(10_000_000))
    }

    /// Enqueues (class, milliseconds) pairs. Returns the flow ids in the order of service.
    fn order_of_service(scheduler: Scheduler, arrivals: &[(TrafficClass, u64)]) -> Vec<u32> {
        let mut queues = queues(scheduler);
        for (flow, &(class, at)) in (0..).zip(arrivals) {
            queues.push(TestPacket { flow, class, ..Default::default() }, Time::from_millis(at));
        }
        std::iter::from_fn(|| queues.pop()).map(|packet| packet.flow).collect()
    }

    const BE: TrafficClass = TrafficClass::BestEffort;
    const EF: TrafficClass = TrafficClass::Expedited;

    #[test]
    fn fifo_ignores_the_class() {
        assert_eq!(order_of_service(Scheduler::Fifo, &[(BE, 0), (EF, 1), (BE, 2)]), [0, 1, 2]);
    }

    #[test]
    fn strict_priority_serves_ef_whenever_it_waits() {
        assert_eq!(order_of_service(Scheduler::Strict, &[(BE, 0), (EF, 900), (EF, 901)]), [1, 2, 0]);
    }

    #[test]
    fn medf_lets_be_pass_once_its_offset_is_over() {
        // Delta_BE = 2 * 24 * 1500 * 8 / 10 Mbit/s = 57.6 ms. So a BE packet that arrived at 0 ms precedes an EF packet
        // that arrived at 58 ms, but not one that arrived at 57 ms.
        assert_eq!(order_of_service(Scheduler::Medf, &[(BE, 0), (EF, 57), (EF, 58)]), [1, 0, 2]);
        assert_eq!(queues(Scheduler::Medf).be_offset, Time::from_micros(57_600));
    }

    #[test]
    fn medf_gives_ties_to_ef() {
        let mut queues = queues(Scheduler::Medf);
        for (class, at) in [(BE, Time::ZERO), (EF, Time::from_micros(57_600))] {
            queues.push(TestPacket { class, ..Default::default() }, at);
        }
        assert_eq!(queues.pop().map(|p| p.class), Some(EF));
    }
}
