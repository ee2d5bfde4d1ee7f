//! Stochastic fair queueing: hashes flows into a few queues, serves these in turn, and changes the hash periodically.
//!
//! Source: P. McKenney, "Stochastic fairness queueing", INFOCOM 1990; the code of Linux (`sch_sfq.c`) and of ns-2
//! (`sfq.cc`).
//!
//! | rule | `linux` | `ns2` |
//! |---|---|---|
//! | (1) turn | `allot <= 0`: `allot += quantum`, move to the end; else send one packet, `allot -= L` | send one packet, move to the end |
//! | (2) arrival | dropped if its queue holds `depth` packets, or if its queue is empty and `flows` queues are in use | dropped if its queue holds half of the free space `left`, or if `left < buckets` and the queue holds more than `limit / buckets`, or if `left` is 0 |
//! | (3) buffer full | drop the last packet of the queue with most packets | as (2) |
//! | (4) perturbation | every `perturb`: new hash, waiting packets move to their new queues | as `linux`; ns-2 has none |
//! | defaults | 1024 buckets, 128 flows, depth 127, quantum 1514 B, limit 127 packets | 16 buckets, limit 40 packets |
//!
//! Code: (1) `Sfq::next_queue`, `Sfq::dequeue`; (2) `Sfq::refuses`; (3) `Sfq::make_room`; (4) `Sfq::perturb`. `left` is
//! the limit minus the backlog. Start-time fair queueing, also called SFQ, is a different scheme,
//! [`crate::fairqueue::stfq`].
//!
//! Cost: one hash and O(1) per packet; a perturbation moves all waiting packets. State: 4 bytes per bucket, and 76
//! bytes for each queue in use, at most `flows`; no state per flow.
//!
//! Deviations:
//! 1. The limit is the buffer limit; with `ns2` it must be in packets.
//! 2. With `ns2` an empty port stores any packet; ns-2 would drop the packet if the limit is 1.
//! 3. Rounds in which all queues have a negative `allot` are skipped in one step.
//! 4. A perturbation takes effect at the next packet; of several missed perturbations, only one takes effect.
//! 5. The hash is uniform and seeded; ns-2 uses a fixed sum of addresses.
//! 6. Classes have no effect.
//!
//! Not implemented: head drop and RED within the queues of Linux; weights (the sources above have none).

use crate::contract::prelude::*;
use crate::fairqueue::intrusive_list::{IntrusiveList, NIL};
use crate::fairqueue::queue_store::{LengthMeasure, QueueStore};
use crate::fairqueue::skip_rounds::skip_rounds;
use crate::flows::hash::{bucket, hash};
use crate::measure::ticker::Ticker;

choices! {
    /// Implementation whose rules for turns and drops apply.
    pub enum SfqProfile {
        /// Turns in bytes; drops from the longest queue.
        Linux = "linux",
        /// Turns in packets; drops arriving packets.
        Ns2 = "ns2",
    }
}

params! {
    /// Stochastic fair queueing.
    pub struct SfqParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "McKenney 1990: the flow";
        /// Rules for turns and drops.
        profile: SfqProfile = "linux", source "Linux sch_sfq.c, ns-2 sfq.cc";
        /// Number of hash buckets.
        buckets: u32 = 1024, in 1..=65536, source "Linux: divisor 1024; ns-2: 16";
        /// Maximum number of queues in use (`linux`).
        flows: u32 = 128, in 1..=65536, source "Linux: 128";
        /// Maximum number of packets in one queue (`linux`).
        depth: u32 = 127, in 1..=65536, source "Linux: 127";
        /// Bytes that a queue may send per turn (`linux`).
        quantum: Bytes = "1514 B", in "1 B"..="1 MB", source "Linux: length of a full frame";
        /// Time between changes of the hash; 0 for none.
        perturb: Time = "0 s", in "0 s"..="24 h", source "Linux: 0, 10 s is usual";
    }
}

/// Registry entry of stochastic fair queueing.
#[derive(Clone, Copy, Debug)]
pub struct SfqScheme;

impl SchemeSpec for SfqScheme {
    const ABOUT: About = About {
        title: "Stochastic fair queueing",
        kind: "hashed queues served in turn; drops from the longest, or at arrival",
        summary: "Hashes flows into queues that are served in turn, and may change the hash periodically so that no \
                  two flows share a queue permanently.",
        source: "McKenney 1990; Linux sch_sfq; ns-2",
        state: "port: 1024 buckets, at most 128 queues with 1 number each",
        flow_state: FlowState::Table,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = SfqParams;
    type Discipline<P: Packet> = Sfq<P>;

    fn check(params: &SfqParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        match (params.profile, buffer.limit) {
            (SfqProfile::Ns2, QueueLimit::Bytes(_)) => {
                let problem =
                    format!("\"{}\" is in bytes, it must be in packets: profile ns2 counts packets", buffer.limit);
                Err(ConfigError::new(table.key("limit"), problem))
            }
            _ => Ok(()),
        }
    }

    fn build<P: Packet>(params: &SfqParams, port: &Port<'_>) -> Sfq<P> {
        Sfq::new(params, port.buffer.limit)
    }
}

/// A queue in use.
#[derive(Clone, Copy, Debug)]
struct Slot {
    bucket: u32,
    /// Bytes that the queue may still send in this turn; negative if it has sent too much.
    allot: f64,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    queues: QueueStore<P, (), Slot>,
    /// The queue of each bucket, or [`NIL`].
    of_bucket: Box<[u32]>,
    round: IntrusiveList,
    /// Drawn at the first packet and at each perturbation.
    seed: Option<u64>,
    perturbation: Option<Ticker>,
    params: SfqParams,
    limit: QueueLimit,
}

impl<P: Packet> Sfq<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &SfqParams, limit: QueueLimit) -> Self {
        Self {
            queues: QueueStore::new(LengthMeasure::Packets),
            of_bucket: vec![NIL; params.buckets as usize].into(),
            round: IntrusiveList::default(),
            seed: None,
            perturbation: (params.perturb > Time::ZERO).then(|| Ticker::new(params.perturb)),
            params: params.clone(),
            limit,
        }
    }

    fn bucket_of(&mut self, packet: &P, rng: &mut Rng) -> usize {
        let seed = *self.seed.get_or_insert_with(|| rng.bits());
        bucket(hash(self.params.share_per.of(packet), seed), self.params.buckets)
    }

    /// Returns true if rule (2) rejects a packet for a queue with `used` packets.
    fn refuses(&self, used: u32) -> bool {
        let backlog = self.queues.backlog().packets;
        match (self.params.profile, self.limit) {
            (SfqProfile::Ns2, QueueLimit::Packets(limit)) => {
                let left = limit.saturating_sub(backlog);
                let crowded = left < self.params.buckets && used > limit / self.params.buckets;
                left == 0 || (backlog > 0 && (used >= left / 2 || crowded))
            }
            _ => used >= self.params.depth || (used == 0 && self.queues.open_queues() >= self.params.flows as usize),
        }
    }

    /// Stores a packet in the queue of `bucket` and returns the queue, or returns the packet if rule (2) rejects it.
    fn store(&mut self, packet: P, bucket: usize) -> Result<u32, P> {
        let mut queue = self.of_bucket[bucket];
        if self.refuses(if queue == NIL { 0 } else { self.queues.length(queue).packets }) {
            return Err(packet);
        }
        if queue == NIL {
            queue = self.queues.open(Slot { bucket: bucket as u32, allot: self.params.quantum.0 as f64 });
            self.of_bucket[bucket] = queue;
            self.round.push_back(self.queues.elements(), queue);
        }
        self.queues.push_back(queue, packet, ());
        Ok(queue)
    }

    fn leave(&mut self, queue: u32) {
        self.round.remove(self.queues.elements(), queue);
        self.of_bucket[self.queues[queue].bucket as usize] = NIL;
        self.queues.close(queue);
    }

    /// Applies rule (3).
    fn make_room(&mut self, offered: u32, found: Backlog, drops: &mut impl DropSink<P>) {
        while self.queues.exceeds(self.limit) {
            let longest = self.queues.longest().expect("more waits than the limit");
            let (packet, ()) = self.queues.pop_back(longest).expect("the longest queue holds a packet");
            let reason = if longest == offered { DropReason::Overlimit } else { DropReason::PushedOut };
            drops.dropped(&packet, reason, found);
            if self.queues.length(longest).packets == 0 {
                self.leave(longest);
            }
        }
    }

    /// Applies rule (4) if it is due.
    fn perturb(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let Some(ticker) = &mut self.perturbation else { return };
        if ticker.due(now).is_none() {
            return;
        }
        ticker.skip_to(now);
        self.seed = Some(rng.bits());
        let mut waiting = Vec::with_capacity(self.queues.backlog().packets as usize);
        while let Some(queue) = self.round.front() {
            waiting.extend(std::iter::from_fn(|| self.queues.pop_front(queue)));
            self.leave(queue);
        }
        for (packet, ()) in waiting {
            let bucket = self.bucket_of(&packet, rng);
            if let Err(packet) = self.store(packet, bucket) {
                drops.dropped(&packet, DropReason::PushedOut, self.queues.backlog());
            }
        }
    }

    /// Skips the rounds in which all queues have a negative allotment.
    fn skip_rounds(&mut self) {
        let quantum = self.params.quantum.0 as f64;
        // Allotments are integers, so a queue may send when its allotment is 1. Counts the visits that raise the
        // allotment to 1, and the visit after them.
        let visits =
            |queues: &QueueStore<P, (), Slot>, queue| ((1.0 - queues[queue].allot) / quantum).ceil().max(0.0) + 1.0;
        skip_rounds(&mut self.queues, &self.round, visits, |slot, rounds| slot.allot += rounds * quantum);
    }

    fn move_to_end(&mut self, queue: u32) {
        self.round.remove(self.queues.elements(), queue);
        self.round.push_back(self.queues.elements(), queue);
    }

    /// Queue whose turn it is: rule (1).
    fn next_queue(&mut self) -> Option<u32> {
        let mut first_in_debt = None;
        loop {
            let queue = self.round.front()?;
            if self.params.profile == SfqProfile::Ns2 || self.queues[queue].allot > 0.0 {
                return Some(queue);
            }
            if first_in_debt == Some(queue) {
                self.skip_rounds();
            }
            first_in_debt = first_in_debt.or(Some(queue));
            self.queues[queue].allot += self.params.quantum.0 as f64;
            self.move_to_end(queue);
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for Sfq<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        self.perturb(now, rng, drops);
        let found = self.queues.backlog();
        packet.set_enqueued_at(now);
        let bucket = self.bucket_of(&packet, rng);
        let fits = Backlog::default().has_room_for(packet.wire_bytes(), self.limit);
        match if fits { self.store(packet, bucket) } else { Err(packet) } {
            Ok(queue) => self.make_room(queue, found, drops),
            Err(packet) => drops.dropped(&packet, DropReason::Overlimit, found),
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        self.perturb(now, rng, drops);
        let queue = self.next_queue()?;
        let (packet, ()) = self.queues.pop_front(queue)?;
        if self.queues.length(queue).packets == 0 {
            self.leave(queue);
        } else if self.params.profile == SfqProfile::Ns2 {
            self.move_to_end(queue);
        } else {
            self.queues[queue].allot -= f64::from(packet.wire_bytes());
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_size(&self) -> StateSize {
        let bytes = size_of_val(self) + size_of_val(&*self.of_bucket) + self.queues.state_bytes();
        StateSize { records: self.queues.open_queues(), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{assert_max_min, build, drain, limits, noise, offer, packet, survives};
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket, refusal};
    use proptest::prelude::*;
    use serde_json::json;

    fn ns2() -> SfqParams {
        SfqParams { profile: SfqProfile::Ns2, buckets: 16, ..Default::default() }
    }

    fn port(params: &SfqParams, limit: u32) -> (Sfq<TestPacket>, Rng) {
        build::<SfqScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    /// Returns flows that hash into different buckets.
    fn apart(queue: &mut Sfq<TestPacket>, rng: &mut Rng, count: usize) -> Vec<u32> {
        let mut taken = std::collections::HashSet::new();
        (0..).filter(|&flow| taken.insert(queue.bucket_of(&packet(flow, 0), rng))).take(count).collect()
    }

    #[test]
    fn turns_are_worth_bytes_in_linux_and_packets_in_ns2() {
        for (params, expected) in [(SfqParams::default(), [0, 0, 1, 0, 1, 1]), (ns2(), [0, 1, 0, 1, 0, 1])] {
            let (mut queue, mut rng) = port(&params, 127);
            let flows = apart(&mut queue, &mut rng, 2);
            // Flow 0 may send 1514 bytes. After two packets of 800 bytes its allotment is -86 bytes. In its next turn
            // the flow has 1428 bytes, enough for two packets.
            offer(&mut queue, &mut rng, flows[0], &[800, 800, 800]);
            offer(&mut queue, &mut rng, flows[1], &[1600, 800, 800]);
            let order: Vec<_> =
                drain(&mut queue, &mut rng).iter().map(|&(flow, _)| u32::from(flow != flows[0])).collect();
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn linux_drops_the_tail_of_the_queue_with_most_packets() {
        let (mut queue, mut rng) = port(&SfqParams::default(), 4);
        let flows = apart(&mut queue, &mut rng, 2);
        assert!(offer(&mut queue, &mut rng, flows[0], &[10, 20, 30]).0.is_empty());
        let drops = offer(&mut queue, &mut rng, flows[1], &[1500, 1400]);
        // The longest queue is the queue with most packets: 3 packets with 60 bytes in total count more than one packet
        // of 1500 bytes.
        let log: Vec<_> = drops.0.iter().map(|drop| (drop.0.wire_bytes, drop.1)).collect();
        assert_eq!(log, [(30, DropReason::PushedOut)]);
        assert_eq!(offer(&mut queue, &mut rng, flows[1], &[40]).0[0].1, DropReason::Overlimit);
    }

    #[test]
    fn linux_limits_the_depth_of_a_queue_and_their_number() {
        let (mut queue, mut rng) = port(&SfqParams { flows: 2, depth: 3, ..Default::default() }, 100);
        let flows = apart(&mut queue, &mut rng, 3);
        assert_eq!(offer(&mut queue, &mut rng, flows[0], &[1; 5]).0.len(), 2);
        assert_eq!(offer(&mut queue, &mut rng, flows[1], &[1; 1]).0.len(), 0);
        assert_eq!(offer(&mut queue, &mut rng, flows[2], &[1; 2]).0.len(), 2);
        assert_eq!(queue.state_size().records, 2);
    }

    #[test]
    fn ns2_drops_at_arrival_by_what_is_left() {
        // The limit is 40. Packets of one flow are stored while used < left / 2 = (40 - used) / 2. So 13 are stored,
        // since 13 < 27 / 2 = 13 is false.
        let (mut queue, mut rng) = port(&ns2(), 40);
        let flows = apart(&mut queue, &mut rng, 3);
        assert_eq!(offer(&mut queue, &mut rng, flows[0], &[1500; 40]).0.len(), 27);
        // Packets of the next flow are stored while used < (27 - used) / 2, so 9 are. Then left is 18, and 6 packets of
        // the third flow are stored. Then left is 12, less than 16 buckets, so packets of queues with more than 40 / 16
        // = 2 packets are rejected.
        assert_eq!(offer(&mut queue, &mut rng, flows[1], &[1500; 20]).0.len(), 11);
        assert_eq!(queue.backlog().packets, 22);
        // While the third flow has 0, 1 or 2 packets, left is 18, 17 or 16. With 3 packets, left is 15, less than the
        // 16 buckets, and 3 > 2, so the next packet is rejected.
        assert_eq!(offer(&mut queue, &mut rng, flows[2], &[1500; 20]).0.len(), 17);
        // An empty port stores a packet even if the rule of ns-2 rejects it.
        let (mut queue, mut rng) = port(&ns2(), 1);
        assert_eq!(offer(&mut queue, &mut rng, 0, &[1500; 2]).0.len(), 1);
    }

    #[test]
    fn perturbation_parts_flows_that_share_a_queue() {
        let params = SfqParams { buckets: 64, perturb: Time::from_secs(10), ..Default::default() };
        let (mut queue, mut rng) = port(&params, 127);
        let home = queue.bucket_of(&packet(0, 0), &mut rng);
        let other = (1..).find(|&flow| queue.bucket_of(&packet(flow, 0), &mut rng) == home).unwrap();
        for flow in [0, 0, other, other] {
            offer(&mut queue, &mut rng, flow, &[1500]);
        }
        assert_eq!(queue.state_size().records, 1);
        let mut drops = Drops::default();
        let first = queue.dequeue(Time::from_secs(35), &mut rng, &mut drops).unwrap();
        // With 64 buckets, both flows get the same bucket with probability 1/64. This seed gives different buckets.
        assert_eq!((first.flow, queue.state_size().records, drops.0.len()), (0, 2, 0));
        let seed = queue.seed;
        queue.dequeue(Time::from_millis(39_999), &mut rng, &mut drops);
        assert_eq!(queue.seed, seed);
        queue.dequeue(Time::from_secs(40), &mut rng, &mut drops);
        assert_ne!(queue.seed, seed);
    }

    #[test]
    fn perturbation_drops_what_has_no_room_in_its_new_queue() {
        let params = SfqParams { buckets: 1, depth: 2, perturb: Time::from_secs(1), ..Default::default() };
        let (mut queue, mut rng) = port(&params, 127);
        offer(&mut queue, &mut rng, 0, &[1, 2]);
        queue.params.depth = 1;
        let mut drops = Drops::default();
        queue.dequeue(Time::from_secs(1), &mut rng, &mut drops);
        assert_eq!((drops.0[0].0.wire_bytes, drops.0[0].1), (2, DropReason::PushedOut));
    }

    #[test]
    fn flows_in_different_queues_share_alike() {
        assert_max_min::<SfqScheme>(&SfqParams::default(), 127, [1.0; 3], 0.02);
    }

    #[test]
    fn ns2_needs_a_limit_in_packets() {
        assert_eq!(
            refusal(json!({"scheme": "sfq", "profile": "ns2", "limit": "50 kB"})),
            "queue.limit: \"50000 B\" is in bytes, it must be in packets: profile ns2 counts packets"
        );
    }

    proptest! {
        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            buckets in prop::sample::select(vec![1, 3, 1024]),
            (flows, depth) in (1u32..5, 1u32..30),
            quantum in prop::sample::select(vec![1, 1514]),
            profile in prop::sample::select(vec![SfqProfile::Linux, SfqProfile::Ns2]),
            perturb in prop::sample::select(vec![0, 1, 5000]),
        ) {
            let in_packets = matches!(limit, QueueLimit::Packets(_));
            let profile = if in_packets { profile } else { SfqProfile::Linux };
            let (quantum, perturb) = (Bytes(quantum), Time::from_millis(perturb));
            let params = SfqParams { share_per: FlowKey::Flow, profile, buckets, flows, depth, quantum, perturb };
            prop_assert_eq!(survives(SchemeParams::Sfq(params), limit, &noise), 0);
        }
    }
}
