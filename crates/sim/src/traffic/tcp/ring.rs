//! A set of segment numbers just above a moving base, stored as bits in a ring buffer.

use prefetch_index::prefetch_index;

/// Set of segment numbers in `base .. base + capacity`. The caller passes the base, which never decreases.
///
/// Allocates on the first insertion, and grows by powers of two with the span. No other operation allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct BitRing {
    /// Bit `seq mod capacity` represents `seq`. The length is zero or a power of two.
    words: Box<[u64]>,
    len: u32,
}

impl BitRing {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Prefetches the word of `seq`, if there are members.
    #[inline]
    pub(super) fn fetch(&self, seq: u32) {
        if !self.is_empty() {
            prefetch_index(&self.words, self.place(seq).0);
        }
    }

    /// Adds `seq`. All members, including `seq`, must be at least `base`. Returns true if `seq` is new.
    pub(super) fn insert(&mut self, base: u32, seq: u32) -> bool {
        debug_assert!(seq >= base);
        if (seq - base) as usize >= self.capacity() {
            self.grow(base, seq - base);
        }
        let (word, bit) = self.place(seq);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u32::from(new);
        new
    }

    /// Removes consecutive members from `base` on. Returns their number.
    pub(super) fn take_run(&mut self, base: u32) -> u32 {
        let mut seq = base;
        while self.len > 0 {
            let (word, bit) = self.place(seq);
            if self.words[word] & bit == 0 {
                break;
            }
            self.words[word] &= !bit;
            self.len -= 1;
            seq += 1;
        }
        seq - base
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Returns true if `seq`, which must be at least `base`, is a member.
    #[inline]
    pub(super) fn contains(&self, base: u32, seq: u32) -> bool {
        debug_assert!(seq >= base);
        if (seq - base) as usize >= self.capacity() {
            return false;
        }
        let (word, bit) = self.place(seq);
        self.words[word] & bit != 0
    }

    /// Adds `from` to `to - 1`, all at least `base`. Returns how many of them are new.
    pub(super) fn insert_range(&mut self, base: u32, from: u32, to: u32) -> u32 {
        if from >= to {
            return 0;
        }
        if (to - 1 - base) as usize >= self.capacity() {
            self.grow(base, to - 1 - base);
        }
        let before = self.len;
        self.for_each_word(from, to, |word, mask, len| {
            *len += (mask & !*word).count_ones();
            *word |= mask;
        });
        self.len - before
    }

    /// Removes `from` to `to - 1`; no member may be below `from`. Returns how many of them were members.
    pub(super) fn remove_range(&mut self, from: u32, to: u32) -> u32 {
        let before = self.len;
        if self.len > 0 {
            let to = to.min(from.saturating_add(u32::try_from(self.capacity()).unwrap_or(u32::MAX)));
            self.for_each_word(from, to, |word, mask, len| {
                *len -= (mask & *word).count_ones();
                *word &= !mask;
            });
        }
        before - self.len
    }

    /// First number from `from` on that is not a member.
    pub(super) fn next_absent(&self, base: u32, from: u32) -> u32 {
        let limit = self.limit(base);
        let mut seq = from;
        while seq < limit {
            let rest = 64 - seq % 64;
            let ones = (self.words[self.place(seq).0] >> (seq % 64)).trailing_ones();
            seq = seq.saturating_add(ones);
            if ones < rest {
                break;
            }
        }
        // The ring wraps around, so the bits beyond the limit represent numbers from `base` on.
        seq.min(limit).max(from)
    }

    /// First number of the run of members that ends with `last`, which must be a member.
    pub(super) fn run_start(&self, base: u32, last: u32) -> u32 {
        let mut seq = last;
        loop {
            let ones = (self.words[self.place(seq).0] << (63 - seq % 64)).leading_ones();
            if ones <= seq % 64 {
                return (seq + 1 - ones).max(base);
            }
            // Searches all lower bits of the word, including those below `base`. These are clear or represent much
            // larger numbers.
            let below = seq - seq % 64;
            if below <= base {
                return base;
            }
            seq = below - 1;
        }
    }

    /// Calls `change` for each word with bits in `from` to `to - 1`, with the mask of these bits.
    #[inline]
    fn for_each_word(&mut self, from: u32, to: u32, mut change: impl FnMut(&mut u64, u64, &mut u32)) {
        let mut seq = from;
        while seq < to {
            let count = (64 - seq % 64).min(to - seq);
            let mask = (u64::MAX >> (64 - count)) << (seq % 64);
            let word = self.place(seq).0;
            change(&mut self.words[word], mask, &mut self.len);
            seq += count;
        }
    }

    /// First number above the range of the ring.
    fn limit(&self, base: u32) -> u32 {
        base.saturating_add(u32::try_from(self.capacity()).unwrap_or(u32::MAX))
    }

    fn capacity(&self) -> usize {
        self.words.len() * 64
    }

    #[inline]
    fn place(&self, seq: u32) -> (usize, u64) {
        ((seq / 64) as usize & (self.words.len() - 1), 1 << (seq % 64))
    }

    #[cold]
    fn grow(&mut self, base: u32, offset: u32) {
        let words = (offset as usize / 64 + 1).next_power_of_two();
        let old = std::mem::replace(self, Self { words: vec![0; words].into_boxed_slice(), len: 0 });
        for seq in (base..=u32::MAX).take(old.capacity()) {
            let (word, bit) = old.place(seq);
            if old.words[word] & bit != 0 {
                self.insert(base, seq);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn owns_no_memory_before_the_first_member() {
        let mut ring = BitRing::default();
        assert!(ring.is_empty());
        assert_eq!(ring.take_run(7), 0);
        assert_eq!(ring.capacity(), 0);
    }

    #[test]
    fn takes_only_the_run_without_a_gap() {
        let mut ring = BitRing::default();
        for seq in [101, 102, 104] {
            assert!(ring.insert(100, seq));
        }
        assert!(!ring.insert(100, 102));
        assert_eq!(ring.take_run(100), 0);
        assert_eq!(ring.take_run(101), 2);
        assert!(!ring.is_empty());
        assert_eq!(ring.take_run(104), 1);
        assert!(ring.is_empty());
    }

    #[test]
    fn keeps_members_when_it_grows_around_the_end_of_the_ring() {
        let mut ring = BitRing::default();
        // One word with base 60 holds 60 to 123. Since the word wraps around, 64 and above are in its low bits, and 60
        // to 63 in its high bits.
        for seq in [61, 63, 64, 70] {
            ring.insert(60, seq);
        }
        assert_eq!(ring.capacity(), 64);
        ring.insert(60, 60 + 64);
        assert_eq!(ring.capacity(), 128);
        ring.insert(60, 60);
        ring.insert(60, 62);
        assert_eq!(ring.take_run(60), 5);
        assert_eq!(ring.take_run(70), 1);
        assert_eq!(ring.take_run(124), 1);
        assert!(ring.is_empty());
    }

    const ORIGIN: u32 = 1_000_000;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(offsets in prop::collection::vec(0u32..300, 1..400)) {
            let (mut ring, mut set, mut base) = (BitRing::default(), BTreeSet::new(), 4_000_000_000u32);
            for offset in offsets {
                // Offset 0 is the next expected segment, which advances the base.
                prop_assert_eq!(ring.insert(base, base + offset), set.insert(base + offset));
                if offset % 8 == 0 {
                    let run = ring.take_run(base);
                    for seq in base..base + run {
                        prop_assert!(set.remove(&seq));
                    }
                    base += run;
                    prop_assert!(!set.contains(&base));
                }
                prop_assert_eq!(ring.is_empty(), set.is_empty());
            }
        }

        #[test]
        fn ranges_and_runs_agree_with_an_ordered_set(
            steps in prop::collection::vec((0u32..400, 0u32..150, 0u32..60), 1..200),
        ) {
            let (mut ring, mut base) = (BitRing::default(), ORIGIN);
            // True for each segment that the set contains.
            let mut set = vec![false; 60 * 200 + 1000];
            let mut held_segments = 0;
            let at = |seq: u32| (seq - ORIGIN) as usize;
            for (offset, width, advance) in steps {
                let (from, to) = (base + offset, base + offset + width);
                let new = set[at(from)..at(to)].iter().filter(|&&held| !held).count();
                set[at(from)..at(to)].fill(true);
                prop_assert_eq!(ring.insert_range(base, from, to) as usize, new);
                held_segments += new;
                prop_assert_eq!(ring.len() as usize, held_segments);
                for seq in (base..base + 600).step_by(7) {
                    let held = set[at(seq)];
                    prop_assert_eq!(ring.contains(base, seq), held);
                    let run = set[at(seq)..].iter().take_while(|&&held| held).count();
                    prop_assert_eq!(ring.next_absent(base, seq), seq + run as u32);
                    if held {
                        let before = set[at(base)..at(seq)].iter().rev().take_while(|&&held| held).count();
                        prop_assert_eq!(ring.run_start(base, seq), seq - before as u32);
                    }
                }
                let passed = &mut set[at(base)..at(base + advance)];
                let gone = passed.iter().filter(|&&held| held).count();
                passed.fill(false);
                prop_assert_eq!(ring.remove_range(base, base + advance) as usize, gone);
                held_segments -= gone;
                base += advance;
            }
        }
    }
}
