//! Measures delays, drops and marks of packets from host to receiver, by group, and optionally by user and flow. Memory
//! does not grow with simulated time.

use super::path_series::PathSeries;
use crate::network::sim_packet::{PacketKind, SimPacket};
use crate::network::way_back::WayBack;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::Ecn;
use fairlane_schemes::port::DelayHistogram;

/// A packet that was dropped or lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// User of the packet.
    pub user: u32,
    /// Flow of the packet.
    pub flow: u32,
    /// Time of the drop or loss.
    pub at: Time,
    /// True for an acknowledgement in a packet.
    pub is_ack: bool,
    /// Slot of the acknowledgement.
    pub slot: u32,
}

impl Loss {
    /// Creates the loss of a packet at `at`.
    #[must_use]
    pub fn of(packet: &SimPacket, at: Time) -> Self {
        let is_ack = packet.kind == PacketKind::Ack;
        Self { user: packet.user, flow: packet.flow, at, is_ack, slot: packet.seq }
    }
}

/// Measurements of the packets of a group, a user or a flow.
#[derive(Clone, Debug, Default)]
pub struct PathProbe {
    /// Delay of delivered packets from the sending host to the receiver.
    pub one_way_delay: DelayHistogram,
    /// Round-trip times sampled by senders.
    pub rtt: DelayHistogram,
    /// Number of packets that reached the receiver with a congestion mark.
    pub marked: u64,
    /// Number of packets dropped at access links and at other links, or lost between links.
    pub dropped: u64,
}

impl PathProbe {
    #[inline(always)]
    fn delivered(&mut self, packet: &SimPacket, arrival: Time) {
        self.one_way_delay.record(arrival - packet.timestamp);
        if packet.ecn == Ecn::Ce {
            self.marked += 1;
        }
    }

    /// Adds the counts of the same probe in another partition of the network, simulated by another thread.
    fn add(&mut self, other: &Self) {
        self.one_way_delay.add(&other.one_way_delay);
        self.rtt.add(&other.rtt);
        self.marked += other.marked;
        self.dropped += other.dropped;
    }
}

/// The probes of a run.
#[derive(Clone, Debug, Default)]
pub struct PathProbes {
    group_of_user: Vec<u16>,
    groups: Vec<PathProbe>,
    /// For each group, the delay from the end of its route to its receivers; empty if routes end at the receivers.
    receivers: Vec<WayBack>,
    /// Probes of users; empty unless users are observed.
    users: Vec<PathProbe>,
    /// Probes of long-lived flows, by flow number; empty unless flows are observed.
    flows: Vec<PathProbe>,
    /// Delay of the packets of each application; empty unless applications are observed.
    applications: Vec<PathProbe>,
    /// For each hop that ends a route, by hop number: the application whose packets take the route.
    application_of_hop: Vec<u16>,
    /// Time series of the whole run, including the time before the measurement.
    series: Option<Box<PathSeries>>,
    /// True if users, flows, applications or a time series are observed in addition to groups, or if a route ends
    /// before its receiver.
    is_detailed: bool,
}

impl PathProbes {
    /// Observes one group per entry of `receivers`, and the given numbers of users and flows. `group_of_user` has an
    /// entry for each user.
    #[must_use]
    pub fn new(
        group_of_user: Vec<u16>,
        receivers: Vec<WayBack>,
        (users, flows): (usize, usize),
        series: Option<PathSeries>,
    ) -> Self {
        let groups = vec![PathProbe::default(); receivers.len()];
        let is_detailed =
            users + flows > 0 || series.is_some() || receivers.iter().any(|way| *way != WayBack::default());
        Self {
            group_of_user,
            groups,
            receivers,
            users: vec![PathProbe::default(); users],
            flows: vec![PathProbe::default(); flows],
            applications: Vec::new(),
            application_of_hop: Vec::new(),
            series: series.map(Box::new),
            is_detailed,
        }
    }

    /// Also observes `count` applications. `application_of_hop` has the application of each hop that ends a route.
    pub fn observe_applications(&mut self, count: usize, application_of_hop: Vec<u16>) {
        self.applications = vec![PathProbe::default(); count];
        self.application_of_hop = application_of_hop;
        self.is_detailed |= count > 0;
    }

    /// Packet delays of each application, without drops and round-trip times.
    #[must_use]
    pub fn applications(&self) -> &[PathProbe] {
        &self.applications
    }

    /// Records a packet that reached the end of its route.
    #[inline(always)]
    pub fn delivered(&mut self, packet: &SimPacket, now: Time) {
        let group = usize::from(self.group_of_user[packet.user as usize]);
        if self.is_detailed {
            self.delivered_in_detail(group, packet, now);
        } else {
            self.groups[group].delivered(packet, now);
        }
    }

    #[inline(never)]
    fn delivered_in_detail(&mut self, group: usize, packet: &SimPacket, now: Time) {
        let arrival = now + self.receivers[group].out(u32::from(packet.wire_bytes));
        for probe in self.of(group, packet.user, packet.flow) {
            probe.delivered(packet, arrival);
        }
        if let Some(&application) = self.application_of_hop.get(usize::from(packet.hop)) {
            self.applications[usize::from(application)].delivered(packet, arrival);
        }
        if let Some(series) = &mut self.series {
            series.delivered(group, arrival - packet.timestamp, packet.ecn == Ecn::Ce, now);
        }
    }

    /// Records a segment whose data had already arrived.
    pub fn repeated(&mut self, user: u32, now: Time) {
        if let Some(series) = &mut self.series {
            series.repeated(self.group_of_user[user as usize].into(), now);
        }
    }

    /// Records a round-trip time sampled by a sender; `flow` is [`u32::MAX`] for a short-lived flow.
    #[inline(always)]
    pub fn sampled(&mut self, user: u32, flow: u32, rtt: Time, now: Time) {
        let group = usize::from(self.group_of_user[user as usize]);
        if self.is_detailed {
            self.sampled_in_detail(group, (user, flow), rtt, now);
        } else {
            self.groups[group].rtt.record(rtt);
        }
    }

    #[inline(never)]
    fn sampled_in_detail(&mut self, group: usize, (user, flow): (u32, u32), rtt: Time, now: Time) {
        for probe in self.of(group, user, flow) {
            probe.rtt.record(rtt);
        }
        if let Some(series) = &mut self.series {
            series.sampled(group, rtt, now);
        }
    }

    /// Records a dropped packet.
    pub fn dropped(&mut self, Loss { user, flow, at, .. }: Loss) {
        let group = usize::from(self.group_of_user[user as usize]);
        if !self.is_detailed {
            self.groups[group].dropped += 1;
            return;
        }
        for probe in self.of(group, user, flow) {
            probe.dropped += 1;
        }
        if let Some(series) = &mut self.series {
            series.dropped(group, at);
        }
    }

    /// Starts the measurement.
    pub fn restart(&mut self) {
        let single = self.users.iter_mut().chain(&mut self.flows);
        for probe in self.groups.iter_mut().chain(&mut self.applications).chain(single) {
            *probe = PathProbe::default();
        }
    }

    /// Adds the counts of the same probes in another partition of the network, simulated by another thread.
    pub fn add(&mut self, other: &Self) {
        let own = self.groups.iter_mut().chain(&mut self.applications).chain(&mut self.users).chain(&mut self.flows);
        let others = other.groups.iter().chain(&other.applications).chain(&other.users).chain(&other.flows);
        own.zip(others).for_each(|(own, other)| own.add(other));
        if let (Some(own), Some(other)) = (&mut self.series, &other.series) {
            own.add(other);
        }
    }

    /// Measurements of a group's packets.
    #[must_use]
    pub fn group(&self, group: usize) -> &PathProbe {
        &self.groups[group]
    }

    /// Measurements of each user's packets; empty unless users are observed.
    #[must_use]
    pub fn users(&self) -> &[PathProbe] {
        &self.users
    }

    /// Measurements of each long-lived flow's packets, TCP first; empty unless flows are observed.
    #[must_use]
    pub fn flows(&self) -> &[PathProbe] {
        &self.flows
    }

    /// Time series, if requested.
    #[must_use]
    pub fn series(&self) -> Option<&PathSeries> {
        self.series.as_deref()
    }

    /// All probes that observe a packet.
    fn of(&mut self, group: usize, user: u32, flow: u32) -> impl Iterator<Item = &mut PathProbe> {
        let group = self.groups.get_mut(group).into_iter();
        group.chain(self.users.get_mut(user as usize)).chain(self.flows.get_mut(flow as usize))
    }
}
