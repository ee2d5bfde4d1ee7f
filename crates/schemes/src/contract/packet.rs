//! Properties of a packet that a scheme may use in any host.

use crate::base::units::Time;
use std::fmt::Debug;

crate::choices! {
    /// Traffic class, that is, the per-hop behaviour (abc2018 III-D).
    pub enum TrafficClass {
        /// Best effort.
        BestEffort = "BE",
        /// Expedited forwarding (RFC 3246).
        Expedited = "EF",
    }
}

impl TrafficClass {
    /// Index in [`TrafficClass::ALL`], and in arrays with one entry per class.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not support ECN.
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
    /// Returns true if the transport supports congestion marks, so a packet may be marked instead of dropped.
    #[must_use]
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Packet interface for markers and queue disciplines.
///
/// Packets are small and `Copy`: ring buffers move them by value, without allocation or indirection.
pub trait Packet: Copy + Debug {
    /// Identifies the transport connection.
    fn flow(&self) -> u32;
    /// Identifies the user, that is, the traffic aggregate. The user is known at the edge. In the core, only a scheme
    /// that declares state per user may call this.
    fn user(&self) -> u32;
    /// Bytes that the packet occupies on the link: L in the papers.
    fn wire_bytes(&self) -> u32;
    /// Traffic class.
    fn class(&self) -> TrafficClass;
    /// ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field.
    fn set_ecn(&mut self, ecn: Ecn);
    /// The label that the edge wrote: an activity, a rate or a tag, depending on the scheme.
    fn label(&self) -> f64;
    /// Writes the label.
    fn set_label(&mut self, label: f64);
    /// Time when the packet entered its current queue.
    fn enqueued_at(&self) -> Time;
    /// Sets the time when the packet enters a queue.
    fn set_enqueued_at(&mut self, now: Time);
}
