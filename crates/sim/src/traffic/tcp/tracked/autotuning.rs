//! Receive-window autotuning as in Linux 6.12 (`tcp_input.c` tcp_rcv_space_adjust, tcp_grow_window). The window starts
//! at 64 KiB. Its maximum follows from the data that arrive in a round trip. The window grows towards this maximum by
//! two segments for each arriving segment.
//!
//! The sender computes the receiver's window from the data that it sends, which arrive half a round trip later.

use fairlane_schemes::base::units::Time;

/// Initial window (tcp_rmem, half of 128 KiB).
const FIRST: u64 = 65_536;
/// Segments per round trip that the initial window assumes.
const EXPECTED: u64 = 10;
/// Number of segments by which the window grows for each arriving segment.
const STEP: u64 = 2;
/// Number of segments by which a window exceeds the data that arrive in two round trips.
const CUSHION: u64 = 16;

/// Receive window; sizes are in bytes.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// Maximum of the window (window_clamp). The next field is the window once all sent data have arrived
    /// (rcv_ssthresh).
    most: u64,
    window: u64,
    /// Window that the sender knows: the window a round trip ago.
    offered: u64,
    /// Largest right edge of the window so far.
    end: u64,
    /// Most data that arrived in a round trip (rcvq_space).
    space: u64,
    /// Values of `most` and `space` before the last round trip.
    before: (u64, u64),
    /// Start of this round trip. The next field is the amount of data sent in this round trip so far.
    round_start: Time,
    sent: u64,
    /// The receiver's estimate of the round-trip time (rcv_rtt_est). The next field is the time of its last update.
    rtt: Time,
    updated: Time,
}

impl ReceiveWindow {
    pub(super) fn new(mss: u32) -> Self {
        let mss = u64::from(mss);
        // The window is one segment smaller than the buffer, which still contains the arriving segment (tcp_space).
        let most = FIRST.max(3 * mss) - mss;
        Self {
            most,
            window: most,
            offered: most,
            end: most,
            space: EXPECTED * mss,
            before: (most, EXPECTED * mss),
            round_start: Time::ZERO,
            sent: 0,
            rtt: Time::ZERO,
            updated: Time::ZERO,
        }
    }

    /// Right edge of the window as a byte number, when all bytes before `una` are acknowledged and the receiver stores
    /// `beyond` bytes above a gap. These bytes reduce the window (tcp_space), but its right edge never moves back
    /// (tcp_select_window).
    #[inline]
    pub(super) fn end(&mut self, una: u64, beyond: u64) -> u64 {
        self.end = self.end.max(una + self.offered.saturating_sub(beyond));
        self.end
    }

    /// Window that the sender knows, in bytes.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// Records that the gap before a segment of `mss` bytes is filled. The receiver counts the segment only then.
    #[inline]
    pub(super) fn on_fill(&mut self, mss: u32) {
        self.sent += u64::from(mss);
    }

    /// Records that a loss was detected. The data of the last round trip arrived above a gap, so the receiver has not
    /// counted them. Undoes the growth of the window in that round trip.
    pub(super) fn on_loss(&mut self) {
        (self.most, self.space) = self.before;
        self.window = self.window.min(self.most);
        self.sent = 0;
    }

    /// Records the transmission of a segment; `new` is 1 for new data and 0 for a retransmission. Returns true if the
    /// segment widens the window when it arrives. The maximum window is `buffer`.
    #[inline]
    pub(super) fn on_send(&mut self, now: Time, rtt: Time, new: u64, mss: u32, buffer: u64) -> bool {
        let mss = u64::from(mss);
        let room = self.most - self.window;
        self.window += room.min(STEP * mss);
        self.sent += new * mss;
        self.update_rtt(now, rtt);
        // A round trip ends when the application reads a segment.
        if now.saturating_sub(self.round_start) >= self.rtt {
            self.end_round(now, mss, buffer);
        }
        room > 0
    }

    /// Updates the receiver's RTT estimate from timestamps in milliseconds. A sample below the estimate replaces the
    /// estimate (tcp_rcv_rtt_measure_ts, tcp_rcv_rtt_update). The segment sent now arrives half a round trip later, and
    /// echoes the timestamp of an ACK that the receiver sent a round trip before that.
    fn update_rtt(&mut self, now: Time, rtt: Time) {
        let millisecond = Time::from_millis(1).0;
        let arrival = now.0 + rtt.0 / 2;
        let stamps = arrival / millisecond - arrival.saturating_sub(rtt.0) / millisecond;
        let sample = Time(stamps.max(1) * millisecond);
        if self.rtt == Time::ZERO {
            (self.rtt, self.round_start) = (sample, now);
        } else if sample < self.rtt {
            self.rtt = sample;
        } else if now.0 / millisecond != self.updated.0 / millisecond {
            self.rtt = Time(self.rtt.0 - self.rtt.0 / 8 + sample.0 / 8);
        } else {
            return;
        }
        self.updated = now;
    }

    /// Ends a round trip (tcp_rcv_space_adjust).
    fn end_round(&mut self, now: Time, mss: u64, buffer: u64) {
        self.offered = self.window;
        let arrived = std::mem::take(&mut self.sent);
        self.before = (self.most, self.space);
        self.round_start = now;
        if arrived > self.space {
            // The window has room for twice the data, and for a sender that doubles its window at the same time.
            let wanted = 2 * arrived + CUSHION * mss;
            let growth = u128::from(wanted) * u128::from(arrived - self.space) / u128::from(self.space);
            let wanted = u64::try_from(u128::from(wanted) + 2 * growth).unwrap_or(u64::MAX);
            self.most = self.most.max((wanted - mss).min(buffer));
            self.space = arrived;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;
    const RTT: Time = Time::from_millis(100);

    /// Sends `segments` segments in a round trip. Returns how many of them widen the window.
    fn round(window: &mut ReceiveWindow, start: Time, segments: u64) -> usize {
        (0..segments).filter(|_| window.on_send(start, RTT, 1, MSS, u64::MAX)).count()
    }

    #[test]
    fn the_window_grows_ahead_of_a_sender_that_doubles_and_stays_for_one_that_does_not() {
        let mut window = ReceiveWindow::new(MSS);
        let at = |trips| Time(trips * RTT.0);
        assert_eq!(round(&mut window, Time::ZERO, 9), 0);
        // The first segment of a round trip ends the previous one, with ten segments. Ten were expected, so nothing
        // changes.
        assert_eq!(round(&mut window, at(1), 20), 0);
        assert_eq!((window.offered, window.most), (64_536, 64_536));
        // 20 segments arrived instead of the expected 10. The new maximum is 2 * 20 + 16 = 56 segments, plus twice 56 *
        // 10 / 10, minus one: 167 segments. From the next segment on, each segment widens the window by two: 51
        // segments do so fully, and one more in part.
        assert_eq!(round(&mut window, at(2), 20), 19);
        assert_eq!((window.most, window.offered), (167_000, 64_536));
        // The sender knows the window of one round trip ago.
        assert_eq!(round(&mut window, at(3), 20), 20);
        assert_eq!((window.most, window.offered), (167_000, 64_536 + 20 * 2 * 1000));
        assert_eq!(round(&mut window, at(4), 20), 13);
        assert_eq!(round(&mut window, at(5), 20), 0);
        assert_eq!(window.offered, 167_000);
    }

    #[test]
    fn data_beyond_a_gap_take_room_and_what_was_offered_stays() {
        let mut window = ReceiveWindow::new(MSS);
        assert_eq!(window.end(0, 0), 64_536);
        // 40 segments above a gap leave a window of 24 536 bytes. Its right edge would be before the offered one, so
        // the edge does not move.
        assert_eq!(window.end(10_000, 40_000), 64_536);
        // The gap is filled, so the full window is available again.
        assert_eq!(window.end(51_000, 0), 51_000 + 64_536);
    }

    #[test]
    fn data_before_a_detected_loss_count_once_the_gap_is_filled() {
        let mut window = ReceiveWindow::new(MSS);
        round(&mut window, Time::ZERO, 9);
        round(&mut window, RTT, 20);
        // The next segment ends the round trip of 20 segments, so the window grows. Then their loss is detected.
        round(&mut window, Time(2 * RTT.0), 1);
        assert_eq!((window.most, window.space), (167_000, 20_000));
        window.on_loss();
        assert_eq!((window.most, window.space, window.sent), (64_536, 10_000, 0));
        // The retransmissions fill the gap: 19 segments are counted now and one at the next call, 20 in all.
        (0..19).for_each(|_| window.on_fill(MSS));
        round(&mut window, Time(3 * RTT.0), 1);
        assert_eq!((window.most, window.space), (167_000, 20_000));
    }

    #[test]
    fn the_window_ends_at_the_buffer() {
        let mut window = ReceiveWindow::new(MSS);
        for trip in 0..9 {
            (0..20 << trip).for_each(|_| _ = window.on_send(Time(trip * RTT.0), RTT, 1, MSS, 200_000));
        }
        assert_eq!((window.most, window.offered), (200_000, 200_000));
    }

    #[test]
    fn what_is_sent_again_widens_the_window_but_does_not_count_as_arriving() {
        let mut window = ReceiveWindow::new(MSS);
        round(&mut window, Time::ZERO, 19);
        assert!(!window.on_send(RTT, RTT, 1, MSS, u64::MAX));
        assert!(window.on_send(RTT, RTT, 0, MSS, u64::MAX));
        assert_eq!(window.sent, 0);
    }
}
