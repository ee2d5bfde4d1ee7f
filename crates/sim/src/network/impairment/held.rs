//! Packets that continue later, in the order of time.

use crate::network::sim_packet::SimPacket;
use fairlane_schemes::base::units::Time;

/// A packet that continues later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) until: Time,
    /// Sequence number. Packets that continue at the same time keep this order.
    pub(super) number: u64,
    pub(super) packet: SimPacket,
}

impl Held {
    fn order(&self) -> (Time, u64) {
        (self.until, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}
