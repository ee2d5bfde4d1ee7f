//! Synchronisation of the threads of a run at the end of each window.
//!
//! A thread that arrives early spins briefly, since windows are short, and then sleeps. If there are fewer cores than
//! threads, the thread sleeps immediately: spinning would occupy the core that another thread needs to arrive.

use fairlane_schemes::base::units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::available_parallelism;

/// Number of spins before sleeping: about ten microseconds.
const LOOKS: u32 = 1000;

/// A barrier that returns the minimum of the threads' times.
#[derive(Debug)]
pub struct Rendezvous {
    parties: usize,
    looks: u32,
    here: AtomicUsize,
    meetings: AtomicUsize,
    /// Minimum time of the threads that have arrived at the current synchronisation. `agreed` is the result of the last
    /// one.
    earliest: AtomicU64,
    agreed: AtomicU64,
    is_off: AtomicBool,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Rendezvous {
    /// Creates a barrier for `threads` threads.
    #[must_use]
    pub fn new(parties: usize) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            parties,
            looks: if parties <= cores { LOOKS } else { 0 },
            here: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            earliest: AtomicU64::new(u64::MAX),
            agreed: AtomicU64::new(0),
            is_off: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits for all other threads. Returns the minimum of the threads' times, or `None` if the barrier is cancelled.
    pub fn meet(&self, time: Time) -> Option<Time> {
        self.earliest.fetch_min(time.0, Ordering::SeqCst);
        let meeting = self.meetings.load(Ordering::SeqCst);
        if self.here.fetch_add(1, Ordering::SeqCst) + 1 == self.parties {
            self.agreed.store(self.earliest.swap(u64::MAX, Ordering::SeqCst), Ordering::SeqCst);
            self.here.store(0, Ordering::SeqCst);
            self.meetings.store(meeting + 1, Ordering::SeqCst);
            self.wake_sleepers();
        } else {
            let is_over = || self.meetings.load(Ordering::SeqCst) != meeting || self.is_off();
            let mut looks = 0;
            while looks < self.looks && !is_over() {
                looks += 1;
                std::hint::spin_loop();
            }
            if !is_over() {
                self.sleep_until(is_over);
            }
        }
        (!self.is_off()).then(|| Time(self.agreed.load(Ordering::SeqCst)))
    }

    /// Cancels the barrier, so that no thread waits any more.
    pub fn call_off(&self) {
        self.is_off.store(true, Ordering::SeqCst);
        self.wake_sleepers();
    }

    /// Returns true if the barrier is cancelled.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.is_off.load(Ordering::SeqCst)
    }

    /// Sleeps until `is_over`. The thread counts itself as sleeping before its last check. So either the waker wakes
    /// it, or the check shows that waiting is over.
    fn sleep_until(&self, is_over: impl Fn() -> bool) {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !is_over() {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_learn_the_earliest_time_of_each_meeting() {
        let threads = 5;
        let rendezvous = Rendezvous::new(threads);
        thread::scope(|scope| {
            for number in 0..threads as u64 {
                let rendezvous = &rendezvous;
                scope.spawn(move || {
                    for round in 0..500 {
                        // In each round, another thread has the minimum.
                        let own = Time(1000 * round + (number + round) % threads as u64);
                        assert_eq!(rendezvous.meet(own), Some(Time(1000 * round)));
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_once_it_is_called_off() {
        let rendezvous = Rendezvous::new(3);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| rendezvous.meet(Time(1)));
            rendezvous.call_off();
            assert_eq!(waiting.join().unwrap(), None);
        });
        assert_eq!(rendezvous.meet(Time(2)), None);
    }
}
