//! The subcommands.

mod check;

use clap::Subcommand;
use std::error::Error;

/// What a subcommand returns: a mistake is one line for the user.
pub type Outcome = Result<(), Box<dyn Error>>;

/// All subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Say what this machine can do, and check a configuration
    Check(check::Check),
}

impl Command {
    /// Runs it.
    pub fn run(self) -> Outcome {
        match self {
            Self::Check(command) => command.run(),
        }
    }
}
