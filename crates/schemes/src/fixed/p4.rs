//! The tables and constants of the integer arithmetic for P4 programs.
//!
//! `make p4-tables` writes them into `planes/p4/generated`; a test compares the files with this module. The entries of
//! a table are in a separate file, because a P4 program needs a separate copy of the table for each look-up.

use super::averager::{COUNT_BITS, SUM_EXTRA_BITS};
use super::csfq::{CUTS, LOG2_CUT_Q31};
use super::decay::FORGOTTEN;
use super::exp2::{EXPONENT_BITS, LN2_Q32};
use super::log2::bow;
use super::meter::{LN2_24TH_Q32, SUM_BITS, YOUNG_TICKS};
use super::tables::{CELLS, EXP2, LOG2};
use super::{Activity, LOG2_OF_ZERO_Q31, PACKET};
use std::fmt::{Display, Write};

/// Name and text of each file.
#[must_use]
pub fn files() -> [(&'static str, String); 4] {
    [
        ("constants.p4", constants()),
        ("log2_exponents.p4", log2_exponents()),
        ("log2_chords.p4", log2_chords()),
        ("exp2_powers.p4", exp2_powers()),
    ]
}

fn head(what: &str) -> String {
    format!(
        "/* SPDX-License-Identifier: MIT OR Apache-2.0 */\n\
         /* Written by `make p4-tables` from fairlane_schemes::fixed: do not edit. */\n\
         /* {what} */\n"
    )
}

fn constants() -> String {
    let mut text = head("Constants of the arithmetic.");
    text.push_str("#ifndef FAIRLANE_CONSTANTS_P4\n#define FAIRLANE_CONSTANTS_P4\n\n");
    writeln!(text, "/* A label, biased: activity + 32. */\ntypedef bit<{}> activity_t;", Activity::BITS)
        .expect("a String takes all");
    let bits = "const int";
    let word = "const bit<64>";
    constant(&mut text, "Bits of a label.", bits, "ACTIVITY_BITS", Activity::BITS);
    constant(&mut text, "Those behind the point.", bits, "ACTIVITY_FRACTION_BITS", Activity::FRACTION_BITS);
    constant(&mut text, "Activity 0.", "const activity_t", "ACTIVITY_ZERO", Activity::BIAS);
    constant(&mut text, "The highest label.", word, "ACTIVITY_MOST", (1u64 << Activity::BITS) - 1);
    constant(&mut text, "Fraction bits of an exponent of 1/2.", bits, "EXPONENT_BITS", EXPONENT_BITS);
    constant(&mut text, "An exponent that leaves nothing.", word, "NOTHING_LEFT", "0xffffffffffffffff");
    constant(&mut text, "ln 2 in Q32.", word, "LN2", LN2_Q32);
    let log2_of_zero = format_args!("{:#x}", LOG2_OF_ZERO_Q31.cast_unsigned()).to_string();
    constant(&mut text, "log2(0) in Q31, by convention -64.", word, "LOG2_OF_ZERO", log2_of_zero);
    constant(&mut text, "ln 2 / 24 in Q32.", word, "LN2_24TH", LN2_24TH_Q32);
    constant(&mut text, "Ticks after which nothing is left.", word, "FORGOTTEN", FORGOTTEN);
    constant(&mut text, "Ticks up to which T is taken from its series.", word, "YOUNG_TICKS", YOUNG_TICKS);
    constant(&mut text, "Fraction bits of S of the meter, bytes.", bits, "METER_SUM_BITS", SUM_BITS);
    constant(&mut text, "Fraction bits of N of the averager.", bits, "COUNT_BITS", COUNT_BITS);
    constant(&mut text, "Those of its S beyond the label's.", bits, "SUM_EXTRA_BITS", SUM_EXTRA_BITS);
    constant(&mut text, "Cuts of the fair rate of CSFQ after an onset of congestion.", "const bit<8>", "CUTS", CUTS);
    let log2_cut = format_args!("{:#x}", LOG2_CUT_Q31.cast_unsigned()).to_string();
    constant(&mut text, "log2(0.99) in Q31.", word, "LOG2_CUT", log2_cut);
    constant(&mut text, "One packet, in units of a queue in packets.", word, "PACKET", PACKET);
    text.push_str("\n#endif\n");
    text
}

fn constant(text: &mut String, what: &str, kind: &str, name: &str, value: impl Display) {
    writeln!(text, "/* {what} */\n{kind} {name} = {value};").expect("a String takes all");
}

/// Returns a table with 64 entries, one for each position of the highest bit. The position is the integer part of the
/// logarithm.
fn log2_exponents() -> String {
    entries(
        "Leading zeros of x and the whole part of log2(x), Q31.",
        (0..64u32).rev().map(|place| {
            let (bit, mask) = (1u64 << place, u64::MAX << place);
            format!("{bit:#018x} &&& {mask:#018x}: set_exponent({}, {:#x});", 63 - place, u64::from(place) << 31)
        }),
    )
}

fn log2_chords() -> String {
    entries(
        "log2(1 + i/256) in Q31, what the next entry is above it, and how far the curve bows out between them.",
        (0..CELLS).map(|cell| {
            let rise = u64::from(LOG2[cell + 1] - LOG2[cell]);
            format!("{cell}: set_chord({}, {rise}, {});", LOG2[cell], bow(rise))
        }),
    )
}

fn exp2_powers() -> String {
    entries("2^(-i/256) in Q32.", EXP2.iter().enumerate().map(|(cell, entry)| format!("{cell}: set_power({entry});")))
}

fn entries(what: &str, lines: impl Iterator<Item = String>) -> String {
    let mut text = head(what);
    text.push_str("const entries = {\n");
    for line in lines {
        writeln!(text, "    {line}").expect("a String takes all");
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers in the parentheses of each entry.
    fn arguments(text: &str) -> Vec<Vec<u64>> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).expect("entries are numbers"),
            None => text.parse().expect("entries are numbers"),
        };
        let lines = text.lines().filter_map(|line| line.split_once('(')?.1.strip_suffix(");"));
        lines.map(|line| line.split(", ").map(number).collect()).collect()
    }

    #[test]
    fn tables_are_those_of_the_library() {
        assert!(arguments(&exp2_powers()).iter().map(|entry| entry[0]).eq(EXP2));
        let chords = arguments(&log2_chords());
        assert_eq!(chords.len(), 256);
        for (cell, chord) in chords.iter().enumerate() {
            assert_eq!(chord[0], u64::from(LOG2[cell]));
            assert_eq!(chord[0] + chord[1], u64::from(LOG2[cell + 1]));
        }
    }

    #[test]
    fn prefixes_hold_one_power_of_two_each() {
        let exponents = arguments(&log2_exponents());
        assert_eq!(exponents.len(), 64);
        // The first entry is for numbers from 2^63 on, the last for log2(1) = 0.
        assert_eq!((exponents[0].as_slice(), exponents[63].as_slice()), (&[0, 63 << 31][..], &[63, 0][..]));
        assert!(
            log2_exponents()
                .contains("    0x0000000000000400 &&& 0xfffffffffffffc00: set_exponent(53, 0x500000000);\n")
        );
    }

    #[test]
    fn constants_are_defined_once() {
        let text = constants();
        // LN2 is ln 2 * 2^32 = 2 977 044 472. The other two are -64 * 2^31 and log2(0.99) * 2^31 = -31 137 589, both in
        // two's complement.
        for line in [
            "const bit<64> LN2 = 2977044472;\n",
            "const bit<64> LOG2_OF_ZERO = 0xffffffe000000000;\n",
            "const bit<64> LOG2_CUT = 0xfffffffffe24e0cb;\n",
        ] {
            assert_eq!(text.matches(line).count(), 1, "{line}");
        }
    }
}
