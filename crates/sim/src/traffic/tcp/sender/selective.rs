//! Loss recovery with SACK: RFC 6675, and proportional rate reduction (RFC 6937). Rules 12 to 17 of the parent module.

use fairlane_schemes::base::units::Time;

use super::{Sender, socket_buffer};
use crate::traffic::tcp::congestion::control::Cause;
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{Ack, Recovery, Segment, TcpParams};

/// Choices of rule 14.
enum Next {
    /// Rules 1 and 3 of NextSeg: retransmit this segment.
    Again(u32),
    /// Rule 2: send the next new segment.
    New,
    /// Rule 4: retransmit the last segment.
    Rescue,
}

impl Sender {
    /// Processes any ACK, with or without new data. Returns its RTT sample, if any.
    pub(super) fn on_selective_ack(&mut self, params: &TcpParams, ack: &Ack, now: Time) -> Option<Time> {
        let selective = self.selective.as_deref_mut()?;
        let acked = ack.ack - self.una;
        let before = selective.board.sacked();
        selective.board.advance(self.una, ack.ack);
        //= RFC 6675 5-1: Each ACK with SACK updates the scoreboard.
        //= RFC 2018 5-4: The sender keeps what SACKs report.
        //= RFC 6675 5-10: (B) Each ACK in recovery updates the scoreboard and the pipe.
        selective.board.record(ack.ack, self.nxt, &ack.sacks, params.dupack_threshold);
        // RFC 6937 DeliveredData: change of SND.UNA plus change of SACKed data; never negative.
        let delivered = acked + selective.board.sacked() - before;
        self.una = ack.ack;
        let mut sample = None;
        if acked > 0 {
            //= RFC 7323 4.1-1: An echo is a sample only if its ACK covers new data.
            //= RFC 6298 3-1: A segment that was sent twice gives no sample, unless time stamps tell which.
            sample = self.rto.sample(params, now.saturating_sub(ack.echo));
            self.retries = 0;
            self.restart_timer(params, now);
            self.disarm_at_end();
        }
        // As in ProcessAck of ns-3.48, an ACK that advances SND.UNA grows the window for newly delivered segments.
        // Segments SACKed before do not count (segsAcked).
        let credit = self.leave_recovery(if acked > 0 { delivered } else { 0 });
        if credit > 0 && !ack.echoes_congestion() {
            self.grow(params, credit, now);
        }
        self.look_for_loss(params);
        if self.phase == Phase::Recovery && params.recovery == Recovery::Prr {
            self.reduce_in_proportion(params, delivered);
        }
        self.window_due = true;
        sample
    }

    /// Ends recovery or the loss state if `una` has reached `recover`. Returns the number of segments above `recover`,
    /// which count for growth.
    fn leave_recovery(&mut self, delivered: u32) -> u32 {
        match self.phase {
            //= RFC 6675 5-8: (A) The ACK of that point ends recovery.
            //= RFC 6675 5-9: (A) What is SACKed beyond it stays on the scoreboard.
            //= RFC 5681 3.2-8: The ACK that ends recovery sets cwnd to ssthresh at most.
            // Rule 15: step (A) of RFC 6675 section 5.
            Phase::Recovery if self.una >= self.recover => {
                self.cwnd = self.ssthresh;
                self.phase = Phase::Open;
                self.una - self.recover
            }
            Phase::Recovery => 0,
            Phase::Loss if self.una >= self.recover => {
                self.phase = Phase::Open;
                self.una - self.recover
            }
            _ => delivered,
        }
    }

    /// Starts a recovery if the first segment is lost (rule 13, RFC 6675 section 5, steps (1) to (4)). After a timeout,
    /// no recovery starts until all segments sent before it are acknowledged (5.1).
    fn look_for_loss(&mut self, params: &TcpParams) {
        let Some(selective) = self.selective.as_deref_mut() else { return };
        //= RFC 6675 5.1-3: No recovery starts before the ACK of that point.
        if !matches!(self.phase, Phase::Open | Phase::Disorder) {
            return;
        }
        //= RFC 6675 5-3: (2) Recovery starts when the first segment without an ACK is lost.
        if !selective.board.head_lost(self.una) {
            self.phase = if selective.board.sacked() > 0 { Phase::Disorder } else { Phase::Open };
            return;
        }
        self.stats.fast_recoveries += 1;
        // RFC 6937 section 3: RecoverFS, prr_delivered and prr_out. RFC 6675 section 5, step (4): RescueRxt is
        // undefined.
        (selective.recovery_flight, selective.delivered, selective.sent) = (self.nxt - self.una, 0, 0);
        selective.rescued = false;
        selective.board.restart(self.una);
        //= RFC 6675 5-5: (4.1) Recovery ends with the ACK of what is sent by now.
        self.recover = self.nxt;
        //= RFC 3168 6.1.2-4: Marks and losses of one window reduce it once.
        if self.una >= self.marked_until {
            self.reduce(params, Cause::Loss);
        }
        self.phase = Phase::Recovery;
        //= RFC 6675 5-6: (4.2) ssthresh and cwnd are half the flight.
        //= RFC 9438 4.6-1: A loss reduces cwnd and ssthresh as recovery begins.
        self.cwnd = self.ssthresh;
        //= RFC 6675 5-7: (4.3) The first segment without an ACK is sent again, whatever the window.
        self.retransmission_due = true;
        self.restart_at_retransmit(params);
    }

    /// Applies PRR with the slow-start reduction bound (rule 16, RFC 6937 section 3).
    fn reduce_in_proportion(&mut self, params: &TcpParams, delivered: u32) {
        let Some(selective) = self.selective.as_deref_mut() else { return };
        let mss = u64::from(params.segment_payload);
        selective.delivered += delivered;
        let (total, sent) = (u64::from(selective.delivered) * mss, u64::from(selective.sent) * mss);
        let pipe = u64::from(selective.pipe(self.una, self.nxt)) * mss;
        let ssthresh = u64::from(self.ssthresh);
        let send_count = if pipe > ssthresh {
            let flight = u64::from(selective.recovery_flight) * mss;
            (total * ssthresh).div_ceil(flight).saturating_sub(sent)
        } else {
            let limit = total.saturating_sub(sent).max(u64::from(delivered) * mss) + mss;
            limit.min(ssthresh - pipe)
        };
        // The window always has room for the fast retransmission.
        let least = if self.retransmission_due { mss } else { 0 };
        self.cwnd = super::clamped(pipe + send_count.max(least)).max(params.segment_payload);
    }

    pub(super) fn poll_selective(&mut self, params: &TcpParams, now: Time) -> Option<Segment> {
        // RFC 6675 section 5, step (4.3): the fast retransmission ignores the window, as does the first retransmission
        // after a timeout.
        let forced = std::mem::take(&mut self.retransmission_due);
        if !forced && !self.window_due {
            return None;
        }
        let Some(next) = self.next_segment(params, forced) else {
            self.window_due = false;
            return None;
        };
        let (una, nxt) = (self.una, self.nxt);
        let selective = self.selective.as_deref_mut()?;
        selective.sent += 1;
        let seq = match next {
            Next::Again(seq) => {
                //= RFC 6675 5-12: (C.2) What is sent again moves HighRxt, but for NextSeg 4.
                selective.board.resend(una, seq);
                seq
            }
            Next::New => nxt,
            Next::Rescue => {
                selective.rescued = true;
                nxt - 1
            }
        };
        Some(self.send(params, seq, now))
    }

    /// Returns the next segment to send (rule 14, NextSeg of RFC 6675 section 4), if the window has room (step (C) of
    /// section 5) or if `forced`.
    fn next_segment(&self, params: &TcpParams, forced: bool) -> Option<Next> {
        let selective = self.selective.as_deref()?;
        let mss = u64::from(params.segment_payload);
        //= RFC 6675 5-11: (C) NextSeg is sent while cwnd has room for a segment beyond the pipe.
        //= RFC 5681 3.2-2: With SACK a duplicate ACK without news sends nothing new.
        if !forced && (u64::from(selective.pipe(self.una, self.nxt)) + 1) * mss > u64::from(self.cwnd) {
            return None;
        }
        //= RFC 6675 4-4: NextSeg 1: the first lost segment that was not sent again.
        //= RFC 6675 5.1-4: After a timeout, SACKs still choose what is sent.
        //= RFC 2018 5-1: What is SACKed is not sent again.
        if let Some(seq) = selective.board.next_lost(self.una) {
            return Some(Next::Again(seq));
        }
        //= RFC 6675 5-4: (3) Before that, new segments are sent as pipe and cwnd allow.
        let unlimited = self.phase != Phase::Disorder || params.limited_transmit;
        let window = socket_buffer(params).min(if unlimited { u32::MAX } else { self.cwnd });
        //= RFC 6675 4-5: NextSeg 2: else a new segment, if the receiver's window allows.
        if self.room(params, window) {
            return Some(Next::New);
        }
        if self.phase != Phase::Recovery {
            return None;
        }
        match selective.board.next_doubtful(self.una) {
            //= RFC 6675 4-6: NextSeg 3: else the first segment below a SACKed one that was not sent again.
            Some(seq) => Some(Next::Again(seq)),
            //= RFC 6675 4-7, deviation: NextSeg 4: else, once a recovery, the last segment that is not SACKed.
            None if !selective.rescued && selective.board.tail_unknown(self.nxt) => Some(Next::Rescue),
            //= RFC 6675 4-8: NextSeg 5: else nothing.
            None => None,
        }
    }
}
