//! The states of BBRv3.

use super::super::control::Moment;
use super::super::model::byte_rate::ByteRate;
use fairlane_schemes::base::units::Time;

/// States of the state machine (draft-ietf-ccwg-bbr, section 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Doubles the rate each round.
    Startup,
    /// Empties the queue that Startup has built.
    Drain,
    /// ProbeBW_DOWN: empties the queue that probing has built.
    Down,
    /// ProbeBW_CRUISE: keeps the rate constant.
    Cruise,
    /// ProbeBW_REFILL: fills the pipe before probing.
    Refill,
    /// ProbeBW_UP: probes for more bandwidth.
    Up,
    /// Probes for the RTT without a queue.
    ProbeRtt,
}

impl State {
    /// Implements IsInAProbeBWState (section 5.3.3.9).
    #[inline]
    pub fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Phase of bandwidth probing in which the data acknowledged now were sent (section 2.14, BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    /// No probe.
    Init,
    /// The pipe is filled at the estimated rate.
    Refilling,
    /// The volume in flight rises.
    ProbeStarting,
    /// Data sent while probing are delivered.
    ProbeFeedback,
    /// The probe is over, but ACKs of its data still arrive.
    ProbeStopping,
}

/// A point of a connection, in time and data.
#[derive(Clone, Copy)]
pub struct Point {
    /// Current time.
    pub now: Time,
    /// C.delivered.
    pub delivered: u64,
}

impl From<&Moment> for Point {
    fn from(at: &Moment) -> Self {
        Self { now: at.now, delivered: at.delivered }
    }
}

/// State before a recovery (section 2.15).
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    /// BBR.undo_state: state that was ended by a loss.
    pub state: Option<State>,
    /// BBR.undo_bw_shortterm.
    pub bw_shortterm: ByteRate,
    /// BBR.undo_inflight_shortterm.
    pub inflight_shortterm: u64,
    /// BBR.undo_inflight_longterm.
    pub inflight_longterm: u64,
}

/// A segment considered lost.
#[derive(Clone, Copy)]
pub struct Lost {
    /// Payload.
    pub bytes: u32,
    /// P.tx_in_flight.
    pub tx_in_flight: u32,
    /// C.lost - P.lost.
    pub lost_since_sent: u64,
    /// P.is_app_limited.
    pub app_limited: bool,
}
