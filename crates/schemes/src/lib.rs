//! Schemes that share a link fairly among its users with little or no state in the core of the network.
//!
//! A scheme has two roles. A [`Marker`](contract::marker::Marker) at the edge meters a user and labels its packets. A
//! [`QueueDiscipline`](contract::discipline::QueueDiscipline) at every egress port owns the waiting packets and decides
//! by label. A scheme uses no clock, socket, file or global variable: the caller passes time, link rate and random
//! numbers, and decisions are return values. Each scheme is one module whose head gives its source, equations, cost,
//! state and deviations.
//!
//! - [`contract`]: the interface between schemes and hosts
//! - [`registry`]: lists all schemes and markers, including a host's external schemes, and builds them from a
//!   configuration
//! - [`label`]: schemes with labels
//! - [`aqm`]: active queue management without labels
//! - [`fairqueue`]: schedulers with a queue per flow, user or bucket
//! - [`queue`], [`flows`], [`measure`], [`base`]: parts of schemes
//! - [`port`]: the egress port in which user-space hosts run a discipline
//! - [`fixed`]: integer forms for the kernel and for P4
//! - [`testing`]: tools shared by the tests of schemes and hosts

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

/// Re-exported for macros that declare parameters.
#[doc(hidden)]
pub use serde_json;
