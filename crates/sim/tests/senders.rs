//! Tests senders on a complete path, whose queue reacts to them.

use fairlane_schemes::base::units::Time;
use fairlane_sim::engine;
use fairlane_sim::network::tcp_flow::TcpFlow;
use fairlane_sim::scenario::Scenario;
use fairlane_sim::traffic::tcp::{Phase, TcpParams};
use fairlane_sim::watch::observer::Observer;
use serde_json::json;
use std::sync::atomic::AtomicBool;

/// Observer of the times at which the sender enters recovery.
#[derive(Default)]
struct Recoveries {
    phase: Option<Phase>,
    begun: Vec<Time>,
}

impl Observer for Recoveries {
    fn sender_acted(&mut self, _: u32, flow: &TcpFlow, _: &TcpParams, now: Time) {
        let phase = flow.sender.phase();
        if phase == Phase::Recovery && self.phase != Some(Phase::Recovery) {
            self.begun.push(now);
        }
        self.phase = Some(phase);
    }
}

#[test]
fn a_full_queue_makes_one_recovery_of_a_lone_cubic_flow_not_two() {
    // If recovery waited for reordering before it started, the sender would send into the full queue, and the next loss
    // would follow a round trip later. Whether the queue is full at that time depends on the phase of the ACKs. With
    // these round-trip times it was full.
    for (rtt, limit) in [("32.5 ms", 24), ("33 ms", 24), ("40.5 ms", 24), ("50 ms", 24), ("42.5 ms", 25)] {
        let begun = recoveries(rtt, limit);
        assert!(begun.len() > 5, "{rtt}: {begun:?}");
        // The limit is two round trips, each of at most 50 ms plus 25 packets of 1.2 ms in the queue.
        let round_trips = Time::from_millis(2 * (50 + 30));
        assert!(begun.is_sorted_by(|a, b| *b - *a > round_trips), "{rtt}: {begun:?}");
    }
}

/// Returns the times at which a single flow enters recovery, after the overshoot of slow start.
fn recoveries(rtt: &str, limit: u32) -> Vec<Time> {
    let scenario = Scenario::read(&json!({
        "run": {"warmup": "0 s", "measure": "20 s"},
        "queue": {"scheme": "droptail", "limit": format!("{limit} packets")},
        "topology": {"bottleneck_rate": "10 Mbit/s"},
        "groups": [{"start_until": "0 s", "rtt": rtt, "sources": [{"kind": "tcp", "profile": "linux"}]}],
    }));
    let mut recoveries = Recoveries::default();
    engine::observe(&scenario.unwrap(), 1, &AtomicBool::new(false), &mut recoveries).expect("nobody cancels");
    recoveries.begun.retain(|&at| at > Time::from_secs(1));
    recoveries.begun
}
