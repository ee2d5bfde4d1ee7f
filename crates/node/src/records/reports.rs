//! Conversion of records to words and physical units.

use super::configured::UNKNOWN_RATE;
use super::maps::{
    ClassCounts, IngressStats, Kind, NodeRecord, PortCounts, PortRecord, PortState, Unit, UserKey, UserState,
};
use crate::config::{Arrivals, Carrier, NodeScheme, QueueScheme, UserIs};
use fairlane_schemes::base::config::ConfigValue;
use fairlane_schemes::fixed::{Activity, PACKET};
use std::fmt;
use std::net::Ipv6Addr;

/// Returns the name of the choice with a number, as in the configuration.
fn choice<T: ConfigValue>(number: u32) -> &'static str {
    T::CHOICES.and_then(|choices| choices.get(number as usize)).copied().unwrap_or("unknown")
}

impl NodeRecord {
    /// Scheme of the node.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        choice::<NodeScheme>(self.scheme)
    }
}

impl PortRecord {
    /// Returns true if packets with labels are lost on the port's link unless the far end strips the labels.
    #[must_use]
    pub fn needs_reader(&self) -> bool {
        [Carrier::Tag, Carrier::Shim].iter().any(|carrier| *carrier as u32 == self.carrier)
    }

    /// Returns true if the port strips labels from arriving packets, and packets would be lost with labels that are not
    /// stripped.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.ingress == Arrivals::Trusted as u32 && self.needs_reader()
    }

    /// Returns true if the port needs an ingress program, for arriving packets or for answers of the far end.
    #[must_use]
    pub fn has_ingress(&self) -> bool {
        self.ingress != 0 || self.asks != 0
    }

    /// Returns true if shims are stripped before other processing.
    #[must_use]
    pub fn has_unwrap(&self) -> bool {
        self.ingress == Arrivals::Trusted as u32 && self.carrier == Carrier::Shim as u32
    }

    /// Returns true if the port needs an egress program.
    #[must_use]
    pub fn has_egress(&self) -> bool {
        self.aqm != 0 || self.carrier != 0
    }

    /// Carrier of labels on the link.
    #[must_use]
    pub fn carrier(&self) -> &'static str {
        choice::<Carrier>(self.carrier)
    }

    /// Scheme of the port.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        choice::<QueueScheme>(self.aqm)
    }

    /// Formats the length of a queue, given by `units` in the unit of the record.
    #[must_use]
    pub fn queue_in_words(&self, units: i64) -> String {
        let queue = self.queue_in_units(units);
        if self.unit == Unit::Packets as u32 {
            format!("{queue:.1} packets")
        } else if self.unit == Unit::Bytes as u32 {
            format!("{queue} B")
        } else {
            format!("{:.3} ms", queue * 1e3)
        }
    }

    /// Converts a queue of `units` to packets, bytes, or seconds of a virtual queue, depending on the record.
    #[must_use]
    pub fn queue_in_units(&self, units: i64) -> f64 {
        if self.unit == Unit::Packets as u32 {
            units as f64 / PACKET as f64
        } else if self.unit == Unit::Bytes as u32 {
            units as f64
        } else {
            units as f64 * 1e-9
        }
    }

    /// Converts a queue of `units` to packets, if that is the unit of the record.
    #[must_use]
    pub fn packets(&self, units: i64) -> Option<f64> {
        (self.unit == Unit::Packets as u32).then(|| self.queue_in_units(units))
    }

    /// Converts a queue of `units` to bytes, if that is the unit of the record.
    #[must_use]
    pub fn bytes(&self, units: i64) -> Option<f64> {
        (self.unit == Unit::Bytes as u32).then(|| self.queue_in_units(units))
    }

    /// Seconds that the link needs to send a queue of `units`, if its rate is known and the unit is not packets.
    #[must_use]
    pub fn delay_s(&self, units: i64) -> Option<f64> {
        let is_known = self.ns_per_byte_q20 != Self::ns_per_byte_q20(UNKNOWN_RATE);
        match self.unit {
            unit if unit == Unit::Virtual as u32 => Some(self.queue_in_units(units)),
            unit if unit == Unit::Bytes as u32 && is_known => {
                Some(units as f64 * self.ns_per_byte_q20 as f64 / 1_048_576e9)
            }
            _ => None,
        }
    }
}

impl ClassCounts {
    /// Mean waiting time in seconds; 0 without packets.
    #[must_use]
    pub fn mean_wait_s(&self) -> f64 {
        self.waited_ns as f64 * 1e-9 / self.waits.max(1) as f64
    }
}

impl PortState {
    /// Counts of all packets, including those that arrived while the state was locked.
    #[must_use]
    pub fn total(&self) -> PortCounts {
        let (counts, late): ([u64; PORT_COUNTS], [u64; PORT_COUNTS]) =
            (zerocopy::transmute!(self.counts), zerocopy::transmute!(self.late));
        let sums: [u64; PORT_COUNTS] = std::array::from_fn(|i| counts[i] + late[i]);
        zerocopy::transmute!(sums)
    }

    /// A_avg before the last packet. For CSFQ, the logarithm of the fair rate, or the lowest label if there is no
    /// estimate.
    #[must_use]
    pub fn average(&self) -> Activity {
        Activity::from_units(self.average)
    }

    /// Fair rate of CSFQ in reference rates, if there is an estimate.
    #[must_use]
    pub fn fair_rate(&self) -> Option<f64> {
        (self.average() != Activity::MIN).then(|| self.average().to_f64().exp2())
    }
}

const PORT_COUNTS: usize = size_of::<PortCounts>() / size_of::<u64>();

impl PortCounts {
    /// Packets dropped, for any reason.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.dropped + self.overlimit
    }
}

impl UserState {
    /// Returns the state including the packets that arrived while it was locked.
    #[must_use]
    pub fn settled(self) -> Self {
        let (packets, bytes) = (self.packets + self.late_packets, self.bytes + self.late_bytes);
        Self { packets, bytes, late_packets: 0, late_bytes: 0, ..self }
    }

    /// Label of the last packet.
    #[must_use]
    pub fn activity(&self) -> Activity {
        Activity::from_units(self.activity)
    }
}

const COUNTERS: usize = size_of::<IngressStats>() / size_of::<u64>();

impl IngressStats {
    /// Each counter with its name and description.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + use<> {
        let counters: [u64; COUNTERS] = zerocopy::transmute!(*self);
        Self::layout().fields.into_iter().zip(counters).map(|(field, value)| (field.name, field.doc.trim(), value))
    }

    /// Sum of the records of all processors.
    #[must_use]
    pub fn sum(records: &[Self]) -> Self {
        let mut sums = [0; COUNTERS];
        for record in records {
            let counters: [u64; COUNTERS] = zerocopy::transmute!(*record);
            sums.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter);
        }
        zerocopy::transmute!(sums)
    }
}

/// Formats the key as in the configuration: `10.0.1.0/24`, `2001:db8::1`, `vlan 7`, `mark 0x10/0xff`, `default`. A
/// destination has the prefix `to `.
impl fmt::Display for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.user_is == UserIs::Destination as u8 {
            f.write_str("to ")?;
        }
        let [a, b, c, d, e, g, h, i, ..] = self.address;
        let (first, second) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, g, h, i]));
        match self.kind() {
            Kind::Free => f.write_str("nobody"),
            Kind::Default => f.write_str("default"),
            Kind::Overflow => f.write_str("overflow"),
            Kind::Unparsed => f.write_str("unparsed"),
            Kind::Vlan => write!(f, "vlan {first}"),
            Kind::Mark => write!(f, "mark {first:#x}/{second:#x}"),
            Kind::Service => write!(f, "s_vlan {first}"),
            Kind::Tags => write!(f, "s_vlan {first} c_vlan {second}"),
            Kind::Session => write!(f, "pppoe_session {first}"),
            Kind::Tunnel => write!(f, "tunnel {first}"),
            Kind::Address => self.prefix_in_words(f),
        }
    }
}

impl UserKey {
    /// Kind of identifier. A number of another version is treated as no identifier.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == self.kind).unwrap_or(Kind::Free)
    }

    fn prefix_in_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from(self.address);
        let most = if self.bits < 96 { None } else { address.to_ipv4_mapped() };
        match (most, self.bits) {
            (Some(address), 128) => write!(f, "{address}"),
            (Some(address), bits) => write!(f, "{address}/{}", bits - 96),
            (None, 128) => write!(f, "{address}"),
            (None, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::base::units::BitRate;

    #[test]
    fn a_queue_has_a_delay_where_the_rate_is_known() {
        let port = |unit: Unit, rate| PortRecord {
            unit: unit as u32,
            ns_per_byte_q20: PortRecord::ns_per_byte_q20(rate),
            ..PortRecord::default()
        };
        // 1000 bytes at 8 Mbit/s.
        let bytes = port(Unit::Bytes, BitRate(8_000_000));
        assert_eq!((bytes.bytes(1000), bytes.packets(1000), bytes.delay_s(1000)), (Some(1000.0), None, Some(1e-3)));
        assert_eq!(port(Unit::Bytes, UNKNOWN_RATE).delay_s(1000), None);
        let packets = port(Unit::Packets, BitRate(8_000_000));
        assert_eq!((packets.packets(2 * PACKET), packets.delay_s(16)), (Some(2.0), None));
        assert_eq!(port(Unit::Virtual, BitRate(8_000_000)).delay_s(1_000_000), Some(1e-3));
    }
}
