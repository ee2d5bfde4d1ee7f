//! A packet-level simulator of links that are shared.
//!
//! A [`scenario::Scenario`] says everything about a run; [`engine::run`] runs one replication of it and gives a
//! [`measure::run_record::RunRecord`]; [`engine::batch::Batch`] runs many in parallel;
//! [`measure::catalogue::catalogue`] says what their numbers are.

mod cache_line;
pub mod engine;
pub mod measure;
pub mod network;
pub mod scenario;
pub mod traffic;
pub mod version;
pub mod watch;
