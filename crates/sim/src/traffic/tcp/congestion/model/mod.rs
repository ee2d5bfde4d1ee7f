//! What controls that model their path are made of: rates, round trips, a windowed maximum, the queuing delay.

pub mod byte_rate;
pub mod memo;
pub mod own_limit;
pub mod queuing_delay;
pub mod rounds;
pub mod windowed_max;
