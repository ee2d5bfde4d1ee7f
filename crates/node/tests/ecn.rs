//! Tests that ABC in the kernel marks instead of dropping if the packet is ECN-capable and marking is configured.
#![cfg(feature = "ebpf")]

use crate::common::{DROP, LOOPBACK, PASS, START_NS, config, ipv4, ipv6, replayed};
use fairlane_node::kernel::Programs;
use fairlane_node::records::ReplayInput;
use serde_json::json;

const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// Creates a node with Q_base of 20 packets and gamma of 16. A packet without a label is treated as a packet of average
/// activity: it is dropped if the queue has 20 packets or more. If it can be marked, it is dropped at 36 packets or
/// more.
fn node(ecn: bool) -> Programs {
    replayed(&config(&json!({"queue": {"scheme": "abc", "ecn": ecn, "limit": "100 packets"}}), &json!({})))
}

/// Sends a frame while `packets` wait in the queue. Returns the verdict and the departing frame.
fn send(programs: &Programs, frame: &[u8], packets: u32) -> (i32, Vec<u8>) {
    programs.set_replay(&ReplayInput { now_ns: START_NS, packets, ..Default::default() }).unwrap();
    let (outcome, after) = programs.pass("fairlane_egress", frame, LOOPBACK, 0).unwrap();
    (outcome.verdict, after)
}

/// Folded sum of a header's words: all ones if its checksum is correct (RFC 1071).
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

/// An IPv4 frame with an ECN field and a correct checksum.
fn v4(ecn: u8, dscp: u8) -> Vec<u8> {
    let mut frame = ipv4([10, 0, 0, 1], dscp, 200);
    frame[15] |= ecn;
    let checksum = !sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(sum(&frame[14..34]), 0xffff);
    frame
}

fn v6(ecn: u8, dscp: u8) -> Vec<u8> {
    let mut frame = ipv6([0xfd; 16], dscp, 200);
    frame[15] |= ecn << 4;
    frame
}

#[test]
fn packets_that_can_be_marked_are_marked_and_their_checksum_stays_right() {
    skip_unless_possible!();
    let programs = node(true);
    for (ecn, dscp) in [(ECT_0, 0), (ECT_1, 0), (ECT_0, 46), (ECT_1, 63), (CE, 10)] {
        let frame = v4(ecn, dscp);
        let (verdict, after) = send(&programs, &frame, 20);
        assert_eq!((verdict, after[15] & 3, after[15] >> 2), (PASS, CE, dscp));
        assert_eq!(sum(&after[14..34]), 0xffff, "{ecn} {dscp}");
        // Nothing else changes.
        assert_eq!((&after[..15], &after[16..24], &after[26..]), (&frame[..15], &frame[16..24], &frame[26..]));
        let frame = v6(ecn, dscp);
        let (verdict, after) = send(&programs, &frame, 20);
        assert_eq!((verdict, after[15] >> 4 & 3), (PASS, CE));
        assert_eq!((&after[..15], after[15] & 0xcf, &after[16..]), (&frame[..15], frame[15] & 0xcf, &frame[16..]));
    }
    let state = programs.port_state(LOOPBACK).unwrap().total();
    assert_eq!((state.marked, state.accepted, state.dropped), (10, 10, 0));
}

#[test]
fn marks_are_found_behind_tags_and_pppoe() {
    skip_unless_possible!();
    let programs = node(true);
    let frame = v4(ECT_0, 0);
    for (between, at) in [
        (&[0x81, 0, 0, 7, 8, 0][..], 18),
        (&[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7, 8, 0], 22),
        (&[0x88, 0x64, 0x11, 0, 0, 42, 0, 202, 0, 0x21], 22),
    ] {
        let (verdict, after) = send(&programs, &[&frame[..12], between, &frame[14..]].concat(), 20);
        assert_eq!((verdict, after[at + 1] & 3, sum(&after[at..at + 20])), (PASS, CE, 0xffff), "{between:x?}");
    }
}

#[test]
fn what_cannot_be_marked_or_sends_on_in_spite_of_marks_is_dropped() {
    skip_unless_possible!();
    let programs = node(true);
    // Below the threshold packets pass unchanged, with any ECN field.
    for ecn in [NOT_ECT, ECT_0, ECT_1, CE] {
        assert_eq!(send(&programs, &v4(ecn, 0), 19), (PASS, v4(ecn, 0)));
    }
    for (frame, packets, verdict) in [
        (v4(NOT_ECT, 0), 20, DROP),
        (v6(NOT_ECT, 0), 20, DROP),
        // ECN-capable packets are dropped if the queue has Q_base + gamma = 36 packets or more.
        (v4(ECT_0, 0), 35, PASS),
        (v4(ECT_0, 0), 36, DROP),
        (v6(ECT_1, 0), 36, DROP),
        (v4(CE, 0), 36, DROP),
    ] {
        assert_eq!(send(&programs, &frame, packets).0, verdict, "{packets}");
    }
    // No ECN in other protocols.
    let mut other = crate::common::ethernet(0x88b6);
    other.resize(64, 0xff);
    assert_eq!(send(&programs, &other, 20).0, DROP);
    // Marking is not configured.
    assert_eq!(send(&node(false), &v4(ECT_0, 0), 20).0, DROP);
}

#[test]
fn a_mark_is_no_way_around_the_limit() {
    skip_unless_possible!();
    let port = json!({"queue": {"scheme": "abc", "ecn": true, "limit": "24 packets"}});
    let programs = replayed(&config(&port, &json!({})));
    assert_eq!(send(&programs, &v4(ECT_0, 0), 23).0, PASS);
    assert_eq!(send(&programs, &v4(ECT_0, 0), 24).0, DROP);
    let state = programs.port_state(LOOPBACK).unwrap().total();
    assert_eq!((state.marked, state.overlimit), (1, 1));
}
