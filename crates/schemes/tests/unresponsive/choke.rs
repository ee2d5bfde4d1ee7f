//! Tests CHOKe with unresponsive sources: its authors' claims, and its limits.

use crate::link::shares;
use serde_json::json;

#[test]
fn one_source_keeps_about_a_fifth_of_the_link() {
    // In Table 1 of afc the source gets 1187 kbit/s, with TCP as the other traffic. Without CHOKe, a source that sends
    // 5 of the 10.3 Mbit/s offered would get 5/10.3 of the link, 2430 kbit/s.
    let one = shares(&json!({"scheme": "choke"}), 1, 1);
    assert!((1187.0 * 0.8..1187.0 * 1.2).contains(&one.cbr_kbps), "{one:?}");
}

#[test]
fn one_draw_does_not_hold_five_sources_but_many_do() {
    let basic = shares(&json!({"scheme": "choke"}), 5, 1);
    assert!(basic.cbr_kbps > 10.0 * 47.6, "{basic:?}");
    // With up to 16 draws, a source at link rate gets less than the fair share.
    let held = shares(&json!({"scheme": "choke", "self_adjusting": true}), 5, 1);
    assert!(held.cbr_kbps < 47.6 && held.poisson_kbps > 47.6, "{held:?}");
    // Here the average stays below max_th, so the draws for an average above max_th have no effect. With TCP the
    // average is higher.
    let beyond = shares(&json!({"scheme": "choke", "self_adjusting": true, "draws_beyond": 16}), 5, 1);
    assert_eq!(beyond.cbr_kbps, held.cbr_kbps);
}
