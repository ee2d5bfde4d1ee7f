//! ICMP of the router (RFC 792, RFC 1812 sections 4.3 and 5.2.7): replies and errors.
//!
//! Deviations: 1. The router never fragments a packet that is too large: it always reports the MTU of the next link to
//! the sender. RFC 1191 section 4 requires this only if the packet forbids fragments. 2. The router sends no redirects,
//! timestamps or source quench (RFC 1812 does not require timestamps and source quench).

use std::net::Ipv4Addr;

const IPV4_BYTES: usize = 20;
const ICMP_BYTES: usize = 8;
/// Maximum length of an error message, including its IP header (RFC 1812, 4.3.2.3).
const MOST_ERROR_BYTES: usize = 576;
/// TTL of packets that the router sends (RFC 1812, 4.2.2.9).
const TTL: u8 = 64;
/// Precedence of errors: internetwork control (RFC 1812, 4.3.2.5).
const ERROR_TOS: u8 = 6 << 5;
const PROTOCOL: u8 = 1;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

/// Kinds of ICMP errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// TTL expired.
    TimeExceeded,
    /// No matching route.
    NoRoute,
    /// MTU of the next link exceeded.
    TooBig(u16),
}

impl Message {
    fn header(self) -> (u8, u8, u16) {
        match self {
            Self::TimeExceeded => (11, 0, 0),
            Self::NoRoute => (3, 0, 0),
            // RFC 1191, 4.
            Self::TooBig(mtu) => (3, 4, mtu),
        }
    }
}

/// Creates an error message about `packet`, a valid IPv4 packet, from the router's address `from`. Returns `None` if no
/// error may be sent.
pub fn error(packet: &[u8], message: Message, from: Ipv4Addr) -> Option<Vec<u8>> {
    if !may_be_told(packet) {
        return None;
    }
    let quoted = &packet[..packet.len().min(MOST_ERROR_BYTES - IPV4_BYTES - ICMP_BYTES)];
    let to = address(packet, 12)?;
    let (kind, code, value) = message.header();
    let mut icmp = vec![kind, code, 0, 0, 0, 0];
    icmp.extend(value.to_be_bytes());
    icmp.extend(quoted);
    Some(ipv4(&mut icmp, from, to, ERROR_TOS))
}

/// Returns true if an error about `packet` may be sent (RFC 1812, 4.3.2.7): not about errors, not about fragments
/// except the first, and not about packets whose source or destination does not identify one host.
fn may_be_told(packet: &[u8]) -> bool {
    let header_bytes = usize::from(packet[0] & 15) * 4;
    let is_first = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff == 0;
    // Echo request and reply are queries; all other types may be errors.
    let kind = packet.get(header_bytes);
    let is_icmp_error = packet[9] == PROTOCOL && !matches!(kind, Some(&(ECHO_REPLY | ECHO_REQUEST)));
    let to_one = address(packet, 16).is_some_and(|to| !to.is_multicast() && !to.is_broadcast());
    let source = address(packet, 12);
    let from_one = source.is_some_and(|from| {
        !from.is_unspecified() && !from.is_multicast() && !from.is_broadcast() && !from.is_loopback()
    });
    is_first && !is_icmp_error && to_one && from_one
}

/// Creates the reply to an echo request, a valid IPv4 packet, without its options. Returns `None` for any other packet.
pub fn echo_reply(packet: &[u8]) -> Option<Vec<u8>> {
    let header_bytes = usize::from(packet[0] & 15) * 4;
    let is_whole = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff == 0;
    let request = packet.get(header_bytes..)?;
    let is_request = request.len() >= ICMP_BYTES && request[..2] == [ECHO_REQUEST, 0];
    if packet[9] != PROTOCOL || !is_whole || !is_request || checksum(request) != 0 {
        return None;
    }
    let (from, to) = (address(packet, 16)?, address(packet, 12)?);
    if to.is_unspecified() || to.is_multicast() || to.is_broadcast() {
        return None;
    }
    let mut reply = request.to_vec();
    reply[0] = ECHO_REPLY;
    // The reply has the type of service of the request (RFC 1812, 4.3.3.6, refers to RFC 1122, 3.2.2.6).
    Some(ipv4(&mut reply, from, to, packet[1] & !3))
}

fn address(packet: &[u8], at: usize) -> Option<Ipv4Addr> {
    packet.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).map(Ipv4Addr::from)
}

fn ipv4(icmp: &mut [u8], from: Ipv4Addr, to: Ipv4Addr, tos: u8) -> Vec<u8> {
    icmp[2..4].fill(0);
    let sum = checksum(icmp).to_be_bytes();
    icmp[2..4].copy_from_slice(&sum);
    let [high, low] = ((IPV4_BYTES + icmp.len()) as u16).to_be_bytes();
    let mut packet = vec![0x45, tos, high, low, 0, 0, 0, 0, TTL, PROTOCOL, 0, 0];
    packet.extend(from.octets());
    packet.extend(to.octets());
    let sum = checksum(&packet).to_be_bytes();
    packet[10..12].copy_from_slice(&sum);
    packet.extend(&*icmp);
    packet
}

/// Internet checksum (RFC 1071). The result is zero if the data include their checksum.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
