//! `man` and `completions`: manual pages and shell completions, generated from the definitions of commands and
//! configuration keys.

use super::{Outcome, print_out};
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use fairlane_node::config::{Section, sections};
use fairlane_schemes::base::config::ParamSpec;
use roff::{Roff, bold, italic, roman};
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};

/// Section of the manual: system administration.
const SECTION: &str = "8";

/// Manual page of the configuration, in the section of files.
const CONFIGURATION: &str = "node.toml.5";

/// Sections of the pages that clap's definitions do not contain.
const MORE: &str = include_str!("../../share/sections.roff");

/// Arguments of `man`.
#[derive(Args)]
pub struct Man {
    /// Write all pages into this folder: a page for the tool, one for each command, and node.toml(5). Otherwise the
    /// page for the tool is printed
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Man {
    /// Prints the page of the tool, or writes all pages.
    pub fn run(self, command: Command) -> Outcome {
        let mut command = command.disable_help_subcommand(true);
        // This names subcommands with the full command line.
        command.build();
        match self.out {
            None => Ok(print_out(&page(&command, MORE)?)?),
            Some(folder) => {
                fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
                write(&command, MORE, &folder)?;
                write_page(&folder.join(CONFIGURATION), &configuration())
            }
        }
    }
}

fn write_page(path: &Path, text: &str) -> Outcome {
    Ok(fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn configuration() -> String {
    let mut page = Roff::new();
    page.control("TH", ["node.toml", "5", "", concat!("fairlane-node ", env!("CARGO_PKG_VERSION"))]);
    page.control("SH", ["NAME"]).text([roman("node.toml - configuration of fairlane-node")]);
    page.control("SH", ["SYNOPSIS"]).text([italic("/etc/fairlane/node.toml")]);
    page.control("SH", ["DESCRIPTION"]).text([roman(
        "A TOML file. Absent keys have their default. An unknown key or a value out of range is an error. Times, \
         rates and sizes are strings with a unit, such as \"5 ms\", \"50 Mbit/s\" and \"30 kB\".",
    )]);
    page.text([bold("fairlane-node check"), roman(" reports errors in a file, "), bold("fairlane-node attach")]);
    page.text([roman("loads it, also while packets are forwarded.")]);
    for section in sections() {
        add_section(&mut page, &section);
    }
    page.control("SH", ["FILES"]).control("TP", []).text([italic("/usr/share/doc/fairlane-node/examples")]);
    page.text([roman("Configurations; every-key.toml has every key.")]);
    page.control("TP", [])
        .text([italic("/usr/share/doc/fairlane-node/howto")])
        .text([roman("How-to guides for operators.")]);
    page.control("SH", ["SEE ALSO"]).text([
        bold("fairlane-node"),
        roman("(8), "),
        bold("fairlane-node-user"),
        roman("(8)"),
    ]);
    page.to_roff()
}

fn add_section(page: &mut Roff, section: &Section) {
    page.control("SH", [section.title]);
    if !section.doc.is_empty() {
        page.text([roman(section.doc)]);
    }
    for key in &section.keys {
        page.control("TP", []).text([bold(key.name), roman(values(key))]).text([roman(key.doc.as_str())]);
        for (choice, doc) in key.choices.unwrap_or_default().iter().zip(key.choice_docs) {
            page.control("br", []).text([bold(format!("\"{choice}\"")), roman(format!(": {}", doc.trim()))]);
        }
    }
}

/// The allowed range and the default of a key, printed after its name.
fn values(key: &ParamSpec) -> String {
    // A range or a default already shows the notation.
    let is_plain = key.choices.is_some() || key.kind == "text" || !key.min.is_null() || !key.default.is_null();
    let example = if is_plain { String::new() } else { format!(" such as {}", key.unit) };
    let bare = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let range = if key.min.is_null() { String::new() } else { format!(", {} to {}", bare(&key.min), bare(&key.max)) };
    let default = if key.default.is_null() { String::new() } else { format!(", default {}", key.default) };
    format!(" ({}{example}{range}{default})", key.kind)
}

fn page(command: &Command, more: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    Page::new(command.clone()).title(name).section(SECTION).render(&mut bytes)?;
    Ok(String::from_utf8(bytes)? + more)
}

fn write(command: &Command, more: &str, folder: &Path) -> Outcome {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    write_page(&folder.join(format!("{name}.{SECTION}")), &page(command, more)?)?;
    command.get_subcommands().try_for_each(|command| write(command, "", folder))
}

/// Arguments of `completions`.
#[derive(Args)]
pub struct Completions {
    /// Shell to generate completions for
    shell: Shell,
}

impl Completions {
    /// Prints the completions.
    pub fn run(self, mut command: Command) -> Outcome {
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut command, "fairlane-node", &mut bytes);
        Ok(print_out(&String::from_utf8(bytes)?)?)
    }
}
