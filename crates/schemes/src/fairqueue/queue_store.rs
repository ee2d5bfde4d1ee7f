//! Queues of packets, one for each flow, user or bucket, in one block of memory.
//!
//! Packets of all queues are in one slab and are linked to queues; queues are in another. Freed slots are reused, so
//! memory is bounded by the maximum numbers of packets and queues at a time.
//!
//! The longest queue is found through a heap of upper bounds. A queue that grows above its bound raises the bound; a
//! queue that shrinks does not change it. When the longest queue is requested, the bounds at the top of the heap are
//! lowered to the true lengths until the top bound is exact. No queue can then be longer.
//!
//! Cost: O(1) to append and remove, except for raising a bound, which is O(1) on average for queues that grow equally
//! and O(log n) at most. Finding the longest queue lowers at most one bound per earlier removal, O(log n); schemes that
//! never request it do not pay for it. State: 32 bytes per queue in addition to the record, and 24 + 4 in the heap.

use crate::contract::prelude::*;
use crate::fairqueue::indexed_heap::IndexedHeap;
use crate::fairqueue::intrusive_list::{IntrusiveList, Link, Linked, NIL};
use std::cmp::Reverse;
use std::ops::{Index, IndexMut};

/// Measure of the longest queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthMeasure {
    /// Bytes; among equals, packets.
    Bytes,
    /// Packets; among equals, bytes.
    Packets,
}

impl LengthMeasure {
    /// Returns a key that is greater for longer queues. Every queue with a packet is longer than an empty one.
    #[inline]
    fn of(self, length: Backlog) -> (u64, u64) {
        match self {
            Self::Bytes => (length.bytes, u64::from(length.packets)),
            Self::Packets => (u64::from(length.packets), length.bytes),
        }
    }
}

/// A packet in its queue, with the scheduler's tag.
#[derive(Clone, Debug)]
struct Node<P, T> {
    packet: P,
    tag: T,
    link: Link,
}

impl<P, T> Linked for Node<P, T> {
    #[inline]
    fn link(&self) -> &Link {
        &self.link
    }
    #[inline]
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// A queue with the scheduler's record. The scheduler may use the queue's link for lists of queues.
#[derive(Clone, Debug)]
pub struct Queue<R> {
    packets: IntrusiveList,
    length: Backlog,
    link: Link,
    record: R,
}

impl<R> Linked for Queue<R> {
    #[inline]
    fn link(&self) -> &Link {
        &self.link
    }
    #[inline]
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Queues of packets `P` with tags `T`. Each queue has a record `R` of its scheduler: `store[queue]`.
#[derive(Clone, Debug)]
pub struct QueueStore<P, T, R> {
    nodes: Vec<Node<P, T>>,
    free_nodes: IntrusiveList,
    queues: Vec<Queue<R>>,
    free_queues: IntrusiveList,
    open: usize,
    backlog: Backlog,
    measure: LengthMeasure,
    /// Upper bounds of the lengths, largest first.
    bounds: IndexedHeap<Reverse<(u64, u64)>>,
}

impl<P: Packet, T: Copy, R> QueueStore<P, T, R> {
    /// Creates an empty store. [`QueueStore::longest`] uses `measure`.
    #[must_use]
    pub fn new(measure: LengthMeasure) -> Self {
        Self {
            nodes: Vec::new(),
            free_nodes: IntrusiveList::default(),
            queues: Vec::new(),
            free_queues: IntrusiveList::default(),
            open: 0,
            backlog: Backlog::default(),
            measure,
            bounds: IndexedHeap::default(),
        }
    }

    /// Opens an empty queue. Queues are numbered 0, 1, 2 ... if none is closed.
    pub fn open(&mut self, record: R) -> u32 {
        self.open += 1;
        if let Some(queue) = self.free_queues.pop_front(&mut self.queues) {
            self.queues[queue as usize].record = record;
            return queue;
        }
        let queue = self.queues.len() as u32;
        assert!(queue < NIL, "fewer than 2^32 - 1 queues");
        self.queues.push(Queue {
            packets: IntrusiveList::default(),
            length: Backlog::default(),
            link: Link::NONE,
            record,
        });
        queue
    }

    /// Closes `queue`, which must be empty and in no list. Its number may be reused.
    pub fn close(&mut self, queue: u32) {
        debug_assert!(self.length(queue).packets == 0);
        self.open -= 1;
        self.free_queues.push_back(&mut self.queues, queue);
    }

    /// Number of open queues.
    #[must_use]
    pub fn open_queues(&self) -> usize {
        self.open
    }

    /// Bytes of the open queues, without packets.
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        self.open * (size_of::<Queue<R>>() + size_of::<((u64, u64), u32)>() + size_of::<u32>())
    }

    /// Backlog of all queues.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Returns true if the backlog exceeds `limit`.
    #[inline]
    pub fn exceeds(&self, limit: QueueLimit) -> bool {
        self.backlog.exceeds(limit)
    }

    /// Backlog of `queue`.
    #[inline]
    pub fn length(&self, queue: u32) -> Backlog {
        self.queues[queue as usize].length
    }

    /// Returns the queue after `queue` in the scheduler's list.
    #[inline]
    pub fn after(&self, queue: u32) -> Option<u32> {
        IntrusiveList::after(&self.queues, queue)
    }

    /// The queues, as elements of the scheduler's lists.
    #[inline]
    pub fn elements(&mut self) -> &mut [Queue<R>] {
        &mut self.queues
    }

    /// Appends a packet.
    #[inline]
    pub fn push_back(&mut self, queue: u32, packet: P, tag: T) {
        let node = Node { packet, tag, link: Link::NONE };
        let at = match self.free_nodes.pop_front(&mut self.nodes) {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        let wire_bytes = packet.wire_bytes();
        let entry = &mut self.queues[queue as usize];
        entry.packets.push_back(&mut self.nodes, at);
        entry.length.add(wire_bytes);
        self.backlog.add(wire_bytes);
        let length = Reverse(self.measure.of(entry.length));
        if self.bounds.key(queue).is_none_or(|bound| length < bound) {
            self.bounds.set(queue, length);
        }
    }

    /// Returns the first packet and its tag.
    #[inline]
    pub fn front(&self, queue: u32) -> Option<(&P, T)> {
        let node = &self.nodes[self.queues[queue as usize].packets.front()? as usize];
        Some((&node.packet, node.tag))
    }

    /// Removes the first packet.
    #[inline]
    pub fn pop_front(&mut self, queue: u32) -> Option<(P, T)> {
        let at = self.queues[queue as usize].packets.front()?;
        Some(self.take(queue, at))
    }

    /// Removes the last packet.
    #[inline]
    pub fn pop_back(&mut self, queue: u32) -> Option<(P, T)> {
        let at = self.queues[queue as usize].packets.back()?;
        Some(self.take(queue, at))
    }

    #[inline]
    fn take(&mut self, queue: u32, at: u32) -> (P, T) {
        let entry = &mut self.queues[queue as usize];
        entry.packets.remove(&mut self.nodes, at);
        self.free_nodes.push_front(&mut self.nodes, at);
        let Node { packet, tag, .. } = self.nodes[at as usize];
        entry.length.remove(packet.wire_bytes());
        self.backlog.remove(packet.wire_bytes());
        (packet, tag)
    }

    /// Returns the longest queue, or `None` if no packet waits. If several are longest, the order of events decides.
    pub fn longest(&mut self) -> Option<u32> {
        loop {
            let (bound, queue) = self.bounds.first()?;
            let length = self.length(queue);
            if bound == Reverse(self.measure.of(length)) {
                return (length.packets > 0).then_some(queue);
            }
            if length.packets == 0 {
                self.bounds.remove(queue);
            } else {
                self.bounds.set(queue, Reverse(self.measure.of(length)));
            }
        }
    }
}

impl<P, T, R> Index<u32> for QueueStore<P, T, R> {
    type Output = R;
    #[inline]
    fn index(&self, queue: u32) -> &R {
        &self.queues[queue as usize].record
    }
}

impl<P, T, R> IndexMut<u32> for QueueStore<P, T, R> {
    #[inline]
    fn index_mut(&mut self, queue: u32) -> &mut R {
        &mut self.queues[queue as usize].record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    type Store = QueueStore<TestPacket, u32, ()>;

    fn packet(wire_bytes: u32) -> TestPacket {
        TestPacket { wire_bytes, ..Default::default() }
    }

    fn length_of(queue: &VecDeque<(u32, u32)>) -> Backlog {
        Backlog { packets: queue.len() as u32, bytes: queue.iter().map(|&(bytes, _)| u64::from(bytes)).sum() }
    }

    proptest! {
        #[test]
        fn store_behaves_as_many_deques(
            measure in prop::sample::select(vec![LengthMeasure::Bytes, LengthMeasure::Packets]),
            operations in prop::collection::vec((0u32..6, 0u8..6, prop::sample::select(vec![0, 1, 40, 1500,
                u32::MAX])), 1..300),
        ) {
            let mut store = Store::new(measure);
            (0..6).for_each(|number| assert_eq!(store.open(()), number));
            let mut model: Vec<VecDeque<(u32, u32)>> = vec![VecDeque::new(); 6];
            for (tag, (queue, operation, bytes)) in (0..).zip(operations) {
                let deque = &mut model[queue as usize];
                let plain = |taken: Option<(TestPacket, u32)>| taken.map(|(packet, tag)| (packet.wire_bytes, tag));
                match operation {
                    0 => prop_assert_eq!(plain(store.pop_front(queue)), deque.pop_front()),
                    1 => prop_assert_eq!(plain(store.pop_back(queue)), deque.pop_back()),
                    2 => {
                        let longest = model.iter().map(|queue| measure.of(length_of(queue))).max();
                        match store.longest() {
                            Some(found) => prop_assert_eq!(Some(measure.of(length_of(&model[found as usize]))),
                                longest),
                            None => prop_assert_eq!(longest, Some((0, 0))),
                        }
                    }
                    _ => {
                        store.push_back(queue, packet(bytes), tag);
                        deque.push_back((bytes, tag));
                    }
                }
                for (number, deque) in (0..).zip(&model) {
                    prop_assert_eq!(store.length(number), length_of(deque));
                    prop_assert_eq!(store.front(number).map(|(packet, tag)| (packet.wire_bytes, tag)),
                        deque.front().copied());
                }
                let total = model.iter().map(length_of).fold(Backlog::default(), |sum, length| Backlog {
                    packets: sum.packets + length.packets,
                    bytes: sum.bytes + length.bytes,
                });
                prop_assert_eq!(store.backlog(), total);
            }
        }
    }

    #[test]
    fn memory_of_flows_that_left_is_used_again() {
        let mut store = Store::new(LengthMeasure::Bytes);
        for _ in 0..100_000 {
            let queue = store.open(());
            store.push_back(queue, packet(1500), 0);
            assert_eq!(store.longest(), Some(queue));
            store.pop_front(queue);
            store.close(queue);
        }
        assert_eq!((store.open_queues(), store.state_bytes()), (0, 0));
        assert_eq!((store.nodes.len(), store.queues.len(), store.longest()), (1, 1, None));
    }

    #[test]
    fn limits_are_exceeded_by_one_packet_or_one_byte_more() {
        let mut store = Store::new(LengthMeasure::Bytes);
        let queue = store.open(());
        store.push_back(queue, packet(1500), 0);
        store.push_back(queue, packet(1500), 0);
        let exceeded =
            [QueueLimit::Packets(1), QueueLimit::Packets(2), QueueLimit::Bytes(2999), QueueLimit::Bytes(3000)]
                .map(|limit| store.exceeds(limit));
        assert_eq!(exceeded, [true, false, true, false]);
    }
}
