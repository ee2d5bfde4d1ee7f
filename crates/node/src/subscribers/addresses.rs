//! Addresses and prefixes of a session of RADIUS accounting.

use crate::config::Prefix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which attribute told an address.
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

/// All that a session has, by the attribute that told it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Kept")]
pub struct Addresses(BTreeMap<Kind, Vec<String>>);

/// As they are in the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    ByKind(BTreeMap<Kind, Vec<String>>),
    /// Of earlier versions, which did not keep what told them.
    List(Vec<String>),
}

impl From<Kept> for Addresses {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::ByKind(by_kind) => Self(by_kind),
            Kept::List(list) => {
                let mut addresses = Self::default();
                for text in list {
                    addresses.0.entry(likely_kind(&text)).or_default().push(text);
                }
                addresses
            }
        }
    }
}

/// A prefix for the link of a subscriber has 64 bits (RFC 4291, 2.5.1), one for its site fewer.
fn likely_kind(text: &str) -> Kind {
    match text.split_once('/') {
        _ if !text.contains(':') => Kind::FramedIpAddress,
        None => Kind::FramedIpv6Address,
        Some((_, "64")) => Kind::FramedIpv6Prefix,
        Some(_) => Kind::DelegatedIpv6Prefix,
    }
}

impl Addresses {
    /// Adds one.
    pub fn push(&mut self, kind: Kind, prefix: Prefix) {
        self.0.entry(kind).or_default().push(prefix.to_string());
    }

    /// What `news` tells replaces what the same attributes told before; what others told stays.
    pub fn merge(&mut self, news: &Self) {
        self.0.extend(news.0.iter().map(|(kind, texts)| (*kind, texts.clone())));
    }

    /// Takes one away.
    pub fn remove(&mut self, prefix: Prefix) {
        self.0.values_mut().for_each(|texts| texts.retain(|text| text.parse() != Ok(prefix)));
        self.0.retain(|_, texts| !texts.is_empty());
    }

    /// All, as texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.values().flatten().map(String::as_str)
    }

    /// All.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        self.texts().filter_map(|text| text.parse().ok())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Vec::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_earlier_versions_are_read() {
        let old = r#"["100.64.0.9","2001:db8:1:2::/64","2001:db8:3::/56","2001:db8::7"]"#;
        let addresses: Addresses = serde_json::from_str(old).unwrap();
        let new = r#"{"framed_ip_address":["100.64.0.9"],"framed_ipv6_prefix":["2001:db8:1:2::/64"],"delegated_ipv6_prefix":["2001:db8:3::/56"],"framed_ipv6_address":["2001:db8::7"]}"#;
        assert_eq!(serde_json::to_string(&addresses).unwrap(), new);
        assert_eq!(serde_json::from_str::<Addresses>(new).unwrap(), addresses);
    }

    #[test]
    fn news_replace_what_the_same_attribute_told() {
        let of = |kind, text: &str| {
            let mut addresses = Addresses::default();
            addresses.push(kind, text.parse().unwrap());
            addresses
        };
        let mut all = of(Kind::FramedIpAddress, "10.0.0.1");
        all.merge(&of(Kind::DelegatedIpv6Prefix, "2001:db8::/56"));
        all.merge(&of(Kind::FramedIpAddress, "10.0.0.2"));
        assert_eq!(all.texts().collect::<Vec<_>>(), ["10.0.0.2/32", "2001:db8::/56"]);
        all.remove("10.0.0.2".parse().unwrap());
        all.merge(&Addresses::default());
        assert_eq!(all.texts().collect::<Vec<_>>(), ["2001:db8::/56"]);
    }
}
