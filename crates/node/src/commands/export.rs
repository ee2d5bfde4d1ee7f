//! `export`: counters as Prometheus text (exposition format 0.0.4) over HTTP, on the loopback interface only.
//!
//! Up to a limit, each user has its own series. If there are more users, only the users that sent most since the
//! previous scrape have a series. Aggregates cover all users. So the size of a scrape does not grow with the number of
//! users.

use super::{Outcome, absent, attached, http, print_out};
use clap::Args;
use fairlane_node::config::escaped;
use fairlane_node::kernel::{Labels, PortView, Snapshot, UserView};
use fairlane_node::names::Names;
use fairlane_node::records::UserKey;
use fairlane_node::subscribers;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// Arguments of `export`.
#[derive(Args)]
pub struct Export {
    /// Configuration file: names of users, absent ports
    config: PathBuf,
    /// Loopback address to listen on
    #[arg(long, default_value = "127.0.0.1:9550")]
    listen: SocketAddr,
    /// Maximum number of users with their own series. If there are more users, only the users that sent most since the
    /// previous scrape have a series
    #[arg(long, default_value_t = 1000)]
    users: usize,
}

impl Export {
    /// Serves until stopped.
    pub fn run(self) -> Outcome {
        subscribers::load(&self.config)?;
        if !self.listen.ip().is_loopback() {
            return Err(format!("--listen: {} is not a loopback address such as 127.0.0.1:9550", self.listen).into());
        }
        let listener = TcpListener::bind(self.listen).map_err(|error| format!("--listen: {}: {error}", self.listen))?;
        // Ignores errors: scrapes work without a standard output.
        let _ = print_out(&format!("serving http://{}/metrics\n", listener.local_addr()?));
        let mut exporter = Exporter { path: self.config, most_users: self.users, before: HashMap::new() };
        http::serve(&listener, || match exporter.text() {
            Ok(text) => ("200 OK", text),
            Err(error) => ("503 Service Unavailable", format!("{error}\n")),
        })?;
        Ok(())
    }
}

/// State of the exporter between scrapes.
struct Exporter {
    path: PathBuf,
    most_users: usize,
    /// Bytes of each user at the previous scrape; empty unless there were more users than series.
    before: HashMap<UserKey, u64>,
}

impl Exporter {
    /// Returns the answer to a scrape. Reads the configuration again, since it may have changed.
    fn text(&mut self) -> Result<String, Box<dyn std::error::Error>> {
        let config = subscribers::load(&self.path)?;
        let snapshot = attached(Path::new(&config.node.pin_path))?;
        let shown = self.select(&snapshot);
        Ok(text(&snapshot, &shown, &absent(&config, &snapshot), &Names::of(&config)))
    }

    /// Returns all users if each can have a series. Otherwise returns the users that sent most since the previous
    /// scrape, ordered by key.
    fn select<'a>(&mut self, snapshot: &'a Snapshot) -> Vec<&'a UserView> {
        let mut users: Vec<&UserView> = snapshot.users.iter().collect();
        if users.len() <= self.most_users {
            self.before.clear();
            return users;
        }
        // A user that was removed and added again has fewer bytes than before.
        let sent = |user: &UserView| user.state.bytes.saturating_sub(self.before.get(&user.key).copied().unwrap_or(0));
        users.sort_by_cached_key(|user| (std::cmp::Reverse(sent(user)), user.key));
        users.truncate(self.most_users);
        users.sort_by_key(|user| user.key);
        self.before = snapshot.users.iter().map(|user| (user.key, user.state.bytes)).collect();
        users
    }
}

/// A metric of all ports or users: name, kind, help, value.
type Metric<T> = (&'static str, &'static str, &'static str, fn(&T) -> f64);

/// A metric that only some ports have: name, help, value.
type Gauge = (&'static str, &'static str, fn(&PortView) -> Option<f64>);

/// Metrics of queue and threshold: in the unit of the port's thresholds, and as a delay if the rate is known.
const QUEUES: [Gauge; 6] = [
    ("port_queue_packets", "Queue found by the last packet, for ports with thresholds in packets.", |port| {
        port.record.packets(port.state.queue)
    }),
    ("port_queue_bytes", "Queue found by the last packet, for ports with thresholds in bytes or time.", |port| {
        port.record.bytes(port.state.queue)
    }),
    ("port_queue_seconds", "Time that the link needs to send that queue, for ports whose rate is known.", |port| {
        port.record.delay_s(port.state.queue)
    }),
    (
        "port_drop_threshold_packets",
        "Drop threshold of the last packet, for ports with thresholds in packets.",
        |port| port.record.packets(port.state.threshold),
    ),
    (
        "port_drop_threshold_bytes",
        "Drop threshold of the last packet, for ports with thresholds in bytes or time.",
        |port| port.record.bytes(port.state.threshold),
    ),
    ("port_drop_threshold_seconds", "Drop threshold as a time of the link, for ports whose rate is known.", |port| {
        port.record.delay_s(port.state.threshold)
    }),
];

const OF_PORTS: [Metric<PortView>; 8] = [
    ("port_accepted_packets_total", "counter", "Packets accepted.", |port| port.counts.accepted as f64),
    ("port_accepted_bytes_total", "counter", "Bytes accepted, Ethernet header included.", |port| {
        port.counts.accepted_bytes as f64
    }),
    ("port_average_activity", "gauge", "Average activity of accepted packets.", |port| port.state.average().to_f64()),
    ("port_fair_rate", "gauge", "Fair rate of CSFQ in reference rates, 0 without an estimate.", |port| {
        if port.record.scheme() == "csfq" { port.state.fair_rate().unwrap_or(0.0) } else { 0.0 }
    }),
    (
        "port_labels_held_back_packets_total",
        "counter",
        "Packets sent without a label because the far end did not announce that it reads labels.",
        |port| port.held_back as f64,
    ),
    ("port_marked_packets_total", "counter", "Accepted packets that were ECN-marked instead of dropped.", |port| {
        port.counts.marked as f64
    }),
    ("port_control_packets_total", "counter", "Control packets that passed the AQM within their rate.", |port| {
        port.counts.control as f64
    }),
    (
        "port_control_excess_packets_total",
        "counter",
        "Control packets above their rate, treated by the AQM like other unlabelled packets.",
        |port| port.counts.control_excess as f64,
    ),
];

/// Reason of drops, and their number.
type Drops = (&'static str, fn(&PortView) -> f64);

const DROPS: [Drops; 2] = [("aqm", |port| port.counts.dropped as f64), ("limit", |port| port.counts.overlimit as f64)];
const DROPS_NAME: &str = "port_dropped_packets_total";
const ATTACHED_NAME: &str = "port_attached";
const LABELS_NAME: &str = "port_labels";

const OF_USERS: [Metric<UserView>; 4] = [
    ("user_packets_total", "counter", "Packets metered.", |user| user.state.packets as f64),
    ("user_bytes_total", "counter", "Bytes metered, including the IP header.", |user| user.state.bytes as f64),
    ("user_dropped_packets_total", "counter", "Packets dropped by AQMs of this node.", |user| {
        user.state.dropped as f64
    }),
    ("user_activity", "gauge", "Activity at the last packet.", |user| user.state.activity().to_f64()),
];

/// Names of the metrics that summarise all users, including users without their own series.
const USERS_NAME: &str = "users";
const DROPPED_NAME: &str = "users_dropped_packets_total";
const SHOWN_NAME: &str = "users_shown";
const PLACES_NAMES: [&str; 2] = ["users_configured", "users_configured_limit"];
const QUANTILES_NAME: &str = "users_activity";
const QUANTILES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 1.0];

fn text(snapshot: &Snapshot, shown: &[&UserView], absent: &[&str], names: &Names) -> String {
    let mut text = String::new();
    head(&mut text, ATTACHED_NAME, "gauge", "1 if the interface exists and its programs are attached, else 0.");
    for port in &snapshot.ports {
        line(&mut text, ATTACHED_NAME, &[("port", &port.interface)], 1.0);
    }
    for interface in absent {
        line(&mut text, ATTACHED_NAME, &[("port", interface)], 0.0);
    }
    head(
        &mut text,
        LABELS_NAME,
        "gauge",
        "Label state of a port towards the far end of its link: 1 for the current state, 0 for others.",
    );
    for port in snapshot.ports.iter().filter(|port| port.labels != Labels::None) {
        for state in Labels::ALL {
            let labels = [("port", port.interface.as_str()), ("state", state.name())];
            line(&mut text, LABELS_NAME, &labels, u8::from(state == port.labels).into());
        }
    }
    for (name, kind, help, value) in OF_PORTS {
        head(&mut text, name, kind, help);
        for port in &snapshot.ports {
            line(&mut text, name, &[("port", &port.interface)], value(port));
        }
    }
    for (name, help, value) in QUEUES {
        head(&mut text, name, "gauge", help);
        for port in &snapshot.ports {
            if let Some(value) = value(port) {
                line(&mut text, name, &[("port", &port.interface)], value);
            }
        }
    }
    head(&mut text, DROPS_NAME, "counter", "Packets dropped by the AQM or because the limit was reached.");
    for port in &snapshot.ports {
        for (reason, value) in DROPS {
            line(&mut text, DROPS_NAME, &[("port", &port.interface), ("reason", reason)], value(port));
        }
    }
    of_users(&mut text, snapshot, shown, names);
    for (name, help, value) in snapshot.ingress.named() {
        let name = format!("ingress_{name}_total");
        head(&mut text, &name, "counter", help);
        line(&mut text, &name, &[], value as f64);
    }
    text
}

fn of_users(text: &mut String, snapshot: &Snapshot, shown: &[&UserView], names: &Names) {
    head(text, USERS_NAME, "gauge", "Users that have a meter.");
    line(text, USERS_NAME, &[], snapshot.users.len() as f64);
    head(text, PLACES_NAMES[0], "gauge", "Table entries used by configured users and subscribers.");
    line(text, PLACES_NAMES[0], &[], snapshot.configured.into());
    head(text, PLACES_NAMES[1], "gauge", "Maximum number of these entries until the next detach.");
    line(text, PLACES_NAMES[1], &[], snapshot.places.configured.into());
    head(text, DROPPED_NAME, "counter", "Packets of all users dropped by AQMs of this node.");
    line(text, DROPPED_NAME, &[], snapshot.dropped_of_users() as f64);
    head(text, SHOWN_NAME, "gauge", "Users with their own series in this scrape.");
    line(text, SHOWN_NAME, &[], shown.len() as f64);
    head(text, QUANTILES_NAME, "gauge", "Activity at the last packet, quantiles over all users that have sent.");
    // Users that have not sent packets have no activity.
    let active = snapshot.users.iter().filter(|user| user.state.packets > 0);
    let mut activities: Vec<f64> = active.map(|user| user.state.activity().to_f64()).collect();
    activities.sort_by(f64::total_cmp);
    for quantile in QUANTILES.iter().filter(|_| !activities.is_empty()) {
        // Nearest-rank percentile. Quantile 0 is the minimum.
        let rank = (quantile * activities.len() as f64).ceil().max(1.0) as usize;
        line(text, QUANTILES_NAME, &[("fraction", &quantile.to_string())], activities[rank - 1]);
    }
    let labels: Vec<(String, String)> = shown.iter().map(|user| (names.get(&user.key), user.key.to_string())).collect();
    for (name, kind, help, value) in OF_USERS {
        head(text, name, kind, help);
        for (user, (label, key)) in shown.iter().zip(&labels) {
            line(text, name, &[("user", label), ("key", key)], value(user));
        }
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP fairlane_{name} {help}\n# TYPE fairlane_{name} {kind}").expect("a String takes all");
}

/// Escapes a label. Names of interfaces and users may contain any character. Prometheus has three escapes; other
/// control characters are escaped as in the tool's other output.
fn escaped_label(label: &str) -> String {
    let of = |letter: char| match letter {
        '\\' | '"' => format!("\\{letter}"),
        '\n' => "\\n".into(),
        letter => escaped(letter).map_or_else(|| letter.into(), |code| format!("\\{code}")),
    };
    label.chars().map(of).collect()
}

fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let labels: Vec<String> = labels.iter().map(|(key, label)| format!("{key}=\"{}\"", escaped_label(label))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    writeln!(text, "fairlane_{name}{labels} {value}").expect("a String takes all");
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_node::records::IngressStats;
    use std::collections::BTreeSet;

    fn metrics() -> BTreeSet<String> {
        let fixed = [DROPS_NAME, ATTACHED_NAME, LABELS_NAME, USERS_NAME, DROPPED_NAME, SHOWN_NAME, QUANTILES_NAME];
        let fixed = fixed.into_iter();
        let fixed = fixed.chain(PLACES_NAMES).chain(QUEUES.iter().map(|queue| queue.0));
        let of = OF_PORTS.iter().map(|metric| metric.0).chain(OF_USERS.iter().map(|metric| metric.0)).chain(fixed);
        let ingress = IngressStats::default().named().map(|(name, ..)| format!("ingress_{name}_total"));
        of.map(String::from).chain(ingress.collect::<Vec<_>>()).map(|name| format!("fairlane_{name}")).collect()
    }

    fn named(text: &str) -> BTreeSet<String> {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.filter(|word| word.starts_with("fairlane_")).map(String::from).collect()
    }

    #[test]
    fn dashboard_and_alerts_ask_for_metrics_that_there_are() {
        let board: serde_json::Value =
            serde_json::from_str(include_str!("../../share/grafana-dashboard.json")).unwrap();
        let mut expressions = Vec::new();
        let mut panels = 0;
        for panel in board["panels"].as_array().unwrap() {
            panels += 1;
            for target in panel["targets"].as_array().unwrap() {
                expressions.push(target["expr"].as_str().unwrap().to_string());
            }
        }
        let alerts = include_str!("../../share/prometheus-alerts.yml");
        let of_alerts = named(alerts);
        let of_board: BTreeSet<String> = expressions.iter().flat_map(|expression| named(expression)).collect();
        assert!(panels >= 6 && of_board.len() >= 6 && of_alerts.len() >= 4, "{of_board:?} {of_alerts:?}");
        let known = metrics();
        for name in of_board.iter().chain(&of_alerts) {
            assert!(known.contains(name), "{name} is no metric of the exporter");
        }
    }

    #[test]
    fn an_alert_and_a_panel_ask_for_each_reason_for_which_an_address_finds_no_place() {
        for text in
            [include_str!("../../share/grafana-dashboard.json"), include_str!("../../share/prometheus-alerts.yml")]
        {
            let named = named(text);
            for reason in ["no_room", "user_full", "port_full"] {
                assert!(named.contains(&format!("fairlane_ingress_{reason}_total")), "{reason}");
            }
        }
    }

    #[test]
    fn labels_are_escaped() {
        let mut text = String::new();
        line(&mut text, "x", &[("user", "a\"b\\c\nd\r\u{1b}\u{202e}\u{2028}"), ("key", "k")], 1.5);
        assert_eq!(text, "fairlane_x{user=\"a\\\"b\\\\c\\nd\\\\u000d\\\\u001b\\\\u202e\\\\u2028\",key=\"k\"} 1.5\n");
    }
}
