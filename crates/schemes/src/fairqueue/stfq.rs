//! STFQ (start-time fair queueing): serves packets in the order of their start tags, and thus flows in proportion to
//! their weights.
//!
//! Source: Goyal, Vin, Cheng, "Start-time Fair Queueing", SIGCOMM 1996 (stfq1996), as described in section II-A of the
//! AFpFT paper ([`crate::label::afpft`]). The authors call it SFQ; here that name means stochastic fairness queueing.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `S = max(v, F)`, F of the flow's previous packet | `StartTags::of` |
//! | (2) | `F = S + L/w` | `StartTags::of` |
//! | - | v = S of the packet in service; after a busy period the largest F served | `StartTags::served`, `StartTags::idle` |
//!
//! Virtual time counts bits per unit of weight; only ratios of weights matter.
//!
//! Cost: O(log n) comparisons per packet with n packets in the queue, and one table look-up. State: 17 bytes per flow
//! whose F is ahead of v, 24 bytes per packet for the order.
//!
//! Deviations:
//! 1. The paper has no limit of the queue. A full queue drops the packet with the largest start tag: the arrival or a
//!    waiting packet. The dropped packet's flow continues from this tag, as if the packet had never arrived.
//! 2. The rule for v after a busy period is from our memory of the paper. No share depends on it, since the end of a
//!    busy period resets all flows.
//! 3. A packet that is longer than the whole queue is dropped at once.

use crate::contract::prelude::*;
use crate::fairqueue::start_tags::StartTags;
use crate::queue::sorted_queue::{Sorted, SortedQueue};

params! {
    /// A port with start-time fair queueing.
    pub struct StfqParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "stfq1996";
    }
}

/// Registry entry of start-time fair queueing.
#[derive(Clone, Copy, Debug)]
pub struct StfqScheme;

impl SchemeSpec for StfqScheme {
    const ABOUT: About = About {
        title: "Start-time fair queueing",
        kind: "one queue sorted by start tag; pushes out the packet with the largest tag",
        summary: "Serves packets in the order in which a fair server would start them.",
        source: "Goyal, Vin, Cheng: Start-time Fair Queueing, SIGCOMM 1996",
        state: "port: 17 bytes for each active flow",
        flow_state: FlowState::Each,
        order: Order::Sorted,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = StfqParams;
    type Discipline<P: Packet> = StfqQueue<P>;

    fn build<P: Packet>(params: &StfqParams, port: &Port<'_>) -> StfqQueue<P> {
        StfqQueue::new(params, port.buffer, port.weights.clone())
    }
}

/// The queue of one port.
#[derive(Clone, Debug)]
pub struct StfqQueue<P> {
    queue: SortedQueue<P>,
    limit: QueueLimit,
    tags: StartTags,
}

impl<P: Packet> StfqQueue<P> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new(params: &StfqParams, buffer: &BufferParams, weights: Weights) -> Self {
        Self { queue: SortedQueue::default(), limit: buffer.limit, tags: StartTags::new(params.share_per, weights) }
    }
}

impl<P: Packet> QueueDiscipline<P> for StfqQueue<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = self.queue.backlog();
        if !Backlog::default().has_room_for(packet.wire_bytes(), self.limit) {
            return drops.dropped(&packet, DropReason::Overlimit, found);
        }
        let start = self.tags.of(&packet); // eq. (1) and (2)
        packet.set_enqueued_at(now);
        let arrival = self.queue.push(start, packet);
        while self.queue.backlog().exceeds(self.limit) {
            let Some(Sorted { packet, tag, arrival: number }) = self.queue.pop_back() else { break };
            self.tags.withdraw(&packet, tag);
            let reason = if number == arrival { DropReason::Overlimit } else { DropReason::PushedOut };
            drops.dropped(&packet, reason, found);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        let Some(Sorted { packet, tag, .. }) = self.queue.pop_front() else {
            self.tags.idle();
            return None;
        };
        self.tags.served(&packet, tag);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_size(&self) -> StateSize {
        StateSize { records: self.tags.flows(), bytes: size_of_val(self) + self.tags.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        report("virtual_time_bits", self.tags.virtual_time());
        report("flows", self.tags.flows() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairqueue::testing::{build, packet};
    use crate::testing::{Drops, TestPacket, readings};

    fn queue(limit: QueueLimit, weights: Weights) -> (StfqQueue<TestPacket>, Rng, Drops) {
        let (queue, rng) = build::<StfqScheme>(&StfqParams::default(), limit, &weights);
        (queue, rng, Drops::default())
    }

    #[test]
    fn equations_1_and_2_by_hand() {
        // Flow 0 has weight 2: 1000 bytes are 4000 virtual bits for it, and 8000 for flow 1.
        let (mut queue, mut rng, mut drops) = queue(QueueLimit::Packets(10), Weights::new([2.0, 1.0]));
        for flow in [0, 0, 0, 0, 1, 1] {
            queue.enqueue(packet(flow, 1000), Time::ZERO, &mut rng, &mut drops);
        }
        // Start tags: flow 0 has 0, 4000, 8000 and 12000; flow 1 has 0 and 8000. Among equal tags, the first arrival is
        // served first.
        let mut served = Vec::new();
        while let Some(packet) = queue.dequeue(Time::ZERO, &mut rng, &mut drops) {
            served.push((packet.flow, queue.tags.virtual_time()));
        }
        assert_eq!(served, [(0, 0.0), (1, 0.0), (0, 4000.0), (0, 8000.0), (1, 8000.0), (0, 12_000.0)]);
        // The busy period is over, so v is the largest finish tag, 16 000, and there are no records of flows.
        assert_eq!((queue.tags.virtual_time(), queue.state_size().records), (16_000.0, 0));
        queue.enqueue(packet(0, 1000), Time::ZERO, &mut rng, &mut drops);
        queue.enqueue(packet(1, 1000), Time::ZERO, &mut rng, &mut drops);
        assert_eq!(queue.queue.pop_back().map(|last| last.tag), Some(16_000.0));
    }

    #[test]
    fn backlogged_flows_share_by_weight_whatever_their_packets() {
        let (mut queue, mut rng, mut drops) = queue(QueueLimit::Packets(60), Weights::new([1.0, 2.0, 3.0]));
        let sizes = [1500, 300, 700];
        let mut served = [0u64; 3];
        for round in 0..12_000u32 {
            for flow in 0..3 {
                // The load is ten times the rate of the link, so all flows are backlogged.
                (0..10).for_each(|_| {
                    queue.enqueue(packet(flow, sizes[flow as usize]), Time::ZERO, &mut rng, &mut drops);
                });
            }
            let packet = queue.dequeue(Time::ZERO, &mut rng, &mut drops).unwrap();
            served[packet.flow as usize] += u64::from(round >= 1000) * u64::from(packet.wire_bytes);
        }
        let total: u64 = served.iter().sum();
        for (bytes, weight) in served.iter().zip([1.0, 2.0, 3.0]) {
            assert!((*bytes as f64 / total as f64 - weight / 6.0).abs() < 0.001, "{served:?}");
        }
    }

    #[test]
    fn a_dropped_packet_leaves_no_trace_in_its_flow() {
        let (mut queue, mut rng, mut drops) = queue(QueueLimit::Bytes(3000), Weights::equal());
        for flow in [0, 0, 0, 0, 1] {
            queue.enqueue(packet(flow, 1000), Time::ZERO, &mut rng, &mut drops);
        }
        queue.enqueue(packet(1, 3001), Time::ZERO, &mut rng, &mut drops);
        let dropped: Vec<_> = drops.0.iter().map(|&(packet, reason, _)| (packet.flow, reason)).collect();
        assert_eq!(dropped, [(0, DropReason::Overlimit), (0, DropReason::PushedOut), (1, DropReason::Overlimit)]);
        // Flow 0 has packets at 0 and 8000. The next starts at 16 000, as if the two dropped packets had never arrived.
        assert_eq!(queue.tags.of(&packet(0, 1000)), 16_000.0);
    }

    #[test]
    fn flows_that_fell_behind_virtual_time_are_forgotten() {
        let (mut queue, mut rng, mut drops) = queue(QueueLimit::Packets(10), Weights::equal());
        queue.enqueue(packet(0, 1000), Time::ZERO, &mut rng, &mut drops);
        for flow in 1..100_000 {
            queue.enqueue(packet(flow, 1000), Time::ZERO, &mut rng, &mut drops);
            queue.enqueue(packet(flow, 1000), Time::ZERO, &mut rng, &mut drops);
            queue.dequeue(Time::ZERO, &mut rng, &mut drops);
            queue.dequeue(Time::ZERO, &mut rng, &mut drops);
        }
        let flows = queue.state_size().records;
        assert!(flows < 100, "{flows}");
        // The two packets of a flow start at v, the start tag of the packet served last, and at v + 8000. One packet
        // always waits. So four packets have the same tag, and v grows by 8000 bits in four departures.
        assert_eq!(
            readings(|report| queue.report(report)),
            [("virtual_time_bits", queue.tags.virtual_time()), ("flows", flows as f64)]
        );
        assert_eq!(queue.backlog().packets, 1);
    }
}
