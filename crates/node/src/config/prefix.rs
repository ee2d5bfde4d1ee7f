//! Prefixes of IPv4 and IPv6 addresses.

use super::text_value::text_value;
use fairlane_schemes::base::config::shortened;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A prefix of addresses; the bits after its length are zero. A single address is a prefix of full length. The text
/// `::ffff:a.b.c.d` is parsed as `a.b.c.d`, since both have the same key in the kernel's maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// Creates the prefix of a single address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self { address, length: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Creates the prefix of a given length that contains an address. The length is at most that of the address.
    #[must_use]
    pub fn within(address: IpAddr, length: u8) -> Self {
        let length = length.min(Self::of(address).length);
        Self { address, length }.without_host_bits()
    }

    /// First address of the prefix.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Address as 128 bits. IPv4 is mapped into IPv6 (`::ffff:0:0/96`).
    #[must_use]
    pub fn octets(&self) -> [u8; 16] {
        match self.address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        }
    }

    /// Returns true if the prefix contains an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let all = Self::of(address.to_canonical());
        let [ours, theirs] = [self, &all].map(|prefix| u128::from_be_bytes(prefix.octets()));
        let beyond = u128::MAX.checked_shr(self.bits().into()).unwrap_or(0);
        self.address.is_ipv4() == all.address.is_ipv4() && (ours ^ theirs) & !beyond == 0
    }

    /// Returns true for an IPv6 prefix that contains all IPv4 addresses in the kernel's maps, such as `::/0`.
    #[must_use]
    pub fn has_all_ipv4(&self) -> bool {
        let mapped = Ipv4Addr::UNSPECIFIED.to_ipv6_mapped().into();
        self.address.is_ipv6() && self.length < 96 && Self::within(mapped, self.length) == *self
    }

    /// Converts a prefix of mapped addresses to the IPv4 prefix.
    fn canonical(self) -> Self {
        match self.address.to_canonical() {
            address @ IpAddr::V4(_) if self.bits() >= 96 => Self { address, length: self.bits() - 96 },
            _ => self,
        }
    }

    fn without_host_bits(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let host_bits = u32::MAX.checked_shr(self.length.into()).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & !host_bits).into()
            }
            IpAddr::V6(address) => {
                let host_bits = u128::MAX.checked_shr(self.length.into()).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & !host_bits).into()
            }
        };
        Self { address, ..self }
    }

    /// Length in bits of [`Prefix::octets`], up to 128.
    #[must_use]
    pub fn bits(&self) -> u8 {
        match self.address {
            IpAddr::V4(_) => self.length + 96,
            IpAddr::V6(_) => self.length,
        }
    }
}

/// Error of a prefix's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// The part before the length is not an address.
    #[error("has no address")]
    Address,
    /// An octet is above 255.
    #[error("has the octet {0}, which must be from 0 to 255")]
    Octet(String),
    /// The length is not a number up to the maximum.
    #[error("has the length \"{length}\", which must be from 0 to {most}")]
    Length {
        /// The text after `/`.
        length: String,
        /// Number of bits of the address.
        most: u8,
    },
    /// A bit after the length is set, probably by mistake. The value is the prefix without such bits.
    #[error("has bits behind its length, {0} has none")]
    HostBits(Prefix),
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| no_address(address))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let wrong = |length: &str| PrefixError::Length { length: shortened(length), most };
        let length = match length {
            Some(text) => text.parse().ok().filter(|length| *length <= most).ok_or_else(|| wrong(text))?,
            None => most,
        };
        let prefix = Self { address, length };
        let clean = prefix.without_host_bits();
        if clean == prefix { Ok(prefix.canonical()) } else { Err(PrefixError::HostBits(clean)) }
    }
}

/// Reason why an address does not parse.
fn no_address(text: &str) -> PrefixError {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let octets: Vec<&str> = text.split('.').filter(is_number).collect();
    match octets.iter().find(|octet| octet.parse::<u8>().is_err()) {
        Some(octet) if octets.len() == 4 && text.split('.').count() == 4 => PrefixError::Octet(shortened(octet)),
        _ => PrefixError::Address,
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
    fn mapped_addresses_are_those_of_ipv4() {
        let of = |text: &str| text.parse::<Prefix>().unwrap();
        for (mapped, plain) in [
            ("::ffff:10.3.0.1", "10.3.0.1"),
            ("::ffff:a03:1/128", "10.3.0.1"),
            ("::ffff:10.3.0.0/112", "10.3.0.0/16"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
        ] {
            assert_eq!(of(mapped), of(plain), "{mapped}");
        }
        assert!(of("10.3.0.0/16").contains("::ffff:10.3.0.1".parse().unwrap()));
        for text in ["::/0", "::/80", "::8000:0:0/81", "::fffe:0:0/95"] {
            assert!(of(text).has_all_ipv4(), "{text}");
        }
        for text in ["0.0.0.0/0", "::/96", "::/81", "2000::/3", "64:ff9b::/96", "::1"] {
            assert!(!of(text).has_all_ipv4(), "{text}");
        }
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        let cases = [
            ("", "has no address"),
            ("host", "has no address"),
            ("10.0.1", "has no address"),
            ("300.1.1.1", "has the octet 300, which must be from 0 to 255"),
            ("10.0.0.0/33", "has the length \"33\", which must be from 0 to 32"),
            ("10.0.0.0/", "has the length \"\", which must be from 0 to 32"),
            ("10.0.0.0/-1", "has the length \"-1\", which must be from 0 to 32"),
            ("2001:db8::/129", "has the length \"129\", which must be from 0 to 128"),
            ("10.0.1.7/24", "has bits behind its length, 10.0.1.0/24 has none"),
            ("::1/64", "has bits behind its length, ::/64 has none"),
        ];
        for (text, problem) in cases {
            assert_eq!(text.parse::<Prefix>().unwrap_err().to_string(), problem, "{text}");
        }
    }
}
