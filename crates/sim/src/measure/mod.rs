//! Measurement: probes during a run, the record of the run, and the catalogue of metrics.

pub mod access_record;
pub mod call_probe;
pub mod catalogue;
pub mod derived;
pub mod e_model;
pub mod max_min_level;
pub mod max_min_shares;
pub mod metric;
pub mod occupancy;
pub mod path_probe;
pub mod path_series;
pub mod port_probe;
pub mod recorder;
pub mod responsiveness_probe;
pub mod run_record;
pub mod series;
pub mod slowdown;
pub mod student_t;
pub mod times_record;
pub mod transfer_probe;
pub mod users_record;
