//! Sizes of blocks: multiples of a cache line; from eight lines on, four sizes per power of two.

/// Bytes of a cache line.
pub const LINE: usize = 64;
/// Number of lines up to which each multiple is a class.
const EXACT_LINES: usize = 8;
/// Classes per power of two above that.
const STEPS: usize = 4;
/// Number of classes below [`crate::large_block::LARGE_PAGE`].
pub const CLASSES: usize = EXACT_LINES + STEPS * 12;

/// A class of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// Index among all classes.
    pub index: usize,
    /// Bytes of its blocks.
    pub bytes: usize,
}

impl SizeClass {
    /// Smallest class with room for this number of bytes, at least one line.
    pub fn of(bytes: usize) -> Self {
        let lines = bytes.div_ceil(LINE);
        if lines <= EXACT_LINES {
            return Self { index: lines - 1, bytes: lines * LINE };
        }
        let octave = (lines - 1).ilog2() as usize;
        let step = (1 << octave) / STEPS;
        let steps = lines.div_ceil(step);
        let above = octave - EXACT_LINES.ilog2() as usize;
        Self { index: EXACT_LINES + above * STEPS + steps - STEPS - 1, bytes: steps * step * LINE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::large_block::LARGE_PAGE;

    #[test]
    fn classes_are_numbered_in_order_of_their_sizes_and_waste_a_quarter_at_most() {
        let mut last = SizeClass::of(1);
        assert_eq!(last, SizeClass { index: 0, bytes: LINE });
        for bytes in 2..=LARGE_PAGE {
            let class = SizeClass::of(bytes);
            assert!(class.bytes >= bytes && class.bytes.is_multiple_of(LINE));
            if class != last {
                assert_eq!((class.index, last.bytes), (last.index + 1, bytes - 1));
                last = class;
            }
            // A step between classes is a quarter of a power of two, and rounding up to whole lines wastes less than a
            // line.
            assert!((class.bytes - bytes) * 4 < bytes + 4 * LINE, "{bytes}");
        }
        assert_eq!(last.index, CLASSES - 1);
    }
}
