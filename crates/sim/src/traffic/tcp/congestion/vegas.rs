//! Vegas: keeps two to four segments of each flow in the queue.
//!
//! Source: L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
//! 13(8), 1995, section III; Linux `net/ipv4/tcp_vegas.c`.
//!
//! Vegas decides once per round trip, with the minimum RTT of that round trip. All windows are in segments:
//!
//! | section | rule | code |
//! |---|---|---|
//! | III-B | `Diff = cwnd (RTT - BaseRTT) / BaseRTT`, rounded down, or `cwnd - cwnd BaseRTT / RTT`, rounded up, depending on `vegas_diff`; BaseRTT is the minimum RTT of the connection | `Vegas::extra_segments` |
//! | III-B | `cwnd += 1` if Diff < alpha, `cwnd -= 1` if Diff > beta | `Vegas::adjust` |
//! | III-C | slow start doubles the window in every nth round trip, and ends once Diff > gamma | `Vegas::adjust` |
//!
//! Known weakness: if a flow starts while segments of other flows wait in the queue, its BaseRTT includes this queueing
//! delay. The new flow adds its segments to the queue, and the older flows reduce their windows. On a link of 10 Mbit/s
//! with an RTT of 40 ms and a long buffer, a flow that starts 2 s after another gets 8.5 Mbit/s; the older flow gets
//! 1.1 Mbit/s. Two flows that start together get 4.8 Mbit/s each.
//!
//! Cost: two comparisons per ACK and one division per round trip. State: 64 bytes.
//!
//! Deviations:
//! 1. As in Linux, Diff is computed from the window and the minimum RTT of the round trip. The paper uses the data sent
//!    during the RTT of one distinguished segment in the middle of a burst.
//! 2. As in Linux, a round trip with fewer than three RTT samples grows the window as Reno does, since all samples may
//!    come from delayed ACKs.
//! 3. As in Linux, the window at the end of slow start is `cwnd BaseRTT / RTT + 1` segments. The paper does not specify
//!    this window.
//! 4. As in Linux, losses are detected and handled as in Reno. The paper checks for a loss at the first duplicate ACK.
//!    It does not reduce the window for losses of segments sent before the last reduction (section III-A).
//! 5. RTTs are exact; Linux adds a microsecond to each.
//! 6. As in Linux, a round trip ends with the first ACK of a segment sent in it, and Vegas uses the RTTs of that round
//!    trip. With `vegas_early_round` the round trip ends one ACK earlier. The paper does not specify the end. The
//!    difference matters in slow start: segments leave in trains with gaps between them, so the first segment of a
//!    train finds the shortest queue.
//! 7. A window that is not fully used does not grow. In the paper such a window shrinks, since Diff depends on the data
//!    sent. In Linux such a window grows without bound, as with `vegas_grows_unused`.
//!
//! Not implemented: pacing the window over a round trip, which the paper's code does in slow start.

use super::control::{Authority, Connection, Control, Event, Flight, Moment, Output, Progress, Sample, Window};
use super::model::rounds::Rounds;
use super::reno::{Reno, RenoParams};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::{choices, params};

/// Minimum number of RTT samples for a round trip to count (`tcp_vegas.c`: more than two).
const LEAST_SAMPLES: u32 = 3;

choices! {
    /// Vegas's estimate of its queued segments.
    pub enum VegasDiff {
        /// Queueing delay divided by BaseRTT, times the window, rounded down. This overestimates the queue if the
        /// window exceeds the bandwidth-delay product.
        OfBase = "of_base",
        /// Window minus the segments on the path, the latter rounded down: (Expected - Actual) times BaseRTT.
        ExpectedLessActual = "expected_less_actual",
    }
}

params! {
    /// Parameters of Vegas.
    pub struct VegasParams {
        /// Queued segments below which Vegas grows.
        vegas_alpha: u32 = 2, in 0..=10000, symbol "alpha",
            source "Brakmo 1995 III-B, which has 1 to 3 and 2 to 4; tcp_vegas.c alpha";
        /// Queued segments above which Vegas shrinks.
        vegas_beta: u32 = 4, in 0..=10000, symbol "beta", source "Brakmo 1995 III-B; tcp_vegas.c beta";
        /// Queued segments above which Vegas leaves slow start.
        vegas_gamma: u32 = 1, in 0..=10000, symbol "gamma", source "Brakmo 1995 III-C; tcp_vegas.c gamma";
        /// Period of Vegas's growth in slow start, in round trips; the paper has 2, Linux 1.
        vegas_slow_start_rounds: u32 = 1, in 1..=10, source "Brakmo 1995 III-C; tcp_vegas.c tcp_vegas_cong_avoid";
        /// Vegas's estimate of its queued segments. `of_base`: `cwnd * (RTT - BaseRTT) / BaseRTT`, rounded down;
        /// `expected_less_actual`: `cwnd - cwnd * BaseRTT / RTT`, rounded up.
        vegas_diff: VegasDiff = "of_base", symbol "Diff",
            source "tcp_vegas.c diff; expected_less_actual: Brakmo 1995 III-B, ns-3 tcp-vegas.cc diff";
        /// Lets Vegas decide at the ACK of the last segment that was in flight at the previous decision, instead of the
        /// following ACK.
        vegas_early_round: bool = false,
            source "tcp_vegas.c after(ack, beg_snd_nxt); true in ns-3, tcp-vegas.cc IncreaseWindow";
        /// Lets Vegas's window grow while the application or the receiver limits sending.
        vegas_grows_unused: bool = false,
            source "RFC 2861 2; true in Linux, tcp_vegas.c tcp_vegas_cong_avoid, and in ns-3, tcp-vegas.cc \
                IncreaseWindow";
    }
}

/// State of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// BaseRTT; [`Time::NEVER`] before the first sample.
    base_rtt: Time,
    /// Minimum RTT of this round trip. The next field is the number of its RTT samples.
    min_rtt: Time,
    samples: u32,
    rounds: Rounds,
    /// Segments acknowledged since the window last grew, for growth like Reno's.
    counted: u32,
    /// Phase so far; `Disorder` also stands for `Open` while a mark reduces the window.
    phase: Phase,
    /// True if Vegas decides: since the phase became `Open`, or since data were sent while nothing was in flight
    /// (doing_vegas_now).
    decides: bool,
}

impl Control for Vegas {
    type Params = VegasParams;
    const READS: &'static [&'static str] = &["byte_counting", "flight_size"];
    const ORDERED: &'static [(&'static str, &'static str)] = &[("vegas_alpha", "vegas_beta")];
    const AUTHORITY: Authority = Authority::Growth;
    const NEEDS_SAMPLES: bool = true;
    const SCALE_FREE: bool = true;

    fn new(_: Connection, _: &VegasParams, _: u64) -> Self {
        let rounds = Rounds::default();
        Self {
            base_rtt: Time::NEVER,
            min_rtt: Time::NEVER,
            samples: 0,
            rounds,
            counted: 0,
            phase: Phase::Open,
            decides: true,
        }
    }

    /// Window after congestion, that of Reno (deviation 4).
    fn reduce(&mut self, of: Connection, _: &VegasParams, flight: Flight) -> u64 {
        self.counted = 0;
        Reno.reduce(of, &RenoParams {}, flight)
    }

    fn on_sample(&mut self, of: Connection, params: &VegasParams, output: &mut Output, sample: &Sample) {
        if let Some(rtt) = sample.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.min_rtt = self.min_rtt.min(rtt);
            self.samples += 1;
        }
        let reduces = sample.phase == Phase::Open && sample.reducing;
        let phase = if reduces { Phase::Disorder } else { sample.phase };
        self.follow(params, phase, sample.delivered, sample.in_flight);
        let shrinks = sample.phase == Phase::Recovery || sample.reducing;
        if shrinks || sample.acked == 0 || sample.ece || sample.duplicate {
            return;
        }
        if params.vegas_early_round {
            self.rounds.update_early(sample.delivered, sample.in_flight);
        } else {
            self.rounds.update(sample.prior_delivered, sample.delivered);
        }
        let may_grow = sample.cwnd_limited || params.vegas_grows_unused;
        if !self.decides {
            self.grow_as_reno(of, output, sample);
        } else if self.rounds.started && phase == Phase::Open {
            if self.samples < LEAST_SAMPLES {
                self.grow_as_reno(of, output, sample);
            } else {
                self.adjust(of, params, output, sample, may_grow);
            }
            (self.min_rtt, self.samples) = (Time::NEVER, 0);
        } else if may_grow && self.grows_in_slow_start(params, output) {
            slow_start(of, output, sample);
        }
    }

    fn on_event(&mut self, _: Connection, params: &VegasParams, _: &mut Output, event: Event, at: &Moment) {
        if matches!(event, Event::IdleRestart { .. }) {
            // tcp_vegas_cwnd_event: the path may have changed during a pause.
            self.follow(params, at.phase, at.delivered, at.in_flight);
            self.base_rtt = Time::NEVER;
            self.decides = true;
            self.begin_anew(params, at.delivered, at.in_flight);
        }
    }
}

impl Vegas {
    /// Follows the connection into `phase` (tcp_vegas_state).
    fn follow(&mut self, params: &VegasParams, phase: Phase, delivered: u64, in_flight: u32) {
        if std::mem::replace(&mut self.phase, phase) == phase {
            return;
        }
        self.decides = phase == Phase::Open;
        if self.decides {
            self.begin_anew(params, delivered, in_flight);
        }
    }

    /// Implements vegas_enable: Vegas decides again only after a full round trip.
    fn begin_anew(&mut self, params: &VegasParams, delivered: u64, in_flight: u32) {
        let ahead = if params.vegas_early_round { in_flight } else { 0 };
        self.rounds.restart(delivered + u64::from(ahead));
        (self.min_rtt, self.samples) = (Time::NEVER, 0);
    }

    /// Diff: number of segments of this flow in the queue.
    fn extra_segments(&self, params: &VegasParams, window: f64) -> f64 {
        let (base, rtt) = (self.base_rtt.as_secs_f64(), self.min_rtt.as_secs_f64());
        match params.vegas_diff {
            _ if base <= 0.0 => 0.0,
            VegasDiff::OfBase => (window * (rtt - base) / base).floor(),
            // The window in whole segments.
            VegasDiff::ExpectedLessActual => window.floor() - (window.floor() * base / rtt).floor(),
        }
    }

    fn grow_as_reno(&mut self, of: Connection, output: &mut Output, sample: &Sample) {
        if !sample.cwnd_limited {
            return;
        }
        let left = if output.cwnd < output.ssthresh { slow_start(of, output, sample) } else { sample.acked };
        let progress =
            Progress { segments: left / of.mss, now: sample.now, srtt: sample.srtt, min_rtt: sample.min_rtt };
        if progress.segments > 0 && output.cwnd >= output.ssthresh {
            let window = Window { cwnd: &mut output.cwnd, counted: &mut self.counted };
            Reno.avoid(of, &RenoParams {}, window, progress);
        }
    }

    fn grows_in_slow_start(&self, params: &VegasParams, output: &Output) -> bool {
        output.cwnd < output.ssthresh && self.rounds.count.is_multiple_of(u64::from(params.vegas_slow_start_rounds))
    }

    /// Adapts the window at the end of a round trip. The window grows only if `may_grow` is true.
    fn adjust(&mut self, of: Connection, params: &VegasParams, output: &mut Output, sample: &Sample, may_grow: bool) {
        let window = f64::from(output.cwnd) / f64::from(of.mss);
        let extra = self.extra_segments(params, window);
        if output.cwnd < output.ssthresh {
            if extra > f64::from(params.vegas_gamma) {
                let target = window * self.base_rtt.as_secs_f64() / self.min_rtt.as_secs_f64();
                output.cwnd = output.cwnd.min((target as u32 + 1).saturating_mul(of.mss));
                output.ssthresh = output.ssthresh.min(output.cwnd);
            } else if may_grow && self.grows_in_slow_start(params, output) {
                slow_start(of, output, sample);
            }
        } else if extra > f64::from(params.vegas_beta) {
            output.cwnd = output.cwnd.saturating_sub(of.mss);
            output.ssthresh = output.ssthresh.min(output.cwnd);
        } else if may_grow && extra < f64::from(params.vegas_alpha) {
            output.cwnd = output.cwnd.saturating_add(of.mss);
        }
        output.cwnd = output.cwnd.max(2 * of.mss);
        // The threshold becomes at least half plus a quarter of the window (`tcp_current_ssthresh`). With whole
        // windows, both are rounded down to segments.
        let unit = if of.whole_windows { of.mss } else { 1 };
        let window = output.cwnd / unit;
        output.ssthresh = output.ssthresh.max((window / 2 + window / 4) * unit);
    }
}

/// Grows the window by slow start (RFC 5681) up to the threshold. Returns the number of acknowledged bytes that did not
/// add to the window.
fn slow_start(of: Connection, output: &mut Output, sample: &Sample) -> u32 {
    let growth = of.counted(sample.acked).min(output.ssthresh.saturating_sub(output.cwnd));
    output.cwnd = output.cwnd.saturating_add(growth);
    sample.acked - growth
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, never_leaves_its_bounds};
    use super::*;

    const BASE: Time = Time::from_millis(100);

    /// Returns a flow in congestion avoidance with a window of 20 segments, on a path with an RTT of 100 ms.
    fn flow() -> Flow<Vegas> {
        let mut flow = Flow::<Vegas>::new(VegasParams::default());
        (flow.output.cwnd, flow.output.ssthresh) = (20 * MSS, 10 * MSS);
        flow.control.base_rtt = BASE;
        flow
    }

    /// Passes two round trips with this RTT, so that at least one decision is based only on it. Returns the last change
    /// in segments.
    fn change(flow: &mut Flow<Vegas>, rtt: Time) -> i64 {
        flow.round(|_, sample| sample.rtt = Some(rtt));
        let before = i64::from(flow.output.cwnd);
        flow.round(|_, sample| sample.rtt = Some(rtt));
        (i64::from(flow.output.cwnd) - before) / i64::from(MSS)
    }

    #[test]
    fn section_iii_b_the_window_grows_below_alpha_and_shrinks_above_beta() {
        // With 20 segments and a BaseRTT of 100 ms, Diff = 20 * (RTT - 100) / 100. The RTTs above 100 ms give a Diff of
        // 1, 2, 4 and 5 segments.
        for (rtt, expected) in [(100, 1), (105, 1), (111, 0), (121, 0), (130, -1)] {
            let mut flow = flow();
            assert_eq!(change(&mut flow, Time::from_millis(rtt)), expected, "RTT {rtt} ms");
        }
    }

    #[test]
    fn section_iii_b_expected_less_actual_is_what_of_the_window_the_path_does_not_hold() {
        // Diff is 20 - floor(20 * 100 / RTT) segments, with the RTT in ms: 0, 1, 2, 4 and 5 segments.
        for (rtt, expected) in [(100, 1), (105, 1), (111, 0), (125, 0), (134, -1)] {
            let mut flow = flow();
            flow.params.vegas_diff = VegasDiff::ExpectedLessActual;
            assert_eq!(change(&mut flow, Time::from_millis(rtt)), expected, "RTT {rtt} ms");
        }
    }

    #[test]
    fn an_early_round_decides_an_ack_before() {
        for (early, decided) in [(true, 19), (false, 20)] {
            let mut flow = flow();
            flow.params.vegas_early_round = early;
            flow.ack(|sample| sample.rtt = Some(Time::from_millis(150)));
            // Acknowledges all but the last of the 20 segments in flight at the previous decision.
            let before = flow.output.cwnd;
            let acks = (1..).find(|_| {
                flow.ack(|sample| sample.rtt = Some(Time::from_millis(150)));
                flow.output.cwnd < before
            });
            assert_eq!(acks, Some(decided));
        }
    }

    #[test]
    fn section_iii_b_a_shrinking_window_takes_the_threshold_along() {
        let mut flow = flow();
        flow.output.ssthresh = 20 * MSS;
        change(&mut flow, Time::from_millis(150));
        // The first ACK has only its own sample, so the window grows like Reno's, by MSS^2 / cwnd = 50 bytes.
        assert_eq!((flow.output.cwnd, flow.output.ssthresh), (19 * MSS + 50, 19 * MSS + 50));
    }

    #[test]
    fn section_iii_c_slow_start_ends_when_a_segment_waits() {
        let mut flow = Flow::<Vegas>::new(VegasParams::default());
        flow.round(|_, sample| sample.rtt = Some(BASE));
        flow.round(|_, sample| sample.rtt = Some(BASE));
        // The window of 10 segments has doubled twice.
        assert_eq!(flow.output.cwnd, 40 * MSS);
        // The first ACK of the next round triggers the decision. With 40 segments and RTTs of 125 ms, Diff is 10.
        flow.round(|_, sample| sample.rtt = Some(Time::from_millis(125)));
        let before = flow.output.cwnd / MSS;
        flow.round(|index, sample| {
            sample.rtt = Some(Time::from_millis(125));
            assert!(index == 0 || sample.cwnd_limited);
        });
        // cwnd * 100 / 125 + 1.
        assert_eq!(flow.output.cwnd / MSS, before * 100 / 125 + 1);
        assert!(flow.output.cwnd >= flow.output.ssthresh);
    }

    #[test]
    fn section_iii_c_with_two_rounds_slow_start_doubles_every_other_round_trip() {
        let mut flow = Flow::<Vegas>::new(VegasParams { vegas_slow_start_rounds: 2, ..Default::default() });
        let mut windows = Vec::new();
        for _ in 0..4 {
            flow.round(|_, sample| sample.rtt = Some(BASE));
            windows.push(flow.output.cwnd / MSS);
        }
        // In the first round trip the window grows like Reno's, because the first ACK has only its own sample. It
        // doubles in the second and in the fourth round trip.
        assert_eq!(windows, [11, 22, 22, 44]);
    }

    #[test]
    fn a_window_that_is_not_in_use_grows_only_if_asked_for() {
        // The path has an RTT of 100 ms and no queue. In congestion avoidance the window grows by one segment in the
        // second round trip; the first has no decision. In slow start the window grows by 19 and then by 39 segments,
        // because the first ACK of a round trip without three samples adds nothing.
        for (vegas_grows_unused, ssthresh, window) in
            [(false, 10, 20), (false, 100, 20), (true, 10, 21), (true, 100, 78)]
        {
            let mut flow = flow();
            (flow.params.vegas_grows_unused, flow.output.ssthresh) = (vegas_grows_unused, ssthresh * MSS);
            for _ in 0..2 {
                flow.round(|_, sample| (sample.rtt, sample.cwnd_limited) = (Some(BASE), false));
            }
            assert_eq!(flow.output.cwnd / MSS, window, "{vegas_grows_unused}, {ssthresh}");
        }
    }

    #[test]
    fn fewer_than_three_samples_grow_the_window_as_reno() {
        let mut flow = flow();
        // An RTT of 200 ms gives Diff = 20. With only two samples there is no decision: the first ACK of the next round
        // adds MSS^2 / cwnd = 50 bytes, as in Reno.
        flow.round(|index, sample| sample.rtt = (index < 2).then_some(Time::from_millis(200)));
        flow.output.cwnd = 20 * MSS;
        flow.round(|_, sample| sample.rtt = None);
        assert_eq!(flow.output.cwnd, 20 * MSS + 50);
    }

    #[test]
    fn after_recovery_and_after_a_mark_the_decision_waits_for_a_full_round_trip() {
        for (phase, reducing) in [(Phase::Recovery, false), (Phase::Open, true)] {
            let mut flow = flow();
            flow.round(|_, sample| {
                sample.rtt = Some(Time::from_millis(200));
                (sample.phase, sample.reducing) = (phase, reducing);
            });
            assert_eq!(flow.output.cwnd, 20 * MSS, "the sender sets the window");
            // The first ACK of the next round has an RTT of 200 ms, which alone would give Diff = 20.
            flow.ack(|sample| sample.rtt = Some(Time::from_millis(200)));
            assert_eq!((flow.output.cwnd, flow.control.samples), (20 * MSS, 0), "{phase:?}");
        }
    }

    #[test]
    fn after_a_timeout_the_window_grows_by_slow_start() {
        let mut flow = flow();
        flow.output.cwnd = MSS;
        flow.ack(|sample| sample.phase = Phase::Loss);
        assert_eq!(flow.output.cwnd, 2 * MSS);
    }

    #[test]
    fn after_a_pause_the_base_rtt_is_measured_anew() {
        let mut flow = flow();
        flow.event(Event::IdleRestart { idle: Time::from_secs(1) });
        flow.ack(|sample| sample.rtt = Some(Time::from_millis(300)));
        assert_eq!(flow.control.base_rtt, Time::from_millis(300));
    }

    #[test]
    fn after_a_timeout_with_nothing_in_flight_the_base_rtt_is_measured_anew_and_only_slow_start_grows() {
        let mut flow = flow();
        (flow.output.cwnd, flow.output.ssthresh) = (2 * MSS, 3 * MSS);
        flow.event_in(Phase::Loss, Event::IdleRestart { idle: Time::from_millis(300) });
        let windows = [(); 3].map(|()| {
            flow.ack(|sample| (sample.phase, sample.rtt) = (Phase::Loss, Some(Time::from_millis(300))));
            flow.output.cwnd / MSS
        });
        // Reno would add a segment after three acknowledged ones.
        assert_eq!((windows, flow.control.base_rtt), ([3, 3, 3], Time::from_millis(300)));
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<Vegas>(&VegasParams::default(), |_, _| true);
    }
}
