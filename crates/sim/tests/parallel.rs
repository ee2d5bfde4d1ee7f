//! Tests that a run on several threads gives the same bytes as on one, for any number of threads and any partition of
//! the network.

use crate::common::read;
use fairlane_sim::engine::partition::{Partition, WhyWhole};
use fairlane_sim::engine::{self, Stop, run_by};
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::scenario::Scenario;
use fairlane_sim::watch::observer::NoObserver;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};
use std::sync::atomic::AtomicBool;

const NUMBERS_OF_THREADS: [usize; 4] = [1, 2, 3, 8];

fn bytes(record: &RunRecord) -> String {
    serde_json::to_string(&RunRecord { cpu_seconds: None, ..record.clone() }).expect("a record has JSON")
}

fn on_one_thread(scenario: &Scenario) -> String {
    bytes(&engine::run(scenario, 0, &AtomicBool::new(false)).expect("nobody cancels"))
}

fn by(scenario: &Scenario, partition: &Partition) -> String {
    bytes(&run_by(scenario, 0, partition, &AtomicBool::new(false), &mut NoObserver).expect("nobody cancels"))
}

/// Generates a link. Delays are whole milliseconds and rates are multiples of each other, which makes many events
/// simultaneous.
fn link() -> impl Strategy<Value = Json> {
    let queue = prop_oneof![
        Just(json!({"scheme": "droptail", "limit": "20 packets"})),
        Just(json!({"scheme": "codel", "limit": "60 packets"})),
        Just(json!({"scheme": "fq_codel", "limit": "100 packets"})),
        Just(json!({"scheme": "red", "limit": "60 packets"})),
        Just(json!({"scheme": "wfq", "limit": "60 packets"})),
    ];
    let impairment = prop_oneof![
        8 => Just(None),
        1 => Just(Some(("loss", json!({"probability": 0.02})))),
        1 => Just(Some(("jitter", json!({"deviation": "0.3 ms"})))),
        1 => Just(Some(("corrupt", json!({"probability": 0.1, "from": "0.1 s", "until": "0.8 s"})))),
        1 => Just(Some(("duplicate", json!({"probability": 0.1})))),
        1 => Just(Some(("reorder", json!({"probability": 0.1, "gap": 3})))),
        1 => Just(Some(("policer", json!({"rate": "5 Mbit/s", "burst": "10 kB", "until": "0.8 s"})))),
        1 => Just(Some(("slot", json!({"min": "1 ms", "max": "2 ms", "packets": 10})))),
    ];
    let delay = prop_oneof![Just("0 s"), Just("0.1 ms"), Just("1 ms"), Just("3 ms"), Just("10 ms")];
    (prop_oneof![Just(4), Just(8), Just(16)], delay, queue, impairment).prop_map(|(rate, delay, queue, impairment)| {
        let mut link = json!({"rate": format!("{rate} Mbit/s"), "delay": delay, "queue": queue});
        if let Some((key, value)) = impairment {
            link[key] = value;
        }
        link
    })
}

fn lasting_source() -> impl Strategy<Value = Json> {
    prop_oneof![
        (1u32..4).prop_map(|flows| json!({"kind": "tcp", "flows": flows, "profile": "ns2"})),
        Just(json!({"kind": "tcp", "profile": "linux", "congestion_control": "bbr3"})),
        Just(json!({"kind": "tcp", "profile": "linux", "transfer": "200 kB"})),
        (1u32..8).prop_map(|rate| json!({"kind": "cbr", "rate": format!("{rate} Mbit/s")})),
        (1u32..8).prop_map(|rate| json!({"kind": "poisson", "rate": format!("{rate} Mbit/s"), "stop": "0.6 s"})),
        Just(json!({"kind": "voip"})),
        Just(json!({"kind": "video", "profile": "linux"})),
    ]
}

/// Stands for a random access delay of each user, instead of a fixed delay.
const SPREAD: &str = "spread";

/// A random group: number of users, route, delay and rate (Mbit/s) of its access links, and sources.
type Drawn = ((u32, Vec<usize>, &'static str, u32), Vec<Json>);

/// Generates a network of up to seven links. Each group has a random route over one to three links, in any order.
fn network(sources: BoxedStrategy<Json>) -> impl Strategy<Value = Json> {
    let route = prop::collection::vec(0usize..100, 1..4);
    let access = prop_oneof![Just(1u32), Just(20)];
    let delay = prop_oneof![Just("0.1 ms"), Just("2 ms"), Just("7 ms"), Just(SPREAD)];
    let group = (1u32..5, route, delay, access);
    let groups = prop::collection::vec((group, prop::collection::vec(sources, 1..3)), 2..8);
    (prop::collection::vec(link(), 2..8), groups, 0u64..1000, any::<[bool; 2]>()).prop_map(
        |(links, groups, seed, [series, detail])| {
            let links: Vec<Json> = (0..)
                .zip(links)
                .map(|(number, mut link)| {
                    link["name"] = format!("l{number}").into();
                    link
                })
                .collect();
            let group = |(number, ((users, route, delay, access), sources)): (usize, &Drawn)| {
                let mut names: Vec<String> = Vec::new();
                for link in route {
                    let name = format!("l{}", link % links.len());
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let mut group = json!({"name": format!("g{number}"), "users": users, "route": names, "sources": sources,
                    "access_rate": format!("{access} Mbit/s"), "start_until": "0.3 s"});
                if *delay == SPREAD {
                    // The round trip over three links of 10 ms takes 60 ms and the transmission of a packet on each
                    // link. The access links have less than the remaining 40 ms, so a spread of 0.4 could be rejected.
                    (group["rtt"], group["rtt_spread"]) = ("100 ms".into(), 0.39.into());
                } else {
                    group["access_delay"] = (*delay).into();
                }
                group
            };
            let groups: Vec<Json> = groups.iter().enumerate().map(group).collect();
            let mut probes = json!({"detail": if detail { "flow" } else { "group" }});
            if series {
                probes["series_interval"] = "50 ms".into();
            }
            json!({
                "run": {"warmup": "0.3 s", "measure": "0.5 s", "seed": seed}, "probes": probes,
                "topology": {"kind": "graph", "links": links, "access_limit": "5 packets"},
                "queue": {"scheme": "droptail"}, "groups": groups,
            })
        },
    )
}

fn for_all(drawn: impl Strategy<Value = Scenario>, cases: u32) {
    let config = ProptestConfig { cases, failure_persistence: None, ..Default::default() };
    let same_bytes = |scenario| {
        let expected = on_one_thread(&scenario);
        for threads in NUMBERS_OF_THREADS {
            for (partition, _) in Partition::candidates(&scenario, threads).expect("it has links") {
                prop_assert!(partition.parts() <= threads);
                prop_assert_eq!(&by(&scenario, &partition), &expected, "{:?}", partition);
            }
        }
        Ok(())
    };
    TestRunner::new(config).run(&drawn, same_bytes).unwrap();
}

fn lasting() -> impl Strategy<Value = Scenario> {
    network(lasting_source().boxed()).prop_map(|scenario| read(&scenario))
}

#[test]
fn bytes_are_the_same_for_any_number_of_threads_and_any_cut() {
    for_all(lasting(), 20);
}

fn passing_source() -> impl Strategy<Value = Json> {
    prop_oneof![
        2 => lasting_source(),
        1 => (20u64..200).prop_map(|ms| json!({"kind": "web", "interval": format!("{ms} ms"), "objects": 4,
            "object_interval": "0 s"})),
        1 => (20u64..200).prop_map(|ms| json!({"kind": "web", "interval": format!("{ms} ms"), "profile": "linux",
            "congestion_control": "bbr1"})),
        1 => Just(json!({"kind": "transfers", "sizes": "web_search", "load": "30 %"})),
        1 => Just(json!({"kind": "tcp", "transfer": "8 kB", "repeat": 50, "pause": "10 ms"})),
        1 => Just(json!({"kind": "rpm", "profile": "linux", "flows": 2, "interval": "50 ms"})),
    ]
}

/// Generates scenarios with transfers and labels, which can be partitioned only with a separate random stream for each
/// user.
fn passing() -> impl Strategy<Value = Scenario> {
    let label = prop_oneof![Just("abc"), Just("abc2016"), Just("afpft"), Just("droptail")];
    (network(passing_source().boxed()), label).prop_map(|(mut scenario, label)| {
        scenario["queue"] = json!({"scheme": label});
        for (number, link) in scenario["topology"]["links"].as_array_mut().unwrap().iter_mut().enumerate() {
            if number % 2 == 0 {
                link.as_object_mut().unwrap().remove("queue");
            }
        }
        let mut scenario = read(&scenario);
        scenario.own_streams = true;
        scenario
    })
}

#[test]
fn so_they_are_with_transfers_and_labels_if_users_have_own_streams() {
    for_all(passing(), 20);
}

#[test]
#[ignore = "takes half a minute"]
fn so_they_are_in_64_networks_of_each_kind() {
    for_all(lasting(), 64);
    for_all(passing(), 64);
}

#[test]
fn an_access_network_gives_the_same_bytes_on_any_number_of_threads() {
    let mut scenario = json!({
        "run": {"warmup": "1 s", "measure": "2 s"},
        "topology": {"kind": "access", "sites": 3, "access_points": 4, "subscribers": 10, "gateway_rate": "60 Mbit/s",
            "site_rate": "30 Mbit/s", "access_point_rate": "10 Mbit/s", "plan": "5 Mbit/s", "plan_up": "2 Mbit/s",
            "failovers": [{"node": "site2", "at": "1.5 s"}]},
        "queue": {"scheme": "abc", "limit": "50 packets"}, "tcp": {"profile": "linux"},
        "groups": [
            {"share": 0.5, "rtt": "30 ms", "sources": [{"kind": "web", "interval": "500 ms", "objects": 4}]},
            {"share": 0.3, "rtt": "30 ms", "sources": [{"kind": "video"}]},
            {"share": 0.2, "rtt": "20 ms", "sources": [{"kind": "tcp", "flows": 2}]},
            {"share": 0.3, "direction": "up", "sources": [{"kind": "cbr", "rate": "500 kbit/s"}]},
            {"share": 0.2, "direction": "local", "rtt": "10 ms", "sources": [{"kind": "tcp"}]},
        ],
    });
    for group in scenario["groups"].as_array_mut().expect("it is a list") {
        group["start_until"] = "500 ms".into();
    }
    let scenario = read(&scenario);
    let expected = on_one_thread(&scenario);
    let mut parts = Vec::new();
    for threads in NUMBERS_OF_THREADS {
        for (partition, _) in Partition::candidates(&scenario, threads).expect("it has links") {
            assert!(by(&scenario, &partition) == expected, "{partition:?}");
            parts.push(partition.parts());
        }
    }
    // Three sites have a delay to the gateway, so there are partitions for two, three and more threads.
    assert!([2, 3].iter().all(|number| parts.contains(number)) && parts.iter().any(|&number| number > 3), "{parts:?}");
}

#[test]
fn what_cannot_be_cut_says_why() {
    let tcp = json!([{"sources": [{"kind": "tcp"}]}]);
    let why = |scenario: Json| Partition::new(&read(&scenario), 2).expect_err("it stays whole");
    let dumbbell = json!({"queue": {"scheme": "droptail"}, "groups": tcp});
    assert_eq!(why(dumbbell), WhyWhole::OneLink);
    let row = |scheme: &str, sources: Json| {
        json!({"topology": {"kind": "parking_lot", "bottleneck_rate": "10 Gbit/s", "access_rate": "1 Gbit/s",
            "receiver_rate": "10 Gbit/s"},
            "queue": {"scheme": scheme}, "groups": [{"users": 100, "sources": sources}]})
    };
    assert_eq!(why(row("htb", json!([{"kind": "tcp"}]))), WhyWhole::HoldsBack);
    let mut shaped = row("cake", json!([{"kind": "tcp"}]));
    assert!(Partition::new(&read(&shaped), 2).is_ok());
    shaped["queue"]["bandwidth"] = "5 Gbit/s".into();
    assert_eq!(why(shaped), WhyWhole::HoldsBack);
    assert_eq!(why(row("abc", json!([{"kind": "tcp"}]))), WhyWhole::SharedStreams);
    assert_eq!(why(row("droptail", json!([{"kind": "web", "interval": "1 s"}]))), WhyWhole::SharedStreams);
    // At 10 Mbit/s, a link sends less than one packet of 1500 bytes per millisecond. So a window of 5 ms, the delay of
    // a link, has too little work for a second thread.
    let slow = json!({"topology": {"kind": "parking_lot"}, "queue": {"scheme": "droptail"}, "groups": tcp});
    assert_eq!(why(slow), WhyWhole::NoGain);
    assert!(Partition::new(&read(&row("droptail", json!([{"kind": "tcp"}]))), 2).is_ok());
}

#[test]
fn a_run_on_several_threads_can_be_cancelled() {
    let scenario = read(&json!({"topology": {"kind": "parking_lot"}, "queue": {"scheme": "droptail"},
        "groups": [{"users": 10, "sources": [{"kind": "tcp"}]}]}));
    let candidates = Partition::candidates(&scenario, 3).unwrap();
    let ended = run_by(&scenario, 0, &candidates[0].0, &AtomicBool::new(true), &mut NoObserver);
    assert_eq!(ended, Err(Stop::Cancelled));
}
