use super::*;
use crate::base::rng::Rng;
use crate::fairqueue::testing::{self, build, limits, noise, packet, standing_queue, survives};
use crate::flows::hash::bucket;
use crate::registry::schemes::SchemeParams;
use crate::testing::{Drops, TestPacket, reading};
use proptest::prelude::*;

type TestPort = (Cake<TestPacket>, Rng);

fn port(params: &CakeParams, limit: u32) -> TestPort {
    build::<CakeScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
}

fn of(isolation: Isolation) -> CakeParams {
    CakeParams { isolation, ..Default::default() }
}

fn offer((queue, rng): &mut TestPort, flow: u32, sizes: &[u32]) -> Drops {
    testing::offer(queue, rng, flow, sizes)
}

fn serve((queue, rng): &mut TestPort, packets: usize) -> Vec<u32> {
    testing::serve(queue, rng, packets)
}

/// Returns the number of packets of each flow among `served` packets of 1500 B, if all flows always have packets. Flow
/// `i` belongs to user `users[i]`. No time passes, so COBALT sees no delay.
fn served(isolation: Isolation, users: &[u32], served: usize) -> Vec<f64> {
    let (mut queue, mut rng) = port(&of(isolation), 1000);
    let mut drops = Drops::default();
    let mut offer = |queue: &mut Cake<TestPacket>, rng: &mut Rng, flow: u32| {
        let packet = TestPacket { flow, user: users[flow as usize], ..Default::default() };
        queue.enqueue(packet, Time::ZERO, rng, &mut drops);
    };
    (0..3).for_each(|_| (0..users.len()).for_each(|flow| offer(&mut queue, &mut rng, flow as u32)));
    let mut counts = vec![0.0; users.len()];
    for _ in 0..served {
        let flow = queue.dequeue(Time::ZERO, &mut rng, &mut Drops::default()).unwrap().flow;
        counts[flow as usize] += 1.0;
        offer(&mut queue, &mut rng, flow);
    }
    assert!(drops.0.is_empty());
    counts
}

/// Users of 11 flows: user 0 has 10 flows, user 1 has one.
const HEAVY_AND_LIGHT: [u32; 11] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

#[test]
fn flows_share_equally_in_mode_flow_and_hosts_in_the_others() {
    // 2200 packets are 200 for each of 11 flows, or 1100 for each user, which is 110 for each flow of the heavy user.
    let near = |counts: &[f64], ideal: f64| counts.iter().all(|count| (count - ideal).abs() <= 3.0);
    let flow = served(Isolation::Flow, &HEAVY_AND_LIGHT, 2200);
    assert!(near(&flow, 200.0), "{flow:?}");
    for isolation in [Isolation::Dual, Isolation::Triple] {
        let counts = served(isolation, &HEAVY_AND_LIGHT, 2200);
        assert!(near(&counts[..10], 110.0) && near(&counts[10..], 1100.0), "{counts:?}");
    }
    let host = served(Isolation::Host, &HEAVY_AND_LIGHT, 2200);
    assert!(near(&[host[..10].iter().sum(), host[10]], 1100.0), "{host:?}");
}

#[test]
fn three_hosts_with_one_two_and_four_flows_share_equally() {
    let counts = served(Isolation::Dual, &[0, 1, 1, 2, 2, 2, 2], 2400);
    let ideal = [800.0, 400.0, 400.0, 200.0, 200.0, 200.0, 200.0];
    assert!(counts.iter().zip(ideal).all(|(count, ideal)| (count - ideal).abs() <= 3.0), "{counts:?}");
}

#[test]
fn a_host_is_charged_for_its_busy_flows_only() {
    let (mut queue, mut rng) = port(&of(Isolation::Dual), 1000);
    let mut drops = Drops::default();
    for flow in 0..10 {
        let packets = if flow < 4 { 5 } else { 1 };
        for _ in 0..packets {
            queue.enqueue(TestPacket { flow, user: 7, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
        }
    }
    let load = |queue: &Cake<TestPacket>| queue.hosts.as_ref().unwrap().bulk.iter().sum::<u32>();
    assert_eq!(load(&queue), 0, "all are sparse");
    // Each queue sends one packet, which leaves credits of 305 - 1500 = -1195 B. The four queues with more packets
    // become bulk at their next visit.
    (0..11).for_each(|_| _ = queue.dequeue(Time::ZERO, &mut rng, &mut drops));
    assert_eq!(load(&queue), 4);
    let state =
        |queue: &Cake<TestPacket>, state| (0..1024).filter(|&number| queue.queues[number].state == state).count();
    assert_eq!((state(&queue, State::Bulk), state(&queue, State::SparseWait)), (4, 6));
    // Another packet in a waiting queue immediately adds the queue to the load of its host.
    queue.enqueue(TestPacket { flow: 9, user: 7, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
    assert_eq!((load(&queue), state(&queue, State::SparseWait)), (5, 5));
}

#[test]
fn quantum_and_target_follow_the_rate_of_the_link() {
    let (mut queue, _) = port(&CakeParams::default(), 24);
    let mut at = |bit_per_s| {
        queue.set_link_rate(BitRate(bit_per_s));
        let us = |time: Time| time.0 / 1_000_000;
        (queue.quantum, us(queue.aim.target), us(queue.aim.interval), us(queue.aim.spared))
    };
    // At the four link rates a packet of 1500 B takes 120 ms, 12 ms, 1.2 ms or 0.12 ms. The quanta of the last two are
    // 1.25 MB/s / 4096 = 305.2 B, and 12.5 MB/s / 4096 = 3052 B, limited to 1514 B.
    assert_eq!(at(100_000), (300.0, 180_000, 360_000, 480_000));
    assert_eq!(at(1_000_000), (300.0, 18_000, 113_000, 48_000));
    assert_eq!(at(10_000_000), (305.0, 5000, 100_000, 4800));
    assert_eq!(at(100_000_000), (1514.0, 5000, 100_000, 480));
    let quantum = Some(Bytes(700));
    assert_eq!(port(&CakeParams { quantum, ..Default::default() }, 24).0.quantum, 700.0);
}

#[test]
fn a_sparse_queue_goes_first_and_a_debt_is_paid_before_the_next_turn() {
    let mut port = port(&of(Isolation::Flow), 100);
    offer(&mut port, 1, &[305; 8]);
    offer(&mut port, 2, &[305; 8]);
    // A share is one packet, so the flows alternate.
    assert_eq!(serve(&mut port, 4), [1, 2, 1, 2]);
    offer(&mut port, 3, &[610]);
    // Flow 3 was at rest and is served first. Its deficit is then -305 B: two visits raise it to 305 B, and the third
    // visit serves it. Flow 2 has just sent. It is ahead of flow 1, but needs a quantum before it may send again.
    assert_eq!(serve(&mut port, 1), [3]);
    offer(&mut port, 3, &[305]);
    assert_eq!(serve(&mut port, 7), [1, 2, 1, 3, 2, 1, 2]);
}

#[test]
fn rounds_in_debt_are_made_up_exactly() {
    // With a quantum of 1 B and loads of 2 and 1, the shares of the users stay 1 : 1 for packets of any length.
    let params = CakeParams { quantum: Some(Bytes(1)), isolation: Isolation::Dual, ..Default::default() };
    let (mut queue, mut rng) = port(&params, 1000);
    let mut drops = Drops::default();
    for (flow, user, wire_bytes) in [(0, 0, 1500), (1, 0, 500), (2, 1, 1000)] {
        for _ in 0..200 {
            let packet = TestPacket { flow, user, wire_bytes, ..Default::default() };
            queue.enqueue(packet, Time::ZERO, &mut rng, &mut drops);
        }
    }
    let mut bytes = [0; 3];
    while bytes.iter().sum::<u32>() < 200_000 {
        let packet = queue.dequeue(Time::ZERO, &mut rng, &mut drops).unwrap();
        bytes[packet.flow as usize] += packet.wire_bytes;
    }
    // The flows get 50, 50 and 100 kB, each to within two packets.
    assert!(bytes[0].abs_diff(50_000) <= 3000 && bytes[1].abs_diff(50_000) <= 3000, "{bytes:?}");
    assert!(bytes[2].abs_diff(100_000) <= 3000, "{bytes:?}");
}

#[test]
fn overflow_drops_the_head_of_the_fattest_queue() {
    let mut port = port(&of(Isolation::Flow), 4);
    assert!(offer(&mut port, 1, &[100, 200, 300]).0.is_empty());
    assert!(offer(&mut port, 2, &[500]).0.is_empty());
    // The queue of flow 1 has 600 B, more than the 500 + 40 B of flow 2, so the head of flow 1 is dropped.
    let drops = offer(&mut port, 2, &[40]).0;
    assert_eq!((drops.len(), drops[0].0.wire_bytes, drops[0].1), (1, 100, DropReason::PushedOut));
    // The arriving packet is itself the head of the longest queue.
    let drops = offer(&mut port, 3, &[1500]).0;
    assert_eq!((drops.len(), drops[0].0.flow, drops[0].1), (1, 3, DropReason::Overlimit));
}

#[test]
fn overflow_later_than_the_target_raises_blue_for_the_fattest_queue_only() {
    let (mut queue, mut rng) = port(&of(Isolation::Flow), 4);
    let mut drops = Drops::default();
    queue.enqueue(packet(2, 40), Time::ZERO, &mut rng, &mut drops);
    for ms in 1..=16 {
        queue.enqueue(packet(1, 1500), Time::from_millis(ms), &mut rng, &mut drops);
    }
    // There are 13 overflows, one per millisecond from 4 ms on. The probability rises only if its last rise, or time 0,
    // is more than 5 ms ago: at 6 ms and at 12 ms.
    assert_eq!(drops.0.len(), 13);
    let probabilities = (0..1024).map(|number| queue.queues[number].cobalt.probability());
    assert_eq!(probabilities.filter(|&probability| probability > 0.0).count(), 1);
    assert_eq!(reading("largest_blue_probability", |report| queue.report(report)), 2.0 / 256.0);
}

#[test]
fn cobalt_cuts_the_long_queue_and_leaves_the_short_one() {
    let params = of(Isolation::Dual);
    let (drops, marks) = standing_queue::<CakeScheme>(&params, Ecn::NotEct);
    // The delay is too long from about 6 ms on. Signals come at 106 ms + 100 ms * sum of 1/sqrt(i) for i from 2. The
    // sum up to n is about 2 sqrt(n) - 2.46, which is 8.94 for n = 32: 32 signals up to 1 s.
    assert!((28..=36).contains(&drops.len()) && marks == 0, "{}", drops.len());
    assert!(drops.iter().all(|&flow| flow == 1));
    let (drops, marks) = standing_queue::<CakeScheme>(&params, Ecn::Ect0);
    assert!(drops.is_empty() && (28..=36).contains(&marks), "{marks}");
    assert_eq!(standing_queue::<CakeScheme>(&CakeParams { ecn: false, ..params }, Ecn::Ect0).1, 0);
}

#[test]
fn the_last_packet_of_a_queue_is_sent_whatever_cobalt_says() {
    let params = CakeParams { increment: 1.0, ..of(Isolation::Flow) };
    let (mut queue, mut rng) = port(&params, 3);
    let mut drops = Drops::default();
    let at = Time::from_millis(10);
    (0..4).for_each(|_| queue.enqueue(packet(1, 1500), at, &mut rng, &mut drops));
    assert_eq!(drops.0.len(), 1, "overflow: p = 1");
    assert!(queue.dequeue(at, &mut rng, &mut drops).is_some() && queue.backlog().packets == 0);
    assert_eq!(drops.0.iter().filter(|drop| drop.1 == DropReason::Aqm).count(), 2);
}

#[test]
fn an_empty_queue_decays_while_others_send_and_then_frees_its_place() {
    let (mut queue, mut rng) = port(&of(Isolation::Dual), 100);
    let mut drops = Drops::default();
    queue.enqueue(packet(1, 100), Time::ZERO, &mut rng, &mut drops);
    let states =
        |queue: &Cake<TestPacket>, state| (0..1024).filter(|&number| queue.queues[number].state == state).count();
    for step in 0..=103 {
        let now = Time::from_millis(step);
        // Flow 2 always has two packets, so it is never empty.
        while queue.backlog().packets < 3 {
            queue.enqueue(packet(2, 100), now, &mut rng, &mut drops);
        }
        queue.dequeue(now, &mut rng, &mut drops);
        // Flow 1 sent at 0. By (C5) it is at rest from 100 ms on. The scheduler visits it within two packets.
        match step {
            5..=99 => assert_eq!(states(&queue, State::Decaying), 1, "{step}"),
            102.. => assert_eq!(states(&queue, State::Idle), 1023, "{step}"),
            _ => {}
        }
    }
    assert!(drops.0.is_empty());
}

#[test]
fn a_shared_queue_goes_over_to_the_host_of_the_newcomer() {
    let params = CakeParams { sets: 1, ways: 1, ..of(Isolation::Dual) };
    let (mut queue, mut rng) = port(&params, 100);
    let mut drops = Drops::default();
    (0..4).for_each(|_| queue.enqueue(packet(1, 1500), Time::ZERO, &mut rng, &mut drops));
    (0..2).for_each(|_| _ = queue.dequeue(Time::ZERO, &mut rng, &mut drops));
    let hosts = |queue: &Cake<TestPacket>| queue.hosts.as_ref().unwrap().bulk.clone();
    assert_eq!(hosts(&queue), [1]);
    queue.enqueue(packet(2, 1500), Time::ZERO, &mut rng, &mut drops);
    assert_eq!((hosts(&queue), queue.backlog().packets), (vec![1], 3));
}

#[test]
fn a_flow_that_lost_its_queue_may_overtake_itself() {
    let (mut queue, mut rng) = port(&CakeParams { sets: 1, ways: 2, ..of(Isolation::Flow) }, 1000);
    queue.seed = Some(1);
    let home = |flow: &u32| bucket(hash(*flow, 1), 2);
    let (mut first, mut second) = ((0..).filter(|flow| home(flow) == 0), (0..).filter(|flow| home(flow) == 1));
    let [loser, taker, other] = [first.next(), first.next(), second.next()].map(Option::unwrap);
    let mut drops = Drops::default();
    let flows = std::iter::repeat_n(loser, 60).chain([other, taker]);
    flows.for_each(|flow| queue.enqueue(packet(flow, 100), Time::ZERO, &mut rng, &mut drops));
    // The other flow sends its only packet and is at rest one interval later.
    let mut now = Time::ZERO;
    while queue.queues[1].state != State::Idle {
        now += Time::from_millis(10);
        queue.dequeue(now, &mut rng, &mut drops);
    }
    assert!(queue.queues.length(0).packets > 10);
    queue.enqueue(packet(loser, 999), now, &mut rng, &mut drops);
    assert_eq!(queue.dequeue(now, &mut rng, &mut drops).unwrap().wire_bytes, 999);
}

#[test]
fn eight_ways_keep_flows_apart_where_one_does_not() {
    // 256 flows use 1024 slots. With one way, a flow has its own queue with probability (1 - 1/1024)^255 = 0.78. About
    // 1024 * (1 - (1 - 1/1024)^256) = 227 queues are used, with a standard deviation below 5. With eight ways, a set of
    // 8 queues has 2 flows on average. Each of the 128 sets has 9 or more flows with probability 2.4e-4.
    let used = |sets, ways| {
        let mut port = port(&CakeParams { sets, ways, ..of(Isolation::Flow) }, 1000);
        (0..256).for_each(|flow| _ = offer(&mut port, flow, &[1500]));
        (0..1024).filter(|&number| port.0.queues.length(number).packets > 0).count()
    };
    assert!(used(1024, 1).abs_diff(227) < 25);
    assert_eq!(used(128, 8), 256);
}

/// Asks for a packet every 10 us for 1 s, while two packets always wait. Returns the times at which packets left.
fn departures(shaper: ShaperParams) -> Vec<Time> {
    let (mut queue, mut rng) = port(&CakeParams { shaper, ecn: false, ..of(Isolation::Flow) }, 100);
    let (mut drops, mut left) = (Drops::default(), Vec::new());
    for now in (0..100_000).map(|step| Time::from_micros(10 * step)) {
        while queue.backlog().packets < 2 {
            queue.enqueue(packet(1, 1500), now, &mut rng, &mut drops);
        }
        if queue.dequeue(now, &mut rng, &mut drops).is_some() {
            left.push(now);
        } else {
            assert!(queue.ready_at().is_some_and(|ready| ready > now));
        }
    }
    left
}

#[test]
fn the_shaper_sends_its_bandwidth_in_cells() {
    // A packet of 1500 B and 18 B of overhead fills 32 cells of 53 B: 1696 B, 0.6784 ms at 20 Mbit/s. Packet k leaves
    // at the first multiple of 10 us from k * 0.6784 ms on, since a late departure does not delay the next one.
    let (bandwidth, framing) = (Some(BitRate(20_000_000)), Some(Framing::Atm));
    let left = departures(ShaperParams { bandwidth, overhead: Some(Bytes(18)), mpu: None, framing });
    let expected = (0..).map(|k: u64| Time::from_micros((k * 6784).div_ceil(100) * 10));
    let expected: Vec<Time> = expected.take_while(|&at| at < Time::from_secs(1)).collect();
    assert_eq!(left, expected);
    assert_eq!(departures(ShaperParams::default()).len(), 100_000);
}

#[test]
fn a_pause_does_not_give_the_shaper_credit() {
    let bandwidth = Some(BitRate(12_000_000));
    let params = CakeParams { shaper: ShaperParams { bandwidth, ..ShaperParams::default() }, ..of(Isolation::Flow) };
    let (mut queue, mut rng) = port(&params, 100);
    let mut drops = Drops::default();
    let ms = Time::from_millis;
    for start in [0, 500] {
        (0..3).for_each(|_| queue.enqueue(packet(1, 1500), ms(start), &mut rng, &mut drops));
        for sent in 0..3 {
            // A packet takes 1 ms.
            let now = ms(start + sent);
            assert!(sent == 0 || queue.dequeue(now - Time(1), &mut rng, &mut drops).is_none());
            assert_eq!(queue.ready_at(), Some(now));
            assert!(queue.dequeue(now, &mut rng, &mut drops).is_some());
        }
        assert_eq!(queue.ready_at(), None);
    }
    // Quantum and target follow the bandwidth, not the link: 1.5 MB/s / 4096 = 366.2 B.
    queue.set_link_rate(BitRate(1_000_000));
    assert_eq!((queue.quantum, queue.aim.spared), (366.0, ms(4)));
}

#[test]
fn queues_are_charged_for_what_their_packets_occupy() {
    // 40 B fill a cell of 53 B, and 1500 B fill 32. A quantum of 1696 B lets a flow of short packets send 32 packets
    // for each long one of the other; without framing it would be 37.5.
    let (quantum, framing) = (Some(Bytes(1696)), Some(Framing::Atm));
    let shaper = ShaperParams { framing, ..ShaperParams::default() };
    let mut port = port(&CakeParams { quantum, shaper, ..of(Isolation::Flow) }, 1000);
    offer(&mut port, 1, &[40; 400]);
    offer(&mut port, 2, &[1500; 12]);
    let served = serve(&mut port, 330);
    assert_eq!(served.iter().filter(|&&flow| flow == 2).count(), 10);
}

#[test]
fn a_queue_has_112_bytes_and_a_host_8() {
    let bytes = |isolation, sets| port(&CakeParams { sets, ..of(isolation) }, 24).0.state_size().bytes;
    assert_eq!(bytes(Isolation::Flow, 128) - bytes(Isolation::Flow, 64), 512 * 112);
    let hosts = |sets| bytes(Isolation::Dual, sets) - bytes(Isolation::Flow, sets);
    assert_eq!(hosts(128) - hosts(64), 512 * 8);
}

proptest! {
    #[test]
    fn survives_anything(
        limit in limits(),
        noise in noise(),
        isolation in prop::sample::select(vec![Isolation::Flow, Isolation::Host, Isolation::Dual, Isolation::Triple]),
        (sets, ways) in prop::sample::select(vec![(1, 1), (1, 3), (2, 2), (128, 8)]),
        quantum in prop::sample::select(vec![None, Some(Bytes(1)), Some(Bytes(1514))]),
        increment in prop::sample::select(vec![0.0, 0.1, 1.0]),
        framing in prop::sample::select(vec![None, Some(Framing::Atm), Some(Framing::Ptm)]),
    ) {
        let shaper = ShaperParams { framing, ..Default::default() };
        let params = CakeParams { isolation, sets, ways, quantum, increment, shaper, ..Default::default() };
        prop_assert_eq!(survives(SchemeParams::Cake(params), limit, &noise), (sets * ways) as usize);
    }

    #[test]
    fn loads_are_those_of_the_bulk_queues(
        operations in prop::collection::vec((0u32..12, 0u32..3, 40u32..1600), 1..400),
        (sets, ways) in prop::sample::select(vec![(1, 1), (1, 3), (2, 2), (128, 8)]),
    ) {
        let (mut queue, mut rng) = port(&CakeParams { sets, ways, ..of(Isolation::Dual) }, 10);
        let mut drops = Drops::default();
        for (step, (flow, operation, wire_bytes)) in (0..).zip(operations) {
            let now = Time::from_millis(step);
            if operation == 0 {
                queue.dequeue(now, &mut rng, &mut drops);
            } else {
                queue.enqueue(TestPacket { flow, user: flow / 4, wire_bytes, ..Default::default() }, now, &mut rng,
                    &mut drops);
            }
            let mut loads = vec![0; (sets * ways) as usize];
            for number in 0..sets * ways {
                let Bucket { state, host, .. } = queue.queues[number];
                loads[host as usize] += u32::from(state == State::Bulk);
                let is_empty = queue.queues.length(number).packets == 0;
                prop_assert!(is_empty || matches!(state, State::Sparse | State::Bulk));
            }
            prop_assert_eq!(&loads, &queue.hosts.as_ref().unwrap().bulk);
        }
    }
}
