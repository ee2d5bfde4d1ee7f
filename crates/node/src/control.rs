//! Control traffic keeps links, neighbours and routes alive. It bypasses the AQM up to a rate; above that rate, the AQM
//! treats it like other packets.
//!
//! The constants are declared only here: the kernel programs get them through `planes/bpf/generated/records.h`.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::port::Serialiser;

/// Ethertype of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// DSCPs CS6, for routing, and CS7, for the network's own use (RFC 4594 3.1, 3.2).
pub const DSCPS: [u8; 2] = [48, 56];
/// Protocol number of ICMP, which is not control traffic: any host can make a node send echo replies and errors.
pub const ICMP: u8 = 1;
/// Protocol number of ICMPv6, which is not control traffic, except for neighbour discovery.
pub const ICMPV6: u8 = 58;
/// First and last type of neighbour discovery (RFC 4861).
pub const ND_TYPES: [u8; 2] = [133, 137];
/// Hop limit of neighbour discovery packets, which no router forwards.
pub const ND_HOP_LIMIT: u8 = 255;
/// Maximum burst after a silence, as a duration at the control rate. The node's own packets have twice this burst, so
/// transit traffic cannot exhaust their share.
pub const BURST: Time = Time::from_secs(1);

/// The constants as C.
pub(crate) fn header() -> String {
    let ([cs6, cs7], [first, last]) = (DSCPS, ND_TYPES);
    format!(
        "/* Control traffic, see control.rs. */\n#define ETHERTYPE_ARP {ETHERTYPE_ARP:#06x}\n#define DSCP_CS6 {cs6}\n\
         #define DSCP_CS7 {cs7}\n#define PROTOCOL_ICMP {ICMP}\n#define NEXT_ICMPV6 {ICMPV6}\n\
         #define ND_FIRST {first}\n#define ND_LAST {last}\n\
         #define ND_HOP_LIMIT {ND_HOP_LIMIT}\n#define CONTROL_BURST_NS {}ULL\n\n",
        BURST.0 / 1000
    )
}

/// Kind of control traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Not control traffic, or above the rate.
    No,
    /// Control traffic that the node forwards.
    Transit,
    /// Control traffic that the node originates.
    Own,
}

/// Rate limiter of control traffic: GCRA (ITU-T I.371).
#[derive(Clone, Debug)]
pub struct ControlRate {
    /// `None` if no control traffic bypasses the AQM.
    cost: Option<Serialiser>,
    used_until: Time,
}

impl ControlRate {
    /// Creates an unused limiter. With rate 0, no control traffic bypasses the AQM.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Self { cost: (rate.0 > 0).then(|| Serialiser::new(rate)), used_until: Time::ZERO }
    }

    /// Counts a control packet if the rate permits it, and returns true. Otherwise returns false, or `None` if the rate
    /// is 0.
    pub fn spend(&mut self, control: Control, bytes: u32, now: Time) -> Option<bool> {
        let cost = self.cost.as_mut()?.time_of(bytes.into());
        let until = self.used_until.max(now) + cost;
        let has_room = until <= now + if control == Control::Own { BURST + BURST } else { BURST };
        if has_room {
            self.used_until = until;
        }
        Some(has_room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_the_rate_passes_at_once_and_as_much_again_of_the_nodes_own() {
        let mut rate = ControlRate::new(BitRate(8000));
        let mut passing = |control, now| (0..100).filter(|_| rate.spend(control, 100, now) == Some(true)).count();
        let start = Time::from_secs(5);
        assert_eq!([Control::Transit, Control::Own].map(|control| passing(control, start)), [10, 10]);
        assert_eq!(passing(Control::Transit, start + Time::from_millis(1500)), 5);
        assert_eq!(ControlRate::new(BitRate(0)).spend(Control::Own, 100, start), None);
    }
}
