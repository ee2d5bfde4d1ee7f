//! Blocks of at least a large page: each has separate memory from the system, which is returned when the block is
//! freed.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Bytes of a large page.
pub const LARGE_PAGE: usize = 2 << 20;
/// Maximum page size of supported systems in bytes. Lengths are rounded up to a multiple of this size, and so to whole
/// pages of any supported system.
const PAGE: usize = 64 << 10;

/// Returns true if a block of this layout is large. This does not depend on the block's address, so freeing needs no
/// look-up.
pub fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_PAGE && layout.align() <= LARGE_PAGE
}

/// Allocates a zeroed block in large pages; `None` if the system has no memory.
pub fn obtain(bytes: usize) -> Option<NonNull<u8>> {
    map(bytes, MapFlags::PRIVATE)
}

/// Frees a block.
///
/// # Safety
/// `block` must come from [`obtain`] with the same `bytes` and not be used afterwards.
pub unsafe fn give_back(block: *mut u8, bytes: usize) {
    // SAFETY: these are the pages mapped for the block. If the call fails, nothing can be done.
    let _ = unsafe { munmap(block.cast(), whole_pages(bytes)) };
}

/// Maps zeroed pages for `bytes`: large pages, and ordinary pages for the remainder. Returns `None` on failure.
pub fn map(bytes: usize, flags: MapFlags) -> Option<NonNull<u8>> {
    let bytes = bytes.checked_next_multiple_of(PAGE)?;
    let room = bytes.checked_add(LARGE_PAGE)?;
    // SAFETY: the system chooses the address.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), room, ProtFlags::READ | ProtFlags::WRITE, flags) }.ok()?;
    let before = start.addr().wrapping_neg() % LARGE_PAGE;
    let block: *mut c_void = start.wrapping_byte_add(before);
    // SAFETY: the pages before and after the block have just been mapped, and no one uses them.
    unsafe {
        if before > 0 {
            let _ = munmap(start, before);
        }
        let _ = munmap(block.wrapping_byte_add(bytes), room - before - bytes);
        // If the advice fails, the memory is usable, but slower.
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
            // SAFETY: the block has these bytes and is not used after it is freed.
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
