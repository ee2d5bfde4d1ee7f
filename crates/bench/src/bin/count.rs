//! Runs one replication of a scenario and prints the delivered packets, nothing else: for valgrind.
//!
//! `valgrind --tool=callgrind target/release/count 'SCENARIO AS JSON'`; `benches/instructions/check.py` does
//! so. It reads no clock: the way in which rustix does ends in a segmentation fault under valgrind 3.19, which hides
//! the vDSO.

use fairlane_sim::engine;
use fairlane_sim::scenario::Scenario;
use std::sync::atomic::AtomicBool;

fn main() {
    let text = std::env::args().nth(1).unwrap_or_else(|| fail("give a scenario as JSON"));
    let json = serde_json::from_str(&text).unwrap_or_else(|error| fail(&error.to_string()));
    let scenario = Scenario::read(&json).unwrap_or_else(|error| fail(&error.to_string()));
    let (network, _) = engine::simulate(&scenario, 0, &AtomicBool::new(false)).expect("nobody cancels");
    println!("{}", network.links[0].accounting().departed);
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    std::process::exit(2);
}
