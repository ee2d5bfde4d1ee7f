//! The parts of a simulated network, built from a scenario: links, routes, markers, users, flows, sources.

use crate::host::{HostParams, Hosts};
use crate::link::Link;
use crate::packet::SimPacket;
use crate::probe::{PortProbe, Series};
use crate::scenario::{GroupConfig, Scenario, SourceConfig, UdpKind, UdpParams};
use crate::source::UdpSource;
use crate::tcp::{Receiver, Sender, TcpParams};
use fairlane_schemes::abc::split_reference_rate;
use fairlane_schemes::marker::{MarkerBank, MarkerConfig, MeterSpec};
use fairlane_schemes::packet::TrafficClass;
use fairlane_schemes::rng::Rng;
use fairlane_schemes::units::{Bytes, Time};

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
    /// Payload of datagrams delivered during the measurement.
    pub datagram_bytes: u64,
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
    /// Index in [`Network::tcp_params`] and [`Network::transfer_bytes`].
    pub params: u32,
    /// Which of the user's ingress nodes its packets enter through.
    pub ingress: u16,
    /// Class of its packets.
    pub class: TrafficClass,
    /// The end that sends data. Its first line is what each ACK touches.
    pub sender: Sender,
    /// Payload delivered before the measurement.
    pub unmeasured_bytes: u64,
    /// The user that it belongs to.
    pub user: u32,
}

impl TcpFlow {
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
    /// Links between nodes; the bottleneck is the first.
    pub links: Vec<Link>,
    /// The route from the access links to the receivers.
    pub hops: Vec<Hop>,
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
    /// TCP parameters, one set for each source table of the scenario.
    pub tcp_params: Vec<TcpParams>,
    /// Payload of each transfer of these sources; 0 if they are endless.
    pub transfer_bytes: Vec<u64>,
}

/// Index of the bottleneck.
pub const BOTTLENECK: u32 = 0;

impl Network {
    /// The network of a scenario, with the random streams of one replication.
    #[must_use]
    pub fn new(scenario: &Scenario, replication: u32) -> Self {
        let mut builder = Builder {
            scenario,
            replication: u64::from(replication),
            meters: Vec::new(),
            network: Self {
                links: Vec::new(),
                hops: Vec::new(),
                meters: MarkerBank::None,
                ingresses: scenario.groups.iter().map(|group| group.params.ingresses as usize).max().unwrap_or(1),
                marker_rng: Rng::stream(scenario.run.seed, u64::from(replication), "marker", 0),
                hosts: Hosts::new(scenario.topology.links.bottleneck_rate, scenario.topology.links.bottleneck_delay),
                users: Vec::new(),
                flows: Vec::new(),
                sources: Vec::new(),
                tcp_params: Vec::new(),
                transfer_bytes: Vec::new(),
            },
        };
        builder.add_bottleneck();
        for (index, group) in scenario.groups.iter().enumerate() {
            builder.add_group(index, group);
        }
        builder.number_udp_flows();
        builder.observe_bottleneck();
        builder.network.meters = scenario.marker.build(&builder.meters);
        builder.network
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

    fn add_bottleneck(&mut self) {
        let topology = &self.scenario.topology;
        let changes: Vec<_> = topology.bottleneck_schedule.iter().map(|step| (step.at, step.rate)).collect();
        let rng = self.stream("queue", BOTTLENECK as usize);
        let (rate, delay) = (topology.links.bottleneck_rate, topology.links.bottleneck_delay);
        self.network.links.push(Link::new(&self.scenario.queue, rate, &changes, delay, rng));
        let is_edge = self.scenario.marker != MarkerConfig::None;
        self.network.hops = vec![Hop { link: BOTTLENECK, is_edge }, Hop::END];
    }

    fn observe_bottleneck(&mut self) {
        let probes = &self.scenario.probes;
        let series = probes.series_interval.map(|interval| {
            let bins = self.scenario.run.end().0.div_ceil(interval.0) as usize;
            Series::new(interval, bins, self.scenario.groups.len(), probes.series_memory)
        });
        let group_of_user = self.network.users.iter().map(|user| user.group).collect();
        self.network.links[BOTTLENECK as usize].attach(PortProbe::new(group_of_user, series));
    }

    fn add_group(&mut self, index: usize, group: &GroupConfig) {
        let first_params = self.network.tcp_params.len() as u32;
        for source in &group.sources {
            if let SourceConfig::Tcp { tcp, flows } = source {
                self.network.tcp_params.push(tcp.params.clone());
                self.network.transfer_bytes.push(flows.transfer.map_or(0, |bytes| bytes.0));
            }
        }
        let links = &self.scenario.topology.links;
        let host = HostParams {
            rate: group.params.access_rate.unwrap_or(links.access_rate),
            delay: group.params.access_delay.unwrap_or(links.access_delay),
            limit: links.access_limit,
        };
        self.network.hosts.add(group.params.users as usize, host);
        let mut starts = self.stream("start", index);
        for _ in 0..group.params.users {
            self.add_user(index, group, first_params, &mut starts);
        }
    }

    fn add_user(&mut self, group_index: usize, group: &GroupConfig, first_params: u32, starts: &mut Rng) {
        let user = self.network.users.len() as u32;
        self.network.users.push(User { group: group_index as u16, datagram_bytes: 0 });
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
                        let origin = (user, ingress, group.params.traffic_class);
                        self.add_tcp(params, origin, start, flows.transfer);
                    }
                    params += 1;
                }
                SourceConfig::Udp { kind, params } => {
                    let (ingress, start) = next_flow(starts);
                    let class = group.params.traffic_class;
                    let template = SimPacket { user, ingress, class, ..SimPacket::BLANK };
                    self.add_udp(*kind, params, template, start);
                }
            }
        }
    }

    /// A meter for each ingress of a new user, with its part of the reference rate.
    fn add_meters(&mut self, group: &GroupConfig) {
        let shares = vec![1.0; group.params.ingresses as usize];
        let mut parts = split_reference_rate(group.params.reference_rate, &shares);
        // Every user has the same number, so that a meter is found without a table; the rest see no packet.
        parts.resize(self.network.ingresses, group.params.reference_rate);
        let meter = |reference_rate| MeterSpec { reference_rate, weight: 1.0, start: Time::ZERO };
        self.meters.extend(parts.into_iter().map(meter));
    }

    fn add_tcp(&mut self, params: u32, origin: (u32, u16, TrafficClass), start: Time, transfer: Option<Bytes>) {
        let tcp = &self.network.tcp_params[params as usize];
        let (user, ingress, class) = origin;
        self.network.flows.push(TcpFlow {
            sender: Sender::new(tcp, transfer),
            receiver: Receiver::new(tcp),
            start,
            finish: Time::NEVER,
            params,
            unmeasured_bytes: 0,
            armed: start,
            user,
            ingress,
            class,
        });
    }

    /// Flows that do not react follow the TCP connections.
    fn number_udp_flows(&mut self) {
        let first = self.network.flows.len() as u32;
        for (flow, source) in (first..).zip(&mut self.network.sources) {
            source.set_flow(flow);
        }
    }

    fn add_udp(&mut self, kind: UdpKind, params: &UdpParams, template: SimPacket, start: Time) {
        let rng = self.stream("source", self.network.sources.len());
        self.network.sources.push(UdpSource::new(kind, params, template, start, rng));
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
