//! The label on the wire: activity as a signed 16-bit number of 2^-10 units.

/// Activity, `log2` of a user's rate over the reference rate: signed Q10, from -32 to 32 - 2^-10.
///
/// Ten fraction bits hold a rate to 0.07 %, six bits before the point a ratio of 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(pub i16);

impl Activity {
    /// The lowest label, -32: also that of a rate of zero.
    pub const MIN: Self = Self(i16::MIN);
    /// The highest label, 32 - 2^-10.
    pub const MAX: Self = Self(i16::MAX);
    /// Fraction bits of the label.
    pub const FRACTION_BITS: u32 = 10;

    /// The nearest label; what is out of range gets the lowest or the highest, infinities too.
    ///
    /// ```text
    /// round(activity * 2^10)
    /// ```
    ///
    /// Error: half a unit, 2^-11, from -32 to 32 - 2^-10. NaN is no activity (meter and averager never divide
    /// by zero); it becomes 0, the activity of the reference rate.
    #[must_use]
    #[inline]
    pub fn from_f64(activity: f64) -> Self {
        Self((activity * 1024.0).round() as i16)
    }

    /// The activity as a floating-point number: exact.
    #[must_use]
    #[inline]
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / 1024.0
    }

    /// The label nearest to a logarithm in Q31, saturating.
    ///
    /// Error: half a unit, 2^-11, in range.
    #[must_use]
    #[inline]
    pub fn from_q31(logarithm: i64) -> Self {
        let rounded = (logarithm + (1 << 20)) >> 21;
        Self(rounded.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16)
    }

    /// Activity + 32 as an unsigned number: the form for sums and for hosts that divide unsigned numbers only.
    ///
    /// Differences do not feel the bias.
    #[must_use]
    #[inline]
    pub fn biased(self) -> u16 {
        (self.0 as u16) ^ 0x8000
    }

    /// The inverse of [`Activity::biased`].
    #[must_use]
    #[inline]
    pub fn from_biased(biased: u16) -> Self {
        Self((biased ^ 0x8000) as i16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_label_survives_both_conversions() {
        for bits in i16::MIN..=i16::MAX {
            let label = Activity(bits);
            assert_eq!(Activity::from_f64(label.to_f64()), label);
            assert_eq!(Activity::from_biased(label.biased()), label);
            assert_eq!(Activity::from_q31(i64::from(bits) << 21), label);
            assert_eq!(i32::from(label.biased()), i32::from(bits) + 32 * 1024);
        }
    }

    #[test]
    fn out_of_range_saturates_and_nan_is_zero() {
        for high in [32.0, 1e300, f64::INFINITY] {
            assert_eq!(Activity::from_f64(high), Activity::MAX);
            assert_eq!(Activity::from_f64(-high), Activity::MIN);
        }
        assert_eq!(Activity::from_f64(f64::NAN), Activity(0));
        assert_eq!(Activity::from_q31(32 << 31), Activity::MAX);
        assert_eq!(Activity::from_q31(-33 << 31), Activity::MIN);
    }

    proptest! {
        #[test]
        fn rounding_errs_by_half_a_unit(activity in -32.0..32.0 - 1.0 / 1024.0) {
            let error = (Activity::from_f64(activity).to_f64() - activity).abs();
            prop_assert!(error <= 1.0 / 2048.0);
            let logarithm = (activity * (1u64 << 31) as f64) as i64;
            let error = (Activity::from_q31(logarithm).to_f64() - activity).abs();
            prop_assert!(error <= 1.0 / 2048.0 + 1e-9);
        }
    }
}
