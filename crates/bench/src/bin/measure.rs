//! Runs one replication of a scenario and prints what it cost as one line of JSON.
//!
//! `cargo run --release --bin measure -- 'SCENARIO AS JSON' [replication]`. The scripts in `benches/` call it with
//! the scenarios that are there as TOML.

use fairlane_sim::engine;
use fairlane_sim::scenario::Scenario;
use serde_json::json;
use std::sync::atomic::AtomicBool;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let text = arguments.next().unwrap_or_else(|| fail("give a scenario as JSON"));
    let replication = arguments.next().map_or(Ok(0), |text| text.parse());
    let replication = replication.unwrap_or_else(|error| fail(&format!("replication: {error}")));
    let json = serde_json::from_str(&text).unwrap_or_else(|error| fail(&error.to_string()));
    let scenario = Scenario::read(&json).unwrap_or_else(|error| fail(&error.to_string()));
    let record = engine::run(&scenario, replication, &AtomicBool::new(false)).expect("nobody cancels");
    let link = &record.links[0];
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
        })
    );
}

/// High-water mark of resident memory in bytes, 0 where the system does not tell.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    std::process::exit(2);
}
