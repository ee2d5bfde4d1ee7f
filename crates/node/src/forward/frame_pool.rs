//! Memory for frames: chunks of one size, allocated once.
//!
//! With `AF_XDP` the kernel shares the memory. A chunk is free, contains a frame of the forwarder, or belongs to the
//! kernel. A chunk that belongs to the kernel waits for an arriving frame, or contains a frame to be sent.

use crate::io::Memory;

/// Index of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameId(u32);

impl FrameId {
    /// The index.
    #[must_use]
    #[inline]
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// Position of a frame within its chunk.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: u32,
    bytes: u32,
}

/// Layout of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Maximum number of frames that the forwarder stores.
    pub frames: u32,
    /// Additional chunks for the kernel.
    pub for_kernel: u32,
    /// Bytes per chunk.
    pub chunk_bytes: usize,
    /// Offset of a frame in its chunk.
    pub headroom: usize,
}

/// Chunks for frames.
#[derive(Debug)]
pub struct FramePool {
    memory: Memory,
    layout: Layout,
    places: Vec<Place>,
    /// Free chunks. The last one is used first, because it is still in the cache.
    free: Vec<u32>,
    held: u32,
}

impl FramePool {
    /// Creates a pool whose chunks are all free.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        let chunks = layout.frames + layout.for_kernel;
        Self {
            memory: Memory::new(chunks as usize * layout.chunk_bytes),
            layout,
            places: vec![Place::default(); chunks as usize],
            free: (0..chunks).rev().collect(),
            held: 0,
        }
    }

    /// Layout of the memory.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The memory, for sharing with the kernel.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    fn claim(&mut self, bytes: usize) -> Option<u32> {
        if self.held == self.layout.frames || bytes > self.layout.chunk_bytes - self.layout.headroom {
            return None;
        }
        let chunk = self.free.pop()?;
        self.held += 1;
        self.places[chunk as usize] = Place { start: self.layout.headroom as u32, bytes: bytes as u32 };
        Some(chunk)
    }

    /// Copies a frame, given in two parts, into a chunk. Returns `None` if no chunk is free or the frame is too long.
    #[inline]
    pub fn store(&mut self, head: &[u8], tail: &[u8]) -> Option<FrameId> {
        let id = FrameId(self.claim(head.len() + tail.len())?);
        let (to_head, to_tail) = self.frame_mut(id).split_at_mut(head.len());
        to_head.copy_from_slice(head);
        to_tail.copy_from_slice(tail);
        Some(id)
    }

    /// Copies a frame into a free chunk and returns the copy, or `None` if no chunk is free.
    pub fn duplicate(&mut self, id: FrameId) -> Option<FrameId> {
        let Place { start, bytes } = self.places[id.0 as usize];
        let copy = FrameId(self.claim(bytes as usize)?);
        let from = self.start_of(id) + start as usize;
        let to = self.start_of(copy) + self.layout.headroom;
        self.memory.copy(from, to, bytes as usize);
        Some(copy)
    }

    /// Frame in a chunk.
    #[must_use]
    #[inline]
    pub fn frame(&self, id: FrameId) -> &[u8] {
        let Place { start, bytes } = self.places[id.0 as usize];
        let at = self.start_of(id) + start as usize;
        self.memory.slice(at..at + bytes as usize)
    }

    /// Mutable frame in a chunk.
    #[inline]
    pub fn frame_mut(&mut self, id: FrameId) -> &mut [u8] {
        let Place { start, bytes } = self.places[id.0 as usize];
        let at = self.start_of(id) + start as usize;
        self.memory.slice_mut(at..at + bytes as usize)
    }

    /// Truncates the frame in a chunk.
    pub fn shorten(&mut self, id: FrameId, bytes: u32) {
        let place = &mut self.places[id.0 as usize];
        place.bytes = bytes.min(place.bytes);
    }

    /// Frees a chunk.
    #[inline]
    pub fn release(&mut self, id: FrameId) {
        self.held -= 1;
        self.free.push(id.0);
    }

    /// Number of frames that the forwarder stores.
    #[must_use]
    pub fn used(&self) -> usize {
        self.held as usize
    }

    /// Offset of a chunk in the memory.
    #[must_use]
    #[inline]
    pub fn start_of(&self, id: FrameId) -> usize {
        id.0 as usize * self.layout.chunk_bytes
    }
}

/// Operations on memory shared with the kernel.
#[cfg(feature = "ebpf")]
impl FramePool {
    /// Takes a free chunk, which then belongs to the kernel.
    #[inline]
    pub fn lend(&mut self) -> Option<FrameId> {
        self.free.pop().map(FrameId)
    }

    /// Returns the chunk that contains an address passed by the kernel.
    #[must_use]
    #[inline]
    pub fn chunk_at(&self, at: usize) -> FrameId {
        FrameId((at / self.layout.chunk_bytes) as u32)
    }

    /// Offset of a frame in the memory, and its length.
    #[must_use]
    #[inline]
    pub fn place(&self, id: FrameId) -> (usize, u32) {
        let Place { start, bytes } = self.places[id.0 as usize];
        (self.start_of(id) + start as usize, bytes)
    }

    /// Takes a chunk back from the kernel with a frame of `bytes` at offset `at`. If the forwarder already stores its
    /// maximum number of frames, frees the chunk and returns `false`.
    #[inline]
    pub fn take_over(&mut self, id: FrameId, at: usize, bytes: u32) -> bool {
        if self.held == self.layout.frames {
            self.free.push(id.0);
            return false;
        }
        self.held += 1;
        let start = (at - self.start_of(id)) as u32;
        self.places[id.0 as usize] = Place { start, bytes };
        true
    }

    /// Hands a frame to the kernel for sending.
    #[inline]
    pub fn hand_over(&mut self, _: FrameId) {
        self.held -= 1;
    }

    /// Takes an empty chunk back from the kernel.
    #[inline]
    pub fn take_back(&mut self, id: FrameId) {
        self.free.push(id.0);
    }

    /// Takes all chunks back that belong to the kernel.
    pub fn take_all_back(&mut self, lent: &[bool]) {
        self.free.extend((0..).zip(lent).filter(|(_, lent)| **lent).map(|(chunk, _)| chunk));
    }

    /// Total number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.places.len()
    }

    /// Returns the `N` bytes before a frame, where the kernel's program wrote the arrival time.
    #[inline]
    pub fn in_front_of<const N: usize>(&mut self, at: usize) -> &mut [u8; N] {
        self.memory.slice_mut(at - N..at).try_into().expect("a slice of this length")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(frames: u32, for_kernel: u32) -> FramePool {
        FramePool::new(Layout { frames, for_kernel, chunk_bytes: 12, headroom: 4 })
    }

    #[test]
    fn chunks_hold_what_was_stored_until_they_are_given_back() {
        let mut pool = pool(2, 0);
        let a = pool.store(b"abc", b"defgh").unwrap();
        let b = pool.duplicate(a).unwrap();
        pool.frame_mut(b)[0] = b'x';
        assert_eq!((pool.frame(a), pool.frame(b)), (&b"abcdefgh"[..], &b"xbcdefgh"[..]));
        assert_eq!(pool.store(b"c", b""), None);
        pool.release(a);
        assert_eq!(pool.store(b"123456789", b""), None);
        let c = pool.store(b"c", b"").unwrap();
        assert_eq!((pool.frame(c), pool.used()), (&b"c"[..], 2));
    }

    #[cfg(feature = "ebpf")]
    #[test]
    fn chunks_of_the_kernel_are_no_room_for_the_forwarder() {
        let mut pool = pool(1, 2);
        let chunk = pool.lend().unwrap();
        let held = pool.store(b"a", b"").unwrap();
        assert_eq!(pool.store(b"b", b""), None);
        // The pool already stores its maximum of one frame, so the chunk of an arriving frame is freed.
        assert!(!pool.take_over(chunk, 0, 3));
        assert_eq!((pool.used(), pool.free.len()), (1, 2));
        pool.hand_over(held);
        let chunk = pool.lend().unwrap();
        let at = pool.start_of(chunk) + 6;
        assert!(pool.take_over(chunk, at, 3));
        assert_eq!((pool.chunk_at(at), pool.place(chunk), pool.used()), (chunk, (at, 3), 1));
        pool.take_back(held);
        assert_eq!(pool.free.len(), 2);
    }
}
