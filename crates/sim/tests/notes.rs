//! Tests notes on the results of valid scenarios.

use fairlane_sim::scenario::Scenario;
use serde_json::{Value as Json, json};

fn notes(warmup: &str, groups: &Json) -> Vec<String> {
    let scenario = json!({
        "run": {"warmup": warmup, "measure": "20 s"},
        "queue": {"scheme": "droptail"},
        "groups": groups,
    });
    Scenario::read(&scenario).expect("it is valid").notes().iter().map(ToString::to_string).collect()
}

#[test]
fn flows_that_start_after_the_warm_up_are_told() {
    let tcp = json!({"start_until": "15 s", "sources": [{"kind": "tcp"}]});
    let note = "groups[0].start_until: \"15 s\" is after the warm-up of 5 s: flows start while it is measured, and \
                means include the time before; a longer run.warmup or an earlier start_until avoids that";
    assert_eq!(notes("5 s", &json!([tcp])), [note]);
    assert_eq!(notes("15 s", &json!([tcp])), [""; 0]);
}

#[test]
fn a_late_start_of_a_source_is_told_by_its_own_key() {
    let sources = |start: &str| json!([{"kind": "tcp"}, {"kind": "tcp", "start": start}]);
    let group = |start: &str| json!([{"start_until": "0 s", "sources": sources(start)}]);
    let note = "groups[0].sources[1].start: \"9 s\" is after the warm-up of 5 s: flows start while it is measured, \
                and means include the time before; a longer run.warmup or an earlier start avoids that";
    assert_eq!(notes("5 s", &group("9 s")), [note]);
    assert_eq!(notes("5 s", &group("5 s")), [""; 0]);
}

#[test]
fn late_starts_of_many_groups_are_one_note_at_the_first() {
    let sources = json!([{"kind": "cbr", "rate": "1 Mbit/s"}]);
    let group = |name: &str, until: &str| json!({"name": name, "start_until": until, "sources": sources});
    let found = notes("5 s", &json!([group("a", "5 s"), group("b", "6 s"), group("c", "7 s"), group("d", "8 s")]));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("groups[1].start_until: \"6 s\" is after the warm-up of 5 s (and so in 2 other groups):")
    );
}

#[test]
fn finite_transfers_are_measured_one_by_one_and_may_start_at_any_time() {
    let transfers = json!({"sources": [
        {"kind": "tcp", "transfer": "10 kB"},
        {"kind": "web", "sessions": 3},
    ]});
    assert_eq!(notes("5 s", &json!([transfers])), [""; 0]);
}

#[test]
fn a_run_of_a_million_million_events_at_one_instant_is_told() {
    let web = json!({"start_until": "0 s", "sources": [{
        "kind": "web", "sessions": 1, "pages": 1_000_000, "objects": 1_000_000, "page_interval": "0 s",
        "object_interval": "0 s",
    }]});
    // 10^12 transfers of at least one packet take 277.8 hours at 10^6 packets per second.
    let note = "groups[0].sources[0]: this source sends most of about 1.0e12 packets of each run: at a million a \
                second that takes 278 hours";
    assert_eq!(notes("1 s", &json!([web])), [note]);
}

#[test]
fn endless_flows_send_no_more_than_their_links_carry() {
    // A link of 10 Mbit/s carries 18 000 packets in 21 s, regardless of the access links. Simulating sources that send
    // 50 million packets per second takes hours.
    let users = |source: Json| json!([{"users": 1000, "start_until": "0 s", "sources": [source]}]);
    assert_eq!(notes("1 s", &users(json!({"kind": "tcp", "flows": 100}))), [""; 0]);
    let found = notes("1 s", &users(json!({"kind": "cbr", "rate": "1 Gbit/s", "packet_size": "31 B"})));
    assert!(found[0].starts_with("groups[0].sources[0]: this source sends most of about 8.5e10 packets"), "{found:?}");
}
