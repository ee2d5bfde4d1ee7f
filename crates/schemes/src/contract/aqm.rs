//! The interface of active queue management, the part of a discipline that decides on packets.

use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::contract::discipline::{Backlog, Report, StateSize};
use crate::contract::packet::Packet;

/// State of the queue for active queue management.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// The packets that wait, in number and bytes.
    pub backlog: Backlog,
    /// Arrival time of the packet at the head; `None` if no packet waits.
    pub head_enqueued_at: Option<Time>,
    /// Rate of the link.
    pub link_rate: BitRate,
}

/// Verdict on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Enqueue the packet if there is room.
    Accept,
    /// Drop it.
    Drop,
    /// Enqueue the packet with a congestion mark if there is room and its transport supports marks; otherwise drop it
    /// (RFC 3168 section 5).
    Mark,
}

/// Active queue management that decides when a packet arrives: the early-drop part of a discipline.
///
/// [`crate::queue::managed_queue::ManagedQueue`] combines it with buffer, limit and scheduler into a
/// [`QueueDiscipline`](crate::contract::discipline::QueueDiscipline).
pub trait Aqm {
    /// True if the scheme can drop packets before the queue is full.
    const DROPS_EARLY: bool = true;
    /// True if the scheme also decides on packets at the head of the queue, in [`Aqm::release`]. If false, the port
    /// knows a packet's departure time when the packet arrives.
    const JUDGES_AT_HEAD: bool = false;
    /// Decides on an arriving packet, before the test for a full queue.
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict;
    /// Called before the packet is stored. May rewrite the label.
    #[inline]
    fn accepted<P: Packet>(&mut self, _packet: &mut P, _now: Time) {}
    /// Called for a packet that [`Aqm::admit`] accepted and that the full queue rejects.
    fn overflowed<P: Packet>(&mut self, _packet: &P, _now: Time) {}
    /// Decides on the packet at the head of the queue, whose transmission could start at `now` and would leave
    /// `backlog`. If the packet is dropped, the next one follows at the same time. Called only if
    /// [`Aqm::JUDGES_AT_HEAD`] is true.
    #[inline]
    fn release<P: Packet>(&mut self, _packet: &P, _backlog: Backlog, _now: Time, _rng: &mut Rng) -> Verdict {
        Verdict::Accept
    }
    /// Called when the transmission of a packet starts. The queue still has `backlog`.
    #[inline]
    fn departed<P: Packet>(&mut self, _packet: &P, _backlog: Backlog, _now: Time) {}
    /// Called when the link requests a packet while none waits. May be called again for the same idle period.
    #[inline]
    fn idle(&mut self, _now: Time) {}
    /// See `QueueDiscipline::set_link_rate`. Also called once before the first packet.
    fn set_link_rate(&mut self, _rate: BitRate) {}
    /// See `QueueDiscipline::drop_threshold`.
    fn drop_threshold(&self) -> Option<f64> {
        None
    }
    /// See `QueueDiscipline::drop_probability`.
    fn drop_probability(&self) -> Option<f64> {
        None
    }
    /// See `QueueDiscipline::state_size`. A scheme with heap memory or records must override it.
    fn state_size(&self) -> StateSize {
        StateSize { records: 0, bytes: size_of_val(self) }
    }
    /// See `QueueDiscipline::report`.
    fn report(&self, _report: Report<'_>) {}
}
