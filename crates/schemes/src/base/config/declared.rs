//! Values of parameters that are declared at run time, such as those of a plug-in.

use super::error::{ConfigError, shown};
use super::params::ParamSpec;
use super::table::Table;
use super::value::{ConfigValue, one_of, read_value};
use crate::base::units::{BitRate, Bytes, Probability, Threshold, Time};
use serde_json::Value as Json;

/// Parses a `value` of a kind and formats it in a scenario's notation.
type Read = fn(&str, &Json, Option<(Json, Json)>) -> Result<Json, ConfigError>;

fn read_as<T: ConfigValue>(key: &str, value: &Json, range: Option<(Json, Json)>) -> Result<Json, ConfigError> {
    read_value::<T>(key, value, range).map(|value| value.to_json())
}

/// All kinds whose values have one type.
const KINDS: [(&str, Read); 9] = [
    (Time::KIND, read_as::<Time>),
    (BitRate::KIND, read_as::<BitRate>),
    (Bytes::KIND, read_as::<Bytes>),
    (Threshold::KIND, read_as::<Threshold>),
    (u64::KIND, read_as::<u64>),
    (f64::KIND, read_as::<f64>),
    (Probability::KIND, read_as::<Probability>),
    (bool::KIND, read_as::<bool>),
    (String::KIND, read_as::<String>),
];

/// Checks a declaration: its kind is known, default and bounds have that kind, and the range is not empty.
///
/// # Errors
/// If the declaration is not valid. The error names the parameter.
pub fn check_declared(spec: &ParamSpec) -> Result<(), ConfigError> {
    let is_known = spec.choices.is_some() || KINDS.iter().any(|(kind, _)| *kind == spec.kind);
    if !is_known {
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).chain(["choice"]).collect();
        let problem = format!("\"{}\" is not a kind of value, it must be one of {}", spec.kind, kinds.join(", "));
        return Err(ConfigError::new(spec.name, problem));
    }
    for value in [&spec.min, &spec.max].into_iter().filter(|value| !value.is_null()) {
        read_one(spec, spec.name, value, None)?;
    }
    if range(spec).is_some_and(|range| read_one(spec, spec.name, &spec.max, Some(range)).is_err()) {
        let problem = format!("its range is empty, from {} to {}", shown(&spec.min), shown(&spec.max));
        return Err(ConfigError::new(spec.name, problem));
    }
    if spec.default.is_null() { Ok(()) } else { read_one(spec, spec.name, &spec.default, range(spec)).map(drop) }
}

/// Reads the parameter from a table. If the key is absent, returns the default, or `None` without a default.
///
/// # Errors
/// See [`read_value`].
pub fn read_declared(spec: &ParamSpec, table: &mut Table<'_>) -> Result<Option<Json>, ConfigError> {
    let key = table.key(spec.name);
    let value = table.get(spec.name).unwrap_or(&spec.default);
    if value.is_null() { Ok(None) } else { read_one(spec, &key, value, range(spec)).map(Some) }
}

fn range(spec: &ParamSpec) -> Option<(Json, Json)> {
    (!spec.min.is_null() && !spec.max.is_null()).then(|| (spec.min.clone(), spec.max.clone()))
}

fn read_one(spec: &ParamSpec, key: &str, value: &Json, range: Option<(Json, Json)>) -> Result<Json, ConfigError> {
    if let Some(choices) = spec.choices {
        let is_one = value.as_str().is_some_and(|text| choices.contains(&text));
        let problem = || format!("{} is not {}", shown(value), one_of(choices, value));
        return if is_one { Ok(value.clone()) } else { Err(ConfigError::new(key, problem())) };
    }
    let (_, read) = KINDS.iter().find(|(kind, _)| *kind == spec.kind).expect("checked when it was declared");
    read(key, value, range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::ParamSet;
    use crate::base::config::sample::Sample;
    use serde_json::json;

    fn declared(value: &Json) -> Result<Json, ConfigError> {
        let mut table = Table::new("queue", value)?;
        let read = |spec: &ParamSpec| Ok(read_declared(spec, &mut table)?.map(|value| (spec.name.to_string(), value)));
        let read: Vec<_> = Sample::specs().iter().map(read).collect::<Result<_, ConfigError>>()?;
        Ok(Json::Object(read.into_iter().flatten().collect()))
    }

    fn typed(value: &Json) -> Result<Json, ConfigError> {
        let mut map = serde_json::Map::new();
        Sample::read(&mut Table::new("queue", value)?)?.write(&mut map);
        Ok(Json::Object(map))
    }

    #[test]
    fn what_is_declared_late_reads_as_what_has_a_type() {
        for spec in Sample::specs() {
            check_declared(&spec).unwrap();
        }
        for value in [
            json!({}),
            json!({"memory": "0.25 s", "rate": "1.5 Mbit/s", "size": "2 kB", "threshold": "4 packets", "flows": 7}),
            json!({"factor": 2, "share": "5 %", "is_on": false, "word": "x", "colour": "blue"}),
            json!({"memory": "0 s"}),
            json!({"rate": "78.125 bit/s"}),
            json!({"flows": -1}),
            json!({"factor": 11}),
            json!({"share": 2}),
            json!({"is_on": 1}),
            json!({"colour": "green"}),
        ] {
            assert_eq!(declared(&value), typed(&value), "{value}");
        }
    }

    #[test]
    fn a_declaration_that_cannot_be_read_by_is_refused() {
        let specs = Sample::specs();
        let of = |name: &str| specs.iter().find(|spec| spec.name == name).unwrap().clone();
        let message = |spec: ParamSpec| check_declared(&spec).unwrap_err().to_string();
        assert_eq!(
            message(ParamSpec { kind: "colour", ..of("flows") }),
            "flows: \"colour\" is not a kind of value, it must be one of time, rate, size, threshold, count, number, \
             probability, flag, text, choice"
        );
        assert_eq!(
            message(ParamSpec { default: json!(0), ..of("flows") }),
            "flows: 0 is out of range, it must be from 1 to 100"
        );
        assert_eq!(message(ParamSpec { max: json!("x"), ..of("flows") }), "flows: \"x\" is not a count such as 10");
        let (least, most) = (json!(200), json!(100));
        let empty = "flows: its range is empty, from 200 to 100";
        for default in [Json::Null, json!(150)] {
            assert_eq!(message(ParamSpec { min: least.clone(), max: most.clone(), default, ..of("flows") }), empty);
        }
    }
}
