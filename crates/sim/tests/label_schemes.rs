//! Tests guarantees of schemes with labels in small published cases: constant-rate sources on one link.

use crate::common::{self, read, refusal};
use fairlane_schemes::contract::marker::MarkerScheme;
use fairlane_schemes::registry::schemes::Scheme;
use serde_json::{Value as Json, json};

/// Returns a scenario in which user i sends `rates[i]` Mbit/s in packets of 1000 B, as in afpft Table II. The
/// measurement takes `seconds`.
fn scenario(queue: &Json, link_mbps: u32, rates: &[f64], seconds: u32) -> Json {
    let group = |(index, rate): (usize, &f64)| {
        json!({"name": format!("user{index}"), "users": 1, "start_until": "1 s",
            "sources": [{"kind": "cbr", "rate": format!("{rate} Mbit/s"), "packet_size": "1000 B"}]})
    };
    json!({
        "run": {"warmup": "25 s", "measure": format!("{seconds} s"), "replications": 1},
        "topology": {"bottleneck_rate": format!("{link_mbps} Mbit/s"), "bottleneck_delay": "1 ms"},
        "queue": queue,
        "groups": rates.iter().enumerate().map(group).collect::<Vec<_>>(),
    })
}

/// Returns the throughput in Mbit/s of each user.
fn run(scenario: &Json) -> Vec<f64> {
    common::run(scenario).groups.iter().map(|group| group.throughput_bps / 1e6).collect()
}

fn throughput(queue: &Json, link_mbps: u32, rates: &[f64], seconds: u32) -> Vec<f64> {
    run(&scenario(queue, link_mbps, rates, seconds))
}

/// afpft Fig. 6: flow i of 32 sends i times the fair share of 0.3125 Mbit/s.
fn fig_6_rates() -> Vec<f64> {
    (1..=32).map(|i| f64::from(i) * 0.3125).collect()
}

fn fig_2_rates() -> Vec<f64> {
    [0.5, 1.0, 1.5, 2.0].into_iter().flat_map(|rate| [rate; 5]).collect()
}

fn groups_of_five(rates: &[f64]) -> Vec<f64> {
    rates.chunks(5).map(|group| group.iter().sum::<f64>() / 5.0).collect()
}

fn assert_close(measured: &[f64], expected: &[f64], tolerance: f64) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * b;
    assert!(measured.iter().zip(expected).all(close), "{measured:.4?} is not {expected:?} within {tolerance}");
}

#[test]
fn csfq_gives_each_of_32_constant_rates_its_max_min_share_within_3_percent() {
    let queue = json!({"scheme": "csfq", "limit": "50 kB", "q_threshold": "25 kB",
        "aggregate_constant": "200 ms", "window": "200 ms"});
    // Drops are independent, so the standard deviation of the number N of accepted packets is below sqrt(N). In 700 s,
    // 27 000 packets of each flow are accepted, which gives a relative deviation of 0.6 %.
    let shares = throughput(&queue, 10, &fig_6_rates(), 700);
    println!("{shares:.4?}");
    assert_close(&shares, &[0.3125; 32], 0.03);
}

#[test]
fn afpft_gives_each_of_32_constant_rates_its_max_min_share_within_3_percent() {
    let shares = throughput(&json!({"scheme": "afpft", "limit": "50 kB"}), 10, &fig_6_rates(), 25);
    println!("{shares:.4?}");
    assert_close(&shares, &[0.3125; 32], 0.03);
}

#[test]
fn afpft_fig_2_groups_above_the_share_get_the_share_only_with_the_correction_of_finish() {
    let shares = |correct: bool| {
        let queue = json!({"scheme": "afpft", "limit": "50 kB", "correct_finish": correct});
        groups_of_five(&throughput(&queue, 20, &fig_2_rates(), 25))
    };
    let (with, without) = (shares(true), shares(false));
    println!("with {with:.4?}, without {without:.4?}");
    // The max-min share is (20 - 5*0.5 - 5*1)/10 = 1.25 Mbit/s for groups 3 and 4.
    assert_close(&with, &[0.5, 1.0, 1.25, 1.25], 0.03);
    // Without `correct_finish`, group 3 gets all that it sends, and group 4 gets the remaining rate: (20 - 5*(0.5 + 1 +
    // 1.5))/5 = 1 Mbit/s.
    assert_close(&without, &[0.5, 1.0, 1.5, 1.0], 0.03);
}

#[test]
fn start_time_fair_queueing_gives_constant_rates_their_max_min_share() {
    let queue = json!({"scheme": "stfq", "limit": "50 kB"});
    assert_close(&throughput(&queue, 10, &fig_6_rates(), 25), &[0.3125; 32], 0.03);
    assert_close(&groups_of_five(&throughput(&queue, 20, &fig_2_rates(), 25)), &[0.5, 1.0, 1.25, 1.25], 0.03);
}

#[test]
fn rainbow_fair_queueing_gives_constant_rates_their_max_min_share_within_a_few_colours() {
    let queue = json!({"scheme": "rfq", "limit": "50 kB", "q_threshold": "25 kB"});
    let shares = groups_of_five(&throughput(&queue, 20, &fig_2_rates(), 100));
    println!("{shares:.4?}");
    // The rates of successive colours differ by 19 %. The threshold varies by one or two colours around the colour of
    // the fair share.
    assert_close(&shares, &[0.5, 1.0, 1.25, 1.25], 0.1);
    assert!((shares[2] / shares[3] - 1.0).abs() < 0.03, "{shares:?}");
}

#[test]
fn per_packet_value_gives_constant_rates_their_max_min_share() {
    for (scheme, place) in [("ppv", "random"), ("ppv", "token_buckets"), ("pvpie", "random")] {
        let mut scenario = scenario(&json!({"scheme": scheme, "limit": "50 kB"}), 20, &fig_2_rates(), 100);
        scenario["marker"] = json!({"place": place});
        let shares = groups_of_five(&run(&scenario));
        println!("{scheme} {place} {shares:.4?}");
        assert_close(&shares, &[0.5, 1.0, 1.25, 1.25], 0.05);
    }
}

/// Returns the throughput of an honest and a forging user that each send 8 Mbit/s over 10 Mbit/s.
fn beside_a_forger(scheme: &str) -> Vec<f64> {
    let mut scenario = scenario(&json!({"scheme": scheme, "limit": "50 kB"}), 10, &[8.0, 8.0], 50);
    scenario["groups"][1]["forged_labels"] = true.into();
    for group in scenario["groups"].as_array_mut().expect("groups") {
        group["sources"][0]["kind"] = "poisson".into(); // constant rates would be in phase with the queue
    }
    run(&scenario)
}

#[test]
fn who_forges_labels_gets_all_he_asks_for_where_the_port_believes_them() {
    // Packets of the forging user are dropped only at a full buffer. The buffer never fills, because packets of the
    // honest user are dropped earlier. So the forging user gets 8 Mbit/s, and the honest one the rest.
    for scheme in ["abc", "csfq", "rfq", "ppv", "pvpie"] {
        let shares = beside_a_forger(scheme);
        println!("{scheme} {shares:.4?}");
        assert!((shares[1] / 8.0 - 1.0).abs() < 0.03, "{scheme} {shares:?}");
        assert!(shares[0] < 2.2, "{scheme} {shares:?}");
    }
    // The port of AFpFT computes the tags itself. It uses the label only to check that the packet comes from an edge.
    let shares = beside_a_forger("afpft");
    println!("afpft {shares:.4?}");
    assert_close(&shares, &[5.0, 5.0], 0.05);
}

#[test]
fn labels_are_forged_only_where_there_are_some() {
    let mut scenario = scenario(&json!({"scheme": "abc", "limit": "50 kB"}), 10, &[8.0, 8.0], 50);
    scenario["groups"][1]["forged_labels"] = true.into();
    let forged = read(&scenario);
    let kept = |scheme: Scheme| forged.with_queue(scheme).groups.iter().any(|group| group.params.forged_labels);
    for &scheme in Scheme::ALL {
        assert_eq!(kept(scheme), scheme.marker() != MarkerScheme::NONE, "{}", scheme.name());
    }
    scenario["queue"]["scheme"] = "red".into();
    assert_eq!(
        refusal(&scenario),
        "groups[1].forged_labels: true has no effect with marker \"none\", which writes no labels: use a scheme with a \
         marker, such as abc"
    );
}

#[test]
fn the_first_abc_cuts_the_throughput_of_unresponsive_heavy_users_with_gamma() {
    let ratio = |gamma: f64| {
        let queue = json!({"scheme": "abc2016", "gamma": gamma});
        let mut scenario = scenario(&queue, 10, &[8.0, 4.0], 100);
        for group in scenario["groups"].as_array_mut().expect("groups") {
            group["reference_rate"] = "100 kbit/s".into();
            group["sources"][0]["kind"] = "poisson".into(); // constant rates would be in phase with the queue
        }
        let shares = run(&scenario);
        println!("gamma {gamma}: {shares:.4?}");
        shares[0] / shares[1]
    };
    // With gamma = 0 only the base AQM drops packets, so both users lose the same fraction.
    assert!((ratio(0.0) - 2.0).abs() < 0.1);
    // The activities differ by 1. The light user gets its 4 Mbit/s, the heavy user the other 6 Mbit/s.
    assert!(ratio(5.0) < 1.6);
}

/// Returns the throughput of a user with one TCP flow and four ingress nodes, relative to a user with one node.
fn share_of_a_spread_user(group: &Json, marker: &Json) -> f64 {
    let mut groups = json!([
        {"name": "spread", "ingresses": 4, "start_until": "1 s", "sources": [{"kind": "tcp"}]},
        {"name": "other", "start_until": "1 s", "sources": [{"kind": "tcp"}]},
    ]);
    groups[0].as_object_mut().expect("a group").extend(group.as_object().expect("keys").clone());
    let rates = run(&json!({
        "run": {"warmup": "30 s", "measure": "60 s", "replications": 1},
        "tcp": {"profile": "ns3.26"},
        "queue": {"scheme": "abc"},
        "marker": marker,
        "groups": groups,
    }));
    println!("{rates:.3?}");
    rates[0] / rates[1]
}

#[test]
fn parts_of_the_reference_rate_that_follow_the_traffic_restore_the_share() {
    let equal = share_of_a_spread_user(&json!({}), &json!({}));
    assert!(equal < 0.4, "a quarter of the reference rate: {equal}");
    let known = share_of_a_spread_user(&json!({"ingress_parts": [1000, 1, 1, 1]}), &json!({}));
    assert!((known - 1.0).abs() < 0.05, "{known}");
    let exchange = |table: Json| share_of_a_spread_user(&json!({}), &json!({"exchange": table}));
    // The floor leaves 0.9 + 0.1/4 of the reference rate at the first node.
    let moved = exchange(json!({}));
    assert!((0.85..1.02).contains(&moved), "{moved}");
    let lossy = exchange(json!({"loss": 0.3, "delay": "0.3 s"}));
    assert!((0.8..1.02).contains(&lossy), "{lossy}");
    let silent = exchange(json!({"silent_node": 0}));
    assert!((silent - equal).abs() < 0.1, "{silent} without a message, {equal} without an exchange");
}

#[test]
fn an_exchange_without_effect_is_refused() {
    let mut scenario = scenario(&json!({"scheme": "abc", "limit": "50 kB"}), 10, &[8.0, 8.0], 50);
    scenario["marker"] = json!({"exchange": {"interval": "1 s"}});
    assert_eq!(refusal(&scenario), "marker.exchange: has no effect with groups with one ingress node");
    scenario["groups"][0]["ingresses"] = 2.into();
    let kept = |scheme: Scheme| read(&scenario).with_queue(scheme).exchange.is_some();
    assert!(kept(Scheme::Abc) && kept(Scheme::Abc2016) && !kept(Scheme::Csfq) && !kept(Scheme::DropTail));
    scenario["marker"]["exchange"] = json!({"delay": "0.6 s"});
    assert_eq!(
        refusal(&scenario),
        "marker.exchange.delay: \"600 ms\" is out of range, it must be at most half of interval"
    );
    scenario["marker"]["exchange"] = json!({"silent_node": 2});
    assert_eq!(
        refusal(&scenario),
        "marker.exchange.silent_node: 2 is out of range, it must be below 2, the largest number of ingresses"
    );
    for (exchange, key, problem) in [
        (json!({"lease": "0.5 s"}), "lease", "\"500 ms\" is out of range, it must be at least interval"),
        (json!({"silent_from": "5 s"}), "silent_from", "has no effect without silent_node"),
        (
            json!({"silent_node": 1, "silent_from": "5 s", "silent_until": "2 s"}),
            "silent_until",
            "\"2 s\" is out of range, it must be after silent_from",
        ),
    ] {
        scenario["marker"]["exchange"] = exchange;
        assert_eq!(refusal(&scenario), format!("marker.exchange.{key}: {problem}"));
    }
    scenario["marker"]["exchange"] = json!({});
    scenario["queue"]["scheme"] = "csfq".into();
    assert_eq!(
        refusal(&scenario),
        "marker.exchange: has no effect with marker \"csfq\", whose labels depend on no reference rate"
    );
    scenario["marker"] = json!({});
    scenario["groups"][0]["ingress_parts"] = json!([1, 2, 3]);
    assert_eq!(refusal(&scenario), "groups[0].ingress_parts: has 3 values, it must have one for each of 2 ingresses");
}
