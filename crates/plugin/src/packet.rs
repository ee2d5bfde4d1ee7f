//! A packet at the C interface.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::{Ecn, Packet, TrafficClass};

/// A packet of the caller. The library copies it and returns `id` and `label` to the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CPacket {
    /// Any number, such as a pointer to the caller's own packet.
    pub id: u64,
    /// Label written by the marker: an activity, a rate or a tag.
    pub label: f64,
    /// Transport connection.
    pub flow: u32,
    /// User of the packet.
    pub user: u32,
    /// Length in bytes at the IP layer, at least 1.
    pub bytes: u32,
    /// 0 best effort, 1 expedited.
    pub traffic_class: u8,
    /// ECN field of the IP header, 0 to 3 (RFC 3168).
    pub ecn: u8,
    /// Must be 0.
    pub reserved: u16,
}

/// Error: a number of a packet is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPacket;

/// Codepoints of the ECN field, in the order of their bits.
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Bits of a codepoint.
#[must_use]
#[inline]
pub const fn bits_of(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// A checked packet of the caller, with the fields that schemes add.
#[derive(Clone, Copy, Debug)]
pub struct CheckedPacket {
    packet: CPacket,
    enqueued_at: Time,
}

impl CheckedPacket {
    /// Checks every field.
    ///
    /// # Errors
    /// If a number is out of range.
    #[inline]
    pub fn new(packet: CPacket) -> Result<Self, BadPacket> {
        // One combined test: one branch instead of five.
        let is_known = (usize::from(packet.ecn) < ECN.len())
            & (usize::from(packet.traffic_class) < TrafficClass::ALL.len())
            & (packet.reserved == 0)
            & (packet.bytes > 0)
            & packet.label.is_finite();
        if !is_known {
            return Err(BadPacket);
        }
        Ok(Self { packet, enqueued_at: Time::ZERO })
    }

    /// Packet for the caller.
    #[must_use]
    #[inline]
    pub fn c(&self) -> CPacket {
        self.packet
    }
}

impl Packet for CheckedPacket {
    #[inline]
    fn flow(&self) -> u32 {
        self.packet.flow
    }
    #[inline]
    fn user(&self) -> u32 {
        self.packet.user
    }
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.packet.bytes
    }
    #[inline]
    fn class(&self) -> TrafficClass {
        TrafficClass::ALL[usize::from(self.packet.traffic_class)]
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        ECN[usize::from(self.packet.ecn)]
    }
    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        self.packet.ecn = bits_of(ecn);
    }
    #[inline]
    fn label(&self) -> f64 {
        self.packet.label
    }
    #[inline]
    fn set_label(&mut self, label: f64) {
        self.packet.label = label;
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
