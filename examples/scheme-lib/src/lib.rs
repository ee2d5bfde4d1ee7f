//! Half-full: drops arriving packets if more than a part of the limit is in use.

use fairlane_plugin::prelude::*;

params! {
    /// Parameters of half-full.
    pub struct HalfFullParams {
        /// Part of the limit above which packets are dropped.
        part: Probability = 0.5, in 0.01..=1.0, source "our own";
    }
}

/// Drops an arriving packet if the queue has at least this many packets.
#[derive(Debug)]
pub struct HalfFull(f64);

impl Aqm for HalfFull {
    fn admit<P: Packet>(&mut self, _: &P, queue: &QueueView, _: Time, _: &mut Rng) -> Verdict {
        if f64::from(queue.backlog.packets) < self.0 { Verdict::Accept } else { Verdict::Drop }
    }
}

impl SchemeSpec for HalfFull {
    const ABOUT: About = About::new("Half-full", "Drops arriving packets if more than a part of the limit is in use.");
    type Params = HalfFullParams;
    type Discipline<P: Packet> = ManagedQueue<P, Self>;
    fn build<P: Packet>(params: &HalfFullParams, port: &Port<'_>) -> ManagedQueue<P, Self> {
        let packets = port.buffer.full_bytes() as f64 / port.buffer.mtu.0 as f64;
        ManagedQueue::new(port.buffer, port.rate, Self(params.part.0 * packets))
    }
}

export! { "half-full" = HalfFull }
