//! Tests telephone calls over a link: delay, jitter, loss and opinion score.

use crate::common::{self, refusal};
use fairlane_schemes::base::units::Time;
use fairlane_sim::measure::e_model::{opinion, rating};
use fairlane_sim::measure::run_record::VoipRecord;
use fairlane_sim::scenario::Codec;
use serde_json::{Value as Json, json};

fn scenario(source: Json) -> Json {
    json!({
        "run": {"warmup": "2 s", "measure": "20 s", "seed": 5},
        "topology": {"bottleneck_rate": "10 Mbit/s", "bottleneck_delay": "29 ms", "access_delay": "1 ms"},
        "queue": {"scheme": "droptail", "limit": "100 packets"},
        "groups": [{"name": "calls", "start_until": "1 s", "sources": [source]}],
    })
}

fn run(scenario: &Json) -> VoipRecord {
    common::run(scenario).groups[0].voip.clone().expect("there are calls")
}

#[test]
fn a_call_alone_has_the_opinion_of_its_delay() {
    // The propagation delay of 30 ms and the transmission of 202 B at 100 and 10 Mbit/s take 30.17776 ms. With a buffer
    // of 50 ms and 20 ms of speech per packet, the mouth-to-ear delay is 100.17776 ms.
    let voip = run(&scenario(json!({"kind": "voip"})));
    let delay = Time::from_micros(100_178);
    assert!((voip.mouth_to_ear_s.unwrap() - delay.as_secs_f64()).abs() < 1e-6, "{voip:?}");
    assert_eq!((voip.calls, voip.lost_share, voip.late_share), (1, Some(0.0), Some(0.0)));
    assert!(voip.jitter_s.unwrap() < 1e-9);
    assert!((voip.mos.unwrap() - opinion(rating(Codec::G711, delay, 0.0))).abs() < 1e-4);
    assert!((voip.one_way_delay.unwrap().mean_s - 0.030_177_76).abs() < 1e-9);
}

#[test]
fn what_the_link_loses_costs_opinion_and_concealment_gives_some_of_it_back() {
    let lossy = |codec: &str| {
        let mut scenario = scenario(json!({"kind": "voip", "codec": codec}));
        scenario["topology"]["bottleneck_loss"] = json!({"model": "periodic", "period": 50});
        run(&scenario)
    };
    // The packets of the last 80.18 ms are not played before the end, so (20 s - 80.18 ms) / 20 ms = 996 packets should
    // be played. Every 50th packet is lost, which gives 19 or 20 lost packets.
    let (plain, concealed) = (lossy("g711"), lossy("g711_plc"));
    assert!((plain.lost_share.unwrap() - 0.02).abs() < 1.0 / 996.0, "{plain:?}");
    assert_eq!(plain.lost_share, concealed.lost_share);
    // A loss of 2 % lowers R by 95 * 2/6.3 = 30.16 without concealment and by 95 * 2/27.1 = 7.01 with concealment. The
    // difference is 23.15, or 22.48 for 19 lost packets of 996.
    let difference = concealed.r_factor.unwrap() - plain.r_factor.unwrap();
    assert!((difference - 23.15).abs() < 0.8, "{difference}");
}

#[test]
fn a_buffer_shorter_than_the_jitter_loses_what_a_longer_one_plays() {
    // Jitter is uniform, up to 20 ms in either direction. With a buffer of 60 ms no packet is late. Without a buffer,
    // some packets take longer than the first one and are late.
    let jittery = |buffer: &str| {
        let mut scenario = scenario(json!({"kind": "voip", "buffer": buffer}));
        scenario["topology"]["bottleneck_jitter"] = json!({"deviation": "20 ms"});
        run(&scenario)
    };
    let (long, none) = (jittery("60 ms"), jittery("0 ms"));
    assert_eq!((long.late_share, long.lost_share), (Some(0.0), Some(0.0)));
    assert!(none.late_share.unwrap() > 0.0, "{none:?}");
    // The mean difference of two uniform delays is a third of their range of 40 ms. Here it is 0.8 ms less, since
    // packets sent 20 ms apart do not overtake each other. J is the moving average of these differences.
    let jitter = long.jitter_s.unwrap();
    assert!((jitter - 0.04 / 3.0).abs() < 0.002, "{jitter}");
}

#[test]
fn calls_stand_apart_from_other_sources_of_their_group() {
    let mut scenario = scenario(json!({"kind": "voip"}));
    let alone = run(&scenario);
    scenario["groups"][0]["users"] = 3.into();
    scenario["groups"][0]["sources"] = json!([{"kind": "cbr", "rate": "100 kbit/s"}, {"kind": "voip"}, {"kind": "tcp",
        "transfer": "1 kB"},
        {"kind": "voip", "codec": "g729a"}]);
    let mixed = run(&scenario);
    assert_eq!((alone.call_mos.len(), mixed.call_mos.len(), mixed.calls), (1, 6, 6));
    // The second call of each user has the codec with Ie = 11 and a look-ahead of 5 ms.
    for pair in mixed.call_mos.chunks(2) {
        let of = |codec, ms: u64| opinion(rating(codec, Time::from_millis(ms), 0.0));
        assert!((pair[0].unwrap() - of(Codec::G711, 100)).abs() < 0.02, "{pair:?}");
        assert!((pair[1].unwrap() - of(Codec::G729a, 105)).abs() < 0.02, "{pair:?}");
    }
}

#[test]
fn senseless_calls_are_one_line() {
    for (source, problem) in [
        (
            json!({"kind": "voip", "packet_interval": "25 ms"}),
            "packet_interval: \"25 ms\" is out of range, it must be a multiple of 10 ms",
        ),
        (
            json!({"kind": "voip", "packet_interval": "200 ms"}),
            "packet_interval: \"200 ms\" is out of range, it must be from 10 ms to 120 ms",
        ),
        (json!({"kind": "voip", "codec": "opus"}), "codec: \"opus\" is not one of g711, g711_plc, g729a"),
        (json!({"kind": "voip", "buffer": "11 s"}), "buffer: \"11 s\" is out of range, it must be from 0 s to 10 s"),
        (json!({"kind": "voip", "rate": "64 kbit/s"}), "rate: unknown key"),
    ] {
        let error = refusal(&scenario(source));
        assert!(error.starts_with(&format!("groups[0].sources[0].{problem}")), "{error}");
    }
}
