//! An egress port: a queue discipline, a transmitter, and the wire behind it.
//!
//! The transmitter is served lazily. Whenever a packet arrives, or one reaches the far end, the transmissions that
//! must have started by then are started, in order and each at its own time: nothing could have seen them earlier.
//! So a hop costs one event, the arrival at the far end, and only the head of the wire has an event at all.
//!
//! If the discipline is first-in-first-out and the rate is constant, the port knows when a packet will leave as soon as
//! it is admitted. The packet is stored on the wire at once, behind those that it waits for, so that it is copied once
//! less. Discipline and observer are still called when its transmission starts.

use super::link_rate::LinkRate;
use super::wire::Wire;
use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::contract::class_tree::ClassTree;
use crate::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline};
use crate::contract::packet::Packet;

/// Sees what happens at a port; `()` sees nothing, and costs nothing.
pub trait PortObserver<P> {
    /// `packet` was offered, and `backlog` waits after that, be it with the packet or without. It met this drop
    /// threshold, if the scheme has one.
    #[inline]
    fn offered(&mut self, _packet: &P, _now: Time, _backlog: Backlog, _threshold: Option<f64>) {}
    /// `packet`, which found `backlog` waiting, was dropped.
    #[inline]
    fn dropped(&mut self, _packet: &P, _now: Time, _reason: DropReason, _backlog: Backlog) {}
    /// `packet` was marked.
    #[inline]
    fn marked(&mut self, _packet: &P) {}
    /// The transmission of `packet` starts and will end at `end`; `backlog` stays behind.
    #[inline]
    fn transmitted(&mut self, _packet: &P, _start: Time, _end: Time, _backlog: Backlog) {}
    /// `packet` reaches the far end.
    #[inline]
    fn arrived(&mut self, _packet: &P, _now: Time) {}
}

impl<P> PortObserver<P> for () {}

/// An egress port and its link.
#[derive(Clone, Debug)]
pub struct EgressPort<P, D> {
    discipline: D,
    rng: Rng,
    rate: LinkRate,
    /// The rate that the discipline knows.
    known_rate: BitRate,
    /// When the transmission in progress, or the last one, ends.
    busy_until: Time,
    /// Time at which a discipline that holds packets back must be called again; [`Time::NEVER`] if there is none.
    held_until: Time,
    /// Packets in transmission and in flight; of a port that keeps them, also those that wait, which are the last ones.
    wire: Wire<P>,
    /// True if the port stores the queue, on the wire, instead of the discipline.
    keeps_packets: bool,
    /// Backlog of the queue that the port stores.
    waiting: Backlog,
    /// End of the transmission of the last packet on the wire, started or not.
    booked_until: Time,
}

/// Hands drops and marks to the observer.
struct Drops<'a, O> {
    observer: &'a mut O,
    now: Time,
}

impl<P, O: PortObserver<P>> DropSink<P> for Drops<'_, O> {
    fn dropped(&mut self, packet: &P, reason: DropReason, backlog: Backlog) {
        self.observer.dropped(packet, self.now, reason, backlog);
    }

    fn marked(&mut self, packet: &P) {
        self.observer.marked(packet);
    }
}

impl<P: Packet + Copy, D: QueueDiscipline<P>> EgressPort<P, D> {
    /// An idle port with a link of this rate and delay; `rng` is the discipline's stream.
    #[must_use]
    pub fn new(discipline: D, rate: LinkRate, delay: Time, rng: Rng) -> Self {
        Self {
            keeps_packets: discipline.is_fifo() && rate.is_constant(),
            discipline,
            rng,
            known_rate: rate.initial(),
            rate,
            busy_until: Time::ZERO,
            held_until: Time::NEVER,
            wire: Wire::new(delay),
            waiting: Backlog::default(),
            booked_until: Time::ZERO,
        }
    }

    /// Makes the discipline store the queue, as the reference in tests. Must be called before the first packet.
    pub fn keep_no_packets(&mut self) {
        self.keeps_packets = false;
    }

    /// Backlog.
    #[must_use]
    #[inline]
    pub fn backlog(&self) -> Backlog {
        if self.keeps_packets { self.waiting } else { self.discipline.backlog() }
    }

    /// The packet whose transmission starts `places` behind the next, where that is known without a search.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<&P> {
        if self.keeps_packets { self.wire.upcoming(self.on_wire() + places) } else { self.discipline.upcoming(places) }
    }

    /// Number of packets in transmission or in flight.
    #[must_use]
    #[inline]
    pub fn on_wire(&self) -> usize {
        self.wire.len() - self.waiting.packets as usize
    }

    /// The packet whose transmission started last, if it is still in flight.
    #[must_use]
    pub fn last_started(&self) -> Option<&P> {
        self.wire.upcoming(self.on_wire().wrapping_sub(1))
    }

    /// The rule, and what waits unless the port keeps it.
    #[must_use]
    #[inline]
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// Gives the discipline the classes of users; must precede the first packet.
    pub fn set_classes(&mut self, classes: ClassTree) {
        self.discipline.set_classes(classes);
    }

    /// Packets in transmission or in flight.
    #[must_use]
    #[inline]
    pub fn wire(&self) -> &Wire<P> {
        &self.wire
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> &LinkRate {
        &self.rate
    }

    /// When the transmission in progress, or the last one, ends.
    #[must_use]
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Time of the next event without an arrival: a packet reaches the far end, or, if none is in flight, a held-back
    /// one may be sent. [`Time::NEVER`] if nothing waits either.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Time {
        if self.wire.is_empty() { self.held_until } else { self.wire.next_arrival() }
    }

    /// Offers the packet that `make` returns at `now`.
    #[inline(always)]
    pub fn enqueue<O: PortObserver<P>>(&mut self, make: impl Fn() -> P, now: Time, observer: &mut O) {
        if self.keeps_packets {
            self.start_kept_until(now, observer);
            let admitted = self.admit(make, now, observer);
            let packet = self.wire.placed(admitted);
            observer.offered(packet, now, self.waiting, self.discipline.drop_threshold());
            if self.busy_until <= now {
                self.start_kept(now, observer);
            }
        } else {
            self.enqueue_at_discipline(make(), now, observer);
        }
    }

    /// As [`EgressPort::enqueue`], if the discipline stores the queue.
    #[inline(never)]
    fn enqueue_at_discipline<O: PortObserver<P>>(&mut self, packet: P, now: Time, observer: &mut O) {
        self.serve_until(now, observer);
        self.tell_rate(now);
        self.discipline.enqueue(packet, now, &mut self.rng, &mut Drops { observer, now });
        observer.offered(&packet, now, self.backlog(), self.discipline.drop_threshold());
        if self.busy_until <= now {
            self.start_next(now, observer);
        }
    }

    /// Puts a packet on the wire, behind all that waits there, unless the discipline drops it.
    #[inline(always)]
    fn admit<O: PortObserver<P>>(&mut self, make: impl Fn() -> P, now: Time, observer: &mut O) -> bool {
        let found = (self.waiting, self.head_enqueued_at());
        let packet = self.wire.place(make);
        let admitted = self.discipline.admit(packet, found, now, &mut self.rng, &mut Drops { observer, now });
        if admitted {
            packet.set_enqueued_at(now);
            let wire_bytes = packet.wire_bytes();
            self.waiting.add(wire_bytes);
            self.booked_until = self.rate.transmit(wire_bytes, self.booked_until.max(now));
            self.wire.send_placed(self.booked_until);
        }
        admitted
    }

    /// Arrival time of the first packet in the queue that the port stores.
    #[inline(always)]
    fn head_enqueued_at(&self) -> Option<Time> {
        self.wire.upcoming(self.on_wire()).map(Packet::enqueued_at)
    }

    /// Takes the packet that reaches the far end at `now`, which is [`Wire::next_arrival`].
    ///
    /// # Panics
    /// If none does.
    #[inline]
    pub fn arrive<O: PortObserver<P>>(&mut self, now: Time, observer: &mut O) -> P {
        if self.keeps_packets {
            self.start_kept_until(now, observer);
        } else {
            self.serve_until(now, observer);
        }
        // Shown where it stands: a reference to the copy would cost 6 instructions, with no observer too.
        if let Some(packet) = self.wire.upcoming(0) {
            observer.arrived(packet, now);
        }
        let (time, packet) = self.wire.take_announced();
        debug_assert_eq!(time, now);
        packet
    }

    /// Takes the next packet that has reached the far end by `now`, with the time at which it did, after
    /// [`EgressPort::serve_until`] this time.
    #[inline]
    pub fn take_arrived(&mut self, now: Time) -> Option<(Time, P)> {
        if self.wire.next_arrival() <= now { Some(self.wire.take_announced()) } else { None }
    }

    /// Takes the first packet that is in transmission or in flight, with the time at which it reaches the far end: for
    /// a port whose far end is elsewhere.
    #[inline]
    pub fn take_sent(&mut self) -> Option<(Time, P)> {
        if self.on_wire() > 0 { self.wire.take() } else { None }
    }

    /// Starts every transmission that starts by `now`.
    #[inline]
    pub fn serve_until<O: PortObserver<P>>(&mut self, now: Time, observer: &mut O) {
        while self.busy_until <= now && self.start_next(self.busy_until, observer) {}
        if self.held_until <= now {
            self.serve_held(now, observer);
        }
    }

    /// Serves a discipline that held packets back, each time at which it said that it might send.
    #[cold]
    #[inline(never)]
    fn serve_held<O: PortObserver<P>>(&mut self, now: Time, observer: &mut O) {
        loop {
            let start = self.held_until.max(self.busy_until);
            if start > now {
                return;
            }
            self.held_until = Time::NEVER;
            if self.backlog().packets == 0 {
                return;
            }
            if self.start_next(start, observer) {
                while self.busy_until <= now && self.start_next(self.busy_until, observer) {}
            }
        }
    }

    /// Starts the transmission of the next packet at `start`, if one waits.
    #[inline]
    fn start_next<O: PortObserver<P>>(&mut self, start: Time, observer: &mut O) -> bool {
        if self.keeps_packets {
            return self.start_kept(start, observer);
        }
        let mut drops = Drops { observer: &mut *observer, now: start };
        let Some(packet) = self.discipline.dequeue(start, &mut self.rng, &mut drops) else {
            self.held_until = self.discipline.ready_at().unwrap_or(Time::NEVER);
            return false;
        };
        self.busy_until = self.rate.transmit(packet.wire_bytes(), start);
        observer.transmitted(&packet, start, self.busy_until, self.discipline.backlog());
        self.wire.send(&packet, self.busy_until);
        true
    }

    /// As [`EgressPort::serve_until`], for a port that stores the queue.
    #[inline(always)]
    fn start_kept_until<O: PortObserver<P>>(&mut self, now: Time, observer: &mut O) {
        while self.busy_until <= now && self.start_kept(self.busy_until, observer) {}
    }

    /// As [`EgressPort::start_next`], for a port that stores the queue.
    #[inline(always)]
    fn start_kept<O: PortObserver<P>>(&mut self, start: Time, observer: &mut O) -> bool {
        if self.waiting.packets == 0 {
            self.discipline.idle(start);
            return false;
        }
        let Some((end, packet)) = self.wire.ending(self.on_wire()) else { return false };
        self.busy_until = end;
        self.waiting.remove(packet.wire_bytes());
        self.discipline.departed(packet, self.waiting, start);
        observer.transmitted(packet, start, end, self.waiting);
        true
    }

    /// Lets the discipline know a change of the rate.
    #[inline]
    fn tell_rate(&mut self, now: Time) {
        let rate = self.rate.at(now);
        if rate != self.known_rate {
            self.known_rate = rate;
            self.discipline.set_link_rate(rate);
        }
    }
}
