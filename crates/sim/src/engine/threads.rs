//! Threads that are joined at most once, and only in the process in which they run.

use std::sync::{Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Maximum time to wait for cancelled threads. A run checks for cancellation every few thousand events, so its thread
/// usually ends within milliseconds. If an external scheme never returns, its thread never ends.
const GRACE: Duration = Duration::from_secs(2);

/// Function that must call `work` once. It may set up and clean up resources that a host requires for a thread.
pub type Around = fn(work: &mut (dyn FnMut() + Send));

/// Handles of threads, with the id of their process. A fork copies a handle but not its thread, so a join in the child
/// process would block forever.
#[derive(Debug)]
pub struct Threads {
    process: u32,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Creates the record of running threads of this process.
    #[must_use]
    pub fn of(running: Vec<JoinHandle<()>>) -> Self {
        Self { process: std::process::id(), running: Mutex::new(running) }
    }

    /// Waits at most [`GRACE`] for cancelled threads to end, then detaches the threads that still run. Does nothing in
    /// another process.
    pub fn join(&self) {
        if std::process::id() != self.process {
            return;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = Instant::now() + GRACE;
        for thread in running.drain(..) {
            while !thread.is_finished() && Instant::now() < deadline {
                sleep(Duration::from_micros(100));
            }
            if thread.is_finished() {
                // A panic of a run was already reported as its outcome.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn a_thread_that_never_ends_is_left_to_itself() {
        let (end, ends) = channel::<()>();
        let endless = thread::spawn(move || ends.recv().unwrap_or_default());
        Threads::of(vec![endless, thread::spawn(|| ())]).join();
        drop(end);
    }
}
