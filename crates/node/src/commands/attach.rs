//! `attach`: the kernel does what the configuration says; again, it does what the new configuration says. With
//! `--follow` it stays, see [`super::follow`].

use super::follow::{Follower, Sources, Stamp};
use super::{Outcome, counted, print_out};
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel::{self, Attached};
use fairlane_node::subscribers::{self, store};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Arguments of `attach`.
#[derive(Args)]
pub struct Attach {
    /// The configuration
    config: PathBuf,
    /// Stay, and attach interfaces of the configuration when they come or come back
    #[arg(long)]
    follow: bool,
}

impl Attach {
    /// Attaches or reloads; stays if asked to.
    pub fn run(self) -> Outcome {
        // First, so that nothing is missed between the two.
        let sources = self.follow.then(Sources::open).transpose()?;
        let stamp = Stamp::of(&self.config);
        let config = NodeConfig::load(&self.config)?;
        if sources.is_none() && kernel::ports_of(&config)?.present.is_empty() {
            let names: Vec<_> = config.ports.iter().map(|port| format!("\"{}\"", port.interface)).collect();
            return Err(format!("ports: none of {} is in this network namespace", names.join(", ")).into());
        }
        let (attached, with_subscribers) = attach(&config, &self.config)?;
        let verb = if attached.was_attached { "reloaded" } else { "attached" };
        // Whoever does not read this is no reason to stop.
        let _ = print_out(&format!("{verb}: {}\n", ports_in_words(&attached)));
        for interface in &attached.absent {
            eprintln!("warning: {interface}: there is no such interface in this network namespace, it is left out");
        }
        for finding in kernel::warnings(&with_subscribers) {
            eprintln!("warning: {}: {}", finding.what.trim_start_matches("port "), finding.text);
        }
        match sources {
            Some(sources) => Follower::new(self.config, stamp, config, attached).follow(&sources),
            None => Ok(()),
        }
    }
}

/// How many ports are attached, of how many if that is not all.
pub(super) fn ports_in_words(attached: &Attached) -> String {
    let (present, absent) = (attached.present.len(), attached.absent.len());
    match absent {
        0 => counted(present, "port"),
        _ => format!("{present} of {}", counted(present + absent, "port")),
    }
}

/// Attaches the configuration that was read from `path` with all subscribers, whom nobody changes meanwhile. Returns both
/// together as well.
pub(super) fn attach(config: &NodeConfig, path: &Path) -> Result<(Attached, NodeConfig), Box<dyn Error>> {
    let folder = config.state_folder();
    let held = store::hold(&folder)?;
    let (config, problems) = subscribers::with_kept(config.clone(), path)?;
    for problem in problems {
        eprintln!("warning: {problem}");
    }
    let attached = kernel::attach(&config)?;
    if held.is_some() {
        store::next_generation(&folder)?;
    }
    Ok((attached, config))
}
