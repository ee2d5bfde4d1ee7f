//! Conversion of input texts and output messages.

use crate::{Status, read};
use fairlane_schemes::base::config::ConfigError;
use serde_json::Value as Json;
use std::ffi::{CStr, c_char};

/// The caller's buffer for a message.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    at: *mut c_char,
    size: usize,
}

impl Message {
    /// # Safety
    /// `at` must be null or point to `size` bytes that no one else uses during the life of the result.
    pub(crate) unsafe fn new(at: *mut c_char, size: usize) -> Self {
        Self { at, size }
    }

    /// Writes as much of the text as fits, terminated by a zero. Returns the status that reports a wrong configuration.
    pub(crate) fn write(self, text: &str) -> Status {
        if !self.at.is_null() && self.size > 0 {
            let length = text.len().min(self.size - 1);
            // SAFETY: `at` points to `size` bytes, of which `length + 1` are written. `text` does not overlap them.
            unsafe {
                self.at.copy_from_nonoverlapping(text.as_ptr().cast(), length);
                self.at.add(length).write(0);
            }
        }
        Status::Config
    }

    pub(crate) fn error(self, error: &ConfigError) -> Status {
        self.write(&error.to_string())
    }
}

/// Parses a table that the caller gives as text: JSON if it begins with a brace, TOML otherwise.
///
/// # Safety
/// `text` must be null or point to a string that ends with a zero.
pub(crate) unsafe fn table(text: *const c_char, message: Message) -> Result<Json, Status> {
    // SAFETY: guaranteed by the caller; null is handled by `read`.
    let text = unsafe { CStr::from_ptr(read(text)?) };
    let text = text.to_str().map_err(|_| message.write("the text is not UTF-8"))?;
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| message.write(&format!("not JSON: {error}")))
    } else {
        let problem = |error: toml::de::Error| message.write(&format!("not TOML: {}", error.message()));
        toml::from_str(text).map_err(problem)
    }
}
