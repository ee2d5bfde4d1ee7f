//! User groups and their sources.

use super::impairments::{Impairments, OF_ACCESS};
use super::run::RunParams;
use super::sources::SourceConfig;
use super::tcp::TcpDefaults;
use super::topology::{SourceDirection, SubscriberParams, TopologyConfig};
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::params;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

/// Maximum number of users, and of flows, in a scenario.
const MOST: u64 = 1_000_000;
/// Maximum number of groups: each user stores the number of its group in 16 bits.
const MOST_GROUPS: usize = 65_536;
/// Maximum number of meters at the edge. Each user has as many meters as the group with the most ingresses needs.
const MOST_METERS: u64 = 10_000_000;
/// Maximum sum of the hops of all different routes, including their ends: packets store a hop index in 16 bits.
const MOST_HOPS: usize = 65_535;
/// Maximum length of a list of round-trip times. Each RTT may need separate delay lines.
const MOST_USER_RTTS: usize = 1000;
/// Maximum number of kinds of access links: a host stores the number of its kind in 16 bits.
pub(super) const MOST_ACCESS_LINKS: usize = 65_536;
/// Default spread of round-trip times on an access network, because lines differ in length and servers in location.
/// With equal round-trip times, shares would depend on the order of simultaneous events (Floyd and Jacobson, "On
/// traffic phase effects in packet-switched gateways", Internetworking: Research and Experience 3, 1992).
const ACCESS_NETWORK_SPREAD: f64 = 0.1;
const MOST_RTT: Time = Time::from_secs(3600);
/// Maximum number of pairs of a user and a link. Each pair needs 16 bytes to count sent bytes and losses.
const MOST_COUNTERS: u64 = 20_000_000;

params! {
    /// A group of users with the same configuration.
    pub struct GroupParams {
        /// Number of users.
        users: u32 = 1, in 1..=1000000, symbol "u", source "abc2018 IV-A3";
        /// Class of their packets.
        traffic_class: TrafficClass = "BE", symbol "PHB", source "abc2018 III-D";
        /// Reference rate of each user.
        reference_rate: BitRate = "10 kbit/s", in "1 bit/s"..="10 Tbit/s", symbol "R_r", source "abc2018 Table 1";
        /// Weight of each user and of each of its flows, in every scheme that shares by weight. Shares are proportional
        /// to weight times reference rate.
        weight: f64 = 1.0, in 0.001..=1000.0, symbol "w", source "our choice";
        /// Earliest start of a flow. Each flow starts at a uniform random time from `start_from` to `start_until`.
        start_from: Time = "0 s", in "0 s"..="1440 h", source "abc2018 IV-A5";
        /// Latest start of a flow. The default is 15 s or the end of the warm-up, whichever is earlier, but at least
        /// `start_from`.
        start_until: Time = "15 s", in "0 s"..="1440 h", source "abc2018 IV-A5";
        /// Rate of these users' access links, if different from the topology's.
        access_rate: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", symbol "C_a", source "our choice";
        /// Delay of these users' access links, if different from the topology's.
        access_delay: Option<Time> = null, in "0 s"..="1 h", symbol "D_a", source "our choice";
        /// Round-trip time of these users without queueing and transmission. The delay of their access links is then
        /// the part of `rtt` that the route does not use.
        rtt: Option<Time> = null, in "0 s"..="1 h", symbol "RTT", source "our choice";
        /// Relative spread of `rtt`: each user's round-trip time is drawn uniformly from `rtt * (1 - rtt_spread)` to
        /// `rtt * (1 + rtt_spread)`. The default is 0. On an access network the default is 0.1, or less if the route
        /// does not permit this. Without `rtt`, the spread applies to the round-trip time that results from
        /// `access_delay`.
        rtt_spread: Option<f64> = null, in 0.0..=1.0, source "Floyd and Jacobson 1992, phase effects";
        /// Round-trip time of each user, in order, instead of `rtt`.
        user_rtts: Option<Vec<Time>> = null, symbol "RTT", source "our choice";
        /// Rate of the access links of these users' receivers, if different from the topology's.
        receiver_rate: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Delay of the access links of these users' receivers, if different from the topology's.
        receiver_delay: Option<Time> = null, in "0 s"..="1 h", source "our choice";
        /// Links that the users' packets cross, by name and in order; all links of the topology if empty.
        route: Vec<String> = [], source "our choice";
        /// Number of ingress nodes over which a user's flows spread, each with a meter and a part of the reference
        /// rate.
        ingresses: u32 = 1, in 1..=64, source "abc2018 III-F";
        /// Parts of the reference rate at the ingress nodes, in any unit; equal parts by default. With an exchange, the
        /// initial parts.
        ingress_parts: Option<Vec<f64>> = null, source "abc2018 III-F";
        /// Lets these users forge labels, as if they controlled the edge. Every packet carries the label that the port
        /// favours most, instead of the marker's label.
        forged_labels: bool = false, source "our choice";
    }
}

impl GroupParams {
    /// Parts of the reference rate at the ingress nodes, in any unit.
    #[must_use]
    pub fn parts(&self) -> Vec<f64> {
        self.ingress_parts.clone().unwrap_or_else(|| vec![1.0; self.ingresses as usize])
    }

    /// Reference rate times weight: the user's relative entitlement.
    #[must_use]
    pub fn weighted_reference_rate(&self) -> BitRate {
        BitRate((self.reference_rate.as_f64() * self.weight).round() as u64)
    }
}

/// A group and its sources.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConfig {
    /// Name in results.
    pub name: String,
    /// Parameters of the users.
    pub params: GroupParams,
    /// Numbers of the links of the route. With a reverse link, all links that data of the sources cross.
    pub route: Vec<u32>,
    /// Delays of the access links: one for all users, or one for each.
    pub access_delays: Vec<Time>,
    /// Width of the uniform random delay added to each user's access link.
    pub access_spread: Time,
    /// Upstream impairments of the access links.
    pub access: Impairments,
    /// Sources of each user.
    pub sources: Vec<SourceConfig>,
    /// Subscribers that the group represents, with the index of their node, on an access network.
    pub subscribers: Option<(SubscriberParams, Option<u32>)>,
    /// Application name of each source on an access network; empty elsewhere.
    pub applications: Vec<String>,
    /// Direction of each source on a dumbbell with a reverse link; empty elsewhere.
    pub directions: Vec<SourceDirection>,
}

pub(super) fn read_groups(
    scenario: &mut Table<'_>,
    topology: &TopologyConfig,
    tcp: TcpDefaults<'_>,
    run: &RunParams,
) -> Result<Vec<GroupConfig>, ConfigError> {
    let mut groups: Vec<GroupConfig> = Vec::new();
    let tables = scenario.tables("groups")?;
    if tables.len() > MOST_GROUPS {
        return Err(ConfigError::new("groups", format!("{} tables, there may be {MOST_GROUPS}", tables.len())));
    }
    for (i, mut table) in tables.into_iter().enumerate() {
        let group = GroupConfig::read(&mut table, i, topology, tcp, run)?;
        if let Some(twin) = groups.iter().position(|other| other.name == group.name) {
            let problem = format!("\"{}\" is already the name of groups[{twin}], names must differ", group.name);
            return Err(ConfigError::new(table.key("name"), problem));
        }
        groups.push(group);
    }
    Ok(groups)
}

/// Checks conditions that involve several groups.
pub(super) fn check_groups(groups: &[GroupConfig], topology: &TopologyConfig) -> Result<(), ConfigError> {
    let users = check_counts(groups)?;
    if topology.tree.is_none() {
        check_routes(groups, topology)?;
    }
    check_meters(groups, users)?;
    if groups.is_empty() {
        return Err(ConfigError::new("groups", "missing, must be at least one [[groups]] table"));
    }
    Ok(())
}

/// Checks the numbers of users and flows. Returns the number of users.
fn check_counts(groups: &[GroupConfig]) -> Result<u64, ConfigError> {
    let (mut users, mut flows) = (0, 0);
    for (i, group) in groups.iter().enumerate() {
        users += u64::from(group.params.users);
        flows += u64::from(group.params.users) * group.flows_per_user();
        let counts = [(users, "users", group.params.users.to_json()), (flows, "sources", flows.into())];
        for (total, key, value) in counts {
            if total > MOST {
                let problem =
                    format!("{value} is out of range, all groups together may have {MOST} users and {MOST} flows");
                return Err(ConfigError::new(format!("groups[{i}].{key}"), problem));
            }
        }
    }
    Ok(users)
}

fn check_routes(groups: &[GroupConfig], topology: &TopologyConfig) -> Result<(), ConfigError> {
    let (mut users, mut access_links) = (0, 0);
    let corrupts = corrupts(groups, topology);
    let mut routes = BTreeSet::new();
    for (i, group) in groups.iter().enumerate() {
        users += u64::from(group.params.users);
        // If a group's access links have impairments, they are a separate hop.
        let (access, forged) = (group.access.any().then_some(i), group.params.forged_labels);
        // With a reverse link, acknowledgements cross the link that the data do not cross.
        let own = if topology.has_reverse_link { vec![vec![0], vec![1]] } else { vec![group.route.clone()] };
        for route in own {
            routes.insert((route.clone(), access, forged, false));
            if group.sources.iter().any(SourceConfig::is_call) {
                routes.insert((route, access, forged, true));
            }
        }
        let hops: usize = routes.iter().map(|(route, access, _, call)| hops(route, *access, *call, topology)).sum();
        check_hops(hops, corrupts, &format!("groups[{i}].route"))?;
        access_links += group.access_delays.len();
        if access_links > MOST_ACCESS_LINKS {
            let problem = format!(
                "{access_links} access links of different delay are out of range, there may be {MOST_ACCESS_LINKS}"
            );
            return Err(ConfigError::new(format!("groups[{i}].user_rtts"), problem));
        }
        if users * topology.links.len() as u64 > MOST_COUNTERS {
            let problem = format!(
                "{users} users are out of range, with {} links there may be {}",
                topology.links.len(),
                MOST_COUNTERS / topology.links.len() as u64
            );
            return Err(ConfigError::new(format!("groups[{i}].users"), problem));
        }
    }
    Ok(())
}

/// Returns true if a link or an access link corrupts packets. Damaged packets have routes of their own.
pub(super) fn corrupts(groups: &[GroupConfig], topology: &TopologyConfig) -> bool {
    let of_links = topology.links.iter().map(|link| &link.impairments);
    of_links.chain(groups.iter().map(|group| &group.access)).any(|impairments| impairments.corrupt.is_some())
}

pub(super) fn check_hops(hops: usize, corrupts: bool, key: &str) -> Result<(), ConfigError> {
    let hops = if corrupts { 2 * hops } else { hops };
    if hops > MOST_HOPS {
        let problem = format!("{hops} hops on different routes are out of range, there may be {MOST_HOPS}");
        return Err(ConfigError::new(key, problem));
    }
    Ok(())
}

/// Returns the number of hops of a route: links, impairments (after a link or an access link), the receiver of a call,
/// and the end of the route.
fn hops(route: &[u32], access: Option<usize>, call: bool, topology: &TopologyConfig) -> usize {
    let of_link = |&link: &u32| 1 + usize::from(topology.links[link as usize].impairments.any());
    route.iter().map(of_link).sum::<usize>() + usize::from(access.is_some()) + usize::from(call) + 1
}

fn check_ingress_parts(params: &GroupParams, table: &Table<'_>) -> Result<(), ConfigError> {
    let Some(parts) = &params.ingress_parts else { return Ok(()) };
    let error = |problem| Err(ConfigError::new(table.key("ingress_parts"), problem));
    if params.ingresses == 1 {
        return error("has no effect with one ingress".into());
    }
    if parts.len() != params.ingresses as usize {
        return error(format!(
            "has {} values, it must have one for each of {} ingresses",
            parts.len(),
            params.ingresses
        ));
    }
    let (least, most) = (1e-6, 1e6);
    if let Some(part) = parts.iter().find(|part| !(least..=most).contains(*part)) {
        return error(format!("{part} is out of range, each part must be from {least} to {most}"));
    }
    let per_bit = parts.iter().sum::<f64>() / params.weighted_reference_rate().as_f64();
    match parts.iter().find(|part| **part < per_bit) {
        Some(part) => error(format!("{part} is out of range, each part of the reference rate must be 1 bit/s or more")),
        None => Ok(()),
    }
}

fn check_meters(groups: &[GroupConfig], users: u64) -> Result<(), ConfigError> {
    let ingresses = |group: &GroupConfig| group.params.ingresses;
    let Some(index) = (0..groups.len()).max_by_key(|&index| ingresses(&groups[index])) else { return Ok(()) };
    let most = ingresses(&groups[index]);
    if users * u64::from(most) > MOST_METERS {
        let problem =
            format!("{most} is out of range, with {users} users in all groups there may be {}", MOST_METERS / users);
        return Err(ConfigError::new(format!("groups[{index}].ingresses"), problem));
    }
    Ok(())
}

impl GroupConfig {
    fn read(
        table: &mut Table<'_>,
        index: usize,
        topology: &TopologyConfig,
        tcp: TcpDefaults<'_>,
        run: &RunParams,
    ) -> Result<Self, ConfigError> {
        let name: String = table.optional("name", None)?.unwrap_or_else(|| format!("group{index}"));
        if name.trim().is_empty() {
            return Err(ConfigError::new(table.key("name"), format!("\"{name}\" is empty, results need a name")));
        }
        let mut params = GroupParams::read(table)?;
        if table.get("start_until").is_none() {
            params.start_until = params.start_until.min(run.warmup).max(params.start_from);
        }
        check_start(&params, table, run.end())?;
        if params.weighted_reference_rate().0 < u64::from(params.ingresses) {
            let problem = format!(
                "{} is out of range, each ingress needs 1 bit/s of the reference rate times the weight",
                params.ingresses
            );
            return Err(ConfigError::new(table.key("ingresses"), problem));
        }
        check_ingress_parts(&params, table)?;
        let subscribers = read_subscribers(&params, topology, table)?;
        let mut route = match (&subscribers, &topology.tree) {
            // The route is that of the group's first subscriber. So errors about the whole group report values of this
            // subscriber.
            (Some((of_tree, node)), Some(tree)) => {
                let first = tree.subscribers.iter().find(|some| node.is_none_or(|node| tree.is_under(some.node, node)));
                tree.route(first.map_or(0, |some| some.node), of_tree.direction)
            }
            _ => topology.route(&params.route, &table.key("route"))?,
        };
        check_receiver_link(&params, &route, topology, table)?;
        let (access_delays, access_spread) = access_delays(&params, &route, topology, |name| table.key(name))?;
        let access = Impairments::read(table, OF_ACCESS)?;
        let (mut sources, mut applications, mut directions) = (Vec::new(), Vec::new(), Vec::new());
        for mut source in table.tables("sources")? {
            if subscribers.is_some() {
                let own: Option<String> = source.optional("application", None)?;
                if own.as_ref().is_some_and(|name| name.trim().is_empty()) {
                    return Err(ConfigError::new(source.key("application"), "\"\" is empty, results need a name"));
                }
                applications
                    .push(own.unwrap_or_else(|| source.get("kind").and_then(Json::as_str).unwrap_or_default().into()));
            }
            directions.extend(read_direction(&mut source, topology)?);
            let config = SourceConfig::read(&mut source, tcp)?;
            let started = config.start().unwrap_or(params.start_until);
            config.check_start(source.key("start"), run.end())?;
            config.check_stop(source.key("stop"), started, run.end())?;
            if topology.has_reverse_link {
                check_direction(&config, &sources, &directions, &source)?;
            }
            sources.push(config);
        }
        if sources.is_empty() {
            return Err(ConfigError::new(
                table.key("sources"),
                "missing, must be at least one [[groups.sources]] table",
            ));
        }
        table.finish()?;
        if topology.has_reverse_link {
            let crossed = |direction| directions.contains(direction).then(|| TopologyConfig::route_towards(*direction));
            route = SourceDirection::ALL.iter().filter_map(crossed).flatten().copied().collect();
        }
        Ok(Self {
            name,
            params,
            route,
            access_delays,
            access_spread,
            access,
            sources,
            subscribers,
            applications,
            directions,
        })
    }

    /// Route of the data of a source, given by index.
    #[must_use]
    pub fn route_of(&self, source: usize) -> &[u32] {
        self.directions.get(source).map_or(&self.route, |&direction| TopologyConfig::route_towards(direction))
    }

    /// Returns true if the data of a source, given by index, cross the reverse link.
    #[must_use]
    pub fn is_reverse(&self, source: usize) -> bool {
        self.directions.get(source) == Some(&SourceDirection::Reverse)
    }

    /// Writes the table, including all defaults.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("name".into(), self.name.to_json());
        self.params.write(&mut map);
        self.access.write(&mut map, OF_ACCESS);
        if let Some((subscribers, _)) = &self.subscribers {
            subscribers.write(&mut map);
        }
        let source = |(index, source): (usize, &SourceConfig)| {
            let mut map = source.write();
            if let Some(application) = self.applications.get(index) {
                map.insert("application".into(), application.to_json());
            }
            if let Some(direction) = self.directions.get(index) {
                map.insert("direction".into(), direction.to_json());
            }
            Json::Object(map)
        };
        map.insert("sources".into(), self.sources.iter().enumerate().map(source).collect());
        map
    }

    /// Number of flows of each user, over all sources, that last for the whole run.
    #[must_use]
    pub fn flows_per_user(&self) -> u64 {
        self.sources.iter().map(SourceConfig::lasting_flows).sum()
    }
}

/// Reads the direction of a source; `None` without a reverse link.
fn read_direction(source: &mut Table<'_>, topology: &TopologyConfig) -> Result<Option<SourceDirection>, ConfigError> {
    let key = source.key("direction");
    let given: Option<SourceDirection> = source.optional("direction", None)?;
    match given {
        Some(direction) if !topology.has_reverse_link => {
            let problem = format!("\"{}\" has no effect without [topology.reverse]", direction.name());
            Err(ConfigError::new(key, problem))
        }
        None if topology.has_reverse_link => Ok(Some(SourceDirection::Forward)),
        given => Ok(given),
    }
}

/// Rejects sources that a reverse link does not support: video, whose requests must not be lost, and finite transfers
/// of one group in both directions, which have different ideal times.
fn check_direction(
    config: &SourceConfig,
    before: &[SourceConfig],
    directions: &[SourceDirection],
    source: &Table<'_>,
) -> Result<(), ConfigError> {
    if matches!(config, SourceConfig::Video { .. }) {
        let problem = "\"video\" does not work with topology.reverse, where requests of chunks may be lost";
        return Err(ConfigError::new(source.key("kind"), problem));
    }
    let direction = directions[before.len()];
    let other = before.iter().position(SourceConfig::has_transfers).map(|index| directions[index]);
    if config.has_transfers() && other.is_some_and(|other| other != direction) {
        let problem = format!(
            "\"{}\" is not the direction of the group's other finite transfers: use a group for each direction",
            direction.name()
        );
        return Err(ConfigError::new(source.key("direction"), problem));
    }
    Ok(())
}

/// Checks that the latest start is not before the earliest, and that it is before the end of the run.
fn check_start(params: &GroupParams, table: &mut Table<'_>, end: Time) -> Result<(), ConfigError> {
    let (from, until) = (params.start_from, params.start_until);
    let (key, allowed) = if until < from {
        ("start_until", format!("it must be from start_from, {from}, up"))
    } else if until > end {
        // If `start_until` is missing, its default depends on `start_from`, so the error names that key.
        let written = if table.get("start_until").is_some() { "start_until" } else { "start_from" };
        (written, format!("it must be at most the end of the run, {end}: later flows never start"))
    } else {
        return Ok(());
    };
    Err(ConfigError::new(table.key(key), format!("\"{until}\" is out of range, {allowed}")))
}

/// Selection of a group's subscribers on an access network; `None` on other topologies.
fn read_subscribers(
    params: &GroupParams,
    topology: &TopologyConfig,
    table: &mut Table<'_>,
) -> Result<Option<(SubscriberParams, Option<u32>)>, ConfigError> {
    if topology.tree.is_none() {
        return Ok(None);
    }
    let of_tree = SubscriberParams::read(table)?;
    let given = [
        ("route", !params.route.is_empty()),
        ("user_rtts", params.user_rtts.is_some()),
        ("receiver_rate", params.receiver_rate.is_some()),
        ("receiver_delay", params.receiver_delay.is_some()),
    ];
    let impaired = OF_ACCESS.into_iter().find(|&key| table.get(key).is_some());
    let given = given.iter().find(|(_, given)| *given).map(|&(key, _)| key);
    if let Some(key) = given.or(impaired) {
        return Err(ConfigError::new(
            table.key(key),
            "has no effect on an access network, where the tree says the way",
        ));
    }
    let node = of_tree.node.as_ref().map(|name| topology.node(name, &table.key("node"))).transpose()?;
    Ok(Some((of_tree, node)))
}

/// Minimum delays of a group's access links, and the width of the random delay added to them. The delays may be derived
/// from round-trip times.
pub(super) fn access_delays(
    params: &GroupParams,
    route: &[u32],
    topology: &TopologyConfig,
    key: impl Fn(&str) -> String,
) -> Result<(Vec<Time>, Time), ConfigError> {
    let delays = middle_access_delays(params, route, topology, &key)?;
    let Some(spread) = params.rtt_spread else { return Ok((delays, Time::ZERO)) };
    if params.user_rtts.is_some() || (params.rtt.is_none() && topology.tree.is_none()) {
        return Err(ConfigError::new(key("rtt_spread"), format!("{spread} has no effect without rtt")));
    }
    let rtt = least_rtt(params, route, topology) + Time(2 * delays[0].0);
    // Half of a round-trip time's deviation is on the upstream path, half on the downstream path.
    let aside = Time((rtt.0 as f64 * spread / 2.0).round() as u64);
    if aside > delays[0] {
        let most = widest_spread(params, route, topology);
        let problem = format!(
            "{spread} is out of range, with a round-trip time of {rtt} it must be from 0 to {most}, for there and \
             back take {} without access link",
            least_rtt(params, route, topology)
        );
        return Err(ConfigError::new(key("rtt_spread"), problem));
    }
    Ok((vec![delays[0] - aside], Time(2 * aside.0)))
}

/// Default spread of round-trip times for a group on these routes of an access network.
pub(super) fn default_spread(params: &GroupParams, routes: &[Vec<u32>], topology: &TopologyConfig) -> f64 {
    routes.iter().map(|route| widest_spread(params, route, topology)).fold(ACCESS_NETWORK_SPREAD, f64::min)
}

/// Largest spread that a route permits, rounded down to thousandths.
fn widest_spread(params: &GroupParams, route: &[u32], topology: &TopologyConfig) -> f64 {
    let least = least_rtt(params, route, topology);
    let access_delay = params.access_delay.unwrap_or(topology.access.access_delay);
    let rtt = params.rtt.unwrap_or(least + Time(2 * access_delay.0));
    (1000.0 * rtt.saturating_sub(least).0 as f64 / rtt.0.max(1) as f64).floor() / 1000.0
}

/// Round-trip time without the sender's access link.
pub(super) fn least_rtt(params: &GroupParams, route: &[u32], topology: &TopologyConfig) -> Time {
    let receiver = topology
        .receivers
        .as_ref()
        .map_or(Time::ZERO, |receivers| params.receiver_delay.unwrap_or(receivers.receiver_delay));
    Time(2 * receiver.0) + topology.round_trip(route)
}

/// Access link delays of a group before any spread of its round-trip times.
fn middle_access_delays(
    params: &GroupParams,
    route: &[u32],
    topology: &TopologyConfig,
    key: impl Fn(&str) -> String,
) -> Result<Vec<Time>, ConfigError> {
    let given = [
        ("access_delay", params.access_delay.is_some()),
        ("rtt", params.rtt.is_some()),
        ("user_rtts", params.user_rtts.is_some()),
    ];
    let mut given = given.iter().filter(|(_, given)| *given).map(|(key, _)| key);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        let problem = format!("says the same as {first}: give one of access_delay, rtt and user_rtts");
        return Err(ConfigError::new(key(second), problem));
    }
    let least = least_rtt(params, route, topology);
    let of_rtt = |rtt: Time, key: String| {
        if rtt < least || rtt > MOST_RTT {
            let problem = format!(
                "\"{rtt}\" is out of range, it must be from {least}, there and back without access link, to {MOST_RTT}"
            );
            return Err(ConfigError::new(key, problem));
        }
        Ok(Time((rtt - least).0 / 2))
    };
    if let Some(rtt) = params.rtt {
        return Ok(vec![of_rtt(rtt, key("rtt"))?]);
    }
    let Some(rtts) = &params.user_rtts else {
        return Ok(vec![params.access_delay.unwrap_or(topology.access.access_delay)]);
    };
    if rtts.len() > MOST_USER_RTTS {
        let problem = format!("has {} values, there may be {MOST_USER_RTTS}: split the group", rtts.len());
        return Err(ConfigError::new(key("user_rtts"), problem));
    }
    if rtts.len() != params.users as usize {
        let problem = format!("has {} values, it must have one for each of {} users", rtts.len(), params.users);
        return Err(ConfigError::new(key("user_rtts"), problem));
    }
    let of_user = |index| format!("{}[{index}]", key("user_rtts"));
    rtts.iter().enumerate().map(|(index, &rtt)| of_rtt(rtt, of_user(index))).collect()
}

/// Checks that no link is faster than a receiver's access link, which has no queue.
fn check_receiver_link(
    params: &GroupParams,
    route: &[u32],
    topology: &TopologyConfig,
    table: &Table<'_>,
) -> Result<(), ConfigError> {
    let Some(receivers) = &topology.receivers else {
        let given =
            [("receiver_rate", params.receiver_rate.is_some()), ("receiver_delay", params.receiver_delay.is_some())];
        return match given.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(ConfigError::new(
                table.key(key),
                "the one_sided_dumbbell has no access links of receivers, set topology.kind to two_sided_dumbbell",
            )),
            None => Ok(()),
        };
    };
    let link = &topology.links[route[route.len() - 1] as usize];
    let fastest =
        link.schedule.iter().map(|change| change.rate).max().unwrap_or(link.params.rate).max(link.params.rate);
    let (key, rate) = match params.receiver_rate {
        Some(rate) => (table.key("receiver_rate"), rate),
        None => ("topology.receiver_rate".into(), receivers.receiver_rate),
    };
    if rate < fastest {
        let problem = format!("\"{rate}\" is out of range, it must be at least the rate of {}, {fastest}", link.name);
        return Err(ConfigError::new(key, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use fairlane_schemes::base::units::Time;
    use serde_json::{Value as Json, json};

    fn refusal(topology: &Json, mut group: Json) -> String {
        group["sources"] = group.get("sources").cloned().unwrap_or_else(|| json!([{"kind": "tcp"}]));
        let run = json!({"warmup": "2 s", "measure": "8 s"});
        let scenario = json!({"run": run, "topology": topology, "queue": {"scheme": "droptail"}, "groups": [group]});
        Scenario::read(&scenario).unwrap_err().to_string()
    }

    #[test]
    fn a_start_after_the_end_of_the_run_or_before_the_first_one_is_refused() {
        let dumbbell = json!({});
        let late = "is out of range, it must be at most the end of the run, 10 s: later flows never start";
        for key in ["start_until", "start_from"] {
            assert_eq!(refusal(&dumbbell, json!({key: "15 s"})), format!("groups[0].{key}: \"15 s\" {late}"));
        }
        assert_eq!(
            refusal(&dumbbell, json!({"start_until": "1 s", "sources": [{"kind": "tcp", "start": "15 s"}]})),
            format!("groups[0].sources[0].start: \"15 s\" {late}")
        );
        assert_eq!(
            refusal(&dumbbell, json!({"start_from": "2 s", "start_until": "1 s"})),
            "groups[0].start_until: \"1 s\" is out of range, it must be from start_from, 2 s, up"
        );
    }

    #[test]
    fn flows_start_in_the_warm_up_unless_told_otherwise() {
        let until = |warmup: &str, mut group: Json| {
            group["sources"] = json!([{"kind": "tcp"}]);
            let run = json!({"warmup": warmup, "measure": "8 s"});
            let scenario = json!({"run": run, "queue": {"scheme": "droptail"}, "groups": [group]});
            Scenario::read(&scenario).unwrap().groups[0].params.start_until
        };
        // The default of abc2018 IV-A5 is 15 s, with a warm-up of 100 s.
        for (warmup, seconds) in [("100 s", 15), ("15 s", 15), ("2 s", 2), ("0 s", 0)] {
            assert_eq!(until(warmup, json!({})), Time::from_secs(seconds), "{warmup}");
        }
        assert_eq!(until("2 s", json!({"start_from": "3 s"})), Time::from_secs(3));
        assert_eq!(until("2 s", json!({"start_until": "4 s"})), Time::from_secs(4));
    }

    #[test]
    fn too_many_round_trip_times_are_told_from_those_of_other_users() {
        let rtts = |count: usize| vec!["40 ms"; count];
        let group = |users: u32, count: usize| json!({"users": users, "user_rtts": rtts(count), "start_until": "1 s"});
        assert_eq!(
            refusal(&json!({}), group(2000, 2000)),
            "groups[0].user_rtts: has 2000 values, there may be 1000: split the group"
        );
        assert_eq!(
            refusal(&json!({}), group(2000, 3)),
            "groups[0].user_rtts: has 3 values, it must have one for each of 2000 users"
        );
    }

    #[test]
    fn an_application_has_a_name() {
        let source = json!({"kind": "tcp", "application": ""});
        assert_eq!(
            refusal(&json!({"kind": "access"}), json!({"start_until": "1 s", "sources": [source]})),
            "groups[0].sources[0].application: \"\" is empty, results need a name"
        );
    }
}
