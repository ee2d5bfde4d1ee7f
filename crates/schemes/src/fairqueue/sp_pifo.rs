//! SP-PIFO: strict-priority queues that approximate a sorted queue. Each queue has a rank bound that follows the ranks
//! of its packets.
//!
//! Source: A. Gran Alcoz, A. Dietmüller and L. Vanbever, "SP-PIFO: approximating push-in first-out behaviors using
//! strict-priority queues", NSDI 2020. We follow its project page and its authors' public simulation
//! (`nsg-ethz/SP-PIFO`, `SPPIFOQueue.java`, `WFQSPPIFOQueue.java`), and did not have the paper. Queue 1 is served
//! first, queue n last. `q_i` is the bound of queue i, and r the rank of an arriving packet.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | queue: the largest i with `r >= q_i`, else queue 1 | `SpPifo::queue_for` |
//! | (2) | push-up, if stored: `q_i = r` | `SpPifo::adapt` |
//! | (3) | push-down, if stored in queue 1 with `r < q_1`: `q_i -= q_1 - r` for all i | `SpPifo::adapt` |
//! | (4) | a packet whose queue is full is dropped | `SpPifo::place` |
//! | (5) | serve the first non-empty queue | `RankedQueues::serve` |
//!
//! The rank is the start tag of start-time fair queueing, (1) and (2) of [`crate::fairqueue::stfq`], as in the paper's
//! fairness experiments: the port then approximates STFQ. Ranks can also be random, as in [`super::aifo`].
//!
//! A stored packet's rank is the bound of its queue until the queue's next arrival or a push-down. Between push-downs,
//! the ranks of successive arrivals at a queue therefore never fall, except at queue 1.
//!
//! Cost: at most n comparisons per packet, n subtractions per push-down, and one flow look-up. State: 72 bytes per
//! queue, 17 bytes per flow whose finish tag is ahead of virtual time.
//!
//! Deviations:
//! 1. Virtual time is the largest start tag that was served. The authors' simulation uses the tag of the last packet
//!    served, which may decrease; the Linux qdisc of the authors of [`super::scrr`] (`sch_sppifo_stfq.c`) never lets it
//!    decrease.
//! 2. At the end of a busy period all tags are reset, as in `stfq`; the simulation omits this.
//! 3. A dropped packet does not advance its flow's tags, as in the simulation but unlike in the qdisc.
//! 4. The limit of the port is split among the queues, as in the simulation and the qdisc; `room = "shared"` lets each
//!    queue fill the port. If the limit is below n packets, each queue holds one packet and the port enforces the
//!    limit.
//! 5. Tags are real numbers and depend on the weight of the user; the simulation has integers and equal weights.
//! 6. Classes have no effect.
//!
//! Not implemented: the greedy algorithm that the paper compares SP-PIFO with, which needs statistics of all ranks.

use crate::contract::prelude::*;
use crate::fairqueue::drawn_ranks::RankSource;
use crate::fairqueue::ranked_port::{Placement, RankedPort};
use crate::fairqueue::ranked_queues::{QueueRoom, RankedQueues};

choices! {
    /// Amount by which bounds decrease after a packet whose rank is below the bound of the first queue.
    pub enum PushDown {
        /// By the distance of the packet's rank from the bound of the first queue.
        Cost = "cost",
        /// By its rank.
        Rank = "rank",
        /// By one unit of rank.
        One = "one",
        /// To the bound of the previous queue.
        NextBound = "next_bound",
    }
}

params! {
    /// Strict-priority queues that approximate a sorted queue.
    pub struct SpPifoParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "WFQSPPIFOQueue.java";
        /// Rank by which packets are ordered.
        rank: RankSource = "start_tag", source "WFQSPPIFOQueue.java; LstfTcpSocket.java draws";
        /// Number of queues.
        queues: u32 = 8, in 1..=64, symbol "n", source "project page: as few as 8; simulations: 8 and 32";
        /// Amount by which bounds decrease after an inversion.
        push_down: PushDown = "cost", source "SPPIFOQueue.java, output_port_step_size";
        /// Division of the port's limit among the queues.
        room: QueueRoom = "split", source "SPPIFOQueue.java: 10 packets each";
    }
}

/// Registry entry of SP-PIFO.
#[derive(Clone, Copy, Debug)]
pub struct SpPifoScheme;

impl SchemeSpec for SpPifoScheme {
    const ABOUT: About = About {
        title: "SP-PIFO",
        kind: "strict-priority queues by rank; drops packets whose queue is full",
        summary: "Maps packets to a few priority queues by their start tags and adapts the bounds between the queues \
                  with each packet.",
        source: "Gran Alcoz, Dietmüller and Vanbever: SP-PIFO, NSDI 2020",
        state: "port: 8 bounds, 17 bytes for each active flow",
        flow_state: FlowState::Each,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    const REORDERS_FLOWS: bool = true;
    type Params = SpPifoParams;
    type Discipline<P: Packet> = RankedPort<P, SpPifo>;

    fn build<P: Packet>(params: &SpPifoParams, port: &Port<'_>) -> RankedPort<P, SpPifo> {
        RankedPort {
            queues: RankedQueues::new(params.queues, params.room, params.rank, params.share_per, port),
            placement: SpPifo { bounds: vec![0.0; params.queues as usize].into(), push_down: params.push_down },
        }
    }
}

/// The bounds of the queues of one port.
#[derive(Clone, Debug)]
pub struct SpPifo {
    /// `q_i`; index 0 is served first.
    bounds: Box<[f64]>,
    push_down: PushDown,
}

impl SpPifo {
    /// Applies rule (1).
    #[inline]
    fn queue_for(&self, rank: f64) -> usize {
        self.bounds.iter().rposition(|&bound| bound <= rank).unwrap_or(0)
    }

    /// Applies rules (2) and (3) after a packet of `rank` was stored in `queue`.
    #[inline]
    fn adapt(&mut self, queue: usize, rank: f64) {
        let cost = self.bounds[queue] - rank;
        self.bounds[queue] = rank;
        if cost <= 0.0 {
            return;
        }
        let (_, lower) = self.bounds.split_at_mut(1);
        match self.push_down {
            PushDown::Cost => lower.iter_mut().for_each(|bound| *bound -= cost),
            PushDown::Rank => lower.iter_mut().for_each(|bound| *bound -= rank),
            PushDown::One => lower.iter_mut().for_each(|bound| *bound -= 1.0),
            PushDown::NextBound => {
                let queues = self.bounds.len();
                self.bounds.copy_within(..queues - 1, 1);
            }
        }
    }
}

impl Placement for SpPifo {
    #[inline]
    fn place<P: Packet>(&mut self, queues: &RankedQueues<P>, rank: f64, wire_bytes: u32) -> Result<u32, DropReason> {
        let queue = self.queue_for(rank);
        if !queues.has_room(queue as u32, wire_bytes) {
            return Err(DropReason::Overlimit); // rule (4)
        }
        self.adapt(queue, rank);
        Ok(queue as u32)
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{assert_max_min, build, drain, limits, noise, offer, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::TestPacket;
    use proptest::prelude::*;

    fn port(params: &SpPifoParams, limit: u32) -> (RankedPort<TestPacket, SpPifo>, Rng) {
        build::<SpPifoScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    /// Stores packets of these ranks. Returns their queues.
    fn store(queue: &mut RankedPort<TestPacket, SpPifo>, ranks: &[f64]) -> Vec<usize> {
        let store = |&rank: &f64| {
            let at = queue.placement.queue_for(rank);
            queue.placement.adapt(at, rank);
            at
        };
        ranks.iter().map(store).collect()
    }

    #[test]
    fn bounds_are_pushed_up_and_down_by_hand() {
        let (mut queue, _) = port(&SpPifoParams { queues: 3, ..Default::default() }, 24);
        // All bounds are 0. Rank 7 enters the last queue and becomes its bound. Rank 4 enters the queue before it, and
        // ranks 2 and 3 the first queue.
        assert_eq!(store(&mut queue, &[7.0, 4.0, 2.0, 3.0]), [2, 1, 0, 0]);
        assert_eq!(*queue.placement.bounds, [3.0, 4.0, 7.0]);
        // Rank 1 is below the first bound by 2, so all bounds decrease by 2.
        assert_eq!(store(&mut queue, &[1.0]), [0]);
        assert_eq!(*queue.placement.bounds, [1.0, 2.0, 5.0]);
        assert_eq!(store(&mut queue, &[4.5, 6.0]), [1, 2]);
        assert_eq!(*queue.placement.bounds, [1.0, 4.5, 6.0]);
    }

    #[test]
    fn the_ways_to_push_down_lower_the_later_bounds() {
        let ways = [
            (PushDown::Cost, [1.0, 3.0, 6.0]),
            (PushDown::Rank, [1.0, 3.0, 6.0]),
            (PushDown::One, [1.0, 3.0, 6.0]),
            (PushDown::NextBound, [1.0, 1.0, 4.0]),
        ];
        for (push_down, expected) in ways {
            let (mut queue, _) = port(&SpPifoParams { queues: 3, push_down, ..Default::default() }, 24);
            store(&mut queue, &[7.0, 4.0, 2.0, 1.0]);
            assert_eq!(*queue.placement.bounds, expected, "{push_down:?}");
        }
        // Rank 2 is below a first bound of 6, so bounds decrease by 4, by 2, or by 1.
        for (push_down, second) in [(PushDown::Cost, 4.0), (PushDown::Rank, 6.0), (PushDown::One, 7.0)] {
            let (mut queue, _) = port(&SpPifoParams { queues: 2, push_down, ..Default::default() }, 24);
            store(&mut queue, &[8.0, 6.0, 2.0]);
            assert_eq!(*queue.placement.bounds, [2.0, second], "{push_down:?}");
        }
    }

    #[test]
    fn a_queue_that_is_full_drops_and_moves_no_bound() {
        let (mut queue, mut rng) = port(&SpPifoParams { queues: 2, ..Default::default() }, 4);
        // Start tags of flow 0 are 0, 8000 and 16 000, all at or above the last bound. The last queue has room for two
        // packets.
        let drops = offer(&mut queue, &mut rng, 0, &[1000, 1000, 1000]);
        assert_eq!(drops.0.len(), 1);
        assert_eq!(*queue.placement.bounds, [0.0, 8000.0]);
        // Flow 1 starts at 0, in the first queue, so it is served first.
        assert_eq!(offer(&mut queue, &mut rng, 1, &[700]).0.len(), 0);
        assert_eq!(drain(&mut queue, &mut rng), [(1, 700), (0, 1000), (0, 1000)]);
        // With a shared limit the third packet is stored.
        let (mut queue, mut rng) = port(&SpPifoParams { queues: 2, room: QueueRoom::Shared, ..Default::default() }, 4);
        assert_eq!(offer(&mut queue, &mut rng, 0, &[1000, 1000, 1000, 1000, 1000]).0.len(), 1);
    }

    #[test]
    fn one_queue_is_first_in_first_out() {
        let (mut queue, mut rng) = port(&SpPifoParams { queues: 1, ..Default::default() }, 10);
        for flow in [0, 0, 0, 1, 2] {
            offer(&mut queue, &mut rng, flow, &[1000]);
        }
        assert_eq!(drain(&mut queue, &mut rng).iter().map(|served| served.0).collect::<Vec<_>>(), [0, 0, 0, 1, 2]);
    }

    #[test]
    fn shares_are_close_to_those_of_a_sorted_queue() {
        assert_max_min::<SpPifoScheme>(&SpPifoParams::default(), 80, [1.0, 1.0, 1.0], 0.1);
    }

    proptest! {
        /// Tests that bounds never decrease from the first queue to the last. So of two consecutive arrivals, the one
        /// of higher rank does not enter an earlier queue.
        #[test]
        fn bounds_rise_from_the_first_queue_to_the_last(
            queues in 1u32..20, ranks in prop::collection::vec(0u32..100, 1..300),
        ) {
            let (mut queue, _) = port(&SpPifoParams { queues, ..Default::default() }, 24);
            for rank in ranks.into_iter().map(f64::from) {
                let (at, before) = (queue.placement.queue_for(rank), queue.placement.bounds.clone());
                store(&mut queue, &[rank]);
                prop_assert!(queue.placement.bounds.is_sorted(), "{:?}", queue.placement.bounds);
                prop_assert_eq!(queue.placement.bounds[at], rank);
                if before[0] <= rank {
                    // A push-up moves one bound, and only upwards.
                    let moved: Vec<_> = (0..before.len()).filter(|&i| queue.placement.bounds[i] != before[i]).collect();
                    prop_assert!(moved.is_empty() || moved == [at]);
                    prop_assert!(before[at] <= rank);
                } else {
                    // A push-down keeps the distances between all bounds.
                    let moved_by: Vec<_> = (0..before.len()).map(|i| before[i] - queue.placement.bounds[i]).collect();
                    prop_assert_eq!(at, 0);
                    prop_assert!(moved_by.iter().all(|by| *by == before[0] - rank));
                }
            }
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            queues in 1u32..=64,
            push_down in prop::sample::select(PushDown::ALL),
            room in prop::sample::select(QueueRoom::ALL),
            rank in prop::sample::select(RankSource::ALL),
        ) {
            let params = SpPifoParams { queues, push_down, room, rank, ..Default::default() };
            prop_assert!(survives(SchemeParams::SpPifo(params), limit, &noise) == 0);
        }
    }
}
