//! Sets of parameters, in which each parameter is declared once.

use super::error::ConfigError;
use super::table::Table;
use super::value::{ConfigValue, read_value};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::slice;

/// Description of a parameter, for people, tables and schemas.
#[derive(Clone, Debug, Serialize)]
pub struct ParamSpec {
    /// Key in a scenario, and name in Python and all other hosts.
    pub name: &'static str,
    /// Symbol in the paper, or an empty string.
    pub symbol: &'static str,
    /// Kind of value: time, rate, size, ...
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Default in a scenario's notation; null if the key may be absent.
    pub default: Json,
    /// Minimum, or null.
    pub min: Json,
    /// Maximum, or null.
    pub max: Json,
    /// Notation of the value, such as `"5 ms"`.
    pub unit: &'static str,
    /// All allowed values, for a choice.
    pub choices: Option<&'static [&'static str]>,
    /// Doc comment of each choice, not trimmed; empty if there is none.
    #[serde(skip)]
    pub choice_docs: &'static [&'static str],
    /// Description of the parameter.
    pub doc: String,
    /// Source of the default or the meaning.
    pub source: &'static str,
}

impl ParamSpec {
    /// JSON Schema of the value.
    #[must_use]
    pub fn json_schema(&self) -> Json {
        let mut schema = match self.kind {
            "count" => json!({"type": "integer", "minimum": self.min, "maximum": self.max}),
            "number" => json!({"type": "number", "minimum": self.min, "maximum": self.max}),
            "probability" => json!({"anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": [self.unit]},
            ]}),
            "load" => json!({"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": [self.unit]}),
            "flag" => json!({"type": "boolean"}),
            "choice" => json!({"enum": self.choices}),
            "text" => json!({"type": "string"}),
            "list" => json!({"type": "array", "items": {"type": "string"}}),
            "list of numbers" => json!({"type": "array", "items": {"type": "number"}}),
            _ => json!({"type": "string", "pattern": r"^\s*[0-9].*[A-Za-z/]+\s*$", "examples": [self.unit]}),
        };
        let fields = schema.as_object_mut().expect("literal object");
        if self.default.is_null() {
            fields.remove("default");
        } else {
            fields.insert("default".into(), self.default.clone());
        }
        fields.insert("description".into(), Json::String(self.doc.clone()));
        // JSON Schema has no keywords for a symbol, a source, or the bounds of a value with a unit.
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

/// A parameter declared by [`params!`](crate::params!). Default and bounds are JSON literals, which are parsed when
/// needed. Typed values would need separately compiled code for each parameter.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// See [`ParamSpec::name`].
    pub name: &'static str,
    /// See [`ParamSpec::symbol`].
    pub symbol: &'static str,
    /// See [`ParamSpec::kind`].
    pub kind: &'static str,
    /// Literal of the default.
    pub default: &'static str,
    /// Literals of minimum and maximum.
    pub range: Option<(&'static str, &'static str)>,
    /// See [`ParamSpec::unit`].
    pub unit: &'static str,
    /// See [`ParamSpec::choices`].
    pub choices: Option<&'static [&'static str]>,
    /// See [`ParamSpec::choice_docs`].
    pub choice_docs: &'static [&'static str],
    /// Doc comment, not trimmed.
    pub doc: &'static str,
    /// See [`ParamSpec::source`].
    pub source: &'static str,
}

/// Remaining parameters of a set, consumed one after another.
type Rest<'a> = slice::Iter<'a, Declared>;

impl Declared {
    /// Description of the parameter.
    #[must_use]
    pub fn spec(&self) -> ParamSpec {
        let (min, max) = self.bounds().unwrap_or_default();
        ParamSpec {
            name: self.name,
            symbol: self.symbol,
            kind: self.kind,
            default: literal(self.default),
            min,
            max,
            unit: self.unit,
            choices: self.choices,
            choice_docs: self.choice_docs,
            doc: self.doc.trim().to_string(),
            source: self.source,
        }
    }

    /// The default of the next parameter.
    #[must_use]
    #[inline(never)]
    pub fn next_default<T: ConfigValue>(rest: &mut Rest<'_>) -> T {
        let next = take(rest);
        read_value(next.name, &literal(next.default), next.bounds()).expect("declared defaults are well-formed")
    }

    /// Reads the value of the next parameter of the set from `table`. Returns `base` if the key is absent.
    ///
    /// # Errors
    /// See [`read_value`].
    #[inline(never)]
    pub fn next_over<T: ConfigValue>(rest: &mut Rest<'_>, base: T, table: &mut Table<'_>) -> Result<T, ConfigError> {
        let next = take(rest);
        Ok(table.optional_within(next.name, || next.bounds())?.unwrap_or(base))
    }

    /// Writes the value of the next parameter of the set, unless the value is absent (null).
    #[inline(never)]
    pub fn write_next<T: ConfigValue>(rest: &mut Rest<'_>, value: &T, into: &mut Map<String, Json>) {
        let (name, value) = (take(rest).name, value.to_json());
        if !value.is_null() {
            into.insert(name.to_string(), value);
        }
    }

    fn bounds(&self) -> Option<(Json, Json)> {
        self.range.map(|(min, max)| (literal(min), literal(max)))
    }
}

fn take<'a>(rest: &mut Rest<'a>) -> &'a Declared {
    rest.next().expect("every field is declared")
}

fn literal(text: &str) -> Json {
    serde_json::from_str(text).expect("literals of declarations are JSON")
}

/// A set of parameters declared by [`params!`](crate::params!).
pub trait ParamSet: Sized + Default {
    /// Descriptions of the parameters.
    fn specs() -> Vec<ParamSpec>;
    /// Reads the set, with defaults for absent keys. The caller checks other keys of the table.
    ///
    /// # Errors
    /// If a value is of the wrong kind or out of range.
    fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        Self::read_over(Self::default(), table)
    }
    /// Reads the set. Absent keys keep the value of `base`.
    ///
    /// # Errors
    /// If a value is of the wrong kind or out of range.
    fn read_over(base: Self, table: &mut Table<'_>) -> Result<Self, ConfigError>;
    /// Writes all parameters except absent ones.
    fn write(&self, into: &mut Map<String, Json>);
}

/// JSON Schema properties of a list of parameters.
#[must_use]
pub fn schema_properties(specs: &[ParamSpec]) -> Map<String, Json> {
    specs.iter().map(|spec| (spec.name.to_string(), spec.json_schema())).collect()
}

/// Declares a parameter set: struct, defaults, ranges, parsing, output and documentation in one place. `with name:
/// Set;` after the parameters adds the parameters of another set, in the same table. Default and bounds must be valid
/// JSON literals: numbers without `_` and without a type.
///
/// ```
/// use fairlane_schemes::{base::config::ParamSet, base::units::Time, params};
/// params! {
///     /// A toy.
///     pub struct ToyParams {
///         /// Memory of its average.
///         memory: Time = "3 s", in "1 ms"..="1 h", symbol "M_AM", source "abc2018 Table 1";
///     }
/// }
/// assert_eq!(ToyParams::default().memory, Time::from_secs(3));
/// assert_eq!(ToyParams::specs()[0].symbol, "M_AM");
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
            $( with $part:ident : $Part:ty; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Name {
            $( $(#[doc = $doc])+ pub $field: $Type, )*
            $( #[doc = concat!("The parameters of [`", stringify!($Part), "`].")] pub $part: $Part, )*
        }

        impl $Name {
            /// Parameters, in order.
            const DECLARED: &'static [$crate::base::config::Declared] = &[$(
                $crate::base::config::Declared {
                    name: stringify!($field),
                    symbol: $crate::params!(@text $($symbol)?),
                    kind: <$Type as $crate::base::config::ConfigValue>::KIND,
                    default: stringify!($default),
                    range: $crate::params!(@range $($min, $max)?),
                    unit: <$Type as $crate::base::config::ConfigValue>::EXAMPLE,
                    choices: <$Type as $crate::base::config::ConfigValue>::CHOICES,
                    choice_docs: <$Type as $crate::base::config::ConfigValue>::CHOICE_DOCS,
                    doc: concat!($($doc,)+),
                    source: $source,
                },
            )*];
        }

        impl Default for $Name {
            #[allow(unused_mut, unused_variables)]
            fn default() -> Self {
                let mut declared = Self::DECLARED.iter();
                Self {
                    $( $field: $crate::base::config::Declared::next_default::<$Type>(&mut declared), )*
                    $( $part: <$Part>::default(), )*
                }
            }
        }

        impl $crate::base::config::ParamSet for $Name {
            fn specs() -> Vec<$crate::base::config::ParamSpec> {
                let own = Self::DECLARED.iter().map($crate::base::config::Declared::spec);
                own$(.chain(<$Part as $crate::base::config::ParamSet>::specs()))*.collect()
            }

            #[allow(unused_mut, unused_variables)]
            fn read_over(
                base: Self,
                table: &mut $crate::base::config::Table<'_>,
            ) -> Result<Self, $crate::base::config::ConfigError> {
                let mut declared = Self::DECLARED.iter();
                Ok(Self {
                    $( $field: $crate::base::config::Declared::next_over(&mut declared, base.$field, table)?, )*
                    $( $part: $crate::base::config::ParamSet::read_over(base.$part, table)?, )*
                })
            }

            #[allow(unused_mut, unused_variables)]
            fn write(&self, into: &mut $crate::serde_json::Map<String, $crate::serde_json::Value>) {
                let mut declared = Self::DECLARED.iter();
                $( $crate::base::config::Declared::write_next(&mut declared, &self.$field, into); )*
                $( $crate::base::config::ParamSet::write(&self.$part, into); )*
            }
        }
    };
    (@range) => { None };
    (@range $min:literal, $max:literal) => { Some((stringify!($min), stringify!($max))) };
    (@text) => { "" };
    (@text $text:literal) => { $text };
}
