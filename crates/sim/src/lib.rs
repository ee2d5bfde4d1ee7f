//! A packet-level simulator of links that are shared.
//!
//! A [`scenario::Scenario`] says everything about a run; [`engine::run`] runs one replication of it and gives a
//! [`result::RunRecord`]; [`batch::Batch`] runs many in parallel; [`summary::summarise`] joins them.

pub mod agenda;
mod ahead;
pub mod batch;
pub mod engine;
pub mod event;
pub mod front;
pub mod host;
pub mod lane;
pub mod link;
pub mod network;
pub mod observe;
pub mod packet;
pub mod pcap;
pub mod pool;
pub mod probe;
mod quartet;
pub mod rate;
mod record;
pub mod result;
pub mod scenario;
pub mod share;
pub mod source;
pub mod summary;
pub mod tcp;
pub mod threads;
pub mod trace;
pub mod traced;
pub mod version;
pub mod web;
