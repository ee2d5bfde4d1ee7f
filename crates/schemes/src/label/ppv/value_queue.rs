//! A FIFO queue that can also remove the packet of least value.
//!
//! Packets are in a slab, linked in the order of arrival, and a binary heap orders their slots by value. Every slot
//! stores its position in the heap.
//!
//! Cost: O(log n) comparisons per insertion or removal. State: 36 bytes per packet in addition to the packet; memory is
//! reused.

use crate::contract::prelude::*;
use std::cmp::Ordering;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Slot<P> {
    packet: P,
    value: f64,
    arrival: u64,
    heap_index: u32,
    before: u32,
    after: u32,
}

/// Packets in the order of arrival, with their values.
#[derive(Clone, Debug)]
pub(super) struct ValueQueue<P> {
    slots: Vec<Slot<P>>,
    free: Vec<u32>,
    heap: Vec<u32>,
    head: u32,
    tail: u32,
    arrivals: u64,
    backlog: Backlog,
}

impl<P: Packet> ValueQueue<P> {
    pub fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            heap: Vec::new(),
            head: NONE,
            tail: NONE,
            arrivals: 0,
            backlog: Backlog::default(),
        }
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The least value in the queue.
    #[inline]
    pub fn least(&self) -> Option<f64> {
        self.heap.first().map(|&slot| self.slots[slot as usize].value)
    }

    pub fn push(&mut self, value: f64, packet: P) {
        self.arrivals += 1;
        let heap_index = self.heap.len() as u32;
        let slot = Slot { packet, value, arrival: self.arrivals, heap_index, before: self.tail, after: NONE };
        let index = if let Some(index) = self.free.pop() {
            self.slots[index as usize] = slot;
            index
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        self.link(self.tail, index);
        self.tail = index;
        self.heap.push(index);
        self.rise(heap_index as usize);
        self.backlog.add(packet.wire_bytes());
    }

    /// Removes the packet that arrived first.
    pub fn pop_front(&mut self) -> Option<P> {
        (self.head != NONE).then(|| self.remove(self.head))
    }

    /// Removes the packet with the least value; among equal values, the last arrival.
    pub fn pop_least(&mut self) -> Option<P> {
        self.heap.first().copied().map(|slot| self.remove(slot))
    }

    /// Links `after` as the successor of `before` in the order of arrival.
    #[inline]
    fn link(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.head = after,
            before => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.tail = before,
            after => self.slots[after as usize].before = before,
        }
    }

    fn remove(&mut self, index: u32) -> P {
        let Slot { packet, heap_index, before, after, .. } = self.slots[index as usize].clone();
        self.link(before, after);
        let at = heap_index as usize;
        self.heap.swap_remove(at);
        if let Some(&moved) = self.heap.get(at) {
            self.slots[moved as usize].heap_index = heap_index;
            self.rise(at);
            self.sink(self.slots[moved as usize].heap_index as usize);
        }
        self.free.push(index);
        self.backlog.remove(packet.wire_bytes());
        packet
    }

    /// Returns true if heap entry `a` precedes `b`: lower value, or equal value and later arrival.
    #[inline]
    fn precedes(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.slots[self.heap[a] as usize], &self.slots[self.heap[b] as usize]);
        match a.value.total_cmp(&b.value) {
            Ordering::Less => true,
            Ordering::Equal => a.arrival > b.arrival,
            Ordering::Greater => false,
        }
    }

    fn exchange(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.slots[self.heap[a] as usize].heap_index = a as u32;
        self.slots[self.heap[b] as usize].heap_index = b as u32;
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.precedes(at, (at - 1) / 2) {
            self.exchange(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let children = (2 * at + 1..2 * at + 3).take_while(|&child| child < self.heap.len());
            let Some(child) = children.reduce(|best, child| if self.precedes(child, best) { child } else { best })
            else {
                return;
            };
            if !self.precedes(child, at) {
                return;
            }
            self.exchange(child, at);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_serves_and_expels_as_a_list_does(steps in prop::collection::vec((0u8..5, 0u8..20), 0..400)) {
            let mut queue = ValueQueue::new();
            let mut list: Vec<(u8, u32)> = Vec::new();
            let mut longest = 0;
            for (number, (step, value)) in (0u32..).zip(steps) {
                let (got, expected) = match step {
                    0 => (queue.pop_front(), (!list.is_empty()).then(|| list.remove(0))),
                    1 => {
                        let least = (0..list.len()).rev().min_by_key(|&at| list[at].0);
                        prop_assert_eq!(queue.least(), least.map(|at| f64::from(list[at].0)));
                        (queue.pop_least(), least.map(|at| list.remove(at)))
                    }
                    _ => {
                        queue.push(f64::from(value), TestPacket { flow: number, ..Default::default() });
                        list.push((value, number));
                        longest = longest.max(list.len());
                        continue;
                    }
                };
                prop_assert_eq!(got.map(|packet| packet.flow), expected.map(|(_, number)| number));
                prop_assert_eq!(queue.backlog().packets as usize, list.len());
                prop_assert_eq!(queue.slots.len(), longest);
            }
        }
    }
}
