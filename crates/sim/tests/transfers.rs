//! Transfers with a size distribution and a given load.

use crate::common::{refusal, run};
use serde_json::{Value as Json, json};

/// Ten users with one source each on a link of 100 Mbit/s.
fn scenario(source: Json) -> Json {
    json!({
        "run": {"warmup": "5 s", "measure": "60 s", "seed": 3},
        "topology": {"bottleneck_rate": "100 Mbit/s", "bottleneck_delay": "1 ms", "access_rate": "1 Gbit/s"},
        "queue": {"scheme": "droptail", "limit": "2000 packets"},
        "tcp": {"profile": "linux"},
        "groups": [{"users": 10, "start_until": "0 s", "sources": [source]}],
    })
}

#[test]
fn a_load_below_saturation_is_the_utilisation() {
    // Sizes are uniform from 0 to 100 kB. The mean is 50 kB, or 35.03 segments of 1448 bytes, which are 52 kB with
    // headers. At 60 Mbit/s, about 60e6/8/52e3 = 144 transfers start per second, 8650 in the measurement. The relative
    // standard deviation of the sum is sqrt((1 + 1/3)/8650) = 1.2 %. The tolerance is five standard deviations, plus
    // 0.3 % for handshakes.
    let points = json!({"file": "uniform", "points": "0:0 100000:1"});
    let record = run(&scenario(json!({"kind": "transfers", "load": "60 %", "cdf": points})));
    let link = &record.links[0];
    assert!((link.utilisation / 0.6 - 1.0).abs() < 0.065, "{}", link.utilisation);
    let times = record.groups[0].transfer_times.as_ref().expect("there are transfers");
    assert!((times.started as f64 / 8650.0 - 1.0).abs() < 5.0 / 8650f64.sqrt(), "{}", times.started);
    // The standard error of the mean size is 100 kB/sqrt(12)/sqrt(8650).
    let mean = times.mean_bytes.expect("some started");
    assert!((mean - 50_000.0).abs() < 5.0 * 28_868.0 / 8650f64.sqrt(), "{mean}");
    assert_eq!(times.refused, 0);
    assert!(times.completed + 20 > times.started, "{} {}", times.completed, times.started);
}

#[test]
fn flows_with_a_start_time_start_then_whatever_the_group_says() {
    let mut scenario = scenario(json!({}));
    scenario["groups"] = json!([{"start_until": "0 s", "sources": [
        {"kind": "tcp", "transfer": "5 kB", "start": "7 s", "flows": 2},
        {"kind": "tcp", "transfer": "9 kB", "start": "6500 ms"},
    ]}]);
    let transfers = &run(&scenario).groups[0].transfers;
    let starts: Vec<(f64, u64)> = transfers.iter().map(|one| (one.start_s, one.bytes)).collect();
    assert_eq!(starts, [(7.0, 5000), (7.0, 5000), (6.5, 9000)]);
}

#[test]
fn the_load_of_a_group_does_not_depend_on_the_number_of_its_users() {
    let offered = |users: u32| {
        let mut scenario = scenario(json!({"kind": "transfers", "load": "30 %",
            "cdf": {"file": "constant", "points": "10000:0 10000:1"}}));
        scenario["groups"][0]["users"] = users.into();
        run(&scenario).groups[0].transfer_times.as_ref().expect("there are transfers").started as f64
    };
    // A transfer of 10 000 bytes has 7 segments with 66 bytes of headers each, which gives 10 462 bytes. At 30 Mbit/s,
    // 30e6/8/10462 = 358 transfers start per second, 21 506 per minute.
    for users in [1, 10] {
        assert!((offered(users) / 21_506.0 - 1.0).abs() < 5.0 / 21_506f64.sqrt(), "{users}: {}", offered(users));
    }
}

#[test]
fn a_transfer_alone_takes_the_ideal_time_and_one_of_two_windows_a_round_trip_more() {
    // The one-way delay is 20 ms. Ten segments of 1448 + 66 bytes take 12.112 ms at 10 Mbit/s, so the ideal time is
    // 72.112 ms. The first window, ten segments, leaves immediately after the handshake. The actual time is longer by
    // less than 0.2 ms: the SYN (78 B) takes 62.4 us at 10 Mbit/s and 0.6 us at 1 Gbit/s, the SYN-ACK takes about as
    // long, and the first segment takes 12.1 us on the access link. With eleven segments, the ideal time is 73.323 ms.
    // The last segment waits for an ACK, which takes at most a round trip of 40 ms.
    let mean = |segments: u32| {
        let mut scenario = scenario(json!({"kind": "transfers", "interval": "2 s", "cdf":
            {"file": "constant", "points": format!("{0}:0 {0}:1", 1448 * segments)}}));
        scenario["topology"] = json!({"bottleneck_rate": "10 Mbit/s", "bottleneck_delay": "19 ms",
            "access_rate": "1 Gbit/s", "access_delay": "1 ms"});
        scenario["groups"][0]["users"] = 1.into();
        run(&scenario).groups[0].transfer_times.as_ref().and_then(|times| times.slowdown).expect("some end")
    };
    let single = mean(10);
    assert!(single.p50 > 0.968 && single.mean >= 1.0 && single.mean < 1.0 + 0.2 / 72.112, "{single:?}");
    let two = mean(11);
    assert!(two.mean > 1.0 + 0.2 / 73.323 && two.mean < 1.0 + 40.2 / 73.323, "{two:?}");
}

#[test]
fn slowdowns_of_all_transfers_are_those_of_their_classes() {
    let record = run(&scenario(json!({"kind": "transfers", "load": "80 %", "sizes": "web_search"})));
    let times = record.groups[0].transfer_times.as_ref().expect("there are transfers");
    let all = times.slowdown.expect("some end");
    let of_class = |value: f64, completed: u64| value * completed as f64;
    let sum: f64 = times.by_size.iter().filter_map(|class| Some(of_class(class.slowdown?.mean, class.completed))).sum();
    assert!((sum / of_class(all.mean, times.completed) - 1.0).abs() < 1e-9, "{sum}");
    assert!(times.by_time.iter().all(|class| class.slowdown.is_none()));
    assert!(all.p50 <= all.p95 && all.p95 <= all.p99 && all.p99 <= all.max * 1.033, "{all:?}");
}

#[test]
fn the_fair_share_of_a_group_counts_each_of_its_sources_once() {
    let mut scenario = scenario(json!({"kind": "transfers", "load": "10 %", "sizes": "web_search"}));
    let quic = json!({"kind": "transfers", "load": "20 %", "sizes": "web_search", "profile": "quic"});
    let sources = scenario["groups"][0]["sources"].as_array_mut().expect("an array");
    sources.push(quic);
    let group = &run(&scenario).groups[0];
    let offered = group.transfer_times.as_ref().expect("there are transfers").offered_bps;
    // There are ten users. A segment of 1448 bytes has 52 bytes of headers, a segment of 1165 bytes has 63.
    let overhead = 10.0 * group.max_min_share_bps / offered;
    assert!((1500.0 / 1448.0..1228.0 / 1165.0).contains(&overhead), "{overhead}");
}

#[test]
fn what_is_missing_or_given_twice_is_one_line() {
    let cdf = json!({"file": "mine.txt", "points": "0:0 100:1"});
    for (source, problem) in [
        (
            json!({"kind": "transfers", "sizes": "web_search"}),
            "load: missing, must be a load such as \"60 %\", or give interval, a time between transfers",
        ),
        (
            json!({"kind": "transfers", "sizes": "web_search", "load": "5 %", "interval": "1 s"}),
            "load: \"5 %\" and interval \"1 s\": give one of the two",
        ),
        (
            json!({"kind": "transfers", "load": "5 %"}),
            "sizes: missing, must be one of web_search, data_mining, or give cdf, a table with a file",
        ),
        (
            json!({"kind": "transfers", "load": "5 %", "sizes": "web_search", "cdf": cdf}),
            "sizes: \"web_search\" and a cdf: sizes have one distribution, give one of the two",
        ),
        (
            json!({"kind": "transfers", "load": "5000 %", "sizes": "web_search"}),
            "load: \"5000 %\" is out of range, it must be from 0.01 % to 1000 %",
        ),
        (
            json!({"kind": "transfers", "load": 0.6, "sizes": "web_search"}),
            "load: 0.6 is not a load such as \"60 %\" from 0.01 % to 1000 %",
        ),
        (
            json!({"kind": "transfers", "load": "5 %", "cdf": {"file": "mine.txt"}}),
            "cdf.file: \"mine.txt\" is the name of a file that nobody has read",
        ),
        (
            json!({"kind": "transfers", "load": "5 %", "cdf": {"file": "mine.txt", "points": "0:0 5:0.5 9:0.4"}}),
            "cdf.points: share 0.4 is out of range, it must be at least the one before, 0.5: a CDF never falls",
        ),
    ] {
        assert_eq!(refusal(&scenario(source)), format!("groups[0].sources[0].{problem}"));
    }
}
