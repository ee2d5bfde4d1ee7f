//! Packet marks: a value and a mask.

use super::text_value::text_value;
use std::fmt;
use std::str::FromStr;

/// A packet matches if its mark equals `value` where `mask` has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MarkMatch {
    /// Bits under the mask; zero elsewhere.
    pub value: u32,
    /// Significant bits; not zero.
    pub mask: u32,
}

impl FromStr for MarkMatch {
    type Err = ();

    /// Parses `0x10/0xff`; without a mask all bits are significant.
    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| match text.trim().strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).map_err(|_| ()),
            None => text.trim().parse().map_err(|_| ()),
        };
        let (value, mask) = match text.split_once('/') {
            Some((value, mask)) => (number(value)?, number(mask)?),
            None => (number(text)?, u32::MAX),
        };
        // A value bit outside of the mask is probably a mistake, and an empty mask would match everything.
        if mask == 0 || value & !mask != 0 { Err(()) } else { Ok(Self { value, mask }) }
    }
}

impl fmt::Display for MarkMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}/{:#x}", self.value, self.mask)
    }
}

/// Adjacent bits of a packet mark that carry labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkMask(pub u32);

impl MarkMask {
    /// Allowed numbers of bits. One bit is the class. The others contain the activity plus 1, since 0 means no label:
    /// at least 15 bits, as in a tag, and at most 23, because the activity has 22 bits.
    const BITS: std::ops::RangeInclusive<u32> = 16..=24;
}

impl FromStr for MarkMask {
    type Err = ();

    /// Parses a mask such as `0xffff0000`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.trim().strip_prefix("0x").ok_or(())?;
        let mask = u32::from_str_radix(digits, 16).map_err(|_| ())?;
        let are_adjacent = mask != 0 && (mask >> mask.trailing_zeros()).trailing_ones() == mask.count_ones();
        if are_adjacent && Self::BITS.contains(&mask.count_ones()) { Ok(Self(mask)) } else { Err(()) }
    }
}

impl fmt::Display for MarkMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

text_value!(MarkMask, "mask of 16 to 24 adjacent bits", "0xffff0000");
text_value!(MarkMatch, "mark with its mask, no bit outside of it", "0x10/0xff");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_labels_are_adjacent_bits() {
        let of = |text: &str| text.parse::<MarkMask>().map(|mask| mask.0);
        for mask in ["0xffff0000", "0x0000ffff", "0xffffff00", "0x00fffff0"] {
            assert_eq!(of(mask).map(|mask| format!("{mask:#010x}")), Ok(mask.into()));
        }
        for text in ["", "ffff0000", "0x0", "0xff00", "0x7fff0000", "0xffffffff", "0xfffe0001", "0xff00ff00"] {
            assert_eq!(of(text), Err(()), "{text}");
        }
    }

    #[test]
    fn marks_are_read_with_and_without_a_mask() {
        let of = |text: &str| text.parse::<MarkMatch>().map(|mark| (mark.value, mark.mask));
        assert_eq!(of("0x10/0xff"), Ok((0x10, 0xff)));
        assert_eq!(of("7"), Ok((7, u32::MAX)));
        assert_eq!(of("0/1"), Ok((0, 1)));
        for text in ["", "0x10/0x0f", "1/0", "0x1ffffffff", "-1", "0x", "1/", "/1", "1/2/3"] {
            assert_eq!(of(text), Err(()), "{text}");
        }
    }
}
