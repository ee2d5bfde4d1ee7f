//! Kinds of values in a configuration: parsing, checks and output.

use super::error::{ConfigError, shown};
use super::names::meant;
use crate::base::units::text::QuantityError;
use crate::base::units::{BitRate, Bytes, Probability, QueueLimit, Threshold, Time};
use serde_json::{Value as Json, json};
use std::str::FromStr;

/// A value that may be used in a configuration.
pub trait ConfigValue: Sized {
    /// Name of the kind, for messages such as "is not a rate".
    const KIND: &'static str;
    /// An example of the notation.
    const EXAMPLE: &'static str;
    /// All values, if there is a finite list.
    const CHOICES: Option<&'static [&'static str]> = None;
    /// Meaning of each choice; empty without one.
    const CHOICE_DOCS: &'static [&'static str] = &[];
    /// Parses the value. Returns `None` if it is of another kind.
    fn parse(value: &Json) -> Option<Self>;
    /// Returns the unit of `value` if the only problem is that it is a fraction, while the type is an integer.
    fn unit_of_fraction(_value: &Json) -> Option<&'static str> {
        None
    }
    /// Writes the value in a form that [`ConfigValue::parse`] accepts.
    fn to_json(&self) -> Json;
    /// Returns true if the value is within the bounds, inclusive.
    fn within(&self, min: &Self, max: &Self) -> bool;
}

/// Like [`ConfigValue::unit_of_fraction`], for a quantity.
fn fraction_of<T: FromStr<Err = QuantityError>>(value: &Json) -> Option<&'static str> {
    match value.as_str()?.parse::<T>() {
        Err(QuantityError::Fraction(unit)) => Some(unit),
        _ => None,
    }
}

macro_rules! quantity {
    ($type:ty, $kind:literal, $example:literal, $within:expr) => {
        impl ConfigValue for $type {
            const KIND: &'static str = $kind;
            const EXAMPLE: &'static str = $example;
            fn parse(value: &Json) -> Option<Self> {
                value.as_str()?.parse().ok()
            }
            fn unit_of_fraction(value: &Json) -> Option<&'static str> {
                fraction_of::<Self>(value)
            }
            fn to_json(&self) -> Json {
                Json::String(self.to_string())
            }
            fn within(&self, min: &Self, max: &Self) -> bool {
                $within(self, min, max)
            }
        }
    };
}
quantity!(Time, "time", "5 ms", is_between);
quantity!(BitRate, "rate", "10 Mbit/s", is_between);
quantity!(Bytes, "size", "1500 B", is_between);
quantity!(Threshold, "threshold", "12 packets", is_threshold_between);
quantity!(QueueLimit, "queue limit", "24 packets", is_limit_between);

fn is_between<T: PartialOrd>(value: &T, min: &T, max: &T) -> bool {
    min <= value && value <= max
}

/// Returns true if `value` is within the bounds. Also returns true if its unit is not that of the bounds: the scheme
/// then checks the threshold itself.
fn is_threshold_between(value: &Threshold, min: &Threshold, max: &Threshold) -> bool {
    value.measure() != min.measure() || (min.magnitude()..=max.magnitude()).contains(&value.magnitude())
}

/// Returns true if `value` is within the bounds, which are in packets. For a limit in bytes, the minimum is the same
/// number of bytes, and the maximum is converted with packets of 65 535 bytes.
fn is_limit_between(value: &QueueLimit, min: &QueueLimit, max: &QueueLimit) -> bool {
    let magnitude = |limit: &QueueLimit| match *limit {
        QueueLimit::Packets(packets) => u64::from(packets),
        QueueLimit::Bytes(bytes) => bytes,
    };
    let most = match value {
        QueueLimit::Packets(_) => magnitude(max),
        QueueLimit::Bytes(_) => magnitude(max).saturating_mul(65_535),
    };
    (magnitude(min)..=most).contains(&magnitude(value))
}

macro_rules! number {
    ($type:ty, $kind:literal, $example:literal, $read:ident) => {
        impl ConfigValue for $type {
            const KIND: &'static str = $kind;
            const EXAMPLE: &'static str = $example;
            fn parse(value: &Json) -> Option<Self> {
                value.$read().and_then(|number| number.try_into().ok())
            }
            fn to_json(&self) -> Json {
                json!(self)
            }
            fn within(&self, min: &Self, max: &Self) -> bool {
                min <= self && self <= max
            }
        }
    };
}
number!(u32, "count", "10", as_u64);
number!(u64, "count", "10", as_u64);
number!(f64, "number", "1.5", as_f64);

/// A number or a percentage. Values out of range are parsed, too, so that the error can show them.
impl ConfigValue for Probability {
    const KIND: &'static str = "probability";
    const EXAMPLE: &'static str = "1 %";
    fn parse(value: &Json) -> Option<Self> {
        let percent = |text: &str| text.trim().strip_suffix('%')?.trim().parse::<f64>().ok().map(|value| value / 100.0);
        let value = value.as_f64().or_else(|| percent(value.as_str()?))?;
        value.is_finite().then_some(Self(value))
    }
    fn to_json(&self) -> Json {
        json!(self.0)
    }
    fn within(&self, min: &Self, max: &Self) -> bool {
        min <= self && self <= max
    }
}

/// Implements kinds without bounds.
macro_rules! unbounded {
    ($type:ty, $kind:literal, $example:literal, $read:ident) => {
        impl ConfigValue for $type {
            const KIND: &'static str = $kind;
            const EXAMPLE: &'static str = $example;
            fn parse(value: &Json) -> Option<Self> {
                value.$read().map(Into::into)
            }
            fn to_json(&self) -> Json {
                json!(self)
            }
            fn within(&self, _: &Self, _: &Self) -> bool {
                true
            }
        }
    };
}
unbounded!(bool, "flag", "true", as_bool);
unbounded!(String, "text", "heavy", as_str);

/// A value that may be absent; absent by default.
impl<T: ConfigValue> ConfigValue for Option<T> {
    const KIND: &'static str = T::KIND;
    const EXAMPLE: &'static str = T::EXAMPLE;
    const CHOICES: Option<&'static [&'static str]> = T::CHOICES;
    const CHOICE_DOCS: &'static [&'static str] = T::CHOICE_DOCS;
    fn parse(value: &Json) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::parse(value).map(Some) }
    }
    fn unit_of_fraction(value: &Json) -> Option<&'static str> {
        T::unit_of_fraction(value)
    }
    fn to_json(&self) -> Json {
        self.as_ref().map_or(Json::Null, ConfigValue::to_json)
    }
    fn within(&self, min: &Self, max: &Self) -> bool {
        match (self, min, max) {
            (Some(value), Some(min), Some(max)) => value.within(min, max),
            _ => true,
        }
    }
}

/// A list of values of one kind. The caller checks conditions that involve several values.
impl<T: ConfigValue> ConfigValue for Vec<T> {
    const KIND: &'static str = match T::KIND.as_bytes() {
        b"number" => "list of numbers",
        _ => "list",
    };
    const EXAMPLE: &'static str = T::EXAMPLE;
    fn parse(value: &Json) -> Option<Self> {
        value.as_array()?.iter().map(T::parse).collect()
    }
    fn unit_of_fraction(value: &Json) -> Option<&'static str> {
        value.as_array()?.iter().find_map(T::unit_of_fraction)
    }
    fn to_json(&self) -> Json {
        self.iter().map(ConfigValue::to_json).collect()
    }
    fn within(&self, _: &Self, _: &Self) -> bool {
        true
    }
}

/// Reads and checks one value. `range` is `None` for kinds without a range.
///
/// # Errors
/// If the value is of another kind or outside `range`. The error names the allowed values.
pub fn read_value<T: ConfigValue>(key: &str, value: &Json, range: Option<(Json, Json)>) -> Result<T, ConfigError> {
    let bounds =
        || range.as_ref().map(|(min, max)| format!(" from {} to {}", plain(min), plain(max))).unwrap_or_default();
    let Some(parsed) = T::parse(value) else {
        let bounds = bounds();
        if let Some(unit) = T::unit_of_fraction(value) {
            return Err(ConfigError::new(key, format!("{value} is not a whole number of {unit}{bounds}")));
        }
        let wanted = match T::CHOICES {
            Some(choices) => one_of(choices, value),
            None => format!("a {} such as {}{bounds}", T::KIND, quoted::<T>()),
        };
        return Err(ConfigError::new(key, format!("{} is not {wanted}", shown(value))));
    };
    if let Some((min, max)) = &range {
        let limits = T::parse(min).zip(T::parse(max)).expect("declared ranges are well-formed");
        if !parsed.within(&limits.0, &limits.1) {
            let bounds = bounds();
            return Err(ConfigError::new(key, format!("{} is out of range, it must be{bounds}", shown(value))));
        }
    }
    Ok(parsed)
}

/// Returns a hint for an error: all `choices`, and a suggestion of the choices that are similar to `value`.
pub(super) fn one_of(choices: &[&str], value: &Json) -> String {
    let close = meant(value.as_str().unwrap_or_default(), choices.iter().copied());
    let hint = if close.is_empty() { String::new() } else { format!("; did you mean {}?", close.join(", ")) };
    format!("one of {}{hint}", choices.join(", "))
}

pub(super) fn quoted<T: ConfigValue>() -> String {
    match T::KIND {
        "count" | "number" | "flag" => T::EXAMPLE.into(),
        "list" => format!("[\"{}\"]", T::EXAMPLE),
        "list of numbers" => format!("[{}]", T::EXAMPLE),
        _ => format!("\"{}\"", T::EXAMPLE),
    }
}

/// Formats a JSON value. A text has no quotes.
fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Declares an enum of named choices for a configuration.
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident { $( $(#[doc = $doc:expr])+ $Variant:ident = $text:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name { $( $(#[doc = $doc])+ $Variant, )+ }

        impl $Name {
            /// All choices, in the order of the documentation.
            #[allow(dead_code)]
            pub const ALL: &[Self] = &[$( Self::$Variant ),+];

            /// The name in a configuration.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$Variant => $text, )+ }
            }
        }

        impl $crate::base::config::ConfigValue for $Name {
            const KIND: &'static str = "choice";
            const EXAMPLE: &'static str = "";
            const CHOICES: Option<&'static [&'static str]> = Some(&[$($text),+]);
            const CHOICE_DOCS: &'static [&'static str] = &[$(concat!($($doc),+)),+];
            fn parse(value: &$crate::serde_json::Value) -> Option<Self> {
                match value.as_str()? { $( $text => Some(Self::$Variant), )+ _ => None }
            }
            fn to_json(&self) -> $crate::serde_json::Value {
                self.name().into()
            }
            fn within(&self, _: &Self, _: &Self) -> bool {
                true
            }
        }
    };
}
