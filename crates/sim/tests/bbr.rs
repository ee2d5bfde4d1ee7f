//! Tests BBR in complete runs: use of a link, sharing between BBR flows, and the share left to CUBIC.

use crate::common;
use fairlane_sim::measure::run_record::RunRecord;
use serde_json::{Value as Json, json};

/// Runs flows with these congestion controls at 10 Mbit/s with an RTT of 40.2 ms, so the bandwidth-delay product is
/// 33.5 packets. The buffer has `limit` packets.
fn run(controls: &[&str], limit: u32, seconds: u32) -> RunRecord {
    let group = |(number, control): (usize, &&str)| {
        let source = json!({"kind": "tcp", "congestion_control": control});
        json!({"name": format!("flow {number}"), "start_until": "1 s", "sources": [source]})
    };
    let groups: Vec<Json> = controls.iter().enumerate().map(group).collect();
    common::run(&json!({
        "run": {"warmup": "10 s", "measure": format!("{seconds} s")},
        "topology": {"bottleneck_delay": "20 ms", "access_limit": "1000 packets"},
        "queue": {"scheme": "droptail", "limit": format!("{limit} packets")},
        "tcp": {"profile": "linux"},
        "groups": groups,
    }))
}

fn shares(record: &RunRecord) -> Vec<f64> {
    let total: f64 = record.groups.iter().map(|group| group.throughput_bps).sum();
    record.groups.iter().map(|group| group.throughput_bps / total).collect()
}

#[test]
fn one_flow_fills_a_link_with_a_buffer_of_a_quarter_of_the_bandwidth_delay_product() {
    // BBR gets 99 % of the rate, minus 2 % in ProbeRTT. BBRv3 also drains after each probe, at 90 % of the rate for a
    // tenth of the time.
    for (control, least) in [("bbr1", 0.97), ("bbr3", 0.96)] {
        let record = run(&[control], 9, 60);
        assert!(record.links[0].utilisation > least, "{control}: {}", record.links[0].utilisation);
    }
}

#[test]
fn the_queue_of_one_flow_is_a_fraction_of_the_bandwidth_delay_product_however_large_the_buffer() {
    // CUBIC keeps on average 116 of 140 packets in the queue, and BBR must keep fewer than a quarter of 33.5. BBRv1
    // probes with an excess of a quarter of 33.5 packets for an eighth of the time. BBRv3 probes with up to 1.25 BDP,
    // but less often.
    for control in ["bbr1", "bbr3"] {
        let mean = run(&[control], 140, 60).links[0].queue.mean_packets;
        assert!(mean < 33.5 / 4.0, "{control}: {mean}");
    }
}

#[test]
fn two_flows_of_a_kind_share_equally() {
    for control in ["bbr1", "bbr3"] {
        // In six runs with the shallow buffer, the share of a flow was 0.42 to 0.53. In Linux 6.12 it is 0.47 to 0.53.
        for (limit, tolerance) in [(17, 0.1), (140, 0.05)] {
            let shares = shares(&run(&[control; 2], limit, 120));
            let equal = |share: &f64| (share - 0.5).abs() < tolerance;
            assert!(shares.iter().all(equal), "{control}, {limit} packets: {shares:?}");
        }
    }
}

#[test]
fn bbr1_takes_most_of_a_shallow_buffer_from_cubic_and_bbr3_leaves_it_about_a_third_at_least() {
    // The buffer is half a bandwidth-delay product. CUBIC and BBRv3 back off at losses (draft-ietf-ccwg-bbr 5.3.3.8.1),
    // which BBRv1 ignores. In 24 runs, CUBIC's share next to BBRv3 was 0.33 to 0.51.
    assert!(shares(&run(&["bbr1", "cubic"], 17, 60))[0] > 0.8);
    for limit in [17, 140] {
        let cubic = shares(&run(&["bbr3", "cubic"], limit, 60))[1];
        assert!((0.3..0.7).contains(&cubic), "{limit} packets: {cubic}");
    }
}

#[test]
fn the_start_of_the_cycle_differs_by_seed_and_not_otherwise() {
    let rate = |seed: u64| {
        let document = json!({
            "run": {"warmup": "0 s", "measure": "5 s", "seed": seed},
            "queue": {"scheme": "droptail"},
            "tcp": {"profile": "linux", "congestion_control": "bbr1"},
            "groups": [{"name": "flow", "start_until": "0 s", "sources": [{"kind": "tcp"}]}],
        });
        common::run(&document).links[0].queue.mean_bytes
    };
    let means: Vec<f64> = (1..=5).map(rate).collect();
    assert_eq!(means, (1..=5).map(rate).collect::<Vec<f64>>());
    assert!(means.iter().any(|mean| *mean != means[0]), "{means:?}");
}
