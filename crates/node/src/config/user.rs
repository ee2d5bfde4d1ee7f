//! Users: who is metered, against which reference rate, in which class.

use super::{MarkMatch, Prefix};
use fairlane_schemes::base::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::{choices, params};
use std::fmt;

choices! {
    /// Which class a user's packets are in.
    pub enum ClassRule {
        /// All are best effort.
        BestEffort = "BE",
        /// All are expedited.
        Expedited = "EF",
        /// Those with DSCP EF (46) are expedited.
        Dscp = "dscp",
    }
}

choices! {
    /// What has a meter of its own.
    pub enum MeterOf {
        /// The prefix as a whole.
        Prefix = "prefix",
        /// Each address in it, with the whole reference rate each.
        Address = "address",
    }
}

params! {
    /// Rate and class of a user.
    pub struct UserParams {
        /// The rate that has activity 0.
        reference_rate: BitRate = "10 kbit/s", in "1 kbit/s"..="1 Tbit/s", symbol "R_r", source "abc2018 Table 1";
        /// Which class the packets are in.
        traffic_class: ClassRule = "BE", source "abc2018 III-D";
        /// What has a meter of its own.
        meter_of: MeterOf = "prefix", source "our choice";
    }
}

params! {
    /// The table of meters.
    pub struct UserTableParams {
        /// Meters at a time; further users share the meter of the default user.
        limit: u32 = 65536, in 1..=1048576, source "our choice";
        /// A meter that has seen nothing for so long makes room; at least 10 memories, when e^-10 of it is left.
        timeout: Time = "60 s", in "10 ms"..="24 h", source "our choice";
    }
}

impl UserTableParams {
    /// A meter is forgotten only when nothing of worth is left of it.
    pub(super) fn check(&self, key: &str, memory: Time) -> Result<(), ConfigError> {
        let least = Time(memory.0.saturating_mul(10));
        if self.timeout >= least {
            return Ok(());
        }
        let problem = format!("\"{}\" is out of range, it must be at least 10 times {key}, {least}", self.timeout);
        Err(ConfigError::new("users_table.timeout", problem))
    }
}

/// What a user is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// Its source addresses; of several prefixes that fit, the longest counts.
    Prefix(Prefix),
    /// The outermost 802.1Q tag that its packets come with, 1 to 4094.
    Vlan(u32),
    /// The mark that its packets have when they come to the program.
    Mark(MarkMatch),
}

impl Who {
    /// The key of the configuration.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Prefix(_) => "prefix",
            Self::Vlan(_) => "vlan",
            Self::Mark(_) => "mark",
        }
    }

    /// Exactly one of the keys.
    fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let prefix = table.optional("prefix", None)?.map(Self::Prefix);
        let vlan = table.optional::<u32>("vlan", Some((1.into(), 4094.into())))?.map(Self::Vlan);
        let mark = table.optional("mark", None)?.map(Self::Mark);
        match (prefix, vlan, mark) {
            (Some(who), None, None) | (None, Some(who), None) | (None, None, Some(who)) => Ok(who),
            (None, None, None) => Err(ConfigError::new(
                table.key("prefix"),
                "missing, must be a prefix without bits behind it such as \"10.0.1.0/24\"; or give vlan or mark",
            )),
            _ => Err(ConfigError::new(table.key("prefix"), "is one too many, give one of prefix, vlan, mark")),
        }
    }
}

/// As in the configuration, without quotes.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => prefix.fmt(f),
            Self::Vlan(vlan) => write!(f, "vlan {vlan}"),
            Self::Mark(mark) => write!(f, "mark {mark}"),
        }
    }
}

/// One user.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// Name in reports.
    pub name: String,
    /// What it is known by: marks count before VLANs, VLANs before prefixes.
    pub who: Who,
    /// Rate and class.
    pub params: UserParams,
}

impl User {
    /// Users by mark, which are tried one after another.
    pub const MOST_MARKS: usize = 16;

    pub(super) fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let who = Who::read(table)?;
        let name = table.optional("name", None)?.unwrap_or_else(|| who.to_string());
        let params = UserParams::read(table)?;
        table.finish()?;
        Ok(Self { name, who, params })
    }
}
