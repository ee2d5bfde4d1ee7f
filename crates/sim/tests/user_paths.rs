//! Tests paths from host to receiver against values computed from rates, lengths and delays.

use crate::common::run;
use fairlane_sim::measure::run_record::{PathRecord, RunRecord};
use fairlane_sim::measure::times_record::TimesRecord;
use serde_json::{Value as Json, json};

/// Returns a topology with access links of 100 Mbit/s and 1 ms, and a bottleneck of 10 Mbit/s and 5 ms.
fn topology() -> Json {
    json!({"access_rate": "100 Mbit/s", "access_delay": "1 ms", "bottleneck_rate": "10 Mbit/s",
        "bottleneck_delay": "5 ms"})
}

fn window() -> Json {
    json!({"warmup": "2 s", "measure": "10 s"})
}

/// Delay of a packet that never waits: the transmission of 1500 bytes at 100 Mbit/s and at 10 Mbit/s, and both
/// propagation delays.
const UNLOADED_S: f64 = 120e-6 + 1e-3 + 1.2e-3 + 5e-3;

fn cbr(name: &str, rate: &str) -> Json {
    json!({"name": name, "start_until": "0 s", "sources": [{"kind": "cbr", "rate": rate}]})
}

fn assert_constant(times: Option<TimesRecord>, seconds: f64) {
    let times = times.expect("there are samples");
    for (value, within) in
        [(times.mean_s, 1e-12), (times.max_s, 1e-12), (times.p50_s, 0.032), (times.p95_s, 0.032), (times.p99_s, 0.032)]
    {
        assert!((value / seconds - 1.0).abs() <= within, "{times:?}, not {seconds}");
    }
    assert!(times.p99_s <= times.max_s);
}

#[test]
fn a_lone_stream_below_the_rate_of_the_link_takes_its_transmissions_and_the_propagation() {
    let record = run(&json!({
        "run": window(), "topology": topology(), "queue": {"scheme": "droptail"}, "groups": [cbr("lone", "5 Mbit/s")],
    }));
    let path = &record.groups[0].path;
    assert_constant(path.one_way_delay, UNLOADED_S);
    // At 5 Mbit/s a packet is sent every 2.4 ms, which gives 4166.7 packets in 10 s.
    assert!((4166..=4167).contains(&path.delivered_packets), "{}", path.delivered_packets);
    assert_eq!((path.dropped_packets, path.lost_share, path.marked_share), (0, Some(0.0), Some(0.0)));
    assert_eq!(path.rtt, None, "nobody samples round-trip times of datagrams");
}

#[test]
fn the_way_to_the_receiver_includes_its_access_link() {
    let mut topology = topology();
    topology["kind"] = json!("two_sided_dumbbell");
    topology["receiver_rate"] = json!("20 Mbit/s");
    topology["receiver_delay"] = json!("3 ms");
    let record = run(&json!({
        "run": window(), "topology": topology, "queue": {"scheme": "droptail"}, "groups": [cbr("lone", "5 Mbit/s")],
    }));
    // The transmission of 1500 bytes takes 0.6 ms at 20 Mbit/s.
    assert_constant(record.groups[0].path.one_way_delay, UNLOADED_S + 600e-6 + 3e-3);
}

#[test]
fn a_stream_at_twice_the_rate_of_the_link_waits_for_the_whole_buffer_and_loses_half() {
    let record = run(&json!({
        "run": window(), "topology": topology(), "queue": {"scheme": "droptail", "limit": "10 packets"},
        "groups": [cbr("flood", "20 Mbit/s")],
    }));
    let path = &record.groups[0].path;
    // Every second packet arrives when a transmission starts. This packet takes the slot that becomes free, and waits
    // for the packet in transmission and nine others.
    assert_constant(path.one_way_delay, UNLOADED_S + 10.0 * 1.2e-3);
    let lost = path.lost_share.expect("packets");
    assert!((lost - 0.5).abs() < 1e-3, "{lost}");
    assert_eq!(path.dropped_packets, record.links[0].user_dropped_packets[0]);
}

#[test]
fn what_the_host_itself_drops_is_lost_too() {
    // The host sends 30 Mbit/s over an access link of 10 Mbit/s, so two of three packets are dropped before they reach
    // a queue.
    let mut topology = topology();
    topology["access_rate"] = json!("10 Mbit/s");
    topology["bottleneck_rate"] = json!("100 Mbit/s");
    let record = run(&json!({
        "run": window(), "topology": topology, "queue": {"scheme": "droptail"}, "groups": [cbr("flood", "30 Mbit/s")],
    }));
    let lost = record.groups[0].path.lost_share.expect("packets");
    assert!((lost - 2.0 / 3.0).abs() < 1e-3, "{lost}");
    assert_eq!(record.links[0].user_dropped_packets, [0]);
}

#[test]
fn a_window_of_one_segment_samples_the_round_trip_alone() {
    let source = json!({"kind": "tcp", "profile": "ns3.26", "socket_buffer": "1446 B", "delayed_ack": 1});
    let record = run(&json!({
        "run": window(), "topology": topology(), "queue": {"scheme": "droptail"},
        "groups": [{"start_until": "0 s", "sources": [source]}],
    }));
    let path = &record.groups[0].path;
    assert_constant(path.one_way_delay, UNLOADED_S);
    // The ACK of 54 bytes takes 43.2 us at 10 Mbit/s and 4.32 us at 100 Mbit/s.
    assert_constant(path.rtt, UNLOADED_S + 43.2e-6 + 5e-3 + 4.32e-6 + 1e-3);
    let samples = |times: Option<TimesRecord>| times.expect("samples").samples;
    assert!(samples(path.rtt).abs_diff(samples(path.one_way_delay)) <= 1, "each segment is acknowledged");
}

#[test]
fn users_and_flows_have_delays_of_their_own_if_asked_for() {
    // Each group sends a packet every 4 ms. A packet takes 12 us on the link, so packets never wait for each other.
    // Only the access delays differ.
    let mut topology = topology();
    topology["bottleneck_rate"] = json!("1 Gbit/s");
    let group = |name: &str, delay: &str, users: u32, sources: Json| {
        json!({"name": name, "users": users,
        "access_delay": delay, "start_until": "0 s", "sources": sources})
    };
    let stream = json!({"kind": "cbr", "rate": "3 Mbit/s"});
    let small = json!({"kind": "tcp", "profile": "ns3.26", "socket_buffer": "1446 B", "delayed_ack": 1});
    let scenario = |detail: &str| {
        json!({
            "run": window(), "topology": topology, "queue": {"scheme": "droptail"}, "probes": {"detail": detail},
            "groups": [group("near", "1 ms", 2, json!([stream])), group("far", "7 ms", 1, json!([small, stream]))],
        })
    };
    let unloaded_s = |access_s: f64| 120e-6 + access_s + 12e-6 + 5e-3;
    let record = run(&scenario("flow"));
    let [near, far] = &record.groups[..] else { panic!("two groups") };
    assert_eq!((near.user_paths.len(), far.user_paths.len()), (2, 1));
    for path in near.user_paths.iter().chain(&near.udp.as_ref().expect("UDP").flow_paths) {
        assert_constant(path.one_way_delay, unloaded_s(1e-3));
    }
    let (tcp, udp) = (&far.tcp.as_ref().expect("TCP").flow_paths, &far.udp.as_ref().expect("UDP").flow_paths);
    let [tcp, udp] = [tcp, udp].map(|paths| if let [path] = &paths[..] { path } else { panic!("one flow") });
    // On the access link, a segment may wait for a datagram, or a datagram for a segment, for at most 120 us.
    for path in [tcp, udp] {
        let mean_s = path.one_way_delay.expect("packets").mean_s;
        assert!((unloaded_s(7e-3)..unloaded_s(7e-3) + 120e-6).contains(&mean_s), "{mean_s}");
    }
    assert!(tcp.rtt.is_some() && udp.rtt.is_none());
    assert_eq!(tcp.delivered_packets + udp.delivered_packets, far.path.delivered_packets);
    assert_eq!((tcp.rtt, &far.user_paths[0]), (far.path.rtt, &far.path));

    // A lower level of detail does not change the other values.
    let users = run(&scenario("user"));
    assert_eq!(users.groups[1].user_paths, record.groups[1].user_paths);
    assert!(users.groups[1].tcp.as_ref().expect("TCP").flow_paths.is_empty());
    let groups = run(&scenario("group"));
    assert!(groups.groups.iter().all(|group| group.user_paths.is_empty()));
    let paths =
        |record: &RunRecord| -> Vec<PathRecord> { record.groups.iter().map(|group| group.path.clone()).collect() };
    assert_eq!((paths(&groups), paths(&users)), (paths(&record), paths(&record)));
}

#[test]
fn who_floods_a_fair_queue_delays_itself_and_nobody_else() {
    let record = |scheme: &str| {
        // The flood has random gaps. With equal gaps the light user would find a free slot in the buffer either always
        // or never.
        let flood =
            json!({"name": "flood", "start_until": "0 s", "sources": [{"kind": "poisson", "rate": "30 Mbit/s"}]});
        run(&json!({
            "run": window(), "topology": topology(), "queue": {"scheme": scheme, "limit": "100 packets"},
            "groups": [flood, cbr("light", "1 Mbit/s")],
        }))
    };
    let delay = |record: &RunRecord, group: usize| record.groups[group].path.one_way_delay.expect("packets");
    let (droptail, fair) = (record("droptail"), record("fq_codel"));
    // A packet of the light user finds a full buffer from which one packet has just departed, so it waits for at least
    // 99 packets of 1.2 ms each.
    assert!(delay(&droptail, 1).mean_s > UNLOADED_S + 99.0 * 1.2e-3, "{:?}", delay(&droptail, 1));
    // With FQ-CoDel the light user's queue is empty when a packet arrives, so this packet is sent right after the one
    // in transmission.
    assert!(delay(&fair, 1).max_s <= UNLOADED_S + 1.2e-3 + 1e-12, "{:?}", delay(&fair, 1));
    assert_eq!(fair.groups[1].path.lost_share, Some(0.0));
    // Nine tenths of the packets belong to the flood. They dominate the delay of the class and hide the delay of the
    // light user.
    let of_class_s = fair.links[0].delay[0].mean_s;
    let of_flood_s = delay(&fair, 0).mean_s - UNLOADED_S;
    assert!(of_class_s > 0.8 * of_flood_s && of_class_s > 10.0 * 1.2e-3, "{of_class_s} {of_flood_s}");
}

#[test]
fn marks_are_those_that_reach_the_receiver() {
    let scenario = json!({
        "run": {"warmup": "0 s", "measure": "10 s"}, "topology": topology(), "queue": {"scheme": "codel", "ecn": true},
        "probes": {"series_interval": "1 s"},
        "groups": [
            {"name": "marked", "start_until": "0 s", "sources": [{"kind": "tcp", "ecn": true}]},
            {"name": "dropped", "start_until": "0 s", "sources": [{"kind": "tcp"}]},
        ],
    });
    let record = run(&scenario);
    let [marked, dropped] = [0, 1].map(|group| &record.groups[group].path);
    // All marks of the link belong to the ECN-capable group; at the end a few packets may still be in flight.
    let marks = record.links[0].marks;
    assert!(marked.marked_packets > 0 && marks.abs_diff(marked.marked_packets) <= 5, "{marked:?}, {marks} marks");
    assert_eq!((dropped.marked_packets, dropped.marked_share), (0, Some(0.0)));
    assert!(dropped.dropped_packets > 0);

    // The series has the same quantities in bins. Without a warm-up, the packet-weighted mean of all bins is the
    // overall mean.
    let series = &record.series.as_ref().expect("wanted").groups;
    let shares = series[0].marked_share.iter().flatten();
    assert!(shares.clone().all(|share| (0.0..1.0).contains(share)) && shares.sum::<f64>() > 0.0);
    assert!(series[1].marked_share.iter().flatten().all(|&share| share == 0.0));
    for (group, path) in series.iter().zip([marked, dropped]) {
        assert_eq!(group.one_way_delay_s.len(), 10);
        let range = |values: &[Option<f64>]| {
            let values = values.iter().flatten().copied();
            values.clone().fold(f64::INFINITY, f64::min)..=values.fold(0.0, f64::max)
        };
        assert!(range(&group.one_way_delay_s).contains(&path.one_way_delay.expect("packets").mean_s));
        assert!(range(&group.rtt_s).contains(&path.rtt.expect("samples").mean_s));
        assert!(range(&group.lost_share).contains(&path.lost_share.expect("packets")));
    }
}
