//! Congestion control: how the window grows with ACKs and what is left of it after congestion.
//!
//! Source: RFC 5681 3.1 (slow start), RFC 3465 (byte counting). Windows are in bytes.

mod cubic;
mod reno;

use fairlane_schemes::base::units::Time;
use fairlane_schemes::choices;

use super::TcpParams;
use cubic::Cubic;

choices! {
    /// How the congestion window grows and shrinks.
    pub enum CongestionControl {
        /// Linear growth, halved by congestion (RFC 5681).
        Reno = "reno",
        /// Growth by a cubic function of the time since the last congestion (RFC 9438).
        Cubic = "cubic",
    }
}

choices! {
    /// What the slow-start threshold of Reno is half of.
    pub enum FlightSize {
        /// What is in the network: without what duplicate ACKs or SACK blocks say has left it.
        Pipe = "pipe",
        /// What is not acknowledged in order, at most the congestion window.
        Outstanding = "outstanding",
    }
}

/// An ACK of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Segments that it acknowledges and that count for growth.
    pub(super) segments: u32,
    /// When it came.
    pub(super) now: Time,
    /// Smoothed RTT.
    pub(super) srtt: Time,
}

/// What is outstanding when congestion shows, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Congestion window.
    pub(super) cwnd: u32,
    /// Sent and not acknowledged in order.
    pub(super) outstanding: u64,
    /// The part of it that is still in the network.
    pub(super) pipe: u64,
}

impl Flight {
    /// RFC 5681 FlightSize without what limited transmit added (RFC 3042), and RFC 9438 4.6 flight_size.
    fn used(&self) -> u64 {
        self.outstanding.min(u64::from(self.cwnd))
    }
}

/// The congestion control of one sender.
#[derive(Clone, Debug)]
pub(super) enum Congestion {
    Reno,
    Cubic(Box<Cubic>),
}

impl Congestion {
    pub(super) fn new(params: &TcpParams) -> Self {
        match params.congestion_control {
            CongestionControl::Reno => Self::Reno,
            CongestionControl::Cubic => Self::Cubic(Box::default()),
        }
    }

    /// Window growth. The ACK that crosses `ssthresh` counts in slow start first, then with what is left of it in
    /// congestion avoidance.
    #[inline]
    pub(super) fn grow(&mut self, params: &TcpParams, cwnd: &mut u32, ssthresh: u32, mut progress: Progress) {
        //= RFC 5681 3.1-8: Slow start below ssthresh, congestion avoidance above, either where they are equal.
        //= RFC 9438 4.10-1: Below ssthresh cwnd grows by slow start.
        //= RFC 9438 4.10-3: Slow start is that of Reno.
        if *cwnd < ssthresh && progress.segments > 0 {
            // RFC 5681 3.1, eq. (2); RFC 3465 2.2 without the limit L if bytes are counted.
            let mss = params.segment_payload;
            //= RFC 5681 3.1-9: In slow start an ACK adds the bytes that it covers, one segment at most.
            //= RFC 5681 3.1-9, deviation: In slow start an ACK adds the bytes that it covers, one segment at most.
            //= RFC 3465 2.2-1: In slow start an ACK adds what it covers, up to a limit L.
            //= RFC 3465 2.3-2, deviation: L is not above two segments.
            //= RFC 3465 2.3-3, deviation: L is one segment in the slow start after a timeout.
            let most = if params.byte_counting { (ssthresh - *cwnd).div_ceil(mss) } else { 1 };
            let steps = progress.segments.min(most);
            *cwnd = cwnd.saturating_add(steps.saturating_mul(mss));
            progress.segments -= steps;
        }
        if *cwnd >= ssthresh && progress.segments > 0 {
            // The parameters, which all flows share, are at hand; `self` of Reno need not be fetched.
            match (params.congestion_control, self) {
                (CongestionControl::Cubic, Self::Cubic(cubic)) => cubic.avoid(params, cwnd, progress),
                _ => reno::avoid(params, cwnd, progress.segments),
            }
        }
    }

    /// Congestion: the new slow-start threshold, at least two segments.
    pub(super) fn reduce(&mut self, params: &TcpParams, flight: Flight) -> u32 {
        let share = match self {
            //= RFC 5681 3.1-13: A timeout leaves ssthresh at half the flight, two segments at least.
            Self::Reno => match params.flight_size {
                FlightSize::Pipe => flight.pipe / 2,
                FlightSize::Outstanding => flight.used() / 2,
            },
            Self::Cubic(cubic) => cubic.reduce(params, flight),
        };
        //= RFC 9438 4.6-6, deviation: Marks reduce cwnd down to one segment.
        //= RFC 9438 4.6-7, deviation: Marks at a cwnd of one segment slow the sender further.
        super::clamped(share).max(2 * params.segment_payload)
    }

    /// A timeout, after [`Congestion::reduce`] or instead of it.
    pub(super) fn timed_out(&mut self) {
        if let Self::Cubic(cubic) = self {
            cubic.timed_out();
        }
    }
}
