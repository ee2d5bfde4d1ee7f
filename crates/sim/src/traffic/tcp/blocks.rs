//! Blocks of a selective acknowledgement, and the receiver's list of them (RFC 2018).

/// Maximum number of blocks in an ACK with timestamps: 40 bytes of options, 12 for timestamps, 4 + 8 per block.
const MOST: usize = 3;

/// A run of segments above a gap: `start` to `end - 1`. Empty if `start` equals `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First segment of the run.
    pub start: u32,
    /// First segment after the run, which has not arrived.
    pub end: u32,
}

impl SackBlock {
    /// Returns true if `seq` belongs to the run or extends it.
    #[inline]
    pub(super) fn touches(&self, seq: u32) -> bool {
        self.start < self.end && self.start <= seq.saturating_add(1) && seq <= self.end
    }
}

/// At most three blocks, the most recently changed one first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([SackBlock; MOST]);

impl SackBlocks {
    /// Creates a list of blocks in the given order.
    ///
    /// # Panics
    /// There are more than three blocks.
    #[must_use]
    pub fn new(blocks: &[SackBlock]) -> Self {
        let mut list = Self::default();
        list.0[..blocks.len()].copy_from_slice(blocks);
        list
    }

    /// Iterates over the blocks.
    pub fn iter(&self) -> impl Iterator<Item = SackBlock> {
        self.0.into_iter().take_while(|block| block.start < block.end)
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[SackBlock] {
        &self.0[..self.len()]
    }

    /// Returns the first segment of `block` that these blocks do not contain. They are the blocks of the last ACK.
    #[inline]
    pub(super) fn first_news(&self, block: SackBlock) -> u32 {
        // An empty block (0 to 0) has no effect.
        let known = self.0.iter().find(|old| old.start <= block.start && block.start <= old.end);
        known.map_or(block.start, |old| old.end.min(block.end))
    }

    /// Extends the first block by `seq` if the block ends there. Returns true if so.
    #[inline]
    pub(super) fn lengthen_first(&mut self, seq: u32) -> bool {
        let lengthens = !self.is_empty() && self.0[0].end == seq;
        self.0[0].end += u32::from(lengthens);
        lengthens
    }

    /// Returns true if there are no blocks.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0[0].start == self.0[0].end
    }

    /// Number of blocks.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().position(|block| block.start == block.end).unwrap_or(MOST)
    }

    /// Puts `block` first. Previously reported blocks follow, most recent first; blocks contained in `block` are
    /// omitted (RFC 2018 section 4).
    pub(super) fn promote(&mut self, block: SackBlock) {
        let old = *self;
        *self = Self::default();
        self.0[0] = block;
        let others = old.iter().filter(|other| other.end < block.start || block.end < other.start);
        //= RFC 2018 4-5: Blocks reported most recently are repeated, but for parts of others.
        for (place, other) in self.0[1..].iter_mut().zip(others) {
            *place = other;
        }
    }

    /// Returns as many of these blocks as fit after `block`.
    pub(super) fn behind(&self, block: SackBlock) -> Self {
        let [first, second, _] = self.0;
        Self([block, first, second])
    }

    pub(super) fn drop_below(&mut self, next: u32) {
        let old = *self;
        *self = Self::default();
        //= RFC 2018 4-4, deviation: There are as many blocks as fit.
        for (place, block) in self.0.iter_mut().zip(old.iter().filter(|block| block.start >= next)) {
            *place = block;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u32, end: u32) -> SackBlock {
        SackBlock { start, end }
    }

    #[test]
    fn the_most_recent_block_comes_first_and_the_oldest_falls_out() {
        let mut list = SackBlocks::default();
        assert!(list.is_empty());
        for start in [10, 20, 30, 40] {
            list.promote(block(start, start + 1));
        }
        assert_eq!(list, SackBlocks::new(&[block(40, 41), block(30, 31), block(20, 21)]));
        // A growing block moves to the front. The others keep their order.
        list.promote(block(30, 32));
        assert_eq!(list, SackBlocks::new(&[block(30, 32), block(40, 41), block(20, 21)]));
        // A block that joins two others replaces them.
        list.promote(block(30, 41));
        assert_eq!(list, SackBlocks::new(&[block(30, 41), block(20, 21)]));
        list.drop_below(25);
        assert_eq!(list, SackBlocks::new(&[block(30, 41)]));
        assert_eq!((list.len(), list.is_empty()), (1, false));
    }
}
