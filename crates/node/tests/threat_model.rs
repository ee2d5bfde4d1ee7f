//! Tests that every test named in the threat model of docs/security.md exists.

use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../docs/security.md");

/// Folders that may have the files that the page names, relative to this crate.
const FOLDERS: [&str; 3] = ["tests", "src", "../schemes/src"];

/// A test file, and phrases from the names of its tests. There are no phrases if the page refers to the whole file.
type Named<'a> = (&'a str, Vec<&'a str>);

/// Returns the tests that a page names: in the last column of tables of tests, and in parentheses.
fn named(page: &str) -> Vec<Named<'_>> {
    let mut all = in_parentheses(page);
    let mut has_tests = false;
    for line in page.lines() {
        let last = line.strip_suffix(" |").and_then(|row| row.rsplit(" | ").next()).unwrap_or_default();
        // A heading whose last cell is `test` begins a table of tests.
        has_tests = line.starts_with('|') && (has_tests || last == "test");
        if has_tests {
            all.extend(last.split(';').filter_map(|test| test.trim().strip_prefix('`')?.split_once('`')).map(of_file));
        }
    }
    all
}

fn in_parentheses(page: &str) -> Vec<Named<'_>> {
    let opened = page.split("(`").skip(1).filter_map(|text| text.split_once(')'));
    opened
        .filter_map(|(text, _)| text.split_once("` "))
        .filter(|(file, _)| file.ends_with(".rs"))
        .map(of_file)
        .collect()
}

fn of_file<'a>((file, words): (&'a str, &'a str)) -> Named<'a> {
    (file, words.split(',').map(str::trim).filter(|words| !words.is_empty()).collect())
}

fn missing(page: &str) -> Vec<String> {
    let of = |(file, all): Named<'_>| match path_of(file) {
        None => vec![format!("there is no {file}")],
        Some(path) => {
            let tests = tests_in(&fs::read_to_string(path).unwrap());
            let is_absent = |words: &&str| !tests.iter().any(|name| name.contains(&plain(words)));
            let absent = all.into_iter().filter(is_absent).map(|words| format!("{file} has no test \"{words}\""));
            let none = tests.is_empty().then(|| format!("{file} has no tests"));
            absent.chain(none).collect()
        }
    };
    named(page).into_iter().flat_map(of).collect()
}

/// Normalises a name on the page, which may have capitals or a line break.
fn plain(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn path_of(file: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    FOLDERS.iter().map(|folder| here.join(folder).join(file)).find(|path| path.exists())
}

/// Returns the names of the tests in a source file, with spaces instead of underscores. Lines may be indented, because
/// property tests are inside a macro call.
fn tests_in(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        if let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            names.extend(is_test.then(|| plain(&name.replace('_', " "))));
            is_test = false;
        } else {
            is_test |= line == "#[test]";
        }
    }
    names
}

#[test]
fn every_test_that_the_page_names_is_there() {
    // The page names one test per line of the tables, and more in the text.
    assert!(named(PAGE).len() > 50, "{:?}", named(PAGE));
    assert_eq!(missing(PAGE), Vec::<String>::new());
}

#[test]
fn a_name_that_is_nobodys_is_found() {
    for (before, after, told) in [
        ("`hostile.rs` fragments", "`hostile.rs` figments", "hostile.rs has no test \"figments\""),
        ("`hostile.rs` random", "`hostel.rs` random", "there is no hostel.rs"),
        (", mutated frames |", ", muted frames |", "carriers.rs has no test \"muted frames\""),
        ("(`live.rs` two at", "(`live.rs` three at", "live.rs has no test \"three at once\""),
    ] {
        assert!(PAGE.contains(before), "{before}");
        assert!(missing(&PAGE.replace(before, after)).contains(&told.to_string()), "{told}");
    }
}
