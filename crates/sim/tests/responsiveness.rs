//! Tests of responsiveness: probes under load.

use crate::common::{self, refusal};
use fairlane_sim::measure::run_record::ResponsivenessRecord;
use serde_json::{Value as Json, json};

/// Returns a scenario of one user on a link of 20 Mbit/s, with an RTT of 40 ms and a queue of `limit` packets.
fn scenario(limit: u32, source: Json) -> Json {
    json!({
        "run": {"warmup": "10 s", "measure": "20 s", "seed": 6},
        "topology": {"bottleneck_rate": "20 Mbit/s", "bottleneck_delay": "19 ms", "access_delay": "1 ms"},
        "queue": {"scheme": "droptail", "limit": format!("{limit} packets")},
        "tcp": {"profile": "linux"},
        "groups": [{"start_until": "1 s", "sources": [source]}],
    })
}

fn run(scenario: &Json) -> ResponsivenessRecord {
    common::run(scenario).groups[0].responsiveness.expect("there is a test")
}

#[test]
fn without_queues_responsiveness_is_that_of_the_round_trip() {
    // A window of 40 kB is a load of 8 Mbit/s and leaves the link partly idle. A round trip takes 40 ms plus at most 2
    // ms for the packet in transmission. This gives 1500 round trips per minute minus at most 5 %. The histogram adds
    // an error of 3.2 %.
    let record = run(&scenario(1000, json!({"kind": "rpm", "flows": 1, "socket_buffer": "40 kB"})));
    for rpm in [record.rpm, record.foreign_rpm, record.loaded_rpm] {
        let rpm = rpm.expect("probes were answered");
        assert!(rpm < 1500.0 * 1.033 && rpm > 1500.0 * 0.95 * 0.967, "{record:?}");
    }
    // On average 200 probes start in 20 s. The tolerance is five standard deviations.
    assert!((record.probes as f64 - 200.0).abs() < 5.0 * 200f64.sqrt(), "{record:?}");
}

#[test]
fn a_full_buffer_takes_responsiveness_away() {
    // 400 packets of 1514 bytes take 242 ms at 20 Mbit/s. So a round trip takes at most 282 ms, which gives at least
    // 212 round trips per minute. CUBIC keeps the buffer more than 40 % full, so a round trip takes at least 137 ms,
    // which gives at most 438 per minute. The tolerance is the histogram's error of 3.2 %.
    let record = run(&scenario(400, json!({"kind": "rpm", "flows": 4})));
    let rpm = record.rpm.expect("probes were answered");
    assert!(rpm > 212.0 * 0.967 && rpm < 438.0 * 1.033, "{record:?}");
    let mean = f64::midpoint(record.foreign_rpm.unwrap(), record.loaded_rpm.unwrap());
    assert!((rpm - mean).abs() < 1e-9);
    let foreign = 60.0 / f64::midpoint(record.tcp_f_s.unwrap(), record.http_f_s.unwrap());
    assert!((record.foreign_rpm.unwrap() - foreign).abs() < 1e-9);
}

#[test]
fn a_test_that_stops_sends_no_further_probes() {
    let record = run(&scenario(400, json!({"kind": "rpm", "flows": 2, "stop": "20 s"})));
    assert!((record.probes as f64 - 100.0).abs() < 5.0 * 100f64.sqrt(), "{record:?}");
}

#[test]
fn senseless_tests_are_one_line() {
    for (source, problem) in [
        (json!({"kind": "rpm", "flows": 0}), "flows: 0 is out of range, it must be from 1 to 1000"),
        (
            json!({"kind": "rpm", "interval": "1 ms"}),
            "interval: \"1 ms\" is out of range, it must be from 10 ms to 1 h",
        ),
    ] {
        let error = refusal(&scenario(10, source));
        assert_eq!(error, format!("groups[0].sources[0].{problem}"));
    }
}
