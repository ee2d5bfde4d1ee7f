//! Runs operations on a scheme. After each operation, checks the properties that every scheme must have.
//!
//! | property | check |
//! |---|---|
//! | conservation | every offered packet is dropped once, served once, or waiting; the backlog has the number and bytes of waiting packets |
//! | limit | the backlog (if [`Scheme::limits_each_user`], the backlog of each user) never exceeds the buffer's limit |
//! | order | packets of one flow leave in the order of arrival, unless [`Scheme::reorders_flows`] |
//! | work conservation | a port with a backlog serves a packet, or has dropped all waiting packets |
//! | no drop when empty | a packet that finds an empty queue is stored, unless [`Scheme::drops_when_empty`] |
//! | probabilities | are in [0, 1] |
//! | readings | are finite |

use crate::base::rng::Rng;
use crate::base::units::{BitRate, QueueLimit, Time};
use crate::contract::buffer::BufferParams;
use crate::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline};
use crate::contract::marker::MeterSpec;
use crate::contract::packet::{Ecn, TrafficClass};
use crate::contract::weights::Weights;
use crate::registry::markers::{AnyMeterBank, MarkerConfig};
use crate::registry::queue_config::QueueConfig;
use crate::registry::schemes::{AnyDiscipline, Scheme};
use crate::testing::TestPacket;
use std::collections::HashMap;

/// An event at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// A packet arrives.
    Enqueue(Offer),
    /// The link requests a packet.
    Dequeue,
    /// Time passes.
    Advance(Time),
    /// The rate of the link changes.
    SetRate(BitRate),
}

/// An arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// Flow; its user is `flow % users`.
    pub flow: u32,
    /// Length on the wire.
    pub wire_bytes: u32,
    /// Traffic class of the packet.
    pub class: TrafficClass,
    /// ECN field.
    pub ecn: Ecn,
    /// A label for the packet instead of the marker's.
    pub forged_label: Option<f64>,
}

/// A port under test, with a record of its inputs.
#[derive(Debug)]
pub struct Harness {
    scheme: Scheme,
    discipline: AnyDiscipline<TestPacket>,
    markers: AnyMeterBank,
    users: u32,
    limit: QueueLimit,
    rng: Rng,
    marker_rng: Rng,
    now: Time,
    record: Record,
}

/// Records of the packets offered so far.
#[derive(Debug, Default)]
struct Record {
    /// Waiting packets: id to flow and length.
    waiting: HashMap<u64, (u32, u32)>,
    waiting_bytes: u64,
    /// Id of each flow's last served packet.
    last_served: HashMap<u32, u64>,
    offered: u64,
    served: u64,
    dropped: u64,
    problem: Option<String>,
}

impl Record {
    fn take(&mut self, packet: &TestPacket) {
        match self.waiting.remove(&packet.id) {
            Some((flow, wire_bytes)) => {
                self.waiting_bytes -= u64::from(wire_bytes);
                if (flow, wire_bytes) != (packet.flow, packet.wire_bytes) {
                    self.problem = Some(format!("packet {} changed its flow or length", packet.id));
                }
            }
            None => self.problem = Some(format!("packet {} left twice, or never came", packet.id)),
        }
    }
}

impl DropSink<TestPacket> for Record {
    fn dropped(&mut self, packet: &TestPacket, _: DropReason, _: Backlog) {
        self.dropped += 1;
        self.take(packet);
    }
    fn marked(&mut self, packet: &TestPacket) {
        if !packet.ecn.is_capable() {
            self.problem = Some(format!("packet {} was marked, but its transport has no ECN", packet.id));
        }
    }
}

impl Harness {
    /// Creates an idle port of 10 Mbit/s with `config`, the scheme's marker, and users of unequal weight.
    ///
    /// # Panics
    /// If the scheme is external.
    #[must_use]
    pub fn new(config: &QueueConfig, users: u32, seed: u64) -> Self {
        let rate = BitRate(10_000_000);
        let weights: Vec<f64> = (0..users.min(64)).map(|user| f64::from(user % 3 + 1)).collect();
        let spec = |user: u32| MeterSpec {
            reference_rate: BitRate(10_000),
            weight: f64::from(user % 3 + 1),
            start: Time::ZERO,
        };
        Self {
            scheme: config.scheme().expect("a scheme of the list"),
            discipline: config.build(rate, &Weights::new(weights)),
            markers: MarkerConfig::of(config.marker()).build(&(0..users).map(spec).collect::<Vec<_>>()),
            users,
            limit: config.buffer.limit,
            rng: Rng::stream(seed, 0, "queue", 0),
            marker_rng: Rng::stream(seed, 0, "marker", 0),
            now: Time::ZERO,
            record: Record::default(),
        }
    }

    /// Creates a port with `scheme`, its default parameters, and a buffer of `limit`.
    #[must_use]
    pub fn of(scheme: Scheme, limit: QueueLimit, users: u32, seed: u64) -> Self {
        Self::new(&QueueConfig::of(scheme, BufferParams { limit, ..Default::default() }), users, seed)
    }

    /// Decodes a scheme, a limit and a sequence of operations from `bytes` and runs them, for fuzzing.
    ///
    /// # Panics
    /// Like [`Harness::step`].
    pub fn run(bytes: &[u8]) {
        let Some((&[scheme, limit, seed], operations)) = bytes.split_first_chunk::<3>() else { return };
        let limit = match u32::from(limit) {
            packets @ 0..128 => QueueLimit::Packets(packets + 1),
            thousands => QueueLimit::Bytes(u64::from(thousands - 127) * 1000),
        };
        let scheme = Scheme::ALL[usize::from(scheme) % Scheme::ALL.len()];
        let mut harness = Self::of(scheme, limit, 20, u64::from(seed));
        Operations::new(operations, 50).for_each(|operation| harness.step(operation));
        harness.check_readings();
        harness.drain();
    }

    /// The discipline.
    #[must_use]
    pub fn discipline(&self) -> &AnyDiscipline<TestPacket> {
        &self.discipline
    }

    /// Packets offered, served, dropped.
    #[must_use]
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.record.offered, self.record.served, self.record.dropped)
    }

    /// Performs one operation and checks the port.
    ///
    /// # Panics
    /// If the scheme violates a property. The message says which, where and when.
    pub fn step(&mut self, operation: Operation) {
        let outcome = match operation {
            Operation::Enqueue(offer) => self.enqueue(&offer),
            Operation::Dequeue => self.dequeue(),
            Operation::Advance(time) => {
                self.now += time;
                Ok(())
            }
            Operation::SetRate(rate) => {
                self.discipline.set_link_rate(rate);
                Ok(())
            }
        };
        if let Err(problem) = outcome.and_then(|()| self.check()) {
            panic!("{}: {problem}, after {operation:?} at {} with {:?}", self.scheme.name(), self.now, self.limit);
        }
    }

    /// Serves until no packet waits.
    ///
    /// # Panics
    /// Like [`Harness::step`].
    pub fn drain(&mut self) {
        while self.discipline.backlog().packets > 0 {
            self.step(Operation::Dequeue);
        }
    }

    /// Checks that the readings of the scheme are finite.
    ///
    /// # Panics
    /// If a reading is not finite.
    pub fn check_readings(&self) {
        self.discipline.report(&mut |name, value| {
            assert!(value.is_finite(), "{}: reading {name} is {value}", self.scheme.name());
        });
    }

    fn enqueue(&mut self, offer: &Offer) -> Result<(), String> {
        let mut packet = TestPacket {
            id: self.record.offered,
            flow: offer.flow,
            user: offer.flow % self.users,
            wire_bytes: offer.wire_bytes,
            class: offer.class,
            ecn: offer.ecn,
            ..Default::default()
        };
        self.markers.label(packet.user as usize, &mut packet, self.now, &mut self.marker_rng);
        if !packet.label.is_finite() {
            return Err(format!("the marker wrote the label {}", packet.label));
        }
        packet.label = offer.forged_label.unwrap_or(packet.label);
        let (was_empty, dropped) = (self.record.waiting.is_empty(), self.record.dropped);
        self.record.offered += 1;
        self.record.waiting.insert(packet.id, (packet.flow, packet.wire_bytes));
        self.record.waiting_bytes += u64::from(packet.wire_bytes);
        self.discipline.enqueue(packet, self.now, &mut self.rng, &mut self.record);
        let fits = Backlog::default().has_room_for(packet.wire_bytes, self.limit);
        if was_empty && fits && self.record.dropped > dropped && !self.scheme.drops_when_empty() {
            return Err("it dropped a packet that found nothing waiting".into());
        }
        Ok(())
    }

    fn dequeue(&mut self) -> Result<(), String> {
        let Some(packet) = self.discipline.dequeue(self.now, &mut self.rng, &mut self.record) else {
            let left = self.record.waiting.len();
            return if left == 0 { Ok(()) } else { Err(format!("{left} packets wait, but none is given")) };
        };
        self.record.served += 1;
        self.record.take(&packet);
        let before = self.record.last_served.insert(packet.flow, packet.id);
        if before.is_some_and(|id| id > packet.id) && !self.scheme.reorders_flows() {
            return Err(format!("packet {} of flow {} left after its successor", packet.id, packet.flow));
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        if let Some(problem) = self.record.problem.take() {
            return Err(problem);
        }
        let backlog = self.discipline.backlog();
        let waiting = Backlog { packets: self.record.waiting.len() as u32, bytes: self.record.waiting_bytes };
        if backlog != waiting {
            return Err(format!("it says {backlog:?}, but {waiting:?} wait"));
        }
        let queues = if self.scheme.limits_each_user() { self.users } else { 1 };
        let within = match self.limit {
            QueueLimit::Packets(limit) => backlog.packets <= limit.saturating_mul(queues),
            QueueLimit::Bytes(limit) => backlog.bytes <= limit.saturating_mul(queues.into()),
        };
        if !within {
            return Err(format!("{backlog:?} is above the limit"));
        }
        match self.discipline.drop_probability() {
            Some(p) if !(0.0..=1.0).contains(&p) => Err(format!("its drop probability is {p}")),
            _ => Ok(()),
        }
    }
}

/// Operations decoded from bytes, for fuzzing and for random sequences. Every string of bytes can be decoded.
#[derive(Debug)]
pub struct Operations<'a> {
    bytes: &'a [u8],
    flows: u32,
}

impl<'a> Operations<'a> {
    /// Creates the sequence encoded by `bytes` for `flows` flows.
    #[must_use]
    pub fn new(bytes: &'a [u8], flows: u32) -> Self {
        Self { bytes, flows }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn offer(&mut self) -> Option<Offer> {
        let (kind, word) = (self.byte()?, self.word()?);
        Some(Offer {
            flow: word % self.flows,
            wire_bytes: match kind % 16 {
                0 => 0,
                1 => 40,
                2 => 65_535,
                3 => u32::MAX,
                4..8 => word >> 21,
                _ => 1500,
            },
            class: if kind & 16 == 0 { TrafficClass::BestEffort } else { TrafficClass::Expedited },
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(kind >> 5 & 3)],
            forged_label: match (kind >> 7, word >> 28) {
                (1, 0) => Some(0.0),
                (1, 1) => Some(-1.0),
                (1, 2) => Some(1e300),
                (1, 3) => Some(-1e300),
                (1, 4) => Some(f64::MIN_POSITIVE),
                (1, 5) => Some(f64::from(word & 0xffff) / 1024.0 - 32.0),
                _ => None,
            },
        })
    }

    /// Decodes a duration from 0 to half an hour, mostly close to the time of a packet.
    fn duration(&mut self) -> Option<Time> {
        let word = self.word()?;
        Some(match word % 256 {
            0 => Time::from_secs(u64::from(word >> 8) % 1800),
            1..8 => Time::from_millis(u64::from(word >> 8) % 1000),
            8..64 => Time::ZERO,
            _ => Time::from_micros(u64::from(word >> 8) % 2400),
        })
    }
}

impl Iterator for Operations<'_> {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        Some(match self.byte()? {
            0..112 => Operation::Enqueue(self.offer()?),
            112..200 => Operation::Dequeue,
            200..255 => Operation::Advance(self.duration()?),
            255 => Operation::SetRate(BitRate(u64::from(self.word()?).max(8000))),
        })
    }
}
