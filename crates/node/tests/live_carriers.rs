//! Tests carriers of the label between two nodes in network namespaces.
#![cfg(feature = "ebpf")]

use crate::lab::{Lab, assert_same_labels, port};
use serde_json::Value as Json;
use std::path::PathBuf;

/// client - edge a - core b - server, with IPv4 and IPv6. The link between a and b carries labels, and its MTU leaves
/// room for them.
struct Domain {
    lab: Lab,
    edge: PathBuf,
    core: PathBuf,
}

impl Domain {
    fn new(carrier: &str) -> Self {
        let lab = Lab::two_nodes();
        lab.wire6(("c", "c0", "fd01::2"), ("a", "in0", "fd01::1"));
        lab.wire6(("a", "mid0", "fd03::1"), ("b", "mid1", "fd03::2"));
        lab.wire6(("b", "out1", "fd02::1"), ("s", "s0", "fd02::2"));
        let (edge, core) = (("a", "fd02::/64 via fd03::2"), ("b", "fd01::/64 via fd03::1"));
        lab.routes(&[("c", "default via fd01::1"), edge, core, ("s", "default via fd02::1")]);
        lab.run("a", "ip link set mid0 mtu 1508");
        lab.run("b", "ip link set mid1 mtu 1508");
        let edge = lab.config(
            "a",
            &format!(
                "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
                 [[ports]]\ninterface = \"mid0\"\nqueue = {{ scheme = \"abc\" }}\ncarrier = \"{carrier}\"\n\
                 far_end = \"reads\"\n"
            ),
        );
        let core = lab.config(
            "b",
            &format!(
                "[[ports]]\ninterface = \"mid1\"\narrivals = \"trusted\"\ncarrier = \"{carrier}\"\n\
                 [[ports]]\ninterface = \"out1\"\nqueue = {{ scheme = \"abc\" }}\n"
            ),
        );
        Self { lab, edge, core }
    }

    fn attach(&self) {
        self.lab.node_ok("a", "attach", &self.edge);
        self.lab.node_ok("b", "attach", &self.core);
    }

    fn status(&self) -> (Json, Json) {
        (self.lab.status("a", &self.edge), self.lab.status("b", &self.core))
    }

    /// Runs one program at the server. When it is ready, runs another at the client. Both must succeed.
    fn exchange(&self, server: &str, client: &str) {
        let mut receiver = self.lab.start_python("s", server);
        self.lab.python("c", client);
        assert!(receiver.wait().unwrap().success(), "{:?}", self.status());
    }

    /// Sends UDP packets of 1500 bytes from client to server, which must all arrive complete.
    fn send(&self, to: &str, count: u32) {
        // The server enlarges its receive buffer by SO_RCVBUFFORCE (33). XDP moves packets into larger buffers, so a
        // receive buffer of the usual size has room for fewer packets.
        let (kind, payload) = if to.contains(':') { ("AF_INET6", 1452) } else { ("AF_INET", 1472) };
        self.exchange(
            &format!(
                "import socket\ns=socket.socket(socket.{kind},socket.SOCK_DGRAM)\ns.bind(('{to}',9))\n\
                 s.setsockopt(socket.SOL_SOCKET,33,1<<22)\ns.settimeout(18)\nprint('ready',flush=True)\n\
                 for i in range({count}): assert s.recv(2000)==bytes([i])*{payload}"
            ),
            &format!(
                "import socket\ns=socket.socket(socket.{kind},socket.SOCK_DGRAM)\n\
                 for i in range({count}): s.sendto(bytes([i])*{payload},('{to}',9))"
            ),
        );
    }

    /// Makes a TCP transfer in GSO packets, which only the last interface may segment.
    fn transfer(&self, to: &str, bytes: u32) {
        let family = if to.contains(':') { "AF_INET6" } else { "AF_INET" };
        self.exchange(
            &format!(
                "import socket\nl=socket.create_server(('{to}',9),family=socket.{family})\nl.settimeout(18)\n\
                 print('ready',flush=True)\ns,_=l.accept()\nn=0\n\
                 while n<{bytes}:\n r=s.recv(1<<16); n+=len(r); assert r"
            ),
            &format!("import socket\ns=socket.create_connection(('{to}',9),10)\ns.sendall(bytes({bytes}))"),
        );
    }

    /// Sends a frame in hexadecimal digits from a namespace, `count` times. If the namespace drops the frame, the
    /// socket reports an error, which is ignored.
    fn send_frames(&self, namespace: &str, interface: &str, frame: &str, count: u32) {
        let program = format!(
            "import socket\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('{interface}',0))\n\
             for _ in range({count}):\n try: s.send(bytes.fromhex('{frame}'))\n except OSError: pass"
        );
        self.lab.python(namespace, &program);
    }

    /// Detaches both nodes and checks that no program or qdisc remains.
    fn detach(&self, before: &[String; 2]) {
        self.lab.node_ok("a", "detach", &self.edge);
        self.lab.node_ok("b", "detach", &self.core);
        assert_eq!(&self.traces(), before);
    }

    fn traces(&self) -> [String; 2] {
        ["a", "b"].map(|name| self.lab.traces(name))
    }
}

fn count(status: &Json, counter: &str) -> u64 {
    status["ingress"][counter].as_u64().unwrap()
}

/// Builds an Ethernet frame: IPv6 from `fd0X::2` to the server, then `headers`, then UDP of 100 bytes.
fn ipv6_frame(macs: &str, source: &str, headers: &str) -> String {
    let length = headers.len() / 2 + 108;
    let zeros = "0".repeat(24);
    let udp = format!("00090009006c0000{}", "07".repeat(100));
    format!("{macs}86dd60000000{length:04x}0040{source}{zeros}0002fd02{zeros}0002{headers}{udp}")
}

#[test]
fn labels_travel_in_an_option_and_forged_ones_are_padding() {
    skip_unless_live!();
    let domain = Domain::new("ipv6_option");
    let before = domain.traces();
    domain.attach();
    domain.send("fd02::2", 30);
    let (at_a, at_b) = domain.status();
    // Packets of neighbour discovery have no label. With a label they would be dropped, and no packet would have
    // arrived.
    assert_eq!((count(&at_b, "trusted"), port(&at_b, "mid1")["carrier"].as_str()), (30, Some("ipv6_option")));
    assert_same_labels(&at_a, &at_b);
    // Packets of the other family pass without a label.
    domain.send("10.2.0.2", 5);
    assert_eq!(count(&domain.status().1, "trusted"), 30);
    // The client, and later the edge node itself, send packets with a forged label of activity -32. The edge node adds
    // a label to the client's packets, but not to its own.
    let forged = "11001e04fa000000";
    domain.send_frames("c", "c0", &ipv6_frame("02000a01000102000a010002", "fd01", forged), 20);
    let (at_a, at_b) = domain.status();
    assert_eq!((count(&at_a, "stripped"), count(&at_b, "trusted")), (20, 50));
    assert_same_labels(&at_a, &at_b);
    domain.send_frames("a", "mid0", &ipv6_frame("02000a03000202000a030001", "fd03", forged), 5);
    let (at_a, at_b) = domain.status();
    assert_eq!((count(&at_a, "stripped"), count(&at_b, "trusted")), (25, 50));
    // A GSO packet gets one label before it is segmented.
    domain.transfer("fd02::2", 3_000_000);
    let (at_a, at_b) = domain.status();
    assert!(count(&at_b, "trusted") > 60, "{at_b}");
    assert_eq!((count(&at_a, "too_large"), count(&at_a, "refused"), count(&at_b, "refused")), (0, 0, 0));
    domain.detach(&before);
}

/// Tests a link whose MTU is lowered to 1500.
fn packets_without_room_are_dropped_and_counted(carrier: &str) {
    let domain = Domain::new(carrier);
    domain.attach();
    let quiet = String::from_utf8(domain.lab.node("a", "attach", &domain.edge).stderr).unwrap();
    assert!(!quiet.contains("MTU"), "{quiet}");
    // This resolves all neighbours.
    domain.send("fd02::2", 1);
    domain.lab.run("a", "ip link set mid0 mtu 1500");
    let warned = String::from_utf8(domain.lab.node("a", "attach", &domain.edge).stderr).unwrap();
    assert!(warned.contains("warning: mid0: the MTU 1500 has no room for packets of 1500 bytes with a label of 8"));
    let send = |payload: u32| {
        let program = format!(
            "import socket\ns=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM)\n\
             for _ in range(5): s.sendto(bytes({payload}),('fd02::2',9))"
        );
        domain.lab.python("c", &program);
    };
    // An IPv6 packet of 1492 bytes fits with its label, one of 1493 bytes does not.
    send(1444);
    send(1445);
    let (at_a, at_b) = domain.status();
    assert_eq!((count(&at_a, "too_large"), count(&at_b, "trusted")), (5, 1 + 5));
}

#[test]
fn packets_without_room_for_their_label_are_dropped_and_counted() {
    skip_unless_live!();
    for carrier in ["ipv6_option", "shim"] {
        packets_without_room_are_dropped_and_counted(carrier);
    }
}

/// Client program: sends IP packets of 1500 bytes twice over a connected UDP socket that forbids fragmentation. Prints
/// the errors.
const ASKS_THE_PATH: &str = "
import errno, socket, sys, time
address, header, level, discover, mtu = sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:6])
s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(level, discover, 2)
s.connect((address, 9))
end = time.monotonic() + 5
told = None
while told is None and time.monotonic() < end:
    try:
        s.send(bytes(1500 - header))
    except OSError as error:
        told = error.errno
    time.sleep(0.01)
print(told == errno.EMSGSIZE, s.getsockopt(level, mtu))
";

/// The link has an MTU of 1500 and carries labels of 8 bytes. A route over this link with `mtu 1492` makes the router's
/// kernel inform senders (RFC 1191, RFC 8201). So no packet is dropped because its label does not fit.
#[test]
fn routes_that_leave_room_for_labels_tell_senders_the_path_mtu() {
    skip_unless_live!();
    // IPPROTO_IP, IP_MTU_DISCOVER, IP_MTU; IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_MTU.
    let (v4, v6) = ("28 0 10 14", "48 41 23 24");
    for (carrier, families) in [("ipv6_option", &[("fd02::2", v6)][..]), ("shim", &[("fd02::2", v6), ("10.2.0.2", v4)])]
    {
        let domain = Domain::new(carrier);
        domain.lab.run("a", "ip link set mid0 mtu 1500");
        domain.lab.run("a", "ip -6 route replace fd02::/64 via fd03::2 mtu 1492");
        domain.lab.run("a", "ip route replace 10.2.0.0/24 via 10.3.0.2 mtu 1492");
        domain.attach();
        let program = domain.lab.file("path.py", ASKS_THE_PATH);
        for (server, numbers) in families {
            let told = domain.lab.run("c", &format!("python3 {} {server} {numbers}", program.display()));
            assert_eq!(told, "True 1492\n", "{carrier} {server}");
            domain.transfer(server, 1_000_000);
        }
        let (at_a, at_b) = domain.status();
        assert_eq!(
            (count(&at_a, "too_large"), count(&at_a, "refused"), count(&at_b, "refused")),
            (0, 0, 0),
            "{carrier}"
        );
        // GSO packets have at most 64 kB.
        assert!(count(&at_b, "trusted") > 15, "{at_b}");
    }
}

#[test]
fn labels_travel_in_a_shim_and_forged_ones_are_refused() {
    skip_unless_live!();
    let domain = Domain::new("shim");
    let before = domain.traces();
    domain.attach();
    assert!(domain.lab.run("b", "ip link show mid1").contains("xdpgeneric"));
    // An interface has at most one XDP program. Attaching another node fails, and none of its programs remains
    // attached.
    let text = "[[ports]]\ninterface = \"mid1\"\narrivals = \"trusted\"\ncarrier = \"shim\"\n";
    let attached = domain.traces();
    let second = domain.lab.node("b", "attach", &domain.lab.config("second", text));
    let error = String::from_utf8(second.stderr).unwrap();
    assert!(error.starts_with("error: joining a program to XDP of interface "), "{error}");
    assert_eq!(domain.traces(), attached);
    domain.send("10.2.0.2", 30);
    domain.send("fd02::2", 30);
    let (at_a, at_b) = domain.status();
    assert_eq!(count(&at_b, "trusted"), 60);
    assert_same_labels(&at_a, &at_b);
    // The client, and later the edge node itself, send a forged shim with activity -32 before an IPv4 header.
    let shim = "88b5fa00000000000800";
    let packet = format!("4500008000000000401100000a0100020a020002{}", "00".repeat(108));
    domain.send_frames("c", "c0", &format!("02000a01000102000a010002{shim}{packet}"), 20);
    domain.send_frames("a", "mid0", &format!("02000a03000202000a030001{shim}{packet}"), 5);
    let (at_a, at_b) = domain.status();
    assert_eq!((count(&at_a, "refused"), count(&at_b, "trusted")), (25, 60), "{at_a}");
    // A GSO packet gets one label before it is segmented.
    domain.transfer("fd02::2", 3_000_000);
    let (at_a, at_b) = domain.status();
    assert!(count(&at_b, "trusted") > 70, "{at_b}");
    assert_eq!((count(&at_a, "too_large"), count(&at_b, "refused")), (0, 0), "{at_a} {at_b}");
    // Both nodes change the link's carrier from shims to 802.1ad tags. Then no program removes shims any more.
    for (name, config) in [("a", &domain.edge), ("b", &domain.core)] {
        let text = std::fs::read_to_string(config).unwrap();
        std::fs::write(config, text.replace("shim", "802.1ad")).unwrap();
        assert_eq!(domain.lab.node_ok(name, "attach", config), "reloaded: 2 ports\n");
    }
    assert!(!domain.lab.run("b", "ip link show mid1").contains("xdp"));
    let trusted = count(&domain.status().1, "trusted");
    domain.send("10.2.0.2", 30);
    assert!(count(&domain.status().1, "trusted") >= trusted + 30);
    domain.detach(&before);
}

#[test]
fn tags_beside_frames_stay_with_them_in_a_forwarder_on_af_xdp() {
    skip_unless_live!();
    // client - edge - forwarder - host. The edge writes labels as tags outside the frame data; the host counts labels.
    let lab = Lab::new(&["c", "a", "b", "s"]);
    lab.wire(("c", "c0", "10.1.0.2"), ("a", "in0", "10.1.0.1"));
    lab.wire(("a", "mid0", "10.3.0.1"), ("b", "mid1", "10.3.0.2"));
    lab.wire(("b", "out1", "10.3.0.7"), ("s", "s0", "10.3.0.9"));
    lab.routes(&[("c", "default via 10.1.0.1")]);
    lab.run("a", "ip neigh add 10.3.0.9 lladdr 02:00:0a:03:00:09 dev mid0 nud permanent");
    lab.run("c", "ethtool -K c0 tx off tso off gso off");
    let edge = lab.config(
        "a",
        "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
         [[ports]]\ninterface = \"mid0\"\nqueue = { scheme = \"abc\" }\ncarrier = \"802.1ad\"\nfar_end = \"reads\"\n",
    );
    let host = lab.config("s", "[[ports]]\ninterface = \"s0\"\narrivals = \"trusted\"\ncarrier = \"802.1ad\"\n");
    lab.node_ok("a", "attach", &edge);
    lab.node_ok("s", "attach", &host);
    let ports = "[[ports]]\ninterface = \"mid1\"\n[[ports]]\ninterface = \"out1\"\n";
    let mut forwarder = lab.start_forwarder("b", &format!("[forward]\nio = \"af-xdp\"\n{ports}"));
    lab.send("c", "10.3.0.9", 1000, 50, 0);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let status = lab.status("s", &host);
    // The `timeout` around the forwarder passes the signal on.
    rustix::process::kill_process(rustix::process::Pid::from_child(&forwarder), rustix::process::Signal::TERM).unwrap();
    forwarder.wait().unwrap();
    assert_eq!(status["ingress"]["trusted"], 50, "{status}");
}
