//! CARE: captures packets at random. The number of captures of a flow gives its rate, and the number of recaptured
//! flows gives the number of flows.
//!
//! Source: Chan and Hamdi, "An Active Queue Management Scheme Based on a Capture-Recapture Model", IEEE JSAC 21(4),
//! 2003, whose text was not available to us. The scheme is reconstructed from sections 2 and 4 of the AFC paper
//! ([`crate::aqm::afc`]). The jackknife of model Mh is from Burnham and Overton, "Robust Estimation of Population Size
//! When Capture Probabilities Vary Among Animals", Ecology, 1979.
//!
//! | step | rule | code |
//! |---|---|---|
//! | capture | each arrival is captured with probability `p_cap`, before the drop decision; the capture replaces the oldest of `t` captures | `Care::admit` |
//! | rate | share of flow i: `x_i / t`, x_i its number of captures in the list | `Care::excess` |
//! | drop | with probability `max(0, 1 - t / (N^ * x_i))`, that is, 1 - fair rate / rate, while the queue is at least `gate` | `Care::excess` |
//! | number of flows N^, M0 | N^ solves `S = N * (1 - (1 - 1/N)^t_n)`, at most `t_n^2/2` | `equal_catchability` |
//! | Mh, order k | `N_k = (1/k!) * sum_i=0..k (-1)^i * C(k,i) * (t_n-i)^k * S_(t_n-i)`, `S_(t_n-i) = S - sum_j f_j * [i]_j/[t_n]_j` | `coefficients`, the sum written out |
//! | Mh, tested | first k with `abs(T_k) < 1.96`, else 5 | `tested_order` |
//!
//! N^ is estimated from the last `t_n` captures: S distinct flows, f_j of them captured j times; `[x]_j` is the falling
//! factorial. M0 assumes the same probability of capture for all flows. The jackknife Mh instead uses the decrease of S
//! when captures are omitted.
//!
//! Cost: one random number and one look-up per packet, and a second random number if the packet may be dropped. Per
//! capture, O(1) plus the estimate of N^. State: 4 bytes per capture and 13 bytes per distinct flow; for M0 a table of
//! `t_n + 1` numbers.
//!
//! Deviations:
//! 1. The AFC paper names no estimator. The default is the jackknife of order 1, because it agrees with this paper's
//!    Tables 1 and 3. The rows of CARE in these tables therefore do not test the estimator.
//! 2. No packet is dropped below a queue of `gate`, which corresponds to the lower threshold of other schemes. Without
//!    it CARE would drop packets on an idle link. `gate` is compared with the current queue, not an average.
//! 3. While there are fewer than `t` captures, the number of captures replaces `t`.
//! 4. The fair rate is the arrival rate over N^, not the link rate over N^.
//!
//! Not implemented: RED for the packets that CARE accepts; the AFC paper gives no thresholds for it.

mod captures;
mod estimators;

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_threshold::QueueThreshold;
use captures::CaptureList;
use estimators::Population;
pub use estimators::{Captures, Estimator};

params! {
    /// CARE.
    pub struct CareParams {
        /// Number of captures from which the rates of flows are estimated.
        occasions: u32 = 200, in 1..=10000, symbol "t", source "afc 4";
        /// Number of most recent captures from which the number of flows is estimated.
        counted_occasions: u32 = 50, in 1..=10000, symbol "t_n", source "afc 4";
        /// Probability that an arriving packet is captured.
        capture_probability: f64 = 0.04, in 0.0..=1.0, symbol "p_cap", source "afc 4";
        /// Estimator of the number of flows.
        estimator: Estimator = "jackknife_1", source "not in afc; agrees with its Tables 1 and 3";
        /// Queue below which no packet is dropped. Absent: a sixth of the limit (50 of 300 packets).
        gate: Option<Threshold> = null, source "our choice: lower threshold of the other schemes in afc";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "afc 4";
    }
}

/// Registry entry of CARE.
#[derive(Clone, Copy, Debug)]
pub struct CareScheme;

impl SchemeSpec for CareScheme {
    const ABOUT: About = About {
        title: "CARE, capture-recapture",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "Captures packets at random, estimates from the last captures the rate of each flow and the number of \
                  flows, and drops the excess over the fair rate.",
        source: "Chan, Hamdi: An Active Queue Management Scheme Based on a Capture-Recapture Model, IEEE JSAC 2003, as \
                 described in afc",
        state: "port: 200 captures and a count for each flow among them",
        flow_state: FlowState::Table,
        order: Order::Fifo,
    };
    type Params = CareParams;
    type Discipline<P: Packet> = ManagedQueue<P, Care>;

    fn check(params: &CareParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        if params.counted_occasions > params.occasions {
            let problem = format!(
                "{} is out of range, it must be from 1 to occasions, {}",
                params.counted_occasions, params.occasions
            );
            return Err(ConfigError::new(table.key("counted_occasions"), problem));
        }
        QueueThreshold::check("gate", params.gate, buffer.limit, table)
    }

    fn build<P: Packet>(params: &CareParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Care::new(params, port.buffer.limit))
    }
}

/// CARE at one port.
#[derive(Clone, Debug)]
pub struct Care {
    capture_probability: f64,
    gate: QueueThreshold,
    share_per: FlowKey,
    captures: Box<CaptureList>,
    population: Box<Population>,
    flows: f64,
    drop_probability: f64,
}

impl Care {
    /// Default gate as a fraction of the limit: 50 of 300 packets.
    const GATE: f64 = 1.0 / 6.0;

    /// Creates an idle port.
    #[must_use]
    pub fn new(params: &CareParams, limit: QueueLimit) -> Self {
        Self {
            capture_probability: params.capture_probability,
            gate: QueueThreshold::new(params.gate, Self::GATE, limit),
            share_per: params.share_per,
            captures: Box::new(CaptureList::new(params.occasions, params.counted_occasions)),
            population: Box::new(Population::new(params.estimator)),
            flows: 0.0,
            drop_probability: 0.0,
        }
    }

    /// N^, the estimated number of flows; 0 before the first capture.
    #[must_use]
    pub fn flows(&self) -> f64 {
        self.flows
    }

    /// Excess of flow `key` over the fair rate, as a fraction of the flow's rate: 1 - t / (N^ x_i).
    #[inline]
    fn excess(&self, key: u32) -> f64 {
        match self.captures.of(key) {
            0 => 0.0,
            captures => f64::max(0.0, 1.0 - self.captures.len() as f64 / (self.flows * f64::from(captures))),
        }
    }
}

impl Aqm for Care {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        let key = self.share_per.of(packet);
        if rng.open01() < self.capture_probability {
            self.captures.capture(key);
            self.flows = self.population.estimate(self.captures.recent());
        }
        self.drop_probability = if self.gate.is_reached(queue, now) { self.excess(key) } else { 0.0 };
        if self.drop_probability > 0.0 && rng.open01() < self.drop_probability {
            Verdict::Drop
        } else {
            Verdict::Accept
        }
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.drop_probability)
    }

    fn state_size(&self) -> StateSize {
        let bytes = size_of_val(self) + size_of_val(&*self.captures) + size_of_val(&*self.population);
        StateSize { records: self.captures.flows(), bytes: bytes + self.captures.bytes() + self.population.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("flows", self.flows);
        report("captures", self.captures.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, read_queue, readings, refusal, view};
    use serde_json::json;

    /// Returns a port that captures every packet, with a gate of 5 packets.
    fn capture_all(estimator: Estimator) -> Care {
        let params = CareParams {
            capture_probability: 1.0,
            estimator,
            gate: Some(Threshold::Packets(5.0)),
            ..Default::default()
        };
        Care::new(&params, QueueLimit::Packets(300))
    }

    fn offer(care: &mut Care, flow: u32, packets: u32, rng: &mut Rng) -> Verdict {
        let view = view(packets, BitRate(5_000_000));
        care.admit(&TestPacket { flow, ..Default::default() }, &view, Time::ZERO, rng)
    }

    #[test]
    fn drops_the_part_of_the_rate_above_the_fair_share() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut care = capture_all(Estimator::Jackknife2);
        // Half of all packets belong to flow 0, the rest to ten other flows. All 11 flows are captured many times.
        for n in 0..400 {
            offer(&mut care, if n % 2 == 0 { 0 } else { 1 + n / 2 % 10 }, 0, &mut rng);
        }
        assert_eq!(care.captures.of(0), 100);
        // Of the last 50 captures, each of the ten flows has 2 or 3. f_2 = 5 flows have exactly 2, which gives N = 11 -
        // 5 * (t-2)^2/(t(t-1)) < 11. The estimate is at least the number of flows seen, S = 11.
        assert_eq!(care.flows(), 11.0);
        offer(&mut care, 0, 5, &mut rng);
        // This capture replaced another one of flow 0, so x is still 100 of 200. The drop probability is 1 -
        // 200/(11*100) = 0.818.
        assert!((care.drop_probability().unwrap() - (1.0 - 2.0 / 11.0)).abs() < 1e-12);
        // A light flow has x = 10 or 11 of 200, which is below the fair share of 18.2.
        assert_eq!(offer(&mut care, 3, 299, &mut rng), Verdict::Accept);
        assert_eq!(care.drop_probability(), Some(0.0));
    }

    #[test]
    fn drops_as_often_as_the_probability_says() {
        let mut rng = Rng::stream(2, 0, "test", 0);
        let mut care = capture_all(Estimator::M0);
        for n in 0..400 {
            offer(&mut care, n % 4, 0, &mut rng);
        }
        care.capture_probability = 0.0;
        care.flows = 8.0; // as with twice as many flows: 1 - 200/(8*50) = 1/2
        let drops = (0..10_000).filter(|_| offer(&mut care, 1, 9, &mut rng) == Verdict::Drop).count();
        // Among 10 000 draws with probability 1/2, the number of hits has a standard deviation of 50; the test allows
        // five times that.
        assert!(drops.abs_diff(5000) < 250, "{drops}");
    }

    #[test]
    fn nothing_is_dropped_below_the_gate_or_of_a_flow_that_was_never_captured() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut care = capture_all(Estimator::Jackknife1);
        for n in 0..200 {
            assert_eq!(offer(&mut care, if n % 10 == 0 { n } else { 1_000 }, 4, &mut rng), Verdict::Accept);
        }
        care.capture_probability = 0.0;
        // Five flows have one capture among the last 50: N^ = 6 + 5*49/50 = 10.9. Flow 1000 has 180 of 200 captures: p
        // = 1 - 200/(10.9*180) = 0.898. The standard deviation is 9.6 of 1000; the test allows five times that.
        let drops = (0..1000).filter(|_| offer(&mut care, 1_000, 5, &mut rng) == Verdict::Drop).count();
        assert!(drops.abs_diff(898) < 48, "{drops}");
        assert!((0..100).all(|_| offer(&mut care, 77_777, 299, &mut rng) == Verdict::Accept));
    }

    #[test]
    fn captures_the_given_part_of_the_arrivals_dropped_or_not() {
        let mut rng = Rng::stream(3, 0, "test", 0);
        let params = CareParams { occasions: 10_000, ..Default::default() };
        let mut care = Care::new(&params, QueueLimit::Packets(300));
        (0..100_000).for_each(|n| {
            offer(&mut care, n % 3, 299, &mut rng);
        });
        // Among 100 000 draws with probability 0.04, the number of hits has a mean of 4000 and a standard deviation of
        // 62; the test allows five times that.
        assert!(care.captures.len().abs_diff(4000) < 310, "{}", care.captures.len());
    }

    #[test]
    fn a_gate_of_four_packets_is_reached_in_underload_and_one_of_twenty_is_not() {
        // Three Poisson flows send 2, 2 and 4 Mbit/s over a link of 10 Mbit/s, in packets of 1000 B, with a buffer of
        // 24 packets (docs/schemes/care.md).
        let lost = |gate| {
            let buffer = BufferParams { limit: QueueLimit::Packets(24), ..Default::default() };
            let care = Care::new(&CareParams { gate, ..Default::default() }, buffer.limit);
            let mut queue = ManagedQueue::new(&buffer, BitRate(10_000_000), care);
            let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
            let (mut now_s, mut free_at_s) = (0.0, 0.0);
            let arrivals = 100_000;
            for n in 0..arrivals {
                now_s += rng.exponential(0.001);
                while free_at_s <= now_s && queue.backlog().packets > 0 {
                    queue.dequeue(Time::from_secs_f64(free_at_s), &mut rng, &mut drops);
                    free_at_s += 0.0008;
                }
                free_at_s = f64::max(free_at_s, now_s);
                let packet = TestPacket { flow: [0, 1, 2, 2][n as usize % 4], wire_bytes: 1000, ..Default::default() };
                queue.enqueue(packet, Time::from_secs_f64(now_s), &mut rng, &mut drops);
            }
            drops.0.len() as f64 / f64::from(arrivals)
        };
        let (own, twenty) = (lost(None), lost(Some(Threshold::Packets(20.0))));
        assert!(own > 0.001 && twenty < 0.0005, "{own} {twenty}");
    }

    #[test]
    fn the_limit_of_the_queue_stands_behind_it() {
        let buffer = BufferParams { limit: QueueLimit::Packets(3), ..Default::default() };
        let mut queue = ManagedQueue::new(
            &buffer,
            BitRate(5_000_000),
            Care::new(&CareParams { capture_probability: 0.0, ..Default::default() }, buffer.limit),
        );
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        (0..5).for_each(|flow| {
            queue.enqueue(TestPacket { flow, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
        });
        assert_eq!(drops.0.iter().map(|drop| drop.1).collect::<Vec<_>>(), [DropReason::Overlimit; 2]);
    }

    #[test]
    fn state_is_bounded_by_the_captures() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut care = capture_all(Estimator::M0);
        (0..10_000).for_each(|flow| {
            offer(&mut care, flow, 0, &mut rng);
        });
        let size = care.state_size();
        assert_eq!(size.records, 200);
        // The state has 200 captures of 4 bytes, 200 flows of 13 bytes, 51 estimates of 8 bytes, and the fixed part.
        let fixed = size_of::<Care>() + size_of::<CaptureList>() + size_of::<Population>();
        assert_eq!(size.bytes, 200 * 17 + 51 * 8 + fixed);
        // The last 50 captures are of 50 different flows, so M0 gives t^2/2.
        assert_eq!(readings(|report| care.report(report)), [("flows", 1250.0), ("captures", 200.0)]);
    }

    #[test]
    fn more_counted_than_held_is_refused() {
        assert_eq!(
            refusal(json!({"scheme": "care", "occasions": 40})),
            "queue.counted_occasions: 50 is out of range, it must be from 1 to occasions, 40"
        );
        assert!(refusal(json!({"scheme": "care", "gate": "25 packets"})).starts_with("queue.gate"));
        assert!(read_queue(json!({"scheme": "care", "gate": "24 packets", "estimator": "m0"})).is_ok());
    }
}
