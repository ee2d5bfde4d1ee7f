//! Measurements over time.

pub mod rate_estimates;
pub mod ticker;
pub mod utema;
