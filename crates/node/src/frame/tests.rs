//! Compares the parser with an independent one, and tests truncated and inconsistent frames.

use super::*;
use etherparse::PacketBuilder;
use proptest::prelude::*;

/// Description of a frame: tags, addresses, ports, ECN and payload.
#[derive(Clone, Debug)]
struct Made {
    tags: usize,
    is_ipv6: bool,
    is_tcp: bool,
    traffic_class: u8,
    addresses: ([u8; 16], [u8; 16]),
    ports: (u16, u16),
    payload: usize,
}

impl Made {
    fn bytes(&self) -> Vec<u8> {
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let v4 = |address: [u8; 16]| -> [u8; 4] { address[12..].try_into().unwrap() };
        let (source, destination) = self.addresses;
        let mut frame = Vec::new();
        let payload = vec![7; self.payload];
        macro_rules! transport {
            ($ip:expr) => {
                if self.is_tcp {
                    $ip.tcp(self.ports.0, self.ports.1, 1, 2).write(&mut frame, &payload).unwrap();
                } else {
                    $ip.udp(self.ports.0, self.ports.1).write(&mut frame, &payload).unwrap();
                }
            };
        }
        if self.is_ipv6 {
            transport!(link.ipv6(source, destination, 64));
            frame[14] = 6 << 4 | self.traffic_class >> 4;
            frame[15] = self.traffic_class << 4;
        } else {
            let mut header =
                etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber(0), v4(source), v4(destination)).unwrap();
            header.dscp = (self.traffic_class >> 2).try_into().unwrap();
            header.ecn = (self.traffic_class & 3).try_into().unwrap();
            transport!(link.ip(etherparse::IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default())));
        }
        for tag in 0..self.tags {
            let ethertype = ETHERTYPES_VLAN[tag % 3].to_be_bytes();
            frame.splice(12..12, [ethertype[0], ethertype[1], 0, 5]);
        }
        frame
    }
}

prop_compose! {
    fn made()(
        tags in 0..=MOST_TAGS,
        flags in any::<(bool, bool)>(),
        traffic_class in any::<u8>(),
        addresses in any::<([u8; 16], [u8; 16])>(),
        ports in any::<(u16, u16)>(),
        payload in 0..1460usize,
    ) -> Made {
        let (is_ipv6, is_tcp) = flags;
        Made { tags, is_ipv6, is_tcp, traffic_class, addresses, ports, payload }
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read(made in made()) {
        let bytes = made.bytes();
        let frame = Frame::parse(&bytes);
        let as_mapped =
            |address: [u8; 16]| if made.is_ipv6 { address } else { mapped(address[12..].try_into().unwrap()) };
        prop_assert_eq!(frame.network, if made.is_ipv6 { Network::Ipv6 } else { Network::Ipv4 });
        prop_assert_eq!((frame.source, frame.destination), (as_mapped(made.addresses.0), as_mapped(made.addresses.1)));
        prop_assert_eq!(frame.protocol, if made.is_tcp { 6 } else { 17 });
        prop_assert_eq!(frame.ports, Some(made.ports));
        prop_assert_eq!(frame.is_expedited, made.traffic_class >> 2 == 46);
        prop_assert_eq!(frame.is_control, matches!(made.traffic_class >> 2, 48 | 56));
        prop_assert_eq!(frame.ecn, ecn_of_bits(made.traffic_class));
        prop_assert_eq!(frame.network_at, 14 + 4 * made.tags);
        prop_assert_eq!(frame.bytes as usize, bytes.len() - frame.network_at);
    }

    /// In a frame truncated anywhere, present fields are parsed, missing fields are absent, and the size is that of the
    /// frame.
    #[test]
    fn a_frame_that_ends_early_is_read_as_far_as_it_goes(made in made(), cut in any::<prop::sample::Index>()) {
        let whole = made.bytes();
        let cut = cut.index(whole.len() + 1);
        let (frame, full) = (Frame::parse(&whole[..cut]), Frame::parse(&whole));
        let transport_at = full.network_at + if made.is_ipv6 { 40 } else { 20 };
        prop_assert!(frame.bytes as usize <= cut);
        prop_assert_eq!(frame.network != Network::Other, cut >= transport_at);
        prop_assert_eq!(frame.ports.is_some(), cut >= transport_at + 4);
        let _ = frame.flow(&whole[..cut]);
    }

    #[test]
    fn any_bytes_can_be_read_and_marked(mut bytes in prop::collection::vec(any::<u8>(), 0..200), ip in any::<bool>()) {
        if ip && bytes.len() >= 15 {
            // Most random bytes are not IP, so turn them into IP.
            (bytes[12], bytes[13]) = if bytes[14] & 1 == 0 { (8, 0) } else { (0x86, 0xdd) };
            bytes[14] = if bytes[14] & 1 == 0 { 0x40 } else { 0x60 } | bytes[14] & 15;
        }
        let frame = Frame::parse(&bytes);
        prop_assert!(frame.bytes as usize <= bytes.len() && frame.network_at <= bytes.len());
        let _ = frame.flow(&bytes);
        let before = bytes.clone();
        set_ecn(&mut bytes, &frame, Ecn::Ce);
        prop_assert_eq!(before.len(), bytes.len());
        if frame.network != Network::Other {
            prop_assert_eq!(Frame::parse(&bytes).ecn, Ecn::Ce);
        }
    }

    #[test]
    fn a_mark_keeps_the_checksum_right_and_the_rest_as_it_was(made in made(), to in 0..4u8) {
        let mut bytes = made.bytes();
        let frame = Frame::parse(&bytes);
        let before = bytes.clone();
        set_ecn(&mut bytes, &frame, ecn_of_bits(to));
        prop_assert_eq!(Frame::parse(&bytes), Frame { ecn: ecn_of_bits(to), ..frame });
        if !made.is_ipv6 {
            let header = etherparse::Ipv4Header::from_slice(&bytes[frame.network_at..]).unwrap().0;
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
        }
        let changed = before.iter().zip(&bytes).filter(|(a, b)| a != b).count();
        prop_assert!(changed <= 3, "{} bytes", changed);
    }
}

fn udp(payload: usize) -> Made {
    Made {
        tags: 0,
        is_ipv6: false,
        is_tcp: false,
        traffic_class: 0,
        addresses: ([10; 16], [11; 16]),
        ports: (1000, 2000),
        payload,
    }
}

#[test]
fn a_length_field_that_understates_hides_nothing() {
    let mut bytes = udp(1000).bytes();
    bytes[16..18].copy_from_slice(&20u16.to_be_bytes());
    assert_eq!(Frame::parse(&bytes).bytes, 1028);
}

#[test]
fn padding_of_a_short_frame_does_not_count() {
    let mut bytes = udp(1).bytes();
    bytes.resize(60, 0);
    assert_eq!(Frame::parse(&bytes).bytes, 29);
}

#[test]
fn fragments_of_a_datagram_are_one_flow() {
    let whole = udp(100).bytes();
    let with_fragment_field = |field: u16, port: u16| {
        let mut bytes = whole.clone();
        bytes[20..22].copy_from_slice(&field.to_be_bytes());
        bytes[34..36].copy_from_slice(&port.to_be_bytes());
        let frame = Frame::parse(&bytes);
        (frame.ports, frame.flow(&bytes))
    };
    // The first fragment ("more fragments" is set) has the ports. Later fragments have payload at the same place. A
    // packet with only "don't fragment" is no fragment.
    let (first, later) = (with_fragment_field(0x2000, 1000), with_fragment_field(0x00b9, 77));
    assert_eq!((first.0, later.0), (None, None));
    assert_eq!(first.1, later.1);
    assert_eq!(with_fragment_field(0x4000, 1000).0, Some((1000, 2000)));
}

#[test]
fn extension_headers_of_ipv6_are_skipped_and_fragments_have_no_ports() {
    let mut bytes = Made { is_ipv6: true, ..udp(100) }.bytes();
    // The frame has 8 bytes of hop-by-hop options and 16 bytes of destination options before UDP.
    bytes[20] = 0;
    bytes.splice(54..54, [60, 0, 1, 4, 0, 0, 0, 0]);
    bytes.splice(62..62, [17, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let frame = Frame::parse(&bytes);
    assert_eq!((frame.protocol, frame.ports), (17, Some((1000, 2000))));
    bytes[62] = 44;
    bytes.splice(78..78, [17, 0, 0, 1, 0, 0, 0, 9]);
    let frame = Frame::parse(&bytes);
    assert_eq!((frame.protocol, frame.ports), (17, None));
}

#[test]
fn both_directions_of_a_connection_are_two_flows() {
    let forth = udp(100);
    let back = Made { addresses: (forth.addresses.1, forth.addresses.0), ports: (2000, 1000), ..forth.clone() };
    let flow = |made: &Made| Frame::parse(&made.bytes()).flow(&made.bytes());
    assert_ne!(flow(&forth), flow(&back));
    assert_eq!(flow(&forth), flow(&Made { payload: 7, traffic_class: 3, ..forth.clone() }));
}
