//! PACKS: strict-priority queues that approximate the order and the drops of a sorted queue. The quantile of a packet's
//! rank and the free space select its queue.
//!
//! Source: A. Gran Alcoz, B. Vass, P. Namyar, B. Arzani, G. Rétvári and L. Vanbever, "Everything matters in
//! programmable packet scheduling", NSDI 2025. We follow its abstract, the abstract of its preprint (arXiv 2308.00797)
//! and a public summary by others, without the paper and its code.
//!
//! Of n queues, queue 1 is served first. Queue i has the size `B_i` and the length `b_i`; B is the sum of all `B_i`. W
//! is the window of the last ranks, and r the rank of the arriving packet.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | the rank of every arriving packet enters W | [`RankWindow::arrived`] |
//! | (2) | queue: the first i with `W.quantile(r) <= sum over j <= i of (B_j - b_j) / B / (1 - k)` and room for the packet | `Packs::queue_for` |
//! | (3) | no such queue: drop | `Packs::place` |
//! | (4) | serve the first non-empty queue | `RankedQueues::serve` |
//!
//! With one queue PACKS equals [`crate::fairqueue::aifo`] with every packet sampled, except for the order of (1) and
//! (2).
//!
//! The rank is the start tag of start-time fair queueing, (1) and (2) of [`crate::fairqueue::stfq`]. Ranks can also be
//! random, as in [`super::aifo`]. As in AIFO, the window should not contain more start tags than there are waiting
//! packets, since older tags are outdated.
//!
//! Cost: 20 comparisons, n sums and one flow look-up per packet, a second look-up per drop. State: 160 bytes for the
//! window, 64 bytes per queue, 17 bytes per flow whose finish tag is ahead of virtual time.
//!
//! Deviations:
//! 1. The window has 20 ranks, as in AIFO; the summary mentions simulations with 15 to 1000 ranks and a switch with 16.
//!    A longer window would hold outdated start tags.
//! 2. k is 0 by default: the summary calls it optional and gives no value.
//! 3. The limit of the port is split among the queues by the default rule of [`super::sp_pifo`], deviation 4.
//! 4. Virtual time is the largest start tag that was served, and at the end of a busy period all tags are reset.
//! 5. Classes have no effect.

use crate::contract::prelude::*;
use crate::fairqueue::drawn_ranks::RankSource;
use crate::fairqueue::rank_window::RankWindow;
use crate::fairqueue::ranked_port::{Placement, RankedPort};
use crate::fairqueue::ranked_queues::{QueueRoom, RankedQueues};

params! {
    /// Strict-priority queues selected by the quantile of a packet's rank.
    pub struct PacksParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "our choice, as for AIFO and SP-PIFO";
        /// Rank by which packets are ordered.
        rank: RankSource = "start_tag", source "our choice, as for AIFO and SP-PIFO";
        /// Number of queues.
        queues: u32 = 8, in 1..=64, symbol "n", source "our choice, as for SP-PIFO";
        /// Number of recent ranks with which an arriving packet's rank is compared.
        window: u32 = 20, in 1..=65536, symbol "|W|", source "our choice, as for AIFO; summary: 15 to 1000";
        /// Burst allowance: admission divides the free part of the buffer by `1 - burstiness`.
        burstiness: f64 = 0.0, in 0.0..=0.999, symbol "k", source "our choice; summary: optional";
    }
}

/// Registry entry of PACKS.
#[derive(Clone, Copy, Debug)]
pub struct PacksScheme;

impl SchemeSpec for PacksScheme {
    const ABOUT: About = About {
        title: "PACKS",
        kind: "strict-priority queues by rank; drops arrivals by rank and free space",
        summary: "Puts a packet into the first priority queue with enough free room for all recent start tags below \
                  its own, or drops it.",
        source: "Gran Alcoz et al.: Everything Matters in Programmable Packet Scheduling, NSDI 2025",
        state: "port: 20 ranks, 8 queues, 17 bytes for each active flow",
        flow_state: FlowState::Each,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    const REORDERS_FLOWS: bool = true;
    type Params = PacksParams;
    type Discipline<P: Packet> = RankedPort<P, Packs>;

    fn build<P: Packet>(params: &PacksParams, port: &Port<'_>) -> RankedPort<P, Packs> {
        RankedPort {
            queues: RankedQueues::new(params.queues, QueueRoom::Split, params.rank, params.share_per, port),
            placement: Packs {
                window: RankWindow::new(params.window, 1),
                count: params.queues,
                burstiness: params.burstiness,
            },
        }
    }
}

/// Admission of packets to the queues of one port.
#[derive(Clone, Debug)]
pub struct Packs {
    window: RankWindow,
    count: u32,
    burstiness: f64,
}

impl Packs {
    /// Applies rule (2).
    #[inline]
    fn queue_for<P: Packet>(&self, queues: &RankedQueues<P>, rank: f64, wire_bytes: u32) -> Option<u32> {
        // All queues have the same size. With this size as the unit, B is the number of queues.
        let needed = self.window.quantile(rank) * (1.0 - self.burstiness) * f64::from(self.count);
        let mut free = 0.0;
        (0..self.count).find(|&queue| {
            free += queues.free_part(queue);
            needed <= free && queues.has_room(queue, wire_bytes)
        })
    }
}

impl Placement for Packs {
    #[inline]
    fn place<P: Packet>(&mut self, queues: &RankedQueues<P>, rank: f64, wire_bytes: u32) -> Result<u32, DropReason> {
        self.window.arrived(rank);
        self.queue_for(queues, rank, wire_bytes).ok_or_else(|| {
            if queues.is_full_for(wire_bytes) { DropReason::Overlimit } else { DropReason::Aqm } // rule (3)
        })
    }

    fn heap_bytes(&self) -> usize {
        self.window.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{assert_max_min, build, limits, noise, packet, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::TestPacket;
    use proptest::prelude::*;

    fn port(params: &PacksParams, limit: u32) -> (RankedPort<TestPacket, Packs>, Rng) {
        build::<PacksScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    fn queue_for(port: &RankedPort<TestPacket, Packs>, rank: f64) -> Option<u32> {
        port.placement.queue_for(&port.queues, rank, 1500)
    }

    #[test]
    fn rule_2_by_hand() {
        let (mut queue, _) = port(&PacksParams { queues: 2, window: 4, ..Default::default() }, 8);
        [10.0, 20.0, 30.0, 40.0].into_iter().for_each(|rank| queue.placement.window.arrived(rank));
        // The port is empty, so 4/8 of the buffer is free in the first queue. Ranks 15 and 25, at quantiles 1/4 and
        // 1/2, enter this queue; 35 and 45 enter the last one.
        let queues = |port: &RankedPort<TestPacket, Packs>| [15.0, 25.0, 35.0, 45.0].map(|rank| queue_for(port, rank));
        assert_eq!(queues(&queue), [Some(0), Some(0), Some(1), Some(1)]);
        // Two packets are in the first queue. 2/8 of the buffer is free there, 6/8 in total.
        (0..2).for_each(|_| queue.queues.accept(0, packet(0, 1500), 0.0, Time::ZERO));
        assert_eq!(queues(&queue), [Some(0), Some(1), Some(1), None]);
        // The first queue is full, so its packets enter the second queue, which has one packet. 3/8 of the buffer is
        // free in total.
        (0..2).for_each(|_| queue.queues.accept(0, packet(0, 1500), 0.0, Time::ZERO));
        queue.queues.accept(1, packet(0, 1500), 0.0, Time::ZERO);
        assert_eq!(queues(&queue), [Some(1), None, None, None]);
        // k = 1/2 doubles the free part in rule (2), to 6/8.
        queue.placement.burstiness = 0.5;
        assert_eq!(queues(&queue), [Some(1), Some(1), Some(1), None]);
    }

    #[test]
    fn shares_are_close_to_those_of_a_sorted_queue() {
        assert_max_min::<PacksScheme>(&PacksParams::default(), 80, [1.0, 1.0, 1.0], 0.1);
    }

    proptest! {
        /// Tests two packets at the same port state. The one with the lower rank enters the same or an earlier queue,
        /// and is not dropped if the other is admitted.
        #[test]
        fn lower_ranks_go_first(
            window in prop::collection::vec(0u8..50, 1..30), rank in 0u8..60, lower in 0u8..60,
            waiting in prop::collection::vec(0u32..4, 0..24), queues in 1u32..5,
        ) {
            let (mut queue, _) = port(&PacksParams { queues, ..Default::default() }, 24);
            window.iter().for_each(|&rank| queue.placement.window.arrived(f64::from(rank)));
            for at in waiting {
                if queue.queues.has_room(at % queues, 1500) {
                    queue.queues.accept(at % queues, packet(0, 1500), 0.0, Time::ZERO);
                }
            }
            let [of_rank, of_lower] = [rank, lower.min(rank)].map(|rank| queue_for(&queue, f64::from(rank)));
            prop_assert!(of_rank.is_none() || of_lower.is_some_and(|lower| Some(lower) <= of_rank));
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            queues in 1u32..=64,
            window in 1u32..50,
            burstiness in prop::sample::select(vec![0.0, 0.1, 0.999]),
            rank in prop::sample::select(RankSource::ALL),
        ) {
            let params = PacksParams { queues, window, burstiness, rank, ..Default::default() };
            prop_assert!(survives(SchemeParams::Packs(params), limit, &noise) == 0);
        }
    }
}
