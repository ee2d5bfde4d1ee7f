//! `attach`: attaches the programs to the ports of a configuration. When repeated, it loads the changed configuration.
//! With `--follow` it keeps running, see [`super::follow`].

use super::follow::{Follower, Sources, Stamp};
use super::with_subscribers::{attach, ports_in_words};
use super::{Outcome, print_out, warn};
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel;
use std::path::PathBuf;

/// Arguments of `attach`.
#[derive(Args)]
pub struct Attach {
    /// Configuration file
    config: PathBuf,
    /// Keep running, and attach interfaces of the configuration when they appear or reappear
    #[arg(long)]
    follow: bool,
}

impl Attach {
    /// Attaches or reloads, and follows with `--follow`.
    pub fn run(self) -> Outcome {
        // Opens the event sources first, to miss no event before the first attach.
        let sources = self.follow.then(Sources::open).transpose()?;
        let stamp = Stamp::of(&self.config);
        let config = NodeConfig::load(&self.config)?;
        if sources.is_none() && kernel::ports_of(&config)?.present.is_empty() {
            let names: Vec<_> = config.ports.iter().map(|port| format!("\"{}\"", port.interface)).collect();
            return Err(format!("ports: none of {} is in this network namespace", names.join(", ")).into());
        }
        let (attached, with_subscribers) = attach(&config, &self.config)?;
        let verb = if attached.was_attached { "reloaded" } else { "attached" };
        // A closed standard output must not end the command.
        let _ = print_out(&format!("{verb}: {}\n", ports_in_words(&attached)));
        for interface in &attached.absent {
            warn(&format!("{interface}: skipped, no such interface in this network namespace"));
        }
        for finding in kernel::warnings(&with_subscribers) {
            warn(&format!("{}: {}", finding.what.trim_start_matches("port "), finding.text));
        }
        match sources {
            Some(sources) => Follower::new(self.config, stamp, config, attached).follow(&sources),
            None => Ok(()),
        }
    }
}
