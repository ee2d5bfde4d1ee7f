//! Records shared by the kernel programs and the tool. Each record is declared once, as a structure in this module.
//! `make bpf-headers` generates the C definitions in `planes/bpf/generated/`, with assertions of sizes and field
//! offsets.

mod configured;
mod declare;
mod fixed;
mod maps;
mod reports;

pub use configured::Places;
pub use declare::{CType, Field, Layout, Record};
pub use fixed::{AveragerRecord, CsfqParamsRecord, CsfqRecord, DecayRecord, MeterRecord};
pub use maps::{
    ClassCounts, IngressStats, Kind, LinkState, MarkBits, MarkRuleRecord, NeighbourKey, NeighbourState, NodeRecord,
    NumberKey, PoolRecord, PortCounts, PortRecord, PortState, PrefixKey, QdiscState, RedirectStats, ReplayInput,
    RuleRecord, UserKey, UserState,
};

use crate::config::{Arrivals, Carrier, ClassRule, NodeScheme, QueueScheme, User, UserIs};
use maps::{OwnQdisc, Place, Unit};

/// Layouts of the map records.
#[must_use]
pub fn layouts() -> Vec<Layout> {
    maps::layouts()
}

/// The headers in `planes/bpf/generated/`: names and contents.
#[must_use]
pub fn headers() -> [(&'static str, String); 2] {
    let constants = format!(
        "/* Maximum number of users by mark, which are matched one by one. */\n#define MOST_MARKS {}\n\
         /* The slot of a port is its ifindex modulo this number; the tool rejects two ports with the same slot. */\n\
         #define PORT_PLACES {}\n\
         /* Limits of one slice of the search for silent users: slots checked, users expired. */\n\
         #define SLICE_LOOKED {}\n#define SLICE_EXPIRED {}\n\
         /* Interval between questions to a neighbour, and validity of an answer from its question on. */\n\
         #define ASK_EVERY_NS {}ULL\n#define READ_FOR_NS {}ULL\n\n",
        User::MOST_MARKS,
        PortRecord::PLACES,
        PoolRecord::SLICE_LOOKED,
        PoolRecord::SLICE_EXPIRED,
        NeighbourState::ASK_EVERY.as_nanos(),
        NeighbourState::READ_FOR.as_nanos()
    );
    let numbers = declare::enumerations! {
        SCHEME_ABC = NodeScheme::Abc, SCHEME_CSFQ = NodeScheme::Csfq;
        RULE_BE = ClassRule::BestEffort, RULE_EF = ClassRule::Expedited, RULE_DSCP = ClassRule::Dscp;
        UNIT_PACKETS = Unit::Packets, UNIT_BYTES = Unit::Bytes, UNIT_VIRTUAL = Unit::Virtual;
        OWN_QDISC_NONE = OwnQdisc::None, OWN_QDISC_FIFO = OwnQdisc::Fifo;
        INGRESS_NONE = Arrivals::None, INGRESS_METER = Arrivals::Meter, INGRESS_TRUSTED = Arrivals::Trusted;
        AQM_NONE = QueueScheme::DropTail, AQM_ABC = QueueScheme::Abc, AQM_CSFQ = QueueScheme::Csfq;
        CARRIER_NONE = Carrier::None, CARRIER_TAG = Carrier::Tag, CARRIER_OPTION = Carrier::Ipv6Option,
            CARRIER_SHIM = Carrier::Shim;
        USER_IS_SOURCE = UserIs::Source, USER_IS_DESTINATION = UserIs::Destination;
        KIND_FREE = Kind::Free, KIND_ADDRESS = Kind::Address, KIND_DEFAULT = Kind::Default,
            KIND_OVERFLOW = Kind::Overflow, KIND_UNPARSED = Kind::Unparsed, KIND_VLAN = Kind::Vlan,
            KIND_MARK = Kind::Mark, KIND_SERVICE = Kind::Service, KIND_TAGS = Kind::Tags,
            KIND_SESSION = Kind::Session, KIND_TUNNEL = Kind::Tunnel;
        PLACE_DEFAULT = Place::Default, PLACE_OVERFLOW = Place::Overflow, PLACE_UNPARSED = Place::Unparsed,
            PLACE_FIRST = Place::First;
    };
    [
        header("fixed_records.h", "MIT OR Apache-2.0", String::new(), &fixed::layouts()),
        header(
            "records.h",
            "GPL-2.0 OR MIT OR Apache-2.0",
            constants + &crate::control::header() + &numbers,
            &maps::layouts(),
        ),
    ]
}

fn header(name: &'static str, licence: &str, constants: String, layouts: &[Layout]) -> (&'static str, String) {
    let guard = format!("FAIRLANE_{}", name.to_uppercase().replace('.', "_"));
    let definitions: Vec<String> = layouts.iter().map(Layout::definition).collect();
    let text = format!(
        "/* SPDX-License-Identifier: {licence} */\n\
         /* Written by `make bpf-headers` from crates/node/src/records: do not edit. */\n\
         #ifndef {guard}\n#define {guard}\n\n{constants}\n{}\n#endif\n",
        definitions.join("\n")
    );
    (name, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn written_headers_are_those_of_the_records() {
        for (name, text) in headers() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../planes/bpf/generated").join(name);
            let written = std::fs::read_to_string(path).unwrap();
            assert!(written == text, "bpf/generated/{name} is out of date: make bpf-headers");
        }
    }
}
