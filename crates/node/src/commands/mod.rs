//! The subcommands, and what they share.

#[cfg(feature = "ebpf")]
pub mod attach;
pub mod check;
#[cfg(feature = "ebpf")]
pub mod detach;
#[cfg(feature = "ebpf")]
pub mod export;
pub mod forward;
pub mod p4_commands;
pub mod send;
pub mod sink;
#[cfg(feature = "ebpf")]
pub mod status;
#[cfg(feature = "ebpf")]
pub mod top;

use fairlane_schemes::base::config::read_value;
use fairlane_schemes::base::units::Time;
use serde_json::Value as Json;
use std::error::Error;
use std::io::Write;

/// What a subcommand returns: a mistake is one line for the user.
pub type Outcome = Result<(), Box<dyn Error>>;

/// The state of what is attached, or one line that says that nothing is.
#[cfg(feature = "ebpf")]
fn attached(pin_path: &std::path::Path) -> Result<fairlane_node::kernel::Snapshot, Box<dyn Error>> {
    let snapshot = fairlane_node::kernel::Snapshot::read(pin_path)?;
    snapshot.ok_or_else(|| format!("nothing is attached: no pins in {}", pin_path.display()).into())
}

/// Reads a time such as "10 s".
fn duration(text: &str) -> Result<Time, String> {
    read_value("time", &Json::from(text), None).map_err(|error| error.problem)
}

/// Prints a report. A reader that has gone away is no reason to stop.
fn print_line(report: &Json) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{report}").and_then(|()| out.flush());
}
