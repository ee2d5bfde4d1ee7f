//! Startup and Drain of BBRv3, and the estimator of a full pipe (draft-ietf-ccwg-bbr, sections 5.3.1 and 5.3.2).

use super::super::control::{Connection, Output};
use super::super::model::byte_rate::ByteRate;
use super::params::Bbr3Params;
use super::state::State;
use super::{Ack, Bbr3};
use crate::traffic::tcp::phase::Phase;

/// Rounds after which Drain ends even if the queue is not empty (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    /// Implements ResetFullBW (5.3.1.2) with `baseline` as the rate to exceed.
    pub(super) fn reset_full_bw(&mut self, baseline: ByteRate) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (baseline, 0, false);
    }

    /// Implements CheckFullBWReached (5.3.1.2).
    pub(super) fn check_full_bw_reached(&mut self, params: &Bbr3Params, ack: &Ack<'_>) {
        if self.full_bw_now || !self.rounds.started || ack.app_limited {
            return;
        }
        if ack.delivery_rate >= self.full_bw.times(params.bbr3_full_bw_growth) {
            self.reset_full_bw(ack.delivery_rate);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= params.bbr3_full_bw_rounds;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// Implements EnterStartup (5.3.1.1).
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// Implements CheckStartupDone (5.3.1.1).
    pub(super) fn check_startup_done(&mut self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) {
        self.check_startup_high_loss(of, params, output, ack);
        if self.state == State::Startup && self.full_bw_reached {
            self.enter_drain();
        }
    }

    /// Implements CheckStartupHighLoss (5.3.1.3).
    fn check_startup_high_loss(&mut self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) {
        if self.state != State::Startup || self.full_bw_reached {
            return;
        }
        self.loss_reports_in_round += u32::from(ack.sample.lost > 0); // Deviation 3.
        if !self.loss_round_start {
            return;
        }
        let reports = std::mem::take(&mut self.loss_reports_in_round);
        let repairs = ack.sample.phase == Phase::Recovery;
        if repairs && reports >= params.bbr3_startup_full_losses && Self::is_inflight_too_high(params, ack) {
            self.startup_was_too_high(of, output);
        }
    }

    /// Ends Startup after losses or marks. inflight_longterm becomes a BDP, or the volume delivered in the latest round
    /// if that is larger.
    pub(super) fn startup_was_too_high(&mut self, of: Connection, output: &Output) {
        self.undo_to(State::Startup);
        (self.full_bw_now, self.full_bw_reached) = (true, true);
        let bdp = self.inflight(of, output, self.max_bw, 1.0);
        self.inflight_longterm = bdp.max(self.inflight_latest);
    }

    /// Implements EnterDrain (5.3.2).
    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.rounds.count;
    }

    /// Implements CheckDrainDone (5.3.2).
    pub(super) fn check_drain_done(&mut self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) {
        if self.state == State::Drain
            && (u64::from(ack.sample.in_flight) <= self.inflight(of, output, self.bw, 1.0)
                || self.rounds.count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_probe_bw_down(params, ack.point());
        }
    }
}
