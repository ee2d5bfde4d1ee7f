//! What hosts send: TCP flows, web sessions and datagrams.

pub mod tcp;
pub mod udp_source;
pub mod web_source;
