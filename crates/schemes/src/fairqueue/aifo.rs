//! AIFO: one FIFO queue that approximates a sorted queue by admitting packets whose rank is low among recent ranks.
//!
//! Source: Z. Yu, C. Hu, J. Wu, X. Sun, V. Braverman, M. Chowdhury, Z. Liu and X. Jin, "Programmable packet scheduling
//! with a single queue", SIGCOMM 2021. We did not have the paper; we follow its abstract and its authors' public
//! simulation and switch program (`netx-repo/AIFO`: `AIFOOutputPort.java`, `WFQAIFOOutputPort.java`, `aifo_switch`). C
//! is the limit of the queue, c its length, W the window of the last ranks, and r the rank of the arriving packet.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `W.quantile(r)`: fraction of W below r | [`RankWindow::quantile`] |
//! | (2) | admit if `c <= k C` or `W.quantile(r) <= (C - c)/C / (1 - k)` | `Aifo::admits` |
//! | (3) | every s-th arriving packet, admitted or not, enters W | [`RankWindow::arrived`] |
//!
//! The rank is the start tag of start-time fair queueing, (1) and (2) of [`crate::fairqueue::stfq`], as in the paper's
//! fairness experiment. Ranks can also be random, to measure how well AIFO approximates a sorted queue.
//!
//! Start tags grow with virtual time, so the window should not contain more ranks than there are waiting packets.
//! Otherwise the window is full of old tags, all below an arrival's tag. Then only the first part of rule (2) admits
//! packets, and the port is a drop-tail queue with limit k C.
//!
//! Cost: 20 comparisons and one flow look-up per packet, a second look-up per drop. State: 160 bytes for the window, 17
//! bytes per flow whose finish tag is ahead of virtual time.
//!
//! Deviations:
//! 1. Rule (2) uses `<=`. The second condition admits every rank while `c <= k C`, so the first is redundant. A comment
//!    in the Linux qdisc of the authors of [`super::scrr`] (`sch_aifo_stfq.c`) notes this. The authors' simulation uses
//!    `<` and tests the first condition.
//! 2. Virtual time is the largest start tag that was served, as in the qdisc. The simulation uses the tag of the last
//!    packet served, which may decrease. At the end of a busy period all flows are reset, as in `stfq`.
//! 3. A dropped packet does not advance its flow's tags, as in the simulation and the qdisc.
//! 4. Every packet is sampled by default, as in the authors' fairness experiment and on their switch. Other experiments
//!    and the qdisc sample one packet in 15; the qdisc samples only admitted packets.
//! 5. Classes have no effect.
//!
//! Not implemented: marks (the simulation's fairness experiment marks from 48 kB on).

use crate::contract::prelude::*;
use crate::fairqueue::drawn_ranks::RankSource;
use crate::fairqueue::rank_window::RankWindow;
use crate::fairqueue::ranked_port::{Placement, RankedPort};
use crate::fairqueue::ranked_queues::{QueueRoom, RankedQueues};

params! {
    /// One queue with admission by rank.
    pub struct AifoParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "WFQAIFOOutputPort.java";
        /// Rank by which packets are admitted.
        rank: RankSource = "start_tag", source "WFQAIFOOutputPort.java";
        /// Number of recent ranks with which an arriving packet's rank is compared.
        window: u32 = 20, in 1..=65536, symbol "|W|", source "window_size of the simulations";
        /// Sampling period: of this number of packets, one enters the window.
        sample_period: u32 = 1, in 1..=65536, symbol "s", source "sample_count: 1 for fairness, else 15";
        /// Fraction of the limit up to which every packet is admitted.
        headroom: f64 = 0.1, in 0.0..=0.999, symbol "k", source "k_value of the simulations";
    }
}

/// Registry entry of AIFO.
#[derive(Clone, Copy, Debug)]
pub struct AifoScheme;

impl SchemeSpec for AifoScheme {
    const ABOUT: About = About {
        title: "AIFO",
        kind: "one FIFO queue; drops arriving packets by rank and queue length",
        summary: "Admits a packet to a FIFO queue by its start tag's rank among recent tags: the fuller the queue, the \
                  lower the tag must be.",
        source: "Yu et al.: Programmable Packet Scheduling with a Single Queue, SIGCOMM 2021",
        state: "port: 20 ranks, 17 bytes for each active flow",
        flow_state: FlowState::Each,
        order: Order::Fifo,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = AifoParams;
    type Discipline<P: Packet> = RankedPort<P, Aifo>;

    fn build<P: Packet>(params: &AifoParams, port: &Port<'_>) -> RankedPort<P, Aifo> {
        RankedPort {
            queues: RankedQueues::new(1, QueueRoom::Shared, params.rank, params.share_per, port),
            placement: Aifo { window: RankWindow::new(params.window, params.sample_period), headroom: params.headroom },
        }
    }
}

/// Admission to the queue of one port.
#[derive(Clone, Debug)]
pub struct Aifo {
    window: RankWindow,
    headroom: f64,
}

impl Aifo {
    /// Returns true if rule (2) admits a packet; `used` is the used fraction of the queue.
    #[inline]
    fn admits(&self, rank: f64, used: f64) -> bool {
        used <= self.headroom || self.window.quantile(rank) <= (1.0 - used) / (1.0 - self.headroom)
    }
}

impl Placement for Aifo {
    #[inline]
    fn place<P: Packet>(&mut self, queues: &RankedQueues<P>, rank: f64, wire_bytes: u32) -> Result<u32, DropReason> {
        let admitted = self.admits(rank, queues.used_part());
        self.window.arrived(rank);
        if !admitted {
            Err(DropReason::Aqm)
        } else if !queues.has_room(0, wire_bytes) {
            Err(DropReason::Overlimit)
        } else {
            Ok(0)
        }
    }

    fn heap_bytes(&self) -> usize {
        self.window.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{build, limits, noise, offer, packet, serve, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket};
    use proptest::prelude::*;

    fn port(params: &AifoParams, limit: u32) -> (RankedPort<TestPacket, Aifo>, Rng) {
        build::<AifoScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    fn admits(port: &RankedPort<TestPacket, Aifo>, rank: f64) -> bool {
        port.placement.admits(rank, port.queues.used_part())
    }

    #[test]
    fn rule_2_by_hand() {
        let (mut queue, _) = port(&AifoParams { window: 4, headroom: 0.25, ..Default::default() }, 8);
        [10.0, 20.0, 30.0, 40.0].into_iter().for_each(|rank| queue.placement.window.arrived(rank));
        // With c packets, quantiles up to (8 - c)/8/0.75 are admitted: 1 up to c = 2, then 5/6, 2/3, 1/2, 1/3 and 1/6.
        // Ranks 15, 25, 35 and 45 have the quantiles 1/4, 1/2, 3/4 and 1.
        let last_admitted = [15.0, 25.0, 35.0, 45.0].map(|rank| {
            let (mut queue, mut last) = (queue.clone(), None);
            for length in 0..8 {
                last = if admits(&queue, rank) { Some(length) } else { last };
                queue.queues.accept(0, packet(0, 1500), 0.0, Time::ZERO);
            }
            last
        });
        assert_eq!(last_admitted, [Some(6), Some(5), Some(3), Some(2)]);
    }

    #[test]
    fn a_flow_that_is_ahead_is_dropped_and_one_that_is_behind_gets_in() {
        let (mut queue, mut rng) = port(&AifoParams { window: 10, ..Default::default() }, 20);
        // The limit C is 20 packets, k = 0.1, and c packets wait. The tags 0, 8000 and 16 000 are above the whole
        // window, but their packets are admitted because c <= k C = 2. Then the flow's next tag is 24 000. With c = 3,
        // quantiles up to 17/20/0.9 = 0.94 are admitted. The quantile of tag 24 000 is first 3 of 3, which exceeds
        // 0.94; then 3 of 4, which does not. With c = 4, quantiles up to 0.89 are admitted. Tag 32 000 is above all 5
        // entries of the window, so the last packet is dropped, too.
        let dropped = offer(&mut queue, &mut rng, 0, &[1000; 6]).0;
        assert_eq!(dropped.iter().map(|drop| drop.1).collect::<Vec<_>>(), [DropReason::Aqm, DropReason::Aqm]);
        let before = queue.backlog().packets;
        // Another flow starts at 0, below the window. It is admitted as long as its tags are below the window.
        assert_eq!(offer(&mut queue, &mut rng, 1, &[1000, 1000, 1000]).0.len(), 0);
        assert_eq!(queue.backlog().packets, before + 3);
        assert_eq!(serve(&mut queue, &mut rng, 3), [0, 0, 0]);
    }

    proptest! {
        /// Tests that an admitted packet would also be admitted with a lower rank or a shorter queue, and that the
        /// first k C packets are always admitted.
        #[test]
        fn admission_is_monotonic_in_rank_and_length(
            window in prop::collection::vec(0u8..50, 1..30), rank in 0u8..60, lower in 0u8..60, length in 0u32..20,
            headroom in prop::sample::select(vec![0.0, 0.1, 0.5, 0.9]),
        ) {
            let (mut queue, _) = port(&AifoParams { headroom, ..Default::default() }, 20);
            window.iter().for_each(|&rank| queue.placement.window.arrived(f64::from(rank)));
            let mut longer = queue.clone();
            (0..length).for_each(|_| queue.queues.accept(0, packet(0, 1500), 0.0, Time::ZERO));
            (0..=length).for_each(|_| longer.queues.accept(0, packet(0, 1500), 0.0, Time::ZERO));
            let (rank, lower) = (f64::from(rank), f64::from(lower.min(rank)));
            // Computes the quantile by its definition, from the last 20 ranks.
            let last = &window[window.len().saturating_sub(20)..];
            let below = last.iter().filter(|&&other| f64::from(other) < rank).count() as f64 / last.len() as f64;
            let (c, limit) = (f64::from(length), 20.0);
            prop_assert_eq!(admits(&queue, rank),
                c / limit <= headroom || below <= (1.0 - c / limit) / (1.0 - headroom));
            prop_assert!(!admits(&queue, rank) || admits(&queue, lower));
            prop_assert!(!admits(&longer, rank) || admits(&queue, rank));
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            window in 1u32..50,
            sample_period in 1u32..20,
            headroom in prop::sample::select(vec![0.0, 0.1, 0.999]),
            rank in prop::sample::select(RankSource::ALL),
        ) {
            let params = AifoParams { window, sample_period, headroom, rank, ..Default::default() };
            prop_assert!(survives(SchemeParams::Aifo(params), limit, &noise) == 0);
        }
    }

    #[test]
    fn an_empty_queue_takes_every_packet() {
        let (mut queue, mut rng) = port(&AifoParams { headroom: 0.0, ..Default::default() }, 1);
        for step in 0..100 {
            let mut drops = Drops::default();
            queue.enqueue(packet(step % 3, 1500), Time::ZERO, &mut rng, &mut drops);
            assert!(drops.0.is_empty());
            serve(&mut queue, &mut rng, 1);
        }
    }
}
