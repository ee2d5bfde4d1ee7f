//! A packet-level simulator of shared links.
//!
//! A [`scenario::Scenario`] contains everything about a run. [`engine::run`] runs one replication and returns a
//! [`measure::run_record::RunRecord`]; [`engine::batch::Batch`] runs many replications in parallel.
//! [`measure::catalogue::catalogue`] documents the numbers in a record.

mod cache_line;
pub mod engine;
pub mod measure;
pub mod network;
pub mod scenario;
pub mod traffic;
pub mod version;
pub mod watch;
