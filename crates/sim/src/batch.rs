//! Many runs in parallel, one thread each at a time. A run does not depend on any other, so the records are the same
//! for any number of threads.

use crate::engine::{self, Stop};
use crate::observe::NoObserver;
use crate::result::RunRecord;
use crate::scenario::Scenario;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A run to do: a scenario and the number of the replication.
pub type Job = (Arc<Scenario>, u32);

/// What became of a job.
pub type Outcome = Result<RunRecord, Failure>;

/// Why there is no record; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A discipline from outside failed.
    Scheme(String),
    /// A defect of the simulator.
    Defect(String),
}

/// Runs that are under way. Dropping it cancels those that have not ended.
#[derive(Debug)]
pub struct Batch {
    outcomes: Mutex<Receiver<(usize, Outcome)>>,
    cancelled: Arc<AtomicBool>,
    remaining: AtomicUsize,
    threads: Vec<JoinHandle<()>>,
}

impl Batch {
    /// Starts `jobs` on `threads` threads, at least one.
    #[must_use]
    pub fn start(jobs: Vec<Job>, threads: usize) -> Self {
        let (sender, outcomes) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let remaining = AtomicUsize::new(jobs.len());
        let next = Arc::new(AtomicUsize::new(0));
        let threads = threads.clamp(1, jobs.len().max(1));
        let jobs = Arc::new(jobs);
        let work = |_| {
            let (jobs, next, cancelled, sender) = (jobs.clone(), next.clone(), cancelled.clone(), sender.clone());
            thread::spawn(move || {
                while let Some((index, (scenario, replication))) = take(&jobs, &next) {
                    let Some(outcome) = run_guarded(scenario, *replication, &cancelled) else { return };
                    if sender.send((index, outcome)).is_err() {
                        return;
                    }
                }
            })
        };
        let threads = (0..threads).map(work).collect();
        Self { outcomes: Mutex::new(outcomes), cancelled, remaining, threads }
    }

    /// The next run that ends, by index of its job; `None` if none does within `timeout`, or none is left.
    pub fn next(&self, timeout: Duration) -> Option<(usize, Outcome)> {
        let outcomes = self.outcomes.lock().expect("no holder of the lock panics");
        match outcomes.recv_timeout(timeout) {
            Ok(outcome) => {
                self.remaining.fetch_sub(1, Ordering::Relaxed);
                Some(outcome)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Runs that [`Batch::next`] has not given out.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.remaining.load(Ordering::Relaxed)
    }

    /// Stops all runs within milliseconds; finished ones can still be taken.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.cancel();
        for thread in self.threads.drain(..) {
            // A panic of a run has been reported as its outcome.
            let _ = thread.join();
        }
    }
}

fn take<'a>(jobs: &'a [Job], next: &AtomicUsize) -> Option<(usize, &'a Job)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

/// A defect in one run must not take the others along: it becomes that run's outcome.
fn run_guarded(scenario: &Scenario, replication: u32, cancelled: &AtomicBool) -> Option<Outcome> {
    let run = std::panic::AssertUnwindSafe(|| engine::try_observe(scenario, replication, cancelled, &mut NoObserver));
    match std::panic::catch_unwind(run) {
        Ok(Ok(record)) => Some(Ok(record)),
        Ok(Err(Stop::Cancelled)) => None,
        Ok(Err(Stop::SchemeFailed(problem))) => Some(Err(Failure::Scheme(problem))),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown defect");
            let text = format!("replication {replication} of {}: internal error: {text}", scenario.name);
            Some(Err(Failure::Defect(text)))
        }
    }
}
