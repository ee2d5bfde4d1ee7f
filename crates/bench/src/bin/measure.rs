//! Runs one replication of a scenario and prints its cost as one line of JSON.
//!
//! `cargo run --release --bin measure -- 'SCENARIO AS JSON' [replication]`. The scripts in `benches/` call it with
//! their TOML scenarios.

use fairlane_bench::{fail, peak_memory, scenario};
use fairlane_sim::engine;
use serde_json::json;
use std::sync::atomic::AtomicBool;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let text = arguments.next().unwrap_or_else(|| fail("give a scenario as JSON"));
    let replication = arguments.next().map_or(Ok(0), |text| text.parse());
    let replication = replication.unwrap_or_else(|error| fail(&format!("replication: {error}")));
    let scenario = scenario(&text);
    let record = engine::run(&scenario, replication, &AtomicBool::new(false)).expect("nobody cancels");
    let link = &record.links[0];
    let groups: Vec<_> = record
        .groups
        .iter()
        .map(|group| {
            let share = group.user_summary.as_ref().and_then(|summary| summary.share);
            json!({"name": group.name, "normalised_throughput": group.normalised_throughput,
                "p5": share.map(|share| share.p5),
                "packets": group.path.delivered_packets})
        })
        .collect();
    let dropped: u64 = link.drops.iter().map(|drops| drops.packets).sum();
    println!(
        "{}",
        json!({
            "delivered_packets": record.performance.delivered_packets,
            "events": record.performance.events,
            "cpu_seconds": record.cpu_seconds,
            "jain_index": record.jain_index,
            "peak_bytes": peak_memory(),
            "utilisation": link.utilisation,
            "mean_queue_packets": link.queue.mean_packets,
            "dropped_packets": dropped,
            "state_bytes": link.state.bytes,
            "edge_bytes": record.edge_state.bytes,
            "groups": groups,
        })
    );
}
