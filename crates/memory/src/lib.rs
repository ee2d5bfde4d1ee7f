//! An allocator that puts the memory of large simulations into large pages.
//!
//! A run with tens of thousands of users is limited by memory access and address translation: with pages of 4 kB, the
//! processor needs a page-table walk for nearly every cache line. Linux provides pages of 2 MB on request (`madvise`).
//! If `/sys/kernel/mm/transparent_hugepage/enabled` is `never`, the allocator uses pages of 4 kB.
//!
//! A program enables it by `#[global_allocator] static MEMORY: LargePages = large_pages();`. Blocks of 2 MB and more
//! have separate pages. Smaller blocks come from the system's allocator until 4 MB are in use, so small runs use no
//! more memory than without this allocator. Later blocks of at least a cache line are in an [`arena`], in the order of
//! allocation, in whole lines. On systems other than 64-bit Linux the system's allocator serves all requests.

#![allow(unsafe_code, reason = "an allocator is unsafe: each use with its reason")]

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod arena;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod large_block;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod large_pages;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod size_class;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use large_pages::LargePages;

/// The system's allocator, on systems without large pages.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub type LargePages = std::alloc::System;

/// Creates an allocator without allocations.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[must_use]
pub const fn large_pages() -> LargePages {
    LargePages::new()
}

/// The system's allocator.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
#[must_use]
pub const fn large_pages() -> LargePages {
    std::alloc::System
}
