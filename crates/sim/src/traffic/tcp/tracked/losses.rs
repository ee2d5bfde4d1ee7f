//! Loss detection by time (RFC 8985 section 6), by packet number and time as in QUIC (RFC 9002 section 6.1), and by
//! SACK counts (RFC 6675 section 4).

use fairlane_schemes::base::units::Time;

use super::TrackedSender;
use super::rack::Reordering;
use crate::traffic::tcp::{LossDetection, TcpParams};

/// RFC 9002 6.1.2: kTimeThreshold = 9/8, and kGranularity.
const TIME_THRESHOLD: (u64, u64) = (9, 8);
const GRANULARITY: Time = Time::from_millis(1);

impl TrackedSender {
    /// Returns false if [`TrackedSender::detect_losses`] cannot find a loss. With RACK and in QUIC, no loss can be
    /// found if all data in flight were sent after the last delivered segment. This is the case at most ACKs.
    #[inline]
    pub(super) fn may_have_lost(&self, params: &TcpParams) -> bool {
        let is_older = |seq| self.records.at(seq).number <= self.rack.number();
        params.loss_detection == LossDetection::Scoreboard || self.records.oldest().is_some_and(is_older)
    }

    /// Marks overdue segments as lost. Returns the time at which the next one will be overdue (RFC 8985 6.2 step 5, RFC
    /// 9002 6.1).
    pub(super) fn detect_losses(&mut self, params: &TcpParams, now: Time) -> Option<Time> {
        if params.loss_detection == LossDetection::Scoreboard {
            self.detect_by_scoreboard(params, now);
            return None;
        }
        let by_number = Self::is_numbered(params);
        let (mut delay, mut last_due) = (None, None);
        let mut next = self.records.oldest();
        while let Some(seq) = next {
            let record = self.records.at(seq);
            // RACK_sent_after.
            if record.number > self.rack.number() {
                // All other segments were sent even later.
                break;
            }
            let (number, sent) = (record.number, record.sent);
            next = self.records.sent_after(seq);
            let delay = *delay.get_or_insert_with(|| self.loss_delay(params));
            //= RFC 9002 6.1-1: A packet is lost if a later one is acknowledged and it is kPacketThreshold packets or
            //= long enough behind.
            //= RFC 9002 6.1.1-1, by dupack_threshold: kPacketThreshold is 3.
            //= RFC 9002 6.1.1-2, by dupack_threshold: It is not below 3.
            let beyond = by_number && number.saturating_add(params.dupack_threshold) <= self.rack.number();
            let due = sent.saturating_add(delay);
            //= RFC 9002 6.1.2-1: Once a later packet is acknowledged, one is lost that was sent the time threshold ago.
            if beyond || due <= now {
                self.lose(params, seq, now);
            } else if by_number {
                return Some(due);
            } else {
                // Linux waits until all these segments are overdue (tcp_rack_detect_loss).
                last_due = Some(due);
            }
        }
        last_due
    }

    /// Marks segments as lost by IsLost of RFC 6675 section 4: `dupack_threshold` segments above a lost segment are
    /// SACKed. Lost retransmissions are not detected, as in section 5.
    fn detect_by_scoreboard(&mut self, params: &TcpParams, now: Time) {
        let Some(bound) = self.records.highest_sacked(params.dupack_threshold, self.rack.highest()) else { return };
        let mut next = self.records.oldest();
        while let Some(seq) = next {
            next = self.records.sent_after(seq);
            if self.records.at(seq).resent {
                continue;
            }
            // Segments that were sent only once are sorted by their numbers, so no later one is below `bound`.
            if seq >= bound {
                break;
            }
            self.lose(params, seq, now);
        }
    }

    /// Time from the transmission of a segment until the segment is considered lost if a later one is delivered.
    fn loss_delay(&self, params: &TcpParams) -> Time {
        if Self::is_numbered(params) {
            // RFC 9002 6.1.2: max(9/8 max(smoothed_rtt, latest_rtt), granularity).
            //= RFC 9002 6.1.2-2: The time threshold is kGranularity at least.
            //= RFC 9002 6.1.2-4: kTimeThreshold is 9/8, kGranularity a millisecond.
            let rtt = self.rtt.srtt().max(self.rtt.latest());
            return Time(rtt.0 / TIME_THRESHOLD.1 * TIME_THRESHOLD.0).max(GRANULARITY);
        }
        let window = self.rack.reordering_window(Reordering {
            min_rtt: self.rtt.least(),
            srtt: self.rtt.srtt(),
            in_recovery: self.in_recovery(),
            sacked: self.records.sacked(),
            threshold: params.dupack_threshold,
        });
        self.rack.rtt().saturating_add(window)
    }
}
