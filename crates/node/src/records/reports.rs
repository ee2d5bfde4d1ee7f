//! What the records say, in words and in physical units.

use super::maps::{IngressStats, Kind, NodeRecord, PortRecord, PortState, Unit, UserKey, UserState};
use crate::config::{Arrivals, Carrier, NodeScheme, QueueScheme};
use fairlane_schemes::base::config::ConfigValue;
use fairlane_schemes::fixed::{Activity, PACKET};
use std::fmt;
use std::net::Ipv6Addr;

/// The choice with a number, as in the configuration.
fn choice<T: ConfigValue>(number: u32) -> &'static str {
    T::CHOICES.and_then(|choices| choices.get(number as usize)).copied().unwrap_or("unknown")
}

impl NodeRecord {
    /// The scheme of the node.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        choice::<NodeScheme>(self.scheme)
    }
}

impl PortRecord {
    /// Whether shims are taken off before the packets come in.
    #[must_use]
    pub fn has_unwrap(&self) -> bool {
        self.ingress == Arrivals::Trusted as u32 && self.carrier == Carrier::Shim as u32
    }

    /// Whether anything happens to packets that go out.
    #[must_use]
    pub fn has_egress(&self) -> bool {
        self.aqm != 0 || self.carrier != 0
    }

    /// What carries labels on the link.
    #[must_use]
    pub fn carrier(&self) -> &'static str {
        choice::<Carrier>(self.carrier)
    }

    /// The scheme of the port.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        choice::<QueueScheme>(self.aqm)
    }

    /// A queue of `units` of the record, for people.
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

    /// A queue of `units` of the record: packets, bytes, or seconds of a virtual queue.
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
}

impl PortState {
    /// A_avg before the last packet; of CSFQ the logarithm of the fair rate, the lowest label without an estimate.
    #[must_use]
    pub fn average(&self) -> Activity {
        Activity::from_units(self.average)
    }

    /// The fair rate of CSFQ in reference rates, if there is an estimate.
    #[must_use]
    pub fn fair_rate(&self) -> Option<f64> {
        (self.average() != Activity::MIN).then(|| self.average().to_f64().exp2())
    }
}

impl UserState {
    /// Label of the last packet.
    #[must_use]
    pub fn activity(&self) -> Activity {
        Activity::from_units(self.activity)
    }
}

impl IngressStats {
    /// Each counter with its name and what it counts.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + use<> {
        let counters: [u64; 8] = zerocopy::transmute!(*self);
        Self::layout().fields.into_iter().zip(counters).map(|(field, value)| (field.name, field.doc.trim(), value))
    }

    /// The sum of the records of all processors.
    #[must_use]
    pub fn sum(records: &[Self]) -> Self {
        let mut sums = [0; 8];
        for record in records {
            let counters: [u64; 8] = zerocopy::transmute!(*record);
            sums.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter);
        }
        zerocopy::transmute!(sums)
    }
}

/// As in a configuration: `10.0.1.0/24`, `2001:db8::1`, `vlan 7`, `mark 0x10/0xff`, `default`.
impl fmt::Display for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i, ..] = self.address;
        let (first, second) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, g, h, i]));
        let is = |kind: Kind| self.kind == kind as u8;
        if is(Kind::Default) {
            return f.write_str("default");
        }
        if is(Kind::Vlan) {
            return write!(f, "vlan {first}");
        }
        if is(Kind::Mark) {
            return write!(f, "mark {first:#x}/{second:#x}");
        }
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
