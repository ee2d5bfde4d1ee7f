//! SCRR (self-clocked round robin): serves queues in turn without a quantum. A turn lasts until the queue's virtual
//! time passes a clock that advances once per round.
//!
//! Source: E. Sharafzadeh, R. Matson, J. Tourrilhes, P. Sharma and S. Ghorbani, "Self-clocked round-robin packet
//! scheduling", NSDI 2025. We did not have the paper and follow its abstract and its authors' Linux qdisc with its
//! comments (`hopnets/scrr`, `sch_scrr.c`). F is the virtual finish time of a queue's last packet. A is the clock, and
//! A' the clock of the previous round. L/w is the length of a packet over the weight of its user.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | a turn sends one packet: start `S = F`, or `A` if the queue was idle; `F = S + L/w` | `Scrr::start_of` |
//! | (2) | the turn continues while packets wait and `F <= A`; then the queue goes to the end of the round | `Scrr::dequeue` |
//! | (3) | `V = max(V, S)`; the last packet of a busy period: `V = F`, and at once `A' = A`, `A = V` | `Scrr::dequeue` |
//! | (4) | after one turn of every queue in the round: `A' = A`, `A = V`, if V is greater | `Scrr::end_turn` |
//! | (5) | a queue that was idle is served before the queues of the round, unless (8) applies | `Scrr::activate` |
//! | (6) | S is computed when the packet leaves, and idle means `F <= A'` | `Scrr::start_of` |
//! | (7) | a queue that was idle starts at `A' + L/w` instead | `Scrr::start_of` |
//! | (8) | a queue without packets leaves the round; if it returns with `F > A` while others wait, it joins the end of the round | `Scrr::leave`, `Scrr::activate` |
//!
//! | variant | as the qdisc | rules |
//! |---|---|---|
//! | `basic` | `scrr_basic` | (1) to (4); a queue without packets leaves the round, and returns at its end |
//! | `nmne` | `scrr_nmne`: no packet metadata, no empty queues | (1) to (6), (8) |
//! | `neia` | `scrr_neia`: initial advance, too | (1) to (8) |
//!
//! In `basic`, S is computed when the packet arrives, and idle means `F < A` at that time.
//!
//! The following bounds hold for equal weights, where L is the longest packet. A advances by at most D per round; D is
//! L, or 2 L with initial advance. With initial advance, the first round after an idle time may have one turn more than
//! there are queues. A turn of several packets sends less than D + L, because it starts above A' and its last packet
//! starts at A or below. Queues that become backlogged at the same time differ in F by less than D + 2 L. This is
//! because a turn leaves F at most 2 L above A, and A advances by at most D between the last turns of two queues.
//!
//! The priority of new queues is unlimited: a flow that always uses new keys starves the others, as in FQ-CoDel.
//!
//! Cost: O(1) per packet, with one hash of the key. State: 101 bytes for each flow or user with waiting packets, 17
//! bytes for each other flow or user whose F is above A'.
//!
//! Deviations:
//! 1. Every flow or user has a queue and a weight. The qdisc hashes flows into 1024 trees and has no weights.
//! 2. A full port drops from the tail of the longest queue, as in [`crate::fairqueue::drr`], so the two schemes differ
//!    only in their turns. The qdisc drops a packet that arrives at a full port or at a flow with 100 packets.
//! 3. The clock never decreases. In the qdisc the last packet of a busy period can decrease it.
//! 4. The record of a flow without packets is deleted if `F <= A'`, because all rules treat such a flow as new. If `F >
//!    A'` the record is deleted after 3 s. The qdisc does the same, but only when it has many records.
//! 5. Classes have no effect.
//!
//! Not implemented: the variants `scrr`, `scrr_npm` and `scrr_nmia`, which keep queues without packets in the round.
//! While new queues arrive, such queues are never visited, and their number grows.

use crate::contract::prelude::*;
use crate::fairqueue::intrusive_list::IntrusiveList;
use crate::fairqueue::queue_store::{LengthMeasure, QueueStore};
use crate::flows::expiring_table::ExpiringTable;
use crate::flows::flow_table::FlowTable;

choices! {
    /// Enhancements of the qdisc, with the qdisc's names.
    pub enum ScrrVariant {
        /// No enhancements.
        Basic = "basic",
        /// No packet metadata, no empty queues, new queues first.
        Nmne = "nmne",
        /// All of `nmne`, and initial advance.
        Neia = "neia",
    }
}

params! {
    /// Self-clocked round robin.
    pub struct ScrrParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "sch_scrr.c";
        /// Enhancements that are enabled.
        variant: ScrrVariant = "neia", source "sch_scrr.c: all of them";
    }
}

/// Registry entry of self-clocked round robin.
#[derive(Clone, Copy, Debug)]
pub struct ScrrScheme;

impl SchemeSpec for ScrrScheme {
    const ABOUT: About = About {
        title: "Self-clocked round robin",
        kind: "a queue per flow or user, served in turn; drops from the longest",
        summary: "Serves queues in turn, new queues first; a turn lasts until the queue has passed a virtual clock.",
        source: "Sharafzadeh et al.: Self-Clocked Round-Robin Packet Scheduling, NSDI 2025",
        state: "flow or user with waiting packets: 1 queue, 1 virtual time",
        flow_state: FlowState::Each,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = ScrrParams;
    type Discipline<P: Packet> = Scrr<P>;

    fn build<P: Packet>(params: &ScrrParams, port: &Port<'_>) -> Scrr<P> {
        Scrr::new(params, port.buffer.limit, port.weights.clone())
    }
}

/// A queue with packets.
#[derive(Clone, Copy, Debug)]
struct ScrrQueue {
    key: u32,
    /// F; with tagged packets, F of the last arrival.
    finish: f64,
    weight: f64,
    /// True if the queue is in the list of new queues.
    is_new: bool,
}

/// Record of a flow without a queue.
#[derive(Clone, Copy, Debug)]
struct Absent {
    finish: f64,
    since: Time,
}

impl Absent {
    /// Returns false if the record can be deleted: deviation 4.
    fn matters(&self, last_clock: f64, now: Time) -> bool {
        self.finish > last_clock && now.saturating_sub(self.since) < FORGET_AFTER
    }
}

/// Time for which the record of a flow without packets is kept: `SCRR_GC_AGE`.
const FORGET_AFTER: Time = Time::from_secs(3);

/// The queues of one port, their round, and the virtual clock of the round. Virtual time counts bytes per unit of
/// weight.
#[derive(Clone, Debug)]
pub struct Scrr<P> {
    /// Each packet with its start tag, which only some variants use.
    queues: QueueStore<P, f64, ScrrQueue>,
    by_key: FlowTable<u32>,
    /// Flows without a queue.
    absent: ExpiringTable<Absent>,
    /// Queues that were idle, which are served first.
    new: IntrusiveList,
    /// The other queues, in the order of their turns.
    old: IntrusiveList,
    /// Turns until the clock advances.
    turns_left: i64,
    /// V, the largest start of a sent packet.
    latest_start: f64,
    /// A, the clock.
    clock: f64,
    /// A', the clock of the previous round.
    last_clock: f64,
    share_per: FlowKey,
    variant: ScrrVariant,
    limit: QueueLimit,
    weights: Weights,
}

impl<P: Packet> Scrr<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &ScrrParams, limit: QueueLimit, weights: Weights) -> Self {
        Self {
            queues: QueueStore::new(LengthMeasure::Bytes),
            by_key: FlowTable::default(),
            absent: ExpiringTable::default(),
            new: IntrusiveList::default(),
            old: IntrusiveList::default(),
            turns_left: 0,
            latest_start: 0.0,
            clock: 0.0,
            last_clock: 0.0,
            share_per: params.share_per,
            variant: params.variant,
            limit,
            weights,
        }
    }

    /// Returns true if rule (6) is disabled.
    #[inline]
    fn tags_packets(&self) -> bool {
        self.variant == ScrrVariant::Basic
    }

    /// Returns the queue of `packet`. Puts this queue into the round if it is not in the round yet.
    fn queue_of(&mut self, packet: &P, now: Time) -> u32 {
        let key = self.share_per.of(packet);
        if let Some(&queue) = self.by_key.get(key) {
            return queue;
        }
        let absent = self.absent.get_mut(key).filter(|absent| absent.matters(self.last_clock, now));
        let finish = absent.map_or(0.0, |absent| absent.finish);
        self.absent.remove(key);
        let weight = self.weights.of(packet.user());
        let queue = self.queues.open(ScrrQueue { key, finish, weight, is_new: true });
        self.by_key.insert(key, queue);
        self.activate(queue);
        queue
    }

    /// Applies rules (5) and (8).
    fn activate(&mut self, queue: u32) {
        let others = self.by_key.len() > 1;
        let enhanced = self.variant != ScrrVariant::Basic;
        let waits = enhanced && others && self.queues[queue].finish > self.clock;
        let is_new = enhanced && !waits;
        self.turns_left += i64::from(!waits);
        self.queues[queue].is_new = is_new;
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.push_back(self.queues.elements(), queue);
    }

    /// Removes a queue without packets from the round.
    fn leave(&mut self, queue: u32, now: Time) {
        let ScrrQueue { key, finish, .. } = self.queues[queue];
        self.unlink(queue);
        self.queues.close(queue);
        self.by_key.remove(key);
        let (absent, last_clock) = (Absent { finish, since: now }, self.last_clock);
        if absent.matters(last_clock, now) {
            *self.absent.get_or_insert_with(key, |absent| absent.matters(last_clock, now), || absent) = absent;
        }
    }

    /// Removes a queue from its list.
    fn unlink(&mut self, queue: u32) {
        let list = if self.queues[queue].is_new { &mut self.new } else { &mut self.old };
        list.remove(self.queues.elements(), queue);
    }

    /// Start tag of a packet whose length over weight is `span`: rules (1), (6) and (7).
    #[inline]
    fn start_of(&self, finish: f64, span: f64) -> f64 {
        if self.tags_packets() {
            f64::max(finish, self.clock)
        } else if finish > self.last_clock {
            finish
        } else if self.variant == ScrrVariant::Neia {
            self.last_clock + span
        } else {
            self.clock
        }
    }

    /// Applies rule (4).
    fn end_turn(&mut self) {
        if self.turns_left <= 0 {
            self.advance_clock();
            self.turns_left = self.by_key.len() as i64;
        }
        self.turns_left -= 1;
    }

    fn advance_clock(&mut self) {
        if self.latest_start > self.clock {
            self.last_clock = self.clock;
            self.clock = self.latest_start;
        }
    }

    /// Drops from the tail of the longest queue until the backlog is within the limit. `offered` is the queue of the
    /// arriving packet, `found` the backlog before the packet.
    fn make_room(&mut self, offered: u32, found: Backlog, now: Time, drops: &mut impl DropSink<P>) {
        while self.queues.exceeds(self.limit) {
            let longest = self.queues.longest().expect("more waits than the limit");
            let (packet, start) = self.queues.pop_back(longest).expect("the longest queue holds a packet");
            if self.tags_packets() {
                self.queues[longest].finish = start;
            }
            drops.dropped(
                &packet,
                if longest == offered { DropReason::Overlimit } else { DropReason::PushedOut },
                found,
            );
            if self.queues.length(longest).packets == 0 {
                // A new queue has not had its turn in this round, so one turn fewer remains.
                self.turns_left -= i64::from(self.queues[longest].is_new);
                self.leave(longest, now);
            }
        }
    }

    /// Applies rules (1) and (3) to a packet that leaves. Returns F.
    fn depart(&mut self, queue: u32, packet: &P, tag: f64) -> f64 {
        let ScrrQueue { finish, weight, .. } = self.queues[queue];
        let span = f64::from(packet.wire_bytes()) / weight;
        let start = if self.tags_packets() { tag } else { self.start_of(finish, span) };
        let next = start + span;
        if !self.tags_packets() {
            self.queues[queue].finish = next;
        }
        let is_last = self.queues.backlog().packets == 0;
        self.latest_start = self.latest_start.max(if is_last { next } else { start });
        if is_last {
            self.advance_clock();
        }
        next
    }
}

impl<P: Packet> QueueDiscipline<P> for Scrr<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = self.queues.backlog();
        if !Backlog::default().has_room_for(packet.wire_bytes(), self.limit) {
            return drops.dropped(&packet, DropReason::Overlimit, found);
        }
        packet.set_enqueued_at(now);
        let queue = self.queue_of(&packet, now);
        let ScrrQueue { finish, weight, .. } = self.queues[queue];
        let mut start = 0.0;
        if self.tags_packets() {
            let span = f64::from(packet.wire_bytes()) / weight;
            start = self.start_of(finish, span);
            self.queues[queue].finish = start + span;
        }
        self.queues.push_back(queue, packet, start);
        self.make_room(queue, found, now, drops);
    }

    fn dequeue(&mut self, now: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        let queue = self.new.front().or(self.old.front())?;
        let (packet, tag) = self.queues.pop_front(queue)?;
        let next = self.depart(queue, &packet, tag);
        if self.queues.length(queue).packets == 0 {
            self.leave(queue, now);
            self.end_turn();
        } else if next > self.clock {
            self.end_turn(); // rule (2)
            self.unlink(queue);
            self.queues[queue].is_new = false;
            self.old.push_back(self.queues.elements(), queue);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_size(&self) -> StateSize {
        let bytes = size_of_val(self) + self.queues.state_bytes() + self.by_key.bytes() + self.absent.bytes();
        StateSize { records: self.queues.open_queues() + self.absent.len(), bytes }
    }

    fn report(&self, report: Report<'_>) {
        report("clock_bytes", self.clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{assert_max_min, build, limits, noise, offer, packet, serve, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket};
    use proptest::prelude::*;

    fn with(variant: ScrrVariant) -> ScrrParams {
        ScrrParams { variant, ..Default::default() }
    }

    fn port(variant: ScrrVariant, limit: u32) -> (Scrr<TestPacket>, Rng) {
        build::<ScrrScheme>(&with(variant), QueueLimit::Packets(limit), &Weights::equal())
    }

    #[test]
    fn turns_and_clock_by_hand() {
        let (mut queue, mut rng) = port(ScrrVariant::Neia, 24);
        offer(&mut queue, &mut rng, 0, &[1000, 1000, 1000]);
        offer(&mut queue, &mut rng, 1, &[1500, 1500]);
        // Two new queues have two turns per round. Flow 0 starts at A' + L = 1000 and flow 1 at 1500 bytes, so their
        // finish tags F are 2000 and 3000.
        assert_eq!(serve(&mut queue, &mut rng, 2), [0, 1]);
        assert_eq!((queue.clock, queue.latest_start), (0.0, 1500.0));
        // Flow 0 starts at 2000. Its turn begins a round, so A = 2000. Flow 1 has S = 3000 and F = 4500, and leaves.
        assert_eq!(serve(&mut queue, &mut rng, 2), [0, 1]);
        assert_eq!((queue.last_clock, queue.clock), (0.0, 2000.0));
        // The last packet starts at 3000 and ends at 4000, the end of the busy period.
        assert_eq!(serve(&mut queue, &mut rng, 1), [0]);
        assert_eq!((queue.last_clock, queue.clock, queue.queues.open_queues()), (2000.0, 4000.0, 0));
    }

    #[test]
    fn a_new_queue_sends_a_short_burst_and_one_that_is_ahead_waits() {
        let order = |variant| {
            let (mut queue, mut rng) = port(variant, 24);
            offer(&mut queue, &mut rng, 0, &[1000, 1000, 1000]);
            offer(&mut queue, &mut rng, 1, &[1500, 1500]);
            serve(&mut queue, &mut rng, 5);
            // Flow 1 returns with F = 4500. With initial advance, A = 4000 and A' = 2000.
            offer(&mut queue, &mut rng, 2, &[400, 400]);
            offer(&mut queue, &mut rng, 1, &[1500]);
            serve(&mut queue, &mut rng, 3)
        };
        // Flow 2 starts at A' + 400 = 2400, then at 2800. Both starts are below A, so both packets are sent in one
        // turn.
        assert_eq!(order(ScrrVariant::Neia), [2, 2, 1]);
        // Without initial advance flow 2 starts at A, so F is above A after the first packet.
        assert_eq!(order(ScrrVariant::Nmne), [2, 1, 2]);
    }

    #[test]
    fn the_basic_variant_lets_new_queues_wait_for_their_turn() {
        for (variant, expected) in [(ScrrVariant::Basic, [0, 1, 2]), (ScrrVariant::Nmne, [2, 0, 1])] {
            let (mut queue, mut rng) = port(variant, 24);
            offer(&mut queue, &mut rng, 0, &[1000, 1000, 1000]);
            offer(&mut queue, &mut rng, 1, &[1000, 1000, 1000]);
            serve(&mut queue, &mut rng, 2);
            offer(&mut queue, &mut rng, 2, &[1000]);
            assert_eq!(serve(&mut queue, &mut rng, 3), expected, "{variant:?}");
        }
    }

    #[test]
    fn all_variants_give_the_max_min_shares() {
        for &variant in ScrrVariant::ALL {
            for weights in [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0]] {
                // The tolerance is that of DRR: about 2000 packets are sent in 2 s, and a few of them wait at the end.
                assert_max_min::<ScrrScheme>(&with(variant), 100, weights, 0.02);
            }
        }
    }

    #[test]
    fn flows_that_left_are_forgotten() {
        for &variant in ScrrVariant::ALL {
            let (mut queue, mut rng) = port(variant, 10);
            offer(&mut queue, &mut rng, 0, &[1000]);
            // 1000 flows per second send one packet each, while another packet always waits. Records must expire even
            // if the clock does not advance.
            for step in 1..20_000u32 {
                let now = Time::from_millis(step.into());
                queue.enqueue(packet(step, 1000), now, &mut rng, &mut Drops::default());
                queue.dequeue(now, &mut rng, &mut ());
            }
            // There are records of all flows of the last 3 s. Until the next sweep, there may be an eighth more.
            let records = queue.state_size().records;
            assert!(records < 3000 * 9 / 8 + 64, "{variant:?} {records}");
        }
    }

    proptest! {
        /// Tests the bounds given in the module's head, for flows that always have waiting packets.
        #[test]
        fn turns_clock_and_shares_are_bounded(
            variant in prop::sample::select(ScrrVariant::ALL),
            sizes in prop::collection::vec(prop::collection::vec(40u32..=1500, 40), 2..6),
        ) {
            const LONGEST: f64 = 1500.0;
            let advance = if variant == ScrrVariant::Neia { 2.0 * LONGEST } else { LONGEST };
            let (mut queue, mut rng) = port(variant, 1000);
            for (flow, sizes) in (0..).zip(&sizes) {
                offer(&mut queue, &mut rng, flow, sizes);
            }
            let (mut served, mut last, mut turn) = (vec![0.0; sizes.len()], u32::MAX, 0.0);
            // The bounds require that all flows have waiting packets, so the loop ends before a flow runs out of
            // packets.
            while queue.backlog().packets > 0 && (0..sizes.len() as u32).all(|flow| {
                queue.by_key.get(flow).is_some_and(|&number| queue.queues.length(number).packets > 1)
            }) {
                let clock = queue.clock;
                let packet = queue.dequeue(Time::ZERO, &mut rng, &mut ()).unwrap();
                let bytes = f64::from(packet.wire_bytes);
                turn = if packet.flow == last { turn + bytes } else { bytes };
                last = packet.flow;
                served[packet.flow as usize] += bytes;
                prop_assert!(turn < advance + LONGEST, "{turn}");
                prop_assert!((0.0..=advance).contains(&(queue.clock - clock)));
                let most = served.iter().copied().fold(0.0, f64::max);
                let least = served.iter().copied().fold(f64::INFINITY, f64::min);
                // With initial advance, the first start tags differ by less than a packet, so the bound is larger by
                // LONGEST.
                prop_assert!(most - least < 2.0 * advance + LONGEST, "{served:?}");
            }
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            variant in prop::sample::select(ScrrVariant::ALL),
            share_per in prop::sample::select(FlowKey::ALL),
        ) {
            let params = ScrrParams { variant, share_per };
            prop_assert!(survives(SchemeParams::Scrr(params), limit, &noise) <= 12);
        }
    }
}
