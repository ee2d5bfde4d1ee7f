//! The parts of a simulated network, built from a scenario: links, routes, markers, users, flows, sources.

pub mod delay_lines;
pub mod hosts;
pub mod link;
pub mod link_rate;
pub mod shared_line;
pub mod sim_packet;

use crate::measure::port_probe::PortProbe;
use crate::measure::series::Series;
use crate::measure::transfer_probe::TransferProbe;
use crate::network::hosts::{HostParams, Hosts, WayBack};
use crate::network::link::Link;
use crate::network::sim_packet::SimPacket;
use crate::scenario::{GroupConfig, Scenario, SourceConfig, TcpSourceParams, UdpConfig};
use crate::traffic::tcp::{Receiver, Sender, SenderStats, TcpParams};
use crate::traffic::udp_source::UdpSource;
use crate::traffic::web_source::WebSource;
use fairlane_schemes::abc::split_reference_rate;
use fairlane_schemes::flow::Weights;
use fairlane_schemes::marker::{MarkerBank, MarkerConfig, MeterSpec};
use fairlane_schemes::packet::TrafficClass;
use fairlane_schemes::rng::Rng;
use fairlane_schemes::units::{BitRate, Bytes, Time};
use std::collections::VecDeque;

/// Where a packet goes next, once it has left its user's access link. A route is a run of hops that ends with
/// [`Hop::END`].
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The link to enter, or [`Hop::DELIVER`].
    pub link: u32,
    /// Whether the packet enters the domain here: its user's marker labels it before it enters the link.
    pub is_edge: bool,
}

impl Hop {
    /// In place of a link: the packet has arrived.
    pub const DELIVER: u32 = u32::MAX;
    /// The end of a route.
    pub const END: Self = Self { link: Self::DELIVER, is_edge: false };
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

/// What happens when a transfer is acknowledged to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The flow stays as it is.
    Rest,
    /// The same transfer again, over a new connection after a pause; so many times.
    Repeat {
        /// Transfers still to come.
        left: u32,
    },
    /// Its place is free for another transfer; the web source of this index has one less open.
    Recycle {
        /// Index in [`Network::webs`].
        web: u32,
    },
}

/// How long a flow lasts: what the engine asks for each packet, of what [`AtEnd`] says in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// As long as the run.
    Endless,
    /// One transfer.
    Once,
    /// One transfer, and another connection takes its place.
    Passing,
}

impl Span {
    fn of(transfer: Option<Bytes>, at_end: AtEnd) -> Self {
        match (transfer, at_end) {
            (None, _) => Self::Endless,
            (Some(_), AtEnd::Rest) => Self::Once,
            (Some(_), AtEnd::Repeat { .. } | AtEnd::Recycle { .. }) => Self::Passing,
        }
    }
}

/// A TCP connection, both ends. In this order, five cache lines: a segment that arrives in order touches the second,
/// an ACK of new data the second and third, losses the rest.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct TcpFlow {
    /// When the connection is opened.
    pub start: Time,
    /// When the last byte of a finite transfer was received; [`Time::NEVER`] until then.
    pub finish: Time,
    /// The end that acknowledges data. Its second half is what each segment touches.
    pub receiver: Receiver,
    /// When the flow's event is due: no earlier deadline has to look it up.
    pub armed: Time,
    /// Index in [`Network::tcp_params`].
    pub params: u32,
    /// Which of the user's ingress nodes its packets enter through.
    pub ingress: u16,
    /// Class of its packets.
    pub class: TrafficClass,
    /// How long it lasts.
    pub span: Span,
    /// The end that sends data. Its first line is what each ACK touches.
    pub sender: Sender,
    /// Payload delivered before the measurement.
    pub unmeasured_bytes: u64,
    /// What its receiver has got is this plus what it got during the measurement, earlier connections at this place
    /// included: bytes on the wire, negative if most of it came over those.
    unmeasured_wire_bytes: i64,
    /// Payload of a finite transfer; 0 for an endless one.
    pub transfer_bytes: u64,
    /// The number that its packets carry: its place, with the number of the connection above it. See [`place_of`].
    pub id: u32,
    /// The user that it belongs to.
    pub user: u32,
    /// What happens at the end of a finite transfer.
    pub at_end: AtEnd,
}

/// Bits of a flow's number that tell its place in [`Network::flows`].
const PLACE_BITS: u32 = 20;
/// Most places: flows that last, and transfers open at once.
pub const MOST_FLOWS: usize = 1_000_000;

/// Where the flow of this number is in [`Network::flows`], if it is a TCP flow.
#[must_use]
#[inline]
pub fn place_of(id: u32) -> u32 {
    id & ((1 << PLACE_BITS) - 1)
}

/// The number of the connection before, at the same place.
fn previous_id(id: u32) -> u32 {
    id.wrapping_sub(1 << PLACE_BITS)
}

/// The number of the next connection at the same place: 4096 of them, then they come round.
fn next_id(id: u32) -> u32 {
    id.wrapping_add(1 << PLACE_BITS)
}

impl TcpFlow {
    /// A connection that is not open yet: `params` with their index; user, ingress and class of its packets; its number
    /// and what happens at its end.
    fn new(
        (params, tcp): (u32, &TcpParams),
        (user, ingress, class): (u32, u16, TrafficClass),
        start: Time,
        transfer: Option<Bytes>,
        (id, at_end): (u32, AtEnd),
    ) -> Self {
        Self {
            start,
            finish: Time::NEVER,
            receiver: Receiver::new(tcp),
            armed: start,
            params,
            ingress,
            class,
            span: Span::of(transfer, at_end),
            sender: Sender::new(tcp, transfer),
            unmeasured_bytes: 0,
            unmeasured_wire_bytes: 0,
            transfer_bytes: transfer.map_or(0, |bytes| bytes.0),
            id,
            user,
            at_end,
        }
    }

    /// Payload delivered over this connection during the measurement.
    #[must_use]
    pub fn measured_bytes(&self, params: &TcpParams) -> u64 {
        self.receiver.delivered_bytes(params) - self.unmeasured_bytes
    }

    /// Bytes on the wire that reached the receiver during the measurement, over earlier connections at this place too.
    #[must_use]
    pub fn measured_wire_bytes(&self) -> u64 {
        self.receiver.wire_bytes().wrapping_add_signed(-self.unmeasured_wire_bytes)
    }

    /// The earlier of the timers of both ends.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Time {
        self.sender.timer().min(self.receiver.timer())
    }
}

/// Everything that moves.
#[derive(Debug)]
pub struct Network {
    /// Links between nodes.
    pub links: Vec<Link>,
    /// The routes from the access links to the receivers, one after another.
    pub hops: Vec<Hop>,
    /// Where the routes of TCP packets begin, by index of their parameters.
    pub first_hops: Vec<u16>,
    /// Meters of the edge: [`Network::ingresses`] for each user; none if the scenario has no marker.
    pub meters: MarkerBank,
    /// Most ingress nodes that a user has.
    pub ingresses: usize,
    /// Randomness of the edge.
    pub marker_rng: Rng,
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
    /// Finite transfers of each group; `None` for a group without any.
    pub transfers: Vec<Option<Box<TransferProbe>>>,
    /// What the connections that have ended counted, by group.
    pub ended: Vec<SenderStats>,
    /// Packets that have reached the end of their route.
    pub delivered: u64,
    /// TCP connections that last as long as the run; the others follow them.
    pub lasting_flows: usize,
    /// Places of flows that are free, with the time since when, the longest first.
    free: VecDeque<(Time, u32)>,
    /// Randomness of the pauses between transfers.
    pause_rng: Rng,
    /// TCP parameters, one set for each source table of the scenario.
    pub tcp_params: Vec<TcpParams>,
    /// Mean pause between two transfers of these sources.
    pauses: Vec<Time>,
}

impl Network {
    /// The network of a scenario, with the random streams of one replication.
    #[must_use]
    pub fn new(scenario: &Scenario, replication: u32) -> Self {
        let first = &scenario.topology.links[0].params;
        let mut builder = Builder {
            scenario,
            replication: u64::from(replication),
            meters: Vec::new(),
            network: Self {
                links: Vec::new(),
                hops: Vec::new(),
                first_hops: Vec::new(),
                meters: MarkerBank::None,
                ingresses: scenario.groups.iter().map(|group| group.params.ingresses as usize).max().unwrap_or(1),
                marker_rng: Rng::stream(scenario.run.seed, u64::from(replication), "marker", 0),
                hosts: Hosts::new(first.rate, first.delay),
                users: Vec::new(),
                flows: Vec::new(),
                sources: Vec::new(),
                webs: Vec::new(),
                transfers: Vec::new(),
                ended: vec![SenderStats::default(); scenario.groups.len()],
                delivered: 0,
                lasting_flows: 0,
                free: VecDeque::new(),
                pause_rng: Rng::stream(scenario.run.seed, u64::from(replication), "pause", 0),
                tcp_params: Vec::new(),
                pauses: Vec::new(),
            },
        };
        builder.add_links();
        for (index, group) in scenario.groups.iter().enumerate() {
            builder.add_group(index, group);
        }
        builder.number_udp_flows();
        builder.observe_links();
        builder.network.meters = scenario.marker.build(&builder.meters);
        builder.network
    }

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
        if web.open >= web.params().limit || (!free && self.flows.len() >= MOST_FLOWS) {
            probe.refuse(now);
            return None;
        }
        probe.start(now, bytes);
        let ingress = (web.transfers % u64::from(web.ingresses)) as u16;
        web.transfers += 1;
        web.open += 1;
        let (tcp, class, at_end) = (web.tcp, web.class, AtEnd::Recycle { web: index });
        let place = if free { self.free.pop_front().map(|(_, place)| place) } else { None };
        let id = place.map_or(next_id(self.flows.len() as u32), |place| next_id(self.flows[place as usize].id));
        let tcp = (tcp, &self.tcp_params[tcp as usize]);
        let flow = TcpFlow::new(tcp, (user, ingress, class), now, Some(Bytes(bytes)), (id, at_end));
        match place {
            Some(place) => self.flows[place as usize] = flow,
            None => self.flows.push(flow),
        }
        Some(place.unwrap_or(self.flows.len() as u32 - 1))
    }

    /// A transfer is acknowledged to its end: a new connection takes the place of the old one, or the place is free.
    /// Gives the time at which the new one starts, [`Time::NEVER`] for a free place; `None` if the old one stays.
    pub fn end_transfer(&mut self, place: u32, now: Time) -> Option<Time> {
        let old = &self.flows[place as usize];
        let params = &self.tcp_params[old.params as usize];
        let user = &mut self.users[old.user as usize];
        let start = match old.at_end {
            AtEnd::Rest | AtEnd::Repeat { left: 0 } => return None,
            AtEnd::Recycle { web } => {
                self.webs[web as usize].open -= 1;
                self.free.push_back((now, place));
                Time::NEVER
            }
            // Not at the same instant, so that its packets differ from the old ones in their timestamps.
            AtEnd::Repeat { .. } => {
                let pause = self.pauses[old.params as usize].0 as f64;
                now + Time(1 + self.pause_rng.exponential(pause) as u64)
            }
        };
        user.delivered_bytes += old.measured_bytes(params);
        self.ended[usize::from(user.group)].add(&old.sender.stats());
        // Late copies may have made a meter again for the connection before.
        self.meters.forget(previous_id(old.id));
        self.meters.forget(old.id);
        let origin = (old.user, old.ingress, old.class);
        let next = match old.at_end {
            AtEnd::Repeat { left } => (next_id(old.id), AtEnd::Repeat { left: left - 1 }),
            at_end => (old.id, at_end),
        };
        let mut flow = TcpFlow::new((old.params, params), origin, start, Some(Bytes(old.transfer_bytes)), next);
        flow.unmeasured_wire_bytes = -old.measured_wire_bytes().cast_signed();
        self.flows[place as usize] = flow;
        Some(start)
    }

    /// Finite transfers of the group of a user, if it has any.
    pub fn transfer_probe(&mut self, user: u32) -> Option<&mut TransferProbe> {
        self.transfers[usize::from(self.users[user as usize].group)].as_deref_mut()
    }
}

/// Adds the parts in a fixed order, so that indices, streams and results do not depend on anything else.
struct Builder<'a> {
    scenario: &'a Scenario,
    replication: u64,
    meters: Vec<MeterSpec>,
    network: Network,
}

impl Builder<'_> {
    fn stream(&self, name: &str, index: usize) -> Rng {
        Rng::stream(self.scenario.run.seed, self.replication, name, index as u64)
    }

    fn add_links(&mut self) {
        let weights = self.weights();
        for (index, config) in self.scenario.topology.links.iter().enumerate() {
            let changes: Vec<_> = config.schedule.iter().map(|step| (step.at, step.rate)).collect();
            let rng = self.stream("queue", index);
            let queue = config.queue.as_ref().unwrap_or(&self.scenario.queue);
            let (rate, delay) = (config.params.rate, config.params.delay);
            self.network.links.push(Link::new(queue, &weights, rate, &changes, delay, rng));
        }
    }

    fn weights(&self) -> Weights {
        let groups = &self.scenario.groups;
        if groups.iter().all(|group| group.params.weight == 1.0) {
            return Weights::equal();
        }
        let of_users = |group: &GroupConfig| std::iter::repeat_n(group.params.weight, group.params.users as usize);
        Weights::new(groups.iter().flat_map(of_users).collect::<Vec<_>>())
    }

    /// Where the route begins in the table of hops; groups that take the same one share it.
    fn first_hop(&mut self, route: &[u32]) -> u16 {
        let links = |hops: &[Hop]| hops.iter().map(|hop| hop.link).eq(route.iter().copied());
        let length = route.len() + 1;
        let present = self.network.hops.windows(length).position(|hops| {
            links(&hops[..length - 1]) && hops[0].is_edge == self.is_labelled() && hops[length - 1].link == Hop::DELIVER
        });
        let first = present.unwrap_or(self.network.hops.len());
        if present.is_none() {
            let is_labelled = self.is_labelled();
            let hop = |(index, &link)| Hop { link, is_edge: index == 0 && is_labelled };
            self.network.hops.extend(route.iter().enumerate().map(hop).chain([Hop::END]));
        }
        u16::try_from(first).expect("the scenario bounds the hops of all routes")
    }

    fn is_labelled(&self) -> bool {
        self.scenario.marker != MarkerConfig::None
    }

    fn observe_links(&mut self) {
        let probes = &self.scenario.probes;
        let mut series = probes.series_interval.map(|interval| {
            let bins = self.scenario.run.end().0.div_ceil(interval.0) as usize;
            Series::new(interval, bins, self.scenario.groups.len(), probes.series_memory)
        });
        let group_of_user: Vec<u16> = self.network.users.iter().map(|user| user.group).collect();
        for (index, link) in self.network.links.iter_mut().enumerate() {
            let series = if index == self.scenario.series_link() { series.take() } else { None };
            link.attach(PortProbe::new(group_of_user.clone(), series));
        }
    }

    /// The way back of acknowledgements, unless it is the reverse of the only link.
    fn way_back(&self, group: &GroupConfig) -> Option<WayBack> {
        let topology = &self.scenario.topology;
        let is_shared = topology.links.len() == 1 && topology.receivers.is_none();
        if is_shared {
            return None;
        }
        let ps_per_byte = |rate: BitRate| 8.0 * Time::PER_SECOND as f64 / rate.as_f64();
        let mut way = WayBack::default();
        if let Some(receivers) = &topology.receivers {
            let rate = group.params.receiver_rate.unwrap_or(receivers.receiver_rate);
            way.out_delay = group.params.receiver_delay.unwrap_or(receivers.receiver_delay);
            way.out_ps_per_byte = ps_per_byte(rate);
            (way.delay, way.ps_per_byte) = (way.out_delay, way.out_ps_per_byte);
        }
        for &link in &group.route {
            let params = &topology.links[link as usize].params;
            way.delay += params.delay;
            way.ps_per_byte += ps_per_byte(params.rate);
        }
        Some(way)
    }

    fn add_group(&mut self, index: usize, group: &GroupConfig) {
        let first_params = self.network.tcp_params.len() as u32;
        for source in &group.sources {
            if let Some(tcp) = source.tcp() {
                self.network.tcp_params.push(tcp.params.clone());
                let pause = if let SourceConfig::Tcp { flows, .. } = source { flows.pause } else { Time::ZERO };
                self.network.pauses.push(pause);
            }
        }
        let transfers = |source: &SourceConfig| match source {
            SourceConfig::Tcp { flows, .. } => flows.transfer.is_some(),
            SourceConfig::Web { .. } => true,
            SourceConfig::Udp(_) => false,
        };
        let probes = &self.scenario.probes;
        let probe =
            || TransferProbe::new(self.scenario.run.warmup, &probes.transfer_times, &probes.transfer_sizes).into();
        self.network.transfers.push(group.sources.iter().any(transfers).then(probe));
        let first_hop = self.first_hop(&group.route);
        self.network.first_hops.resize(self.network.tcp_params.len(), first_hop);
        let access = &self.scenario.topology.access;
        let host = HostParams {
            rate: group.params.access_rate.unwrap_or(access.access_rate),
            delay: group.params.access_delay.unwrap_or(access.access_delay),
            limit: access.access_limit,
            way_back: self.way_back(group),
        };
        self.network.hosts.add(group.params.users as usize, host);
        let mut starts = self.stream("start", index);
        for _ in 0..group.params.users {
            self.add_user(index, group, (first_params, first_hop), &mut starts);
        }
    }

    fn add_user(&mut self, group_index: usize, group: &GroupConfig, firsts: (u32, u16), starts: &mut Rng) {
        let (first_params, hop) = firsts;
        let user = self.network.users.len() as u32;
        self.network.users.push(User { group: group_index as u16, delivered_bytes: 0, datagrams: 0 });
        self.add_meters(group);
        let start_span = (group.params.start_until - group.params.start_from).as_secs_f64();
        let mut params = first_params;
        let mut flows_so_far = 0;
        // Flows take turns over the user's ingress nodes, abc2018 III-F.
        let mut next_flow = |starts: &mut Rng| {
            let ingress = (flows_so_far % group.params.ingresses) as u16;
            flows_so_far += 1;
            let start = group.params.start_from + Time::from_secs_f64(starts.open01() * start_span);
            (ingress, start)
        };
        for source in &group.sources {
            match source {
                SourceConfig::Tcp { flows, .. } => {
                    for _ in 0..flows.flows {
                        let (ingress, start) = next_flow(starts);
                        self.add_tcp(params, (user, ingress, group.params.traffic_class), start, flows);
                    }
                    params += 1;
                }
                SourceConfig::Web { web, .. } => {
                    let rng = self.stream("web", self.network.webs.len());
                    let segment = self.network.tcp_params[params as usize].segment_payload;
                    let window = (group.params.start_from, group.params.start_until);
                    let mut source = WebSource::new(web, segment, window, rng);
                    (source.user, source.tcp) = (user, params);
                    (source.class, source.ingresses) = (group.params.traffic_class, group.params.ingresses);
                    self.network.webs.push(source);
                    params += 1;
                }
                SourceConfig::Udp(config) => {
                    let (ingress, start) = next_flow(starts);
                    let class = group.params.traffic_class;
                    let template = SimPacket { user, hop, ingress, class, ..SimPacket::BLANK };
                    self.add_udp(config, template, start);
                }
            }
        }
    }

    /// A meter for each ingress of a new user, with its part of the reference rate.
    fn add_meters(&mut self, group: &GroupConfig) {
        let shares = vec![1.0; group.params.ingresses as usize];
        let mut parts = split_reference_rate(group.params.weighted_reference_rate(), &shares);
        // Every user has the same number, so that a meter is found without a table; the rest see no packet.
        parts.resize(self.network.ingresses, group.params.weighted_reference_rate());
        let meter = |reference_rate| MeterSpec { reference_rate, weight: group.params.weight, start: Time::ZERO };
        self.meters.extend(parts.into_iter().map(meter));
    }

    fn add_tcp(&mut self, params: u32, origin: (u32, u16, TrafficClass), start: Time, flows: &TcpSourceParams) {
        let tcp = &self.network.tcp_params[params as usize];
        let id = self.network.flows.len() as u32;
        let at_end = if flows.repeat > 1 { AtEnd::Repeat { left: flows.repeat - 1 } } else { AtEnd::Rest };
        let flow = TcpFlow::new((params, tcp), origin, start, flows.transfer, (id, at_end));
        self.network.flows.push(flow);
    }

    /// Flows that do not react follow the TCP connections.
    fn number_udp_flows(&mut self) {
        self.network.lasting_flows = self.network.flows.len();
        let first = self.network.flows.len() as u32;
        for (flow, source) in (first..).zip(&mut self.network.sources) {
            source.set_flow(flow);
        }
    }

    fn add_udp(&mut self, config: &UdpConfig, template: SimPacket, start: Time) {
        let rng = self.stream("source", self.network.sources.len());
        self.network.sources.push(UdpSource::new(config, template, start, rng));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn both_ends_of_a_flow_begin_their_lines() {
        // The second half of the receiver ends with the second line but for 16 bytes, the sender begins the third.
        assert_eq!((offset_of!(TcpFlow, armed), offset_of!(TcpFlow, sender)), (112, 128));
        assert_eq!((size_of::<TcpFlow>(), align_of::<TcpFlow>()), (320, 64));
    }
}
