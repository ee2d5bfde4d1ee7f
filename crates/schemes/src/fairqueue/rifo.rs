//! RIFO: one FIFO queue that admits a packet by the position of its rank between the lowest and the highest recent
//! rank.
//!
//! Source: H. Mostafaei, M. Pacut and S. Schmid, "RIFO: pushing the efficiency of programmable packet schedulers", IEEE
//! Transactions on Networking 2025 (arXiv 2308.07442). We follow its abstract and its authors' public switch program
//! and simulation (`mostafaei/RIFO`: `rifo.p4`, `RIFOOutputPort.java`), and did not have the rest of the paper. C is
//! the limit of the queue, c its length, and r the rank of the arriving packet.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | every packet: `Min = min(Min, r)`, `Max = max(Max, r)`; every T-th packet: `Min = Max = r` | `RankRange::arrived` |
//! | (2) | admit if `c <= k C` or `(Max - r)/(Max - Min) >= c/C` | `Rifo::admits` |
//!
//! Min, Max and a counter replace the window of [`crate::fairqueue::aifo`]. One packet of an extreme rank widens the
//! range until the next reset.
//!
//! The rank is the start tag of start-time fair queueing: see rules (1) and (2) of [`crate::fairqueue::stfq`]. Ranks
//! can also be random, as in [`super::aifo`].
//!
//! Cost: O(1) and one flow look-up per packet, and a second look-up per drop. State: 24 bytes for the range, 17 bytes
//! per flow whose finish tag is ahead of virtual time.
//!
//! Deviations:
//! 1. Rule (2) is that of the switch program, which uses powers of two for c and has no k C. The simulation compares
//!    the fraction of ranks with the free part of the queue instead, so it admits more ranks the fuller the queue is.
//!    We consider this an error.
//! 2. Rule (2) is computed without the division. If Min equals Max the rank is admitted, as on the switch; the
//!    simulation divides by 0.
//! 3. Virtual time is the largest start tag that was served, and at the end of a busy period all flows are reset. A
//!    dropped packet does not advance its flow's tags, as in the simulation.
//! 4. Classes have no effect.

use crate::contract::prelude::*;
use crate::fairqueue::drawn_ranks::RankSource;
use crate::fairqueue::ranked_port::{Placement, RankedPort};
use crate::fairqueue::ranked_queues::{QueueRoom, RankedQueues};

params! {
    /// A FIFO queue with admission by the range of ranks.
    pub struct RifoParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "WFQRIFOOutputPort.java";
        /// Rank by which packets are admitted.
        rank: RankSource = "start_tag", source "WFQRIFOOutputPort.java";
        /// Number of packets after which the range of ranks is reset.
        reset_after: u32 = 150, in 1..=1000000, symbol "T", source "sample_count of the simulations: 150 and 15";
        /// Fraction of the limit up to which every packet is admitted.
        guaranteed: f64 = 0.1, in 0.0..=0.999, symbol "k", source "k_value of the simulations";
    }
}

/// Registry entry of RIFO.
#[derive(Clone, Copy, Debug)]
pub struct RifoScheme;

impl SchemeSpec for RifoScheme {
    const ABOUT: About = About {
        title: "RIFO",
        kind: "one FIFO queue; drops the arriving packet, depending on the range of ranks and the queue length",
        summary: "Admits a packet to a FIFO queue by its start tag's position between the extremes of recent tags: the \
                  fuller the queue, the lower the tag must be.",
        source: "Mostafaei, Pacut and Schmid: RIFO, IEEE Transactions on Networking 2025",
        state: "port: 3 numbers, 17 bytes for each active flow",
        flow_state: FlowState::Each,
        order: Order::Fifo,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = RifoParams;
    type Discipline<P: Packet> = RankedPort<P, Rifo>;

    fn build<P: Packet>(params: &RifoParams, port: &Port<'_>) -> RankedPort<P, Rifo> {
        RankedPort {
            queues: RankedQueues::new(1, QueueRoom::Shared, params.rank, params.share_per, port),
            placement: Rifo {
                range: RankRange { min: 0.0, max: 0.0, packets: 0, reset_after: params.reset_after },
                guaranteed: params.guaranteed,
            },
        }
    }
}

/// Minimum and maximum rank since the last reset.
#[derive(Clone, Debug)]
struct RankRange {
    min: f64,
    max: f64,
    /// Number of packets since the last reset.
    packets: u32,
    reset_after: u32,
}

impl RankRange {
    /// Applies rule (1).
    #[inline]
    fn arrived(&mut self, rank: f64) {
        if self.packets == 0 {
            (self.min, self.max) = (rank, rank);
        } else {
            (self.min, self.max) = (self.min.min(rank), self.max.max(rank));
        }
        self.packets = (self.packets + 1) % self.reset_after;
    }
}

/// Admission to the queue of one port.
#[derive(Clone, Debug)]
pub struct Rifo {
    range: RankRange,
    guaranteed: f64,
}

impl Rifo {
    /// Returns true if rule (2) admits the packet. `used` is the used fraction of the queue.
    #[inline]
    fn admits(&self, rank: f64, used: f64) -> bool {
        let RankRange { min, max, .. } = self.range;
        used <= self.guaranteed || max - rank >= used * (max - min)
    }
}

impl Placement for Rifo {
    #[inline]
    fn place<P: Packet>(&mut self, queues: &RankedQueues<P>, rank: f64, wire_bytes: u32) -> Result<u32, DropReason> {
        self.range.arrived(rank);
        if queues.is_full_for(wire_bytes) {
            Err(DropReason::Overlimit)
        } else if self.admits(rank, queues.used_part()) {
            Ok(0)
        } else {
            Err(DropReason::Aqm)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{build, limits, noise, packet, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::TestPacket;
    use proptest::prelude::*;

    fn port(params: &RifoParams, limit: u32) -> (RankedPort<TestPacket, Rifo>, Rng) {
        build::<RifoScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    fn admits(port: &RankedPort<TestPacket, Rifo>, rank: f64) -> bool {
        port.placement.admits(rank, port.queues.used_part())
    }

    #[test]
    fn rule_2_by_hand() {
        let (mut queue, _) = port(&RifoParams { guaranteed: 0.25, ..Default::default() }, 8);
        [30.0, 10.0, 50.0, 20.0].into_iter().for_each(|rank| queue.placement.range.arrived(rank));
        // With minimum 10 and maximum 50, ranks 10, 20, 35 and 50 have 1, 3/4, 3/8 and 0 of the range above them. All
        // ranks are admitted up to c = 2. With more packets, a rank is admitted if at least c/8 of the range is above
        // it.
        let last_admitted = [10.0, 20.0, 35.0, 50.0].map(|rank| {
            let (mut queue, mut last) = (queue.clone(), None);
            for length in 0..8 {
                last = if admits(&queue, rank) { Some(length) } else { last };
                queue.queues.accept(0, packet(0, 1500), 0.0, Time::ZERO);
            }
            last
        });
        assert_eq!(last_admitted, [Some(7), Some(6), Some(3), Some(2)]);
    }

    #[test]
    fn the_range_starts_anew_after_t_packets() {
        let (mut queue, _) = port(&RifoParams { reset_after: 3, ..Default::default() }, 8);
        let ranges = [5.0, 1.0, 9.0, 7.0, 8.0].map(|rank| {
            queue.placement.range.arrived(rank);
            (queue.placement.range.min, queue.placement.range.max)
        });
        assert_eq!(ranges, [(5.0, 5.0), (1.0, 5.0), (1.0, 9.0), (7.0, 7.0), (7.0, 8.0)]);
    }

    proptest! {
        /// An admitted packet would also be admitted with a lower rank. The lowest rank is always admitted, and so is
        /// the highest if all ranks are equal.
        #[test]
        fn lower_ranks_are_let_in_first(
            ranks in prop::collection::vec(0u8..50, 1..30), rank in 0u8..60, lower in 0u8..60, length in 0u32..20,
        ) {
            let (mut queue, _) = port(&RifoParams::default(), 20);
            ranks.iter().for_each(|&rank| queue.placement.range.arrived(f64::from(rank)));
            (0..length).for_each(|_| queue.queues.accept(0, packet(0, 1500), 0.0, Time::ZERO));
            prop_assert!(!admits(&queue, f64::from(rank)) || admits(&queue, f64::from(lower.min(rank))));
            prop_assert!(admits(&queue, queue.placement.range.min));
            prop_assert_eq!(admits(&queue, queue.placement.range.max),
                length <= 2 || queue.placement.range.min == queue.placement.range.max);
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            reset_after in 1u32..50,
            guaranteed in prop::sample::select(vec![0.0, 0.1, 0.999]),
            rank in prop::sample::select(RankSource::ALL),
        ) {
            let params = RifoParams { reset_after, guaranteed, rank, ..Default::default() };
            prop_assert!(survives(SchemeParams::Rifo(params), limit, &noise) == 0);
        }
    }
}
