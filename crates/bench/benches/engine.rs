//! Measures the cost of the engine: the event set by size, and whole runs of abc2018's default scenario. `cargo bench
//! --bench engine`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use fairlane_sim::engine;
use fairlane_sim::engine::event_set::EventSet;
use fairlane_sim::scenario::Scenario;
use serde_json::json;
use std::sync::atomic::AtomicBool;

/// The hold model: takes the earliest event and puts it back at a random later time.
fn event_set(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event_set_hold");
    group.throughput(Throughput::Elements(1));
    for entities in [16usize, 64, 1024, 65_536] {
        let mut events = EventSet::new(entities);
        let mut rng = Rng::stream(1, 0, "bench", 0);
        for entity in 0..entities as u32 {
            events.set(entity, Time(rng.bits() >> 40));
        }
        group.bench_function(BenchmarkId::from_parameter(entities), |bencher| {
            bencher.iter(|| {
                let (now, entity) = events.next();
                events.set(entity, now + Time(rng.bits() >> 40));
            });
        });
    }
    group.finish();
}

/// Ten simulated seconds of the default scenario, with about 8 300 packets over the bottleneck.
fn default_scenario(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("default_scenario_10_s");
    group.sample_size(20);
    for scheme in ["droptail", "abc"] {
        let scenario = json!({
            "run": {"warmup": "1 s", "measure": "9 s"},
            "queue": {"scheme": scheme},
            "tcp": {"profile": "ns3.26"},
            "groups": [
                {"start_until": "1 s", "sources": [{"kind": "tcp", "flows": 10}]},
                {"users": 10, "start_until": "1 s", "sources": [{"kind": "tcp"}]},
            ],
        });
        let scenario = Scenario::read(&scenario).expect("the scenario is sound");
        let run = || engine::run(&scenario, 0, &AtomicBool::new(false)).expect("nobody cancels");
        group.throughput(Throughput::Elements(run().performance.delivered_packets));
        group.bench_function(BenchmarkId::from_parameter(scheme), |bencher| bencher.iter(run));
    }
    group.finish();
}

criterion_group!(benches, event_set, default_scenario);
criterion_main!(benches);
