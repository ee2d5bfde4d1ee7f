//! Tests the kernel data plane in network namespaces: backlog, life cycle, carriers, classes.
#![cfg(feature = "ebpf")]

use crate::lab::{Lab, TWO_PORTS, assert_same_labels, average_activity, port, user};
use libbpf_rs::{MapCore, MapHandle, MapType};
use serde_json::Value as Json;
use std::path::Path;
use std::process::Command;

/// Sends 28 packets one by one into a TBF that passes only the first. The queue length that the AQM used for each
/// packet must equal the backlog that tc reports.
///
/// A payload of 1400 bytes makes a frame of 1442 bytes. The burst of the TBF, 1600 bytes, passes one frame. For the
/// second frame 1284 bytes of tokens are missing, which take two minutes at 80 bit/s.
fn backlog_equals_that_of_tc(thresholds: &str, key: &str, units_per: i64) {
    let lab = Lab::one_node();
    lab.run("n", "tc qdisc add dev out0 root handle 1: tbf rate 80bit burst 1600 limit 100000");
    lab.run("n", "tc qdisc add dev out0 parent 1: pfifo limit 24");
    let config =
        lab.config("n", &format!("[[ports]]\ninterface = \"out0\"\n[ports.queue]\nscheme = \"abc\"\n{thresholds}"));
    lab.node_ok("n", "attach", &config);
    for sent in 0..28 {
        let before = lab.qdisc("n", "out0")[key].as_i64().unwrap();
        lab.send("n", "10.2.0.2", 1400, 1, 0);
        let status = lab.status("n", &config);
        let seen = port(&status, "out0")["queue_units"].as_i64().unwrap();
        assert_eq!(seen, before * units_per, "packet {sent}");
        assert_eq!(port(&status, "out0")["accepted"], sent + 1);
    }
    // One packet passed, 24 are queued, and 3 were dropped at the full queue.
    let qdisc = lab.qdisc("n", "out0");
    assert_eq!((&qdisc["qlen"], &qdisc["drops"]), (&Json::from(24), &Json::from(3)));
    lab.node_ok("n", "detach", &config);
}

#[test]
fn backlog_in_packets_equals_that_of_tc() {
    skip_unless_live!();
    let thresholds = "q_min = \"900 packets\"\nq_base = \"900 packets\"\n";
    backlog_equals_that_of_tc(thresholds, "qlen", 16);
}

#[test]
fn backlog_in_bytes_equals_that_of_tc() {
    skip_unless_live!();
    let thresholds = "q_min = \"900 kB\"\nq_base = \"900 kB\"\ngamma = \"1 kB\"\n";
    backlog_equals_that_of_tc(thresholds, "backlog", 1);
}

#[test]
fn the_more_active_user_loses_at_a_full_queue() {
    skip_unless_live!();
    let lab = Lab::one_node();
    lab.run("c", "ip addr add 10.1.0.3/24 dev c0");
    lab.run("n", "ip neigh add 10.1.0.3 lladdr 02:00:0a:01:00:02 dev in0 nud permanent");
    lab.run("n", "tc qdisc add dev out0 root handle 1: tbf rate 1kbit burst 1600 limit 100000");
    let ports = "[default_user]\nmeter_of = \"address\"\n[[ports]]\ninterface = \"in0\"\n\
                 arrivals = \"meter\"\n[[ports]]\n\
                 interface = \"out0\"\n[ports.queue]\nscheme = \"abc\"\nq_min = \"12 packets\"\n";
    let config = lab.config("n", ports);
    lab.node_ok("n", "attach", &config);
    // 60 packets come from one address, then one from another. The average activity results from the first address's
    // packets, and its own activity is only slightly higher. The queue stays below the threshold of the second address,
    // which is at least 20 + gamma.
    lab.send("c", "10.2.0.2", 1400, 60, 0);
    let other = "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind(('10.1.0.3',0))\n\
                 s.sendto(bytes(1400),('10.2.0.2',9))";
    lab.python("c", other);
    let status = lab.status("n", &config);
    let (heavy, light) = (user(&status, "10.1.0.2").unwrap(), user(&status, "10.1.0.3").unwrap());
    assert_eq!((&heavy["packets"], &light["packets"]), (&Json::from(60), &Json::from(1)));
    assert_eq!(light["dropped"], 0, "{status}");
    let out = port(&status, "out0");
    assert_eq!(heavy["dropped"], out["dropped"], "{status}");
    // All packets are dropped except one that passed and at most Q_base = 20 that are queued.
    assert!(heavy["dropped"].as_u64().unwrap() >= 60 - 21, "{status}");
    lab.node_ok("n", "detach", &config);
}

#[test]
fn detach_leaves_the_machine_as_it_was() {
    skip_unless_live!();
    let lab = Lab::one_node();
    // Another program has created a clsact qdisc with a filter at `in0`, but none at `out0`.
    lab.run("n", "tc qdisc add dev in0 clsact");
    lab.run("n", "tc filter add dev in0 ingress prio 7 protocol ip u32 match ip src 192.0.2.1/32 flowid 1:1");
    let before = lab.traces("n");
    for hook in ["auto", "clsact", "auto"] {
        let config = lab.config("n", &format!("hook = \"{hook}\"\n{TWO_PORTS}"));
        assert_eq!(lab.node_ok("n", "attach", &config), "attached: 2 ports\n");
        assert_ne!(lab.traces("n"), before);
        assert_eq!(lab.node_ok("n", "attach", &config), "reloaded: 2 ports\n");
        assert_eq!(lab.node_ok("n", "detach", &config), "detached: 2 ports\n");
        assert_eq!(lab.traces("n"), before);
    }
    let config = lab.config("n", TWO_PORTS);
    assert_eq!(lab.node_ok("n", "detach", &config), "detached: 0 ports\n");
    // After a configuration error, no program or pin remains.
    let wrong = lab.config("w", "[[ports]]\ninterface = \"nowhere0\"\nqueue = { scheme = \"abc\" }\n");
    let output = lab.node("n", "attach", &wrong);
    assert!(!output.status.success());
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: ports: none of \"nowhere0\" is in this network namespace\n"
    );
    assert_eq!(lab.traces("n"), before);
}

#[test]
fn detach_leaves_what_others_added_to_a_qdisc_that_attach_made() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let before = lab.traces("n");
    let config = lab.config("n", &format!("hook = \"clsact\"\n{TWO_PORTS}"));
    let foreign = "tc filter add dev out0 egress prio 7 protocol ip u32 match ip src 192.0.2.1/32 flowid 1:1";
    lab.node_ok("n", "attach", &config);
    lab.run("n", foreign);
    lab.node_ok("n", "detach", &config);
    // The foreign filter and the qdisc of `out0` remain. The qdisc of `in0` is removed, since no other program used it.
    assert!(lab.run("n", "tc filter show dev out0 egress").contains("u32"));
    assert!(!lab.run("n", "tc filter show dev out0 egress").contains("bpf"));
    assert!(!lab.run("n", "tc qdisc show dev in0").contains("clsact"));
    // Now the qdisc of `out0` belongs to the other program, although the node created it.
    lab.node_ok("n", "attach", &config);
    lab.node_ok("n", "detach", &config);
    assert!(lab.run("n", "tc filter show dev out0 egress").contains("u32"));
    lab.run("n", "tc qdisc del dev out0 clsact");
    assert_eq!(lab.traces("n"), before);
}

/// Replaces a pinned map by one with shorter records, as if from an earlier build. Returns the replaced map.
fn put_earlier_map(pin: &Path) -> MapHandle {
    let own = MapHandle::from_pinned_path(pin).unwrap();
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let (key, value) = (own.key_size(), own.value_size() - 8);
    let mut earlier =
        MapHandle::create(MapType::Array, Some("earlier"), key, value, own.max_entries(), &options).unwrap();
    std::fs::remove_file(pin).unwrap();
    earlier.pin(pin).unwrap();
    own
}

#[test]
fn maps_of_an_earlier_build_are_refused_with_the_way_out_and_work_on() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    lab.node_ok("n", "attach", &config);
    for name in ["config", "port_states", "ports"] {
        let pin = lab.pins_of("n").join(name);
        let mut own = put_earlier_map(&pin);
        let refused = lab.node("n", "attach", &config);
        let way_out = format!("map {name}: its records are those of another version; detach with that version first\n");
        assert_eq!(String::from_utf8_lossy(&refused.stderr), format!("error: {way_out}"));
        assert_eq!(refused.status.code(), Some(1));
        let check = lab.node("n", "check", &config);
        assert!(String::from_utf8_lossy(&check.stdout).contains(way_out.trim_end()), "{check:?}");
        // The running node continues with its maps.
        lab.send("n", "10.2.0.2", 1400, 1, 0);
        std::fs::remove_file(&pin).unwrap();
        own.pin(&pin).unwrap();
    }
    assert_eq!(port(&lab.status("n", &config), "out0")["accepted"], 3);
    assert_eq!(lab.node_ok("n", "attach", &config), "reloaded: 2 ports\n");
    lab.node_ok("n", "detach", &config);
    assert_eq!(lab.pins(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_reload_changes_the_hook_and_goes_on_counting() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = |hook: &str| lab.config("n", &format!("hook = \"{hook}\"\n{TWO_PORTS}"));
    let mut sent = 0;
    for hook in ["clsact", "auto", "clsact", "auto"] {
        lab.node_ok("n", "attach", &config(hook));
        let has_filter = lab.run("n", "tc filter show dev in0 ingress").contains("bpf");
        assert_eq!(has_filter, hook == "clsact", "{hook}");
        lab.send("c", "10.2.0.2", 100, 10, 0);
        sent += 10;
        // Each packet is counted once, not by both hooks.
        assert_eq!(lab.status("n", &config(hook))["ingress"]["metered"], sent, "{hook}");
    }
    assert!(!lab.run("n", "tc qdisc show dev in0").contains("clsact"));
    lab.node_ok("n", "detach", &config("auto"));
}

#[test]
fn a_port_that_is_made_anew_is_attached_again() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    lab.node_ok("n", "attach", &config);
    let link = lab.run("n", "ip -o link show in0");
    let index = link.split(':').next().unwrap();
    lab.run("n", "ip link del in0");
    // The new interface has the index of the old one, whose link is still pinned under that index.
    lab.run("n", &format!("ip link add in0 index {index} type veth peer name x0"));
    lab.node_ok("n", "attach", &config);
    lab.run("n", "ip link set in0 up");
    lab.run("n", "ip link set x0 up");
    let frames = "import socket\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('x0',0))\n\
                  for _ in range(5): s.send(bytes(60))";
    let metered = || lab.status("n", &config)["ingress"]["metered"].as_u64().unwrap();
    let counted = metered();
    lab.python("n", frames);
    assert!(metered() >= counted + 5);
    lab.node_ok("n", "detach", &config);
}

#[test]
fn two_at_once_are_told_apart() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    lab.node_ok("n", "attach", &config);
    let folder = lab.pins()[0].clone();
    let held = std::fs::File::open(&folder).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let busy = format!(
        "error: node.pin_path: {}: another attach or detach is at work there; try again when it is done\n",
        folder.display()
    );
    for verb in ["attach", "detach"] {
        let output = lab.node("n", verb, &config);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), busy);
        assert!(!output.status.success());
    }
    // `status` changes nothing.
    assert_eq!(lab.status("n", &config)["ports"].as_array().unwrap().len(), 2);
    drop(held);
    // Runs several commands at once. Each command succeeds, or reports that another command is running. The final state
    // is consistent.
    let before = lab.traces("n");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let output = lab.node("n", "attach", &config);
                let error = String::from_utf8(output.stderr).unwrap();
                assert!(output.status.success() || error == busy, "{error}");
            });
        }
    });
    assert_eq!(lab.traces("n"), before);
    lab.node_ok("n", "detach", &config);
    assert!(lab.pins().is_empty());
}

#[test]
fn a_reload_keeps_meters_and_loses_no_packet() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let text = |rate: &str, ports: &str| {
        let users = format!("[[users]]\nname = \"client\"\nprefix = \"10.1.0.0/24\"\nreference_rate = \"{rate}\"\n");
        format!("{users}[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n{ports}")
    };
    let out = "[[ports]]\ninterface = \"out0\"\nqueue = { scheme = \"abc\" }\n";
    let config = lab.config("n", &text("10 kbit/s", out));
    lab.node_ok("n", "attach", &config);
    // SO_RCVBUFFORCE: the buffer has room for all packets, even if the receiver is late.
    let mut receiver = lab.start_python(
        "s",
        "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind(('10.2.0.2',9))\n\
         s.setsockopt(socket.SOL_SOCKET,33,1<<23)\ns.settimeout(15)\nprint('ready',flush=True)\n\
         for _ in range(4000): s.recv(2000)",
    );
    // 4000 packets are sent over at least two seconds, while the configuration changes ten times.
    let mut sender = lab
        .command("c", "python3")
        .arg("-c")
        .arg(
            "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
             for i in range(4000):\n s.sendto(bytes(100),('10.2.0.2',9))\n if i%20==0: time.sleep(0.01)",
        )
        .spawn()
        .unwrap();
    let mut last = 0;
    for turn in 0..10 {
        let rate = if turn % 2 == 0 { "20 kbit/s" } else { "10 kbit/s" };
        let config = lab.config("n", &text(rate, out));
        assert_eq!(lab.node_ok("n", "attach", &config), "reloaded: 2 ports\n");
        let packets =
            user(&lab.status("n", &config), "10.1.0.0/24").map_or(0, |user| user["packets"].as_u64().unwrap());
        assert!(packets >= last, "{packets} after {last}");
        last = packets;
    }
    assert!(sender.wait().unwrap().success());
    assert!(receiver.wait().unwrap().success(), "packets were lost");
    let status = lab.status("n", &config);
    assert_eq!(user(&status, "10.1.0.0/24").unwrap()["packets"], 4000);
    // Multiplying the reference rate by 1024 lowers the activity by 10. The packet sent between the two readings raises
    // the activity by at most one. Decay between the readings only lowers the activity.
    let activity = |status: &Json| user(status, "10.1.0.0/24").unwrap()["activity"].as_f64().unwrap();
    // The user's last label may be based on an earlier reference rate, because the sender may have ended before the
    // last reload. So one more packet is sent.
    lab.send("c", "10.2.0.2", 100, 1, 0);
    let before = activity(&lab.status("n", &config));
    lab.node_ok("n", "attach", &lab.config("n", &text("10240 kbit/s", out)));
    lab.send("c", "10.2.0.2", 100, 1, 0);
    let difference = before - activity(&lab.status("n", &config));
    assert!(difference > 8.95, "{difference}");
    // A port that is no longer in the configuration is detached.
    let folder = lab.pins()[0].clone();
    let is_link = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("link-");
    let links = || std::fs::read_dir(&folder).unwrap().flatten().filter(is_link).count();
    assert_eq!(links(), 2);
    lab.node_ok("n", "attach", &lab.config("n", &text("10 kbit/s", "")));
    assert_eq!(lab.status("n", &config)["ports"].as_array().unwrap().len(), 1);
    assert_eq!(links(), 1);
    // `marker.memory` cannot change while meters run.
    let other = lab.config("n", &(String::from("[marker]\nmemory = \"1 s\"\n") + &text("10 kbit/s", "")));
    let output = lab.node("n", "attach", &other);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: marker.memory: changed from 3000 ms to 1 s, which needs a detach first\n"
    );
    lab.node_ok("n", "detach", &config);
}

#[test]
fn labels_travel_in_a_tag_and_forged_ones_are_none() {
    skip_unless_live!();
    let lab = Lab::two_nodes();
    let edge = lab.config(
        "a",
        "[default_user]\ntraffic_class = \"dscp\"\n[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
         [[ports]]\ninterface = \"mid0\"\nqueue = { scheme = \"abc\" }\ncarrier = \"802.1ad\"\nfar_end = \"reads\"\n",
    );
    let core = lab.config(
        "b",
        "[[ports]]\ninterface = \"mid1\"\narrivals = \"trusted\"\ncarrier = \"802.1ad\"\n\
         [[ports]]\ninterface = \"out1\"\nqdisc_class_ef = \"1:10\"\nqdisc_class_be = \"1:20\"\n\
         queue = { scheme = \"abc\", q_min = \"900 packets\" }\n",
    );
    // At the server's side, adds an HTB qdisc with a leaf for each class.
    lab.run("b", "tc qdisc add dev out1 root handle 1: htb default 99");
    for class in ["1:10", "1:20", "1:99"] {
        lab.run("b", &format!("tc class add dev out1 parent 1: classid {class} htb rate 100mbit"));
    }
    lab.node_ok("a", "attach", &edge);
    lab.node_ok("b", "attach", &core);
    lab.send("c", "10.2.0.2", 1000, 30, 0);
    lab.send("c", "10.2.0.2", 1000, 7, 46 << 2);
    let (at_a, at_b) = (lab.status("a", &edge), lab.status("b", &core));
    assert_eq!(at_a["ingress"]["metered"], 37);
    assert_eq!(at_b["ingress"]["trusted"], 37);
    assert_eq!(port(&at_b, "out1")["unlabelled"], 0);
    assert_same_labels(&at_a, &at_b);
    let classes = lab.run("b", "tc -s class show dev out1");
    let packets = |class: &str| {
        // tc prints "class htb 1:10 root ..." and, on the next line, " Sent 7364 bytes 7 pkt ...".
        let (_, of) = classes.split_once(&format!("class htb {class} ")).unwrap();
        let (_, sent) = of.split_once(" bytes ").unwrap();
        sent.split(' ').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!((packets("1:10"), packets("1:20"), packets("1:99")), (7, 30, 0));
    // A host forges labels of activity -32: 20 raw frames with one 802.1ad tag, then 20 with two.
    for (tags, count) in [(1, 20), (2, 20)] {
        let frames = format!(
            "import socket,struct\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('c0',0))\n\
             tag=struct.pack('!HH',0x88a8,0)*{tags}\n\
             ip=struct.pack('!BBHHHBBH4s4s',0x45,0,128,0,0,64,17,0,socket.inet_aton('10.1.0.2'),\
             socket.inet_aton('10.2.0.2'))\n\
             c=sum(struct.unpack('!10H',ip));c=(c&0xffff)+(c>>16);c=(c&0xffff)+(c>>16)\n\
             ip=ip[:10]+struct.pack('!H',~c&0xffff)+ip[12:]\n\
             eth=bytes.fromhex('02000a010001'+'02000a010002')\n\
             f=eth+tag+struct.pack('!H',0x800)+ip+struct.pack('!HHHH',9,9,108,0)+bytes(100)\n\
             for _ in range({count}): s.send(f)"
        );
        lab.python("c", &frames);
    }
    // The kernel ignores a tag with VLAN 0, so the edge meters and routes these frames. They get the labels of the
    // meter instead of the forged labels.
    let (at_a, at_b) = (lab.status("a", &edge), lab.status("b", &core));
    assert_eq!((&at_a["ingress"]["stripped"], &at_a["ingress"]["refused"]), (&Json::from(0), &Json::from(0)));
    assert_eq!((&at_a["ingress"]["metered"], &at_b["ingress"]["trusted"]), (&Json::from(77), &Json::from(77)));
    assert_same_labels(&at_a, &at_b);
    assert!(average_activity(&at_b, "out1") > 2.0, "{at_b}");
    // The edge itself sends frames with forged labels, which pass no metered port. The core does not receive their
    // labels either.
    let own = "import socket,struct\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('mid0',0))\n\
               for _ in range(5): \
               s.send(bytes.fromhex('02000a03000202000a030001')+struct.pack('!HHH',0x88a8,1,0x800)+bytes(60))";
    lab.python("a", own);
    assert_eq!(lab.status("b", &core)["ingress"]["trusted"], 77);
    lab.node_ok("a", "detach", &edge);
    lab.node_ok("b", "detach", &core);
}

#[test]
fn frames_cut_off_anywhere_pass_the_meter() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n");
    lab.node_ok("n", "attach", &config);
    // IPv4 and IPv6 frames are truncated to each of 60 lengths, from the end of the Ethernet header to beyond the end
    // of the IP header.
    let frames = "import socket\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('c0',0))\n\
                  eth=bytes.fromhex('02000a010001'+'02000a010002')\n\
                  for kind,first in ((b'\\x08\\x00',0x45),(b'\\x86\\xdd',0x60)):\n\
                  \x20for n in range(14,74): s.send((eth+kind+bytes([first])+bytes(60))[:n])";
    lab.python("c", frames);
    let status = lab.status("n", &config);
    assert_eq!(status["ingress"]["metered"], 120, "{status}");
    // IPv4 headers are complete from 34 bytes on, IPv6 headers from 54 bytes on. So 20 IPv4 and 40 IPv6 frames have no
    // complete header.
    assert_eq!(status["ingress"]["malformed"], 60, "{status}");
    lab.node_ok("n", "detach", &config);
}

#[test]
fn counters_are_shown_by_status_top_and_export() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config(
        "n",
        "[[users]]\nname = \"client\"\nprefix = \"10.1.0.0/24\"\n[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
         [[ports]]\ninterface = \"out0\"\nqueue = { scheme = \"abc\" }\n",
    );
    let warned = String::from_utf8(lab.node("n", "attach", &config).stderr).unwrap();
    assert!(warned.starts_with("warning: out0: the root qdisc noqueue keeps no backlog"), "{warned}");
    lab.node_ok("n", "detach", &config);
    let refused = lab.node("n", "status", &config);
    assert!(String::from_utf8(refused.stderr).unwrap().starts_with("error: nothing is attached: no pins in "));
    lab.node_ok("n", "attach", &config);
    lab.send("c", "10.2.0.2", 972, 30, 0);
    assert!(lab.node_ok("n", "status", &config).contains("client (10.1.0.0/24)"));
    let mut top = lab.command("n", env!("CARGO_BIN_EXE_fairlane-node"));
    let top = top.arg("top").arg(&config).args(["--turns", "1", "--interval", "0.1"]).output().unwrap();
    assert!(String::from_utf8(top.stdout).unwrap().contains("client (10.1.0.0/24)"));
    let mut export = lab.command("n", env!("CARGO_BIN_EXE_fairlane-node"));
    let mut export = export.arg("export").arg(&config).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut announced = String::new();
    let mut lines = std::io::BufReader::new(export.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut lines, &mut announced).unwrap();
    assert_eq!(announced, "serving http://127.0.0.1:9550/metrics\n");
    // One peer sends no request, one requests another page, and one requests the counters.
    let text = lab.python(
        "n",
        "import socket,urllib.request,urllib.error\n\
         silent=socket.create_connection(('127.0.0.1',9550))\nsilent.close()\n\
         try: urllib.request.urlopen('http://127.0.0.1:9550/')\n\
         except urllib.error.HTTPError as e: assert e.code==404\n\
         print(urllib.request.urlopen('http://127.0.0.1:9550/metrics').read().decode())",
    );
    // `timeout` passes the signal on.
    Command::new("kill").arg(export.id().to_string()).status().unwrap();
    export.wait().unwrap();
    // 972 bytes of payload are 1000 bytes of IP.
    for line in [
        "fairlane_user_packets_total{user=\"client\",key=\"10.1.0.0/24\"} 30",
        "fairlane_user_bytes_total{user=\"client\",key=\"10.1.0.0/24\"} 30000",
        "fairlane_port_accepted_packets_total{port=\"out0\"} 30",
        "fairlane_port_attached{port=\"out0\"} 1",
        "fairlane_port_dropped_packets_total{port=\"out0\",reason=\"aqm\"} 0",
        "fairlane_port_marked_packets_total{port=\"out0\"} 0",
        "fairlane_port_queue_packets{port=\"out0\"} 0",
        "fairlane_port_drop_threshold_packets{port=\"out0\"} ",
        "fairlane_users 2",
        "fairlane_users_configured 1\n",
        "fairlane_users_configured_limit 1024\n",
        "fairlane_ingress_metered_total 30",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let open = lab
        .command("n", env!("CARGO_BIN_EXE_fairlane-node"))
        .args(["export", "--listen", "0.0.0.0:9550"])
        .arg(&config)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(open.stderr).unwrap(),
        "error: --listen: 0.0.0.0:9550 is not a loopback address such as 127.0.0.1:9550\n"
    );
    lab.node_ok("n", "detach", &config);
}

/// Capabilities of a systemd unit.
pub fn capabilities(unit: &str) -> Vec<&str> {
    let line = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet=")).unwrap();
    line.split_whitespace().collect()
}

/// Runs the tool as root with only these capabilities. Returns true if it succeeds.
pub fn with_capabilities(lab: &Lab, capabilities: &[&str], verb: &str, config: &Path) -> bool {
    let names: Vec<String> =
        capabilities.iter().map(|name| format!("+{}", name.trim_start_matches("CAP_").to_lowercase())).collect();
    let set = ["-all".to_string()].into_iter().chain(names).collect::<Vec<_>>().join(",");
    let mut command = lab.command("n", "setpriv");
    command.arg(format!("--bounding-set={set}")).arg(env!("CARGO_BIN_EXE_fairlane-node")).arg(verb).arg(config);
    command.output().unwrap().status.success()
}

#[test]
fn the_units_ask_for_the_capabilities_that_are_needed_and_no_others() {
    skip_unless_live!();
    if Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: there is no setpriv");
        return;
    }
    let attach = capabilities(include_str!("../share/fairlane-node.service"));
    let export = capabilities(include_str!("../share/fairlane-node-export.service"));
    let lab = Lab::one_node();
    let config = lab.config("n", "[[ports]]\ninterface = \"out0\"\nqueue = { scheme = \"abc\" }\n");
    let before = lab.traces("n");
    for without in &attach {
        let rest: Vec<&str> = attach.iter().copied().filter(|capability| capability != without).collect();
        assert!(!with_capabilities(&lab, &rest, "attach", &config), "{without} is not needed");
        assert_eq!(lab.traces("n"), before, "without {without}");
    }
    assert!(with_capabilities(&lab, &attach, "attach", &config));
    assert!(with_capabilities(&lab, &export, "status", &config));
    assert!(with_capabilities(&lab, &attach, "detach", &config));
    assert_eq!(lab.traces("n"), before);
}
