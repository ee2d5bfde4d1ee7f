//! Blocks smaller than a large page, packed into large pages.
//!
//! An address range is reserved once, and each page gets memory at its first use. Blocks are in the order of
//! allocation. A freed block serves the next request of its class. When no block is in use, all memory is returned to
//! the system.
//!
//! Only one thread at a time allocates. A thread that finds the arena busy uses the system's allocator, so no thread
//! ever waits. This matters after a fork: the thread that made the arena busy may not exist in the child process.
//! Freeing needs no exclusive access.

use crate::large_block::map;
use crate::size_class::{CLASSES, LINE, SizeClass};
use rustix::mm::{Advice, MapFlags, madvise};
use rustix::process::{Resource, getrlimit};
use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

/// Reserved addresses. When they are used up, requests go to the system's allocator.
const SPAN: usize = 1 << 36;
/// Initial value of `start`. No block has an address in the [`SPAN`] bytes from it on, so `has` returns false.
const NOWHERE: usize = 1 << (usize::BITS - 1);
/// Minimum amount of memory that is returned to the system.
const WORTH_RETURNING: usize = 16 << 20;

/// Blocks in one address range.
#[derive(Debug)]
pub struct Arena {
    /// True while a thread allocates a block.
    busy: AtomicBool,
    start: AtomicUsize,
    /// Bytes allocated from `start` on; 0 while no addresses are reserved.
    given: AtomicUsize,
    /// Blocks in use.
    used: AtomicUsize,
    /// Last freed block of each class; a freed block contains the address of the block freed before it.
    free: [AtomicPtr<Block>; CLASSES],
}

/// A freed block.
#[derive(Debug)]
struct Block {
    next: *mut Self,
}

/// An allocated block; `zero` is true if it contains only zeros.
#[derive(Debug)]
pub struct Taken {
    pub block: NonNull<u8>,
    pub zero: bool,
}

impl Arena {
    /// Creates an arena without memory.
    pub const fn new() -> Self {
        Self {
            busy: AtomicBool::new(false),
            start: AtomicUsize::new(NOWHERE),
            given: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            free: [const { AtomicPtr::new(ptr::null_mut()) }; CLASSES],
        }
    }

    /// Returns true if the arena serves the layout. Its size must be at least a cache line, since smaller blocks would
    /// not benefit. Its alignment must be at most a cache line.
    pub fn suits(layout: Layout) -> bool {
        layout.size() >= LINE && layout.align() <= LINE
    }

    /// Returns true if a block is in the arena.
    pub fn has(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.start.load(Relaxed)) < SPAN
    }

    /// Allocates a block of a class; `None` if another thread is allocating or there is no room.
    pub fn take(&self, class: SizeClass) -> Option<Taken> {
        if self.busy.swap(true, Acquire) {
            return None;
        }
        let taken = self.pop(class).or_else(|| self.cut(class));
        if taken.is_some() {
            self.used.fetch_add(1, Relaxed);
        }
        self.busy.store(false, Release);
        taken
    }

    /// Frees a block of a class.
    ///
    /// # Safety
    /// `block` must have been allocated by this arena with this class, and must not be used afterwards.
    pub unsafe fn give_back(&self, block: *mut u8, class: SizeClass) {
        let head = &self.free[class.index];
        let block: *mut Block = block.cast();
        let mut next = head.load(Relaxed);
        loop {
            // SAFETY: a block has at least a cache line and is aligned to one.
            unsafe { block.write(Block { next }) };
            match head.compare_exchange_weak(next, block, Release, Relaxed) {
                Ok(_) => break,
                Err(other) => next = other,
            }
        }
        if self.used.fetch_sub(1, AcqRel) == 1 {
            self.return_all();
        }
    }

    /// Takes a freed block.
    fn pop(&self, class: SizeClass) -> Option<Taken> {
        let head = &self.free[class.index];
        let mut block = head.load(Acquire);
        while !block.is_null() {
            // SAFETY: only one thread takes blocks, so this block is still in the list. It was written before it
            // entered the list.
            let next = unsafe { (*block).next };
            match head.compare_exchange_weak(block, next, Acquire, Acquire) {
                Ok(_) => return NonNull::new(block.cast()).map(|block| Taken { block, zero: false }),
                Err(other) => block = other,
            }
        }
        None
    }

    /// Takes a block that has never been used.
    #[cold]
    fn cut(&self, class: SizeClass) -> Option<Taken> {
        if self.start.load(Relaxed) == NOWHERE && self.given.load(Relaxed) == 0 {
            self.reserve();
        }
        let given = self.given.load(Relaxed);
        if class.bytes > SPAN - given {
            return None;
        }
        self.given.store(given + class.bytes, Relaxed);
        let block = ptr::with_exposed_provenance_mut(self.start.load(Relaxed) + given);
        NonNull::new(block).map(|block| Taken { block, zero: true })
    }

    fn reserve(&self) {
        let place = if limits_addresses() { None } else { map(SPAN, MapFlags::PRIVATE | MapFlags::NORESERVE) };
        match place {
            Some(start) => self.start.store(start.as_ptr().expose_provenance(), Relaxed),
            // There is no room, now or later.
            None => self.given.store(SPAN, Relaxed),
        }
    }

    /// Returns the memory to the system if no block is in use and there is enough of it.
    #[cold]
    fn return_all(&self) {
        if self.given.load(Relaxed) < WORTH_RETURNING || self.busy.swap(true, Acquire) {
            return;
        }
        let given = self.given.load(Relaxed);
        if self.used.load(Acquire) == 0 && given >= WORTH_RETURNING {
            // Empties the lists of freed blocks. No one uses these blocks, and no other thread allocates now.
            for head in &self.free {
                head.store(ptr::null_mut(), Relaxed);
            }
            let start = ptr::with_exposed_provenance_mut(self.start.load(Relaxed));
            // SAFETY: these pages belong to the arena and none of their blocks is in use, so the kernel may discard
            // their contents.
            match unsafe { madvise(start, given, Advice::LinuxDontNeed) } {
                Ok(()) => self.given.store(0, Relaxed),
                // The pages still contain old bytes, so new blocks in them must not be reported as zeroed. These pages
                // are never reused.
                Err(_) => self.given.store(SPAN, Relaxed),
            }
        }
        self.busy.store(false, Release);
    }
}

/// Returns true if the process's address space is limited (`ulimit -v`, `-d`). The arena then reserves
/// nothing, so that allocations can use the addresses.
fn limits_addresses() -> bool {
    [Resource::As, Resource::Data].into_iter().any(|resource| getrlimit(resource).current.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    fn take(arena: &Arena, bytes: usize) -> (*mut u8, bool) {
        let taken = arena.take(SizeClass::of(bytes)).unwrap();
        (taken.block.as_ptr(), taken.zero)
    }

    #[test]
    fn blocks_lie_side_by_side_and_come_again_by_class() {
        let arena = Arena::new();
        let (first, _) = take(&arena, 100);
        let (second, zero) = take(&arena, 70);
        assert_eq!((second.addr() - first.addr(), first.addr() % LINE, zero), (128, 0, true));
        assert!(arena.has(first) && !arena.has((&raw const arena).cast_mut().cast()));
        // SAFETY: the block is not used afterwards; 65 to 128 bytes are one class.
        unsafe { arena.give_back(first, SizeClass::of(100)) };
        let (other_class, _) = take(&arena, 129);
        assert_ne!(other_class, first);
        assert_eq!(take(&arena, 65), (first, false));
    }

    #[test]
    fn when_nothing_is_used_all_memory_goes_back_and_comes_as_zeros() {
        let arena = Arena::new();
        let class = SizeClass::of(1 << 20);
        let blocks: Vec<_> = (0..WORTH_RETURNING >> 20).map(|_| take(&arena, 1 << 20).0).collect();
        for block in &blocks {
            // SAFETY: the block has these bytes and is not used after it is freed.
            unsafe {
                slice::from_raw_parts_mut(*block, 1 << 20).fill(9);
                arena.give_back(*block, class);
            }
        }
        let (block, zero) = take(&arena, 1 << 20);
        assert_eq!((block, zero), (blocks[0], true));
        // SAFETY: the block has these bytes.
        assert!(unsafe { slice::from_raw_parts(block, 1 << 20) }.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn who_finds_another_thread_at_it_gets_none_and_may_give_back() {
        let arena = Arena::new();
        let (block, _) = take(&arena, 64);
        arena.busy.store(true, Relaxed);
        assert!(arena.take(SizeClass::of(64)).is_none());
        // SAFETY: the block is not used afterwards.
        unsafe { arena.give_back(block, SizeClass::of(64)) };
        arena.busy.store(false, Relaxed);
        assert_eq!(take(&arena, 64), (block, false));
    }
}
