//! Tests subscribers with several prefixes, VLAN tags or PPPoE sessions, metered as sources or as destinations. Also
//! tests which slots of the table they get.
#![cfg(feature = "ebpf")]

use crate::common::{LOOPBACK, PASS, START_NS, config, ethernet, ipv4, ipv6, label_of, replayed, replayed_later};
use fairlane_node::config::{UserIs, Who};
use fairlane_node::kernel::Programs;
use fairlane_node::records::{ReplayInput, UserKey};
use serde_json::{Value as Json, json};

fn prefix(text: &str) -> UserKey {
    UserKey::of(&Who::Prefix(text.parse().unwrap()))
}

fn packets(programs: &Programs, key: &UserKey) -> u64 {
    programs.user_state(key).unwrap().map_or(0, |user| user.packets)
}

fn node(port: &Json, changes: &Json) -> Programs {
    replayed_later(&config(port, changes))
}

fn meter(programs: &Programs, frame: &[u8]) -> u32 {
    let metered = programs.run("fairlane_ingress", frame, LOOPBACK, 0, 1).unwrap();
    assert_eq!(metered.verdict, PASS);
    label_of(metered.mark)
}

/// Returns a frame with other headers: its Ethernet addresses, then `between`, then its IP packet.
fn behind(frame: &[u8], between: &[&[u8]]) -> Vec<u8> {
    [&frame[..12], &between.concat(), &frame[14..]].concat()
}

#[test]
fn several_prefixes_of_both_families_share_one_meter() {
    skip_unless_possible!();
    let users = json!([{"name": "house", "prefix": ["10.0.0.7", "10.9.0.0/24", "2001:db8:7::/48"]}]);
    let (shared, single) = (node(&json!({}), &json!({"users": users})), node(&json!({}), &json!({"users": users})));
    let mut v6 = [0; 16];
    v6[..6].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0, 7]);
    let frames = [ipv4([10, 0, 0, 7], 0, 1000), ipv4([10, 9, 0, 200], 0, 1000), ipv6(v6, 0, 1000)];
    // Three packets from three addresses have the same labels as three packets from one address.
    let labels = frames.each_ref().map(|frame| meter(&shared, frame));
    assert_eq!(labels, [(); 3].map(|()| meter(&single, &frames[0])));
    let user = shared.user_state(&prefix("10.0.0.7")).unwrap().unwrap();
    assert_eq!((user.packets, user.bytes), (3, 3000));
    assert_eq!(packets(&shared, &UserKey::DEFAULT), 0);
}

#[test]
fn a_port_meters_who_receives_if_it_says_so() {
    skip_unless_possible!();
    // All IPv4 frames have the destination 10.255.0.1, all IPv6 frames fdfd:...
    let users = json!([{"prefix": "10.255.0.0/16"}, {"prefix": ["10.0.0.0/24", "fd00::/8"]}]);
    let download = node(&json!({"user_is": "destination"}), &json!({"users": users}));
    meter(&download, &ipv4([10, 0, 0, 1], 0, 100));
    meter(&download, &ipv4([192, 0, 2, 1], 0, 100));
    meter(&download, &ipv6([0x20; 16], 0, 100));
    let received = |text| prefix(text).as_a(UserIs::Destination);
    assert_eq!(packets(&download, &received("10.255.0.0/16")), 2);
    assert_eq!(packets(&download, &received("10.0.0.0/24")), 1);
    // Meters for packets from a subscriber are separate from meters for packets to this subscriber.
    assert_eq!(packets(&download, &prefix("10.255.0.0/16")) + packets(&download, &prefix("10.0.0.0/24")), 0);
    assert_eq!(received("10.0.0.0/24").to_string(), "to 10.0.0.0/24");
    // Per-address meters.
    let each = json!({"default_user": {"meter_of": "address"}});
    let download = node(&json!({"user_is": "destination"}), &each);
    meter(&download, &ipv4([10, 0, 0, 1], 0, 100));
    assert_eq!(packets(&download, &prefix("10.255.0.1").as_a(UserIs::Destination)), 1);
    assert_eq!(packets(&download, &prefix("10.0.0.1")), 0);
}

#[test]
fn ip_is_found_behind_tags_pppoe_and_mpls() {
    skip_unless_possible!();
    // Each way has its own users, whose meters are new.
    const PLAIN: u8 = 9;
    let prefix_of = [|way: u8| format!("10.0.{way}.0/24"), |way: u8| format!("fd{way:02x}::/16")];
    let users: Vec<Json> = prefix_of.iter().flat_map(|of| (0..=PLAIN).map(|way| json!({"prefix": of(way)}))).collect();
    let programs = node(&json!({}), &json!({"users": users}));
    let plain_of = |family: usize, way: u8| match family {
        0 => ipv4([10, 0, way, 1], 0, 1000),
        _ => ipv6([&[0xfd, way][..], &[0xfd; 14]].concat().try_into().unwrap(), 0, 1000),
    };
    let tag = |ethertype: u16, number: u16| [ethertype.to_be_bytes(), number.to_be_bytes()].concat();
    let (c, s, q) = (tag(0x8100, 7), tag(0x88a8, 9), tag(0x9100, 9));
    for family in 0..2 {
        let plain = plain_of(family, PLAIN);
        let kind = plain[12..14].to_vec();
        let ppp: [u8; 2] = [[0x00, 0x21], [0x00, 0x57]][family];
        let session = [&[0x88, 0x64, 0x11, 0, 0, 42, 3, 232][..], &ppp].concat();
        let label = |last: u8| [0, 1, 0x10 | last, 64];
        let ways: [Vec<Vec<u8>>; PLAIN as usize] = [
            vec![c.clone(), kind.clone()],
            vec![s.clone(), c.clone(), kind.clone()],
            vec![c.clone(), c.clone(), kind.clone()],
            vec![q.clone(), c.clone(), kind.clone()],
            vec![session.clone()],
            vec![s.clone(), c.clone(), session.clone()],
            vec![vec![0x88, 0x47], label(1).to_vec()],
            vec![vec![0x88, 0x47], label(0).to_vec(), label(0).to_vec(), label(0).to_vec(), label(1).to_vec()],
            vec![s.clone(), vec![0x88, 0x47], label(0).to_vec(), label(1).to_vec()],
        ];
        let expected = meter(&programs, &plain);
        for (number, way) in (0..).zip(ways) {
            let parts: Vec<&[u8]> = way.iter().map(Vec::as_slice).collect();
            let whole = behind(&plain_of(family, number), &parts);
            let unparsed = packets(&programs, &UserKey::UNPARSED);
            // Headers below IP do not count as bytes of the user, so the label equals that of the plain packet.
            assert_eq!(meter(&programs, &whole), expected, "{way:x?}");
            // Truncated anywhere before the end of the IP header, a packet belongs to no user, and no byte beyond its
            // end is read.
            let header = whole.len() - 1000 + if family == 0 { 20 } else { 40 };
            for length in 14..header {
                // The kernel accepts such a test frame because it does not begin with the ethertype of IP. After that
                // ethertype it would reject an incomplete IP header.
                meter(&programs, &whole[..length]);
            }
            assert_eq!(packets(&programs, &prefix(&prefix_of[family](number))), 1, "{way:x?}");
            assert_eq!(packets(&programs, &UserKey::UNPARSED), unparsed + header as u64 - 14, "{way:x?}");
        }
        assert_eq!(packets(&programs, &UserKey::DEFAULT), 0);
    }
    // The parser skips at most four MPLS labels, and a control packet of PPP is not IP.
    let programs = node(&json!({}), &json!({"users": users}));
    let plain = plain_of(0, PLAIN);
    let deep = behind(&plain, &[&[0x88, 0x47], &[0, 1, 0, 64].repeat(4), &[0, 1, 1, 64]]);
    meter(&programs, &deep);
    meter(&programs, &behind(&plain, &[&[0x88, 0x64, 0x11, 0, 0, 42, 0, 10, 0xc0, 0x21]]));
    let stats = programs.ingress_stats().unwrap();
    assert_eq!((stats.mpls_not_ip, stats.pppoe_not_ip), (1, 1));
    assert_eq!(packets(&programs, &UserKey::UNPARSED), 2);
}

#[test]
fn users_by_session_and_tags_come_before_prefixes_and_the_more_exact_first() {
    skip_unless_possible!();
    let users = json!([
        {"prefix": "10.0.0.0/24"},
        {"vlan": 7},
        {"s_vlan": 9},
        {"s_vlan": 9, "c_vlan": 7},
        {"pppoe_session": 42},
    ]);
    let programs = node(&json!({}), &json!({"users": users}));
    let (by_prefix, by_vlan) = (prefix("10.0.0.0/24"), UserKey::of(&Who::Vlan(7)));
    let (service, tags) = (UserKey::of(&Who::Service(9)), UserKey::of(&Who::Tags(9, 7)));
    let session = UserKey::of(&Who::Session(42));
    let frame = ipv4([10, 0, 0, 1], 0, 100);
    let tag = |ethertype: u16, number: u16| [ethertype.to_be_bytes(), number.to_be_bytes()].concat();
    let ip: &[u8] = &[8, 0];
    let pppoe =
        |session: u8, protocol: u16| [&[0x88, 0x64, 0x11, 0, 0, session, 0, 102][..], &protocol.to_be_bytes()].concat();
    let cases: [(Vec<Vec<u8>>, UserKey); 9] = [
        (vec![tag(0x88a8, 9), tag(0x8100, 7), ip.to_vec()], tags),
        // The outer tag may also be 802.1Q or 0x9100, the predecessor of 802.1ad.
        (vec![tag(0x8100, 9), tag(0x8100, 7), ip.to_vec()], tags),
        (vec![tag(0x9100, 9), tag(0x8100, 7), ip.to_vec()], tags),
        (vec![tag(0x88a8, 9), tag(0x8100, 8), ip.to_vec()], service),
        (vec![tag(0x88a8, 9), ip.to_vec()], service),
        (vec![tag(0x8100, 7), ip.to_vec()], by_vlan),
        (vec![tag(0x8100, 9), ip.to_vec()], by_prefix),
        (vec![tag(0x88a8, 9), tag(0x8100, 7), pppoe(42, 0x21)], session),
        // Control packets of a session also belong to its user.
        (vec![pppoe(42, 0xc021)], session),
    ];
    for (i, (way, key)) in cases.iter().enumerate() {
        let before = packets(&programs, key);
        let parts: Vec<&[u8]> = way.iter().map(Vec::as_slice).collect();
        meter(&programs, &behind(&frame, &parts));
        assert_eq!(packets(&programs, key), before + 1, "{i}");
    }
    assert_eq!(tags.to_string(), "s_vlan 9 c_vlan 7");
}

#[test]
fn addresses_never_take_the_places_of_configured_users() {
    skip_unless_possible!();
    const LIMIT: u32 = 20;
    let late =
        json!([{"prefix": "10.0.1.0/24"}, {"prefix": "172.16.0.0/12", "meter_of": "address", "address_limit": 5}]);
    let tables = json!({"default_user": {"meter_of": "address"}, "users_table": {"limit": LIMIT}, "users": late});
    let programs = node(&json!({}), &tables);
    // A user with many addresses takes its maximum number of slots; the other slots remain free.
    for i in 0..10 {
        meter(&programs, &ipv4([172, 16, 0, i], 0, 100));
    }
    assert_eq!(programs.ingress_stats().unwrap().user_full, 5);
    // Unknown addresses fill the table.
    for i in 0..100 {
        meter(&programs, &ipv4([192, 0, 2, i], 0, 100));
    }
    assert_eq!(programs.keys("addresses").len() as u32, LIMIT);
    assert_eq!(packets(&programs, &UserKey::OVERFLOW), 5 + 100 - u64::from(LIMIT - 5));
    // A subscriber that has not sent before still has its meter, and its label is that of a first packet.
    let label = meter(&programs, &ipv4([10, 0, 1, 1], 0, 100));
    assert_eq!(label, meter(&node(&json!({}), &tables), &ipv4([10, 0, 1, 1], 0, 100)));
    assert_eq!(packets(&programs, &prefix("10.0.1.0/24")), 1);
    assert_eq!(packets(&programs, &UserKey::DEFAULT), 0);
}

#[test]
fn a_port_takes_no_more_places_than_it_may() {
    skip_unless_possible!();
    let each = json!({"default_user": {"meter_of": "address"}});
    let programs = node(&json!({"address_limit": 7}), &each);
    for i in 0..20 {
        meter(&programs, &ipv4([10, 0, 0, i], 0, 100));
    }
    let stats = programs.ingress_stats().unwrap();
    assert_eq!((stats.port_full, stats.user_full, stats.no_room), (13, 0, 0));
    assert_eq!(programs.keys("addresses").len(), 7);
}

#[test]
fn tags_of_others_stay_where_they_are() {
    skip_unless_possible!();
    for carrier in ["none", "802.1ad"] {
        let programs = node(&json!({"carrier": carrier, "far_end": "reads"}), &json!({}));
        let frame = behind(&ipv4([10, 0, 0, 1], 0, 100), &[&[0x88, 0xa8, 0, 100], &[0x81, 0, 0, 7], &[8, 0]]);
        let (metered, after) = programs.pass("fairlane_ingress", &frame, LOOPBACK, 0).unwrap();
        assert_eq!((metered.verdict, &after), (PASS, &frame));
        assert_eq!(programs.ingress_stats().unwrap().stripped, 0);
        // On a link that carries labels in tags, the kernel stores the label's tag outside the frame data, and sends it
        // before the frame's own tags. `live.rs` tests this.
        for mark in [metered.mark, 0] {
            let (sent, after) = programs.pass("fairlane_egress", &frame, LOOPBACK, mark).unwrap();
            assert_eq!((sent.verdict, &after), (PASS, &frame), "{carrier} {mark:#x}");
        }
    }
}

#[test]
fn drops_count_for_the_user_that_was_metered() {
    skip_unless_possible!();
    let users = json!([{"prefix": "10.0.0.0/24"}]);
    let programs = node(&json!({"user_is": "source"}), &json!({"users": users}));
    programs
        .set_replay(&ReplayInput { now_ns: START_NS + 6_000_000_000, packets: 1000, ..Default::default() })
        .unwrap();
    let frame = ipv4([10, 0, 0, 1], 0, 100);
    let label = meter(&programs, &frame);
    assert_eq!(programs.run("fairlane_egress", &frame, LOOPBACK, label, 1).unwrap().verdict, crate::common::DROP);
    assert_eq!(programs.user_state(&prefix("10.0.0.0/24")).unwrap().unwrap().dropped, 1);
    // The meter for packets without a user counts this frame.
    let mut other = ethernet(0x88b6);
    other.resize(64, 0);
    programs.run("fairlane_egress", &other, LOOPBACK, 0, 1).unwrap();
    assert_eq!(programs.user_state(&UserKey::UNPARSED).unwrap().unwrap().dropped, 1);
}

#[test]
fn a_reload_keeps_the_places_of_users_and_frees_those_of_others() {
    skip_unless_possible!();
    let with = |users: &Json| config(&json!({}), &json!({"users": users, "users_table": {"configured": 3}}));
    let first = with(&json!([{"prefix": "10.0.0.0/24"}, {"prefix": ["10.0.1.0/24", "10.0.2.0/24"]}, {"vlan": 7}]));
    let programs = replayed(&first);
    programs.set_replay(&ReplayInput { now_ns: START_NS + 5_000_000_000, ..Default::default() }).unwrap();
    meter(&programs, &ipv4([10, 0, 2, 1], 0, 100));
    // One user is removed. One loses the prefix that identified it and gets another. One is added.
    let next = with(&json!([{"prefix": ["10.0.3.0/24", "10.0.2.0/24"]}, {"vlan": 7}, {"s_vlan": 9}]));
    fairlane_node::kernel::configure(&programs, &next, &[LOOPBACK], START_NS).unwrap();
    meter(&programs, &ipv4([10, 0, 3, 1], 0, 100));
    assert_eq!(packets(&programs, &prefix("10.0.3.0/24")), 2);
    for gone in ["10.0.0.0/24", "10.0.1.0/24"] {
        assert_eq!(programs.user_state(&prefix(gone)).unwrap(), None);
    }
    for address in [[10, 0, 1, 1], [10, 0, 0, 1]] {
        meter(&programs, &ipv4(address, 0, 100));
    }
    assert_eq!(packets(&programs, &UserKey::DEFAULT), 2);
    // All three slots change owners at once.
    let others = json!([{"vlan": 1}, {"vlan": 2}, {"tunnel": 3}]);
    fairlane_node::kernel::configure(&programs, &with(&others), &[LOOPBACK], START_NS).unwrap();
    assert_eq!(programs.user_state(&prefix("10.0.3.0/24")).unwrap(), None);
    assert!(programs.user_state(&UserKey::of(&Who::Tunnel(3))).unwrap().is_some());
}
