//! Builds the network of a scenario.

use super::{Entry, Hop, Network, Stopping, User};
use crate::measure::call_probe::{Call, CallProbes};
use crate::measure::path_probe::PathProbes;
use crate::measure::path_series::PathSeries;
use crate::measure::port_probe::PortProbe;
use crate::measure::responsiveness_probe::ResponsivenessProbe;
use crate::measure::series::Series;
use crate::measure::slowdown::Ideal;
use crate::measure::transfer_probe::TransferProbe;
use crate::network::ack_packets::AckPackets;
use crate::network::hosts::{HostParams, Hosts};
use crate::network::impairment::{Impairment, Place};
use crate::network::link::Link;
use crate::network::own_streams::OwnStreams;
use crate::network::random_stream::RandomStream;
use crate::network::shaper_classes;
use crate::network::sim_packet::SimPacket;
use crate::network::tcp_flow::{AtEnd, MOST_NUMBERS, TcpFlow};
use crate::network::way_back::WayBack;
use crate::scenario::{
    Detail, GroupConfig, Impairments, Placement, Scenario, SourceConfig, TcpSourceParams, UdpConfig, VideoParams,
};
use crate::traffic::tcp::{SenderStats, TcpParams};
use crate::traffic::udp_source::UdpSource;
use crate::traffic::video_player::VideoPlayer;
use crate::traffic::web_source::WebSource;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Bytes, Time};
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::label::abc::split_reference_rate;
use fairlane_schemes::label::exchange::Exchange;
use fairlane_schemes::port::LinkRate;
use fairlane_schemes::registry::markers::{AnyMeterBank, MarkerConfig};
use fairlane_schemes::registry::schemes::SchemeParams;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

impl Network {
    /// Builds the network of a scenario with the random streams of one replication.
    #[must_use]
    pub fn new(scenario: &Scenario, replication: u32) -> Self {
        let first = &scenario.topology.links[0].params;
        let ingresses = scenario.groups.iter().map(|group| group.params.ingresses).max().unwrap_or(1);
        // Each user has as many ingress nodes at the server's end of a reverse link.
        let has_reverse_link = scenario.topology.has_reverse_link;
        let mut builder = Builder {
            scenario,
            replication: u64::from(replication),
            meters: Vec::new(),
            impairment_of_link: Vec::new(),
            placements: scenario.placements(),
            routes: HashMap::new(),
            applications: Vec::new(),
            application_of_hop: Vec::new(),
            tcp_params: HashMap::new(),
            network: Self {
                links: Vec::new(),
                impairments: Vec::new(),
                hops: Vec::new(),
                first_hops: Vec::new(),
                acks: AckPackets::new(if has_reverse_link { ingresses as u16 } else { u16::MAX }),
                meters: AnyMeterBank::None,
                exchange: scenario.exchange.clone().map(|params| Box::new(Exchange::new(params))),
                forged_label: scenario.marker.scheme().best_label(),
                ingresses: ingresses as usize * if has_reverse_link { 2 } else { 1 },
                marker_rng: Rng::stream(scenario.run.seed, u64::from(replication), RandomStream::Marker.name(), 0),
                hosts: Hosts::new(first.rate, first.delay),
                users: Vec::new(),
                flows: Vec::new(),
                sources: Vec::new(),
                webs: Vec::new(),
                players: Vec::new(),
                paths: PathProbes::default(),
                applications: Vec::new(),
                transfers: Vec::new(),
                probes: Vec::new(),
                ended: vec![SenderStats::default(); scenario.groups.len()],
                calls: CallProbes::default(),
                delivered: 0,
                discarded: 0,
                lasting_flows: 0,
                own: None,
                free: VecDeque::new(),
                sender_rng: Rng::stream(scenario.run.seed, u64::from(replication), RandomStream::Sender.name(), 0),
                pause_rng: Rng::stream(scenario.run.seed, u64::from(replication), RandomStream::Pause.name(), 0),
                tcp_params: Vec::new(),
                pauses: Vec::new(),
                stops: Vec::new(),
                stops_to_come: Vec::new(),
            },
        };
        builder.add_links();
        builder.observe_groups();
        for index in 0..builder.placements.len() {
            let Placement { group, config, .. } = builder.placements[index].clone();
            builder.add_place(index, group, &config);
        }
        builder.network.stops_to_come.sort_by_key(|&stop| std::cmp::Reverse(stop));
        builder.add_hops_of_damaged();
        builder.number_udp_flows();
        builder.part_streams();
        builder.observe_links();
        builder.observe_paths();
        builder.network.meters = scenario.marker.build(&builder.meters);
        builder.network
    }
}

/// Builds a network part by part in a fixed order, so that indices, streams and results are reproducible.
struct Builder<'a> {
    scenario: &'a Scenario,
    replication: u64,
    meters: Vec<MeterSpec>,
    impairment_of_link: Vec<u32>,
    placements: Vec<Placement<'a>>,
    /// Starts of routes, indexed by hops and application.
    routes: HashMap<(Vec<Hop>, Option<u16>), u16>,
    applications: Vec<String>,
    /// Application of each hop that ends a route; empty without applications.
    application_of_hop: Vec<u16>,
    /// TCP parameters by group and source. Flows of the same source share their parameters, so these stay in the
    /// caches.
    tcp_params: HashMap<(usize, usize), Arc<TcpParams>>,
    network: Network,
}

impl Builder<'_> {
    fn stream(&self, stream: RandomStream, index: usize) -> Rng {
        Rng::stream(self.scenario.run.seed, self.replication, stream.name(), index as u64)
    }

    fn add_links(&mut self) {
        let weights = self.weights();
        for (index, config) in self.scenario.topology.links.iter().enumerate() {
            let changes: Vec<_> = config.schedule.iter().map(|step| (step.at, step.rate)).collect();
            let rng = self.stream(RandomStream::Queue, index);
            let queue = config.queue.as_ref().unwrap_or(&self.scenario.queue);
            let rate = match &config.trace {
                Some(trace) => LinkRate::following(trace.delivery(), config.params.rate),
                None => LinkRate::new(config.params.rate, &changes),
            };
            let (delay, impaired) = delays(&config.impairments, config.params.delay);
            let mut link = Link::new(queue, &weights, rate, delay, rng);
            if let (Some(tree), SchemeParams::Htb(params)) = (&self.scenario.topology.tree, &queue.scheme) {
                link.set_classes(shaper_classes::of_link(index as u32, params, tree, &self.placements, &weights));
            }
            self.network.links.push(link);
            self.impairment_of_link.push(self.network.impairments.len() as u32);
            if config.impairments.any() {
                let rng = self.stream(RandomStream::LinkImpairment, index);
                let place = Place::Link(index as u32);
                self.network.impairments.push(Impairment::new(place, &config.impairments, vec![impaired], 1, rng));
            }
        }
    }

    fn weights(&self) -> Weights {
        if self.scenario.groups.iter().all(|group| group.params.weight == 1.0) {
            return Weights::equal();
        }
        let of_users =
            |place: &Placement<'_>| std::iter::repeat_n(place.config.params.weight, place.config.params.users as usize);
        Weights::new(self.placements.iter().flat_map(of_users).collect::<Vec<_>>())
    }

    /// Returns the start of a route in the table of hops. Groups with the same route share its hops. `access` is the
    /// index of the access links' impairment, if there is one. If the source is a call (`is_call`), the route includes
    /// the receiver of calls. If the source belongs to an application, the route ends at a hop of that application.
    fn first_hop(
        &mut self,
        (group, route): (&GroupConfig, &[u32]),
        access: Option<u32>,
        is_call: bool,
        application: Option<&String>,
    ) -> u16 {
        let edge = match (self.is_labelled(), group.params.forged_labels) {
            (false, _) => Entry::Core,
            (true, false) => Entry::Edge,
            (true, true) => Entry::Forged,
        };
        let impairment = |number: u32| Hop { link: number, entry: Entry::Impairment };
        let mut hops: Vec<Hop> = access.map(impairment).into_iter().collect();
        for (index, &link) in route.iter().enumerate() {
            let entry = if index == 0 { edge } else { Entry::Core };
            hops.push(Hop { link, entry });
            if self.scenario.topology.links[link as usize].impairments.any() {
                hops.push(impairment(self.impairment_of_link[link as usize]));
            }
        }
        hops.extend(is_call.then_some(Hop::CALL));
        hops.push(Hop::END);
        let application = application.map(|name| self.application(name));
        let end = self.network.hops.len();
        let key = (hops, application);
        if let Some(&first) = self.routes.get(&key) {
            return first;
        }
        let first = u16::try_from(end).expect("the scenario bounds the hops of all routes");
        self.network.hops.extend(&key.0);
        if let Some(application) = application {
            self.application_of_hop.resize(self.network.hops.len(), application);
        }
        self.routes.insert(key, first);
        first
    }

    /// Adds the routes again for corrupted packets, whose receivers discard them, if a link corrupts packets.
    fn add_hops_of_damaged(&mut self) {
        let Network { hops, impairments, .. } = &mut self.network;
        if !impairments.iter().any(Impairment::corrupts) {
            return;
        }
        impairments.iter_mut().for_each(|impairment| impairment.set_damaged(hops.len() as u16));
        let of_damaged = |&hop: &Hop| match hop {
            Hop { entry: Entry::Call, .. } | Hop::END => Hop::DISCARD,
            _ => hop,
        };
        hops.extend(hops.iter().map(of_damaged).collect::<Vec<_>>());
    }

    fn application(&mut self, name: &str) -> u16 {
        let known = self.applications.iter().position(|other| other == name);
        if known.is_none() {
            self.applications.push(name.into());
        }
        known.unwrap_or(self.applications.len() - 1) as u16
    }

    fn is_labelled(&self) -> bool {
        self.scenario.marker != MarkerConfig::None
    }

    fn observe_links(&mut self) {
        let probes = &self.scenario.probes;
        let groups = self.scenario.groups.len();
        let series = self.scenario.series_bins();
        let mut series = series.map(|(interval, bins)| Series::new(interval, bins, groups, probes.series_memory));
        let group_of_user: Arc<[u16]> = self.network.users.iter().map(|user| user.group).collect();
        let crossing = self.users_of_links();
        for (index, (link, users)) in self.network.links.iter_mut().zip(crossing).enumerate() {
            let series = if index == self.scenario.series_link() { series.take() } else { None };
            let mut probe = PortProbe::new(group_of_user.clone(), users, series);
            if self.scenario.topology.has_reverse_link {
                probe.count_acks();
            }
            link.attach(probe);
        }
    }

    /// Range of users whose packets may cross each link. Except on an access network, this is always the range of all
    /// users.
    fn users_of_links(&self) -> Vec<Range<u32>> {
        let all = 0..self.network.users.len() as u32;
        if self.scenario.topology.tree.is_none() {
            return vec![all; self.network.links.len()];
        }
        let mut ranges = vec![0..0; self.network.links.len()];
        let mut first = 0;
        for place in &self.placements {
            let end = first + place.config.params.users;
            for &link in &place.config.route {
                let range: &mut Range<u32> = &mut ranges[link as usize];
                *range = if range.start == range.end { first..end } else { range.start..end };
            }
            first = end;
        }
        ranges
    }

    fn observe_paths(&mut self) {
        let (scenario, network) = (self.scenario, &self.network);
        let series =
            scenario.series_bins().map(|(interval, bins)| PathSeries::new(interval, bins, scenario.groups.len()));
        let receivers = scenario.groups.iter().map(|group| self.way_back(group).unwrap_or_default()).collect();
        let group_of_user = network.users.iter().map(|user| user.group).collect();
        let flows = network.lasting_flows + network.sources.len();
        let observed = match scenario.probes.detail {
            Detail::Group => (0, 0),
            Detail::User => (network.users.len(), 0),
            Detail::Flow => (network.users.len(), flows),
        };
        self.network.paths = PathProbes::new(group_of_user, receivers, observed, series);
        let applications = std::mem::take(&mut self.applications);
        self.network.paths.observe_applications(applications.len(), std::mem::take(&mut self.application_of_hop));
        self.network.applications = applications;
    }

    /// Returns the reverse path of acknowledgements. Returns `None` if the topology is a single link without receiver
    /// links: the path is then the reverse direction of that link, or its reverse link.
    fn way_back(&self, group: &GroupConfig) -> Option<WayBack> {
        let topology = &self.scenario.topology;
        let is_shared = topology.links.len() == 1 && topology.receivers.is_none();
        if is_shared || topology.has_reverse_link {
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

    fn observe_groups(&mut self) {
        let mut first_user = 0;
        for (index, group) in self.scenario.groups.iter().enumerate() {
            let probes = &self.scenario.probes;
            let probe = || {
                let (times, sizes) = (&probes.transfer_times, &probes.transfer_sizes);
                Box::new(TransferProbe::new(
                    self.scenario.run.warmup,
                    times,
                    sizes,
                    self.ideal(index, group, first_user),
                ))
            };
            let probe = group.sources.iter().any(SourceConfig::has_transfers).then(probe);
            self.network.transfers.push(probe);
            let tests = group.sources.iter().any(|source| matches!(source, SourceConfig::Rpm { .. }));
            let responsiveness = || Box::new(ResponsivenessProbe::new(self.scenario.run.warmup));
            self.network.probes.push(tests.then(responsiveness));
            first_user += group.params.users;
        }
    }

    fn add_place(&mut self, index: usize, group_index: usize, group: &GroupConfig) {
        let first_params = self.network.tcp_params.len() as u32;
        let access = self.add_access_impairment(group_index, group);
        let mut first_hops = Vec::new();
        for (number, source) in group.sources.iter().enumerate() {
            // Behind a reverse link, only acknowledgements cross the user's access link upstream.
            let (of_data, of_acks) = if group.is_reverse(number) { (None, access) } else { (access, None) };
            let way = (group, group.route_of(number));
            let first_hop = self.first_hop(way, of_data, source.is_call(), group.applications.get(number));
            first_hops.push(first_hop);
            if let Some(tcp) = source.tcp() {
                let params = self.tcp_params.entry((group_index, number));
                let params = params.or_insert_with(|| Arc::new(tcp.params.of_one_run()));
                self.network.tcp_params.push(params.clone());
                self.network.first_hops.push(first_hop);
                if self.network.acks.exist() {
                    let back: &[u32] = if group.is_reverse(number) { &[0] } else { &[1] };
                    let first_hop = self.first_hop((group, back), of_acks, false, None);
                    self.network.acks.first_hops.push(first_hop);
                }
                let pause = if let SourceConfig::Tcp { flows, .. } = source { flows.pause } else { Time::ZERO };
                self.network.pauses.push(pause);
                self.network.stops.push(source.stop());
                if source.stop() < Time::NEVER && source.has_endless_flows() {
                    let flows = Stopping::Flows(self.network.tcp_params.len() as u32 - 1);
                    self.network.stops_to_come.push((source.stop(), flows));
                }
            }
        }
        self.add_hosts(index, group);
        let mut starts = self.stream(RandomStream::Start, index);
        for _ in 0..group.params.users {
            self.add_user(group_index, group, (first_params, &first_hops), &mut starts);
        }
    }

    /// Returns the parameters from which the times of a group's transfers in an empty network are computed.
    fn ideal(&self, index: usize, group: &GroupConfig, first_user: u32) -> Ideal {
        let topology = &self.scenario.topology;
        let receiver = topology
            .receivers
            .as_ref()
            .map_or(Time::ZERO, |receivers| group.params.receiver_delay.unwrap_or(receivers.receiver_delay));
        // All finite transfers of a group have the same direction.
        let route = group.route_of(group.sources.iter().position(SourceConfig::has_transfers).unwrap_or(0));
        let rate = self.scenario.slowest_link(route);
        let route = route.iter().fold(receiver, |sum, &link| sum + topology.links[link as usize].params.delay);
        // An ideal time has three one-way delays: two with the data and one with acknowledgements. If these differ,
        // their mean is used.
        let route = if topology.has_reverse_link { Time((topology.round_trip(&[]) + route).0 / 3) } else { route };
        let place = self.placements.iter().find(|place| place.group == index);
        let access = place.map_or(topology.access.access_rate, |place| place.most(topology));
        Ideal {
            // On an access network, the users of a group are not consecutive, and all have the same minimum delay.
            first_user: if topology.tree.is_some() { 0 } else { first_user },
            one_way: group.access_delays.iter().map(|&delay| delay + route).collect(),
            rate: rate.min(access),
        }
    }

    /// Creates the impairment after the access links of a group. Returns its index, if there is one.
    fn add_access_impairment(&mut self, index: usize, group: &GroupConfig) -> Option<u32> {
        if !group.access.any() {
            return None;
        }
        let rng = self.stream(RandomStream::AccessImpairment, index);
        let place = Place::Access { group: index as u16, first_user: self.network.users.len() as u32 };
        let delays = group.access_delays.iter().map(|&delay| delays(&group.access, delay).1).collect();
        let users = group.params.users as usize;
        self.network.impairments.push(Impairment::new(place, &group.access, delays, users, rng));
        Some(self.network.impairments.len() as u32 - 1)
    }

    /// Adds the hosts of the users of `group`; on an access network, only of those at one node. Hosts with equal access
    /// links are added together.
    fn add_hosts(&mut self, index: usize, group: &GroupConfig) {
        let access = &self.scenario.topology.access;
        let way_back = self.way_back(group);
        let users = if let [_] = group.access_delays[..] { group.params.users as usize } else { 1 };
        for &delay in &group.access_delays {
            let host = HostParams {
                rate: group.params.access_rate.unwrap_or(access.access_rate),
                delay_up: delays(&group.access, delay).0,
                delay_down: delay,
                limit: access.access_limit,
                way_back,
                are_longer: false,
            };
            if group.access_spread > Time::ZERO {
                let longer = self.draw_longer(index, users, group.access_spread);
                self.network.hosts.add_longer(&longer, host);
            } else {
                self.network.hosts.add(users, host);
            }
        }
    }

    /// Draws the additional delay of the access link of each of `users` users, uniform from 0 to `most`.
    fn draw_longer(&self, index: usize, users: usize, most: Time) -> Vec<Time> {
        let mut rng = self.stream(RandomStream::Rtt, index);
        (0..users).map(|_| Time((rng.open01() * most.0 as f64) as u64)).collect()
    }

    fn add_user(&mut self, group_index: usize, group: &GroupConfig, firsts: (u32, &[u16]), starts: &mut Rng) {
        let (first_params, first_hops) = firsts;
        let user = self.network.users.len() as u32;
        self.network.users.push(User { group: group_index as u16, delivered_bytes: 0, datagrams: 0 });
        self.add_meters(group);
        let start_span = (group.params.start_until - group.params.start_from).as_secs_f64();
        let mut params = first_params;
        let mut flows_so_far = 0;
        // Flows use the user's ingress nodes in turn (abc2018 III-F).
        let first_at_server = self.network.acks.first_ingress;
        let mut next_flow = |first_ingress: u16, starts: &mut Rng| {
            let ingress = first_ingress + (flows_so_far % group.params.ingresses) as u16;
            flows_so_far += 1;
            let start = group.params.start_from + Time::from_secs_f64(starts.open01() * start_span);
            (ingress, start)
        };
        for (number, (source, &first_hop)) in group.sources.iter().zip(first_hops).enumerate() {
            let first_ingress = if group.is_reverse(number) { first_at_server } else { 0 };
            let mut next_flow = |starts: &mut Rng| next_flow(first_ingress, starts);
            match source {
                SourceConfig::Tcp { flows, .. } => {
                    for _ in 0..flows.flows {
                        let (ingress, drawn) = next_flow(starts);
                        let start = flows.start.unwrap_or(drawn);
                        self.add_tcp(params, (user, ingress, group.params.traffic_class), start, flows);
                    }
                    params += 1;
                }
                SourceConfig::Web { web, .. } => {
                    let rng = self.stream(RandomStream::Web, self.network.webs.len());
                    let segment = self.network.tcp_params[params as usize].segment_payload;
                    let window = (group.params.start_from, group.params.start_until);
                    self.add_web(WebSource::new(web, segment, window, rng), (user, params, first_ingress), group);
                    params += 1;
                }
                SourceConfig::Transfers { transfers, tcp } => {
                    let rng = self.stream(RandomStream::Transfers, self.network.webs.len());
                    let rate = self.scenario.slowest_link(group.route_of(number));
                    let interval = transfers.interval(tcp, group.params.users, rate);
                    let source = WebSource::of_transfers(transfers, interval, group.params.start_from, rng);
                    self.add_web(source, (user, params, first_ingress), group);
                    params += 1;
                }
                SourceConfig::Rpm { rpm, .. } => {
                    let first = self.network.flows.len() as u32;
                    let flows = TcpSourceParams { flows: rpm.flows, ..TcpSourceParams::default() };
                    for _ in 0..rpm.flows {
                        let (ingress, start) = next_flow(starts);
                        self.add_tcp(params, (user, ingress, group.params.traffic_class), start, &flows);
                    }
                    let rng = self.stream(RandomStream::Probes, self.network.webs.len());
                    let load = first..first + rpm.flows;
                    let source = WebSource::of_probes(rpm, load, group.params.start_from, rng);
                    self.add_web(source, (user, params, first_ingress), group);
                    params += 1;
                }
                SourceConfig::Video { video, .. } => {
                    let (ingress, start) = next_flow(starts);
                    self.add_player(video, params, (user, ingress, group.params.traffic_class), start);
                    params += 1;
                }
                SourceConfig::Udp(config) => {
                    let (ingress, start) = next_flow(starts);
                    let class = group.params.traffic_class;
                    let template = SimPacket { user, hop: first_hop, ingress, class, ..SimPacket::BLANK };
                    if source.stop() < Time::NEVER {
                        let udp = Stopping::Source(self.network.sources.len() as u32);
                        self.network.stops_to_come.push((source.stop(), udp));
                    }
                    self.add_udp(config, template, start);
                    self.add_call(group_index, config);
                }
            }
        }
    }

    fn add_web(&mut self, mut source: WebSource, (user, params, first_ingress): (u32, u32, u16), group: &GroupConfig) {
        (source.user, source.tcp, source.first_ingress) = (user, params, first_ingress);
        (source.class, source.ingresses) = (group.params.traffic_class, group.params.ingresses);
        self.network.webs.push(source);
    }

    /// Adds a meter for each ingress of a new user, each with its part of the reference rate.
    fn add_meters(&mut self, group: &GroupConfig) {
        let shares = group.params.parts();
        let rng = self.stream(RandomStream::Exchange, self.network.users.len() - 1);
        if let Some(exchange) = &mut self.network.exchange {
            exchange.add(group.params.weighted_reference_rate(), &shares, rng);
        }
        let mut parts = split_reference_rate(group.params.weighted_reference_rate(), &shares);
        // Every user has the same number of meters, so lookup needs no table. Unused meters count no packets.
        let ends = if self.network.acks.exist() { 2 } else { 1 };
        parts.resize(self.network.ingresses / ends, group.params.weighted_reference_rate());
        let parts = parts.repeat(ends);
        let meter = |reference_rate| MeterSpec { reference_rate, weight: group.params.weight, start: Time::ZERO };
        self.meters.extend(parts.into_iter().map(meter));
    }

    fn add_player(&mut self, video: &VideoParams, params: u32, origin: (u32, u16, TrafficClass), start: Time) {
        let tcp = &self.network.tcp_params[params as usize];
        let id = self.network.flows.len() as u32;
        let payload = u64::from(tcp.segment_payload);
        let chunk = Bytes(u64::from(video.segments(0, tcp.segment_payload)) * payload);
        let at_end = AtEnd::NextChunk { player: self.network.players.len() as u32 };
        let seed = self.network.sender_rng.bits();
        self.network.flows.push(TcpFlow::new((params, tcp), origin, start, Some(chunk), (id, at_end), seed));
        let run = &self.scenario.run;
        self.network.players.push(VideoPlayer::new(video.clone(), id, (run.warmup, run.end())));
    }

    fn add_tcp(&mut self, params: u32, origin: (u32, u16, TrafficClass), start: Time, flows: &TcpSourceParams) {
        let tcp = &self.network.tcp_params[params as usize];
        let id = self.network.flows.len() as u32;
        let at_end = if flows.repeat > 1 { AtEnd::Repeat { left: flows.repeat - 1 } } else { AtEnd::Stay };
        let seed = self.network.sender_rng.bits();
        let flow = TcpFlow::new((params, tcp), origin, start, flows.transfer, (id, at_end), seed);
        self.network.flows.push(flow);
    }

    fn number_udp_flows(&mut self) {
        self.network.lasting_flows = self.network.flows.len();
        let first = self.network.flows.len() as u32;
        for (flow, source) in (first..).zip(&mut self.network.sources) {
            source.set_flow(flow);
        }
        self.network.calls.number_from(first);
    }

    /// Gives each user separate random streams and flow numbers, if the scenario requires this (`own_streams`).
    fn part_streams(&mut self) {
        let network = &self.network;
        let (lasting, webs) = (network.lasting_flows + network.sources.len(), network.webs.len());
        // If the flow numbers do not suffice for all sources, users share streams and flow numbers.
        if self.scenario.own_streams && lasting + webs <= MOST_NUMBERS {
            let markers = (0..network.links.len()).map(|link| self.stream(RandomStream::Marker, link)).collect();
            let own = OwnStreams::new((self.scenario.run.seed, self.replication), lasting, webs, markers);
            self.network.own = Some(Box::new(own));
        }
    }

    /// Adds a receiver for the last added source, if the source is a call.
    fn add_call(&mut self, group: usize, config: &UdpConfig) {
        let run = &self.scenario.run;
        let first = self.network.sources.last().map_or(Time::NEVER, UdpSource::next);
        let call = if let UdpConfig::Voip(params) = config {
            Some(Call::new(params.clone(), first, (run.warmup, run.end())))
        } else {
            None
        };
        self.network.calls.add(group as u16, call);
    }

    fn add_udp(&mut self, config: &UdpConfig, template: SimPacket, start: Time) {
        let rng = self.stream(RandomStream::Source, self.network.sources.len());
        self.network.sources.push(UdpSource::new(config, template, start, rng));
    }
}

/// Divides a delay between a wire and the impairment after it. With jitter or reordering, the impairment gets the whole
/// delay, because packets vary or skip it as a whole. Otherwise the wire gets it.
pub(crate) fn delays(impairments: &Impairments, delay: Time) -> (Time, Time) {
    if impairments.takes_delay() { (Time::ZERO, delay) } else { (delay, Time::ZERO) }
}
