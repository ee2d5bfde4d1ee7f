//! Foundations: units, random numbers, configuration, elementary functions.

pub mod config;
pub mod elementary;
pub mod rng;
pub mod units;
