//! Addresses and prefixes of a RADIUS session.

use crate::config::Prefix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Attribute that reported an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// RFC 2865, 5.8.
    FramedIpAddress,
    /// RFC 3162, 2.3.
    FramedIpv6Prefix,
    /// RFC 4818.
    DelegatedIpv6Prefix,
    /// RFC 6911, 3.1.
    FramedIpv6Address,
}

/// Addresses of a session, by attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses(BTreeMap<Kind, Vec<String>>);

impl Addresses {
    /// Adds an address.
    pub fn push(&mut self, kind: Kind, prefix: Prefix) {
        self.0.entry(kind).or_default().push(prefix.to_string());
    }

    /// Replaces the addresses of all attributes in `news`. Keeps the addresses of other attributes.
    #[must_use]
    pub fn merged(&self, news: &Self) -> Self {
        Self(self.0.iter().chain(&news.0).map(|(kind, texts)| (*kind, texts.clone())).collect())
    }

    /// Removes an address.
    pub fn remove(&mut self, prefix: Prefix) {
        self.0.values_mut().for_each(|texts| texts.retain(|text| text.parse() != Ok(prefix)));
        self.0.retain(|_, texts| !texts.is_empty());
    }

    /// All addresses as text.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.values().flatten().map(String::as_str)
    }

    /// All addresses.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        self.texts().filter_map(|text| text.parse().ok())
    }

    /// Returns true if there are no addresses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Vec::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_replace_what_the_same_attribute_told() {
        let of = |kind, text: &str| {
            let mut addresses = Addresses::default();
            addresses.push(kind, text.parse().unwrap());
            addresses
        };
        let mut all = of(Kind::FramedIpAddress, "10.0.0.1");
        all = all.merged(&of(Kind::DelegatedIpv6Prefix, "2001:db8::/56"));
        all = all.merged(&of(Kind::FramedIpAddress, "10.0.0.2"));
        assert_eq!(all.texts().collect::<Vec<_>>(), ["10.0.0.2/32", "2001:db8::/56"]);
        all.remove("10.0.0.2".parse().unwrap());
        assert_eq!(all.merged(&Addresses::default()).texts().collect::<Vec<_>>(), ["2001:db8::/56"]);
    }
}
