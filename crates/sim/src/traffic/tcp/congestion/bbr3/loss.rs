//! Response to losses, and its undo if they were spurious (draft-ietf-ccwg-bbr, sections 5.5.10.2, 5.5.11 and 5.6.4.4).

use super::super::control::{Connection, Moment, Output};
use super::params::Bbr3Params;
use super::state::{Lost, Point, State, Undo};
use super::{Ack, Bbr3, UNBOUNDED};

impl Bbr3 {
    /// Implements IsInflightTooHigh (5.5.10.2) for the newest segment that an ACK delivers.
    pub(super) fn is_inflight_too_high(params: &Bbr3Params, ack: &Ack<'_>) -> bool {
        too_high(params, ack.sample.lost_since_sent, ack.sample.tx_in_flight)
    }

    /// Implements NoteLoss (5.5.10.2).
    pub(super) fn note_loss(&mut self, output: &Output, delivered: u64) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = delivered;
            self.save_state_upon_loss(output);
        }
        self.is_loss_in_round = true;
    }

    /// Implements HandleLostPacket (5.5.10.2).
    pub(super) fn handle_lost_packet(
        &mut self,
        of: Connection,
        params: &Bbr3Params,
        output: &Output,
        at: &Moment,
        lost: Lost,
    ) {
        self.note_loss(output, at.delivered);
        if self.is_bw_probe_sample && too_high(params, lost.lost_since_sent, lost.tx_in_flight) {
            let safe = inflight_at_loss(params, lost);
            self.handle_inflight_too_high(of, params, output, at.into(), safe, lost.app_limited);
        }
    }

    /// Implements HandleInflightTooHigh (5.5.10.2). The probe had too much data in flight; `safe` bytes may be in
    /// flight without excessive loss.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        of: Connection,
        params: &Bbr3Params,
        output: &Output,
        at: Point,
        safe: u64,
        app_limited: bool,
    ) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            let kept = (self.target_inflight(of, output) as f64 * params.bbr3_beta) as u64;
            self.inflight_longterm = safe.max(kept).max(u64::from(of.mss));
        }
        if self.state == State::Up {
            self.undo_to(State::Up);
            self.start_probe_bw_down(params, at);
        }
    }

    /// Implements SaveStateUponLoss (5.5.11.1). Deviation 4.
    fn save_state_upon_loss(&mut self, output: &Output) {
        if self.undo.is_some() {
            return;
        }
        self.save_cwnd(output);
        self.undo = Some(Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        });
    }

    /// Records that a loss ends `state`, to which an undo returns (BBR.undo_state).
    pub(super) fn undo_to(&mut self, state: State) {
        if let Some(undo) = &mut self.undo {
            undo.state = Some(state);
        }
    }

    /// Implements OnEnterFastRecovery (5.6.4.4).
    pub(super) fn on_enter_recovery(&mut self, output: &Output) {
        self.save_cwnd(output);
        self.save_state_upon_loss(output);
        self.in_recovery = true;
    }

    /// Implements OnEnterRTO (5.6.4.4).
    pub(super) fn on_enter_rto(&mut self, of: Connection, output: &mut Output, at: &Moment) {
        self.on_enter_recovery(output);
        if !self.is_probing_bw() && self.inflight_shortterm == UNBOUNDED {
            self.inflight_shortterm = u64::from(output.cwnd.max(self.prior_cwnd)); // Deviation 8.
        }
        output.cwnd = at.in_flight.saturating_add(of.mss);
    }

    /// Handles the end of recovery (5.6.4.4).
    pub(super) fn on_recovery_ends(&mut self, output: &mut Output) {
        self.restore_cwnd(output);
        self.in_recovery = false;
        self.undo = None;
    }

    /// Implements HandleSpuriousLossDetection (5.5.11.2).
    pub(super) fn handle_spurious_loss_detection(&mut self, output: &mut Output, at: &Moment) {
        self.restore_cwnd(output);
        self.is_loss_in_round = false;
        self.reset_full_bw(Default::default());
        let Some(undo) = self.undo.take() else { return };
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_probe_bw_refill(at.delivered);
            }
            _ => {}
        }
    }

    /// Implements SaveCwnd (5.6.4.4).
    pub(super) fn save_cwnd(&mut self, output: &Output) {
        let unmodulated = !self.in_recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if unmodulated { output.cwnd } else { self.prior_cwnd.max(output.cwnd) };
    }

    /// Implements RestoreCwnd (5.6.4.4).
    pub(super) fn restore_cwnd(&self, output: &mut Output) {
        output.cwnd = output.cwnd.max(self.prior_cwnd);
    }
}

/// Implements IsInflightTooHigh (5.5.10.2): returns true if `lost` out of `tx_in_flight` exceeds the threshold.
fn too_high(params: &Bbr3Params, lost: u64, tx_in_flight: u32) -> bool {
    lost as f64 > f64::from(tx_in_flight) * params.bbr3_loss_threshold
}

/// Implements InflightAtLoss (5.5.10.2): the volume in flight at which the losses crossed the threshold. Deviation 7.
fn inflight_at_loss(params: &Bbr3Params, lost: Lost) -> u64 {
    let inflight_prev = lost.tx_in_flight.saturating_sub(lost.bytes);
    let lost_prev = lost.lost_since_sent.saturating_sub(u64::from(lost.bytes)) as f64;
    let budget = params.bbr3_loss_threshold * f64::from(inflight_prev) - lost_prev;
    let lost_prefix = budget.max(0.0) / (1.0 - params.bbr3_loss_threshold);
    u64::from(inflight_prev) + lost_prefix as u64
}
