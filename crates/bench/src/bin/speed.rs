//! Prints delivered bottleneck packets per CPU second, events and memory for the default scenario of abc2018.
//!
//! `cargo run --release --bin speed [scheme] [heavy flows] [delay]`

use fairlane_bench::fail;
use fairlane_sim::engine;
use fairlane_sim::scenario::Scenario;
use serde_json::json;
use std::sync::atomic::AtomicBool;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scheme = arguments.next().unwrap_or_else(|| "abc".into());
    let flows: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let delay = arguments.next().unwrap_or_else(|| "5 ms".into());
    let scenario = json!({
        "queue": {"scheme": scheme},
        "tcp": {"profile": "ns3.26"},
        "topology": {"bottleneck_delay": delay},
        "groups": [
            {"name": "heavy", "users": 1, "sources": [{"kind": "tcp", "flows": flows}]},
            {"name": "light", "users": 10, "sources": [{"kind": "tcp", "flows": 1}]},
        ],
    });
    let scenario = Scenario::read(&scenario).unwrap_or_else(|error| fail(&error.to_string()));
    for replication in 0..10 {
        let record = engine::run(&scenario, replication, &AtomicBool::new(false)).expect("nobody cancels");
        let (cost, cpu_seconds) = (record.performance, record.cpu_seconds.expect("it has just ended"));
        let link = &record.links[0];
        println!(
            "{:.2} M packets/CPU-s, {:.2} events/packet, {:.0} ns/packet; T_R {:.3}, utilisation {:.4}, queue {:.2}, \
             aqm {} tail {} {:?}",
            cost.delivered_packets as f64 / cpu_seconds / 1e6,
            cost.events as f64 / cost.delivered_packets as f64,
            cpu_seconds * 1e9 / cost.delivered_packets as f64,
            record.throughput_ratio.unwrap_or(f64::NAN),
            link.utilisation,
            link.queue.mean_packets,
            link.drops[0].packets,
            link.drops[1].packets,
            record.groups[0].tcp,
        );
    }
}
