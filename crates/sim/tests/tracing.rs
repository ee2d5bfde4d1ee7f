//! Tests that observers do not change a run, and that their output agrees with its counters.

use fairlane_schemes::base::units::Time;
use fairlane_sim::engine;
use fairlane_sim::engine::watched_run::{Failure, Message, Watch, WatchedRun};
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::scenario::Scenario;
use fairlane_sim::traffic::tcp::Phase;
use fairlane_sim::watch::observer::Observer;
use fairlane_sim::watch::pcap::{self, Pcap, PcapOptions};
use fairlane_sim::watch::qlog::{Dialect, Qlog, QlogOptions};
use fairlane_sim::watch::trace::{self, Chunk, ROWS_PER_CHUNK, Trace};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn document() -> Json {
    json!({
        "run": {"warmup": "0 s", "measure": "6 s", "seed": 3},
        "queue": {"scheme": "abc"},
        "topology": {"bottleneck_schedule": [{"at": "4 s", "rate": "4 Mbit/s"}]},
        "groups": [
            {"name": "heavy", "start_until": "1 s", "sources": [{"kind": "tcp", "flows": 4}]},
            {"name": "light", "users": 2, "start_until": "1 s", "traffic_class": "EF",
             "sources": [{"kind": "poisson", "rate": "2 Mbit/s", "packet_size": "400 B"}, {"kind": "tcp",
                 "transfer": "300000 B"}]},
        ],
    })
}

fn scenario() -> Scenario {
    Scenario::read(&document()).unwrap()
}

fn observed(scenario: &Scenario, observer: &mut impl Observer) -> RunRecord {
    let record = engine::observe(scenario, 1, &AtomicBool::new(false), observer).expect("nobody cancels");
    RunRecord { cpu_seconds: None, ..record }
}

fn capture(scenario: &Scenario, options: PcapOptions) -> (RunRecord, Vec<u8>) {
    let mut pcap = Pcap::new(Vec::new(), scenario, 1, options).unwrap();
    let record = observed(scenario, &mut pcap);
    (record, pcap.close().unwrap())
}

/// Returns all rows of a traced run by table and column, with all numbers converted to floats.
fn tables(scenario: &Scenario, interval: Time) -> (RunRecord, BTreeMap<String, Vec<f64>>) {
    let mut tables: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let sink = |chunk: Chunk| {
        for column in &chunk.columns {
            let values = tables.entry(format!("{}.{}", chunk.table, column.name)).or_default();
            let width = column.dtype[2..].parse().unwrap();
            assert_eq!(column.bytes.len(), chunk.rows() * width);
            values.extend(column.bytes.chunks(width).map(|bytes| match column.dtype {
                "<f8" => f64::from_le_bytes(bytes.try_into().unwrap()),
                "<u8" => u64::from_le_bytes(bytes.try_into().unwrap()) as f64,
                "<u4" => f64::from(u32::from_le_bytes(bytes.try_into().unwrap())),
                _ => f64::from(bytes[0]),
            }));
        }
        true
    };
    let record = observed(scenario, &mut Trace::new(interval, sink));
    (record, tables)
}

fn log(scenario: &Scenario, dialect: Dialect) -> (RunRecord, String) {
    let options = QlogOptions { dialect, flows: None };
    let mut qlog = Qlog::new(Vec::new(), Some(Cursor::new(Vec::new())), scenario, 1, &options).unwrap();
    let record = observed(scenario, &mut qlog);
    (record, String::from_utf8(qlog.close().unwrap()).unwrap())
}

#[test]
fn a_log_has_every_segment_that_was_sent_again_and_says_why() {
    let scenario = scenario();
    let (record, contained) = log(&scenario, Dialect::Contained);
    let (_, sequence) = log(&scenario, Dialect::Sequential);
    let resent: u64 = record.groups.iter().filter_map(|group| group.tcp.as_ref()).map(|tcp| tcp.retransmissions).sum();
    let document: Json = serde_json::from_str(&contained).unwrap();
    let traces = document["traces"].as_array().unwrap();
    let events = || traces.iter().flat_map(|trace| trace["events"].as_array().unwrap());
    let of = |name: &str| events().filter(|event| event["name"] == name).count();
    let again =
        events().filter(|event| event["name"] == "transport:packet_sent" && !event["data"]["trigger"].is_null());
    assert_eq!(again.count() as u64, resent);
    assert!(resent > 0);
    // The sequential dialect of qlog has other names for the same events.
    for (name, other) in [
        ("transport:packet_sent", "quic:packet_sent"),
        ("transport:packet_received", "quic:packet_received"),
        ("recovery:packet_lost", "quic:packet_lost"),
        ("recovery:metrics_updated", "quic:recovery_metrics_updated"),
    ] {
        assert_eq!(of(name), sequence.matches(&format!("\"name\":\"{other}\"")).count());
        assert!(of(name) > 0);
    }
}

#[test]
fn watching_changes_nothing() {
    let scenario = scenario();
    let plain = engine::run(&scenario, 1, &AtomicBool::new(false)).unwrap();
    let plain = RunRecord { cpu_seconds: None, ..plain };
    assert_eq!(capture(&scenario, PcapOptions { drops: true, snaplen: 200, link: 0 }).0, plain);
    assert_eq!(tables(&scenario, Time::ZERO).0, plain);
    assert_eq!(tables(&scenario, Time::from_millis(1)).0, plain);
    assert_eq!(log(&scenario, Dialect::Sequential).0, plain);
    assert_eq!(log(&scenario, Dialect::Contained).0, plain);
}

#[test]
fn names_that_are_longer_than_an_option_are_cut_in_a_capture() {
    // A pcapng option has at most 65 535 bytes. These names have 70 000 bytes: 35 000 characters of two bytes.
    let mut document = document();
    let long = "\u{e4}".repeat(35_000);
    document["name"] = long.clone().into();
    document["run"]["measure"] = "1 ms".into();
    document["topology"] = json!({"kind": "graph", "links": [{"name": long, "rate": "1 Mbit/s", "delay": "1 ms"}]});
    for group in document["groups"].as_array_mut().unwrap() {
        group["route"] = json!([long]);
        group["start_until"] = "0 s".into();
    }
    let (_, bytes) = capture(&Scenario::read(&document).unwrap(), PcapOptions::default());
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let comment = reader.section().options.iter().find_map(|option| match option {
        SectionHeaderOption::Comment(comment) => Some(comment.to_string()),
        _ => None,
    });
    let comment = comment.unwrap();
    assert!((65_534..=65_535).contains(&comment.len()));
    assert!(comment.starts_with("scenario \u{e4}") && comment.ends_with("\u{e4}, seed 3, replication 1"));
    let Block::InterfaceDescription(interface) = reader.next_block().unwrap().unwrap() else { panic!() };
    assert_eq!(interface.options[0], InterfaceDescriptionOption::IfName("\u{e4}".repeat(32_767).into()));
    assert!(reader.next_block().unwrap().is_ok());
}

#[test]
fn a_capture_holds_every_packet_of_the_bottleneck_in_order() {
    let scenario = scenario();
    let (record, bytes) = capture(&scenario, PcapOptions { drops: true, snaplen: 0, link: 0 });
    let (mut sent, mut sent_bytes, mut dropped, mut acks, mut last) = (0, 0, BTreeMap::new(), 0, Duration::ZERO);
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        assert!(packet.timestamp >= last && packet.timestamp <= Duration::from_secs(6));
        last = packet.timestamp;
        assert!(packet.data.len() as u32 <= packet.original_len);
        match &packet.options[..] {
            [EnhancedPacketOption::Flags(1)] => acks += 1,
            [EnhancedPacketOption::Flags(2)] => {
                sent += 1;
                sent_bytes += u64::from(packet.original_len);
            }
            [EnhancedPacketOption::Flags(2), EnhancedPacketOption::Comment(comment)] => {
                let reason = comment.split(['(', ')']).nth(1).unwrap().to_string();
                *dropped.entry(reason).or_insert(0) += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    let link = &record.links[0];
    assert_eq!(sent, link.accounting.departed);
    assert_eq!(sent_bytes as f64 * 8.0 / 6.0, link.throughput_bps);
    for drops in &link.drops {
        assert_eq!(dropped.get(&drops.reason).copied().unwrap_or(0), drops.packets);
    }
    assert!(link.drops[0].packets > 0 && acks > 1000);
}

/// On a dumbbell with a reverse link, a capture has all packets that leave over its link, and all that come over the
/// other one. Those of the same kind have the same direction in their addresses.
#[test]
fn a_capture_holds_data_and_acknowledgements_of_both_links() {
    let mut document = document();
    document["queue"] = json!({"scheme": "droptail"});
    document["topology"] = json!({"reverse": {"rate": "2 Mbit/s", "delay": "1 ms"}});
    let back = json!([{"kind": "tcp", "flows": 2, "direction": "reverse"}, {"kind": "cbr", "rate": "1 Mbit/s",
        "direction": "reverse"}]);
    document["groups"].as_array_mut().unwrap().push(json!({"name": "down", "start_until": "1 s", "sources": back}));
    let scenario = Scenario::read(&document).unwrap();
    let plain = RunRecord { cpu_seconds: None, ..engine::run(&scenario, 1, &AtomicBool::new(false)).unwrap() };
    for link in [0, 1] {
        let (record, bytes) = capture(&scenario, PcapOptions { drops: false, snaplen: 0, link });
        assert_eq!(record, plain);
        let (mut counts, mut last) = ([0; 2], Duration::ZERO);
        let mut acks = [0; 2];
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
            assert!(packet.timestamp >= last);
            last = packet.timestamp;
            let [EnhancedPacketOption::Flags(flags)] = packet.options[..] else { panic!("{:?}", packet.options) };
            let is_outbound = flags == 2;
            // The server's address 192.0.2.1 is the destination if the packet crosses the bottleneck.
            assert_eq!(packet.data[16..20] == [192, 0, 2, 1], is_outbound == (link == 0));
            counts[usize::from(is_outbound)] += 1;
            // Acknowledgements have no payload and are shorter than data and datagrams here.
            acks[usize::from(is_outbound)] += u64::from(packet.original_len < 100);
        }
        let departed = [1 - link, link].map(|link| record.links[link as usize].accounting.departed);
        // Packets in flight at the end of the run have not arrived.
        assert!(counts[0] <= departed[0] && counts[0] + 60 > departed[0], "{counts:?} {departed:?}");
        assert_eq!(counts[1], departed[1]);
        assert!(acks[0] > 100 && acks[1] > 100, "{acks:?}");
    }
}

#[test]
fn a_capture_tells_which_packets_were_lost_on_the_wire() {
    let mut document = document();
    document["topology"]["bottleneck_loss"] = json!({"model": "periodic", "period": 50});
    let (record, bytes) =
        capture(&Scenario::read(&document).unwrap(), PcapOptions { drops: true, snaplen: 0, link: 0 });
    let (mut sent, mut lost, mut last) = (0, 0, Duration::ZERO);
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        assert!(packet.timestamp >= last);
        last = packet.timestamp;
        match &packet.options[..] {
            [EnhancedPacketOption::Flags(2)] => sent += 1,
            [EnhancedPacketOption::Flags(2), EnhancedPacketOption::Comment(comment)] => {
                lost += u64::from(comment == "lost on the wire");
            }
            _ => {}
        }
    }
    let link = &record.links[0];
    assert_eq!((sent, lost), (link.accounting.departed + lost, link.drops[3].packets));
    assert!(lost > 20);
}

#[test]
fn a_queue_table_has_the_mean_and_the_maximum_of_the_probe() {
    let (record, tables) = tables(&scenario(), Time::ZERO);
    let (times, packets, bytes) =
        (&tables["queue.time_s"], &tables["queue.queue_packets"], &tables["queue.queue_bytes"]);
    let mean = |values: &[f64]| {
        let ends = times[1..].iter().chain([&6.0]);
        times.iter().zip(ends).zip(values).map(|((start, end), value)| (end - start) * value).sum::<f64>() / 6.0
    };
    let queue = &record.links[0].queue;
    assert!((mean(packets) - queue.mean_packets).abs() < 1e-6);
    assert!((mean(bytes) - queue.mean_bytes).abs() < 1e-3);
    assert_eq!(packets.iter().copied().fold(0.0, f64::max), f64::from(queue.max_packets));
    assert!(times.is_sorted());
}

/// Converts a table of changes to values at the multiples of an interval. The column `key` identifies the flow or link
/// of a row.
fn held(tables: &BTreeMap<String, Vec<f64>>, table: &str, key: &str, columns: &[&str]) -> Vec<Vec<f64>> {
    let times = &tables[&format!("{table}.time_s")];
    let keys = &tables[&format!("{table}.{key}")];
    let mut current: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let (mut next, mut rows) = (0, Vec::new());
    for sample in 0..=600 {
        let time = f64::from(sample) * 0.01;
        while next < times.len() && times[next] <= time {
            let values = columns.iter().map(|column| tables[&format!("{table}.{column}")][next]).collect();
            current.insert(keys[next] as u64, values);
            next += 1;
        }
        for (&key, values) in &current {
            rows.push([&[time, key as f64], &values[..]].concat());
        }
    }
    rows
}

fn sampled(tables: &BTreeMap<String, Vec<f64>>, table: &str, key: &str, columns: &[&str]) -> Vec<Vec<f64>> {
    let names = [&["time_s", key], columns].concat();
    let count = tables[&format!("{table}.time_s")].len();
    let row = |row: usize| names.iter().map(|name| tables[&format!("{table}.{name}")][row]).collect();
    (0..count).map(row).collect()
}

#[test]
fn samples_are_the_changes_held() {
    let changes = tables(&scenario(), Time::ZERO).1;
    let samples = tables(&scenario(), Time::from_millis(10)).1;
    // NaN (no RTT sample) is compared as -1.
    let tidy = |rows: Vec<Vec<f64>>| -> Vec<Vec<i64>> {
        let number = |value: f64| if value.is_nan() { -1 } else { (value * 1e9).round() as i64 };
        rows.into_iter().map(|row| row.into_iter().map(number).collect()).collect()
    };
    let columns = ["state", "cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_s", "rto_s"];
    assert_eq!(tidy(sampled(&samples, "tcp", "flow", &columns)), tidy(held(&changes, "tcp", "flow", &columns)));
    let columns = ["queue_packets", "queue_bytes"];
    assert_eq!(tidy(sampled(&samples, "queue", "link", &columns)), tidy(held(&changes, "queue", "link", &columns)));
}

#[test]
fn every_state_of_a_sender_has_a_name() {
    let states = [Phase::Closed, Phase::SynSent, Phase::Open, Phase::Disorder, Phase::Recovery, Phase::Loss];
    let names = states.map(|state| Phase::NAMES[state as usize]);
    assert_eq!(names, ["closed", "syn_sent", "open", "disorder", "recovery", "loss"]);
}

#[test]
fn a_table_comes_in_chunks() {
    let mut scenario = document();
    scenario["run"]["measure"] = "400 ms".into();
    let scenario = Scenario::read(&{
        scenario["groups"][0]["start_until"] = "0 s".into();
        scenario["groups"][1]["start_until"] = "0 s".into();
        scenario["topology"] = json!({});
        scenario
    })
    .unwrap();
    let mut rows = Vec::new();
    let sink = |chunk: Chunk| {
        rows.push((chunk.table, chunk.rows()));
        true
    };
    // In 400 ms there are 200 001 samples of the queue, one every 2 us including both ends.
    observed(&scenario, &mut Trace::new(Time::from_micros(2), sink));
    let queue: Vec<_> = rows.iter().filter(|(table, _)| *table == "queue").map(|&(_, rows)| rows).collect();
    assert_eq!(queue, [ROWS_PER_CHUNK, 200_001 - ROWS_PER_CHUNK]);
}

/// A writer that fails after this number of bytes.
struct SmallDisk(usize);

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_run_early() {
    let scenario = scenario();
    let mut pcap = Pcap::new(SmallDisk(10_000), &scenario, 0, PcapOptions::default()).unwrap();
    assert!(engine::observe(&scenario, 0, &AtomicBool::new(false), &mut pcap).is_none());
    assert_eq!(pcap.close().err().unwrap().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_reader_who_has_enough_ends_the_run_early() {
    let mut trace = Trace::new(Time::from_micros(1), |_| false);
    assert!(engine::observe(&scenario(), 0, &AtomicBool::new(false), &mut trace).is_none());
}

#[test]
fn a_watched_run_can_be_dropped_while_it_waits_for_its_reader() {
    let watch = Watch { trace: Some(Time::from_micros(1)), ..Watch::default() };
    let run = WatchedRun::start(scenario(), 0, &watch).unwrap();
    assert!(matches!(run.next(Duration::from_secs(600)), Some(Message::Chunk(_))));
    drop(run);
}

#[test]
fn a_device_without_room_is_reported() {
    let pcap = Some(("/dev/full".into(), PcapOptions::default()));
    let run = WatchedRun::start(scenario(), 0, &Watch { pcap, ..Watch::default() }).unwrap();
    let message = run.next(Duration::from_secs(600));
    assert!(matches!(message, Some(Message::Ended(Err(Failure::Io(..))))), "{message:?}");
}

#[test]
fn what_cannot_be_watched_is_refused_with_its_bound() {
    let mut short = document();
    short["tcp"] = json!({"header_bytes": 39});
    let error = pcap::check(&Scenario::read(&short).unwrap()).unwrap_err().to_string();
    assert!(error.contains("groups[0].sources[0].header_bytes: 39") && error.contains("at least 40"), "{error}");
    // A run of 6 s with 6 flows and one queue has 7 rows per sample. With at most 10^9 rows, the minimum interval is 42
    // s / 10^9 = 42 ns.
    let error = trace::check(&scenario(), Time(41_000)).unwrap_err().to_string();
    assert!(error.contains("trace_interval") && error.contains("from 0.000042 ms up"), "{error}");
    assert!(trace::check(&scenario(), Time(42_000)).is_ok());
    assert!(trace::check(&scenario(), Time::ZERO).is_ok());
}
