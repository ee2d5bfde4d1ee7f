//! Dynamic partition of reference rates: the ingress nodes of a user report what enters there, and a controller moves
//! the parts of the user's reference rate to where its traffic enters.
//!
//! Source: abc2018 III-F, which names distributed meters with a partition of R_r, but no algorithm. The rules are our
//! choice.
//!
//! | rule | at each multiple of `interval`, for each user |
//! | --- | --- |
//! | report | each node sends its number of bytes so far and its part |
//! | estimate | the rate r_i of node i: the mean since its last report, smoothed over `memory` |
//! | target | t_i = `floor`/n + (1 - `floor`) r_i / (r_1 + ... + r_n); 1/n if nothing arrives |
//! | grant | decreases at once, increases only from the unassigned rest, so that the parts in use never exceed R_r |
//! | answer | each node gets its part, `delay` after the report has reached the controller |
//! | lease | a node without an answer for `lease` uses 1/n at most; of a silent node, the controller keeps the part, and 1/n at most after twice `lease + interval` |
//!
//! Cost: two messages per user, node and interval.
//!
//! Deviations:
//! 1. Reports count the lengths of packets, without accounting factors of classes.
//! 2. Leases are checked when reports are sent.

use crate::base::elementary::fade;
use crate::contract::prelude::*;

params! {
    /// Dynamic partition of reference rates among the ingress nodes of users.
    pub struct ExchangeParams {
        /// Time between two reports of a node.
        interval: Time = "1 s", in "1 ms"..="1 h", source "our choice";
        /// One-way delay of messages between nodes and controller, at most half of `interval`.
        delay: Time = "0 s", in "0 s"..="1 h", source "our choice";
        /// Fraction of messages that are lost, in each direction.
        loss: f64 = 0.0, in 0.0..=1.0, source "our choice";
        /// Time constant of the controller's rate estimates.
        memory: Time = "3 s", in "1 ms"..="1 h", source "our choice";
        /// Fraction of the reference rate that is divided equally, so that traffic can start at any node.
        floor: f64 = 0.1, in 0.001..=1.0, source "our choice";
        /// Time without an answer after which a node uses at most an equal part; at least `interval`.
        lease: Time = "10 s", in "1 ms"..="720 h", source "our choice";
        /// Node that sends and receives no messages from `silent_from` until `silent_until`, or during the whole run.
        silent_node: Option<u32> = null, in 0..=63, source "our choice";
        /// Start of the silence of `silent_node`.
        silent_from: Option<Time> = null, in "0 s"..="720 h", source "our choice";
        /// End of the silence of `silent_node`.
        silent_until: Option<Time> = null, in "0 s"..="720 h", source "our choice";
    }
}

/// An ingress node of a user, and the controller's data about it.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Bytes that have entered here.
    bytes: u64,
    /// Part of the reference rate in use.
    part: f64,
    /// Time of the last answer.
    answered: Time,
    /// Bytes in the last report, and its time.
    reported: u64,
    heard: Time,
    /// Estimated rate in bytes per second.
    rate: f64,
    /// Upper bound of the part in use.
    bound: f64,
    /// Answer in flight.
    answer: Option<f64>,
}

/// The ingress nodes of a user.
#[derive(Clone, Debug)]
struct User {
    reference_rate: BitRate,
    nodes: Vec<Node>,
    next_report: Time,
    /// Arrival of the answers in flight; [`Time::NEVER`] without answers.
    next_answer: Time,
    rng: Rng,
}

/// The exchange between the ingress nodes of all users and the controller.
#[derive(Clone, Debug)]
pub struct Exchange {
    params: ExchangeParams,
    users: Vec<User>,
}

impl Exchange {
    /// Creates the exchange of no user.
    #[must_use]
    pub fn new(params: ExchangeParams) -> Self {
        Self { params, users: Vec::new() }
    }

    /// Adds a user with these initial parts of its reference rate, in any unit. `rng` draws lost messages.
    pub fn add(&mut self, reference_rate: BitRate, parts: &[f64], rng: Rng) {
        let total: f64 = parts.iter().sum();
        let nodes: Vec<_> = parts.iter().map(|part| Node::new(part / total)).collect();
        // A single node has all of the reference rate.
        let next_report = if nodes.len() > 1 { self.params.interval } else { Time::NEVER };
        self.users.push(User { reference_rate, nodes, next_report, next_answer: Time::NEVER, rng });
    }

    /// Counts a packet of `bytes` that enters at `node` of `user` at `now`. First handles all messages until `now`, and
    /// passes the reference rates after them to `set`, by node.
    #[inline]
    pub fn count(&mut self, user: usize, node: usize, bytes: u32, now: Time, set: impl FnMut(usize, BitRate)) {
        let state = &mut self.users[user];
        if state.next_report.min(state.next_answer) <= now {
            state.advance(&self.params, now, set);
        }
        state.nodes[node].bytes += u64::from(bytes);
    }
}

impl User {
    #[cold]
    fn advance(&mut self, params: &ExchangeParams, now: Time, mut set: impl FnMut(usize, BitRate)) {
        while self.next_report.min(self.next_answer) <= now {
            if self.next_answer <= self.next_report {
                self.take_answers();
            } else {
                self.report(params);
            }
        }
        for (number, node) in self.nodes.iter().enumerate() {
            // Rounded down, so that the sum does not exceed the whole.
            let rate = (self.reference_rate.as_f64() * node.part) as u64;
            set(number, BitRate(rate.max(1)));
        }
    }

    /// The nodes report, and the controller answers.
    fn report(&mut self, params: &ExchangeParams) {
        let at = self.next_report;
        self.next_report = at + params.interval;
        self.next_answer = at + params.delay + params.delay;
        let equal = 1.0 / self.nodes.len() as f64;
        for number in 0..self.nodes.len() {
            let arrives = self.arrives(params, number, at);
            let node = &mut self.nodes[number];
            if at.saturating_sub(node.answered) > params.lease {
                node.part = node.part.min(equal);
            }
            if arrives {
                node.take_report(params.memory, at);
            } else if at.saturating_sub(node.heard).0 / 2 > params.lease.0 + params.interval.0 {
                // For the second half of this time no answer was sent, so the lease of the node has expired.
                node.bound = node.bound.min(equal);
            }
        }
        let granted = self.grants(params, at);
        for (number, part) in granted.into_iter().enumerate() {
            let arrives = self.arrives(params, number, at);
            let node = &mut self.nodes[number];
            let answers = at.saturating_sub(node.heard) <= params.lease;
            if answers {
                node.bound = node.bound.max(part);
            }
            node.answer = (answers && arrives).then_some(part);
        }
    }

    /// Parts that the controller grants.
    fn grants(&self, params: &ExchangeParams, at: Time) -> Vec<f64> {
        let is_heard = |node: &Node| at.saturating_sub(node.heard) <= params.lease;
        // What silent nodes may use is not divided among the others.
        let kept: f64 = self.nodes.iter().filter(|node| !is_heard(node)).map(|node| node.bound).sum();
        let heard = self.nodes.iter().filter(|node| is_heard(node));
        let (total, number) = (heard.clone().map(|node| node.rate).sum::<f64>(), heard.count() as f64);
        let target = |node: &Node| match (is_heard(node), total > 0.0) {
            (false, _) => node.bound,
            (true, false) => (1.0 - kept) / number,
            (true, true) => (1.0 - kept) * (params.floor / number + (1.0 - params.floor) * node.rate / total),
        };
        let free = (1.0 - self.nodes.iter().map(|node| node.bound).sum::<f64>()).max(0.0);
        let wanted: f64 = self.nodes.iter().map(|node| (target(node) - node.bound).max(0.0)).sum();
        let filled = if wanted > free { free / wanted } else { 1.0 };
        let grant = |node: &Node| {
            let more = (target(node) - node.bound).max(0.0);
            if more > 0.0 { node.bound + more * filled } else { target(node) }
        };
        self.nodes.iter().map(grant).collect()
    }

    fn take_answers(&mut self) {
        let at = self.next_answer;
        self.next_answer = Time::NEVER;
        for node in &mut self.nodes {
            if let Some(part) = node.answer.take() {
                (node.part, node.answered) = (part, at);
            }
        }
    }

    /// Returns true if the next message to or from a node arrives.
    fn arrives(&mut self, params: &ExchangeParams, number: usize, at: Time) -> bool {
        let is_lost = params.loss > 0.0 && self.rng.open01() < params.loss;
        let (from, until) = (params.silent_from.unwrap_or(Time::ZERO), params.silent_until.unwrap_or(Time::NEVER));
        let is_silent = params.silent_node == Some(number as u32) && (from..until).contains(&at);
        !is_lost && !is_silent
    }
}

impl Node {
    fn new(part: f64) -> Self {
        let start = Time::ZERO;
        Self { bytes: 0, part, answered: start, reported: 0, heard: start, rate: 0.0, bound: part, answer: None }
    }

    fn take_report(&mut self, memory: Time, at: Time) {
        let elapsed_s = (at - self.heard).as_secs_f64();
        let measured = (self.bytes - self.reported) as f64 / elapsed_s;
        self.rate += fade(elapsed_s / memory.as_secs_f64()) * (measured - self.rate);
        (self.reported, self.heard, self.bound) = (self.bytes, at, self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use proptest::prelude::*;

    const RATE: BitRate = BitRate(1_000_000);

    /// A user with an equal part at each of `nodes`, and the reference rates in use.
    struct Fixture {
        exchange: Exchange,
        rates: Vec<BitRate>,
        now: Time,
    }

    impl Fixture {
        fn new(params: ExchangeParams, nodes: usize) -> Self {
            let mut exchange = Exchange::new(params);
            exchange.add(RATE, &vec![1.0; nodes], Rng::stream(1, 0, "test", 0));
            Self { exchange, rates: vec![BitRate(RATE.0 / nodes as u64); nodes], now: Time::ZERO }
        }

        /// Sends for some seconds; `weights` has the number of packets at each node every 10 ms.
        fn send(&mut self, seconds: u64, weights: &[u32]) {
            for _ in 0..100 * seconds {
                self.now += Time::from_millis(10);
                for (node, &packets) in weights.iter().enumerate() {
                    for _ in 0..packets {
                        self.exchange.count(0, node, 1500, self.now, |node, rate| self.rates[node] = rate);
                    }
                }
            }
        }

        fn parts(&self) -> Vec<f64> {
            self.rates.iter().map(|rate| (rate.as_f64() / RATE.as_f64() * 1e4).round() / 1e4).collect()
        }
    }

    #[test]
    fn parts_follow_the_traffic_except_for_the_floor() {
        let mut fixture = Fixture::new(ExchangeParams::default(), 4);
        fixture.send(40, &[3, 1, 0, 0]);
        // A tenth is divided equally, and nine tenths in the ratio 3 : 1.
        assert_eq!(fixture.parts(), [0.7, 0.25, 0.025, 0.025]);
        fixture.send(40, &[0, 0, 0, 1]);
        assert_eq!(fixture.parts(), [0.025, 0.025, 0.025, 0.925]);
    }

    #[test]
    fn a_new_node_gets_most_of_its_part_within_the_memory_and_two_rounds() {
        let params = ExchangeParams { delay: Time::from_millis(400), ..ExchangeParams::default() };
        let mut fixture = Fixture::new(params, 2);
        fixture.send(40, &[1, 0]);
        assert_eq!(fixture.parts(), [0.95, 0.05]);
        // The estimates need 3 s for 1 - 1/e of the change. Growth waits for a report of the reduced part.
        fixture.send(5, &[0, 1]);
        assert!(fixture.parts()[1] > 0.05 + 0.6 * 0.9 * 0.9, "{:?}", fixture.parts());
    }

    #[test]
    fn a_silent_node_keeps_its_part_for_the_lease_and_an_equal_part_after_it() {
        let params =
            ExchangeParams { silent_node: Some(0), silent_from: Some(Time::from_secs(40)), ..Default::default() };
        let mut fixture = Fixture::new(params, 2);
        fixture.send(40, &[3, 1]);
        assert_eq!(fixture.parts(), [0.725, 0.275]);
        fixture.send(9, &[3, 1]);
        assert_eq!(fixture.parts(), [0.725, 0.275]);
        fixture.send(40, &[3, 1]);
        assert_eq!(fixture.parts(), [0.5, 0.5]);
    }

    #[test]
    fn a_user_with_one_node_exchanges_nothing() {
        let mut fixture = Fixture::new(ExchangeParams::default(), 1);
        fixture.send(10, &[1]);
        assert_eq!(fixture.rates, [RATE]);
    }

    proptest! {
        #[test]
        fn the_parts_in_use_never_exceed_the_whole(
            nodes in 2usize..6,
            loss in 0.0..0.9,
            interval_ms in 100u64..3000,
            lease_ms in 0u64..8000,
            silent in prop::option::of(0u32..6),
            load in prop::collection::vec(prop::collection::vec(0u32..4, 6), 1..12),
        ) {
            let interval = Time::from_millis(interval_ms);
            let params = ExchangeParams {
                interval,
                loss,
                delay: Time(interval.0 / 2),
                lease: interval + Time::from_millis(lease_ms),
                silent_node: silent,
                silent_from: Some(Time::from_secs(5)),
                silent_until: Some(Time::from_secs(20)),
                ..ExchangeParams::default()
            };
            let mut fixture = Fixture::new(params, nodes);
            for weights in load {
                fixture.send(4, &weights[..nodes]);
                let sum: f64 = fixture.exchange.users[0].nodes.iter().map(|node| node.part).sum();
                prop_assert!(sum <= 1.0 + 1e-9, "{:?}", fixture.exchange);
                prop_assert!(fixture.rates.iter().map(|rate| rate.0).sum::<u64>() <= RATE.0, "{:?}", fixture.rates);
            }
        }
    }
}
