//! The P4 programs: their generated files, their golden vectors, and the library that replays them bit for bit.

#[allow(missing_docs)]
mod p4;

use fairlane_schemes::fixed::p4::files;
use p4::file::{Input, Vectors};
use p4::program;
use p4::scheme::Scheme;
use p4::switch::{Outcome, Switch};
use p4::train::train;
use std::fs;

/// What some packets of the vectors must be.
type Condition<'a> = dyn Fn(&Input, &Outcome) -> bool + 'a;

fn vectors(scheme: Scheme) -> Vectors {
    let text = fs::read_to_string(program::project(&scheme.vectors())).expect("the vectors are there");
    Vectors::read(scheme, &text).expect("the vectors are well formed")
}

#[test]
fn written_tables_are_those_of_the_library() {
    for (name, text) in files() {
        let written = fs::read_to_string(program::project("p4/generated").join(name)).unwrap_or_default();
        assert!(written == text, "p4/generated/{name} is out of date: run make p4-tables");
    }
}

#[test]
fn the_programs_compile_without_a_warning() {
    let Some(p4c) = program::find("p4c-bm2-ss", "FAIRLANE_P4C") else {
        println!("skipped: p4c-bm2-ss is neither on the PATH nor named by FAIRLANE_P4C");
        return;
    };
    for scheme in Scheme::ALL {
        let json = std::env::temp_dir().join(format!("fairlane-p4-{}-{}.json", scheme.name(), std::process::id()));
        let compiled = program::compile(&p4c, &scheme.program(), &[], &json);
        let _ = fs::remove_file(&json);
        compiled.unwrap();
    }
}

#[test]
fn vectors_are_of_these_programs() {
    for scheme in Scheme::ALL {
        let program = scheme.program();
        let hash = program::hash(&program).expect("the program is there");
        assert_eq!(vectors(scheme).program, hash, "p4/{program} has changed since its vectors: run make p4-vectors");
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

/// A label that a host wrote, at a port that is not trusted.
fn is_forged(input: &Input) -> bool {
    input.ingress_port < 3 && input.recipe.tags.first().is_some_and(|tag| tag.0 == 0x88a8)
}

#[test]
fn vectors_cover_what_they_are_to_cover() {
    let most = (1 << 22) - 1;
    let cases: [(&str, &Condition<'_>); 10] = [
        ("expedited, accepted", &|_, out| out.verdict == 0 && out.flags & 6 == 6),
        ("expedited, dropped", &|_, out| out.verdict == 1 && out.flags & 6 == 6),
        ("queue of their own", &|_, out| out.priority == 1),
        ("without a label, judged", &|_, out| out.flags & 5 == 4),
        // A tag of zeros is the middle of 128 labels.
        ("lowest label of a tag", &|_, out| out.flags & 1 == 1 && out.activity == 64),
        ("highest label", &|_, out| out.activity == most),
        ("flooded", &|_, out| out.flags & 8 == 8),
        ("forged and accepted", &|input, out| is_forged(input) && out.verdict == 0),
        ("forged and refused", &|input, out| input.ingress_port < 3 && out.verdict == 3),
        ("no IP", &|input, out| input.recipe.ethertype.is_some() && out.verdict < 2),
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
