//! Notes: what a reader of results ought to know about a configuration that is valid, such as a threshold that is never met.
//!
//! A note follows from the configuration alone. The same configuration has the same notes wherever it is used: results
//! carry them, and tables and reports show them.
//!
//! A scheme adds one about its parameters in [`SchemeSpec::notes`](crate::scheme::SchemeSpec::notes):
//!
//! ```ignore
//! fn notes(params: &Params, buffer: &BufferParams, _rate: BitRate, notes: &mut Notes) {
//!     if params.min_th.magnitude() > buffer.limit.magnitude() {
//!         notes.add("min_th", format!("\"{}\" is above the limit: nothing is dropped early", params.min_th));
//!     }
//! }
//! ```
//!
//! A note about the scenario as a whole belongs in `Scenario::notes` of the simulator.

use serde::Serialize;
use std::fmt;

/// Something to know about a valid configuration, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Path of the key that it is about, such as `queue.min_th`.
    pub key: String,
    /// What to know: the value, what follows from it, and what would avoid that.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.text)
    }
}

/// Notes about one table of a configuration.
#[derive(Clone, Debug)]
pub struct Notes {
    path: String,
    found: Vec<Note>,
}

impl Notes {
    /// None yet, of the table at `path`.
    #[must_use]
    pub fn about(path: impl Into<String>) -> Self {
        Self { path: path.into(), found: Vec::new() }
    }

    /// Adds what to know about the key `name` of the table.
    pub fn add(&mut self, name: &str, text: impl Into<String>) {
        self.found.push(Note { key: format!("{}.{name}", self.path), text: text.into() });
    }

    /// The notes, in the order in which they were added.
    #[must_use]
    pub fn into_vec(self) -> Vec<Note> {
        self.found
    }
}
