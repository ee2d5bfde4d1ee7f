//! CodelAF: CoDel per flow in one common queue. The larger a flow's share of the queue, the stricter its target.
//!
//! Source: Morton and Heist, "Controlled Delay Approximate Fairness AQM", draft-morton-tsvwg-codel-approx-fair-01,
//! 2020, section 3. Where the draft is unspecific, the code follows its reference implementation `sch_cnq_codel_af.c`
//! (github.com/chromi/sce). `sparse_first` is from the same authors' "Cheap Nasty Queueing",
//! draft-morton-tsvwg-cheap-nasty-queueing-01, 2019.
//!
//! The packet at the head has waited for d. Its flow has n of the N waiting packets, and `a` flows have waiting
//! packets.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `d * n * a > target * N`: the flow's packet has waited too long | `Occupancy::is_too_long` |
//! | (2) | the flow's COBALT uses (1) instead of (C1), with `whole_spells`; it marks or drops only packets of this flow | [`super::cobalt_core`], `CodelAf::judge` |
//! | (3) | `d * n * a > blue_threshold * N`: `p += increment` of the flow, at most once per target | `CodelAf::judge` |
//! | (4) | the last packet of a flow is always sent, regardless of (2) | `CodelAf::judge` |
//! | (5) | for each packet sent, one flow is visited, in rotation; if it has no packets, its COBALT decays | `CodelAf::visit` |
//! | (6) | buffer full: drop at the head, and notify the COBALT of that flow | `CodelAf::make_room` |
//! | (7) | `sparse_first`: a packet whose flow has nothing queued is sent before all others, without a test. It leaves a dummy in the common queue; the flow is sparse again only after the dummy has left | `CodelAf::enqueue` |
//!
//! A flow with an equal share of the queue (`n = N/a`) has the configured target. A flow with half of an equal share
//! has twice this target.
//!
//! Cost: a hash, two products and COBALT's operations per packet. State: 48 bytes for each of the 1024 entries of the
//! flow table, used or not.
//!
//! Deviations:
//! 1. Occupancy is counted in packets and includes the packet at the head; the draft specifies neither. The reference
//!    implementation also counts the dummies of (7), and does not count a flow whose last packet is at the head.
//! 2. The table has 1024 entries, that of the reference implementation 65 536; the draft gives no number.
//! 3. Rule (3) raises only p, as in the COBALT of ns-3; in the reference implementation rule (3) also triggers a
//!    signal.
//! 4. Rule (6) follows "Cheap Nasty Queueing". The CodelAF draft does not mention a full buffer, and the reference
//!    implementation has no limit. Notifying COBALT is our choice, as in CAKE.
//! 5. CoDel exempts a queue of one packet; rule (1) does not. The reference implementation defines an exemption for
//!    delays below 4 transmission times of an MTU, but never uses it.
//!
//! Not implemented: SCE marks; Twin-CodelAF (section 4): two such queues, served in proportion to their numbers of
//! flows.

use super::cobalt_core::{Cobalt, CobaltTarget, Signal};
use super::codel::check_target;
use crate::contract::prelude::*;
use crate::flows::hash::{bucket, hash};
use std::collections::VecDeque;

params! {
    /// CodelAF.
    pub struct CodelAfParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "draft section 3: the 5-tuple, or subscribers";
        /// Entries of the flow table.
        buckets: u32 = 1024, in 1..=65536, source "ours; 65536 in the reference implementation";
        /// Target delay of a flow with an equal share of the queue.
        target: Time = "5 ms", in "1 us"..="10 s", symbol "target", source "draft section 2";
        /// Time for which the delay may exceed the target.
        interval: Time = "100 ms", in "10 us"..="100 s", symbol "interval", source "draft section 2";
        /// Marks ECN-capable packets instead of dropping them by CoDel.
        ecn: bool = true, source "draft section 2";
        /// Delay of a flow with an equal share, above which the flow's BLUE probability rises.
        blue_threshold: Time = "400 ms", in "1 us"..="1000 s", symbol "blue_thresh", source "reference implementation";
        /// Increment of BLUE's probability.
        increment: f64 = 0.00390625, in 0.0..=1.0, symbol "p_inc", source "reference implementation: 1/256";
        /// Decrement of BLUE's probability when an empty flow is visited.
        decrement: f64 = 0.000244140625, in 0.0..=1.0, symbol "p_dec", source "reference implementation: 1/4096";
        /// Sends packets of flows without queued packets first (cheap nasty queueing).
        sparse_first: bool = false, source "draft section 1: may be combined; on in the reference implementation";
    }
}

/// Registry entry of CodelAF.
#[derive(Clone, Copy, Debug)]
pub struct CodelAfScheme;

impl SchemeSpec for CodelAfScheme {
    const ABOUT: About = About {
        title: "CoDel with approximate fairness, CodelAF",
        kind: "one queue; drops or marks at the head, by flow",
        summary: "Runs a CoDel for each flow of one common queue and scales its delay by the flow's share of the \
                  queue.",
        source: "Morton, Heist: Controlled Delay Approximate Fairness AQM, draft-morton-tsvwg-codel-approx-fair-01, \
                 2020",
        state: "port: 1024 flows with 4 numbers of COBALT and 1 count each",
        flow_state: FlowState::Table,
        order: Order::Fifo,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = CodelAfParams;
    type Discipline<P: Packet> = CodelAf<P>;

    fn check(params: &CodelAfParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_target(params.target, params.interval, table)
    }

    fn build<P: Packet>(params: &CodelAfParams, port: &Port<'_>) -> CodelAf<P> {
        CodelAf::new(params, port.buffer)
    }
}

/// A flow of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    cobalt: Cobalt,
    packets: u32,
    /// True if the common queue holds a dummy of this flow.
    has_dummy: bool,
}

/// A packet in the common queue, or the dummy of a sparse packet that was sent before this queue.
#[derive(Clone, Copy, Debug)]
struct Entry<P> {
    packet: P,
    flow: u32,
    is_dummy: bool,
}

/// Input of rule (1).
#[derive(Clone, Copy, Debug)]
struct Occupancy {
    flow_packets: u32,
    packets: u32,
    active_flows: u32,
}

impl Occupancy {
    /// Returns true if the packet has waited too long: rule (1) with the target, rule (3) with BLUE's threshold.
    #[inline]
    fn is_too_long(self, sojourn: Time, target: Time) -> bool {
        let weight = u128::from(self.flow_packets) * u128::from(self.active_flows);
        u128::from(sojourn.0) * weight > u128::from(target.0) * u128::from(self.packets)
    }
}

/// The queue of one port.
#[derive(Clone, Debug)]
pub struct CodelAf<P> {
    common: VecDeque<Entry<P>>,
    sparse: VecDeque<Entry<P>>,
    backlog: Backlog,
    flows: Box<[Flow]>,
    active_flows: u32,
    /// Next flow to be visited.
    cursor: u32,
    /// Drawn at the first packet.
    seed: Option<u64>,
    aim: CobaltTarget,
    limit: QueueLimit,
    params: Box<CodelAfParams>,
}

impl<P: Packet> CodelAf<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &CodelAfParams, buffer: &BufferParams) -> Self {
        let CodelAfParams { target, interval, increment, decrement, .. } = *params;
        Self {
            common: VecDeque::new(),
            sparse: VecDeque::new(),
            backlog: Backlog::default(),
            flows: vec![Flow::default(); params.buckets as usize].into(),
            active_flows: 0,
            cursor: 0,
            seed: None,
            aim: CobaltTarget {
                target,
                interval,
                spared: Time::ZERO,
                increment,
                decrement,
                whole_spells: true,
                starts_at_once: false,
            },
            limit: buffer.limit,
            params: Box::new(params.clone()),
        }
    }

    /// Removes the first packet from the sparse or the common queue, with all dummies before it, and updates the
    /// counts.
    fn pop(&mut self, sparse: bool) -> Option<Entry<P>> {
        loop {
            let entry = if sparse { self.sparse.pop_front() } else { self.common.pop_front() }?;
            let flow = &mut self.flows[entry.flow as usize];
            if entry.is_dummy {
                flow.has_dummy = false;
                continue;
            }
            flow.packets -= 1;
            self.active_flows -= u32::from(flow.packets == 0);
            self.backlog.remove(entry.packet.wire_bytes());
            return Some(entry);
        }
    }

    /// Applies rules (2) to (4) to a packet that has just been taken from the head of the common queue. Returns the
    /// packet's drop or mark.
    fn judge(&mut self, entry: &Entry<P>, now: Time, rng: &mut Rng) -> Signal {
        let Self { flows, aim, params, backlog, active_flows, .. } = self;
        let flow = &mut flows[entry.flow as usize];
        let is_last = flow.packets == 0;
        let found = Occupancy {
            flow_packets: flow.packets + 1,
            packets: backlog.packets + 1,
            active_flows: *active_flows + u32::from(is_last),
        };
        let sojourn = now.saturating_sub(entry.packet.enqueued_at());
        if found.is_too_long(sojourn, params.blue_threshold) {
            flow.cobalt.raise(aim, now);
        }
        let markable = params.ecn && entry.packet.ecn().is_capable();
        let too_long = found.is_too_long(sojourn, aim.target);
        let Signal { drop, mark } = flow.cobalt.judge(aim, too_long, markable, now, rng);
        Signal { drop: drop && !is_last, mark }
    }

    /// Applies rule (5).
    fn visit(&mut self, now: Time) {
        let flow = &mut self.flows[self.cursor as usize];
        if flow.packets == 0 {
            flow.cobalt.emptied(&self.aim, now);
        }
        self.cursor = (self.cursor + 1) % self.params.buckets;
    }

    /// Applies rule (6) for a packet of `wire_bytes` that fits into an empty buffer.
    fn make_room(&mut self, wire_bytes: u32, now: Time, drops: &mut impl DropSink<P>) {
        let found = self.backlog;
        while !self.backlog.has_room_for(wire_bytes, self.limit) {
            let oldest = self.pop(false).or_else(|| self.pop(true)).expect("the buffer is not empty");
            self.flows[oldest.flow as usize].cobalt.overflowed(&self.aim, now);
            drops.dropped(&oldest.packet, DropReason::PushedOut, found);
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for CodelAf<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        if !Backlog::default().has_room_for(packet.wire_bytes(), self.limit) {
            drops.dropped(&packet, DropReason::Overlimit, self.backlog);
            return;
        }
        self.make_room(packet.wire_bytes(), now, drops);
        let seed = *self.seed.get_or_insert_with(|| rng.bits());
        let number = bucket(hash(self.params.share_per.of(&packet), seed), self.params.buckets) as u32;
        packet.set_enqueued_at(now);
        self.backlog.add(packet.wire_bytes());
        let flow = &mut self.flows[number as usize];
        let is_sparse = self.params.sparse_first && flow.packets == 0 && !flow.has_dummy;
        self.active_flows += u32::from(flow.packets == 0);
        flow.packets += 1;
        let entry = Entry { packet, flow: number, is_dummy: false };
        if is_sparse {
            flow.has_dummy = true;
            self.sparse.push_back(entry);
        }
        self.common.push_back(Entry { is_dummy: is_sparse, ..entry });
    }

    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        if let Some(entry) = self.pop(true) {
            self.flows[entry.flow as usize].cobalt.emptied(&self.aim, now);
            self.visit(now);
            return Some(entry.packet);
        }
        loop {
            let mut entry = self.pop(false)?;
            let Signal { drop, mark } = self.judge(&entry, now, rng);
            if drop {
                drops.dropped(&entry.packet, DropReason::Aqm, self.backlog);
                continue;
            }
            if mark {
                entry.packet.set_ecn(Ecn::Ce);
                drops.marked(&entry.packet);
            }
            self.visit(now);
            return Some(entry.packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_size(&self) -> StateSize {
        let bytes = size_of_val(self) + size_of_val(&*self.flows) + size_of_val(&*self.params);
        StateSize { records: self.flows.len(), bytes }
    }

    fn report(&self, report: Report<'_>) {
        let dropping = self.flows.iter().filter(|flow| flow.cobalt.is_dropping()).count();
        let largest = self.flows.iter().map(|flow| flow.cobalt.probability()).fold(0.0, f64::max);
        report("active_flows", f64::from(self.active_flows));
        report("dropping_flows", dropping as f64);
        report("largest_blue_probability", largest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{build, limits, noise, offer, packet, serve, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket, reading, refusal};
    use proptest::prelude::*;
    use serde_json::json;

    fn port(params: &CodelAfParams, limit: u32) -> (CodelAf<TestPacket>, Rng) {
        build::<CodelAfScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    #[test]
    fn rule_1_weighs_the_delay_by_the_flows_part_of_the_queue() {
        let target = Time::from_millis(5);
        // An equal share of 20 packets of 4 flows is 5 packets. A flow with 5 packets may wait for 5 ms. A flow with 10
        // packets may wait for half of that time, a flow with 1 packet for five times as long.
        for (flow_packets, allowed_us) in [(5, 5000), (10, 2500), (1, 25_000), (20, 1250)] {
            let found = Occupancy { flow_packets, packets: 20, active_flows: 4 };
            assert!(!found.is_too_long(Time::from_micros(allowed_us), target));
            assert!(found.is_too_long(Time::from_micros(allowed_us + 1), target));
        }
        // For a single flow, the rules equal those of CoDel.
        let alone = Occupancy { flow_packets: 7, packets: 7, active_flows: 1 };
        assert!(!alone.is_too_long(target, target) && alone.is_too_long(target + Time(1), target));
    }

    /// Flow 1 keeps the queue at 50 packets for 1 s. Flow 2 sends one packet every 57.6 ms. Returns the flows of the
    /// lost packets, and the number of marks.
    fn beside_a_long_flow(ecn: Ecn) -> (Vec<u32>, usize) {
        let (mut queue, mut rng) = port(&CodelAfParams::default(), 1000);
        let mut drops = Drops::default();
        for step in 0..833 {
            let now = Time::from_micros(1200 * step);
            if step % 48 == 0 {
                queue.enqueue(TestPacket { ecn, ..packet(2, 1500) }, now, &mut rng, &mut drops);
            }
            while queue.backlog().packets < 50 {
                queue.enqueue(TestPacket { ecn, ..packet(1, 1500) }, now, &mut rng, &mut drops);
            }
            queue.dequeue(now, &mut rng, &mut drops);
        }
        (drops.0.iter().map(|drop| drop.0.flow).collect(), drops.1.len())
    }

    #[test]
    fn only_the_flow_that_fills_the_queue_is_told() {
        // Flow 2 has one or two of the 50 packets in the queue, which wait for 60 ms. By rule (1), the delay of flow 2
        // counts as at most 60 * 2 * 2 / 50 = 4.8 ms, which is below the target.
        let (drops, marks) = beside_a_long_flow(Ecn::NotEct);
        assert!(!drops.is_empty() && drops.iter().all(|&flow| flow == 1) && marks == 0, "{drops:?}");
        let (drops, marks) = beside_a_long_flow(Ecn::Ect0);
        assert!(drops.is_empty() && marks > 0);
    }

    #[test]
    fn signals_of_a_flow_alone_are_those_of_cobalt() {
        // The queue has 90 packets. At 6 ms the delay is 6 ms. Signal n comes at the first departure from 106 + 100 *
        // (1/sqrt(2) + ... + 1/sqrt(n)) ms on, as in the tests of COBALT.
        let (mut queue, mut rng) = port(&CodelAfParams::default(), 1000);
        let mut drops = Drops::default();
        for step in 0..1666 {
            let now = Time::from_micros(1200 * step);
            while queue.backlog().packets < 90 {
                queue.enqueue(packet(1, 1500), now, &mut rng, &mut drops);
            }
            queue.dequeue(now, &mut rng, &mut drops);
        }
        let due = |n: u32| 106.0 + 100.0 * (2..=n).map(|k| 1.0 / f64::from(k).sqrt()).sum::<f64>();
        // The packet that leaves at 6 ms is the first with a delay above 5 ms, as in the tests of COBALT. COBALT also
        // spares delays up to the transmission time of 4 MTUs. This makes no difference here, since 4.8 ms are below
        // the target.
        assert_eq!(drops.0.len(), (1..).take_while(|&n| due(n) <= 1998.0).count());
    }

    #[test]
    fn sparse_flows_go_first_and_once_per_passage_of_the_queue() {
        let (mut queue, mut rng) = port(&CodelAfParams { sparse_first: true, ..Default::default() }, 100);
        offer(&mut queue, &mut rng, 1, &[1500; 3]);
        offer(&mut queue, &mut rng, 2, &[100]);
        // The first packet of each flow is sparse. Then the two waiting packets are sent. The second packet of flow 2
        // arrives while the dummy is in the queue.
        assert_eq!(serve(&mut queue, &mut rng, 2), [1, 2]);
        offer(&mut queue, &mut rng, 2, &[100]);
        offer(&mut queue, &mut rng, 3, &[100]);
        assert_eq!(serve(&mut queue, &mut rng, 3), [3, 1, 1]);
        assert_eq!(queue.backlog().packets, 1);
        // The dummy of flow 2 is ahead of the flow's packet and leaves with that packet.
        assert_eq!(serve(&mut queue, &mut rng, 1), [2]);
        offer(&mut queue, &mut rng, 1, &[1500]);
        offer(&mut queue, &mut rng, 2, &[100]);
        assert_eq!(serve(&mut queue, &mut rng, 2), [1, 2]);
    }

    #[test]
    fn a_full_buffer_drops_the_oldest_and_its_flow_hears_of_it() {
        let (mut queue, mut rng) = port(&CodelAfParams { increment: 1.0, ..Default::default() }, 3);
        offer(&mut queue, &mut rng, 1, &[1500, 1500]);
        offer(&mut queue, &mut rng, 2, &[1500]);
        let mut drops = Drops::default();
        queue.enqueue(packet(2, 700), Time::from_millis(6), &mut rng, &mut drops);
        assert_eq!((drops.0[0].0.flow, drops.0[0].1, drops.0.len()), (1, DropReason::PushedOut, 1));
        let heard: Vec<_> = queue.flows.iter().filter(|flow| flow.cobalt.probability() > 0.0).collect();
        assert!(heard.len() == 1 && heard[0].packets == 1);
        // The last packet of the flow is sent although p is 1.
        assert_eq!(serve(&mut queue, &mut rng, 1), [1]);
    }

    #[test]
    fn visits_in_turn_let_blue_decay() {
        let params = CodelAfParams { buckets: 4, increment: 0.5, decrement: 0.5, ..Default::default() };
        let (mut queue, mut rng) = port(&params, 3);
        let mut drops = Drops::default();
        for ms in 6..12 {
            queue.enqueue(packet(1, 1500), Time::from_millis(ms), &mut rng, &mut drops);
        }
        let largest = |queue: &CodelAf<TestPacket>| reading("largest_blue_probability", |report| queue.report(report));
        assert_eq!(largest(&queue), 0.5);
        let mut now = Time::from_secs(1);
        for _ in 0..8 {
            now += Time::from_millis(6);
            queue.enqueue(packet(2, 1500), now, &mut rng, &mut drops);
            while queue.dequeue(now, &mut rng, &mut drops).is_some() {}
        }
        // Each of the four flows is visited within four packets.
        assert_eq!(largest(&queue), 0.0);
    }

    #[test]
    fn a_target_not_below_the_interval_is_refused() {
        let error = refusal(json!({"scheme": "codel_af", "interval": "5 ms"}));
        assert!(error.starts_with("queue.target: \"5 ms\" is out of range"), "{error}");
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_queue(noise in noise(), sparse_first in any::<bool>()) {
            let params = CodelAfParams { sparse_first, buckets: 5, ..Default::default() };
            let (mut queue, mut rng) = port(&params, 20);
            let mut drops = Drops::default();
            let mut now = Time::ZERO;
            for byte in noise {
                now += Time::from_micros(u64::from(byte) * 20);
                if byte % 3 == 0 {
                    queue.dequeue(now, &mut rng, &mut drops);
                } else {
                    queue.enqueue(packet(u32::from(byte) % 7, 100 + u32::from(byte)), now, &mut rng, &mut drops);
                }
                let waiting = queue.common.iter().filter(|entry| !entry.is_dummy).chain(&queue.sparse);
                let mut packets = [0; 5];
                waiting.for_each(|entry| packets[entry.flow as usize] += 1);
                let counted: Vec<_> = queue.flows.iter().map(|flow| flow.packets).collect();
                prop_assert_eq!(counted.as_slice(), packets.as_slice());
                prop_assert_eq!(queue.active_flows, packets.iter().map(|&count| u32::from(count > 0)).sum::<u32>());
                prop_assert_eq!(queue.backlog().packets, packets.iter().sum::<u32>());
                let dummies = queue.common.iter().filter(|entry| entry.is_dummy).count();
                prop_assert_eq!(queue.flows.iter().filter(|flow| flow.has_dummy).count(), dummies);
            }
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            buckets in prop::sample::select(vec![1, 3, 1024]),
            (sparse_first, ecn) in (any::<bool>(), any::<bool>()),
            (target_us, interval_ms, blue_us) in (1u64..100_000, 101u64..10_000, 1u64..1_000_000),
            (increment, decrement) in (0.0..=1.0, 0.0..=1.0),
        ) {
            let params = CodelAfParams {
                buckets, sparse_first, ecn, increment, decrement,
                target: Time::from_micros(target_us),
                interval: Time::from_millis(interval_ms),
                blue_threshold: Time::from_micros(blue_us),
                ..Default::default()
            };
            prop_assert_eq!(survives(SchemeParams::CodelAf(params), limit, &noise), buckets as usize);
        }
    }
}
