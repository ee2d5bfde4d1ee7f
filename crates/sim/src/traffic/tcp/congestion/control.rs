//! The contract of a congestion control: it knows no sender, and no other control.

use fairlane_schemes::base::config::ParamSet;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::choices;
use std::fmt::Debug;

use crate::traffic::tcp::phase::Phase;

choices! {
    /// Quantity that Reno halves for its slow-start threshold.
    pub enum FlightSize {
        /// Segments in flight: without those that left the network according to duplicate ACKs or SACK blocks.
        Pipe = "pipe",
        /// Outstanding segments: those not cumulatively acknowledged, at most the congestion window.
        Outstanding = "outstanding",
    }
}

/// State of the connection that a congestion control sees.
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
    /// Unit of the clock, zero if it is exact.
    pub clock_tick: Time,
}

impl Connection {
    /// Part of an ACK's delivered bytes that slow start adds: all with `byte_counting`, otherwise at most a segment
    /// (RFC 5681 3.1, eq. (2)).
    #[must_use]
    pub fn counted(self, acked: u32) -> u32 {
        if self.byte_counting { acked } else { acked.min(self.mss) }
    }
}

/// An ACK of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Segments that it acknowledges and that count for growth.
    pub segments: u32,
    /// Arrival time.
    pub now: Time,
    /// Smoothed RTT.
    pub srtt: Time,
    /// Minimum RTT of the connection; for a classic sender, which keeps none, the smoothed one.
    pub min_rtt: Time,
}

/// The congestion window of a sender in congestion avoidance.
#[derive(Debug)]
pub struct Window<'a> {
    /// Size in bytes.
    pub cwnd: &'a mut u32,
    /// Segments acknowledged that have not made it grow yet (snd_cwnd_cnt); each reduction begins with none.
    pub counted: &'a mut u32,
}

impl Window<'_> {
    /// An ACK of `segments`: one segment of `mss` bytes more for each `per_segment` of them. `tcp_cong.c`
    /// tcp_cong_avoid_ai.
    #[inline]
    pub fn count(self, per_segment: u32, segments: u32, mss: u32) {
        let mut more = 0;
        if *self.counted >= per_segment {
            // Counted while more were needed for one.
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
    /// A loss: recovery begins.
    Loss,
    /// A congestion mark.
    Mark,
    /// A timeout.
    Timeout,
}

/// Outstanding bytes at the signal.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Congestion window.
    pub cwnd: u32,
    /// Sent and not acknowledged in order.
    pub outstanding: u64,
    /// The part of it that is still in the network.
    pub pipe: u64,
    /// Kind of signal.
    pub cause: Cause,
}

impl Flight {
    /// RFC 5681 FlightSize without what limited transmit added (RFC 3042), and RFC 9438 4.6 flight_size.
    pub fn used(&self) -> u64 {
        self.outstanding.min(u64::from(self.cwnd))
    }

    /// The same where the window counts, in whole segments, not what of it is outstanding.
    pub fn of_whole_window(self, mss: u32) -> Self {
        let cwnd = self.cwnd - self.cwnd % mss;
        Self { cwnd, outstanding: self.outstanding.max(u64::from(cwnd)), ..self }
    }
}

/// Owner of the window after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The sender does slow start, with HyStart if it has it, and sets the window of recovery. The control decides
    /// growth in congestion avoidance and the window after congestion.
    Avoidance,
    /// The control grows the window in all phases but recovery, slow start included, and says what congestion leaves.
    Growth,
    /// The control sets window and pacing rate after each ACK, in recovery too, and upon each event.
    Full,
}

/// The feedback on congestion marks that a control needs, if its connection uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// A mark at most once a round trip (RFC 3168).
    Classic,
    /// The number of marked bytes, in packets that carry ECT(0) (RFC 8257).
    AccurateEct0,
    /// The same with ECT(1) (RFC 9331).
    AccurateEct1,
}

/// Outputs of a control, which the sender obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow-start threshold in bytes.
    pub ssthresh: u32,
    /// At what rate of payload segments leave, never zero; without, the sender's own rule decides.
    pub pacing: Option<BitRate>,
    /// Maximum payload in bytes that a paced sender sends at once; 0 leaves it to the sender's own rule.
    pub quantum: u32,
}

/// An ACK as a sender with a record per segment sees it, with its delivery-rate sample (draft-ietf-ccwg-bbr). Sizes are
/// in bytes of payload, totals count from the start of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Arrival time.
    pub now: Time,
    /// RTT of the newest segment that it delivers, or of the first with `rtt_of_first`; none if that was sent twice or
    /// nothing is delivered.
    pub rtt: Option<Time>,
    /// `rtt` comes from a timestamp in whole milliseconds: an error of up to one.
    pub rtt_in_milliseconds: bool,
    /// One-way difference between arrival time and echoed timestamp, in whole milliseconds of either clock.
    pub since_echo: Time,
    /// Smoothed RTT.
    pub srtt: Time,
    /// Minimum RTT of the connection; [`Time::NEVER`] before the first.
    pub min_rtt: Time,
    /// Newly delivered, in order or SACKed (RS.newly_acked).
    pub acked: u32,
    /// By which it advances SND.UNA.
    pub in_order: u32,
    /// Newly taken for lost since the last sample (RS.newly_lost).
    pub lost: u32,
    /// Newly delivered with a congestion mark, if the feedback is accurate.
    pub marked: u32,
    /// Classic feedback: the ACK carries ECE.
    pub ece: bool,
    /// By `sack_duplicates` the ACK is a duplicate, with which no window grows.
    pub duplicate: bool,
    /// In flight after it.
    pub in_flight: u32,
    /// In flight before it.
    pub prior_in_flight: u32,
    /// Sent and not acknowledged in order before it.
    pub prior_outstanding: u32,
    /// C.delivered.
    pub delivered: u64,
    /// C.lost.
    pub total_lost: u64,
    /// Part of `delivered` with a congestion mark.
    pub delivered_ce: u64,
    /// C.delivered when the newest segment that it delivers was sent (P.delivered, RS.prior_delivered).
    pub prior_delivered: u64,
    /// In flight when that segment had been sent, itself included (RS.tx_in_flight).
    pub tx_in_flight: u32,
    /// Lost since that segment was sent (RS.lost).
    pub lost_since_sent: u64,
    /// Over which the delivery rate is taken (RS.interval); [`Time::ZERO`] without a rate.
    pub interval: Time,
    /// Delivery rate (RS.delivery_rate); none if nothing is delivered or the interval is below the least RTT.
    pub delivery_rate: Option<BitRate>,
    /// The sender had too few data to fill the window when that segment was sent (RS.is_app_limited).
    pub app_limited: bool,
    /// The window, not the data or the receiver, limited sending since the last ACK.
    pub cwnd_limited: bool,
    /// Phase of the connection after it.
    pub phase: Phase,
}

/// Events other than samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The handshake is over; `Moment::srtt` holds its RTT.
    Open,
    /// Recovery begins. [`Control::reduce`] was called, unless the authority is full.
    Loss,
    /// A congestion mark, once a round trip by the rule of RFC 3168. [`Control::reduce`] as with `Loss`.
    Mark,
    /// A timeout. [`Control::reduce`] and [`Control::timed_out`] as with `Loss`; a control of full authority sets the
    /// window.
    Timeout,
    /// Recovery or the loss state is over.
    RecoveryEnds,
    /// The last reduction was none of the network's making: window and threshold as before it.
    Undo {
        /// Congestion window before it in bytes.
        cwnd: u32,
        /// Slow-start threshold before it in bytes.
        ssthresh: u32,
    },
    /// Data are about to be sent after nothing was in flight.
    IdleRestart {
        /// Since the last segment was sent.
        idle: Time,
    },
    /// A segment is considered lost; reported before the sample of its ACK. Only with [`Control::HEARS_LOSSES`].
    SegmentLost {
        /// Payload in bytes.
        bytes: u32,
        /// Time of the last transmission.
        sent: Time,
        /// Transmission number, from 1 on.
        number: u32,
        /// In flight when it had been sent, itself included (P.tx_in_flight).
        tx_in_flight: u32,
        /// Lost since it was sent, itself included (C.lost - P.lost).
        lost_since_sent: u64,
        /// C.delivered when it was sent (P.delivered).
        prior_delivered: u64,
        /// It was sent while the sender had too few data (P.is_app_limited).
        app_limited: bool,
    },
}

/// The connection at an [`Event`]; sizes and totals as in [`Sample`].
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Now.
    pub now: Time,
    /// Smoothed RTT, zero before the first sample.
    pub srtt: Time,
    /// Minimum RTT of the connection; [`Time::NEVER`] before the first.
    pub min_rtt: Time,
    /// In flight.
    pub in_flight: u32,
    /// C.delivered.
    pub delivered: u64,
    /// C.lost.
    pub total_lost: u64,
    /// The sender has too few data to fill the window (C.app_limited != 0).
    pub app_limited: bool,
    /// Phase of the connection.
    pub phase: Phase,
}

/// Window algorithm of one sender; minimum windows are common to all.
///
/// A classic sender calls [`Control::avoid`], [`Control::reduce`] and [`Control::timed_out`] alone; one with a record
/// per segment also hands out samples and events.
pub trait Control: Debug {
    /// Its keys of the `[tcp]` table.
    type Params: ParamSet;

    /// Owner of the window after an ACK.
    const AUTHORITY: Authority = Authority::Avoidance;
    /// True if it requires samples and events.
    const NEEDS_SAMPLES: bool = false;
    /// True if it uses [`Event::SegmentLost`], which is otherwise not sent.
    const HEARS_LOSSES: bool = false;
    /// Keys of the connection that it reads, of those that not every control reads.
    const READS: &'static [&'static str] = &[];
    /// Pairs of its keys of which the first must not exceed the second.
    const ORDERED: &'static [(&'static str, &'static str)] = &[];
    /// The feedback that it needs on congestion marks.
    const ECN: EcnUse = EcnUse::Classic;
    /// True if a loss reduces also a window that a mark is reducing.
    const LOSS_AFTER_MARK: bool = false;
    /// True if it has no constant of time or rate, not even as a parameter: its behaviour is invariant if all times are
    /// multiplied and all rates divided by a factor.
    const SCALE_FREE: bool = false;

    /// The state of a new connection. `seed` differs by run and flow: the only source of randomness.
    fn new(connection: Connection, params: &Self::Params, seed: u64) -> Self;

    /// Growth in congestion avoidance; called only for [`Authority::Avoidance`].
    #[inline]
    fn avoid(&mut self, _connection: Connection, _params: &Self::Params, _window: Window<'_>, _progress: Progress) {}

    /// Window after congestion, in bytes; not called for [`Authority::Full`].
    #[inline]
    fn reduce(&mut self, _connection: Connection, _params: &Self::Params, flight: Flight) -> u64 {
        flight.used() / 2
    }

    /// A timeout, after [`Control::reduce`] or instead of it.
    #[inline]
    fn timed_out(&mut self) {}

    /// An ACK, before any growth by the sender.
    #[inline]
    fn on_sample(&mut self, _of: Connection, _params: &Self::Params, _output: &mut Output, _sample: &Sample) {}

    /// Handles events other than ACKs.
    #[inline]
    fn on_event(&mut self, _of: Connection, _params: &Self::Params, _output: &mut Output, _event: Event, _at: &Moment) {
    }
}
