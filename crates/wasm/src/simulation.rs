//! One run of a scenario.

use crate::answer::{Answer, Failed};
use crate::watcher::Watcher;
use fairlane_sim::engine::{self, Stop};
use fairlane_sim::scenario::Scenario;
use serde_json::Value as Json;
use std::str;
use std::sync::atomic::AtomicBool;

/// Runs a replication of the scenario in `input`. The answer contains the record of the run and the watcher's data.
///
/// # Errors
/// The first error of the scenario: key, value, allowed values.
pub fn run(input: &[u8], replication: u32) -> Result<Answer, Failed> {
    let scenario = Scenario::read(&table(input)?).map_err(|error| Failed(error.to_string()))?;
    let mut watcher = Watcher::new(&scenario);
    // There is only one observer type, because the compiler compiles the engine again for each type.
    let ended = engine::try_observe(&scenario, replication, &AtomicBool::new(false), &mut watcher);
    let record = ended.map_err(|stop| match stop {
        Stop::ExternalFailed(problem) => Failed(problem),
        Stop::Cancelled => Failed("the run was cancelled".into()),
    })?;
    watcher.tell(Answer::EMPTY.json(&record)?, &scenario)
}

/// Parses a table: as JSON if the text starts with a brace, otherwise as TOML.
fn table(input: &[u8]) -> Result<Json, Failed> {
    let text = str::from_utf8(input).map_err(|_| Failed("the scenario is not UTF-8".into()))?;
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| Failed(format!("not JSON: {error}")));
    }
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        Failed(format!("not TOML: line {}: {}", before.matches('\n').count() + 1, error.message()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "
        run = { warmup = '0 s', measure = '2 s' }
        queue = { scheme = 'abc' }
        groups = [{ name = 'a', start_until = '1 s', sources = [{ kind = 'tcp', flows = 3 }] }]";

    #[test]
    fn the_record_is_that_of_the_engine_alone() {
        let json: Json = toml::from_str(SCENARIO).expect("it is TOML");
        let scenario = Scenario::read(&json).expect("it is valid");
        let expected = engine::run(&scenario, 1, &AtomicBool::new(false)).map(|record| serde_json::to_vec(&record));
        let expected = expected.expect("nobody cancels").expect("it is JSON");
        for text in [SCENARIO, &json.to_string()] {
            assert!(run(text.as_bytes(), 1).expect("it is valid").parts[0] == expected, "{text}");
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_key_or_its_line() {
        let told = |text: &str| run(text.as_bytes(), 0).map(|_| ()).expect_err("it is wrong").0;
        let low = told(&SCENARIO.replace("flows = 3", "flows = 0"));
        assert!(low.starts_with("groups[0].sources[0].flows: 0 is out of range"), "{low}");
        assert!(told("name = 'x'\nqueue = {").starts_with("not TOML: line 2: "), "{}", told("name = 'x'\nqueue = {"));
        assert!(told("{").starts_with("not JSON: "));
        assert_eq!(run(&[0xff], 0), Err(Failed("the scenario is not UTF-8".into())));
    }
}
