//! The tables and constants of the integer arithmetic as a C header, for hosts that do the arithmetic in C.
//!
//! `make bpf-headers` writes it; a test compares the file with this module.

use super::averager::{COUNT_BITS, PACKET_WEIGHT, SUM_EXTRA_BITS, WEIGHT_BITS};
use super::csfq::{CUTS, LOG2_CUT_Q31};
use super::decay::FORGOTTEN;
use super::exp2::{EXPONENT_BITS, LN2_Q32};
use super::meter::{LN2_24TH_Q32, SUM_BITS, YOUNG_TICKS};
use super::tables::{EXP2, LOG2};
use super::{Accounting, Activity, LOG2_OF_ZERO_Q31, PACKET};
use std::fmt::{Display, Write};

/// A de Bruijn number: all windows of six bits in it differ, so the upper six bits of its product with 2^(n+1) - 1
/// identify n.
const DE_BRUIJN: u64 = 0x03f7_9d71_b4cb_0a89;

/// Returns a table with n at the index formed by the upper six bits of [`DE_BRUIJN`] times 2^(n+1) - 1.
fn highest_bits() -> [u32; 64] {
    let mut table = [0; 64];
    for n in 0..64 {
        table[(DE_BRUIJN.wrapping_mul(u64::MAX >> (63 - n)) >> 58) as usize] = n;
    }
    table
}

/// Text of the header.
#[must_use]
pub fn c_header() -> String {
    let mut text = String::from(
        "/* SPDX-License-Identifier: MIT OR Apache-2.0 */\n\
         /* Written by `make bpf-headers` from fairlane_schemes::fixed: do not edit. */\n\
         #ifndef FAIRLANE_FIXED_TABLES_H\n\
         #define FAIRLANE_FIXED_TABLES_H\n\n",
    );
    constant(&mut text, "Fraction bits of the label.", "FAIR_ACTIVITY_FRACTION", Activity::FRACTION_BITS);
    constant(&mut text, "All bits of the label.", "FAIR_ACTIVITY_BITS", Activity::BITS);
    constant(&mut text, "Activity 0 in the biased form of the label, 32.", "FAIR_ACTIVITY_BIAS", Activity::BIAS);
    constant(&mut text, "Fraction bits of an exponent of 1/2.", "FAIR_EXPONENT_BITS", EXPONENT_BITS);
    constant(&mut text, "ln 2 in Q32.", "FAIR_LN2_Q32", format_args!("{LN2_Q32}ULL"));
    constant(
        &mut text,
        "log2(0) in Q31, by convention.",
        "FAIR_LOG2_OF_ZERO_Q31",
        format_args!("({LOG2_OF_ZERO_Q31}LL)"),
    );
    constant(&mut text, "Ticks after which nothing is left.", "FAIR_FORGOTTEN", format_args!("{FORGOTTEN}ULL"));
    constant(&mut text, "Fraction bits of S of the meter, bytes.", "FAIR_METER_SUM_BITS", SUM_BITS);
    constant(&mut text, "Ticks up to which T is taken from its series.", "FAIR_YOUNG_TICKS", YOUNG_TICKS);
    constant(&mut text, "ln 2 / 24 in Q32.", "FAIR_LN2_24TH_Q32", format_args!("{LN2_24TH_Q32}ULL"));
    constant(&mut text, "Accounting factor 1, Q20.", "FAIR_ACCOUNTING_ONE", Accounting::ONE.q20());
    constant(&mut text, "Fraction bits of N of the averager.", "FAIR_COUNT_BITS", COUNT_BITS);
    constant(
        &mut text,
        "Fraction bits of S of the averager beyond the label's.",
        "FAIR_SUM_EXTRA_BITS",
        SUM_EXTRA_BITS,
    );
    constant(&mut text, "Fraction bits of a weight in the averager.", "FAIR_WEIGHT_BITS", WEIGHT_BITS);
    constant(&mut text, "Weight of a packet whose bytes do not count.", "FAIR_PACKET_WEIGHT", PACKET_WEIGHT);
    constant(&mut text, "Cuts of the fair rate of CSFQ after an onset of congestion.", "FAIR_CUTS", CUTS);
    constant(&mut text, "log2 of such a cut, 0.99, in Q31.", "FAIR_LOG2_CUT_Q31", format_args!("({LOG2_CUT_Q31}LL)"));
    constant(&mut text, "One packet, in units of a queue in packets.", "FAIR_PACKET", PACKET);
    let factor = format_args!("{DE_BRUIJN:#018x}ULL");
    constant(&mut text, "A de Bruijn sequence, for the table of highest bits.", "FAIR_DE_BRUIJN", factor);
    let highest = "n at the place that the upper six bits of FAIR_DE_BRUIJN * (2^(n+1) - 1) give.";
    array(&mut text, highest, "const unsigned char fair_highest_table", &highest_bits(), "");
    array(&mut text, "log2(1 + i/256) in Q31.", "const __u32 fair_log2_table", &LOG2, "U");
    array(&mut text, "2^(-i/256) in Q32.", "const __u64 fair_exp2_table", &EXP2, "ULL");
    text.push_str("\n#endif\n");
    text
}

fn constant(text: &mut String, what: &str, name: &str, value: impl Display) {
    writeln!(text, "/* {what} */\n#define {name} {value}").expect("a String takes all");
}

fn array(text: &mut String, what: &str, declaration: &str, entries: &[impl Display], suffix: &str) {
    write!(text, "\n/* {what} */\nstatic {declaration}[{}] = {{", entries.len()).expect("a String takes all");
    for (i, entry) in entries.iter().enumerate() {
        let gap = if i % 6 == 0 { "\n\t" } else { " " };
        write!(text, "{gap}{entry}{suffix},").expect("a String takes all");
    }
    text.push_str("\n};\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the entries of the table with the name `name`.
    fn entries(header: &str, name: &str) -> Vec<u64> {
        let start = header.find(name).expect("the table is declared");
        let body = header[start..].split_once('{').expect("it has a body").1.split_once('}').expect("that ends").0;
        let numbers = body.split(',').map(|entry| entry.trim().trim_end_matches(['U', 'L']));
        numbers.filter(|entry| !entry.is_empty()).map(|entry| entry.parse().expect("entries are numbers")).collect()
    }

    #[test]
    fn tables_are_those_of_the_library() {
        let header = c_header();
        assert!(entries(&header, "fair_log2_table").iter().copied().eq(LOG2.iter().map(|&entry| u64::from(entry))));
        assert_eq!(entries(&header, "fair_exp2_table"), EXP2);
        // log2(2) = 1 in Q31, 2^0 = 1 in Q32.
        assert_eq!(entries(&header, "fair_log2_table")[256], 1 << 31);
        assert_eq!(entries(&header, "fair_exp2_table")[0], 1 << 32);
    }

    #[test]
    fn places_of_highest_bits_are_all_different() {
        let mut bits = highest_bits();
        bits.sort_unstable();
        assert!(bits.iter().copied().eq(0..64));
    }

    #[test]
    fn constants_are_defined_once() {
        let header = c_header();
        // Labels have 22 bits, of which 16 are fraction bits, and a bias of 32. ln 2 is 2 977 044 472 / 2^32.
        for line in [
            "#define FAIR_ACTIVITY_FRACTION 16\n",
            "#define FAIR_ACTIVITY_BITS 22\n",
            "#define FAIR_ACTIVITY_BIAS 2097152\n",
            "#define FAIR_LN2_Q32 2977044472ULL\n",
        ] {
            assert_eq!(header.matches(line).count(), 1, "{line}");
        }
        assert!(header.ends_with("#endif\n"));
    }
}
