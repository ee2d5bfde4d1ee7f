//! BBRv3: a model of the path, from delivery rates and round-trip times, sets rate and window. Losses lower the model's
//! bounds.
//!
//! Source: draft-ietf-ccwg-bbr, editors' copy of August 2026 (after -05), whose sections and function names the code
//! cites. Details that the draft leaves open follow Linux (github.com/google/bbr, branch v3, net/ipv4/tcp_bbr.c),
//! called Linux v3 below.
//!
//! | section | rule | code |
//! |---|---|---|
//! | 5.2.3 | on each ACK: model, state, control | [`Bbr3::on_sample`] |
//! | 5.3.1, 5.3.2 | Startup doubles the rate each round until the rate no longer grows or 2 % are lost; Drain empties the queue | `bbr3/startup.rs` |
//! | 5.3.3 | ProbeBW: Down, Cruise, Refill, Up, once in 2 to 3 s or 63 rounds | `bbr3/probe_bw.rs` |
//! | 5.3.4 | ProbeRTT: a window of half the BDP for 200 ms, if the lowest RTT is 5 s old; min_rtt is the minimum over 10 s | `bbr3/probe_rtt.rs` |
//! | 5.5.1 to 5.5.9 | `bw = min(max_bw, bw_shortterm)`; extra_acked | `bbr3/signals.rs` |
//! | 5.5.10, 5.5.11 | losses: inflight_longterm while probing, the short-term model otherwise; undo | `bbr3/loss.rs` |
//! | 5.6 | `pacing_rate = gain * bw * 0.99`; `cwnd = gain * bw * min_rtt + extra_acked`, within the model | `bbr3/output.rs` |
//! | 3.7 | congestion marks | `bbr3/mark_response.rs` |
//!
//! Cost: about 60 floating-point operations per ACK, with divisions only in the delivery rate sample. State: 440 bytes.
//!
//! Deviations:
//! 1. TargetInflight (5.3.3.8.3) includes the quantization budget, as in Linux v3. It is in segments, even where the
//!    draft uses it as a number of round trips. Without the budget, a flow whose BDP is less than a segment would probe
//!    in each round.
//! 2. `C.inflight` of IsTimeToGoDown is the data in flight before the ACK plus a quantum, as in Linux v3. After an ACK
//!    the data in flight are always below inflight_longterm, which limits the window, so no probe would count as
//!    precautionary (5.3.3.6).
//! 3. As in Linux v3, Startup counts ACKs that report losses, not lost sequence ranges (5.3.1.3). A loss event does not
//!    show whether its range continues that of the previous event.
//! 4. The state for undo is saved once per recovery, at its first loss, as the text of 5.5.11 says. The draft's
//!    functions save it again in each round and when recovery starts, and so lose the state before the recovery.
//! 5. The max filter of max_bw keeps its older slot while the newer one is empty, as in Linux v3.
//! 6. After idling, extra_acked starts a new interval that counts from zero, as in Linux v3.
//! 7. lost_prefix of InflightAtLoss is at least 0, even if earlier losses have already crossed the threshold.
//! 8. After a timeout inflight_shortterm starts from the window before the timeout, as in Linux v3, not from one
//!    segment.
//! 9. Section 3.7 requires a response to ECN but does not define it. By default, the bytes marked in a round are
//!    treated like lost bytes. With `bbr3_ecn = "alpha"` the response is that of Linux v3 at RTTs below 5 ms.
//! 10. An ACK that delivers no data updates neither model nor window, except for losses that it reports.
//! 11. inflight_longterm does not limit the window in Drain, as in the functions of 5.6.4.7. The table of 5.6.1 says
//!     the opposite.
//!
//! Not implemented: connections without selective ACKs (one branch each in 5.3.1.3 and 5.5.10.2); Linux v3's response
//! to tail losses repaired by a probe, its fast path and its protective load balancing; offload of pacing.

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

/// Unlimited volume of data (Infinity in the draft).
const UNBOUNDED: u64 = u64::MAX;

/// State of BBRv3. Names are those of the draft, section 2; volumes are in bytes.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    state: State,
    rng: Rng,
    /// Round trips (BBR.round_count, BBR.round_start, BBR.next_round_delivered).
    rounds: Rounds,
    /// Initial window.
    initial_cwnd: u64,
    idle_restart: bool,
    drain_start_round: u64,
    /// C.is_cwnd_limited is true until C.delivered reaches this value, a round trip after the window last limited the
    /// sender.
    cwnd_limited_until: u64,
    /// Data sent while ProbeRTT held the flow back (C.app_limited).
    own_limit: OwnLimit,

    // 2.9.1: rates.
    /// BBR.max_bw_filter: the largest rates of the previous and of the current cycle of ProbeBW.
    max_bw_filter: [ByteRate; 2],
    max_bw: ByteRate,
    bw_shortterm: ByteRate,
    bw: ByteRate,
    // 2.9.2: volumes.
    /// Minimum RTT; [`Time::NEVER`] before the first.
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
    /// State restored by an undo; `None` outside recovery.
    undo: Option<Undo>,

    // 2.16: ProbeRTT.
    probe_rtt_min_delay: Time,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    /// Earliest end of ProbeRTT (BBR.probe_rtt_done_stamp).
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

    /// Implements OnInit (section 5.2.1).
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

    /// Implements UpdateOnACK (section 5.2.3).
    fn on_sample(&mut self, of: Connection, params: &Bbr3Params, output: &mut Output, sample: &Sample) {
        if sample.acked == 0 {
            return; // deviation 10
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

    /// Handles events (sections 5.2.1, 5.2.2, 5.2.4, 5.2.5 and 5.6.4.4).
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
            // Deviation 9. With `alpha`, the control reads marks from samples instead of events.
            Event::Mark if params.bbr3_ecn == Bbr3Ecn::Loss => self.note_loss(output, at.delivered),
            Event::Mark => {}
        }
    }
}

/// An ACK that delivers data, as seen by the functions of the draft.
struct Ack<'a> {
    sample: &'a Sample,
    /// RS.delivery_rate; zero if the sample has no rate.
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
    /// Implements OnInit with the handshake's RTT (section 5.2.1), and InitPacingRate (5.6.2).
    fn on_open(&mut self, of: Connection, params: &Bbr3Params, output: &mut Output, at: &Moment) {
        self.initial_cwnd = u64::from(output.cwnd);
        self.min_rtt = if at.srtt > Time::ZERO { at.srtt } else { Time::NEVER };
        self.probe_rtt_min_delay = self.min_rtt;
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (at.now, at.now);
        self.extra_acked_interval_start = at.now;
        self.init_pacing_rate(params, output, at.srtt);
        self.set_send_quantum(of, output);
    }

    /// Implements HandleRestartFromIdle (section 5.4.1).
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

    /// Implements IsProbingBW (section 5.3.3.9).
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }
}
