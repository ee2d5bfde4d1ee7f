//! Prints the cost per delivered packet and the memory per flow for several numbers of flows.
//!
//! `cargo run --release --bin scale [scheme] [flows]`. The scenario has as many users as flows, New Reno, and a base
//! RTT of 10.2 ms. The buffer is one bandwidth-delay product plus one packet per flow. About five million packets cross
//! the bottleneck. If a number of flows is given, the program runs only that point and prints one line of JSON. Peak
//! memory is that of the whole process, so `make bench-scale` runs each point in a separate process.

use fairlane_bench::peak_memory;
use fairlane_sim::engine;
use fairlane_sim::scenario::Scenario;
use serde_json::{Value as Json, json};
use std::sync::atomic::AtomicBool;

/// Flows, and rate of the bottleneck in Mbit/s.
const POINTS: [(u32, u64); 6] =
    [(32, 100), (100, 1_000), (1_000, 10_000), (10_000, 10_000), (30_000, 100_000), (100_000, 100_000)];

fn scenario(scheme: &str, flows: u32, mbit: u64) -> Json {
    let packets_per_second = mbit * 1_000_000 / 12_000;
    let bdp = packets_per_second * 102 / 10_000;
    let milliseconds = (5_000_000_000 / packets_per_second).max(500);
    json!({
        "run": {"warmup": format!("{} ms", milliseconds / 5), "measure": format!("{milliseconds} ms")},
        "topology": {
            "bottleneck_rate": format!("{mbit} Mbit/s"), "bottleneck_delay": "5 ms",
            "access_rate": format!("{mbit} Mbit/s"),
        },
        "tcp": {"profile": "ns3.26"},
        "queue": {"scheme": scheme, "limit": format!("{} packets", bdp + u64::from(flows))},
        "groups": [{"users": flows, "start_until": format!("{} ms", milliseconds / 10), "sources": [{"kind": "tcp"}]}],
    })
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scheme = arguments.next().unwrap_or_else(|| "droptail".into());
    let only: Option<u32> = arguments.next().map(|text| text.parse().expect("flows are a number"));
    if only.is_none() {
        println!(
            "{:>8} {:>12} {:>12} {:>10} {:>14} {:>12}",
            "flows", "M packets/s", "ns/packet", "events", "utilisation", "peak MB"
        );
    }
    for (flows, mbit) in POINTS.into_iter().filter(|(flows, _)| only.is_none_or(|only| *flows == only)) {
        let scenario = Scenario::read(&scenario(&scheme, flows, mbit)).expect("the scenario is sound");
        let before = peak_memory();
        let record = engine::run(&scenario, 0, &AtomicBool::new(false)).expect("nobody cancels");
        let (cost, cpu_seconds) = (record.performance, record.cpu_seconds.expect("it has just ended"));
        if only.is_some() {
            println!(
                "{}",
                json!({
                    "flows": flows,
                    "bottleneck_mbit": mbit,
                    "delivered_packets": cost.delivered_packets,
                    "events": cost.events,
                    "cpu_seconds": cpu_seconds,
                    "utilisation": record.links[0].utilisation,
                    "peak_bytes_before": before,
                    "peak_bytes": peak_memory(),
                })
            );
            continue;
        }
        println!(
            "{flows:>8} {:>12.2} {:>12.0} {:>10.2} {:>14.4} {:>12.1}",
            cost.delivered_packets as f64 / cpu_seconds / 1e6,
            cpu_seconds * 1e9 / cost.delivered_packets as f64,
            cost.events as f64 / cost.delivered_packets as f64,
            record.links[0].utilisation,
            peak_memory() as f64 / 1e6,
        );
    }
}
