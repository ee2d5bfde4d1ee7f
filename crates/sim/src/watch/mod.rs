//! Observation of a run: hooks, and outputs that use them.

pub mod observer;
pub mod pcap;
pub mod qlog;
pub mod trace;
