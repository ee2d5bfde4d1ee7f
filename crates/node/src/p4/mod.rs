//! The configuration of a node for a P4 switch with `planes/p4/abc.p4` or `planes/p4/csfq.p4`: table entries instead of
//! maps of the kernel.
//!
//! [`entries`] says what stands in which table, [`text`] writes it for `simple_switch_CLI` and for P4Runtime.

pub mod entries;
pub mod text;

pub use entries::{Entry, Station, Switch};
