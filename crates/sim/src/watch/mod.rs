//! Watching a run: the hooks, and what is made of them.

pub mod observer;
pub mod pcap;
pub mod qlog;
pub mod trace;
