//! Drop-tail: every packet is accepted until the queue is full.
//!
//! Source: the baseline "without ABC" of abc2018 IV.
//!
//! An arrival that finds a queue length of Q is dropped if `Q >= Q_max`. With a limit in bytes it is dropped if its own
//! length does not fit (`ManagedQueue::has_room_for`). Buffer and scheduler are the same in all schemes that define no
//! order of service.
//!
//! Cost: one comparison with the limit; no state.
//!
//! Deviations:
//! 1. The limit does not include the packet in transmission, as in the device queue of ns-3.
//! 2. The two classes share one limit. The ABC paper implies this for ABC; here it applies to all schemes, to make
//!    results comparable.

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// Drop-tail has no parameters except those of the buffer.
    pub struct DropTailParams {}
}

/// Registry entry of Drop-tail.
#[derive(Clone, Copy, Debug)]
pub struct DropTailScheme;

impl SchemeSpec for DropTailScheme {
    const ABOUT: About = About {
        title: "Drop-tail",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "Accepts every packet until the queue is full.",
        source: "baseline of abc2018",
        state: "none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    type Params = DropTailParams;
    type Discipline<P: Packet> = ManagedQueue<P, DropTail>;

    fn build<P: Packet>(_: &DropTailParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, DropTail)
    }
}

/// Accepts every packet; only the buffer's limit causes drops.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropTail;

impl Aqm for DropTail {
    const DROPS_EARLY: bool = false;

    #[inline]
    fn admit<P: Packet>(&mut self, _: &P, _: &QueueView, _: Time, _: &mut Rng) -> Verdict {
        Verdict::Accept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket};

    fn fill(limit: QueueLimit, sizes: &[u32]) -> (u32, u64, usize) {
        let buffer = BufferParams { limit, ..Default::default() };
        let port = Port { buffer: &buffer, rate: BitRate(10_000_000), weights: &Weights::equal() };
        let mut queue = DropTailScheme::build::<TestPacket>(&DropTailParams::default(), &port);
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for &wire_bytes in sizes {
            queue.enqueue(TestPacket { wire_bytes, ..Default::default() }, Time::ZERO, &mut rng, &mut drops);
        }
        assert!(drops.0.iter().all(|&(_, reason, _)| reason == DropReason::Overlimit));
        (queue.backlog().packets, queue.backlog().bytes, drops.0.len())
    }

    #[test]
    fn a_limit_in_packets_has_one_slot_for_each_whatever_its_size() {
        assert_eq!(fill(QueueLimit::Packets(3), &[1500, 40, 1500, 40]), (3, 3040, 1));
    }

    #[test]
    fn a_limit_in_bytes_lets_small_packets_into_the_gap_that_large_ones_leave() {
        assert_eq!(fill(QueueLimit::Bytes(3100), &[1500, 1500, 1500, 100]), (3, 3100, 1));
    }
}
