//! Hosts of users, with the access link upstream and the reverse path of acknowledgements downstream.
//!
//! Both directions are FIFO, and the arrival time of a packet is known when it is sent. Only a full buffer of an access
//! link drops packets; the reverse path drops none. So each direction needs only a delay line, not a queue. The packets
//! that wait at an access link are the packets in its line whose transmission has not started. An access link behaves
//! like a [`crate::network::link::Link`] with drop-tail.
//!
//! With a reverse link ([`super::ack_packets`]), acknowledgements reach the edge node as packets. The downstream line
//! then also delays data from the server.
//!
//! [`Hosts::send`] sends a packet, [`Hosts::acknowledge`] an acknowledgement. [`Arrivals`], one for each direction,
//! selects the queue for the arrival. Most arrivals of similar hosts are in the order of sending: the first packets on
//! an idle access link, and acknowledgements that need not wait at an access link. Such arrivals go into shared lines,
//! so a host with fast links seldom has a separate event. Hosts whose access links have individual delays use two
//! calendars instead, one for each direction.

mod access;
mod arrivals;
pub mod calendar;
pub mod delay_lines;
pub mod shared_line;

#[cfg(test)]
mod tests;

pub use access::HostParams;
pub use arrivals::{Arrivals, Earlier, Queue};

use crate::measure::path_probe::Loss;
use crate::network::sim_packet::SimPacket;
use crate::traffic::tcp::Ack;
use access::{Access, Host, UP_LINES};
use delay_lines::WatchedDelayLine;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::port::Serialiser;
use prefetch_index::prefetch_index;
use shared_line::{OfUser, SharedLine};

/// An acknowledgement with its flow and user.
#[derive(Clone, Copy, Debug)]
pub struct FlowAck {
    /// Index of the flow.
    pub flow: u32,
    /// Index of the user.
    pub user: u32,
    /// The acknowledgement.
    pub ack: Ack,
}

impl OfUser for FlowAck {
    #[inline]
    fn user(&self) -> u32 {
        self.user
    }
}

impl OfUser for SimPacket {
    #[inline]
    fn user(&self) -> u32 {
        self.user
    }
}

/// Times of an acknowledgement on the reverse path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckTimes {
    /// Time at which the acknowledgement leaves the receiver.
    pub sent: Time,
    /// Time at which the acknowledgement reaches the edge node, after the reverse bottleneck.
    pub at_edge: Time,
    /// Time at which the acknowledgement reaches the sender.
    pub at_host: Time,
}

/// All hosts, and the reverse bottleneck shared by their acknowledgements.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Packets in flight to the edge nodes.
    pub up: Arrivals<SimPacket>,
    /// Acknowledgements in flight to the hosts.
    pub down: Arrivals<FlowAck>,
    hosts: Vec<Host>,
    access: Vec<Access>,
    /// Additional delay of each access link above [`HostParams`], in each direction; empty if there is none.
    longer: Vec<Time>,
    /// For each access link to an edge node in another part of the network: packets that may wait at the access link.
    /// Empty if the network is not partitioned.
    over: Vec<WatchedDelayLine>,
    arrived: u64,
    dropped: u64,
    /// Dropped packets that no probe has counted yet.
    pub losses: Vec<Loss>,
    reverse: Serialiser,
    reverse_delay: Time,
    reverse_busy_until: Time,
}

impl Hosts {
    /// Creates an empty set. Acknowledgements cross a bottleneck with this rate and delay.
    #[must_use]
    pub fn new(reverse_rate: BitRate, reverse_delay: Time) -> Self {
        Self {
            up: Arrivals::default(),
            down: Arrivals::default(),
            hosts: Vec::new(),
            access: Vec::new(),
            longer: Vec::new(),
            over: Vec::new(),
            arrived: 0,
            dropped: 0,
            losses: Vec::new(),
            reverse: Serialiser::new(reverse_rate),
            reverse_delay,
            reverse_busy_until: Time::ZERO,
        }
    }

    /// Adds `count` hosts with the same `params`.
    pub fn add(&mut self, count: usize, params: HostParams) {
        let access = self.access_of(params);
        self.hosts.resize(self.hosts.len() + count, Host::new(access));
    }

    /// Adds a host for each of these additional delays of access links.
    pub fn add_longer(&mut self, longer: &[Time], params: HostParams) {
        self.longer.resize(self.hosts.len(), Time::ZERO);
        self.longer.extend_from_slice(longer);
        self.add(longer.len(), HostParams { are_longer: true, ..params });
    }

    /// Additional one-way delay of a user's access link above its [`HostParams`].
    #[must_use]
    #[inline]
    pub fn longer(&self, user: u32) -> Time {
        longer_of(&self.longer, user)
    }

    /// Returns the index of the access links with these parameters. Adds them if necessary.
    fn access_of(&mut self, params: HostParams) -> u16 {
        if let Some(same) = self.access.iter().position(|access| access.params == params) {
            return same as u16;
        }
        let alike = self.access.iter().find(|access| HostParams { limit: params.limit, ..access.params } == params);
        let (first_up, first_down) = alike.map_or_else(
            || (self.up.shared_lines(), self.down.shared_lines()),
            |alike| (alike.first_up, alike.first_down),
        );
        let access = Access::new(params, first_up, first_down);
        if alike.is_none() {
            self.up.shared.extend((0..UP_LINES).map(|_| SharedLine::default()));
            // A closed line accepts no arrival, so all acknowledgements go into the calendar.
            let line = || if params.are_longer { SharedLine::closed() } else { SharedLine::default() };
            self.down.shared.extend((first_down..access.end_down).map(|_| line()));
        }
        if access.calendar_limit.is_some() {
            self.up.calendar.get_or_insert_default();
        }
        if params.are_longer {
            self.down.calendar.get_or_insert_default();
        }
        self.access.push(access);
        (self.access.len() - 1) as u16
    }

    /// Number of hosts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Returns true if there are no hosts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Time of the next arrival in the lines of this host; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_event(&self, user: u32) -> Time {
        self.hosts[user as usize].next_event()
    }

    /// Sends the packet that `make` returns over the access link of its user at `now`. Does not store a packet that
    /// reaches the edge node before `horizon()` and need not be counted in the buffer; the caller must forward it.
    // Always inlined, so that the packet is constructed in its final position.
    #[inline(always)]
    pub fn send(&mut self, make: impl Fn() -> SimPacket, now: Time, horizon: impl Fn() -> Time) -> Earlier {
        let access = self.hosts[make().user as usize].access;
        if self.access[usize::from(access)].is_apart {
            self.send_apart(make(), now)
        } else {
            self.send_as::<false, false>(make, now, horizon)
        }
    }

    /// Like [`Hosts::send`], for hosts that use the calendar or whose access links have individual delays.
    #[inline(never)]
    fn send_apart(&mut self, packet: SimPacket, now: Time) -> Earlier {
        let access = self.hosts[packet.user as usize].access;
        match self.access[usize::from(access)].calendar_limit {
            Some(_) => self.send_as::<true, true>(|| packet, now, || now),
            // A buffer in bytes or a very large buffer has no `calendar_limit`. All its packets are in the line of the
            // host.
            None => self.send_as::<true, false>(|| packet, now, || now),
        }
    }

    /// Like [`Hosts::send`]. `LONGER`: the access link may have an additional delay. `CALENDAR`: packets go into the
    /// calendar.
    // Const generics compile the common case, both false, without branches.
    #[inline(always)]
    fn send_as<const LONGER: bool, const CALENDAR: bool>(
        &mut self,
        make: impl Fn() -> SimPacket,
        now: Time,
        horizon: impl Fn() -> Time,
    ) -> Earlier {
        let SimPacket { user, wire_bytes, .. } = make();
        let longer = if LONGER { longer_of(&self.longer, user) } else { Time::ZERO };
        let host = &mut self.hosts[user as usize];
        let access = &mut self.access[usize::from(host.access)];
        self.arrived += 1;
        host.end_burst(now);
        let has_room = if CALENDAR {
            access.has_room_by_length(host, longer, &self.up, now)
        } else {
            let burst = host.burst();
            access.has_room((&mut host.up, burst), longer, &self.up, wire_bytes, now)
        };
        if !has_room {
            self.count_drop(Loss::of(&make(), now));
            return Earlier::Nothing;
        }
        let (arrival, position) = host.transmit(access, longer, wire_bytes, now);
        if !LONGER && position < access.usable_up && arrival < horizon() {
            return Earlier::AtEdge(arrival);
        }
        if !CALENDAR || host.is_uniform(wire_bytes, position) {
            let line = (position < access.usable_up).then(|| access.first_up + u32::from(position));
            if let Some(earlier) = self.up.enter::<CALENDAR>(line, (arrival, user), &make, now) {
                return earlier;
            }
        }
        if CALENDAR {
            host.apart = host.apart.saturating_add(1);
        }
        self.up.own.push_watched(&mut host.up, arrival, make());
        Earlier::Host(host.next_event())
    }

    /// Like [`Hosts::send`], for a packet that is passed immediately to an edge node in another part of the network.
    /// Returns the arrival time at that node, or `None` if the packet is dropped. To know the backlog of the buffer,
    /// stores the packets that may wait, without an event.
    pub fn send_over(&mut self, packet: &SimPacket, now: Time) -> Option<Time> {
        self.over.resize(self.hosts.len(), WatchedDelayLine::EMPTY);
        let longer = self.longer(packet.user);
        let (host, over) = (&mut self.hosts[packet.user as usize], &mut self.over[packet.user as usize]);
        let access = &mut self.access[usize::from(host.access)];
        self.arrived += 1;
        host.end_burst(now);
        while over.line().first_time() <= now {
            self.up.own.pop_watched(over);
        }
        if !access.has_room((over, host.burst()), longer, &self.up, packet.wire_bytes, now) {
            self.count_drop(Loss::of(packet, now));
            return None;
        }
        let (arrival, position) = host.transmit(access, longer, packet.wire_bytes, now);
        // The first packet of a burst is in transmission and does not wait.
        if position > 0 {
            self.up.own.push_watched(over, arrival, *packet);
        }
        Some(arrival)
    }

    #[inline(never)]
    fn count_drop(&mut self, loss: Loss) {
        self.dropped += 1;
        self.losses.push(loss);
    }

    /// Takes the packet in the host's line that reaches the edge node at `now`, if there is one.
    #[inline]
    pub fn packet_at_edge(&mut self, user: u32, now: Time) -> Option<SimPacket> {
        let host = &mut self.hosts[user as usize];
        (host.up.line().first_time() <= now).then(|| self.up.own.pop_watched(&mut host.up))
    }

    /// Takes the next acknowledgement in the host's line, which must not be empty.
    #[inline]
    pub fn ack_at_host(&mut self, user: u32) -> FlowAck {
        self.down.own.pop(&mut self.hosts[user as usize].down)
    }

    /// Sends an acknowledgement for a packet of `packet_bytes` that reached the end of its route at `now`. Returns its
    /// times, and passes the event that moved to an earlier time to `moved`.
    // Always inlined, with a call of `moved` in each case: otherwise the results are passed through memory.
    #[inline(always)]
    pub fn acknowledge(
        &mut self,
        ack: FlowAck,
        (wire_bytes, packet_bytes): (u32, u32),
        now: Time,
        mut moved: impl FnMut(Earlier),
    ) -> AckTimes {
        let host = &mut self.hosts[ack.user as usize];
        let access = &mut self.access[usize::from(host.access)];
        let (sent, at_edge) = if let Some(way) = access.params.way_back {
            let sent = now + way.out(packet_bytes);
            (sent, sent + way.back(wire_bytes))
        } else {
            self.reverse_busy_until = self.reverse_busy_until.max(now) + self.reverse.time_of(u64::from(wire_bytes));
            (now, self.reverse_busy_until + self.reverse_delay)
        };
        host.down_busy_until = host.down_busy_until.max(at_edge) + access.down.time_of(u64::from(wire_bytes));
        let mut at_host = host.down_busy_until + access.params.delay_down;
        if let Some(earlier) = self.down.enter::<false>(Some(access.first_down), (at_host, ack.user), || ack, now) {
            moved(earlier);
        } else {
            at_host += longer_of(&self.longer, ack.user);
            // Copies `ack`, so that the original can stay in registers.
            let copy = ack;
            moved(self.acknowledge_out_of_step(&copy, at_host, now));
        }
        AckTimes { sent, at_edge, at_host }
    }

    /// Sends an acknowledgement that is at the edge node at `now` over its access link. Returns its arrival time, and
    /// the event that moved to an earlier time.
    pub fn send_down(&mut self, ack: &FlowAck, wire_bytes: u32, now: Time) -> (Time, Earlier) {
        let at_host = self.carry_down(ack.user, wire_bytes, now);
        (at_host, self.acknowledge_out_of_step(ack, at_host, now))
    }

    /// Time at which a packet that reaches the edge node at `now` would reach the host over the access link.
    #[must_use]
    pub fn at_host(&self, user: u32, wire_bytes: u32, now: Time) -> Time {
        let host = &self.hosts[user as usize];
        let params = &self.access[usize::from(host.access)].params;
        let sent = host.down_busy_until.max(now) + params.rate.time_of(u64::from(wire_bytes));
        sent + params.delay_down + self.longer(user)
    }

    /// Sends data that reach the edge node at `now` over the access link to the host. Returns their arrival time.
    pub fn carry_down(&mut self, user: u32, wire_bytes: u32, now: Time) -> Time {
        let host = &mut self.hosts[user as usize];
        let access = &mut self.access[usize::from(host.access)];
        host.down_busy_until = host.down_busy_until.max(now) + access.down.time_of(u64::from(wire_bytes));
        self.at_host(user, 0, now)
    }

    /// Stores an acknowledgement, which may break the order of the first shared line. Returns the event that moved to
    /// an earlier time.
    #[inline(never)]
    fn acknowledge_out_of_step(&mut self, ack: &FlowAck, at_host: Time, now: Time) -> Earlier {
        let host = &mut self.hosts[ack.user as usize];
        let access = &self.access[usize::from(host.access)];
        let mut others = access.first_down..access.end_down;
        let line = others.find(|&line| self.down.shared[line as usize].keeps_order(at_host, ack.user));
        self.down.enter::<true>(line, (at_host, ack.user), || *ack, now).unwrap_or_else(|| {
            self.down.own.push(&mut host.down, at_host, *ack);
            Earlier::Host(host.next_event())
        })
    }

    /// Prefetches the cache line of a host.
    #[inline]
    pub fn fetch(&self, user: u32) {
        prefetch_index(&self.hosts, user as usize);
    }

    /// Lower bound of the delay of all acknowledgements from the end of their route to their host.
    #[must_use]
    pub fn least_way_back(&self) -> Time {
        self.access.iter().map(|access| access.params.least_way_back(self.reverse_delay)).min().unwrap_or(Time::ZERO)
    }

    /// Delay of a packet of `wire_bytes` from the end of a user's route to the receiver.
    #[must_use]
    pub fn to_receiver(&self, user: u32, wire_bytes: u32) -> Time {
        let access = &self.access[usize::from(self.hosts[user as usize].access)];
        access.params.way_back.map_or(Time::ZERO, |way| way.out(wire_bytes))
    }

    /// Rate, upstream delay and buffer of a user's access link.
    #[must_use]
    pub fn access_link(&self, user: u32) -> (BitRate, Time, QueueLimit) {
        let params = &self.access[usize::from(self.hosts[user as usize].access)].params;
        (params.rate, params.delay_up + self.longer(user), params.limit)
    }

    /// Delay without queueing of a packet from the end of a user's route to the receiver, plus the delay of its
    /// acknowledgement back to the host. Both have the given lengths.
    #[must_use]
    pub fn idle_way_back(&self, user: u32, (packet_bytes, wire_bytes): (u32, u32)) -> Time {
        let params = &self.access[usize::from(self.hosts[user as usize].access)].params;
        let to_edge = match params.way_back {
            Some(way) => way.out(packet_bytes) + way.back(wire_bytes),
            None => self.reverse.rate().time_of(u64::from(wire_bytes)) + self.reverse_delay,
        };
        to_edge + params.rate.time_of(u64::from(wire_bytes)) + params.delay_down + self.longer(user)
    }

    /// Numbers of packets that were sent to access links, that were dropped there, and that have not left yet.
    #[must_use]
    pub fn accounting(&self) -> (u64, u64, u64) {
        let in_own: usize = self.hosts.iter().map(|host| self.up.own.iter(host.up.line()).count()).sum();
        (self.arrived, self.dropped, (in_own + self.up.len_shared()) as u64)
    }
}

/// Additional delay of a user's access link, from the list of additional delays.
#[inline]
fn longer_of(longer: &[Time], user: u32) -> Time {
    longer.get(user as usize).copied().unwrap_or(Time::ZERO)
}
