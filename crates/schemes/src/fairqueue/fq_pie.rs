//! FQ-PIE: hashes flows into queues that are served in turn, new queues first. Each queue has its own PIE.
//!
//! Source: Linux `sch_fq_pie.c` (Tahiliani, Patil, Saicharan, Bhasi, Monis, Ramakrishnan, 2019 to date);
//! `FqPieQueueDisc` of ns-3; RFC 8033 for PIE ([`crate::aqm::pie`]); RFC 8290 for the order of service
//! ([`super::fq_codel`]).
//!
//! | number | rule | code |
//! |---|---|---|
//! | (N1) to (N5) | hashed queues are served in turn, new before old | [`super::new_and_old`] |
//! | (1) | the queue's PIE stores, marks or drops an arrival by the queue's delay and bytes | `FqPie::enqueue` |
//! | (2) | every update interval, the controllers of all queues are updated | `FqPie::catch_up` |
//! | (3) | a packet that leaves reports its waiting time to its queue's controller | `FqPie::dequeue` |
//! | (4) | buffer full, `overflow = "arriving"`: drop the arrival without a decision of PIE | `FqPie::enqueue` |
//! | (5) | buffer full, `overflow = "longest"`: drop at the head of the queue with most bytes, `drop_batch` packets or half its bytes, whichever comes first | `cut_longest` |
//!
//! Cost: O(1) per packet, O(log n) for (5) with n queues; one hash; every 15 ms an update of each controller that does
//! not rest (deviation 3). State: 140 bytes for each of the 1024 queues, used or not; no state per flow.
//!
//! Deviations:
//! 1. Where the sources disagree, defaults are those of Linux: a full buffer drops the arrival, packets are not marked,
//!    and drops are derandomised. ns-3 drops from the longest queue, marks packets, and does not derandomise.
//! 2. All controllers are updated at the same time, as in Linux with up to 2048 queues. In ns-3 each queue has its own
//!    clock, which starts at its first packet.
//! 3. The controller of an empty queue rests once an update changes nothing, until the queue receives a packet.
//! 4. The buffer sets the limit, by default far below the 10 240 packets of Linux and ns-3.
//! 5. Classes have no effect.
//! 6. The deviations of PIE apply, see [`crate::aqm::pie`], except for the delay: FQ-PIE uses the sojourn time, as
//!    Linux and ns-3 do.
//!
//! Not implemented: the memory limit, which Linux counts but does not enforce; the estimate of the departure rate, off
//! by default in Linux and ns-3; `CeThreshold`, `UseL4s` and the set-associative hash of ns-3, off by default.

use crate::aqm::pie_core::{PieParams, PieProfile, PieState};
use crate::contract::prelude::*;
use crate::fairqueue::hashed_queues::{Arrival, HashedQueues};
use crate::measure::ticker::Ticker;

choices! {
    /// Packet that is dropped when the buffer is full.
    pub enum Overflow {
        /// The arriving packet.
        Arriving = "arriving",
        /// Packets at the head of the queue with most bytes.
        Longest = "longest",
    }
}

params! {
    /// FQ-PIE.
    pub struct FqPieParams {
        /// Implementation of PIE whose rules apply.
        profile: PieProfile = "rfc8033", source "RFC 8033, ns-3; Linux sch_fq_pie";
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "sch_fq_pie: the 5-tuple";
        /// Number of queues.
        buckets: u32 = 1024, in 1..=65536, source "sch_fq_pie; ns-3";
        /// Bytes that a queue may send per round.
        quantum: Bytes = "1514 B", in "1 B"..="1 MB", source "sch_fq_pie: a full frame; 1500 B in ns-3";
        /// Target delay of each queue.
        target: Time = "15 ms", in "10 us"..="10 s", symbol "QDELAY_REF", source "RFC 8033 4.2; sch_fq_pie";
        /// Time between updates of the probabilities.
        update_interval: Time = "15 ms", in "10 us"..="10 s", symbol "T_UPDATE", source "RFC 8033 4.2; sch_fq_pie";
        /// Gain on the distance from the target, per second.
        alpha: f64 = 0.125, in 0.0..=1000.0, symbol "alpha", source "RFC 8033 4.2; sch_fq_pie: 2/16";
        /// Gain on the change of the delay, per second.
        beta: f64 = 1.25, in 0.0..=1000.0, symbol "beta", source "RFC 8033 4.2; sch_fq_pie: 20/16";
        /// Duration of a burst that a queue accepts without drops.
        max_burst: Time = "150 ms", in "0 s"..="100 s", symbol "MAX_BURST", source "RFC 8033 4.4; sch_fq_pie";
        /// Derandomises drops, which makes the gaps between them more even.
        derandomize: bool = true, source "RFC 8033 5.4; sch_fq_pie; off in ns-3";
        /// Limits steps to 0.02 once the probability is 0.1 or more.
        cap_step: bool = true, source "RFC 8033 5.5; sch_fq_pie; ns-3";
        /// Makes the drop probability of a packet proportional to its length.
        byte_mode: bool = false, source "sch_fq_pie; RFC 8033 appendix B";
        /// Mean packet length, also the reference of byte mode. No packet is dropped while at most two of this length
        /// wait in the same queue.
        mean_packet: Bytes = "1500 B", in "1 B"..="1 MB", source "sch_fq_pie: the MTU; 1000 B in ns-3";
        /// Marks ECN-capable packets instead of dropping them while the probability is low.
        ecn: bool = false, source "sch_fq_pie; on in ns-3";
        /// Largest probability at which packets are marked.
        ecn_limit: f64 = 0.1, in 0.0..=1.0, symbol "mark_ecnth", source "RFC 8033 5.1; sch_fq_pie: ecn_prob; ns-3";
        /// Packet that is dropped when the buffer is full.
        overflow: Overflow = "arriving", source "sch_fq_pie; longest in ns-3";
        /// Maximum number of packets dropped from the longest queue at one overflow.
        drop_batch: u32 = 64, in 1..=65536, source "ns-3";
    }
}

/// Registry entry of FQ-PIE.
#[derive(Clone, Copy, Debug)]
pub struct FqPieScheme;

impl SchemeSpec for FqPieScheme {
    const ABOUT: About = About {
        title: "Flow queue PIE",
        kind: "hashed queues served in turn, new ones first; drops or marks the arriving packet",
        summary: "Hashes flows into queues that are served in turn, new queues first, and keeps the delay of each \
                  queue short by PIE.",
        source: "Linux sch_fq_pie; ns-3; RFC 8033",
        state: "port: 1024 queues with 4 numbers of PIE and 1 credit each",
        flow_state: FlowState::Table,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = FqPieParams;
    type Discipline<P: Packet> = FqPie<P>;

    fn build<P: Packet>(params: &FqPieParams, port: &Port<'_>) -> FqPie<P> {
        FqPie::new(params, port.buffer)
    }
}

/// One hashed queue.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    pie: PieState,
    /// True if [`FqPie::awake`] contains the queue.
    is_awake: bool,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    hashed: HashedQueues<P, Bucket>,
    ticker: Ticker,
    /// Queues whose controllers may still change.
    awake: Vec<u32>,
    /// p at the last arrival.
    last_probability: f64,
    pie: Box<PieParams>,
    params: Box<FqPieParams>,
}

impl<P: Packet> FqPie<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &FqPieParams, buffer: &BufferParams) -> Self {
        let pie = PieParams {
            profile: params.profile,
            target: params.target,
            update_interval: params.update_interval,
            alpha: params.alpha,
            beta: params.beta,
            max_burst: params.max_burst,
            derandomize: params.derandomize,
            cap_step: params.cap_step,
            byte_mode: params.byte_mode,
            mean_packet: params.mean_packet,
            ..Default::default()
        };
        let idle = Bucket { pie: PieState::new(&pie), is_awake: false };
        Self {
            hashed: HashedQueues::new(params.buckets, idle, params.quantum, buffer.limit),
            ticker: pie.ticker(),
            awake: Vec::with_capacity(params.buckets as usize),
            last_probability: 0.0,
            pie: Box::new(pie),
            params: Box::new(params.clone()),
        }
    }

    /// Runs the updates that were due up to `now`: rule (2).
    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.ticker.due(now).is_some() {
            if !self.update() {
                self.ticker.skip_to(now);
            }
        }
    }

    /// Updates all queues that are not at rest. Returns false if none changed: until a packet arrives or leaves,
    /// further updates would not change any either.
    fn update(&mut self) -> bool {
        let Self { hashed: HashedQueues { queues, .. }, awake, pie, .. } = self;
        let mut has_moved = false;
        awake.retain(|&queue| {
            let waiting = queues.length(queue);
            let bucket = &mut queues[queue].own;
            bucket.pie.holds(waiting.bytes);
            // Only the delay estimate `link_rate` depends on the rate of the link, and FQ-PIE does not use it.
            let moved = bucket.pie.update(pie, f64::INFINITY);
            has_moved |= moved;
            bucket.is_awake = moved || waiting.packets > 0;
            bucket.is_awake
        });
        has_moved
    }

    fn wake(&mut self, queue: u32) {
        if !std::mem::replace(&mut self.hashed.queues[queue].own.is_awake, true) {
            self.awake.push(queue);
        }
    }

    /// Returns the verdict of rule (1) on an arrival.
    fn judge(&mut self, queue: u32, packet: &P, rng: &mut Rng) -> Verdict {
        let own = self.hashed.queues.length(queue);
        let pie = &mut self.hashed.queues[queue].own.pie;
        let hit = pie.decide(&self.pie, own, packet.wire_bytes(), rng);
        self.last_probability = pie.probability();
        let marks = self.params.ecn && packet.ecn().is_capable() && self.last_probability <= self.params.ecn_limit;
        match (hit, marks) {
            (false, _) => Verdict::Accept,
            (true, true) => Verdict::Mark,
            (true, false) => {
                pie.overflowed();
                Verdict::Drop
            }
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for FqPie<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        self.catch_up(now);
        let found = self.hashed.backlog();
        let queue = self.hashed.queue_of(self.params.share_per.of(&packet), self.params.buckets, rng);
        self.wake(queue);
        // Applies rule (4). A packet larger than the limit is dropped in any case.
        let counts = if self.params.overflow == Overflow::Arriving { found } else { Backlog::default() };
        if !self.hashed.has_room(counts, packet.wire_bytes()) {
            self.hashed.queues[queue].own.pie.overflowed();
            drops.dropped(&packet, DropReason::Overlimit, found);
            return;
        }
        match self.judge(queue, &packet, rng) {
            Verdict::Drop => {
                drops.dropped(&packet, DropReason::Aqm, found);
                return;
            }
            Verdict::Mark => {
                packet.set_ecn(Ecn::Ce);
                drops.marked(&packet);
            }
            Verdict::Accept => {}
        }
        // Applies rule (5). After rule (4), the buffer has room.
        self.hashed.store(Arrival { packet, queue, found }, now, self.params.drop_batch, drops, |_, _| ());
    }

    fn dequeue(&mut self, now: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        self.catch_up(now);
        let Self { hashed, pie, .. } = self;
        hashed.next(|queues, queue| {
            let (packet, ()) = queues.pop_front(queue)?;
            let behind = queues.length(queue);
            // Rule (3).
            queues[queue].own.pie.departed(pie, packet.wire_bytes(), packet.enqueued_at(), behind, now);
            Some(packet)
        })
    }

    fn backlog(&self) -> Backlog {
        self.hashed.backlog()
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.last_probability)
    }

    fn state_size(&self) -> StateSize {
        let shared = size_of_val(self) + size_of_val(&*self.pie) + size_of_val(&*self.params);
        let StateSize { records, bytes } = self.hashed.state_size();
        StateSize { records, bytes: shared + bytes + self.awake.capacity() * size_of::<u32>() }
    }

    fn report(&self, report: Report<'_>) {
        let largest =
            self.awake.iter().map(|&queue| self.hashed.queues[queue].own.pie.probability()).fold(0.0, f64::max);
        report("largest_probability", largest);
        report("controllers_awake", self.awake.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::pie::PieScheme;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{
        assert_max_min, assert_new_before_old, build, drain, limits, noise, offer, packet, standing_queue, survives,
    };
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket, reading};
    use proptest::prelude::*;

    fn port(params: &FqPieParams, limit: u32) -> (FqPie<TestPacket>, Rng) {
        build::<FqPieScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    #[test]
    fn a_queue_that_was_empty_goes_before_old_ones() {
        assert_new_before_old::<FqPieScheme>(&FqPieParams::default());
    }

    #[test]
    fn a_full_buffer_drops_the_arrival_or_cuts_the_longest_queue() {
        for (overflow, dropped, left) in [
            (Overflow::Arriving, vec![(2, 10)], vec![(1, 500), (1, 400), (1, 300), (2, 10)]),
            // The longest queue has 1200 B, so packets are dropped until at least 600 B are gone. The first packet has
            // 500 B, and the first two have 900 B.
            (Overflow::Longest, vec![(1, 500), (1, 400)], vec![(1, 300), (2, 10), (2, 10)]),
        ] {
            let (mut queue, mut rng) = port(&FqPieParams { overflow, ..Default::default() }, 4);
            offer(&mut queue, &mut rng, 1, &[500, 400, 300]);
            offer(&mut queue, &mut rng, 2, &[10]);
            let drops = offer(&mut queue, &mut rng, 2, &[10]);
            let lost: Vec<_> = drops.0.iter().map(|drop| (drop.0.flow, drop.0.wire_bytes)).collect();
            assert_eq!(lost, dropped);
            assert_eq!(drain(&mut queue, &mut rng), left);
        }
    }

    #[test]
    fn only_the_controller_of_the_long_queue_drops_and_not_in_a_burst() {
        let params = FqPieParams::default();
        let (drops, marks) = standing_queue::<FqPieScheme>(&params, Ecn::NotEct);
        assert!(!drops.is_empty() && drops.iter().all(|&flow| flow == 1) && marks == 0);
        // No packet is dropped for 1 s if a burst may last 1.05 s. Ten updates take 150 ms, 70 take 1.05 s.
        let patient = FqPieParams { max_burst: Time::from_millis(1050), ..params.clone() };
        assert!(standing_queue::<FqPieScheme>(&patient, Ecn::NotEct).0.is_empty());
        // Packets are marked while the probability is at most `ecn_limit`, and dropped above it.
        let marking = FqPieParams { ecn: true, ecn_limit: 1.0, ..params.clone() };
        let (drops, marks) = standing_queue::<FqPieScheme>(&marking, Ecn::Ect0);
        assert!(drops.is_empty() && marks > 0);
        let never = FqPieParams { ecn: true, ecn_limit: 0.0, ..params };
        assert_eq!(standing_queue::<FqPieScheme>(&never, Ecn::Ect0).1, 0);
    }

    #[test]
    fn long_flows_share_alike_whatever_the_length_of_their_packets() {
        let params = FqPieParams { max_burst: Time::from_secs(10), ..Default::default() };
        let params = FqPieParams { overflow: Overflow::Longest, ..params };
        assert_max_min::<FqPieScheme>(&params, 200, [1.0; 3], 0.02);
    }

    #[test]
    fn controllers_fall_asleep_when_nothing_moves_them() {
        let (mut queue, mut rng) = port(&FqPieParams::default(), 1000);
        for flow in 0..50 {
            offer(&mut queue, &mut rng, flow, &[1500; 4]);
        }
        let awake = |queue: &FqPie<TestPacket>| reading("controllers_awake", |report| queue.report(report));
        // Fifty flows use 1024 queues. Flows that share a queue count once.
        assert!((45.0..=50.0).contains(&awake(&queue)));
        let busy = Time::from_millis(900);
        while queue.dequeue(busy, &mut rng, &mut ()).is_some() {}
        // Each update reduces a probability above 0 by 2 % and by alpha * target, so it is zero within seconds.
        assert_eq!(queue.dequeue(Time::from_secs(60), &mut rng, &mut ()).map(|packet| packet.flow), None);
        assert_eq!(awake(&queue), 0.0);
        assert!((0..1024).all(|number| queue.hashed.queues[number].own.pie.probability() == 0.0));
    }

    proptest! {
        #[test]
        fn one_flow_alone_sees_what_pie_does(
            steps in prop::collection::vec((0u8..8, 0u64..30_000), 1..2000),
            departures in 1u8..5,
            derandomize in any::<bool>(),
            profile in prop::sample::select(vec![PieProfile::Rfc8033, PieProfile::Linux]),
        ) {
            let limit = QueueLimit::Packets(1000);
            let (mut fq, mut rng) = build::<FqPieScheme>(
                &FqPieParams { derandomize, profile, ..Default::default() }, limit, &Weights::equal());
            let (mut pie, _) = build::<PieScheme>(
                &PieParams { derandomize, profile, ..Default::default() }, limit, &Weights::equal());
            let mut same_rng = rng.clone();
            same_rng.bits(); // the salt of the hash
            let (mut now, mut lost) = (Time::ZERO, (Drops::default(), Drops::default()));
            for (what, wait_us) in steps {
                now += Time::from_micros(wait_us);
                if what < departures {
                    let left = fq.dequeue(now, &mut rng, &mut lost.0).map(|packet| packet.enqueued_at);
                    let same = pie.dequeue(now, &mut same_rng, &mut lost.1).map(|packet| packet.enqueued_at);
                    prop_assert_eq!(left, same);
                } else {
                    fq.enqueue(packet(1, 1500), now, &mut rng, &mut lost.0);
                    pie.enqueue(packet(1, 1500), now, &mut same_rng, &mut lost.1);
                    prop_assert_eq!(fq.drop_probability(), pie.drop_probability());
                }
                prop_assert_eq!(lost.0.0.len(), lost.1.0.len());
            }
        }

        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            buckets in prop::sample::select(vec![1, 3, 1024]),
            quantum in prop::sample::select(vec![1, 300, 1514]),
            (drop_batch, longest) in (1u32..70, any::<bool>()),
            (derandomize, byte_mode, ecn) in (any::<bool>(), any::<bool>(), any::<bool>()),
            max_burst_ms in 0u64..200,
        ) {
            let overflow = if longest { Overflow::Longest } else { Overflow::Arriving };
            let params = FqPieParams {
                buckets, quantum: Bytes(quantum), drop_batch, overflow, derandomize, byte_mode, ecn,
                max_burst: Time::from_millis(max_burst_ms), ..Default::default()
            };
            prop_assert_eq!(survives(SchemeParams::FqPie(params), limit, &noise), buckets as usize);
        }
    }
}
