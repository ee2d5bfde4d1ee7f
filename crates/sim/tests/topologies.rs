//! Tests topologies other than the one-sided dumbbell: packet accounting at every node, determinism, and closed forms.

use crate::common::{network, read, refusal, run};
use fairlane_sim::measure::run_record::{LinkRecord, RunRecord};
use fairlane_sim::network::Network;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn link<'a>(record: &'a RunRecord, name: &str) -> &'a LinkRecord {
    record.links.iter().find(|link| link.name == name).expect("the link exists")
}

/// Up to four links, some with a separate queue, and groups on random routes.
fn scenario() -> impl Strategy<Value = Json> {
    let queue = prop_oneof![
        Just(json!(null)),
        (2u32..40).prop_map(|limit| json!({"scheme": "droptail", "limit": format!("{limit} packets")})),
        (3000u32..60_000).prop_map(|limit| json!({"scheme": "abc", "limit": format!("{limit} B")})),
        (500u32..20_000).prop_map(|rate| json!({"scheme": "cake", "bandwidth": format!("{rate} kbit/s"),
            "framing": "atm"})),
    ];
    let link = (1000u64..20_000, 0u64..20, queue);
    let source = prop_oneof![
        (1u32..4).prop_map(|flows| json!({"kind": "tcp", "flows": flows, "profile": "ns2"})),
        (50u64..8000).prop_map(|rate| json!({"kind": "poisson", "rate": format!("{rate} kbit/s")})),
        (20u64..200).prop_map(|ms| json!({"kind": "web", "interval": format!("{ms} ms")})),
        (1u64..50_000).prop_map(|bytes| json!({"kind": "tcp", "transfer": format!("{bytes} B"), "repeat": 5})),
    ];
    let group = (1u32..4, any::<[bool; 4]>(), 0u64..30, prop::collection::vec(source, 1..3));
    (prop::collection::vec(link, 1..5), prop::collection::vec(group, 1..5), 0u64..1000).prop_map(
        |(links, groups, seed)| {
            let named = |(number, (rate, delay, queue)): (usize, &(u64, u64, Json))| {
                let mut link = json!({"name": format!("l{number}"), "rate": format!("{rate} kbit/s"),
                    "delay": format!("{delay} ms")});
                if !queue.is_null() {
                    link["queue"] = queue.clone();
                }
                link
            };
            let group = |(users, on, delay, sources): &(u32, [bool; 4], u64, Vec<Json>)| {
                let mut route: Vec<String> =
                    (0..links.len()).filter(|&link| on[link]).map(|link| format!("l{link}")).collect();
                if route.is_empty() {
                    route.push("l0".into());
                }
                json!({"users": users, "route": route, "sources": sources, "start_until": "0.5 s",
                    "receiver_delay": format!("{delay} ms")})
            };
            let groups: Vec<Json> = groups
                .iter()
                .map(group)
                .enumerate()
                .map(|(number, mut group)| {
                    group["name"] = format!("g{number}").into();
                    group
                })
                .collect();
            json!({
                "run": {"warmup": "1 s", "measure": "1 s", "seed": seed},
                "topology": {"kind": "graph", "links": links.iter().enumerate().map(named).collect::<Vec<_>>()},
                "queue": {"scheme": "abc"}, "groups": groups,
            })
        },
    )
}

fn senders(network: &Network) -> u64 {
    let stats = network.ended.iter().copied().chain(network.flows.iter().map(|flow| flow.sender.stats()));
    stats.map(|stats| stats.segments_sent + u64::from(stats.handshake_segments)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_packet_is_accounted_for_at_every_node_of_any_graph(scenario in scenario()) {
        let network = network(&scenario);
        let (mut entered, mut left) = (0, 0);
        for link in &network.links {
            let account = link.accounting();
            prop_assert_eq!(account.arrived, account.departed + account.dropped + u64::from(link.backlog().packets));
            prop_assert!(link.on_wire() as u64 <= account.departed);
            entered += account.arrived;
            left += account.departed - link.on_wire() as u64;
        }
        // Senders pass packets to access links. Each packet that has crossed a link enters the next one or is
        // delivered.
        let (offered, refused, on_the_way) = network.hosts.accounting();
        let udp: u64 = network.sources.iter().map(|source| source.emitted()).sum();
        prop_assert_eq!(offered, udp + senders(&network));
        prop_assert_eq!(entered + network.delivered, offered - refused - on_the_way + left);
    }

    #[test]
    fn canonical_form_and_a_second_run_give_the_same_bytes(scenario in scenario()) {
        let canonical = read(&scenario).write();
        prop_assert_eq!(read(&canonical).write(), canonical.clone());
        let bytes = |scenario: &Json| serde_json::to_string(&run(scenario)).expect("a record has JSON");
        prop_assert_eq!(bytes(&canonical), bytes(&scenario));
    }
}

/// Returns the time of a one-segment transfer, from the opening of the connection until its last byte reaches the
/// receiver.
fn transfer_s(topology: Json, group: Json) -> f64 {
    let mut group = group;
    group["sources"] = json!([{"kind": "tcp", "transfer": "960 B", "profile": "ns2"}]);
    group["start_until"] = "0 s".into();
    let record = run(&json!({
        "run": {"warmup": "0 s", "measure": "5 s"}, "topology": topology, "queue": {"scheme": "droptail"},
        "groups": [group],
    }));
    let transfer = record.groups[0].transfers[0];
    transfer.finish_s.expect("it ends") - transfer.start_s
}

#[test]
fn an_idle_path_takes_its_transmissions_and_delays_to_the_nanosecond() {
    // SYN upstream and SYN-ACK downstream have 40 B each. Then 1000 B go upstream, after an ACK of 40 B that delays
    // them only on the access link. One byte takes 8 us at 1 Mbit/s.
    let near = |measured: f64, nanos: f64| assert!((measured * 1e9 - nanos).abs() < 1.0, "{} {nanos}", measured * 1e9);
    // The dumbbell has access links of 10 Mbit/s and 2 ms, a bottleneck of 1 Mbit/s and 1 ms, and receiver links of 5
    // Mbit/s and 3 ms.
    let two_sided = json!({"kind": "two_sided_dumbbell", "access_rate": "10 Mbit/s", "access_delay": "2 ms",
        "bottleneck_rate": "1 Mbit/s", "bottleneck_delay": "1 ms", "receiver_rate": "5 Mbit/s",
        "receiver_delay": "3 ms"});
    // A byte takes 0.8 + 8 + 1.6 = 10.4 us on the three links. The one-way propagation delay is 6 ms.
    near(transfer_s(two_sided.clone(), json!({})), 1080.0 * 10_400.0 + 40.0 * 800.0 + 3.0 * 6e6);
    // The group sets the delays on both sides, which gives 15 + 1 + 20 ms.
    let group = json!({"access_delay": "15 ms", "receiver_delay": "20 ms"});
    near(transfer_s(two_sided, group), 1080.0 * 10_400.0 + 40.0 * 800.0 + 3.0 * 36e6);
    // Three links of 10 Mbit/s and 1 ms are between access links of 20 Mbit/s and 0.1 ms. A byte takes 3 * 0.8 + 2 *
    // 0.4 us.
    let parking_lot = json!({"kind": "parking_lot", "access_rate": "20 Mbit/s", "receiver_rate": "20 Mbit/s",
        "bottleneck_delay": "1 ms"});
    near(transfer_s(parking_lot.clone(), json!({})), 1080.0 * 3200.0 + 40.0 * 400.0 + 3.0 * 3.2e6);
    // With only the middle link, a byte takes 1.6 us, and the propagation delay is 1.2 ms.
    near(transfer_s(parking_lot, json!({"route": ["link2"]})), 1080.0 * 1600.0 + 40.0 * 400.0 + 3.0 * 1.2e6);
}

#[test]
fn queues_of_a_graph_are_as_long_as_theory_says() {
    // For M/D/1, the mean number of waiting packets is rho^2 / (2 (1 - rho)): 1.6 at load 0.8, 0.45 at 0.6. Link a
    // spaces packets by their transmission time. Link c has the same rate, so packets never wait there.
    let scenario = json!({
        "run": {"warmup": "10 s", "measure": "2000 s"},
        "topology": {"kind": "graph", "access_rate": "1 Tbit/s", "links": [
            {"name": "a", "rate": "10 Mbit/s"}, {"name": "b", "rate": "5 Mbit/s"}, {"name": "c", "rate": "10 Mbit/s"},
        ]},
        "queue": {"scheme": "droptail", "limit": "100000 packets"},
        "groups": [
            {"name": "through", "route": ["a", "c"], "sources": [{"kind": "poisson", "rate": "8 Mbit/s"}]},
            {"name": "aside", "route": ["b"], "sources": [{"kind": "poisson", "rate": "3 Mbit/s"}]},
        ],
    });
    let record = run(&scenario);
    let waiting = |name: &str| link(&record, name).queue.mean_packets;
    assert!((waiting("a") / 1.6 - 1.0).abs() < 0.05, "{}", waiting("a"));
    assert!((waiting("b") / 0.45 - 1.0).abs() < 0.05, "{}", waiting("b"));
    assert_eq!(link(&record, "c").queue.max_packets, 0);
}

#[test]
fn the_shaper_of_cake_keeps_the_queue_of_a_modem_empty() {
    // PTM carries 1500 B and 30 B of overhead in 1530 + 24 B. So a modem of 20 Mbit/s sends 20 * 1500 / 1554 Mbit/s.
    let modem_bps = 20e6 * 1500.0 / 1554.0;
    let shaped = |more: Json| {
        let mut cake = json!({"scheme": "cake", "limit": "200 packets", "bandwidth": "20 Mbit/s"});
        cake.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let route = ["router", "modem"];
        run(&json!({
            "run": {"warmup": "5 s", "measure": "10 s"},
            "topology": {"kind": "graph", "links": [
                {"name": "router", "rate": "100 Mbit/s", "queue": cake}, {"name": "modem", "rate": "19.30502 Mbit/s"},
            ]},
            "queue": {"scheme": "droptail", "limit": "1000 packets"},
            "groups": [
                {"name": "tcp", "route": route, "start_until": "1 s",
                    "sources": [{"kind": "tcp", "flows": 4, "profile": "linux"}]},
                {"name": "udp", "route": route, "start_until": "1 s",
                    "sources": [{"kind": "cbr", "rate": "15 Mbit/s"}]},
            ],
        }))
    };
    let record = shaped(json!({"framing": "ptm", "overhead": "30 B"}));
    for name in ["router", "modem"] {
        let throughput_bps = link(&record, name).throughput_bps;
        assert!((throughput_bps / modem_bps - 1.0).abs() < 1e-4, "{name} {throughput_bps}");
    }
    let received_bps: f64 = record.groups.iter().map(|group| group.throughput_bps).sum();
    assert!((received_bps / modem_bps - 1.0).abs() < 1e-4, "{received_bps}");
    assert_eq!(link(&record, "modem").queue.max_packets, 0);
    // Users share equally, as on a link of this rate.
    assert!((record.groups[0].throughput_bps / received_bps - 0.5).abs() < 0.02);
    // Without framing, the queue of the modem grows by 58 packets a second.
    assert!(link(&shaped(json!({})), "modem").queue.mean_packets > 400.0);
}

#[test]
fn a_row_of_links_thins_the_long_flow_by_what_each_one_loses() {
    // With Poisson sources, the queue has the same distribution at arrivals of all flows. So a full link of rate C with
    // an offered load of r passes C/r of each flow. The rates of the links must differ. After a link of the same rate,
    // the long flow's packets would arrive at a fixed phase of the next link's transmissions. They would be dropped
    // more or less often than others. Slow access links would space the packets of their users, which would then be
    // dropped less often than those of the long flow.
    let rates = [10.0, 9.3, 10.7];
    let cross = |number: usize| {
        json!({"name": format!("cross{number}"), "users": 10, "route": [format!("l{number}")],
            "sources": [{"kind": "poisson", "rate": "2 Mbit/s", "packet_size": "1000 B"}]})
    };
    let link = |number: usize| json!({"name": format!("l{number}"), "rate": format!("{} Mbit/s", rates[number])});
    let mut groups = vec![json!({"name": "long", "route": ["l0", "l1", "l2"], "sources":
        [{"kind": "poisson", "rate": "1 Mbit/s", "packet_size": "1000 B"}]})];
    groups.extend((0..3).map(cross));
    let record = run(&json!({
        "run": {"warmup": "20 s", "measure": "500 s"},
        "topology": {"kind": "graph", "access_rate": "1 Tbit/s", "receiver_rate": "20 Mbit/s",
            "links": (0..3).map(link).collect::<Vec<_>>()},
        "queue": {"scheme": "droptail", "limit": "50 packets"}, "groups": groups,
    }));
    let mut expected = 1e6;
    for (number, link) in record.links.iter().enumerate() {
        let passes = rates[number] * 1e6 / (expected + 20e6);
        expected *= passes;
        assert!(link.utilisation > 0.9999, "{}", link.utilisation);
        let cross = &record.groups[number + 1];
        assert!((cross.throughput_bps / (2e6 * passes) - 1.0).abs() < 0.01, "{}", cross.throughput_bps);
        let drops = link.drops.iter().map(|drop| drop.packets).sum::<u64>();
        assert_eq!(link.user_dropped_packets.iter().sum::<u64>(), drops);
    }
    // At 0.11 Mbit/s, 7000 packets are sent in 500 s, which gives a standard error of 1.2 %. The test allows five
    // standard errors.
    let long = &record.groups[0];
    assert!((long.throughput_bps / expected - 1.0).abs() < 0.06, "{} {expected}", long.throughput_bps);
    // By max-min fairness, the long flow gets an eleventh of the slowest link, and the others a tenth of the remainder.
    let fair = 9.3e6 / 11.0;
    assert!((long.max_min_share_bps - fair).abs() < 1.0);
    assert!((record.groups[3].max_min_share_bps - (10.7e6 - fair) / 10.0).abs() < 1.0);
}

#[test]
fn labels_are_written_once_at_the_edge_and_every_link_judges_by_them() {
    // With ABC, a flow that sends a quarter of its share loses no packet on either link, although both links are
    // overloaded.
    let record = run(&json!({
        "run": {"warmup": "20 s", "measure": "40 s"},
        "topology": {"kind": "parking_lot", "congested_links": 2},
        "queue": {"scheme": "abc"},
        "groups": [
            {"name": "long", "sources": [{"kind": "cbr", "rate": "1 Mbit/s"}]},
            {"name": "c1", "users": 2, "route": ["link1"], "sources": [{"kind": "cbr", "rate": "8 Mbit/s"}]},
            {"name": "c2", "users": 2, "route": ["link2"], "sources": [{"kind": "cbr", "rate": "8 Mbit/s"}]},
        ],
    }));
    assert!(record.links.iter().all(|link| link.user_dropped_packets[0] == 0));
    assert!((record.groups[0].throughput_bps / 1e6 - 1.0).abs() < 0.01);
    assert!(record.links.iter().all(|link| link.user_dropped_packets[1..].iter().sum::<u64>() > 1000));
}

#[test]
fn a_fast_link_with_a_large_buffer_is_full() {
    // The scenario of afpft III-C, with drop-tail instead of the paper's schemes: a link of 1 Gb/s and 5 ms, a buffer
    // of 500 packets, and 100 flows with four different round-trip times. The link must be busy.
    let group = |number: usize, rtt_ms: f64| {
        let each = (rtt_ms - 10.0) / 4.0;
        json!({"name": format!("G{}", number + 1), "users": 25, "start_until": "1 s",
            "access_delay": format!("{each} ms"),
            "receiver_delay": format!("{each} ms"), "sources": [{"kind": "tcp", "profile": "ns2"}]})
    };
    let groups: Vec<Json> = [20.0, 40.0, 80.0, 100.0].iter().enumerate().map(|(i, &rtt)| group(i, rtt)).collect();
    let record = run(&json!({
        "run": {"warmup": "3 s", "measure": "3 s"},
        "topology": {"kind": "two_sided_dumbbell", "access_rate": "10 Gbit/s", "receiver_rate": "10 Gbit/s",
            "bottleneck_rate": "1 Gbit/s", "access_limit": "10000 packets"},
        "queue": {"scheme": "droptail", "limit": "500 packets"}, "groups": groups,
    }));
    assert!(record.links[0].utilisation > 0.8, "{}", record.links[0].utilisation);
    let got: Vec<f64> = record.groups.iter().map(|group| group.throughput_bps).collect();
    assert!(got[0] > got[1] && got[1] > got[3], "{got:?}");
    assert_eq!(record.groups[0].tcp.as_ref().expect("TCP").flow_throughput_bps.len(), 25);
}

#[test]
fn places_of_flows_are_as_many_as_were_ever_open_at_once() {
    // 25 transfers start per second over an idle link, and each lasts a fraction of a second. By Little's law, the mean
    // number of open transfers is below 25 for any duration of the run.
    let scenario = |seconds: u32| {
        json!({
            "run": {"warmup": "0 s", "measure": format!("{seconds} s")},
            "topology": {"bottleneck_rate": "100 Mbit/s", "access_rate": "1 Gbit/s"},
            "queue": {"scheme": "droptail", "limit": "1000 packets"},
            "groups": [{"start_until": "0 s", "sources": [{"kind": "web", "interval": "40 ms",
                "distribution": "exponential"}]}],
        })
    };
    for seconds in [50, 500] {
        let network = network(&scenario(seconds));
        let probe = network.transfers[0].as_ref().expect("a web source");
        let started = f64::from(seconds) * 25.0;
        assert!((probe.started as f64 - started).abs() < 5.0 * started.sqrt());
        assert!(probe.times.count() + 20 > probe.started && probe.refused == 0);
        assert!(network.flows.len() <= 20, "{}", network.flows.len());
        // The payload delivered so far is at least that of the completed transfers and at most that of the started
        // ones.
        let under_way: u64 =
            network.flows.iter().map(|flow| flow.receiver.delivered_bytes(&network.tcp_params[0])).sum();
        let delivered = network.users[0].delivered_bytes + under_way;
        assert!((probe.completed_bytes..=probe.started_bytes).contains(&delivered));
    }
}

#[test]
fn mistakes_are_named() {
    let base =
        |topology: Json, group: Json| json!({"topology": topology, "queue": {"scheme": "droptail"}, "groups": [group]});
    let tcp = json!({"sources": [{"kind": "tcp"}]});
    let with = |key: &str, value: Json| {
        let mut group = tcp.clone();
        group[key] = value;
        group
    };
    let graph =
        json!({"kind": "graph", "links": [{"name": "a", "rate": "1 Mbit/s"}, {"name": "b", "rate": "1 Mbit/s"}]});
    assert_eq!(
        refusal(&base(graph.clone(), tcp.clone())),
        "groups[0].route: missing, must be a list of links in order, of a, b"
    );
    assert_eq!(
        refusal(&base(graph.clone(), with("route", json!(["a", "x"])))),
        "groups[0].route[1]: \"x\" is not a link, there are a, b"
    );
    assert_eq!(
        refusal(&base(graph, with("route", json!(["a", "a"])))),
        "groups[0].route[1]: \"a\" comes twice, a route has no loop"
    );
    assert_eq!(
        refusal(&base(json!({"kind": "graph", "links": []}), tcp.clone())),
        "topology.links: 0 tables, a graph needs 1 to 1000 [[topology.links]]"
    );
    assert_eq!(
        refusal(&base(json!({}), with("receiver_delay", "5 ms".into()))),
        "groups[0].receiver_delay: the one_sided_dumbbell has no access links of receivers, set topology.kind to \
         two_sided_dumbbell"
    );
    assert_eq!(
        refusal(&base(json!({"kind": "two_sided_dumbbell", "receiver_rate": "1 Mbit/s"}), tcp.clone())),
        "topology.receiver_rate: \"1 Mbit/s\" is out of range, it must be at least the rate of bottleneck, 10 Mbit/s"
    );
    let own = json!({"kind": "graph", "links": [{"name": "a", "rate": "1 Mbit/s", "queue": {"scheme": "abc"}}]});
    assert_eq!(
        refusal(&base(own, with("route", json!(["a"])))),
        "marker.scheme: \"none\" is not what topology.links[0].queue.scheme \"abc\" needs: \"abc\""
    );
    let web = json!({"sources": [{"kind": "web"}]});
    assert!(refusal(&base(json!({}), web)).starts_with("groups[0].sources[0].interval: missing"));
    let repeat = json!({"sources": [{"kind": "tcp", "repeat": 3}]});
    assert!(refusal(&base(json!({}), repeat)).starts_with("groups[0].sources[0].repeat: 3 needs a transfer"));
}
