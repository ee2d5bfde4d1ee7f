//! `attach`: the kernel does what the configuration says; again, it does what the new configuration says. With
//! `--follow` it stays, and attaches interfaces that come, or come back, later.

use super::{Outcome, print_out};
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel::{self, Attached, LinkEvent, LinkEvents, Ports};
use fairlane_node::subscribers::{self, store};
use sd_notify::NotifyState;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interfaces come in several steps: so long it waits for the next one before it acts.
const SETTLE: Duration = Duration::from_millis(50);

/// Before it tries again what the kernel refused, or what another `attach` was at.
const RETRY: Duration = Duration::from_secs(1);

/// Arguments of `attach`.
#[derive(Args)]
pub struct Attach {
    /// The configuration
    config: PathBuf,
    /// Stay, and attach interfaces of the configuration when they come or come back
    #[arg(long)]
    follow: bool,
}

impl Attach {
    /// Attaches or reloads; stays if asked to.
    pub fn run(self) -> Outcome {
        // First, so that nothing is missed between the two.
        let events = self.follow.then(LinkEvents::listen).transpose()?;
        let config = NodeConfig::load(&self.config)?;
        if events.is_none() && kernel::ports_of(&config)?.present.is_empty() {
            let names: Vec<_> = config.ports.iter().map(|port| format!("\"{}\"", port.interface)).collect();
            return Err(format!("ports: none of {} is in this network namespace", names.join(", ")).into());
        }
        let (attached, config) = attach(config, &self.config)?;
        let verb = if attached.was_attached { "reloaded" } else { "attached" };
        let of = if attached.absent.is_empty() { String::new() } else { format!(" of {}", config.ports.len()) };
        // Whoever does not read this is no reason to stop.
        let _ = print_out(&format!("{verb}: {}{of} ports\n", attached.present.len()));
        for interface in &attached.absent {
            eprintln!("warning: {interface}: there is no such interface in this network namespace, it is left out");
        }
        for finding in kernel::warnings(&config) {
            eprintln!("warning: {}: {}", finding.what.trim_start_matches("port "), finding.text);
        }
        match events {
            Some(events) => Follower { path: self.config, config, attached, is_stale: false }.follow(&events),
            None => Ok(()),
        }
    }
}

/// Attaches the configuration that was read from `path` with all subscribers, whom nobody changes meanwhile. Returns both
/// together as well.
fn attach(config: NodeConfig, path: &Path) -> Result<(Attached, NodeConfig), Box<dyn Error>> {
    let folder = config.state_folder();
    let held = store::hold(&folder)?;
    let config = subscribers::with_kept(config, path)?;
    let attached = kernel::attach(&config)?;
    if held.is_some() {
        store::next_generation(&folder)?;
    }
    Ok((attached, config))
}

/// Keeps what is attached equal to what is there.
struct Follower {
    path: PathBuf,
    /// The last configuration that could be read.
    config: NodeConfig,
    attached: Attached,
    /// Whether something happened to an interface that its index does not show.
    is_stale: bool,
}

impl Follower {
    /// Ends by a signal, which leaves everything attached, or when something happens after a detach.
    fn follow(mut self, events: &LinkEvents) -> Outcome {
        self.notify(true);
        let mut patience = None;
        loop {
            let is_news = self.note(&events.next(patience)?);
            if !is_news && patience.is_none() {
                continue;
            }
            let until = Instant::now() + SETTLE;
            while let Some(rest) = until.checked_duration_since(Instant::now()) {
                self.note(&events.next(Some(rest))?);
            }
            if !kernel::is_attached(&self.config) {
                // Somebody has detached it.
                return Ok(());
            }
            patience = match self.catch_up() {
                Ok(()) => None,
                Err(error) => {
                    eprintln!("error: {error}");
                    Some(RETRY)
                }
            };
        }
    }

    /// Whether events can concern a port.
    fn note(&mut self, events: &[LinkEvent]) -> bool {
        let mut is_news = false;
        for event in events {
            let link = match event {
                LinkEvent::Present(link) | LinkEvent::Gone(link) => Some(link),
                LinkEvent::Lost => None,
            };
            let concerns = link.is_none_or(|link| {
                self.attached.present.iter().any(|(name, index)| *name == link.name || *index == link.index)
                    || self.attached.absent.contains(&link.name)
            });
            // One that is made anew may get the index of the old one.
            self.is_stale |= concerns && !matches!(event, LinkEvent::Present(_));
            is_news |= concerns;
        }
        is_news
    }

    /// Attaches anew if other interfaces are there than before.
    fn catch_up(&mut self) -> Outcome {
        let config = match NodeConfig::load(&self.path) {
            Ok(config) => config,
            Err(error) => {
                eprintln!("warning: {error}; going on with what is attached");
                return Ok(());
            }
        };
        let Ports { present, absent } = kernel::ports_of(&config)?;
        if !self.is_stale && present == self.attached.present && absent == self.attached.absent {
            self.config = config;
            return Ok(());
        }
        let (attached, config) = attach(config, &self.path)?;
        self.config = config;
        let _ = print_out(&changes(&self.attached, &attached));
        self.attached = attached;
        self.is_stale = false;
        self.notify(false);
        Ok(())
    }

    /// Tells systemd how it stands.
    fn notify(&self, is_ready: bool) {
        let status = match &self.attached.absent[..] {
            [] => format!("{} ports attached", self.attached.present.len()),
            absent => format!("{} ports attached, absent: {}", self.attached.present.len(), absent.join(", ")),
        };
        let states = [NotifyState::Status(&status), NotifyState::Ready];
        // Without systemd there is nobody to tell.
        let _ = sd_notify::notify(&states[..if is_ready { 2 } else { 1 }]);
    }
}

/// A line for each port that came or went.
fn changes(before: &Attached, now: &Attached) -> String {
    let came = now.present.iter().filter(|port| !before.present.contains(port));
    let went = now.absent.iter().filter(|name| !before.absent.contains(name));
    let came = came.map(|(name, index)| format!("{name}: attached, index {index}\n"));
    came.chain(went.map(|name| format!("{name}: gone\n"))).collect()
}
