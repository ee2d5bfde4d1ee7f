//! Tests that built-in schemes give the same results over the C interface.

#![allow(unsafe_code)] // a table of pointers

use fairlane_plugin::abi::LibraryTable;
use fairlane_plugin::{guest, host};
use fairlane_schemes::aqm::codel::CodelScheme;
use fairlane_schemes::aqm::droptail::DropTailScheme;
use fairlane_schemes::base::config::Table;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline};
use fairlane_schemes::contract::packet::{Ecn, Packet};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::fairqueue::drr::DrrScheme;
use fairlane_schemes::fairqueue::fq_codel::FqCodelScheme;
use fairlane_schemes::fairqueue::stfq::StfqScheme;
use fairlane_schemes::label::abc::AbcScheme;
use fairlane_schemes::label::afpft::AfpftScheme;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::AnyDiscipline;
use fairlane_schemes::testing::TestPacket;
use serde_json::{Value as Json, json};

/// Library of built-in schemes that use no random numbers. Schemes with random numbers would have another seed in a
/// library, and so other results.
fn library() -> LibraryTable {
    let schemes = vec![
        guest::scheme::<DropTailScheme>("my-droptail"),
        guest::scheme::<CodelScheme>("my-codel"),
        guest::scheme::<AbcScheme>("my-abc"),
        guest::scheme::<AfpftScheme>("my-afpft"),
        guest::scheme::<DrrScheme>("my-drr"),
        guest::scheme::<FqCodelScheme>("my-fq_codel"),
        guest::scheme::<StfqScheme>("my-stfq"),
    ];
    guest::library("mine", "1.0", schemes)
}

/// Event of the packet with a given number. Thresholds and labels are the bits of floating-point numbers, to compare
/// them exactly.
#[derive(Debug, PartialEq)]
enum Event {
    Dropped(u64, DropReason),
    Marked(u64),
    Sent(u64, u64, Ecn),
    Threshold(Option<u64>),
}

struct Events(Vec<Event>);

impl DropSink<TestPacket> for Events {
    fn dropped(&mut self, packet: &TestPacket, reason: DropReason, _: Backlog) {
        self.0.push(Event::Dropped(packet.id, reason));
    }
    fn marked(&mut self, packet: &TestPacket) {
        self.0.push(Event::Marked(packet.id));
    }
}

/// Offers random arrivals of 7.8 Mbit/s on average to a link of 10 Mbit/s, whose rate falls to 5 Mbit/s half way. Three
/// users send a quarter of the packets each, and two users an eighth each. Returns the events, the readings as bits,
/// and the number of records.
fn drive(mut queue: AnyDiscipline<TestPacket>) -> (Vec<Event>, Vec<(&'static str, u64)>, usize) {
    const RATE: BitRate = BitRate(10_000_000);
    let mut traffic = Rng::stream(7, 0, "traffic", 0);
    let mut rng = Rng::stream(7, 0, "queue", 0);
    let (mut events, mut now, mut free_at) = (Events(Vec::new()), Time::ZERO, Time::ZERO);
    let mut rate = RATE;
    queue.set_link_rate(rate);
    for id in 0..20_000 {
        now += Time::from_secs_f64(traffic.exponential(0.8e-3));
        if id == 10_000 {
            rate = BitRate(5_000_000);
            queue.set_link_rate(rate);
        }
        while free_at <= now {
            let Some(sent) = queue.dequeue(free_at, &mut rng, &mut events) else {
                free_at = now + Time(1);
                break;
            };
            events.0.push(Event::Sent(sent.id, sent.label.to_bits(), sent.ecn()));
            free_at += rate.time_of(u64::from(sent.wire_bytes));
        }
        let user = (traffic.open01() * 8.0) as u32 % 5;
        let packet = TestPacket {
            id,
            flow: 2 * user + (traffic.bits() % 2) as u32,
            user,
            wire_bytes: 64 + (traffic.bits() % 1437) as u32,
            ecn: if user == 1 { Ecn::Ect0 } else { Ecn::NotEct },
            label: 8.0 * traffic.open01() - 4.0,
            ..Default::default()
        };
        queue.enqueue(packet, now, &mut rng, &mut events);
        events.0.push(Event::Threshold(queue.drop_threshold().map(f64::to_bits)));
    }
    let mut readings = Vec::new();
    queue.report(&mut |name, value| readings.push((name, value.to_bits())));
    (events.0, readings, queue.state_size().records)
}

#[test]
fn schemes_of_the_list_do_the_same_over_the_interface() {
    let library = Box::leak(Box::new(library()));
    // SAFETY: the table and all data it points to live as long as the process.
    let loaded = unsafe { host::of_table(library, "no file") }.unwrap();
    let find = |name: &str| loaded.iter().map(|one| &one.scheme).find(|scheme| &*scheme.name == name).cloned();
    for own in &loaded {
        let listed = own.scheme.name.strip_prefix("my-").unwrap();
        for queue in [json!({}), json!({"limit": "40 kB"}), json!({"limit": "200 packets"})] {
            let read = |name: &str| {
                let mut queue = queue.clone();
                queue["scheme"] = Json::from(name);
                QueueConfig::read_with(&mut Table::new("queue", &queue).unwrap(), &find).unwrap()
            };
            let (ours, theirs) = (read(&own.scheme.name), read(listed));
            assert_eq!(ours.marker(), theirs.marker());
            let mut written = ours.write();
            assert_eq!(written.remove("library"), Some("mine 1.0 no file".into()));
            written.insert("scheme".into(), listed.into());
            assert_eq!(written, theirs.write());
            let weights = Weights::new([2.0, 1.0, 0.5]);
            let rate = BitRate(10_000_000);
            let (ours, theirs) = (drive(ours.build(rate, &weights)), drive(theirs.build(rate, &weights)));
            assert!(theirs.0.iter().any(|event| matches!(event, Event::Dropped(..))), "{listed}: nothing is dropped");
            for (place, (our, their)) in ours.0.iter().zip(&theirs.0).enumerate() {
                assert_eq!(our, their, "{listed} {queue}: event {place}");
            }
            assert_eq!((ours.0.len(), ours.1, ours.2), (theirs.0.len(), theirs.1, theirs.2), "{listed} {queue}");
        }
    }
}
