//! Turns what the probes saw into the record of a run.

use crate::link::Link;
use crate::network::{BOTTLENECK, Network};
use crate::probe::PortProbe;
use crate::result::{
    AccountingRecord, DelayRecord, DropRecord, GroupRecord, GroupSeriesRecord, LinkRecord, Performance, QueueRecord,
    RunRecord, SCHEMA, SeriesRecord, TcpRecord, TransferRecord,
};
use crate::scenario::Scenario;
use fairlane_schemes::discipline::DropReason;
use fairlane_schemes::packet::TrafficClass;
use fairlane_schemes::units::Time;
use std::ops::Range;

/// The record of a run that has ended.
#[must_use]
pub fn record(scenario: &Scenario, replication: u32, network: &Network, performance: Performance) -> RunRecord {
    let seconds = scenario.run.measure.as_secs_f64();
    let bottleneck = &network.links[BOTTLENECK as usize];
    let probe = bottleneck.probe().expect("the bottleneck is observed");
    let throughput: Vec<f64> = probe.user_bytes.iter().map(|&bytes| bytes as f64 * 8.0 / seconds).collect();
    let goodput: Vec<f64> = delivered_payload(network).iter().map(|&bytes| bytes as f64 * 8.0 / seconds).collect();
    let mut groups = Vec::new();
    let mut first = 0;
    for (index, group) in scenario.groups.iter().enumerate() {
        let users = first..first + group.params.users as usize;
        first = users.end;
        groups.push(GroupRecord {
            name: group.name.clone(),
            users: group.params.users,
            throughput_bps: mean(&throughput[users.clone()]),
            goodput_bps: mean(&goodput[users.clone()]),
            user_throughput_bps: throughput[users.clone()].to_vec(),
            user_goodput_bps: goodput[users.clone()].to_vec(),
            tcp: tcp_record(network, index),
            transfers: transfers(network, &users),
        });
    }
    RunRecord {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.name.clone(),
        seed: scenario.run.seed,
        replication,
        window_s: [scenario.run.warmup.as_secs_f64(), scenario.run.end().as_secs_f64()],
        throughput_ratio: throughput_ratio(&groups),
        jain_index: jain_index(&throughput),
        groups,
        links: vec![link_record(scenario, bottleneck, probe, seconds)],
        series: series_record(scenario, probe),
        performance,
    }
}

/// Payload that reached each user's receivers during the measurement.
fn delivered_payload(network: &Network) -> Vec<u64> {
    let mut bytes: Vec<u64> = network.users.iter().map(|user| user.datagram_bytes).collect();
    for flow in &network.flows {
        bytes[flow.user as usize] += flow.receiver.delivered_bytes() - flow.unmeasured_bytes;
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

fn tcp_record(network: &Network, group: usize) -> Option<TcpRecord> {
    let of_group = |user: u32| usize::from(network.users[user as usize].group) == group;
    let mut flows = network.flows.iter().filter(|flow| of_group(flow.user)).peekable();
    flows.peek()?;
    let mut total = TcpRecord::default();
    for stats in flows.map(|flow| flow.sender.stats()) {
        total.timeouts += u64::from(stats.timeouts);
        total.fast_recoveries += u64::from(stats.fast_recoveries);
        total.retransmissions += stats.retransmissions;
        total.ecn_reductions += u64::from(stats.ecn_reductions);
        total.would_close += u64::from(stats.would_close);
    }
    Some(total)
}

fn transfers(network: &Network, users: &Range<usize>) -> Vec<TransferRecord> {
    let bytes = |flow: &crate::network::TcpFlow| network.transfer_bytes[flow.params as usize];
    let finite = |flow: &&crate::network::TcpFlow| bytes(flow) > 0 && users.contains(&(flow.user as usize));
    let transfer = |flow: &crate::network::TcpFlow| TransferRecord {
        user: flow.user - users.start as u32,
        bytes: bytes(flow),
        start_s: flow.start.as_secs_f64(),
        finish_s: (flow.finish < Time::NEVER).then(|| flow.finish.as_secs_f64()),
    };
    network.flows.iter().filter(finite).map(transfer).collect()
}

fn link_record(scenario: &Scenario, link: &Link, probe: &PortProbe, seconds: f64) -> LinkRecord {
    let accounting = link.accounting();
    let queued = link.backlog().packets;
    let distribution = probe.queue.distribution();
    LinkRecord {
        name: "bottleneck".into(),
        rate_bps: scenario.topology.links.bottleneck_rate.as_f64(),
        utilisation: probe.utilisation(scenario.run.end()),
        throughput_bps: probe.user_bytes.iter().sum::<u64>() as f64 * 8.0 / seconds,
        queue: QueueRecord {
            mean_packets: probe.queue.mean_packets(),
            mean_bytes: probe.queue.mean_bytes(),
            max_packets: distribution.len() as u32 - 1,
            distribution,
        },
        delay: TrafficClass::ALL.iter().filter_map(|&class| delay_record(probe, class)).collect(),
        drops: DropReason::ALL.iter().map(|&reason| drop_record(probe, reason)).collect(),
        marks: probe.marks,
        accounting: AccountingRecord {
            arrived: accounting.arrived,
            departed: accounting.departed,
            dropped: accounting.dropped,
            queued: u64::from(queued),
        },
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

fn drop_record(probe: &PortProbe, reason: DropReason) -> DropRecord {
    let drops = &probe.drops[reason.index()];
    DropRecord {
        reason: reason.name().into(),
        packets: drops.packets,
        bytes: drops.bytes,
        share_of_arrivals: if probe.arrived == 0 { 0.0 } else { drops.packets as f64 / probe.arrived as f64 },
        queue_histogram: drops.by_queue_length.clone(),
    }
}

fn series_record(scenario: &Scenario, probe: &PortProbe) -> Option<SeriesRecord> {
    let interval = scenario.probes.series_interval?;
    let series = probe.series.as_ref()?;
    let group = |(group, (throughput_bps, rate_bps)): (&crate::scenario::GroupConfig, _)| GroupSeriesRecord {
        name: group.name.clone(),
        throughput_bps,
        rate_bps,
    };
    Some(SeriesRecord {
        interval_s: interval.as_secs_f64(),
        start_s: 0.0,
        groups: scenario.groups.iter().zip(series.group_rates()).map(group).collect(),
        queue_packets: series.queue_packets(),
        drop_threshold: series.drop_thresholds(),
    })
}
