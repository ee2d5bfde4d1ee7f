//! FDPA (flow dynamic priority assignment): assigns a lower priority to users that send above the fair share.
//!
//! Source: C. Cascone, N. Bonelli, L. Bianchi, A. Capone and B. Sansò, "Towards approximate fair bandwidth sharing via
//! dynamic priority queuing", LANMAN 2017. We had only the abstract. It says that rate estimators per user select one
//! of several strict-priority queues, so that TCP users above their share slow down. The rules and numbers are ours.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `r_u`: rate of arrivals of user u, TDRM-UTEMA with memory M, see [`crate::measure::utema`] | `Fdpa::priority` |
//! | (2) | share of u: `C * w_u / sum of w` over the users that sent a packet within the last T | `ActiveUsers` |
//! | (3) | priority 0 if `r_u <= share`, otherwise `min(n - 1, 1 + floor(s * log2(r_u / share)))` | `Fdpa::priority` |
//! | (4) | the packet waits in the queue of its priority; the first non-empty queue is served | `Fdpa::dequeue` |
//! | (5) | drop the packet if the buffer is full, or if for some p, from 1 to the packet's priority, queues p to n - 1 hold `queue_part^p` of the buffer | `Fdpa::has_room` |
//!
//! FDPA reorders packets: when a user's priority rises, its new packets overtake older ones, and TCP may interpret this
//! as loss. Users that do not slow down are not limited to their share. Among users above the share, slower ones are
//! served first, and the fastest gets the remaining capacity.
//!
//! Cost: per packet, one exponential (two for a new user), one logarithm and one hash of the key. State: 65 bytes per
//! user that sent within the last T, none for others.
//!
//! Deviations:
//! 1. The priorities below the first may use only half of the buffer (`queue_part`), those below the second a quarter,
//!    and so on, but at least one packet. Otherwise the lowest priorities could fill the buffer, and users below their
//!    share would lose packets.
//! 2. Classes have no effect.

use crate::contract::prelude::*;
use crate::fairqueue::intrusive_list::{IntrusiveList, Link, Linked};
use crate::fairqueue::queue_store::{LengthMeasure, QueueStore};
use crate::flows::flow_table::FlowTable;
use crate::measure::utema::{Memory, RateState};

params! {
    /// Flow dynamic priority assignment.
    pub struct FdpaParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "user", source "Cascone et al. 2017, abstract";
        /// Number of queues.
        queues: u32 = 8, in 2..=64, symbol "n", source "what a switch has, our choice";
        /// Time constant of the rate measurement.
        memory: Time = "0.1 s", in "1 ms"..="1 h", symbol "M", source "our choice";
        /// Time without packets after which a user is no longer active.
        active_time: Time = "0.3 s", in "1 ms"..="1 h", symbol "T", source "our choice: three memories";
        /// Priorities lost for each doubling of the rate.
        steps_per_doubling: f64 = 2.0, in 0.01..=64.0, symbol "s", source "our choice";
        /// Fraction of the buffer for all priorities below the first. All priorities below the second get this fraction
        /// of that part, and so on; each part holds at least one packet.
        queue_part: f64 = 0.5, in 0.001..=0.999, source "our choice";
    }
}

/// Registry entry of flow dynamic priority assignment.
#[derive(Clone, Copy, Debug)]
pub struct FdpaScheme;

impl SchemeSpec for FdpaScheme {
    const ABOUT: About = About {
        title: "Flow dynamic priority assignment",
        kind: "FIFO queues under strict priority; drops the arriving packet",
        summary: "Measures the rate of every user and gives packets of users above the fair share a priority that \
                  falls with their rate.",
        source: "Cascone, Bonelli, Bianchi, Capone and Sansò 2017",
        state: "user that sent recently: 1 rate, 2 times",
        flow_state: FlowState::Each,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    const REORDERS_FLOWS: bool = true;
    type Params = FdpaParams;
    type Discipline<P: Packet> = Fdpa<P>;

    fn build<P: Packet>(params: &FdpaParams, port: &Port<'_>) -> Fdpa<P> {
        Fdpa::new(params, port)
    }
}

#[derive(Clone, Debug)]
struct User {
    key: u32,
    link: Link,
    last: Time,
    weight: f64,
    rate: RateState,
}

impl Linked for User {
    fn link(&self) -> &Link {
        &self.link
    }
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// The users that sent recently, the longest inactive first.
#[derive(Clone, Debug)]
struct ActiveUsers {
    users: Vec<User>,
    by_key: FlowTable<u32>,
    by_silence: IntrusiveList,
    free: IntrusiveList,
    weight: f64,
}

impl ActiveUsers {
    fn forget_before(&mut self, time: Time) {
        while let Some(at) = self.by_silence.front()
            && self.users[at as usize].last < time
        {
            self.by_silence.remove(&mut self.users, at);
            self.free.push_back(&mut self.users, at);
            self.by_key.remove(self.users[at as usize].key);
            self.weight -= self.users[at as usize].weight;
        }
        if self.by_silence.is_empty() {
            self.weight = 0.0; // removes rounding errors of the subtractions
        }
    }

    /// Records that the user of `key`, with this weight, sends a packet at `now`. Returns its record.
    fn sends(&mut self, key: u32, weight_of_user: f64, now: Time) -> &mut User {
        let Self { users, by_key, by_silence, free, weight } = self;
        let mut is_new = false;
        let at = *by_key.or_insert_with(key, || {
            is_new = true;
            // The measurement starts at time 0 without packets, so the first packet gives a rate of L / M.
            let rate = RateState::new(Time::ZERO);
            let user = User { key, link: Link::NONE, last: now, weight: weight_of_user, rate };
            *weight += user.weight;
            match free.pop_front(users) {
                Some(at) => {
                    users[at as usize] = user;
                    at
                }
                None => {
                    users.push(user);
                    users.len() as u32 - 1
                }
            }
        });
        if !is_new {
            by_silence.remove(users, at);
        }
        by_silence.push_back(users, at);
        let user = &mut users[at as usize];
        user.last = now;
        user
    }
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct Fdpa<P> {
    queues: QueueStore<P, (), ()>,
    active: Box<ActiveUsers>,
    memory: Memory,
    link_rate: BitRate,
    params: FdpaParams,
    limit: QueueLimit,
    /// Maximum backlog of each priority and all lower ones together.
    parts: Box<[QueueLimit]>,
    weights: Weights,
}

/// Returns `part^priority` of `limit`, rounded down.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn part_of(limit: QueueLimit, part: f64, priority: u32) -> QueueLimit {
    let part = libm::pow(part, f64::from(priority));
    match limit {
        QueueLimit::Packets(packets) => QueueLimit::Packets((f64::from(packets) * part) as u32),
        QueueLimit::Bytes(bytes) => QueueLimit::Bytes((bytes as f64 * part) as u64),
    }
}

impl<P: Packet> Fdpa<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &FdpaParams, port: &Port<'_>) -> Self {
        let mut queues = QueueStore::new(LengthMeasure::Packets);
        for _ in 0..params.queues {
            queues.open(());
        }
        let active = ActiveUsers {
            users: Vec::new(),
            by_key: FlowTable::default(),
            by_silence: IntrusiveList::default(),
            free: IntrusiveList::default(),
            weight: 0.0,
        };
        Self {
            queues,
            active: Box::new(active),
            memory: Memory::new(params.memory),
            link_rate: port.rate,
            params: params.clone(),
            limit: port.buffer.limit,
            parts: (0..params.queues).map(|priority| part_of(port.buffer.limit, params.queue_part, priority)).collect(),
            weights: port.weights.clone(),
        }
    }

    /// Applies rules (1) to (3).
    fn priority(&mut self, packet: &P, now: Time) -> u32 {
        self.active.forget_before(now.saturating_sub(self.params.active_time));
        let user = self.active.sends(self.params.share_per.of(packet), self.weights.of(packet.user()), now);
        let rate = user.rate.update(self.memory, f64::from(packet.wire_bytes()) * 8.0, now) * self.memory.per_second();
        let weight = user.weight;
        let share = self.link_rate.as_f64() * weight / self.active.weight;
        if rate <= share {
            return 0;
        }
        let steps = self.params.steps_per_doubling * libm::log2(rate / share);
        (1 + steps.min(64.0) as u32).min(self.params.queues - 1)
    }

    /// Applies rule (5). Returns true if the packet may be stored.
    fn has_room(&self, priority: u32, wire_bytes: u32) -> bool {
        let mut held = Backlog::default();
        let fits_parts = (1..self.params.queues).rev().all(|p| {
            let length = self.queues.length(p);
            held.packets += length.packets;
            held.bytes += length.bytes;
            p > priority || held.packets == 0 || held.has_room_for(wire_bytes, self.parts[p as usize])
        });
        fits_parts && self.queues.backlog().has_room_for(wire_bytes, self.limit)
    }
}

impl<P: Packet> QueueDiscipline<P> for Fdpa<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) {
        let queue = self.priority(&packet, now);
        if self.has_room(queue, packet.wire_bytes()) {
            packet.set_enqueued_at(now);
            self.queues.push_back(queue, packet, ());
        } else {
            drops.dropped(&packet, DropReason::Overlimit, self.queues.backlog());
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        let first = (0..self.params.queues).find(|&queue| self.queues.length(queue).packets > 0)?;
        self.queues.pop_front(first).map(|(packet, ())| packet)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.link_rate = rate;
    }

    fn state_size(&self) -> StateSize {
        let ActiveUsers { by_key, .. } = &*self.active;
        let bytes =
            size_of_val(self) + size_of::<ActiveUsers>() + self.queues.state_bytes() + size_of_val(&*self.parts);
        StateSize { records: by_key.len(), bytes: bytes + by_key.bytes() + by_key.len() * size_of::<User>() }
    }

    fn report(&self, report: Report<'_>) {
        report("active_users", self.active.by_key.len() as f64);
        report("active_weight", self.active.weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{build, limits, noise, packet, shares, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket};
    use proptest::prelude::*;

    fn port(params: &FdpaParams, limit: u32, weights: &Weights) -> (Fdpa<TestPacket>, Rng) {
        build::<FdpaScheme>(params, QueueLimit::Packets(limit), weights)
    }

    /// Users 0, 1 ... send packets at these rates for a second, one user after the other. Returns the priority of each
    /// user's last packet.
    fn priorities(params: &FdpaParams, weights: &Weights, rates: &[f64]) -> Vec<u32> {
        let (mut queue, _) = port(params, 100, weights);
        let mut last = vec![0; rates.len()];
        let mut next = vec![0.0f64; rates.len()];
        while let Some((user, &at)) = next.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))
            && at < 1.0
        {
            last[user] = queue.priority(&packet(user as u32, 1500), Time::from_secs_f64(10.0 + at));
            next[user] += 12_000.0 / rates[user];
        }
        last
    }

    #[test]
    fn priority_falls_with_the_logarithm_of_the_rate_above_the_share() {
        // Four users share 10 Mbit/s, so each has a share of 2.5 Mbit/s. A user at 1 Mbit/s, below its share, has
        // priority 0. A rate of 3 Mbit/s gives priority 1 + floor(2 log2 1.2) = 1, 4 Mbit/s gives 1 + floor(1.36) = 2,
        // and 20 Mbit/s gives 1 + floor(6) = 7. The estimated rate is too high by up to one packet per memory, L / M =
        // 0.12 Mbit/s.
        let rates = [1e6, 3e6, 4e6, 20.5e6];
        assert_eq!(priorities(&FdpaParams::default(), &Weights::equal(), &rates), [0, 1, 2, 7]);
        // Weights 1, 3, 4 and 2 give shares of 1, 3, 4 and 2 Mbit/s. A tenth more than the share lowers the priority by
        // one.
        let rates = [0.85e6, 3.3e6, 4.4e6, 100e6];
        let weights = Weights::new([1.0, 3.0, 4.0, 2.0]);
        assert_eq!(priorities(&FdpaParams::default(), &weights, &rates), [0, 1, 1, 7]);
    }

    #[test]
    fn users_that_fell_silent_leave_their_share() {
        let (mut queue, _) = port(&FdpaParams::default(), 100, &Weights::equal());
        for user in 0..10 {
            queue.priority(&packet(user, 1500), Time::ZERO);
        }
        assert_eq!(queue.state_size().records, 10);
        queue.priority(&packet(3, 1500), Time::from_millis(200));
        queue.priority(&packet(10, 1500), Time::from_millis(301));
        assert_eq!((queue.state_size().records, queue.active.weight), (2, 2.0));
        queue.priority(&packet(11, 1500), Time::from_secs(9));
        assert_eq!((queue.state_size().records, queue.active.users.len()), (1, 10));
    }

    #[test]
    fn high_priorities_go_first_and_find_room() {
        let (mut queue, mut rng) = port(&FdpaParams::default(), 10, &Weights::equal());
        let mut drops = Drops::default();
        // User 1 is active, so the share is 5 Mbit/s. User 0 sends a burst of 80 packets; averaged over the memory of
        // 0.1 s, this is 9.6 Mbit/s.
        queue.enqueue(packet(1, 40), Time::ZERO, &mut rng, &mut drops);
        (0..80).for_each(|_| queue.enqueue(packet(0, 1500), Time::ZERO, &mut rng, &mut drops));
        assert!(drops.0.iter().all(|drop| drop.0.user == 0 && drop.1 == DropReason::Overlimit));
        // The first 41 packets have priority 0, and 9 of them fit. These are served, then the burst repeats.
        while queue.dequeue(Time::ZERO, &mut rng, &mut drops).is_some() {}
        (0..80).for_each(|_| queue.enqueue(packet(0, 1500), Time::ZERO, &mut rng, &mut drops));
        // During the second burst, the rate rises from 9.6 to 19.2 Mbit/s, which is 1.9 to 3.8 times the share. So the
        // priorities are 2, 3 and 4, in this order. Packets of priority 2 and below may use a quarter of the 10
        // packets. The first two packets of priority 2 fill it.
        let lengths: Vec<_> = (0..8).map(|priority| queue.queues.length(priority).packets).collect();
        assert_eq!(lengths, [0, 0, 2, 0, 0, 0, 0, 0]);
        // A user below its share may use the rest of the buffer, and is served first.
        let before = drops.0.len();
        (0..8).for_each(|_| queue.enqueue(packet(1, 40), Time::ZERO, &mut rng, &mut drops));
        assert_eq!(drops.0.len(), before);
        let order: Vec<_> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut rng, &mut drops)).map(|p| p.user).collect();
        assert_eq!(order, [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_user_below_its_share_loses_nothing_to_users_above_it() {
        // The last user shares a link of 10 Mbit/s with users that exceed their shares. These send 20 and 14 Mbit/s
        // (priorities 6 and 5), or 2.4, 3.4, 4.8 and 6.8 Mbit/s (1.2 to 3.4 times the share, priorities 1 to 4). Each
        // of them could fill the queue of its priority.
        for rates in [&[20e6, 14e6, 2e6][..], &[2.4e6, 3.4e6, 4.8e6, 6.8e6, 1.6e6]] {
            for limit in [24, 100].map(QueueLimit::Packets) {
                let sizes = vec![1500; rates.len()];
                let served = shares::<FdpaScheme>(&FdpaParams::default(), limit, &Weights::equal(), rates, &sizes);
                let (light, served_light) = (rates[rates.len() - 1], served[rates.len() - 1]);
                // The tolerance of 2 % is for one packet in 2 s and for the first packets, which have priority 0 for
                // all users.
                assert!((served_light - light).abs() < 0.02 * light, "{rates:?} {served:?}");
            }
        }
    }

    #[test]
    fn no_order_of_arrival_lets_the_lower_priorities_take_more_than_their_part() {
        // The buffer has room for 24 packets. The limit is 12 for all packets of priority 1 or more, 6 for priority 2
        // or more, 3 for priority 3 or more, and 1 for priority 4 or more.
        for (order, expected) in [
            ([1, 2, 3, 4, 5, 6, 7], [0, 12, 0, 0, 0, 0, 0, 0]),
            ([7, 6, 5, 4, 3, 2, 1], [0, 6, 3, 2, 0, 0, 0, 1]),
            ([3, 7, 2, 4, 1, 5, 6], [0, 6, 3, 3, 0, 0, 0, 0]),
        ] {
            let (mut queue, _) = port(&FdpaParams::default(), 24, &Weights::equal());
            for priority in order {
                while queue.has_room(priority, 1500) {
                    queue.queues.push_back(priority, packet(0, 1500), ());
                }
            }
            let lengths: Vec<_> = (0..8).map(|priority| queue.queues.length(priority).packets).collect();
            assert_eq!(lengths, expected, "{order:?}");
        }
    }

    #[test]
    fn the_share_follows_the_rate_of_the_link() {
        let (mut queue, _) = port(&FdpaParams::default(), 100, &Weights::equal());
        // A burst of 10 packets over a memory of 0.1 s is 1.2 Mbit/s.
        (0..10).for_each(|_| assert_eq!(queue.priority(&packet(0, 1500), Time::from_secs(10)), 0));
        queue.set_link_rate(BitRate(1_000_000));
        assert_eq!(queue.priority(&packet(0, 0), Time::from_secs(10)), 1);
    }

    proptest! {
        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            queues in 2u32..64,
            queue_part in prop::sample::select(vec![0.001, 0.5, 0.999]),
            active_time in prop::sample::select(vec![1, 300]),
        ) {
            let active_time = Time::from_millis(active_time);
            let params = FdpaParams { queues, queue_part, active_time, ..Default::default() };
            prop_assert!(survives(SchemeParams::Fdpa(params), limit, &noise) <= 6);
        }
    }
}
