//! Send buffers (skbs) of data that the application has written and the sender has not sent yet, as in Linux 6.12
//! (`tcp.c` tcp_sendmsg_locked).

use std::collections::VecDeque;

/// Bytes of unsent data up to which the application writes. It writes again when less than half of this is unsent
/// (TCP_NOTSENT_LOWAT, tcp_stream_memory_free).
const UNSENT_BYTES: u64 = 128 << 10;
/// Data of one write.
const WRITE_BYTES: u64 = 64 << 10;
/// Minimum number of segments that leave at once (tcp_min_tso_segs).
const LEAST_BURST: u32 = 2;

/// Sizes that determine where buffers end.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferSize {
    pub(super) mss: u32,
    /// Maximum number of segments in a buffer.
    pub(super) segments: u32,
    /// Half of the receive window, in bytes.
    pub(super) half_window: u64,
}

/// A buffer, with its end as a segment number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Buffer {
    end: u32,
    /// True if the last segment carries PSH.
    pushed: bool,
}

/// Buffers of unsent data.
#[derive(Clone, Debug, Default)]
pub(super) struct SendBuffers {
    buffers: VecDeque<Buffer>,
    /// End of the data that were last marked with PSH, in bytes (pushed_seq).
    pushed: u64,
}

impl SendBuffers {
    /// Returns true if the application writes: fewer than 64 KiB beyond segment `next` are unsent.
    #[inline]
    pub(super) fn are_low(&self, next: u32, mss: u32) -> bool {
        let unsent = self.buffers.back().map_or(0, |last| last.end.saturating_sub(next));
        2 * u64::from(unsent) * u64::from(mss) < UNSENT_BYTES
    }

    /// Returns true if the application's next write fills up the buffer with segment `next`, which then leaves without
    /// waiting for a larger window (tcp_push_one), unless the write pushes more (forced_push).
    pub(super) fn are_pushed(&self, next: u32, size: BufferSize) -> bool {
        let Some(last) = self.buffers.back().filter(|_| self.buffers.len() == 1) else { return false };
        let end = u64::from(next + size.segments) * u64::from(size.mss);
        self.are_low(next, size.mss) && last.end < next + size.segments && end <= self.pushed + size.half_window
    }

    /// Lets the application write. It first fills up the last buffer, which thus loses its PSH.
    #[cold]
    pub(super) fn write(&mut self, next: u32, size: BufferSize) {
        let bytes = |segments| u64::from(segments) * u64::from(size.mss);
        let written = self.buffers.back().map_or(next, |last| last.end.max(next));
        let last = self.buffers.pop_back();
        let mut start = self.buffers.back().map_or(next, |buffer| buffer.end.max(next));
        if let Some(full) = last.filter(|last| last.end >= start + size.segments) {
            self.buffers.push_back(full);
            start = full.end;
        }
        // The first segments leave while the first buffer is written, so the application fills this buffer up again.
        let is_first = self.pushed == 0;
        let first = bytes(size.segments + LEAST_BURST);
        if is_first && first > size.half_window {
            self.pushed = first;
        }
        let mut write_ends = if is_first { WRITE_BYTES } else { bytes(written) + WRITE_BYTES };
        loop {
            let end = start + size.segments;
            while write_ends < bytes(end) {
                self.pushed = write_ends;
                write_ends += WRITE_BYTES;
            }
            let stops = bytes(end - next) >= UNSENT_BYTES;
            let is_early = is_first && start == next && self.pushed == first;
            let pushed = stops || is_early || bytes(end) > self.pushed + size.half_window;
            if pushed {
                self.pushed = self.pushed.max(bytes(end));
            }
            self.buffers.push_back(Buffer { end, pushed });
            start = end;
            if stops {
                return;
            }
        }
    }

    /// Records that all segments below `next` are sent. Returns true if the last of them carries PSH.
    #[inline]
    pub(super) fn sent(&mut self, next: u32) -> bool {
        let mut pushed = false;
        while let Some(buffer) = self.buffers.front().filter(|buffer| buffer.end <= next) {
            pushed = buffer.pushed && buffer.end == next;
            self.buffers.pop_front();
        }
        pushed
    }

    /// Number of unsent segments in the buffer with segment `next`. The last buffer has no fixed end, since the
    /// application may add to it.
    #[inline]
    pub(super) fn left(&self, next: u32) -> u32 {
        if self.buffers.len() > 1 { self.buffers[0].end.saturating_sub(next) } else { u32::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_end_and_carry_psh_as_in_linux_6_12() {
        // A connection that has sent its first ten segments. Half of its receive window is 22 segments until segment 75
        // is sent, and then more than 64 KiB. `ends` has the end of each buffer, with true if its last segment carries
        // PSH.
        let (mut buffers, mut ends) = (SendBuffers::default(), Vec::new());
        for next in 10..=278 {
            let front = buffers.buffers.front().copied();
            let pushed = buffers.sent(next);
            if front.is_some_and(|buffer| buffer.end == next) {
                ends.push((next, pushed));
            }
            if buffers.are_low(next, 1448) {
                let (segments, half_window) = if next < 75 { (22, 32_580) } else { (45, 200_000) };
                buffers.write(next, BufferSize { mss: 1448, segments, half_window });
            }
        }
        let with_psh = [32, 76, 188, 278];
        assert_eq!(ends, [32, 54, 76, 98, 143, 188, 233, 278].map(|end| (end, with_psh.contains(&end))));
        assert_eq!(buffers.left(278), 45);
    }

    #[test]
    fn a_buffer_that_the_next_write_fills_up_is_pushed() {
        let size = BufferSize { mss: 1448, segments: 45, half_window: 200_000 };
        let mut buffers = SendBuffers::default();
        buffers.write(10, size);
        let ends: Vec<u32> = buffers.buffers.iter().map(|buffer| buffer.end).collect();
        assert_eq!(ends, [55, 100, 145]);
        let pushed = [99, 100, 101, 140].map(|next| {
            buffers.sent(next);
            buffers.are_pushed(next, size)
        });
        // Before segment 100 another buffer is unsent. At segment 100 the last buffer is full.
        assert_eq!(pushed, [false, false, true, true]);
        // With a small window, the write pushes what it has written so far (forced_push).
        assert!(!buffers.are_pushed(140, BufferSize { half_window: 20_000, ..size }));
    }
}
