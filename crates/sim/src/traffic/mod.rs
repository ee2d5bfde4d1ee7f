//! Traffic sources and sinks of hosts: TCP flows, web sessions and datagrams.

pub mod tcp;
pub mod udp_source;
pub mod video_player;
pub mod web_source;
