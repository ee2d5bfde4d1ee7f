//! Runs golden vectors of schemes as captures. The forwarder must drop and delay the same packets as the reference.

use super::*;
use etherparse::PacketBuilder;
use fairlane_schemes::base::units::QueueLimit;
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::registry::markers::MarkerConfig;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::Scheme;
use serde_json::json;
use std::collections::BTreeMap;

/// Schemes with known differences. Some hash flow numbers, which in the forwarder are hashes of addresses. Others
/// change state when the link becomes idle, which happens only in the forwarder.
const DIFFERING: [&str; 16] = [
    "afpft", "red", "blue", "sfb", "red_pd", "cobalt", "codel_af", "black", "afc", "stfq", "fq_codel", "fq_pie", "afq",
    "sp_pifo", "packs", "rifo",
];

/// Content of a vector: arrivals, and departure times in picoseconds.
struct Vector {
    arrivals: Vec<Arrival>,
    departures: BTreeMap<u64, u64>,
}

struct Arrival {
    at_ps: u64,
    packet: u64,
    user: u8,
    bytes: usize,
    is_expedited: bool,
    ecn: u8,
}

impl Vector {
    fn read(name: &str) -> Self {
        let path = format!("{}/../../tests/vectors/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let (mut arrivals, mut departures) = (Vec::new(), BTreeMap::new());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[0] {
                "arrive" => arrivals.push(Arrival {
                    at_ps: words[1].parse().unwrap(),
                    packet: words[2].parse().unwrap(),
                    user: words[3].parse().unwrap(),
                    bytes: words[4].parse().unwrap(),
                    is_expedited: words[5] == "EF",
                    ecn: ["NotEct", "Ect1", "Ect0", "Ce"].iter().position(|ecn| *ecn == words[6]).unwrap() as u8,
                }),
                "depart" => {
                    departures.insert(words[2].parse().unwrap(), words[1].parse().unwrap());
                }
                _ => {}
            }
        }
        Self { arrivals, departures }
    }

    /// Converts the arrivals to a capture. The payload starts with the packet's number. The port number is the user's
    /// number.
    fn capture(&self) -> Vec<u8> {
        let header = PcapHeader { ts_resolution: TsResolution::NanoSecond, ..PcapHeader::default() };
        let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
        for arrival in &self.arrivals {
            let mut ip =
                etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 0, 0, arrival.user], [10, 9, 9, 9]);
            let header = ip.as_mut().unwrap();
            header.ecn = arrival.ecn.try_into().unwrap();
            header.dscp = if arrival.is_expedited { 46 } else { 0 }.try_into().unwrap();
            let builder = PacketBuilder::ethernet2([2; 6], [2; 6])
                .ip(etherparse::IpHeaders::Ipv4(ip.unwrap(), etherparse::Ipv4Extensions::default()))
                .udp(u16::from(arrival.user), 9);
            let mut frame = Vec::new();
            let mut payload = vec![0; arrival.bytes - 28];
            payload[..2].copy_from_slice(&(arrival.packet as u16).to_be_bytes());
            builder.write(&mut frame, &payload).unwrap();
            let timestamp = Duration::from_nanos(arrival.at_ps / 1000);
            writer.write_packet(&PcapPacket::new(timestamp, frame.len() as u32, &frame)).unwrap();
        }
        writer.into_writer()
    }
}

/// Returns the configuration of the vectors: a link of 10 Mbit/s, a limit of 100 packets, and 12 users with a reference
/// rate of 10 kbit/s each.
fn config(scheme: Scheme) -> ForwardConfig {
    let buffer = BufferParams { limit: QueueLimit::Packets(100), ..Default::default() };
    let queue = QueueConfig::of(scheme, buffer).write();
    let marker = MarkerConfig::of(scheme.marker()).write();
    let users: Vec<_> =
        (0..12).map(|user| json!({"prefix": format!("10.0.0.{user}"), "traffic_class": "dscp"})).collect();
    let egress = json!({"rate": "10 Mbit/s", "queue": queue, "marker": marker});
    // The port number selects the random stream: the vectors use 0.
    let ports = json!([{"interface": "out", "egress": egress}, {"interface": "in"}]);
    ForwardConfig::read(&json!({"users": users, "ports": ports})).unwrap()
}

fn replay(scheme: Scheme, vector: &Vector) -> BTreeMap<u64, u64> {
    let mut out = Vec::new();
    forward(&config(scheme), (1, 0), &vector.capture()[..], &mut out).unwrap();
    let mut reader = PcapReader::new(&out[..]).unwrap();
    let mut departures = BTreeMap::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let number = u64::from(u16::from_be_bytes([packet.data[42], packet.data[43]]));
        departures.insert(number, packet.timestamp.as_nanos() as u64);
    }
    departures
}

#[test]
fn golden_vectors_come_out_of_the_forwarder() {
    let mut differing = Vec::new();
    for &scheme in Scheme::ALL {
        let vector = Vector::read(scheme.name());
        let found = replay(scheme, &vector);
        let is_same = found.len() == vector.departures.len()
            && vector.departures.iter().all(|(packet, start_ps)| {
                // A departure in a vector is the start of a transmission, at 0.8 us per byte; captures have whole
                // nanoseconds.
                let due_ns = start_ps / 1000 + vector.arrivals[*packet as usize].bytes as u64 * 800;
                found.get(packet).is_some_and(|found| found.abs_diff(due_ns) <= 2)
            });
        if !is_same {
            differing.push(scheme.name());
        }
    }
    assert_eq!(differing, DIFFERING);
}

#[test]
fn the_same_capture_gives_the_same_bytes() {
    let vector = Vector::read("abc");
    let run = || {
        let mut out = Vec::new();
        let report = forward(&config(Scheme::Abc), (1, 0), &vector.capture()[..], &mut out).unwrap();
        (out, report)
    };
    assert_eq!(run(), run());
}

#[test]
fn a_capture_that_is_none_is_an_error() {
    let config = config(Scheme::DropTail);
    let problem = |input: &[u8]| forward(&config, (1, 0), input, Vec::new()).map(|_| ()).unwrap_err().to_string();
    assert!(!problem(b"no capture").is_empty());
    let mut capture = Vector::read("droptail").capture();
    capture.truncate(capture.len() - 1);
    assert!(!problem(&capture).is_empty());
    // The time of the second packet precedes that of the first.
    let mut capture = Vector::read("droptail").capture();
    capture[24..28].copy_from_slice(&9u32.to_le_bytes());
    capture[24..28].reverse();
    assert!(problem(&capture).starts_with("packet 2 is earlier"), "{}", problem(&capture));
}
