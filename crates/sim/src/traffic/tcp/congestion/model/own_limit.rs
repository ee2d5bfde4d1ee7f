//! Delivery-rate samples limited by the control itself. Like application-limited samples, they underestimate the path.
//!
//! Source: MarkConnectionAppLimited of draft-ietf-ccwg-bbr, section 4.1.2.4, as used by ProbeRTT. The sender marks
//! segments sent while it has too few data; a control marks segments sent while it holds the flow back.

/// Range of C.delivered in which segments were sent while the control held the flow back.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnLimit {
    from: u64,
    /// End of the range; 0 before the first one.
    until: u64,
}

impl OwnLimit {
    /// Records that the control now holds the flow back. Segments sent from now until all data now in flight are
    /// delivered count as limited.
    pub fn mark(&mut self, delivered: u64, in_flight: u32) {
        if delivered > self.until {
            self.from = delivered;
        }
        self.until = (delivered + u64::from(in_flight)).max(1);
    }

    /// Returns true if the segment sent at `prior_delivered` was sent while the control held the flow back.
    #[inline]
    pub fn covers(&self, prior_delivered: u64) -> bool {
        self.until > 0 && (self.from..=self.until).contains(&prior_delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_under_restraint_is_limited_and_what_is_sent_before_and_after_is_not() {
        let mut limit = OwnLimit::default();
        assert!(!limit.covers(0));
        limit.mark(100, 50);
        limit.mark(120, 40);
        assert_eq!([99, 100, 160, 161].map(|prior| limit.covers(prior)), [false, true, true, false]);
        // A second range starts much later.
        limit.mark(1000, 10);
        assert_eq!([160, 999, 1000, 1010].map(|prior| limit.covers(prior)), [false, false, true, true]);
    }
}
