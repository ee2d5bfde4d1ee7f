//! A set-associative hash table of fixed size: a key has one home slot and may use the other slots of its set.
//!
//! Cost: at most two passes over the ways of one set. State: 4 bytes per slot.

use crate::flows::hash::bucket;

/// Outcome of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The slot already belonged to the key.
    Own,
    /// The slot was free.
    Free,
    /// All slots of the set are used by other keys. The key takes over its home slot, so two keys share a queue.
    Shared,
}

/// The last hash in each slot.
#[derive(Clone, Debug)]
pub struct SetAssociative {
    tags: Vec<u32>,
    ways: u32,
}

impl SetAssociative {
    /// Creates a table of `sets` times `ways` slots.
    #[must_use]
    pub fn new(sets: u32, ways: u32) -> Self {
        Self { tags: vec![0; (sets * ways) as usize], ways }
    }

    /// Returns the slot of `hash` and assigns it to `hash`.
    pub fn place(&mut self, hash: u32, is_free: impl Fn(u32) -> bool) -> (u32, Found) {
        let home = bucket(hash, self.tags.len() as u32) as u32;
        let set = home - home % self.ways;
        let mut places = (0..self.ways).map(|step| set + (home - set + step) % self.ways);
        let own = places.clone().find(|&place| self.tags[place as usize] == hash).map(|place| (place, Found::Own));
        let free = || places.find(|&place| is_free(place)).map(|place| (place, Found::Free));
        let (place, found) = own.or_else(free).unwrap_or((home, Found::Shared));
        self.tags[place as usize] = hash;
        (place, found)
    }

    /// Number of slots.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.tags.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_home_then_to_the_next_free_way_then_shares_its_home() {
        // With 2 sets of 4 slots, the home of hash h is slot h / 2^29.
        let home = |place: u32, key: u32| (place << 29) + key + 1;
        let mut table = SetAssociative::new(2, 4);
        let mut used = vec![];
        for (hash, expected) in [
            (home(6, 0), (6, Found::Free)),
            (home(6, 1), (7, Found::Free)),
            (home(6, 2), (4, Found::Free)), // wraps within its set
            (home(6, 0), (6, Found::Own)),
            (home(4, 0), (5, Found::Free)),
            (home(6, 3), (6, Found::Shared)),
            (home(6, 1), (7, Found::Own)),
            (home(1, 0), (1, Found::Free)),
        ] {
            let placed = table.place(hash, |place| !used.contains(&place));
            assert_eq!(placed, expected);
            used.push(placed.0);
        }
        assert_eq!(table.capacity(), 8);
    }

    #[test]
    fn a_key_returns_to_where_it_was_last() {
        let mut table = SetAssociative::new(1, 4);
        table.place(1, |place| place != 0);
        assert_eq!(table.place(1, |_| true), (1, Found::Own));
    }
}
