//! Tests the dumbbell with a reverse link: facts about slow and shared paths of acknowledgements, and packet accounting.

use crate::common::{network, read, refusal, replicate, run};
use fairlane_sim::engine::{self, run_on};
use fairlane_sim::measure::run_record::{GroupRecord, LinkRecord, RunRecord};
use fairlane_sim::network::impairment::Place;
use fairlane_sim::watch::observer::NoObserver;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::sync::atomic::AtomicBool;

/// Bytes on the wire of a full segment, and of an acknowledgement without SACK blocks, in the profile `ns3.26`.
const DATA_BYTES: f64 = 1500.0;
const ACK_BYTES: f64 = 54.0;

fn scenario(topology: &Json, queue: &Json, groups: &Json) -> Json {
    json!({"run": {"warmup": "20 s", "measure": "40 s"}, "topology": topology, "queue": queue, "groups": groups})
}

fn links(record: &RunRecord) -> [&LinkRecord; 2] {
    let [forward, reverse] = &record.links[..] else { panic!("there are two links") };
    [forward, reverse]
}

fn retransmissions(group: &GroupRecord) -> u64 {
    group.tcp.as_ref().expect("it has TCP flows").retransmissions
}

/// One flow that its window limits, over 10 Mbit/s, with this reverse link.
fn one_flow(reverse: &Json, delayed_ack: u32) -> RunRecord {
    let source = json!({"kind": "tcp", "profile": "ns3.26", "delayed_ack": delayed_ack, "socket_buffer": "80 kB"});
    let groups = json!([{"sources": [source]}]);
    run(&scenario(&json!({"reverse": reverse}), &json!({"scheme": "droptail", "limit": "1000 packets"}), &groups))
}

/// RFC 3449 3.1: k is the ratio of the raw rates divided by the ratio of the packet sizes. If the receiver acknowledges
/// every d-th segment and k > d, acknowledgements saturate the reverse link. If the reverse link drops none of them,
/// each releases d segments. So the use of the forward link is d / k.
#[test]
fn a_slow_reverse_link_limits_throughput_to_d_over_k() {
    for delayed_ack in [1, 2] {
        for k in [4.0, 10.0] {
            let rate = (10e6 * ACK_BYTES / DATA_BYTES / k).round();
            let record = one_flow(&json!({"rate": format!("{rate} bit/s")}), delayed_ack);
            let [forward, reverse] = links(&record);
            let expected = f64::from(delayed_ack) / k;
            assert_eq!((forward.accounting.dropped, reverse.accounting.dropped), (0, 0));
            assert!(reverse.utilisation > 0.9999, "{}", reverse.utilisation);
            // At the ends of the 40 s, one acknowledgement more or less may release its segments.
            assert!((forward.utilisation - expected).abs() < 1e-3, "{} {expected}", forward.utilisation);
        }
    }
}

/// Acknowledgements are cumulative, so the loss of some causes no retransmission, and each that arrives releases more
/// segments. So the use of the forward link exceeds d / k. Here it is that of the window and of a round trip in which
/// acknowledgements find a full queue of five, and between none and the whole of a transmission left.
#[test]
fn later_acknowledgements_repair_the_loss_of_earlier_ones() {
    let rate = 10e6 * ACK_BYTES / DATA_BYTES / 10.0;
    let queue = json!({"scheme": "droptail", "limit": "5 packets"});
    let record = one_flow(&json!({"rate": format!("{} bit/s", rate.round()), "queue": queue}), 1);
    let [forward, reverse] = links(&record);
    assert!(reverse.accounting.dropped > 1000, "{:?}", reverse.accounting);
    assert_eq!((retransmissions(&record.groups[0]), record.groups[0].path.dropped_packets), (0, 0));
    let window = 8.0 * DATA_BYTES * (80_000.0_f64 / 1446.0).floor() / 10e6;
    let used = |waits: f64| window / (2.0 * 0.0051 + waits * 8.0 * ACK_BYTES / rate);
    let expected = used(7.0)..used(5.0);
    assert!(expected.contains(&forward.utilisation), "{} {expected:?}", forward.utilisation);
}

/// Zhang, Shenker and Clark (SIGCOMM 1991) find with traffic in both directions that acknowledgements wait behind data
/// and then leave back to back (ACK-compression), and that queues synchronise so that links are used less than with
/// one-way traffic, even with very large buffers.
///
/// With equal fixed windows of W segments, both queues fill and drain together: the acknowledgements of one window wait
/// behind the other window's data, and then release a window at once. So a cycle lasts the W transmissions of data, one
/// of an acknowledgement, and the one-way delay. One-way traffic uses the link fully, since the window exceeds the
/// bandwidth-delay product, and its queue stays within a packet; in two-way traffic it empties in each cycle.
#[test]
fn two_way_traffic_compresses_acknowledgements_and_leaves_both_links_idle() {
    let (window, delay_s, rate_bps) = (40.0, 0.15, 1e6);
    let source = |direction: &str| {
        json!({"kind": "tcp", "profile": "ns3.26", "delayed_ack": 1, "direction": direction,
            "socket_buffer": format!("{} B", 1446.0 * window)})
    };
    // Together with the access links, the delay is 150 ms.
    let topology = json!({"bottleneck_rate": "1 Mbit/s", "bottleneck_delay": "149.9 ms",
        "reverse": {"rate": "1 Mbit/s", "delay": "149.9 ms"}});
    let group =
        |name: &str, direction: &str| json!({"name": name, "start_until": "0 s", "sources": [source(direction)]});
    let queue = json!({"scheme": "droptail", "limit": "1000 packets"});
    let one_way = run(&scenario(&topology, &queue, &json!([group("up", "forward")])));
    let two_way = run(&scenario(&topology, &queue, &json!([group("up", "forward"), group("down", "reverse")])));
    let used_lengths = |link: &LinkRecord| link.queue.distribution.iter().filter(|share| **share > 0.0).count();
    let [alone, _] = links(&one_way);
    assert!(alone.utilisation > 0.9999 && used_lengths(alone) == 2, "{:?}", alone.queue);
    let data_s = window * 8.0 * DATA_BYTES / rate_bps;
    let ack_s = 8.0 * ACK_BYTES / rate_bps;
    let expected = data_s / (data_s + ack_s + delay_s);
    for (link, group) in links(&two_way).into_iter().zip(&two_way.groups) {
        let used = group.throughput_bps / rate_bps;
        // The 40 s have 63 cycles, one more or less.
        assert!((used / expected - 1.0).abs() < 1.0 / 60.0, "{used} {expected}");
        assert!(link.utilisation < used + window * ack_s / (data_s + delay_s) + 0.01, "{}", link.utilisation);
        assert!(used_lengths(link) > 20 && link.queue.distribution[0] > 0.1, "{:?}", link.queue);
        assert_eq!(link.accounting.dropped, 0);
    }
}
