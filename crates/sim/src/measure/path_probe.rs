//! Delays, drops and marks of packets from host to receiver: by group, and by user and flow on request. Probes stream:
//! their memory does not grow with simulated time.

use super::path_series::PathSeries;
use crate::network::sim_packet::SimPacket;
use crate::network::way_back::WayBack;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::Ecn;
use fairlane_schemes::port::DelayHistogram;

/// A packet that was dropped or lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Its user.
    pub user: u32,
    /// Its flow.
    pub flow: u32,
    /// When.
    pub at: Time,
}

/// The packets of a group, a user or a flow during the measurement.
#[derive(Clone, Debug, Default)]
pub struct PathProbe {
    /// Delay from the sending host to the receiver, of packets that reached it.
    pub one_way_delay: DelayHistogram,
    /// Round-trip times as senders sample them.
    pub rtt: DelayHistogram,
    /// Packets that reached the receiver with a congestion mark.
    pub marked: u64,
    /// Packets dropped at access links and links, or lost between them.
    pub dropped: u64,
}

impl PathProbe {
    #[inline]
    fn delivered(&mut self, packet: &SimPacket, arrival: Time) {
        self.one_way_delay.record(arrival - packet.timestamp);
        if packet.ecn == Ecn::Ce {
            self.marked += 1;
        }
    }

    /// Adds the counts of a probe in another part of the same network.
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
    /// Delay from the end of each group's route to its receivers; empty if routes end there.
    receivers: Vec<WayBack>,
    /// Empty unless users are observed.
    users: Vec<PathProbe>,
    /// Probes of flows that last for the whole run, by number; empty unless flows are observed.
    flows: Vec<PathProbe>,
    /// Delay of the packets of each application; empty unless applications are observed.
    applications: Vec<PathProbe>,
    /// The application of each end of a route, by the number of its hop.
    application_of_hop: Vec<u16>,
    /// Over the whole run, not only the measurement.
    series: Option<Box<PathSeries>>,
    /// Returns true if there is anything besides groups whose routes end at their receivers.
    is_detailed: bool,
}

impl PathProbes {
    /// Observes as many groups as there are `receivers`. `group_of_user` has an entry for each user; of users and
    /// flows, as many are observed as said.
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

    /// Observes `count` applications too, of which each hop that ends a route has the number of one.
    pub fn observe_applications(&mut self, count: usize, application_of_hop: Vec<u16>) {
        self.applications = vec![PathProbe::default(); count];
        self.application_of_hop = application_of_hop;
        self.is_detailed |= count > 0;
    }

    /// Path of an application's packets, without drops and round-trip times.
    #[must_use]
    pub fn applications(&self) -> &[PathProbe] {
        &self.applications
    }

    /// A packet reached the end of its route.
    #[inline]
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

    /// A sender has sampled a round-trip time; `flow` is [`u32::MAX`] for one that does not last.
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

    /// A packet was dropped.
    pub fn dropped(&mut self, Loss { user, flow, at }: Loss) {
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

    /// The measurement starts.
    pub fn restart(&mut self) {
        let single = self.users.iter_mut().chain(&mut self.flows);
        for probe in self.groups.iter_mut().chain(&mut self.applications).chain(single) {
            *probe = PathProbe::default();
        }
    }

    /// Adds the counts of the probes in another part of the same network.
    pub fn add(&mut self, other: &Self) {
        let own = self.groups.iter_mut().chain(&mut self.applications).chain(&mut self.users).chain(&mut self.flows);
        let others = other.groups.iter().chain(&other.applications).chain(&other.users).chain(&other.flows);
        own.zip(others).for_each(|(own, other)| own.add(other));
        if let (Some(own), Some(other)) = (&mut self.series, &other.series) {
            own.add(other);
        }
    }

    /// Path of a group's packets.
    #[must_use]
    pub fn group(&self, group: usize) -> &PathProbe {
        &self.groups[group]
    }

    /// Path of each user's packets; empty unless users are observed.
    #[must_use]
    pub fn users(&self) -> &[PathProbe] {
        &self.users
    }

    /// Path of each long-lived flow's packets, TCP first; empty unless flows are observed.
    #[must_use]
    pub fn flows(&self) -> &[PathProbe] {
        &self.flows
    }

    /// Time series, if wanted.
    #[must_use]
    pub fn series(&self) -> Option<&PathSeries> {
        self.series.as_deref()
    }

    /// All probes that a packet concerns.
    fn of(&mut self, group: usize, user: u32, flow: u32) -> impl Iterator<Item = &mut PathProbe> {
        let group = self.groups.get_mut(group).into_iter();
        group.chain(self.users.get_mut(user as usize)).chain(self.flows.get_mut(flow as usize))
    }
}
