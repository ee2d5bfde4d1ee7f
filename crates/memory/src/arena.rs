//! Blocks below a large page, side by side in large pages.
//!
//! An address range is reserved once; each page gets memory at its first use. Blocks are in the order of allocation. A
//! freed block serves the next request of its class. When no block is used any more, all memory returns to the system.
//!
//! One thread at a time allocates: a thread that finds another at it uses the system's allocator. So no thread ever
//! waits, not even for one that a fork has left behind. Freeing needs no exclusive access.

use crate::large_block::map;
use crate::size_class::{CLASSES, LINE, SizeClass};
use rustix::mm::{Advice, MapFlags, madvise};
use rustix::process::{Resource, getrlimit};
use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

/// Addresses that are reserved: what does not fit goes to the system's allocator.
const SPAN: usize = 1 << 36;
/// No place: no address is this, or less than [`SPAN`] behind it.
const NOWHERE: usize = 1 << (usize::BITS - 1);
/// Less than this is not worth giving back to the system.
const WORTH_RETURNING: usize = 16 << 20;

/// Blocks in one stretch of addresses.
#[derive(Debug)]
pub struct Arena {
    /// A thread takes a block.
    busy: AtomicBool,
    start: AtomicUsize,
    /// Bytes from the start that have been given out; 0 before there is a start.
    given: AtomicUsize,
    /// Blocks that are used.
    used: AtomicUsize,
    /// The last block given back of each class; it has the address of the one before.
    free: [AtomicPtr<Block>; CLASSES],
}

/// A block that was given back.
#[derive(Debug)]
struct Block {
    next: *mut Self,
}

/// A block that was taken, and whether it is all zero.
#[derive(Debug)]
pub struct Taken {
    pub block: NonNull<u8>,
    pub zero: bool,
}

impl Arena {
    /// An arena without memory.
    pub const fn new() -> Self {
        Self {
            busy: AtomicBool::new(false),
            start: AtomicUsize::new(NOWHERE),
            given: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            free: [const { AtomicPtr::new(ptr::null_mut()) }; CLASSES],
        }
    }

    /// Returns true for layouts that it serves: at least a cache line, which benefits, with no larger alignment.
    pub fn suits(layout: Layout) -> bool {
        layout.size() >= LINE && layout.align() <= LINE
    }

    /// Returns true if a block is in the arena.
    pub fn has(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.start.load(Relaxed)) < SPAN
    }

    /// Takes a block of a class; none if another thread is allocating, or there is no room.
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
    /// It was allocated here as one of this class, and is no longer used.
    pub unsafe fn give_back(&self, block: *mut u8, class: SizeClass) {
        let head = &self.free[class.index];
        let block: *mut Block = block.cast();
        let mut next = head.load(Relaxed);
        loop {
            // SAFETY: a block has a line at least, on the border of one.
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

    /// A block that was given back.
    fn pop(&self, class: SizeClass) -> Option<Taken> {
        let head = &self.free[class.index];
        let mut block = head.load(Acquire);
        while !block.is_null() {
            // SAFETY: only one thread takes blocks, so this one is still in the list, written before it came there.
            let next = unsafe { (*block).next };
            match head.compare_exchange_weak(block, next, Acquire, Acquire) {
                Ok(_) => return NonNull::new(block.cast()).map(|block| Taken { block, zero: false }),
                Err(other) => block = other,
            }
        }
        None
    }

    /// A block that has never been used.
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
            // There is no room, now and later.
            None => self.given.store(SPAN, Relaxed),
        }
    }

    /// If no block seems used, returns the memory to the system, unless it is little.
    #[cold]
    fn return_all(&self) {
        if self.given.load(Relaxed) < WORTH_RETURNING || self.busy.swap(true, Acquire) {
            return;
        }
        let given = self.given.load(Relaxed);
        if self.used.load(Acquire) == 0 && given >= WORTH_RETURNING {
            // Freed blocks are no longer used, and no thread allocates now.
            for head in &self.free {
                head.store(ptr::null_mut(), Relaxed);
            }
            let start = ptr::with_exposed_provenance_mut(self.start.load(Relaxed));
            // SAFETY: these pages are of the arena, and no block of them is used: they may be zero when they come
            // again.
            match unsafe { madvise(start, given, Advice::LinuxDontNeed) } {
                Ok(()) => self.given.store(0, Relaxed),
                // Their bytes stay, so they must not be reported as zeroed: blocks of them are never reused.
                Err(_) => self.given.store(SPAN, Relaxed),
            }
        }
        self.busy.store(false, Release);
    }
}

/// Returns true if the process's address space is limited (`ulimit -v`, `-d`): it is then left to actual allocations.
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
        // SAFETY: it is used no more; 65 to 128 bytes are a class.
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
            // SAFETY: the block has these bytes, and is given back when it is used no more.
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
        // SAFETY: it is used no more.
        unsafe { arena.give_back(block, SizeClass::of(64)) };
        arena.busy.store(false, Relaxed);
        assert_eq!(take(&arena, 64), (block, false));
    }
}
