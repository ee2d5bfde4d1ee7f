//! A link: an egress port with a queue discipline, a transmitter, and the delay line behind it.
//!
//! The transmitter is served lazily. Whenever a packet arrives, or one reaches the far end, the transmissions that
//! must have started by then are started, in order and each at its own time: nothing could have seen them earlier.
//! So a hop costs one event, the arrival at the far end, and only the head of the delay line has an event at all.

use crate::measure::port_probe::PortProbe;
use crate::network::link_rate::LinkRate;
use crate::network::sim_packet::SimPacket;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline, Report, StateSize};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::AnyDiscipline;
use std::collections::VecDeque;

/// What a link did with its packets since time 0: `arrived = departed + dropped + queued` at any moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Packets offered to the port.
    pub arrived: u64,
    /// Packets whose transmission started.
    pub departed: u64,
    /// Packets dropped.
    pub dropped: u64,
}

/// Sees what happens at a port; `()` sees nothing.
pub trait PortObserver {
    /// `packet` was offered, and `backlog` waits after that, be it with the packet or without.
    #[inline]
    fn offered(&mut self, _packet: &SimPacket, _now: Time, _backlog: Backlog) {}
    /// `packet`, which found `backlog` waiting, was dropped.
    #[inline]
    fn dropped(&mut self, _packet: &SimPacket, _now: Time, _reason: DropReason, _backlog: Backlog) {}
    /// The transmission of `packet` starts, and `backlog` stays behind.
    #[inline]
    fn transmitted(&mut self, _packet: &SimPacket, _start: Time, _backlog: Backlog) {}
    /// `packet` reaches the far end.
    #[inline]
    fn arrived(&mut self, _packet: &SimPacket, _now: Time) {}
}

impl PortObserver for () {}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    discipline: AnyDiscipline<SimPacket>,
    rng: Rng,
    rate: LinkRate,
    /// The rate that the discipline knows.
    known_rate: BitRate,
    delay: Time,
    /// When the transmission in progress, or the last one, ends.
    busy_until: Time,
    /// Packets in transmission and in flight, with their arrival at the far end, in order.
    line: VecDeque<(Time, SimPacket)>,
    accounting: Accounting,
    probe: Option<Box<PortProbe>>,
}

/// Hands drops to the accounting, the probe and the observer, and marks to the probe.
struct DropRecorder<'a, O> {
    accounting: &'a mut Accounting,
    probe: Option<&'a mut PortProbe>,
    observer: &'a mut O,
    now: Time,
}

impl<O: PortObserver> DropSink<SimPacket> for DropRecorder<'_, O> {
    fn dropped(&mut self, packet: &SimPacket, reason: DropReason, backlog: Backlog) {
        self.accounting.dropped += 1;
        if let Some(probe) = &mut self.probe {
            probe.dropped(packet, reason, backlog);
        }
        self.observer.dropped(packet, self.now, reason, backlog);
    }

    fn marked(&mut self, _packet: &SimPacket) {
        if let Some(probe) = &mut self.probe {
            probe.marks += 1;
        }
    }
}

impl Link {
    /// An idle link. `changes` of the rate come in the order of time; `rng` is the discipline's stream.
    #[must_use]
    pub fn new(
        queue: &QueueConfig,
        weights: &Weights,
        rate: BitRate,
        changes: &[(Time, BitRate)],
        delay: Time,
        rng: Rng,
    ) -> Self {
        Self {
            discipline: queue.build(rate, weights),
            rng,
            rate: LinkRate::new(rate, changes),
            known_rate: rate,
            delay,
            busy_until: Time::ZERO,
            line: VecDeque::new(),
            accounting: Accounting::default(),
            probe: None,
        }
    }

    /// Observes the port from now on.
    pub fn attach(&mut self, probe: PortProbe) {
        self.probe = Some(Box::new(probe));
    }

    /// The port's probe, if it has one.
    #[must_use]
    pub fn probe(&self) -> Option<&PortProbe> {
        self.probe.as_deref()
    }

    /// What became of the packets so far.
    #[must_use]
    pub fn accounting(&self) -> Accounting {
        self.accounting
    }

    /// What waits at the port.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    /// Why the discipline has stopped working, if it has.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.discipline.failure()
    }

    /// What the discipline remembers, the waiting packets left out.
    #[must_use]
    pub fn state_size(&self) -> StateSize {
        self.discipline.state_size()
    }

    /// What the discipline measures and counts itself.
    pub fn report(&self, report: Report<'_>) {
        self.discipline.report(report);
    }

    /// Packets in transmission or in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.line.len()
    }

    /// The packet that reaches the far end `places` behind the next.
    #[must_use]
    #[inline]
    pub fn upcoming(&self, places: usize) -> Option<&SimPacket> {
        self.line.get(places).map(|(_, packet)| packet)
    }

    /// When the next packet reaches the far end; [`Time::NEVER`] if none is on its way.
    #[inline]
    pub fn next_arrival(&self) -> Time {
        self.line.front().map_or(Time::NEVER, |&(time, _)| time)
    }

    /// Offers a packet at `now`.
    #[inline]
    pub fn enqueue<O: PortObserver>(&mut self, packet: SimPacket, now: Time, observer: &mut O) {
        self.serve_until(now, observer);
        self.tell_rate(now);
        self.accounting.arrived += 1;
        let (accounting, probe) = (&mut self.accounting, self.probe.as_deref_mut());
        let mut drops = DropRecorder { accounting, probe, observer: &mut *observer, now };
        self.discipline.enqueue(packet, now, &mut self.rng, &mut drops);
        if let Some(probe) = &mut self.probe {
            probe.offered(now, self.discipline.backlog(), self.discipline.drop_threshold());
        }
        observer.offered(&packet, now, self.discipline.backlog());
        if self.busy_until <= now {
            self.start_next(now, observer);
        }
    }

    /// Takes the packet that reaches the far end at `now`, which is [`Link::next_arrival`].
    #[inline]
    pub fn arrive<O: PortObserver>(&mut self, now: Time, observer: &mut O) -> SimPacket {
        self.serve_until(now, observer);
        // Shown where it stands: a reference to the copy would cost 6 instructions, with no observer too.
        if let Some((_, packet)) = self.line.front() {
            observer.arrived(packet, now);
        }
        let (time, packet) = self.line.pop_front().expect("an arrival was announced");
        debug_assert_eq!(time, now);
        packet
    }

    /// Starts every transmission that starts by `now`.
    #[inline]
    pub fn serve_until<O: PortObserver>(&mut self, now: Time, observer: &mut O) {
        while self.busy_until <= now && self.start_next(self.busy_until, observer) {}
    }

    /// The measurement starts at `now`.
    pub fn restart_probe<O: PortObserver>(&mut self, now: Time, observer: &mut O) {
        self.serve_until(now, observer);
        if let Some(probe) = &mut self.probe {
            probe.restart(now, self.discipline.backlog(), self.busy_until);
        }
    }

    /// The run ends at `now`.
    pub fn finish<O: PortObserver>(&mut self, now: Time, observer: &mut O) {
        self.serve_until(now, observer);
        if let Some(probe) = &mut self.probe {
            probe.finish(now, self.discipline.backlog(), self.busy_until);
        }
    }

    /// Starts the transmission of the next packet at `start`, if one waits.
    #[inline]
    fn start_next<O: PortObserver>(&mut self, start: Time, observer: &mut O) -> bool {
        let (accounting, probe) = (&mut self.accounting, self.probe.as_deref_mut());
        let mut drops = DropRecorder { accounting, probe, observer: &mut *observer, now: start };
        let Some(packet) = self.discipline.dequeue(start, &mut self.rng, &mut drops) else { return false };
        self.accounting.departed += 1;
        self.busy_until = self.rate.transmit(u32::from(packet.wire_bytes), start);
        if let Some(probe) = &mut self.probe {
            probe.transmitted(&packet, start, self.busy_until, self.discipline.backlog());
        }
        observer.transmitted(&packet, start, self.discipline.backlog());
        self.line.push_back((self.busy_until + self.delay, packet));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_counted_at_the_probe_and_are_no_drops() {
        let mut accounting = Accounting::default();
        let mut probe = PortProbe::new(vec![0], None);
        let packet = SimPacket { wire_bytes: 1500, ..SimPacket::BLANK };
        let mut sink =
            DropRecorder { accounting: &mut accounting, probe: Some(&mut probe), observer: &mut (), now: Time::ZERO };
        sink.marked(&packet);
        sink.marked(&packet);
        assert_eq!((probe.marks, accounting.dropped), (2, 0));
        probe.restart(Time::ZERO, Backlog::default(), Time::ZERO);
        assert_eq!(probe.marks, 0);
    }
}
