//! Tail loss probes: RFC 8985 section 7, as in Linux (`tcp_output.c` tcp_schedule_loss_probe, tcp_send_loss_probe;
//! `tcp_input.c` tcp_process_tlp_ack).

use fairlane_schemes::base::units::Time;

use super::acknowledge::News;
use super::timer::{LEAST_TIMEOUT, Timer};
use super::{Forced, TrackedSender};
use crate::traffic::tcp::congestion::control::{Cause, Event};
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{Ack, TcpParams};

impl TrackedSender {
    /// Delay from now until a tail loss probe, or `None` if no probe may be sent (RFC 8985 7.2).
    pub(super) fn probe_time(&self, params: &TcpParams) -> Option<Time> {
        let calm = self.phase == Phase::Open && self.records.sacked() == 0;
        if !params.tlp || !calm || self.records.outstanding() == 0 || self.probe.end.is_some() {
            return None;
        }
        if self.rtt.srtt() == Time::ZERO {
            return Some(params.initial_rto);
        }
        // A single outstanding segment may wait for a delayed ACK, in Linux for up to the minimum timeout.
        let more = if self.records.outstanding() == 1 { params.min_rto } else { LEAST_TIMEOUT };
        Some(Time(2 * self.rtt.srtt().0).saturating_add(more))
    }

    /// Handles an expired probe timer (RFC 8985 7.3).
    pub(super) fn on_probe_timer(&mut self, params: &TcpParams, now: Time) {
        self.timer = Timer::Timeout(params.due(now, self.rtt.rto()));
        self.forced = if self.has_new_segment(params) {
            self.probe.repeats = false;
            Forced::New
        } else if let Some(last) = self.records.last_unsacked() {
            self.probe.repeats = true;
            Forced::Again(last)
        } else {
            return;
        };
        self.stats.tail_loss_probes += 1;
        self.probe.end = Some(self.records.nxt() + u32::from(!self.probe.repeats));
    }

    /// Ends the probe if an ACK acknowledges it (RFC 8985 7.4).
    pub(super) fn probe_answered(&mut self, params: &TcpParams, ack: &Ack, news: &News, now: Time) {
        let Some(end) = self.probe.end else { return };
        if ack.ack < end {
            return;
        }
        let pure_duplicate = news.in_order == 0 && !news.sacked;
        if !self.probe.repeats || news.duplicate {
            self.probe.end = None;
        } else if ack.ack > end {
            // The probe retransmitted a lost segment and so repaired the loss. The window is reduced as in recovery.
            self.probe.end = None;
            if matches!(self.phase, Phase::Open | Phase::Disorder) && !self.reducing && !Self::has_full_control(params)
            {
                self.undo.settle();
                self.reduce(params, Cause::Loss);
                self.output.cwnd = self.output.ssthresh;
                self.tell(params, Event::RecoveryEnds, now);
            }
        } else if pure_duplicate {
            // The original and its retransmission have both arrived.
            self.probe.end = None;
        }
    }
}
