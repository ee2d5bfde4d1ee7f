//! Type of a metric. [`catalogue`](super::catalogue::catalogue) returns all metrics.

use serde::Serialize;

/// A number in the results of a run, with its descriptions for people, tables and schemas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Name in columns, sweeps and expectations, where a dot and the name of a group or link may follow it.
    pub name: String,
    /// Scope: `run`, `group`, `user`, `flow`, `link`, `application`, and so on.
    pub scope: &'static str,
    /// Path of the number in the record of its scope, field by field.
    pub path: Vec<&'static str>,
    /// Unit; `1` for a ratio, empty for a count.
    pub unit: &'static str,
    /// Unit in tables for people.
    pub shown_as: &'static str,
    /// `high` or `low`, whichever direction is better; empty if none is.
    pub better: &'static str,
    /// Heading of a column, without the unit.
    pub heading: String,
    /// Unit in words; for a share, also the quantity that it is a share of.
    pub title: String,
    /// Symbol in the paper or in common use; empty if there is none.
    pub symbol: &'static str,
    /// Paper or standard that defines the metric; empty if there is none.
    pub source: &'static str,
    /// Field that distinguishes several values: the traffic class of a delay, the reason of a drop.
    pub by: &'static str,
    /// Tables and commands that show the metric, see [`PLACES`].
    pub shown: Vec<&'static str>,
    /// Sentence about the nested record that contains the metric; empty if the record is not nested.
    pub about: String,
    /// One sentence.
    pub doc: String,
}

/// Tables and commands that can show a metric.
pub const PLACES: [&str; 16] = [
    "columns",      // columns of `runs`, used by sweeps and expectations
    "summary",      // means with intervals in the result document
    "groups",       // a table of the terminal, notebooks and pages, like those that follow
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
    "drawn",        // the figure of schemes on a page
    "criterion",    // `fairlane evaluate`
    "objective",    // `fairlane search designer`
];
