//! Path from the end of a route to the receiver, and from the receiver back to the edge node.

use fairlane_schemes::base::units::Time;

/// A path without queueing, from the end of a route back to its start, including the access links of receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WayBack {
    /// Delay from the end of the route to the receiver, without transmission time.
    pub out_delay: Time,
    /// Transmission time to the receiver per byte on the wire, in picoseconds.
    pub out_ps_per_byte: f64,
    /// Delay from the receiver to the edge node, without transmission time.
    pub delay: Time,
    /// Transmission time to the edge node per byte on the wire, in picoseconds.
    pub ps_per_byte: f64,
}

impl WayBack {
    /// Delay from the end of the route to the receiver.
    #[must_use]
    pub fn out(&self, wire_bytes: u32) -> Time {
        self.out_delay + Time((self.out_ps_per_byte * f64::from(wire_bytes)).round() as u64)
    }

    /// Delay from the receiver to the edge node.
    #[must_use]
    pub fn back(&self, wire_bytes: u32) -> Time {
        self.delay + Time((self.ps_per_byte * f64::from(wire_bytes)).round() as u64)
    }
}
