//! Maps a source address to the index of its user.

use crate::config::Prefix;
use std::collections::HashMap;

/// Longest-prefix match over users' prefixes, for at most 65 536 users.
#[derive(Clone, Debug, Default)]
pub struct UserIndex {
    /// One table per prefix length, the longest first; addresses are masked.
    tables: Vec<(u128, HashMap<u128, u32>)>,
    default: u32,
}

impl UserIndex {
    /// Numbers users in the order of `prefixes`, which must be distinct. All other addresses get the number after the
    /// last.
    #[must_use]
    pub fn new(prefixes: &[Prefix]) -> Self {
        let mut lengths: Vec<u8> = prefixes.iter().map(Prefix::bits).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        let numbered = || (0..).zip(prefixes);
        let tables = lengths.iter().map(|&length| {
            let of_length = numbered().filter(|(_, prefix)| prefix.bits() == length);
            (mask(length), of_length.map(|(number, prefix)| (u128::from_be_bytes(prefix.octets()), number)).collect())
        });
        Self { tables: tables.collect(), default: prefixes.len() as u32 }
    }

    /// Returns the index of the user with `address`.
    #[must_use]
    #[inline]
    pub fn of(&self, address: [u8; 16]) -> u32 {
        let address = u128::from_be_bytes(address);
        let found = self.tables.iter().find_map(|(mask, users)| users.get(&(address & mask)));
        found.copied().unwrap_or(self.default)
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts_and_others_are_the_default_user() {
        let prefixes = ["10.0.0.0/8", "10.0.1.0/24", "10.0.1.7", "2001:db8::/32"].map(|text| text.parse().unwrap());
        let index = UserIndex::new(&prefixes);
        let of = |text: &str| index.of(text.parse::<Prefix>().unwrap().octets());
        let addresses = ["10.9.9.9", "10.0.1.8", "10.0.1.7", "2001:db8::1", "11.0.0.1", "2001:db9::1"];
        assert_eq!(addresses.map(of), [0, 1, 2, 3, 4, 4]);
        assert_eq!(UserIndex::new(&["::/0".parse().unwrap()]).of([7; 16]), 0);
    }
}
