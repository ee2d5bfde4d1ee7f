//! Pacing as in Linux (`tcp_output.c` tcp_update_skb_after_send, tcp_tso_autosize). Data are sent in chunks. The time
//! between the starts of two chunks is the size of the first chunk divided by the pacing rate.

use fairlane_schemes::base::units::{BitRate, Time};

/// Segments at the start of a connection that are not paced.
const UNPACED: u32 = 10;

#[derive(Clone, Debug)]
pub(super) struct Pacer {
    next: Time,
    /// Lateness of the current chunk.
    late: Time,
    /// Bytes that still fit into the current chunk. The next field is the number of bytes sent in this chunk.
    left: u32,
    taken: u32,
    /// Segments sent, up to [`UNPACED`].
    sent: u32,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { next: Time::ZERO, late: Time::ZERO, left: 0, taken: 0, sent: 0 }
    }

    /// Time at which the next segment may leave; zero if the current chunk has room for it.
    #[inline]
    pub(super) fn next(&self) -> Time {
        if self.left > 0 { Time::ZERO } else { self.next }
    }

    #[inline]
    pub(super) fn has_chunk(&self) -> bool {
        self.left > 0
    }

    #[inline]
    pub(super) fn begin_chunk(&mut self, now: Time, quantum: u32, catches_up: bool) {
        self.late = if catches_up { now.saturating_sub(self.next) } else { Time::ZERO };
        self.next = self.next.max(now);
        self.left = quantum;
    }

    /// Records a sent segment of `bytes`.
    #[inline]
    pub(super) fn on_send(&mut self, bytes: u32, rate: BitRate) {
        self.sent = (self.sent + 1).min(UNPACED);
        self.left = self.left.saturating_sub(bytes);
        self.taken += bytes;
        // A chunk without room for another segment is complete.
        if self.left < bytes {
            self.end_chunk(rate);
        }
    }

    /// Ends the chunk because no more segments are sent at this time.
    #[inline]
    pub(super) fn end_chunk(&mut self, rate: BitRate) {
        if self.taken > 0 && self.sent >= UNPACED {
            let time = rate.time_of(u64::from(self.taken));
            // Compensates lateness by up to half of the interval.
            self.next = self.next.saturating_add(time.saturating_sub(self.late.min(Time(time.0 / 2))));
        }
        (self.left, self.taken) = (0, 0);
    }
}

/// Pacing rate in percent of the window per SRTT, if the congestion control sets no rate. Linux uses this value while
/// the window is below half of ssthresh, and the next constant otherwise. QUIC always uses the third constant.
pub(super) const PERCENT_IN_SLOW_START: u64 = 200;
pub(super) const PERCENT_IN_AVOIDANCE: u64 = 120;
pub(super) const PERCENT_OF_QUIC: u64 = 125;

/// Returns the rate of `percent` of `bytes` per SRTT, or `None` before the first sample.
#[inline]
pub(super) fn rate_of_window(bytes: u64, percent: u64, srtt: Time) -> Option<BitRate> {
    //= RFC 9002 7.7-6: The rate is N windows a smoothed RTT, N a little above 1.
    if srtt == Time::ZERO {
        return None;
    }
    let bits = (bytes * 8 * percent) as f64 / 100.0;
    Some(BitRate(((bits / srtt.as_secs_f64()) as u64).max(1)))
}

/// Returns the size of a chunk (tcp_tso_autosize): the bytes sent in about a millisecond at this rate, more on short
/// paths, and at least two segments. The size is limited to `largest`, but is never below one segment.
#[inline]
pub(super) fn chunk_bytes(rate: BitRate, min_rtt: Time, mss: u32, largest: u64) -> u32 {
    //= RFC 9002 7.7-3, by tso: Bursts are of the initial window at most.
    // Bytes sent in 2^-10 s at this rate.
    let of_rate = (rate.0 / 8) >> 10;
    // Short paths get up to 64 KiB more, halved for each 2^9 us of the minimum RTT.
    let halvings = min_rtt.0 / Time::from_micros(512).0;
    let of_rtt = if halvings < 32 { largest >> halvings } else { 0 };
    let segments = ((of_rate + of_rtt).min(largest) / u64::from(mss)).max(2).min((largest / u64::from(mss)).max(1));
    u32::try_from(segments * u64::from(mss)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;
    const US: fn(u64) -> Time = Time::from_micros;
    /// 1000 bytes per millisecond.
    const RATE: BitRate = BitRate(8_000_000);

    /// Sends a segment, in a new chunk of `quantum` bytes if no chunk is partly sent.
    fn send(pacer: &mut Pacer, now: Time, quantum: u32) {
        if !pacer.has_chunk() {
            pacer.begin_chunk(now, quantum, true);
        }
        pacer.on_send(MSS, RATE);
    }

    #[test]
    fn ten_segments_leave_at_once_then_a_chunk_each_time_that_the_rate_has_paid_for_it() {
        let mut pacer = Pacer::new();
        for _ in 0..9 {
            assert!(pacer.next() <= US(0));
            send(&mut pacer, US(0), 2 * MSS);
        }
        // The ninth segment starts a chunk, and the tenth completes it. The 2000 bytes of this chunk take 2 ms.
        send(&mut pacer, US(0), 2 * MSS);
        assert_eq!(pacer.next(), US(2000));
        send(&mut pacer, US(2000), 2 * MSS);
        assert_eq!(pacer.next(), Time::ZERO);
        send(&mut pacer, US(2000), 2 * MSS);
        assert_eq!(pacer.next(), US(4000));
    }

    #[test]
    fn a_late_chunk_catches_up_by_half_of_its_time_at_most() {
        let mut pacer = Pacer::new();
        (0..10).for_each(|_| send(&mut pacer, US(0), MSS));
        assert_eq!(pacer.next(), US(1000));
        send(&mut pacer, US(1300), MSS);
        assert_eq!(pacer.next(), US(2000));
        send(&mut pacer, US(9000), MSS);
        assert_eq!(pacer.next(), US(9500));
    }

    #[test]
    fn without_catching_up_a_late_chunk_takes_its_whole_time() {
        let mut pacer = Pacer::new();
        (0..10).for_each(|_| send(&mut pacer, US(0), MSS));
        pacer.begin_chunk(US(1300), MSS, false);
        pacer.on_send(MSS, RATE);
        assert_eq!(pacer.next(), US(2300));
    }

    #[test]
    fn a_chunk_that_ends_early_pays_for_what_it_took() {
        let mut pacer = Pacer::new();
        (0..10).for_each(|_| send(&mut pacer, US(0), MSS));
        send(&mut pacer, US(1000), 40 * MSS);
        pacer.end_chunk(RATE);
        assert_eq!(pacer.next(), US(2000));
    }

    #[test]
    fn the_rate_of_a_window_is_a_share_of_it_in_a_round_trip() {
        // 100 000 bytes in 100 ms are 8 Mbit/s.
        let rate = |percent| rate_of_window(100_000, percent, US(100_000)).unwrap().0;
        assert_eq!([PERCENT_IN_SLOW_START, PERCENT_IN_AVOIDANCE].map(rate), [16_000_000, 9_600_000]);
        assert_eq!(rate_of_window(100_000, 100, Time::ZERO), None);
    }

    #[test]
    fn a_chunk_is_about_a_millisecond_of_the_rate() {
        let chunk = |mbit: u64, min_rtt| chunk_bytes(BitRate(mbit * 1_000_000), min_rtt, MSS, 65_536);
        // At 100 Mbit/s, 2^-10 s are 12.5 MB/s / 1024 = 12 207 B, or 12 segments. At 1 Mbit/s, 122 B are less than the
        // minimum of two segments. At 10 Gbit/s the size is the maximum, 65 segments.
        assert_eq!([100, 1, 10_000].map(|mbit| chunk(mbit, US(50_000))), [12_000, 2_000, 65_000]);
        // An RTT of 1.1 ms adds 65536 / 4 bytes. The sum is 28 591 bytes, or 28 segments.
        assert_eq!(chunk(100, US(1100)), 28_000);
        // Without segmentation offload, a chunk is one segment.
        assert_eq!(chunk_bytes(BitRate(100_000_000), US(50_000), MSS, 0), MSS);
    }
}
