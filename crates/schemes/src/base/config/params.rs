//! Sets of parameters, each declared once.

use super::error::ConfigError;
use super::table::Table;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

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
            "probability" => json!({"anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": [self.unit]},
            ]}),
            "load" => json!({"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": [self.unit]}),
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

/// Declares a parameter set: struct, defaults, ranges, reading, writing and documentation in one place. `with name:
/// Set;` after the parameters adds those of another set, in the same table.
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

        impl Default for $Name {
            fn default() -> Self {
                Self {
                    $( $field: $crate::base::config::read_value(
                        stringify!($field),
                        &$crate::serde_json::json!($default),
                        $crate::params!(@range $($min, $max)?),
                    ).expect("declared defaults are well-formed"), )*
                    $( $part: <$Part>::default(), )*
                }
            }
        }

        impl $crate::base::config::ParamSet for $Name {
            fn specs() -> Vec<$crate::base::config::ParamSpec> {
                let own = [$(
                    $crate::base::config::ParamSpec {
                        name: stringify!($field),
                        symbol: $crate::params!(@text $($symbol)?),
                        kind: $crate::params!(@kind $Type),
                        default: $crate::serde_json::json!($default),
                        min: $crate::params!(@bound $($min)?),
                        max: $crate::params!(@bound $($max)?),
                        unit: <$Type as $crate::base::config::ConfigValue>::EXAMPLE,
                        choices: <$Type as $crate::base::config::ConfigValue>::CHOICES,
                        doc: concat!($($doc,)+).trim().to_string(),
                        source: $source,
                    },
                )*];
                own.into_iter()$(.chain(<$Part as $crate::base::config::ParamSet>::specs()))*.collect()
            }

            #[allow(unused_variables)]
            fn read_over(
                base: Self,
                table: &mut $crate::base::config::Table<'_>,
            ) -> Result<Self, $crate::base::config::ConfigError> {
                Ok(Self {
                    $( $field: table
                        .optional_within(stringify!($field), || $crate::params!(@range $($min, $max)?))?
                        .unwrap_or(base.$field), )*
                    $( $part: $crate::base::config::ParamSet::read_over(base.$part, table)?, )*
                })
            }

            #[allow(unused_variables)]
            fn write(&self, into: &mut $crate::serde_json::Map<String, $crate::serde_json::Value>) {
                $(
                    let value = $crate::base::config::ConfigValue::to_json(&self.$field);
                    if !value.is_null() {
                        into.insert(stringify!($field).to_string(), value);
                    }
                )*
                $( $crate::base::config::ParamSet::write(&self.$part, into); )*
            }
        }
    };
    (@range) => { None };
    (@range $min:literal, $max:literal) => { Some(($crate::serde_json::json!($min), $crate::serde_json::json!($max))) };
    (@bound) => { $crate::serde_json::Value::Null };
    (@bound $bound:literal) => { $crate::serde_json::json!($bound) };
    (@text) => { "" };
    (@text $text:literal) => { $text };
    (@kind $Type:ty) => { <$Type as $crate::base::config::ConfigValue>::KIND };
}
