//! The activity meters of 2016: a token bucket that drains faster at higher activity, or a rate measurement.

use crate::contract::prelude::*;
use crate::measure::utema::{Memory, RateState};
use std::f64::consts::LN_2;

choices! {
    /// Measurement of activity.
    pub enum Abc2016MeterKind {
        /// Computed with tokens: eq. (2) to (4).
        Token = "token",
        /// Logarithm of a measured rate (TDRM-UTEMA), not below 0: eq. (5).
        Rate = "rate",
    }
}

params! {
    /// Activity meter of the first ABC.
    pub struct Abc2016MarkerParams {
        /// Measurement of activity.
        meter: Abc2016MeterKind = "token", source "our choice: the paper names tokens, no formula reached us";
        /// Inertia: time constant of the measurement, the same for all meters of a domain.
        inertia: Time = "3 s", in "1 ms"..="1 h", symbol "I", source "our choice, as M_AM of abc2018";
        /// Number of bytes that do not count after an idle time.
        burst_allowance: Bytes = "0 B", in "0 B"..="1 GB", symbol "B", source "noms2016 slides: 0 to 1.25 MB";
    }
}

/// Parameters shared by the meters of a domain.
#[derive(Clone, Debug)]
pub struct Abc2016Marker {
    kind: Abc2016MeterKind,
    inertia_s: f64,
    memory: Memory,
    allowance_bits: f64,
}

/// The meter of one user.
#[derive(Clone, Debug)]
pub struct Abc2016Meter {
    reading: Reading,
    /// R_r in bit/s.
    reference_rate: f64,
    /// Remaining burst allowance, in bits.
    budget_bits: f64,
    last: Time,
}

#[derive(Clone, Debug)]
enum Reading {
    /// A, the activity.
    Token(f64),
    Rate(RateState),
}

/// Applies eq. (2): drains the activity for `elapsed_s`. Returns the part of this time during which the activity was 0.
#[inline]
fn drain(activity: &mut f64, elapsed_s: f64, inertia_s: f64) -> f64 {
    if *activity == 0.0 || elapsed_s == 0.0 {
        return elapsed_s;
    }
    let y = libm::exp2(-*activity) + LN_2 * elapsed_s / inertia_s; // eq. (2)
    if y < 1.0 {
        *activity = -libm::log2(y);
        return 0.0;
    }
    *activity = 0.0;
    (y - 1.0) * inertia_s / LN_2
}

impl Abc2016Marker {
    /// Eq. (4): refills the allowance for `silence_s`, then deducts `bits`. Returns the bits that exceed the allowance.
    #[inline]
    fn uncovered(&self, meter: &mut Abc2016Meter, bits: f64, silence_s: f64) -> f64 {
        let budget = f64::min(self.allowance_bits, meter.budget_bits + meter.reference_rate * silence_s);
        let used = f64::min(budget, bits);
        meter.budget_bits = budget - used;
        bits - used
    }
}

/// The reference rate is the user's weight; [`MeterSpec::weight`] is not used.
impl Marker for Abc2016Marker {
    const SCHEME: MarkerScheme = MarkerScheme::new("abc2016");
    const BEST_LABEL: f64 = 0.0;
    type Params = Abc2016MarkerParams;
    type State = Abc2016Meter;

    fn new(params: &Abc2016MarkerParams) -> Self {
        Self {
            kind: params.meter,
            inertia_s: params.inertia.as_secs_f64(),
            memory: Memory::new(params.inertia),
            allowance_bits: params.burst_allowance.0 as f64 * 8.0,
        }
    }

    const HAS_REFERENCE_RATE: bool = true;

    fn set_reference_rate(&self, meter: &mut Abc2016Meter, rate: BitRate) {
        meter.reference_rate = rate.as_f64();
    }

    fn state(&self, spec: &MeterSpec) -> Abc2016Meter {
        Abc2016Meter {
            reading: match self.kind {
                Abc2016MeterKind::Token => Reading::Token(0.0),
                Abc2016MeterKind::Rate => Reading::Rate(RateState::new(spec.start)),
            },
            reference_rate: spec.reference_rate.as_f64(),
            budget_bits: self.allowance_bits,
            last: spec.start,
        }
    }

    #[inline]
    fn label<P: Packet>(&self, meter: &mut Abc2016Meter, packet: &mut P, now: Time, _: &mut Rng) {
        let bits = f64::from(packet.wire_bytes()) * 8.0;
        let elapsed_s = now.saturating_sub(meter.last).as_secs_f64();
        meter.last = now;
        let activity = match &mut meter.reading {
            Reading::Token(activity) => {
                let mut activity = *activity;
                let silence_s = drain(&mut activity, elapsed_s, self.inertia_s);
                let counted = self.uncovered(meter, bits, silence_s);
                activity += counted / (self.inertia_s * meter.reference_rate); // eq. (3)
                meter.reading = Reading::Token(activity);
                activity
            }
            Reading::Rate(_) => {
                let counted = self.uncovered(meter, bits, elapsed_s);
                let Reading::Rate(rate) = &mut meter.reading else { return };
                let measured = rate.update(self.memory, counted, now) * self.memory.per_second();
                libm::log2(f64::max(measured / meter.reference_rate, 1.0)) // eq. (5)
            }
        };
        packet.set_label(activity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    const SPEC: MeterSpec = MeterSpec { reference_rate: BitRate(100_000), weight: 1.0, start: Time::ZERO };

    /// Returns the labels of packets of 1500 B, sent every `gap` for `seconds`, starting at `from`.
    fn labels(marker: &Abc2016Marker, meter: &mut Abc2016Meter, from: Time, gap: Time, seconds: u64) -> Vec<f64> {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let (mut now, mut labels) = (from, Vec::new());
        while now < from + Time::from_secs(seconds) {
            now += gap;
            let mut packet = TestPacket::default();
            marker.label(meter, &mut packet, now, &mut rng);
            labels.push(packet.label);
        }
        labels
    }

    fn steady(kind: Abc2016MeterKind, gap: Time) -> Vec<f64> {
        let marker = Abc2016Marker::new(&Abc2016MarkerParams { meter: kind, ..Default::default() });
        let all = labels(&marker, &mut marker.state(&SPEC), Time::ZERO, gap, 60);
        all[all.len() / 2..].to_vec()
    }

    #[test]
    fn token_meter_at_ten_times_the_reference_rate_stays_between_3_30_and_3_34() {
        // 1500 B every 12 ms are 1 Mbit/s, ten times the reference rate, so the activity is log2(10) = 3.32. A packet
        // adds 12 000/(3 * 100 000) = 0.04.
        let labels = steady(Abc2016MeterKind::Token, Time::from_millis(12));
        assert!(labels.iter().all(|label| (3.30..3.35).contains(label)), "{labels:?}");
        let mean = labels.iter().sum::<f64>() / labels.len() as f64;
        // A label includes the packet's own 0.04; the mean over time is lower by half of that.
        assert!((mean - 0.02 - 10f64.log2()).abs() < 0.005, "{mean}");
    }

    #[test]
    fn rate_meter_shows_the_logarithm_of_the_relative_rate() {
        let labels = steady(Abc2016MeterKind::Rate, Time::from_millis(12));
        // Closed form of utema.rs: R_m = 1.002 Mbit/s.
        assert!(labels.iter().all(|label| (label - 10.02f64.log2()).abs() < 1e-3));
    }

    #[test]
    fn below_the_reference_rate_activity_is_at_least_zero_and_small() {
        // 1500 B every 240 ms are half the reference rate.
        let rate = steady(Abc2016MeterKind::Rate, Time::from_millis(240));
        assert!(rate.iter().all(|&label| label == 0.0), "{rate:?}");
        // The activity drains to 0 before each packet, which adds 0.04.
        let token = steady(Abc2016MeterKind::Token, Time::from_millis(240));
        assert!(token.iter().all(|label| (label - 0.04).abs() < 1e-12), "{token:?}");
    }

    #[test]
    fn the_drain_solves_its_differential_equation() {
        // Integrates dA/dt = -2^A/I in small steps, from A = 3 for 0.2 s at I = 3 s.
        let mut stepped = 3.0f64;
        (0..1_000_000).for_each(|_| stepped -= stepped.exp2() / 3.0 * 2e-7);
        let mut activity = 3.0;
        assert_eq!(drain(&mut activity, 0.2, 3.0), 0.0);
        assert!((activity - stepped).abs() < 1e-5, "{activity} {stepped}");
        // 2^-A reaches 1 after (1 - 1/8)*3/ln 2 = 3.787 s; for the rest of 5 s the activity is 0.
        let mut activity = 3.0;
        assert!((drain(&mut activity, 5.0, 3.0) - (5.0 - 0.875 * 3.0 / LN_2)).abs() < 1e-9);
        assert_eq!(activity, 0.0);
    }

    #[test]
    fn the_first_bytes_after_silence_do_not_count_up_to_the_allowance() {
        for kind in [Abc2016MeterKind::Token, Abc2016MeterKind::Rate] {
            let params = Abc2016MarkerParams { meter: kind, burst_allowance: Bytes(15_000), ..Default::default() };
            let marker = Abc2016Marker::new(&params);
            let mut meter = marker.state(&SPEC);
            let gap = Time::from_nanos(1);
            let first = labels(&marker, &mut meter, Time::from_secs(10), gap, 0);
            assert!(first.is_empty());
            let burst = |meter: &mut Abc2016Meter, at: u64| -> Vec<f64> {
                (1..=40)
                    .flat_map(|i| {
                        let mut packet = TestPacket::default();
                        marker.label(
                            meter,
                            &mut packet,
                            Time::from_secs(at) + Time(i),
                            &mut Rng::stream(1, 0, "test", 0),
                        );
                        [packet.label]
                    })
                    .collect()
            };
            let zeros = |labels: &[f64]| labels.iter().take_while(|&&label| label == 0.0).count();
            assert!(zeros(&burst(&mut meter, 10)) >= 10, "{kind:?}"); // ten packets of 1500 B
            assert_eq!(meter.budget_bits.round(), 0.0);
            // An idle time of 0.6 s refills 60 kbit, which are five packets. The activity needs a part of that time to
            // reach 0.
            let again = burst(&mut meter, 100);
            assert!(zeros(&again) >= 10 && *again.last().unwrap() > 0.0, "{kind:?}");
        }
    }

    #[test]
    fn a_giant_packet_leaves_a_finite_activity() {
        let marker = Abc2016Marker::new(&Abc2016MarkerParams::default());
        let mut meter = marker.state(&SPEC);
        for at in [0, 0, 1, 1_000_000_000_000] {
            let mut packet = TestPacket { wire_bytes: u32::MAX, ..Default::default() };
            marker.label(&mut meter, &mut packet, Time(at), &mut Rng::stream(1, 0, "test", 0));
            assert!(packet.label.is_finite() && packet.label > 0.0);
        }
    }
}
