//! Averager and activity AQM of ABC with state in the caller's memory: abc2018 eq. (6) to (10).
//!
//! Call for each packet: threshold, verdict and, if the packet was accepted and stored, the averager.

use crate::meter::memory;
use crate::{LARGEST_SUM, Status, guard, read, time, write};
use fairlane_schemes::contract::aqm::Verdict;
use fairlane_schemes::label::abc::AbcRule;
use fairlane_schemes::measure::utema::WeightedMean;

/// Parameters of the activity AQM. All lengths have the unit of the queue: packets, bytes or seconds, 0 to 1e12.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AqmConfig {
    /// Q_min: no packet is dropped while the queue is shorter.
    pub q_min: f64,
    /// Q_base: threshold of a packet of average activity.
    pub q_base: f64,
    /// gamma: decrease of the threshold per unit of activity above the average.
    pub gamma: f64,
}

/// State of an averager: three numbers that the caller must store bit for bit. All are zero before the first packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AveragerState {
    /// S, activities.
    pub weighted_sum: f64,
    /// N, packets.
    pub weighted_count: f64,
    /// t_last, ns.
    pub last_ns: u64,
}

/// Upper bound of an activity. An activity is the logarithm of a ratio of rates in bit/s, each below 2^64, multiplied
/// by the factors of class and weight.
const LARGEST_ACTIVITY: f64 = 128.0;

fn is_activity(activity: f64) -> bool {
    activity.abs() <= LARGEST_ACTIVITY
}

impl AqmConfig {
    fn rule(&self) -> Result<AbcRule, Status> {
        let Self { q_min, q_base, gamma } = *self;
        let is_length = |length: f64| (0.0..=1e12).contains(&length);
        if [q_min, q_base, gamma].into_iter().all(is_length) {
            Ok(AbcRule { q_min, q_base, gamma })
        } else {
            Err(Status::OutOfRange)
        }
    }
}

impl AveragerState {
    /// Returns the mean in the type of the reference implementation. `memory_ns` matters only when a packet is counted.
    fn mean(&self, memory_ns: u64) -> Result<WeightedMean, Status> {
        // Each counted packet adds 1, so N is 0 or at least 1, and S/N is an activity.
        let is_count = self.weighted_count == 0.0 || (1.0..=LARGEST_SUM).contains(&self.weighted_count);
        if !is_count || self.weighted_sum.abs() > self.weighted_count * LARGEST_ACTIVITY || self.weighted_sum.is_nan() {
            return Err(Status::OutOfRange);
        }
        Ok(WeightedMean::resume(memory(memory_ns)?, self.weighted_sum, self.weighted_count, time(self.last_ns)?))
    }
}

/// Resets an averager to its initial state.
///
/// # Safety
/// `state` must be null or point to an `AveragerState` not used elsewhere during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_abc_averager_reset(state: *mut AveragerState) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let state = unsafe { write(state) }?;
        *state = AveragerState { weighted_sum: 0.0, weighted_count: 0.0, last_ns: 0 };
        Ok(())
    })
}

/// Counts the activity of a packet that was accepted at `now_ns`, in an averager of `memory_ns` (M, 1 ms to 1 h):
/// eq. (6) to (9).
///
/// # Safety
/// `state` must be null or point to an `AveragerState` not used elsewhere during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_abc_averager_accept(
    memory_ns: u64,
    state: *mut AveragerState,
    activity: f64,
    now_ns: u64,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let state = unsafe { write(state) }?;
        if !is_activity(activity) {
            return Err(Status::OutOfRange);
        }
        let now_ns = now_ns.max(state.last_ns);
        let mut mean = state.mean(memory_ns)?;
        mean.update(activity, time(now_ns)?);
        let (weighted_sum, weighted_count, _) = mean.parts();
        *state = AveragerState { weighted_sum, weighted_count, last_ns: now_ns };
        Ok(())
    })
}

/// Writes A_avg, 0 before the first packet: eq. (8).
///
/// # Safety
/// Each pointer must be null or point to a value of its type. No one else may use `average` during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_abc_averager_average(state: *const AveragerState, average: *mut f64) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for both.
        let (state, average) = unsafe { (read(state)?, write(average)?) };
        // Between updates, the mean does not depend on the memory, so this passes any valid memory.
        *average = state.mean(1_000_000)?.mean();
        Ok(())
    })
}

/// Writes T_drop, the queue length at which a packet of `activity` is dropped, in the unit of `config`: eq. (10).
///
/// # Safety
/// Each pointer must be null or point to a value of its type. No one else may use `threshold` during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_abc_aqm_threshold(
    config: *const AqmConfig,
    activity: f64,
    average: f64,
    threshold: *mut f64,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for both.
        let (config, threshold) = unsafe { (read(config)?, write(threshold)?) };
        if !is_activity(activity) || !is_activity(average) {
            return Err(Status::OutOfRange);
        }
        *threshold = config.rule()?.drop_threshold(activity, average);
        Ok(())
    })
}

/// Writes 1 to `drop` if a packet that finds `queue` must be dropped, that is, if `queue` has reached `threshold`;
/// otherwise 0.
///
/// # Safety
/// `drop` must be null or point to a number not used elsewhere during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_abc_aqm_verdict(queue: f64, threshold: f64, drop: *mut u8) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let drop = unsafe { write(drop) }?;
        if queue.is_nan() || threshold.is_nan() {
            return Err(Status::OutOfRange);
        }
        *drop = u8::from(AbcRule::verdict(queue, threshold) == Verdict::Drop);
        Ok(())
    })
}
