//! ProbeBW of BBRv3: Down, Cruise, Refill, Up (draft-ietf-ccwg-bbr, section 5.3.3).

use super::super::control::{Connection, Output};
use super::params::Bbr3Params;
use super::state::{AckPhase, Point, State};
use super::{Ack, Bbr3, UNBOUNDED};
use fairlane_schemes::base::units::Time;

/// Number of times that the growth of inflight_longterm doubles before it stays constant (section 5.3.3.9,
/// RaiseInflightLongtermSlope).
const MOST_UP_ROUNDS: u32 = 30;

impl Bbr3 {
    /// Implements StartProbeBW_DOWN (5.3.3.9). EnterProbeBW needs no function: it also sets gains, which follow from
    /// the state here.
    pub(super) fn start_probe_bw_down(&mut self, params: &Bbr3Params, at: Point) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = UNBOUNDED;
        self.pick_probe_wait(params);
        self.cycle_stamp = at.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(at.delivered);
        self.state = State::Down;
    }

    /// Implements StartProbeBW_CRUISE (5.3.3.9).
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// Implements StartProbeBW_REFILL (5.3.3.9).
    pub(super) fn start_probe_bw_refill(&mut self, delivered: u64) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart(delivered);
        self.state = State::Refill;
    }

    /// Implements StartProbeBW_UP (5.3.3.9).
    fn start_probe_bw_up(&mut self, of: Connection, output: &Output, ack: &Ack<'_>) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(ack.sample.delivered);
        self.reset_full_bw(ack.delivery_rate);
        self.state = State::Up;
        self.raise_inflight_longterm_slope(of, output);
    }

    /// Implements UpdateProbeBWCyclePhase (5.3.3.9).
    pub(super) fn update_probe_bw_cycle_phase(
        &mut self,
        of: Connection,
        params: &Bbr3Params,
        output: &Output,
        ack: &Ack<'_>,
    ) {
        if !self.full_bw_reached || self.adapt_long_term_model(of, params, output, ack) {
            return;
        }
        let state = self.state;
        match state {
            State::Down if self.is_time_to_probe_bw(of, params, output, ack) => {
                self.start_probe_bw_refill(ack.sample.delivered);
            }
            State::Down if self.is_time_to_cruise(of, params, output, ack) => self.start_probe_bw_cruise(),
            State::Cruise if self.is_time_to_probe_bw(of, params, output, ack) => {
                self.start_probe_bw_refill(ack.sample.delivered);
            }
            State::Refill if self.rounds.started => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up(of, output, ack);
            }
            State::Up if self.is_time_to_go_down(output, ack) => {
                self.prev_probe_too_high = false;
                self.start_probe_bw_down(params, ack.point());
            }
            _ => {}
        }
    }

    /// Implements IsTimeToProbeBW (5.3.3.8.3).
    fn is_time_to_probe_bw(&self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) -> bool {
        let waited = ack.sample.now.saturating_sub(self.cycle_stamp);
        // IsRenoCoexistenceProbeTime; the target is in segments (deviation 1).
        let reno_rounds = self.target_inflight(of, output) / u64::from(of.mss);
        waited > self.bw_probe_wait
            || self.rounds_since_probe_up >= reno_rounds.min(u64::from(params.bbr3_probe_wait_rounds))
    }

    /// Implements PickProbeWait (5.3.3.8.3).
    fn pick_probe_wait(&mut self, params: &Bbr3Params) {
        self.rounds_since_probe_up = self.rng.bits() >> 63;
        let spread = params.bbr3_probe_wait_spread.as_secs_f64() * self.rng.open01();
        self.bw_probe_wait = params.bbr3_probe_wait + Time::from_secs_f64(spread);
    }

    /// Implements TargetInflight (5.3.3.8.3). Deviation 1.
    pub(super) fn target_inflight(&self, of: Connection, output: &Output) -> u64 {
        self.inflight(of, output, self.bw, 1.0).min(u64::from(output.cwnd))
    }

    /// Implements IsTimeToCruise (5.3.3.9).
    fn is_time_to_cruise(&self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) -> bool {
        let in_flight = u64::from(ack.sample.in_flight);
        in_flight <= self.inflight_with_headroom(of, params) && in_flight <= self.inflight(of, output, self.max_bw, 1.0)
    }

    /// Implements IsTimeToGoDown (5.3.3.9).
    fn is_time_to_go_down(&mut self, output: &Output, ack: &Ack<'_>) -> bool {
        // 5.3.3.6, precautionary probing, deceleration. Deviation 2.
        let in_flight = u64::from(ack.sample.prior_in_flight) + u64::from(output.quantum);
        if self.prev_probe_too_high && in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if ack.cwnd_limited && u64::from(output.cwnd) >= self.inflight_longterm {
            self.reset_full_bw(ack.delivery_rate); // inflight_longterm limits the bandwidth
            return false;
        }
        self.full_bw_now
    }

    /// Implements InflightWithHeadroom (5.3.3.9).
    pub(super) fn inflight_with_headroom(&self, of: Connection, params: &Bbr3Params) -> u64 {
        if self.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = ((params.bbr3_headroom * self.inflight_longterm as f64) as u64).max(u64::from(of.mss));
        self.inflight_longterm.saturating_sub(headroom).max(Self::min_pipe_cwnd(of))
    }

    /// Implements RaiseInflightLongtermSlope (5.3.3.9).
    fn raise_inflight_longterm_slope(&mut self, of: Connection, output: &Output) {
        let growth_this_round = 1u64 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MOST_UP_ROUNDS);
        self.probe_up_acked_per_inc = (u64::from(output.cwnd) / growth_this_round).max(u64::from(of.mss));
    }

    /// Implements ProbeInflightLongtermUpward (5.3.3.9).
    fn probe_inflight_longterm_upward(&mut self, of: Connection, output: &Output, ack: &Ack<'_>) {
        if !ack.cwnd_limited || u64::from(output.cwnd) < self.inflight_longterm {
            return; // inflight_longterm is not in use and does not grow
        }
        self.bw_probe_up_acked += u64::from(ack.sample.acked);
        let delta = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
        self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
        self.inflight_longterm = self.inflight_longterm.saturating_add(delta * u64::from(of.mss));
        if self.rounds.started {
            self.raise_inflight_longterm_slope(of, output);
        }
    }

    /// Implements AdaptLongTermModel (5.3.3.9). Returns true if this has changed the state.
    fn adapt_long_term_model(&mut self, of: Connection, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.rounds.started {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.rounds.started {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !ack.app_limited {
                self.advance_max_bw_filter();
            }
            // 5.3.3.6, precautionary probing, acceleration.
            if self.state.is_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_probe_bw_refill(ack.sample.delivered);
                return true;
            }
        }
        if !Self::is_inflight_too_high(params, ack) && self.inflight_longterm != UNBOUNDED {
            self.inflight_longterm = self.inflight_longterm.max(u64::from(ack.sample.tx_in_flight));
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(of, output, ack);
            }
        }
        false
    }
}
