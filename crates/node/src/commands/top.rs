//! `top`: live tables of users and ports on the terminal. Ctrl-C ends it.

use super::{Outcome, attached, counted, label, marked, marked_title};
use clap::Args;
use fairlane_node::config::printable;
use fairlane_node::kernel::Snapshot;
use fairlane_node::names::Names;
use fairlane_node::records::UserKey;
use fairlane_node::subscribers;
use fairlane_schemes::base::units::BitRate;
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Arguments of `top`.
#[derive(Args)]
pub struct Top {
    /// Configuration file: names of users
    config: PathBuf,
    /// Seconds between updates
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    interval: f64,
    /// Number of updates [default: until interrupted]
    #[arg(long)]
    turns: Option<u32>,
    /// Maximum number of users shown, the fastest first
    #[arg(long, default_value_t = 20)]
    users: usize,
}

fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.1..=3600.0).contains(value));
    value.ok_or_else(|| "must be a number of seconds from 0.1 to 3600".into())
}

impl Top {
    /// Updates the tables until stopped.
    pub fn run(self) -> Outcome {
        let config = subscribers::load(&self.config)?;
        let names = Names::of(&config);
        let pin_path = Path::new(&config.node.pin_path);
        let (mut before, mut at) = (attached(pin_path)?, Instant::now());
        let mut turn = 0;
        while self.turns.is_none_or(|turns| turn < turns) {
            std::thread::sleep(Duration::from_secs_f64(self.interval));
            let (now, elapsed) = (attached(pin_path)?, at.elapsed());
            at = Instant::now();
            let mut out = io::stdout().lock();
            if out.is_terminal() {
                // Move the cursor home and clear the screen.
                write!(out, "\x1b[H\x1b[J")?;
            }
            write!(out, "{}", printable(&view(&before, &now, elapsed, self.users, &names)))?;
            out.flush()?;
            before = now;
            turn += 1;
        }
        Ok(())
    }
}

fn view(before: &Snapshot, now: &Snapshot, elapsed: Duration, most_users: usize, names: &Names) -> String {
    let mut text = format!(
        "{:<16} {:>14} {:>14} {:>9} {:>12} {:>9} {:>9}{}\n",
        "port",
        "queue",
        "threshold",
        "average",
        "accepted",
        "dropped",
        "overlimit",
        marked_title(now)
    );
    for port in &now.ports {
        text += &format!(
            "{:<16} {:>14} {:>14} {:>9.3} {:>12} {:>9} {:>9}{}\n",
            port.interface,
            port.record.queue_in_words(port.state.queue),
            port.record.queue_in_words(port.state.threshold),
            port.state.average().to_f64(),
            port.counts.accepted,
            port.counts.dropped,
            port.counts.overlimit,
            marked(now, port)
        );
    }
    let earlier: HashMap<UserKey, u64> = before.users.iter().map(|user| (user.key, user.state.bytes)).collect();
    let mut users: Vec<_> = now
        .users
        .iter()
        // A user that was removed and added again has fewer bytes than before.
        .map(|user| (user.state.bytes.saturating_sub(earlier.get(&user.key).copied().unwrap_or(0)), user))
        .collect();
    users.sort_by_key(|(bytes, user)| (std::cmp::Reverse(*bytes), user.key));
    let total: u64 = users.iter().map(|(bytes, _)| bytes).sum();
    text += &format!("\n{:<44} {:>14} {:>7} {:>9} {:>9}\n", "user", "rate", "share", "activity", "dropped");
    for (bytes, user) in users.iter().take(most_users) {
        let rate = BitRate((*bytes as f64 * 8e-3 / elapsed.as_secs_f64()).round() as u64 * 1000);
        text += &format!(
            "{:<44} {:>14} {:>6.1}% {:>9.3} {:>9}\n",
            label(names, user),
            rate.to_string(),
            *bytes as f64 * 100.0 / total.max(1) as f64,
            user.state.activity().to_f64(),
            user.state.dropped
        );
    }
    if users.len() > most_users {
        text += &format!("and {} more\n", counted(users.len() - most_users, "user"));
    }
    text
}
