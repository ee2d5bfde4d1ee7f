//! The subcommands.

#[cfg(feature = "ebpf")]
mod attach;
mod check;
#[cfg(feature = "ebpf")]
mod detach;
#[cfg(feature = "ebpf")]
mod status;

use clap::Subcommand;
use std::error::Error;

/// What a subcommand returns: a mistake is one line for the user.
pub type Outcome = Result<(), Box<dyn Error>>;

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
        }
    }
}
