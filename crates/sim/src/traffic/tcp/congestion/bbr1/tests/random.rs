//! Tests that window and rate stay positive and bounded in all circumstances.

use super::*;
use crate::traffic::tcp::congestion::testing::{MOST_RATE, never_leaves_its_bounds};

#[test]
fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
    let params = Bbr1Params::default();
    // Highest delivery rate of a sample, times the highest gain. The lowest rate is one byte per second.
    let most = (MOST_RATE as f64 * params.bbr1_high_gain) as u64;
    never_leaves_its_bounds::<Bbr1>(&params, |flow, _| {
        let rate = flow.output.pacing.expect("it paces").0;
        (8..=most).contains(&rate) && (MSS..=65_536).contains(&flow.output.quantum)
    });
}
