//! Tests that scenarios which need too much memory are rejected with one line, even if each key is in its range.

use fairlane_sim::scenario::Scenario;
use serde_json::{Value as Json, json};

fn problem(scenario: &Json) -> String {
    Scenario::read(scenario).map_or_else(|error| error.to_string(), |_| String::new())
}

fn groups(count: usize) -> Vec<Json> {
    let group = json!({"start_until": "0 s", "sources": [{"kind": "tcp", "transfer": "1 kB"}]});
    vec![group; count]
}

#[test]
fn groups_and_bins_of_the_series_have_a_joint_limit() {
    let scenario = |groups: &[Json], interval: &str| {
        json!({
            "run": {"warmup": "0 s", "measure": "100 s"},
            "probes": {"series_interval": interval},
            "queue": {"scheme": "droptail"},
            "groups": groups,
        })
    };
    assert_eq!(problem(&scenario(&groups(1), "1 ms")), "");
    // Each bin has six values for each group and three for the link. At most 12 000 000 values are allowed: 12 000 000
    // / 18 003 gives 666 bins of 150.15 ms each.
    let many = groups(3000);
    assert_eq!(
        problem(&scenario(&many, "1 ms")),
        "probes.series_interval: \"1 ms\" is out of range, it must be from 150.150150151 ms up (at most 666 bins with \
         3000 groups)"
    );
    assert_eq!(problem(&scenario(&many, "151 ms")), "");
}

#[test]
fn users_and_flows_with_delays_of_their_own_have_a_joint_limit() {
    let scenario = |detail: &str, flows: u32| {
        json!({
            "queue": {"scheme": "droptail"},
            "probes": {"detail": detail},
            "groups": [{"users": 20_000, "sources": [{"kind": "tcp", "flows": flows}]}],
        })
    };
    assert_eq!(problem(&scenario("flow", 4)), "");
    assert_eq!(problem(&scenario("user", 5)), "");
    // The scenario has 20 000 users and 100 000 flows.
    assert_eq!(
        problem(&scenario("flow", 5)),
        "probes.detail: \"flow\" is out of range, there may be 100000 users and flows, here are 120000"
    );
}

#[test]
fn groups_and_classes_of_transfers_have_a_joint_limit() {
    let times: Vec<String> = (1..100).map(|second| format!("{second} s")).collect();
    let scenario = json!({
        "probes": {"transfer_times": times, "transfer_sizes": []},
        "queue": {"scheme": "droptail"},
        "groups": groups(10_000),
    });
    assert_eq!(
        problem(&scenario),
        "probes.transfer_times: 101 classes by time and size are out of range, with 10000 groups there may be 100"
    );
}

#[test]
fn users_and_ingresses_have_a_joint_limit() {
    let scenario = |ingresses: u32| {
        json!({
            "queue": {"scheme": "abc"},
            "groups": [
                {"users": 900_000, "sources": [{"kind": "cbr", "rate": "1 kbit/s"}]},
                {"users": 100_000, "ingresses": ingresses, "sources": [{"kind": "cbr", "rate": "1 kbit/s"}]},
            ],
        })
    };
    let text = "groups[1].ingresses: 64 is out of range, with 1000000 users in all groups there may be 10";
    assert_eq!(problem(&scenario(64)), text);
    assert_eq!(problem(&scenario(10)), "");
}

#[test]
fn there_are_no_more_groups_than_users_can_name() {
    assert_eq!(
        problem(&json!({"queue": {"scheme": "droptail"}, "groups": groups(65_537)})),
        "groups: 65537 tables, there may be 65536"
    );
}
