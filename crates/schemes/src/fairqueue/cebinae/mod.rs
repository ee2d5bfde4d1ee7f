//! Cebinae: taxes the largest flows of a saturated link, so that other flows can grow into the freed capacity.
//!
//! Source: Yu, Sonchack, Liu: Cebinae: Scalable In-network Fairness Augmentation, SIGCOMM 2022, as its authors' ns-3
//! model and switch program (eniac/Cebinae) implement it. Time is divided into rounds of `dT`. The head queue has
//! packets of the present round, the other queue packets of the next round. `C dT` is the number of bytes per round.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | every P-th round: saturated if `bytes sent > P C dT (1 - delta_port)`; otherwise no flow is top, `bottom = C dT`, and there is no limit | `end_round` |
//! | (2) | top: flows with `bytes > (1 - delta_flow) max` | `FlowCache::choose_top` |
//! | (3) | budgets of a round: `top = min(bytes of top flows / P, C dT) (1 - tau)`, `bottom = C dT - top` | `end_round` |
//! | (4) | new budgets apply to the round after the next, which is still empty | `rotate` |
//! | (5) | leaky bucket b of each group: head queue if `b <= B_head`, other queue if `b <= B_head + B_next`, otherwise drop | `filter` |
//! | (6) | `b = max(b, allowance) + L`; allowance: the fraction of the budgets for the time since the round began; a group loses what it did not use | `filter`, `allowance` |
//! | (7) | `b = max(0, b - B_head)` at the rotation | `rotate` |
//! | (8) | the head queue is served first, the other when the head queue is empty; between the end of a round and its rotation, the queue of the next round is served first | `dequeue` |
//!
//! Cebinae may reorder packets of a flow that enters or leaves the top group. Cebinae may drop a packet although the
//! queue is empty, if the packet's group has used the budgets of two rounds.
//!
//! Cost: O(1) per packet: 1 or 2 hashes at departure, and at arrival while there are top flows. Every P rounds, one
//! pass over the counted flows. State per port: 2 buckets, 2 x 2 budgets, a table with `2 x cache_slots` byte counters
//! of flows, 32 bytes each. A flow whose two slots are taken is not counted and cannot become top.
//!
//! Deviations:
//! 1. Time is not quantised; in the authors' runs the quantum `vdT` is 1 ns.
//! 2. The filter of rule (5) drops arrivals only if the next round has limits. The top bucket is emptied when a round
//!    without limits begins, because the switch program bypasses the filter while the port is not saturated. In the
//!    ns-3 model the filter continues at rate C with the bucket's old level; overload can then block a group
//!    permanently.
//! 3. The default round scales with the link: the time of 50 full packets or of the full buffer, whichever is longer,
//!    60 ms at 10 Mbit/s. The ns-3 model's default of 1 048 576 ns is meant for 100 Gbit/s. In the authors' runs, the
//!    round is slightly longer than the time in which the buffer drains. The round depends on the link's initial rate
//!    only.
//! 4. The two queues share the limit, as in most of the authors' runs, including their table of 29 mixes.
//! 5. Tax and margins are 0.01; the ns-3 model's own defaults are 0.05. The authors' repository has 62 configurations
//!    that set a single value of each parameter (`ns/configs`). In 60 of these, `tau` and `delta_flow` are 0.01; two
//!    have 0.05 and 0.1. `delta_port` is 0.01 in 46 and 0 in the other 16 (`tbl2`, `fig7`).
//! 6. The authors' code leaves open whether delayed packets are marked (`mark_delayed`); here marks are off by
//!    default.
//!
//! Not implemented: fixed halves of the buffer; the switch program's products by powers of two.

mod flow_cache;

use self::flow_cache::{FlowCache, part_of};
use crate::contract::prelude::*;
use crate::measure::ticker::Ticker;
use std::collections::VecDeque;

params! {
    /// Cebinae.
    pub struct CebinaeParams {
        /// Length of a round; absent: the time to send 50 maximum-size packets or a full buffer, whichever is longer.
        round: Option<Time> = null, in "1 us"..="10 s", symbol "dT", source "SIGCOMM 2022; ns-3 model: 1 048 576 ns";
        /// Time between the end of a round and its rotation, as a fraction of the round.
        reconfiguration: f64 = 0.0625, in 0.0..=0.5, symbol "L/dT", source "ns-3 model: 65 536 of 1 048 576 ns";
        /// Rounds between two decisions.
        rounds: u32 = 1, in 1..=1000, symbol "P", source "ns-3 model";
        /// Fraction of its rate that the top group loses.
        tax: f64 = 0.01, in 0.0..=1.0, symbol "tau", source "60 of 62 of the authors' configurations; 0.05 in their \
            ns-3 model";
        /// The port counts as saturated above `1 - port_margin` of its rate.
        port_margin: f64 = 0.01, in 0.0..=1.0, symbol "delta_port", source "46 of 62 of the authors' configurations, \
            0 in 16; 0.05 in their ns-3 model";
        /// A flow belongs to the top group above `1 - flow_margin` of the largest flow's bytes.
        flow_margin: f64 = 0.01, in 0.0..=1.0, symbol "delta_flow", source "60 of 62 of the authors' configurations; \
            0.05 in their ns-3 model";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "SIGCOMM 2022: the 5-tuple";
        /// Slots in each of the two stages of the flow table.
        cache_slots: u32 = 2048, in 1..=1048576, source "ns-3 model";
        /// Also counts dropped arrivals in the buckets. A group that keeps sending too much then gets nothing.
        count_dropped: bool = true, source "ns-3 model and switch program; false is our choice";
        /// Marks packets that are postponed to the next round.
        mark_delayed: bool = false, source "our choice; open in the authors' code";
    }
}

/// Registry entry of Cebinae.
#[derive(Clone, Copy, Debug)]
pub struct CebinaeScheme;

impl SchemeSpec for CebinaeScheme {
    const ABOUT: About = About {
        title: "Cebinae",
        kind: "two queues that alternate by rounds; delays or drops the arriving packet",
        summary: "Limits the largest flows of a saturated link to slightly less than their last rate, round by round, \
                  so that the others can take the rest.",
        source: "Yu, Sonchack, Liu: Cebinae: Scalable In-network Fairness Augmentation, SIGCOMM 2022",
        state: "port: 2 buckets, 4 budgets, a table of 2 x 2048 flow counters",
        flow_state: FlowState::Table,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    const DROPS_WHEN_EMPTY: bool = true;
    const REORDERS_FLOWS: bool = true;
    type Params = CebinaeParams;
    type Discipline<P: Packet> = Cebinae<P>;

    fn marks(params: &CebinaeParams) -> bool {
        params.mark_delayed
    }

    fn build<P: Packet>(params: &CebinaeParams, port: &Port<'_>) -> Cebinae<P> {
        Cebinae::new(params, port.buffer, port.rate)
    }
}

/// Minimum number of maximum-size packets per round, unless the length of the round is given.
const LEAST_PACKETS: u64 = 50;

/// Default length of a round: deviation 3.
fn default_round(buffer: &BufferParams, rate: BitRate) -> Time {
    let bytes = buffer.full_bytes().max(LEAST_PACKETS * buffer.mtu.0);
    Time::from_secs_f64(bytes as f64 * 8.0 / rate.as_f64()).max(Time::from_micros(1))
}

/// Byte budgets of the groups in one round.
#[derive(Clone, Copy, Debug)]
struct Budgets {
    top: u64,
    bottom: u64,
    /// True if arrivals above the budgets may be dropped, because the port was saturated.
    limited: bool,
}

impl Budgets {
    fn of(&self, is_top: bool) -> u64 {
        if is_top { self.top } else { self.bottom }
    }
}

/// Cebinae at one port.
#[derive(Clone, Debug)]
pub struct Cebinae<P> {
    queues: [VecDeque<P>; 2],
    backlog: Backlog,
    limit: QueueLimit,
    /// Queue of the current round.
    head: usize,
    /// Queue that is served first.
    first: usize,
    /// Start of the current round.
    base: Time,
    ends: Ticker,
    /// Time of the next rotation; set only between the end of a round and its rotation.
    rotation: Option<Time>,
    lead: Time,
    /// Budgets of each queue in its round.
    budgets: [Budgets; 2],
    /// The latest decision.
    decided: Budgets,
    /// The buckets `b` of the top and the bottom group.
    top_bytes: u64,
    bottom_bytes: u64,
    /// `C dT`.
    round_bytes: u64,
    rounds_since_decision: u32,
    departed_bytes: u64,
    flows: Box<FlowCache>,
    params: Box<CebinaeParams>,
}

impl<P: Packet> Cebinae<P> {
    /// Creates an idle port at a link of rate `rate`.
    #[must_use]
    pub fn new(params: &CebinaeParams, buffer: &BufferParams, rate: BitRate) -> Self {
        let round = params.round.unwrap_or_else(|| default_round(buffer, rate));
        let round_bytes = bytes_of(rate, round);
        let unlimited = Budgets { top: 0, bottom: round_bytes, limited: false };
        Self {
            queues: Default::default(),
            backlog: Backlog::default(),
            limit: buffer.limit,
            head: 0,
            first: 0,
            base: Time::ZERO,
            ends: Ticker::new(round),
            rotation: None,
            lead: Time::from_secs_f64(round.as_secs_f64() * params.reconfiguration),
            budgets: [unlimited; 2],
            decided: unlimited,
            top_bytes: 0,
            bottom_bytes: 0,
            round_bytes,
            rounds_since_decision: 0,
            departed_bytes: 0,
            flows: Box::new(FlowCache::new(params.cache_slots)),
            params: Box::new(params.clone()),
        }
    }

    /// Processes the ends of rounds and the rotations up to `now`.
    fn catch_up(&mut self, now: Time) {
        loop {
            if let Some(rotation) = self.rotation {
                if now < rotation {
                    return;
                }
                self.rotate();
            }
            if self.is_at_rest() {
                self.skip_rounds(now);
            }
            let Some(end) = self.ends.due(now) else { return };
            self.end_round();
            self.rotation = Some(end + self.lead);
        }
    }

    /// Returns true if further rounds change only the bottom bucket and the roles of the queues.
    fn is_at_rest(&self) -> bool {
        let at_rest = |budgets: &Budgets| !budgets.limited && budgets.bottom == self.round_bytes;
        self.departed_bytes == 0 && self.budgets.iter().all(at_rest) && at_rest(&self.decided)
    }

    /// Processes all rounds whose rotation is over by `now`, in one step.
    fn skip_rounds(&mut self, now: Time) {
        let round = self.ends.period();
        let rounds = now.saturating_sub(self.base + self.lead).0 / round.0;
        if rounds == 0 {
            return;
        }
        self.base += Time(round.0 * rounds);
        self.ends.skip_to(self.base);
        self.head ^= (rounds & 1) as usize;
        self.first = self.head;
        self.top_bytes = 0;
        self.bottom_bytes = self.bottom_bytes.saturating_sub(self.round_bytes.saturating_mul(rounds));
        let interval = u64::from(self.params.rounds);
        self.rounds_since_decision = ((u64::from(self.rounds_since_decision) + rounds) % interval) as u32;
    }

    /// Ends the round: computes the groups and budgets, and then serves the next round's queue first.
    fn end_round(&mut self) {
        self.first = 1 - self.head;
        self.rounds_since_decision += 1;
        if self.rounds_since_decision < self.params.rounds {
            return;
        }
        self.rounds_since_decision = 0;
        let whole = self.round_bytes * u64::from(self.params.rounds);
        self.decided = if self.departed_bytes > part_of(whole, 1.0 - self.params.port_margin) {
            let bytes = self.flows.choose_top(1.0 - self.params.flow_margin) / u64::from(self.params.rounds);
            let top = part_of(bytes.min(self.round_bytes), 1.0 - self.params.tax);
            Budgets { top, bottom: self.round_bytes - top, limited: true }
        } else {
            self.flows.choose_nobody();
            Budgets { top: 0, bottom: self.round_bytes, limited: false }
        };
        self.flows.forget_counts();
        self.departed_bytes = 0;
    }

    /// Swaps the queues. The new collecting queue gets the latest budgets.
    fn rotate(&mut self) {
        self.rotation = None;
        let ended = self.budgets[self.head];
        self.budgets[self.head] = self.decided;
        self.base += self.ends.period();
        self.head = 1 - self.head;
        let is_limited = self.budgets[self.head].limited;
        self.top_bytes = if is_limited { self.top_bytes.saturating_sub(ended.top) } else { 0 };
        self.bottom_bytes = self.bottom_bytes.saturating_sub(ended.bottom);
    }

    /// Bytes that a group could have sent since the round began.
    fn allowance(&self, is_top: bool, now: Time) -> u64 {
        let elapsed = now.saturating_sub(self.base).0 as f64 / self.ends.period().0 as f64;
        let (present, next) = (self.budgets[self.head].of(is_top), self.budgets[1 - self.head].of(is_top));
        part_of(present, elapsed.min(1.0)) + part_of(next, (elapsed - 1.0).max(0.0))
    }

    /// Passes an arrival through its group's bucket. Returns the queue that it joins, or `None` to drop it.
    fn filter(&mut self, packet: &P, now: Time) -> Option<usize> {
        let is_top = self.flows.is_top(self.params.share_per.of(packet));
        let (present, next) = (self.budgets[self.head], self.budgets[1 - self.head]);
        let allowance = self.allowance(is_top, now);
        let has_room = self.backlog.has_room_for(packet.wire_bytes(), self.limit);
        let level = if is_top { &mut self.top_bytes } else { &mut self.bottom_bytes };
        let queue = if *level <= present.of(is_top) {
            Some(self.head)
        } else if *level <= present.of(is_top) + next.of(is_top) || !next.limited {
            Some(1 - self.head)
        } else {
            None
        };
        let counts = self.params.count_dropped || (queue.is_some() && has_room);
        *level = (*level).max(allowance) + if counts { u64::from(packet.wire_bytes()) } else { 0 };
        queue
    }
}

/// Integer number of bytes that a link of rate `rate` carries in `span`.
fn bytes_of(rate: BitRate, span: Time) -> u64 {
    part_of(rate.0, span.as_secs_f64() / 8.0)
}

impl<P: Packet> QueueDiscipline<P> for Cebinae<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        self.flows.seed(rng);
        self.catch_up(now);
        let Some(queue) = self.filter(&packet, now) else {
            return drops.dropped(&packet, DropReason::Aqm, self.backlog);
        };
        if !self.backlog.has_room_for(packet.wire_bytes(), self.limit) {
            return drops.dropped(&packet, DropReason::Overlimit, self.backlog);
        }
        if self.params.mark_delayed && queue != self.head && packet.ecn().is_capable() {
            packet.set_ecn(Ecn::Ce);
            drops.marked(&packet);
        }
        packet.set_enqueued_at(now);
        self.backlog.add(packet.wire_bytes());
        self.queues[queue].push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        self.catch_up(now);
        let first = self.first;
        let packet = self.queues[first].pop_front().or_else(|| self.queues[1 - first].pop_front())?;
        self.backlog.remove(packet.wire_bytes());
        self.departed_bytes += u64::from(packet.wire_bytes());
        self.flows.count(self.params.share_per.of(&packet), packet.wire_bytes());
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.round_bytes = bytes_of(rate, self.ends.period());
    }

    fn state_size(&self) -> StateSize {
        StateSize { records: self.flows.seen(), bytes: size_of::<Self>() + self.flows.table_bytes() }
    }

    fn report(&self, report: Report<'_>) {
        let bits_per_s = |bytes: u64| bytes as f64 * 8.0 / self.ends.period().as_secs_f64();
        report("saturated", f64::from(u8::from(self.decided.limited)));
        report("top_flows", self.flows.top_flows() as f64);
        report("top_rate_bps", bits_per_s(self.decided.top));
        report("bottom_rate_bps", bits_per_s(self.decided.bottom));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, reading};

    /// At 12 Mbit/s a packet of 1500 bytes takes a millisecond, so a round of 10 ms has 15 000 bytes. Rotations are 1
    /// ms after the ends of rounds.
    const RATE: BitRate = BitRate(12_000_000);

    struct Bench {
        port: Cebinae<TestPacket>,
        rng: Rng,
        drops: Drops,
    }

    fn params() -> CebinaeParams {
        CebinaeParams { round: Some(Time::from_millis(10)), reconfiguration: 0.1, ..Default::default() }
    }

    impl Bench {
        fn new(params: &CebinaeParams) -> Self {
            let buffer = BufferParams { limit: QueueLimit::Packets(1000), ..Default::default() };
            let port = Cebinae::new(params, &buffer, RATE);
            Self { port, rng: Rng::stream(1, 0, "test", 0), drops: Drops::default() }
        }

        fn offer(&mut self, flow: u32, ms: u64) {
            let packet = TestPacket { flow, ecn: Ecn::Ect0, ..Default::default() };
            self.port.enqueue(packet, Time::from_millis(ms), &mut self.rng, &mut self.drops);
        }

        fn serve(&mut self, ms: u64) -> Option<u32> {
            self.port.dequeue(Time::from_millis(ms), &mut self.rng, &mut self.drops).map(|packet| packet.flow)
        }

        /// One packet arrives and leaves per millisecond. Of each 10 packets, 7 belong to flow 0 and 3 to flow 1.
        fn saturate(&mut self, span: std::ops::Range<u64>) {
            for ms in span {
                self.offer(u32::from(ms % 10 >= 7), ms);
                assert!(self.serve(ms).is_some());
            }
        }

        fn reading(&self, name: &str) -> f64 {
            reading(name, |report| self.port.report(report))
        }
    }

    #[test]
    fn an_unsaturated_port_is_one_queue() {
        let mut bench = Bench::new(&params());
        (0..40).for_each(|flow| bench.offer(flow, 0));
        // Packets that find the bucket at 0, 1500 ... 15 000 bytes join the head queue, the others join the next queue.
        assert_eq!(bench.port.queues.each_ref().map(VecDeque::len), [11, 29]);
        assert!((0..40).all(|flow| bench.serve(0) == Some(flow)));
        assert!(bench.serve(0).is_none() && bench.drops.0.is_empty());
    }

    #[test]
    fn a_saturated_port_taxes_its_largest_flow() {
        let mut bench = Bench::new(&params());
        bench.saturate(0..10);
        assert_eq!((bench.reading("saturated"), bench.reading("top_flows")), (0.0, 0.0));
        bench.serve(10);
        assert_eq!((bench.reading("saturated"), bench.reading("top_flows")), (1.0, 1.0));
        // The top group may send 7 * 1500 bytes * 0.99 = 10 395 bytes in 10 ms. This leaves 15 000 - 10 395 = 4605
        // bytes to the bottom group.
        assert!((bench.reading("top_rate_bps") - 8_316_000.0).abs() < 1.0);
        assert!((bench.reading("bottom_rate_bps") - 3_684_000.0).abs() < 1.0);
        // No packet has been sent since 10 ms, so the port is not saturated at the end of the next round.
        bench.serve(20);
        assert_eq!((bench.reading("saturated"), bench.reading("top_rate_bps")), (0.0, 0.0));
    }

    #[test]
    fn flows_within_the_margin_are_top_together() {
        let flows = |flow_margin| {
            let mut bench = Bench::new(&CebinaeParams { flow_margin, ..params() });
            bench.saturate(0..10);
            bench.serve(10);
            bench.reading("top_flows")
        };
        // Flow 1 is also in the top group if its 3 packets exceed (1 - flow_margin) * 7: 3.5 for a margin of 0.5, 2.8
        // for 0.6.
        assert_eq!((flows(0.5), flows(0.6)), (1.0, 2.0));
    }

    #[test]
    fn budgets_hold_from_the_round_after_the_next_and_bound_both_groups() {
        let mut bench = Bench::new(&params());
        bench.saturate(0..21);
        assert!(bench.drops.0.is_empty());
        // Since the rotation at 11 ms the next round is limited. The top group's packets of 11 to 16 ms and of 20 ms
        // have used 7 * 1500 = 10 500 bytes of that round; the packet at 11 ms still counts in the current round.
        // Packets that arrive at 21 ms find the bucket at 10 500 bytes, then at 12 000, and so on. Packets that find
        // 10 500 to 19 500 bytes exceed the limit of 10 395 and join the next round's queue. Packets that find 21 000
        // bytes or more, above 2 * 10 395, are dropped.
        (0..10).for_each(|_| bench.offer(0, 21));
        assert_eq!(bench.port.queues[1 - bench.port.head].len(), 7);
        assert_eq!(bench.drops.0.len(), 3);
        assert!(bench.drops.0.iter().all(|&(packet, reason, _)| (packet.flow, reason) == (0, DropReason::Aqm)));
        // In the bottom group, packets join the head queue if they find the bucket at 0, at 460 (a tenth of 4605) +
        // 1500 = 1960, or at 3460 bytes. Packets at 4960, 6460 and 7960 bytes join the other queue. The packet at 9460
        // > 2 * 4605 is dropped.
        (0..7).for_each(|_| bench.offer(1, 21));
        assert_eq!(bench.drops.0.len(), 4);
        let served: Vec<_> = std::iter::from_fn(|| bench.serve(21)).collect();
        assert_eq!(served, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn the_next_rounds_queue_is_first_from_the_end_of_the_round_on() {
        let mut bench = Bench::new(&params());
        (0..12).for_each(|flow| bench.offer(flow, 0)); // the last packet is in the other queue
        assert_eq!(bench.serve(9), Some(0));
        assert_eq!(bench.serve(10), Some(11));
    }

    #[test]
    fn a_bucket_counts_what_is_dropped_unless_told_otherwise() {
        let level = |count_dropped| {
            let mut bench = Bench::new(&CebinaeParams { count_dropped, ..params() });
            bench.saturate(0..21);
            (0..100).for_each(|_| bench.offer(0, 21));
            bench.port.top_bytes
        };
        // The bucket starts at 10 500 bytes. With `count_dropped` all 100 packets are added, otherwise only the 7 that
        // pass.
        assert_eq!((level(true), level(false)), (160_500, 21_000));
    }

    #[test]
    fn delayed_packets_are_marked_if_asked_for() {
        for (mark_delayed, marked) in [(false, 0), (true, 29)] {
            let mut bench = Bench::new(&CebinaeParams { mark_delayed, ..params() });
            (0..40).for_each(|flow| bench.offer(flow, 0));
            assert_eq!(bench.drops.1.len(), marked);
        }
    }

    #[test]
    fn decisions_come_every_p_rounds() {
        let mut bench = Bench::new(&CebinaeParams { rounds: 3, ..params() });
        bench.saturate(0..29);
        assert_eq!(bench.reading("saturated"), 0.0);
        bench.saturate(29..30);
        bench.serve(30);
        // In three rounds, 21 of the 30 packets belong to the top flow, which are 10 500 bytes per round. The tax
        // takes 1 % of them, which leaves 10 395 bytes per 10 ms.
        assert!((bench.reading("top_rate_bps") - 8_316_000.0).abs() < 1.0);
    }

    #[test]
    fn idle_rounds_at_once_are_those_one_by_one() {
        for (packets, until) in [(40, 95), (40, 123), (0, 77), (9, 1000), (200, 200)] {
            let mut rare = Bench::new(&CebinaeParams { rounds: 4, ..params() });
            let mut often = Bench::new(&CebinaeParams { rounds: 4, ..params() });
            (0..packets).for_each(|flow| [&mut rare, &mut often].into_iter().for_each(|bench| bench.offer(flow, 0)));
            (0..=until).for_each(|ms| often.port.catch_up(Time::from_millis(ms)));
            rare.port.catch_up(Time::from_millis(until));
            let state = |bench: &Bench| {
                let port = &bench.port;
                (port.head, port.first, port.base, port.bottom_bytes, port.rounds_since_decision, port.rotation)
            };
            assert_eq!(state(&rare), state(&often), "{packets} {until}");
        }
    }

    #[test]
    fn a_round_that_is_not_given_has_room_for_50_packets_or_the_buffer() {
        let round = |packets, rate| {
            let buffer = BufferParams { limit: QueueLimit::Packets(packets), ..Default::default() };
            Cebinae::<TestPacket>::new(&CebinaeParams::default(), &buffer, BitRate(rate)).ends.period()
        };
        assert_eq!(round(24, 10_000_000), Time::from_millis(60)); // 50 * 12 000 bit / 10 Mbit/s
        assert_eq!(round(250, 100_000_000), Time::from_millis(30)); // 250 * 12 000 bit / 100 Mbit/s
        let bytes = BufferParams { limit: QueueLimit::Bytes(150_000), ..Default::default() };
        assert_eq!(default_round(&bytes, BitRate(10_000_000)), Time::from_millis(120));
    }

    #[test]
    fn a_slower_link_has_smaller_budgets_and_the_limit_holds() {
        let buffer = BufferParams { limit: QueueLimit::Packets(1), ..Default::default() };
        let mut bench = Bench::new(&params());
        bench.port = Cebinae::new(&params(), &buffer, RATE);
        bench.port.set_link_rate(BitRate(6_000_000));
        bench.offer(0, 0);
        bench.offer(0, 0);
        assert_eq!(bench.drops.0.iter().map(|drop| drop.1).collect::<Vec<_>>(), [DropReason::Overlimit]);
        bench.serve(10);
        assert!((bench.reading("bottom_rate_bps") - 6e6).abs() < 1.0);
        assert_eq!(bench.port.state_size().records, 1);
    }
}
