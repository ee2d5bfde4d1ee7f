//! A cache of a fixed number of flow records that evicts the least recently used one.
//!
//! Records are in one array, linked in the order of use. A table maps flows to records. All operations are O(1).
//! Nothing is allocated once the cache has filled up. [`LruCache::records_mut`] iterates from the most to the least
//! recently used record, an order that depends only on the calls.

use crate::flows::flow_table::FlowTable;

/// No record: end of a list.
const NONE: u32 = u32::MAX;

/// Stores a bounded number of records by flow key.
#[derive(Clone, Debug)]
pub struct LruCache<T> {
    slots: Vec<Slot<T>>,
    index: FlowTable<u32>,
    capacity: usize,
    newest: u32,
    oldest: u32,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    key: u32,
    newer: u32,
    older: u32,
    record: T,
}

impl<T> LruCache<T> {
    /// Creates an empty cache of `capacity` records, at least 1.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        let capacity = capacity.max(1) as usize;
        Self { slots: Vec::with_capacity(capacity), index: FlowTable::default(), capacity, newest: NONE, oldest: NONE }
    }

    /// Returns the record of `key` without changing the order of use.
    #[inline]
    pub fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        let &slot = self.index.get(key)?;
        Some(&mut self.slots[slot as usize].record)
    }

    /// Returns the record of `key`, if there is one, and makes it the most recently used.
    #[inline]
    pub fn use_existing(&mut self, key: u32) -> Option<&mut T> {
        let &slot = self.index.get(key)?;
        self.make_newest(slot);
        Some(&mut self.slots[slot as usize].record)
    }

    /// Returns the record of `key` and makes it the most recently used. If there is none, `new` creates it. In a full
    /// cache, the new record replaces the least recently used one.
    #[inline]
    pub fn use_or_insert_with(&mut self, key: u32, new: impl FnOnce() -> T) -> &mut T {
        let slot = match self.index.get(key) {
            Some(&slot) => {
                self.make_newest(slot);
                slot
            }
            None => self.insert(key, new()),
        };
        &mut self.slots[slot as usize].record
    }

    /// Visits all records, the most recently used first.
    pub fn records_mut(&mut self, mut visit: impl FnMut(u32, &mut T)) {
        let mut next = self.newest;
        while next != NONE {
            let slot = &mut self.slots[next as usize];
            visit(slot.key, &mut slot.record);
            next = slot.older;
        }
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes used by the current records and the table that finds them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.slots) + self.index.bytes()
    }

    #[inline]
    fn make_newest(&mut self, slot: u32) {
        if slot != self.newest {
            self.unlink(slot);
            self.link_as_newest(slot);
        }
    }

    /// Inserts a record. Returns its slot: a new slot, or the slot of the least recently used record.
    fn insert(&mut self, key: u32, record: T) -> u32 {
        let filled = Slot { key, newer: NONE, older: NONE, record };
        let slot = if self.slots.len() < self.capacity {
            self.slots.push(filled);
            (self.slots.len() - 1) as u32
        } else {
            let slot = self.oldest;
            self.unlink(slot);
            let evicted = std::mem::replace(&mut self.slots[slot as usize], filled);
            self.index.remove(evicted.key);
            slot
        };
        self.index.insert(key, slot);
        self.link_as_newest(slot);
        slot
    }

    fn unlink(&mut self, slot: u32) {
        let (newer, older) = (self.slots[slot as usize].newer, self.slots[slot as usize].older);
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    fn link_as_newest(&mut self, slot: u32) {
        let second = std::mem::replace(&mut self.newest, slot);
        (self.slots[slot as usize].newer, self.slots[slot as usize].older) = (NONE, second);
        match second {
            NONE => self.oldest = slot,
            second => self.slots[second as usize].newer = slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contents(cache: &mut LruCache<u32>) -> Vec<(u32, u32)> {
        let mut records = Vec::new();
        cache.records_mut(|key, &mut record| records.push((key, record)));
        records
    }

    #[test]
    fn the_least_recently_used_gives_way() {
        let mut cache = LruCache::new(3);
        assert!(cache.is_empty());
        [1, 2, 3].iter().for_each(|&key| *cache.use_or_insert_with(key, || 0) += key);
        cache.use_or_insert_with(1, || unreachable!());
        *cache.get_mut(2).unwrap() = 7; // reading is not using
        cache.use_or_insert_with(4, || 40);
        assert_eq!(contents(&mut cache), [(4, 40), (1, 1), (3, 3)]);
        assert_eq!(cache.get_mut(2), None);
        // Three records, each with a slot of 16 bytes and 9 bytes in the table.
        assert_eq!((cache.len(), cache.bytes()), (3, 75));
    }

    proptest! {
        #[test]
        fn does_what_a_sorted_list_does(
            capacity in 1u32..6,
            calls in prop::collection::vec((0u32..9, 0u32..3), 0..300),
        ) {
            let mut cache = LruCache::new(capacity);
            let mut list: Vec<(u32, u32)> = Vec::new();
            for (value, (key, call)) in (0..).zip(calls) {
                let place = list.iter().position(|&(other, _)| other == key);
                match call {
                    0 => prop_assert_eq!(cache.get_mut(key).copied(), place.map(|at| list[at].1)),
                    1 => {
                        let entry = place.map(|at| list.remove(at));
                        entry.iter().for_each(|&entry| list.insert(0, entry));
                        prop_assert_eq!(cache.use_existing(key).copied(), entry.map(|entry| entry.1));
                    }
                    _ => {
                        let entry = place.map_or((key, value), |at| list.remove(at));
                        list.insert(0, entry);
                        list.truncate(capacity as usize);
                        prop_assert_eq!(*cache.use_or_insert_with(key, || value), entry.1);
                    }
                }
                prop_assert_eq!(&contents(&mut cache), &list);
                prop_assert_eq!(cache.len(), list.len());
            }
        }
    }
}
