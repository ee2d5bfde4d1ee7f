//! Scoreboard: a sender's knowledge of its outstanding segments from selective acknowledgements (RFC 6675).
//!
//! One bit per segment records whether it is SACKed. Two boundaries store all other information, so no operation visits
//! the whole window:
//!
//! - IsLost (section 4): a segment is lost if at least `dupack_threshold` (N) SACKed segments are above it. So all
//!   un-SACKed segments below the N-th highest SACKed segment are lost. This boundary, `lost_below`, only moves up.
//! - HighRxt (section 2): the retransmitted segments are the un-SACKed segments below `resent_below`, because NextSeg
//!   chooses segments in order.
//!
//! SetPipe (section 4) counts each un-SACKed segment once if it is not lost, and once more if it was retransmitted:
//!
//! ```text
//! pipe = (nxt - lost_below - SACKed from lost_below on) + (resent_below - una - SACKed below resent_below)
//! ```
//!
//! Cost: a ring with one bit per segment in the span of SACKed segments. An ACK or a segment takes a few operations, a
//! newly reported block one operation per 64 segments.

use super::blocks::SackBlocks;
use super::ring::BitRing;

/// The scoreboard. The sender passes its `una` and `nxt` in each call.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// SACKed segments, all above `una`.
    sacked: BitRing,
    lost_below: u32,
    sacked_from_lost: u32,
    /// HighRxt plus one. All un-SACKed segments below this one were retransmitted.
    resent_below: u32,
    sacked_below_resent: u32,
    /// One more than the highest segment ever SACKed.
    highest: u32,
    /// Blocks of the last ACK, which are already recorded.
    known: SackBlocks,
}

impl Scoreboard {
    #[inline]
    pub(super) fn sacked(&self) -> u32 {
        self.sacked.len()
    }

    #[inline]
    pub(super) fn head_lost(&self, una: u32) -> bool {
        self.lost_below > una
    }

    #[cfg(test)]
    pub(super) fn boundaries(&self) -> (u32, u32) {
        (self.lost_below, self.resent_below)
    }

    #[cfg(test)]
    pub(super) fn contains(&self, una: u32, seq: u32) -> bool {
        self.sacked.contains(una, seq)
    }

    /// SetPipe: number of segments in the network.
    #[inline]
    pub(super) fn pipe(&self, una: u32, nxt: u32) -> u32 {
        //= RFC 6675 4-3: SetPipe: what is neither SACKed nor lost, and what was sent again, is in flight.
        let not_lost = nxt - self.lost_below.max(una) - self.sacked_from_lost;
        let resent = self.resent_below.max(una) - una - self.sacked_below_resent;
        not_lost + resent
    }

    /// Update: records the blocks of an ACK, after [`Scoreboard::advance`]. Ignores blocks above `nxt`.
    pub(super) fn record(&mut self, una: u32, nxt: u32, blocks: &SackBlocks, threshold: u32) {
        //= RFC 6675 4-1: Update: what an ACK covers or SACKs is marked on the scoreboard.
        for block in blocks.iter().filter(|block| block.end <= nxt) {
            // Skips the part of each block that the last ACK already reported.
            let start = self.known.first_news(block).max(una + 1);
            self.insert(una, start, block.end);
        }
        self.known = *blocks;
        self.move_lost(una, threshold);
    }

    /// Records that all segments below `ack` are acknowledged.
    pub(super) fn advance(&mut self, una: u32, ack: u32) {
        let (low, high) = self.cuts(una);
        for (from, to) in pieces(una, ack, low, high) {
            let gone = self.sacked.remove_range(from, to);
            self.sacked_from_lost -= if from >= self.lost_below { gone } else { 0 };
            self.sacked_below_resent -= if from < self.resent_below { gone } else { 0 };
        }
        self.lost_below = self.lost_below.max(ack);
        self.resent_below = self.resent_below.max(ack);
    }

    /// Handles a timeout: all outstanding un-SACKed segments are considered lost, and none retransmitted. Keeps SACK
    /// information, as RFC 6675 5.1 permits, because receivers here never renege.
    pub(super) fn lose_all(&mut self, una: u32, nxt: u32) {
        //= RFC 6675 5.1-1, deviation: A timeout forgets what was SACKed, as RFC 2018 asks.
        //= RFC 2018 5-2, deviation: A timeout forgets what was SACKed.
        //= RFC 2018 5.1-2, deviation: What is sent again after a timeout does not depend on SACKs from before it.
        (self.lost_below, self.sacked_from_lost) = (nxt, 0);
        self.restart(una);
    }

    /// NextSeg rule 1: first segment that is lost, not SACKed and not retransmitted.
    #[inline]
    pub(super) fn next_lost(&self, una: u32) -> Option<u32> {
        let seq = self.next_hole(una);
        (seq < self.lost_below).then_some(seq)
    }

    /// NextSeg rule 3: first segment that is not SACKed and not retransmitted, with a SACKed segment above it.
    #[inline]
    pub(super) fn next_doubtful(&self, una: u32) -> Option<u32> {
        let seq = self.next_hole(una);
        (seq < self.highest).then_some(seq)
    }

    /// Returns true if the last segment before `nxt` is above all SACKed ones.
    #[inline]
    pub(super) fn tail_unknown(&self, nxt: u32) -> bool {
        self.highest < nxt
    }

    /// Starts a recovery, without retransmitted segments (RFC 6675 section 5, step (3.1): HighRxt = HighACK).
    pub(super) fn restart(&mut self, una: u32) {
        (self.resent_below, self.sacked_below_resent) = (una, 0);
    }

    /// Records the retransmission of `seq`, which NextSeg has chosen.
    pub(super) fn resend(&mut self, una: u32, seq: u32) {
        // NextSeg skips only SACKed segments, so all segments between the old boundary and `seq` are SACKed.
        self.sacked_below_resent += seq - self.resent_below.max(una);
        self.resent_below = seq + 1;
    }

    /// First un-SACKed segment from `resent_below` on.
    #[inline]
    fn next_hole(&self, una: u32) -> u32 {
        self.sacked.next_absent(una, self.resent_below.max(una))
    }

    /// Marks segments `start` to `end - 1` as SACKed.
    fn insert(&mut self, una: u32, start: u32, end: u32) {
        let (low, high) = self.cuts(una);
        for (from, to) in pieces(start, end, low, high) {
            let new = self.sacked.insert_range(una, from, to);
            self.sacked_from_lost += if from >= self.lost_below { new } else { 0 };
            self.sacked_below_resent += if from < self.resent_below { new } else { 0 };
        }
        self.highest = self.highest.max(end);
    }

    /// Moves `lost_below` up to the threshold-th highest SACKed segment, if at least `threshold` segments are SACKed
    /// above the old boundary.
    fn move_lost(&mut self, una: u32, threshold: u32) {
        self.lost_below = self.lost_below.max(una);
        loop {
            let member = self.sacked.contains(una, self.lost_below);
            //= RFC 6675 4-2: IsLost: DupThresh segments, or their bytes, are SACKed above.
            if self.sacked_from_lost < threshold || (self.sacked_from_lost == threshold && member) {
                break;
            }
            self.sacked_from_lost -= u32::from(member);
            self.lost_below += 1;
        }
    }

    /// Returns `lost_below` and `resent_below` in ascending order, each raised to `una` if it is lower.
    fn cuts(&self, una: u32) -> (u32, u32) {
        let (lost, resent) = (self.lost_below.max(una), self.resent_below.max(una));
        (lost.min(resent), lost.max(resent))
    }
}

/// Splits `from .. to` into the parts below, between and above two boundaries; parts may be empty.
fn pieces(from: u32, to: u32, low: u32, high: u32) -> [(u32, u32); 3] {
    let (first, second) = (low.clamp(from, to.max(from)), high.clamp(from, to.max(from)));
    [(from, first), (first, second), (second, to.max(from))]
}
