//! The activity averager of one port in integers: UTEMA over accepted packets, abc2018 eq. (6) to (9).
//!
//! Real-valued, for an accepted packet of activity A at time t:
//!
//! ```text
//! g = exp(-(t - t_last)/M),  S = g*S + A,  N = g*N + 1,  A_avg = S/N
//! ```
//!
//! S sums the biased activity A + 32, so that all numbers are unsigned; the mean has the same bias, and it is taken off
//! at the end. S has 18 fraction bits (the 10 of the label and 8 more), N has 24: then S <= N as raw numbers, for
//! A + 32 is below 2^6.
//!
//! Error of the mean against the real-valued formula fed with the same labels:
//!
//! | cause | bound |
//! |---|---|
//! | ticks: weights are wrong by 2^-14 among each other, 2^-15 * mean distance from A_avg (32 at most) | 9.77e-4 |
//! | rounding of S and N, a unit a packet: 2^-18 + 2^-24 * 64 | 7.7e-6 |
//! | decay factors, common to S and N | 0 |
//! | mean, half a unit | 4.89e-4 |
//! | **sum** | **1.48e-3** |
//! | without division, two logarithms in place of it: 2.8e-6 * ln 2 * 64 | 1.25e-4 more |
//!
//! Activities that spread over less than the whole range of 64 err less: 5.3e-4 when their mean distance from the mean
//! is 1.
//!
//! Cost: 24 bytes per port; per accepted packet 8 multiplications of 64 bits (S and N share one factor), per mean one
//! division or 7 multiplications.
//!
//! Deviations:
//! 1. From 2^39 packets of weight on (150 million a second for one hour), S and N are halved: they do not overflow, and
//!    the mean forgets a little faster than it should.
//! 2. Time that runs backwards (clocks of several processors) counts as no time.

use super::Activity;
use super::decay::Decay;
use super::exp2::{EXPONENT_BITS, scale_down};
use super::log2::log2_q31;

/// Fraction bits of N.
pub(super) const COUNT_BITS: u32 = 24;

/// Fraction bits of S beyond those of the label.
pub(super) const SUM_EXTRA_BITS: u32 = 8;

/// The averager of one port: 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedAverager {
    /// S: biased activities, Q18.
    sum: u64,
    /// N in Q24, below 2^63.
    count: u64,
    /// t_last, as the number of its tick.
    last_tick: u64,
}

impl FixedAverager {
    /// Counts an accepted packet. `decay` is that of the memory M_AA.
    ///
    /// Error: see the head of this module.
    ///
    /// 64 bits suffice: N < 2^63 before a packet adds 2^24, and S <= N but for a few units.
    #[inline]
    pub fn accept(&mut self, decay: &Decay, activity: Activity, now_ns: u64) {
        let tick = decay.tick(now_ns);
        let ticks = tick.saturating_sub(self.last_tick);
        self.sum = decay.apply(self.sum, ticks) + (u64::from(activity.biased()) << SUM_EXTRA_BITS); // eq. (6)
        self.count = decay.apply(self.count, ticks) + (1 << COUNT_BITS); // eq. (7)
        self.last_tick = self.last_tick.max(tick); // eq. (9)
        if self.count >= 1 << 63 {
            self.sum >>= 1;
            self.count >>= 1;
        }
    }

    /// A_avg by one unsigned division; 0 before the first accepted packet.
    ///
    /// ```text
    /// S/N = (S * 2^16 / N) * 2^-10 as raw numbers
    /// ```
    ///
    /// Error: 1.48e-3 over the whole range, see the head of this module.
    ///
    /// 64 bits suffice: up to N < 2^40, S * 2^16 < 2^57; beyond, N loses 16 of its more than 40 bits (2^-24).
    #[must_use]
    #[inline]
    pub fn average(&self) -> Activity {
        if self.count == 0 {
            return Activity(0); // abc2018 IV-G5
        }
        let biased = if self.count < 1 << 40 {
            ((self.sum << 16) + (self.count >> 1)) / self.count // eq. (8)
        } else {
            let count = self.count >> 16;
            (self.sum + (count >> 1)) / count
        };
        Activity::from_biased(biased.min(u64::from(u16::MAX)) as u16)
    }

    /// A_avg for hosts that cannot divide (P4); 0 before the first accepted packet.
    ///
    /// ```text
    /// S/N = 2^(log2(S) - log2(N))
    /// ```
    ///
    /// Error: 1.25e-4 more than that of [`FixedAverager::average`], hence one unit of the label at most between them.
    #[must_use]
    #[inline]
    pub fn average_without_division(&self) -> Activity {
        if self.count == 0 {
            return Activity(0); // abc2018 IV-G5
        }
        let halvings = (log2_q31(self.count) - log2_q31(self.sum)).max(0) as u64;
        let biased = (scale_down(1 << 32, halvings << (EXPONENT_BITS - 31)) + (1 << 15)) >> 16;
        Activity::from_biased(biased.min(u64::from(u16::MAX)) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::units::Time;
    use crate::utema::WeightedMean;
    use proptest::prelude::*;

    const BOUND: f64 = 1.48e-3;
    const WITHOUT_DIVISION: f64 = 1.25e-4;

    /// Runs a random train; returns the worst errors with and without division.
    fn worst(seed: u64, memory_ns: u64, centre: f64, spread: f64) -> (f64, f64) {
        let memory = Time::from_nanos(memory_ns);
        let decay = Decay::new(memory).unwrap();
        let (mut fixed, mut real) = (FixedAverager::default(), WeightedMean::new(memory));
        let mut rng = Rng::stream(seed, 0, "train", 0);
        let mut now = rng.bits() >> 16;
        let (mut divided, mut undivided) = (0.0f64, 0.0f64);
        for _ in 0..12 {
            // Packets per memory from 0.01 to 10 million; at most 100 s apart.
            let gap = f64::min(memory_ns as f64 * libm::exp10(2.0 - 9.0 * rng.open01()), 1e11);
            for _ in 0..500 {
                let label = Activity::from_f64(centre + spread * (rng.open01() - 0.5));
                now += rng.exponential(gap) as u64;
                fixed.accept(&decay, label, now);
                real.update(label.to_f64(), Time::from_nanos(now));
                divided = divided.max((fixed.average().to_f64() - real.mean()).abs());
                undivided = undivided.max((fixed.average_without_division().to_f64() - real.mean()).abs());
            }
        }
        (divided, undivided)
    }

    #[test]
    fn mean_is_zero_before_the_first_packet_and_the_first_label_after_it() {
        let decay = Decay::new(Time::from_millis(300)).unwrap();
        assert_eq!(FixedAverager::default().average(), Activity(0));
        assert_eq!(FixedAverager::default().average_without_division(), Activity(0));
        for bits in (i16::MIN..=i16::MAX).step_by(7).chain([i16::MAX]) {
            let mut averager = FixedAverager::default();
            averager.accept(&decay, Activity(bits), 123_456_789_012);
            assert_eq!(averager.average(), Activity(bits));
            let error = averager.average_without_division().to_f64() - Activity(bits).to_f64();
            assert!(error.abs() <= 1.0 / 1024.0, "{bits}: {error}");
        }
    }

    #[test]
    fn equations_6_to_9_by_hand() {
        // M = 0.5 s, labels 4 and 10, 1 s apart: g = exp(-2), A_avg = (4g + 10)/(g + 1).
        let decay = Decay::new(Time::from_millis(500)).unwrap();
        let mut averager = FixedAverager::default();
        averager.accept(&decay, Activity::from_f64(4.0), 1_000_000_000);
        averager.accept(&decay, Activity::from_f64(10.0), 2_000_000_000);
        let g = libm::exp(-2.0);
        assert!((averager.average().to_f64() - (4.0 * g + 10.0) / (g + 1.0)).abs() < BOUND);
    }

    #[test]
    fn equal_labels_have_their_own_mean_at_any_packet_rate() {
        for (memory, gap) in [(300, 1_000), (300, 1_000_000_000), (3_600_000, 7), (1, 7)] {
            let decay = Decay::new(Time::from_millis(memory)).unwrap();
            for label in [Activity::MIN, Activity(-1), Activity(10_205), Activity::MAX] {
                let mut averager = FixedAverager::default();
                for packet in 0..300_000 {
                    averager.accept(&decay, label, packet * gap);
                }
                assert_eq!(averager.average(), label);
            }
        }
    }

    #[test]
    fn the_fullest_state_does_not_overflow_and_keeps_its_mean() {
        let decay = Decay::new(Time::from_secs(3600)).unwrap();
        let biased = u64::from(Activity::MAX.biased());
        let count = (1u64 << 63) - 1;
        let mut averager = FixedAverager { sum: (count >> 16) * biased, count, last_tick: 0 };
        for _ in 0..1_000_000 {
            averager.accept(&decay, Activity::MAX, 0);
            assert!(averager.count < 1 << 63);
        }
        assert_eq!(averager.average(), Activity::MAX);
        averager.accept(&decay, Activity(0), 1 << 60);
        assert_eq!(averager.average(), Activity(0));
    }

    #[test]
    fn time_that_runs_backwards_counts_as_no_time() {
        let decay = Decay::new(Time::from_millis(300)).unwrap();
        let mut averager = FixedAverager::default();
        averager.accept(&decay, Activity(1024), 5_000_000_000);
        averager.accept(&decay, Activity(3072), 4_000_000_000);
        assert_eq!(averager.average(), Activity(2048));
    }

    #[test]
    fn state_is_24_bytes() {
        assert_eq!(size_of::<FixedAverager>(), 24);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn mean_of_random_trains_is_within_the_bound(seed: u64, memory_exponent in 6.0..12.556f64) {
            let (divided, undivided) = worst(seed, libm::exp10(memory_exponent) as u64, 0.0, 64.0);
            prop_assert!(divided < BOUND, "{divided:e}");
            prop_assert!(undivided < BOUND + WITHOUT_DIVISION, "{undivided:e}");
        }

        #[test]
        fn mean_of_similar_activities_is_within_the_smaller_bound(seed: u64, centre in -29.0..29.0f64) {
            // Spread 4, as of users within a factor of 16: mean distance 2 at most, 2 * 2^-15 = 6.1e-5.
            let bound = 6.1e-5 + 7.7e-6 + 4.89e-4;
            let (divided, undivided) = worst(seed, 300_000_000, centre, 4.0);
            prop_assert!(divided < bound, "{divided:e}");
            prop_assert!(undivided < bound + WITHOUT_DIVISION, "{undivided:e}");
        }
    }
}
