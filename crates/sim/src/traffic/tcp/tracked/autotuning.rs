//! The receive window as a Linux receiver moves it (`tcp_input.c` tcp_rcv_space_adjust): from 64 KiB up, with what arrives in a
//! round trip.
//!
//! It is kept at the sender, by what is acknowledged: what the receiver, which reads at once, would offer half a round trip
//! earlier.

/// The window of a new connection (tcp_rmem, half of 128 KiB).
const FIRST: u64 = 65_536;
/// Segments that it holds beyond twice what arrived.
const SPARE: u64 = 16;
/// Segments of a round trip that the first window expects.
const EXPECTED: u64 = 10;

/// The window offered.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// In bytes.
    window: u64,
    /// The most that arrived in a round trip.
    space: u64,
    /// The round trip is over when this segment is acknowledged; what is acknowledged in it so far, in segments.
    round_end: u32,
    arrived: u64,
}

impl ReceiveWindow {
    pub(super) fn new(mss: u32) -> Self {
        Self { window: FIRST.max(2 * u64::from(mss)), space: EXPECTED * u64::from(mss), round_end: 0, arrived: 0 }
    }

    /// The window in bytes.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.window
    }

    /// `segments` are acknowledged, up to `una`.
    #[inline]
    pub(super) fn on_ack(&mut self, segments: u32, una: u32, nxt: u32, mss: u32) {
        self.arrived += u64::from(segments);
        if una <= self.round_end {
            return;
        }
        let mss = u64::from(mss);
        let arrived = std::mem::take(&mut self.arrived) * mss;
        self.round_end = nxt;
        if arrived > self.space {
            // Room for twice as much, and for a sender that doubles its window meanwhile.
            let wanted = 2 * arrived + SPARE * mss;
            let growth = u128::from(wanted) * u128::from(arrived - self.space) / u128::from(self.space);
            let window = u64::try_from(u128::from(wanted) + 2 * growth).unwrap_or(u64::MAX);
            self.window = self.window.max(window);
            self.space = arrived;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_ahead_of_a_sender_that_doubles_and_stays_for_one_that_does_not() {
        let mut window = ReceiveWindow::new(1000);
        assert_eq!(window.bytes(), 65_536);
        window.on_ack(1, 1, 10, 1000);
        // Ten segments a round trip are expected: nothing changes.
        window.on_ack(10, 11, 31, 1000);
        assert_eq!(window.bytes(), 65_536);
        // Twenty: 2 x 20 + 16 = 56, doubled growth 56 x 10 / 10 x 2 = 112.
        window.on_ack(20, 32, 71, 1000);
        assert_eq!(window.bytes(), 168_000);
        window.on_ack(20, 72, 90, 1000);
        assert_eq!(window.bytes(), 168_000);
    }
}
