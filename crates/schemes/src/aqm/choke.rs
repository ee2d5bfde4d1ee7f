//! CHOKe: compares an arrival with packets drawn from the queue, and drops both if they belong to the same flow.
//!
//! Source: Pan, Prabhakar and Psounis, "CHOKe: A Stateless Active Queue Management Scheme for Approximating Fair
//! Bandwidth Allocation", IEEE INFOCOM 2000; the self-adjusting variant follows section 4 of the AFC paper (see
//! [`super::afc`]).
//!
//! | average queue of RED | rule | code |
//! |---|---|---|
//! | up to `min_th` | enqueue | `SampledQueue::enqueue` |
//! | above | draw packets; those of the arrival's flow are dropped, and the arrival with them | `Choke::drops_early` |
//! | above, no match | RED decides, see [`super::red`] | `RedCore::decide` |
//!
//! Basic CHOKe draws `draws` packets. Self-adjusting CHOKe divides the range between `min_th` and `max_th` into k equal
//! regions. It draws 2i packets if the average is in the i-th region, `i = clamp(ceil(k (avg - min_th) / (max_th -
//! min_th)), 1, k)`. Above `max_th`, where the AFC paper defines no region, it draws `draws_beyond` packets.
//!
//! Packets are in an array without gaps, linked in the order of arrival (`RandomAccessFifo`). A draw selects a random
//! index. A removal moves the last element of the array into the gap. Draws and removals are O(1) in the worst case.
//!
//! Cost: as RED, plus one random number and one comparison per drawn packet. State: as RED, none per flow.
//!
//! Deviations:
//! 1. Every drawn packet that matches is dropped, not only the first. A packet that is not dropped may be drawn again.
//! 2. Any waiting packet can be drawn, including the head. One waiting packet is enough for a draw.
//! 3. A drop of the arrival for any reason restarts RED's count.
//! 4. Above `max_th` RED's gentle mode decides unless `gentle` is false; the paper drops every arrival.
//! 5. For self-adjusting CHOKe, the AFC paper does not specify the draws above `max_th`. Five heavy sources keep the
//!    average queue above it. One draw (`draws_beyond`), as in basic CHOKe and Linux, matches that paper's results with
//!    several unresponsive flows. It was chosen for this, so these results do not test it.
//!
//! Not implemented: ECN; classes (all packets share one FIFO).

use super::red_core::{RedCore, RedDecision, RedParams, RedProfile};
use super::sampled_queue::{SampledQueue, Sampler};
use super::with_red::RedPartParams;
use crate::contract::prelude::*;
use crate::queue::random_access_fifo::RandomAccessFifo;

params! {
    /// CHOKe, in front of RED.
    pub struct ChokeParams {
        /// Packets drawn for each arrival, unless `self_adjusting` is true.
        draws: u32 = 1, in 1..=1000, source "CHOKe; afc 4 for one heavy flow";
        /// Increases the number of draws with the average queue.
        self_adjusting: bool = false, source "afc 4: for five heavy flows";
        /// Regions between the thresholds, for `self_adjusting`.
        regions: u32 = 8, in 1..=1000, symbol "k", source "afc 4";
        /// Packets drawn above `max_th`, for `self_adjusting`.
        draws_beyond: u32 = 1, in 0..=1000, source "CHOKe: one draw; afc names none, its Table 1 agrees";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "CHOKe";
        /// Implementation of RED whose rules apply.
        profile: RedProfile = "ns", source "ns-2; Linux red.h";
        with red: RedPartParams;
    }
}

/// Registry entry of CHOKe.
#[derive(Clone, Copy, Debug)]
pub struct ChokeScheme;

impl SchemeSpec for ChokeScheme {
    const ABOUT: About = About {
        title: "CHOKe",
        kind: "one queue with random access; drops the arriving packet and waiting packets",
        summary: "Compares an arrival with packets drawn from the queue and drops both if they belong to the same \
                  flow; RED decides on the other packets.",
        source: "Pan, Prabhakar, Psounis: CHOKe: A Stateless Active Queue Management Scheme for Approximating Fair \
                 Bandwidth Allocation, IEEE INFOCOM 2000",
        state: "port: the state of RED; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = ChokeParams;
    type Discipline<P: Packet> = SampledQueue<P, Choke>;

    fn check(params: &Self::Params, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        params.red.check(buffer.limit, table)
    }

    fn build<P: Packet>(params: &Self::Params, port: &Port<'_>) -> Self::Discipline<P> {
        let sampler = Choke {
            draws: params.draws,
            regions: params.self_adjusting.then_some((params.regions, params.draws_beyond)),
            share_per: params.share_per,
            matches: 0,
        };
        let red = RedParams { profile: params.profile, ..params.red.settings(port.buffer.limit) };
        SampledQueue::new(sampler, red, port.buffer.limit, port.rate)
    }
}

/// CHOKe at one port.
#[derive(Clone, Debug)]
pub struct Choke {
    draws: u32,
    /// k and the draws above max_th, for the self-adjusting variant.
    regions: Option<(u32, u32)>,
    share_per: FlowKey,
    matches: u64,
}

impl Choke {
    /// Number of packets compared with an arrival, if the average is above `min_th`.
    fn draws(&self, red: &RedCore) -> u32 {
        let Some((regions, beyond)) = self.regions else { return self.draws };
        if red.average() > red.max_th() {
            return beyond;
        }
        let k = f64::from(regions);
        let above = (red.average() - red.min_th()) / (red.max_th() - red.min_th());
        2 * (k * above).ceil().clamp(1.0, k) as u32
    }
}

impl Sampler for Choke {
    /// Drops the drawn packets of the arrival's flow.
    fn drops_early<P: Packet>(
        &mut self,
        (packet, _): (&P, Time),
        queue: &mut RandomAccessFifo<P>,
        red: &mut RedCore,
        rng: &mut Rng,
        drops: &mut impl DropSink<P>,
    ) -> bool {
        let (found, flow, matches_before) = (queue.backlog(), self.share_per.of(packet), self.matches);
        let draws = if red.average() > red.min_th() { self.draws(red) } else { 0 };
        for _ in 0..draws {
            let Some(position) = queue.draw(rng) else { break };
            if self.share_per.of(queue.at(position)) == flow {
                let backlog = queue.backlog();
                drops.dropped(&queue.remove(position), DropReason::Aqm, backlog);
                self.matches += 1;
            }
        }
        if self.matches > matches_before {
            red.restart();
            return true;
        }
        red.decide(found, packet.wire_bytes(), rng) != RedDecision::Pass
    }

    fn report(&self, report: Report<'_>) {
        report("matches", self.matches as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairqueue::testing::{build, drain, offer};
    use crate::testing::{Drops, TestPacket, readings};

    fn port(params: &ChokeParams) -> SampledQueue<TestPacket, Choke> {
        build::<ChokeScheme>(params, QueueLimit::Packets(24), &Weights::equal()).0
    }

    /// Returns CHOKe with thresholds of 4 and 12 packets and a limit of 24. The average equals the queue, and RED is
    /// practically inactive.
    fn choke(own: ChokeParams) -> SampledQueue<TestPacket, Choke> {
        let red = RedPartParams { weight: 1.0, max_p: 1e-6, ..Default::default() };
        port(&ChokeParams { red, ..own })
    }

    #[test]
    fn up_to_the_lower_threshold_nothing_is_drawn() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue = choke(ChokeParams::default());
        // When the fifth packet of the flow arrives, 4 packets wait, so the average is 4: not above min_th.
        (0..5).for_each(|_| assert!(offer(&mut queue, &mut rng, 1, &[1500]).0.is_empty()));
        assert_eq!(drain(&mut queue, &mut rng), [(1, 1500); 5]);
    }

    #[test]
    fn a_match_drops_both() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue = choke(ChokeParams::default());
        (0..5).for_each(|_| _ = offer(&mut queue, &mut rng, 1, &[1500]));
        let dropped = |drops: Drops| drops.0.iter().map(|drop| (drop.0.flow, drop.1)).collect::<Vec<_>>();
        // When the sixth packet arrives, five packets of its flow wait. Any drawn packet matches, so both are dropped.
        assert_eq!(dropped(offer(&mut queue, &mut rng, 1, &[1500])), [(1, DropReason::Aqm); 2]);
        assert_eq!(queue.backlog().packets, 4);
        // While four packets wait, none is drawn. Then five packets of flow 1 wait, so no drawn packet belongs to flow
        // 2.
        assert_eq!(dropped(offer(&mut queue, &mut rng, 1, &[1500])), []);
        assert_eq!(dropped(offer(&mut queue, &mut rng, 2, &[1500])), []);
        assert_eq!(readings(|report| queue.report(report))[1], ("matches", 1.0));
    }

    #[test]
    fn matches_come_as_often_as_the_flow_is_in_the_queue() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut queue = choke(ChokeParams::default());
        (0..10).for_each(|flow| {
            queue.queue.push(TestPacket { flow: 7 + flow / 3 * u32::from(flow > 2), ..Default::default() });
        });
        let tries = 10_000;
        let matched = (0..tries)
            .filter(|_| {
                let mut copy = queue.clone();
                !offer(&mut copy, &mut rng, 7, &[1500]).0.is_empty()
            })
            .count();
        // Among 10 000 draws with probability 3/10, the number of hits has a standard deviation of 45.8; the test
        // allows five times that.
        assert!(matched.abs_diff(3000) < 230, "{matched}");
    }

    #[test]
    fn draws_grow_with_the_average_when_they_adjust_themselves() {
        let mut queue = choke(ChokeParams { self_adjusting: true, ..Default::default() });
        let mut draws_at = |average: u32| {
            queue.red.arrival(Backlog { packets: average, bytes: 0 }, 1500, Time::ZERO);
            queue.sampler.draws(&queue.red)
        };
        // The range from 4 to 12 packets has regions of one packet. The number of draws is twice ceil(avg - 4), and 1
        // above max_th.
        assert_eq!([5, 6, 9, 12, 13, 23].map(&mut draws_at), [2, 4, 10, 16, 1, 1]);
        assert_eq!(draws_at(4), 2); // at min_th itself: the first region
        let own = ChokeParams { self_adjusting: true, draws_beyond: 16, ..Default::default() };
        let mut beyond = choke(own);
        beyond.red.arrival(Backlog { packets: 13, bytes: 0 }, 1500, Time::ZERO);
        assert_eq!(beyond.sampler.draws(&beyond.red), 16);
        let mut basic = choke(ChokeParams { draws: 3, ..Default::default() });
        basic.red.arrival(Backlog { packets: 20, bytes: 0 }, 1500, Time::ZERO);
        assert_eq!(basic.sampler.draws(&basic.red), 3);
    }

    #[test]
    fn every_match_among_several_draws_is_dropped_once() {
        let mut rng = Rng::stream(3, 0, "test", 0);
        let mut queue = choke(ChokeParams { draws: 100, ..Default::default() });
        (0..5).for_each(|_| _ = offer(&mut queue, &mut rng, 1, &[1500]));
        let drops = offer(&mut queue, &mut rng, 1, &[1500]);
        // 100 draws empty a queue of one flow. No packet is dropped twice; the arrival is the last drop.
        assert_eq!(drops.0.len(), 6);
        assert_eq!(drops.0.iter().map(|drop| drop.2.packets).collect::<Vec<_>>(), [5, 4, 3, 2, 1, 5]);
        assert_eq!(queue.backlog(), Backlog::default());
    }

    #[test]
    fn what_does_not_match_is_left_to_red_and_to_the_limit() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let with = |red| port(&ChokeParams { red, ..Default::default() });
        let mut queue = with(RedPartParams { weight: 1.0, gentle: false, ..Default::default() });
        let drops: Vec<_> = (0..100).flat_map(|flow| offer(&mut queue, &mut rng, flow, &[1500]).0).collect();
        // Without `gentle`, RED drops every packet from max_th = 12 on.
        assert!(drops.iter().all(|drop| drop.1 == DropReason::Aqm) && queue.backlog().packets <= 12);
        assert_eq!(queue.drop_probability(), Some(1.0));
        let mut queue = with(RedPartParams { weight: 1e-9, ..Default::default() });
        let drops: Vec<_> = (0..30).flat_map(|flow| offer(&mut queue, &mut rng, flow, &[1500]).0).collect();
        assert_eq!(drops.iter().map(|drop| drop.1).collect::<Vec<_>>(), [DropReason::Overlimit; 6]);
        let state = queue.state_size();
        assert_eq!(drain(&mut queue, &mut rng), (0..24).map(|flow| (flow, 1500)).collect::<Vec<_>>());
        assert_eq!((state, state.records), (queue.state_size(), 0)); // independent of the waiting packets
    }

    #[test]
    fn thresholds_may_be_bytes() {
        let red = RedPartParams {
            min_th: Some(Threshold::Bytes(6000.0)),
            max_th: Some(Threshold::Bytes(18_000.0)),
            weight: 1.0,
            ..Default::default()
        };
        let params = ChokeParams { draws: 100, red, ..Default::default() };
        let mut queue = port(&params);
        let mut rng = Rng::stream(1, 0, "test", 0);
        // 4 packets of 1500 bytes are 6000 bytes. At the sixth packet the queue is longer.
        let drops: Vec<usize> = (0..6).map(|_| offer(&mut queue, &mut rng, 1, &[1500]).0.len()).collect();
        assert_eq!(drops, [0, 0, 0, 0, 0, 6]);
    }
}
