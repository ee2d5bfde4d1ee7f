//! Tests that a C program can provide congestion controls to a simulation.

use crate::support::{compiler, with_host};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn controls_in_c_serve_senders_and_their_mistakes_are_told() {
    let Some(mut compiler) = compiler("CC", "cc") else { return };
    compiler.args(["-std=c11", "-pedantic"]);
    let output = with_host(compiler, "control.c", |program| {
        let output = Command::new(program).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    });
    let told: BTreeMap<&str, &str> = output.lines().filter_map(|line| line.split_once(' ')).collect();
    let record = |name: &str| -> Json {
        let mut record: Json = serde_json::from_str(told[name].strip_prefix("0 ").expect(name)).unwrap();
        record.as_object_mut().unwrap().remove("cpu_seconds");
        record
    };
    let reno = record("reno");
    assert!(reno["groups"][0]["tcp"]["fast_recoveries"].as_u64().unwrap() > 2, "losses show the rule");
    assert_eq!(record("c-reno"), reno);
    // AIMD fills the link if the buffer is a bandwidth-delay product.
    let utilisation = record("c-aimd")["links"][0]["utilisation"].as_f64().unwrap();
    assert!(utilisation > 0.9, "{utilisation}");
    assert_eq!(told["c-failing"], "3 c-failing: on_ack failed with 7");
    assert_eq!(told["c-zero"], "3 c-zero set a window of 0 bytes, it must be positive");
    assert!(
        told["c-none"].starts_with("3 tcp.congestion_control: \"c-none\" is not one of reno"),
        "{}",
        told["c-none"]
    );
    assert_eq!(told["c-newer"], "3 controls[0].version: 2 must be 1, that of this library");
    assert!(told["c-short"].starts_with("3 controls[0].size: "), "{}", told["c-short"]);
    assert_eq!(told["c-deaf"], "3 controls[0].on_ack: null, but kind 0 needs it");
    assert_eq!(told["c-half"], "3 controls[0].reduce: null, but kind 1 needs it");
    assert_eq!(told["c-kind"], "3 controls[0].kind: 2 must be 0 or 1");
    assert_eq!(told["c-marks"], "3 controls[0].marks: 3 must be 0, 1 or 2");
    assert_eq!(told["open"], "0", "each connection that was made is ended");
}
