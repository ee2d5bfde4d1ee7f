//! BLUE: raises the drop probability when the queue overflows and lowers it when the link becomes idle.
//!
//! Source: Feng, Kandlur, Saha and Shin, "BLUE: A New Class of Active Queue Management Algorithms", 1999; parameters
//! from the authors' ns scripts.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | on overflow, or if the queue is at least `level`: if `t - last > freeze`: `p += increment`, `last = t` | [`Blue::raise`] |
//! | (2) | when the link becomes idle: if `t - last > freeze`: `p -= decrement`, `last = t` | [`Blue::idle`] |
//! | (3) | drop or mark with probability p | [`Blue::admit`] |
//!
//! By BLUE's definition, an idle port may drop a packet.
//!
//! Cost: one random number per packet while p > 0. State: p and the time of its last change.
//!
//! Deviations:
//! 1. p decreases once each time the link becomes idle; an implementation for ns-3 repeats this every `freeze` while
//!    the link is idle.
//! 2. A random drop at a full queue does not count as overflow.

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// BLUE.
    pub struct BlueParams {
        /// Increment of the drop probability at an overflow.
        increment: f64 = 0.0025, in 0.0..=1.0, symbol "d1", source "authors' ns script";
        /// Decrement of the drop probability when the link is idle.
        decrement: f64 = 0.00025, in 0.0..=1.0, symbol "d2", source "authors' ns script";
        /// Minimum time between two changes (freeze time).
        freeze: Time = "100 ms", in "0 s"..="100 s", symbol "freeze_time", source "authors' ns script";
        /// Queue, in packets or bytes, above which an arrival counts as overflow; absent: only at a full queue.
        level: Option<QueueLimit> = null, symbol "L", source "BLUE 1999: Qlen > L";
        /// Marks ECN-capable packets instead of dropping them early.
        ecn: bool = false, source "BLUE 1999: drop or mark";
    }
}

/// Registry entry of BLUE.
#[derive(Clone, Copy, Debug)]
pub struct BlueScheme;

impl SchemeSpec for BlueScheme {
    const ABOUT: About = About {
        title: "BLUE",
        kind: "one queue, or one per class; drops or marks the arriving packet",
        summary: "Drops or marks arrivals with a probability that rises at overflows and falls when the link is idle.",
        source: "Feng, Kandlur, Saha, Shin: BLUE: A New Class of Active Queue Management Algorithms, 1999",
        state: "port: probability and the time of its last change; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = BlueParams;
    type Discipline<P: Packet> = ManagedQueue<P, Blue>;

    fn build<P: Packet>(params: &BlueParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Blue::new(params))
    }
}

/// BLUE at one port.
#[derive(Clone, Debug)]
pub struct Blue {
    probability: f64,
    last_change: Option<Time>,
    params: BlueParams,
}

impl Blue {
    /// Creates an idle port.
    #[must_use]
    pub fn new(params: &BlueParams) -> Self {
        Self { probability: 0.0, last_change: None, params: params.clone() }
    }

    /// Raises the probability by rule (1).
    fn raise(&mut self, now: Time) {
        self.change(self.params.increment, now);
    }

    /// Adds `amount` unless the probability is frozen.
    fn change(&mut self, amount: f64, now: Time) {
        if self.last_change.is_none_or(|last| now.saturating_sub(last) > self.params.freeze) {
            self.probability = (self.probability + amount).clamp(0.0, 1.0);
            self.last_change = Some(now);
        }
    }
}

impl Aqm for Blue {
    fn admit<P: Packet>(&mut self, _: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        if self.params.level.is_some_and(|level| match level {
            QueueLimit::Packets(packets) => queue.backlog.packets >= packets,
            QueueLimit::Bytes(bytes) => queue.backlog.bytes >= bytes,
        }) {
            self.raise(now);
        }
        // Rule (3).
        if self.probability == 0.0 || rng.open01() > self.probability {
            Verdict::Accept
        } else if self.params.ecn {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    fn overflowed<P: Packet>(&mut self, _: &P, now: Time) {
        self.raise(now);
    }

    /// Lowers the probability by rule (2). Because of the freeze time, a second call at the same time has no effect.
    fn idle(&mut self, now: Time) {
        self.change(-self.params.decrement, now);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn report(&self, report: Report<'_>) {
        report("drop_probability", self.probability);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, readings, view};

    fn probability_after(params: &BlueParams, overflows: &[u64], idle: &[u64]) -> f64 {
        let mut blue = Blue::new(params);
        overflows.iter().for_each(|&at| blue.overflowed(&TestPacket::default(), Time::from_millis(at)));
        idle.iter().for_each(|&at| blue.idle(Time::from_millis(at)));
        blue.probability
    }

    #[test]
    fn rules_1_and_2_change_at_most_once_per_freeze() {
        let params = BlueParams { increment: 0.25, decrement: 0.125, ..Default::default() };
        assert_eq!(probability_after(&params, &[0, 1, 100], &[]), 0.25); // 100 ms is not more than the freeze
        assert_eq!(probability_after(&params, &[0, 1, 101], &[]), 0.5);
        assert_eq!(probability_after(&params, &[0, 101], &[150, 202, 202, 302]), 0.375);
        assert_eq!(probability_after(&params, &[], &[0, 1000]), 0.0);
        assert_eq!(probability_after(&params, &[0, 200, 400, 600, 800, 1000], &[]), 1.0);
    }

    #[test]
    fn rule_3_drops_or_marks_the_part_p_of_arrivals() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut verdicts = |ecn| {
            let mut blue = Blue::new(&BlueParams { ecn, ..Default::default() });
            blue.probability = 0.2;
            let view = view(0, BitRate(10_000_000));
            let hit = if ecn { Verdict::Mark } else { Verdict::Drop };
            (0..10_000).filter(|_| blue.admit(&TestPacket::default(), &view, Time::ZERO, &mut rng) == hit).count()
        };
        // The count is binomial with a standard deviation of 40; the test allows five times that.
        assert!(verdicts(false).abs_diff(2000) < 200);
        assert!(verdicts(true).abs_diff(2000) < 200);
    }

    #[test]
    fn overload_without_service_raises_p_once_per_freeze_and_a_level_before_the_queue_is_full() {
        let offer = |level| {
            let params = BlueParams { level, ..Default::default() };
            let limit = QueueLimit::Packets(4);
            let buffer = BufferParams { limit, ..Default::default() };
            let port = Port { buffer: &buffer, rate: BitRate(10_000_000), weights: &Weights::equal() };
            let mut queue = BlueScheme::build::<TestPacket>(&params, &port);
            let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
            for at in 0..10 {
                let packet = TestPacket { ecn: Ecn::NotEct, ..Default::default() };
                queue.enqueue(packet, Time::from_millis(at * 50), &mut rng, &mut drops);
            }
            assert_eq!(drops.0.len(), 6); // ten packets, room for four; early or overflow
            let readings = readings(|report| queue.report(report));
            assert_eq!(readings, [("drop_probability", queue.drop_probability().unwrap())]);
            readings[0].1
        };
        // The queue is full from 200 ms on. The probability rises at 200 and 350 ms; the arrivals at 250 and 300 ms
        // are within the freeze time of 100 ms.
        assert_eq!(offer(None), 0.005);
        // Two packets wait from 100 ms on, so the probability rises at 100, 250 and 400 ms.
        assert_eq!(offer(Some(QueueLimit::Packets(2))), 0.0075);
        assert_eq!(offer(Some(QueueLimit::Bytes(3_000))), 0.0075);
    }
}
