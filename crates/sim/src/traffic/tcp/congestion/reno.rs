//! Reno: the window grows by a segment per round trip; congestion halves it.
//!
//! Source: RFC 5681 3.1.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (3) | an ACK adds `MSS^2 / cwnd`; with `byte_counting`, once per segment that it covers; with `whole_windows`, an acknowledged window adds one segment | [`Reno::avoid`] |
//! | (4) | congestion reduces the window to half of the flight, as defined by `flight_size` | [`Reno::reduce`] |
//!
//! Cost: a division per ACK; no state.

use super::control::{Connection, Control, Flight, FlightSize, Progress, Window};
use fairlane_schemes::params;

params! {
    /// Reno has no parameters; `byte_counting` and `flight_size` are parameters of the connection.
    pub struct RenoParams {}
}

/// Reno has no state.
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

    /// Implements eq. (3): adds MSS^2 / cwnd, at least 1 byte, per ACK, or per segment that it covers if bytes are
    /// counted.
    #[inline]
    fn avoid(&mut self, of: Connection, _: &RenoParams, window: Window<'_>, progress: Progress) {
        let segments = if of.byte_counting { progress.segments } else { 1 };
        if of.whole_windows {
            let per_segment = (*window.cwnd / of.mss).max(1);
            return window.count(per_segment, segments, of.mss);
        }
        let cwnd = window.cwnd;
        let mss = u64::from(of.mss);
        // cwnd is never below one MSS.
        //= RFC 5681 3.1-11: An ACK of new data adds MSS^2 / cwnd.
        //= RFC 5681 3.1-12: What would round to nothing is one byte.
        let step = (mss * mss / u64::from((*cwnd).max(1))).max(1);
        //= RFC 5681 3.1-10: In congestion avoidance cwnd grows by one segment per round trip at most.
        //= RFC 3465 2.1-1: In congestion avoidance cwnd grows by a segment per window of bytes acknowledged.
        *cwnd = cwnd.saturating_add(u32::try_from(step * u64::from(segments)).unwrap_or(u32::MAX));
    }

    /// Implements eq. (4).
    fn reduce(&mut self, of: Connection, _: &RenoParams, flight: Flight) -> u64 {
        //= RFC 5681 3.1-13: A timeout leaves ssthresh at half the flight, two segments at least.
        match of.flight_size {
            FlightSize::Pipe => flight.pipe / 2,
            FlightSize::Outstanding => flight.used() / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, never_leaves_its_bounds};
    use super::*;

    #[test]
    fn in_whole_windows_a_window_of_segments_acknowledged_adds_one_exactly_however_large_it_is() {
        for (window, by) in [(2, 1), (3, 2), (7, 2), (100, 1), (333, 2), (1448, 1), (3000, 1), (20_000, 2)] {
            let mut flow = Flow::<Reno>::new(RenoParams {});
            flow.of.whole_windows = true;
            let mut cwnd = window * MSS;
            (0..(window - 1) / by).for_each(|_| flow.avoid(&mut cwnd, by));
            assert_eq!(cwnd, window * MSS, "{window} after {}", (window - 1) / by * by);
            flow.avoid(&mut cwnd, by);
            assert_eq!(cwnd, (window + 1) * MSS, "{window}");
        }
    }

    #[test]
    fn in_whole_windows_what_an_ack_has_beyond_a_window_counts_towards_the_next_segment() {
        let mut flow = Flow::<Reno>::new(RenoParams {});
        flow.of.whole_windows = true;
        let mut cwnd = 2 * MSS;
        // The ACK covers three segments: the window of two segments, and one segment that counts towards the next
        // window. Two further segments complete the next window of three.
        flow.avoid(&mut cwnd, 3);
        assert_eq!(cwnd, 3 * MSS);
        flow.avoid(&mut cwnd, 1);
        assert_eq!(cwnd, 3 * MSS);
        flow.avoid(&mut cwnd, 1);
        assert_eq!(cwnd, 4 * MSS);
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<Reno>(&RenoParams::default(), |_, _| true);
    }
}
