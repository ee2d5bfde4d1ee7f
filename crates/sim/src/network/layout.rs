//! The layout of a scenario for use outside the simulator: the path of packets, and all random draws made before a
//! replication begins.

use super::Network;
use crate::scenario::Scenario;
use fairlane_schemes::base::config::ConfigValue;
use serde_json::{Map, Value as Json, json};

/// Returns links, users with their access links, and flows with their start times (in ps), as JSON.
#[must_use]
pub fn layout(scenario: &Scenario, replication: u32) -> Json {
    let network = Network::new(scenario, replication);
    let topology = &scenario.topology;
    let links = topology.links.iter().map(|link| {
        let queue = link.queue.as_ref().unwrap_or(&scenario.queue);
        json!({
            "name": link.name,
            "rate_bps": link.params.rate.0,
            "delay_ps": link.params.delay.0,
            "queue": Json::Object(queue.write()),
        })
    });
    let placements = scenario.placements();
    let routes = placements.iter().flat_map(|place| {
        let users = place.config.params.users as usize;
        std::iter::repeat_n((place.group, &place.config.route), users)
    });
    let users: Vec<Json> = (0..)
        .zip(routes)
        .map(|(user, (group, route))| {
            let mut map = Map::new();
            map.insert("group".into(), group.into());
            map.insert("route".into(), route.clone().into());
            let (rate, delay, limit) = network.hosts.access_link(user);
            map.insert("access".into(), json!({"rate_bps": rate.0, "delay_ps": delay.0, "limit": limit.to_json()}));
            Json::Object(map)
        })
        .collect();
    let tcp = network.flows.iter().map(|flow| {
        let params = &network.tcp_params[flow.params as usize];
        let ends = (params.segment_payload + params.header_bytes, params.header_bytes);
        json!({
            "user": flow.user,
            "start_ps": flow.start.0,
            "to_receiver_ps": network.hosts.to_receiver(flow.user, ends.0).0,
            "back_ps": network.hosts.idle_way_back(flow.user, ends).0,
        })
    });
    // The start of a source is the time of its first packet, which follows a random gap.
    let udp = network.sources.iter().map(|source| json!({"user": source.user(), "start_ps": source.next().0}));
    json!({
        "links": links.collect::<Vec<_>>(),
        "users": users,
        "tcp": tcp.collect::<Vec<_>>(),
        "udp": udp.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_delays_and_starts_of_the_simulator() {
        let scenario = json!({
            "topology": {"bottleneck_rate": "12 Mbit/s", "bottleneck_delay": "5 ms", "access_rate": "120 Mbit/s"},
            "queue": {"scheme": "droptail"},
            "tcp": {"profile": "linux"},
            "groups": [
                {"name": "a", "users": 2, "start_from": "1 s", "start_until": "2 s", "rtt": "40 ms",
                 "rtt_spread": 0.1, "sources": [{"kind": "tcp"}, {"kind": "cbr", "rate": "1 Mbit/s"}]},
            ],
        });
        let scenario = Scenario::read(&scenario).unwrap();
        let found = layout(&scenario, 3);
        assert_eq!(found, layout(&scenario, 3));
        assert_ne!(found["tcp"], layout(&scenario, 4)["tcp"]);
        let delays: Vec<u64> = found["users"]
            .as_array()
            .unwrap()
            .iter()
            .map(|user| user["access"]["delay_ps"].as_u64().unwrap())
            .collect();
        assert!(delays[0] != delays[1] && delays.iter().all(|delay| (13_000_000_000..=17_000_000_000).contains(delay)));
        for (flow, delay) in found["tcp"].as_array().unwrap().iter().zip(delays) {
            // The time is the transmission of an acknowledgement of 52 bytes at 12 Mbit/s and at 120 Mbit/s, plus the
            // propagation delays of both links.
            let sent = 52 * 8 * 1_000_000 / 12 + 52 * 8 * 1_000_000 / 120;
            let back = flow["back_ps"].as_u64().unwrap();
            assert!(back.abs_diff(5_000_000_000 + delay + sent) <= 2, "{back}");
            assert!((1_000_000_000_000..=2_000_000_000_000).contains(&flow["start_ps"].as_u64().unwrap()));
        }
        assert_eq!(found["udp"].as_array().unwrap().len(), 2);
        assert_eq!(found["links"][0]["queue"]["scheme"], "droptail");
    }
}
