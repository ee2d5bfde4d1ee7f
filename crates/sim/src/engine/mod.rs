//! The engine: events in their order, the loop that handles them, and many runs side by side.

pub mod agenda;
pub mod batch;
pub mod event;
mod event_loop;
pub mod event_set;
mod prefetch;
pub mod ranked_event_set;
pub mod threads;
mod tournament;
pub mod watched_run;

pub use event_loop::{Stop, observe, run, simulate, try_observe};
