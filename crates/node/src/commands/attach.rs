//! `attach`: the kernel does what the configuration says; again, it does what the new configuration says.

use super::Outcome;
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel;
use std::path::PathBuf;

/// Arguments of `attach`.
#[derive(Args)]
pub struct Attach {
    /// The configuration
    config: PathBuf,
}

impl Attach {
    /// Attaches or reloads.
    pub fn run(self) -> Outcome {
        let config = NodeConfig::load(&self.config)?;
        let was_attached = kernel::attach(&config)?;
        println!("{}: {} ports", if was_attached { "reloaded" } else { "attached" }, config.ports.len());
        Ok(())
    }
}
