//! Prefixes of IPv4 and IPv6 addresses.

use super::text_value::text_value;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A prefix; the bits behind it are zero. An address alone is a prefix of all its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// Address as 128 bits, IPv4 mapped into IPv6 (`::ffff:0:0/96`).
    #[must_use]
    pub fn octets(&self) -> [u8; 16] {
        match self.address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        }
    }

    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let all = Self { length: if address.is_ipv4() { 32 } else { 128 }, address };
        let [ours, theirs] = [self, &all].map(|prefix| u128::from_be_bytes(prefix.octets()));
        let beyond = u128::MAX.checked_shr(self.bits().into()).unwrap_or(0);
        self.address.is_ipv4() == address.is_ipv4() && (ours ^ theirs) & !beyond == 0
    }

    /// Length of the prefix of [`Prefix::octets`], up to 128 bits.
    #[must_use]
    pub fn bits(&self) -> u8 {
        match self.address {
            IpAddr::V4(_) => self.length + 96,
            IpAddr::V6(_) => self.length,
        }
    }
}

impl FromStr for Prefix {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().map_err(|_| ())?)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(most);
        if length > most {
            return Err(());
        }
        let prefix = Self { address, length };
        // A bit behind the prefix is more often a slip than meant.
        let host_bits = u128::MAX.checked_shr(u32::from(prefix.bits())).unwrap_or(0);
        let is_clean = u128::from(Ipv6Addr::from(prefix.octets())) & host_bits == 0;
        if is_clean { Ok(prefix) } else { Err(()) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

text_value!(Prefix, "prefix without bits behind it", "10.0.1.0/24");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_both_families_have_128_bits() {
        let of = |text: &str| text.parse::<Prefix>().map(|prefix| (prefix.bits(), prefix.octets()[12..].to_vec()));
        assert_eq!(of("10.0.1.0/24"), Ok((120, vec![10, 0, 1, 0])));
        assert_eq!(of("10.0.1.7"), Ok((128, vec![10, 0, 1, 7])));
        assert_eq!(of("0.0.0.0/0"), Ok((96, vec![0, 0, 0, 0])));
        assert_eq!(of("::/0"), Ok((0, vec![0, 0, 0, 0])));
        assert_eq!(of("2001:db8::/32"), Ok((32, vec![0, 0, 0, 0])));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.1.7/24", "::1/64", "host", "10.0.0.0/", "10.0.0.0/-1", "2001:db8::/129"] {
            assert_eq!(text.parse::<Prefix>(), Err(()), "{text}");
        }
    }
}
