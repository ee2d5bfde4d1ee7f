//! A link: an egress port with its probe and its accounting.

use crate::cache_line::fetch_lines;
use crate::measure::path_probe::Loss;
use crate::measure::port_probe::PortProbe;
use crate::network::sim_packet::SimPacket;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::class_tree::ClassTree;
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::port::{EgressPort, LinkRate, PortObserver, Wire};
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::AnyDiscipline;
use std::mem::offset_of;
use std::sync::Arc;

/// Packet accounting of a link since time 0. At any time, `arrived = departed + dropped + queued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Packets offered to the port.
    pub arrived: u64,
    /// Number of packets whose transmission started, except packets lost on the wire.
    pub departed: u64,
    /// Packets dropped, or lost on the wire.
    pub dropped: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    port: EgressPort<SimPacket, AnyDiscipline<SimPacket>>,
    accounting: Accounting,
    probe: Box<PortProbe>,
    /// Maximum time between a packet's arrival at the far end and the event that handles it.
    slack: Time,
}

/// Reports events at the port to the accounting, the probe and the observer.
struct Recorder<'a, O> {
    accounting: &'a mut Accounting,
    probe: &'a mut PortProbe,
    observer: O,
}

impl<O: PortObserver<SimPacket>> PortObserver<SimPacket> for Recorder<'_, O> {
    #[inline(always)]
    fn offered(&mut self, packet: &SimPacket, now: Time, backlog: Backlog, threshold: Option<f64>) {
        self.accounting.arrived += 1;
        self.probe.offered(now, backlog, threshold);
        self.observer.offered(packet, now, backlog, threshold);
    }

    #[inline(always)]
    fn dropped(&mut self, packet: &SimPacket, now: Time, reason: DropReason, backlog: Backlog) {
        self.accounting.dropped += 1;
        self.probe.dropped(packet, now, reason, backlog);
        self.observer.dropped(packet, now, reason, backlog);
    }

    fn marked(&mut self, packet: &SimPacket) {
        self.probe.marks += 1;
        self.observer.marked(packet);
    }

    #[inline(always)]
    fn transmitted(&mut self, packet: &SimPacket, start: Time, end: Time, backlog: Backlog) {
        self.accounting.departed += 1;
        self.probe.transmitted(packet, start, end, backlog);
        self.observer.transmitted(packet, start, end, backlog);
    }

    #[inline]
    fn arrived(&mut self, packet: &SimPacket, now: Time) {
        self.observer.arrived(packet, now);
    }
}

impl Link {
    /// Creates an idle link; `rng` is the scheme's random stream.
    #[must_use]
    pub fn new(queue: &QueueConfig, weights: &Weights, rate: LinkRate, delay: Time, rng: Rng) -> Self {
        let port = EgressPort::new(queue.build(rate.initial(), weights), rate, delay, rng);
        Self {
            port,
            accounting: Accounting::default(),
            probe: Box::new(PortProbe::new(Arc::new([]), 0..0, None)),
            slack: Time::ZERO,
        }
    }

    /// Passes the classes of users to the scheme. Call it before the first packet.
    pub fn set_classes(&mut self, classes: ClassTree) {
        self.port.set_classes(classes);
    }

    /// Sets the port's probe. Call it before the first packet.
    pub fn attach(&mut self, probe: PortProbe) {
        *self.probe = probe;
    }

    /// Measurements at the port.
    #[must_use]
    pub fn probe(&self) -> &PortProbe {
        &self.probe
    }

    /// Dropped packets that the users' probes have not counted yet.
    pub fn losses(&mut self) -> &mut Vec<Loss> {
        &mut self.probe.losses
    }

    /// Accounting of packets so far.
    #[must_use]
    pub fn accounting(&self) -> Accounting {
        self.accounting
    }

    /// Scheme of the port.
    #[must_use]
    pub fn discipline(&self) -> &AnyDiscipline<SimPacket> {
        self.port.discipline()
    }

    /// Backlog.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.port.backlog()
    }

    /// Packets in transmission or in flight. May include packets that wait for transmission.
    #[must_use]
    #[inline]
    pub fn wire(&self) -> &Wire<SimPacket> {
        self.port.wire()
    }

    /// Number of packets in transmission or in flight.
    #[must_use]
    pub fn on_wire(&self) -> usize {
        self.port.on_wire()
    }

    /// The packet whose transmission started last, if it is still in flight.
    #[must_use]
    pub fn last_started(&self) -> Option<&SimPacket> {
        self.port.last_started()
    }

    /// Makes the scheme store the queue, as a reference for tests. Call it before the first packet.
    pub fn keep_no_packets(&mut self) {
        self.port.keep_no_packets();
    }

    /// Initial rate.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        self.port.rate().initial()
    }

    /// Sets the slack, the time by which the link's event may be later than the arrival of a packet at the far end.
    /// Must not be called for links that hold packets back.
    pub fn set_slack(&mut self, slack: Time) {
        self.slack = slack;
    }

    /// Time of the next event: a packet has reached the far end (plus slack), or a held-back packet may be sent.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Time {
        self.port.next_event().saturating_add(self.slack)
    }

    /// Takes the next packet that has reached the far end by `now`, with its arrival time. Call [`Link::serve_until`]
    /// for this time first.
    #[inline]
    pub fn take_arrived(&mut self, now: Time) -> Option<(Time, SimPacket)> {
        self.port.take_arrived(now)
    }

    /// Sends packets that were held back until `now`.
    #[cold]
    #[inline(never)]
    pub fn wake<O: PortObserver<SimPacket>>(&mut self, now: Time, observer: &mut O) {
        let (port, mut recorder) = self.watched(observer);
        port.serve_until(now, &mut recorder);
    }

    /// Prefetches the link's cache lines.
    #[inline]
    pub fn fetch(&self) {
        fetch_lines::<Self, _>(&self.accounting.arrived, offset_of!(Self, accounting.arrived));
    }

    /// Prefetches the probe and the packet to be sent next. Call it once the cache lines of [`Link::fetch`] have
    /// arrived.
    #[inline]
    pub fn fetch_probe(&self) {
        self.probe.fetch();
        if let Some(packet) = self.port.upcoming(0) {
            packet.fetch();
        }
    }

    /// Prefetches the counts that the probe updates when `packet` is enqueued. Call it once the probe's cache lines
    /// have arrived. If a packet waits now, prefetches the counts of the next transmission instead.
    #[inline]
    pub fn fetch_counts(&self, packet: &SimPacket) {
        if self.port.upcoming(0).is_some() {
            self.fetch_next_start();
        } else {
            self.probe.fetch_counts(packet, Time::ZERO);
        }
    }

    /// Prefetches the counts of the next transmission and the packet after it.
    #[inline]
    pub fn fetch_next_start(&self) {
        if let Some(packet) = self.port.upcoming(0) {
            self.probe.fetch_counts(packet, self.port.busy_until().saturating_sub(packet.enqueued_at));
        }
        if let Some(packet) = self.port.upcoming(1) {
            packet.fetch();
        }
    }

    /// Enqueues the packet that `make` returns at `now`.
    #[inline(always)]
    pub fn enqueue<O: PortObserver<SimPacket>>(&mut self, make: impl Fn() -> SimPacket, now: Time, observer: O) {
        let (port, recorder) = self.watched(observer);
        port.enqueue(make, now, recorder);
    }

    /// Takes the packet that reaches the far end at `now`, which must equal [`Wire::next_arrival`].
    #[inline]
    pub fn arrive<O: PortObserver<SimPacket>>(&mut self, now: Time, observer: &mut O) -> SimPacket {
        let (port, mut recorder) = self.watched(observer);
        port.arrive(now, &mut recorder)
    }

    /// Takes the first packet in transmission or in flight, with its arrival time at the far end. Used instead of
    /// [`Link::arrive`] if the far end is in another part of the network, which runs on another thread.
    #[inline]
    pub fn take_sent(&mut self) -> Option<(Time, SimPacket)> {
        self.port.take_sent()
    }

    /// Returns the start of the next transmission if no packet arrives before. [`Link::serve_until`] must have been
    /// called for `served_until`. Returns [`Time::NEVER`] if no packet waits, or none may be sent.
    #[must_use]
    pub fn next_start(&self, served_until: Time) -> Time {
        let start = self.port.busy_until();
        if start > served_until && self.port.backlog().packets > 0 { start } else { Time::NEVER }
    }

    /// Starts all transmissions due by `now`.
    pub fn serve_until(&mut self, now: Time) {
        let mut nobody = ();
        let (port, mut recorder) = self.watched(&mut nobody);
        port.serve_until(now, &mut recorder);
    }

    /// Counts a transmitted packet as lost on the wire.
    pub fn lose(&mut self, packet: &SimPacket, now: Time) {
        self.accounting.departed -= 1;
        self.accounting.dropped += 1;
        self.probe.lost(packet, now);
    }

    /// Starts the measurement at `now`.
    pub fn restart_probe<O: PortObserver<SimPacket>>(&mut self, now: Time, observer: &mut O) {
        let (port, mut recorder) = self.watched(observer);
        port.serve_until(now, &mut recorder);
        recorder.probe.restart(now, port.backlog(), port.busy_until());
    }

    /// Ends the run at `now`.
    pub fn finish<O: PortObserver<SimPacket>>(&mut self, now: Time, observer: &mut O) {
        let (port, mut recorder) = self.watched(observer);
        port.serve_until(now, &mut recorder);
        recorder.probe.finish(now, port.backlog(), port.busy_until());
    }

    #[inline]
    fn watched<'a, O>(
        &'a mut self,
        observer: O,
    ) -> (&'a mut EgressPort<SimPacket, AnyDiscipline<SimPacket>>, Recorder<'a, O>) {
        let Self { port, accounting, probe, .. } = self;
        (port, Recorder { accounting, probe, observer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_counted_at_the_probe_and_are_no_drops() {
        let mut accounting = Accounting::default();
        let mut probe = PortProbe::new(Arc::new([0]), 0..1, None);
        let packet = SimPacket { wire_bytes: 1500, ..SimPacket::BLANK };
        let mut sink = Recorder { accounting: &mut accounting, probe: &mut probe, observer: () };
        sink.marked(&packet);
        sink.marked(&packet);
        assert_eq!((probe.marks, accounting.dropped), (2, 0));
        probe.restart(Time::ZERO, Backlog::default(), Time::ZERO);
        assert_eq!(probe.marks, 0);
    }
}
