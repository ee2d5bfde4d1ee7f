//! Ends active runs before the interpreter exits.
//!
//! A thread that requests the GIL during the exit never gets it, and joining that thread hangs. `atexit` functions are
//! called while the GIL is still available.

use fairlane_sim::engine::batch::Batch;
use fairlane_sim::engine::watched_run::WatchedRun;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Work that runs in threads.
pub trait Run: Send + Sync {
    /// Stops the work and waits until its threads end. They may need the GIL to end.
    fn end(&self);
}

impl Run for Batch {
    fn end(&self) {
        self.end();
    }
}

impl Run for Mutex<Option<WatchedRun>> {
    fn end(&self) {
        let run = self.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(run);
    }
}

/// All work that may be running.
static RUNS: Mutex<Vec<Weak<dyn Run>>> = Mutex::new(Vec::new());

fn runs() -> MutexGuard<'static, Vec<Weak<dyn Run>>> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends `run` at the exit of the interpreter if `run` still exists then.
pub fn ends_at_exit<R: Run + 'static>(run: &Arc<R>) {
    let run: Weak<R> = Arc::downgrade(run);
    let mut runs = runs();
    runs.retain(|other| other.strong_count() > 0);
    runs.push(run);
}

/// Registers [`end_runs`] for the exit of the interpreter.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let at_exit = module.py().import("atexit")?;
    at_exit.call_method1("register", (wrap_pyfunction!(end_runs, module)?,))?;
    Ok(())
}

#[pyfunction]
fn end_runs(py: Python<'_>) {
    let runs: Vec<Arc<dyn Run>> = std::mem::take(&mut *runs()).iter().filter_map(Weak::upgrade).collect();
    py.detach(|| runs.iter().for_each(|run| run.end()));
}
