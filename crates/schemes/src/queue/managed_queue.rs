//! A complete discipline: active queue management before class queues with one limit.

use crate::base::rng::Rng;
use crate::base::units::{BitRate, QueueLimit, Time};
use crate::contract::aqm::{Aqm, QueueView, Verdict};
use crate::contract::buffer::BufferParams;
use crate::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline, Report, StateSize};
use crate::contract::packet::{Ecn, Packet};
use crate::queue::class_queues::ClassQueues;

/// An AQM and the class queues after it.
#[derive(Clone, Debug)]
pub struct ManagedQueue<P, A> {
    queues: ClassQueues<P>,
    limit: QueueLimit,
    link_rate: BitRate,
    aqm: A,
}

impl<P: Packet, A: Aqm> ManagedQueue<P, A> {
    /// Creates an empty queue at a link of rate `rate`.
    #[must_use]
    pub fn new(params: &BufferParams, rate: BitRate, mut aqm: A) -> Self {
        aqm.set_link_rate(rate);
        Self { queues: ClassQueues::new(params, rate), limit: params.limit, link_rate: rate, aqm }
    }

    /// Applies the AQM and the limit to an arriving packet. Returns true if the packet must be stored. `backlog` is
    /// the present queue, whose first packet arrived at `head_enqueued_at`.
    #[inline(always)]
    fn judge(
        &mut self,
        packet: &mut P,
        (backlog, head_enqueued_at): (Backlog, Option<Time>),
        now: Time,
        rng: &mut Rng,
        drops: &mut impl DropSink<P>,
    ) -> bool {
        let view = QueueView { backlog, head_enqueued_at, link_rate: self.link_rate };
        let verdict = self.aqm.admit(packet, &view, now, rng);
        //= RFC 3168 5-2: A packet is marked only if it would have been dropped otherwise.
        //= RFC 3168 5-3: A packet that is ECN-capable is marked in place of a drop.
        if verdict == Verdict::Drop || (verdict == Verdict::Mark && !packet.ecn().is_capable()) {
            drops.dropped(packet, DropReason::Aqm, backlog);
            return false;
        }
        if !backlog.has_room_for(packet.wire_bytes(), self.limit) {
            //= RFC 3168 5-5: At a full buffer a packet is dropped, capable or not.
            self.aqm.overflowed(packet, now);
            drops.dropped(packet, DropReason::Overlimit, backlog);
            return false;
        }
        if verdict == Verdict::Mark {
            //= RFC 3168 5-4: A packet that is marked already stays so and is sent.
            packet.set_ecn(Ecn::Ce);
            drops.marked(packet);
        }
        self.aqm.accepted(packet, now);
        true
    }
}

impl<P: Packet, A: Aqm> QueueDiscipline<P> for ManagedQueue<P, A> {
    // Always inlined: `AnyDiscipline` calls it in two places, so the compiler would otherwise not inline it into the
    // engine's loop.
    #[inline(always)]
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let found = (self.queues.backlog(), self.queues.head_enqueued_at());
        if self.judge(&mut packet, found, now, rng, drops) {
            self.queues.push(packet, now);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        while let Some(mut packet) = self.queues.pop() {
            let behind = self.queues.backlog();
            let verdict = if A::JUDGES_AT_HEAD { self.aqm.release(&packet, behind, now, rng) } else { Verdict::Accept };
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

    fn is_fifo(&self) -> bool {
        !A::JUDGES_AT_HEAD && self.queues.is_fifo()
    }

    #[inline(always)]
    fn admit(
        &mut self,
        packet: &mut P,
        found: (Backlog, Option<Time>),
        now: Time,
        rng: &mut Rng,
        drops: &mut impl DropSink<P>,
    ) -> bool {
        self.judge(packet, found, now, rng, drops)
    }

    #[inline(always)]
    fn departed(&mut self, packet: &P, behind: Backlog, now: Time) {
        self.aqm.departed(packet, behind, now);
    }

    #[inline(always)]
    fn idle(&mut self, now: Time) {
        self.aqm.idle(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    #[inline]
    fn upcoming(&self, places: usize) -> Option<&P> {
        self.queues.upcoming(places)
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

    /// Marks every packet that arrives while a packet waits.
    struct MarkBehindOne;

    impl Aqm for MarkBehindOne {
        fn admit<P: Packet>(&mut self, _: &P, queue: &QueueView, _: Time, _: &mut Rng) -> Verdict {
            if queue.backlog.packets > 0 { Verdict::Mark } else { Verdict::Accept }
        }
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
        // Packet 2 cannot be marked. Packet 5 could be marked, but the queue is full.
        let dropped: Vec<_> = drops.0.iter().map(|(packet, reason, _)| (packet.flow, *reason)).collect();
        assert_eq!(dropped, [(2, DropReason::Aqm), (5, DropReason::Overlimit)]);
        assert_eq!(drops.1, [1, 3, 4]);
        let served: Vec<_> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut rng, &mut drops)).map(|p| p.ecn).collect();
        assert_eq!(served, [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ce]);
    }
}
