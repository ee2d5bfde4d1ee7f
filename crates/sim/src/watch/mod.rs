//! Observation of a run: the hooks, and outputs based on them.

pub mod observer;
pub mod pcap;
pub mod qlog;
pub mod trace;
