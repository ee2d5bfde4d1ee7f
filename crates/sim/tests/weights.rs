//! Tests weights of users, and meters of short-lived flows.

use crate::common::{network, run};
use serde_json::{Value as Json, json};

/// Returns a scenario of two users with weights 1 and 3 that demand more than the capacity.
fn weighted(queue: &Json) -> Json {
    let source = json!({"kind": "poisson", "rate": "12 Mbit/s"});
    json!({
        "run": {"warmup": "5 s", "measure": "20 s"},
        "queue": queue,
        "groups": [
            {"name": "light", "start_until": "0 s", "sources": [source]},
            {"name": "heavy", "weight": 3.0, "start_until": "0 s", "sources": [source]},
        ],
    })
}

#[test]
fn schemes_of_every_kind_share_by_weight() {
    // The users share 10 Mbit/s in the ratio 1 : 3. Schedulers achieve this ratio to within a quantum, whether they
    // share by flow or by user. Schemes that drop by labels achieve it to within a tenth.
    let cases = [
        (json!({"scheme": "drr"}), 0.01),
        (json!({"scheme": "wfq", "share_per": "flow"}), 0.01),
        (json!({"scheme": "stfq"}), 0.01),
        (json!({"scheme": "csfq"}), 0.1),
    ];
    for (queue, tolerance) in cases {
        let record = run(&weighted(&queue));
        for (group, share) in record.groups.iter().zip([2.5e6, 7.5e6]) {
            assert!((group.max_min_share_bps / share - 1.0).abs() < 1e-12, "{queue}");
            let error = group.throughput_bps / share - 1.0;
            assert!(error.abs() < tolerance, "{queue}: {} got {}", group.name, group.throughput_bps);
        }
        assert!((record.links[0].max_min_utilisation - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a_weight_multiplies_the_reference_rate_of_abc() {
    let scenario = |group: Json| {
        let mut heavy = json!({"name": "heavy", "start_until": "0 s", "sources": [{"kind": "tcp", "flows": 2}]});
        heavy.as_object_mut().expect("a table").extend(group.as_object().expect("a table").clone());
        let light = json!({"name": "light", "start_until": "0 s", "sources": [{"kind": "tcp", "flows": 2}]});
        let run = json!({"warmup": "2 s", "measure": "8 s"});
        json!({"run": run, "queue": {"scheme": "abc"}, "groups": [heavy, light]})
    };
    let groups = |group| run(&scenario(group)).groups;
    let weighted = groups(json!({"weight": 4.0}));
    assert_eq!(weighted, groups(json!({"reference_rate": "40 kbit/s"})));
    assert!((weighted[0].max_min_share_bps - 8e6).abs() < 1e-3);
    assert!(weighted[0].throughput_bps > 1.5 * weighted[1].throughput_bps, "{weighted:?}");
}

#[test]
fn meters_of_flows_that_have_ended_are_forgotten() {
    // The first user starts 25 transfers per second for 100 s, of which only a few are open at the same time. The other
    // users have two long-lived flows, with one meter each.
    let network = network(&json!({
        "run": {"warmup": "0 s", "measure": "100 s"},
        "topology": {"bottleneck_rate": "100 Mbit/s", "access_rate": "1 Gbit/s"},
        "queue": {"scheme": "hcsfq", "limit": "1000 packets"},
        "groups": [
            {"start_until": "0 s", "sources": [{"kind": "web", "interval": "40 ms", "distribution": "exponential"}]},
            {"users": 2, "start_until": "0 s", "sources": [{"kind": "cbr", "rate": "1 Mbit/s"}]},
        ],
    }));
    let started = network.transfers[0].as_ref().expect("a web source").started;
    assert!(started > 2000);
    let records = network.meters.state_size().records;
    assert!((2..=2 + 2 * network.flows.len()).contains(&records), "{records} for {} places", network.flows.len());
}
