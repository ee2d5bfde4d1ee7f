//! Tests that a C program that uses the whole interface gets the same results as the library.

use crate::support::{compiler, with_host};
use fairlane_capi::aqm::{AqmConfig, AveragerState};
use fairlane_capi::marker::UserSpec;
use fairlane_capi::meter::{MeterConfig, MeterState};
use fairlane_capi::queue::QueueStats;
use fairlane_plugin::abi::{ENTRY, LibraryTable, Parameter, PortView, SchemeTable, VERSION, Value};
use fairlane_plugin::packet::CPacket;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::aqm::Verdict;
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::contract::discipline::QueueDiscipline;
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::label::abc::{AbcMarker, AbcMarkerParams, AbcRule};
use fairlane_schemes::label::meter_bank::MeterBank;
use fairlane_schemes::measure::utema::WeightedMean;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::{AnyDiscipline, Scheme};
use fairlane_schemes::testing::{Drops, TestPacket};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

const HEADER: &str = include_str!("../include/fairlane.h");

fn run(program: &Path) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Computes the expected output of the C program.
fn expected() -> String {
    let mut text = format!(
        "layout {} {} {} {} {} {} {}\nplaces {} {} {}\n",
        size_of::<MeterConfig>(),
        size_of::<MeterState>(),
        size_of::<AveragerState>(),
        size_of::<AqmConfig>(),
        size_of::<CPacket>(),
        size_of::<QueueStats>(),
        size_of::<UserSpec>(),
        offset_of!(CPacket, bytes),
        offset_of!(CPacket, ecn),
        offset_of!(QueueStats, drop_threshold)
    );
    tables(&mut text);
    abc(&mut text);
    queue(&mut text);
    text
}

/// Appends the tables of a library of schemes.
fn tables(text: &mut String) {
    let sizes = [
        size_of::<Parameter>(),
        size_of::<Value>(),
        size_of::<PortView>(),
        size_of::<SchemeTable>(),
        size_of::<LibraryTable>(),
    ];
    let places = [
        offset_of!(Parameter, choices),
        offset_of!(Value, text),
        offset_of!(PortView, values),
        offset_of!(SchemeTable, enqueue),
        offset_of!(SchemeTable, report),
        offset_of!(LibraryTable, schemes),
    ];
    let joined = |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    line(text, format_args!("tables {}", joined(&sizes)));
    line(text, format_args!("fields {}", joined(&places)));
}

fn spec(rate: u64) -> MeterSpec {
    MeterSpec { reference_rate: BitRate(rate), weight: 1.0, start: Time::ZERO }
}

fn abc(text: &mut String) {
    let mut meters: MeterBank<AbcMarker> = MeterBank::new(&AbcMarkerParams::default(), &[spec(10_000)]);
    let rule = AbcRule { q_min: 6.0, q_base: 20.0, gamma: 16.0 };
    let mut mean = WeightedMean::new(Time::from_millis(300));
    let mut rng = Rng::stream(1, 0, "marker", 0);
    for i in 0..1000u32 {
        let now = Time::from_micros(240 * u64::from(i + 1));
        let class = if i % 10 == 0 { TrafficClass::Expedited } else { TrafficClass::BestEffort };
        let mut packet = TestPacket { wire_bytes: 40 + i % 1461, class, ..Default::default() };
        meters.label(0, &mut packet, now, &mut rng);
        let threshold = rule.drop_threshold(packet.label, mean.mean());
        let is_dropped = AbcRule::verdict(f64::from(i % 30), threshold) == Verdict::Drop;
        if !is_dropped {
            mean.update(packet.label, now);
        }
        line(text, format_args!("abc {} {} {}", Bits(packet.label), Bits(threshold), u8::from(is_dropped)));
    }
}

fn queue(text: &mut String) {
    let mut meters: MeterBank<AbcMarker> = MeterBank::new(&AbcMarkerParams::default(), &[spec(10_000), spec(20_000)]);
    let config = QueueConfig::of(Scheme::Abc, BufferParams::default());
    let mut queue: AnyDiscipline<TestPacket> = config.build(BitRate(10_000_000), &Weights::equal());
    let (mut rng, mut drops, mut sent) = (Rng::stream(1, 0, "queue", 0), Drops::default(), 0);
    for i in 0..2000u32 {
        let now = Time::from_millis(u64::from(i + 1));
        let user = u32::from(i % 4 == 0);
        let mut packet = TestPacket { id: i.into(), user, flow: user, ..Default::default() };
        meters.label(user as usize, &mut packet, now, &mut rng);
        queue.enqueue(packet, now, &mut rng, &mut drops);
        if i % 6 != 0
            && let Some(next) = queue.dequeue(now, &mut rng, &mut drops)
        {
            sent += 1;
            line(text, format_args!("sent {} {}", next.id, Bits(next.label)));
        }
    }
    let threshold = queue.drop_threshold().unwrap();
    line(text, format_args!("stats {sent} {} {}", queue.backlog().packets, Bits(threshold)));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").unwrap();
}

/// A number printed as bits, so that C and Rust need not format decimals equally.
struct Bits(f64);

impl std::fmt::Display for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}", self.0.to_bits())
    }
}

/// Replaces decimal numbers in the program's lines by bits; 17 digits identify a double.
fn with_bits(output: &str) -> String {
    let mut text = String::new();
    for words in output.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        let reals: &[usize] = match words[0] {
            "abc" => &[1, 2],
            "sent" => &[2],
            "stats" => &[3],
            _ => &[],
        };
        let word = |(i, word): (usize, &&str)| {
            if reals.contains(&i) { Bits(word.parse().unwrap()).to_string() } else { (*word).to_owned() }
        };
        line(&mut text, format_args!("{}", words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")));
    }
    text
}

#[test]
fn a_host_in_c_gets_the_results_of_the_library() {
    let Some(mut compiler) = compiler("CC", "cc") else { return };
    compiler.args(["-std=c11", "-pedantic"]);
    let output = with_bits(&with_host(compiler, "program.c", run));
    let expected = expected();
    assert_eq!(output.lines().count(), expected.lines().count());
    for (got, wanted) in output.lines().zip(expected.lines()) {
        assert_eq!(got, wanted);
    }
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let sources = ["lib", "status", "meter", "aqm", "queue", "marker", "simulation"].map(|name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/{name}.rs"));
        std::fs::read_to_string(path).unwrap()
    });
    // Returns the names that begin with `fairlane_` and are followed by a parenthesis.
    let names = |text: &str| -> BTreeSet<String> {
        let calls = text.match_indices("fairlane_").map(|(at, _)| &text[at..]);
        let name = calls.filter_map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
            rest[end..].starts_with('(').then(|| rest[..end].to_owned())
        });
        name.collect()
    };
    let without_comments = HEADER.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code));
    let exported = sources.iter().flat_map(|text| text.split("extern \"C\" fn ").skip(1));
    let exported: BTreeSet<String> = exported.map(|rest| rest[..rest.find('(').unwrap()].to_owned()).collect();
    // `ENTRY` is a function of the user's library of schemes, not of this library.
    let mut declared = names(&without_comments.collect::<String>());
    assert!(declared.remove(ENTRY));
    assert!(HEADER.contains(&format!("#define FAIRLANE_SCHEME_VERSION {VERSION}\n")));
    assert_eq!(declared, exported);
    assert!(exported.len() >= 15, "{exported:?}");
}

#[test]
fn a_header_for_cpp_too() {
    let Some(mut compiler) = compiler("CXX", "c++") else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/fairlane.h");
    compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c++"]).arg(path);
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
