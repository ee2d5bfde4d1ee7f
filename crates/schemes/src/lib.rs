//! Schemes that share a link fairly among its users with little or no state in the core of the network.
//!
//! Two roles: a [`marker::Marker`] at the edge meters a user and labels its packets; a
//! [`discipline::QueueDiscipline`] at every egress port owns the packets that wait and decides by label. A scheme
//! reads no clock, socket, file or global: time, the link's rate and randomness come in as arguments, verdicts go
//! out. Each scheme is one module whose head names its source, equations, cost, state and deviations:
//!
//! - [`droptail`]: the baseline
//! - [`abc`]: activity-based congestion management
//! - [`label`]: other schemes with labels
//! - [`aqm`]: active queue management without labels
//! - [`fairqueue`]: schedulers with a queue per flow, user or bucket
//! - [`external`]: schemes of the host's own
//!
//! [`scheme`] builds them from a configuration and lists them.

pub mod abc;
pub mod aqm;
pub mod bitmap;
pub mod buffer;
pub mod config;
pub mod discipline;
pub mod droptail;
pub mod elementary;
pub mod expiring;
pub mod external;
pub mod fairqueue;
pub mod fixed;
pub mod flow;
pub mod label;
pub mod lru;
pub mod marker;
pub mod packet;
pub mod queue_length;
pub mod queue_threshold;
pub mod random_access;
pub mod rng;
pub mod scheme;
pub mod sorted_queue;
pub mod testing;
pub mod ticker;
pub mod units;
pub mod utema;
