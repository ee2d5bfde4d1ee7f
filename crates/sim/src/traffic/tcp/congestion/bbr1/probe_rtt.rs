//! Minimum RTT of BBRv1, and ProbeRTT (sections 4.1.2.3 and 4.3.5; Linux, bbr_update_min_rtt).

use super::super::control::{Connection, Output, Sample};
use super::params::Bbr1Params;
use super::{Bbr1, State, whole};
use fairlane_schemes::base::units::Time;

impl Bbr1 {
    /// Implements BBRUpdateRTprop (4.1.2.3) and BBRCheckProbeRTT (4.3.5).
    pub(super) fn update_min_rtt(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, sample: &Sample) {
        let tick = of.clock_tick;
        let expired = whole(sample.now, tick) > whole(self.min_rtt_stamp, tick) + params.bbr1_min_rtt_window;
        if let Some(rtt) = sample.rtt.map(|rtt| rounded(rtt, params, sample.now))
            && (rtt < self.min_rtt || expired || (params.bbr1_equal_rtt_counts && rtt == self.min_rtt))
        {
            (self.min_rtt, self.min_rtt_stamp) = (rtt, sample.now);
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            // As in draft and Linux, the state is ProbeRTT already, so a larger window that was saved before remains.
            self.save_cwnd(output);
            self.probe_rtt_done = None;
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(of, params, output, sample);
        }
        if sample.delivery_rate.is_some() {
            self.idle_restart = false;
        }
    }

    /// Implements BBRHandleProbeRTT (4.3.5).
    fn handle_probe_rtt(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, sample: &Sample) {
        self.own_limit.mark(sample.delivered, sample.in_flight);
        if self.probe_rtt_done.is_none() {
            if u64::from(sample.in_flight) <= Self::min_pipe_cwnd(of) {
                self.probe_rtt_done = Some(whole(sample.now, of.clock_tick) + params.bbr1_probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.rounds.restart(sample.delivered);
            }
            return;
        }
        self.probe_rtt_round_done |= self.rounds.started;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(of, output, sample.now);
        }
    }

    /// Implements bbr_check_probe_rtt_done; BBRExitProbeRTT (4.3.5).
    pub(super) fn check_probe_rtt_done(&mut self, of: Connection, output: &mut Output, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| whole(now, of.clock_tick) <= done) {
            return;
        }
        self.min_rtt_stamp = now; // the time to the next ProbeRTT counts from here
        self.restore_cwnd(output);
        if self.full_bw_reached {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }
}

/// RTT as the difference of two rounded times.
fn rounded(rtt: Time, params: &Bbr1Params, now: Time) -> Time {
    let [now, sent] = [now, now.saturating_sub(rtt)].map(|time| whole(time, params.unit_of_time()));
    now - sent
}
