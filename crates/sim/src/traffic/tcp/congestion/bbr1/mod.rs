//! BBRv1: paces at the highest delivery rate of the last ten round trips, with at most twice the bandwidth-delay
//! product in flight.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 (2017), whose sections the code cites, and the later Linux
//! net/ipv4/tcp_bbr.c. Names that begin with `bbr_` are those of Linux.
//!
//! | section | rule | code |
//! |---|---|---|
//! | 4.1.1 | bw: the largest delivery rate of 10 rounds | [`Bbr1::update_bw`] |
//! | 4.1.2 | min_rtt: the minimum RTT of 10 s | `bbr1/probe_rtt.rs` |
//! | 4.2.1 | `pacing_rate = pacing_gain * bw * 0.99` | `bbr1/window.rs` |
//! | 4.2.3 | `cwnd = cwnd_gain * bw * min_rtt + 3 quanta + extra_acked` | `bbr1/window.rs` |
//! | 4.2.3.4 | first round of recovery: sends as much data as leaves the network | `bbr1/window.rs` |
//! | 4.3.2 | Startup: gains 2 / ln 2, until the rate grows by less than a quarter in 3 rounds | [`Bbr1::check_full_bw_reached`] |
//! | 4.3.3 | Drain: gain ln 2 / 2, until a bandwidth-delay product is in flight | [`Bbr1::check_drain`] |
//! | 4.3.4 | ProbeBW: gains 5/4, 3/4, then 1 six times; each phase lasts a min_rtt, and the first phase is random | [`Bbr1::is_next_phase`] |
//! | 4.3.5 | ProbeRTT: 4 segments for 200 ms and a round, if the minimum RTT is 10 s old | `bbr1/probe_rtt.rs` |
//! | bbr_lt_bw_sampling | two lossy intervals of equal rate indicate a policer; its rate is used for 48 rounds | `bbr1/policer.rs` |
//! | bbr_update_ack_aggregation | extra_acked: data delivered beyond the amount expected at bw, over 5 to 10 rounds | `bbr1/aggregation.rs` |
//!
//! Cost: about 15 floating-point operations per ACK while bandwidth and minimum RTT do not change, about 40 otherwise.
//! State: 392 bytes.
//!
//! Deviations:
//! 1. Where draft and Linux differ, the code follows Linux. These parameters select the draft instead:
//!    `bbr1_pacing_margin_percent = 0`, `bbr1_ack_aggregation = false`, `bbr1_policer_detection = false`,
//!    `bbr1_whole_segments = false`, `bbr1_counts_next_quantum = false`, `bbr1_equal_rtt_counts = true`. One detail has
//!    no parameter: as in Linux, the window has two more segments in the probing phase.
//! 2. Unlike in Linux, rates are not rounded to fixed point.
//! 3. Once min_rtt is 10 s old, any RTT sample replaces it, even if the sample may include the delay of a delayed ACK.
//! 4. Congestion marks are ignored, as in Linux.
//!
//! Not implemented: the maximum pacing rate that can be set for a socket.

mod aggregation;
mod params;
mod policer;
mod probe_rtt;
mod target;
#[cfg(test)]
mod tests;
mod window;

use super::control::{Authority, Connection, Control, Event, Moment, Output, Sample};
use super::model::byte_rate::ByteRate;
use super::model::memo::Memo;
use super::model::own_limit::OwnLimit;
use super::model::rounds::Rounds;
use super::model::windowed_max::WindowedMax;
use crate::traffic::tcp::phase::Phase;
use aggregation::Aggregation;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use params::Bbr1Params;
use policer::{Point, Policer};
use target::Target;

/// Phases of ProbeBW (4.3.4.1).
const CYCLE_LENGTH: u8 = 8;
/// The pipe may be full if the rate grows by less than this factor in a round (4.3.2.2).
const FULL_BW_GROWTH: f64 = 1.25;
/// Rounds without growth by [`FULL_BW_GROWTH`] after which the pipe is full (4.3.2.2).
const FULL_BW_ROUNDS: u32 = 3;
/// RTT assumed for the first pacing rate if none was sampled (4.2.1).
const NOMINAL_RTT: Time = Time::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of BBRv1.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    state: State,
    rng: Rng,
    rounds: Rounds,
    /// Maximum delivery rate (BtlBw) in bytes per second.
    max_bw: WindowedMax,
    /// Minimum RTT (RTprop); [`Time::NEVER`] before the first RTT.
    min_rtt: Time,
    min_rtt_stamp: Time,
    /// Initial window in bytes.
    initial_cwnd: u64,
    /// Index of the phase in ProbeBW's cycle. The next field is the start time of this phase.
    cycle_index: u8,
    cycle_stamp: Time,
    /// Earliest end of ProbeRTT (probe_rtt_done_stamp).
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    own_limit: OwnLimit,
    full_bw: ByteRate,
    full_bw_count: u32,
    /// True once the pipe was full (filled_pipe).
    full_bw_reached: bool,
    /// Phase of the connection at the last ACK that delivered data.
    prior_phase: Phase,
    prior_cwnd: u32,
    packet_conservation: bool,
    aggregation: Aggregation,
    policer: Policer,
    /// This field and the next two cache pacing rate, quantum and window while their inputs are unchanged.
    paced: Memo<(ByteRate, f64), BitRate>,
    quantum: Memo<Option<BitRate>, u32>,
    window: Memo<Target, u64>,
}

/// Rounds a time down to a multiple of `unit`, or not at all if `unit` is 0.
fn whole(time: Time, unit: Time) -> Time {
    if unit == Time::ZERO { time } else { Time(time.0 - time.0 % unit.0) }
}

impl Control for Bbr1 {
    type Params = Bbr1Params;
    const AUTHORITY: Authority = Authority::Full;
    const NEEDS_SAMPLES: bool = true;

    /// Implements BBRInit (4.3.1).
    fn new(_: Connection, _: &Bbr1Params, seed: u64) -> Self {
        Self {
            state: State::Startup,
            rng: Rng::stream(seed, 0, "bbr1", 0),
            rounds: Rounds::default(),
            max_bw: WindowedMax::new(0.0),
            min_rtt: Time::NEVER,
            min_rtt_stamp: Time::ZERO,
            initial_cwnd: 0,
            cycle_index: 0,
            cycle_stamp: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            own_limit: OwnLimit::default(),
            full_bw: ByteRate::default(),
            full_bw_count: 0,
            full_bw_reached: false,
            prior_phase: Phase::Open,
            prior_cwnd: 0,
            packet_conservation: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            paced: Memo::default(),
            quantum: Memo::default(),
            window: Memo::default(),
        }
    }

    /// Implements BBRUpdateOnACK (3.5.2); bbr_main.
    fn on_sample(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, sample: &Sample) {
        let app_limited = sample.app_limited || self.own_limit.covers(sample.prior_delivered);
        self.update_bw(params, sample, app_limited);
        if params.bbr1_ack_aggregation && sample.acked > 0 && sample.delivery_rate.is_some() {
            let bw = self.bw();
            let unit = Self::unit(of, params);
            self.aggregation.update(unit, of.mss, bw, self.rounds.started, output.cwnd, sample);
        }
        self.update_cycle_phase(of, params, output, sample);
        self.check_full_bw_reached(app_limited);
        self.check_drain(of, params, output, sample);
        self.update_min_rtt(of, params, output, sample);
        self.set_pacing_rate(params, output, self.pacing_gain(params));
        self.set_quantum(of, params, output);
        self.set_cwnd(of, params, output, sample);
    }

    fn on_event(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, event: Event, at: &Moment) {
        match event {
            Event::Open => self.on_open(of, params, output, at),
            Event::Loss | Event::Mark => self.note_reduction(output, at),
            Event::Timeout => self.on_timeout(of, params, output, at),
            Event::IdleRestart { .. } => self.restart_from_idle(of, params, output, at),
            Event::Undo { .. } => {
                // As in bbr_undo_cwnd, this resets only the estimators. The first ACK after recovery restores the
                // window.
                (self.full_bw, self.full_bw_count) = (ByteRate::default(), 0);
                self.policer.reset(Point::from(at));
            }
            Event::RecoveryEnds | Event::SegmentLost { .. } => {}
        }
    }
}

impl Bbr1 {
    /// Implements 4.3.1, and BBRInitPacingRate (4.2.1).
    fn on_open(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, at: &Moment) {
        self.initial_cwnd = u64::from(output.cwnd);
        let sampled = at.srtt > Time::ZERO;
        self.min_rtt = if sampled { at.srtt } else { Time::NEVER };
        self.min_rtt_stamp = at.now;
        self.aggregation.restart(at.now);
        self.policer.reset(Point::from(at));
        let nominal = ByteRate::of(self.initial_cwnd, if sampled { at.srtt } else { NOMINAL_RTT });
        output.pacing = Some(nominal.times(params.high_gain() * params.margin()).into());
        self.set_quantum(of, params, output);
    }

    /// Implements bbr_ssthresh, which is not called again for a loss after a mark.
    fn note_reduction(&mut self, output: &Output, at: &Moment) {
        if !at.reducing {
            self.save_cwnd(output);
        }
    }

    /// As in bbr_set_state, a timeout ends a round.
    fn on_timeout(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, at: &Moment) {
        self.note_reduction(output, at);
        self.prior_phase = Phase::Loss;
        self.full_bw = ByteRate::default();
        self.rounds.started = true;
        self.detect_policer(params, at.into(), true, false);
        // 4.2.3.4, for a retransmission timeout.
        output.cwnd = at.in_flight.saturating_add(of.mss);
    }

    /// Implements BBRHandleRestartFromIdle (4.3.4.4); bbr_cwnd_event.
    fn restart_from_idle(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, at: &Moment) {
        if !(at.app_limited || self.own_limit.covers(at.delivered)) {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(at.now);
        match self.state {
            State::ProbeBw => self.set_pacing_rate(params, output, 1.0),
            State::ProbeRtt => self.check_probe_rtt_done(of, output, at.now),
            State::Startup | State::Drain => {}
        }
    }

    /// Estimate of the bandwidth: the policer's rate, if a policer was detected (bbr_bw).
    fn bw(&self) -> ByteRate {
        self.policer.rate().unwrap_or(ByteRate(self.max_bw.get()))
    }

    /// Implements BBRUpdateBtlBw (4.1.1.5), with BBRUpdateRound (4.1.1.3).
    fn update_bw(&mut self, params: &Bbr1Params, sample: &Sample, app_limited: bool) {
        self.rounds.started = false;
        let Some(rate) = sample.delivery_rate.map(ByteRate::from) else { return };
        self.rounds.update(sample.prior_delivered, sample.delivered);
        self.packet_conservation &= !self.rounds.started;
        self.detect_policer(params, sample.into(), sample.lost > 0, app_limited);
        if !app_limited || rate.0 >= self.max_bw.get() {
            self.max_bw.update(u64::from(params.bbr1_bw_rounds), self.rounds.count, rate.0);
        }
    }

    /// Implements bbr_lt_bw_sampling.
    fn detect_policer(&mut self, params: &Bbr1Params, here: Point, lost: bool, app_limited: bool) {
        if !params.bbr1_policer_detection {
            return;
        }
        let cycling = self.state == State::ProbeBw;
        if self.policer.update(here, self.rounds.started, cycling, lost, app_limited) {
            self.enter_probe_bw(here.now);
        }
    }

    /// Implements BBRCheckCyclePhase and BBRAdvanceCyclePhase (4.3.4.3).
    fn update_cycle_phase(&mut self, of: Connection, params: &Bbr1Params, output: &Output, sample: &Sample) {
        if self.state == State::ProbeBw && self.is_next_phase(of, params, output, sample) {
            self.advance_phase(sample.now);
        }
    }

    fn advance_phase(&mut self, now: Time) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE_LENGTH;
        self.cycle_stamp = now;
    }

    /// Implements BBRIsNextCyclePhase (4.3.4.3).
    fn is_next_phase(&self, of: Connection, params: &Bbr1Params, output: &Output, sample: &Sample) -> bool {
        let [now, start] = [sample.now, self.cycle_stamp].map(|time| whole(time, params.unit_of_time()));
        let is_full_length = now.saturating_sub(start) > self.min_rtt;
        let gain = self.pacing_gain(params);
        let in_flight = self.in_flight_at_release(of, params, output, sample, sample.prior_in_flight);
        let max_bw = ByteRate(self.max_bw.get());
        if gain > 1.0 {
            is_full_length && (sample.lost > 0 || in_flight >= self.inflight(of, params, output, max_bw, gain))
        } else if gain < 1.0 {
            is_full_length || in_flight <= self.inflight(of, params, output, max_bw, 1.0)
        } else {
            is_full_length
        }
    }

    /// Estimates the data in flight at the time when pacing permits the next segment (bbr_packets_in_net_at_edt).
    fn in_flight_at_release(
        &self,
        of: Connection,
        params: &Bbr1Params,
        output: &Output,
        sample: &Sample,
        in_flight: u32,
    ) -> u64 {
        if !params.bbr1_counts_next_quantum {
            return u64::from(in_flight);
        }
        let next = if self.pacing_gain(params) > 1.0 { u64::from(output.quantum) } else { 0 };
        let delivered = self.bw().over(sample.until_release) as u64;
        (u64::from(in_flight) + next).saturating_sub(delivered - delivered % Self::unit(of, params))
    }

    /// Implements BBREnterProbeBW (4.3.4.3): any phase except that of gain 3/4 may be the first (4.3.4.2).
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        // An integer from 0 to 6.
        let random = (self.rng.open01() * f64::from(CYCLE_LENGTH - 1)) as u8;
        self.cycle_index = CYCLE_LENGTH - 1 - random;
        self.advance_phase(now);
    }

    /// Implements BBRCheckFullPipe (4.3.2.2).
    fn check_full_bw_reached(&mut self, app_limited: bool) {
        if self.full_bw_reached || !self.rounds.started || app_limited {
            return;
        }
        let max_bw = ByteRate(self.max_bw.get());
        if max_bw >= self.full_bw.times(FULL_BW_GROWTH) {
            (self.full_bw, self.full_bw_count) = (max_bw, 0);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    /// Implements BBRCheckDrain (4.3.3).
    fn check_drain(&mut self, of: Connection, params: &Bbr1Params, output: &mut Output, sample: &Sample) {
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            let inflight = self.inflight(of, params, output, ByteRate(self.max_bw.get()), 1.0);
            output.ssthresh = u32::try_from(inflight).unwrap_or(u32::MAX); // bbr_check_drain; only recorded, not used
        }
        if self.state == State::Drain {
            let drained = self.inflight(of, params, output, ByteRate(self.max_bw.get()), 1.0);
            if self.in_flight_at_release(of, params, output, sample, sample.in_flight) <= drained {
                self.enter_probe_bw(sample.now);
            }
        }
    }
}
