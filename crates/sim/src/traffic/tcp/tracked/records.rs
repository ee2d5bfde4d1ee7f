//! A sender's records of outstanding segments in a ring, and the sending order of those in flight.

use fairlane_schemes::base::units::Time;
use prefetch_index::prefetch_index;

/// No segment.
pub(super) const NONE: u32 = u32::MAX;

/// State of a segment as known to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// In flight, for the first time or again.
    InFlight,
    /// Considered lost, and not retransmitted yet.
    Lost,
    /// Reported by a SACK block.
    Sacked,
}

/// Record of one outstanding segment, in a cache line. Names in parentheses are fields from the delivery-rate section
/// of the BBR draft.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Record {
    /// Time of the last transmission (P.send_time).
    pub(super) sent: Time,
    /// P.first_send_time.
    pub(super) first_sent: Time,
    /// P.delivered, in bytes.
    pub(super) delivered: u64,
    /// P.delivered_time.
    pub(super) delivered_at: Time,
    /// C.lost when the segment was sent (P.lost), in bytes.
    pub(super) lost: u64,
    /// Data in flight just after the segment was sent (P.tx_in_flight), in bytes.
    pub(super) tx_in_flight: u32,
    /// Transmission number; in QUIC the packet number.
    pub(super) number: u32,
    /// Neighbours in the list of segments in flight, which [`Records`] maintains.
    pub(super) older: u32,
    pub(super) newer: u32,
    pub(super) fate: Fate,
    pub(super) resent: bool,
    /// True if the segment was considered lost and is not delivered yet (TCPCB_LOST), even while a retransmission that
    /// repairs the loss is in flight. A probe does not set this field.
    pub(super) unrepaired: bool,
    /// True if the sender had too few data to fill the window (P.is_app_limited).
    pub(super) app_limited: bool,
}

impl Record {
    pub(super) const BLANK: Self = Self {
        sent: Time::ZERO,
        first_sent: Time::ZERO,
        delivered: 0,
        delivered_at: Time::ZERO,
        lost: 0,
        tx_in_flight: 0,
        number: 0,
        older: NONE,
        newer: NONE,
        fate: Fate::InFlight,
        resent: false,
        unrepaired: false,
        app_limited: false,
    };

    #[inline]
    fn transmission(&self) -> Transmission {
        let &Self { sent, number, resent, app_limited, fate, .. } = self;
        Transmission { sent, number, resent, app_limited, was_sacked: fate == Fate::Sacked }
    }
}

/// The last transmission of a segment that an ACK reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) sent: Time,
    pub(super) number: u32,
    pub(super) resent: bool,
    pub(super) app_limited: bool,
    /// True if an earlier ACK reported the segment in a SACK block.
    pub(super) was_sacked: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Records {
    /// Ring buffer with the record of segment `seq` at index `seq mod length`. The length is a power of two.
    ring: Box<[Record]>,
    una: u32,
    nxt: u32,
    /// First segment in flight, in the order of the last transmissions. The next field is the last one.
    oldest: u32,
    newest: u32,
    in_flight: u32,
    lost: u32,
    sacked: u32,
    /// Segments in flight that were sent more than once.
    resent: u32,
    /// Number of segments that were considered lost and are not delivered yet, retransmitted or not.
    unrepaired: u32,
    /// Lower bound of the numbers of lost segments.
    lost_from: u32,
}

impl Records {
    pub(super) fn new() -> Self {
        Self {
            ring: vec![Record::BLANK; 16].into_boxed_slice(),
            una: 0,
            nxt: 0,
            oldest: NONE,
            newest: NONE,
            in_flight: 0,
            lost: 0,
            sacked: 0,
            resent: 0,
            unrepaired: 0,
            lost_from: 0,
        }
    }

    /// Prefetches the records that the next ACK will most likely remove, the record after them, and the next one to be
    /// written.
    #[inline]
    pub(super) fn fetch(&self) {
        for seq in [self.una, self.una + 1, self.una + 2, self.nxt] {
            prefetch_index(&self.ring, seq as usize & (self.ring.len() - 1));
        }
    }

    #[inline]
    pub(super) fn una(&self) -> u32 {
        self.una
    }

    /// Send time of the first unacknowledged segment, if there is one.
    pub(super) fn first_sent(&self) -> Option<Time> {
        (self.outstanding() > 0).then(|| self.ring[self.una as usize & (self.ring.len() - 1)].sent)
    }

    #[inline]
    pub(super) fn nxt(&self) -> u32 {
        self.nxt
    }

    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        self.nxt - self.una
    }

    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Number of segments that are considered lost and not retransmitted yet.
    #[inline]
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    #[inline]
    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Number of segments in flight that were sent more than once.
    #[inline]
    pub(super) fn resent(&self) -> u32 {
        self.resent
    }

    /// Number of segments that were considered lost and are not delivered yet, including those whose retransmission is
    /// in flight (lost_out).
    #[inline]
    pub(super) fn unrepaired(&self) -> u32 {
        self.unrepaired
    }

    /// Segment in flight whose last transmission is the earliest, if there is one.
    #[inline]
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    #[inline]
    pub(super) fn sent_after(&self, seq: u32) -> Option<u32> {
        let newer = self.at(seq).newer;
        (newer != NONE).then_some(newer)
    }

    #[inline]
    pub(super) fn at(&self, seq: u32) -> &Record {
        debug_assert!((self.una..self.nxt).contains(&seq));
        self.slot(seq)
    }

    /// Record of a segment that the current ACK delivers, outstanding or not. The next sent segment may overwrite it.
    #[inline]
    pub(super) fn delivered(&self, seq: u32) -> &Record {
        self.slot(seq)
    }

    #[inline]
    fn slot(&self, seq: u32) -> &Record {
        &self.ring[seq as usize & (self.ring.len() - 1)]
    }

    #[inline]
    fn at_mut(&mut self, seq: u32) -> &mut Record {
        let place = seq as usize & (self.ring.len() - 1);
        &mut self.ring[place]
    }

    /// Adds segment `nxt`, which is sent for the first time.
    #[inline]
    pub(super) fn push(&mut self, record: Record) {
        if self.outstanding() as usize == self.ring.len() {
            self.grow();
        }
        let seq = self.nxt;
        self.nxt += 1;
        *self.at_mut(seq) = Record { fate: Fate::InFlight, resent: false, ..record };
        self.append(seq);
    }

    /// Records the retransmission of segment `seq`, which is lost or in flight.
    pub(super) fn resend(&mut self, seq: u32, record: Record) {
        self.take_out(seq);
        let unrepaired = self.at(seq).unrepaired;
        *self.at_mut(seq) = Record { fate: Fate::InFlight, resent: true, unrepaired, ..record };
        self.append(seq);
    }

    /// Marks segment `seq`, which is in flight, as lost.
    pub(super) fn lose(&mut self, seq: u32) {
        debug_assert_eq!(self.at(seq).fate, Fate::InFlight);
        self.take_out(seq);
        let record = self.at_mut(seq);
        record.fate = Fate::Lost;
        let first_time = !std::mem::replace(&mut record.unrepaired, true);
        self.lost += 1;
        self.unrepaired += u32::from(first_time);
        self.lost_from = self.lost_from.min(seq);
    }

    /// Marks segment `seq` as SACKed. Returns its transmission, or `None` if it was already SACKed.
    pub(super) fn sack(&mut self, seq: u32) -> Option<Transmission> {
        let transmission = self.at(seq).transmission();
        if transmission.was_sacked {
            return None;
        }
        self.take_out(seq);
        let record = self.at_mut(seq);
        record.fate = Fate::Sacked;
        let repaired = std::mem::take(&mut record.unrepaired);
        self.sacked += 1;
        self.unrepaired -= u32::from(repaired);
        Some(transmission)
    }

    /// Removes segment `una`, which is acknowledged. Returns its transmission.
    #[inline]
    pub(super) fn pop(&mut self) -> Transmission {
        let seq = self.una;
        let transmission = self.at(seq).transmission();
        self.unrepaired -= u32::from(self.at(seq).unrepaired);
        self.take_out(seq);
        self.una += 1;
        self.lost_from = self.lost_from.max(self.una);
        transmission
    }

    /// Returns true if all outstanding segments are in flight and were sent only once.
    #[inline]
    pub(super) fn are_sent_once(&self) -> bool {
        self.lost | self.sacked | self.resent | self.unrepaired == 0
    }

    /// Removes the segments before `end`, at least one, if [`Records::are_sent_once`]. Returns the send time of the
    /// first one and the transmission of the last one.
    #[inline]
    pub(super) fn pop_sent_once(&mut self, end: u32) -> (Time, Transmission) {
        let first = self.at(self.una).sent;
        self.in_flight -= end - self.una;
        while self.una < end {
            let &Record { older, newer, .. } = self.at(self.una);
            self.unlink(older, newer);
            self.una += 1;
        }
        self.lost_from = self.lost_from.max(self.una);
        let Record { sent, number, app_limited, .. } = *self.slot(end - 1);
        (first, Transmission { sent, number, resent: false, app_limited, was_sacked: false })
    }

    pub(super) fn lost_segments(&self) -> impl Iterator<Item = u32> {
        (self.lost_from..self.nxt).filter(|&seq| self.at(seq).fate == Fate::Lost).take(self.lost as usize)
    }

    #[inline]
    pub(super) fn first_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            self.lost_from = self.nxt;
            return None;
        }
        while self.at(self.lost_from).fate != Fate::Lost {
            self.lost_from += 1;
        }
        Some(self.lost_from)
    }

    /// Undoes all loss marks: lost segments are in flight again, before all others in the sending order.
    pub(super) fn restore_lost(&mut self) {
        self.unrepaired = 0;
        for seq in (self.una..self.nxt).rev() {
            self.at_mut(seq).unrepaired = false;
            if self.at(seq).fate == Fate::Lost {
                self.take_out(seq);
                self.at_mut(seq).fate = Fate::InFlight;
                self.prepend(seq);
            }
        }
    }

    /// Returns the `count`-th highest of the SACKed segments below `end`, or `None` if there are fewer.
    pub(super) fn highest_sacked(&self, count: u32, end: u32) -> Option<u32> {
        if self.sacked < count {
            return None;
        }
        let end = end.clamp(self.una, self.nxt);
        (self.una..end).rev().filter(|&seq| self.at(seq).fate == Fate::Sacked).nth(count as usize - 1)
    }

    /// Returns true if there is a segment above `una` that is lost, retransmitted or SACKed, and the first such segment
    /// is not SACKed.
    pub(super) fn next_known_is_lost(&self) -> bool {
        let known =
            (self.una..self.nxt).skip(1).map(|seq| self.at(seq)).find(|of| of.fate != Fate::InFlight || of.resent);
        known.is_some_and(|of| of.fate != Fate::Sacked)
    }

    pub(super) fn last_unsacked(&self) -> Option<u32> {
        (self.una..self.nxt).rev().find(|&seq| self.at(seq).fate != Fate::Sacked)
    }

    /// Decrements the count of the state of segment `seq`. If the segment is in flight, removes it from the list.
    #[inline]
    fn take_out(&mut self, seq: u32) {
        let Record { fate, older, newer, resent, .. } = *self.at(seq);
        match fate {
            Fate::Lost => self.lost -= 1,
            Fate::Sacked => self.sacked -= 1,
            Fate::InFlight => {
                self.in_flight -= 1;
                self.resent -= u32::from(resent);
                self.unlink(older, newer);
            }
        }
    }

    /// Removes the segment between two neighbours from the list.
    #[inline]
    fn unlink(&mut self, older: u32, newer: u32) {
        match older {
            NONE => self.oldest = newer,
            older => self.at_mut(older).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.at_mut(newer).older = older,
        }
    }

    /// Adds `seq`, which is in flight, at the end of the list.
    #[inline]
    fn append(&mut self, seq: u32) {
        let last = self.newest;
        let record = self.at_mut(seq);
        (record.older, record.newer) = (last, NONE);
        let resent = record.resent;
        match last {
            NONE => self.oldest = seq,
            last => self.at_mut(last).newer = seq,
        }
        self.newest = seq;
        self.in_flight += 1;
        self.resent += u32::from(resent);
    }

    /// Adds `seq`, which is in flight, at the start of the list.
    fn prepend(&mut self, seq: u32) {
        let first = self.oldest;
        let record = self.at_mut(seq);
        (record.older, record.newer) = (NONE, first);
        let resent = record.resent;
        match first {
            NONE => self.newest = seq,
            first => self.at_mut(first).older = seq,
        }
        self.oldest = seq;
        self.in_flight += 1;
        self.resent += u32::from(resent);
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.ring);
        self.ring = vec![Record::BLANK; 2 * old.len()].into_boxed_slice();
        for seq in self.una..self.nxt {
            *self.at_mut(seq) = old[seq as usize & (old.len() - 1)];
        }
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        let count = |fate| (self.una..self.nxt).filter(|&seq| self.at(seq).fate == fate).count() as u32;
        assert_eq!(
            (self.in_flight, self.lost, self.sacked),
            (count(Fate::InFlight), count(Fate::Lost), count(Fate::Sacked))
        );
        let listed: Vec<u32> = std::iter::successors(self.oldest(), |&seq| self.sent_after(seq)).collect();
        assert_eq!(listed.len() as u32, self.in_flight);
        assert!(listed.iter().all(|&seq| self.at(seq).fate == Fate::InFlight));
        assert_eq!(listed.iter().filter(|&&seq| self.at(seq).resent).count() as u32, self.resent);
        assert_eq!((self.una..self.nxt).filter(|&seq| self.at(seq).unrepaired).count() as u32, self.unrepaired);
        assert!((self.una..self.nxt).all(|seq| self.at(seq).unrepaired || self.at(seq).fate != Fate::Lost));
        assert!((self.una..self.nxt).all(|seq| seq >= self.lost_from || self.at(seq).fate != Fate::Lost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(records: &Records) -> Vec<u32> {
        std::iter::successors(records.oldest(), |&seq| records.sent_after(seq)).collect()
    }

    #[test]
    fn segments_in_flight_stand_in_the_order_of_their_last_transmission() {
        let mut records = Records::new();
        (0..5).for_each(|_| records.push(Record::BLANK));
        records.lose(1);
        assert_eq!(order(&records), [0, 2, 3, 4]);
        records.resend(1, Record::BLANK);
        records.resend(0, Record::BLANK);
        assert_eq!(order(&records), [2, 3, 4, 1, 0]);
        assert!(records.sack(3).is_some());
        assert!(records.sack(3).is_none());
        assert_eq!(order(&records), [2, 4, 1, 0]);
        assert_eq!((records.in_flight(), records.lost(), records.sacked(), records.resent()), (4, 0, 1, 2));
        records.check();
        for _ in 0..5 {
            records.pop();
        }
        assert_eq!(order(&records), [0; 0]);
        records.check();
    }

    #[test]
    fn the_first_lost_segment_is_found_again_after_a_lower_one_is_lost() {
        let mut records = Records::new();
        (0..40).for_each(|_| records.push(Record::BLANK));
        records.lose(30);
        assert_eq!(records.first_lost(), Some(30));
        records.lose(7);
        assert_eq!(records.first_lost(), Some(7));
        records.resend(7, Record::BLANK);
        assert_eq!(records.first_lost(), Some(30));
        records.restore_lost();
        assert_eq!((records.first_lost(), records.oldest()), (None, Some(30)));
        records.check();
    }

    #[test]
    fn a_lost_segment_counts_until_it_is_delivered_and_a_copy_of_one_that_was_not_lost_never() {
        let mut records = Records::new();
        (0..5).for_each(|_| records.push(Record::BLANK));
        records.lose(0);
        records.lose(1);
        (0..2).for_each(|seq| records.resend(seq, Record::BLANK));
        records.resend(4, Record::BLANK);
        assert_eq!((records.lost(), records.unrepaired(), records.resent()), (0, 2, 3));
        records.lose(1);
        records.check();
        assert_eq!(records.unrepaired(), 2, "a copy that is lost is of the same segment");
        records.sack(1);
        records.pop();
        records.check();
        assert_eq!(records.unrepaired(), 0);
    }

    #[test]
    fn what_is_known_of_the_second_segment_and_those_beyond_is_that_of_the_first_with_news() {
        let mut records = Records::new();
        (0..5).for_each(|_| records.push(Record::BLANK));
        records.lose(0);
        assert!(!records.next_known_is_lost(), "the first one does not count");
        records.sack(3);
        assert!(!records.next_known_is_lost());
        records.lose(2);
        assert!(records.next_known_is_lost());
        records.resend(2, Record::BLANK);
        assert!(records.next_known_is_lost(), "a copy is of one that was lost");
    }

    #[test]
    fn a_record_takes_a_cache_line() {
        assert_eq!(size_of::<Record>(), 64);
    }
}
