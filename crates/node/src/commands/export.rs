//! `export`: all counters as Prometheus text (exposition format 0.0.4) over HTTP, on the loopback interface only.

use super::{Outcome, attached, print_out};
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel::{PortView, Snapshot, UserView};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A peer that neither sends nor reads for so long is left alone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest request that is read.
const MOST_REQUEST: usize = 4096;

/// Arguments of `export`.
#[derive(Args)]
pub struct Export {
    /// The configuration, of which only `node.pin_path` is used
    config: PathBuf,
    /// Address to listen on, a loopback one
    #[arg(long, default_value = "127.0.0.1:9550")]
    listen: SocketAddr,
}

impl Export {
    /// Serves until it is stopped.
    pub fn run(self) -> Outcome {
        let config = NodeConfig::load(&self.config)?;
        if !self.listen.ip().is_loopback() {
            return Err(format!("--listen: {} is not a loopback address such as 127.0.0.1:9550", self.listen).into());
        }
        let listener = TcpListener::bind(self.listen).map_err(|error| format!("--listen: {}: {error}", self.listen))?;
        // Whoever does not read this can scrape nevertheless.
        let _ = print_out(&format!("serving http://{}/metrics\n", listener.local_addr()?));
        for peer in listener.incoming().flatten() {
            // A peer that goes away is no concern of ours.
            let _ = serve(peer, Path::new(&config.node.pin_path));
        }
        Ok(())
    }
}

fn serve(mut peer: TcpStream, pin_path: &Path) -> std::io::Result<()> {
    peer.set_read_timeout(Some(PATIENCE))?;
    peer.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; MOST_REQUEST];
    let mut length = 0;
    while length < MOST_REQUEST && !request[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        match peer.read(&mut request[length..])? {
            0 => break,
            read => length += read,
        }
    }
    let (status, body) = if !request.starts_with(b"GET /metrics ") {
        ("404 Not Found", "only GET /metrics\n".into())
    } else {
        match attached(pin_path) {
            Ok(snapshot) => ("200 OK", text(&snapshot)),
            Err(error) => ("503 Service Unavailable", format!("{error}\n")),
        }
    };
    write!(
        peer,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A metric of each port or user: name, kind, help, value.
type Metric<T> = (&'static str, &'static str, &'static str, fn(&T) -> f64);

const OF_PORTS: [Metric<PortView>; 8] = [
    ("port_accepted_packets_total", "counter", "Packets accepted.", |port| port.state.accepted as f64),
    ("port_accepted_bytes_total", "counter", "Bytes accepted, Ethernet header included.", |port| {
        port.state.accepted_bytes as f64
    }),
    ("port_dropped_packets_total", "counter", "Packets dropped by the AQM.", |port| port.state.dropped as f64),
    ("port_overlimit_packets_total", "counter", "Packets dropped at the limit.", |port| port.state.overlimit as f64),
    ("port_average_activity", "gauge", "Average activity of accepted packets.", |port| port.state.average().to_f64()),
    ("port_fair_rate", "gauge", "Fair rate of CSFQ in reference rates, 0 without an estimate.", |port| {
        if port.record.scheme() == "csfq" { port.state.fair_rate().unwrap_or(0.0) } else { 0.0 }
    }),
    ("port_queue", "gauge", "Queue that the last packet found: packets, bytes or seconds.", |port| {
        port.record.queue_in_units(port.state.queue)
    }),
    ("port_drop_threshold", "gauge", "Drop threshold of the last packet, in the unit of the queue.", |port| {
        port.record.queue_in_units(port.state.threshold)
    }),
];

const OF_USERS: [Metric<UserView>; 4] = [
    ("user_packets_total", "counter", "Packets metered.", |user| user.state.packets as f64),
    ("user_bytes_total", "counter", "Bytes metered, from the IP header on.", |user| user.state.bytes as f64),
    ("user_dropped_packets_total", "counter", "Packets that an AQM of this node dropped.", |user| {
        user.state.dropped as f64
    }),
    ("user_activity", "gauge", "Activity at the last packet.", |user| user.state.activity().to_f64()),
];

fn text(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in OF_PORTS {
        head(&mut text, name, kind, help);
        for port in &snapshot.ports {
            line(&mut text, name, Some(("port", &port.interface)), value(port));
        }
    }
    for (name, kind, help, value) in OF_USERS {
        head(&mut text, name, kind, help);
        for user in &snapshot.users {
            line(&mut text, name, Some(("user", &user.key.to_string())), value(user));
        }
    }
    for (name, help, value) in snapshot.ingress.named() {
        let name = format!("ingress_{name}_total");
        head(&mut text, &name, "counter", help);
        line(&mut text, &name, None, value as f64);
    }
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP fairlane_{name} {help}\n# TYPE fairlane_{name} {kind}").expect("a String takes all");
}

fn line(text: &mut String, name: &str, label: Option<(&str, &str)>, value: f64) {
    // Names of interfaces may hold quotes and backslashes.
    let label = label.map_or_else(String::new, |(key, label)| {
        format!("{{{key}=\"{}\"}}", label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    });
    writeln!(text, "fairlane_{name}{label} {value}").expect("a String takes all");
}
