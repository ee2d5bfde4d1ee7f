//! Tests that every scheme reproduces its golden vector.

use fairlane_schemes::registry::schemes::Scheme;
use fairlane_schemes::testing::vectors::vector;
use std::fs;
use std::path::Path;

#[test]
fn every_scheme_repeats_its_golden_vector() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    for &scheme in Scheme::ALL {
        let file = folder.join(scheme.name()).with_extension("txt");
        let golden = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let made = vector(scheme);
        let first_difference = golden.lines().zip(made.lines()).enumerate().find(|(_, (golden, made))| golden != made);
        if let Some((line, (golden, made))) = first_difference {
            panic!(
                "{} line {}: golden `{golden}`, now `{made}`; `make vectors` if it is meant",
                scheme.name(),
                line + 1
            );
        }
        assert_eq!(golden.lines().count(), made.lines().count(), "{}", scheme.name());
    }
}

#[test]
fn every_vector_belongs_to_a_scheme() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue; // other host, see tests/vectors/p4
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(Scheme::ALL.iter().any(|scheme| scheme.name() == name), "{name}");
    }
}
