//! Controllers of s2n-quic (crate s2n-quic-core), with the calls that its recovery manager makes.

use crate::driver::{Allowance, News, Packet, Stack};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use num_rational::Ratio;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::bbr::BbrCongestionController;
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::time::Duration;

/// A controller of s2n-quic with the state that its connection keeps for it.
#[derive(Debug)]
pub struct S2nQuic<C> {
    controller: C,
    rtt: RttEstimator,
    random: Draws,
    pace: Pace,
}

impl S2nQuic<CubicCongestionController> {
    /// Creates CUBIC.
    #[must_use]
    pub fn cubic(datagram: u16, seed: u64) -> Self {
        Self::new(CubicCongestionController::new(datagram, Default::default()), seed)
    }
}

impl S2nQuic<BbrCongestionController> {
    /// Creates BBR version 2.
    #[must_use]
    pub fn bbr(datagram: u16, seed: u64) -> Self {
        Self::new(BbrCongestionController::new(datagram, Default::default()), seed)
    }
}

impl<C: CongestionController> S2nQuic<C> {
    fn new(controller: C, seed: u64) -> Self {
        Self {
            controller,
            rtt: RttEstimator::default(),
            random: Draws(Rng::stream(seed, 0, "s2n-quic", 0)),
            pace: Pace::default(),
        }
    }

    fn update_rtt(&mut self, rtt: Time, now: Time) {
        // The ACK delay is part of the sample, since Fairlane's ACKs do not report it.
        let space = PacketNumberSpace::ApplicationData;
        self.rtt.update_rtt(Duration::ZERO, duration(rtt), timestamp(now), true, space);
    }
}

impl<C: CongestionController> Stack for S2nQuic<C> {
    type Info = C::PacketInfo;

    fn on_handshake(&mut self, rtt: Time, now: Time) {
        self.update_rtt(rtt, now);
    }

    fn on_sent(&mut self, _: u64, bytes: u32, app_limited: bool, now: Time) -> C::PacketInfo {
        let (rtt, pace) = (&self.rtt, &mut self.pace);
        self.controller.on_packet_sent(timestamp(now), bytes as usize, Some(app_limited), rtt, pace)
    }

    fn on_forgotten(&mut self, bytes: u32) {
        self.controller.on_packet_discarded(bytes as usize, &mut self.pace);
    }

    /// Makes the calls of `recovery::Manager::process_acks`: RTT estimator, losses, marks, packets.
    fn on_news(&mut self, news: &News<'_, C::PacketInfo>) {
        let now = timestamp(news.now);
        let newest = news.acked.last().map(|(_, packet)| packet);
        if let (Some(rtt), Some(newest)) = (news.rtt, newest) {
            self.update_rtt(rtt, news.now);
            self.controller.on_rtt_update(timestamp(newest.sent), now, &self.rtt, &mut self.pace);
        }
        let mut before = None;
        for &(number, Packet { bytes, info, .. }) in news.lost {
            let new_burst = before != number.checked_sub(1) || before.is_none();
            before = Some(number);
            let (random, pace) = (&mut self.random, &mut self.pace);
            let persistent = news.persistent_congestion;
            self.controller.on_packet_lost(bytes, info, persistent, new_burst, random, now, pace);
        }
        if news.marked > 0 {
            self.controller.on_explicit_congestion(news.marked, now, &mut self.pace);
        }
        if let Some(&Packet { sent, info, .. }) = newest {
            let bytes = news.acked.iter().map(|(_, packet)| packet.bytes as usize).sum();
            let (rtt, random, pace) = (&self.rtt, &mut self.random, &mut self.pace);
            self.controller.on_ack(timestamp(sent), bytes, info, rtt, random, now, pace);
        }
    }

    fn allowance(&self) -> Allowance {
        let Pace { rate, burst } = self.pace;
        Allowance {
            window: self.controller.congestion_window().into(),
            pacing: rate,
            burst: self.controller.send_quantum().map_or(burst.into(), |bytes| bytes as u64),
        }
    }
}

/// Pacing parameters that the controller publishes and its pacer uses.
#[derive(Debug, Default)]
struct Pace {
    /// Bytes per second.
    rate: Option<u64>,
    /// Bytes.
    burst: u32,
}

impl Publisher for Pace {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}
    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}
    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, burst: u32, _: Ratio<u64>) {
        *self = Self { rate: Some(rate.as_bytes_per_second().max(1)), burst };
    }
    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

/// Random numbers of the flow.
#[derive(Debug)]
struct Draws(Rng);

impl random::Generator for Draws {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        for bytes in dest.chunks_mut(8) {
            bytes.copy_from_slice(&self.0.bits().to_le_bytes()[..bytes.len()]);
        }
    }
    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}

/// Converts to the resolution of s2n-quic, microseconds.
fn duration(time: Time) -> Duration {
    Duration::from_micros(time.0 / Time::from_micros(1).0)
}

fn timestamp(time: Time) -> Timestamp {
    NoopClock.get_time() + duration(time)
}
