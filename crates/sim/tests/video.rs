//! Tests videos over a link: bitrate, stalls, switches, start-up.

use crate::common::{refusal, run};
use fairlane_sim::measure::run_record::{RunRecord, VideoRecord};
use serde_json::{Value as Json, json};

/// Returns a scenario with a single player with a small buffer on a link of `rate`. The bitrates are 1, 2 and 4 Mbit/s,
/// and a chunk lasts 2 s.
fn scenario(rate: &str, profile: &str) -> Json {
    json!({
        "run": {"warmup": "60 s", "measure": "120 s", "seed": 4},
        "topology": {"bottleneck_rate": rate, "bottleneck_delay": "19 ms", "access_delay": "1 ms"},
        "queue": {"scheme": "droptail", "limit": "100 packets"},
        "tcp": {"profile": profile},
        "groups": [{"name": "viewers", "start_until": "0 s", "sources": [{"kind": "video",
            "ladder": ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"], "chunk": "2 s", "buffer": "30 s",
            "reservoir": "8 s", "cushion": "16 s"}]}],
    })
}

fn video(record: &RunRecord) -> &VideoRecord {
    record.groups[0].video.as_ref().expect("there are videos")
}

#[test]
fn above_its_ladder_a_video_plays_the_highest_bitrate_without_a_stall() {
    for profile in ["ns3.26", "linux", "quic"] {
        let record = run(&scenario("10 Mbit/s", profile));
        let video = video(&record);
        assert_eq!((video.bitrate_bps, video.stalls, video.switches), (Some(4e6), 0.0, 0.0), "{profile}: {video:?}");
        assert_eq!(video.stalled_share, Some(0.0));
        // A player with a full buffer requests a chunk every 2 s: 60 chunks of 1 MB in 120 s, one more or less at
        // either end. Rounding to whole segments makes a chunk up to 0.2 % larger. Headers do not count as goodput.
        let goodput = record.groups[0].goodput_bps;
        assert!((goodput / 4e6 - 1.0).abs() < 1.0 / 60.0 + 0.002, "{profile}: {goodput}");
        // The first chunk has 250 kB and takes 0.2 s at 10 Mbit/s plus 1.5 round trips of 40 ms. Slow start from one
        // segment to 35 in flight, growing by a half per round trip, adds at most nine round trips and a delayed ACK.
        let startup = video.startup_s.expect("it played");
        assert!(startup > 0.26 && startup < 0.26 + 0.36 + 0.2, "{profile}: {startup}");
    }
}

#[test]
fn between_two_bitrates_it_takes_both_by_turns_and_fills_the_link() {
    // Headers (1500 over 1446, or 1514 over 1448 bytes per segment) leave 95.7 % to 96.4 % of 3 Mbit/s for payload. The
    // pause of 40 ms for the request, in each chunk of about 2 s, leaves 98 % of this. The result is 2.8 Mbit/s, to
    // within a chunk of 4 Mbit in 120 s.
    for profile in ["ns3.26", "linux"] {
        let record = run(&scenario("3 Mbit/s", profile));
        let video = video(&record);
        let bitrate = video.bitrate_bps.expect("chunks came");
        assert!(bitrate > 2.5e6 && bitrate < 2.95e6, "{profile}: {bitrate}");
        assert_eq!(video.stalls, 0.0, "{profile}: {video:?}");
        assert!(video.switches >= 2.0, "{profile}: {video:?}");
    }
}

#[test]
fn below_its_ladder_a_video_stalls_for_what_the_link_lacks() {
    // 0.8 Mbit/s carries at most 0.957 * 0.8 = 0.766 Mbit/s. A chunk of 2 Mbit takes 2.61 s plus the request, so the
    // player stalls for at least 0.61 s of 2.61 s, which is 23.4 %. The test permits up to 27 %, for the requests.
    let record = run(&scenario("0.8 Mbit/s", "linux"));
    let video = video(&record);
    let share = video.stalled_share.expect("it played");
    assert!(share > 0.234 && share < 0.27, "{share}");
    assert_eq!((video.bitrate_bps, video.switches), (Some(1e6), 0.0));
    assert!((video.stalled_s - share * 120.0).abs() < 0.01, "{video:?}");
}

#[test]
fn a_video_that_stops_ends_without_a_stall() {
    let mut scenario = scenario("10 Mbit/s", "linux");
    scenario["groups"][0]["sources"][0]["stop"] = "100 s".into();
    let record = run(&scenario);
    let video = video(&record);
    assert_eq!((video.stalls, video.stalled_s), (0.0, 0.0), "{video:?}");
    // The measurement starts at 60 s. One chunk is requested every 2 s until the player stops at 100 s.
    assert!((record.groups[0].goodput_bps / (4e6 / 3.0) - 1.0).abs() < 1.0 / 20.0 + 0.002);
}

#[test]
fn videos_beside_other_sources_count_for_themselves() {
    let mut scenario = scenario("20 Mbit/s", "linux");
    let player = scenario["groups"][0]["sources"][0].clone();
    scenario["groups"][0]["users"] = 2.into();
    scenario["groups"][0]["sources"] =
        json!([{"kind": "web", "interval": "1 s"}, player, {"kind": "cbr", "rate": "1 Mbit/s"}]);
    let record = run(&scenario);
    let video = video(&record);
    assert_eq!((video.players, video.player_bitrate_bps.len()), (2, 2));
    assert_eq!(video.stalls, 0.0);
    // Two users, each with one session per second, start 240 transfers in 120 s. Chunks of the video do not count as
    // transfers. The tolerance is five standard deviations.
    let times = record.groups[0].transfer_times.as_ref().expect("there are transfers");
    assert!((times.started as f64 - 240.0).abs() < 5.0 * 240f64.sqrt(), "{}", times.started);
}

#[test]
fn senseless_videos_are_one_line() {
    let with = |key: &str, value: Json| {
        let mut scenario = scenario("10 Mbit/s", "linux");
        scenario["groups"][0]["sources"][0][key] = value;
        refusal(&scenario)
    };
    let source = "groups[0].sources[0]";
    for (key, value, problem) in [
        ("ladder", json!([]), "ladder: 0 bitrates are out of range, there may be 1 to 100"),
        (
            "ladder",
            json!(["2 Mbit/s", "1 Mbit/s"]),
            "ladder[1]: \"1 Mbit/s\" is out of range, it must be above the one before, 2 Mbit/s",
        ),
        ("ladder", json!(["1 bit/s"]), "ladder[0]: \"1 bit/s\" is out of range, it must be from 1 kbit/s to 1 Tbit/s"),
        ("chunk", json!("61 s"), "chunk: \"61 s\" is out of range, it must be from 100 ms to 60 s"),
        (
            "cushion",
            json!("21 s"),
            "buffer: \"30 s\" is out of range, it must have room for reservoir, cushion and a chunk, 31 s: the \
             highest bitrate would never be chosen",
        ),
    ] {
        assert_eq!(with(key, value), format!("{source}.{problem}"));
    }
}
