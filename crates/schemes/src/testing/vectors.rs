//! Golden vectors: the decisions of a scheme with default parameters on a fixed sequence of packets, as text.
//!
//! A link of 10 Mbit/s has a buffer of 100 packets and 12 users, of which the first sends half of the packets. 400
//! packets arrive at 1.6 times the link's rate, then 200 at half the link's rate. A tenth of the packets are short, a
//! tenth EF, and a quarter ECN-capable. The first lines, which begin with `#`, give scheme and configuration. Other
//! lines are
//!
//! | event | fields |
//! |---|---|
//! | `arrive` | time in ps, packet, flow (also user), bytes, class, ECN, label |
//! | `drop` | packet, reason; belongs to the event above |
//! | `mark` | packet; belongs to the event above |
//! | `depart` | time in ps, packet, label |
//!
//! Random numbers come from the streams ("queue", 0) and ("marker", 0) of seed 1, replication 0, see
//! [`crate::base::rng`].

use crate::base::rng::Rng;
use crate::base::units::{BitRate, QueueLimit, Time};
use crate::contract::buffer::BufferParams;
use crate::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline};
use crate::contract::marker::MeterSpec;
use crate::contract::packet::{Ecn, TrafficClass};
use crate::contract::weights::Weights;
use crate::registry::markers::MarkerConfig;
use crate::registry::queue_config::QueueConfig;
use crate::registry::schemes::{AnyDiscipline, Scheme};
use crate::testing::TestPacket;
use std::fmt::Write;

const RATE: BitRate = BitRate(10_000_000);
const USERS: u32 = 12;
const OVERLOAD_PACKETS: u64 = 400;
const PACKETS: u64 = 600;

/// The vector of a scheme.
#[must_use]
pub fn vector(scheme: Scheme) -> String {
    let buffer = BufferParams { limit: QueueLimit::Packets(100), ..Default::default() };
    let config = QueueConfig::of(scheme, buffer);
    let marker = MarkerConfig::of(scheme.marker());
    let mut lines = Lines(format!(
        "# {}\n# queue {}\n# marker {}\n",
        scheme.name(),
        serde_json::Value::Object(config.write()),
        serde_json::Value::Object(marker.write())
    ));
    let spec = MeterSpec { reference_rate: BitRate(10_000), weight: 1.0, start: Time::ZERO };
    let mut markers = marker.build(&vec![spec; USERS as usize]);
    let mut port = Port { discipline: config.build(RATE, &Weights::equal()), free_at: Time::ZERO };
    let (mut rng, mut marker_rng) = (Rng::stream(1, 0, "queue", 0), Rng::stream(1, 0, "marker", 0));
    let mut traffic = Rng::stream(1, 0, "traffic", 0);
    let mut now = Time::ZERO;
    for id in 0..PACKETS {
        let load = if id < OVERLOAD_PACKETS { 1.6 } else { 0.5 };
        now += Time::from_secs_f64(traffic.exponential(1.2e-3 / load));
        port.serve_until(now, &mut rng, &mut lines);
        let mut packet = packet(id, &mut traffic);
        markers.label(packet.user as usize, &mut packet, now, &mut marker_rng);
        lines.arrive(&packet, now);
        port.discipline.enqueue(packet, now, &mut rng, &mut lines);
        port.serve_until(now, &mut rng, &mut lines);
    }
    port.serve_until(Time::NEVER, &mut rng, &mut lines);
    lines.0
}

fn packet(id: u64, traffic: &mut Rng) -> TestPacket {
    let mut one_in = |n: u64| traffic.bits().is_multiple_of(n);
    let flow = if one_in(2) { 0 } else { 1 + (id % u64::from(USERS - 1)) as u32 };
    TestPacket {
        id,
        flow,
        user: flow,
        wire_bytes: if one_in(10) { 40 } else { 1500 },
        class: if one_in(10) { TrafficClass::Expedited } else { TrafficClass::BestEffort },
        ecn: if one_in(4) { Ecn::Ect0 } else { Ecn::NotEct },
        ..Default::default()
    }
}

/// The link and its discipline.
struct Port {
    discipline: AnyDiscipline<TestPacket>,
    free_at: Time,
}

impl Port {
    /// Starts all transmissions due by `now`.
    fn serve_until(&mut self, now: Time, rng: &mut Rng, lines: &mut Lines) {
        while self.free_at <= now && self.discipline.backlog().packets > 0 {
            let start = self.free_at;
            let Some(packet) = self.discipline.dequeue(start, rng, lines) else { break };
            lines.depart(&packet, start);
            self.free_at = start + RATE.time_of(u64::from(packet.wire_bytes));
        }
        // The link is idle, so the next packet is served when it arrives.
        if now < Time::NEVER {
            self.free_at = self.free_at.max(now);
        }
    }
}

/// The lines written so far.
struct Lines(String);

impl Lines {
    fn arrive(&mut self, packet: &TestPacket, now: Time) {
        let TestPacket { id, flow, wire_bytes, class, ecn, label, .. } = packet;
        writeln!(self.0, "arrive {} {id} {flow} {wire_bytes} {} {ecn:?} {label:?}", now.0, class.name())
            .expect("a String takes all");
    }

    fn depart(&mut self, packet: &TestPacket, now: Time) {
        writeln!(self.0, "depart {} {} {:?}", now.0, packet.id, packet.label).expect("a String takes all");
    }
}

impl DropSink<TestPacket> for Lines {
    fn dropped(&mut self, packet: &TestPacket, reason: DropReason, _: Backlog) {
        writeln!(self.0, "drop {} {}", packet.id, reason.name()).expect("a String takes all");
    }

    fn marked(&mut self, packet: &TestPacket) {
        writeln!(self.0, "mark {}", packet.id).expect("a String takes all");
    }
}
