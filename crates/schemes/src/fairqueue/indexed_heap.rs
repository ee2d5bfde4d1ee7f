//! A binary heap of queue numbers whose keys can change: smallest key first, ties by number.
//!
//! Cost: O(log n) to set or to remove, O(1) to read the first. State: 4 bytes per number, and an entry for each number
//! in the heap.

/// Position of a number that is not in the heap.
const OUT: u32 = u32::MAX;

/// Numbers ordered by keys of type `K`.
#[derive(Clone, Debug)]
pub struct IndexedHeap<K> {
    entries: Vec<(K, u32)>,
    /// Index of each number in `entries`.
    positions: Vec<u32>,
}

impl<K> Default for IndexedHeap<K> {
    fn default() -> Self {
        Self { entries: Vec::new(), positions: Vec::new() }
    }
}

impl<K: Copy + Ord> IndexedHeap<K> {
    /// The smallest key and its number.
    #[inline]
    pub fn first(&self) -> Option<(K, u32)> {
        self.entries.first().copied()
    }

    /// Returns true if the heap is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The key of `number`, if it is in the heap.
    #[inline]
    pub fn key(&self, number: u32) -> Option<K> {
        let position = self.positions.get(number as usize).copied().unwrap_or(OUT);
        (position != OUT).then(|| self.entries[position as usize].0)
    }

    /// Inserts `number` or changes its key.
    pub fn set(&mut self, number: u32, key: K) {
        if self.positions.len() <= number as usize {
            self.positions.resize(number as usize + 1, OUT);
        }
        let position = match self.positions[number as usize] {
            OUT => {
                self.entries.push((key, number));
                self.entries.len() - 1
            }
            position => {
                self.entries[position as usize].0 = key;
                position as usize
            }
        };
        let position = self.rise(position);
        self.sink(position);
    }

    /// Removes `number` if it is in the heap.
    pub fn remove(&mut self, number: u32) {
        let Some(&position) = self.positions.get(number as usize).filter(|&&position| position != OUT) else { return };
        self.positions[number as usize] = OUT;
        let last = self.entries.pop().expect("a number is in");
        if last.1 != number {
            self.place(position as usize, last);
            let position = self.rise(position as usize);
            self.sink(position);
        }
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.positions.fill(OUT);
    }

    #[inline]
    fn place(&mut self, position: usize, entry: (K, u32)) {
        self.entries[position] = entry;
        self.positions[entry.1 as usize] = position as u32;
    }

    /// Moves the entry at `position` up to its right position, which is returned.
    fn rise(&mut self, mut position: usize) -> usize {
        let entry = self.entries[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.entries[parent] <= entry {
                break;
            }
            self.place(position, self.entries[parent]);
            position = parent;
        }
        self.place(position, entry);
        position
    }

    /// Moves the entry at `position` down to its right position.
    fn sink(&mut self, mut position: usize) {
        let entry = self.entries[position];
        loop {
            let left = 2 * position + 1;
            if left >= self.entries.len() {
                break;
            }
            let right = left + 1;
            let child =
                if right < self.entries.len() && self.entries[right] < self.entries[left] { right } else { left };
            if self.entries[child] >= entry {
                break;
            }
            self.place(position, self.entries[child]);
            position = child;
        }
        self.place(position, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn heap_behaves_as_a_sorted_map(operations in prop::collection::vec((0u32..20, prop::option::of(0u8..10)),
            0..300)) {
            let (mut heap, mut model) = (IndexedHeap::default(), BTreeMap::new());
            for (number, key) in operations {
                match key {
                    Some(key) => {
                        heap.set(number, key);
                        model.insert(number, key);
                    }
                    None => {
                        heap.remove(number);
                        model.remove(&number);
                    }
                }
                prop_assert_eq!(heap.first(), model.iter().map(|(&number, &key)| (key, number)).min());
                prop_assert_eq!(heap.key(number), model.get(&number).copied());
                prop_assert_eq!(heap.is_empty(), model.is_empty());
            }
            heap.clear();
            prop_assert!(heap.first().is_none() && (0..20).all(|number| heap.key(number).is_none()));
        }
    }
}
