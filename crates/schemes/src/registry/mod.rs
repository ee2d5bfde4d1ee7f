//! The lists of all schemes and markers, from which hosts configure, describe and build them.

pub mod external;
pub mod markers;
pub mod schemes;
