//! Version of the simulator. Together with the scenario, it determines the record of a run.

/// Version of all code that can change a record. It consists of the format ([`crate::measure::run_record::SCHEMA`]) and
/// a fingerprint. The fingerprint covers the sources of this crate and of fairlane-schemes, and the versions of all
/// dependencies. Two builds with the same value write the same bytes. Any change of the sources changes the value,
/// except changes of comments, layout and tests.
pub const ENGINE: &str = concat!("2-", env!("FAIRLANE_ENGINE_FINGERPRINT"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::run_record::SCHEMA;

    #[test]
    fn it_starts_with_the_version_of_the_format() {
        assert_eq!(ENGINE.split_once('-').map(|(schema, _)| schema), Some(SCHEMA.to_string().as_str()));
    }
}
