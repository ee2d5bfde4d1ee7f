//! The subcommands and their shared functions.

#[cfg(feature = "ebpf")]
pub mod attach;
pub mod check;
#[cfg(feature = "ebpf")]
pub mod detach;
#[cfg(feature = "ebpf")]
pub mod export;
#[cfg(feature = "ebpf")]
mod follow;
pub mod forward;
#[cfg(feature = "ebpf")]
mod http;
pub mod man;
pub mod p4_commands;
#[cfg(feature = "ebpf")]
pub mod radius;
pub mod send;
pub mod sink;
#[cfg(feature = "ebpf")]
pub mod status;
#[cfg(feature = "ebpf")]
pub mod top;
#[cfg(feature = "ebpf")]
pub mod user;
#[cfg(feature = "ebpf")]
mod with_subscribers;

use fairlane_node::config::{LoadError, printable};
use fairlane_node::subscribers::LoadSubscribersError;
use fairlane_schemes::base::config::read_value;
use fairlane_schemes::base::units::Time;
use serde_json::Value as Json;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};

/// Result of a subcommand; an error is one line for the user.
pub type Outcome = Result<(), Box<dyn Error>>;

/// Reads the state of the attached programs. Returns an error if nothing is attached.
#[cfg(feature = "ebpf")]
fn attached(pin_path: &std::path::Path) -> Result<fairlane_node::kernel::Snapshot, Box<dyn Error>> {
    there(pin_path, fairlane_node::kernel::Snapshot::read(pin_path)?)
}

/// Like [`attached`], but without users, so the time does not depend on their number.
#[cfg(feature = "ebpf")]
fn attached_without_users(pin_path: &std::path::Path) -> Result<fairlane_node::kernel::Snapshot, Box<dyn Error>> {
    there(pin_path, fairlane_node::kernel::Snapshot::without_users(pin_path)?)
}

#[cfg(feature = "ebpf")]
fn there<T>(pin_path: &std::path::Path, snapshot: Option<T>) -> Result<T, Box<dyn Error>> {
    snapshot.ok_or_else(|| format!("nothing is attached: no pins in {}", pin_path.display()).into())
}

/// Name of a user in a printed table, followed by the user's key if the two differ.
#[cfg(feature = "ebpf")]
fn label(names: &fairlane_node::names::Names, user: &fairlane_node::kernel::UserView) -> String {
    let (name, key) = (names.get(&user.key), user.key.to_string());
    if name == key { key } else { format!("{name} ({key})") }
}

/// Heading of the column of marked packets; empty if no port marks.
#[cfg(feature = "ebpf")]
fn marked_title(snapshot: &fairlane_node::kernel::Snapshot) -> String {
    if marks(snapshot) { format!(" {:>9}", "marked") } else { String::new() }
}

/// Cell of the column of marked packets: the number of packets that a port marked instead of dropping them.
#[cfg(feature = "ebpf")]
fn marked(snapshot: &fairlane_node::kernel::Snapshot, port: &fairlane_node::kernel::PortView) -> String {
    if marks(snapshot) { format!(" {:>9}", port.counts.marked) } else { String::new() }
}

#[cfg(feature = "ebpf")]
fn marks(snapshot: &fairlane_node::kernel::Snapshot) -> bool {
    snapshot.ports.iter().any(|port| port.record.marks_ecn != 0)
}

/// Ports of a configuration that are not attached because their interfaces do not exist.
#[cfg(feature = "ebpf")]
fn absent<'a>(
    config: &'a fairlane_node::config::NodeConfig,
    snapshot: &fairlane_node::kernel::Snapshot,
) -> Vec<&'a str> {
    let is_there = |name: &&str| snapshot.ports.iter().any(|port| port.interface == *name);
    config.ports.iter().map(|port| port.interface.as_str()).filter(|name| !is_there(name)).collect()
}

/// A number with its noun: `1 port`, `2 ports`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Reads a time such as "10 s".
fn duration(text: &str) -> Result<Time, String> {
    read_value("time", &Json::from(text), None).map_err(|error| error.problem)
}

/// Prints to standard output, with control characters escaped. Returns an error if the output is closed. `main` then
/// exits without a message.
fn print_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable(text).as_bytes()).and_then(|()| out.flush())
}

fn warn(problem: &dyn Display) {
    complain("warning", problem);
}

/// Prints a problem on one line.
pub(crate) fn complain(how: &str, problem: &dyn Display) {
    let problem = problem.to_string().replace('\n', "\\n");
    eprintln!("{how}: {}", printable(&problem));
}

/// Prints an error. For a configuration with several errors, prints each on a separate line.
pub(crate) fn complain_all(how: &str, error: &(dyn Error + 'static)) {
    let of_config = match error.downcast_ref() {
        Some(LoadSubscribersError::Config(error)) => Some(error),
        _ => error.downcast_ref::<LoadError>(),
    };
    match of_config {
        Some(mistakes) => mistakes.lines().iter().for_each(|line| complain(how, line)),
        None => complain(how, &error),
    }
}

/// Prints a report. A closed output is ignored.
fn print_line(report: &Json) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{}", printable(&report.to_string())).and_then(|()| out.flush());
}
