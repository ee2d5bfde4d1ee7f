//! LEDBAT++: LEDBAT with slower growth, multiplicative decrease, and pauses in which queues drain.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus, section 4 (sections are those of version 01).
//!
//! | section | rule | code |
//! |---|---|---|
//! | 4.1 | slow start adds GAIN times the acknowledged data; the first slow start ends at 3/4 of the target | `LedbatPlusPlus::start` |
//! | 4.2 | `GAIN = 1 / min(16, ceil(2 TARGET / base))` | `LedbatPlusPlus::gain` |
//! | 4.2 | up to the target: `cwnd += GAIN` per round trip | `LedbatPlusPlus::approach` |
//! | 4.3 | above the target: `cwnd += max(GAIN - Constant cwnd (delay / TARGET - 1), -cwnd / 2)` per round trip | `LedbatPlusPlus::approach` |
//! | 4.4 | slowdown: two segments for two round trips, then slow start up to the previous window | `Stage` |
//! | 4.4 | the first slowdown starts two round trips after slow start, each further one after nine times the duration of the previous one | `LedbatPlusPlus::end_slowdown` |
//! | 4.5 | TARGET is 60 ms; delays are round-trip times | `QueuingDelay` |
//!
//! Windows are in segments here, but in bytes in the code.
//!
//! Known weakness: if the buffer is full before the delay reaches TARGET, losses come first. LEDBAT++ responds to them
//! like Reno, so it yields less. On a link of 10 Mbit/s with an RTT of 40 ms and a buffer of 24 packets (29 ms),
//! LEDBAT++ gets 2.0 Mbit/s and a CUBIC flow 7.7 Mbit/s.
//!
//! Cost: per ACK, the smallest of ten delays, the smallest of four, and two divisions; 590 bytes of state.
//!
//! Deviations:
//! 1. The initial window is the connection's `initial_window` (10 with the profile `linux`), not 2.
//! 2. A loss halves the window as in Reno, and ends slow start or a slowdown. After a timeout the modified slow start
//!    raises the window to the threshold.
//! 3. The next slowdown starts two round trips after this slow start ends, or after a loss that ended slow start or a
//!    slowdown.
//!
//! Not implemented: the receiver's option to control the sender (RFC 9840, rLEDBAT).

use super::control::{Authority, Connection, Control, Event, Moment, Output, Sample};
use super::model::queuing_delay::QueuingDelay;
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

/// Window of a slowdown in segments, and minimum window (section 4.4).
const LEAST_WINDOW: u32 = 2;
/// Number of round trips for which a slowdown keeps the window at [`LEAST_WINDOW`]. The first slowdown starts the same
/// number of round trips after the end of slow start (section 4.4).
const FROZEN_ROUNDS: u64 = 2;
/// Queueing delay at which the first slow start ends, as a fraction of the target (section 4.1).
const END_OF_SLOW_START: f64 = 0.75;
/// Maximum fraction by which the window shrinks in a round trip (section 4.3).
const MOST_DECREASE: f64 = 0.5;

params! {
    /// Parameters of LEDBAT++.
    pub struct LedbatPlusPlusParams {
        /// Target: maximum queueing delay that LEDBAT++ adds to its path.
        ledbat_pp_target: Time = "60 ms", in "1 ms"..="1 s", symbol "TARGET", source "draft 4.5";
        /// Maximum factor by which LEDBAT++ grows more slowly than Reno.
        ledbat_pp_gain_divisor: u32 = 16, in 1..=1000, source "draft 4.2";
        /// Weight of the window in LEDBAT++'s decrease.
        ledbat_pp_constant: f64 = 1.0, in 0.001..=10.0, symbol "Constant", source "draft 4.3";
        /// Time between two slowdowns of LEDBAT++, as a multiple of the duration of the first of them.
        ledbat_pp_slowdown_interval: u32 = 9, in 1..=1000, source "draft 4.4";
        /// Minutes over which LEDBAT++ takes the minimum RTT as its base delay.
        ledbat_pp_base_history: u32 = 10, in 2..=20, symbol "BASE_HISTORY", source "RFC 6817 2.5";
        /// Maximum number of RTTs of the last round trip whose minimum LEDBAT++ uses.
        ledbat_pp_current_filter: u32 = 4, in 1..=16, symbol "CURRENT_FILTER", source "draft 4.5; RFC 6817 2.5";
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// First slow start, or slow start after a timeout.
    SlowStart,
    /// Between slowdowns; the next one starts at `until`.
    Avoidance { until: Time },
    /// First part of a slowdown that started at `since`: the window is two segments until `until`.
    Frozen { since: Time, until: Time },
    /// Second part of a slowdown that started at `since`: slow start up to the previous window.
    Ramp { since: Time },
}

/// State of LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    delay: QueuingDelay,
    stage: Stage,
    /// Fraction of a byte by which the computed window exceeds the window in whole bytes.
    fraction: f64,
}

impl Control for LedbatPlusPlus {
    type Params = LedbatPlusPlusParams;
    const AUTHORITY: Authority = Authority::Growth;
    const NEEDS_SAMPLES: bool = true;

    fn new(_: Connection, _: &LedbatPlusPlusParams, _: u64) -> Self {
        Self { delay: QueuingDelay::new(), stage: Stage::SlowStart, fraction: 0.0 }
    }

    // The default of `reduce` applies: a loss halves the window (deviation 2).

    fn on_sample(&mut self, of: Connection, params: &LedbatPlusPlusParams, output: &mut Output, sample: &Sample) {
        if let Some(rtt) = sample.rtt {
            self.delay.observe(sample.now, rtt);
        }
        if sample.phase == Phase::Recovery || sample.acked == 0 || sample.ece || sample.duplicate {
            return;
        }
        let (minutes, samples) = (params.ledbat_pp_base_history, params.ledbat_pp_current_filter);
        let Some(queuing) = self.delay.get(minutes, samples, sample.now, sample.srtt) else { return };
        let delay = queuing.as_secs_f64() / params.ledbat_pp_target.as_secs_f64();
        match self.stage {
            Stage::SlowStart if output.cwnd >= output.ssthresh || delay > END_OF_SLOW_START => {
                self.stage = Stage::Avoidance { until: after_rounds(sample) };
                output.ssthresh = output.ssthresh.min(output.cwnd);
                self.approach(of, params, output, sample, delay);
            }
            Stage::SlowStart => self.start(of, params, output, sample),
            Stage::Avoidance { until } if sample.now >= until => {
                output.ssthresh = output.cwnd.max(LEAST_WINDOW * of.mss);
                self.set(output, f64::from(LEAST_WINDOW * of.mss));
                self.stage = Stage::Frozen { since: sample.now, until: after_rounds(sample) };
            }
            Stage::Avoidance { .. } => self.approach(of, params, output, sample, delay),
            Stage::Frozen { since, until } => {
                self.set(output, f64::from(LEAST_WINDOW * of.mss));
                if sample.now >= until {
                    self.stage = Stage::Ramp { since };
                }
            }
            Stage::Ramp { since } if output.cwnd >= output.ssthresh => {
                self.end_slowdown(params, since, sample.now);
                self.approach(of, params, output, sample, delay);
            }
            Stage::Ramp { .. } => self.start(of, params, output, sample),
        }
    }

    fn on_event(&mut self, _: Connection, _: &LedbatPlusPlusParams, _: &mut Output, event: Event, at: &Moment) {
        self.stage = match event {
            Event::Timeout => Stage::SlowStart,
            Event::Loss | Event::Mark if !matches!(self.stage, Stage::Avoidance { .. }) => {
                Stage::Avoidance { until: at.now.saturating_add(Time(FROZEN_ROUNDS.saturating_mul(at.srtt.0))) }
            }
            Event::Loss | Event::Mark => self.stage,
            _ => return,
        };
        self.fraction = 0.0;
    }
}

/// Time two round trips from now.
fn after_rounds(sample: &Sample) -> Time {
    sample.now.saturating_add(Time(FROZEN_ROUNDS.saturating_mul(sample.srtt.0)))
}

impl LedbatPlusPlus {
    /// Gain (section 4.2).
    fn gain(&self, params: &LedbatPlusPlusParams) -> f64 {
        let base = self.delay.base(params.ledbat_pp_base_history).as_secs_f64();
        let most = f64::from(params.ledbat_pp_gain_divisor);
        if base > 0.0 {
            1.0 / (2.0 * params.ledbat_pp_target.as_secs_f64() / base).ceil().clamp(1.0, most)
        } else {
            1.0 / most
        }
    }

    fn set(&mut self, output: &mut Output, window: f64) {
        let window = window.min(f64::from(u32::MAX));
        output.cwnd = window as u32;
        self.fraction = window - f64::from(output.cwnd);
    }

    /// Grows the window in slow start (section 4.1).
    fn start(&mut self, of: Connection, params: &LedbatPlusPlusParams, output: &mut Output, sample: &Sample) {
        let least = f64::from(LEAST_WINDOW * of.mss);
        // A window that is not fully used does not grow.
        let growth = if sample.cwnd_limited { self.gain(params) * f64::from(sample.acked) } else { 0.0 };
        let grown = f64::from(output.cwnd) + self.fraction + growth;
        // Grows at most to the threshold, because slow start applies only below it.
        self.set(output, grown.min(f64::from(output.ssthresh)).max(least));
    }

    /// Changes the window by an ACK's share of a round trip (sections 4.2 and 4.3); `delay` is the queueing delay
    /// divided by the target.
    fn approach(
        &mut self,
        of: Connection,
        params: &LedbatPlusPlusParams,
        output: &mut Output,
        sample: &Sample,
        delay: f64,
    ) {
        let (mss, cwnd) = (f64::from(of.mss), f64::from(output.cwnd.max(1)));
        let gain = self.gain(params) * mss;
        let change = if delay <= 1.0 {
            // A window that is not fully used does not grow.
            if sample.cwnd_limited { gain } else { 0.0 }
        } else {
            (gain - params.ledbat_pp_constant * cwnd * (delay - 1.0)).max(-cwnd * MOST_DECREASE)
        };
        let part = (f64::from(sample.acked) / cwnd).min(1.0);
        self.set(output, (cwnd + self.fraction + change * part).max(f64::from(LEAST_WINDOW) * mss));
    }

    /// Ends a slowdown; the next one starts after a multiple of its duration (section 4.4).
    fn end_slowdown(&mut self, params: &LedbatPlusPlusParams, since: Time, now: Time) {
        let pause = now.saturating_sub(since).0.saturating_mul(u64::from(params.ledbat_pp_slowdown_interval));
        self.stage = Stage::Avoidance { until: now.saturating_add(Time(pause)) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::Cause;
    use super::super::testing::{Flow, MSS, RTT, never_leaves_its_bounds};
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;
    const FOREVER: Stage = Stage::Avoidance { until: Time::NEVER };

    /// Returns parameters without the filter, so that each delay sample takes effect by itself.
    fn unfiltered() -> LedbatPlusPlusParams {
        LedbatPlusPlusParams { ledbat_pp_current_filter: 1, ..Default::default() }
    }

    /// A flow of 20 segments with a known base delay of 100 ms.
    fn flow(stage: Stage) -> Flow<LedbatPlusPlus> {
        let mut flow = Flow::<LedbatPlusPlus>::new(unfiltered());
        flow.control.delay.observe(Time::ZERO, RTT);
        flow.control.stage = stage;
        flow.output.cwnd = 20 * MSS;
        flow
    }

    /// Change of the window in bytes over a round trip of ACKs with this queuing delay.
    fn change(flow: &mut Flow<LedbatPlusPlus>, queuing: Time) -> i64 {
        let before = i64::from(flow.output.cwnd);
        flow.round(|_, sample| sample.rtt = Some(RTT + queuing));
        i64::from(flow.output.cwnd) - before
    }

    #[test]
    fn section_4_2_the_gain_is_that_of_reno_on_long_paths_and_a_sixteenth_of_it_on_short_ones() {
        // The divisor is 2 * 60 ms / base, rounded up: 1 for a base delay of 120 ms or more, 2 for 100 ms, and 4 for 30
        // ms. For 5 ms it would be 24, which is limited to 16.
        for (base, divisor) in [(300, 1), (120, 1), (100, 2), (30, 4), (5, 16)] {
            let mut flow = Flow::<LedbatPlusPlus>::new(unfiltered());
            flow.control.delay.observe(Time::ZERO, MS(base));
            assert_eq!(flow.control.gain(&flow.params), 1.0 / f64::from(divisor), "base {base} ms");
        }
    }

    #[test]
    fn slow_start_leaves_a_window_that_is_not_in_use() {
        for stage in [Stage::SlowStart, Stage::Ramp { since: Time::ZERO }] {
            let mut flow = flow(stage);
            flow.round(|_, sample| sample.cwnd_limited = false);
            assert_eq!(flow.output.cwnd, 20 * MSS);
        }
    }

    #[test]
    fn section_4_2_the_window_grows_by_the_gain_up_to_the_target() {
        // With a base delay of 100 ms the window grows by half a segment, for an empty queue and for a queueing delay
        // just below 60 ms.
        for queuing in [0, 59] {
            let change = change(&mut flow(FOREVER), MS(queuing));
            assert!((485..=500).contains(&change), "{change} at {queuing} ms");
        }
    }

    #[test]
    fn section_4_3_above_the_target_the_window_shrinks_in_proportion_to_itself() {
        // With a queueing delay of 66 ms, which is 10 % above the target, the window of 20 segments changes by 0.5 - 20
        // * 0.1 = -1.5 segments. The change is slightly smaller because the window shrinks during the round trip.
        let change_above = change(&mut flow(FOREVER), MS(66));
        assert!((-1500..=-1350).contains(&change_above), "{change_above}");
        // At a queueing delay of 600 ms the window shrinks by at most half per round trip. Each of 20 ACKs reduces the
        // window by at most 1/40, so at least 20 * (1 - 1/40)^20 segments are left.
        let mut far = flow(FOREVER);
        let change_far = change(&mut far, MS(600));
        assert!((-10_000..=-7_500).contains(&change_far), "{change_far}");
    }

    #[test]
    fn section_4_1_slow_start_grows_by_the_gain_and_ends_at_three_quarters_of_the_target() {
        let mut flow = flow(Stage::SlowStart);
        // With a gain of 1/2, slow start adds half of the window in a round trip, even at a queueing delay of 45 ms.
        assert_eq!(change(&mut flow, MS(45)), 10_000);
        flow.ack(|sample| sample.rtt = Some(RTT + MS(46)));
        assert_eq!(flow.control.stage, Stage::Avoidance { until: flow.now + MS(200) });
        assert!(flow.output.ssthresh <= 31 * MSS);
    }

    #[test]
    fn section_4_4_a_slowdown_keeps_two_segments_for_two_round_trips_and_returns_to_the_former_window() {
        let mut flow = flow(Stage::Avoidance { until: Time::from_secs(1) });
        flow.ack(|_| ());
        let since = flow.now;
        assert_eq!((flow.output.cwnd, flow.output.ssthresh), (2 * MSS, 20 * MSS));
        let mut rounds = 0;
        while flow.control.stage == (Stage::Frozen { since, until: since + MS(200) }) {
            assert_eq!(change(&mut flow, Time::ZERO), 0);
            rounds += 1;
        }
        assert_eq!(rounds, 2);
        // The window grows from 2 to 20 segments, by half a window per round trip. This takes six round trips, since
        // 1.5^5 = 7.6 is less than 10 and 1.5^6 = 11.4 is more.
        while matches!(flow.control.stage, Stage::Ramp { .. }) {
            change(&mut flow, Time::ZERO);
            rounds += 1;
        }
        assert!((8..=9).contains(&rounds), "{rounds}");
        assert!((20 * MSS..=21 * MSS).contains(&flow.output.cwnd), "{}", flow.output.cwnd);
        let Stage::Avoidance { until } = flow.control.stage else { panic!("{:?}", flow.control.stage) };
        // The pause is nine times the duration of the slowdown, which is 0.6 s to 0.9 s.
        let pause = until.saturating_sub(since).as_secs_f64();
        assert!((10.0 * 0.6..=10.0 * 0.9).contains(&pause), "{pause}");
    }

    #[test]
    fn a_loss_halves_the_window_and_ends_a_slowdown() {
        let mut flow = flow(Stage::Ramp { since: Time::ZERO });
        assert_eq!(flow.reduce(Cause::Loss), u64::from(10 * MSS));
        flow.event(Event::Loss);
        assert_eq!(flow.control.stage, Stage::Avoidance { until: flow.now + MS(200) });
    }

    #[test]
    fn after_a_timeout_slow_start_leads_up_to_the_threshold() {
        let mut flow = flow(FOREVER);
        flow.event(Event::Timeout);
        (flow.output.cwnd, flow.output.ssthresh) = (MSS, 10 * MSS);
        flow.ack(|sample| sample.phase = Phase::Loss);
        assert_eq!((flow.control.stage, flow.output.cwnd), (Stage::SlowStart, 2 * MSS));
        for _ in 0..6 {
            change(&mut flow, Time::ZERO);
        }
        assert!(matches!(flow.control.stage, Stage::Avoidance { .. }));
        assert!((10 * MSS..11 * MSS).contains(&flow.output.cwnd), "{}", flow.output.cwnd);
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<LedbatPlusPlus>(&LedbatPlusPlusParams::default(), |_, _| true);
    }
}
