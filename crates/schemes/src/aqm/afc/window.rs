//! Which part of the enqueued bytes is of one flow: the virtual queue of AFC in three readings.
//!
//! afc section 3 calls `HitFraction` the share of a virtual queue of size m. When it is computed is left open:
//!
//! | window | Hit of flow i | new value |
//! |---|---|---|
//! | sliding | its bytes among those of the last m packets | at every packet |
//! | jumping | its bytes of this period over all bytes of the last whole period | at every packet; falls to 0 with each period |
//! | period end | its bytes of the last whole period over all bytes of it | every m packets |

use crate::choices;
use crate::lru::LruCache;
use crate::units::Time;
use std::collections::VecDeque;

choices! {
    /// Reading of the virtual queue.
    pub enum WindowKind {
        /// The last m packets.
        Sliding = "sliding",
        /// The present period of m packets, while it runs.
        Jumping = "jumping",
        /// The last period of m packets.
        PeriodEnd = "period_end",
    }
}

/// A cached flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// Bytes in the window, of those that were enqueued since the flow came into the cache.
    bytes: u64,
    /// Sliding: index of the first packet counted. Otherwise: the period that `bytes` is of.
    since: u64,
    /// Hit at the end of the last period, for [`WindowKind::PeriodEnd`].
    settled: f64,
    /// dA: area between Hit and Fair, s; negative is credit.
    pub(super) area_s: f64,
    /// Until when the area is up to date.
    pub(super) updated: Time,
}

/// Fair fraction and bound of the area, in force at present.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fair {
    /// `FairFraction` = 1/N_act.
    pub(super) fraction: f64,
    /// D: bound of the area, s.
    pub(super) bound_s: f64,
}

impl Entry {
    /// Eq. (1): the area grows by `hit - Fair` times the time since the last update.
    #[inline]
    pub(super) fn integrate(&mut self, hit: f64, fair: Fair, now: Time) {
        let elapsed_s = now.saturating_sub(self.updated).as_secs_f64();
        self.area_s = (self.area_s + (hit - fair.fraction) * elapsed_s).clamp(-fair.bound_s, fair.bound_s);
        self.updated = now;
    }
}

/// The virtual queue, without the flows in it.
#[derive(Clone, Debug)]
pub(super) enum Window {
    Sliding(Sliding),
    Jumping(Period),
    PeriodEnd(Period),
}

impl Window {
    pub(super) fn new(kind: WindowKind, packets: u32) -> Self {
        match kind {
            WindowKind::Sliding => Self::Sliding(Sliding::new(packets)),
            WindowKind::Jumping => Self::Jumping(Period::new(packets)),
            WindowKind::PeriodEnd => Self::PeriodEnd(Period::new(packets)),
        }
    }

    /// `HitFraction` of a cached flow now.
    #[inline]
    pub(super) fn hit(&self, entry: &Entry) -> f64 {
        match self {
            Self::Sliding(window) => fraction(entry.bytes, window.bytes),
            Self::Jumping(period) if entry.since == period.number => fraction(entry.bytes, period.reference()),
            Self::Jumping(_) => 0.0,
            Self::PeriodEnd(_) => entry.settled,
        }
    }

    /// A packet of `flow` is enqueued: it enters window and cache.
    pub(super) fn enqueued(&mut self, cache: &mut LruCache<Entry>, flow: u32, wire_bytes: u32, fair: Fair, now: Time) {
        let since = match self {
            Self::Sliding(window) => window.packets_seen,
            Self::Jumping(period) | Self::PeriodEnd(period) => period.number,
        };
        let new = || Entry { bytes: 0, since, settled: 0.0, area_s: 0.0, updated: now };
        let entry = cache.use_or_insert_with(flow, new);
        if !matches!(self, Self::Sliding(_)) && entry.since != since {
            (entry.bytes, entry.since) = (0, since);
        }
        entry.bytes += u64::from(wire_bytes);
        match self {
            Self::Sliding(window) => window.push(cache, flow, wire_bytes),
            Self::Jumping(period) => _ = period.count(wire_bytes),
            Self::PeriodEnd(period) => {
                if period.count(wire_bytes) {
                    settle(cache, period, fair, now);
                }
            }
        }
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Sliding(window) => window.ring.len() * size_of::<(u32, u32)>(),
            Self::Jumping(_) | Self::PeriodEnd(_) => 0,
        }
    }
}

/// 0 of 0 is 0: packets without length.
#[inline]
fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Computes Hit and area of every cached flow at the end of a period.
fn settle(cache: &mut LruCache<Entry>, period: &Period, fair: Fair, now: Time) {
    let ended = period.number - 1;
    cache.records_mut(|_, entry| {
        let bytes = if entry.since == ended { entry.bytes } else { 0 };
        entry.settled = fraction(bytes, period.last_bytes);
        entry.integrate(entry.settled, fair, now);
    });
}

/// The last m enqueued packets.
#[derive(Clone, Debug)]
pub(super) struct Sliding {
    ring: VecDeque<(u32, u32)>,
    capacity: usize,
    bytes: u64,
    packets_seen: u64,
}

impl Sliding {
    fn new(packets: u32) -> Self {
        let capacity = packets as usize;
        Self { ring: VecDeque::with_capacity(capacity + 1), capacity, bytes: 0, packets_seen: 0 }
    }

    fn push(&mut self, cache: &mut LruCache<Entry>, flow: u32, wire_bytes: u32) {
        self.ring.push_back((flow, wire_bytes));
        self.bytes += u64::from(wire_bytes);
        self.packets_seen += 1;
        if self.ring.len() <= self.capacity {
            return;
        }
        let index = self.packets_seen - self.ring.len() as u64;
        let (oldest, oldest_bytes) = self.ring.pop_front().expect("it holds more than its capacity");
        self.bytes -= u64::from(oldest_bytes);
        // A flow that was forgotten and came back does not own what it sent before.
        if let Some(entry) = cache.get_mut(oldest).filter(|entry| entry.since <= index) {
            entry.bytes -= u64::from(oldest_bytes);
        }
    }
}

/// A period of m enqueued packets, and the bytes of the one before.
#[derive(Clone, Debug)]
pub(super) struct Period {
    length: u32,
    packets: u32,
    bytes: u64,
    last_bytes: u64,
    number: u64,
}

impl Period {
    fn new(length: u32) -> Self {
        Self { length, packets: 0, bytes: 0, last_bytes: 0, number: 0 }
    }

    /// Counts a packet; whether a period ended with it.
    fn count(&mut self, wire_bytes: u32) -> bool {
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
        let ended = self.packets == self.length;
        if ended {
            self.last_bytes = self.bytes;
            (self.packets, self.bytes) = (0, 0);
            self.number += 1;
        }
        ended
    }

    /// Bytes of a whole period: the last, as far as it goes the first.
    fn reference(&self) -> u64 {
        if self.number == 0 { self.bytes } else { self.last_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAIR: Fair = Fair { fraction: 0.25, bound_s: 10.0 };

    /// Hit of flow 1 after each of `packets` (flow, bytes), one a second.
    fn hits(kind: WindowKind, packets: &[(u32, u32)]) -> Vec<f64> {
        let (mut window, mut cache) = (Window::new(kind, 4), LruCache::new(8));
        let mut after = |(at, &(flow, bytes)): (u64, &(u32, u32))| {
            window.enqueued(&mut cache, flow, bytes, FAIR, Time::from_secs(at));
            cache.get_mut(1).map_or(-1.0, |entry| window.hit(entry))
        };
        (1..).zip(packets).map(&mut after).collect()
    }

    const PACKETS: [(u32, u32); 10] =
        [(1, 100), (2, 300), (1, 100), (3, 300), (1, 200), (1, 200), (2, 200), (2, 200), (1, 400), (3, 0)];

    #[test]
    fn sliding_is_the_share_of_the_last_packets() {
        let expected = [1.0, 0.25, 0.4, 0.25, 300.0 / 900.0, 500.0 / 800.0, 400.0 / 900.0, 0.5, 0.6, 0.5];
        assert_eq!(hits(WindowKind::Sliding, &PACKETS), expected);
    }

    #[test]
    fn jumping_runs_up_against_the_last_whole_period() {
        // Periods of four packets: 800 bytes, 800 bytes. In the first its own sum so far stands for a whole one.
        let expected = [1.0, 0.25, 0.4, 0.0, 0.25, 0.5, 0.5, 0.0, 0.5, 0.5];
        assert_eq!(hits(WindowKind::Jumping, &PACKETS), expected);
    }

    #[test]
    fn period_end_stands_for_the_next_period() {
        let expected = [0.0, 0.0, 0.0, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5];
        assert_eq!(hits(WindowKind::PeriodEnd, &PACKETS), expected);
    }

    #[test]
    fn a_flow_without_packets_in_a_period_ends_it_with_nothing() {
        let packets: Vec<_> = [(1, 100); 4].into_iter().chain([(2, 100); 4]).collect();
        assert_eq!(hits(WindowKind::PeriodEnd, &packets)[7], 0.0);
        assert_eq!(hits(WindowKind::Jumping, &packets)[7], 0.0);
        assert_eq!(hits(WindowKind::Sliding, &packets)[7], 0.0);
    }

    #[test]
    fn equation_1_integrates_what_is_above_the_fair_fraction() {
        let mut entry = Entry { bytes: 0, since: 0, settled: 0.0, area_s: 0.0, updated: Time::ZERO };
        entry.integrate(0.75, FAIR, Time::from_secs(2)); // + 0.5 * 2
        assert_eq!(entry.area_s, 1.0);
        entry.integrate(0.0, FAIR, Time::from_secs(8)); // - 0.25 * 6
        assert_eq!(entry.area_s, -0.5);
        entry.integrate(0.0, FAIR, Time::from_secs(1000));
        assert_eq!(entry.area_s, -10.0);
        entry.integrate(1.0, FAIR, Time::from_secs(2000));
        assert_eq!(entry.area_s, 10.0);
    }

    #[test]
    fn period_ends_integrate_every_cached_flow() {
        let (mut window, mut cache) = (Window::new(WindowKind::PeriodEnd, 2), LruCache::new(8));
        for (at, flow) in [(1, 1), (3, 1), (4, 2), (7, 2)] {
            window.enqueued(&mut cache, flow, 100, FAIR, Time::from_secs(at));
        }
        // Flow 1 since 1 s: period to 3 s all its own, + 0.75 * 2; the next to 7 s none, - 0.25 * 4.
        assert_eq!(cache.get_mut(1).unwrap().area_s, 0.5);
        // Flow 2 since 4 s: + 0.75 * 3.
        assert_eq!(cache.get_mut(2).unwrap().area_s, 2.25);
    }

    proptest! {
        #[test]
        fn sliding_counts_what_a_plain_list_holds(
            capacity in 1u32..10,
            cached in 1u32..5,
            packets in prop::collection::vec((0u32..6, 0u32..1500), 1..200),
        ) {
            let (mut window, mut cache) = (Window::new(WindowKind::Sliding, capacity), LruCache::new(cached));
            // Flows in the cache, with the packet that brought them in.
            let mut since: Vec<(u32, usize)> = Vec::new();
            for (at, &(flow, bytes)) in packets.iter().enumerate() {
                window.enqueued(&mut cache, flow, bytes, FAIR, Time::ZERO);
                let first = since.iter().position(|&(other, _)| other == flow).map_or(at, |place| since.remove(place).1);
                since.insert(0, (flow, first));
                since.truncate(cached as usize);
                let start = (at + 1).saturating_sub(capacity as usize);
                let sum = |from: usize, of: Option<u32>| -> u64 {
                    let counted = packets[from..=at].iter().filter(|&&(flow, _)| of.is_none_or(|of| of == flow));
                    counted.map(|&(_, bytes)| u64::from(bytes)).sum()
                };
                for &(flow, first) in &since {
                    let expected = fraction(sum(start.max(first), Some(flow)), sum(start, None));
                    prop_assert_eq!(window.hit(cache.get_mut(flow).unwrap()), expected);
                }
            }
        }
    }
}
