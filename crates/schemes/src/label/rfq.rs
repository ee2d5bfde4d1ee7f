//! RFQ (rainbow fair queueing): the edge divides a flow's rate into layers and colours the packets of each; the core
//! drops colours above a threshold.
//!
//! Source: Cao, Wang, Zegura, "Rainbow Fair Queueing", INFOCOM 2000 (rfq2000), known to us only through section II of
//! abc2018 ([`crate::label::abc`]).
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `y = U*r/w`, with r the flow's rate by [`crate::measure::rate_estimates`], U uniform on (0,1), w its weight | `RfqMarker` |
//! | (2) | colour 0 below `c_1`, else `1 + floor(n*log2(y/c_1))`, n colours per octave | `RfqMarker::colour` |
//! | (3) | drop if colour > threshold | `RfqAqm::admit` |
//! | (4) | threshold - 1 when the queue reaches `q_threshold`, and after each interval during which the queue is never shorter | `RfqAqm::adapt` |
//! | (5) | threshold + 1 after each interval with a shorter queue and an accepted rate below 0.95 C | `RfqAqm::adapt` |
//!
//! The label is the colour, an integer. The fraction of a flow's packets with a colour is the fraction of [0, r] that
//! the colour's layer covers. All flows keep the same lower layers, so rates are max-min fair up to one layer. Since a
//! layer passes as a whole or not at all, the link is not always full (abc2018 II).
//!
//! A packet whose colour is above the threshold is dropped even if no packet waits. `colours` of queue and marker must
//! be equal: a queue with fewer would always drop the marker's highest colours.
//!
//! Cost: per packet, the edge computes one exponential, one logarithm and one random number. The port computes one
//! exponential. State: 3 numbers per flow (or user) at the edge, none in the core; 6 numbers per port.
//!
//! Deviations:
//! 1. The numbers of the paper are unknown to us: layers, threshold, interval and utilisation are our choices and
//!    parameters. Layers are geometric, four per octave. The threshold falls when the queue reaches half of abc2018's
//!    limit; the interval is 100 ms.
//! 2. Initially the threshold is above all colours. Colour 0 always passes.
//! 3. When a packet arrives, all intervals that have ended since the last packet are evaluated.

use crate::contract::prelude::*;
use crate::measure::rate_estimates::{Averaging, RateEstimates};
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_length::is_shorter;
use crate::queue::queue_threshold::QueueThreshold;

params! {
    /// Colouring at the edge of RFQ.
    pub struct RfqMarkerParams {
        /// Time constant of the rate estimate.
        rate_constant: Time = "100 ms", in "1 ms"..="1 h", symbol "K", source "our choice, as CSFQ";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "user", source "our choice, as CSFQ";
        /// Upper bound of the lowest colour.
        lowest_rate: BitRate = "10 kbit/s", in "1 bit/s"..="1 Tbit/s", symbol "c_1",
            source "our choice: C/1000 of abc2018";
        /// Number of colours per doubling of the rate.
        colours_per_octave: f64 = 4.0, in 0.1..=100.0, symbol "n", source "our choice: layers of 19 %";
        /// Number of colours; the highest layer is unbounded.
        colours: u32 = 45, in 2..=4096, source "our choice: up to 2 C of abc2018";
    }
}

params! {
    /// A port of RFQ.
    pub struct RfqParams {
        /// Queue length at which the colour threshold falls.
        q_threshold: Threshold = "12 packets", in "0 packets"..="16777216 packets",
            source "our choice: half of the limit of abc2018";
        /// Time between steps of the colour threshold.
        step_interval: Time = "100 ms", in "1 ms"..="1 h", source "our choice, as K";
        /// The link is underutilised below this fraction of its rate.
        low_utilisation: f64 = 0.95, in 0.0..=1.0, source "our choice";
        /// Number of colours, as in the marker.
        colours: u32 = 45, in 2..=4096, source "our choice: up to 2 C of abc2018";
    }
}

/// Registry entry of RFQ.
#[derive(Clone, Copy, Debug)]
pub struct RfqScheme;

impl SchemeSpec for RfqScheme {
    const ABOUT: About = About {
        title: "Rainbow fair queueing",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "The edge colours packets by the layers of their flow's rate; a port drops all colours above a \
                  threshold that follows the queue and the utilisation.",
        source: "Cao, Wang, Zegura: Rainbow Fair Queueing, INFOCOM 2000 (details are ours)",
        state: "port: 6 numbers; flow or user, at the edge: 3 numbers; in the core: none per flow",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const MARKER: MarkerScheme = RfqMarker::SCHEME;
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = RfqParams;
    type Discipline<P: Packet> = ManagedQueue<P, RfqAqm>;

    fn check(params: &RfqParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        QueueThreshold::check("q_threshold", params.q_threshold, buffer.limit, table)
    }

    fn build<P: Packet>(params: &RfqParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, RfqAqm::new(params))
    }
}

/// Parameters shared by the meters of a domain.
#[derive(Clone, Debug)]
pub struct RfqMarker {
    averaging: Averaging,
    share_per: FlowKey,
    lowest_rate: f64,
    colours_per_octave: f64,
    highest_colour: f64,
}

/// The meter of one flow or user.
#[derive(Clone, Debug)]
pub struct RfqMeter {
    rate: RateEstimates<1>,
    weight: f64,
}

impl RfqMarker {
    /// Returns the colour of the layer that contains the rate `y` in bit/s.
    #[inline]
    fn colour(&self, y: f64) -> f64 {
        if y < self.lowest_rate {
            return 0.0;
        }
        let octaves = libm::log2(y / self.lowest_rate);
        f64::min(1.0 + (self.colours_per_octave * octaves).floor(), self.highest_colour) // eq. (2)
    }
}

impl Marker for RfqMarker {
    const SCHEME: MarkerScheme = MarkerScheme::new("rfq");
    const BEST_LABEL: f64 = 0.0; // Colour 0, the layer that is dropped last.
    type Params = RfqMarkerParams;
    type State = RfqMeter;

    fn new(params: &RfqMarkerParams) -> Self {
        Self {
            averaging: Averaging::new(params.rate_constant),
            share_per: params.share_per,
            lowest_rate: params.lowest_rate.as_f64(),
            colours_per_octave: params.colours_per_octave,
            highest_colour: f64::from(params.colours - 1),
        }
    }

    fn key(&self) -> FlowKey {
        self.share_per
    }

    fn state(&self, spec: &MeterSpec) -> RfqMeter {
        RfqMeter { rate: RateEstimates::new(spec.start), weight: spec.weight }
    }

    #[inline]
    fn label<P: Packet>(&self, meter: &mut RfqMeter, packet: &mut P, now: Time, rng: &mut Rng) {
        meter.rate.update(self.averaging, [f64::from(packet.wire_bytes()) * 8.0], now);
        packet.set_label(self.colour(rng.open01() * meter.rate.rates()[0] / meter.weight)); // eq. (1)
    }
}

/// The state of one port.
#[derive(Clone, Debug)]
pub struct RfqAqm {
    averaging: Averaging,
    accepted: RateEstimates<1>,
    q_threshold: Threshold,
    step_interval: Time,
    /// Accepted rate in bit/s below which the link counts as underutilised.
    low_rate: f64,
    low_utilisation: f64,
    threshold: u32,
    highest_colour: u32,
    /// Start of the current state, or last change of the threshold in this state.
    since: Time,
    state: State,
}

/// Input of the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The queue has reached its threshold.
    Long,
    /// The queue is below its threshold, and the link is underutilised.
    Low,
    /// The queue is below its threshold, and the link is utilised.
    Used,
}

impl RfqAqm {
    /// Creates an idle port.
    #[must_use]
    pub fn new(params: &RfqParams) -> Self {
        Self {
            averaging: Averaging::new(params.step_interval),
            accepted: RateEstimates::new(Time::ZERO),
            q_threshold: params.q_threshold,
            step_interval: params.step_interval,
            low_rate: 0.0,
            low_utilisation: params.low_utilisation,
            threshold: params.colours - 1,
            highest_colour: params.colours - 1,
            since: Time::ZERO,
            state: State::Used,
        }
    }

    /// Updates the threshold for the time up to `now`: eq. (4) and (5).
    fn adapt(&mut self, state: State, now: Time) {
        if state != self.state {
            self.state = state;
            self.since = now;
            if state == State::Long {
                self.threshold = self.threshold.saturating_sub(1);
            }
            return;
        }
        let passed = now.saturating_sub(self.since);
        if passed < self.step_interval {
            return;
        }
        let steps = passed.0 / self.step_interval.0;
        self.since += Time(steps * self.step_interval.0);
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        match state {
            State::Long => self.threshold = self.threshold.saturating_sub(steps),
            State::Low => self.threshold = self.threshold.saturating_add(steps).min(self.highest_colour),
            State::Used => {}
        }
    }
}

impl Aqm for RfqAqm {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, _: &mut Rng) -> Verdict {
        // Updates the rate without a packet, so that it decays to its current value.
        self.accepted.update(self.averaging, [0.0], now);
        let is_low = self.accepted.rates()[0] < self.low_rate;
        let state = match (is_shorter(queue, self.q_threshold), is_low) {
            (false, _) => State::Long,
            (true, true) => State::Low,
            (true, false) => State::Used,
        };
        self.adapt(state, now);
        if packet.label() > f64::from(self.threshold) { Verdict::Drop } else { Verdict::Accept } // eq. (3)
    }

    #[inline]
    fn accepted<P: Packet>(&mut self, packet: &mut P, now: Time) {
        self.accepted.update(self.averaging, [f64::from(packet.wire_bytes()) * 8.0], now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.low_rate = self.low_utilisation * rate.as_f64();
    }

    fn report(&self, report: Report<'_>) {
        report("colour_threshold", f64::from(self.threshold));
        report("accepted_rate_bps", self.accepted.rates()[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::meter_bank::MeterBank;
    use crate::testing::{TestPacket, readings, view};

    #[test]
    fn equation_2_colours_are_quarters_of_octaves() {
        let marker = RfqMarker::new(&RfqMarkerParams::default());
        // c_1 = 10 kbit/s; 2^(1/4) = 1.189.
        let colours = [0.0, 9_999.0, 10_000.0, 11_880.0, 11_900.0, 20_000.0, 1e12].map(|rate| marker.colour(rate));
        assert_eq!(colours, [0.0, 0.0, 1.0, 1.0, 2.0, 5.0, 44.0]);
    }

    #[test]
    fn equation_1_a_flow_spreads_over_the_layers_below_its_rate() {
        let spec = MeterSpec { reference_rate: BitRate(1), weight: 2.0, start: Time::ZERO };
        let mut bank = MeterBank::<RfqMarker>::new(&RfqMarkerParams::default(), &[spec]);
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut counts = [0u32; 45];
        for tick in 1..=101_000u64 {
            let mut packet = TestPacket { wire_bytes: 500, ..Default::default() };
            bank.label(0, &mut packet, Time::from_millis(tick), &mut rng);
            counts[packet.label as usize] += u32::from(tick > 1000);
        }
        // A user with 4 Mbit/s and weight 2 counts as 2 Mbit/s = 200 c_1. 4*log2(200) = 30.6, so 31 is the highest
        // colour. Colours up to 26 end at c_1*2^(26/4) = 905 kbit/s, which is a fraction 0.4525 of 2 Mbit/s. Five
        // binomial standard deviations are 0.008.
        assert!(counts[31] > 0 && counts[32..].iter().all(|&count| count == 0), "{counts:?}");
        let low: u32 = counts[..=26].iter().sum();
        assert!((f64::from(low) / 100_000.0 - 0.4525).abs() < 0.008, "{low}");
    }

    /// A port of 10 Mbit/s.
    fn port() -> RfqAqm {
        let mut aqm = RfqAqm::new(&RfqParams::default());
        aqm.set_link_rate(BitRate(10_000_000));
        aqm
    }

    /// Returns true if a packet of `colour` is accepted at `millis`, when `packets` packets wait.
    fn offer(aqm: &mut RfqAqm, colour: f64, packets: u32, millis: u64) -> bool {
        let view = view(packets, BitRate(10_000_000));
        let mut packet = TestPacket { label: colour, ..Default::default() };
        let now = Time::from_millis(millis);
        let passes = aqm.admit(&packet, &view, now, &mut Rng::stream(1, 0, "test", 0)) == Verdict::Accept;
        if passes {
            aqm.accepted(&mut packet, now);
        }
        passes
    }

    #[test]
    fn equations_3_and_4_a_long_queue_lowers_the_threshold_at_once_and_after_each_interval() {
        let mut aqm = port();
        assert!(offer(&mut aqm, 44.0, 11, 1));
        assert!(!offer(&mut aqm, 44.0, 12, 2)); // 43
        assert!(offer(&mut aqm, 43.0, 12, 101));
        assert!(!offer(&mut aqm, 43.0, 12, 102)); // 42
        assert!(!offer(&mut aqm, 43.0, 12, 302)); // 40
        assert_eq!(aqm.threshold, 40);
        offer(&mut aqm, 0.0, 12, 100_000);
        assert_eq!(aqm.threshold, 0);
        assert!(offer(&mut aqm, 0.0, 12, 100_001));
    }

    #[test]
    fn equation_5_an_underutilised_link_raises_the_threshold_and_a_used_one_does_not() {
        let mut aqm = port();
        aqm.threshold = 10;
        offer(&mut aqm, 0.0, 0, 1); // low from here on
        offer(&mut aqm, 0.0, 0, 100);
        assert_eq!(aqm.threshold, 10);
        offer(&mut aqm, 0.0, 0, 101);
        assert_eq!(aqm.threshold, 11);
        offer(&mut aqm, 0.0, 0, 401); // three intervals without packets
        assert_eq!(aqm.threshold, 14);
        offer(&mut aqm, 0.0, 0, 1_000_000);
        assert_eq!(aqm.threshold, 44);
        // 12 000 bit per millisecond are 12 Mbit/s. The measured rate 12*(1-exp(-t/0.1)) is above 9.5 Mbit/s after 0.16
        // s. Until then two intervals end, at 1 ms and 101 ms, and each raises the threshold by 1.
        aqm.threshold = 10;
        (0..1000).for_each(|tick| _ = offer(&mut aqm, 0.0, 0, 1_000_000 + tick));
        assert_eq!(aqm.threshold, 12);
        let readings = readings(|report| aqm.report(report));
        assert_eq!(readings[0], ("colour_threshold", 12.0));
        assert!((readings[1].1 - 12e6).abs() < 0.01e6);
    }
}
