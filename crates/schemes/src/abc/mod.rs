//! ABC: activity-based congestion management. The edge writes how active a user is; the core drops the more active.
//!
//! Source: Menth and Zeitler, "Fair Resource Sharing for Stateless-Core Packet-Switched Networks With
//! Prioritization", IEEE Access 2018 (abc2018), section III. The original design of 2016 is another scheme.
//!
//! | part | where | equations |
//! |---|---|---|
//! | [`AbcMeter`] | edge, one per user | (1)-(5): `A = log2(R_m / R_r)` |
//! | averager ([`crate::utema::WeightedMean`]) | port | (6)-(9): mean activity of accepted packets |
//! | [`AbcAqm`] | port | (10): drop if `Q >= max(Q_min, Q_base - gamma*(A - A_avg))` |
//!
//! Cost per packet: edge one exponential, one logarithm; port one exponential for an accepted packet, none for a
//! dropped one. State: port 3 numbers, user 2 numbers, flow none.
//!
//! Deviations and choices where the paper leaves room:
//! 1. `Q >= T_drop` drops ("not smaller than", III-C2); the P4 paper drops on `>` only.
//! 2. The averager counts what passed both the threshold and the limit, and decides with the mean before the packet.
//! 3. `A_avg` is 0 before the first accepted packet (IV-G5).
//! 4. Thresholds may be packets, bytes or delays; the paper only suggests delays for links whose rate varies.
//! 5. Meters start with the network, not with the user's first packet: see [`crate::utema`] for `t = t0`.
//!
//! The label is a real number here.

mod aqm;
mod meter;

pub use aqm::{AbcAqm, AbcParams};
pub use meter::{AbcMeter, MeterKind, MeterParams, split_reference_rate};
