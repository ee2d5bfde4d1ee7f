//! Runs every scheme through the same random operations; [`fairlane_schemes::testing::harness`] lists the checks.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{QueueLimit, Time};
use fairlane_schemes::contract::discipline::{QueueDiscipline, StateSize};
use fairlane_schemes::contract::packet::{Ecn, TrafficClass};
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_schemes::testing::harness::{Harness, Offer, Operation, Operations};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs `check` for every scheme, on all cores. Fails with the names of all schemes that violate a property.
fn for_all(check: impl Fn(Scheme) + Sync) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(&scheme) = Scheme::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            if catch_unwind(AssertUnwindSafe(|| check(scheme))).is_err() {
                failed.lock().unwrap().push(scheme.name());
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(worker)));
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "these broke a promise, see above: {}", failed.join(", "));
}

/// Random bytes, the same in every run.
fn noise(length: usize, index: u64) -> Vec<u8> {
    let mut rng = Rng::stream(1, 0, "harness", index);
    std::iter::repeat_with(|| rng.bits().to_le_bytes()).flatten().take(length).collect()
}

const LIMITS: [QueueLimit; 5] = [
    QueueLimit::Packets(24),
    QueueLimit::Packets(1),
    QueueLimit::Packets(1000),
    QueueLimit::Bytes(50_000),
    QueueLimit::Bytes(1500),
];

#[test]
fn every_scheme_keeps_its_promises_over_a_hundred_thousand_operations() {
    every_scheme_keeps_its_promises(100_000);
}

#[test]
#[ignore = "ten seconds of a core; the shorter test above runs for every change"]
fn every_scheme_keeps_its_promises_over_a_million_operations() {
    every_scheme_keeps_its_promises(1_000_000);
}

/// Runs at least `count` random operations for each scheme.
fn every_scheme_keeps_its_promises(count: usize) {
    // An operation consumes 4.06 bytes of noise on average: 6 for an enqueue (112 of 256 operations), 1 for a dequeue
    // (88), 5 for any other (56).
    let noise_per_limit = count * 11 / 10 / LIMITS.len() * 4;
    let noises: Vec<_> = (0..LIMITS.len() as u64).map(|index| noise(noise_per_limit, index)).collect();
    for_all(|scheme| {
        let mut operations = 0;
        for (limit, noise) in LIMITS.iter().zip(&noises) {
            let mut harness = Harness::of(scheme, *limit, 20, 1);
            for operation in Operations::new(noise, 50) {
                harness.step(operation);
                operations += 1;
            }
            harness.check_readings();
            harness.drain();
            let (offered, served, dropped) = harness.counts();
            assert_eq!(offered, served + dropped, "{}", scheme.name());
            assert!(served > 0, "{}: nothing was served", scheme.name());
        }
        assert!(operations >= count, "{operations}");
    });
}

fn packet(flow: u32) -> Operation {
    Operation::Enqueue(Offer {
        flow,
        wire_bytes: 1500,
        class: TrafficClass::BestEffort,
        ecn: Ecn::NotEct,
        forged_label: None,
    })
}

#[test]
fn thirty_thousand_flows_pass() {
    flows_pass(30_000);
}

#[test]
#[ignore = "half a minute of a core; the shorter test above runs for every change"]
fn a_million_flows_pass() {
    flows_pass(1_000_000);
}

/// Sends one packet of each flow, for `flows` flows.
fn flows_pass(flows: u32) {
    for_all(|scheme| {
        let mut harness = Harness::of(scheme, QueueLimit::Packets(100), 1000, 1);
        for flow in 0..flows {
            harness.step(packet(flow));
            harness.step(Operation::Advance(Time::from_micros(1000)));
            if flow % 8 > 0 {
                harness.step(Operation::Dequeue);
            }
        }
        harness.drain();
    });
}

#[test]
fn more_than_two_to_the_forty_bytes_pass() {
    for_all(|scheme| {
        let mut harness = Harness::of(scheme, QueueLimit::Bytes(1 << 40), 2, 1);
        let large = |flow| Offer {
            flow,
            wire_bytes: u32::MAX,
            class: TrafficClass::BestEffort,
            ecn: Ecn::NotEct,
            forged_label: None,
        };
        // 600 packets of 4 GiB exceed 2 TiB, twice the limit.
        for flow in 0..600 {
            harness.step(Operation::Enqueue(large(flow % 4)));
            harness.step(Operation::Advance(Time::from_millis(100)));
        }
        harness.drain();
        harness.check_readings();
    });
}

/// Returns the scheme's state after `flows` flows have ended, the port was idle for a long time, and one flow has sent
/// for some time.
fn state_after(scheme: Scheme, flows: u32) -> StateSize {
    let mut harness = Harness::of(scheme, QueueLimit::Packets(100), 20, 1);
    for flow in 0..flows {
        for _ in 0..3 {
            harness.step(packet(flow));
        }
        harness.step(Operation::Advance(Time::from_millis(2)));
        harness.step(Operation::Dequeue);
    }
    harness.drain();
    harness.step(Operation::Advance(Time::from_secs(3600)));
    for _ in 0..10_000 {
        harness.step(packet(0));
        harness.step(Operation::Advance(Time::from_millis(2)));
        harness.step(Operation::Dequeue);
    }
    harness.drain();
    harness.discipline().state_size()
}

#[test]
fn state_does_not_grow_with_the_flows_that_have_left() {
    for_all(|scheme| {
        let (few, many) = (state_after(scheme, 3000), state_after(scheme, 10_000));
        assert_eq!(few, many, "{}: state after 3000 and after 10000 flows", scheme.name());
    });
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let noise = noise(50_000, 9);
    for_all(|scheme| {
        let run = || {
            let mut harness = Harness::of(scheme, QueueLimit::Packets(24), 20, 7);
            Operations::new(&noise, 50).for_each(|operation| harness.step(operation));
            (harness.counts(), harness.discipline().state_size())
        };
        assert_eq!(run(), run(), "{}", scheme.name());
    });
}
