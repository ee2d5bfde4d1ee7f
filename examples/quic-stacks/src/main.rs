//! Runs published QUIC controllers under the schemes of Fairlane. Prints a table and writes it as CSV and JSON.

use fairlane_schemes::base::config::ConfigValue;
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_sim::traffic::tcp::CongestionControl;
use quic_stacks::{CONTROLLERS, duel, find};
use serde_json::Value as Json;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io, thread};

const HELP: &str = "\
Usage: quic-stacks [SCENARIO.toml] [--all] [--schemes A,B] [--controllers A,B] [--out STEM]

Runs published QUIC controllers in the first group of a scenario (default: duel.toml), with and without its other
groups. Prints a table, and writes STEM.csv and STEM.json (default: results/duel).

  --schemes      the schemes (default: droptail, codel, fq_codel, csfq, afpft, abc)
  --all          every scheme
  --controllers  controllers of this crate (default: all) or of Fairlane, such as cubic or bbr1";

const SCHEMES: [&str; 6] = ["droptail", "codel", "fq_codel", "csfq", "afpft", "abc"];

/// Arguments of the command line.
struct Arguments {
    scenario: Option<PathBuf>,
    schemes: Vec<Scheme>,
    controllers: Vec<String>,
    stem: PathBuf,
}

fn main() -> ExitCode {
    if env::args().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

fn work() -> Result<(), String> {
    let arguments = arguments(env::args().skip(1))?;
    let scenario = scenario(arguments.scenario.as_deref())?;
    let controllers: Vec<&str> = arguments.controllers.iter().map(String::as_str).collect();
    let duels = duel::duels(&scenario, &controllers, &arguments.schemes, &find)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let shown = io::stderr().is_terminal();
    let outcomes = duel::run(&duels, threads, |done, of| {
        if shown || done == of {
            eprint!("\r{done} of {of} runs");
        }
    })?;
    eprintln!();
    let table = duel::table(&duels, &outcomes);
    // A closed output, as of `| head`, is no error.
    let _ = io::stdout().write_all(table.as_bytes());
    write(&arguments.stem.with_extension("csv"), &duel::csv(&duels, &outcomes))?;
    write(&arguments.stem.with_extension("json"), &format!("{:#}\n", duel::json(&duels, &outcomes)))
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut found = Arguments {
        scenario: None,
        schemes: schemes(SCHEMES)?,
        controllers: CONTROLLERS.iter().map(|controller| controller.name.into()).collect(),
        stem: "results/duel".into(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word}: needs a value"));
        match word.as_str() {
            "--all" => found.schemes = Scheme::ALL.to_vec(),
            "--schemes" => found.schemes = schemes(value()?.split(','))?,
            "--controllers" => found.controllers = value()?.split(',').map(controller).collect::<Result<_, _>>()?,
            "--out" => found.stem = value()?.into(),
            _ if word.starts_with('-') => return Err(format!("{word}: unknown, --help lists what there is")),
            _ if found.scenario.is_some() => return Err(format!("{word}: there is one scenario at most")),
            _ => found.scenario = Some(word.into()),
        }
    }
    Ok(found)
}

fn controller(name: &str) -> Result<String, String> {
    if find(name).is_some() || CongestionControl::parse(&Json::from(name)).is_some() {
        return Ok(name.into());
    }
    let own = CONTROLLERS.iter().map(|controller| controller.name);
    let all: Vec<&str> = own.chain(CongestionControl::CHOICES.unwrap_or_default().iter().copied()).collect();
    Err(format!("--controllers: \"{name}\" is unknown, must be one of {}", all.join(", ")))
}

fn schemes<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Scheme>, String> {
    let scheme = |name: &str| {
        let all = Scheme::CHOICES.unwrap_or_default().join(", ");
        Scheme::parse(&Json::from(name))
            .ok_or_else(|| format!("--schemes: \"{name}\" is unknown, must be one of {all}"))
    };
    names.into_iter().map(scheme).collect()
}

fn scenario(path: Option<&Path>) -> Result<Json, String> {
    let Some(path) = path else { return Ok(duel::against_cubic()) };
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error: toml::de::Error| format!("{}: {}", path.display(), error.message()))
}

/// Writes a file atomically.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let problem = |error: io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(problem)?;
    }
    let part = PathBuf::from(format!("{}.part", path.display()));
    fs::write(&part, text).and_then(|()| fs::rename(&part, path)).map_err(problem)
}
