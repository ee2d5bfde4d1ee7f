//! LibreQoS's files, read strictly: `network.json`, a tree of nodes, and `ShapedDevices.csv`, the circuits in it.
//!
//! Simulator and node must parse the same files identically. The parser is a separate crate because neither depends on
//! the other, and because the schemes, on which both depend, do no I/O and know no file format. The module docs of
//! [`Circuits`] list what it rejects where LibreQoS guesses.

mod circuits;
mod network;
mod table;
mod text;

pub use circuits::{Circuit, Circuits, Column, Use, is_shaped_devices};
pub use network::{Network, Node};
pub use table::Table;
pub use text::decode;

use fairlane_schemes::base::config::shortened;

/// Allowed rates in bit/s.
const RATES: std::ops::RangeInclusive<f64> = 1e3..=1e13;
/// The same in a message.
const A_RATE: &str = "a rate in Mbit/s from 0.001 to 10000000";

/// Converts a rate from Mbit/s to bit/s if it is in range.
fn bps(mbps: f64) -> Option<u64> {
    Some((mbps * 1e6).round()).filter(|rate| RATES.contains(rate)).map(|rate| rate as u64)
}

/// A text of a file in a message of one line.
fn shown(text: &str) -> String {
    shortened(&text.replace(char::is_control, " "))
}

/// Names in quotes, separated by commas.
fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{}\"", shown(name))).collect::<Vec<_>>().join(", ")
}
