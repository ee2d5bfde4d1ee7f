//! SFB (stochastic fair BLUE): hashes every flow into several bins, each with a BLUE probability. Detects
//! non-responsive flows by these probabilities and limits their rate.
//!
//! Source: Feng, Kandlur, Saha and Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness",
//! INFOCOM 2001 (sfb2001). The parameters are those of section 4 of the AFC paper ([`super::afc`]), which runs the
//! authors' ns code in its default configuration ("ns" below) with 2 x 23 bins. The head of XNU's `classq_sfb.c`, which
//! is based on the ns code, documents this configuration.
//!
//! | number | rule for a packet, in the bin of each level that its flow hashes to | code |
//! |---|---|---|
//! | (1) | `qlen = 0`: `p -= decrement`; `qlen >= bin_size`: `p += increment`; at most one change in a random time from `freeze` to `freeze_most` | `Bins::judge`, `Bin::change` |
//! | (2) | `p_min` = smallest p over the levels | `Bins::judge` |
//! | (3) | `p_min >= unresponsive_at`: the flow does not react; the packet passes if the rate limit has tokens, else it is dropped; a stored packet uses tokens | `Sfb::admit`, `Sfb::accepted` |
//! | (4) | else drop or mark with `p_min` | `Sfb::admit` |
//! | (5) | stored: `qlen += 1` in all its bins, `qlen -= 1` when it leaves | `Bins::count`, `Bins::release` |
//!
//! Two sets of bins have separate hash functions. One set decides. The other set warms up: flows of rule (3) update its
//! bins, and in the last `warm_up` of an interval (`rehash`) all flows do. Then the sets change roles, and the set that
//! has decided is reset with new hash functions.
//!
//! By SFB's definition, rules (3) and (4) may drop a packet at an idle port.
//!
//! Cost: per packet and level, one hash at the arrival and one at the departure (two each while all flows update both
//! sets); one random number per arrival. State: 24 bytes per bin and set. Only `penalty = "per_flow"` keeps state per
//! flow: a token bucket for each flow of rule (3), until the hash functions change.
//!
//! Deviations:
//! 1. When a packet leaves, its bins are computed again from its flow, and its enqueueing time shows which sets have
//!    counted it. Packets carry no data for this.
//! 2. In the paper the second set learns only from flows of rule (3) (`warm_up` 0). Here every arrival of such a flow
//!    raises the flow's bins in the second set (one change per `freeze`), as in Linux late in the interval. Few packets
//!    of the flow are stored, so their number would not show that the flow is non-responsive.
//! 3. ns draws its hold time at random from 10 to 50 ms, but we do not know at which times. Here the hold time is drawn
//!    whenever a bin may change. It must be far below `rehash * increment`.
//! 4. sfb2001 does not specify the rate limiter. Ours is a token bucket, shared by all flows of rule (3) or separate
//!    for each. Only stored packets use tokens; in XNU, packets that the full buffer drops also use tokens.

mod bins;
mod params;
mod token_bucket;

use self::bins::{Bin, Bins, Hold};
pub use self::params::{DecrementAt, Penalty, SfbParams, SfbProfile};
use self::token_bucket::TokenBucket;
use crate::contract::prelude::*;
use crate::flows::flow_table::FlowTable;
use crate::queue::managed_queue::ManagedQueue;

/// Registry entry of SFB.
#[derive(Clone, Copy, Debug)]
pub struct SfbScheme;

impl SchemeSpec for SfbScheme {
    const ABOUT: About = About {
        title: "Stochastic fair BLUE",
        kind: "one queue, or one per class; drops or marks the arriving packet",
        summary: "Hashes flows into bins with a BLUE probability each; a flow whose bins all reach 1 is \
                  non-responsive, and its rate is limited.",
        source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue, INFOCOM 2001",
        state: "port: 2 sets of L*N bins with queue length, probability, time of its last change; flow: none",
        flow_state: FlowState::Table,
        order: Order::Fifo,
    };
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = SfbParams;
    type Discipline<P: Packet> = ManagedQueue<P, Sfb>;

    fn check(params: &SfbParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        let error = |name, problem| Err(ConfigError::new(table.key(name), problem));
        if let (Some(bin_size), QueueLimit::Packets(limit)) = (params.bin_size, buffer.limit)
            && bin_size > limit
        {
            let problem = format!(
                "{bin_size} is out of range, it must be from 1 to the limit of the queue, {limit}: no bin would ever \
                 be full"
            );
            return error("bin_size", problem);
        }
        let below = |most, name, least, top| {
            format!("\"{most}\" is out of range, it must be from {name}, \"{least}\", to {top}")
        };
        if params.freeze_most < params.freeze {
            return error("freeze_most", below(params.freeze_most, "freeze", params.freeze, "100 s"));
        }
        if params.rehash_most < params.rehash {
            return error("rehash_most", below(params.rehash_most, "rehash", params.rehash, "1 h"));
        }
        if params.warm_up > params.rehash {
            let problem =
                format!("\"{}\" is out of range, it must be from 0 s to rehash, \"{}\"", params.warm_up, params.rehash);
            return error("warm_up", problem);
        }
        Ok(())
    }

    fn build<P: Packet>(params: &SfbParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Sfb::new(params, port.buffer))
    }
}

/// Default bin size: one and a half times a bin's share of a full buffer.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn automatic_bin_size(bins: u32, buffer: &BufferParams) -> u32 {
    let packets = match buffer.limit {
        QueueLimit::Packets(packets) => f64::from(packets),
        QueueLimit::Bytes(bytes) => bytes as f64 / buffer.mtu.0 as f64,
    };
    f64::max(2.0, (1.5 * packets / f64::from(bins)).round()) as u32
}

/// SFB at one port.
#[derive(Clone, Debug)]
pub struct Sfb {
    /// The set of bins that decides about drops, and the set that warms up.
    sets: [Bins; 2],
    next_rehash: Option<Time>,
    hold: Box<Hold>,
    shared: TokenBucket,
    /// Buckets of non-responsive flows, with [`Penalty::PerFlow`]; deleted when the hash functions change.
    buckets: Box<FlowTable<TokenBucket>>,
    probability: f64,
    penalised: u64,
    /// True if the last admitted packet is subject to the rate limit. Such a packet uses tokens when it is stored.
    limited: bool,
    /// Limit in packets, used by Linux.
    limit: u32,
    params: Box<SfbParams>,
}

impl Sfb {
    /// Creates the state of a port before its first packet, with the limit of `buffer`.
    #[must_use]
    pub fn new(params: &SfbParams, buffer: &BufferParams) -> Self {
        let params = &params.fixed();
        let full_at = params.bin_size.unwrap_or_else(|| automatic_bin_size(params.bins, buffer));
        Self {
            sets: [Bins::new(params, full_at), Bins::new(params, full_at)],
            next_rehash: None,
            hold: Box::new(Hold::new(params, 0)),
            shared: TokenBucket::full(params, Time::ZERO),
            buckets: Box::default(),
            probability: 0.0,
            penalised: 0,
            limited: false,
            limit: if let QueueLimit::Packets(packets) = buffer.limit { packets } else { u32::MAX },
            params: Box::new(params.clone()),
        }
    }

    /// Changes the hash functions at the first arrival after a change is due. Packets that leave in between are removed
    /// from the counts of the old set. A change at the due time would make no other difference.
    fn rehash(&mut self, now: Time, rng: &mut Rng) {
        let Some(first) = self.next_rehash else {
            self.sets.iter_mut().for_each(|set| set.restart(rng));
            *self.hold = Hold::new(&self.params, rng.bits());
            self.sets[0].counts_since = Time::ZERO;
            self.next_rehash = Some(now + self.interval(rng));
            return self.begin_warm_up(now);
        };
        let mut next = first;
        // Two changes reset all bins, so further changes can be skipped.
        for _ in 0..2 {
            if now < next {
                break;
            }
            self.begin_warm_up(next);
            self.sets.swap(0, 1);
            self.sets[1].restart(rng);
            self.sets[0].counts_since = self.sets[0].counts_since.min(next);
            self.buckets.clear();
            next += self.interval(rng);
            self.next_rehash = Some(next);
        }
        if now >= next {
            self.next_rehash = Some(now + self.interval(rng));
        }
        self.begin_warm_up(now);
    }

    fn interval(&self, rng: &mut Rng) -> Time {
        let (least, most) = (self.params.rehash, self.params.rehash_most);
        if least == most {
            return least;
        }
        least + Time::from_secs_f64(rng.open01() * (most - least).as_secs_f64())
    }

    /// Starts counting in the second set, `warm_up` before the next change.
    fn begin_warm_up(&mut self, now: Time) {
        let start = self.next_rehash.map_or(Time::NEVER, |next| next.saturating_sub(self.params.warm_up));
        if now >= start && self.params.warm_up > Time::ZERO {
            self.sets[1].counts_since = self.sets[1].counts_since.min(start);
        }
    }

    fn is_warming(&self) -> bool {
        self.sets[1].counts_since != Time::NEVER
    }

    /// Bucket of a non-responsive flow: rule (3).
    fn bucket(&mut self, key: u32, now: Time) -> (&mut TokenBucket, &SfbParams) {
        let params = &*self.params;
        let bucket = match params.penalty {
            Penalty::Shared => &mut self.shared,
            Penalty::PerFlow => self.buckets.or_insert_with(key, || TokenBucket::full(params, now)),
        };
        (bucket, params)
    }
}

impl Aqm for Sfb {
    fn admit<P: Packet>(&mut self, packet: &P, queue: &QueueView, now: Time, rng: &mut Rng) -> Verdict {
        let is_linux = self.params.is_linux();
        if is_linux && queue.backlog.packets >= self.limit {
            return Verdict::Accept; // (L2): the buffer drops it
        }
        self.rehash(now, rng);
        let key = self.params.share_per.of(packet);
        let judgement = self.sets[0].judge(key, now, &self.params, &mut self.hold);
        let reacts = judgement.probability < self.params.unresponsive_at;
        if !reacts {
            self.sets[1].accuse(key, now, &self.params, &mut self.hold);
        } else if self.is_warming() {
            self.sets[1].judge(key, now, &self.params, &mut self.hold);
        }
        self.probability = judgement.probability;
        let is_over = self.params.bin_limit.is_some_and(|limit| judgement.fewest_packets >= limit);
        if is_linux && is_over {
            return Verdict::Drop;
        }
        if is_linux && !reacts {
            let passes = self.shared.take_token(now, &self.params);
            self.penalised += u64::from(!passes);
            return if passes { Verdict::Accept } else { Verdict::Drop };
        }
        self.limited = !reacts;
        if !reacts {
            let (bucket, params) = self.bucket(key, now);
            let passes = bucket.has_room(packet.wire_bytes(), now, params);
            self.penalised += u64::from(!passes);
            return if passes { Verdict::Accept } else { Verdict::Drop };
        }
        if is_over {
            return Verdict::Drop;
        }
        if judgement.probability == 0.0 {
            return Verdict::Accept;
        }
        let drawn = rng.open01();
        if drawn > judgement.probability {
            Verdict::Accept
        } else if is_linux && drawn < 2.0 * judgement.probability - 1.0 {
            Verdict::Drop // (L3)
        } else if self.params.ecn {
            Verdict::Mark
        } else {
            Verdict::Drop // rule (4)
        }
    }

    fn accepted<P: Packet>(&mut self, packet: &mut P, now: Time) {
        let key = self.params.share_per.of(packet);
        if self.limited {
            self.bucket(key, now).0.spend(packet.wire_bytes());
        }
        self.sets[0].count(key);
        if self.is_warming() {
            self.sets[1].count(key);
        }
    }

    fn departed<P: Packet>(&mut self, packet: &P, _: Backlog, now: Time) {
        let (key, params) = (self.params.share_per.of(packet), &*self.params);
        for set in &mut self.sets {
            set.release((key, packet.enqueued_at()), now, params, &mut self.hold);
        }
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.probability)
    }

    fn state_size(&self) -> StateSize {
        let bins: usize = self.sets.iter().map(|set| set.bins.len()).sum();
        let heap = bins * size_of::<Bin>()
            + self.sets.iter().map(|set| size_of_val(&*set.seeds)).sum::<usize>()
            + size_of_val(&*self.params)
            + size_of_val(&*self.hold)
            + size_of_val(&*self.buckets);
        StateSize { records: bins + self.buckets.len(), bytes: size_of_val(self) + heap + self.buckets.bytes() }
    }

    fn report(&self, report: Report<'_>) {
        let certain = |bin: &&Bin| f64::from(bin.probability) >= self.params.unresponsive_at;
        report("unresponsive_bins", self.sets[0].bins.iter().filter(certain).count() as f64);
        report("rate_limit_drops", self.penalised as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, readings, refusal, view};
    use serde_json::json;

    const RATE: BitRate = BitRate(10_000_000);

    struct Host {
        queue: ManagedQueue<TestPacket, Sfb>,
        rng: Rng,
        drops: Drops,
    }

    impl Host {
        fn new(params: &SfbParams) -> Self {
            let buffer = BufferParams { limit: QueueLimit::Packets(1000), ..Default::default() };
            let queue = ManagedQueue::new(&buffer, RATE, Sfb::new(params, &buffer));
            Self { queue, rng: Rng::stream(1, 0, "test", 0), drops: Drops::default() }
        }

        fn offer(&mut self, flow: u32, now: Time) {
            let packet = TestPacket { flow, wire_bytes: 1000, ..Default::default() };
            self.queue.enqueue(packet, now, &mut self.rng, &mut self.drops);
        }

        fn serve(&mut self, now: Time) -> Option<u32> {
            self.queue.dequeue(now, &mut self.rng, &mut self.drops).map(|packet| packet.flow)
        }
    }

    #[test]
    fn rule_3_limits_a_flow_that_does_not_react_and_spares_the_rest() {
        // At 5 Mbit/s a packet of 1000 B takes 1.6 ms. Flow 0 offers the link rate. Each of 100 other flows always has
        // three packets in the queue. With `drain`, bins that never empty keep their probability.
        let mut host = Host::new(&SfbParams {
            bin_size: Some(20),
            freeze: Time::from_millis(10),
            freeze_most: Time::from_millis(10),
            decrement_at: DecrementAt::Arrival,
            unresponsive_at: 1.0,
            rehash: Time::from_secs(20),
            rehash_most: Time::from_secs(20),
            warm_up: Time::from_secs(2),
            ..Default::default()
        });
        let (mut held, mut delivered) = ([0u32; 101], [0u32; 101]);
        for slot in 0..62_500u64 {
            let now = Time::from_micros(1600 * slot);
            for flow in 0..=100 {
                if flow == 0 || held[flow as usize] < 3 {
                    let before = host.queue.backlog().packets;
                    host.offer(flow, now);
                    held[flow as usize] += host.queue.backlog().packets - before;
                }
            }
            let flow = host.serve(now).unwrap() as usize;
            held[flow] -= 1;
            delivered[flow] += u32::from(slot > 31_250);
        }
        // The rate limit is 49.5 kbit/s, or 309 packets in 50 s.
        assert!(delivered[0].abs_diff(309) < 31, "{delivered:?}");
        // The other flows do not respond either and share the rest, on average 309 packets each. With two levels of 23
        // bins the shares are uneven, but half of the flows get at least two thirds of the average.
        let mut others = delivered[1..].to_vec();
        others.sort_unstable();
        assert!(others[50] > 206, "{others:?}");
        assert!(host.queue.drop_probability().is_some());
        let readings = readings(|report| host.queue.report(report));
        assert!(readings[0].1 >= 2.0 && readings[1].1 > 10_000.0, "{readings:?}");
    }

    #[test]
    fn buckets_hold_the_rate_shared_or_per_flow() {
        let passed = |penalty| {
            let params = SfbParams { penalty, penalty_rate: BitRate(80_000), ..Default::default() };
            let mut sfb = Sfb::new(&params, &BufferParams::default());
            (0..1000u64)
                .flat_map(|step| [0, 1].map(|flow| (step, flow)))
                .filter(|&(step, flow)| {
                    let (bucket, params) = sfb.bucket(flow, Time::from_millis(10 * step));
                    let passes = bucket.has_room(1000, Time::from_millis(10 * step), params);
                    if passes {
                        bucket.spend(1000);
                    }
                    passes
                })
                .count()
        };
        // Attempts are made from 0 to 9.99 s. A burst of 2 packets passes, then 10 packets per second.
        assert!((101..=102).contains(&passed(Penalty::Shared)), "{}", passed(Penalty::Shared));
        assert!((202..=204).contains(&passed(Penalty::PerFlow)));
    }

    #[test]
    fn linux_earns_no_token_while_flows_that_do_not_react_keep_trying() {
        let params = SfbParams {
            profile: SfbProfile::Linux,
            penalty_rate: BitRate(120_000),
            penalty_burst: Bytes(30_000),
            ..Default::default()
        };
        let passed = |gap_ms: u64| {
            let mut bucket = TokenBucket::full(&params, Time::ZERO);
            (0..100).filter(|attempt| bucket.take_token(Time::from_millis(attempt * gap_ms), &params)).count()
        };
        // The bucket starts with 20 tokens and gains 10 per second. With a gap of 10 ms, the first 20 attempts take 200
        // ms and earn 2 tokens. The next update comes 20 ms later, the others every 10 ms. Each gives less than one
        // token, which Linux rounds down to 0.
        assert_eq!([10, 100].map(passed), [22, 100]);
        // 1 s without an attempt earns 10 tokens.
        let mut bucket = TokenBucket::full(&params, Time::ZERO);
        let mut burst = |ms| (0..50).filter(|_| bucket.take_token(Time::from_millis(ms), &params)).count();
        assert_eq!([0, 1000, 1100].map(&mut burst), [20, 10, 1]);
    }

    #[test]
    fn linux_drops_rather_than_marks_above_one_half_and_does_not_judge_at_a_full_buffer() {
        let params = SfbParams { profile: SfbProfile::Linux, rehash: Time::from_secs(600), ..Default::default() };
        let buffer = BufferParams { limit: QueueLimit::Packets(10), ..Default::default() };
        let mut sfb = Sfb::new(&params, &buffer);
        let mut rng = Rng::stream(1, 0, "test", 0);
        let packet = TestPacket { ecn: Ecn::Ect0, ..Default::default() };
        let mut verdicts = |probability: f32, waiting| {
            sfb.rehash(Time::ZERO, &mut rng);
            let mut counts = [0u32; 3];
            for _ in 0..10_000 {
                sfb.sets[0].bins.iter_mut().for_each(|bin| bin.probability = probability);
                counts[sfb.admit(&packet, &view(waiting, RATE), Time::ZERO, &mut rng) as usize] += 1;
            }
            counts
        };
        // Of 10 000 packets at p = 0.75, half are dropped and a quarter are marked (standard deviations 50 and 43). At
        // p = 0.4 no packet is dropped.
        let [accepted, dropped, marked] = verdicts(0.75, 0);
        assert!(accepted.abs_diff(2500) < 220 && dropped.abs_diff(5000) < 250 && marked.abs_diff(2500) < 220);
        let [_, dropped, marked] = verdicts(0.4, 0);
        assert!(dropped == 0 && marked.abs_diff(4000) < 250);
        assert_eq!(verdicts(1.0, 10), [10_000, 0, 0]);
    }

    #[test]
    fn a_packet_that_finds_the_buffer_full_spends_nothing_of_the_limit() {
        let params = SfbParams { penalty_rate: BitRate(8_000), ..Default::default() };
        let buffer = BufferParams { limit: QueueLimit::Packets(1), ..Default::default() };
        let mut host = Host::new(&params);
        let mut sfb = Sfb::new(&params, &buffer);
        // All bins indicate non-responsive flows. The bucket holds two packets and gains one per second.
        sfb.rehash(Time::ZERO, &mut host.rng);
        sfb.sets[0].bins.iter_mut().for_each(|bin| bin.probability = 1.0);
        host.queue = ManagedQueue::new(&buffer, RATE, sfb);
        let at = Time::from_millis;
        (0..3).for_each(|flow| host.offer(flow, at(1)));
        assert_eq!(host.drops.0.iter().map(|drop| drop.1).collect::<Vec<_>>(), [DropReason::Overlimit; 2]);
        assert_eq!(host.serve(at(2)), Some(0));
        host.offer(1, at(3));
        assert_eq!(host.serve(at(4)), Some(1));
        // Now both tokens are spent.
        host.offer(1, at(5));
        assert_eq!((host.serve(at(6)), host.drops.0[2].1), (None, DropReason::Aqm));
    }

    #[test]
    fn bins_count_what_waits_across_changes_of_the_hash_functions() {
        let second = Time::from_secs(1);
        let params =
            SfbParams { rehash: second, rehash_most: second, warm_up: Time::from_millis(300), ..Default::default() };
        let mut host = Host::new(&params);
        let mut choice = Rng::stream(2, 0, "test", 0);
        for step in 0..20_000u64 {
            let now = Time::from_millis(step * 3);
            host.offer((choice.bits() % 50) as u32, now);
            if choice.open01() < 0.97 || host.queue.backlog().packets > 100 {
                host.serve(now);
            }
        }
        while host.serve(Time::from_secs(60)).is_some() {}
        // No bin counts a packet any more: all their records start with "packets: 0".
        let sfb = format!("{:?}", host.queue);
        assert!(sfb.split("packets: ").skip(1).all(|rest| rest.starts_with('0')));
        // After many idle intervals, the next arrival performs all pending changes at once.
        host.offer(1, Time::from_secs(1_000_000));
        assert_eq!(host.queue.backlog().packets, 1);
        assert_eq!(host.serve(Time::from_secs(2_000_000)), Some(1));
    }

    #[test]
    fn changes_come_at_random_times_between_the_two_bounds() {
        let params = SfbParams { rehash: Time::from_secs(11), rehash_most: Time::from_secs(23), ..Default::default() };
        let sfb = Sfb::new(&params, &BufferParams::default());
        let mut rng = Rng::stream(1, 0, "test", 0);
        let draws: Vec<f64> = (0..1000).map(|_| sfb.interval(&mut rng).as_secs_f64()).collect();
        assert!(draws.iter().all(|draw| (11.0..=23.0).contains(draw)));
        // The mean of 1000 draws is expected to be 17 s, with a standard deviation of 12/sqrt(12)/sqrt(1000) = 0.11 s;
        // the test allows five times that.
        assert!((draws.iter().sum::<f64>() / 1000.0 - 17.0).abs() < 0.55);
    }

    #[test]
    fn a_cap_marks_and_sizes() {
        let capped = SfbParams { bin_limit: Some(3), bin_size: Some(100), ..Default::default() };
        let mut host = Host::new(&capped);
        (0..10).for_each(|_| host.offer(0, Time::ZERO));
        assert_eq!(host.queue.backlog().packets, 3);
        let size = host.queue.state_size();
        assert_eq!(size.records, 2 * 46);
        // The state has two sets of 46 bins of 24 bytes, and two seeds of 8 bytes.
        let fixed = size_of::<Sfb>() + size_of::<SfbParams>() + size_of::<FlowTable<TokenBucket>>() + size_of::<Hold>();
        assert_eq!(size.bytes, 2 * (46 * 24 + 2 * 8) + fixed);

        let params = SfbParams { ecn: true, unresponsive_at: 1.0, ..Default::default() };
        let mut sfb = Sfb::new(&params, &BufferParams::default());
        let mut rng = Rng::stream(1, 0, "test", 0);
        let view = view(0, RATE);
        sfb.admit(&TestPacket::default(), &view, Time::ZERO, &mut rng);
        sfb.sets[0].bins.iter_mut().for_each(|bin| bin.probability = 0.999);
        assert_eq!(sfb.admit(&TestPacket::default(), &view, Time::ZERO, &mut rng), Verdict::Mark);
    }

    #[test]
    fn bins_of_two_packets_drop_in_underload_and_a_third_of_the_limit_does_not() {
        // Three Poisson flows send 2, 2 and 4 Mbit/s over a link of 10 Mbit/s, in packets of 1000 B, with a buffer of
        // 24 packets (docs/schemes/sfb.md).
        let lost = |bin_size| {
            let params = SfbParams { bin_size, ..Default::default() };
            let buffer = BufferParams { limit: QueueLimit::Packets(24), ..Default::default() };
            let mut host = Host::new(&params);
            host.queue = ManagedQueue::new(&buffer, RATE, Sfb::new(&params, &buffer));
            let (mut now, mut free_at) = (0.0, 0.0);
            let arrivals = 200_000;
            for n in 0..arrivals {
                now += host.rng.exponential(0.001);
                while free_at <= now && host.queue.backlog().packets > 0 {
                    host.serve(Time::from_secs_f64(free_at));
                    free_at += 0.0008;
                }
                free_at = f64::max(free_at, now);
                host.offer([0, 1, 2, 2][n as usize % 4], Time::from_secs_f64(now));
            }
            host.drops.0.len() as f64 / f64::from(arrivals)
        };
        let (own, third) = (lost(None), lost(Some(8)));
        assert!(own > 0.005 && third < 0.0001, "{own} {third}");
    }

    #[test]
    fn a_bin_is_full_at_one_and_a_half_times_its_part_of_the_buffer() {
        let size = |limit| automatic_bin_size(23, &BufferParams { limit, ..Default::default() });
        // The default is 1.5*limit/bins: 1.5*300/23 = 19.57 for 300 packets or 450 kB (300 packets of 1500 B), and
        // 1.5*24/23 = 1.57 for 24 packets.
        assert_eq!(size(QueueLimit::Packets(300)), 20);
        assert_eq!(size(QueueLimit::Bytes(450_000)), 20);
        assert_eq!(size(QueueLimit::Packets(24)), 2);
        assert_eq!(size(QueueLimit::Packets(1)), 2);
    }

    #[test]
    fn times_that_do_not_fit_are_refused() {
        assert_eq!(
            refusal(json!({"scheme": "sfb", "bin_size": 25})),
            "queue.bin_size: 25 is out of range, it must be from 1 to the limit of the queue, 24: no bin would ever \
             be full"
        );
        assert_eq!(
            refusal(json!({"scheme": "sfb", "freeze": "100 ms"})),
            "queue.freeze_most: \"50 ms\" is out of range, it must be from freeze, \"100 ms\", to 100 s"
        );
        assert_eq!(
            refusal(json!({"scheme": "sfb", "rehash": "30 s"})),
            "queue.rehash_most: \"23 s\" is out of range, it must be from rehash, \"30 s\", to 1 h"
        );
        assert_eq!(
            refusal(json!({"scheme": "sfb", "warm_up": "30 s"})),
            "queue.warm_up: \"30 s\" is out of range, it must be from 0 s to rehash, \"11 s\""
        );
    }
}
