//! Prague: the scalable control of L4S. A mark reduces the window in proportion to the share of bytes that were marked.
//! Flows with short RTTs grow no faster than a flow with an RTT of 25 ms.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control, section 2.4 (of version 04), RFC 9331 section 4. Details that
//! these documents leave open follow Linux (L4STeam/linux, `net/ipv4/tcp_prague.c`). Names that begin with `prague_`
//! are from Linux.
//!
//! Windows are in segments:
//!
//! | section | rule | code |
//! |---|---|---|
//! | 2.4.2 | `alpha += g (marked / delivered - alpha)`, once per virtual RTT | `Prague::update_alpha` |
//! | 2.4.2 | alpha is 1 at the first mark | `Control::new` |
//! | 2.4.3 | on a mark, once per virtual RTT: `cwnd = cwnd (1 - alpha / 2)` | `Prague::answer_mark` |
//! | 2.4.3 | unmarked segments still grow the window: `cwnd += unmarked / cwnd` | `Prague::grow` |
//! | 2.4.4 | RTT independence: virtual RTT `max(srtt, 25 ms)`; growth times `(srtt / virtual RTT)^2`, after 500 rounds | `Prague::growth_per_segment` |
//! | 2.4.1 | a loss halves the window, as in Reno | `Control::on_event` |
//! | 2.4.5 | the pacing rate is `cwnd / srtt`, doubled early in slow start; a burst lasts 2^-12 s | `Prague::write` |
//!
//! Data carry ECT(1), and receivers count marks (accurate ECN). Prague is designed for the queue DualPI2.
//!
//! Cost: about 20 floating-point operations per ACK; 120 bytes of state.
//!
//! Deviations:
//! 1. Windows and alpha are not rounded to fixed point. At each ACK, the actual window moves at most a segment towards
//!    the computed one, as in Linux.
//! 2. As in Linux, a round ends with the first ACK of a segment sent in it. A virtual RTT depends on time only.
//! 3. A loss halves the window when recovery starts, and the window does not grow until recovery ends. Retransmissions
//!    are sent at the pacing rate within the halved window, without proportional rate reduction.
//! 4. A window of one segment is not subdivided: the pacing rate approximates the draft's `cwnd` below two segments.
//!
//! Not implemented: detection of a classic queue that marks ECT(1) (off by default in Linux); Linux's other methods of
//! RTT independence (`prague_rtt_scaling` 2 and 3).

use super::control::{Authority, Connection, Control, EcnUse, Event, Moment, Output, Sample};
use super::model::rounds::Rounds;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::params;

/// Minimum window in segments (MIN_CWND).
const LEAST_WINDOW: f64 = 2.0;
/// RTT above which growth is not scaled (MAX_SCALED_RTT).
const MOST_SCALED_RTT: Time = Time::from_millis(100);
/// log2 of the number of bursts per second (prague_burst_shift).
const BURST_SHIFT: u32 = 12;

params! {
    /// Parameters of Prague.
    pub struct PragueParams {
        /// Weight of the last round in Prague's estimate of the marked share.
        prague_gain: f64 = 0.0625, in 0.0001..=1.0, symbol "g", source "draft 2.4.2; tcp_prague.c PRAGUE_SHIFT_G";
        /// RTT below which Prague behaves as if its RTT were this value; "0 s" for no RTT independence.
        prague_rtt_target: Time = "25 ms", in "0 s"..="100 ms", symbol "RTT_virt_min",
            source "draft 2.4.4; tcp_prague.c prague_rtt_target";
        /// Rounds after slow start before Prague becomes independent of the RTT.
        prague_rtt_transition: u32 = 500, in 0..=100000, symbol "D",
            source "draft 2.4.4; tcp_prague.c prague_rtt_transition";
    }
}

/// State of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    alpha: f64,
    /// True if a mark was seen, so the path has a queue that marks.
    saw_mark: bool,
    rounds: Rounds,
    /// Rounds since slow start (round).
    rounds_after_start: u32,
    /// C.delivered and C.delivered_ce at the start of this estimate of the marked share.
    delivered: u64,
    delivered_ce: u64,
    /// Time of the last update of alpha. The next field is the time of the last response to a mark.
    alpha_stamp: Time,
    answered: Time,
    /// Computed window in segments (frac_cwnd).
    window: f64,
    window_before_loss: f64,
    in_loss: bool,
}

impl Control for Prague {
    type Params = PragueParams;
    const AUTHORITY: Authority = Authority::Full;
    const NEEDS_SAMPLES: bool = true;
    const ECN: EcnUse = EcnUse::AccurateEct1;

    fn new(_: Connection, _: &PragueParams, _: u64) -> Self {
        Self {
            alpha: 1.0,
            saw_mark: false,
            rounds: Rounds::default(),
            rounds_after_start: 0,
            delivered: 0,
            delivered_ce: 0,
            alpha_stamp: Time::ZERO,
            answered: Time::ZERO,
            window: 0.0,
            window_before_loss: 0.0,
            in_loss: false,
        }
    }

    /// Implements prague_cong_control.
    fn on_sample(&mut self, of: Connection, params: &PragueParams, output: &mut Output, sample: &Sample) {
        self.saw_mark |= sample.marked > 0;
        if sample.acked > 0 {
            self.rounds.update(sample.prior_delivered, sample.delivered);
        } else {
            self.rounds.started = false;
        }
        self.grow(of, params, output, sample);
        if self.rounds.started {
            self.update_alpha(params, output, sample);
        }
        self.write(of, output, sample.srtt);
    }

    fn on_event(&mut self, of: Connection, params: &PragueParams, output: &mut Output, event: Event, at: &Moment) {
        match event {
            Event::Open => {
                self.window = f64::from(output.cwnd) / f64::from(of.mss);
                output.ssthresh = u32::MAX;
                (self.alpha_stamp, self.answered) = (at.now, Time::ZERO);
            }
            Event::Mark => self.answer_mark(params, output, at),
            Event::Loss => {
                self.halve(of, output);
                output.cwnd = bytes(of, self.window);
            }
            Event::Timeout => {
                if !self.in_loss {
                    self.halve(of, output);
                }
                output.cwnd = at.in_flight.saturating_add(of.mss);
            }
            Event::RecoveryEnds => self.in_loss = false,
            Event::Undo { cwnd, ssthresh } => {
                self.window = self.window.max(self.window_before_loss);
                self.in_loss = false;
                (output.cwnd, output.ssthresh) = (output.cwnd.max(cwnd), output.ssthresh.max(ssthresh));
            }
            Event::IdleRestart { .. } | Event::SegmentLost { .. } => return,
        }
        self.write(of, output, at.srtt);
    }
}

fn bytes(of: Connection, segments: f64) -> u32 {
    (segments.ceil() * f64::from(of.mss)).min(f64::from(u32::MAX)) as u32
}

impl Prague {
    /// Implements prague_is_rtt_indep (section 2.4.4).
    fn is_independent(&self, params: &PragueParams, output: &Output) -> bool {
        params.prague_rtt_target > Time::ZERO
            && output.cwnd >= output.ssthresh
            && self.rounds_after_start >= params.prague_rtt_transition
    }

    /// Growth of the window by an unmarked segment, multiplied by the window: prague_rate_scaled_ai_ack_increase.
    fn growth_per_segment(&self, params: &PragueParams, output: &Output, srtt: Time) -> f64 {
        let target = params.prague_rtt_target;
        if !self.is_independent(params, output) || srtt >= target || srtt == Time::ZERO || srtt > MOST_SCALED_RTT {
            return 1.0;
        }
        let ratio = srtt.as_secs_f64() / target.as_secs_f64();
        ratio * ratio
    }

    /// Implements prague_update_cwnd.
    fn grow(&mut self, of: Connection, params: &PragueParams, output: &mut Output, sample: &Sample) {
        let mut unmarked = f64::from(sample.acked.saturating_sub(sample.marked)) / f64::from(of.mss);
        if unmarked > 0.0 && !self.in_loss && sample.cwnd_limited {
            let threshold = f64::from(output.ssthresh) / f64::from(of.mss);
            if output.cwnd < output.ssthresh {
                let growth = unmarked.min((threshold - self.window).max(0.0));
                self.window += growth;
                output.cwnd = output.cwnd.max(bytes(of, self.window));
                unmarked -= growth;
            }
            self.window +=
                unmarked * self.growth_per_segment(params, output, sample.srtt) / self.window.ceil().max(1.0);
        }
        self.window = self.window.clamp(LEAST_WINDOW, f64::from(u32::MAX) / f64::from(of.mss));
        self.follow(of, output);
    }

    /// Moves the actual window by up to a segment towards the computed one.
    fn follow(&self, of: Connection, output: &mut Output) {
        let computed = bytes(of, self.window);
        if output.cwnd > computed {
            output.cwnd = output.cwnd.saturating_sub(of.mss).max(computed);
            output.ssthresh = output.cwnd;
        } else {
            output.cwnd = output.cwnd.saturating_add(of.mss).min(computed);
        }
        output.cwnd = output.cwnd.max(of.mss);
    }

    /// Implements prague_update_alpha (section 2.4.2).
    fn update_alpha(&mut self, params: &PragueParams, output: &Output, sample: &Sample) {
        let elapsed = sample.now.saturating_sub(self.alpha_stamp);
        if self.is_independent(params, output) && elapsed < params.prague_rtt_target {
            return;
        }
        let delivered = sample.delivered.saturating_sub(self.delivered);
        if self.saw_mark && delivered > 0 {
            let marked = sample.delivered_ce.saturating_sub(self.delivered_ce).min(delivered);
            self.alpha += params.prague_gain * (marked as f64 / delivered as f64 - self.alpha);
            self.alpha_stamp = sample.now;
        }
        (self.delivered, self.delivered_ce) = (sample.delivered, sample.delivered_ce);
        if output.cwnd >= output.ssthresh {
            self.rounds_after_start = self.rounds_after_start.saturating_add(1);
        }
    }

    /// Implements prague_enter_cwr (section 2.4.3).
    fn answer_mark(&mut self, params: &PragueParams, output: &Output, at: &Moment) {
        let elapsed = at.now.saturating_sub(self.answered);
        if self.is_independent(params, output) && elapsed < params.prague_rtt_target {
            return;
        }
        self.answered = at.now;
        self.window = (self.window * (1.0 - self.alpha / 2.0)).max(LEAST_WINDOW);
    }

    /// Implements prague_enter_loss.
    fn halve(&mut self, of: Connection, output: &mut Output) {
        self.window_before_loss = self.window;
        self.window = (self.window / 2.0).max(LEAST_WINDOW);
        self.in_loss = true;
        output.ssthresh = bytes(of, self.window);
    }

    /// Implements prague_update_pacing_rate (section 2.4.5).
    fn write(&self, of: Connection, output: &mut Output, srtt: Time) {
        if srtt == Time::ZERO {
            return;
        }
        let doubled = if output.cwnd < output.ssthresh / 2 { 2.0 } else { 1.0 };
        let rate = doubled * self.window * f64::from(of.mss) * 8.0 / srtt.as_secs_f64();
        let rate = (rate as u64).max(1);
        output.pacing = Some(BitRate(rate));
        output.quantum = u32::try_from((rate / 8) >> BURST_SHIFT).unwrap_or(u32::MAX).max(of.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, RTT, never_leaves_its_bounds};
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// A flow in congestion avoidance with this window in segments and this alpha.
    fn flow(window: u32, alpha: f64) -> Flow<Prague> {
        let mut flow = Flow::<Prague>::new(PragueParams::default());
        (flow.control.window, flow.control.alpha) = (f64::from(window), alpha);
        (flow.output.cwnd, flow.output.ssthresh) = (window * MSS, window * MSS);
        flow
    }

    /// Like [`flow`], but after the transition to RTT independence.
    fn independent(window: u32, alpha: f64) -> Flow<Prague> {
        let mut flow = flow(window, alpha);
        flow.control.rounds_after_start = 500;
        flow
    }

    #[test]
    fn section_2_4_3_a_mark_takes_half_of_alpha_from_the_window() {
        for (alpha, left) in [(1.0, 50.0), (0.4, 80.0), (0.1, 95.0)] {
            let mut flow = flow(100, alpha);
            flow.event(Event::Mark);
            assert!((flow.control.window - left).abs() < 1e-9, "{} for alpha {alpha}", flow.control.window);
        }
    }

    #[test]
    fn the_window_in_force_follows_the_computed_one_by_a_segment_per_ack() {
        let mut flow = flow(100, 0.1);
        flow.event(Event::Mark);
        assert_eq!(flow.output.cwnd, 100 * MSS);
        let mut windows = Vec::new();
        for _ in 0..6 {
            flow.ack(|sample| sample.marked = MSS);
            windows.push(flow.output.cwnd / MSS);
        }
        assert_eq!(windows, [99, 98, 97, 96, 95, 95]);
        // The reduction also sets the threshold.
        assert_eq!(flow.output.ssthresh, 95 * MSS);
    }

    #[test]
    fn section_2_4_2_alpha_moves_by_a_sixteenth_towards_the_share_marked_of_a_round() {
        let mut flow = flow(10, 0.5);
        let mut delivered_ce = 0;
        for _ in 0..400 {
            flow.control.window = 10.0;
            flow.output.cwnd = 10 * MSS;
            flow.round(|index, sample| {
                if index < 2 {
                    (sample.marked, delivered_ce) = (MSS, delivered_ce + u64::from(MSS));
                }
                sample.delivered_ce = delivered_ce;
            });
        }
        assert!((flow.control.alpha - 0.2).abs() < 1e-6, "{}", flow.control.alpha);
    }

    #[test]
    fn before_the_first_mark_alpha_stays_at_one() {
        let mut flow = flow(10, 1.0);
        (0..10).for_each(|_| flow.round(|_, _| ()));
        assert_eq!(flow.control.alpha, 1.0);
    }

    #[test]
    fn section_2_4_3_only_unmarked_segments_grow_the_window() {
        let grown = |marked| {
            let mut flow = flow(20, 0.5);
            flow.round(|index, sample| sample.marked = if index < marked { MSS } else { 0 });
            flow.control.window - 20.0
        };
        // Each of 20 ACKs adds 1 / cwnd if its segment is unmarked. cwnd is rounded up.
        for (marked, growth) in [(0, 1.0), (10, 0.5), (20, 0.0)] {
            assert!((grown(marked) - growth).abs() < 0.06, "{} with {marked} marked", grown(marked));
        }
    }

    #[test]
    fn section_2_4_4_growth_falls_with_the_square_of_a_short_rtt_and_not_with_a_long_one() {
        let grown = |rtt: Time, mut flow: Flow<Prague>| {
            for _ in 0..20 {
                flow.ack(|sample| sample.srtt = rtt);
            }
            flow.control.window - 20.0
        };
        // At an RTT of 10 ms the window grows by (10 / 25)^2 = 0.16 segments per round trip.
        let short = grown(MS(10), independent(20, 0.5));
        assert!((short - 0.16).abs() < 0.01, "{short}");
        for (rtt, flow) in [(MS(10), flow(20, 0.5)), (MS(25), independent(20, 0.5)), (MS(50), independent(20, 0.5))] {
            let growth = grown(rtt, flow);
            assert!((growth - 1.0).abs() < 0.06, "{growth} at {rtt:?}");
        }
    }

    #[test]
    fn section_2_4_4_marks_are_answered_once_in_the_virtual_rtt() {
        let mut flow = independent(100, 0.1);
        let mut windows: Vec<f64> = Vec::new();
        for _ in 0..6 {
            flow.event(Event::Mark);
            windows.push(flow.control.window);
            flow.now += MS(10);
        }
        // The window is reduced at 0 ms and at 30 ms.
        let expected = [95.0, 95.0, 95.0, 90.25, 90.25, 90.25];
        assert!(windows.iter().zip(expected).all(|(window, of)| (window - of).abs() < 1e-9), "{windows:?}");
    }

    #[test]
    fn section_2_4_1_a_loss_halves_the_window_and_it_does_not_grow_until_recovery_ends() {
        let mut flow = flow(100, 0.0);
        flow.event(Event::Loss);
        assert_eq!((flow.output.cwnd, flow.output.ssthresh), (50 * MSS, 50 * MSS));
        flow.round(|_, _| ());
        assert_eq!(flow.output.cwnd, 50 * MSS);
        flow.event(Event::RecoveryEnds);
        flow.round(|_, _| ());
        assert_eq!(flow.output.cwnd, 51 * MSS);
    }

    #[test]
    fn a_reduction_that_was_none_of_the_networks_is_undone() {
        let mut flow = flow(100, 0.0);
        flow.event(Event::Loss);
        flow.event(Event::Undo { cwnd: 100 * MSS, ssthresh: 100 * MSS });
        assert_eq!((flow.output.cwnd, flow.control.window), (100 * MSS, 100.0));
    }

    #[test]
    fn slow_start_doubles_the_window_until_the_first_mark() {
        let mut flow = Flow::<Prague>::new(PragueParams::default());
        flow.round(|_, _| ());
        assert_eq!(flow.output.cwnd, 20 * MSS);
        flow.event(Event::Mark);
        // Alpha is 1, so half of the window is left.
        assert_eq!(flow.control.window, 10.0);
        flow.round(|_, sample| sample.marked = MSS);
        assert_eq!((flow.output.cwnd, flow.output.ssthresh), (10 * MSS, 10 * MSS));
    }

    #[test]
    fn section_2_4_5_segments_leave_at_the_window_in_an_rtt_and_twice_that_early_in_slow_start() {
        let mut late = flow(100, 0.5);
        late.ack(|sample| sample.marked = MSS);
        // The pacing rate is 100 segments of 8000 bits per 100 ms. A burst would have 8 Mbit/s / 8 / 4096 = 244 bytes,
        // which is raised to one segment.
        assert_eq!((late.output.pacing, late.output.quantum), (Some(BitRate(8_000_000)), MSS));
        let early = Flow::<Prague>::new(PragueParams::default());
        assert_eq!(early.output.pacing, Some(BitRate(2 * 800_000)));
        assert_eq!(RTT, MS(100));
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<Prague>(&PragueParams::default(), |flow, _| {
            (0.0..=1.0).contains(&flow.control.alpha) && flow.control.window >= 2.0
        });
    }
}
