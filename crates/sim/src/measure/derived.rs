//! Metrics that no record of the simulator holds: those of the lab, and those derived from records.

/// A metric, declared as those of records; a field that is not given is empty.
#[derive(Clone, Copy, Debug)]
pub struct Derived {
    /// As those of [`Metric`](super::catalogue::Metric).
    pub name: &'static str,
    /// Likewise.
    pub scope: &'static str,
    /// Likewise; of evaluations the column of the measured runs.
    pub path: &'static [&'static str],
    /// Likewise.
    pub unit: &'static str,
    /// Likewise.
    pub shown_as: &'static str,
    /// Likewise.
    pub better: &'static str,
    /// Likewise.
    pub heading: &'static str,
    /// Likewise.
    pub title: &'static str,
    /// Likewise.
    pub source: &'static str,
    /// Likewise.
    pub shown: &'static [&'static str],
    /// Likewise.
    pub doc: &'static str,
}

const NONE: Derived = Derived {
    name: "",
    scope: "",
    path: &[],
    unit: "",
    shown_as: "",
    better: "",
    heading: "",
    title: "",
    source: "",
    shown: &[],
    doc: "",
};

/// The derived metrics. There is no score of all criteria of an evaluation: each stands for itself.
pub const DERIVED: &[Derived] = &[
    Derived {
        name: "smoothed_rtt_mean_s",
        scope: "group",
        path: &["path", "smoothed_rtt", "mean_s"],
        heading: "smoothed RTT mean",
        unit: "s",
        shown_as: "ms",
        better: "low",
        source: "RFC 6298, 2",
        shown: &["columns", "lab"],
        doc: "The kernel's smoothed round-trip time, read once a second of each TCP flow; runs of the lab have it.",
        ..NONE
    },
    Derived {
        name: "smoothed_rtt_p50_s",
        scope: "group",
        path: &["path", "smoothed_rtt", "p50_s"],
        heading: "smoothed RTT p50",
        unit: "s",
        shown_as: "ms",
        better: "low",
        source: "RFC 6298, 2",
        shown: &["columns"],
        doc: "The kernel's smoothed round-trip time, read once a second of each TCP flow; runs of the lab have it.",
        ..NONE
    },
    Derived {
        name: "smoothed_rtt_p95_s",
        scope: "group",
        path: &["path", "smoothed_rtt", "p95_s"],
        heading: "smoothed RTT p95",
        unit: "s",
        shown_as: "ms",
        better: "low",
        source: "RFC 6298, 2",
        shown: &["columns"],
        doc: "The kernel's smoothed round-trip time, read once a second of each TCP flow; runs of the lab have it.",
        ..NONE
    },
    Derived {
        name: "smoothed_rtt_p99_s",
        scope: "group",
        path: &["path", "smoothed_rtt", "p99_s"],
        heading: "smoothed RTT p99",
        unit: "s",
        shown_as: "ms",
        better: "low",
        source: "RFC 6298, 2",
        shown: &["columns"],
        doc: "The kernel's smoothed round-trip time, read once a second of each TCP flow; runs of the lab have it.",
        ..NONE
    },
    Derived {
        name: "smoothed_rtt_max_s",
        scope: "group",
        path: &["path", "smoothed_rtt", "max_s"],
        heading: "smoothed RTT longest",
        unit: "s",
        shown_as: "ms",
        better: "low",
        source: "RFC 6298, 2",
        shown: &["columns"],
        doc: "The kernel's smoothed round-trip time, read once a second of each TCP flow; runs of the lab have it.",
        ..NONE
    },
    Derived {
        name: "retransmitted_segments",
        scope: "group",
        path: &["path", "retransmitted_segments"],
        heading: "retransmitted",
        unit: "segments",
        better: "low",
        shown: &["columns", "lab"],
        doc: "Segments that TCP senders sent again; runs of the lab have it.",
        ..NONE
    },
    Derived {
        name: "dropped_share",
        scope: "link",
        path: &["dropped_share"],
        heading: "dropped",
        unit: "1",
        shown_as: "%",
        better: "low",
        source: "RFC 5166, 2.1.3",
        shown: &["summary", "links", "overview", "report", "drawn", "lab"],
        doc: "Packets dropped for whatever reason over packets that arrived.",
        ..NONE
    },
    Derived {
        name: "goodput_ratio",
        scope: "run",
        path: &["goodput_ratio"],
        heading: "ratio",
        unit: "1",
        shown: &["lab"],
        doc: "Goodput per user of the first group over that of the second.",
        ..NONE
    },
    Derived {
        name: "worst_share",
        scope: "evaluation",
        path: &["share_worst"],
        heading: "worst share",
        title: "share of the worst user",
        unit: "1",
        better: "high",
        source: "RFC 5166; max-min: Bertsekas, Gallager, Data Networks, 6.5.2",
        shown: &["criterion"],
        doc: "Goodput of the judged user who fares worst, over what payload its weighted max-min share of the link \
         carries; 1 at most. Of users, whatever their flows: who shares among flows by default loses where users \
         have many, and enters a second time with `share_per=user`.",
        ..NONE
    },
    Derived {
        name: "jain",
        scope: "evaluation",
        path: &["jain"],
        heading: "Jain",
        title: "Jain's index of the users",
        unit: "1",
        better: "high",
        source: "Jain, Chiu, Hawe, 1984; RFC 5166",
        shown: &["criterion"],
        doc: "Jain's index of the same shares of all judged users.",
        ..NONE
    },
    Derived {
        name: "jain_flows",
        scope: "evaluation",
        path: &["jain_flows"],
        heading: "Jain, flows",
        title: "Jain's index of the flows",
        unit: "1",
        better: "high",
        source: "the same",
        shown: &["criterion"],
        doc: "Jain's index of the throughput of all long TCP flows, whoever their user is: what schemes that share \
         among flows aim at, and those that share among users give up.",
        ..NONE
    },
    Derived {
        name: "harm",
        scope: "evaluation",
        path: &["harm"],
        heading: "harm",
        title: "harm to CUBIC",
        unit: "1",
        better: "low",
        source: "Ware et al., Beyond Jain's Fairness Index, HotNets 2019",
        shown: &["criterion"],
        doc: "What a flow of CUBIC loses beside another sender, over its goodput alone, above what it loses beside its \
         own kind; 0 where it loses no more.",
        ..NONE
    },
    Derived {
        name: "delay_p99",
        scope: "evaluation",
        path: &["delay_p99_s"],
        heading: "delay p99",
        title: "99th percentile of the delay",
        unit: "s",
        better: "low",
        source: "RFC 7928, 2.7",
        shown: &["criterion"],
        doc: "99th percentile of the one-way delay of the judged group that waits longest, propagation left out.",
        ..NONE
    },
    Derived {
        name: "completion",
        scope: "evaluation",
        path: &["completion"],
        heading: "transfers",
        title: "speed of the slowest transfers",
        unit: "1",
        better: "high",
        source: "RFC 7928; RFC 5166",
        shown: &["criterion"],
        doc: "Time that a transfer takes on an empty link over the time that it takes, at the 95th percentile of the \
         times; 1 is an empty link, 0 if more than one in twenty does not finish.",
        ..NONE
    },
    Derived {
        name: "use",
        scope: "evaluation",
        path: &["use"],
        heading: "use",
        title: "use of the link",
        unit: "1",
        better: "high",
        source: "RFC 5166",
        shown: &["criterion"],
        doc: "Time in which the least used link is busy, over that under max-min shares.",
        ..NONE
    },
    Derived {
        name: "convergence",
        scope: "evaluation",
        path: &["convergence_s"],
        heading: "settles",
        title: "time until shares settle",
        unit: "s",
        better: "low",
        source: "RFC 5166",
        shown: &["criterion"],
        doc: "Time from a change until the shares of all groups stay within 10 % of what they are to be, as means of a \
         second; the whole time up to the next change if they never do.",
        ..NONE
    },
    Derived {
        name: "cheats",
        scope: "evaluation",
        path: &["share_worst"],
        heading: "cheats",
        title: "share of the worst honest user beside a cheat",
        unit: "1",
        better: "high",
        source: "our choice",
        shown: &["criterion"],
        doc: "As the share of the worst user, of the honest ones beside a user who plays the scheme.",
        ..NONE
    },
    Derived {
        name: "many_users",
        scope: "evaluation",
        path: &["share_p1"],
        heading: "many users",
        title: "share of the worst hundredth of many users",
        unit: "1",
        better: "high",
        source: "our choice",
        shown: &["criterion"],
        doc: "First percentile of the users' shares, from 10 to 10 000 users.",
        ..NONE
    },
    Derived {
        name: "state_core",
        scope: "evaluation",
        path: &["state_core_bytes"],
        heading: "core state",
        title: "state in the core, 10 000 users",
        unit: "B",
        better: "low",
        source: "our choice",
        shown: &["criterion"],
        doc: "Bytes that the port remembers apart from packets while 10 000 users send: variables, parameters, \
         records.",
        ..NONE
    },
    Derived {
        name: "state_edge",
        scope: "evaluation",
        path: &["state_edge_bytes"],
        heading: "edge state",
        title: "state at the edge for each user",
        unit: "B",
        better: "low",
        source: "the same",
        shown: &["criterion"],
        doc: "Bytes that the markers of the edge remember, over the users.",
        ..NONE
    },
    Derived {
        name: "cost_core",
        scope: "evaluation",
        path: &["cost_core"],
        heading: "core cost",
        title: "instructions in the core",
        unit: "1",
        better: "low",
        source: "docs/costs.md",
        shown: &["criterion"],
        doc: "Instructions for each packet at the port with 1 000 flows, counted by callgrind for default parameters.",
        ..NONE
    },
    Derived {
        name: "cost_edge",
        scope: "evaluation",
        path: &["cost_edge"],
        heading: "edge cost",
        title: "instructions at the edge",
        unit: "1",
        better: "low",
        source: "docs/costs.md",
        shown: &["criterion"],
        doc: "The same of the marker; 0 without one.",
        ..NONE
    },
    Derived {
        name: "worst_share",
        scope: "search",
        path: &["worst_share"],
        heading: "worst share",
        unit: "1",
        better: "high",
        source: "RFC 5166",
        shown: &["objective"],
        doc: "Throughput of the worst user over its max-min share, at most 1.",
        ..NONE
    },
];
