//! Runs scenarios whose senders may use congestion controls of the host.

use crate::control::ControlTable;
use crate::text::{Message, table};
use crate::{Status, guard, write};
use fairlane_sim::engine::{self, Stop};
use fairlane_sim::scenario::{Externals, Scenario};
use fairlane_sim::watch::observer::NoObserver;
use std::ffi::{CString, c_char};
use std::sync::atomic::AtomicBool;

/// Runs replication `replication` of the scenario given as text. `congestion_control` may also name one of `controls`.
/// Writes the record as JSON, which `fairlane_record_free` frees.
///
/// # Safety
/// See `fairlane_queue_create`. `controls` must be null or point to `count` pointers to tables. `record` must be null
/// or point to a pointer not used elsewhere during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_simulate(
    scenario: *const c_char,
    replication: u32,
    controls: *const *const ControlTable,
    count: usize,
    record: *mut *mut c_char,
    message: *mut c_char,
    message_size: usize,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for both pointers.
        let (out, message) = unsafe { (write(record)?, Message::new(message, message_size)) };
        if count > 0 && controls.is_null() {
            return Err(Status::Null);
        }
        // SAFETY: `controls` is not null, so it points to `count` pointers.
        let tables = if count > 0 { unsafe { std::slice::from_raw_parts(controls, count) } } else { &[] };
        // SAFETY: guaranteed by the caller.
        let named = |(place, &table)| unsafe { ControlTable::named(table, place, message) };
        let named = tables.iter().enumerate().map(named).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: guaranteed by the caller.
        let json = unsafe { table(scenario, message) }?;
        let find = |name: &str| named.iter().find(|control| &*control.name == name).cloned();
        let externals = Externals { controls: &find, ..Externals::NONE };
        let scenario = Scenario::read_with(&json, externals).map_err(|error| message.error(&error))?;
        let ended = engine::try_observe(&scenario, replication, &AtomicBool::new(false), &mut NoObserver);
        let ended = ended.map_err(|stop| match stop {
            Stop::ExternalFailed(problem) => message.write(&problem),
            Stop::Cancelled => Status::Internal,
        });
        let text = serde_json::to_string(&ended?).map_err(|_| Status::Internal)?;
        *out = CString::new(text).map_err(|_| Status::Internal)?.into_raw();
        Ok(())
    })
}

/// Frees a record; does nothing if it is null.
///
/// # Safety
/// `record` must be null or come from `fairlane_simulate`, and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_record_free(record: *mut c_char) {
    if !record.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { CString::from_raw(record) });
    }
}
