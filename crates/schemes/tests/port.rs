//! Tests that a port behaves the same whether the port or its discipline stores the packets.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{Backlog, DropReason, QueueDiscipline};
use fairlane_schemes::contract::packet::{Ecn, TrafficClass};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::port::{EgressPort, LinkRate, PortObserver};
use fairlane_schemes::registry::schemes::{AnyDiscipline, Scheme};
use fairlane_schemes::testing::{TestPacket, read_queue};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

const RATE: BitRate = BitRate(10_000_000);

/// Events at a port, in order.
#[derive(Default)]
struct Diary(Vec<String>);

impl PortObserver<TestPacket> for Diary {
    fn offered(&mut self, packet: &TestPacket, now: Time, backlog: Backlog, threshold: Option<f64>) {
        self.0.push(format!("{now:?} {} offered, {backlog:?} {threshold:?}", packet.id));
    }

    fn dropped(&mut self, packet: &TestPacket, now: Time, reason: DropReason, backlog: Backlog) {
        self.0.push(format!("{now:?} {packet:?} dropped, {reason:?} {backlog:?}"));
    }

    fn marked(&mut self, packet: &TestPacket) {
        self.0.push(format!("{} marked", packet.id));
    }

    fn transmitted(&mut self, packet: &TestPacket, start: Time, end: Time, backlog: Backlog) {
        self.0.push(format!("{start:?} {packet:?} starts, ends at {end:?}, {backlog:?}"));
    }

    fn arrived(&mut self, packet: &TestPacket, now: Time) {
        self.0.push(format!("{now:?} {} arrives", packet.id));
    }
}

fn port(queue: &Json) -> EgressPort<TestPacket, AnyDiscipline<TestPacket>> {
    let discipline = read_queue(queue.clone()).unwrap().build(RATE, &Weights::equal());
    EgressPort::new(discipline, LinkRate::new(RATE, &[]), Time::from_millis(2), Rng::stream(1, 0, "test", 0))
}

/// Offers the packets at their times and delivers each at the far end. Returns the observed events and, after each
/// arrival, the scheme's readings, the backlog and the number of packets on the wire.
fn diary(
    mut port: EgressPort<TestPacket, AnyDiscipline<TestPacket>>,
    packets: &[(Time, TestPacket)],
) -> (Vec<String>, Vec<String>) {
    let mut diary = Diary::default();
    let mut readings = Vec::new();
    for &(now, packet) in packets.iter().chain([&(Time::from_secs(1_000), TestPacket::default())]) {
        while port.next_event() <= now {
            port.arrive(port.next_event(), &mut diary);
        }
        port.enqueue(|| packet, now, &mut diary);
        port.discipline().report(&mut |name, value| readings.push(format!("{name} {value}")));
        readings.push(format!("{:?} {}", port.backlog(), port.on_wire()));
    }
    (diary.0, readings)
}

fn packets() -> impl Strategy<Value = Vec<(Time, TestPacket)>> {
    let packet = (0u64..2500, 0u32..4, 40u32..1500, any::<bool>(), prop::sample::select(&[Ecn::NotEct, Ecn::Ect0][..]));
    prop::collection::vec(packet, 1..200).prop_map(|drawn| {
        let mut now = Time::ZERO;
        let packets = (0..).zip(drawn).map(|(id, (gap_us, user, wire_bytes, is_full, ecn))| {
            now += Time::from_micros(gap_us);
            let wire_bytes = if is_full { 1500 } else { wire_bytes };
            let (class, label) = (TrafficClass::ALL[id as usize % 2], f64::from(user));
            (now, TestPacket { id, flow: user, user, wire_bytes, ecn, class, label, ..Default::default() })
        });
        packets.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_port_that_keeps_packets_does_what_its_discipline_would(packets in packets(), marks in any::<bool>()) {
        let mut kept = 0;
        for scheme in Scheme::ALL.iter().filter(|scheme| !scheme.shapes()) {
            let mut queue = json!({"scheme": scheme.name(), "limit": "30 packets"});
            if scheme.params().iter().any(|param| param.name == "ecn") {
                queue["ecn"] = marks.into();
            }
            let mut reference = port(&queue);
            kept += u32::from(reference.discipline().is_fifo());
            reference.keep_no_packets();
            let (of_kept, of_reference) = (diary(port(&queue), &packets), diary(reference, &packets));
            prop_assert_eq!(of_kept, of_reference, "{}", scheme.name());
        }
        prop_assert!(kept >= 15, "{kept} schemes are first-in-first-out");
    }
}
