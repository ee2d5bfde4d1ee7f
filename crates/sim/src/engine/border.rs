//! Border of a part of a network, where the part exchanges packets with other parts.
//!
//! A run on one thread uses [`NoBorder`], which compiles to nothing. In a partitioned run, a link to another part has
//! no event. Each packet sent on such a link becomes a [`Parcel`] with its arrival time and its rank among simultaneous
//! events. The other part handles the parcel like a local arrival.

use crate::engine::partition::Partition;
use crate::network::sim_packet::SimPacket;
use crate::network::{Entry, Hop};
use fairlane_schemes::base::units::Time;
use std::collections::BTreeMap;

/// A packet in flight to another part.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// Arrival time.
    pub time: Time,
    /// Rank of the arrival among simultaneous events.
    pub rank: u32,
    /// The packet, which arrives at its next hop.
    pub packet: SimPacket,
}

/// Border of the part of the network that an event loop handles.
pub trait Border {
    /// True if there is a border.
    const EXISTS: bool;
    /// True if there may be a reverse link. If false, code for it is not compiled.
    const TWO_WAY: bool = false;

    /// Returns true if a link belongs to this part.
    fn has_link(&self, link: u32) -> bool;
    /// Returns true if a user belongs to this part.
    fn has_user(&self, user: u32) -> bool;
    /// Returns true if some packets of a link of this part continue in another part.
    fn is_cut(&self, link: u32) -> bool;
    /// Returns true if the first link of a user of this part is in another part.
    fn enters_elsewhere(&self, user: u32) -> bool;
    /// Sends a parcel to the part that contains `hop`, the packet's next hop.
    fn post(&mut self, hop: &Hop, parcel: Parcel);
}

/// No border: this part is the whole network, with a reverse link if `TWO_WAY`.
#[derive(Clone, Copy, Debug)]
pub struct NoBorder<const TWO_WAY: bool>;

impl<const TWO_WAY: bool> Border for NoBorder<TWO_WAY> {
    const EXISTS: bool = false;
    const TWO_WAY: bool = TWO_WAY;

    #[inline]
    fn has_link(&self, _: u32) -> bool {
        true
    }

    #[inline]
    fn has_user(&self, _: u32) -> bool {
        true
    }

    #[inline]
    fn is_cut(&self, _: u32) -> bool {
        false
    }

    #[inline]
    fn enters_elsewhere(&self, _: u32) -> bool {
        false
    }

    #[inline]
    fn post(&mut self, _: &Hop, _: Parcel) {}
}

/// Border of a part in a partitioned run.
#[derive(Debug)]
pub struct PartBorder<'a> {
    part: u16,
    partition: &'a Partition,
    /// Parcels sent during this window, by receiving part.
    pub outgoing: Vec<Vec<Parcel>>,
    /// Earliest arrival among the parcels in `outgoing`.
    earliest: Time,
}

impl<'a> PartBorder<'a> {
    /// Creates the border of part `part`.
    #[must_use]
    pub fn new(part: u16, partition: &'a Partition) -> Self {
        Self { part, partition, outgoing: vec![Vec::new(); partition.parts()], earliest: Time::NEVER }
    }

    /// Ends the window. Returns the earliest arrival of the window's parcels, or [`Time::NEVER`] if there are none.
    pub fn take_earliest(&mut self) -> Time {
        std::mem::replace(&mut self.earliest, Time::NEVER)
    }
}

impl Border for PartBorder<'_> {
    const EXISTS: bool = true;

    fn has_link(&self, link: u32) -> bool {
        self.partition.part_of_link(link) == self.part
    }

    fn has_user(&self, user: u32) -> bool {
        self.partition.part_of_user(user) == self.part
    }

    #[inline]
    fn is_cut(&self, link: u32) -> bool {
        self.partition.is_cut(link)
    }

    #[inline]
    fn enters_elsewhere(&self, user: u32) -> bool {
        self.partition.enters_elsewhere(user)
    }

    #[inline]
    fn post(&mut self, hop: &Hop, parcel: Parcel) {
        // No impairment follows a cut link.
        let ends = hop.link == Hop::DELIVER || matches!(hop.entry, Entry::Call | Entry::Discard);
        let part =
            if ends { self.partition.part_of_user(parcel.packet.user) } else { self.partition.part_of_link(hop.link) };
        self.earliest = self.earliest.min(parcel.time);
        self.outgoing[usize::from(part)].push(parcel);
    }
}

/// Parcels received by a part, sorted by the window in which they arrive.
#[derive(Debug)]
pub struct Inbox {
    window: Time,
    /// Parcels of the current window, in order. Parcels before index `next` have been handled.
    present: Vec<Parcel>,
    next: usize,
    later: BTreeMap<u64, Vec<Parcel>>,
    spare: Vec<Vec<Parcel>>,
}

impl Inbox {
    /// Creates an empty inbox for windows of length `window`.
    #[must_use]
    pub fn new(window: Time) -> Self {
        Self { window, present: Vec::new(), next: 0, later: BTreeMap::new(), spare: Vec::new() }
    }

    /// Accepts the parcels that another part sent, and empties `parcels`.
    pub fn take_in(&mut self, parcels: &mut Vec<Parcel>) {
        let mut rest = parcels.as_slice();
        while let Some(first) = rest.first() {
            let number = first.time.0 / self.window.0;
            // Usually consecutive parcels arrive in the same window.
            let same = rest.iter().take_while(|parcel| parcel.time.0 / self.window.0 == number).count();
            let bucket = self.later.entry(number).or_insert_with(|| self.spare.pop().unwrap_or_default());
            bucket.extend_from_slice(&rest[..same]);
            rest = &rest[same..];
        }
        parcels.clear();
    }

    /// Starts window number `number`. All parcels of this window must have been received.
    pub fn open(&mut self, number: u64) {
        debug_assert!(self.next == self.present.len(), "the window before is over");
        if let Some(parcels) = self.later.remove(&number) {
            let mut past = std::mem::replace(&mut self.present, parcels);
            past.clear();
            self.spare.push(past);
            // The sort must be stable: simultaneous parcels of one link or host have equal ranks and are already in
            // order.
            self.present.sort_by_key(|parcel| (parcel.time, parcel.rank));
        } else {
            self.present.clear();
        }
        self.next = 0;
    }

    /// Time and rank of the next arrival of the current window; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        self.present.get(self.next).map_or((Time::NEVER, 0), |parcel| (parcel.time, parcel.rank))
    }

    /// Takes the next arrival, which must exist.
    #[inline]
    pub fn take(&mut self) -> SimPacket {
        self.next += 1;
        self.present[self.next - 1].packet
    }

    /// Time of the first arrival in later windows; [`Time::NEVER`] if there is none.
    #[must_use]
    pub fn earliest_later(&self) -> Time {
        let first = self.later.first_key_value();
        first.and_then(|(_, parcels)| parcels.iter().map(|parcel| parcel.time).min()).unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_is_a_cache_line() {
        assert_eq!(size_of::<Parcel>(), 64);
    }

    #[test]
    fn parcels_come_by_window_time_and_rank_and_in_order_among_equals() {
        let parcel = |time: u64, rank: u32, seq: u32| {
            let packet = SimPacket { seq, ..SimPacket::BLANK };
            Parcel { time: Time(time), rank, packet }
        };
        let mut inbox = Inbox::new(Time(10));
        inbox.take_in(&mut vec![parcel(25, 1, 0), parcel(12, 9, 1), parcel(12, 9, 2), parcel(12, 3, 3)]);
        inbox.take_in(&mut vec![parcel(11, 5, 4), parcel(29, 1, 5)]);
        assert_eq!(inbox.earliest_later(), Time(11));
        inbox.open(1);
        let taken = |inbox: &mut Inbox| {
            let mut order = Vec::new();
            while inbox.first().0 < Time::NEVER {
                order.push(inbox.take().seq);
            }
            order
        };
        assert_eq!(taken(&mut inbox), [4, 3, 1, 2]);
        inbox.open(2);
        assert_eq!(taken(&mut inbox), [0, 5]);
        assert_eq!(inbox.earliest_later(), Time::NEVER);
    }
}
