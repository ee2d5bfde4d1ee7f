//! Shares of flows in recent traffic: the virtual queue of BLACK and AFC, in three interpretations.
//!
//! `HitFraction` is a flow's share of a virtual queue of m packets (section 3 of the AFC paper, see [`super::afc`]).
//! BLACK fills that queue with sampled packets, AFC with enqueued packets weighted by their bytes. The paper leaves
//! open when to compute the share:
//!
//! | window | Hit of flow i | new value |
//! |---|---|---|
//! | sliding | its fraction of the last m packets | at every packet |
//! | jumping | its packets or bytes in this period over those of all flows in the last period | at every packet; 0 at the start of each period |
//! | period end | its fraction of the last complete period | every m packets |

use crate::contract::prelude::*;
use crate::flows::lru_cache::LruCache;
use std::collections::VecDeque;

choices! {
    /// Interpretation of the virtual queue.
    pub enum WindowKind {
        /// The last m packets.
        Sliding = "sliding",
        /// The current, incomplete period of m packets.
        Jumping = "jumping",
        /// The last complete period of m packets.
        PeriodEnd = "period_end",
    }
}

/// Share of a cached flow in the virtual queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// Packets or bytes in the window since the flow entered the cache.
    size: u64,
    /// With a sliding window, index of the first packet in `size`. Otherwise, number of the period to which `size`
    /// belongs.
    since: u64,
    /// Hit at the end of the last period, except for [`WindowKind::Sliding`].
    settled: f64,
}

impl Share {
    /// Returns Hit of the last complete period.
    pub(super) fn settled(&self) -> f64 {
        self.settled
    }
}

/// Record of a cached flow: its share and the data of the scheme.
pub(super) trait Record {
    /// Share of the flow.
    fn share(&mut self) -> &mut Share;
}

impl Record for Share {
    fn share(&mut self) -> &mut Share {
        self
    }
}

/// The virtual queue, without the records of flows.
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

    /// Current `HitFraction` of a cached flow.
    #[inline]
    pub(super) fn hit(&self, share: &Share) -> f64 {
        match self {
            Self::Sliding(window) => fraction(share.size, window.size),
            Self::Jumping(period) if share.since == period.number => fraction(share.size, period.reference()),
            Self::Jumping(_) => 0.0,
            Self::PeriodEnd(_) => share.settled,
        }
    }

    /// Duration of the last complete period; in the first period, its duration so far. 0 without periods.
    pub(super) fn period(&self, now: Time) -> Time {
        match self {
            Self::Sliding(_) => Time::ZERO,
            Self::Jumping(period) | Self::PeriodEnd(period) => period.duration(now),
        }
    }

    /// Counts a packet of `flow`, with weight `size`, in the window and the cache; `new` creates a record. If the
    /// packet ends a period, computes Hit of every cached flow for that period and returns true.
    pub(super) fn pass<R: Record>(
        &mut self,
        cache: &mut LruCache<R>,
        (flow, size): (u32, u32),
        now: Time,
        new: impl FnOnce(Share) -> R,
    ) -> bool {
        let since = match self {
            Self::Sliding(window) => window.packets_seen,
            Self::Jumping(period) | Self::PeriodEnd(period) => period.number,
        };
        let share = cache.use_or_insert_with(flow, || new(Share { size: 0, since, settled: 0.0 })).share();
        if !matches!(self, Self::Sliding(_)) && share.since != since {
            (share.size, share.since) = (0, since);
        }
        share.size += u64::from(size);
        match self {
            Self::Sliding(window) => {
                window.push(cache, flow, size);
                false
            }
            Self::Jumping(period) | Self::PeriodEnd(period) => {
                let ended = period.count(size, now);
                if ended {
                    settle(cache, period);
                }
                ended
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

/// Returns `part / whole`, or 0 if both are 0, for example with packets of length 0.
#[inline]
fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Computes Hit of every cached flow at the end of a period.
fn settle<R: Record>(cache: &mut LruCache<R>, period: &Period) {
    let ended = period.number - 1;
    cache.records_mut(|_, record| {
        let share = record.share();
        let size = if share.since == ended { share.size } else { 0 };
        share.settled = fraction(size, period.last_size);
    });
}

/// Window of the last m packets.
#[derive(Clone, Debug)]
pub(super) struct Sliding {
    ring: VecDeque<(u32, u32)>,
    capacity: usize,
    size: u64,
    packets_seen: u64,
}

impl Sliding {
    fn new(packets: u32) -> Self {
        let capacity = packets as usize;
        Self { ring: VecDeque::with_capacity(capacity + 1), capacity, size: 0, packets_seen: 0 }
    }

    fn push<R: Record>(&mut self, cache: &mut LruCache<R>, flow: u32, size: u32) {
        self.ring.push_back((flow, size));
        self.size += u64::from(size);
        self.packets_seen += 1;
        if self.ring.len() <= self.capacity {
            return;
        }
        let index = self.packets_seen - self.ring.len() as u64;
        let (oldest, oldest_size) = self.ring.pop_front().expect("it holds more than its capacity");
        self.size -= u64::from(oldest_size);
        // After an eviction, a flow's earlier packets do not count.
        if let Some(share) = cache.get_mut(oldest).map(Record::share).filter(|share| share.since <= index) {
            share.size -= u64::from(oldest_size);
        }
    }
}

/// Current period of m packets, and the size of the last period.
#[derive(Clone, Debug)]
pub(super) struct Period {
    length: u32,
    packets: u32,
    size: u64,
    last_size: u64,
    number: u64,
    /// Start of the current period: its first packet, or the end of the last period.
    began: Option<Time>,
    last_duration: Time,
}

impl Period {
    fn new(length: u32) -> Self {
        Self { length, packets: 0, size: 0, last_size: 0, number: 0, began: None, last_duration: Time::ZERO }
    }

    /// Counts a packet. Returns true if the packet ended a period.
    fn count(&mut self, size: u32, now: Time) -> bool {
        let began = *self.began.get_or_insert(now);
        self.packets += 1;
        self.size += u64::from(size);
        let ended = self.packets == self.length;
        if ended {
            (self.last_size, self.last_duration) = (self.size, now.saturating_sub(began));
            (self.packets, self.size, self.began) = (0, 0, Some(now));
            self.number += 1;
        }
        ended
    }

    /// Size of the last complete period; in the first period, its size so far.
    fn reference(&self) -> u64 {
        if self.number == 0 { self.size } else { self.last_size }
    }

    /// Duration of the last complete period; in the first period, its duration so far.
    fn duration(&self, now: Time) -> Time {
        match self.began {
            Some(began) if self.number == 0 => now.saturating_sub(began),
            _ => self.last_duration,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns Hit of flow 1 after each of `packets` (flow, bytes), one packet per second.
    fn hits(kind: WindowKind, packets: &[(u32, u32)]) -> Vec<f64> {
        let (mut window, mut cache) = (Window::new(kind, 4), LruCache::new(8));
        let mut after = |(at, &(flow, bytes)): (u64, &(u32, u32))| {
            window.pass(&mut cache, (flow, bytes), Time::from_secs(at), |share| share);
            cache.get_mut(1).map_or(-1.0, |share| window.hit(share))
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
        // The two complete periods of four packets have 800 bytes each. During the first period, its sum so far is the
        // reference.
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
    fn a_period_ends_with_its_last_packet_and_settles_every_share() {
        let (mut window, mut cache) = (Window::new(WindowKind::Jumping, 2), LruCache::new(8));
        let mut pass = |at, flow| window.pass(&mut cache, (flow, 100), Time::from_secs(at), |share: Share| share);
        assert_eq!([(1, 1), (3, 1), (4, 2), (8, 1)].map(|(at, flow)| pass(at, flow)), [false, true, false, true]);
        assert_eq!([1, 2].map(|flow| cache.get_mut(flow).unwrap().settled()), [0.5, 0.5]);
        // The period lasts from 3 s, the end of the first period, to 8 s.
        assert_eq!(window.period(Time::from_secs(9)), Time::from_secs(5));
    }

    proptest! {
        #[test]
        fn sliding_counts_what_a_plain_list_holds(
            capacity in 1u32..10,
            cached in 1u32..5,
            packets in prop::collection::vec((0u32..6, 0u32..1500), 1..200),
        ) {
            let (mut window, mut cache) = (Window::new(WindowKind::Sliding, capacity), LruCache::new(cached));
            // Flows in the cache, each with the index of the packet that created its record.
            let mut since: Vec<(u32, usize)> = Vec::new();
            for (at, &(flow, bytes)) in packets.iter().enumerate() {
                window.pass(&mut cache, (flow, bytes), Time::ZERO, |share| share);
                let first = since.iter().position(|&(other, _)| other == flow)
                    .map_or(at, |place| since.remove(place).1);
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
