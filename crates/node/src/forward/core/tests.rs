//! Tests the forwarder without sockets: frames arrive at given times, and the tests check when they leave.

use super::*;
use etherparse::PacketBuilder;
use serde_json::json;

/// A UDP packet from 10.0.0.`from` with `bytes` at the IP layer.
fn frame(from: u8, bytes: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, from]);
    let mut frame = Vec::new();
    let payload = vec![0; bytes - 28];
    builder.ipv4([10, 0, 0, from], [10, 0, 0, 9], 64).udp(1, 2).write(&mut frame, &payload).unwrap();
    frame
}

fn core(json: Json) -> Core {
    Core::new(&ForwardConfig::read(&json).unwrap())
}

/// Runs until the forwarder is empty. Returns the time in microseconds at which each frame left `port`, with the last
/// byte of its source address.
fn departures(core: &mut Core, port: usize) -> Vec<(u64, u8)> {
    let mut departures = Vec::new();
    while core.next() < Time::NEVER {
        let now = core.next();
        core.run_until(now);
        while let Some((due, id)) = core.take_due(port, now) {
            departures.push((due.0 / 1_000_000, core.frame(id)[29]));
            core.release(id);
        }
    }
    departures
}

#[test]
fn a_packet_takes_the_times_of_both_links() {
    let mut core = core(json!({"ports": [
        {"interface": "a", "ingress": {"rate": "12 Mbit/s", "delay": "5 ms"}},
        {"interface": "b", "egress": {"rate": "6 Mbit/s", "delay": "3 ms", "queue": {"scheme": "droptail"}}},
    ]}));
    for _ in 0..2 {
        core.arrive(0, &frame(1, 1500), &[], Time::from_millis(1));
    }
    // 1500 B take 1 ms at 12 Mbit/s and 2 ms at 6 Mbit/s. The first packet arrives at 1 ms. It takes 1 + 5 ms over the
    // first link and 2 + 3 ms over the second. The second packet leaves 2 ms later.
    assert_eq!(departures(&mut core, 1), [(12_000, 1), (14_000, 1)]);
    assert_eq!(core.held(), 0);
}

#[test]
fn a_host_that_is_late_changes_nothing_but_when_it_sends() {
    let config = json!({"users": [{"prefix": "10.0.0.1"}, {"prefix": "10.0.0.2"}], "ports": [
        {"interface": "a", "ingress": {"rate": "100 Mbit/s", "delay": "1 ms"}},
        {"interface": "b", "egress": {"rate": "10 Mbit/s", "queue": {"scheme": "abc"}}},
    ]});
    let run = |step: Time| {
        let mut core = core(config.clone());
        let (mut all, mut now) = (Vec::new(), Time::ZERO);
        let mut arrivals =
            (0..2000u64).map(|n| (Time::from_micros(n * 700), if n % 3 == 0 { 2 } else { 1 })).peekable();
        while now < Time::from_secs(4) {
            now += step;
            while let Some((at, from)) = arrivals.next_if(|(at, _)| *at <= now) {
                core.arrive(0, &frame(from, 1500), &[], at);
            }
            core.run_until(now);
            while let Some((due, id)) = core.take_due(1, now) {
                all.push((due, core.frame(id)[29]));
                core.release(id);
            }
        }
        let report = core.report();
        (all, report["ports"][1]["egress"]["drops"].clone(), core.held())
    };
    // Packets arrive at 17 Mbit/s for a link of 10 Mbit/s. User 1 sends two thirds of them.
    let exact = run(Time::from_micros(10));
    assert_eq!(exact.2, 0);
    assert!(exact.1[0]["packets"].as_u64().unwrap() > 500, "{}", exact.1);
    // If the host is late by less than the delay of the first link, the decisions are the same.
    assert_eq!(run(Time::from_micros(990)), exact);
}

#[test]
fn the_shortest_line_is_that_of_all_ports() {
    let port = |name: &str, delay: &str| json!({"interface": name, "ingress": {"delay": delay}});
    let of = |ports: Json| core(json!({"ports": ports})).shortest_line();
    assert_eq!(of(json!([port("a", "5 ms"), port("b", "300 us")])), Time::from_micros(300));
    assert_eq!(of(json!([port("a", "5 ms"), {"interface": "b", "egress": {"delay": "5 ms"}}])), Time::ZERO);
}

#[test]
fn every_packet_is_accounted_for() {
    let mut core = core(json!({"ports": [
        {"interface": "a", "ingress": {"rate": "20 Mbit/s", "limit": "5 packets"}},
        {"interface": "b", "egress": {"rate": "10 Mbit/s", "queue": {"scheme": "droptail", "limit": "3 packets"}}},
    ]}));
    for _ in 0..20 {
        core.arrive(0, &frame(1, 1500), &[], Time::ZERO);
    }
    core.run_until(Time::from_millis(2));
    let report = core.report();
    // At 20 Mbit/s (0.6 ms per packet), one packet is in transmission and five wait. Three of them reach the port at
    // 0.6, 1.2 and 1.8 ms. The port sends the first from 0.6 to 1.8 ms, then the second.
    let (ingress, egress) = (&report["ports"][0]["ingress"], &report["ports"][1]["egress"]);
    assert_eq!((&ingress["received"]["packets"], &ingress["line_drops"]), (&json!(20), &json!(14)));
    assert_eq!(egress["accounting"], json!({"arrived": 3, "departed": 2, "dropped": 0, "queued": 1}));
    // One packet waits in the queue from 1.2 ms on.
    let mean = egress["queue"]["mean_packets"].as_f64().unwrap();
    assert!((mean - 0.8 / 2.0).abs() < 1e-9, "{mean}");
    assert_eq!(departures(&mut core, 1).len(), 6);
    let accounting = &core.report()["ports"][1]["egress"]["accounting"];
    assert_eq!(accounting, &json!({"arrived": 3, "departed": 4, "dropped": 0, "queued": 0}));
    assert_eq!(core.held(), 0);
}

#[test]
fn users_are_told_apart_by_their_source_address() {
    let mut core = core(json!({
        "users": [{"name": "one", "prefix": "10.0.0.1"}, {"name": "net", "prefix": "10.0.0.0/24"}],
        "ports": [{"interface": "a"}, {"interface": "b"}],
    }));
    let mut stranger = frame(1, 1000);
    stranger[26] = 11;
    for bytes in [frame(1, 1000), frame(2, 500), frame(3, 500), stranger] {
        core.arrive(0, &bytes, &[], Time::ZERO);
    }
    core.run_until(Time::ZERO);
    let report = core.report();
    let users: Vec<_> = report["ports"][1]["egress"]["users"].as_array().unwrap().clone();
    let seen = users.iter().map(|user| (user["name"].as_str().unwrap(), user["arrived"]["bytes"].as_u64().unwrap()));
    assert_eq!(seen.collect::<Vec<_>>(), [("one", 1000), ("net", 1000), ("default", 1000)]);
}

#[test]
fn a_frame_for_an_unknown_host_goes_to_all_others_and_a_full_pool_drops() {
    let ports = json!([{"interface": "a"}, {"interface": "b"}, {"interface": "c"}]);
    let mut core = core(json!({"forward": {"frames": 64}, "ports": ports}));
    core.arrive(0, &frame(1, 100), &[], Time::ZERO);
    core.run_until(Time::ZERO);
    assert_eq!(core.held(), 2);
    for _ in 0..70 {
        core.arrive(0, &frame(1, 100), &[], Time::ZERO);
    }
    assert_eq!(core.report()["ports"][0]["ingress"]["no_frame"], 8);
}

/// Fills a port of 1 Mbit/s with 50 packets of a user, then sends 20 small packets. Returns the number of small packets
/// that left, and the counters of control traffic.
fn left_of(small: &[u8], users: &Json, queue: &str) -> (usize, [Json; 2]) {
    let mut core = core(json!({"users": users, "ports": [
        {"interface": "a"},
        {"interface": "b", "egress": {"rate": "1 Mbit/s", "control_rate": "8 kbit/s", "queue": {"scheme": queue,
            "limit": "20 packets"}}},
    ]}));
    for _ in 0..50 {
        core.arrive(0, &frame(1, 1500), &[], Time::ZERO);
    }
    for _ in 0..20 {
        core.arrive(0, small, &[], Time::ZERO);
    }
    let mut left = 0;
    while core.next() < Time::NEVER {
        let now = core.next();
        core.run_until(now);
        while let Some((_, id)) = core.take_due(1, now) {
            left += usize::from(core.frame(id) == small);
            core.release(id);
        }
    }
    assert_eq!(core.held(), 0);
    let report = core.report()["ports"][1]["egress"].clone();
    assert_eq!(report["accounting"]["queued"], 0);
    (left, ["control", "control_excess"].map(|key| report[key].clone()))
}

fn with_dscp(from: u8, dscp: u8) -> Vec<u8> {
    let mut bytes = frame(from, 100);
    bytes[15] = dscp << 2;
    bytes
}

fn neighbour_solicitation(hop_limit: u8) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 3]).ipv6([3; 16], [9; 16], hop_limit);
    let mut bytes = Vec::new();
    builder.icmpv6_raw(135, 0, [0; 4]).write(&mut bytes, &[0; 52]).unwrap();
    bytes
}

#[test]
fn control_traffic_goes_ahead_of_a_full_queue_up_to_its_rate() {
    let user = json!([{"prefix": "10.0.0.1"}]);
    let mut arp = vec![0; 114];
    arp[12..14].copy_from_slice(&[8, 6]);
    for queue in ["droptail", "abc", "csfq"] {
        for small in [with_dscp(2, 48), with_dscp(2, 56), neighbour_solicitation(255), arp.clone()] {
            // The burst is 1000 bytes, one second at the control rate of 8 kbit/s: ten packets of 100 bytes.
            let (left, counts) = left_of(&small, &user, queue);
            assert!(left >= 10, "{queue}: {left}");
            assert_eq!(counts, [10, 10].map(Json::from), "{queue}");
        }
    }
}

#[test]
fn what_is_no_control_traffic_finds_the_queue_full() {
    let user = json!([{"prefix": "10.0.0.1"}]);
    let mut icmp_of_cs6 = with_dscp(2, 48);
    icmp_of_cs6[23] = 1;
    // The last packet is CS6 from a configured user.
    for small in [with_dscp(2, 0), with_dscp(2, 46), icmp_of_cs6, neighbour_solicitation(254), with_dscp(1, 48)] {
        assert_eq!(left_of(&small, &user, "droptail"), (0, [0, 0].map(Json::from)));
    }
}

#[test]
fn what_a_router_sends_itself_is_control_traffic_unless_it_is_icmp() {
    let egress = json!({"rate": "1 Mbit/s", "queue": {"scheme": "droptail"}});
    let mut core = core(json!({"ports": [
        {"interface": "a", "address": "10.0.0.254/24", "egress": egress},
        {"interface": "b", "address": "10.0.1.254/24", "egress": egress},
    ]}));
    let to = |octet: u8, ttl: u8| {
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0xfa, 10, 0, 0, 254]);
        let mut bytes = Vec::new();
        builder.ipv4([10, 0, 0, 1], [10, 0, 1, octet], ttl).udp(1, 2).write(&mut bytes, &[0; 72]).unwrap();
        bytes
    };
    for bytes in [to(1, 64), to(2, 64), to(3, 1)] {
        core.arrive(0, &bytes, &[], Time::ZERO);
    }
    core.run_until(Time::ZERO);
    let report = core.report();
    let of = |port: usize| ["control", "control_excess"].map(|key| report["ports"][port]["egress"][key].clone());
    // Expects two ARP requests and an ICMP time-exceeded message.
    assert_eq!(report["ports"][0]["ingress"]["router"]["icmp"], 1);
    assert_eq!((of(0), of(1)), ([0, 0].map(Json::from), [2, 0].map(Json::from)));
}

/// Sends 50 packets at once, ECN-capable or not, to a port with this queue. Returns the number of packets that left
/// with a mark, and the counters of the port.
fn marks(queue: &Json, is_capable: bool) -> (u64, Json) {
    let mut core = core(json!({"ports": [
        {"interface": "a"},
        {"interface": "b", "egress": {"rate": "10 Mbit/s", "queue": queue}},
    ]}));
    let mut frame = frame(1, 1500);
    if is_capable {
        let parsed = Frame::parse(&frame);
        crate::frame::set_ecn(&mut frame, &parsed, fairlane_schemes::contract::packet::Ecn::Ect0);
    }
    for _ in 0..50 {
        core.arrive(0, &frame, &[], Time::ZERO);
    }
    let mut marked = 0u64;
    while core.next() < Time::NEVER {
        let now = core.next();
        core.run_until(now);
        while let Some((_, id)) = core.take_due(1, now) {
            let header = etherparse::Ipv4Header::from_slice(&core.frame(id)[14..]).unwrap().0;
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            marked += u64::from(header.ecn.value() == 3);
            core.release(id);
        }
    }
    let report = core.report()["ports"][1]["egress"].clone();
    assert_eq!(report["marks"], marked);
    (marked, report)
}

#[test]
fn a_mark_is_written_into_the_frame() {
    let queue = json!({"scheme": "codel", "target": "1 us", "interval": "1 ms", "ecn": true, "limit": "1000 packets"});
    assert!(marks(&queue, true).0 > 0);
}

#[test]
fn abc_marks_in_place_of_drops_where_asked_to_and_where_packets_can_be_marked() {
    let abc = |ecn: bool| {
        let thresholds = json!({"scheme": "abc", "q_min": "6 packets", "q_base": "20 packets", "gamma": "16 packets"});
        let mut queue = thresholds.as_object().unwrap().clone();
        queue.extend([("ecn".into(), ecn.into()), ("limit".into(), "100 packets".into())]);
        Json::Object(queue)
    };
    let counts = |ecn, is_capable| {
        let (marked, port) = marks(&abc(ecn), is_capable);
        (marked, port["accounting"]["departed"].as_u64().unwrap(), port["drops"][0]["packets"].as_u64().unwrap())
    };
    // For one user at one instant, the activity of the n-th packet is log2(n) above that of the first. From the second
    // packet on, this exceeds the mean of earlier packets by at least 0.875, so T_drop is Q_min = 6. When the n-th
    // packet arrives, n - 2 packets wait. So packets 8 to 37 are marked, and packets at a queue of 20 + 16 or more are
    // dropped.
    assert_eq!(counts(true, true), (30, 37, 13));
    for (ecn, is_capable) in [(false, true), (true, false), (false, false)] {
        assert_eq!(counts(ecn, is_capable), (0, 7, 43), "{ecn} {is_capable}");
    }
}

/// Returns ports and sources of the packets due at `now`. Frames arrived alternately on two wires at 0, 10, 20 and 30
/// us.
fn order_at(now: Time) -> Vec<(usize, u8)> {
    let mut core = core(json!({"ports": [
        {"interface": "a", "peer": "x"}, {"interface": "b", "peer": "y"},
        {"interface": "x", "peer": "a"}, {"interface": "y", "peer": "b"},
    ]}));
    for (number, port) in [1, 0, 1, 0].into_iter().enumerate() {
        core.arrive(port, &frame(number as u8, 100), &[], Time::from_micros(10 * number as u64));
    }
    core.run_until(now);
    let mut sent = Vec::new();
    while let Some(Burst { port, until }) = core.next_burst(now) {
        while let Some((_, id)) = core.take_due(port, until) {
            sent.push((port, core.frame(id)[29]));
            core.release(id);
        }
    }
    sent
}

#[test]
fn frames_leave_in_the_order_in_which_they_are_due_whatever_their_ports() {
    assert_eq!(order_at(Time::from_micros(15)), [(3, 0), (2, 1)]);
    assert_eq!(order_at(Time::from_micros(500)), [(3, 0), (2, 1), (3, 2), (2, 3)]);
}

#[test]
fn a_host_far_behind_sends_port_by_port() {
    assert_eq!(order_at(Time::from_micros(1_031)), [(3, 0), (3, 2), (2, 1), (2, 3)]);
}
