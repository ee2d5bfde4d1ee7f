//! Tests properties of paths: impairments, recorded traces, sources that stop, round-trip times.

use crate::common::{network, read, refusal, run};
use fairlane_schemes::base::units::Time;
use fairlane_sim::scenario::{Scenario, gaps_of_trace};
use serde_json::{Value as Json, json};

/// One group on one bottleneck with a queue that is never full.
fn scenario(topology: &Json, group: &Json, run: &Json) -> Json {
    let queue = json!({"scheme": "droptail", "limit": "100000 packets"});
    json!({"run": run, "topology": topology, "queue": queue, "groups": [group]})
}

#[test]
fn a_lossy_link_loses_its_share_and_tells_so() {
    let share = 0.05;
    let topology = json!({"bottleneck_loss": {"probability": "5 %"}});
    let group = json!({"sources": [{"kind": "cbr", "rate": "8 Mbit/s"}], "start_until": "0 s"});
    let record = run(&scenario(&topology, &group, &json!({"warmup": "0 s", "measure": "60 s"})));
    let link = &record.links[0];
    let lost = link.drops.iter().find(|drops| drops.reason == "lost").expect("a lossy link has this reason");
    let udp = record.groups[0].udp.as_ref().expect("the group has a source");
    // The number of losses is binomial. The tolerance is five standard errors.
    let n = link.accounting.arrived as f64;
    assert!((lost.packets as f64 / n - share).abs() < 5.0 * (share * (1.0 - share) / n).sqrt(), "{}", lost.packets);
    assert_eq!((lost.bytes, link.user_dropped_packets[0]), (lost.packets * 1500, lost.packets));
    assert_eq!((link.accounting.dropped, record.groups[0].path.dropped_packets), (lost.packets, lost.packets));
    // One packet is sent per 1.5 ms. Except packets sent in the last 5.1 ms, all packets that were not lost have
    // arrived.
    let missing = udp.sent_packets - udp.received_packets - lost.packets;
    assert!(missing <= 5, "{missing}");
    // The link also transmits the packets that are lost after it. The user does not receive them.
    assert!((link.utilisation - 0.8).abs() < 0.01, "{}", link.utilisation);
    assert!((record.groups[0].throughput_bps / 8e6 - (1.0 - lost.packets as f64 / n)).abs() < 1e-3);
}

#[test]
fn a_lossy_access_link_loses_before_the_bottleneck_and_tells_so() {
    let mut group = json!({"users": 3, "sources": [{"kind": "cbr", "rate": "1 Mbit/s"}], "start_until": "0 s"});
    group["access_loss"] = json!({"model": "periodic", "period": 10});
    let record = run(&scenario(&json!({}), &group, &json!({"warmup": "0 s", "measure": "60 s"})));
    let access = record.groups[0].access_loss.expect("the group has lossy access links");
    // Every tenth packet of each of three users is lost. The last period of a user may be incomplete.
    let lost = access.lost_packets * 10;
    assert!(lost <= access.packets && access.packets - lost < 3 * 10, "{access:?}");
    assert_eq!(record.links[0].accounting.arrived, access.packets - access.lost_packets);
    assert_eq!(record.groups[0].path.dropped_packets, access.lost_packets);
    assert!(record.links[0].drops.iter().all(|drops| drops.packets == 0 && drops.reason != "lost"));
}

#[test]
fn tcp_over_a_lossy_path_is_as_fast_as_mathis_says() {
    // Mathis, Semke, Mahdavi and Ott 1997, eq. (3) with an ACK for every second segment, gives sqrt(3/4/p) segments of
    // 1446 B per RTT of 100 ms. The equation is derived for periodic loss. SACK repairs the losses without timeouts.
    for (period, tolerance) in [(400, 0.2), (2000, 0.2)] {
        let topology = json!({"bottleneck_rate": "1 Gbit/s", "access_rate": "1 Gbit/s",
            "bottleneck_loss": {"model": "periodic", "period": period}});
        let source = json!({"kind": "tcp", "profile": "ns3.26", "sack": true});
        let group = json!({"sources": [source], "rtt": "100 ms", "start_until": "0 s"});
        let record = run(&scenario(&topology, &group, &json!({"warmup": "50 s", "measure": "400 s"})));
        let expected = (0.75 * f64::from(period)).sqrt() * 1446.0 * 8.0 / 0.1;
        let goodput = record.groups[0].goodput_bps;
        assert!((goodput / expected - 1.0).abs() < tolerance, "{goodput} {expected}");
    }
}

#[test]
fn jitter_that_keeps_the_order_costs_tcp_no_retransmission() {
    let with = |reorder: bool| {
        let jitter = json!({"deviation": "5 ms", "distribution": "normal", "reorder": reorder});
        let topology = json!({"bottleneck_delay": "20 ms", "bottleneck_jitter": jitter});
        let group =
            json!({"sources": [{"kind": "tcp", "profile": "ns3.26", "socket_buffer": "60 kB"}], "start_until": "0 s"});
        let record = run(&scenario(&topology, &group, &json!({"warmup": "0 s", "measure": "20 s"})));
        assert!(record.links[0].drops.iter().all(|drops| drops.packets == 0));
        record.groups[0].tcp.clone().expect("the group has a flow").retransmissions
    };
    assert_eq!(with(false), 0);
    // With a window of 41 segments per round trip, a segment often overtakes three others.
    assert!(with(true) > 20, "{}", with(true));
}

/// Sends a packet every 10 ms over a link of 5 ms. Returns the mean and maximum one-way delay, in s, of the packets
/// that arrive from 1 s to 5 s.
fn delay_of(topology: &Json, group: &Json) -> (f64, f64) {
    let mut group = group.clone();
    group["sources"] = json!([{"kind": "cbr", "rate": "1 Mbit/s", "packet_size": "1250 B"}]);
    group["start_until"] = "0 s".into();
    let record = run(&scenario(topology, &group, &json!({"warmup": "1 s", "measure": "4 s"})));
    let delay = record.groups[0].path.one_way_delay.expect("packets arrive");
    (delay.mean_s, delay.max_s)
}

#[test]
fn a_detour_makes_the_way_longer_for_a_time_wherever_it_stands() {
    let fast = json!({"bottleneck_rate": "1 Tbit/s", "access_rate": "1 Tbit/s"});
    let plain = delay_of(&fast, &json!({}));
    for (detour, share) in [
        // Packets sent from 3 s to 4.95 s take the detour and arrive within the measurement. The packets that arrive
        // within the measurement were sent during 3.95 s.
        (json!({"delay": "50 ms", "from": "3 s"}), 1.95 / 3.95),
        // Packets sent from 0.95 s to 2 s take the detour and arrive within the measurement. Without the detour, the
        // first of these would have arrived before the measurement.
        (json!({"delay": "50 ms", "from": "0 s", "until": "2 s"}), 1.05 / 4.05),
        (json!({"delay": "50 ms", "from": "2 s", "until": "3 s"}), 1.0 / 4.0),
    ] {
        let mut with = fast.clone();
        with["bottleneck_detour"] = detour.clone();
        let mut graph =
            json!({"kind": "graph", "access_rate": "1 Tbit/s", "receiver_rate": "1 Tbit/s", "receiver_delay": "0 s"});
        graph["links"] = json!([{"name": "only", "rate": "1 Tbit/s", "delay": "5 ms", "detour": detour}]);
        for (topology, group) in
            [(with, json!({})), (fast.clone(), json!({"access_detour": detour})), (graph, json!({"route": ["only"]}))]
        {
            let (mean, max) = delay_of(&topology, &group);
            // The tolerance is two packets of about 400.
            assert!((mean - plain.0 - 0.05 * share).abs() < 0.05 * 2.0 / 400.0, "{detour} {mean} {plain:?}");
            assert!((max - plain.1 - 0.05).abs() < 0.05 * 0.03, "{detour} {max} {plain:?}");
        }
    }
}

#[test]
fn a_shorter_route_repeats_the_packets_of_at_most_two_round_trips() {
    // At 8 Mbit/s, 50 ms contain 33 segments of 1500 B, which later segments overtake.
    let group = json!({"access_detour": {"delay": "50 ms", "from": "0 s", "until": "10 s"}, "rtt": "100 ms",
        "start_until": "0 s", "sources": [{"kind": "tcp", "profile": "linux", "socket_buffer": "100 kB"}]});
    let record = run(&scenario(&json!({}), &group, &json!({"warmup": "8 s", "measure": "12 s"})));
    let tcp = record.groups[0].tcp.clone().expect("the group has a flow");
    // The window is 100 kB, 70 segments. As in Linux, RACK uses the RTT of the segment processed last, so some segments
    // are retransmitted.
    let round_trip_segments = 70;
    assert!(tcp.retransmissions <= 2 * round_trip_segments, "{}", tcp.retransmissions);
    assert!(record.links[0].drops.iter().all(|drops| drops.packets == 0));
}

/// One packet of 1250 bytes every 10 ms, from a time below 10 ms on.
fn ticks() -> Json {
    json!({"sources": [{"kind": "cbr", "rate": "1 Mbit/s", "packet_size": "1250 B"}], "start_until": "0 s"})
}

#[test]
fn an_outage_loses_all_packets_of_its_span_and_no_other() {
    let outage = json!({"probability": 1, "from": "2 s", "until": "2.5 s"});
    let mut group = ticks();
    group["access_loss"] = outage.clone();
    let run_for = json!({"warmup": "0 s", "measure": "10 s"});
    let others = json!({"name": "others", "sources": ticks()["sources"], "start_until": "0 s"});
    let of_group = scenario(&json!({}), &group, &run_for);
    let mut several = of_group.clone();
    several["groups"].as_array_mut().unwrap().push(others);
    let record = run(&several);
    // A span of 500 ms has 50 packets. The other group's access links do not fail.
    let lost: Vec<u64> = record.groups.iter().map(|group| group.path.dropped_packets).collect();
    assert_eq!((lost, record.groups[0].access_loss.unwrap().lost_packets), (vec![50, 0], 50));
    let mut of_link = scenario(&json!({"bottleneck_loss": outage}), &ticks(), &run_for);
    of_link["probes"] = json!({"series_interval": "100 ms"});
    let record = run(&of_link);
    assert_eq!(record.links[0].drops.last().map(|drops| (drops.reason.as_str(), drops.packets)), Some(("lost", 50)));
    let lost = &record.series.unwrap().groups[0].lost_share;
    let expected: Vec<_> = (0..100).map(|bin| Some(if (20..25).contains(&bin) { 1.0 } else { 0.0 })).collect();
    assert_eq!(lost, &expected);
}

#[test]
fn an_outage_stands_beside_other_losses_and_has_its_recovery() {
    let losses = json!([{"model": "periodic", "period": 10}, {"probability": 1, "from": "2 s", "until": "2.5 s"}]);
    let mut group = ticks();
    group["access_loss"] = losses.clone();
    let mut of_group = scenario(&json!({}), &group, &json!({"warmup": "0 s", "measure": "10 s"}));
    of_group["probes"] = json!({"series_interval": "100 ms"});
    let record = run(&of_group);
    // A tenth of all packets, and the 45 others of the 50 of the outage.
    let access = record.groups[0].access_loss.unwrap();
    assert_eq!(access.lost_packets, access.packets / 10 + 45);
    let recoveries = record.series.unwrap().recoveries;
    assert_eq!(recoveries.iter().map(|recovery| &recovery.key[..]).collect::<Vec<_>>(), ["groups[0].access_loss[1]"]);
    // A list of one is written as the table.
    let written = |loss: Json| {
        let topology = json!({"bottleneck_loss": loss});
        read(&scenario(&topology, &ticks(), &json!({}))).write()["topology"]["bottleneck_loss"].clone()
    };
    assert_eq!(written(json!([losses[1]])), written(losses[1].clone()));
    assert_eq!(written(json!([])), Json::Null);
    assert_eq!(written(losses.clone()).as_array().map(Vec::len), Some(2));
}

#[test]
fn a_lone_flow_comes_back_within_one_doubled_timeout_after_an_outage() {
    let (start, length) = (10.0, 2.0);
    let topology = json!({"bottleneck_loss": {"probability": 1, "from": "10 s", "until": "12 s"}});
    let group = json!({"sources": [{"kind": "tcp", "profile": "linux"}], "rtt": "40 ms", "start_until": "0 s"});
    let mut outage = scenario(&topology, &group, &json!({"warmup": "0 s", "measure": "30 s"}));
    outage["queue"]["limit"] = "50 packets".into();
    outage["probes"] = json!({"series_interval": "100 ms"});
    let record = run(&outage);
    let series = &record.series.as_ref().unwrap().groups[0].one_way_delay_s;
    let is_silent = |bin: &usize| series[*bin].is_none();
    let silent: Vec<usize> = (0..300).filter(is_silent).collect();
    // The path has 60 packets in its queue and on its wire, so round-trip time and timeout are below 120 ms and 400 ms.
    // Timeouts double. So the one that is running at the end of the outage is as long as the time since the first loss
    // when it was started plus the first timeout: at most 2.4 s.
    let (first, last) = (silent[0] as f64 / 10.0, silent[silent.len() - 1] as f64 / 10.0 + 0.1);
    assert!(silent.windows(2).all(|pair| pair[0] + 1 == pair[1]) && (first - start).abs() < 0.21, "{silent:?}");
    assert!(last >= start + length && last <= start + length + 2.4 + 0.1, "{last}");
    let tcp = record.groups[0].tcp.as_ref().unwrap();
    assert!((2..6).contains(&tcp.timeouts), "{}", tcp.timeouts);
    // The flow fills the link before the fault. Afterwards, slow start needs a few round trips of 40 ms.
    let [recovery] = &record.series.as_ref().unwrap().recoveries[..] else { panic!("there is one fault") };
    assert_eq!(recovery.key, "topology.bottleneck_loss");
    assert!((recovery.before_bps / 10e6 - 1.0).abs() < 0.01, "{recovery:?}");
    let back = recovery.recovery_s.expect("the run lasts 18 s after the fault") - (last - start - length);
    assert!((-0.11..=1.0).contains(&back), "{recovery:?} {last}");
}

#[test]
fn retransmissions_in_a_fault_are_for_lost_segments_or_spurious() {
    // The window of 100 kB fits into the queues, so only faults lose packets.
    let group = json!({"rtt": "100 ms", "start_until": "0 s",
        "sources": [{"kind": "tcp", "profile": "linux", "socket_buffer": "100 kB"}]});
    let record = |mut topology: Json| {
        topology["access_limit"] = "100 packets".into();
        let mut faulty = scenario(&topology, &group, &json!({"warmup": "0 s", "measure": "30 s"}));
        faulty["probes"] = json!({"series_interval": "100 ms"});
        run(&faulty)
    };
    let span = |mut part: Json| {
        (part["from"], part["until"]) = ("10 s".into(), "10.3 s".into());
        part
    };
    // On a detour, no packet is lost. Both its start and its end may cause retransmissions.
    for (topology, loses) in [
        (json!({"bottleneck_detour": span(json!({"delay": "500 ms"}))}), false),
        (json!({"bottleneck_loss": span(json!({"probability": 1}))}), true),
        (json!({"bottleneck_loss": span(json!({"model": "periodic", "period": 20}))}), true),
    ] {
        let record = record(topology);
        let tcp = record.groups[0].tcp.as_ref().expect("the group has a flow");
        let lost: u64 = record.links[0].drops.iter().map(|drops| drops.packets).sum();
        let [recovery] = &record.series.as_ref().unwrap().recoveries[..] else { panic!("there is one fault") };
        assert_eq!(lost > 0, loses);
        assert!(tcp.retransmissions > 0);
        assert_eq!(recovery.spurious_retransmissions, tcp.retransmissions - lost);
        assert!(loses || recovery.spurious_retransmissions > 0);
    }
}

#[test]
fn receivers_get_copies_and_the_record_counts_them() {
    let chance = json!({"probability": 1, "from": "1 s", "until": "3 s"});
    let run_for = json!({"warmup": "0 s", "measure": "10 s"});
    for (topology, group) in
        [(json!({"bottleneck_duplicate": chance}), json!({})), (json!({}), json!({"access_duplicate": chance}))]
    {
        let mut all = ticks();
        all.as_object_mut().unwrap().extend(group.as_object().unwrap().clone());
        let record = run(&scenario(&topology, &all, &run_for));
        let changes = record.links[0].changes.or(record.groups[0].access_changes).expect("a part is present");
        assert_eq!((changes.duplicated_packets, changes.reordered_packets, changes.corrupted_packets), (200, 0, 0));
        let udp = record.groups[0].udp.as_ref().unwrap();
        // At most one packet is in flight at the end.
        assert!((udp.received_packets).abs_diff(udp.sent_packets + 200) <= 1, "{udp:?}");
        // Only copies made before the link cross it.
        let of_link = if record.links[0].changes.is_some() { 0 } else { 200 };
        assert_eq!(record.links[0].accounting.arrived, 1000 + of_link);
    }
}

#[test]
fn copies_of_segments_cause_no_retransmission() {
    // The window limits the flow, so no packet is dropped.
    let topology = json!({"bottleneck_duplicate": {"probability": "10 %", "correlation": "20 %"}});
    let group =
        json!({"sources": [{"kind": "tcp", "profile": "linux", "socket_buffer": "60 kB"}], "start_until": "0 s"});
    let tcp = |topology: &Json| {
        let record = run(&scenario(topology, &group, &json!({"warmup": "0 s", "measure": "20 s"})));
        let tcp = record.groups[0].tcp.clone().unwrap();
        (tcp.retransmissions, tcp.timeouts, record.groups[0].goodput_bps)
    };
    let (with, without) = (tcp(&topology), tcp(&json!({})));
    assert_eq!((with.0, with.1), (0, 0));
    assert!((with.2 / without.2 - 1.0).abs() < 0.02, "{with:?} {without:?}");
}

#[test]
fn a_call_ignores_copies() {
    let group = json!({"sources": [{"kind": "voip"}], "start_until": "0 s"});
    let voip = |topology: &Json| {
        run(&scenario(topology, &group, &json!({"warmup": "1 s", "measure": "10 s"}))).groups[0].voip.clone()
    };
    assert_eq!(voip(&json!({"bottleneck_duplicate": {"probability": "30 %"}})), voip(&json!({})));
}

#[test]
fn a_corrupted_packet_crosses_all_links_and_its_receiver_drops_it() {
    let link = |name: &str| json!({"name": name, "rate": "10 Mbit/s", "delay": "1 ms"});
    let mut links = [link("a"), link("b"), link("c")];
    links[0]["corrupt"] = json!({"probability": 1, "from": "1 s", "until": "3 s"});
    links[1]["corrupt"] = json!({"probability": 1, "from": "2 s", "until": "4 s"});
    let topology = json!({"kind": "graph", "links": links});
    let mut group = ticks();
    group["route"] = json!(["a", "b", "c"]);
    let record = run(&scenario(&topology, &group, &json!({"warmup": "0 s", "measure": "10 s"})));
    let corrupted: Vec<_> = record.links.iter().map(|link| link.changes.map(|found| found.corrupted_packets)).collect();
    // Packets are damaged from 1 s to 4 s, each once. A packet needs 2 ms for a link.
    assert_eq!(corrupted, [Some(200), Some(100), None]);
    assert!(record.links.iter().all(|link| (link.utilisation - 0.1).abs() < 1e-3 && link.accounting.dropped == 0));
    let (path, udp) = (&record.groups[0].path, record.groups[0].udp.as_ref().unwrap());
    assert_eq!(path.dropped_packets, 300);
    assert!((udp.sent_packets - 300).abs_diff(udp.received_packets) <= 1, "{udp:?}");
    // A call and a flow that cross the access link: what is damaged there is lost for them.
    let group = json!({"sources": [{"kind": "voip"}, {"kind": "tcp", "profile": "linux"}], "start_until": "0 s",
        "access_corrupt": {"probability": "5 %"}});
    let record = run(&scenario(&json!({}), &group, &json!({"warmup": "0 s", "measure": "20 s"})));
    let found = &record.groups[0];
    let corrupted = found.access_changes.unwrap().corrupted_packets;
    assert!(corrupted.abs_diff(found.path.dropped_packets) <= 1 && corrupted > 50, "{corrupted} {:?}", found.path);
    assert!((0.02..0.09).contains(&found.voip.as_ref().unwrap().lost_share.unwrap()), "{:?}", found.voip);
    assert!(found.tcp.as_ref().unwrap().retransmissions > 50);
}

#[test]
fn reordered_packets_overtake_those_on_the_link() {
    // The link of 100 ms holds 10 packets. Each fifth packet skips its delay.
    let reorder = json!({"probability": 1, "gap": 5});
    let topology = json!({"bottleneck_rate": "1 Tbit/s", "access_rate": "1 Tbit/s", "bottleneck_delay": "100 ms",
        "bottleneck_reorder": reorder});
    let (mean, max) = delay_of(&topology, &json!({}));
    assert!((mean - 0.08).abs() < 2e-3 && (max / 0.1 - 1.0).abs() < 0.04, "{mean} {max}");
    // A segment that skips 20 ms overtakes 16 others, and causes one duplicate acknowledgement. A retransmission needs
    // three, so three such segments among 16: rarer than one in 30 at a probability of 2 %.
    let topology = json!({"bottleneck_delay": "20 ms", "bottleneck_reorder": {"probability": "2 %"}});
    let group =
        json!({"sources": [{"kind": "tcp", "profile": "ns3.26", "socket_buffer": "60 kB"}], "start_until": "0 s"});
    let record = run(&scenario(&topology, &group, &json!({"warmup": "0 s", "measure": "20 s"})));
    assert!(record.links[0].drops.iter().all(|drops| drops.packets == 0));
    let (reordered, tcp) = (record.links[0].changes.unwrap().reordered_packets, record.groups[0].tcp.as_ref().unwrap());
    assert!(reordered > 50 && tcp.retransmissions * 10 < reordered, "{reordered} {}", tcp.retransmissions);
}

#[test]
fn slots_of_a_link_delay_packets_by_half_a_slot() {
    // A packet every 10 ms, and slots every 40 ms while packets wait: delays of 40, 30, 20, 10 and 0 ms.
    let topology = json!({"bottleneck_rate": "1 Tbit/s", "access_rate": "1 Tbit/s",
        "bottleneck_slot": {"min": "40 ms"}});
    let plain = delay_of(&json!({"bottleneck_rate": "1 Tbit/s", "access_rate": "1 Tbit/s"}), &json!({}));
    let (mean, max) = delay_of(&topology, &json!({}));
    assert!((mean - plain.0 - 0.02).abs() < 5e-4 && (max - plain.1 - 0.04).abs() < 2e-3, "{mean} {max} {plain:?}");
}

#[test]
fn reno_behind_a_policer_has_the_throughput_of_its_bucket() {
    // Behind a policer, the RTT is constant. The window grows by a segment per RTT. Above the C = 100 packets of an RTT
    // at the rate of 12 Mbit/s, it empties the bucket of B packets: (W - C)^2 = 2 B at the next loss. The halved window
    // fills the bucket again before it has grown to C. On average, the window is 3/4 W. A bucket of more than C^2/18 =
    // 556 packets is never full, so that the throughput is the rate. Without pacing, a window arrives at once.
    for (bucket, share) in [(25, 0.75 * 1.071), (100, 0.75 * 1.141), (400, 0.75 * 1.283), (1000, 1.0)] {
        let policer = json!({"rate": "12 Mbit/s", "burst": format!("{} B", bucket * 1500)});
        let topology = json!({"bottleneck_rate": "1 Gbit/s", "access_rate": "1 Gbit/s", "bottleneck_policer": policer});
        let source = json!({"kind": "tcp", "profile": "linux", "congestion_control": "reno", "pacing": "on"});
        let group = json!({"sources": [source], "rtt": "100 ms", "start_until": "0 s"});
        let record = run(&scenario(&topology, &group, &json!({"warmup": "100 s", "measure": "300 s"})));
        let throughput = record.groups[0].throughput_bps / 12e6;
        assert!((throughput / share - 1.0).abs() < 0.03, "{bucket}: {throughput} {share}");
        let lost = record.links[0].drops.iter().find(|drops| drops.reason == "lost").expect("a policer drops");
        assert_eq!(lost.packets, record.groups[0].path.dropped_packets);
    }
}

#[test]
fn each_user_has_a_policer_of_its_own_on_its_access_link() {
    let mut group = json!({"users": 3, "sources": [{"kind": "cbr", "rate": "2 Mbit/s"}], "start_until": "0 s"});
    group["access_policer"] = json!({"rate": "1 Mbit/s", "burst": "3 kB"});
    let record = run(&scenario(&json!({}), &group, &json!({"warmup": "1 s", "measure": "60 s"})));
    let access = record.groups[0].access_loss.expect("the group has a policer");
    assert!((access.lost_share - 0.5).abs() < 1e-3, "{access:?}");
    assert!((record.groups[0].throughput_bps / 1e6 - 1.0).abs() < 1e-3, "{}", record.groups[0].throughput_bps);
}

/// A trace with random gaps and interruptions, as over a radio link.
fn radio() -> String {
    let (mut state, mut now, mut lines) = (1u32, 0u32, String::new());
    for _ in 0..3000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        now += match state >> 29 {
            0 => (state >> 24) & 31,
            1 | 2 => 2,
            _ => 1,
        };
        lines += &format!("{now}\n");
    }
    lines
}

#[test]
fn a_link_that_follows_a_trace_has_its_mean_rate() {
    let content = radio();
    let last_ms: u32 = content.lines().last().unwrap().parse().unwrap();
    let mean = 3000.0 * 12_000.0 / (f64::from(last_ms) / 1e3);
    let trace = json!({"file": "radio.up", "gaps": gaps_of_trace(&content).unwrap()});
    // The trace is repeated ten times. The load always exceeds the rate, and the queue has room for all excess packets.
    // Packets have 1500 B, or 300 B so that several fit into one transmission opportunity of the trace. Packets always
    // wait, so no opportunity is lost.
    for size in [1500, 300] {
        let topology = json!({"bottleneck_trace": trace, "access_rate": "1 Gbit/s", "access_limit": "10000 packets"});
        let source = json!({"kind": "cbr", "rate": "30 Mbit/s", "packet_size": format!("{size} B")});
        let group = json!({"sources": [source], "start_until": "0 s"});
        let mut scenario =
            scenario(&topology, &group, &json!({"warmup": "1 s", "measure": format!("{} ms", 10 * last_ms)}));
        scenario["queue"]["limit"] = "10000000 packets".into();
        let config = read(&scenario);
        assert!((config.topology.links[0].params.rate.as_f64() - mean).abs() < 1.0);
        let record = run(&scenario);
        // Ten complete repetitions use all opportunities, except for a packet of 1500 B at either end.
        let bits = record.links[0].throughput_bps * f64::from(10 * last_ms) / 1e3;
        assert!((bits - 10.0 * 3000.0 * 12_000.0).abs() <= 2.0 * 12_000.0, "{size} B: {bits}");
        assert!((record.links[0].utilisation - 1.0).abs() < 1e-9);
    }
}

#[test]
fn schemes_are_told_the_rate_of_the_link_or_the_mean_of_a_window() {
    // The rate is 12 Mbit/s for one second and 1.2 Mbit/s for nine. The scheme converts bytes to time with the rate
    // that the link reports.
    let content: String = (1..=1000).chain((1..=900).map(|i| 1000 + i * 10)).map(|ms| format!("{ms}\n")).collect();
    let gaps = gaps_of_trace(&content).unwrap();
    assert_eq!(gaps, "1*1000 10*900");
    let with = |trace: &Json, rate: Option<&str>| {
        let mut topology = json!({"bottleneck_trace": trace});
        if let Some(rate) = rate {
            topology["bottleneck_rate"] = rate.into();
        }
        let group = json!({"users": 4, "sources": [{"kind": "tcp"}], "start_until": "0 s"});
        let mut scenario = scenario(&topology, &group, &json!({"warmup": "5 s", "measure": "20 s"}));
        scenario["queue"] =
            json!({"scheme": "abc", "limit": "60 packets", "q_min": "10 ms", "q_base": "20 ms", "gamma": "10 ms"});
        run(&scenario)
    };
    let plain = json!({"file": "steps", "gaps": gaps});
    let windowed = json!({"file": "steps", "gaps": gaps, "rate_window": "0.5 s"});
    let mean = with(&plain, None);
    assert_eq!(mean.links[0].rate_bps, 1900.0 * 12_000.0 / 10.0);
    // If the scenario sets the reported rate to the mean rate, the run does not change. Another reported rate, or a
    // `rate_window`, changes decisions.
    assert_eq!(with(&plain, Some("2280 kbit/s")), mean);
    assert_ne!(with(&plain, Some("12 Mbit/s")).links[0].drops, mean.links[0].drops);
    assert_ne!(with(&windowed, None).links[0].drops, mean.links[0].drops);
}

#[test]
fn the_name_of_a_trace_does_not_influence_the_run() {
    let with = |file: &str| {
        let topology = json!({"bottleneck_trace": {"file": file, "gaps": "1*10 5"}});
        run(&scenario(
            &topology,
            &json!({"sources": [{"kind": "tcp"}], "start_until": "0 s"}),
            &json!({"measure": "1 s", "warmup": "1 s"}),
        ))
    };
    assert_eq!(with("a"), with("b"));
}

#[test]
fn a_source_that_stops_sends_nothing_new() {
    let run_with = |source: Json, measure: &str| {
        let group = json!({"sources": [source], "start_until": "0 s"});
        scenario(&json!({}), &group, &json!({"warmup": "0 s", "measure": measure}))
    };
    // UDP: the number of packets sent until 2 s is the same whether the run ends at 2 s or later.
    for source in [
        json!({"kind": "cbr", "rate": "1 Mbit/s", "jitter": 0.5}),
        json!({"kind": "poisson", "rate": "1 Mbit/s"}),
        json!({"kind": "on_off", "rate": "1 Mbit/s", "on": "50 ms", "off": "50 ms"}),
    ] {
        let mut stopped = source.clone();
        stopped["stop"] = "2 s".into();
        let emitted = |scenario: &Json| network(scenario).sources[0].emitted();
        let until = emitted(&run_with(source.clone(), "2 s"));
        assert_eq!(emitted(&run_with(stopped, "5 s")), until, "{source}");
        assert!(until > 50 && emitted(&run_with(source, "5 s")) > until);
    }
    // TCP: all data sent until the stop are delivered, and no further data are sent.
    let flows = network(&run_with(json!({"kind": "tcp", "profile": "ns3.26", "flows": 3, "stop": "2 s"}), "20 s"));
    let sent = network(&run_with(json!({"kind": "tcp", "profile": "ns3.26", "flows": 3}), "2 s"));
    for (flow, earlier) in flows.flows.iter().zip(&sent.flows) {
        let new = |stats: fairlane_sim::traffic::tcp::SenderStats| stats.segments_sent - stats.retransmissions;
        assert_eq!(new(flow.sender.stats()), new(earlier.sender.stats()));
        assert_eq!(flow.receiver.delivered_bytes(&flows.tcp_params[0]), new(flow.sender.stats()) * 1446);
        assert_eq!(flow.sender.timer(), Time::NEVER);
    }
    // Repeated transfers and transfers of sessions: none starts after the stop, and all started transfers end.
    for source in [
        json!({"kind": "tcp", "flows": 3, "transfer": "20 kB", "repeat": 1000, "pause": "20 ms"}),
        json!({"kind": "web", "interval": "50 ms", "distribution": "exponential", "pages": 3,
            "page_interval": "500 ms"}),
    ] {
        let mut stopped = source.clone();
        stopped["stop"] = "2 s".into();
        let times = |scenario: &Json| run(scenario).groups[0].transfer_times.clone().expect("there are transfers");
        let all = times(&run_with(stopped, "20 s"));
        assert_eq!(all.started, times(&run_with(source, "2 s")).started);
        assert_eq!(all.completed, all.started);
        assert!(all.started > 20);
    }
}

#[test]
fn round_trip_times_set_the_delay_of_access_links() {
    let with = |group: Json| {
        let mut group = group;
        (group["users"], group["start_until"]) = (4.into(), "1 s".into());
        group["sources"] = json!([{"kind": "tcp"}]);
        scenario(&json!({"kind": "two_sided_dumbbell"}), &group, &json!({"warmup": "0 s", "measure": "5 s"}))
    };
    // The RTT of 40 ms is 2 * (access + 5 ms + 0.1 ms), so the access links have 14.9 ms.
    let given = run(&with(json!({"access_delay": "14.9 ms"})));
    assert_eq!(run(&with(json!({"rtt": "40 ms"}))), given);
    assert_eq!(run(&with(json!({"user_rtts": ["40 ms", "40 ms", "40 ms", "40 ms"]}))), given);
    // Hosts with equal access links share lines. Each delay has two upstream lines. It has four downstream lines, since
    // acknowledgements cross no common bottleneck here.
    let lines = |group| {
        let hosts = network(&with(group)).hosts;
        (hosts.up.shared_lines(), hosts.down.shared_lines())
    };
    assert_eq!(lines(json!({"user_rtts": ["40 ms", "40 ms", "40 ms", "40 ms"]})), (2, 4));
    assert_eq!(lines(json!({"user_rtts": ["40 ms", "20 ms", "40 ms", "20 ms"]})), (4, 8));
}

#[test]
fn spread_round_trip_times_are_drawn_for_each_user_and_change_no_other_draw() {
    let group = |more: Json| {
        let mut group = json!({"users": 400, "rtt": "40 ms", "start_until": "1 s",
            "sources": [{"kind": "tcp", "transfer": "1000 B"}]});
        group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        group
    };
    for kind in ["one_sided_dumbbell", "two_sided_dumbbell", "parking_lot"] {
        let topology = json!({"kind": kind, "bottleneck_rate": "1 Tbit/s", "access_rate": "1 Tbit/s",
            "bottleneck_delay": "1 ms"});
        let mut topology = topology;
        if kind != "one_sided_dumbbell" {
            topology["receiver_rate"] = "1 Tbit/s".into();
        }
        let transfers = |more: Json| {
            let record = run(&scenario(&topology, &group(more), &json!({"warmup": "0 s", "measure": "2 s"})));
            record.groups[0].transfers.clone()
        };
        let (alike, spread) = (transfers(json!({})), transfers(json!({"rtt_spread": 0.2})));
        assert_eq!(transfers(json!({"rtt_spread": 0.0})), alike);
        assert!(alike.iter().zip(&spread).all(|(one, other)| one.start_s == other.start_s));
        // A transfer takes one and a half round trips of 32 to 48 ms. Transmissions take less than a microsecond.
        let rtts = spread.iter().map(|transfer| (transfer.finish_s.unwrap() - transfer.start_s) / 1.5);
        let rtts: Vec<f64> = rtts.collect();
        assert!(rtts.iter().all(|rtt| (0.032..0.048 + 1e-5).contains(rtt)));
        // The mean of n uniform values over a width w has a standard deviation of w / sqrt(12 n). Half of the values
        // are in each half of the range, with a standard deviation of sqrt(n) / 2. The test allows four standard
        // deviations of each.
        let mean = rtts.iter().sum::<f64>() / 400.0;
        assert!((mean - 0.04).abs() < 4.0 * 0.016 / (12.0f64 * 400.0).sqrt(), "{mean}");
        let early = rtts.iter().filter(|&&rtt| rtt < 0.04).count();
        assert!(early.abs_diff(200) < 40, "{early}");
    }
}

#[test]
fn an_access_network_spreads_round_trip_times_by_as_much_as_the_way_leaves() {
    let spread = |more: Json| {
        let mut group = json!({"start_until": "0 s", "sources": [{"kind": "tcp"}]});
        group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let topology = json!({"kind": "access", "sites": 2, "access_points": 2});
        let read = Scenario::read(&scenario(&topology, &group, &json!({})));
        read.map(|scenario| (scenario.groups[0].params.rtt_spread, scenario.groups[0].access_spread))
            .map_err(|error| error.to_string())
    };
    // Gateway, site and access point have delays of 5 + 0.5 + 1 ms, so the round trip takes 13 ms.
    assert_eq!(spread(json!({"rtt": "30 ms"})), Ok((Some(0.1), Time::from_millis(3))));
    assert_eq!(spread(json!({"rtt": "30 ms", "rtt_spread": 0.0})), Ok((Some(0.0), Time::ZERO)));
    // An RTT of 14 ms leaves 1 ms for the spread: a fraction of 0.0714, which is rounded to 0.071.
    assert_eq!(spread(json!({"rtt": "14 ms"})), Ok((Some(0.071), Time::from_micros(994))));
    assert_eq!(spread(json!({"access_delay": "2 ms"})), Ok((Some(0.1), Time::from_micros(1700))));
    assert_eq!(spread(json!({"rtt": "13 ms"})), Ok((Some(0.0), Time::ZERO)));
    // Packets to a neighbour cross only two access points, 2 ms one way.
    assert_eq!(spread(json!({"rtt": "5 ms", "direction": "local"})), Ok((Some(0.1), Time::from_micros(500))));
    let error = spread(json!({"rtt": "14 ms", "rtt_spread": 0.1})).unwrap_err();
    assert_eq!(
        error,
        "groups[0].rtt_spread: 0.1 is out of range, with a round-trip time of 14 ms it must be from 0 to 0.071, for \
         there and back take 13 ms without access link"
    );
}

#[test]
fn the_first_segment_takes_the_round_trip_time_of_its_user() {
    // SYN and SYN-ACK take one RTT and the segment half an RTT, together 15, 60 and 150 ms. Transmissions on links
    // of 1 Tbit/s take less than a microsecond.
    let topology = json!({"bottleneck_rate": "1 Tbit/s", "access_rate": "1 Tbit/s", "bottleneck_delay": "1 ms"});
    let group = json!({"users": 3, "user_rtts": ["10 ms", "40 ms", "100 ms"], "start_until": "0 s",
        "sources": [{"kind": "tcp", "transfer": "1000 B"}]});
    let record = run(&scenario(&topology, &group, &json!({"warmup": "0 s", "measure": "2 s"})));
    for (transfer, expected) in record.groups[0].transfers.iter().zip([0.015, 0.06, 0.15]) {
        let took = transfer.finish_s.unwrap() - transfer.start_s;
        assert!((took - expected).abs() < 1e-5, "{took} {expected}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_key_value_and_range() {
    let of_topology = |topology: Json| {
        let group = json!({"sources": [{"kind": "tcp"}]});
        refusal(&scenario(&topology, &group, &json!({})))
    };
    let of_group = |group: Json| {
        let mut group = group;
        if group.get("sources").is_none() {
            group["sources"] = json!([{"kind": "tcp"}]);
        }
        refusal(&scenario(&json!({}), &group, &json!({})))
    };
    let of_source = |source: Json| of_group(json!({"sources": [source]}));
    for (error, expected) in [
        (
            of_topology(json!({"bottleneck_loss": {"probability": "150 %"}})),
            "topology.bottleneck_loss.probability: \"150 %\" is out of range, it must be from 0 % to 100 %",
        ),
        (
            of_topology(json!({"bottleneck_loss": {"probability": 1.5}})),
            "topology.bottleneck_loss.probability: 1.5 is out of range, it must be from 0 % to 100 %",
        ),
        (
            of_topology(json!({"bottleneck_loss": {}})),
            "topology.bottleneck_loss.probability: missing, must be a probability such as \"1 %\"",
        ),
        (
            of_topology(json!({"bottleneck_loss": {"model": "gilbert_elliott", "p": 0.1}})),
            "topology.bottleneck_loss.r: missing, must be a probability such as \"1 %\"",
        ),
        (
            of_topology(json!({"bottleneck_loss": {"model": "periodic"}})),
            "topology.bottleneck_loss.period: missing, must be a count such as 10",
        ),
        (
            of_topology(json!({"bottleneck_loss": {"probability": 0.1, "period": 5}})),
            "topology.bottleneck_loss.period: unknown key (value 5); known keys: model, probability, from, until",
        ),
        (
            of_group(json!({"access_detour": {"delay": "50 ms"}})),
            "groups[0].access_detour.from: missing, must be a time such as \"5 ms\"",
        ),
        (
            of_topology(json!({"bottleneck_detour": {"delay": "0 s", "from": "1 s"}})),
            "topology.bottleneck_detour.delay: \"0 s\" is out of range, it must be from 1 ns to 1 h",
        ),
        (
            of_group(json!({"access_detour": {"delay": "50 ms", "from": "2 s", "until": "2 s"}})),
            "groups[0].access_detour.until: \"2 s\" is out of range, it must be after from, 2 s",
        ),
        (
            of_topology(json!({"bottleneck_loss": {"probability": 1, "from": "3 s", "until": "2 s"}})),
            "topology.bottleneck_loss.until: \"2 s\" is out of range, it must be after from, 3 s",
        ),
        (
            of_group(json!({"access_loss": {"model": "periodic", "period": 3, "until": "0 s"}})),
            "groups[0].access_loss.until: \"0 s\" is out of range, it must be from 1 ps to 1440 h",
        ),
        (
            of_topology(json!({"bottleneck_loss": [{"probability": 1}, {"probability": 2}]})),
            "topology.bottleneck_loss[1].probability: 2 is out of range, it must be from 0 % to 100 %",
        ),
        (
            of_group(json!({"access_loss": [{"model": "periodic", "period": 3}, 5]})),
            "groups[0].access_loss[1]: 5 is not a table of keys",
        ),
        (
            of_topology(json!({"bottleneck_duplicate": {"correlation": "5 %"}})),
            "topology.bottleneck_duplicate.probability: missing, must be a probability such as \"1 %\"",
        ),
        (
            of_topology(json!({"bottleneck_corrupt": {"probability": 2}})),
            "topology.bottleneck_corrupt.probability: 2 is out of range, it must be from 0 % to 100 %",
        ),
        (
            of_group(json!({"access_reorder": {"probability": 1, "gap": 0}})),
            "groups[0].access_reorder.gap: 0 is out of range, it must be from 1 to 1000000000",
        ),
        (
            of_topology(json!({"bottleneck_policer": {"rate": "1 Mbit/s"}})),
            "topology.bottleneck_policer.burst: missing, must be a size such as \"1500 B\"",
        ),
        (
            of_group(json!({"access_policer": {"rate": "1 Mbit/s", "burst": "3 kB", "peak_rate": "2 Mbit/s"}})),
            "groups[0].access_policer.peak_burst: missing, peak_rate needs it",
        ),
        (
            of_group(json!({"access_policer": {"rate": "9 Mbit/s", "burst": "3 kB", "peak_rate": "2 Mbit/s",
                "peak_burst": "3 kB"}})),
            "groups[0].access_policer.peak_rate: \"2 Mbit/s\" is out of range, it must be at least rate, 9 Mbit/s",
        ),
        (
            of_topology(json!({"bottleneck_slot": {"packets": 3}})),
            "topology.bottleneck_slot.min: missing, must be a time such as \"5 ms\"",
        ),
        (
            of_topology(json!({"bottleneck_slot": {"min": "5 ms", "max": "2 ms"}})),
            "topology.bottleneck_slot.max: \"2 ms\" is out of range, it must be at least min, 5 ms",
        ),
        (
            of_topology(json!({"bottleneck_jitter": {"deviation": "2 h"}})),
            "topology.bottleneck_jitter.deviation: \"2 h\" is out of range, it must be from 0 s to 1 h",
        ),
        (
            of_topology(json!({"bottleneck_trace": {"file": "a", "gaps": "1"}, "bottleneck_schedule": [{"at": "1 s",
                    "rate": "1 Mbit/s"}]})),
            "topology.bottleneck_schedule: has no effect with bottleneck_trace, which says when packets are sent",
        ),
        (
            of_topology(json!({"bottleneck_trace": {"file": "a", "gaps": "100000"}})),
            "topology.bottleneck_trace.file: \"a\" has a mean rate of 120 bit/s, it must be at least 1 kbit/s",
        ),
        (
            of_group(json!({"rtt": "5 ms"})),
            "groups[0].rtt: \"5 ms\" is out of range, it must be from 10 ms, there and back without access link, to \
             3600 s",
        ),
        (
            of_group(json!({"rtt": "50 ms", "access_delay": "1 ms"})),
            "groups[0].rtt: says the same as access_delay: give one of access_delay, rtt and user_rtts",
        ),
        (
            of_group(json!({"user_rtts": ["50 ms"], "users": 2})),
            "groups[0].user_rtts: has 1 values, it must have one for each of 2 users",
        ),
        (
            of_group(json!({"user_rtts": ["50 ms", "1 ms"], "users": 2})),
            "groups[0].user_rtts[1]: \"1 ms\" is out of range, it must be from 10 ms, there and back without access \
             link, to 3600 s",
        ),
        (
            of_group(json!({"rtt": "20 ms", "rtt_spread": 0.6})),
            "groups[0].rtt_spread: 0.6 is out of range, with a round-trip time of 20 ms it must be from 0 to 0.5, for \
             there and back take 10 ms without access link",
        ),
        (
            of_group(json!({"rtt": "20 ms", "rtt_spread": 1.5})),
            "groups[0].rtt_spread: 1.5 is out of range, it must be from 0.0 to 1.0",
        ),
        (of_group(json!({"rtt_spread": 0.1})), "groups[0].rtt_spread: 0.1 has no effect without rtt"),
        (
            of_group(json!({"user_rtts": ["50 ms"], "rtt_spread": 0.1})),
            "groups[0].rtt_spread: 0.1 has no effect without rtt",
        ),
        (
            of_source(json!({"kind": "tcp", "stop": "10 s"})),
            "groups[0].sources[0].stop: \"10 s\" is out of range, it must be after the last start, 15 s",
        ),
        (
            of_source(json!({"kind": "cbr", "rate": "1 Mbit/s", "stop": "200 s"})),
            "groups[0].sources[0].stop: \"200 s\" is out of range, it must be before the end of the run, 200 s",
        ),
        (
            of_source(json!({"kind": "tcp", "transfer": "1 MB", "stop": "50 s"})),
            "groups[0].sources[0].stop: \"50 s\" has no effect on a single transfer, which ends by itself",
        ),
    ] {
        assert_eq!(error, expected);
    }
}
