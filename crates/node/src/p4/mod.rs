//! Translates a node's configuration into table entries of a P4 switch with `planes/p4/abc.p4` or `planes/p4/csfq.p4`.
//!
//! [`entries`] generates the entries, [`text`] writes them for `simple_switch_CLI` and P4Runtime.

pub mod entries;
pub mod text;

pub use entries::{Entry, Station, Switch};
