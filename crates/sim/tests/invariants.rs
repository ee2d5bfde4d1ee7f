//! Tests properties that every scenario must have, on random scenarios.

use crate::common::{network, read, replicate};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_sim::engine;
use fairlane_sim::engine::batch::Batch;
use fairlane_sim::measure::run_record::{PathRecord, RunRecord};
use fairlane_sim::network::impairment::Place;
use fairlane_sim::scenario::Scenario;
use fairlane_sim::traffic::tcp::{CongestionControl, TcpProfile};
use fairlane_sim::watch::observer::Observer;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// ABC with limits in packets or bytes, and thresholds in all three units.
fn abc_queue() -> impl Strategy<Value = Json> {
    let scheduler = prop_oneof![Just("fifo"), Just("strict"), Just("medf")];
    let limit = prop_oneof![
        (2u32..60).prop_map(|packets| format!("{packets} packets")),
        (3000u32..90_000).prop_map(|bytes| format!("{bytes} B")),
    ];
    let thresholds = prop_oneof![
        (0.001..2.0f64, 0.0..40.0f64, 0.0..40.0f64).prop_map(|(min, base, gamma)| json!({"scheme": "abc",
            "q_min": format!("{min} packets"), "q_base": format!("{base} packets"),
            "gamma": format!("{gamma} packets")})),
        (1u32..3000, 0u32..60_000, 0u32..60_000).prop_map(|(min, base, gamma)| json!({"scheme": "abc",
            "q_min": format!("{min} B"), "q_base": format!("{base} B"), "gamma": format!("{gamma} B")})),
        (1u32..20, 0u32..40, 0u32..40, prop_oneof![Just("link_rate"), Just("departures"), Just("sojourn")])
            .prop_map(|(min, base, gamma, estimate)| json!({"scheme": "abc", "delay_estimate": estimate,
                "q_min": format!("{min} ms"), "q_base": format!("{base} ms"), "gamma": format!("{gamma} ms")})),
    ];
    (thresholds, limit, scheduler).prop_map(|(mut queue, limit, scheduler)| {
        queue["limit"] = limit.into();
        queue["scheduler"] = scheduler.into();
        queue
    })
}

/// Any scheme of the registry with its defaults, and a limit that is large enough for these defaults. Marking is on if
/// the scheme supports it.
fn any_queue() -> impl Strategy<Value = Json> {
    let limit = prop_oneof![
        (24u32..60).prop_map(|packets| format!("{packets} packets")),
        (36_000u32..90_000).prop_map(|bytes| format!("{bytes} B")),
    ];
    (prop::sample::select(Scheme::ALL), limit, any::<bool>()).prop_map(|(scheme, limit, marks)| {
        let mut queue = json!({"scheme": scheme.name(), "limit": limit});
        if scheme.params().iter().any(|param| param.name == "ecn") {
            queue["ecn"] = marks.into();
        }
        if marks && scheme == Scheme::Cake {
            (queue["bandwidth"], queue["framing"]) = ("4 Mbit/s".into(), "ptm".into());
        }
        queue
    })
}

/// Any congestion control, with one of the two methods of loss detection that keep a record per segment.
fn any_control() -> impl Strategy<Value = Json> {
    let profile = prop::sample::select(&[TcpProfile::Linux, TcpProfile::Quic][..]);
    let control = prop::sample::select(CongestionControl::ALL);
    let pacing = prop_oneof![Just("auto"), Just("on"), Just("off")];
    (1u32..4, profile, control, pacing, any::<bool>(), 1u32..3, any::<bool>()).prop_map(
        |(flows, profile, control, pacing, ecn, ack, plusplus)| {
            let mut source = json!({"kind": "tcp", "flows": flows, "profile": profile.name(), "pacing": pacing,
                "congestion_control": control.name(), "ecn": ecn, "delayed_ack": ack});
            if plusplus {
                set_if_it_has_an_effect(&mut source, "hystart", "plusplus");
            }
            source
        },
    )
}

/// Sets a key of a source, unless the scenario rejects the key because it has no effect.
fn set_if_it_has_an_effect(source: &mut Json, key: &str, value: &str) {
    let mut with = source.clone();
    with[key] = value.into();
    if Scenario::read(&json!({"groups": [{"sources": [with]}]})).is_ok() {
        source[key] = value.into();
    }
}

fn source() -> impl Strategy<Value = Json> {
    prop_oneof![2 => any_control(), 3 => other_source()]
}

/// Sources of all kinds, including TCP senders of all profiles.
fn other_source() -> impl Strategy<Value = Json> {
    let profile = prop_oneof![Just("ns3.26"), Just("ns3"), Just("ns2"), Just("linux")];
    prop_oneof![
        (1u32..6, 1u32..3).prop_map(|(flows, ack)| json!({"kind": "tcp", "flows": flows, "delayed_ack": ack})),
        (1u32..6, profile, any::<bool>())
            .prop_map(|(flows, profile, ecn)| json!({"kind": "tcp", "flows": flows, "profile": profile, "ecn": ecn})),
        (1u32..3, 1u64..400_000)
            .prop_map(|(flows, bytes)| json!({"kind": "tcp", "flows": flows, "transfer": format!("{bytes} B")})),
        (50u64..30_000, 40u32..1500)
            .prop_map(|(rate, size)| json!({"kind": "poisson", "rate": format!("{rate} kbit/s"),
                "packet_size": format!("{size} B")})),
        (50u64..30_000, 0.0..2.0f64)
            .prop_map(|(rate, jitter)| json!({"kind": "cbr", "rate": format!("{rate} kbit/s"), "jitter": jitter})),
        (50u64..30_000, 1u64..500, 0u64..500, prop_oneof![Just("exponential"), Just("pareto")])
            .prop_map(|(rate, on, off, distribution)| json!({"kind": "on_off", "rate": format!("{rate} kbit/s"),
                "on": format!("{on} ms"), "off": format!("{off} ms"), "distribution": distribution})),
        (1u64..60_000, 2u32..50, 0u64..200).prop_map(|(bytes, repeat, pause)| json!({"kind": "tcp", "flows": 2,
            "transfer": format!("{bytes} B"), "repeat": repeat, "pause": format!("{pause} ms")})),
        (10u64..500, 1u32..4, 1u32..4, 1u32..20).prop_map(|(interval, pages, objects, limit)| json!({"kind": "web",
            "interval": format!("{interval} ms"), "pages": pages, "objects": objects, "limit": limit,
            "page_interval": "100 ms", "distribution": "lomax"})),
        (1u32..100).prop_map(|sessions| json!({"kind": "web", "sessions": sessions, "profile": "ns2"})),
        prop_oneof![
            Just(json!({"kind": "tcp", "profile": "linux"})),
            Just(json!({"kind": "cbr", "rate": "5 Mbit/s"})),
            Just(json!({"kind": "web", "interval": "20 ms"})),
            Just(json!({"kind": "tcp", "transfer": "5 kB", "repeat": 100})),
        ]
        .prop_map(|mut source| {
            source["stop"] = "950 ms".into();
            source
        }),
        (prop_oneof![Just("g711"), Just("g711_plc"), Just("g729a")], 1u32..13, 0u32..200)
            .prop_map(|(codec, frames, buffer)| json!({"kind": "voip", "codec": codec,
                "packet_interval": format!("{} ms", 10 * frames), "buffer": format!("{buffer} ms")})),
        (1u32..500, 1u32..8, 1u32..500, prop_oneof![Just("ns3.26"), Just("linux")]).prop_map(
            |(lowest, rungs, chunk, profile)| json!({"kind": "video", "profile": profile,
                "ladder": (1..=rungs).map(|rung| format!("{} kbit/s", lowest * rung)).collect::<Vec<_>>(),
                "chunk": format!("{} ms", 100 + chunk), "buffer": "2 s", "reservoir": "300 ms", "cushion": "1 s"})
        ),
        (1u32..5, 10u32..300)
            .prop_map(|(flows, ms)| json!({"kind": "rpm", "flows": flows, "interval": format!("{ms} ms")})),
        (1u32..150, prop_oneof![Just("web_search"), Just("data_mining")])
            .prop_map(|(load, sizes)| json!({"kind": "transfers", "load": format!("{load} %"), "sizes": sizes})),
        (5u64..500, 1u32..20, 1u32..100_000).prop_map(|(interval, limit, size)| json!({"kind": "transfers",
            "interval": format!("{interval} ms"), "limit": limit,
            "cdf": {"file": "drawn", "points": format!("0:0 1:0.5 {size}:0.5 {}:1", 2 * size)}})),
    ]
}

const IMPAIRMENTS: [&str; 7] = ["loss", "jitter", "reorder", "duplicate", "corrupt", "slot", "policer"];

/// Parts of the impairment of a path, each optional and with an optional span.
pub(crate) fn impairments() -> impl Strategy<Value = Vec<(&'static str, Json)>> {
    let loss = prop_oneof![
        (0.0..=1.0f64).prop_map(|probability| json!({"probability": probability * probability})),
        (0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64, 0.0..0.2f64).prop_map(|(p, r, bad, good)| json!({
            "model": "gilbert_elliott", "p": p, "r": r, "bad_loss": bad, "good_loss": good})),
        (1u32..200).prop_map(|period| json!({"model": "periodic", "period": period})),
    ];
    let distribution = prop_oneof![Just("uniform"), Just("normal"), Just("pareto")];
    let jitter = (0u32..30_000, distribution, any::<bool>()).prop_map(|(deviation, distribution, reorder)| {
        json!({"deviation": format!("{deviation} us"), "distribution": distribution, "reorder": reorder})
    });
    let chance = || {
        (0.0..=1.0f64, 0.0..=1.0f64).prop_map(
            |(probability, correlation)| json!({"probability": probability * probability, "correlation": correlation}),
        )
    };
    let reorder = (chance(), 1u32..10).prop_map(|(mut reorder, gap)| {
        reorder["gap"] = gap.into();
        reorder
    });
    let slot = (1u32..30, 0u32..30, prop::option::of((1u32..20, 1u32..30_000))).prop_map(|(min, more, most)| {
        let mut slot = json!({"min": format!("{min} ms"), "max": format!("{} ms", min + more)});
        if let Some((packets, bytes)) = most {
            (slot["packets"], slot["bytes"]) = (packets.into(), format!("{bytes} B").into());
        }
        slot
    });
    let policer = (1u32..30, 1u32..100, prop::option::of(0u32..30)).prop_map(|(rate, burst, more)| {
        let mut policer = json!({"rate": format!("{rate} Mbit/s"), "burst": format!("{burst} kB")});
        if let Some(more) = more {
            (policer["peak_rate"], policer["peak_burst"]) = (format!("{} Mbit/s", rate + more).into(), "2 kB".into());
        }
        policer
    });
    let spanned = |part: BoxedStrategy<Json>| {
        (prop::option::weighted(0.3, (part, prop::option::of((0u32..2000, 1u32..2000))))).prop_map(|found| {
            found.map(|(mut part, span)| {
                if let Some((from, length)) = span {
                    part["from"] = format!("{from} ms").into();
                    part["until"] = format!("{} ms", from + length).into();
                }
                part
            })
        })
    };
    let parts = [
        loss.boxed(),
        jitter.boxed(),
        reorder.boxed(),
        chance().boxed(),
        chance().boxed(),
        slot.boxed(),
        policer.boxed(),
    ];
    (parts.map(spanned), any::<bool>()).prop_map(move |(parts, fails)| {
        let parts = IMPAIRMENTS.into_iter().zip(parts).filter_map(|(name, part)| Some((name, part?)));
        let mut parts: Vec<_> = parts.collect();
        if fails && let Some(("loss", loss)) = parts.first_mut() {
            *loss = json!([loss.take(), {"probability": 1, "from": "1 s", "until": "1.2 s"}]);
        }
        parts
    })
}

/// Adds the parts of an impairment to a table, with `prefix` before their names.
pub(crate) fn with_parts(table: &mut Json, prefix: &str, parts: Option<Vec<(&'static str, Json)>>) {
    for (name, part) in parts.into_iter().flatten() {
        table[format!("{prefix}{name}")] = part;
    }
}

fn group() -> impl Strategy<Value = Json> {
    let class = prop_oneof![Just("BE"), Just("EF")];
    let rtt = prop::option::weighted(0.3, (0u32..300).prop_map(|ms| format!("{} ms", 120 + ms)));
    let sources = prop::collection::vec(source(), 1..3);
    let path = (prop::option::weighted(0.3, impairments()), rtt);
    (1u32..5, class, 1u32..4, sources, path).prop_map(|(users, class, ingresses, sources, (access, rtt))| {
        let mut group = json!({"users": users, "traffic_class": class, "ingresses": ingresses, "sources": sources,
            "start_until": "0.9 s"});
        with_parts(&mut group, "access_", access);
        if let Some(rtt) = rtt {
            group["rtt"] = rtt.into();
        }
        group
    })
}

fn scenario() -> impl Strategy<Value = Json> {
    scenario_with(prop_oneof![1 => abc_queue(), 2 => any_queue()])
}

fn scenario_with(queue: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    let course = prop_oneof![
        3 => Just(json!({})),
        3 => (100u64..4000, 500u64..40_000).prop_map(|(at, rate)| {
            json!({"bottleneck_schedule": [{"at": format!("{at} ms"), "rate": format!("{rate} kbit/s")}]})
        }),
        2 => (prop::collection::vec(0u32..12, 1..40), prop::option::of(1u32..500)).prop_map(|(mut gaps, window)| {
            gaps.push(1);
            let gaps: Vec<String> = gaps.iter().map(u32::to_string).collect();
            let mut trace = json!({"file": "drawn", "gaps": gaps.join(" ")});
            if let Some(window) = window {
                trace["rate_window"] = format!("{window} ms").into();
            }
            json!({"bottleneck_trace": trace})
        }),
    ];
    let path = (course, prop::option::weighted(0.5, impairments()));
    let meter = prop_oneof![Just("normal"), Just("fair")];
    let delay = (0u32..60).prop_map(|ms| format!("{ms} ms"));
    let detail = prop_oneof![Just("group"), Just("user"), Just("flow")];
    let times = (0u32..3, 1u32..4, 0u64..1000, detail);
    (queue, prop::collection::vec(group(), 1..4), path, meter, delay, times).prop_map(
        |(queue, groups, (mut topology, impairments), meter, delay, (warmup, measure, seed, detail))| {
            topology["bottleneck_delay"] = delay.into();
            with_parts(&mut topology, "bottleneck_", impairments);
            let mut marker = if queue["scheme"] == "abc" { json!({"meter": meter}) } else { json!({}) };
            if queue["scheme"] == "abc" && seed % 2 == 0 && groups.iter().any(|group| group["ingresses"] != 1) {
                marker["exchange"] = json!({"interval": "50 ms", "delay": "10 ms", "memory": "200 ms", "loss": 0.2});
            }
            json!({
                "run": {"warmup": format!("{warmup} s"), "measure": format!("{measure} s"), "seed": seed},
                "topology": topology,
                "queue": queue, "marker": marker, "groups": groups,
                "probes": {"series_interval": "100 ms", "detail": detail},
            })
        },
    )
}

/// Scenarios in which all sources last for the whole run, without time series and impairments of the link. In such
/// scenarios, the engine may handle deliveries later than their times.
fn lasting_scenario() -> impl Strategy<Value = Json> {
    let queue = prop_oneof![2 => abc_queue(), 3 => any_queue(), 1 => Just(json!({"scheme": "droptail"}))];
    scenario_with(queue).prop_filter_map("no source lasts", |mut scenario| {
        scenario["probes"].as_object_mut()?.shift_remove("series_interval");
        for part in IMPAIRMENTS {
            scenario["topology"].as_object_mut()?.shift_remove(&format!("bottleneck_{part}"));
        }
        let groups = scenario["groups"].as_array_mut()?;
        for group in groups.iter_mut() {
            group["sources"].as_array_mut()?.retain(|source| match source["kind"].as_str() {
                Some("tcp") => source.get("transfer").is_none(),
                Some(kind) => ["cbr", "poisson", "on_off"].contains(&kind),
                None => false,
            });
        }
        groups.retain(|group| group["sources"] != json!([]));
        if groups.iter().all(|group| group["ingresses"] == 1) {
            scenario["marker"].as_object_mut()?.shift_remove("exchange");
        }
        let groups = scenario["groups"].as_array()?;
        (!groups.is_empty()).then_some(scenario)
    })
}

/// Observer that makes the engine handle each event at its time.
struct Looking;

impl Observer for Looking {}

fn run_event_by_event(scenario: &Scenario) -> RunRecord {
    let record = engine::observe(scenario, 0, &AtomicBool::new(false), &mut Looking).expect("nobody cancels");
    RunRecord { cpu_seconds: None, ..record }
}

fn check_against_event_by_event(scenario: &Json) -> Result<(), TestCaseError> {
    prop_assert_eq!(replicate(scenario, 0), run_event_by_event(&read(scenario)), "{}", scenario);
    Ok(())
}

/// Like `what_is_handled_late_changes_no_result`, on many more scenarios.
#[test]
#[ignore = "takes minutes"]
fn what_is_handled_late_changes_no_result_of_ten_thousand() {
    let config = ProptestConfig { cases: 10_000, failure_persistence: None, ..Default::default() };
    let mut runner = TestRunner::new(config);
    let drawn = prop_oneof![2 => lasting_scenario(), 1 => scenario()];
    runner.run(&drawn, |scenario| check_against_event_by_event(&scenario)).unwrap();
}

fn check_path(path: &PathRecord) -> Result<(), TestCaseError> {
    for share in [path.lost_share, path.marked_share].into_iter().flatten() {
        prop_assert!((0.0..=1.0).contains(&share), "{share}");
    }
    for times in [path.one_way_delay, path.rtt].into_iter().flatten() {
        let ascending = [0.0, times.p50_s, times.p95_s, times.p99_s, times.max_s];
        prop_assert!(ascending.is_sorted() && times.mean_s <= times.max_s, "{times:?}");
    }
    Ok(())
}

/// The test `every_packet_is_accounted_for_at_every_node` found this: an ACK ended a series of probes, and the time of
/// the next probe, computed from the last packet, was 30 ms in the past.
#[test]
fn events_come_in_order_though_a_probe_is_overdue() {
    let sender = |control, ack: u32| {
        json!({"kind": "tcp", "flows": 3, "profile": "quic", "congestion_control": control, "ecn": false,
            "delayed_ack": ack, "pacing": "auto"})
    };
    let first = json!({"users": 4, "ingresses": 1, "start_until": "0.9 s", "sources": [sender("ledbat", 2)]});
    let flood = json!({"kind": "cbr", "rate": "18211 kbit/s", "jitter": 1.735_250_269_267_428_3});
    let second = json!({"users": 3, "ingresses": 1, "start_until": "0.9 s", "sources": [sender("dctcp", 1), flood]});
    let gaps = "1 9 4 1 10 0 8 8 4 7 0 4 1 9 8 10 5 0 5 6 8 2 6 0 11 0 9 8 0 4 0 10 11 6 6 11 5 1";
    network(&json!({
        "run": {"warmup": "0 s", "measure": "1 s", "seed": 535},
        "topology": {"bottleneck_trace": {"file": "drawn", "gaps": gaps}, "bottleneck_delay": "16 ms"},
        "queue": {"scheme": "packs", "limit": "39800 B"}, "marker": {},
        "groups": [first, second],
        "probes": {"series_interval": "100 ms", "detail": "group"},
    }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_packet_is_accounted_for_at_every_node(scenario in scenario()) {
        let network = network(&scenario);
        for link in &network.links {
            let account = link.accounting();
            prop_assert_eq!(account.arrived, account.departed + account.dropped + u64::from(link.backlog().packets));
        }
        // Counts packets from senders to access links, and from access links to the bottleneck.
        let bottleneck = &network.links[0];
        let (offered, refused, on_the_way) = network.hosts.accounting();
        let udp: u64 = network.sources.iter().map(|source| source.emitted()).sum();
        let senders = network.ended.iter().copied().chain(network.flows.iter().map(|flow| flow.sender.stats()));
        let tcp: u64 = senders.map(|stats| stats.segments_sent + u64::from(stats.handshake_segments)).sum();
        prop_assert_eq!(offered, udp + tcp);
        let (mut before, mut behind) = ((0, 0), (0, 0));
        for impairment in &network.impairments {
            let (account, held) = (impairment.account(), impairment.held() as u64);
            prop_assert_eq!(account.entered + account.copied, account.passed + account.lost + held);
            match impairment.place() {
                Place::Access { .. } => before = (before.0 + account.lost + held, before.1 + account.copied),
                Place::Link(_) => behind = (behind.0 + held, behind.1 + account.copied),
            }
        }
        prop_assert_eq!(bottleneck.accounting().arrived + before.0, offered - refused - on_the_way + before.1);
        let on_the_wire = bottleneck.on_wire() as u64 + behind.0;
        prop_assert_eq!(network.delivered + network.discarded + on_the_wire,
            bottleneck.accounting().departed + behind.1);
    }

    #[test]
    fn what_is_handled_late_changes_no_result(lasting in lasting_scenario(), any in scenario()) {
        check_against_event_by_event(&lasting)?;
        check_against_event_by_event(&any)?;
    }

    #[test]
    fn a_record_is_sound(scenario in scenario()) {
        let record = replicate(&scenario, 0);
        let link = &record.links[0];
        prop_assert_eq!(link.user_dropped_packets.iter().sum::<u64>(),
            link.drops.iter().map(|drops| drops.packets).sum::<u64>());
        prop_assert!((0.0..=1.0).contains(&link.utilisation), "{}", link.utilisation);
        let distribution: f64 = link.queue.distribution.iter().sum();
        prop_assert!((distribution - 1.0).abs() < 1e-9);
        let mean: f64 = link.queue.distribution.iter().zip(0u32..).map(|(part, n)| part * f64::from(n)).sum();
        prop_assert!((mean - link.queue.mean_packets).abs() < 1e-6);
        let speaks_ecn = |source: &Json| source["ecn"] == true;
        let groups = scenario["groups"].as_array().expect("drawn").iter();
        let has_ecn = groups.flat_map(|group| group["sources"].as_array().expect("drawn")).any(speaks_ecn);
        prop_assert!(link.marks == 0 || has_ecn, "{} marks", link.marks);
        for drops in &link.drops {
            if drops.reason == "lost" {
                continue; // still on the wire, including those that had arrived before the measurement
            }
            prop_assert_eq!(drops.queue_histogram.iter().sum::<u64>(), drops.packets);
            prop_assert!((0.0..=1.0).contains(&drops.share_of_arrivals));
        }
        let dropped: u64 = record.groups.iter().map(|group| group.path.dropped_packets).sum();
        prop_assert!(dropped >= link.user_dropped_packets.iter().sum::<u64>(), "hosts may drop as well");
        for group in &record.groups {
            check_path(&group.path)?;
            if !group.user_paths.is_empty() {
                group.user_paths.iter().try_for_each(check_path)?;
                let of_users = |count: fn(&PathRecord) -> u64| group.user_paths.iter().map(count).sum::<u64>();
                prop_assert_eq!(group.path.delivered_packets, of_users(|path| path.delivered_packets));
                prop_assert_eq!(group.path.dropped_packets, of_users(|path| path.dropped_packets));
                prop_assert_eq!(group.path.marked_packets, of_users(|path| path.marked_packets));
            }
            for transfer in &group.transfers {
                prop_assert!(transfer.finish_s.is_none_or(|finish| finish > transfer.start_s));
            }
            if let Some(voip) = &group.voip {
                prop_assert!(voip.call_mos.iter().flatten().all(|mos| (1.0..=4.5).contains(mos)));
                prop_assert!(voip.lost_share.unwrap_or(0.0) + voip.late_share.unwrap_or(0.0) <= 1.0 + 1e-12);
            }
            if let Some(video) = &group.video {
                let seconds = record.window_s[1] - record.window_s[0];
                prop_assert!(video.stalled_s <= seconds + 1e-9, "{} {seconds}", video.stalled_s);
                prop_assert!(video.player_stalled_share.iter().flatten().all(|share| (0.0..=1.0).contains(share)));
            }
            if let Some(test) = &group.responsiveness {
                prop_assert!(test.rpm.is_none_or(|rpm| rpm > 0.0 && rpm.is_finite()));
            }
            if let Some(times) = &group.transfer_times {
                prop_assert!(times.completed <= times.started);
                for classes in [&times.by_time, &times.by_size] {
                    prop_assert_eq!(classes.iter().map(|class| class.completed).sum::<u64>(), times.completed);
                }
            }
        }
        // The throughput of all users equals that of the link.
        let users: f64 = record.groups.iter().flat_map(|group| &group.user_throughput_bps).sum();
        prop_assert!((users - link.throughput_bps).abs() <= 1e-9 * link.throughput_bps, "{users} {}",
            link.throughput_bps);
    }

    #[test]
    fn canonical_form_reads_back_and_means_the_same(scenario in scenario()) {
        let canonical = read(&scenario).write();
        prop_assert_eq!(read(&canonical).write(), canonical.clone());
        prop_assert_eq!(replicate(&canonical, 1), replicate(&scenario, 1));
    }

    #[test]
    fn same_seed_gives_the_same_bytes_for_any_number_of_threads(scenario in scenario()) {
        let parsed = Arc::new(read(&scenario));
        let bytes_with = |threads| {
            let batch = Batch::start((0..4).map(|replication| (parsed.clone(), replication)).collect(),
                threads).unwrap();
            let mut texts = vec![String::new(); 4];
            while batch.remaining() > 0 {
                let (index, outcome) = batch.next(Duration::from_secs(600)).expect("runs end");
                let record = RunRecord { cpu_seconds: None, ..outcome.expect("no defect") };
                texts[index] = serde_json::to_string(&record).unwrap();
            }
            texts
        };
        prop_assert_eq!(bytes_with(1), bytes_with(2));
    }

    #[test]
    fn eq_13_scaling_all_reference_rates_by_a_power_of_two_changes_nothing(
        scenario in scenario_with(abc_queue()), power in -8i32..12,
    ) {
        // If all reference rates are multiplied by s, each activity A becomes log2(R/(s R_r)) = A - log2(s), so every
        // decision is the same. The exception is the first packet: before it, A_avg is 0 for any reference rate. It
        // must be accepted in both runs, so Q_min is above 0.
        let mut scenario = scenario;
        if let Some(unit) = scenario["queue"]["q_min"].as_str().and_then(|text| text.split(' ').nth(1)) {
            scenario["queue"]["q_min"] = format!("1 {unit}").into();
        }
        scenario["probes"] = json!({}); // recorded thresholds would differ in the last bit
        let mut base = read(&scenario);
        base.groups.iter_mut().for_each(|group| group.params.reference_rate = BitRate(1 << 20));
        base.exchange = None;
        let mut scaled = base.clone();
        let rate = BitRate((f64::from(1 << 20) * 2f64.powi(power)) as u64);
        scaled.groups.iter_mut().for_each(|group| group.params.reference_rate = rate);
        // Several ingresses could divide the reference rate unevenly, so that rounding would differ.
        for group in base.groups.iter_mut().chain(&mut scaled.groups) {
            group.params.ingresses = 1;
        }
        // Removes the average activity, a reading that changes by log2(s).
        let decided = |scenario: &Scenario| {
            let mut record = replicate(&scenario.write(), 0);
            record.links[0].readings.clear();
            record
        };
        prop_assert_eq!(decided(&base), decided(&scaled));
    }
}

/// Default scenario of abc2018 Table 1, shortened, with all times multiplied and all rates divided by `k`.
fn slowed(scheme: &str, k: u32) -> Json {
    let time = |us: u32| format!("{} us", us * k);
    let rate = |kbit: u32| format!("{} bit/s", kbit * 1000 / k);
    json!({
        "run": {"warmup": time(20_000_000), "measure": time(60_000_000)},
        "topology": {
            "access_rate": rate(100_000), "access_delay": time(100),
            "bottleneck_rate": rate(10_000), "bottleneck_delay": time(5_000),
        },
        "queue": if scheme == "abc" {
            json!({"scheme": scheme, "averager_memory": time(300_000)})
        } else {
            json!({"scheme": scheme})
        },
        "marker": if scheme == "abc" { json!({"memory": time(3_000_000)}) } else { json!({}) },
        "tcp": {
            "profile": "ns3.26", "delayed_ack_timeout": time(200_000), "min_rto": time(1_000_000),
            "max_rto": time(60_000_000),
            "initial_rto": time(1_001_000), "rto_granularity": time(1_000), "syn_timeout": time(3_000_000),
        },
        "groups": [
            {"users": 1, "start_until": time(5_000_000), "reference_rate": rate(10),
                "sources": [{"kind": "tcp", "flows": 10}]},
            {"users": 10, "start_until": time(5_000_000), "reference_rate": rate(10), "sources": [{"kind": "tcp"}]},
        ],
    })
}

/// The scenario of [`slowed`] with a congestion control of Linux and a queue that marks.
fn slowed_control(control: CongestionControl, k: u32) -> Json {
    let time = |ms: u32| format!("{} ms", ms * k);
    let mut scenario = slowed("codel", k);
    scenario["queue"] =
        json!({"scheme": "codel", "limit": "100 packets", "ecn": true, "target": time(5), "interval": time(100)});
    let mut source = json!({
        "kind": "tcp", "profile": "linux", "congestion_control": control.name(), "ecn": true,
        "delayed_ack_timeout": time(40), "min_rto": time(200), "max_rto": time(120_000), "initial_rto": time(1000),
        "syn_timeout": time(1000),
        "clock_tick": "0 s", "sack_delay": "0 s", // both round times, so scaled times differ
        "tso_defer": false, // a fixed time of a millisecond
        "ack_delay_adapts": false, // compares times rounded to microseconds and ticks
        "autotuning": false, // compares the time of a round trip with SRTT, which is rounded to picoseconds
    });
    set_if_it_has_an_effect(&mut source, "hystart", "off"); // has fixed times as thresholds
    scenario["tcp"] = json!({});
    // The bandwidth-delay product of 33 packets is large enough that no flow is at its minimum window.
    scenario["topology"]["bottleneck_delay"] = time(20).into();
    scenario["groups"][1]["users"] = 2.into();
    let flows_of = |flows: u32| {
        let mut source = source.clone();
        source["flows"] = flows.into();
        json!([source])
    };
    scenario["groups"][0]["sources"] = flows_of(4);
    scenario["groups"][1]["sources"] = flows_of(1);
    // All flows start before CoDel drops a packet, because a connection whose SYN is lost has no ECN. CoDel would then
    // drop its packets, and RACK, which detects such losses, has fixed times of milliseconds.
    scenario["groups"][0]["start_until"] = time(50).into();
    scenario["groups"][1]["start_until"] = time(50).into();
    scenario
}

fn mean_ratio(scenario: &Json) -> f64 {
    (0..6).map(|replication| replicate(scenario, replication).throughput_ratio.unwrap()).sum::<f64>() / 6.0
}

#[test]
fn slowing_everything_down_leaves_throughput_ratios() {
    for (scheme, tolerance) in [("abc", 0.03), ("droptail", 0.06)] {
        // Random start times are rounded differently, so the runs diverge. The ratio of one run has a standard
        // deviation of 0.012 at a mean of about 1 (ABC), and of 0.3 at a mean of about 10 (drop-tail). The mean of six
        // runs has about a third of this, and the tolerance is five times that.
        let (fast, slow) = (mean_ratio(&slowed(scheme, 1)), mean_ratio(&slowed(scheme, 4)));
        assert!((fast / slow - 1.0).abs() < tolerance, "{scheme}: {fast} {slow}");
    }
}

#[test]
fn slowing_everything_down_leaves_throughput_ratios_of_controls_without_constants_of_time() {
    let scale_free: Vec<_> = CongestionControl::ALL.iter().filter(|control| control.is_scale_free()).collect();
    assert!(scale_free.contains(&&CongestionControl::Reno));
    for &control in scale_free {
        // All events happen k times as late and are otherwise the same, so the two ratios must be equal. With
        // congestion controls that are not scale-free, they mostly differ by 0.5 % or more, and with Prague by 0.04 %.
        let (fast, slow) = (mean_ratio(&slowed_control(control, 1)), mean_ratio(&slowed_control(control, 4)));
        assert!((fast / slow - 1.0).abs() < 1e-9, "{}: {fast} {slow}", control.name());
    }
}

#[test]
fn scaling_reference_rates_by_any_factor_leaves_throughput_ratios() {
    let base = slowed("abc", 1);
    for factor in ["7 bit/s", "3 kbit/s", "1 Gbit/s"] {
        let mut scaled = base.clone();
        for group in scaled["groups"].as_array_mut().unwrap() {
            group["reference_rate"] = factor.into();
        }
        assert!((mean_ratio(&scaled) - mean_ratio(&base)).abs() < 0.03, "{factor}");
    }
}

#[test]
fn equal_users_get_equal_shares() {
    for (users, flows, rate) in [(2, 1, None), (8, 3, None), (5, 1, Some("4 Mbit/s"))] {
        let source = match rate {
            None => json!({"kind": "tcp", "flows": flows}),
            Some(rate) => json!({"kind": "poisson", "rate": rate}),
        };
        let scenario = json!({
            "run": {"warmup": "30 s", "measure": "2000 s"},
            "queue": {"scheme": "abc"},
            "groups": [{"users": users, "sources": [source]}],
        });
        let record = replicate(&scenario, 0);
        let fair = 10e6 / f64::from(users);
        for throughput in &record.groups[0].user_throughput_bps {
            // Activities differ only by noise, which the threshold amplifies. The leading user changes about every 3 s,
            // the time constant of the meters. In each of the 2000 s / 3 s = 670 periods, a user's throughput is
            // between 0 and twice its fair share. The standard deviation of the mean is therefore about 0.7 / sqrt(670)
            // = 3 %, and the tolerance is three times that.
            assert!((throughput / fair - 1.0).abs() < 0.1, "{users} users: {throughput} of {fair}");
        }
        assert!(record.jain_index.unwrap() > 0.995);
    }
}

#[test]
fn an_idle_link_delays_a_packet_by_its_transmission_and_drops_nothing() {
    let scenario = json!({
        "run": {"warmup": "1 s", "measure": "100 s"},
        "queue": {"scheme": "abc"},
        "groups": [{"sources": [{"kind": "cbr", "rate": "1 Mbit/s"}], "start_until": "0 s"}],
    });
    let record = replicate(&scenario, 0);
    let link = &record.links[0];
    // A packet of 12 000 bits every 12 ms uses a tenth of the link, and no packet ever waits for another.
    assert!((link.utilisation - 0.1).abs() < 1e-4, "{}", link.utilisation);
    assert_eq!((link.queue.max_packets, link.delay[0].max_s), (0, 0.0));
    assert_eq!(link.drops.iter().map(|drops| drops.packets).sum::<u64>(), 0);
    // Goodput counts the 1470 payload bytes of 1500.
    assert!((record.groups[0].goodput_bps / 0.98e6 - 1.0).abs() < 1e-3);
}

#[test]
fn a_poisson_queue_is_as_long_as_theory_says() {
    // M/D/1 queue at load rho = 0.8: the mean number of waiting packets is rho^2 / (2 (1 - rho)) = 1.6
    // (Pollaczek-Khinchine).
    let scenario = json!({
        "run": {"warmup": "10 s", "measure": "3000 s"},
        "queue": {"scheme": "droptail", "limit": "100000 packets"},
        "groups": [{"sources": [{"kind": "poisson", "rate": "8 Mbit/s"}]}],
        "topology": {"access_rate": "1 Tbit/s"},
    });
    let record = replicate(&scenario, 0);
    assert!((record.links[0].queue.mean_packets / 1.6 - 1.0).abs() < 0.04, "{}", record.links[0].queue.mean_packets);
    // By Little's law the mean waiting time is 1.6 packets / 666.7 packets per second = 2.4 ms.
    assert!((record.links[0].delay[0].mean_s / 0.0024 - 1.0).abs() < 0.04);
}

#[test]
fn a_lone_flow_has_one_mean_queue_under_drop_tail_and_under_a_codel_that_drops_nothing() {
    // Neither scheme counts the packet in transmission as waiting. The target is so long that CoDel drops nothing. With
    // another target it would drop three packets in BBR's start-up. That would lower the mean from 6.6 to 5.7 packets
    // between 5 s and 20 s.
    let mean = |queue: Json| {
        let scenario = json!({
            "run": {"warmup": "1 s", "measure": "5 s"},
            "topology": {"bottleneck_rate": "20 Mbit/s", "bottleneck_delay": "20 ms"},
            "queue": queue,
            "groups": [{"start_until": "0 s", "sources": [{"kind": "tcp", "profile": "linux",
                "congestion_control": "bbr1"}]}],
        });
        replicate(&scenario, 0).links[0].queue.mean_packets
    };
    let drop_tail = mean(json!({"scheme": "droptail", "limit": "1000 packets"}));
    assert!(drop_tail > 1.0, "{drop_tail}");
    let codel = json!({"scheme": "codel", "limit": "1000 packets", "target": "1 s", "interval": "10 s"});
    assert_eq!(mean(codel), drop_tail);
}

#[test]
fn a_rate_schedule_moves_capacity_and_thresholds_in_time_follow_it() {
    let scenario = json!({
        "run": {"warmup": "50 s", "measure": "100 s"},
        "topology": {"bottleneck_schedule": [{"at": "100 s", "rate": "2 Mbit/s"}]},
        "queue": {"scheme": "abc", "q_min": "14.4 ms", "q_base": "24 ms", "gamma": "19.2 ms", "limit": "100 packets"},
        "groups": [{"users": 4, "sources": [{"kind": "tcp", "flows": 2}]}],
        "probes": {"series_interval": "10 s"},
    });
    let record = replicate(&scenario, 0);
    // The rate is 10 Mbit/s for 50 s and 2 Mbit/s for 50 s.
    assert!((record.links[0].throughput_bps / 6e6 - 1.0).abs() < 0.02, "{}", record.links[0].throughput_bps);
    let queue = &record.series.unwrap().queue_packets;
    // The threshold is a time, so the queue in packets shrinks with the rate, to less than 24 ms * 2 Mbit/s = 4
    // packets.
    assert!(queue[7] > 10.0 && queue[13] < 4.5, "{queue:?}");
}

#[test]
fn memory_of_probes_is_bounded_by_the_queue_not_by_time() {
    for seconds in [20, 400] {
        let scenario = json!({
            "run": {"warmup": "1 s", "measure": format!("{seconds} s")},
            "queue": {"scheme": "droptail"},
            "groups": [{"users": 2, "start_until": "1 s", "sources": [{"kind": "tcp", "flows": 3}]}],
        });
        let record = replicate(&scenario, 0);
        // For any duration, the distribution has one entry for each queue length from 0 to 24 packets. The queue is
        // full at each drop.
        assert_eq!(record.links[0].queue.distribution.len(), 25, "{seconds} s");
        assert_eq!(record.links[0].drops[1].queue_histogram.len(), 25, "{seconds} s");
        assert!(record.series.is_none());
    }
}

#[test]
fn the_first_replication_of_the_default_scenario_is_pinned() {
    // These bytes were recorded, not derived. They may change only if the simulation itself changes, which the
    // changelog must mention. They must not depend on machine, compiler or number of threads.
    let record = replicate(&slowed("abc", 1), 0);
    let account = record.links[0].accounting;
    assert_eq!((account.arrived, account.departed, account.dropped), PINNED);
    assert_eq!(Time::from_secs_f64(record.window_s[1]), Time::from_secs(80));
}

const PINNED: (u64, u64, u64) = (70_827, 66_280, 4_534);
