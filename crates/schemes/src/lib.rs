//! Schemes that share a link fairly among its users with little or no state in the core of the network.
pub mod rng;
pub mod units;
