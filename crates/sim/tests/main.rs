//! Tests the simulator through its public interface. All tests are in one binary; each file is a module.

mod batch;
mod bbr;
mod common;
mod config;
mod congestion_controls;
mod external_controls;
mod fingerprint;
mod invariants;
mod label_schemes;
mod limits;
mod notes;
mod parallel;
mod paths;
mod responsiveness;
mod screen;
mod senders;
mod symmetry;
mod topologies;
mod tracing;
mod transfers;
mod two_way;
mod user_paths;
mod video;
mod voip;
mod weights;
