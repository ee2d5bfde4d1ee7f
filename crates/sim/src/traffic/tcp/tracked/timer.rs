//! The timer of a sender, and its outstanding probe.

use fairlane_schemes::base::units::Time;

/// Minimum time that Linux adds to the delay of a probe and of the reordering window (TCP_TIMEOUT_MIN_US in
/// `include/net/tcp.h`).
pub(super) const LEAST_TIMEOUT: Time = Time::from_millis(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// Not running.
    Off,
    /// Retransmission timeout, including that of a SYN.
    Timeout(Time),
    /// Tail loss probe.
    Probe(Time),
    /// Reordering window: a missing segment is lost if it has not been delivered by this time.
    Reordering(Time),
}

impl Timer {
    /// Deadline; [`Time::NEVER`] if the timer is not running.
    #[inline]
    pub(super) fn due(self) -> Time {
        match self {
            Self::Off => Time::NEVER,
            Self::Timeout(due) | Self::Probe(due) | Self::Reordering(due) => due,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    /// SND.NXT after the probe (TLP.end_seq); `None` without a probe.
    pub(super) end: Option<u32>,
    /// True if the probe repeats a segment (TLP.is_retrans).
    pub(super) repeats: bool,
}

impl Probe {
    /// True if a probe that repeats a segment is outstanding.
    pub(super) fn is_copy(&self) -> bool {
        self.end.is_some() && self.repeats
    }

    /// Forgets the probe, because its outcome is known or no longer matters.
    pub(super) fn settle(&mut self) {
        self.end = None;
    }
}
