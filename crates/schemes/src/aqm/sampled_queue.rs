//! FIFO queue in which arrivals sample waiting packets before RED decides on them. BLACK and CHOKe use it.

use super::red_core::{RedCore, RedParams};
use crate::contract::prelude::*;
use crate::queue::random_access_fifo::RandomAccessFifo;
use std::fmt::Debug;

/// The part of BLACK or CHOKe that samples the queue.
pub trait Sampler: Clone + Debug {
    /// Returns true if an arrival must be dropped although the queue is not full. RED's average already includes the
    /// arrival. May also drop waiting packets.
    fn drops_early<P: Packet>(
        &mut self,
        arrival: (&P, Time),
        queue: &mut RandomAccessFifo<P>,
        red: &mut RedCore,
        rng: &mut Rng,
        drops: &mut impl DropSink<P>,
    ) -> bool;
    /// Drop probability of the last decision. The default is RED's probability, for samplers whose own decisions have
    /// no known probability.
    fn drop_probability(&self, red: &RedCore) -> f64 {
        red.probability()
    }
    /// Number of records and their bytes on the heap.
    fn state_size(&self) -> StateSize {
        StateSize::default()
    }
    /// Reports the readings of the scheme.
    fn report(&self, report: Report<'_>);
}

/// Queue of one port, with sampling and RED.
#[derive(Clone, Debug)]
pub struct SampledQueue<P, S> {
    /// Waiting packets.
    pub queue: RandomAccessFifo<P>,
    limit: QueueLimit,
    /// RED, which decides on packets that the sampler accepts.
    pub red: RedCore,
    /// Sampling part.
    pub sampler: S,
}

impl<P: Packet, S> SampledQueue<P, S> {
    /// Creates an empty queue of `limit` at a link of rate `rate`.
    #[must_use]
    pub fn new(sampler: S, red: RedParams, limit: QueueLimit, rate: BitRate) -> Self {
        Self { queue: RandomAccessFifo::default(), limit, red: RedCore::new(red, rate), sampler }
    }
}

impl<P: Packet, S: Sampler> QueueDiscipline<P> for SampledQueue<P, S> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        let Self { queue, limit, red, sampler } = self;
        let backlog = queue.backlog();
        red.arrival(backlog, packet.wire_bytes(), now);
        if sampler.drops_early((&packet, now), queue, red, rng, drops) {
            drops.dropped(&packet, DropReason::Aqm, backlog);
        } else if !backlog.has_room_for(packet.wire_bytes(), *limit) {
            red.overflowed();
            drops.dropped(&packet, DropReason::Overlimit, backlog);
        } else {
            packet.set_enqueued_at(now);
            queue.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        let packet = self.queue.pop();
        if packet.is_none() {
            self.red.idle(now);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.red.set_link_rate(rate);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.sampler.drop_probability(&self.red))
    }

    fn state_size(&self) -> StateSize {
        let fixed = size_of_val(self) - size_of_val(&self.queue) - size_of_val(&self.red);
        let StateSize { records, bytes } = self.sampler.state_size();
        StateSize { records, bytes: fixed + self.red.bytes() + bytes }
    }

    fn report(&self, report: Report<'_>) {
        report("average_queue", self.red.average());
        self.sampler.report(report);
    }
}
