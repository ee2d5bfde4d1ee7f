//! The most recent captures: the flow of each capture, and the number of captures of each flow.

use super::estimators::{Captures, MAX_ORDER};
use crate::flows::flow_table::FlowTable;

/// Captures of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// x_i: number among all captures in the list.
    held: u32,
    /// Number of the flow's captures among the most recent captures, from which the number of flows is estimated.
    counted: u32,
}

/// A ring of the last captures.
#[derive(Clone, Debug)]
pub(super) struct CaptureList {
    ring: Vec<u32>,
    capacity: usize,
    /// Index of the next capture once the ring is full.
    next: usize,
    /// Number of most recent captures from which the number of flows is estimated.
    counted: usize,
    flows: FlowTable<Count>,
    recent: Captures,
}

impl CaptureList {
    /// Creates an empty list of up to `capacity` captures. The last `counted` captures are used to estimate the number
    /// of flows.
    pub(super) fn new(capacity: u32, counted: u32) -> Self {
        Self {
            ring: Vec::with_capacity(capacity as usize),
            capacity: capacity as usize,
            next: 0,
            counted: counted as usize,
            flows: FlowTable::default(),
            recent: Captures::default(),
        }
    }

    /// Captures a packet of flow `key`. If the list is full, the oldest capture is deleted.
    pub(super) fn capture(&mut self, key: u32) {
        if self.ring.len() >= self.counted {
            let leaving = self.ring[(self.next + self.ring.len() - self.counted) % self.ring.len()];
            self.change_recent(leaving, -1);
        }
        if self.ring.len() < self.capacity {
            self.ring.push(key);
        } else {
            let oldest = std::mem::replace(&mut self.ring[self.next], key);
            self.next = (self.next + 1) % self.capacity;
            self.forget(oldest);
        }
        self.flows.or_insert_with(key, Count::default).held += 1;
        self.change_recent(key, 1);
    }

    /// Returns x_i, the number of captures of flow `key`.
    #[inline]
    pub(super) fn of(&self, key: u32) -> u32 {
        self.flows.get(key).map_or(0, |count| count.held)
    }

    /// Number of captures.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Number of distinct flows.
    pub(super) fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Input of the estimator.
    pub(super) fn recent(&self) -> &Captures {
        &self.recent
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.ring) + self.flows.bytes()
    }

    fn forget(&mut self, key: u32) {
        let count = self.flows.get_mut(key).expect("held captures are counted");
        count.held -= 1;
        if count.held == 0 {
            self.flows.remove(key);
        }
    }

    /// Adds (1) or removes (-1) a capture of `key` among the captures used for the estimate.
    fn change_recent(&mut self, key: u32, by: i32) {
        let count = self.flows.get_mut(key).expect("held captures are counted");
        let (before, after) = (count.counted, count.counted.wrapping_add_signed(by));
        count.counted = after;
        let recent = &mut self.recent;
        recent.occasions = recent.occasions.wrapping_add_signed(by);
        recent.distinct = recent.distinct + u32::from(before == 0) - u32::from(after == 0);
        let mut frequency = |times: u32, by: i32| {
            if (1..=MAX_ORDER as u32).contains(&times) {
                let f = &mut recent.frequencies[times as usize - 1];
                *f = f.wrapping_add_signed(by);
            }
        };
        frequency(before, -1);
        frequency(after, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_what_a_plain_list_holds(
            capacity in 1u32..12,
            share in 0.0f64..=1.0,
            keys in prop::collection::vec(0u32..6, 0..80),
        ) {
            let counted = 1 + (f64::from(capacity - 1) * share) as u32;
            let mut list = CaptureList::new(capacity, counted);
            for end in 1..=keys.len() {
                list.capture(keys[end - 1]);
                let held = &keys[end.saturating_sub(capacity as usize)..end];
                let recent = &keys[end.saturating_sub(counted as usize)..end];
                let times = |of: &[u32], key| of.iter().filter(|&&other| other == key).count() as u32;
                for key in 0..6 {
                    prop_assert_eq!(list.of(key), times(held, key));
                }
                prop_assert_eq!(list.len(), held.len());
                prop_assert_eq!(list.flows(), (0..6).filter(|&key| times(held, key) > 0).count());
                let flows = |wanted| (0..6).filter(|&key| times(recent, key) == wanted).count() as u32;
                prop_assert_eq!(*list.recent(), Captures {
                    occasions: recent.len() as u32,
                    distinct: 6 - flows(0),
                    frequencies: [1, 2, 3, 4, 5].map(flows),
                });
            }
        }
    }

    #[test]
    fn bytes_follow_what_is_held() {
        let mut list = CaptureList::new(100, 50);
        (0..10).for_each(|key| list.capture(key));
        // 4 bytes per capture. Per flow: the key, two counts and a control byte.
        assert_eq!((list.flows(), list.bytes()), (10, 40 + 130));
    }
}
