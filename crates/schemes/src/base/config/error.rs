//! Errors in a configuration, and the values in their messages.

use serde_json::Value as Json;

/// An error in a configuration, as one line: key, value, allowed values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// Path of the key, such as `groups[0].sources[1].rate`.
    pub key: String,
    /// The problem, in words.
    pub problem: String,
}

impl ConfigError {
    /// Creates an error at `key`.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into() }
    }
}

/// Formats a value for a message.
pub(super) fn shown(value: &Json) -> String {
    shortened(&value.to_string())
}

/// Formats a text for a message and omits its middle if it is very long.
#[must_use]
pub fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let length = text.chars().count();
    if length <= MOST {
        return text.into();
    }
    let part = (MOST - 1) / 2;
    let (head, tail) = (text.chars().take(part), text.chars().skip(length - part));
    head.chain(['…']).chain(tail).collect()
}
