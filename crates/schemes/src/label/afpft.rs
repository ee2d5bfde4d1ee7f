//! AFpFT (approximate fairness through partial finish times): one queue sorted by tag. The core has state only for
//! flows with packets in the queue.
//!
//! Source: Eshete and Jiang, "Approximate Fairness Through Limited Flow List" (afpft), Fig. 1, eq. (1) and (2).
//!
//! v is the tag of the packet last put into service. Tags are in seconds of virtual time, and r is 10 kbit/s.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `S = max(v, finish)` | `tag_of` |
//! | (2) | `finish = S + L/r` | `tag_of` |
//! | Alg. 1, 5-11 | edge, or a packet of the flow waits: `tag = S`; else `tag = v` | `tag_of` |
//! | Alg. 1, 15-23 | too long: drop the largest tag, `finish = finish - L/r` of its flow | `expel` |
//! | Alg. 2 | at service `v = tag`; when the queue is empty `v = 0`, `finish = 0` for all | `dequeue` |
//!
//! The label is the tag. The marker at the source ([`AfpftMarker`]) writes a negative label. The first port that
//! receives this label acts as the flow's edge and replaces the label with its own tag, which is 0 or more. All later
//! ports therefore act as core ports. They use only the sign of the label.
//!
//! Packets of a flow keep their order if the flow has only one edge. An empty queue drops no packet that fits its
//! limit.
//!
//! Cost: O(log n) comparisons for n packets in the queue, one table look-up at arrival and one at departure. State: 25
//! bytes per flow with packets in the queue (at the edge, also per flow whose finish is ahead of v); 24 bytes per
//! packet for the order.
//!
//! Deviations:
//! 1. The pseudo-code overwrites the tag and then tests its sign again, so no edge would keep its records. We store the
//!    result of the first test in the flow's record.
//! 2. The first packet of a core flow leaves finish at 0, as in the pseudo-code, so the second packet can get the tag v
//!    as well. With `init_finish` the first packet sets finish.
//! 3. finish is not lowered below the tag of the dropped packet; only rounding could do that.
//! 4. A record at the edge expires when finish <= v and no packet of the flow waits, since it then has no effect. In
//!    the paper records expire after an unspecified time.
//! 5. A packet that is longer than the whole queue is dropped at once; the pseudo-code would empty the queue first.

use crate::contract::prelude::*;
use crate::flows::expiring_table::ExpiringTable;
use crate::queue::sorted_queue::{Sorted, SortedQueue};

params! {
    /// A port of AFpFT.
    pub struct AfpftParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "afpft II, footnote 2";
        /// Rate of virtual time. Shares do not depend on it.
        flow_rate: BitRate = "10 kbit/s", in "1 bit/s"..="1 Tbit/s", symbol "r", source "afpft II-A, Table II";
        /// Subtracts a dropped packet from its flow's finish tag.
        correct_finish: bool = true, source "afpft II-C, Alg. 1 line 20; Fig. 2 compares";
        /// Lets the first packet of a core flow set the flow's finish tag. The pseudo-code does not do this.
        init_finish: bool = false, source "afpft Alg. 1, our reading";
    }
}

params! {
    /// The marker of AFpFT has no parameters.
    pub struct AfpftMarkerParams {}
}

/// Registry entry of AFpFT.
#[derive(Clone, Copy, Debug)]
pub struct AfpftScheme;

impl SchemeSpec for AfpftScheme {
    const ABOUT: About = About {
        title: "Approximate fairness through partial finish times",
        kind: "one queue sorted by tag; pushes out the largest tag",
        summary: "Sorts packets by start tags as start-time fair queueing does, but the core keeps finish times only \
                  for flows with packets in the queue.",
        source: "Eshete, Jiang: Approximate Fairness Through Limited Flow List",
        state: "port: 25 bytes for each flow with packets in the queue; at the edge for each active flow",
        flow_state: FlowState::Each,
        order: Order::Sorted,
    };
    const MARKER: MarkerScheme = AfpftMarker::SCHEME;
    const ORDERS_PACKETS: bool = true;
    type Params = AfpftParams;
    type Discipline<P: Packet> = AfpftQueue<P>;

    fn build<P: Packet>(params: &AfpftParams, port: &Port<'_>) -> AfpftQueue<P> {
        AfpftQueue::new(params, port.buffer)
    }
}

/// Writes a negative tag, which makes the first port act as the edge.
#[derive(Clone, Copy, Debug)]
pub struct AfpftMarker;

impl Marker for AfpftMarker {
    const SCHEME: MarkerScheme = MarkerScheme::new("afpft");
    const BEST_LABEL: f64 = 0.0; // Any tag: the port has no record of a flow without queued packets.
    type Params = AfpftMarkerParams;
    type State = ();

    fn new(_: &AfpftMarkerParams) -> Self {
        Self
    }

    fn state(&self, _: &MeterSpec) {}

    #[inline]
    fn label<P: Packet>(&self, (): &mut (), packet: &mut P, _: Time, _: &mut Rng) {
        packet.set_label(-1.0);
    }
}

/// Record of a flow at a port.
#[derive(Clone, Copy, Debug)]
struct FlowRecord {
    /// In seconds of virtual time.
    finish: f64,
    /// Packets in the queue.
    count: u32,
    /// True if a packet arrived with a negative tag.
    is_edge: bool,
}

/// The queue of one port.
#[derive(Clone, Debug)]
pub struct AfpftQueue<P> {
    queue: SortedQueue<P>,
    limit: QueueLimit,
    flows: ExpiringTable<FlowRecord>,
    /// v: tag of the packet last put into service.
    virtual_time: f64,
    seconds_per_byte: f64,
    share_per: FlowKey,
    correct_finish: bool,
    init_finish: bool,
}

impl<P: Packet> AfpftQueue<P> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new(params: &AfpftParams, buffer: &BufferParams) -> Self {
        Self {
            queue: SortedQueue::default(),
            limit: buffer.limit,
            flows: ExpiringTable::default(),
            virtual_time: 0.0,
            seconds_per_byte: 8.0 / params.flow_rate.as_f64(),
            share_per: params.share_per,
            correct_finish: params.correct_finish,
            init_finish: params.init_finish,
        }
    }

    /// Virtual time that a packet takes: L/r.
    #[inline]
    fn span_of(&self, packet: &P) -> f64 {
        f64::from(packet.wire_bytes()) * self.seconds_per_byte
    }

    /// Alg. 1, lines 2 to 11: counts an arrival and returns its tag.
    fn tag_of(&mut self, packet: &P) -> f64 {
        let (now, span) = (self.virtual_time, self.span_of(packet));
        let is_live = |record: &FlowRecord| record.count > 0 || record.finish > now;
        let new = || FlowRecord { finish: 0.0, count: 0, is_edge: false };
        let record = self.flows.get_or_insert_with(self.share_per.of(packet), is_live, new);
        let is_edge = packet.label() < 0.0;
        record.is_edge |= is_edge;
        record.count += 1;
        if is_edge || record.count >= 2 {
            let start = f64::max(now, record.finish); // eq. (1)
            record.finish = start + span; // eq. (2)
            return start;
        }
        if self.init_finish {
            record.finish = now + span;
        }
        now
    }

    /// Removes a packet from the count of its flow. Deletes the record of a core flow without other packets. Returns
    /// the record if it remains.
    #[inline]
    fn release(&mut self, packet: &P) -> Option<&mut FlowRecord> {
        let key = self.share_per.of(packet);
        let record = self.flows.get_mut(key)?;
        record.count -= 1;
        if record.count == 0 && !record.is_edge {
            self.flows.remove(key);
            return None;
        }
        self.flows.get_mut(key)
    }

    /// Alg. 1, lines 16 to 23: drops the packet with the largest tag.
    fn expel(&mut self, arrival: u64, found: Backlog, drops: &mut impl DropSink<P>) {
        let Some(Sorted { packet, tag, arrival: number }) = self.queue.pop_back() else { return };
        let span = if self.correct_finish { self.span_of(&packet) } else { 0.0 };
        if let Some(record) = self.release(&packet) {
            record.finish = f64::max(record.finish - span, tag);
        }
        let reason = if number == arrival { DropReason::Overlimit } else { DropReason::PushedOut };
        drops.dropped(&packet, reason, found);
    }
}

impl<P: Packet> QueueDiscipline<P> for AfpftQueue<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = self.queue.backlog();
        if !Backlog::default().has_room_for(packet.wire_bytes(), self.limit) {
            return drops.dropped(&packet, DropReason::Overlimit, found);
        }
        let tag = self.tag_of(&packet);
        packet.set_label(tag);
        packet.set_enqueued_at(now);
        let arrival = self.queue.push(tag, packet);
        while self.queue.backlog().exceeds(self.limit) {
            self.expel(arrival, found, drops);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        let Some(Sorted { packet, tag, .. }) = self.queue.pop_front() else {
            self.virtual_time = 0.0;
            self.flows.clear(); // finish = 0 = v: records have no effect
            return None;
        };
        self.virtual_time = tag;
        self.release(&packet);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_size(&self) -> StateSize {
        StateSize { records: self.flows.len(), bytes: size_of_val(self) + self.flows.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("virtual_time_s", self.virtual_time);
        report("flows", self.flows.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, readings};

    /// A port and its drops. A packet of 1250 bytes takes 1 s of virtual time at 10 kbit/s.
    struct Rig {
        queue: AfpftQueue<TestPacket>,
        rng: Rng,
        drops: Drops,
    }

    impl Rig {
        fn new(limit: QueueLimit, params: &AfpftParams) -> Self {
            let buffer = BufferParams { limit, ..Default::default() };
            Self { queue: AfpftQueue::new(params, &buffer), rng: Rng::stream(1, 0, "test", 0), drops: Drops::default() }
        }

        fn packets(limit: u32) -> Self {
            Self::new(QueueLimit::Packets(limit), &AfpftParams::default())
        }

        fn offer(&mut self, flow: u32, label: f64) {
            let packet = TestPacket { flow, label, wire_bytes: 1250, ..Default::default() };
            self.queue.enqueue(packet, Time::ZERO, &mut self.rng, &mut self.drops);
        }

        fn serve(&mut self) -> Option<(u32, f64)> {
            self.queue.dequeue(Time::ZERO, &mut self.rng, &mut self.drops).map(|packet| (packet.flow, packet.label))
        }

        fn serve_all(&mut self) -> Vec<(u32, f64)> {
            std::iter::from_fn(|| self.serve()).collect()
        }

        fn dropped(&self) -> Vec<(u32, f64, DropReason)> {
            self.drops.0.iter().map(|&(packet, reason, _)| (packet.flow, packet.label, reason)).collect()
        }
    }

    const EDGE: f64 = -1.0;
    const CORE: f64 = 0.0;

    #[test]
    fn the_marker_makes_the_first_port_the_edge() {
        let mut packet = TestPacket::default();
        let marker = AfpftMarker::new(&AfpftMarkerParams {});
        marker.label(&mut (), &mut packet, Time::ZERO, &mut Rng::stream(1, 0, "test", 0));
        assert!(packet.label < 0.0);
    }

    #[test]
    fn equations_1_and_2_at_the_edge_interleave_flows_whatever_the_order_of_arrival() {
        let mut rig = Rig::packets(10);
        [0, 0, 0, 1, 1].into_iter().for_each(|flow| rig.offer(flow, EDGE));
        assert_eq!(rig.serve_all(), [(0, 0.0), (1, 0.0), (0, 1.0), (1, 1.0), (0, 2.0)]);
    }

    #[test]
    fn the_edge_remembers_a_flow_whose_packets_have_left() {
        let mut rig = Rig::packets(10);
        (0..2).for_each(|_| rig.offer(0, EDGE));
        rig.offer(1, EDGE);
        assert_eq!([rig.serve(), rig.serve(), rig.serve()], [Some((0, 0.0)), Some((1, 0.0)), Some((0, 1.0))]);
        // v is 1. Flow 0 has finish = 2, so its next tag is 2. Flow 1 has finish = 1 = v.
        rig.offer(0, EDGE);
        rig.offer(1, EDGE);
        assert_eq!(rig.serve_all(), [(1, 1.0), (0, 2.0)]);
    }

    #[test]
    fn the_core_forgets_a_flow_with_its_last_packet_and_its_first_packet_does_not_count() {
        let mut rig = Rig::packets(10);
        (0..3).for_each(|_| rig.offer(0, CORE));
        assert_eq!(rig.queue.state_size().records, 1);
        // The first packet is offered at v = 0, and finish stays 0. The second packet gets the tag max(0, 0), and
        // finish becomes 1. The third packet gets the tag 1.
        assert_eq!([rig.serve(), rig.serve(), rig.serve()], [Some((0, 0.0)), Some((0, 0.0)), Some((0, 1.0))]);
        assert_eq!(rig.queue.state_size().records, 0);
        rig.offer(0, CORE);
        assert_eq!(rig.serve(), Some((0, 1.0))); // v, although finish was 2
    }

    #[test]
    fn the_core_lists_no_more_flows_than_packets_wait() {
        // afpft I and II-B. 40 flows share a queue with room for 10 packets, so push-out is frequent.
        let mut rig = Rig::packets(10);
        let mut draws = Rng::stream(2, 0, "test", 0);
        for _ in 0..10_000 {
            if draws.open01() < 0.6 {
                rig.offer((40.0 * draws.open01()) as u32, CORE);
            } else {
                rig.serve();
            }
            let waiting = rig.queue.backlog().packets;
            assert!(rig.queue.state_size().records <= waiting as usize);
        }
        assert!(rig.drops.0.len() > 1000);
    }

    #[test]
    fn init_finish_counts_the_first_packet_of_a_core_flow() {
        let params = AfpftParams { init_finish: true, ..Default::default() };
        let mut rig = Rig::new(QueueLimit::Packets(10), &params);
        (0..3).for_each(|_| rig.offer(0, CORE));
        assert_eq!(rig.serve_all(), [(0, 0.0), (0, 1.0), (0, 2.0)]);
    }

    #[test]
    fn an_empty_queue_resets_virtual_time_and_all_flows() {
        let mut rig = Rig::packets(10);
        (0..4).for_each(|_| rig.offer(0, EDGE));
        assert_eq!(rig.serve_all().len(), 4); // and one call that finds an empty queue
        assert_eq!(rig.queue.state_size().records, 0);
        rig.offer(0, EDGE);
        assert_eq!(rig.serve(), Some((0, 0.0)));
        // The link is busy with this packet, so v and the flow's finish of 1 do not change.
        rig.offer(0, EDGE);
        assert_eq!(rig.serve(), Some((0, 1.0)));
    }

    #[test]
    fn a_full_queue_pushes_out_the_largest_tag_or_refuses_the_arrival() {
        let mut rig = Rig::packets(3);
        (0..4).for_each(|_| rig.offer(0, EDGE));
        rig.offer(1, EDGE);
        assert_eq!(rig.dropped(), [(0, 3.0, DropReason::Overlimit), (0, 2.0, DropReason::PushedOut)]);
        assert!(rig.drops.0.iter().all(|drop| drop.2.packets == 3));
        assert_eq!(rig.serve_all(), [(0, 0.0), (1, 0.0), (0, 1.0)]);
    }

    #[test]
    fn line_20_takes_a_dropped_packet_back_from_its_flow() {
        let next_tag = |correct_finish| {
            let params = AfpftParams { correct_finish, ..Default::default() };
            let mut rig = Rig::new(QueueLimit::Packets(2), &params);
            (0..5).for_each(|_| rig.offer(0, EDGE));
            rig.serve();
            rig.offer(0, EDGE);
            rig.serve();
            rig.serve().unwrap().1
        };
        assert_eq!(next_tag(true), 2.0); // tags 0, 1 queued; three dropped with tag 2
        assert_eq!(next_tag(false), 5.0); // dropped with tags 2, 3, 4
    }

    #[test]
    fn a_limit_in_bytes_may_cost_several_packets_and_a_giant_none_but_itself() {
        let mut rig = Rig::new(QueueLimit::Bytes(5000), &AfpftParams::default());
        (0..4).for_each(|_| rig.offer(0, EDGE));
        let mut offer = |wire_bytes| {
            let packet = TestPacket { flow: 1, label: EDGE, wire_bytes, ..Default::default() };
            rig.queue.enqueue(packet, Time::ZERO, &mut rig.rng, &mut rig.drops);
        };
        offer(5001);
        offer(2000);
        // 2000 bytes arrive at a full queue of 5000 bytes, so two packets of 1250 bytes are dropped.
        assert_eq!(
            rig.dropped(),
            [(1, -1.0, DropReason::Overlimit), (0, 3.0, DropReason::PushedOut), (0, 2.0, DropReason::PushedOut)]
        );
        assert_eq!(rig.queue.backlog(), Backlog { packets: 3, bytes: 4500 });
    }

    #[test]
    fn users_can_share_instead_of_flows() {
        let params = AfpftParams { share_per: FlowKey::User, ..Default::default() };
        let mut rig = Rig::new(QueueLimit::Packets(10), &params);
        (0..3).for_each(|flow| rig.offer(flow, EDGE)); // all of user 0
        assert_eq!(rig.serve_all(), [(0, 0.0), (1, 1.0), (2, 2.0)]);
    }

    #[test]
    fn records_of_the_edge_expire_without_an_idle_period() {
        let mut rig = Rig::packets(10);
        rig.offer(0, EDGE);
        for flow in 1..100_000 {
            rig.offer(flow, EDGE);
            rig.offer(flow, EDGE);
            rig.serve();
            rig.serve(); // never the last packet
        }
        assert!(rig.queue.state_size().records < 100, "{:?}", rig.queue.state_size());
        let readings = readings(|report| rig.queue.report(report));
        assert!(readings[0].0 == "virtual_time_s" && readings[0].1 > 0.0);
        assert_eq!(readings[1], ("flows", rig.queue.state_size().records as f64));
    }

    #[test]
    fn a_second_port_is_core() {
        let (mut first, mut second) = (Rig::packets(10), Rig::packets(10));
        for flow in [0, 0, 1] {
            first.offer(flow, EDGE);
        }
        // The first port wrote tags 0, 0 and 1. The second port does not act as edge, although 0 is the smallest tag.
        while let Some(packet) = first.queue.dequeue(Time::ZERO, &mut first.rng, &mut first.drops) {
            assert!(packet.label >= 0.0);
            second.queue.enqueue(packet, Time::ZERO, &mut second.rng, &mut second.drops);
        }
        assert_eq!(second.queue.state_size().records, 2);
        assert_eq!([second.serve(), second.serve()], [Some((0, 0.0)), Some((1, 0.0))]);
        assert_eq!(second.queue.state_size().records, 1); // an edge would keep the record of flow 1
        assert_eq!(second.serve(), Some((0, 0.0)));
        assert_eq!(second.queue.state_size().records, 0);
    }

    #[test]
    fn fig_2_on_one_port() {
        // afpft Fig. 2, scaled to one port and 50 kB: 20 flows of 0.5, 1, 1.5 or 2 Mbit/s share 20 Mbit/s. In ticks of
        // 1 ms they send 1, 2, 3 and 4 packets of 500 bit each, and the link serves 40 packets. The max-min shares are
        // 0.5, 1, 1.25 and 1.25 Mbit/s.
        let rates = |correct_finish| {
            let params = AfpftParams { correct_finish, ..Default::default() };
            let mut rig = Rig::new(QueueLimit::Packets(800), &params);
            let mut served = [0u32; 4];
            for tick in 0..8000u32 {
                for round in 0..4 {
                    // Rotates the flows, so that no flow is always first.
                    for flow in (0..20).map(|flow| (flow + tick) % 20).filter(|flow| flow / 5 >= round) {
                        rig.offer(flow, EDGE);
                    }
                }
                for _ in 0..40 {
                    let Some((flow, _)) = rig.serve() else { break };
                    served[flow as usize / 5] += u32::from(tick >= 4000);
                }
            }
            served.map(|count| f64::from(count) * 500.0 / 5.0 / 4.0 / 1e6)
        };
        let with = rates(true);
        assert!(with[2..].iter().all(|rate| (rate - 1.25).abs() < 0.0125), "{with:?}");
        let without = rates(false);
        assert!(without[2] > 1.45 && without[3] < 1.05, "{without:?}");
    }
}
