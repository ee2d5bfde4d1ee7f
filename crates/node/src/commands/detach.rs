//! `detach`: restores the state of the machine before `attach`.

use super::{Outcome, complain, counted, print_out, warn};
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel::{self, KernelError, Leaving};
use std::path::{Path, PathBuf};

/// Exit code if detaching would lose labelled packets. The package's removal script then fails.
const LABELS_COME_IN: i32 = 3;

/// Arguments of `detach`.
#[derive(Args)]
pub struct Detach {
    /// Configuration file, of which only `node.pin_path` is used
    config: PathBuf,
    /// Do not wait until the far ends of links stop writing labels, and do not fail (exit code 3) if they continue:
    /// packets with labels are lost
    #[arg(long)]
    now: bool,
}

impl Detach {
    /// Detaches.
    pub fn run(self) -> Outcome {
        let config = NodeConfig::load(&self.config)?;
        let tell = |port: &str| {
            warn(&format!(
                "{port}: asking the far end to stop writing labels before detaching; this takes some seconds"
            ));
        };
        let leaving = if self.now { Leaving::AtOnce } else { Leaving::Quietly(&tell) };
        let ports = match kernel::detach(Path::new(&config.node.pin_path), leaving) {
            Err(error @ KernelError::LabelsComeIn(_)) => {
                complain("error", &error);
                std::process::exit(LABELS_COME_IN);
            }
            detached => detached?,
        };
        Ok(print_out(&format!("detached: {}\n", counted(ports, "port")))?)
    }
}
