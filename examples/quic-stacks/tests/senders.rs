//! Whole simulation runs with the published controllers as senders.

use fairlane_schemes::registry::external::no_external;
use fairlane_sim::engine;
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::scenario::{Externals, Scenario};
use quic_stacks::{CONTROLLERS, find};
use serde_json::json;
use std::sync::atomic::AtomicBool;
use std::thread;

/// A single flow for 20 s on 10 Mbit/s with a round-trip time of 40 ms. The buffer is the bandwidth-delay product: 50
/// kB, or 41 packets of 1228 bytes.
fn alone(controller: &str, scheme: &str, ecn: bool) -> RunRecord {
    let source = json!({"kind": "tcp", "profile": "quic", "congestion_control": controller, "ecn": ecn});
    let mut queue = json!({"scheme": scheme, "limit": "41 packets"});
    if ecn {
        queue["ecn"] = true.into();
    }
    let scenario = json!({
        "run": {"warmup": "5 s", "measure": "20 s", "replications": 1},
        "topology": {"bottleneck_rate": "10 Mbit/s", "access_rate": "1 Gbit/s", "access_limit": "1000 packets"},
        "queue": queue,
        "groups": [{"name": "quic", "rtt": "40 ms", "sources": [source]}],
    });
    let externals = Externals { schemes: &no_external, controls: &find };
    let scenario = Scenario::read_with(&scenario, externals).expect("a scenario");
    engine::run(&scenario, 0, &AtomicBool::new(false)).expect("nobody cancels")
}

#[test]
fn each_controller_fills_a_link_that_it_has_to_itself() {
    for controller in CONTROLLERS {
        let link = &alone(controller.name, "droptail", false).links[0];
        // Controllers that halve their window at a loss still have the bandwidth-delay product in flight, since the
        // buffer is as long. BBR loses at most 200 ms for each probe of the RTT, every 5 s in version 2, and a margin
        // of 1 %.
        let least = if controller.name.ends_with("bbr") { 1.0 - 0.2 / 5.0 - 0.01 } else { 0.98 };
        assert!(link.utilisation >= least, "{}: {}", controller.name, link.utilisation);
    }
}

#[test]
fn a_run_can_be_repeated_in_any_thread() {
    for controller in CONTROLLERS {
        let run = || RunRecord { cpu_seconds: None, ..alone(controller.name, "abc", false) };
        let [first, second] = [(); 2].map(|()| thread::scope(|scope| scope.spawn(run).join().expect("a run")));
        assert_eq!(first, second, "{}", controller.name);
        assert_eq!(first, run(), "{}", controller.name);
    }
}

#[test]
fn marks_reach_the_controllers_that_answer_them() {
    for controller in CONTROLLERS {
        let [blind, seeing] = [false, true].map(|ecn| alone(controller.name, "codel", ecn));
        assert!(blind.links[0].marks == 0 && seeing.links[0].marks > 0, "{}", controller.name);
        assert!(seeing.links[0].utilisation > 0.8, "{}: {}", controller.name, seeing.links[0].utilisation);
    }
}
