//! The sender of a connection: which one its parameters ask for.

use fairlane_schemes::base::units::{BitRate, Bytes, Time};

#[cfg(test)]
use super::congestion::{control::Output, dispatch::Congestion};
use super::phase::Phase;
use super::sender::Sender;
use super::sender_stats::SenderStats;
use super::tracked::TrackedSender;
use super::{Ack, Segment, TcpParams};

/// A sender of either kind. The caller starts it, hands it each ACK and, when [`AnySender::timer`] is due, calls
/// [`AnySender::on_timer`]. After each of these it calls [`AnySender::poll_transmit`] until there is nothing more.
/// `params` must be the same in every call.
#[derive(Debug)]
pub enum AnySender {
    /// Duplicate ACKs or RFC 6675, in place.
    Classic(Sender),
    /// A record of each outstanding segment.
    Tracked(Box<TrackedSender>),
}

/// Calls either kind.
macro_rules! either {
    ($self:expr, $sender:ident => $call:expr) => {
        match $self {
            Self::Classic($sender) => $call,
            Self::Tracked($sender) => $call,
        }
    };
}

impl AnySender {
    /// A sender of `total` payload bytes; `None` never runs out of data. `seed` differs by run and connection: what a
    /// congestion control draws from.
    #[must_use]
    pub fn new(params: &TcpParams, total: Option<Bytes>, seed: u64) -> Self {
        if params.is_tracked() {
            Self::Tracked(Box::new(TrackedSender::new(params, total, seed)))
        } else {
            Self::Classic(Sender::new(params, total, seed))
        }
    }

    /// One that is never opened, where a place is free: no memory but its own.
    #[must_use]
    pub fn unused(params: &TcpParams) -> Self {
        Self::Classic(Sender::unused(params))
    }

    /// Opens the connection: a SYN is ready to be sent. Without effect the second time.
    pub fn start(&mut self) {
        either!(self, sender => sender.start());
    }

    /// Has no more new data: what was sent is repaired to its end.
    pub fn stop(&mut self) {
        either!(self, sender => sender.stop());
    }

    /// Has so many more whole segments to send. All before must be whole too.
    pub fn extend(&mut self, segments: u32) {
        either!(self, sender => sender.extend(segments));
    }

    /// Takes in an ACK, and returns the round-trip time that it is a sample of, if it is one.
    #[inline]
    pub fn on_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        either!(self, sender => sender.on_ack(params, ack, now))
    }

    /// Asks for the cache lines that an ACK will touch, those of the sender itself apart.
    #[inline]
    pub fn fetch(&self) {
        if let Self::Tracked(sender) = self {
            sender.fetch();
        }
    }

    /// The same, when what [`AnySender::fetch`] asked for has come.
    #[inline]
    pub fn fetch_records(&self) {
        if let Self::Tracked(sender) = self {
            sender.fetch_records();
        }
    }

    /// Asks for what tells when the timer is due.
    #[inline]
    pub fn fetch_timer(&self) {
        if let Self::Tracked(sender) = self {
            sender.fetch_timer();
        }
    }

    /// Acts on the timer if it is due; harmless if early.
    pub fn on_timer(&mut self, params: &TcpParams, now: Time) {
        either!(self, sender => sender.on_timer(params, now));
    }

    /// The next segment to send now, if there is one.
    #[inline]
    pub fn poll_transmit(&mut self, params: &TcpParams, now: Time) -> Option<Segment> {
        either!(self, sender => sender.poll_transmit(params, now))
    }

    /// When the timer is due, [`Time::NEVER`] if it is not armed.
    #[must_use]
    #[inline]
    pub fn timer(&self) -> Time {
        either!(self, sender => sender.timer())
    }

    /// Whether a finite transfer is acknowledged to its end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        either!(self, sender => sender.is_done())
    }

    /// What has been counted so far.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        either!(self, sender => sender.stats())
    }

    /// Where the connection is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        either!(self, sender => sender.phase())
    }

    /// Congestion window in bytes.
    #[must_use]
    pub fn cwnd(&self) -> u64 {
        either!(self, sender => sender.cwnd())
    }

    /// Slow-start threshold in bytes.
    #[must_use]
    pub fn ssthresh(&self) -> u64 {
        either!(self, sender => sender.ssthresh())
    }

    /// Smoothed RTT, zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Time {
        either!(self, sender => sender.srtt())
    }

    /// The retransmission timeout in force, backed off or not.
    #[must_use]
    pub fn rto(&self) -> Time {
        either!(self, sender => sender.rto())
    }

    /// Bytes in flight as the congestion control sees them. RFC 4898 PipeSize.
    #[must_use]
    pub fn in_flight(&self, params: &TcpParams) -> u64 {
        either!(self, sender => sender.in_flight(params))
    }

    /// The rate by which segments leave, if they are paced.
    #[must_use]
    pub fn pacing_rate(&self, params: &TcpParams) -> Option<BitRate> {
        match self {
            Self::Classic(_) => None,
            Self::Tracked(sender) => sender.pacing_rate(params),
        }
    }

    /// The segments that it takes for lost and has not sent again yet; `None` if it keeps no record of each.
    #[must_use]
    pub fn lost_segments(&self) -> Option<impl Iterator<Item = u32>> {
        match self {
            Self::Classic(_) => None,
            Self::Tracked(sender) => Some(sender.lost_segments()),
        }
    }

    /// The congestion control of a sender with a record per segment, and what it has set.
    #[cfg(test)]
    pub(super) fn control(&self) -> Option<(&Congestion, Output)> {
        match self {
            Self::Classic(_) => None,
            Self::Tracked(sender) => Some(sender.control()),
        }
    }
}
