//! A user's host: the access link up, and the way back of acknowledgements down.
//!
//! Both are first-in-first-out, and on both the time of arrival is known when something is sent: on the access link a
//! full buffer is all that can drop, on the way back nothing can. So neither needs a queue beside its delay line. What
//! waits on the access link are the packets in the line whose transmission has not started; it behaves as a
//! [`crate::link::Link`] with drop-tail does.

use crate::observe::AckTimes;
use crate::packet::SimPacket;
use crate::pool::{Line, Pool, WatchedLine};
use crate::rate::Serialiser;
use crate::tcp::Ack;
use fairlane_schemes::units::{BitRate, QueueLimit, Time};

/// What a group of hosts has in common.
#[derive(Clone, Copy, Debug)]
pub struct HostParams {
    /// Rate of the access link, both ways.
    pub rate: BitRate,
    /// Propagation delay of the access link, both ways.
    pub delay: Time,
    /// Buffer of the access link, the packet in transmission not counted.
    pub limit: QueueLimit,
    /// How acknowledgements come back to the access link; over the shared reverse bottleneck without.
    pub way_back: Option<WayBack>,
}

/// A way on which nothing waits: from the end of a route back to its beginning, access links of receivers included.
#[derive(Clone, Copy, Debug, Default)]
pub struct WayBack {
    /// From the end of the route to the receiver, for a packet of no length.
    pub out_delay: Time,
    /// The same per byte on the wire, in picoseconds.
    pub out_ps_per_byte: f64,
    /// From the receiver to the edge node, for an acknowledgement of no length.
    pub delay: Time,
    /// The same per byte on the wire, in picoseconds.
    pub ps_per_byte: f64,
}

impl WayBack {
    /// From the end of the route to the receiver.
    #[must_use]
    pub fn out(&self, wire_bytes: u32) -> Time {
        self.out_delay + Time((self.out_ps_per_byte * f64::from(wire_bytes)).round() as u64)
    }

    /// From the receiver to the edge node.
    #[must_use]
    pub fn back(&self, wire_bytes: u32) -> Time {
        self.delay + Time((self.ps_per_byte * f64::from(wire_bytes)).round() as u64)
    }
}

/// An acknowledgement and the flow that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct FlowAck {
    /// Index of the flow.
    pub flow: u32,
    /// The acknowledgement.
    pub ack: Ack,
}

/// One host: a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Host {
    /// Packets waiting, in transmission and in flight, by arrival at the edge node.
    up: WatchedLine,
    /// When the last transmission up ends.
    up_busy_until: Time,
    /// Acknowledgements by arrival at the host.
    down: Line,
    /// When the last transmission down ends.
    down_busy_until: Time,
    /// Index in [`Hosts::access`].
    access: u32,
}

/// The access links of a group of hosts.
#[derive(Clone, Debug)]
struct Access {
    params: HostParams,
    up: Serialiser,
    down: Serialiser,
}

/// All hosts, and the reverse bottleneck that their acknowledgements share.
#[derive(Clone, Debug)]
pub struct Hosts {
    hosts: Vec<Host>,
    access: Vec<Access>,
    packets: Pool<SimPacket>,
    acks: Pool<FlowAck>,
    arrived: u64,
    dropped: u64,
    reverse: Serialiser,
    reverse_delay: Time,
    reverse_busy_until: Time,
}

impl Hosts {
    /// No hosts yet; acknowledgements pass a bottleneck of this rate and delay.
    #[must_use]
    pub fn new(reverse_rate: BitRate, reverse_delay: Time) -> Self {
        Self {
            hosts: Vec::new(),
            access: Vec::new(),
            packets: Pool::default(),
            acks: Pool::default(),
            arrived: 0,
            dropped: 0,
            reverse: Serialiser::new(reverse_rate),
            reverse_delay,
            reverse_busy_until: Time::ZERO,
        }
    }

    /// Adds `count` hosts that have `params` in common.
    pub fn add(&mut self, count: usize, params: HostParams) {
        let host = Host {
            up: WatchedLine::EMPTY,
            up_busy_until: Time::ZERO,
            down: Line::EMPTY,
            down_busy_until: Time::ZERO,
            access: self.access.len() as u32,
        };
        let rate = Serialiser::new(params.rate);
        self.access.push(Access { params, up: rate.clone(), down: rate });
        self.hosts.resize(self.hosts.len() + count, host);
    }

    /// Number of hosts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there are no hosts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// When something next arrives from this host or at it; [`Time::NEVER`] if nothing is on its way.
    #[inline]
    pub fn next_event(&self, user: u32) -> Time {
        let host = &self.hosts[user as usize];
        host.up.line().first_time().min(host.down.first_time())
    }

    /// Offers a packet to the access link at `now`.
    #[inline]
    pub fn send(&mut self, user: u32, packet: SimPacket, now: Time) {
        let host = &mut self.hosts[user as usize];
        let Access { params, up, .. } = &mut self.access[host.access as usize];
        self.arrived += 1;
        if !has_room(host, params, &self.packets, &packet, now) {
            self.dropped += 1;
            return;
        }
        host.up_busy_until = host.up_busy_until.max(now) + up.time_of(u64::from(packet.wire_bytes));
        self.packets.push_watched(&mut host.up, host.up_busy_until + params.delay, packet);
    }

    /// The packet that reaches the edge node at `now`, if one does.
    #[inline]
    pub fn packet_at_edge(&mut self, user: u32, now: Time) -> Option<SimPacket> {
        let host = &mut self.hosts[user as usize];
        (host.up.line().first_time() <= now).then(|| self.packets.pop_watched(&mut host.up))
    }

    /// Sends an acknowledgement of a packet of `packet_bytes` that was at the end of its route at `now`; says when it
    /// will be where.
    #[inline]
    pub fn acknowledge(&mut self, user: u32, ack: FlowAck, wire_bytes: u32, packet_bytes: u32, now: Time) -> AckTimes {
        let host = &mut self.hosts[user as usize];
        let Access { params, down, .. } = &mut self.access[host.access as usize];
        if let Some(way) = params.way_back {
            let sent = now + way.out(packet_bytes);
            let at_edge = sent + way.back(wire_bytes);
            host.down_busy_until = host.down_busy_until.max(at_edge) + down.time_of(u64::from(wire_bytes));
            let at_host = host.down_busy_until + params.delay;
            self.acks.push(&mut host.down, at_host, ack);
            return AckTimes { sent, at_edge, at_host };
        }
        let wire_bytes = u64::from(wire_bytes);
        self.reverse_busy_until = self.reverse_busy_until.max(now) + self.reverse.time_of(wire_bytes);
        let at_edge = self.reverse_busy_until + self.reverse_delay;
        host.down_busy_until = host.down_busy_until.max(at_edge) + down.time_of(wire_bytes);
        let at_host = host.down_busy_until + params.delay;
        self.acks.push(&mut host.down, at_host, ack);
        AckTimes { sent: now, at_edge, at_host }
    }

    /// From the end of a user's route to the receiver, for a packet of `wire_bytes`.
    #[must_use]
    pub fn to_receiver(&self, user: u32, wire_bytes: u32) -> Time {
        let Access { params, .. } = &self.access[self.hosts[user as usize].access as usize];
        params.way_back.map_or(Time::ZERO, |way| way.out(wire_bytes))
    }

    /// The acknowledgement that reaches the host. There must be one.
    #[inline]
    pub fn ack_at_host(&mut self, user: u32) -> FlowAck {
        self.acks.pop(&mut self.hosts[user as usize].down)
    }

    /// Packets that hosts offered to their access links, packets dropped there, and packets still on them.
    #[must_use]
    pub fn accounting(&self) -> (u64, u64, u64) {
        let on_the_way = self.hosts.iter().map(|host| self.packets.iter(host.up.line()).count() as u64).sum();
        (self.arrived, self.dropped, on_the_way)
    }
}

impl HostParams {
    #[inline]
    fn transmission(&self, packet: &SimPacket) -> Time {
        self.rate.time_of(u64::from(packet.wire_bytes))
    }
}

/// Whether `packet` fits beside what waits at the access link.
#[inline]
fn has_room(host: &mut Host, params: &HostParams, packets: &Pool<SimPacket>, packet: &SimPacket, now: Time) -> bool {
    let started = |arrival: Time, packet: &SimPacket| arrival - params.delay - params.transmission(packet) <= now;
    match params.limit {
        // No more wait than did at the last count or came since: a new one is seldom needed.
        QueueLimit::Packets(limit) => {
            host.up.left() < limit as usize || packets.pass(&mut host.up, started) < limit as usize
        }
        QueueLimit::Bytes(limit) => {
            let waiting = packets.iter(host.up.line()).filter(|(arrival, packet)| !started(*arrival, packet));
            waiting.map(|(_, packet)| u64::from(packet.wire_bytes)).sum::<u64>() + u64::from(packet.wire_bytes) <= limit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;
    use crate::observe::{LinkObserver, NoObserver};
    use fairlane_schemes::buffer::BufferParams;
    use fairlane_schemes::flow::Weights;
    use fairlane_schemes::rng::Rng;
    use fairlane_schemes::scheme::{QueueConfig, Scheme};
    use proptest::prelude::*;

    fn packet(seq: u32, wire_bytes: u16) -> SimPacket {
        SimPacket { seq, wire_bytes, ..SimPacket::BLANK }
    }

    fn one_host(rate: BitRate, delay: Time, limit: QueueLimit) -> Hosts {
        let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
        hosts.add(1, HostParams { rate, delay, limit, way_back: None });
        hosts
    }

    proptest! {
        #[test]
        fn an_access_link_behaves_as_a_link_with_droptail_does(
            arrivals in prop::collection::vec((0u64..2500, 40u16..1500), 1..120),
            limit in prop_oneof![(1u32..6).prop_map(QueueLimit::Packets), (500u64..6000).prop_map(QueueLimit::Bytes)],
            delay in 0u64..5000,
        ) {
            let (rate, delay) = (BitRate(10_000_000), Time::from_micros(delay));
            let mut hosts = one_host(rate, delay, limit);
            let config = QueueConfig::of(Scheme::DropTail, BufferParams { limit, ..Default::default() });
            let mut link = Link::new(&config, &Weights::equal(), rate, &[], delay, Rng::stream(1, 0, "test", 0));
            let (mut now, mut from_host, mut from_link) = (Time::ZERO, Vec::new(), Vec::new());
            let mut drain = |hosts: &mut Hosts, link: &mut Link, until: Time| {
                while hosts.next_event(0) <= until && hosts.next_event(0) < Time::NEVER {
                    let time = hosts.next_event(0);
                    from_host.push((time, hosts.packet_at_edge(0, time).unwrap().seq));
                }
                while link.next_arrival() <= until && link.next_arrival() < Time::NEVER {
                    let time = link.next_arrival();
                    from_link.push((time, link.arrive(time, &mut LinkObserver { observer: &mut NoObserver, link: 0 }).seq));
                }
            };
            for (seq, (gap, wire_bytes)) in (0..).zip(arrivals) {
                now += Time::from_micros(gap);
                drain(&mut hosts, &mut link, now);
                hosts.send(0, packet(seq, wire_bytes), now);
                let mut nobody = LinkObserver { observer: &mut NoObserver, link: 0 };
                link.enqueue(packet(seq, wire_bytes), now, &mut nobody);
            }
            drain(&mut hosts, &mut link, Time::NEVER);
            prop_assert_eq!(from_host, from_link);
            let account = link.accounting();
            prop_assert_eq!(hosts.accounting(), (account.arrived, account.dropped, 0));
        }
    }

    #[test]
    fn an_ack_takes_both_transmissions_and_both_delays() {
        // 54 B: 43.2 us at 10 Mbit/s, 4.32 us at 100 Mbit/s; 5 ms + 0.1 ms propagation.
        let mut hosts = one_host(BitRate(100_000_000), Time::from_micros(100), QueueLimit::Packets(50));
        let ack = Ack { ack: 1, ..Default::default() };
        hosts.acknowledge(0, FlowAck { flow: 7, ack }, 54, 1500, Time::ZERO);
        hosts.acknowledge(0, FlowAck { flow: 8, ack }, 54, 1500, Time::ZERO);
        let first = Time::from_nanos(43_200 + 5_000_000 + 4_320 + 100_000);
        assert_eq!(hosts.next_event(0), first);
        assert!(hosts.packet_at_edge(0, first).is_none());
        assert_eq!(hosts.ack_at_host(0).flow, 7);
        // The second waits for the first at the bottleneck only: the access link is ten times faster.
        assert_eq!(hosts.next_event(0), first + Time::from_nanos(43_200));
    }

    #[test]
    fn a_host_takes_a_cache_line() {
        assert_eq!((size_of::<Host>(), align_of::<Host>()), (64, 64));
    }
}
