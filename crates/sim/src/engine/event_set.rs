//! Event set with one entry per entity, whose earliest event is available at any time.
//!
//! Every link, host, source and flow has at most one next event, so the set is a fixed array of entries below a
//! tournament tree. Four neighbours share a cache line; the earliest of them is their winner and represents them in the
//! line above. Moving an entry updates one path of log4(n) lines, up to the first line whose winner does not change.
//! The earliest event is the winner of the top line. There is no search, no allocation and no stale entry. At equal
//! times the smaller entity number wins, so the order of events is total and the same on every machine. Lines are
//! numbered level by level as in a heap, so the lengths of paths differ by at most one line.

use crate::engine::tournament::{Contender, FAN, TournamentNode};
use fairlane_schemes::base::units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: Time,
    entity: u32,
}

impl Entry {
    const NONE: Self = Self { time: Time::NEVER, entity: 0 };
}

impl Entry {
    /// Returns true if this event precedes another one, possibly of the same entity.
    #[inline]
    fn precedes(self, other: Self) -> bool {
        self.time < other.time || (self.time == other.time && self.entity < other.entity)
    }
}

impl Contender for Entry {
    #[inline]
    fn or(self, other: Self) -> Self {
        if other.time < self.time { other } else { self }
    }
}

/// Next events of a fixed number of entities.
#[derive(Clone, Debug)]
pub struct EventSet {
    /// Tree in heap order: the top line first; the four children of line k start at 4 k + 1.
    lines: Vec<TournamentNode<Entry>>,
    /// First line of the lowest level. The entities with the smallest numbers are there.
    lowest: usize,
    /// First line that contains entities. All earlier lines contain winners of lower lines.
    bottom: usize,
    first: Entry,
    entities: usize,
}

impl EventSet {
    /// Creates a set without events for `entities` entities.
    #[must_use]
    pub fn new(entities: usize) -> Self {
        let bottom = entities.max(1).div_ceil(FAN);
        let width = bottom + (bottom - 1).div_ceil(FAN - 1);
        let levels = std::iter::successors(Some(0), |start| Some(FAN * start + 1));
        let lowest = levels.take_while(|&start| start < width).last().unwrap_or(0);
        let lines = vec![TournamentNode([Entry::NONE; FAN]); width];
        Self { lines, lowest, bottom, first: Entry::NONE, entities }
    }

    /// Grows to `entities` entities and keeps existing events. This takes as long as setting all events, so callers
    /// should double the size.
    pub fn grow(&mut self, entities: usize) {
        let present = self.entities;
        let mut larger = Self::new(entities);
        for entity in 0..present {
            larger.set(entity as u32, self.time_of(entity as u32));
        }
        *self = larger;
    }

    /// Capacity in entities.
    #[must_use]
    pub fn entities(&self) -> usize {
        self.entities
    }

    /// Time and entity of the earliest event; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> (Time, u32) {
        (self.first.time, self.first.entity)
    }

    /// Returns the next entity by number with an event at `time`, which must be the time of the earliest event.
    // The result is the best of the entries next to the path of `entity`, because at equal times the smallest number
    // wins.
    #[must_use]
    pub fn due_behind(&self, entity: u32, time: Time) -> Option<u32> {
        let (mut line, mut place) = (self.line_of(entity), entity as usize % FAN);
        loop {
            if let Some(due) = self.lines[line].0[place + 1..].iter().find(|beside| beside.time == time) {
                return Some(due.entity);
            }
            if line == 0 {
                return None;
            }
            (line, place) = ((line - 1) / FAN, (line - 1) % FAN);
        }
    }

    /// Time of the entity's event.
    #[must_use]
    #[inline]
    pub fn time_of(&self, entity: u32) -> Time {
        self.lines[self.line_of(entity)].0[entity as usize % FAN].time
    }

    /// Line of an entity. The lowest level has the first entities; the rest are at the end of the level above, after
    /// its winners. So entities are ordered by number from left to right.
    #[inline]
    fn line_of(&self, entity: u32) -> usize {
        let line = self.lowest + entity as usize / FAN;
        if line < self.lines.len() { line } else { line - self.bottom }
    }

    /// Moves the entity's event to `time`, earlier or later.
    #[inline]
    pub fn set(&mut self, entity: u32, time: Time) {
        let (mut line, mut place) = (self.line_of(entity), entity as usize % FAN);
        let mut winner = Entry { time, entity };
        loop {
            let node = &mut self.lines[line];
            // An unchanged winner means that no higher line changes.
            if node.0[place] == winner {
                return;
            }
            winner = node.put(place, winner);
            if line == 0 {
                break;
            }
            (line, place) = ((line - 1) / FAN, (line - 1) % FAN);
        }
        self.first = winner;
    }

    /// Moves the entity's event to `time` if the event is later than `time`. Compares the event only with the winners
    /// on its path, because all other entries are later than these winners.
    #[inline]
    pub fn set_earlier(&mut self, entity: u32, time: Time) {
        let (mut line, mut place) = (self.line_of(entity), entity as usize % FAN);
        if time >= self.lines[line].0[place].time {
            return;
        }
        let entry = Entry { time, entity };
        loop {
            self.lines[line].0[place] = entry;
            let above = if line == 0 { &self.first } else { &self.lines[(line - 1) / FAN].0[(line - 1) % FAN] };
            if above.precedes(entry) {
                return;
            }
            if line == 0 {
                break;
            }
            (line, place) = ((line - 1) / FAN, (line - 1) % FAN);
        }
        self.first = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_go_to_the_smaller_entity() {
        let mut events = EventSet::new(5);
        for entity in [4, 2, 3] {
            events.set(entity, Time(7));
        }
        assert_eq!(events.next(), (Time(7), 2));
        events.set(2, Time::NEVER);
        assert_eq!(events.next(), (Time(7), 3));
    }

    #[test]
    fn growing_keeps_all_events() {
        let mut events = EventSet::new(5);
        for (entity, time) in [(0, 9), (3, 7), (4, 8)] {
            events.set(entity, Time(time));
        }
        events.grow(21);
        assert_eq!(events.entities(), 21);
        events.set(20, Time(6));
        for expected in [(6, 20), (7, 3), (8, 4), (9, 0)] {
            let (time, entity) = events.next();
            assert_eq!((time.0, entity), expected);
            events.set(entity, Time::NEVER);
        }
        assert_eq!(events.next().0, Time::NEVER);
    }

    #[test]
    fn set_earlier_never_delays() {
        let mut events = EventSet::new(3);
        events.set(1, Time(5));
        events.set_earlier(1, Time(9));
        assert_eq!(events.next(), (Time(5), 1));
        events.set_earlier(1, Time(3));
        assert_eq!(events.next(), (Time(3), 1));
    }

    proptest! {
        #[test]
        fn the_next_event_is_the_earliest_of_all_entries(
            n in 1usize..700,
            moves in prop::collection::vec((any::<u32>(), 0u64..100), 1..200),
        ) {
            let mut events = EventSet::new(n);
            let mut times = vec![u64::MAX; n];
            for (entity, time) in moves {
                let entity = entity % n as u32;
                // One event in ten is removed.
                let time = if time % 10 == 0 { u64::MAX } else { time };
                if time < times[entity as usize] {
                    events.set_earlier(entity, Time(time));
                } else {
                    events.set(entity, Time(time));
                }
                times[entity as usize] = time;
                let earliest = *times.iter().min().unwrap();
                prop_assert_eq!(events.next().0, Time(earliest));
                if earliest < u64::MAX {
                    let first = times.iter().position(|&t| t == earliest).unwrap();
                    prop_assert_eq!(events.next().1, first as u32);
                    // All events at the earliest time, in order.
                    let at_once = (first as u32..n as u32).filter(|&entity| times[entity as usize] == earliest);
                    let next = |&entity: &u32| events.due_behind(entity, Time(earliest));
                    prop_assert!(std::iter::successors(Some(first as u32), next).eq(at_once));
                }
            }
        }
    }
}
