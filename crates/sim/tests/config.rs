//! Tests that any scenario is either rejected with a one-line error, or accepted and unchanged after it is written and
//! read again.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_sim::scenario::Scenario;
use serde_json::{Value as Json, json};

/// Returns a scenario for `scheme` in which every key with a default is written out.
fn complete(scheme: &str) -> Json {
    let scenario = json!({
        "topology": {"bottleneck_schedule": [{"at": "1 s", "rate": "5 Mbit/s"}]},
        "queue": {"scheme": scheme},
        "groups": [
            {"users": 2, "sources": [{"kind": "tcp", "flows": 3}, {"kind": "poisson", "rate": "1 Mbit/s"}]},
            {"sources": [{"kind": "cbr", "rate": "1 Mbit/s"}]},
        ],
    });
    Scenario::read(&scenario).expect("it is valid").write()
}

/// Returns a value that a person or a program may write by mistake.
fn odd_value(rng: &mut Rng) -> Json {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("0 s"),
        json!("5 ms"),
        json!("1e30 s"),
        json!("-3 packets"),
        json!("99999999999 packets"),
        json!("0 bit/s"),
        json!("1e18 Gbit/s"),
        json!("12 kB"),
        json!("NaN packets"),
        json!("inf ms"),
        json!("\u{1f980} packets"),
        json!("abc"),
        json!([]),
        json!({}),
        json!([{}]),
        json!({"scheme": 7}),
    ];
    values[(rng.bits() % values.len() as u64) as usize].clone()
}

/// Replaces one node of the tree by an odd value, or removes it.
fn mutate(value: &mut Json, rng: &mut Rng) {
    let children = match value {
        Json::Object(map) => map.len(),
        Json::Array(items) => items.len(),
        _ => 0,
    };
    if children == 0 || rng.bits().is_multiple_of(12) {
        *value = odd_value(rng);
        return;
    }
    let index = (rng.bits() % children as u64) as usize;
    match value {
        Json::Object(map) if rng.bits().is_multiple_of(16) => {
            let key = map.keys().nth(index).expect("it is one of them").clone();
            map.remove(&key);
        }
        Json::Object(map) => mutate(map.values_mut().nth(index).expect("it is one of them"), rng),
        Json::Array(items) => mutate(&mut items[index], rng),
        _ => unreachable!("only these have children"),
    }
}

/// Reads this number of mutated scenarios of each scheme.
fn is_refused_in_one_line_or_reads_back_as_written(scenarios: u32) {
    let mut rng = Rng::stream(1, 0, "mutations", 0);
    let (mut refused, mut accepted) = (0, 0);
    for &scheme in Scheme::ALL {
        let base = complete(scheme.name());
        for _ in 0..scenarios {
            let mut scenario = base.clone();
            (0..=rng.bits() % 3).for_each(|_| mutate(&mut scenario, &mut rng));
            match Scenario::read(&scenario) {
                Err(error) => {
                    refused += 1;
                    assert!(!error.key.is_empty() && !error.to_string().contains('\n'), "{error:?}");
                }
                Ok(valid) => {
                    accepted += 1;
                    let written = valid.write();
                    let again = Scenario::read(&written).expect("what is written is valid");
                    assert_eq!(again.write(), written);
                }
            }
        }
    }
    assert!(refused > 0 && accepted * 20 > refused, "{refused} refused, {accepted} accepted: too one-sided");
}

#[test]
fn any_scenario_is_refused_in_one_line_or_reads_back_as_written() {
    is_refused_in_one_line_or_reads_back_as_written(100);
}

#[test]
#[ignore = "takes half a minute"]
fn so_are_2000_of_each_scheme() {
    is_refused_in_one_line_or_reads_back_as_written(2_000);
}
