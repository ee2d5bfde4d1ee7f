//! `forward`: the user-space forwarder.

use super::{Outcome, duration, print_line};
use clap::Args;
use fairlane_node::forward::config::ForwardConfig;
use fairlane_node::forward::live;
use fairlane_schemes::units::Time;
use std::path::PathBuf;

/// Arguments of `forward`.
#[derive(Args)]
pub struct Forward {
    /// The configuration, such as examples/forward.toml
    config: PathBuf,
    /// Ends after this time, such as "10 s"; otherwise at SIGINT or SIGTERM
    #[arg(long, value_parser = duration)]
    time: Option<Time>,
}

impl Forward {
    /// Forwards; prints a line of JSON when it is ready, at every SIGUSR1 and at the end, the latter about the time since the one before.
    pub fn run(self) -> Outcome {
        let config = ForwardConfig::load(&self.config)?;
        live::run(&config, self.time, print_line)?;
        Ok(())
    }
}
