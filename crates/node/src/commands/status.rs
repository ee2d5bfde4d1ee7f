//! `status`: attached ports and their counters.

use super::{Outcome, absent, attached, attached_without_users, counted, label, marked, marked_title, print_out};
use clap::Args;
use fairlane_node::kernel::{Neighbour, SILENT, Snapshot, UserView};
use fairlane_node::names::Names;
use fairlane_node::records::ClassCounts;
use fairlane_node::subscribers;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// Arguments of `status`.
#[derive(Args)]
pub struct Status {
    /// Configuration file: names of users, absent ports
    config: PathBuf,
    /// Maximum number of users shown, ordered by bytes, then drops [default: 20, or all with --json]. With 0, no users
    /// are read from the maps
    #[arg(long)]
    users: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    /// Prints the state. Returns an error if nothing is attached.
    pub fn run(self) -> Outcome {
        let reads_users = self.users != Some(0);
        let config =
            if reads_users { subscribers::load(&self.config)? } else { subscribers::load_without_users(&self.config)? };
        let pins = Path::new(&config.node.pin_path);
        let mut snapshot = if reads_users { attached(pins)? } else { attached_without_users(pins)? };
        let all = snapshot.users.len();
        let drops =
            Drops { ports: snapshot.dropped_by_ports(), users: reads_users.then(|| snapshot.dropped_of_users()) };
        let most = self.users.unwrap_or(if self.json { all } else { MOST_USERS });
        if all > most {
            let most_first = |user: &UserView| std::cmp::Reverse((user.state.bytes, user.state.dropped));
            snapshot.users.sort_by_key(|user| (most_first(user), user.key));
            snapshot.users.truncate(most);
        }
        let names = Names::of(&config);
        let absent = absent(&config, &snapshot);
        let text = if self.json {
            format!("{}\n", to_json(&snapshot, &absent, reads_users.then_some(all), &drops, &names))
        } else {
            let of_users = if reads_users { users_table(&snapshot, all, &names) } else { String::new() };
            ports_table(&snapshot, &absent) + &labels(&snapshot) + &of_users + &drops.in_words() + &counters(&snapshot)
        };
        Ok(print_out(&text)?)
    }
}

const MOST_USERS: usize = 20;

/// Packets dropped by AQMs, counted by ports and by users.
struct Drops {
    /// Sum over ports.
    ports: u64,
    /// Sum over users, if they were read.
    users: Option<u64>,
}

impl Drops {
    fn in_words(&self) -> String {
        let users = self.users.map_or(String::new(), |users| format!(", users {users}"));
        format!("\ndropped: ports {}{users}\n", self.ports)
    }
}

fn to_json(snapshot: &Snapshot, absent: &[&str], all_users: Option<usize>, drops: &Drops, names: &Names) -> Json {
    let ports: Vec<Json> = snapshot
        .ports
        .iter()
        .map(|port| {
            json!({
                "interface": port.interface,
                "scheme": port.record.scheme(),
                "carrier": port.record.carrier(),
                "average_activity": port.state.average().to_f64(),
                "fair_rate": (port.record.scheme() == "csfq").then(|| port.state.fair_rate()).flatten(),
                "queue_units": port.state.queue,
                "drop_threshold_units": port.state.threshold,
                "queue": port.record.queue_in_words(port.state.queue),
                "queue_seconds": port.record.delay_s(port.state.queue),
                "accepted": port.counts.accepted,
                "accepted_bytes": port.counts.accepted_bytes,
                "dropped": port.counts.dropped,
                "overlimit": port.counts.overlimit,
                "marked": port.counts.marked,
                "unlabelled": port.counts.unlabelled,
                "control": port.counts.control,
                "control_excess": port.counts.control_excess,
                "labels": port.labels.name(),
                "labels_held_back": port.held_back,
                "neighbours": port.neighbours.iter().map(neighbour).collect::<Vec<_>>(),
                "is_silent": port.is_silent,
                "own_qdisc": port.classes.map(|[be, ef]| json!({"be": class(&be), "ef": class(&ef)})),
            })
        })
        .collect();
    let users: Vec<Json> = snapshot
        .users
        .iter()
        .map(|user| {
            json!({
                "user": user.key.to_string(),
                "name": names.get(&user.key),
                "activity": user.state.activity().to_f64(),
                "last_ns": user.state.last_ns,
                "packets": user.state.packets,
                "bytes": user.state.bytes,
                "dropped": user.state.dropped,
            })
        })
        .collect();
    let ingress: serde_json::Map<String, Json> =
        snapshot.ingress.named().map(|(name, _, value)| (name.into(), value.into())).collect();
    json!({
        "start_ns": snapshot.node.start_ns,
        "ports": ports,
        "absent": absent,
        "dropped": {"ports": drops.ports, "users": drops.users},
        "user_count": all_users,
        "users": users,
        "ingress": ingress,
    })
}

fn class(counts: &ClassCounts) -> Json {
    json!({
        "packets": counts.packets,
        "bytes": counts.bytes,
        "waits": counts.waits,
        "mean_wait_seconds": counts.mean_wait_s(),
        "longest_wait_seconds": counts.longest_ns as f64 * 1e-9,
    })
}

fn neighbour(neighbour: &Neighbour) -> Json {
    json!({"mac": neighbour.to_string(), "reads": neighbour.waits_s.is_none(), "waits_seconds": neighbour.waits_s})
}

/// Returns one line for each port that sends or drops labels, or waits for its neighbour.
fn labels(snapshot: &Snapshot) -> String {
    let lines = snapshot.ports.iter().flat_map(|port| {
        let silent = port.is_silent.then(|| SILENT.to_string());
        let texts = port.labels_in_words().into_iter().chain(silent);
        texts.map(|text| format!("{}: {text}\n", port.interface)).collect::<Vec<_>>()
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn ports_table(snapshot: &Snapshot, absent: &[&str]) -> String {
    let mut text = format!(
        "{:<16} {:>10} {:>16} {:>16} {:>12} {:>10} {:>10}{}\n",
        "port",
        "average",
        "queue",
        "threshold",
        "accepted",
        "dropped",
        "overlimit",
        marked_title(snapshot)
    );
    for port in &snapshot.ports {
        let (state, counts) = (&port.state, &port.counts);
        let words = |units| port.record.queue_in_words(units);
        text += &format!(
            "{:<16} {:>10.3} {:>16} {:>16} {:>12} {:>10} {:>10}{}\n",
            port.interface,
            state.average().to_f64(),
            words(state.queue),
            words(state.threshold),
            counts.accepted,
            counts.dropped,
            counts.overlimit,
            marked(snapshot, port)
        );
    }
    for interface in absent {
        text += &format!("{interface:<16} absent\n");
    }
    for (port, classes) in snapshot.ports.iter().filter_map(|port| Some((port, port.classes?))) {
        for (name, counts) in ["be", "ef"].into_iter().zip(classes) {
            text += &format!(
                "{} {name}: {} packets sent, waited {:.3} ms on average, at most {:.3} ms\n",
                port.interface,
                counts.packets,
                counts.mean_wait_s() * 1e3,
                counts.longest_ns as f64 * 1e-6
            );
        }
    }
    text
}

fn users_table(snapshot: &Snapshot, all_users: usize, names: &Names) -> String {
    let mut text = format!("\n{:<44} {:>9} {:>12} {:>15} {:>10}\n", "user", "activity", "packets", "bytes", "dropped");
    for user in &snapshot.users {
        let state = &user.state;
        text += &format!(
            "{:<44} {:>9.3} {:>12} {:>15} {:>10}\n",
            label(names, user),
            state.activity().to_f64(),
            state.packets,
            state.bytes,
            state.dropped
        );
    }
    if all_users > snapshot.users.len() {
        text += &format!("and {} more\n", counted(all_users - snapshot.users.len(), "user"));
    }
    text
}

fn counters(snapshot: &Snapshot) -> String {
    let counters: Vec<_> = snapshot.ingress.named().map(|(name, _, value)| format!("{name} {value}")).collect();
    format!("\ningress: {}\n", counters.join(", "))
}
