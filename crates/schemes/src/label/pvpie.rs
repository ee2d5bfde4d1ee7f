//! PVPIE: PIE decides how many packets to drop, and the packets' values decide which.
//!
//! Source: Laki, Gombos, Nadas, Turanyi, "Take Your Own Share of the PIE", ANRW 2017 (pvpie2017), known to us only
//! through section II of abc2018 ([`crate::label::abc`]); PIE as in RFC 8033, see [`crate::aqm::pie`].
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | p: PIE's drop probability for the whole queue | [`crate::aqm::pie_core`] |
//! | (2) | CTV: the p-quantile of the values of recent arrivals | `Histogram::quantile` |
//! | (3) | drop if V < CTV | `PvPieAqm::admit` |
//!
//! Values are those of [`crate::label::ppv`]. The histogram has 256 bins of 0.156 (a step of 11 % in rate) for V from
//! -40 to 0. Weights decay exponentially: an arrival of age d has weight `exp(-d/M)`. Within a bin the quantile is
//! interpolated.
//!
//! Cost: the cost of PIE, one exponential per packet, and a pass over 256 bins every `update_interval`. State: at the
//! port, the state of PIE and 2 kB; at the edge, the state of PPV; none per flow.
//!
//! Deviations:
//! 1. The parameters of the paper are unknown to us. Here PIE has the defaults of RFC 8033, and the histogram has a
//!    time constant of 0.3 s.
//! 2. Conditions that exempt a packet in PIE (burst allowance, low delay, short queue) exempt it here.
//! 3. The quantile follows p with a delay of at most one update.
//! 4. Values outside the range are counted in the nearest bin.

use crate::aqm::pie_core::PieParams;
use crate::aqm::pie_core::{PieCore, PieDelay};
use crate::contract::prelude::*;
use crate::label::ppv::PpvMarker;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// A port of PVPIE.
    pub struct PvPieParams {
        /// Target delay.
        target: Time = "15 ms", in "10 us"..="10 s", symbol "QDELAY_REF", source "RFC 8033 4.2";
        /// Time between updates of the probability and of the quantile.
        update_interval: Time = "15 ms", in "10 us"..="10 s", symbol "T_UPDATE", source "RFC 8033 4.2";
        /// Gain on the distance from the target, per second.
        alpha: f64 = 0.125, in 0.0..=1000.0, symbol "alpha", source "RFC 8033 4.2";
        /// Gain on the change of the delay, per second.
        beta: f64 = 1.25, in 0.0..=1000.0, symbol "beta", source "RFC 8033 4.2";
        /// Duration of a burst that passes without drops.
        max_burst: Time = "150 ms", in "0 s"..="100 s", symbol "MAX_BURST", source "RFC 8033 4.4";
        /// Source of the queueing delay.
        delay: PieDelay = "sojourn", source "RFC 8033 4.3 leaves it open; ns-3";
        /// Mean length of a packet. No packet is dropped while the queue is at most two such packets.
        mean_packet: Bytes = "1500 B", in "1 B"..="1 MB", symbol "MEAN_PKTSIZE", source "our MTU";
        /// Time constant of the histogram of values.
        histogram_memory: Time = "0.3 s", in "1 ms"..="1 h", source "our choice, as M_AA of abc2018";
    }
}

/// Registry entry of PVPIE.
#[derive(Clone, Copy, Debug)]
pub struct PvPieScheme;

impl SchemeSpec for PvPieScheme {
    const ABOUT: About = About {
        title: "Per-packet value with PIE",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "The edge labels packets with values as in PPV; a port drops packets below the quantile of values \
                  that corresponds to PIE's drop probability.",
        source: "Laki, Gombos, Nadas, Turanyi: Take Your Own Share of the PIE, ANRW 2017 (details are ours)",
        state: "port: 256 bins and PIE; user or flow, at the edge: 3 numbers; in the core: none per flow",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const MARKER: MarkerScheme = PpvMarker::SCHEME;
    type Params = PvPieParams;
    type Discipline<P: Packet> = ManagedQueue<P, PvPieAqm>;

    fn build<P: Packet>(params: &PvPieParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, PvPieAqm::new(params, port.rate))
    }
}

const BINS: usize = 256;
/// Lower bound of the histogram, the value at 2^40 bit/s. Lower values are counted in the last bin.
const LOWEST: f64 = -40.0;
const BINS_PER_UNIT: f64 = BINS as f64 / -LOWEST;
/// The weights of new values grow exponentially with time, so the weights in the bins need not decay. When the exponent
/// exceeds this value, all bins are scaled down.
const LARGEST_EXPONENT: f64 = 300.0;

/// Histogram of the values of recent arrivals. The highest values are in the first bin.
#[derive(Clone, Debug)]
struct Histogram {
    bins: Box<[f64; BINS]>,
    /// Time at which an arrival had weight 1.
    origin: Time,
    per_second: f64,
}

impl Histogram {
    fn new(memory: Time) -> Self {
        Self { bins: Box::new([0.0; BINS]), origin: Time::ZERO, per_second: 1.0 / memory.as_secs_f64() }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn add(&mut self, value: f64, now: Time) {
        let mut exponent = now.saturating_sub(self.origin).as_secs_f64() * self.per_second;
        if exponent > LARGEST_EXPONENT {
            let scale = libm::exp(-exponent);
            self.bins.iter_mut().for_each(|weight| *weight *= scale);
            self.origin = now;
            exponent = 0.0;
        }
        let bin = (-value * BINS_PER_UNIT) as usize; // saturates at both ends
        self.bins[bin.min(BINS - 1)] += libm::exp(exponent);
    }

    /// Returns the p-quantile: a fraction `p` of all values is lower. With p = 0 or without values, returns minus
    /// infinity.
    fn quantile(&self, p: f64) -> f64 {
        let mut left = p * self.bins.iter().sum::<f64>();
        if left <= 0.0 {
            return f64::NEG_INFINITY;
        }
        for (bin, &weight) in self.bins.iter().enumerate().rev() {
            if left <= weight {
                let lower_end = -((bin + 1) as f64) / BINS_PER_UNIT;
                return lower_end + left / weight / BINS_PER_UNIT;
            }
            left -= weight;
        }
        0.0
    }
}

/// The state of one port.
#[derive(Clone, Debug)]
pub struct PvPieAqm {
    core: PieCore,
    histogram: Histogram,
    update_interval: Time,
    next_quantile: Time,
    /// CTV, the threshold value.
    threshold_value: f64,
}

impl PvPieAqm {
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: &PvPieParams, rate: BitRate) -> Self {
        let pie = PieParams {
            target: params.target,
            update_interval: params.update_interval,
            alpha: params.alpha,
            beta: params.beta,
            max_burst: params.max_burst,
            delay: params.delay,
            mean_packet: params.mean_packet,
            ..Default::default()
        };
        Self {
            core: PieCore::new(pie, rate),
            histogram: Histogram::new(params.histogram_memory),
            update_interval: params.update_interval,
            next_quantile: Time::ZERO,
            threshold_value: f64::NEG_INFINITY,
        }
    }
}

impl Aqm for PvPieAqm {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, _: &mut Rng) -> Verdict {
        self.core.catch_up(now); // eq. (1)
        self.histogram.add(packet.label(), now);
        if now >= self.next_quantile {
            self.next_quantile = now.saturating_add(self.update_interval);
            self.threshold_value = self.histogram.quantile(self.core.probability()); // eq. (2)
        }
        let drop = packet.label() < self.threshold_value && !self.core.exempts(queue.backlog); // eq. (3)
        if drop { Verdict::Drop } else { Verdict::Accept }
    }

    #[inline]
    fn accepted<P: Packet>(&mut self, packet: &mut P, _: Time) {
        self.core.accepted(packet.wire_bytes());
    }

    #[inline]
    fn departed<P: Packet>(&mut self, packet: &P, backlog: Backlog, now: Time) {
        self.core.catch_up(now);
        self.core.departed(packet.wire_bytes(), packet.enqueued_at(), backlog, now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.core.set_link_rate(rate);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.core.probability())
    }

    fn state_size(&self) -> StateSize {
        let heap = size_of_val(&*self.histogram.bins) + self.core.bytes() - size_of_val(&self.core);
        StateSize { records: 0, bytes: size_of_val(self) + heap }
    }

    fn report(&self, report: Report<'_>) {
        report("queueing_delay_s", self.core.current_delay_s());
        report("threshold_value", self.threshold_value.max(LOWEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::managed_queue::ManagedQueue;
    use crate::testing::{Drops, TestPacket, readings};

    #[test]
    fn equation_2_the_quantile_counts_from_the_least_value() {
        let mut histogram = Histogram::new(Time::from_millis(300));
        assert_eq!(histogram.quantile(0.5), f64::NEG_INFINITY);
        // 1000 values, uniform from -20 to -10.
        (0..1000).for_each(|i| histogram.add(-20.0 + 0.01 * (f64::from(i) + 0.5), Time::ZERO));
        assert_eq!(histogram.quantile(0.0), f64::NEG_INFINITY);
        for (p, value) in [(0.25, -17.5), (0.5, -15.0), (0.9, -11.0), (1.0, -10.0)] {
            // In a bin that the values fill only partly, the error is at most the width of the bin, 5/32.
            assert!((histogram.quantile(p) - value).abs() < 5.0 / 32.0, "{p} {}", histogram.quantile(p));
        }
        histogram.add(1e300, Time::ZERO);
        histogram.add(-1e300, Time::ZERO);
        assert!(histogram.quantile(1.0) <= 0.0 && histogram.quantile(1e-6) >= LOWEST);
    }

    #[test]
    fn the_histogram_forgets_by_its_memory_and_never_overflows() {
        let mut histogram = Histogram::new(Time::from_millis(300));
        histogram.add(-20.0, Time::ZERO);
        histogram.add(-10.0, Time::from_millis(300));
        // The weights are 1/e and 1, so the old value has 0.269 of the total weight.
        let old = 1.0 / (1.0 + 1f64.exp());
        assert!(histogram.quantile(old - 0.01) < -19.8 && histogram.quantile(old + 0.01) > -10.2);
        (1..10_000).for_each(|second| histogram.add(-15.0, Time::from_secs(second)));
        assert!((histogram.quantile(0.01) + 15.0).abs() < 0.16 && histogram.quantile(1.0).is_finite());
    }

    #[test]
    fn equation_3_drops_the_least_values_and_holds_the_delay() {
        let buffer = BufferParams { limit: QueueLimit::Packets(1000), ..Default::default() };
        let aqm = PvPieAqm::new(&PvPieParams::default(), BitRate(10_000_000));
        let mut queue = ManagedQueue::new(&buffer, BitRate(10_000_000), aqm);
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        let (mut delays, mut served, mut low) = (0.0, 0u32, 0u32);
        // 20 Mbit/s are offered to a link of 10 Mbit/s, in packets of 1500 B with values uniform from -24 to -20.
        for tick in 0..200_000u64 {
            let now = Time::from_micros(600 * tick);
            let label = -24.0 + 4.0 * rng.open01();
            queue.enqueue(TestPacket { label, ..Default::default() }, now, &mut rng, &mut drops);
            let packet = if tick % 2 == 1 { queue.dequeue(now, &mut rng, &mut drops) } else { None };
            if let Some(packet) = packet.filter(|_| tick >= 100_000) {
                delays += now.saturating_sub(packet.enqueued_at).as_secs_f64();
                served += 1;
                low += u32::from(packet.label < -22.3);
            }
        }
        assert!((delays / f64::from(served) - 0.015).abs() < 0.003, "{}", delays / f64::from(served));
        // Packets with values below -22, which are half of all packets, are dropped. The test lets 5 % pass, because
        // the quantile varies with p.
        assert!(f64::from(low) < 0.05 * f64::from(served), "{low} of {served}");
        let readings = readings(|report| queue.report(report));
        assert!(readings[1].0 == "threshold_value" && (readings[1].1 + 22.0).abs() < 0.5, "{readings:?}");
        assert!((queue.drop_probability().unwrap() - 0.5).abs() < 0.1);
        let parts = size_of::<PvPieAqm>() + BINS * size_of::<f64>() + size_of::<PieParams>();
        assert_eq!(queue.state_size().bytes, parts);
    }
}
