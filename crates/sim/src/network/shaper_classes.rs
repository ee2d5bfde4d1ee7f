//! Classes of a shaper at a link of an access network: one for each node below the link, and a leaf for each user.
//!
//! Source: LibreQoS 1.4, src/LibreQoS.py, `traverseNetwork`.
//!
//! The ceiling of a node's class is `margin` times the node's rate, at most the parent's ceiling. The rate of the class
//! is 95 % of the ceiling. The rate of a user's class is the user's weight times the minimum rate in ShapedDevices.csv,
//! or times the key `rate` if there is no minimum. The ceiling of a user's class is the rate of the plan.
//!
//! Cost: 32 bytes per class, and computation only at the start of a run.
//!
//! Deviations:
//! 1. The rates of sibling classes are reduced to fit into their parent's rate, unless `node_rates = "full"`. Without
//!    this reduction, the siblings could exceed the parent's rate, because HTB lets a class send at its own rate even
//!    if the parent's is used up. Each sibling keeps the assured rates of the users below it, and the remainder is
//!    divided in proportion to the rates. If these assured rates exceed the parent's rate, all are reduced by the same
//!    factor. In this case LibreQoS 2.0 assures each user 1 Mbit/s or 10 kbit/s (src/LibreQoS.py, `attach_circuits`),
//!    and LibreQoS 1.4 assures more than the parent's rate.
//! 2. Subscribers of nodes more than six levels below the link are in the class of the sixth level; LibreQoS merges
//!    levels differently.

use crate::scenario::{AccessNetwork, NODE_RATE, Placement};
use fairlane_schemes::base::units::BitRate;
use fairlane_schemes::contract::class_tree::{Class, ClassTree, Classes};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::fairqueue::htb::{HtbParams, LEVELS, NodeRates};
use std::ops::Range;

const LEAST: f64 = 1000.0;

/// Classes under construction.
struct Tree {
    inner: Vec<Class>,
    depths: Vec<usize>,
    class_of_node: Vec<Option<u32>>,
    leaves: Vec<Class>,
}

pub(super) fn of_link(
    link: u32,
    params: &HtbParams,
    network: &AccessNetwork,
    placements: &[Placement<'_>],
    weights: &Weights,
) -> ClassTree {
    let mut tree = Tree::of_nodes(link, params, network);
    let users = users_of(link, placements);
    tree.add_leaves(users.clone(), params, placements, weights);
    if params.node_rates == NodeRates::Fitting {
        tree.fit();
    }
    ClassTree::new(Classes { inner: tree.inner, leaves: tree.leaves, first_user: users.start })
}

impl Tree {
    fn of_nodes(link: u32, params: &HtbParams, network: &AccessNetwork) -> Self {
        let (root, way) = (link / 2, link as usize % 2);
        let top = Class { parent: None, rate: network.nodes[root as usize].rates[way], ceil: None };
        let mut class_of_node = vec![None; network.nodes.len()];
        class_of_node[root as usize] = Some(0);
        let mut tree = Self { inner: vec![top], depths: vec![0], class_of_node, leaves: Vec::new() };
        for (index, node) in network.nodes.iter().enumerate().skip(root as usize + 1) {
            let Some(parent) = node.parent.and_then(|parent| tree.class_of_node[parent as usize]) else { continue };
            let depth = tree.depths[parent as usize] + 1;
            if depth + 1 >= LEVELS {
                tree.class_of_node[index] = Some(parent);
                continue;
            }
            let most = tree.ceil(parent);
            let ceil = (node.rates[way].as_f64() * params.margin).min(most);
            tree.class_of_node[index] = Some(tree.inner.len() as u32);
            tree.inner.push(Class { parent: Some(parent), rate: rate(NODE_RATE * ceil), ceil: Some(rate(ceil)) });
            tree.depths.push(depth);
        }
        tree
    }

    fn ceil(&self, class: u32) -> f64 {
        let class = self.inner[class as usize];
        class.ceil.unwrap_or(class.rate).as_f64()
    }

    /// Adds a leaf for each user in the range, including users that do not cross the link.
    fn add_leaves(&mut self, users: Range<u32>, params: &HtbParams, placements: &[Placement<'_>], weights: &Weights) {
        let mut first = 0;
        for place in placements {
            let end = first + place.config.params.users;
            let Some(at) = &place.at else { continue };
            let parent = self.class_of_node[at.node as usize].unwrap_or(0);
            let most = params.ceil.map_or(f64::INFINITY, |ceil| ceil.as_f64());
            let ceil = at.configured.as_f64().min(most).min(self.ceil(parent));
            let least = at.least.unwrap_or(params.rate).as_f64();
            for user in first.max(users.start)..end.min(users.end) {
                let assured = (least * weights.of(user)).min(ceil);
                self.leaves.push(Class { parent: Some(parent), rate: rate(assured), ceil: Some(rate(ceil)) });
            }
            first = end;
        }
    }

    /// Applies deviation 1, from the root down.
    fn fit(&mut self) {
        let assured = self.assured();
        let mut children = vec![Vec::new(); self.inner.len()];
        for (index, class) in self.inner.iter().chain(&self.leaves).enumerate() {
            if let Some(parent) = class.parent {
                children[parent as usize].push(index);
            }
        }
        for (parent, children) in children.into_iter().enumerate() {
            let inner = self.inner.len();
            let full = |&index: &usize| match index.checked_sub(inner) {
                Some(leaf) => self.leaves[leaf].rate.as_f64(),
                None => self.inner[index].rate.as_f64(),
            };
            let least = |index: &usize| assured.get(*index).copied().unwrap_or_else(|| full(index));
            let rates: Vec<_> = children.iter().map(|index| (least(index), full(index))).collect();
            let room = self.inner[parent].rate.as_f64();
            for (index, fitting) in children.into_iter().zip(fitted(room, &rates)) {
                match index.checked_sub(inner) {
                    Some(leaf) => self.leaves[leaf].rate = rate(fitting),
                    None => self.inner[index].rate = rate(fitting),
                }
            }
        }
    }

    /// Returns, for each node, the sum of the assured rates of the users below it, at most the node's rate.
    fn assured(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.inner.len()];
        for leaf in &self.leaves {
            sums[leaf.parent.unwrap_or(0) as usize] += leaf.rate.as_f64();
        }
        for (index, class) in self.inner.iter().enumerate().rev() {
            sums[index] = f64::min(sums[index], class.rate.as_f64());
            if let Some(parent) = class.parent {
                sums[parent as usize] += sums[index];
            }
        }
        sums
    }
}

/// Fits classes, each with a minimum and a full rate, into the rate `room`. Each class gets a common fraction of its
/// full rate, but at least its minimum rate.
fn fitted(room: f64, rates: &[(f64, f64)]) -> Vec<f64> {
    let (least, full) = rates.iter().fold((0.0, 0.0), |sums, rate| (sums.0 + rate.0, sums.1 + rate.1));
    if full <= room {
        return rates.iter().map(|&(_, full)| full).collect();
    }
    if least >= room {
        return rates.iter().map(|&(own, _)| own * room / least).collect();
    }
    // Classes whose minimum rate is at least `part` of their full rate are fixed at the minimum, which leaves less for
    // the other classes.
    let mut part = room / full;
    loop {
        let is_held = |rate: &&(f64, f64)| rate.0 >= part * rate.1;
        let held: f64 = rates.iter().filter(is_held).map(|rate| rate.0).sum();
        let others: f64 = rates.iter().filter(|rate| !is_held(rate)).map(|rate| rate.1).sum();
        let next = (room - held) / others;
        if others == 0.0 || next >= part {
            return rates.iter().map(|&(own, full)| own.max(part * full)).collect();
        }
        part = next;
    }
}

fn rate(bps: f64) -> BitRate {
    BitRate(bps.round().max(LEAST) as u64)
}

fn users_of(link: u32, placements: &[Placement<'_>]) -> Range<u32> {
    let (mut range, mut first) = (0..0, 0);
    for place in placements {
        let end = first + place.config.params.users;
        if place.config.route.contains(&link) {
            range = if range.is_empty() { first..end } else { range.start..end };
        }
        first = end;
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::scenario::Scenario;
    use fairlane_schemes::registry::schemes::SchemeParams;
    use serde_json::{Value as Json, json};

    fn scenario(topology: Json, queue: Json) -> Scenario {
        let mut own = json!({"kind": "access", "sites": 1, "access_points": 2, "subscribers": 3,
            "gateway_rate": "100 Mbit/s", "site_rate": "60 Mbit/s", "access_point_rate": "40 Mbit/s",
            "plan": "25 Mbit/s"});
        own.as_object_mut().unwrap().extend(topology.as_object().unwrap().clone());
        let group = json!({"share": 1.0, "sources": [{"kind": "tcp"}]});
        Scenario::read(&json!({"topology": own, "queue": queue, "groups": [group]})).unwrap()
    }

    /// Rate and ceiling of each class, in Mbit/s.
    type Rates = Vec<(f64, f64)>;

    /// Returns the rates of the classes at the gateway: inner classes, then leaves.
    fn classes(topology: Json, queue: Json) -> (Rates, Rates) {
        classes_at(0, &scenario(topology, queue))
    }

    fn classes_at(link: u32, scenario: &Scenario) -> (Rates, Rates) {
        let SchemeParams::Htb(params) = &scenario.queue.scheme else { panic!("htb") };
        let tree = scenario.topology.tree.as_ref().unwrap();
        let mut of = Tree::of_nodes(link, params, tree);
        let placements = scenario.placements();
        of.add_leaves(users_of(link, &placements), params, &placements, &Weights::equal());
        if params.node_rates == NodeRates::Fitting {
            of.fit();
        }
        let rates = |class: &Class| (class.rate.as_f64() / 1e6, class.ceil.map_or(0.0, |ceil| ceil.as_f64() / 1e6));
        (of.inner.iter().map(rates).collect(), of.leaves.iter().map(rates).collect())
    }

    #[test]
    fn nodes_get_ceilings_from_their_rates_and_leaves_from_their_plans() {
        // With a margin of 0.95, the ceilings are 57 and 38 Mbit/s, and the rates are 0.95 of the ceilings. The two
        // access points have 72.2 Mbit/s together, which exceeds the site's 54.15 Mbit/s.
        let queue = json!({"scheme": "htb", "rate": "2 Mbit/s"});
        let (inner, leaves) = classes(json!({}), queue);
        let points = 54.15 / 2.0;
        assert_eq!(inner, [(100.0, 0.0), (54.15, 57.0), (points, 38.0), (points, 38.0)]);
        assert_eq!(leaves, [(2.0, 25.0); 6]);
    }

    #[test]
    fn full_rates_exceed_those_of_the_parent() {
        let queue = json!({"scheme": "htb", "rate": "30 Mbit/s", "node_rates": "full"});
        let (inner, leaves) = classes(json!({}), queue.clone());
        assert_eq!(inner[2..], [(36.1, 38.0); 2]);
        assert_eq!(leaves, [(25.0, 25.0); 6], "a rate is at most the plan");
        // The rates of three users, 25 Mbit/s each, are reduced to fit into the 27.075 Mbit/s of their access point.
        let fitting = json!({"scheme": "htb", "rate": "30 Mbit/s"});
        assert_eq!(classes(json!({}), fitting).1, [(9.025, 25.0); 6]);
    }

    #[test]
    fn least_rates_hold_where_nodes_have_more_than_the_node_above_them() {
        // The rate of the site is 0.95 * 0.95 * 60 = 54.15 Mbit/s, and each access point has the same rate. Half of it
        // is less than the 40 Mbit/s that one access point assures, so 14.15 Mbit/s are left for the other access
        // point.
        let tree = json!({"nodes": [["site", 0, 60_000_000, 60_000_000], ["s", 1, 200_000_000, 200_000_000],
            ["o", 1, 200_000_000, 200_000_000]], "subscribers": [
            [2, 1, 50_000_000, 50_000_000, 40_000_000, 40_000_000],
            [3, 2, 50_000_000, 50_000_000, 1_000_000, 1_000_000]]});
        let files = json!({"network": "n", "devices": "d", "tree": tree.to_string()});
        let topology = json!({"kind": "access", "gateway_rate": "1 Gbit/s", "files": files});
        let group = json!({"share": 1.0, "sources": [{"kind": "tcp"}]});
        let scenario = Scenario::read(&json!({"topology": topology, "queue": {"scheme": "htb"}, "groups": [group]}));
        let (inner, leaves) = classes_at(0, &scenario.unwrap());
        assert_eq!(inner[1..], [(54.15, 57.0), (40.0, 57.0), (14.15, 57.0)]);
        assert_eq!(leaves, [(40.0, 50.0), (1.0, 50.0), (1.0, 50.0)]);
    }

    #[test]
    fn rates_are_fitted_to_what_there_is() {
        // The cases, in order: all classes fit; each class gets 10 Mbit/s; one class is fixed at 7 Mbit/s and the
        // others share 3 Mbit/s; two classes are fixed and the third gets 1 Mbit/s; the minimum rates do not fit, so
        // each is reduced to a third.
        assert_eq!(fitted(40.0, &[(1.0, 20.0), (1.0, 20.0)]), [20.0, 20.0]);
        assert_eq!(fitted(20.0, &[(1.0, 40.0), (1.0, 40.0)]), [10.0, 10.0]);
        assert_eq!(fitted(10.0, &[(7.0, 10.0), (0.0, 10.0), (0.0, 10.0)]), [7.0, 1.5, 1.5]);
        assert_eq!(fitted(10.0, &[(6.0, 10.0), (3.0, 10.0), (0.0, 10.0)]), [6.0, 3.0, 1.0]);
        assert_eq!(fitted(5.0, &[(10.0, 10.0), (5.0, 10.0)]), [10.0 / 3.0, 5.0 / 3.0]);
    }

    #[test]
    fn least_rates_of_the_files_are_those_of_the_leaves() {
        let tree = json!({"nodes": [["ap", 0, 100_000_000, 100_000_000]], "subscribers": [
            [1, 2, 25_000_000, 5_000_000, 8_000_000, 2_000_000],
            [1, 1, 25_000_000, 5_000_000],
            [1, 1, 25_000_000, 5_000_000, null, 2_000_000],
        ]});
        let files = json!({"network": "n", "devices": "d", "tree": tree.to_string()});
        let topology = json!({"kind": "access", "gateway_rate": "1 Gbit/s", "files": files});
        let group = |direction: &str| json!({"share": 1.0, "direction": direction, "sources": [{"kind": "tcp"}]});
        let queue = json!({"scheme": "htb", "rate": "3 Mbit/s"});
        for (direction, link, rates) in [
            ("down", 0, [(8.0, 25.0), (8.0, 25.0), (3.0, 25.0), (3.0, 25.0)]),
            ("up", 1, [(2.0, 5.0), (2.0, 5.0), (3.0, 5.0), (2.0, 5.0)]),
        ] {
            let json = json!({"topology": topology, "queue": queue, "groups": [group(direction)]});
            assert_eq!(classes_at(link, &Scenario::read(&json).unwrap()).1, rates, "{direction}");
        }
    }

    #[test]
    fn a_plan_is_no_more_than_its_access_point() {
        let queue = json!({"scheme": "htb"});
        let (_, leaves) = classes(json!({"plan": "250 Mbit/s"}), queue);
        assert_eq!(leaves, [(1.0, 38.0); 6]);
    }

    #[test]
    fn a_network_with_a_tree_holds_its_classes() {
        let scenario = scenario(json!({}), json!({"scheme": "htb"}));
        let network = Network::new(&scenario, 0);
        let records = |link: usize| {
            use fairlane_schemes::contract::discipline::QueueDiscipline;
            network.links[link].discipline().state_size().records
        };
        // The link of the gateway has four classes: for the gateway, the site and two access points. The link of the
        // site has three classes, and the link of an access point has one.
        assert_eq!([records(0), records(2), records(4)], [4, 3, 1]);
    }
}
