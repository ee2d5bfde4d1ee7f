//! Receives and counts packets of our sender.

use super::PayloadHeader;
use crate::histogram;
use crate::io::{self, Asked};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::port::DelayHistogram;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::Error;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Maximum number of streams. Packets of further streams are counted in `foreign_packets`.
const MOST_STREAMS: usize = 1024;
const RECEIVE_BUFFER: usize = 4 << 20;
/// Interval between checks for signals while no packet arrives.
const LOOK: Duration = Duration::from_millis(50);

/// Counters of one stream since the last report.
#[derive(Clone, Debug, Default)]
struct Stream {
    packets: u64,
    payload_bytes: u64,
    /// Packets with a lower number than an earlier packet.
    reordered: u64,
    /// Lowest and highest packet number that arrived.
    numbers: Option<(u64, u64)>,
    /// Delay from sender to sink; only meaningful if both are on one machine.
    delay: DelayHistogram,
}

impl Stream {
    fn add(&mut self, header: PayloadHeader, bytes: usize, now: Time) {
        self.packets += 1;
        self.payload_bytes += bytes as u64;
        let (first, last) = self.numbers.unwrap_or((header.sequence, header.sequence));
        self.reordered += u64::from(header.sequence < last);
        self.numbers = Some((first.min(header.sequence), last.max(header.sequence)));
        self.delay.record(now.saturating_sub(Time::from_nanos(header.sent_ns)));
    }

    fn report(&self, number: u32, window_s: f64) -> Json {
        let expected = self.numbers.map_or(0, |(first, last)| last - first + 1);
        json!({
            "stream": number,
            "packets": self.packets,
            "payload_bytes": self.payload_bytes,
            "goodput_bps": self.payload_bytes as f64 * 8.0 / window_s,
            "lost_packets": expected.saturating_sub(self.packets),
            "reordered_packets": self.reordered,
            "delay": histogram::report(&self.delay),
        })
    }
}

/// Receives at `address` until a signal (SIGINT, SIGTERM) or until `time` has passed. Calls `report` with `{"ready":
/// true}` once the socket is open, and with the counters since the last report at every SIGUSR1 and at the end.
///
/// # Errors
/// The socket cannot be opened.
pub fn receive(address: SocketAddr, time: Option<Time>, mut report: impl FnMut(&Json)) -> Result<(), Error> {
    let socket = UdpSocket::bind(address)?;
    socket.set_read_timeout(Some(LOOK))?;
    // Requests a large buffer, because an overflow while the sink is not scheduled would look like network loss.
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
    io::note_signals();
    let mut streams: BTreeMap<u32, Stream> = BTreeMap::new();
    let (start, mut foreign, mut buffer) = (io::monotonic(), 0u64, vec![0; 65_536]);
    let mut since = start;
    report(&json!({"ready": true}));
    loop {
        if let Ok(bytes) = socket.recv(&mut buffer) {
            let now = io::monotonic();
            match PayloadHeader::read(&buffer[..bytes]) {
                Some(header) if streams.len() < MOST_STREAMS || streams.contains_key(&header.stream) => {
                    streams.entry(header.stream).or_default().add(header, bytes, now);
                }
                _ => foreign += 1,
            }
        }
        let now = io::monotonic();
        let is_over = time.is_some_and(|time| now >= start + time);
        let asked = if is_over { Some(Asked::Stop) } else { io::asked() };
        if asked.is_some() {
            let window_s = now.saturating_sub(since).as_secs_f64().max(1e-9);
            let of_each = streams.iter().map(|(&number, stream)| stream.report(number, window_s));
            report(&json!({
                "window_s": window_s,
                "streams": of_each.collect::<Vec<_>>(),
                "foreign_packets": foreign,
            }));
            (streams, foreign, since) = (BTreeMap::new(), 0, now);
        }
        if asked == Some(Asked::Stop) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_reordering_are_seen_by_number() {
        let mut stream = Stream::default();
        for sequence in [10, 11, 14, 13] {
            stream.add(PayloadHeader { stream: 0, sequence, sent_ns: 1000 }, 100, Time::from_micros(3));
        }
        let report = stream.report(0, 2.0);
        let counts = ["packets", "payload_bytes", "lost_packets", "reordered_packets"].map(|name| report[name].clone());
        assert_eq!(counts, [4, 400, 1, 1]);
        assert_eq!((&report["goodput_bps"], &report["delay"]["mean_s"]), (&json!(1600.0), &json!(2e-6)));
    }
}
