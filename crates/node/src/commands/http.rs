//! An HTTP server for one page (RFC 9112). Peers are served side by side by one thread, so that none waits for another.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Time from the connection to the end of the request.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);

/// Time from the connection until the peer has read the answer; as long as Prometheus waits by default.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Longest request that is read.
const MOST_REQUEST: usize = 4096;

/// Peers at a time. One more replaces the one that has kept its request back for the longest time.
const MOST_PEERS: usize = 64;

/// Status and body of an answer.
pub type Page = (&'static str, String);

struct Peer {
    stream: TcpStream,
    since: Instant,
    request: Vec<u8>,
    /// The unwritten rest of the answer; `None` until the request is complete.
    answer: Option<Vec<u8>>,
}

/// Serves `/metrics` as `page` makes it, and does not return unless the system refuses to wait.
///
/// # Errors
/// The system refuses.
pub fn serve(listener: &TcpListener, mut page: impl FnMut() -> Page) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut peers: Vec<Peer> = Vec::new();
    loop {
        wait(listener, &peers)?;
        while let Ok((stream, _)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                make_room(&mut peers);
                peers.push(Peer { stream, since: Instant::now(), request: Vec::new(), answer: None });
            }
        }
        // A peer that goes away is no concern of ours.
        peers.retain_mut(|peer| peer.left() > Duration::ZERO && peer.proceed(&mut page).unwrap_or(false));
    }
}

/// Waits for a peer that can go on, or whose time is over.
fn wait(listener: &TcpListener, peers: &[Peer]) -> io::Result<()> {
    fn of(peer: &Peer) -> PollFd<'_> {
        PollFd::new(&peer.stream, if peer.answer.is_some() { PollFlags::OUT } else { PollFlags::IN })
    }
    let all = std::iter::once(PollFd::new(listener, PollFlags::IN)).chain(peers.iter().map(of));
    let left = peers.iter().map(Peer::left).min().and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut all.collect::<Vec<_>>(), left.as_ref()) {
        Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

/// Peers come in the order of their arrival.
fn make_room(peers: &mut Vec<Peer>) {
    if peers.len() >= MOST_PEERS {
        let idle = peers.iter().position(|peer| peer.answer.is_none());
        peers.remove(idle.unwrap_or(0));
    }
}

impl Peer {
    /// Time until this peer is cut off.
    fn left(&self) -> Duration {
        let within = if self.answer.is_some() { ANSWER_WITHIN } else { REQUEST_WITHIN };
        within.saturating_sub(self.since.elapsed())
    }

    /// Reads and writes what can be without waiting. Returns whether there is more to do.
    fn proceed(&mut self, page: impl FnMut() -> Page) -> io::Result<bool> {
        if self.answer.is_none() {
            let mut bytes = [0; MOST_REQUEST];
            let Some(length) = unless_blocked(self.stream.read(&mut bytes))? else { return Ok(true) };
            self.request.extend(&bytes[..length]);
            let end = self.request.windows(4).position(|end| end == b"\r\n\r\n");
            match end {
                Some(end) => self.answer = Some(answer(&self.request[..end], page)),
                // It has closed its side, or sends without end.
                None => return Ok(length > 0 && self.request.len() < MOST_REQUEST),
            }
        }
        let answer = self.answer.get_or_insert_default();
        while !answer.is_empty() {
            let Some(length) = unless_blocked(self.stream.write(answer))? else { return Ok(true) };
            answer.drain(..length);
        }
        Ok(false)
    }
}

fn unless_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        other => other.map(Some),
    }
}

fn answer(head: &[u8], mut page: impl FnMut() -> Page) -> Vec<u8> {
    let (status, body) = match refused(head) {
        Some((status, problem)) => (status, format!("{problem}\n")),
        None => page(),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    (head + &body).into_bytes()
}

/// Why a request is not answered with the page.
fn refused(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let request = lines.next().unwrap_or_default();
    let fields = lines.filter_map(|line| line.split_once(':'));
    let hosts: Vec<&str> =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.trim()).collect();
    // A browser that was led here by the name of somebody else (DNS rebinding) says that name.
    match hosts[..] {
        [host] if is_local(host) => {}
        [] if request.ends_with(" HTTP/1.0") => {}
        [_] => return Some(("421 Misdirected Request", "Host must be localhost or a loopback address")),
        _ => return Some(("400 Bad Request", "one Host is needed")),
    }
    (!request.starts_with("GET /metrics ")).then_some(("404 Not Found", "only GET /metrics"))
}

/// Checks that a `Host` is localhost or a loopback address, so that no DNS answer can point it here.
fn is_local(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if let Some(address) = v6.map(str::parse::<Ipv6Addr>) {
        return address.is_ok_and(|address| address.is_loopback());
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_to_this_host_have_the_page() {
        let status = |request: &str| {
            let answer = String::from_utf8(answer(request.as_bytes(), || ("200 OK", "page\n".into()))).unwrap();
            assert_eq!(answer.ends_with("\r\n\r\npage\n"), answer.starts_with("HTTP/1.1 200 "), "{answer}");
            answer[9..12].to_string()
        };
        let of_host = |host: &str| status(&format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\nhOST:{host}"));
        for host in ["127.0.0.1:9550", "127.9.9.9", " localhost ", "LocalHost:80", "[::1]:9550", "[::1]"] {
            assert_eq!(of_host(host), "200", "{host}");
        }
        for host in [
            "evil.example:9550",
            "10.0.0.1",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[::2]",
            "",
            "::1",
            "x@localhost",
        ] {
            assert_eq!(of_host(host), "421", "{host}");
        }
        for (request, expected) in [
            ("GET /metrics HTTP/1.0", "200"),
            ("GET /metrics HTTP/1.1", "400"),
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example", "400"),
            ("GET / HTTP/1.1\r\nHost: localhost", "404"),
            ("POST /metrics HTTP/1.1\r\nHost: localhost", "404"),
            ("\u{0}", "400"),
        ] {
            assert_eq!(status(request), expected, "{request:?}");
        }
    }
}
