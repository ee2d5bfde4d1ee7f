//! A model of the switch that runs the P4 program. Only the scheme's arithmetic comes from the library; all other
//! functions are written a second time here.

use super::file::Input;
use super::frame::{ETHERTYPE_8021AD, ETHERTYPE_8021Q};
use super::scheme::{Arrival, Metered, Model};
use super::setup::{ClassRule, FLOODED, Place, ROUTE_MACS, Role, STATIONS, Setup, User, has_prefix, prefix};
use fairlane_schemes::fixed::{Activity, PACKET};
use std::collections::HashMap;
use std::fmt;
use std::net::Ipv4Addr;

const ETHERNET: usize = 14;
const TAG: usize = 4;
const DSCP_EF: u8 = 46;
/// Bits of the label that fit into the tag.
const CARRIED_BITS: u32 = 15;
const DROP_PORT: u16 = 511;

/// Verdict on a packet, numbered as in the P4 program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Accepted = 0,
    Dropped = 1,
    Overlimit = 2,
    Refused = 3,
    NoRoute = 4,
}

/// Values that the P4 program writes into a packet's test header (`probe.p4`), and a hash of the departing frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub verdict: u8,
    /// Sum of flags: 1 if labelled, 2 if expedited, 4 if an AQM has decided, 8 if flooded.
    pub flags: u8,
    pub egress_port: u16,
    pub priority: u8,
    /// Biased activity.
    pub activity: u32,
    /// See [`Scheme::columns`](super::scheme::Scheme::columns) for the meaning of this and the next field.
    pub average: u64,
    pub threshold: u64,
    /// FNV-1a of the frame, folded to 32 bits; 0 if it is dropped.
    pub frame: u32,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verdict, flags, egress_port, priority, activity, average, threshold, frame } = self;
        write!(f, "{verdict}{flags:x} {egress_port}.{priority} {activity:x} {average:x} {threshold:x} {frame:x}")
    }
}

/// FNV-1a.
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// FNV-1a in 32 bits, as in an [`Outcome`].
pub fn folded(frame: &[u8]) -> u32 {
    let hash = fnv1a(frame.iter().copied());
    (hash ^ hash >> 32) as u32
}

/// CRC-32 of IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    let byte = |crc: u32, byte: u8| (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)));
    !bytes.iter().copied().fold(u32::MAX, byte)
}

/// Positions of the headers in a frame.
#[derive(Default)]
struct Headers {
    /// Number of complete 802.1ad tags, starting with the outermost; at most two.
    labels: usize,
    /// Number of further complete tags; at most two.
    vlans: usize,
    /// Offset of the IP header, if it is complete and of the right version.
    ip: Option<usize>,
}

fn ethertype(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

impl Headers {
    fn of(frame: &[u8]) -> Self {
        let mut headers = Self::default();
        // Offset of the ethertype that precedes the next header.
        let mut at = ETHERNET - 2;
        while headers.labels < 2 && ethertype(frame, at) == ETHERTYPE_8021AD {
            if frame.len() < at + 2 + TAG {
                return headers;
            }
            at += TAG;
            headers.labels += 1;
        }
        while headers.vlans < 2 && [ETHERTYPE_8021AD, ETHERTYPE_8021Q].contains(&ethertype(frame, at)) {
            if frame.len() < at + 2 + TAG {
                return headers;
            }
            at += TAG;
            headers.vlans += 1;
        }
        let (start, rest) = (at + 2, &frame[at + 2..]);
        headers.ip = match ethertype(frame, at) {
            0x0800 if rest.len() >= 20 && rest[0] >> 4 == 4 && rest[0] & 0xf >= 5 => Some(start),
            0x86dd if rest.len() >= 40 && rest[0] >> 4 == 6 => Some(start),
            _ => None,
        };
        headers
    }
}

/// Fields of an IP header.
struct Ip {
    source: u128,
    destination: u128,
    dscp: u8,
}

impl Ip {
    fn of(header: &[u8]) -> Self {
        let v4 = |at: usize| {
            let octets: [u8; 4] = header[at..at + 4].try_into().expect("four bytes");
            Ipv4Addr::from(octets).to_ipv6_mapped().to_bits()
        };
        let v6 = |at: usize| u128::from_be_bytes(header[at..at + 16].try_into().expect("sixteen bytes"));
        if header[0] >> 4 == 4 {
            Self { source: v4(12), destination: v4(16), dscp: header[1] >> 2 }
        } else {
            Self { source: v6(8), destination: v6(24), dscp: (header[0] & 0xf) << 2 | header[1] >> 6 }
        }
    }
}

/// Longest matching prefix of an address.
fn longest<T>(entries: &[T], address: u128, of: impl Fn(&T) -> (u128, u32)) -> Option<&T> {
    entries.iter().filter(|entry| has_prefix(address, of(entry))).max_by_key(|entry| of(entry).1)
}

/// The switch.
pub struct Switch<'a> {
    setup: &'a Setup,
    model: Box<dyn Model>,
    /// Times when the ports' virtual queues become empty.
    free_at_ns: HashMap<u16, u64>,
    /// Port whose AQM decided on the last packet.
    pub judged_at: Option<u16>,
}

impl<'a> Switch<'a> {
    pub fn new(setup: &'a Setup) -> Self {
        Self { setup, model: setup.scheme.model(), free_at_ns: HashMap::new(), judged_at: None }
    }

    /// Processes one packet.
    pub fn process(&mut self, input: &Input) -> Outcome {
        let mut packet = Packet { frame: input.frame(), ..Packet::default() };
        self.judged_at = None;
        let verdict = self.decide(&mut packet, input);
        let mut outcome = Outcome {
            verdict: verdict as u8,
            flags: u8::from(packet.label.is_some())
                | u8::from(packet.is_expedited) << 1
                | u8::from(packet.is_judged) << 2
                | u8::from(packet.is_flooded) << 3,
            egress_port: if verdict == Verdict::Accepted { packet.egress_port } else { DROP_PORT },
            priority: packet.priority,
            activity: packet.label.map_or(0, Activity::biased),
            average: packet.average,
            threshold: packet.threshold,
            frame: 0,
        };
        if verdict == Verdict::Accepted {
            // Flooded packets leave through port 0 of the probe.
            if let Some(label) = packet.label
                && !packet.is_flooded
                && self.setup.links.contains(&packet.egress_port)
            {
                push(&mut packet.frame, label, packet.is_expedited);
            }
            outcome.frame = folded(&packet.frame);
        } else {
            outcome.flags &= !8;
        }
        outcome
    }

    fn decide(&mut self, packet: &mut Packet, input: &Input) -> Verdict {
        let role = self.setup.ports.iter().find(|port| port.0 == input.ingress_port).map_or(Role::Plain, |port| port.1);
        if packet.frame.len() < ETHERNET {
            return Verdict::Refused;
        }
        let headers = Headers::of(&packet.frame);
        let ip_bytes = packet.frame.len() - ETHERNET - TAG * (headers.labels + headers.vlans);
        if !packet.strip(role, &headers) {
            return Verdict::Refused;
        }
        let at = headers.ip.map(|at| at - packet.stripped_bytes);
        let ip = at.map(|at| Ip::of(&packet.frame[at..]));
        if role == Role::Untrusted {
            self.meter(packet, ip.as_ref(), ip_bytes as u32, input.now_ns);
        }
        if !self.forward(packet, at.zip(ip.as_ref())) {
            return Verdict::NoRoute;
        }
        self.judge(packet, ip_bytes, input)
    }

    fn meter(&mut self, packet: &mut Packet, ip: Option<&Ip>, bytes: u32, now_ns: u64) {
        let address = ip.map_or(0, |ip| ip.source);
        let of = |user: &User| prefix(user.prefix.0, user.prefix.1);
        let user = ip.and_then(|ip| longest(&self.setup.users, ip.source, of)).unwrap_or(&self.setup.default_user);
        let index = match user.place {
            Place::Prefix(index) => index,
            Place::Address { base, size } => base + crc32(&address.to_be_bytes()) % size,
        };
        packet.is_expedited = match user.class_rule {
            ClassRule::BestEffort => false,
            ClassRule::Expedited => true,
            ClassRule::Dscp => ip.is_some_and(|ip| ip.dscp == DSCP_EF),
        };
        let (reference_rate, is_expedited) = (user.reference_rate, packet.is_expedited);
        packet.label = Some(self.model.meter(&Metered { index, reference_rate, bytes, is_expedited, now_ns }));
    }

    /// Finds the port; returns false if there is none.
    fn forward(&self, packet: &mut Packet, ip: Option<(usize, &Ip)>) -> bool {
        let routes = self.setup.routes;
        if let Some((at, ip)) = ip
            && let Some(route) = longest(routes, ip.destination, |&(address, bits, _)| prefix(address, bits))
        {
            packet.egress_port = route.2;
            packet.frame[..6].copy_from_slice(&ROUTE_MACS.1);
            packet.frame[6..12].copy_from_slice(&ROUTE_MACS.0);
            return count_hop(&mut packet.frame[at..]);
        }
        let station = packet.frame[5];
        packet.is_flooded = packet.frame[..5] == [2, 0, 0, 0, 0] && station == FLOODED.0;
        if packet.is_flooded {
            packet.egress_port = FLOODED.1;
            return true;
        }
        packet.egress_port = station.into();
        packet.frame[..5] == [2, 0, 0, 0, 0] && STATIONS.contains(&packet.egress_port)
    }

    fn judge(&mut self, packet: &mut Packet, ip_bytes: usize, input: &Input) -> Verdict {
        let port = packet.egress_port;
        let Some(queue) = self.setup.queues.iter().find(|queue| queue.port == port) else { return Verdict::Accepted };
        let (now_ns, bytes) = (input.now_ns, (ip_bytes + ETHERNET) as u64);
        let free_at_ns = self.free_at_ns.entry(port).or_default();
        let found = queue.ns_per_byte.map_or(input.queue, |_| free_at_ns.saturating_sub(now_ns));
        let share = queue.ns_per_byte.map_or(PACKET as u64, |rate| (bytes * rate) >> 20);
        let is_over = found.saturating_add(share) > queue.limit;
        let (label, random, bytes) = (packet.label, input.random, bytes as u32);
        let judgement = self.model.judge(&Arrival { port, label, bytes, queue: found, is_over, random, now_ns });
        packet.is_judged = true;
        self.judged_at = Some(port);
        packet.label = judgement.label;
        packet.average = judgement.average;
        packet.threshold = judgement.threshold;
        if judgement.is_dropped {
            return Verdict::Dropped;
        }
        if is_over {
            return Verdict::Overlimit;
        }
        if queue.ns_per_byte.is_some() {
            *free_at_ns = now_ns + found + share;
        }
        packet.priority = if packet.is_expedited { queue.ef_priority } else { 0 };
        Verdict::Accepted
    }
}

/// A packet in the switch.
#[derive(Default)]
struct Packet {
    frame: Vec<u8>,
    stripped_bytes: usize,
    label: Option<Activity>,
    is_expedited: bool,
    is_flooded: bool,
    is_judged: bool,
    egress_port: u16,
    priority: u8,
    average: u64,
    threshold: u64,
}

impl Packet {
    /// Removes labels and, from a trusted port, reads them. Returns false if they are malformed.
    fn strip(&mut self, role: Role, headers: &Headers) -> bool {
        if ethertype(&self.frame, ETHERNET - 2) != ETHERTYPE_8021AD {
            return true;
        }
        if headers.labels == 0 {
            return false;
        }
        if role == Role::Trusted {
            let control = u32::from(ethertype(&self.frame, ETHERNET));
            let upper = control >> 13 << 12 | control & 0xfff;
            self.label = Some(Activity::from_upper_bits(upper, CARRIED_BITS));
            self.is_expedited = control & 0x1000 != 0;
            self.take_off();
            return true;
        }
        for _ in 0..headers.labels {
            self.take_off();
        }
        ethertype(&self.frame, ETHERNET - 2) != ETHERTYPE_8021AD
    }

    fn take_off(&mut self) {
        self.frame.drain(ETHERNET - 2..ETHERNET - 2 + TAG);
        self.stripped_bytes += TAG;
    }
}

/// Inserts a label before all tags.
fn push(frame: &mut Vec<u8>, label: Activity, is_expedited: bool) {
    let upper = label.biased() >> (Activity::BITS - CARRIED_BITS);
    let control = (upper >> 12 << 13 | u32::from(is_expedited) << 12 | upper & 0xfff) as u16;
    let tag = [ETHERTYPE_8021AD.to_be_bytes(), control.to_be_bytes()].concat();
    frame.splice(ETHERNET - 2..ETHERNET - 2, tag);
}

/// Decrements the TTL and updates the checksum. Returns false if the TTL has expired.
fn count_hop(header: &mut [u8]) -> bool {
    if header[0] >> 4 == 6 {
        let hops = header[7];
        header[7] = hops.wrapping_sub(1);
        return hops > 1;
    }
    let hops = header[8];
    header[8] = hops.wrapping_sub(1);
    let sum = u32::from(ethertype(header, 10)) + 0x100;
    header[10..12].copy_from_slice(&((sum + (sum >> 16)) as u16).to_be_bytes());
    hops > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_the_check_string_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_hop_leaves_a_right_checksum() {
        for hops in 2..=255u8 {
            let mut header = [0x45, 0, 5, 220, 1, 2, 0, 0, hops, 6, 0, 0, 10, 0, 1, 7, 203, 0, 113, 1];
            let checksum = super::super::frame::checksum(&header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            assert!(count_hop(&mut header));
            assert_eq!(super::super::frame::checksum(&header), 0, "{hops}");
        }
    }
}
