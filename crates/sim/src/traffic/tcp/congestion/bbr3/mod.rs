//! BBRv3: a model of the path, from delivery rates and round-trip times, sets rate and window; losses bound the model.
//!
//! Source: draft-ietf-ccwg-bbr, editors' copy of August 2026 (after -05); sections and names of functions stand beside
//! the code. What it leaves open is as in Linux, github.com/google/bbr, branch v3, net/ipv4/tcp_bbr.c, called Linux v3
//! here.
//!
//! | section | rule | code |
//! |---|---|---|
//! | 5.2.3 | on each ACK: model, state, control | [`Bbr3::on_sample`] |
//! | 5.3.1, 5.3.2 | Startup doubles the rate each round until it no longer grows or 2 % are lost; Drain empties the queue | `bbr3/startup.rs` |
//! | 5.3.3 | ProbeBW: Down, Cruise, Refill, Up, once in 2 to 3 s or 63 rounds | `bbr3/probe_bw.rs` |
//! | 5.3.4 | ProbeRTT: half of the BDP for 200 ms, if no RTT of 5 s was lower; min_rtt over 10 s | `bbr3/probe_rtt.rs` |
//! | 5.5.1 to 5.5.9 | `bw = min(max_bw, bw_shortterm)`; extra_acked | `bbr3/signals.rs` |
//! | 5.5.10, 5.5.11 | losses: inflight_longterm while probing, the short-term model otherwise; undo | `bbr3/loss.rs` |
//! | 5.6 | `pacing_rate = gain * bw * 0.99`; `cwnd = gain * bw * min_rtt + extra_acked`, within the model | `bbr3/output.rs` |
//! | 3.7 | congestion marks | `bbr3/mark_response.rs` |
//!
//! Cost: some 60 floating-point operations per ACK, with no division except in its sample; 440 bytes.
//!
//! Deviations:
//! 1. TargetInflight (5.3.3.8.3) includes the quantization budget, as in Linux v3, and counts segments where it stands
//!    for round trips: a BDP of less than a segment would be probed in each round.
//! 2. `C.inflight` of IsTimeToGoDown is that before the ACK and a quantum more, as in Linux v3: after an ACK it is
//!    never as large as the inflight_longterm that bounds the window, and no probe would be precautionary.
//! 3. The sequence ranges lost in Startup (5.3.1.3) are the ACKs that report losses, as in Linux v3: an event of loss
//!    does not say whether it continues the last one.
//! 4. The state for undo is saved once in an episode of recovery, at its first loss, as the text of 5.5.11 says; the
//!    functions there save it anew in each round and as recovery begins, and so lose what was before it.
//! 5. The max filter of max_bw keeps its older slot as long as the newer one is empty, as in Linux v3.
//! 6. An interval of extra_acked that begins anew after idling counts from zero, as in Linux v3.
//! 7. lost_prefix of InflightAtLoss is not negative: earlier losses may have crossed the threshold by themselves.
//! 8. After a timeout inflight_shortterm starts from the window before it, as in Linux v3, not from the segment that it
//!    leaves.
//! 9. With ECN, which section 3.7 leaves open but for the duty to respond, marked bytes count as lost ones, by round,
//!    or `bbr3_ecn = "alpha"` responds as Linux v3 does below an RTT of 5 ms.
//! 10. An ACK that delivers nothing changes neither the model nor, on its own, the window.
//! 11. inflight_longterm does not bound the window in Drain: the functions of 5.6.4.7 say so, the table of 5.6.1 the
//!     contrary.
//!
//! Not implemented: connections without selective ACKs (one branch of 5.3.1.3 and of 5.5.10.2), the response of Linux
//! v3 to tail losses that a probe repaired, its fast path and its protective load balancing; offload of pacing.

mod loss;
mod mark_response;
mod marks;
mod output;
mod params;
mod probe_bw;
mod probe_rtt;
mod signals;
mod startup;
mod state;
#[cfg(test)]
mod tests;

use super::control::{Authority, Connection, Control, EcnUse, Event, Moment, Output, Sample};
use super::model::byte_rate::ByteRate;
use super::model::own_limit::OwnLimit;
use super::model::rounds::Rounds;
use super::model::windowed_max::WindowedMax;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use marks::Marks;
use params::{Bbr3Ecn, Bbr3Params};
use state::{AckPhase, Lost, Point, State, Undo};

/// A volume of data without bound (Infinity of the draft).
const UNBOUNDED: u64 = u64::MAX;

/// State of BBRv3. Names are those of the draft, section 2; volumes are in bytes.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    state: State,
    rng: Rng,
    /// BBR.round_count, BBR.round_start, BBR.next_round_delivered.
    rounds: Rounds,
    /// C.InitialCwnd.
    initial_cwnd: u64,
    idle_restart: bool,
    drain_start_round: u64,
    /// C.delivered up to which C.is_cwnd_limited holds: a round trip since the window last bounded the sender.
    cwnd_limited_until: u64,
    /// C.app_limited as ProbeRTT sets it.
    own_limit: OwnLimit,

    // 2.9.1: rates.
    /// BBR.max_bw_filter: the previous and the current cycle of ProbeBW.
    max_bw_filter: [ByteRate; 2],
    max_bw: ByteRate,
    bw_shortterm: ByteRate,
    bw: ByteRate,
    // 2.9.2: volumes.
    /// [`Time::NEVER`] before the first RTT.
    min_rtt: Time,
    min_rtt_stamp: Time,
    inflight_longterm: u64,
    inflight_shortterm: u64,

    // 2.10: congestion signals of the latest round.
    bw_latest: ByteRate,
    inflight_latest: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// ACKs of this round that reported losses.
    loss_reports_in_round: u32,

    // 2.12: extra_acked.
    extra_acked_interval_start: Time,
    extra_acked_delivered: u64,
    extra_acked_filter: WindowedMax,
    extra_acked: u64,

    // 2.13: full pipe.
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: ByteRate,
    full_bw_count: u32,

    // 2.14: ProbeBW.
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Time,
    cycle_stamp: Time,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    // 2.15: loss recovery.
    in_recovery: bool,
    prior_cwnd: u32,
    /// State restored by an undo; none outside an episode of recovery.
    undo: Option<Undo>,

    // 2.16: ProbeRTT.
    probe_rtt_min_delay: Time,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    /// BBR.probe_rtt_done_stamp.
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,

    marks: Marks,
}

impl Control for Bbr3 {
    type Params = Bbr3Params;
    const AUTHORITY: Authority = Authority::Full;
    const NEEDS_SAMPLES: bool = true;
    const HEARS_LOSSES: bool = true;
    const ECN: EcnUse = EcnUse::AccurateEct0;

    /// Section 5.2.1, OnInit.
    fn new(_: Connection, _: &Bbr3Params, seed: u64) -> Self {
        Self {
            state: State::Startup,
            rng: Rng::stream(seed, 0, "bbr3", 0),
            rounds: Rounds::default(),
            initial_cwnd: 0,
            idle_restart: false,
            drain_start_round: 0,
            cwnd_limited_until: 0,
            own_limit: OwnLimit::default(),
            max_bw_filter: [ByteRate::default(); 2],
            max_bw: ByteRate::default(),
            bw_shortterm: ByteRate::UNBOUNDED,
            bw: ByteRate::default(),
            min_rtt: Time::NEVER,
            min_rtt_stamp: Time::ZERO,
            inflight_longterm: UNBOUNDED,
            inflight_shortterm: UNBOUNDED,
            bw_latest: ByteRate::default(),
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            loss_reports_in_round: 0,
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0,
            extra_acked_filter: WindowedMax::new(0.0),
            extra_acked: 0,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: ByteRate::default(),
            full_bw_count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: UNBOUNDED,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Time::ZERO,
            cycle_stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            in_recovery: false,
            prior_cwnd: 0,
            undo: None,
            probe_rtt_min_delay: Time::NEVER,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            marks: Marks::default(),
        }
    }

    /// Section 5.2.3, UpdateOnACK.
    fn on_sample(&mut self, of: Connection, params: &Bbr3Params, output: &mut Output, sample: &Sample) {
        if sample.acked == 0 {
            return; // Deviation 10.
        }
        let ack = Ack::new(self, sample);
        // UpdateModelAndState.
        self.update_latest_delivery_signals(&ack);
        self.update_congestion_signals(of, params, output, &ack);
        self.update_ack_aggregation(params, output, &ack);
        self.check_full_bw_reached(params, &ack);
        self.check_startup_done(of, params, output, &ack);
        self.check_drain_done(of, params, output, &ack);
        self.update_probe_bw_cycle_phase(of, params, output, &ack);
        self.update_min_rtt(params, &ack);
        self.check_probe_rtt(of, params, output, &ack);
        self.advance_latest_delivery_signals(&ack);
        self.bound_bw_for_model();
        // UpdateControlParameters.
        self.set_pacing_rate(params, output);
        self.set_send_quantum(of, output);
        self.set_cwnd(of, params, output, &ack);
    }

    /// Sections 5.2.1, 5.2.2, 5.2.4, 5.2.5 and 5.6.4.4.
    fn on_event(&mut self, of: Connection, params: &Bbr3Params, output: &mut Output, event: Event, at: &Moment) {
        match event {
            Event::Open => self.on_open(of, params, output, at),
            Event::Loss => self.on_enter_recovery(output),
            Event::Timeout => self.on_enter_rto(of, output, at),
            Event::RecoveryEnds => self.on_recovery_ends(output),
            Event::Undo { .. } => self.handle_spurious_loss_detection(output, at),
            Event::IdleRestart { .. } => self.handle_restart_from_idle(params, output, at),
            Event::SegmentLost { bytes, tx_in_flight, lost_since_sent, app_limited, prior_delivered, .. } => {
                let app_limited = app_limited || self.own_limit.covers(prior_delivered);
                let lost = Lost { bytes, tx_in_flight, lost_since_sent, app_limited };
                self.handle_lost_packet(of, params, output, at, lost);
            }
            // Deviation 9. With alpha, only what samples count matters.
            Event::Mark if params.bbr3_ecn == Bbr3Ecn::Loss => self.note_loss(output, at.delivered),
            Event::Mark => {}
        }
    }
}

/// An ACK that delivers something, as the functions of the draft see it.
struct Ack<'a> {
    sample: &'a Sample,
    /// RS.delivery_rate; zero if the sample has none.
    delivery_rate: ByteRate,
    /// RS.delivered.
    delivered: u64,
    /// RS.is_app_limited.
    app_limited: bool,
    /// C.is_cwnd_limited.
    cwnd_limited: bool,
}

impl<'a> Ack<'a> {
    #[inline]
    fn new(bbr: &mut Bbr3, sample: &'a Sample) -> Self {
        if sample.cwnd_limited {
            bbr.cwnd_limited_until = sample.delivered + u64::from(sample.in_flight);
        }
        Self {
            sample,
            delivery_rate: sample.delivery_rate.map_or(ByteRate::default(), ByteRate::from),
            delivered: sample.delivered.saturating_sub(sample.prior_delivered),
            app_limited: sample.app_limited || bbr.own_limit.covers(sample.prior_delivered),
            cwnd_limited: sample.delivered <= bbr.cwnd_limited_until,
        }
    }

    fn point(&self) -> Point {
        Point { now: self.sample.now, delivered: self.sample.delivered }
    }
}

impl Bbr3 {
    /// OnInit with the handshake's RTT (section 5.2.1), and InitPacingRate (5.6.2).
    fn on_open(&mut self, of: Connection, params: &Bbr3Params, output: &mut Output, at: &Moment) {
        self.initial_cwnd = u64::from(output.cwnd);
        self.min_rtt = if at.srtt > Time::ZERO { at.srtt } else { Time::NEVER };
        self.probe_rtt_min_delay = self.min_rtt;
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (at.now, at.now);
        self.extra_acked_interval_start = at.now;
        self.init_pacing_rate(params, output, at.srtt);
        self.set_send_quantum(of, output);
    }

    /// Section 5.4.1, HandleRestartFromIdle.
    fn handle_restart_from_idle(&mut self, params: &Bbr3Params, output: &mut Output, at: &Moment) {
        if at.in_flight > 0 || !(at.app_limited || self.own_limit.covers(at.delivered)) {
            return;
        }
        self.idle_restart = true;
        (self.extra_acked_interval_start, self.extra_acked_delivered) = (at.now, 0); // Deviation 6.
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(params, output, 1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(params, output, at.into());
        }
    }

    /// IsProbingBW of section 5.3.3.9.
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }
}
