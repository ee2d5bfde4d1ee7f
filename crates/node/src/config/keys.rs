//! Lists every key of a configuration for the manual, from the declarations of the keys.

use super::port::INTERFACE_DOC;
use super::user::{PREFIX_DOC, UserKeys};
use super::{MarkerParams, NodeParams, PortParams, Prefix, QueueParams, UserParams, UserTableParams};
use fairlane_schemes::base::config::{ConfigValue, ParamSet, ParamSpec};
use fairlane_schemes::label::abc::{AbcMarkerParams, AbcParams};
use fairlane_schemes::label::csfq::{CsfqMarkerParams, CsfqParams};
use serde_json::Value as Json;

/// A table of the configuration, or its keys for one scheme.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name of the table as written in the file, with its scheme.
    pub title: &'static str,
    /// Subject of the table.
    pub doc: &'static str,
    /// Keys of the table.
    pub keys: Vec<ParamSpec>,
}

/// All tables, in the order of `examples/node/every-key.toml`.
#[must_use]
pub fn sections() -> Vec<Section> {
    let mut users = [vec![by_hand::<Prefix>("prefix", PREFIX_DOC)], UserKeys::specs(), UserParams::specs()].concat();
    for inherited in users.iter_mut().filter(|key| ["reference_rate", "traffic_class"].contains(&key.name)) {
        inherited.default = Json::Null;
    }
    let ports = [vec![by_hand::<String>("interface", INTERFACE_DOC)], PortParams::specs()].concat();
    let all = [
        ("[node]", "The node as a whole.", NodeParams::specs()),
        ("[marker]", "Labels of packets.", MarkerParams::specs()),
        ("[marker] with scheme abc", "The kernel has the meter \"normal\" only.", AbcMarkerParams::specs()),
        ("[marker] with scheme csfq", "The kernel has share_per = \"user\" only.", CsfqMarkerParams::specs()),
        ("[users_table]", "The table of meters.", UserTableParams::specs()),
        ("[default_user]", "Whoever sends from an address of no user.", UserParams::specs()),
        (
            "[[users]]",
            "A user, known by one or several of prefix, vlan, s_vlan and c_vlan, pppoe_session, tunnel and mark, \
             which share one meter. Without reference_rate or traffic_class it has those of [default_user]. \
             Subscribers that come and go have the same keys, see fairlane-node-user(8).",
            users,
        ),
        ("[[ports]]", "A port; there is at least one.", ports),
        ("[ports.queue]", "The queue of a port. Without it the qdisc alone drops.", QueueParams::specs()),
        (
            "[ports.queue] with scheme abc",
            "q_min, q_base and gamma are all in packets, in bytes or in time, which needs the rate of the port; limit \
             is in packets or bytes. The kernel has delay_estimate = \"link_rate\" only.",
            AbcParams::specs(),
        ),
        (
            "[ports.queue] with scheme csfq",
            "The rate of the port is required. The kernel has variant = \"amended\", cut_budget = \"on_entry\" and \
             overflow_bound = \"cuts\" only.",
            CsfqParams::specs(),
        ),
    ];
    all.into_iter().map(|(title, doc, keys)| Section { title, doc, keys }).collect()
}

/// A key without a declaration, whose value is parsed by hand.
fn by_hand<T: ConfigValue>(name: &'static str, doc: &str) -> ParamSpec {
    ParamSpec {
        name,
        symbol: "",
        kind: T::KIND,
        default: Json::Null,
        min: Json::Null,
        max: Json::Null,
        unit: T::EXAMPLE,
        choices: None,
        choice_docs: &[],
        doc: doc.into(),
        source: "our choice",
    }
}
