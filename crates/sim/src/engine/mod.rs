//! The engine: ordered events, the loop that handles them, and parallel runs.

pub mod agenda;
pub mod batch;
mod border;
pub mod event;
mod event_loop;
pub mod event_set;
mod late_deliveries;
mod parallel;
pub mod partition;
pub(crate) mod prefetch;
pub mod ranked_event_set;
mod rendezvous;
pub mod threads;
mod timers_ahead;
mod tournament;
pub mod watched_run;

pub use event_loop::{Stop, observe, run, simulate, try_observe, unstarted};
pub use parallel::{run_by, run_on};
