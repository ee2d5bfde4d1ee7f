//! The marker of CSFQ at the edge: writes a flow's rate, divided by the flow's weight, as the label.

use crate::contract::prelude::*;
use crate::measure::rate_estimates::{Averaging, RateEstimates};

params! {
    /// Rate estimator at the edge of CSFQ.
    pub struct CsfqMarkerParams {
        /// Time constant of the rate estimate.
        rate_constant: Time = "100 ms", in "1 ms"..="1 h", symbol "K", source "abc2018 V-A, afpft Table II";
        /// Unit that gets one share: `flow` or `user` (with all its flows). The papers use flows, but
        /// the throughput ratios of abc2018 Fig. 15(b) are possible only for users.
        share_per: FlowKey = "user", source "abc2018 Fig. 15(b), our reading";
    }
}

/// Parameters shared by the meters of a domain.
#[derive(Clone, Debug)]
pub struct CsfqMarker {
    averaging: Averaging,
    share_per: FlowKey,
}

/// The meter of one flow or user.
#[derive(Clone, Debug)]
pub struct CsfqMeter {
    rate: RateEstimates<1>,
    weight: f64,
}

/// The label is the rate in bit/s per unit of weight; [`MeterSpec::reference_rate`] is not used.
impl Marker for CsfqMarker {
    const SCHEME: MarkerScheme = MarkerScheme::new("csfq");
    const BEST_LABEL: f64 = 0.0;
    type Params = CsfqMarkerParams;
    type State = CsfqMeter;

    fn new(params: &CsfqMarkerParams) -> Self {
        Self { averaging: Averaging::new(params.rate_constant), share_per: params.share_per }
    }

    fn key(&self) -> FlowKey {
        self.share_per
    }

    fn state(&self, spec: &MeterSpec) -> CsfqMeter {
        CsfqMeter { rate: RateEstimates::new(spec.start), weight: spec.weight }
    }

    #[inline]
    fn label<P: Packet>(&self, meter: &mut CsfqMeter, packet: &mut P, now: Time, _: &mut Rng) {
        meter.rate.update(self.averaging, [f64::from(packet.wire_bytes()) * 8.0], now);
        packet.set_label(meter.rate.rates()[0] / meter.weight); // eq. (2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::meter_bank::MeterBank;
    use crate::testing::TestPacket;

    /// Returns the labels of two flows of one user after 5 s at 1 and 3 Mbit/s.
    fn labels(share_per: FlowKey, weight: f64) -> [f64; 2] {
        let params = CsfqMarkerParams { share_per, ..Default::default() };
        let spec = MeterSpec { reference_rate: BitRate(1), weight, start: Time::ZERO };
        let mut bank = MeterBank::<CsfqMarker>::new(&params, &[spec]);
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut labels = [0.0; 2];
        for tick in 1..=1250u64 {
            for flow in [0, 1, 1, 1] {
                let mut packet = TestPacket { flow, wire_bytes: 500, ..Default::default() };
                bank.label(0, &mut packet, Time::from_millis(4 * tick), &mut rng);
                labels[flow as usize] = packet.label;
            }
        }
        labels
    }

    #[test]
    fn equation_2_a_flow_is_labelled_with_its_rate_over_its_weight() {
        // One packet of 4000 bit every 4 ms is a rate of 1 Mbit/s. Three packets every 4 ms are 3 Mbit/s, or 4 Mbit/s
        // for the user as a whole. All simultaneous packets get the same label, the estimate before the first of them.
        let close = |labels: [f64; 2], expected: [f64; 2]| {
            assert!(labels.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3 * b), "{labels:?}");
        };
        close(labels(FlowKey::Flow, 1.0), [1e6, 3e6]);
        close(labels(FlowKey::Flow, 2.0), [0.5e6, 1.5e6]);
        close(labels(FlowKey::User, 1.0), [4e6, 4e6]);
    }

    #[test]
    fn a_meter_takes_half_a_cache_line() {
        assert_eq!(size_of::<CsfqMeter>(), 32);
    }
}
