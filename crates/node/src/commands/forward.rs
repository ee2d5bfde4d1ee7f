//! `forward`: the user-space forwarder, on interfaces or on a capture.

use super::{Outcome, duration, print_line};
use clap::Args;
use fairlane_node::forward::config::ForwardConfig;
use fairlane_node::forward::{live, offline};
use fairlane_schemes::base::units::Time;
use serde_json::Value as Json;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// Arguments of `forward`.
#[derive(Args)]
pub struct Forward {
    /// The configuration, such as examples/node/forward.toml
    config: PathBuf,
    /// Ends after this time, such as "10 s"; otherwise at SIGINT or SIGTERM
    #[arg(long, value_parser = duration, conflicts_with = "read")]
    time: Option<Time>,
    /// Forwards the frames of this capture (pcap) instead, at the times that it gives; needs --write
    #[arg(long, value_name = "FILE", requires = "write")]
    read: Option<PathBuf>,
    /// Writes what leaves as a capture
    #[arg(long, value_name = "FILE", requires = "read")]
    write: Option<PathBuf>,
    /// The port that the capture comes in at; the first if left out
    #[arg(long, value_name = "INTERFACE", requires = "read")]
    from: Option<String>,
    /// The port whose frames are written; the second if left out
    #[arg(long, value_name = "INTERFACE", requires = "read")]
    to: Option<String>,
}

impl Forward {
    /// Forwards; prints a line of JSON when it is ready, at every SIGUSR1 and at the end, the latter about the time
    /// since the one before.
    pub fn run(self) -> Outcome {
        let config = ForwardConfig::load(&self.config)?;
        if let (Some(read), Some(write)) = (&self.read, &self.write) {
            let from = port(&config, self.from.as_deref(), 0)?;
            let to = port(&config, self.to.as_deref(), 1)?;
            print_line(&offline_run(&config, (from, to), read, write)?);
        } else {
            live::run(&config, self.time, print_line)?;
        }
        Ok(())
    }
}

/// The number of the port with this interface.
fn port(config: &ForwardConfig, interface: Option<&str>, default: usize) -> Result<usize, String> {
    let Some(interface) = interface else { return Ok(default) };
    let found = config.ports.iter().position(|port| port.interface == interface);
    found.ok_or_else(|| format!("{interface}: no port of the configuration has this interface"))
}

/// Writes aside and renames: an error leaves no half capture.
fn offline_run(
    config: &ForwardConfig,
    ports: (usize, usize),
    read: &Path,
    write: &Path,
) -> Result<Json, Box<dyn std::error::Error>> {
    let named = |path: &Path| format!("{}", path.display());
    let input = File::open(read).map_err(|error| format!("{}: {error}", named(read)))?;
    let aside = write.with_extension(format!("{}.part", std::process::id()));
    let output = File::create(&aside).map_err(|error| format!("{}: {error}", named(&aside)))?;
    let outcome = offline::forward(config, ports, BufReader::new(input), BufWriter::new(output));
    let outcome = match outcome {
        Ok(report) => std::fs::rename(&aside, write).map(|()| report).map_err(|e| format!("{}: {e}", named(write))),
        Err(error) => Err(format!("{}: {error}", named(read))),
    };
    if outcome.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&aside);
    }
    Ok(outcome?)
}
