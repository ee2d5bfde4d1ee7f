//! C interface of the schemes: `include/fairlane.h` declares these functions; a test compares the two.
//!
//! Four parts:
//!
//! - [`meter`] and [`aqm`]: ABC as functions over plain structs, for hosts that store the state themselves (registers
//!   of a P4 switch). They call the `f64` reference of [`fairlane_schemes::label::abc`].
//! - [`queue`]: any scheme as an opaque queue discipline, created from the text of a `[queue]` table.
//! - [`marker`]: any marker, created from the text of a `[marker]` table.
//! - [`simulation`]: a run of a scenario, with congestion controls of the host ([`control`]).
//!
//! Conventions: every function that can fail returns a [`Status`]; results are written through pointers. Times are
//! nanoseconds on the caller's clock, below 200 days. If the clock runs backwards and this can be detected, the elapsed
//! time counts as 0. A null pointer, a number out of range or a panic results in a status, never a crash. Only one
//! thread may use a handle at a time.

#![allow(unsafe_code, reason = "pointers of callers in C: checked for null, each use with its reason")]

pub mod aqm;
pub mod control;
pub mod marker;
pub mod meter;
pub mod queue;
pub mod simulation;
mod status;
mod text;

pub use status::{Status, fairlane_status_message};

use fairlane_schemes::base::units::Time;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Version of the interface: changes with a struct or the meaning of a function.
pub const ABI_VERSION: u32 = 1;

/// Returns [`ABI_VERSION`]. A host compares it with `FAIRLANE_ABI_VERSION` of the header that it was compiled with.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_abi_version() -> u32 {
    ABI_VERSION
}

/// Runs `body` and catches its panics.
fn guard(body: impl FnOnce() -> Result<(), Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(status)) => status,
        Err(_) => Status::Internal,
    }
}

/// Converts a caller's pointer to a reference.
///
/// # Safety
/// `pointer` must be null or point to a valid `T` that no one writes during the call.
unsafe fn read<'a, T>(pointer: *const T) -> Result<&'a T, Status> {
    // SAFETY: guaranteed by the caller; null is handled here.
    unsafe { pointer.as_ref() }.ok_or(Status::Null)
}

/// Converts a caller's pointer to a mutable reference.
///
/// # Safety
/// `pointer` must be null or point to a valid `T` not used elsewhere during the call.
unsafe fn write<'a, T>(pointer: *mut T) -> Result<&'a mut T, Status> {
    // SAFETY: guaranteed by the caller; null is handled here.
    unsafe { pointer.as_mut() }.ok_or(Status::Null)
}

/// Frees the object of a handle; does nothing if it is null.
///
/// # Safety
/// `handle` must be null or come from `Box::into_raw`, and must not be used afterwards.
unsafe fn destroy<T>(handle: *mut T) {
    if !handle.is_null() {
        guard(|| {
            // SAFETY: guaranteed by the caller.
            drop(unsafe { Box::from_raw(handle) });
            Ok(())
        });
    }
}

/// Upper bound of a sum in the caller's state, above the bits or packets that any link transmits.
const LARGEST_SUM: f64 = 1e30;

/// Upper bound of the caller's times. Schemes add intervals of at most a day and count in picoseconds; 64 bits hold 213
/// days.
const END_OF_TIME: Time = Time::from_secs(200 * 24 * 3600);

/// Converts a time of the caller.
fn time(ns: u64) -> Result<Time, Status> {
    ns.checked_mul(1000).map(Time).filter(|time| *time < END_OF_TIME).ok_or(Status::OutOfRange)
}
