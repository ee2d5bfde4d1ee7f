//! Response of BBRv3 to congestion marks: deviation 9.

use super::super::control::{Connection, Output};
use super::params::{Bbr3Ecn, Bbr3Params};
use super::state::State;
use super::{Ack, Bbr3};
use fairlane_schemes::base::units::Time;

/// RTT up to which marks are assumed to come from a shallow threshold (Linux v3, bbr_ecn_max_rtt_us).
const MOST_RTT: Time = Time::from_millis(5);
/// Marked share of a round above which a probe was too high (Linux v3, bbr_ecn_thresh).
const THRESHOLD: f64 = 0.5;
/// Consecutive rounds above [`THRESHOLD`] that end Startup (Linux v3, bbr_full_ecn_cnt).
const STARTUP_ROUNDS: u32 = 2;

impl Bbr3 {
    pub(super) fn update_marks(&mut self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) {
        let marked = ack.sample.marked > 0;
        let share =
            if self.rounds.started { self.marks.end_round(ack.sample.delivered, ack.sample.delivered_ce) } else { 0.0 };
        match params.bbr3_ecn {
            Bbr3Ecn::Loss => {
                if marked {
                    self.note_loss(output, ack.sample.delivered);
                }
                self.judge_marks(of, params, output, ack, share > params.bbr3_loss_threshold);
            }
            Bbr3Ecn::Alpha => {
                self.marks.cuts |= self.rounds.started && self.min_rtt <= MOST_RTT;
                if !self.marks.cuts {
                    return;
                }
                if marked {
                    self.marks.seen();
                }
                if self.state == State::Startup && self.rounds.started && !self.full_bw_reached {
                    self.end_startup_upon_marks(of, output, share);
                }
                self.judge_marks(of, params, output, ack, share > THRESHOLD);
            }
        }
    }

    /// Implements bbr_check_ecn_too_high_in_startup of Linux v3.
    fn end_startup_upon_marks(&mut self, of: Connection, output: &Output, share: f64) {
        self.marks.startup_rounds = if share >= THRESHOLD { self.marks.startup_rounds + 1 } else { 0 };
        if self.marks.startup_rounds >= STARTUP_ROUNDS {
            self.startup_was_too_high(of, output);
        }
    }

    /// Handles too many marks during a probe like too many losses.
    fn judge_marks(&mut self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>, too_high: bool) {
        if too_high && self.is_bw_probe_sample {
            let safe = u64::from(ack.sample.tx_in_flight);
            self.handle_inflight_too_high(of, params, output, ack.point(), safe, ack.app_limited);
        }
    }
}
