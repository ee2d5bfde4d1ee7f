//! Tests the dumbbell with a reverse link: facts about slow and shared paths of acknowledgements, and accounting.

use crate::common::{network, read, refusal, replicate, run};
use crate::invariants::{impairments, with_parts};
use fairlane_sim::engine::{self, run_on};
use fairlane_sim::measure::run_record::{GroupRecord, LinkRecord, RunRecord};
use fairlane_sim::network::impairment::Place;
use fairlane_sim::watch::observer::{NoObserver, Observer};
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

/// Without a reverse link, acknowledgements cross a FIFO of the bottleneck's rate and delay that drops none. A reverse
/// link with these values, a long queue and no data gives the same results to the last bit. With a much faster one,
/// fair queueing gives nearly the same rates.
#[test]
fn a_reverse_link_without_data_is_like_none() {
    let group = |name: &str, rtt: &str| json!({"name": name, "users": 3, "rtt": rtt, "sources": [{"kind": "tcp"}]});
    let groups = json!([group("near", "20 ms"), group("far", "40 ms")]);
    let long = json!({"scheme": "droptail", "limit": "1000000 packets"});
    for scheme in ["droptail", "fq_codel", "pie"] {
        let record = |topology: Json| run(&scenario(&topology, &json!({"scheme": scheme}), &groups));
        let without = record(json!({}));
        let alike = record(json!({"reverse": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": long}}));
        assert_eq!(without.groups, alike.groups, "{scheme}");
        assert_eq!(without.links[0], alike.links[0], "{scheme}");
        let fast = record(json!({"reverse": {"rate": "10 Gbit/s", "queue": long}}));
        for (without, fast) in without.groups.iter().zip(&fast.groups).filter(|_| scheme == "fq_codel") {
            assert!((fast.throughput_bps / without.throughput_bps - 1.0).abs() < 0.01, "{}", fast.throughput_bps);
        }
    }
}

/// In an empty network, a transfer takes as long in either direction as over the links' delays and rates: a round trip
/// for the handshake, and the delay of the data. Shares count both directions of a user, without acknowledgements.
#[test]
fn a_user_may_send_in_both_directions() {
    let topology = json!({"bottleneck_rate": "10 Mbit/s", "bottleneck_delay": "10 ms", "access_delay": "3 ms",
        "reverse": {"rate": "40 Mbit/s", "delay": "20 ms"}});
    let transfer = |direction: &str| json!({"kind": "tcp", "transfer": "1 kB", "direction": direction});
    let group = |direction: &str| json!({"name": direction, "start_until": "0 s", "sources": [transfer(direction)]});
    let record = run(&json!({"run": {"warmup": "0 s", "measure": "2 s"}, "topology": topology,
        "queue": {"scheme": "droptail"}, "groups": [group("forward"), group("reverse")]}));
    let finish = |index: usize| record.groups[index].transfers[0].finish_s.expect("it ends");
    // Transmissions take 1.3 ms at most: a SYN and data of 1054 bytes at 10 and at 100 Mbit/s, and acknowledgements.
    for (finish, propagation) in [(finish(0), 0.036 + 0.013), (finish(1), 0.036 + 0.023)] {
        assert!((0.0..0.0015).contains(&(finish - propagation)), "{finish} {propagation}");
    }
    let udp = |direction: &str, rate: &str| json!({"kind": "cbr", "rate": rate, "direction": direction});
    let both = json!([{"users": 2, "sources": [udp("forward", "2 Mbit/s"), udp("reverse", "12 Mbit/s"),
        {"kind": "tcp", "direction": "reverse"}]}]);
    let record = run(&scenario(&topology, &json!({"scheme": "sfq"}), &both));
    let [forward, reverse] = links(&record);
    let group = &record.groups[0];
    // The forward link has 4 Mbit/s of datagrams, and acknowledgements. A share is 2 Mbit/s of one link and half of the
    // other.
    assert!(forward.throughput_bps > 4.1e6 && forward.throughput_bps < 5e6, "{}", forward.throughput_bps);
    assert!((2.0 * group.throughput_bps - reverse.throughput_bps - 4e6).abs() < 1e3, "{}", group.throughput_bps);
    assert_eq!(group.max_min_share_bps, 22e6);
    assert_eq!((forward.max_min_utilisation, reverse.max_min_utilisation), (0.4, 1.0));
}

/// Random sources in both directions, with any of these schemes on each link, and with losses.
fn drawn() -> impl Strategy<Value = Json> {
    let queue = || {
        let scheme = prop::sample::select(&["droptail", "abc", "fq_codel", "red", "csfq", "afpft", "sfq", "cake"][..]);
        (scheme, 24u32..60).prop_map(|(scheme, limit)| json!({"scheme": scheme, "limit": format!("{limit} packets")}))
    };
    let control = prop_oneof![Just("cubic"), Just("bbr1"), Just("reno")];
    let source = prop_oneof![
        (1u32..4, control).prop_map(|(flows, control)| json!({"kind": "tcp", "flows": flows, "profile": "linux",
            "congestion_control": control})),
        (1u32..3).prop_map(|ack| json!({"kind": "tcp", "flows": 2, "delayed_ack": ack, "profile": "ns3.26"})),
        (50u64..9000).prop_map(|rate| json!({"kind": "poisson", "rate": format!("{rate} kbit/s")})),
        Just(json!({"kind": "voip"})),
    ];
    let transfers = prop_oneof![
        (20u64..200).prop_map(|ms| json!({"kind": "web", "interval": format!("{ms} ms")})),
        (1u64..50_000).prop_map(|bytes| json!({"kind": "tcp", "transfer": format!("{bytes} B"), "repeat": 5})),
        (10u32..300).prop_map(|ms| json!({"kind": "rpm", "flows": 2, "interval": format!("{ms} ms")})),
    ];
    let towards = |direction: bool| if direction { "reverse" } else { "forward" };
    let sources = prop::collection::vec((source, any::<bool>()), 1..3);
    let transfers = prop::option::of((transfers, any::<bool>()));
    let group = (1u32..4, 1u32..3, sources, transfers, prop::option::of(impairments())).prop_map(
        move |(users, ingresses, sources, transfers, access)| {
            let directed = |(mut source, direction): (Json, bool)| {
                source["direction"] = towards(direction).into();
                source
            };
            let sources: Vec<Json> = sources.into_iter().chain(transfers).map(directed).collect();
            let mut group = json!({"users": users, "ingresses": ingresses, "sources": sources, "start_until": "0.5 s"});
            with_parts(&mut group, "access_", access);
            group
        },
    );
    let reverse = (100u64..20_000, 0u32..20, prop::option::of(queue()), prop::option::of(impairments()));
    let series = prop::option::of(Just("100 ms"));
    (queue(), prop::collection::vec(group, 1..4), reverse, series, 0u64..1000).prop_map(
        |(queue, mut groups, (rate, delay, own, parts), series, seed)| {
            for (number, group) in groups.iter_mut().enumerate() {
                group["name"] = format!("g{number}").into();
            }
            let mut reverse = json!({"rate": format!("{rate} kbit/s"), "delay": format!("{delay} ms")});
            if let Some(own) = own.filter(|own| ["abc", "csfq", "afpft"].iter().all(|scheme| own["scheme"] != *scheme))
            {
                reverse["queue"] = own;
            }
            with_parts(&mut reverse, "", parts);
            let mut scenario = json!({
                "run": {"warmup": "1 s", "measure": "1 s", "seed": seed},
                "topology": {"bottleneck_delay": "2 ms", "access_limit": "10 packets", "reverse": reverse},
                "queue": queue, "groups": groups,
            });
            if let Some(series) = series {
                scenario["probes"] = json!({"series_interval": series, "series_link": "reverse"});
            }
            scenario
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Every packet that enters an access link, a link or an impairment leaves it, is dropped there, or is still there;
    /// and an acknowledgement keeps its slot as long as its packet exists.
    #[test]
    fn every_packet_is_accounted_for_in_both_directions(scenario in drawn()) {
        let network = network(&scenario);
        let [forward, reverse] = [0, 1].map(|index| {
            let link = &network.links[index];
            let account = link.accounting();
            assert_eq!(account.arrived, account.departed + account.dropped + u64::from(link.backlog().packets));
            account
        });
        let (offered, refused, at_access) = network.hosts.accounting();
        let (mut lost, mut held, mut copied) = ([0; 3], [0; 3], [0; 3]);
        for impairment in &network.impairments {
            let place = match impairment.place() { Place::Access { .. } => 2, Place::Link(link) => link as usize };
            lost[place] += impairment.account().lost;
            held[place] += impairment.held() as u64;
            copied[place] += impairment.account().copied;
        }
        prop_assert_eq!(forward.arrived + lost[2] + held[2], offered - refused - at_access + copied[2]);
        // Data and acknowledgements that have crossed both links.
        let crossed = |link: usize, departed: u64| {
            departed + copied[link] - network.links[link].on_wire() as u64 - held[link]
        };
        let crossed = crossed(0, forward.departed) + crossed(1, reverse.departed);
        let (sent, copied_acks, unpacked, lost_acks) = network.acks.accounting();
        let udp: u64 = network.sources.iter().map(|source| source.emitted()).sum();
        let senders = network.ended.iter().copied().chain(network.flows.iter().map(|flow| flow.sender.stats()));
        let data: u64 = senders.map(|stats| stats.segments_sent + u64::from(stats.handshake_segments)).sum();
        let acks_in_packets = network.acks.in_packets() as u64;
        // All that senders and receivers sent was dropped or lost, crossed its link, or is still on its way.
        let gone = refused + lost[2] + forward.dropped + reverse.dropped;
        let on_wires: u64 = network.links.iter().map(|link| link.on_wire() as u64).sum();
        let backlog: u64 = network.links.iter().map(|link| u64::from(link.backlog().packets)).sum();
        let on_the_way = at_access + held.iter().sum::<u64>() + on_wires + backlog;
        prop_assert_eq!(udp + data + sent + copied.iter().sum::<u64>(), gone + crossed + on_the_way);
        prop_assert_eq!(crossed - network.delivered - network.discarded, unpacked);
        prop_assert_eq!(sent + copied_acks, unpacked + lost_acks + acks_in_packets);
        prop_assert!(acks_in_packets <= on_the_way, "{} {}", acks_in_packets, on_the_way);
    }

    #[test]
    fn the_record_is_the_same_for_any_number_of_threads_and_any_observer(scenario in drawn()) {
        let without_cost = |record: RunRecord| RunRecord { cpu_seconds: None, ..record };
        let (parsed, cancelled) = (read(&scenario), AtomicBool::new(false));
        let record = run(&scenario);
        for threads in [2, 4] {
            let other = run_on(&parsed, 0, threads, &cancelled, &mut NoObserver).expect("nobody cancels");
            prop_assert_eq!(&without_cost(other), &record);
        }
        let looked_at = engine::observe(&parsed, 0, &cancelled, &mut Looking).expect("nobody cancels");
        prop_assert_eq!(&without_cost(looked_at), &record);
        let canonical = parsed.write();
        prop_assert_eq!(read(&canonical).write(), canonical.clone());
        prop_assert_eq!(replicate(&canonical, 0), record);
    }
}

/// Observer that makes the engine handle each event at its time.
struct Looking;

impl Observer for Looking {}

#[test]
fn a_wrong_reverse_link_or_direction_is_one_line_that_says_what_is_wrong() {
    let groups = |source: Json| json!([{"sources": [source]}]);
    let tcp = || groups(json!({"kind": "tcp"}));
    let reverse = json!({"reverse": {"rate": "1 Mbit/s"}});
    let towards = |direction: &str| json!({"kind": "tcp", "direction": direction});
    let transfer = |direction: &str| json!({"kind": "tcp", "transfer": "1 kB", "direction": direction});
    for (topology, groups, problem) in [
        (json!({"reverse": {}}), tcp(), "topology.reverse.rate: missing, must be a rate such as \"10 Mbit/s\""),
        (
            json!({"reverse": {"rate": "1 bit/s"}}),
            tcp(),
            "topology.reverse.rate: \"1 bit/s\" is out of range, it must be from 1 kbit/s to 10 Tbit/s",
        ),
        (
            json!({"reverse": {"rate": "1 Mbit/s", "queue": {"scheme": "droptail", "limt": 3}}}),
            tcp(),
            "topology.reverse.queue.limt: unknown key (value 3); did you mean limit?",
        ),
        (
            json!({"reverse": {"rate": "1 Mbit/s", "queue": {"scheme": "abc"}}}),
            tcp(),
            "marker.scheme: \"none\" is not what topology.reverse.queue.scheme \"abc\" needs: \"abc\"",
        ),
        (
            json!({"kind": "two_sided_dumbbell", "reverse": {"rate": "1 Mbit/s"}}),
            tcp(),
            "topology.reverse: has no effect with kind \"two_sided_dumbbell\", it needs \"one_sided_dumbbell\"",
        ),
        (
            json!({}),
            groups(towards("reverse")),
            "groups[0].sources[0].direction: \"reverse\" has no effect without [topology.reverse]",
        ),
        (
            reverse.clone(),
            groups(towards("back")),
            "groups[0].sources[0].direction: \"back\" is not one of forward, reverse",
        ),
        (
            reverse.clone(),
            groups(json!({"kind": "video"})),
            "groups[0].sources[0].kind: \"video\" does not work with topology.reverse, where requests of chunks may be \
             lost",
        ),
        (
            reverse.clone(),
            json!([{"route": ["bottleneck"], "sources": [{"kind": "tcp"}]}]),
            "groups[0].route: \"bottleneck\" has no effect with topology.reverse, where the direction of a source is \
             its route",
        ),
        (
            reverse,
            json!([{"sources": [transfer("forward"), transfer("reverse")]}]),
            "groups[0].sources[1].direction: \"reverse\" is not the direction of the group's other finite transfers: \
             use a group for each direction",
        ),
    ] {
        assert_eq!(refusal(&scenario(&topology, &json!({"scheme": "droptail"}), &groups)), problem);
    }
}
