//! The port of CSFQ: drops packets by label and estimates the fair rate.

use super::fair_rate::{CsfqVariant, CutBudget, FairRate, Observation, OverflowBound, Rules};
use crate::contract::prelude::*;
use crate::measure::rate_estimates::{Averaging, RateEstimates};
use crate::queue::queue_length::is_shorter;

params! {
    /// A port of CSFQ.
    pub struct CsfqParams {
        /// Time constant of the arrival and accepted rates. afpft uses 200 ms.
        aggregate_constant: Time = "100 ms", in "1 ms"..="1 h", symbol "K_alpha", source "abc2018 V-A";
        /// Window after which the fair rate is updated. The ns-2 code uses one constant for this and K_alpha.
        window: Time = "100 ms", in "1 ms"..="1 h", symbol "K_c", source "abc2018 V-A";
        /// Queue below which the link counts as uncongested. abc2018 gives no value. afpft Table II uses half of the
        /// limit, as abc2018 does for Q_min.
        q_threshold: Threshold = "12 packets", in "0 packets"..="16777216 packets",
            source "our choice; 50 % as in afpft Table II";
        /// Queue below which no packet is dropped early, an improvement by abc2018. 0 gives the original CSFQ.
        q_min: Threshold = "0 packets", in "0 packets"..="16777216 packets", symbol "Q_min", source "abc2018 V-E1";
        /// Version of the fair-rate estimation.
        variant: CsfqVariant = "amended", source "ports of the ns-2 code; abc2018 V-E1";
        /// Events that allow further cuts of the fair rate after overflows.
        cut_budget: CutBudget = "on_entry", source "ports of the ns-2 code";
        /// Limit of the cuts by eq. (7).
        overflow_bound: OverflowBound = "cuts", source "ports of the ns-2 code";
    }
}

/// The state of one port.
#[derive(Clone, Debug)]
pub struct CsfqAqm {
    rules: Rules,
    averaging: Averaging,
    q_threshold: Threshold,
    q_min: Threshold,
    capacity: f64,
    /// A and F in bit/s.
    rates: RateEstimates<2>,
    fair: FairRate,
    drop_probability: f64,
    /// Upper bound of the labels of departing packets.
    label_bound: f64,
}

impl CsfqAqm {
    /// Creates an idle port.
    #[must_use]
    pub fn new(params: &CsfqParams) -> Self {
        Self {
            rules: Rules {
                variant: params.variant,
                budget: params.cut_budget,
                bound: params.overflow_bound,
                window: params.window,
            },
            averaging: Averaging::new(params.aggregate_constant),
            q_threshold: params.q_threshold,
            q_min: params.q_min,
            capacity: 0.0,
            rates: RateEstimates::new(Time::ZERO),
            fair: FairRate::new(),
            drop_probability: 0.0,
            label_bound: f64::INFINITY,
        }
    }

    /// alpha in bit/s per unit of weight; 0 while there is no estimate.
    #[must_use]
    pub fn fair_rate(&self) -> f64 {
        self.fair.alpha()
    }
}

impl Aqm for CsfqAqm {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        let (label, alpha) = (packet.label(), self.fair.alpha());
        let exceeds = alpha > 0.0 && label > alpha;
        self.drop_probability = if exceeds { 1.0 - alpha / label } else { 0.0 }; // eq. (3)
        self.label_bound = if exceeds { alpha } else { f64::INFINITY };
        let drop = exceeds && rng.open01() < self.drop_probability && !is_shorter(queue, self.q_min);
        let bits = f64::from(packet.wire_bytes()) * 8.0;
        if self.rates.update(self.averaging, [bits, if drop { 0.0 } else { bits }], now) {
            let [arrival_rate, accepted_rate] = self.rates.rates();
            let is_short = is_shorter(queue, self.q_threshold);
            let seen = Observation { label, arrival_rate, accepted_rate, capacity: self.capacity, is_short };
            self.fair.observe(&self.rules, &seen, now);
        }
        if drop { Verdict::Drop } else { Verdict::Accept }
    }

    #[inline]
    fn accepted<P: Packet>(&mut self, packet: &mut P, _: Time) {
        packet.set_label(packet.label().min(self.label_bound)); // eq. (4)
    }

    fn overflowed<P: Packet>(&mut self, _: &P, _: Time) {
        self.fair.overflow(&self.rules); // eq. (7)
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.capacity = rate.as_f64();
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.drop_probability)
    }

    fn report(&self, report: Report<'_>) {
        let [arrival_rate, accepted_rate] = self.rates.rates();
        report("fair_rate_bps", self.fair.alpha());
        report("arrival_rate_bps", arrival_rate);
        report("accepted_rate_bps", accepted_rate);
        report("is_congested", f64::from(u8::from(self.fair.is_congested())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::managed_queue::ManagedQueue;
    use crate::testing::{Drops, TestPacket, readings};

    fn view(packets: u32) -> QueueView {
        crate::testing::view(packets, BitRate(10_000_000))
    }

    /// Returns a port whose fair rate is 2 Mbit/s, the largest label before congestion.
    fn port(params: &CsfqParams) -> (CsfqAqm, Rng) {
        let (mut aqm, mut rng) = (CsfqAqm::new(params), Rng::stream(1, 0, "test", 0));
        aqm.set_link_rate(BitRate(10_000_000));
        let packet = TestPacket { label: 2e6, ..Default::default() };
        aqm.admit(&packet, &view(0), Time::from_millis(1), &mut rng);
        aqm.admit(&packet, &view(20), Time::from_millis(2), &mut rng);
        assert_eq!(aqm.fair_rate(), 2e6);
        (aqm, rng)
    }

    /// Offers 10 000 packets at once. Returns the number of drops, and the label of accepted packets.
    fn offer(aqm: &mut CsfqAqm, rng: &mut Rng, label: f64, queue: u32) -> (u32, f64) {
        let (mut dropped, mut after) = (0, label);
        for _ in 0..10_000 {
            let mut packet = TestPacket { label, ..Default::default() };
            match aqm.admit(&packet, &view(queue), Time::from_millis(2), rng) {
                Verdict::Drop => dropped += 1,
                _ => {
                    aqm.accepted(&mut packet, Time::from_millis(2));
                    after = packet.label;
                }
            }
        }
        (dropped, after)
    }

    #[test]
    fn equations_3_and_4_drop_what_exceeds_the_fair_rate_and_relabel_the_rest() {
        let (mut aqm, mut rng) = port(&CsfqParams::default());
        let (dropped, label) = offer(&mut aqm, &mut rng, 5e6, 20);
        // The drop probability is 1 - 2/5, so 6000 of 10 000 packets are expected to be dropped. Five binomial standard
        // deviations are 245.
        assert!(dropped.abs_diff(6000) < 245, "{dropped}");
        assert_eq!(label, 2e6);
        assert_eq!(aqm.drop_probability(), Some(0.6));
        assert_eq!(offer(&mut aqm, &mut rng, 2e6, 20), (0, 2e6));
        assert_eq!(offer(&mut aqm, &mut rng, 1e6, 20), (0, 1e6));
        assert_eq!(offer(&mut aqm, &mut rng, 0.0, 20), (0, 0.0));
    }

    #[test]
    fn q_min_spares_packets_that_find_a_short_queue_but_relabels_them() {
        let params = CsfqParams { q_min: Threshold::Packets(12.0), ..Default::default() };
        let (mut aqm, mut rng) = port(&params);
        assert_eq!(offer(&mut aqm, &mut rng, 5e6, 11), (0, 2e6));
        assert!(offer(&mut aqm, &mut rng, 5e6, 12).0.abs_diff(6000) < 245); // as above
    }

    #[test]
    fn packets_of_one_instant_leave_the_estimates_alone() {
        let (mut aqm, mut rng) = port(&CsfqParams::default());
        let before = aqm.rates.rates();
        offer(&mut aqm, &mut rng, 5e6, 20);
        assert_eq!((aqm.rates.rates(), aqm.fair_rate()), (before, 2e6));
    }

    #[test]
    fn an_overflow_cuts_the_fair_rate_by_one_percent() {
        let params = BufferParams { limit: QueueLimit::Bytes(30_000), ..Default::default() };
        let csfq = CsfqParams { q_threshold: Threshold::Bytes(15_000.0), ..Default::default() };
        let mut queue = ManagedQueue::new(&params, BitRate(10_000_000), CsfqAqm::new(&csfq));
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for i in 1..=21 {
            let packet = TestPacket { label: 1e6, ..Default::default() };
            queue.enqueue(packet, Time::from_micros(i), &mut rng, &mut drops);
        }
        // 20 packets fit. The estimate starts from the largest label when 10 packets wait. The 21st packet overflows.
        assert_eq!(drops.0.iter().map(|drop| drop.1).collect::<Vec<_>>(), [DropReason::Overlimit]);
        let readings = readings(|report| queue.report(report));
        assert_eq!(readings[0], ("fair_rate_bps", 0.99e6));
        // A is at most 21 * 12 000 bit / 0.1 s, far below the link rate.
        assert_eq!(readings[3], ("is_congested", 0.0));
        assert_eq!(queue.drop_probability(), Some(0.0));
    }

    #[test]
    fn constant_rates_converge_to_the_max_min_share() {
        // Flows of 2, 4, 8 and 16 Mbit/s share 10 Mbit/s: the first gets 2 Mbit/s, and the others get 8/3 Mbit/s each.
        let mut aqm = CsfqAqm::new(&CsfqParams::default());
        aqm.set_link_rate(BitRate(10_000_000));
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut passed = [0u32; 4];
        let mut served = 0.0; // packets that the link has room for
        let mut queue = 0.0f64;
        // In a tick of 750 us, the four flows send 1, 2, 4 and 8 packets of 1500 bit, spread over the tick.
        let order = [3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3];
        for tick in 0..60_000u64 {
            for (i, &flow) in order.iter().enumerate() {
                let now = Time::from_micros(tick * 750 + (i as u64 + 1) * 50);
                queue = f64::max(0.0, queue - 10e6 * 50e-6 / 1500.0);
                let packet =
                    TestPacket { label: f64::from(2 << flow) * 1e6, wire_bytes: 1500 / 8, ..Default::default() };
                if aqm.admit(&packet, &view(queue as u32), now, &mut rng) == Verdict::Accept && queue < 24.0 {
                    queue += 1.0;
                    passed[flow] += u32::from(tick >= 20_000);
                }
            }
            served += f64::from(u8::from(tick >= 20_000)) * 10e6 * 750e-6 / 1500.0;
        }
        let shares: Vec<_> = passed.iter().map(|&count| f64::from(count) / served).collect();
        for (share, expected) in shares.iter().zip([0.2, 0.8 / 3.0, 0.8 / 3.0, 0.8 / 3.0]) {
            assert!((share - expected).abs() < 0.03 * expected, "{shares:?}");
        }
    }
}
