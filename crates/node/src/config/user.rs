//! Users: who is metered, against which reference rate, in which class.

use super::Prefix;
use fairlane_schemes::abc::MeterParams;
use fairlane_schemes::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::units::{BitRate, Time};
use fairlane_schemes::{choices, params};

choices! {
    /// Which class a user's packets are in.
    pub enum ClassRule {
        /// All are best effort.
        BestEffort = "best_effort",
        /// All are expedited.
        Expedited = "expedited",
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
        class: ClassRule = "best_effort", source "abc2018 III-D";
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
    pub(super) fn check(&self, meter: &MeterParams) -> Result<(), ConfigError> {
        let least = Time(meter.memory.0.saturating_mul(10));
        if self.timeout >= least {
            return Ok(());
        }
        let problem =
            format!("\"{}\" is out of range, it must be at least 10 times meter.memory, {least}", self.timeout);
        Err(ConfigError::new("users_table.timeout", problem))
    }
}

/// One user.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// Name in reports.
    pub name: String,
    /// Its source addresses; of several prefixes that fit, the longest counts.
    pub prefix: Prefix,
    /// Rate and class.
    pub params: UserParams,
}

impl User {
    pub(super) fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let prefix: Prefix = table.required("prefix")?;
        let name = table.optional("name", None)?.unwrap_or_else(|| prefix.to_string());
        let params = UserParams::read(table)?;
        table.finish()?;
        Ok(Self { name, prefix, params })
    }
}
