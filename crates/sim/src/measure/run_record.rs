//! Results of a run: the records that are stored, printed and plotted.

use crate::measure::access_record::AccessRecord;
use crate::measure::times_record::{DistributionRecord, TimesRecord};
use crate::measure::users_record::UsersRecord;
use crate::metrics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format of records and results.
pub const SCHEMA: u32 = 2;

metrics! {
    /// One replication of a scenario. The written record is byte-identical on every machine and for any number of
    /// threads.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct RunRecord {
        /// Version of this format.
        schema: u32, unit "", heading "format";
        /// Version of Fairlane.
        version: String;
        /// Name of the scenario.
        scenario: String;
        /// Seed of the scenario.
        seed: u64, unit "", heading "seed";
        /// Number of the replication, from 0.
        replication: u32, unit "", heading "replication";
        /// Start and end of the measurement in simulated seconds.
        window_s: [f64; 2], unit "s", heading "window";
        /// The user groups, in the order of the scenario.
        groups: Vec<GroupRecord>, part "" of "group";
        /// Throughput per user of the first group relative to the second; null without two groups or if the second is
        /// zero.
        throughput_ratio: Option<f64>,
            unit "1", heading "throughput ratio", symbol "T_R", shown "columns summary shares report drawn overview";
        /// Jain's index over the throughput of all users; null if no packet was delivered.
        jain_index: Option<f64>,
            unit "1", better "high", heading "Jain index: users" or "Jain index of users", symbol "J",
            source "Jain, Chiu, Hawe, 1984",
            shown "columns summary shares report overview";
        /// Jain's index over the throughput of all TCP flows that last for the whole run; null if there are none or no
        /// packet was delivered.
        #[serde(default)]
        jain_index_flows: Option<f64>,
            unit "1", better "high", heading "TCP flows" or "Jain index of TCP flows", symbol "J",
            source "Jain, Chiu, Hawe, 1984",
            shown "columns summary shares";
        /// Jain's index over the normalised throughput of all users; null if no packet was delivered.
        #[serde(default)]
        jain_index_normalised: Option<f64>,
            unit "1", better "high", heading "users, normalised" or "Jain index of shares", symbol "J",
            source "Jain, Chiu, Hawe, 1984",
            shown "columns summary shares objective";
        /// The links.
        links: Vec<LinkRecord>, part "" of "link";
        /// State of all markers at the edge when the run ends, summed over users.
        #[serde(default)]
        edge_state: StateRecord, part "edge_state_" heading "edge";
        /// Applications and nodes of an access network; absent on other topologies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        access: Option<AccessRecord>, part "access_";
        /// Time series over the whole run, if the scenario requests them.
        series: Option<SeriesRecord>, part "" of "series";
        /// Amount of simulated work.
        performance: Performance, part "";
        /// CPU time of the simulation itself, if known. It differs between runs, so written records do not contain it.
        #[serde(skip)]
        cpu_seconds: Option<f64>;
    }
}

metrics! {
    /// A user group in one run.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct GroupRecord {
        /// Name.
        name: String;
        /// Number of users.
        users: u32, unit "", heading "users";
        /// Mean throughput per user at the last link of its route: bits on the wire per second.
        throughput_bps: f64,
            unit "bit/s" as "Mbit/s", better "high", heading "throughput/user" or "throughput of a user",
            symbol "T", source "RFC 5166, 2.1.1",
            shown "columns summary groups report overview";
        /// Mean goodput per user: payload delivered (TCP: in order) per second.
        goodput_bps: f64,
            unit "bit/s" as "Mbit/s", better "high", heading "goodput/user" or "goodput of a user",
            source "RFC 5166, 2.1.1",
            shown "columns summary groups";
        /// Throughput of each user; empty with `probes.user_rows = false`, like all lists of users or flows.
        user_throughput_bps: Vec<f64>,
            unit "bit/s" as "Mbit/s", better "high", heading "throughput", symbol "T",
            source "RFC 5166, 2.1.1", of "user",
            shown "summary";
        /// Goodput of each user.
        user_goodput_bps: Vec<f64>,
            unit "bit/s" as "Mbit/s", better "high", heading "goodput", source "RFC 5166, 2.1.1", of "user",
            shown "summary";
        /// Distribution of users' values; absent if each user has a row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_summary: Option<UsersRecord>, part "user_";
        /// Max-min fair share of each user, weighted by `weight` times `reference_rate`: bits on the wire per second.
        /// TCP flows have unlimited demand, UDP flows their mean rate, and web sessions their offered load. The access
        /// link limits the demand of its user.
        #[serde(default)]
        max_min_share_bps: f64,
            unit "bit/s" as "Mbit/s", heading "max-min" or "max-min share of a user",
            source "Bertsekas, Gallager, Data Networks, 6.5.2",
            shown "columns summary";
        /// Mean throughput per user relative to the max-min share; null if the share is zero.
        #[serde(default)]
        normalised_throughput: Option<f64>,
            unit "1", better "high", heading "over max-min share" or "throughput over max-min share",
            source "RFC 5166, 2.3.1",
            shown "columns summary groups";
        /// Delays, drops and marks of the group's packets along their path.
        #[serde(default)]
        path: PathRecord, part "";
        /// Distribution of the one-way delay; absent unless `probes.delay_distribution` is on, or if no packet arrived.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delay_distribution: Option<DistributionRecord>, part "delay_distribution_";
        /// Delays, drops and marks of each user's packets; empty unless `probes.detail` is `user` or `flow`.
        #[serde(default)]
        user_paths: Vec<PathRecord>, part "user_" of "user";
        /// The group's TCP flows; null without TCP flows.
        tcp: Option<TcpRecord>, part "tcp_";
        /// The group's UDP flows; null without UDP flows.
        #[serde(default)]
        udp: Option<UdpRecord>, part "";
        /// Finite transfers of TCP sources, one per flow.
        transfers: Vec<TransferRecord>, part "transfer_" of "transfer";
        /// All finite transfers that started during the measurement; null without a source of transfers.
        #[serde(default)]
        transfer_times: Option<TransferTimesRecord>, part "transfers_";
        /// The group's telephone calls; absent without calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        voip: Option<VoipRecord>, part "voip_" every "columns";
        /// The group's videos; absent without videos.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        video: Option<VideoRecord>, part "video_" every "columns";
        /// The group's test of responsiveness; absent without a test.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        responsiveness: Option<ResponsivenessRecord>, part "responsiveness_" every "columns";
        /// Loss on the group's access links during the measurement; absent without `access_loss`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        access_loss: Option<AccessLossRecord>, part "access_loss_";
        /// Packets changed on the group's access links during the measurement; absent without `access_reorder`,
        /// `access_duplicate` and `access_corrupt`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        access_changes: Option<ChangesRecord>, part "access_";
    }
}

metrics! {
    /// Telephone calls during the measurement; each call has the same weight.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct VoipRecord {
        /// Calls with packets to play; all other fields ignore calls without packets to play.
        calls: u64, unit "", heading "calls";
        /// Mean opinion score by the E-model, 1 to 4.5, as the mean over the calls. This and all following fields are
        /// null without calls.
        mos: Option<f64>,
            unit "1", better "high", heading "MOS", symbol "MOS", source "ITU-T G.107, B-4", shown "applications";
        /// Mean opinion score of the worst call.
        worst_mos: Option<f64>,
            unit "1", better "high", heading "worst MOS", symbol "MOS", source "ITU-T G.107, B-4",
            shown "applications";
        /// Transmission rating R of the E-model, as the mean over the calls.
        r_factor: Option<f64>,
            unit "1", better "high", heading "R" or "transmission rating R", symbol "R",
            source "ITU-T G.107, 7-1", shown "applications";
        /// Mouth-to-ear delay: the sum of packetisation, codec look-ahead, delay of the first packet, and playout
        /// buffer.
        mouth_to_ear_s: Option<f64>,
            unit "s" as "ms", better "low", heading "mouth to ear", symbol "Ta", source "ITU-T G.107",
            shown "applications";
        /// Interarrival jitter of RFC 3550, as the mean over packets and calls.
        jitter_s: Option<f64>,
            unit "s" as "ms", better "low", heading "jitter" or "jitter of calls", symbol "J", source "RFC 3550, 6.4.1",
            shown "applications";
        /// Packets that did not arrive, relative to all packets to play.
        lost_share: Option<f64>,
            unit "1" as "%", better "low", heading "lost" or "lost packets of calls", symbol "Ppl",
            source "ITU-T G.107, 7-29",
            shown "applications";
        /// Packets that arrived too late for the playout buffer, relative to all packets to play.
        late_share: Option<f64>,
            unit "1" as "%", better "low", heading "late" or "late packets of calls", source "our choice",
            shown "applications";
        /// Delay from the sending host to the receiver; null if no packet arrived.
        one_way_delay: Option<TimesRecord>, part "one_way_delay_" heading "one-way" or "one-way delay";
        /// Mean opinion score of each call, user by user; null for calls without packets to play.
        call_mos: Vec<Option<f64>>,
            unit "1", better "high", heading "MOS", symbol "MOS", source "ITU-T G.107, B-4", of "call";
    }
}

metrics! {
    /// Videos during the measurement; each video has the same weight.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct VideoRecord {
        /// Players.
        players: u64, unit "", heading "players";
        /// Mean bitrate of the downloaded chunks; null without chunks.
        bitrate_bps: Option<f64>,
            unit "bit/s" as "Mbit/s", better "high", heading "bitrate" or "bitrate of videos", shown "applications";
        /// Stalls per player: the number of times that its buffer ran empty.
        stalls: f64, unit "1", better "low", heading "stalls", shown "applications";
        /// Stalled time per player, without the start-up.
        stalled_s: f64, unit "s", better "low", heading "stalled" or "time stalled", shown "applications";
        /// Stalled time divided by played plus stalled time; null if both are zero.
        stalled_share: Option<f64>,
            unit "1" as "%", better "low", heading "stalled" or "share of time stalled", shown "applications";
        /// Chunks per player whose bitrate differs from that of the previous chunk.
        switches: f64, unit "1", better "low", heading "switches" or "bitrate switches", shown "applications";
        /// Time from the opening of the connection to the first picture; null if the run ended first.
        startup_s: Option<f64>, unit "s", better "low", heading "start-up" or "start-up time", shown "applications";
        /// Mean bitrate of each player, user by user; null for players without a downloaded chunk.
        player_bitrate_bps: Vec<Option<f64>>, unit "bit/s" as "Mbit/s", better "high", heading "bitrate", of "player";
        /// Fraction of time that each player was stalled; null if it never played.
        player_stalled_share: Vec<Option<f64>>, unit "1" as "%", better "low", heading "stalled", of "player";
    }
}

metrics! {
    /// A test of responsiveness during the measurement. Means exclude the largest 5 % of samples. They are accurate to
    /// 3.2 %.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ResponsivenessRecord {
        /// Foreign probes (on separate connections) that were answered.
        probes: u64, unit "", heading "probes", shown "applications";
        /// Responsiveness in round trips per minute, the mean of the next two fields. This and all following fields are
        /// null without samples.
        rpm: Option<f64>,
            unit "1/min", better "high", heading "round trips per minute", source "draft-ietf-ippm-responsiveness",
            shown "applications";
        /// Round trips per minute on separate connections.
        foreign_rpm: Option<f64>,
            unit "1/min", better "high", heading "of new connections" or "round trips per minute of new connections",
            source "draft-ietf-ippm-responsiveness",
            shown "applications";
        /// Round trips per minute on load-generating connections.
        loaded_rpm: Option<f64>,
            unit "1/min", better "high", heading "on load" or "round trips per minute on load",
            source "draft-ietf-ippm-responsiveness",
            shown "applications";
        /// Trimmed mean of handshake times.
        tcp_f_s: Option<f64>,
            unit "s", better "low", heading "handshake" or "time of a handshake", symbol "tcp_f",
            source "draft-ietf-ippm-responsiveness";
        /// Trimmed mean of request times on new connections.
        http_f_s: Option<f64>,
            unit "s", better "low", heading "request" or "time of a request", symbol "http_f",
            source "draft-ietf-ippm-responsiveness";
        /// Trimmed mean of round-trip times on load-generating connections.
        http_l_s: Option<f64>,
            unit "s", better "low", heading "request on load" or "time of a request on load",
            symbol "http_l", source "draft-ietf-ippm-responsiveness";
    }
}

metrics! {
    /// Losses on access links.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct AccessLossRecord {
        /// Packets that crossed the access links.
        packets: u64, unit "packets", heading "packets";
        /// Packets lost on the access links.
        lost_packets: u64, unit "packets", better "low", heading "lost";
        /// Fraction of packets lost; 0 if there were no packets.
        lost_share: f64, unit "1" as "%", better "low", heading "lost";
    }
}

metrics! {
    /// Packets that impairments changed, but did not lose.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct ChangesRecord {
        /// Packets that skipped the delay.
        reordered_packets: u64, unit "packets", heading "reordered";
        /// Copies of packets, in addition to the packets that arrived.
        duplicated_packets: u64, unit "packets", heading "duplicated";
        /// Packets that were damaged. Their receivers drop them.
        corrupted_packets: u64, unit "packets", better "low", heading "corrupted";
    }
}

metrics! {
    /// Delays, drops and marks of packets from host to receiver during the measurement.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct PathRecord {
        /// Packets that reached their receivers.
        delivered_packets: u64, unit "packets", heading "delivered";
        /// Packets dropped or lost between host and receiver, including access links.
        dropped_packets: u64, unit "packets", better "low", heading "dropped";
        /// Packets that reached their receivers with a congestion mark (CE).
        marked_packets: u64, unit "packets", heading "marked";
        /// Packets dropped or lost, as a fraction of all dropped, lost and delivered packets; null without packets.
        lost_share: Option<f64>,
            unit "1" as "%", better "low", heading "lost" or "lost packets", source "RFC 5166, 2.1.3",
            shown "columns summary paths overview lab";
        /// Fraction of delivered packets with a mark; null without packets.
        marked_share: Option<f64>,
            unit "1" as "%", heading "marked" or "marked packets", source "RFC 3168, 5",
            shown "columns summary paths lab";
        /// Delay from the sending host (including its access link) to the receiver; null if no packet arrived.
        one_way_delay: Option<TimesRecord>, part "one_way_delay_" heading "one-way" or "one-way delay";
        /// Round-trip times sampled by TCP senders; null without samples.
        rtt: Option<TimesRecord>, part "rtt_" heading "RTT";
    }
}

metrics! {
    /// TCP flows: counters over the whole run, and rates of long-lived flows during the measurement.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct TcpRecord {
        /// Retransmission timeouts.
        timeouts: u64, unit "", better "low", heading "timeouts", source "RFC 6298, 5";
        /// Fast recoveries.
        fast_recoveries: u64, unit "", better "low", heading "fast recoveries", source "RFC 6582, 3.2";
        /// Retransmitted segments.
        retransmissions: u64, unit "segments", better "low", heading "retransmitted";
        /// Window reductions upon congestion marks.
        #[serde(default)]
        ecn_reductions: u64, unit "", heading "ECN reductions", source "RFC 3168, 6.1.2";
        /// Number of times that the profile's stack would have aborted a connection.
        would_close: u64, unit "", better "low", heading "would close", source "RFC 1122, 4.2.3.5";
        /// Tail loss probes.
        #[serde(default)]
        tail_loss_probes: u64, unit "", heading "tail loss probes", source "RFC 8985, 7";
        /// Window reductions that were undone because they were spurious.
        #[serde(default)]
        undone_reductions: u64, unit "", heading "undone reductions";
        /// Throughput of each long-lived flow, user by user: bits on the wire that reached the receiver, per second.
        #[serde(default)]
        flow_throughput_bps: Vec<f64>,
            unit "bit/s" as "Mbit/s", better "high", heading "throughput", symbol "T",
            source "RFC 5166, 2.1.1", of "flow", shown "summary";
        /// Goodput of each long-lived flow: payload delivered in order, per second.
        #[serde(default)]
        flow_goodput_bps: Vec<f64>,
            unit "bit/s" as "Mbit/s", better "high", heading "goodput", source "RFC 5166, 2.1.1", of "flow";
        /// Delays, drops and marks of each long-lived flow; empty unless `probes.detail` is `flow`.
        #[serde(default)]
        flow_paths: Vec<PathRecord>, part "flow_" of "flow";
        /// Jain's index over the throughput of the long-lived flows; null if there are none or no packet was delivered.
        #[serde(default)]
        jain_index: Option<f64>,
            unit "1", better "high", heading "TCP flows", symbol "J", source "Jain, Chiu, Hawe, 1984";
    }
}

metrics! {
    /// UDP flows during the measurement.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct UdpRecord {
        /// Packets sent.
        sent_packets: u64, unit "packets", heading "sent";
        /// Packets that reached their receivers.
        received_packets: u64, unit "packets", heading "received";
        /// Bits on the wire sent per second by all users together.
        sent_bps: f64, unit "bit/s" as "Mbit/s", heading "sent";
        /// Packets received divided by packets sent; null if no packet was sent. Packets in flight at the start and end
        /// of the measurement cause a small error.
        delivered_share: Option<f64>,
            unit "1" as "%", better "high", heading "delivered" or "delivered UDP packets", shown "columns summary";
        /// Delays, drops and marks of each flow, user by user; empty unless `probes.detail` is `flow`.
        #[serde(default)]
        flow_paths: Vec<PathRecord>, part "flow_" of "flow";
    }
}

metrics! {
    /// Finite transfers that started during the measurement. A transfer lasts from the opening of its connection until
    /// its last byte is received.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct TransferTimesRecord {
        /// Transfers that started.
        started: u64, unit "", heading "started" or "transfers started", shown "columns";
        /// Transfers that ended within the run.
        completed: u64, unit "", heading "transfers", shown "columns summary transfers";
        /// Transfers refused because the maximum number of transfers was open.
        refused: u64, unit "", better "low", heading "refused";
        /// Payload of the started transfers per second: the offered load.
        offered_bps: f64, unit "bit/s" as "Mbit/s", heading "offered" or "offered load", shown "columns";
        /// Mean payload of started transfers; null if no transfer started.
        mean_bytes: Option<f64>, unit "bytes", heading "mean size";
        /// Mean time of completed transfers, exact. This and all following fields are null if no transfer completed.
        mean_s: Option<f64>,
            unit "s", better "low", heading "mean time", source "RFC 5166, 2.1.2", shown "columns summary transfers";
        /// Median, within 3.2 %.
        p50_s: Option<f64>, unit "s", better "low", heading "median time", shown "columns";
        /// 90th percentile, within 3.2 %.
        p90_s: Option<f64>, unit "s", better "low", heading "p90 time";
        /// 95th percentile, within 3.2 %.
        p95_s: Option<f64>, unit "s", better "low", heading "p95 time", shown "columns summary transfers";
        /// 99th percentile, within 3.2 %.
        p99_s: Option<f64>, unit "s", better "low", heading "p99 time", shown "columns";
        /// Maximum.
        max_s: Option<f64>, unit "s", better "low", heading "longest time", shown "columns";
        /// Slowdown: times of the transfers relative to their times in an empty network.
        #[serde(default)]
        slowdown: Option<SlowdownRecord>, part "slowdown_";
        /// Completed transfers by time (`probes.transfer_times`).
        by_time: Vec<TransferClassRecord>, part "by_time_" of "class";
        /// Completed transfers by payload (`probes.transfer_sizes`).
        by_size: Vec<TransferClassRecord>, part "by_size_" of "class";
    }
}

metrics! {
    /// Transfers of one class.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct TransferClassRecord {
        /// Lower bound of the class: seconds or bytes.
        from: f64, unit "", heading "from";
        /// Upper bound of the class; null for the last class.
        to: Option<f64>, unit "", heading "to";
        /// Completed transfers.
        completed: u64, unit "", heading "transfers";
        /// Fraction of all completed transfers that are in this class; 0 without transfers.
        share: f64, unit "1" as "%", heading "share";
        /// Mean time of the completed transfers; null if no transfer completed.
        mean_s: Option<f64>, unit "s", better "low", heading "mean time";
        /// Slowdown of the completed transfers, for classes by payload; null if no transfer completed.
        #[serde(default)]
        slowdown: Option<SlowdownRecord>, part "slowdown_";
    }
}

metrics! {
    /// Slowdown: times of transfers relative to their times in an empty network. The time in an empty network is a
    /// round trip for the handshake, the delay to the receiver, and the time to send payload and headers at the rate of
    /// the slowest link.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct SlowdownRecord {
        /// Mean, exact.
        mean: f64, unit "1", better "low", heading "mean slowdown", shown "columns summary transfers";
        /// Median, within 3.2 %.
        p50: f64, unit "1", better "low", heading "median slowdown", shown "columns";
        /// 95th percentile, within 3.2 %.
        p95: f64, unit "1", better "low", heading "p95 slowdown", shown "columns";
        /// 99th percentile, within 3.2 %.
        p99: f64, unit "1", better "low", heading "p99 slowdown", shown "columns summary transfers";
        /// Maximum, exact.
        max: f64, unit "1", better "low", heading "longest slowdown", shown "columns";
    }
}

metrics! {
    /// A finite transfer.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct TransferRecord {
        /// User, counted within its group.
        user: u32, unit "", heading "user";
        /// Payload.
        bytes: u64, unit "bytes", heading "size";
        /// Time at which the connection was opened, in simulated seconds.
        start_s: f64, unit "s", heading "start";
        /// Time at which the last byte was received; null if the run ended first.
        finish_s: Option<f64>, unit "s", heading "finish";
    }
}

metrics! {
    /// An observed link in one run.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct LinkRecord {
        /// Name.
        name: String;
        /// Rate at the start.
        rate_bps: f64, unit "bit/s" as "Mbit/s", heading "rate";
        /// Fraction of the measured time that the link was busy.
        utilisation: f64,
            unit "1" as "%", better "high", heading "utilisation", source "RFC 5166, 2.1.1",
            shown "columns summary links report drawn overview objective";
        /// Bits on the wire per second, without packets lost on the wire.
        throughput_bps: f64, unit "bit/s" as "Mbit/s", better "high", heading "throughput", shown "columns summary";
        /// Queue length during the measurement.
        queue: QueueRecord, part "queue_";
        /// Queueing delay of each class that had packets.
        delay: Vec<DelayRecord>, part "delay_" by "traffic_class";
        /// Drops, by reason.
        drops: Vec<DropRecord>, part "dropped_" by "reason";
        /// Dropped or lost packets of each user, ordered by group and user.
        #[serde(default)]
        user_dropped_packets: Vec<u64>, unit "packets", better "low", heading "dropped", of "user";
        /// Packets marked (CE) instead of dropped.
        #[serde(default)]
        marks: u64,
            unit "packets", heading "marked" or "marked packets",
            source "RFC 3168, 5", named "marked_packets", shown "columns";
        /// Accounting of all packets of the whole run.
        accounting: AccountingRecord, part "accounting_";
        /// Utilisation that the link would have if every user got its max-min share.
        #[serde(default)]
        max_min_utilisation: f64, unit "1" as "%", heading "max-min utilisation", shown "summary";
        /// State of the link's scheme at the end of the run, without waiting packets.
        #[serde(default)]
        state: StateRecord, part "state_";
        /// Measurements and counters of the scheme at the end of the run, explained in the scheme's chapter.
        #[serde(default)]
        readings: BTreeMap<String, f64>, unit "", heading "reading", named "reading";
        /// Packets changed on the wire during the measurement; absent without reordering, duplication and corruption.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<ChangesRecord>, part "";
    }
}

metrics! {
    /// State of a scheme.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct StateRecord {
        /// Number of records of flows, users or buckets; 0 for schemes without records.
        records: u64, unit "records", better "low", heading "records" or "state", shown "columns summary";
        /// Bytes of state: the fixed part, and the records with their keys.
        bytes: u64, unit "bytes", better "low", heading "state", shown "columns summary overview";
    }
}

metrics! {
    /// Queue length during the measurement, without the packet in transmission.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct QueueRecord {
        /// Time-weighted mean in packets.
        mean_packets: f64,
            unit "packets", better "low", heading "queue" or "mean queue",
            shown "columns summary links report overview";
        /// Time-weighted mean in bytes.
        mean_bytes: f64, unit "bytes", better "low", heading "queue" or "mean queue", shown "columns summary";
        /// Maximum queue, in packets.
        max_packets: u32, unit "packets", better "low", heading "longest queue", shown "columns";
        /// Fraction of the time with 0, 1, 2 ... packets waiting.
        distribution: Vec<f64>, unit "1", heading "part of the time", of "length";
    }
}

metrics! {
    /// Queueing delay of one class: from arrival to start of transmission.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct DelayRecord {
        /// BE or EF.
        traffic_class: String;
        /// Packets served.
        packets: u64, unit "packets", heading "packets";
        /// Mean.
        mean_s: f64,
            unit "s" as "ms", better "low", heading "mean delay", source "RFC 5166, 2.1.2",
            shown "columns summary delays report drawn overview";
        /// Median, within 3.2 %.
        p50_s: f64, unit "s" as "ms", better "low", heading "p50" or "median delay", shown "columns delays";
        /// 95th percentile, within 3.2 %.
        p95_s: f64, unit "s" as "ms", better "low", heading "p95" or "p95 delay", shown "columns delays";
        /// 99th percentile, within 3.2 %.
        p99_s: f64,
            unit "s" as "ms", better "low", heading "p99 delay", source "RFC 5166, 2.1.2",
            shown "columns summary delays report overview objective";
        /// Maximum.
        max_s: f64, unit "s" as "ms", better "low", heading "longest" or "longest delay", shown "columns";
    }
}

metrics! {
    /// Drops for one reason.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct DropRecord {
        /// `aqm`, `overlimit` or `pushed_out` (docs/concepts.md), or `lost` for packets lost on the link.
        reason: String;
        /// Dropped packets.
        packets: u64, unit "packets", better "low", heading "drops" or "dropped packets", shown "columns summary drops";
        /// Dropped bytes.
        bytes: u64, unit "bytes", better "low", heading "dropped";
        /// Dropped packets as a fraction of arriving packets.
        share_of_arrivals: f64,
            unit "1" as "%", better "low", heading "share of arrivals" or "dropped share of arrivals",
            shown "summary drops";
        /// Dropped packets by the number of packets (0, 1, 2 ...) in the queue on their arrival; empty for packets lost
        /// on the wire.
        queue_histogram: Vec<u64>, unit "packets", heading "drops", of "length";
    }
}

metrics! {
    /// `arrived = departed + dropped + queued`, in packets, since time 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct AccountingRecord {
        /// Packets offered to the port.
        arrived: u64, unit "packets", heading "arrived";
        /// Packets transmitted and not lost on the wire.
        departed: u64, unit "packets", heading "departed";
        /// Packets dropped, or lost on the wire.
        dropped: u64, unit "packets", heading "dropped";
        /// Packets waiting at the end of the run.
        queued: u64, unit "packets", heading "queued";
    }
}

metrics! {
    /// Time series in equal bins from time 0.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct SeriesRecord {
        /// Link at which the series were measured.
        #[serde(default = "bottleneck")]
        link: String;
        /// Length of a bin.
        interval_s: f64, unit "s", heading "bin";
        /// Start of the first bin.
        start_s: f64, unit "s", heading "start";
        /// Series of each group: its rates at the link, and delays, drops and marks along the whole path.
        groups: Vec<GroupSeriesRecord>, part "" of "series of a group";
        /// Mean number of packets waiting.
        queue_packets: Vec<f64>, unit "packets", heading "queue", of "series of a link";
        /// Mean drop threshold of arriving packets, in the unit of the scheme's thresholds (packets, bytes or seconds).
        /// Null if no packet arrived or the scheme has no threshold.
        drop_threshold: Vec<Option<f64>>, unit "", heading "drop threshold", of "series of a link";
        /// Recovery from faults; absent without an impairment of the link, or of access links, that starts and ends
        /// during the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        recoveries: Vec<RecoveryRecord>, part "recovery_" of "fault";
    }
}

metrics! {
    /// Recovery from a fault. The throughput is that of the link or, after a fault of access links, of their group.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct RecoveryRecord {
        /// Key of the impairment.
        key: String;
        /// Mean throughput in the second half of the time before the fault.
        before_bps: f64, unit "bit/s" as "Mbit/s", heading "before";
        /// Time from the end of the fault to the first bin with 80 % of this throughput; null if there is none.
        recovery_s: Option<f64>, unit "s", better "low", heading "recovery";
        /// Segments whose data had already arrived, from the start of the fault to that of the next one or the end of
        /// the run. They are spurious retransmissions, or copies of an impairment.
        #[serde(default)]
        spurious_retransmissions: u64, unit "segments", better "low", heading "spurious";
    }
}

/// Default for old records, which have only one link.
fn bottleneck() -> String {
    "bottleneck".into()
}

metrics! {
    /// Series of one group.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct GroupSeriesRecord {
        /// Name of the group.
        name: String;
        /// Throughput of the whole group in each bin.
        throughput_bps: Vec<f64>, unit "bit/s" as "Mbit/s", heading "throughput";
        /// Rate at the end of each bin, measured with TDRM-UTEMA.
        rate_bps: Vec<f64>,
            unit "bit/s" as "Mbit/s", heading "metered rate", symbol "r", source "abc2018, (1) to (4)";
        /// Mean delay from host to receiver of packets that reached the end of their route; null without packets.
        #[serde(default)]
        one_way_delay_s: Vec<Option<f64>>, unit "s" as "ms", heading "one-way delay";
        /// Mean of the round-trip times sampled by TCP senders; null without samples.
        #[serde(default)]
        rtt_s: Vec<Option<f64>>, unit "s" as "ms", heading "RTT";
        /// Packets dropped, as a fraction of dropped and delivered packets; null without packets.
        #[serde(default)]
        lost_share: Vec<Option<f64>>, unit "1" as "%", heading "lost";
        /// Fraction of delivered packets with a congestion mark; null without packets.
        #[serde(default)]
        marked_share: Vec<Option<f64>>, unit "1" as "%", heading "marked";
    }
}

metrics! {
    /// Amount of simulated work.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Performance {
        /// Packets sent by all links except access links, including the warm-up.
        delivered_packets: u64, unit "packets", heading "delivered";
        /// Events handled.
        events: u64, unit "", heading "events";
    }
}
