//! Start tags of start-time fair queueing: the ranks by which packets share a link fairly. STFQ sorts by them; schemes
//! that approximate a sorted queue use them as ranks.
//!
//! A dropped packet is withdrawn, and its flow continues as if it had never arrived. Virtual time never decreases, even
//! if packets are not served in the order of their tags.
//!
//! Cost: one table look-up per packet, a second one for a withdrawn packet. State: 17 bytes per flow whose finish tag
//! is ahead of virtual time; other records have no effect and expire.

use crate::contract::prelude::*;
use crate::flows::expiring_table::ExpiringTable;

/// Virtual time and finish tags of one port, in bits per unit of weight.
#[derive(Clone, Debug)]
pub struct StartTags {
    /// F of the last packet of each flow.
    finish: ExpiringTable<f64>,
    /// v, the virtual time.
    virtual_time: f64,
    largest_finish: f64,
    share_per: FlowKey,
    weights: Weights,
}

impl StartTags {
    /// State of an idle port.
    #[must_use]
    pub fn new(share_per: FlowKey, weights: Weights) -> Self {
        Self { finish: ExpiringTable::default(), virtual_time: 0.0, largest_finish: 0.0, share_per, weights }
    }

    /// Virtual time that a packet takes: L/w.
    #[inline]
    fn span_of<P: Packet>(&self, packet: &P) -> f64 {
        f64::from(packet.wire_bytes()) * 8.0 / self.weights.of(packet.user())
    }

    /// Start tag of an arriving packet: `S = max(v, F)`, then `F = S + L/w`.
    #[inline]
    pub fn of<P: Packet>(&mut self, packet: &P) -> f64 {
        let key = self.share_per.of(packet);
        let (virtual_time, span) = (self.virtual_time, self.span_of(packet));
        let finish = self.finish.get_or_insert_with(key, |&finish| finish > virtual_time, || 0.0);
        let start = f64::max(virtual_time, *finish);
        *finish = start + span;
        start
    }

    /// Records that `packet`, the last of its flow, was dropped. The flow continues from the packet's tag.
    #[inline]
    pub fn withdraw<P: Packet>(&mut self, packet: &P, start: f64) {
        if let Some(finish) = self.finish.get_mut(self.share_per.of(packet)) {
            *finish = start;
        }
    }

    /// Records that `packet` is now in service.
    #[inline]
    pub fn served<P: Packet>(&mut self, packet: &P, start: f64) {
        self.virtual_time = self.virtual_time.max(start);
        self.largest_finish = self.largest_finish.max(start + self.span_of(packet));
    }

    /// Ends the busy period: v becomes the largest finish tag.
    pub fn idle(&mut self) {
        self.virtual_time = self.largest_finish;
        self.finish.clear();
    }

    /// v, the virtual time.
    #[must_use]
    pub fn virtual_time(&self) -> f64 {
        self.virtual_time
    }

    /// Number of flow records.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.finish.len()
    }

    /// Bytes of the flow records.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.finish.bytes()
    }
}
