//! Parses the bytes as a JSON scenario. A scenario is either rejected with an error, or unchanged when written and read
//! again.
#![no_main]

use fairlane_sim::scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(json) = serde_json::from_slice(bytes) else { return };
    if let Ok(scenario) = Scenario::read(&json) {
        let written = scenario.write();
        let again = Scenario::read(&written).expect("what is written is valid");
        assert_eq!(again.write(), written);
    }
});
