//! `man` and `completions`: manual pages and completions of shells, from the definitions of the commands themselves.

use super::{Outcome, print_out};
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use std::fs;
use std::path::{Path, PathBuf};

/// The section of the manual: system administration.
const SECTION: &str = "8";

/// What a definition cannot say.
const MORE: &str = include_str!("../../share/sections.roff");

/// Arguments of `man`.
#[derive(Args)]
pub struct Man {
    /// Write a page for the tool and one for each command into this folder, in place of printing the first
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Man {
    /// Prints the page of the tool, or writes all.
    pub fn run(self, command: Command) -> Outcome {
        let mut command = command.disable_help_subcommand(true);
        // Names of subcommands become those of the whole line.
        command.build();
        match self.out {
            None => Ok(print_out(&page(&command, MORE)?)?),
            Some(folder) => {
                fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
                write(&command, MORE, &folder)
            }
        }
    }
}

fn page(command: &Command, more: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    Page::new(command.clone()).title(name).section(SECTION).render(&mut bytes)?;
    Ok(String::from_utf8(bytes)? + more)
}

fn write(command: &Command, more: &str, folder: &Path) -> Outcome {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.{SECTION}"));
    fs::write(&path, page(command, more)?).map_err(|error| format!("{}: {error}", path.display()))?;
    command.get_subcommands().try_for_each(|command| write(command, "", folder))
}

/// Arguments of `completions`.
#[derive(Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub fn run(self, mut command: Command) -> Outcome {
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut command, "fairlane-node", &mut bytes);
        Ok(print_out(&String::from_utf8(bytes)?)?)
    }
}
