//! Tests invariants of the kernel data plane: control traffic, marks of other programs, reported drops, byte counts.
#![cfg(feature = "ebpf")]

use crate::lab::{Lab, TWO_PORTS, port, user};
use serde_json::Value as Json;

/// Sends numbered UDP packets of class CS6, at least two milliseconds apart.
fn send_control(lab: &Lab, from: &str, first: u32, count: u32) {
    lab.python(
        from,
        &format!(
            "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
             s.setsockopt(socket.IPPROTO_IP,socket.IP_TOS,0xc0)\n\
             for i in range({first},{first}+{count}): s.sendto(i.to_bytes(4,'big')+bytes(96),('10.2.0.2',10)); \
             time.sleep(.002)"
        ),
    );
}

#[test]
fn no_control_packet_is_lost_under_a_flood_of_twice_the_link() {
    skip_unless_live!();
    let lab = Lab::one_node();
    // Adds a router next to the node, behind a port without congestion.
    lab.run("n", "ip link add peer0 type veth peer name peer1");
    let other = Lab::new(&["r"]);
    lab.run("n", &format!("ip link set peer1 netns {}", other.netns_path("r")));
    lab.run("n", "ip addr add 10.4.0.1/24 dev peer0");
    lab.run("n", "ip link set peer0 up");
    other.run("r", "ip link set peer1 up");
    other.run("r", "ip addr add 10.4.0.2/24 dev peer1");
    other.run("r", "ip route add default via 10.4.0.1");
    lab.run("n", "tc qdisc add dev out0 root handle 1: tbf rate 10mbit burst 3000 limit 1000000");
    let config = lab.config("n", TWO_PORTS);
    lab.node_ok("n", "attach", &config);
    // The flood is marked CS6 too.
    let mut flood = lab.start_python(
        "c",
        "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
         s.setsockopt(socket.IPPROTO_IP,socket.IP_TOS,0xc0)\n\
         start=time.monotonic(); sent=0; print('ready',flush=True)\n\
         while True:\n due=(time.monotonic()-start)*20e6/8/1442\n \
         while sent<due: s.sendto(bytes(1400),('10.2.0.2',9)); sent+=1\n time.sleep(.001)",
    );
    while port(&lab.status("n", &config), "out0")["dropped"] == 0 {}
    let mut receiver = lab.start_python(
        "s",
        "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind(('10.2.0.2',10))\n\
         s.setsockopt(socket.SOL_SOCKET,33,1<<23)\ns.settimeout(8)\nprint('ready',flush=True)\n\
         got=set()\nwhile len(got)<2000: got.add(s.recv(200)[:4])",
    );
    // Pings of a host make the node send echo replies at 4 Mbit/s. These are not control traffic.
    let mut echo = lab.start_python(
        "s",
        "import socket,struct,time\ns=socket.socket(socket.AF_INET,socket.SOCK_RAW,1)\np=bytes(1400)\n\
         s.setsockopt(socket.IPPROTO_IP,socket.IP_TOS,0xc0)\nprint('ready',flush=True)\n\
         while True: s.sendto(struct.pack('>BBHI',8,0,0xf7ff,0)+p,('10.2.0.1',0)); time.sleep(.0028)",
    );
    send_control(&lab, "n", 0, 1000);
    send_control(&other, "r", 1000, 1000);
    let has_all = receiver.wait().unwrap().success();
    // Ending `timeout` also ends the sender.
    for sender in [&mut flood, &mut echo] {
        rustix::process::kill_process(rustix::process::Pid::from_child(sender), rustix::process::Signal::TERM).unwrap();
        sender.wait().unwrap();
    }
    let status = lab.status("n", &config);
    assert!(has_all, "{status}");
    let out = port(&status, "out0");
    // These counts do not include ARP between the node and its neighbour.
    assert_eq!((&out["control"], &out["control_excess"]), (&Json::from(2000), &Json::from(0)), "{status}");
    // The subscriber lost about half of its packets.
    let flooder = user(&status, "default").unwrap();
    assert!(flooder["dropped"].as_u64().unwrap() * 4 > flooder["packets"].as_u64().unwrap(), "{status}");
    lab.node_ok("n", "detach", &config);
}

#[test]
fn control_traffic_passes_up_to_its_rate_only() {
    skip_unless_live!();
    let lab = Lab::one_node();
    lab.run("n", "tc qdisc add dev out0 root handle 1: tbf rate 1kbit burst 1600 limit 1000000");
    let with_rate = |rate: &str| {
        format!(
            "[[ports]]\ninterface = \"out0\"\ncontrol_rate = \"{rate}\"\n\
             queue = {{ scheme = \"abc\", limit = \"24 packets\" }}\n"
        )
    };
    let config = lab.config("n", &with_rate("8 kbit/s"));
    lab.node_ok("n", "attach", &config);
    // In one burst, the node itself may send the control traffic of two seconds: 2000 bytes, or 14 packets of 142
    // bytes. The rate allows some more during the test.
    lab.send("n", "10.2.0.2", 100, 100, 0xc0);
    let status = lab.status("n", &config);
    let out = port(&status, "out0");
    let (control, excess) = (out["control"].as_u64().unwrap(), out["control_excess"].as_u64().unwrap());
    assert!(control >= 14 && excess > 0 && control + excess == 100, "{status}");
    // Control packets above the rate are treated like other packets. The queue has room for 24 of them, or for a few
    // more if some have already been sent.
    assert!(out["dropped"].as_u64().unwrap() + out["overlimit"].as_u64().unwrap() > 0, "{status}");
    let config = lab.config("n", &with_rate("0 bit/s"));
    lab.node_ok("n", "attach", &config);
    lab.send("n", "10.2.0.2", 100, 10, 0xc0);
    let after = lab.status("n", &config);
    let seen = |key: &str| port(&after, "out0")[key].as_u64().unwrap();
    assert_eq!((seen("control"), seen("control_excess")), (control, excess));
    lab.node_ok("n", "detach", &config);
}

#[test]
fn control_traffic_of_others_leaves_half_of_the_burst_to_the_node() {
    skip_unless_live!();
    let lab = Lab::one_node();
    lab.run("n", "tc qdisc add dev out0 root handle 1: tbf rate 1kbit burst 1600 limit 1000000");
    let config = lab.config(
        "n",
        "[[ports]]\ninterface = \"out0\"\ncontrol_rate = \"8 kbit/s\"\n\
         queue = { scheme = \"abc\", limit = \"24 packets\" }\n",
    );
    lab.node_ok("n", "attach", &config);
    let control = || port(&lab.status("n", &config), "out0")["control"].as_u64().unwrap();
    // Other hosts may send 1000 bytes in one burst, 7 packets of 142 bytes. The rate allows some more during the test.
    let begin = std::time::Instant::now();
    lab.send("c", "10.2.0.2", 100, 100, 0xc0);
    let (of_others, most) = (control(), 7 + begin.elapsed().as_millis() as u64 / 142 + 1);
    assert!((7..=most).contains(&of_others), "{of_others} of at most {most}");
    lab.send("n", "10.2.0.2", 100, 100, 0xc0);
    assert!(control() >= of_others + 7, "{} after {of_others}", control());
    lab.node_ok("n", "detach", &config);
}

#[test]
fn cs6_of_hosts_behind_a_link_with_options_is_no_control_traffic() {
    skip_unless_live!();
    let lab = Lab::two_nodes();
    let carried = |ports: &str| ports.replace("CARRIER", "carrier = \"ipv6_option\"");
    let edge = "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n[[ports]]\ninterface = \"mid0\"\nCARRIER\n";
    let core = "[[ports]]\ninterface = \"mid1\"\narrivals = \"trusted\"\nCARRIER\n\
                [[ports]]\ninterface = \"out1\"\nqueue = { scheme = \"abc\" }\n";
    let (edge, core) = (lab.config("a", &carried(edge)), lab.config("b", &carried(core)));
    lab.node_ok("b", "attach", &core);
    lab.node_ok("a", "attach", &edge);
    // Labels are in an IPv6 option, so these IPv4 packets arrive without a label.
    lab.send("c", "10.2.0.2", 100, 10, 0xc0);
    let status = lab.status("b", &core);
    let out = port(&status, "out1");
    assert_eq!((&out["unlabelled"], &out["control"]), (&Json::from(10), &Json::from(0)), "{status}");
    lab.node_ok("a", "detach", &edge);
    lab.node_ok("b", "detach", &core);
}

#[test]
fn policy_routing_by_low_bits_of_the_mark_loses_nothing() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    lab.node_ok("n", "attach", &config);
    lab.run("n", "ip route add blackhole default table 100");
    for bit in 0..16 {
        lab.run("n", &format!("ip rule add fwmark {:#x}/{:#x} lookup 100", 1 << bit, 1 << bit));
    }
    // Every packet has a different label.
    lab.send("c", "10.2.0.2", 100, 200, 0);
    let status = lab.status("n", &config);
    assert_eq!(user(&status, "default").unwrap()["packets"], 200);
    assert_eq!(port(&status, "out0")["accepted"], 200);
    assert_eq!(port(&status, "out0")["unlabelled"], 0);
    lab.node_ok("n", "detach", &config);
}

#[test]
fn every_drop_is_in_a_report_also_where_nobody_is_metered() {
    skip_unless_live!();
    let lab = Lab::two_nodes();
    let edge = lab.config(
        "a",
        "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n[[ports]]\ninterface = \"mid0\"\n\
         carrier = \"802.1ad\"\n",
    );
    lab.run("b", "tc qdisc add dev out1 root handle 1: tbf rate 1kbit burst 1600 limit 1000000");
    for users in ["[default_user]\nmeter_of = \"address\"\n", "[[users]]\nprefix = \"10.1.0.0/24\"\n"] {
        let core = lab.config(
            "b",
            &format!(
                "{users}[[ports]]\ninterface = \"mid1\"\narrivals = \"trusted\"\ncarrier = \"802.1ad\"\n\
                 [[ports]]\ninterface = \"out1\"\nqueue = {{ scheme = \"abc\" }}\n"
            ),
        );
        lab.node_ok("b", "attach", &core);
        lab.node_ok("a", "attach", &edge);
        lab.send("c", "10.2.0.2", 1400, 100, 0);
        let status = lab.status("b", &core);
        let out = port(&status, "out1");
        let dropped = out["dropped"].as_u64().unwrap() + out["overlimit"].as_u64().unwrap();
        assert!(dropped > 50, "{status}");
        let of_users = status["users"].as_array().unwrap().iter().map(|user| user["dropped"].as_u64().unwrap());
        assert_eq!(of_users.sum::<u64>(), dropped, "{status}");
        assert_eq!(status["dropped"], serde_json::json!({"ports": dropped, "users": dropped}));
        let text = lab.node_ok("b", "status", &core);
        assert!(text.contains(&format!("\ndropped: ports {dropped}, users {dropped}\n")), "{text}");
        lab.node_ok("a", "detach", &edge);
        lab.node_ok("b", "detach", &core);
    }
}

#[test]
fn aggregated_packets_count_as_those_on_the_wire() {
    skip_unless_live!();
    const BYTES: u64 = 4_000_000;
    let lab = Lab::one_node();
    lab.wire6(("c", "c0", "fd01::2"), ("n", "in0", "fd01::1"));
    lab.wire6(("n", "out0", "fd02::1"), ("s", "s0", "fd02::2"));
    lab.routes(&[("c", "default via fd01::1"), ("s", "default via fd02::1")]);
    let users = "[[users]]\nprefix = [\"10.1.0.0/24\"]\n[[users]]\nprefix = [\"fd01::/64\"]\n";
    let config = lab.config("n", &format!("{users}{TWO_PORTS}"));
    // A packet has an IP header and a TCP header with time stamps. A SYN has 8 more bytes of options.
    for (to, who, ip, key) in [("10.2.0.2", "10.1.0.0/24", 20, "AF_INET"), ("fd02::2", "fd01::/64", 40, "AF_INET6")] {
        lab.node_ok("n", "attach", &config);
        let mut receiver = lab.start_python(
            "s",
            &format!(
                "import socket\nl=socket.create_server(('{to}',9),family=socket.{key})\nl.settimeout(18)\n\
                 print('ready',flush=True)\nc=l.accept()[0]\nn=0\nwhile True:\n d=c.recv(1<<20)\n if not d: break\n \
                 n+=len(d)\n\
                 assert n=={BYTES}"
            ),
        );
        lab.python(
            "c",
            &format!("import socket\ns=socket.create_connection(('{to}',9))\ns.sendall(bytes({BYTES}))\ns.close()"),
        );
        assert!(receiver.wait().unwrap().success());
        let of = |object: &Json, key: &str| object[key].as_u64().unwrap();
        let status = lab.status("n", &config);
        let metered = user(&status, who).unwrap();
        let (packets, bytes) = (of(metered, "packets"), of(metered, "bytes"));
        let received: Json = serde_json::from_str(&lab.run("n", "ip -j -s link show in0")).unwrap();
        let came = received[0]["stats64"]["rx"]["packets"].as_u64().unwrap();
        // TCP segments have at most 1448 bytes; many of them arrived together in one GSO packet.
        assert!(packets > BYTES / 1448 && packets > 2 * came, "{packets} {came} {status}");
        // Retransmissions count again, for example of a first SYN while the neighbour is resolved.
        let payload = bytes - packets * (ip + 32);
        assert!((BYTES + 8..BYTES + BYTES / 100).contains(&payload), "{payload} {status}");
        let out = port(&status, "out0");
        // The node's own packets, such as multicast listener reports, have no label. Packets to the node, such as the
        // client's neighbour discovery, do not leave it. The last acknowledgement may not have left yet.
        let own = of(out, "unlabelled");
        let (accepted, accepted_bytes) = (of(out, "accepted") - own, of(out, "accepted_bytes"));
        assert!(accepted <= packets && accepted + 8 >= packets, "{packets} {status}");
        assert!(accepted_bytes <= bytes + 14 * packets + 1514 * own, "{bytes} {status}");
        assert!(accepted_bytes + 8 * 100 >= bytes + 14 * packets, "{bytes} {status}");
        lab.node_ok("n", "detach", &config);
    }
}

#[test]
fn check_names_who_uses_the_bits_of_labels() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    let findings = || String::from_utf8(lab.node("n", "check", &config).stdout).unwrap();
    lab.run("n", "ip rule add priority 7 fwmark 0x1/0x1 lookup 100");
    let text = findings();
    assert!(!text.contains("marks"), "{text}");
    lab.run("n", "ip rule add priority 8 fwmark 0x10000/0x30000 lookup 100");
    lab.run("n", "ip -6 rule add priority 9 fwmark 0x5 lookup 100");
    let filter = "tc filter add dev out0 egress prio 3 protocol ip u32 match mark 0x20000 0xf0000 flowid 1:1";
    lab.run("n", "tc qdisc add dev out0 clsact");
    lab.run("n", filter);
    // A kernel without the match on marks accepts the filter but omits the match.
    let has_filter = lab.run("n", "tc filter show dev out0 egress").contains("mark 0x");
    let has_nft = std::process::Command::new("nft").arg("-v").output().is_ok();
    if has_nft {
        lab.run("n", "nft add table inet t");
        lab.run("n", "nft add chain inet t c { type filter hook prerouting priority -150; }");
        lab.run("n", "nft add rule inet t c meta mark set ct mark");
    }
    let text = findings();
    let expected = [
        ("ip rule 8: fwmark 0x10000/0x30000: uses the bits 0x30000 of marks", true),
        ("ip -6 rule 9: fwmark 0x5/0xffffffff: uses the bits 0xffff0000 of marks", true),
        ("tc filter of out0, egress: mark 0x", has_filter),
        ("nftables rule inet t c handle 2: uses the bits 0xffff0000 of marks", has_nft),
    ];
    for (finding, is_there) in expected {
        assert_eq!(text.contains(finding), is_there, "{finding}: {text}");
    }
    // With this mask, rule 7 uses a bit of labels, and rule 8 does not.
    lab.run("n", "ip -6 rule del priority 9");
    let masked = format!("mark_mask = \"0x0000ffff\"\n{TWO_PORTS}");
    let other = lab.config("n", &masked);
    let text = String::from_utf8(lab.node("n", "check", &other).stdout).unwrap();
    assert!(text.contains("ip rule 7") && !text.contains("ip rule 8"), "{text}");
    // While programs run, the change is rejected, since the programs would misread the marks of packets in flight.
    lab.node_ok("n", "attach", &lab.config("n", TWO_PORTS));
    let other = lab.config("n", &masked);
    let refused = lab.node("n", "attach", &other);
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        "error: node.mark_mask: changed from 0xffff0000 to 0x0000ffff, which needs a detach first\n"
    );
    lab.node_ok("n", "detach", &config);
}
