//! `p4-commands`: prints table entries for a P4 switch.

use super::{Outcome, complain, print_out};
use clap::{Args, ValueEnum};
use fairlane_node::config::{NodeConfig, TomlFile};
use fairlane_node::p4::{Station, Switch, entries, text};
use std::path::PathBuf;

/// Output format of the entries.
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
    /// Configuration file
    config: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "cli")]
    format: Format,
    /// Number of meters, the value of -DUSERS when compiling
    #[arg(long, default_value_t = entries::METERS,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(entries::MOST_METERS)))]
    users: u32,
    /// Interface through which a station is reached; repeat for each station
    #[arg(long = "station", value_name = "MAC=INTERFACE")]
    stations: Vec<Station>,
}

impl P4Commands {
    /// Prints the table entries. Keys that a switch does not use are listed on stderr.
    pub fn run(self) -> Outcome {
        let file = TomlFile::open(&self.config)?;
        let config = NodeConfig::read_all(&file.json).map_err(|errors| file.wrong(&errors))?;
        let switch = Switch::new(&config, self.users, &self.stations).map_err(|error| file.wrong(&[error]))?;
        for key in entries::unused_keys(&file.json) {
            complain("note", &format!("{key}: not used by P4 switches"));
        }
        Ok(print_out(&match self.format {
            Format::Cli => text::cli(&switch),
            Format::P4runtime => format!("{:#}\n", text::p4runtime(&switch)),
        })?)
    }
}
