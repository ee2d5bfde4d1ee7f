//! Fair queueing: schedulers with a queue per flow, user or bucket, ideal and practical.
//!
//! - [`stfq`]: start-time fair queueing, one queue sorted by start tag

pub mod stfq;
pub mod heap;
pub mod list;
pub mod store;
