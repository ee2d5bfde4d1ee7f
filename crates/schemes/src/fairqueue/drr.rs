//! Deficit round robin: serves queues in turn, a quantum of bytes per turn.
//!
//! Source: M. Shreedhar and G. Varghese, "Efficient fair queuing using deficit round robin", IEEE/ACM Transactions on
//! Networking 4(3), 1996; drop policies also from the code of ns-2 (`drr.cc`). Queue i has weight w_i and deficit D_i.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | visit of queue i: `D_i += quantum * w_i`, once | `Drr::begin_visit` |
//! | (2) | while the head is not longer than `D_i`: send it, `D_i -= L` | `Drr::dequeue` |
//! | (3) | queue empty: `D_i = 0`, and the queue leaves the round | `Drr::leave` |
//! | (4) | head longer than `D_i`: the queue goes to the end of the round and keeps `D_i` | `Drr::dequeue` |
//! | (5) | buffer full: drop from the queue with most bytes, at its tail or head, until the backlog is within the limit | `Drr::make_room`, `QueueStore::longest` |
//!
//! S_i is the number of bytes that flow i sends in an interval. By theorem 2 of the paper, if the smallest weight is 1
//! and flows i and j are backlogged throughout, `|S_i/w_i - S_j/w_j| <= quantum + 2 * L_max`.
//!
//! Cost: O(1) per packet if `quantum * w_i >= L_max`, otherwise one pass over the active queues skips all rounds
//! without a packet. One hash of the key per packet. State: 101 bytes for each flow or user with waiting packets, none
//! for others.
//!
//! Deviations:
//! 1. Every flow or user has a separate queue and so gets the share of its weight. The paper hashes flows into a fixed
//!    number of queues, and ns-2 has 10 buckets; for hashing see [`crate::fairqueue::sfq`].
//! 2. The default quantum is one full packet, which gives O(1); ns-2 uses 250 bytes.
//! 3. By default packets are dropped from the tail, so a flow loses packets of its latest burst, and a queue of one
//!    packet keeps it. The paper and ns-2 drop from the head (`drop_from = "head"`).
//! 4. The arriving packet is counted in its queue when the longest queue is determined, as in ns-2. A packet that alone
//!    exceeds the limit is dropped.
//! 5. Classes have no effect.

use crate::contract::prelude::*;
use crate::fairqueue::intrusive_list::IntrusiveList;
use crate::fairqueue::queue_store::{LengthMeasure, QueueStore};
use crate::fairqueue::skip_rounds::skip_rounds;
use crate::flows::flow_table::FlowTable;

choices! {
    /// Packet of the longest queue that is dropped when the buffer is full.
    pub enum DropFrom {
        /// The tail of the queue.
        Tail = "tail",
        /// The head of the queue.
        Head = "head",
    }
}

params! {
    /// Deficit round robin.
    pub struct DrrParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "user", source "Shreedhar and Varghese 1996 section II: the entity to be isolated is free";
        /// Bytes that a queue of weight 1 may send per round. For O(1) cost, at least a maximum-size packet.
        quantum: Bytes = "1500 B", in "1 B"..="16 MB", symbol "Q", source "Shreedhar and Varghese 1996 section III; \
            ns-2: 250 B";
        /// Packet of the longest queue that is dropped when the buffer is full.
        drop_from: DropFrom = "tail", source "our choice; ns-2: head";
    }
}

/// Registry entry of deficit round robin.
#[derive(Clone, Copy, Debug)]
pub struct DrrScheme;

impl SchemeSpec for DrrScheme {
    const ABOUT: About = About {
        title: "Deficit round robin",
        kind: "a queue per user or flow, served in turn; drops from the longest queue",
        summary: "Serves queues in turn, a quantum of bytes per turn; if a packet is too long for it, the rest is \
                  saved for the next turn.",
        source: "Shreedhar and Varghese 1996",
        state: "flow or user with waiting packets: 1 queue, 1 deficit",
        flow_state: FlowState::Each,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = DrrParams;
    type Discipline<P: Packet> = Drr<P>;

    fn build<P: Packet>(params: &DrrParams, port: &Port<'_>) -> Drr<P> {
        Drr::new(params, port.buffer.limit, port.weights.clone())
    }
}

/// A queue in the round.
#[derive(Clone, Copy, Debug)]
struct DrrQueue {
    key: u32,
    /// Bytes per visit: quantum times weight.
    quantum: f64,
    /// Bytes that the queue may still send in this visit; for an empty queue, saved bytes.
    deficit: f64,
    /// Round of the last visit; for an empty queue, the round in which it became empty.
    round: u64,
}

/// Empty queues that save their turns, see [`crate::fairqueue::drr_lds`].
#[derive(Clone, Debug)]
struct Savings {
    /// D_max in bytes.
    most: f64,
    /// Empty queues that have saved less than `most`, in the order in which they became empty.
    saving: IntrusiveList,
}

/// The queues of one port and the order of their visits.
#[derive(Clone, Debug)]
pub struct Drr<P> {
    queues: QueueStore<P, (), DrrQueue>,
    by_key: FlowTable<u32>,
    /// Queues with packets, in the order of their visits.
    round: IntrusiveList,
    round_number: u64,
    /// True if the first queue of the round has received its quantum.
    visiting: bool,
    savings: Option<Savings>,
    share_per: FlowKey,
    quantum: f64,
    drop_from: DropFrom,
    limit: QueueLimit,
    weights: Weights,
}

impl<P: Packet> Drr<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &DrrParams, limit: QueueLimit, weights: Weights) -> Self {
        Self {
            queues: QueueStore::new(LengthMeasure::Bytes),
            by_key: FlowTable::default(),
            round: IntrusiveList::default(),
            round_number: 0,
            visiting: false,
            savings: None,
            share_per: params.share_per,
            quantum: params.quantum.0 as f64,
            drop_from: params.drop_from,
            limit,
            weights,
        }
    }

    /// Creates an empty port whose empty queues save up to `most` bytes.
    #[must_use]
    pub fn with_savings(params: &DrrParams, most: Bytes, limit: QueueLimit, weights: Weights) -> Self {
        let savings = Savings { most: most.0 as f64, saving: IntrusiveList::default() };
        Self { savings: Some(savings), ..Self::new(params, limit, weights) }
    }

    /// Queue of `packet`. Puts it at the end of the round if it was empty.
    fn queue_of(&mut self, packet: &P) -> u32 {
        let key = self.share_per.of(packet);
        let Self { queues, by_key, quantum, weights, savings, .. } = self;
        let queue = *by_key.or_insert_with(key, || {
            let deficit = savings.as_ref().map_or(0.0, |savings| savings.most);
            queues.open(DrrQueue { key, quantum: *quantum * weights.of(packet.user()), deficit, round: NEW })
        });
        if queues.length(queue).packets == 0 {
            let round = queues[queue].round;
            if let Some(savings) = savings.as_mut().filter(|_| round != NEW) {
                savings.saving.remove(queues.elements(), queue);
                queues[queue].deficit = saved(&queues[queue], self.round_number).min(savings.most);
            }
            queues[queue].round = self.round_number;
            self.round.push_back(queues.elements(), queue);
        }
        queue
    }

    /// Removes an empty queue from the round: rule (3), also after a drop.
    fn leave(&mut self, queue: u32) {
        self.visiting &= self.round.front() != Some(queue);
        self.round.remove(self.queues.elements(), queue);
        match &mut self.savings {
            Some(savings) if self.queues[queue].deficit < savings.most => {
                self.queues[queue].round = self.round_number;
                savings.saving.push_back(self.queues.elements(), queue);
            }
            _ => self.forget(queue),
        }
    }

    fn forget(&mut self, queue: u32) {
        self.by_key.remove(self.queues[queue].key);
        self.queues.close(queue);
    }

    /// Deletes the records of queues that have saved the maximum, since a queue without a record counts as one that
    /// has. If no queue is `busy`, deletes all records: rounds then take no time, so all queues have saved the maximum.
    fn forget_savers(&mut self, busy: bool) {
        let Some(Savings { most, .. }) = self.savings else { return };
        while let Some(savings) = &mut self.savings
            && let Some(queue) = savings.saving.front()
            && (!busy || saved(&self.queues[queue], self.round_number) >= most)
        {
            savings.saving.remove(self.queues.elements(), queue);
            self.forget(queue);
        }
    }

    /// Applies rule (5). `offered` is the queue of the arriving packet, `found` the backlog before it.
    fn make_room(&mut self, offered: u32, found: Backlog, drops: &mut impl DropSink<P>) {
        while self.queues.exceeds(self.limit) {
            let longest = self.queues.longest().expect("more waits than the limit");
            let (packet, ()) = match self.drop_from {
                DropFrom::Tail => self.queues.pop_back(longest),
                DropFrom::Head => self.queues.pop_front(longest),
            }
            .expect("the longest queue holds a packet");
            let emptied = self.queues.length(longest).packets == 0;
            let arriving = longest == offered && (emptied || self.drop_from == DropFrom::Tail);
            drops.dropped(&packet, if arriving { DropReason::Overlimit } else { DropReason::PushedOut }, found);
            if emptied {
                self.leave(longest);
            }
        }
    }

    /// Applies rule (1) to the first queue of the round.
    #[inline]
    fn begin_visit(&mut self, queue: u32) {
        let turn = &mut self.queues[queue];
        self.round_number += u64::from(turn.round == self.round_number);
        turn.round = self.round_number;
        turn.deficit += turn.quantum;
        self.visiting = true;
    }

    /// Skips rounds until the first one in which a queue can send. Called when no queue could send in a whole round.
    fn skip_rounds(&mut self) {
        let visits = |queues: &QueueStore<P, (), DrrQueue>, queue| {
            let head = queues.front(queue).map_or(0.0, |(packet, ())| f64::from(packet.wire_bytes()));
            ((head - queues[queue].deficit) / queues[queue].quantum).ceil()
        };
        let rounds = skip_rounds(&mut self.queues, &self.round, visits, |turn, rounds| {
            turn.deficit += rounds * turn.quantum;
            turn.round += rounds as u64;
        });
        self.round_number += rounds as u64;
    }
}

/// Round of a queue that has never been in the round.
const NEW: u64 = u64::MAX;

/// Savings of an empty queue by round `now`.
fn saved(turn: &DrrQueue, now: u64) -> f64 {
    turn.deficit + turn.quantum * (now - turn.round) as f64
}

impl<P: Packet> QueueDiscipline<P> for Drr<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = self.queues.backlog();
        if !Backlog::default().has_room_for(packet.wire_bytes(), self.limit) {
            drops.dropped(&packet, DropReason::Overlimit, found);
            return;
        }
        self.forget_savers(true);
        packet.set_enqueued_at(now);
        let queue = self.queue_of(&packet);
        self.queues.push_back(queue, packet, ());
        self.make_room(queue, found, drops);
    }

    fn dequeue(&mut self, _: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        let mut first_in_vain = None;
        loop {
            let Some(queue) = self.round.front() else {
                self.forget_savers(false);
                return None;
            };
            if !self.visiting {
                if first_in_vain == Some(queue) {
                    self.skip_rounds();
                    first_in_vain = None;
                }
                self.begin_visit(queue);
            }
            let head = f64::from(self.queues.front(queue)?.0.wire_bytes());
            let turn = &mut self.queues[queue];
            if head <= turn.deficit {
                turn.deficit -= head; // rule (2)
                let (packet, ()) = self.queues.pop_front(queue)?;
                if self.queues.length(queue).packets == 0 {
                    self.leave(queue);
                }
                return Some(packet);
            }
            self.visiting = false; // rule (4)
            self.round.remove(self.queues.elements(), queue);
            self.round.push_back(self.queues.elements(), queue);
            first_in_vain = first_in_vain.or(Some(queue));
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_size(&self) -> StateSize {
        let bytes = size_of_val(self) + self.queues.state_bytes() + self.by_key.bytes();
        StateSize { records: self.queues.open_queues(), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{self, assert_max_min, build, limits, noise, packet, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket};
    use proptest::prelude::*;

    fn offer(queue: &mut Drr<TestPacket>, user: u32, wire_bytes: u32, drops: &mut Drops) {
        queue.enqueue(packet(user, wire_bytes), Time::ZERO, &mut Rng::stream(1, 0, "test", 0), drops);
    }

    fn drain(queue: &mut Drr<TestPacket>) -> Vec<(u32, u32)> {
        testing::drain(queue, &mut Rng::stream(1, 0, "test", 0))
    }

    fn drr(params: &DrrParams, limit: QueueLimit, weights: &Weights) -> Drr<TestPacket> {
        build::<DrrScheme>(params, limit, weights).0
    }

    fn with_quantum(bytes: u64) -> DrrParams {
        DrrParams { quantum: Bytes(bytes), ..Default::default() }
    }

    #[test]
    fn a_head_longer_than_the_deficit_waits_and_saves() {
        // Example of the paper (section III). The quantum is 500. Queue 0 has packets of 200 and 750, queue 1 of 500
        // and 500. Round 1: queue 0 sends 200; its deficit is 300, too small for 750. Queue 1 sends 500. Round 2: queue
        // 0 has a deficit of 800 and sends 750. Queue 1 sends 500.
        let mut queue = drr(&with_quantum(500), QueueLimit::Packets(24), &Weights::equal());
        for (user, bytes) in [(0, 200), (0, 750), (1, 500), (1, 500)] {
            offer(&mut queue, user, bytes, &mut Drops::default());
        }
        assert_eq!(drain(&mut queue), [(0, 200), (1, 500), (0, 750), (1, 500)]);
        assert_eq!(queue.state_size().records, 0);
    }

    #[test]
    fn an_emptied_queue_loses_its_deficit() {
        let mut queue = drr(&with_quantum(1000), QueueLimit::Packets(24), &Weights::equal());
        offer(&mut queue, 0, 100, &mut Drops::default());
        assert_eq!(drain(&mut queue), [(0, 100)]);
        // If queue 0 kept the 900 bytes of the first turn, it would send both packets at once. Since it does not, it
        // sends one per round.
        for (user, bytes) in [(0, 1000), (0, 900), (1, 1000)] {
            offer(&mut queue, user, bytes, &mut Drops::default());
        }
        assert_eq!(drain(&mut queue), [(0, 1000), (1, 1000), (0, 900)]);
    }

    #[test]
    fn weights_multiply_the_quantum() {
        let mut queue = drr(&with_quantum(1500), QueueLimit::Packets(24), &Weights::new([1.0, 3.0]));
        for user in [0, 1] {
            (0..4).for_each(|_| offer(&mut queue, user, 1500, &mut Drops::default()));
        }
        let order: Vec<_> = drain(&mut queue).into_iter().map(|(user, _)| user).collect();
        assert_eq!(order, [0, 1, 1, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn overflow_drops_from_the_longest_queue_at_the_end_that_is_asked_for() {
        for (drop_from, lost, left) in [(DropFrom::Tail, 30, [10, 20]), (DropFrom::Head, 10, [20, 30])] {
            let params = DrrParams { drop_from, ..Default::default() };
            let mut queue = drr(&params, QueueLimit::Packets(3), &Weights::equal());
            let mut drops = Drops::default();
            [10, 20, 30].iter().for_each(|&bytes| offer(&mut queue, 0, bytes, &mut drops));
            offer(&mut queue, 1, 40, &mut drops);
            let log: Vec<_> = drops.0.iter().map(|drop| (drop.0.wire_bytes, drop.1)).collect();
            assert_eq!(log, [(lost, DropReason::PushedOut)]);
            assert_eq!(drain(&mut queue), [(0, left[0]), (0, left[1]), (1, 40)]);
        }
    }

    #[test]
    fn the_arriving_packet_goes_if_its_own_queue_is_the_longest() {
        let mut queue = drr(&DrrParams::default(), QueueLimit::Bytes(3000), &Weights::equal());
        let mut drops = Drops::default();
        for (user, bytes) in [(0, 1000), (1, 1500), (0, 1000), (0, 3001)] {
            offer(&mut queue, user, bytes, &mut drops);
        }
        // The third packet makes queue 0 the longest, with 2000 of 3500 bytes. The fourth packet never fits.
        let log: Vec<_> = drops.0.iter().map(|drop| (drop.0.wire_bytes, drop.1)).collect();
        assert_eq!(log, [(1000, DropReason::Overlimit), (3001, DropReason::Overlimit)]);
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 2500 });
    }

    #[test]
    fn keys_tell_users_or_flows_apart() {
        for (share_per, records) in [(FlowKey::User, 1), (FlowKey::Flow, 3)] {
            let mut queue =
                drr(&DrrParams { share_per, ..Default::default() }, QueueLimit::Packets(24), &Weights::equal());
            for flow in 0..3 {
                let packet = TestPacket { flow, ..Default::default() };
                queue.enqueue(packet, Time::ZERO, &mut Rng::stream(1, 0, "test", 0), &mut Drops::default());
            }
            assert_eq!(queue.state_size().records, records);
        }
    }

    #[test]
    fn rates_are_the_weighted_max_min_shares() {
        // The tolerance is one packet per flow and round. 1666 packets are sent in 2 s, so this is 0.1 %.
        assert_max_min::<DrrScheme>(&DrrParams::default(), 100, [1.0, 1.0, 2.0], 0.01);
    }

    /// Computes the order of service from the rules, visiting queues in every round.
    fn literal(quanta: &[f64], packets: &[Vec<u32>]) -> Vec<(u32, u32)> {
        let mut queues: Vec<std::collections::VecDeque<u32>> =
            packets.iter().map(|q| q.iter().copied().collect()).collect();
        let (mut deficits, mut order) = (vec![0.0; quanta.len()], vec![]);
        while queues.iter().any(|queue| !queue.is_empty()) {
            for (user, queue) in queues.iter_mut().enumerate().filter(|(_, queue)| !queue.is_empty()) {
                deficits[user] += quanta[user];
                while let Some(&head) = queue.front().filter(|&&head| f64::from(head) <= deficits[user]) {
                    deficits[user] -= f64::from(head);
                    order.push((user as u32, head));
                    queue.pop_front();
                }
            }
        }
        order
    }

    proptest! {
        #[test]
        fn skipping_rounds_changes_no_order(
            quantum in 1u64..2000,
            weights in prop::collection::vec(prop::sample::select(vec![0.25, 0.5, 1.0, 3.0]), 3),
            packets in prop::collection::vec(prop::collection::vec(1u32..4000, 1..8), 3),
        ) {
            let mut queue = drr(&with_quantum(quantum), QueueLimit::Packets(100), &Weights::new(weights.clone()));
            for (user, sizes) in (0..).zip(&packets) {
                sizes.iter().for_each(|&bytes| offer(&mut queue, user, bytes, &mut Drops::default()));
            }
            let quanta: Vec<_> = weights.iter().map(|weight| quantum as f64 * weight).collect();
            prop_assert_eq!(drain(&mut queue), literal(&quanta, &packets));
        }

        /// Tests theorem 2 of Shreedhar and Varghese: over every interval, the service of two flows per unit of weight
        /// differs by at most quantum + 2 L_max.
        #[test]
        fn service_of_backlogged_flows_differs_by_a_quantum_and_two_packets_at_most(
            quantum in 1u64..4000,
            weights in prop::collection::vec(1.0f64..5.0, 2..5),
            sizes in prop::collection::vec(1u32..3000, 400),
        ) {
            let mut weights = weights;
            weights[0] = 1.0; // the smallest, so that f_i = w_i
            let mut queue = drr(&with_quantum(quantum), QueueLimit::Packets(10_000), &Weights::new(weights.clone()));
            for (at, &bytes) in sizes.iter().enumerate() {
                offer(&mut queue, (at % weights.len()) as u32, bytes, &mut Drops::default());
            }
            let bound = quantum as f64 + 2.0 * f64::from(*sizes.iter().max().unwrap());
            // The range of the difference is its largest change over any interval.
            let mut served = vec![0.0; weights.len()];
            let mut extremes = vec![(0.0f64, 0.0f64); weights.len()];
            let count = |user| sizes.iter().skip(user).step_by(weights.len()).count();
            let mut left: Vec<_> = (0..weights.len()).map(count).collect();
            for (user, bytes) in drain(&mut queue) {
                served[user as usize] += f64::from(bytes) / weights[user as usize];
                left[user as usize] -= 1;
                for other in 1..weights.len() {
                    let difference = served[other] - served[0];
                    let (low, high) = &mut extremes[other];
                    (*low, *high) = (low.min(difference), high.max(difference));
                    prop_assert!(*high - *low <= bound + 1e-6, "{} > {bound}", *high - *low);
                }
                if left.contains(&0) {
                    break;
                }
            }
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            drop_from in prop::sample::select(vec![DropFrom::Tail, DropFrom::Head]),
            quantum in prop::sample::select(vec![1, 250, 1500, 9000]),
        ) {
            let params = DrrParams { drop_from, quantum: Bytes(quantum), share_per: FlowKey::Flow };
            prop_assert_eq!(survives(SchemeParams::Drr(params), limit, &noise), 0);
        }
    }
}
