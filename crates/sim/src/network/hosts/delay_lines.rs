//! Delay lines that share memory.
//!
//! Each user has two short lines, for packets upstream and acknowledgements downstream. A ring buffer per line would
//! need memory for the line's largest burst. Linked lists in shared memory need only memory for all entries in flight.
//! The node freed last, which is still in the cache, is reused first.

use fairlane_schemes::base::units::Time;

/// End of a chain.
const NIL: u32 = u32::MAX;

/// Memory of many delay lines.
#[derive(Clone, Debug)]
pub struct DelayLines<T> {
    nodes: Vec<Node<T>>,
    /// Chain of unused nodes.
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    time: Time,
    value: T,
    next: u32,
}

/// A delay line: values in the order of their times.
#[derive(Clone, Copy, Debug)]
pub struct DelayLine {
    first_time: Time,
    head: u32,
    tail: u32,
}

impl DelayLine {
    /// Creates an empty line.
    pub const EMPTY: Self = Self { first_time: Time::NEVER, head: NIL, tail: NIL };

    /// Time of the first value; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn first_time(&self) -> Time {
        self.first_time
    }

    /// Returns true if the line is empty.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

/// A delay line that also counts the values that [`DelayLines::pass`] has not passed yet.
#[derive(Clone, Copy, Debug)]
pub struct WatchedDelayLine {
    line: DelayLine,
    /// First value not passed by [`DelayLines::pass`]. `left` is the number of values from this one to the end.
    unpassed: u32,
    left: u32,
}

impl WatchedDelayLine {
    /// Creates an empty line.
    pub const EMPTY: Self = Self { line: DelayLine::EMPTY, unpassed: NIL, left: 0 };

    /// The line itself.
    #[must_use]
    #[inline]
    pub fn line(&self) -> &DelayLine {
        &self.line
    }

    /// Number of values not passed by the last [`DelayLines::pass`], including values added since then.
    #[must_use]
    #[inline]
    pub fn left(&self) -> usize {
        self.left as usize
    }
}

impl<T: Copy> Default for DelayLines<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: NIL }
    }
}

impl<T: Copy> DelayLines<T> {
    /// Appends a value at `time`, which must not be before the last time of the line.
    #[inline]
    pub fn push(&mut self, line: &mut DelayLine, time: Time, value: T) {
        self.append(line, time, value);
    }

    /// Like [`DelayLines::push`], for a watched line.
    #[inline]
    pub fn push_watched(&mut self, watched: &mut WatchedDelayLine, time: Time, value: T) {
        let index = self.append(&mut watched.line, time, value);
        if watched.unpassed == NIL {
            watched.unpassed = index;
        }
        watched.left += 1;
    }

    #[inline]
    fn append(&mut self, line: &mut DelayLine, time: Time, value: T) -> u32 {
        let node = Node { time, value, next: NIL };
        let index = self.free;
        let index = if index == NIL {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        if line.head == NIL {
            line.head = index;
            line.first_time = time;
        } else {
            self.nodes[line.tail as usize].next = index;
        }
        line.tail = index;
        index
    }

    /// Takes the first value of a line, which must not be empty.
    #[inline]
    pub fn pop(&mut self, line: &mut DelayLine) -> T {
        let index = line.head;
        let Node { value, next, .. } = self.nodes[index as usize];
        self.nodes[index as usize].next = self.free;
        self.free = index;
        line.head = next;
        line.first_time = self.nodes.get(next as usize).map_or(Time::NEVER, |node| node.time);
        value
    }

    /// Like [`DelayLines::pop`], for a watched line.
    #[inline]
    pub fn pop_watched(&mut self, watched: &mut WatchedDelayLine) -> T {
        if watched.unpassed == watched.line.head {
            watched.unpassed = self.nodes[watched.line.head as usize].next;
            watched.left -= 1;
        }
        self.pop(&mut watched.line)
    }

    /// Passes values, starting with the first, while `over` returns true. Returns the number of values that have not
    /// been passed. If `over` is true for a value, it must be true for all earlier values, and must remain true. A
    /// passed value is therefore not tested again.
    #[inline]
    pub fn pass(&self, watched: &mut WatchedDelayLine, over: impl Fn(Time, &T) -> bool) -> usize {
        while let Some(node) = self.nodes.get(watched.unpassed as usize)
            && over(node.time, &node.value)
        {
            watched.unpassed = node.next;
            watched.left -= 1;
        }
        watched.left()
    }

    /// Time and value of the first entry not passed by [`DelayLines::pass`].
    #[inline]
    pub fn first_left(&self, watched: &WatchedDelayLine) -> Option<(Time, &T)> {
        self.nodes.get(watched.unpassed as usize).map(|node| (node.time, &node.value))
    }

    /// Times and values of a line, in order.
    pub fn iter(&self, line: &DelayLine) -> impl Iterator<Item = (Time, &T)> {
        let mut index = line.head;
        std::iter::from_fn(move || {
            let node = self.nodes.get(index as usize)?;
            index = node.next;
            Some((node.time, &node.value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn lines_that_share_memory_behave_as_queues_of_their_own(
            steps in prop::collection::vec((0usize..3, any::<bool>()), 0..200),
        ) {
            let mut pool = DelayLines::default();
            let mut lines = [DelayLine::EMPTY; 3];
            let mut queues: [VecDeque<(Time, u64)>; 3] = Default::default();
            for (now, (which, push)) in (0..).zip(steps) {
                if push {
                    pool.push(&mut lines[which], Time(now), now);
                    queues[which].push_back((Time(now), now));
                } else if let Some((_, value)) = queues[which].pop_front() {
                    prop_assert_eq!(pool.pop(&mut lines[which]), value);
                }
                for (line, queue) in lines.iter().zip(&queues) {
                    prop_assert_eq!(line.is_empty(), queue.is_empty());
                    prop_assert_eq!(line.first_time(), queue.front().map_or(Time::NEVER, |entry| entry.0));
                    prop_assert!(pool.iter(line).map(|(time, &value)| (time, value)).eq(queue.iter().copied()));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn passing_counts_what_a_look_at_all_would_count(
            steps in prop::collection::vec((any::<bool>(), 0u64..4), 0..200),
        ) {
            let (mut pool, mut line, mut now) = (DelayLines::default(), WatchedDelayLine::EMPTY, 0);
            for (push, gap) in steps {
                now += gap;
                if push || line.line().is_empty() {
                    pool.push_watched(&mut line, Time(now + 9), now);
                } else {
                    pool.pop_watched(&mut line);
                }
                let left = pool.iter(line.line()).filter(|(_, value)| **value + 5 > now).count();
                prop_assert_eq!(pool.pass(&mut line, |_, value| *value + 5 <= now), left);
            }
        }
    }

    #[test]
    fn nodes_are_used_again() {
        let (mut pool, mut line) = (DelayLines::default(), DelayLine::EMPTY);
        for round in 0..1000 {
            pool.push(&mut line, Time(round), round);
            pool.pop(&mut line);
        }
        assert_eq!(pool.nodes.len(), 1);
    }

    #[test]
    fn a_packet_on_its_way_fills_a_cache_line() {
        assert_eq!(size_of::<Node<crate::network::sim_packet::SimPacket>>(), 64);
    }
}
