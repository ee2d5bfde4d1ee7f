//! TCP New Reno as a pair of state machines without I/O: a bulk [`Sender`] and its [`Receiver`].
//!
//! # Sources
//!
//! - RFC 5681 (congestion control), RFC 6582 (New Reno), RFC 3042 (limited transmit), RFC 6298 (retransmission
//!   timer), RFC 7323 (timestamps), RFC 1122 section 4.2 (delayed ACK, silly window).
//! - ns-3.26, `src/internet/model/`: `tcp-socket-base.cc`, `tcp-congestion-ops.cc`, `rtt-estimator.cc`,
//!   `tcp-rx-buffer.cc`. The profile `ns3.26` behaves as these files do in a bulk transfer, save for the deviations
//!   below. Where they differ from an RFC, the profile follows ns-3.
//!
//! # Rules
//!
//! MSS is [`TcpParams::segment_payload`], UNA the first segment not acknowledged, NXT the next to send.
//!
//! 1. *Growth*, per ACK of new data that covers n segments: if cwnd < ssthresh, cwnd += MSS and n -= 1; then, if
//!    cwnd >= ssthresh and n > 0, cwnd += max(1, floor(MSS^2 / cwnd)). The ACK that crosses ssthresh may do both.
//! 2. *Inflight* = max(0, NXT - UNA + (retransmitted - dupacks) * MSS).
//! 3. *Duplicate ACK* (ack = UNA < NXT): the third one, if UNA >= recover, sets recover = highest sent + 1,
//!    ssthresh = max(2 MSS, inflight / 2), cwnd = ssthresh + 3 MSS and resends UNA. Any other before recovery sends one
//!    new segment, whatever cwnd is (limited transmit).
//! 4. *In recovery* each duplicate ACK adds one MSS to cwnd and sends what cwnd allows.
//! 5. *Partial ACK* (ack < recover): cwnd = max(0, cwnd - acked) + MSS; resend the new UNA; the timer restarts only at
//!    the first one.
//! 6. *Full ACK*: cwnd = min(ssthresh, inflight + MSS), with UNA and the counters as before this ACK; then rule 1 with
//!    the segments beyond recover.
//! 7. *Timeout*: recover = highest sent + 1; ssthresh as in rule 3 unless in the loss state already; cwnd = MSS;
//!    NXT = UNA (go back N). Duplicate ACKs are ignored until an ACK exceeds recover.
//! 8. *Timer*: RTO = max(min_rto, SRTT + max(granularity, 4 RTTVAR)); doubled at each timeout, up to max_rto; computed
//!    anew, and the timer restarted, at each ACK of new data, with or without a new sample (except by rule 5).
//! 9. *Sample*: now - echo, if the segment UNA was sent once only.
//! 10. *Sending*: a full segment if the window has room for one; a short segment only at the end of the transfer.
//! 11. *Receiver*: an ACK at once for the first data segment, for every second one in order, for a duplicate, while
//!     a gap exists and when it is filled; otherwise after 0.2 s. It echoes the timestamp of the earliest segment in
//!     order that is not yet acknowledged.
//!
//! # Parameters
//!
//! [`TcpParams`], by a named profile. It is shared by the flows of a source and passed to every call: pass the same
//! one for the whole life of a flow. Strongest in the results of abc2018: `delayed_ack` and `min_rto`; `socket_buffer` if it limits.
//!
//! # Cost
//!
//! 120 bytes for a sender, 72 for a receiver (pinned by a test), no allocation per packet. A receiver that has seen a
//! gap owns a bitmap of one bit per segment of the widest gap, rounded up to a power of two of 8 bytes. A sender
//! needs no bitmap to know which segments were sent twice: New Reno resends either UNA or, after a timeout, everything
//! from UNA on, so these are always the first of the outstanding ones, and one number tells where they end.
//!
//! # Deviations from ns-3.26
//!
//! 1. Every timeout sets cwnd to one segment. ns-3.26 does so only at the first of several: the flow then bursts its
//!    whole window once a second and hardly recovers.
//! 2. Timestamps are exact, not in milliseconds, and the estimator counts picoseconds, not nanoseconds. Thus RTTs below
//!    1 ms are sampled as well.
//! 3. Window data follow an ACK at once, not 1 ns later.
//! 4. A connection is never closed for want of ACKs: what 3.26 would have closed is counted in
//!    [`SenderStats::would_close`]. The timeout of a SYN stops doubling at the sixth.
//! 5. No FIN. ns-3 acknowledges the last segment of a finite transfer at once, for it carries the FIN; here it may wait for
//!    the delayed ACK, so that the sender is done up to 0.2 s later. The receiver's end of transfer is the same.
//! 6. A socket buffer holds whole segments: ns-3 fills the rest of a limiting buffer with a short segment.
//! 7. A second SYN-ACK is ignored: ns-3.26 resets cwnd and ssthresh by it. The receiver has no timer of its own
//!    for the SYN-ACK: the sender's SYN is repeated after the same 3 s.
//! 8. Sequence numbers count segments from 0 and do not wrap: a flow ends after 2^32 - 1 segments (6.2 TB).
//!
//! # Not implemented
//!
//! SACK, ECN, FIN and RST, data in both directions, persist timer and window updates (the receiver reads at once),
//! path MTU, Nagle's algorithm (off in ns-3), restart after idle (a bulk sender never idles), byte counting, pacing.

mod profile;
mod receiver;
mod ring;
mod rto;
mod sender;

use fairlane_schemes::units::Time;

pub use profile::TcpParams;
pub use receiver::Receiver;
pub use sender::{Phase, Sender, SenderStats};

/// What a sender emits: a SYN, the bare ACK that ends the handshake (no SYN, no payload), or a data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Index of the data segment: segment k carries the bytes from k * MSS on.
    pub seq: u32,
    /// Payload in bytes: one MSS, less in the last segment of a finite transfer.
    pub payload: u32,
    /// Opens the connection; carries no data.
    pub syn: bool,
    /// When it was sent (TSval, RFC 7323).
    pub timestamp: Time,
}

/// What a receiver emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next data segment expected: all before it have arrived.
    pub ack: u32,
    /// The timestamp that the acknowledged segment carried (TSecr, RFC 7323).
    pub echo: Time,
    /// Answers a SYN (SYN-ACK).
    pub syn: bool,
}
