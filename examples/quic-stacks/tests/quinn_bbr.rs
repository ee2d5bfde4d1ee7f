//! Checks what docs/howto/test-your-controller.md says about quinn's BBR, with handmade ACKs, without driver and
//! simulator.

use quic_stacks::quinn::{RttOracle, epoch};
use quinn_proto::congestion::{BbrConfig, ControllerFactory};
use std::sync::Arc;
use std::time::{Duration, Instant};

const DATAGRAM: u64 = 1200;
const MS: Duration = Duration::from_millis(1);
/// Rate of one datagram per millisecond, in bits per second.
const RATE: f64 = 9.6e6;
/// Gains of BBR's cycle.
const GAINS: [f64; 3] = [0.75, 1.0, 1.25];

/// Returns BBR's pacing rate after 20 000 datagrams. `sent` gives the time at which each datagram is sent. Each ACK
/// covers `together` datagrams, and arrives 40 datagrams later.
fn pacing_rate(together: u32, sent: impl Fn(u32) -> Instant) -> f64 {
    let mut bbr = Arc::new(BbrConfig::default()).build(epoch(), DATAGRAM as u16);
    let mut oracle = RttOracle::new();
    oracle.sample(40 * MS);
    for number in 1..=20_000 {
        let now = sent(number);
        bbr.on_sent(now, DATAGRAM, number.into());
        if number > 40 && number % together == 0 {
            let rtt = oracle.sample(now - sent(number - 40));
            for acked in number - 40 - (together - 1)..=number - 40 {
                bbr.on_ack(now, sent(acked), DATAGRAM, false, &rtt);
            }
            bbr.on_end_acks(now, 40 * DATAGRAM, false, Some((number - 40).into()));
        }
    }
    bbr.metrics().pacing_rate.expect("BBR has one") as f64
}

#[test]
fn its_estimate_is_the_rate_divided_by_the_packets_of_an_ack() {
    for together in [1, 2, 4] {
        let part = pacing_rate(together, |number| epoch() + MS * number) / RATE * f64::from(together);
        assert!(GAINS.iter().any(|gain| (part - gain).abs() < 0.01), "{together}: {part}");
    }
}

#[test]
fn its_estimate_stays_when_the_rate_falls() {
    // Half of the rate from the 10 000th datagram on, for 20 s: 250 round trips of 80 ms, 25 times the filter's window.
    let sent = |number: u32| epoch() + MS * (number + number.saturating_sub(10_000));
    let part = pacing_rate(1, sent) / RATE;
    assert!(GAINS.iter().any(|gain| (part - gain).abs() < 0.01), "{part}");
}
