//! ABC: activity-based congestion management. The edge writes how active a user is; the core drops the more active.
//!
//! Source: Menth and Zeitler, "Fair Resource Sharing for Stateless-Core Packet-Switched Networks With
//! Prioritization", IEEE Access 2018 (abc2018), section III. The original design of 2016 is another scheme.
//!
//! | part | where | equations |
//! |---|---|---|
//! | [`AbcMarker`] | edge, one per user | (1)-(5): `A = log2(R_m / R_r)` |
//! | averager ([`crate::utema::WeightedMean`]) | port | (6)-(9): mean activity of accepted packets |
//! | [`AbcAqm`] | port | (10): drop if `Q >= max(Q_min, Q_base - gamma*(A - A_avg))` |
//!
//! Cost per packet: edge one exponential, one logarithm; port one exponential for an accepted packet, none for a
//! dropped one. State: port 3 numbers, user 3 numbers, flow none.
//!
//! Deviations and choices where the paper leaves room:
//! 1. `Q >= T_drop` drops ("not smaller than", III-C2); the P4 paper drops on `>` only.
//! 2. The averager counts what passed both the threshold and the limit, and decides with the mean before the packet.
//! 3. `A_avg` is 0 before the first accepted packet (IV-G5). `Q_min` must be above 0, so that there is a first one.
//! 4. Thresholds may be packets, bytes or delays; the paper only suggests delays for links whose rate varies.
//! 5. Meters start with the network, not with the user's first packet: see [`crate::utema`] for `t = t0`.
//! 6. An activity is never below -32, so that a packet without length has one.
//!
//! The label is a real number here.

mod aqm;
mod meter;

use crate::buffer::{BufferParams, ManagedQueue};
use crate::config::{ConfigError, Table};
use crate::marker::MarkerScheme;
use crate::packet::Packet;
use crate::scheme::{About, Port, SchemeSpec};

pub use aqm::{AbcAqm, AbcParams, AbcRule, check_opens};
pub use meter::{AbcMarker, MeterKind, MeterParams, MeterState, split_reference_rate};

/// ABC in the list of schemes.
#[derive(Clone, Copy, Debug)]
pub struct AbcScheme;

impl SchemeSpec for AbcScheme {
    const ABOUT: About = About {
        title: "Activity-based congestion management",
        kind: "one queue per class and scheduler; drops the arriving packet",
        summary: "The edge labels packets with the logarithm of their user's relative rate; a port drops a packet \
                  when the queue is longer than a threshold that falls with the packet's activity.",
        source: "Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With \
                 Prioritization, IEEE Access 2018",
        state: "port: 3 numbers; user, at the edge: 3 numbers; flow: none",
        cost: "edge: 1 exponential, 1 logarithm; port: 1 exponential for an accepted packet",
    };
    const MARKER: MarkerScheme = MarkerScheme::Abc;
    type Params = AbcParams;
    type Discipline<P: Packet> = ManagedQueue<P, AbcAqm>;

    fn check(params: &AbcParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        aqm::check_thresholds(params, buffer.limit, table)
    }

    fn build<P: Packet>(params: &AbcParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, AbcAqm::new(params))
    }
}
