//! Cache lines that will be needed.

use prefetch_index::prefetch_index;
use std::slice::from_ref;

/// Asks for the cache line in which `value` begins.
#[inline]
pub(crate) fn fetch<T>(value: &T) {
    prefetch_index(from_ref(value), 0);
}
