//! Parts of a simulated network, built from a scenario: links, routes, markers, users, flows, sources.

pub mod ack_packets;
mod assemble;
mod builder;

pub mod hosts;
pub mod impairment;
pub mod layout;
pub mod link;
mod own_streams;
mod random_stream;
mod shaper_classes;
pub mod sim_packet;
pub mod tcp_flow;
pub mod way_back;

use crate::measure::call_probe::CallProbes;
use crate::measure::path_probe::{Loss, PathProbes};
use crate::measure::responsiveness_probe::ResponsivenessProbe;
use crate::measure::transfer_probe::TransferProbe;
use crate::network::ack_packets::{ACK_FLOW, AckPackets};
use crate::network::hosts::Hosts;
use crate::network::impairment::Impairment;
use crate::network::link::Link;
use crate::network::own_streams::OwnStreams;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::{AtEnd, MOST_FLOWS, Span, TcpFlow, flow_index, next_id, previous_id};
use crate::traffic::tcp::{SenderStats, TcpParams};
use crate::traffic::udp_source::UdpSource;
use crate::traffic::video_player::VideoPlayer;
use crate::traffic::web_source::WebSource;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::label::exchange::Exchange;
use fairlane_schemes::registry::markers::AnyMeterBank;
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use builder::delays;

/// Next hop of a packet after its user's access link. A route is a sequence of hops that ends with [`Hop::END`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// Index of the link or impairment that the packet enters, or [`Hop::DELIVER`].
    pub link: u32,
    /// Action at the hop.
    pub entry: Entry,
}

/// Action at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// Enter a link.
    Core,
    /// Enter the domain: the user's marker labels the packet before it enters the link.
    Edge,
    /// Enter the domain with a label forged by the user: see [`Network::forged_label`].
    Forged,
    /// Enter an impairment instead of a link.
    Impairment,
    /// Reach the receiver of a call, before the end of the route.
    Call,
    /// Reach the receiver damaged: the end of the route of a corrupted packet.
    Discard,
}

impl Hop {
    /// The receiver of a call.
    pub const CALL: Self = Self { link: 0, entry: Entry::Call };
    /// The receiver of a corrupted packet.
    pub const DISCARD: Self = Self { link: 0, entry: Entry::Discard };
    /// Value of `link` at the end of a route.
    pub const DELIVER: u32 = u32::MAX;
    /// End of a route.
    pub const END: Self = Self { link: Self::DELIVER, entry: Entry::Core };
}

/// A user: one traffic aggregate.
#[derive(Clone, Debug)]
pub struct User {
    /// Index of its group.
    pub group: u16,
    /// Bytes of payload delivered during the measurement: datagrams, and transfers of ended flows.
    pub delivered_bytes: u64,
    /// Datagrams delivered during the measurement.
    pub datagrams: u64,
}

/// The complete network.
#[derive(Debug)]
pub struct Network {
    /// Links between nodes.
    pub links: Vec<Link>,
    /// Impairments after links and access links.
    pub impairments: Vec<Impairment>,
    /// Routes from the access links to the receivers, concatenated.
    pub hops: Vec<Hop>,
    /// First hops of TCP packets, by index of the TCP parameters.
    pub first_hops: Vec<u16>,
    /// Acknowledgements in packets, if there is a reverse link.
    pub acks: AckPackets,
    /// Meters of the edge: [`Network::ingresses`] for each user; empty if the scenario has no marker.
    pub meters: AnyMeterBank,
    /// Exchange that moves the parts of reference rates between the ingress nodes of users.
    pub exchange: Option<Box<Exchange>>,
    /// Label written by users that forge labels: the label that ports favour most.
    pub forged_label: f64,
    /// Maximum number of ingress nodes of a user.
    pub ingresses: usize,
    /// Random stream of the edge.
    marker_rng: Rng,
    /// Hosts, one for each user.
    pub hosts: Hosts,
    /// Users, group by group.
    pub users: Vec<User>,
    /// TCP connections.
    pub flows: Vec<TcpFlow>,
    /// Unresponsive sources.
    pub sources: Vec<UdpSource>,
    /// Web sources.
    pub webs: Vec<WebSource>,
    /// Video players.
    pub players: Vec<VideoPlayer>,
    /// Path probes: delays, drops and marks of packets.
    pub paths: PathProbes,
    /// Names of the observed applications of an access network.
    pub applications: Vec<String>,
    /// Finite transfers of each group; `None` for groups without transfers.
    pub transfers: Vec<Option<Box<TransferProbe>>>,
    /// Test of responsiveness of each group; `None` for groups without one.
    pub probes: Vec<Option<Box<ResponsivenessProbe>>>,
    /// Counters of ended connections, by group.
    pub ended: Vec<SenderStats>,
    /// Receivers of calls.
    pub calls: CallProbes,
    /// Number of packets that reached the end of their route.
    pub delivered: u64,
    /// Number of corrupted packets that reached the end of their route.
    pub discarded: u64,
    /// Number of TCP connections that last for the whole run. All others have higher indices.
    pub lasting_flows: usize,
    /// Separate random streams and flow numbers of users, which replace the shared ones if present.
    own: Option<Box<OwnStreams>>,
    /// Free flow slots, with the time at which each became free, the oldest first.
    free: VecDeque<(Time, u32)>,
    pause_rng: Rng,
    /// Seeds of the senders' random streams.
    sender_rng: Rng,
    /// TCP parameters shared by flows: one set for each source table of the scenario at each location of its users.
    pub tcp_params: Vec<Arc<TcpParams>>,
    /// Mean pause between two transfers, by index of the TCP parameters.
    pauses: Vec<Time>,
    /// Stop time by index of the TCP parameters; [`Time::NEVER`] for sources that do not stop.
    stops: Vec<Time>,
    /// Future stops of long-lived flows and UDP sources, in descending order of time.
    stops_to_come: Vec<(Time, Stopping)>,
}

/// Sources with a scheduled stop. The stop is an event, so sending needs no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stopping {
    /// The long-lived flows with these parameters.
    Flows(u32),
    /// This UDP source.
    Source(u32),
}

impl Network {
    /// Starts the measurement.
    pub fn restart(&mut self) {
        for user in &mut self.users {
            (user.delivered_bytes, user.datagrams) = (0, 0);
        }
        for flow in &mut self.flows {
            flow.unmeasured_bytes = flow.receiver.delivered_bytes(&self.tcp_params[flow.params as usize]);
            flow.unmeasured_wire_bytes = flow.receiver.wire_bytes().cast_signed();
        }
        self.sources.iter_mut().for_each(UdpSource::restart);
        self.webs.iter_mut().for_each(|web| web.measured_wire_bytes = 0);
        self.impairments.iter_mut().for_each(Impairment::restart);
        self.count_losses();
        self.paths.restart();
    }

    /// Adds the packets dropped since the last call of this function to the users' probes, except acknowledgements,
    /// whose slots become free. So the code that drops packets does not depend on the probes.
    pub fn count_losses(&mut self) {
        let of_links = self.links.iter_mut().map(Link::losses);
        let of_access = self.impairments.iter_mut().map(|impairment| &mut impairment.losses);
        for losses in of_links.chain(of_access).chain([&mut self.hosts.losses]) {
            if self.acks.exist() {
                losses.extract_if(.., |loss| loss.is_ack).for_each(|loss| self.acks.lose(loss.slot));
            }
            losses.drain(..).for_each(|loss| self.paths.dropped(loss));
        }
    }

    /// Error of a failed external congestion control, if there is one.
    #[must_use]
    pub fn failed_control(&self) -> Option<&str> {
        self.tcp_params.iter().find_map(|tcp| tcp.congestion.external.failure())
    }

    /// Time of the next stop; [`Time::NEVER`] if there is none.
    #[must_use]
    pub fn next_stop(&self) -> Time {
        self.stops_to_come.last().map_or(Time::NEVER, |&(time, _)| time)
    }

    /// Takes the stops due by `now`, one per call.
    pub fn stopping(&mut self, now: Time) -> Option<Stopping> {
        self.stops_to_come.pop_if(|(time, _)| *time <= now).map(|(_, stopping)| stopping)
    }

    /// Stops the flows with these parameters.
    pub fn stop_flows(&mut self, params: u32) {
        for flow in self.flows.iter_mut().filter(|flow| flow.params == params) {
            flow.sender.stop();
        }
    }

    /// Labels a packet at the edge, where it enters a link.
    #[inline(always)]
    pub fn label(&mut self, packet: &mut SimPacket, link: u32, now: Time) {
        let first = packet.user as usize * self.ingresses;
        let meter = first + usize::from(packet.ingress);
        if let Some(exchange) = &mut self.exchange {
            let (user, node, bytes) = (packet.user as usize, usize::from(packet.ingress), packet.wire_bytes.into());
            exchange.count(user, node, bytes, now, |node, rate| self.meters.set_reference_rate(first + node, rate));
        }
        let rng = match &mut self.own {
            None => &mut self.marker_rng,
            Some(own) => own.marker(link),
        };
        self.meters.label(meter, packet, now, rng);
    }

    /// Returns the index in [`Network::flows`] of the TCP flow with the number `id`. Returns `None` if the index must
    /// be looked up and the flow has ended.
    #[inline]
    pub fn place_of(&self, id: u32) -> Option<u32> {
        match &self.own {
            None => Some(flow_index(id)),
            Some(own) => own.place_of(id),
        }
    }

    /// Records a segment of the flow at `index` for the time series, if its data has already arrived. Call it before
    /// the receiver gets the segment.
    #[cold]
    #[inline(never)]
    pub fn note_repeated(&mut self, index: u32, packet: &SimPacket, now: Time) {
        let flow = &self.flows[index as usize];
        let is_old = flow.span == Span::Passing && packet.timestamp < flow.start;
        if !is_old && flow.receiver.has(&packet.segment()) {
            self.paths.repeated(packet.user, now);
        }
    }

    /// Like [`Network::place_of`], but returns `None` if a lookup is necessary.
    pub fn known_place(&self, id: u32) -> Option<u32> {
        let place = flow_index(id);
        self.own.as_ref().is_none_or(|own| own.is_lasting(place)).then_some(place)
    }

    /// Prefetches the first data of the lookup in [`Network::place_of`], if there is one.
    pub fn fetch_source(&self, id: u32) {
        if let Some(own) = &self.own {
            own.fetch_source(id);
        }
    }

    /// Prefetches the next data of the lookup. Call it once the data of [`Network::fetch_source`] have arrived.
    pub fn fetch_open_transfers(&self, id: u32) {
        if let Some(own) = &self.own {
            own.fetch_open(id);
        }
    }

    /// Starts the next transfer of a web source. Returns the index of its flow, or `None` if too many transfers are
    /// open. Slots are reused, so their number equals the maximum number of concurrent transfers so far.
    pub fn open_transfer(&mut self, index: u32, now: Time) -> Option<u32> {
        let web = &mut self.webs[index as usize];
        let bytes = web.start_transfer();
        let user = web.user;
        let group = usize::from(self.users[user as usize].group);
        let probe = self.transfers[group].as_mut().expect("a group with a web source observes transfers");
        // Packets of a slot freed at `now` may still arrive at `now`.
        let free = self.free.front().is_some_and(|&(since, _)| since < now);
        let full = self.own.is_none() && !free && self.flows.len() >= MOST_FLOWS;
        if web.open >= web.params().limit || full {
            probe.refuse(now);
            return None;
        }
        probe.start(now, bytes);
        if let Some(load) = web.draw_load()
            && let Some(probe) = &mut self.probes[group]
        {
            probe.on_load(now, self.flows[load as usize].sender.srtt());
        }
        let ingress = web.first_ingress + (web.transfers % u64::from(web.ingresses)) as u16;
        let count = web.transfers;
        web.transfers += 1;
        web.measured_wire_bytes += self.tcp_params[web.tcp as usize].transfer_wire_bytes(bytes);
        web.open += 1;
        let (tcp, class, at_end) = (web.tcp, web.class, AtEnd::Recycle { web: index });
        let next = self.flows.len() as u32;
        let (id, place, seed) = if let Some(own) = &mut self.own {
            let (id, place) = own.open(index, count, next, now);
            (id, place, own.seed_of_transfer(index, count))
        } else {
            let place = if free { self.free.pop_front().map(|(_, place)| place) } else { None };
            let id = next_id(place.map_or(next, |place| self.flows[place as usize].id));
            (id, place.unwrap_or(next), self.sender_rng.bits())
        };
        let tcp = (tcp, &*self.tcp_params[tcp as usize]);
        let flow = TcpFlow::new(tcp, (user, ingress, class), now, Some(Bytes(bytes)), (id, at_end), seed);
        match self.flows.get_mut(place as usize) {
            Some(present) => *present = flow,
            None => self.flows.push(flow),
        }
        Some(place)
    }

    /// Ends a fully acknowledged transfer: a new connection replaces the old one, or the slot becomes free. Returns the
    /// start time of the new connection, [`Time::NEVER`] for a free slot, or `None` if the old connection stays.
    pub fn end_transfer(&mut self, place: u32, now: Time) -> Option<Time> {
        let old = &self.flows[place as usize];
        let params = &self.tcp_params[old.params as usize];
        let user = &mut self.users[old.user as usize];
        let start = match old.at_end {
            AtEnd::Stay | AtEnd::NextChunk { .. } | AtEnd::Repeat { left: 0 } => return None,
            AtEnd::Recycle { web: source } => {
                let web = &mut self.webs[source as usize];
                web.open -= 1;
                if !web.load.is_empty()
                    && let Some(probe) = &mut self.probes[usize::from(user.group)]
                {
                    probe.foreign(old.start, old.receiver.echo(), now);
                }
                match &mut self.own {
                    None => self.free.push_back((now, place)),
                    Some(own) => own.close(source, place, now),
                }
                Time::NEVER
            }
            // The new connection starts later than `now`, so timestamps of its packets differ from those of the old
            // connection.
            AtEnd::Repeat { left } => {
                let mean = self.pauses[old.params as usize].0 as f64;
                let pause = match &self.own {
                    None => self.pause_rng.exponential(mean),
                    Some(own) => own.pause(place, left, mean),
                };
                let start = now + Time(1 + pause as u64);
                if start >= self.stops[old.params as usize] {
                    return None;
                }
                start
            }
        };
        user.delivered_bytes += old.measured_bytes(params);
        self.ended[usize::from(user.group)].add(&old.sender.stats());
        // Late duplicates may have recreated the meter of the previous connection.
        let before = previous_id(old.id);
        if self.own.as_ref().is_none_or(|own| own.place_of(before).is_none()) {
            self.meters.forget(before);
        }
        self.meters.forget(old.id);
        if self.acks.exist() {
            self.meters.forget(old.id ^ ACK_FLOW);
        }
        let origin = (old.user, old.ingress, old.class);
        let (tcp, bytes) = ((old.params, &**params), Some(Bytes(old.transfer_bytes)));
        let mut flow = if let AtEnd::Repeat { left } = old.at_end {
            let left = left - 1;
            let seed = match &self.own {
                None => self.sender_rng.bits(),
                Some(own) => own.seed_of_repetition(place, left),
            };
            TcpFlow::new(tcp, origin, start, bytes, (next_id(old.id), AtEnd::Repeat { left }), seed)
        } else {
            if self.own.is_none() {
                // Draws a seed even for a connection that is never opened, so that the seeds of later connections do
                // not change.
                self.sender_rng.bits();
            }
            TcpFlow::unused(tcp, origin, start, bytes, (old.id, old.at_end))
        };
        flow.unmeasured_wire_bytes = -old.measured_wire_bytes().cast_signed();
        self.flows[place as usize] = flow;
        Some(start)
    }

    /// Drops a corrupted packet at its receiver.
    pub fn discard(&mut self, packet: &SimPacket, now: Time) {
        self.discarded += 1;
        self.hosts.losses.push(Loss::of(packet, now));
    }

    /// Handles a packet of a call that reached the end of its route at `now`.
    pub fn receive_call(&mut self, packet: &SimPacket, now: Time) {
        let bytes = u32::from(packet.wire_bytes);
        let arrival = if self.acks.is_reverse(packet.ingress) {
            self.hosts.at_host(packet.user, bytes, now)
        } else {
            now + self.hosts.to_receiver(packet.user, bytes)
        };
        self.calls.receive(packet, arrival);
    }

    /// Transfer probe of a user's group, if the group has finite transfers.
    pub fn transfer_probe(&mut self, user: u32) -> Option<&mut TransferProbe> {
        self.transfers[usize::from(self.users[user as usize].group)].as_deref_mut()
    }
}
