//! Inputs of BBRv3 from ACKs: bandwidth, congestion signals of the latest round, aggregation (draft-ietf-ccwg-bbr,
//! sections 5.5.1 to 5.5.9 and 5.5.10.3).

use super::super::control::{Connection, Output};
use super::super::model::byte_rate::ByteRate;
use super::params::Bbr3Params;
use super::{Ack, Bbr3, UNBOUNDED};

impl Bbr3 {
    /// Implements UpdateLatestDeliverySignals (5.5.10.3).
    pub(super) fn update_latest_delivery_signals(&mut self, ack: &Ack<'_>) {
        self.bw_latest = self.bw_latest.max(ack.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(ack.delivered);
        self.loss_round_start = ack.sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = ack.sample.delivered;
        }
    }

    /// Implements AdvanceLatestDeliverySignals (5.5.10.3).
    pub(super) fn advance_latest_delivery_signals(&mut self, ack: &Ack<'_>) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (ack.delivery_rate, ack.delivered);
        }
    }

    /// Implements ResetCongestionSignals (5.5.10.3).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.marks.forget_round();
        (self.bw_latest, self.inflight_latest) = (ByteRate::default(), 0);
    }

    /// Implements UpdateCongestionSignals (5.5.10.3).
    pub(super) fn update_congestion_signals(
        &mut self,
        of: Connection,
        params: &Bbr3Params,
        output: &Output,
        ack: &Ack<'_>,
    ) {
        self.update_max_bw(ack);
        self.update_marks(of, params, output, ack);
        if !self.loss_round_start {
            return;
        }
        self.adapt_lower_bounds_from_congestion(params, output);
        self.is_loss_in_round = false;
        self.marks.forget_round();
        if !self.in_recovery {
            self.undo = None; // the recorded losses need no recovery
        }
    }

    /// Implements UpdateMaxBw (5.5.5), with UpdateRound (5.5.1).
    fn update_max_bw(&mut self, ack: &Ack<'_>) {
        self.rounds.update(ack.sample.prior_delivered, ack.sample.delivered);
        if self.rounds.started {
            self.rounds_since_probe_up += 1;
        }
        // 5.5.4: an application-limited sample counts only if it is not below the maximum.
        if ack.delivery_rate.0 > 0.0 && (ack.delivery_rate >= self.max_bw || !ack.app_limited) {
            self.max_bw_filter[1] = self.max_bw_filter[1].max(ack.delivery_rate);
            self.max_bw = self.max_bw_filter[0].max(self.max_bw_filter[1]);
        }
    }

    /// Implements AdvanceMaxBwFilter (5.5.6). Deviation 5.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter[1].0 > 0.0 {
            self.max_bw_filter = [self.max_bw_filter[1], ByteRate::default()];
            self.max_bw = self.max_bw_filter[0];
        }
    }

    /// Implements AdaptLowerBoundsFromCongestion (5.5.10.3), with InitLowerBounds and LossLowerBounds.
    fn adapt_lower_bounds_from_congestion(&mut self, params: &Bbr3Params, output: &Output) {
        if self.is_probing_bw() {
            return;
        }
        let by_marks = self.marks.bound(self.inflight_shortterm.min(u64::from(output.cwnd)));
        if self.is_loss_in_round {
            if self.bw_shortterm == ByteRate::UNBOUNDED {
                self.bw_shortterm = self.max_bw;
            }
            if self.inflight_shortterm == UNBOUNDED {
                self.inflight_shortterm = u64::from(output.cwnd);
            }
            self.bw_shortterm = self.bw_latest.max(self.bw_shortterm.times(params.bbr3_beta));
            let kept = (self.inflight_shortterm as f64 * params.bbr3_beta) as u64;
            self.inflight_shortterm = self.inflight_latest.max(kept);
        }
        self.inflight_shortterm = self.inflight_shortterm.min(by_marks);
    }

    /// Implements ResetShortTermModel (5.5.10.3).
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (ByteRate::UNBOUNDED, UNBOUNDED);
    }

    /// Implements BoundBWForModel (5.5.10.3).
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.min(self.bw_shortterm);
    }

    /// Implements UpdateACKAggregation (5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, params: &Bbr3Params, output: &Output, ack: &Ack<'_>) {
        let now = ack.sample.now;
        let mut expected = self.bw.over(now.saturating_sub(self.extra_acked_interval_start));
        if self.extra_acked_delivered as f64 <= expected {
            (self.extra_acked_delivered, self.extra_acked_interval_start, expected) = (0, now, 0.0);
        }
        self.extra_acked_delivered += u64::from(ack.sample.acked);
        let extra = (self.extra_acked_delivered as f64 - expected).min(f64::from(output.cwnd));
        let rounds = if self.full_bw_reached { u64::from(params.bbr3_extra_acked_rounds) } else { 1 };
        self.extra_acked = self.extra_acked_filter.update(rounds, self.rounds.count, extra) as u64;
    }
}
