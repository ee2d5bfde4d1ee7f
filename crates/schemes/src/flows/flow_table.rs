//! Tables of records by flow.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Records by flow key. Iteration is not possible, so no result depends on the order of a hash table.
#[derive(Clone, Debug)]
pub struct FlowTable<T>(HashMap<u32, T, BuildHasherDefault<KeyHasher>>);

/// Spreads the bits of a key: multiplies it by 2^64 / golden ratio (Knuth).
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }
    #[inline]
    fn write_u32(&mut self, key: u32) {
        let product = (self.0 ^ u64::from(key)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T> FlowTable<T> {
    /// The record of `key`.
    #[inline]
    pub fn get(&self, key: u32) -> Option<&T> {
        self.0.get(&key)
    }

    /// The record of `key`, mutable.
    #[inline]
    pub fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        self.0.get_mut(&key)
    }

    /// Record of `key`; if there is none, `new` creates it.
    #[inline]
    pub fn or_insert_with(&mut self, key: u32, new: impl FnOnce() -> T) -> &mut T {
        self.0.entry(key).or_insert_with(new)
    }

    /// Sets the record of `key` and returns the old one.
    #[inline]
    pub fn insert(&mut self, key: u32, record: T) -> Option<T> {
        self.0.insert(key, record)
    }

    /// Deletes the record of `key` and returns it.
    #[inline]
    pub fn remove(&mut self, key: u32) -> Option<T> {
        self.0.remove(&key)
    }

    /// Keeps the records for which `keep` returns true. `keep` must not depend on the order of calls.
    pub fn retain(&mut self, mut keep: impl FnMut(u32, &mut T) -> bool) {
        self.0.retain(|&key, record| keep(key, record));
    }

    /// Deletes all records.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Number of records.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of the current records, including a key and a control byte for each.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len() * (size_of::<(u32, T)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_counts_the_bytes_of_what_it_holds() {
        let mut table = FlowTable::default();
        (0..100u32).for_each(|key| *table.or_insert_with(key, || 0u32) += key);
        assert_eq!((table.len(), table.get(7), table.bytes()), (100, Some(&7), 900));
        (0..100).for_each(|key| assert_eq!(table.remove(key), Some(key)));
        assert_eq!(table.bytes(), 0);
    }
}
