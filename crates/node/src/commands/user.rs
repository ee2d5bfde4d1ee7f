//! `user`: adds, changes, removes, lists and imports subscribers of a running node.

use super::{Outcome, counted, print_out, warn};
use clap::{Args, Subcommand};
use fairlane_libreqos::Network;
use fairlane_node::config::{NodeConfig, UserParams, shown_name};
use fairlane_node::subscribers::csv::{self, List, Options};
use fairlane_node::subscribers::store::{self, problem_of};
use fairlane_node::subscribers::{Change, ChangeError, Changed, Live, Subscriber, json_list};
use fairlane_schemes::base::config::read_value;
use fairlane_schemes::base::units::BitRate;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Maximum number of lines of a stream that are applied as one change. A file is always one change.
const MOST_AT_ONCE: usize = 1024;

/// Suffix for subscribers that keep only their RADIUS sessions.
const WITH_SESSIONS: &str = "with their sessions";

/// Bytes read from a stream at a time.
const READ_BYTES: usize = 1 << 18;

/// Arguments of `user`.
#[derive(Args)]
pub struct UserCommand {
    #[command(subcommand)]
    verb: Verb,
}

/// Subcommands.
#[derive(Subcommand)]
enum Verb {
    /// Add a subscriber
    Add(Named),
    /// Change some keys of a subscriber
    Set(Named),
    /// Remove subscribers
    Remove {
        /// Configuration file
        config: PathBuf,
        /// Names of the subscribers
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// List subscribers
    List {
        /// Configuration file
        config: PathBuf,
        /// Print JSON, one subscriber per line, in the format of `apply`
        #[arg(long)]
        json: bool,
    },
    /// Import a list: plain CSV, ShapedDevices.csv of LibreQoS, or output of `list --json`
    Import(Import),
    /// Apply changes given as lines of JSON: {"put": {"name": ..., "user": {...}}} or {"remove": ...}
    Apply {
        /// Configuration file
        config: PathBuf,
        /// File to read, "-" for standard input
        #[arg(default_value = "-")]
        file: PathBuf,
    },
}

/// A subscriber given on the command line.
#[derive(Args)]
struct Named {
    /// Configuration file
    config: PathBuf,
    /// Name of the subscriber
    name: String,
    /// Prefix or address; repeat for several
    #[arg(long = "prefix", value_name = "PREFIX")]
    prefixes: Vec<String>,
    /// Another key of [[users]], such as vlan=7 or "reference_rate=20 kbit/s"; repeat for several
    #[arg(long = "key", value_name = "KEY=VALUE", value_parser = key_value)]
    keys: Vec<(String, Json)>,
    /// Site of the subscriber, such as Site_1/AP_A
    #[arg(long)]
    site: Option<String>,
}

/// Arguments of `user import`.
#[derive(Args)]
struct Import {
    /// Configuration file
    config: PathBuf,
    /// List to import
    list: PathBuf,
    /// network.json of LibreQoS, in which the parent node of each subscriber is looked up
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// Reference rate per Mbit/s of "Download Max Mbps" [default: every subscriber has the default user's reference
    /// rate]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate_per_mbps: Option<BitRate>,
    /// Remove subscribers that are not in the list. Keeps RADIUS sessions. Removing more than half requires --force
    #[arg(long)]
    replace: bool,
    /// Let --replace remove more than half of the subscribers
    #[arg(long, requires = "replace")]
    force: bool,
    /// Let --replace also end RADIUS sessions of subscribers that are not in the list
    #[arg(long, requires = "replace")]
    end_sessions: bool,
    /// Print what would be done without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Skip LibreQoS circuits without an address instead of failing
    #[arg(long)]
    skip_without_address: bool,
}

fn rate(text: &str) -> Result<BitRate, String> {
    read_value("rate", &json!(text), Some((json!("1 bit/s"), json!("1 Tbit/s")))).map_err(|error| error.problem)
}

/// Parses `KEY=VALUE`: numbers become JSON numbers, everything else becomes text.
fn key_value(text: &str) -> Result<(String, Json), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE such as vlan=7")?;
    Ok((key.trim().into(), value.trim().parse::<u64>().map_or_else(|_| value.trim().into(), Json::from)))
}

impl Named {
    fn merge(self, subscriber: &mut Subscriber) {
        if !self.prefixes.is_empty() {
            subscriber.user.insert("prefix".into(), self.prefixes.into());
        }
        subscriber.user.extend(self.keys);
        subscriber.site = self.site.or(subscriber.site.take());
    }
}

impl UserCommand {
    /// Runs the subcommand.
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

/// Opens the subscribers and warns about unusable ones.
fn open(config: &Path) -> Result<Live, Box<dyn Error>> {
    let mut live = Live::open(config)?;
    live.take_problems().iter().for_each(|problem| warn(problem));
    Ok(live)
}

fn add(named: Named) -> Outcome {
    let mut live = open(&named.config)?;
    let name = named.name.clone();
    let changed = live.change(|live| {
        if live.subscribers().contains_key(&named.name) {
            return Err(ChangeError::Asked(format!("user \"{}\": exists already; use `user set`", named.name)));
        }
        let mut subscriber = Subscriber { name: named.name.clone(), ..Subscriber::default() };
        named.merge(&mut subscriber);
        Ok(vec![Change::Put(subscriber)])
    })?;
    tell(&format!("added \"{name}\"{}", metered_when(&live, &name)), changed)
}

fn set(named: Named) -> Outcome {
    let mut live = open(&named.config)?;
    let name = named.name.clone();
    let changed = live.change(|live| {
        let mut subscriber = known(live, &named.name)?.clone();
        named.merge(&mut subscriber);
        Ok(vec![Change::Put(subscriber)])
    })?;
    tell(&format!("set \"{name}\"{}", metered_when(&live, &name)), changed)
}

/// Returns a note on a subscriber without a prefix, which is metered only during sessions. Empty for other subscribers.
fn metered_when(live: &Live, name: &str) -> &'static str {
    match live.subscribers().get(name).map(|subscriber| subscriber.user(&UserParams::default())) {
        Some(Ok(None)) => "; it has no prefix and is metered only during RADIUS sessions",
        _ => "",
    }
}

fn remove(config: &Path, names: Vec<String>) -> Outcome {
    let mut live = open(config)?;
    let changed = live.change(|live| {
        let remove = |name: String| known(live, &name).map(|subscriber| Change::Remove(subscriber.name.clone()));
        names.into_iter().map(remove).collect()
    })?;
    tell(&format!("removed {}", changed.changes), changed)
}

fn known<'a>(live: &'a Live, name: &str) -> Result<&'a Subscriber, ChangeError> {
    live.subscribers().get(name).ok_or_else(|| ChangeError::Nobody(name.into()))
}

fn list(config: &Path, json: bool) -> Outcome {
    let (kept, problems) = store::read(&NodeConfig::load(config)?.state_folder())?;
    problems.iter().for_each(|problem| warn(problem));
    let mut text = String::new();
    for subscriber in kept.values() {
        if json {
            text += &format!("{}\n", serde_json::to_string(&Change::Put(subscriber.clone()))?);
        } else {
            let table = subscriber.table();
            let keys = table.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key} {}", plain(value))).collect();
            let site = subscriber.site.as_deref().unwrap_or("-");
            let (name, site) = (shown_name(&subscriber.name), shown_name(site));
            text += &format!("{name:<32} {site:<24} {}\n", keys.join(", "));
        }
    }
    Ok(print_out(&text)?)
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

impl Import {
    fn run(self) -> Outcome {
        let mut list = self.read()?;
        let mut live = open(&self.config)?;
        let mut counts = String::new();
        let make = |live: &Live| {
            let changes = self.changes(live, &mut list)?;
            counts = counts_of(&changes, &list);
            // A dry run also reports impossible values.
            if self.dry_run { live.try_out(&changes).map(|()| Vec::new()) } else { Ok(changes) }
        };
        let changed = live.replace(make);
        let changed = changed.map_err(|error| self.place_of(&error, &list))?;
        if self.dry_run {
            return Ok(print_out(&format!("would import: {counts}; nothing was changed\n"))?);
        }
        tell(&format!("imported: {counts}"), changed)
    }

    fn read(&self) -> Result<List, Box<dyn Error>> {
        let named = |path: &Path, problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
        let bytes = |path: &Path| std::fs::read(path).map_err(|error| named(path, &error));
        let network = match &self.network {
            Some(path) => Some(Network::read(&bytes(path)?).map_err(|problem| named(path, &problem))?),
            None => None,
        };
        if let (Some(path), Some(network)) = (&self.network, &network) {
            network.notes.iter().for_each(|note| warn(&named(path, note)));
        }
        let (rate_per_mbps, skips_without_address) = (self.rate_per_mbps, self.skip_without_address);
        let options = Options { network, rate_per_mbps, skips_without_address };
        let text = bytes(&self.list)?;
        let list = if json_list::is_one(&text) { json_list::parse(&text) } else { csv::parse(&text, &options) };
        let list = list.map_err(|problem| named(&self.list, &problem))?;
        list.notes.iter().for_each(|note| warn(&named(&self.list, note)));
        Ok(list)
    }

    /// Returns the changes from the current subscribers to those of the list. Moves the subscribers out of `list`
    /// instead of copying them, since there may be a million.
    fn changes(&self, live: &Live, list: &mut List) -> Result<Vec<Change>, ChangeError> {
        let mut changes = if self.replace { self.gone(live, list)? } else { Vec::new() };
        for mut subscriber in std::mem::take(&mut list.subscribers) {
            let before = live.subscribers().get(&subscriber.name);
            subscriber.sessions = before.map(|before| before.sessions.clone()).unwrap_or_default();
            if before != Some(&subscriber) {
                changes.push(Change::Put(subscriber));
            }
        }
        Ok(changes)
    }

    /// Returns the changes for subscribers that are missing from the list. Keeps their RADIUS sessions unless
    /// `end_sessions` is set.
    fn gone(&self, live: &Live, list: &List) -> Result<Vec<Change>, ChangeError> {
        let replaceable = live.subscribers().values().filter(|there| self.end_sessions || there.is_given());
        let (here, gone): (Vec<_>, Vec<_>) = replaceable.partition(|there| list.lines.contains_key(&there.name));
        let (is_much, all) = (gone.len() > here.len(), gone.len() + here.len());
        let left = |there: &Subscriber| match self.end_sessions {
            false => there.sessions_alone().map(Change::Put),
            true => None,
        };
        let change = |there: &Subscriber| left(there).unwrap_or_else(|| Change::Remove(there.name.clone()));
        let gone: Vec<Change> = gone.into_iter().map(change).collect();
        if is_much && !self.force { Err(self.too_much(&gone, all)) } else { Ok(gone) }
    }

    /// Error for removing more than half of `all` subscribers.
    fn too_much(&self, gone: &[Change], all: usize) -> ChangeError {
        let (list, all) = (self.list.display(), counted(all, "subscriber"));
        let removed = removed_of(gone);
        let more = match gone.len() - removed {
            0 => ", more than half".into(),
            left => format!(" and leave {left} {WITH_SESSIONS}, more than half together"),
        };
        ChangeError::Asked(format!("{list}: --replace would remove {removed} of {all}{more}; to do so, add --force"))
    }

    /// An error message with its line in the list.
    fn place_of(&self, error: &ChangeError, list: &List) -> String {
        let line = |name: &str| list.lines.get(name);
        let Some(at) = error.user().and_then(line) else { return error.to_string() };
        let other = match error {
            ChangeError::Taken { other, .. } => line(other).map(|line| format!(", in line {line}")).unwrap_or_default(),
            _ => String::new(),
        };
        format!("{}: line {at}: {error}{other}", self.list.display())
    }
}

fn removed_of(changes: &[Change]) -> usize {
    changes.iter().filter(|change| matches!(change, Change::Remove(_))).count()
}

/// Text with the number of changes of each kind, and of skipped entries.
fn counts_of(changes: &[Change], list: &List) -> String {
    let removed = removed_of(changes);
    let put = changes.iter().filter(|change| list.lines.contains_key(change.name())).count();
    let left = changes.len() - put - removed;
    let waits = |change: &&Change| match change {
        Change::Put(subscriber) => {
            subscriber.prefixes().is_empty() && matches!(subscriber.user(&UserParams::default()), Ok(None))
        }
        Change::Remove(_) => false,
    };
    let text = |count, what: &str| if count == 0 { String::new() } else { format!(", {count} {what}") };
    format!(
        "{put} new or changed, {removed} removed{}{}{}",
        text(changes.iter().filter(waits).count(), "metered only during RADIUS sessions"),
        text(left, &format!("left {WITH_SESSIONS}")),
        text(list.skipped, "skipped without an address")
    )
}

/// Applies the changes of a stream as they arrive. Lines that arrive together form one change.
fn apply(config: &Path, file: &Path) -> Outcome {
    let is_stdin = file == Path::new("-");
    let name = if is_stdin { "standard input".into() } else { file.display().to_string() };
    let input: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| format!("{name}: {error}"))?)
    };
    let most = if is_stdin { MOST_AT_ONCE } else { usize::MAX };
    let mut input = BufReader::with_capacity(READ_BYTES, input);
    let mut live = open(config)?;
    let mut total = Changed::default();
    let mut lines = 0;
    loop {
        let batch = Batch::read(&mut input, lines, most);
        if let Some((line, problem)) = &batch.problem {
            return Err(format!("{name}: line {line}: {problem}{}", batch.fate()).into());
        }
        if batch.last == lines {
            return tell(&format!("applied {}", counted(total.changes, "change")), total);
        }
        lines = batch.last;
        let make = |_: &Live| Ok(batch.changes.clone());
        let changed = if is_stdin { live.change(make) } else { live.replace(make) };
        let changed = changed.map_err(|error| {
            let line = error.user().and_then(|user| batch.line_of.get(user)).copied().unwrap_or(batch.last);
            format!("{name}: line {line}: {error}{}", batch.fate())
        })?;
        live.take_problems().iter().for_each(|problem| warn(problem));
        total = Changed { changes: total.changes + changed.changes, is_live: changed.is_live };
    }
}

/// Lines that arrived together.
#[derive(Default)]
struct Batch {
    changes: Vec<Change>,
    /// Number of the line before the first one.
    before: usize,
    last: usize,
    /// Last line of each name.
    line_of: HashMap<String, usize>,
    /// An unreadable line, with the reason.
    problem: Option<(usize, String)>,
}

impl Batch {
    /// Reads up to `most` lines after line `before`. From a stream, waits for one line and reads the further lines that
    /// are available.
    fn read(input: &mut BufReader<Box<dyn Read>>, before: usize, most: usize) -> Self {
        let mut batch = Self { before, last: before, ..Self::default() };
        let mut line = Vec::new();
        while batch.changes.len() < most && batch.problem.is_none() {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => batch.add(&line),
                Err(error) => batch.problem = Some((batch.last + 1, error.to_string())),
            }
            if most == MOST_AT_ONCE && !input.buffer().contains(&b'\n') {
                break;
            }
        }
        batch
    }

    fn add(&mut self, line: &[u8]) {
        self.last += 1;
        if line.trim_ascii().is_empty() {
            return;
        }
        match serde_json::from_slice::<Change>(line) {
            Ok(change) => {
                self.line_of.insert(change.name().into(), self.last);
                self.changes.push(change);
            }
            Err(error) => self.problem = Some((self.last, problem_of(&error))),
        }
    }

    /// Returns the end of the message about a failed line: which lines were not applied, and which were.
    fn fate(&self) -> String {
        let first = self.before + 1;
        let these = if first == self.last {
            "; it was not applied".to_string()
        } else {
            format!("; lines {first} to {} were not applied", self.last)
        };
        match self.before {
            0 => these,
            1 => format!("{these}, line 1 was"),
            before => format!("{these}, lines 1 to {before} were"),
        }
    }
}

fn tell(what: &str, changed: Changed) -> Outcome {
    let when = if changed.is_live { "" } else { "; nothing is attached: takes effect at the next attach" };
    Ok(print_out(&format!("{what}{when}\n"))?)
}
