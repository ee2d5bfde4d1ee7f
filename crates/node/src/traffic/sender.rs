//! Sends UDP packets with constant or exponential gaps.

use super::PayloadHeader;
use crate::histogram;
use crate::io;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::choices;
use fairlane_schemes::port::DelayHistogram;
use serde_json::{Value as Json, json};
use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, UdpSocket};

choices! {
    /// Gaps between packets.
    pub enum Gaps {
        /// Equal gaps, except for the jitter.
        Constant = "cbr",
        /// Exponential: a Poisson process.
        Exponential = "poisson",
    }
}

/// Parameters of a sender.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Address and port of the receiver.
    pub to: SocketAddr,
    /// Rate, including IP and UDP headers.
    pub rate: BitRate,
    /// Payload of a packet, at least [`PayloadHeader::BYTES`].
    pub payload: usize,
    /// Distribution of the gaps between packets.
    pub gaps: Gaps,
    /// Width of the jitter of constant gaps, as a multiple of the gap: 0.1 means up to 5 % in either direction.
    pub jitter: f64,
    /// Duration. Without a duration, the sender runs until a signal.
    pub time: Option<Time>,
    /// Seed of gaps and phase.
    pub seed: u64,
    /// Stream number in the packets.
    pub stream: u32,
}

impl Sending {
    /// Bytes of a packet at the IP layer.
    #[must_use]
    pub fn packet_bytes(&self) -> u64 {
        let headers = if self.to.is_ipv4() { 28 } else { 48 };
        self.payload as u64 + headers
    }

    fn gap_s(&self, mean_s: f64, rng: &mut Rng) -> f64 {
        match self.gaps {
            Gaps::Constant => mean_s * (1.0 + self.jitter * (rng.open01() - 0.5)),
            Gaps::Exponential => rng.exponential(mean_s),
        }
    }
}

/// Sends until the duration ends or a signal arrives, and returns a report. Late packets are sent immediately, to keep
/// the rate.
///
/// # Errors
/// The socket cannot be opened.
pub fn send(sending: &Sending) -> Result<Json, Error> {
    let socket = UdpSocket::bind(if sending.to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.connect(sending.to)?;
    io::note_signals();
    let _ = io::make_realtime(0); // timers without slack
    let mut rng = Rng::stream(sending.seed, 0, "sender", u64::from(sending.stream));
    let mean_s = sending.rate.time_of(sending.packet_bytes()).as_secs_f64();
    let mut payload = vec![0; sending.payload];
    let (mut sequence, mut refused, mut lateness) = (0, 0u64, DelayHistogram::default());
    let start = io::monotonic();
    let end = sending.time.map_or(Time::NEVER, |time| start + time);
    // A random phase: otherwise, senders that start together would send together.
    let mut due = start + Time::from_secs_f64(mean_s * rng.open01());
    while due < end && io::asked() != Some(io::Asked::Stop) {
        let mut now = io::monotonic();
        if now >= end {
            break; // too slow for the rate
        }
        if now < due {
            io::sleep_until(due.min(now + Time::from_millis(100)));
            now = io::monotonic();
            if now < due {
                continue; // a long gap, or a signal
            }
        }
        PayloadHeader { stream: sending.stream, sequence, sent_ns: now.0 / 1000 }.write(&mut payload);
        // Without a receiver, or with a full interface queue, the packet is lost, as in the network.
        match socket.send(&payload) {
            Err(error) if error.kind() != ErrorKind::Interrupted => refused += 1,
            _ => {}
        }
        sequence += 1;
        lateness.record(now - due);
        due += Time::from_secs_f64(sending.gap_s(mean_s, &mut rng));
    }
    let lasted_s = io::monotonic().saturating_sub(start).as_secs_f64();
    Ok(json!({
        "packets": sequence,
        "refused": refused,
        "rate_bps": (sequence * sending.packet_bytes() * 8) as f64 / lasted_s,
        "time_s": lasted_s,
        "lateness": histogram::report(&lateness),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sending(gaps: Gaps, jitter: f64) -> Sending {
        let to = "127.0.0.1:9".parse().unwrap();
        Sending { to, rate: BitRate(12_000_000), payload: 1472, gaps, jitter, time: None, seed: 1, stream: 0 }
    }

    #[test]
    fn gaps_have_their_mean_and_spread() {
        let n = 100_000;
        let moments = |gaps, jitter| {
            let (sending, mut rng) = (sending(gaps, jitter), Rng::stream(1, 0, "test", 0));
            let mean_s = sending.rate.time_of(sending.packet_bytes()).as_secs_f64();
            let draws: Vec<f64> = (0..n).map(|_| sending.gap_s(mean_s, &mut rng)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let deviation = (draws.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / f64::from(n)).sqrt();
            (mean * 1e3, deviation / mean)
        };
        // The mean gap is 1500 B / 12 Mbit/s = 1 ms. The coefficient of variation is 0 for constant gaps,
        // width/sqrt(12) with jitter, and 1 for exponential gaps. The tolerance is five standard errors.
        let (root_n, close) = (f64::from(n).sqrt(), |a: f64, b: f64, error: f64| (a - b).abs() < 5.0 * error);
        for (gaps, jitter, variation) in
            [(Gaps::Constant, 0.0, 0.0), (Gaps::Constant, 1.0, 1.0 / 12f64.sqrt()), (Gaps::Exponential, 0.0, 1.0)]
        {
            let (mean, found) = moments(gaps, jitter);
            assert!(close(mean, 1.0, variation / root_n + 1e-9), "{mean}");
            assert!(close(found, variation, 2.0 * variation / root_n + 1e-6), "{found}");
        }
    }

    #[test]
    fn what_is_sent_arrives_at_the_rate_asked_for() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_nonblocking(true).unwrap();
        let to = receiver.local_addr().unwrap();
        let time = Some(Time::from_millis(200));
        let report =
            send(&Sending { to, payload: 100, time, rate: BitRate(1_024_000), ..sending(Gaps::Constant, 0.0) });
        // 128 B at 1.024 Mbit/s are 1000 packets per second; a busy machine may lose some at the end. The receive
        // buffer holds all of them.
        let sent = report.unwrap()["packets"].as_u64().unwrap();
        assert!((100..=200).contains(&sent), "{sent}");
        let mut buffer = [0; 200];
        for sequence in 0..sent {
            assert_eq!(receiver.recv(&mut buffer).unwrap(), 100);
            assert_eq!(PayloadHeader::read(&buffer).unwrap().sequence, sequence);
        }
    }
}
