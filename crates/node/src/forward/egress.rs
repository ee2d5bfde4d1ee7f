//! Outgoing link of a port: meters, then either a queue with a rate, or a wire without queue and rate.

use super::config;
use super::frame_pool::FramePool;
use super::packet::NodePacket;
use super::stats::EgressStats;
use crate::control::{Control, ControlRate};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline, Report, StateSize};
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::packet::Ecn;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::port::{EgressPort, LinkRate, PortObserver, Wire};
use fairlane_schemes::registry::markers::AnyMeterBank;
use fairlane_schemes::registry::schemes::AnyDiscipline;
use std::collections::VecDeque;

/// Path of packets to the other end of the link.
#[derive(Debug)]
enum Way {
    /// Through a queue, at a rate.
    Port(Box<EgressPort<NodePacket, ControlFirst>>),
    /// Immediately.
    Wire(Wire<NodePacket>),
}

/// The link, with packets waiting and in flight.
#[derive(Debug)]
pub struct EgressLink {
    rate: Option<BitRate>,
    way: Way,
    markers: AnyMeterBank,
    marker_rng: Rng,
    control: ControlRate,
    /// Counters.
    pub stats: EgressStats,
}

impl EgressLink {
    /// Creates the idle link of port number `port`.
    #[must_use]
    pub fn new(config: &config::Egress, users: &[MeterSpec], seed: u64, port: usize) -> Self {
        let weights = Weights::new(users.iter().map(|user| user.weight).collect::<Vec<_>>());
        let (rate, delay) = (config.params.rate, config.params.delay);
        let way = match config.queue.as_ref().zip(rate) {
            Some((queue, rate)) => {
                let rng = Rng::stream(seed, 0, "queue", port as u64);
                let queue = ControlFirst::new(queue.build(rate, &weights));
                Way::Port(EgressPort::new(queue, LinkRate::new(rate, &[]), delay, rng).into())
            }
            None => Way::Wire(Wire::new(delay)),
        };
        Self {
            rate,
            way,
            markers: config.marker.build(users),
            marker_rng: Rng::stream(seed, 0, "marker", port as u64),
            control: ControlRate::new(config.params.control_rate),
            stats: EgressStats::new(users.len(), Time::ZERO, Backlog::default()),
        }
    }

    /// Rate of the link.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// Backlog.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        match &self.way {
            Way::Port(port) => port.backlog(),
            Way::Wire(_) => Backlog::default(),
        }
    }

    /// Measurements of the scheme.
    pub fn readings(&self, report: Report<'_>) {
        if let Way::Port(port) = &self.way {
            port.discipline().report(report);
        }
    }

    /// Enqueues a packet that arrives at `now`.
    #[inline]
    pub fn offer(&mut self, mut packet: NodePacket, now: Time, pool: &mut FramePool) {
        self.serve_until(now, pool);
        self.stats.arrived(packet.user, packet.bytes);
        if packet.control != Control::No {
            self.judge(&mut packet, now);
        }
        if packet.control == Control::No {
            self.markers.label(packet.user as usize, &mut packet, now, &mut self.marker_rng);
        }
        match &mut self.way {
            Way::Port(port) => {
                port.enqueue(|| packet, now, &mut Recorder { pool, stats: &mut self.stats });
                self.stats.queued(port.backlog(), now);
            }
            Way::Wire(wire) => {
                self.stats.departed(packet.user, packet.bytes, Time::ZERO, Time::ZERO);
                wire.send(&packet, now);
            }
        }
    }

    /// Removes the control class of a packet, unless the port has a queue and its control rate allows the packet.
    #[cold]
    fn judge(&mut self, packet: &mut NodePacket, now: Time) {
        let is_queued = matches!(self.way, Way::Port(_));
        let has_room = is_queued.then(|| self.control.spend(packet.control, packet.bytes, now)).flatten();
        self.stats.control += u64::from(has_room == Some(true));
        self.stats.control_excess += u64::from(has_room == Some(false));
        if has_room != Some(true) {
            packet.control = Control::No;
        }
    }

    /// Starts every transmission due by `now`.
    #[inline]
    pub fn serve_until(&mut self, now: Time, pool: &mut FramePool) {
        if let Way::Port(port) = &mut self.way
            && port.busy_until() <= now
            && port.backlog().packets > 0
        {
            port.serve_until(now, &mut Recorder { pool, stats: &mut self.stats });
            if port.busy_until() <= now {
                // If the scheme dropped the last waiting packets at the head, they left the queue when the link became
                // idle.
                self.stats.queued(port.backlog(), port.busy_until());
            }
        }
    }

    /// Time at which the next packet reaches the other end; [`Time::NEVER`] if no packet is in flight.
    #[inline]
    pub fn next_due(&self) -> Time {
        match &self.way {
            Way::Port(port) => port.wire().next_arrival(),
            Way::Wire(wire) => wire.next_arrival(),
        }
    }

    /// Takes the next packet due by `now`. Returns the due time and the packet. Writes changes by the scheme into the
    /// packet's frame.
    #[inline]
    pub fn take_due(&mut self, now: Time, pool: &mut FramePool) -> Option<(Time, NodePacket)> {
        let due = self.next_due();
        if due > now {
            return None;
        }
        let packet = match &mut self.way {
            Way::Port(port) => port.arrive(due, &mut Recorder { pool, stats: &mut self.stats }),
            Way::Wire(wire) => wire.take()?.1,
        };
        if packet.ecn != packet.ecn_before {
            write_ecn(pool, &packet, packet.ecn);
        }
        Some((due, packet))
    }
}

/// A scheme with a priority queue for control packets. The control rate limits the length of that queue and its share
/// of the link.
#[derive(Debug)]
struct ControlFirst {
    control: VecDeque<NodePacket>,
    bytes: u64,
    scheme: AnyDiscipline<NodePacket>,
}

impl ControlFirst {
    fn new(scheme: AnyDiscipline<NodePacket>) -> Self {
        Self { control: VecDeque::new(), bytes: 0, scheme }
    }
}

impl QueueDiscipline<NodePacket> for ControlFirst {
    #[inline]
    fn enqueue(&mut self, mut packet: NodePacket, now: Time, rng: &mut Rng, drops: &mut impl DropSink<NodePacket>) {
        if packet.control == Control::No {
            return self.scheme.enqueue(packet, now, rng, drops);
        }
        packet.enqueued_at = now;
        self.bytes += u64::from(packet.bytes);
        self.control.push_back(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<NodePacket>) -> Option<NodePacket> {
        let Some(packet) = self.control.pop_front() else { return self.scheme.dequeue(now, rng, drops) };
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.scheme.backlog();
        Backlog { packets: packets + self.control.len() as u32, bytes: bytes + self.bytes }
    }

    fn state_size(&self) -> StateSize {
        self.scheme.state_size()
    }

    fn report(&self, report: Report<'_>) {
        self.scheme.report(report);
    }
}

#[cold]
fn write_ecn(pool: &mut FramePool, packet: &NodePacket, ecn: Ecn) {
    let frame = pool.frame_mut(packet.frame);
    let parsed = crate::frame::Frame::parse(frame);
    crate::frame::set_ecn(frame, &parsed, ecn);
}

/// Counts events at a port, and frees the frames of dropped packets.
struct Recorder<'a> {
    pool: &'a mut FramePool,
    stats: &'a mut EgressStats,
}

impl PortObserver<NodePacket> for Recorder<'_> {
    #[inline]
    fn dropped(&mut self, packet: &NodePacket, _: Time, reason: DropReason, _: Backlog) {
        self.stats.dropped(packet.user, packet.bytes, reason);
        self.pool.release(packet.frame);
    }

    #[inline]
    fn marked(&mut self, packet: &NodePacket) {
        self.stats.marked(packet.user);
    }

    #[inline]
    fn transmitted(&mut self, packet: &NodePacket, start: Time, end: Time, backlog: Backlog) {
        self.stats.departed(packet.user, packet.bytes, start.saturating_sub(packet.enqueued_at), end - start);
        self.stats.queued(backlog, start);
    }
}
