//! The user-space forwarder: a bridge or router whose links have a configurable rate, delay, buffer and scheme.
//!
//! [`core::Core`] is the forwarder without clock and sockets. [`live`] runs it on network interfaces (`AF_PACKET` or
//! `AF_XDP`), [`offline`] on a capture file.

mod bridge;
pub mod config;
pub mod core;
mod egress;
mod frame_pool;
mod icmp;
mod ingress;
pub mod live;
pub mod offline;
mod outages;
mod packet;
mod packet_ports;
mod ports;
mod router;
mod stats;
#[cfg(feature = "ebpf")]
mod xdp_ports;
