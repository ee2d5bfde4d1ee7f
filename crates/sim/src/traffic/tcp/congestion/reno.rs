//! Reno: the window grows by a segment per round trip; congestion halves it.
//!
//! Source: RFC 5681 3.1.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (3) | an ACK adds `MSS^2 / cwnd`, with `byte_counting` once per segment that it covers | [`Reno::avoid`] |
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

    #[inline]
    fn new(_: Connection, _: &RenoParams, _: u64) -> Self {
        Self
    }

    /// Eq. (3): MSS^2 / cwnd, at least 1 byte, for the ACK, or for each segment that it covers if bytes are counted.
    #[inline]
    fn avoid(&mut self, of: Connection, _: &RenoParams, cwnd: &mut u32, progress: Progress) {
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
