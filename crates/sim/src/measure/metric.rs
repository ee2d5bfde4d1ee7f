//! Type of a metric. [`catalogue`](super::catalogue::catalogue) returns all metrics.

use serde::Serialize;

/// A number of a run, for people, tables and schemas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Name, which columns, sweeps and expectations use; a group or link follows it after a dot.
    pub name: String,
    /// Scope: `run`, `group`, `user`, `flow`, `link`, `application`, and so on.
    pub scope: &'static str,
    /// Path of the number in the record of its scope, field by field.
    pub path: Vec<&'static str>,
    /// Unit; `1` for a ratio, empty for a count.
    pub unit: &'static str,
    /// Unit in tables for people.
    pub shown_as: &'static str,
    /// `high` or `low` if one of them is better, else empty.
    pub better: &'static str,
    /// Heading of a column, without the unit.
    pub heading: String,
    /// Unit in words, with the reference of a share.
    pub title: String,
    /// Symbol of the field or the paper, or an empty string.
    pub symbol: &'static str,
    /// Paper or standard that it is from, or an empty string.
    pub source: &'static str,
    /// Field that distinguishes several values: the traffic class of a delay, the reason of a drop.
    pub by: &'static str,
    /// Tables and commands that have it, see [`PLACES`].
    pub shown: Vec<&'static str>,
    /// Sentence about the record that holds it, if that record is a part of its scope's record.
    pub about: String,
    /// One sentence.
    pub doc: String,
}

/// Tables and commands that can have a metric.
pub const PLACES: [&str; 16] = [
    "columns",      // columns of `runs`, which sweeps and expectations name
    "summary",      // means with intervals in the result document
    "groups",       // a table of the terminal, notebooks and pages, as those that follow
    "shares",       //
    "paths",        //
    "transfers",    //
    "applications", //
    "links",        //
    "delays",       //
    "drops",        //
    "overview",     // many queues in one table
    "lab",          // planes side by side
    "report",       // the first tables of a page
    "drawn",        // the figure of schemes there
    "criterion",    // `fairlane evaluate`
    "objective",    // `fairlane search designer`
];
