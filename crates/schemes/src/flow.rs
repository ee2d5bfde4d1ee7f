//! Telling flows apart: what counts as one flow, tables of flow records, hashes into buckets, weights.

use crate::choices;
use crate::packet::Packet;
use crate::rng::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

choices! {
    /// What gets one share of the link: the parameter `share_per` of every scheme that tells flows apart.
    pub enum FlowKey {
        /// The transport connection.
        Flow = "flow",
        /// The user: all its connections together.
        User = "user",
    }
}

impl FlowKey {
    /// The key of `packet`.
    #[inline]
    pub fn of<P: Packet>(self, packet: &P) -> u32 {
        match self {
            Self::Flow => packet.flow(),
            Self::User => packet.user(),
        }
    }
}

/// A uniform 32-bit hash of a flow key, another one for every `seed` of 64 random bits.
#[must_use]
#[inline]
pub fn hash(key: u32, seed: u64) -> u32 {
    (mix(u64::from(key) ^ seed) >> 32) as u32
}

/// The bucket of `hash` among `buckets`, without a division (Lemire 2016).
#[must_use]
#[inline]
pub fn bucket(hash: u32, buckets: u32) -> usize {
    ((u64::from(hash) * u64::from(buckets)) >> 32) as usize
}

/// Records by flow key. There is no iteration, so that no result depends on the order of a hash table.
#[derive(Clone, Debug)]
pub struct FlowTable<T>(HashMap<u32, T, BuildHasherDefault<KeyHasher>>);

/// Spreads the bits of a key by a multiplication with 2^64 / golden ratio (Knuth).
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

    /// The record of `key`, to change.
    #[inline]
    pub fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        self.0.get_mut(&key)
    }

    /// The record of `key`, a new one from `new` if there is none.
    #[inline]
    pub fn or_insert_with(&mut self, key: u32, new: impl FnOnce() -> T) -> &mut T {
        self.0.entry(key).or_insert_with(new)
    }

    /// Sets the record of `key` and returns the old one.
    #[inline]
    pub fn insert(&mut self, key: u32, record: T) -> Option<T> {
        self.0.insert(key, record)
    }

    /// Forgets the record of `key` and returns it.
    #[inline]
    pub fn remove(&mut self, key: u32) -> Option<T> {
        self.0.remove(&key)
    }

    /// Keeps the records that `keep` wants. `keep` must not depend on the order in which it is asked.
    pub fn retain(&mut self, mut keep: impl FnMut(u32, &mut T) -> bool) {
        self.0.retain(|&key, record| keep(key, record));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Number of records.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that the present records occupy, with their keys and the table's byte of control for each.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len() * (size_of::<(u32, T)>() + 1)
    }
}

/// Weights of users; shared by all ports. A flow has the weight of its user, so that nobody keeps a list of flows.
#[derive(Clone, Debug, Default)]
pub struct Weights(Option<Arc<[f64]>>);

impl Weights {
    /// Everyone has weight 1.
    #[must_use]
    pub fn equal() -> Self {
        Self(None)
    }

    /// User `i` has weight `weights[i]`, which must be positive; later users have weight 1.
    #[must_use]
    pub fn new(weights: impl Into<Arc<[f64]>>) -> Self {
        Self(Some(weights.into()))
    }

    /// The weight of `user`, and of each of its flows.
    #[must_use]
    #[inline]
    pub fn of(&self, user: u32) -> f64 {
        self.0.as_ref().and_then(|weights| weights.get(user as usize)).copied().unwrap_or(1.0)
    }

    /// The smallest weight of all, at most the 1 of later users.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.0.iter().flat_map(|weights| weights.iter()).copied().fold(1.0, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn buckets_are_filled_evenly_and_differently_for_each_seed() {
        let fill = |seed| {
            let mut counts = [0u32; 16];
            (0..16_000).for_each(|key| counts[bucket(hash(key, seed), 16)] += 1);
            counts
        };
        // Binomial(16000, 1/16): mean 1000, standard deviation 30.6; five of them.
        assert!(fill(1).iter().all(|&count| count.abs_diff(1000) < 153), "{:?}", fill(1));
        let mut rng = Rng::stream(1, 0, "test", 0);
        assert_ne!(fill(rng.bits()), fill(rng.bits()));
    }

    #[test]
    fn table_counts_the_bytes_of_what_it_holds() {
        let mut table = FlowTable::default();
        (0..100u32).for_each(|key| *table.or_insert_with(key, || 0u32) += key);
        assert_eq!((table.len(), table.get(7), table.bytes()), (100, Some(&7), 900));
        (0..100).for_each(|key| assert_eq!(table.remove(key), Some(key)));
        assert_eq!(table.bytes(), 0);
    }

    #[test]
    fn users_without_a_weight_count_once() {
        let weights = Weights::new([2.0, 0.5]);
        assert_eq!([0, 1, 2].map(|user| weights.of(user)), [2.0, 0.5, 1.0]);
        assert_eq!(Weights::equal().of(0), 1.0);
    }
}
