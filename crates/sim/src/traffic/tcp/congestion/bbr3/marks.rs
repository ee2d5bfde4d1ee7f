//! Marked share of delivered data, per round trip.

/// Weight of a round trip in the moving average (Linux v3, bbr_ecn_alpha_gain).
const ALPHA_GAIN: f64 = 1.0 / 16.0;
/// A round trip with marks reduces the window by the average times this factor (Linux v3, bbr_ecn_factor).
const FACTOR: f64 = 1.0 / 3.0;

/// Marks of a flow.
#[derive(Clone, Debug)]
pub struct Marks {
    /// C.delivered at the start of the round, and the marked part of C.delivered.
    at_round: (u64, u64),
    /// Moving average of the marked share (Linux v3, ecn_alpha). It starts at 1, so that the first response is quick.
    alpha: f64,
    /// True if marks reduce the window in proportion to the average (Linux v3, ecn_eligible).
    pub cuts: bool,
    /// True if there was a mark in this round (Linux v3, ecn_in_round).
    in_round: bool,
    /// Consecutive rounds of Startup with too many marks (Linux v3, startup_ecn_rounds).
    pub startup_rounds: u32,
}

impl Default for Marks {
    fn default() -> Self {
        Self { at_round: (0, 0), alpha: 1.0, cuts: false, in_round: false, startup_rounds: 0 }
    }
}

impl Marks {
    /// Processes an ACK that reports a mark.
    pub fn seen(&mut self) {
        self.in_round = true;
    }

    /// Resets the mark signals of a round.
    pub fn forget_round(&mut self) {
        self.in_round = false;
    }

    /// Ends a round trip. Returns its marked share.
    pub fn end_round(&mut self, delivered: u64, delivered_ce: u64) -> f64 {
        let (bytes, marked) = (delivered - self.at_round.0, delivered_ce - self.at_round.1);
        self.at_round = (delivered, delivered_ce);
        let share = if bytes > 0 { marked as f64 / bytes as f64 } else { 0.0 };
        self.alpha += ALPHA_GAIN * (share - self.alpha);
        share
    }

    /// Upper bound on the volume in flight. After marks in this round, it is `in_use`, reduced in proportion to the
    /// average. Otherwise it is unlimited.
    pub fn bound(&self, in_use: u64) -> u64 {
        if self.cuts && self.in_round { (in_use as f64 * (1.0 - FACTOR * self.alpha)) as u64 } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_that_of_shares_by_round_and_begins_at_one() {
        let mut marks = Marks::default();
        assert_eq!(marks.end_round(1000, 500), 0.5);
        // The average becomes 1 + (0.5 - 1) / 16.
        assert!((marks.alpha - 0.968_75).abs() < 1e-12, "{}", marks.alpha);
        assert_eq!(marks.end_round(3000, 500), 0.0);
        assert!((marks.alpha - 0.968_75 * 15.0 / 16.0).abs() < 1e-12, "{}", marks.alpha);
    }

    #[test]
    fn a_round_with_marks_cuts_by_a_third_of_the_average_and_one_without_does_not() {
        let mut marks = Marks { alpha: 0.6, cuts: true, ..Marks::default() };
        assert_eq!(marks.bound(1000), u64::MAX);
        marks.seen();
        assert_eq!(marks.bound(1000), 800);
        marks.forget_round();
        assert_eq!(marks.bound(1000), u64::MAX);
    }
}
