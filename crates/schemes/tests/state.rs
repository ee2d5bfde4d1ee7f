//! Tests that the state sizes in module heads and chapters agree with the code.

use fairlane_schemes::aqm::codel::Codel;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{QueueDiscipline, StateSize};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::label::abc::{AbcAqm, AbcMeter};
use fairlane_schemes::registry::catalogue::idle_bytes;
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_schemes::testing::{Drops, TestPacket, read_queue};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Returns the state of a port where one packet of each of `flows` users waits.
fn state(queue: &Json, flows: u32) -> StateSize {
    let mut port = read_queue(queue.clone()).unwrap().build::<TestPacket>(BitRate(10_000_000), &Weights::equal());
    let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
    for flow in 0..flows {
        let packet = TestPacket { flow, user: flow, wire_bytes: 100, label: -1.0, ..Default::default() };
        port.enqueue(packet, Time::ZERO, &mut rng, &mut drops);
    }
    assert!(drops.0.is_empty(), "{queue}: {:?}", drops.0.first());
    port.state_size()
}

/// Returns the head of a module as one line.
fn head(module: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/{module}.rs"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn records_have_the_bytes_that_the_head_states() {
    let threshold = |packets: u32| format!("{packets} packets");
    let cases = [
        ("fairqueue/wfq", json!({"scheme": "wfq"}), 133),
        ("fairqueue/drr", json!({"scheme": "drr"}), 101),
        ("fairqueue/fdpa", json!({"scheme": "fdpa"}), 65),
        ("fairqueue/stfq", json!({"scheme": "stfq"}), 17),
        ("fairqueue/afq", json!({"scheme": "afq", "bids": "exact"}), 25),
        ("fairqueue/sfq", json!({"scheme": "sfq"}), 76),
        ("label/afpft", json!({"scheme": "afpft"}), 25),
        // Above q_high = 1 every packet pays the full price, so every user has a record.
        ("aqm/cp_aqm", json!({"scheme": "cp_aqm", "q_low": threshold(0), "q_high": threshold(1)}), 25),
        ("aqm/fred", json!({"scheme": "fred", "min_th": threshold(90), "max_th": threshold(180)}), 25),
        ("fairqueue/htb/mod", json!({"scheme": "htb", "leaf": "droptail"}), 285),
    ];
    for (module, mut queue, bytes) in cases {
        queue["limit"] = json!("200 packets");
        let (few, many) = (state(&queue, 20), state(&queue, 80));
        assert!(many.records > few.records, "{module}");
        assert_eq!(many.bytes - few.bytes, bytes * (many.records - few.records), "{module}");
        assert!(head(module).contains(&format!("{bytes} bytes")), "{module}: its head does not say {bytes} bytes");
    }
}

#[test]
fn queues_with_a_codel_of_their_own_and_meters_have_the_bytes_that_are_stated() {
    let bytes_of = |buckets: u32| state(&json!({"scheme": "fq_codel", "buckets": buckets}), 0).bytes;
    assert_eq!(bytes_of(1024) - bytes_of(24), 116 * 1000);
    assert!(head("fairqueue/fq_codel").contains("116 bytes"));
    assert_eq!(size_of::<Codel>(), 40);
    assert!(head("aqm/codel").contains("40 bytes"));
    assert_eq!((size_of::<AbcMeter>(), size_of::<AbcAqm>()), (32, 120));
    assert!(head("label/abc/mod").contains("32 bytes per user"));
}

#[test]
fn the_catalogue_counts_an_idle_port() {
    // Drop-tail has only the queue. BLUE stores the probability (8 bytes), the time of its last change (16) and
    // parameters (48).
    assert_eq!([Scheme::DropTail, Scheme::Blue].map(idle_bytes::<TestPacket>), [0, 72]);
    for &scheme in Scheme::ALL {
        let state = state(&json!({"scheme": scheme.name()}), 0);
        assert_eq!(idle_bytes::<TestPacket>(scheme), state.bytes, "{}", scheme.name());
    }
}
