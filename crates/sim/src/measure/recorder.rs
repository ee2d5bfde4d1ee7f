//! Converts the counts of the probes into the record of a run.

use crate::measure::access_record::{AccessRecord, ApplicationRecord, node_records};
use crate::measure::call_probe::{Call, CallFigures};
use crate::measure::max_min_shares::{Demand, max_min_shares};
use crate::measure::path_probe::PathProbe;
use crate::measure::path_series::{Bin, PathSeries, ratio};
use crate::measure::port_probe::{DropCount, PortProbe};
use crate::measure::responsiveness_probe::ResponsivenessProbe;
use crate::measure::run_record::{
    AccessLossRecord, AccountingRecord, ChangesRecord, DelayRecord, DropRecord, GroupRecord, GroupSeriesRecord,
    LinkRecord, PathRecord, Performance, QueueRecord, RecoveryRecord, ResponsivenessRecord, RunRecord, SCHEMA,
    SeriesRecord, SlowdownRecord, StateRecord, TcpRecord, TransferClassRecord, TransferRecord, TransferTimesRecord,
    UdpRecord, VideoRecord, VoipRecord,
};
use crate::measure::slowdown::Slowdowns;
use crate::measure::times_record::{DistributionRecord, TimesRecord};
use crate::measure::transfer_probe::{TransferClass, TransferProbe};
use crate::measure::users_record::UsersRecord;
use crate::network::Network;
use crate::network::impairment::{Impairment, ImpairmentAccount, Place};
use crate::network::link::Link;
use crate::network::tcp_flow::{AtEnd, Span, TcpFlow};
use crate::scenario::{
    GroupConfig, Impairments, LinkConfig, Placement, Scenario, SourceConfig, SourceDirection, Spanned, TopologyConfig,
};
use crate::traffic::tcp::TcpParams;
use crate::traffic::video_player::{VideoFigures, VideoPlayer};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{DropReason, QueueDiscipline, StateSize};
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::port::DelayHistogram;
use std::collections::BTreeMap;

/// Drop reason of packets that are lost on the wire instead of dropped by a scheme.
const LOST: &str = "lost";

/// Record of a run that has ended.
#[must_use]
pub fn record(scenario: &Scenario, replication: u32, network: &Network, performance: Performance) -> RunRecord {
    let seconds = scenario.run.measure.as_secs_f64();
    let probes: Vec<&PortProbe> = network.links.iter().map(Link::probe).collect();
    let places = scenario.placements();
    let throughput = if scenario.topology.has_reverse_link {
        throughputs_two_way(&probes, seconds)
    } else {
        throughputs(&places, &probes, seconds)
    };
    let goodput: Vec<f64> = delivered_payload(network).iter().map(|&bytes| bytes as f64 * 8.0 / seconds).collect();
    let capacities = capacities(scenario);
    let fair = fair_shares(scenario, network, &places, &capacities, seconds);
    let has_rows = scenario.has_user_rows();
    let nodes = node_of_user(scenario, &places);
    let mut normalised = Vec::new();
    let mut groups = Vec::new();
    for (index, (group, users)) in scenario.groups.iter().zip(users_of_groups(scenario, &places)).enumerate() {
        let of = |values: &[f64]| -> Vec<f64> { users.iter().map(|&user| values[user as usize]).collect() };
        let (own, own_goodput) = (of(&throughput), of(&goodput));
        let mean_throughput = mean(&own);
        let shares = of(&fair.of_user);
        // Except on an access network, users of a group have equal shares. Their mean is not computed, because rounding
        // could change its last bit.
        let share = if scenario.topology.tree.is_some() { mean(&shares) } else { shares[0] };
        let of_shares = own.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
        normalised.extend(of_shares.map(|(throughput, share)| throughput / share));
        let summary = || {
            let row = |&user: &u32| {
                let user = user as usize;
                (throughput[user], fair.of_user[user], nodes.get(user).copied())
            };
            UsersRecord::of(&users.iter().map(row).collect::<Vec<_>>())
        };
        let mut record = GroupRecord {
            name: group.name.clone(),
            users: group.params.users,
            throughput_bps: mean_throughput,
            goodput_bps: mean(&own_goodput),
            user_throughput_bps: own,
            user_goodput_bps: own_goodput,
            user_summary: (!has_rows).then(summary),
            max_min_share_bps: share,
            normalised_throughput: (share > 0.0).then(|| mean_throughput / share),
            path: path_record(network.paths.group(index)),
            delay_distribution: scenario
                .probes
                .delay_distribution
                .unwrap_or(false)
                .then(|| distribution_record(&network.paths.group(index).one_way_delay))
                .flatten(),
            user_paths: path_records(users.iter().filter_map(|&user| network.paths.users().get(user as usize))),
            tcp: tcp_record(network, index, seconds),
            udp: udp_record(network, index, seconds),
            transfers: transfers(network, index, &users),
            transfer_times: network.transfers[index].as_deref().map(|probe| transfer_times(scenario, probe, seconds)),
            voip: voip_record(network, index),
            video: video_record(scenario, network, index),
            responsiveness: network.probes[index].as_deref().map(responsiveness_record),
            access_loss: group.access.may_lose().then(|| access_loss(network, index)).flatten(),
            access_changes: changes(&group.access, network, |place| is_access(place, index)),
        };
        if !has_rows {
            without_rows(&mut record);
        }
        groups.push(record);
    }
    let flows = groups.iter().filter_map(|group| group.tcp.as_ref());
    let all_flows: Vec<f64> = flows.flat_map(|tcp| tcp.flow_throughput_bps.iter().copied()).collect();
    RunRecord {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.name.clone(),
        seed: scenario.run.seed,
        replication,
        window_s: [scenario.run.warmup.as_secs_f64(), scenario.run.end().as_secs_f64()],
        throughput_ratio: throughput_ratio(&groups),
        jain_index: jain_index(&throughput),
        jain_index_flows: jain_index(&all_flows),
        jain_index_normalised: jain_index(&normalised),
        groups,
        links: (0..probes.len())
            .map(|index| {
                let config = &scenario.topology.links[index];
                let max_min_utilisation = fair.of_link[index] / capacities[index];
                let mut record = LinkRecord {
                    max_min_utilisation,
                    changes: changes(&config.impairments, network, |place| place == Place::Link(index as u32)),
                    ..link_record(scenario, config, &network.links[index], probes[index], seconds)
                };
                if !has_rows {
                    record.user_dropped_packets = Vec::new();
                }
                record
            })
            .collect(),
        edge_state: state_record(network.meters.state_size()),
        access: access_record(scenario, network, &places, &throughput, &fair.of_user),
        series: series_record(scenario, network, probes[scenario.series_link()]),
        performance,
        cpu_seconds: None,
    }
}

/// Throughput of each user, measured at the last link of its route.
fn throughputs(places: &[Placement<'_>], probes: &[&PortProbe], seconds: f64) -> Vec<f64> {
    let mut throughput = Vec::new();
    for place in places {
        let last = place.config.route.last().map_or(0, |&link| link as usize);
        let (first, users) = (throughput.len() as u32, place.config.params.users);
        throughput.extend((first..first + users).map(|user| probes[last].bytes_of(user) as f64 * 8.0 / seconds));
    }
    throughput
}

/// Throughput of each user's data, without acknowledgements, over both links of a dumbbell with a reverse link.
fn throughputs_two_way(probes: &[&PortProbe], seconds: f64) -> Vec<f64> {
    let data = |user: usize| probes.iter().map(move |probe| probe.user_bytes[user] - probe.ack_bytes[user]);
    (0..probes[0].user_bytes.len()).map(|user| data(user).sum::<u64>() as f64 * 8.0 / seconds).collect()
}

fn users_of_groups(scenario: &Scenario, places: &[Placement<'_>]) -> Vec<Vec<u32>> {
    let mut users = vec![Vec::new(); scenario.groups.len()];
    let mut first = 0;
    for place in places {
        users[place.group].extend(first..first + place.config.params.users);
        first += place.config.params.users;
    }
    users
}

/// Name of the node to which each user of an access network is attached; empty on other topologies.
fn node_of_user<'a>(scenario: &'a Scenario, places: &[Placement<'_>]) -> Vec<&'a str> {
    let Some(tree) = &scenario.topology.tree else { return Vec::new() };
    let name = |place: &Placement<'_>| {
        let at = place.at.as_ref().map_or(0, |dealt| dealt.node as usize);
        std::iter::repeat_n(tree.nodes[at].name.as_str(), place.config.params.users as usize)
    };
    places.iter().flat_map(name).collect()
}

fn without_rows(group: &mut GroupRecord) {
    (group.user_throughput_bps, group.user_goodput_bps) = (Vec::new(), Vec::new());
    group.transfers = Vec::new();
    if let Some(tcp) = &mut group.tcp {
        (tcp.flow_throughput_bps, tcp.flow_goodput_bps) = (Vec::new(), Vec::new());
    }
    if let Some(voip) = &mut group.voip {
        voip.call_mos = Vec::new();
    }
    if let Some(video) = &mut group.video {
        (video.player_bitrate_bps, video.player_stalled_share) = (Vec::new(), Vec::new());
    }
}

fn access_record(
    scenario: &Scenario,
    network: &Network,
    places: &[Placement<'_>],
    throughput: &[f64],
    shares: &[f64],
) -> Option<AccessRecord> {
    let tree = scenario.topology.tree.as_ref()?;
    let application = |(name, probe): (&String, &PathProbe)| ApplicationRecord {
        name: name.clone(),
        delivered_packets: probe.one_way_delay.count(),
        marked_packets: probe.marked,
        one_way_delay: times_record(&probe.one_way_delay),
    };
    let dealt: Vec<_> = places.iter().filter_map(|place| place.at.clone()).collect();
    let users: Vec<_> = throughput.iter().copied().zip(shares.iter().copied()).collect();
    Some(AccessRecord {
        subscribers: tree.subscribers.iter().map(|some| u64::from(some.count)).sum(),
        applications: network.applications.iter().zip(network.paths.applications()).map(application).collect(),
        nodes: node_records(tree, &dealt, &users),
    })
}

/// Payload that reached each user's receivers during the measurement.
fn delivered_payload(network: &Network) -> Vec<u64> {
    let mut bytes: Vec<u64> = network.users.iter().map(|user| user.delivered_bytes).collect();
    for flow in &network.flows {
        bytes[flow.user as usize] += flow.measured_bytes(&network.tcp_params[flow.params as usize]);
    }
    bytes
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// T_R of abc2018 IV-A4.
fn throughput_ratio(groups: &[GroupRecord]) -> Option<f64> {
    let [first, second, ..] = groups else { return None };
    (second.throughput_bps > 0.0).then(|| first.throughput_bps / second.throughput_bps)
}

/// Jain's index: (sum x)^2 / (n sum x^2).
fn jain_index(throughput: &[f64]) -> Option<f64> {
    let sum: f64 = throughput.iter().sum();
    let squares: f64 = throughput.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (throughput.len() as f64 * squares))
}

fn voip_record(network: &Network, group: usize) -> Option<VoipRecord> {
    let delays = network.calls.delays(group as u16)?;
    let calls: Vec<Option<CallFigures>> = network.calls.of_group(group as u16).map(Call::figures).collect();
    if calls.is_empty() {
        return None;
    }
    let mean_of = |value: fn(&CallFigures) -> Option<f64>| {
        let values: Vec<f64> = calls.iter().flatten().filter_map(value).collect();
        (!values.is_empty()).then(|| mean(&values))
    };
    let opinions = calls.iter().flatten().map(|call| call.opinion);
    Some(VoipRecord {
        calls: calls.iter().flatten().count() as u64,
        mos: mean_of(|call| Some(call.opinion)),
        worst_mos: opinions.min_by(f64::total_cmp),
        r_factor: mean_of(|call| Some(call.rating)),
        mouth_to_ear_s: mean_of(|call| call.mouth_to_ear.map(Time::as_secs_f64)),
        jitter_s: mean_of(|call| call.jitter_s),
        lost_share: mean_of(|call| Some(call.lost as f64 / call.due as f64)),
        late_share: mean_of(|call| Some(call.late as f64 / call.due as f64)),
        one_way_delay: times_record(delays),
        call_mos: calls.iter().map(|call| call.map(|call| call.opinion)).collect(),
    })
}

fn responsiveness_record(probe: &ResponsivenessProbe) -> ResponsivenessRecord {
    let [tcp_f_s, http_f_s, http_l_s] = probe.trimmed_means_s();
    ResponsivenessRecord {
        probes: probe.probes(),
        rpm: probe.rpm(),
        foreign_rpm: probe.foreign_rpm(),
        loaded_rpm: probe.loaded_rpm(),
        tcp_f_s,
        http_f_s,
        http_l_s,
    }
}

fn video_record(scenario: &Scenario, network: &Network, group: usize) -> Option<VideoRecord> {
    let of_group = |player: &&VideoPlayer| {
        let user = network.flows[player.flow as usize].user;
        usize::from(network.users[user as usize].group) == group
    };
    let players: Vec<&VideoPlayer> = network.players.iter().filter(of_group).collect();
    let figures: Vec<VideoFigures> = players.iter().map(|player| player.figures(scenario.run.end())).collect();
    let mean_of = |values: &[Option<f64>]| {
        let values: Vec<f64> = values.iter().copied().flatten().collect();
        (!values.is_empty()).then(|| mean(&values))
    };
    let mean_count = |value: fn(&VideoFigures) -> f64| mean(&figures.iter().map(value).collect::<Vec<_>>());
    let player_bitrate_bps: Vec<_> = figures.iter().map(VideoFigures::bitrate_bps).collect();
    let player_stalled_share: Vec<_> = figures.iter().map(VideoFigures::stalled_share).collect();
    let startups: Vec<_> = players.iter().map(|player| player.startup.map(Time::as_secs_f64)).collect();
    (!players.is_empty()).then(|| VideoRecord {
        players: players.len() as u64,
        bitrate_bps: mean_of(&player_bitrate_bps),
        stalls: mean_count(|figures| figures.stalls as f64),
        stalled_s: mean_count(|figures| figures.stalled.as_secs_f64()),
        stalled_share: mean_of(&player_stalled_share),
        switches: mean_count(|figures| figures.switches as f64),
        startup_s: mean_of(&startups),
        player_bitrate_bps,
        player_stalled_share,
    })
}

fn access_loss(network: &Network, index: usize) -> Option<AccessLossRecord> {
    let is_own = |impairment: &&Impairment| is_access(impairment.place(), index);
    let ImpairmentAccount { entered, lost, .. } = network.impairments.iter().find(is_own)?.measured();
    let lost_share = if entered == 0 { 0.0 } else { lost as f64 / entered as f64 };
    Some(AccessLossRecord { packets: entered, lost_packets: lost, lost_share })
}

fn is_access(place: Place, index: usize) -> bool {
    matches!(place, Place::Access { group, .. } if usize::from(group) == index)
}

/// Returns the changes of all impairments at the places for which `is_own` returns true.
fn changes(config: &Impairments, network: &Network, is_own: impl Fn(Place) -> bool) -> Option<ChangesRecord> {
    if config.reorder.is_none() && config.duplicate.is_none() && config.corrupt.is_none() {
        return None;
    }
    let mut sum = ChangesRecord::default();
    for impairment in network.impairments.iter().filter(|impairment| is_own(impairment.place())) {
        let measured = impairment.measured();
        sum.reordered_packets += measured.reordered;
        sum.duplicated_packets += measured.copied;
        sum.corrupted_packets += measured.corrupted;
    }
    Some(sum)
}

struct Fair {
    of_user: Vec<f64>,
    /// For each link, the sum of the shares of its users.
    of_link: Vec<f64>,
}

/// Computes the max-min shares. Users of one placement have equal demands, except on an access network, where each
/// user's demand is random.
fn fair_shares(
    scenario: &Scenario,
    network: &Network,
    places: &[Placement<'_>],
    capacities: &[f64],
    seconds: f64,
) -> Fair {
    let each = scenario.topology.tree.is_some();
    let drawn = if each { started_by_user(network) } else { Vec::new() };
    let started = started_bytes(network);
    // One entry for each source table with TCP parameters.
    let mut started = started.iter();
    let mut demands = Vec::new();
    for place in places {
        let group = &place.config;
        let mut asks = |source: &SourceConfig| {
            let bytes = source.tcp().and_then(|_| started.next());
            match source {
                SourceConfig::Tcp { .. } | SourceConfig::Rpm { .. } => f64::INFINITY,
                SourceConfig::Web { .. } | SourceConfig::Transfers { .. } => {
                    let bytes = if each { 0.0 } else { bytes.map_or(0.0, |&bytes| bytes as f64) };
                    bytes * 8.0 / seconds / f64::from(group.params.users)
                }
                SourceConfig::Video { video, tcp } => {
                    on_the_wire_bps(&tcp.params, video.ladder.last().map_or(0.0, |rate| rate.as_f64()))
                }
                SourceConfig::Udp(udp) => udp.mean_rate_bps(),
            }
        };
        let rates: Vec<f64> = group.sources.iter().map(&mut asks).collect();
        let rate_bps = rates.iter().sum::<f64>();
        let most = place.most(&scenario.topology).as_f64();
        let weight = group.params.reference_rate.as_f64() * group.params.weight;
        let demand_over =
            |route, users: f64, rate_bps: f64| Demand { users, weight, rate_bps: rate_bps.min(most), route };
        let demand = |users: f64, rate_bps: f64| demand_over(&group.route, users, rate_bps);
        if each {
            let first = demands.len();
            let own = drawn[first..first + group.params.users as usize].iter();
            demands.extend(own.map(|&bytes| demand(1.0, rate_bps + bytes as f64 * 8.0 / seconds)));
        } else if scenario.topology.has_reverse_link {
            // Each user has a share of each link.
            for link in 0..=1 {
                let route = TopologyConfig::route_towards(SourceDirection::ALL[link]);
                let over = |number: &usize| group.route_of(*number) == route;
                let rate_bps = (0..rates.len()).filter(over).map(|number| rates[number]).sum();
                demands.push(demand_over(route, f64::from(group.params.users), rate_bps));
            }
        } else {
            demands.push(demand(f64::from(group.params.users), rate_bps));
        }
    }
    let shares = max_min_shares(capacities, &demands);
    let mut of_link = vec![0.0; capacities.len()];
    for (demand, share) in demands.iter().zip(&shares) {
        demand.route.iter().for_each(|&link| of_link[link as usize] += demand.users * share);
    }
    // With a reverse link, the shares of a user's two demands are added.
    let per_user = if scenario.topology.has_reverse_link { 2 } else { 1 };
    let of_user = demands
        .chunks(per_user)
        .zip(shares.chunks(per_user))
        .flat_map(|(demands, shares)| std::iter::repeat_n(shares.iter().sum::<f64>(), demands[0].users as usize));
    Fair { of_user: of_user.collect(), of_link }
}

/// Converts a payload rate to the rate on the wire, for full-sized segments.
fn on_the_wire_bps(params: &TcpParams, payload_bps: f64) -> f64 {
    let payload = f64::from(params.segment_payload);
    payload_bps * (payload + f64::from(params.header_bytes)) / payload
}

/// Wire bytes of the transfers that each user started during the measurement.
fn started_by_user(network: &Network) -> Vec<u64> {
    let mut bytes = vec![0; network.users.len()];
    for web in &network.webs {
        bytes[web.user as usize] += web.measured_wire_bytes;
    }
    bytes
}

/// Wire bytes of the transfers that web sources started during the measurement, for each source table with TCP
/// parameters.
fn started_bytes(network: &Network) -> Vec<u64> {
    let mut bytes = vec![0; network.tcp_params.len()];
    for web in &network.webs {
        bytes[web.tcp as usize] += web.measured_wire_bytes;
    }
    bytes
}

/// Mean rate of each link during the measurement, in bit/s.
fn capacities(scenario: &Scenario) -> Vec<f64> {
    let (from, to) = (scenario.run.warmup, scenario.run.end());
    scenario.topology.links.iter().map(|link| link.mean_rate_bps(from, to)).collect()
}

fn state_record(state: StateSize) -> StateRecord {
    StateRecord { records: state.records as u64, bytes: state.bytes as u64 }
}

/// Returns the readings of a link's scheme. Omits readings without a value and infinite ones, which JSON cannot
/// represent.
fn readings(link: &Link) -> BTreeMap<String, f64> {
    let mut readings = BTreeMap::new();
    link.discipline().report(&mut |name, value| {
        if value.is_finite() {
            readings.insert(name.to_string(), value);
        }
    });
    readings
}

fn path_record(probe: &PathProbe) -> PathRecord {
    let delivered = probe.one_way_delay.count();
    PathRecord {
        delivered_packets: delivered,
        dropped_packets: probe.dropped,
        marked_packets: probe.marked,
        lost_share: ratio(probe.dropped as f64, probe.dropped + delivered),
        marked_share: ratio(probe.marked as f64, delivered),
        one_way_delay: times_record(&probe.one_way_delay),
        rtt: times_record(&probe.rtt),
    }
}

fn path_records<'a>(probes: impl IntoIterator<Item = &'a PathProbe>) -> Vec<PathRecord> {
    probes.into_iter().map(path_record).collect()
}

fn times_record(times: &DelayHistogram) -> Option<TimesRecord> {
    (times.count() > 0).then(|| TimesRecord {
        samples: times.count(),
        mean_s: times.mean_s(),
        p50_s: times.quantile_s(0.5),
        p95_s: times.quantile_s(0.95),
        p99_s: times.quantile_s(0.99),
        max_s: times.max().as_secs_f64(),
    })
}

fn distribution_record(times: &DelayHistogram) -> Option<DistributionRecord> {
    let (end_s, counts): (_, Vec<_>) = times.steps().unzip();
    let all = times.count() as f64;
    let share = counts.iter().map(|&count| count as f64 / all).collect();
    (all > 0.0).then(|| DistributionRecord { min_s: times.min().as_secs_f64(), end_s, share })
}

fn tcp_record(network: &Network, group: usize, seconds: f64) -> Option<TcpRecord> {
    let of_group = |flow: &&TcpFlow| usize::from(network.users[flow.user as usize].group) == group;
    let mut flows = network.flows.iter().filter(of_group).peekable();
    if flows.peek().is_none() && network.ended[group].segments_sent == 0 {
        return None;
    }
    let mut stats = network.ended[group];
    flows.for_each(|flow| stats.add(&flow.sender.stats()));
    let stays = |flow: &&TcpFlow| of_group(flow) && flow.at_end == AtEnd::Stay;
    let lasting = || network.flows[..network.lasting_flows].iter().filter(stays);
    let per_second = |bytes: u64| bytes as f64 * 8.0 / seconds;
    let (flow_throughput_bps, flow_goodput_bps): (Vec<f64>, Vec<f64>) = lasting()
        .map(|flow| {
            let payload = flow.measured_bytes(&network.tcp_params[flow.params as usize]);
            (per_second(flow.measured_wire_bytes()), per_second(payload))
        })
        .unzip();
    Some(TcpRecord {
        timeouts: u64::from(stats.timeouts),
        fast_recoveries: u64::from(stats.fast_recoveries),
        retransmissions: stats.retransmissions,
        ecn_reductions: u64::from(stats.ecn_reductions),
        would_close: u64::from(stats.would_close),
        tail_loss_probes: u64::from(stats.tail_loss_probes),
        undone_reductions: u64::from(stats.undone_reductions),
        jain_index: jain_index(&flow_throughput_bps),
        flow_throughput_bps,
        flow_goodput_bps,
        flow_paths: path_records(lasting().filter_map(|flow| network.paths.flows().get(flow.id as usize))),
    })
}

fn udp_record(network: &Network, group: usize, seconds: f64) -> Option<UdpRecord> {
    let of_group = |user: u32| usize::from(network.users[user as usize].group) == group;
    let mut sources = network.sources.iter().filter(|source| of_group(source.user())).peekable();
    sources.peek()?;
    let (mut sent_packets, mut sent_bytes) = (0, 0);
    let mut flow_paths = Vec::new();
    for source in sources {
        flow_paths.extend(network.paths.flows().get(source.flow() as usize).map(path_record));
        sent_packets += source.measured();
        sent_bytes += source.measured() * u64::from(source.wire_bytes());
    }
    let users = network.users.iter().filter(|user| usize::from(user.group) == group);
    let received_packets = users.map(|user| user.datagrams).sum();
    Some(UdpRecord {
        sent_packets,
        received_packets,
        sent_bps: sent_bytes as f64 * 8.0 / seconds,
        delivered_share: (sent_packets > 0).then(|| received_packets as f64 / sent_packets as f64),
        flow_paths,
    })
}

fn transfers(network: &Network, group: usize, users: &[u32]) -> Vec<TransferRecord> {
    let single =
        |flow: &&TcpFlow| flow.span == Span::Once && usize::from(network.users[flow.user as usize].group) == group;
    let transfer = |flow: &TcpFlow| TransferRecord {
        user: users.partition_point(|&user| user < flow.user) as u32,
        bytes: flow.transfer_bytes,
        start_s: flow.start.as_secs_f64(),
        finish_s: (flow.finish < Time::NEVER).then(|| flow.finish.as_secs_f64()),
    };
    network.flows.iter().filter(single).map(transfer).collect()
}

fn transfer_times(scenario: &Scenario, probe: &TransferProbe, seconds: f64) -> TransferTimesRecord {
    let times = &probe.times;
    let of_ended = |value: f64| (times.count() > 0).then_some(value);
    let time_begins: Vec<f64> = scenario.probes.transfer_times.iter().map(|time| time.as_secs_f64()).collect();
    let size_begins: Vec<f64> = scenario.probes.transfer_sizes.iter().map(|size| size.0 as f64).collect();
    TransferTimesRecord {
        started: probe.started,
        completed: times.count(),
        refused: probe.refused,
        offered_bps: probe.started_bytes as f64 * 8.0 / seconds,
        mean_bytes: (probe.started > 0).then(|| probe.started_bytes as f64 / probe.started as f64),
        mean_s: of_ended(times.mean_s()),
        p50_s: of_ended(times.quantile_s(0.5)),
        p90_s: of_ended(times.quantile_s(0.9)),
        p95_s: of_ended(times.quantile_s(0.95)),
        p99_s: of_ended(times.quantile_s(0.99)),
        max_s: of_ended(times.max().as_secs_f64()),
        slowdown: slowdown_record(&probe.slowdowns),
        by_time: classes(&time_begins, &probe.by_time, &[]),
        by_size: classes(&size_begins, &probe.by_size, &probe.slowdowns_by_size),
    }
}

fn slowdown_record(slowdowns: &Slowdowns) -> Option<SlowdownRecord> {
    (slowdowns.count() > 0).then(|| SlowdownRecord {
        mean: slowdowns.mean(),
        p50: slowdowns.quantile(0.5),
        p95: slowdowns.quantile(0.95),
        p99: slowdowns.quantile(0.99),
        max: slowdowns.max(),
    })
}

/// Records of the classes that start at zero and at `begins`, with their slowdowns if there are any.
fn classes(begins: &[f64], classes: &[TransferClass], slowdowns: &[Slowdowns]) -> Vec<TransferClassRecord> {
    let all: u64 = classes.iter().map(|class| class.completed).sum();
    let record = |(index, class): (usize, &TransferClass)| TransferClassRecord {
        from: if index == 0 { 0.0 } else { begins[index - 1] },
        to: begins.get(index).copied(),
        completed: class.completed,
        share: if all == 0 { 0.0 } else { class.completed as f64 / all as f64 },
        mean_s: class.mean_s(),
        slowdown: slowdowns.get(index).and_then(slowdown_record),
    };
    classes.iter().enumerate().map(record).collect()
}

fn link_record(scenario: &Scenario, config: &LinkConfig, link: &Link, probe: &PortProbe, seconds: f64) -> LinkRecord {
    let accounting = link.accounting();
    let queued = link.backlog().packets;
    let distribution = probe.queue.distribution();
    LinkRecord {
        name: config.name.clone(),
        rate_bps: config.params.rate.as_f64(),
        utilisation: probe.utilisation(scenario.run.end()),
        throughput_bps: probe.user_bytes.iter().sum::<u64>() as f64 * 8.0 / seconds,
        queue: QueueRecord {
            mean_packets: probe.queue.mean_packets(),
            mean_bytes: probe.queue.mean_bytes(),
            max_packets: distribution.len() as u32 - 1,
            distribution,
        },
        delay: TrafficClass::ALL.iter().filter_map(|&class| delay_record(probe, class)).collect(),
        drops: drops(config, probe),
        user_dropped_packets: probe.user_drops.clone(),
        marks: probe.marks,
        accounting: AccountingRecord {
            arrived: accounting.arrived,
            departed: accounting.departed,
            dropped: accounting.dropped,
            queued: u64::from(queued),
        },
        max_min_utilisation: 0.0,
        changes: None,
        state: state_record(link.discipline().state_size()),
        readings: readings(link),
    }
}

fn delay_record(probe: &PortProbe, class: TrafficClass) -> Option<DelayRecord> {
    let delay = &probe.delay[class.index()];
    (delay.count() > 0).then(|| DelayRecord {
        traffic_class: class.name().into(),
        packets: delay.count(),
        mean_s: delay.mean_s(),
        p50_s: delay.quantile_s(0.5),
        p95_s: delay.quantile_s(0.95),
        p99_s: delay.quantile_s(0.99),
        max_s: delay.max().as_secs_f64(),
    })
}

/// Drops by reason, and losses on a link that loses packets.
fn drops(config: &LinkConfig, probe: &PortProbe) -> Vec<DropRecord> {
    let of_queue = DropReason::ALL.iter().map(|reason| (reason.name(), &probe.drops[reason.index()]));
    let of_wire = config.impairments.may_lose().then_some((LOST, &probe.lost));
    of_queue.chain(of_wire).map(|(reason, count)| drop_record(reason, count, probe.arrived)).collect()
}

fn drop_record(reason: &str, count: &DropCount, arrived: u64) -> DropRecord {
    DropRecord {
        reason: reason.into(),
        packets: count.packets,
        bytes: count.bytes,
        share_of_arrivals: if arrived == 0 { 0.0 } else { count.packets as f64 / arrived as f64 },
        queue_histogram: count.by_queue_length.clone(),
    }
}

fn series_record(scenario: &Scenario, network: &Network, probe: &PortProbe) -> Option<SeriesRecord> {
    let interval = scenario.probes.series_interval?;
    let series = probe.series.as_ref()?;
    let paths = network.paths.series()?;
    let group = |((index, group), (throughput_bps, rate_bps)): ((usize, &GroupConfig), _)| {
        let of_bins = |value: fn(&Bin) -> Option<f64>| paths.group(index).iter().map(value).collect();
        GroupSeriesRecord {
            name: group.name.clone(),
            throughput_bps,
            rate_bps,
            one_way_delay_s: of_bins(Bin::one_way_delay_s),
            rtt_s: of_bins(Bin::rtt_s),
            lost_share: of_bins(Bin::lost_share),
            marked_share: of_bins(Bin::marked_share),
        }
    };
    let groups: Vec<_> = scenario.groups.iter().enumerate().zip(series.group_rates()).map(group).collect();
    Some(SeriesRecord {
        recoveries: recoveries(scenario, &groups, paths, interval),
        link: scenario.topology.links[scenario.series_link()].name.clone(),
        interval_s: interval.as_secs_f64(),
        start_s: 0.0,
        groups,
        queue_packets: series.queue_packets(),
        drop_threshold: series.drop_thresholds(),
    })
}

/// Share of the throughput before a fault from which on the path counts as recovered.
const RECOVERED: f64 = 0.8;

/// Recovery from faults of the observed link and of access links.
fn recoveries(
    scenario: &Scenario,
    groups: &[GroupSeriesRecord],
    paths: &PathSeries,
    interval: Time,
) -> Vec<RecoveryRecord> {
    let bin_of = |time: Time| (time.0 / interval.0) as usize;
    let recovery = |Spanned { key, group, link, span, .. }: Spanned| {
        let (Some(from), Some(until)) = (span.from, span.until) else { return None };
        let (first, second) = (bin_of(from), until.0.div_ceil(interval.0) as usize);
        let own = group.map_or(0..groups.len(), |group| group..group + 1);
        let bps = |bin: usize| groups[own.clone()].iter().map(|group| group.throughput_bps[bin]).sum::<f64>();
        let bins = groups[0].throughput_bps.len();
        if link.is_some_and(|link| link != scenario.series_link()) || first < 2 || second >= bins {
            return None;
        }
        let before: Vec<f64> = (first / 2..first).map(bps).collect();
        let before_bps = mean(&before);
        let recovered = (second..bins).find(|&bin| bps(bin) >= RECOVERED * before_bps);
        let time = |bin: usize| Time(bin as u64 * interval.0) - until;
        let starts = scenario.spans().filter_map(|other| other.span.from.map(bin_of));
        let during = first..starts.filter(|&other| other > first).min().unwrap_or(bins).min(bins);
        let spurious = own.flat_map(|group| &paths.group(group)[during.clone()]).map(|bin| bin.repeated).sum();
        let recovery_s = recovered.map(|bin| time(bin).as_secs_f64());
        Some(RecoveryRecord { key, before_bps, recovery_s, spurious_retransmissions: spurious })
    };
    scenario.spans().filter_map(recovery).collect()
}
