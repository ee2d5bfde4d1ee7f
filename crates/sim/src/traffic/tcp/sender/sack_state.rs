//! State of a sender with SACK.

use crate::traffic::tcp::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub(super) struct Selective {
    pub(super) board: Scoreboard,
    /// RFC 6937 RecoverFS: number of segments outstanding at the start of the recovery.
    pub(super) recovery_flight: u32,
    /// RFC 6937 prr_delivered in segments.
    pub(super) delivered: u32,
    /// RFC 6937 prr_out in segments.
    pub(super) sent: u32,
    /// True if the last segment was retransmitted in this recovery (RFC 6675 RescueRxt).
    pub(super) rescued: bool,
}

impl Selective {
    #[inline]
    pub(super) fn pipe(&self, una: u32, nxt: u32) -> u32 {
        self.board.pipe(una, nxt)
    }

    /// Handles a timeout (RFC 6675 5.1).
    pub(super) fn lose_all(&mut self, una: u32, nxt: u32) {
        self.board.lose_all(una, nxt);
    }
}
