//! Measures the cost of one scheme: `cargo run --release --bin cost -- SCHEME FLOWS [PACKETS]`.
//!
//! FLOWS flows, each of a separate user, send 1500-byte packets in random order. The load is 1.1 times the rate of the
//! link, which has 100 kbit/s and buffer space for two packets per flow. Prints one line of JSON: nanoseconds per
//! packet at the edge (marker) and at the port (one arrival, and the resulting departure or drop), and the state of
//! both. `benches/schemes.py` runs it for all schemes, also under callgrind, which finds the two functions by their
//! names.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::contract::discipline::QueueDiscipline;
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::registry::markers::{AnyMeterBank, MarkerConfig};
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::{AnyDiscipline, Scheme};
use fairlane_schemes::testing::TestPacket;
use std::time::{Duration, Instant};

/// Packets between two readings of the clock.
const CHUNK: usize = 4096;

/// A port and the time at which its link is free.
struct Port {
    discipline: AnyDiscipline<TestPacket>,
    rate: BitRate,
    free_at: Time,
    rng: Rng,
}

#[inline(never)]
fn edge(markers: &mut AnyMeterBank, packets: &mut [(Time, TestPacket)], rng: &mut Rng) {
    for (now, packet) in packets {
        markers.label(packet.user as usize, packet, *now, rng);
    }
}

#[inline(never)]
fn port(port: &mut Port, packets: &[(Time, TestPacket)]) {
    for &(now, packet) in packets {
        while port.free_at <= now {
            let Some(served) = port.discipline.dequeue(port.free_at, &mut port.rng, &mut ()) else {
                port.free_at = now + port.rate.time_of(1500);
                break;
            };
            port.free_at += port.rate.time_of(u64::from(served.wire_bytes));
        }
        port.discipline.enqueue(packet, now, &mut port.rng, &mut ());
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let scheme = arguments
        .get(1)
        .and_then(|name| Scheme::ALL.iter().copied().find(|scheme| scheme.name() == name))
        .unwrap_or_else(|| fail("the first argument must be the name of a scheme"));
    let flows = number(&arguments, 2).unwrap_or_else(|| fail("the second argument must be a number of flows"));
    let packets = number(&arguments, 3).unwrap_or(2_000_000) as usize;

    let rate = BitRate(100_000 * flows);
    let buffer =
        BufferParams { limit: QueueLimit::Packets((2 * flows).clamp(24, 1 << 24) as u32), ..Default::default() };
    let config = QueueConfig::of(scheme, buffer);
    let spec = MeterSpec { reference_rate: BitRate(10_000), weight: 1.0, start: Time::ZERO };
    let mut markers = MarkerConfig::of(scheme.marker()).build(&vec![spec; flows as usize]);
    let mut at = Port {
        discipline: config.build(rate, &Weights::equal()),
        rate,
        free_at: Time::ZERO,
        rng: Rng::stream(1, 0, "queue", 0),
    };
    let fixed = at.discipline.state_size();
    let (mut traffic, mut marker_rng) = (Rng::stream(1, 0, "traffic", 0), Rng::stream(1, 0, "marker", 0));
    let gap = Time::from_secs_f64(rate.time_of(1500).as_secs_f64() / 1.1);
    let mut now = Time::from_secs(100);

    // Every flow must have sent several packets before the measurement begins.
    let warm_up = (4 * flows as usize).max(20_000).div_ceil(CHUNK);
    let counted = packets.div_ceil(CHUNK);
    let (mut edge_time, mut port_time) = (Duration::ZERO, Duration::ZERO);
    let mut chunk = Vec::with_capacity(CHUNK);
    for round in 0..warm_up + counted {
        chunk.clear();
        chunk.extend((0..CHUNK).map(|_| {
            now += gap;
            let flow = (traffic.bits() % flows) as u32;
            (now, TestPacket { flow, user: flow, ..Default::default() })
        }));
        let start = Instant::now();
        edge(&mut markers, &mut chunk, &mut marker_rng);
        let marked = Instant::now();
        port(&mut at, &chunk);
        if round >= warm_up {
            edge_time += marked - start;
            port_time += marked.elapsed();
        }
    }
    let (state, edge_state) = (at.discipline.state_size(), markers.state_size());
    let per_packet = |time: Duration| time.as_nanos() as f64 / (counted * CHUNK) as f64;
    println!(
        "{}",
        serde_json::json!({
            "scheme": scheme.name(),
            "flows": flows,
            "packets": (warm_up + counted) * CHUNK,
            "edge_ns": per_packet(edge_time),
            "port_ns": per_packet(port_time),
            "port_bytes_idle": fixed.bytes,
            "port_bytes": state.bytes,
            "port_records": state.records,
            "edge_bytes": edge_state.bytes,
        })
    );
}

fn number(arguments: &[String], index: usize) -> Option<u64> {
    arguments.get(index)?.parse().ok().filter(|&number| number > 0)
}

fn fail(problem: &str) -> ! {
    eprintln!("error: {problem}; usage: cost SCHEME FLOWS [PACKETS]");
    std::process::exit(2);
}
