//! A calendar: arrivals that come in no order, entered by their time.
//!
//! Where many access links are busy at once, the arrivals from them come in no order, and each host would need an entry
//! among the events. Here they are entered into days, lists of what arrives in the same span of time, and a day is
//! sorted when it comes (Brown, "Calendar queues", 1988; but days do not change their length). What comes next is known
//! long before, and the values lie in one memory, where the place that was freed last is the next to be used.

use fairlane_schemes::base::units::Time;

/// A day lasts 2^28 ps, 0.27 ms: 268 arrivals at a million a second. Only those of the open day can be asked for ahead,
/// so that days must not be short.
const DAY_LOG2: u32 = 28;
/// Days of the calendar, 1.1 s in all: what is later cannot be entered.
const DAYS: usize = 4096;
const BITS: usize = u64::BITS as usize;

/// Arrivals by time and, among equals, by user.
#[derive(Clone, Debug)]
pub struct Calendar<T> {
    /// What arrives on the day that is open, the next one last.
    present: Vec<Entry>,
    /// The number of that day since time 0.
    open: u64,
    /// The other days, each at its number modulo [`DAYS`], and which of them have entries.
    days: Vec<Vec<Entry>>,
    occupied: [u64; DAYS / BITS],
    values: Vec<T>,
    /// Places in `values` that are free, and memory of days that are over; what was freed last is last.
    free: Vec<u32>,
    spare: Vec<Vec<Entry>>,
}

/// When, whose, and the place of the value.
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

/// The number of the day of a time.
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
    /// Whether something that arrives at `time` can be entered at `now`, which is not after it.
    #[inline]
    pub fn reaches(&self, time: Time, now: Time) -> bool {
        day(time) < day(now) + DAYS as u64
    }

    /// Enters an arrival that the calendar reaches; whether it is the first.
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

    /// Takes the first arrival. There must be one.
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

    /// User and value of what comes `places` behind the first, if it comes on the same day.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<(u32, &T)> {
        let index = self.present.len().checked_sub(places + 1)?;
        let entry = self.present.get(index)?;
        Some((entry.user, &self.values[entry.place as usize]))
    }

    /// How many are entered and not taken.
    #[must_use]
    pub fn entered(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Enters an arrival on a day that is not open.
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

    /// The day that is open is not the next one after all.
    #[cold]
    fn close(&mut self) {
        let index = self.open as usize % DAYS;
        debug_assert!(self.days[index].is_empty());
        std::mem::swap(&mut self.days[index], &mut self.present);
        self.occupied[index / BITS] |= 1 << (index % BITS);
    }

    /// Opens the next day with entries, if there is one.
    #[inline(never)]
    fn open_next(&mut self) {
        let from = self.open as usize % DAYS;
        let Some(index) = self.next_occupied(from) else { return };
        // All entries are less than one round ahead.
        self.open += ((index + DAYS - from) % DAYS) as u64;
        self.occupied[index / BITS] &= !(1 << (index % BITS));
        let past = std::mem::replace(&mut self.present, std::mem::take(&mut self.days[index]));
        self.spare.push(past);
        self.present.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.key()));
    }

    /// The first day with entries behind day `from`, round the end of the calendar.
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
            // A quarter of a day is a step of time, so that days get several entries; up to 1000 days ahead.
            let step = 1 << (DAY_LOG2 - 2);
            let (mut calendar, mut expected, mut now) = (Calendar::default(), BTreeSet::new(), Time::ZERO);
            for (number, (push, ahead, pause, user)) in (0u32..).zip(steps) {
                if push {
                    let time = now + Time(ahead * step);
                    // One host has at most one arrival at a time.
                    if expected.iter().any(|&(other, of, _)| (other, of) == (time, user)) {
                        continue;
                    }
                    prop_assert!(calendar.reaches(time, now));
                    expected.insert((time, user, number));
                    let is_first = expected.first() == Some(&(time, user, number));
                    prop_assert_eq!(calendar.push(time, user, number), is_first);
                } else if let Some((time, _, value)) = expected.pop_first() {
                    prop_assert_eq!(calendar.pop(), value);
                    // Time goes on to what was taken, and by a pause if nothing comes in it.
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
