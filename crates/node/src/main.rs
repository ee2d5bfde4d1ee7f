//! `fairlane-node`: one subcommand a file in `commands/`.

mod commands;

use clap::{CommandFactory, Parser, Subcommand};
use commands::{Outcome, check, forward, man, p4_commands, send, sink};
#[cfg(feature = "ebpf")]
use commands::{attach, detach, export, radius, status, top, user};
use std::process::ExitCode;

/// Shares links fairly among users, on live Linux.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// All subcommands.
#[derive(Subcommand)]
enum Command {
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
    /// Add, change, remove, list or import subscribers while the node runs
    #[cfg(feature = "ebpf")]
    User(user::UserCommand),
    /// Listen to RADIUS accounting: sessions become subscribers
    #[cfg(feature = "ebpf")]
    Radius(radius::Radius),
    /// Bridge interfaces in user space: links with rate, delay, buffer and scheme of choice
    Forward(forward::Forward),
    /// Write the table entries of a configuration for a P4 switch with planes/p4/abc.p4 or planes/p4/csfq.p4
    P4Commands(p4_commands::P4Commands),
    /// Send UDP packets at constant or exponential gaps
    Send(send::Send),
    /// Count what `send` sends
    Sink(sink::Sink),
    /// Print the manual page, or write those of all commands
    Man(man::Man),
    /// Print completions for a shell
    Completions(man::Completions),
}

impl Command {
    /// Runs it.
    fn run(self) -> Outcome {
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
            #[cfg(feature = "ebpf")]
            Self::User(command) => command.run(),
            #[cfg(feature = "ebpf")]
            Self::Radius(command) => command.run(),
            Self::Forward(command) => command.run(),
            Self::P4Commands(command) => command.run(),
            Self::Send(command) => command.run(),
            Self::Sink(command) => command.run(),
            Self::Man(command) => command.run(Cli::command()),
            Self::Completions(command) => command.run(Cli::command()),
        }
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(|error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read what was printed has seen enough.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::complain_all("error", &*error);
            ExitCode::FAILURE
        }
    }
}
