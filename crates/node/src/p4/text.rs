//! Table entries as text: commands for `simple_switch_CLI`, or JSON for a client of P4Runtime.

use super::entries::{Entry, Key, Switch, Value};
use crate::config::NodeScheme;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// Tables that contain only entries generated here, in the order of processing.
const TABLES: [&str; 5] = ["ports", "users", "stations", "aqm", "links"];

/// Registers that hold the state of table entries. They must be reset when the entries change.
fn state(scheme: NodeScheme) -> &'static [&'static str] {
    match scheme {
        NodeScheme::Abc => &["meter_sum", "meter_tick", "averager_sum", "averager_count", "averager_tick"],
        NodeScheme::Csfq => &[
            "meter_sum",
            "meter_pending",
            "meter_tick",
            "csfq_alpha",
            "csfq_largest_label",
            "csfq_window_start",
            "csfq_uncongested",
            "csfq_cuts",
            "csfq_arrival_sum",
            "csfq_arrival_pending",
            "csfq_accepted_sum",
            "csfq_accepted_pending",
            "csfq_tick",
        ],
    }
}

/// Returns commands for `simple_switch_CLI`, which does not support comments. The commands can also be applied to a
/// running switch.
#[must_use]
pub fn cli(switch: &Switch) -> String {
    let mut text = String::new();
    for table in TABLES {
        writeln!(text, "table_clear {table}").expect("a String takes all");
    }
    for register in state(switch.scheme) {
        writeln!(text, "register_reset {register}").expect("a String takes all");
    }
    for entry in &switch.entries {
        text.push_str(&command(entry));
        text.push('\n');
    }
    for queue in &switch.queues {
        if let Some(depth) = queue.depth_packets {
            writeln!(text, "set_queue_depth {depth} {}", queue.port).expect("a String takes all");
        }
        if let Some(rate) = queue.rate_packets {
            writeln!(text, "set_queue_rate {rate} {}", queue.port).expect("a String takes all");
        }
    }
    text
}

fn command(entry: &Entry) -> String {
    let params = entry.params.iter().map(|(_, value)| format!(" {}", value.number)).collect::<String>();
    match &entry.key {
        None => format!("table_set_default {} {}{params}", entry.table, entry.action),
        Some(key) => {
            let key = match key {
                Key::Exact(_, value) => value.number.to_string(),
                Key::Prefix(_, value, length) => format!("{}/{length}", hex(*value)),
            };
            format!("table_add {} {} {key} =>{params}", entry.table, entry.action)
        }
    }
}

/// Returns entries for a client of P4Runtime, which takes the ids of tables, fields and actions from the program's
/// `p4info`. Values are hexadecimal with full width. There are no entries for queues, which P4Runtime does not support.
#[must_use]
pub fn p4runtime(switch: &Switch) -> Json {
    let updates: Vec<Json> = switch.entries.iter().map(update).collect();
    json!({"program": switch.program(), "ports": switch.interfaces, "updates": updates})
}

fn update(entry: &Entry) -> Json {
    let params: Map<String, Json> =
        entry.params.iter().map(|(name, value)| ((*name).to_owned(), hex(*value).into())).collect();
    let action = json!({"name": entry.action, "params": params});
    let Some(key) = &entry.key else {
        // The default action of a table can only be modified.
        return json!({"type": "MODIFY", "table": entry.table, "is_default_action": true, "action": action});
    };
    let field = match key {
        Key::Exact(name, value) => json!({"field": name, "exact": hex(*value)}),
        Key::Prefix(name, value, length) => json!({"field": name, "lpm": {"value": hex(*value), "prefix_len": length}}),
    };
    json!({"type": "INSERT", "table": entry.table, "match": [field], "action": action})
}

fn hex(value: Value) -> String {
    format!("0x{:0width$x}", value.number, width = value.bits.div_ceil(4) as usize)
}
