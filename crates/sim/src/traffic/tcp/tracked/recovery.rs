//! Response to losses and marks: recovery, the loss state with F-RTO, reductions and their undo. Follows `tcp_input.c`
//! tcp_fastretrans_alert, tcp_process_loss, tcp_enter_loss, tcp_undo_cwnd_reduction.

use fairlane_schemes::base::units::Time;

use super::acknowledge::News;
use super::prr::Delivery;
use super::timer::{LEAST_TIMEOUT, Timer};
use super::{DATA_RETRIES, Forced, TrackedSender};
use crate::traffic::tcp::congestion::control::{Cause, Event, Flight};
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{Ack, LossDetection, Recovery, TcpParams, clamped};

impl TrackedSender {
    /// Handles the loss information of an ACK.
    pub(super) fn repair(&mut self, params: &TcpParams, ack: &Ack, news: &News, now: Time) {
        let una = self.records.una();
        let partial = self.phase == Phase::Recovery && news.in_order > 0 && una < self.recover;
        let repaired = self.in_recovery();
        let by_time = params.loss_detection == LossDetection::Rack;
        // Linux ignores other ACKs here (tcp_ack_is_dubious).
        let disordered = news.in_order == 0 || news.sacked || news.duplicate || ack.echoes_congestion();
        let dubious = disordered || self.phase != Phase::Open;
        match self.phase {
            Phase::Recovery if una >= self.recover => self.end_recovery(params, ack, now),
            Phase::Recovery if news.in_order > 0 => self.undo_partly(params, ack, now),
            Phase::Loss => self.on_ack_after_timeout(params, ack, news, now),
            _ => {}
        }
        if params.undo && self.phase != Phase::Loss && self.undo.all_copies_were_needless() {
            self.undo_reduction(params, false, now);
            self.open(params, now);
        }
        let resent = self.records.resent();
        self.look_for_losses(params, now);
        let copy_lost = self.records.resent() < resent;
        match self.phase {
            Phase::Open | Phase::Disorder if params.sack_duplicates => {
                let begins = self.counts_duplicate(params, news, repaired);
                self.phase = if self.duplicates > 0 { Phase::Disorder } else { Phase::Open };
                if begins {
                    self.enter_recovery(params, now);
                }
            }
            Phase::Open | Phase::Disorder if self.is_loss_proven(params) => self.enter_recovery(params, now),
            Phase::Open if by_time && !dubious => {}
            // As in tcp_try_keep_open. A segment that only a probe has repeated also counts as retransmitted.
            Phase::Open | Phase::Disorder => {
                let calm = self.records.sacked() == 0 && !(by_time && self.records.resent() > 0);
                self.phase = if calm { Phase::Open } else { Phase::Disorder };
            }
            // A retransmission sent in the loss state was lost.
            Phase::Loss if copy_lost => self.enter_recovery(params, now),
            _ if partial && params.recovery_sends_at_once && !self.records.at(una).resent => {
                // ProcessAck of ns-3 sends new data if the scoreboard shows no loss. RFC 6582 would send segment `una`.
                self.forced = self.records.first_lost().map_or(Forced::New, Forced::Again);
            }
            _ => {}
        }
    }

    /// Returns true if a loss can start a recovery. With time-based detection this is any loss not delivered yet, even
    /// if its retransmission is in flight (tcp_time_to_recover). With the scoreboard, the loss must not have been
    /// retransmitted yet.
    fn is_loss_proven(&self, params: &TcpParams) -> bool {
        match params.loss_detection {
            LossDetection::Scoreboard => self.records.lost() > 0,
            _ => self.records.unrepaired() > 0,
        }
    }

    /// Counts an ACK outside recovery if it has new SACK information. Returns true if the ACK starts a recovery.
    /// `repaired` is true if the ACK has just repaired all losses. Lost segments are retransmitted regardless of the
    /// result.
    fn counts_duplicate(&mut self, params: &TcpParams, news: &News, repaired: bool) -> bool {
        if repaired || !news.sacked {
            if repaired || news.in_order > 0 {
                self.duplicates = 0;
            }
            return false;
        }
        self.duplicates += 1;
        // RFC 6675 5, (1) and (2).
        self.duplicates == params.dupack_threshold || self.records.next_known_is_lost()
    }

    /// Detects losses and sets the timer for pending ones.
    pub(super) fn look_for_losses(&mut self, params: &TcpParams, now: Time) {
        //= RFC 9002 6.1.2-3: A timer is set for what cannot be declared lost yet.
        if self.may_have_lost(params)
            && let Some(due) = self.detect_losses(params, now)
        {
            self.await_order(params, due, now);
        }
    }

    /// Sets the timer for a segment that will be considered lost at `due`.
    pub(super) fn await_order(&mut self, params: &TcpParams, due: Time, now: Time) {
        let more = if Self::is_numbered(params) { Time::ZERO } else { LEAST_TIMEOUT };
        self.timer = Timer::Reordering(params.due(now, due.saturating_sub(now).saturating_add(more)));
    }

    /// Marks segment `seq`, which is in flight, as lost.
    pub(super) fn lose(&mut self, params: &TcpParams, seq: u32, now: Time) {
        let bytes = self.payload(params, seq);
        self.records.lose(seq);
        self.numbers.on_lost(self.records.at(seq));
        self.newly_lost += 1;
        self.rate.lost += u64::from(bytes);
        if !params.congestion_control.hears_losses() {
            return;
        }
        let record = self.records.at(seq);
        let event = Event::SegmentLost {
            bytes,
            sent: record.sent,
            number: record.number,
            tx_in_flight: record.tx_in_flight,
            lost_since_sent: self.rate.lost - record.lost,
            prior_delivered: record.delivered,
            app_limited: record.app_limited,
        };
        self.tell(params, event, now);
    }

    /// Starts a recovery (`tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, params: &TcpParams, now: Time) {
        self.stats.fast_recoveries += 1;
        //= RFC 3168 6.1.2-4: Marks and losses of one window reduce it once.
        let reduced = self.reducing;
        let prior = (!reduced).then_some((self.output.cwnd, self.output.ssthresh));
        self.phase = Phase::Recovery;
        self.recover = self.records.nxt();
        self.before_partial_ack = true;
        self.probe.settle();
        self.watches_timeout = false;
        self.undo.begin(self.records.una(), self.records.resent(), prior);
        if reduced && params.congestion_control.answers_loss_after_mark() {
            self.reduce(params, Cause::Loss);
        }
        if !reduced {
            self.reduce(params, Cause::Loss);
            self.begin_reduction(params, 0);
            if (params.recovery == Recovery::NewReno && !Self::has_full_control(params))
                || params.recovery_sends_at_once
            {
                // RFC 6675 5 (4.3): the first lost segment is retransmitted regardless of the window.
                let otherwise = if params.sack_duplicates { Forced::New } else { Forced::Nothing };
                self.forced = self.records.first_lost().map_or(otherwise, Forced::Again);
            }
        }
        self.tell(params, Event::Loss, now);
        self.reducing = false;
    }

    /// Ends a recovery (`tcp_try_undo_recovery`, `tcp_end_cwnd_reduction`).
    fn end_recovery(&mut self, params: &TcpParams, ack: &Ack, now: Time) {
        if params.undo && (self.undo.answers_original(ack.echo) || self.undo.all_copies_were_needless()) {
            self.undo_reduction(params, false, now);
        } else {
            self.rack.on_recovery_end();
            //= RFC 5681 3.2-8: The ACK that ends recovery sets cwnd to ssthresh at most.
            if !Self::has_full_control(params) && self.undo.is_open() {
                self.output.cwnd = self.output.ssthresh;
            }
            // A D-SACK can still undo the reduction.
        }
        self.open(params, now);
    }

    /// Ends recovery or the loss state.
    fn open(&mut self, params: &TcpParams, now: Time) {
        let repaired = self.in_recovery();
        self.phase = Phase::Open;
        self.watches_timeout = false;
        if repaired {
            self.tell(params, Event::RecoveryEnds, now);
        }
    }

    /// Undoes the reduction if a partial ACK was caused by an original transmission, so that nothing was lost
    /// (`tcp_try_undo_partial`).
    fn undo_partly(&mut self, params: &TcpParams, ack: &Ack, now: Time) {
        if !self.undo.answers_original(ack.echo) {
            return;
        }
        self.rack.on_late_original();
        if !params.undo || self.records.resent() > 0 {
            return;
        }
        self.undo_reduction(params, true, now);
        self.open(params, now);
    }

    /// Processes an ACK in the loss state (`tcp_process_loss`), with F-RTO (RFC 5682 section 3.1).
    fn on_ack_after_timeout(&mut self, params: &TcpParams, ack: &Ack, news: &News, now: Time) {
        let advances = news.in_order > 0;
        let ends = self.records.una() >= self.recover;
        if advances && params.undo && (self.undo.answers_original(ack.echo) || self.undo.all_copies_were_needless()) {
            self.undo_reduction(params, true, now);
            return self.open(params, now);
        }
        if self.watches_timeout {
            // Step 3 b: a segment that was sent only once has arrived. The timeout was spurious, so `undo` reverts the
            // reduction.
            if news.original && params.undo {
                self.undo_reduction(params, true, now);
                return self.open(params, now);
            }
            if self.records.nxt() > self.recover {
                // Step 3 a: the timeout was genuine.
                self.watches_timeout &= !news.sacked && advances;
            } else if advances && !ends {
                // Step 2 b: the ACKs of new data will show whether the timeout was spurious.
                self.recover = self.records.nxt();
                self.new_data_only = true;
                return;
            }
        }
        if ends {
            // Steps 2 a and 3 a.
            self.rack.on_recovery_end();
            self.open(params, now);
        }
    }

    /// Handles a timeout (`tcp_enter_loss`, `tcp_retransmit_timer`).
    pub(super) fn on_timeout(&mut self, params: &TcpParams, now: Time) {
        self.stats.timeouts += 1;
        let una = self.records.una();
        self.lose_overdue(params, now);
        let first = !self.in_recovery();
        let settled =
            (first && !self.reducing) || self.recover <= una || (self.phase == Phase::Loss && self.retries == 0);
        //= RFC 5681 3.1-14: A segment that times out again leaves ssthresh as it is.
        if settled {
            self.undo.begin(una, self.records.resent(), Some((self.output.cwnd, self.output.ssthresh)));
            self.reduce(params, Cause::Timeout);
        }
        self.congestion.timed_out();
        self.hystart.restart(now, self.records.nxt());
        (self.part_of_growth, self.counted) = (0, 0);
        if !Self::has_full_control(params) {
            //= RFC 5681 3.1-15: A timeout leaves cwnd at one segment.
            self.output.cwnd = clamped(self.in_flight(params)).saturating_add(params.segment_payload);
        }
        self.phase = Phase::Loss;
        self.recover = self.records.nxt();
        self.probe.settle();
        // RFC 5682 2.1: F-RTO checks the first timeout, and later timeouts of the same segment.
        self.watches_timeout = params.frto && (first || self.retries > 0);
        self.new_data_only = false;
        self.tell(params, Event::Timeout, now);
        self.reducing = false;
        self.stats.would_close += u32::from(self.retries == DATA_RETRIES);
        self.retries = self.retries.saturating_add(1);
        //= RFC 6298 5.4-1: A timeout sends the earliest segment again.
        self.forced = Forced::Again(una);
        self.window_due = true;
        self.rtt.back_off(params);
        //= RFC 6298 5.6-1: The timer restarts with the doubled timeout.
        self.timer = Timer::Timeout(params.due(now, self.rtt.rto()));
    }

    /// Marks segments as lost after a timeout: the first one, and all that were sent at least an RTT ago (RFC 8985
    /// 6.3). With the scoreboard, marks all segments in flight (RFC 6675 5.1).
    fn lose_overdue(&mut self, params: &TcpParams, now: Time) {
        let una = self.records.una();
        let mut next = self.records.oldest();
        while let Some(seq) = next {
            next = self.records.sent_after(seq);
            let all = params.loss_detection == LossDetection::Scoreboard;
            if all || seq == una || self.records.at(seq).sent.saturating_add(self.rack.rtt()) <= now {
                self.lose(params, seq, now);
            }
        }
    }

    /// Handles marks reported by an ACK of `acked` segments: the window shrinks once per round trip. `tcp_enter_cwr`.
    pub(super) fn on_marks(&mut self, params: &TcpParams, ack: &Ack, acked: u32, marked: u32, now: Time) {
        // The ACK that ends a reduction may start the next one (tcp_fastretrans_alert, tcp_try_to_open).
        if self.reducing && self.records.una() > self.recover && !Self::is_numbered(params) {
            self.end_reduction(params);
        }
        let classic = params.ecn && !params.has_accurate_ecn() && ack.echoes_congestion();
        if (!classic && marked == 0) || self.reducing || self.in_recovery() {
            return;
        }
        self.stats.ecn_reductions += 1;
        self.recover = self.records.nxt();
        self.numbers.begin_recovery(self.rate.transmissions());
        self.undo.settle();
        //= RFC 3168 6.1.2-2: An echo reduces cwnd and ssthresh as a loss does.
        self.reduce(params, Cause::Mark);
        self.begin_reduction(params, acked);
        self.tell(params, Event::Mark, now);
        self.reducing = true;
    }

    fn end_reduction(&mut self, params: &TcpParams) {
        self.reducing = false;
        if !Self::has_full_control(params) {
            self.output.cwnd = self.output.ssthresh;
        }
    }

    /// Sets the threshold after congestion.
    pub(super) fn reduce(&mut self, params: &TcpParams, cause: Cause) {
        //= RFC 3168 6.1.2-6: CWR in the next new segment announces any reduction.
        self.cwr_due = params.ecn;
        (self.part_of_growth, self.counted) = (0, 0);
        if Self::has_full_control(params) {
            return;
        }
        let mss = u64::from(params.segment_payload);
        let flight = Flight {
            cwnd: self.output.cwnd,
            outstanding: u64::from(self.records.outstanding()) * mss,
            pipe: self.in_flight(params),
            cause,
        };
        self.output.ssthresh = self.congestion.reduce(params, flight);
    }

    /// Starts to move the window to the threshold: at once, or by PRR. The current ACK covers `acked` segments.
    pub(super) fn begin_reduction(&mut self, params: &TcpParams, acked: u32) {
        // RFC 9937 6.1: RecoverFS includes the data acknowledged by the ACK that starts recovery.
        let flight = match params.loss_detection {
            LossDetection::Scoreboard => (self.records.outstanding() + acked).saturating_mul(params.segment_payload),
            _ => self.output.cwnd / params.segment_payload,
        };
        self.prr.begin(flight);
        if params.recovery == Recovery::NewReno && !Self::has_full_control(params) {
            self.output.cwnd = self.output.ssthresh;
        }
    }

    /// Applies PRR after an ACK.
    pub(super) fn reduce_in_proportion(&mut self, params: &TcpParams, delivery: Delivery) {
        if params.recovery == Recovery::NewReno {
            return;
        }
        let unit = Self::unit_of_reduction(params);
        let units = params.segment_payload / unit;
        let delivery = Delivery {
            delivered: delivery.delivered.saturating_mul(unit),
            in_flight: delivery.in_flight.saturating_mul(unit),
            ..delivery
        };
        if let Some(window) = self.prr.window(self.output.ssthresh / units, unit, delivery) {
            self.output.cwnd = window.saturating_mul(units);
        }
    }

    /// Amount that a segment adds to the counters of a reduction: its bytes with the scoreboard, otherwise one.
    pub(super) fn unit_of_reduction(params: &TcpParams) -> u32 {
        if params.loss_detection == LossDetection::Scoreboard { params.segment_payload } else { 1 }
    }

    /// Undoes the last reduction because it was spurious, as in RFC 4015 section 3.2 and `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, params: &TcpParams, nothing_lost: bool, now: Time) {
        if nothing_lost {
            self.records.restore_lost();
        }
        let Some((cwnd, ssthresh)) = self.undo.take() else { return };
        self.stats.undone_reductions += 1;
        if !Self::has_full_control(params) {
            self.output.cwnd = self.output.cwnd.max(cwnd);
            self.output.ssthresh = self.output.ssthresh.max(ssthresh);
        }
        self.tell(params, Event::Undo { cwnd, ssthresh }, now);
    }
}
