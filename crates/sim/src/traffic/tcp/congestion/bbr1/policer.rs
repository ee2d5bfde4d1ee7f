//! Detection of a token bucket that polices the flow, and of its rate (Linux, bbr_lt_bw_sampling).
//!
//! From the first loss on, delivery rates are averaged over spans of at least 4 rounds that end with a loss. If two
//! consecutive spans have similar rates and lose at least a fifth of the data, a policer is assumed. The policer's rate
//! then replaces the bandwidth estimate for 48 rounds.

use super::super::control::{Moment, Sample};
use super::super::model::byte_rate::ByteRate;
use fairlane_schemes::base::units::Time;

/// Minimum number of rounds in a span (bbr_lt_intvl_min_rtts). A span has at most four times this number.
const SPAN_ROUNDS: u32 = 4;
/// Minimum ratio of lost to delivered bytes in a lossy span (bbr_lt_loss_thresh).
const LOSSY: f64 = 50.0 / 256.0;
/// Relative difference up to which rates are similar (bbr_lt_bw_ratio).
const SAME_SHARE: f64 = 1.0 / 8.0;
/// Absolute difference up to which rates are similar: 4 kbit/s (bbr_lt_bw_diff), in bytes per second.
const SAME_RATE: f64 = 4000.0 / 8.0;
/// Rounds for which the policer's rate is used (bbr_lt_bw_max_rtts).
const RATE_ROUNDS: u32 = 48;
/// Shortest span, and unit of times.
const LEAST_SPAN: Time = Time::from_millis(1);

/// A point of a connection: time and totals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    /// Current time.
    pub now: Time,
    /// C.delivered.
    pub delivered: u64,
    /// C.lost.
    pub lost: u64,
}

impl From<&Moment> for Point {
    fn from(at: &Moment) -> Self {
        Self { now: at.now, delivered: at.delivered, lost: at.total_lost }
    }
}

impl From<&Sample> for Point {
    fn from(sample: &Sample) -> Self {
        Self { now: sample.now, delivered: sample.delivered, lost: sample.total_lost }
    }
}

/// State of the detection of a policer.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    /// Rate of the last lossy span (lt_bw).
    last: Option<ByteRate>,
    /// True if the bandwidth estimate is a policer's rate (lt_use_bw).
    found: bool,
    /// True while spans are measured (lt_is_sampling).
    sampling: bool,
    /// Rounds in this span, or since the policer was found.
    rounds: u32,
    start: Point,
}

impl Policer {
    /// Rate of the policer, if one was detected.
    #[inline]
    pub fn rate(&self) -> Option<ByteRate> {
        self.last.filter(|_| self.found)
    }

    /// Forgets everything.
    pub fn reset(&mut self, here: Point) {
        *self = Self { start: here, ..Self::default() };
    }

    /// Processes an ACK. `cycling` is true in ProbeBW. Returns true if a policer is no longer assumed, so that the gain
    /// cycle must restart.
    pub fn update(&mut self, here: Point, round_start: bool, cycling: bool, lost: bool, app_limited: bool) -> bool {
        if self.found {
            self.rounds += u32::from(cycling && round_start);
            let given_up = self.rounds >= RATE_ROUNDS;
            if given_up {
                self.reset(here);
            }
            return given_up;
        }
        if !self.sampling {
            // Measurement starts with the first loss, when the bucket is empty.
            if !lost {
                return false;
            }
            self.begin_span(here);
            self.sampling = true;
        }
        if app_limited {
            self.reset(here);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds > 4 * SPAN_ROUNDS {
            self.reset(here);
        } else if self.rounds >= SPAN_ROUNDS && lost {
            self.end_span(here);
        }
        false
    }

    fn begin_span(&mut self, here: Point) {
        (self.start, self.rounds) = (here, 0);
    }

    /// Implements bbr_lt_bw_interval_done if the span is lossy and long enough; otherwise the span continues.
    fn end_span(&mut self, here: Point) {
        let (lost, delivered) = (here.lost - self.start.lost, here.delivered - self.start.delivered);
        let [now, start] = [here.now, self.start.now].map(|time| time.0 / LEAST_SPAN.0);
        let time = Time(now.saturating_sub(start) * LEAST_SPAN.0);
        if delivered == 0 || (lost as f64) < LOSSY * delivered as f64 || time < LEAST_SPAN {
            return;
        }
        let rate = ByteRate::of(delivered, time);
        if let Some(last) = self.last {
            let difference = (rate.0 - last.0).abs();
            if difference <= SAME_SHARE * last.0 || difference <= SAME_RATE {
                self.last = Some(ByteRate((rate.0 + last.0) / 2.0));
                (self.found, self.rounds) = (true, 0);
                return;
            }
        }
        self.last = Some(rate);
        self.begin_span(here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A span of `rounds` rounds of 100 ms with `delivered` and `lost` bytes; it ends with a loss.
    fn span(policer: &mut Policer, here: &mut Point, rounds: u64, delivered: u64, lost: u64) {
        for round in 1..=rounds {
            here.now += Time::from_millis(100);
            here.delivered += delivered / rounds;
            here.lost += lost / rounds;
            assert!(!policer.update(*here, true, true, round == rounds, false));
        }
    }

    /// A policer at the first loss, when the measurement of spans starts.
    fn sampling() -> (Policer, Point) {
        let (mut policer, here) = (Policer::default(), Point::default());
        policer.update(here, false, true, true, false);
        (policer, here)
    }

    #[test]
    fn two_lossy_spans_of_equal_rate_are_a_policer_at_their_mean() {
        let (mut policer, mut here) = sampling();
        // The first span delivers 100 kB in 0.5 s (200 kB/s) and loses a fifth. The second delivers 108 kB (216 kB/s),
        // which is within an eighth of the first rate.
        span(&mut policer, &mut here, 5, 100_000, 20_000);
        assert_eq!(policer.rate(), None);
        span(&mut policer, &mut here, 5, 108_000, 22_000);
        assert_eq!(policer.rate(), Some(ByteRate(208_000.0)));
    }

    #[test]
    fn the_length_of_a_span_is_the_difference_of_whole_milliseconds() {
        let mut policer = Policer { sampling: true, rounds: SPAN_ROUNDS, ..Policer::default() };
        policer.start = Point { now: Time::from_micros(1900), ..Point::default() };
        let here = Point { now: Time::from_micros(6100), delivered: 5000, lost: 2000 };
        policer.update(here, false, true, true, false);
        assert_eq!(policer.last, Some(ByteRate(1_000_000.0))); // in 6 - 1 ms
    }

    #[test]
    fn spans_of_unequal_rate_are_none() {
        let (mut policer, mut here) = sampling();
        for delivered in [100_000, 113_000, 98_000, 200_000] {
            span(&mut policer, &mut here, 5, delivered, delivered / 5);
            assert_eq!(policer.rate(), None, "{delivered}");
        }
    }

    #[test]
    fn a_span_that_loses_less_than_a_fifth_goes_on_and_after_sixteen_rounds_all_is_forgotten() {
        let (mut policer, mut here) = sampling();
        for _ in 0..4 {
            span(&mut policer, &mut here, 4, 100_000, 19_000);
            assert!(policer.sampling && policer.last.is_none());
        }
        span(&mut policer, &mut here, 1, 0, 0);
        assert!(!policer.sampling);
    }

    #[test]
    fn a_policer_is_given_up_after_48_rounds_of_the_cycle() {
        let (mut policer, mut here) = sampling();
        span(&mut policer, &mut here, 5, 100_000, 20_000);
        span(&mut policer, &mut here, 5, 100_000, 20_000);
        let given_up: Vec<u32> =
            (1..=48).filter(|_| policer.update(here, true, true, false, false)).map(|round: u32| round).collect();
        assert_eq!(given_up, [48]);
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn want_of_data_ends_the_search() {
        let (mut policer, here) = sampling();
        policer.update(here, true, true, false, true);
        assert!(!policer.sampling);
    }
}
