//! What a run gives: the records that are stored, printed and drawn.

use crate::measure::access_record::AccessRecord;
use crate::measure::times_record::TimesRecord;
use crate::measure::users_record::UsersRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format of records and results.
pub const SCHEMA: u32 = 2;

/// One replication of a scenario: the same bytes on every machine, each time, and for any number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Version of this format.
    pub schema: u32,
    /// Version of Fairlane.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the replication, from 0.
    pub replication: u32,
    /// Start and end of the measurement in simulated seconds.
    pub window_s: [f64; 2],
    /// The user groups, in the order of the scenario.
    pub groups: Vec<GroupRecord>,
    /// Throughput per user of the first group over that of the second; null without two groups or if the latter
    /// is zero.
    pub throughput_ratio: Option<f64>,
    /// Jain's index over the throughput of all users; null if nothing got through.
    pub jain_index: Option<f64>,
    /// Jain's index over the throughput of all TCP flows that last as long as the run; null if there are none or
    /// nothing got through.
    #[serde(default)]
    pub jain_index_flows: Option<f64>,
    /// Jain's index over the normalised throughput of all users; null if nothing got through.
    #[serde(default)]
    pub jain_index_normalised: Option<f64>,
    /// The links.
    pub links: Vec<LinkRecord>,
    /// What the markers of the edge remembered at the end of the run, all users together.
    #[serde(default)]
    pub edge_state: StateRecord,
    /// Applications and nodes of an access network; absent on other topologies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessRecord>,
    /// Time series over the whole run, if the scenario asks for them.
    pub series: Option<SeriesRecord>,
    /// How much was simulated.
    pub performance: Performance,
    /// CPU time of the simulation alone, if it is known. It differs from one run to the next, so that it is not part of
    /// the record as it is written.
    #[serde(skip)]
    pub cpu_seconds: Option<f64>,
}

/// A user group in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupRecord {
    /// Name.
    pub name: String,
    /// Number of users.
    pub users: u32,
    /// Mean throughput per user over its last link, bits on the wire per second.
    pub throughput_bps: f64,
    /// Mean goodput per user: payload delivered (TCP: in order) per second.
    pub goodput_bps: f64,
    /// Throughput of each user; empty with `probes.user_rows = false`, as all that has a row for each user or flow.
    pub user_throughput_bps: Vec<f64>,
    /// Goodput of each user.
    pub user_goodput_bps: Vec<f64>,
    /// The users in few numbers, in place of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_summary: Option<UsersRecord>,
    /// What max-min fairness, weighted by `weight` times `reference_rate`, would give each user: bits on the wire per
    /// second. TCP flows ask for all they can get, UDP flows for their mean rate, web sessions for what they drew;
    /// access links bound it.
    #[serde(default)]
    pub max_min_share_bps: f64,
    /// Mean throughput per user over that share; null if the share is zero.
    #[serde(default)]
    pub normalised_throughput: Option<f64>,
    /// What the group's packets met on their way from host to receiver.
    #[serde(default)]
    pub path: PathRecord,
    /// The same for each user; empty unless `probes.detail` is `user` or `flow`.
    #[serde(default)]
    pub user_paths: Vec<PathRecord>,
    /// The group's TCP flows; null without any.
    pub tcp: Option<TcpRecord>,
    /// The group's UDP flows; null without any.
    #[serde(default)]
    pub udp: Option<UdpRecord>,
    /// Finite transfers of flows that make a single one.
    pub transfers: Vec<TransferRecord>,
    /// All finite transfers that started during the measurement; null without a source of any.
    #[serde(default)]
    pub transfer_times: Option<TransferTimesRecord>,
    /// The group's telephone calls; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voip: Option<VoipRecord>,
    /// The group's videos; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoRecord>,
    /// The group's test of responsiveness; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responsiveness: Option<ResponsivenessRecord>,
    /// Loss on the group's access links during the measurement; absent without `access_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_loss: Option<AccessLossRecord>,
}

/// Telephone calls during the measurement, each weighted alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoipRecord {
    /// Calls that had packets to be played; of no others is anything told.
    pub calls: u64,
    /// Mean opinion score by the E-model, 1 to 4.5: mean over the calls; null without any, as all that follow.
    pub mos: Option<f64>,
    /// That of the worst call.
    pub worst_mos: Option<f64>,
    /// Transmission rating R of the E-model: mean over the calls.
    pub r_factor: Option<f64>,
    /// From mouth to ear: speech in a packet, look-ahead of the codec, way of the first packet, buffer.
    pub mouth_to_ear_s: Option<f64>,
    /// Interarrival jitter of RFC 3550, mean over packets and calls.
    pub jitter_s: Option<f64>,
    /// Packets that did not come over those that were to be played.
    pub lost_share: Option<f64>,
    /// Packets that came too late for the buffer, over the same.
    pub late_share: Option<f64>,
    /// From the host's sending to the receiver; null if no packet came.
    pub one_way_delay: Option<TimesRecord>,
    /// Mean opinion score of each call, user by user; null where nothing was to be played.
    pub call_mos: Vec<Option<f64>>,
}

/// Videos during the measurement, each weighted alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VideoRecord {
    /// Players.
    pub players: u64,
    /// Mean bitrate of the chunks that came; null if none did.
    pub bitrate_bps: Option<f64>,
    /// Stalls of a player: times at which it ran out of video.
    pub stalls: f64,
    /// Time that a player stood still, the start left out.
    pub stalled_s: f64,
    /// That time over the time that it played or stood still; null if it did neither.
    pub stalled_share: Option<f64>,
    /// Chunks of another bitrate than the one before, of a player.
    pub switches: f64,
    /// From the opening of the connection to the first picture, within the run; null if there was none.
    pub startup_s: Option<f64>,
    /// Mean bitrate of each player, user by user; null where no chunk came.
    pub player_bitrate_bps: Vec<Option<f64>>,
    /// Share of the time that each player stood still; null where it never played.
    pub player_stalled_share: Vec<Option<f64>>,
}

/// A test of responsiveness during the measurement; means are of all samples but the largest twentieth, within 3.2 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponsivenessRecord {
    /// Foreign probes that were answered.
    pub probes: u64,
    /// Responsiveness in round trips per minute, the mean of the next two; null without samples, as all that follow.
    pub rpm: Option<f64>,
    /// Round trips per minute on connections of their own.
    pub foreign_rpm: Option<f64>,
    /// Round trips per minute on load-generating connections.
    pub loaded_rpm: Option<f64>,
    /// Trimmed mean of handshakes.
    pub tcp_f_s: Option<f64>,
    /// Trimmed mean of requests on new connections.
    pub http_f_s: Option<f64>,
    /// Trimmed mean of round trips on load-generating connections.
    pub http_l_s: Option<f64>,
}

/// What access links lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessLossRecord {
    /// Packets that crossed the access links.
    pub packets: u64,
    /// Those of them that were lost.
    pub lost_packets: u64,
    /// Lost over all; 0 if there were none.
    pub lost_share: f64,
}

/// What packets met on their way from host to receiver during the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathRecord {
    /// Packets that reached their receivers.
    pub delivered_packets: u64,
    /// Packets dropped at access links and links, or lost on their way between them.
    pub dropped_packets: u64,
    /// Packets that reached their receivers with a congestion mark (CE).
    pub marked_packets: u64,
    /// Packets dropped or lost, over those and the delivered ones; null without any.
    pub lost_share: Option<f64>,
    /// Packets delivered with a mark over those delivered; null without any.
    pub marked_share: Option<f64>,
    /// From the host's sending, its access link included, to the receiver; null if no packet reached one.
    pub one_way_delay: Option<TimesRecord>,
    /// Round-trip times as the TCP senders sampled them; null without any.
    pub rtt: Option<TimesRecord>,
}

/// TCP flows: counters over the whole run, and what those got during the measurement that last as long as the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpRecord {
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub fast_recoveries: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Reductions of the window upon congestion marks.
    #[serde(default)]
    pub ecn_reductions: u64,
    /// Times at which the profile's stack would have given the connection up.
    pub would_close: u64,
    /// Tail loss probes.
    #[serde(default)]
    pub tail_loss_probes: u64,
    /// Reductions of the window that were undone, for they were spurious.
    #[serde(default)]
    pub undone_reductions: u64,
    /// Throughput of each lasting flow, user by user: bits on the wire that reached the receiver, per second.
    #[serde(default)]
    pub flow_throughput_bps: Vec<f64>,
    /// Goodput of each lasting flow: payload delivered in order, per second.
    #[serde(default)]
    pub flow_goodput_bps: Vec<f64>,
    /// What the packets of each lasting flow met; empty unless `probes.detail` is `flow`.
    #[serde(default)]
    pub flow_paths: Vec<PathRecord>,
    /// Jain's index over the throughput of the lasting flows; null if there are none or nothing got through.
    #[serde(default)]
    pub jain_index: Option<f64>,
}

/// UDP flows during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpRecord {
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that reached their receivers.
    pub received_packets: u64,
    /// Bits on the wire sent per second, all users together.
    pub sent_bps: f64,
    /// Packets received over packets sent; null if none was sent. Those on the way at either end make it a little
    /// inexact.
    pub delivered_share: Option<f64>,
    /// What the packets of each flow met, user by user; empty unless `probes.detail` is `flow`.
    #[serde(default)]
    pub flow_paths: Vec<PathRecord>,
}

/// Finite transfers that started during the measurement. A transfer lasts from the opening of its connection until its
/// last byte is received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferTimesRecord {
    /// Transfers that started.
    pub started: u64,
    /// Those of them that ended within the run.
    pub completed: u64,
    /// Further ones that were refused, because as many as allowed were open.
    pub refused: u64,
    /// Payload of the transfers that started, per second: the load that was drawn.
    pub offered_bps: f64,
    /// Mean payload of those that started; null if none did.
    pub mean_bytes: Option<f64>,
    /// Mean time of those that ended, exact; null if none did, as all that follow.
    pub mean_s: Option<f64>,
    /// Median, within 3.2 %.
    pub p50_s: Option<f64>,
    /// 90th percentile, within 3.2 %.
    pub p90_s: Option<f64>,
    /// 95th percentile, within 3.2 %.
    pub p95_s: Option<f64>,
    /// 99th percentile, within 3.2 %.
    pub p99_s: Option<f64>,
    /// Longest.
    pub max_s: Option<f64>,
    /// Their times over those that they would have taken alone.
    #[serde(default)]
    pub slowdown: Option<SlowdownRecord>,
    /// Those that ended, by time (`probes.transfer_times`).
    pub by_time: Vec<TransferClassRecord>,
    /// Those that ended, by payload (`probes.transfer_sizes`).
    pub by_size: Vec<TransferClassRecord>,
}

/// Transfers of one class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferClassRecord {
    /// Where the class begins: seconds or bytes.
    pub from: f64,
    /// Where it ends; null for the last class.
    pub to: Option<f64>,
    /// Transfers that ended.
    pub completed: u64,
    /// Those over all that ended; 0 without any.
    pub share: f64,
    /// Their mean time; null if none ended.
    pub mean_s: Option<f64>,
    /// Of a class by payload, the slowdown of those that ended; null if none did.
    #[serde(default)]
    pub slowdown: Option<SlowdownRecord>,
}

/// Times of transfers over those that they would have taken alone: a round trip for the handshake, the way to the
/// receiver, and payload and headers at the rate of the slowest link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowdownRecord {
    /// Mean, exact.
    pub mean: f64,
    /// Median, within 3.2 %.
    pub p50: f64,
    /// 95th percentile, within 3.2 %.
    pub p95: f64,
    /// 99th percentile, within 3.2 %.
    pub p99: f64,
    /// Maximum, exact.
    pub max: f64,
}

/// A finite transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferRecord {
    /// User, counted within its group.
    pub user: u32,
    /// Payload.
    pub bytes: u64,
    /// When the connection was opened, in simulated seconds.
    pub start_s: f64,
    /// When the last byte was received; null if not within the run.
    pub finish_s: Option<f64>,
}

/// An observed link in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRecord {
    /// Name.
    pub name: String,
    /// Rate at the start.
    pub rate_bps: f64,
    /// Busy time over measured time.
    pub utilisation: f64,
    /// Bits on the wire per second, packets lost on the wire left out.
    pub throughput_bps: f64,
    /// What waited.
    pub queue: QueueRecord,
    /// Queueing delay of the classes that had packets.
    pub delay: Vec<DelayRecord>,
    /// Drops, by reason.
    pub drops: Vec<DropRecord>,
    /// Packets dropped or lost of each user, in the order of groups and users.
    #[serde(default)]
    pub user_dropped_packets: Vec<u64>,
    /// Packets that got a congestion mark (CE) instead of being dropped.
    #[serde(default)]
    pub marks: u64,
    /// What became of all packets of the whole run.
    pub accounting: AccountingRecord,
    /// Utilisation if every user got its max-min share.
    #[serde(default)]
    pub max_min_utilisation: f64,
    /// What the queue's scheme remembered at the end of the run, waiting packets left out.
    #[serde(default)]
    pub state: StateRecord,
    /// What the scheme measures and counts itself, at the end of the run; the chapters of the schemes say what it is.
    #[serde(default)]
    pub readings: BTreeMap<String, f64>,
}

/// What a scheme remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateRecord {
    /// Records of flows, users or buckets; 0 for a scheme without any.
    pub records: u64,
    /// Bytes: the fixed part and what the records occupy, their keys included.
    pub bytes: u64,
}

/// Queue length over the measured time; the packet in transmission does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueRecord {
    /// Time-weighted mean in packets.
    pub mean_packets: f64,
    /// Time-weighted mean in bytes.
    pub mean_bytes: f64,
    /// Longest queue seen, in packets.
    pub max_packets: u32,
    /// Fraction of the time with 0, 1, 2 ... packets waiting.
    pub distribution: Vec<f64>,
}

/// Queueing delay of one class: from arrival to start of transmission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelayRecord {
    /// BE or EF.
    pub traffic_class: String,
    /// Packets that were served.
    pub packets: u64,
    /// Mean.
    pub mean_s: f64,
    /// Median, within 3.2 %.
    pub p50_s: f64,
    /// 95th percentile, within 3.2 %.
    pub p95_s: f64,
    /// 99th percentile, within 3.2 %.
    pub p99_s: f64,
    /// Maximum.
    pub max_s: f64,
}

/// Drops for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DropRecord {
    /// As in docs/concepts.md: `aqm`, `overlimit` or `pushed_out`; also `lost`, of a link that loses packets.
    pub reason: String,
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
    /// Packets over packets that arrived.
    pub share_of_arrivals: f64,
    /// Packets that found 0, 1, 2 ... packets waiting; empty for those that were lost on the wire.
    pub queue_histogram: Vec<u64>,
}

/// `arrived = departed + dropped + queued`, in packets, since time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountingRecord {
    /// Offered to the port.
    pub arrived: u64,
    /// Taken into transmission, and not lost on the wire.
    pub departed: u64,
    /// Dropped, or lost on the wire.
    pub dropped: u64,
    /// Waiting at the end.
    pub queued: u64,
}

/// Time series in equal bins from time 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRecord {
    /// Link that they were taken at.
    #[serde(default = "bottleneck")]
    pub link: String,
    /// Length of a bin.
    pub interval_s: f64,
    /// Start of the first bin.
    pub start_s: f64,
    /// Each group: its rates at the link, and what its packets met on their whole way.
    pub groups: Vec<GroupSeriesRecord>,
    /// Mean number of packets waiting.
    pub queue_packets: Vec<f64>,
    /// Mean drop threshold that arrivals met, in the unit of the scheme's thresholds (packets, bytes or seconds);
    /// null where nothing arrived or the scheme has none.
    pub drop_threshold: Vec<Option<f64>>,
}

/// The link of records from before there were others.
fn bottleneck() -> String {
    "bottleneck".into()
}

/// One group over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupSeriesRecord {
    /// Name of the group.
    pub name: String,
    /// Throughput of the whole group in each bin.
    pub throughput_bps: Vec<f64>,
    /// Rate at the end of each bin as a TDRM-UTEMA meter shows it.
    pub rate_bps: Vec<f64>,
    /// Mean delay from host to receiver of the packets that came to the end of their route; null where none did.
    #[serde(default)]
    pub one_way_delay_s: Vec<Option<f64>>,
    /// Mean of the round-trip times that TCP senders sampled; null where none did.
    #[serde(default)]
    pub rtt_s: Vec<Option<f64>>,
    /// Packets dropped over those dropped or delivered; null where there were none.
    #[serde(default)]
    pub lost_share: Vec<Option<f64>>,
    /// Packets delivered with a congestion mark over those delivered; null where none was.
    #[serde(default)]
    pub marked_share: Vec<Option<f64>>,
}

/// How much was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Performance {
    /// Packets that crossed links, access links not counted, warm-up included.
    pub delivered_packets: u64,
    /// Events handled.
    pub events: u64,
}
