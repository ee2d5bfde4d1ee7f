//! Threads that are waited for once, and only in the process that they run in.

use std::sync::{Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// How long threads that were told to stop are waited for. A run looks every few thousand events, so milliseconds are
/// enough, unless a scheme from outside never returns: nobody can end its thread.
const GRACE: Duration = Duration::from_secs(2);

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

    /// Waits until all have ended that were told to stop, for [`GRACE`] at most; the others are left to themselves. In
    /// another process there is nothing to wait for.
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
                // A panic of a run has been reported as its outcome.
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
