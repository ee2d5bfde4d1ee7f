//! Shared parts of the tests of fair schedulers: random operations and measured shares.

use crate::base::rng::Rng;
use crate::contract::prelude::*;
use crate::registry::queue_config::QueueConfig;
use crate::registry::schemes::SchemeParams;
use crate::testing::harness::{Harness, Operations};
use crate::testing::{Drops, TestPacket};
use proptest::prelude::*;

/// Limits of one packet and more.
pub fn limits() -> impl Strategy<Value = QueueLimit> {
    prop::sample::select(vec![
        QueueLimit::Packets(1),
        QueueLimit::Packets(2),
        QueueLimit::Packets(24),
        QueueLimit::Packets(10_000),
        QueueLimit::Bytes(1500),
        QueueLimit::Bytes(36_000),
        QueueLimit::Bytes(1 << 40),
    ])
}

/// Bytes that encode about a hundred operations.
pub fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..3000)
}

/// Runs random operations, read from the bytes of `noise`, on 12 flows of 6 users, drains the port and requests one
/// more packet. Returns the number of remaining records.
pub fn survives(scheme: SchemeParams, limit: QueueLimit, noise: &[u8]) -> usize {
    let buffer = BufferParams { limit, ..Default::default() };
    let mut harness = Harness::new(&QueueConfig { buffer, scheme }, 6, 1);
    Operations::new(noise, 12).for_each(|operation| harness.step(operation));
    harness.drain();
    harness.step(crate::testing::harness::Operation::Dequeue);
    harness.check_readings();
    harness.discipline().state_size().records
}

/// An idle discipline at 10 Mbit/s and a random number generator.
pub fn build<S: SchemeSpec>(
    params: &S::Params,
    limit: QueueLimit,
    weights: &Weights,
) -> (S::Discipline<TestPacket>, Rng) {
    let buffer = BufferParams { limit, ..Default::default() };
    let mut discipline = S::build(params, &Port { buffer: &buffer, rate: BitRate(10_000_000), weights });
    discipline.set_link_rate(BitRate(10_000_000));
    (discipline, Rng::stream(1, 0, "queue", 0))
}

/// A packet of a user with one flow.
pub fn packet(user: u32, wire_bytes: u32) -> TestPacket {
    TestPacket { flow: user, user, wire_bytes, ..Default::default() }
}

/// Offers packets of these sizes at time 0. Returns the drops.
pub fn offer(queue: &mut impl QueueDiscipline<TestPacket>, rng: &mut Rng, flow: u32, sizes: &[u32]) -> Drops {
    let mut drops = Drops::default();
    sizes.iter().for_each(|&bytes| queue.enqueue(packet(flow, bytes), Time::ZERO, rng, &mut drops));
    drops
}

/// Serves this number of packets at time 0. Returns their flows.
pub fn serve(queue: &mut impl QueueDiscipline<TestPacket>, rng: &mut Rng, packets: usize) -> Vec<u32> {
    (0..packets).map(|_| queue.dequeue(Time::ZERO, rng, &mut ()).expect("packets wait").flow).collect()
}

/// Serves all waiting packets at time 0. Returns their flows and lengths.
pub fn drain(queue: &mut impl QueueDiscipline<TestPacket>, rng: &mut Rng) -> Vec<(u32, u32)> {
    std::iter::from_fn(|| queue.dequeue(Time::ZERO, rng, &mut Drops::default()))
        .map(|packet| (packet.flow, packet.wire_bytes))
        .collect()
}

/// Returns the rates in bit/s of the flows on a 10 Mbit/s link over 2 s. Flow `i` sends at `rates[i]`, with evenly
/// spaced packets of `sizes[i]` bytes.
pub fn shares<S: SchemeSpec>(
    params: &S::Params,
    limit: QueueLimit,
    weights: &Weights,
    rates: &[f64],
    sizes: &[u32],
) -> Vec<f64> {
    const SECONDS: f64 = 2.0;
    let (mut queue, mut rng) = build::<S>(params, limit, weights);
    let mut next: Vec<f64> = (0..rates.len()).map(|flow| 1e-5 * flow as f64).collect();
    let (mut free_at, mut bits, mut drops) = (0.0, vec![0.0; rates.len()], Drops::default());
    while free_at <= SECONDS {
        let (flow, at) = next.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are flows");
        if free_at <= at {
            match queue.dequeue(Time::from_secs_f64(free_at), &mut rng, &mut drops) {
                Some(packet) => {
                    let length = f64::from(packet.wire_bytes) * 8.0;
                    bits[packet.flow as usize] += length;
                    free_at += length / 10e6;
                    continue;
                }
                None => free_at = at + 1e-9,
            }
        }
        queue.enqueue(packet(flow as u32, sizes[flow]), Time::from_secs_f64(at), &mut rng, &mut drops);
        next[flow] += f64::from(sizes[flow]) * 8.0 / rates[flow];
    }
    bits.iter().map(|bits| bits / SECONDS).collect()
}

/// Asserts that rates are as expected, each within `tolerance`.
pub fn assert_rates(rates: &[f64], ideal: &[f64], tolerance: f64) {
    assert_eq!(rates.len(), ideal.len());
    for (rate, ideal) in rates.iter().zip(ideal) {
        assert!((rate - ideal).abs() <= tolerance * ideal, "{rates:?}");
    }
}

/// Asserts that three flows get their max-min shares of 10 Mbit/s: the first sends only 1 Mbit/s, and the two others
/// share the remaining 9 Mbit/s by their weights.
pub fn assert_max_min<S: SchemeSpec>(params: &S::Params, limit: u32, weights: [f64; 3], tolerance: f64) {
    let limit = QueueLimit::Packets(limit);
    let rates = shares::<S>(params, limit, &Weights::new(weights), &[1e6, 20e6, 20e6], &[500, 1500, 700]);
    let share = |weight| 9e6 * weight / (weights[1] + weights[2]);
    assert_rates(&rates, &[1e6, share(weights[1]), share(weights[2])], tolerance);
}

/// Asserts that queues are served in turn with a quantum of 1514 bytes, and new queues before old ones.
pub fn assert_new_before_old<S: SchemeSpec>(params: &S::Params) {
    // A visit has a credit of 1514 bytes. The second packet of 1000 bytes may make it negative, so a visit sends two
    // packets.
    let (mut queue, mut rng) = build::<S>(params, QueueLimit::Packets(100), &Weights::equal());
    offer(&mut queue, &mut rng, 1, &[1000; 8]);
    offer(&mut queue, &mut rng, 2, &[1000; 8]);
    assert_eq!(serve(&mut queue, &mut rng, 5), [1, 1, 2, 2, 1]);
    offer(&mut queue, &mut rng, 3, &[100]);
    assert_eq!(serve(&mut queue, &mut rng, 2), [3, 1], "flow 3 is new, then the visit of flow 1 goes on");
    // A new queue that becomes empty counts as old for a round, so a flow that sends one packet at a time gains no
    // priority.
    offer(&mut queue, &mut rng, 3, &[100]);
    assert_eq!(serve(&mut queue, &mut rng, 3), [2, 2, 3]);
}

/// Flow 1 keeps the queue at 50 packets for 1 s. Flow 2 sends a packet every 19.2 ms. Returns the flows of the AQM's
/// drops, and the number of marks.
pub fn standing_queue<S: SchemeSpec>(params: &S::Params, ecn: Ecn) -> (Vec<u32>, usize) {
    let (mut queue, mut rng) = build::<S>(params, QueueLimit::Packets(1000), &Weights::equal());
    let mut drops = Drops::default();
    for step in 0..833 {
        let now = Time::from_micros(1200 * step);
        if step % 16 == 0 {
            queue.enqueue(TestPacket { ecn, ..packet(2, 1500) }, now, &mut rng, &mut drops);
        }
        while queue.backlog().packets < 50 {
            queue.enqueue(TestPacket { ecn, ..packet(1, 1500) }, now, &mut rng, &mut drops);
        }
        queue.dequeue(now, &mut rng, &mut drops);
    }
    assert!(drops.0.iter().all(|drop| drop.1 == DropReason::Aqm));
    (drops.0.iter().map(|drop| drop.0.flow).collect(), drops.1.len())
}
