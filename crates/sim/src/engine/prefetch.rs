//! Prefetches memory that upcoming events will touch.
//!
//! With many flows the state exceeds the caches, and an event would wait for each cache line. The next entries in a
//! shared line, in a calendar or on a link are known, so their cache lines are prefetched some events ahead. A prefetch
//! costs one instruction and avoids or shortens this wait. Cache lines to which these entries point are prefetched
//! later, once the entries are in the cache. This code is not inlined in the event loop, since small networks do not
//! need it.

use crate::cache_line::fetch;
use crate::network::hosts::{FlowAck, Queue};
use crate::network::link::Link;
use crate::network::sim_packet::{PacketKind, SimPacket};
use crate::network::{Hop, Network};
use prefetch_index::prefetch_index;

/// Prefetch distance in queue entries for the cache lines of hosts and flows.
const PLACES_AHEAD: usize = 8;
/// Distance for cache lines whose address is in the lines prefetched at [`PLACES_AHEAD`].
const FEWER_PLACES_AHEAD: usize = 4;
/// Distance for cache lines whose address is in the lines prefetched at [`FEWER_PLACES_AHEAD`].
const FEWEST_PLACES_AHEAD: usize = 2;
/// Distances for packets on a link between nodes: for the packet, its next hop, the entity at that hop, the entity's
/// probe, and the probe's counts. The distances are short, because packets of many other links arrive between two
/// packets of one link.
const PACKET_ON_LINK: usize = 5;
const HOP_ON_LINK: usize = 4;
const STATE_ON_LINK: usize = 3;
const PROBE_ON_LINK: usize = 2;
const COUNTS_ON_LINK: usize = 1;
/// Approximate number of flows that fit into the caches. With fewer flows, prefetching does not pay off.
pub const MANY_FLOWS: usize = 4_000;

impl Network {
    /// Prefetches data of the next packets in a shared queue, which will reach the edge node.
    #[cold]
    #[inline(never)]
    pub fn fetch_for_edge(&self, queue: Queue) {
        if let Some((user, packet)) = self.hosts.up.upcoming(queue, PLACES_AHEAD) {
            if queue == Queue::Calendar {
                packet.fetch();
            }
            self.meters.fetch(user as usize * self.ingresses);
        }
    }

    /// Prefetches data of the next acknowledgements in a shared queue, which will reach their senders.
    #[cold]
    #[inline(never)]
    pub fn fetch_for_acks(&self, queue: Queue) {
        // Uses twice the distance in the calendar, since fewer other events are handled between its arrivals.
        let scale = if queue == Queue::Calendar { 2 } else { 1 };
        let upcoming = |ranks: usize| self.hosts.down.upcoming(queue, scale * ranks).map(|(_, ack)| ack);
        if let Some(ack) = upcoming(2 * PLACES_AHEAD) {
            fetch(&ack.ack);
            fetch(&ack.flow);
        }
        if let Some(ack) = upcoming(PLACES_AHEAD) {
            self.fetch_for_ack(ack);
        }
        if let Some(ack) = upcoming(FEWER_PLACES_AHEAD) {
            self.flows[ack.flow as usize].sender.fetch();
        }
        if let Some(ack) = upcoming(FEWEST_PLACES_AHEAD) {
            self.flows[ack.flow as usize].sender.fetch_records();
        }
    }

    fn fetch_for_ack(&self, ack: &FlowAck) {
        let flow = &self.flows[ack.flow as usize];
        fetch(&flow.armed);
        fetch(&flow.sender);
        self.hosts.fetch(ack.user);
    }

    /// Prefetches data of the next packets that will reach the far end of a link.
    #[cold]
    #[inline(never)]
    pub fn fetch_for_arrivals(&self, link: u32) {
        let wire = self.links[link as usize].wire();
        if let Some(packet) = wire.upcoming(PACKET_ON_LINK) {
            packet.fetch();
        }
        if let Some(packet) = wire.upcoming(HOP_ON_LINK) {
            prefetch_index(&self.hops, usize::from(packet.hop) + 1);
        }
        if let Some(packet) = wire.upcoming(STATE_ON_LINK) {
            self.fetch_for_arrival(packet);
        } else if let Some(packet) = self.links[link as usize].last_started() {
            // Few packets are in flight on this link, each for a long time, so only data of receivers are prefetched.
            self.fetch_for_receiver(packet);
        }
        if let Some(packet) = wire.upcoming(PROBE_ON_LINK) {
            match self.next_link(packet) {
                Some(link) => link.fetch_probe(),
                None => self.fetch_open_transfers(packet.flow),
            }
        }
        if let Some(packet) = wire.upcoming(COUNTS_ON_LINK) {
            match self.next_link(packet) {
                Some(link) => link.fetch_counts(packet),
                None => self.fetch_for_delivery(packet),
            }
        }
    }

    /// Next link that a packet enters, or `None` if it is at the end of its route.
    fn next_link(&self, packet: &SimPacket) -> Option<&Link> {
        let Hop { link, .. } = self.hops[usize::from(packet.hop) + 1];
        self.links.get(link as usize)
    }

    /// Prefetches the next link that a packet enters, or the flow and host of its receiver.
    fn fetch_for_arrival(&self, packet: &SimPacket) {
        match self.next_link(packet) {
            Some(link) => link.fetch(),
            None => self.fetch_for_receiver(packet),
        }
    }

    /// Prefetches flow and host of a packet's receiver, if the packet is at the end of its route.
    fn fetch_for_receiver(&self, packet: &SimPacket) {
        if packet.kind != PacketKind::Udp && self.next_link(packet).is_none() {
            match self.known_place(packet.flow) {
                Some(place) => self.fetch_receiver(place),
                None => self.fetch_source(packet.flow),
            }
            self.hosts.fetch(packet.user);
        }
    }

    /// Prefetches data to which the flow of an arriving packet points. If the flow's slot is known only after a
    /// look-up, prefetches the flow itself instead.
    fn fetch_for_delivery(&self, packet: &SimPacket) {
        if packet.kind == PacketKind::Udp {
            return;
        }
        if let Some(flow) = self.known_place(packet.flow).and_then(|place| self.flows.get(place as usize)) {
            flow.receiver.fetch_early(packet.seq);
        } else if let Some(place) = self.place_of(packet.flow) {
            self.fetch_receiver(place);
        }
    }

    fn fetch_receiver(&self, place: u32) {
        if let Some(flow) = self.flows.get(place as usize) {
            fetch(&flow.armed);
            fetch(&flow.params);
        }
    }

    /// Prefetches a flow before one of its timers expires.
    #[cold]
    #[inline(never)]
    pub fn fetch_for_timer(&self, flow: u32) {
        let flow = &self.flows[flow as usize];
        fetch(&flow.start);
        fetch(&flow.armed);
        fetch(&flow.params);
        fetch(&flow.user);
    }

    /// Prefetches the flow's deadline. Call it once the cache lines of [`Network::fetch_for_timer`] have arrived.
    #[inline]
    pub fn fetch_for_deadline(&self, flow: u32) {
        if let Some(flow) = self.flows.get(flow as usize) {
            flow.sender.fetch_timer();
        }
    }
}
