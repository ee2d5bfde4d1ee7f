//! An access link: first-in-first-out, with a drop-tail buffer and nothing else that could drop.
//!
//! The time of arrival at the far end is known when a packet is offered, so there is no queue beside the delay line:
//! what waits are the packets in it whose transmission has not started. It behaves as a [`crate::link::Link`] with
//! drop-tail does, at a third of the memory: scenarios have one for each user.

use crate::packet::SimPacket;
use fairlane_schemes::units::{BitRate, QueueLimit, Time};
use std::collections::VecDeque;

/// One direction of a user's access link.
#[derive(Clone, Debug)]
pub struct AccessLink {
    rate: BitRate,
    delay: Time,
    limit: QueueLimit,
    /// When the last transmission so far ends.
    busy_until: Time,
    /// Packets waiting, in transmission and in flight, with their arrival at the far end, in order.
    line: VecDeque<(Time, SimPacket)>,
    arrived: u64,
    dropped: u64,
}

impl AccessLink {
    /// An idle link whose buffer holds `limit`, the packet in transmission not counted.
    #[must_use]
    pub fn new(rate: BitRate, delay: Time, limit: QueueLimit) -> Self {
        Self { rate, delay, limit, busy_until: Time::ZERO, line: VecDeque::new(), arrived: 0, dropped: 0 }
    }

    /// Offers a packet at `now`.
    #[inline]
    pub fn enqueue(&mut self, packet: SimPacket, now: Time) {
        self.arrived += 1;
        if !self.has_room_for(&packet, now) {
            self.dropped += 1;
            return;
        }
        self.busy_until = self.busy_until.max(now) + self.transmission(&packet);
        self.line.push_back((self.busy_until + self.delay, packet));
    }

    /// When the next packet reaches the far end; [`Time::NEVER`] if none is on its way.
    #[inline]
    pub fn next_arrival(&self) -> Time {
        self.line.front().map_or(Time::NEVER, |&(time, _)| time)
    }

    /// Takes the packet that reaches the far end at [`AccessLink::next_arrival`].
    #[inline]
    pub fn arrive(&mut self) -> SimPacket {
        self.line.pop_front().expect("an arrival was announced").1
    }

    /// Packets offered so far.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets dropped so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Packets waiting, in transmission or in flight.
    #[must_use]
    pub fn on_the_way(&self) -> usize {
        self.line.len()
    }

    #[inline]
    fn transmission(&self, packet: &SimPacket) -> Time {
        self.rate.time_of(u64::from(packet.wire_bytes))
    }

    /// Whether `packet` fits beside what waits.
    #[inline]
    fn has_room_for(&self, packet: &SimPacket, now: Time) -> bool {
        match self.limit {
            // No more wait than are on the way: the exact count is seldom needed.
            QueueLimit::Packets(limit) => {
                self.line.len() < limit as usize || self.waiting(now).count() < limit as usize
            }
            QueueLimit::Bytes(limit) => {
                let waiting: u64 = self.waiting(now).map(|packet| u64::from(packet.wire_bytes)).sum();
                waiting + u64::from(packet.wire_bytes) <= limit
            }
        }
    }

    /// Packets whose transmission starts after `now`, the last first.
    fn waiting(&self, now: Time) -> impl Iterator<Item = &SimPacket> {
        let starts_later =
            move |(arrival, packet): &&(Time, SimPacket)| *arrival - self.delay - self.transmission(packet) > now;
        self.line.iter().rev().take_while(starts_later).map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;
    use crate::packet::PacketKind;
    use fairlane_schemes::buffer::BufferParams;
    use fairlane_schemes::packet::{Ecn, TrafficClass};
    use fairlane_schemes::rng::Rng;
    use fairlane_schemes::scheme::{QueueConfig, Scheme};
    use proptest::prelude::*;

    fn packet(seq: u32, wire_bytes: u16) -> SimPacket {
        SimPacket {
            label: 0.0,
            enqueued_at: Time::ZERO,
            timestamp: Time::ZERO,
            seq,
            flow: 0,
            user: 0,
            hop: 0,
            wire_bytes,
            payload: 0,
            class: TrafficClass::BestEffort,
            ecn: Ecn::NotEct,
            kind: PacketKind::Udp,
        }
    }

    proptest! {
        #[test]
        fn behaves_as_a_link_with_droptail_does(
            arrivals in prop::collection::vec((0u64..2500, 40u16..1500), 1..120),
            limit in prop_oneof![(1u32..6).prop_map(QueueLimit::Packets), (500u64..6000).prop_map(QueueLimit::Bytes)],
            delay in 0u64..5000,
        ) {
            let (rate, delay) = (BitRate(10_000_000), Time::from_micros(delay));
            let mut access = AccessLink::new(rate, delay, limit);
            let config = QueueConfig::of(Scheme::DropTail, BufferParams { limit, ..Default::default() });
            let mut link = Link::new(&config, rate, &[], delay, Rng::stream(1, 0, "test", 0));
            let (mut now, mut from_access, mut from_link) = (Time::ZERO, Vec::new(), Vec::new());
            let mut drain = |access: &mut AccessLink, link: &mut Link, until: Time| {
                while access.next_arrival() <= until && access.next_arrival() < Time::NEVER {
                    from_access.push((access.next_arrival(), access.arrive().seq));
                }
                while link.next_arrival() <= until && link.next_arrival() < Time::NEVER {
                    let time = link.next_arrival();
                    from_link.push((time, link.arrive(time).seq));
                }
            };
            for (seq, (gap, wire_bytes)) in (0..).zip(arrivals) {
                now += Time::from_micros(gap);
                drain(&mut access, &mut link, now);
                access.enqueue(packet(seq, wire_bytes), now);
                link.enqueue(packet(seq, wire_bytes), now);
            }
            drain(&mut access, &mut link, Time::NEVER);
            prop_assert_eq!(from_access, from_link);
            prop_assert_eq!((access.arrived(), access.dropped()), (link.accounting().arrived, link.accounting().dropped));
        }
    }
}
