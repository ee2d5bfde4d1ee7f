//! Measures how well replications run in parallel, with turns on one and on several threads interleaved.
//!
//! `cargo run --release --bin parallel [threads] [replications] [turns]` runs the default scenario of abc2018 with ABC.
//! Wall efficiency is T(1) / (N * T(N)), where T(N) is the shortest wall-clock time of a turn on N threads. On a busy
//! machine, use CPU efficiency: the CPU time of a turn on one thread divided by the CPU time of a turn on N threads, as
//! the median of the turns. CPU efficiency shows how much the threads slow each other down (caches, memory, locks), but
//! not how long threads wait for the slowest one.

use fairlane_sim::engine::batch::Batch;
use fairlane_sim::scenario::Scenario;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Wall and CPU time of one turn in seconds.
struct Turn {
    wall: f64,
    cpu: f64,
}

fn turn(scenario: &Arc<Scenario>, replications: u32, threads: usize) -> Turn {
    let start = Instant::now();
    let jobs = (0..replications).map(|number| (scenario.clone(), number)).collect();
    let batch = Batch::start(jobs, threads).expect("the system starts a thread");
    let mut cpu = 0.0;
    while batch.remaining() > 0 {
        if let Some((_, outcome)) = batch.next(Duration::from_secs(60)) {
            cpu += outcome.expect("no replication fails").cpu_seconds.unwrap_or_default();
        }
    }
    Turn { wall: start.elapsed().as_secs_f64(), cpu }
}

fn best(turns: &[Turn]) -> f64 {
    turns.iter().map(|turn| turn.wall).fold(f64::INFINITY, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: u32| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default).max(1);
    let (threads, replications, turns) = (next(2) as usize, next(16), next(5));
    let scenario = json!({
        "queue": {"scheme": "abc"},
        "tcp": {"profile": "ns3.26"},
        "groups": [
            {"name": "heavy", "users": 1, "sources": [{"kind": "tcp", "flows": 10}]},
            {"name": "light", "users": 10, "sources": [{"kind": "tcp"}]},
        ],
    });
    let scenario = Arc::new(Scenario::read(&scenario).expect("the scenario is sound"));
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for number in 1..=turns {
        one.push(turn(&scenario, replications, 1));
        all.push(turn(&scenario, replications, threads));
        println!(
            "turn {number}: {replications} replications in {:.2} s on 1 thread, {:.2} s on {threads}",
            one[one.len() - 1].wall,
            all[all.len() - 1].wall,
        );
    }
    let cpu = median(one.iter().zip(&all).map(|(one, all)| one.cpu / all.cpu).collect());
    println!(
        "wall efficiency {:.1} % (best of {turns}), CPU efficiency {:.1} % (median of {turns})",
        100.0 * best(&one) / (threads as f64 * best(&all)),
        100.0 * cpu,
    );
}
