//! Parses the fields of an Ethernet frame that schemes need: flow, user's address, size, class, ECN field.
//!
//! Supports up to four VLAN tags, IPv4, IPv6 with extension headers, and the ports of TCP, UDP, DCCP, SCTP and
//! UDP-Lite. Parsing never fails: a frame that is truncated or has wrong lengths is parsed as far as possible, and
//! missing fields are absent. The size is measured on the frame, not read from the length field of the IP header, so a
//! host cannot understate it. Only the padding of short frames is excluded.

mod ecn;
mod users;

pub use ecn::set_ecn;
pub use users::UserIndex;

use crate::control::{DSCPS, ETHERTYPE_ARP, ICMP, ICMPV6, ND_HOP_LIMIT, ND_TYPES};
use fairlane_schemes::contract::packet::Ecn;
use fairlane_schemes::flows::hash::hash;

/// Bytes of an Ethernet header without tags.
pub const ETHERNET_BYTES: usize = 14;
/// Bytes of one VLAN tag.
pub const VLAN_BYTES: usize = 4;
/// Minimum frame without the frame check sequence (IEEE 802.3, 3.2.8); shorter ones are padded.
const SHORTEST_FRAME: usize = 60;

const MOST_TAGS: usize = 4;
const MOST_EXTENSIONS: usize = 8;
/// Expedited forwarding, RFC 3246.
const DSCP_EF: u8 = 46;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Ethertypes of VLAN tags: 802.1Q, 802.1ad, and the predecessor of 802.1ad.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Protocol above Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// IPv4 with a complete fixed header.
    Ipv4,
    /// IPv6 with a complete fixed header.
    Ipv6,
    /// Anything else, or a truncated header.
    Other,
}

/// Parsed fields of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Protocol above Ethernet.
    pub network: Network,
    /// Offset of the network header.
    pub network_at: usize,
    /// Source address, IPv4 mapped into IPv6; zeros if there is none.
    pub source: [u8; 16],
    /// Destination address, likewise.
    pub destination: [u8; 16],
    /// Transport protocol; 0 if unknown.
    pub protocol: u8,
    /// Source and destination port; absent in fragments, so all fragments of a datagram belong to one flow.
    pub ports: Option<(u16, u16)>,
    /// Size of the packet on a link in bytes, including the network header.
    pub bytes: u32,
    /// True if the packet's DSCP is expedited forwarding.
    pub is_expedited: bool,
    /// True for control traffic, see [`crate::control`].
    pub is_control: bool,
    /// ECN field.
    pub ecn: Ecn,
}

impl Frame {
    /// Parses a frame that starts with its destination address.
    #[must_use]
    #[inline]
    pub fn parse(frame: &[u8]) -> Self {
        let (ethertype, network_at) = link(frame);
        let packet = frame.get(network_at..).unwrap_or_default();
        let blank = Self {
            network: Network::Other,
            network_at,
            source: [0; 16],
            destination: [0; 16],
            protocol: 0,
            ports: None,
            bytes: packet.len() as u32,
            is_expedited: false,
            is_control: ethertype == Some(ETHERTYPE_ARP),
            ecn: Ecn::NotEct,
        };
        let read = match ethertype {
            Some(ETHERTYPE_IPV4) => ipv4(packet, blank),
            Some(ETHERTYPE_IPV6) => ipv6(packet, blank),
            _ => None,
        };
        let Some((parsed, stated)) = read else { return blank };
        // Padding does not count. Above the minimum frame size, the length field is not trusted.
        let bytes = if frame.len() <= SHORTEST_FRAME { blank.bytes.min(stated) } else { blank.bytes };
        Self { bytes, ..parsed }
    }

    /// Returns a hash of addresses, protocol and ports, which identifies the flow. For protocols other than IP, the
    /// hash is of the Ethernet addresses.
    #[must_use]
    #[inline]
    pub fn flow(&self, frame: &[u8]) -> u32 {
        let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        if self.network == Network::Other {
            return hash(
                0,
                word(frame.get(..6).unwrap_or_default()) ^ word(frame.get(6..12).unwrap_or_default()) << 16,
            );
        }
        let (from, to) = self.ports.unwrap_or_default();
        let key = u32::from(from) << 16 | u32::from(to);
        let halves = |address: &[u8; 16]| (word(&address[..8]), word(&address[8..]));
        let ((a, b), (c, d)) = (halves(&self.source), halves(&self.destination));
        // Chains the hashes, so packets in the reverse direction belong to another flow.
        let mut state = u64::from(hash(key, u64::from(self.protocol)));
        for part in [a, b, c, d] {
            state = state << 32 | u64::from(hash(state as u32, part));
        }
        state as u32
    }
}

/// Ethertype after all tags, if present, and offset of the network header.
#[inline]
fn link(frame: &[u8]) -> (Option<u16>, usize) {
    let mut at = ETHERNET_BYTES;
    let mut ethertype = word16(frame, at - 2);
    for _ in 0..MOST_TAGS {
        if !ethertype.is_some_and(|ethertype| ETHERTYPES_VLAN.contains(&ethertype)) {
            break;
        }
        at += VLAN_BYTES;
        ethertype = word16(frame, at - 2);
    }
    (ethertype, at.min(frame.len()))
}

/// Parses an IPv4 header; also returns the length field.
#[inline]
fn ipv4(packet: &[u8], blank: Frame) -> Option<(Frame, u32)> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_bytes = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_bytes < 20 {
        return None;
    }
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff; // more fragments, or an offset
    let protocol = header[9];
    let read = Frame {
        network: Network::Ipv4,
        source: mapped(header[12..16].try_into().ok()?),
        destination: mapped(header[16..20].try_into().ok()?),
        protocol,
        ports: if fragment == 0 { ports(protocol, packet, header_bytes) } else { None },
        is_expedited: header[1] >> 2 == DSCP_EF,
        is_control: protocol != ICMP && DSCPS.contains(&(header[1] >> 2)),
        ecn: ecn_of_bits(header[1]),
        ..blank
    };
    Some((read, u32::from(u16::from_be_bytes([header[2], header[3]]))))
}

/// Parses an IPv6 header and its extension headers; also returns the length field.
#[inline]
fn ipv6(packet: &[u8], blank: Frame) -> Option<(Frame, u32)> {
    let header: &[u8; 40] = packet.first_chunk()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let traffic_class = header[0] << 4 | header[1] >> 4;
    let (mut protocol, mut at, mut is_fragment) = (header[6], 40, false);
    for _ in 0..MOST_EXTENSIONS {
        // Hop-by-hop, routing and destination options. Their length is in units of 8 bytes, without the first unit (RFC
        // 8200 section 4).
        let length = match (protocol, packet.get(at..at + 8)) {
            (0 | 43 | 60, Some(extension)) => 8 + 8 * usize::from(extension[1]),
            (44, Some(extension)) => {
                is_fragment |= u16::from_be_bytes([extension[2], extension[3]]) & 0xfff9 != 0;
                8
            }
            _ => break,
        };
        (protocol, at) = (packet[at], at + length);
    }
    let read = Frame {
        network: Network::Ipv6,
        source: header[8..24].try_into().ok()?,
        destination: header[24..40].try_into().ok()?,
        protocol,
        ports: if is_fragment { None } else { ports(protocol, packet, at) },
        is_expedited: traffic_class >> 2 == DSCP_EF,
        is_control: match header[6] {
            ICMPV6 => is_neighbour_discovery(packet, header),
            _ => DSCPS.contains(&(traffic_class >> 2)),
        },
        ecn: ecn_of_bits(traffic_class),
        ..blank
    };
    Some((read, 40 + u32::from(u16::from_be_bytes([header[4], header[5]]))))
}

#[inline]
fn is_neighbour_discovery(packet: &[u8], header: &[u8; 40]) -> bool {
    let [first, last] = ND_TYPES;
    header[7] == ND_HOP_LIMIT && packet.get(40).is_some_and(|kind| (first..=last).contains(kind))
}

/// Ports at offset `at`, if the protocol has them and they are present.
#[inline]
fn ports(protocol: u8, packet: &[u8], at: usize) -> Option<(u16, u16)> {
    // TCP, UDP, DCCP, SCTP, UDP-Lite.
    matches!(protocol, 6 | 17 | 33 | 132 | 136).then_some(())?;
    Some((word16(packet, at)?, word16(packet, at + 2)?))
}

#[inline]
fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// Maps an IPv4 address to ::ffff:a.b.c.d.
#[inline]
fn mapped(address: [u8; 4]) -> [u8; 16] {
    let mut octets = [0; 16];
    octets[10..12].fill(0xff);
    octets[12..].copy_from_slice(&address);
    octets
}

/// ECN field from the two low bits of a traffic class (RFC 3168 section 5).
#[inline]
fn ecn_of_bits(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests;
