//! The receive window as a Linux receiver moves it (`tcp_input.c` tcp_rcv_space_adjust, tcp_rcvbuf_grow,
//! tcp_grow_window): from 64 KiB up, with what arrives in a round trip, by two segments for each that arrives.
//!
//! It is kept at the sender, by sent data: those of one round trip arrive in the next, half of it later.

use fairlane_schemes::base::units::Time;

/// The window of a new connection (tcp_rmem, half of 128 KiB).
const FIRST: u64 = 65_536;
/// Segments of a round trip that the first window expects.
const EXPECTED: u64 = 10;
/// By how many segments the window grows for each that arrives.
const STEP: u64 = 2;

/// The window; sizes are in bytes.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// Its maximum (window_clamp), and its value once all sent data have arrived (rcv_ssthresh).
    most: u64,
    window: u64,
    /// The part known to the sender: the window a round trip ago.
    offered: u64,
    /// The most that arrived in a round trip (rcvq_space).
    space: u64,
    /// Start of this round trip, and data sent in it so far.
    round_start: Time,
    sent: u64,
}

impl ReceiveWindow {
    pub(super) fn new(mss: u32) -> Self {
        let first = FIRST.max(2 * u64::from(mss));
        Self {
            most: first,
            window: first,
            offered: first,
            space: EXPECTED * u64::from(mss),
            round_start: Time::ZERO,
            sent: 0,
        }
    }

    /// The window that the sender knows of.
    #[inline]
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// A segment is sent, of `new` segments of new data: whether it widens the window when it arrives.
    #[inline]
    pub(super) fn on_send(&mut self, now: Time, rtt: Time, new: u64, mss: u32) -> bool {
        let mss = u64::from(mss);
        self.sent += new * mss;
        if now.saturating_sub(self.round_start) >= rtt {
            self.end_round(now);
        }
        let room = self.most - self.window;
        self.window += room.min(STEP * mss);
        room > 0
    }

    /// tcp_rcv_space_adjust, tcp_rcvbuf_grow.
    fn end_round(&mut self, now: Time) {
        self.offered = self.window;
        let arrived = std::mem::take(&mut self.sent);
        self.round_start = now;
        if arrived > self.space {
            // Room for twice as much, and for a sender that doubles its window meanwhile.
            let wanted = 2 * arrived;
            let growth = u128::from(wanted) * u128::from(arrived - self.space) / u128::from(self.space);
            self.most = self.most.max(u64::try_from(u128::from(wanted) + 2 * growth).unwrap_or(u64::MAX));
            self.space = arrived;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;
    const RTT: Time = Time::from_millis(100);

    /// A round trip with `segments` segments, and how many of them widen the window.
    fn round(window: &mut ReceiveWindow, start: Time, segments: u64) -> usize {
        (0..segments).filter(|_| window.on_send(start, RTT, 1, MSS)).count()
    }

    #[test]
    fn the_window_grows_ahead_of_a_sender_that_doubles_and_stays_for_one_that_does_not() {
        let mut window = ReceiveWindow::new(MSS);
        let at = |trips| Time(trips * RTT.0);
        assert_eq!(round(&mut window, Time::ZERO, 9), 0);
        // The first segment of a round trip ends the one before: ten were expected, nothing changes.
        assert_eq!(round(&mut window, at(1), 20), 0);
        assert_eq!((window.offered(), window.most), (65_536, 65_536));
        // 20 for 10: 2 x 20, and twice 40 x 10 / 10: 120 segments. (120 000 - 65 536) / 2000 are 27.2: all 20 widen it.
        assert_eq!(round(&mut window, at(2), 20), 20);
        assert_eq!((window.most, window.offered()), (120_000, 65_536));
        // Seven and a part of one more; the sender learns of what the last round trip has widened.
        assert_eq!(round(&mut window, at(3), 20), 8);
        assert_eq!((window.most, window.offered()), (120_000, 65_536 + 20 * 2 * 1000));
        assert_eq!(round(&mut window, at(4), 20), 0);
        assert_eq!(window.offered(), 120_000);
    }

    #[test]
    fn what_is_sent_again_widens_the_window_but_does_not_count_as_arriving() {
        let mut window = ReceiveWindow::new(MSS);
        round(&mut window, Time::ZERO, 19);
        assert!(window.on_send(RTT, RTT, 1, MSS));
        assert!(window.on_send(RTT, RTT, 0, MSS));
        assert_eq!(window.sent, 0);
    }
}
