//! Tests the parsers of frames and configurations on mutated input: a million frames, a million values, and whole
//! files.

use crate::mutate::mutate;
use fairlane_node::config::{MarkMatch, NodeConfig, Prefix};
use fairlane_node::frame::{Frame, Network};
use fairlane_schemes::base::rng::Rng;
use std::fmt::Display;
use std::str::FromStr;

/// Returns the frames to mutate: IPv4 fragments and IPv6 packets with extension headers, each with and without tags.
fn seeds() -> Vec<Vec<u8>> {
    let ethernet = |ethertypes: &[u8]| [&[2; 12], ethertypes].concat();
    let mut ipv4 = vec![0x45, 0xb8, 0, 60, 0, 0, 0x20, 5, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ipv4.resize(60, 7);
    let mut ipv6 = vec![0x6b, 0x80, 0, 0, 0, 60, 0, 64];
    ipv6.extend([0xfd; 32]);
    // Hop-by-hop, destination options, fragment, UDP.
    ipv6.extend([60, 0, 1, 4, 0, 0, 0, 0, 44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 1, 0, 0, 0, 9, 0, 1, 0, 2, 0, 40, 0, 0]);
    ipv6.resize(100, 7);
    vec![
        [ethernet(&[8, 0]), ipv4.clone()].concat(),
        [ethernet(&[0x81, 0, 0, 7, 8, 0]), ipv4].concat(),
        [ethernet(&[0x86, 0xdd]), ipv6.clone()].concat(),
        [ethernet(&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 7, 0x86, 0xdd]), ipv6].concat(),
    ]
}

#[test]
fn a_million_mutated_frames_are_read_within_their_bounds() {
    let mut rng = Rng::stream(1, 0, "frames", 0);
    let seeds = seeds();
    let (mut ip, mut with_ports) = (0u32, 0u32);
    for i in 0..1_000_000usize {
        let mut bytes = seeds[i % seeds.len()].clone();
        mutate(&mut rng, &mut bytes, &[0, 6, 8, 17, 43, 44, 60, 0x45, 0x60, 0x81, 0x86, 0x88, 0xa8, 0xdd, 0xff]);
        let frame = Frame::parse(&bytes);
        assert!(frame.bytes as usize <= bytes.len() && frame.network_at <= bytes.len(), "{bytes:?}");
        let header = if frame.network == Network::Ipv4 { 20 } else { 40 };
        if frame.network != Network::Other {
            assert!(bytes.len() >= frame.network_at + header, "{bytes:?}");
            ip += 1;
        }
        with_ports += u32::from(frame.ports.is_some());
        // The same bytes belong to the same flow.
        assert_eq!(frame.flow(&bytes), Frame::parse(&bytes).flow(&bytes));
    }
    // Most mutated frames are still IP packets; otherwise nothing after the ethertype would be tested.
    assert!(ip > 500_000 && with_ports > 1_000, "{ip} {with_ports}");
}

/// Mutates texts. A text that parses must give the same value after formatting and parsing.
fn values<T: FromStr + Display + PartialEq>(name: &str, seeds: &[&str], alphabet: &[u8]) {
    let mut rng = Rng::stream(1, 0, name, 0);
    let mut read = 0;
    for i in 0..500_000usize {
        let mut bytes = seeds[i % seeds.len()].as_bytes().to_vec();
        mutate(&mut rng, &mut bytes, alphabet);
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(value) = text.parse::<T>() {
            assert!(value.to_string().parse::<T>().is_ok_and(|again| again == value), "{text}");
            read += 1;
        }
    }
    // Some mutations give another valid value.
    assert!(read > 1_000, "{name}: {read}");
}

#[test]
fn a_million_mutated_prefixes_and_marks_are_refused_or_mean_what_they_say() {
    let prefixes = ["10.0.1.0/24", "192.0.2.7", "2001:db8::/32", "::ffff:10.0.0.0/104", "0.0.0.0/0"];
    values::<Prefix>("prefixes", &prefixes, b"0123456789abcdef.:/ ");
    values::<MarkMatch>("marks", &["0x10/0xff", "7", "0xffffffff/0xffffffff", "0/1"], b"0123456789abcdefx/ ");
}

#[test]
fn mutated_files_are_refused_in_one_line_or_read() {
    read_mutated_files(5000);
}

#[test]
#[ignore = "long: reads 20 000 mutated files"]
fn many_mutated_files_are_refused_in_one_line_or_read() {
    read_mutated_files(20_000);
}

fn read_mutated_files(files: usize) {
    let whole = include_str!("../../../examples/node/every-key.toml");
    // Removes comments, so that mutations affect keys and values.
    let lines = whole.lines().map(|line| line.split(" #").next().unwrap_or_default().trim_end());
    let text = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let mut rng = Rng::stream(1, 0, "files", 0);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..files {
        let mut bytes = text.clone().into_bytes();
        mutate(&mut rng, &mut bytes, b"0123456789.\"=[]-_ kMGbits");
        let Ok(json) = toml::from_str::<serde_json::Value>(&String::from_utf8_lossy(&bytes)) else { continue };
        match NodeConfig::read(&json) {
            Ok(_) => read += 1,
            Err(error) => {
                let message = error.to_string();
                assert!(!message.is_empty() && !message.contains('\n'), "{message}");
                refused += 1;
            }
        }
    }
    assert!(read > files / 200 && refused > files / 20, "{read} {refused}");
}
