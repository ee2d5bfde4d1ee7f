//! `attach`: the kernel does what the configuration says; again, it does what the new configuration says.

use super::Outcome;
use clap::Args;
use fairlane_node::config::{Backlog, Egress, NodeConfig};
use fairlane_node::kernel;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::Command;

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
        for port in &config.ports {
            if port.params.egress != Egress::None && port.params.backlog == Backlog::Qdisc {
                warn_of_qdisc(&port.interface);
            }
        }
        Ok(())
    }
}

/// Qdiscs that keep no backlog of their own: the AQM would see an empty queue.
const WITHOUT_BACKLOG: [&str; 3] = ["noqueue", "mq", "pfifo_fast"];

/// Says so if the root qdisc of an interface keeps no backlog. Without `tc` nobody knows, and nothing is said.
fn warn_of_qdisc(interface: &str) {
    let Ok(output) = Command::new("tc").args(["-j", "qdisc", "show", "dev", interface, "root"]).output() else {
        return;
    };
    let qdiscs: Json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if let Some(kind) = qdiscs[0]["kind"].as_str().filter(|kind| WITHOUT_BACKLOG.contains(kind)) {
        eprintln!(
            "warning: {interface}: the root qdisc {kind} keeps no backlog, the AQM sees an empty queue; \
             use tbf, htb or pfifo, or backlog = \"virtual\""
        );
    }
}
