//! Passes hostile packets to the kernel programs one by one.
#![cfg(feature = "ebpf")]

use crate::common::{LOOPBACK, PASS, START_NS, config, ipv4, ipv6, label_of, replayed, replayed_later, through};
use fairlane_node::config::{MarkMatch, Who};
use fairlane_node::kernel::Programs;
use fairlane_node::records::{Kind, ReplayInput, UserKey};
use fairlane_schemes::base::rng::Rng;
use serde_json::json;

const VALID: u32 = 0xfa00_0000;

fn node() -> Programs {
    replayed_later(&config(&json!({}), &json!({"default_user": {"meter_of": "address"}})))
}

fn key(address: [u8; 4]) -> UserKey {
    let mut mapped = [0; 16];
    mapped[10..12].fill(0xff);
    mapped[12..].copy_from_slice(&address);
    UserKey::new(mapped, 128, Kind::Address)
}

fn packets(programs: &Programs, key: &UserKey) -> u64 {
    programs.user_state(key).unwrap().map_or(0, |user| user.packets)
}

/// Runs the ingress program on a frame with this mark, then the egress program with the resulting mark. Both must pass
/// the frame. Returns the mark after ingress.
fn pass(programs: &Programs, frame: &[u8], mark: u32) -> u32 {
    let (metered, sent) = through(programs, frame, mark);
    assert_eq!((metered.verdict, sent.verdict), (PASS, PASS));
    metered.mark
}

fn tagged(frame: &[u8], tags: &[[u8; 4]]) -> Vec<u8> {
    [&frame[..12], tags.concat().as_slice(), &frame[12..]].concat()
}

/// Returns true if a frame looks like IP. The kernel does not run a program on an incomplete IP header.
fn is_ip(frame: &[u8]) -> bool {
    matches!(frame[12..14], [0x08, 0x00] | [0x86, 0xdd])
}

#[test]
fn frames_cut_off_anywhere_are_unparsed_until_their_header_is_whole() {
    skip_unless_possible!();
    let programs = node();
    let source = [10, 0, 0, 1];
    for (whole, header) in [(ipv4(source, 0, 100), 18 + 20), (ipv6([0xfd; 16], 0, 100), 18 + 40)] {
        // Tests frames with a tag, since the kernel does not run a program on an untagged frame with an incomplete IP
        // header. `live.rs` tests untagged frames.
        let whole = tagged(&whole, &[[0x81, 0, 0, 1]]);
        for length in 14..whole.len() {
            let before = packets(&programs, &UserKey::UNPARSED);
            let mark = pass(&programs, &whole[..length], 0);
            assert_eq!(mark & 0xff00_0000, VALID, "{length}");
            let is_unparsed = packets(&programs, &UserKey::UNPARSED) > before;
            assert_eq!(is_unparsed, length < header, "{length} of {}", whole.len());
        }
    }
}

#[test]
fn headers_that_contradict_themselves_are_unparsed_and_counted() {
    skip_unless_possible!();
    let programs = node();
    let right = ipv4([10, 0, 0, 1], 0, 100);
    // Each pair is an offset and a byte: IP versions 0, 5, 6 and 15, and header lengths of 0 and 4 words.
    for (at, byte) in [(14, 0x05), (14, 0x55), (14, 0x65), (14, 0xf5), (14, 0x40), (14, 0x44)] {
        let mut wrong = right.clone();
        wrong[at] = byte;
        let before = packets(&programs, &UserKey::UNPARSED);
        pass(&programs, &wrong, 0);
        assert_eq!(packets(&programs, &UserKey::UNPARSED), before + 1, "{byte:#x}");
    }
    assert_eq!(packets(&programs, &key([10, 0, 0, 1])), 0);
    // An IPv4 packet with the ethertype of IPv6, and the reverse.
    for ethertype in [[0x86, 0xdd], [0x08, 0x00]] {
        let mut wrong = if ethertype == [0x86, 0xdd] { right.clone() } else { ipv6([0xfd; 16], 0, 100) };
        wrong[12..14].copy_from_slice(&ethertype);
        let before = packets(&programs, &UserKey::UNPARSED);
        pass(&programs, &wrong, 0);
        assert_eq!(packets(&programs, &UserKey::UNPARSED), before + 1);
    }
    assert_eq!(programs.ingress_stats().unwrap().malformed, 8);
}

#[test]
fn lengths_that_lie_do_not_move_the_meter() {
    skip_unless_possible!();
    // The meter uses the actual length of the packet, not its length field.
    let (honest, lying) = (node(), node());
    let frame = ipv4([10, 0, 0, 1], 0, 1000);
    let mut small = frame.clone();
    small[16..18].copy_from_slice(&20u16.to_be_bytes());
    assert_eq!(pass(&honest, &frame, 0), pass(&lying, &small, 0));
}

#[test]
fn fragments_count_for_their_source() {
    skip_unless_possible!();
    let programs = node();
    // The fragments are the first, a middle one, the last, and one that would end beyond 65535. Only the first has
    // ports.
    for field in [0x2000u16, 0x2010, 0x0020, 0x3fff] {
        let mut fragment = ipv4([10, 0, 0, 1], 0, 100);
        fragment[20..22].copy_from_slice(&field.to_be_bytes());
        pass(&programs, &fragment, 0);
    }
    assert_eq!(packets(&programs, &key([10, 0, 0, 1])), 4);
}

#[test]
fn vlan_stacks_up_to_two_are_looked_through_and_higher_ones_are_unparsed() {
    skip_unless_possible!();
    let frame = ipv4([10, 0, 0, 1], 0, 1000);
    let plain = pass(&node(), &frame, 0);
    let tags = [[0x81, 0, 0, 1], [0x88, 0xa8, 0xff, 0xff], [0x81, 0, 0xff, 0xff]];
    for depth in 1..=3 {
        let programs = node();
        let mark = pass(&programs, &tagged(&frame, &tags[..depth]), 0);
        let is_seen = depth <= 2;
        assert_eq!(packets(&programs, &key([10, 0, 0, 1])), u64::from(is_seen), "{depth}");
        // Tags do not count as bytes of the user and are never labels, not even an 802.1ad tag with all bits set.
        if is_seen {
            assert_eq!(mark, plain, "{depth}");
        }
        assert_eq!(packets(&programs, &UserKey::UNPARSED), u64::from(!is_seen), "{depth}");
        assert_eq!(programs.ingress_stats().unwrap().too_many_tags, u64::from(!is_seen), "{depth}");
    }
    // The frame ends with a tag.
    let programs = node();
    pass(&programs, &tagged(&frame, &tags[..1])[..16], 0);
    assert_eq!(packets(&programs, &UserKey::UNPARSED), 1);
}

#[test]
fn frames_other_than_ip_are_unparsed_and_counted_by_their_reason() {
    skip_unless_possible!();
    let programs = node();
    for ethertype in [0x0806, 0x88a8, 0x8100, 0x8847, 0x8848, 0x8863, 0x8864, 0x0000, 0x05dc, 0xffff] {
        let mut frame = crate::common::ethernet(ethertype);
        frame.resize(64, 0xff);
        pass(&programs, &frame, 0);
    }
    // These frames belong to no user, not even to the default user.
    assert_eq!((packets(&programs, &UserKey::UNPARSED), packets(&programs, &UserKey::DEFAULT)), (10, 0));
    let stats = programs.ingress_stats().unwrap();
    // All bytes after the ethertype are 0xff. After a VLAN tag, the next ethertype is thus 0xffff. An MPLS label has
    // the bottom-of-stack bit, and the packet after it has IP version 15.
    assert_eq!((stats.not_ip, stats.mpls_not_ip, stats.pppoe_not_ip, stats.malformed), (6, 2, 2, 0));
}

#[test]
fn forged_marks_and_tags_never_change_a_decision() {
    skip_unless_possible!();
    let (honest, forged) = (node(), node());
    let mut rng = Rng::stream(1, 0, "hostile", 0);
    let mut drops = 0;
    for i in 0..2000u64 {
        let now_ns = START_NS + i * 1_000_000;
        let input = ReplayInput { now_ns, packets: (rng.bits() % 30) as u32, ..Default::default() };
        let frame = ipv4([10, 0, 0, (rng.bits() % 5) as u8], 0, 40 + (rng.bits() % 1400) as u16);
        let tag = (0x88a8_0000 | (rng.bits() as u32 & 0xffff)).to_be_bytes();
        let mut verdicts = Vec::new();
        let mark = VALID | (rng.bits() as u32 & 0x7f_ffff);
        for (programs, frame, mark) in [(&honest, frame.clone(), 0), (&forged, tagged(&frame, &[tag]), mark)] {
            programs.set_replay(&input).unwrap();
            let (metered, sent) = through(programs, &frame, mark);
            verdicts.push((metered.mark, sent.verdict));
        }
        assert_eq!(verdicts[0], verdicts[1], "{i}");
        drops += u32::from(verdicts[0].1 != PASS);
    }
    // Queues have 0 to 29 packets. Drops begin at a queue of 12 or of 20 packets, so between a third and six tenths of
    // the packets are dropped.
    assert!((600..1300).contains(&drops), "{drops}");
}

#[test]
fn a_full_table_puts_new_addresses_on_an_account_that_is_nobody_elses() {
    skip_unless_possible!();
    const LIMIT: u32 = 50;
    let tables = json!({"default_user": {"meter_of": "address"}, "users_table": {"limit": LIMIT}});
    let programs = replayed_later(&config(&json!({}), &tables));
    for i in 0..200u8 {
        let mark = pass(&programs, &ipv4([10, 0, 1, i], 0, 100), 0);
        assert_eq!(mark & 0xff00_0000, VALID, "{i}");
    }
    assert_eq!(programs.keys("addresses").len() as u32, LIMIT);
    assert_eq!(packets(&programs, &UserKey::OVERFLOW), u64::from(200 - LIMIT));
    assert_eq!(packets(&programs, &UserKey::DEFAULT), 0);
    // The only port may use all meters of the table, so the port's part is full when the table is full.
    assert_eq!(programs.ingress_stats().unwrap().port_full, u64::from(200 - LIMIT));
    // Users that were already in the table keep their own meters.
    assert_eq!(packets(&programs, &key([10, 0, 1, 0])), 1);
    pass(&programs, &ipv4([10, 0, 1, 0], 0, 100), 0);
    assert_eq!(packets(&programs, &key([10, 0, 1, 0])), 2);
}

#[test]
fn random_bytes_are_labelled_and_never_crash() {
    skip_unless_possible!();
    let programs = node();
    let mut rng = Rng::stream(1, 0, "noise", 0);
    for i in 0..20_000u32 {
        let length = 14 + (rng.bits() % 120) as usize;
        let mut frame: Vec<u8> = (0..length).map(|_| rng.bits() as u8).collect();
        // Mostly plausible ethertypes, so that the parser gets further.
        let ethertype =
            [[0x08, 0x00], [0x86, 0xdd], [0x81, 0x00], [0x88, 0xa8]].get((rng.bits() % 5) as usize).copied();
        if let Some(ethertype) = ethertype {
            frame[12..14].copy_from_slice(&ethertype);
        }
        let frame =
            if rng.bits().is_multiple_of(2) || is_ip(&frame) { tagged(&frame, &[[0x81, 0, 0, 1]]) } else { frame };
        let metered = programs.run("fairlane_ingress", &frame, LOOPBACK, rng.bits() as u32, 1).unwrap();
        assert_eq!((metered.verdict, label_of(metered.mark) & 0xff00_0000), (PASS, VALID), "{i}: {frame:?}");
    }
    assert_eq!(programs.ingress_stats().unwrap().refused, 0);
}

#[test]
fn users_by_mark_count_before_those_by_vlan_and_these_before_prefixes() {
    skip_unless_possible!();
    let users = json!([{"prefix": "10.0.0.0/24"}, {"vlan": 7}, {"mark": "0x10/0xff"}, {"mark": "0x110/0x1ff"}]);
    let programs = replayed_later(&config(&json!({}), &json!({"users": users})));
    let mark = |value, mask| UserKey::of(&Who::Mark(MarkMatch { value, mask }));
    let (vlan, prefix) = (UserKey::of(&Who::Vlan(7)), UserKey::of(&Who::Prefix("10.0.0.0/24".parse().unwrap())));
    let plain = ipv4([10, 0, 0, 1], 0, 100);
    let other = ipv4([192, 0, 2, 1], 0, 100);
    let tag = |first: u8, second: u8| tagged(&plain, &[[0x81, 0, first, second]]);
    let cases = [
        (plain.clone(), 0, prefix),
        (other.clone(), 0, UserKey::DEFAULT),
        (tag(0, 7), 0, vlan),
        // The bits of priority and DEI are not part of the VLAN number. VLANs 0, 8 and 4095 are unknown.
        (tag(0xf0, 7), 0, vlan),
        (tag(0, 0), 0, prefix),
        (tag(0, 8), 0, prefix),
        (tag(0x0f, 0xff), 0, prefix),
        // The outer of two tags applies. The tag of a label and a tag after an unknown protocol are ignored.
        (tagged(&plain, &[[0x81, 0, 0, 7], [0x81, 0, 0, 8]]), 0, vlan),
        (tagged(&plain, &[[0x81, 0, 0, 8], [0x81, 0, 0, 7]]), 0, prefix),
        (tagged(&plain, &[[0x88, 0xa8, 0, 7]]), 0, prefix),
        (tagged(&plain, &[[0x88, 0xa8, 0, 9], [0x81, 0, 0, 7]]), 0, vlan),
        // The first matching mark applies, so the second never does. A forged label is treated as an ordinary mark.
        (tag(0, 7), 0x10, mark(0x10, 0xff)),
        (other.clone(), 0x110, mark(0x10, 0xff)),
        (other.clone(), VALID | 0x11, UserKey::DEFAULT),
        (other, VALID | 0x10, mark(0x10, 0xff)),
    ];
    for (i, (frame, mark, key)) in cases.iter().enumerate() {
        let before = packets(&programs, key);
        assert_eq!(pass(&programs, frame, *mark) & 0xff00_0000, VALID, "{i}");
        assert_eq!(packets(&programs, key), before + 1, "{i}");
    }
    assert_eq!(packets(&programs, &mark(0x110, 0x1ff)), 0);
    // The frame is truncated within the tag, so no VLAN matches.
    let before = packets(&programs, &UserKey::UNPARSED);
    pass(&programs, &tag(0, 7)[..16], 0);
    assert_eq!(packets(&programs, &UserKey::UNPARSED), before + 1);
}

#[test]
fn forged_labels_never_change_a_decision_of_csfq() {
    skip_unless_possible!();
    let port = json!({"queue": {"scheme": "csfq"}, "rate": "10 Mbit/s"});
    let tables = json!({"marker": {"scheme": "csfq"}, "default_user": {"meter_of": "address"}});
    let (honest, forged) = (replayed(&config(&port, &tables)), replayed(&config(&port, &tables)));
    let mut rng = Rng::stream(2, 0, "hostile", 0);
    let mut drops = 0;
    for i in 0..4000u64 {
        let (now_ns, packets, random) = (START_NS + i * 500_000, (rng.bits() % 30) as u32, rng.bits() as u32);
        let frame = ipv4([10, 0, 0, (rng.bits() % 5) as u8], 0, 1500);
        let tag = (0x88a8_0000 | (rng.bits() as u32 & 0xffff)).to_be_bytes();
        let mark = VALID | (rng.bits() as u32 & 0x7f_ffff);
        let mut verdicts = Vec::new();
        for (programs, received, mark) in [(&honest, frame.clone(), 0), (&forged, tagged(&frame, &[tag]), mark)] {
            programs.set_replay(&ReplayInput { now_ns, packets, random, ..Default::default() }).unwrap();
            let metered = programs.run("fairlane_ingress", &received, LOOPBACK, mark, 1).unwrap();
            // The egress program gets the frame without the tag, since CSFQ counts the bytes of the frame.
            let sent = programs.run("fairlane_egress", &frame, LOOPBACK, metered.mark, 1).unwrap();
            verdicts.push((label_of(metered.mark), label_of(sent.mark), sent.verdict));
        }
        assert_eq!(verdicts[0], verdicts[1], "{i}");
        drops += u32::from(verdicts[0].2 != PASS);
    }
    // 24 Mbit/s are offered to a link of 10 Mbit/s. Once the fair rate is estimated, 58 % of the packets are dropped.
    assert!((1000..3500).contains(&drops), "{drops}");
}
