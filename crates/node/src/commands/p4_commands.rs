//! `p4-commands`: the configuration for a P4 switch.

use super::{Outcome, complain, print_out};
use clap::{Args, ValueEnum};
use fairlane_node::config::{NodeConfig, TomlFile};
use fairlane_node::p4::{Station, Switch, entries, text};
use std::path::PathBuf;

/// How entries are written.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Commands for `simple_switch_CLI`
    Cli,
    /// JSON for a client of P4Runtime
    P4runtime,
}

/// Arguments of `p4-commands`.
#[derive(Args)]
pub struct P4Commands {
    /// The configuration
    config: PathBuf,
    /// How entries are written
    #[arg(long, value_enum, default_value = "cli")]
    format: Format,
    /// Meters of the switch, as in -DUSERS of the compiler
    #[arg(long, default_value_t = entries::METERS,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(entries::MOST_METERS)))]
    users: u32,
    /// Where a station is; again for each of them
    #[arg(long = "station", value_name = "MAC=INTERFACE")]
    stations: Vec<Station>,
}

impl P4Commands {
    /// Prints the table entries. Keys without a meaning for a switch are named on stderr.
    pub fn run(self) -> Outcome {
        let file = TomlFile::open(&self.config)?;
        let config = NodeConfig::read_all(&file.json).map_err(|errors| file.wrong(&errors))?;
        let switch = Switch::new(&config, self.users, &self.stations).map_err(|error| file.wrong(&[error]))?;
        for key in entries::unused_keys(&file.json) {
            complain("note", &format!("{key}: a P4 switch has no use for it"));
        }
        Ok(print_out(&match self.format {
            Format::Cli => text::cli(&switch),
            Format::P4runtime => format!("{:#}\n", text::p4runtime(&switch)),
        })?)
    }
}
