//! The event set: one entry per entity, and always the earliest at hand.
//!
//! Every link, host, source and flow has at most one next event, so the set is a fixed array of entries with a
//! tournament above it: four neighbours share a cache line, and the winner among them stands for all four in the line
//! above. Moving an entry walks one path of log4(n) lines and stops where the winner stays; the earliest event is the
//! winner of the top line. There is no search, no allocation and no stale entry. Equal times go to the smaller entity
//! number, so that the order of events is total and the same on every machine.

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

impl Contender for Entry {
    #[inline]
    fn or(self, other: Self) -> Self {
        if other.time < self.time { other } else { self }
    }
}

/// Next event of each of a fixed number of entities.
#[derive(Clone, Debug)]
pub struct EventSet {
    /// All levels, the bottom one first.
    lines: Vec<TournamentNode<Entry>>,
    /// Where each level begins.
    levels: Vec<u32>,
    first: Entry,
    entities: usize,
}

impl EventSet {
    /// No event for any of `entities`.
    #[must_use]
    pub fn new(entities: usize) -> Self {
        let (mut lines, mut levels, mut width) = (Vec::new(), Vec::new(), entities.max(1));
        let mut stride = 1; // entities that an entry of this level stands for
        loop {
            levels.push(lines.len() as u32);
            let entry = |index: usize| Entry { entity: (index * stride) as u32, ..Entry::NONE };
            width = width.div_ceil(FAN);
            lines.extend((0..width).map(|line| TournamentNode([0, 1, 2, 3].map(|slot| entry(line * FAN + slot)))));
            if width == 1 {
                return Self { lines, levels, first: Entry::NONE, entities };
            }
            stride *= FAN;
        }
    }

    /// Makes room for more entities, `entities` in all; those there are keep their events. It takes as long as setting
    /// all of them: double the number.
    pub fn grow(&mut self, entities: usize) {
        let present = self.entities;
        let mut larger = Self::new(entities);
        for entity in 0..present {
            larger.set(entity as u32, self.time_of(entity as u32));
        }
        *self = larger;
    }

    /// How many entities there is room for.
    #[must_use]
    pub fn entities(&self) -> usize {
        self.entities
    }

    /// The earliest event; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> (Time, u32) {
        (self.first.time, self.first.entity)
    }

    /// When the entity's event is due.
    #[must_use]
    #[inline]
    pub fn time_of(&self, entity: u32) -> Time {
        self.lines[entity as usize / FAN].0[entity as usize % FAN].time
    }

    /// Sets the entity's event to `time`, earlier or later than before.
    #[inline]
    pub fn set(&mut self, entity: u32, time: Time) {
        let (mut index, mut winner) = (entity as usize, Entry { time, entity });
        for &level in &self.levels {
            let line = &mut self.lines[level as usize + index / FAN];
            let entry = &mut line.0[index % FAN];
            // Whoever is unchanged here is unchanged all the way up.
            if *entry == winner {
                return;
            }
            *entry = winner;
            winner = line.winner();
            index /= FAN;
        }
        self.first = winner;
    }

    /// Makes the entity's event due at `time` if it was due later.
    #[inline]
    pub fn set_earlier(&mut self, entity: u32, time: Time) {
        if time < self.time_of(entity) {
            self.set(entity, time);
        }
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
                // One in ten is removed.
                let time = if time % 10 == 0 { u64::MAX } else { time };
                events.set(entity, Time(time));
                times[entity as usize] = time;
                let earliest = *times.iter().min().unwrap();
                prop_assert_eq!(events.next().0, Time(earliest));
                if earliest < u64::MAX {
                    let first = times.iter().position(|&t| t == earliest).unwrap();
                    prop_assert_eq!(events.next().1, first as u32);
                }
            }
        }
    }
}
