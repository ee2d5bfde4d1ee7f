//! State of RACK (RFC 8985 section 6): the latest delivered transmission, and the degree of reordering.

use fairlane_schemes::base::units::Time;

use super::records::Transmission;

/// Number of recoveries after the last D-SACK during which the wider reordering window is kept (RFC 8985 6.2 step 4).
const PERSISTENCE: u8 = 16;
/// Latest delivered transmission, and degree of reordering.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Number of the latest delivered transmission, which defines the order of sending. It replaces RACK.xmit_ts and
    /// RACK.end_seq, which are ambiguous if several segments are sent at the same time.
    number: u32,
    /// RTT of the delivery processed last (RACK.rtt).
    rtt: Time,
    /// Highest delivered segment plus one (RACK.fack).
    highest: u32,
    /// Value of `highest` after the previous ACK.
    highest_before: u32,
    reordering_seen: bool,
    /// Reordering window in units of a quarter of the minimum RTT (RACK.reo_wnd_mult).
    steps: u8,
    /// Recoveries until `steps` becomes 1 again (RACK.reo_wnd_persist).
    persist: u8,
    /// Segment that must be acknowledged before `steps` grows again (RACK.dsack_round).
    step_round: Option<u32>,
}

/// Inputs that determine the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    pub(super) min_rtt: Time,
    pub(super) srtt: Time,
    pub(super) in_recovery: bool,
    pub(super) sacked: u32,
    pub(super) threshold: u32,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            number: 0,
            rtt: Time::ZERO,
            highest: 0,
            highest_before: 0,
            reordering_seen: false,
            steps: 1,
            persist: 0,
            step_round: None,
        }
    }

    /// Prepares for an ACK. The order of the segments that one ACK reports is unknown, so only segments reported by
    /// earlier ACKs show reordering (`prior_fack` in `tcp_input.c` tcp_ack).
    #[inline]
    pub(super) fn begin_ack(&mut self) {
        self.highest_before = self.highest;
    }

    /// Records that segment `seq` is delivered (RFC 8985 6.2, steps 2 and 3).
    #[inline]
    pub(super) fn on_delivered(&mut self, seq: u32, record: &Transmission, now: Time, min_rtt: Time) {
        // Step 3: the segment is below those delivered before this ACK, and was not retransmitted.
        self.reordering_seen |= seq < self.highest_before && !record.resent;
        self.highest = self.highest.max(seq + 1);
        let rtt = now.saturating_sub(record.sent);
        // Step 2: the ACK is too early to be for the retransmission, so the original arrived.
        if record.resent && rtt < min_rtt {
            return;
        }
        // As in tcp_rack_advance. In RFC 8985 the RTT is that of the latest delivered transmission.
        self.rtt = rtt;
        self.number = self.number.max(record.number);
    }

    /// Step 4: processes an ACK with a D-SACK. It widens the window by one step, but only once until `nxt` is
    /// acknowledged.
    pub(super) fn on_dsack(&mut self, nxt: u32) {
        if self.step_round.is_none() {
            self.step_round = Some(nxt);
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSISTENCE;
        }
    }

    /// Step 4: records that `una` is acknowledged.
    #[inline]
    pub(super) fn on_advance(&mut self, una: u32) {
        if self.step_round.is_some_and(|round| una >= round) {
            self.step_round = None;
        }
    }

    /// Step 4: records the end of a recovery.
    pub(super) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Step 4: reordering window, the time by which a segment may arrive after later ones.
    pub(super) fn reordering_window(&self, of: Reordering) -> Time {
        if !self.reordering_seen && (of.in_recovery || of.sacked >= of.threshold) {
            return Time::ZERO;
        }
        let window = Time((of.min_rtt.0 / 4).saturating_mul(u64::from(self.steps)));
        // Linux limits the window to SRTT.
        window.min(of.srtt)
    }

    /// Highest transmission number among all delivered segments.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn highest(&self) -> u32 {
        self.highest
    }

    /// Records that an original arrived late, which indicates reordering.
    pub(super) fn on_late_original(&mut self) {
        self.reordering_seen = true;
    }

    pub(super) fn rtt(&self) -> Time {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn sent(at: u64, number: u32, resent: bool) -> Transmission {
        Transmission { sent: MS(at), number, resent, app_limited: false, was_sacked: false }
    }

    fn of() -> Reordering {
        Reordering { min_rtt: MS(40), srtt: MS(50), in_recovery: false, sacked: 1, threshold: 3 }
    }

    #[test]
    fn the_segment_processed_last_gives_the_rtt_and_the_one_sent_last_the_order() {
        let mut rack = Rack::new();
        rack.on_delivered(5, &sent(10, 5, false), MS(60), MS(40));
        rack.on_delivered(3, &sent(8, 3, false), MS(62), MS(40));
        assert_eq!((rack.number, rack.rtt()), (5, MS(54)));
        // If two segments are sent at the same time, the one with the higher transmission number is the latest.
        rack.on_delivered(2, &sent(10, 6, true), MS(63), MS(40));
        assert_eq!((rack.number, rack.rtt()), (6, MS(53)));
    }

    #[test]
    fn a_copy_that_comes_back_sooner_than_the_least_rtt_was_the_original() {
        let mut rack = Rack::new();
        rack.on_delivered(5, &sent(10, 5, false), MS(60), MS(40));
        rack.on_delivered(3, &sent(50, 9, true), MS(89), MS(40));
        assert_eq!(rack.number, 5);
        rack.on_delivered(3, &sent(50, 9, true), MS(90), MS(40));
        assert_eq!((rack.number, rack.rtt()), (9, MS(40)));
    }

    #[test]
    fn reordering_is_seen_where_an_original_comes_below_what_is_delivered() {
        let mut rack = Rack::new();
        rack.on_delivered(5, &sent(10, 5, false), MS(60), MS(40));
        rack.begin_ack();
        rack.on_delivered(3, &sent(8, 3, true), MS(62), MS(40));
        assert!(!rack.reordering_seen);
        rack.on_delivered(4, &sent(9, 4, false), MS(62), MS(40));
        assert!(rack.reordering_seen);
    }

    #[test]
    fn what_one_ack_reports_in_whatever_order_is_no_reordering() {
        // The ACK for segment 4 was delayed. It acknowledges up to segment 5, which is lost, and SACKs segment 6.
        let mut rack = Rack::new();
        rack.begin_ack();
        rack.on_delivered(6, &sent(10, 6, false), MS(60), MS(40));
        rack.on_delivered(4, &sent(8, 4, false), MS(60), MS(40));
        assert!(!rack.reordering_seen);
    }

    #[test]
    fn without_reordering_the_window_is_none_in_recovery_or_with_three_sacked() {
        let mut rack = Rack::new();
        assert_eq!(rack.reordering_window(of()), MS(10));
        assert_eq!(rack.reordering_window(Reordering { in_recovery: true, ..of() }), MS(0));
        assert_eq!(rack.reordering_window(Reordering { sacked: 3, ..of() }), MS(0));
        rack.reordering_seen = true;
        assert_eq!(rack.reordering_window(Reordering { sacked: 3, ..of() }), MS(10));
    }

    #[test]
    fn the_window_widens_once_a_round_trip_with_dsacks_and_shrinks_after_sixteen_recoveries() {
        let mut rack = Rack::new();
        rack.on_dsack(20);
        rack.on_dsack(30);
        assert_eq!(rack.reordering_window(of()), MS(20));
        rack.on_advance(20);
        rack.on_dsack(40);
        assert_eq!(rack.reordering_window(of()), MS(30));
        (0..15).for_each(|_| rack.on_recovery_end());
        assert_eq!(rack.reordering_window(of()), MS(30));
        rack.on_recovery_end();
        assert_eq!(rack.reordering_window(of()), MS(10));
        // The window never exceeds SRTT.
        for round in 0..9 {
            rack.on_advance(100 * round);
            rack.on_dsack(100 * round + 50);
        }
        assert_eq!(rack.reordering_window(of()), MS(50));
    }
}
