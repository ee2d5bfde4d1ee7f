//! Quantities with their units in the type: time, bit rates, sizes and queue amounts.
//!
//! Every type reads and writes the form a person types in a scenario: `"5 ms"`, `"10 Mbit/s"`, `"1500 B"`,
//! `"24 packets"`. A bare number is never a quantity: `10` could be seconds or milliseconds, so it is an error.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

/// A point in simulated time, or a span of it, in whole picoseconds.
///
/// One byte at 100 Gbit/s lasts 80 ps, so that no serialisation time rounds; the range is 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The origin of time, and the empty span.
    pub const ZERO: Self = Self(0);
    /// Later than everything: the deadline of a timer that is not armed.
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

    /// The nearest picosecond; a negative or NaN value becomes zero, a value out of range [`Time::NEVER`].
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

    /// The time that `bytes` take at this rate, rounded to the nearest picosecond, at most [`Time::NEVER`]. The rate must
    /// not be zero.
    #[must_use]
    #[inline]
    pub fn time_of(self, bytes: u64) -> Time {
        // 2^64 ps / 8e12 ps per byte and bit/s: whole arithmetic in 64 bits holds up to 2.3 MB.
        let numerator = bytes.checked_mul(8 * Time::PER_SECOND).and_then(|bits_ps| bits_ps.checked_add(self.0 / 2));
        numerator.map_or_else(|| self.long_time_of(bytes), |numerator| Time(numerator / self.0))
    }

    /// The same in 128 bits.
    #[cold]
    fn long_time_of(self, bytes: u64) -> Time {
        let numerator = u128::from(bytes) * 8 * u128::from(Time::PER_SECOND) + u128::from(self.0 / 2);
        u64::try_from(numerator / u128::from(self.0)).map_or(Time::NEVER, Time)
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// What a queue may hold: a number of packets, one slot each whatever the size, or of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(u64),
}

impl QueueLimit {
    /// `fraction` of the limit as a threshold in its unit.
    #[must_use]
    pub fn part(self, fraction: f64) -> Threshold {
        match self {
            Self::Packets(packets) => Threshold::Packets(f64::from(packets) * fraction),
            Self::Bytes(bytes) => Threshold::Bytes(bytes as f64 * fraction),
        }
    }
}

/// A queue threshold, in the measure in which the queue is to be seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Packets waiting; a fraction is allowed, since thresholds are compared, not counted.
    Packets(f64),
    /// Bytes waiting.
    Bytes(f64),
    /// Expected queueing delay.
    Delay(Time),
}

impl Threshold {
    /// The bare number: packets, bytes, or seconds.
    #[must_use]
    pub fn magnitude(self) -> f64 {
        match self {
            Self::Packets(value) | Self::Bytes(value) => value,
            Self::Delay(time) => time.as_secs_f64(),
        }
    }

    /// The measure that this threshold speaks of.
    #[must_use]
    pub fn measure(self) -> QueueMeasure {
        match self {
            Self::Packets(_) => QueueMeasure::Packets,
            Self::Bytes(_) => QueueMeasure::Bytes,
            Self::Delay(_) => QueueMeasure::Delay,
        }
    }
}

/// How a queue's length is measured.
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

/// Splits `"10 Mbit/s"` into `10.0` and `"Mbit/s"`.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_'))).unwrap_or(text.len());
    // An exponent belongs to the number only when digits follow: "1e3 s", but not "1 exabyte".
    let bytes = text.as_bytes();
    let exponent_end = if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let digits = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let len = text[digits.min(text.len())..].bytes().take_while(u8::is_ascii_digit).count();
        if len > 0 { digits + len } else { end }
    } else {
        end
    };
    let number: f64 = text[..exponent_end].replace('_', "").parse().ok()?;
    Some((number, text[exponent_end..].trim()))
}

/// Scales `number` and rounds it to a whole number, if it is one that `u64` holds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64, scale: f64) -> Option<u64> {
    let value = (number * scale).round();
    (0.0..1.8e19).contains(&value).then_some(value as u64)
}

/// A text that is not a quantity of the kind asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAQuantity;

const TIME_UNITS: &[(&str, f64)] =
    &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("µs", 1e6), ("ms", 1e9), ("s", 1e12), ("min", 60e12), ("h", 3600e12)];

// "mbps" is absent on purpose: tc reads it as megabytes per second, ns-3 reads "Mbps" as megabits.
const RATE_UNITS: &[(&str, f64)] = &[
    ("bit/s", 1.0),
    ("bps", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
    ("Tb/s", 1e12),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("Tbps", 1e12),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
];

const SIZE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("byte", 1.0),
    ("bytes", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

const PACKET_UNITS: &[(&str, f64)] = &[("packets", 1.0), ("packet", 1.0), ("pkts", 1.0), ("pkt", 1.0), ("p", 1.0)];

fn scale_of(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

fn parse_whole(text: &str, units: &[(&str, f64)]) -> Result<u64, NotAQuantity> {
    let (number, unit) = split_number(text).ok_or(NotAQuantity)?;
    let scale = scale_of(units, unit).ok_or(NotAQuantity)?;
    whole(number, scale).ok_or(NotAQuantity)
}

impl FromStr for Time {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        parse_whole(text, TIME_UNITS).map(Self)
    }
}

impl FromStr for BitRate {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        parse_whole(text, RATE_UNITS).map(Self)
    }
}

impl FromStr for Bytes {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        parse_whole(text, SIZE_UNITS).map(Self)
    }
}

impl FromStr for QueueLimit {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        if let Ok(Bytes(bytes)) = text.parse() {
            return Ok(Self::Bytes(bytes));
        }
        let (number, unit) = split_number(text).ok_or(NotAQuantity)?;
        let scale = scale_of(PACKET_UNITS, unit).ok_or(NotAQuantity)?;
        if number.fract() != 0.0 {
            return Err(NotAQuantity);
        }
        let packets = whole(number, scale).ok_or(NotAQuantity)?;
        u32::try_from(packets).map(Self::Packets).map_err(|_| NotAQuantity)
    }
}

impl FromStr for Threshold {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        let (number, unit) = split_number(text).ok_or(NotAQuantity)?;
        if !number.is_finite() || number < 0.0 {
            return Err(NotAQuantity);
        }
        if scale_of(PACKET_UNITS, unit).is_some() {
            return Ok(Self::Packets(number));
        }
        if let Some(scale) = scale_of(SIZE_UNITS, unit) {
            return Ok(Self::Bytes(number * scale));
        }
        text.parse().map(Self::Delay)
    }
}

/// Writes `value` in the largest of `units` (descending) that leaves no long fraction.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    for &(unit, scale) in units {
        // At most three decimals: the text must read back as the same value.
        if value >= scale && (scale < 1000 || value.is_multiple_of(scale / 1000)) {
            return write!(f, "{} {unit}", value as f64 / scale as f64);
        }
    }
    let (unit, scale) = units[units.len() - 1];
    write!(f, "{} {unit}", value as f64 / scale as f64)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 s");
        }
        let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
        write_scaled(f, self.0, &units)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            ("Tbit/s", 1_000_000_000_000),
            ("Gbit/s", 1_000_000_000),
            ("Mbit/s", 1_000_000),
            ("kbit/s", 1_000),
            ("bit/s", 1),
        ];
        write_scaled(f, self.0, &units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 100_000), ("B", 1)];
        match self.0 {
            value if value < 100_000 => write!(f, "{value} B"),
            value if value < 1_000_000 => write!(f, "{} kB", value as f64 / 1000.0),
            value => write_scaled(f, value, &units),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => Bytes(*bytes).fmt(f),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => write!(f, "{bytes} B"),
            Self::Delay(time) => time.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_forms_that_ns3_tc_and_papers_use() {
        assert_eq!("5 ms".parse(), Ok(Time::from_millis(5)));
        assert_eq!("1.2ms".parse(), Ok(Time::from_micros(1200)));
        assert_eq!("1e-3 s".parse(), Ok(Time::from_millis(1)));
        assert_eq!("10 Mbit/s".parse(), Ok(BitRate(10_000_000)));
        assert_eq!("10Mbps".parse(), Ok(BitRate(10_000_000)));
        assert_eq!("10 Mb/s".parse(), Ok(BitRate(10_000_000)));
        assert_eq!("10mbit".parse(), Ok(BitRate(10_000_000)));
        assert_eq!("1500 B".parse(), Ok(Bytes(1500)));
        assert_eq!("128 KiB".parse(), Ok(Bytes(131_072)));
        assert_eq!("24 packets".parse(), Ok(QueueLimit::Packets(24)));
        assert_eq!("50 kB".parse(), Ok(QueueLimit::Bytes(50_000)));
        assert_eq!("14.4 ms".parse(), Ok(Threshold::Delay(Time::from_micros(14_400))));
        assert_eq!("2.5 packets".parse(), Ok(Threshold::Packets(2.5)));
    }

    #[test]
    fn refuses_what_has_no_unit_or_the_wrong_one() {
        for text in ["10", "", "fast", "-1 s", "nan s", "10 parsec", "5 Mbit/s"] {
            assert_eq!(text.parse::<Time>(), Err(NotAQuantity), "{text}");
        }
        for text in ["10 mbps", "10 MB/s", "-5 Mbit/s", "inf bit/s", "10"] {
            assert_eq!(text.parse::<BitRate>(), Err(NotAQuantity), "{text}");
        }
        assert_eq!("2.5 packets".parse::<QueueLimit>(), Err(NotAQuantity));
    }

    #[test]
    fn text_form_reads_back_as_the_same_value() {
        for picos in [1, 999, 1_000, 54_321, 1_200_000_000, 43_200_000, 999_999_999_999, 15_000_000_000_000] {
            let time = Time(picos);
            assert_eq!(time.to_string().parse(), Ok(time), "{time}");
        }
        for bits in [1, 9_600, 10_000, 1_536_000, 10_000_000, 4_170_001, 100_000_000_000] {
            let rate = BitRate(bits);
            assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
        }
        for bytes in [1, 1500, 131_072, 50_000, 1_000_000, 1_048_577, 2_097_152] {
            let size = Bytes(bytes);
            assert_eq!(size.to_string().parse(), Ok(size), "{size}");
        }
    }

    #[test]
    fn serialisation_time_is_exact_at_100_gigabit() {
        // 54 B * 8 bit / 100 Gbit/s = 4.32 ns, which nanoseconds cannot hold.
        assert_eq!(BitRate(100_000_000_000).time_of(54), Time(4_320));
        // 1500 B at 10 Mbit/s: 1.2 ms, abc2018 section IV-G4.
        assert_eq!(BitRate(10_000_000).time_of(1500), Time::from_micros(1200));
    }

    #[test]
    fn serialisation_time_of_megabytes_does_not_wrap() {
        // 2^64 / 8e12 = 2_305_843.009: the next byte exceeds 64 bits.
        for bytes in [2_305_843, 2_305_844, 100_000_000] {
            assert_eq!(BitRate(8_000_000).time_of(bytes), Time::from_micros(bytes));
        }
        // Half a picosecond rounds up: 3 000 001 B * 8 / 16 Gbit/s = 1 500 000.5 ns; at 16e18 bit/s 1.5000005 ps.
        assert_eq!(BitRate(16_000_000_000).time_of(3_000_001), Time(1_500_000_500));
        assert_eq!(BitRate(16_000_000_000_000_000_000).time_of(3_000_001), Time(2));
        // 8e18 s are beyond the range.
        assert_eq!(BitRate(1).time_of(1_000_000_000_000_000_000), Time::NEVER);
    }
}
