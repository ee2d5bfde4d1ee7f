//! Base-2 logarithm of a positive integer, with a shift, a table of 257 entries, and five multiplications.
//!
//! A straight line between the entries would have an error of 2.75e-6. In the averager without division, which uses the
//! difference of two logarithms over the whole range of the label, this error would grow to eight units of the label.
//! The curvature within a cell needs no separate table: the second derivative of a base-2 logarithm is -ln 2 times the
//! square of the first derivative, which is the rise over the cell.

use super::exp2::LN2_Q32;
use super::tables::LOG2;

/// Value returned for the logarithm of zero, in Q31: -64, below `log2` of any number with up to 63 fraction bits.
pub const LOG2_OF_ZERO_Q31: i64 = -64 << 31;

/// Base-2 logarithm in Q31. For an argument with f fraction bits the result is too large by f (`f << 31`).
///
/// In real numbers, with x = 2^e * (1 + (i + r) / 256), an integer i, 0 <= r < 1, and `d = LOG2[i+1] - LOG2[i]`:
///
/// ```text
/// log2(x) = e + log2(1 + (i + r)/256)  ~  e + LOG2[i] + r * d + r * (1 - r)/2 * ln 2 * d^2
/// ```
///
/// Error: the parabola leaves h^3/6 * 2 log2(e) * max|r (1 - r) (r - 1/2)| = 1.38e-9 for h = 2^-8. The entries, the
/// curvature term and the last digit add at most 4 * 2^-31. The bound is 3.3e-9. The result is exact at powers of two
/// and monotonic.
///
/// 64 bits suffice: d < 2^24 and r has 32 bits, so d * r has less than 56 bits. r * (1 - r) < 2^30 in Q32, and the
/// curvature term is less than 2^16. Hosts without a count of leading zeros find e by six comparisons (eBPF) or a
/// longest-prefix match (P4).
#[must_use]
#[inline]
pub fn log2_q31(x: u64) -> i64 {
    if x == 0 {
        return LOG2_OF_ZERO_Q31;
    }
    let leading_zeros = x.leading_zeros();
    let mantissa = x << leading_zeros;
    let cell = ((mantissa >> 55) & 0xff) as usize;
    let rest = (mantissa >> 23) & 0xffff_ffff;
    let low = u64::from(LOG2[cell]);
    let rise = u64::from(LOG2[cell + 1]) - low;
    let bow = bow(rise);
    let between = (rest * ((1 << 32) - rest)) >> 32;
    let fraction = low + ((rise * rest + bow * between) >> 32);
    (i64::from(63 - leading_zeros) << 31) + fraction as i64
}

/// Returns ln 2 * d^2 in Q31, where d is the rise over a cell. Times r * (1 - r)/2, this is the distance between the
/// curve and its chord. The P4 program stores this number in its table.
#[inline]
pub(super) fn bow(rise: u64) -> u64 {
    (((rise * rise) >> 31) * LN2_Q32) >> 33
}

/// Base-2 logarithm in Q16, the unit of the label.
///
/// ```text
/// log2(x), rounded to the nearest 2^-16
/// ```
///
/// Error: half a unit plus the error of [`log2_q31`]: 2^-17 + 3.3e-9 = 7.633e-6.
#[must_use]
#[inline]
pub fn log2_q16(x: u64) -> i32 {
    ((log2_q31(x) + (1 << 14)) >> 15) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUND: f64 = 3.3e-9;
    const UNIT_Q31: f64 = 1.0 / (1u64 << 31) as f64;

    fn check(x: u64) -> Result<(), String> {
        // Above 2^53 the conversion to f64 has a relative error of up to 2^-53, which is 1.6e-16 in the logarithm.
        let real = libm::log2(x as f64);
        let error = log2_q31(x) as f64 * UNIT_Q31 - real;
        let coarse = f64::from(log2_q16(x)) / 65_536.0 - real;
        let holds = error.abs() <= BOUND && coarse.abs() <= 1.0 / 131_072.0 + BOUND;
        if holds { Ok(()) } else { Err(format!("log2({x}): {error:e}, in Q16 {coarse:e}")) }
    }

    #[test]
    fn powers_of_two_are_exact_and_their_neighbours_within_the_bound() {
        for exponent in 0..64 {
            let power = 1u64 << exponent;
            assert_eq!(log2_q31(power), i64::from(exponent) << 31);
            assert_eq!(log2_q16(power), exponent << 16);
            for distance in 0..4096 {
                check(power.saturating_add(distance)).unwrap();
                check(power.saturating_sub(distance).max(1)).unwrap();
            }
        }
        check(u64::MAX).unwrap();
    }

    #[test]
    fn every_cell_of_the_table_is_within_the_bound_at_every_exponent() {
        // The parabola's error is largest at r = (1 -+ 1/sqrt(3))/2, about 1/5 and 4/5. At the ends of a cell the
        // entries are tested.
        for exponent in 8..64 {
            let width = 1u64 << (exponent - 8);
            for cell in 0..256u64 {
                let low = (1 << exponent) + cell * width;
                for x in [low, low + width / 5, low + width / 2, low + 4 * (width / 5), low + (width - 1)] {
                    check(x).unwrap();
                }
            }
        }
    }

    #[test]
    fn every_number_up_to_a_million_is_within_the_bound() {
        for x in 1..1_000_000 {
            check(x).unwrap();
        }
    }

    #[test]
    fn zero_is_below_every_positive_number() {
        assert_eq!(log2_q31(0), -64 << 31);
        assert_eq!(log2_q16(0), -64 << 16);
    }

    proptest! {
        #[test]
        fn random_numbers_of_every_magnitude_are_within_the_bound(bits: u64, shift in 0u32..64) {
            let x = bits >> shift;
            prop_assume!(x > 0);
            prop_assert_eq!(check(x), Ok(()));
        }

        #[test]
        fn neighbours_never_fall(bits: u64, shift in 0u32..64) {
            let x = (bits >> shift).min(u64::MAX - 1);
            prop_assert!(log2_q31(x) <= log2_q31(x + 1));
        }

        #[test]
        fn larger_numbers_never_have_smaller_logarithms(a: u64, b: u64, shift in 0u32..64) {
            let (a, b) = (a >> shift, b >> shift);
            prop_assert!(log2_q31(a.min(b)) <= log2_q31(a.max(b)));
        }
    }
}
