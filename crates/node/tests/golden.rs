//! Tests that the kernel programs give the same results as the library's integer arithmetic, bit for bit. The programs
//! almost always decide like the floating-point reference.
#![cfg(feature = "ebpf")]

use crate::common::library::{Arrival, ETHERNET, Library, USERS, frame, node, replay_vector};
use crate::common::{DROP, LOOPBACK, PASS, START_NS, label_of};
use fairlane_node::kernel::Programs;
use fairlane_node::records::ReplayInput;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline};
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::fixed::csfq::{FixedCsfq, FixedCsfqParams, FixedRates, QueueState, RateConstants};
use fairlane_schemes::fixed::{
    Accounting, Activity, Decay, FixedAverager, FixedMeter, FixedMeterParams, FixedThreshold, PACKET_WEIGHT,
};
use fairlane_schemes::registry::markers::MarkerConfig;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_schemes::testing::TestPacket;
use serde_json::json;

const RATE: BitRate = BitRate(10_000_000);

/// Passes an arrival to the kernel programs and the library, which must agree. Returns true if they drop it.
fn decide_twice(programs: &Programs, library: &mut Library, arrival: &Arrival) -> bool {
    let Arrival { now_ns, queue_packets: packets, queue_bytes: bytes, .. } = *arrival;
    programs.set_replay(&ReplayInput { now_ns, packets, bytes, ..Default::default() }).unwrap();
    let (metered, sent) = crate::common::through(programs, &frame(arrival), 0);
    let (label, average, threshold, drops) = library.decide(arrival);
    let class = if arrival.class == TrafficClass::Expedited { 1 << 22 } else { 0 };
    assert_eq!(metered.mark, 0xfa00_0000 | class | label.biased(), "label at {now_ns}");
    let state = programs.port_state(LOOPBACK).unwrap();
    assert_eq!((state.average(), state.threshold), (average, threshold), "at {now_ns}");
    assert_eq!(sent.verdict, if drops { DROP } else { PASS }, "at {now_ns}");
    drops
}

#[test]
fn golden_vector_is_decided_as_by_the_library_and_as_by_the_reference() {
    skip_unless_possible!();
    let config = node(&json!({"limit": "100 packets"}));
    let (programs, mut library) = (crate::common::replayed(&config), Library::new(&config));
    let arrivals = replay_vector(|arrival, reference_drops, line| {
        assert_eq!(decide_twice(&programs, &mut library, arrival), reference_drops, "{line}");
    });
    assert_eq!(arrivals, 600);
}

/// True if the reference dropped the last offered packet.
#[derive(Default)]
struct Dropped(bool);

impl DropSink<TestPacket> for Dropped {
    fn dropped(&mut self, _: &TestPacket, _: DropReason, _: Backlog) {
        self.0 = true;
    }
}

/// Passes the same random packets to the reference, the kernel programs and the library. All three use the queue
/// lengths of the reference. Returns the number of decisions that differ from the reference, and the number of packets
/// that the reference dropped.
fn train(keys: &serde_json::Value, seed: u64, packets: u32) -> (u32, u32) {
    let config = node(keys);
    let (programs, mut library) = (crate::common::replayed(&config), Library::new(&config));
    // The reference counts packets without Ethernet headers. Its buffer is smaller by one header, so that it accepts
    // the same packets as a buffer that counts headers.
    let limit = match config.ports[0].queue.limit.unwrap() {
        QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes - ETHERNET.unsigned_abs()),
        packets => packets,
    };
    let mut queue = QueueConfig::of(Scheme::Abc, BufferParams { limit, ..Default::default() });
    let mut json = queue.write();
    for key in ["q_min", "q_base", "gamma"] {
        if let Some(value) = keys.get(key) {
            json.insert(key.into(), value.clone());
        }
    }
    let json = serde_json::Value::Object(json);
    let mut table = fairlane_schemes::base::config::Table::new("queue", &json).unwrap();
    queue = QueueConfig::read(&mut table).unwrap();
    let mut discipline = queue.build::<TestPacket>(RATE, &Weights::equal());
    let spec = MeterSpec {
        reference_rate: config.default_user.reference_rate,
        weight: 1.0,
        start: Time::from_nanos(START_NS),
    };
    let mut markers = MarkerConfig::of(Scheme::Abc.marker()).build(&[spec; USERS as usize]);
    let (mut rng, mut marker_rng) = (Rng::stream(seed, 0, "queue", 0), Rng::stream(seed, 0, "marker", 0));
    let mut traffic = Rng::stream(seed, 0, "traffic", 0);
    let (mut now_ns, mut free_at) = (START_NS, Time::ZERO);
    let (mut different, mut dropped) = (0, 0);
    for id in 0..u64::from(packets) {
        // Phases of overload alternate with phases of a half-empty link. In every other block of 20 000 packets the
        // first user sends half of all packets. Otherwise all users send at equal rates, so their activities are near
        // the average, where decisions are close.
        let load = if (id / 500) % 4 == 3 { 0.5 } else { 1.6 };
        let is_alike = (id / 20_000).is_multiple_of(2);
        now_ns += traffic.exponential(1.2e6 / load) as u64;
        let now = Time::from_nanos(now_ns);
        while free_at <= now {
            let Some(packet) = discipline.dequeue(free_at, &mut rng, &mut Dropped::default()) else { break };
            free_at += RATE.time_of(u64::from(packet.wire_bytes));
        }
        free_at = free_at.max(now);
        let mut one_in = |n: u64| traffic.bits().is_multiple_of(n);
        let is_first = one_in(if is_alike { u64::from(USERS) } else { 2 });
        let user = if is_first { 0 } else { 1 + (id % u64::from(USERS - 1)) as u32 };
        let wire_bytes = if one_in(10) { 40 } else { 1500 };
        let class = if one_in(10) { TrafficClass::Expedited } else { TrafficClass::BestEffort };
        let mut packet = TestPacket { id, flow: user, user, wire_bytes, class, ..Default::default() };
        let Backlog { packets: queue_packets, bytes } = discipline.backlog();
        let arrival =
            Arrival { now_ns, user, ip_bytes: wire_bytes as u16, class, queue_packets, queue_bytes: bytes as u32 };
        let drops = decide_twice(&programs, &mut library, &arrival);
        markers.label(user as usize, &mut packet, now, &mut marker_rng);
        let mut reference = Dropped::default();
        discipline.enqueue(packet, now, &mut rng, &mut reference);
        different += u32::from(drops != reference.0);
        dropped += u32::from(reference.0);
    }
    (different, dropped)
}

#[test]
fn decisions_seldom_differ_from_the_reference() {
    skip_unless_possible!();
    const PACKETS: u32 = 50_000;
    // An error of 2^-16 in a label, one unit, changes a threshold by gamma/2^16: 1/4096 packet or 0.4 B.
    let queues = [
        ("packets", json!({"limit": "24 packets"}), 1e-3),
        ("p4abc", json!({"limit": "24 packets", "q_min": "6 packets"}), 1e-3),
        ("bytes", json!({"limit": "36014 B", "q_min": "18000 B", "q_base": "30000 B", "gamma": "24000 B"}), 1e-3),
    ];
    for (seed, (name, queue, most)) in queues.iter().enumerate() {
        let (different, dropped) = train(queue, seed as u64 + 1, PACKETS);
        let part = f64::from(different) / f64::from(PACKETS);
        println!("{name}: {different} of {PACKETS} decisions differ ({:.3} %), {dropped} drops", part * 100.0);
        // The load is 1.6 times the link rate for three quarters of the time. Without drops the test would be
        // meaningless.
        assert!(dropped > PACKETS / 5, "{name}: {dropped}");
        assert!(part < *most, "{name}: {different}");
    }
}

#[test]
fn bytes_count_in_the_average_where_asked_to() {
    skip_unless_possible!();
    let averages = ["packets", "bytes"].map(|average_over| {
        let config = node(&json!({"limit": "100 packets", "average_over": average_over}));
        let (programs, mut library) = (crate::common::replayed(&config), Library::new(&config));
        let mut rng = Rng::stream(5, 0, "sizes", 0);
        let mut now_ns = START_NS;
        for _ in 0..2000 {
            now_ns += rng.exponential(1e6) as u64;
            // The second user sends about as many packets as the first, but small ones.
            let user = u32::from(rng.bits().is_multiple_of(2));
            let ip_bytes = if user == 0 { 1500 } else { 60 };
            let class = TrafficClass::BestEffort;
            decide_twice(
                &programs,
                &mut library,
                &Arrival { now_ns, user, ip_bytes, class, queue_packets: 0, queue_bytes: 0 },
            );
        }
        library.averager.average().to_f64()
    });
    // Activities differ by log2(1500/60) = 4.64, and each user has half of the packets. The bytes of the users are in
    // the ratio 1514 : 74.
    let expected = (1500.0f64 / 60.0).log2() * (1514.0 / 1588.0 - 0.5);
    let measured = averages[1] - averages[0];
    assert!((measured - expected).abs() < 0.1 * expected, "{averages:?}");
}

#[test]
fn a_virtual_queue_drains_at_its_rate() {
    skip_unless_possible!();
    // 10 Mbit/s are 800 ns per byte. The thresholds are from Table 1 of abc2018, for packets that take 1.2 ms each.
    let config = node(&json!({
        "backlog": "virtual", "limit": "36000 B",
        "q_min": "18000 B", "q_base": "30000 B", "gamma": "24000 B",
    }));
    let programs = crate::common::replayed(&config);
    let thresholds = FixedThreshold::new(14_400_000, 24_000_000, 19_200_000).unwrap();
    let params = FixedMeterParams::new(config.abc_marker.memory, config.default_user.reference_rate).unwrap();
    let decay = Decay::new(config.ports[0].abc.averager_memory).unwrap();
    let (mut meters, mut averager) = ([FixedMeter::new(START_NS); 2], FixedAverager::default());
    let mut rng = Rng::stream(1, 0, "virtual", 0);
    let (mut now_ns, mut free_at, mut drops) = (START_NS, 0u64, 0);
    for _ in 0..5000 {
        now_ns += rng.exponential(0.8e6) as u64;
        let user = usize::from(rng.bits().is_multiple_of(3));
        let frame = crate::common::ipv4([10, 0, 0, user as u8], 0, 1500);
        let input = ReplayInput { now_ns, packets: 9999, bytes: 9_999_999, ..Default::default() };
        programs.set_replay(&input).unwrap();
        let verdict = crate::common::through(&programs, &frame, 0).1.verdict;
        let label = meters[user].label(&params, 1500, Accounting::ONE, now_ns);
        let queue_ns = free_at.saturating_sub(now_ns) as i64;
        let drop = thresholds.drops(queue_ns, label, averager.average()) || queue_ns + 1514 * 800 > 28_800_000;
        assert_eq!(programs.port_state(LOOPBACK).unwrap().queue, queue_ns);
        assert_eq!(verdict, if drop { DROP } else { PASS });
        if drop {
            drops += 1;
        } else {
            averager.accept(&decay, label, PACKET_WEIGHT, now_ns);
            free_at = free_at.max(now_ns) + 1514 * 800;
        }
    }
    // A frame of 1514 B takes 1.2112 ms, and one arrives every 0.8 ms. So a third of the frames is dropped.
    assert!((1300..2000).contains(&drops), "{drops}");
}

#[test]
fn csfq_labels_and_decides_as_the_library_bit_for_bit() {
    skip_unless_possible!();
    let port = json!({"queue": {"scheme": "csfq", "limit": "24 packets"}, "rate": "10 Mbit/s"});
    let tables = json!({"marker": {"scheme": "csfq"}, "default_user": {"meter_of": "address"}});
    let config = crate::common::config(&port, &tables);
    let programs = crate::common::replayed(&config);
    let unit = config.default_user.reference_rate;
    let constants = RateConstants::new(config.csfq_marker.rate_constant).unwrap();
    let of_port = &config.ports[0].csfq;
    let params = FixedCsfqParams::new(of_port.aggregate_constant, of_port.window, RATE, unit).unwrap();
    let (mut rates, mut port) = ([FixedRates::<1>::default(); USERS as usize], FixedCsfq::default());
    let mut rng = Rng::stream(3, 0, "csfq", 0);
    let (mut now_ns, mut backlog) = (START_NS, 0.0f64);
    let (mut early, mut late, mut relabelled) = (0, 0, 0);
    for id in 0..20_000u32 {
        // The load is 1.6 times the link rate for three quarters of the time. The first user sends half of all packets.
        let load = if (id / 2_000) % 4 == 3 { 0.6 } else { 1.6 };
        let gap = rng.exponential(1.2e6 / load) as u64;
        now_ns += gap;
        backlog = f64::max(0.0, backlog - gap as f64 / 1.2e6);
        let queue_packets = backlog as u32;
        let user = if rng.bits().is_multiple_of(2) { 0 } else { 1 + id % (USERS - 1) };
        let (random, age_ns) = (rng.bits() as u32, now_ns - START_NS);
        let class = TrafficClass::BestEffort;
        let frame = frame(&Arrival { now_ns, user, ip_bytes: 1500, class, queue_packets, queue_bytes: 0 });
        programs.set_replay(&ReplayInput { now_ns, packets: queue_packets, random, ..Default::default() }).unwrap();
        let metered = programs.run("fairlane_ingress", &frame, LOOPBACK, 0, 1).unwrap();
        // The first 400 of 2000 packets and every tenth packet have no label, like packets sent by the node itself.
        let is_labelled = id % 2_000 >= 400 && id % 10 > 0;
        let mark = if is_labelled { metered.mark } else { 0 };
        let sent = programs.run("fairlane_egress", &frame, LOOPBACK, mark, 1).unwrap();

        let rate = &mut rates[user as usize];
        rate.update(&constants, [1500], age_ns);
        let label = Activity::from_q31(rate.log2_sums_q31()[0] + constants.offset_q31(unit));
        assert_eq!(label_of(metered.mark), 0xfa00_0000 | label.biased(), "label at {now_ns}");
        let alpha = port.log2_alpha_q31().map_or(Activity::MIN, Activity::from_q31);
        let queue = QueueState { spares: false, is_short: queue_packets < 12 };
        let label = is_labelled.then_some(label);
        let (drops, after) = port.admit(&params, label, 1514, queue, random, age_ns);
        let is_over = !drops && queue_packets >= 24;
        if is_over {
            port.overflow();
        }
        let state = programs.port_state(LOOPBACK).unwrap();
        assert_eq!(
            (state.average(), label_of(sent.mark)),
            (alpha, after.map_or(0, |label| 0xfa00_0000 | label.biased())),
            "at {now_ns}"
        );
        assert_eq!(sent.verdict, if drops || is_over { DROP } else { PASS }, "at {now_ns}");
        early += u32::from(drops);
        late += u32::from(is_over);
        relabelled += u32::from(!drops && after != label);
        backlog += f64::from(u8::from(!drops && !is_over));
    }
    let state = programs.port_state(LOOPBACK).unwrap();
    let state = state.total();
    assert_eq!((state.dropped, state.overlimit), (u64::from(early), u64::from(late)));
    // During overload three eighths of the arrivals exceed the capacity. The AQM drops some packets early, the full
    // queue drops others, and some packets with a label above alpha, the average, pass and are relabelled.
    assert!(early > 2_000 && late > 10 && relabelled > 500, "{early} {late} {relabelled}");
}
