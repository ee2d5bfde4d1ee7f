//! The TOML file of a configuration, and the lines of its errors.

use fairlane_schemes::base::config::ConfigError;
use serde_json::Value as Json;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum number of errors reported for a file.
const MOST_TOLD: usize = 20;

/// Errors that make a configuration unusable.
#[derive(Debug)]
pub struct LoadError {
    path: PathBuf,
    /// Each error with its line, from 1.
    problems: Vec<(Option<usize>, String)>,
}

impl LoadError {
    /// Returns one line for each of the first errors, and one with the number of further errors.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let path = self.path.display();
        let line = |(line, problem): &(Option<usize>, String)| match line {
            Some(line) => format!("{path}: line {line}: {problem}"),
            None => format!("{path}: {problem}"),
        };
        let mut lines: Vec<String> = self.problems.iter().take(MOST_TOLD).map(line).collect();
        if let Some(rest @ 1..) = self.problems.len().checked_sub(MOST_TOLD) {
            lines.push(format!("{path}: {rest} more mistakes"));
        }
        lines
    }
}

impl Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("; "))
    }
}

impl std::error::Error for LoadError {}

/// Message of a system error, without the error number.
#[must_use]
pub fn in_words(error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::NotFound {
        return "there is no such file".into();
    }
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().into()
}

/// A TOML file.
#[derive(Debug)]
pub struct TomlFile {
    path: PathBuf,
    text: String,
    /// Tables of the file.
    pub json: Json,
}

impl TomlFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not UTF-8, or is not TOML.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let wrong = |problems| LoadError { path: path.into(), problems };
        let bytes = std::fs::read(path).map_err(|error| wrong(vec![(None, in_words(&error))]))?;
        let text = String::from_utf8(bytes).map_err(|error| wrong(vec![not_utf8(&error)]))?;
        match toml::from_str(&text) {
            Ok(json) => Ok(Self { path: path.into(), text, json }),
            Err(first) => Err(wrong(mistakes(&text, first))),
        }
    }

    /// Converts errors in values of the file to a `LoadError` with their lines.
    #[must_use]
    pub fn wrong(&self, errors: &[ConfigError]) -> LoadError {
        let table = DeTable::parse(&self.text).ok();
        let at = |error: &ConfigError| {
            let start = table.as_ref().and_then(|table| start_of(table.get_ref(), &error.key));
            (start.map(|start| line_at(self.text.as_bytes(), start)), error.to_string())
        };
        let mut problems: Vec<_> = errors.iter().map(at).collect();
        problems.sort_by_key(|(line, _)| *line);
        LoadError { path: self.path.clone(), problems }
    }
}

/// Line number of a byte, counted from 1.
fn line_at(text: &[u8], byte: usize) -> usize {
    text[..byte.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn not_utf8(error: &std::string::FromUtf8Error) -> (Option<usize>, String) {
    let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
    let problem = format!("byte {at} of the file, 0x{:02x}, is not UTF-8; save the file as UTF-8", bytes[at]);
    (Some(line_at(bytes, at)), problem)
}

/// Syntax errors of a TOML text, at most one per line, since later errors in a line are often caused by the first.
fn mistakes(text: &str, first: toml::de::Error) -> Vec<(Option<usize>, String)> {
    let (_, mut errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        // The text is valid TOML, but a value is out of range for every type.
        errors.push(first);
    }
    let at = |error: &toml::de::Error| {
        let line = line_at(text.as_bytes(), error.span().map_or(0, |span| span.start));
        (Some(line), error.message().replace('\n', " "))
    };
    let mut problems: Vec<_> = errors.iter().map(at).collect();
    problems.sort_by_key(|(line, _)| *line);
    problems.dedup_by_key(|(line, _)| *line);
    problems
}

/// Returns the position of the first byte of the value at a key such as `ports[1].queue.q_min`. If there is no value,
/// returns the position of the innermost existing table.
fn start_of(root: &DeTable<'_>, key: &str) -> Option<usize> {
    let (mut table, mut start) = (root, None);
    for step in key.split('.') {
        let (name, index) = step.strip_suffix(']').and_then(|step| step.split_once('[')).unwrap_or((step, ""));
        let Some(mut value) = table.get(name) else { break };
        if let Some(one) = index.parse::<usize>().ok().and_then(|index| value.get_ref().get(index)) {
            value = one;
        }
        start = Some(Spanned::span(value).start);
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::super::NodeConfig;

    /// Returns the lines of the error for a file with these bytes, without the file's path.
    fn told(name: &str, bytes: &[u8]) -> Vec<String> {
        let path = std::env::temp_dir().join(format!("fairlane-file-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let error = NodeConfig::load(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        let prefix = format!("{}: ", path.display());
        error.lines().iter().map(|line| line.strip_prefix(&prefix).unwrap().to_string()).collect()
    }

    const WRONG: &str = "[node]\npin_path = \"x\"\n\n[[users]]\nname = \"a\"\n\
                         prefix = \"10.0.0.300\"\n[[users]]\nname = \"b\"\nvlan = 1\n\
        colour = \"red\"\n[[users]]\nname = \"c\"\n[[ports]]\ninterface = \"a\"\n[ports.queue]\nscheme = \"fifo\"\n";

    #[test]
    fn all_tables_with_mistakes_are_named_with_their_lines_whatever_the_line_ends() {
        let expected = [
            "line 2: node.pin_path: \"x\" is not an absolute path",
            "line 6: users[0].prefix: \"10.0.0.300\" is not a prefix",
            "line 10: users[1].colour: unknown key",
            "line 11: users[2].prefix: missing",
            "line 16: ports[0].queue.scheme: \"fifo\" is not one of",
        ];
        for text in [WRONG.to_string(), WRONG.replace('\n', "\r\n")] {
            let told = told("all", text.as_bytes());
            assert!(
                told.len() == 5 && told.iter().zip(expected).all(|(line, start)| line.starts_with(start)),
                "{told:?}"
            );
        }
        let many = "[[users]]\nvlan = 0\n".repeat(50);
        let told = told("many", format!("{many}[[ports]]\ninterface = \"a\"\n").as_bytes());
        assert_eq!((told.len(), told[20].as_str()), (21, "30 more mistakes"));
    }

    #[test]
    fn what_is_not_toml_is_named_with_all_its_lines() {
        for end in ["\n", "\r\n"] {
            let text = "[node]\npin_path = \n\n[[ports]]\ninterface \"a\"\n[[ports]]\ninterface = \"b\" c\n";
            let lines: Vec<String> = told("syntax", text.replace('\n', end).as_bytes());
            let numbers: Vec<&str> = lines.iter().map(|line| line.split(':').next().unwrap()).collect();
            assert_eq!(numbers, ["line 2", "line 5", "line 7"], "{lines:?}");
        }
    }

    #[test]
    fn what_is_not_utf8_is_named_with_line_and_byte() {
        let told = told("latin", b"[node]\r\n# caf\xe9\r\n");
        assert_eq!(told, ["line 2: byte 13 of the file, 0xe9, is not UTF-8; save the file as UTF-8"]);
    }
}
