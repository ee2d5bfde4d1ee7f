//! Exponential decay `exp(-elapsed/memory)` of a moving average, in integer time.
//!
//! Time is a 64-bit number of nanoseconds (584 years). The tick of each memory is a power of two of nanoseconds, so a
//! division of time is a shift. A tick is more than 2^-20 and at most 2^-19 of the memory:
//!
//! | memory | 1 h | 3 s | 0.3 s | 1 ms |
//! |---|---|---|---|---|
//! | tick | 4.3 ms | 4.1 us | 0.5 us | 1 ns |
//!
//! A state decays by whole ticks. It stores the number of its tick, not the time. So the rest of a tick is carried over
//! to the next packet and never lost, even if gaps are short. There is no decay within a tick, so the age of a packet
//! is wrong by less than a tick. Shorter ticks would not be better, because the decay of one tick (at least 2^-20) must
//! be precise with 40 fraction bits: see [`scale_down`].

use super::OutOfRange;
use super::exp2::{EXPONENT_BITS, scale_down};
use crate::base::units::Time;

/// Number of ticks after which any 64-bit value has decayed to zero. These ticks last at least 64 memories.
pub(super) const FORGOTTEN: u64 = 1 << 26;

/// Decay with one memory, precomputed: 16 bytes in a host's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decay {
    /// log2(e) * tick / memory in Q56: less than 2^37.53.
    step: u64,
    /// Binary logarithm of the tick in nanoseconds.
    shift: u32,
}

impl Decay {
    /// The shortest memory.
    pub const MEMORY_MIN: Time = Time::from_millis(1);
    /// The longest memory, one hour.
    pub const MEMORY_MAX: Time = Time::from_secs(3600);

    /// Precomputes the decay for a memory of 1 ms to 1 h, rounded to whole nanoseconds.
    ///
    /// The relative error of the step is 2^-37. The computation uses only IEEE multiplication and division, and only at
    /// configuration time.
    ///
    /// # Errors
    ///
    /// If the memory is out of range.
    pub fn new(memory: Time) -> Result<Self, OutOfRange> {
        if memory < Self::MEMORY_MIN || memory > Self::MEMORY_MAX {
            return Err(OutOfRange {
                name: "memory",
                min: Self::MEMORY_MIN.to_string(),
                max: Self::MEMORY_MAX.to_string(),
            });
        }
        let memory_ns = memory.0 / 1000;
        // 2^19 ticks fit into the memory, 2^20 do not.
        let shift = memory_ns.ilog2() - 19;
        let one = (1u128 << (EXPONENT_BITS + shift)) as f64;
        let step = (core::f64::consts::LOG2_E * one / memory_ns as f64).round() as u64;
        Ok(Self { step, shift })
    }

    /// log2(e) * tick / memory in Q56, for hosts that do the arithmetic themselves.
    #[must_use]
    pub fn step_q56(&self) -> u64 {
        self.step
    }

    /// Binary logarithm of the tick in nanoseconds, for hosts that do the arithmetic themselves.
    #[must_use]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Number of the tick that contains a time.
    #[must_use]
    #[inline]
    pub fn tick(&self, ns: u64) -> u64 {
        ns >> self.shift
    }

    /// Returns `value` after the decay of a number of ticks.
    ///
    /// ```text
    /// value * exp(-ticks * tick / memory)
    /// ```
    ///
    /// Error: at most 4.2e-9 of the result plus one unit. In a sequence of short steps the error is 2.9e-6 of the
    /// decayed amount, which equals a relative error of 2.9e-6 in the memory. Of this, the parabola of [`scale_down`]
    /// causes 1.23e-6, and rounding causes 1.55e-12 per step of at least 2^-20.
    #[must_use]
    #[inline]
    pub fn apply(&self, value: u64, ticks: u64) -> u64 {
        match self.exponent_of_ticks(ticks) {
            Some(exponent) => scale_down(value, exponent),
            None => 0,
        }
    }

    /// Decay factor of an elapsed time, in Q32.
    ///
    /// ```text
    /// exp(-elapsed / memory)
    /// ```
    ///
    /// Error: the tick makes the result too high by less than 2^-19 = 1.91e-6 of the value. The computation of the
    /// power adds an error of at most 4.2e-9 of the value and one unit of 2^-32, of either sign.
    #[must_use]
    #[inline]
    pub fn factor(&self, elapsed_ns: u64) -> u64 {
        match self.exponent(elapsed_ns) {
            Some(exponent) => scale_down(1 << 32, exponent),
            None => 0,
        }
    }

    /// Elapsed time as an exponent of 1/2, in Q56; `None` if any value has decayed to zero.
    ///
    /// ```text
    /// log2(e) * elapsed / memory
    /// ```
    ///
    /// Error: too small by less than one tick, 2^-19 * log2(e) = 2.76e-6.
    #[must_use]
    #[inline]
    pub(super) fn exponent(&self, elapsed_ns: u64) -> Option<u64> {
        self.exponent_of_ticks(self.tick(elapsed_ns))
    }

    /// A number of ticks as an exponent of 1/2, in Q56; `None` if any value has decayed to zero.
    ///
    /// 64 bits suffice: fewer than 2^26 ticks of less than 2^37.53 each.
    #[inline]
    pub(super) fn exponent_of_ticks(&self, ticks: u64) -> Option<u64> {
        (ticks < FORGOTTEN).then(|| ticks * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Memories of all magnitudes: log-uniform from 1 ms to 1 h, in nanoseconds.
    fn any_memory_ns() -> impl Strategy<Value = u64> {
        (6.0..12.556).prop_map(|exponent| libm::exp10(exponent) as u64)
    }

    fn decay(memory_ns: u64) -> Decay {
        Decay::new(Time::from_nanos(memory_ns)).unwrap()
    }

    #[test]
    fn ticks_have_the_lengths_of_the_table() {
        let tick_ns = |memory| 1u64 << decay(memory).shift;
        assert_eq!(tick_ns(3_600_000_000_000), 4_194_304);
        assert_eq!(tick_ns(3_000_000_000), 4_096);
        assert_eq!(tick_ns(300_000_000), 512);
        assert_eq!(tick_ns(1_000_000), 1);
    }

    #[test]
    fn memories_out_of_range_are_refused_with_the_range() {
        for memory in [Time::ZERO, Time::from_micros(999), Time::from_secs(3601), Time::NEVER] {
            let error = Decay::new(memory).unwrap_err();
            assert_eq!(error.to_string(), "memory must be from 1 ms to 3600 s");
        }
    }

    #[test]
    fn long_silence_leaves_nothing_and_does_not_overflow() {
        for memory in [1_000_000, 300_000_000, 3_000_000_000, 3_600_000_000_000] {
            let decay = decay(memory);
            for elapsed in [1u64 << 62, u64::MAX, 64 * memory] {
                assert_eq!(decay.factor(elapsed), 0);
                assert_eq!(decay.apply(u64::MAX, decay.tick(elapsed)), 0);
            }
            // The last exponent below the guard.
            let last = (FORGOTTEN - 1) << decay.shift;
            assert_eq!(decay.factor(last), 0);
            assert_eq!(decay.apply(u64::MAX, FORGOTTEN - 1), 0);
        }
    }

    #[test]
    fn many_short_steps_decay_like_one_long_one() {
        // Gaps are 1 us and the tick is 4.1 us. After 3 million packets one memory has passed, so 1/e is left.
        let decay = decay(3_000_000_000);
        let (mut value, mut last) = (1u64 << 60, 0);
        for packet in 1..=3_000_000u64 {
            let tick = decay.tick(packet * 1000);
            value = decay.apply(value, tick - last);
            last = tick;
        }
        let left = value as f64 / (1u64 << 60) as f64 * core::f64::consts::E;
        // One tick (2^-19) may not have decayed yet. Decaying tick by tick adds an error of 2.9e-6.
        assert!((left - 1.0).abs() < 1.91e-6 + 2.9e-6, "{left}");
    }

    proptest! {
        #[test]
        fn factors_are_within_the_bound(memory in any_memory_ns(), parts in 0.0..40.0f64) {
            let elapsed = (parts * memory as f64) as u64;
            let real = libm::exp(-(elapsed as f64) / memory as f64);
            let error = decay(memory).factor(elapsed) as f64 / (1u64 << 32) as f64 - real;
            let symmetric = 4.2e-9 * real + libm::exp2(-32.0);
            prop_assert!(error >= -symmetric && error <= symmetric + 1.91e-6 * real, "{error:e} of {real:e}");
        }

        #[test]
        fn states_are_within_the_bound(
            memory in any_memory_ns(),
            ticks in 0u64..64_000_000,
            bits: u64,
            shift in 0u32..64,
        ) {
            let decay = decay(memory);
            let value = bits >> shift;
            let elapsed = (ticks << decay.shift) as f64;
            let real = value as f64 * libm::exp(-elapsed / memory as f64);
            let error = (decay.apply(value, ticks) as f64 - real).abs();
            prop_assert!(error <= 4.2e-9 * real + 1.0, "{error:e} of {real:e}");
        }
    }
}
