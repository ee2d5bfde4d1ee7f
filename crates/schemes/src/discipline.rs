//! The contract of a queue discipline: it owns the packets that wait at an egress port.

use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{BitRate, Time};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The active queue management decided so before the queue was full.
    Aqm,
    /// The queue was full: a tail drop.
    Overlimit,
}

impl DropReason {
    /// Every reason, in the order of [`DropReason::index`].
    pub const ALL: [Self; 2] = [Self::Aqm, Self::Overlimit];

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
        }
    }
}

/// What waits at a port; the packet in transmission is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting, all classes together.
    pub packets: u32,
    /// Bytes waiting, all classes together.
    pub bytes: u64,
}

/// Takes every packet that a discipline drops, so that in = out + dropped + queued can be checked by any host.
pub trait DropSink<P> {
    /// `packet` was dropped for `reason` when it found `backlog` waiting.
    fn dropped(&mut self, packet: &P, reason: DropReason, backlog: Backlog);
    /// `packet` was marked (CE) instead of dropped; it goes on.
    fn marked(&mut self, _packet: &P) {}
}

/// Owns the packets that wait at one egress port: accepts, drops, orders.
///
/// The host gives time, randomness and the link's rate; a discipline reads no clock. Calls come in the order of time.
pub trait QueueDiscipline<P: Packet> {
    /// Offers a packet that arrives at `now`. It is stored or handed to `drops`.
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>);
    /// The next packet to transmit, from `now` on; `None` if nothing waits.
    fn dequeue(&mut self, now: Time, drops: &mut impl DropSink<P>) -> Option<P>;
    /// What waits.
    fn backlog(&self) -> Backlog;
    /// The link's rate is `rate` from now on. Called before the first packet and at every change.
    fn set_link_rate(&mut self, rate: BitRate);
    /// The drop threshold that the last arrival met, in the unit of the scheme's thresholds, if the scheme has one.
    fn drop_threshold(&self) -> Option<f64> {
        None
    }
}

/// What active queue management sees of the queue in front of it.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// What waits.
    pub backlog: Backlog,
    /// When the packet at the head arrived; `None` if nothing waits.
    pub head_enqueued_at: Option<Time>,
    /// Rate of the link.
    pub link_rate: BitRate,
}

/// What to do with an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Enqueue it if there is room.
    Accept,
    /// Drop it.
    Drop,
    /// Enqueue it with a congestion mark if there is room and its transport understands marks, otherwise drop it
    /// (RFC 3168 section 5).
    Mark,
}

/// Active queue management that decides when a packet arrives: the early-drop half of a discipline.
///
/// [`crate::buffer::ManagedQueue`] joins it with buffer, limit and scheduler to a [`QueueDiscipline`].
pub trait Aqm {
    /// Whether the scheme can drop before the queue is full.
    const DROPS_EARLY: bool = true;
    /// Judges an arriving packet, before the capacity of the queue is looked at.
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict;
    /// The packet was stored.
    fn accepted<P: Packet>(&mut self, packet: &P, now: Time);
    /// The packet's transmission starts; `backlog` is what stays behind.
    fn departed<P: Packet>(&mut self, _packet: &P, _backlog: Backlog, _now: Time) {}
    /// See [`QueueDiscipline::drop_threshold`].
    fn drop_threshold(&self) -> Option<f64> {
        None
    }
}
