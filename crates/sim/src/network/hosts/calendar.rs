//! A calendar queue: stores arrivals by time, in any order of insertion.
//!
//! If many access links are busy, their arrivals are not in the order of sending, and each host would need a separate
//! event. The calendar stores arrivals in days. A day is a list of arrivals in the same time interval, sorted when the
//! day begins (Brown, "Calendar queues", 1988). Unlike in Brown's queue, the length of a day is fixed. All days share
//! one array of values, in which the most recently freed slot is reused first.

use fairlane_schemes::base::units::Time;

/// log2 of the length of a day in picoseconds. A day of 2^28 ps lasts 0.27 ms and has 268 arrivals at a million
/// arrivals per second. Only arrivals of the open day can be prefetched, so days must not be too short.
const DAY_LOG2: u32 = 28;
/// Number of days, which cover 1.1 s. The calendar cannot store arrivals that are further ahead.
const DAYS: usize = 4096;
const BITS: usize = u64::BITS as usize;

/// Arrivals ordered by time and, for equal times, by user.
#[derive(Clone, Debug)]
pub struct Calendar<T> {
    /// Arrivals of the open day, in descending order of time.
    present: Vec<Entry>,
    /// Number of the open day since time 0.
    open: u64,
    /// All other days, indexed by their number modulo [`DAYS`]. `occupied` is the set of non-empty days.
    days: Vec<Vec<Entry>>,
    occupied: [u64; DAYS / BITS],
    values: Vec<T>,
    /// Free slots in `values`, as a stack: the most recently freed slot is at the end. `spare` is a stack of the memory
    /// of past days.
    free: Vec<u32>,
    spare: Vec<Vec<Entry>>,
}

/// Time, user, and slot of the value.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    user: u32,
    place: u32,
}

impl Entry {
    #[inline]
    fn key(&self) -> (Time, u32) {
        (self.time, self.user)
    }
}

#[inline]
fn day(time: Time) -> u64 {
    time.0 >> DAY_LOG2
}

impl<T> Default for Calendar<T> {
    fn default() -> Self {
        Self {
            present: Vec::new(),
            open: 0,
            days: vec![Vec::new(); DAYS],
            occupied: [0; DAYS / BITS],
            values: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<T: Copy> Calendar<T> {
    /// Returns true if an arrival at `time` can be stored at `now`. `time` must not be before `now`.
    #[inline]
    pub fn reaches(&self, time: Time, now: Time) -> bool {
        day(time) < day(now) + DAYS as u64
    }

    /// Stores an arrival, which must be in range. Returns true if it is now the first arrival.
    pub fn push(&mut self, time: Time, user: u32, value: T) -> bool {
        let place = self.free.pop().unwrap_or(self.values.len() as u32);
        match self.values.get_mut(place as usize) {
            Some(free) => *free = value,
            None => self.values.push(value),
        }
        let entry = Entry { time, user, place };
        let number = day(time);
        if self.present.is_empty() {
            self.open = number;
            self.present.push(entry);
            return true;
        }
        if number > self.open {
            self.enter(number, entry);
            return false;
        }
        if number < self.open {
            self.close();
            self.open = number;
            self.present.push(entry);
            return true;
        }
        let after = self.present.partition_point(|other| other.key() > entry.key());
        self.present.insert(after, entry);
        after + 1 == self.present.len()
    }

    /// Takes the first arrival, which must exist.
    #[inline]
    pub fn pop(&mut self) -> T {
        let Entry { place, .. } = self.present.pop().expect("an arrival was announced");
        self.free.push(place);
        if self.present.is_empty() {
            self.open_next();
        }
        self.values[place as usize]
    }

    /// Time and user of the first arrival; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        self.present.last().map_or((Time::NEVER, 0), Entry::key)
    }

    /// Returns user and value of the arrival `places` positions after the first, if it is on the same day.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<(u32, &T)> {
        let index = self.present.len().checked_sub(places + 1)?;
        let entry = self.present.get(index)?;
        Some((entry.user, &self.values[entry.place as usize]))
    }

    /// Number of stored arrivals.
    #[must_use]
    pub fn entered(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Stores an arrival on a day that is not open.
    #[inline]
    fn enter(&mut self, number: u64, entry: Entry) {
        let index = number as usize % DAYS;
        let list = &mut self.days[index];
        if list.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *list = spare;
        }
        list.push(entry);
        self.occupied[index / BITS] |= 1 << (index % BITS);
    }

    /// Closes the open day because a new arrival is on an earlier day.
    #[cold]
    fn close(&mut self) {
        let index = self.open as usize % DAYS;
        debug_assert!(self.days[index].is_empty());
        std::mem::swap(&mut self.days[index], &mut self.present);
        self.occupied[index / BITS] |= 1 << (index % BITS);
    }

    /// Opens the next non-empty day, if there is one.
    #[inline(never)]
    fn open_next(&mut self) {
        let from = self.open as usize % DAYS;
        let Some(index) = self.next_occupied(from) else { return };
        // All entries are less than [`DAYS`] days ahead.
        self.open += ((index + DAYS - from) % DAYS) as u64;
        self.occupied[index / BITS] &= !(1 << (index % BITS));
        let past = std::mem::replace(&mut self.present, std::mem::take(&mut self.days[index]));
        self.spare.push(past);
        self.present.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.key()));
    }

    fn next_occupied(&self, from: usize) -> Option<usize> {
        let words = self.occupied.len();
        let (first, bit) = (from / BITS, from % BITS);
        let behind = self.occupied[first] & (!1u64 << bit);
        if behind != 0 {
            return Some(first * BITS + behind.trailing_zeros() as usize);
        }
        let others = (1..=words).map(|step| (first + step) % words);
        let word = others.into_iter().find(|&word| self.occupied[word] != 0)?;
        Some(word * BITS + self.occupied[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn what_is_entered_comes_by_time_and_user(
            steps in prop::collection::vec((any::<bool>(), 0u64..4000, 0u64..3, 0u32..3), 1..300),
        ) {
            // Time advances by quarters of a day, so that days get several entries, and arrivals are up to 1000 days
            // ahead.
            let step = 1 << (DAY_LOG2 - 2);
            let (mut calendar, mut expected, mut now) = (Calendar::default(), BTreeSet::new(), Time::ZERO);
            for (number, (push, ahead, pause, user)) in (0u32..).zip(steps) {
                if push {
                    let time = now + Time(ahead * step);
                    // A host has at most one arrival at a time.
                    if expected.iter().any(|&(other, of, _)| (other, of) == (time, user)) {
                        continue;
                    }
                    prop_assert!(calendar.reaches(time, now));
                    expected.insert((time, user, number));
                    let is_first = expected.first() == Some(&(time, user, number));
                    prop_assert_eq!(calendar.push(time, user, number), is_first);
                } else if let Some((time, _, value)) = expected.pop_first() {
                    prop_assert_eq!(calendar.pop(), value);
                    // Time advances by a pause, but not beyond the next arrival.
                    let next = expected.first().map_or(Time::NEVER, |next| next.0);
                    now = (time + Time(pause * 2000 * step)).min(next).max(time);
                }
                prop_assert_eq!(calendar.entered(), expected.len());
                let first = expected.first().map_or((Time::NEVER, 0), |&(time, user, _)| (time, user));
                prop_assert_eq!(calendar.first(), first);
            }
            while let Some((_, _, value)) = expected.pop_first() {
                prop_assert_eq!(calendar.pop(), value);
            }
            prop_assert_eq!(calendar.first().0, Time::NEVER);
        }
    }

    #[test]
    fn it_reaches_as_far_as_its_days() {
        let calendar = Calendar::<u32>::default();
        let length = Time((DAYS as u64) << DAY_LOG2);
        assert!(calendar.reaches(length - Time(1), Time::ZERO));
        assert!(!calendar.reaches(length, Time::ZERO));
    }

    #[test]
    fn an_entry_takes_16_bytes() {
        assert_eq!(size_of::<Entry>(), 16);
    }
}
