//! C interface of the schemes: `include/fairlane.h` declares these functions; a test compares the two.
//!
//! Four parts:
//!
//! - [`meter`] and [`aqm`]: ABC as functions over plain structs, for hosts that keep state themselves (registers of a
//!   P4 switch). They are the `f64` reference of [`fairlane_schemes::label::abc`], called, not rewritten.
//! - [`queue`]: any scheme of the list as an opaque queue discipline, made from the text of a `[queue]` table.
//! - [`marker`]: any marker, made from the text of a `[marker]` table.
//! - [`simulation`]: a run of a scenario, with congestion controls of the host's own ([`control`]).
//!
//! Conventions: every function that can fail returns a [`Status`]; results are written through pointers. Times are
//! nanoseconds on a clock of the caller, below 200 days; a clock that runs backwards counts as standing still, where
//! this can be detected. A null pointer, a number out of range or a panic becomes a status, never a crash. A handle may
//! be used by one thread at a time.

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

/// Version of the interface: changes when a struct or the meaning of a function does.
pub const ABI_VERSION: u32 = 1;

/// See [`ABI_VERSION`]. A host compares it with `FAIRLANE_ABI_VERSION` of the header that it was compiled with.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_abi_version() -> u32 {
    ABI_VERSION
}

/// Runs `body`; a panic in it ends here.
fn guard(body: impl FnOnce() -> Result<(), Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(status)) => status,
        Err(_) => Status::Internal,
    }
}

/// Reference to a caller's pointer.
///
/// # Safety
/// `pointer` is null or points to a valid `T` that nobody writes during the call.
unsafe fn read<'a, T>(pointer: *const T) -> Result<&'a T, Status> {
    // SAFETY: guaranteed by the caller; null is handled here.
    unsafe { pointer.as_ref() }.ok_or(Status::Null)
}

/// Mutable reference to a caller's pointer.
///
/// # Safety
/// `pointer` is null or points to a valid `T` that nobody else uses during the call.
unsafe fn write<'a, T>(pointer: *mut T) -> Result<&'a mut T, Status> {
    // SAFETY: guaranteed by the caller; null is handled here.
    unsafe { pointer.as_mut() }.ok_or(Status::Null)
}

/// Frees the object of a handle, if it is not null.
///
/// # Safety
/// `handle` is null or came from `Box::into_raw`, and nobody uses it afterwards.
unsafe fn destroy<T>(handle: *mut T) {
    if !handle.is_null() {
        guard(|| {
            // SAFETY: guaranteed by the caller.
            drop(unsafe { Box::from_raw(handle) });
            Ok(())
        });
    }
}

/// Upper bound of a sum in the caller's state, above what any link transmits in bits or packets.
const LARGEST_SUM: f64 = 1e30;

/// Times of the caller are before this. Schemes add intervals to them, of a day at most, and count in picoseconds, of
/// which 64 bits hold 213 days.
const END_OF_TIME: Time = Time::from_secs(200 * 24 * 3600);

/// A time of the caller.
fn time(ns: u64) -> Result<Time, Status> {
    ns.checked_mul(1000).map(Time).filter(|time| *time < END_OF_TIME).ok_or(Status::OutOfRange)
}
