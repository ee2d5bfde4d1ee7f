//! The contract of a congestion control: it knows no sender, and no other control.

use fairlane_schemes::base::config::ParamSet;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::choices;
use std::fmt::Debug;

choices! {
    /// What the slow-start threshold of Reno is half of.
    pub enum FlightSize {
        /// What is in the network: without what duplicate ACKs or SACK blocks say has left it.
        Pipe = "pipe",
        /// What is not acknowledged in order, at most the congestion window.
        Outstanding = "outstanding",
    }
}

/// What a congestion control knows of its connection.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Most bytes that may be outstanding.
    pub socket_buffer: u64,
    /// Whether growth counts the segments that an ACK covers instead of ACKs.
    pub byte_counting: bool,
    /// What Reno's slow-start threshold is half of.
    pub flight_size: FlightSize,
}

/// An ACK of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Segments that it acknowledges and that count for growth.
    pub segments: u32,
    /// When it came.
    pub now: Time,
    /// Smoothed RTT.
    pub srtt: Time,
}

/// What is outstanding when congestion shows, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Congestion window.
    pub cwnd: u32,
    /// Sent and not acknowledged in order.
    pub outstanding: u64,
    /// The part of it that is still in the network.
    pub pipe: u64,
}

impl Flight {
    /// RFC 5681 FlightSize without what limited transmit added (RFC 3042), and RFC 9438 4.6 flight_size.
    pub fn used(&self) -> u64 {
        self.outstanding.min(u64::from(self.cwnd))
    }
}

/// How a congestion control treats the window of one sender; slow start and the least windows are common to all.
pub trait Control: Clone + Debug + Default {
    /// Its own keys of the `[tcp]` table.
    type Params: ParamSet;

    /// Growth in congestion avoidance.
    fn avoid(&mut self, connection: Connection, params: &Self::Params, cwnd: &mut u32, progress: Progress);

    /// Congestion: what is left of the window, in bytes.
    fn reduce(&mut self, connection: Connection, params: &Self::Params, flight: Flight) -> u64;

    /// A timeout, after [`Control::reduce`] or instead of it.
    fn timed_out(&mut self) {}
}
