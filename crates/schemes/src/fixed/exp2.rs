//! Negative powers of two of a real exponent: a table of 256 entries and a parabola between them.
//!
//! A straight line between the entries is not precise enough. At the start of the first cell it is too high by about
//! `h/2 * ln 2` = 1.4e-3 of the *decay*, where h = 1/256 is the width of a cell. A sum that decays in many short steps
//! would be too large by that fraction.

use super::tables::EXP2;

/// Fraction bits of an exponent.
pub const EXPONENT_BITS: u32 = 56;

/// `ln 2` in Q32.
pub(super) const LN2_Q32: u64 = 2_977_044_472;

/// Returns `2^-y` for the fraction of y (Q56), in Q32: from 2^32 down to just above 2^31.
///
/// In real numbers, with the fraction of y = i/256 + r, an integer i, 0 <= r < 2^-8, and z = r * ln 2:
///
/// ```text
/// 2^-y = 2^(-i/256) * e^-z  ~  EXP2[i] * (1 - z + z^2/2)
/// ```
///
/// Error: z^3/6 < 3.31e-9 of the value. Rounding adds a unit, 2^-32 (half a unit in the first cell, whose entry is
/// exact). The bound is 3.8e-9 of the value.
///
/// 64 bits suffice: z - z^2/2 in Q40 has less than 31.5 bits, and its product with an entry of 2^32 has less than 63.5.
#[must_use]
#[inline]
pub fn exp2_neg_q32(y: u64) -> u64 {
    let (entry, loss) = entry_and_loss(y);
    entry - ((entry * loss + (1 << 39)) >> 40)
}

/// Entry of the cell in Q32, and the fraction lost within the cell, `z - z^2/2`, in Q40.
///
/// Error of the loss: z^3/6, less than 1.23e-6 of the loss, and 1.7 * 2^-40 from rounding.
///
/// 64 bits suffice: z < 2^-8 * ln 2 has less than 31.5 bits in Q40, so z^2 has less than 63.
#[inline]
fn entry_and_loss(y: u64) -> (u64, u64) {
    let z = (((y >> 16) & 0xffff_ffff) * LN2_Q32) >> 32;
    (EXP2[((y >> 48) & 0xff) as usize], z - ((z * z) >> 41))
}

/// Returns `value * 2^-y`, y in Q56, rounded to the nearest integer.
///
/// The loss within a cell is subtracted separately, with 40 fraction bits. So the result is precise even if y is only
/// 2^-20. The factor of [`exp2_neg_q32`] has 32 bits, which would make the decay 1 - 2^-y wrong by up to 1.8e-4.
///
/// Error: at most 3.8e-9 of the result and one unit from rounding twice. In the first cell, at most 1.23e-6 +
/// 1.55e-12/(1 - 2^-y) of the decay, and half a unit and 2^-8 from rounding. The result is zero from y = 64 on.
///
/// 64 bits suffice: see [`mul_q32`] and [`mul_q40`].
#[must_use]
#[inline]
pub fn scale_down(value: u64, y: u64) -> u64 {
    let whole = y >> EXPONENT_BITS;
    if whole >= 64 {
        return 0;
    }
    let (entry, loss) = entry_and_loss(y);
    let in_cell = mul_q32(value, entry);
    let scaled = in_cell - mul_q40(in_cell, loss);
    if whole == 0 { scaled } else { (scaled >> whole) + ((scaled >> (whole - 1)) & 1) }
}

/// `value * factor / 2^32`, rounded to nearest; the factor is at most 2^32.
///
/// Error: half a unit.
///
/// 64 bits suffice: the high half contributes at most (2^32 - 1) * 2^32, the low half at most 2^32 - 1.
#[must_use]
#[inline]
pub fn mul_q32(value: u64, factor: u64) -> u64 {
    (value >> 32) * factor + (((value & 0xffff_ffff) * factor + (1 << 31)) >> 32)
}

/// `value * factor / 2^40`, rounded to nearest; the factor is less than 2^32.
///
/// Error: half a unit and 2^-8.
///
/// 64 bits suffice: the high half contributes at most (2^32 - 1)^2, the low half 2^32 - 1, and rounding 2^7.
#[inline]
fn mul_q40(value: u64, factor: u64) -> u64 {
    ((value >> 32) * factor + (((value & 0xffff_ffff) * factor) >> 32) + (1 << 7)) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RELATIVE: f64 = 3.8e-9;
    const ONE: f64 = (1u64 << 32) as f64;

    fn real(y: u64) -> f64 {
        libm::exp2(-(y as f64) / (1u64 << EXPONENT_BITS) as f64)
    }

    #[test]
    fn powers_are_within_the_bound_in_every_cell() {
        let cell = 1u64 << 48;
        for i in 0..256 {
            for r in [0, 1, cell / 4, cell / 2, 3 * (cell / 4), cell - 1] {
                let y = i * cell + r;
                let relative = exp2_neg_q32(y) as f64 / ONE / real(y) - 1.0;
                assert!(relative.abs() <= RELATIVE, "y = {y}: {relative:e}");
            }
        }
    }

    #[test]
    fn short_steps_lose_the_right_part_of_themselves() {
        // Tests exponents y from 2^-20 to the end of the first cell, where an error of 1 - 2^-y would accumulate over
        // many short steps.
        for bit in 36..48 {
            for part in 0..1000 {
                let y = (1u64 << bit) + part * ((1 << bit) / 1000);
                let loss = ((1u64 << 63) - scale_down(1 << 63, y)) as f64 / (1u64 << 63) as f64;
                let expected = -libm::expm1(-core::f64::consts::LN_2 * y as f64 / (1u64 << EXPONENT_BITS) as f64);
                assert!((loss - expected).abs() <= 1.23e-6 * expected + 1.55e-12, "y = {y}");
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        assert_eq!(scale_down(u64::MAX, 0), u64::MAX);
        assert_eq!(scale_down(u64::MAX, 1 << EXPONENT_BITS), 1 << 63);
        assert_eq!(scale_down(u64::MAX, 63 << EXPONENT_BITS), 2);
        assert_eq!(scale_down(u64::MAX, 64 << EXPONENT_BITS), 0);
        assert_eq!(scale_down(u64::MAX, u64::MAX), 0);
        assert_eq!(mul_q32(u64::MAX, 1 << 32), u64::MAX);
        // (2^64 - 1)(2^32 - 1)/2^40 = 2^56 - 2^24 - 2^-8 + 2^-40.
        assert_eq!(mul_q40(u64::MAX, u64::from(u32::MAX)), (1 << 56) - (1 << 24));
    }

    proptest! {
        #[test]
        fn scaled_values_are_within_the_bound(bits: u64, shift in 0u32..64, y in 0u64..80 << EXPONENT_BITS) {
            let value = bits >> shift;
            let expected = value as f64 * real(y);
            let error = (scale_down(value, y) as f64 - expected).abs();
            prop_assert!(error <= RELATIVE * expected + 1.0, "{value} * 2^-{y}: {error}");
        }
    }
}
