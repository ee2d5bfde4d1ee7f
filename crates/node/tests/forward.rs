//! Tests the forwarder, sender and sink on real interfaces.

use crate::testbed::{IO, Running, Testbed, until};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

const TO: &str = "10.9.0.9:9000";

/// Returns the counters of sink and forwarder once all `sent` packets have arrived or are missing. `missing` computes
/// the number of missing packets from the forwarder's report.
fn arrived(sink: &mut Running, forwarder: &mut Running, sent: &Json, missing: fn(&Json) -> u64) -> (Json, Json) {
    let sent = sent["packets"].as_u64().unwrap();
    let [sink, forwarder] = until([sink, forwarder], |[sink, forwarder]| {
        sink["streams"][0]["packets"].as_u64().unwrap_or(0) + missing(forwarder) >= sent
    });
    (sink["streams"][0].clone(), forwarder)
}

fn none(_: &Json) -> u64 {
    0
}

#[test]
fn packets_come_out_after_their_delay_in_order_and_whole() {
    skip_unless_linked!();
    IO.iter().for_each(|io| a_delay(io));
}

fn a_delay(io: &'static str) {
    let testbed = Testbed::on(io, false);
    // The limit exceeds the number of packets, because a sender that was not scheduled for a while sends all late
    // packets in one burst.
    let queue = r#"{ scheme = "droptail", limit = "1000 packets" }"#;
    let link = format!(r#"egress = {{ rate = "100 Mbit/s", delay = "5 ms", queue = {queue} }}"#);
    let mut forwarder =
        testbed.forward(&format!("[[ports]]\ninterface = \"p0\"\n[[ports]]\ninterface = \"p1\"\n{link}\n"));
    let mut sink = testbed.sink(TO);
    let sent = testbed.send(&[TO, "--rate", "12 Mbit/s", "--payload", "1472", "--time", "1 s"]);
    let (stream, report) = arrived(&mut sink, &mut forwarder, &sent, none);
    // 1500 B at 12 Mbit/s are 1000 packets per second. The sender may send fewer: it starts at a random phase, and may
    // not be scheduled at the end.
    let packets = sent["packets"].as_u64().unwrap();
    assert!((1..=1000).contains(&packets), "{sent}");
    assert_eq!(
        (&stream["packets"], &stream["lost_packets"], &stream["reordered_packets"]),
        (&json!(packets), &json!(0), &json!(0)),
        "{report}"
    );
    // The delay is 0.12 ms of transmission, 5 ms of propagation, and an unknown delay of the machine.
    let delay = stream["delay"]["mean_s"].as_f64().unwrap();
    assert!(delay >= 5.12e-3, "{delay}");
    let port = &report["ports"][1]["egress"];
    assert!(port["users"][0]["departed"]["bytes"].as_u64().unwrap() >= packets * 1500, "{port}");
    assert!(port["lateness"]["packets"].as_u64().unwrap() >= packets, "{port}");
}

#[test]
fn what_a_full_queue_drops_is_what_does_not_arrive() {
    skip_unless_linked!();
    IO.iter().for_each(|io| a_full_queue(io));
}

fn a_full_queue(io: &'static str) {
    let testbed = Testbed::on(io, false);
    let mut forwarder = testbed.forward(
        r#"
        [[users]]
        prefix = "10.9.0.1"
        [[ports]]
        interface = "p0"
        [[ports]]
        interface = "p1"
        egress = { rate = "6 Mbit/s", queue = { scheme = "droptail", limit = "20 packets" } }
        "#,
    );
    let mut sink = testbed.sink(TO);
    let rate = ["--rate", "24 Mbit/s", "--payload", "1472", "--gaps", "poisson", "--time", "1 s"];
    let begin = Instant::now();
    let sent = testbed.send(&[&[TO][..], &rate].concat());
    let dropped = |report: &Json| report["ports"][1]["egress"]["users"][0]["dropped_packets"].as_u64().unwrap();
    let (stream, report) = arrived(&mut sink, &mut forwarder, &sent, dropped);
    // 1500 B at 6 Mbit/s are 500 packets per second.
    let most = begin.elapsed().as_secs_f64() * 500.0;
    let user = &report["ports"][1]["egress"]["users"][0];
    let dropped = user["dropped_packets"].as_u64().unwrap();
    assert_eq!(user["arrived"]["packets"], sent["packets"]);
    assert_eq!(user["departed"]["packets"], stream["packets"]);
    assert_eq!(sent["packets"].as_u64().unwrap(), dropped + stream["packets"].as_u64().unwrap());
    // The sender offers four times the rate, so the queue of 20 packets fills. The port never exceeds its rate.
    let packets = stream["packets"].as_u64().unwrap();
    assert!(dropped > 0 && packets >= 20 && packets as f64 <= most, "{stream} in {most}");
    assert_eq!(forwarder.report()["held_frames"], 0);
}

/// Starts the node as the router of both subnets. `egress` configures its port to the server.
fn router(testbed: &Testbed, egress: &str) -> Running {
    testbed.forward(&format!(
        "[[ports]]\ninterface = \"p0\"\naddress = \"10.9.0.254/24\"\n\
         [[ports]]\ninterface = \"p1\"\naddress = \"10.8.0.254/24\"\negress = {{ {egress} }}\n"
    ))
}

#[test]
fn a_router_joins_subnets_and_finds_neighbours_by_itself() {
    skip_unless_linked!();
    IO.iter().for_each(|io| a_router(io));
}

fn a_router(io: &'static str) {
    let testbed = Testbed::routed(io);
    let queue = "queue = { scheme = \"droptail\", limit = \"1000 packets\" }";
    let mut forwarder = router(&testbed, &format!("rate = \"100 Mbit/s\", delay = \"2 ms\", {queue}"));
    let to = format!("{}:9000", crate::testbed::FAR_SERVER);
    let mut sink = testbed.sink(&to);
    // Packets sent before the neighbour answers ARP are lost: one or two at 1 Mbit/s.
    let first = testbed.send(&[&to, "--rate", "1 Mbit/s", "--payload", "972", "--time", "0.5 s"]);
    let unresolved = |report: &Json| report["ports"][0]["ingress"]["router"]["unresolved"].as_u64().unwrap();
    let (stream, report) = arrived(&mut sink, &mut forwarder, &first, unresolved);
    let lost = report["ports"][0]["ingress"]["router"]["unresolved"].as_u64().unwrap();
    assert!(lost >= 1, "{report}");
    assert_eq!(first["packets"].as_u64().unwrap(), lost + stream["packets"].as_u64().unwrap(), "{report}");
    let second = testbed.send(&[&to, "--rate", "5 Mbit/s", "--payload", "972", "--time", "0.5 s"]);
    let (stream, report) = arrived(&mut sink, &mut forwarder, &second, none);
    assert_eq!(stream["packets"], second["packets"], "{report}");
    // An unused address: packets are dropped, and an ARP request is sent once a second.
    let nobody = testbed.send(&["10.8.0.77:9000", "--rate", "1 Mbit/s", "--payload", "972", "--time", "0.5 s"]);
    let nowhere = testbed.send(&["192.0.2.1:9000", "--rate", "1 Mbit/s", "--payload", "972", "--time", "0.2 s"]);
    let router = |report: &Json| report["ports"][0]["ingress"]["router"].clone();
    let counts = |router: &Json| router["unresolved"] == nobody["packets"] && router["no_route"] == nowhere["packets"];
    let [report] = until([&mut forwarder], |[report]| counts(&router(report)));
    assert!(counts(&router(&report)), "{report}: {nobody}, {nowhere}");
}

#[test]
fn a_router_answers_echo_requests_and_tells_senders_of_links_that_are_too_small() {
    skip_unless_linked!();
    let testbed = Testbed::routed("af-packet");
    let mut forwarder = router(&testbed, "mtu = \"1000 B\"");
    // The client's kernel reports ICMP errors to programs through connected UDP sockets (ip(7), IP_RECVERR).
    let program = r#"
import socket, struct, sys, time
def told(ttl, payload, to):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, 11, 1)
    s.setsockopt(socket.IPPROTO_IP, 10, 2)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
    s.settimeout(2)
    s.connect((to, 9))
    for _ in range(20):
        try:
            s.send(bytes(payload))
            time.sleep(.1)
            _, anc, _, _ = s.recvmsg(1, 512, 0x2000 | 0x40)
        except OSError: pass
        else:
            error, origin, kind, code, _, info, _ = struct.unpack("=IBBBBII", anc[0][2][:16])
            return kind, code, info
print(told(1, 100, "10.8.0.9"), told(64, 1200, "10.8.0.9"), told(64, 100, "192.0.2.1"))
"#;
    // The errors are: time exceeded; fragmentation needed, with the MTU; no route to the network.
    assert_eq!(testbed.python(program).trim(), "(11, 0, 0) (3, 4, 1000) (3, 0, 0)");
    let ping = r#"
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(2)
words = (8 << 8, 77, 1)
s.sendto(struct.pack("!HHHH", words[0], 0xffff - sum(words), *words[1:]), ("10.9.0.254", 0))
packet = s.recv(512)
print(packet[20], struct.unpack("!HH", packet[24:28]))
"#;
    assert_eq!(testbed.python(ping).trim(), "0 (77, 1)");
    let router = forwarder.report()["ports"][0]["ingress"]["router"].clone();
    assert!(router["icmp"].as_u64().unwrap() >= 3 && router["too_big"].as_u64().unwrap() >= 1, "{router}");
}

#[test]
fn frames_with_any_tags_and_protocol_pass_unchanged() {
    skip_unless_linked!();
    IO.iter().for_each(|io| any_tags(io));
}

fn any_tags(io: &'static str) {
    let testbed = Testbed::on(io, false);
    let _forwarder = testbed.forward("[[ports]]\ninterface = \"p0\"\n[[ports]]\ninterface = \"p1\"\n");
    let addresses = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1];
    // The frames have no tag, an 802.1Q tag, or an 802.1ad and an 802.1Q tag, each followed by an Ethertype that no
    // protocol uses.
    let tags: [&[u8]; 3] = [&[], &[0x81, 0, 0x60, 5], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9]];
    let sent: Vec<Vec<u8>> =
        tags.iter().map(|tags| [&addresses[..], tags, &[0x88, 0xb5], &[7; 1490]].concat()).collect();
    let received = testbed.exchange(&sent, Duration::from_secs(10));
    assert_eq!(received, sent);
}

#[test]
fn frames_whose_checksum_is_left_to_a_card_are_dropped_and_counted() {
    skip_unless_linked!();
    IO.iter().for_each(|io| no_checksum(io));
}

fn no_checksum(io: &'static str) {
    let testbed = Testbed::on(io, true);
    let mut forwarder = testbed.forward("[[ports]]\ninterface = \"p0\"\n[[ports]]\ninterface = \"p1\"\n");
    let mut sink = testbed.sink(TO);
    let sent = testbed.send(&[TO, "--rate", "1 Mbit/s", "--payload", "1000", "--time", "0.2 s"]);
    let counted = |report: &Json| report["ports"][0]["ingress"]["without_checksum"].clone();
    let [report] = until([&mut forwarder], |[report]| counted(report) == sent["packets"]);
    assert_eq!(counted(&report), sent["packets"]);
    assert_eq!(sink.report()["streams"], json!([]));
}

#[test]
fn a_port_that_goes_down_costs_nothing_and_carries_packets_when_it_is_back() {
    skip_unless_linked!();
    IO.iter().for_each(|io| a_port_down(io));
}

fn a_port_down(io: &'static str) {
    let testbed = Testbed::on(io, false);
    let mut forwarder = testbed.forward("[[ports]]\ninterface = \"p0\"\n[[ports]]\ninterface = \"p1\"\n");
    let mut sink = testbed.sink(TO);
    let is_up = |up: bool| move |[report]: &[Json; 1]| report["ports"][1]["up"] == up;
    for restore in ["up again", "made anew"] {
        testbed.node_ip("link set p1 down");
        let [down] = until([&mut forwarder], is_up(false));
        let before = forwarder.cpu_time();
        // 25 packets arrive per second and cannot leave.
        let sent = testbed.send(&[TO, "--rate", "200 kbit/s", "--payload", "972", "--time", "1 s"]);
        let spent = forwarder.cpu_time() - before;
        // While the port is down, the forwarder checks the port 10 times a second and signals 20 times a second. Busy
        // waiting would use a second of CPU time.
        assert!(spent < Duration::from_millis(200), "{spent:?}");
        let errors = |report: &Json| report["ports"][1]["egress"]["send_errors"].as_u64().unwrap();
        let [report] = until([&mut forwarder], |[report]| errors(report) > 0);
        assert_eq!((&report["ports"][1]["up"], &report["ports"][0]["up"]), (&json!(false), &json!(true)));
        assert!(errors(&report) > 0, "{report}, {sent}");
        let outages = |report: &Json| report["ports"][1]["ingress"]["outages"].as_u64().unwrap();
        assert_eq!(outages(&down) + outages(&report), 1, "{down} {report}");
        if restore == "up again" {
            testbed.node_ip("link set p1 up");
        } else {
            testbed.make_server_link_anew();
        }
        until([&mut forwarder], is_up(true));
        sink.report();
        let sent = testbed.send(&[TO, "--rate", "1 Mbit/s", "--payload", "972", "--time", "0.3 s"]);
        let (stream, report) = arrived(&mut sink, &mut forwarder, &sent, none);
        assert_eq!(stream["packets"], sent["packets"], "{restore}: {report}");
        assert_eq!(report["ports"][1]["up"], true);
    }
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    skip_unless_linked!();
    let file = std::env::temp_dir().join(format!("fairlane-test-{}.toml", std::process::id()));
    std::fs::write(&file, "[[ports]]\ninterface = \"nowhere0\"\n[[ports]]\ninterface = \"lo\"\n").unwrap();
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_fairlane-node")).arg("forward").arg(&file).output().unwrap();
    std::fs::remove_file(file).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: nowhere0: no such network interface\n");
    assert!(!output.status.success());
}
