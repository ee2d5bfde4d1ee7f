//! PPV (per-packet value): the edge labels packets with their value, and a full queue drops the packet of least value.
//!
//! Source: Nadas, Turanyi, Racz, "Per Packet Value: A Practical Concept for Network Resource Sharing", GLOBECOM 2016
//! (ppv), known to us through section II of abc2018 ([`crate::label::abc`]) and the authors' project page.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | value `V(y) = -log2(y)` of the y-th bit/s, the same function for all users | `value_of` |
//! | (2) | random marker: `y = U*r/w`; [`crate::measure::rate_estimates`] gives the rate r, U is uniform on (0,1) | `PpvMarker` |
//! | (3) | token buckets of rates `w*R_1 < w*R_2 < ...`: `y = R_i` of the lowest bucket with enough tokens; this bucket and all higher ones are debited | `PpvMarker::debit` |
//! | (4) | while there is no room: drop the packet of least value, or the arrival if no packet has a lower value | `PpvQueue` |
//!
//! Bucket i of a user of weight w fills at `w * 10^(1 + i/30)` kbit/s.
//!
//! The label is V(y). V decreases with y, so users with the same marginal value have the same rate per unit of weight.
//!
//! Cost: per packet, the edge computes one exponential, one logarithm and one random number. With token buckets it
//! computes one logarithm and one step per bucket. The port makes O(log n) comparisons for n packets in the queue.
//! State per user (or flow) at the edge: 3 numbers, or with token buckets a time and the tokens of each bucket. State
//! in the core: none per flow; 36 bytes per packet in the queue.
//!
//! Deviations:
//! 1. V is our choice; any decreasing function gives the same shares. `-log2(y)` is, up to a constant, the negative of
//!    the activity of ABC's fair meter.
//! 2. Rule (3) may debit the higher buckets below zero. In the long run, each bucket therefore limits the rate of all
//!    packets with its value or a higher one.
//! 3. A bucket's depth is at least one full packet; otherwise buckets below 120 kbit/s would never have enough tokens.
//!    If no bucket has enough tokens for a packet, the packet's value is one step below the last bucket's.
//! 4. Of packets with equal minimum value, the arrival is dropped first, then the last one that arrived.
//! 5. A packet that is longer than the whole queue is dropped at once.
//!
//! Not implemented: other throughput-value functions (several classes, delay). Both classes share one FIFO queue.

mod marker;
mod value_queue;

use crate::contract::prelude::*;
use value_queue::ValueQueue;

pub use marker::{PpvMarker, PpvMarkerKind, PpvMarkerParams, PpvMeter};

params! {
    /// PPV has no parameters except those of the buffer.
    pub struct PpvParams {}
}

/// Registry entry of PPV.
#[derive(Clone, Copy, Debug)]
pub struct PpvScheme;

impl SchemeSpec for PpvScheme {
    const ABOUT: About = About {
        title: "Per-packet value",
        kind: "one FIFO queue; pushes out the least value",
        summary: "The edge labels packets with the marginal value of their position in the user's rate; a full queue \
                  drops the packet of least value.",
        source: "Nadas, Turanyi, Racz: Per Packet Value, GLOBECOM 2016",
        state: "user or flow, at the edge: 3 numbers, or one for each bucket; in the core: none per flow",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const MARKER: MarkerScheme = PpvMarker::SCHEME;
    const ORDERS_PACKETS: bool = true;
    type Params = PpvParams;
    type Discipline<P: Packet> = PpvQueue<P>;

    fn build<P: Packet>(_: &PpvParams, port: &Port<'_>) -> PpvQueue<P> {
        PpvQueue::new(port.buffer)
    }
}

/// The queue of one port.
#[derive(Clone, Debug)]
pub struct PpvQueue<P> {
    queue: ValueQueue<P>,
    limit: QueueLimit,
}

impl<P: Packet> PpvQueue<P> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new(buffer: &BufferParams) -> Self {
        Self { queue: ValueQueue::new(), limit: buffer.limit }
    }
}

impl<P: Packet> QueueDiscipline<P> for PpvQueue<P> {
    fn enqueue(&mut self, mut packet: P, now: Time, _: &mut Rng, drops: &mut impl DropSink<P>) {
        let (found, value) = (self.queue.backlog(), packet.label());
        if !Backlog::default().has_room_for(packet.wire_bytes(), self.limit) {
            return drops.dropped(&packet, DropReason::Overlimit, found);
        }
        while !self.queue.backlog().has_room_for(packet.wire_bytes(), self.limit) {
            let Some(victim) = self.queue.least().filter(|least| *least < value).and_then(|_| self.queue.pop_least())
            else {
                return drops.dropped(&packet, DropReason::Overlimit, found); // eq. (4)
            };
            drops.dropped(&victim, DropReason::PushedOut, found);
        }
        packet.set_enqueued_at(now);
        self.queue.push(value, packet);
    }

    fn dequeue(&mut self, _: Time, _: &mut Rng, _: &mut impl DropSink<P>) -> Option<P> {
        self.queue.pop_front()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_size(&self) -> StateSize {
        StateSize { records: 0, bytes: size_of_val(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket};

    /// Offers packets given as (flow, value, bytes). Returns the flows of dropped and of served packets.
    fn run(limit: QueueLimit, offers: &[(u32, f64, u32)]) -> (Vec<(u32, DropReason)>, Vec<u32>) {
        let mut queue = PpvQueue::new(&BufferParams { limit, ..Default::default() });
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for &(flow, label, wire_bytes) in offers {
            let packet = TestPacket { flow, label, wire_bytes, ..Default::default() };
            queue.enqueue(packet, Time::ZERO, &mut rng, &mut drops);
        }
        let served = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut rng, &mut drops)).map(|p| p.flow).collect();
        (drops.0.iter().map(|&(packet, reason, _)| (packet.flow, reason)).collect(), served)
    }

    #[test]
    fn equation_4_a_full_queue_drops_the_least_value_and_keeps_the_order_of_arrival() {
        let offers = [(0, -20.0, 1500), (1, -22.0, 1500), (2, -21.0, 1500), (3, -19.0, 1500), (4, -23.0, 1500)];
        let (dropped, served) = run(QueueLimit::Packets(3), &offers);
        assert_eq!(dropped, [(1, DropReason::PushedOut), (4, DropReason::Overlimit)]);
        assert_eq!(served, [0, 2, 3]);
    }

    #[test]
    fn of_equal_values_the_arrival_is_dropped_then_the_youngest() {
        let offers = [(0, -20.0, 1500), (1, -20.0, 1500), (2, -20.0, 1500), (3, -19.0, 1500)];
        let (dropped, served) = run(QueueLimit::Packets(2), &offers);
        assert_eq!(dropped, [(2, DropReason::Overlimit), (1, DropReason::PushedOut)]);
        assert_eq!(served, [0, 3]);
    }

    #[test]
    fn in_bytes_several_packets_make_room_and_a_giant_touches_none() {
        let offers = [(0, -21.0, 500), (1, -22.0, 500), (2, -20.0, 500), (3, -19.0, 1000), (4, 0.0, 1501)];
        let (dropped, served) = run(QueueLimit::Bytes(1500), &offers);
        let expected = [(1, DropReason::PushedOut), (0, DropReason::PushedOut), (4, DropReason::Overlimit)];
        assert_eq!((dropped.as_slice(), served), (expected.as_slice(), vec![2, 3]));
    }
}
