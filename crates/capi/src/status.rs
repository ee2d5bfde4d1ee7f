//! Result of a call.

use fairlane_plugin::packet::BadPacket;
use std::ffi::{CStr, c_char, c_int};

/// Result of a call. Any status except `Ok` and `Internal` means that state and results are unchanged.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// A required pointer is null.
    Null = 1,
    /// A number is outside the range given in the header.
    OutOfRange = 2,
    /// A text is not TOML or JSON, or has a wrong key or value; the message names it.
    Config = 3,
    /// An error in the library: do not use the handle or state any more.
    Internal = 4,
}

impl Status {
    /// All statuses, by number.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Null, Self::OutOfRange, Self::Config, Self::Internal];

    fn message(self) -> &'static CStr {
        match self {
            Self::Ok => c"ok",
            Self::Null => c"a pointer is null",
            Self::OutOfRange => c"a number is out of range",
            Self::Config => c"the configuration is wrong",
            Self::Internal => c"internal error",
        }
    }
}

/// Meaning of a status, in English; never null, and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_status_message(status: c_int) -> *const c_char {
    let known = Status::ALL.into_iter().find(|known| *known as c_int == status);
    known.map_or(c"unknown status", Status::message).as_ptr()
}

impl From<BadPacket> for Status {
    fn from(_: BadPacket) -> Self {
        Self::OutOfRange
    }
}
