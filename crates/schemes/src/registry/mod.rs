//! The lists of all schemes and markers, with which hosts configure, describe and build them.

pub mod catalogue;
pub mod external;
pub mod markers;
pub mod queue_config;
pub mod schemes;
