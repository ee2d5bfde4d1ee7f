//! A queue sorted by tag with access to both ends: the smallest tag is served, the largest can be pushed out.
//!
//! Equal tags keep the order of arrival. The packets are in a slab. A min-max heap (Atkinson, Sack, Santoro, Strothotte
//! 1986) of (tag, arrival number, slot) orders them.
//!
//! Insertion, and removal at either end, cost O(log n) comparisons. Each packet needs 24 bytes in addition to its own
//! size. Memory is reused, so no allocation is needed once the queue has reached its maximum length.

use crate::contract::discipline::Backlog;
use crate::contract::packet::Packet;

/// Packets in the order of their tags.
#[derive(Clone, Debug)]
pub struct SortedQueue<P> {
    order: MinMaxHeap<Entry>,
    slots: Vec<P>,
    free: Vec<u32>,
    arrivals: u64,
    backlog: Backlog,
}

/// Order of a packet: by tag, then by arrival. The bits of non-negative tags have the same order as the tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    tag_bits: u64,
    arrival: u64,
    slot: u32,
}

/// A packet removed from a [`SortedQueue`].
#[derive(Clone, Copy, Debug)]
pub struct Sorted<P> {
    /// The packet.
    pub packet: P,
    /// Tag by which the packet is sorted.
    pub tag: f64,
    /// Arrival number, as returned by [`SortedQueue::push`].
    pub arrival: u64,
}

impl<P> Default for SortedQueue<P> {
    fn default() -> Self {
        Self {
            order: MinMaxHeap(Vec::new()),
            slots: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
            backlog: Backlog::default(),
        }
    }
}

impl<P: Packet> SortedQueue<P> {
    /// Backlog.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Inserts `packet` after all packets with smaller or equal tags. `tag` must not be negative or NaN. Returns its
    /// arrival number.
    pub fn push(&mut self, tag: f64, packet: P) -> u64 {
        debug_assert!(tag >= 0.0, "tag {tag}");
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        if slot as usize == self.slots.len() {
            self.slots.push(packet);
        } else {
            self.slots[slot as usize] = packet;
        }
        self.arrivals += 1;
        self.backlog.add(packet.wire_bytes());
        // The sum turns -0 into +0, which has the smallest bits.
        self.order.push(Entry { tag_bits: (tag + 0.0).to_bits(), arrival: self.arrivals, slot });
        self.arrivals
    }

    /// Removes the packet with the smallest tag; among equal tags, the first arrival.
    pub fn pop_front(&mut self) -> Option<Sorted<P>> {
        let entry = self.order.pop_min()?;
        Some(self.take(entry))
    }

    /// Removes the packet with the largest tag; among equal tags, the last arrival.
    pub fn pop_back(&mut self) -> Option<Sorted<P>> {
        let entry = self.order.pop_max()?;
        Some(self.take(entry))
    }

    fn take(&mut self, entry: Entry) -> Sorted<P> {
        let packet = self.slots[entry.slot as usize];
        self.free.push(entry.slot);
        self.backlog.remove(packet.wire_bytes());
        Sorted { packet, tag: f64::from_bits(entry.tag_bits), arrival: entry.arrival }
    }
}

/// A heap in which items on even levels are the minima of their subtrees, and items on odd levels the maxima.
#[derive(Clone, Debug)]
struct MinMaxHeap<T>(Vec<T>);

impl<T: Ord + Copy> MinMaxHeap<T> {
    fn push(&mut self, item: T) {
        let last = self.0.len();
        self.0.push(item);
        if last == 0 {
            return;
        }
        let parent = (last - 1) / 2;
        let (is_max, start) = if is_max_level(last) {
            if item < self.0[parent] { (false, self.exchange(last, parent)) } else { (true, last) }
        } else if item > self.0[parent] {
            (true, self.exchange(last, parent))
        } else {
            (false, last)
        };
        if is_max { self.rise::<true>(start) } else { self.rise::<false>(start) }
    }

    fn pop_min(&mut self) -> Option<T> {
        self.remove::<false>(0)
    }

    fn pop_max(&mut self) -> Option<T> {
        match self.0.len() {
            0 | 1 => self.0.pop(),
            2 => self.0.pop(),
            _ => self.remove::<true>(if self.0[2] > self.0[1] { 2 } else { 1 }),
        }
    }

    fn remove<const MAX: bool>(&mut self, index: usize) -> Option<T> {
        if self.0.is_empty() {
            return None;
        }
        let item = self.0.swap_remove(index);
        self.sink::<MAX>(index);
        Some(item)
    }

    /// Returns true if the item at `a` belongs above the item at `b`: the larger one on maximum levels (`MAX`), the
    /// smaller one on minimum levels.
    #[inline]
    fn precedes<const MAX: bool>(&self, a: usize, b: usize) -> bool {
        if MAX { self.0[a] > self.0[b] } else { self.0[a] < self.0[b] }
    }

    /// Swaps two items. Returns the second index.
    #[inline]
    fn exchange(&mut self, a: usize, b: usize) -> usize {
        self.0.swap(a, b);
        b
    }

    /// Moves the item at `index` up past its grandparents.
    fn rise<const MAX: bool>(&mut self, mut index: usize) {
        while index > 2 {
            let grandparent = ((index - 1) / 2 - 1) / 2;
            if !self.precedes::<MAX>(index, grandparent) {
                break;
            }
            index = self.exchange(index, grandparent);
        }
    }

    /// Moves the item at `index` down past its children and grandchildren.
    fn sink<const MAX: bool>(&mut self, mut index: usize) {
        while let Some(best) = self.best_below::<MAX>(index) {
            if !self.precedes::<MAX>(best, index) {
                break;
            }
            self.0.swap(best, index);
            if best <= 2 * index + 2 {
                break; // a child without children: otherwise a grandchild would be better
            }
            let parent = (best - 1) / 2;
            if self.precedes::<MAX>(parent, best) {
                self.0.swap(parent, best);
            }
            index = best;
        }
    }

    /// The child or grandchild of `index` that belongs nearest to the root.
    fn best_below<const MAX: bool>(&self, index: usize) -> Option<usize> {
        let (child, grandchild) = (2 * index + 1, 4 * index + 3);
        let below = (child..child + 2).chain(grandchild..grandchild + 4).take_while(|&at| at < self.0.len());
        below.reduce(|best, at| if self.precedes::<MAX>(at, best) { at } else { best })
    }
}

#[inline]
fn is_max_level(index: usize) -> bool {
    (index + 1).ilog2() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;
    use proptest::prelude::*;

    fn packet(flow: u32) -> TestPacket {
        TestPacket { flow, ..Default::default() }
    }

    #[test]
    fn equal_tags_keep_the_order_of_arrival_from_both_ends() {
        let mut queue = SortedQueue::default();
        for (flow, tag) in (0..).zip([1.0, 0.0, -0.0, 1.0, 0.5]) {
            queue.push(tag, packet(flow));
        }
        assert_eq!(queue.pop_back().map(|last| (last.packet.flow, last.arrival)), Some((3, 4)));
        assert_eq!(queue.pop_front().map(|first| first.packet.flow), Some(1));
        let rest: Vec<_> =
            std::iter::from_fn(|| queue.pop_front()).map(|sorted| (sorted.packet.flow, sorted.tag)).collect();
        assert_eq!(rest, [(2, 0.0), (4, 0.5), (0, 1.0)]);
        assert!(queue.pop_back().is_none() && queue.backlog() == Backlog::default());
    }

    #[test]
    fn memory_does_not_grow_with_use() {
        let mut queue = SortedQueue::default();
        for round in 0..1000u32 {
            (0..10).for_each(|i| _ = queue.push(f64::from((i * 7 + round) % 10), packet(i)));
            (0..5).for_each(|_| _ = (queue.pop_front(), queue.pop_back()));
        }
        assert_eq!(queue.slots.len(), 10);
    }

    proptest! {
        #[test]
        fn it_serves_and_expels_as_a_sorted_list_does(steps in prop::collection::vec((0u8..5, 0u8..20), 0..400)) {
            let mut queue = SortedQueue::default();
            let mut list: Vec<(u8, u32)> = Vec::new();
            for (number, (step, tag)) in (0u32..).zip(steps) {
                let (got, expected) = match step {
                    0 if !list.is_empty() => (queue.pop_front(), Some(list.remove(0))),
                    0 => (queue.pop_front(), None),
                    1 => (queue.pop_back(), list.pop()),
                    _ => {
                        queue.push(f64::from(tag), packet(number));
                        let at = list.partition_point(|&(other, _)| other <= tag);
                        list.insert(at, (tag, number));
                        continue;
                    }
                };
                prop_assert_eq!(got.map(|sorted| (sorted.tag, sorted.packet.flow)),
                    expected.map(|(tag, number)| (f64::from(tag), number)));
                prop_assert_eq!(queue.backlog().packets as usize, list.len());
            }
        }
    }
}
