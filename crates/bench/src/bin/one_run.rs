//! Measures the wall-clock time of one run on one thread and on several, interleaved.
//!
//! `cargo run --release --bin one_run -- 'SCENARIO AS JSON' [threads] [turns]`; `make bench-parallel` passes an access
//! network. The program prints the times of each turn while it runs, and a line of JSON at the end.

use fairlane_bench::{fail, scenario};
use fairlane_sim::engine::partition::Partition;
use fairlane_sim::engine::{run_by, try_observe};
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::watch::observer::NoObserver;
use serde_json::json;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Record of a run, and its wall-clock time in seconds.
fn timed(run: impl FnOnce() -> RunRecord) -> (RunRecord, f64) {
    let start = Instant::now();
    let record = run();
    let seconds = start.elapsed().as_secs_f64();
    (record, seconds)
}

/// Record as JSON text, without the CPU time.
fn bytes(record: &RunRecord) -> String {
    serde_json::to_string(&RunRecord { cpu_seconds: None, ..record.clone() }).expect("a record has JSON")
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scenario = scenario(&arguments.next().unwrap_or_else(|| fail("give a scenario as JSON")));
    let mut number = |default: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default).max(1);
    let (threads, turns) = (number(2), number(9));
    let partition = Partition::new(&scenario, threads).unwrap_or_else(|why| fail(&why.to_string()));
    eprintln!("{} parts, lookahead {}", partition.parts(), partition.lookahead());
    let cancelled = AtomicBool::new(false);
    let (mut seconds, mut cpu) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for turn in 1..=turns {
        let one = timed(|| try_observe(&scenario, 0, &cancelled, &mut NoObserver).expect("nobody cancels"));
        let several = timed(|| run_by(&scenario, 0, &partition, &cancelled, &mut NoObserver).expect("nobody cancels"));
        assert!(bytes(&one.0) == bytes(&several.0), "the records are the same");
        for (index, (record, time)) in [one, several].into_iter().enumerate() {
            seconds[index].push(time);
            cpu[index].push(record.cpu_seconds.unwrap_or_default());
        }
        let [on_one, on_several] = [0, 1].map(|index| seconds[index][turn - 1]);
        eprintln!("turn {turn}: {on_one:.2} s on 1 thread, {on_several:.2} s on {threads}: {:.2}", on_one / on_several);
    }
    let [one, several] = &seconds;
    let gains: Vec<f64> = one.iter().zip(several).map(|(one, several)| one / several).collect();
    let line = json!({"users": scenario.users(), "links": scenario.topology.links.len(), "threads": threads,
        "parts": partition.parts(), "lookahead_s": partition.lookahead().as_secs_f64(), "gains": gains,
        "seconds": seconds, "cpu_seconds": cpu});
    println!("{line}");
}
