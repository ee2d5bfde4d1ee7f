//! Imports for writing a scheme: `use crate::contract::prelude::*` imports all interfaces, units, and the macros that
//! declare parameters.

pub use crate::base::config::{ConfigError, Table};
pub use crate::base::rng::Rng;
pub use crate::base::units::{BitRate, Bytes, QueueLimit, Threshold, Time};
pub use crate::contract::aqm::{Aqm, QueueView, Verdict};
pub use crate::contract::buffer::BufferParams;
pub use crate::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline, Report, StateSize};
pub use crate::contract::flow_key::FlowKey;
pub use crate::contract::marker::{Marker, MarkerScheme, MeterSpec};
pub use crate::contract::packet::{Ecn, Packet, TrafficClass};
pub use crate::contract::scheme::{About, FlowState, Order, Port, SchemeSpec};
pub use crate::contract::weights::Weights;
pub use crate::{choices, params};
