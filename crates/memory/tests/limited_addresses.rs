//! Allocation under a limit of the address space (`ulimit -v`). This test is a separate process, because the limit is
//! per process.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(unsafe_code, reason = "it calls an allocator by hand")]

use fairlane_memory::LargePages;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::alloc::{GlobalAlloc, Layout};

#[test]
fn addresses_that_are_limited_are_not_reserved() {
    // The limit is the arena's reservation plus 1 GiB. The blocks below need more than 1 GiB.
    let limit = Rlimit { current: Some(65 << 30), ..getrlimit(Resource::As) };
    setrlimit(Resource::As, limit).unwrap();
    let memory = LargePages::new();
    let (small, big) = (Layout::from_size_align(1 << 20, 8).unwrap(), Layout::from_size_align(2 << 30, 8).unwrap());
    // SAFETY: no size is 0, and each block is freed with its layout.
    unsafe {
        // Allocates more than 4 MB. From then on, blocks come from the arena, if there is one.
        let blocks: Vec<_> = (0..6).map(|_| memory.alloc(small)).collect();
        let block = memory.alloc(big);
        assert!(!block.is_null());
        memory.dealloc(block, big);
        for block in blocks {
            assert!(!block.is_null());
            memory.dealloc(block, small);
        }
    }
}
