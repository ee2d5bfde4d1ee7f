//! Blocks of at least a large page: separate memory from the system, which is returned immediately.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Bytes of a large page.
pub const LARGE_PAGE: usize = 2 << 20;
/// Bytes of the pages that a system may have at most: a length in these is one in its own.
const PAGE: usize = 64 << 10;

/// A block is one of these: it says so itself, so that nothing has to be looked up.
pub fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_PAGE && layout.align() <= LARGE_PAGE
}

/// A block of zeros in large pages; none if the system has no memory.
pub fn obtain(bytes: usize) -> Option<NonNull<u8>> {
    map(bytes, MapFlags::PRIVATE)
}

/// Frees it.
///
/// # Safety
/// It came from [`obtain`] with this size, and is no longer used.
pub unsafe fn give_back(block: *mut u8, bytes: usize) {
    // SAFETY: these are the pages that were mapped for it. Nothing can be done if the system does not take them.
    let _ = unsafe { munmap(block.cast(), whole_pages(bytes)) };
}

/// Pages for this number of bytes, all zero: large ones, and ordinary ones for the remainder.
pub fn map(bytes: usize, flags: MapFlags) -> Option<NonNull<u8>> {
    let bytes = bytes.checked_next_multiple_of(PAGE)?;
    let room = bytes.checked_add(LARGE_PAGE)?;
    // SAFETY: the system chooses the place.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), room, ProtFlags::READ | ProtFlags::WRITE, flags) }.ok()?;
    let before = start.addr().wrapping_neg() % LARGE_PAGE;
    let block: *mut c_void = start.wrapping_byte_add(before);
    // SAFETY: what is before and behind the block has just been mapped, in whole pages, and nobody uses it.
    unsafe {
        if before > 0 {
            let _ = munmap(start, before);
        }
        let _ = munmap(block.wrapping_byte_add(bytes), room - before - bytes);
        // Without large pages it is as good, only slower.
        let _ = madvise(block, bytes - bytes % LARGE_PAGE, Advice::LinuxHugepage);
    }
    NonNull::new(block.cast())
}

fn whole_pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    #[test]
    fn a_block_begins_with_a_large_page_and_is_zero() {
        for bytes in [LARGE_PAGE, LARGE_PAGE + 1, 3 * LARGE_PAGE + 12_345] {
            let block = obtain(bytes).unwrap();
            assert_eq!(block.addr().get() % LARGE_PAGE, 0);
            // SAFETY: the block has these bytes, and is used no more when it is given back.
            unsafe {
                let content = slice::from_raw_parts_mut(block.as_ptr(), bytes);
                assert!(content.iter().all(|byte| *byte == 0));
                content.fill(7);
                give_back(block.as_ptr(), bytes);
            }
        }
    }

    #[test]
    fn more_than_there_is_is_none() {
        assert_eq!(obtain(isize::MAX as usize), None);
        assert_eq!(obtain(1 << 60), None);
    }
}
