//! Tests the node's own qdisc, where the kernel has BPF qdiscs; `machine.rs` runs the tests on such a kernel.
#![cfg(feature = "ebpf")]

mod machine;

use crate::common::library::{Arrival, Library, USERS, frame, node, replay_vector};
use crate::common::{LOOPBACK, START_NS, replayed};
use crate::lab::{Lab, port};
use crate::live::{capabilities, with_capabilities};
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel::{OwnQdisc, Programs, own_qdisc_missing};
use fairlane_node::records::ReplayInput;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::contract::packet::TrafficClass;
use serde_json::{Value as Json, json};
use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Ends the test and prints the reason if this machine has no own qdisc.
macro_rules! skip_unless_own_qdisc {
    () => {
        skip_unless_possible!();
        if let Some(reason) = own_qdisc_missing() {
            println!("skipped: {reason}");
            return;
        }
    };
}

/// Moves the thread into a network namespace.
fn enter(namespace: &str) {
    let network = rustix::thread::LinkNameSpaceType::Network;
    rustix::thread::move_into_link_name_space(File::open(namespace).unwrap().as_fd(), Some(network)).unwrap();
}

/// The qdisc at the loopback interface of a new network namespace, in replay mode.
struct Replay {
    programs: Programs,
    qdisc: OwnQdisc,
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Replay {
    fn new(config: &NodeConfig, lab: &Lab) -> Self {
        enter(&lab.netns_path("n"));
        let programs = replayed(config);
        let qdisc = OwnQdisc::register(&programs).unwrap();
        qdisc.enter(LOOPBACK).unwrap();
        let [sender, receiver] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        rustix::net::sockopt::set_socket_send_buffer_size(&sender, 1 << 22).unwrap();
        receiver.set_nonblocking(true).unwrap();
        Self { programs, qdisc, sender, receiver }
    }

    /// Sends a packet that finds the queue of `arrival` and leaves `then` packets behind.
    fn send(&self, arrival: &Arrival, then: u32, payload: &[u8]) {
        let input = ReplayInput { now_ns: arrival.now_ns, packets: then, ..Default::default() };
        self.programs.set_replay(&input).unwrap();
        let mark = self.programs.run("fairlane_ingress", &frame(arrival), LOOPBACK, 0, 1).unwrap().mark;
        set_mark(&self.sender, mark);
        let mut bytes = payload.to_vec();
        // The bytes of IP and UDP.
        bytes.resize(usize::from(arrival.ip_bytes) - 28, 0);
        self.sender.send(&bytes).unwrap();
    }
}

/// Sets `SO_MARK`.
#[allow(unsafe_code)]
fn set_mark(socket: &UdpSocket, mark: u32) {
    let pointer = (&raw const mark).cast();
    // SAFETY: the pointer is to a value of this size, which the call only reads.
    let status = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MARK, pointer, 4) };
    assert_eq!(status, 0);
}

/// Passes arrivals, each with the length of the queue that it must find, through the qdisc and the library, which must
/// agree. Returns the numbers of accepted packets and drops, and the longest queue.
fn decide_all(config: &NodeConfig, arrivals: &[Arrival]) -> (u64, u64, i64) {
    let lab = Lab::new(&["n"]);
    let replay = Replay::new(config, &lab);
    let mut library = Library::new(config);
    let (mut accepted, mut dropped, mut longest) = (0, 0, 0);
    for (i, arrival) in arrivals.iter().enumerate() {
        replay.send(arrival, arrivals.get(i + 1).map_or(0, |next| next.queue_packets), &[]);
        let (_, average, threshold, drops) = library.decide(arrival);
        *if drops { &mut dropped } else { &mut accepted } += 1;
        let state = replay.programs.port_state(LOOPBACK).unwrap();
        let total = state.total();
        let queue = i64::from(arrival.queue_packets) * fairlane_schemes::fixed::PACKET;
        assert_eq!((state.queue, state.average(), state.threshold), (queue, average, threshold), "packet {i}");
        assert_eq!((total.accepted, total.drops()), (accepted, dropped), "packet {i}");
        longest = longest.max(state.queue);
    }
    replay.qdisc.leave(LOOPBACK).unwrap();
    (accepted, dropped, longest / fairlane_schemes::fixed::PACKET)
}

#[test]
fn golden_vector_is_decided_as_by_the_library_and_as_by_the_reference() {
    skip_unless_own_qdisc!();
    let (mut arrivals, mut drops) = (Vec::new(), 0);
    replay_vector(|arrival, reference_drops, _| {
        arrivals.push(*arrival);
        drops += u64::from(reference_drops);
    });
    let (accepted, dropped, longest) = decide_all(&node(&json!({"limit": "100 packets", "backlog": "bpf"})), &arrivals);
    assert_eq!((accepted + dropped, dropped), (600, drops));
    assert!(longest > 0);
}

#[test]
fn random_packets_are_decided_as_by_the_library() {
    skip_unless_own_qdisc!();
    const PACKETS: u64 = 5_000;
    for (seed, keys) in
        [json!({"limit": "24 packets"}), json!({"limit": "24 packets", "q_min": "6 packets"})].iter().enumerate()
    {
        let mut keys = keys.clone();
        keys["backlog"] = "bpf".into();
        let config = node(&keys);
        let mut library = Library::new(&config);
        let mut rng = Rng::stream(seed as u64, 0, "qdisc", 0);
        let (mut arrivals, mut now_ns, mut queue) = (Vec::new(), START_NS, 0u32);
        for id in 0..PACKETS {
            now_ns += rng.exponential(0.8e6) as u64;
            // Two packets of three leave before the next one arrives, fewer if none waits.
            queue -= u32::from(!rng.bits().is_multiple_of(3) && queue > 0);
            let user = if rng.bits().is_multiple_of(2) { 0 } else { 1 + (id % u64::from(USERS - 1)) as u32 };
            let ip_bytes = if rng.bits().is_multiple_of(10) { 40 } else { 1500 };
            let class = if rng.bits().is_multiple_of(10) { TrafficClass::Expedited } else { TrafficClass::BestEffort };
            let arrival = Arrival { now_ns, user, ip_bytes, class, queue_packets: queue, queue_bytes: 0 };
            queue += u32::from(!library.decide(&arrival).3);
            arrivals.push(arrival);
        }
        let (_, dropped, longest) = decide_all(&config, &arrivals);
        assert!(dropped > PACKETS / 5 && longest > 5, "{dropped} {longest}");
    }
}

/// Sends packets of classes at times in ms, then lets all leave. Returns their numbers in the order of service.
fn order_of_service(scheduler: &str, arrivals: &[(TrafficClass, u64)]) -> Vec<u8> {
    let lab = Lab::new(&["n"]);
    let keys = json!({"limit": "24 packets", "q_min": "24 packets", "backlog": "bpf", "scheduler": scheduler});
    let replay = Replay::new(&node(&keys), &lab);
    for (i, &(class, ms)) in arrivals.iter().enumerate() {
        let (now_ns, last) = (START_NS + ms * 1_000_000, i + 1 == arrivals.len());
        let arrival = Arrival { now_ns, user: 0, ip_bytes: 1500, class, queue_packets: 0, queue_bytes: 0 };
        replay.send(&arrival, if last { 0 } else { u32::MAX }, &[i as u8]);
    }
    let mut packet = [0; 1500];
    let order = std::iter::from_fn(|| replay.receiver.recv(&mut packet).ok().map(|_| packet[0])).collect();
    replay.qdisc.leave(LOOPBACK).unwrap();
    order
}

#[test]
fn schedulers_serve_in_the_order_of_the_simulator() {
    skip_unless_own_qdisc!();
    const BE: TrafficClass = TrafficClass::BestEffort;
    const EF: TrafficClass = TrafficClass::Expedited;
    // The cases of class_queues.rs: Delta_BE = 2 * 24 * 1500 * 8 / 10 Mbit/s = 57.6 ms.
    assert_eq!(order_of_service("fifo", &[(BE, 0), (EF, 1), (BE, 2)]), [0, 1, 2]);
    assert_eq!(order_of_service("strict", &[(BE, 0), (EF, 900), (EF, 901)]), [1, 2, 0]);
    assert_eq!(order_of_service("medf", &[(BE, 0), (EF, 57), (EF, 58)]), [1, 0, 2]);
}

// ---- on links ----

/// Rate of a link that sends a packet of 1500 bytes and its Ethernet header in 1.2 ms, as one of 10 Mbit/s in the
/// simulator.
const LINK_BPS: f64 = 10e6 * 1514.0 / 1500.0;

/// Hosts a and b, whose user a is EF, send through the node n to s.
fn ef_and_be() -> Lab {
    let lab = Lab::new(&["a", "b", "n", "s"]);
    lab.wire(("a", "a0", "10.1.0.2"), ("n", "in0", "10.1.0.1"));
    lab.wire(("b", "b0", "10.4.0.2"), ("n", "in1", "10.4.0.1"));
    lab.wire(("n", "out0", "10.2.0.1"), ("s", "s0", "10.2.0.2"));
    let ways = [("a", "default via 10.1.0.1"), ("b", "default via 10.4.0.1"), ("s", "default via 10.2.0.1")];
    lab.routes(&ways);
    lab
}

/// Configuration of the node n.
fn config_of(lab: &Lab, accounting_ef: f64, queue: &str) -> PathBuf {
    lab.config(
        "n",
        &format!(
            "[marker]\naccounting_ef = {accounting_ef}\n\
             [[users]]\nname = \"a\"\nprefix = \"10.1.0.2\"\ntraffic_class = \"EF\"\n\
             [[users]]\nname = \"b\"\nprefix = \"10.4.0.2\"\n\
             [[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
             [[ports]]\ninterface = \"in1\"\narrivals = \"meter\"\n\
             [[ports]]\ninterface = \"out0\"\nrate = \"{LINK_BPS:.0} bit/s\"\nqueue = {{ {queue} }}\n"
        ),
    )
}

const MEDF: &str = "scheme = \"abc\", backlog = \"bpf\", limit = \"24 packets\", scheduler = \"medf\"";

/// Runs `work` in a namespace.
fn within<T: Send + 'static>(lab: &Lab, name: &str, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let namespace = lab.netns_path(name);
    std::thread::spawn(move || {
        enter(&namespace);
        work()
    })
}

/// Packets with this payload have 1500 bytes.
const FULL_PAYLOAD: &str = "1472";

/// Starts a Poisson sender of UDP.
fn send_poisson(lab: &Lab, name: &str, mbit: f64, seconds: u64) -> Child {
    let mut command = lab.command_within(name, seconds + 10, env!("CARGO_BIN_EXE_fairlane-node"));
    command.args(["send", "10.2.0.2:9", "--gaps", "poisson", "--payload", FULL_PAYLOAD, "--seed", name_seed(name)]);
    command.args(["--rate", &format!("{mbit} Mbit/s"), "--time", &format!("{seconds} s")]);
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn name_seed(name: &str) -> &'static str {
    if name == "a" { "1" } else { "2" }
}

/// A class in a window: rate of 1500-byte packets in Mbit/s and mean wait in ms.
#[derive(Debug)]
struct Class {
    mbit: f64,
    wait_ms: f64,
}

const WARM_UP: Duration = Duration::from_secs(12);
const SAMPLE: Duration = Duration::from_secs(5);

/// Time of the senders in seconds, longer than the samples.
fn sending(samples: u32) -> u64 {
    (WARM_UP + SAMPLE * (samples + 1)).as_secs()
}

/// Classes EF and BE over `samples`. The sum of both must not exceed the link in any sample.
fn measure(lab: &Lab, config: &Path, samples: u32) -> [Class; 2] {
    let now = || {
        let classes = port(&lab.status("n", config), "out0")["own_qdisc"].clone();
        (Instant::now(), classes)
    };
    let bytes = |classes: &Json, name: &str| classes[name]["bytes"].as_f64().unwrap();
    std::thread::sleep(WARM_UP);
    let first = now();
    let mut before = first.clone();
    for _ in 0..samples {
        std::thread::sleep(SAMPLE);
        let after = now();
        let sent: f64 = ["ef", "be"].iter().map(|name| bytes(&after.1, name) - bytes(&before.1, name)).sum();
        // The time is read after the counters, which takes some ms.
        let most = LINK_BPS * ((after.0 - before.0).as_secs_f64() + 0.02) / 8.0 + 1514.0;
        assert!(sent <= most, "{sent} of {most}");
        before = after;
    }
    ["ef", "be"].map(|name| {
        let of = |classes: &Json, key: &str| classes[name][key].as_f64().unwrap();
        let waits = |classes: &Json| of(classes, "waits") * of(classes, "mean_wait_seconds");
        let packets = of(&before.1, "waits") - of(&first.1, "waits");
        let mbit = packets * 1500.0 * 8e-6 / (before.0 - first.0).as_secs_f64();
        Class { mbit, wait_ms: (waits(&before.1) - waits(&first.1)) / packets * 1e3 }
    })
}

/// A class in the simulator: rate in Mbit/s and mean wait in ms.
type Simulated = (f64, f64);

/// Compares rates and waits with the simulator's: within 15 %, or for waits within `most_ms`.
fn compare(what: &str, measured: &[Class; 2], simulated: &[Simulated; 2], most_ms: f64) {
    println!("{what}: {measured:.3?}, simulator {simulated:?}");
    for (class, (mbit, wait_ms)) in measured.iter().zip(simulated) {
        assert!((class.mbit - mbit).abs() < 0.15 * mbit, "{what}: {measured:?} {simulated:?}");
        assert!((class.wait_ms - wait_ms).abs() < most_ms.max(0.15 * wait_ms), "{what}: {measured:?} {simulated:?}");
    }
}

/// abc2018 Fig. 3(b): an EF user of 5 and a BE user of 7.5 Mbit/s send at Poisson times. The simulator's values are of
/// examples/two-poisson.toml with scheduler "medf", and with class EF and 5 Mbit/s for the first user.
#[test]
fn ef_and_be_without_congestion_control_share_as_in_the_simulator() {
    skip_unless_own_qdisc!();
    for (accounting_ef, simulated) in [(1.0, [(5.002, 1.268), (4.997, 32.74)]), (3.0, [(2.506, 0.903), (7.491, 17.92)])]
    {
        let lab = ef_and_be();
        let config = config_of(&lab, accounting_ef, MEDF);
        lab.node_ok("n", "attach", &config);
        let _sink = within(&lab, "s", || UdpSocket::bind("10.2.0.2:9").unwrap()).join().unwrap();
        let mut senders = [send_poisson(&lab, "a", 5.0, sending(6)), send_poisson(&lab, "b", 7.5, sending(6))];
        compare(&format!("UDP, a_EF {accounting_ef}"), &measure(&lab, &config, 6), &simulated, 0.0);
        senders.iter_mut().for_each(|sender| assert!(sender.wait().unwrap().success()));
        let dropped = lab.status("n", &config)["dropped"].clone();
        assert!(dropped["ports"] == dropped["users"] && dropped["ports"] != 0, "{dropped}");
        lab.node_ok("n", "detach", &config);
    }
}

/// Half the time that the link needs for a packet. Short waits behind the bursts of TCP may differ by this much: the EF
/// wait of 1.4 ms is 1.6 to 1.8 ms here.
const HALF_A_PACKET_MS: f64 = 0.6;

/// Sends by TCP with `flows` flows for some seconds.
fn send_tcp(lab: &Lab, name: &str, flows: u32, seconds: u64) -> Vec<JoinHandle<()>> {
    let flow = move || {
        let (end, chunk) = (Instant::now() + Duration::from_secs(seconds), [0; 16_384]);
        let mut stream = TcpStream::connect("10.2.0.2:9").unwrap();
        while Instant::now() < end {
            stream.write_all(&chunk).unwrap();
        }
    };
    (0..flows).map(|_| within(lab, name, flow)).collect()
}

/// abc2018 Fig. 5: an EF user with five TCP flows and a BE user with one, a round-trip time of 10 ms. The simulator's
/// values are of examples/ef-priority.toml with the TCP profile "linux", five replications.
#[test]
fn ef_and_be_with_tcp_share_as_in_the_simulator() {
    skip_unless_own_qdisc!();
    for (accounting_ef, simulated) in [(1.0, [(5.119, 4.400), (4.881, 36.74)]), (3.0, [(2.396, 1.370), (7.604, 25.89)])]
    {
        let lab = ef_and_be();
        lab.run("s", "tc qdisc add dev s0 root netem delay 10.2ms limit 10000");
        lab.run("a", "tc qdisc add dev a0 root netem rate 100mbit limit 50");
        lab.run("b", "tc qdisc add dev b0 root netem rate 100mbit limit 50");
        for (name, interface) in [("a", "a0"), ("b", "b0"), ("s", "s0"), ("n", "in0"), ("n", "in1"), ("n", "out0")] {
            lab.run(name, &format!("ip link set {interface} gso_max_segs 1"));
        }
        let config = config_of(&lab, accounting_ef, MEDF);
        lab.node_ok("n", "attach", &config);
        let server = within(&lab, "s", || TcpListener::bind("10.2.0.2:9").unwrap()).join().unwrap();
        std::thread::spawn(move || {
            for stream in server.incoming().flatten() {
                std::thread::spawn(move || std::io::copy(&mut &stream, &mut std::io::sink()));
            }
        });
        let senders: Vec<_> =
            send_tcp(&lab, "a", 5, sending(12)).into_iter().chain(send_tcp(&lab, "b", 1, sending(12))).collect();
        compare(&format!("TCP, a_EF {accounting_ef}"), &measure(&lab, &config, 12), &simulated, HALF_A_PACKET_MS);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        lab.node_ok("n", "detach", &config);
    }
}

/// Kind of the root qdisc of an interface.
fn kind(lab: &Lab, interface: &str) -> String {
    lab.qdisc("n", interface)["kind"].as_str().unwrap().into()
}

/// Runs a command of `tc` in n, which must fail.
fn refused(lab: &Lab, words: &str) {
    let output = lab.command("n", "tc").args(words.split(' ')).output().unwrap();
    assert!(!output.status.success(), "{words}");
}

#[test]
fn check_and_attach_name_what_the_kernel_lacks() {
    skip_unless_possible!();
    let lab = Lab::new(&["n"]);
    let config =
        lab.config("n", &format!("[[ports]]\ninterface = \"lo\"\nqueue = {{ {MEDF} }}\nrate = \"1 Mbit/s\"\n"));
    let check = lab.node("n", "check", &config);
    let text = String::from_utf8(check.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("BPF qdisc")).unwrap();
    match own_qdisc_missing() {
        None => assert!(line.ends_with("ok") && check.status.success(), "{text}"),
        Some(reason) => {
            assert!(line.ends_with(&format!("missing: {reason}")) && !check.status.success(), "{text}");
            let attach = lab.node("n", "attach", &config);
            let expected = format!("error: ports: backlog = \"bpf\": {reason}");
            assert_eq!(String::from_utf8(attach.stderr).unwrap().trim(), expected);
            assert!(lab.pins().is_empty());
        }
    }
}

#[test]
fn the_qdisc_comes_and_goes_with_its_port() {
    skip_unless_own_qdisc!();
    let lab = ef_and_be();
    let before = lab.traces("n");
    let config = config_of(&lab, 1.0, MEDF);
    lab.run("n", "tc qdisc add dev out0 root pfifo limit 100");
    let attach = lab.node("n", "attach", &config);
    assert!(String::from_utf8(attach.stderr).unwrap().contains("out0\" has the root qdisc pfifo, which"));
    assert_eq!(kind(&lab, "out0"), "pfifo");
    lab.run("n", "tc qdisc del dev out0 root");
    lab.node_ok("n", "attach", &config);
    let ours = kind(&lab, "out0");
    assert!(ours.starts_with("fair"), "{ours}");
    // The state of a port is for one root qdisc.
    refused(&lab, &format!("qdisc add dev in0 root {ours}"));
    refused(&lab, &format!("qdisc replace dev out0 root handle 7: {ours}"));
    let send = |count: u32| {
        within(&lab, "a", move || {
            let socket = UdpSocket::bind("10.1.0.2:0").unwrap();
            for _ in 0..count {
                socket.send_to(&[0; 100], "10.2.0.2:9").unwrap();
            }
        })
        .join()
        .unwrap();
    };
    send(10);
    lab.node_ok("n", "attach", &config);
    assert_eq!(kind(&lab, "out0"), ours);
    let status = lab.status("n", &config);
    assert_eq!(port(&status, "out0")["own_qdisc"]["ef"]["packets"], 10, "{status}");
    // Another queue, and back.
    let without = config_of(&lab, 1.0, "scheme = \"abc\"");
    lab.node_ok("n", "attach", &without);
    assert_ne!(kind(&lab, "out0"), ours);
    let config = config_of(&lab, 1.0, MEDF);
    lab.node_ok("n", "attach", &config);
    assert_eq!(kind(&lab, "out0"), ours);
    lab.node_ok("n", "detach", &config);
    assert_eq!(lab.traces("n"), before);
    assert!(lab.pins().is_empty());
}

#[test]
fn the_capabilities_of_the_unit_suffice() {
    skip_unless_own_qdisc!();
    let lab = ef_and_be();
    let config = config_of(&lab, 1.0, MEDF);
    let unit = capabilities(include_str!("../../share/fairlane-node.service"));
    assert!(with_capabilities(&lab, &unit, "attach", &config));
    assert!(kind(&lab, "out0").starts_with("fair"));
    assert!(with_capabilities(&lab, &unit, "detach", &config));
    assert!(lab.pins().is_empty() && !kind(&lab, "out0").starts_with("fair"));
}

#[test]
fn a_detach_frees_the_packets_that_wait() {
    skip_unless_own_qdisc!();
    let lab = ef_and_be();
    let queue = MEDF.replace("24 packets", "1000 packets") + ", q_min = \"1000 packets\"";
    let config = config_of(&lab, 1.0, &queue);
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace(&format!("{LINK_BPS:.0} bit/s"), "1 kbit/s")).unwrap();
    lab.node_ok("n", "attach", &config);
    let socket = within(&lab, "n", || UdpSocket::bind("10.2.0.1:0").unwrap()).join().unwrap();
    socket.set_nonblocking(true).unwrap();
    // Packets in the queue count for the socket until they are freed.
    let sent = (0..).take_while(|_| socket.send_to(&[0; 1000], "10.2.0.2:9").is_ok()).count();
    assert!((10..1000).contains(&sent), "{sent}");
    let status = lab.status("n", &config);
    assert!(port(&status, "out0")["queue_units"].as_u64().unwrap() > 0, "{status}");
    lab.node_ok("n", "detach", &config);
    let again = (0..).take_while(|i| *i < sent && socket.send_to(&[0; 1000], "10.2.0.2:9").is_ok()).count();
    assert!(again > sent / 2, "{again} of {sent}");
}

#[test]
fn control_traffic_passes_a_full_queue() {
    skip_unless_own_qdisc!();
    const PACKETS: usize = 100;
    let lab = ef_and_be();
    let config = config_of(&lab, 1.0, MEDF);
    lab.node_ok("n", "attach", &config);
    let sink = within(&lab, "s", || UdpSocket::bind("10.2.0.2:10").unwrap()).join().unwrap();
    let _flood_sink = within(&lab, "s", || UdpSocket::bind("10.2.0.2:9").unwrap()).join().unwrap();
    let mut flood = send_poisson(&lab, "b", 20.0, 8);
    while port(&lab.status("n", &config), "out0")["dropped"] == 0 {}
    let node = within(&lab, "n", || UdpSocket::bind("10.2.0.1:0").unwrap()).join().unwrap();
    rustix::net::sockopt::set_ip_tos(&node, 0xc0).unwrap();
    for _ in 0..PACKETS {
        node.send_to(&[0; 100], "10.2.0.2:10").unwrap();
        std::thread::sleep(Duration::from_millis(3));
    }
    sink.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let received = (0..PACKETS).take_while(|_| sink.recv(&mut [0; 100]).is_ok()).count();
    assert!(flood.wait().unwrap().success());
    let status = lab.status("n", &config);
    assert_eq!((received, &port(&status, "out0")["control"]), (PACKETS, &Json::from(PACKETS)), "{status}");
}

/// Instructions that a packet of 1500 bytes costs the kernel from one socket to another. In the virtual machine, a
/// nanosecond is an instruction.
fn cost(lab: &Lab) -> f64 {
    const PACKETS: u32 = 20_000;
    let _receiver = UdpSocket::bind("127.0.0.1:9").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    // A label in the default bits, which ABC neither drops nor, without a rate, delays.
    set_mark(&sender, 0x4000_0000);
    lab.run("n", "ip link set lo gso_max_segs 1");
    let start = Instant::now();
    for _ in 0..PACKETS {
        sender.send_to(&[0; 1472], "127.0.0.1:9").unwrap();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(PACKETS)
}

#[test]
fn the_qdisc_costs_little_more_than_the_tc_program() {
    skip_unless_own_qdisc!();
    let lab = Lab::new(&["n"]);
    enter(&lab.netns_path("n"));
    let config = |name, keys: &str| {
        let queue = format!("scheme = \"abc\", q_min = \"12 packets\", limit = \"24 packets\"{keys}");
        lab.config(name, &format!("[[ports]]\ninterface = \"lo\"\nqueue = {{ {queue} }}\n"))
    };
    let (tc, own) = (config("tc", ""), config("own", ", backlog = \"bpf\""));
    lab.run("n", "tc qdisc add dev lo root pfifo limit 1000");
    let without = cost(&lab);
    lab.node_ok("n", "attach", &tc);
    let with_tc = cost(&lab) - without;
    let accepted = |config| port(&lab.status("n", config), "lo")["accepted"].as_u64().unwrap();
    assert!(accepted(&tc) >= 20_000);
    lab.node_ok("n", "detach", &tc);
    lab.run("n", "tc qdisc del dev lo root");
    lab.node_ok("n", "attach", &own);
    let with_own = cost(&lab) - without;
    assert!(accepted(&own) >= 20_000);
    lab.node_ok("n", "detach", &own);
    println!(
        "instructions per packet: {without:.0} with pfifo, tc program {with_tc:.0} more, own qdisc {with_own:.0} more"
    );
    assert!(with_own < 4.0 * with_tc, "{with_tc} {with_own}");
}
