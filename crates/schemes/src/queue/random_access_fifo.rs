//! A FIFO queue that can also draw and remove packets at random.
//!
//! One array without gaps stores the packets, in any order; links give the order of arrival. A uniform draw is a
//! uniform index. A removal unlinks the packet and moves the array's last packet to the free index. All operations are
//! O(1) in the worst case. Each packet needs 8 bytes in addition to its own size. Memory is reused.

use crate::base::rng::Rng;
use crate::contract::discipline::Backlog;
use crate::contract::packet::Packet;

/// No packet: end of the queue.
const NONE: u32 = u32::MAX;

/// A FIFO with random access.
#[derive(Clone, Debug)]
pub struct RandomAccessFifo<P> {
    places: Vec<Place<P>>,
    head: u32,
    tail: u32,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Place<P> {
    packet: P,
    before: u32,
    behind: u32,
}

/// Position of a waiting packet; valid until the next removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(u32);

impl<P> Default for RandomAccessFifo<P> {
    fn default() -> Self {
        Self { places: Vec::new(), head: NONE, tail: NONE, bytes: 0 }
    }
}

impl<P: Packet> RandomAccessFifo<P> {
    /// Backlog.
    #[must_use]
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.places.len() as u32, bytes: self.bytes }
    }

    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, packet: P) {
        let place = self.places.len() as u32;
        let last = std::mem::replace(&mut self.tail, place);
        self.places.push(Place { packet, before: last, behind: NONE });
        self.set_behind(last, place);
        self.bytes += u64::from(packet.wire_bytes());
    }

    /// Removes the packet that has waited longest.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        (self.head != NONE).then(|| self.remove(Position(self.head)))
    }

    /// Draws a waiting packet. All have the same probability, to within 2^-32.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Option<Position> {
        // Lemire 2016: the high half of the product is a uniform index.
        let place = ((rng.bits() >> 32) * self.places.len() as u64) >> 32;
        (!self.places.is_empty()).then_some(Position(place as u32))
    }

    /// The packet at `position`.
    #[must_use]
    #[inline]
    pub fn at(&self, position: Position) -> &P {
        &self.places[position.0 as usize].packet
    }

    /// Removes the packet at `position`; the others keep their order, but positions change.
    pub fn remove(&mut self, position: Position) -> P {
        let Place { packet, before, behind } = self.places[position.0 as usize];
        self.set_behind(before, behind);
        self.set_before(behind, before);
        self.places.swap_remove(position.0 as usize);
        if let Some(&Place { before, behind, .. }) = self.places.get(position.0 as usize) {
            self.set_behind(before, position.0);
            self.set_before(behind, position.0);
        }
        self.bytes -= u64::from(packet.wire_bytes());
        packet
    }

    /// Sets the successor of `place`, or the front of the queue if `place` is `NONE`.
    #[inline]
    fn set_behind(&mut self, place: u32, behind: u32) {
        match place {
            NONE => self.head = behind,
            place => self.places[place as usize].behind = behind,
        }
    }

    #[inline]
    fn set_before(&mut self, place: u32, before: u32) {
        match place {
            NONE => self.tail = before,
            place => self.places[place as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::testing::TestPacket;
    use proptest::prelude::*;

    fn packet(flow: u32) -> TestPacket {
        TestPacket { flow, wire_bytes: 100 + flow, ..Default::default() }
    }

    #[derive(Clone, Debug)]
    enum Call {
        Push,
        Pop,
        Draw,
        RemoveDrawn,
    }

    proptest! {
        #[test]
        fn does_what_a_plain_list_does(
            seed in any::<u64>(),
            calls in prop::collection::vec(
                prop_oneof![3 => Just(Call::Push), 1 => Just(Call::Pop), 1 => Just(Call::Draw),
                    1 => Just(Call::RemoveDrawn)],
                0..400,
            ),
        ) {
            let mut rng = Rng::stream(seed, 0, "test", 0);
            let (mut queue, mut list) = (RandomAccessFifo::default(), Vec::new());
            for (flow, call) in (0..).zip(calls) {
                let drawn = queue.draw(&mut rng);
                prop_assert_eq!(drawn.is_none(), list.is_empty());
                match (call, drawn) {
                    (Call::Push, _) => {
                        queue.push(packet(flow));
                        list.push(flow);
                    }
                    (Call::Pop, _) => {
                        let first = (!list.is_empty()).then(|| list.remove(0));
                        prop_assert_eq!(queue.pop().map(|packet| packet.flow), first);
                    }
                    (Call::Draw, Some(position)) => prop_assert!(list.contains(&queue.at(position).flow)),
                    (Call::RemoveDrawn, Some(position)) => {
                        let flow = queue.at(position).flow;
                        prop_assert_eq!(queue.remove(position).flow, flow);
                        list.remove(list.iter().position(|&other| other == flow).unwrap());
                    }
                    (_, None) => {}
                }
                let bytes = list.iter().map(|&flow| u64::from(100 + flow)).sum();
                prop_assert_eq!(queue.backlog(), Backlog { packets: list.len() as u32, bytes });
            }
            let rest: Vec<u32> = std::iter::from_fn(|| queue.pop()).map(|packet| packet.flow).collect();
            prop_assert_eq!(rest, list);
        }
    }

    #[test]
    fn every_waiting_packet_is_drawn_equally_often() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue = RandomAccessFifo::default();
        (0..12).for_each(|flow| queue.push(packet(flow)));
        queue.pop();
        let hole = std::iter::repeat_with(|| queue.draw(&mut rng).unwrap()).find(|&at| queue.at(at).flow == 5).unwrap();
        queue.remove(hole);
        let mut counts = [0u32; 12];
        (0..100_000).for_each(|_| counts[queue.at(queue.draw(&mut rng).unwrap()).flow as usize] += 1);
        // Among 100 000 draws with probability 1/10, the number of hits has a mean of 10 000 and a standard deviation
        // of 94.9; the test allows five times that.
        for (flow, &count) in counts.iter().enumerate() {
            let expected = if flow == 0 || flow == 5 { 0 } else { 10_000 };
            assert!(count.abs_diff(expected) < if expected == 0 { 1 } else { 475 }, "{counts:?}");
        }
    }
}
