//! BLACK beside the figures of an independent model of the same set-up.

use crate::link::{close, mean_shares, shares};
use serde_json::json;

#[test]
fn smoothed_fractions_hold_a_source_at_twice_the_fair_share() {
    // 100 kbit/s in the model with 1 and with 5 sources; the equilibrium of eq. (4) for one is 2F/(1+F) = 98 kbit/s.
    for sources in [1, 5] {
        let mean = mean_shares(&json!({"scheme": "black"}), sources);
        close(mean.cbr_kbps, 100.0, 10.0);
        close(mean.poisson_kbps, (5000.0 - f64::from(sources) * mean.cbr_kbps) / 100.0, 0.2);
    }
}

#[test]
fn the_literal_fractions_let_a_source_in_for_whole_periods() {
    // 0.9 to 1.1 Mbit/s in the model for periods of 50 to 1000. Ours agrees at both ends and is lower in between.
    for period in [50, 1000] {
        let one = shares(&json!({"scheme": "black", "smoothing": 1.0, "period": period}), 1, 1);
        close(one.cbr_kbps, 1000.0, 150.0);
    }
    assert!(shares(&json!({"scheme": "black", "smoothing": 1.0}), 1, 1).cbr_kbps > 10.0 * 49.5);
}

#[test]
fn the_count_by_matches_breaks_down_under_five_heavy_sources() {
    // It then counts little more than the heavy ones, which the fair fraction follows.
    let five = shares(&json!({"scheme": "black", "flow_count": "matches"}), 5, 1);
    assert!(five.cbr_kbps > 10.0 * 47.6, "{five:?}");
}

#[test]
fn the_bitmap_is_as_good_as_knowing_the_number_of_flows() {
    let bitmap = mean_shares(&json!({"scheme": "black"}), 1);
    let known = mean_shares(&json!({"scheme": "black", "flow_count": "known", "known_flows": 101}), 1);
    close(bitmap.cbr_kbps, known.cbr_kbps, 0.05 * known.cbr_kbps);
}
