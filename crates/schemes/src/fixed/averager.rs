//! The activity averager of one port in integers: UTEMA over accepted packets, abc2018 eq. (6) to (9).
//!
//! In real numbers, for an accepted packet of activity A at time t, with the memory M, the weighted sum S of activities
//! and the weighted number N of packets:
//!
//! ```text
//! g = exp(-(t - t_last)/M),  S = g*S + A,  N = g*N + 1,  A_avg = S/N
//! ```
//!
//! S is a sum of the biased activity A + 32, so all numbers are unsigned. The mean has the same bias, which is
//! subtracted at the end. S has 22 fraction bits (16 as in the label, and 6 more), N has 28. Therefore S < N as raw
//! numbers. A + 32 is at most 2^6 - 2^-16, so a packet adds at least 2^6 units less to S than to N, more than any
//! rounding.
//!
//! Error of the mean, compared with the formula in real numbers for the same labels:
//!
//! | cause | bound |
//! |---|---|
//! | ticks: relative weights have errors of 2^-19, so 2^-20 * mean distance from A_avg (at most 32) | 3.06e-5 |
//! | decay: error of the memory of 2.9e-6, times that distance | 9.28e-5 |
//! | rounding of S and N, 1.5 units a packet: 1.5 * (2^-22 + 2^-28 * 64) | 7.2e-7 |
//! | mean, half a unit | 7.63e-6 |
//! | **sum** | **1.32e-4** |
//! | two logarithms and a power instead of the division: 64 * (2 * 3.3e-9 * ln 2 + 3.8e-9 + 2^-32) | 5.6e-7 more |
//!
//! If packets are weighted by bytes (`average_over`), 256 bytes count as one packet, but the rounding per packet is the
//! same. For packets of L bytes the third row is 256/L times as large, 9.2e-6 if all packets have 20 bytes.
//!
//! If activities use less than the whole range of 64, errors are smaller: 1.3e-5 for a mean distance of 1 from the
//! mean.
//!
//! Cost: 24 bytes per port. An accepted packet takes 11 multiplications of 64 bits, since S and N share two factors.
//! Computing the mean takes one division or 14 multiplications.
//!
//! Deviations:
//! 1. If N reaches 2^35 packets, S and N are halved. They do not overflow, but the mean's memory becomes slightly
//!    shorter. N is that large at 9.5 million packets per second with a memory of one hour, and at 110 thousand million
//!    with a memory of 0.3 s.
//! 2. If time runs backwards (clocks of several processors), the elapsed time is 0.

use super::Activity;
use super::decay::Decay;
use super::exp2::{EXPONENT_BITS, scale_down};
use super::log2::log2_q31;

/// Fraction bits of N.
pub(super) const COUNT_BITS: u32 = 28;

/// Fraction bits of S in addition to those of the label.
pub(super) const SUM_EXTRA_BITS: u32 = 6;

/// Fraction bits of a weight.
pub(super) const WEIGHT_BITS: u32 = 8;

/// Weight of a packet, unless bytes are weighted.
pub const PACKET_WEIGHT: u32 = 1 << WEIGHT_BITS;

/// The averager of one port: 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedAverager {
    /// S: biased activities, Q22.
    sum: u64,
    /// N in Q28, below 2^63.
    count: u64,
    /// Number of the tick of t_last.
    last_tick: u64,
}

impl FixedAverager {
    /// Creates an averager from the registers of a host: S and N as raw numbers, and the tick number of t_last.
    #[must_use]
    pub fn from_registers(sum: u64, count: u64, last_tick: u64) -> Self {
        Self { sum, count, last_tick }
    }

    /// Counts an accepted packet. `decay` is the decay with memory M_AA. `weight` is [`PACKET_WEIGHT`], or the length
    /// of the packet in bytes, at least 20 (an IP header).
    ///
    /// Error: see the head of this module.
    ///
    /// 64 bits suffice: N < 2^63 before a packet adds less than 2^52, and S < N.
    #[inline]
    pub fn accept(&mut self, decay: &Decay, activity: Activity, weight: u32, now_ns: u64) {
        let tick = decay.tick(now_ns);
        let ticks = tick.saturating_sub(self.last_tick);
        let weighed = (u64::from(activity.biased()) * u64::from(weight)) >> (WEIGHT_BITS - SUM_EXTRA_BITS);
        self.sum = decay.apply(self.sum, ticks) + weighed; // eq. (6)
        self.count = decay.apply(self.count, ticks) + (u64::from(weight) << (COUNT_BITS - WEIGHT_BITS)); // eq. (7)
        self.last_tick = self.last_tick.max(tick); // eq. (9)
        if self.count >= 1 << 63 {
            self.sum >>= 1;
            self.count >>= 1;
        }
    }

    /// Returns A_avg, computed with one unsigned division; 0 before the first accepted packet.
    ///
    /// ```text
    /// S/N = (S * 2^22 / N) * 2^-16 as raw numbers
    /// ```
    ///
    /// Error: 1.32e-4 over the whole range, see the head of this module.
    ///
    /// 64 bits suffice: S < N < 2^41 when S is shifted by 22. For a larger N, S and N are shifted right. At least 30
    /// bits are left, which causes an error of 64 * 2^-29 = 1.2e-7.
    #[must_use]
    #[inline]
    pub fn average(&self) -> Activity {
        if self.count == 0 {
            return Activity::default(); // abc2018 IV-G5
        }
        let dropped_bits = if self.count < 1 << 41 { 0 } else { 11 << u32::from(self.count >= 1 << 52) };
        let (sum, count) = (self.sum >> dropped_bits, self.count >> dropped_bits);
        from_biased_mean(((sum << Activity::BITS) + (count >> 1)) / count) // eq. (8)
    }

    /// Returns A_avg for hosts that cannot divide (P4); 0 before the first accepted packet.
    ///
    /// ```text
    /// S/N = 2^(log2(S) - log2(N))
    /// ```
    ///
    /// Error: 5.6e-7 more than [`FixedAverager::average`], so the two results differ by at most one unit of the label.
    #[must_use]
    #[inline]
    pub fn average_without_division(&self) -> Activity {
        if self.count == 0 {
            return Activity::default(); // abc2018 IV-G5
        }
        let halvings = (log2_q31(self.count) - log2_q31(self.sum)).max(0) as u64;
        from_biased_mean((scale_down(1 << 32, halvings << (EXPONENT_BITS - 31)) + (1 << 9)) >> 10)
    }
}

/// Converts a biased mean to a label. Rounding may exceed the range by one unit, so the mean is limited to the range.
#[inline]
fn from_biased_mean(biased: u64) -> Activity {
    Activity::from_biased(biased.min((1 << Activity::BITS) - 1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::base::units::Time;
    use crate::measure::utema::WeightedMean;
    use proptest::prelude::*;

    const BOUND: f64 = 1.32e-4;
    /// Error bound for packets of at least 20 bytes, weighted by bytes: 256/20 times the rounding.
    const BOUND_BY_BYTES: f64 = BOUND + 8.5e-6;
    const WITHOUT_DIVISION: f64 = 5.6e-7;
    const UNIT: f64 = 1.0 / 65_536.0;

    /// Runs a random sequence of packets. Returns the largest errors with and without division.
    fn worst(seed: u64, memory_ns: u64, centre: f64, spread: f64, by_bytes: bool) -> (f64, f64) {
        let memory = Time::from_nanos(memory_ns);
        let decay = Decay::new(memory).unwrap();
        let (mut fixed, mut real) = (FixedAverager::default(), WeightedMean::new(memory));
        let mut rng = Rng::stream(seed, 0, "train", 0);
        let mut now = rng.bits() >> 16;
        let (mut divided, mut undivided) = (0.0f64, 0.0f64);
        for _ in 0..12 {
            // On average, between 0.01 and 10^7 packets arrive within one memory. Packets are at most 100 s apart.
            let gap = f64::min(memory_ns as f64 * libm::exp10(2.0 - 9.0 * rng.open01()), 1e11);
            for _ in 0..500 {
                let label = Activity::from_f64(centre + spread * (rng.open01() - 0.5));
                now += rng.exponential(gap) as u64;
                let weight = if by_bytes { 20 + (rng.bits() % 1500) as u32 } else { PACKET_WEIGHT };
                fixed.accept(&decay, label, weight, now);
                real.update_weighing(label.to_f64(), f64::from(weight), Time::from_nanos(now));
                divided = divided.max((fixed.average().to_f64() - real.mean()).abs());
                undivided = undivided.max((fixed.average_without_division().to_f64() - real.mean()).abs());
            }
        }
        (divided, undivided)
    }

    #[test]
    fn mean_is_zero_before_the_first_packet_and_the_first_label_after_it() {
        let decay = Decay::new(Time::from_millis(300)).unwrap();
        assert_eq!(FixedAverager::default().average(), Activity::default());
        assert_eq!(FixedAverager::default().average_without_division(), Activity::default());
        let (lowest, highest) = (Activity::MIN.units(), Activity::MAX.units());
        for units in (lowest..=highest).step_by(61).chain([highest]) {
            let mut averager = FixedAverager::default();
            let label = Activity::from_units(units);
            averager.accept(&decay, label, PACKET_WEIGHT, 123_456_789_012);
            assert_eq!(averager.average(), label);
            let error = averager.average_without_division().to_f64() - label.to_f64();
            assert!(error.abs() <= UNIT, "{units}: {error}");
        }
    }

    #[test]
    fn equations_6_to_9_by_hand() {
        // M is 0.5 s, and labels 4 and 10 are 1 s apart: g = exp(-2), A_avg = (4g + 10)/(g + 1).
        let decay = Decay::new(Time::from_millis(500)).unwrap();
        let mut averager = FixedAverager::default();
        averager.accept(&decay, Activity::from_f64(4.0), PACKET_WEIGHT, 1_000_000_000);
        averager.accept(&decay, Activity::from_f64(10.0), PACKET_WEIGHT, 2_000_000_000);
        let g = libm::exp(-2.0);
        assert!((averager.average().to_f64() - (4.0 * g + 10.0) / (g + 1.0)).abs() < BOUND);
    }

    #[test]
    fn equal_labels_have_their_own_mean_at_any_packet_rate() {
        for (memory, gap) in [(300, 1_000), (300, 1_000_000_000), (3_600_000, 7), (1, 7)] {
            let decay = Decay::new(Time::from_millis(memory)).unwrap();
            for label in [Activity::MIN, Activity::from_units(-1), Activity::from_units(653_121), Activity::MAX] {
                let mut averager = FixedAverager::default();
                for packet in 0..300_000 {
                    averager.accept(&decay, label, PACKET_WEIGHT, packet * gap);
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
        let mut averager = FixedAverager { sum: (count >> Activity::BITS) * biased, count, last_tick: 0 };
        for _ in 0..1_000_000 {
            averager.accept(&decay, Activity::MAX, PACKET_WEIGHT, 0);
            assert!(averager.count < 1 << 63 && averager.sum < averager.count);
        }
        assert_eq!(averager.average(), Activity::MAX);
        averager.accept(&decay, Activity::default(), PACKET_WEIGHT, 1 << 60);
        assert_eq!(averager.average(), Activity::default());
    }

    #[test]
    fn means_at_every_fill_are_those_of_exact_arithmetic() {
        // N ranges from one packet to its maximum. From 2^41 on, and again from 2^52 on, the division ignores low bits.
        for bits in 28..63u32 {
            for count in [(1u64 << bits) - 1, 1 << bits, (1 << bits) + (1 << bits) / 3] {
                for label in [Activity::MIN, Activity::from_units(-77_777), Activity::MAX] {
                    let sum = ((u128::from(count) * u128::from(label.biased())) >> Activity::BITS) as u64;
                    let averager = FixedAverager { sum, count, last_tick: 0 };
                    let exact = sum as f64 / count as f64 * 64.0 - 32.0;
                    assert!((averager.average().to_f64() - exact).abs() <= UNIT / 2.0 + 1.2e-7, "{count} {label:?}");
                    let undivided = averager.average_without_division().to_f64();
                    assert!((undivided - exact).abs() <= UNIT / 2.0 + WITHOUT_DIVISION, "{count} {label:?}");
                }
            }
        }
    }

    #[test]
    fn time_that_runs_backwards_counts_as_no_time() {
        let decay = Decay::new(Time::from_millis(300)).unwrap();
        let mut averager = FixedAverager::default();
        averager.accept(&decay, Activity::from_f64(1.0), PACKET_WEIGHT, 5_000_000_000);
        averager.accept(&decay, Activity::from_f64(3.0), PACKET_WEIGHT, 4_000_000_000);
        assert_eq!(averager.average(), Activity::from_f64(2.0));
    }

    #[test]
    fn state_is_24_bytes() {
        assert_eq!(size_of::<FixedAverager>(), 24);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn mean_of_random_trains_is_within_the_bound(seed: u64, memory_exponent in 6.0..12.556f64, by_bytes: bool) {
            let (divided, undivided) = worst(seed, libm::exp10(memory_exponent) as u64, 0.0, 64.0, by_bytes);
            let bound = if by_bytes { BOUND_BY_BYTES } else { BOUND };
            prop_assert!(divided < bound, "{divided:e}");
            prop_assert!(undivided < bound + WITHOUT_DIVISION, "{undivided:e}");
        }

        #[test]
        fn mean_of_similar_activities_is_within_the_smaller_bound(seed: u64, centre in -29.0..29.0f64) {
            // Activities have a range of 4, as for rates within a factor of 16. So their mean distance from the average
            // is at most 2.
            let bound = 2.0 * (libm::exp2(-20.0) + 2.9e-6) + 7.2e-7 + UNIT / 2.0;
            let (divided, undivided) = worst(seed, 300_000_000, centre, 4.0, false);
            prop_assert!(divided < bound, "{divided:e}");
            prop_assert!(undivided < bound + WITHOUT_DIVISION, "{undivided:e}");
        }
    }
}
