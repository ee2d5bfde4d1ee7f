//! The sender of a connection. The parameters select the variant.

use fairlane_schemes::base::units::{BitRate, Bytes, Time};

#[cfg(test)]
use super::congestion::{control::Output, dispatch::Congestion};
use super::phase::Phase;
use super::sender::Sender;
use super::sender_stats::SenderStats;
use super::tracked::TrackedSender;
use super::{Ack, Segment, TcpParams};

/// A sender of either variant. The caller starts the sender, passes each ACK to it, and calls [`AnySender::on_timer`]
/// when [`AnySender::timer`] expires. After each of these calls, the caller calls [`AnySender::poll_transmit`] until it
/// returns `None`. `params` must be the same in every call.
#[derive(Debug)]
pub enum AnySender {
    /// Detects losses by duplicate ACKs or RFC 6675. Stored inline.
    Classic(Sender),
    /// Keeps a record of each outstanding segment.
    Tracked(Box<TrackedSender>),
}

/// Calls the same method of either variant.
macro_rules! either {
    ($self:expr, $sender:ident => $call:expr) => {
        match $self {
            Self::Classic($sender) => $call,
            Self::Tracked($sender) => $call,
        }
    };
}

impl AnySender {
    /// Creates a sender of `total` payload bytes; `None` means unlimited data. `seed` is for the random numbers of the
    /// congestion control and differs by run and connection.
    #[must_use]
    pub fn new(params: &TcpParams, total: Option<Bytes>, seed: u64) -> Self {
        if params.is_tracked() {
            Self::Tracked(Box::new(TrackedSender::new(params, total, seed)))
        } else {
            Self::Classic(Sender::new(params, total, seed))
        }
    }

    /// Creates a sender that is never opened, for a free slot. It allocates no memory.
    #[must_use]
    pub fn unused(params: &TcpParams) -> Self {
        Self::Classic(Sender::unused(params))
    }

    /// Opens the connection: a SYN is ready to be sent. Has no effect the second time.
    pub fn start(&mut self) {
        either!(self, sender => sender.start());
    }

    /// Stops sending new data. Losses of sent data are still repaired.
    pub fn stop(&mut self) {
        either!(self, sender => sender.stop());
    }

    /// Adds `segments` full segments to the data to send. All earlier data must also be full segments.
    pub fn extend(&mut self, params: &TcpParams, segments: u32) {
        match self {
            Self::Classic(sender) => sender.extend(segments),
            Self::Tracked(sender) => sender.extend(params, segments),
        }
    }

    /// Returns true if the sender keeps a record of each outstanding segment.
    #[must_use]
    #[inline]
    pub fn is_tracked(&self) -> bool {
        matches!(self, Self::Tracked(_))
    }

    /// Processes an ACK. Returns its round-trip time sample, if any. `TRACKED` must be [`AnySender::is_tracked`].
    #[inline(always)]
    pub fn on_ack<const TRACKED: bool>(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        match self {
            Self::Classic(sender) if !TRACKED => sender.on_ack(params, ack, now),
            Self::Tracked(sender) if TRACKED => sender.on_ack(params, ack, now),
            _ => unreachable!("the caller knows the variant"),
        }
    }

    /// Prefetches the cache lines that an ACK touches outside the sender itself.
    #[inline]
    pub fn fetch(&self) {
        if let Self::Tracked(sender) = self {
            sender.fetch();
        }
    }

    /// Prefetches further cache lines. Call it once the lines of [`AnySender::fetch`] have arrived.
    #[inline]
    pub fn fetch_records(&self) {
        if let Self::Tracked(sender) = self {
            sender.fetch_records();
        }
    }

    /// Prefetches the deadline of the timer.
    #[inline]
    pub fn fetch_timer(&self) {
        if let Self::Tracked(sender) = self {
            sender.fetch_timer();
        }
    }

    /// Handles the timer if it has expired, otherwise does nothing.
    pub fn on_timer(&mut self, params: &TcpParams, now: Time) {
        either!(self, sender => sender.on_timer(params, now));
    }

    /// Next segment to send now, if there is one. `TRACKED` must be [`AnySender::is_tracked`].
    #[inline(always)]
    pub fn poll_transmit<const TRACKED: bool>(&mut self, params: &TcpParams, now: Time) -> Option<Segment> {
        match self {
            Self::Classic(sender) if !TRACKED => sender.poll_transmit(params, now),
            Self::Tracked(sender) if TRACKED => sender.poll_transmit(params, now),
            _ => unreachable!("the caller knows the variant"),
        }
    }

    /// Ends the batch and returns true if [`AnySender::poll_transmit`] would return `None` after a segment. Then this
    /// call is not necessary. May return false in this case. `TRACKED` must be [`AnySender::is_tracked`].
    #[inline(always)]
    pub fn end_batch_if_full<const TRACKED: bool>(&mut self, params: &TcpParams, now: Time) -> bool {
        match self {
            Self::Classic(sender) if !TRACKED => sender.has_sent_all(params),
            Self::Tracked(sender) if TRACKED => sender.end_batch_if_full(params, now),
            _ => unreachable!("the caller knows the variant"),
        }
    }

    /// Ends the wait of the next chunk if pacing permits it now. Returns true if it did.
    #[inline]
    pub fn release(&mut self, now: Time) -> bool {
        match self {
            Self::Classic(_) => false,
            Self::Tracked(sender) => sender.release(now),
        }
    }

    /// Deadline of the timer, or [`Time::NEVER`] if it is not armed.
    #[must_use]
    #[inline]
    pub fn timer(&self) -> Time {
        either!(self, sender => sender.timer())
    }

    /// Returns true if a finite transfer is fully acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        either!(self, sender => sender.is_done())
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        either!(self, sender => sender.stats())
    }

    /// Phase of the connection.
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

    /// Current retransmission timeout, including any backoff.
    #[must_use]
    pub fn rto(&self) -> Time {
        either!(self, sender => sender.rto())
    }

    /// Bytes in flight as seen by the congestion control (RFC 4898 PipeSize).
    #[must_use]
    pub fn in_flight(&self, params: &TcpParams) -> u64 {
        either!(self, sender => sender.in_flight(params))
    }

    /// Pacing rate, if segments are paced.
    #[must_use]
    pub fn pacing_rate(&self, params: &TcpParams) -> Option<BitRate> {
        match self {
            Self::Classic(_) => None,
            Self::Tracked(sender) => sender.pacing_rate(params),
        }
    }

    /// Segments considered lost and not retransmitted yet; `None` if the sender keeps no record of each segment.
    #[must_use]
    pub fn lost_segments(&self) -> Option<impl Iterator<Item = u32>> {
        match self {
            Self::Classic(_) => None,
            Self::Tracked(sender) => Some(sender.lost_segments()),
        }
    }

    /// Congestion control and its outputs; `None` for a sender without a record per segment.
    #[cfg(test)]
    pub(super) fn control(&self) -> Option<(&Congestion, Output)> {
        match self {
            Self::Classic(_) => None,
            Self::Tracked(sender) => Some(sender.control()),
        }
    }
}
