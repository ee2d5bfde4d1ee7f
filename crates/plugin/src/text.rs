//! Texts at the C interface.

use serde_json::Value as Json;
use std::ffi::{CStr, c_char};

/// Converts the text of a value of the kind `kind` to JSON. The text is in the notation of a scenario, without quotes.
pub(crate) fn json_of(kind: &str, text: &str) -> Json {
    let is_plain = matches!(kind, "count" | "number" | "flag" | "probability");
    let plain = is_plain.then(|| serde_json::from_str(text).ok()).flatten();
    plain.unwrap_or_else(|| Json::String(text.into()))
}

/// Text of a value, without quotes.
pub(crate) fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Returns the text at a pointer; `None` if it is null or not UTF-8.
///
/// # Safety
/// `text` must be null or point to a text that ends with a zero and outlives the result.
pub(crate) unsafe fn read<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: guaranteed by the caller; it is not null.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().ok()).flatten()
}

/// Writes as much of a message as fits, terminated by a zero.
///
/// # Safety
/// `at` must be null or point to `size` bytes that no one else uses.
pub(crate) unsafe fn write(at: *mut c_char, size: usize, text: &str) {
    if !at.is_null() && size > 0 {
        let length = text.len().min(size - 1);
        // SAFETY: `at` points to `size` bytes, of which `length + 1` are written; `text` does not overlap them.
        unsafe {
            at.copy_from_nonoverlapping(text.as_ptr().cast(), length);
            at.add(length).write(0);
        }
    }
}
