//! Data of the C interface, field by field as in `fairlane.h`; a test of `crates/capi` compares the two.

use crate::packet::CPacket;
use std::ffi::{c_char, c_int, c_void};

/// `FAIRLANE_SCHEME_VERSION`: changes if a table or the meaning of a function changes. Optional fields appended to
/// [`SchemeTable`] change only the size of that table.
pub const VERSION: u32 = 1;

/// Symbol of the function that a library exports: an [`Entry`].
pub const ENTRY: &str = "fairlane_schemes";

/// Returns the table of a library to a host with version `host_version` of the interface.
pub type Entry = unsafe extern "C-unwind" fn(host_version: u32) -> *const LibraryTable;

/// Value of `reason` in [`OnDrop`] for a mark. Smaller values are the reasons of a drop, in the order of
/// [`DropReason::ALL`](fairlane_schemes::contract::discipline::DropReason::ALL).
pub const MARKED: u8 = 3;

/// Function of the host that receives each dropped or marked packet. It is called during the call that drops or marks
/// the packet.
pub type OnDrop = unsafe extern "C" fn(context: *mut c_void, packet: *const CPacket, reason: u8);

/// Function of the host that receives a reading of a scheme: its name with unit, and its value. The name is valid as
/// long as the library.
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

/// Drop threshold for the last arrival; see [`SchemeTable::drop_threshold`].
pub type DropThreshold = unsafe extern "C-unwind" fn(state: *const c_void) -> f64;

/// A parameter declared by a scheme. Texts are UTF-8; values are in the scenario's notation, texts without quotes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in `[queue]`.
    pub name: *const c_char,
    /// Kind of value, such as `time`.
    pub kind: *const c_char,
    /// Default; null if there is none.
    pub default_value: *const c_char,
    /// Minimum, or null.
    pub least: *const c_char,
    /// Maximum, or null.
    pub most: *const c_char,
    /// All values of a choice, separated by commas; otherwise null.
    pub choices: *const c_char,
    /// Description of the parameter.
    pub doc: *const c_char,
}

/// The value of a parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Number in s, bit/s, bytes, packets or without a unit; 0 or 1 for a flag; index of a choice; NaN for other kinds.
    pub number: f64,
    /// Value in the scenario's notation, with all digits; null if it is absent.
    pub text: *const c_char,
}

/// Properties of a port for a scheme. The pointers are valid during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PortView {
    /// Maximum number of waiting packets; 0 if the limit is in bytes.
    pub limit_packets: u64,
    /// Maximum number of waiting bytes; 0 if the limit is in packets.
    pub limit_bytes: u64,
    /// Length of a full packet in bytes.
    pub mtu_bytes: u64,
    /// Rate of the link; 0 in `check`, where it is not known yet.
    pub rate_bps: u64,
    /// Seed of the scheme's random numbers; differs by run and port.
    pub seed: u64,
    /// Weights of the first users; all others have weight 1.
    pub weights: *const f64,
    /// Number of weights.
    pub weight_count: usize,
    /// Values of the parameters, in the order of their declaration.
    pub values: *const Value,
    /// Number of values.
    pub value_count: usize,
}

/// A scheme; `fairlane.h` describes each function. Functions of type `Option` may be null unless required.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SchemeTable {
    /// Size of this table in the library, which may be built for an older interface.
    pub size: usize,
    /// Name in scenarios.
    pub name: *const c_char,
    /// Summary, in one sentence.
    pub summary: *const c_char,
    /// Marker that writes the scheme's labels, or null.
    pub marker: *const c_char,
    /// Parameters of the scheme.
    pub parameters: *const Parameter,
    /// Number of parameters.
    pub parameter_count: usize,
    /// Checks conditions on several parameters.
    pub check: Option<unsafe extern "C-unwind" fn(port: *const PortView, message: *mut c_char, size: usize) -> c_int>,
    /// Creates the state of an idle port; required.
    pub create: Option<
        unsafe extern "C-unwind" fn(
            port: *const PortView,
            state: *mut *mut c_void,
            message: *mut c_char,
            size: usize,
        ) -> c_int,
    >,
    /// Destroys the state; required.
    pub destroy: Option<unsafe extern "C-unwind" fn(state: *mut c_void)>,
    /// Offers a packet; required.
    pub enqueue: Option<Enqueue>,
    /// Requests the next packet; required.
    pub dequeue: Option<Dequeue>,
    /// Sets the rate of the link.
    pub set_rate: Option<unsafe extern "C-unwind" fn(state: *mut c_void, rate_bps: u64)>,
    /// Reason of the last failure.
    pub failure: Option<unsafe extern "C-unwind" fn(state: *const c_void, message: *mut c_char, size: usize)>,
    /// Drop threshold for the last arrival. If it returns NaN (no threshold), it is not called again.
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
    /// Version of the library's interface; the first field in every version.
    pub version: u32,
    /// Size of this table in the library, which may be built for an older interface.
    pub size: usize,
    /// Name of the library.
    pub name: *const c_char,
    /// Version of the library.
    pub release: *const c_char,
    /// Tables of the schemes.
    pub schemes: *const *const SchemeTable,
    /// Number of schemes.
    pub scheme_count: usize,
}

// SAFETY: tables and the data they point to are written before a host sees them, and never changed.
unsafe impl Send for LibraryTable {}
// SAFETY: as above.
unsafe impl Sync for LibraryTable {}
// SAFETY: as above.
unsafe impl Send for SchemeTable {}
// SAFETY: as above.
unsafe impl Sync for SchemeTable {}
