//! Tests forged source addresses: which users they harm, and what the sender gains.
#![cfg(feature = "ebpf")]

use crate::common::{LOOPBACK, config, ipv4, label_of, replayed_later};
use crate::lab::{Lab, port, user};
use fairlane_node::config::Who;
use fairlane_node::kernel::Programs;
use fairlane_node::records::UserKey;
use serde_json::json;

const VICTIM: [u8; 4] = [10, 0, 0, 7];

/// A PPPoE session (RFC 2516 4) around an IP packet.
fn in_session(frame: &[u8], session: u16) -> Vec<u8> {
    let [length, session] = [(frame.len() - 14 + 2) as u16, session].map(u16::to_be_bytes);
    [&frame[..12], &[0x88, 0x64, 0x11, 0], &session, &length, &[0, 0x21], &frame[14..]].concat()
}

/// Adds S and C tags to a frame.
fn behind_tags(frame: &[u8], service: u8, customer: u8) -> Vec<u8> {
    [&frame[..12], &[0x88, 0xa8, 0, service, 0x81, 0, 0, customer], &frame[12..]].concat()
}

fn meter(programs: &Programs, frame: &[u8]) -> u32 {
    label_of(programs.run("fairlane_ingress", frame, LOOPBACK, 0, 1).unwrap().mark)
}

fn packets(programs: &Programs, who: Who) -> u64 {
    programs.user_state(&UserKey::of(&who)).unwrap().unwrap().packets
}

#[test]
fn a_user_known_by_its_line_pays_for_what_it_sends_in_the_name_of_others() {
    skip_unless_possible!();
    let users = json!([
        {"name": "victim", "prefix": "10.0.0.7", "pppoe_session": 7},
        {"name": "in a session", "pppoe_session": 9},
        {"name": "behind tags", "s_vlan": 100, "c_vlan": 2},
    ]);
    let programs = replayed_later(&config(&json!({}), &json!({"users": users})));
    let forged = ipv4(VICTIM, 0, 100);
    for _ in 0..5 {
        meter(&programs, &in_session(&forged, 9));
        meter(&programs, &behind_tags(&forged, 100, 2));
    }
    let victim = || packets(&programs, Who::Prefix("10.0.0.7".parse().unwrap()));
    assert_eq!((packets(&programs, Who::Session(9)), packets(&programs, Who::Tags(100, 2)), victim()), (5, 5, 0));
    // The victim's own packets are attributed to the victim, with any source address.
    meter(&programs, &in_session(&ipv4([192, 0, 2, 1], 0, 100), 7));
    assert_eq!(victim(), 1);
    // If a user is identified only by an address, any host at a metered port can add to its meter.
    meter(&programs, &forged);
    assert_eq!(victim(), 2);
}

#[test]
fn many_addresses_within_a_prefix_gain_nothing() {
    skip_unless_possible!();
    let labels = |meter_of: &str, addresses: u8| -> Vec<u32> {
        let users = json!([{"prefix": "10.0.0.0/24", "meter_of": meter_of}]);
        let programs = replayed_later(&config(&json!({}), &json!({"users": users})));
        (0..200).map(|i| meter(&programs, &ipv4([10, 0, 0, i % addresses], 0, 1000))).collect()
    };
    assert_eq!(labels("prefix", 200), labels("prefix", 1));
    // With per-address meters, each forged packet is the first of its address and gets the low label of a first packet.
    // So users that can forge addresses of a prefix must share one meter for the prefix.
    let (all, one) = (labels("address", 200), labels("address", 1));
    assert!(all.iter().all(|label| *label == one[0]));
    // A label grows with log2 of the number of equal packets, in units of 2^-16. All packets arrive at once, so nothing
    // decays.
    let rise = f64::from(one[199] - one[0]) / 65536.0;
    assert!((rise - 200f64.log2()).abs() < 1e-3, "{rise}");
}

#[test]
fn a_forged_source_is_metered_before_reverse_path_filtering_drops_it() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config(
        "n",
        "[[users]]\nname = \"victim\"\nprefix = \"10.77.0.7\"\n[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
         [[ports]]\ninterface = \"out0\"\nqueue = { scheme = \"abc\" }\n",
    );
    lab.node_ok("n", "attach", &config);
    let forge = || {
        lab.python(
            "c",
            "import socket,struct\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('c0',0))\n\
             ip=struct.pack('!BBHHHBBH4s4s',0x45,0,48,0,0,64,17,0,bytes([10,77,0,7]),bytes([10,2,0,2]))\n\
             c=sum(struct.unpack('!10H',ip));c=(c&0xffff)+(c>>16)\nip=ip[:10]+struct.pack('!H',~c&0xffff)+ip[12:]\n\
             for _ in range(9): s.send(bytes.fromhex('02000a01000102000a0100020800')+ip+bytes(28))",
        );
        let status = lab.status("n", &config);
        (port(&status, "out0")["accepted"].clone(), user(&status, "10.77.0.7").unwrap()["packets"].clone())
    };
    assert_eq!(forge(), (9.into(), 9.into()));
    // There is no route back to the forged address, so no packet leaves. The victim's meter counts the packets
    // nevertheless.
    lab.run("n", "sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.in0.rp_filter=1");
    assert_eq!(forge(), (9.into(), 18.into()));
    lab.node_ok("n", "detach", &config);
}
