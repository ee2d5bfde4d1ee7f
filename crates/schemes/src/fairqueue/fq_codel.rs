//! FQ-CoDel: hashes flows into queues that are served in turn, new queues first. Each queue has its own CoDel.
//!
//! Source: RFC 8290, sections 4 and 5; RFC 8289 for CoDel, see [`crate::aqm::codel`]; Linux `sch_fq_codel.c` where the
//! RFC is unspecific. The module [`super::new_and_old`] determines the order of service.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (N1) to (N5) | hashed queues are served in turn, new before old | [`super::new_and_old`] |
//! | (1) | CoDel drops at the head of the queue; packets that it accepts are sent | `serve` |
//! | (2) | buffer full: drop at the head of the queue with most bytes, `drop_batch` packets or half its bytes, whichever comes first | `cut_longest` |
//!
//! Cost: O(1) per packet except for (2), see [`crate::fairqueue::queue_store`]; one hash. State: 116 bytes for each of
//! the 1024 queues, used or not; no state per flow.
//!
//! Deviations:
//! 1. A heap, not a scan of all queues, finds the queue with the most bytes.
//! 2. Rounds in which all deficits are negative are skipped in one step.
//! 3. A packet that alone exceeds the limit is dropped.
//! 4. Classes have no effect.
//! 5. The buffer sets the limit, by default far below the 10 240 packets of the RFC. With 24 packets most drops come
//!    from overflow, not from CoDel.
//! 6. At overflow a queue loses half its bytes, as in Linux; RFC 8290 section 4.1 drops half its packets.
//! 7. CoDel tests the backlog of its own queue, as in ns-3. RFC 8289 section 4.4 and Linux test the port's backlog; set
//!    `short_queue = "port"` for this.
//! 8. Drops at a full buffer count as drops of CoDel, as in Linux but not in RFC 8289 section 5.4.
//!
//! Not implemented: the memory limit of Linux, which counts the kernel's overhead; weights (RFC 8290 has none).

use crate::aqm::codel::{Codel, CodelTarget, Root, check_target};
use crate::contract::prelude::*;
use crate::fairqueue::hashed_queues::{Arrival, HashedQueues};
use crate::fairqueue::new_and_old::Turning;
use crate::fairqueue::queue_store::QueueStore;

choices! {
    /// Backlog that CoDel compares with a maximum-size packet to detect a short queue.
    pub enum ShortQueue {
        /// Backlog of the packet's own queue.
        Own = "own",
        /// Backlog of all queues of the port.
        Port = "port",
    }
}

params! {
    /// FQ-CoDel.
    pub struct FqCodelParams {
        /// Unit that gets one share: `flow` or `user` (with all its flows).
        share_per: FlowKey = "flow", source "RFC 8290 section 4.1: the 5-tuple";
        //= RFC 8290 5.2.5-1: There are 1024 queues by default.
        /// Number of queues.
        buckets: u32 = 1024, in 1..=65536, source "RFC 8290 section 5.2.5";
        //= RFC 8290 5.2.4-1: The quantum is 1514 bytes by default.
        /// Bytes that a queue may send per round.
        quantum: Bytes = "1514 B", in "1 B"..="1 MB", source "RFC 8290 section 5.2.4";
        //= RFC 8290 5.2.2-1: The target is 5 ms by default.
        /// Target delay of the standing queue.
        target: Time = "5 ms", in "1 us"..="10 s", symbol "TARGET", source "RFC 8290 section 5.2.2";
        //= RFC 8290 5.2.1-1: The interval is about the longest round-trip time, 100 ms by default.
        /// Time for which the delay may exceed the target.
        interval: Time = "100 ms", in "10 us"..="100 s", symbol "INTERVAL", source "RFC 8290 section 5.2.1";
        //= RFC 8290 5.2.6-1: ECN is on by default and can be turned off.
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = true, source "RFC 8290 section 5.2.6";
        /// Maximum number of packets dropped at one overflow.
        drop_batch: u32 = 64, in 1..=65536, source "RFC 8290 section 4.1, Linux";
        /// Square root of CoDel's control law.
        root: Root = "exact", source "RFC 8289 section 3.3; newton in Linux";
        /// Backlog that must exceed a maximum-size packet before CoDel drops.
        short_queue: ShortQueue = "own", source "each queue on its own, as in ns-3; port in RFC 8289 section 4.4 and \
                                                 Linux";
    }
}

/// Registry entry of FQ-CoDel.
#[derive(Clone, Copy, Debug)]
pub struct FqCodelScheme;

impl SchemeSpec for FqCodelScheme {
    const ABOUT: About = About {
        title: "Flow queue CoDel",
        kind: "hashed queues served in turn, new ones first; CoDel at the head, overflow drops from the longest queue",
        summary: "Hashes flows into queues that are served in turn, new queues first, and keeps the delay of each \
                  queue short by CoDel.",
        source: "RFC 8290",
        state: "port: 1024 queues with 4 numbers of CoDel and 1 credit each",
        flow_state: FlowState::Table,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    type Params = FqCodelParams;
    type Discipline<P: Packet> = FqCodel<P>;

    fn check(params: &FqCodelParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_target(params.target, params.interval, table)
    }

    fn build<P: Packet>(params: &FqCodelParams, port: &Port<'_>) -> FqCodel<P> {
        FqCodel::new(params, port.buffer)
    }
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    //= RFC 8289 4.4-1: Of several queues, each has a CoDel of its own.
    hashed: HashedQueues<P, Codel>,
    aim: CodelTarget,
    params: FqCodelParams,
}

impl<P: Packet> FqCodel<P> {
    /// Creates an empty port.
    #[must_use]
    pub fn new(params: &FqCodelParams, buffer: &BufferParams) -> Self {
        Self {
            hashed: HashedQueues::new(params.buckets, Codel::default(), params.quantum, buffer.limit),
            aim: CodelTarget {
                target: params.target,
                interval: params.interval,
                root: params.root,
                mtu: buffer.mtu.0 as u32,
            },
            params: params.clone(),
        }
    }
}

/// Next packet of `queue` that CoDel accepts: rule (1).
fn serve<P: Packet>(
    (aim, params): (&CodelTarget, &FqCodelParams),
    queues: &mut QueueStore<P, (), Turning<Codel>>,
    queue: u32,
    now: Time,
    drops: &mut impl DropSink<P>,
) -> Option<P> {
    while let Some((mut packet, ())) = queues.pop_front(queue) {
        let behind = queues.backlog();
        let short = match params.short_queue {
            //= RFC 8289 4.4-2, deviation: The backlog of the whole link tells whether a queue is too short.
            ShortQueue::Own => queues.length(queue).bytes,
            //= RFC 8289 4.4-2: The backlog of the whole link tells whether a queue is too short.
            ShortQueue::Port => behind.bytes,
        };
        let markable = params.ecn && packet.ecn().is_capable();
        let sojourn = now.saturating_sub(packet.enqueued_at());
        //= RFC 8290 4.2-3: CoDel drops at the head of the chosen queue, which loses credits for what is sent.
        match queues[queue].own.judge(aim, sojourn, short, markable, now) {
            Verdict::Accept => return Some(packet),
            Verdict::Mark => {
                packet.set_ecn(Ecn::Ce);
                drops.marked(&packet);
                return Some(packet);
            }
            Verdict::Drop => drops.dropped(&packet, DropReason::Aqm, behind),
        }
    }
    queues[queue].own.emptied();
    None
}

impl<P: Packet> QueueDiscipline<P> for FqCodel<P> {
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = self.hashed.backlog();
        if !self.hashed.has_room(Backlog::default(), packet.wire_bytes()) {
            drops.dropped(&packet, DropReason::Overlimit, found);
            return;
        }
        let queue = self.hashed.queue_of(self.params.share_per.of(&packet), self.params.buckets, rng);
        self.hashed.store(Arrival { packet, queue, found }, now, self.params.drop_batch, drops, |codel, packets| {
            //= RFC 8289 5.4-2, deviation: Drops at a full buffer do not count for CoDel.
            codel.overflowed(packets);
        });
    }

    fn dequeue(&mut self, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        let Self { hashed, aim, params } = self;
        hashed.next(|queues, queue| serve((&*aim, &*params), queues, queue, now, drops))
    }

    fn backlog(&self) -> Backlog {
        self.hashed.backlog()
    }

    fn state_size(&self) -> StateSize {
        let StateSize { records, bytes } = self.hashed.state_size();
        StateSize { records, bytes: size_of_val(self) + bytes }
    }

    fn report(&self, report: Report<'_>) {
        let dropping = (0..self.params.buckets).filter(|&queue| self.hashed.queues[queue].own.is_dropping()).count();
        report("dropping_queues", dropping as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::fairqueue::testing::{
        assert_max_min, assert_new_before_old, build, drain, limits, noise, offer, packet, standing_queue, survives,
    };
    use crate::registry::schemes::SchemeParams;
    use crate::testing::{Drops, TestPacket, refusal};
    use proptest::prelude::*;
    use serde_json::json;

    fn port(params: &FqCodelParams, limit: u32) -> (FqCodel<TestPacket>, Rng) {
        build::<FqCodelScheme>(params, QueueLimit::Packets(limit), &Weights::equal())
    }

    #[test]
    fn a_queue_that_was_empty_goes_before_old_ones() {
        assert_new_before_old::<FqCodelScheme>(&FqCodelParams::default());
    }

    #[test]
    fn overflow_drops_half_of_the_fattest_queue_at_its_head() {
        let (mut queue, mut rng) = port(&FqCodelParams::default(), 10);
        assert!(offer(&mut queue, &mut rng, 1, &[100, 200, 300, 400, 500, 600, 700, 800]).0.is_empty());
        assert!(offer(&mut queue, &mut rng, 2, &[10, 10]).0.is_empty());
        // The longest queue has 3600 B. Packets are dropped until half of it is gone: 100 + ... + 600 = 2100 is the
        // first sum of at least 1800.
        let drops = offer(&mut queue, &mut rng, 2, &[10]);
        assert!(drops.0.iter().all(|drop| drop.1 == DropReason::PushedOut));
        let lengths: Vec<_> = drops.0.iter().map(|drop| drop.0.wire_bytes).collect();
        assert_eq!(lengths, [100, 200, 300, 400, 500, 600]);
        assert_eq!(drain(&mut queue, &mut rng), [(1, 700), (1, 800), (2, 10), (2, 10), (2, 10)]);
    }

    #[test]
    fn overflow_drops_no_more_than_the_batch() {
        let (mut queue, mut rng) = port(&FqCodelParams { drop_batch: 2, ..Default::default() }, 10);
        let drops = offer(&mut queue, &mut rng, 1, &[100; 11]);
        assert_eq!(drops.0.len(), 2);
        let (mut queue, mut rng) = port(&FqCodelParams::default(), 1);
        let drops = offer(&mut queue, &mut rng, 1, &[1500, 40]);
        // The first packet is more than half of 1540 B, so the arriving one stays.
        assert_eq!((drops.0.len(), drops.0[0].0.wire_bytes, drops.0[0].1), (1, 1500, DropReason::PushedOut));
    }

    #[test]
    fn codel_cuts_the_long_queue_and_leaves_the_short_one() {
        let params = FqCodelParams::default();
        let (drops, marks) = standing_queue::<FqCodelScheme>(&params, Ecn::NotEct);
        // The queueing delay exceeds 5 ms from 6 ms on. CoDel detects this an interval of 100 ms later, at 106.8 or 108
        // ms, with the first drop. Drop n + 1 follows 100 ms * (1/sqrt(1) + ... + 1/sqrt(n)) after the first. The last
        // drop before 998.4 ms has n = 26.
        assert_eq!((drops.len(), marks), (27, 0));
        assert!(drops.iter().all(|&flow| flow == 1));
        let (drops, marks) = standing_queue::<FqCodelScheme>(&params, Ecn::Ect0);
        assert_eq!((drops.len(), marks), (0, 27));
        assert_eq!(standing_queue::<FqCodelScheme>(&FqCodelParams { ecn: false, ..params }, Ecn::Ect0).1, 0);
    }

    #[test]
    fn a_short_queue_is_spared_by_its_own_length_or_by_the_ports() {
        // Flow 1 has two packets. When the first is served after 150 ms, one maximum-size packet stays in the queue.
        let dropped = |short_queue| {
            let (mut queue, mut rng) = port(&FqCodelParams { short_queue, ..Default::default() }, 1000);
            let mut drops = Drops::default();
            queue.enqueue(packet(1, 1500), Time::ZERO, &mut rng, &mut drops);
            for step in 0..20 {
                let now = Time::from_millis(200 * step);
                queue.enqueue(packet(1, 1500), now, &mut rng, &mut drops);
                while queue.backlog().packets < 50 {
                    queue.enqueue(packet(2, 1500), now, &mut rng, &mut drops);
                }
                (0..2).for_each(|_| _ = queue.dequeue(now + Time::from_millis(150), &mut rng, &mut drops));
            }
            drops.0.iter().filter(|drop| drop.0.flow == 1).count()
        };
        assert_eq!(dropped(ShortQueue::Own), 0);
        assert!(dropped(ShortQueue::Port) > 0);
    }

    #[test]
    fn long_flows_share_alike_whatever_the_length_of_their_packets() {
        let params =
            FqCodelParams { target: Time::from_millis(500), interval: Time::from_secs(1), ..Default::default() };
        assert_max_min::<FqCodelScheme>(&params, 200, [1.0; 3], 0.02);
    }

    #[test]
    fn a_target_not_below_the_interval_is_refused() {
        let error = refusal(json!({"scheme": "fq_codel", "interval": "5 ms"}));
        assert!(error.starts_with("queue.target: \"5 ms\" is out of range"), "{error}");
    }

    proptest! {
        #[test]
        fn survives_anything(
            limit in limits(),
            noise in noise(),
            buckets in prop::sample::select(vec![1, 3, 1024]),
            quantum in prop::sample::select(vec![1, 300, 1514]),
            drop_batch in 1u32..70,
        ) {
            let params = FqCodelParams { buckets, quantum: Bytes(quantum), drop_batch, ..Default::default() };
            prop_assert_eq!(survives(SchemeParams::FqCodel(params), limit, &noise), buckets as usize);
        }
    }
}
