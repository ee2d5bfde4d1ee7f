//! Controllers of quinn (crate quinn-proto), with the calls that quinn's `Connection` makes.

mod rtt;

use crate::driver::{Allowance, News, Stack};
use crate::entropy;
use fairlane_schemes::base::units::Time;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory, CubicConfig, NewRenoConfig};
pub use rtt::RttOracle;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Start of all simulations. Controllers use only differences of instants.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Pacer of quinn, `connection/pacing.rs`: a burst has the data of 2 ms, 10 to 256 datagrams.
const BURST_TIME: Time = Time::from_millis(2);
const BURST_DATAGRAMS: (u64, u64) = (10, 256);
/// Maximum number of datagrams that quinn passes to the system at once, and reports to the controller as one.
const BATCH: u64 = 10;

/// Returns the instant at which every simulation starts.
#[must_use]
pub fn epoch() -> Instant {
    *EPOCH
}

fn instant(time: Time) -> Instant {
    *EPOCH + duration(time)
}

fn duration(time: Time) -> Duration {
    Duration::from_nanos(time.0 / Time::from_nanos(1).0)
}

/// A controller of quinn with the RTT estimator of its connection.
pub struct Quinn {
    controller: Box<dyn Controller>,
    oracle: RttOracle,
    /// Estimator that the controller gets at an ACK: without the sample of this ACK.
    rtt: RttEstimator,
    /// Smoothed RTT with this sample.
    smoothed: Duration,
    datagram: u16,
    largest_acked: Option<u64>,
    app_limited: bool,
    /// Datagrams of one instant that are not yet reported to the controller.
    batch: Option<Batch>,
}

/// Datagrams that leave at the same instant.
struct Batch {
    now: Time,
    bytes: u64,
    last: u64,
}

impl Quinn {
    /// Creates New Reno.
    #[must_use]
    pub fn new_reno(datagram: u16, _: u64) -> Self {
        Self::of(Arc::new(NewRenoConfig::default()).build(epoch(), datagram), datagram)
    }

    /// Creates CUBIC.
    #[must_use]
    pub fn cubic(datagram: u16, _: u64) -> Self {
        Self::of(Arc::new(CubicConfig::default()).build(epoch(), datagram), datagram)
    }

    /// Creates BBR.
    #[must_use]
    pub fn bbr(datagram: u16, seed: u64) -> Self {
        let controller = entropy::seeded(seed, || Arc::new(BbrConfig::default()).build(epoch(), datagram));
        Self::of(controller, datagram)
    }

    /// Wraps a controller with quinn's trait that was created at [`epoch`] for datagrams of this length.
    #[must_use]
    pub fn of(controller: Box<dyn Controller>, datagram: u16) -> Self {
        let rtt = RttOracle::initial();
        Self {
            controller,
            oracle: RttOracle::new(),
            rtt,
            smoothed: rtt.get(),
            datagram,
            largest_acked: None,
            app_limited: false,
            batch: None,
        }
    }
}

impl Quinn {
    /// Reports the batch to the controller.
    fn end_batch(&mut self) {
        if let Some(Batch { now, bytes, last }) = self.batch.take() {
            self.controller.on_sent(instant(now), bytes, last);
        }
    }
}

impl Debug for Quinn {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Quinn").field("window", &self.controller.window()).finish_non_exhaustive()
    }
}

impl Stack for Quinn {
    type Info = ();

    fn on_handshake(&mut self, rtt: Time, _: Time) {
        self.oracle.sample(duration(rtt));
        self.smoothed = duration(rtt);
    }

    fn on_sent(&mut self, number: u64, bytes: u32, app_limited: bool, now: Time) {
        self.app_limited = app_limited;
        let most = BATCH * u64::from(self.datagram);
        let bytes = u64::from(bytes);
        match &mut self.batch {
            Some(batch) if batch.now == now && batch.bytes + bytes <= most => {
                (batch.bytes, batch.last) = (batch.bytes + bytes, number);
            }
            _ => {
                self.end_batch();
                self.batch = Some(Batch { now, bytes, last: number });
            }
        }
    }

    fn on_forgotten(&mut self, _: u32) {}

    /// Makes the calls of `Connection::on_ack_received`: packets, end of the packets, RTT estimator, losses, marks.
    fn on_news(&mut self, news: &News<'_, ()>) {
        self.end_batch();
        let now = instant(news.now);
        if let Some(rtt) = news.rtt {
            self.rtt = self.oracle.sample(duration(rtt));
            self.smoothed = (7 * self.rtt.get() + duration(rtt)) / 8;
        }
        for (_, packet) in news.acked {
            self.controller.on_ack(now, instant(packet.sent), packet.bytes.into(), self.app_limited, &self.rtt);
        }
        if let Some((number, _)) = news.acked.last() {
            self.largest_acked = self.largest_acked.max(Some(*number));
            self.controller.on_end_acks(now, news.in_flight, self.app_limited, self.largest_acked);
        }
        if let Some((_, newest)) = news.lost.last() {
            let bytes = news.lost.iter().map(|(_, packet)| u64::from(packet.bytes)).sum();
            self.controller.on_congestion_event(now, instant(newest.sent), news.persistent_congestion, bytes);
        }
        if let (Some((_, newest)), true) = (news.acked.last(), news.marked > 0) {
            self.controller.on_congestion_event(now, instant(newest.sent), false, 0);
        }
    }

    fn allowance(&self) -> Allowance {
        let window = self.controller.window();
        let datagram = u64::from(self.datagram);
        let rtt = self.smoothed.as_nanos().max(1);
        let burst = u128::from(window) * duration(BURST_TIME).as_nanos() / rtt;
        let (least, most) = (BURST_DATAGRAMS.0 * datagram, BURST_DATAGRAMS.1 * datagram);
        Allowance {
            // quinn sends a packet only if less than the window is then in flight.
            window: window.saturating_sub(1),
            pacing: None,
            burst: u64::try_from(burst).unwrap_or(u64::MAX).clamp(least, most),
        }
    }
}
