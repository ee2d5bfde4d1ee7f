//! The event set: one entry per entity, and always the earliest at hand.
//!
//! Every link, source, flow and return path has at most one next event, so the set is a fixed array of times with a
//! winner tree above it: node k holds the entry that wins among its leaves. Moving an entry walks one path of
//! log2(n) nodes; there is no search, no allocation and no stale entry. Equal times go to the smaller entity number,
//! so that the order of events is total and the same on every machine.

use fairlane_schemes::units::Time;

/// Next event of each of a fixed number of entities.
#[derive(Clone, Debug)]
pub struct EventSet {
    /// Heap-shaped: children of node k at 2k and 2k+1, leaves from `leaves` on. Node 1 is the earliest event.
    nodes: Vec<Entry>,
    leaves: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: Time,
    entity: u32,
}

impl EventSet {
    /// No event for any of `entities`.
    #[must_use]
    pub fn new(entities: usize) -> Self {
        let leaves = entities.next_power_of_two().max(2);
        let mut nodes = vec![Entry { time: Time::NEVER, entity: 0 }; 2 * leaves];
        for (entity, leaf) in (0..).zip(&mut nodes[leaves..]) {
            leaf.entity = entity;
        }
        Self { nodes, leaves }
    }

    /// The earliest event; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> (Time, u32) {
        (self.nodes[1].time, self.nodes[1].entity)
    }

    /// When the entity's event is due.
    #[must_use]
    #[inline]
    pub fn time_of(&self, entity: u32) -> Time {
        self.nodes[self.leaves + entity as usize].time
    }

    /// Sets the entity's event to `time`, earlier or later than before.
    #[inline]
    pub fn set(&mut self, entity: u32, time: Time) {
        let mut node = self.leaves + entity as usize;
        self.nodes[node].time = time;
        while node > 1 {
            let (left, right) = (self.nodes[node & !1], self.nodes[node | 1]);
            let winner = if right.time < left.time { right } else { left };
            node >>= 1;
            // Whoever is unchanged here is unchanged all the way up, unless it is the entity that moved.
            if self.nodes[node] == winner && winner.entity != entity {
                return;
            }
            self.nodes[node] = winner;
        }
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
        fn the_root_is_the_minimum_of_all_entries(
            n in 1usize..40,
            moves in prop::collection::vec((0u32..40, 0u64..100), 1..200),
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
