//! The parts of a simulated network, built from a scenario: links, routes, markers, users, flows, sources.

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
use crate::measure::path_probe::PathProbes;
use crate::measure::responsiveness_probe::ResponsivenessProbe;
use crate::measure::transfer_probe::TransferProbe;
use crate::network::hosts::Hosts;
use crate::network::impairment::Impairment;
use crate::network::link::Link;
use crate::network::own_streams::OwnStreams;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::{AtEnd, MOST_FLOWS, TcpFlow, flow_index, next_id, previous_id};
use crate::traffic::tcp::{SenderStats, TcpParams};
use crate::traffic::udp_source::UdpSource;
use crate::traffic::video_player::VideoPlayer;
use crate::traffic::web_source::WebSource;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::registry::markers::AnyMeterBank;
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use builder::delays;

/// Where a packet goes next, once it has left its user's access link. A route is a run of hops that ends with
/// [`Hop::END`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The link to enter, or the number of an impairment, or [`Hop::DELIVER`].
    pub link: u32,
    /// What happens first.
    pub entry: Entry,
}

/// What happens to a packet at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// It enters a link.
    Core,
    /// It enters the domain: its user's marker labels it before it enters the link.
    Edge,
    /// It enters the domain with a label that its user forges: see [`Network::forged_label`].
    Forged,
    /// It enters an impairment instead of a link.
    Impairment,
    /// It reaches the receiver of a call, in front of the end of its route.
    Call,
}

impl Hop {
    /// The receiver of a call.
    pub const CALL: Self = Self { link: 0, entry: Entry::Call };
    /// In place of a link: the packet has arrived.
    pub const DELIVER: u32 = u32::MAX;
    /// The end of a route.
    pub const END: Self = Self { link: Self::DELIVER, entry: Entry::Core };
}

/// A user: one traffic aggregate.
#[derive(Clone, Debug)]
pub struct User {
    /// Index of its group.
    pub group: u16,
    /// Payload delivered during the measurement: datagrams, and transfers whose flow has ended.
    pub delivered_bytes: u64,
    /// Datagrams delivered during the measurement.
    pub datagrams: u64,
}

/// Everything that moves.
#[derive(Debug)]
pub struct Network {
    /// Links between nodes.
    pub links: Vec<Link>,
    /// What loses or delays packets behind links and access links.
    pub impairments: Vec<Impairment>,
    /// The routes from the access links to the receivers, one after another.
    pub hops: Vec<Hop>,
    /// Where the routes of TCP packets begin, by index of their parameters.
    pub first_hops: Vec<u16>,
    /// Meters of the edge: [`Network::ingresses`] for each user; none if the scenario has no marker.
    pub meters: AnyMeterBank,
    /// What users write who forge their labels: the one that ports treat best.
    pub forged_label: f64,
    /// Most ingress nodes that a user has.
    pub ingresses: usize,
    /// Randomness of the edge.
    marker_rng: Rng,
    /// Hosts, one for each user.
    pub hosts: Hosts,
    /// Users, group by group.
    pub users: Vec<User>,
    /// TCP connections.
    pub flows: Vec<TcpFlow>,
    /// Sources that do not react.
    pub sources: Vec<UdpSource>,
    /// Web sources.
    pub webs: Vec<WebSource>,
    /// Video players.
    pub players: Vec<VideoPlayer>,
    /// What packets meet on their way.
    pub paths: PathProbes,
    /// Names of the applications that are observed, of an access network.
    pub applications: Vec<String>,
    /// Finite transfers of each group; `None` for a group without any.
    pub transfers: Vec<Option<Box<TransferProbe>>>,
    /// Tests of responsiveness of each group; `None` for a group without any.
    pub probes: Vec<Option<Box<ResponsivenessProbe>>>,
    /// What the connections that have ended counted, by group.
    pub ended: Vec<SenderStats>,
    /// Receivers of calls.
    pub calls: CallProbes,
    /// Packets that have reached the end of their route.
    pub delivered: u64,
    /// TCP connections that last as long as the run; the others follow them.
    pub lasting_flows: usize,
    /// Streams and flow numbers of the users' own, if they have them; they take the place of what others share.
    own: Option<Box<OwnStreams>>,
    /// Places of flows that are free, with the time since when, the longest first.
    free: VecDeque<(Time, u32)>,
    /// Randomness of the pauses between transfers.
    pause_rng: Rng,
    /// Seeds of what senders draw.
    sender_rng: Rng,
    /// TCP parameters, one set for each source table of the scenario at each of its places, which share it.
    pub tcp_params: Vec<Arc<TcpParams>>,
    /// Mean pause between two transfers of these sources.
    pauses: Vec<Time>,
    /// When these sources stop; [`Time::NEVER`] for those that do not.
    stops: Vec<Time>,
    /// The stops of endless flows and UDP sources, the next one last.
    stops_to_come: Vec<(Time, Stopping)>,
}

/// What stops at a time of its own, so that nothing has to look at it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stopping {
    /// The endless flows of these parameters.
    Flows(u32),
    /// This UDP source.
    Source(u32),
}

impl Network {
    /// The measurement starts.
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

    /// Has the probes of users count what was dropped since the last call: what drops need not know of them.
    pub fn count_losses(&mut self) {
        let of_links = self.links.iter_mut().map(Link::losses);
        let of_access = self.impairments.iter_mut().map(|impairment| &mut impairment.losses);
        for losses in of_links.chain(of_access).chain([&mut self.hosts.losses]) {
            losses.drain(..).for_each(|loss| self.paths.dropped(loss));
        }
    }

    /// Why a congestion control from outside has failed, if one has.
    #[must_use]
    pub fn failed_control(&self) -> Option<&str> {
        self.tcp_params.iter().find_map(|tcp| tcp.congestion.external.failure())
    }

    /// When something stops next; [`Time::NEVER`] if nothing will.
    #[must_use]
    pub fn next_stop(&self) -> Time {
        self.stops_to_come.last().map_or(Time::NEVER, |&(time, _)| time)
    }

    /// What stops by `now`, one after another.
    pub fn stopping(&mut self, now: Time) -> Option<Stopping> {
        self.stops_to_come.pop_if(|(time, _)| *time <= now).map(|(_, stopping)| stopping)
    }

    /// Stops the flows of these parameters.
    pub fn stop_flows(&mut self, params: u32) {
        for flow in self.flows.iter_mut().filter(|flow| flow.params == params) {
            flow.sender.stop();
        }
    }

    /// The edge at the entry of a link labels a packet.
    #[inline]
    pub fn label(&mut self, packet: &mut SimPacket, link: u32, now: Time) {
        let meter = packet.user as usize * self.ingresses + usize::from(packet.ingress);
        let rng = match &mut self.own {
            None => &mut self.marker_rng,
            Some(own) => own.marker(link),
        };
        self.meters.label(meter, packet, now, rng);
    }

    /// Where the flow that this number belongs to is in [`Network::flows`], if it is a TCP flow; `None` if it is over,
    /// but for those that find it by themselves.
    #[inline]
    pub fn place_of(&self, id: u32) -> Option<u32> {
        match &self.own {
            None => Some(flow_index(id)),
            Some(own) => own.place_of(id),
        }
    }

    /// As [`Network::place_of`], if nothing need be looked up for it.
    pub fn known_place(&self, id: u32) -> Option<u32> {
        let place = flow_index(id);
        self.own.as_ref().is_none_or(|own| own.is_lasting(place)).then_some(place)
    }

    /// Asks for the first that [`Network::place_of`] looks at, if it looks anything up.
    pub fn fetch_source(&self, id: u32) {
        if let Some(own) = &self.own {
            own.fetch_source(id);
        }
    }

    /// The same, when that has come, for the next.
    pub fn fetch_open_transfers(&self, id: u32) {
        if let Some(own) = &self.own {
            own.fetch_open(id);
        }
    }

    /// Starts the next transfer of a web source; gives the place of its flow, `None` if too many are open. Places are
    /// used again, so that there are as many as transfers were ever open at once.
    pub fn open_transfer(&mut self, index: u32, now: Time) -> Option<u32> {
        let web = &mut self.webs[index as usize];
        let bytes = web.start_transfer();
        let user = web.user;
        let group = usize::from(self.users[user as usize].group);
        let probe = self.transfers[group].as_mut().expect("a group with a web source observes transfers");
        // A place that became free at this very instant may have packets of this instant.
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
        let ingress = (web.transfers % u64::from(web.ingresses)) as u16;
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

    /// A transfer is acknowledged to its end: a new connection takes the place of the old one, or the place is free.
    /// Gives the time at which the new one starts, [`Time::NEVER`] for a free place; `None` if the old one stays.
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
            // Not at the same instant, so that its packets differ from the old ones in their timestamps.
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
        // Late copies may have made a meter again for the connection before.
        let before = previous_id(old.id);
        if self.own.as_ref().is_none_or(|own| own.place_of(before).is_none()) {
            self.meters.forget(before);
        }
        self.meters.forget(old.id);
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
                // What a connection drew that was never opened: results stay what they were.
                self.sender_rng.bits();
            }
            TcpFlow::unused(tcp, origin, start, bytes, (old.id, old.at_end))
        };
        flow.unmeasured_wire_bytes = -old.measured_wire_bytes().cast_signed();
        self.flows[place as usize] = flow;
        Some(start)
    }

    /// A packet of a call has come to the end of its route, at `now`.
    pub fn receive_call(&mut self, packet: &SimPacket, now: Time) {
        let arrival = now + self.hosts.to_receiver(packet.user, u32::from(packet.wire_bytes));
        self.calls.receive(packet, arrival);
    }

    /// Finite transfers of the group of a user, if it has any.
    pub fn transfer_probe(&mut self, user: u32) -> Option<&mut TransferProbe> {
        self.transfers[usize::from(self.users[user as usize].group)].as_deref_mut()
    }
}
