//! Exponential and logarithm for per-packet computations: short, portable, with bounded error.
//!
//! The functions use IEEE additions and multiplications in a fixed order, so they give the same bits on every machine.
//! They take a third of the time of `libm`. Arguments for which the formulas do not hold are passed to `libm`.
//!
//! | function | formula | error |
//! |---|---|---|
//! | [`fade`] | `1 - exp(-x) = x - x^2/2 + ... - x^8/8!` for `x <= 1/32` | 2 ulp; the remainder `x^8/9!` is 2.5e-18 |
//! | [`log2`] | `e + log2(c) + log2(1 + r)`, `r = (m - c)/c`, `c` the middle of one of 64 intervals | 4e-16 + 1 ulp |
//!
//! Sources: Taylor series of the two functions; reduction by a table, as in Tang, "Table-driven implementation of the
//! logarithm function in IEEE floating-point arithmetic", ACM TOMS 16 (1990). The table is computed by the compiler.

use std::f64::consts::{LN_2, LOG2_E};

/// Returns `1 - exp(-x)`, the decayed fraction after a time `x` in units of the memory; `x` is not negative.
#[must_use]
#[inline]
pub fn fade(x: f64) -> f64 {
    if x > 1.0 / 32.0 {
        return fade_of_long(x);
    }
    // Pairs the terms, so that the processor can compute them in parallel.
    let (x2, x4) = (x * x, (x * x) * (x * x));
    let low = (1.0 / 2.0 - x * (1.0 / 6.0)) + x2 * (1.0 / 24.0 - x * (1.0 / 120.0));
    let high = (1.0 / 720.0 - x * (1.0 / 5_040.0)) + x2 * (1.0 / 40_320.0);
    x - x2 * (low + x4 * high)
}

#[cold]
fn fade_of_long(x: f64) -> f64 {
    -libm::expm1(-x)
}

/// Bits of the significand that select the interval.
const INDEX_BITS: u32 = 6;
const INTERVALS: usize = 1 << INDEX_BITS;
/// Bits of the fraction of a double.
const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
/// Bits of the fraction below the index.
const REST_BITS: u32 = FRACTION_BITS - INDEX_BITS;

/// `1/c` and `log2(c)` for the middle `c` of each interval of [1, 2).
static MIDDLES: [(f64, f64); INTERVALS] = middles();

/// Base-2 logarithm. For zero, infinity, subnormal and negative numbers, returns the result of `libm`.
#[must_use]
#[inline]
pub fn log2(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&x) {
        return log2_of_rare(x);
    }
    let bits = x.to_bits();
    let exponent = (bits >> FRACTION_BITS) as i32 - 1023;
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let (inverse, log2_middle) = MIDDLES[(fraction >> REST_BITS) as usize % INTERVALS];
    let significand = f64::from_bits(1.0f64.to_bits() | fraction);
    let middle = f64::from_bits((significand.to_bits() >> REST_BITS << REST_BITS) | (1 << (REST_BITS - 1)));
    // The difference is exact, and |r| <= 2^-7: the remainder r^8/(8 ln 2) is below 3e-18.
    let r = (significand - middle) * inverse;
    let r2 = r * r;
    let low = (1.0 / 2.0 - r * (1.0 / 3.0)) + r2 * (1.0 / 4.0 - r * (1.0 / 5.0));
    let series = r - r2 * (low + (r2 * r2) * (1.0 / 6.0 - r * (1.0 / 7.0)));
    (f64::from(exponent) + log2_middle) + series * LOG2_E
}

#[cold]
fn log2_of_rare(x: f64) -> f64 {
    libm::log2(x)
}

const fn middles() -> [(f64, f64); INTERVALS] {
    let mut table = [(0.0, 0.0); INTERVALS];
    let mut index = 0;
    while index < INTERVALS {
        let middle = 1.0 + (index as f64 + 0.5) / INTERVALS as f64;
        // ln(c) = 2 (s + s^3/3 + s^5/5 + ...), s = (c - 1)/(c + 1) < 1/3: the term after s^39 is below 2^-69.
        let s = (middle - 1.0) / (middle + 1.0);
        let (mut sum, mut degree) = (0.0, 39);
        while degree >= 1 {
            sum = sum * s * s + 1.0 / degree as f64;
            degree -= 2;
        }
        table[index] = (1.0 / middle, 2.0 * s * sum / LN_2);
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance from `x` to the next double of its magnitude.
    fn ulp(x: f64) -> f64 {
        x.abs().next_up() - x.abs()
    }

    /// Numbers from `from` to `to`, each `factor` times the previous one; none is a power of two.
    fn sweep(from: f64, to: f64, factor: f64) -> impl Iterator<Item = f64> {
        std::iter::successors(Some(from), move |x| Some(x * factor)).take_while(move |&x| x < to)
    }

    #[test]
    fn fade_is_within_2_ulp_of_libm() {
        for x in sweep(1e-12, 50.0, 1.000_123).chain([0.0, 1.0 / 32.0, (1.0f64 / 32.0).next_up(), 1e3]) {
            let exact = -libm::expm1(-x);
            assert!((fade(x) - exact).abs() <= 2.0 * ulp(exact), "{x}: {} is not {exact}", fade(x));
        }
    }

    #[test]
    fn log2_is_within_its_bound_of_libm() {
        let ends = (0..INTERVALS).map(|i| 1.0 + i as f64 / INTERVALS as f64).flat_map(|end| [end, end.next_down()]);
        for x in sweep(1e-300, 1e300, 1.003_1).chain(sweep(0.5, 2.0, 1.000_017)).chain(ends) {
            let exact = libm::log2(x);
            assert!((log2(x) - exact).abs() <= 4e-16 + ulp(exact), "{x}: {} is not {exact}", log2(x));
        }
        assert_eq!(log2(0.0), f64::NEG_INFINITY);
        assert_eq!(log2(f64::INFINITY), f64::INFINITY);
        assert_eq!(log2(f64::from_bits(1)), -1074.0);
        assert!(log2(-1.0).is_nan() && log2(f64::NAN).is_nan());
    }
}
