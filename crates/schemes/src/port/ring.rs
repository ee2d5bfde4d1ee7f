//! A FIFO ring buffer of small values, each with a time.

use crate::base::units::Time;

/// A FIFO queue of values with times that grows by doubling and never shrinks. The number of slots is a power of two,
/// so a mask wraps an index around. A [`std::collections::VecDeque`] needs a comparison for this.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<(Time, T)>,
    head: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    const LEAST_SLOTS: usize = 4;

    /// Number of values.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the ring is empty.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the value that `make` returns.
    #[inline(always)]
    pub fn push(&mut self, time: Time, make: impl Fn() -> T) {
        if self.len == self.slots.len() {
            self.grow((time, make()));
        }
        let slot = self.slot(self.len);
        self.len += 1;
        let place = &mut self.slots[slot];
        place.0 = time;
        place.1 = make();
    }

    /// Stores a time and the value that `make` returns in the slot after the last value, and returns a reference to the
    /// value. The caller may change the value until [`Ring::append`] adds it to the queue.
    // Creates the value in its slot: copying a value right after writing its fields is slow.
    #[inline(always)]
    pub fn place(&mut self, time: Time, make: impl Fn() -> T) -> &mut T {
        if self.len == self.slots.len() {
            self.grow((time, make()));
        }
        let slot = self.slot(self.len);
        let place = &mut self.slots[slot];
        place.0 = time;
        place.1 = make();
        &mut place.1
    }

    /// Appends the last placed value.
    #[inline(always)]
    pub fn append(&mut self) {
        self.len += 1;
    }

    /// The last placed value, appended or not.
    #[inline(always)]
    pub fn placed(&self, appended: bool) -> &T {
        &self.slots[self.slot(self.len - usize::from(appended))].1
    }

    /// Removes the first value.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, T)> {
        if self.len == 0 { None } else { Some(self.take()) }
    }

    /// Removes the first value, which must exist.
    #[inline(always)]
    pub fn take(&mut self) -> (Time, T) {
        assert!(self.len > 0, "an arrival was announced");
        let value = self.slots[self.head];
        self.head = self.slot(1);
        self.len -= 1;
        value
    }

    /// Returns the value `places` positions after the first.
    #[must_use]
    #[inline]
    pub fn get(&self, places: usize) -> Option<&(Time, T)> {
        if places < self.len { Some(&self.slots[self.slot(places)]) } else { None }
    }

    /// All values, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(Time, T)> {
        (0..self.len).filter_map(|places| self.get(places))
    }

    #[inline]
    fn slot(&self, places: usize) -> usize {
        (self.head + places) & (self.slots.len() - 1)
    }

    /// Doubles the number of slots and moves the first value to the first slot. `filler` initialises free slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: (Time, T)) {
        let mut slots = Vec::with_capacity((2 * self.slots.len()).max(Self::LEAST_SLOTS));
        slots.extend(self.iter());
        slots.resize(slots.capacity(), filler);
        (self.slots, self.head) = (slots, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_is_a_queue(pushes in prop::collection::vec(any::<bool>(), 0..300)) {
            let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
            for (value, pushes) in pushes.into_iter().enumerate() {
                if pushes {
                    let time = Time(value as u64 / 2);
                    ring.push(time, || value);
                    prop_assert_eq!(*ring.placed(true), value);
                    queue.push_back((time, value));
                } else {
                    prop_assert_eq!(ring.pop(), queue.pop_front());
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
                prop_assert!(ring.iter().eq(&queue));
                prop_assert_eq!(ring.get(queue.len()), None);
            }
        }
    }
}
