//! Tests subscribers in network namespaces: in both directions, on interfaces without Ethernet, with frames that
//! already have VLAN tags, and on interfaces with the qdisc `mq`.
#![cfg(feature = "ebpf")]

use crate::lab::{Lab, port, user};
use serde_json::Value as Json;
use std::process::Command;

#[test]
fn upload_and_download_of_a_subscriber_have_a_meter_each() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config(
        "n",
        "[[users]]\nname = \"house\"\nprefix = [\"10.1.0.0/24\", \"2001:db8::/48\"]\n\
         [[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
         [[ports]]\ninterface = \"out0\"\narrivals = \"meter\"\nuser_is = \"destination\"\n",
    );
    lab.node_ok("n", "attach", &config);
    // A program listens at either end, so no ICMP error is returned.
    let listen = |name, address| {
        let program = format!(
            "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind(('{address}',9))\n\
             print('ready',flush=True)\ntime.sleep(3)"
        );
        lab.start_python(name, &program)
    };
    let ends = [listen("c", "10.1.0.2"), listen("s", "10.2.0.2")];
    lab.send("c", "10.2.0.2", 100, 30, 0);
    lab.send("s", "10.1.0.2", 200, 7, 0);
    for mut end in ends {
        end.wait().unwrap();
    }
    let status = lab.status("n", &config);
    let (sent, received) = (user(&status, "10.1.0.0/24").unwrap(), user(&status, "to 10.1.0.0/24").unwrap());
    // Each packet has 28 bytes of IP and UDP headers.
    assert_eq!((&sent["packets"], &sent["bytes"]), (&Json::from(30), &Json::from(30 * 128)), "{status}");
    assert_eq!((&received["packets"], &received["bytes"]), (&Json::from(7), &Json::from(7 * 228)), "{status}");
    assert_eq!(user(&status, "default").unwrap()["packets"], 0, "{status}");
    lab.node_ok("n", "detach", &config);
}

#[test]
fn packets_of_interfaces_without_ethernet_find_their_users() {
    skip_unless_live!();
    let lab = Lab::one_node();
    // Opens the interface `tun0`, and writes 20 packets per second into it.
    let mut tun = lab.start_python(
        "n",
        "import fcntl,os,socket,struct,sys,time\nf=os.open('/dev/net/tun',os.O_RDWR)\n\
         fcntl.ioctl(f,0x400454ca,struct.pack('16sH',b'tun0',0x1001))\n\
         os.system('ip link set tun0 up; ip addr add 10.7.0.1/24 dev tun0')\nprint('ready',flush=True)\n\
         ip=struct.pack('!BBHHHBBH4s4s',0x45,0,100,0,0,64,17,0,socket.inet_aton('10.7.0.2'),\
         socket.inet_aton('10.2.0.2'))\n\
         c=sum(struct.unpack('!10H',ip));c=(c&0xffff)+(c>>16)\nip=ip[:10]+struct.pack('!H',~c&0xffff)+ip[12:]\n\
         for _ in range(300):\n\x20time.sleep(0.05)\n\x20os.write(f,ip+bytes(80))",
    );
    let text = |more: &str| {
        format!(
            "[[users]]\nprefix = \"10.7.0.0/24\"\n[[ports]]\ninterface = \"tun0\"\narrivals = \"meter\"\n{more}\
             [[ports]]\ninterface = \"out0\"\nqueue = {{ scheme = \"abc\" }}\n"
        )
    };
    let refused = lab.node("n", "attach", &lab.config("r", &text("carrier = \"802.1ad\"\n")));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        error.contains("\"tun0\" has no Ethernet header, its carrier can be \"none\" only, not \"802.1ad\""),
        "{error}"
    );
    let config = lab.config("n", &text(""));
    lab.node_ok("n", "attach", &config);
    let counted = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        user(&lab.status("n", &config), "10.7.0.0/24").is_some_and(|user| user["packets"].as_u64() > Some(5))
    });
    let status = lab.status("n", &config);
    // `timeout` passes the signal on.
    Command::new("kill").arg(tun.id().to_string()).status().unwrap();
    tun.wait().unwrap();
    assert!(counted, "{status}");
    let house = user(&status, "10.7.0.0/24").unwrap();
    // There are no bytes before the IP header: all 100 bytes of a packet count.
    assert_eq!(house["bytes"].as_u64().unwrap(), 100 * house["packets"].as_u64().unwrap(), "{status}");
    assert_eq!(port(&status, "out0")["unlabelled"], 0, "{status}");
    lab.node_ok("n", "detach", &config);
}

#[test]
fn tags_of_customers_pass_a_bridge_that_meters() {
    skip_unless_live!();
    let lab = Lab::new(&["c", "n", "s"]);
    lab.wire(("c", "c0", "10.1.0.2"), ("n", "in0", "10.9.0.1"));
    lab.wire(("n", "out0", "10.9.1.1"), ("s", "s0", "10.1.0.3"));
    lab.run("n", "ip link add br0 type bridge");
    for interface in ["br0", "in0", "out0"] {
        lab.run("n", &format!("ip link set {interface} up"));
    }
    for interface in ["in0", "out0"] {
        lab.run("n", &format!("ip link set {interface} master br0"));
    }
    let config = lab.config(
        "n",
        "[[users]]\ns_vlan = 100\nc_vlan = 7\n[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
         [[ports]]\ninterface = \"out0\"\nqueue = { scheme = \"abc\" }\n",
    );
    lab.node_ok("n", "attach", &config);
    // The kernel passes the VLAN tag of an arriving frame separately (PACKET_AUXDATA). The receiver puts it back.
    let receiver = lab.start_python(
        "s",
        "import socket,struct\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW,socket.htons(3))\ns.bind(('s0',0))\n\
         s.setsockopt(263,8,1)\ns.settimeout(10)\nprint('ready',flush=True)\nn=0\nwhile n<10:\n\
         \x20d,a,_,_=s.recvmsg(2000,100)\n\
         \x20t=[struct.unpack('=IIIHHHH',x[2]) for x in a]\n\
         \x20tag=struct.pack('!HH',t[0][6],t[0][5]) if t and t[0][0]&0x10 else b''\n\
         \x20n+=(d[:12]+tag+d[12:])[12:22]==bytes.fromhex('88a8006481000007'+'0800')",
    );
    let frames = "import socket,struct\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('c0',0))\n\
                  ip=struct.pack('!BBHHHBBH4s4s',0x45,0,86,0,0,64,17,0,bytes([10,1,0,2]),bytes([10,1,0,3]))\n\
                  f=bytes.fromhex('02000a010003'+'02000a010002'+'88a8006481000007'+'0800')+ip+bytes(66)\n\
                  for _ in range(10): s.send(f)";
    lab.python("c", frames);
    let received = receiver.wait_with_output().unwrap();
    let status = lab.status("n", &config);
    assert!(received.status.success(), "{status}");
    // The customer is identified by both tags. Bytes are counted from the IP header on.
    let customer = user(&status, "s_vlan 100 c_vlan 7").unwrap();
    assert_eq!((&customer["packets"], &customer["bytes"]), (&Json::from(10), &Json::from(860)), "{status}");
    assert_eq!(status["ingress"]["stripped"], 0);
    lab.node_ok("n", "detach", &config);
}

#[test]
fn queues_of_mq_are_added_up() {
    skip_unless_live!();
    let lab = Lab::new(&["n", "s"]);
    let path = lab.netns_path("s");
    let server = path.rsplit('/').next().unwrap();
    lab.run("n", &format!("ip link add out0 numtxqueues 2 type veth peer name s0 numrxqueues 2 netns {server}"));
    lab.run("n", "ip link set out0 up");
    lab.run("s", "ip link set s0 up");
    lab.run("n", "tc qdisc add dev out0 root handle 1: mq");
    for queue in [1, 2] {
        lab.run(
            "n",
            &format!("tc qdisc add dev out0 parent 1:{queue} handle 1{queue}: tbf rate 80bit burst 1600 limit 100000"),
        );
    }
    let config = lab.config(
        "n",
        "[[ports]]\ninterface = \"out0\"\n[ports.queue]\nscheme = \"abc\"\nq_min = \"900 packets\"\n\
         q_base = \"900 packets\"\n",
    );
    lab.node_ok("n", "attach", &config);
    // Frames of many flows are distributed over the two queues of `mq`. The TBF of each queue passes at most one frame
    // and queues the other frames.
    let send = |count: u32, first: u32| {
        lab.python(
            "n",
            &format!(
                "import socket\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('out0',0))\n\
                 for i in range({first},{first}+{count}): \
                 s.send(bytes([2,0,0,0,0,1,2,0,0,0,0,i])+b'\\x12\\x34'+bytes([i])*1400)"
            ),
        );
    };
    let waiting = || {
        let text = lab.run("n", "tc -s -j qdisc show dev out0");
        let all = serde_json::from_str::<Json>(&text).unwrap();
        let children = all.as_array().unwrap().iter().filter(|qdisc| qdisc["kind"] == "tbf").cloned();
        children.map(|qdisc| qdisc["qlen"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    for turn in 0..12 {
        let before: i64 = waiting().iter().sum();
        send(1, turn * 5);
        let seen = port(&lab.status("n", &config), "out0")["queue_units"].as_i64().unwrap();
        assert_eq!(seen, before * 16, "packet {turn}, {:?}", waiting());
    }
    assert!(waiting().iter().sum::<i64>() >= 10, "{:?}", waiting());
    lab.node_ok("n", "detach", &config);
}

#[test]
fn users_by_tunnel_are_those_of_the_number_that_the_interface_gives() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let outer = "address 02:00:00:00:08:01 type vxlan external dstport 4789";
    let made = lab.command("n", "ip").args(["link", "add", "vx0"]).args(outer.split(' ')).output().unwrap();
    if !made.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&made.stderr).trim());
        return;
    }
    for (name, words) in [
        ("n", "ip link set vx0 up"),
        ("n", "ip addr add 10.8.0.1/24 dev vx0"),
        ("c", "ip link add vx0 type vxlan id 7 remote 10.1.0.1 dstport 4789 dev c0"),
        ("c", "ip link add vx1 type vxlan id 9 remote 10.1.0.1 dstport 4789 dev c0"),
        ("c", "ip link set vx0 up"),
        ("c", "ip link set vx1 up"),
        ("c", "ip addr add 10.8.0.2/24 dev vx0"),
        ("c", "ip neigh add 10.8.0.1 lladdr 02:00:00:00:08:01 dev vx0 nud permanent"),
        ("c", "ip route add 10.8.0.9 dev vx1"),
        ("c", "ip neigh add 10.8.0.9 lladdr 02:00:00:00:08:01 dev vx1 nud permanent"),
    ] {
        lab.run(name, words);
    }
    let config = lab.config("n", "[[users]]\ntunnel = 7\n[[ports]]\ninterface = \"vx0\"\narrivals = \"meter\"\n");
    lab.node_ok("n", "attach", &config);
    lab.send("c", "10.8.0.1", 100, 10, 0);
    lab.send("c", "10.8.0.9", 100, 3, 0);
    let status = lab.status("n", &config);
    // Each packet has 28 bytes of IP and UDP headers. The other tunnel belongs to no user.
    let tunnel = user(&status, "tunnel 7").unwrap();
    assert_eq!((&tunnel["packets"], &tunnel["bytes"]), (&Json::from(10), &Json::from(1280)), "{status}");
    assert_eq!(user(&status, "default").unwrap()["packets"], 3, "{status}");
    lab.node_ok("n", "detach", &config);
}
