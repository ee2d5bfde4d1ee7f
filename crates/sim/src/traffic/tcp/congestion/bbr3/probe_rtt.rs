//! Minimum RTT of BBRv3, and ProbeRTT (draft-ietf-ccwg-bbr, sections 5.3.4 and 5.5.7).

use super::super::control::{Connection, Output};
use super::params::Bbr3Params;
use super::state::{AckPhase, Point, State};
use super::{Ack, Bbr3};

impl Bbr3 {
    /// Implements UpdateMinRTT (5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, params: &Bbr3Params, ack: &Ack<'_>) {
        let now = ack.sample.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp.saturating_add(params.bbr3_probe_rtt_interval);
        if let Some(rtt) = ack.sample.rtt
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, now);
        }
        let expired = now > self.min_rtt_stamp.saturating_add(params.bbr3_min_rtt_window);
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
    }

    /// Implements CheckProbeRTT (5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, of: Connection, params: &Bbr3Params, output: &mut Output, ack: &Ack<'_>) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            // SaveCwnd must see the state before it becomes ProbeRTT.
            self.save_cwnd(output);
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart(ack.sample.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(of, params, output, ack);
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Implements HandleProbeRTT (5.3.4.3).
    fn handle_probe_rtt(&mut self, of: Connection, params: &Bbr3Params, output: &mut Output, ack: &Ack<'_>) {
        let sample = ack.sample;
        self.own_limit.mark(sample.delivered, sample.in_flight); // MarkConnectionAppLimited
        if self.probe_rtt_done.is_none() {
            if u64::from(sample.in_flight) <= self.probe_rtt_cwnd(of, params) {
                self.probe_rtt_done = Some(sample.now.saturating_add(params.bbr3_probe_rtt_duration));
                self.probe_rtt_round_done = false;
                self.rounds.restart(sample.delivered);
            }
            return;
        }
        self.probe_rtt_round_done |= self.rounds.started;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(params, output, ack.point());
        }
    }

    /// Implements CheckProbeRTTDone (5.3.4.3).
    pub(super) fn check_probe_rtt_done(&mut self, params: &Bbr3Params, output: &mut Output, at: Point) {
        if self.probe_rtt_done.is_some_and(|done| at.now > done) {
            self.probe_rtt_min_stamp = at.now; // the time to the next ProbeRTT counts from here
            self.restore_cwnd(output);
            self.exit_probe_rtt(params, at);
        }
    }

    /// Implements ExitProbeRTT (5.3.4.4).
    fn exit_probe_rtt(&mut self, params: &Bbr3Params, at: Point) {
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(params, at);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }
}
