//! Frames in memory: slots of one size, allocated once.

/// Number of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(u32);

/// Slots for frames.
#[derive(Debug)]
pub struct FramePool {
    bytes: Vec<u8>,
    slot_bytes: usize,
    lengths: Vec<u32>,
    /// Last in, first out: the slot that was used last is still in the cache.
    free: Vec<u32>,
}

impl FramePool {
    /// `frames` slots for frames of up to `slot_bytes`.
    #[must_use]
    pub fn new(frames: u32, slot_bytes: usize) -> Self {
        Self {
            bytes: vec![0; frames as usize * slot_bytes],
            slot_bytes,
            lengths: vec![0; frames as usize],
            free: (0..frames).rev().collect(),
        }
    }

    /// Copies a frame, given in two parts, into a slot; `None` if no slot is free or the frame is too long.
    #[inline]
    pub fn store(&mut self, head: &[u8], tail: &[u8]) -> Option<FrameId> {
        let length = head.len() + tail.len();
        if length > self.slot_bytes {
            return None;
        }
        let slot = self.free.pop()?;
        let at = slot as usize * self.slot_bytes;
        self.bytes[at..at + head.len()].copy_from_slice(head);
        self.bytes[at + head.len()..at + length].copy_from_slice(tail);
        self.lengths[slot as usize] = length as u32;
        Some(FrameId(slot))
    }

    /// A copy of a frame in a slot of its own, if one is free.
    pub fn duplicate(&mut self, id: FrameId) -> Option<FrameId> {
        let slot = self.free.pop()?;
        let (from, to) = (id.0 as usize * self.slot_bytes, slot as usize * self.slot_bytes);
        let length = self.lengths[id.0 as usize];
        self.bytes.copy_within(from..from + length as usize, to);
        self.lengths[slot as usize] = length;
        Some(FrameId(slot))
    }

    /// The frame in a slot.
    #[must_use]
    #[inline]
    pub fn frame(&self, id: FrameId) -> &[u8] {
        let at = id.0 as usize * self.slot_bytes;
        &self.bytes[at..at + self.lengths[id.0 as usize] as usize]
    }

    /// The frame in a slot, to change.
    #[inline]
    pub fn frame_mut(&mut self, id: FrameId) -> &mut [u8] {
        let at = id.0 as usize * self.slot_bytes;
        &mut self.bytes[at..at + self.lengths[id.0 as usize] as usize]
    }

    /// Leaves the first bytes of the frame in a slot only.
    pub fn shorten(&mut self, id: FrameId, bytes: u32) {
        let length = &mut self.lengths[id.0 as usize];
        *length = bytes.min(*length);
    }

    /// Gives a slot back.
    #[inline]
    pub fn release(&mut self, id: FrameId) {
        self.free.push(id.0);
    }

    /// Slots in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_what_was_stored_until_they_are_given_back() {
        let mut pool = FramePool::new(2, 8);
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
}
