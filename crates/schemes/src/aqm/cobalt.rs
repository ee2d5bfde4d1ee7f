//! COBALT: combines CoDel, whose count decays slowly, with BLUE against flows that do not react to CoDel.
//!
//! Source: Linux `sch_cake.c`, where each queue of CAKE runs COBALT ([`super::cobalt_core`]), and `CobaltQueueDisc` of
//! ns-3. Palmei et al. describe the single-queue variant of ns-3 in "Design and Evaluation of COBALT Queue Discipline",
//! LANMAN 2019. We read only the code, not the paper.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | (C1) to (C8) of the core, `spared` = `spared_packets` MTU times | [`super::cobalt_core`] |
//! | (2) | a packet that has waited for more than `blue_threshold`: `p += increment`, at most once per `target` | `CobaltAqm::release` |
//! | (3) | a packet that would leave an empty queue is always sent, regardless of (1) | `CobaltAqm::release` |
//!
//! CoDel stops dropping at the first short delay and keeps its count for a while. COBALT decreases the count as fast as
//! it was increased. If drops resume soon, they start at a higher rate. Flows that do not react fill the buffer, which
//! raises BLUE's probability.
//!
//! Cost: a few comparisons per packet, a square root per drop or mark by CoDel, a random number per packet while p > 0.
//! State: two time stamps, count and p.
//!
//! Deviations:
//! 1. Where the sources disagree, defaults are those of Linux: packets are marked, BLUE has no threshold, delays up to
//!    4 MTU times are never too long, and the last packet in the queue is not dropped. ns-3 does not mark, has a BLUE
//!    threshold of 400 ms and no minimum of 4 MTU times, and may drop the last packet.
//! 2. A packet that CoDel marks and BLUE drops counts only as dropped; in ns-3 it also counts as marked.
//! 3. A slow link does not raise the target; in CAKE it does.
//!
//! Not implemented: `CeThreshold` and `UseL4s` of ns-3, marks by the delay alone.

use super::cobalt_core::{Cobalt, CobaltTarget, Signal};
use super::codel::check_target;
use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// COBALT.
    pub struct CobaltParams {
        /// Target delay of the standing queue, and minimum time between two changes of p.
        target: Time = "5 ms", in "1 us"..="10 s", symbol "target", source "sch_cake: internet; ns-3";
        /// Time for which the delay may exceed the target.
        interval: Time = "100 ms", in "10 us"..="100 s", symbol "interval", source "sch_cake: internet; ns-3";
        /// Drops or marks as soon as a delay is too long, without waiting for an interval.
        starts_at_once: bool = false, source "sch_cake: true, rec_inv_sqrt is 0 at first";
        /// Marks ECN-capable packets instead of dropping them by CoDel.
        ecn: bool = true, source "sch_cake: always; off in ns-3";
        /// Increment of BLUE's probability at an overflow.
        increment: f64 = 0.00390625, in 0.0..=1.0, symbol "p_inc", source "sch_cake: 1/256; ns-3";
        /// Decrement of BLUE's probability when the link is idle.
        decrement: f64 = 0.000244140625, in 0.0..=1.0, symbol "p_dec", source "sch_cake: 1/4096; ns-3";
        /// Delay above which a packet raises BLUE's probability like an overflow; absent: only overflows raise it.
        blue_threshold: Option<Time> = null, in "1 us"..="100 s", source "sch_cake: none; 400 ms in ns-3";
        /// A delay up to the transmission time of this number of maximum-size packets is never too long.
        spared_packets: u32 = 4, in 0..=1000, source "sch_cake: 4 MTU times; 0 in ns-3";
        /// Always sends the last packet of the queue.
        keep_last: bool = true, source "sch_cake; off in ns-3";
    }
}

/// Registry entry of COBALT.
#[derive(Clone, Copy, Debug)]
pub struct CobaltScheme;

impl SchemeSpec for CobaltScheme {
    const ABOUT: About = About {
        title: "CoDel and BLUE alternate, COBALT",
        kind: "one queue, or one per class; drops or marks at the head",
        summary: "Drops at the head by CoDel with a decaying count, and by a probability that rises at overflows and \
                  falls when the link is idle.",
        source: "Linux sch_cake; Palmei et al.: Design and Evaluation of COBALT Queue Discipline, LANMAN 2019",
        state: "port: 2 times, count, probability; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    type Params = CobaltParams;
    type Discipline<P: Packet> = ManagedQueue<P, CobaltAqm>;

    fn check(params: &CobaltParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_target(params.target, params.interval, table)
    }

    fn build<P: Packet>(params: &CobaltParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, CobaltAqm::new(params, port.buffer.mtu))
    }
}

/// COBALT at a port with one queue.
#[derive(Clone, Debug)]
pub struct CobaltAqm {
    cobalt: Cobalt,
    aim: CobaltTarget,
    blue_threshold: Option<Time>,
    spared_bytes: u64,
    ecn: bool,
    keep_last: bool,
}

impl CobaltAqm {
    /// Creates an idle port. The link rate must be set before use.
    #[must_use]
    pub fn new(params: &CobaltParams, mtu: Bytes) -> Self {
        let CobaltParams { target, interval, increment, decrement, starts_at_once, .. } = *params;
        Self {
            cobalt: Cobalt::default(),
            aim: CobaltTarget {
                target,
                interval,
                spared: Time::ZERO,
                increment,
                decrement,
                whole_spells: false,
                starts_at_once,
            },
            blue_threshold: params.blue_threshold,
            spared_bytes: mtu.0 * u64::from(params.spared_packets),
            ecn: params.ecn,
            keep_last: params.keep_last,
        }
    }
}

impl Aqm for CobaltAqm {
    const JUDGES_AT_HEAD: bool = true;

    #[inline]
    fn admit<P: Packet>(&mut self, _: &P, _: &QueueView, _: Time, _: &mut Rng) -> Verdict {
        Verdict::Accept
    }

    fn overflowed<P: Packet>(&mut self, _: &P, now: Time) {
        self.cobalt.overflowed(&self.aim, now);
    }

    fn release<P: Packet>(&mut self, packet: &P, behind: Backlog, now: Time, rng: &mut Rng) -> Verdict {
        let sojourn = now.saturating_sub(packet.enqueued_at());
        if self.blue_threshold.is_some_and(|threshold| sojourn > threshold) {
            self.cobalt.raise(&self.aim, now); // rule (2)
        }
        let markable = self.ecn && packet.ecn().is_capable();
        let too_long = self.aim.is_exceeded(sojourn);
        let Signal { drop, mark } = self.cobalt.judge(&self.aim, too_long, markable, now, rng);
        if drop && !(self.keep_last && behind.packets == 0) {
            Verdict::Drop // otherwise rule (3)
        } else if mark {
            Verdict::Mark
        } else {
            Verdict::Accept
        }
    }

    fn idle(&mut self, now: Time) {
        self.cobalt.emptied(&self.aim, now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.aim.spared = rate.time_of(self.spared_bytes);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.cobalt.probability())
    }

    fn report(&self, report: Report<'_>) {
        report("signal_count", f64::from(self.cobalt.count()));
        report("dropping", f64::from(u8::from(self.cobalt.is_dropping())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket, close, readings, refusal};
    use proptest::prelude::*;
    use serde_json::json;

    /// COBALT with one queue as in ns-3: `CobaltQueueDisc::CobaltShouldDrop` and its two callers, in nanoseconds and
    /// without randomness. It computes CoDel's drop decision and p.
    struct Reference {
        count: u32,
        dropping: bool,
        drop_next: f64,
        blue_changed: f64,
        p: f64,
    }

    impl Reference {
        const TARGET: f64 = 5e6;
        const INTERVAL: f64 = 100e6;

        fn control_law(&mut self, from: f64) {
            // ns-3's table of 1/sqrt(count) starts with 1 for count 0.
            self.drop_next = from + Self::INTERVAL / f64::from(self.count.max(1)).sqrt();
        }

        fn blue(&mut self, now: f64, step: f64) {
            if now - self.blue_changed > Self::TARGET {
                self.p = (self.p + step).clamp(0.0, 1.0);
                self.blue_changed = now;
            }
        }

        fn full(&mut self, now: f64) {
            self.blue(now, 1.0 / 256.0);
            (self.dropping, self.drop_next, self.count) = (true, now, self.count.max(1));
        }

        fn empty(&mut self, now: f64) {
            if self.p > 0.0 {
                self.blue(now, -1.0 / 4096.0);
            }
            self.dropping = false;
            if self.count > 0 && now >= self.drop_next {
                self.count -= 1;
                self.control_law(self.drop_next);
            }
        }

        fn should_drop(&mut self, now: f64, sojourn: f64, threshold: f64) -> bool {
            let mut due = self.count > 0 && now >= self.drop_next;
            let mut schedule = now - self.drop_next;
            if sojourn > Self::TARGET {
                if !self.dropping {
                    self.dropping = true;
                    self.control_law(now);
                }
                self.count = self.count.max(1);
            } else {
                self.dropping = false;
            }
            let drop = due && self.dropping;
            if drop {
                self.count += 1;
                self.control_law(self.drop_next);
                schedule = now - self.drop_next;
            } else {
                while due {
                    self.count -= 1;
                    self.control_law(self.drop_next);
                    schedule = now - self.drop_next;
                    due = self.count > 0 && schedule >= 0.0;
                }
            }
            if sojourn > threshold {
                self.blue(now, 1.0 / 256.0);
            }
            if self.count == 0 {
                self.drop_next = now + Self::INTERVAL;
            } else if schedule > 0.0 && !drop {
                self.drop_next = now;
            }
            drop
        }
    }

    fn as_in_ns3() -> CobaltParams {
        let blue_threshold = Some(Time::from_millis(400));
        CobaltParams { ecn: false, blue_threshold, spared_packets: 0, keep_last: false, ..Default::default() }
    }

    const BEHIND: Backlog = Backlog { packets: 9, bytes: 13_500 };

    proptest! {
        #[test]
        fn decisions_are_those_of_ns3(
            steps in prop::collection::vec((0u8..12, 1u64..400, prop::bool::weighted(0.8)), 1..300),
        ) {
            let params = CobaltParams { increment: 0.0, decrement: 0.0, ..as_in_ns3() };
            let mut ours = CobaltAqm::new(&params, Bytes(1500));
            let mut theirs = Reference { count: 0, dropping: false, drop_next: 0.0, blue_changed: 0.0, p: 0.0 };
            let (mut now, mut rng) = (Time::from_secs(1), Rng::stream(1, 0, "cobalt", 0));
            for (what, wait, is_long) in steps {
                // Avoids whole milliseconds, for which rounding of the due time would matter.
                now += Time::from_nanos(wait * 331_777 + 13);
                let sojourn = Time::from_millis(if is_long { 60 } else { 2 });
                let packet = TestPacket { enqueued_at: now - sojourn, ..Default::default() };
                let now_ns = now.as_secs_f64() * 1e9;
                match what {
                    0 => { ours.overflowed(&packet, now); theirs.full(now_ns); }
                    1 => { ours.idle(now); theirs.empty(now_ns); }
                    _ => {
                        let drop = ours.release(&packet, BEHIND, now, &mut rng) == Verdict::Drop;
                        prop_assert_eq!(drop, theirs.should_drop(now_ns, sojourn.as_secs_f64() * 1e9, 4e8));
                    }
                }
                prop_assert_eq!((ours.cobalt.count(), ours.cobalt.is_dropping()), (theirs.count, theirs.dropping));
            }
        }

        #[test]
        fn blue_moves_as_in_ns3(steps in prop::collection::vec((0u8..3, 1u64..30, 0u64..800), 1..300)) {
            let mut ours = CobaltAqm::new(&as_in_ns3(), Bytes(1500));
            let mut theirs = Reference { count: 0, dropping: false, drop_next: 0.0, blue_changed: 0.0, p: 0.0 };
            let (mut now, mut rng) = (Time::from_secs(1), Rng::stream(1, 0, "cobalt", 0));
            for (what, wait, waited_ms) in steps {
                now += Time::from_nanos(wait * 331_777 + 13);
                let sojourn = Time::from_millis(waited_ms);
                let packet = TestPacket { enqueued_at: now - sojourn, ..Default::default() };
                let now_ns = now.as_secs_f64() * 1e9;
                match what {
                    0 => { ours.overflowed(&packet, now); theirs.full(now_ns); }
                    1 => { ours.idle(now); theirs.empty(now_ns); }
                    _ => {
                        ours.release(&packet, BEHIND, now, &mut rng);
                        theirs.should_drop(now_ns, sojourn.as_secs_f64() * 1e9, 4e8);
                    }
                }
                prop_assert_eq!(ours.drop_probability(), Some(theirs.p));
            }
        }

        #[test]
        fn survives_anything(
            (target_us, interval_ms) in (1u64..100_000, 101u64..10_000),
            (increment, decrement) in (0.0..=1.0, 0.0..=1.0),
            (ecn, keep_last, starts_at_once) in any::<(bool, bool, bool)>(),
            spared_packets in 0u32..=1000,
            threshold_ms in prop::option::of(1u64..1000),
            limit in crate::fairqueue::testing::limits(),
            noise in crate::fairqueue::testing::noise(),
        ) {
            let params = CobaltParams {
                target: Time::from_micros(target_us),
                interval: Time::from_millis(interval_ms),
                blue_threshold: threshold_ms.map(Time::from_millis),
                ecn, keep_last, starts_at_once, spared_packets, increment, decrement,
            };
            crate::fairqueue::testing::survives(SchemeParams::Cobalt(params), limit, &noise);
        }
    }

    /// Runs a port for 2 s, with 90 packets waiting and a limit of 100 packets. Returns (drops, marks).
    fn at_port(params: &CobaltParams, ecn: Ecn) -> (usize, usize) {
        let buffer = BufferParams { limit: QueueLimit::Packets(100), ..Default::default() };
        let port = Port { buffer: &buffer, rate: BitRate(10_000_000), weights: &Weights::equal() };
        let mut queue = CobaltScheme::build::<TestPacket>(params, &port);
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for step in 0..1666 {
            let now = Time::from_micros(1200 * step);
            while queue.backlog().packets < 90 {
                queue.enqueue(TestPacket { ecn, ..Default::default() }, now, &mut rng, &mut drops);
            }
            queue.dequeue(now, &mut rng, &mut drops);
        }
        assert!(drops.0.iter().all(|drop| drop.1 == DropReason::Aqm));
        let signals = (drops.0.len() + drops.1.len()) as f64;
        assert_eq!(readings(|report| queue.report(report)), [("signal_count", signals + 1.0), ("dropping", 1.0)]);
        (drops.0.len(), drops.1.len())
    }

    #[test]
    fn marks_in_place_of_drops_if_both_sides_want_it() {
        // The packet that leaves at 6 ms is the first with a delay above 5 ms. (C2) sets next = 106 ms and count 1.
        // Signal n comes at the first departure from 106 + 100 * (1/sqrt(2) + ... + 1/sqrt(n)) ms on. The last
        // departure is at 1998 ms.
        let due = |n: u32| 106.0 + 100.0 * (2..=n).map(|k| 1.0 / f64::from(k).sqrt()).sum::<f64>();
        let last = (1..).take_while(|&n| due(n) <= 1998.0).last().unwrap() as usize;
        let drop = CobaltParams { ecn: false, ..Default::default() };
        assert_eq!(at_port(&drop, Ecn::Ect0), (last, 0));
        assert_eq!(at_port(&CobaltParams::default(), Ecn::NotEct), (last, 0));
        assert_eq!(at_port(&CobaltParams::default(), Ecn::Ect0), (0, last));
    }

    #[test]
    fn a_delay_above_the_threshold_of_blue_raises_p_once_per_target() {
        let mut aqm = CobaltAqm::new(&as_in_ns3(), Bytes(1500));
        let mut rng = Rng::stream(1, 0, "cobalt", 0);
        let mut run = |waited_ms, span: std::ops::Range<u64>| {
            for now in span.map(Time::from_millis) {
                let packet = TestPacket { enqueued_at: now - Time::from_millis(waited_ms), ..Default::default() };
                aqm.release(&packet, BEHIND, now, &mut rng);
            }
            aqm.drop_probability().unwrap()
        };
        close(run(400, 1000..1100), 0.0); // not above it
        // p rises at 1100, 1106, 1112 ... 1154 ms, because changes must be more than 5 ms apart.
        close(run(401, 1100..1160), 10.0 / 256.0);
    }

    #[test]
    fn the_last_packet_is_sent_and_marked_unless_told_otherwise() {
        for (keep_last, ecn, expected) in [
            (true, Ecn::NotEct, Verdict::Accept),
            (true, Ecn::Ect0, Verdict::Mark),
            (false, Ecn::NotEct, Verdict::Drop),
        ] {
            let mut aqm = CobaltAqm::new(&CobaltParams { keep_last, ..Default::default() }, Bytes(1500));
            aqm.overflowed(&TestPacket::default(), Time::from_secs(1)); // due at once
            let packet = TestPacket { ecn, ..Default::default() };
            let mut rng = Rng::stream(1, 0, "cobalt", 0);
            let verdict = aqm.release(&packet, Backlog::default(), Time::from_secs(2), &mut rng);
            assert_eq!(verdict, expected, "{keep_last} {ecn:?}");
        }
    }

    #[test]
    fn packets_that_the_link_needs_that_long_for_are_never_too_late() {
        // 4 * 1500 B at 1 Mbit/s are 48 ms. This is above the target, but within `spared_packets`, so never too long.
        let mut aqm = CobaltAqm::new(&CobaltParams::default(), Bytes(1500));
        aqm.set_link_rate(BitRate(1_000_000));
        assert_eq!(aqm.aim.spared, Time::from_millis(48));
    }

    #[test]
    fn a_target_not_below_the_interval_is_refused() {
        assert_eq!(
            refusal(json!({"scheme": "cobalt", "target": "100 ms"})),
            "queue.target: \"100 ms\" is out of range, it must be below the interval, 100 ms"
        );
    }
}
