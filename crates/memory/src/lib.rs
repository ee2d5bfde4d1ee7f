//! An allocator that puts the memory of big simulations into large pages.
//!
//! A run with tens of thousands of users waits for memory and for address translation: with pages of 4 kB, the
//! processor needs a table walk for nearly every line that it fetches. Linux has pages of 2 MB on request (`madvise`).
//! If `/sys/kernel/mm/transparent_hugepage/enabled` is `never`, the allocator uses pages of 4 kB.
//!
//! A program has it by `#[global_allocator] static MEMORY: LargePages = large_pages();`. Blocks of 2 MB and more have
//! pages of their own. Smaller ones come from the system's allocator, as ever, until they are 4 MB together; what comes
//! later, and has a cache line at least, lies in an [`arena`] in the order in which it was asked for, in whole lines.
//! Small runs so have the memory that they had. Elsewhere than on 64-bit Linux this is the system's allocator.

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

/// The system's allocator, where there is none with large pages.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub type LargePages = std::alloc::System;

/// An allocator that has given out nothing.
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
