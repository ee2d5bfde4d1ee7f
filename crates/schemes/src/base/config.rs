//! Configuration: one declaration per parameter gives its type, default, range, documentation and error message.
//!
//! [`params!`](crate::params!) declares a parameter set. From the one declaration come the struct, its defaults, reading it from a
//! table with every range checked, writing it back with every default filled in, and the [`ParamSpec`]s from which
//! the reference tables and the JSON Schema are made. A scenario is a tree of such tables; [`Table`] walks it and
//! keeps the path, so that each error names the key, the value, and what is allowed.

use crate::base::units::text::QuantityError;
use crate::base::units::{BitRate, Bytes, QueueLimit, Threshold, Time};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::fmt::Display;
use std::str::FromStr;

/// A mistake in a configuration, in one line: key, value, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// Path of the key, such as `groups[0].sources[1].rate`.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

impl ConfigError {
    /// An error at `key`.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into() }
    }
}

/// What a parameter is, for people, tables and schemas.
#[derive(Clone, Debug, Serialize)]
pub struct ParamSpec {
    /// Key in a scenario; also the name in Python and every other host.
    pub name: &'static str,
    /// The symbol of the paper, or an empty string.
    pub symbol: &'static str,
    /// Kind of value: time, rate, size, ...
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The default as a person would write it; null where the key may be absent.
    pub default: Json,
    /// Smallest value allowed, or null.
    pub min: Json,
    /// Largest value allowed, or null.
    pub max: Json,
    /// How the value is written, such as `"5 ms"`.
    pub unit: &'static str,
    /// All values allowed, for a choice.
    pub choices: Option<&'static [&'static str]>,
    /// What it does.
    pub doc: String,
    /// Where the default or the meaning comes from.
    pub source: &'static str,
}

impl ParamSpec {
    /// JSON Schema of the value.
    #[must_use]
    pub fn json_schema(&self) -> Json {
        let mut schema = match self.kind {
            "count" => json!({"type": "integer", "minimum": self.min, "maximum": self.max}),
            "number" => json!({"type": "number", "minimum": self.min, "maximum": self.max}),
            "flag" => json!({"type": "boolean"}),
            "choice" => json!({"enum": self.choices}),
            "text" => json!({"type": "string"}),
            "list" => json!({"type": "array", "items": {"type": "string"}}),
            _ => json!({"type": "string", "pattern": r"^\s*[0-9].*[A-Za-z/]+\s*$", "examples": [self.unit]}),
        };
        let fields = schema.as_object_mut().expect("literal object");
        if self.default.is_null() {
            fields.remove("default");
        } else {
            fields.insert("default".into(), self.default.clone());
        }
        fields.insert("description".into(), Json::String(self.doc.clone()));
        // What JSON Schema has no word for: bounds of quantities, symbol and source.
        let annotations = [
            ("x-minimum", self.min.clone()),
            ("x-maximum", self.max.clone()),
            ("x-symbol", self.symbol.into()),
            ("x-source", self.source.into()),
        ];
        fields.extend(
            annotations
                .into_iter()
                .filter(|(_, value)| !value.is_null() && *value != "")
                .map(|(key, value)| (key.into(), value)),
        );
        schema
    }
}

/// A value that can stand in a configuration.
pub trait ConfigValue: Sized {
    /// Name of the kind, as in "is not a rate".
    const KIND: &'static str;
    /// An example of how it is written.
    const EXAMPLE: &'static str;
    /// All values, if they can be listed.
    const CHOICES: Option<&'static [&'static str]> = None;
    /// Reads it; `None` if the value is of another kind.
    fn parse(value: &Json) -> Option<Self>;
    /// Why `value` does not parse, if it is a fraction where the type holds whole numbers only: of which unit.
    fn unit_of_fraction(_value: &Json) -> Option<&'static str> {
        None
    }
    /// Writes it so that [`ConfigValue::parse`] reads it back.
    fn to_json(&self) -> Json;
    /// Whether it lies between the two, ends included.
    fn within(&self, min: &Self, max: &Self) -> bool;
}

/// As [`ConfigValue::unit_of_fraction`], of a quantity.
fn fraction_of<T: FromStr<Err = QuantityError>>(value: &Json) -> Option<&'static str> {
    match value.as_str()?.parse::<T>() {
        Err(QuantityError::Fraction(unit)) => Some(unit),
        _ => None,
    }
}

macro_rules! quantity {
    ($type:ty, $kind:literal, $example:literal) => {
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
                min <= self && self <= max
            }
        }
    };
}
quantity!(Time, "time", "5 ms");
quantity!(BitRate, "rate", "10 Mbit/s");
quantity!(Bytes, "size", "1500 B");

impl ConfigValue for Threshold {
    const KIND: &'static str = "threshold";
    const EXAMPLE: &'static str = "12 packets";
    fn parse(value: &Json) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
    fn unit_of_fraction(value: &Json) -> Option<&'static str> {
        fraction_of::<Self>(value)
    }
    fn to_json(&self) -> Json {
        Json::String(self.to_string())
    }
    /// In the same unit only: a scheme checks its thresholds together.
    fn within(&self, min: &Self, max: &Self) -> bool {
        self.measure() != min.measure() || (min.magnitude()..=max.magnitude()).contains(&self.magnitude())
    }
}

impl ConfigValue for QueueLimit {
    const KIND: &'static str = "queue limit";
    const EXAMPLE: &'static str = "24 packets";
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
        // Packets and bytes are not comparable; a bound in packets holds for bytes too, as the looser of the two.
        let magnitude = |limit: &Self| match *limit {
            Self::Packets(packets) => u64::from(packets),
            Self::Bytes(bytes) => bytes,
        };
        magnitude(min) <= magnitude(self)
            && match self {
                Self::Packets(_) => magnitude(self) <= magnitude(max),
                Self::Bytes(_) => magnitude(self) <= magnitude(max).saturating_mul(65_535),
            }
    }
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

impl ConfigValue for bool {
    const KIND: &'static str = "flag";
    const EXAMPLE: &'static str = "true";
    fn parse(value: &Json) -> Option<Self> {
        value.as_bool()
    }
    fn to_json(&self) -> Json {
        json!(self)
    }
    fn within(&self, _: &Self, _: &Self) -> bool {
        true
    }
}

impl ConfigValue for String {
    const KIND: &'static str = "text";
    const EXAMPLE: &'static str = "heavy";
    fn parse(value: &Json) -> Option<Self> {
        value.as_str().map(Into::into)
    }
    fn to_json(&self) -> Json {
        json!(self)
    }
    fn within(&self, _: &Self, _: &Self) -> bool {
        true
    }
}

/// A value that may be absent, which is its default.
impl<T: ConfigValue> ConfigValue for Option<T> {
    const KIND: &'static str = T::KIND;
    const EXAMPLE: &'static str = T::EXAMPLE;
    const CHOICES: Option<&'static [&'static str]> = T::CHOICES;
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

/// Values of one kind; whoever reads the list checks what must hold between them.
impl<T: ConfigValue> ConfigValue for Vec<T> {
    const KIND: &'static str = "list";
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

/// Reads and checks one value. `range` is absent for kinds that have none.
///
/// # Errors
/// The value is of another kind, or outside `range`; the message says what is allowed.
pub fn read_value<T: ConfigValue>(key: &str, value: &Json, range: Option<(Json, Json)>) -> Result<T, ConfigError> {
    let bounds = range.as_ref().map(|(min, max)| format!(" from {} to {}", plain(min), plain(max))).unwrap_or_default();
    let Some(parsed) = T::parse(value) else {
        if let Some(unit) = T::unit_of_fraction(value) {
            return Err(ConfigError::new(key, format!("{value} is not a whole number of {unit}{bounds}")));
        }
        let wanted = match T::CHOICES {
            Some(choices) => format!("one of {}", choices.join(", ")),
            None => format!("a {} such as {}{bounds}", T::KIND, quoted::<T>()),
        };
        return Err(ConfigError::new(key, format!("{} is not {wanted}", shown(value))));
    };
    if let Some((min, max)) = range {
        let limits = T::parse(&min).zip(T::parse(&max)).expect("declared ranges are well-formed");
        if !parsed.within(&limits.0, &limits.1) {
            return Err(ConfigError::new(key, format!("{} is out of range, it must be{bounds}", shown(value))));
        }
    }
    Ok(parsed)
}

fn quoted<T: ConfigValue>() -> String {
    match T::KIND {
        "count" | "number" | "flag" => T::EXAMPLE.into(),
        "list" => format!("[\"{}\"]", T::EXAMPLE),
        _ => format!("\"{}\"", T::EXAMPLE),
    }
}

/// A value in a message.
fn shown(value: &Json) -> String {
    shortened(&value.to_string())
}

/// A text in a message, its middle left out if it is very long.
#[must_use]
pub fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let length = text.chars().count();
    if length <= MOST {
        return text.into();
    }
    let part = (MOST - 1) / 2;
    let (head, tail) = (text.chars().take(part), text.chars().skip(length - part));
    head.chain(['…']).chain(tail).collect()
}

/// A JSON value without the quotes of a text.
fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// A table of the configuration being read: hands out values by key, then reports the keys that nobody asked for.
#[derive(Debug)]
pub struct Table<'a> {
    path: String,
    map: &'a Map<String, Json>,
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    /// The table `value` found at `path` (empty for the root).
    ///
    /// # Errors
    /// `value` is not a table.
    pub fn new(path: impl Into<String>, value: &'a Json) -> Result<Self, ConfigError> {
        let path = path.into();
        match value.as_object() {
            Some(map) => Ok(Self { path, map, known: Vec::new() }),
            None => Err(ConfigError::new(
                if path.is_empty() { "scenario" } else { &path },
                format!("{} is not a table of keys", shown(value)),
            )),
        }
    }

    /// Path of `name` in this table.
    #[must_use]
    pub fn key(&self, name: impl Display) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    /// The raw value of `name`; asking for it makes the key known.
    pub fn get(&mut self, name: &'static str) -> Option<&'a Json> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.map.get(name)
    }

    /// A value that may be absent.
    ///
    /// # Errors
    /// See [`read_value`].
    pub fn optional<T: ConfigValue>(
        &mut self,
        name: &'static str,
        range: Option<(Json, Json)>,
    ) -> Result<Option<T>, ConfigError> {
        let key = self.key(name);
        self.get(name).map(|value| read_value(&key, value, range)).transpose()
    }

    /// A value that must be there.
    ///
    /// # Errors
    /// It is missing, or see [`read_value`].
    pub fn required<T: ConfigValue>(&mut self, name: &'static str) -> Result<T, ConfigError> {
        let wanted = match T::CHOICES {
            Some(choices) => format!("one of {}", choices.join(", ")),
            None => format!("a {} such as {}", T::KIND, quoted::<T>()),
        };
        self.optional(name, None)?.ok_or_else(|| ConfigError::new(self.key(name), format!("missing, must be {wanted}")))
    }

    /// The table under `name`, if there is one.
    ///
    /// # Errors
    /// The value is not a table.
    pub fn table(&mut self, name: &'static str) -> Result<Option<Self>, ConfigError> {
        let path = self.key(name);
        self.get(name).map(|value| Table::new(path, value)).transpose()
    }

    /// The array of tables under `name`; empty if absent.
    ///
    /// # Errors
    /// The value is not an array of tables.
    pub fn tables(&mut self, name: &'static str) -> Result<Vec<Self>, ConfigError> {
        let path = self.key(name);
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let Some(items) = value.as_array() else {
            return Err(ConfigError::new(path, format!("{} is not an array of tables", shown(value))));
        };
        items.iter().enumerate().map(|(i, item)| Table::new(format!("{path}[{i}]"), item)).collect()
    }

    /// Checks that every key of the table was asked for.
    ///
    /// # Errors
    /// Names the first unknown key, and the known one that it resembles or all of them.
    pub fn finish(&self) -> Result<(), ConfigError> {
        let Some((unknown, value)) = self.map.iter().find(|(key, _)| !self.known.contains(&key.as_str())) else {
            return Ok(());
        };
        let nearest = self.known.iter().max_by(|a, b| {
            let similarity = |name: &str| strsim::jaro_winkler(name, unknown);
            similarity(a).total_cmp(&similarity(b))
        });
        let hint = match nearest {
            Some(name) if strsim::jaro_winkler(name, unknown) > 0.8 => format!("did you mean {name}?"),
            _ => format!("known keys: {}", self.known.join(", ")),
        };
        Err(ConfigError::new(self.key(shortened(unknown)), format!("unknown key (value {}); {hint}", shown(value))))
    }
}

/// A set of parameters declared by [`params!`](crate::params!).
pub trait ParamSet: Sized + Default {
    /// What the parameters are.
    fn specs() -> Vec<ParamSpec>;
    /// Reads the set, defaults for absent keys; other keys of the table are left to the caller.
    ///
    /// # Errors
    /// The first value of the wrong kind or out of range.
    fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        Self::read_over(Self::default(), table)
    }
    /// Reads the set, keys that are absent keep the value of `base`.
    ///
    /// # Errors
    /// The first value of the wrong kind or out of range.
    fn read_over(base: Self, table: &mut Table<'_>) -> Result<Self, ConfigError>;
    /// Writes every parameter, absent ones left out.
    fn write(&self, into: &mut Map<String, Json>);
}

/// JSON Schema properties of a list of parameters.
#[must_use]
pub fn schema_properties(specs: &[ParamSpec]) -> Map<String, Json> {
    specs.iter().map(|spec| (spec.name.to_string(), spec.json_schema())).collect()
}

/// Declares a parameter set: struct, defaults, ranges, reading, writing and documentation in one place.
///
/// ```
/// use fairlane_schemes::{base::config::ParamSet, base::units::Time, params};
/// params! {
///     /// A meter.
///     pub struct AbcMarkerParams {
///         /// Memory of the meter.
///         memory: Time = "3 s", in "1 ms"..="1 h", symbol "M_AM", source "abc2018 Table 1";
///     }
/// }
/// assert_eq!(AbcMarkerParams::default().memory, Time::from_secs(3));
/// assert_eq!(AbcMarkerParams::specs()[0].symbol, "M_AM");
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $Type:ty = $default:tt
                    $(, in $min:literal ..= $max:literal)?
                    $(, symbol $symbol:literal)?
                    , source $source:literal;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Name {
            $( $(#[doc = $doc])+ pub $field: $Type, )*
        }

        impl Default for $Name {
            fn default() -> Self {
                Self {
                    $( $field: $crate::base::config::read_value(
                        stringify!($field),
                        &serde_json::json!($default),
                        $crate::params!(@range $($min, $max)?),
                    ).expect("declared defaults are well-formed"), )*
                }
            }
        }

        impl $crate::base::config::ParamSet for $Name {
            fn specs() -> Vec<$crate::base::config::ParamSpec> {
                vec![$(
                    $crate::base::config::ParamSpec {
                        name: stringify!($field),
                        symbol: $crate::params!(@text $($symbol)?),
                        kind: $crate::params!(@kind $Type),
                        default: serde_json::json!($default),
                        min: $crate::params!(@bound $($min)?),
                        max: $crate::params!(@bound $($max)?),
                        unit: <$Type as $crate::base::config::ConfigValue>::EXAMPLE,
                        choices: <$Type as $crate::base::config::ConfigValue>::CHOICES,
                        doc: concat!($($doc,)+).trim().to_string(),
                        source: $source,
                    },
                )*]
            }

            #[allow(unused_variables)]
            fn read_over(
                base: Self,
                table: &mut $crate::base::config::Table<'_>,
            ) -> Result<Self, $crate::base::config::ConfigError> {
                Ok(Self {
                    $( $field: table
                        .optional(stringify!($field), $crate::params!(@range $($min, $max)?))?
                        .unwrap_or(base.$field), )*
                })
            }

            #[allow(unused_variables)]
            fn write(&self, into: &mut serde_json::Map<String, serde_json::Value>) {
                $(
                    let value = $crate::base::config::ConfigValue::to_json(&self.$field);
                    if !value.is_null() {
                        into.insert(stringify!($field).to_string(), value);
                    }
                )*
            }
        }
    };
    (@range) => { None };
    (@range $min:literal, $max:literal) => { Some((serde_json::json!($min), serde_json::json!($max))) };
    (@bound) => { serde_json::Value::Null };
    (@bound $bound:literal) => { serde_json::json!($bound) };
    (@text) => { "" };
    (@text $text:literal) => { $text };
    (@kind $Type:ty) => { <$Type as $crate::base::config::ConfigValue>::KIND };
}

/// Declares an enum of named choices that can stand in a configuration.
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident { $( $(#[$variant_meta:meta])* $Variant:ident = $text:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name { $( $(#[$variant_meta])* $Variant, )+ }

        impl $Name {
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
            fn parse(value: &serde_json::Value) -> Option<Self> {
                match value.as_str()? { $( $text => Some(Self::$Variant), )+ _ => None }
            }
            fn to_json(&self) -> serde_json::Value {
                self.name().into()
            }
            fn within(&self, _: &Self, _: &Self) -> bool {
                true
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    choices! {
        /// A colour.
        pub enum Colour { /// Red.
            Red = "red", /// Blue.
            Blue = "blue", }
    }

    params! {
        /// A set with each kind of value.
        pub struct Sample {
            /// A time.
            memory: Time = "3 s", in "1 ms"..="1 h", symbol "M", source "here";
            /// A number.
            factor: f64 = 1.5, in 0.0..=10.0, source "here";
            /// A count.
            flows: u32 = 1, in 1..=100, source "here";
            /// A choice.
            colour: Colour = "red", source "here";
            /// A rate that may be absent.
            rate: Option<BitRate> = null, in "1 bit/s"..="1 Gbit/s", source "here";
        }
    }

    fn read(value: &Json) -> Result<Sample, ConfigError> {
        let mut table = Table::new("queue", value)?;
        let sample = Sample::read(&mut table)?;
        table.finish()?;
        Ok(sample)
    }

    fn message(value: &Json) -> String {
        read(value).unwrap_err().to_string()
    }

    #[test]
    fn absent_keys_take_their_defaults() {
        let sample = read(&json!({"flows": 7})).unwrap();
        assert_eq!((sample.memory, sample.flows, sample.rate), (Time::from_secs(3), 7, None));
    }

    #[test]
    fn what_is_written_reads_back() {
        let sample = read(&json!({"memory": "250 ms", "colour": "blue", "rate": "1.5 Mbit/s"})).unwrap();
        let mut map = Map::new();
        sample.write(&mut map);
        assert_eq!(read(&Json::Object(map)).unwrap(), sample);
    }

    #[test]
    fn errors_name_key_value_and_what_is_allowed() {
        assert_eq!(
            message(&json!({"memory": "0 s"})),
            r#"queue.memory: "0 s" is out of range, it must be from 1 ms to 1 h"#
        );
        assert_eq!(message(&json!({"memory": 3})), r#"queue.memory: 3 is not a time such as "5 ms" from 1 ms to 1 h"#);
        assert_eq!(
            message(&json!({"rate": "78.125 bit/s"})),
            r#"queue.rate: "78.125 bit/s" is not a whole number of bit/s from 1 bit/s to 1 Gbit/s"#
        );
        assert_eq!(message(&json!({"flows": 0})), "queue.flows: 0 is out of range, it must be from 1 to 100");
        assert_eq!(message(&json!({"flows": -1})), "queue.flows: -1 is not a count such as 10 from 1 to 100");
        assert_eq!(message(&json!({"colour": "green"})), r#"queue.colour: "green" is not one of red, blue"#);
        assert_eq!(message(&json!({"flowz": 3})), "queue.flowz: unknown key (value 3); did you mean flows?");
        assert_eq!(message(&json!([])), "queue: [] is not a table of keys");
    }

    #[test]
    fn very_long_values_and_keys_are_cut_in_errors() {
        let long = "x".repeat(5000);
        for value in [json!({"memory": long}), json!({"flows": [long]}), json!({"memory": {"x": long}}), json!([long])]
        {
            let message = message(&value);
            assert!(message.len() < 200, "{message}");
            assert!(message.contains("xx…xx"), "{message}");
        }
        assert!(message(&json!({long: 3})).len() < 200);
    }
}
