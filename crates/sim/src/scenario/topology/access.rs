//! Access networks: a tree of a gateway, sites, access points and subscribers, in both directions.
//!
//! The tree is given by counts and rates for each level, or by LibreQoS's `network.json` and `ShapedDevices.csv`
//! ([`super::access_files`]). Each node has one link to its parent and one from its parent. The gateway has links to
//! and from the Internet. A group of users represents a share of the subscribers, in one direction.

use super::access_files::FilesConfig;
use super::access_tree::{AccessNetworkParams, AccessNode, Subscribers, by_counts};
use super::link::{LinkConfig, LinkParams, OwnQueues, RateChange};
use super::preset::About;
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table, read_value, shortened};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json, json};

pub(super) const ABOUT: About = About {
    summary: "Gateway, sites, access points and subscribers as a tree, with links in both directions. A group is a \
              share of the subscribers in one direction: down, up, or to a neighbour without passing the gateway.",
    source: "LibreQoS network.json",
    picture: "servers --[plan]-- edge --[gateway]-- --[site]-- --[access point]-- subscribers, and back",
};

/// Links of a topology, its other keys as written to a scenario, and its tree, if any.
pub(super) type Arrangement = (Vec<LinkConfig>, Map<String, Json>, Option<AccessNetwork>);

/// Maximum number of nodes of a tree. Each node has two links, and packets store the index of a hop in 16 bits.
const MOST_NODES: usize = 10_000;
const MOST_SUBSCRIBERS: u64 = 1_000_000;

params! {
    /// Additional keys of a group on an access network.
    pub struct SubscriberParams {
        /// Share of the subscribers below `node` that the group represents. It determines the group's number of users.
        share: f64 = 1.0, in 0.0..=1.0, source "our choice";
        /// Path of the group's packets.
        direction: Direction = "down", source "our choice";
        /// Site or access point of the group; by default the whole network.
        node: Option<String> = null, source "our choice";
        /// Rate of the group's plan, if different from that of the topology or file.
        plan: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Rate that the edge or the tree of shapers enforces instead of the plan, to simulate a configuration error.
        configured_plan: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "our choice";
    }
}

choices! {
    /// Path of packets on an access network.
    pub enum Direction {
        /// From servers through the gateway to subscribers.
        Down = "down",
        /// From subscribers through the gateway to servers.
        Up = "up",
        /// From subscribers to subscribers of the next access point of the same site, without crossing the gateway.
        Local = "local",
    }
}

/// A change of the rates of a node's links.
#[derive(Clone, Debug, PartialEq)]
struct Failover {
    node: String,
    at: Time,
    until: Option<Time>,
    share: f64,
}

/// An access network.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessNetwork {
    /// Counts, rates, plans.
    pub params: AccessNetworkParams,
    /// The tree. Node `i` has links `2 i` towards the subscribers and `2 i + 1` towards the gateway.
    pub nodes: Vec<AccessNode>,
    /// The subscribers, in the order of their nodes.
    pub subscribers: Vec<Subscribers>,
    files: Option<FilesConfig>,
    failovers: Vec<Failover>,
    queues: [Option<QueueConfig>; 3],
}

/// Rate of a node's class in a tree of shapers, as a fraction of the class's ceiling.
pub const NODE_RATE: f64 = 0.95;

/// Keys of the queues of each level.
pub(super) const QUEUES: [&str; 3] = ["gateway_queue", "site_queue", "access_point_queue"];

impl AccessNetwork {
    pub(super) fn read<'a>(table: &mut Table<'a>, own: OwnQueues<'_, 'a>) -> Result<Arrangement, ConfigError> {
        let params = AccessNetworkParams::read(table)?;
        let files = FilesConfig::read(table)?;
        let (nodes, subscribers) = match &files {
            Some(files) => {
                check_counts_unset(&params, table)?;
                let (nodes, subscribers) = files.tree(&params, &table.key("files"))?;
                check_files(&nodes, &subscribers, table)?;
                (nodes, subscribers)
            }
            None => {
                check_counts(&params, table)?;
                by_counts(&params)
            }
        };
        let mut queues = [const { None }; 3];
        for (queue, key) in queues.iter_mut().zip(QUEUES) {
            *queue = own.read(table, key)?;
        }
        let failovers = read_failovers(table, &nodes)?;
        let network = Self { params, nodes, subscribers, files, failovers, queues };
        let links = network.links();
        let keys = network.write();
        Ok((links, keys, Some(network)))
    }

    fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        self.params.write(&mut map);
        if let Some(files) = &self.files {
            map.insert("files".into(), files.write());
        }
        for (queue, key) in self.queues.iter().zip(QUEUES) {
            if let Some(queue) = queue {
                map.insert(key.into(), Json::Object(queue.write()));
            }
        }
        let failover = |one: &Failover| {
            let mut map = Map::new();
            map.insert("node".into(), one.node.to_json());
            map.insert("at".into(), one.at.to_json());
            map.insert("share".into(), one.share.to_json());
            if let Some(until) = one.until {
                map.insert("until".into(), until.to_json());
            }
            Json::Object(map)
        };
        map.insert("failovers".into(), self.failovers.iter().map(failover).collect());
        map
    }

    fn links(&self) -> Vec<LinkConfig> {
        let mut links = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let level = self.level(index as u32);
            let delay = [self.params.gateway_delay, self.params.site_delay, self.params.access_point_delay][level];
            for (way, rate) in ["down", "up"].into_iter().zip(node.rates) {
                let mut link = LinkConfig::plain(&format!("{}/{way}", node.name), LinkParams { rate, delay });
                link.queue.clone_from(&self.queues[level]);
                for failover in self.failovers.iter().filter(|one| one.node == node.name) {
                    let less = BitRate(((rate.as_f64() * failover.share).round() as u64).max(1000));
                    link.schedule.push(RateChange { at: failover.at, rate: less });
                    link.schedule.extend(failover.until.map(|at| RateChange { at, rate }));
                }
                links.push(link);
            }
        }
        links
    }

    /// Level of a node: 0 for the gateway, 2 for a node without child nodes, 1 for all others.
    #[must_use]
    pub fn level(&self, node: u32) -> usize {
        let node = &self.nodes[node as usize];
        match (node.parent, node.is_leaf) {
            (None, _) => 0,
            (Some(_), false) => 1,
            (Some(_), true) => 2,
        }
    }

    /// Links from the gateway to a node, in order.
    #[must_use]
    pub fn way_down(&self, node: u32) -> Vec<u32> {
        let mut links = vec![2 * node];
        let mut at = node;
        while let Some(parent) = self.nodes[at as usize].parent {
            links.push(2 * parent);
            at = parent;
        }
        links.reverse();
        links
    }

    /// Links that packets of a node's subscribers cross.
    #[must_use]
    pub fn route(&self, node: u32, direction: Direction) -> Vec<u32> {
        match direction {
            Direction::Down => self.way_down(node),
            Direction::Up => self.way_down(node).iter().rev().map(|link| link + 1).collect(),
            Direction::Local => vec![2 * node + 1, 2 * self.neighbour(node)],
        }
    }

    /// Next childless node with the same parent, or the node itself if there is none.
    fn neighbour(&self, node: u32) -> u32 {
        let parent = self.nodes[node as usize].parent;
        let alike = |&other: &u32| self.nodes[other as usize].parent == parent && self.nodes[other as usize].is_leaf;
        let count = self.nodes.len() as u32;
        (node + 1..count).chain(0..node).find(alike).unwrap_or(node)
    }

    /// Returns index and time of the first failover that is scheduled at `end` or later.
    #[must_use]
    pub fn late_failover(&self, end: Time) -> Option<(usize, Time)> {
        self.failovers.iter().map(|one| one.at).enumerate().find(|(_, at)| *at >= end)
    }

    /// Number of subscribers that are attached to the gateway because the files name no parent node for them; 0 if the
    /// gateway is the only node.
    #[must_use]
    pub fn without_parent(&self) -> u32 {
        let at_gateway = self.subscribers.iter().filter(|some| some.node == 0);
        if self.nodes.len() > 1 { at_gateway.map(|some| some.count).sum() } else { 0 }
    }

    /// Returns caveats about the files, each with its key.
    #[must_use]
    pub fn notes_of_files(&self) -> Vec<(String, String)> {
        self.files.as_ref().map(FilesConfig::notes).unwrap_or_default()
    }

    /// Returns the first node whose shaper class has an assured rate below the sum of the assured rates of the
    /// subscribers below the node. Also returns these two rates in bit/s. `rate` applies to subscribers without an
    /// assured rate in the files.
    #[must_use]
    pub fn overbooked(&self, way: usize, margin: f64, rate: BitRate) -> Option<(&str, f64, f64)> {
        self.files.as_ref()?;
        let (mut assured, mut ceil) = (vec![0.0; self.nodes.len()], Vec::<f64>::new());
        for some in &self.subscribers {
            let least = some.least[way].unwrap_or(rate).min(some.plan[way]);
            assured[some.node as usize] += least.as_f64() * f64::from(some.count);
        }
        for node in &self.nodes {
            let own = node.rates[way].as_f64();
            ceil.push(node.parent.map_or(own, |parent| ceil[parent as usize].min(own * margin)));
        }
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                assured[parent as usize] += assured[index];
            }
        }
        let has = |index: usize| ceil[index] * if index == 0 { 1.0 } else { NODE_RATE };
        let found = (0..self.nodes.len()).find(|&index| assured[index] > has(index) * (1.0 + 1e-9))?;
        Some((&self.nodes[found].name, assured[found], has(found)))
    }

    /// Returns true if `node` is `above` or one of its descendants.
    #[must_use]
    pub fn is_under(&self, node: u32, above: u32) -> bool {
        let mut at = Some(node);
        while let Some(here) = at {
            if here == above {
                return true;
            }
            at = self.nodes[here as usize].parent;
        }
        false
    }

    pub(super) fn node(&self, name: &str, key: &str) -> Result<u32, ConfigError> {
        find_node(&self.nodes, name, key)
    }

    /// Share of subscribers that are active at the scenario's hour. Source: Labovitz (Arbor Networks, "The Internet
    /// after dark", 2009) on consumer providers of North America. Traffic is 50 % of the peak at 6 h and 60 % at 3 h,
    /// and the peak is at 23 h. We interpolate linearly.
    #[must_use]
    pub fn active_share(&self) -> f64 {
        const POINTS: [(f64, f64); 4] = [(-1.0, 1.0), (3.0, 0.6), (6.0, 0.5), (23.0, 1.0)];
        let Some(hour) = self.params.hour else { return 1.0 };
        let hour = if hour > 23.0 { hour - 24.0 } else { hour };
        let line = POINTS.windows(2).find(|line| hour <= line[1].0).unwrap_or(&POINTS[2..]);
        let [(from, low), (to, high)] = [line[0], line[1]];
        low + (high - low) * (hour - from) / (to - from)
    }
}

/// Keys of a tree given by counts, which files replace.
const OF_COUNTS: [&str; 9] = [
    "sites",
    "access_points",
    "subscribers",
    "site_rate",
    "site_rate_up",
    "access_point_rate",
    "access_point_rate_up",
    "plan",
    "plan_up",
];

/// Rejects keys of a tree given by counts together with files. Accepts defaults, since a written scenario contains
/// them.
fn check_counts_unset(params: &AccessNetworkParams, table: &Table<'_>) -> Result<(), ConfigError> {
    let (mut given, mut defaults) = (Map::new(), Map::new());
    params.write(&mut given);
    AccessNetworkParams::default().write(&mut defaults);
    match OF_COUNTS.into_iter().find(|&key| given.get(key) != defaults.get(key)) {
        Some(key) => {
            let problem = format!("{} has no effect with files, which have the tree and the plans", given[key]);
            Err(ConfigError::new(table.key(key), problem))
        }
        None => Ok(()),
    }
}

fn check_files(nodes: &[AccessNode], subscribers: &[Subscribers], table: &Table<'_>) -> Result<(), ConfigError> {
    if nodes.len() > MOST_NODES {
        let problem = format!("{} nodes are out of range, there may be {MOST_NODES}", nodes.len());
        return Err(ConfigError::new(table.key("files.network"), problem));
    }
    let count: u64 = subscribers.iter().map(|some| u64::from(some.count)).sum();
    if count > MOST_SUBSCRIBERS {
        let problem = format!("{count} circuits are out of range, there may be {MOST_SUBSCRIBERS}");
        return Err(ConfigError::new(table.key("files.devices"), problem));
    }
    Ok(())
}

/// Checks the size of a tree given by counts. The error names the count that most exceeds its default.
fn check_counts(params: &AccessNetworkParams, table: &Table<'_>) -> Result<(), ConfigError> {
    let defaults = AccessNetworkParams::default();
    let [sites, points, subscribers] = [params.sites, params.access_points, params.subscribers].map(u64::from);
    let excess = |count: u64, default: u32| count as f64 / f64::from(default);
    let of_sites = excess(sites, defaults.sites);
    let of_points = excess(points, defaults.access_points);
    let of_subscribers = excess(subscribers, defaults.subscribers);
    let (key, count, most, beside) = if 1 + sites * (1 + points) > MOST_NODES as u64 {
        let room = MOST_NODES as u64 - 1;
        let all = format!("{MOST_NODES} nodes in all");
        if of_sites > of_points {
            ("sites", sites, room / (1 + points), format!("{points} access points each and {all}"))
        } else {
            ("access_points", points, (room / sites).saturating_sub(1), format!("{sites} sites and {all}"))
        }
    } else if sites * points * subscribers > MOST_SUBSCRIBERS {
        let all = format!("{MOST_SUBSCRIBERS} subscribers in all");
        if of_subscribers >= of_sites.max(of_points) {
            let most = MOST_SUBSCRIBERS / (sites * points);
            ("subscribers", subscribers, most, format!("{sites} sites of {points} access points and {all}"))
        } else if of_sites > of_points {
            let most = MOST_SUBSCRIBERS / (points * subscribers);
            ("sites", sites, most, format!("{points} access points of {subscribers} subscribers each and {all}"))
        } else {
            let most = MOST_SUBSCRIBERS / (sites * subscribers);
            ("access_points", points, most, format!("{sites} sites, {subscribers} subscribers each and {all}"))
        }
    } else {
        return Ok(());
    };
    let problem = format!("{count} is out of range, it must be from 1 to {most} with {beside}");
    Err(ConfigError::new(table.key(key), problem))
}

fn find_node(nodes: &[AccessNode], name: &str, key: &str) -> Result<u32, ConfigError> {
    nodes.iter().position(|node| node.name == name).map(|index| index as u32).ok_or_else(|| {
        let known = nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
        ConfigError::new(key, format!("\"{}\" is not a node, there are {}", shortened(name), shortened(&known)))
    })
}

fn read_failovers(table: &mut Table<'_>, nodes: &[AccessNode]) -> Result<Vec<Failover>, ConfigError> {
    let mut failovers: Vec<Failover> = Vec::new();
    for mut one in table.tables("failovers")? {
        let name: String = one.required("node")?;
        find_node(nodes, &name, &one.key("node"))?;
        let time = |one: &mut Table<'_>, key: &'static str| {
            let name = one.key(key);
            one.get(key)
                .map(|value| read_value::<Time>(&name, value, Some((json!("1 ps"), json!("1440 h")))))
                .transpose()
        };
        let Some(at) = time(&mut one, "at")? else {
            return Err(ConfigError::new(one.key("at"), "missing, must be a time such as \"5 ms\""));
        };
        let until = time(&mut one, "until")?;
        let after =
            failovers.iter().filter(|before| before.node == name).map(|before| before.until.unwrap_or(before.at));
        if let Some(before) = after.max().filter(|&before| at <= before) {
            let problem = format!("\"{at}\" is out of range, it must be after the change before, {before}");
            return Err(ConfigError::new(one.key("at"), problem));
        }
        if let Some(until) = until.filter(|&until| until <= at) {
            let problem = format!("\"{until}\" is out of range, it must be after \"{at}\"");
            return Err(ConfigError::new(one.key("until"), problem));
        }
        let share = one.optional("share", Some((json!(0.001), json!(1.0))))?.unwrap_or(0.5);
        one.finish()?;
        failovers.push(Failover { node: name, at, until, share });
    }
    Ok(failovers)
}

/// Subscribers at one node that belong to one group and have the same plan and enforced rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Dealt {
    /// Index of the node.
    pub node: u32,
    /// Index of the group.
    pub group: usize,
    /// Number of subscribers.
    pub users: u32,
    /// Rate of the plan.
    pub plan: BitRate,
    /// Rate that is enforced instead of the plan.
    pub configured: BitRate,
    /// Rate that a tree of shapers assures to each subscriber, instead of the `rate` of the queue.
    pub least: Option<BitRate>,
}

impl AccessNetwork {
    /// Distributes the subscribers among the groups of each direction in proportion to the shares of the groups, node
    /// by node. In any range of consecutive subscribers, the number of subscribers of a group differs from the group's
    /// share of the range by at most one.
    #[must_use]
    pub fn deal(&self, groups: &[(SubscriberParams, Option<u32>)]) -> Vec<Dealt> {
        let active = self.active_share();
        let mut credits = vec![0.0; groups.len()];
        let mut idle = [0.0; Direction::ALL.len()];
        let mut dealt = Vec::new();
        for some in &self.subscribers {
            let mut counts = vec![0; groups.len()];
            for (way, &direction) in Direction::ALL.iter().enumerate() {
                let here = |(params, node): &(SubscriberParams, Option<u32>)| {
                    params.direction == direction && node.is_none_or(|node| self.is_under(some.node, node))
                };
                let mine: Vec<usize> = (0..groups.len()).filter(|&index| here(&groups[index])).collect();
                if mine.is_empty() {
                    continue;
                }
                let all: f64 = mine.iter().map(|&index| groups[index].0.share).sum();
                // If the shares at a node sum to more than one, because some groups have a `node`, all shares are
                // scaled by the same factor.
                let scale = active / all.max(1.0);
                let shares: Vec<f64> = mine.iter().map(|&index| groups[index].0.share * scale).collect();
                let rest = (1.0 - shares.iter().sum::<f64>()).max(0.0);
                for _ in 0..some.count {
                    for (&index, share) in mine.iter().zip(&shares) {
                        credits[index] += share;
                    }
                    idle[way] += rest;
                    let best = mine.iter().copied().max_by(|&a, &b| credits[a].total_cmp(&credits[b]).then(b.cmp(&a)));
                    match best.filter(|&best| credits[best] >= idle[way]) {
                        Some(best) => {
                            credits[best] -= 1.0;
                            counts[best] += 1;
                        }
                        None => idle[way] -= 1.0,
                    }
                }
            }
            for (group, &users) in counts.iter().enumerate().filter(|&(_, &users)| users > 0) {
                let params = &groups[group].0;
                let way = usize::from(params.direction != Direction::Down);
                let plan = params.plan.unwrap_or(some.plan[way]);
                let configured = params.configured_plan.unwrap_or(plan);
                dealt.push(Dealt { node: some.node, group, users, plan, configured, least: some.least[way] });
            }
        }
        dealt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::registry::external::no_external;

    const NONE: OwnQueues<'_, '_> = OwnQueues { find: &no_external, limit: None };

    fn network(json: Json) -> AccessNetwork {
        let mut table = Table::new("topology", &json).unwrap();
        AccessNetwork::read(&mut table, NONE).unwrap().2.unwrap()
    }

    #[test]
    fn a_tree_by_counts_has_two_links_a_node_and_routes_along_it() {
        let network = network(json!({"sites": 2, "access_points": 2, "subscribers": 3}));
        let names: Vec<_> = network.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["gateway", "site1", "site1.ap1", "site1.ap2", "site2", "site2.ap1", "site2.ap2"]);
        assert_eq!(network.route(3, Direction::Down), [0, 2, 6]);
        assert_eq!(network.route(3, Direction::Up), [7, 3, 1]);
        // The route leads to the other access point of the site. It does not cross the links of the gateway and the
        // site.
        assert_eq!(network.route(3, Direction::Local), [7, 4]);
        assert_eq!(network.route(2, Direction::Local), [5, 6]);
        assert_eq!(network.links()[6].name, "site1.ap2/down");
    }

    #[test]
    fn subscribers_are_dealt_by_their_shares_and_evenly() {
        let network = network(json!({"sites": 2, "access_points": 5, "subscribers": 10}));
        let group = |share: f64, node| (SubscriberParams { share, ..Default::default() }, node);
        let dealt = network.deal(&[group(0.7, None), group(0.1, None), group(0.5, Some(1))]);
        let users = |group: usize| dealt.iter().filter(|one| one.group == group).map(|one| one.users).sum::<u32>();
        // Below site 1 the shares 0.7, 0.1 and 0.5 sum to 1.3, so the groups get 26.9, 3.8 and 19.2 of 50 subscribers,
        // to within one. Below site 2 the groups get 35 and 5 subscribers.
        assert!((61..=63).contains(&users(0)) && (8..=10).contains(&users(1)), "{} {}", users(0), users(1));
        assert!((18..=20).contains(&users(2)), "{}", users(2));
        let network = self::network(json!({"sites": 1, "access_points": 10, "subscribers": 10}));
        let dealt = network.deal(&[group(0.2, None)]);
        assert!(dealt.iter().all(|one| one.users == 2) && dealt.len() == 10, "{dealt:?}");
    }

    fn refusal(json: Json) -> String {
        let mut table = Table::new("topology", &json).unwrap();
        let read = AccessNetwork::read(&mut table, NONE);
        read.unwrap_err().to_string()
    }

    #[test]
    fn of_a_tree_that_is_too_large_the_count_is_blamed_that_makes_it_so() {
        let cases = [
            (
                json!({"subscribers": 1_000_000}),
                "topology.subscribers: 1000000 is out of range, it must be from 1 to 31250 with 4 sites of 8 access \
                 points and 1000000 subscribers in all",
            ),
            (
                json!({"sites": 1000, "subscribers": 200}),
                "topology.sites: 1000 is out of range, it must be from 1 to 625 with 8 access points of 200 \
                 subscribers each and 1000000 subscribers in all",
            ),
            (
                json!({"sites": 10, "access_points": 1000}),
                "topology.access_points: 1000 is out of range, it must be from 1 to 998 with 10 sites and 10000 nodes \
                 in all",
            ),
            (
                json!({"sites": 1000, "access_points": 10}),
                "topology.sites: 1000 is out of range, it must be from 1 to 909 with 10 access points each and 10000 \
                 nodes in all",
            ),
        ];
        for (json, problem) in cases {
            assert_eq!(refusal(json), problem);
        }
        // Values that the error messages permit are accepted.
        network(json!({"sites": 10, "access_points": 998}));
        network(json!({"sites": 909, "access_points": 10}));
    }

    #[test]
    fn counts_and_plans_have_no_effect_beside_files() {
        let files = json!({"network": "n", "devices": "d",
            "tree": r#"{"nodes": [["a", 0, 1000000, 1000000]], "subscribers": [[1, 2, 1000000, 1000000]]}"#});
        let with = |key: &str, value: Json| json!({"files": files, key: value});
        for (key, value) in [("sites", json!(2)), ("plan", json!("5 Mbit/s")), ("site_rate_up", json!("1 Gbit/s"))] {
            let problem =
                format!("topology.{key}: {value} has no effect with files, which have the tree and the plans");
            assert_eq!(refusal(with(key, value)), problem);
        }
        // The same table with all defaults.
        network(with("sites", json!(4)));
        network(with("gateway_rate", json!("5 Gbit/s")));
    }

    #[test]
    fn a_failover_is_a_step_of_both_links() {
        let network = network(json!({"sites": 1, "failovers": [{"node": "site1", "at": "20 s", "until": "30 s"}]}));
        for link in &network.links()[2..4] {
            let steps: Vec<_> = link.schedule.iter().map(|step| (step.at.as_secs_f64(), step.rate.0)).collect();
            assert_eq!(steps, [(20.0, 500_000_000), (30.0, 1_000_000_000)]);
        }
        assert!(network.links()[4].schedule.is_empty());
    }

    #[test]
    fn at_night_fewer_are_active() {
        let at = |hour: f64| network(json!({"hour": hour})).active_share();
        // Tests the points of Labovitz, and the midpoints between two points.
        let expected = [(23.0, 1.0), (3.0, 0.6), (6.0, 0.5), (14.5, 0.75), (1.0, 0.8), (24.0, 0.9)];
        assert!(expected.iter().all(|&(hour, share)| (at(hour) - share).abs() < 1e-12));
        assert_eq!(network(json!({})).active_share(), 1.0);
    }
}
