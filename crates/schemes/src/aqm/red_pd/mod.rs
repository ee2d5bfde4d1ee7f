//! RED-PD: RED with preferential dropping. A slow loop identifies flows with high rates from the history of RED's
//! drops, and a prefilter in front of RED drops part of their packets.
//!
//! Source: Mahajan, Floyd and Wetherall, "Controlling High-Bandwidth Flows at the Congested Router", ICNP 2001
//! (redpd2001), as implemented in the code and scripts of ns-2.
//!
//! | number | rule, at the end of each interval | code |
//! |---|---|---|
//! | (1) | `p_cur` = dropped/arrived bytes at RED, `p_avg = (p_avg + p_cur)/2`, `usable = min(p_cur, p_avg)` | `RedPd::end_interval` |
//! | (2) | length of the next interval: `(3/5)*R/sqrt(1.5*p_avg)`, at least 2R, at most 10R | `RedPd::next_length` |
//! | (3) | regular: drops in at least 3 of the last 5 intervals; `pre = usable*drops/mean drops of regular flows` | `FlowRecord::punish` |
//! | (4) | not monitored: `p_f = min(pre, 2*usable, 0.5)`; monitored: `min(2*p_f, p_f + pre)`; not reacting: `min(3*p_f, p_f + 2*pre)`; if above 1: halve the distance to 1 (not reacting: a third of it) | `FlowRecord::punish` |
//! | (5) | no drops in 5 intervals: release if `p_f <= 0.005`, else `p_f - 0.05` above 0.1, else `p_f/2` (not reacting: 0.0025, `/1.5`) | `FlowRecord::reward` |
//! | (6) | `x` = older/newer drop rate of two intervals of a flow. If `0.1 < x < 1`, the pair is bad if `rate2/rate1 > sqrt(x)`, else good. The flow counts as not reacting at 3 bad pairs and no good pair, at 4 bad and 1 good, or at 4 times as many bad as good | `Monitor::test` |
//! | (7) | prefilter: drop with `p_f/(1-count*p_f)`; a flow that reacts, only while `avg >= min_th` and more than one packet waits | `RedPd::prefilter` |
//!
//! R is `target_rtt`. (4) applies to a flow that had drops in the last interval, if its p_f has not changed for 4
//! intervals and 0.4 s. (5) applies if p_f has not changed for 3 intervals, or for 5 if the flow does not react. The
//! equations of RED are in [`super::red`].
//!
//! The prefilter is in front of the queue, so an idle port may drop a packet of a flow that is known not to react.
//!
//! Cost: the cost of RED, plus one flow look-up per packet while any flow is monitored, and one per drop. At the end of
//! each interval, RED-PD scans all flows in its table. State: 56 bytes per flow with drops in the last 5 intervals, and
//! 136 further bytes per monitored flow.
//!
//! Deviations:
//! 1. If `p_cur <= 0.001`, the paper changes no `p_f`. Here (5) still applies, since otherwise no flow would be
//!    released when congestion ends.
//! 2. (6) compares every pair of the last 5 intervals in which a monitored flow sent packets. Arrivals include the
//!    packets that the prefilter drops.
//! 3. Drops at a full queue count as drops of RED, since they reflect the flow's share of the load just as well.
//! 4. With `p_avg = 0` the interval is 10R. The intervals that end while no packet arrives are processed at the next
//!    arrival.
//! 5. Each flow's record lists the bytes dropped per interval. Sums are integers, so results don't depend on the order
//!    in which a table is scanned.
//!
//! Not implemented: ECN.

use super::red_core::{RedCore, RedDecision, RedParams, check_thresholds};
use crate::contract::prelude::*;
mod flow_record;

use self::flow_record::{FlowRecord, HISTORY, Interval, Monitor};
use crate::flows::flow_table::FlowTable;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// RED-PD. Thresholds may be in packets or in bytes.
    pub struct RedPdParams {
        /// Target round-trip time. Flows that get more than a TCP flow with this round-trip time are monitored.
        target_rtt: Time = "40 ms", in "1 ms"..="10 s", symbol "R", source "redpd2001; ns-2 scripts";
        /// Drop rate of an interval up to which RED-PD punishes no flow.
        quiet: f64 = 0.001, in 0.0..=1.0, source "ns-2 scripts";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "redpd2001";
        /// Average queue below which no packet is dropped early; automatic if both `min_th` and `max_th` are 0.
        min_th: Threshold = "5 packets", symbol "min_th", source "ns-3.26, as RED";
        /// Average queue at which the drop probability reaches `max_p`.
        max_th: Threshold = "15 packets", symbol "max_th", source "ns-3.26, as RED";
        /// Drop probability at `max_th`.
        max_p: f64 = 0.02, in 0.000001..=1.0, symbol "max_p", source "ns-3.26, as RED; 0.1 in ns-2";
        /// Weight of a new sample in the average queue.
        weight: f64 = 0.002, in 0.000000001..=1.0, symbol "w_q", source "red1993 section VI";
        /// Gentle mode: between `max_th` and twice `max_th` the drop probability rises linearly to 1 instead of
        /// jumping.
        gentle: bool = true, source "redpd2001: gentle RED";
        /// Wait mode: at least `1/p_b` packets between early drops.
        wait: bool = true, source "ns-3.26, ns-2";
        /// Mean packet length, used for idle times and automatic thresholds.
        mean_packet: Bytes = "500 B", in "1 B"..="1 MB", source "as RED";
    }
}

/// Registry entry of RED-PD.
#[derive(Clone, Copy, Debug)]
pub struct RedPdScheme;

impl SchemeSpec for RedPdScheme {
    const ABOUT: About = About {
        title: "RED with preferential dropping",
        kind: "one queue, or one per class; a prefilter and RED drop the arriving packet",
        summary: "Finds high-rate flows in the history of RED's drops and drops a part of their packets before RED.",
        source: "Mahajan, Floyd, Wetherall: Controlling High-Bandwidth Flows at the Congested Router, ICNP 2001",
        state: "port: the state of RED, drop rates; flow with drops in the last 5 intervals: bytes dropped; monitored \
                flow: probability, counters, 5 rates",
        flow_state: FlowState::Each,
        order: Order::Fifo,
    };
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = RedPdParams;
    type Discipline<P: Packet> = ManagedQueue<P, RedPd>;

    fn check(params: &RedPdParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_thresholds(params.min_th, params.max_th, table)
    }

    fn build<P: Packet>(params: &RedPdParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, RedPd::new(params, port.rate))
    }
}

/// RED-PD at one port.
#[derive(Clone, Debug)]
pub struct RedPd {
    core: RedCore,
    quiet: f64,
    target_rtt: Time,
    share_per: FlowKey,
    /// The prefilter's drop probability for the last arrival or, if the prefilter let it pass, RED's drop probability.
    probability: f64,
    drops: Box<DropHistory>,
}

/// History of drops, updated once per interval.
#[derive(Clone, Debug, Default)]
struct DropHistory {
    flows: FlowTable<FlowRecord>,
    monitored: usize,
    /// Number of the current interval.
    interval: u64,
    start: Time,
    end: Time,
    arrived: u64,
    dropped: u64,
    average_drop_rate: f64,
}

impl DropHistory {
    /// Index of the current interval in the flows' records.
    fn slot(&self) -> usize {
        (self.interval % (HISTORY as u64 + 1)) as usize
    }
}

impl RedPd {
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: &RedPdParams, rate: BitRate) -> Self {
        let settings = RedParams {
            min_th: params.min_th,
            max_th: params.max_th,
            max_p: params.max_p,
            weight: params.weight,
            gentle: params.gentle,
            wait: params.wait,
            mean_packet: params.mean_packet,
            ..RedParams::default()
        };
        let mut port = Self {
            core: RedCore::new(settings, rate),
            quiet: params.quiet,
            target_rtt: params.target_rtt,
            share_per: params.share_per,
            probability: 0.0,
            drops: Box::default(),
        };
        port.drops.end = port.next_length();
        port
    }

    /// Length of the next interval: rule (2).
    fn next_length(&self) -> Time {
        let rtt_s = self.target_rtt.as_secs_f64();
        let length_s = 0.6 * rtt_s / (1.5 * self.drops.average_drop_rate).sqrt(); // infinite at 0
        Time::from_secs_f64(length_s.clamp(2.0 * rtt_s, 10.0 * rtt_s))
    }

    /// Processes all intervals that ended up to `now`.
    fn catch_up(&mut self, now: Time) {
        while now >= self.drops.end {
            self.end_interval();
            if self.drops.flows.is_empty() && self.drops.average_drop_rate < 1e-9 && now >= self.drops.end {
                // Further intervals would change nothing.
                let length = self.next_length();
                self.drops.average_drop_rate = 0.0;
                let missed = (now - self.drops.end).0 / length.0 + 1;
                self.drops.start = self.drops.end + Time(length.0 * (missed - 1));
                self.drops.end = self.drops.start + length;
            }
        }
    }

    fn end_interval(&mut self) {
        let drops = &mut *self.drops;
        let drop_rate = if drops.arrived > 0 { drops.dropped as f64 / drops.arrived as f64 } else { 0.0 };
        drops.average_drop_rate = 0.5 * (drops.average_drop_rate + drop_rate); // rule (1)
        let slot = drops.slot();
        let (mut regular, mut regular_bytes) = (0u64, 0u64);
        drops.flows.retain(|_, record| {
            if record.is_regular(slot) {
                regular += 1;
                regular_bytes += record.total(slot);
            }
            true
        });
        let interval = Interval {
            number: drops.interval,
            end: drops.end,
            lasted_s: (drops.end - drops.start).as_secs_f64(),
            slot,
            usable: drop_rate.min(drops.average_drop_rate),
            quiet: drop_rate <= self.quiet,
            mean_dropped: regular_bytes as f64 / regular.max(1) as f64,
        };
        let (mut monitored, oldest) = (0, (slot + 1) % (HISTORY + 1));
        drops.flows.retain(|_, record| {
            if let Some(monitor) = &mut record.monitor {
                monitor.test(&interval);
            }
            record.punish(&interval);
            record.reward(&interval);
            record.dropped[oldest] = 0;
            monitored += usize::from(record.monitor.is_some());
            record.monitor.is_some() || record.lists(slot) > 0
        });
        drops.monitored = monitored;
        drops.interval += 1;
        (drops.arrived, drops.dropped) = (0, 0);
        drops.start = drops.end;
        let length = self.next_length();
        self.drops.end += length;
    }

    /// Applies rule (7). Returns true if the prefilter drops a packet of `wire_bytes` of flow `key` that arrives at
    /// `queue`.
    fn prefilter(&mut self, key: u32, wire_bytes: u32, queue: &QueueView, rng: &mut Rng) -> bool {
        self.probability = 0.0;
        if self.drops.monitored == 0 {
            return false;
        }
        let spares = self.core.average() < self.core.min_th() || queue.backlog.packets <= 1;
        let Some(monitor) = self.drops.flows.get_mut(key).and_then(|record| record.monitor.as_mut()) else {
            return false;
        };
        monitor.arrived += u64::from(wire_bytes);
        if spares && monitor.reacts {
            return false;
        }
        let left = 1.0 - f64::from(monitor.count) * monitor.probability;
        self.probability = if left <= 0.0 { 1.0 } else { f64::min(monitor.probability / left, 1.0) };
        let hit = rng.open01() < self.probability;
        monitor.count = if hit { 0 } else { monitor.count.saturating_add(1) };
        monitor.lost += if hit { u64::from(wire_bytes) } else { 0 };
        hit
    }

    /// Records that RED, or the full queue, dropped a packet of flow `key`.
    fn note_drop(&mut self, key: u32, wire_bytes: u32) {
        let slot = self.drops.slot();
        let bytes = u64::from(wire_bytes);
        self.drops.dropped += bytes;
        let record = self.drops.flows.or_insert_with(key, FlowRecord::default);
        record.dropped[slot] += bytes;
        if let Some(monitor) = &mut record.monitor {
            monitor.lost += bytes;
        }
    }
}

impl Aqm for RedPd {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        self.catch_up(now);
        let (key, wire_bytes) = (self.share_per.of(packet), packet.wire_bytes());
        if self.prefilter(key, wire_bytes, queue, rng) {
            return Verdict::Drop;
        }
        self.drops.arrived += u64::from(wire_bytes);
        self.core.arrival(queue.backlog, wire_bytes, now);
        if self.core.decide(queue.backlog, wire_bytes, rng) == RedDecision::Pass {
            self.probability = self.core.probability();
            return Verdict::Accept;
        }
        self.probability = self.core.probability();
        self.note_drop(key, wire_bytes);
        Verdict::Drop
    }

    fn overflowed<P: Packet>(&mut self, packet: &P, _: Time) {
        self.core.overflowed();
        self.note_drop(self.share_per.of(packet), packet.wire_bytes());
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.core.idle(now);
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.core.set_link_rate(rate);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn state_size(&self) -> StateSize {
        let fixed = size_of_val(self) - size_of_val(&self.core) + self.core.bytes() + size_of_val(&*self.drops);
        let flows = self.drops.flows.bytes() + self.drops.monitored * size_of::<Monitor>();
        StateSize { records: self.drops.flows.len(), bytes: fixed + flows }
    }

    fn report(&self, report: Report<'_>) {
        report("average_queue", self.core.average());
        report("monitored_flows", self.drops.monitored as f64);
        report("average_drop_rate", self.drops.average_drop_rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, readings, view};

    const RATE: BitRate = BitRate(10_000_000);

    #[test]
    fn rule_2_interval_lies_between_2_and_10_round_trips() {
        let mut port = RedPd::new(&RedPdParams::default(), RATE);
        let mut length = |rate| {
            port.drops.average_drop_rate = rate;
            port.next_length()
        };
        assert_eq!(length(0.0), Time::from_millis(400));
        assert_eq!(length(1.0), Time::from_millis(80));
        // The interval is 0.024/sqrt(0.06) = 97.98 ms.
        assert!((length(0.04).as_secs_f64() - 0.024 / 0.06f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn rule_1_and_idle_intervals_are_made_up() {
        let mut port = RedPd::new(&RedPdParams::default(), RATE);
        (port.drops.arrived, port.drops.dropped) = (10_000, 1_000);
        port.note_drop(1, 0);
        port.catch_up(Time::from_millis(400));
        assert_eq!(port.drops.average_drop_rate, 0.05);
        assert_eq!(port.state_size().records, 0); // no byte dropped, so no record
        port.note_drop(2, 100);
        port.catch_up(Time::from_millis(600));
        assert_eq!(port.state_size().records, 1);
        port.catch_up(Time::from_secs(10_000_000));
        assert_eq!((port.state_size().records, port.drops.average_drop_rate), (0, 0.0));
        assert!(port.drops.end > Time::from_secs(10_000_000));
        assert!(port.drops.end - port.drops.start == Time::from_millis(400));
    }

    #[test]
    fn rule_7_prefilter_spares_flows_that_react_while_the_queue_is_short() {
        let mut port = RedPd::new(&RedPdParams::default(), RATE);
        let (end, usable) = (Time::ZERO, 0.0);
        let first = Interval { number: 0, end, lasted_s: 0.4, slot: 0, usable, quiet: false, mean_dropped: 1000.0 };
        let monitor = Some(Box::new(Monitor::new(0.2, &first)));
        port.drops.flows.insert(1, FlowRecord { monitor, ..Default::default() });
        port.drops.monitored = 1;
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut hits = |port: &mut RedPd, flow, packets| {
            (0..4_000).filter(|_| port.prefilter(flow, 1500, &view(packets, RATE), &mut rng)).count()
        };
        assert_eq!(hits(&mut port, 1, 10), 0); // average below min_th
        assert_eq!(hits(&mut port, 2, 10), 0);
        port.drops.flows.get_mut(1).unwrap().monitor.as_mut().unwrap().reacts = false;
        // After n packets without a drop, the drop probability is 1/(5-n), so gaps are 1 to 5 packets with a mean of 3.
        // The number of drops has a standard deviation of sqrt(4000*2/27) = 17.
        let hit = hits(&mut port, 1, 0);
        assert!(hit.abs_diff(1333) < 86, "{hit}");
    }

    #[test]
    fn a_sender_that_does_not_react_is_cut_down() {
        // The link has 10 Mbit/s. Flow 0 sends 8 Mbit/s regardless of losses, and eight other flows send 0.8 Mbit/s
        // each: 14.4 Mbit/s in total.
        let params = RedPdParams { max_p: 0.1, ..Default::default() };
        let share = |params: &RedPdParams, monitored: bool| {
            let buffer = BufferParams { limit: QueueLimit::Packets(60), ..Default::default() };
            let mut queue = ManagedQueue::new(&buffer, RATE, RedPd::new(params, RATE));
            let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
            let (mut delivered, mut next_service) = ([0u32; 9], Time::ZERO);
            for slot in 0..120_000u64 {
                // The nine flows together send one packet of 1500 B per 0.833 ms; 10 of 18 packets belong to flow 0.
                let now = Time::from_micros(833 * slot);
                while next_service <= now {
                    if let Some(packet) = queue.dequeue(next_service, &mut rng, &mut drops)
                        && slot > 60_000
                    {
                        delivered[packet.flow as usize] += 1;
                    }
                    next_service += Time::from_micros(1200);
                }
                let flow = if rng.open01() < 10.0 / 18.0 { 0 } else { 1 + (rng.bits() % 8) as u32 };
                queue.enqueue(TestPacket { flow, ..Default::default() }, now, &mut rng, &mut drops);
            }
            let readings = readings(|report| queue.report(report));
            assert_eq!(readings[1].1 > 0.0, monitored, "{readings:?}");
            f64::from(delivered[0]) / f64::from(delivered.iter().sum::<u32>())
        };
        // With RED alone (no flow is ever punished) flow 0 gets its share of the offered load, 10/18.
        let alone = share(&RedPdParams { quiet: 1.0, ..params.clone() }, false);
        assert!((alone - 10.0 / 18.0).abs() < 0.02, "{alone}");
        // The other flows have lower demands, so the max-min share of flow 0 is the remaining 3.6 of 10 Mbit/s.
        let cut = share(&params, true);
        assert!((cut - 0.36).abs() < 0.03, "{cut}");
    }
}
