//! The edge of PPV: gives each packet a position y within the user's rate, in bit/s. The value of the packet is that of
//! the user's y-th bit/s.

use crate::contract::prelude::*;
use crate::measure::rate_estimates::{Averaging, RateEstimates};

choices! {
    /// Method to determine a packet's position within the rate of its user.
    pub enum PpvMarkerKind {
        /// Random between 0 and the measured rate.
        Random = "random",
        /// Token buckets, one for each of a series of rates.
        TokenBuckets = "token_buckets",
    }
}

params! {
    /// Marker of PPV.
    pub struct PpvMarkerParams {
        /// Method to determine a packet's position within the rate.
        place: PpvMarkerKind = "random", source "ppv, both markers";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "user", source "our choice, as CSFQ";
        /// Time constant of the rate estimate of the random marker.
        rate_constant: Time = "100 ms", in "1 ms"..="1 h", symbol "K", source "our choice, as CSFQ";
        /// Rate of the lowest bucket.
        lowest_rate: BitRate = "10 kbit/s", in "1 bit/s"..="1 Tbit/s", source "ppv project page";
        /// Buckets per decade of rate.
        buckets_per_decade: f64 = 30.0, in 0.1..=1000.0, source "ppv project page";
        /// Number of buckets.
        buckets: u32 = 150, in 1..=10000, source "ppv project page";
        /// Time in which an empty bucket fills; its depth is at least one maximum-size packet.
        bucket_depth: Time = "100 ms", in "1 ms"..="1 h", symbol "d", source "our choice, as K";
        /// Length of a full packet, the minimum depth of a bucket.
        full_packet: Bytes = "1500 B", in "1 B"..="4 GB", source "our choice: a shallower bucket would never hold one";
    }
}

/// Parameters shared by the meters of a domain.
#[derive(Clone, Debug)]
pub struct PpvMarker {
    kind: PpvMarkerKind,
    share_per: FlowKey,
    averaging: Averaging,
    /// Rates of the buckets in bit/s, ascending, and one more rate for packets that exceed all buckets.
    rates: Vec<f64>,
    depth_s: f64,
    full_packet_bits: f64,
}

/// The meter of one flow or user.
#[derive(Clone, Debug)]
pub struct PpvMeter {
    weight: f64,
    place: Place,
}

/// State that determines a packet's position.
#[derive(Clone, Debug)]
enum Place {
    Random(RateEstimates<1>),
    /// Tokens in bits, and the time of their last update.
    TokenBuckets(Box<[f64]>, Time),
}

/// Throughput-value function: the y-th bit/s of each user of weight 1 has the value `-log2(y)`. For y below 1 the value
/// is that of the first bit/s.
#[inline]
pub(super) fn value_of(y: f64) -> f64 {
    -libm::log2(f64::max(y, 1.0)) // eq. (1)
}

impl PpvMarker {
    /// Depth of the bucket of that rate, in bits.
    #[inline]
    fn depth(&self, rate: f64) -> f64 {
        f64::max(rate * self.depth_s, self.full_packet_bits)
    }

    /// Applies eq. (3): fills the buckets. Debits `bits` from the lowest bucket that has enough tokens, and from all
    /// higher buckets. Returns the rate of the lowest debited bucket.
    fn debit(&self, tokens: &mut [f64], weight: f64, bits: f64, elapsed_s: f64) -> f64 {
        let mut found = None;
        for (index, tokens) in tokens.iter_mut().enumerate() {
            let rate = self.rates[index] * weight;
            *tokens = f64::min(*tokens + rate * elapsed_s, self.depth(rate));
            if found.is_none() && *tokens >= bits {
                found = Some(index);
            }
            if found.is_some() {
                *tokens -= bits;
            }
        }
        self.rates[found.unwrap_or(tokens.len())]
    }
}

impl Marker for PpvMarker {
    const SCHEME: MarkerScheme = MarkerScheme::new("ppv");
    const BEST_LABEL: f64 = 0.0; // The maximum value: value_of(1).
    type Params = PpvMarkerParams;
    type State = PpvMeter;

    fn new(params: &PpvMarkerParams) -> Self {
        let rate = |index| params.lowest_rate.as_f64() * libm::pow(10.0, f64::from(index) / params.buckets_per_decade);
        Self {
            kind: params.place,
            share_per: params.share_per,
            averaging: Averaging::new(params.rate_constant),
            rates: (0..=params.buckets).map(rate).collect(),
            depth_s: params.bucket_depth.as_secs_f64(),
            full_packet_bits: params.full_packet.0 as f64 * 8.0,
        }
    }

    fn key(&self) -> FlowKey {
        self.share_per
    }

    fn state(&self, spec: &MeterSpec) -> PpvMeter {
        let weight = spec.weight;
        let place = match self.kind {
            PpvMarkerKind::Random => Place::Random(RateEstimates::new(spec.start)),
            PpvMarkerKind::TokenBuckets => {
                let rates = &self.rates[..self.rates.len() - 1];
                Place::TokenBuckets(rates.iter().map(|rate| self.depth(rate * weight)).collect(), spec.start)
            }
        };
        PpvMeter { weight, place }
    }

    #[inline]
    fn label<P: Packet>(&self, meter: &mut PpvMeter, packet: &mut P, now: Time, rng: &mut Rng) {
        let bits = f64::from(packet.wire_bytes()) * 8.0;
        let y = match &mut meter.place {
            Place::Random(rate) => {
                rate.update(self.averaging, [bits], now);
                rng.open01() * rate.rates()[0] / meter.weight // eq. (2)
            }
            Place::TokenBuckets(tokens, last) => {
                let elapsed_s = now.saturating_sub(*last).as_secs_f64();
                *last = now;
                self.debit(tokens, meter.weight, bits, elapsed_s)
            }
        };
        packet.set_label(value_of(y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::meter_bank::MeterBank;
    use crate::testing::TestPacket;

    /// Returns the fraction of packets of a 4 Mbit/s flow that have at least the value of the `rate`-th bit/s.
    fn part_below(place: PpvMarkerKind, weight: f64, rate: f64) -> f64 {
        let params = PpvMarkerParams { place, ..Default::default() };
        let spec = MeterSpec { reference_rate: BitRate(1), weight, start: Time::ZERO };
        let mut bank = MeterBank::<PpvMarker>::new(&params, &[spec]);
        let mut rng = Rng::stream(1, 0, "test", 0);
        let (mut below, all) = (0u32, 100_000u32);
        for tick in 1..=u64::from(all) + 10_000 {
            let mut packet = TestPacket { wire_bytes: 500, ..Default::default() };
            bank.label(0, &mut packet, Time::from_millis(tick), &mut rng);
            below += u32::from(tick > 10_000 && packet.label >= value_of(rate) - 1e-9);
        }
        f64::from(below) / f64::from(all)
    }

    #[test]
    fn the_throughput_value_function_falls_by_one_with_every_doubling() {
        assert_eq!([0.0, 1.0, 1024.0, 2048.0].map(value_of), [0.0, 0.0, -10.0, -11.0]);
    }

    #[test]
    fn equation_2_the_random_marker_values_each_part_of_the_rate_alike() {
        // Binomial(100 000, 1/4): five standard deviations are 0.007.
        assert!((part_below(PpvMarkerKind::Random, 1.0, 1e6) - 0.25).abs() < 0.007);
        assert_eq!(part_below(PpvMarkerKind::Random, 1.0, 4.01e6), 1.0);
        // At weight 4 the user's rate counts as 1 Mbit/s.
        assert!((part_below(PpvMarkerKind::Random, 4.0, 0.25e6) - 0.25).abs() < 0.007);
    }

    #[test]
    fn equation_3_the_token_buckets_let_each_rate_pass_at_its_value() {
        // The rates of the buckets are 10^(1 + i/30) kbit/s, so 1 Mbit/s is number 60 and 100 kbit/s is number 30.
        let part = |weight, rate| part_below(PpvMarkerKind::TokenBuckets, weight, rate);
        assert!((part(1.0, 1e6) - 0.25).abs() < 0.01, "{}", part(1.0, 1e6));
        assert!((part(1.0, 1e5) - 0.025).abs() < 0.001, "{}", part(1.0, 1e5));
        assert_eq!(part(1.0, 1e7), 1.0);
        assert!((part(4.0, 1e5) - 0.1).abs() < 0.004, "{}", part(4.0, 1e5));
    }

    #[test]
    fn what_exceeds_all_buckets_is_worth_less_than_the_last() {
        let params = PpvMarkerParams { place: PpvMarkerKind::TokenBuckets, buckets: 31, ..Default::default() };
        let marker = PpvMarker::new(&params);
        let spec = MeterSpec { reference_rate: BitRate(1), weight: 1.0, start: Time::ZERO };
        let mut meter = marker.state(&spec);
        let mut label = 0.0;
        for _ in 0..1000 {
            let mut packet = TestPacket::default();
            marker.label(&mut meter, &mut packet, Time::ZERO, &mut Rng::stream(1, 0, "test", 0));
            label = packet.label;
        }
        // The last of 31 buckets has 100 kbit/s; the next one would have 10^(5 + 1/30) bit/s.
        assert!((label - value_of(libm::pow(10.0, 5.0 + 1.0 / 30.0))).abs() < 1e-9, "{label}");
    }
}
