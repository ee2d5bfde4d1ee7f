//! Compares drop-tail from libraries with the built-in one: `cargo run --release --bin scheme_lib -- LIB.so
//! SCHEME[:KEY=NUMBER] ...`.
//!
//! In each turn, all schemes run the same replication one after the other, the built-in one first, so that other load
//! on the machine affects all of them equally. Prints two medians over the turns: delivered packets per CPU second, and
//! the ratio of this number to that of the built-in scheme in the same turn.

use fairlane_bench::fail;
use fairlane_plugin::host;
use fairlane_schemes::registry::external::ExternalScheme;
use fairlane_sim::engine;
use fairlane_sim::scenario::{Externals, Scenario};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const TURNS: u32 = 15;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut known: Vec<ExternalScheme> = Vec::new();
    let mut entries = vec![("droptail".to_owned(), json!({"scheme": "droptail"}))];
    for pair in arguments.chunks(2) {
        let [library, scheme] = pair else { fail("give pairs of a library and one of its schemes") };
        let library = host::load(Path::new(library)).unwrap_or_else(|problem| fail(&problem));
        known.extend(library.into_iter().map(|loaded| loaded.scheme));
        entries.push((scheme.clone(), queue(scheme)));
    }
    let find = |name: &str| known.iter().find(|scheme| &*scheme.name == name).cloned();
    let scenarios: Vec<(String, Scenario)> = entries
        .into_iter()
        .map(|(name, queue)| {
            let externals = Externals { schemes: &find, ..Externals::NONE };
            let read = Scenario::read_with(&default_mix(&queue), externals);
            (name, read.unwrap_or_else(|error| fail(&error.to_string())))
        })
        .collect();
    let mut speeds: Vec<Vec<f64>> = vec![Vec::new(); scenarios.len()];
    for turn in 0..TURNS {
        for ((_, scenario), speeds) in scenarios.iter().zip(&mut speeds) {
            speeds.push(packets_per_cpu_second(scenario, turn));
        }
    }
    for ((name, _), own) in scenarios.iter().zip(&speeds) {
        let mut ratios: Vec<f64> = own.iter().zip(&speeds[0]).map(|(own, built_in)| own / built_in).collect();
        println!(
            "{name:<20} {:>6.2} M packets/CPU-s {:>6.1} %",
            median(&mut own.clone()) / 1e6,
            100.0 * median(&mut ratios)
        );
    }
}

/// Parses a scheme as accepted by `compare`, with numbers as values.
fn queue(text: &str) -> Json {
    let (scheme, settings) = text.split_once(':').unwrap_or((text, ""));
    let mut queue = json!({"scheme": scheme});
    for (key, value) in settings.split(',').filter_map(|setting| setting.split_once('=')) {
        queue[key] = value.parse::<f64>().map_or_else(|_| Json::from(value), Json::from);
    }
    queue
}

/// The mix of abc2018: ten flows of a heavy user and ten light users on 10 Mbit/s.
fn default_mix(queue: &Json) -> Json {
    json!({
        "queue": queue,
        "tcp": {"profile": "ns3.26"},
        "groups": [
            {"name": "heavy", "users": 1, "sources": [{"kind": "tcp", "flows": 10}]},
            {"name": "light", "users": 10, "sources": [{"kind": "tcp", "flows": 1}]},
        ],
    })
}

fn packets_per_cpu_second(scenario: &Scenario, replication: u32) -> f64 {
    let record = engine::run(scenario, replication, &AtomicBool::new(false)).expect("nobody cancels");
    record.performance.delivered_packets as f64 / record.cpu_seconds.expect("it has just ended")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
