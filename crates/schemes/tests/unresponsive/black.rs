//! Compares BLACK with an independent model of the same setup.

use crate::link::{close, mean_shares, shares};
use serde_json::json;

#[test]
fn a_sliding_window_lets_a_source_in_by_turns() {
    // In each slot (the time to send a packet) two packets arrive, and each samples the queue of Q packets. The source
    // adds one packet per slot to the queue. After n slots, n^2/Q samples hit packets of the source. With 20 hits among
    // 1000 samples the drop probability p is 1, so n is 45 for Q = 100 and 55 for Q = 150. The packets of the source
    // wait up to 0.24 s in the queue. 0.8 s after they have left it, the hits have left the window of samples, and the
    // source is admitted again. So the rate is between 45*8 kbit in 1.3 s and 55*8 kbit in 0.8 s.
    let mean = mean_shares(&json!({"scheme": "black"}), 1);
    assert!((277.0..550.0).contains(&mean.cbr_kbps), "{mean:?}");
    close(mean.poisson_kbps, (5000.0 - mean.cbr_kbps) / 100.0, 0.2);
}

#[test]
fn fractions_at_the_end_of_a_period_let_a_source_in_for_whole_periods() {
    // The model gives 0.9 to 1.1 Mbit/s for periods of 50 to 1000 samples. The implementation agrees for 50 and 1000
    // samples; for 150 samples its rate is lower.
    let literal = |samples: u32| json!({"scheme": "black", "window": "period_end", "window_samples": samples});
    for samples in [50, 1000] {
        close(shares(&literal(samples), 1, 1).cbr_kbps, 1000.0, 150.0);
    }
    assert!(shares(&literal(150), 1, 1).cbr_kbps > 10.0 * 49.5);
}

#[test]
fn the_count_by_matches_breaks_down_under_five_heavy_sources() {
    // Almost all matches are with packets of the five heavy flows. So the estimated number of flows is little more than
    // five, which is too low, and the fair fraction is too large.
    let five = shares(&json!({"scheme": "black", "flow_count": "matches"}), 5, 1);
    assert!(five.cbr_kbps > 10.0 * 47.6, "{five:?}");
}

#[test]
fn the_bitmap_is_as_good_as_knowing_the_number_of_flows() {
    let bitmap = mean_shares(&json!({"scheme": "black"}), 1);
    let known = mean_shares(&json!({"scheme": "black", "flow_count": "known", "known_flows": 101}), 1);
    close(bitmap.cbr_kbps, known.cbr_kbps, 0.05 * known.cbr_kbps);
}
