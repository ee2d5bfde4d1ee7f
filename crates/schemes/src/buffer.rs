//! The buffer of a port: first-in-first-out queues per traffic class, one limit over all, and the scheduler.
//!
//! Source: abc2018 III-D2. The schedulers are plain FIFO, strict priority, and MEDF (modified earliest deadline
//! first): a packet is stamped when it is enqueued, and the head with the smaller stamp + offset goes first, with
//! offset 0 for EF and `delta_BE * Q_max * MTU / C_b` for BE. Comparing the heads is enough because stamps do not
//! decrease within a queue.
//!
//! Deviations: 1. The limit is shared by the classes; the paper implies it (Q = Q_BE + Q_EF) but does not say it.
//! 2. On equal deadlines EF goes first; the paper does not say.
//! 3. The offset of BE follows from the link's first rate and stays when the rate changes.

use crate::choices;
use crate::discipline::{Aqm, Backlog, DropReason, DropSink, QueueDiscipline, QueueView, Report, StateSize, Verdict};
use crate::packet::{Ecn, Packet, TrafficClass};
use crate::params;
use crate::rng::Rng;
use crate::units::{BitRate, Bytes, QueueLimit, Time};
use std::collections::VecDeque;

choices! {
    /// Who is served next.
    pub enum Scheduler {
        /// One queue for all classes, in the order of arrival.
        Fifo = "fifo",
        /// EF whenever it waits; BE can starve.
        Strict = "strict",
        /// Earliest deadline of the heads: EF first, but BE at the latest after its offset.
        Medf = "medf",
    }
}

params! {
    /// Buffer of a port, shared by all schemes.
    pub struct BufferParams {
        /// What the queue may hold, all classes together; the packet in transmission does not count.
        limit: QueueLimit = "24 packets", in "1 packets"..="16777216 packets", symbol "Q_max", source "abc2018 Table 1";
        /// Order of service between the traffic classes.
        scheduler: Scheduler = "fifo", source "abc2018 III-D2";
        /// Offset of BE in MEDF, in units of the time that a full queue takes.
        be_offset: f64 = 2.0, in 0.0..=1000.0, symbol "delta_BE", source "abc2018 III-D2 (Table 1 prints 1.5)";
        /// Length of a full packet, for the offset of MEDF when the limit is in packets.
        mtu: Bytes = "1500 B", in "64 B"..="65535 B", symbol "MTU", source "abc2018 IV-A1";
    }
}

impl BufferParams {
    /// Bytes of a full buffer, with full packets if the limit is in packets.
    #[must_use]
    pub fn full_bytes(&self) -> u64 {
        match self.limit {
            QueueLimit::Packets(packets) => u64::from(packets) * self.mtu.0,
            QueueLimit::Bytes(bytes) => bytes,
        }
    }
}

/// Queues per class and the choice of the next packet. Holds packets, takes no drop decision.
#[derive(Clone, Debug)]
pub struct ClassQueues<P> {
    queues: [VecDeque<P>; TrafficClass::ALL.len()],
    backlog: Backlog,
    scheduler: Scheduler,
    be_offset: Time,
}

impl<P: Packet> ClassQueues<P> {
    /// Empty queues at a link of rate `rate`.
    #[must_use]
    pub fn new(params: &BufferParams, rate: BitRate) -> Self {
        let limit_bits = 8.0 * params.full_bytes() as f64;
        Self {
            queues: Default::default(),
            backlog: Backlog::default(),
            scheduler: params.scheduler,
            // Delta_BE = delta_BE * Q_max * MTU / C_b, abc2018 III-D2.
            be_offset: Time::from_secs_f64(params.be_offset * limit_bits / rate.as_f64()),
        }
    }

    /// What waits.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Appends a packet to the queue of its class.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.backlog.add(packet.wire_bytes());
        let queue = if self.scheduler == Scheduler::Fifo { 0 } else { packet.class().index() };
        self.queues[queue].push_back(packet);
    }

    /// Removes the packet to be served next.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let packet = self.queues[self.next_queue()].pop_front()?;
        self.backlog.remove(packet.wire_bytes());
        Some(packet)
    }

    /// When the packet to be served next came; `None` if nothing waits.
    #[inline]
    pub fn head_enqueued_at(&self) -> Option<Time> {
        self.queues[self.next_queue()].front().map(Packet::enqueued_at)
    }

    /// The queue whose head is next, any if all are empty.
    #[inline]
    fn next_queue(&self) -> usize {
        const BE: usize = TrafficClass::BestEffort.index();
        const EF: usize = TrafficClass::Expedited.index();
        let heads = (self.queues[BE].front(), self.queues[EF].front());
        match (self.scheduler, heads) {
            (Scheduler::Fifo, _) | (_, (_, None)) => BE,
            (_, (None, _)) | (Scheduler::Strict, _) => EF,
            (Scheduler::Medf, (Some(be), Some(ef))) => {
                if be.enqueued_at() + self.be_offset < ef.enqueued_at() {
                    BE
                } else {
                    EF
                }
            }
        }
    }
}

/// A complete discipline: active queue management in front of class queues with one limit.
#[derive(Clone, Debug)]
pub struct ManagedQueue<P, A> {
    queues: ClassQueues<P>,
    limit: QueueLimit,
    link_rate: BitRate,
    aqm: A,
}

impl<P: Packet, A: Aqm> ManagedQueue<P, A> {
    /// An empty queue at a link of rate `rate`.
    #[must_use]
    pub fn new(params: &BufferParams, rate: BitRate, mut aqm: A) -> Self {
        aqm.set_link_rate(rate);
        Self { queues: ClassQueues::new(params, rate), limit: params.limit, link_rate: rate, aqm }
    }
}

impl<P: Packet, A: Aqm> QueueDiscipline<P> for ManagedQueue<P, A> {
    // Always: the near and the far dispatch of `AnyDiscipline` both call it, which would keep it out of the engine's loop.
    #[inline(always)]
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let backlog = self.queues.backlog();
        let view = QueueView { backlog, head_enqueued_at: self.queues.head_enqueued_at(), link_rate: self.link_rate };
        let verdict = self.aqm.admit(&packet, &view, now, rng);
        if verdict == Verdict::Drop || (verdict == Verdict::Mark && !packet.ecn().is_capable()) {
            drops.dropped(&packet, DropReason::Aqm, backlog);
        } else if !backlog.has_room_for(packet.wire_bytes(), self.limit) {
            self.aqm.overflowed(&packet, now);
            drops.dropped(&packet, DropReason::Overlimit, backlog);
        } else {
            if verdict == Verdict::Mark {
                packet.set_ecn(Ecn::Ce);
                drops.marked(&packet);
            }
            packet.set_enqueued_at(now);
            self.aqm.accepted(&mut packet, now);
            self.queues.push(packet);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        while let Some(mut packet) = self.queues.pop() {
            let behind = self.queues.backlog();
            let verdict = self.aqm.release(&packet, behind, now, rng);
            if verdict == Verdict::Drop || (verdict == Verdict::Mark && !packet.ecn().is_capable()) {
                drops.dropped(&packet, DropReason::Aqm, behind);
                continue;
            }
            if verdict == Verdict::Mark {
                packet.set_ecn(Ecn::Ce);
                drops.marked(&packet);
            }
            self.aqm.departed(&packet, behind, now);
            return Some(packet);
        }
        self.aqm.idle(now);
        None
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.link_rate = rate;
        self.aqm.set_link_rate(rate);
    }

    #[inline]
    fn drop_threshold(&self) -> Option<f64> {
        self.aqm.drop_threshold()
    }

    fn drop_probability(&self) -> Option<f64> {
        self.aqm.drop_probability()
    }

    fn state_size(&self) -> StateSize {
        self.aqm.state_size()
    }

    fn report(&self, report: Report<'_>) {
        self.aqm.report(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket};

    /// Marks every packet that finds a packet waiting.
    struct MarkBehindOne;

    impl Aqm for MarkBehindOne {
        fn admit<P: Packet>(&mut self, _: &P, queue: &QueueView, _: Time, _: &mut Rng) -> Verdict {
            if queue.backlog.packets > 0 { Verdict::Mark } else { Verdict::Accept }
        }
        fn accepted<P: Packet>(&mut self, _: &mut P, _: Time) {}
    }

    #[test]
    fn marks_what_understands_marks_and_drops_the_rest() {
        let params = BufferParams { limit: QueueLimit::Packets(4), ..Default::default() };
        let mut queue = ManagedQueue::new(&params, BitRate(10_000_000), MarkBehindOne);
        let (mut rng, mut drops) = (Rng::stream(1, 0, "queue", 0), Drops::default());
        let codepoints = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce, Ecn::Ect0];
        for (flow, ecn) in (0..).zip(codepoints) {
            let packet = TestPacket { flow, ecn, ..Default::default() };
            queue.enqueue(packet, Time::ZERO, &mut rng, &mut drops);
        }
        // Packet 2 cannot be marked; packet 5 could, but finds the queue full: a mark makes no room.
        let dropped: Vec<_> = drops.0.iter().map(|(packet, reason, _)| (packet.flow, *reason)).collect();
        assert_eq!(dropped, [(2, DropReason::Aqm), (5, DropReason::Overlimit)]);
        assert_eq!(drops.1, [1, 3, 4]);
        let served: Vec<_> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut rng, &mut drops)).map(|p| p.ecn).collect();
        assert_eq!(served, [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ce]);
    }

    fn queues(scheduler: Scheduler) -> ClassQueues<TestPacket> {
        ClassQueues::new(&BufferParams { scheduler, ..Default::default() }, BitRate(10_000_000))
    }

    /// Enqueues (class, milliseconds) pairs and returns the flow ids in the order of service.
    fn order_of_service(scheduler: Scheduler, arrivals: &[(TrafficClass, u64)]) -> Vec<u32> {
        let mut queues = queues(scheduler);
        for (flow, &(class, at)) in (0..).zip(arrivals) {
            let mut packet = TestPacket { flow, class, ..Default::default() };
            packet.set_enqueued_at(Time::from_millis(at));
            queues.push(packet);
        }
        std::iter::from_fn(|| queues.pop()).map(|packet| packet.flow).collect()
    }

    const BE: TrafficClass = TrafficClass::BestEffort;
    const EF: TrafficClass = TrafficClass::Expedited;

    #[test]
    fn fifo_ignores_the_class() {
        assert_eq!(order_of_service(Scheduler::Fifo, &[(BE, 0), (EF, 1), (BE, 2)]), [0, 1, 2]);
    }

    #[test]
    fn strict_priority_serves_ef_whenever_it_waits() {
        assert_eq!(order_of_service(Scheduler::Strict, &[(BE, 0), (EF, 900), (EF, 901)]), [1, 2, 0]);
    }

    #[test]
    fn medf_lets_be_pass_once_its_offset_is_over() {
        // Delta_BE = 2 * 24 * 1500 * 8 / 10 Mbit/s = 57.6 ms: BE of time 0 goes before EF of time 58, after EF of 57.
        assert_eq!(order_of_service(Scheduler::Medf, &[(BE, 0), (EF, 57), (EF, 58)]), [1, 0, 2]);
        assert_eq!(queues(Scheduler::Medf).be_offset, Time::from_micros(57_600));
    }

    #[test]
    fn medf_gives_ties_to_ef() {
        let mut queues = queues(Scheduler::Medf);
        for (class, at) in [(BE, Time::ZERO), (EF, Time::from_micros(57_600))] {
            let mut packet = TestPacket { class, ..Default::default() };
            packet.set_enqueued_at(at);
            queues.push(packet);
        }
        assert_eq!(queues.pop().map(|p| p.class), Some(EF));
    }
}
