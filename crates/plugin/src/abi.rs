//! Data of the interface, field by field as in `fairlane.h`; a test of `crates/capi` compares the two.

use crate::packet::CPacket;
use std::ffi::{c_char, c_int, c_void};

/// `FAIRLANE_SCHEME_VERSION`: changes with a table, or with the meaning of its functions. Optional fields appended to
/// [`SchemeTable`] change only its size.
pub const VERSION: u32 = 1;

/// The symbol that a library has: an [`Entry`].
pub const ENTRY: &str = "fairlane_schemes";

/// Returns the table of a library to a host that knows this version of the interface.
pub type Entry = unsafe extern "C-unwind" fn(host_version: u32) -> *const LibraryTable;

/// Number of a mark among the reasons that [`OnDrop`] is called for, behind those of
/// [`DropReason::ALL`](fairlane_schemes::contract::discipline::DropReason::ALL).
pub const MARKED: u8 = 3;

/// Takes a packet that is dropped or marked, within the call that does so.
pub type OnDrop = unsafe extern "C" fn(context: *mut c_void, packet: *const CPacket, reason: u8);

/// Takes a reading of a scheme: its name with its unit, which lives as long as the library, and its value.
pub type OnReading = unsafe extern "C" fn(context: *mut c_void, name: *const c_char, value: f64);

/// Offers a packet; see [`SchemeTable::enqueue`].
pub type Enqueue = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    packet: *const CPacket,
    now_ps: u64,
    on_drop: OnDrop,
    context: *mut c_void,
) -> c_int;

/// Requests the next packet; see [`SchemeTable::dequeue`].
pub type Dequeue = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    now_ps: u64,
    on_drop: OnDrop,
    context: *mut c_void,
    packet: *mut CPacket,
    found: *mut u8,
) -> c_int;

/// The drop threshold that the last arrival met; see [`SchemeTable::drop_threshold`].
pub type DropThreshold = unsafe extern "C-unwind" fn(state: *const c_void) -> f64;

/// A parameter declared by a scheme. Texts are UTF-8; values are in the scenario's notation, texts without quotes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in `[queue]`.
    pub name: *const c_char,
    /// Kind of value.
    pub kind: *const c_char,
    /// Default; null if there is none.
    pub default_value: *const c_char,
    /// Minimum, or null.
    pub least: *const c_char,
    /// Largest value, or null.
    pub most: *const c_char,
    /// All values of a choice, with commas between them; otherwise null.
    pub choices: *const c_char,
    /// Description.
    pub doc: *const c_char,
}

/// The value of a parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// In s, bit/s, bytes, packets or without a unit; 0 or 1 of a flag, the place of a choice; NaN without a number.
    pub number: f64,
    /// Value in the scenario's notation, with every digit; null if it is absent.
    pub text: *const c_char,
}

/// A port's properties for a scheme. The pointers are valid during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PortView {
    /// Packets that may wait; 0 if the limit is in bytes.
    pub limit_packets: u64,
    /// Bytes that may wait; 0 if the limit is in packets.
    pub limit_bytes: u64,
    /// Bytes of a full packet.
    pub mtu_bytes: u64,
    /// Rate of the link; 0 where it is not known yet, in `check`.
    pub rate_bps: u64,
    /// Seed of the scheme's random numbers; differs by run and port.
    pub seed: u64,
    /// Weights of the first users; all others have weight 1.
    pub weights: *const f64,
    /// Number of them.
    pub weight_count: usize,
    /// Values of the parameters, in the order of their declaration.
    pub values: *const Value,
    /// Number of them.
    pub value_count: usize,
}

/// A scheme; `fairlane.h` says what each function is for. Those of an `Option` may be null unless they are needed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SchemeTable {
    /// The library's size of the table.
    pub size: usize,
    /// Name in scenarios.
    pub name: *const c_char,
    /// Summary, in one sentence.
    pub summary: *const c_char,
    /// The marker that its labels come from, or null.
    pub marker: *const c_char,
    /// Parameters.
    pub parameters: *const Parameter,
    /// Number of them.
    pub parameter_count: usize,
    /// Checks what no single range can.
    pub check: Option<unsafe extern "C-unwind" fn(port: *const PortView, message: *mut c_char, size: usize) -> c_int>,
    /// The state of an idle port; needed.
    pub create: Option<
        unsafe extern "C-unwind" fn(
            port: *const PortView,
            state: *mut *mut c_void,
            message: *mut c_char,
            size: usize,
        ) -> c_int,
    >,
    /// Ends it; needed.
    pub destroy: Option<unsafe extern "C-unwind" fn(state: *mut c_void)>,
    /// Offers a packet; needed.
    pub enqueue: Option<Enqueue>,
    /// Requests the next packet; required.
    pub dequeue: Option<Dequeue>,
    /// The rate of the link changes.
    pub set_rate: Option<unsafe extern "C-unwind" fn(state: *mut c_void, rate_bps: u64)>,
    /// Why the last call that failed did so.
    pub failure: Option<unsafe extern "C-unwind" fn(state: *const c_void, message: *mut c_char, size: usize)>,
    /// The drop threshold found by the last arrival; NaN if there is none, after which it is not called again.
    pub drop_threshold: Option<DropThreshold>,
    /// State size of the scheme.
    pub state_size: Option<unsafe extern "C-unwind" fn(state: *const c_void, records: *mut usize, bytes: *mut usize)>,
    /// Reports the scheme's own measurements.
    pub report: Option<unsafe extern "C-unwind" fn(state: *const c_void, on_reading: OnReading, context: *mut c_void)>,
}

/// A library of schemes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryTable {
    /// Version of the interface that the library has, first in every version.
    pub version: u32,
    /// The library's size of the table.
    pub size: usize,
    /// Name of the library.
    pub name: *const c_char,
    /// Version of the library.
    pub release: *const c_char,
    /// Schemes.
    pub schemes: *const *const SchemeTable,
    /// Number of them.
    pub scheme_count: usize,
}

// SAFETY: tables and what they point to are written before a host sees them, and never again.
unsafe impl Send for LibraryTable {}
// SAFETY: as above.
unsafe impl Sync for LibraryTable {}
// SAFETY: as above.
unsafe impl Send for SchemeTable {}
// SAFETY: as above.
unsafe impl Sync for SchemeTable {}
