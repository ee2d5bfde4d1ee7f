//! The activity meter of one user in integers: TDRM-UTEMA, abc2018 eq. (1) to (5), without a division.
//!
//! In real numbers, for a packet of L bits with accounting factor a at time t:
//!
//! ```text
//! S = S * exp(-(t - t_last)/M) + a*L                      (1), (4)
//! T = M * (1 - exp(-(t - t0)/M))                          (2)
//! A = log2(S) - log2(T) - log2(R_r)                       (3), (5)
//! ```
//!
//! M is the memory and R_r the user's reference rate. The weighted sum S is in bytes, and the measured time T in
//! nanoseconds. One constant contains R_r and the unit conversions.
//!
//! Error of the activity compared with the formula in real numbers, for packets of a*L >= 40 bytes:
//!
//! | cause | bound |
//! |---|---|
//! | ticks: the age of a packet has an error of up to 2^-19 memories | 2.75e-6 |
//! | decay of packets of the last memory | 4.2e-6 |
//! | rounding of S, 1.5 units a packet | 8.3e-7 |
//! | the two logarithms | 6.6e-9 |
//! | T, while the meter is younger than a few memories | 1.04e-5 |
//! | label, half a unit | 7.63e-6 |
//! | **sum** | **2.6e-5** |
//!
//! For smaller packets the rounding of S is 3.31e-5 / (a*L in bytes): 8.3e-4 for 40 bytes at the lowest factor, 0.001.
//! The rounding of a factor that is not a multiple of 2^-20 adds an error, see [`Accounting`]. If small packets with
//! short gaps continue for several memories, the error of the decay adds up over these memories.
//!
//! Cost: 24 bytes per user. A packet takes 13 multiplications of 64 bits, or 20 to 24 in the first 64 to 128 memories,
//! while T still grows.
//!
//! Deviations:
//! 1. At t = t0 the papers' T is zero. As in [`crate::measure::utema`], M replaces T there. So the rate S/T of the
//!    first packet is L/M, the same as that of a first packet long after t0.
//! 2. If time runs backwards (clocks of several processors), the elapsed time is 0.
//!
//! Not implemented: the fair meter (III-E); a host adds `log2` of its random number to the label.

use super::decay::Decay;
use super::exp2::scale_down;
use super::log2::log2_q31;
use super::{Activity, OutOfRange};
use crate::base::units::{BitRate, Time};

/// Fraction bits of S. With 16, a 40-byte packet has 2,621,440 units, and S is below 2^48 bytes: 625 Gbit/s over one
/// hour.
pub(super) const SUM_BITS: u32 = 16;

/// Below this age in ticks, which is 2^-3 to 2^-2 of the memory, T is computed from the first terms of its series.
pub(super) const YOUNG_TICKS: u64 = 1 << 17;

/// Coefficient of y^2 in the series of log2(T): ln 2 / 24, in Q32.
pub(super) const LN2_24TH_Q32: u64 = 124_043_520;

/// Accounting factor a_PHB of a traffic class, in Q20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounting(u32);

impl Accounting {
    /// Unscaled bytes.
    pub const ONE: Self = Self(1 << 20);

    /// Rounds a factor from 0.001 to 1000.
    ///
    /// Error: half a unit, 2^-21. In the activity this is 6.88e-7 / factor. Integer factors have no error.
    ///
    /// # Errors
    ///
    /// If the factor is out of range.
    pub fn new(factor: f64) -> Result<Self, OutOfRange> {
        if !(0.001..=1000.0).contains(&factor) {
            return Err(OutOfRange { name: "accounting factor", min: "0.001".into(), max: "1000".into() });
        }
        Ok(Self((factor * f64::from(Self::ONE.0)).round() as u32))
    }

    /// The factor in Q20, for hosts that do the arithmetic themselves.
    #[must_use]
    pub fn q20(self) -> u32 {
        self.0
    }

    /// Returns `a * L` in the unit of S. The value before the shift is below 2^62.
    ///
    /// Error: half a unit, 2^-17 bytes.
    #[inline]
    fn weigh(self, bytes: u32) -> u64 {
        (u64::from(bytes) * u64::from(self.0) + (1 << 3)) >> (20 - SUM_BITS)
    }
}

/// Constants shared by all meters with one memory and one reference rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedMeterParams {
    decay: Decay,
    /// log2 of M in ns, Q31.
    log2_memory: i64,
    /// log2 of (8e9 bit ns / byte s) / R_r, minus the number of fraction bits of S, in Q31.
    offset: i64,
}

impl FixedMeterParams {
    /// The lowest reference rate.
    pub const REFERENCE_MIN: BitRate = BitRate(1_000);
    /// The highest reference rate.
    pub const REFERENCE_MAX: BitRate = BitRate(1_000_000_000_000);

    /// Precomputes the constants for M_AM from 1 ms to 1 h and R_r from 1 kbit/s to 1 Tbit/s.
    ///
    /// Each constant has an error of half a unit of Q31. They are computed with `libm` at configuration time.
    ///
    /// # Errors
    ///
    /// If the memory or the rate is out of range.
    pub fn new(memory: Time, reference_rate: BitRate) -> Result<Self, OutOfRange> {
        if reference_rate < Self::REFERENCE_MIN || reference_rate > Self::REFERENCE_MAX {
            let (min, max) = (Self::REFERENCE_MIN.to_string(), Self::REFERENCE_MAX.to_string());
            return Err(OutOfRange { name: "reference rate", min, max });
        }
        let q31 = |logarithm: f64| (logarithm * (1u64 << 31) as f64).round() as i64;
        Ok(Self {
            decay: Decay::new(memory)?,
            log2_memory: q31(libm::log2((memory.0 / 1000) as f64)),
            offset: q31(libm::log2(8e9 / reference_rate.as_f64()) - f64::from(SUM_BITS)),
        })
    }

    /// The decay with memory M_AM, for hosts that do the arithmetic themselves.
    #[must_use]
    pub fn decay(&self) -> Decay {
        self.decay
    }

    /// log2 of M_AM in nanoseconds, Q31, for hosts that do the arithmetic themselves.
    #[must_use]
    pub fn log2_memory_q31(&self) -> i64 {
        self.log2_memory
    }

    /// Term that converts log2(S) - log2(T) into an activity, Q31; the only term that depends on R_r.
    #[must_use]
    pub fn offset_q31(&self) -> i64 {
        self.offset
    }

    /// `log2(T)` in Q31, T of eq. (2) in nanoseconds.
    ///
    /// With x = age/M and y = x * log2(e):
    ///
    /// ```text
    /// log2(M * (1 - e^-x)) = log2(age) - y/2 + y^2/24 * ln 2 - ...        up to x = 2^-2
    ///                      = log2(M) + log2(1 - e^-x)                     beyond
    /// ```
    ///
    /// Error up to 2^-2: the omitted terms make the result x^4/2880 * log2(e) = 2.0e-6 too large, and the tick makes
    /// y/2 1.4e-6 too small. Above 2^-2, the time is too short by up to a tick, 2^-19 memories. Multiplied by
    /// log2(e)/(e^x - 1) this makes the result 1.04e-5 too small. Each logarithm adds 3.3e-9.
    ///
    /// 64 bits suffice: y < 0.361 has less than 31 bits in Q32, its square less than 62.
    #[inline]
    fn log2_measured_time(&self, age_ns: u64) -> i64 {
        if age_ns == 0 {
            return self.log2_memory; // deviation 1
        }
        let Some(exponent) = self.decay.exponent(age_ns) else { return self.log2_memory };
        if self.decay.tick(age_ns) < YOUNG_TICKS {
            let y = exponent >> 24;
            let bow = (((y * y) >> 32) * LN2_24TH_Q32) >> 33;
            return log2_q31(age_ns) - (y >> 2) as i64 + bow as i64;
        }
        let grown = (1 << 32) - scale_down(1 << 32, exponent);
        self.log2_memory + log2_q31(grown) - (32 << 31)
    }
}

/// The meter of one user: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedMeter {
    /// S in bytes, Q16, at the start of the tick.
    sum: u64,
    /// Number of the tick of t_last since t0.
    last_tick: u64,
    /// t0 in nanoseconds.
    start_ns: u64,
}

impl FixedMeter {
    /// Creates a meter whose measurement starts at `start_ns` (t0). This is the start of the network, not of the user.
    #[must_use]
    pub fn new(start_ns: u64) -> Self {
        Self { sum: 0, last_tick: 0, start_ns }
    }

    /// Creates a meter from the registers of a host: S in bytes, Q16, and the number of the tick of t_last since t0.
    #[must_use]
    pub fn from_registers(sum: u64, last_tick: u64, start_ns: u64) -> Self {
        Self { sum, last_tick, start_ns }
    }

    /// Counts a packet and returns the user's activity, including this packet.
    ///
    /// If no byte has been counted, the label is the lowest. S saturates at 2^48 bytes.
    ///
    /// Error: 2.6e-5 for a*L >= 40 bytes; see the head of this module.
    #[inline]
    pub fn label(&mut self, params: &FixedMeterParams, bytes: u32, factor: Accounting, now_ns: u64) -> Activity {
        let age = now_ns.saturating_sub(self.start_ns);
        let tick = params.decay.tick(age);
        let left = params.decay.apply(self.sum, tick.saturating_sub(self.last_tick));
        self.sum = left.saturating_add(factor.weigh(bytes)); // eq. (1)
        self.last_tick = self.last_tick.max(tick); // eq. (4)
        // eq. (3), (5)
        Activity::from_q31(log2_q31(self.sum) - params.log2_measured_time(age) + params.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::measure::utema::RateMeter;
    use proptest::prelude::*;

    const BOUND: f64 = 2.6e-5;

    /// The integer meter and the literal formula.
    struct Pair {
        params: FixedMeterParams,
        fixed: FixedMeter,
        real: RateMeter,
        reference_rate: f64,
        worst: f64,
    }

    impl Pair {
        fn new(memory_ns: u64, reference_rate: u64, start_ns: u64) -> Self {
            let memory = Time::from_nanos(memory_ns);
            Self {
                params: FixedMeterParams::new(memory, BitRate(reference_rate)).unwrap(),
                fixed: FixedMeter::new(start_ns),
                real: RateMeter::new(memory, Time::from_nanos(start_ns)),
                reference_rate: reference_rate as f64,
                worst: 0.0,
            }
        }

        fn label(&mut self, bytes: u32, factor: f64, now_ns: u64) -> f64 {
            let accounting = Accounting::new(factor).unwrap();
            let label = self.fixed.label(&self.params, bytes, accounting, now_ns).to_f64();
            let rate = self.real.update(factor * f64::from(bytes) * 8.0, Time::from_nanos(now_ns));
            let activity = libm::log2(rate / self.reference_rate);
            // A label out of range saturates, which is not an error.
            let error = label - activity.clamp(Activity::MIN.to_f64(), Activity::MAX.to_f64());
            self.worst = self.worst.max(error.abs());
            label
        }
    }

    /// Sends packets in phases with different rates. Idle times separate some of the phases. Gaps are exponential.
    fn train(pair: &mut Pair, seed: u64, start_ns: u64, memory_ns: u64, factor: f64) {
        let mut rng = Rng::stream(seed, 0, "train", 0);
        let mut now = start_ns;
        for phase in 0..12 {
            let rate = libm::exp10(4.0 + 6.0 * rng.open01());
            let packets = 1 << (4.0 + 8.0 * rng.open01()) as u32;
            for _ in 0..packets {
                let bytes = 40 + (rng.bits() % if rng.bits().is_multiple_of(16) { 65_496 } else { 1_461 }) as u32;
                pair.label(bytes, factor, now);
                now += rng.exponential(f64::from(bytes) * 8e9 / rate) as u64;
            }
            if phase % 3 == 2 {
                now += (memory_ns as f64 * 20.0 * rng.open01()) as u64;
            }
        }
    }

    #[test]
    fn first_packet_at_the_start_shows_the_long_run_value() {
        // After a first packet, the measured rate is L/M = 12 000 bit / 3 s = 4 kbit/s, and the label is log2(0.4) =
        // -1.3219. A packet after a very long idle time gives the same label.
        let mut meter = FixedMeter::new(5);
        let params = FixedMeterParams::new(Time::from_secs(3), BitRate(10_000)).unwrap();
        let expected = Activity::from_f64(0.4f64.log2());
        assert_eq!(meter.label(&params, 1500, Accounting::ONE, 5), expected);
        assert_eq!(meter.label(&params, 1500, Accounting::ONE, 1 << 62), expected);
        // A user sends its first packet one memory after the start. The rate is 12000/(3(1 - 1/e)) = 6.33 kbit/s and
        // the label log2(0.633) = -0.660.
        let mut late = FixedMeter::new(0);
        let label = late.label(&params, 1500, Accounting::ONE, 3_000_000_000);
        let expected = libm::log2(0.4 / -libm::expm1(-1.0));
        assert!((expected + 0.660).abs() < 1e-3 && (label.to_f64() - expected).abs() < BOUND, "{label:?}");
    }

    #[test]
    fn gaps_shorter_than_a_tick_still_decay() {
        // 1 Gbit/s in 1500-byte packets has a gap of 12 us; the tick is 4.1 us. In closed form, R = L/(M(1 -
        // exp(-gap/M))).
        let mut pair = Pair::new(3_000_000_000, 10_000, 0);
        let mut label = 0.0;
        for packet in 0..5_000_000u64 {
            label = pair.label(1500, 1.0, packet * 12_000);
        }
        let rate = 12_000.0 / (3.0 * -libm::expm1(-12e-6 / 3.0));
        assert!((label - libm::log2(rate / 10_000.0)).abs() < BOUND, "{label}");
        assert!(pair.worst < BOUND, "{:e}", pair.worst);
    }

    #[test]
    fn start_is_within_the_bound_from_the_first_nanosecond() {
        // A single packet, at ages from 1 ns to 100 memories, shows the error of T.
        for memory in [1_000_000, 3_000_000_000, 3_600_000_000_000u64] {
            let mut age = 1.0;
            while age < 100.0 * memory as f64 {
                let mut pair = Pair::new(memory, 1_000_000, 0);
                pair.label(1500, 1.0, age as u64);
                assert!(pair.worst < BOUND, "memory {memory}, age {age}: {:e}", pair.worst);
                age *= 1.01;
            }
        }
    }

    #[test]
    fn packets_at_the_worst_places_of_a_tick_are_within_the_bound() {
        // The first two memories are the ends of the range with ticks of 1024 ns. A large packet comes at the end of a
        // tick and a small one at the start of the next, or the reverse. This hides or adds almost a tick of decay.
        for (memory, tick) in [(536_870_912, 1024), (1_073_741_823, 1024), (3_000_000_000, 4096)] {
            for (large_at, small_at) in [(tick - 1, tick), (0, 2 * tick - 1)] {
                for (period, first) in [(2, 0), (2, 1_000_000), (1_000, 0)] {
                    let mut pair = Pair::new(memory, 10_000, 0);
                    for i in 0..2_000 {
                        pair.label(65_535, 1.0, (first + i * period) * tick + large_at);
                        pair.label(40, 1.0, (first + i * period) * tick + small_at);
                    }
                    assert!(pair.worst < BOUND, "memory {memory}: {:e}", pair.worst);
                }
            }
        }
    }

    #[test]
    fn hours_of_jumbo_packets_at_100_gigabit_do_not_overflow() {
        // Each call counts 4 GB, the 32-bit maximum, which takes 0.34 s at 100 Gbit/s. The test runs for ten hours with
        // the longest memory.
        let gap = u64::from(u32::MAX) * 8 / 100;
        let mut pair = Pair::new(3_600_000_000_000, 1_000, 0);
        let mut now = 0;
        for _ in 0..105_000 {
            now += gap;
            pair.label(u32::MAX, 1.0, now);
        }
        for _ in 0..1_000_000 {
            now += 65_535 * 8 / 100;
            pair.label(65_535, 1.0, now);
        }
        assert!(pair.worst < BOUND, "{:e}", pair.worst);
        // The activity is log2(100 Gbit/s / 1 kbit/s) = 26.575.
        assert!((pair.label(65_535, 1.0, now) - 26.575).abs() < 0.001);
        for gap in [1u64 << 40, 1 << 41, 1 << 50] {
            now += gap;
            pair.label(65_535, 1.0, now);
        }
        assert!(pair.worst < BOUND, "{:e}", pair.worst);
    }

    #[test]
    fn a_full_sum_stays_full_and_a_silent_user_has_the_lowest_label() {
        let params = FixedMeterParams::new(Time::from_secs(3600), BitRate(1_000)).unwrap();
        let mut meter = FixedMeter::new(0);
        assert_eq!(meter.label(&params, 0, Accounting::ONE, 7), Activity::MIN);
        let factor = Accounting::new(1000.0).unwrap();
        // A packet of 4.29e9 bytes with the factor 1000 adds 2^57.97 units of 2^-16 bytes, so 66 packets fill the sum.
        for _ in 0..66 {
            meter.label(&params, u32::MAX, factor, 7);
        }
        assert_eq!(meter.sum, u64::MAX);
        // After an idle time of 584 years only the new packet counts.
        meter.label(&params, 1500, Accounting::ONE, u64::MAX);
        assert_eq!(meter.sum, 1500 << SUM_BITS);
    }

    #[test]
    fn time_that_runs_backwards_counts_as_no_time() {
        let params = FixedMeterParams::new(Time::from_secs(3), BitRate(10_000)).unwrap();
        let mut meter = FixedMeter::new(1_000);
        meter.label(&params, 1500, Accounting::ONE, 9_000_000_000);
        let before = meter;
        meter.label(&params, 1500, Accounting::ONE, 8_000_000_000);
        assert_eq!(meter.sum, before.sum + (1500 << SUM_BITS));
        assert_eq!(meter.last_tick, before.last_tick);
        meter.label(&params, 1500, Accounting::ONE, 0);
        assert_eq!(meter.last_tick, before.last_tick);
    }

    #[test]
    fn parameters_out_of_range_are_refused_with_the_range() {
        let refused = |rate| FixedMeterParams::new(Time::from_secs(3), BitRate(rate)).unwrap_err().to_string();
        assert_eq!(refused(999), "reference rate must be from 1 kbit/s to 1 Tbit/s");
        assert_eq!(refused(1_000_000_000_001), refused(999));
        for factor in [0.0, -1.0, 1000.1, f64::NAN] {
            assert_eq!(
                Accounting::new(factor).unwrap_err().to_string(),
                "accounting factor must be from 0.001 to 1000"
            );
        }
    }

    #[test]
    fn state_is_24_bytes() {
        assert_eq!(size_of::<FixedMeter>(), 24);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn activity_of_random_trains_is_within_the_bound(
            seed: u64,
            memory_exponent in 6.0..12.556f64,
            rate_exponent in 3.0..12.0f64,
            start in 0u64..1 << 50,
            factor in prop_oneof![Just(1.0), Just(3.0), Just(1000.0)],
        ) {
            let memory = libm::exp10(memory_exponent) as u64;
            let mut pair = Pair::new(memory, libm::exp10(rate_exponent) as u64, start);
            train(&mut pair, seed, start, memory, factor);
            prop_assert!(pair.worst < BOUND, "{:e}", pair.worst);
        }

        #[test]
        fn small_accounting_factors_are_within_the_bound_of_their_packets(seed: u64, factor in 0.001..1.0f64) {
            // The first term is the bound without the rounding of S. The second is this rounding, 1.5 units relative to
            // a packet of 40 bytes. The third is the rounding of the factor, half a unit.
            let bound = 2.5e-5 + 3.31e-5 / (factor * 40.0) + 6.88e-7 / factor;
            let mut pair = Pair::new(3_000_000_000, 10_000, 0);
            train(&mut pair, seed, 0, 3_000_000_000, factor);
            prop_assert!(pair.worst < bound, "{:e}", pair.worst);
        }
    }
}
