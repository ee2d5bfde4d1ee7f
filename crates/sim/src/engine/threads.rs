//! Threads that are waited for once, and only in the process that they run in.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Calls what it is given, once, within whatever a host needs around the work of a thread.
pub type Around = fn(work: &mut (dyn FnMut() + Send));

/// Threads with the number of their process. A fork takes the record of a thread along, but not the thread: waiting for
/// it there would never end.
#[derive(Debug)]
pub struct Threads {
    process: u32,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// These threads of this process.
    #[must_use]
    pub fn of(running: Vec<JoinHandle<()>>) -> Self {
        Self { process: std::process::id(), running: Mutex::new(running) }
    }

    /// Waits until all have ended; in another process there is nothing to wait for.
    pub fn join(&self) {
        if std::process::id() != self.process {
            return;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in running.drain(..) {
            // A panic of a run has been reported as its outcome.
            let _ = thread.join();
        }
    }
}
