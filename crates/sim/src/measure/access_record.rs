//! Record of an access network: its applications, and the users below each node.

use crate::measure::times_record::TimesRecord;
use crate::measure::users_record::Percentiles;
use crate::metrics;
use crate::scenario::{AccessNetwork, Dealt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

metrics! {
    /// An access network in one run.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct AccessRecord {
        /// Subscribers of the network, with and without traffic.
        subscribers: u64, unit "", heading "subscribers";
        /// Applications, in the order in which groups first mention them.
        applications: Vec<ApplicationRecord>, part "" of "application";
        /// The nodes of the tree. Node `i` has link `2 i` downstream and link `2 i + 1` upstream.
        nodes: Vec<NodeRecord>, part "" of "node";
    }
}

metrics! {
    /// An application. All values include all its users.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ApplicationRecord {
        /// Name: `application` of its sources, or their kind.
        name: String;
        /// Packets that reached their receivers.
        delivered_packets: u64, unit "packets", heading "packets";
        /// Delivered packets with a congestion mark.
        marked_packets: u64, unit "packets", heading "marked";
        /// Delay from the sending host to the receiver; null without packets.
        one_way_delay: Option<TimesRecord>, part "one_way_delay_" heading "one-way";
    }
}

metrics! {
    /// A node of an access network.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct NodeRecord {
        /// Name.
        name: String;
        /// Name of the node above; null for the gateway.
        parent: Option<String>;
        /// gateway, site or access_point.
        level: String;
        /// Users of all groups below the node.
        users: u64, unit "", heading "users";
        /// Throughput of the users below the node, relative to their max-min shares; null if no user has a demand.
        share: Option<Percentiles>, part "share_";
    }
}

/// Records of a network's nodes. `users` has the throughput and max-min share of each user: the users of the first of
/// `places`, then those of the second, and so on.
#[must_use]
pub fn node_records(tree: &AccessNetwork, places: &[Dealt], users: &[(f64, f64)]) -> Vec<NodeRecord> {
    let mut shares: Vec<Vec<f64>> = vec![Vec::new(); tree.nodes.len()];
    let mut counts = vec![0; tree.nodes.len()];
    let mut first = 0;
    for place in places {
        let own = &users[first..first + place.users as usize];
        first += own.len();
        let mut at = Some(place.node);
        while let Some(node) = at {
            counts[node as usize] += own.len() as u64;
            shares[node as usize].extend(own.iter().filter(|user| user.1 > 0.0).map(|user| user.0 / user.1));
            at = tree.nodes[node as usize].parent;
        }
    }
    let record = |(index, (shares, users)): (usize, (Vec<f64>, u64))| {
        let node = &tree.nodes[index];
        NodeRecord {
            name: node.name.clone(),
            parent: node.parent.map(|parent| tree.nodes[parent as usize].name.clone()),
            level: ["gateway", "site", "access_point"][tree.level(index as u32)].into(),
            users,
            share: Percentiles::of(shares),
        }
    };
    shares.into_iter().zip(counts).enumerate().map(record).collect()
}
