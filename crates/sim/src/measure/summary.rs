//! Joins the replications of a scenario: means and confidence intervals.

use crate::measure::run_record::{
    DelayRecord, DropRecord, GroupRecord, LinkRecord, PathRecord, Performance, RunRecord, SCHEMA, StateRecord,
    TransferTimesRecord,
};
use crate::measure::times_record::TimesRecord;
use crate::scenario::{Note, Scenario};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::{BTreeMap, BTreeSet};

/// Confidence level of intervals unless another one is asked for.
pub const CONFIDENCE: f64 = 0.95;

/// A mean over replications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Mean of the replications that have the value.
    pub mean: f64,
    /// Half the width of the confidence interval (Student t); null for fewer than two replications.
    pub half_width: Option<f64>,
    /// How many replications have the value.
    pub n: u32,
}

impl Estimate {
    /// From one value per replication, with an interval of this confidence; `None` without any.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>, confidence: f64) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width =
            (n > 1).then(|| student_t(confidence, n as u32 - 1) * (squares / (n - 1) as f64 / n as f64).sqrt());
        Some(Self { mean, half_width, n: n as u32 })
    }
}

/// The runs to be joined, and the confidence of the intervals.
#[derive(Clone, Copy)]
struct Runs<'a> {
    runs: &'a [RunRecord],
    confidence: f64,
}

impl Runs<'_> {
    /// The estimate of a value that every replication has.
    fn every(&self, value: impl Fn(&RunRecord) -> f64) -> Estimate {
        self.some(|run| Some(value(run))).expect("there is at least one run")
    }

    /// The estimate of a value that a replication may lack.
    fn some(&self, value: impl Fn(&RunRecord) -> Option<f64>) -> Option<Estimate> {
        Estimate::of(self.runs.iter().filter_map(value), self.confidence)
    }
}

/// Two-sided quantile of Student's t distribution: `confidence` in (0, 1), at least one degree of freedom.
#[must_use]
pub fn student_t(confidence: f64, degrees: u32) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, f64::from(degrees)).expect("positive degrees of freedom");
    distribution.inverse_cdf(0.5 + confidence / 2.0)
}

/// Everything about a scenario: the scenario itself, the summary, the cost and the single runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultDocument {
    /// Version of this format.
    pub schema: u32,
    /// Version of Fairlane.
    pub version: String,
    /// The scenario, every default filled in.
    pub scenario: serde_json::Value,
    /// What to know about the scenario before its numbers are trusted.
    pub notes: Vec<NoteRecord>,
    /// Means and intervals.
    pub summary: Summary,
    /// How much was simulated in all runs together.
    pub performance: Performance,
    /// The single runs, by number.
    pub runs: Vec<RunRecord>,
    /// What the runs cost. All else is the same bytes each time that the scenario is simulated.
    pub cost: Cost,
}

/// Something to know about a scenario that is valid, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteRecord {
    /// Key of the scenario that it is about.
    pub key: String,
    /// What to know.
    pub text: String,
}

impl From<Note> for NoteRecord {
    fn from(Note { key, text }: Note) -> Self {
        Self { key, text }
    }
}

/// Means and confidence intervals over the replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Number of replications.
    pub replications: u32,
    /// Confidence level of the intervals.
    pub confidence: f64,
    /// The user groups.
    pub groups: Vec<GroupSummary>,
    /// Throughput ratio; null if no replication has one.
    pub throughput_ratio: Option<Estimate>,
    /// Jain's index over all users; null if no replication has one.
    pub jain_index: Option<Estimate>,
    /// Jain's index over all lasting TCP flows; null if no replication has one.
    pub jain_index_flows: Option<Estimate>,
    /// Jain's index over the normalised throughput of all users; null if no replication has one.
    pub jain_index_normalised: Option<Estimate>,
    /// The links.
    pub links: Vec<LinkSummary>,
    /// What the markers of the edge remembered at the end, all users together.
    pub edge_state: StateSummary,
}

/// What a scheme remembered at the end of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateSummary {
    /// Records of flows, users or buckets.
    pub records: Estimate,
    /// Bytes.
    pub bytes: Estimate,
}

/// A user group over all replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupSummary {
    /// Name.
    pub name: String,
    /// Number of users.
    pub users: u32,
    /// Mean throughput per user, bit/s on the wire.
    pub throughput_bps: Estimate,
    /// Mean goodput per user, bit/s.
    pub goodput_bps: Estimate,
    /// Throughput of each user.
    pub user_throughput_bps: Vec<Estimate>,
    /// Goodput of each user.
    pub user_goodput_bps: Vec<Estimate>,
    /// The max-min share of each user, bit/s on the wire.
    pub max_min_share_bps: Estimate,
    /// Mean throughput per user over the max-min share; null if no replication has one.
    pub normalised_throughput: Option<Estimate>,
    /// What the group's packets met on their way from host to receiver.
    pub path: PathSummary,
    /// The same for each user; empty unless `probes.detail` is `user` or `flow`.
    pub user_paths: Vec<PathSummary>,
    /// Mean throughput per lasting TCP flow, bit/s on the wire; null without any.
    pub tcp_flow_throughput_bps: Option<Estimate>,
    /// UDP packets received over packets sent; null without any.
    pub udp_delivered_share: Option<Estimate>,
    /// Finite transfers that started during the measurement and ended; null without a source of any.
    pub transfers_completed: Option<Estimate>,
    /// Their mean time; null if none ended.
    pub transfer_mean_s: Option<Estimate>,
    /// Their 95th percentile; null if none ended.
    pub transfer_p95_s: Option<Estimate>,
    /// Mean of their times over those that they would have taken alone; null if none ended.
    pub transfer_slowdown_mean: Option<Estimate>,
    /// 99th percentile of the same; null if none ended.
    pub transfer_slowdown_p99: Option<Estimate>,
    /// Every number of the group's applications: `voip_mos` is `mos` in `voip` of the runs, and a number of a table within
    /// has the table's name before its own. Empty without such a source.
    pub applications: BTreeMap<String, Estimate>,
}

/// What packets met on their way from host to receiver, over all replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// Packets dropped over those dropped or delivered; null if no replication has any.
    pub lost_share: Option<Estimate>,
    /// Packets delivered with a congestion mark over those delivered; null if no replication has any.
    pub marked_share: Option<Estimate>,
    /// From the host's sending, its access link included, to the receiver; null if no packet reached one.
    pub one_way_delay: Option<TimesSummary>,
    /// Round-trip times as the TCP senders sampled them; null without any.
    pub rtt: Option<TimesSummary>,
}

/// Times that were measured one by one, over the replications that have any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimesSummary {
    /// Mean.
    pub mean_s: Estimate,
    /// Median.
    pub p50_s: Estimate,
    /// 95th percentile.
    pub p95_s: Estimate,
    /// 99th percentile.
    pub p99_s: Estimate,
    /// Maximum.
    pub max_s: Estimate,
}

/// An observed link over all replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSummary {
    /// Name.
    pub name: String,
    /// Busy time over measured time.
    pub utilisation: Estimate,
    /// Bits on the wire per second.
    pub throughput_bps: Estimate,
    /// Time-weighted mean queue in packets.
    pub queue_mean_packets: Estimate,
    /// Time-weighted mean queue in bytes.
    pub queue_mean_bytes: Estimate,
    /// Queueing delay per class.
    pub delay: Vec<DelaySummary>,
    /// Drops per reason.
    pub drops: Vec<DropSummary>,
    /// Packets dropped for whatever reason over packets that arrived.
    pub dropped_share: Estimate,
    /// Utilisation if every user got its max-min share.
    pub max_min_utilisation: Estimate,
    /// What the queue's scheme remembered at the end.
    pub state: StateSummary,
    /// What the scheme measures and counts itself, at the end of the runs that have the reading.
    pub readings: BTreeMap<String, Estimate>,
}

/// Queueing delay of one class over all replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelaySummary {
    /// BE or EF.
    pub traffic_class: String,
    /// Mean.
    pub mean_s: Estimate,
    /// 99th percentile.
    pub p99_s: Estimate,
}

/// Drops for one reason over all replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DropSummary {
    /// As in docs/concepts.md: `aqm`, `overlimit` or `pushed_out`.
    pub reason: String,
    /// Packets.
    pub packets: Estimate,
    /// Packets over packets that arrived.
    pub share_of_arrivals: Estimate,
}

/// What the runs of a scenario cost: on this machine, this time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// CPU time of the simulations alone; of those whose cost is known.
    pub cpu_seconds: f64,
    /// CPU time of each run; null where it is not known.
    pub run_cpu_seconds: Vec<Option<f64>>,
    /// High-water mark of the resident memory of the process that ran them; null where the system does not tell.
    pub peak_memory_bytes: Option<u64>,
}

/// JSON Schema of a [`ResultDocument`].
#[must_use]
pub fn result_schema() -> serde_json::Value {
    schemars::schema_for!(ResultDocument).to_value()
}

/// Joins the runs of a scenario. There must be at least one.
#[must_use]
pub fn summarise(
    scenario: &Scenario,
    mut runs: Vec<RunRecord>,
    confidence: f64,
    peak_memory_bytes: Option<u64>,
) -> ResultDocument {
    runs.sort_by_key(|run| run.replication);
    let all = Runs { runs: &runs, confidence };
    ResultDocument {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.write(),
        notes: scenario.notes().into_iter().map(NoteRecord::from).collect(),
        summary: Summary {
            replications: runs.len() as u32,
            confidence,
            groups: (0..scenario.groups.len()).map(|group| group_summary(all, group)).collect(),
            throughput_ratio: all.some(|run| run.throughput_ratio),
            jain_index: all.some(|run| run.jain_index),
            jain_index_flows: all.some(|run| run.jain_index_flows),
            jain_index_normalised: all.some(|run| run.jain_index_normalised),
            links: (0..runs[0].links.len()).map(|link| link_summary(all, link)).collect(),
            edge_state: state_summary(all, |run| run.edge_state),
        },
        performance: Performance {
            delivered_packets: runs.iter().map(|run| run.performance.delivered_packets).sum(),
            events: runs.iter().map(|run| run.performance.events).sum(),
        },
        cost: Cost {
            cpu_seconds: runs.iter().filter_map(|run| run.cpu_seconds).sum(),
            run_cpu_seconds: runs.iter().map(|run| run.cpu_seconds).collect(),
            peak_memory_bytes,
        },
        runs,
    }
}

fn group_summary(all: Runs<'_>, group: usize) -> GroupSummary {
    let first = &all.runs[0].groups[group];
    // None of a record without rows.
    let users = 0..first.user_throughput_bps.len();
    let transfers = |value: fn(&TransferTimesRecord) -> Option<f64>| {
        all.some(|run| run.groups[group].transfer_times.as_ref().and_then(value))
    };
    let flow_mean = |run: &RunRecord| {
        let flows = &run.groups[group].tcp.as_ref()?.flow_throughput_bps;
        (!flows.is_empty()).then(|| flows.iter().sum::<f64>() / flows.len() as f64)
    };
    GroupSummary {
        name: first.name.clone(),
        users: first.users,
        throughput_bps: all.every(|run| run.groups[group].throughput_bps),
        goodput_bps: all.every(|run| run.groups[group].goodput_bps),
        user_throughput_bps: users
            .clone()
            .map(|user| all.every(|run| run.groups[group].user_throughput_bps[user]))
            .collect(),
        user_goodput_bps: users.map(|user| all.every(|run| run.groups[group].user_goodput_bps[user])).collect(),
        max_min_share_bps: all.every(|run| run.groups[group].max_min_share_bps),
        normalised_throughput: all.some(|run| run.groups[group].normalised_throughput),
        path: path_summary(all, |run| &run.groups[group].path),
        user_paths: (0..first.user_paths.len())
            .map(|user| path_summary(all, |run| &run.groups[group].user_paths[user]))
            .collect(),
        tcp_flow_throughput_bps: all.some(flow_mean),
        udp_delivered_share: all.some(|run| run.groups[group].udp.as_ref().and_then(|udp| udp.delivered_share)),
        transfers_completed: transfers(|times| Some(times.completed as f64)),
        transfer_mean_s: transfers(|times| times.mean_s),
        transfer_p95_s: transfers(|times| times.p95_s),
        transfer_slowdown_mean: transfers(|times| times.slowdown.map(|slowdown| slowdown.mean)),
        transfer_slowdown_p99: transfers(|times| times.slowdown.map(|slowdown| slowdown.p99)),
        applications: applications(all, group),
    }
}

fn path_summary(all: Runs<'_>, path: impl Fn(&RunRecord) -> &PathRecord) -> PathSummary {
    PathSummary {
        lost_share: all.some(|run| path(run).lost_share),
        marked_share: all.some(|run| path(run).marked_share),
        one_way_delay: times_summary(all, |run| path(run).one_way_delay),
        rtt: times_summary(all, |run| path(run).rtt),
    }
}

fn times_summary(all: Runs<'_>, times: impl Fn(&RunRecord) -> Option<TimesRecord>) -> Option<TimesSummary> {
    let estimate = |value: fn(&TimesRecord) -> f64| all.some(|run| times(run).as_ref().map(value));
    Some(TimesSummary {
        mean_s: estimate(|times| times.mean_s)?,
        p50_s: estimate(|times| times.p50_s)?,
        p95_s: estimate(|times| times.p95_s)?,
        p99_s: estimate(|times| times.p99_s)?,
        max_s: estimate(|times| times.max_s)?,
    })
}

fn link_summary(all: Runs<'_>, link: usize) -> LinkSummary {
    let over_runs = |value: fn(&LinkRecord) -> f64| all.every(|run| value(&run.links[link]));
    let classes = fairlane_schemes::contract::packet::TrafficClass::ALL;
    LinkSummary {
        name: all.runs[0].links[link].name.clone(),
        utilisation: over_runs(|link| link.utilisation),
        throughput_bps: over_runs(|link| link.throughput_bps),
        queue_mean_packets: over_runs(|link| link.queue.mean_packets),
        queue_mean_bytes: over_runs(|link| link.queue.mean_bytes),
        delay: classes.iter().filter_map(|class| delay_summary(all, link, class.name())).collect(),
        drops: (0..all.runs[0].links[link].drops.len()).map(|reason| drop_summary(all, link, reason)).collect(),
        dropped_share: over_runs(|link| link.drops.iter().map(|drops| drops.share_of_arrivals).sum()),
        max_min_utilisation: over_runs(|link| link.max_min_utilisation),
        state: state_summary(all, |run| run.links[link].state),
        readings: readings(all, link),
    }
}

fn readings(all: Runs<'_>, link: usize) -> BTreeMap<String, Estimate> {
    let names: BTreeSet<&String> = all.runs.iter().flat_map(|run| run.links[link].readings.keys()).collect();
    let of_name = |name: &String| all.some(|run| run.links[link].readings.get(name).copied());
    names.into_iter().filter_map(|name| Some((name.clone(), of_name(name)?))).collect()
}

/// The numbers of the applications of a group, by name.
fn applications(all: Runs<'_>, group: usize) -> BTreeMap<String, Estimate> {
    let runs: Vec<_> = all.runs.iter().map(|run| application_numbers(&run.groups[group])).collect();
    let names: BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    let of_name = |name: &String| Estimate::of(runs.iter().filter_map(|run| run.get(name).copied()), all.confidence);
    names.into_iter().filter_map(|name| Some((name.clone(), of_name(name)?))).collect()
}

fn application_numbers(group: &GroupRecord) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    let records = [
        ("voip", serde_json::to_value(&group.voip)),
        ("video", serde_json::to_value(&group.video)),
        ("responsiveness", serde_json::to_value(group.responsiveness)),
    ];
    for (name, record) in records {
        collect_numbers(name, &record.expect("a record is JSON"), &mut numbers);
    }
    numbers
}

/// The numbers in a record, those of records within it after the name of these.
fn collect_numbers(name: &str, value: &serde_json::Value, numbers: &mut BTreeMap<String, f64>) {
    if let Some(number) = value.as_f64() {
        numbers.insert(name.into(), number);
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        collect_numbers(&format!("{name}_{key}"), value, numbers);
    }
}

fn state_summary(all: Runs<'_>, state: impl Fn(&RunRecord) -> StateRecord) -> StateSummary {
    StateSummary {
        records: all.every(|run| state(run).records as f64),
        bytes: all.every(|run| state(run).bytes as f64),
    }
}

fn delay_summary(all: Runs<'_>, link: usize, class: &str) -> Option<DelaySummary> {
    let estimate = |value: fn(&DelayRecord) -> f64| {
        let of_class =
            |run: &RunRecord| run.links[link].delay.iter().find(|delay| delay.traffic_class == class).map(value);
        all.some(of_class)
    };
    Some(DelaySummary {
        traffic_class: class.into(),
        mean_s: estimate(|delay| delay.mean_s)?,
        p99_s: estimate(|delay| delay.p99_s)?,
    })
}

fn drop_summary(all: Runs<'_>, link: usize, reason: usize) -> DropSummary {
    let estimate = |value: fn(&DropRecord) -> f64| all.every(|run| value(&run.links[link].drops[reason]));
    DropSummary {
        reason: all.runs[0].links[link].drops[reason].reason.clone(),
        packets: estimate(|drops| drops.packets as f64),
        share_of_arrivals: estimate(|drops| drops.share_of_arrivals),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_that_of_the_t_table() {
        // Values 1..4: mean 2.5, s = 1.291, n = 4, t(0.975; 3) = 3.182 (any t table): 3.182 * 1.291 / 2 = 2.054.
        let estimate = Estimate::of([1.0, 2.0, 3.0, 4.0], CONFIDENCE).unwrap();
        assert_eq!(estimate.mean, 2.5);
        assert!((estimate.half_width.unwrap() - 2.054).abs() < 0.001);
        // t(0.95; 3) = 2.353: 90 % confidence.
        let estimate = Estimate::of([1.0, 2.0, 3.0, 4.0], 0.9).unwrap();
        assert!((estimate.half_width.unwrap() - 2.353 * 1.290_99 / 2.0).abs() < 0.001);
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_estimate() {
        assert_eq!(Estimate::of([3.0], CONFIDENCE), Some(Estimate { mean: 3.0, half_width: None, n: 1 }));
        assert_eq!(Estimate::of([], CONFIDENCE), None);
    }
}
