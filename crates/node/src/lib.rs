//! Fairlane for real packets on Linux: meters at the edge, and queue management at the ports.
//!
//! The kernel data plane is optional (feature `ebpf`). All other parts build and work without it.

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
