//! Outputs of BBRv1: pacing rate, quantum and congestion window (section 4.2).

use super::super::control::{Connection, Output, Sample};
use super::super::model::byte_rate::ByteRate;
use super::params::Bbr1Params;
use super::target::Target;
use super::{Bbr1, State};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::Time;

/// Below this rate a quantum may be a single segment (4.2.2: 1.2 Mbit/s).
const SINGLE_SEGMENT_RATE: ByteRate = ByteRate(1_200_000.0 / 8.0);
/// Duration of a quantum at the pacing rate (4.2.2).
const QUANTUM_TIME: Time = Time::from_millis(1);
/// Duration of a quantum in Linux: 2^-10 s (sk_pacing_shift).
const LINUX_QUANTUM_TIME: Time = Time(Time::PER_SECOND >> 10);
/// Maximum size of a quantum in bytes (4.2.2).
const MOST_QUANTUM: u32 = 64 * 1024;

impl Bbr1 {
    /// Pacing gain of each state (bbr_update_gains).
    pub(super) fn pacing_gain(&self, params: &Bbr1Params) -> f64 {
        match (self.state, self.cycle_index) {
            (State::Startup, _) => params.high_gain(),
            (State::Drain, _) => params.drain_gain(),
            (State::ProbeRtt, _) => 1.0,
            (State::ProbeBw, _) if self.policer.rate().is_some() => 1.0,
            (State::ProbeBw, 0) => params.bbr1_probe_up_pacing_gain,
            (State::ProbeBw, 1) => params.bbr1_probe_down_pacing_gain,
            (State::ProbeBw, _) => 1.0,
        }
    }

    /// Window of each state in bandwidth-delay products (bbr_update_gains).
    fn cwnd_gain(&self, params: &Bbr1Params) -> f64 {
        match self.state {
            State::Startup | State::Drain => params.high_gain(),
            State::ProbeBw => params.bbr1_cwnd_gain,
            State::ProbeRtt => 1.0,
        }
    }

    /// Implements BBRSetPacingRateWithGain (4.2.1).
    pub(super) fn set_pacing_rate(&mut self, params: &Bbr1Params, output: &mut Output, gain: f64) {
        let bw = self.bw();
        let rate = self.paced.get((bw, gain), || bw.times(gain * params.margin()).into());
        if self.full_bw_reached || output.pacing.is_none_or(|present| rate > present) {
            output.pacing = Some(rate);
        }
    }

    /// Implements BBRSetSendQuantum (4.2.2); bbr_tso_segs_goal: whole segments.
    pub(super) fn set_quantum(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output) {
        output.quantum = self.quantum.get(output.pacing, || {
            let rate = output.pacing.map_or(ByteRate::default(), ByteRate::from);
            let least = if rate < SINGLE_SEGMENT_RATE { 1 } else { 2 };
            let time = if params.bbr1_whole_segments { LINUX_QUANTUM_TIME } else { QUANTUM_TIME };
            let volume = (rate.over(time) as u32).min(MOST_QUANTUM);
            (volume - volume % Self::unit(of, params) as u32).max(least * of.mss)
        });
    }

    /// Unit of volumes: segments in Linux, bytes in the draft.
    pub(super) fn unit(of: Connection, params: &Bbr1Params) -> u64 {
        if params.bbr1_whole_segments { u64::from(of.mss) } else { 1 }
    }

    /// BBRMinPipeCwnd (4.2.3.3).
    pub(super) fn min_pipe_cwnd(of: Connection) -> u64 {
        4 * u64::from(of.mss)
    }

    /// Inputs of the window at the rate `bw` with `gain`, without the allowance for ACK aggregation.
    fn target(&self, params: &Bbr1Params, output: &Output, bw: ByteRate, gain: f64) -> Target {
        Target {
            bw,
            gain,
            min_rtt: self.min_rtt,
            initial_cwnd: self.initial_cwnd,
            extra: 0,
            quantum: output.quantum,
            whole_segments: params.bbr1_whole_segments,
            probes_up: self.state == State::ProbeBw && self.cycle_index == 0,
        }
    }

    /// Implements BBRInflight (4.2.3.2) at the rate `bw`; bbr_inflight.
    pub(super) fn inflight(
        &self,
        of: Connection,
        params: &Bbr1Params,
        output: &Output,
        bw: ByteRate,
        gain: f64,
    ) -> u64 {
        self.target(params, output, bw, gain).window(of)
    }

    /// Implements BBRSetCwnd (4.2.3.6).
    pub(super) fn set_cwnd(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, sample: &Sample) {
        if sample.acked > 0 {
            let cwnd = self.cwnd_in_recovery(of, output, sample);
            let cwnd = if self.packet_conservation { cwnd } else { self.grown(of, params, output, sample, cwnd) };
            output.cwnd = u32::try_from(cwnd).unwrap_or(u32::MAX);
        }
        if self.state == State::ProbeRtt {
            // 4.2.3.5, BBRModulateCwndForProbeRTT.
            output.cwnd = output.cwnd.min(4 * of.mss);
        }
    }

    /// Implements BBRModulateCwndForRecovery (4.2.3.4); bbr_set_cwnd_to_recover_or_restore.
    fn cwnd_in_recovery(&mut self, of: Connection, output: &Output, sample: &Sample) -> u64 {
        let left = u64::from(sample.in_flight) + u64::from(sample.acked);
        let mut cwnd = u64::from(output.cwnd.saturating_sub(sample.lost).max(of.mss));
        let (before, now) = (self.prior_phase, sample.phase);
        if now == Phase::Recovery && before != Phase::Recovery {
            self.packet_conservation = true;
            self.rounds.restart(sample.delivered);
            cwnd = left.max(u64::from(of.mss));
        } else if repairs(before) && !repairs(now) {
            cwnd = cwnd.max(u64::from(self.prior_cwnd));
            self.packet_conservation = false;
        }
        self.prior_phase = now;
        if self.packet_conservation { cwnd.max(left) } else { cwnd }
    }

    /// Window outside the first round of recovery: grows by delivered data towards the target.
    fn grown(&mut self, of: Connection, params: &Bbr1Params, output: &Output, sample: &Sample, cwnd: u64) -> u64 {
        let bw = self.bw();
        let extra = if self.full_bw_reached { self.aggregation.allowance(Self::unit(of, params), bw) } else { 0 };
        let target = Target { extra, ..self.target(params, output, bw, self.cwnd_gain(params)) };
        let target = self.window.get(target, || target.window(of));
        let grown = cwnd + u64::from(sample.acked);
        let cwnd = if self.full_bw_reached {
            grown.min(target)
        } else if cwnd < target || sample.delivered < self.initial_cwnd {
            grown
        } else {
            cwnd
        };
        cwnd.max(Self::min_pipe_cwnd(of))
    }

    /// Implements BBRSaveCwnd (4.2.3.4).
    pub(super) fn save_cwnd(&mut self, output: &Output) {
        let unmodulated = !repairs(self.prior_phase) && self.state != State::ProbeRtt;
        self.prior_cwnd = if unmodulated { output.cwnd } else { self.prior_cwnd.max(output.cwnd) };
    }

    /// Implements BBRRestoreCwnd (4.2.3.4).
    pub(super) fn restore_cwnd(&self, output: &mut Output) {
        output.cwnd = output.cwnd.max(self.prior_cwnd);
    }
}

fn repairs(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}
