//! Packet-timed round trips: a round ends when a segment is delivered that was sent after the round started.
//!
//! Source: draft-ietf-ccwg-bbr, section 5.5.1; draft-cardwell-iccrg-bbr-congestion-control-00, section 4.1.1.3.

/// Counts round trips in terms of C.delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// The round ends when a segment is delivered that was sent at this value of C.delivered or later
    /// (next_round_delivered).
    end: u64,
    /// Rounds so far (round_count).
    pub count: u64,
    /// True if the current ACK is the first of a round (round_start).
    pub started: bool,
}

impl Rounds {
    /// Implements UpdateRound for an ACK. C.delivered was `prior_delivered` when its newest segment was sent.
    #[inline]
    pub fn update(&mut self, prior_delivered: u64, delivered: u64) {
        self.started = prior_delivered >= self.end;
        if self.started {
            self.end = delivered;
            self.count += 1;
        }
    }

    /// Like [`Rounds::update`], but a round ends with the last segment that was in flight at its start.
    #[inline]
    pub fn update_early(&mut self, delivered: u64, in_flight: u32) {
        self.started = delivered >= self.end;
        if self.started {
            self.end = delivered + u64::from(in_flight);
            self.count += 1;
        }
    }

    /// Starts a new round (StartRound).
    #[inline]
    pub fn restart(&mut self, delivered: u64) {
        self.end = delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_lasts_until_what_was_sent_in_it_is_delivered() {
        let mut rounds = Rounds::default();
        // (P.delivered, C.delivered): the second and third segments were sent before the first was delivered.
        let started = [(0, 1), (0, 2), (0, 3), (1, 4), (3, 5), (4, 6)].map(|(prior, delivered)| {
            rounds.update(prior, delivered);
            rounds.started
        });
        assert_eq!(started, [true, false, false, true, false, true]);
        assert_eq!(rounds.count, 3);
    }

    #[test]
    fn an_early_round_ends_with_the_last_segment_that_was_in_flight() {
        let mut rounds = Rounds::default();
        // (C.delivered, in flight): three are in flight after the first ACK; the fourth ACK delivers the last of them.
        let started = [(1, 3), (2, 3), (3, 3), (4, 2), (5, 2), (6, 2)].map(|(delivered, in_flight)| {
            rounds.update_early(delivered, in_flight);
            rounds.started
        });
        assert_eq!(started, [true, false, false, true, false, true]);
    }

    #[test]
    fn a_round_that_begins_anew_waits_for_what_is_sent_from_now_on() {
        let mut rounds = Rounds::default();
        rounds.update(0, 10);
        rounds.restart(20);
        rounds.update(19, 21);
        assert!(!rounds.started, "it was sent before the round began anew");
        rounds.update(20, 22);
        assert!(rounds.started);
    }
}
