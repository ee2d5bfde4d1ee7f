//! `radius`: listens to RADIUS accounting, so that sessions of an access network become subscribers of the node.

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

/// Requests that are one change at most.
const MOST_AT_ONCE: usize = 512;

/// Shortest wait for a request, if there is something to be told.
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// Arguments of `radius`.
#[derive(Args)]
pub struct Radius {
    /// The configuration
    config: PathBuf,
    /// File with the secret that servers share, without a line end that belongs to it
    #[arg(long, value_name = "FILE")]
    secret: PathBuf,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:1813")]
    listen: SocketAddr,
    /// Where requests may come from, a prefix or address; again for each of them
    #[arg(long = "from", value_name = "PREFIX", default_values = ["127.0.0.0/8", "::1"], value_parser = prefix)]
    servers: Vec<Prefix>,
    /// File for counters of requests, as the textfile collector of the node exporter reads it; written once a second at
    /// most
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
}

fn prefix(text: &str) -> Result<Prefix, String> {
    text.parse().map_err(|error: PrefixError| format!("must be a prefix such as 192.0.2.0/28, it {error}"))
}

/// A request, and who waits for the answer.
type Waiting = (Request, SocketAddr);

impl Radius {
    /// Listens until it is stopped.
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
                    // A server that does not get it asks again.
                    let _ = socket.send_to(&answer, to);
                }
            }
            self.tell(&mut tally);
        }
    }

    /// Says what became of requests, if it is time for that.
    fn tell(&self, tally: &mut Tally) {
        let Some((line, counters)) = tally.tell(Instant::now()) else { return };
        if !line.is_empty() {
            warn(&line);
        }
        if let Some(Err(error)) = self.metrics.as_deref().map(|path| write(path, &counters)) {
            warn(&error);
        }
    }

    /// What waits, or comes first; nothing if there is something to be told before.
    fn receive(&self, socket: &UdpSocket, secret: &[u8], tally: &mut Tally) -> std::io::Result<Vec<Waiting>> {
        let mut requests = Vec::new();
        let mut bytes = [0; MOST_BYTES];
        // A time of zero would be none.
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

/// Writes a file aside, and puts it in its place.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let aside = path.with_extension("part");
    std::fs::write(&aside, text)
        .and_then(|()| std::fs::rename(&aside, path))
        .map_err(|error| format!("--metrics: {}: {error}", path.display()))
}

/// Makes the changes of requests. Returns those that were kept, which are to be answered (RFC 2866, 2).
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
        // What no single request is to blame for, such as a table without room for all, may have room for some.
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

/// Returns true if the file or the maps failed, rather than a single change.
fn is_of_the_disk(error: &ChangeError) -> bool {
    matches!(error, ChangeError::Store(_) | ChangeError::NotKept(_) | ChangeError::Half { .. })
}
