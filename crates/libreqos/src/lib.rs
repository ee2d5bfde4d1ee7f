//! Strict parser for LibreQoS's files: `network.json`, a tree of nodes, and `ShapedDevices.csv`, the circuits in this
//! tree.
//!
//! Simulator and node must parse the same files identically. The parser is a separate crate because neither depends on
//! the other, and because the schemes crate, on which both depend, does no I/O and knows no file format. The module
//! docs of [`Circuits`] list the files that this parser rejects and LibreQoS interprets by guessing.

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
/// The range of [`RATES`], for messages.
const A_RATE: &str = "a rate in Mbit/s from 0.001 to 10000000";

/// Converts a rate from Mbit/s to bit/s if it is in range.
fn bps(mbps: f64) -> Option<u64> {
    Some((mbps * 1e6).round()).filter(|rate| RATES.contains(rate)).map(|rate| rate as u64)
}

/// Shortens a text of a file, without control characters, for a one-line message.
fn shown(text: &str) -> String {
    shortened(&text.replace(char::is_control, " "))
}

/// Returns the names in quotes, separated by commas.
fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{}\"", shown(name))).collect::<Vec<_>>().join(", ")
}
