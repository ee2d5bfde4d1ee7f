//! `attach --follow`: updates the attached programs when the interfaces or the configuration change.
//!
//! There are three kinds of events: an interface appears, disappears or is recreated (rtnetlink); a reload is requested
//! (SIGHUP, sent by `systemctl reload`); pins are removed (inotify). The command ends if `detach` removed the pins. A
//! changed configuration file is loaded at a reload. It is also loaded at the next event of any interface, since
//! another process may already have attached the new version.

use super::with_subscribers::{attach, ports_in_words};
use super::{Outcome, print_out, warn};
use fairlane_node::config::{NodeConfig, printable};
use fairlane_node::io::hangups;
use fairlane_node::kernel::{self, Attached, KernelError, LinkEvent, LinkEvents, PinWatch, Ports};
use rustix::io::Errno;
use sd_notify::NotifyState;
use std::error::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time to wait for further events before acting, since an interface appears in several steps.
const SETTLE: Duration = Duration::from_millis(50);

/// Delays before a failed action is retried: initial and maximum. The delay doubles each time.
const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// Sources of events. Open them before reading any state, to miss no event.
pub(super) struct Sources {
    links: LinkEvents,
    hangups: OwnedFd,
}

impl Sources {
    pub(super) fn open() -> Result<Self, Box<dyn Error>> {
        Ok(Self { links: LinkEvents::listen()?, hangups: hangups()? })
    }
}

/// Version of a file. `None` if the file does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(Option<(u64, u64, u64, i64, i64)>);

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        let of = |file: std::fs::Metadata| (file.dev(), file.ino(), file.size(), file.ctime(), file.ctime_nsec());
        Self(std::fs::metadata(path).ok().map(of))
    }
}

/// Updates the attached programs when the interfaces change.
pub(super) struct Follower {
    path: PathBuf,
    /// Version of the file when it was last read and attached.
    stamp: Stamp,
    /// The attached configuration, without subscribers.
    config: NodeConfig,
    attached: Attached,
    /// True if the programs must be attached even if no index has changed, because an event happened that does not
    /// change the index.
    is_stale: bool,
    /// True if the file must be loaded even if it is unchanged, because a reload was requested or the last load failed.
    is_pending: bool,
    /// The current problem, logged once.
    problem: Option<String>,
}

impl Follower {
    pub(super) fn new(path: PathBuf, stamp: Stamp, config: NodeConfig, attached: Attached) -> Self {
        Self { path, stamp, config, attached, is_stale: false, is_pending: false, problem: None }
    }

    /// Runs until a signal or a `detach`. After a signal, the programs stay attached.
    pub(super) fn follow(mut self, sources: &Sources) -> Outcome {
        let pins = PinWatch::of(Path::new(&self.config.node.pin_path))?;
        self.notify(true);
        let mut patience = None;
        while kernel::is_attached(&self.config) {
            if !self.wait(sources, &pins, patience)? {
                continue;
            }
            if !kernel::is_attached(&self.config) {
                break;
            }
            patience = match self.catch_up() {
                Ok(()) => self.is_well(),
                Err(error) => self.is_wrong(&error.to_string(), patience),
            };
        }
        let _ = print_out("detached\n");
        Ok(())
    }

    /// Waits for an event, at most for `patience`. Returns true if an action may be needed.
    fn wait(&mut self, sources: &Sources, pins: &PinWatch, patience: Option<Duration>) -> std::io::Result<bool> {
        let others = [sources.hangups.as_fd(), pins.as_fd()];
        let events = sources.links.next(&others, patience)?;
        let is_asked = is_hung_up(&sources.hangups)?;
        self.is_pending |= is_asked;
        let has_changed = !events.is_empty() && Stamp::of(&self.path) != self.stamp;
        if !self.note(&events) && !is_asked && !pins.has_news() && !has_changed && patience.is_none() {
            return Ok(false);
        }
        let until = Instant::now() + SETTLE;
        while let Some(rest) = until.checked_duration_since(Instant::now()) {
            self.note(&sources.links.next(&[], Some(rest))?);
        }
        Ok(true)
    }

    /// Returns true if an event may concern a port.
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
            // A recreated interface may get the index of the old one.
            self.is_stale |= concerns && !matches!(event, LinkEvent::Present(_));
            is_news |= concerns;
        }
        is_news
    }

    /// Attaches the current configuration to the current interfaces. If this fails, attaches the previous
    /// configuration.
    fn catch_up(&mut self) -> Outcome {
        let stamp = Stamp::of(&self.path);
        match self.load() {
            Ok(()) => {
                self.stamp = stamp;
                self.is_pending = false;
                Ok(())
            }
            Err(problem) => {
                self.is_pending |= self.is_stale;
                match self.bring(self.config.clone()) {
                    Err(other) if other.to_string() != problem.to_string() => Err(format!("{problem}; {other}").into()),
                    _ => Err(problem),
                }
            }
        }
    }

    fn load(&mut self) -> Outcome {
        let config = NodeConfig::load(&self.path)?;
        self.is_stale |= self.is_pending;
        self.bring(config)
    }

    fn bring(&mut self, config: NodeConfig) -> Outcome {
        let (from, to) = (&self.config.node.pin_path, &config.node.pin_path);
        if from != to {
            return Err(KernelError::NeedsDetach { key: "node.pin_path", from: from.into(), to: to.into() }.into());
        }
        let Ports { present, absent } = kernel::ports_of(&config)?;
        if self.is_stale || present != self.attached.present || absent != self.attached.absent {
            // Set before attaching, which may fail half-way.
            self.is_stale = true;
            let (attached, _) = attach(&config, &self.path)?;
            let _ = print_out(&changes(&self.attached, &attached));
            self.attached = attached;
            self.is_stale = false;
        }
        self.config = config;
        Ok(())
    }

    /// Records that no action is pending.
    fn is_well(&mut self) -> Option<Duration> {
        self.problem = None;
        self.notify(false);
        None
    }

    /// Logs a problem, unless it is the same as the last logged one. Returns the delay until the next attempt.
    fn is_wrong(&mut self, problem: &str, patience: Option<Duration>) -> Option<Duration> {
        if self.problem.as_deref() != Some(problem) {
            warn(&format!("{problem}; going on with the configuration before, and trying again"));
            self.problem = Some(problem.into());
        }
        self.notify(false);
        Some(patience.map_or(RETRY[0], |patience| (patience * 2).min(RETRY[1])))
    }

    fn notify(&self, is_ready: bool) {
        let mut status = format!("{} attached", ports_in_words(&self.attached));
        if !self.attached.absent.is_empty() {
            status += &format!(", absent: {}", self.attached.absent.join(", "));
        }
        if let Some(problem) = &self.problem {
            status += &format!("; {problem}");
        }
        // Without this, a line break would start another message.
        let status = printable(&status).replace('\n', " ");
        let states = [NotifyState::Status(&status), NotifyState::Ready];
        // Fails if systemd did not start the tool.
        let _ = sd_notify::notify(&states[..if is_ready { 2 } else { 1 }]);
    }
}

/// Returns true if SIGHUP arrived since the last call.
fn is_hung_up(hangups: &OwnedFd) -> std::io::Result<bool> {
    // One `signalfd_siginfo`: pending signals of the same kind are merged.
    match rustix::io::read(hangups, &mut [0u8; 128][..]) {
        Ok(bytes) => Ok(bytes > 0),
        Err(Errno::AGAIN | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns lines that report which ports appeared or disappeared.
fn changes(before: &Attached, now: &Attached) -> String {
    let came = now.present.iter().filter(|port| !before.present.contains(port));
    let went = now.absent.iter().filter(|name| !before.absent.contains(name));
    let came = came.map(|(name, index)| format!("{name}: attached, index {index}\n"));
    came.chain(went.map(|name| format!("{name}: gone\n"))).collect()
}
