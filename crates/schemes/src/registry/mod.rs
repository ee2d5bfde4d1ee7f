//! The lists of all schemes and markers. Hosts use them to configure, describe and build schemes and markers.

pub mod catalogue;
pub mod external;
pub mod markers;
pub mod queue_config;
pub mod schemes;
