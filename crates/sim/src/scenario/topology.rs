//! Links and how they are arranged.
//!
//! Every topology is a list of links, each with a queue of its own, and a route for each group of users. The named kinds
//! make the list from a few keys; `graph` writes it out.

use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table, read_value, shortened};
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::registry::external::FindExternal;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json, json};

choices! {
    /// The topologies there are.
    pub enum TopologyKind {
        /// Users behind access links of their own share one bottleneck to a server.
        OneSidedDumbbell = "one_sided_dumbbell",
        /// As the one-sided dumbbell, with an access link for each receiver too.
        TwoSidedDumbbell = "two_sided_dumbbell",
        /// Links in a row, crossed by all or some of the traffic.
        ParkingLot = "parking_lot",
        /// Links by name, routes written out.
        Graph = "graph",
    }
}

impl TopologyKind {
    /// Whether receivers have access links.
    #[must_use]
    pub fn has_receiver_links(self) -> bool {
        self != Self::OneSidedDumbbell
    }
}

params! {
    /// Access links of the users who send.
    pub struct AccessParams {
        /// Rate of a user's access link.
        access_rate: BitRate = "100 Mbit/s", in "1 kbit/s"..="10 Tbit/s", symbol "C_a", source "abc2018 Table 1";
        /// Propagation delay of a user's access link.
        access_delay: Time = "0.1 ms", in "0 s"..="1 h", symbol "D_a", source "abc2018 Table 1";
        /// Drop-tail buffer of a user's access link.
        access_limit: QueueLimit = "50 packets", in "1 packets"..="16777216 packets", source "abc2018 IV-A2";
    }
}

params! {
    /// The bottleneck of a dumbbell, or each of the links of a parking lot.
    pub struct BottleneckParams {
        /// Rate of the bottleneck.
        bottleneck_rate: BitRate = "10 Mbit/s", in "1 kbit/s"..="10 Tbit/s", symbol "C_b", source "abc2018 Table 1";
        /// Propagation delay of the bottleneck.
        bottleneck_delay: Time = "5 ms", in "0 s"..="1 h", symbol "D_b", source "abc2018 Table 1";
    }
}

params! {
    /// Access links of the receivers, all but in the one-sided dumbbell. They are too fast for a queue.
    pub struct ReceiverParams {
        /// Rate of a receiver's access link, not below that of the last link of its route.
        receiver_rate: BitRate = "100 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "afc 4: 100 Mb/s";
        /// Propagation delay of a receiver's access link.
        receiver_delay: Time = "0.1 ms", in "0 s"..="1 h", source "as access_delay";
    }
}

params! {
    /// The row of links of a parking lot.
    pub struct ParkingLotParams {
        /// Links in a row, named link1, link2 ...
        congested_links: u32 = 3, in 1..=1000, symbol "L", source "afpft III-D";
    }
}

params! {
    /// A link of a graph; the rate is required.
    pub struct LinkParams {
        /// Rate.
        rate: BitRate = "10 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Propagation delay.
        delay: Time = "5 ms", in "0 s"..="1 h", source "abc2018 Table 1";
    }
}

/// Most links of a graph.
const MOST_LINKS: usize = 1000;

/// A step in the rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// When.
    pub at: Time,
    /// The rate from then on.
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
    /// Its queue, if other than the scenario's.
    pub queue: Option<QueueConfig>,
}

impl LinkConfig {
    /// Rate in bit/s, averaged from `from` to `to`.
    #[must_use]
    pub fn mean_rate_bps(&self, from: Time, to: Time) -> f64 {
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

/// The topology of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyConfig {
    /// Which one it is.
    pub kind: TopologyKind,
    /// Access links of senders.
    pub access: AccessParams,
    /// Access links of receivers, unless the server is at the end of the bottleneck.
    pub receivers: Option<ReceiverParams>,
    /// Links between nodes; there is at least one.
    pub links: Vec<LinkConfig>,
}

impl Default for TopologyConfig {
    fn default() -> Self {
        let bottleneck = one_link("bottleneck", &BottleneckParams::default(), vec![]);
        Self {
            kind: TopologyKind::OneSidedDumbbell,
            access: AccessParams::default(),
            receivers: None,
            links: vec![bottleneck],
        }
    }
}

fn one_link(name: &str, params: &BottleneckParams, schedule: Vec<RateChange>) -> LinkConfig {
    let params = LinkParams { rate: params.bottleneck_rate, delay: params.bottleneck_delay };
    LinkConfig { name: name.into(), params, schedule, queue: None }
}

impl TopologyConfig {
    /// Reads the `[topology]` table of a scenario, defaults if it is absent.
    ///
    /// # Errors
    /// An unknown key, a value out of range, steps that are not in the order of time, or links that share a name.
    pub fn read(scenario: &mut Table<'_>, find: FindExternal<'_>) -> Result<Self, ConfigError> {
        let Some(mut table) = scenario.table("topology")? else { return Ok(Self::default()) };
        let kind = table.optional("kind", None)?.unwrap_or(TopologyKind::OneSidedDumbbell);
        let access = AccessParams::read(&mut table)?;
        let receivers = if kind.has_receiver_links() { Some(ReceiverParams::read(&mut table)?) } else { None };
        let links = match kind {
            TopologyKind::Graph => read_links(&mut table, find)?,
            TopologyKind::ParkingLot => {
                let count = ParkingLotParams::read(&mut table)?.congested_links;
                let bottleneck = BottleneckParams::read(&mut table)?;
                (1..=count).map(|number| one_link(&format!("link{number}"), &bottleneck, vec![])).collect()
            }
            TopologyKind::OneSidedDumbbell | TopologyKind::TwoSidedDumbbell => {
                let bottleneck = BottleneckParams::read(&mut table)?;
                let schedule = read_schedule(&mut table, "bottleneck_schedule")?;
                vec![one_link("bottleneck", &bottleneck, schedule)]
            }
        };
        table.finish()?;
        Ok(Self { kind, access, receivers, links })
    }

    /// Writes the table, every default filled in.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("kind".into(), self.kind.to_json());
        self.access.write(&mut map);
        if let Some(receivers) = &self.receivers {
            receivers.write(&mut map);
        }
        let LinkConfig { params, schedule, .. } = &self.links[0];
        let bottleneck = BottleneckParams { bottleneck_rate: params.rate, bottleneck_delay: params.delay };
        match self.kind {
            TopologyKind::Graph => {
                map.insert("links".into(), self.links.iter().map(write_link).collect());
            }
            TopologyKind::ParkingLot => {
                ParkingLotParams { congested_links: self.links.len() as u32 }.write(&mut map);
                bottleneck.write(&mut map);
            }
            TopologyKind::OneSidedDumbbell | TopologyKind::TwoSidedDumbbell => {
                bottleneck.write(&mut map);
                map.insert("bottleneck_schedule".into(), write_schedule(schedule));
            }
        }
        map
    }

    /// Numbers of the links of a route by name; all links if it is empty, which a graph does not allow.
    pub(super) fn route(&self, names: &[String], key: &str) -> Result<Vec<u32>, ConfigError> {
        let known = || shortened(&self.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>().join(", "));
        if names.is_empty() {
            if self.kind == TopologyKind::Graph {
                return Err(ConfigError::new(
                    key,
                    format!("missing, must be a list of links in order, of {}", known()),
                ));
            }
            return Ok((0..self.links.len() as u32).collect());
        }
        let mut route = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let key = format!("{key}[{index}]");
            let Some(link) = self.links.iter().position(|link| link.name == *name) else {
                return Err(ConfigError::new(
                    key,
                    format!("\"{}\" is not a link, there are {}", shortened(name), known()),
                ));
            };
            if route.contains(&(link as u32)) {
                return Err(ConfigError::new(key, format!("\"{}\" comes twice, a route has no loop", shortened(name))));
            }
            route.push(link as u32);
        }
        Ok(route)
    }

    /// Documentation of the parameters of a kind.
    #[must_use]
    pub fn specs(kind: TopologyKind) -> Vec<ParamSpec> {
        let mut specs = AccessParams::specs();
        if kind.has_receiver_links() {
            specs.extend(ReceiverParams::specs());
        }
        if kind == TopologyKind::ParkingLot {
            specs.extend(ParkingLotParams::specs());
        }
        if kind != TopologyKind::Graph {
            specs.extend(BottleneckParams::specs());
        }
        specs
    }
}

fn read_links(table: &mut Table<'_>, find: FindExternal<'_>) -> Result<Vec<LinkConfig>, ConfigError> {
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
        if link.get("rate").is_none() {
            link.required::<BitRate>("rate")?;
        }
        let params = LinkParams::read(&mut link)?;
        let schedule = read_schedule(&mut link, "schedule")?;
        let queue = link.table("queue")?.map(|mut queue| QueueConfig::read_with(&mut queue, find)).transpose()?;
        link.finish()?;
        links.push(LinkConfig { name, params, schedule, queue });
    }
    if links.is_empty() || links.len() > MOST_LINKS {
        let problem = format!("{} tables, a graph needs 1 to {MOST_LINKS} [[topology.links]]", links.len());
        return Err(ConfigError::new(table.key("links"), problem));
    }
    Ok(links)
}

fn write_link(link: &LinkConfig) -> Json {
    let mut map = Map::new();
    map.insert("name".into(), link.name.to_json());
    link.params.write(&mut map);
    map.insert("schedule".into(), write_schedule(&link.schedule));
    if let Some(queue) = &link.queue {
        map.insert("queue".into(), Json::Object(queue.write()));
    }
    Json::Object(map)
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
