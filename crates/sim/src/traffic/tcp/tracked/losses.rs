//! Loss detection by time (RFC 8985 section 6), and by packet number and time as in QUIC (RFC 9002 section 6.1).

use fairlane_schemes::base::units::Time;

use super::TrackedSender;
use super::rack::Reordering;
use crate::traffic::tcp::TcpParams;

/// RFC 9002 6.1.2 kTimeThreshold = 9/8, kGranularity.
const TIME_THRESHOLD: (u64, u64) = (9, 8);
const GRANULARITY: Time = Time::from_millis(1);

impl TrackedSender {
    /// Takes segments for lost that are overdue, and says when the next one will be. RFC 8985 6.2 step 5, RFC 9002 6.1.
    pub(super) fn detect_losses(&mut self, params: &TcpParams, now: Time) -> Option<Time> {
        let by_number = Self::is_numbered(params);
        let mut delay = None;
        let mut next = self.records.oldest();
        while let Some(seq) = next {
            let record = *self.records.at(seq);
            // RACK_sent_after.
            if record.number > self.rack.number() {
                // All the others were sent later still.
                break;
            }
            next = self.records.sent_after(seq);
            let delay = *delay.get_or_insert_with(|| self.loss_delay(params));
            let beyond = by_number && record.number.saturating_add(params.dupack_threshold) <= self.rack.number();
            let due = record.sent.saturating_add(delay);
            if !beyond && due > now {
                return Some(due);
            }
            self.lose(params, seq, now);
        }
        None
    }

    /// How long after its sending a segment is lost if a later one is delivered.
    fn loss_delay(&self, params: &TcpParams) -> Time {
        if Self::is_numbered(params) {
            // RFC 9002 6.1.2: max(9/8 max(smoothed_rtt, latest_rtt), granularity).
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
