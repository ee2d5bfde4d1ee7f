//! A link between two nodes, and the links of a graph.

use super::trace::TraceConfig;
use crate::scenario::impairments::{self, ImpairmentKeys, Impairments};
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table, read_value, shortened};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::params;
use fairlane_schemes::registry::external::FindExternal;
use fairlane_schemes::registry::queue_config::QueueConfig;
use serde_json::{Map, Value as Json, json};

params! {
    /// A link of a graph; the rate is required.
    pub struct LinkParams {
        /// Rate.
        rate: BitRate = "10 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Propagation delay.
        delay: Time = "5 ms", in "0 s"..="1 h", source "abc2018 Table 1";
    }
}

/// Parses the queues that a topology specifies for its links.
#[derive(Clone, Copy)]
pub(crate) struct OwnQueues<'f, 'a> {
    pub(crate) find: FindExternal<'f>,
    /// Limit of the scenario's queue, the default for these queues.
    pub(crate) limit: Option<&'a Json>,
}

impl<'a> OwnQueues<'_, 'a> {
    pub(super) fn read(self, table: &mut Table<'a>, key: &'static str) -> Result<Option<QueueConfig>, ConfigError> {
        let Some(mut queue) = table.table(key)? else { return Ok(None) };
        queue.inherit("limit", self.limit);
        QueueConfig::read_with(&mut queue, self.find).map(Some)
    }
}

const MOST_LINKS: usize = 1000;

/// A step in the rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// Time of the step.
    pub at: Time,
    /// Rate after the step.
    pub rate: BitRate,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Name in routes and results.
    pub name: String,
    /// Rate and delay.
    pub params: LinkParams,
    /// Steps of the rate, in the order of time.
    pub schedule: Vec<RateChange>,
    /// Trace that replaces the constant rate of the link. Its rate may be reported to schemes.
    pub trace: Option<TraceConfig>,
    /// Impairments in addition to the link's delay.
    pub impairments: Impairments,
    /// Queue, if different from the scenario's.
    pub queue: Option<QueueConfig>,
}

/// Names of a link's keys, which differ between a graph and a preset.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkKeys {
    rate: &'static str,
    schedule: &'static str,
    trace: &'static str,
    impairments: ImpairmentKeys,
}

const OF_GRAPH: LinkKeys =
    LinkKeys { rate: "rate", schedule: "schedule", trace: "trace", impairments: impairments::OF_LINK };
pub(super) const OF_BOTTLENECK: LinkKeys = LinkKeys {
    rate: "bottleneck_rate",
    schedule: "bottleneck_schedule",
    trace: "bottleneck_trace",
    impairments: impairments::OF_BOTTLENECK,
};

impl LinkConfig {
    /// Creates a link with only a rate and a delay.
    pub(super) fn plain(name: &str, params: LinkParams) -> Self {
        let impairments = Impairments::default();
        Self { name: name.into(), params, schedule: Vec::new(), trace: None, impairments, queue: None }
    }

    pub(super) fn read_course(&mut self, table: &mut Table<'_>, keys: LinkKeys) -> Result<(), ConfigError> {
        self.schedule = read_schedule(table, keys.schedule)?;
        self.trace = TraceConfig::read(table, keys.trace)?;
        self.impairments = Impairments::read(table, keys.impairments)?;
        if let Some(trace) = &self.trace {
            if !self.schedule.is_empty() {
                let problem = format!("has no effect with {}, which says when packets are sent", keys.trace);
                return Err(ConfigError::new(table.key(keys.schedule), problem));
            }
            if table.get(keys.rate).is_none() {
                self.params.rate = trace.delivery().mean_rate();
            }
        }
        Ok(())
    }

    pub(super) fn write_course(&self, map: &mut Map<String, Json>, keys: LinkKeys) {
        map.insert(keys.rate.into(), self.params.rate.to_json());
        map.insert(keys.schedule.into(), write_schedule(&self.schedule));
        if let Some(trace) = &self.trace {
            map.insert(keys.trace.into(), trace.write());
        }
        self.impairments.write(map, keys.impairments);
    }

    /// Mean rate in bit/s between `from` and `to`.
    #[must_use]
    pub fn mean_rate_bps(&self, from: Time, to: Time) -> f64 {
        if let Some(trace) = &self.trace {
            return trace.times.mean_rate_bps(trace.params.opportunity.0, from, to);
        }
        let (mut since, mut rate, mut bits) = (from, self.params.rate, 0.0);
        for change in &self.schedule {
            let until = change.at.max(from).min(to);
            bits += rate.as_f64() * (until - since).as_secs_f64();
            (since, rate) = (until, change.rate);
        }
        bits += rate.as_f64() * (to - since).as_secs_f64();
        bits / (to - from).as_secs_f64()
    }
}

pub(super) fn read_links<'a>(table: &mut Table<'a>, queues: OwnQueues<'_, 'a>) -> Result<Vec<LinkConfig>, ConfigError> {
    let mut links: Vec<LinkConfig> = Vec::new();
    for mut link in table.tables("links")? {
        let name: String = link.required("name")?;
        if name.trim().is_empty() {
            return Err(ConfigError::new(link.key("name"), format!("\"{name}\" is empty, routes need a name")));
        }
        if let Some(twin) = links.iter().position(|other| other.name == name) {
            let problem =
                format!("\"{}\" is already the name of topology.links[{twin}], names must differ", shortened(&name));
            return Err(ConfigError::new(link.key("name"), problem));
        }
        links.push(read_link(link, &name, queues)?);
    }
    if links.is_empty() || links.len() > MOST_LINKS {
        let problem = format!("{} tables, a graph needs 1 to {MOST_LINKS} [[topology.links]]", links.len());
        return Err(ConfigError::new(table.key("links"), problem));
    }
    Ok(links)
}

/// Reads the keys of a link, except its name.
pub(super) fn read_link<'a>(
    mut table: Table<'a>,
    name: &str,
    queues: OwnQueues<'_, 'a>,
) -> Result<LinkConfig, ConfigError> {
    if table.get("rate").is_none() && table.get("trace").is_none() {
        table.required::<BitRate>("rate")?;
    }
    let mut link = LinkConfig::plain(name, LinkParams::read(&mut table)?);
    link.read_course(&mut table, OF_GRAPH)?;
    link.queue = queues.read(&mut table, "queue")?;
    table.finish()?;
    Ok(link)
}

pub(super) fn write_named_link(link: &LinkConfig) -> Json {
    let mut map = Map::from_iter([("name".to_string(), link.name.to_json())]);
    map.extend(write_link(link));
    Json::Object(map)
}

/// Writes the keys of a link, except its name.
pub(super) fn write_link(link: &LinkConfig) -> Map<String, Json> {
    let mut map = Map::new();
    link.params.write(&mut map);
    link.write_course(&mut map, OF_GRAPH);
    if let Some(queue) = &link.queue {
        map.insert("queue".into(), Json::Object(queue.write()));
    }
    map
}

fn read_schedule(table: &mut Table<'_>, name: &'static str) -> Result<Vec<RateChange>, ConfigError> {
    let mut steps: Vec<RateChange> = Vec::new();
    for mut step in table.tables(name)? {
        let change = RateChange { at: required(&mut step, "at")?, rate: required(&mut step, "rate")? };
        step.finish()?;
        if let Some(before) = steps.last().filter(|before| before.at >= change.at) {
            let problem = format!("\"{}\" is out of range, it must be after the step before, {}", change.at, before.at);
            return Err(ConfigError::new(step.key("at"), problem));
        }
        steps.push(change);
    }
    Ok(steps)
}

fn write_schedule(schedule: &[RateChange]) -> Json {
    schedule.iter().map(|change| json!({"at": change.at.to_json(), "rate": change.rate.to_json()})).collect()
}

/// Reads a time or rate of a step, with the same range as the topology's times and rates.
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
