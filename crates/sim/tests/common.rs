//! Reads and runs scenarios.

use fairlane_sim::engine;
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::network::Network;
use fairlane_sim::scenario::Scenario;
use serde_json::Value as Json;
use std::sync::atomic::AtomicBool;

pub fn read(scenario: &Json) -> Scenario {
    Scenario::read(scenario).unwrap_or_else(|error| panic!("{error} in {scenario}"))
}

pub fn refusal(scenario: &Json) -> String {
    Scenario::read(scenario).expect_err("it is refused").to_string()
}

/// Runs a replication. Returns its record without the cost, which differs between runs.
pub fn replicate(scenario: &Json, replication: u32) -> RunRecord {
    let record = engine::run(&read(scenario), replication, &AtomicBool::new(false)).expect("nobody cancels");
    RunRecord { cpu_seconds: None, ..record }
}

pub fn run(scenario: &Json) -> RunRecord {
    replicate(scenario, 0)
}

/// Network at the end of a run.
pub fn network(scenario: &Json) -> Network {
    engine::simulate(&read(scenario), 0, &AtomicBool::new(false)).expect("nobody cancels").0
}
