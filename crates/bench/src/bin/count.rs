//! Runs one replication of a scenario and prints only the number of delivered packets, for use under valgrind.
//!
//! `valgrind --tool=callgrind target/release/count 'SCENARIO AS JSON'`, as in `benches/instructions/check.py`. The
//! program reads no clock: valgrind 3.19 hides the vDSO, and rustix then causes a segmentation fault.

use fairlane_bench::{fail, scenario};
use fairlane_sim::engine;
use std::sync::atomic::AtomicBool;

fn main() {
    let text = std::env::args().nth(1).unwrap_or_else(|| fail("give a scenario as JSON"));
    let scenario = scenario(&text);
    let (network, _) = engine::simulate(&scenario, 0, &AtomicBool::new(false)).expect("nobody cancels");
    println!("{}", network.links[0].accounting().departed);
}
