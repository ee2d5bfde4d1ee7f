//! Round-trip times and the retransmission timeout as Linux computes them (`tcp_input.c` tcp_rtt_estimator).
//!
//! The timeout is SRTT plus a variation term. This term is the largest mean deviation in a round trip, but never below
//! the minimum timeout. When the largest mean deviation decreases, the term shrinks by a quarter of the difference per
//! round trip. RFC 6298 and `scoreboard` use the last deviation instead.

use fairlane_schemes::base::units::Time;

use crate::traffic::tcp::congestion::external::Rtts;
use crate::traffic::tcp::{LossDetection, TcpParams};

/// RFC 9002 6.1.2 kGranularity.
const GRANULARITY: Time = Time::from_millis(1);

#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    /// SRTT; zero before the first sample.
    srtt: Time,
    /// Four times the mean deviation.
    deviation: Time,
    /// Largest `deviation` in this round trip; never below the minimum timeout.
    largest: Time,
    /// Variation term of the timeout, added to SRTT.
    variation: Time,
    round_end: u32,
    /// Minimum sample; [`Time::NEVER`] before the first.
    least: Time,
    latest: Time,
    /// Current timeout, including any backoff.
    rto: Time,
}

impl RttEstimator {
    pub(super) fn new(params: &TcpParams) -> Self {
        Self {
            srtt: Time::ZERO,
            deviation: Time::ZERO,
            largest: Time::ZERO,
            variation: Time::ZERO,
            round_end: 0,
            least: Time::NEVER,
            latest: Time::ZERO,
            rto: params.initial_rto.max(params.min_rto),
        }
    }

    #[inline]
    pub(super) fn srtt(&self) -> Time {
        self.srtt
    }

    /// Minimum RTT; [`Time::NEVER`] before the first sample.
    #[inline]
    pub(super) fn least(&self) -> Time {
        self.least
    }

    #[inline]
    pub(super) fn latest(&self) -> Time {
        self.latest
    }

    /// RTTs as reported to an external congestion control.
    pub(super) fn rtts(&self) -> Rtts {
        let deviation = Time(self.deviation.0 / 4);
        Rtts { latest: self.latest, smoothed: self.srtt, least: self.least, deviation }
    }

    #[inline]
    pub(super) fn rto(&self) -> Time {
        self.rto
    }

    /// Processes an RTT that affects only the minimum.
    #[inline]
    pub(super) fn observe_least(&mut self, rtt: Time) {
        //= RFC 9002 5.2-1: min_rtt is the least of all samples.
        self.least = self.least.min(rtt.max(Time(1)));
    }

    /// Processes a sample and ends the backoff. A round trip ends when `una` exceeds the value of `nxt` at its start.
    pub(super) fn sample(&mut self, params: &TcpParams, rtt: Time, una: u32, nxt: u32) {
        let rtt = rtt.max(Time(1));
        self.latest = rtt;
        match params.loss_detection {
            LossDetection::PacketThreshold => return self.sample_of_quic(params, rtt),
            LossDetection::Scoreboard => return self.sample_of_rfc(params, rtt),
            LossDetection::Dupack | LossDetection::Rack => {}
        }
        if self.srtt == Time::ZERO {
            //= RFC 6298 2.2-1: The first sample R sets SRTT = R and RTTVAR = R/2.
            self.srtt = rtt;
            self.deviation = Time(2 * rtt.0);
            self.variation = self.deviation.max(params.min_rto);
            self.largest = self.variation;
            self.round_end = nxt;
        } else {
            self.update(params, rtt);
            if una > self.round_end {
                if self.largest < self.variation {
                    self.variation -= Time((self.variation - self.largest).0 / 4);
                }
                self.round_end = nxt;
                self.largest = params.min_rto;
            }
        }
        self.rto = self.srtt.saturating_add(self.variation).min(params.max_rto);
    }

    /// Processes a sample by RFC 6298 2.2 to 2.4.
    fn sample_of_rfc(&mut self, params: &TcpParams, rtt: Time) {
        self.estimate(rtt);
        let variation = self.deviation.max(params.rto_granularity);
        self.rto = self.srtt.saturating_add(variation).max(params.min_rto);
    }

    /// Updates the estimate by RFC 6298 2.2 and 2.3, and by RFC 9002 A.7.
    fn estimate(&mut self, rtt: Time) {
        if self.srtt == Time::ZERO {
            //= RFC 9002 5.3-7: The first sample R sets smoothed_rtt = R and rttvar = R / 2.
            (self.srtt, self.deviation) = (rtt, Time(2 * rtt.0));
        } else {
            //= RFC 9002 5.3-8, deviation: Further ones move smoothed_rtt by 1/8 of the difference, and rttvar by 1/4 of
            //= that from the new smoothed_rtt.
            let off = rtt.0.abs_diff(self.srtt.0);
            // `deviation` is four times rttvar, so this is four times (3/4 rttvar + 1/4 |smoothed_rtt - rtt|).
            self.deviation = Time(self.deviation.0 - self.deviation.0 / 4 + off);
            self.srtt = Time((7 * self.srtt.0 + rtt.0) / 8);
        }
    }

    /// Processes a sample by RFC 9002 A.7. The timeout is the probe timeout of section 6.2.1. Like RFC 6298, A.7 uses
    /// the difference from the old smoothed_rtt; section 5.3 uses the difference from the new one.
    fn sample_of_quic(&mut self, params: &TcpParams, rtt: Time) {
        self.estimate(rtt);
        //= RFC 9002 6.2.1-1: PTO = smoothed_rtt + max(4 rttvar, kGranularity) + max_ack_delay.
        //= RFC 9002 6.2.1-2: The PTO is kGranularity at least.
        let variation = self.deviation.max(GRANULARITY);
        self.rto = self.srtt.saturating_add(variation).saturating_add(params.delayed_ack_timeout).min(params.max_rto);
    }

    /// Moves SRTT by 1/8 towards the RTT, and the mean deviation by 1/4 towards |RTT - SRTT|. If the RTT fell by more
    /// than the deviation, the deviation moves only by 1/32.
    fn update(&mut self, params: &TcpParams, rtt: Time) {
        let off = rtt.0.abs_diff(self.srtt.0);
        let fell = rtt < self.srtt;
        self.srtt = Time(if fell { self.srtt.0 - off / 8 } else { self.srtt.0 + off / 8 });
        // The field is four times the mean deviation, so it changes by off - deviation / 4.
        let quarter = self.deviation.0 / 4;
        if off >= quarter {
            let step = off - quarter;
            self.deviation.0 += if fell { step / 8 } else { step };
        } else {
            self.deviation.0 -= quarter - off;
        }
        if self.deviation > self.largest {
            self.largest = self.deviation;
            self.variation = self.variation.max(self.largest);
        }
        debug_assert!(self.variation >= params.min_rto.min(self.variation));
    }

    /// Doubles the timeout after it has expired.
    pub(super) fn back_off(&mut self, params: &TcpParams) {
        //= RFC 6298 5.5-1: A timeout doubles RTO.
        self.rto = Time(self.rto.0.saturating_mul(2)).min(params.max_rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tcp::TcpProfile;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn params() -> TcpParams {
        TcpParams::profile(TcpProfile::Linux)
    }

    #[test]
    fn the_timeout_is_srtt_and_the_least_timeout_while_the_rtt_is_steady() {
        let params = params();
        let mut rtt = RttEstimator::new(&params);
        assert_eq!(rtt.rto(), MS(1000));
        for una in 0..100 {
            rtt.sample(&params, MS(50), 2 * una, 2 * una + 1);
        }
        // The variation starts at max(2 * 50 ms, 200 ms) and does not change.
        assert_eq!((rtt.srtt(), rtt.rto()), (MS(50), MS(250)));
    }

    #[test]
    fn a_rise_counts_at_once_and_is_forgotten_by_quarters_of_a_round_trip() {
        let params = params();
        let mut rtt = RttEstimator::new(&params);
        rtt.sample(&params, MS(100), 0, 10);
        // `deviation` is 200 ms and the sample differs from SRTT by 400 ms. So `deviation` becomes 200 + 400 - 200/4 =
        // 550 ms, and SRTT becomes 100 + 400/8 = 150 ms.
        rtt.sample(&params, MS(500), 5, 20);
        assert_eq!(rtt.rto(), MS(150 + 550));
        // At the end of the round trip the largest deviation equals the variation, so the variation does not shrink.
        rtt.sample(&params, MS(150), 11, 30);
        assert_eq!(rtt.rto(), MS(700));
        // In the next round trip the largest deviation is at most 550 - 550/4 = 412.5 ms. The variation shrinks by a
        // quarter of the difference.
        rtt.sample(&params, MS(150), 31, 40);
        assert!(rtt.rto() < MS(700) && rtt.rto() > MS(600), "{:?}", rtt.rto());
    }

    #[test]
    fn a_fall_of_the_rtt_hardly_widens_the_deviation() {
        let params = params();
        let mut rtt = RttEstimator::new(&params);
        rtt.sample(&params, MS(800), 0, 10);
        // `deviation` is 1600 ms, and a quarter of it is 400 ms. The sample is 480 ms below SRTT. An eighth of the step
        // of 480 - 400 = 80 ms counts, so `deviation` grows by 10 ms.
        rtt.sample(&params, MS(320), 5, 20);
        assert_eq!(rtt.deviation, MS(1610));
    }

    #[test]
    fn the_probe_timeout_of_quic_counts_the_variation_and_the_delay_of_acks() {
        let params = TcpParams::profile(TcpProfile::Quic);
        let mut rtt = RttEstimator::new(&params);
        rtt.sample(&params, MS(100), 0, 0);
        // SRTT plus four times rttvar plus max_ack_delay: 100 + 4 * 50 + 25 ms.
        assert_eq!(rtt.rto(), MS(325));
        rtt.sample(&params, MS(180), 0, 0);
        // RFC 9002 A.7: smoothed_rtt = 110 ms, rttvar = 3/4 * 50 ms + 1/4 * 80 ms = 57.5 ms.
        assert_eq!((rtt.srtt(), rtt.rto()), (MS(110), MS(110 + 230 + 25)));
        for _ in 0..100 {
            rtt.sample(&params, MS(110), 0, 0);
        }
        assert_eq!(rtt.rto(), MS(110 + 1 + 25));
    }

    #[test]
    fn backing_off_doubles_up_to_the_longest_timeout_and_a_sample_ends_it() {
        let params = params();
        let mut rtt = RttEstimator::new(&params);
        rtt.sample(&params, MS(100), 0, 10);
        for seconds in [6, 12, 24, 48, 96, 192, 384, 768, 1200, 1200] {
            rtt.back_off(&params);
            assert_eq!(rtt.rto(), MS(100 * seconds));
        }
        rtt.sample(&params, MS(100), 1, 10);
        assert_eq!(rtt.rto(), MS(300));
    }
}
