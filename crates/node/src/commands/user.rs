//! `user`: subscribers of a running node, added, changed, removed, listed, imported.

use super::{Outcome, print_out};
use clap::{Args, Subcommand};
use fairlane_node::subscribers::csv::{self, Options};
use fairlane_node::subscribers::{Change, ChangeError, Changed, Live, Subscriber, network};
use fairlane_schemes::base::config::read_value;
use fairlane_schemes::base::units::BitRate;
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Lines of `apply` that are one change at most.
const MOST_AT_ONCE: usize = 1024;

/// Bytes of a stream that are read at once.
const READ_BYTES: usize = 1 << 18;

/// Arguments of `user`.
#[derive(Args)]
pub struct UserCommand {
    #[command(subcommand)]
    verb: Verb,
}

/// What to do.
#[derive(Subcommand)]
enum Verb {
    /// Add a subscriber
    Add(Named),
    /// Change what is given of a subscriber
    Set(Named),
    /// Remove subscribers
    Remove {
        /// The configuration
        config: PathBuf,
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// List subscribers
    List {
        /// The configuration
        config: PathBuf,
        /// Print JSON, a subscriber a line, as `apply` reads it
        #[arg(long)]
        json: bool,
    },
    /// Read a list: plain CSV, or ShapedDevices.csv of LibreQoS
    Import(Import),
    /// Make changes that come as lines of JSON, {"put": {"name": ..., "user": {...}}} or {"remove": ...}
    Apply {
        /// The configuration
        config: PathBuf,
        /// The file, "-" for standard input
        #[arg(default_value = "-")]
        file: PathBuf,
    },
}

/// A subscriber of the command line.
#[derive(Args)]
struct Named {
    /// The configuration
    config: PathBuf,
    /// Its name
    name: String,
    /// A prefix or address; again for each of them
    #[arg(long = "prefix", value_name = "PREFIX")]
    prefixes: Vec<String>,
    /// Another key of [[users]], such as vlan=7 or "reference_rate=20 kbit/s"; again for each of them
    #[arg(long = "key", value_name = "KEY=VALUE", value_parser = key_value)]
    keys: Vec<(String, Json)>,
    /// Where it is attached, such as Site_1/AP_A
    #[arg(long)]
    site: Option<String>,
}

/// Arguments of `user import`.
#[derive(Args)]
struct Import {
    /// The configuration
    config: PathBuf,
    /// The list
    list: PathBuf,
    /// network.json of LibreQoS, in which each Parent Node is looked up
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// Reference rate for each Mbit/s of "Download Max Mbps"; without it all have that of the default user
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate_per_mbps: Option<BitRate>,
    /// Remove who is not in the list
    #[arg(long)]
    replace: bool,
}

fn rate(text: &str) -> Result<BitRate, String> {
    read_value("rate", &json!(text), Some((json!("1 bit/s"), json!("1 Tbit/s")))).map_err(|error| error.problem)
}

/// Numbers stay numbers, all else is text.
fn key_value(text: &str) -> Result<(String, Json), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE such as vlan=7")?;
    Ok((key.trim().into(), value.trim().parse::<u64>().map_or_else(|_| value.trim().into(), Json::from)))
}

impl Named {
    /// Into a subscriber; what is not given stays.
    fn merge(self, subscriber: &mut Subscriber) {
        if !self.prefixes.is_empty() {
            subscriber.user.insert("prefix".into(), self.prefixes.into());
        }
        subscriber.user.extend(self.keys);
        subscriber.site = self.site.or(subscriber.site.take());
    }
}

impl UserCommand {
    /// Does it.
    pub fn run(self) -> Outcome {
        match self.verb {
            Verb::Add(named) => add(named),
            Verb::Set(named) => set(named),
            Verb::Remove { config, names } => remove(&config, names),
            Verb::List { config, json } => list(&config, json),
            Verb::Import(import) => import.run(),
            Verb::Apply { config, file } => apply(&config, &file),
        }
    }
}

fn add(named: Named) -> Outcome {
    let mut live = Live::open(&named.config)?;
    let name = named.name.clone();
    let changed = live.change(|live| {
        if live.subscribers().contains_key(&named.name) {
            return Err(ChangeError::Asked(format!("user \"{}\": is there already; use set", named.name)));
        }
        let mut subscriber = Subscriber { name: named.name.clone(), ..Subscriber::default() };
        named.merge(&mut subscriber);
        Ok(vec![Change::Put(subscriber)])
    })?;
    tell(&format!("added \"{name}\""), changed)
}

fn set(named: Named) -> Outcome {
    let mut live = Live::open(&named.config)?;
    let name = named.name.clone();
    let changed = live.change(|live| {
        let mut subscriber = known(live, &named.name)?.clone();
        named.merge(&mut subscriber);
        Ok(vec![Change::Put(subscriber)])
    })?;
    tell(&format!("set \"{name}\""), changed)
}

fn remove(config: &Path, names: Vec<String>) -> Outcome {
    let mut live = Live::open(config)?;
    let changed = live.change(|live| {
        let remove = |name: String| known(live, &name).map(|subscriber| Change::Remove(subscriber.name.clone()));
        names.into_iter().map(remove).collect()
    })?;
    tell(&format!("removed {}", changed.changes), changed)
}

fn known<'a>(live: &'a Live, name: &str) -> Result<&'a Subscriber, ChangeError> {
    live.subscribers().get(name).ok_or_else(|| ChangeError::Asked(format!("user \"{name}\": there is none")))
}

fn list(config: &Path, json: bool) -> Outcome {
    let kept =
        fairlane_node::subscribers::store::read(&fairlane_node::config::NodeConfig::load(config)?.state_folder())?;
    let mut text = String::new();
    for subscriber in kept.values() {
        if json {
            text += &format!("{}\n", serde_json::to_string(&Change::Put(subscriber.clone()))?);
        } else {
            let table = subscriber.table();
            let keys = table.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key} {}", plain(value))).collect();
            let site = subscriber.site.as_deref().unwrap_or("-");
            text += &format!("{:<32} {site:<24} {}\n", subscriber.name, keys.join(", "));
        }
    }
    Ok(print_out(&text)?)
}

/// A value without the marks of JSON.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

impl Import {
    fn run(self) -> Outcome {
        let named = |path: &Path, problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
        let text = |path: &Path| std::fs::read_to_string(path).map_err(|error| named(path, &error));
        let sites = match &self.network {
            Some(path) => Some(network::parse(&text(path)?).map_err(|problem| named(path, &problem))?),
            None => None,
        };
        let options = Options { sites, rate_per_mbps: self.rate_per_mbps };
        let list = csv::parse(&text(&self.list)?, &options).map_err(|problem| named(&self.list, &problem))?;
        let mut live = Live::open(&self.config)?;
        let (mut put, mut removed) = (0, 0);
        let changed = live.change(|live| {
            let mut changes = Vec::new();
            if self.replace {
                let wanted: HashSet<&str> = list.iter().map(|subscriber| subscriber.name.as_str()).collect();
                let gone = live.subscribers().keys().filter(|name| !wanted.contains(name.as_str()));
                changes.extend(gone.cloned().map(Change::Remove));
                removed = changes.len();
            }
            let is_new = |subscriber: &Subscriber| live.subscribers().get(&subscriber.name) != Some(subscriber);
            changes.extend(list.into_iter().filter(is_new).map(Change::Put));
            put = changes.len() - removed;
            Ok(changes)
        })?;
        tell(&format!("imported: {put} new or changed, {removed} removed"), changed)
    }
}

/// Makes the changes of a stream as they come; what came together is one change.
fn apply(config: &Path, file: &Path) -> Outcome {
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| format!("{}: {error}", file.display()))?)
    };
    let mut input = BufReader::with_capacity(READ_BYTES, input);
    let mut live = Live::open(config)?;
    let (mut line, mut number, mut total) = (String::new(), 0, Changed::default());
    loop {
        let mut changes = Vec::new();
        while changes.len() < MOST_AT_ONCE {
            line.clear();
            if input.read_line(&mut line)? == 0 {
                break;
            }
            number += 1;
            if !line.trim().is_empty() {
                let change: Change = serde_json::from_str(&line).map_err(|error| format!("line {number}: {error}"))?;
                changes.push(change);
            }
            // What has been read already comes along; nobody waits for more.
            if !input.buffer().contains(&b'\n') {
                break;
            }
        }
        if changes.is_empty() && line.is_empty() {
            return tell(&format!("applied {} changes", total.changes), total);
        }
        let changed = live.change(|_| Ok(changes)).map_err(|error| format!("up to line {number}: {error}"))?;
        total = Changed { changes: total.changes + changed.changes, is_live: changed.is_live };
    }
}

fn tell(what: &str, changed: Changed) -> Outcome {
    let when = if changed.is_live { "" } else { "; nothing is attached, the next attach loads it" };
    Ok(print_out(&format!("{what}{when}\n"))?)
}
