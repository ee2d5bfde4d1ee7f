//! Records by flow that expire when they have no effect any more. So the number of records is close to the number of
//! active flows.
//!
//! The table is swept when the number of look-ups since the last sweep reaches an eighth of the number of records. So
//! no timer is needed, and a look-up visits eight records on average.

use crate::flows::flow_table::FlowTable;

/// Minimum number of look-ups between two sweeps.
const FEW: usize = 64;
/// Number of records that a sweep visits per look-up since the last sweep.
const VISITS: usize = 8;

/// A table of records that can expire.
#[derive(Clone, Debug)]
pub struct ExpiringTable<T> {
    records: FlowTable<T>,
    look_ups: usize,
    /// Largest number of records at any sweep. The table's memory is proportional to it.
    peak: usize,
}

impl<T> Default for ExpiringTable<T> {
    fn default() -> Self {
        Self { records: FlowTable::default(), look_ups: 0, peak: 0 }
    }
}

impl<T> ExpiringTable<T> {
    /// Returns the record of `key`; if there is none, `new` creates it. May delete records for which `is_live` returns
    /// false.
    #[inline]
    pub fn get_or_insert_with(&mut self, key: u32, is_live: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
        self.look_ups += 1;
        if self.look_ups >= FEW.max(self.records.len() / VISITS) {
            self.look_ups = 0;
            self.peak = self.peak.max(self.records.len());
            self.records.retain(|_, record| is_live(record));
        }
        self.records.or_insert_with(key, new)
    }

    /// The record of `key`, mutable.
    #[inline]
    pub fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        self.records.get_mut(key)
    }

    /// Deletes the record of `key`.
    #[inline]
    pub fn remove(&mut self, key: u32) {
        self.records.remove(key);
    }

    /// Deletes all records. Frees the memory if it is large, since the time to clear is proportional to its size.
    pub fn clear(&mut self) {
        if self.peak > VISITS * FEW {
            *self = Self::default();
        } else if !self.records.is_empty() {
            self.records.clear();
        }
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns true if there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of the present records.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.records.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_records_do_not_accumulate_and_live_ones_stay() {
        let mut table = ExpiringTable::default();
        let is_live = |&record: &u32| record < 10;
        for key in 0..1_000_000 {
            table.get_or_insert_with(key, is_live, || key);
            assert!(table.len() <= 10 + FEW);
        }
        assert!((0..10).all(|key| table.get_mut(key) == Some(&mut key.clone())));
    }

    #[test]
    fn records_that_die_later_are_forgotten_without_new_ones() {
        let mut table = ExpiringTable::default();
        for key in 0..80_000u32 {
            table.get_or_insert_with(key, |_| true, || key);
        }
        for _ in 0..10_000 {
            table.get_or_insert_with(7, |&record| record == 7, || 7);
        }
        assert_eq!((table.len(), table.bytes()), (1, 9));
    }

    #[test]
    fn a_look_up_costs_eight_visits_on_average() {
        let mut table = ExpiringTable::default();
        let visits = std::cell::Cell::new(0u32);
        let is_live = |&(): &()| {
            visits.set(visits.get() + 1);
            true
        };
        for key in 0..100_000u32 {
            table.get_or_insert_with(key, is_live, || ());
        }
        assert!(table.len() == 100_000 && visits.get() <= 8 * 100_000, "{}", visits.get());
        table.clear();
        assert!(table.is_empty() && table.peak == 0);
        table.get_or_insert_with(1, is_live, || ());
        table.clear();
        assert!(table.is_empty() && table.bytes() == 0);
    }
}
