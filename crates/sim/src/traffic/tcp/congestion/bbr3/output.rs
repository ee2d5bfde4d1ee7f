//! Outputs of BBRv3: pacing rate, send quantum and congestion window (draft-ietf-ccwg-bbr, section 5.6).

use super::super::control::{Connection, Output};
use super::super::model::byte_rate::ByteRate;
use super::params::Bbr3Params;
use super::state::State;
use super::{Ack, Bbr3, UNBOUNDED};
use fairlane_schemes::base::units::Time;

/// RTT assumed for the initial pacing rate before there is an RTT sample (section 5.6.2).
const NOMINAL_RTT: Time = Time::from_millis(1);
/// Duration of a quantum at the pacing rate (section 5.6.3).
const QUANTUM_TIME: Time = Time::from_millis(1);
/// Maximum size of a quantum in bytes (section 5.6.3).
const MOST_QUANTUM: u32 = 64 * 1024;
/// Number of quanta that a flow at full rate has in the hosts: one each in the sender's qdisc, in segmentation offload
/// (TSO/GSO), and in receive offload (LRO/GRO) (section 5.5.8.1).
const OFFLOAD_QUANTA: u64 = 3;

impl Bbr3 {
    /// Pacing gain of each state (5.6.1).
    pub(super) fn pacing_gain(&self, params: &Bbr3Params) -> f64 {
        match self.state {
            State::Startup => params.bbr3_startup_pacing_gain,
            State::Drain => params.bbr3_drain_pacing_gain,
            State::Down => params.bbr3_probe_down_pacing_gain,
            State::Up => params.bbr3_probe_up_pacing_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    /// Window of each state in bandwidth-delay products (5.6.1).
    pub(super) fn cwnd_gain(&self, params: &Bbr3Params) -> f64 {
        match self.state {
            State::Up => params.bbr3_probe_up_cwnd_gain,
            State::ProbeRtt => params.bbr3_probe_rtt_cwnd_gain,
            _ => params.bbr3_cwnd_gain,
        }
    }

    /// Implements InitPacingRate (5.6.2).
    pub(super) fn init_pacing_rate(&self, params: &Bbr3Params, output: &mut Output, srtt: Time) {
        let rtt = if srtt > Time::ZERO { srtt } else { NOMINAL_RTT };
        let nominal = ByteRate::of(self.initial_cwnd, rtt);
        output.pacing = Some(nominal.times(params.bbr3_startup_pacing_gain).into());
    }

    /// Implements SetPacingRateWithGain (5.6.2).
    pub(super) fn set_pacing_rate_with_gain(&self, params: &Bbr3Params, output: &mut Output, gain: f64) {
        let margin = 1.0 - params.bbr3_pacing_margin_percent / 100.0;
        let rate = self.bw.times(gain * margin).into();
        if self.full_bw_reached || output.pacing.is_none_or(|present| rate > present) {
            output.pacing = Some(rate);
        }
    }

    /// Implements SetPacingRate (5.6.2).
    pub(super) fn set_pacing_rate(&self, params: &Bbr3Params, output: &mut Output) {
        self.set_pacing_rate_with_gain(params, output, self.pacing_gain(params));
    }

    /// Implements SetSendQuantum (5.6.3).
    pub(super) fn set_send_quantum(&self, of: Connection, output: &mut Output) {
        let volume = output.pacing.map_or(0.0, |rate| ByteRate::from(rate).over(QUANTUM_TIME));
        output.quantum = (volume as u32).min(MOST_QUANTUM).max(2 * of.mss);
    }

    /// BBR.MinPipeCwnd (section 2.8).
    pub(super) fn min_pipe_cwnd(of: Connection) -> u64 {
        4 * u64::from(of.mss)
    }

    /// Implements BDPMultiple (5.6.4.2).
    pub(super) fn bdp(&self, bw: ByteRate, gain: f64) -> u64 {
        if self.min_rtt == Time::NEVER {
            return self.initial_cwnd;
        }
        (gain * bw.over(self.min_rtt)) as u64
    }

    /// Implements QuantizationBudget (5.6.4.2).
    fn quantization_budget(&self, of: Connection, output: &Output, inflight_cap: u64) -> u64 {
        let budget = OFFLOAD_QUANTA * u64::from(output.quantum); // 5.5.8.1
        let probes = if self.state == State::Up { 2 * u64::from(of.mss) } else { 0 };
        inflight_cap.max(budget).max(Self::min_pipe_cwnd(of)) + probes
    }

    /// Implements Inflight (5.6.4.2) at the rate `bw`.
    pub(super) fn inflight(&self, of: Connection, output: &Output, bw: ByteRate, gain: f64) -> u64 {
        self.quantization_budget(of, output, self.bdp(bw, gain))
    }

    /// Implements ProbeRTTCwnd (5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self, of: Connection, params: &Bbr3Params) -> u64 {
        self.bdp(self.bw, params.bbr3_probe_rtt_cwnd_gain).max(Self::min_pipe_cwnd(of))
    }

    /// Implements SetCwnd (5.6.4.6).
    pub(super) fn set_cwnd(&self, of: Connection, params: &Bbr3Params, output: &mut Output, ack: &Ack<'_>) {
        // Implements UpdateMaxInflight.
        let wanted = self.bdp(self.bw, self.cwnd_gain(params)) + self.extra_acked;
        let max_inflight = self.quantization_budget(of, output, wanted);
        let mut cwnd = u64::from(output.cwnd);
        let grown = cwnd + u64::from(ack.sample.acked);
        if self.full_bw_reached {
            cwnd = grown.min(max_inflight);
        } else if cwnd < max_inflight || ack.sample.delivered < self.initial_cwnd {
            cwnd = grown;
        }
        cwnd = cwnd.max(Self::min_pipe_cwnd(of));
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd(of, params)); // BoundCwndForProbeRTT
        }
        output.cwnd = u32::try_from(cwnd.min(self.cwnd_cap(of, params))).unwrap_or(u32::MAX);
    }

    /// Limit of the window in BoundCwndForModel (5.6.4.7).
    pub(super) fn cwnd_cap(&self, of: Connection, params: &Bbr3Params) -> u64 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(of, params),
            State::Startup | State::Drain => UNBOUNDED,
        };
        longterm.min(self.inflight_shortterm).max(Self::min_pipe_cwnd(of))
    }
}
