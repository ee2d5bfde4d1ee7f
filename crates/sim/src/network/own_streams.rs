//! Separate random streams and flow numbers of users.
//!
//! Usually all transfers draw from one random stream and reuse freed slots in the order of events. Then a user's random
//! numbers and flow numbers, which schemes hash, depend on earlier actions of all other users. With separate streams
//! ([`crate::scenario::Scenario::own_streams`]), users interact only through links, so parts of a network can run
//! separately:
//!
//! - The flow number of a transfer consists of a source number and a counter. Source numbers are above those of all
//!   long-lived flows. The counter of the source's transfers runs from 1 to 4095 and wraps. Only the source reuses its
//!   slots.
//! - A connection draws its seed from a stream with the connection's number, and the pause before the next transfer
//!   from another stream.
//! - Each link has a marker stream, for packets that enter the network there.

use crate::network::random_stream::RandomStream;
use crate::network::tcp_flow::{flow_index, numbered};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use prefetch_index::prefetch_index;
use std::collections::VecDeque;

/// Range of the transfer counter.
const COUNTS: u64 = 4095;

#[derive(Debug)]
pub(super) struct OwnStreams {
    seed: u64,
    replication: u64,
    /// Flow number of the transfers of the first source, without the counter.
    first: u32,
    sources: Vec<Places>,
    /// Random streams of markers, indexed by the link at which packets enter the network.
    markers: Vec<Rng>,
}

#[derive(Debug, Default)]
struct Places {
    /// Flow number and slot of open transfers.
    open: Vec<(u32, u32)>,
    /// Free slots, with the time at which each became free, the oldest first.
    free: VecDeque<(Time, u32)>,
}

impl OwnStreams {
    /// Creates the streams for `sources` web sources, numbered after `lasting` long-lived flows.
    pub(super) fn new((seed, replication): (u64, u64), lasting: usize, sources: usize, markers: Vec<Rng>) -> Self {
        let sources = (0..sources).map(|_| Places::default()).collect();
        Self { seed, replication, first: lasting as u32, sources, markers }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn marker(&mut self, link: u32) -> &mut Rng {
        &mut self.markers[link as usize]
    }

    /// Slot of the flow with this number, if it is open. The slot of a long-lived flow equals its number.
    // Never inlined, so that networks without separate streams have no extra cost.
    #[inline(never)]
    pub(super) fn place_of(&self, id: u32) -> Option<u32> {
        match flow_index(id).checked_sub(self.first) {
            None => Some(flow_index(id)),
            Some(source) => {
                let open = &self.sources[source as usize].open;
                open.iter().find(|(number, _)| *number == id).map(|&(_, place)| place)
            }
        }
    }

    /// Returns true if this flow number, without the counter, belongs to a long-lived flow. The number is then the
    /// slot.
    pub(super) fn is_lasting(&self, number: u32) -> bool {
        number < self.first
    }

    pub(super) fn fetch_source(&self, id: u32) {
        prefetch_index(&self.sources, flow_index(id).wrapping_sub(self.first) as usize);
    }

    /// Prefetches the source's open transfers. Call it once the source's entry is in the cache.
    pub(super) fn fetch_open(&self, id: u32) {
        if let Some(places) = self.sources.get(flow_index(id).wrapping_sub(self.first) as usize) {
            prefetch_index(&places.open, 0);
        }
    }

    /// Opens transfer number `count` of a source. Returns its flow number and its slot, which is `next` if the source
    /// had no free slot before `now`.
    pub(super) fn open(&mut self, source: u32, count: u64, next: u32, now: Time) -> (u32, u32) {
        let places = &mut self.sources[source as usize];
        let id = numbered(self.first + source, (1 + count % COUNTS) as u32);
        // Packets of a slot freed at `now` may still arrive at `now`.
        let is_free = places.free.front().is_some_and(|&(since, _)| since < now);
        let free = if is_free { places.free.pop_front() } else { None };
        let place = free.map_or(next, |(_, place)| place);
        places.open.push((id, place));
        (id, place)
    }

    pub(super) fn close(&mut self, source: u32, place: u32, now: Time) {
        let places = &mut self.sources[source as usize];
        places.open.retain(|&(_, other)| other != place);
        places.free.push_back((now, place));
    }

    pub(super) fn seed_of_transfer(&self, source: u32, count: u64) -> u64 {
        self.stream(RandomStream::Sender, (1 << 63) | u64::from(source) << 40 | count)
    }

    /// Seed of a connection in the slot of a long-lived flow, with `left` more connections to follow in this slot.
    pub(super) fn seed_of_repetition(&self, place: u32, left: u32) -> u64 {
        self.stream(RandomStream::Sender, 1 + (u64::from(place) << 32 | u64::from(left)))
    }

    /// Pause before the connection of [`OwnStreams::seed_of_repetition`], exponential with this mean.
    pub(super) fn pause(&self, place: u32, left: u32, mean: f64) -> f64 {
        let index = 1 + (u64::from(place) << 32 | u64::from(left));
        Rng::stream(self.seed, self.replication, RandomStream::Pause.name(), index).exponential(mean)
    }

    fn stream(&self, stream: RandomStream, index: u64) -> u64 {
        Rng::stream(self.seed, self.replication, stream.name(), index).bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_number_their_transfers_and_keep_their_places() {
        let mut own = OwnStreams::new((1, 0), 10, 2, Vec::new());
        let (first, place) = own.open(0, 0, 10, Time(1));
        let (second, behind) = own.open(0, 1, 11, Time(1));
        let (other, of_other) = own.open(1, 0, 12, Time(1));
        assert_eq!((place, behind, of_other), (10, 11, 12));
        assert_eq!([first, second, other].map(flow_index), [10, 10, 11]);
        assert_eq!([first, second, other, 3].map(|id| own.place_of(id)), [Some(10), Some(11), Some(12), Some(3)]);
        own.close(0, 11, Time(5));
        assert_eq!(own.place_of(second), None);
        // The slot is not reused at the time at which it becomes free. The other source never reuses it.
        assert_eq!(own.open(0, 2, 13, Time(5)).1, 13);
        assert_eq!(own.open(1, 1, 14, Time(6)).1, 14);
        assert_eq!(own.open(0, 3, 15, Time(6)).1, 11);
    }

    #[test]
    fn seeds_and_pauses_depend_on_the_connection_alone() {
        let own = OwnStreams::new((1, 0), 10, 2, Vec::new());
        let seeds = [own.seed_of_transfer(0, 0), own.seed_of_transfer(0, 1), own.seed_of_transfer(1, 0)];
        assert_eq!(seeds[0], OwnStreams::new((1, 0), 99, 7, Vec::new()).seed_of_transfer(0, 0));
        assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2]);
        assert_ne!(own.seed_of_repetition(3, 1), own.seed_of_repetition(3, 2));
        assert_ne!(own.pause(3, 1, 1.0).to_bits(), own.pause(3, 2, 1.0).to_bits());
    }
}
