//! `fairlane-node`: one subcommand a file in `commands/`.

mod commands;

use clap::Parser;
use commands::Command;
use std::process::ExitCode;

/// Shares links fairly among users, on live Linux.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
