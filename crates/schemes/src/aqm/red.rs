//! RED: random early detection drops arrivals with a probability that grows with the average queue.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1993
//! (red1993); gentle line, wait and automatic settings as in ns-2 and ns-3. ECN: RFC 3168.
//!
//! Equations (1) to (6): see [`super::red_core`]. Drop or mark if `U <= p_a`; drop if the average is at the end of the
//! last line or beyond. No packet is dropped early if at most one waits.
//!
//! Cost: a few multiplications a packet; one division and one draw while the average is between the thresholds; one
//! power at the first arrival after an idle time. State: average, count, probability and the beginning of an idle time;
//! none per flow.
//!
//! Deviations:
//! 1. Idle time starts when the link asks for a packet and gets none, as in ns-2 and ns-3, not when the queue empties.
//! 2. Automatic weight and thresholds follow the rate of the link when it changes; in ns-2 and ns-3 they stay.
//! 3. A drop at a full queue happens after the decision of RED, as in ns-3. It restarts the count, and so does a forced
//!    drop, as in ns-2. ns-3 does neither: `forced_restarts`.
//! 4. Defaults are those of ns-3.26: `max_p` 0.02 (red1993: 0.1 with `gentle = false`, `wait = false`).
//! 5. ns-3 derives idle times and automatic settings from its attribute `LinkBandwidth` (1.5 Mbit/s unless set); here
//!    it is the rate of the link, also when it changes.
//! 6. ns-3 ties byte mode to the unit of the limit; here the unit of the thresholds decides how the queue is measured,
//!    and `size_scaling` whether a packet's length counts.
//!
//! Not implemented: random or head drop at a full queue, "cautious" variants, nonlinear RED.

use super::red_core::{RedCore, RedDecision, RedSettings, SizeScaling, WeightRule, check_thresholds};
use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// RED. Thresholds in packets or in bytes measure the queue alike.
    pub struct RedParams {
        /// No packet is dropped early while the average queue is shorter; 0 together with `max_th`: automatic.
        min_th: Threshold = "5 packets", symbol "min_th", source "ns-3.26; 50 in AFC";
        /// Where the probability reaches `max_p`.
        max_th: Threshold = "15 packets", symbol "max_th", source "ns-3.26; 150 in AFC";
        /// Drop probability when the average is `max_th`.
        max_p: f64 = 0.02, in 0.000001..=1.0, symbol "max_p", source "ns-3.26 (LInterm 50); 0.1 in ns-2";
        /// Weight of a new sample in the average queue.
        weight: f64 = 0.002, in 0.000000001..=1.0, symbol "w_q", source "red1993 section VI";
        /// Where the weight comes from; other than `given` it follows the rate of the link.
        weight_rule: WeightRule = "given", source "ns-2 q_weight 0, -1, -2";
        /// From `max_th` to twice `max_th` the probability grows to 1 instead of stepping there.
        gentle: bool = true, source "ns-3.26, ns-2";
        /// At least `1/p_b` packets between early drops.
        wait: bool = true, source "ns-3.26, ns-2";
        /// How a packet's length counts in its probability: byte mode is `after` (ns-2, ns-3) or `before` (red1993).
        size_scaling: SizeScaling = "none", source "ns-3.26 packet mode; ns-2 bytes_ = after";
        /// Mean length of a packet, for idle times, byte mode and automatic settings.
        mean_packet: Bytes = "500 B", in "1 B"..="1 MB", source "ns-3.26, ns-2";
        /// Automatic thresholds: `min_th = max(5, target_delay*C_pkt/2)`, `max_th = 3*min_th`.
        target_delay: Time = "5 ms", in "1 us"..="10 s", source "ns-2 targetdelay_";
        /// One-way delay of the link, for `weight_rule = "ten_rtt"`.
        link_delay: Time = "20 ms", in "0 s"..="100 s", source "ns-3.26 LinkDelay";
        /// Whether a forced drop or a full queue restarts the count between early drops.
        forced_restarts: bool = true, source "ns-2; false in ns-3";
        /// Mark ECN-capable packets instead of dropping them early.
        ecn: bool = false, source "RFC 3168; ns-3.26 has none";
        /// With ECN: still drop when the average is beyond the last line.
        hard_drop: bool = true, source "ns-3 UseHardDrop";
    }
}

impl RedParams {
    /// The settings of the core.
    #[must_use]
    pub fn settings(&self) -> RedSettings {
        RedSettings {
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            weight: self.weight,
            weight_rule: self.weight_rule,
            gentle: self.gentle,
            wait: self.wait,
            size_scaling: self.size_scaling,
            mean_packet: self.mean_packet,
            target_delay: self.target_delay,
            link_delay: self.link_delay,
            forced_restarts: self.forced_restarts,
        }
    }
}

/// RED in the list of schemes.
#[derive(Clone, Copy, Debug)]
pub struct RedScheme;

impl SchemeSpec for RedScheme {
    const ABOUT: About = About {
        title: "Random early detection",
        kind: "one queue per class and scheduler; drops or marks the arriving packet",
        summary: "Drops or marks arrivals with a probability that grows with the average queue.",
        source: "Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1993; RFC 3168",
        state: "port: average, count, idle time; flow: none",
    };
    type Params = RedParams;
    type Discipline<P: Packet> = ManagedQueue<P, Red>;

    fn check(params: &RedParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_thresholds(params.min_th, params.max_th, table)
    }

    fn build<P: Packet>(params: &RedParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Red::new(params, port.rate))
    }
}

/// RED at one port.
#[derive(Clone, Debug)]
pub struct Red {
    core: RedCore,
    ecn: bool,
    hard_drop: bool,
}

impl Red {
    /// A port that has seen nothing, at a link of rate `rate`.
    #[must_use]
    pub fn new(params: &RedParams, rate: BitRate) -> Self {
        Self { core: RedCore::new(params.settings(), rate), ecn: params.ecn, hard_drop: params.hard_drop }
    }
}

impl Aqm for Red {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        self.core.arrival(queue.backlog, packet.wire_bytes(), now);
        match self.core.decide(queue.backlog, packet.wire_bytes(), rng) {
            RedDecision::Pass => Verdict::Accept,
            RedDecision::Early if self.ecn => Verdict::Mark,
            RedDecision::Forced if self.ecn && !self.hard_drop => Verdict::Mark,
            RedDecision::Early | RedDecision::Forced => Verdict::Drop,
        }
    }

    #[inline]
    fn accepted<P: Packet>(&mut self, _: &mut P, _: Time) {}

    fn overflowed<P: Packet>(&mut self, _: &P, _: Time) {
        self.core.overflowed();
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.core.idle(now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.core.set_link_rate(rate);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.core.probability())
    }

    fn state_size(&self) -> StateSize {
        StateSize { records: 0, bytes: size_of_val(self) - size_of_val(&self.core) + self.core.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("average_queue", self.core.average());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::queue_config::QueueConfig;
    use crate::testing::{Drops, TestPacket};
    use serde_json::{Value as Json, json};

    fn message(value: &Json) -> String {
        QueueConfig::read(&mut Table::new("queue", value).unwrap()).unwrap_err().to_string()
    }

    /// Arrivals of `ecn` at a queue of 8 packets that nobody serves, the average following at once.
    fn offer(params: &RedParams, ecn: Ecn, arrivals: u32) -> Drops {
        let buffer = BufferParams { limit: QueueLimit::Packets(8), ..Default::default() };
        let mut queue = ManagedQueue::new(&buffer, BitRate(10_000_000), Red::new(params, BitRate(10_000_000)));
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for flow in 0..arrivals {
            queue.enqueue(TestPacket { flow, ecn, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
        }
        drops
    }

    /// A weight of 1 makes the average the queue itself; thresholds 2 and 4.
    fn immediate(ecn: bool, hard_drop: bool, gentle: bool) -> RedParams {
        RedParams {
            min_th: Threshold::Packets(2.0),
            max_th: Threshold::Packets(4.0),
            weight: 1.0,
            max_p: 1.0,
            gentle,
            ecn,
            hard_drop,
            ..Default::default()
        }
    }

    #[test]
    fn queue_stops_where_the_last_line_ends() {
        // Classic: packets 0..=2 pass (2 crosses min_th), 3 finds p_b = 0.5 and c = 2: wait gives 0.5/(2-1) = 0.5.
        let drops = offer(&immediate(false, true, false), Ecn::NotEct, 100);
        assert!(drops.0.iter().all(|(_, reason, backlog)| *reason == DropReason::Aqm && backlog.packets <= 4));
        assert_eq!(drops.0.len(), 96);
        // Gentle with max_p = 1: p_b is 1 from 4 packets on, so that wait finds c*p_b >= 1 at once and drops for certain.
        let drops = offer(&immediate(false, true, true), Ecn::NotEct, 100);
        assert!(drops.0.iter().all(|(_, reason, backlog)| *reason == DropReason::Aqm && backlog.packets <= 4));
        assert_eq!(drops.0.len(), 96);
    }

    #[test]
    fn ecn_marks_early_and_drops_beyond_the_last_line_if_hard() {
        // Classic without wait: packet 2 crosses min_th and starts the count; packet 3 finds p_b = 0.5 and c = 2, so
        // that p_a = 1 (6): early. Packet 4 finds max_th: forced.
        let certain = |hard_drop| RedParams { wait: false, ..immediate(true, hard_drop, false) };
        // Hard: the early one is marked, all forced ones are dropped.
        let hard = offer(&certain(true), Ecn::Ect0, 100);
        assert_eq!(hard.1, [3]);
        assert_eq!(hard.0.iter().map(|(packet, ..)| packet.flow).collect::<Vec<_>>(), (4..100).collect::<Vec<_>>());
        assert!(hard.0.iter().all(|(_, reason, backlog)| *reason == DropReason::Aqm && backlog.packets == 4));
        // Soft: the forced ones are marked, too, until 8 packets fill the queue.
        let soft = offer(&certain(false), Ecn::Ect0, 100);
        assert_eq!(soft.1, [3, 4, 5, 6, 7]);
        assert_eq!(soft.0.iter().map(|(packet, ..)| packet.flow).collect::<Vec<_>>(), (8..100).collect::<Vec<_>>());
        assert!(soft.0.iter().all(|(_, reason, _)| *reason == DropReason::Overlimit));
        // A transport that does not speak ECN loses packet 3, and all after it: each finds p_b = 0.5 and c = 1 again.
        let deaf = offer(&certain(false), Ecn::NotEct, 100);
        assert_eq!(deaf.0.iter().map(|(packet, ..)| packet.flow).collect::<Vec<_>>(), (3..100).collect::<Vec<_>>());
        assert!(deaf.0.iter().all(|(_, reason, backlog)| *reason == DropReason::Aqm && backlog.packets == 3));
        assert!(deaf.1.is_empty());
    }

    #[test]
    fn an_idle_port_takes_every_packet() {
        let params = immediate(false, true, false);
        let mut queue =
            ManagedQueue::new(&BufferParams::default(), BitRate(10_000_000), Red::new(&params, BitRate(10_000_000)));
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for second in 0..50 {
            let now = Time::from_secs(second);
            queue.enqueue(TestPacket::default(), now, &mut rng, &mut drops);
            assert!(queue.dequeue(now, &mut rng, &mut drops).is_some());
            assert!(queue.dequeue(now, &mut rng, &mut drops).is_none());
        }
        assert!(drops.0.is_empty());
    }

    #[test]
    fn thresholds_that_do_not_fit_are_refused() {
        assert_eq!(
            message(&json!({"scheme": "red", "min_th": "5 ms"})),
            "queue.min_th: \"5 ms\" is a delay, it must be in packets or bytes"
        );
        assert_eq!(
            message(&json!({"scheme": "red", "min_th": "5 kB"})),
            "queue.max_th: \"15 packets\" is in packets, it must be in bytes as min_th is"
        );
        assert_eq!(
            message(&json!({"scheme": "red", "min_th": "15 packets"})),
            "queue.max_th: \"15 packets\" does not fit min_th \"15 packets\", it must be 0 < min_th < max_th, \
             or both 0 for automatic"
        );
        assert_eq!(
            message(&json!({"scheme": "red", "max_th": "2e12 packets"})),
            "queue.max_th: \"2000000000000 packets\" is out of range, it must be from 0 to 1e12"
        );
        let automatic = json!({"scheme": "red", "min_th": "0 packets", "max_th": "0 packets"});
        assert!(QueueConfig::read(&mut Table::new("queue", &automatic).unwrap()).is_ok());
    }

    #[test]
    fn reports_its_average_and_the_bytes_it_holds() {
        let mut red = Red::new(&RedParams::default(), BitRate(10_000_000));
        red.core.arrival(Backlog { packets: 10, bytes: 15_000 }, 1500, Time::ZERO);
        let mut readings = Vec::new();
        red.report(&mut |name, value| readings.push((name, value)));
        assert_eq!(readings, [("average_queue", 0.02)]); // 0.002 * 10
        assert_eq!(red.state_size().bytes, size_of::<Red>() + size_of::<RedSettings>());
        assert_eq!(red.drop_probability(), Some(0.0));
    }
}
