//! `attach`: the kernel does what the configuration says; again, it does what the new configuration says.

use super::Outcome;
use clap::Args;
use fairlane_node::config::{BacklogSource, Carrier, NodeConfig, QueueScheme};
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
            if port.queue.scheme != QueueScheme::DropTail && port.queue.backlog == BacklogSource::Qdisc {
                warn_of_qdisc(&port.interface);
            }
            if matches!(port.params.carrier, Carrier::Ipv6Option | Carrier::Shim) {
                warn_of_mtu(&port.interface);
            }
        }
        Ok(())
    }
}

/// Qdiscs that keep no backlog of their own: the AQM would see an empty queue.
const WITHOUT_BACKLOG: [&str; 3] = ["noqueue", "mq", "pfifo_fast"];

/// Says so if the root qdisc of an interface keeps no backlog. Without `tc` nobody knows, and nothing is said.
fn warn_of_qdisc(interface: &str) {
    let qdiscs = asked("tc", &["-j", "qdisc", "show", "dev", interface, "root"]);
    if let Some(kind) = qdiscs[0]["kind"].as_str().filter(|kind| WITHOUT_BACKLOG.contains(kind)) {
        eprintln!(
            "warning: {interface}: the root qdisc {kind} keeps no backlog, the AQM sees an empty queue; \
             use tbf, htb or pfifo, or backlog = \"virtual\""
        );
    }
}

/// What hosts on Ethernet send at most, with a label.
const LARGEST_LABELLED: u64 = 1508;

/// Says so if an interface has no room for the labels of full-sized packets.
fn warn_of_mtu(interface: &str) {
    let links = asked("ip", &["-j", "link", "show", "dev", interface]);
    if let Some(mtu) = links[0]["mtu"].as_u64().filter(|mtu| *mtu < LARGEST_LABELLED) {
        eprintln!(
            "warning: {interface}: the MTU {mtu} has no room for packets of 1500 bytes with a label of 8, they are \
             dropped; `ip link set {interface} mtu {LARGEST_LABELLED}`"
        );
    }
}

/// What a program prints as JSON; null if it cannot be asked.
fn asked(program: &str, arguments: &[&str]) -> Json {
    let output = Command::new(program).args(arguments).output();
    output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default()
}
