//! Base-2 logarithm of a positive integer: a shift, a table of 257 entries, one multiplication.

use super::tables::LOG2;

/// The value given for the logarithm of zero, in Q31: -64, below `log2` of any number with up to 63 fraction bits.
pub const LOG2_OF_ZERO_Q31: i64 = -64 << 31;

/// The base-2 logarithm in Q31. An argument with f fraction bits has a result that is f (`f << 31`) too large.
///
/// Real-valued, with x = 2^e * (1 + (i + r) / 256), i whole, 0 <= r < 1:
///
/// ```text
/// log2(x) = e + log2(1 + (i + r)/256)  ~  e + (1 - r) * LOG2[i] + r * LOG2[i+1]
/// ```
///
/// Error: the chord lies below the curve by at most h^2/8 * max|f''| = 2^-16/8 * log2(e) = 2.752e-6; the entries and
/// the last digit add 2^-31. Bound: -2.753e-6 to +2^-31. Exact at powers of two.
///
/// 64 bits suffice: neighbouring entries differ by less than 2^24, r has 32 bits, the product less than 56. Hosts
/// without a count of leading zeros find e by six comparisons (eBPF) or a longest-prefix match (P4).
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
    let fraction = low + ((rise * rest) >> 32);
    (i64::from(63 - leading_zeros) << 31) + fraction as i64
}

/// The base-2 logarithm in Q10, the unit of the label.
///
/// ```text
/// log2(x), rounded to the nearest 2^-10
/// ```
///
/// Error: half a unit and that of [`log2_q31`]: 2^-11 + 2.753e-6 = 4.911e-4.
#[must_use]
#[inline]
pub fn log2_q10(x: u64) -> i32 {
    ((log2_q31(x) + (1 << 20)) >> 21) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHORD: f64 = 2.753e-6;
    const UNIT_Q31: f64 = 1.0 / (1u64 << 31) as f64;

    fn check(x: u64) -> Result<(), String> {
        // Above 2^53 the conversion to f64 rounds by 2^-53 of x, 1.6e-16 in the logarithm.
        let real = libm::log2(x as f64);
        let error = log2_q31(x) as f64 * UNIT_Q31 - real;
        let coarse = f64::from(log2_q10(x)) / 1024.0 - real;
        let holds = (-CHORD..=UNIT_Q31).contains(&error) && coarse.abs() <= 1.0 / 2048.0 + CHORD;
        if holds { Ok(()) } else { Err(format!("log2({x}): {error:e}, in Q10 {coarse:e}")) }
    }

    #[test]
    fn powers_of_two_are_exact_and_their_neighbours_within_the_bound() {
        for exponent in 0..64 {
            let power = 1u64 << exponent;
            assert_eq!(log2_q31(power), i64::from(exponent) << 31);
            assert_eq!(log2_q10(power), exponent << 10);
            for distance in 0..4096 {
                check(power.saturating_add(distance)).unwrap();
                check(power.saturating_sub(distance).max(1)).unwrap();
            }
        }
        check(u64::MAX).unwrap();
    }

    #[test]
    fn every_cell_of_the_table_is_within_the_bound_at_every_exponent() {
        // The chord is worst in the middle of a cell; its ends test the entries.
        for exponent in 8..64 {
            let width = 1u64 << (exponent - 8);
            for cell in 0..256u64 {
                let low = (1 << exponent) + cell * width;
                for x in [low, low + width / 4, low + width / 2, low + (width - 1)] {
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
        assert_eq!(log2_q10(0), -64 << 10);
    }

    proptest! {
        #[test]
        fn random_numbers_of_every_magnitude_are_within_the_bound(bits: u64, shift in 0u32..64) {
            let x = bits >> shift;
            prop_assume!(x > 0);
            prop_assert_eq!(check(x), Ok(()));
        }

        #[test]
        fn larger_numbers_never_have_smaller_logarithms(a: u64, b: u64, shift in 0u32..64) {
            let (a, b) = (a >> shift, b >> shift);
            prop_assert!(log2_q31(a.min(b)) <= log2_q31(a.max(b)));
        }
    }
}
