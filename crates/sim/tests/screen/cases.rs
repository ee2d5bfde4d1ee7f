//! Situations in which the screen runs every scheme with its default parameters. Each user has one flow, so sharing per
//! flow and sharing per user should give the same result.

use serde_json::{Value as Json, json};

/// One situation at a link of 10 Mbit/s with the buffer's default limit.
pub struct Case {
    /// Heading of the table's column.
    pub name: &'static str,
    /// Description of the situation. A cell of the column has a number for each group, in the order of this
    /// description.
    pub about: &'static str,
    groups: fn() -> Json,
    /// Duration of the measurement in seconds, after [`WARMUP_S`].
    measure_s: u32,
}

/// Seconds before the measurement.
const WARMUP_S: u32 = 5;

impl Case {
    /// Returns the scenario with `scheme` and its default parameters.
    pub fn scenario(&self, scheme: &str) -> Json {
        json!({
            "run": {"warmup": format!("{WARMUP_S} s"), "measure": format!("{} s", self.measure_s), "seed": 1},
            "topology": {"bottleneck_rate": "10 Mbit/s"},
            "queue": {"scheme": scheme},
            "tcp": {"profile": "ns3.26"},
            "groups": (self.groups)(),
        })
    }
}

fn group(name: &str, start: &str, source: Json) -> Json {
    json!({"name": name, "start_from": start, "start_until": start, "sources": [source]})
}

/// All situations.
pub const CASES: &[Case] = &[
    Case {
        name: "poisson",
        about: "three users send Poisson traffic of 8, 6 and 2 Mbit/s",
        groups: || {
            let user = |rate| group(rate, "0 s", json!({"kind": "poisson", "rate": format!("{rate} Mbit/s")}));
            json!([user("8"), user("6"), user("2")])
        },
        measure_s: 10,
    },
    Case {
        name: "newcomer",
        about: "beside 0.2 Mbit/s a user of 6 Mbit/s starts; its first second",
        groups: || {
            let user = |rate, start| group(rate, start, json!({"kind": "cbr", "rate": format!("{rate} Mbit/s")}));
            json!([user("0.2", "0 s"), user("6", "5 s")])
        },
        measure_s: 1,
    },
    Case {
        name: "lengths",
        about: "two users send Poisson traffic of 8 Mbit/s, in packets of 100 and of 1500 bytes",
        groups: || {
            let user = |bytes| {
                let size = format!("{bytes} B");
                group(bytes, "0 s", json!({"kind": "poisson", "rate": "8 Mbit/s", "packet_size": size}))
            };
            json!([user("100"), user("1500")])
        },
        measure_s: 10,
    },
    Case {
        name: "flood",
        about: "a user sends Poisson traffic of 10 Mbit/s, four others have a TCP flow each (mean)",
        groups: || {
            let tcp = json!({"name": "tcp", "users": 4, "start_until": "1 s", "sources": [{"kind": "tcp"}]});
            json!([group("heavy", "0 s", json!({"kind": "poisson", "rate": "10 Mbit/s"})), tcp])
        },
        measure_s: 20,
    },
];
