//! `forward`: the user-space forwarder, on interfaces or on a capture file.

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
    /// Configuration file, such as examples/node/forward.toml
    config: PathBuf,
    /// End after this time, such as "10 s" [default: at SIGINT or SIGTERM]
    #[arg(long, value_parser = duration, conflicts_with = "read")]
    time: Option<Time>,
    /// Forward the frames of this capture (pcap) instead of live ones, at their recorded times; needs --write
    #[arg(long, value_name = "FILE", requires = "write")]
    read: Option<PathBuf>,
    /// Write the frames that leave to this capture file
    #[arg(long, value_name = "FILE", requires = "read")]
    write: Option<PathBuf>,
    /// Port at which the captured frames arrive [default: the first]
    #[arg(long, value_name = "INTERFACE", requires = "read")]
    from: Option<String>,
    /// Port whose departing frames are written [default: the second]
    #[arg(long, value_name = "INTERFACE", requires = "read")]
    to: Option<String>,
}

impl Forward {
    /// Forwards frames. Prints a line of JSON when the forwarder is ready, at every SIGUSR1 and at the end. Each report
    /// covers the time since the previous one.
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

/// Returns the index of the port with this interface, or `default` if no interface is given.
fn port(config: &ForwardConfig, interface: Option<&str>, default: usize) -> Result<usize, String> {
    let Some(interface) = interface else { return Ok(default) };
    let found = config.ports.iter().position(|port| port.interface == interface);
    found.ok_or_else(|| format!("{interface}: no port of the configuration has this interface"))
}

/// Forwards the capture `read` to the capture `write` and returns the report. Writes a temporary file and renames it,
/// so that an error leaves no partial capture.
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
        // The first error is the one to report.
        let _ = std::fs::remove_file(&aside);
    }
    Ok(outcome?)
}
