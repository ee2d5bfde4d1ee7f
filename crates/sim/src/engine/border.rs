//! Where a part of a network ends: what passes to other parts, and what comes from them.
//!
//! A run on one thread has [`NoBorder`], of which nothing is compiled. Cut into parts, a link whose way goes on in
//! another part has no event of its own: each packet that it sends becomes a [`Parcel`], with the time of its arrival
//! and its rank among the events of that time, and is handled there as the arrival would be here.

use crate::engine::partition::Partition;
use crate::network::sim_packet::SimPacket;
use crate::network::{Entry, Hop};
use fairlane_schemes::base::units::Time;
use std::collections::BTreeMap;

/// A packet on its way to a part.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// When it arrives.
    pub time: Time,
    /// The order of the arrival among events of the same time.
    pub rank: u32,
    /// What arrives; its next hop is where it arrives.
    pub packet: SimPacket,
}

/// Where what an event loop handles ends.
pub trait Border {
    /// Whether there is one.
    const EXISTS: bool;

    /// Whether a link belongs to this part.
    fn has_link(&self, link: u32) -> bool;
    /// Whether a user belongs to this part.
    fn has_user(&self, user: u32) -> bool;
    /// Whether some packets of a link of this part go on in another.
    fn is_cut(&self, link: u32) -> bool;
    /// Whether the first link of a user of this part is in another.
    fn enters_elsewhere(&self, user: u32) -> bool;
    /// Sends a parcel to the part where `hop`, the next of its packet, is.
    fn post(&mut self, hop: &Hop, parcel: Parcel);
}

/// The whole network is here.
#[derive(Clone, Copy, Debug)]
pub struct NoBorder;

impl Border for NoBorder {
    const EXISTS: bool = false;

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

/// The border of one part.
#[derive(Debug)]
pub struct PartBorder<'a> {
    part: u16,
    partition: &'a Partition,
    /// What was sent during this window, by part.
    pub outgoing: Vec<Vec<Parcel>>,
    /// When the first of that arrives.
    earliest: Time,
}

impl<'a> PartBorder<'a> {
    /// The border of part number `part`.
    #[must_use]
    pub fn new(part: u16, partition: &'a Partition) -> Self {
        Self { part, partition, outgoing: vec![Vec::new(); partition.parts()], earliest: Time::NEVER }
    }

    /// The window is over: when the first of the parcels sent during it arrives, [`Time::NEVER`] without any.
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
        // No impairment is behind a link that is cut.
        let ends = hop.link == Hop::DELIVER || hop.entry == Entry::Call;
        let part =
            if ends { self.partition.part_of_user(parcel.packet.user) } else { self.partition.part_of_link(hop.link) };
        self.earliest = self.earliest.min(parcel.time);
        self.outgoing[usize::from(part)].push(parcel);
    }
}

/// What has come to a part, by the window in which it arrives.
#[derive(Debug)]
pub struct Inbox {
    window: Time,
    /// Of the present window, in order; those before `next` have arrived.
    present: Vec<Parcel>,
    next: usize,
    later: BTreeMap<u64, Vec<Parcel>>,
    spare: Vec<Vec<Parcel>>,
}

impl Inbox {
    /// Nothing has come; windows last `window`.
    #[must_use]
    pub fn new(window: Time) -> Self {
        Self { window, present: Vec::new(), next: 0, later: BTreeMap::new(), spare: Vec::new() }
    }

    /// Takes in what another part has sent, and leaves its list empty.
    pub fn take_in(&mut self, parcels: &mut Vec<Parcel>) {
        let mut rest = parcels.as_slice();
        while let Some(first) = rest.first() {
            let number = first.time.0 / self.window.0;
            // Most that come one after another arrive in the same window.
            let same = rest.iter().take_while(|parcel| parcel.time.0 / self.window.0 == number).count();
            let bucket = self.later.entry(number).or_insert_with(|| self.spare.pop().unwrap_or_default());
            bucket.extend_from_slice(&rest[..same]);
            rest = &rest[same..];
        }
        parcels.clear();
    }

    /// Window number `number` begins: everything that arrives in it has come.
    pub fn open(&mut self, number: u64) {
        debug_assert!(self.next == self.present.len(), "the window before is over");
        if let Some(parcels) = self.later.remove(&number) {
            let mut past = std::mem::replace(&mut self.present, parcels);
            past.clear();
            self.spare.push(past);
            // Stable: those of one link or one host are in order, and alone have one rank.
            self.present.sort_by_key(|parcel| (parcel.time, parcel.rank));
        } else {
            self.present.clear();
        }
        self.next = 0;
    }

    /// Time and rank of the next arrival of the present window; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        self.present.get(self.next).map_or((Time::NEVER, 0), |parcel| (parcel.time, parcel.rank))
    }

    /// Takes the next arrival. There must be one.
    #[inline]
    pub fn take(&mut self) -> SimPacket {
        self.next += 1;
        self.present[self.next - 1].packet
    }

    /// When the first arrival of a later window is; [`Time::NEVER`] if there is none.
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
