//! Tests that the library reproduces the generated files of the P4 programs and, bit for bit, their golden vectors.

use crate::p4::file::{Input, Vectors};
use crate::p4::program;
use crate::p4::scheme::Scheme;
use crate::p4::setup::FLOODED;
use crate::p4::switch::{Outcome, Switch};
use crate::p4::train::train;
use fairlane_schemes::fixed::csfq::FixedCsfq;
use fairlane_schemes::fixed::p4::files;
use fairlane_schemes::fixed::{Activity, LOG2_OF_ZERO_Q31, log2_q31};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Condition that some packets of the vectors must satisfy.
type Condition<'a> = dyn Fn(&Input, &Outcome) -> bool + 'a;

fn vectors(scheme: Scheme) -> Vectors {
    let text = fs::read_to_string(program::project(&scheme.vectors())).expect("the vectors are there");
    Vectors::read(scheme, &text).expect("the vectors are well formed")
}

#[test]
fn written_tables_are_those_of_the_library() {
    for (name, text) in files() {
        let written = fs::read_to_string(program::project("planes/p4/generated").join(name)).unwrap_or_default();
        assert!(written == text, "planes/p4/generated/{name} is out of date: run make p4-tables");
    }
}

#[test]
fn warnings_of_the_compiler_are_no_errors() {
    let folder = std::env::temp_dir().join(format!("fairlane-p4-warns-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let p4c = folder.join("p4c-bm2-ss");
    let compile = |status: u8| {
        fs::write(&p4c, format!("#!/bin/sh\necho \"warning: 'CUTS' is unused\" >&2\nexit {status}\n")).unwrap();
        fs::set_permissions(&p4c, fs::Permissions::from_mode(0o755)).unwrap();
        program::compile(&p4c, "abc.p4", &[], &folder.join("abc.json"))
    };
    let warning = "warning: 'CUTS' is unused\n";
    assert_eq!((compile(0), compile(1)), (Ok(warning.into()), Err(format!("p4c on planes/p4/abc.p4: {warning}"))));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_programs_compile() {
    let Some(p4c) = program::find("p4c-bm2-ss", "FAIRLANE_P4C") else {
        println!("skipped: p4c-bm2-ss is neither on the PATH nor named by FAIRLANE_P4C");
        return;
    };
    for scheme in Scheme::ALL {
        let json = std::env::temp_dir().join(format!("fairlane-p4-{}-{}.json", scheme.name(), std::process::id()));
        let compiled = program::compile(&p4c, &scheme.program(), &[], &json);
        let _ = fs::remove_file(&json);
        print!("{}", compiled.unwrap());
    }
}

#[test]
fn vectors_are_of_these_programs() {
    for scheme in Scheme::ALL {
        let program = scheme.program();
        let hash = program::hash(&program).expect("the program is there");
        assert_eq!(
            vectors(scheme).program,
            hash,
            "planes/p4/{program} has changed since its vectors: run make p4-vectors"
        );
    }
}

#[test]
fn inputs_are_those_of_the_generator() {
    for scheme in Scheme::ALL {
        for (section, setup) in vectors(scheme).sections.iter().zip(&scheme.setups()) {
            assert!(section.packets.iter().map(|packet| &packet.0).eq(&train(setup)), "{}", setup.name);
        }
    }
}

#[test]
fn the_library_replays_the_switch_bit_for_bit() {
    for scheme in Scheme::ALL {
        let (vectors, setups) = (vectors(scheme), scheme.setups());
        assert_eq!(vectors.sections.len(), setups.len());
        for (section, setup) in vectors.sections.iter().zip(&setups) {
            assert_eq!((section.name.as_str(), &section.commands), (setup.name, &setup.commands()));
            let mut switch = Switch::new(setup);
            for (number, (input, recorded)) in section.packets.iter().enumerate() {
                let outcome = switch.process(input);
                assert_eq!(outcome, *recorded, "{scheme:?}, packet {number} of {}: {input:?}", setup.name);
            }
        }
    }
}

/// Returns true for a label that a host wrote at an untrusted port.
fn is_forged(input: &Input) -> bool {
    input.ingress_port < 3 && input.recipe.tags.first().is_some_and(|tag| tag.0 == 0x88a8)
}

#[test]
fn vectors_cover_what_they_are_to_cover() {
    let most = (1 << 22) - 1;
    let cases: [(&str, &Condition<'_>); 11] = [
        ("expedited, accepted", &|_, out| out.verdict == 0 && out.flags & 6 == 6),
        ("expedited, dropped", &|_, out| out.verdict == 1 && out.flags & 6 == 6),
        ("queue of their own", &|_, out| out.priority == 1),
        ("without a label, judged", &|_, out| out.flags & 5 == 4),
        // A tag of zeros represents the middle of 128 labels.
        ("lowest label of a tag", &|_, out| out.flags & 1 == 1 && out.activity == 64),
        ("highest label", &|_, out| out.activity == most),
        ("flooded and let in by an AQM", &|_, out| out.flags & 12 == 12),
        ("flooded and dropped by it", &|input, out| input.station == FLOODED.0 && [1, 2].contains(&out.verdict)),
        ("forged and accepted", &|input, out| is_forged(input) && out.verdict == 0),
        ("forged and refused", &|input, out| input.ingress_port < 3 && out.verdict == 3),
        ("not IP", &|input, out| input.recipe.ethertype.is_some() && out.verdict < 2),
    ];
    for scheme in Scheme::ALL {
        let vectors = vectors(scheme);
        let packets: Vec<_> = vectors.sections.iter().flat_map(|section| &section.packets).collect();
        assert!(packets.len() >= 20_000, "{}", packets.len());
        let count = |of: &Condition<'_>| packets.iter().filter(|(input, outcome)| of(input, outcome)).count();
        for verdict in 0..=4 {
            assert!(count(&|_, outcome| outcome.verdict == verdict) >= 100, "{scheme:?}: verdict {verdict}");
        }
        for (what, of) in cases {
            let count = count(of);
            assert!(count >= 20, "{scheme:?}: {what}: {count}");
        }
    }
}

#[test]
fn random_numbers_at_the_edge_decide() {
    // While alpha is below the label, the packets of the vectors alternate: the first has the largest random number
    // that causes a drop, the second the smallest that does not.
    let vectors = vectors(Scheme::Csfq);
    let section = vectors.sections.iter().find(|section| section.name == "ties").expect("there are ties");
    let (mut before, mut edges) = (LOG2_OF_ZERO_Q31, [0, 0]);
    for (number, (input, outcome)) in (1usize..).zip(&section.packets) {
        let control = u32::from(input.recipe.tags[0].1);
        let label = Activity::from_upper_bits(control >> 13 << 12 | control & 0xfff, 15);
        let is_above = before != LOG2_OF_ZERO_Q31 && (i64::from(label.units()) << 15) > before;
        if is_above {
            assert_eq!(outcome.verdict == 1, number % 2 == 1, "packet {number}");
            edges[number % 2] += 1;
        }
        before = outcome.threshold.cast_signed();
    }
    assert!(edges.iter().all(|&edges| edges >= 50), "{edges:?}");
}

/// Counts of a port's actions, one for each equation of CSFQ.
#[derive(Debug, Default)]
struct Seen {
    /// Packets without an estimate.
    without: u32,
    /// Starts and ends of an estimate.
    begun: u32,
    forgotten: u32,
    /// Changes of alpha by eq. (5), at the end of a window with A >= C. `taken` counts changes by eq. (6), with A < C.
    scaled: u32,
    taken: u32,
    /// Number of times that A rises to C or above. `ends` is the number of times that A falls below C.
    onsets: u32,
    ends: u32,
    /// Overflows that cut alpha, eq. (7), and overflows that do not, because the cuts are used up.
    cut: u32,
    uncut: u32,
    /// Accepted packets with label alpha, eq. (4).
    relabelled: u32,
    /// Maximum number of cuts in a row within a window.
    most_cuts: u32,
}

impl Seen {
    /// Counts the actions of the port. `full` is log2(S) if packets arrive at its capacity C.
    fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>, full: i64) -> Self {
        let none = LOG2_OF_ZERO_Q31;
        let (mut seen, mut before, mut was_full, mut cuts) = (Self::default(), none, false, 0);
        for outcome in outcomes {
            let alpha = outcome.threshold.cast_signed();
            let is_full = log2_q31(outcome.average) >= full;
            let is_cut = outcome.verdict == 2 && alpha != none && alpha == before - 31_137_589;
            seen.without += u32::from(alpha == none);
            seen.begun += u32::from(before == none && alpha != none);
            seen.forgotten += u32::from(before != none && alpha == none);
            let is_set = before != none && alpha != none && alpha != before && outcome.verdict != 2;
            seen.scaled += u32::from(is_set && is_full);
            seen.taken += u32::from(is_set && !is_full);
            seen.onsets += u32::from(is_full && !was_full);
            seen.ends += u32::from(!is_full && was_full);
            seen.cut += u32::from(is_cut);
            seen.uncut += u32::from(outcome.verdict == 2 && alpha != none && alpha == before);
            let is_alpha = outcome.activity == Activity::from_q31(before).biased();
            seen.relabelled += u32::from(outcome.verdict == 0 && outcome.flags & 1 == 1 && before != none && is_alpha);
            cuts = if is_cut {
                cuts + 1
            } else if is_set {
                0
            } else {
                cuts
            };
            seen.most_cuts = seen.most_cuts.max(cuts);
            (before, was_full) = (alpha, is_full);
        }
        seen
    }
}

#[test]
fn vectors_of_csfq_cover_the_estimator() {
    // If packets arrive at rate C, S is C * K_alpha = 50 Mbit/s * 5 ms, in bytes and Q16: log2(50e6 / 8 * 0.005 * 2^16)
    // = 30.93.
    let full = (libm::log2(50e6 / 8.0 * 0.005 * 65_536.0) * (1u64 << 31) as f64) as i64;
    let (vectors, setups) = (vectors(Scheme::Csfq), Scheme::Csfq.setups());
    let mut switch = Switch::new(&setups[0]);
    let packets = vectors.sections[0].packets.iter();
    let at_port = packets.filter(|(input, _)| {
        switch.process(input);
        switch.judged_at == Some(6)
    });
    let seen = Seen::of(at_port.map(|packet| &packet.1), full);
    println!("{seen:?}");
    let Seen { without, begun, forgotten, scaled, taken, onsets, ends, cut, uncut, relabelled, most_cuts } = seen;
    for (what, count) in [("without an estimate", without), ("cuts", cut), ("uncut", uncut), ("relabelled", relabelled)]
    {
        assert!(count >= 50, "{what}: {count}");
    }
    let changes = [
        ("begun", begun),
        ("forgotten", forgotten),
        ("scaled", scaled),
        ("taken", taken),
        ("onsets", onsets),
        ("ends", ends),
    ];
    for (what, count) in changes {
        assert!(count >= 10, "{what}: {count}");
    }
    assert!(most_cuts <= FixedCsfq::CUTS, "{most_cuts}");
}
