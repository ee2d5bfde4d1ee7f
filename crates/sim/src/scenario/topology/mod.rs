//! Links and their arrangement.
//!
//! Every topology is a list of links, each with a queue, and a route for each group of users. A preset generates the
//! list from a few keys; `graph` lists it explicitly.
//!
//! A one-sided dumbbell may have a reverse link, which is then the second link of the list. Acknowledgements of data on
//! one of the two links are packets on the other.

mod access;
mod access_files;
mod access_tree;
mod dumbbell;
mod link;
mod parking_lot;
mod preset;
mod trace;

pub use access::{AccessNetwork, Dealt, Direction, NODE_RATE, SubscriberParams};
pub use access_files::{nodes_of_network, tree_of_files};
pub use access_tree::AccessNode;
pub(super) use link::OwnQueues;
pub use link::{LinkConfig, LinkParams, RateChange};
pub use preset::{About, Preset};
pub use trace::{TraceConfig, TraceParams, gaps_of_trace};

use access::Arrangement;
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table, shortened};
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::{choices, params};
use serde_json::{Map, Value as Json};

/// Key and name of a dumbbell's reverse link.
const REVERSE: &str = "reverse";

choices! {
    /// Direction of a source's data on a dumbbell with a reverse link.
    pub enum SourceDirection {
        /// From the user over the bottleneck to the server; acknowledgements return over the reverse link.
        Forward = "forward",
        /// From the server over the reverse link to the user; acknowledgements return over the bottleneck.
        Reverse = "reverse",
    }
}

topologies! {
    /// Users with separate access links share one bottleneck to a server.
    OneSidedDumbbell = "one_sided_dumbbell", dumbbell::OneSidedDumbbell;
    /// The one-sided dumbbell, with an access link for each receiver.
    TwoSidedDumbbell = "two_sided_dumbbell", dumbbell::TwoSidedDumbbell;
    /// Links in a row. Traffic crosses some or all of them.
    ParkingLot = "parking_lot", parking_lot::ParkingLot;
}

const ABOUT_GRAPH: About = About {
    summary: "Named links, each with rate, delay and, optionally, its own queue; each group has a route.",
    source: "our choice",
    picture: "users --[access link]-- node --[links of the group's route]-- node --[access link]-- receivers",
};

params! {
    /// Access links of the sending users.
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
    /// Access links of the receivers. These links never have a queue. The one-sided dumbbell has none.
    pub struct ReceiverParams {
        /// Rate of a receiver's access link, at least the rate of the last link of its route.
        receiver_rate: BitRate = "100 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "afc 4: 100 Mb/s";
        /// Propagation delay of a receiver's access link.
        receiver_delay: Time = "0.1 ms", in "0 s"..="1 h", source "as access_delay";
    }
}

/// The topology of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyConfig {
    /// Kind of topology.
    pub kind: TopologyKind,
    /// Access links of senders.
    pub access: AccessParams,
    /// Access links of receivers, unless the server is at the end of the bottleneck.
    pub receivers: Option<ReceiverParams>,
    /// Links between nodes; there is at least one.
    pub links: Vec<LinkConfig>,
    /// The tree of an access network.
    pub tree: Option<AccessNetwork>,
    /// True if the second link is the reverse link of a dumbbell.
    pub has_reverse_link: bool,
    /// Keys of this kind of topology, as written.
    keys: Map<String, Json>,
}

impl Default for TopologyConfig {
    fn default() -> Self {
        let preset = dumbbell::OneSidedDumbbell::default();
        let (kind, links) = (TopologyKind::OneSidedDumbbell, preset.links());
        let keys = write_preset(&preset, &links);
        Self {
            kind,
            access: AccessParams::default(),
            receivers: None,
            links,
            tree: None,
            has_reverse_link: false,
            keys,
        }
    }
}

fn read_preset<P: Preset>(table: &mut Table<'_>) -> Result<Arrangement, ConfigError> {
    let preset = P::read(table)?;
    let mut links = preset.links();
    if P::HAS_COURSE {
        links[0].read_course(table, link::OF_BOTTLENECK)?;
    }
    let keys = write_preset(&preset, &links);
    Ok((links, keys, None))
}

fn write_preset<P: Preset>(preset: &P, links: &[LinkConfig]) -> Map<String, Json> {
    let mut keys = Map::new();
    preset.write(&mut keys);
    if P::HAS_COURSE {
        links[0].write_course(&mut keys, link::OF_BOTTLENECK);
    }
    keys
}

fn read_graph<'a>(table: &mut Table<'a>, queues: OwnQueues<'_, 'a>) -> Result<Arrangement, ConfigError> {
    let links = link::read_links(table, queues)?;
    let keys = Map::from_iter([("links".to_string(), links.iter().map(link::write_named_link).collect())]);
    Ok((links, keys, None))
}

impl TopologyConfig {
    /// Reads the `[topology]` table of a scenario; if the table is absent, uses the defaults.
    ///
    /// # Errors
    /// An unknown key, a value out of range, steps out of order, or links with equal names.
    pub(super) fn read<'a>(scenario: &mut Table<'a>, queues: OwnQueues<'_, 'a>) -> Result<Self, ConfigError> {
        let Some(mut table) = scenario.table("topology")? else { return Ok(Self::default()) };
        let kind = table.optional("kind", None)?.unwrap_or(TopologyKind::OneSidedDumbbell);
        let access = AccessParams::read(&mut table)?;
        let receivers = if kind.has_receiver_links() { Some(ReceiverParams::read(&mut table)?) } else { None };
        let (mut links, mut keys, tree) = kind.read(&mut table, queues)?;
        let reverse = table.table("reverse")?;
        let has_reverse_link = reverse.is_some();
        if let Some(reverse) = reverse {
            if kind != TopologyKind::OneSidedDumbbell {
                let problem = format!("has no effect with kind \"{}\", it needs \"one_sided_dumbbell\"", kind.name());
                return Err(ConfigError::new(table.key("reverse"), problem));
            }
            let link = link::read_link(reverse, REVERSE, queues)?;
            keys.insert(REVERSE.into(), Json::Object(link::write_link(&link)));
            links.push(link);
        }
        table.finish()?;
        Ok(Self { kind, access, receivers, links, tree, has_reverse_link, keys })
    }

    /// Writes the table, including all defaults.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("kind".into(), self.kind.to_json());
        self.access.write(&mut map);
        if let Some(receivers) = &self.receivers {
            receivers.write(&mut map);
        }
        map.extend(self.keys.clone());
        map
    }

    /// Path of the key `name` of a link. In a preset, the key has the prefix `bottleneck_`.
    pub(super) fn key_of_link(&self, index: usize, name: &str) -> String {
        match self.kind {
            _ if self.has_reverse_link && index == 1 => format!("topology.{REVERSE}.{name}"),
            TopologyKind::Graph => format!("topology.links[{index}].{name}"),
            _ => format!("topology.bottleneck_{name}"),
        }
    }

    /// Path of the table of a queue that the topology specifies for a link.
    pub(super) fn key_of_queue(&self, index: usize) -> String {
        match &self.tree {
            Some(tree) => format!("topology.{}", access::QUEUES[tree.level(index as u32 / 2)]),
            None => self.key_of_link(index, "queue"),
        }
    }

    /// Route of a source of a dumbbell with a reverse link.
    pub(crate) fn route_towards(direction: SourceDirection) -> &'static [u32] {
        match direction {
            SourceDirection::Forward => &[0],
            SourceDirection::Reverse => &[1],
        }
    }

    /// Round-trip propagation delay of a route and its reverse path.
    pub(crate) fn round_trip(&self, route: &[u32]) -> Time {
        let delay = |link: &LinkConfig| link.params.delay;
        if self.has_reverse_link {
            return self.links.iter().map(delay).fold(Time::ZERO, |sum, delay| sum + delay);
        }
        Time(2 * route.iter().map(|&link| delay(&self.links[link as usize]).0).sum::<u64>())
    }

    pub(super) fn node(&self, name: &str, key: &str) -> Result<u32, ConfigError> {
        self.tree.as_ref().map_or(Ok(0), |tree| tree.node(name, key))
    }

    /// Returns the indices of the links of a route given by names. An empty route means all links; a graph does not
    /// permit it.
    pub(super) fn route(&self, names: &[String], key: &str) -> Result<Vec<u32>, ConfigError> {
        if self.has_reverse_link {
            if let [first, ..] = names {
                let problem = format!(
                    "\"{}\" has no effect with topology.{REVERSE}, where the direction of a source is its route",
                    shortened(first)
                );
                return Err(ConfigError::new(key, problem));
            }
            return Ok(Self::route_towards(SourceDirection::Forward).to_vec());
        }
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
        specs.extend(kind.own_specs());
        specs
    }
}

/// Declares the topologies: the given presets, and `graph` and `access`.
macro_rules! topologies {
    ($( $(#[doc = $doc:literal])+ $Variant:ident = $name:literal, $module:ident::$Type:ident; )+) => {
        choices! {
            /// Topologies.
            pub enum TopologyKind {
                $( $(#[doc = $doc])+ $Variant = $name, )+
                /// Named links, explicit routes.
                Graph = "graph",
                /// Gateway, sites, access points and subscribers as a tree.
                Access = "access",
            }
        }

        impl TopologyKind {
            /// Catalogue entry.
            #[must_use]
            pub fn about(self) -> About {
                match self { $( Self::$Variant => $module::$Type::ABOUT, )+ Self::Graph => ABOUT_GRAPH,
                    Self::Access => access::ABOUT }
            }

            /// Returns true if receivers have access links.
            #[must_use]
            pub fn has_receiver_links(self) -> bool {
                match self { $( Self::$Variant => $module::$Type::HAS_RECEIVER_LINKS, )+ Self::Graph => true,
                    Self::Access => false }
            }

            fn own_specs(self) -> Vec<ParamSpec> {
                match self { $( Self::$Variant => $module::$Type::specs(), )+ Self::Graph => Vec::new(),
                    Self::Access => access_tree::AccessNetworkParams::specs() }
            }

            /// Reads the links, the explicit keys, and the tree of an access network.
            fn read<'a>(
                self,
                table: &mut Table<'a>,
                queues: OwnQueues<'_, 'a>,
            ) -> Result<Arrangement, ConfigError> {
                match self {
                    $( Self::$Variant => read_preset::<$module::$Type>(table), )+
                    Self::Graph => read_graph(table, queues),
                    Self::Access => AccessNetwork::read(table, queues),
                }
            }
        }
    };
}
use topologies;
