//! What controls that model their path are made of: round trips, a windowed maximum, the queuing delay.

pub mod queuing_delay;
pub mod rounds;
pub mod windowed_max;
