//! A packet for schemes: fields parsed from the frame, and the slot in the pool.

use super::frame_pool::FrameId;
use crate::control::Control;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::{Ecn, Packet, TrafficClass};

/// A packet in the forwarder.
#[derive(Clone, Copy, Debug)]
pub struct NodePacket {
    /// The marker's label.
    pub label: f64,
    /// Time at which the packet entered its current queue.
    pub enqueued_at: Time,
    /// Slot of its frame.
    pub frame: FrameId,
    /// Flow, see [`crate::frame::Frame::flow`].
    pub flow: u32,
    /// Index of the user.
    pub user: u32,
    /// Bytes that the packet occupies on a link.
    pub bytes: u32,
    /// Traffic class.
    pub class: TrafficClass,
    /// Kind of control traffic.
    pub control: Control,
    /// ECN field.
    pub ecn: Ecn,
    /// ECN field of the arriving frame.
    pub ecn_before: Ecn,
}

impl Packet for NodePacket {
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline]
    fn user(&self) -> u32 {
        self.user
    }
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    #[inline]
    fn class(&self) -> TrafficClass {
        self.class
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    #[inline]
    fn label(&self) -> f64 {
        self.label
    }
    #[inline]
    fn set_label(&mut self, label: f64) {
        self.label = label;
    }
    #[inline]
    fn enqueued_at(&self) -> Time {
        self.enqueued_at
    }
    #[inline]
    fn set_enqueued_at(&mut self, now: Time) {
        self.enqueued_at = now;
    }
}
