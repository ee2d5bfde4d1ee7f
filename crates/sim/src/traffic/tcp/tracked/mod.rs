//! Sending end with a record of each outstanding segment, as in Linux and QUIC.
//!
//! Implements loss detection by time (RACK-TLP, RFC 8985), by packet number (RFC 9002) or by SACK (RFC 6675),
//! proportional rate reduction (RFC 6937, RFC 9937), F-RTO (RFC 5682), undo of spurious reductions (RFC 3522, RFC
//! 4015), delivery-rate samples (draft-ietf-ccwg-bbr), pacing, and HyStart. Where an RFC leaves a choice, the sender
//! follows Linux 6.x: `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_recovery.c`, `tcp_timer.c`.

mod acknowledge;
mod delivery_rate;
mod growth;
mod hystart;
mod losses;
mod numbers;
mod pacing;
mod probe;
mod prr;
mod quic;
mod rack;
mod records;
mod recovery;
mod rtt;
mod send_buffers;
mod supply;
#[cfg(test)]
mod tests;
mod timer;
mod timers;
mod transmit;
mod undo;

use fairlane_schemes::base::units::{BitRate, Bytes, Time};

use super::congestion::control::{Authority, Event, Moment, Output};
use super::congestion::dispatch::Congestion;
use super::phase::Phase;
use super::receiver::{first_window, window_shift};
use super::sender_stats::SenderStats;
use super::{Ack, Pacing, SackBlocks, TcpParams, clamped};
use crate::cache_line::{fetch, fetch_lines};
use delivery_rate::RateSampler;
use hystart::HyStart;
use numbers::Numbers;
use pacing::Pacer;
use prr::Prr;
use rack::Rack;
use records::Records;
use rtt::RttEstimator;
use send_buffers::SendBuffers;
use std::mem::offset_of;
use supply::Supply;
use timer::{Probe, Timer};
use undo::Undo;

/// SYNs after which ns-3.26 gives up (`tcp-socket.cc` ConnCount), for `would_close`.
const SYN_TRIES: u8 = 6;
/// Retransmissions without an ACK of new data after which ns-3.26 gives up (`tcp-socket.cc` DataRetries).
const DATA_RETRIES: u8 = 6;

/// Segment that is sent regardless of window and pacing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Forced {
    #[default]
    Nothing,
    /// A new segment, sent as a probe.
    New,
    /// This segment again, after a timeout or as a probe.
    Again(u32),
}

/// A sender of bulk data with a record of each outstanding segment, called as described at [`super::AnySender`].
#[derive(Debug)]
pub struct TrackedSender {
    output: Output,
    phase: Phase,
    records: Records,
    rack: Rack,
    rtt: RttEstimator,
    rate: RateSampler,
    pacer: Pacer,
    timer: Timer,
    /// Time at which a paced segment may leave; [`Time::NEVER`] if no segment waits for pacing.
    pacing_timer: Time,
    /// Time at which the application will have written more data; [`Time::NEVER`] if the sender does not wait for it.
    supply_timer: Time,
    supply: Supply,
    congestion: Congestion,
    prr: Prr,
    undo: Undo,
    hystart: HyStart,
    probe: Probe,
    /// Right edge of the largest offered receive window as a byte number, with `autotuning`. The next field is the
    /// largest window in bytes (max_window).
    receive_edge: u64,
    largest_window: u64,
    /// Number of segments in the transfer.
    end: u32,
    /// Number of bytes by which the last segment of the transfer is shorter than an MSS.
    shortfall: u32,
    /// Segment whose acknowledgement ends recovery, the loss state or a reduction (high_seq).
    recover: u32,
    /// True while PRR reduces the window after a mark, until `recover` (state CWR of Linux).
    reducing: bool,
    /// Recovery by packet numbers (QUIC).
    numbers: Numbers,
    /// True if no ACK of new data has arrived in this recovery.
    before_partial_ack: bool,
    /// Number of ACKs with new SACK information (DupAcks), outside recovery. An ACK without such information that
    /// advances SND.UNA resets the number.
    duplicates: u32,
    /// True if F-RTO checks whether the timeout was spurious.
    watches_timeout: bool,
    /// True if F-RTO must send new data, not retransmissions, after an ACK.
    new_data_only: bool,
    /// True if the window limited sending in this round. The next two fields are the maximum number of outstanding
    /// segments in this round, and the end of the round (tcp_cwnd_validate).
    cwnd_limited: bool,
    most_outstanding: u32,
    usage_round: u32,
    known: SackBlocks,
    /// True if fast paths may be used: without packet numbers and an external congestion control. A test compares the
    /// states with and without fast paths.
    is_fast: bool,
    /// Number of marks that the receiver has counted, modulo 2^8.
    marks: u8,
    /// Segments newly detected as lost since the last sample.
    newly_lost: u32,
    /// Growth of the window in slow start that is not a whole segment yet, in bytes.
    part_of_growth: u32,
    /// Segments acknowledged in congestion avoidance since the window last grew (snd_cwnd_cnt).
    counted: u32,
    forced: Forced,
    /// True if the SYN, or the ACK that ends the handshake, must be sent.
    handshake_due: bool,
    window_due: bool,
    /// True if the next new segment must announce a window reduction (CWR).
    cwr_due: bool,
    syns: u8,
    /// Timeouts since the last ACK of new data (icsk_retransmits).
    retries: u8,
    /// True if new data wait until the congestion window has room for a larger burst.
    deferred: bool,
    /// Segments of the current burst that have not left yet.
    burst_left: u32,
    /// Buffers of unsent data, with `tso_defer`.
    send_buffers: SendBuffers,
    /// True if the segment to send is the last of a burst of several.
    ends_burst: bool,
    /// True if the connection has no ECN because its SYN was retransmitted.
    falls_back: bool,
    /// True if a segment was sent since the last ACK or timer.
    has_sent: bool,
    /// True if the last ACK restarts the timer. This is done after the segments that the ACK permits, since these
    /// restart the timer, too.
    timer_restarts: bool,
    last_sent: Time,
    stats: SenderStats,
}

impl TrackedSender {
    /// Prefetches the sender's cache lines; an ACK touches nearly all of them.
    #[inline]
    pub fn fetch(&self) {
        fetch_lines::<Self, _>(&self.last_sent, offset_of!(Self, last_sent));
    }

    /// Prefetches the deadline of the timers.
    #[inline]
    pub fn fetch_timer(&self) {
        fetch(&self.timer);
    }

    /// Prefetches the data to which the cache lines of [`TrackedSender::fetch`] point. Call it once these have arrived.
    #[inline]
    pub fn fetch_records(&self) {
        self.records.fetch();
        self.congestion.fetch();
    }

    /// Creates a sender of `total` payload bytes; `None` means unlimited data. `seed` differs by run and flow.
    #[must_use]
    pub fn new(params: &TcpParams, total: Option<Bytes>, seed: u64) -> Self {
        let mss = u64::from(params.segment_payload);
        // A transfer larger than the sequence space is treated as endless.
        let (end, shortfall) = match total.map(|Bytes(bytes)| (bytes.div_ceil(mss), bytes)) {
            Some((segments, bytes)) if segments < u64::from(u32::MAX) => {
                (clamped(segments), clamped(segments * mss - bytes))
            }
            _ => (u32::MAX, 0),
        };
        Self {
            output: Output {
                cwnd: params.initial_window.saturating_mul(params.segment_payload),
                ssthresh: clamped(params.initial_ssthresh),
                pacing: None,
                quantum: 0,
            },
            phase: Phase::Closed,
            records: Records::new(),
            rack: Rack::new(),
            rtt: RttEstimator::new(params),
            rate: RateSampler::default(),
            pacer: Pacer::new(),
            timer: Timer::Off,
            pacing_timer: Time::NEVER,
            supply_timer: Time::NEVER,
            supply: Supply::new(),
            congestion: Congestion::new(params, seed),
            prr: Prr::default(),
            undo: Undo::new(),
            hystart: HyStart::new(),
            probe: Probe::default(),
            receive_edge: first_window(params.segment_payload),
            largest_window: first_window(params.segment_payload),
            end,
            shortfall,
            recover: 0,
            reducing: false,
            numbers: Numbers::NEW,
            before_partial_ack: false,
            duplicates: 0,
            watches_timeout: false,
            new_data_only: false,
            cwnd_limited: false,
            most_outstanding: 0,
            usage_round: 0,
            known: SackBlocks::default(),
            is_fast: !Self::is_numbered(params) && !params.congestion_control.is_external(),
            marks: 0,
            newly_lost: 0,
            part_of_growth: 0,
            counted: 0,
            forced: Forced::Nothing,
            handshake_due: false,
            window_due: false,
            cwr_due: false,
            syns: 0,
            retries: 0,
            deferred: false,
            burst_left: 0,
            send_buffers: SendBuffers::default(),
            ends_burst: false,
            falls_back: false,
            has_sent: false,
            timer_restarts: false,
            last_sent: Time::ZERO,
            stats: SenderStats::default(),
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
        if self.records.nxt() < self.end {
            (self.end, self.shortfall) = (self.records.nxt(), 0);
        }
    }

    /// Adds `segments` full segments to the data to send. All earlier data must also be full segments.
    pub fn extend(&mut self, params: &TcpParams, segments: u32) {
        self.note_write(params, self.end);
        self.end = self.end.saturating_add(segments);
        self.window_due = true;
    }

    /// Processes an ACK. Returns its round-trip time sample, if any.
    // Always inlined: there is only one call, for each ACK.
    #[inline(always)]
    pub fn on_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        match self.phase {
            Phase::Closed => None,
            Phase::SynSent if ack.is_syn() => Some(self.on_syn_ack(params, ack, now)),
            Phase::SynSent => None,
            _ if ack.is_syn() => None,
            // RFC 9293 3.10.7.4: an ACK of already acknowledged or unsent data is ignored.
            _ if ack.ack < self.records.una() || ack.ack > self.records.nxt() => None,
            _ => {
                self.note_window(params, ack);
                self.on_data_ack(params, ack, now)
            }
        }
    }

    /// Deadline of the next timer, or [`Time::NEVER`] if none is armed.
    #[must_use]
    #[inline]
    pub fn timer(&self) -> Time {
        self.timer.due().min(self.pacing_timer).min(self.supply_timer)
    }

    /// Returns true if a finite transfer is fully acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.records.una() == self.end && !matches!(self.phase, Phase::Closed | Phase::SynSent)
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// Phase of the connection.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Congestion window in bytes.
    #[must_use]
    pub fn cwnd(&self) -> u64 {
        u64::from(self.output.cwnd)
    }

    /// Slow-start threshold in bytes.
    #[must_use]
    pub fn ssthresh(&self) -> u64 {
        u64::from(self.output.ssthresh)
    }

    /// Smoothed RTT, zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Time {
        self.rtt.srtt()
    }

    /// Current retransmission timeout, including any backoff.
    #[must_use]
    pub fn rto(&self) -> Time {
        self.rtt.rto()
    }

    /// Bytes in flight. A short last segment counts as a full one.
    #[must_use]
    pub fn in_flight(&self, params: &TcpParams) -> u64 {
        u64::from(self.records.in_flight()) * u64::from(params.segment_payload)
    }

    /// Segments considered lost and not retransmitted yet, in order.
    pub fn lost_segments(&self) -> impl Iterator<Item = u32> {
        self.records.lost_segments()
    }

    #[cfg(test)]
    pub(super) fn control(&self) -> (&Congestion, Output) {
        (&self.congestion, self.output)
    }

    /// Pacing rate, if segments are paced.
    #[must_use]
    pub fn pacing_rate(&self, params: &TcpParams) -> Option<BitRate> {
        match params.pacing {
            Pacing::Off => None,
            Pacing::Auto => self.output.pacing,
            Pacing::On => self.output.pacing.or_else(|| self.rate_of_window(params)),
        }
    }

    /// Pacing rate computed from the window (`tcp_input.c` tcp_update_pacing_rate; RFC 9002 7.7).
    fn rate_of_window(&self, params: &TcpParams) -> Option<BitRate> {
        let outstanding = u64::from(self.records.outstanding()) * u64::from(params.segment_payload);
        let percent = match (Self::is_numbered(params), self.output.cwnd < self.output.ssthresh / 2) {
            (true, _) => pacing::PERCENT_OF_QUIC,
            (false, true) => pacing::PERCENT_IN_SLOW_START,
            (false, false) => pacing::PERCENT_IN_AVOIDANCE,
        };
        pacing::rate_of_window(u64::from(self.output.cwnd).max(outstanding), percent, self.rtt.srtt())
    }

    /// Records the offered receive window (tcp_ack_update_window).
    #[inline]
    fn note_window(&mut self, params: &TcpParams, ack: &Ack) {
        if params.autotuning {
            let window = u64::from(ack.window) << window_shift(params);
            let una = u64::from(ack.ack) * u64::from(params.segment_payload);
            self.receive_edge = self.receive_edge.max(una + window);
            self.largest_window = self.largest_window.max(window);
        }
    }

    /// Handles the SYN-ACK. Returns the round-trip time.
    fn on_syn_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Time {
        //= RFC 5681 3.1-4: The handshake does not let cwnd grow.
        self.phase = Phase::Open;
        self.timer = Timer::Off;
        let rtt = now.saturating_sub(ack.echo);
        self.rtt.sample(params, rtt, 0, 0);
        self.rtt.observe_least(rtt);
        self.handshake_due = true;
        self.window_due = true;
        self.tell(params, Event::Open, now);
        rtt
    }

    fn tell(&mut self, params: &TcpParams, event: Event, now: Time) {
        let moment = Moment {
            now,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.least(),
            in_flight: clamped(self.in_flight(params)),
            delivered: self.rate.delivered,
            total_lost: self.rate.lost,
            app_limited: self.rate.is_app_limited(),
            phase: self.phase,
            reducing: self.reducing,
        };
        self.congestion.on_event(params, &mut self.output, event, &moment);
    }

    /// Returns true if fast paths may be used. Browsers have none, since they would make the page larger.
    #[inline]
    fn has_fast_paths(&self) -> bool {
        !cfg!(target_family = "wasm") && self.is_fast
    }

    /// Returns true if the congestion control, not the sender, sets the window.
    #[inline]
    fn has_full_control(params: &TcpParams) -> bool {
        params.congestion_control.authority() == Authority::Full
    }

    #[inline]
    fn in_recovery(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Loss)
    }

    #[inline]
    fn payload(&self, params: &TcpParams, seq: u32) -> u32 {
        if seq + 1 == self.end { params.segment_payload - self.shortfall } else { params.segment_payload }
    }
}
