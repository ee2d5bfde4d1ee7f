//! Receiving end of a connection: reassembly, delayed ACKs, timestamp echo, SACK blocks, congestion echo.

mod ack_delay;
#[cfg(test)]
mod tests;
mod window;

use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::Ecn;

use ack_delay::{AckDelay, micros};
use window::ReceiveWindow;
pub(crate) use window::{first as first_window, shift as window_shift};

use super::blocks::{SackBlock, SackBlocks};
use super::ring::BitRing;
use super::{Ack, AckFlag, Segment, TcpParams};

/// Number of segments acknowledged one by one after the first echoed mark, and after a segment that is not ECN-capable
/// (Linux `tcp_input.c` __tcp_ecn_check_ce).
const QUICK_AFTER_MARK: u8 = 2;
/// Number of ACKs of segments above a gap that are sent immediately (TCP_FASTRETRANS_THRESH). The next constant is the
/// maximum number of ACKs that are then delayed (tcp_comp_sack_nr).
const PROMPT: u8 = 3;
const MOST_WAITING: u8 = 44;
/// Number of runs above gaps that may be reported late (TCP_SACK_BLOCKS_EXPECTED).
const KEPT_RUNS: usize = 2;
/// Divisor of the RTT that gives the maximum delay of an ACK: 5 % of the RTT.
const RTT_SHARE: u64 = 20;
/// Additional wait after the delay of an ACK; a segment that arrives meanwhile ends it (tcp_comp_sack_slack_ns).
const SACK_SLACK: Time = Time::from_micros(100);
/// Flag in `Receiver::handshake`: the value is an RTT.
const TIMED: u32 = 1 << 31;
/// Maximum number of bytes that GRO merges.
const MOST_MERGED: u32 = 65_536;
/// Value of `short_seq` until the short segment of a transfer arrives.
const NONE: u32 = u32::MAX;

/// A receiver that accepts all data immediately and sends no data.
///
/// The caller passes each segment to the receiver, and calls [`Receiver::on_timer`] when [`Receiver::timer`] expires. A
/// returned ACK must be sent immediately. `params` must be the same in every call.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    // The fields up to `handshake` are touched only while a gap exists.
    /// Segments that arrived above a gap; all are above `next`.
    early: BitRing,
    /// Blocks to report: complete runs of `early`.
    sacks: SackBlocks,
    /// RTT of the handshake in microseconds, combined with the flag [`TIMED`]. Without the flag, the time at which the
    /// SYN was answered.
    handshake: u32,
    // The following 48 bytes are touched by each segment.
    /// Deadline of the delayed ACK.
    timer: Time,
    /// Timestamp to echo (TS.Recent).
    echo: Time,
    wire_bytes: u64,
    /// Next expected segment (RCV.NXT).
    next: u32,
    /// Number in the last ACK (Last.ACK.sent).
    last_ack: u32,
    /// In-order segments since the last ACK.
    unacked: u16,
    short_payload: u16,
    /// Last segment of a transfer, once it has arrived, if it is shorter than one MSS.
    short_seq: u32,
    /// Number of segments with a congestion mark, modulo 2^8.
    marks: u8,
    /// Segments still to be acknowledged one by one.
    quick: u8,
    /// True if `early` has members; otherwise there is no block to report.
    gap: bool,
    /// True from a congestion mark until the sender's CWR (RFC 3168 6.1.3).
    congestion_echo: bool,
    /// True once an ECN-capable segment has arrived (TCP_ECN_SEEN).
    is_ecn_seen: bool,
    open: bool,
    /// Number of ACKs of segments above gaps since RCV.NXT advanced. The first [`PROMPT`] were sent at once, the others
    /// are delayed.
    beyond: u8,
    /// State of a receiver that adapts; `None` without `autotuning` and `ack_delay_adapts`.
    adaptive: Option<Box<Adaptive>>,
}

/// State that adapts to the arriving data.
#[derive(Clone, Debug)]
struct Adaptive {
    /// With `autotuning`.
    window: Option<ReceiveWindow>,
    /// With `ack_delay_adapts`.
    ack_delay: Option<AckDelay>,
}

impl Adaptive {
    fn new(params: &TcpParams) -> Self {
        Self {
            window: params.autotuning.then(|| ReceiveWindow::new(params)),
            ack_delay: params.ack_delay_adapts.then(|| AckDelay::new(params)),
        }
    }
}

impl Receiver {
    /// Creates a listening receiver.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self {
            timer: Time::NEVER,
            echo: Time::ZERO,
            wire_bytes: 0,
            early: BitRing::default(),
            next: 0,
            last_ack: 0,
            // ns-3.26 ProcessSynRcvd: the count starts at its limit, so the first data segment is acknowledged at once.
            unacked: params.delayed_ack as u16,
            short_seq: NONE,
            short_payload: 0,
            marks: 0,
            quick: params.quickack as u8,
            sacks: SackBlocks::default(),
            handshake: 0,
            gap: false,
            congestion_echo: false,
            is_ecn_seen: false,
            open: false,
            beyond: 0,
            adaptive: (params.autotuning || params.ack_delay_adapts).then(|| Box::new(Adaptive::new(params))),
        }
    }

    /// Processes a segment. Returns the ACK to send now, or `None` if it is delayed.
    //= RFC 5681 4.2-6: A segment is answered by one ACK at most.
    // Always inlined, though loops with and without a reverse link call it.
    #[inline(always)]
    pub fn on_segment(&mut self, params: &TcpParams, segment: Segment, now: Time) -> Option<Ack> {
        match (self.is_next(params, &segment), self.adapts()) {
            (true, false) => self.on_next_segment::<false>(params, &segment, now),
            (true, true) => self.on_next_segment::<true>(params, &segment, now),
            (false, _) => self.on_any_segment(params, segment, now),
        }
    }

    /// Returns true if the data of a segment has already arrived.
    #[must_use]
    pub fn has(&self, segment: &Segment) -> bool {
        let is_early = || segment.seq > self.next && self.early.contains(self.next, segment.seq);
        segment.payload > 0 && !segment.syn && (segment.seq < self.next || is_early())
    }

    /// Returns true if window or ACK delay adapt to the arriving data.
    #[inline(always)]
    pub fn adapts(&self) -> bool {
        self.adaptive.is_some()
    }

    /// Returns true if [`Receiver::on_next_segment`] may process the segment: a full in-order segment without a gap.
    #[inline(always)]
    pub fn is_next(&self, params: &TcpParams, segment: &Segment) -> bool {
        let is_full = segment.payload == params.segment_payload && !segment.syn;
        is_full && segment.seq == self.next && !self.gap && !params.ecn
    }

    /// Fast path of [`Receiver::on_any_segment`]. `ADAPTS` must be [`Receiver::adapts`].
    // Always inlined: otherwise the ACK is passed through memory.
    #[inline(always)]
    pub fn on_next_segment<const ADAPTS: bool>(
        &mut self,
        params: &TcpParams,
        segment: &Segment,
        now: Time,
    ) -> Option<Ack> {
        self.wire_bytes += u64::from(params.header_bytes + segment.payload);
        if segment.seq <= self.last_ack && (!params.sack || segment.timestamp >= self.echo) {
            self.echo = segment.timestamp;
        }
        self.next += 1;
        if segment.push {
            self.quick = self.quick.max(1);
        }
        if ADAPTS {
            self.adapt_to_next(params, segment, now);
        }
        // Without a gap there is no block; this tells the compiler.
        let ack = self.delay_ack::<ADAPTS>(params, now).map(|ack| Ack { sacks: SackBlocks::default(), ..ack });
        if ADAPTS {
            self.read(params, now);
        }
        ack
    }

    /// Adapts to an in-order segment without a gap, as [`Receiver::widen`] and [`Receiver::note_arrival`] do.
    #[inline(always)]
    fn adapt_to_next(&mut self, params: &TcpParams, segment: &Segment, now: Time) {
        let (next, rtt) = (Some(self.next), self.handshake_rtt());
        let Some(Adaptive { window, ack_delay }) = self.adaptive.as_deref_mut() else { return };
        if let Some(window) = window
            && window.on_segment(params, segment, (next, 0), now)
        {
            self.quick |= 1;
        }
        if let Some(delay) = ack_delay
            && delay.on_segment(params, rtt, now)
        {
            self.quick = self.quick.max(params.quickack as u8);
        }
    }

    /// Acknowledges a segment at once if it widens the receive window (tcp_grow_window). `next` is RCV.NXT after a
    /// segment in order.
    #[inline]
    fn widen(&mut self, params: &TcpParams, segment: &Segment, next: Option<u32>, now: Time) {
        // A segment above a gap is already stored.
        let stored = self.early.len() - u32::from(next.is_none());
        if let Some(window) = self.window()
            && window.on_segment(params, segment, (next, stored), now)
        {
            self.quick |= 1; // This way, the window also prolongs the quick ACKs.
        }
    }

    /// Lets the application read all data in order.
    #[inline]
    fn read(&mut self, params: &TcpParams, now: Time) {
        let next = self.next;
        if let Some(window) = self.window() {
            window.on_read(params, next, now);
        }
    }

    /// Adapts the delay of ACKs to an in-order segment.
    #[inline]
    fn note_arrival(&mut self, params: &TcpParams, now: Time) {
        let rtt = self.handshake_rtt();
        if let Some(delay) = self.ack_delay()
            && delay.on_segment(params, rtt, now)
        {
            self.quick = self.quick.max(params.quickack as u8);
        }
    }

    #[inline]
    fn window(&mut self) -> Option<&mut ReceiveWindow> {
        self.adaptive.as_mut()?.window.as_mut()
    }

    #[inline]
    fn ack_delay(&mut self) -> Option<&mut AckDelay> {
        self.adaptive.as_mut()?.ack_delay.as_mut()
    }

    fn reset_delay(&mut self, params: &TcpParams) {
        if let Some(delay) = self.ack_delay() {
            delay.reset(params);
        }
    }

    #[inline]
    fn handshake_rtt(&self) -> Time {
        Time::from_micros(u64::from(self.handshake & !TIMED))
    }

    /// Does the work of [`Receiver::on_segment`] for any segment and state.
    #[inline(never)]
    pub fn on_any_segment(&mut self, params: &TcpParams, segment: Segment, now: Time) -> Option<Ack> {
        self.wire_bytes += u64::from(params.segment_wire_bytes(&segment));
        if segment.syn {
            return Some(self.syn_ack(params, segment, now));
        }
        if segment.payload == 0 {
            // This segment is the ACK that ends the handshake.
            if self.handshake & TIMED == 0 {
                self.open(&segment, now);
            }
            return None;
        }
        let before = if params.ecn { self.note_congestion(params, &segment) } else { None };
        // ns-3.26 ProcessOptionTimestamp: an ACK echoes only the segment that the last ACK requested. With SACK, where
        // every echo gives a sample, RFC 7323 4.3 (2) applies: an ACK also echoes a segment that was retransmitted
        // because its ACK was lost.
        //= RFC 7323 4.3-1: An ACK echoes the stamp of the earliest segment that it answers.
        //= RFC 7323 4.3-3: An ACK of a segment beyond a gap echoes the last stamp in order.
        //= RFC 7323 4.3-4: An ACK of the segment that fills a gap echoes its stamp.
        //= RFC 7323 4.3-2, by sack: A stamp that is not older counts if its segment starts at the last ACK or before.
        let echoes = if params.sack { segment.timestamp >= self.echo } else { segment.seq == self.next };
        if echoes && segment.seq <= self.last_ack {
            self.echo = segment.timestamp;
        }
        if segment.seq < self.next {
            // RFC 5681 4.2, RFC 9293 3.10.7.4: unacceptable segments are answered immediately.
            return Some(self.answer_duplicate(params, segment.seq));
        }
        if segment.payload < params.segment_payload {
            (self.short_seq, self.short_payload) = (segment.seq, segment.payload as u16);
        }
        if segment.seq > self.next {
            //= RFC 5681 4.2-4: A segment beyond a gap is acknowledged at once.
            //= RFC 2018 4-2: Each segment of new data beyond a gap is acknowledged, with blocks.
            let is_new = self.early.insert(self.next, segment.seq);
            if is_new {
                self.widen(params, &segment, None, now);
            }
            self.beyond = if self.gap { self.beyond } else { 0 };
            self.gap = true;
            if !is_new && params.is_tracked() {
                return Some(self.answer_duplicate(params, segment.seq));
            }
            if params.sack && params.sack_delay > Time::ZERO {
                if let Some(delayed) = self.flush(params, segment.seq) {
                    return Some(delayed);
                }
                if self.may_wait() {
                    return self.wait_for_more(params, segment.seq, now).or(before);
                }
            }
            if params.sack {
                self.report(segment.seq);
            }
            return Some(self.ack::<true>(params));
        }
        if segment.push {
            self.quick = self.quick.max(1); // ICSK_ACK_PUSHED, tcp_event_data_recv
        }
        self.widen(params, &segment, Some(self.next + 1), now);
        self.note_arrival(params, now);
        let ack = if self.gap {
            self.fill_gap();
            //= RFC 5681 4.2-5: A segment that fills a gap, or part of one, is acknowledged at once.
            Some(self.ack::<true>(params))
        } else {
            self.next += 1;
            // `before` acknowledges the previous segments. If this segment is acknowledged at once, its ACK replaces
            // `before`.
            self.delay_ack::<true>(params, now).or(before)
        };
        self.read(params, now);
        ack
    }

    /// Records the ACK that ends the handshake.
    fn open(&mut self, segment: &Segment, now: Time) {
        let rtt = micros(now).wrapping_sub(self.handshake) & !TIMED;
        if let Some(window) = self.window() {
            let way_out = now.saturating_sub(segment.timestamp);
            window.open(Time::from_micros(u64::from(rtt)).saturating_sub(way_out), now);
        }
        self.handshake = rtt | TIMED;
    }

    /// Advances RCV.NXT over a segment that fills the first gap and those stored above it.
    fn fill_gap(&mut self) {
        let filled = self.early.take_run(self.next + 1);
        self.next += 1 + filled;
        self.sacks.drop_below(self.next);
        self.gap = !self.early.is_empty();
        self.beyond = 0;
    }

    /// Prefetches the data for checking whether segment `seq` is out of order.
    #[inline]
    pub fn fetch_early(&self, seq: u32) {
        self.early.fetch(seq);
    }

    /// Returns the delayed ACK if its timer has expired, otherwise `None`.
    pub fn on_timer(&mut self, params: &TcpParams, now: Time) -> Option<Ack> {
        if now < self.timer {
            return None;
        }
        if self.unacked > 0
            && let Some(delay) = self.ack_delay()
        {
            delay.on_timeout(params);
        }
        Some(self.ack::<true>(params))
    }

    /// Timestamp that ACKs echo: the send time of the last in-order segment.
    #[must_use]
    pub fn echo(&self) -> Time {
        self.echo
    }

    /// Lets the timer of a delayed ACK expire immediately.
    pub fn hasten(&mut self, now: Time) {
        if self.timer < Time::NEVER {
            self.timer = now;
        }
    }

    /// Returns an ACK of all in-order segments, like one piggybacked on data of the receiver.
    pub fn answer(&mut self, params: &TcpParams) -> Ack {
        self.ack::<true>(params)
    }

    /// Deadline of the delayed ACK, or [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// Payload delivered in order so far, in bytes.
    #[must_use]
    #[inline]
    pub fn delivered_bytes(&self, params: &TcpParams) -> u64 {
        let bytes = u64::from(self.next) * u64::from(params.segment_payload);
        // The short segment is the last one.
        if self.next > self.short_seq {
            bytes - u64::from(params.segment_payload - u32::from(self.short_payload))
        } else {
            bytes
        }
    }

    /// Bytes on the wire of all segments so far, including duplicates.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    /// Records a segment's congestion mark. Returns an ACK that must precede the ACK of the segment itself.
    #[inline(never)]
    fn note_congestion(&mut self, params: &TcpParams, segment: &Segment) -> Option<Ack> {
        let is_capable = segment.ecn != Ecn::NotEct;
        if params.quickack > 0 && self.is_ecn_seen && !is_capable {
            // A retransmission (__tcp_ecn_check_ce).
            self.quick = self.quick.max(QUICK_AFTER_MARK);
            self.reset_delay(params);
        }
        self.is_ecn_seen |= is_capable;
        if params.quickack > 0 && segment.cwr {
            // The sender's window may be small (tcp_ecn_accept_cwr).
            self.quick = self.quick.max(1);
        }
        if params.acknowledges_changes_of_marks() {
            return self.note_mark(params, segment.ecn == Ecn::Ce);
        }
        //= RFC 3168 6.1.3-1: After a mark all ACKs echo it until CWR comes.
        //= RFC 3168 6.1.3-3: A mark after CWR, or with it, restarts the echo.
        let echoes = self.congestion_echo && !segment.cwr;
        self.congestion_echo = segment.ecn == Ecn::Ce || echoes;
        self.marks = self.marks.wrapping_add(u8::from(segment.ecn == Ecn::Ce));
        if params.quickack > 0 && segment.ecn == Ecn::Ce && !echoes {
            self.quick = self.quick.max(QUICK_AFTER_MARK); // __tcp_ecn_check_ce
            self.reset_delay(params);
        }
        None
    }

    /// Counts a mark if the receiver reports each mark. If a run of marked or unmarked segments begins with this
    /// segment, returns the pending ACK, which must be sent first. With `quickack`, as in Linux, the ACK of this
    /// segment is also sent immediately.
    fn note_mark(&mut self, params: &TcpParams, marked: bool) -> Option<Ack> {
        let changed = std::mem::replace(&mut self.congestion_echo, marked) != marked;
        //= RFC 8257 3.2-1: A receiver acknowledges at once what was pending when marks begin or end.
        let before = (changed && self.timer < Time::NEVER).then(|| self.ack::<true>(params));
        if changed && params.quickack > 0 {
            // tcp_dctcp.h dctcp_ece_ack_update: ICSK_ACK_NOW.
            self.quick = self.quick.max(1);
        }
        self.marks = self.marks.wrapping_add(u8::from(marked));
        before
    }

    fn syn_ack(&mut self, params: &TcpParams, segment: Segment, now: Time) -> Ack {
        self.handshake = micros(now) & !TIMED;
        // ns-3.26 ProcessOptionTimestamp: a repeated SYN is not the expected segment, so the timestamp of the first SYN
        // is echoed.
        if !self.open || (params.sack && segment.timestamp > self.echo) {
            self.open = true;
            self.echo = segment.timestamp;
        }
        Ack { ack: self.next, echo: self.echo, flag: AckFlag::Syn, ..Ack::default() }
    }

    /// Returns an ACK of all in-order segments. It replaces the delayed ACK.
    #[inline]
    fn ack<const ADAPTS: bool>(&mut self, params: &TcpParams) -> Ack {
        let window = if ADAPTS { self.offer_window(params) } else { 0 };
        self.timer = Time::NEVER;
        self.unacked = 0;
        self.beyond = self.beyond.min(PROMPT);
        self.quick = self.quick.saturating_sub(1);
        self.last_ack = self.next;
        //= RFC 2018 4-1: Every ACK that does not cover all that arrived carries blocks.
        let sacks = if self.gap { self.sacks } else { SackBlocks::default() };
        //= RFC 3168 6.1.3-2: A delayed ACK echoes a mark of any segment that it covers.
        //= RFC 7323 3.2-1: Every segment carries a time stamp, once both ends agreed.
        Ack {
            ack: self.next,
            echo: self.echo,
            flag: if self.congestion_echo { AckFlag::CongestionEcho } else { AckFlag::None },
            marks: self.marks,
            window,
            sacks,
        }
    }

    /// Returns the window field of an ACK.
    #[inline]
    fn offer_window(&mut self, params: &TcpParams) -> u16 {
        let (next, stored) = (self.next, self.early.len());
        let Some(window) = self.window() else { return 0 };
        let (field, is_short) = (window.offer(params, next, stored), window.is_short(stored, params.segment_payload));
        if is_short {
            self.quick = 0; // __tcp_select_window
        }
        field
    }

    /// Returns true if the ACK of a segment above a gap may be delayed: three such ACKs have been sent since RCV.NXT
    /// advanced, and not too many are delayed (`tcp_input.c` __tcp_ack_snd_check).
    fn may_wait(&mut self) -> bool {
        if self.quick > 0 || self.beyond >= PROMPT + MOST_WAITING {
            return false;
        }
        self.beyond += 1;
        self.beyond > PROMPT
    }

    /// Ends the delay of earlier ACKs if segment `seq` begins a third run or lengthens it (tcp_sack_new_ofo_skb): they
    /// leave before a new run is reported. The segment itself then asks for no ACK (inet_csk_ack_scheduled).
    fn flush(&mut self, params: &TcpParams, seq: u32) -> Option<Ack> {
        let run = self.sacks.iter().position(|block| block.touches(seq)).unwrap_or(self.sacks.len());
        if self.beyond <= PROMPT || self.quick > 0 || run < KEPT_RUNS {
            return None;
        }
        let is_new = run == self.sacks.len();
        if !is_new {
            self.report(seq);
        }
        let ack = self.ack::<true>(params);
        if is_new {
            self.report(seq);
        }
        Some(ack)
    }

    /// Delays the ACK of segment `seq`, or returns it to be sent at once if the delay is almost over.
    fn wait_for_more(&mut self, params: &TcpParams, seq: u32, now: Time) -> Option<Ack> {
        self.report(seq);
        if now.saturating_add(SACK_SLACK) > self.timer {
            return Some(self.ack::<true>(params));
        }
        if self.timer == Time::NEVER {
            let rtt = self.handshake_rtt();
            self.timer = now.saturating_add(params.sack_delay.min(Time(rtt.0 / RTT_SHARE)) + SACK_SLACK);
        }
        None
    }

    /// Returns the ACK of a segment that had already arrived, with a D-SACK if the sender uses D-SACKs.
    fn answer_duplicate(&mut self, params: &TcpParams, seq: u32) -> Ack {
        let mut ack = self.ack::<true>(params);
        self.quick = params.quickack as u8;
        self.reset_delay(params);
        if params.is_tracked() {
            // RFC 2883 section 4: the duplicate is the first block; blocks of runs above gaps follow.
            ack.sacks = ack.sacks.behind(SackBlock { start: seq, end: seq + 1 });
        }
        ack
    }

    /// Makes the run around `seq`, which is above a gap, the first block to report (RFC 2018 section 4).
    fn report(&mut self, seq: u32) {
        // Most segments only extend the block reported last.
        if !self.early.contains(self.next, seq + 1) && self.sacks.lengthen_first(seq) {
            return;
        }
        let (mut start, mut end) = (None, None);
        for block in self.sacks.iter().filter(|block| block.touches(seq)) {
            // A block that contains or touches `seq` gives one or both ends of the run; the ring gives a missing end.
            start = if block.start <= seq { Some(block.start) } else { start };
            end = if block.end > seq { Some(block.end) } else { end };
        }
        let start = start.unwrap_or_else(|| self.early.run_start(self.next, seq));
        let end = end.unwrap_or_else(|| self.early.next_absent(self.next, seq));
        //= RFC 2018 4-3: The first block holds the segment that caused the ACK, unless the ACK covers it.
        self.sacks.promote(SackBlock { start, end });
    }

    /// Counts an in-order segment. Returns an ACK if enough segments are unacknowledged (RFC 5681 4.2, ns-3.26
    /// ReceivedData).
    #[inline(always)]
    fn delay_ack<const ADAPTS: bool>(&mut self, params: &TcpParams, now: Time) -> Option<Ack> {
        self.unacked += 1;
        //= RFC 5681 4.2-1: ACKs are delayed.
        //= RFC 5681 4.2-2: Every second full segment is acknowledged at least.
        if u32::from(self.unacked) >= params.delayed_ack || self.quick > 0 {
            if params.gro_timeout == Time::ZERO || u32::from(self.unacked) * params.segment_payload >= MOST_MERGED {
                return Some(self.ack::<ADAPTS>(params));
            }
            // With GRO, the same ACK also acknowledges segments that follow immediately.
            self.timer = self.timer.min(now.saturating_add(params.gro_timeout));
            return None;
        }
        if self.timer == Time::NEVER {
            //= RFC 5681 4.2-3: An ACK comes within 500 ms.
            let rtt = self.handshake_rtt();
            let adapted = if ADAPTS { self.ack_delay() } else { None };
            let delay = adapted.map_or(params.delayed_ack_timeout, |delay| delay.delay(params, rtt));
            self.timer = params.due(now, delay);
        }
        None
    }
}
