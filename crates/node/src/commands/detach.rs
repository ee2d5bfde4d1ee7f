//! `detach`: the machine is as it was before `attach`.

use super::{Outcome, counted, print_out};
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel;
use std::path::{Path, PathBuf};

/// Arguments of `detach`.
#[derive(Args)]
pub struct Detach {
    /// The configuration, of which only `node.pin_path` is used
    config: PathBuf,
}

impl Detach {
    /// Detaches.
    pub fn run(self) -> Outcome {
        let config = NodeConfig::load(&self.config)?;
        let ports = kernel::detach(Path::new(&config.node.pin_path))?;
        Ok(print_out(&format!("detached: {}\n", counted(ports, "port")))?)
    }
}
