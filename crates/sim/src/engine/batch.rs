//! Parallel runs. Runs are independent, so the records are the same for any number of threads.
//!
//! While there are at least as many runs as threads, each run uses one thread. If fewer runs are left, a run gets
//! several threads if they make the run faster ([`crate::engine::partition`]).

use crate::engine::event_loop::Stop;
use crate::engine::parallel::run_on;
use crate::engine::threads::{Around, Threads};
use crate::measure::run_record::RunRecord;
use crate::scenario::Scenario;
use crate::watch::observer::Observer;
use fairlane_schemes::base::units::Time;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A job: a scenario and a replication number.
pub type Job = (Arc<Scenario>, u32);

/// Outcome of a job.
pub type Outcome = Result<RunRecord, Failure>;

/// Reason for a missing record; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An external scheme or congestion control failed.
    External(String),
    /// A bug in the simulator.
    Defect(String),
}

/// Progress of a run, reported every few thousand events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Index of the job.
    pub job: usize,
    /// Current simulated time.
    pub now: Time,
    /// Simulated end time.
    pub end: Time,
    /// Events handled.
    pub events: u64,
}

/// Progress written by a thread. The fields are updated separately, so they may belong to different moments.
#[derive(Debug)]
struct Pulse {
    /// Index of the job; [`Pulse::NO_JOB`] between runs.
    job: AtomicUsize,
    now_ps: AtomicU64,
    events: AtomicU64,
}

impl Pulse {
    const NO_JOB: usize = usize::MAX;

    fn set(&self, job: usize, now: Time, events: u64) {
        self.now_ps.store(now.0, Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        self.job.store(job, Ordering::Relaxed);
    }

    fn get(&self, jobs: &[Job]) -> Option<Reached> {
        let job = self.job.load(Ordering::Relaxed);
        let (scenario, _) = jobs.get(job)?;
        let now = Time(self.now_ps.load(Ordering::Relaxed));
        Some(Reached { job, now, end: scenario.run.end(), events: self.events.load(Ordering::Relaxed) })
    }
}

impl Default for Pulse {
    fn default() -> Self {
        Self { job: AtomicUsize::new(Self::NO_JOB), now_ps: AtomicU64::new(0), events: AtomicU64::new(0) }
    }
}

/// Observer that only records the progress of a run.
struct Pulsing<'a> {
    pulse: &'a Pulse,
    job: usize,
}

impl Observer for Pulsing<'_> {
    fn looks(&self) -> bool {
        false
    }

    fn reached(&mut self, now: Time, events: u64) {
        self.pulse.set(self.job, now, events);
    }
}

/// Running jobs. Dropping it cancels unfinished runs.
#[derive(Debug)]
pub struct Batch {
    outcomes: Mutex<Receiver<(usize, Outcome)>>,
    cancelled: Arc<AtomicBool>,
    remaining: AtomicUsize,
    jobs: Arc<Vec<Job>>,
    pulses: Vec<Arc<Pulse>>,
    threads: Threads,
}

impl Batch {
    /// Starts `jobs` on `threads` threads, at least one. Uses fewer threads if some cannot be started.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(jobs: Vec<Job>, threads: usize) -> io::Result<Self> {
        Self::start_within(jobs, threads, |work| work())
    }

    /// Like [`Batch::start`], but runs the work of each thread inside `around`.
    ///
    /// # Errors
    /// The same errors as [`Batch::start`].
    pub fn start_within(jobs: Vec<Job>, threads: usize, around: Around) -> io::Result<Self> {
        let (sender, outcomes) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let remaining = AtomicUsize::new(jobs.len());
        let workers = threads.clamp(1, jobs.len().max(1));
        let jobs = Arc::new(jobs);
        let queue =
            Arc::new(Queue { jobs: jobs.clone(), threads, next: AtomicUsize::new(0), under_way: AtomicUsize::new(0) });
        let pulses: Vec<Arc<Pulse>> = (0..workers).map(|_| Arc::default()).collect();
        let work = |pulse: &Arc<Pulse>| {
            let (queue, cancelled, sender) = (queue.clone(), cancelled.clone(), sender.clone());
            let pulse = pulse.clone();
            thread::Builder::new().name("fairlane-runs".to_owned()).spawn(move || {
                around(&mut || {
                    while let Some((index, job, threads)) = queue.take() {
                        let mut pulsing = Pulsing { pulse: &pulse, job: index };
                        let outcome = run_guarded(job, threads, &cancelled, &mut pulsing);
                        pulse.set(Pulse::NO_JOB, Time::ZERO, 0);
                        queue.under_way.fetch_sub(1, Ordering::Relaxed);
                        let Some(outcome) = outcome else { return };
                        if sender.send((index, outcome)).is_err() {
                            return;
                        }
                    }
                });
            })
        };
        let mut running = Vec::with_capacity(workers);
        for pulse in &pulses {
            match work(pulse) {
                Ok(thread) => running.push(thread),
                Err(error) if running.is_empty() => return Err(error),
                Err(_) => break, // the threads that were started run all jobs
            }
        }
        let threads = Threads::of(running);
        Ok(Self { outcomes: Mutex::new(outcomes), cancelled, remaining, jobs, pulses, threads })
    }

    /// Next completed run, with the index of its job. `None` if no run completes within `timeout` or no run is left.
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

    /// Number of runs that [`Batch::next`] has not returned.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.remaining.load(Ordering::Relaxed)
    }

    /// Progress of the active runs.
    #[must_use]
    pub fn reached(&self) -> Vec<Reached> {
        self.pulses.iter().filter_map(|pulse| pulse.get(&self.jobs)).collect()
    }

    /// Cancels all runs within milliseconds. Completed runs can still be taken.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Cancels all runs and waits for their threads.
    pub fn end(&self) {
        self.cancel();
        self.threads.join();
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Debug)]
struct Queue {
    jobs: Arc<Vec<Job>>,
    /// Number of threads for all runs together.
    threads: usize,
    next: AtomicUsize,
    under_way: AtomicUsize,
}

impl Queue {
    /// Returns the next job, with its index and the number of threads for its run.
    fn take(&self) -> Option<(usize, &Job, usize)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let job = self.jobs.get(index)?;
        let under_way = self.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        Some((index, job, share(self.threads, under_way, self.jobs.len() - index - 1)))
    }
}

/// Number of threads for a run while `under_way` runs are active and `left` are pending.
fn share(threads: usize, under_way: usize, left: usize) -> usize {
    (threads / (under_way + left)).max(1)
}

/// Runs a job and returns its outcome, or `None` if it was cancelled. A panic becomes the outcome of the job and does
/// not abort the other runs.
fn run_guarded(
    (scenario, replication): &Job,
    threads: usize,
    cancelled: &AtomicBool,
    observer: &mut dyn Observer,
) -> Option<Outcome> {
    let run = std::panic::AssertUnwindSafe(|| run_on(scenario, *replication, threads, cancelled, observer));
    match std::panic::catch_unwind(run) {
        Ok(Ok(record)) => Some(Ok(record)),
        Ok(Err(Stop::Cancelled)) => None,
        Ok(Err(Stop::ExternalFailed(problem))) => Some(Err(Failure::External(problem))),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown defect");
            let text = format!("replication {replication} of {}: internal error: {text}", scenario.name);
            Some(Err(Failure::Defect(text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_before_the_parts_of_a_run() {
        // With eight threads, a single run gets all threads, three runs get two each, and eight or more runs get one
        // each. The last of many runs gets one thread while seven other runs are active, and all threads if no other
        // run is active.
        assert_eq!([share(8, 1, 0), share(8, 1, 2), share(8, 2, 1), share(8, 3, 0)], [8, 2, 2, 2]);
        assert_eq!([share(8, 1, 7), share(8, 8, 100), share(8, 8, 0), share(8, 1, 0)], [1, 1, 1, 8]);
    }
}
