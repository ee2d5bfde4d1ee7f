//! Quantities whose type includes the unit: time, bit rates, sizes and queue amounts.
//!
//! Every type can be parsed from, and formatted in, the notation of scenarios: `"5 ms"`, `"10 Mbit/s"`, `"1500 B"`,
//! `"24 packets"`. A number without a unit is an error, since `10` could be seconds or milliseconds. See [`text`] for
//! the notation.

pub mod text;

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A probability: a number from 0 to 1, or a percentage such as `"1 %"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(pub f64);

/// A point in simulated time or a duration, in picoseconds.
///
/// One byte at 100 Gbit/s takes 80 ps, so transmission times at usual link rates need no rounding. The range is 213
/// days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// Time 0, or a duration of 0.
    pub const ZERO: Self = Self(0);
    /// Later than any other time: deadline of a timer that is not armed.
    pub const NEVER: Self = Self(u64::MAX);
    /// Picoseconds in one second.
    pub const PER_SECOND: u64 = 1_000_000_000_000;

    /// A whole number of seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * Self::PER_SECOND)
    }

    /// A whole number of milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000_000)
    }

    /// A whole number of microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000_000)
    }

    /// A whole number of nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos * 1_000)
    }

    /// Converts seconds to the nearest picosecond. Negative values and NaN become zero; values out of range become
    /// [`Time::NEVER`].
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * Self::PER_SECOND as f64 + 0.5) as u64)
    }

    /// Seconds as a floating-point number.
    #[must_use]
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / Self::PER_SECOND as f64
    }

    /// `self - earlier`, or zero if `earlier` is later.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, at most [`Time::NEVER`].
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, span: Self) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Self;
    #[inline]
    fn sub(self, earlier: Self) -> Self {
        Self(self.0 - earlier.0)
    }
}

impl SubAssign for Time {
    #[inline]
    fn sub_assign(&mut self, span: Self) {
        self.0 -= span.0;
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Bits per second as a floating-point number.
    #[must_use]
    #[inline]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Rate of `bytes` in `span`, which must not be zero, rounded down to integer bits per second.
    #[must_use]
    #[inline]
    pub fn of(bytes: u64, span: Time) -> Self {
        // 64 bits suffice up to 2.3 MB.
        let bits_ps = bytes.checked_mul(8 * Time::PER_SECOND);
        bits_ps.map_or_else(|| Self::long_of(bytes, span), |bits_ps| Self(bits_ps / span.0))
    }

    /// Computes [`BitRate::of`] in 128 bits.
    #[cold]
    fn long_of(bytes: u64, span: Time) -> Self {
        let bits_ps = u128::from(bytes) * 8 * u128::from(Time::PER_SECOND);
        Self(u64::try_from(bits_ps / u128::from(span.0)).unwrap_or(u64::MAX))
    }

    /// Transmission time of `bytes` at this rate, rounded to the nearest picosecond, at most [`Time::NEVER`]. The rate
    /// must not be zero.
    #[must_use]
    #[inline]
    pub fn time_of(self, bytes: u64) -> Time {
        // The numerator is 8e12 per byte, so 64-bit integers suffice up to 2^64 / 8e12 bytes = 2.3 MB.
        let numerator = bytes.checked_mul(8 * Time::PER_SECOND).and_then(|bits_ps| bits_ps.checked_add(self.0 / 2));
        numerator.map_or_else(|| self.long_time_of(bytes), |numerator| Time(numerator / self.0))
    }

    /// Computes [`BitRate::time_of`] in 128 bits.
    #[cold]
    fn long_time_of(self, bytes: u64) -> Time {
        let numerator = u128::from(bytes) * 8 * u128::from(Time::PER_SECOND) + u128::from(self.0 / 2);
        u64::try_from(numerator / u128::from(self.0)).map_or(Time::NEVER, Time)
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Limit of a queue: a number of packets, regardless of their size, or a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(u64),
}

impl QueueLimit {
    /// Returns `fraction` of the limit as a threshold in the same unit.
    #[must_use]
    pub fn part(self, fraction: f64) -> Threshold {
        match self {
            Self::Packets(packets) => Threshold::Packets(f64::from(packets) * fraction),
            Self::Bytes(bytes) => Threshold::Bytes(bytes as f64 * fraction),
        }
    }
}

/// A queue threshold. Its unit is the unit of the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Waiting packets. Fractions are allowed, since thresholds are compared, not counted.
    Packets(f64),
    /// Bytes waiting.
    Bytes(f64),
    /// Expected queueing delay.
    Delay(Time),
}

impl Threshold {
    /// Value without the unit: packets, bytes, or seconds.
    #[must_use]
    pub fn magnitude(self) -> f64 {
        match self {
            Self::Packets(value) | Self::Bytes(value) => value,
            Self::Delay(time) => time.as_secs_f64(),
        }
    }

    /// Unit of this threshold.
    #[must_use]
    pub fn measure(self) -> QueueMeasure {
        match self {
            Self::Packets(_) => QueueMeasure::Packets,
            Self::Bytes(_) => QueueMeasure::Bytes,
            Self::Delay(_) => QueueMeasure::Delay,
        }
    }
}

/// Unit of a queue's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMeasure {
    /// Packets waiting.
    Packets,
    /// Bytes waiting.
    Bytes,
    /// Expected queueing delay in seconds.
    Delay,
}

impl fmt::Display for QueueMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Delay => "delay",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_time_is_exact_at_100_gigabit() {
        // 54 B * 8 bit / 100 Gbit/s = 4.32 ns, which is not a whole number of nanoseconds.
        assert_eq!(BitRate(100_000_000_000).time_of(54), Time(4_320));
        // 1500 B at 10 Mbit/s take 1.2 ms (abc2018 section IV-G4).
        assert_eq!(BitRate(10_000_000).time_of(1500), Time::from_micros(1200));
    }

    #[test]
    fn a_rate_is_bits_over_time_rounded_down_for_any_number_of_bytes() {
        // The time is 1.2 ms, then one picosecond more.
        assert_eq!(BitRate::of(1500, Time::from_micros(1200)), BitRate(10_000_000));
        assert_eq!(BitRate::of(1500, Time::from_micros(1200) + Time(1)), BitRate(9_999_999));
        // 10 GB in 8 s: 8e10 bits times 1e12 ps per second exceed 64 bits.
        assert_eq!(BitRate::of(10_000_000_000, Time::from_secs(8)), BitRate(10_000_000_000));
    }

    #[test]
    fn serialisation_time_of_megabytes_does_not_wrap() {
        // 2^64 / 8e12 = 2_305_843.009: the next byte exceeds 64 bits.
        for bytes in [2_305_843, 2_305_844, 100_000_000] {
            assert_eq!(BitRate(8_000_000).time_of(bytes), Time::from_micros(bytes));
        }
        // Half a picosecond rounds up: 3 000 001 B * 8 / 16 Gbit/s = 1 500 000.5 ns; at 16e18 bit/s it is 1.5000005 ps.
        assert_eq!(BitRate(16_000_000_000).time_of(3_000_001), Time(1_500_000_500));
        assert_eq!(BitRate(16_000_000_000_000_000_000).time_of(3_000_001), Time(2));
        // 8e18 s are out of range.
        assert_eq!(BitRate(1).time_of(1_000_000_000_000_000_000), Time::NEVER);
    }
}
