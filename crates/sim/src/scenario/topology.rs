//! Links and how they are arranged.

use fairlane_schemes::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table, read_value};
use fairlane_schemes::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json, json};

choices! {
    /// The topologies there are.
    pub enum TopologyKind {
        /// Users behind access links of their own share one bottleneck to a server.
        OneSidedDumbbell = "one_sided_dumbbell",
    }
}

params! {
    /// Links of the one-sided dumbbell.
    pub struct DumbbellParams {
        /// Rate of a user's access link.
        access_rate: BitRate = "100 Mbit/s", in "1 kbit/s"..="10 Tbit/s", symbol "C_a", source "abc2018 Table 1";
        /// Propagation delay of a user's access link.
        access_delay: Time = "0.1 ms", in "0 s"..="1 h", symbol "D_a", source "abc2018 Table 1";
        /// Drop-tail buffer of a user's access link.
        access_limit: QueueLimit = "50 packets", in "1 packets"..="16777216 packets", source "abc2018 IV-A2";
        /// Rate of the bottleneck.
        bottleneck_rate: BitRate = "10 Mbit/s", in "1 kbit/s"..="10 Tbit/s", symbol "C_b", source "abc2018 Table 1";
        /// Propagation delay of the bottleneck.
        bottleneck_delay: Time = "5 ms", in "0 s"..="1 h", symbol "D_b", source "abc2018 Table 1";
    }
}

/// A step in the rate of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// When.
    pub at: Time,
    /// The rate from then on.
    pub rate: BitRate,
}

/// The topology of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyConfig {
    /// Links.
    pub links: DumbbellParams,
    /// Steps in the rate of the bottleneck, in the order of time.
    pub bottleneck_schedule: Vec<RateChange>,
}

impl TopologyConfig {
    /// Reads the `[topology]` table of a scenario, defaults if it is absent.
    ///
    /// # Errors
    /// An unknown key, a value out of range, or steps that are not in the order of time.
    pub fn read(scenario: &mut Table<'_>) -> Result<Self, ConfigError> {
        let Some(mut table) = scenario.table("topology")? else { return Ok(Self::default()) };
        let _kind: Option<TopologyKind> = table.optional("kind", None)?;
        let links = DumbbellParams::read(&mut table)?;
        let mut steps: Vec<RateChange> = Vec::new();
        for mut step in table.tables("bottleneck_schedule")? {
            let change = RateChange { at: required(&mut step, "at")?, rate: required(&mut step, "rate")? };
            step.finish()?;
            if let Some(before) = steps.last().filter(|before| before.at >= change.at) {
                let problem =
                    format!("\"{}\" is out of range, it must be after the step before, {}", change.at, before.at);
                return Err(ConfigError::new(step.key("at"), problem));
            }
            steps.push(change);
        }
        table.finish()?;
        Ok(Self { links, bottleneck_schedule: steps })
    }

    /// Rate of the bottleneck in bit/s, averaged from `from` to `to`.
    #[must_use]
    pub fn mean_rate_bps(&self, from: Time, to: Time) -> f64 {
        let (mut since, mut rate, mut bits) = (from, self.links.bottleneck_rate, 0.0);
        for change in &self.bottleneck_schedule {
            let until = change.at.max(from).min(to);
            bits += rate.as_f64() * (until - since).as_secs_f64();
            (since, rate) = (until, change.rate);
        }
        bits += rate.as_f64() * (to - since).as_secs_f64();
        bits / (to - from).as_secs_f64()
    }

    /// Writes the table, every default filled in.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("kind".into(), TopologyKind::OneSidedDumbbell.to_json());
        self.links.write(&mut map);
        let step = |change: &RateChange| json!({"at": change.at.to_json(), "rate": change.rate.to_json()});
        map.insert("bottleneck_schedule".into(), self.bottleneck_schedule.iter().map(step).collect());
        map
    }

    /// Documentation of the parameters.
    #[must_use]
    pub fn specs() -> Vec<ParamSpec> {
        DumbbellParams::specs()
    }
}

/// A time or rate of a step, within the range of the topology's own.
fn required<T: ConfigValue>(step: &mut Table<'_>, name: &'static str) -> Result<T, ConfigError> {
    let range = match name {
        "at" => (json!("1 ps"), json!("1440 h")),
        _ => (json!("1 kbit/s"), json!("10 Tbit/s")),
    };
    let key = step.key(name);
    match step.get(name) {
        Some(value) => read_value(&key, value, Some(range)),
        None => step.required(name),
    }
}
