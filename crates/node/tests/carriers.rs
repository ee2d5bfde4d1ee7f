//! Tests labels on links: the egress program adds them, and the ingress program of the next node removes them. Labels
//! written by hosts are invalidated.
#![cfg(feature = "ebpf")]

use crate::common::{DROP, LOOPBACK, PASS, START_NS, config, ipv4, ipv6, label_of, mark_of, replayed, replayed_later};
use crate::mutate::mutate;
use fairlane_node::kernel::Programs;
use fairlane_node::records::ReplayInput;
use fairlane_schemes::base::rng::Rng;
use serde_json::json;

const VALID: u32 = 0xfa00_0000;
const CLASS_AND_ACTIVITY: u32 = 0x007f_ffff;

/// Creates a node that is both ends of a link: it adds labels to departing packets and removes them from arriving
/// packets.
fn link(carrier: &str) -> Programs {
    replayed(&config(
        &json!({"arrivals": "trusted", "queue": {"scheme": "droptail"}, "carrier": carrier, "far_end": "reads"}),
        &json!({}),
    ))
}

/// Creates a node that meters arriving packets. If a departing packet has no label of this node, the node must remove a
/// label that the packet's host has forged.
fn edge(carrier: &str) -> Programs {
    replayed_later(&config(
        &json!({"carrier": carrier, "far_end": "reads"}),
        &json!({"default_user": {"meter_of": "address"}}),
    ))
}

fn egress(programs: &Programs, frame: &[u8], mark: u32) -> (i32, Vec<u8>) {
    let (outcome, after) = programs.pass("fairlane_egress", frame, LOOPBACK, mark_of(mark)).unwrap();
    (outcome.verdict, after)
}

/// Returns verdict, mark and frame.
fn ingress(programs: &Programs, frame: &[u8]) -> (i32, u32, Vec<u8>) {
    // An existing mark must not survive the ingress.
    let (outcome, after) = programs.pass("fairlane_ingress", frame, LOOPBACK, mark_of(VALID | 7)).unwrap();
    (outcome.verdict, label_of(outcome.mark), after)
}

fn random_mark(rng: &mut Rng) -> u32 {
    // Bit 23 is not part of a label.
    VALID | (rng.bits() as u32 & CLASS_AND_ACTIVITY & !0x0080_0000)
}

/// Builds an IPv6 frame with `headers` before `payload`. The first header has the type `next`.
fn ipv6_with(next: u8, headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let rest = [headers, payload].concat();
    let mut frame = ipv6([0xfd; 16], 0, 40 + rest.len() as u16);
    frame[20] = next;
    frame[54..].copy_from_slice(&rest);
    frame
}

/// Hop-by-hop headers before UDP: one of 8 bytes with router alert and padding as in RFC 2711, and one of 16 bytes with
/// only padding.
const ROUTER_ALERT: [u8; 8] = [17, 0, 5, 2, 0, 0, 1, 0];
const PADDING_16: [u8; 16] = [17, 1, 1, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0];

/// A label as written by a node, before UDP.
const LABEL: [u8; 8] = [17, 0, 0x1e, 4, 0xfa, 0x10, 0x20, 0x30];

fn carriers_of_options() -> Vec<Vec<u8>> {
    vec![
        ipv6([0xfd; 16], 46, 40),
        ipv6([0xfd; 16], 0, 41),
        ipv6([0xfd; 16], 0, 1500),
        // After the IPv6 header, these packets have, in this order: no next header, TCP, a fragment header, and
        // destination options before ICMPv6.
        ipv6_with(59, &[], &[]),
        ipv6_with(6, &[], &[9; 60]),
        ipv6_with(44, &[17, 0, 0, 1, 0, 0, 0, 9], &[9; 60]),
        ipv6_with(60, &[58, 0, 1, 4, 0, 0, 0, 0], &[9; 60]),
        ipv6_with(0, &ROUTER_ALERT, &[9; 60]),
        ipv6_with(0, &PADDING_16, &[9; 60]),
        // Labels written by hosts are not read.
        ipv6_with(0, &LABEL, &[9; 60]),
    ]
}

#[test]
fn labels_travel_in_an_option_bit_for_bit_and_leave_the_packet_as_it_was() {
    skip_unless_possible!();
    let programs = link("ipv6_option");
    let mut rng = Rng::stream(1, 0, "option", 0);
    let mut sent = 0;
    for frame in carriers_of_options() {
        for _ in 0..200 {
            let mark = random_mark(&mut rng);
            let (verdict, labelled) = egress(&programs, &frame, mark);
            assert_eq!((verdict, labelled.len()), (PASS, frame.len() + 8), "{frame:?}");
            // The next header is a hop-by-hop header (0, RFC 8200 4.3). The header's first option is 0x1e and contains
            // the mark.
            assert_eq!((labelled[20], &labelled[56..58]), (0, &[0x1e, 4][..]));
            assert_eq!(labelled[58..62], mark.to_be_bytes());
            assert_eq!(usize::from(u16::from_be_bytes([labelled[18], labelled[19]])), labelled.len() - 54);
            assert_eq!(ingress(&programs, &labelled), (PASS, mark, frame.clone()));
            sent += 1;
        }
    }
    let stats = programs.ingress_stats().unwrap();
    assert_eq!((stats.trusted, stats.stripped, stats.refused, stats.too_large), (sent, 0, 0, 0));
}

#[test]
fn a_labelled_packet_is_one_that_others_can_read() {
    skip_unless_possible!();
    let programs = link("ipv6_option");
    for headers in [&[][..], &ROUTER_ALERT, &PADDING_16] {
        let udp = [0, 9, 0, 9, 0, 28, 0, 0];
        let frame = ipv6_with(if headers.is_empty() { 17 } else { 0 }, headers, &[&udp[..], &[7; 20]].concat());
        let (_, labelled) = egress(&programs, &frame, VALID | 5);
        let parsed = etherparse::SlicedPacket::from_ethernet(&labelled).unwrap();
        let Some(etherparse::NetSlice::Ipv6(ip)) = &parsed.net else { panic!("{parsed:?}") };
        let options = ip.extensions().clone().into_iter().next();
        assert!(matches!(options, Some(etherparse::Ipv6ExtensionSlice::HopByHop(_))), "{options:?}");
        let Some(etherparse::TransportSlice::Udp(udp)) = &parsed.transport else { panic!("{parsed:?}") };
        assert_eq!((udp.destination_port(), udp.payload()), (9, &[7; 20][..]));
    }
}

#[test]
fn icmpv6_and_protocols_other_than_ipv6_travel_without_an_option() {
    skip_unless_possible!();
    let programs = link("ipv6_option");
    let arp = [crate::common::ethernet(0x0806), vec![0; 46]].concat();
    let tagged = {
        let frame = ipv6([0xfd; 16], 0, 100);
        [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat()
    };
    let frames = [
        ipv4([10, 0, 0, 1], 0, 100),
        arp,
        tagged,
        // The packets are a neighbour solicitation, and a multicast listener report (RFC 3810) with a router alert.
        ipv6_with(58, &[], &[135, 0, 0, 0, 0, 0, 0, 0]),
        ipv6_with(0, &[58, 0, 5, 2, 0, 0, 1, 0], &[143, 0, 0, 0, 0, 0, 0, 0]),
        // The hop-by-hop header is missing completely.
        ipv6_with(0, &[], &[]),
        ipv6_with(0, &[], &[17]),
    ];
    for frame in frames {
        assert_eq!(egress(&programs, &frame, VALID | 5), (PASS, frame.clone()));
        assert_eq!(ingress(&programs, &frame), (PASS, 0, frame.clone()));
    }
}

#[test]
fn options_that_are_no_labels_are_left_alone() {
    skip_unless_possible!();
    let programs = link("ipv6_option");
    let right = ipv6_with(0, &LABEL, &[9; 60]);
    assert_eq!(ingress(&programs, &right).1, VALID | 0x0010_2030);
    // Each pair is an offset and a wrong byte. In this order: another next header, two other option types, option
    // lengths 3 and 5, two wrong upper bytes of a label, and two header lengths that exceed the option.
    for (at, byte) in [(20, 60), (56, 0x3e), (56, 0x00), (57, 3), (57, 5), (58, 0xfb), (58, 0), (55, 1), (55, 255)] {
        let mut wrong = right.clone();
        wrong[at] = byte;
        assert_eq!(ingress(&programs, &wrong), (PASS, 0, wrong.clone()), "{at} {byte}");
    }
    // Frames that end before the end of their header, or whose payload length is too small for the header.
    for length in 54..62 {
        assert_eq!(ingress(&programs, &right[..length]), (PASS, 0, right[..length].to_vec()), "{length}");
    }
    for payload in 0..8 {
        let mut wrong = right.clone();
        wrong[18..20].copy_from_slice(&u16::to_be_bytes(payload));
        assert_eq!(ingress(&programs, &wrong), (PASS, 0, wrong.clone()), "{payload}");
    }
    assert_eq!(programs.ingress_stats().unwrap().refused, 0);
}

#[test]
fn options_without_room_end_their_packet() {
    skip_unless_possible!();
    let programs = link("ipv6_option");
    // The payload length of `long` plus the option exceeds 16 bits. The header of `full` has no room for the option.
    let mut long = ipv6([0xfd; 16], 0, 100);
    long[18..20].copy_from_slice(&0xfff8u16.to_be_bytes());
    let mut full = ipv6_with(0, &ROUTER_ALERT, &[9; 60]);
    full[55] = 255;
    for frame in [long, full] {
        assert_eq!(egress(&programs, &frame, VALID | 5).0, DROP);
    }
    assert_eq!(programs.ingress_stats().unwrap().too_large, 2);
}

fn with_tags(frame: &[u8], tags: usize) -> Vec<u8> {
    [&frame[..12], &[0x81, 0, 0, 1].repeat(tags), &frame[12..]].concat()
}

#[test]
fn options_that_hosts_write_become_padding_and_never_change_a_decision() {
    skip_unless_possible!();
    let (honest, forged) = (edge("ipv6_option"), edge("ipv6_option"));
    let mut rng = Rng::stream(2, 0, "option", 0);
    let (mut drops, mut stripped) = (0, 0);
    for i in 0..2000u64 {
        let now_ns = START_NS + i * 1_000_000;
        let input = ReplayInput { now_ns, packets: (rng.bits() % 30) as u32, ..Default::default() };
        let mut label = LABEL;
        label[4..].copy_from_slice(&random_mark(&mut rng).to_be_bytes());
        let headers = match rng.bits() % 2 {
            0 => label.to_vec(),
            // A header of 16 bytes, with the padding that nodes write after their option.
            _ => [&[17, 1], &label[2..], &[1, 0, 1, 4, 0, 0, 0, 0]].concat(),
        };
        let mut padding = headers.clone();
        padding[2..8].copy_from_slice(&[1, 4, 0, 0, 0, 0]);
        let (source, tags) = ((rng.bits() % 5) as u8, (rng.bits() % 3) as usize);
        let frame = |headers: &[u8]| {
            let mut frame = ipv6_with(0, headers, &[9; 400]);
            frame[37] = source;
            with_tags(&frame, tags)
        };
        let mut decisions = Vec::new();
        for (programs, frame) in [(&honest, frame(&padding)), (&forged, frame(&headers))] {
            programs.set_replay(&input).unwrap();
            let (verdict, mark, after) = ingress(programs, &frame);
            assert_eq!(verdict, PASS);
            let (verdict, sent) = egress(programs, &after, mark);
            decisions.push((mark, after, verdict, sent));
        }
        assert_eq!(decisions[0], decisions[1], "{i}");
        drops += u32::from(decisions[0].2 != PASS);
        stripped += 1;
    }
    assert_eq!(honest.ingress_stats().unwrap().stripped, 0);
    assert_eq!(forged.ingress_stats().unwrap().stripped, stripped);
    // Packets find queues of 0 to 29 packets and are dropped at queues of 12 or 20 packets or more. So the dropped part
    // is between 10/30 and 18/30.
    assert!((600..1300).contains(&drops), "{drops}");
}

#[test]
fn a_packet_without_a_label_brings_no_option_to_a_neighbour() {
    skip_unless_possible!();
    let programs = link("ipv6_option");
    let forged = ipv6_with(0, &LABEL, &[9; 60]);
    let (verdict, sent) = egress(&programs, &forged, 0);
    assert_eq!((verdict, &sent[54..62]), (PASS, &[17, 0, 1, 4, 0, 0, 0, 0][..]));
    assert_eq!(ingress(&programs, &sent), (PASS, 0, sent.clone()));
    // Frames that only look similar are unchanged: with another protocol, another version, or after three tags.
    let mut other = forged.clone();
    other[12..14].copy_from_slice(&[0x12, 0x34]);
    let mut version = with_tags(&forged, 1);
    version[18] = 0x40;
    for frame in [other, version, with_tags(&forged, 3)] {
        assert_eq!(egress(&programs, &frame, 0), (PASS, frame));
    }
    // If the node adds a label, the frame keeps both tags, and the neighbour reads the node's tag.
    let (_, sent) = egress(&programs, &forged, VALID | 5);
    assert_eq!(ingress(&programs, &sent), (PASS, VALID | 5, forged));
    assert_eq!(programs.ingress_stats().unwrap().stripped, 1);
}

/// Returns true if the frame has an incomplete IP header, so that the kernel would not run a program on it.
fn is_half_ip(frame: &[u8]) -> bool {
    frame.len() < 14
        || matches!(frame[12..14], [0x08, 0x00]) && frame.len() < 34
        || matches!(frame[12..14], [0x86, 0xdd]) && frame.len() < 54
}

/// Receives a frame from a neighbour that writes labels. Returns verdict, mark and frame.
type Receive = fn(&Programs, &[u8]) -> (i32, u32, Vec<u8>);

/// Passes mutated frames through a link and an edge. A labelled frame must arrive as it was before.
fn mutated_frames_survive(carrier: &str, receive: Receive, seeds: &[Vec<u8>], alphabet: &[u8]) {
    let (link, edge) = (link(carrier), edge(carrier));
    let mut rng = Rng::stream(3, 0, carrier, 0);
    let (mut labelled, mut passed) = (0, 0);
    for i in 0..100_000usize {
        let mut frame = seeds[i % seeds.len()].clone();
        // Mutate headers more often than payloads.
        let tail = frame.split_off(frame.len().min(80));
        mutate(&mut rng, &mut frame, alphabet);
        frame.extend(tail);
        if is_half_ip(&frame) {
            continue;
        }
        let mark = random_mark(&mut rng);
        let (verdict, sent) = egress(&link, &frame, mark);
        if verdict == PASS && sent != frame {
            assert_eq!(receive(&link, &sent), (PASS, mark, frame.clone()), "{i}");
            labelled += 1;
        }
        // The frame comes from a host. After the edge no neighbour reads a label in it.
        let (verdict, mark, after) = ingress(&edge, &frame);
        if verdict == PASS {
            assert_eq!(mark & 0xff00_0000, VALID, "{i}");
            assert_eq!(receive(&link, &after).1, 0, "{i}: {after:?}");
            passed += 1;
        }
        // The frame comes from a neighbour that writes arbitrary bytes.
        let (verdict, mark, _) = receive(&link, &frame);
        assert!(verdict == DROP || mark == 0 || mark & 0xff80_0000 == VALID, "{i}: {mark:#x}");
    }
    assert!(labelled > 10_000 && passed > 50_000, "{labelled} {passed}");
}

#[test]
fn mutated_frames_with_options_are_labelled_or_left_alone() {
    skip_unless_possible!();
    let mut seeds = carriers_of_options();
    seeds.push(ipv6_with(0, &[17, 1, 0x1e, 4, 0xfa, 1, 2, 3, 1, 0, 1, 4, 0, 0, 0, 0], &[9; 60]));
    seeds.push(with_tags(&ipv6_with(0, &LABEL, &[9; 60]), 1));
    let alphabet = [0, 1, 4, 17, 0x1e, 0x3e, 58, 60, 0x86, 0xdd, 0x81, 0x88, 0xa8, 0xfa];
    mutated_frames_survive("ipv6_option", ingress, &seeds, &alphabet);
}

fn unwrapped(programs: &Programs, frame: &[u8]) -> (i32, u32, Vec<u8>) {
    let after = programs.unwrap(frame).unwrap();
    (PASS, after.label, after.frame)
}

/// Returns the frame with a shim as nodes write it: a header with the label after the Ethernet addresses.
fn with_shim(frame: &[u8]) -> Vec<u8> {
    [&frame[..12], &[0x88, 0xb5, 0xfa, 0x10, 0x20, 0x30, 0, 0], &frame[12..]].concat()
}

/// Returns one frame of each kind. Nodes can add a shim to all of them.
fn carriers_of_shims() -> Vec<Vec<u8>> {
    vec![
        ipv4([10, 0, 0, 1], 0, 1500),
        ipv6([0xfd; 16], 0, 1500),
        ipv6_with(58, &[], &[135, 0, 0, 0, 0, 0, 0, 0]),
        [crate::common::ethernet(0x0806), vec![7; 46]].concat(),
        crate::common::ethernet(0x1234),
        with_tags(&ipv4([10, 0, 0, 1], 0, 100), 1),
    ]
}

#[test]
fn labels_travel_in_a_shim_bit_for_bit_and_leave_the_packet_as_it_was() {
    skip_unless_possible!();
    let programs = link("shim");
    let mut rng = Rng::stream(1, 0, "shim", 0);
    for frame in carriers_of_shims() {
        for _ in 0..200 {
            let mark = random_mark(&mut rng);
            let (verdict, labelled) = egress(&programs, &frame, mark);
            let mut shim = vec![0x88, 0xb5];
            shim.extend(mark.to_be_bytes());
            shim.extend([0, 0]);
            assert_eq!((verdict, &labelled), (PASS, &[&frame[..12], &shim, &frame[12..]].concat()));
            assert_eq!(unwrapped(&programs, &labelled), (PASS, mark, frame.clone()));
        }
        // Without a shim, 0 replaces the label that an earlier link left in the mark.
        assert_eq!(unwrapped(&programs, &frame), (PASS, 0, frame));
    }
}

#[test]
fn shims_that_are_none_end_at_the_node() {
    skip_unless_possible!();
    let programs = link("shim");
    let right = with_shim(&ipv4([10, 0, 0, 1], 0, 100));
    assert_eq!(unwrapped(&programs, &right).1, VALID | 0x0010_2030);
    let mut refused = 0;
    let mut ends = |frame: &[u8]| {
        assert_eq!(unwrapped(&programs, frame), (PASS, 0, frame.to_vec()), "{frame:?}");
        assert_eq!(ingress(&programs, frame).0, DROP, "{frame:?}");
        refused += 1;
        assert_eq!(programs.ingress_stats().unwrap().refused, refused);
    };
    // The shims have a wrong upper byte of the label, wrong data after the label, or are truncated before the end of
    // the next ethertype.
    for (at, byte) in [(14, 0xfb), (14, 0), (18, 1), (19, 1)] {
        let mut wrong = right.clone();
        wrong[at] = byte;
        ends(&wrong);
    }
    for length in 14..22 {
        ends(&right[..length]);
    }
    // Of two shims, the second stays.
    let (_, label, after) = unwrapped(&programs, &with_shim(&right));
    assert_eq!((label, &after), (VALID | 0x0010_2030, &right));
    assert_eq!(ingress(&programs, &after).0, DROP);
}

#[test]
fn shims_of_hosts_end_at_the_edge_and_at_links_that_carry_labels() {
    skip_unless_possible!();
    let (edge, link) = (edge("shim"), link("shim"));
    let forged = with_shim(&ipv4([10, 0, 0, 1], 0, 100));
    // The forged frame, complete and truncated.
    for frame in [&forged[..], &forged[..14]] {
        assert_eq!(ingress(&edge, frame).0, DROP, "{frame:?}");
    }
    let stats = edge.ingress_stats().unwrap();
    assert_eq!((stats.refused, stats.metered), (2, 0));
    // No node reads a shim after a tag, and the tag stays.
    let tagged = [&forged[..12], &[0x88, 0xa8, 0, 1], &forged[12..]].concat();
    assert_eq!(ingress(&edge, &tagged).0, PASS);
    assert_eq!(edge.ingress_stats().unwrap().not_ip, 1);
    // The frame comes from a port without metering, so the node has no label for it. It drops the frame, because the
    // neighbour would read the forged label.
    assert_eq!(egress(&link, &forged, 0).0, DROP);
    assert_eq!(egress(&link, &forged[..20], 0).0, DROP);
    assert_eq!(link.ingress_stats().unwrap().refused, 2);
    let plain = ipv4([10, 0, 0, 1], 0, 100);
    assert_eq!(egress(&link, &plain, 0), (PASS, plain));
}

#[test]
fn mutated_frames_with_shims_are_labelled_or_left_alone() {
    skip_unless_possible!();
    let mut seeds = carriers_of_shims();
    seeds.extend([with_shim(&ipv4([10, 0, 0, 1], 0, 100)), with_shim(&with_shim(&crate::common::ethernet(0x0806)))]);
    let alphabet = [0, 8, 6, 0x81, 0x88, 0xa8, 0xb5, 0xfa, 0x86, 0xdd];
    mutated_frames_survive("shim", unwrapped, &seeds, &alphabet);
}
