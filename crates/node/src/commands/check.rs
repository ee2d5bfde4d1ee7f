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
    /// Reads the configuration, if one is given, and reports. What the machine lacks is no error.
    pub fn run(self) -> Outcome {
        if let Some(path) = &self.config {
            let config = NodeConfig::load(path)?;
            println!("{:<24} ok: {} ports, {} users", "configuration", config.ports.len(), config.users.len());
        }
        kernel();
        Ok(())
    }
}

#[cfg(not(feature = "ebpf"))]
fn kernel() {
    println!("{:<24} missing: built without the feature ebpf", "kernel data plane");
}

/// Tries what the kernel data plane needs, one thing after another.
#[cfg(feature = "ebpf")]
fn kernel() {
    for (what, problem) in fairlane_node::kernel::check() {
        match problem {
            None => println!("{what:<24} ok"),
            Some(problem) => println!("{what:<24} missing: {problem}"),
        }
    }
}
