//! An IPv4 router with longest-prefix match, and ARP on every port.
//!
//! Packets are processed as in RFC 1812 section 5.2 (header check, TTL, checksum by RFC 1624) and RFC 826 (ARP). A
//! packet whose next hop is unresolved is dropped and replaced by an ARP request. The router reports expired TTLs,
//! missing routes and exceeded MTUs by ICMP, and answers echo requests ([`icmp`]). Not implemented: IPv6,
//! fragmentation, router options, ageing of neighbours.

use super::config::{Address, Route};
use super::icmp::{self, Message};
use crate::frame::UserIndex;
use fairlane_schemes::base::units::Time;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// Maximum number of resolved neighbours, and of pending requests.
const MOST_NEIGHBOURS: usize = 4096;
/// Minimum interval between requests for the same neighbour, RFC 1122 section 2.3.2.1.
const ASK_EVERY: Time = Time::from_secs(1);

/// Mean interval between ICMP messages: 1000 per second.
const ICMP_EVERY: Time = Time::from_millis(1);
/// Maximum burst of ICMP messages, as the time that the burst takes at the mean rate.
const ICMP_BURST: Time = Time::from_millis(100);

const ETHERNET_BYTES: usize = 14;
const ARP_BYTES: usize = 28;
/// Bytes of an ARP frame without padding.
pub const ARP_FRAME_BYTES: usize = ETHERNET_BYTES + ARP_BYTES;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_ARP: [u8; 2] = [0x08, 0x06];
/// ARP header: Ethernet addresses for IPv4 addresses.
const ARP_KIND: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];
const REQUEST: u8 = 1;
const REPLY: u8 = 2;

type Mac = [u8; 6];
const BROADCAST: Mac = [0xff; 6];

/// Decision on a frame, which has been rewritten accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave by this port.
    Forward(usize),
    /// Leave by this port as an ARP frame of [`ARP_FRAME_BYTES`], which replaces the frame.
    Arp(usize, Instead),
    /// Drop.
    Drop(Reason),
}

/// Frame that an ARP frame replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The ARP request that the ARP frame answers.
    Request,
    /// A packet with an unresolved next hop, which is dropped.
    Packet,
}

/// Reason for dropping a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Addressed to the router itself, such as ARP.
    Own,
    /// The frame is not for the router's Ethernet address, or its IPv4 header is invalid.
    Refused,
    /// TTL 0 or 1.
    TtlExpired,
    /// No matching route.
    NoRoute,
    /// The next hop is unresolved, and was requested less than a second ago.
    Unresolved,
    /// MTU of the next link exceeded.
    TooBig,
}

/// IPv4 forwarding.
#[derive(Clone, Debug)]
pub struct Router {
    addresses: Vec<Address>,
    /// Maps a destination to an index into `hops`, or to the length of `hops` if there is no route.
    index: UserIndex,
    /// Port and next hop; without a next hop the destination is a neighbour.
    hops: Vec<(usize, Option<Ipv4Addr>)>,
    neighbours: HashMap<(usize, Ipv4Addr), Mac>,
    asked: HashMap<(usize, Ipv4Addr), Time>,
    mtus: Vec<Option<u16>>,
    /// Earliest time of the next ICMP message. Each message advances it by [`ICMP_EVERY`]. It lags behind the present
    /// time by at most [`ICMP_BURST`].
    icmp_at: Time,
}

/// A frame originated by the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Outgoing port.
    pub port: usize,
    /// The frame.
    pub frame: Vec<u8>,
}

impl Router {
    /// Creates a router with an address for each port, and with routes to destinations outside the subnets of these
    /// addresses.
    #[must_use]
    pub fn new(addresses: Vec<Address>, routes: &[Route], mtus: Vec<Option<u16>>) -> Self {
        let far = routes.iter().map(|route| (route.prefix, (route.port, route.next_hop)));
        let near = addresses.iter().enumerate().map(|(port, address)| (address.subnet(), (port, None)));
        let (prefixes, hops): (Vec<_>, Vec<_>) = far.chain(near).unzip();
        let (index, neighbours, asked) = (UserIndex::new(&prefixes), HashMap::new(), HashMap::new());
        Self { addresses, index, hops, neighbours, asked, mtus, icmp_at: Time::ZERO }
    }

    /// Rewrites a frame that arrived at `port` at `now`. Returns the decision on the frame.
    #[inline]
    pub fn route(&mut self, frame: &mut [u8], port: usize, now: Time) -> Action {
        match frame.get(12..14) {
            Some(kind) if kind == ETHERTYPE_IPV4 => self.packet(frame, port, now),
            Some(kind) if kind == ETHERTYPE_ARP => self.arp(frame, port),
            _ => Action::Drop(Reason::Refused),
        }
    }

    #[inline]
    fn packet(&mut self, frame: &mut [u8], port: usize, now: Time) -> Action {
        let is_ours = frame[..6] == self.addresses[port].mac();
        let Some(header) = header_of(&mut frame[ETHERNET_BYTES..]).filter(|_| is_ours) else {
            return Action::Drop(Reason::Refused);
        };
        let to = Ipv4Addr::new(header[16], header[17], header[18], header[19]);
        if to.is_multicast() || to.is_broadcast() || to.is_loopback() {
            return Action::Drop(Reason::Refused);
        }
        if self.addresses.iter().any(|address| address.ip == to) {
            return Action::Drop(Reason::Own);
        }
        if header[8] < 2 {
            return Action::Drop(Reason::TtlExpired);
        }
        let Some(&(out, hop)) = self.hops.get(self.index.of(to.to_ipv6_mapped().octets()) as usize) else {
            return Action::Drop(Reason::NoRoute);
        };
        let stated = u16::from_be_bytes([header[2], header[3]]);
        if self.mtus.get(out).copied().flatten().is_some_and(|mtu| stated > mtu) {
            return Action::Drop(Reason::TooBig);
        }
        let hop = hop.unwrap_or(to);
        let Some(&mac) = self.neighbours.get(&(out, hop)) else { return self.ask(frame, out, hop, now) };
        decrement_ttl(header);
        frame[..6].copy_from_slice(&mac);
        frame[6..12].copy_from_slice(&self.addresses[out].mac());
        Action::Forward(out)
    }

    /// Returns an ICMP message to the sender of a frame that arrived at `port` and was dropped, if one may be sent.
    #[cold]
    pub fn answer(&mut self, frame: &[u8], port: usize, reason: Reason, now: Time) -> Option<Answer> {
        if frame.get(12..14) != Some(&ETHERTYPE_IPV4[..]) {
            return None;
        }
        // The frame may be padded, so take the packet's length from its header. The packet is valid; otherwise `reason`
        // would be different.
        let stated = usize::from(u16::from_be_bytes([*frame.get(16)?, *frame.get(17)?]));
        let packet = frame.get(ETHERNET_BYTES..ETHERNET_BYTES + stated)?;
        let source = Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(12..16)?).ok()?);
        let &(out, hop) = self.hops.get(self.index.of(source.to_ipv6_mapped().octets()) as usize)?;
        // If routes are symmetric, the frame's sender is the next hop of the reply.
        let sender = (out == port).then(|| Mac::try_from(&frame[6..12]).ok()).flatten();
        let mac = self.neighbours.get(&(out, hop.unwrap_or(source))).copied().or(sender)?;
        // The source is the address of the outgoing interface (RFC 1812, 4.3.2.4).
        let from = self.addresses[out].ip;
        let message = match reason {
            Reason::TtlExpired => icmp::error(packet, Message::TimeExceeded, from),
            Reason::NoRoute => icmp::error(packet, Message::NoRoute, from),
            Reason::TooBig => {
                let to = Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(16..20)?).ok()?);
                let &(next, _) = self.hops.get(self.index.of(to.to_ipv6_mapped().octets()) as usize)?;
                icmp::error(packet, Message::TooBig(self.mtus[next]?), from)
            }
            Reason::Own => icmp::echo_reply(packet),
            Reason::Refused | Reason::Unresolved => None,
        }?;
        if !self.may_send_icmp(now) {
            return None;
        }
        let head = [&mac[..], &self.addresses[out].mac(), &ETHERTYPE_IPV4].concat();
        Some(Answer { port: out, frame: [head, message].concat() })
    }

    /// Returns true if an ICMP message may be sent. One token bucket limits messages of all kinds (RFC 1812, 4.3.2.8).
    fn may_send_icmp(&mut self, now: Time) -> bool {
        let start = self.icmp_at.max(now.saturating_sub(ICMP_BURST));
        let is_allowed = start <= now;
        if is_allowed {
            self.icmp_at = start + ICMP_EVERY;
        }
        is_allowed
    }

    /// Learns the senders of ARP frames for the router, and answers requests for the router's address. Returns the
    /// decision on the frame.
    #[cold]
    fn arp(&mut self, frame: &mut [u8], port: usize) -> Action {
        let own = self.addresses[port];
        let Some((kind, arp)) = frame.get(14..ARP_FRAME_BYTES).and_then(|arp| arp.split_first_chunk::<6>()) else {
            return Action::Drop(Reason::Refused);
        };
        let (from_mac, to) = (Mac::try_from(&arp[2..8]).unwrap_or(BROADCAST), ip(&arp[18..22]));
        let from = ip(&arp[8..12]);
        let is_sound = *kind == ARP_KIND && arp[0] == 0 && from_mac[0] & 1 == 0;
        if !is_sound || to != own.ip || !own.has_neighbour(from) {
            return Action::Drop(Reason::Refused);
        }
        let operation = arp[1];
        if self.neighbours.len() < MOST_NEIGHBOURS || self.neighbours.contains_key(&(port, from)) {
            self.neighbours.insert((port, from), from_mac);
            self.asked.remove(&(port, from));
        }
        if operation != REQUEST {
            return Action::Drop(Reason::Own);
        }
        write_arp(frame, REPLY, (own.mac(), own.ip), (from_mac, from), from_mac);
        Action::Arp(port, Instead::Request)
    }

    #[cold]
    fn ask(&mut self, frame: &mut [u8], out: usize, hop: Ipv4Addr, now: Time) -> Action {
        let is_known = self.asked.contains_key(&(out, hop));
        let is_recent = self.asked.get(&(out, hop)).is_some_and(|&at| now.saturating_sub(at) < ASK_EVERY);
        if is_recent || frame.len() < ARP_FRAME_BYTES {
            return Action::Drop(Reason::Unresolved);
        }
        if !is_known && self.asked.len() >= MOST_NEIGHBOURS {
            // Neighbours that did not answer in time may be asked again.
            self.asked.retain(|_, at| now.saturating_sub(*at) < ASK_EVERY);
            if self.asked.len() >= MOST_NEIGHBOURS {
                return Action::Drop(Reason::Unresolved);
            }
        }
        self.asked.insert((out, hop), now);
        let own = self.addresses[out];
        write_arp(frame, REQUEST, (own.mac(), own.ip), ([0; 6], hop), BROADCAST);
        Action::Arp(out, Instead::Packet)
    }
}

/// The fixed header of a valid IPv4 packet (RFC 1812, 5.2.2).
#[inline]
fn header_of(packet: &mut [u8]) -> Option<&mut [u8; 20]> {
    let length = usize::from(packet.first()? & 15) * 4;
    let header = packet.get(..length.max(20))?;
    let stated = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || length < 20 || stated < length || stated > packet.len() || sum(header) != 0xffff {
        return None;
    }
    packet.first_chunk_mut()
}

/// Ones' complement sum of all words: 0xffff for a header with a correct checksum.
#[inline]
fn sum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

/// Decrements the TTL and updates the checksum: HC' = ~(~HC + ~m + m'), RFC 1624 eq. (3).
#[inline]
fn decrement_ttl(header: &mut [u8; 20]) {
    let old = u16::from_be_bytes([header[8], header[9]]);
    header[8] -= 1;
    let new = u16::from_be_bytes([header[8], header[9]]);
    let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes());
}

fn ip(bytes: &[u8]) -> Ipv4Addr {
    Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])
}

fn write_arp(frame: &mut [u8], operation: u8, from: (Mac, Ipv4Addr), about: (Mac, Ipv4Addr), to: Mac) {
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from.0);
    frame[12..14].copy_from_slice(&ETHERTYPE_ARP);
    frame[14..20].copy_from_slice(&ARP_KIND);
    frame[20..22].copy_from_slice(&[0, operation]);
    frame[22..28].copy_from_slice(&from.0);
    frame[28..32].copy_from_slice(&from.1.octets());
    frame[32..38].copy_from_slice(&about.0);
    frame[38..42].copy_from_slice(&about.1.octets());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};

    const HOST: Mac = [2, 0, 0, 0, 0, 7];
    const NEXT: Mac = [2, 0, 0, 0, 0, 8];
    /// A time at which the bucket is full.
    const NOW: Time = Time::from_secs(1);

    /// Returns a router with port 0 in 10.0.1.0/24 and port 1 in 10.0.2.0/24. 10.9.0.0/16 is reached through port 1.
    fn router() -> Router {
        let addresses = ["10.0.1.1/24", "10.0.2.1/24"].map(|text| text.parse().unwrap());
        let route =
            Route { prefix: "10.9.0.0/16".parse().unwrap(), port: 1, next_hop: Some(Ipv4Addr::new(10, 0, 2, 9)) };
        Router::new(addresses.to_vec(), &[route], vec![None, Some(1000)])
    }

    fn packet(router: &Router, to: [u8; 4], ttl: u8) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2(HOST, router.addresses[0].mac()).ipv4([10, 0, 1, 7], to, ttl).udp(1, 2);
        let mut frame = Vec::new();
        builder.write(&mut frame, &[0; 40]).unwrap();
        frame
    }

    fn arp(operation: u8, from: (Mac, [u8; 4]), to: [u8; 4]) -> Vec<u8> {
        let mut frame = vec![0; 60];
        write_arp(&mut frame, operation, (from.0, from.1.into()), ([0; 6], to.into()), BROADCAST);
        frame
    }

    #[test]
    fn a_packet_goes_to_the_next_hop_once_its_address_is_known() {
        let mut router = router();
        let mut frame = packet(&router, [10, 9, 3, 4], 64);
        assert_eq!(router.route(&mut frame, 0, Time::ZERO), Action::Arp(1, Instead::Packet));
        // ARP: who has 10.0.2.9? Tell 10.0.2.1.
        assert_eq!((&frame[..6], &frame[12..14], frame[21]), (&BROADCAST[..], &[8, 6][..], REQUEST));
        assert_eq!((&frame[28..32], &frame[38..42]), (&[10, 0, 2, 1][..], &[10, 0, 2, 9][..]));
        let mut again = packet(&router, [10, 9, 3, 4], 64);
        assert_eq!(router.route(&mut again, 0, Time::from_millis(999)), Action::Drop(Reason::Unresolved));
        assert_eq!(router.route(&mut again, 0, Time::from_secs(1)), Action::Arp(1, Instead::Packet));
        let mut answer = arp(REPLY, (NEXT, [10, 0, 2, 9]), [10, 0, 2, 1]);
        assert_eq!(router.route(&mut answer, 1, Time::ZERO), Action::Drop(Reason::Own));
        let mut frame = packet(&router, [10, 9, 3, 4], 64);
        assert_eq!(router.route(&mut frame, 0, Time::ZERO), Action::Forward(1));
        assert_eq!((&frame[..6], &frame[6..12]), (&NEXT[..], &router.addresses[1].mac()[..]));
        let header = Ipv4HeaderSlice::from_slice(&frame[14..]).unwrap().to_header();
        assert_eq!((header.time_to_live, header.header_checksum), (63, header.calc_header_checksum()));
    }

    #[test]
    fn the_checksum_is_right_for_every_ttl() {
        let mut router = router();
        router.neighbours.insert((1, Ipv4Addr::new(10, 0, 2, 9)), NEXT);
        for ttl in 0..=255 {
            for last in 0..=255 {
                let mut frame = packet(&router, [10, 9, 0, last], ttl);
                let action = router.route(&mut frame, 0, Time::ZERO);
                if ttl < 2 {
                    assert_eq!(action, Action::Drop(Reason::TtlExpired));
                } else {
                    assert_eq!((action, sum(&frame[14..34])), (Action::Forward(1), 0xffff));
                }
            }
        }
    }

    #[test]
    fn requests_for_the_router_are_answered_and_teach_it() {
        let mut router = router();
        let mut request = arp(REQUEST, (HOST, [10, 0, 1, 7]), [10, 0, 1, 1]);
        assert_eq!(router.route(&mut request, 0, Time::ZERO), Action::Arp(0, Instead::Request));
        assert_eq!((&request[..6], request[21]), (&HOST[..], REPLY));
        assert_eq!((&request[22..28], &request[28..32]), (&router.addresses[0].mac()[..], &[10, 0, 1, 1][..]));
        assert_eq!((&request[32..38], &request[38..42]), (&HOST[..], &[10, 0, 1, 7][..]));
        assert_eq!(router.neighbours[&(0, Ipv4Addr::new(10, 0, 1, 7))], HOST);
        for (from, to) in
            [([10, 0, 1, 7], [10, 0, 1, 9]), ([10, 0, 2, 7], [10, 0, 1, 1]), ([10, 0, 1, 1], [10, 0, 1, 1])]
        {
            let mut other = arp(REQUEST, (NEXT, from), to);
            assert_eq!(router.route(&mut other, 0, Time::ZERO), Action::Drop(Reason::Refused));
        }
        assert_eq!(router.neighbours.len(), 1);
    }

    #[test]
    fn what_cannot_be_routed_is_dropped_with_its_reason() {
        let mut router = router();
        let mut reason = |change: fn(&mut Vec<u8>), to: [u8; 4]| {
            let mut frame = packet(&router, to, 64);
            change(&mut frame);
            match router.route(&mut frame, 0, Time::ZERO) {
                Action::Drop(reason) => reason,
                other => panic!("{other:?}"),
            }
        };
        let same: fn(&mut Vec<u8>) = |_| {};
        assert_eq!(reason(same, [192, 0, 2, 1]), Reason::NoRoute);
        assert_eq!(reason(same, [10, 0, 2, 1]), Reason::Own);
        assert_eq!(reason(same, [224, 0, 0, 1]), Reason::Refused);
        let changes: [fn(&mut Vec<u8>); 6] = [
            |frame| frame[0] ^= 2,
            |frame| frame[12] = 0x86,
            |frame| frame[14] = 0x44,
            |frame| frame[24] ^= 1,
            |frame| frame.truncate(40),
            |frame| frame.truncate(13),
        ];
        for change in changes {
            assert_eq!(reason(change, [10, 9, 0, 1]), Reason::Refused);
        }
    }

    /// Routes a packet from 10.0.1.7 that causes an ICMP message. Returns the reason, and the message after checking it
    /// against the RFCs.
    fn told(router: &mut Router, frame: &mut [u8], now: Time) -> (Reason, Option<Vec<u8>>) {
        let Action::Drop(reason) = router.route(frame, 0, now) else { panic!("it is not dropped") };
        let answer = router.answer(frame, 0, reason, now);
        let message = answer.map(|answer| {
            assert_eq!((answer.port, &answer.frame[..6]), (0, &HOST[..]));
            let (header, icmp) = answer.frame[14..].split_at(20);
            let ip = Ipv4HeaderSlice::from_slice(header).unwrap().to_header();
            assert_eq!((ip.source, ip.destination, ip.protocol.0), ([10, 0, 1, 1], [10, 0, 1, 7], 1));
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            assert_eq!(usize::from(ip.total_len), answer.frame.len() - 14);
            // RFC 1071: the sum including the checksum is all ones.
            let words: Vec<u8> = icmp.iter().copied().chain((icmp.len() % 2 == 1).then_some(0)).collect();
            assert_eq!(sum_of(&words), 0xffff);
            icmp.to_vec()
        });
        (reason, message)
    }

    /// Ones' complement sum in 64 bits, reduced modulo 65535.
    fn sum_of(bytes: &[u8]) -> u64 {
        let sum: u64 = bytes.chunks(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        if sum.is_multiple_of(0xffff) { 0xffff } else { sum % 0xffff }
    }

    #[test]
    fn senders_are_told_why_and_of_what() {
        let mut router = router();
        let mut expired = packet(&router, [10, 9, 0, 1], 1);
        let (reason, icmp) = told(&mut router, &mut expired, NOW);
        let icmp = icmp.unwrap();
        assert_eq!((reason, &icmp[..2], &icmp[8..]), (Reason::TtlExpired, &[11, 0][..], &expired[14..]));
        let mut lost = packet(&router, [192, 0, 2, 1], 64);
        let (reason, icmp) = told(&mut router, &mut lost, NOW);
        assert_eq!((reason, icmp.unwrap()[..2].to_vec()), (Reason::NoRoute, vec![3, 0]));
        // 973 bytes of payload are 1001 bytes of IP, one more than the MTU.
        let big = |router: &Router, payload: usize| {
            let builder =
                PacketBuilder::ethernet2(HOST, router.addresses[0].mac()).ipv4([10, 0, 1, 7], [10, 9, 0, 1], 64);
            let mut frame = Vec::new();
            builder.udp(1, 2).write(&mut frame, &vec![0; payload]).unwrap();
            frame
        };
        let mut large = big(&router, 973);
        let (reason, icmp) = told(&mut router, &mut large, NOW);
        let icmp = icmp.unwrap();
        // The error is "destination unreachable, fragmentation needed" with MTU 1000 (RFC 1191, 4). It has 576 bytes in
        // total (RFC 1812, 4.3.2.3).
        assert_eq!((reason, &icmp[..2], &icmp[6..8], icmp.len()), (Reason::TooBig, &[3, 4][..], &[3, 232][..], 556));
        let mut fits = big(&router, 972);
        assert_eq!(router.route(&mut fits, 0, NOW), Action::Arp(1, Instead::Packet));
    }

    #[test]
    fn echo_requests_to_the_router_are_answered() {
        let mut router = router();
        for to in [[10, 0, 1, 1], [10, 0, 2, 1]] {
            let builder = PacketBuilder::ethernet2(HOST, router.addresses[0].mac()).ipv4([10, 0, 1, 7], to, 64);
            let mut frame = Vec::new();
            builder.icmpv4_echo_request(77, 3).write(&mut frame, b"are you there").unwrap();
            assert_eq!(router.route(&mut frame, 0, NOW), Action::Drop(Reason::Own));
            let answer = router.answer(&frame, 0, Reason::Own, NOW).unwrap();
            let icmp = &answer.frame[34..];
            // The reply comes from the requested address, with the request's identifier, number and data.
            assert_eq!((&answer.frame[26..30], icmp[0], &icmp[4..]), (&to[..], 0, &frame[38..]));
            let mut broken = frame.clone();
            broken[40] ^= 1;
            assert_eq!(router.answer(&broken, 0, Reason::Own, NOW), None);
        }
        let mut other = packet(&router, [10, 0, 1, 1], 64);
        assert_eq!(told(&mut router, &mut other, NOW), (Reason::Own, None));
    }

    #[test]
    fn nobody_is_told_of_errors_fragments_or_in_a_flood() {
        let mut router = router();
        let fix = |frame: &mut Vec<u8>| {
            frame[24..26].fill(0);
            let sum = (!sum(&frame[14..34])).to_be_bytes();
            frame[24..26].copy_from_slice(&sum);
        };
        // No error may be sent about a later fragment, an ICMP error, or a sender whose address does not identify one
        // host (RFC 1812, 4.3.2.7).
        let changes: [fn(&mut Vec<u8>); 3] =
            [|frame| frame[21] = 1, |frame| (frame[23], frame[34]) = (1, 3), |frame| frame[26..30].fill(0)];
        for change in changes {
            let mut frame = packet(&router, [10, 9, 0, 1], 1);
            change(&mut frame);
            fix(&mut frame);
            assert_eq!(told(&mut router, &mut frame, NOW), (Reason::TtlExpired, None));
        }
        // The limit is a burst of 100 messages and one more, then 1000 messages per second.
        let count = |router: &mut Router, now: Time| {
            (0..1000)
                .filter(|_| {
                    let mut frame = packet(router, [10, 9, 0, 1], 1);
                    told(router, &mut frame, now).1.is_some()
                })
                .count()
        };
        assert_eq!(count(&mut router, Time::from_secs(1)), 101);
        assert_eq!(count(&mut router, Time::from_millis(1010)), 10);
    }

    #[test]
    fn a_host_that_makes_up_addresses_fills_the_tables_and_no_more() {
        let addresses = vec!["10.0.0.1/8".parse().unwrap(), "11.0.0.1/8".parse().unwrap()];
        let mut router = Router::new(addresses, &[], Vec::new());
        for number in 0..20_000u32 {
            let [_, a, b, c] = (number + 5).to_be_bytes();
            let _ = router.route(&mut packet(&router, [11, a, b, c], 9), 0, Time::ZERO);
            let _ = router.route(&mut arp(REQUEST, (HOST, [10, a, b, c]), [10, 0, 0, 1]), 0, Time::ZERO);
        }
        assert_eq!((router.asked.len(), router.neighbours.len()), (MOST_NEIGHBOURS, MOST_NEIGHBOURS));
    }
}
