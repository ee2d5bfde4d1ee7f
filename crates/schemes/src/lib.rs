//! Schemes that share a link fairly among its users with little or no state in the core of the network.
//!
//! Two roles: a [`Marker`](contract::marker::Marker) at the edge meters a user and labels its packets; a
//! [`QueueDiscipline`](contract::discipline::QueueDiscipline) at every egress port owns the packets that wait and
//! decides by label. A scheme reads no clock, socket, file or global: time, the link's rate and randomness come in as
//! arguments, verdicts go out. Each scheme is one module whose head names its source, equations, cost, state and
//! deviations.
//!
//! - [`contract`]: the interface between schemes and hosts
//! - [`registry`]: the lists of all schemes and markers, with schemes of the host's own; builds them from a
//!   configuration
//! - [`label`]: schemes with labels
//! - [`aqm`]: active queue management without labels
//! - [`fairqueue`]: schedulers with a queue per flow, user or bucket
//! - [`queue`], [`flows`], [`measure`], [`base`]: what schemes are made of
//! - [`port`]: the egress port that hosts in user space put a discipline into
//! - [`fixed`]: integer forms for the kernel and for P4
//! - [`testing`]: what tests of schemes and of hosts share

pub mod aqm;
pub mod base;
pub mod contract;
pub mod fairqueue;
pub mod fixed;
pub mod flows;
pub mod label;
pub mod measure;
pub mod port;
pub mod queue;
pub mod registry;
pub mod testing;

/// For the macros that declare parameters.
#[doc(hidden)]
pub use serde_json;
