//! Tests that no packet is lost because no node removed its label, even if nodes are attached and detached in any order
//! and commands are killed.
#![cfg(feature = "ebpf")]

use crate::lab::{Lab, now_s, port};
use fairlane_schemes::base::rng::Rng;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const NODE: &str = env!("CARGO_BIN_EXE_fairlane-node");

/// Sends a packet every 5 ms, which the server returns, until standard input ends. Then prints the send times of lost
/// packets.
const CLIENT: &str = "
import select, socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('10.2.0.2', 9))
s.settimeout(0.05)
# Links that have just come up drop packets for a while.
end = time.monotonic() + 15
while time.monotonic() < end:
    try:
        s.send(bytes(4))
        s.recv(99)
        break
    except OSError:
        pass
time.sleep(0.05)
s.setblocking(False)
sent, number, due, end = {}, 1, time.monotonic(), None
print('ready', flush=True)
while end is None or (sent and time.monotonic() < end):
    now = time.monotonic()
    if end is None and now >= due:
        sent[number] = now
        s.send(struct.pack('!I', number))
        number, due = number + 1, max(due + 0.005, now)
    ready, _, _ = select.select([s, sys.stdin] if end is None else [s], [], [], 0.005)
    if s in ready:
        sent.pop(struct.unpack('!I', s.recv(99))[0], None)
    if sys.stdin in ready:
        end = now + 2
print(number, *sent.values())
";

const SERVER: &str = "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('10.2.0.2', 9))
print('ready', flush=True)
while True:
    data, peer = s.recvfrom(99)
    s.sendto(data, peer)
";

/// Continuous traffic to the server and back.
struct Traffic {
    server: Child,
    client: Child,
    stop: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl Traffic {
    fn start(lab: &Lab) -> Self {
        let python = |name: &str, program: &str| {
            let mut command = lab.command_within(name, 300, "python3");
            let command = command.arg("-c").arg(program).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap());
            lines.read_line(&mut String::new()).unwrap();
            (child, lines)
        };
        let (server, _) = python("s", SERVER);
        let (mut client, lines) = python("c", CLIENT);
        let stop = client.stdin.take();
        Self { server, client, stop, lines }
    }

    /// Returns the send times of packets that did not return, except in the given intervals.
    fn lost(mut self, apart_from: &[(f64, f64)]) -> Vec<f64> {
        drop(self.stop.take());
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let mut words = line.split_whitespace();
        let sent: u32 = words.next().unwrap().parse().unwrap();
        assert!(sent > 20, "{line}");
        let times = words.map(|word| word.parse::<f64>().unwrap());
        times.filter(|at| !apart_from.iter().any(|(from, to)| (*from..=*to).contains(at))).collect()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        for child in [&mut self.client, &mut self.server] {
            let _ =
                rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::TERM);
            let _ = child.wait();
        }
    }
}

/// The two routers of docs/howto/two-routers.md with their files.
struct Routers {
    lab: Lab,
    edge: PathBuf,
    core: PathBuf,
}

impl Routers {
    fn new(carrier: &str) -> Self {
        Self::of(crate::howto::routers(), carrier)
    }

    fn of(lab: Lab, carrier: &str) -> Self {
        let file = |name: &str, example: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/node").join(example);
            lab.config(name, &std::fs::read_to_string(path).unwrap().replace("802.1ad", carrier))
        };
        let (edge, core) = (file("a", "edge.toml"), file("b", "core.toml"));
        Self { lab, edge, core }
    }
}

const CARRIERS: [&str; 3] = ["802.1ad", "shim", "ipv6_option"];

/// Waits for the time of some hundred packets.
fn pass_time() {
    std::thread::sleep(Duration::from_secs(1));
}

#[test]
fn an_edge_before_its_core_loses_nothing() {
    skip_unless_live!();
    for carrier in CARRIERS {
        let Routers { lab, edge, core } = Routers::new(carrier);
        let traffic = Traffic::start(&lab);
        lab.node_ok("a", "attach", &edge);
        pass_time();
        lab.node_ok("b", "attach", &core);
        pass_time();
        let lost = traffic.lost(&[]);
        assert!(lost.is_empty(), "{carrier}: {} packets were lost", lost.len());
    }
}

#[test]
fn a_core_that_is_detached_before_its_edge_loses_nothing() {
    skip_unless_live!();
    for carrier in CARRIERS {
        let Routers { lab, edge, core } = Routers::new(carrier);
        lab.node_ok("b", "attach", &core);
        lab.node_ok("a", "attach", &edge);
        let traffic = Traffic::start(&lab);
        pass_time();
        lab.node_ok("b", "detach", &core);
        pass_time();
        let lost = traffic.lost(&[]);
        assert!(lost.is_empty(), "{carrier}: {} packets were lost", lost.len());
    }
}

fn at_edge(routers: &Routers) -> serde_json::Value {
    port(&routers.lab.status("a", &routers.edge), "eth1").clone()
}

fn wait_until(routers: &Routers, state: &str) {
    let until = Instant::now() + Duration::from_secs(15);
    while at_edge(routers)["labels"] != state {
        assert!(Instant::now() < until, "not {state}: {}", at_edge(routers));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn findings(routers: &Routers, router: &str, config: &Path) -> String {
    String::from_utf8(routers.lab.node(router, "check", config).stdout).unwrap()
}

#[test]
fn an_edge_says_whether_it_writes_labels_and_why_not() {
    skip_unless_live!();
    let routers = Routers::new("802.1ad");
    let Routers { lab, edge, core } = &routers;
    lab.node_ok("a", "attach", edge);
    assert_eq!(at_edge(&routers)["labels"], "idle");
    let traffic = Traffic::start(lab);
    wait_until(&routers, "waiting");
    let neighbour = &at_edge(&routers)["neighbours"][0];
    assert_eq!((&neighbour["mac"], &neighbour["reads"]), (&"02:00:0a:03:00:02".into(), &false.into()), "{neighbour}");
    let wanted = "02:00:0a:03:00:02 has not said for ";
    for text in [lab.node_ok("a", "status", edge), findings(&routers, "a", edge)] {
        assert!(text.contains("labels (802.1ad) are held back, ") && text.contains(wanted), "{text}");
    }
    let scrape = |state: &str, value: u32| {
        let text = crate::operate::scrape((lab, "a"), edge, &[], || (), 1);
        let line = format!("fairlane_port_labels{{port=\"eth1\",state=\"{state}\"}} {value}\n");
        assert!(text.contains(&line), "{line} in {text}");
    };
    scrape("waiting", 1);
    lab.node_ok("b", "attach", core);
    wait_until(&routers, "written");
    assert!(
        lab.node_ok("a", "status", edge).contains("labels (802.1ad) are written; the far end says that it reads them")
    );
    assert!(!findings(&routers, "a", edge).contains("held back"));
    scrape("waiting", 0);
    scrape("written", 1);
    assert!(lab.status("b", core)["ingress"]["trusted"].as_u64().unwrap() > 0);
    let detached = lab.node("b", "detach", core);
    let told = "warning: eth0: asking the far end to stop writing labels before detaching; this takes some seconds\n";
    assert_eq!(String::from_utf8(detached.stderr).unwrap(), told);
    wait_until(&routers, "waiting");
    assert_eq!(traffic.lost(&[]), Vec::<f64>::new());
}

#[test]
fn a_detach_that_is_killed_loses_nothing_and_the_next_attach_goes_on() {
    skip_unless_live!();
    let routers = Routers::new("shim");
    let Routers { lab, edge, core } = &routers;
    lab.node_ok("a", "attach", edge);
    lab.node_ok("b", "attach", core);
    let traffic = Traffic::start(lab);
    wait_until(&routers, "written");
    let mut detach = tool(lab, "b", &["detach"], core);
    // `detach` waits at least 2 s from the moment at which the port stops answering.
    let is_silent = || port(&lab.status("b", core), "eth0")["is_silent"] == true;
    let until = Instant::now() + Duration::from_secs(15);
    while !is_silent() {
        assert!(Instant::now() < until, "the port is not silent");
    }
    kill(&mut detach);
    for text in [lab.node_ok("b", "status", core), findings(&routers, "b", core)] {
        assert!(text.contains("reads labels and does not say so: a detach is under way, or was interrupted"), "{text}");
    }
    wait_until(&routers, "waiting");
    lab.node_ok("b", "attach", core);
    wait_until(&routers, "written");
    assert_eq!(traffic.lost(&[]), Vec::<f64>::new());
}

#[test]
fn labels_that_are_asserted_keep_the_core_from_going() {
    skip_unless_live!();
    let routers = Routers::new("802.1ad");
    let Routers { lab, edge, core } = &routers;
    let text = std::fs::read_to_string(edge).unwrap();
    std::fs::write(edge, text.replace("carrier =", "far_end = \"reads\"\ncarrier =")).unwrap();
    lab.node_ok("b", "attach", core);
    lab.node_ok("a", "attach", edge);
    assert_eq!(at_edge(&routers)["labels"], "asserted");
    let traffic = Traffic::start(lab);
    let refused = lab.node("b", "detach", core);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{error}");
    assert!(error.contains("error: ports: labels still come in at \"eth0\""), "{error}");
    // While labels still arrive, the removal of the package also fails, and so does a reload after which no port would
    // read them.
    let removed = remove(lab, "b", core).output().unwrap();
    let error = String::from_utf8(removed.stderr).unwrap();
    assert!(
        !removed.status.success() && error.ends_with("fairlane-node stays: its removal would lose packets\n"),
        "{error}"
    );
    let reading = std::fs::read_to_string(core).unwrap();
    std::fs::write(core, reading.replace("802.1ad", "shim")).unwrap();
    let reloaded = lab.node("b", "attach", core);
    assert!(String::from_utf8(reloaded.stderr).unwrap().contains("labels still come in at \"eth0\""));
    std::fs::write(core, reading).unwrap();
    lab.node_ok("b", "attach", core);
    assert_eq!(traffic.lost(&[]), Vec::<f64>::new());
    // The operator overrides this.
    let mut now = tool(lab, "b", &["detach", "--now"], core);
    assert!(now.wait().unwrap().success());
}

#[test]
fn a_reload_that_ends_the_reading_of_labels_loses_nothing() {
    skip_unless_live!();
    let routers = Routers::new("802.1ad");
    let Routers { lab, edge, core } = &routers;
    lab.node_ok("b", "attach", core);
    lab.node_ok("a", "attach", edge);
    let traffic = Traffic::start(lab);
    wait_until(&routers, "written");
    for path in [core, edge] {
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, text.replace("802.1ad", "shim")).unwrap();
    }
    lab.node_ok("b", "attach", core);
    wait_until(&routers, "waiting");
    lab.node_ok("a", "attach", edge);
    wait_until(&routers, "written");
    assert_eq!(traffic.lost(&[]), Vec::<f64>::new());
}

/// Simulates a detach that was killed after removing the programs and some pins, and an attach that was killed before
/// creating all pins.
#[test]
fn pins_that_a_killed_tool_left_are_no_obstacle() {
    skip_unless_live!();
    let Routers { lab, core, .. } = &Routers::new("802.1ad");
    let pins = lab.pins_of("b");
    let removed = ["config", "users", "addresses", "ports"];
    for gone in [&removed[..1], &removed[..3], &removed, &removed[2..3], &removed[3..]] {
        lab.node_ok("b", "attach", core);
        let links = std::fs::read_dir(&pins).unwrap().flatten().map(|entry| entry.path());
        for link in links.filter(|path| path.to_string_lossy().contains("/link-")) {
            std::fs::remove_file(link).unwrap();
        }
        for name in gone {
            std::fs::remove_file(pins.join(name)).unwrap();
        }
        let status = String::from_utf8(lab.node("b", "status", core).stderr).unwrap();
        assert!(status.starts_with("error: nothing is attached"), "{gone:?}: {status}");
        assert!(lab.node("b", "check", core).status.success(), "{gone:?}");
        assert_eq!(lab.node_ok("b", "attach", core), "attached: 2 ports\n", "{gone:?}");
        assert_eq!(lab.node_ok("b", "detach", core), "detached: 2 ports\n", "{gone:?}");
        assert!(!pins.exists(), "{gone:?}");
    }
}

fn tool(lab: &Lab, router: &str, words: &[&str], config: &Path) -> Child {
    let mut command = lab.command(router, NODE);
    command.args(words).arg(config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the tool that `timeout` runs, with all processes that it started, then waits for `timeout`.
fn kill(child: &mut Child) {
    for id in descendants(child.id()) {
        // It may already have ended.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(id.cast_signed()).unwrap(),
            rustix::process::Signal::KILL,
        );
    }
    child.wait().unwrap();
}

fn descendants(id: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().map(|id| id.parse().unwrap());
    children.flat_map(|id| [vec![id], descendants(id)].concat()).collect()
}

/// Returns a command with the part of `apt remove` that affects the node. It runs the package's script with the test's
/// configuration in /etc and its tool in /usr/sbin, without systemd.
fn remove(lab: &Lab, router: &str, config: &Path) -> Command {
    let (etc, sbin) = (lab.folder(&format!("etc-{router}/fairlane")), lab.folder("sbin"));
    let _ = std::fs::copy(config, etc.join("node.toml"));
    let _ = std::os::unix::fs::symlink(NODE, sbin.join("fairlane-node"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/deb/prerm");
    let mounts = "mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount --bind \"$0\" /etc && \
                  mount --bind \"$1\" /usr/sbin && exec sh \"$2\" remove";
    let mut command = lab.command(router, "unshare");
    command.args(["--mount", "sh", "-c", mounts]).args([etc.parent().unwrap(), &sbin, &script]);
    command
}

/// A test case: the commands of the how-to in some order, and the removal of the package from a router at a random
/// position.
struct Case {
    number: u64,
    carrier: &'static str,
    commands: Vec<(&'static str, &'static str)>,
}

const REMOVE: &str = "apt remove fairlane-node";

/// Commands that replace a qdisc. Packets may be lost during the change, so the test ignores that interval.
const CHANGES_A_QUEUE: &str = "tc ";

impl Case {
    /// Runs the case. Each command is killed at a random time, and then runs again to its end. Finally both nodes are
    /// attached. Once labels are written, the package is removed from router b.
    fn play(&self) {
        let mut rng = Rng::stream(38, 0, "order", self.number);
        let routers = Routers::new(self.carrier);
        let Routers { lab, edge, core } = &routers;
        let config_of = |router: &str| if router == "a" { edge } else { core };
        let texts = [edge, core].map(|path| std::fs::read_to_string(path).unwrap());
        for path in [edge, core] {
            std::fs::remove_file(path).unwrap();
        }
        let traffic = Traffic::start(lab);
        let mut apart = Vec::new();
        for (router, command) in &self.commands {
            let (config, text) = (config_of(router), &texts[usize::from(*router == "b")]);
            let begin = now_s();
            if command.starts_with("cp ") {
                std::fs::write(config, &text[..rng.bits() as usize % text.len()]).unwrap();
                std::fs::write(config, text).unwrap();
            } else if let Some(start) = started(lab, router, command, config) {
                let mut half = start();
                std::thread::sleep(Duration::from_millis(rng.bits() % 400));
                kill(&mut half);
                // Some commands fail because their files do not exist yet.
                start().wait().unwrap();
            }
            if command.starts_with(CHANGES_A_QUEUE) {
                apart.push((begin - 0.1, now_s() + 0.1));
            }
        }
        for (router, text) in ["a", "b"].into_iter().zip(&texts) {
            std::fs::write(config_of(router), text).unwrap();
            lab.node_ok(router, "attach", config_of(router));
        }
        wait_until(&routers, "written");
        assert!(remove(lab, "b", core).output().unwrap().status.success());
        let lost = traffic.lost(&apart);
        assert!(lost.is_empty(), "{} {} {:?}: {lost:?} apart from {apart:?}", self.number, self.carrier, self.commands);
    }
}

/// Returns a function that starts a command, if the command affects the node.
fn started<'a>(lab: &'a Lab, router: &'a str, command: &'a str, config: &'a Path) -> Option<impl Fn() -> Child + 'a> {
    let is_of_apt = command.starts_with("apt install");
    (!is_of_apt).then_some(move || {
        let mut started = if command == REMOVE {
            remove(lab, router, config)
        } else if command.starts_with("systemctl ") {
            let mut attach = lab.command(router, NODE);
            attach.arg("attach").arg(config);
            attach
        } else {
            let words = command.replace("/etc/fairlane/node.toml", &config.display().to_string());
            let words = words.replace("fairlane-node", NODE);
            let mut words = words.split(' ');
            let mut command = lab.command(router, words.next().unwrap());
            command.args(words);
            command
        };
        started.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    })
}

/// Inserts a removal at a random position.
fn with_removal(mut commands: Vec<(&'static str, &'static str)>, number: u64) -> Case {
    let mut rng = Rng::stream(38, 0, "removal", number);
    let at = rng.bits() as usize % (commands.len() + 1);
    commands.insert(at, (if rng.bits().is_multiple_of(2) { "a" } else { "b" }, REMOVE));
    Case { number, carrier: if number.is_multiple_of(2) { "802.1ad" } else { "shim" }, commands }
}

#[test]
fn the_commands_of_the_how_to_lose_nothing_in_any_order() {
    skip_unless_live!();
    for number in 0..6 {
        let mut commands = crate::howto::commands();
        let mut rng = Rng::stream(38, 0, "shuffle", number);
        for last in (1..commands.len()).rev() {
            commands.swap(last, rng.bits() as usize % (last + 1));
        }
        with_removal(commands, number).play();
    }
}

/// Tests every interleaving of the two routers' commands. The commands of each router stay in order.
#[test]
#[ignore = "half an hour: make test-long"]
fn the_commands_of_the_how_to_lose_nothing_in_every_order() {
    skip_unless_live!();
    let all = crate::howto::commands();
    let mut number = 0;
    for mask in 0u32..1 << all.len() {
        let (mut edge, mut core) =
            (all.iter().filter(|(who, _)| *who == "a"), all.iter().filter(|(who, _)| *who == "b"));
        if mask.count_ones() as usize != edge.clone().count() {
            continue;
        }
        let in_order = (0..all.len()).map(|bit| if mask >> bit & 1 == 1 { edge.next() } else { core.next() });
        with_removal(in_order.map(|command| *command.unwrap()).collect(), number).play();
        number += 1;
    }
    assert_eq!(number, 210);
}

/// Tests failover: the path moves to a router on the same link that reads no labels, and back.
#[test]
fn of_two_routers_on_a_link_only_the_one_that_reads_labels_gets_any() {
    skip_unless_live!();
    let lab = Lab::new(&["c", "a", "x", "b", "d", "s"]);
    lab.wire(("c", "c0", "10.1.0.2"), ("a", "eth0", "10.1.0.1"));
    // A switch connects both routers.
    lab.run("x", "ip link add br0 type bridge");
    lab.run("x", "ip link set br0 up");
    for (router, port, address) in [("a", "eth1", "10.3.0.1"), ("b", "eth0", "10.3.0.2"), ("d", "eth0", "10.3.0.3")] {
        lab.wire((router, port, address), ("x", &format!("to-{router}"), "10.9.0.9"));
        lab.run("x", &format!("ip link set to-{router} master br0"));
    }
    for (router, address) in [("a", "10.3.0.2"), ("a", "10.3.0.3"), ("b", "10.3.0.1"), ("d", "10.3.0.1")] {
        let port = if router == "a" { "eth1" } else { "eth0" };
        let mac = crate::lab::mac(address);
        lab.run(router, &format!("ip neigh replace {address} lladdr {mac} dev {port} nud permanent"));
    }
    lab.wire(("b", "eth1", "10.2.0.1"), ("s", "s0", "10.2.0.2"));
    lab.wire(("d", "eth1", "10.4.0.1"), ("s", "s1", "10.4.0.2"));
    lab.routes(&[
        ("c", "default via 10.1.0.1"),
        ("a", "10.2.0.0/24 via 10.3.0.2"),
        ("b", "10.1.0.0/24 via 10.3.0.1"),
        ("d", "10.1.0.0/24 via 10.3.0.1"),
        ("d", "10.2.0.2/32 via 10.4.0.2"),
        ("s", "default via 10.2.0.1"),
    ]);
    let routers = Routers::of(lab, "802.1ad");
    let Routers { lab, edge, core } = &routers;
    lab.node_ok("a", "attach", edge);
    lab.node_ok("b", "attach", core);
    let traffic = Traffic::start(lab);
    wait_until(&routers, "written");
    let reads = || {
        let all = at_edge(&routers)["neighbours"].as_array().unwrap().clone();
        all.iter().map(|neighbour| neighbour["reads"].as_bool().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(reads(), [true]);
    lab.run("a", "ip route replace 10.2.0.0/24 via 10.3.0.3");
    wait_until(&routers, "waiting");
    assert_eq!(reads(), [true, false]);
    lab.run("a", "ip route replace 10.2.0.0/24 via 10.3.0.2");
    wait_until(&routers, "written");
    assert_eq!(traffic.lost(&[]), Vec::<f64>::new());
}

/// A request to the far end is a modified clone of a packet, which may be a GSO packet with a partial checksum.
#[test]
fn packets_that_are_cut_up_later_ask_as_well() {
    skip_unless_live!();
    let routers = Routers::new("802.1ad");
    let Routers { lab, edge, core } = &routers;
    lab.node_ok("b", "attach", core);
    lab.node_ok("a", "attach", edge);
    let server = "import socket\nl=socket.create_server(('10.2.0.2',9))\nl.settimeout(18)\nprint('ready',flush=True)\n\
                  s,_=l.accept()\nwhile s.recv(1<<16): pass";
    let client = "import socket,time\ns=socket.create_connection(('10.2.0.2',9),10)\nend=time.monotonic()+6\n\
                  print('ready',flush=True)\nwhile time.monotonic()<end: s.sendall(bytes(1<<18))";
    let mut receiver = lab.start_python("s", server);
    let mut sender = lab.start_python("c", client);
    wait_until(&routers, "written");
    let held_back = at_edge(&routers)["labels_held_back"].clone();
    assert!(sender.wait().unwrap().success() && receiver.wait().unwrap().success());
    // This is longer than an answer is valid.
    assert_eq!(at_edge(&routers)["labels_held_back"], held_back);
    assert!(lab.status("b", core)["ingress"]["trusted"].as_u64().unwrap() > 100);
}

#[test]
fn a_core_that_is_a_bridge_answers_for_the_hosts_behind_it() {
    skip_unless_live!();
    let lab = Lab::new(&["c", "a", "b", "s"]);
    lab.wire(("c", "c0", "10.1.0.2"), ("a", "eth0", "10.1.0.1"));
    lab.wire(("a", "eth1", "10.2.0.1"), ("b", "eth0", "10.9.0.1"));
    lab.wire(("b", "eth1", "10.9.0.2"), ("s", "s0", "10.2.0.2"));
    lab.run("b", "ip link add br0 type bridge");
    for port in ["eth0", "eth1"] {
        lab.run("b", &format!("ip link set {port} master br0"));
    }
    lab.run("b", "ip link set br0 up");
    for (host, interface, other) in [("a", "eth1", "10.2.0.2"), ("s", "s0", "10.2.0.1")] {
        let mac = crate::lab::mac(other);
        lab.run(host, &format!("ip neigh replace {other} lladdr {mac} dev {interface} nud permanent"));
    }
    lab.routes(&[("c", "default via 10.1.0.1"), ("s", "default via 10.2.0.1")]);
    let routers = Routers::of(lab, "shim");
    let Routers { lab, edge, core } = &routers;
    lab.node_ok("a", "attach", edge);
    let traffic = Traffic::start(lab);
    lab.node_ok("b", "attach", core);
    wait_until(&routers, "written");
    let trusted = || lab.status("b", core)["ingress"]["trusted"].as_u64().unwrap();
    let before = trusted();
    pass_time();
    assert!(trusted() > before);
    lab.node_ok("b", "detach", core);
    wait_until(&routers, "waiting");
    assert_eq!(traffic.lost(&[]), Vec::<f64>::new());
}
