//! Memory for frames that the kernel may write to: whole pages, outside the allocator.

use std::alloc::{Layout, handle_alloc_error};
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::slice;

/// Zeroed pages.
///
/// Access is by ranges, never to the whole memory, because the kernel may write to other ranges at the same time. The
/// caller, the frame pool of [`crate::forward`], tracks the ranges that the kernel owns.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: this value is the only owner of the pages, which any thread may access.
unsafe impl Send for Memory {}

impl Memory {
    /// Allocates `bytes` of zeros. As with any allocation, the process aborts if there is not enough memory.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let bytes = bytes.max(1);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: creates a new mapping; the result is checked below.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        let Some(start) = NonNull::new(start.cast::<u8>()).filter(|_| start != libc::MAP_FAILED) else {
            handle_alloc_error(Layout::new::<u8>())
        };
        // Large pages need fewer TLB entries. If there are none, the kernel uses small pages. SAFETY: the range is the
        // mapping just created.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        Self { start, bytes }
    }

    /// Address of the memory, for the kernel.
    #[cfg(feature = "ebpf")]
    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns a range to which the kernel must not be writing.
    ///
    /// # Panics
    /// If the range exceeds the end.
    #[must_use]
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.bytes);
        // SAFETY: the range is within the mapping, which is initialised and lives as long as `self`. The kernel does
        // not write to a borrowed range.
        unsafe { slice::from_raw_parts(self.start.as_ptr().add(range.start), range.len()) }
    }

    /// A mutable range.
    ///
    /// # Panics
    /// If the range exceeds the end.
    #[inline]
    pub fn slice_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.bytes);
        // SAFETY: as in `slice`, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().add(range.start), range.len()) }
    }
}

impl Memory {
    /// Prefetches bytes that another processor wrote.
    #[cfg(feature = "ebpf")]
    #[inline]
    pub fn prefetch(&self, range: Range<usize>) {
        #[cfg(target_arch = "x86_64")]
        for at in range.step_by(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch is only a hint, and valid for any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.start.as_ptr().wrapping_add(at).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        drop(range);
    }

    /// Copies bytes within the memory.
    ///
    /// # Panics
    /// If a range exceeds the end.
    pub fn copy(&mut self, from: usize, to: usize, bytes: usize) {
        let end = from.max(to).checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.bytes));
        // SAFETY: both ranges are within the mapping, and may overlap.
        unsafe { ptr::copy(self.start.as_ptr().add(from), self.start.as_ptr().add(to), bytes) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `new` created this mapping, which is no longer borrowed. The kernel keeps the pages that it uses.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
