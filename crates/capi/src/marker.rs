//! Any marker and the meters of its users, behind an opaque handle.

use crate::text::{Message, table};
use crate::{Status, destroy, guard, time, write};
use fairlane_plugin::packet::{CPacket, CheckedPacket};
use fairlane_schemes::base::config::Table;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::marker::{MarkerScheme, MeterSpec};
use fairlane_schemes::registry::markers::{AnyMeterBank, MarkerConfig};
use std::ffi::c_char;

/// Maximum number of users of a marker.
const MOST_USERS: usize = 1 << 20;

/// A marker, opaque to C.
#[derive(Debug)]
pub struct Markers {
    bank: AnyMeterBank,
    users: usize,
    rng: Rng,
    now: Time,
}

/// One user of a marker.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserSpec {
    /// Reference rate in bit/s, at least 1.
    pub reference_rate_bps: u64,
    /// Weight, 0.001 to 1000, for schemes that share in proportion to weights.
    pub weight: f64,
}

impl UserSpec {
    fn meter(&self, start: Time) -> Result<MeterSpec, Status> {
        if self.reference_rate_bps == 0 || !(0.001..=1000.0).contains(&self.weight) {
            return Err(Status::OutOfRange);
        }
        Ok(MeterSpec { reference_rate: BitRate(self.reference_rate_bps), weight: self.weight, start })
    }
}

/// Creates a marker from the text of a `[marker]` table such as `scheme = "abc"`. It has a meter for each of `count`
/// users (1 to 2^20), numbered in their order; measurements start at `start_ns`. The text and `message` are as for
/// `fairlane_queue_create`.
///
/// # Safety
/// See `fairlane_queue_create`. `users` must be null or point to `count` users.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_marker_create(
    description: *const c_char,
    users: *const UserSpec,
    count: usize,
    start_ns: u64,
    seed: u64,
    marker: *mut *mut Markers,
    message: *mut c_char,
    message_size: usize,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for both.
        let (out, message) = unsafe { (write(marker)?, Message::new(message, message_size)) };
        if !(1..=MOST_USERS).contains(&count) {
            return Err(Status::OutOfRange);
        }
        if users.is_null() {
            return Err(Status::Null);
        }
        // SAFETY: `users` is not null, so it points to `count` users.
        let users = unsafe { std::slice::from_raw_parts(users, count) };
        let start = time(start_ns)?;
        let specs = users.iter().map(|user| user.meter(start)).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: guaranteed by the caller.
        let json = unsafe { table(description, message) }?;
        let read = Table::new("marker", &json).and_then(|mut table| MarkerConfig::read(&mut table, MarkerScheme::NONE));
        let config = read.map_err(|error| message.error(&error))?;
        let rng = Rng::stream(seed, 0, "marker", 0);
        *out = Box::into_raw(Box::new(Markers { bank: config.build(&specs), users: count, rng, now: start }));
        Ok(())
    })
}

/// Destroys a marker; does nothing if it is null.
///
/// # Safety
/// `marker` must be null or come from `fairlane_marker_create`, and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_marker_destroy(marker: *mut Markers) {
    // SAFETY: guaranteed by the caller.
    unsafe { destroy(marker) };
}

/// Counts a packet, offered at `now_ns`, in the meter of its user, and writes its label.
///
/// # Safety
/// `marker` must be null or a marker, `packet` must be null or point to a packet. No one else may use either during the
/// call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_marker_label(marker: *mut Markers, packet: *mut CPacket, now_ns: u64) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for both.
        let (marker, packet) = unsafe { (write(marker)?, write(packet)?) };
        let mut checked = CheckedPacket::new(*packet)?;
        let user = packet.user as usize;
        if user >= marker.users {
            return Err(Status::OutOfRange);
        }
        marker.now = marker.now.max(time(now_ns)?);
        marker.bank.label(user, &mut checked, marker.now, &mut marker.rng);
        *packet = checked.c();
        Ok(())
    })
}
