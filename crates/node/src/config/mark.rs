//! Marks of packets: a value under a mask.

use super::text_value::text_value;
use std::fmt;
use std::str::FromStr;

/// A mark fits if it has `value` where `mask` has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MarkMatch {
    /// What the bits under the mask are; zero elsewhere.
    pub value: u32,
    /// Which bits count; not zero.
    pub mask: u32,
}

impl FromStr for MarkMatch {
    type Err = ();

    /// `0x10/0xff`; without a mask all bits count.
    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| match text.trim().strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).map_err(|_| ()),
            None => text.trim().parse().map_err(|_| ()),
        };
        let (value, mask) = match text.split_once('/') {
            Some((value, mask)) => (number(value)?, number(mask)?),
            None => (number(text)?, u32::MAX),
        };
        // A bit outside of the mask is more often a slip than meant, and no mask fits everything.
        if mask == 0 || value & !mask != 0 { Err(()) } else { Ok(Self { value, mask }) }
    }
}

impl fmt::Display for MarkMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}/{:#x}", self.value, self.mask)
    }
}

text_value!(MarkMatch, "mark with its mask, no bit outside of it", "0x10/0xff");

#[cfg(test)]
mod tests {
    use super::*;

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
