//! Partitions the network of one run into parts, one for each thread.
//!
//! Links and groups of users are never split. A link has a queue and a transmitter whose state every packet touches. A
//! group has senders, receivers and probes. Packets between links and groups take the propagation delay, so the network
//! may be cut there: from hosts to their first link, from a link to the next one, and from the last link to the
//! receivers. The shortest delay of all cuts is the *lookahead*. Within this time, events in one part cannot affect
//! another part.
//!
//! A longer lookahead means fewer synchronisations, but also fewer pieces to distribute. The search tries each delay in
//! the network as the minimum delay of a cut. It assigns the resulting pieces to parts in the order of the scenario, so
//! that neighbours stay together, and estimates the run time of each partition. The best partition is used if it saves
//! enough time.

use crate::network::delays;
use crate::scenario::{GroupConfig, Placement, Scenario, SourceConfig, TcpSourceParams};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::registry::markers::MarkerConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Reason for running on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyWhole {
    /// There is only one link.
    OneLink,
    /// There is a reverse link.
    TwoWay,
    /// A scheme or a congestion control is external.
    External,
    /// A queue holds packets back while its link is idle.
    HoldsBack,
    /// Transfers or markers share a random stream.
    SharedStreams,
    /// The meters of flows are in one shared table.
    MetersOfFlows,
    /// A partition would save too little time.
    NoGain,
}

impl fmt::Display for WhyWhole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneLink => "there is one link, and its queue is one state that every packet touches",
            Self::TwoWay => "acknowledgements wait at the reverse link with data, and both ends share their flows",
            Self::External => "a scheme or a congestion control is from outside",
            Self::HoldsBack => "a queue holds packets back while its link is idle, which no window waits for",
            Self::SharedStreams => "its transfers or markers draw from one random stream in the order of events",
            Self::MetersOfFlows => "the edge has a table of flows, whose size is a result",
            Self::NoGain => "too little happens within the delay of the links at which the network could be cut",
        })
    }
}

/// Approximate costs of a packet in nanoseconds, of which only the ratios matter. They are the costs at sender and
/// receiver (including acknowledgements), at a link, and of passing the packet to another part.
const HOST_NS: f64 = 120.0;
const LINK_NS: f64 = 50.0;
const PARCEL_NS: f64 = 30.0;
/// Cost of the synchronisation after a window, per thread, in nanoseconds.
const WINDOW_NS: f64 = 1500.0;
/// Minimum speed-up over one thread.
const LEAST_GAIN: f64 = 1.15;
/// Maximum number of delays tried as the minimum delay of a cut.
const MOST_TRIED: usize = 32;

/// Assignment of entities to parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    parts: usize,
    lookahead: Time,
    of_link: Vec<u16>,
    of_user: Vec<u16>,
    /// True for links with packets that continue in another part.
    cut: Vec<bool>,
    /// True for users whose first link is in another part.
    enters_elsewhere: Vec<bool>,
}

impl Partition {
    /// Fastest partition of a scenario into at most `threads` parts.
    ///
    /// # Errors
    /// The scenario cannot be partitioned, or a partition would save too little time.
    pub fn new(scenario: &Scenario, threads: usize) -> Result<Self, WhyWhole> {
        let candidates = Self::candidates(scenario, threads)?;
        let best = candidates.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).ok_or(WhyWhole::NoGain)?;
        if best.1 * LEAST_GAIN < 1.0 { Ok(best.0) } else { Err(WhyWhole::NoGain) }
    }

    /// Returns all candidate partitions of a scenario into at most `threads` parts, each with its estimated run time
    /// relative to one thread.
    ///
    /// # Errors
    /// The scenario cannot be partitioned.
    pub fn candidates(scenario: &Scenario, threads: usize) -> Result<Vec<(Self, f64)>, WhyWhole> {
        check(scenario)?;
        let graph = Graph::new(scenario);
        let threads = threads.min(usize::from(u16::MAX));
        let mut delays: BTreeSet<Time> =
            graph.edges.iter().map(|edge| edge.delay).filter(|&d| d > Time::ZERO).collect();
        let mut candidates = Vec::new();
        for _ in 0..MOST_TRIED {
            let Some(least) = delays.pop_last() else { break };
            if let Some(partition) = graph.dealt_out(least, threads)
                && candidates.iter().all(|(known, _)| *known != partition)
            {
                let time = graph.time_by(&partition);
                candidates.push((partition, time));
            }
        }
        Ok(candidates)
    }

    /// Number of parts.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Lookahead: time within which parts cannot affect each other.
    #[must_use]
    pub fn lookahead(&self) -> Time {
        self.lookahead
    }

    /// Part of a link.
    #[must_use]
    #[inline]
    pub fn part_of_link(&self, link: u32) -> u16 {
        self.of_link[link as usize]
    }

    /// Part of a user.
    #[must_use]
    #[inline]
    pub fn part_of_user(&self, user: u32) -> u16 {
        self.of_user[user as usize]
    }

    /// Returns true if some packets of a link continue in another part.
    #[must_use]
    #[inline]
    pub fn is_cut(&self, link: u32) -> bool {
        self.cut[link as usize]
    }

    /// Returns true if the first link of a user is in another part.
    #[must_use]
    #[inline]
    pub fn enters_elsewhere(&self, user: u32) -> bool {
        self.enters_elsewhere[user as usize]
    }
}

fn check(scenario: &Scenario) -> Result<(), WhyWhole> {
    if scenario.topology.links.len() < 2 {
        return Err(WhyWhole::OneLink);
    }
    if scenario.topology.has_reverse_link {
        return Err(WhyWhole::TwoWay);
    }
    if scenario.is_external() {
        return Err(WhyWhole::External);
    }
    if scenario.has_shaper() {
        return Err(WhyWhole::HoldsBack);
    }
    let has_passing_flows = |source: &SourceConfig| match source {
        SourceConfig::Tcp { flows: TcpSourceParams { repeat, .. }, .. } => *repeat > 1,
        SourceConfig::Web { .. } | SourceConfig::Transfers { .. } | SourceConfig::Rpm { .. } => true,
        SourceConfig::Video { .. } | SourceConfig::Udp(_) => false,
    };
    let passing = scenario.groups.iter().flat_map(|group| &group.sources).any(has_passing_flows);
    let labelled = scenario.marker != MarkerConfig::None;
    if !scenario.own_streams && (passing || labelled) {
        return Err(WhyWhole::SharedStreams);
    }
    if scenario.marker.build(&[]).is_of_flows() {
        return Err(WhyWhole::MetersOfFlows);
    }
    Ok(())
}

/// An edge of the graph. Packets between nodes `from` and `to` take at least `delay`. Nodes are links and, with higher
/// numbers, homes.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    to: usize,
    delay: Time,
}

/// Graph of links and homes with the delays between them.
struct Graph<'a> {
    links: usize,
    /// Homes: users of a group with the same route, which are never split.
    homes: Vec<Placement<'a>>,
    /// Nanoseconds of work per simulated second, by node.
    work: Vec<f64>,
    /// Packets per second, by home.
    packets: Vec<f64>,
    edges: Vec<Edge>,
    /// Nodes in the order in which the routes of the homes reach them.
    order: Vec<usize>,
    end: Time,
}

impl<'a> Graph<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let links = scenario.topology.links.len();
        let homes = scenario.placements();
        let packets = packet_rates(scenario, &homes);
        let nodes = links + homes.len();
        let mut graph = Self {
            links,
            homes,
            work: vec![0.0; nodes],
            packets,
            edges: Vec::new(),
            order: Vec::new(),
            end: scenario.run.end(),
        };
        graph.add_routes(scenario);
        if scenario.probes.series_interval.is_some() {
            graph.keep_groups_together();
        }
        graph
    }

    fn add_routes(&mut self, scenario: &Scenario) {
        let behind = |link: u32| {
            let config = &scenario.topology.links[link as usize];
            if config.impairments.any() { Time::ZERO } else { config.params.delay }
        };
        let mut is_known = vec![false; self.work.len()];
        for (index, home) in self.homes.iter().enumerate() {
            let (node, route) = (self.links + index, &home.config.route);
            self.work[node] += self.packets[index] * HOST_NS;
            let mut before = (node, first_delay(&home.config));
            for &link in route {
                self.work[link as usize] += self.packets[index] * LINK_NS;
                self.edges.push(Edge { from: before.0, to: link as usize, delay: before.1 });
                before = (link as usize, behind(link));
            }
            self.edges.push(Edge { from: before.0, to: node, delay: before.1 });
            for node in route.iter().map(|&link| link as usize).chain([node]) {
                if !std::mem::replace(&mut is_known[node], true) {
                    self.order.push(node);
                }
            }
        }
        self.order.extend((0..is_known.len()).filter(|&node| !is_known[node]));
    }

    /// Puts all users of a group into the same part, because sums in its time series depend on the order of events.
    fn keep_groups_together(&mut self) {
        let mut first_of_group = BTreeMap::new();
        for (index, home) in self.homes.iter().enumerate() {
            let (node, delay) = (self.links + index, Time::ZERO);
            let from = *first_of_group.entry(home.group).or_insert(node);
            self.edges.push(Edge { from, to: node, delay });
        }
    }

    /// Assigns the pieces to parts of similar work. A piece is a set of nodes that delays below `least` connect.
    /// Returns `None` if there is only one part.
    fn dealt_out(&self, least: Time, threads: usize) -> Option<Partition> {
        let pieces = self.pieces(least);
        let mut piece_work = vec![0.0; pieces.len()];
        for (piece, work) in pieces.iter().zip(&self.work) {
            piece_work[*piece] += work;
        }
        let total = self.work.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut part_of_piece = vec![None; pieces.len()];
        let (mut before, mut shares) = (0.0, Vec::new());
        for piece in self.order.iter().map(|&node| pieces[node]) {
            if part_of_piece[piece].is_some() {
                continue;
            }
            let middle = (before + piece_work[piece] / 2.0) / total;
            before += piece_work[piece];
            let share = ((middle * threads as f64) as usize).min(threads - 1);
            // Leaves out parts without any piece.
            if shares.last() != Some(&share) {
                shares.push(share);
            }
            part_of_piece[piece] = Some(shares.len() as u16 - 1);
        }
        let part = |node: usize| part_of_piece[pieces[node]].unwrap_or_default();
        (shares.len() > 1).then(|| self.cut_by(shares.len(), part))
    }

    /// Returns the partition in which `part` gives the part of each node.
    fn cut_by(&self, parts: usize, part: impl Fn(usize) -> u16) -> Partition {
        let crossed = || self.edges.iter().filter(|edge| part(edge.from) != part(edge.to));
        let mut cut = vec![false; self.links];
        for edge in crossed().filter(|edge| edge.from < self.links) {
            cut[edge.from] = true;
        }
        let (mut of_user, mut enters_elsewhere) = (Vec::new(), Vec::new());
        for (node, home) in (self.links..).zip(&self.homes) {
            let users = of_user.len() + home.config.params.users as usize;
            of_user.resize(users, part(node));
            enters_elsewhere.resize(users, part(node) != part(home.config.route[0] as usize));
        }
        Partition {
            parts,
            lookahead: crossed().map(|edge| edge.delay).min().unwrap_or(self.end),
            of_link: (0..self.links).map(&part).collect(),
            of_user,
            cut,
            enters_elsewhere,
        }
    }

    /// Returns the lowest node of each node's piece. Nodes connected by delays below `least` are in the same piece.
    fn pieces(&self, least: Time) -> Vec<usize> {
        let mut above: Vec<usize> = (0..self.work.len()).collect();
        for edge in self.edges.iter().filter(|edge| edge.delay < least) {
            let (a, b) = (root(&mut above, edge.from), root(&mut above, edge.to));
            above[a.max(b)] = a.min(b);
        }
        (0..above.len()).map(|node| root(&mut above, node)).collect()
    }

    /// Estimated run time of this partition relative to one thread.
    fn time_by(&self, partition: &Partition) -> f64 {
        let mut work = vec![0.0; partition.parts];
        for (link, of_link) in self.work[..self.links].iter().enumerate() {
            work[usize::from(partition.of_link[link])] += of_link;
        }
        let mut first_user = 0;
        for (index, home) in self.homes.iter().enumerate() {
            let (own, packets) = (usize::from(partition.of_user[first_user]), self.packets[index]);
            work[own] += self.work[self.links + index];
            let parcels = packets * PARCEL_NS;
            if partition.enters_elsewhere[first_user] {
                work[own] += parcels;
                work[usize::from(partition.part_of_link(home.config.route[0]))] += parcels;
            }
            for &link in home.config.route.iter().filter(|&&link| partition.is_cut(link)) {
                work[usize::from(partition.part_of_link(link))] += 2.0 * parcels;
            }
            first_user += home.config.params.users as usize;
        }
        let whole = self.work.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let window_s = partition.lookahead.as_secs_f64();
        let most = work.iter().copied().fold(0.0, f64::max);
        // If a part has n packets per window on average, the busiest part of a window has about sqrt(n) packets more.
        let spread = (most * window_s / HOST_NS).sqrt() * HOST_NS / window_s;
        (most + spread + WINDOW_NS / window_s) / whole
    }
}

fn root(above: &mut [usize], mut node: usize) -> usize {
    while above[node] != node {
        above[node] = above[above[node]];
        node = above[node];
    }
    node
}

/// Minimum time from the sending of a packet until it enters the first link of a group's route.
fn first_delay(group: &GroupConfig) -> Time {
    let of_link = |&delay: &Time| if group.access.any() { Time::ZERO } else { delays(&group.access, delay).0 };
    group.access_delays.iter().map(of_link).min().unwrap_or(Time::ZERO)
}

/// Estimated packets of 1500 bytes that the users of each home send per second: their demand, reduced if a link of
/// their route is overloaded.
fn packet_rates(scenario: &Scenario, homes: &[Placement<'_>]) -> Vec<f64> {
    let topology = &scenario.topology;
    let asked = |Placement { config, .. }: &Placement<'_>| {
        let access = config.params.access_rate.unwrap_or(topology.access.access_rate).as_f64();
        let rate = |(number, source): (usize, &SourceConfig)| match source {
            SourceConfig::Udp(udp) => udp.mean_rate_bps(),
            SourceConfig::Video { video, .. } => video.ladder.last().map_or(0.0, |rate| rate.as_f64()),
            SourceConfig::Web { web, .. } => web.interval.map_or(f64::INFINITY, |interval| {
                f64::from(web.pages) * f64::from(web.objects) * 8.0 * web.size.0 as f64 / interval.as_secs_f64()
            }),
            SourceConfig::Transfers { transfers, tcp } => {
                let slowest = scenario.slowest_link(config.route_of(number));
                let interval = transfers.interval(tcp, config.params.users, slowest);
                8.0 * transfers.sizes().mean() / interval.as_secs_f64()
            }
            SourceConfig::Tcp { .. } | SourceConfig::Rpm { .. } => f64::INFINITY,
        };
        f64::from(config.params.users) * config.sources.iter().enumerate().map(rate).sum::<f64>().min(access)
    };
    let asked: Vec<f64> = homes.iter().map(asked).collect();
    let mut load = vec![0.0; topology.links.len()];
    for (home, rate) in homes.iter().zip(&asked) {
        home.config.route.iter().for_each(|&link| load[link as usize] += rate);
    }
    let share = |&link: &u32| (topology.links[link as usize].params.rate.as_f64() / load[link as usize]).min(1.0);
    let bits = 8.0 * 1500.0;
    let passed =
        |(home, rate): (&Placement<'_>, &f64)| rate * home.config.route.iter().map(share).fold(1.0, f64::min) / bits;
    homes.iter().zip(&asked).map(passed).collect()
}
