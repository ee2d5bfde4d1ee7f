//! The access link of a host: its parameters, its state and its buffer.

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
    /// The same downstream.
    pub delay_down: Time,
    /// Buffer of the access link, without the packet in transmission.
    pub limit: QueueLimit,
    /// Path of acknowledgements back to the access link; without it, they pass the shared reverse bottleneck.
    pub way_back: Option<WayBack>,
    /// True if each access link has an additional delay.
    pub are_longer: bool,
}

/// Shared lines up for equal access links: one for packets that find their link idle, and one for those behind them.
pub(super) const UP_LINES: u32 = 2;

/// Shared lines down for equal access links if acknowledgements pass no common bottleneck. An acknowledgement that
/// waited at its access link, or has a longer link, arrives after later ones of others, and goes into the next line.
const DOWN_LINES: u32 = 4;
/// Maximum backlog of an access link whose packets may be in the second shared line.
const MOST_IN_BURST: u32 = 60_000;
/// Maximum backlog of an access link whose packets go into the calendar.
const MOST_WAITING: u32 = 10_000;

/// The access link of one host, in a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Host {
    /// The host's own line up: packets waiting, in transmission and in flight, by arrival at the edge node.
    pub up: WatchedDelayLine,
    /// End of the last transmission upstream.
    pub up_busy_until: Time,
    /// The host's own line down: acknowledgements, by arrival at the host.
    pub down: DelayLine,
    /// End of the last transmission downstream.
    pub down_busy_until: Time,
    /// Index of its [`Access`].
    pub access: u16,
    /// Packets sent since the access link was idle; saturates.
    pub burst: u16,
    /// Number of these packets, counted from the first that did not go into the calendar: see
    /// [`Access::has_room_by_length`].
    pub apart: u16,
    /// Length of the second of these packets, which that of those before `apart` equals.
    pub bytes: u16,
}

/// Packets sent since the access link was idle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    packets: u16,
    /// Length of the second one.
    second_bytes: u16,
    /// End of their transmission.
    end: Time,
}

impl Host {
    /// Creates a host that has sent nothing.
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

    /// Time of the next arrival in its lines; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.up.line().first_time().min(self.down.first_time())
    }

    /// Packets sent since the access link was idle.
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

    /// Transmits a packet after those that wait; returns its arrival at the edge node and its position in the burst.
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

    /// Returns true if the packets of the burst up to this one, except the first, have equal lengths.
    #[inline]
    pub fn is_uniform(&mut self, wire_bytes: u16, position: u16) -> bool {
        if position <= 1 {
            self.bytes = wire_bytes;
        }
        self.apart == 0 && wire_bytes == self.bytes
    }
}

/// The access links of a group of hosts.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub params: HostParams,
    pub up: Serialiser,
    pub down: Serialiser,
    /// Shared line down for acknowledgements in step, and end of the lines for the others, which follow it.
    pub first_down: u32,
    pub end_down: u32,
    /// Shared lines up: for packets that find their access link idle, then for those behind them.
    pub first_up: u32,
    /// Number of shared lines up in use.
    pub usable_up: u16,
    /// Maximum backlog if packets outside of shared lines go into the calendar.
    pub calendar_limit: Option<u16>,
    /// True if the calendar is used, or if access links have additional delays.
    pub is_apart: bool,
}

impl HostParams {
    /// A lower bound of an acknowledgement's delay; `to_edge` is its delay to the edge node without a reverse path.
    pub(super) fn least_way_back(&self, to_edge: Time) -> Time {
        self.way_back.map_or(to_edge, |way| way.out_delay + way.delay) + self.delay_down
    }
}

impl Access {
    /// Creates access links whose shared lines begin with these.
    pub fn new(params: HostParams, first_up: u32, first_down: u32) -> Self {
        let rate = Serialiser::new(params.rate);
        // A common bottleneck needs few lines and no calendar, if the access links are equal.
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
                // A buffer in bytes, or a very long one, counts all waiting packets, so they stay in the lines of their
                // hosts.
                _ => 1,
            },
            calendar_limit,
            is_apart: params.are_longer || calendar_limit.is_some(),
        }
    }

    /// Start of the transmission of a packet that reaches the edge node at `arrival`, over a link with additional delay
    /// `longer`.
    #[inline(always)]
    fn start(&self, longer: Time, arrival: Time, packet: &SimPacket) -> Time {
        arrival - self.params.delay_up - longer - self.params.rate.time_of(u64::from(packet.wire_bytes))
    }

    /// Returns true if a packet fits in the buffer, given the packets that may wait: the `line` of the host, after the
    /// second packet of its `burst`, which may be elsewhere.
    #[inline(always)]
    pub fn has_room(
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
                // The backlog is at most the last count plus later packets: a new count is seldom needed.
                if burst.packets == 0 || line.left() + 1 < limit as usize {
                    return true;
                }
                let waiting = up.own.pass(line, started);
                // If all from the third on wait in the host's line, the second may wait too, elsewhere.
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
    /// There is no list of waiting packets. But from the second packet of a burst on, all have the same length, so
    /// their number follows from the end of the last transmission. The first packet of another length goes into the
    /// line of the host, and so do all later ones until the link is idle; these are counted there.
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
        // If a packet of the host's line has started, so have all before it.
        let begin = match up.own.first_left(&host.up) {
            _ if host.apart == 0 => host.up_busy_until,
            Some((arrival, packet)) if own == usize::from(host.apart) => start(arrival, packet),
            _ => Time::ZERO,
        };
        if own >= usize::from(limit) {
            return false;
        }
        // Of the packets before `begin`, the k-th from the end starts k transmissions before it.
        let uniform = usize::from(host.burst - 1).saturating_sub(usize::from(host.apart));
        let left = limit - own as u16;
        uniform < usize::from(left)
            || begin.saturating_sub(now).0 <= u64::from(left) * self.up.time_of(u64::from(host.bytes)).0
    }
}
