//! Prefetching of cache lines.

use prefetch_index::prefetch_index;
use std::slice::from_ref;

const LINE: usize = 64;

/// Prefetches the cache line in which `value` begins.
#[inline]
pub(crate) fn fetch<T>(value: &T) {
    prefetch_index(from_ref(value), 0);
}

/// Prefetches all cache lines of a `T`, given a word in it and the word's offset in bytes.
#[inline]
pub(crate) fn fetch_lines<T, Word>(word: &Word, offset: usize) {
    const { assert!(size_of::<Word>() == size_of::<u64>()) };
    let before = offset / size_of::<Word>();
    for line in 0..=size_of::<T>() / LINE {
        prefetch_index(from_ref(word), (line * LINE / size_of::<Word>()).wrapping_sub(before));
    }
}
