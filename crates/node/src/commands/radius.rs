//! `radius`: receives RADIUS accounting and adds a subscriber for each session of an access network.

use super::{Outcome, print_out, warn};
use clap::Args;
use fairlane_node::config::{Prefix, PrefixError};
use fairlane_node::subscribers::ended::Ended;
use fairlane_node::subscribers::radius::{Event, MOST_BYTES, Refused, Request};
use fairlane_node::subscribers::tally::Tally;
use fairlane_node::subscribers::{ChangeError, Live, sessions};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum number of requests in one change.
const MOST_AT_ONCE: usize = 512;

/// Minimum time to wait for a request while a report is pending.
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// Arguments of `radius`.
#[derive(Args)]
pub struct Radius {
    /// Configuration file
    config: PathBuf,
    /// File with the shared secret of the RADIUS servers; a final line break is not part of it
    #[arg(long, value_name = "FILE")]
    secret: PathBuf,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:1813")]
    listen: SocketAddr,
    /// Prefix or address from which requests are accepted; repeat for several
    #[arg(long = "from", value_name = "PREFIX", default_values = ["127.0.0.0/8", "::1"], value_parser = prefix)]
    servers: Vec<Prefix>,
    /// File for counters of requests, for the textfile collector of the node exporter; written at most once a second
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
}

fn prefix(text: &str) -> Result<Prefix, String> {
    text.parse().map_err(|error: PrefixError| format!("must be a prefix such as 192.0.2.0/28, it {error}"))
}

/// A request, and the address for the answer.
type Waiting = (Request, SocketAddr);

impl Radius {
    /// Listens until stopped.
    pub fn run(self) -> Outcome {
        let named = |problem: &dyn std::fmt::Display| format!("--secret: {}: {problem}", self.secret.display());
        let secret = std::fs::read_to_string(&self.secret).map_err(|error| named(&error))?;
        let secret = secret.trim_end_matches(['\n', '\r']).as_bytes();
        if secret.is_empty() {
            return Err(named(&"is empty").into());
        }
        let mut live = Live::open(&self.config)?;
        let socket = UdpSocket::bind(self.listen).map_err(|error| format!("--listen: {}: {error}", self.listen))?;
        let (mut tally, mut ended) = (Tally::default(), Ended::default());
        if let Some(path) = &self.metrics {
            write(path, &tally.prometheus())?;
        }
        let _ = print_out(&format!("listening at {}\n", socket.local_addr()?));
        loop {
            for problem in live.take_problems() {
                warn(&problem);
            }
            let requests = self.receive(&socket, secret, &mut tally)?;
            for (request, to) in apply(&mut live, &mut ended, &requests, &mut tally) {
                if let Some(answer) = request.answer() {
                    // A server that gets no answer repeats its request.
                    let _ = socket.send_to(&answer, to);
                }
            }
            self.tell(&mut tally);
        }
    }

    /// If a report is due, logs the outcome of requests and writes the counters.
    fn tell(&self, tally: &mut Tally) {
        let Some((line, counters)) = tally.tell(Instant::now()) else { return };
        if !line.is_empty() {
            warn(&line);
        }
        if let Some(Err(error)) = self.metrics.as_deref().map(|path| write(path, &counters)) {
            warn(&error);
        }
    }

    /// Returns the pending requests, or waits for the next one. Returns an empty list if a report is due first.
    fn receive(&self, socket: &UdpSocket, secret: &[u8], tally: &mut Tally) -> std::io::Result<Vec<Waiting>> {
        let mut requests = Vec::new();
        let mut bytes = [0; MOST_BYTES];
        // A timeout of zero would mean no timeout.
        socket.set_read_timeout(tally.due_in(Instant::now()).map(|time| time.max(LEAST_WAIT)))?;
        socket.set_nonblocking(false)?;
        for number in 0..MOST_AT_ONCE {
            match socket.recv_from(&mut bytes) {
                Ok((length, from)) => match self.read(&bytes[..length], secret, from) {
                    Ok(request) => requests.push((request, from)),
                    Err(refused) => tally.discarded(from, refused),
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if number == 0 {
                socket.set_nonblocking(true)?;
            }
        }
        Ok(requests)
    }

    fn read(&self, bytes: &[u8], secret: &[u8], from: SocketAddr) -> Result<Request, Refused> {
        let address = from.ip().to_canonical();
        if !self.servers.iter().any(|servers| servers.contains(address)) {
            return Err(Refused::Stranger);
        }
        let arrival = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Request::read(bytes, secret, address, arrival)
    }
}

/// Writes a temporary file and renames it.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let aside = path.with_extension("part");
    std::fs::write(&aside, text)
        .and_then(|()| std::fs::rename(&aside, path))
        .map_err(|error| format!("--metrics: {}: {error}", path.display()))
}

/// Applies the changes of requests. Returns the requests that were stored; only these may be answered (RFC 2866,
/// section 2).
fn apply<'a>(live: &mut Live, ended: &mut Ended, requests: &'a [Waiting], tally: &mut Tally) -> Vec<&'a Waiting> {
    let events: Vec<&Event> = requests.iter().map(|(request, _)| &request.event).collect();
    let (mut refused, mut ends) = (Vec::new(), HashMap::new());
    let changed = live.change(|live| {
        let judged = sessions::judge(live, ended, &events);
        (refused, ends) = (judged.refused, judged.ends);
        Ok(judged.changes)
    });
    match changed {
        Ok(_) => ended.extend(ends),
        // If a batch fails as a whole, for example because the table is full, single requests may still fit.
        Err(error) if requests.len() > 1 && !is_of_the_disk(&error) => {
            let (first, last) = requests.split_at(requests.len() / 2);
            let mut kept = apply(live, ended, first, tally);
            kept.extend(apply(live, ended, last, tally));
            return kept;
        }
        Err(error) => {
            requests.iter().for_each(|(_, from)| tally.not_kept(from, &error));
            return Vec::new();
        }
    }
    let mut kept = Vec::new();
    for (waiting, refused) in requests.iter().zip(refused) {
        match refused {
            Some(error) => tally.not_kept(waiting.1, error),
            None => {
                tally.kept(waiting.0.passed_over);
                kept.push(waiting);
            }
        }
    }
    kept
}

/// Returns true if writing the file or the maps failed, not a single change.
fn is_of_the_disk(error: &ChangeError) -> bool {
    matches!(error, ChangeError::Store(_) | ChangeError::NotKept(_) | ChangeError::Half { .. })
}
