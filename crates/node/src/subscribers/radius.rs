//! RADIUS accounting (RFC 2866): addresses of users, as reported by the servers of the access network.
//!
//! A session that starts or continues adds its addresses to the user of its `User-Name`. A session that stops removes
//! its addresses. In an interim update, each attribute replaces the earlier values of the same attribute. A missing
//! attribute leaves addresses unchanged, since all attributes are optional in an update (RFC 2866 5.13, RFC 3162 3, RFC
//! 6911 4). The attributes are `Framed-IP-Address` (RFC 2865 5.8), `Framed-IPv6-Prefix` (RFC 3162 2.3),
//! `Delegated-IPv6-Prefix` (RFC 4818), `Framed-IPv6-Address` (RFC 6911 3.1).
//!
//! The time of an event is its `Event-Timestamp` (RFC 2869 5.3), otherwise the arrival time minus `Acct-Delay-Time`
//! (RFC 2866 5.2). Answers repeat each `Proxy-State` in order (RFC 2865 5.33).
//!
//! Deviations: 1. Requests with an unknown status have no effect. They are answered nevertheless, to stop
//! retransmissions. 2. Addresses that no subscriber can have are skipped as if they were missing. 3. Only addresses are
//! recorded, so this is not an accounting server for billing.

use super::addresses::{Addresses, Kind};
use super::ended::Moment;
use super::session::Session;
use crate::config::{Prefix, check_name};
use radius::core::code::Code;
use radius::core::packet::Packet;
use radius::core::rfc2865::{
    PROXY_STATE_TYPE, lookup_framed_ip_address, lookup_nas_identifier, lookup_nas_ip_address, lookup_user_name,
};
use radius::core::rfc2866::{
    ACCT_STATUS_TYPE_ACCOUNTING_OFF, ACCT_STATUS_TYPE_ACCOUNTING_ON, ACCT_STATUS_TYPE_INTERIM_UPDATE,
    ACCT_STATUS_TYPE_START, ACCT_STATUS_TYPE_STOP, lookup_acct_delay_time, lookup_acct_session_id,
    lookup_acct_status_type,
};
use radius::core::rfc2869::lookup_event_timestamp;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum packet (RFC 2865, 3).
pub const MOST_BYTES: usize = 4096;
/// Code, identifier, length, authenticator.
const HEADER_BYTES: usize = 20;
/// Attribute numbers: RFC 3162, RFC 4818, RFC 6911.
const IPV6_PREFIXES: [(u8, Kind); 2] = [(97, Kind::FramedIpv6Prefix), (123, Kind::DelegatedIpv6Prefix)];
const IPV6_ADDRESS: u8 = 168;
/// Length of the shortest IPv6 prefix that a session can have (our choice): the usual allocation of a whole provider.
const SHORTEST_IPV6: u8 = 32;

/// Event of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session started or continues, with these addresses.
    Up(Up),
    /// A session ended.
    Down(Session, Moment),
    /// All sessions of a server ended, because it starts or stops.
    AllDown {
        /// Server.
        server: String,
        /// Time of the event.
        when: Moment,
    },
    /// Not relevant to the node.
    Other,
}

/// A session that starts or continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Up {
    /// Identifier, unique for its server.
    pub session: Session,
    /// User name. Without one, the session keeps the name from its start, or is a separate user.
    pub user: Option<String>,
    /// Addresses; empty if not known yet.
    pub addresses: Addresses,
    /// True if the session starts. In other requests, a missing value leaves the earlier value unchanged.
    pub is_start: bool,
    /// Time of the event.
    pub when: Moment,
}

/// Reason for silently discarding a request (RFC 2866, 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The request is shorter than its length field, or otherwise invalid.
    #[error("malformed")]
    Malformed,
    /// Its User-Name is not a valid user name.
    #[error("with a name that no user can have")]
    Name,
    /// Not an Accounting-Request.
    #[error("of another kind")]
    OtherKind,
    /// Its authenticator does not match the secret.
    #[error("not authentic")]
    NotAuthentic,
    /// The sender is not allowed.
    #[error("from a stranger")]
    Stranger,
    /// A required attribute is missing.
    #[error("incomplete")]
    Incomplete,
}

impl Refused {
    /// All reasons.
    pub const ALL: [Self; 6] =
        [Self::Stranger, Self::Malformed, Self::OtherKind, Self::NotAuthentic, Self::Incomplete, Self::Name];

    /// Label of a counter.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Stranger => "stranger",
            Self::Malformed => "malformed",
            Self::OtherKind => "other_kind",
            Self::NotAuthentic => "not_authentic",
            Self::Incomplete => "incomplete",
            Self::Name => "name",
        }
    }
}

/// A parsed request.
#[derive(Debug)]
pub struct Request {
    packet: Packet,
    /// The reported event.
    pub event: Event,
    /// Number of skipped addresses that no subscriber can have.
    pub passed_over: u64,
}

impl Request {
    /// Parses a request from `from` that arrived at `arrival`, in seconds since 1970.
    ///
    /// # Errors
    /// The request must be discarded.
    pub fn read(datagram: &[u8], secret: &[u8], from: IpAddr, arrival: u64) -> Result<Self, Refused> {
        let length = datagram.get(2..4).map(|length| usize::from(u16::from_be_bytes([length[0], length[1]])));
        // Further bytes are padding (RFC 2866, 3).
        let bytes = length.filter(|length| (HEADER_BYTES..=MOST_BYTES).contains(length));
        let bytes = bytes.and_then(|length| datagram.get(..length)).ok_or(Refused::Malformed)?;
        let packet = Packet::decode(bytes, secret).map_err(|_| Refused::Malformed)?;
        if packet.get_code() != Code::AccountingRequest {
            return Err(Refused::OtherKind);
        }
        // MD5(code + identifier + length + 16 zeros + attributes + secret), RFC 2866 section 3.
        if !Packet::is_authentic_request(bytes, secret) {
            return Err(Refused::NotAuthentic);
        }
        let mut passed_over = 0;
        let event = event(&packet, from, arrival, &mut passed_over)?;
        Ok(Self { packet, event, passed_over })
    }

    /// The answer. It may be sent only after the request's changes are stored (RFC 2866, 2).
    #[must_use]
    pub fn answer(&self) -> Option<Vec<u8>> {
        let mut answer = self.packet.make_response_packet(Code::AccountingResponse);
        answer.extend(self.packet.lookup_all(PROXY_STATE_TYPE).into_iter().cloned().collect());
        answer.encode().ok()
    }
}

fn event(packet: &Packet, from: IpAddr, arrival: u64, passed_over: &mut u64) -> Result<Event, Refused> {
    let status = lookup_acct_status_type(packet).and_then(Result::ok).ok_or(Refused::Incomplete)?;
    let identifier = lookup_nas_identifier(packet).and_then(Result::ok);
    let address = || lookup_nas_ip_address(packet).and_then(Result::ok).map(|address| address.to_string());
    let delay = lookup_acct_delay_time(packet).and_then(Result::ok).unwrap_or_default();
    let stamp = lookup_event_timestamp(packet).and_then(Result::ok);
    let stamp = stamp.and_then(|stamp| stamp.timestamp().try_into().ok());
    let when = Moment::new(arrival, delay.into(), stamp);
    let server = identifier.or_else(address).unwrap_or_else(|| from.to_string());
    if [ACCT_STATUS_TYPE_ACCOUNTING_ON, ACCT_STATUS_TYPE_ACCOUNTING_OFF].contains(&status) {
        return Ok(Event::AllDown { server, when });
    }
    let id = lookup_acct_session_id(packet).and_then(Result::ok).ok_or(Refused::Incomplete)?;
    let session = Session { server, id };
    match status {
        ACCT_STATUS_TYPE_START | ACCT_STATUS_TYPE_INTERIM_UPDATE => {
            let user = lookup_user_name(packet).transpose().map_err(|_| Refused::Name)?;
            check_name(user.as_ref().unwrap_or(&session.name())).map_err(|_| Refused::Name)?;
            let addresses = addresses(packet, passed_over)?;
            Ok(Event::Up(Up { session, user, addresses, is_start: status == ACCT_STATUS_TYPE_START, when }))
        }
        ACCT_STATUS_TYPE_STOP => Ok(Event::Down(session, when)),
        _ => Ok(Event::Other),
    }
}

fn addresses(packet: &Packet, passed_over: &mut u64) -> Result<Addresses, Refused> {
    let mut told: Vec<(Kind, Prefix)> = Vec::new();
    if let Some(address) = lookup_framed_ip_address(packet).and_then(Result::ok) {
        told.push((Kind::FramedIpAddress, Prefix::of(address.into())));
    }
    for (number, kind) in IPV6_PREFIXES {
        for attribute in packet.lookup_all(number) {
            told.push((kind, ipv6_prefix(&attribute.encode_bytes()).ok_or(Refused::Malformed)?));
        }
    }
    for attribute in packet.lookup_all(IPV6_ADDRESS) {
        let octets: [u8; 16] = attribute.encode_bytes().try_into().map_err(|_| Refused::Malformed)?;
        told.push((Kind::FramedIpv6Address, Prefix::of(Ipv6Addr::from(octets).into())));
    }
    let mut addresses = Addresses::default();
    for (kind, prefix) in told {
        if is_of_a_subscriber(prefix) {
            addresses.push(kind, prefix);
        } else {
            *passed_over += 1;
        }
    }
    Ok(addresses)
}

/// Returns true for a unicast address or prefix, unless the prefix is too short.
fn is_of_a_subscriber(prefix: Prefix) -> bool {
    match prefix.address() {
        IpAddr::V4(address) => {
            // 0xffffffff and 0xfffffffe are not addresses: the user or the server selects the address (RFC 2865, 5.8).
            let has_meaning = [Ipv4Addr::BROADCAST, Ipv4Addr::new(255, 255, 255, 254)].contains(&address);
            !(has_meaning || address.is_unspecified() || address.is_loopback() || address.is_multicast())
        }
        IpAddr::V6(address) => {
            // ::/32 contains the unspecified address, the loopback address and all mapped IPv4 addresses.
            let is_special = address.segments()[..2] == [0, 0] || address.is_multicast();
            !is_special && !address.is_unicast_link_local() && prefix.bits() >= SHORTEST_IPV6
        }
    }
}

/// Parses an IPv6 prefix: a reserved byte, the prefix length, and at least the bytes that this length requires. Bits
/// after the prefix, which must be zero (RFC 3162, 2.3), are masked.
fn ipv6_prefix(value: &[u8]) -> Option<Prefix> {
    let (&[_, bits], bytes) = value.split_first_chunk::<2>()?;
    if bits > 128 || bytes.len() > 16 || bytes.len() * 8 < usize::from(bits) {
        return None;
    }
    let mut octets = [0; 16];
    octets[..bytes.len()].copy_from_slice(bytes);
    Some(Prefix::within(Ipv6Addr::from(octets).into(), bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time of arrival.
    const NOW: u64 = 1_800_000_000;
    const SECRET: &[u8] = b"xyzzy5461";
    const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    /// Returns a request with these attributes.
    fn request(attributes: &[(u8, &[u8])]) -> Vec<u8> {
        let mut packet = vec![4, 7, 0, 0];
        packet.extend([0; 16]);
        for (kind, value) in attributes {
            packet.extend([*kind, value.len() as u8 + 2]);
            packet.extend(*value);
        }
        let length = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&length);
        let digest = md5::compute([&packet[..], SECRET].concat());
        packet[4..20].copy_from_slice(&digest.0);
        packet
    }

    const START: (u8, &[u8]) = (40, &[0, 0, 0, 1]);
    const STOP: (u8, &[u8]) = (40, &[0, 0, 0, 2]);
    const INTERIM: (u8, &[u8]) = (40, &[0, 0, 0, 3]);
    const OFF: (u8, &[u8]) = (40, &[0, 0, 0, 8]);
    const NAME: (u8, &[u8]) = (1, b"anna");
    const SESSION: (u8, &[u8]) = (44, b"0001");
    const SERVER: (u8, &[u8]) = (32, b"bng1");

    fn event_of(attributes: &[(u8, &[u8])]) -> Result<Event, Refused> {
        Request::read(&request(attributes), SECRET, FROM, NOW).map(|request| request.event)
    }

    fn when() -> Moment {
        Moment::new(NOW, 0, None)
    }

    #[test]
    fn answers_repeat_the_state_of_proxies_in_its_order() {
        let states: [&[u8]; 3] = [b"inner\0\xff", b"outer", b"inner\0\xff"];
        let [first, second, third] = states.map(|state| (33, state));
        let bytes = request(&[first, START, NAME, second, SESSION, third]);
        let answer = Request::read(&bytes, SECRET, FROM, NOW).unwrap().answer().unwrap();
        let copied = states.map(|state| [&[33, state.len() as u8 + 2], state].concat()).concat();
        assert_eq!(answer[20..], copied);
        let digest = md5::compute([&answer[..4], &bytes[4..20], &answer[20..], SECRET].concat());
        assert_eq!(answer[4..20], digest.0);
    }

    #[test]
    fn the_time_of_an_event_is_read() {
        let stop_at = |more: &[(u8, &[u8])]| match event_of(&[&[STOP, SESSION], more].concat()) {
            Ok(Event::Down(_, when)) => when.at(),
            other => panic!("{other:?}"),
        };
        let stamp = (NOW as u32 - 90).to_be_bytes();
        assert_eq!(stop_at(&[]), NOW);
        assert_eq!(stop_at(&[(41, &[0, 0, 1, 1])]), NOW - 257);
        assert_eq!(stop_at(&[(41, &[0, 0, 0, 1]), (55, &stamp)]), NOW - 90);
        // Other lengths are ignored.
        assert_eq!(stop_at(&[(41, &[1]), (55, &[0; 8])]), NOW);
    }

    #[test]
    fn a_session_has_the_addresses_of_all_its_attributes() {
        let session = Session { server: "bng1".into(), id: "0001".into() };
        for status in [START, INTERIM] {
            let attributes = [
                status,
                NAME,
                SESSION,
                SERVER,
                (8, &[100, 64, 0, 9][..]),
                (97, &[0, 64, 0x20, 1, 0xd, 0xb8, 0, 1, 0, 2][..]),
                (123, &[0, 56, 0x20, 1, 0xd, 0xb8, 0, 3, 0xff, 0xff][..]),
            ];
            let addresses = of(&[
                (Kind::FramedIpAddress, "100.64.0.9"),
                (Kind::FramedIpv6Prefix, "2001:db8:1:2::/64"),
                (Kind::DelegatedIpv6Prefix, "2001:db8:3:ff00::/56"),
            ]);
            let user = Some("anna".into());
            let up = Up { session: session.clone(), user, addresses, is_start: status == START, when: when() };
            assert_eq!(event_of(&attributes), Ok(Event::Up(up)));
        }
        assert_eq!(event_of(&[STOP, SESSION, SERVER]), Ok(Event::Down(session, when())));
        assert_eq!(event_of(&[OFF, SERVER]), Ok(Event::AllDown { server: "bng1".into(), when: when() }));
        // The server is identified by its NAS-Identifier or NAS-IP-Address, otherwise by the source address of the
        // request.
        let by_address = Event::AllDown { server: "10.0.0.1".into(), when: when() };
        assert_eq!(event_of(&[OFF, (4, &[10, 0, 0, 1])]), Ok(by_address));
        assert_eq!(event_of(&[OFF]), Ok(Event::AllDown { server: "192.0.2.1".into(), when: when() }));
    }

    fn of(list: &[(Kind, &str)]) -> Addresses {
        let mut addresses = Addresses::default();
        list.iter().for_each(|(kind, text)| addresses.push(*kind, text.parse().unwrap()));
        addresses
    }

    #[test]
    fn addresses_that_no_subscriber_can_have_are_passed_over() {
        let v4 = [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 5], [255; 4], [255, 255, 255, 254]];
        let v6: [(u8, &[u8]); 10] = [
            (97, &[0, 0]),
            (97, &[0, 3, 0x20]),
            (123, &[0, 31, 0x20, 1, 0x0d, 0xb8]),
            (97, &[0, 64, 0xfe, 0x80]),
            (123, &[0, 64]),
            (97, &[0, 64, 0xff, 2, 0, 0, 0, 0, 0, 0]),
            (168, &[0; 16]),
            (168, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            (168, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]),
            (168, &[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ];
        // Pads the value to the number of bytes that the prefix length requires.
        let padded = |value: &[u8]| match value {
            [0, bits, rest @ ..] if value.len() < 16 => {
                let mut value = value.to_vec();
                value.resize(2 + usize::from(bits.div_ceil(8)).max(rest.len()), 0);
                value
            }
            other => other.to_vec(),
        };
        let v6 = v6.iter().map(|(kind, value)| (*kind, padded(value)));
        for (kind, value) in v4.iter().map(|address| (8, address.to_vec())).chain(v6) {
            let bytes = request(&[START, NAME, SESSION, SERVER, (kind, &value), (97, &[0, 32, 0x20, 1, 0xd, 0xb8])]);
            let request = Request::read(&bytes, SECRET, FROM, NOW).unwrap();
            let Event::Up(up) = request.event else { panic!("{kind} {value:?}") };
            assert_eq!(up.addresses, of(&[(Kind::FramedIpv6Prefix, "2001:db8::/32")]), "{kind} {value:?}");
            assert_eq!(request.passed_over, 1, "{kind} {value:?}");
        }
    }

    #[test]
    fn names_that_no_user_can_have_are_discarded() {
        let names: [&[u8]; 5] = [b"a\x1b[2J", b"a\nb", &[0xff, 0xfe], b"default", &[b'a'; 129]];
        for name in names {
            assert_eq!(event_of(&[START, (1, name), SESSION, SERVER]), Err(Refused::Name), "{name:?}");
        }
        // Without a User-Name, the name is derived from the session and must also be valid.
        assert_eq!(event_of(&[START, (44, b"a\nb"), SERVER]), Err(Refused::Name));
        let Ok(Event::Up(up)) = event_of(&[START, SESSION, SERVER]) else { panic!() };
        assert_eq!(up.user, None);
    }

    #[test]
    fn only_requests_with_the_secret_are_answered() {
        let bytes = request(&[START, NAME, SESSION]);
        let read = |bytes: &[u8], secret: &[u8]| Request::read(bytes, secret, FROM, NOW);
        assert_eq!(read(&bytes, b"another").unwrap_err(), Refused::NotAuthentic);
        for at in 4..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(read(&changed, SECRET).is_err(), "byte {at}");
        }
        // Padding after the packet is ignored.
        let request = read(&[&bytes[..], &[0; 9]].concat(), SECRET).unwrap();
        // Response Authenticator, RFC 2866 section 3: MD5(code + id + length + request authenticator + attributes +
        // secret).
        let answer = request.answer().unwrap();
        let digest = md5::compute([&answer[..4], &bytes[4..20], &answer[20..], SECRET].concat());
        assert_eq!((answer[0], answer[1], &answer[4..20]), (5, 7, &digest.0[..]));
    }

    #[test]
    fn what_is_cut_off_or_contradicts_itself_is_discarded() {
        let bytes = request(&[START, NAME, SESSION]);
        for length in 0..bytes.len() {
            assert_eq!(Request::read(&bytes[..length], SECRET, FROM, NOW).unwrap_err(), Refused::Malformed, "{length}");
        }
        assert_eq!(event_of(&[NAME, SESSION]), Err(Refused::Incomplete));
        assert_eq!(event_of(&[START, NAME]), Err(Refused::Incomplete));
        assert_eq!(event_of(&[START, SESSION, (97, &[0, 64, 0x20])]), Err(Refused::Malformed));
        assert_eq!(event_of(&[START, SESSION, (97, &[0, 129])]), Err(Refused::Malformed));
        let mut other = bytes;
        other[0] = 1;
        assert_eq!(Request::read(&other, SECRET, FROM, NOW).unwrap_err(), Refused::OtherKind);
    }
}
