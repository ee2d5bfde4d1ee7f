//! Tests that the extern module for BMv2 (`planes/p4/extern`) makes the same decisions as the `f64` reference, bit for
//! bit, on a sequence of packets.
//!
//! The switch's classes are stubs (`tests/stub`). The test shows that parameters in `abc.p4`'s tables, state as bit
//! strings, and calls of the C interface give the results of the reference.

use crate::support::{compiler, with_host};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::aqm::Verdict;
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::fixed::{Accounting, Decay, FixedMeterParams, PACKET};
use fairlane_schemes::label::abc::{AbcMarker, AbcMarkerParams, AbcRule};
use fairlane_schemes::label::meter_bank::MeterBank;
use fairlane_schemes::measure::utema::WeightedMean;
use fairlane_schemes::testing::TestPacket;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const METER_MEMORY: Time = Time::from_secs(3);
const AVERAGER_MEMORY: Time = Time::from_millis(300);
const REFERENCE: BitRate = BitRate(10_000);
const RULE: AbcRule = AbcRule { q_min: 6.0, q_base: 20.0, gamma: 16.0 };
/// Below Q_base, so that the limit sometimes decides.
const LIMIT: u64 = 12;
const PACKETS: u64 = 20_000;

/// Returns the entries of the switch's tables for the constants of this test.
fn parameters() -> String {
    let meter = FixedMeterParams::new(METER_MEMORY, REFERENCE).unwrap();
    let averager = Decay::new(AVERAGER_MEMORY).unwrap();
    let factor = |value| u64::from(Accounting::new(value).unwrap().q20());
    let length = |packets: f64| (packets * PACKET as f64) as u64;
    let numbers = [
        meter.decay().step_q56(),
        meter.decay().shift().into(),
        meter.offset_q31().cast_unsigned(),
        factor(1.0),
        factor(3.0),
        averager.step_q56(),
        averager.shift().into(),
        length(RULE.q_min),
        length(RULE.q_base),
        length(RULE.gamma),
        LIMIT * PACKET.unsigned_abs(),
    ];
    numbers.map(|number| number.to_string()).join(" ") + "\n"
}

/// Packets for the program, and the results of the reference.
fn train() -> (String, Vec<String>) {
    let spec = MeterSpec { reference_rate: REFERENCE, weight: 1.0, start: Time::ZERO };
    let params = AbcMarkerParams { memory: METER_MEMORY, ..Default::default() };
    let mut meters: MeterBank<AbcMarker> = MeterBank::new(&params, &[spec]);
    let mut mean = WeightedMean::new(AVERAGER_MEMORY);
    let (mut rng, mut unused) = (Rng::stream(1, 0, "train", 0), Rng::stream(1, 0, "marker", 0));
    let (mut input, mut expected, mut now_ns) = (String::new(), Vec::new(), 0u64);
    for i in 0..PACKETS {
        // Bursts and idle times on a microsecond clock, like the switch's.
        let gap_us = if i % 1000 == 999 { 5e6 } else { rng.exponential(250.0) };
        now_ns += gap_us as u64 * 1000;
        let (bytes, queue) = (20 + (rng.bits() % 1481) as u32, rng.bits() % 30);
        let is_expedited = rng.bits().is_multiple_of(10);
        let class = if is_expedited { TrafficClass::Expedited } else { TrafficClass::BestEffort };
        let mut packet = TestPacket { wire_bytes: bytes, class, ..Default::default() };
        let now = Time::from_nanos(now_ns);
        meters.label(0, &mut packet, now, &mut unused);
        // Every eighth packet has no label at the port, so only the limit applies to it.
        let is_labelled = i % 8 > 0;
        let threshold = RULE.drop_threshold(packet.label, mean.mean());
        let verdict = match AbcRule::verdict(queue as f64, threshold) {
            Verdict::Drop if is_labelled => 1,
            _ if queue >= LIMIT => 2,
            _ => {
                if is_labelled {
                    mean.update(packet.label, now);
                }
                0
            }
        };
        writeln!(input, "{now_ns} {bytes} {} {queue} {}", u8::from(is_expedited), u8::from(is_labelled)).unwrap();
        expected.push(format!("{:x} {verdict} {:x}", packet.label.to_bits(), mean.parts().0.to_bits()));
    }
    (input, expected)
}

/// Returns the output of the program for a text on its standard input.
fn fed(program: &Path, input: String) -> String {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_externs_decide_as_the_reference() {
    let Some(mut compiler) = compiler("CXX", "c++") else { return };
    compiler.arg("-std=c++17");
    let (packets, expected) = train();
    let text = with_host(compiler, "extern_host.cpp", |program| fed(program, parameters() + &packets));
    let verdicts = |digit: &str| expected.iter().filter(|line| line.split(' ').nth(1) == Some(digit)).count();
    // All verdicts must occur, otherwise the test would prove nothing.
    assert!(["0", "1", "2"].map(verdicts).iter().all(|count| *count > 100), "{:?}", ["0", "1", "2"].map(verdicts));
    assert_eq!(text.lines().count(), expected.len());
    for (i, (got, wanted)) in text.lines().zip(&expected).enumerate() {
        assert_eq!(got, wanted, "packet {i}");
    }
}
