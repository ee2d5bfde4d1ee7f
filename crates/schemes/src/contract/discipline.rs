//! The interface of a queue discipline, which owns the waiting packets of an egress port.

use crate::base::rng::Rng;
use crate::base::units::{BitRate, QueueLimit, Time};
use crate::contract::class_tree::ClassTree;
use crate::contract::packet::Packet;

/// Reason of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The AQM dropped the packet before the queue was full.
    Aqm,
    /// The queue was full: a tail drop.
    Overlimit,
    /// A waiting packet was dropped to make room for another (push-out).
    PushedOut,
}

impl DropReason {
    /// All reasons, in the order of [`DropReason::index`].
    pub const ALL: [Self; 3] = [Self::Aqm, Self::Overlimit, Self::PushedOut];

    /// Index in arrays with one entry per reason.
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

/// Backlog of a port, without the packet in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting packets of all classes.
    pub packets: u32,
    /// Waiting bytes of all classes.
    pub bytes: u64,
}

impl Backlog {
    /// Returns true if one more packet fits: one slot if `limit` is in packets, otherwise `wire_bytes`.
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

    /// Counts a packet that arrives.
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

/// Receives every packet that a discipline drops, so that any host can check in = out + dropped + queued.
pub trait DropSink<P> {
    /// Called when `packet` was dropped for `reason`, while `backlog` waited.
    fn dropped(&mut self, packet: &P, reason: DropReason, backlog: Backlog);
    /// Called when `packet` was marked (CE) instead of dropped.
    fn marked(&mut self, _packet: &P) {}
}

/// Ignores the drops.
impl<P> DropSink<P> for () {
    fn dropped(&mut self, _: &P, _: DropReason, _: Backlog) {}
}

/// Memory of a scheme at one port, without the waiting packets and their FIFO order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSize {
    /// Number of current records of flows, users or buckets; 0 for a scheme without records.
    pub records: usize,
    /// Bytes of the scheme: its variables, its copy of the parameters, derived values, and the current records with
    /// their keys.
    pub bytes: usize,
}

/// Receives the measurements of a scheme: name with unit, value.
pub type Report<'a> = &'a mut dyn FnMut(&'static str, f64);

/// A function of a discipline of any type; see [`QueueDiscipline::apply`].
pub trait DisciplineFunction<P: Packet>: Sized {
    /// Calls the function, inlined at the caller.
    fn call<D: QueueDiscipline<P>>(self, discipline: &mut D);
    /// Like [`DisciplineFunction::call`], but not inlined.
    fn call_far<D: QueueDiscipline<P>>(self, discipline: &mut D);
}

/// Owns the waiting packets of one egress port: accepts, drops and orders them.
///
/// The host passes time, random numbers and the link's rate; a discipline uses no clock. Calls are in the order of
/// time. Between calls of `enqueue` and `dequeue` the state depends only on time, so periodic work can be done at the
/// next call (see [`crate::measure::ticker`]).
pub trait QueueDiscipline<P: Packet> {
    /// Passes the discipline to a function. A discipline that contains one of several passes the contained one, so that
    /// the function is compiled for its type.
    #[inline(always)]
    fn apply(&mut self, function: impl DisciplineFunction<P>)
    where
        Self: Sized,
    {
        function.call(self);
    }
    /// Offers a packet that arrives at `now`. The packet is stored or passed to `drops`.
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>);
    /// Returns the next packet to transmit at `now`, or `None` if no packet waits. The link then becomes idle at `now`.
    /// The host may call this again at the same time.
    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P>;
    /// The packets that wait, in number and bytes.
    fn backlog(&self) -> Backlog;
    /// True if the discipline decides on packets only at arrival and sends them in order of arrival. A port may then
    /// store all packets itself, and call `admit`, `departed` and `idle` instead of `enqueue` and `dequeue`.
    fn is_fifo(&self) -> bool {
        false
    }
    /// Decides on a packet that arrives at `now` at a port that stores the queue. `found` is the backlog and the
    /// arrival time of its head. Returns false if the packet was dropped and passed to `drops`.
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
    /// Called when the port starts to send a packet that it stored. `behind` is the backlog without this packet.
    fn departed(&mut self, _packet: &P, _behind: Backlog, _now: Time) {}
    /// Called when the link becomes idle at `now`. May be called again for the same idle period.
    fn idle(&mut self, _now: Time) {}
    /// Returns the packet `places` after the next one, if it is known without a search. Hosts prefetch this packet.
    fn upcoming(&self, _places: usize) -> Option<&P> {
        None
    }
    /// Time at which `dequeue` must be called again if packets wait but none may be sent. Only schemes that shape
    /// return a time.
    fn ready_at(&self) -> Option<Time> {
        None
    }
    /// Sets the classes of users, for schemes that shape by classes. Called before the first packet.
    fn set_classes(&mut self, _classes: ClassTree) {}
    /// Sets the rate of the link. Called before the first packet and at every change.
    fn set_link_rate(&mut self, _rate: BitRate) {}
    /// Drop threshold for the last arrival, in the unit of the scheme's thresholds, if the scheme has one.
    fn drop_threshold(&self) -> Option<f64> {
        None
    }
    /// Drop or mark probability of the last arrival, if the scheme has one.
    fn drop_probability(&self) -> Option<f64> {
        None
    }
    /// Current state size of the scheme.
    fn state_size(&self) -> StateSize;
    /// Reports the scheme's own measurements and counters, such as an average queue or a fair rate. Not called per
    /// packet.
    fn report(&self, _report: Report<'_>) {}
    /// Reason why the discipline has failed; the host then ends the run. Only external schemes can fail
    /// ([`crate::registry::external`]).
    fn failure(&self) -> Option<&str> {
        None
    }
}
