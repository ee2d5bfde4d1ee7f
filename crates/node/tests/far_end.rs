//! Tests the frames by which two nodes agree on labels: which frames are answered, and which are trusted.
#![cfg(feature = "ebpf")]

use crate::common::{DROP, LOOPBACK, PASS, START_NS, config, ipv4, replayed};
use crate::mutate::mutate;
use fairlane_node::kernel::Programs;
use fairlane_node::records::{NeighbourKey, NeighbourState, PortRecord, ReplayInput};
use fairlane_schemes::base::rng::Rng;
use serde_json::json;

/// `TC_ACT_REDIRECT`: the packet goes to the program's destination.
const REDIRECT: i32 = 7;
const LABEL: u32 = 0xfa20_0000;
/// Ethernet address of the loopback interface.
const NODE: [u8; 6] = [0; 6];
/// Address of the far end, the destination of the tests' packets.
const FAR_END: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ASKS: u8 = 1;
const READS: u8 = 2;
const TAG: u8 = 1;
const SHIM: u8 = 3;

/// Builds a frame in the format of docs/node.md. A request asks about its destination address, an answer informs about
/// its source address.
fn frame(to: [u8; 6], from: [u8; 6], kind: u8, carrier: u8, nonce: u32, asked_ns: u64) -> Vec<u8> {
    let mut frame = [&to[..], &from, &[0x88, 0xb6, 1, kind], b"FLRD", &nonce.to_ne_bytes()].concat();
    frame.extend(asked_ns.to_ne_bytes());
    frame.extend(if kind == ASKS { to } else { from });
    frame.push(carrier);
    frame.resize(64, 0);
    frame
}

fn port(arrivals: &str, carrier: &str) -> Programs {
    let programs = replayed(&config(
        &json!({"arrivals": arrivals, "queue": {"scheme": "droptail"}, "carrier": carrier}),
        &json!({}),
    ));
    at(&programs, 10.0);
    programs
}

/// Sets the clock, in seconds since the start.
fn at(programs: &Programs, seconds: f64) -> u64 {
    let now_ns = START_NS + (seconds * 1e9) as u64;
    programs.set_replay(&ReplayInput { now_ns, ..Default::default() }).unwrap();
    now_ns
}

fn arrives(programs: &Programs, frame: &[u8]) -> (i32, Vec<u8>) {
    let (outcome, after) = programs.pass("fairlane_ingress", frame, LOOPBACK, 0).unwrap();
    (outcome.verdict, after)
}

fn is_labelled(programs: &Programs, frame: &[u8]) -> bool {
    let (outcome, after) = programs.pass("fairlane_egress", frame, LOOPBACK, LABEL).unwrap();
    assert_eq!(outcome.verdict, PASS);
    assert!(after.len() == frame.len() + 8 || after == frame);
    after.len() > frame.len()
}

#[test]
fn a_port_that_reads_labels_returns_the_question() {
    skip_unless_possible!();
    let programs = port("trusted", "802.1ad");
    let asks = frame(NODE, FAR_END, ASKS, TAG, 7, 8);
    assert_eq!(arrives(&programs, &asks), (REDIRECT, frame(FAR_END, NODE, READS, TAG, 7, 8)));
    // Answers pass the egress program unchanged.
    let (sent, after) = programs.pass("fairlane_egress", &asks, LOOPBACK, 0).unwrap();
    assert_eq!((sent.verdict, after), (PASS, asks.clone()));
    // The node does not answer requests for other addresses, which a switch may flood, or for another carrier.
    for other in [[0xff; 6], [2, 0, 0, 0, 0, 9]] {
        assert_eq!(arrives(&programs, &frame(other, FAR_END, ASKS, TAG, 7, 8)).0, DROP);
    }
    assert_eq!(arrives(&programs, &frame(NODE, FAR_END, ASKS, SHIM, 7, 8)).0, DROP);
    // A port that will be detached does not answer.
    let known: PortRecord = programs.read("ports", &LOOPBACK).unwrap().unwrap();
    let silent = |until: f64| PortRecord { quiet_until_ns: START_NS + (until * 1e9) as u64, ..known };
    programs.write("ports", &LOOPBACK, &silent(11.0)).unwrap();
    assert_eq!(arrives(&programs, &asks).0, DROP);
    // If the tool is killed before the detach, the port answers again after `quiet_until_ns`.
    at(&programs, 12.0);
    assert_eq!(arrives(&programs, &asks).0, REDIRECT);
}

#[test]
fn hosts_at_a_metered_port_neither_ask_nor_answer() {
    skip_unless_possible!();
    let programs = port("meter", "none");
    for kind in [ASKS, READS] {
        assert_eq!(arrives(&programs, &frame(NODE, FAR_END, kind, TAG, 7, 8)).0, DROP);
    }
    assert_eq!(programs.ingress_stats().unwrap().refused, 2);
    // Packets that only resemble these frames are metered as usual.
    for (byte, at) in [(2, 14), (b'X', 16)] {
        let mut other = frame(NODE, FAR_END, ASKS, TAG, 7, 8);
        other[at] = byte;
        assert_eq!(arrives(&programs, &other).0, PASS);
    }
    let asks = frame(NODE, FAR_END, ASKS, TAG, 7, 8);
    assert_eq!(arrives(&programs, &asks[..63]).0, PASS);
    assert_eq!(programs.ingress_stats().unwrap().metered, 3);
}

fn neighbour(mac: [u8; 6]) -> NeighbourKey {
    NeighbourKey { ifindex: LOOPBACK, mac, carrier: SHIM, reserved: 0 }
}

#[test]
fn labels_wait_for_an_answer_and_stop_without_one() {
    skip_unless_possible!();
    let programs = port("none", "shim");
    let packet = ipv4([10, 0, 0, 1], 0, 100);
    assert!(!is_labelled(&programs, &packet));
    let asked: NeighbourState = programs.read("neighbours", &neighbour(FAR_END)).unwrap().unwrap();
    assert_eq!(asked.asked_ns, at(&programs, 10.0));
    let answer = frame(NODE, FAR_END, READS, SHIM, asked.nonce, asked.asked_ns);
    let wrong = |at: usize| {
        let mut wrong = answer.clone();
        wrong[at] ^= 1;
        wrong
    };
    // The answers have a wrong neighbour, kind, nonce or carrier, or answer a request that has not been sent yet.
    let later = frame(NODE, FAR_END, READS, SHIM, asked.nonce, asked.asked_ns + 1);
    for frame in [wrong(15), wrong(20), wrong(23), wrong(37), wrong(38), later] {
        assert_eq!(arrives(&programs, &frame).0, DROP, "{frame:?}");
        assert!(!is_labelled(&programs, &packet), "{frame:?}");
    }
    assert_eq!(arrives(&programs, &answer).0, DROP);
    assert!(is_labelled(&programs, &packet));
    // Labels are written only to the address that answered, and to multicast addresses.
    let to = |mac: [u8; 6]| [&mac[..], &packet[6..]].concat();
    at(&programs, 10.5);
    assert!(!is_labelled(&programs, &to([2, 0, 0, 0, 0, 9])) && is_labelled(&programs, &to([0xff; 6])));
    // The answer is valid for 2 s after the request, regardless of when it arrived. An equally old answer does not
    // extend this time.
    at(&programs, 11.999);
    assert!(is_labelled(&programs, &packet));
    at(&programs, 12.0);
    arrives(&programs, &answer);
    assert!(!is_labelled(&programs, &packet) && !is_labelled(&programs, &to([0xff; 6])));
}

#[test]
fn frames_that_hosts_make_up_never_have_labels_written() {
    skip_unless_possible!();
    let programs = port("none", "shim");
    let packet = ipv4([10, 0, 0, 1], 0, 100);
    assert!(!is_labelled(&programs, &packet));
    let asked: NeighbourState = programs.read("neighbours", &neighbour(FAR_END)).unwrap().unwrap();
    let mut rng = Rng::stream(38, 0, "far end", 0);
    // Correct except for the nonce.
    let seed = frame(NODE, FAR_END, READS, SHIM, asked.nonce ^ 0x8000_0000, asked.asked_ns);
    for _ in 0..50_000 {
        let mut made_up = seed.clone();
        mutate(&mut rng, &mut made_up, &[0, 1, 2, 3, 0x88, 0xb6, b'F']);
        if made_up.len() >= 14 && made_up.get(20..24) != Some(&asked.nonce.to_ne_bytes()[..]) {
            arrives(&programs, &made_up);
        }
    }
    assert!(!is_labelled(&programs, &packet));
}

#[test]
fn made_up_destinations_are_met_one_in_a_millisecond() {
    skip_unless_possible!();
    let programs = port("none", "shim");
    let packet = ipv4([10, 0, 0, 1], 0, 100);
    for number in 0..1000u16 {
        // 10 ms in total.
        at(&programs, 10.0 + f64::from(number) * 1e-5);
        let [high, low] = number.to_be_bytes();
        assert!(!is_labelled(&programs, &[&[2, 0, 0, 0, high, low], &packet[6..]].concat()));
    }
    let met = programs.keys("neighbours").len();
    assert!((9..=10).contains(&met), "{met}");
}

#[test]
fn an_option_is_written_without_asking() {
    skip_unless_possible!();
    let programs = port("none", "ipv6_option");
    assert!(is_labelled(&programs, &crate::common::ipv6([0xfd; 16], 0, 100)));
    assert_eq!(programs.keys("neighbours"), Vec::<Vec<u8>>::new());
}
