//! Selects the source of each block.

use crate::arena::Arena;
use crate::large_block;
use crate::size_class::SizeClass;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of bytes that are allocated from ordinary pages first. A process that needs no more is not faster with large
/// pages.
const ORDINARY_BYTES: usize = 4 << 20;

/// The allocator: see the [crate](crate).
#[derive(Debug)]
pub struct LargePages {
    arena: Arena,
    /// Bytes allocated outside the arena.
    elsewhere: AtomicUsize,
}

impl LargePages {
    /// Creates an allocator without allocations.
    #[must_use]
    pub const fn new() -> Self {
        Self { arena: Arena::new(), elsewhere: AtomicUsize::new(0) }
    }

    fn obtain(&self, layout: Layout, zeros: bool) -> *mut u8 {
        if large_block::is_large(layout) {
            let block = large_block::obtain(layout.size());
            return self.counted(block.map_or(ptr::null_mut(), NonNull::as_ptr), layout);
        }
        if self.elsewhere.load(Relaxed) >= ORDINARY_BYTES
            && Arena::suits(layout)
            && let Some(taken) = self.arena.take(SizeClass::of(layout.size()))
        {
            let block = taken.block.as_ptr();
            if zeros && !taken.zero {
                // SAFETY: the block has at least this number of bytes.
                unsafe { block.write_bytes(0, layout.size()) };
            }
            return block;
        }
        // SAFETY: the caller guarantees that the layout has a non-zero size.
        let block = unsafe { if zeros { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
        self.counted(block, layout)
    }

    fn counted(&self, block: *mut u8, layout: Layout) -> *mut u8 {
        if !block.is_null() {
            self.elsewhere.fetch_add(layout.size(), Relaxed);
        }
        block
    }

    /// Moves a block to a new one with the same bytes.
    ///
    /// # Safety
    /// See [`GlobalAlloc::realloc`].
    unsafe fn move_to(&self, block: *mut u8, layout: Layout, new: Layout) -> *mut u8 {
        let other = self.obtain(new, false);
        if !other.is_null() {
            // SAFETY: both blocks have this number of bytes and do not overlap.
            unsafe {
                ptr::copy_nonoverlapping(block, other, layout.size().min(new.size()));
                self.dealloc(block, layout);
            }
        }
        other
    }
}

impl Default for LargePages {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: a block comes from one of three sources, which satisfy the layout, and is returned to the same source. The
// layout identifies blocks of [`large_block`], the address those of the arena; the system allocated all others.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.obtain(layout, false)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.obtain(layout, true)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees that the block was allocated with this layout.
        unsafe {
            if self.arena.has(block) {
                return self.arena.give_back(block, SizeClass::of(layout.size()));
            }
            self.elsewhere.fetch_sub(layout.size(), Relaxed);
            if large_block::is_large(layout) {
                large_block::give_back(block, layout.size());
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the new size is valid for this alignment and that the block has this
        // layout.
        unsafe {
            let new = Layout::from_size_align_unchecked(new_size, layout.align());
            if self.arena.has(block) {
                let class = SizeClass::of(layout.size());
                return if Arena::suits(new) && !large_block::is_large(new) && SizeClass::of(new_size) == class {
                    block
                } else {
                    self.move_to(block, layout, new)
                };
            }
            let few = self.elsewhere.load(Relaxed) < ORDINARY_BYTES || !Arena::suits(new);
            if large_block::is_large(layout) || large_block::is_large(new) || !few {
                return self.move_to(block, layout, new);
            }
            let resized = System.realloc(block, layout, new_size);
            if !resized.is_null() {
                self.elsewhere.fetch_add(new_size, Relaxed);
                self.elsewhere.fetch_sub(layout.size(), Relaxed);
            }
            resized
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;
    use std::thread;

    /// A block and the byte that fills it.
    struct Filled {
        block: *mut u8,
        layout: Layout,
        byte: u8,
    }

    /// Allocates, resizes and frees blocks of all kinds, and checks that they keep their bytes.
    fn exercise(memory: &LargePages, seed: u64) {
        let mut blocks: Vec<Filled> = Vec::new();
        let mut state = seed;
        for step in 0..5_000 {
            // Knuth's MMIX generator; the upper bits are used.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (state >> 32) as usize;
            // Sizes of all orders of magnitude; the largest are rare.
            let size = (random & 0xff_ffff) >> (random >> 24).min(23) | 1;
            let byte = (step % 251) as u8;
            match random % 5 {
                0 if !blocks.is_empty() => {
                    let Filled { block, layout, .. } = blocks.swap_remove(random / 5 % blocks.len());
                    // SAFETY: the block was allocated with this layout.
                    unsafe { memory.dealloc(block, layout) };
                }
                1 if !blocks.is_empty() => {
                    let place = random / 5 % blocks.len();
                    let filled = &mut blocks[place];
                    // SAFETY: the block has this layout, and then the new size. The old bytes fill the smaller of the
                    // two sizes.
                    unsafe {
                        filled.block = memory.realloc(filled.block, filled.layout, size);
                        let kept = slice::from_raw_parts(filled.block, size.min(filled.layout.size()));
                        assert!(kept.iter().all(|found| *found == filled.byte));
                        filled.block.write_bytes(filled.byte, size);
                    }
                    filled.layout = Layout::from_size_align(size, filled.layout.align()).unwrap();
                }
                kind => {
                    let layout = Layout::from_size_align(size, 1 << (random / 5 % 13)).unwrap();
                    // SAFETY: the size is not 0, and the block has these bytes.
                    let block = unsafe { if kind == 2 { memory.alloc_zeroed(layout) } else { memory.alloc(layout) } };
                    assert_eq!(block.addr() % layout.align(), 0);
                    // SAFETY: as before.
                    unsafe {
                        let zeros = kind != 2 || slice::from_raw_parts(block, size).iter().all(|byte| *byte == 0);
                        assert!(zeros, "{layout:?}");
                        block.write_bytes(byte, size);
                    }
                    blocks.push(Filled { block, layout, byte });
                }
            }
            if blocks.len() > 200 {
                let Filled { block, layout, byte } = blocks.swap_remove(random % 200);
                // SAFETY: the block has these bytes and was allocated with this layout.
                unsafe {
                    let content = slice::from_raw_parts(block, layout.size());
                    assert!(content.iter().all(|found| *found == byte), "{layout:?}");
                    memory.dealloc(block, layout);
                }
            }
        }
        for Filled { block, layout, .. } in blocks {
            // SAFETY: as before.
            unsafe { memory.dealloc(block, layout) };
        }
    }

    #[test]
    fn blocks_of_all_sizes_keep_their_bytes_with_threads_and_leave_nothing() {
        let memory = LargePages::new();
        thread::scope(|scope| {
            for seed in 0..3 {
                let memory = &memory;
                scope.spawn(move || exercise(memory, seed));
            }
        });
        assert_eq!(memory.elsewhere.load(Relaxed), 0);
    }

    #[test]
    fn a_little_comes_from_the_system_and_the_rest_of_much_from_the_arena() {
        let memory = LargePages::new();
        let layout = Layout::from_size_align(1 << 20, 8).unwrap();
        let fits = ORDINARY_BYTES >> 20;
        // SAFETY: the size is not 0.
        let blocks: Vec<_> = (0..fits + 2).map(|_| unsafe { memory.alloc(layout) }).collect();
        let in_arena: Vec<_> = blocks.iter().map(|block| memory.arena.has(*block)).collect();
        assert_eq!(in_arena, [[false].repeat(fits), [true].repeat(2)].concat());
        for block in blocks {
            // SAFETY: it was allocated with this layout.
            unsafe { memory.dealloc(block, layout) };
        }
    }
}
