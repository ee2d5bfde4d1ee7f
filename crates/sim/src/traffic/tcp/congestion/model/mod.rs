//! Building blocks of path models: rates, round trips, a windowed maximum, the queueing delay.

pub mod byte_rate;
pub mod memo;
pub mod own_limit;
pub mod queuing_delay;
pub mod rounds;
pub mod windowed_max;
