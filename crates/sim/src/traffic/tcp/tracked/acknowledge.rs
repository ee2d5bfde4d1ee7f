//! Processing of ACKs: delivered segments, RTT, sample for the congestion control. Follows `tcp_input.c` tcp_ack.

use fairlane_schemes::base::units::Time;

use super::TrackedSender;
use super::delivery_rate::RateSample;
use super::prr::Delivery;
use super::records::Transmission;
use super::timer::Timer;
use crate::traffic::tcp::blocks::SackBlock;
use crate::traffic::tcp::congestion::control::Sample;
use crate::traffic::tcp::congestion::external::Delivered;
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{Ack, AckFlag, LossDetection, TcpParams, clamped};

/// Information from an ACK, collected as it is processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// Number of segments by which SND.UNA advances.
    pub(super) in_order: u32,
    /// Number of newly delivered segments, in order or SACKed. The next field has the bytes.
    pub(super) delivered: u32,
    pub(super) delivered_bytes: u32,
    /// Number of bytes by which SND.UNA advances.
    pub(super) in_order_bytes: u32,
    /// True if a SACK block has new information.
    pub(super) sacked: bool,
    /// True if the ACK delivers a segment before `recover` that was sent only once (FLAG_ORIG_SACK_ACKED).
    pub(super) original: bool,
    /// True if the ACK has a D-SACK.
    pub(super) duplicate: bool,
    /// True if a retransmitted segment is acknowledged in order.
    resent: bool,
    /// Send times of the first and the last segment that this ACK acknowledges cumulatively, among the segments sent
    /// only once. The next field has the same for SACKs. [`Time::NEVER`] if there are none.
    acked: Ends,
    sacked_once: Ends,
}

impl News {
    const NONE: Self = Self {
        in_order: 0,
        delivered: 0,
        delivered_bytes: 0,
        in_order_bytes: 0,
        sacked: false,
        original: false,
        duplicate: false,
        resent: false,
        acked: Ends::NONE,
        sacked_once: Ends::NONE,
    };

    /// Returns true if the RTT comes from the record of a segment, not from an echoed timestamp.
    fn times_a_segment(&self) -> bool {
        (self.acked.first != Time::NEVER && !self.resent) || self.sacked_once.first != Time::NEVER
    }
}

/// First and last of several times; [`Time::NEVER`] if there are none. An `Option` would take two words per time.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: Time,
    last: Time,
}

impl Ends {
    const NONE: Self = Self { first: Time::NEVER, last: Time::NEVER };

    #[inline]
    fn add(&mut self, time: Time) {
        self.first = if self.first == Time::NEVER { time } else { self.first };
        self.last = time;
    }
}

impl TrackedSender {
    /// Processes an ACK of an open connection. Returns the RTT sample for the retransmission timeout.
    #[inline(always)]
    pub(super) fn on_data_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        if self.is_plain(params, ack) { self.on_plain_ack(params, ack, now) } else { self.on_any_ack(params, ack, now) }
    }

    /// Returns true if [`TrackedSender::on_plain_ack`] may process the ACK: it only acknowledges new data, all data in
    /// flight were sent once, and there is nothing to repair, to reduce or to undo.
    #[inline(always)]
    fn is_plain(&self, params: &TcpParams, ack: &Ack) -> bool {
        self.has_fast_paths()
            && !params.ecn
            && self.phase == Phase::Open
            && self.records.are_sent_once()
            && self.records.una() < ack.ack
            && ack.flag == AckFlag::None
            && ack.sacks.is_empty()
            && self.known.is_empty()
            && self.probe.end.is_none()
            && !self.reducing
            && !self.undo.all_copies_were_needless()
    }

    /// Fast path of [`TrackedSender::on_any_ack`].
    #[inline(always)]
    fn on_plain_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        let prior = self.begin_ack(params);
        let news = self.take_in_run(params, ack, now);
        self.retries = 0;
        self.rack.on_advance(ack.ack);
        let (sampled, rtt) = self.sample_rtt(params, ack, &news, now);
        let may_have_lost = self.may_have_lost(params);
        if may_have_lost || matches!(self.timer, Timer::Reordering(_)) {
            self.arm(params, now);
        } else {
            self.timer_restarts = true;
        }
        if may_have_lost {
            self.repair(params, ack, &news, now);
        }
        let sample = self.sample(ack, params, (&news, rtt, 0), prior, now);
        self.decide_on_window(params, &sample, &news, now);
        self.window_due = true;
        sampled
    }

    /// Prepares for an ACK. Returns the bytes in flight and the outstanding bytes before it.
    #[inline]
    fn begin_ack(&mut self, params: &TcpParams) -> (u32, u32) {
        if params.loss_detection == LossDetection::Rack {
            // Losses detected by timers do not count as losses of this ACK (`lost` in `tcp_input.c` tcp_ack).
            self.newly_lost = 0;
        }
        self.rack.begin_ack();
        (clamped(self.in_flight(params)), self.records.outstanding().saturating_mul(params.segment_payload))
    }

    /// Does the work of [`TrackedSender::on_data_ack`] for any ACK and state.
    #[inline(never)]
    fn on_any_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        let prior = self.begin_ack(params);
        let prior_una = self.records.una();
        let delivered_before = self.rate.delivered;
        let mut news = News::NONE;
        self.take_in_blocks(params, ack, prior_una, &mut news, now);
        self.take_in_number(params, ack, &mut news, now);
        if news.in_order > 0 {
            self.retries = 0;
            self.rack.on_advance(ack.ack);
        }
        let (sampled, rtt) = self.sample_rtt(params, ack, &news, now);
        // A D-SACK that answers a probe does not indicate reordering.
        if news.duplicate && !self.probe.is_copy() {
            self.rack.on_dsack(self.records.nxt());
        }
        self.probe_answered(params, ack, &news, now);
        let marked = self.count_marks(params, ack, (self.rate.delivered - delivered_before) as u32);
        self.on_marks(params, ack, news.in_order, marked, now);
        if Self::is_numbered(params) {
            self.retries = if news.delivered > 0 { 0 } else { self.retries };
            self.repair_numbered(params, now);
        } else {
            if self.restarts_timer(params, &news) {
                self.arm(params, now);
            }
            self.repair(params, ack, &news, now);
        }
        let sample = self.sample(ack, params, (&news, rtt, marked), prior, now);
        self.decide_on_window(params, &sample, &news, now);
        self.window_due = true;
        sampled
    }

    fn restarts_timer(&mut self, params: &TcpParams, news: &News) -> bool {
        if news.in_order == 0 {
            // End of tcp_clean_rtx_queue: the first outstanding segment was sent after what the ACK reports above a
            // gap, so it is not late.
            let reported = news.sacked_once.first;
            return params.loss_detection == LossDetection::Rack
                && reported < Time::NEVER
                && reported < self.records.at(self.records.una()).sent;
        }
        if params.sack_duplicates && news.sacked && !self.in_recovery() {
            return false;
        }
        let partial = self.phase == Phase::Recovery && self.records.una() < self.recover;
        if !(params.impatient_timer && partial) {
            return true;
        }
        // RFC 6582 section 4, the Impatient variant: only the first partial ACK resets the timer.
        std::mem::take(&mut self.before_partial_ack)
    }

    /// Processes a D-SACK, then the SACK blocks (RFC 2018, RFC 2883 section 4, `tcp_sacktag_write_queue`).
    fn take_in_blocks(&mut self, params: &TcpParams, ack: &Ack, una: u32, news: &mut News, now: Time) {
        let [first, others @ ..] = ack.sacks.as_slice() else {
            self.known = ack.sacks;
            return;
        };
        let inside = |outer: &SackBlock| outer.start <= first.start && first.end <= outer.end;
        news.duplicate = first.end <= ack.ack || others.first().is_some_and(inside);
        if news.duplicate {
            self.undo.on_dsack(first.start);
        }
        let nxt = self.records.nxt();
        let reports = if news.duplicate { others } else { ack.sacks.as_slice() };
        for block in reports.iter().filter(|block| block.end <= nxt) {
            // Skips the part of each block that the last ACK already reported.
            for seq in self.known.first_news(*block).max(una)..block.end {
                if let Some(record) = self.records.sack(seq) {
                    news.sacked = true;
                    if !record.resent {
                        news.sacked_once.add(record.sent);
                    }
                    self.delivered(params, seq, &record, news, now);
                    self.rack.on_delivered(seq, &record, now, self.rtt.least());
                }
            }
        }
        self.known = ack.sacks;
    }

    /// Processes the acknowledgement number, as `tcp_clean_rtx_queue` does.
    #[inline]
    fn take_in_number(&mut self, params: &TcpParams, ack: &Ack, news: &mut News, now: Time) {
        while self.records.una() < ack.ack {
            let seq = self.records.una();
            let record = self.records.pop();
            news.in_order += 1;
            news.in_order_bytes += self.payload(params, seq);
            news.resent |= record.resent;
            if record.was_sacked {
                continue;
            }
            if !record.resent {
                news.acked.add(record.sent);
            }
            self.delivered(params, seq, &record, news, now);
            // RFC 8985 6.2, step 2: if the echoed timestamp is older than the retransmission, the ACK is for the
            // original.
            if !record.resent || ack.echo >= record.sent {
                self.rack.on_delivered(seq, &record, now, self.rtt.least());
            }
        }
    }

    /// Does the work of [`TrackedSender::take_in_number`] for a plain ACK. Only the last segment, which was sent last,
    /// counts for RACK and for the rate sample.
    #[inline(always)]
    fn take_in_run(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> News {
        let una = self.records.una();
        let (first, last) = self.records.pop_sent_once(ack.ack);
        let (segments, newest) = (ack.ack - una, ack.ack - 1);
        let bytes = (segments - 1) * params.segment_payload + self.payload(params, newest);
        self.rate.on_delivered(newest, last.number, bytes, now);
        self.rack.on_delivered(newest, &last, now, self.rtt.least());
        News {
            in_order: segments,
            delivered: segments,
            delivered_bytes: bytes,
            in_order_bytes: bytes,
            original: una < self.recover,
            acked: Ends { first, last: last.sent },
            ..News::NONE
        }
    }

    #[inline]
    fn delivered(&mut self, params: &TcpParams, seq: u32, record: &Transmission, news: &mut News, now: Time) {
        let bytes = self.payload(params, seq);
        news.delivered += 1;
        news.delivered_bytes += bytes;
        news.original |= !record.resent && seq < self.recover;
        self.rate.on_delivered(seq, record.number, bytes, now);
        if let Some(external) = self.congestion.external(params) {
            let &Transmission { sent, number, app_limited, .. } = record;
            let delivered = Delivered { now, sent, bytes, number, app_limited, rtts: self.rtt.rtts() };
            external.on_delivered(&mut self.output, &delivered);
        }
    }

    /// Returns the RTT for the timeout and the RTT of the newest segment (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`).
    #[inline(always)]
    fn sample_rtt(&mut self, params: &TcpParams, ack: &Ack, news: &News, now: Time) -> (Option<Time>, Option<Time>) {
        //= RFC 6298 3-1: A segment that was sent twice gives no sample, unless time stamps tell which.
        //= RFC 9002 5.1-1, deviation: An ACK that newly acknowledges its largest packet gives an RTT sample, from when
        //= that was sent.
        //= RFC 9002 5.1-2, deviation: An ACK that does not newly acknowledge its largest packet gives no sample.
        //= RFC 9002 5.1-3: An ACK that newly acknowledges no packet that elicits ACKs gives no sample.
        let since = |sent: Time| (sent < Time::NEVER).then(|| now.saturating_sub(sent));
        let acked = if news.resent { Ends::NONE } else { news.acked };
        let reported = news.sacked_once;
        let [mut of_timeout, mut of_newest] = [(acked.first, reported.first), (reported.last, acked.last)]
            .map(|(sent, otherwise)| since(if sent == Time::NEVER { otherwise } else { sent }));
        if of_timeout.is_none() && news.in_order > 0 {
            //= RFC 7323 4.1-1: An echo is a sample only if its ACK covers new data.
            of_timeout = Some(params.rtt_of_echo(ack.echo, now));
            if params.loss_detection == LossDetection::Rack {
                // The congestion control and the minimum RTT use this sample too (tcp_ack_update_rtt).
                of_newest = of_timeout;
            }
        }
        if params.rtt_of_first && !news.resent {
            of_newest = since(news.acked.first);
        }
        if let Some(rtt) = of_newest {
            self.rtt.observe_least(rtt);
        }
        if let Some(rtt) = of_timeout {
            self.rtt.sample(params, rtt, self.records.una(), self.records.nxt());
        }
        (of_timeout, of_newest)
    }

    /// Returns the number of newly marked bytes, or 0 if the feedback does not count marks. The receiver counts marked
    /// segments modulo 2^16.
    fn count_marks(&mut self, params: &TcpParams, ack: &Ack, delivered: u32) -> u32 {
        if !params.has_accurate_ecn() {
            return 0;
        }
        let segments = u32::from(ack.marks.wrapping_sub(self.marks));
        self.marks = ack.marks;
        let bytes = segments.saturating_mul(params.segment_payload).min(delivered);
        self.rate.delivered_ce += u64::from(bytes);
        bytes
    }

    #[inline(always)]
    fn sample(
        &mut self,
        ack: &Ack,
        params: &TcpParams,
        (news, rtt, marked): (&News, Option<Time>, u32),
        (prior_in_flight, prior_outstanding): (u32, u32),
        now: Time,
    ) -> Sample {
        // See `Control::NEEDS_SAMPLES`.
        let is_read = params.congestion_control.needs_samples();
        let rate = match self.rate.end_ack().filter(|_| is_read) {
            Some(seq) => self.rate.sample(self.records.delivered(seq), self.rtt.least()),
            None => RateSample::default(),
        };
        let since_echo = || whole_milliseconds(now).saturating_sub(whole_milliseconds(ack.echo));
        let mss = params.segment_payload;
        Sample {
            until_release: self.pacer.next().saturating_sub(now),
            now,
            rtt,
            rtt_in_milliseconds: rtt.is_some() && !news.times_a_segment() && params.clock_tick > Time::ZERO,
            since_echo: if is_read { since_echo() } else { Time::ZERO },
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.least(),
            acked: news.delivered_bytes,
            in_order: news.in_order_bytes,
            lost: std::mem::take(&mut self.newly_lost).saturating_mul(mss),
            marked,
            ece: ack.echoes_congestion() && !params.has_accurate_ecn() && !self.ignores_echoes(params),
            duplicate: params.sack_duplicates && (self.phase == Phase::Disorder || news.in_order == 0),
            in_flight: clamped(self.in_flight(params)),
            prior_in_flight,
            prior_outstanding,
            delivered: self.rate.delivered,
            total_lost: self.rate.lost,
            delivered_ce: self.rate.delivered_ce,
            prior_delivered: rate.prior_delivered,
            tx_in_flight: rate.tx_in_flight,
            lost_since_sent: rate.lost_since_sent,
            interval: rate.interval,
            delivery_rate: rate.rate,
            app_limited: rate.app_limited,
            cwnd_limited: self.is_cwnd_limited(params),
            phase: self.phase,
            reducing: self.reducing,
        }
    }

    /// Returns true if the window grows despite ECE: in Linux's loss state (tcp_may_raise_cwnd).
    fn ignores_echoes(&self, params: &TcpParams) -> bool {
        params.loss_detection == LossDetection::Rack && self.phase == Phase::Loss
    }

    /// Sets the window after this ACK, as `tcp_cong_control` does.
    #[inline(always)]
    fn decide_on_window(&mut self, params: &TcpParams, sample: &Sample, news: &News, now: Time) {
        let mss = params.segment_payload;
        self.congestion.on_sample(params, &mut self.output, sample);
        if Self::has_full_control(params) {
            // The congestion control has already set the window.
        } else if self.reducing || self.phase == Phase::Recovery {
            self.reduce_in_proportion(
                params,
                Delivery {
                    delivered: news.delivered,
                    any_lost: sample.lost > 0,
                    advances: news.in_order > 0,
                    in_flight: self.records.in_flight(),
                },
            );
        } else if news.in_order > 0 && !sample.ece && !sample.duplicate {
            self.grow(params, sample, news.delivered, now);
        }
        self.output.cwnd = self.output.cwnd.max(mss);
    }
}

/// Rounds down to the unit of timestamps.
fn whole_milliseconds(time: Time) -> Time {
    let millisecond = Time::from_millis(1).0;
    Time(time.0 / millisecond * millisecond)
}
