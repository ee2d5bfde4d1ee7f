//! Stores ended sessions, so that a late record does not restart one.

use super::session::Session;
use std::collections::HashMap;

/// Maximum number of ends per generation. When the newer of the two generations is full, the older one is dropped.
const MOST_ENDS: usize = 1 << 15;

/// A record without Event-Timestamp counts as a retransmission from before the end if it arrives within this number of
/// seconds after the end of its session. Servers retransmit for a shorter time (RFC 5080, 2.2.1), or report the delay
/// in Acct-Delay-Time.
const REPEATED_FOR_S: u64 = 300;

/// Earliest valid timestamp, 2020. An earlier one comes from a clock that was never set.
const CLOCK_IS_SET_S: u64 = 1_577_836_800;

/// Time of an event, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Arrival of the record minus its Acct-Delay-Time (RFC 2866, 5.2).
    by_arrival: u64,
    /// Event-Timestamp (RFC 2869, 5.3).
    stamp: Option<u64>,
}

impl Moment {
    /// Creates a moment from the arrival time and the attributes of a record.
    #[must_use]
    pub fn new(arrival: u64, delay: u64, stamp: Option<u64>) -> Self {
        Self { by_arrival: arrival.saturating_sub(delay), stamp: stamp.filter(|stamp| *stamp >= CLOCK_IS_SET_S) }
    }

    /// Time of the event: its timestamp, but no later than `by_arrival`. Without a timestamp, `by_arrival`.
    #[must_use]
    pub fn at(self) -> u64 {
        self.stamp.map_or(self.by_arrival, |stamp| stamp.min(self.by_arrival))
    }

    /// Time of the event by the local clock only, since the clock of a server that just started may be wrong.
    #[must_use]
    pub fn by_arrival(self) -> u64 {
        self.by_arrival
    }

    /// The same moment; a missing timestamp is set to `stamp`.
    #[must_use]
    pub fn or_stamped(self, stamp: u64) -> Self {
        Self { stamp: self.stamp.or(Some(stamp)), ..self }
    }

    /// Times of both moments by the server's clock; `None` if one of them has no timestamp.
    fn stamps(self, other: Self) -> Option<(u64, u64)> {
        Some((self.stamp.map(|_| self.at())?, other.stamp.map(|_| other.at())?))
    }
}

/// Session or server to which an end applies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Over {
    /// A session.
    Session(Session),
    /// All sessions of a server.
    Server(String),
}

/// The latest ends.
#[derive(Debug, Default)]
pub struct Ended {
    newer: HashMap<Over, Moment>,
    older: HashMap<Over, Moment>,
}

impl Ended {
    /// Records ends.
    pub fn extend(&mut self, ends: HashMap<Over, Moment>) {
        for (over, when) in ends {
            if self.newer.len() >= MOST_ENDS {
                self.older = std::mem::take(&mut self.newer);
            }
            self.newer.insert(over, when);
        }
    }

    fn get(&self, over: &Over) -> Option<Moment> {
        self.newer.get(over).or_else(|| self.older.get(over)).copied()
    }
}

/// Ends of sessions and servers: recorded ones, and new ones that may still be rejected.
pub struct Ends<'a> {
    /// Recorded ends.
    pub before: &'a Ended,
    /// Ends since then.
    pub new: HashMap<Over, Moment>,
}

impl Ends<'_> {
    fn get(&self, over: &Over) -> Option<Moment> {
        self.new.get(over).copied().or_else(|| self.before.get(over))
    }

    /// Returns true if a session ended before `when`, the time of a record about it.
    #[must_use]
    pub fn has_ended(&self, session: &Session, when: Moment) -> bool {
        let Some(end) = self.get(&Over::Session(session.clone())) else { return false };
        if let Some((record, end)) = when.stamps(end) {
            return record <= end;
        }
        // A restarted server may reuse session identifiers.
        let restart = self.get(&Over::Server(session.server.clone())).map_or(0, Moment::by_arrival);
        end.by_arrival > restart && when.by_arrival <= end.by_arrival + REPEATED_FOR_S
    }

    /// Returns true if this start or stop record of a server was received before, or one with a later timestamp.
    #[must_use]
    pub fn is_repeated(&self, server: &str, when: Moment) -> bool {
        let last = self.get(&Over::Server(server.into()));
        last.and_then(|last| when.stamps(last)).is_some_and(|(record, last)| record <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_as_old_as_its_server_says_and_no_newer_than_its_arrival() {
        const NOW: u64 = 1_800_000_000;
        assert_eq!(Moment::new(NOW, 7, None).at(), NOW - 7);
        assert_eq!(Moment::new(NOW, 7, Some(NOW - 60)).at(), NOW - 60);
        assert_eq!(Moment::new(NOW, 7, Some(NOW + 60)).at(), NOW - 7);
        // Clocks that were never set start in 1970 or 2000.
        assert_eq!(Moment::new(NOW, 7, Some(40)).at(), NOW - 7);
        assert_eq!(Moment::new(NOW, 7, Some(946_684_800)).at(), NOW - 7);
        assert_eq!(Moment::new(5, u64::MAX, None).at(), 0);
    }

    #[test]
    fn the_latest_ends_are_remembered_and_no_more_than_there_is_room_for() {
        let over = |i: usize| Over::Session(Session { server: "bng".into(), id: i.to_string() });
        let mut ended = Ended::default();
        for i in 0..5 * MOST_ENDS {
            ended.extend(HashMap::from([(over(i), Moment::new(9, 0, None))]));
            assert!(ended.newer.len() + ended.older.len() <= 2 * MOST_ENDS);
        }
        assert!((4 * MOST_ENDS..5 * MOST_ENDS).all(|i| ended.get(&over(i)).is_some()));
        assert_eq!(ended.get(&over(0)), None);
    }
}
