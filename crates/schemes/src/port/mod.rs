//! The egress port of user-space hosts: queue discipline, transmitter, wire, and a histogram of delays.

mod delay_histogram;
mod delivery_trace;
mod egress_port;
mod link_rate;
mod ring;
mod wire;

pub use delay_histogram::DelayHistogram;
pub use delivery_trace::{DeliveryTrace, OpportunityTimes};
pub use egress_port::{EgressPort, PortObserver};
pub use link_rate::{LinkRate, Serialiser};
pub use ring::Ring;
pub use wire::Wire;
