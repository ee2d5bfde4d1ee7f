//! A user's host: the access link up, and the way back of acknowledgements down.
//!
//! Both are first-in-first-out, and on both the time of arrival is known when something is sent: on the access link a
//! full buffer is all that can drop, on the way back nothing can. So neither needs a queue in addition to its delay
//! line. What waits on the access link are the packets in the line whose transmission has not started; it behaves as a
//! [`crate::network::link::Link`] with drop-tail does.
//!
//! What is in step with other hosts stands in a shared line that all share whose access links are alike
//! ([`crate::network::shared_line`]): the first packets that an idle access link gets, and acknowledgements that need
//! not wait for it. The rest stands in the host's own lines. So a host with fast links seldom has an event of its own.
//!
//! Hosts whose access links have a delay each of its own are in step with nobody. What they send and get stands in two
//! calendars ([`crate::network::calendar`]), each of which has one event for all of them.

use crate::measure::path_probe::Loss;
use crate::network::calendar::Calendar;
use crate::network::delay_lines::{DelayLine, DelayLines, WatchedDelayLine};
use crate::network::shared_line::{OfUser, SharedLine};
use crate::network::sim_packet::SimPacket;
use crate::network::way_back::WayBack;
use crate::traffic::tcp::Ack;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::port::Serialiser;
use prefetch_index::prefetch_index;
use std::ops::Range;

/// What a group of hosts has in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostParams {
    /// Rate of the access link, both ways.
    pub rate: BitRate,
    /// Propagation delay of the access link, up to the edge node.
    pub delay_up: Time,
    /// The same back down.
    pub delay_down: Time,
    /// Buffer of the access link, the packet in transmission not counted.
    pub limit: QueueLimit,
    /// How acknowledgements come back to the access link; over the shared reverse bottleneck without.
    pub way_back: Option<WayBack>,
    /// Whether the access links are longer than that, each by a time of its own.
    pub are_longer: bool,
}

/// Shared lines up of access links that are alike: for the packet that finds its link idle, and for the one behind it.
const UP_LINES: u32 = 2;
/// Shared lines down of access links that are alike where acknowledgements do not pass one bottleneck that all share:
/// what waited at one access link, or is longer, comes after what was sent later to others, and goes into the next
/// line.
const DOWN_LINES: u32 = 4;
/// Most packets that may wait at an access link whose packets go into the calendar.
const MOST_WAITING: u32 = 10_000;

/// An acknowledgement and whose it is.
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

/// When an acknowledgement is where on its way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckTimes {
    /// It leaves the receiver.
    pub sent: Time,
    /// It has passed the reverse bottleneck and reaches the edge node.
    pub at_edge: Time,
    /// It reaches the sender.
    pub at_host: Time,
}

/// Whose next event the arrival of what was sent has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextOf {
    /// Nobody's: something else arrives before it, or it was dropped.
    Nobody,
    /// That of a shared line, by number, in which nothing else is on its way; and when it is due.
    SharedLine(u32, Time),
    /// That of the calendar of its direction.
    Calendar,
    /// That of the host itself.
    Host,
}

/// One host: a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Host {
    /// Packets out of step: waiting, in transmission and in flight, by arrival at the edge node.
    up: WatchedDelayLine,
    /// When the last transmission up ends.
    up_busy_until: Time,
    /// Acknowledgements out of step, by arrival at the host.
    down: DelayLine,
    /// When the last transmission down ends.
    down_busy_until: Time,
    /// Index in [`Hosts::access`].
    access: u16,
    /// Packets sent since the access link was idle; stays at the largest number.
    burst: u16,
    /// Of these, those from the first on that did not go into the calendar, and the length of those before, the first
    /// left out: see [`Hosts::send_by_calendar`].
    apart: u16,
    bytes: u16,
}

/// The access links of a group of hosts.
#[derive(Clone, Debug)]
struct Access {
    params: HostParams,
    up: Serialiser,
    down: Serialiser,
    /// Index of the first in [`Hosts::shared_down`], how many follow it, and that of the first in [`Hosts::shared_up`].
    first_down: u32,
    more_down: u32,
    first_up: u32,
    /// Shared lines up that may be used.
    usable_up: u16,
    /// Whether packets up go by [`Hosts::send_apart`].
    apart: bool,
    /// Most packets that may wait, if what is in no shared line goes into the calendar.
    calendar_limit: Option<u16>,
}

/// All hosts, and the reverse bottleneck that their acknowledgements share.
#[derive(Clone, Debug)]
pub struct Hosts {
    hosts: Vec<Host>,
    access: Vec<Access>,
    /// [`UP_LINES`] for each kind of access link.
    shared_up: Vec<SharedLine<SimPacket>>,
    /// One for each kind of access link, or [`DOWN_LINES`].
    shared_down: Vec<SharedLine<FlowAck>>,
    /// Packets up that are in no shared line, of hosts that use it.
    calendar: Option<Box<Calendar<SimPacket>>>,
    /// Acknowledgements for hosts whose access links have a delay of their own.
    ack_calendar: Option<Box<Calendar<FlowAck>>>,
    /// How much longer than [`HostParams`] say each access link is, up and down alike; empty if none is.
    longer: Vec<Time>,
    /// Packets that may wait at access links whose edge nodes are elsewhere; empty if there are none.
    over: Vec<WatchedDelayLine>,
    packets: DelayLines<SimPacket>,
    acks: DelayLines<FlowAck>,
    arrived: u64,
    dropped: u64,
    /// Packets dropped that no probe has counted yet.
    pub losses: Vec<Loss>,
    reverse: Serialiser,
    reverse_delay: Time,
    reverse_busy_until: Time,
}

impl Hosts {
    /// No hosts yet; acknowledgements pass a bottleneck of this rate and delay.
    #[must_use]
    pub fn new(reverse_rate: BitRate, reverse_delay: Time) -> Self {
        Self {
            hosts: Vec::new(),
            access: Vec::new(),
            shared_up: Vec::new(),
            shared_down: Vec::new(),
            calendar: None,
            ack_calendar: None,
            longer: Vec::new(),
            over: Vec::new(),
            packets: DelayLines::default(),
            acks: DelayLines::default(),
            arrived: 0,
            dropped: 0,
            losses: Vec::new(),
            reverse: Serialiser::new(reverse_rate),
            reverse_delay,
            reverse_busy_until: Time::ZERO,
        }
    }

    /// Adds `count` hosts that have `params` in common.
    pub fn add(&mut self, count: usize, params: HostParams) {
        let access = self.access_of(params);
        let host = Host {
            up: WatchedDelayLine::EMPTY,
            up_busy_until: Time::ZERO,
            down: DelayLine::EMPTY,
            down_busy_until: Time::ZERO,
            access,
            burst: 0,
            apart: 0,
            bytes: 0,
        };
        self.hosts.resize(self.hosts.len() + count, host);
    }

    /// Adds a host for each of these times, by which its access link is longer than `params` say.
    pub fn add_longer(&mut self, longer: &[Time], params: HostParams) {
        self.longer.resize(self.hosts.len(), Time::ZERO);
        self.longer.extend_from_slice(longer);
        self.add(longer.len(), HostParams { are_longer: true, ..params });
    }

    /// How much longer than its [`HostParams`] say the access link of a user is, one way.
    #[must_use]
    #[inline]
    pub fn longer(&self, user: u32) -> Time {
        longer_of(&self.longer, user)
    }

    /// The access links of these parameters, new if there are none yet.
    fn access_of(&mut self, params: HostParams) -> u16 {
        if let Some(same) = self.access.iter().position(|access| access.params == params) {
            return same as u16;
        }
        let rate = Serialiser::new(params.rate);
        let usable_up = match params.limit {
            _ if params.are_longer => 0,
            QueueLimit::Packets(_) => UP_LINES as u16,
            // A buffer in bytes counts all that wait, so they stay in the lines of their hosts.
            QueueLimit::Bytes(_) => 1,
        };
        let alike = self.access.iter().find(|access| HostParams { limit: params.limit, ..access.params } == params);
        let (first_down, first_up) = alike.map_or_else(
            || (self.shared_down.len() as u32, self.shared_up.len() as u32),
            |alike| (alike.first_down, alike.first_up),
        );
        let more_down = if params.way_back.is_some() && !params.are_longer { DOWN_LINES - 1 } else { 0 };
        if alike.is_none() {
            self.shared_up.extend((0..UP_LINES).map(|_| SharedLine::default()));
            // Where access links have a delay each of its own, the calendar has all: nothing keeps the order of a
            // closed line, so that others are not asked.
            let line = || if params.are_longer { SharedLine::closed() } else { SharedLine::default() };
            self.shared_down.extend((0..=more_down).map(|_| line()));
        }
        // One bottleneck that all share needs few lines and no calendar, if the access links are alike.
        let needs_calendar = params.are_longer || params.way_back.is_some();
        let calendar_limit = match params.limit {
            QueueLimit::Packets(limit @ 0..=MOST_WAITING) if needs_calendar => Some(limit as u16),
            _ => None,
        };
        if calendar_limit.is_some() {
            self.calendar.get_or_insert_default();
        }
        if params.are_longer {
            self.ack_calendar.get_or_insert_default();
        }
        let (up, down, apart) = (rate.clone(), rate, params.are_longer || calendar_limit.is_some());
        self.access.push(Access {
            params,
            up,
            down,
            first_down,
            more_down,
            first_up,
            usable_up,
            apart,
            calendar_limit,
        });
        (self.access.len() - 1) as u16
    }

    /// Number of hosts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there are no hosts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Shared lines up and shared lines down.
    #[must_use]
    pub fn shared_lines(&self) -> (u32, u32) {
        (self.shared_up.len() as u32, self.shared_down.len() as u32)
    }

    /// When something of this host that is in no shared line next arrives; [`Time::NEVER`] if nothing is on its way.
    #[inline]
    pub fn next_event(&self, user: u32) -> Time {
        let host = &self.hosts[user as usize];
        host.up.line().first_time().min(host.down.first_time())
    }

    /// When the next packet of a shared line reaches the edge node, and whose it is.
    #[must_use]
    #[inline]
    pub fn next_up(&self, line: u32) -> (Time, u32) {
        self.shared_up[line as usize].first()
    }

    /// When the next acknowledgement of a shared line reaches its host, and which.
    #[must_use]
    #[inline]
    pub fn next_down(&self, line: u32) -> (Time, u32) {
        self.shared_down[line as usize].first()
    }

    /// Offers a packet to the access link at `now`.
    // Always: the packet is made by the caller, and goes from there to its place in the line.
    #[inline(always)]
    pub fn send(&mut self, user: u32, packet: SimPacket, now: Time) -> NextOf {
        self.send_by_lines::<false>(user, packet, now)
    }

    /// As [`Hosts::send`], by shared lines and the line of the host; `APART` if the access link has a delay of its own.
    // A constant, so that where all delays are alike nothing more is asked.
    #[inline(always)]
    fn send_by_lines<const APART: bool>(&mut self, user: u32, packet: SimPacket, now: Time) -> NextOf {
        let host = &mut self.hosts[user as usize];
        let access = &mut self.access[usize::from(host.access)];
        if !APART && access.apart {
            return self.send_apart(user, packet, now);
        }
        let longer = if APART { longer_of(&self.longer, user) } else { Time::ZERO };
        self.arrived += 1;
        if host.up_busy_until <= now {
            host.burst = 0;
        }
        let behind = &self.shared_up[access.first_up as usize + 1];
        if !has_room(
            (&mut host.up, host.burst),
            (&access.params, longer),
            (&self.packets, behind),
            (user, packet.wire_bytes),
            now,
        ) {
            self.dropped += 1;
            self.losses.push(Loss { user, flow: packet.flow, at: now });
            return NextOf::Nobody;
        }
        host.up_busy_until = host.up_busy_until.max(now) + access.up.time_of(u64::from(packet.wire_bytes));
        let (arrival, position) = (host.up_busy_until + access.params.delay_up + longer, host.burst);
        host.burst = position.saturating_add(1);
        if position < access.usable_up {
            let number = access.first_up + u32::from(position);
            let line = &mut self.shared_up[number as usize];
            if line.keeps_order(arrival, user) {
                return if line.push(arrival, &packet) { NextOf::SharedLine(number, arrival) } else { NextOf::Nobody };
            }
        }
        self.packets.push_watched(&mut host.up, arrival, packet);
        NextOf::Host
    }

    /// As [`Hosts::send`], where access links that are busy have the calendar, or have a delay each of its own.
    #[inline(never)]
    fn send_apart(&mut self, user: u32, packet: SimPacket, now: Time) -> NextOf {
        let access = self.hosts[user as usize].access;
        match self.access[usize::from(access)].calendar_limit {
            Some(_) => self.send_by_calendar(user, packet, now),
            // A buffer in bytes, or a very long one: all of it is in the line of the host.
            None => self.send_by_lines::<true>(user, packet, now),
        }
    }

    /// As [`Hosts::send_by_lines`], with the calendar in place of the line of the host.
    ///
    /// No list tells what waits: packets have the same length from the second since the link was idle on, so that the
    /// number follows from when the last transmission ends. The first one of another length goes into the line of the
    /// host, and so do all behind it until the link is idle.
    #[inline]
    fn send_by_calendar(&mut self, user: u32, packet: SimPacket, now: Time) -> NextOf {
        let host = &mut self.hosts[user as usize];
        let access = &mut self.access[usize::from(host.access)];
        let delay_up = access.params.delay_up + longer_of(&self.longer, user);
        let calendar = self.calendar.as_mut().expect("made with the access link");
        self.arrived += 1;
        if host.up_busy_until <= now {
            (host.burst, host.apart) = (0, 0);
        }
        if !has_room_by_length(host, (access, delay_up), &self.packets, now) {
            self.dropped += 1;
            self.losses.push(Loss { user, flow: packet.flow, at: now });
            return NextOf::Nobody;
        }
        host.up_busy_until = host.up_busy_until.max(now) + access.up.time_of(u64::from(packet.wire_bytes));
        let (arrival, position) = (host.up_busy_until + delay_up, host.burst);
        host.burst = position.saturating_add(1);
        if position <= 1 {
            host.bytes = packet.wire_bytes;
        }
        if host.apart == 0 && packet.wire_bytes == host.bytes {
            if position < access.usable_up {
                let number = access.first_up + u32::from(position);
                let line = &mut self.shared_up[number as usize];
                if line.keeps_order(arrival, user) {
                    return if line.push(arrival, &packet) {
                        NextOf::SharedLine(number, arrival)
                    } else {
                        NextOf::Nobody
                    };
                }
            }
            if calendar.reaches(arrival, now) {
                return if calendar.push(arrival, user, packet) { NextOf::Calendar } else { NextOf::Nobody };
            }
        }
        host.apart = host.apart.saturating_add(1);
        self.packets.push_watched(&mut host.up, arrival, packet);
        NextOf::Host
    }

    /// As [`Hosts::send`], of a packet that its edge node, elsewhere, gets at once: when it reaches it; `None` if it is
    /// dropped. Here is remembered only what may wait, for the buffer: it has no event.
    pub fn send_over(&mut self, user: u32, packet: &SimPacket, now: Time) -> Option<Time> {
        self.over.resize(self.hosts.len(), WatchedDelayLine::EMPTY);
        let longer = longer_of(&self.longer, user);
        let (host, over) = (&mut self.hosts[user as usize], &mut self.over[user as usize]);
        let access = &mut self.access[usize::from(host.access)];
        self.arrived += 1;
        if host.up_busy_until <= now {
            host.burst = 0;
        }
        while over.line().first_time() <= now {
            self.packets.pop_watched(over);
        }
        let behind = &self.shared_up[access.first_up as usize + 1];
        let params = (&access.params, longer);
        if !has_room((over, host.burst), params, (&self.packets, behind), (user, packet.wire_bytes), now) {
            self.dropped += 1;
            self.losses.push(Loss { user, flow: packet.flow, at: now });
            return None;
        }
        host.up_busy_until = host.up_busy_until.max(now) + access.up.time_of(u64::from(packet.wire_bytes));
        let arrival = host.up_busy_until + access.params.delay_up + longer;
        // The first of a burst is in transmission already.
        if host.burst > 0 {
            self.packets.push_watched(over, arrival, *packet);
        }
        host.burst = host.burst.saturating_add(1);
        Some(arrival)
    }

    /// The packet of the host that reaches the edge node at `now`, if one does, those in shared lines apart.
    #[inline]
    pub fn packet_at_edge(&mut self, user: u32, now: Time) -> Option<SimPacket> {
        let host = &mut self.hosts[user as usize];
        (host.up.line().first_time() <= now).then(|| self.packets.pop_watched(&mut host.up))
    }

    /// The packet of a shared line that reaches the edge node. There must be one.
    #[inline]
    pub fn packet_of_shared(&mut self, line: u32) -> SimPacket {
        self.shared_up[line as usize].pop()
    }

    /// When the next packet of the calendar reaches the edge node, and whose it is; [`Time::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next_of_calendar(&self) -> (Time, u32) {
        self.calendar.as_ref().map_or((Time::NEVER, 0), |calendar| calendar.first())
    }

    /// The packet of the calendar that reaches the edge node. There must be one.
    #[inline]
    pub fn packet_of_calendar(&mut self) -> SimPacket {
        self.calendar.as_mut().expect("an arrival was announced").pop()
    }

    /// The packet that comes `places` behind the first of the calendar, if that is known.
    #[must_use]
    #[inline]
    pub fn upcoming_of_calendar(&self, places: usize) -> Option<(u32, &SimPacket)> {
        self.calendar.as_ref()?.upcoming(places)
    }

    /// When the next acknowledgement of the calendar reaches its host, and which.
    #[must_use]
    #[inline]
    pub fn next_of_ack_calendar(&self) -> (Time, u32) {
        self.ack_calendar.as_ref().map_or((Time::NEVER, 0), |calendar| calendar.first())
    }

    /// The acknowledgement of the calendar that reaches its host. There must be one.
    #[inline]
    pub fn ack_of_calendar(&mut self) -> FlowAck {
        self.ack_calendar.as_mut().expect("an arrival was announced").pop()
    }

    /// The acknowledgement that comes `places` behind the first of the calendar, if that is known.
    #[must_use]
    #[inline]
    pub fn upcoming_ack_of_calendar(&self, places: usize) -> Option<&FlowAck> {
        self.ack_calendar.as_ref()?.upcoming(places).map(|(_, ack)| ack)
    }

    /// Whether some hosts use the calendar of packets, and that of acknowledgements.
    #[must_use]
    pub fn calendars(&self) -> (bool, bool) {
        (self.calendar.is_some(), self.ack_calendar.is_some())
    }

    /// Sends an acknowledgement of a packet of `packet_bytes` that was at the end of its route at `now`; says when it
    /// will be where.
    // Always: what it returns would pass in memory.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: FlowAck, wire_bytes: u32, packet_bytes: u32, now: Time) -> (AckTimes, NextOf) {
        let host = &mut self.hosts[ack.user as usize];
        let Access { params, down, first_down, more_down, .. } = &mut self.access[usize::from(host.access)];
        let (sent, at_edge) = if let Some(way) = params.way_back {
            let sent = now + way.out(packet_bytes);
            (sent, sent + way.back(wire_bytes))
        } else {
            self.reverse_busy_until = self.reverse_busy_until.max(now) + self.reverse.time_of(u64::from(wire_bytes));
            (now, self.reverse_busy_until + self.reverse_delay)
        };
        host.down_busy_until = host.down_busy_until.max(at_edge) + down.time_of(u64::from(wire_bytes));
        let mut at_host = host.down_busy_until + params.delay_down;
        let (number, more) = (*first_down, *more_down);
        let line = &mut self.shared_down[number as usize];
        let next = if line.keeps_order(at_host, ack.user) {
            if line.push(at_host, &ack) { NextOf::SharedLine(number, at_host) } else { NextOf::Nobody }
        } else if params.are_longer {
            at_host += longer_of(&self.longer, ack.user);
            self.acknowledge_by_calendar(ack, at_host, now)
        } else {
            self.acknowledge_out_of_step(ack, at_host, number + 1..number + 1 + more)
        };
        (AckTimes { sent, at_edge, at_host }, next)
    }

    /// Into the calendar, or, beyond its days, into the line of the host.
    #[inline(never)]
    fn acknowledge_by_calendar(&mut self, ack: FlowAck, at_host: Time, now: Time) -> NextOf {
        let calendar = self.ack_calendar.as_mut().expect("made with the access link");
        if calendar.reaches(at_host, now) {
            return if calendar.push(at_host, ack.user, ack) { NextOf::Calendar } else { NextOf::Nobody };
        }
        self.acks.push(&mut self.hosts[ack.user as usize].down, at_host, ack);
        NextOf::Host
    }

    /// Into the first of these shared lines whose order it keeps; into that of its host if there is none.
    #[inline(never)]
    fn acknowledge_out_of_step(&mut self, ack: FlowAck, at_host: Time, numbers: Range<u32>) -> NextOf {
        for number in numbers {
            let line = &mut self.shared_down[number as usize];
            if line.keeps_order(at_host, ack.user) {
                return if line.push(at_host, &ack) { NextOf::SharedLine(number, at_host) } else { NextOf::Nobody };
            }
        }
        self.acks.push(&mut self.hosts[ack.user as usize].down, at_host, ack);
        NextOf::Host
    }

    /// The packet that comes `places` behind the first of a shared line.
    #[must_use]
    #[inline]
    pub fn upcoming_packet(&self, line: u32, places: usize) -> Option<&SimPacket> {
        self.shared_up[line as usize].upcoming(places)
    }

    /// The acknowledgement that comes `places` behind the first of a shared line.
    #[must_use]
    #[inline]
    pub fn upcoming_ack(&self, line: u32, places: usize) -> Option<&FlowAck> {
        self.shared_down[line as usize].upcoming(places)
    }

    /// Asks for the cache line of a host.
    #[inline]
    pub fn fetch(&self, user: u32) {
        prefetch_index(&self.hosts, user as usize);
    }

    /// Less time than any acknowledgement takes from the end of its route back to its host.
    #[must_use]
    pub fn least_way_back(&self) -> Time {
        let way = |params: &HostParams| {
            let to_edge = params.way_back.map_or(self.reverse_delay, |way| way.out_delay + way.delay);
            to_edge + params.delay_down
        };
        self.access.iter().map(|access| way(&access.params)).min().unwrap_or(Time::ZERO)
    }

    /// From the end of a user's route to the receiver, for a packet of `wire_bytes`.
    #[must_use]
    pub fn to_receiver(&self, user: u32, wire_bytes: u32) -> Time {
        let Access { params, .. } = &self.access[usize::from(self.hosts[user as usize].access)];
        params.way_back.map_or(Time::ZERO, |way| way.out(wire_bytes))
    }

    /// The acknowledgement that reaches the host. There must be one that is in no shared line.
    #[inline]
    pub fn ack_at_host(&mut self, user: u32) -> FlowAck {
        self.acks.pop(&mut self.hosts[user as usize].down)
    }

    /// The acknowledgement of a shared line that reaches its host. There must be one.
    #[inline]
    pub fn ack_of_shared(&mut self, line: u32) -> FlowAck {
        self.shared_down[line as usize].pop()
    }

    /// Packets that hosts offered to their access links, packets dropped there, and packets still on them.
    #[must_use]
    pub fn accounting(&self) -> (u64, u64, u64) {
        let out_of_step: usize = self.hosts.iter().map(|host| self.packets.iter(host.up.line()).count()).sum();
        let in_step: usize = self.shared_up.iter().map(|line| line.iter().count()).sum();
        let entered = self.calendar.as_ref().map_or(0, |calendar| calendar.entered());
        (self.arrived, self.dropped, (out_of_step + in_step + entered) as u64)
    }
}

impl HostParams {
    #[inline]
    fn transmission(&self, packet: &SimPacket) -> Time {
        self.rate.time_of(u64::from(packet.wire_bytes))
    }
}

/// How much longer the access link of a user is, by the list of those that are.
#[inline]
fn longer_of(longer: &[Time], user: u32) -> Time {
    longer.get(user as usize).copied().unwrap_or(Time::ZERO)
}

/// Whether a packet of `user` with `wire_bytes` fits in addition to what waits at the access link: in the host's own
/// line, and perhaps the one packet of it in the shared line `behind` those that found their access links idle.
#[inline(always)]
fn has_room(
    (line, burst): (&mut WatchedDelayLine, u16),
    (params, longer): (&HostParams, Time),
    (packets, behind): (&DelayLines<SimPacket>, &SharedLine<SimPacket>),
    (user, wire_bytes): (u32, u16),
    now: Time,
) -> bool {
    let started =
        |arrival: Time, packet: &SimPacket| arrival - params.delay_up - longer - params.transmission(packet) <= now;
    match params.limit {
        QueueLimit::Packets(limit) => {
            // No more wait than did at the last count or came since: a new one is seldom needed.
            if burst == 0 || line.left() + 1 < limit as usize {
                return true;
            }
            let waiting = packets.pass(line, started);
            // Those in the host's line are behind the one in the shared line: if one of them has started, it has too.
            let all_wait = waiting + UP_LINES as usize >= usize::from(burst);
            let is_waiting = |(arrival, other): &&(Time, SimPacket)| other.user == user && !started(*arrival, other);
            waiting + if all_wait { behind.iter().filter(is_waiting).count() } else { 0 } < limit as usize
        }
        QueueLimit::Bytes(limit) => {
            let waiting = packets.iter(line.line()).filter(|(arrival, packet)| !started(*arrival, packet));
            waiting.map(|(_, packet)| u64::from(packet.wire_bytes)).sum::<u64>() + u64::from(wire_bytes) <= limit
        }
    }
}

/// Whether one packet more fits at an access link whose packets go into the calendar.
#[inline]
fn has_room_by_length(
    host: &mut Host,
    (access, delay_up): (&mut Access, Time),
    packets: &DelayLines<SimPacket>,
    now: Time,
) -> bool {
    let limit = access.calendar_limit.unwrap_or(0);
    // The first since the link was idle does not wait.
    if host.burst <= limit {
        return true;
    }
    let params = &access.params;
    let start = |arrival: Time, packet: &SimPacket| arrival - delay_up - params.transmission(packet);
    let own =
        if host.apart == 0 { 0 } else { packets.pass(&mut host.up, |arrival, packet| start(arrival, packet) <= now) };
    // If one of the host's own line has started, so have all before these.
    let begin = match packets.first_left(&host.up) {
        _ if host.apart == 0 => host.up_busy_until,
        Some((arrival, packet)) if own == usize::from(host.apart) => start(arrival, packet),
        _ => Time::ZERO,
    };
    if own >= usize::from(limit) {
        return false;
    }
    // Of those before `begin`, the one that is k-th from the end starts k transmissions before it.
    let uniform = usize::from(host.burst - 1).saturating_sub(usize::from(host.apart));
    let left = limit - own as u16;
    uniform < usize::from(left)
        || begin.saturating_sub(now).0 <= u64::from(left) * access.up.time_of(u64::from(host.bytes)).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::port_probe::PortProbe;
    use crate::network::link::Link;
    use fairlane_schemes::base::rng::Rng;
    use fairlane_schemes::contract::buffer::BufferParams;
    use fairlane_schemes::contract::weights::Weights;
    use fairlane_schemes::port::LinkRate;
    use fairlane_schemes::registry::queue_config::QueueConfig;
    use fairlane_schemes::registry::schemes::Scheme;
    use proptest::prelude::*;

    fn packet(seq: u32, wire_bytes: u16) -> SimPacket {
        SimPacket { seq, wire_bytes, ..SimPacket::BLANK }
    }

    /// The next packet of the only host that reaches the edge node by `until`.
    fn take_next(hosts: &mut Hosts, until: Time) -> Option<(Time, SimPacket)> {
        let lines = hosts.shared_lines().0;
        let first = (0..lines).map(|line| (hosts.next_up(line).0, Some(line)));
        let others = [(hosts.next_event(0), None), (hosts.next_of_calendar().0, Some(lines))];
        let (time, line) = first.chain(others).min()?;
        let packet = |hosts: &mut Hosts| match line {
            Some(line) if line == lines => hosts.packet_of_calendar(),
            Some(line) => hosts.packet_of_shared(line),
            None => hosts.packet_at_edge(0, time).unwrap(),
        };
        (time <= until && time < Time::NEVER).then(|| (time, packet(hosts)))
    }

    fn one_host(rate: BitRate, delay: Time, limit: QueueLimit) -> Hosts {
        host_with((rate, delay, limit), None)
    }

    fn host_with((rate, delay, limit): (BitRate, Time, QueueLimit), way_back: Option<WayBack>) -> Hosts {
        let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
        hosts.add(1, HostParams { rate, delay_up: delay, delay_down: delay, limit, way_back, are_longer: false });
        hosts
    }

    /// As [`one_host`], but a third of the delay is the host's own.
    fn longer_host(rate: BitRate, delay: Time, limit: QueueLimit) -> Hosts {
        let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
        let longer = Time(delay.0 / 3);
        let shortest = delay - longer;
        let params =
            HostParams { rate, delay_up: shortest, delay_down: shortest, limit, way_back: None, are_longer: false };
        hosts.add_longer(&[longer], params);
        hosts
    }

    proptest! {
        #[test]
        fn an_access_link_behaves_as_a_link_with_droptail_does(
            arrivals in prop::collection::vec((0u64..2500, prop_oneof![40u16..1500, Just(1500), Just(1500)]), 1..120),
            limit in prop_oneof![(1u32..6).prop_map(QueueLimit::Packets), (500u64..6000).prop_map(QueueLimit::Bytes)],
            delay in 0u64..5000,
        ) {
            let (rate, delay) = (BitRate(10_000_000), Time::from_micros(delay));
            let mut hosts = one_host(rate, delay, limit);
            let mut with_calendar = host_with((rate, delay, limit), Some(WayBack::default()));
            let mut longer = longer_host(rate, delay, limit);
            let mut longer_elsewhere = longer_host(rate, delay, limit);
            let (mut with_edge_elsewhere, mut sent_over) = (one_host(rate, delay, limit), Vec::new());
            let config = QueueConfig::of(Scheme::DropTail, BufferParams { limit, ..Default::default() });
            let mut link = Link::new(&config, &Weights::equal(), LinkRate::new(rate, &[]), delay, Rng::stream(1, 0, "test", 0));
            link.attach(PortProbe::new(std::sync::Arc::new([0]), 0..1, None));
            let (mut now, mut from_hosts, mut from_link) = (Time::ZERO, [const { Vec::new() }; 3], Vec::new());
            let mut drain = |hosts: [&mut Hosts; 3], link: &mut Link, until: Time| {
                for (hosts, from) in hosts.into_iter().zip(&mut from_hosts) {
                    while let Some((time, packet)) = take_next(hosts, until) {
                        from.push((time, packet.seq));
                    }
                }
                while link.wire().next_arrival() <= until && link.wire().next_arrival() < Time::NEVER {
                    let time = link.wire().next_arrival();
                    from_link.push((time, link.arrive(time, &mut ()).seq));
                }
            };
            for (seq, (gap, wire_bytes)) in (0..).zip(arrivals) {
                now += Time::from_micros(gap);
                drain([&mut hosts, &mut with_calendar, &mut longer], &mut link, now);
                hosts.send(0, packet(seq, wire_bytes), now);
                with_calendar.send(0, packet(seq, wire_bytes), now);
                longer.send(0, packet(seq, wire_bytes), now);
                let over = with_edge_elsewhere.send_over(0, &packet(seq, wire_bytes), now);
                sent_over.extend(over.map(|arrival| (arrival, seq)));
                prop_assert_eq!(longer_elsewhere.send_over(0, &packet(seq, wire_bytes), now), over);
                prop_assert_eq!(with_edge_elsewhere.next_event(0), Time::NEVER);
                link.enqueue(packet(seq, wire_bytes), now, &mut ());
            }
            drain([&mut hosts, &mut with_calendar, &mut longer], &mut link, Time::NEVER);
            prop_assert_eq!(&sent_over, &from_link);
            prop_assert!(from_hosts.iter().all(|from| *from == from_link), "{:?} {:?}", from_hosts, from_link);
            prop_assert_eq!(with_calendar.accounting(), hosts.accounting());
            prop_assert_eq!(longer.accounting(), hosts.accounting());
            let account = link.accounting();
            prop_assert_eq!(hosts.accounting(), (account.arrived, account.dropped, 0));
        }
    }

    #[test]
    fn an_ack_takes_both_transmissions_and_both_delays() {
        // 54 B: 43.2 us at 10 Mbit/s, 4.32 us at 100 Mbit/s; 5 ms + 0.1 ms propagation.
        let mut hosts = one_host(BitRate(100_000_000), Time::from_micros(100), QueueLimit::Packets(50));
        let ack = Ack { ack: 1, ..Default::default() };
        let mut acknowledge = |flow| hosts.acknowledge(FlowAck { flow, user: 0, ack }, 54, 1500, Time::ZERO).1;
        let first = Time::from_nanos(43_200 + 5_000_000 + 4_320 + 100_000);
        assert_eq!((acknowledge(7), acknowledge(8)), (NextOf::SharedLine(0, first), NextOf::Nobody));
        assert_eq!(hosts.next_down(0), (first, 0));
        assert_eq!(hosts.ack_of_shared(0).flow, 7);
        // The second waits for the first at the bottleneck only: the access link is ten times faster.
        assert_eq!(hosts.next_down(0), (first + Time::from_nanos(43_200), 0));
    }

    #[test]
    fn an_ack_overtakes_one_whose_host_has_a_longer_access_link() {
        // 54 B: 43.2 us at 10 Mbit/s each; 5 ms behind it. The access links are 2 ms, 0 and 1.2 s longer.
        let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
        let (rate, limit) = (BitRate(10_000_000), QueueLimit::Packets(50));
        let params =
            HostParams { rate, delay_up: Time::ZERO, delay_down: Time::ZERO, limit, way_back: None, are_longer: false };
        hosts.add_longer(&[2, 0, 1200].map(Time::from_millis), params);
        let ack = Ack { ack: 1, ..Default::default() };
        let mut acknowledge = |user| hosts.acknowledge(FlowAck { flow: 0, user, ack }, 54, 1500, Time::ZERO);
        let (at_first, at_second, at_third) = (acknowledge(0), acknowledge(1), acknowledge(2));
        // Beyond the days of the calendar, in the line of its host.
        assert_eq!([at_first.1, at_second.1, at_third.1], [NextOf::Calendar, NextOf::Calendar, NextOf::Host]);
        let arrival =
            |position: u64, longer| Time::from_nanos(5_000_000 + 43_200 * (position + 1)) + Time::from_millis(longer);
        assert_eq!(at_first.0.at_host, arrival(1, 2));
        assert_eq!(hosts.next_of_ack_calendar(), (arrival(2, 0), 1));
        assert_eq!([hosts.ack_of_calendar().user, hosts.ack_of_calendar().user], [1, 0]);
        assert_eq!(hosts.next_of_ack_calendar().0, Time::NEVER);
        assert_eq!(hosts.next_event(2), arrival(3, 1200));
    }

    #[test]
    fn an_ack_that_others_overtake_keeps_to_the_line_of_its_host() {
        // The access link is ten times slower than the bottleneck: the second ACK of host 0 waits 432 us for the first,
        // and that of host 1 is sent 4.32 us after them.
        let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
        let params = HostParams {
            rate: BitRate(1_000_000),
            delay_up: Time::ZERO,
            delay_down: Time::ZERO,
            limit: QueueLimit::Packets(50),
            way_back: None,
            are_longer: false,
        };
        hosts.add(2, params);
        let ack = Ack { ack: 1, ..Default::default() };
        let mut acknowledge = |user| hosts.acknowledge(FlowAck { flow: 0, user, ack }, 54, 1500, Time::ZERO).1;
        let first = Time::from_nanos(43_200 + 5_000_000 + 432_000);
        assert_eq!((acknowledge(0), acknowledge(0)), (NextOf::SharedLine(0, first), NextOf::Nobody));
        assert_eq!(acknowledge(1), NextOf::Host);
        assert_eq!(hosts.next_down(0), (first, 0));
        assert_eq!(hosts.next_event(1), first + Time::from_nanos(2 * 43_200));
        assert!(hosts.packet_at_edge(1, hosts.next_event(1)).is_none());
        assert_eq!(hosts.ack_at_host(1).user, 1);
    }

    #[test]
    fn a_host_takes_a_cache_line() {
        assert_eq!((size_of::<Host>(), align_of::<Host>()), (64, 64));
    }
}
