//! Selection of the next transmission. Follows `tcp_output.c` tcp_write_xmit, tcp_xmit_retransmit_queue.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::packet::Ecn;

use super::pacing::chunk_bytes;
use super::send_buffers::BufferSize;
use super::timer::Timer;
use super::{Forced, SYN_TRIES, TrackedSender};
use crate::traffic::tcp::congestion::control::{EcnUse, Event};
use crate::traffic::tcp::congestion::external::Sent;
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{LossDetection, Pacing, Segment, TcpParams};

/// Divisor of the window: segments are never deferred if at least a third of the window is free (tcp_tso_win_divisor).
const TSO_WIN_DIVISOR: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Again(u32),
    New,
}

impl TrackedSender {
    /// Returns the next segment to send now, if there is one.
    #[inline(always)]
    pub fn poll_transmit(&mut self, params: &TcpParams, now: Time) -> Option<Segment> {
        let mut rate = None;
        if self.burst_left == 0 || !self.continues_burst(params) {
            if std::mem::take(&mut self.handshake_due) {
                return Some(self.handshake(params, now));
            }
            if params.app_rate.is_some() && self.phase != Phase::SynSent {
                // An application writes only after its connection is open.
                self.write(params, now);
            }
            if self.end_batch_if_full(params, now) {
                return None;
            }
            match self.choose(params, now) {
                None => {
                    self.end_batch::<false>(params, now);
                    return None;
                }
                Some((Next::Again(seq), rate)) => return Some(self.send_again(params, seq, rate, now)),
                Some((Next::New, of_new)) => rate = of_new,
            }
        }
        let segment = self.send::<true>(params, self.records.nxt(), now);
        if let Some(rate) = rate {
            self.pay(params, segment.payload, rate, now);
        }
        Some(segment)
    }

    /// Lets the application write at its rate.
    #[inline(never)]
    fn write(&mut self, params: &TcpParams, now: Time) {
        let before = self.supply.written();
        self.supply.update(params, self.records.nxt(), now);
        if self.supply.written() > before {
            self.note_write(params, before);
        }
    }

    /// Records that the application writes beyond segment `before`. The sender was short of data if it has sent all
    /// before (tcp_rate_check_app_limited).
    pub(super) fn note_write(&mut self, params: &TcpParams, before: u32) {
        if self.records.nxt() >= before && self.records.lost() == 0 && !self.is_window_full(params) {
            self.rate.mark_app_limited(self.in_flight(params));
        }
    }

    /// Ends the batch and returns true if the congestion window is full. Then the caller need not call
    /// [`TrackedSender::poll_transmit`], which would return `None`.
    // Fast path of [`TrackedSender::choose`].
    #[inline(always)]
    pub fn end_batch_if_full(&mut self, params: &TcpParams, now: Time) -> bool {
        let is_full = self.has_fast_paths()
            && self.is_window_full(params)
            && self.forced == Forced::Nothing
            && !self.pacer.has_chunk();
        if is_full {
            self.end_batch::<true>(params, now);
        }
        is_full
    }

    /// Returns true if the congestion window has no room for another segment.
    #[inline]
    fn is_window_full(&self, params: &TcpParams) -> bool {
        let wanted = u64::from(self.records.in_flight()) + 1;
        wanted * u64::from(params.segment_payload) > u64::from(self.output.cwnd)
    }

    /// Returns true if the next segment is the next one of the current burst. Fast path of [`TrackedSender::choose`]:
    /// lost segments and the receive window permitted the whole burst when it started, at this time. The congestion
    /// window may have shrunk, since the first segment after an idle period reduces it.
    #[inline(always)]
    fn continues_burst(&mut self, params: &TcpParams) -> bool {
        let has_data = self.records.nxt() < self.end.min(self.supply.written());
        let is_paced = params.pacing == Pacing::On || self.output.pacing.is_some();
        if !self.has_fast_paths() || !has_data || is_paced || self.is_window_full(params) {
            return false;
        }
        self.burst_left -= 1;
        self.ends_burst = self.burst_left == 0;
        true
    }

    /// Chooses the next transmission, and its pacing rate if it is paced.
    #[inline]
    fn choose(&mut self, params: &TcpParams, now: Time) -> Option<(Next, Option<BitRate>)> {
        //= RFC 9002 7.5-1: cwnd holds no probe back.
        match std::mem::take(&mut self.forced) {
            Forced::Nothing => {}
            Forced::New if self.has_new_segment(params) => return Some((Next::New, self.rate_of_forced(params, now))),
            Forced::Again(seq) if seq >= self.records.una() => {
                return Some((Next::Again(seq), self.rate_of_forced(params, now)));
            }
            Forced::New | Forced::Again(_) => {}
        }
        if !self.window_due || self.awaits_pacing(params, now) {
            return None;
        }
        match self.next_segment(params) {
            Some(next) => {
                let rate = self.pacing_rate(params);
                let due = self.pacer.next();
                if rate.is_none() || due <= now {
                    if params.tso_defer && next == Next::New && self.defers(params, now) {
                        return None;
                    }
                    return Some((next, rate));
                }
                self.pacing_timer = due;
            }
            None if self.pacer.has_chunk() => {
                if let Some(rate) = self.pacing_rate(params) {
                    self.pacer.end_chunk(rate);
                }
            }
            None => {}
        }
        None
    }

    /// Returns true if pacing does not permit the next chunk yet. This is the usual case for ACKs of a paced sender.
    #[inline]
    fn awaits_pacing(&self, params: &TcpParams, now: Time) -> bool {
        let is_paced = params.pacing == Pacing::On || self.output.pacing.is_some();
        let waits = self.pacing_timer > now && self.pacing_timer < Time::NEVER;
        waits && is_paced && !self.new_data_only
    }

    /// Returns true if new data wait until the window has room for a larger burst (tcp_tso_should_defer).
    ///
    /// A burst that has started continues. Its length is the free part of the window at its start.
    fn defers(&mut self, params: &TcpParams, now: Time) -> bool {
        if self.burst_left > 0 {
            self.burst_left -= 1;
            self.ends_burst = self.burst_left == 0;
            return false;
        }
        let mss = params.segment_payload;
        let cwnd = self.output.cwnd / mss;
        let congestion_room = cwnd.saturating_sub(self.records.in_flight());
        let receive_room = u32::try_from(self.receive_room(params) / u64::from(mss)).unwrap_or(u32::MAX);
        let offered = receive_room.saturating_add(self.records.outstanding());
        let room = congestion_room.min(receive_room);
        let most = self.largest_burst(params);
        let srtt = self.rtt.srtt();
        let next_ack = self.records.first_sent().map(|sent| sent + srtt);
        let defers = matches!(self.phase, Phase::Open | Phase::Disorder)
            // For a paced sender, the time counts from the time at which the next burst may be sent (tcp_wstamp_ns).
            && now <= self.last_sent.max(self.pacer.next()) + Time::from_micros(1000)
            && room < most
            // A buffer grows to the free part of the congestion window (tcp_grow_skb), so the end of the buffer matters
            // only in these cases.
            && (receive_room < congestion_room || room < self.send_buffers.left(self.records.nxt()))
            && TSO_WIN_DIVISOR * room < cwnd.min(offered)
            // The next ACK is expected soon.
            && next_ack.is_some_and(|due| due <= now + Time(srtt.0 / 2).min(Time::from_micros(1000)))
            && !self.send_buffers.are_pushed(self.records.nxt(), self.buffer_size(params));
        if defers {
            self.deferred = congestion_room < receive_room;
        } else {
            self.burst_left = room.min(most).saturating_sub(1);
        }
        defers
    }

    /// Sizes for the next send buffers: at most half of the receive window (tcp_bound_to_half_wnd).
    fn buffer_size(&self, params: &TcpParams) -> BufferSize {
        let window = if params.autotuning { self.largest_window } else { params.socket_buffer.0 };
        let (mss, half_window) = (params.segment_payload, window / 2);
        let segments = params.tso.0.min(half_window) / u64::from(mss);
        BufferSize { mss, segments: u32::try_from(segments).unwrap_or(u32::MAX).max(1), half_window }
    }

    /// Maximum number of segments in a burst (tcp_tso_segs).
    fn largest_burst(&self, params: &TcpParams) -> u32 {
        let rate = self.output.pacing.or_else(|| self.rate_of_window(params));
        rate.map_or(2, |rate| self.quantum(params, rate) / params.segment_payload)
    }

    /// Pacing rate of a segment sent regardless of pacing: `None`, except with `recovery_sends_at_once`. There the
    /// segment delays the next paced one (SendDataPacket of ns-3).
    #[cold]
    fn rate_of_forced(&self, params: &TcpParams, now: Time) -> Option<BitRate> {
        self.pacing_rate(params).filter(|_| params.recovery_sends_at_once && self.pacer.next() <= now)
    }

    /// Subtracts a sent segment of `payload` bytes from the current chunk.
    #[inline]
    fn pay(&mut self, params: &TcpParams, payload: u32, rate: BitRate, now: Time) {
        if !self.pacer.has_chunk() {
            let quantum = self.quantum(params, rate);
            self.pacer.begin_chunk(now, quantum.max(payload), params.pacing_catches_up);
        }
        self.pacer.on_send(payload, rate);
    }

    fn quantum(&self, params: &TcpParams, rate: BitRate) -> u32 {
        match self.output.quantum {
            0 => chunk_bytes(rate, self.rtt.least(), params.segment_payload, params.tso.0),
            quantum => quantum.min(u32::try_from(params.tso.0).unwrap_or(u32::MAX)),
        }
    }

    #[inline]
    fn next_segment(&mut self, params: &TcpParams) -> Option<Next> {
        //= RFC 9002 7-3: Nothing is sent beyond cwnd but probes, and a packet as recovery begins.
        if self.is_window_full(params) {
            return None;
        }
        if self.new_data_only {
            // RFC 5682 section 3.1, step 2 b: sends new data or, if there are none, retransmissions as after any other
            // timeout.
            if self.has_new_segment(params) {
                return Some(Next::New);
            }
            self.new_data_only = false;
            self.watches_timeout &= self.records.nxt() > self.recover;
        }
        match self.records.first_lost() {
            Some(seq) => Some(Next::Again(seq)),
            None => self.has_new_segment(params).then_some(Next::New),
        }
    }

    /// Returns true if there are unsent data, and the buffers have room for them.
    #[inline]
    pub(super) fn has_new_segment(&mut self, params: &TcpParams) -> bool {
        self.records.nxt() < self.end.min(self.supply.written())
            && self.receive_room(params) >= u64::from(params.segment_payload)
    }

    /// Number of bytes of new data for which the buffers of sender and receiver have room.
    #[inline]
    fn receive_room(&mut self, params: &TcpParams) -> u64 {
        let bytes = |segments| u64::from(segments) * u64::from(params.segment_payload);
        let (una, next) = (self.records.una(), self.records.nxt());
        let room = params.socket_buffer.0.saturating_sub(bytes(next - una));
        if !params.autotuning {
            return room;
        }
        room.min(self.receive_edge.saturating_sub(bytes(next)))
    }

    /// Called when all segments permitted now have been sent. `FULL`: the congestion window is known to be full.
    #[inline(never)]
    fn end_batch<const FULL: bool>(&mut self, params: &TcpParams, now: Time) {
        self.window_due = false;
        self.new_data_only = false;
        let (next, payload) = (self.records.nxt(), params.segment_payload);
        let is_open = self.phase != Phase::SynSent;
        if params.tso_defer && is_open && self.supply.is_unlimited() && self.send_buffers.are_low(next, payload) {
            let size = self.buffer_size(params);
            self.send_buffers.write(next, size);
        }
        let limited = std::mem::take(&mut self.deferred) || FULL || self.is_window_full(params);
        self.burst_left = 0;
        let unsent =
            self.end.min(self.supply.written()).saturating_sub(self.records.nxt()).saturating_add(self.records.lost());
        if Self::is_numbered(params) {
            //= RFC 9002 7.8-2: Waiting for the pacer does not make a sender application limited.
            let waiting = if self.pacing_timer == Time::NEVER { 0 } else { unsent };
            let wanted = u64::from(self.records.in_flight()) + u64::from(waiting) + 1;
            self.cwnd_limited = wanted * u64::from(payload) > u64::from(self.output.cwnd);
        } else if self.has_sent || limited {
            self.note_use_of_window(limited);
        }
        let out_of_data = unsent == 0;
        let waits = out_of_data && self.records.nxt() < self.end;
        self.supply_timer = if waits { self.supply.next(params) } else { Time::NEVER };
        //= RFC 9002 7.8-2: Waiting for the pacer does not make a sender application limited.
        if Self::is_numbered(params) && out_of_data && !limited && self.pacing_timer == Time::NEVER {
            self.rate.mark_app_limited(self.in_flight(params));
        }
        let has_sent = std::mem::take(&mut self.has_sent);
        self.arm_after_batch(params, has_sent, now);
    }

    /// Returns the SYN, or the ACK that ends the handshake.
    fn handshake(&mut self, params: &TcpParams, now: Time) -> Segment {
        let syn = self.phase == Phase::SynSent;
        self.stats.handshake_segments += 1;
        if syn {
            self.stats.syn_retransmissions += u32::from(self.syns > 0);
            self.stats.would_close += u32::from(self.syns == SYN_TRIES);
            // tcp_ecn_clear_syn: a retransmitted SYN does not request ECN (tcp_ecn_fallback).
            self.falls_back = self.syns > 0 && params.loss_detection == LossDetection::Rack;
            let doublings = self.syns.min(SYN_TRIES - 1);
            self.timer = Timer::Timeout(now.saturating_add(Time(params.syn_timeout.0 << doublings)));
            self.syns = self.syns.saturating_add(1);
        }
        // Linux, tcp_ecn_send_syn: with a control that needs ECN, the SYN is ECN-capable too.
        let ecn = self.codepoint(params, true);
        Segment { seq: self.records.nxt(), syn, ecn, timestamp: now, ..Segment::default() }
    }

    #[inline(never)]
    fn send_again(&mut self, params: &TcpParams, seq: u32, rate: Option<BitRate>, now: Time) -> Segment {
        let segment = self.send::<false>(params, seq, now);
        if let Some(rate) = rate {
            self.pay(params, segment.payload, rate, now);
        }
        segment
    }

    /// Sends segment `seq`, for the first time (`NEW`) or again.
    #[inline(always)]
    fn send<const NEW: bool>(&mut self, params: &TcpParams, seq: u32, now: Time) -> Segment {
        let payload = self.payload(params, seq);
        if self.records.in_flight() == 0 {
            self.send_after_silence(params, now);
        }
        let silent = self.records.outstanding() == 0;
        let record = self.rate.on_send(now, silent, self.in_flight(params), payload);
        self.last_sent = now;
        self.has_sent = true;
        self.stats.segments_sent += 1;
        self.prr.on_send(Self::unit_of_reduction(params));
        if let Some(external) = self.congestion.external(params) {
            let (number, in_flight, app_limited) = (record.number, record.tx_in_flight, record.app_limited);
            let sent = Sent { now, bytes: payload, number, again: !NEW, in_flight, app_limited };
            external.on_sent(&mut self.output, &sent);
        }
        //= RFC 9002 7.5-2: Probes count as in flight.
        if NEW {
            self.records.push(record);
        } else {
            self.stats.retransmissions += 1;
            self.undo.on_resend(now);
            self.records.resend(seq, record);
        }
        // The timer runs while any segment is outstanding. A retransmission of the first segment restarts it, unless
        // the timer waits for reordered segments (tcp_xmit_retransmit_queue).
        let by_records = params.loss_detection != LossDetection::Scoreboard;
        let head_again = by_records && !NEW && seq == self.records.una() && self.phase == Phase::Recovery;
        let awaits_order = matches!(self.timer, Timer::Reordering(_));
        if Self::is_numbered(params) {
            // The probe timeout starts when all segments are sent.
        } else if self.timer == Timer::Off || (head_again && !awaits_order) {
            //= RFC 6298 5.1-1: Sending data starts the timer if it does not run.
            self.timer = Timer::Timeout(params.due(now, self.rtt.rto()));
        }
        let ecn = self.codepoint(params, !NEW);
        //= RFC 3168 6.1.2-7: A segment that is sent again carries no CWR.
        //= RFC 3168 6.1.2-8: CWR stands in the first new segment only.
        let cwr = NEW && std::mem::take(&mut self.cwr_due);
        // PSH marks the last of several segments sent at once (__tcp_transmit_skb), the last segment of a buffer, and
        // the last one written (tcp_push).
        let ends_buffer = params.tso_defer
            && NEW
            && (self.send_buffers.sent(seq + 1) && self.burst_left == 0
                || seq + 1 == self.end.min(self.supply.written()));
        let push = std::mem::take(&mut self.ends_burst) || ends_buffer;
        Segment { seq, payload, syn: false, cwr, ecn, timestamp: now, push }
    }

    /// Prepares for a transmission while no segment is in flight.
    #[cold]
    fn send_after_silence(&mut self, params: &TcpParams, now: Time) {
        if self.last_sent == Time::ZERO {
            return;
        }
        let idle = now.saturating_sub(self.last_sent);
        if self.records.outstanding() == 0 {
            self.restart_after_idle(params, idle);
        }
        self.tell(params, Event::IdleRestart { idle }, now);
    }

    /// ECN codepoint of new data, or, with `again`, of retransmissions and SYNs.
    #[inline]
    fn codepoint(&self, params: &TcpParams, again: bool) -> Ecn {
        if !params.ecn || self.falls_back {
            return Ecn::NotEct;
        }
        match params.congestion_control.ecn_use() {
            //= RFC 3168 6.1.5-1: A segment that is sent again is not ECN-capable.
            // RFC 9000 13.4.1: QUIC sends lost data in a new packet, which is ECN-capable like any other.
            EcnUse::Classic if again && !Self::is_numbered(params) => Ecn::NotEct,
            //= RFC 3168 6.1.2-1: New data carry ECT(0).
            EcnUse::Classic => Ecn::Ect0,
            // With a control that needs ECN, all packets are ECN-capable (TCP_CONG_NEEDS_ECN in tcp_ecn_send of Linux;
            // RFC 8311 4.3).
            EcnUse::AccurateEct0 => Ecn::Ect0,
            EcnUse::AccurateEct1 => Ecn::Ect1,
        }
    }
}
