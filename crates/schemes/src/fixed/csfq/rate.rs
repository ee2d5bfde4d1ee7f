//! The exponential rate estimator of CSFQ in integers.
//!
//! Source: the estimator of the ns-2 code of CSFQ, as in [`crate::measure::rate_estimates`]. In real numbers, for a
//! packet of L bits, a time T after the previous packet, and x = T/K:
//!
//! ```text
//! r = (1 - exp(-x)) * L/T + exp(-x) * r
//! ```
//!
//! The state is S = r * K in bytes, so no division is needed:
//!
//! ```text
//! S = S * exp(-x) + L * h(x),   h(x) = (1 - exp(-x))/x = 2^-(log2(x) - log2(1 - exp(-x)))
//! log2(r) = log2(S) - log2(K)
//! ```
//!
//! The table gives the error of log2(r) compared with the formula in real numbers. It applies to packets of at least 40
//! bytes that are at least 16 ticks apart, once packets have arrived for a time of K:
//!
//! | cause | bound |
//! |---|---|
//! | ticks: the age of bytes has an error of up to 2^-19 K | 2.75e-6 |
//! | decay, and its effect on h(x): 2.9e-6 each, times log2(e) | 8.4e-6 |
//! | h(x) for a gap with an error of one tick | 1.4e-6 |
//! | rounding of S, two units a packet | 1.1e-6 |
//! | the four logarithms and the power | 1.9e-8 |
//! | label, half a unit | 7.63e-6 |
//! | **sum** | **2.2e-5** |
//!
//! Shortly after an idle time, the rate depends only on the gaps T of the few packets since then. An error of one tick
//! in T then is an error of 2^-19 / x * log2(e) in log2(r).

use crate::base::units::{BitRate, Time};
use crate::fixed::OutOfRange;
use crate::fixed::decay::Decay;
use crate::fixed::exp2::{EXPONENT_BITS, scale_down};
use crate::fixed::log2::log2_q31;

/// Fraction bits of S, and of the bytes that wait for the next tick.
const SUM_BITS: u32 = crate::fixed::meter::SUM_BITS;

/// Constants shared by all estimators with one time constant K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateConstants {
    decay: Decay,
    /// log2 of a tick divided by K, Q31.
    log2_tick: i64,
    /// log2 of K in ns, Q31.
    log2_constant: i64,
}

impl RateConstants {
    /// Precomputes the constants for K from 1 ms to 1 h.
    ///
    /// Each constant has an error of half a unit of Q31. They are computed with `libm` at configuration time.
    ///
    /// # Errors
    ///
    /// If K is out of range.
    pub fn new(constant: Time) -> Result<Self, OutOfRange> {
        let decay = Decay::new(constant)?;
        let log2_constant = libm::log2((constant.0 / 1000) as f64);
        let log2_tick = q31(f64::from(decay.shift()) - log2_constant);
        Ok(Self { decay, log2_tick, log2_constant: q31(log2_constant) })
    }

    /// The decay with memory K, for hosts that do the arithmetic themselves.
    #[must_use]
    pub fn decay(&self) -> Decay {
        self.decay
    }

    /// log2 of a tick divided by K, Q31, for hosts that do the arithmetic themselves.
    #[must_use]
    pub fn log2_tick_q31(&self) -> i64 {
        self.log2_tick
    }

    /// log2 of K in nanoseconds, Q31.
    #[must_use]
    pub fn log2_constant_q31(&self) -> i64 {
        self.log2_constant
    }

    /// Term that converts log2(S) to log2(rate / `unit`), Q31.
    #[must_use]
    pub fn offset_q31(&self, unit: BitRate) -> i64 {
        q31(libm::log2(8e9 / unit.as_f64()) - f64::from(SUM_BITS)) - self.log2_constant
    }

    /// Returns two exponents of 1/2, in Q56, for a number of ticks: for the decay exp(-x) (`None` if the decay is
    /// zero), and for h(x).
    ///
    /// 64 bits suffice: log2(x) < 45 for 2^64 ticks.
    #[inline]
    fn exponents(&self, ticks: u64) -> (Option<u64>, u64) {
        let log2_x = log2_q31(ticks) + self.log2_tick;
        let decay = self.decay.exponent_of_ticks(ticks);
        let log2_gone = decay.map_or(0, |decay| log2_q31((1 << 62) - scale_down(1 << 62, decay)) - (62 << 31));
        (decay, ((log2_x - log2_gone).max(0) as u64) << (EXPONENT_BITS - 31))
    }
}

pub(super) fn q31(logarithm: f64) -> i64 {
    (logarithm * (1u64 << 31) as f64).round() as i64
}

/// N rates measured at the same times: 8 + 16 N bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRates<const N: usize> {
    /// S = r * K in bytes, Q16.
    sums: [u64; N],
    /// Bytes of the current tick, Q16.
    pending: [u64; N],
    /// Number of the current tick.
    last_tick: u64,
}

impl<const N: usize> Default for FixedRates<N> {
    fn default() -> Self {
        Self { sums: [0; N], pending: [0; N], last_tick: 0 }
    }
}

impl<const N: usize> FixedRates<N> {
    /// Creates rates from the registers of a host: S and the bytes of the current tick, both Q16, and the tick's
    /// number.
    #[must_use]
    pub fn from_registers(sums: [u64; N], pending: [u64; N], last_tick: u64) -> Self {
        Self { sums, pending, last_tick }
    }

    /// S = r * K in bytes, Q16.
    #[must_use]
    pub fn sums(&self) -> [u64; N] {
        self.sums
    }

    /// Counts bytes at a time since the start of the measurement. Returns true if a tick has passed since the last
    /// update; otherwise the rates do not change.
    ///
    /// Error: see the head of this module. Sums saturate at 2^48 bytes.
    #[inline]
    pub fn update(&mut self, constants: &RateConstants, bytes: [u32; N], age_ns: u64) -> bool {
        for (pending, bytes) in self.pending.iter_mut().zip(bytes) {
            *pending = pending.saturating_add(u64::from(bytes) << SUM_BITS);
        }
        let tick = constants.decay.tick(age_ns);
        if tick <= self.last_tick {
            return false;
        }
        let (decay, part) = constants.exponents(tick - self.last_tick);
        for (sum, pending) in self.sums.iter_mut().zip(&mut self.pending) {
            let left = decay.map_or(0, |decay| scale_down(*sum, decay));
            *sum = left.saturating_add(scale_down(*pending, part));
            *pending = 0;
        }
        self.last_tick = tick;
        true
    }

    /// log2(S) in Q31. Adding [`RateConstants::offset_q31`] gives log2(rate / unit).
    #[must_use]
    #[inline]
    pub fn log2_sums_q31(&self) -> [i64; N] {
        self.sums.map(log2_q31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fixed::Activity;
    use crate::measure::rate_estimates::{Averaging, RateEstimates};
    use proptest::prelude::*;

    const BOUND: f64 = 2.2e-5;

    /// Returns the largest error of the label for packets at least 16 ticks apart. Ignores the first K after each idle
    /// time.
    fn worst(seed: u64, constant_ns: u64, unit: BitRate) -> f64 {
        let constant = Time::from_nanos(constant_ns);
        let constants = RateConstants::new(constant).unwrap();
        let offset = constants.offset_q31(unit);
        let averaging = Averaging::new(constant);
        let (mut fixed, mut real) = (FixedRates::<1>::default(), RateEstimates::<1>::new(Time::ZERO));
        let mut rng = Rng::stream(seed, 0, "train", 0);
        let tick = 1u64 << constants.decay().shift();
        let (mut now, mut since, mut worst) = (0u64, 0u64, 0.0f64);
        for phase in 0..6 {
            let gap = constant_ns as f64 * libm::exp10(-1.0 - 3.0 * rng.open01());
            for _ in 0..2_000 {
                now += 16 * tick + rng.exponential(gap) as u64;
                let bytes = 40 + (rng.bits() % 1_461) as u32;
                fixed.update(&constants, [bytes], now);
                real.update(averaging, [f64::from(bytes) * 8.0], Time::from_nanos(now));
                if now - since > constant_ns {
                    let label = Activity::from_q31(fixed.log2_sums_q31()[0] + offset).to_f64();
                    let expected = libm::log2(real.rates()[0] / unit.as_f64());
                    let expected = expected.clamp(Activity::MIN.to_f64(), Activity::MAX.to_f64());
                    worst = worst.max((label - expected).abs());
                }
            }
            if phase % 2 == 1 {
                now += (constant_ns as f64 * 30.0 * rng.open01()) as u64;
                since = now;
            }
        }
        worst
    }

    #[test]
    fn a_regular_train_shows_its_rate() {
        // 1500 bytes every 10 ms are 1.2 Mbit/s for any K; log2(1.2e6/1e4) = 6.907.
        for constant in [Time::from_millis(1), Time::from_millis(100), Time::from_secs(10)] {
            let constants = RateConstants::new(constant).unwrap();
            let mut rate = FixedRates::<1>::default();
            // 300 s are 30 times the longest K.
            for packet in 1..=30_000u64 {
                rate.update(&constants, [1500], packet * 10_000_000);
            }
            let log2 = rate.log2_sums_q31()[0] + constants.offset_q31(BitRate(10_000));
            let error = log2 as f64 / (1u64 << 31) as f64 - libm::log2(120.0);
            assert!(error.abs() < 2.2e-5, "{constant}: {error:e}");
        }
    }

    #[test]
    fn packets_of_one_tick_count_together_at_the_next() {
        let constants = RateConstants::new(Time::from_millis(100)).unwrap();
        let mut rates = FixedRates::<2>::default();
        assert!(!rates.update(&constants, [1500, 0], 0));
        assert!(!rates.update(&constants, [1500, 1500], 127));
        assert_eq!(rates.sums, [0, 0]);
        assert!(rates.update(&constants, [1500, 0], 100_000_000));
        // The two rates have counted 4500 and 1500 bytes. One K has passed since the last update, so x = 1, and both
        // numbers are multiplied by h(1) = 1 - 1/e.
        let weight = -libm::expm1(-1.0);
        for (sum, bytes) in rates.sums.iter().zip([4500.0, 1500.0]) {
            assert!((*sum as f64 / 65_536.0 / (weight * bytes) - 1.0).abs() < 1e-5, "{sum}");
        }
        // If the time is in the past, the elapsed time counts as 0.
        assert!(!rates.update(&constants, [1500, 0], 99_000_000));
    }

    #[test]
    fn long_silence_and_full_sums_do_not_overflow() {
        let constants = RateConstants::new(Time::from_millis(1)).unwrap();
        let mut rate = FixedRates::<1>::default();
        assert!(rate.update(&constants, [u32::MAX], u64::MAX));
        // 2^32 bytes after 2^64 ns with K = 1 ms: x is 1.845e13 and h(x) = 1/x. S is 2^48 / 1.845e13 = 15 units of
        // 2^-16 bytes.
        assert_eq!(rate.sums, [15]);
        let mut rate = FixedRates::<1> { sums: [u64::MAX], pending: [u64::MAX - 1], last_tick: 5 };
        rate.update(&constants, [u32::MAX], 6);
        assert_eq!(rate.sums, [u64::MAX]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn rates_of_random_trains_are_within_the_bound(
            seed: u64,
            exponent in 6.0..12.556f64,
            unit in 3.0..9.0f64,
        ) {
            let worst = worst(seed, libm::exp10(exponent) as u64, BitRate(libm::exp10(unit) as u64));
            prop_assert!(worst < BOUND, "{worst:e}");
        }
    }
}
