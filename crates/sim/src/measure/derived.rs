//! Metrics outside the simulator's records: from the lab, or computed from records.

use crate::measure::metric::Metric;

/// Defines a function that returns metrics. Each is declared like a field of a record, with a scope and a path.
macro_rules! derived {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident of $scope:literal at $($path:ident).+, unit $unit:literal $(as $shown_as:literal)?
            $(, better $better:literal)?, heading $heading:literal $(or $title:literal)?
            $(, source $source:literal)?, shown $shown:literal;
    )*) => {
        /// Derived metrics. An evaluation has a separate value for each criterion, and no overall score.
        #[must_use]
        pub fn derived() -> Vec<Metric> {
            vec![$(Metric {
                name: stringify!($name).into(),
                scope: $scope,
                path: vec![$(stringify!($path)),+],
                unit: $unit,
                shown_as: [$unit, $($shown_as)?].last().unwrap_or(&""),
                better: concat!($($better)?),
                heading: $heading.into(),
                title: [$heading, $($title)?].last().unwrap_or(&"").to_string(),
                symbol: "",
                source: concat!($($source)?),
                by: "",
                shown: $shown.split_whitespace().collect(),
                about: String::new(),
                doc: concat!($($doc),+).trim().into(),
            },)*]
        }
    };
}

derived! {
    /// The kernel's smoothed round-trip time of each TCP flow, sampled once a second; only in lab runs.
    smoothed_rtt_mean_s of "group" at path.smoothed_rtt.mean_s,
        unit "s" as "ms", better "low", heading "smoothed RTT mean", source "RFC 6298, 2", shown "columns lab";
    /// The kernel's smoothed round-trip time of each TCP flow, sampled once a second; only in lab runs.
    smoothed_rtt_p50_s of "group" at path.smoothed_rtt.p50_s,
        unit "s" as "ms", better "low", heading "smoothed RTT p50", source "RFC 6298, 2", shown "columns";
    /// The kernel's smoothed round-trip time of each TCP flow, sampled once a second; only in lab runs.
    smoothed_rtt_p95_s of "group" at path.smoothed_rtt.p95_s,
        unit "s" as "ms", better "low", heading "smoothed RTT p95", source "RFC 6298, 2", shown "columns";
    /// The kernel's smoothed round-trip time of each TCP flow, sampled once a second; only in lab runs.
    smoothed_rtt_p99_s of "group" at path.smoothed_rtt.p99_s,
        unit "s" as "ms", better "low", heading "smoothed RTT p99", source "RFC 6298, 2", shown "columns";
    /// The kernel's smoothed round-trip time of each TCP flow, sampled once a second; only in lab runs.
    smoothed_rtt_max_s of "group" at path.smoothed_rtt.max_s,
        unit "s" as "ms", better "low", heading "smoothed RTT longest", source "RFC 6298, 2", shown "columns";
    /// Segments retransmitted by TCP senders; only in lab runs.
    retransmitted_segments of "group" at path.retransmitted_segments,
        unit "segments", better "low", heading "retransmitted", shown "columns lab";
    /// Packets dropped for any reason, as a fraction of packets that arrived.
    dropped_share of "link" at dropped_share,
        unit "1" as "%", better "low", heading "dropped", source "RFC 5166, 2.1.3",
        shown "summary links overview report drawn lab";
    /// Goodput per user of the first group relative to the second.
    goodput_ratio of "run" at goodput_ratio, unit "1", heading "ratio", shown "lab";
    /// Goodput of the worst-off evaluated user, relative to the payload of its weighted max-min share of the link; at
    /// most 1. Shares are per user, regardless of the number of flows. Schemes that share among flows therefore score
    /// lower if users have several flows, so they have a second entry with `share_per=user`.
    worst_share of "evaluation" at share_worst,
        unit "1", better "high", heading "worst share" or "share of the worst user",
        source "RFC 5166; max-min: Bertsekas, Gallager, Data Networks, 6.5.2", shown "criterion";
    /// Jain's index of the shares of all evaluated users.
    jain of "evaluation" at jain,
        unit "1", better "high", heading "Jain" or "Jain's index of the users",
        source "Jain, Chiu, Hawe, 1984; RFC 5166", shown "criterion";
    /// Jain's index of the throughput of all long-lived TCP flows of all users. Schemes that share among flows maximise
    /// it; schemes that share among users do not.
    jain_flows of "evaluation" at jain_flows,
        unit "1", better "high", heading "Jain, flows" or "Jain's index of the flows", source "the same",
        shown "criterion";
    /// Fraction of its goodput that a CUBIC flow loses next to another sender, minus the fraction that it loses next to
    /// another CUBIC flow; at least 0.
    harm of "evaluation" at harm,
        unit "1", better "low", heading "harm" or "harm to CUBIC",
        source "Ware et al., Beyond Jain's Fairness Index, HotNets 2019", shown "criterion";
    /// 99th percentile of the one-way delay without propagation, in the evaluated group with the longest delay.
    delay_p99 of "evaluation" at delay_p99_s,
        unit "s", better "low", heading "delay p99" or "99th percentile of the delay", source "RFC 7928, 2.7",
        shown "criterion";
    /// Transfer time on an empty link divided by the 95th percentile of transfer times. 1 means an empty link; 0 means
    /// that more than one transfer in twenty does not finish.
    completion of "evaluation" at completion,
        unit "1", better "high", heading "transfers" or "speed of the slowest transfers", source "RFC 7928; RFC 5166",
        shown "criterion";
    /// Utilisation of the least used link, relative to its utilisation under max-min shares.
    use of "evaluation" at use,
        unit "1", better "high", heading "use" or "use of the link", source "RFC 5166", shown "criterion";
    /// Time from a change until the shares of all groups, averaged over a second, stay within 10 % of their targets. If
    /// they never do, the time until the next change.
    convergence of "evaluation" at convergence_s,
        unit "s", better "low", heading "settles" or "time until shares settle", source "RFC 5166", shown "criterion";
    /// `worst_share` of the honest users, while another user games the scheme.
    cheats of "evaluation" at share_worst,
        unit "1", better "high", heading "cheats" or "share of the worst honest user beside a cheat",
        source "our choice", shown "criterion";
    /// 1st percentile of the users' shares, in scenarios with 10 to 10 000 users.
    many_users of "evaluation" at share_p1,
        unit "1", better "high", heading "many users" or "share of the worst hundredth of many users",
        source "our choice", shown "criterion";
    /// State of the port in bytes while 10 000 users send: variables, parameters and records, without packets.
    state_core of "evaluation" at state_core_bytes,
        unit "B", better "low", heading "core state" or "state in the core, 10 000 users", source "our choice",
        shown "criterion";
    /// State of the edge's markers in bytes per user.
    state_edge of "evaluation" at state_edge_bytes,
        unit "B", better "low", heading "edge state" or "state at the edge for each user", source "the same",
        shown "criterion";
    /// Instructions per packet at the port with 1 000 flows, counted by callgrind with default parameters.
    cost_core of "evaluation" at cost_core,
        unit "1", better "low", heading "core cost" or "instructions in the core", source "docs/costs.md",
        shown "criterion";
    /// Instructions per packet at the marker, counted like `cost_core`; 0 without a marker.
    cost_edge of "evaluation" at cost_edge,
        unit "1", better "low", heading "edge cost" or "instructions at the edge", source "docs/costs.md",
        shown "criterion";
    /// Throughput of the worst-off user relative to its max-min share, at most 1.
    worst_share of "search" at worst_share,
        unit "1", better "high", heading "worst share", source "RFC 5166", shown "objective";
}
