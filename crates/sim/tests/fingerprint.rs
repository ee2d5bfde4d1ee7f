//! Tests which changes affect the fingerprint of the build.

#[path = "../build/fingerprint.rs"]
mod build;

use self::build::Fingerprint;

const SOURCE: &str = r#"
//! Head.

/// Doubles, "and" /* more */.
pub fn double(x: u32) -> u32 {
    x * 2 // not 3
}

#[cfg(test)]
mod tests {
    #[test]
    fn doubles() {}
}
"#;

fn of(source: &str) -> String {
    let mut fingerprint = Fingerprint::new();
    fingerprint.source("file.rs", source).expect("it is Rust");
    fingerprint.hex()
}

fn changed(from: &str, to: &str) -> String {
    assert!(SOURCE.contains(from));
    of(&SOURCE.replacen(from, to, 1))
}

#[test]
fn comments_layout_and_tests_do_not_change_it() {
    for (from, to) in [
        ("//! Head.", "//! Another head,\n//! longer."),
        ("/// Doubles", "/// Gives twice"),
        ("// not 3", "/* nor 4 */"),
        ("    x * 2", "\tx\n*2"),
        ("fn doubles() {}", "fn halves() { panic!() }"),
        ("mod tests {\n    #[test]\n    fn doubles() {}\n}", "mod tests;"),
    ] {
        assert_eq!(changed(from, to), of(SOURCE), "{from} -> {to}");
    }
}

#[test]
fn any_token_changes_it() {
    for (from, to) in [
        ("x * 2", "x * 3"),
        ("x * 2", "x + 2"),
        ("x * 2", "(x * 2)"),
        ("double", "twice"),
        ("u32)", "u64)"),
        ("#[cfg(test)]", "#[cfg(unix)]"),
        ("#[cfg(test)]\n", ""),
        ("#[cfg(test)]\n", "#[cfg(test)] struct Only;\n"),
    ] {
        assert_ne!(changed(from, to), of(SOURCE), "{from} -> {to}");
    }
}

#[test]
fn the_border_between_files_counts() {
    let two = |first: &str, second: &str| {
        let mut fingerprint = Fingerprint::new();
        fingerprint.source("a.rs", first).expect("it is Rust");
        fingerprint.text("Cargo.lock", second);
        fingerprint.hex()
    };
    assert_ne!(two("x y", "z"), two("x", "y z"));
    assert_ne!(two("x", "1"), two("x", "2"));
}

#[test]
fn what_is_not_rust_is_refused_with_the_file() {
    assert!(Fingerprint::new().source("file.rs", "fn (").expect_err("a parenthesis is open").starts_with("file.rs: "));
}
