//! Detection of spurious reductions: Eifel by timestamps (RFC 3522, RFC 4015) and D-SACK (RFC 2883, RFC 3708), as in
//! Linux (`tcp_input.c` tcp_may_undo).

use fairlane_schemes::base::units::Time;

#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// SND.UNA at the reduction (undo_marker); `None` if there is nothing to undo.
    marker: Option<u32>,
    /// Number of retransmissions since the reduction for which no D-SACK has been received (undo_retrans); `None`
    /// before the first retransmission.
    unanswered: Option<u32>,
    /// Time of the first retransmission (retrans_stamp), or [`Time::NEVER`].
    first_copy: Time,
    /// Window and threshold before the reduction; `None` if the reduction started during another one and so cannot be
    /// undone.
    prior: Option<(u32, u32)>,
}

impl Undo {
    pub(super) fn new() -> Self {
        Self { marker: None, unanswered: None, first_copy: Time::NEVER, prior: None }
    }

    /// Starts a reduction with `resent` retransmissions in flight; `prior` is the state to restore.
    pub(super) fn begin(&mut self, una: u32, resent: u32, prior: Option<(u32, u32)>) {
        *self = Self {
            marker: Some(una),
            unanswered: (resent > 0).then_some(resent),
            first_copy: if resent > 0 { self.first_copy } else { Time::NEVER },
            prior,
        };
    }

    pub(super) fn on_resend(&mut self, now: Time) {
        self.first_copy = self.first_copy.min(now);
        self.unanswered = Some(self.unanswered.unwrap_or(0) + 1);
    }

    pub(super) fn on_dsack(&mut self, seq: u32) {
        if self.marker.is_some_and(|marker| seq >= marker)
            && let Some(unanswered) = &mut self.unanswered
        {
            *unanswered = unanswered.saturating_sub(1);
        }
    }

    /// Returns true if D-SACKs have been received for all retransmissions, which means that all originals arrived.
    pub(super) fn all_copies_were_needless(&self) -> bool {
        self.marker.is_some() && self.unanswered == Some(0)
    }

    /// Returns true if an ACK that advances SND.UNA was caused by an original transmission: the echoed timestamp is
    /// older than the first retransmission.
    pub(super) fn answers_original(&self, echo: Time) -> bool {
        self.marker.is_some() && self.first_copy < Time::NEVER && echo < self.first_copy
    }

    /// Returns true if there is a reduction to undo.
    pub(super) fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// Ends the undo state, and returns the window and the threshold before the reduction, if they can be restored.
    pub(super) fn take(&mut self) -> Option<(u32, u32)> {
        let prior = self.marker.and(self.prior);
        self.settle();
        prior
    }

    /// Ends the undo state; the reduction stays.
    pub(super) fn settle(&mut self) {
        (self.marker, self.unanswered, self.first_copy) = (None, None, Time::NEVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn an_echo_older_than_the_first_copy_answers_an_original() {
        let mut undo = Undo::new();
        assert!(!undo.answers_original(MS(1)));
        undo.begin(5, 0, Some((20_000, 90_000)));
        assert!(!undo.answers_original(MS(1)));
        undo.on_resend(MS(100));
        undo.on_resend(MS(120));
        assert!(undo.answers_original(MS(99)) && !undo.answers_original(MS(100)));
        assert_eq!(undo.take(), Some((20_000, 90_000)));
        assert!(!undo.answers_original(MS(1)));
        assert_eq!(undo.take(), None);
    }

    #[test]
    fn copies_were_needless_when_each_has_its_dsack() {
        let mut undo = Undo::new();
        undo.begin(5, 0, Some((20_000, 90_000)));
        assert!(!undo.all_copies_were_needless());
        undo.on_resend(MS(100));
        undo.on_resend(MS(100));
        undo.on_dsack(5);
        // Segment 4 is below the reduction's SND.UNA, so its D-SACK does not count.
        undo.on_dsack(4);
        assert!(!undo.all_copies_were_needless());
        undo.on_dsack(6);
        assert!(undo.all_copies_were_needless());
    }
}
