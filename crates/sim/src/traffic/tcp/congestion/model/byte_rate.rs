//! A rate in bytes per second, in floating point, for calculations with path models.

use fairlane_schemes::base::units::{BitRate, Time};

/// Bytes per second; may be infinite, which means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct ByteRate(pub f64);

impl ByteRate {
    /// No limit.
    pub const UNBOUNDED: Self = Self(f64::INFINITY);

    /// Rate of `bytes` in `span`. A span below a nanosecond is treated as a nanosecond.
    pub fn of(bytes: u64, span: Time) -> Self {
        Self(bytes as f64 / span.max(Time::from_nanos(1)).as_secs_f64())
    }

    /// Bytes delivered in `span`.
    #[inline]
    pub fn over(self, span: Time) -> f64 {
        self.0 * span.as_secs_f64()
    }

    /// Rate multiplied by `gain`.
    #[inline]
    pub fn times(self, gain: f64) -> Self {
        Self(self.0 * gain)
    }

    /// The lower of the two rates.
    #[inline]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The higher of the two rates.
    #[inline]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl From<BitRate> for ByteRate {
    #[inline]
    fn from(rate: BitRate) -> Self {
        Self(rate.as_f64() / 8.0)
    }
}

impl From<ByteRate> for BitRate {
    /// Converts to whole bits per second. The result is at least 8 bit/s, so that a paced sender never stops, and at
    /// most 1 Pbit/s.
    #[inline]
    fn from(rate: ByteRate) -> Self {
        Self((rate.0 * 8.0).clamp(8.0, 1e15) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_bytes_over_time_and_back() {
        // 1250 bytes in 1 ms are 10 Mbit/s. At this rate 50 000 bytes are delivered in 40 ms.
        let rate = ByteRate::of(1250, Time::from_millis(1));
        assert_eq!(BitRate::from(rate), BitRate(10_000_000));
        assert!((rate.over(Time::from_millis(40)) - 50_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_pacing_rate_is_never_zero_and_never_infinite() {
        assert_eq!(BitRate::from(ByteRate(0.0)), BitRate(8));
        assert_eq!(BitRate::from(ByteRate::UNBOUNDED), BitRate(1_000_000_000_000_000));
        assert!(ByteRate::of(1, Time::ZERO).0.is_finite());
    }
}
