//! Fetches what events that are due soon will touch.
//!
//! With many flows their state is beyond the caches, and an event waits for each line that it fetches. What comes next
//! in a shared line, in a calendar or on a link is known, so its lines are requested some events before: that costs an
//! instruction each, and the wait is over, or shorter, when the event comes. What these lines point to is asked for
//! later, when they have come. All of it stands apart from the loop, which small networks do not leave for it.

use crate::cache_line::fetch;
use crate::network::hosts::{FlowAck, Queue};
use crate::network::link::Link;
use crate::network::sim_packet::{PacketKind, SimPacket};
use crate::network::{Hop, Network};
use prefetch_index::prefetch_index;

/// How many places behind the first to look for the lines of hosts and flows.
const PLACES_AHEAD: usize = 8;
/// How many for what only those lines tell the place of.
const FEWER_PLACES_AHEAD: usize = 4;
/// How many for what these tell the place of.
const FEWEST_PLACES_AHEAD: usize = 2;
/// Places behind the first of a packet on a link between nodes, of which there are many, so that some of their packets
/// come between two of this one: when to ask for the packet itself, for its next hop, for what it meets there, for what
/// these point to, and for what that points to.
const PACKET_ON_LINK: usize = 5;
const HOP_ON_LINK: usize = 4;
const STATE_ON_LINK: usize = 3;
const PROBE_ON_LINK: usize = 2;
const COUNTS_ON_LINK: usize = 1;
/// Flows whose state the caches hold, about: fewer are not worth the trouble.
pub const MANY_FLOWS: usize = 4_000;

impl Network {
    /// Before packets of a queue reach the edge node.
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

    /// Before acknowledgements of a queue reach their senders.
    #[cold]
    #[inline(never)]
    pub fn fetch_for_acks(&self, queue: Queue) {
        // Twice as far ahead in the calendar: fewer other events come between.
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

    /// Before packets reach the far end of a link.
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
            // Fewer are on their way, each for long: time enough for what a receiver touches.
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

    /// The next link that a packet enters, if it is not at the end of its route.
    fn next_link(&self, packet: &SimPacket) -> Option<&Link> {
        let Hop { link, .. } = self.hops[usize::from(packet.hop) + 1];
        self.links.get(link as usize)
    }

    /// The next link that a packet enters, or flow and host of its receiver.
    fn fetch_for_arrival(&self, packet: &SimPacket) {
        match self.next_link(packet) {
            Some(link) => link.fetch(),
            None => self.fetch_for_receiver(packet),
        }
    }

    /// Flow and host of the receiver of a packet, if it is at the end of its route.
    fn fetch_for_receiver(&self, packet: &SimPacket) {
        if packet.kind != PacketKind::Udp && self.next_link(packet).is_none() {
            match self.known_place(packet.flow) {
                Some(place) => self.fetch_receiver(place),
                None => self.fetch_source(packet.flow),
            }
            self.hosts.fetch(packet.user);
        }
    }

    /// What the flow of a packet that reaches its receiver points to, or the flow, if its place had to be looked up.
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

    /// Before a timer of a flow is due.
    #[cold]
    #[inline(never)]
    pub fn fetch_for_timer(&self, flow: u32) {
        let flow = &self.flows[flow as usize];
        fetch(&flow.start);
        fetch(&flow.armed);
        fetch(&flow.params);
        fetch(&flow.user);
    }

    /// The same, when what [`Network::fetch_for_timer`] asked for has come.
    #[inline]
    pub fn fetch_for_deadline(&self, flow: u32) {
        if let Some(flow) = self.flows.get(flow as usize) {
            flow.sender.fetch_timer();
        }
    }
}
