//! Random streams and flow numbers of the users' own.
//!
//! Usually all transfers draw from one stream, and take the places that others have left, in the order of events: what
//! a user does depends, by a random number or a hash, on what all others did before. Where a scenario has own streams
//! ([`crate::scenario::Scenario::own_streams`]), users have to do with one another only through links, so that parts of
//! a network can run apart:
//!
//! - The number of a transfer's flow is that of its source behind those of all lasting flows, with a count of the
//!   source's transfers above it, from 1 to 4095 and round again. A source uses its places again, and no other does.
//! - A connection draws its seed from a stream of its number, the pause before the next transfer from another.
//! - Each link has a marker stream, for the packets that enter the network there.

use crate::network::random_stream::RandomStream;
use crate::network::tcp_flow::{flow_index, numbered};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use prefetch_index::prefetch_index;
use std::collections::VecDeque;

/// Counts of a source's transfers that are told apart.
const COUNTS: u64 = 4095;

/// The transfers of all sources.
#[derive(Debug)]
pub(super) struct OwnStreams {
    seed: u64,
    replication: u64,
    /// The number of the first source's transfers, count apart.
    first: u32,
    sources: Vec<Places>,
    /// What markers draw, by the link that packets enter through.
    markers: Vec<Rng>,
}

/// The places of a source's transfers.
#[derive(Debug, Default)]
struct Places {
    /// Flow number and place of those that are open.
    open: Vec<(u32, u32)>,
    /// Free places, with the time since when, the longest first.
    free: VecDeque<(Time, u32)>,
}

impl OwnStreams {
    /// For `sources` web sources, behind `lasting` flows that last.
    pub(super) fn new((seed, replication): (u64, u64), lasting: usize, sources: usize, markers: Vec<Rng>) -> Self {
        let sources = (0..sources).map(|_| Places::default()).collect();
        Self { seed, replication, first: lasting as u32, sources, markers }
    }

    /// What a marker draws at the entry of a link.
    #[cold]
    #[inline(never)]
    pub(super) fn marker(&mut self, link: u32) -> &mut Rng {
        &mut self.markers[link as usize]
    }

    /// Where the flow of this number is, if it is open; a flow that lasts has its number for a place.
    // Never: networks without streams of their own do not pay for it.
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

    /// Whether a flow of this number, count apart, lasts: then that is its place.
    pub(super) fn is_lasting(&self, number: u32) -> bool {
        number < self.first
    }

    /// Asks for the entry of the source whose transfer this is.
    pub(super) fn fetch_source(&self, id: u32) {
        prefetch_index(&self.sources, flow_index(id).wrapping_sub(self.first) as usize);
    }

    /// The same, when that has come, for its open transfers.
    pub(super) fn fetch_open(&self, id: u32) {
        if let Some(places) = self.sources.get(flow_index(id).wrapping_sub(self.first) as usize) {
            prefetch_index(&places.open, 0);
        }
    }

    /// Opens transfer number `count` of a source: its flow number, and its place, `next` if none of its own is free
    /// since before `now`.
    pub(super) fn open(&mut self, source: u32, count: u64, next: u32, now: Time) -> (u32, u32) {
        let places = &mut self.sources[source as usize];
        let id = numbered(self.first + source, (1 + count % COUNTS) as u32);
        // A place that became free at this very instant may have packets of this instant.
        let is_free = places.free.front().is_some_and(|&(since, _)| since < now);
        let free = if is_free { places.free.pop_front() } else { None };
        let place = free.map_or(next, |(_, place)| place);
        places.open.push((id, place));
        (id, place)
    }

    /// A transfer of a source is over.
    pub(super) fn close(&mut self, source: u32, place: u32, now: Time) {
        let places = &mut self.sources[source as usize];
        places.open.retain(|&(_, other)| other != place);
        places.free.push_back((now, place));
    }

    /// The seed of transfer number `count` of a source.
    pub(super) fn seed_of_transfer(&self, source: u32, count: u64) -> u64 {
        self.stream(RandomStream::Sender, (1 << 63) | u64::from(source) << 40 | count)
    }

    /// The seed of the connection after which `left` come at the place of a lasting flow.
    pub(super) fn seed_of_repetition(&self, place: u32, left: u32) -> u64 {
        self.stream(RandomStream::Sender, 1 + (u64::from(place) << 32 | u64::from(left)))
    }

    /// The pause before it, of this mean.
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
        // Not at the instant at which it became free, and not by the other source.
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
