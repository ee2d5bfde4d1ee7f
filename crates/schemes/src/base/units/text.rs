//! Quantities as text: a decimal number and a unit.
//!
//! Times, rates, sizes and numbers of packets are integers in their smallest unit. They are parsed in exact decimal
//! arithmetic. A fraction that the type cannot represent (`"78.125 bit/s"`) is rejected, not rounded. Thresholds in
//! packets or bytes are only compared, so they are rounded to the nearest floating-point number. Values are unchanged
//! after writing and parsing.

use super::{BitRate, Bytes, QueueLimit, Threshold, Time};
use std::fmt;
use std::str::FromStr;

/// Reason why a text is not a quantity of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// Not a number with a unit of this quantity, or too large.
    Malformed,
    /// Not an integer in the smallest unit of the type.
    Fraction(&'static str),
}

/// A number in decimal notation: `digits * 10^exponent`, without rounding.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// Parses `12.5`, `+1e-3` or `1_000`. Returns `None` for any other text, for a negative number, and for more digits
    /// or a larger exponent than any quantity has.
    fn parse(text: &str) -> Option<Self> {
        let text = text.replace('_', "");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text.as_str(), 0),
        };
        let (is_negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        if mantissa.is_empty() || mantissa == "." {
            return None;
        }
        let digits = whole
            .chars()
            .chain(fraction.chars())
            .try_fold(0u128, |digits, digit| digits.checked_mul(10)?.checked_add(digit.to_digit(10)?.into()))?;
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        (!is_negative || digits == 0).then_some(Self { digits, exponent })
    }

    /// Returns the number times `scale`, as an integer in the unit `of`.
    fn times(self, mut scale: u64, of: &'static str) -> Result<u64, QuantityError> {
        let mut digits = self.digits;
        if digits == 0 {
            return Ok(0);
        }
        for _ in 0..self.exponent.unsigned_abs() {
            if self.exponent > 0 {
                digits = digits.checked_mul(10).ok_or(QuantityError::Malformed)?;
                continue;
            }
            // Divides by ten, that is, by 2 and by 5. Each factor must divide `scale` or the digits.
            for factor in [2, 5] {
                if scale.is_multiple_of(factor) {
                    scale /= factor;
                } else if digits.is_multiple_of(factor.into()) {
                    digits /= u128::from(factor);
                } else {
                    return Err(QuantityError::Fraction(of));
                }
            }
        }
        let value = digits.checked_mul(scale.into()).ok_or(QuantityError::Malformed)?;
        value.try_into().map_err(|_| QuantityError::Malformed)
    }
}

/// Splits `"10 Mbit/s"` into `"10"` and `"Mbit/s"`.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_'))).unwrap_or(text.len());
    // An exponent is a part of the number only if digits follow: "1e3 s", but not "1 exabyte".
    let bytes = text.as_bytes();
    let exponent_end = if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let digits = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let len = text[digits.min(text.len())..].bytes().take_while(u8::is_ascii_digit).count();
        if len > 0 { digits + len } else { end }
    } else {
        end
    };
    (&text[..exponent_end], text[exponent_end..].trim())
}

/// Units of a quantity, as multiples of the first unit, the smallest.
type Units = [(&'static str, u64)];

const TIME_UNITS: &Units = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];

// "mbps" is intentionally absent: tc reads it as megabytes per second, ns-3 reads "Mbps" as megabits.
const RATE_UNITS: &Units = &[
    ("bit/s", 1),
    ("bps", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("Tb/s", 1_000_000_000_000),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("Gbit", 1_000_000_000),
];

const SIZE_UNITS: &Units = &[
    ("B", 1),
    ("byte", 1),
    ("bytes", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1024),
    ("MiB", 1_048_576),
    ("GiB", 1_073_741_824),
];

const PACKET_UNITS: &Units = &[("packets", 1), ("packet", 1), ("pkts", 1), ("pkt", 1), ("p", 1)];

fn scale_of(units: &Units, unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

fn parse_whole(text: &str, units: &Units) -> Result<u64, QuantityError> {
    let (number, unit) = split(text);
    let scale = scale_of(units, unit).ok_or(QuantityError::Malformed)?;
    Decimal::parse(number).ok_or(QuantityError::Malformed)?.times(scale, units[0].0)
}

impl FromStr for Time {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_whole(text, TIME_UNITS).map(Self)
    }
}

impl FromStr for BitRate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_whole(text, RATE_UNITS).map(Self)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_whole(text, SIZE_UNITS).map(Self)
    }
}

impl FromStr for QueueLimit {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if scale_of(SIZE_UNITS, split(text).1).is_some() {
            return text.parse().map(|Bytes(bytes)| Self::Bytes(bytes));
        }
        let packets = parse_whole(text, PACKET_UNITS)?;
        u32::try_from(packets).map(Self::Packets).map_err(|_| QuantityError::Malformed)
    }
}

impl FromStr for Threshold {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let unit = split(text).1;
        if scale_of(PACKET_UNITS, unit).is_some() {
            return parse_float(text, PACKET_UNITS).map(Self::Packets);
        }
        if scale_of(SIZE_UNITS, unit).is_some() {
            return parse_float(text, SIZE_UNITS).map(Self::Bytes);
        }
        text.parse().map(Self::Delay)
    }
}

/// Nearest floating-point number; an error if it is infinite, or zero for a non-zero number.
fn parse_float(text: &str, units: &Units) -> Result<f64, QuantityError> {
    let (number, unit) = split(text);
    let scale = scale_of(units, unit).ok_or(QuantityError::Malformed)?;
    let exact = Decimal::parse(number).ok_or(QuantityError::Malformed)?;
    if exact.digits == 0 {
        return Ok(0.0);
    }
    let value = number.replace('_', "").parse::<f64>().map_err(|_| QuantityError::Malformed)? * scale as f64;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(QuantityError::Malformed) }
}

/// Writes `value` in the largest of `units` (descending) that leaves at most three decimals.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let is_short = |scale: u64| value >= scale && (scale < 1000 || value.is_multiple_of(scale / 1000));
    let &(unit, scale) = units.iter().find(|(_, scale)| is_short(*scale)).unwrap_or(&units[units.len() - 1]);
    let thousandths = format!("{:03}", value % scale / (scale / 1000).max(1));
    match thousandths.trim_end_matches('0') {
        "" => write!(f, "{} {unit}", value / scale),
        decimals => write!(f, "{}.{decimals} {unit}", value / scale),
    }
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
        match self.0 {
            value if value < 100_000 => write!(f, "{value} B"),
            value if value < 1_000_000 => write_scaled(f, value, &[("kB", 1_000)]),
            value => write_scaled(f, value, &[("GB", 1_000_000_000), ("MB", 1_000_000), ("B", 1)]),
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
            assert_eq!(text.parse::<Time>(), Err(QuantityError::Malformed), "{text}");
        }
        for text in ["10 mbps", "10 MB/s", "-5 Mbit/s", "inf bit/s", "10"] {
            assert_eq!(text.parse::<BitRate>(), Err(QuantityError::Malformed), "{text}");
        }
        for text in ["1e400 packets", "1e308 kB", "1e-400 packets", "-1 packets", ". B", "1.2.3 B", "1e5-2 B"] {
            assert_eq!(text.parse::<Threshold>(), Err(QuantityError::Malformed), "{text}");
        }
    }

    #[test]
    fn refuses_a_fraction_that_the_type_cannot_hold() {
        for text in ["78.125 bit/s", "0.1 bps", "1.0000000000001 Gbit/s", "1e-1 bit", "1e-99999 bit/s"] {
            assert_eq!(text.parse::<BitRate>(), Err(QuantityError::Fraction("bit/s")), "{text}");
        }
        for text in ["0.5 ps", "1.0000000000001 s", "1e-13 s"] {
            assert_eq!(text.parse::<Time>(), Err(QuantityError::Fraction("ps")), "{text}");
        }
        assert_eq!("0.1 KiB".parse::<Bytes>(), Err(QuantityError::Fraction("B")));
        assert_eq!("1.5 B".parse::<QueueLimit>(), Err(QuantityError::Fraction("B")));
        assert_eq!("2.5 packets".parse::<QueueLimit>(), Err(QuantityError::Fraction("packets")));
    }

    #[test]
    fn decimal_fractions_are_exact() {
        // In floating point 2^53 + 1 is 2^53.
        assert_eq!("9007.199254740993 s".parse(), Ok(Time((1 << 53) + 1)));
        assert_eq!("4.35 Gbit/s".parse(), Ok(BitRate(4_350_000_000)));
        assert_eq!("78.125 kbit/s".parse(), Ok(BitRate(78_125)));
        assert_eq!("0.5 KiB".parse(), Ok(Bytes(512)));
        assert_eq!("0.000000000001000 s".parse(), Ok(Time(1)));
        assert_eq!("1_000.50e1 B".parse(), Ok(Bytes(10_005)));
        assert_eq!("18446744073709551615 ps".parse(), Ok(Time(u64::MAX)));
        assert_eq!("18446744073709551616 ps".parse::<Time>(), Err(QuantityError::Malformed));
        assert_eq!("-0 s".parse(), Ok(Time::ZERO));
    }

    #[test]
    fn text_form_reads_back_as_the_same_value() {
        for picos in [
            1,
            999,
            1_000,
            54_321,
            1_200_000_000,
            43_200_000,
            999_999_999_999,
            15_000_000_000_000,
            (1 << 53) + 1,
            u64::MAX,
        ] {
            let time = Time(picos);
            assert_eq!(time.to_string().parse(), Ok(time), "{time}");
        }
        for bits in [1, 9_600, 10_000, 1_536_000, 10_000_000, 4_170_001, 100_000_000_000] {
            let rate = BitRate(bits);
            assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
        }
        for bytes in [1, 1500, 131_072, 50_000, 1_000_000, 1_048_577, 1_048_600, 2_097_152, (1 << 53) + 1] {
            let size = Bytes(bytes);
            assert_eq!(size.to_string().parse(), Ok(size), "{size}");
        }
    }
}
