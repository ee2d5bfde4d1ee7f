//! A set of segment numbers close above a moving base, one bit each, in a ring.

/// Segment numbers in `base .. base + capacity`, where the base is the caller's and only grows.
///
/// It owns no memory until the first insertion, and grows by powers of two when the span does. No operation but that
/// growth allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct BitRing {
    /// Bit `seq mod capacity` belongs to `seq`; the length is zero or a power of two.
    words: Box<[u64]>,
    /// Number of members.
    len: u32,
}

impl BitRing {
    /// Whether it has no member.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `seq`, which is `base` or above, and tells whether it is new. All members must be `base` or above.
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

    /// Removes `base`, `base + 1` ... as far as they are members without a gap, and returns how many.
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

    /// Width of the span in segments.
    fn capacity(&self) -> usize {
        self.words.len() * 64
    }

    /// Word and bit of `seq`.
    #[inline]
    fn place(&self, seq: u32) -> (usize, u64) {
        ((seq / 64) as usize & (self.words.len() - 1), 1 << (seq % 64))
    }

    /// Makes room for `base + offset`.
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
        // One word holds 60 ..= 123, so 64 and above lie before 60 in it.
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

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(offsets in prop::collection::vec(0u32..300, 1..400)) {
            let (mut ring, mut set, mut base) = (BitRing::default(), BTreeSet::new(), 4_000_000_000u32);
            for offset in offsets {
                // Offset 0 is the segment expected next: it moves the base.
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
    }
}
