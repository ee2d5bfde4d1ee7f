//! Proportional rate reduction (RFC 6937, RFC 9937), counted in segments as in Linux (`tcp_input.c` tcp_cwnd_reduction)
//! or, with `loss_detection = "scoreboard"`, in bytes as in the RFCs. All counts use this unit; a segment has `size`
//! units.

/// State of a reduction, from its start until the data outstanding at that time are acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// RecoverFS, in bytes. If PRR counts segments, the congestion window before the reduction, in segments.
    flight: u32,
    /// Data delivered in this reduction (prr_delivered).
    delivered: u32,
    /// Data sent in this reduction (prr_out).
    sent: u32,
}

/// Information from an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Newly delivered data.
    pub(super) delivered: u32,
    /// True if a loss was newly detected.
    pub(super) any_lost: bool,
    pub(super) advances: bool,
    /// Data in flight after the ACK.
    pub(super) in_flight: u32,
}

impl Prr {
    pub(super) fn begin(&mut self, flight: u32) {
        *self = Self { flight: flight.max(1), delivered: 0, sent: 0 };
    }

    #[inline]
    pub(super) fn on_send(&mut self, size: u32) {
        self.sent = self.sent.saturating_add(size);
    }

    /// Returns the window after an ACK, or `None` if the window does not change.
    pub(super) fn window(&mut self, ssthresh: u32, size: u32, of: Delivery) -> Option<u32> {
        if of.delivered == 0 {
            return None;
        }
        self.delivered = self.delivered.saturating_add(of.delivered);
        let count = if of.in_flight > ssthresh {
            // RFC 9937 section 6: sends in proportion to delivered data.
            let target = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(self.flight));
            u32::try_from(target).unwrap_or(u32::MAX).saturating_sub(self.sent)
        } else {
            // Conservative bound, plus one segment if the ACK shows progress without new losses (SafeACK).
            let extra = if of.advances && !of.any_lost { size } else { 0 };
            let limit = self.delivered.saturating_sub(self.sent).max(of.delivered) + extra;
            limit.min(ssthresh - of.in_flight)
        };
        // The window always has room for the fast retransmission.
        Some(of.in_flight + count.max(if self.sent == 0 { size } else { 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(delivered: u32, in_flight: u32) -> Delivery {
        Delivery { delivered, any_lost: false, advances: false, in_flight }
    }

    #[test]
    fn above_the_threshold_sends_in_proportion_to_what_is_delivered() {
        // RFC 6937 section 4, figure: when the window is reduced from 20 segments to 10, every second ACK releases one
        // segment.
        let mut prr = Prr::default();
        prr.begin(20);
        let mut sent = 0;
        for k in 1..=6 {
            let in_flight = 19 - k + sent;
            let window = prr.window(10, 1, ack(1, in_flight)).unwrap();
            for _ in in_flight..window {
                prr.on_send(1);
                sent += 1;
            }
            assert_eq!(sent, k.div_ceil(2));
        }
    }

    #[test]
    fn below_the_threshold_sends_what_is_delivered_and_one_more_on_progress_without_loss() {
        let mut prr = Prr::default();
        prr.begin(20);
        prr.on_send(1);
        assert_eq!(prr.window(10, 1, ack(2, 3)), Some(3 + 2));
        let safe = Delivery { advances: true, ..ack(2, 3) };
        // With prr_delivered = 4 and prr_out = 1, PRR may send max(3, 2) + 1 = 4 segments.
        assert_eq!(prr.window(10, 1, safe), Some(3 + 4));
        assert_eq!(prr.window(10, 1, Delivery { any_lost: true, ..safe }), Some(3 + 5));
        // The window never exceeds the threshold.
        assert_eq!(prr.window(10, 1, Delivery { delivered: 9, ..safe }), Some(10));
    }

    #[test]
    fn in_bytes_a_threshold_between_two_segments_counts_in_full() {
        // The window is reduced from 5 segments of 1000 bytes to 4.4 segments. Counted in segments, PRR sends 4/5 of
        // the delivered data; counted in bytes, 4400/5000 = 0.88.
        let mut prr = Prr::default();
        prr.begin(5000);
        prr.on_send(1000);
        assert_eq!(prr.window(4400, 1000, ack(2000, 5000)), Some(5000 + 1760 - 1000));
    }

    #[test]
    fn the_first_retransmission_needs_no_room_and_an_ack_without_news_changes_nothing() {
        let mut prr = Prr::default();
        prr.begin(10);
        assert_eq!(prr.window(5, 1, ack(0, 9)), None);
        // PRR sends at least ceil(1 * 1 / 10) - 0 = 1 segment.
        assert_eq!(prr.window(1, 1, ack(1, 8)), Some(9));
        prr.on_send(1);
        assert_eq!(prr.window(1, 1, ack(1, 8)), Some(8));
    }
}
