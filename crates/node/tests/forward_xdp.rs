//! Tests behaviour of the forwarder specific to `AF_XDP`. Its decisions must equal those with `AF_PACKET`.
#![cfg(feature = "ebpf")]

use crate::testbed::{Testbed, until};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

const WIRE: &str = "[[ports]]\ninterface = \"p0\"\n[[ports]]\ninterface = \"p1\"\n";

/// Builds a UDP packet from 10.9.0.`from` with a number and an ECN field. It has `bytes` bytes at the IP layer.
fn frame(from: u8, number: u8, bytes: usize, ecn: u8) -> Vec<u8> {
    let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, from], [2, 0, 0, 0, 0, 9]);
    let mut frame = Vec::new();
    builder.ipv4([10, 9, 0, from], [10, 9, 0, 99], 64).udp(1, 2).write(&mut frame, &vec![number; bytes - 28]).unwrap();
    frame[15] |= ecn;
    let mut header = etherparse::Ipv4Header::from_slice(&frame[14..]).unwrap().0;
    header.header_checksum = header.calc_header_checksum();
    frame[14..34].copy_from_slice(&header.to_bytes());
    frame
}

/// Builds three frames of a heavy user per frame of a light one. Some frames are ECN-capable.
fn frames() -> Vec<Vec<u8>> {
    (0..64).map(|n| frame(if n % 4 == 3 { 2 } else { 1 }, n, 500, if n % 3 == 0 { 2 } else { 0 })).collect()
}

/// Returns the part of a report that does not depend on exact arrival times.
fn decisions(report: &Json) -> Json {
    let egress = &report["ports"][1]["egress"];
    let ingress = &report["ports"][0]["ingress"];
    json!({
        "users": egress["users"], "drops": egress["drops"], "marks": egress["marks"],
        "accounting": egress["accounting"], "longest": egress["queue"]["max_packets"],
        "received": ingress["received"], "line_drops": ingress["line_drops"], "no_frame": ingress["no_frame"],
        "oversized": ingress["oversized"], "without_checksum": ingress["without_checksum"],
        "kernel_drops": ingress["kernel_drops"],
    })
}

#[test]
fn the_same_frames_meet_the_same_decisions_on_both() {
    skip_unless_linked!();
    // A packet of 500 B takes 40 ms. All frames arrive during the first transmission, so the result does not depend on
    // their timing.
    let config = r#"
        frames = 64
        frame_size = "600 B"
        [[users]]
        prefix = "10.9.0.1"
        [[users]]
        prefix = "10.9.0.2"
        [[ports]]
        interface = "p0"
        [[ports]]
        interface = "p1"
        [ports.egress]
        rate = "100 kbit/s"
        [ports.egress.queue]
        scheme = "abc"
        limit = "24 packets"
        q_min = "6 packets"
        q_base = "12 packets"
        gamma = "8 packets"
        "#;
    let run = |io| {
        let testbed = Testbed::on(io, false);
        let mut forwarder = testbed.forward(config);
        let mut sent = frames();
        // This frame exceeds the maximum size, so it is only counted.
        sent.insert(5, frame(1, 255, 700, 0));
        let received = testbed.exchange(&sent, Duration::from_secs(2));
        let report = forwarder.report();
        // On a busy machine the sender may have paused between two frames.
        let largest_gap_s = report["ports"][0]["ingress"]["gaps"]["max_s"].as_f64().unwrap();
        (largest_gap_s < 2e-3).then(|| (decisions(&report), received))
    };
    let run = |io| (0..10).find_map(|_| run(io));
    let (Some(packet), Some(xdp)) = (run("af-packet"), run("af-xdp")) else {
        println!("skipped: the machine is too busy to send 65 frames at once");
        return;
    };
    assert_eq!(packet, xdp);
    let (report, received) = packet;
    assert_eq!((&report["received"]["packets"], &report["oversized"]), (&json!(64), &json!(1)), "{report}");
    let dropped = |user: usize| report["users"][user]["dropped_packets"].as_u64().unwrap();
    // Three times as many packets add almost two units of activity (log2), so hardly any packet of the heavy user is
    // accepted.
    assert!(dropped(0) > 32 && dropped(1) < 16, "{report}");
    assert_eq!(received.len() as u64, 64 - dropped(0) - dropped(1), "{report}");
}

#[test]
fn nothing_stays_at_an_interface_when_the_forwarder_ends_or_is_killed() {
    skip_unless_linked!();
    let testbed = Testbed::on("af-xdp", true);
    let has_program = || ["p0", "p1"].map(|name| testbed.node_ip(&format!("link show {name}")).contains("xdp"));
    let aggregates = || testbed.client_offload("tcp-segmentation-offload");
    assert_eq!((has_program(), aggregates()), ([false; 2], true));
    for signal in [Signal::TERM, Signal::KILL] {
        let mut forwarder = testbed.forward(WIRE);
        assert_eq!((has_program(), aggregates()), ([true; 2], false));
        // veth has no zero-copy.
        let report = forwarder.report();
        assert_eq!(
            (&report["ports"][0]["io"], &report["ports"][1]["io"]),
            (&json!("af-xdp, copy"), &json!("af-xdp, copy"))
        );
        forwarder.end_by(signal);
        // The kernel removes the program shortly after the process that attached it ends.
        let begin = Instant::now();
        while has_program() != [false; 2] && begin.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!((has_program(), aggregates()), ([false; 2], true), "{signal:?}");
    }
}

#[test]
fn what_does_not_allow_it_is_named_with_the_way_out() {
    skip_unless_linked!();
    let testbed = Testbed::on("af-xdp", false);
    let lo = testbed.refusal("[[ports]]\ninterface = \"lo\"\n[[ports]]\ninterface = \"p1\"\n");
    assert_eq!(lo, ("error: lo: its driver has no XDP; set forward.io to \"af-packet\"\n".into(), Some(1)));
    let nowhere = testbed.refusal("[[ports]]\ninterface = \"nowhere0\"\n[[ports]]\ninterface = \"p1\"\n");
    assert_eq!(nowhere, ("error: nowhere0: no such network interface\n".into(), Some(1)));
    let long = testbed.refusal(&format!("frame_size = \"9000 B\"\n{WIRE}"));
    assert!(long.0.contains("forward.frame_size: \"9000 B\" is out of range"), "{long:?}");
    let first = testbed.forward(WIRE);
    let second = testbed.refusal(WIRE);
    assert_eq!(second.0, "error: p0: another program has an AF_XDP socket at its queue\n");
    first.end_by(Signal::TERM);
    testbed.client_ip("link set c0 mtu 9000");
    let large = testbed.refusal(WIRE);
    assert_eq!(large.0, "error: p0: its MTU, or that of the other end of a veth, is too large for XDP\n");
}

#[test]
fn a_burst_that_exceeds_the_frames_is_dropped_and_counted_and_the_rest_passes() {
    skip_unless_linked!();
    let testbed = Testbed::on("af-xdp", false);
    let link = r#"egress = { rate = "100 kbit/s", queue = { scheme = "droptail", limit = "1000 packets" } }"#;
    let mut forwarder = testbed.forward(&format!("frames = 64\n{WIRE}{link}\n"));
    for _ in 0..2 {
        testbed.exchange(&frames(), Duration::from_millis(10));
    }
    // 128 frames arrive. The forwarder has buffers for 64 frames, and each departure frees one buffer.
    let count = |value: &Json| value.as_u64().unwrap();
    let lost = |report: &Json| count(&report["ports"][0]["ingress"]["no_frame"]);
    let left = |report: &Json| count(&report["ports"][1]["egress"]["accounting"]["departed"]);
    let [report] = until([&mut forwarder], |[report]| lost(report) + left(report) == 128);
    assert!(lost(&report) > 0 && lost(&report) + left(&report) == 128, "{report}");
}
