//! Reno: the window grows by a segment per round trip; congestion halves it.
//!
//! Source: RFC 5681 3.1.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (3) | an ACK adds `MSS^2 / cwnd`, with `byte_counting` once per segment that it covers; with `whole_windows` a window of them adds one | [`Reno::avoid`] |
//! | (4) | congestion leaves half of the flight, by `flight_size` | [`Reno::reduce`] |
//!
//! Cost: a division an ACK; no state.

use super::control::{Connection, Control, Flight, FlightSize, Progress};
use fairlane_schemes::params;

params! {
    /// Reno has no parameters of its own: `byte_counting` and `flight_size` are those of the connection.
    pub struct RenoParams {}
}

/// Reno has no state of its own.
#[derive(Clone, Debug)]
pub struct Reno;

impl Control for Reno {
    type Params = RenoParams;
    const READS: &'static [&'static str] = &["byte_counting", "flight_size"];
    const SCALE_FREE: bool = true;

    #[inline]
    fn new(_: Connection, _: &RenoParams, _: u64) -> Self {
        Self
    }

    /// Eq. (3): MSS^2 / cwnd, at least 1 byte, for the ACK, or for each segment that it covers if bytes are counted.
    #[inline]
    fn avoid(&mut self, of: Connection, _: &RenoParams, cwnd: &mut u32, progress: Progress) {
        if of.whole_windows {
            let segments = if of.byte_counting { progress.segments } else { 1 };
            *cwnd = counted_on(*cwnd, segments, of.mss);
            return;
        }
        let mss = u64::from(of.mss);
        // cwnd is never below one MSS.
        //= RFC 5681 3.1-11: An ACK of new data adds MSS^2 / cwnd.
        //= RFC 5681 3.1-12: What would round to nothing is one byte.
        let step = (mss * mss / u64::from((*cwnd).max(1))).max(1);
        //= RFC 5681 3.1-10: In congestion avoidance cwnd grows by one segment per round trip at most.
        //= RFC 3465 2.1-1: In congestion avoidance cwnd grows by a segment per window of bytes acknowledged.
        let steps = if of.byte_counting { u64::from(progress.segments) } else { 1 };
        *cwnd = cwnd.saturating_add(u32::try_from(step * steps).unwrap_or(u32::MAX));
    }

    /// Eq. (4).
    fn reduce(&mut self, of: Connection, _: &RenoParams, flight: Flight) -> u64 {
        //= RFC 5681 3.1-13: A timeout leaves ssthresh at half the flight, two segments at least.
        match of.flight_size {
            FlightSize::Pipe => flight.pipe / 2,
            FlightSize::Outstanding => flight.used() / 2,
        }
    }
}

/// `cwnd` after an ACK of `segments`: one segment more for each window of them (`tcp_cong.c` tcp_cong_avoid_ai).
///
/// The segments counted so far stand in what `cwnd` has beyond whole segments: the least such part that tells how many.
#[inline]
fn counted_on(cwnd: u32, segments: u32, mss: u32) -> u32 {
    let (size, part) = (u64::from(mss), u64::from(cwnd % mss));
    let mut window = u64::from(cwnd / mss).max(1);
    let mut counted = (part * window / size) + u64::from(segments);
    let more = counted / window;
    counted -= more * window;
    window += more;
    u32::try_from(window * size + (counted * size).div_ceil(window).min(size - 1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::testing::never_leaves_its_bounds;
    use super::*;

    #[test]
    fn in_whole_windows_a_window_of_segments_acknowledged_adds_one_exactly() {
        for (window, by) in [(2, 1), (3, 2), (7, 2), (100, 1), (333, 2), (1448, 1)] {
            let mut cwnd = window * 1448;
            let acks = (window - 1) / by;
            (0..acks).for_each(|_| cwnd = counted_on(cwnd, by, 1448));
            assert_eq!(cwnd / 1448, window, "{window}: {} of them do not", acks * by);
            cwnd = counted_on(cwnd, by, 1448);
            assert_eq!(cwnd / 1448, window + 1, "{window}");
        }
        // Three segments at a window of two: one more, and one counted towards the next.
        let cwnd = counted_on(2 * 1448, 3, 1448);
        assert_eq!((cwnd / 1448, counted_on(cwnd, 1, 1448) / 1448, counted_on(cwnd, 2, 1448) / 1448), (3, 3, 4));
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<Reno>(&RenoParams::default(), |_, _| true);
    }
}
