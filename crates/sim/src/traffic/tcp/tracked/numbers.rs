//! Congestion signals from packet numbers in QUIC (RFC 9002 7.3.2, 7.6).

use fairlane_schemes::base::units::Time;

use super::records::Record;

#[derive(Clone, Debug)]
pub(super) struct Numbers {
    /// Last packet sent before recovery began. Losses up to this packet belong to that recovery.
    pub(super) recovery: u32,
    pub(super) newest_lost: u32,
    /// Last packet of a run of losses without an acknowledged packet in between. The next field is the send time of the
    /// first packet of the run.
    run_end: u32,
    run_since: Time,
    /// Longest period of sending in which all packets were lost, among the losses detected now.
    pub(super) longest: Time,
}

impl Numbers {
    pub(super) const NEW: Self =
        Self { recovery: 0, newest_lost: 0, run_end: 0, run_since: Time::ZERO, longest: Time::ZERO };

    pub(super) fn begin_recovery(&mut self, last: u32) {
        self.recovery = last;
    }

    pub(super) fn on_lost(&mut self, record: &Record) {
        self.newest_lost = self.newest_lost.max(record.number);
        if record.number != self.run_end.wrapping_add(1) {
            self.run_since = record.sent;
        }
        self.run_end = record.number;
        self.longest = self.longest.max(record.sent.saturating_sub(self.run_since));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_losses_lasts_until_a_packet_between_was_not_lost() {
        let lost = |number, at| Record { number, sent: Time::from_millis(at), ..Record::BLANK };
        let mut numbers = Numbers::NEW;
        numbers.on_lost(&lost(5, 100));
        numbers.on_lost(&lost(6, 150));
        numbers.on_lost(&lost(7, 900));
        assert_eq!(numbers.longest, Time::from_millis(800));
        numbers.longest = Time::ZERO;
        numbers.on_lost(&lost(9, 2000));
        assert_eq!((numbers.longest, numbers.newest_lost), (Time::ZERO, 9));
    }
}
