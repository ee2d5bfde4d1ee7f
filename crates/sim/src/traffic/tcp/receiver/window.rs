//! Receive window with autotuning, as in Linux 6.12 (`tcp_input.c` tcp_grow_window, tcp_rcv_space_adjust;
//! `tcp_output.c` tcp_select_window). The window starts at 64 KiB. Its maximum follows from the data that arrive in a
//! round trip. The window grows towards this maximum by two segments for each arriving segment.

use fairlane_schemes::base::units::Time;

use super::ack_delay::micros;
use crate::traffic::tcp::{Segment, TcpParams};

/// Initial space for data (tcp_rmem, half of 128 KiB).
const FIRST: u64 = 65_536;
/// Segments per round trip that the initial window assumes (TCP_INIT_CWND).
const EXPECTED: u64 = 10;
/// Number of segments by which the window grows for each arriving segment.
const STEP: u64 = 2;
/// Number of segments by which the space exceeds the data that arrive in two round trips.
const CUSHION: u64 = 16;
/// Largest shift of the window field (TCP_MAX_WSCALE).
const LARGEST_SHIFT: u32 = 14;
const MILLISECOND: Time = Time::from_millis(1);
/// Value of `echo_start` before the first echo: later than any time of a run.
const NO_ECHO: Time = Time(1 << 63);

/// Number of bits by which an ACK's window field is shifted (tcp_select_initial_window).
pub(crate) fn shift(params: &TcpParams) -> u32 {
    // A buffer is twice as large as the window that it permits.
    (2 * params.socket_buffer.0).max(1).ilog2().saturating_sub(15).min(LARGEST_SHIFT)
}

/// Window of a SYN-ACK in bytes. Its field is not scaled, so this is also the window that the sender knows first.
pub(crate) fn first(mss: u32) -> u64 {
    FIRST - FIRST % u64::from(mss)
}

/// Receive window; sizes are in bytes. The application reads data in order at once.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// Space for data (tcp_full_space). The next field is the window that the receiver would offer (rcv_ssthresh).
    space: u64,
    window: u64,
    /// Maximum of `window` (window_clamp).
    clamp: u64,
    /// Right edge of the offered window (rcv_wup + rcv_wnd).
    edge: u64,
    /// RCV.NXT when the application last read.
    read_next: u32,
    /// RCV.NXT at the start of this round trip, and the time of its start (rcvq_space.seq, time).
    round_next: u32,
    round_start: Time,
    /// Most data that arrived in a round trip (rcvq_space.space).
    most_arrived: u64,
    /// The receiver's estimate of the round-trip time in eighths of a microsecond (rcv_rtt_est.rtt_us), 0 without a
    /// sample.
    rtt: u32,
    /// Start of the current window of data and its end as a byte number (rcv_rtt_est.time, seq).
    data_start: Time,
    data_end: u64,
    /// Delay from the receiver to the sender, measured in the handshake.
    way_back: Time,
    /// Start of the millisecond of the last echoed timestamp (rcv_rtt_last_tsecr).
    echo_start: Time,
}

impl ReceiveWindow {
    pub(super) fn new(params: &TcpParams) -> Self {
        let mss = u64::from(params.segment_payload);
        let space = FIRST.max(3 * mss);
        Self {
            space,
            // One segment stays free (tcp_init_buffer_space).
            window: space - mss,
            clamp: space - mss,
            edge: first(params.segment_payload),
            read_next: 0,
            round_next: 0,
            round_start: Time::ZERO,
            most_arrived: EXPECTED * mss,
            rtt: 0,
            data_start: Time::ZERO,
            data_end: 0,
            way_back: Time::ZERO,
            echo_start: NO_ECHO,
        }
    }

    /// Records the end of the handshake. The SYN-ACK took `way_back` to the sender.
    pub(super) fn open(&mut self, way_back: Time, now: Time) {
        (self.way_back, self.round_start) = (way_back, now);
    }

    /// Records an arriving segment; `in_order` is RCV.NXT after a segment in order, and `stored` the number of other
    /// segments above a gap. Returns true if the segment widens the window.
    #[inline]
    pub(super) fn on_segment(
        &mut self,
        params: &TcpParams,
        segment: &Segment,
        (in_order, stored): (Option<u32>, u32),
        now: Time,
    ) -> bool {
        let mss = u64::from(params.segment_payload);
        if segment.payload == params.segment_payload {
            self.time_by_stamp(segment, now);
        }
        if let Some(next) = in_order {
            self.time_by_data(u64::from(next) * mss, now);
        }
        // A segment in order takes room before it widens the window (tcp_queue_rcv), one above a gap afterwards
        // (tcp_data_queue_ofo).
        let taken = u64::from(stored) + u64::from(in_order.is_some());
        let most = self.space.saturating_sub(taken * mss);
        let room = most.min(self.clamp).saturating_sub(self.window);
        self.window += room.min(STEP * mss);
        room > 0
    }

    /// Samples the round-trip time when a segment echoes another millisecond (tcp_rcv_rtt_measure_ts). The sender
    /// received the ACK with that timestamp when it sent the segment.
    fn time_by_stamp(&mut self, segment: &Segment, now: Time) {
        let echo = segment.timestamp.saturating_sub(self.way_back);
        if echo.0.wrapping_sub(self.echo_start.0) < MILLISECOND.0 {
            return;
        }
        let echo_ms = echo.0 / MILLISECOND.0;
        self.echo_start = Time(echo_ms * MILLISECOND.0);
        let elapsed_us = (now.0 / MILLISECOND.0 - echo_ms) * 1000;
        if elapsed_us > 0 {
            self.add_sample(elapsed_us, true);
        }
    }

    /// Samples the time in which a whole window of data arrives. The round trip is not longer (tcp_rcv_rtt_measure).
    fn time_by_data(&mut self, next: u64, now: Time) {
        if self.data_start > Time::ZERO {
            if next < self.data_end {
                return;
            }
            self.add_sample(u64::from(micros(now.saturating_sub(self.data_start))).max(1), false);
        }
        (self.data_start, self.data_end) = (now, self.edge.max(next));
    }

    /// A sample below the estimate replaces it; others are averaged if `averages` (tcp_rcv_rtt_update).
    fn add_sample(&mut self, sample_us: u64, averages: bool) {
        let sample = u32::try_from(sample_us).unwrap_or(u32::MAX / 8);
        let eighths = sample.saturating_mul(8);
        if self.rtt == 0 || eighths < self.rtt {
            self.rtt = eighths;
        } else if averages {
            self.rtt = self.rtt - self.rtt / 8 + sample;
        }
    }

    /// Ends the round trip if it is over: the application reads the data before segment `next` (tcp_rcv_space_adjust).
    /// It reads segment by segment. Linux checks after the first of them, and subtracts those not read yet.
    #[inline]
    pub(super) fn on_read(&mut self, params: &TcpParams, next: u32, now: Time) {
        let first = self.read_next + 1;
        self.read_next = next;
        let elapsed = now.saturating_sub(self.round_start);
        if self.rtt == 0 || elapsed < Time::from_micros(u64::from(self.rtt / 8)) {
            return;
        }
        let mss = u64::from(params.segment_payload);
        let waiting = next.saturating_sub(first);
        let arrived = u64::from((first - self.round_next).saturating_sub(waiting)) * mss;
        (self.round_next, self.round_start) = (first, now);
        if arrived > self.most_arrived {
            // The space holds twice the data, and those of a sender that doubles its window at the same time.
            let wanted = 2 * arrived + CUSHION * mss;
            let growth = u128::from(wanted) * u128::from(arrived - self.most_arrived) / u128::from(self.most_arrived);
            let wanted = u64::try_from(u128::from(wanted) + 2 * growth).unwrap_or(u64::MAX);
            let space = wanted.min(params.socket_buffer.0 + mss);
            if space > self.space {
                (self.space, self.clamp) = (space, space);
            }
            self.most_arrived = arrived;
        }
    }

    /// Returns true if `stored` segments above a gap take more than half of the space. Then no ACK is sent at once.
    #[inline]
    pub(super) fn is_short(&self, stored: u32, mss: u32) -> bool {
        2 * u64::from(stored) * u64::from(mss) > self.space
    }

    /// Offers a window in an ACK of all segments before `next`, with `stored` segments above a gap. Returns the window
    /// field (tcp_select_window).
    #[inline]
    pub(super) fn offer(&mut self, params: &TcpParams, next: u32, stored: u32) -> u16 {
        let (mss, shift) = (u64::from(params.segment_payload), shift(params));
        let next = u64::from(next) * mss;
        let free = self.space.saturating_sub(u64::from(stored) * mss);
        // The right edge never moves back.
        let window = free.min(self.window).max(self.edge.saturating_sub(next));
        let field = u16::try_from(window.div_ceil(1 << shift)).unwrap_or(u16::MAX);
        self.edge = next + (u64::from(field) << shift);
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tcp::TcpProfile;
    use fairlane_schemes::base::units::Bytes;

    const MSS: u32 = 1000;
    const WAY: Time = Time::from_millis(50);

    fn params() -> TcpParams {
        TcpParams { segment_payload: MSS, ..TcpParams::profile(TcpProfile::Linux) }
    }

    /// A receiver's window, and the next segment in order.
    struct Arrivals {
        params: TcpParams,
        window: ReceiveWindow,
        next: u32,
        stored: u32,
    }

    impl Arrivals {
        /// Starts at 100 ms, after a handshake over a path with 50 ms each way.
        fn new(params: TcpParams) -> Self {
            let mut window = ReceiveWindow::new(&params);
            window.open(WAY, Time::from_millis(100));
            Self { params, window, next: 0, stored: 0 }
        }

        /// Receives `segments` segments in order in round trip `trip`. Returns how many of them widen the window.
        fn round(&mut self, trip: u64, segments: u32) -> usize {
            let now = Time::from_millis(100 + 100 * trip);
            let segment = Segment { payload: MSS, timestamp: now.saturating_sub(WAY), ..Segment::default() };
            let mut arrives = || {
                self.next += 1;
                let widens = self.window.on_segment(&self.params, &segment, (Some(self.next), self.stored), now);
                self.window.on_read(&self.params, self.next, now);
                widens
            };
            (0..segments).filter(|_| arrives()).count()
        }

        /// Right edge in an ACK.
        fn edge(&mut self) -> u64 {
            let field = self.window.offer(&self.params, self.next, self.stored);
            u64::from(self.next * MSS) + (u64::from(field) << shift(&self.params))
        }
    }

    #[test]
    fn the_window_grows_ahead_of_a_sender_that_doubles_and_stays_for_one_that_does_not() {
        let mut arrivals = Arrivals::new(params());
        assert_eq!((arrivals.window.space, arrivals.window.window, arrivals.edge()), (65_536, 64_536, 65_024));
        // The first segment of a round trip ends the previous one, with ten segments. Ten were expected, so nothing
        // changes.
        assert_eq!((arrivals.round(1, 9), arrivals.round(2, 20)), (0, 0));
        assert_eq!((arrivals.window.space, arrivals.window.window), (65_536, 64_536));
        // 20 segments arrived instead of the expected 10. The space becomes 2 * 20 + 16 = 56 segments, plus twice 56 *
        // 10 / 10: 168 segments. From the next segment on, each segment widens the window by two: 51 segments do so
        // fully, and one more in part. One segment of the space stays free for the arriving one.
        assert_eq!((arrivals.round(3, 20), arrivals.window.space), (19, 168_000));
        assert_eq!((arrivals.round(4, 20), arrivals.round(5, 20), arrivals.round(6, 20)), (20, 13, 0));
        assert_eq!((arrivals.window.space, arrivals.window.window), (168_000, 167_000));
        // The window is rounded up to the unit of its field.
        assert_eq!(arrivals.edge(), 109_000 + 167_168);
    }

    #[test]
    fn data_above_a_gap_take_room_and_what_was_offered_stays() {
        let mut arrivals = Arrivals::new(params());
        let first = arrivals.edge();
        // 40 segments above a gap leave 25 536 bytes. The right edge would be before the offered one, so the edge does
        // not move. More than half of the space is taken.
        arrivals.next = 10;
        assert_eq!([32, 40].map(|stored| arrivals.window.is_short(stored, MSS)), [false, true]);
        arrivals.stored = 40;
        assert!((first..first + 256).contains(&arrivals.edge()));
        // The gap is filled, so the full window is available again.
        (arrivals.next, arrivals.stored) = (51, 0);
        assert_eq!(arrivals.edge(), 51_000 + 64_768);
    }

    #[test]
    fn segments_above_a_gap_widen_the_window_before_they_take_room_but_not_beyond_the_clamp() {
        let mut arrivals = Arrivals::new(params());
        let segment = Segment { payload: MSS, ..Segment::default() };
        let above = |window: &mut ReceiveWindow, stored| {
            window.on_segment(&params(), &segment, (None, stored), Time::from_millis(900))
        };
        // At first a segment stays free in any case.
        assert!(!above(&mut arrivals.window, 0));
        for trip in 1..=6 {
            arrivals.round(trip, if trip == 1 { 9 } else { 20 });
        }
        assert_eq!((arrivals.window.space, arrivals.window.window), (168_000, 167_000));
        // The segment that is kept free for one in order is free for one above a gap, once.
        assert_eq!([0, 1].map(|stored| above(&mut arrivals.window, stored)), [true, false]);
        assert_eq!(arrivals.window.window, 168_000);
    }

    #[test]
    fn the_first_segment_after_a_gap_ends_the_round_trip_and_unread_ones_are_subtracted() {
        let mut arrivals = Arrivals::new(params());
        arrivals.round(1, 9);
        // After 14 segments, a segment fills a gap, so three are read at once. The round trip has 14 + 1 - 2 segments.
        arrivals.round(2, 1);
        assert_eq!((arrivals.window.round_next, arrivals.window.most_arrived), (10, 10_000));
        (arrivals.window.read_next, arrivals.next) = (24, 27);
        arrivals.window.on_read(&params(), 27, Time::from_millis(400));
        assert_eq!((arrivals.window.round_next, arrivals.window.most_arrived), (25, 13_000));
    }

    #[test]
    fn a_full_buffer_bounds_the_window_and_its_shift_follows_the_buffer() {
        let mut arrivals = Arrivals::new(TcpParams { socket_buffer: Bytes(200_000), ..params() });
        (1..9).for_each(|trip| _ = arrivals.round(trip, 20 << trip));
        assert_eq!(arrivals.window.window, 200_000);
        let shifts = [60_000, 200_000, 3_145_728, 4_000_000_000];
        assert_eq!(shifts.map(|buffer| shift(&TcpParams { socket_buffer: Bytes(buffer), ..params() })), [1, 3, 7, 14]);
    }

    #[test]
    fn the_round_trip_is_the_shortest_of_stamps_and_whole_windows() {
        let mut window = ReceiveWindow::new(&params());
        window.open(WAY, Time::from_millis(100));
        let mut at = |millis, seconds_in_flight: u64, next| {
            let now = Time::from_millis(millis);
            let timestamp = now.saturating_sub(Time::from_millis(seconds_in_flight));
            let segment = Segment { payload: MSS, timestamp, ..Segment::default() };
            window.on_segment(&params(), &segment, (Some(next), 0), now);
            window.rtt / 8 / 1000
        };
        assert_eq!(at(250, 60, 1), 110);
        // Longer samples are averaged, shorter ones replace the estimate.
        assert_eq!((at(300, 100, 2), at(350, 50, 3)), (115, 100));
        // The first window of 65 000 bytes arrives within 160 ms, the second one within 40 ms.
        assert_eq!((at(410, 50, 66), at(450, 50, 131)), (100, 40));
    }
}
