//! Entry point of `fairlane-node`. Each subcommand is a file in `commands/`.

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
    /// Check a configuration and the kernel's features
    Check(check::Check),
    /// Attach to the ports of a configuration, or reload it without losing a packet
    #[cfg(feature = "ebpf")]
    Attach(attach::Attach),
    /// Detach and restore the machine's state
    #[cfg(feature = "ebpf")]
    Detach(detach::Detach),
    /// Show attached ports, users and counters
    #[cfg(feature = "ebpf")]
    Status(status::Status),
    /// Watch users and ports live
    #[cfg(feature = "ebpf")]
    Top(top::Top),
    /// Export counters to Prometheus, on the loopback interface
    #[cfg(feature = "ebpf")]
    Export(export::Export),
    /// Add, change, remove, list or import subscribers while the node runs
    #[cfg(feature = "ebpf")]
    User(user::UserCommand),
    /// Add a subscriber for each session of RADIUS accounting
    #[cfg(feature = "ebpf")]
    Radius(radius::Radius),
    /// Bridge interfaces in user space, with configurable rate, delay, buffer and scheme
    Forward(forward::Forward),
    /// Write table entries for a P4 switch that runs planes/p4/abc.p4 or csfq.p4
    P4Commands(p4_commands::P4Commands),
    /// Send UDP packets with constant or exponential gaps
    Send(send::Send),
    /// Receive and count packets of `send`
    Sink(sink::Sink),
    /// Print the manual page, or write one for each command
    Man(man::Man),
    /// Print the completion script for a shell
    Completions(man::Completions),
}

impl Command {
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
        // The program that reads the output closed it early, as `head` does.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::complain_all("error", &*error);
            ExitCode::FAILURE
        }
    }
}
