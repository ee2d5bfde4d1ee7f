//! Tree of an access network: its nodes and subscribers, from counts and rates.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::params;

params! {
    /// An access network given by counts and rates.
    pub struct AccessNetworkParams {
        /// Number of sites behind the gateway.
        sites: u32 = 4, in 1..=1000, source "our choice";
        /// Access points per site.
        access_points: u32 = 8, in 1..=1000, source "our choice";
        /// Subscribers per access point.
        subscribers: u32 = 32, in 1..=1000000, source "our choice";
        /// Rate of the gateway towards the sites.
        gateway_rate: BitRate = "10 Gbit/s", in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Rate of the gateway towards the Internet; default: `gateway_rate`.
        gateway_rate_up: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Rate of the link to each site.
        site_rate: BitRate = "1 Gbit/s", in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Rate of the link from each site; default: `site_rate`.
        site_rate_up: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Rate shared by the subscribers of an access point, downstream.
        access_point_rate: BitRate = "400 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Rate shared by the subscribers of an access point, upstream; default: `access_point_rate`.
        access_point_rate_up: Option<BitRate> = null, in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Propagation delay of the gateway's links, including the path to the servers.
        gateway_delay: Time = "5 ms", in "0 s"..="1 h", source "as the bottleneck's of abc2018";
        /// Propagation delay of a site's links.
        site_delay: Time = "0.5 ms", in "0 s"..="1 h", source "100 km of fibre";
        /// Propagation delay of an access point's links.
        access_point_delay: Time = "1 ms", in "0 s"..="1 h", source "our choice";
        /// Downstream rate of a subscriber's plan, unless the group specifies one.
        plan: BitRate = "100 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Upstream rate of a subscriber's plan, unless the group specifies one.
        plan_up: BitRate = "20 Mbit/s", in "1 kbit/s"..="10 Tbit/s", source "our choice";
        /// Hour of the day, from 0 to 24, which determines the number of active subscribers. If absent, all are active.
        hour: Option<f64> = null, in 0.0..=24.0, source "Labovitz 2009, Internet Observatory";
    }
}

/// A node of the tree. The gateway is the first node; parents precede their children.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessNode {
    /// Name.
    pub name: String,
    /// Index of the parent; `None` for the gateway.
    pub parent: Option<u32>,
    /// Rates of the links to the node and from the node.
    pub rates: [BitRate; 2],
    /// True if the node has no child nodes.
    pub is_leaf: bool,
}

/// Subscribers of a node with the same plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscribers {
    /// Index of the node.
    pub node: u32,
    /// Number of subscribers.
    pub count: u32,
    /// Rates of the plan, down and up.
    pub plan: [BitRate; 2],
    /// Rates that a tree of shapers assures to each subscriber, down and up. If `None`, the key `rate` of the queue
    /// applies.
    pub least: [Option<BitRate>; 2],
}

pub(super) fn gateway(params: &AccessNetworkParams) -> AccessNode {
    let rates = [params.gateway_rate, params.gateway_rate_up.unwrap_or(params.gateway_rate)];
    AccessNode { name: "gateway".into(), parent: None, rates, is_leaf: false }
}

pub(super) fn by_counts(params: &AccessNetworkParams) -> (Vec<AccessNode>, Vec<Subscribers>) {
    let mut nodes = vec![gateway(params)];
    let mut subscribers = Vec::new();
    let some =
        Subscribers { node: 0, count: params.subscribers, plan: [params.plan, params.plan_up], least: [None; 2] };
    for site in 1..=params.sites {
        let parent = nodes.len() as u32;
        let rates = [params.site_rate, params.site_rate_up.unwrap_or(params.site_rate)];
        nodes.push(AccessNode { name: format!("site{site}"), parent: Some(0), rates, is_leaf: false });
        for point in 1..=params.access_points {
            let rates = [params.access_point_rate, params.access_point_rate_up.unwrap_or(params.access_point_rate)];
            let name = format!("site{site}.ap{point}");
            subscribers.push(Subscribers { node: nodes.len() as u32, ..some.clone() });
            nodes.push(AccessNode { name, parent: Some(parent), rates, is_leaf: true });
        }
    }
    (nodes, subscribers)
}
