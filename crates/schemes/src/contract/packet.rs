//! Properties of a packet that a scheme may use, in any host.

use crate::base::units::Time;
use std::fmt::Debug;

crate::choices! {
    /// Traffic class, i.e. the per-hop behaviour (abc2018 III-D).
    pub enum TrafficClass {
        /// Best effort.
        BestEffort = "BE",
        /// Expedited forwarding (RFC 3246).
        Expedited = "EF",
    }
}

impl TrafficClass {
    /// Position in [`TrafficClass::ALL`], and in arrays that hold one entry per class.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not speak ECN.
    #[default]
    NotEct,
    /// ECN-capable, codepoint ECT(1).
    Ect1,
    /// ECN-capable, codepoint ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns true if the transport understands congestion marks: then a packet may be marked instead of dropped.
    #[must_use]
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// A packet as markers and queue disciplines see it.
///
/// Packets are small and `Copy`: they move by value through ring buffers, without allocation or indirection.
pub trait Packet: Copy + Debug {
    /// Identifies the transport connection.
    fn flow(&self) -> u32;
    /// Identifies the user, that is the traffic aggregate. Known at the edge; in the core only a scheme that keeps
    /// state per user may ask, and says so.
    fn user(&self) -> u32;
    /// Bytes that the packet occupies on the link: the length L of the papers.
    fn wire_bytes(&self) -> u32;
    /// Traffic class.
    fn class(&self) -> TrafficClass;
    /// ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field.
    fn set_ecn(&mut self, ecn: Ecn);
    /// The label that the edge wrote: an activity, a rate, a tag, by scheme.
    fn label(&self) -> f64;
    /// Writes the label.
    fn set_label(&mut self, label: f64);
    /// When the packet entered the queue that it is in.
    fn enqueued_at(&self) -> Time;
    /// Stamps the packet with the time at which it enters a queue.
    fn set_enqueued_at(&mut self, now: Time);
}
