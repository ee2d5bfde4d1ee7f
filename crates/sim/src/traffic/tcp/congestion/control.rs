//! Interface between congestion controls and senders. Controls do not depend on senders or on each other.

use fairlane_schemes::base::config::ParamSet;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::choices;
use std::fmt::Debug;

use crate::traffic::tcp::phase::Phase;

choices! {
    /// Quantity that Reno halves for its slow-start threshold.
    pub enum FlightSize {
        /// Segments in flight, without those that have left the network according to duplicate ACKs or SACK blocks.
        Pipe = "pipe",
        /// Outstanding segments: those not cumulatively acknowledged, at most the congestion window.
        Outstanding = "outstanding",
    }
}

/// Parameters of the connection that a congestion control can read.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Maximum number of outstanding bytes.
    pub socket_buffer: u64,
    /// True if growth counts the segments that an ACK covers instead of ACKs.
    pub byte_counting: bool,
    /// Quantity that Reno halves for its slow-start threshold.
    pub flight_size: FlightSize,
    /// True if windows are whole segments.
    pub whole_windows: bool,
    /// Unit of the clock; zero if it is exact.
    pub clock_tick: Time,
}

impl Connection {
    /// Number of bytes by which an ACK that delivers `acked` bytes grows the window in slow start: all with
    /// `byte_counting`, otherwise at most one segment (RFC 5681 3.1, eq. (2)).
    #[must_use]
    pub fn counted(self, acked: u32) -> u32 {
        if self.byte_counting { acked } else { acked.min(self.mss) }
    }
}

/// An ACK of new data in congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Acknowledged segments that count for growth.
    pub segments: u32,
    /// Arrival time.
    pub now: Time,
    /// Smoothed RTT.
    pub srtt: Time,
    /// Minimum RTT of the connection. For a classic sender, which does not record it, the smoothed RTT.
    pub min_rtt: Time,
}

/// Congestion window of a sender in congestion avoidance.
#[derive(Debug)]
pub struct Window<'a> {
    /// Size in bytes.
    pub cwnd: &'a mut u32,
    /// Segments acknowledged since the window last grew (snd_cwnd_cnt); each reduction resets it.
    pub counted: &'a mut u32,
}

impl Window<'_> {
    /// Processes an ACK of `segments` segments: grows the window by one segment of `mss` bytes per `per_segment`
    /// acknowledged segments, as `tcp_cong_avoid_ai` in `tcp_cong.c`.
    #[inline]
    pub fn count(self, per_segment: u32, segments: u32, mss: u32) {
        let mut more = 0;
        if *self.counted >= per_segment {
            // These segments were counted while `per_segment` was larger. They add one segment, as in Linux.
            (*self.counted, more) = (0, 1);
        }
        *self.counted = self.counted.saturating_add(segments);
        more += *self.counted / per_segment;
        *self.counted %= per_segment;
        *self.cwnd = self.cwnd.saturating_add(more.saturating_mul(mss));
    }
}

/// A congestion signal of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A loss that starts a recovery.
    Loss,
    /// A congestion mark.
    Mark,
    /// A timeout.
    Timeout,
}

/// Outstanding bytes at the signal.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Bytes sent and not cumulatively acknowledged.
    pub outstanding: u64,
    /// Part of `outstanding` that is still in the network.
    pub pipe: u64,
    /// Kind of signal.
    pub cause: Cause,
}

impl Flight {
    /// FlightSize of RFC 5681 without segments added by limited transmit (RFC 3042); flight_size of RFC 9438 4.6.
    pub fn used(&self) -> u64 {
        self.outstanding.min(u64::from(self.cwnd))
    }

    /// Returns the flight for controls that reduce the window in whole segments: `cwnd` rounded down, even if fewer
    /// data are outstanding.
    pub fn of_whole_window(self, mss: u32) -> Self {
        let cwnd = self.cwnd - self.cwnd % mss;
        Self { cwnd, outstanding: self.outstanding.max(u64::from(cwnd)), ..self }
    }
}

/// Part of the window that a control sets after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The sender sets the window in slow start (with HyStart, if configured) and in recovery. The control sets the
    /// growth in congestion avoidance and the window after congestion.
    Avoidance,
    /// The control grows the window in all phases except recovery, including slow start, and sets the window after
    /// congestion.
    Growth,
    /// The control sets window and pacing rate after each ACK and event, including in recovery.
    Full,
}

/// Feedback on congestion marks that a control needs, if its connection uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// At most one mark per round trip (RFC 3168).
    Classic,
    /// The number of marked bytes, in packets that carry ECT(0) (RFC 8257).
    AccurateEct0,
    /// The number of marked bytes, in packets that carry ECT(1) (RFC 9331).
    AccurateEct1,
}

/// Outputs of a control, which the sender applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow-start threshold in bytes.
    pub ssthresh: u32,
    /// Pacing rate of payload, never zero. If `None`, the sender's own rule applies.
    pub pacing: Option<BitRate>,
    /// Maximum burst of a paced sender, in bytes of payload. If 0, the sender's own rule applies.
    pub quantum: u32,
}

/// An ACK with its delivery-rate sample (draft-ietf-ccwg-bbr), from a sender with a record per segment. Sizes are in
/// bytes of payload; totals count from the start of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Arrival time.
    pub now: Time,
    /// RTT of the newest segment that the ACK delivers; with `rtt_of_first`, RTT of the oldest one. `None` if this
    /// segment was sent more than once, or if the ACK delivers no segment.
    pub rtt: Option<Time>,
    /// True if `rtt` comes from a timestamp in whole milliseconds, so that it may be wrong by up to 1 ms.
    pub rtt_in_milliseconds: bool,
    /// Arrival time minus echoed timestamp, both rounded to whole milliseconds as in Linux's timestamps.
    pub since_echo: Time,
    /// Smoothed RTT.
    pub srtt: Time,
    /// Minimum RTT of the connection; [`Time::NEVER`] before the first sample.
    pub min_rtt: Time,
    /// Bytes newly delivered, in order or SACKed (RS.newly_acked).
    pub acked: u32,
    /// Bytes by which the ACK advances SND.UNA.
    pub in_order: u32,
    /// Bytes newly considered lost since the last sample (RS.newly_lost).
    pub lost: u32,
    /// Bytes newly delivered with a congestion mark, if the feedback is accurate.
    pub marked: u32,
    /// True if the ACK carries ECE (classic feedback), so that the window must not grow.
    pub ece: bool,
    /// True if the ACK counts as a duplicate because of `sack_duplicates`, so that the window must not grow.
    pub duplicate: bool,
    /// Bytes in flight after the ACK.
    pub in_flight: u32,
    /// Bytes in flight before the ACK.
    pub prior_in_flight: u32,
    /// Bytes sent and not cumulatively acknowledged before the ACK.
    pub prior_outstanding: u32,
    /// C.delivered.
    pub delivered: u64,
    /// C.lost.
    pub total_lost: u64,
    /// Part of `delivered` with a congestion mark.
    pub delivered_ce: u64,
    /// C.delivered when the newest segment that the ACK delivers was sent (P.delivered, RS.prior_delivered).
    pub prior_delivered: u64,
    /// Bytes in flight just after the newest delivered segment was sent, including this segment (RS.tx_in_flight).
    pub tx_in_flight: u32,
    /// Bytes lost since the newest delivered segment was sent (RS.lost).
    pub lost_since_sent: u64,
    /// Interval of the delivery rate (RS.interval); [`Time::ZERO`] without a rate.
    pub interval: Time,
    /// Delivery rate (RS.delivery_rate); `None` if nothing is delivered or the interval is below the minimum RTT.
    pub delivery_rate: Option<BitRate>,
    /// True if the sender had too few data to fill the window when the newest delivered segment was sent
    /// (RS.is_app_limited).
    pub app_limited: bool,
    /// Time until pacing permits the next segment.
    pub until_release: Time,
    /// True if the congestion window has limited sending since the last ACK, not the available data or the receive
    /// window.
    pub cwnd_limited: bool,
    /// Phase of the connection after the ACK.
    pub phase: Phase,
    /// True while the window is being reduced because of a mark (TCP_CA_CWR of Linux).
    pub reducing: bool,
}

/// Events other than samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The handshake is complete; `Moment::srtt` is its RTT.
    Open,
    /// A recovery starts. [`Control::reduce`] was called before, unless the control has full authority.
    Loss,
    /// A congestion mark, at most once per round trip (RFC 3168). As for `Loss`, [`Control::reduce`] was called before.
    Mark,
    /// A timeout. [`Control::timed_out`] was called before, and [`Control::reduce`] as for `Loss`. A control with full
    /// authority sets the window.
    Timeout,
    /// Recovery or the loss state ends.
    RecoveryEnds,
    /// The last reduction was spurious: window and threshold are restored.
    Undo {
        /// Congestion window before the reduction, in bytes.
        cwnd: u32,
        /// Slow-start threshold before the reduction, in bytes.
        ssthresh: u32,
    },
    /// Data are about to be sent while nothing is in flight.
    IdleRestart {
        /// Time since the last segment was sent.
        idle: Time,
    },
    /// A segment is considered lost. Reported before the sample of the ACK that shows the loss, and only with
    /// [`Control::HEARS_LOSSES`].
    SegmentLost {
        /// Payload in bytes.
        bytes: u32,
        /// Time of the last transmission.
        sent: Time,
        /// Transmission number, from 1 on.
        number: u32,
        /// Bytes in flight just after the segment was sent, including the segment (P.tx_in_flight).
        tx_in_flight: u32,
        /// Bytes lost since the segment was sent, including the segment (C.lost - P.lost).
        lost_since_sent: u64,
        /// C.delivered when the segment was sent (P.delivered).
        prior_delivered: u64,
        /// True if the sender had too few data when the segment was sent (P.is_app_limited).
        app_limited: bool,
    },
}

/// State of the connection at an [`Event`]; sizes and totals as in [`Sample`].
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Current time.
    pub now: Time,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Time,
    /// Minimum RTT of the connection; [`Time::NEVER`] before the first sample.
    pub min_rtt: Time,
    /// Bytes in flight.
    pub in_flight: u32,
    /// C.delivered.
    pub delivered: u64,
    /// C.lost.
    pub total_lost: u64,
    /// True if the sender has too few data to fill the window (C.app_limited != 0).
    pub app_limited: bool,
    /// Phase of the connection.
    pub phase: Phase,
    /// True if a mark was reducing the window already.
    pub reducing: bool,
}

/// Window algorithm of one sender. The caller enforces the minimum windows that all controls have in common.
///
/// A classic sender only calls [`Control::avoid`], [`Control::reduce`] and [`Control::timed_out`]. A sender with a
/// record per segment also passes samples and events.
pub trait Control: Debug {
    /// Keys of the `[tcp]` table that belong to the control.
    type Params: ParamSet;

    /// Part of the window that the control sets after an ACK.
    const AUTHORITY: Authority = Authority::Avoidance;
    /// True if the control requires samples and events. For other controls a [`Sample`] has no delivery rate, none of
    /// the fields from the record of the newest segment, and no `since_echo`.
    const NEEDS_SAMPLES: bool = false;
    /// True if the control uses [`Event::SegmentLost`], which is otherwise not sent.
    const HEARS_LOSSES: bool = false;
    /// Keys of the connection that the control reads, except those that every control reads.
    const READS: &'static [&'static str] = &[];
    /// Pairs of the control's keys; the first value of a pair must not exceed the second.
    const ORDERED: &'static [(&'static str, &'static str)] = &[];
    /// Feedback on congestion marks that the control needs.
    const ECN: EcnUse = EcnUse::Classic;
    /// True if a loss causes a second reduction while a mark is reducing the window.
    const LOSS_AFTER_MARK: bool = false;
    /// True if the control has no constant of time or rate, not even as a parameter. Multiplying all times and dividing
    /// all rates by the same factor then does not change its behaviour.
    const SCALE_FREE: bool = false;

    /// Creates the state of a new connection. `seed` differs by run and flow, and is the only source of randomness.
    fn new(connection: Connection, params: &Self::Params, seed: u64) -> Self;

    /// Grows the window in congestion avoidance. Called only with [`Authority::Avoidance`].
    #[inline]
    fn avoid(&mut self, _connection: Connection, _params: &Self::Params, _window: Window<'_>, _progress: Progress) {}

    /// Window after congestion, in bytes. Not called with [`Authority::Full`].
    #[inline]
    fn reduce(&mut self, _connection: Connection, _params: &Self::Params, flight: Flight) -> u64 {
        flight.used() / 2
    }

    /// Handles a timeout, after [`Control::reduce`] or instead of it.
    #[inline]
    fn timed_out(&mut self) {}

    /// Processes an ACK, before any growth by the sender.
    #[inline]
    fn on_sample(&mut self, _of: Connection, _params: &Self::Params, _output: &mut Output, _sample: &Sample) {}

    /// Handles events other than ACKs.
    #[inline]
    fn on_event(&mut self, _of: Connection, _params: &Self::Params, _output: &mut Output, _event: Event, _at: &Moment) {
    }
}
