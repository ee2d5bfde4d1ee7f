//! Configuration: one declaration per parameter defines its type, default, range, documentation and error message.
//!
//! [`params!`](crate::params!) declares a parameter set. It generates the struct, its defaults, the parser with all
//! range checks, a writer that includes defaults, and the [`ParamSpec`]s for reference tables and the JSON Schema. A
//! scenario is a tree of such tables; [`Table`] traverses it and records the path, so each error names the key, the
//! value, and the allowed values.

mod declared;
mod error;
mod names;
mod params;
#[cfg(test)]
mod sample;
mod table;
mod value;

pub use declared::{check_declared, read_declared};
pub use error::{ConfigError, shortened};
pub use names::{meant, near};
pub use params::{Declared, ParamSet, ParamSpec, schema_properties};
pub use table::Table;
pub use value::{ConfigValue, read_value};

#[cfg(test)]
mod tests {
    use super::sample::Sample;
    use super::*;
    use crate::base::units::Time;
    use serde_json::{Map, Value as Json, json};

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
