//! RED (random early detection): drops arrivals with a probability that grows with the average queue.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1993 (red1993);
//! `gentle`, `wait` and automatic settings are as in ns-2 and ns-3, ECN as in RFC 3168.
//!
//! Equations (1) to (6) are in [`super::red_core`]. An arrival is dropped or marked if `U <= p_a`, with U uniform in
//! (0, 1). It is always dropped if the average has reached the end of the drop curve. No packet is dropped early while
//! at most one packet waits.
//!
//! Cost: a packet needs a few multiplications, and a division and a random number while the average is between the
//! thresholds. The first arrival after an idle time needs one power. State: average, count, probability and the start
//! of the idle time; no state per flow.
//!
//! Deviations:
//! 1. Idle time starts when the link requests a packet and gets none, as in ns-2 and ns-3, not when the queue empties.
//! 2. Automatic weight and thresholds follow changes of the link's rate, unlike in ns-2 and ns-3.
//! 3. RED decides before the port tests for a full queue, as in ns-3. A drop at a full queue or at the end of the drop
//!    curve restarts c, as in ns-2 but not in ns-3; see `forced_restarts`.
//! 4. Defaults are those of ns-3.26, such as `max_p = 0.02`. red1993 has 0.1, `gentle = false` and `wait = false`.
//! 5. ns-3 derives idle times and automatic settings from its attribute `LinkBandwidth` (1.5 Mbit/s unless set); here
//!    they use the present rate of the link.
//! 6. In ns-3 the unit of the limit selects byte mode. Here the queue is measured in the unit of the thresholds, and
//!    `size_scaling` selects byte mode.
//! 7. With `profile = "linux"`, a threshold in packets is converted to bytes at one MTU per packet.
//!
//! Not implemented: random or head drop at a full queue, "cautious" variants, nonlinear RED.

pub use super::red_core::RedParams;
use super::red_core::{RedCore, RedProfile, check_thresholds};
use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

/// Registry entry of RED.
#[derive(Clone, Copy, Debug)]
pub struct RedScheme;

impl SchemeSpec for RedScheme {
    const ABOUT: About = About {
        title: "Random early detection",
        kind: "one queue, or one per class; drops or marks the arriving packet",
        summary: "Drops or marks arrivals with a probability that grows with the average queue.",
        source: "Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1993; RFC \
                 3168",
        state: "port: average, count, idle time; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    type Params = RedParams;
    type Discipline<P: Packet> = ManagedQueue<P, Red>;

    fn check(params: &RedParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_thresholds(params.min_th, params.max_th, table)
    }

    fn build<P: Packet>(params: &RedParams, port: &Port<'_>) -> Self::Discipline<P> {
        let mut params = params.clone();
        if params.profile == RedProfile::Linux {
            for threshold in [&mut params.min_th, &mut params.max_th] {
                if let Threshold::Packets(packets) = *threshold {
                    *threshold = Threshold::Bytes(packets * port.buffer.mtu.0 as f64);
                }
            }
        }
        ManagedQueue::new(port.buffer, port.rate, Red::new(&params, port.rate))
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
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: &RedParams, rate: BitRate) -> Self {
        Self { core: RedCore::new(params.clone(), rate), ecn: params.ecn, hard_drop: params.hard_drop }
    }
}

impl Aqm for Red {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        self.core.arrival(queue.backlog, packet.wire_bytes(), now);
        self.core.decide(queue.backlog, packet.wire_bytes(), rng).verdict(self.ecn, self.hard_drop)
    }

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
    use crate::testing::{Drops, TestPacket, read_queue, readings, refusal};
    use serde_json::json;

    /// Offers packets of codepoint `ecn` to a queue of 8 packets that is not served. The average equals the queue.
    fn offer(params: &RedParams, ecn: Ecn, arrivals: u32) -> Drops {
        let buffer = BufferParams { limit: QueueLimit::Packets(8), ..Default::default() };
        let mut queue = ManagedQueue::new(&buffer, BitRate(10_000_000), Red::new(params, BitRate(10_000_000)));
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for flow in 0..arrivals {
            queue.enqueue(TestPacket { flow, ecn, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
        }
        drops
    }

    /// Returns parameters with thresholds of 2 and 4 packets and a weight of 1, so the average equals the queue.
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
        // Classic RED: packets 0 to 2 pass; packet 2 crosses min_th. For packet 3, p_b = 0.5 and c = 2, so wait mode
        // gives 0.5/(2-1) = 0.5.
        let drops = offer(&immediate(false, true, false), Ecn::NotEct, 100);
        assert!(drops.0.iter().all(|(_, reason, backlog)| *reason == DropReason::Aqm && backlog.packets <= 4));
        assert_eq!(drops.0.len(), 96);
        // Gentle RED with max_p = 1: from 4 packets on p_b is 1, so c*p_b >= 1 and wait mode always drops.
        let drops = offer(&immediate(false, true, true), Ecn::NotEct, 100);
        assert!(drops.0.iter().all(|(_, reason, backlog)| *reason == DropReason::Aqm && backlog.packets <= 4));
        assert_eq!(drops.0.len(), 96);
    }

    #[test]
    fn ecn_marks_early_and_drops_beyond_the_last_line_if_hard() {
        // Classic RED without wait: packet 2 crosses min_th and starts the count. For packet 3, p_b = 0.5 and c = 2, so
        // p_a = 1 by (6) and the drop is early. Packet 4 arrives at max_th, a forced drop.
        let certain = |hard_drop| RedParams { wait: false, ..immediate(true, hard_drop, false) };
        // With `hard_drop` the early drop becomes a mark, but all forced drops stay drops.
        let hard = offer(&certain(true), Ecn::Ect0, 100);
        assert_eq!(hard.1, [3]);
        assert_eq!(hard.0.iter().map(|(packet, ..)| packet.flow).collect::<Vec<_>>(), (4..100).collect::<Vec<_>>());
        assert!(hard.0.iter().all(|(_, reason, backlog)| *reason == DropReason::Aqm && backlog.packets == 4));
        // Without `hard_drop` forced drops become marks, too, until 8 packets fill the queue.
        let soft = offer(&certain(false), Ecn::Ect0, 100);
        assert_eq!(soft.1, [3, 4, 5, 6, 7]);
        assert_eq!(soft.0.iter().map(|(packet, ..)| packet.flow).collect::<Vec<_>>(), (8..100).collect::<Vec<_>>());
        assert!(soft.0.iter().all(|(_, reason, _)| *reason == DropReason::Overlimit));
        // A transport without ECN loses packet 3 and every later one, since each has p_b = 0.5 and c = 1 again.
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
            refusal(json!({"scheme": "red", "min_th": "5 ms"})),
            "queue.min_th: \"5 ms\" is a delay, it must be in packets or bytes"
        );
        assert_eq!(
            refusal(json!({"scheme": "red", "min_th": "5 kB"})),
            "queue.max_th: \"15 packets\" is in packets, it must be in bytes as min_th is"
        );
        assert_eq!(
            refusal(json!({"scheme": "red", "min_th": "15 packets"})),
            "queue.max_th: \"15 packets\" does not fit min_th \"15 packets\", it must be 0 < min_th < max_th, \
             or both 0 for automatic"
        );
        assert_eq!(
            refusal(json!({"scheme": "red", "max_th": "2e12 packets"})),
            "queue.max_th: \"2000000000000 packets\" is out of range, it must be from 0 to 1e12"
        );
        let automatic = json!({"scheme": "red", "min_th": "0 packets", "max_th": "0 packets"});
        assert!(read_queue(automatic).is_ok());
    }

    #[test]
    fn reports_its_average_and_the_bytes_it_holds() {
        let mut red = Red::new(&RedParams::default(), BitRate(10_000_000));
        red.core.arrival(Backlog { packets: 10, bytes: 15_000 }, 1500, Time::ZERO);
        assert_eq!(readings(|report| red.report(report)), [("average_queue", 0.02)]); // 0.002 * 10
        assert_eq!(red.state_size().bytes, size_of::<Red>() + size_of::<RedParams>());
        assert_eq!(red.drop_probability(), Some(0.0));
    }
}
