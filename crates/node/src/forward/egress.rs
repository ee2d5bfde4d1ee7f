//! The link that a port sends on: meters, a queue discipline, a rate, a delay.

use super::config;
use super::packet::NodePacket;
use super::pool::Pool;
use super::stats::EgressStats;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline};
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::packet::{Ecn, Packet};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::registry::markers::AnyMeterBank;
use fairlane_schemes::registry::schemes::AnyDiscipline;
use std::collections::VecDeque;

/// Queue and transmitter of a link with a rate.
#[derive(Debug)]
struct Transmitter {
    rate: BitRate,
    discipline: Box<AnyDiscipline<NodePacket>>,
    /// End of the present transmission.
    busy_until: Option<Time>,
    rng: Rng,
}

/// The link and what waits for it or is on it.
#[derive(Debug)]
pub struct EgressLink {
    transmitter: Option<Transmitter>,
    delay: Time,
    markers: AnyMeterBank,
    marker_rng: Rng,
    /// Sent, and due at the other end.
    on_the_way: VecDeque<(Time, NodePacket)>,
    /// What is counted.
    pub stats: EgressStats,
}

impl EgressLink {
    /// The idle link of port number `port`.
    #[must_use]
    pub fn new(config: &config::Egress, users: &[MeterSpec], seed: u64, port: usize) -> Self {
        let weights = Weights::new(users.iter().map(|user| user.weight).collect::<Vec<_>>());
        let transmitter = config.queue.as_ref().zip(config.params.rate).map(|(queue, rate)| Transmitter {
            rate,
            discipline: Box::new(queue.build(rate, &weights)),
            busy_until: None,
            rng: Rng::stream(seed, 0, "queue", port as u64),
        });
        Self {
            transmitter,
            delay: config.params.delay,
            markers: config.marker.build(users),
            marker_rng: Rng::stream(seed, 0, "marker", port as u64),
            on_the_way: VecDeque::new(),
            stats: EgressStats::new(users.len(), Time::ZERO, Backlog::default()),
        }
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        self.transmitter.as_ref().map(|transmitter| transmitter.rate)
    }

    /// What waits.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.transmitter.as_ref().map_or_else(Backlog::default, |transmitter| transmitter.discipline.backlog())
    }

    /// What the scheme measures itself.
    pub fn readings(&self, report: fairlane_schemes::contract::discipline::Report<'_>) {
        if let Some(transmitter) = &self.transmitter {
            transmitter.discipline.report(report);
        }
    }

    /// Offers a packet that arrives at `now`.
    #[inline]
    pub fn offer(&mut self, mut packet: NodePacket, now: Time, pool: &mut Pool) {
        self.stats.arrived(packet.user, packet.bytes);
        self.markers.label(packet.user as usize, &mut packet, now, &mut self.marker_rng);
        let Some(transmitter) = &mut self.transmitter else {
            self.stats.departed(packet.user, packet.bytes, Time::ZERO, Time::ZERO);
            self.on_the_way.push_back((now + self.delay, packet));
            return;
        };
        let mut drops = Drops { pool, stats: &mut self.stats };
        transmitter.discipline.enqueue(packet, now, &mut transmitter.rng, &mut drops);
        if transmitter.busy_until.is_none() {
            self.transmit(now, pool);
        } else {
            self.stats.queued(transmitter.discipline.backlog(), now);
        }
    }

    /// When a transmission ends, [`Time::NEVER`] if none goes on.
    #[inline]
    pub fn next_end(&self) -> Time {
        self.transmitter.as_ref().and_then(|transmitter| transmitter.busy_until).unwrap_or(Time::NEVER)
    }

    /// Ends a transmission at `now` and starts the next.
    #[inline]
    pub fn transmit(&mut self, now: Time, pool: &mut Pool) {
        let Some(transmitter) = &mut self.transmitter else { return };
        let mut drops = Drops { pool, stats: &mut self.stats };
        let next = transmitter.discipline.dequeue(now, &mut transmitter.rng, &mut drops);
        transmitter.busy_until = next.map(|packet| {
            let lasts = transmitter.rate.time_of(u64::from(packet.bytes));
            self.stats.departed(packet.user, packet.bytes, now.saturating_sub(packet.enqueued_at()), lasts);
            let end = now + lasts;
            self.on_the_way.push_back((end + self.delay, packet));
            end
        });
        self.stats.queued(transmitter.discipline.backlog(), now);
    }

    /// When the next packet is due at the other end, [`Time::NEVER`] if none is on its way.
    #[inline]
    pub fn next_due(&self) -> Time {
        self.on_the_way.front().map_or(Time::NEVER, |&(due, _)| due)
    }

    /// The next packet that is due by `now`, with the time when it was, its frame as the scheme wants it.
    #[inline]
    pub fn take_due(&mut self, now: Time, pool: &mut Pool) -> Option<(Time, NodePacket)> {
        if self.next_due() > now {
            return None;
        }
        let (due, packet) = self.on_the_way.pop_front()?;
        if packet.ecn != packet.ecn_before {
            write_ecn(pool, &packet, packet.ecn);
        }
        Some((due, packet))
    }
}

#[cold]
fn write_ecn(pool: &mut Pool, packet: &NodePacket, ecn: Ecn) {
    let frame = pool.frame_mut(packet.frame);
    let parsed = crate::frame::Frame::parse(frame);
    crate::frame::set_ecn(frame, &parsed, ecn);
}

/// Gives the frames of dropped packets back.
struct Drops<'a> {
    pool: &'a mut Pool,
    stats: &'a mut EgressStats,
}

impl DropSink<NodePacket> for Drops<'_> {
    #[inline]
    fn dropped(&mut self, packet: &NodePacket, reason: DropReason, _: Backlog) {
        self.stats.dropped(packet.user, packet.bytes, reason);
        self.pool.release(packet.frame);
    }
    fn marked(&mut self, _: &NodePacket) {
        self.stats.marked();
    }
}
