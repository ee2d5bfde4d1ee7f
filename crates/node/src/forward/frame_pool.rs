//! Frames in memory: chunks of one size, allocated once.
//!
//! With `AF_XDP` the kernel shares the memory: a chunk is either free, or holds a frame of the forwarder, or is with
//! the kernel, which writes a frame that comes into it or sends the one that is in it.

use crate::io::Memory;

/// Number of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameId(u32);

impl FrameId {
    /// The number.
    #[must_use]
    #[inline]
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// Where a frame is within its chunk.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: u32,
    bytes: u32,
}

/// How the memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Frames that the forwarder holds at most.
    pub frames: u32,
    /// Chunks for the kernel besides.
    pub for_kernel: u32,
    /// Bytes of a chunk.
    pub chunk_bytes: usize,
    /// Where frames begin in theirs.
    pub headroom: usize,
}

/// Chunks for frames.
#[derive(Debug)]
pub struct FramePool {
    memory: Memory,
    layout: Layout,
    places: Vec<Place>,
    /// Last in, first out: the chunk that was used last is still in the cache.
    free: Vec<u32>,
    held: u32,
}

impl FramePool {
    /// A pool whose chunks are all free.
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

    /// How the memory is divided.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The memory, for the kernel.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// A place for a frame that the forwarder holds from now on.
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

    /// Copies a frame, given in two parts, into a chunk; `None` if none is free or the frame is too long.
    #[inline]
    pub fn store(&mut self, head: &[u8], tail: &[u8]) -> Option<FrameId> {
        let id = FrameId(self.claim(head.len() + tail.len())?);
        let (to_head, to_tail) = self.frame_mut(id).split_at_mut(head.len());
        to_head.copy_from_slice(head);
        to_tail.copy_from_slice(tail);
        Some(id)
    }

    /// A copy of a frame in a chunk of its own, if one is free.
    pub fn duplicate(&mut self, id: FrameId) -> Option<FrameId> {
        let Place { start, bytes } = self.places[id.0 as usize];
        let copy = FrameId(self.claim(bytes as usize)?);
        let from = self.start_of(id) + start as usize;
        let to = self.start_of(copy) + self.layout.headroom;
        self.memory.copy(from, to, bytes as usize);
        Some(copy)
    }

    /// The frame in a chunk.
    #[must_use]
    #[inline]
    pub fn frame(&self, id: FrameId) -> &[u8] {
        let Place { start, bytes } = self.places[id.0 as usize];
        let at = self.start_of(id) + start as usize;
        self.memory.slice(at..at + bytes as usize)
    }

    /// The frame in a chunk, to change.
    #[inline]
    pub fn frame_mut(&mut self, id: FrameId) -> &mut [u8] {
        let Place { start, bytes } = self.places[id.0 as usize];
        let at = self.start_of(id) + start as usize;
        self.memory.slice_mut(at..at + bytes as usize)
    }

    /// Leaves the first bytes of the frame in a chunk only.
    pub fn shorten(&mut self, id: FrameId, bytes: u32) {
        let place = &mut self.places[id.0 as usize];
        place.bytes = bytes.min(place.bytes);
    }

    /// Gives a chunk back.
    #[inline]
    pub fn release(&mut self, id: FrameId) {
        self.held -= 1;
        self.free.push(id.0);
    }

    /// Frames that the forwarder holds.
    #[must_use]
    pub fn used(&self) -> usize {
        self.held as usize
    }

    /// Where a chunk starts in the memory.
    #[must_use]
    #[inline]
    pub fn start_of(&self, id: FrameId) -> usize {
        id.0 as usize * self.layout.chunk_bytes
    }
}

/// What the kernel shares.
#[cfg(feature = "ebpf")]
impl FramePool {
    /// A free chunk, which the kernel has from now on.
    #[inline]
    pub fn lend(&mut self) -> Option<FrameId> {
        self.free.pop().map(FrameId)
    }

    /// The chunk that an address of the kernel is in.
    #[must_use]
    #[inline]
    pub fn chunk_at(&self, at: usize) -> FrameId {
        FrameId((at / self.layout.chunk_bytes) as u32)
    }

    /// Where a frame is in the memory, and its length.
    #[must_use]
    #[inline]
    pub fn place(&self, id: FrameId) -> (usize, u32) {
        let Place { start, bytes } = self.places[id.0 as usize];
        (self.start_of(id) + start as usize, bytes)
    }

    /// Takes a chunk over from the kernel with a frame of `bytes` that begins at `at` of the memory; `false` if the
    /// forwarder holds as many as it may, and the chunk is free.
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

    /// Hands a frame to the kernel, to send.
    #[inline]
    pub fn hand_over(&mut self, _: FrameId) {
        self.held -= 1;
    }

    /// Takes a chunk back from the kernel, empty.
    #[inline]
    pub fn take_back(&mut self, id: FrameId) {
        self.free.push(id.0);
    }

    /// Takes all chunks back that are marked.
    pub fn take_all_back(&mut self, lent: &[bool]) {
        self.free.extend((0..).zip(lent).filter(|(_, lent)| **lent).map(|(chunk, _)| chunk));
    }

    /// How many chunks there are, free or not.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.places.len()
    }

    /// Bytes of the memory in front of a frame, which the kernel's program wrote with it.
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
        // One that came finds no room, and its chunk is free again.
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
