//! AFC in its three interpretations, compared with an independent model of the same setup.

use crate::link::{close, mean_shares, shares};
use serde_json::json;

#[test]
fn a_sliding_window_holds_sources_at_the_fair_share() {
    // For the throughput of a CBR source, the model gives 49.6 kbit/s, and Table 1 of afc gives 50.46 and 48.81 kbit/s.
    // Our estimated number of flows has an error of 2.2 %, so a fair share of 10 packets in 1000 is sometimes 11.
    for sources in [1, 5] {
        let mean = mean_shares(&json!({"scheme": "afc"}), sources);
        close(mean.cbr_kbps, 49.6, 0.08 * 49.6);
        close(mean.poisson_kbps, (5000.0 - f64::from(sources) * mean.cbr_kbps) / 100.0, 0.2);
    }
}

#[test]
fn a_short_window_rounds_the_fair_share_up_to_whole_packets() {
    // The fair share of 1.5 packets in 150 is rounded to 2: 5000 kbit/s * 2/150 = 66.7 kbit/s, minus the packets that
    // RED drops. The model gives 65.9 kbit/s for the CBR source.
    let all_cached = json!({"scheme": "afc", "window_packets": 150, "cache": 1000});
    close(shares(&all_cached, 1, 1).cbr_kbps, 65.9, 1.0);
    // A cache of 46 flows has room for all five sources. Their load keeps the queue above the lower threshold.
    close(shares(&json!({"scheme": "afc", "window_packets": 150}), 5, 1).cbr_kbps, 65.9, 0.12 * 65.9);
}

#[test]
fn a_jumping_window_does_as_well_without_a_ring() {
    let jumping = json!({"scheme": "afc", "window": "jumping"});
    close(mean_shares(&jumping, 1).cbr_kbps, 54.9, 0.08 * 54.9);
    close(mean_shares(&jumping, 5).cbr_kbps, 49.6, 0.08 * 49.6);
}

#[test]
fn fractions_at_the_end_of_a_period_let_a_source_in_for_whole_periods() {
    for packets in [150, 300, 1000] {
        let literal = json!({"scheme": "afc", "window": "period_end", "window_packets": packets});
        close(shares(&literal, 1, 1).cbr_kbps, 1200.0, 0.12 * 1200.0);
    }
}

#[test]
fn paying_debts_repairs_the_mean_of_short_periods_but_not_the_swings() {
    // The model gives 57 to 63 kbit/s.
    let repaid = json!({"scheme": "afc", "window": "period_end", "window_packets": 300, "repay": true});
    let mean = mean_shares(&repaid, 1);
    close(mean.cbr_kbps, 60.0, 15.0);
    let sliding = mean_shares(&json!({"scheme": "afc", "window_packets": 300}), 1);
    assert!(mean.cbr_variation > 2.0 && sliding.cbr_variation < 0.25, "{mean:?} {sliding:?}");
}
