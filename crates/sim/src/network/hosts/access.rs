//! The access link of a host: its parameters, its state and its buffer.

use super::arrivals::Arrivals;
use super::delay_lines::{DelayLine, WatchedDelayLine};
use crate::network::sim_packet::SimPacket;
use crate::network::way_back::WayBack;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::port::Serialiser;

/// Parameters that the hosts of a group have in common.
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
    /// Path of acknowledgements back to the access link; without, they pass the shared reverse bottleneck.
    pub way_back: Option<WayBack>,
    /// Whether the access links are longer than that, each by a time of its own.
    pub are_longer: bool,
}

/// Shared lines up of access links that are alike: for the packet that finds its link idle, and for the one behind it.
pub(super) const UP_LINES: u32 = 2;

/// Shared lines down of access links that are alike where acknowledgements do not pass one bottleneck that all share:
/// one that waited at its access link, or is longer, comes after what was sent later to others, and goes into the next
/// line.
const DOWN_LINES: u32 = 4;
/// Most packets that may wait at an access link whose packets go into the calendar.
const MOST_WAITING: u32 = 10_000;

/// The access link of one host: a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Host {
    /// Packets out of step: waiting, in transmission and in flight, by arrival at the edge node.
    pub up: WatchedDelayLine,
    /// End of the last transmission up.
    pub up_busy_until: Time,
    /// Acknowledgements out of step, by arrival at the host.
    pub down: DelayLine,
    /// End of the last transmission down.
    pub down_busy_until: Time,
    /// Index of its [`Access`].
    pub access: u16,
    /// Packets sent since the access link was idle; stays at the largest number.
    pub burst: u16,
    /// Of these, those from the first on that did not go into the calendar, and the length of those before, the first
    /// left out: see [`Access::has_room_by_length`].
    pub apart: u16,
    pub bytes: u16,
}

impl Host {
    /// A host that has sent nothing.
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

    /// Ends the burst if the access link is idle.
    #[inline(always)]
    pub fn end_burst(&mut self, now: Time) {
        if self.up_busy_until <= now {
            (self.burst, self.apart) = (0, 0);
        }
    }

    /// Transmits a packet after those that wait; its arrival at the edge node and its position in the burst.
    #[inline(always)]
    pub fn transmit(&mut self, access: &mut Access, longer: Time, packet: &SimPacket, now: Time) -> (Time, u16) {
        self.up_busy_until = self.up_busy_until.max(now) + access.up.time_of(u64::from(packet.wire_bytes));
        let position = self.burst;
        self.burst = position.saturating_add(1);
        (self.up_busy_until + access.params.delay_up + longer, position)
    }

    /// Whether the packets of the burst up to this one have the same length, the first left out.
    #[inline]
    pub fn is_uniform(&mut self, packet: &SimPacket, position: u16) -> bool {
        if position <= 1 {
            self.bytes = packet.wire_bytes;
        }
        self.apart == 0 && packet.wire_bytes == self.bytes
    }
}

/// The access links of a group of hosts.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub params: HostParams,
    pub up: Serialiser,
    pub down: Serialiser,
    /// The shared line down for acknowledgements in step, and the end of those for the others, which follow it.
    pub first_down: u32,
    pub end_down: u32,
    /// The shared lines up: for the packet that finds its access link idle, then for the one behind it.
    pub first_up: u32,
    /// Shared lines up that may be used.
    pub usable_up: u16,
    /// Most packets that may wait, if packets in no shared line go into the calendar.
    pub calendar_limit: Option<u16>,
    /// Whether the calendar is used, or the access links are longer.
    pub is_apart: bool,
}

impl HostParams {
    /// Less time than an acknowledgement takes; `to_edge` is that which it takes to the edge node without a way back.
    pub(super) fn least_way_back(&self, to_edge: Time) -> Time {
        self.way_back.map_or(to_edge, |way| way.out_delay + way.delay) + self.delay_down
    }
}

impl Access {
    /// Access links whose shared lines begin with these.
    pub fn new(params: HostParams, first_up: u32, first_down: u32) -> Self {
        let rate = Serialiser::new(params.rate);
        // One bottleneck that all share needs few lines and no calendar, if the access links are alike.
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
                QueueLimit::Packets(_) => UP_LINES as u16,
                // A buffer in bytes counts all that wait, so they stay in the lines of their hosts.
                QueueLimit::Bytes(_) => 1,
            },
            calendar_limit,
            is_apart: params.are_longer || calendar_limit.is_some(),
        }
    }

    /// Start of the transmission of a packet that reaches the edge node at `arrival`, over a link that is longer by
    /// `longer`.
    #[inline(always)]
    fn start(&self, longer: Time, arrival: Time, packet: &SimPacket) -> Time {
        arrival - self.params.delay_up - longer - self.params.rate.time_of(u64::from(packet.wire_bytes))
    }

    /// Whether a packet fits in the buffer, by a list of the packets that may wait: the `line` of the host, behind the
    /// packet of its `burst` that may be in the second shared line.
    #[inline(always)]
    pub fn has_room(
        &self,
        (line, burst): (&mut WatchedDelayLine, u16),
        longer: Time,
        up: &Arrivals<SimPacket>,
        packet: &SimPacket,
        now: Time,
    ) -> bool {
        let started = |arrival: Time, other: &SimPacket| self.start(longer, arrival, other) <= now;
        match self.params.limit {
            QueueLimit::Packets(limit) => {
                // No more wait than did at the last count or came since: a new one is seldom needed.
                if burst == 0 || line.left() + 1 < limit as usize {
                    return true;
                }
                let waiting = up.own.pass(line, started);
                // Those in the host's line are behind the one in the shared line: if one of them has started, it has
                // too.
                let all_wait = waiting + UP_LINES as usize >= usize::from(burst);
                let is_waiting =
                    |(arrival, other): &&(Time, SimPacket)| other.user == packet.user && !started(*arrival, other);
                let behind = &up.shared[self.first_up as usize + 1];
                waiting + if all_wait { behind.iter().filter(is_waiting).count() } else { 0 } < limit as usize
            }
            QueueLimit::Bytes(limit) => {
                let waiting = up.own.iter(line.line()).filter(|(arrival, other)| !started(*arrival, other));
                let bytes: u64 = waiting.map(|(_, other)| u64::from(other.wire_bytes)).sum();
                bytes + u64::from(packet.wire_bytes) <= limit
            }
        }
    }

    /// Whether a packet fits in the buffer of a host whose packets go into the calendar.
    ///
    /// No list has those that wait. But from the second one of a burst on all have the same length, so the number
    /// follows from the end of the last transmission. The first one of another length goes into the line of the host,
    /// and so do all behind it until the link is idle: these are counted there.
    #[inline]
    pub fn has_room_by_length(&mut self, host: &mut Host, longer: Time, up: &Arrivals<SimPacket>, now: Time) -> bool {
        let limit = self.calendar_limit.unwrap_or(0);
        // The first since the link was idle does not wait.
        if host.burst <= limit {
            return true;
        }
        let start = |arrival: Time, packet: &SimPacket| self.start(longer, arrival, packet);
        let own = if host.apart == 0 {
            0
        } else {
            up.own.pass(&mut host.up, |arrival, packet| start(arrival, packet) <= now)
        };
        // If one of the host's own line has started, so have all before these.
        let begin = match up.own.first_left(&host.up) {
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
            || begin.saturating_sub(now).0 <= u64::from(left) * self.up.time_of(u64::from(host.bytes)).0
    }
}
