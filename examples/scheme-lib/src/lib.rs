//! Half-full: drops a packet that finds more than a part of the limit in use.

use fairlane_plugin::prelude::*;

params! {
    /// What half-full can be told.
    pub struct HalfFullParams {
        /// Part of the limit that may be in use.
        part: Probability = 0.5, in 0.01..=1.0, source "our own";
    }
}

/// A packet is dropped if the queue that it finds is at least so long.
#[derive(Debug)]
pub struct HalfFull(f64);

impl Aqm for HalfFull {
    fn admit<P: Packet>(&mut self, _: &P, queue: &QueueView, _: Time, _: &mut Rng) -> Verdict {
        if f64::from(queue.backlog.packets) < self.0 { Verdict::Accept } else { Verdict::Drop }
    }
}

impl SchemeSpec for HalfFull {
    const ABOUT: About = About::new("Half-full", "Drops a packet that finds more than a part of the limit in use.");
    type Params = HalfFullParams;
    type Discipline<P: Packet> = ManagedQueue<P, Self>;
    fn build<P: Packet>(params: &HalfFullParams, port: &Port<'_>) -> ManagedQueue<P, Self> {
        let packets = port.buffer.full_bytes() as f64 / port.buffer.mtu.0 as f64;
        ManagedQueue::new(port.buffer, port.rate, Self(params.part.0 * packets))
    }
}

export! { "half-full" = HalfFull }
