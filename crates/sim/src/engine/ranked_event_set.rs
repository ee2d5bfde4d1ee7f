//! Event set of links and shared lines, the few entities that have most events.
//!
//! The set is a tournament tree as in [`super::event_set`], but each entry contains its rank, because the rank of a
//! slot can change: the event of a shared line has the rank of the host whose arrival is first. Updates always proceed
//! to the top of the tree. With so few entries this is cheaper than a test for an early stop. If there is only one
//! level, a new event in an empty slot is compared only with the earliest event.

use crate::engine::tournament::{Contender, FAN, TournamentNode};
use fairlane_schemes::base::units::Time;

/// Entries are ordered by time, then rank, then slot.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    order: u64,
}

impl Entry {
    fn new(time: Time, rank: u32, slot: u32) -> Self {
        Self { time, order: u64::from(rank) << 32 | u64::from(slot) }
    }

    #[inline]
    fn key(self) -> u128 {
        u128::from(self.time.0) << 64 | u128::from(self.order)
    }
}

impl Contender for Entry {
    #[inline]
    fn or(self, other: Self) -> Self {
        if other.key() < self.key() { other } else { self }
    }
}

/// Next events of a fixed number of slots.
#[derive(Clone, Debug)]
pub struct RankedEventSet {
    /// All levels, from the bottom.
    lines: Vec<TournamentNode<Entry>>,
    /// First line of each level above the bottom.
    levels: Vec<u32>,
    first: Entry,
}

impl RankedEventSet {
    /// Creates a set without events for `slots` slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let none = Entry::new(Time::NEVER, u32::MAX, 0);
        let mut width = slots.max(1).div_ceil(FAN);
        let (mut lines, mut levels) = (vec![TournamentNode([none; FAN]); width], Vec::new());
        while width > 1 {
            levels.push(lines.len() as u32);
            width = width.div_ceil(FAN);
            lines.resize(lines.len() + width, TournamentNode([none; FAN]));
        }
        Self { lines, levels, first: none }
    }

    /// Time, rank and slot of the earliest event; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> (Time, u32, u32) {
        (self.first.time, (self.first.order >> 32) as u32, self.first.order as u32)
    }

    /// Sets the event of `slot`.
    // Always inlined: nearly every event needs it, and most networks have only one level.
    #[inline(always)]
    pub fn set(&mut self, slot: u32, time: Time, rank: u32) {
        let index = slot as usize;
        let winner = self.lines[index / FAN].put(index % FAN, Entry::new(time, rank, slot));
        self.first = if self.levels.is_empty() { winner } else { self.climb(index / FAN, winner) };
    }

    /// Updates the levels above the lowest one, after `winner` has become the earliest entry of line `index` of the
    /// lowest level. Returns the earliest entry of the whole set.
    #[inline(never)]
    fn climb(&mut self, mut index: usize, mut winner: Entry) -> Entry {
        for &level in &self.levels {
            winner = self.lines[level as usize + index / FAN].put(index % FAN, winner);
            index /= FAN;
        }
        winner
    }

    /// Sets the event of `slot`, which must be empty.
    #[inline(always)]
    pub fn put(&mut self, slot: u32, time: Time, rank: u32) {
        let entry = Entry::new(time, rank, slot);
        let index = slot as usize;
        self.lines[index / FAN].0[index % FAN] = entry;
        if !self.levels.is_empty() {
            let winner = self.lines[index / FAN].winner();
            self.first = self.climb(index / FAN, winner);
        } else if entry.key() < self.first.key() {
            self.first = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_next_event_is_the_first_by_time_rank_and_slot(
            slots in 1u32..70,
            moves in prop::collection::vec((any::<u32>(), 0u64..20, 0u32..5), 1..200),
        ) {
            let mut events = RankedEventSet::new(slots as usize);
            let mut entries = vec![(Time::NEVER, u32::MAX); slots as usize];
            for (slot, time, rank) in moves {
                let slot = slot % slots;
                // One event in twenty is removed.
                let (time, rank) = if time == 0 { (Time::NEVER, u32::MAX) } else { (Time(time), rank) };
                if entries[slot as usize].0 == Time::NEVER {
                    events.put(slot, time, rank);
                } else {
                    events.set(slot, time, rank);
                }
                entries[slot as usize] = (time, rank);
                let (slot, &(time, rank)) = entries.iter().enumerate().min_by_key(|(_, entry)| **entry).unwrap();
                prop_assert_eq!(events.next().0, time);
                if time < Time::NEVER {
                    prop_assert_eq!(events.next(), (time, rank, slot as u32));
                }
            }
        }
    }
}
