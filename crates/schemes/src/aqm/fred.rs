//! FRED: RED that compares the buffer use of each flow with the average of all flows with waiting packets.
//!
//! Source: Lin and Morris, "Dynamics of Random Early Detection", SIGCOMM 1997 (fred1997), as implemented for J-Sim,
//! ns-3 and Linux.
//!
//! | number | rule for a packet of flow i | code |
//! |---|---|---|
//! | (1) | `avgcq = max(1, avg/active)`, active = number of flows with waiting packets (avg if none) | `Fred::average_per_flow` |
//! | (2) | `maxq = min_th`; with `many_flow`, 2 if `avg >= max_th` | `Fred::judge` |
//! | (3) | drop and `strike += 1` if `qlen >= maxq`, or `qlen >= avgcq` and `strike > 1`, or, with `many_flow`, `avg >= max_th` and `qlen > 2*avgcq` | `Fred::judge` |
//! | (4) | `min_th <= avg < max_th`, `qlen >= max(minq, avgcq)`: drop with `p_b/(1-count*p_b)`, `p_b = max_p*(avg-min_th)/(max_th-min_th)` | `Fred::judge` |
//! | (5) | `avg < min_th`: `count = -1` | `Fred::judge` |
//! | (6) | without `many_flow`, `avg >= max_th`: drop, `count = 0` | `Fred::judge` |
//! | (7) | `avg = (1-w)*avg + w*q` after every packet that is stored or leaves; `(1-w)^m` after idle time, as in RED | `Fred::sample`, `Fred::wake` |
//!
//! With `many_flow = false` rule (6) can drop a packet offered to an idle port, as long as the average is high.
//!
//! Cost: one look-up at an arrival, one or two more when the packet is stored, and one when it leaves. State: 25 bytes
//! for each flow with waiting packets.
//!
//! Deviations:
//! 1. `many_flow` (rules A and B of the paper's section on many flows) is the default. The alternative, rule (6), drops
//!    every arrival while `avg >= max_th`. We do not know which alternative the paper of [`crate::label::afpft`] used.
//! 2. A record is made when a flow's first packet is stored. The paper does not count flows without packets either.
//! 3. With thresholds in bytes, `qlen` is in bytes, and 1, 2 and `minq` packets are multiples of `mean_packet`.

use super::red_core::check_thresholds;
use crate::base::units::QueueMeasure;
use crate::contract::prelude::*;
use crate::flows::flow_table::FlowTable;
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_threshold::QueueThreshold;

params! {
    /// FRED. Thresholds may be in packets or in bytes, for the queue and for flows.
    pub struct FredParams {
        /// Average queue below which no packet is dropped at random; also the maximum backlog of a flow. Absent: a
        /// quarter of the limit.
        min_th: Option<Threshold> = null, symbol "min_th", source "afpft IV";
        /// Average queue at which the drop probability reaches `max_p`. Absent: three quarters of the limit.
        max_th: Option<Threshold> = null, symbol "max_th", source "afpft IV";
        /// Drop probability at `max_th`.
        max_p: f64 = 0.1, in 0.000001..=1.0, symbol "max_p", source "afpft IV; 0.02 in fred1997";
        /// Weight of a new sample in the average queue.
        weight: f64 = 0.002, in 0.000000001..=1.0, symbol "w_q", source "fred1997; afpft also 1/C_pkt";
        /// Number of packets that a flow may queue without random drops.
        minq: f64 = 2.0, in 1.0..=1000000.0, symbol "minq", source "fred1997: 2 for small buffers, 4 for large";
        /// Supports many flows instead of dropping everything above `max_th`.
        many_flow: bool = true, source "fred1997, section on many flows; setting of afpft unknown";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "fred1997";
        /// Mean length of a packet, for idle times and thresholds in bytes.
        mean_packet: Bytes = "500 B", in "1 B"..="1 MB", source "as RED";
    }
}

/// The thresholds, given or derived from the limit.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    min_th: Threshold,
    max_th: Threshold,
}

impl FredParams {
    fn thresholds(&self, limit: QueueLimit) -> Thresholds {
        Thresholds { min_th: self.min_th.unwrap_or(limit.part(0.25)), max_th: self.max_th.unwrap_or(limit.part(0.75)) }
    }
}

/// Registry entry of FRED.
#[derive(Clone, Copy, Debug)]
pub struct FredScheme;

impl SchemeSpec for FredScheme {
    const ABOUT: About = About {
        title: "Flow RED",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "RED that spares flows with few waiting packets and restricts flows that have more than their share.",
        source: "Lin, Morris: Dynamics of Random Early Detection, SIGCOMM 1997",
        state: "port: average, count, number of active flows; flow with waiting packets: queue length, strikes",
        flow_state: FlowState::Each,
        order: Order::Fifo,
    };
    type Params = FredParams;
    type Discipline<P: Packet> = ManagedQueue<P, Fred>;

    fn check(params: &FredParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        let Thresholds { min_th, max_th } = params.thresholds(buffer.limit);
        check_thresholds(min_th, max_th, table)?;
        if max_th.magnitude() == 0.0 {
            let problem = format!("\"{max_th}\" is out of range, it must be above 0");
            return Err(ConfigError::new(table.key("max_th"), problem));
        }
        QueueThreshold::check("min_th", params.min_th, buffer.limit, table)?;
        QueueThreshold::check("max_th", params.max_th, buffer.limit, table)
    }

    fn build<P: Packet>(params: &FredParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Fred::new(params, port.buffer.limit, port.rate))
    }
}

/// State of a flow with waiting packets.
#[derive(Clone, Copy, Debug, Default)]
struct FlowRecord {
    packets: u32,
    strikes: u32,
    bytes: u64,
}

/// FRED at one port.
#[derive(Clone, Debug)]
pub struct Fred {
    average: f64,
    /// Packets since the last random drop; -1 while the average is below min_th.
    count: i64,
    backlog: Backlog,
    idle_since: Time,
    packets_per_s: f64,
    probability: f64,
    flows: Box<FlowTable<FlowRecord>>,
    thresholds: Thresholds,
    params: Box<FredParams>,
}

impl Fred {
    /// Creates the state of a port before its first packet, for a buffer of `limit` and a link of rate `rate`.
    #[must_use]
    pub fn new(params: &FredParams, limit: QueueLimit, rate: BitRate) -> Self {
        let mut fred = Self {
            average: 0.0,
            count: -1,
            backlog: Backlog::default(),
            idle_since: Time::ZERO,
            packets_per_s: 0.0,
            probability: 0.0,
            flows: Box::default(),
            thresholds: params.thresholds(limit),
            params: Box::new(params.clone()),
        };
        fred.set_link_rate(rate);
        fred
    }

    fn in_bytes(&self) -> bool {
        self.thresholds.min_th.measure() == QueueMeasure::Bytes
    }

    fn length(&self, packets: u32, bytes: u64) -> f64 {
        if self.in_bytes() { bytes as f64 } else { f64::from(packets) }
    }

    /// Length of one packet in the unit of the thresholds.
    fn one(&self) -> f64 {
        if self.in_bytes() { self.params.mean_packet.0 as f64 } else { 1.0 }
    }

    /// Computes eq. (1).
    fn average_per_flow(&self) -> f64 {
        f64::max(self.one(), self.average / self.flows.len().max(1) as f64)
    }

    /// Computes eq. (7); `backlog` is the queue after the event.
    fn sample(&mut self, backlog: Backlog) {
        self.backlog = backlog;
        self.average += self.params.weight * (self.length(backlog.packets, backlog.bytes) - self.average);
    }

    /// Decays the average by the time since the link became idle.
    fn wake(&mut self, now: Time) {
        if self.idle_since != Time::NEVER {
            let missed = (self.packets_per_s * now.saturating_sub(self.idle_since).as_secs_f64()).floor();
            self.average *= libm::pow(1.0 - self.params.weight, missed);
            self.idle_since = Time::NEVER;
        }
    }

    /// Applies rules (2) to (6). Returns true if a packet of flow `key` must be dropped.
    fn judge(&mut self, key: u32, rng: &mut Rng) -> bool {
        let (min_th, max_th) = (self.thresholds.min_th.magnitude(), self.thresholds.max_th.magnitude());
        let (many_flow, above) = (self.params.many_flow, self.average >= max_th);
        let (fair, one) = (self.average_per_flow(), self.one());
        let record = self.flows.get(key).copied().unwrap_or_default();
        let qlen = self.length(record.packets, record.bytes);
        self.probability = 0.0;

        let maxq = if many_flow && above { 2.0 * one } else { min_th }; // rule (2)
        let too_long = qlen >= maxq || (many_flow && above && qlen > 2.0 * fair);
        if record.packets > 0 && (too_long || (qlen >= fair && record.strikes > 1)) {
            if let Some(record) = self.flows.get_mut(key) {
                record.strikes = record.strikes.saturating_add(1);
            }
            self.probability = 1.0;
            return true; // rule (3)
        }
        if self.average < min_th {
            self.count = -1; // rule (5)
            return false;
        }
        if above {
            if !many_flow {
                self.count = 0; // rule (6)
                self.probability = 1.0;
            }
            return !many_flow;
        }
        self.count += 1;
        if qlen < f64::max(self.params.minq * one, fair) {
            return false;
        }
        let p_b = self.params.max_p * (self.average - min_th) / (max_th - min_th);
        let left = 1.0 - self.count as f64 * p_b;
        self.probability = if left <= 0.0 { 1.0 } else { f64::min(p_b / left, 1.0) }; // rule (4)
        let hit = rng.open01() < self.probability;
        if hit {
            self.count = 0;
        }
        hit
    }
}

impl Aqm for Fred {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        self.wake(now);
        self.backlog = queue.backlog;
        if self.judge(self.params.share_per.of(packet), rng) { Verdict::Drop } else { Verdict::Accept }
    }

    fn accepted<P: Packet>(&mut self, packet: &mut P, _: Time) {
        let record = self.flows.or_insert_with(self.params.share_per.of(packet), FlowRecord::default);
        record.packets += 1;
        record.bytes += u64::from(packet.wire_bytes());
        let mut backlog = self.backlog;
        backlog.add(packet.wire_bytes());
        self.sample(backlog);
    }

    fn departed<P: Packet>(&mut self, packet: &P, backlog: Backlog, _: Time) {
        self.sample(backlog);
        let key = self.params.share_per.of(packet);
        if let Some(record) = self.flows.get_mut(key) {
            record.packets -= 1;
            record.bytes -= u64::from(packet.wire_bytes());
            if record.packets == 0 {
                self.flows.remove(key);
            }
        }
    }

    fn idle(&mut self, now: Time) {
        self.idle_since = self.idle_since.min(now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.packets_per_s = rate.as_f64() / (8.0 * self.params.mean_packet.0 as f64);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn state_size(&self) -> StateSize {
        let fixed = size_of_val(self) + size_of_val(&*self.flows) + size_of_val(&*self.params);
        StateSize { records: self.flows.len(), bytes: fixed + self.flows.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("average_queue", self.average);
        report("active_flows", self.flows.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, read_queue, readings, refusal};
    use serde_json::json;

    const LIMIT: QueueLimit = QueueLimit::Packets(24);
    const RATE: BitRate = BitRate(10_000_000);

    /// Returns a port with the given average. Flow i has `held[i]` waiting packets.
    fn fred(params: &FredParams, held: &[u32], average: f64) -> Fred {
        let mut fred = Fred::new(params, LIMIT, RATE);
        for (flow, &packets) in (0..).zip(held) {
            (0..packets).for_each(|_| fred.accepted(&mut TestPacket { flow, ..Default::default() }, Time::ZERO));
        }
        fred.average = average;
        fred.idle_since = Time::NEVER;
        fred
    }

    fn drops(fred: &mut Fred, flow: u32) -> bool {
        fred.judge(flow, &mut Rng::stream(1, 0, "test", 0))
    }

    fn strikes(fred: &Fred, flow: u32) -> u32 {
        fred.flows.get(flow).unwrap().strikes
    }

    #[test]
    fn rule_3_holds_back_a_flow_with_min_th_packets() {
        let mut port = fred(&FredParams::default(), &[6, 5], 3.0);
        assert!(drops(&mut port, 0));
        assert!(!drops(&mut port, 1) && !drops(&mut port, 2));
        assert_eq!((strikes(&port, 0), strikes(&port, 1)), (1, 0));
    }

    #[test]
    fn rule_3_keeps_a_flow_with_two_strikes_at_the_average() {
        // avg is 4 and there are 2 flows, so avgcq = 2.
        let mut port = fred(&FredParams::default(), &[6, 1], 4.0);
        assert!(drops(&mut port, 0) && drops(&mut port, 0));
        (0..4).for_each(|_| port.departed(&TestPacket::default(), Backlog::default(), Time::ZERO));
        port.average = 4.0;
        assert!(drops(&mut port, 0)); // qlen 2 >= 2, strikes 2 > 1
        assert_eq!(strikes(&port, 0), 3);
        port.average = 4.2;
        assert!(!drops(&mut port, 0)); // qlen 2 < 2.1
        // The flow's strikes are deleted with its last packet.
        (0..2).for_each(|_| port.departed(&TestPacket::default(), Backlog::default(), Time::ZERO));
        assert!(port.flows.get(0).is_none());
    }

    #[test]
    fn many_flows_share_what_is_above_max_th_two_packets_each() {
        let mut port = fred(&FredParams::default(), &[2, 1], 18.0);
        assert!(drops(&mut port, 0));
        assert!(!drops(&mut port, 1) && !drops(&mut port, 2));
        // In bytes, one packet counts as a mean packet of 500 B. So maxq is 1000 B, and avgcq is max(500, 9000/20) =
        // 500 B. Flow 0 has 1500 B in the queue, flow 99 has none.
        let bytes = FredParams {
            min_th: Some(Threshold::Bytes(3_000.0)),
            max_th: Some(Threshold::Bytes(9_000.0)),
            ..FredParams::default()
        };
        let mut port = fred(&bytes, &[1; 20], 9_000.0);
        assert!(drops(&mut port, 0)); // 1500 B
        assert!(!drops(&mut port, 99));
    }

    #[test]
    fn rule_6_drops_everything_above_max_th_without_support_of_many_flows() {
        let params = FredParams { many_flow: false, ..Default::default() };
        let mut port = fred(&params, &[1], 18.0);
        port.count = 5;
        assert!(drops(&mut port, 0) && drops(&mut port, 7));
        assert_eq!(port.count, 0);
    }

    #[test]
    fn rule_4_drops_by_chance_those_at_the_average_and_above_two_packets() {
        // An average of 12 is half way between the thresholds, so p_b = 0.05. With 6 flows, avgcq = 2.
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut port = fred(&FredParams::default(), &[3, 1, 1, 1, 1, 1], 12.0);
        let mut gaps = [0u32; 20];
        let mut gap = 0;
        port.count = 0;
        for _ in 0..20_000 {
            gap += 1;
            assert!(!port.judge(1, &mut Rng::stream(9, 0, "test", 0)));
            port.count -= 1;
            if port.judge(0, &mut rng) {
                gaps[std::mem::take(&mut gap) as usize] += 1;
            }
        }
        // Gaps are uniform over 1..=19, as in RED without wait. With 20 000 arrivals and a drop every 10, 105 are
        // expected for each gap. The standard deviation is 10; the test allows five times that.
        assert!(gaps[1..].iter().all(|count| count.abs_diff(105) < 52), "{gaps:?}");
    }

    #[test]
    fn rule_5_and_the_average() {
        let mut port = fred(&FredParams::default(), &[], 5.9);
        port.count = 9;
        assert!(!drops(&mut port, 0));
        assert_eq!(port.count, -1);
        // Eq. (7) is applied after a packet is stored, with this packet in the queue, and after a packet has left,
        // without it.
        let mut port = fred(&FredParams { weight: 0.5, ..Default::default() }, &[1], 0.0);
        port.average = 0.0;
        port.backlog = Backlog { packets: 3, bytes: 4500 };
        port.accepted(&mut TestPacket::default(), Time::ZERO);
        assert_eq!(port.average, 2.0);
        port.departed(&TestPacket::default(), Backlog { packets: 3, bytes: 4500 }, Time::ZERO);
        assert_eq!(port.average, 2.5);
        // The link is idle for 1.3 ms. At 2500 packets of 500 B per second these are 3 whole packets. So the average is
        // halved three times, to 2.5/8.
        port.idle(Time::from_secs(1));
        port.idle(Time::from_secs(2));
        port.wake(Time::from_micros(1_001_300));
        assert_eq!(port.average, 2.5 / 8.0);
    }

    #[test]
    fn flows_come_and_go_with_their_packets() {
        let buffer = BufferParams { limit: LIMIT, ..Default::default() };
        let mut queue = ManagedQueue::new(&buffer, RATE, Fred::new(&FredParams::default(), LIMIT, RATE));
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for flow in 0..30 {
            queue.enqueue(TestPacket { flow, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
        }
        assert_eq!(queue.state_size().records, 24);
        assert!(drops.0.iter().all(|&(_, reason, _)| reason == DropReason::Overlimit));
        while queue.dequeue(Time::ZERO, &mut rng, &mut drops).is_some() {}
        assert_eq!(queue.state_size().records, 0);
        let (names, _): (Vec<_>, Vec<_>) = readings(|report| queue.report(report)).into_iter().unzip();
        assert_eq!(names, ["average_queue", "active_flows"]);
        assert_eq!(queue.drop_probability(), Some(0.0));
    }

    #[test]
    fn thresholds_follow_the_limit_unless_they_are_given() {
        // min_th, a quarter of the limit, is also the maximum backlog of a flow, regardless of other packets.
        for (limit, most) in [(QueueLimit::Packets(24), 6), (QueueLimit::Packets(400), 100)] {
            let mut port = Fred::new(&FredParams::default(), limit, RATE);
            (0..most - 1).for_each(|_| port.accepted(&mut TestPacket::default(), Time::ZERO));
            assert!(!drops(&mut port, 0), "{limit}");
            port.accepted(&mut TestPacket::default(), Time::ZERO);
            assert!(drops(&mut port, 0), "{limit}");
        }
        let Thresholds { min_th, max_th } = FredParams::default().thresholds(QueueLimit::Bytes(40_000));
        assert_eq!((min_th, max_th), (Threshold::Bytes(10_000.0), Threshold::Bytes(30_000.0)));
        let given = FredParams { max_th: Some(Threshold::Packets(7.0)), ..Default::default() };
        assert_eq!(given.thresholds(LIMIT).max_th, Threshold::Packets(7.0));
    }

    #[test]
    fn thresholds_that_do_not_fit_the_limit_or_each_other_are_refused() {
        let error = |min_th: &str, max_th: &str| refusal(json!({"scheme": "fred", "min_th": min_th, "max_th": max_th}));
        assert_eq!(error("0 packets", "0 packets"), "queue.max_th: \"0 packets\" is out of range, it must be above 0");
        assert_eq!(
            error("6 packets", "25 packets"),
            "queue.max_th: \"25 packets\" is out of range, it must be from 0 to the limit of the queue, 24 packets"
        );
        // Without a given `max_th`, it is three quarters of the limit of 24 packets.
        assert!(refusal(json!({"scheme": "fred", "min_th": "19 packets"})).contains("18 packets"));
        assert!(refusal(json!({"scheme": "fred", "min_th": "3 kB"})).contains("in packets"));
        assert!(read_queue(json!({"scheme": "fred", "min_th": "3 kB", "limit": "20 kB"})).is_ok());
    }
}
