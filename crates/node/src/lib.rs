//! Fairlane on live Linux: meters at the edge, queue management at the ports, on real packets.
//!
//! The kernel data plane is optional (feature `ebpf`): without it everything else builds and works.

pub mod config;
pub mod control;
pub mod forward;
pub mod frame;
pub mod histogram;
pub mod io;
#[cfg(feature = "ebpf")]
pub mod kernel;
pub mod names;
pub mod p4;
pub mod records;
pub mod subscribers;
pub mod traffic;
