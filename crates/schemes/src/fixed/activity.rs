//! The label: activity as a signed 22-bit number in units of 2^-16.

/// Activity, `log2` of a user's rate over the reference rate: signed Q16, from -32 to 32 - 2^-16.
///
/// Sixteen fraction bits represent a rate to 0.001 %, and six integer bits a ratio of 2^64. A header field for the
/// label therefore needs 22 bits. The upper n bits of [`Activity::biased`] are a coarser label, see
/// [`Activity::from_upper_bits`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(i32);

impl Activity {
    /// Fraction bits of the label.
    pub const FRACTION_BITS: u32 = 16;
    /// Total number of bits of the label.
    pub const BITS: u32 = 22;
    /// Offset of [`Activity::biased`]: 32.
    pub const BIAS: i32 = 1 << (Self::BITS - 1);
    /// The lowest label, -32, which also represents a rate of zero.
    pub const MIN: Self = Self(-Self::BIAS);
    /// The highest label, 32 - 2^-16.
    pub const MAX: Self = Self(Self::BIAS - 1);

    /// Creates a label from a number of units, clamped to the range.
    #[must_use]
    #[inline]
    pub fn from_units(units: i32) -> Self {
        Self(units.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// The number of units of 2^-16, from -2^21 to 2^21 - 1.
    #[must_use]
    #[inline]
    pub fn units(self) -> i32 {
        self.0
    }

    /// Returns the nearest label, clamped to the range. Infinities are clamped, too.
    ///
    /// ```text
    /// round(activity * 2^16)
    /// ```
    ///
    /// Error: half a unit, 2^-17, from -32 to 32 - 2^-16. NaN becomes 0, the activity of the reference rate. NaN does
    /// not occur, since meter and averager never divide by zero.
    #[must_use]
    #[inline]
    pub fn from_f64(activity: f64) -> Self {
        Self::from_units((activity * f64::from(1 << Self::FRACTION_BITS)).round() as i32)
    }

    /// Activity as a floating-point number, exactly.
    #[must_use]
    #[inline]
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / f64::from(1 << Self::FRACTION_BITS)
    }

    /// Label nearest to a logarithm in Q31, saturating.
    ///
    /// Error: half a unit, 2^-17, if in range.
    #[must_use]
    #[inline]
    pub fn from_q31(logarithm: i64) -> Self {
        let rounded = (logarithm + (1 << 14)) >> (31 - Self::FRACTION_BITS);
        Self(rounded.clamp(i64::from(Self::MIN.0), i64::from(Self::MAX.0)) as i32)
    }

    /// Returns activity + 32 as an unsigned number of 22 bits, for header fields, sums, and hosts that divide only
    /// unsigned numbers.
    ///
    /// The bias cancels out in differences.
    #[must_use]
    #[inline]
    pub fn biased(self) -> u32 {
        (self.0 + Self::BIAS).cast_unsigned()
    }

    /// The inverse of [`Activity::biased`]. Ignores all bits above the lowest 22.
    #[must_use]
    #[inline]
    pub fn from_biased(biased: u32) -> Self {
        Self((biased & ((1 << Self::BITS) - 1)).cast_signed() - Self::BIAS)
    }

    /// Returns the label of a header field that has only the upper `bits` (1 to 22) of the biased form. The result is
    /// the middle of all activities with these bits.
    ///
    /// Error: at most 2^(5 - bits), which is 2^-10 for 15 bits. Writing the result to a field of the same width and
    /// reading it again does not change it.
    #[must_use]
    #[inline]
    pub fn from_upper_bits(upper: u32, bits: u32) -> Self {
        let lost = Self::BITS - bits;
        Self::from_biased(upper << lost | (1 << lost) >> 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_label_survives_all_conversions() {
        for units in Activity::MIN.units()..=Activity::MAX.units() {
            let label = Activity::from_units(units);
            assert_eq!(label.units(), units);
            assert_eq!(Activity::from_f64(label.to_f64()), label);
            assert_eq!(Activity::from_biased(label.biased()), label);
            assert_eq!(Activity::from_biased(label.biased() | 0xffc0_0000), label);
            assert_eq!(Activity::from_upper_bits(label.biased(), 22), label);
            assert_eq!(Activity::from_q31(i64::from(units) << 15), label);
            assert_eq!(label.biased().cast_signed(), units + 32 * 65_536);
        }
    }

    #[test]
    fn fifteen_bits_err_by_a_1024th_at_most_and_only_once() {
        let mut worst = 0.0f64;
        for units in Activity::MIN.units()..=Activity::MAX.units() {
            let label = Activity::from_units(units);
            let coarse = Activity::from_upper_bits(label.biased() >> 7, 15);
            worst = worst.max((coarse.to_f64() - label.to_f64()).abs());
            assert_eq!(Activity::from_upper_bits(coarse.biased() >> 7, 15), coarse);
        }
        assert_eq!(worst, 1.0 / 1024.0);
    }

    #[test]
    fn out_of_range_saturates_and_nan_is_zero() {
        for high in [32.0, 1e300, f64::INFINITY] {
            assert_eq!(Activity::from_f64(high), Activity::MAX);
            assert_eq!(Activity::from_f64(-high), Activity::MIN);
        }
        assert_eq!(Activity::from_f64(f64::NAN), Activity::from_units(0));
        assert_eq!(Activity::from_q31(32 << 31), Activity::MAX);
        assert_eq!(Activity::from_q31(-33 << 31), Activity::MIN);
        assert_eq!(Activity::from_units(i32::MAX), Activity::MAX);
        assert_eq!(Activity::from_units(i32::MIN), Activity::MIN);
    }

    proptest! {
        #[test]
        fn rounding_errs_by_half_a_unit(activity in -32.0..32.0 - 1.0 / 65536.0) {
            let error = (Activity::from_f64(activity).to_f64() - activity).abs();
            prop_assert!(error <= 1.0 / 131_072.0);
            let logarithm = (activity * (1u64 << 31) as f64) as i64;
            let error = (Activity::from_q31(logarithm).to_f64() - activity).abs();
            prop_assert!(error <= 1.0 / 131_072.0 + 1e-9);
        }
    }
}
