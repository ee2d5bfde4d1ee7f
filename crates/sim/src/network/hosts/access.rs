//! Access link of a host: its parameters, state and buffer. The docs of [`super`] explain shared lines and the
//! calendar.

use super::arrivals::Arrivals;
use super::delay_lines::{DelayLine, WatchedDelayLine};
use crate::network::sim_packet::SimPacket;
use crate::network::way_back::WayBack;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::port::Serialiser;

/// Parameters shared by the hosts of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostParams {
    /// Rate of the access link in both directions.
    pub rate: BitRate,
    /// Propagation delay of the access link, up to the edge node.
    pub delay_up: Time,
    /// Propagation delay of the access link, from the edge node down to the host.
    pub delay_down: Time,
    /// Buffer of the access link, without the packet in transmission.
    pub limit: QueueLimit,
    /// Path of acknowledgements back to the access link. If `None`, acknowledgements cross the shared reverse
    /// bottleneck.
    pub way_back: Option<WayBack>,
    /// True if each access link has an additional delay.
    pub are_longer: bool,
}

/// Number of shared upstream lines for equal access links. One is for packets sent on an idle access link, the other
/// for packets sent while the link is busy.
pub(super) const UP_LINES: u32 = 2;

/// Number of shared downstream lines for equal access links if acknowledgements cross no common bottleneck. An
/// acknowledgement that waits at its access link may arrive after later acknowledgements of other hosts. It then goes
/// into the next line.
const DOWN_LINES: u32 = 4;
/// Maximum backlog, in packets, of an access link whose packets may be in the second shared line.
const MOST_IN_BURST: u32 = 60_000;
/// Maximum backlog, in packets, of an access link whose packets go into the calendar.
const MOST_WAITING: u32 = 10_000;

/// Access link of one host, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Host {
    /// The host's upstream line: packets waiting, in transmission and in flight, by arrival time at the edge node.
    pub up: WatchedDelayLine,
    /// End of the last transmission upstream.
    pub up_busy_until: Time,
    /// The host's downstream line: acknowledgements by arrival time at the host.
    pub down: DelayLine,
    /// End of the last transmission downstream.
    pub down_busy_until: Time,
    /// Index of its [`Access`].
    pub access: u16,
    /// Number of packets sent since the access link was idle; saturates.
    pub burst: u16,
    /// Number of packets of this burst that did not go into the calendar. After the first such packet, this applies to
    /// all packets of the burst (see [`Access::has_room_by_length`]).
    pub apart: u16,
    /// Length of the second packet of this burst, and of all later packets that went into the calendar.
    pub bytes: u16,
}

/// The packets sent since the access link was idle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    packets: u16,
    second_bytes: u16,
    /// End of the burst's transmission.
    end: Time,
}

impl Host {
    /// Creates a host that has not sent anything.
    pub fn new(access: u16) -> Self {
        Self {
            up: WatchedDelayLine::EMPTY,
            up_busy_until: Time::ZERO,
            down: DelayLine::EMPTY,
            down_busy_until: Time::ZERO,
            access,
            burst: 0,
            apart: 0,
            bytes: 0,
        }
    }

    /// Time of the next arrival in the host's lines; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.up.line().first_time().min(self.down.first_time())
    }

    /// Current burst.
    #[inline(always)]
    pub fn burst(&self) -> Burst {
        Burst { packets: self.burst, second_bytes: self.bytes, end: self.up_busy_until }
    }

    /// Ends the burst if the access link is idle.
    #[inline(always)]
    pub fn end_burst(&mut self, now: Time) {
        if self.up_busy_until <= now {
            (self.burst, self.apart) = (0, 0);
        }
    }

    /// Transmits a packet after all waiting packets. Returns its arrival time at the edge node and its position in the
    /// burst.
    #[inline(always)]
    pub fn transmit(&mut self, access: &mut Access, longer: Time, wire_bytes: u16, now: Time) -> (Time, u16) {
        self.up_busy_until = self.up_busy_until.max(now) + access.up.time_of(u64::from(wire_bytes));
        let position = self.burst;
        self.burst = position.saturating_add(1);
        if position == 1 {
            self.bytes = wire_bytes;
        }
        (self.up_busy_until + access.params.delay_up + longer, position)
    }

    /// Returns true if all packets of the burst up to this one, except the first, have equal lengths.
    #[inline]
    pub fn is_uniform(&mut self, wire_bytes: u16, position: u16) -> bool {
        if position <= 1 {
            self.bytes = wire_bytes;
        }
        self.apart == 0 && wire_bytes == self.bytes
    }
}

#[derive(Clone, Debug)]
pub(super) struct Access {
    pub params: HostParams,
    pub up: Serialiser,
    pub down: Serialiser,
    /// First shared downstream line, for acknowledgements in order. The lines after it, up to `end_down` (exclusive),
    /// are for other acknowledgements.
    pub first_down: u32,
    pub end_down: u32,
    /// First shared upstream line, for packets sent on an idle access link. The next line is for packets sent while the
    /// link is busy.
    pub first_up: u32,
    /// Shared upstream lines in use.
    pub usable_up: u16,
    /// Maximum backlog in packets, if packets that are not in shared lines go into the calendar.
    pub calendar_limit: Option<u16>,
    /// True if the calendar is used, or if access links have additional delays.
    pub is_apart: bool,
}

impl HostParams {
    /// Returns a lower bound of an acknowledgement's delay. `to_edge` is the delay to the edge node if there is no
    /// reverse path.
    pub(super) fn least_way_back(&self, to_edge: Time) -> Time {
        self.way_back.map_or(to_edge, |way| way.out_delay + way.delay) + self.delay_down
    }
}

impl Access {
    /// Creates access links whose shared lines start at these indices.
    pub fn new(params: HostParams, first_up: u32, first_down: u32) -> Self {
        let rate = Serialiser::new(params.rate);
        // Behind a common reverse bottleneck, acknowledgements need few lines and, if the access links are equal, no
        // calendar.
        let needs_calendar = params.are_longer || params.way_back.is_some();
        let calendar_limit = match params.limit {
            QueueLimit::Packets(limit @ 0..=MOST_WAITING) if needs_calendar => Some(limit as u16),
            _ => None,
        };
        Self {
            params,
            up: rate.clone(),
            down: rate,
            first_down,
            end_down: first_down + if params.way_back.is_some() && !params.are_longer { DOWN_LINES } else { 1 },
            first_up,
            usable_up: match params.limit {
                _ if params.are_longer => 0,
                QueueLimit::Packets(0..=MOST_IN_BURST) => UP_LINES as u16,
                // For a buffer in bytes, or a very long buffer, all waiting packets must be counted, so they stay in
                // the lines of their hosts.
                _ => 1,
            },
            calendar_limit,
            is_apart: params.are_longer || calendar_limit.is_some(),
        }
    }

    /// Start of the transmission of a packet that reaches the edge node at `arrival` over a link with the
    /// additional delay `longer`.
    #[inline(always)]
    fn start(&self, longer: Time, arrival: Time, packet: &SimPacket) -> Time {
        arrival - self.params.delay_up - longer - self.params.rate.time_of(u64::from(packet.wire_bytes))
    }

    /// Returns true if a packet fits in the buffer. The waiting packets are in `line` of the host, except for the
    /// second packet of the `burst`, which may be in another queue.
    #[inline(always)]
    pub fn has_room(
        &self,
        (line, burst): (&mut WatchedDelayLine, Burst),
        longer: Time,
        up: &Arrivals<SimPacket>,
        wire_bytes: u16,
        now: Time,
    ) -> bool {
        match self.params.limit {
            // The backlog is at most the last count plus the packets sent since then, so counting again is seldom
            // necessary.
            QueueLimit::Packets(limit) if burst.packets == 0 || line.left() + 1 < limit as usize => true,
            _ => self.has_counted_room((line, burst), longer, up, wire_bytes, now),
        }
    }

    /// Like [`Access::has_room`], but always counts the waiting packets.
    #[inline(never)]
    fn has_counted_room(
        &self,
        (line, burst): (&mut WatchedDelayLine, Burst),
        longer: Time,
        up: &Arrivals<SimPacket>,
        wire_bytes: u16,
        now: Time,
    ) -> bool {
        let started = |arrival: Time, other: &SimPacket| self.start(longer, arrival, other) <= now;
        match self.params.limit {
            QueueLimit::Packets(limit) => {
                let waiting = up.own.pass(line, started);
                // If all packets from the third on wait in the host's line, the second may also wait, in another queue.
                let second_waits = waiting + 2 == usize::from(burst.packets) && {
                    let third = up.own.first_left(line).map(|(arrival, packet)| self.start(longer, arrival, packet));
                    let second_takes = self.params.rate.time_of(u64::from(burst.second_bytes));
                    third.unwrap_or(burst.end) - second_takes > now
                };
                waiting + usize::from(second_waits) < limit as usize
            }
            QueueLimit::Bytes(limit) => {
                let waiting = up.own.iter(line.line()).filter(|(arrival, other)| !started(*arrival, other));
                let bytes: u64 = waiting.map(|(_, other)| u64::from(other.wire_bytes)).sum();
                bytes + u64::from(wire_bytes) <= limit
            }
        }
    }

    /// Returns true if a packet fits in the buffer of a host whose packets go into the calendar.
    ///
    /// The calendar has no list of a host's waiting packets. But from the second packet of a burst on, all packets in
    /// the calendar have the same length. So their number follows from the end of the last transmission. The first
    /// packet of another length, and all later packets until the link is idle, go into the line of the host and are
    /// counted there.
    #[inline]
    pub fn has_room_by_length(&mut self, host: &mut Host, longer: Time, up: &Arrivals<SimPacket>, now: Time) -> bool {
        let limit = self.calendar_limit.unwrap_or(0);
        // The first packet after an idle period does not wait.
        if host.burst <= limit {
            return true;
        }
        let start = |arrival: Time, packet: &SimPacket| self.start(longer, arrival, packet);
        let own = if host.apart == 0 {
            0
        } else {
            up.own.pass(&mut host.up, |arrival, packet| start(arrival, packet) <= now)
        };
        // If the transmission of a packet in the host's line has started, all packets before it have also started.
        let begin = match up.own.first_left(&host.up) {
            _ if host.apart == 0 => host.up_busy_until,
            Some((arrival, packet)) if own == usize::from(host.apart) => start(arrival, packet),
            _ => Time::ZERO,
        };
        if own >= usize::from(limit) {
            return false;
        }
        // Counted back from `begin`, the transmission of the k-th packet starts k transmission times earlier.
        let uniform = usize::from(host.burst - 1).saturating_sub(usize::from(host.apart));
        let left = limit - own as u16;
        uniform < usize::from(left)
            || begin.saturating_sub(now).0 <= u64::from(left) * self.up.time_of(u64::from(host.bytes)).0
    }
}
