//! The contract of a queue discipline: it owns the packets that wait at an egress port.

use crate::base::rng::Rng;
use crate::base::units::{BitRate, QueueLimit, Time};
use crate::contract::class_tree::ClassTree;
use crate::contract::packet::Packet;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The active queue management decided so before the queue was full.
    Aqm,
    /// The queue was full: a tail drop.
    Overlimit,
    /// It was waiting and was pushed out for another packet.
    PushedOut,
}

impl DropReason {
    /// Every reason, in the order of [`DropReason::index`].
    pub const ALL: [Self; 3] = [Self::Aqm, Self::Overlimit, Self::PushedOut];

    /// Position in arrays that hold one entry per reason.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aqm => "aqm",
            Self::Overlimit => "overlimit",
            Self::PushedOut => "pushed_out",
        }
    }
}

/// Backlog of a port; the packet in transmission is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting, all classes together.
    pub packets: u32,
    /// Bytes waiting, all classes together.
    pub bytes: u64,
}

impl Backlog {
    /// Returns true if one more packet fits below `limit`: one slot per packet whatever its size, or its bytes.
    #[must_use]
    #[inline]
    pub fn has_room_for(self, wire_bytes: u32, limit: QueueLimit) -> bool {
        match limit {
            QueueLimit::Packets(limit) => self.packets < limit,
            QueueLimit::Bytes(limit) => self.bytes + u64::from(wire_bytes) <= limit,
        }
    }

    /// Returns true if the backlog exceeds `limit`.
    #[must_use]
    #[inline]
    pub fn exceeds(self, limit: QueueLimit) -> bool {
        match limit {
            QueueLimit::Packets(limit) => self.packets > limit,
            QueueLimit::Bytes(limit) => self.bytes > limit,
        }
    }

    /// Counts a packet that joins.
    #[inline]
    pub fn add(&mut self, wire_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
    }

    /// Counts a packet that leaves.
    #[inline]
    pub fn remove(&mut self, wire_bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(wire_bytes);
    }
}

/// Takes every packet that a discipline drops, so that in = out + dropped + queued can be checked by any host.
pub trait DropSink<P> {
    /// `packet` was dropped for `reason` when it found `backlog` waiting.
    fn dropped(&mut self, packet: &P, reason: DropReason, backlog: Backlog);
    /// `packet` was marked (CE) instead of dropped; it goes on.
    fn marked(&mut self, _packet: &P) {}
}

/// The drops are not needed.
impl<P> DropSink<P> for () {
    fn dropped(&mut self, _: &P, _: DropReason, _: Backlog) {}
}

/// Memory of a scheme at one port, without the waiting packets and their FIFO order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSize {
    /// Records of flows, users or buckets held at present; 0 for a scheme without any.
    pub records: usize,
    /// Bytes of the scheme: its variables, the port's copy of its parameters and derived values, and the current
    /// records with their keys.
    pub bytes: usize,
}

/// Takes the readings of a scheme: name with unit, value.
pub type Report<'a> = &'a mut dyn FnMut(&'static str, f64);

/// Owns the packets that wait at one egress port: accepts, drops, orders.
///
/// The host gives time, randomness and the link's rate; a discipline reads no clock. Calls come in the order of time.
/// As long as nothing is enqueued or dequeued the state of a discipline is a function of time alone, so that periodic
/// work can be made up at the next call (see [`crate::measure::ticker`]).
pub trait QueueDiscipline<P: Packet> {
    /// Offers a packet that arrives at `now`. It is stored or handed to `drops`.
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>);
    /// The next packet to transmit, from `now` on; `None` if nothing waits: the link falls idle at `now`, and may ask
    /// again at the same time.
    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P>;
    /// Backlog.
    fn backlog(&self) -> Backlog;
    /// True if the discipline judges packets on arrival only and sends them in order of arrival. A port may then store
    /// all packets itself: it calls `admit`, `departed` and `idle` instead of `enqueue` and `dequeue`.
    fn is_fifo(&self) -> bool {
        false
    }
    /// Judges a packet that arrives at `now` at a port that stores the queue. `found` is the backlog and the arrival
    /// time of its head. Returns false if the packet was dropped and is in `drops`.
    fn admit(
        &mut self,
        _packet: &mut P,
        _found: (Backlog, Option<Time>),
        _now: Time,
        _rng: &mut Rng,
        _drops: &mut impl DropSink<P>,
    ) -> bool {
        unreachable!("only a FIFO is asked")
    }
    /// The port starts to send a packet that it stored; `behind` is the backlog without it.
    fn departed(&mut self, _packet: &P, _behind: Backlog, _now: Time) {}
    /// The port falls idle at `now`. May be called again for the same idle period.
    fn idle(&mut self, _now: Time) {}
    /// The packet `places` behind the next one, if that is known without a search: a host may prefetch it.
    fn upcoming(&self, _places: usize) -> Option<&P> {
        None
    }
    /// When to ask again, if a packet waits and nothing may be sent: only a scheme that shapes says so.
    fn ready_at(&self) -> Option<Time> {
        None
    }
    /// The host has classes of users, which schemes that shape by classes take. Called before the first packet.
    fn set_classes(&mut self, _classes: ClassTree) {}
    /// The link's rate is `rate` from now on. Called before the first packet and at every change.
    fn set_link_rate(&mut self, _rate: BitRate) {}
    /// The drop threshold that the last arrival met, in the unit of the scheme's thresholds, if the scheme has one.
    fn drop_threshold(&self) -> Option<f64> {
        None
    }
    /// The probability with which the last arrival was to be dropped or marked, if the scheme has one.
    fn drop_probability(&self) -> Option<f64> {
        None
    }
    /// Current state size of the scheme.
    fn state_size(&self) -> StateSize;
    /// Reports the scheme's own measurements and counters, such as an average queue or a fair rate. Off the fast path.
    fn report(&self, _report: Report<'_>) {}
    /// Why the discipline has stopped working, which only one from outside can ([`crate::registry::external`]): end the
    /// run.
    fn failure(&self) -> Option<&str> {
        None
    }
}
