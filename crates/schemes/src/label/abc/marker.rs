//! The activity meter: logarithm of a user's rate relative to its reference rate. abc2018 III-B, D, E.

use crate::base::elementary::log2;
use crate::contract::prelude::*;
use crate::measure::utema::{Memory, RateState};

choices! {
    /// Rate in the label of a packet.
    pub enum AbcMeterKind {
        /// The user's total rate. Of two users, the more active one loses packets first.
        Normal = "normal",
        /// A random fraction of the user's rate. Only users with high rates have packets with high labels, and these
        /// packets are their excess (III-E).
        Fair = "fair",
    }
}

params! {
    /// Activity meter of ABC.
    pub struct AbcMarkerParams {
        /// Time constant of the rate measurement; the same for all meters of a domain.
        memory: Time = "3 s", in "1 ms"..="1 h", symbol "M_AM", source "abc2018 Table 1, eq. (1)-(2)";
        /// Normal or fair meter.
        meter: AbcMeterKind = "normal", source "abc2018 III-B, III-E";
        /// Accounting factor of BE. A packet counts as this multiple of its length.
        accounting_be: f64 = 1.0, in 0.001..=1000.0, symbol "a_BE", source "abc2018 III-D1, Table 1";
        /// Accounting factor of EF: a surcharge for low delay.
        accounting_ef: f64 = 3.0, in 0.001..=1000.0, symbol "a_EF", source "abc2018 III-D1, Table 1";
    }
}

/// Label of a user whose packets all had length 0: the minimum of the wire format.
const LEAST_ACTIVITY: f64 = -32.0;

/// Parameters shared by the meters of a domain.
#[derive(Clone, Debug)]
pub struct AbcMarker {
    memory: Memory,
    accounting: [f64; TrafficClass::ALL.len()],
    kind: AbcMeterKind,
}

/// Meter of one user, or of the part of its traffic that enters at this node.
#[derive(Clone, Debug)]
pub struct AbcMeter {
    rate: RateState,
    /// 1/(R_r M) in 1/bit.
    inverse_reference: f64,
}

impl AbcMeter {
    /// State of the rate measurement.
    #[must_use]
    pub fn rate(&self) -> &RateState {
        &self.rate
    }
}

impl AbcMarker {
    /// Creates a meter that continues from `rate`, the state of another meter. The start time in `spec` has no effect.
    #[must_use]
    pub fn resume(&self, spec: &MeterSpec, rate: RateState) -> AbcMeter {
        AbcMeter { rate, inverse_reference: self.inverse(spec.reference_rate) }
    }

    fn inverse(&self, reference_rate: BitRate) -> f64 {
        self.memory.per_second() / reference_rate.as_f64()
    }
}

/// The reference rate is the user's weight; [`MeterSpec::weight`] is not used.
impl Marker for AbcMarker {
    const SCHEME: MarkerScheme = MarkerScheme::new("abc");
    const BEST_LABEL: f64 = LEAST_ACTIVITY;
    type Params = AbcMarkerParams;
    type State = AbcMeter;

    fn new(params: &AbcMarkerParams) -> Self {
        Self {
            memory: Memory::new(params.memory),
            accounting: [params.accounting_be, params.accounting_ef],
            kind: params.meter,
        }
    }

    const HAS_REFERENCE_RATE: bool = true;

    fn set_reference_rate(&self, meter: &mut AbcMeter, rate: BitRate) {
        meter.inverse_reference = self.inverse(rate);
    }

    fn state(&self, spec: &MeterSpec) -> AbcMeter {
        self.resume(spec, RateState::new(spec.start))
    }

    #[inline]
    fn label<P: Packet>(&self, meter: &mut AbcMeter, packet: &mut P, now: Time, rng: &mut Rng) {
        let bits = f64::from(packet.wire_bytes()) * 8.0 * self.accounting[packet.class().index()];
        let rate = meter.rate.update(self.memory, bits, now) * meter.inverse_reference;
        let metered = match self.kind {
            AbcMeterKind::Normal => rate,
            AbcMeterKind::Fair => rng.open01() * rate, // III-E
        };
        packet.set_label(log2(metered).max(LEAST_ACTIVITY)); // eq. (5)
    }
}

/// Divides a user's reference rate among the meters of several ingress nodes (III-F), in proportion to `shares`. The
/// parts sum exactly to the whole; each is at least 1 bit/s.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn split_reference_rate(rate: BitRate, shares: &[f64]) -> Vec<BitRate> {
    let total: f64 = shares.iter().sum();
    let bound = |fraction: f64| (rate.as_f64() * fraction).round() as u64;
    let mut before = 0.0;
    shares
        .iter()
        .map(|share| {
            let start = bound(before / total);
            before += share;
            BitRate((bound(before / total) - start).max(1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::meter_bank::MeterBank;
    use crate::testing::TestPacket;

    /// Returns meters that start at time 0, one for each reference rate in bit/s.
    fn meters(params: &AbcMarkerParams, rates: &[u64]) -> MeterBank<AbcMarker> {
        let spec = |&rate| MeterSpec { reference_rate: BitRate(rate), weight: 1.0, start: Time::ZERO };
        MeterBank::new(params, &rates.iter().map(spec).collect::<Vec<_>>())
    }

    /// Returns the activity after sending packets at a constant rate for `seconds`.
    fn activity(params: &AbcMarkerParams, class: TrafficClass, gap: Time, seconds: u64) -> f64 {
        let mut meters = meters(params, &[10_000]);
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut packet = TestPacket { class, ..Default::default() };
        let mut now = Time::ZERO;
        while now < Time::from_secs(seconds) {
            now += gap;
            meters.label(0, &mut packet, now, &mut rng);
        }
        packet.label
    }

    #[test]
    fn a_meter_takes_half_a_cache_line() {
        assert_eq!(size_of::<AbcMeter>(), 32);
    }

    #[test]
    fn equation_5_activity_is_the_log_of_the_relative_rate() {
        // For 12 000 bit every 1.2 ms, R_m = 10.002 Mbit/s (closed form in utema.rs), A = log2(1000.2) = 9.9661.
        let measured = activity(&AbcMarkerParams::default(), TrafficClass::BestEffort, Time::from_micros(1200), 200);
        assert!((measured - 1000.2f64.log2()).abs() < 1e-4, "{measured}");
    }

    #[test]
    fn a_user_that_was_silent_starts_below_zero() {
        // For the first packet long after t0, R_m = L/M = 4 kbit/s and A = log2(0.4) = -1.32.
        let mut meters = meters(&AbcMarkerParams::default(), &[10_000]);
        let mut packet = TestPacket::default();
        meters.label(0, &mut packet, Time::from_secs(1000), &mut Rng::stream(1, 0, "test", 0));
        assert!((packet.label - 0.4f64.log2()).abs() < 1e-9);
    }

    #[test]
    fn a_packet_without_length_has_the_least_activity() {
        let mut packet = TestPacket { wire_bytes: 0, ..Default::default() };
        meters(&AbcMarkerParams::default(), &[10_000]).label(
            0,
            &mut packet,
            Time::from_secs(1),
            &mut Rng::stream(1, 0, "test", 0),
        );
        assert_eq!(packet.label, LEAST_ACTIVITY);
    }

    #[test]
    fn accounting_factor_three_adds_log2_of_three() {
        let params = AbcMarkerParams::default();
        let gap = Time::from_millis(12);
        let difference = activity(&params, TrafficClass::Expedited, gap, 100)
            - activity(&params, TrafficClass::BestEffort, gap, 100);
        assert!((difference - 3f64.log2()).abs() < 1e-12);
    }

    #[test]
    fn fair_meter_labels_a_uniform_part_of_the_rate() {
        let params = AbcMarkerParams { meter: AbcMeterKind::Fair, ..Default::default() };
        let mut meters = meters(&params, &[10_000]);
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut now = Time::ZERO;
        let (mut below_half, mut sum, n) = (0u32, 0.0, 100_000u32);
        for _ in 0..n {
            now += Time::from_micros(1200);
            let mut packet = TestPacket::default();
            meters.label(0, &mut packet, now, &mut rng);
            if now > Time::from_secs(60) {
                let part = packet.label.exp2() * 10_000.0 / 10.002e6;
                assert!(part > 0.0 && part <= 1.0001);
                below_half += u32::from(part < 0.5);
                sum += part;
            }
        }
        // The draws are uniform on (0,1). The mean of 50 000 is 1/2 to within 5/sqrt(12*50000) = 0.0065.
        assert!((sum / 50_000.0 - 0.5).abs() < 0.0065);
        assert!((f64::from(below_half) / 50_000.0 - 0.5).abs() < 0.012);
    }

    #[test]
    fn parts_of_a_reference_rate_sum_to_the_whole() {
        let parts = split_reference_rate(BitRate(10_001), &[1.0, 1.0, 1.0]);
        assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), 10_001);
        assert_eq!(split_reference_rate(BitRate(10_000), &[3.0, 1.0]), [BitRate(7_500), BitRate(2_500)]);
    }

    #[test]
    fn distributed_meters_show_the_activity_of_one_meter() {
        // Each of two ingress nodes has half of the packets and half of the reference rate.
        let gap = Time::from_micros(1200);
        let params = AbcMarkerParams::default();
        let parts = split_reference_rate(BitRate(10_000), &[1.0, 1.0]);
        let mut meters = meters(&params, &parts.iter().map(|part| part.0).collect::<Vec<_>>());
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut now = Time::ZERO;
        let mut labels = [0.0; 2];
        for i in 0..100_000 {
            now += gap;
            let mut packet = TestPacket::default();
            meters.label(i % 2, &mut packet, now, &mut rng);
            labels[i % 2] = packet.label;
        }
        let whole = activity(&params, TrafficClass::BestEffort, gap, 120);
        // At each arrival, a meter reads high by half a packet, L/(2 M). A part has half the rate R, so this excess is
        // twice as large in proportion, which adds log2(1 + L/(2 R M)).
        assert!(labels.iter().all(|label| (label - whole).abs() < 0.001), "{labels:?} {whole}");
    }
}
