//! Users: identifiers, reference rates, classes.

use super::{MarkMatch, Prefix, PrefixError, check_name, refuse_renamed};
use fairlane_schemes::base::config::{ConfigError, ParamSet, Table, read_value, shortened};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::{choices, params};
use serde_json::Value as Json;
use std::fmt;
use std::sync::LazyLock;

choices! {
    /// Traffic class of a user's packets.
    pub enum ClassRule {
        /// All are best effort.
        BestEffort = "BE",
        /// All are expedited.
        Expedited = "EF",
        /// Packets with DSCP EF (46) are expedited, others are best effort.
        Dscp = "dscp",
    }
}

choices! {
    /// Addresses that share one meter.
    pub enum MeterOf {
        /// The prefix as a whole.
        Prefix = "prefix",
        /// Each address in the prefix has a meter, with the whole reference rate.
        Address = "address",
    }
}

params! {
    /// Rate and class of a user.
    pub struct UserParams {
        /// Rate at which activity is 0.
        reference_rate: BitRate = "10 kbit/s", in "1 kbit/s"..="1 Tbit/s", symbol "R_r", source "abc2018 Table 1";
        /// Traffic class of the packets.
        traffic_class: ClassRule = "BE", source "abc2018 III-D";
        /// Unit that is metered.
        meter_of: MeterOf = "prefix", source "our choice";
        /// Maximum number of per-address meters at a time. If absent, only users_table.limit limits them.
        address_limit: Option<u32> = null, in 1..=1048576, source "our choice";
    }
}

params! {
    /// The table of meters.
    pub struct UserTableParams {
        /// Maximum number of per-address meters at a time; further addresses share one extra meter.
        limit: u32 = 65536, in 1..=1048576, source "our choice";
        /// Table entries reserved for configured users; default: twice the number of users at attach.
        configured: Option<u32> = null, in 1..=1048576, source "our choice";
        /// Idle time after which a meter may be replaced. At least 10 times the memory: the meter's value has then
        /// decayed to e^-10.
        timeout: Time = "60 s", in "10 ms"..="24 h", source "our choice";
    }
}

params! {
    /// Name of a user, and its identifiers other than prefixes.
    pub struct UserKeys {
        /// Name in reports; default: the first identifier of the user.
        name: Option<String> = null, source "our choice";
        /// Outermost 802.1Q tag of the user's packets.
        vlan: Option<u32> = null, in 1..=4094, source "our choice";
        /// Outer of two tags, 802.1Q, 802.1ad or 0x9100; without c_vlan also a single 802.1ad tag.
        s_vlan: Option<u32> = null, in 1..=4094, source "our choice";
        /// Inner of two tags; needs s_vlan.
        c_vlan: Option<u32> = null, in 1..=4094, source "our choice";
        /// Number of a PPPoE session.
        pppoe_session: Option<u32> = null, in 1..=65534, source "our choice";
        /// Tunnel number as reported by the kernel's tunnel interfaces in external mode: VNI or GRE key.
        tunnel: Option<u32> = null, in 0..=4294967295, source "our choice";
        /// Packet mark set by an earlier program: value and mask (default: all bits). Not for subscribers.
        mark: Option<MarkMatch> = null, source "our choice";
    }
}

/// Doc comment of the key with a prefix or a list of prefixes.
pub(super) const PREFIX_DOC: &str = "Prefix or address, or a list of them, of both families; they share one meter. If \
                                     prefixes of several users contain an address, the longest one applies.";

impl UserParams {
    /// Default values for `[[users]]`: rate and class of the default user. The other keys of the default user say how
    /// unknown addresses are metered, and are not inherited: a user has one meter unless its own keys say otherwise.
    fn of_users(&self) -> Self {
        let (reference_rate, traffic_class) = (self.reference_rate, self.traffic_class);
        Self { reference_rate, traffic_class, meter_of: MeterOf::Prefix, address_limit: None }
    }
}

impl UserTableParams {
    /// Checks the timeout: a meter may be deleted only when its value has decayed to almost zero.
    pub(super) fn check(&self, key: &str, memory: Time) -> Result<(), ConfigError> {
        let least = Time(memory.0.saturating_mul(10));
        if self.timeout >= least {
            return Ok(());
        }
        let problem = format!("\"{}\" is out of range, it must be at least 10 times {key}, {least}", self.timeout);
        Err(ConfigError::new("users_table.timeout", problem))
    }
}

/// Identifier of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// Addresses. The longest matching prefix applies.
    Prefix(Prefix),
    /// Outermost 802.1Q tag of the user's packets, 1 to 4094.
    Vlan(u32),
    /// Two tags, outer and inner, 802.1Q or 802.1ad each.
    Tags(u32, u32),
    /// The outer of two tags, or a single 802.1ad tag.
    Service(u32),
    /// Number of a PPPoE session.
    Session(u32),
    /// Tunnel number as reported by the kernel's tunnel interfaces: VNI or GRE key.
    Tunnel(u32),
    /// Mark of the user's packets when the program processes them.
    Mark(MarkMatch),
}

impl Who {
    /// Key in the configuration.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Prefix(_) => "prefix",
            Self::Vlan(_) => "vlan",
            Self::Tags(..) => "c_vlan",
            Self::Service(_) => "s_vlan",
            Self::Session(_) => "pppoe_session",
            Self::Tunnel(_) => "tunnel",
            Self::Mark(_) => "mark",
        }
    }

    fn read(table: &mut Table<'_>, keys: &UserKeys) -> Result<Vec<Self>, ConfigError> {
        let mut all: Vec<_> = prefixes(table)?.into_iter().map(Self::Prefix).collect();
        all.extend(keys.vlan.map(Self::Vlan));
        all.extend(match (keys.s_vlan, keys.c_vlan) {
            (Some(service), Some(customer)) => Some(Self::Tags(service, customer)),
            (Some(service), None) => Some(Self::Service(service)),
            (None, None) => None,
            (None, Some(_)) => {
                let problem = "is the inner tag and needs s_vlan, the outer one; a single 802.1Q tag is vlan";
                return Err(ConfigError::new(table.key("c_vlan"), problem));
            }
        });
        all.extend(keys.pppoe_session.map(Self::Session));
        all.extend(keys.tunnel.map(Self::Tunnel));
        all.extend(keys.mark.map(Self::Mark));
        Ok(all)
    }
}

fn prefixes(table: &mut Table<'_>) -> Result<Vec<Prefix>, ConfigError> {
    let values = match table.get("prefix") {
        None => return Ok(Vec::new()),
        Some(Json::Array(values)) => values,
        Some(value) => std::slice::from_ref(value),
    };
    let key = table.key("prefix");
    values.iter().map(|value| prefix(&key, value)).collect()
}

/// Reads one prefix. In a list, the error names only the invalid prefix.
fn prefix(key: &str, value: &Json) -> Result<Prefix, ConfigError> {
    let Some(text) = value.as_str() else { return read_value(key, value, None) };
    let shown = || shortened(&value.to_string());
    let prefix: Prefix = text.parse().map_err(|error: PrefixError| {
        ConfigError::new(key, format!("{} is not a prefix such as \"10.0.1.0/24\": it {error}", shown()))
    })?;
    if prefix.has_all_ipv4() {
        let problem = "has all IPv4 addresses in it, which a node keeps as ::ffff:0:0/96; \"2000::/3\" has all unicast \
                       addresses of IPv6";
        return Err(ConfigError::new(key, format!("{} {problem}", shown())));
    }
    Ok(prefix)
}

/// Formats the identifier as in the configuration, without quotes.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => prefix.fmt(f),
            Self::Vlan(vlan) => write!(f, "vlan {vlan}"),
            Self::Tags(service, customer) => write!(f, "s_vlan {service} c_vlan {customer}"),
            Self::Service(service) => write!(f, "s_vlan {service}"),
            Self::Session(session) => write!(f, "pppoe_session {session}"),
            Self::Tunnel(tunnel) => write!(f, "tunnel {tunnel}"),
            Self::Mark(mark) => write!(f, "mark {mark}"),
        }
    }
}

/// A user. All identifiers share one meter.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// Name in reports.
    pub name: String,
    /// Identifiers, at least one.
    pub who: Vec<Who>,
    /// Rate and class.
    pub params: UserParams,
}

impl User {
    /// Maximum number of marks of users. The programs compare them one by one.
    pub const MOST_MARKS: usize = 16;

    /// Reads a user from a table as in `[[users]]`, given the default user.
    ///
    /// # Errors
    /// A key is unknown, missing, of the wrong kind or out of range.
    pub fn of_table(json: &serde_json::Value, default: &UserParams) -> Result<Self, ConfigError> {
        refuse_renamed(json, &[("class", "traffic_class")])?;
        Self::read(&mut Table::new("", json)?, default)
    }

    /// Like [`Self::of_table`], but returns `None` if the keys are valid and contain no identifier.
    ///
    /// # Errors
    /// A key is unknown, of the wrong kind or out of range.
    pub fn of_keys(json: &serde_json::Value, default: &UserParams) -> Result<Option<Self>, ConfigError> {
        refuse_renamed(json, &[("class", "traffic_class")])?;
        Self::read_keys(&mut Table::new("", json)?, default)
    }

    pub(super) fn read(table: &mut Table<'_>, default: &UserParams) -> Result<Self, ConfigError> {
        Self::read_keys(table, default)?.ok_or_else(|| {
            ConfigError::new(
                table.key("prefix"),
                "missing, must be a prefix without bits behind it such as \"10.0.1.0/24\", or a list of them; or give \
                 vlan, s_vlan and c_vlan, pppoe_session, tunnel or mark",
            )
        })
    }

    fn read_keys(table: &mut Table<'_>, default: &UserParams) -> Result<Option<Self>, ConfigError> {
        // Created once, since there may be a hundred thousand users.
        static NONE: LazyLock<UserKeys> = LazyLock::new(UserKeys::default);
        let keys = UserKeys::read_over(NONE.clone(), table)?;
        let who = Who::read(table, &keys)?;
        let name = keys.name;
        name.as_deref().map_or(Ok(()), check_name).map_err(|problem| ConfigError::new(table.key("name"), problem))?;
        let params = UserParams::read_over(default.of_users(), table)?;
        table.finish()?;
        let Some(first) = who.first() else { return Ok(None) };
        Ok(Some(Self { name: name.unwrap_or_else(|| first.to_string()), who, params }))
    }
}
