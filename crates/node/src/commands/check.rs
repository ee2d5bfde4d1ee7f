//! `check`: is the configuration right, and what can this machine do?

use super::Outcome;
use clap::Args;
use fairlane_node::config::NodeConfig;
use std::path::PathBuf;

/// Arguments of `check`.
#[derive(Args)]
pub struct Check {
    /// The configuration to check
    config: Option<PathBuf>,
}

impl Check {
    /// Reads the configuration, if one is given, and reports.
    pub fn run(self) -> Outcome {
        if let Some(path) = &self.config {
            let config = NodeConfig::load(path)?;
            println!("configuration: {} ports, {} users", config.ports.len(), config.users.len());
        }
        println!(
            "kernel programs: {}",
            if cfg!(feature = "ebpf") { "built in" } else { "not built in (feature ebpf)" }
        );
        Ok(())
    }
}
