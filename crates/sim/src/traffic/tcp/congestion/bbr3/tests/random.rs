//! Tests that window and rate stay positive and bounded in all circumstances.

use super::*;
use crate::traffic::tcp::congestion::testing::{MOST_RATE, never_leaves_its_bounds};

#[test]
fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
    stays_within_its_bounds(Bbr3Ecn::Loss);
}

#[test]
fn window_and_rate_stay_positive_and_bounded_whatever_is_marked() {
    stays_within_its_bounds(Bbr3Ecn::Alpha);
}

fn stays_within_its_bounds(bbr3_ecn: Bbr3Ecn) {
    let params = Bbr3Params { bbr3_ecn, ..Default::default() };
    // Highest delivery rate of a sample, times the highest gain. The lowest rate is one byte per second.
    let most = (MOST_RATE as f64 * params.bbr3_startup_pacing_gain) as u64;
    never_leaves_its_bounds::<Bbr3>(&params, |flow, sample| {
        let rate = flow.output.pacing.expect("it paces").0;
        let least = if sample.is_some_and(|sample| sample.acked > 0) { 4 * MSS } else { MSS };
        (8..=most).contains(&rate) && flow.output.cwnd >= least && (2 * MSS..=65_536).contains(&flow.output.quantum)
    });
}
