//! Sending end of a connection: handshake, timer, New Reno without SACK, ECN.
//!
//! The rules are those of the parent module. Loss recovery with SACK is in `selective`.

mod sack_state;
mod selective;
#[cfg(test)]
mod tests;

use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::packet::Ecn;

use super::congestion::control::{Cause, Flight, Progress, Window};
use super::congestion::dispatch::Congestion;
use super::phase::Phase;
use super::rto::Rto;
use super::sender_stats::SenderStats;
use super::{Ack, AckFlag, FullAckWindow, Segment, TcpParams, clamped};
use sack_state::Selective;

/// SYNs after which ns-3.26 gives up (`tcp-socket.cc` ConnCount).
const SYN_TRIES: u8 = 6;
/// Retransmissions without an ACK of new data after which ns-3.26 gives up (`tcp-socket.cc` DataRetries).
const DATA_RETRIES: u8 = 6;

/// Fields of [`SenderStats`] that a [`Sender`] counts. The sender derives the other fields or leaves them zero.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    retransmissions: u64,
    timeouts: u32,
    fast_recoveries: u32,
    ecn_reductions: u32,
    syn_retransmissions: u32,
    handshake_segments: u32,
    would_close: u32,
}

/// A sender of bulk data, called as described at [`super::AnySender`].
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    // The first 64 bytes are the fields touched by each ACK of new data without losses. The first field is a bool:
    // `AnySender` encodes its variant as an invalid value of this bool and checks it for each ACK.
    /// True if `resent_below` is or was above `una`.
    resent_any: bool,
    phase: Phase,
    /// Retransmissions since the last ACK of new data.
    retries: u8,
    /// True if the SYN, or the ACK that ends the handshake, must be sent.
    handshake_due: bool,
    retransmission_due: bool,
    /// True if one new segment must be sent regardless of the window.
    limited_due: bool,
    window_due: bool,
    /// True if the next new segment must announce a window reduction (CWR).
    cwr_due: bool,
    /// Time at which the SYN or the first outstanding segment is retransmitted.
    timer: Time,
    rto: Rto,
    /// Congestion window in bytes.
    cwnd: u32,
    /// Slow-start threshold in bytes.
    ssthresh: u32,
    /// First unacknowledged segment (SND.UNA).
    una: u32,
    /// Next segment to send (SND.NXT); below `high` while going back N.
    nxt: u32,
    /// Highest segment ever sent, plus one.
    high: u32,
    /// Number of segments in the transfer.
    end: u32,
    // The remaining fields are touched only in other cases.
    /// `high` at the last fast retransmission or timeout.
    recover: u32,
    /// Outstanding segments below this one were sent more than once, all others once.
    resent_below: u32,
    /// Number of bytes by which the last segment of the transfer is shorter than an MSS.
    shortfall: u32,
    /// Number of duplicate ACKs, minus the segments that partial ACKs have acknowledged since; 0 in phase `Open`.
    dup_acks: u32,
    /// Segments resent by fast retransmission, partial ACK or timeout, but not by going back N; 0 in phase
    /// `Open`.
    resent: u32,
    /// Value of `high` when a mark last reduced the window.
    marked_until: u32,
    congestion: Congestion,
    /// SACK state, if the connection uses SACK.
    selective: Option<Box<Selective>>,
    stats: Counts,
    /// Segments acknowledged in congestion avoidance since the window last grew.
    counted: u32,
    syns: u8,
    /// True if this recovery has had no partial ACK yet.
    before_partial_ack: bool,
}

impl Sender {
    /// Creates a sender of `total` payload bytes; `None` means unlimited data. `seed` differs by run and connection.
    #[must_use]
    pub fn new(params: &TcpParams, total: Option<Bytes>, seed: u64) -> Self {
        let selective = params.sack.then(Box::default);
        Self { congestion: Congestion::new(params, seed), selective, ..Self::closed(params, total) }
    }

    /// Creates a sender that is never opened.
    #[must_use]
    pub fn unused(params: &TcpParams) -> Self {
        Self::closed(params, Some(Bytes(0)))
    }

    fn closed(params: &TcpParams, total: Option<Bytes>) -> Self {
        let mss = u64::from(params.segment_payload);
        // A transfer larger than the sequence space is treated as endless.
        let (end, shortfall) = match total.map(|Bytes(bytes)| (bytes.div_ceil(mss), bytes)) {
            Some((segments, bytes)) if segments < u64::from(u32::MAX) => {
                (clamped(segments), clamped(segments * mss - bytes))
            }
            _ => (u32::MAX, 0),
        };
        Self {
            timer: Time::NEVER,
            rto: Rto::new(params),
            //= RFC 5681 3.1-3, deviation: The initial window is 2 to 4 segments at most, by their size.
            cwnd: params.initial_window.saturating_mul(params.segment_payload),
            //= RFC 5681 3.1-7: ssthresh starts as high as can be.
            ssthresh: clamped(params.initial_ssthresh),
            una: 0,
            nxt: 0,
            high: 0,
            //= RFC 6582 3.2-1: At first recover is the initial sequence number.
            recover: 0,
            resent_below: 0,
            end,
            shortfall,
            dup_acks: 0,
            resent: 0,
            marked_until: 0,
            counted: 0,
            congestion: Congestion::NONE,
            selective: None,
            phase: Phase::Closed,
            syns: 0,
            retries: 0,
            resent_any: false,
            before_partial_ack: true,
            handshake_due: false,
            retransmission_due: false,
            limited_due: false,
            window_due: false,
            cwr_due: false,
            stats: Counts::default(),
        }
    }

    /// Opens the connection: a SYN is ready to be sent. Has no effect the second time.
    pub fn start(&mut self) {
        if self.phase == Phase::Closed {
            self.phase = Phase::SynSent;
            self.handshake_due = true;
        }
    }

    /// Stops sending new data. Losses of sent data are still repaired.
    pub fn stop(&mut self) {
        (self.end, self.shortfall) = (self.high, 0);
    }

    /// Adds `segments` full segments to the data to send. All earlier data must also be full segments.
    pub fn extend(&mut self, segments: u32) {
        self.end = self.end.saturating_add(segments);
        self.window_due = true;
    }

    /// Processes an ACK. Returns its round-trip time sample, if any.
    // Always inlined, though loops with and without a reverse link call it.
    #[inline(always)]
    pub fn on_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        let is_open = self.phase == Phase::Open && !self.resent_any && !params.sack;
        if is_open && self.una < ack.ack && ack.ack <= self.high && ack.flag == AckFlag::None {
            self.on_plain_ack(params, ack, now)
        } else {
            self.on_any_ack(params, ack, now)
        }
    }

    /// Fast path of [`Sender::on_any_ack`] for an ACK of new data without losses and marks.
    #[inline]
    fn on_plain_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        let sample = self.rto.sample(params, now.saturating_sub(ack.echo));
        self.grow(params, ack.ack - self.una, now);
        self.retries = 0;
        self.una = ack.ack;
        self.nxt = self.nxt.max(ack.ack);
        if sample.is_none() && !params.keep_backoff {
            self.rto.refresh(params);
        }
        self.timer = now.saturating_add(self.rto.current());
        self.disarm_at_end();
        self.window_due = true;
        sample
    }

    /// Does the work of [`Sender::on_ack`] for any ACK and state.
    #[inline(never)]
    fn on_any_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        match self.phase {
            Phase::Closed => return None,
            Phase::SynSent if ack.is_syn() => return self.on_syn_ack(params, ack, now),
            Phase::SynSent => return None,
            _ if ack.is_syn() => return None,
            _ => {}
        }
        // RFC 9293 3.10.7.4: an ACK of already acknowledged or unsent data is ignored.
        if ack.ack < self.una || ack.ack > self.high {
            return None;
        }
        if ack.echoes_congestion() {
            self.on_congestion_echo(params, ack.ack);
        }
        if params.sack {
            return self.on_selective_ack(params, ack, now);
        }
        if ack.ack > self.una {
            let sample = self.sample_rtt(params, ack, now);
            self.on_new_ack(params, ack, now);
            return sample;
        }
        if self.una < self.nxt {
            self.on_dup_ack(params);
        }
        None
    }

    /// Handles the timer if it has expired, otherwise does nothing.
    pub fn on_timer(&mut self, params: &TcpParams, now: Time) {
        if now < self.timer {
            return;
        }
        self.timer = Time::NEVER;
        match self.phase {
            Phase::Closed => {}
            Phase::SynSent => self.handshake_due = true,
            _ if self.una < self.high => self.on_timeout(params, now),
            _ => {}
        }
    }

    /// Next segment to send now, if there is one.
    // Always inlined: otherwise the segment is passed through memory.
    #[inline(always)]
    pub fn poll_transmit(&mut self, params: &TcpParams, now: Time) -> Option<Segment> {
        if self.handshake_due | self.retransmission_due | self.limited_due | params.sack {
            self.poll_special(params, now)
        } else {
            self.poll_window(params, now)
        }
    }

    #[inline(always)]
    fn poll_window(&mut self, params: &TcpParams, now: Time) -> Option<Segment> {
        //= RFC 5681 3.1-1: Slow start and congestion avoidance limit what is outstanding.
        //= RFC 5681 3.1-2: The lesser of cwnd and the receiver's window governs.
        let window = clamped(u64::from(self.cwnd).min(params.socket_buffer.0));
        if !(self.window_due && self.room(params, window)) {
            self.window_due = false;
            return None;
        }
        let segment = self.send(params, self.nxt, now);
        self.window_due = self.room(params, window);
        Some(segment)
    }

    /// Returns true if no segment can be sent before the next ACK or timer.
    #[inline(always)]
    pub fn has_sent_all(&self, params: &TcpParams) -> bool {
        !(self.handshake_due | self.retransmission_due | self.limited_due | self.window_due | params.sack)
    }

    /// Does the work of [`Sender::poll_transmit`] if a segment of the handshake, a retransmission or limited transmit
    /// may be due, or with SACK.
    #[inline(never)]
    fn poll_special(&mut self, params: &TcpParams, now: Time) -> Option<Segment> {
        if std::mem::take(&mut self.handshake_due) {
            return Some(self.handshake(params, now));
        }
        if params.sack {
            return self.poll_selective(params, now);
        }
        if std::mem::take(&mut self.retransmission_due) {
            return Some(self.send(params, self.una, now));
        }
        if std::mem::take(&mut self.limited_due) && self.room(params, socket_buffer(params)) {
            return Some(self.send(params, self.nxt, now));
        }
        self.poll_window(params, now)
    }

    /// Deadline of the timer, or [`Time::NEVER`] if it is not armed.
    #[must_use]
    #[inline]
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// Returns true if a finite transfer is fully acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.una == self.end && !matches!(self.phase, Phase::Closed | Phase::SynSent)
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        // Each segment below `high` was sent exactly once as new data, so their number is `high`.
        let counts = self.stats;
        SenderStats {
            segments_sent: u64::from(self.high) + counts.retransmissions,
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            fast_recoveries: counts.fast_recoveries,
            ecn_reductions: counts.ecn_reductions,
            syn_retransmissions: counts.syn_retransmissions,
            handshake_segments: counts.handshake_segments,
            would_close: counts.would_close,
            ..SenderStats::default()
        }
    }

    /// Phase of the connection.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Congestion window in bytes.
    #[must_use]
    pub fn cwnd(&self) -> u64 {
        u64::from(self.cwnd)
    }

    /// Slow-start threshold in bytes.
    #[must_use]
    pub fn ssthresh(&self) -> u64 {
        u64::from(self.ssthresh)
    }

    /// Smoothed RTT, zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Time {
        self.rto.srtt()
    }

    /// Current retransmission timeout, including any backoff.
    #[must_use]
    pub fn rto(&self) -> Time {
        self.rto.current()
    }

    /// Bytes in flight as seen by the congestion control (rules 2 and 12; RFC 4898 PipeSize, ns-3.26 BytesInFlight).
    #[must_use]
    pub fn in_flight(&self, params: &TcpParams) -> u64 {
        if let Some(selective) = &self.selective {
            return u64::from(selective.pipe(self.una, self.nxt)) * u64::from(params.segment_payload);
        }
        let mss = u64::from(params.segment_payload);
        let sent = u64::from(self.bytes(params, self.una, self.nxt)) + u64::from(self.resent) * mss;
        sent.saturating_sub(u64::from(self.dup_acks) * mss)
    }

    fn on_syn_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        //= RFC 5681 3.1-4: The handshake does not let cwnd grow.
        //= RFC 5681 3.1-5, deviation: After a lost SYN or SYN-ACK the initial window is one segment.
        //= RFC 6298 5.7-1, deviation: After a timeout of the SYN, data start with a timeout of 3 s at least.
        self.phase = Phase::Open;
        self.timer = Time::NEVER;
        self.handshake_due = true;
        self.window_due = true;
        // ns-3.26 UpdateRttHistory never marks a SYN as retransmitted, so it always gives a sample.
        self.rto.sample(params, now.saturating_sub(ack.echo))
    }

    /// Returns the RTT sample of the oldest outstanding segment (rule 9), or `None` if this segment was retransmitted
    /// (Karn's rule, as in ns-3.26 EstimateRtt). Updates the timeout.
    fn sample_rtt(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        self.resent_any = self.resent_any && self.una < self.resent_below;
        //= RFC 6298 3-1: A segment that was sent twice gives no sample, unless time stamps tell which.
        //= RFC 6298 3-2: Each round trip gives a sample at least.
        if self.resent_any { None } else { self.rto.sample(params, now.saturating_sub(ack.echo)) }
    }

    /// Handles an ACK of new data, segments `una` to `ack - 1`.
    fn on_new_ack(&mut self, params: &TcpParams, &Ack { ack, flag, .. }: &Ack, now: Time) {
        let acked = ack - self.una;
        let mut restart_timer = true;
        let credit = match self.phase {
            Phase::Recovery if ack < self.recover => {
                //= RFC 6582 3.2-7: The first partial ACK restarts the timer, further ones do not.
                restart_timer = std::mem::take(&mut self.before_partial_ack);
                self.on_partial_ack(params, ack);
                0
            }
            Phase::Recovery => {
                self.on_full_ack(params);
                ack - self.recover
            }
            Phase::Loss => {
                // ns-3.26 ReceivedAck: an ACK of one segment above `recover` ends the loss state.
                self.settle(if ack > self.recover { Phase::Open } else { Phase::Loss });
                acked
            }
            Phase::Disorder => {
                // ns-3.26 ReceivedAck: no segment was lost, only reordered.
                self.settle(Phase::Open);
                acked
            }
            _ => acked,
        };
        //= RFC 3168 6.1.2-3: An ACK with an echo does not let cwnd grow.
        self.grow(params, if flag == AckFlag::CongestionEcho { 0 } else { credit }, now);
        self.retries = 0;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        if restart_timer {
            self.restart_timer(params, now);
        }
        self.disarm_at_end();
        self.window_due = true;
    }

    /// Restarts the timer (RFC 6298 5.3). As in ns-3.26 NewAck, this ends the backoff even without a new sample, unless
    /// `keep_backoff`.
    #[inline]
    fn restart_timer(&mut self, params: &TcpParams, now: Time) {
        //= RFC 6298 5-1, deviation: A new sample ends the doubling.
        if !params.keep_backoff {
            self.rto.refresh(params);
        }
        //= RFC 6298 5.3-1: An ACK of new data restarts the timer.
        self.timer = now.saturating_add(self.rto.current());
    }

    /// Lets the retransmission restart the timer, as in ns-2 tcp-newreno.cc dupack_action.
    fn restart_at_retransmit(&mut self, params: &TcpParams) {
        if params.retransmit_restarts_timer {
            self.timer = Time::NEVER;
        }
    }

    /// Stops the timer once all data are acknowledged (RFC 6298 5.2).
    #[inline]
    fn disarm_at_end(&mut self) {
        //= RFC 6298 5.2-1: The timer stops when all is acknowledged.
        if self.una == self.end {
            self.timer = Time::NEVER;
        }
    }

    /// Handles a partial ACK (rule 5, RFC 6582 3.2 step 3).
    fn on_partial_ack(&mut self, params: &TcpParams, ack: u32) {
        let acked = self.bytes(params, self.una, ack);
        //= RFC 6582 3.2-6: Partial ACK: cwnd shrinks by what it covers and grows by a segment.
        self.cwnd = self.cwnd.saturating_sub(acked).saturating_add(params.segment_payload);
        // As in ns-3.26 ReceivedAck, `dup_acks` decreases by the number of acknowledged segments that exceeds it, at
        // least by one. These segments caused no duplicate ACK.
        let explained = (ack - self.una).saturating_sub(self.dup_acks).max(1);
        self.dup_acks = self.dup_acks.saturating_sub(explained);
        self.resent = self.resent.saturating_sub(1);
        self.una = ack;
        //= RFC 6582 3.2-5: Partial ACK: the first segment without an ACK is sent again.
        self.retransmit();
    }

    /// Handles a full ACK (rule 6, RFC 6582 3.2 step 3).
    fn on_full_ack(&mut self, params: &TcpParams) {
        // As in ns-3.26 ReceivedAck, the data in flight are computed before SND.UNA and the number of duplicate ACKs
        // are updated.
        let flight = self.in_flight(params) + u64::from(params.segment_payload);
        self.cwnd = match params.full_ack_window {
            //= RFC 6582 3.2-4, deviation: A full ACK sets cwnd to min(ssthresh, max(flight, MSS) + MSS), or ssthresh.
            FullAckWindow::Inflight => self.ssthresh.min(clamped(flight)),
            //= RFC 6582 3.2-4: A full ACK sets cwnd to min(ssthresh, max(flight, MSS) + MSS), or ssthresh.
            //= RFC 5681 3.2-8: The ACK that ends recovery sets cwnd to ssthresh at most.
            FullAckWindow::Ssthresh => self.ssthresh,
        };
        self.settle(Phase::Open);
    }

    /// Enters `phase`, and forgets duplicate ACKs and retransmissions.
    fn settle(&mut self, phase: Phase) {
        self.phase = phase;
        self.dup_acks = 0;
        self.resent = 0;
        self.before_partial_ack = true;
    }

    /// Grows the window for `credit` acknowledged segments (rule 1).
    #[inline]
    fn grow(&mut self, params: &TcpParams, credit: u32, now: Time) {
        let srtt = self.rto.srtt();
        let progress = Progress { segments: credit, now, srtt, min_rtt: srtt };
        let window = Window { cwnd: &mut self.cwnd, counted: &mut self.counted };
        self.congestion.grow(params, window, self.ssthresh, progress);
    }

    /// Handles an ACK with ECE (rule 18, RFC 3168 6.1.2, RFC 9438 4.6).
    fn on_congestion_echo(&mut self, params: &TcpParams, ack: u32) {
        let settled = matches!(self.phase, Phase::Open | Phase::Disorder);
        //= RFC 3168 6.1.2-4: Marks and losses of one window reduce it once.
        if settled && ack > self.marked_until.max(self.recover) {
            self.stats.ecn_reductions += 1;
            self.marked_until = self.high;
            //= RFC 3168 5-1: A mark is answered as a loss would be.
            //= RFC 3168 6.1.2-2: An echo reduces cwnd and ssthresh as a loss does.
            //= RFC 3168 6.1.2-5, deviation: With a cwnd of one segment an echo restarts the timer; only it sends then.
            self.reduce(params, Cause::Mark);
            self.cwnd = self.ssthresh;
        }
    }

    /// Sets a new slow-start threshold after congestion, by loss or mark.
    fn reduce(&mut self, params: &TcpParams, cause: Cause) {
        // In recovery, cwnd only controls when segments are sent (rules 4 and 16), and the actual window is ssthresh.
        // ns-2 always halves cwnd.
        let paces = self.phase == Phase::Recovery && !params.each_timeout_reduces;
        let cwnd = if paces { self.ssthresh } else { self.cwnd };
        let flight = Flight {
            cwnd,
            outstanding: u64::from(self.bytes(params, self.una, self.nxt)),
            pipe: self.in_flight(params),
            cause,
        };
        self.ssthresh = self.congestion.reduce(params, flight);
        self.counted = 0;
        //= RFC 3168 6.1.2-6: CWR in the next new segment announces any reduction.
        self.cwr_due = params.ecn;
    }

    /// Handles a duplicate ACK (rules 3, 4 and 7).
    fn on_dup_ack(&mut self, params: &TcpParams) {
        self.dup_acks = self.dup_acks.saturating_add(1);
        if self.phase == Phase::Open {
            self.phase = Phase::Disorder;
        }
        match self.phase {
            //= RFC 5681 3.2-3: The third duplicate ACK starts a fast retransmit.
            //= RFC 6582 3.2-2, deviation: A fast retransmit starts only if the ACK covers more than recover.
            Phase::Disorder if self.dup_acks == params.dupack_threshold && self.una >= self.recover => {
                self.enter_recovery(params);
            }
            //= RFC 5681 3.2-1: The first two duplicate ACKs send a new segment each, and cwnd stays.
            // RFC 3042.
            Phase::Disorder => self.limited_due = params.limited_transmit,
            Phase::Recovery => {
                //= RFC 5681 3.2-6: Each further duplicate ACK adds a segment to cwnd.
                //= RFC 5681 3.2-7: A new segment follows if cwnd and the receiver's window allow.
                self.cwnd = self.cwnd.saturating_add(params.segment_payload);
                self.window_due = true;
            }
            // Rule 7: ignore these ACKs, since they may answer duplicate segments.
            _ => {}
        }
    }

    /// Starts a fast recovery (RFC 5681 3.2 steps 2 and 3, RFC 6582 3.2 step 2).
    fn enter_recovery(&mut self, params: &TcpParams) {
        self.stats.fast_recoveries += 1;
        //= RFC 6582 3.2-3: It sets recover to the highest segment sent.
        self.recover = self.high;
        //= RFC 3168 6.1.2-4: Marks and losses of one window reduce it once.
        if self.una >= self.marked_until {
            //= RFC 5681 3.2-4: It leaves ssthresh at half the flight at most, limited transmit not counted.
            self.reduce(params, Cause::Loss);
        }
        self.phase = Phase::Recovery;
        //= RFC 5681 3.2-5: The lost segment is sent again and cwnd is ssthresh plus three segments.
        self.cwnd = self.ssthresh.saturating_add(self.dup_acks.saturating_mul(params.segment_payload));
        self.restart_at_retransmit(params);
        self.retransmit();
    }

    /// Handles a timeout (rule 7, RFC 5681 3.1, RFC 6298 5.4 to 5.6, RFC 6582 3.2 step 4).
    fn on_timeout(&mut self, params: &TcpParams, now: Time) {
        self.stats.timeouts += 1;
        //= RFC 6582 3.2-8: A timeout sets recover to the highest segment sent and ends recovery.
        //= RFC 6675 5.1-2: A timeout in recovery ends it and moves its end to what is sent by now.
        self.recover = self.high;
        //= RFC 5681 4.3-1: A lost retransmission reduces the window once more.
        //= RFC 5681 3.1-13, deviation: A timeout leaves ssthresh at half the flight, two segments at least.
        //= RFC 5681 3.1-14: A segment that times out again leaves ssthresh as it is.
        if self.phase != Phase::Loss || params.each_timeout_reduces {
            self.reduce(params, Cause::Timeout);
        }
        self.congestion.timed_out();
        self.counted = 0;
        self.phase = Phase::Loss;
        //= RFC 5681 3.1-15: A timeout leaves cwnd at one segment.
        //= RFC 9438 4.8-1: A timeout leaves ssthresh at beta_cubic of the flight and cwnd at one segment.
        // Deviation 1: this also applies to later timeouts.
        self.cwnd = params.segment_payload;
        match &mut self.selective {
            Some(selective) => selective.lose_all(self.una, self.nxt),
            None => self.nxt = self.una,
        }
        self.dup_acks = 0;
        (self.limited_due, self.window_due) = (false, false);
        self.rto.back_off(params);
        //= RFC 6298 5.6-1: The timer restarts with the doubled timeout.
        self.timer = now.saturating_add(self.rto.current());
        //= RFC 6298 5.4-1: A timeout sends the earliest segment again.
        //= RFC 2018 5-3: A timeout sends the left edge of the window again, SACKed or not.
        self.retransmit();
    }

    /// Schedules a retransmission of segment `una`, as in ns-3.26 DoRetransmit.
    fn retransmit(&mut self) {
        self.retransmission_due = true;
        self.resent += 1;
        self.stats.would_close += u32::from(self.retries == DATA_RETRIES);
        self.retries = self.retries.saturating_add(1);
    }

    /// Returns the SYN, or the ACK that ends the handshake, as in ns-3.26 SendEmptyPacket.
    fn handshake(&mut self, params: &TcpParams, now: Time) -> Segment {
        let syn = self.phase == Phase::SynSent;
        self.stats.handshake_segments += 1;
        if syn {
            self.stats.syn_retransmissions += u32::from(self.syns > 0);
            self.stats.would_close += u32::from(self.syns == SYN_TRIES);
            let doublings = self.syns.min(SYN_TRIES - 1);
            self.timer = now.saturating_add(Time(params.syn_timeout.0 << doublings));
            self.syns = self.syns.saturating_add(1);
        }
        Segment { seq: self.nxt, syn, timestamp: now, ..Segment::default() }
    }

    /// Returns true if there is a next segment and the whole segment fits into `window` (rule 10, RFC 1122 4.2.3.4).
    #[inline]
    fn room(&self, params: &TcpParams, window: u32) -> bool {
        self.nxt < self.end && self.bytes(params, self.una, self.nxt + 1) <= window
    }

    /// Sends segment `seq`, as in ns-3.26 SendDataPacket.
    #[inline(always)]
    fn send(&mut self, params: &TcpParams, seq: u32, now: Time) -> Segment {
        let new = seq >= self.high;
        if !new {
            self.stats.retransmissions += 1;
            self.resent_below = self.resent_below.max(seq + 1);
            self.resent_any = true;
        }
        self.nxt = self.nxt.max(seq + 1);
        self.high = self.high.max(self.nxt);
        if self.timer == Time::NEVER {
            //= RFC 6298 5.1-1: Sending data starts the timer if it does not run.
            self.timer = now.saturating_add(self.rto.current()); // RFC 6298 5.1
        }
        //= RFC 3168 6.1.2-1: New data carry ECT(0).
        //= RFC 3168 6.1.5-1: A segment that is sent again is not ECN-capable.
        let ecn = if params.ecn && new { Ecn::Ect0 } else { Ecn::NotEct };
        //= RFC 3168 6.1.2-7: A segment that is sent again carries no CWR.
        //= RFC 3168 6.1.2-8: CWR stands in the first new segment only.
        let cwr = new && std::mem::take(&mut self.cwr_due);
        //= RFC 7323 3.2-1: Every segment carries a time stamp, once both ends agreed.
        Segment { seq, payload: self.bytes(params, seq, seq + 1), syn: false, cwr, ecn, timestamp: now, push: false }
    }

    /// Payload of segments `from` to `to - 1` in bytes.
    #[inline]
    fn bytes(&self, params: &TcpParams, from: u32, to: u32) -> u32 {
        let full = u64::from(to - from) * u64::from(params.segment_payload);
        if to == self.end { self.without_shortfall(full) } else { clamped(full) }
    }

    /// Returns the number of bytes up to the end of the transfer, which would be `full` if the last segment were full.
    #[cold]
    #[inline(never)]
    fn without_shortfall(&self, full: u64) -> u32 {
        clamped(full.saturating_sub(u64::from(self.shortfall)))
    }
}

/// Socket buffer in bytes, in the integer type of the window.
#[inline]
fn socket_buffer(params: &TcpParams) -> u32 {
    clamped(params.socket_buffer.0)
}
