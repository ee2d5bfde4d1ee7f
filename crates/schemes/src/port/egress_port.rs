//! An egress port: a queue discipline, a transmitter, and the wire after it.
//!
//! The transmitter is lazy. Whenever a packet arrives, or reaches the far end, the port starts all transmissions that
//! are due, in order and each with its correct start time. Starting them earlier would have no visible effect. So a hop
//! costs one event, the arrival at the far end, and only the first packet on the wire has an event.
//!
//! If the discipline is FIFO and the rate is constant, the port knows a packet's departure time when it admits the
//! packet. The port then stores the packet on the wire immediately, after the waiting packets, which saves a copy.
//! Discipline and observer are still called when the packet's transmission starts.

use super::link_rate::LinkRate;
use super::wire::Wire;
use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::contract::class_tree::ClassTree;
use crate::contract::discipline::{Backlog, DisciplineFunction, DropReason, DropSink, QueueDiscipline};
use crate::contract::packet::Packet;

/// Observes events at a port; `()` observes nothing, at no cost.
pub trait PortObserver<P> {
    /// Called after `packet` was offered. `backlog` waits now, including the packet if it was stored. `threshold` is
    /// the drop threshold for this packet, if the scheme has one.
    #[inline]
    fn offered(&mut self, _packet: &P, _now: Time, _backlog: Backlog, _threshold: Option<f64>) {}
    /// Called when `packet` was dropped; `backlog` waited before it.
    #[inline]
    fn dropped(&mut self, _packet: &P, _now: Time, _reason: DropReason, _backlog: Backlog) {}
    /// `packet` received a congestion mark.
    #[inline]
    fn marked(&mut self, _packet: &P) {}
    /// Called when the transmission of `packet` starts, which will end at `end`. `backlog` still waits.
    #[inline]
    fn transmitted(&mut self, _packet: &P, _start: Time, _end: Time, _backlog: Backlog) {}
    /// `packet` reaches the far end.
    #[inline]
    fn arrived(&mut self, _packet: &P, _now: Time) {}
}

impl<P> PortObserver<P> for () {}

impl<P, O: PortObserver<P>> PortObserver<P> for &mut O {
    #[inline]
    fn offered(&mut self, packet: &P, now: Time, backlog: Backlog, threshold: Option<f64>) {
        (**self).offered(packet, now, backlog, threshold);
    }
    #[inline]
    fn dropped(&mut self, packet: &P, now: Time, reason: DropReason, backlog: Backlog) {
        (**self).dropped(packet, now, reason, backlog);
    }
    #[inline]
    fn marked(&mut self, packet: &P) {
        (**self).marked(packet);
    }
    #[inline]
    fn transmitted(&mut self, packet: &P, start: Time, end: Time, backlog: Backlog) {
        (**self).transmitted(packet, start, end, backlog);
    }
    #[inline]
    fn arrived(&mut self, packet: &P, now: Time) {
        (**self).arrived(packet, now);
    }
}

/// An egress port and its link.
#[derive(Clone, Debug)]
pub struct EgressPort<P, D> {
    discipline: D,
    transmitter: Transmitter<P>,
    /// The rate last reported to the discipline.
    known_rate: BitRate,
    /// Time at which a discipline that holds packets back must be called again; [`Time::NEVER`] if no call is needed.
    held_until: Time,
    /// True if the port, not the discipline, stores the queue (on the wire).
    keeps_packets: bool,
}

/// Transmitter and wire of a port. If the port stores the queue, its methods take the discipline as an argument, so
/// that they are compiled for the type of each frequent scheme.
#[derive(Clone, Debug)]
struct Transmitter<P> {
    /// Random stream of the discipline.
    rng: Rng,
    rate: LinkRate,
    /// End of the current or last transmission.
    busy_until: Time,
    /// Packets in transmission and in flight. If the port stores the queue, the waiting packets follow.
    wire: Wire<P>,
    /// Backlog of a queue stored by the port.
    waiting: Backlog,
    /// End of the transmission of the last packet on the wire, even if the transmission has not started.
    booked_until: Time,
}

/// Forwards drops and marks to the observer.
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

/// A packet offered to a port that stores the queue, with all that the port needs except the discipline.
struct Offer<'a, P, M, O> {
    transmitter: &'a mut Transmitter<P>,
    make: M,
    now: Time,
    observer: O,
}

impl<P: Packet + Copy, M: Fn() -> P, O: PortObserver<P>> DisciplineFunction<P> for Offer<'_, P, M, O> {
    #[inline(always)]
    fn call<D: QueueDiscipline<P>>(self, discipline: &mut D) {
        let Self { transmitter, make, now, mut observer } = self;
        transmitter.enqueue(discipline, make, now, &mut observer);
    }

    #[inline(always)]
    fn call_far<D: QueueDiscipline<P>>(self, discipline: &mut D) {
        let Self { transmitter, make, now, observer } = self;
        transmitter.enqueue_far(discipline, make(), now, observer);
    }
}

impl<P: Packet + Copy> Transmitter<P> {
    #[inline(always)]
    fn on_wire(&self) -> usize {
        self.wire.len() - self.waiting.packets as usize
    }

    /// Does the work of [`EgressPort::enqueue`] for a port that stores the queue.
    #[inline(always)]
    fn enqueue<D: QueueDiscipline<P>, O: PortObserver<P>>(
        &mut self,
        discipline: &mut D,
        make: impl Fn() -> P,
        now: Time,
        observer: &mut O,
    ) {
        self.start_until(discipline, now, observer);
        let admitted = self.admit(discipline, make, now, observer);
        let packet = self.wire.placed(admitted);
        observer.offered(packet, now, self.waiting, discipline.drop_threshold());
        if self.busy_until <= now {
            self.start(discipline, now, observer);
        }
    }

    #[inline(never)]
    fn enqueue_far<D: QueueDiscipline<P>, O: PortObserver<P>>(
        &mut self,
        discipline: &mut D,
        packet: P,
        now: Time,
        mut observer: O,
    ) {
        self.enqueue(discipline, || packet, now, &mut observer);
    }

    /// Puts a packet on the wire after the waiting packets, unless the discipline drops it. Returns false for a drop.
    #[inline(always)]
    fn admit<D: QueueDiscipline<P>, O: PortObserver<P>>(
        &mut self,
        discipline: &mut D,
        make: impl Fn() -> P,
        now: Time,
        observer: &mut O,
    ) -> bool {
        let found = (self.waiting, self.head_enqueued_at());
        let wire_bytes = make().wire_bytes();
        // Even a packet that is dropped may be passed to `transmit`, since the rate is constant.
        let end = self.rate.transmit(wire_bytes, self.booked_until.max(now));
        let packet = self.wire.place(end, make);
        let admitted = discipline.admit(packet, found, now, &mut self.rng, &mut Drops { observer, now });
        if admitted {
            packet.set_enqueued_at(now);
            self.waiting.add(wire_bytes);
            self.booked_until = end;
            self.wire.send_placed();
        }
        admitted
    }

    /// Arrival time of the first packet in a queue stored by the port.
    #[inline(always)]
    fn head_enqueued_at(&self) -> Option<Time> {
        self.wire.upcoming(self.on_wire()).map(Packet::enqueued_at)
    }

    /// Like [`EgressPort::serve_until`], for a port that stores the queue.
    #[inline(always)]
    fn start_until<D: QueueDiscipline<P>, O: PortObserver<P>>(
        &mut self,
        discipline: &mut D,
        now: Time,
        observer: &mut O,
    ) {
        while self.busy_until <= now && self.start(discipline, self.busy_until, observer) {}
    }

    /// Like [`EgressPort::start_next`], for a port that stores the queue.
    #[inline(always)]
    fn start<D: QueueDiscipline<P>, O: PortObserver<P>>(
        &mut self,
        discipline: &mut D,
        start: Time,
        observer: &mut O,
    ) -> bool {
        if self.waiting.packets == 0 {
            discipline.idle(start);
            return false;
        }
        let Some((end, packet)) = self.wire.ending(self.on_wire()) else { return false };
        self.busy_until = end;
        self.waiting.remove(packet.wire_bytes());
        discipline.departed(packet, self.waiting, start);
        observer.transmitted(packet, start, end, self.waiting);
        true
    }
}

impl<P: Packet + Copy, D: QueueDiscipline<P>> EgressPort<P, D> {
    /// Creates an idle port with a link of this rate and delay; `rng` is the discipline's stream.
    #[must_use]
    pub fn new(discipline: D, rate: LinkRate, delay: Time, rng: Rng) -> Self {
        Self {
            keeps_packets: discipline.is_fifo() && rate.is_constant(),
            discipline,
            known_rate: rate.initial(),
            held_until: Time::NEVER,
            transmitter: Transmitter {
                rng,
                rate,
                busy_until: Time::ZERO,
                wire: Wire::new(delay),
                waiting: Backlog::default(),
                booked_until: Time::ZERO,
            },
        }
    }

    /// Makes the discipline store the queue, for reference runs of tests. Call it before the first packet.
    pub fn keep_no_packets(&mut self) {
        self.keeps_packets = false;
    }

    /// Backlog.
    #[must_use]
    #[inline]
    pub fn backlog(&self) -> Backlog {
        if self.keeps_packets { self.transmitter.waiting } else { self.discipline.backlog() }
    }

    /// Returns the packet that is `places` transmissions after the next one, if it is known without a search.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<&P> {
        if self.keeps_packets {
            self.transmitter.wire.upcoming(self.on_wire() + places)
        } else {
            self.discipline.upcoming(places)
        }
    }

    /// Number of packets in transmission or in flight.
    #[must_use]
    #[inline]
    pub fn on_wire(&self) -> usize {
        self.transmitter.on_wire()
    }

    /// The packet whose transmission started last, if it is still in flight.
    #[must_use]
    pub fn last_started(&self) -> Option<&P> {
        self.transmitter.wire.upcoming(self.on_wire().wrapping_sub(1))
    }

    /// The discipline, with the waiting packets unless the port stores them.
    #[must_use]
    #[inline]
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// Sets the discipline's classes of users. Call it before the first packet.
    pub fn set_classes(&mut self, classes: ClassTree) {
        self.discipline.set_classes(classes);
    }

    /// Packets in transmission or in flight.
    #[must_use]
    #[inline]
    pub fn wire(&self) -> &Wire<P> {
        &self.transmitter.wire
    }

    /// The rate of the link.
    #[must_use]
    pub fn rate(&self) -> &LinkRate {
        &self.transmitter.rate
    }

    /// End of the current or last transmission.
    #[must_use]
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.transmitter.busy_until
    }

    /// Time of the next event if no packet arrives: a packet reaches the far end or, if none is in flight, the
    /// discipline may release a packet. [`Time::NEVER`] if no packet is in flight or waits.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Time {
        if self.transmitter.wire.is_empty() { self.held_until } else { self.transmitter.wire.next_arrival() }
    }

    /// Offers the packet that `make` returns at `now`.
    // The observer is passed by value, so that its fields can stay in registers.
    #[inline(always)]
    pub fn enqueue<O: PortObserver<P>>(&mut self, make: impl Fn() -> P, now: Time, observer: O) {
        if self.keeps_packets {
            self.discipline.apply(Offer { transmitter: &mut self.transmitter, make, now, observer });
        } else {
            self.enqueue_at_discipline(make(), now, observer);
        }
    }

    /// Like [`EgressPort::enqueue`], if the discipline stores the queue.
    #[inline(never)]
    fn enqueue_at_discipline<O: PortObserver<P>>(&mut self, packet: P, now: Time, mut observer: O) {
        let observer = &mut observer;
        self.serve_until(now, observer);
        self.tell_rate(now);
        self.discipline.enqueue(packet, now, &mut self.transmitter.rng, &mut Drops { observer, now });
        observer.offered(&packet, now, self.backlog(), self.discipline.drop_threshold());
        if self.transmitter.busy_until <= now {
            self.start_next(now, observer);
        }
    }

    /// Removes the packet that reaches the far end at `now`, which must equal [`Wire::next_arrival`].
    ///
    /// # Panics
    /// If no packet is in flight.
    #[inline]
    pub fn arrive<O: PortObserver<P>>(&mut self, now: Time, observer: &mut O) -> P {
        if self.keeps_packets {
            self.transmitter.start_until(&mut self.discipline, now, observer);
        } else {
            self.serve_until(now, observer);
        }
        // The observer gets a reference to the packet in its slot. A reference to the returned copy would cost 6
        // instructions, even without an observer.
        if let Some(packet) = self.transmitter.wire.upcoming(0) {
            observer.arrived(packet, now);
        }
        let (time, packet) = self.transmitter.wire.take_announced();
        debug_assert_eq!(time, now);
        packet
    }

    /// Removes the next packet that has reached the far end by `now`, with its arrival time. Call
    /// [`EgressPort::serve_until`] for `now` first.
    #[inline]
    pub fn take_arrived(&mut self, now: Time) -> Option<(Time, P)> {
        if self.transmitter.wire.next_arrival() <= now { Some(self.transmitter.wire.take_announced()) } else { None }
    }

    /// Removes the first packet in transmission or in flight, with its arrival time at the far end. For a port whose
    /// far end is in another process.
    #[inline]
    pub fn take_sent(&mut self) -> Option<(Time, P)> {
        if self.on_wire() > 0 { self.transmitter.wire.take() } else { None }
    }

    /// Starts all transmissions due by `now`.
    #[inline]
    pub fn serve_until<O: PortObserver<P>>(&mut self, now: Time, observer: &mut O) {
        while self.transmitter.busy_until <= now && self.start_next(self.transmitter.busy_until, observer) {}
        if self.held_until <= now {
            self.serve_held(now, observer);
        }
    }

    /// Serves a discipline that held packets back, at each time that it announced.
    #[cold]
    #[inline(never)]
    fn serve_held<O: PortObserver<P>>(&mut self, now: Time, observer: &mut O) {
        loop {
            let start = self.held_until.max(self.transmitter.busy_until);
            if start > now {
                return;
            }
            self.held_until = Time::NEVER;
            if self.backlog().packets == 0 {
                return;
            }
            if self.start_next(start, observer) {
                while self.transmitter.busy_until <= now && self.start_next(self.transmitter.busy_until, observer) {}
            }
        }
    }

    /// Starts the transmission of the next packet at `start`. Returns false if there is no packet to send.
    #[inline]
    fn start_next<O: PortObserver<P>>(&mut self, start: Time, observer: &mut O) -> bool {
        if self.keeps_packets {
            return self.transmitter.start(&mut self.discipline, start, observer);
        }
        let mut drops = Drops { observer: &mut *observer, now: start };
        let Some(packet) = self.discipline.dequeue(start, &mut self.transmitter.rng, &mut drops) else {
            self.held_until = self.discipline.ready_at().unwrap_or(Time::NEVER);
            return false;
        };
        self.transmitter.busy_until = self.transmitter.rate.transmit(packet.wire_bytes(), start);
        observer.transmitted(&packet, start, self.transmitter.busy_until, self.discipline.backlog());
        self.transmitter.wire.send(&packet, self.transmitter.busy_until);
        true
    }

    /// Reports a change of the rate to the discipline.
    #[inline]
    fn tell_rate(&mut self, now: Time) {
        let rate = self.transmitter.rate.at(now);
        if rate != self.known_rate {
            self.known_rate = rate;
            self.discipline.set_link_rate(rate);
        }
    }
}
