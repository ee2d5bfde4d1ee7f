//! The subcommands.

#[cfg(feature = "ebpf")]
mod attach;
mod check;
#[cfg(feature = "ebpf")]
mod detach;
#[cfg(feature = "ebpf")]
mod export;
mod forward;
mod p4_commands;
mod send;
mod sink;
#[cfg(feature = "ebpf")]
mod status;
#[cfg(feature = "ebpf")]
mod top;

use clap::Subcommand;
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

/// All subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Say what this machine can do, and check a configuration
    Check(check::Check),
    /// Attach to the ports of a configuration; again, load its changes without losing a packet
    #[cfg(feature = "ebpf")]
    Attach(attach::Attach),
    /// Leave the machine as it was before attach
    #[cfg(feature = "ebpf")]
    Detach(detach::Detach),
    /// Show what is attached and what it has done
    #[cfg(feature = "ebpf")]
    Status(status::Status),
    /// Watch users and ports, again and again
    #[cfg(feature = "ebpf")]
    Top(top::Top),
    /// Offer all counters to Prometheus, on the loopback interface
    #[cfg(feature = "ebpf")]
    Export(export::Export),
    /// Bridge interfaces in user space: links with rate, delay, buffer and scheme of choice
    Forward(forward::Forward),
    /// Write the table entries of a configuration for a P4 switch with p4/abc.p4 or p4/csfq.p4
    P4Commands(p4_commands::P4Commands),
    /// Send UDP packets at constant or exponential gaps
    Send(send::Send),
    /// Count what `send` sends
    Sink(sink::Sink),
}

impl Command {
    /// Runs it.
    pub fn run(self) -> Outcome {
        match self {
            Self::Check(command) => command.run(),
            #[cfg(feature = "ebpf")]
            Self::Attach(command) => command.run(),
            #[cfg(feature = "ebpf")]
            Self::Detach(command) => command.run(),
            #[cfg(feature = "ebpf")]
            Self::Status(command) => command.run(),
            #[cfg(feature = "ebpf")]
            Self::Top(command) => command.run(),
            #[cfg(feature = "ebpf")]
            Self::Export(command) => command.run(),
            Self::Forward(command) => command.run(),
            Self::P4Commands(command) => command.run(),
            Self::Send(command) => command.run(),
            Self::Sink(command) => command.run(),
        }
    }
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
