//! The timer of a sender, and its outstanding probe.

use fairlane_schemes::base::units::Time;

/// Minimum timeout that Linux adds to the delay of a probe and of the reordering window (TCP_TIMEOUT_MIN_US in
/// `include/net/tcp.h`).
pub(super) const LEAST_TIMEOUT: Time = Time::from_millis(2);

/// Purpose and deadline of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// It does not run.
    Off,
    /// The retransmission timeout, of the SYN too.
    Timeout(Time),
    /// A tail loss probe.
    Probe(Time),
    /// A segment out of order is lost if it has not come by then.
    Reordering(Time),
}

impl Timer {
    /// Deadline; [`Time::NEVER`] if it does not run.
    #[inline]
    pub(super) fn due(self) -> Time {
        match self {
            Self::Off => Time::NEVER,
            Self::Timeout(due) | Self::Probe(due) | Self::Reordering(due) => due,
        }
    }
}

/// The probe that is outstanding.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    /// SND.NXT after it (TLP.end_seq); none without a probe.
    pub(super) end: Option<u32>,
    /// It repeats a segment (TLP.is_retrans).
    pub(super) repeats: bool,
}

impl Probe {
    /// True if a probe that repeats a segment is outstanding.
    pub(super) fn is_copy(&self) -> bool {
        self.end.is_some() && self.repeats
    }

    /// Whatever it was to find out is known.
    pub(super) fn settle(&mut self) {
        self.end = None;
    }
}
