//! Network namespaces of a test, and commands in them. The namespaces are removed even if the test fails.
#![allow(dead_code)]

use serde_json::Value as Json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Ends the test and prints the reason if namespaces cannot be created.
#[macro_export]
macro_rules! skip_unless_live {
    () => {
        skip_unless_possible!();
        if let Some(reason) = $crate::lab::missing() {
            println!("skipped: {reason}");
            return;
        }
    };
}

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Required features, tested in a temporary namespace.
const PROBE: &str = "ip link add v0 type veth && tc qdisc add dev v0 clsact && \
                     tc qdisc add dev v0 root handle 1: htb && tc qdisc replace dev v0 root tbf rate 1mbit burst 1600 \
                     limit 3000";

/// Configuration that meters packets arriving at `in0` and runs ABC for packets leaving through `out0`.
pub const TWO_PORTS: &str = "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n\
                             [[ports]]\ninterface = \"out0\"\nqueue = { scheme = \"abc\" }\n";

/// Reason why a lab cannot be created, if any.
pub fn missing() -> Option<String> {
    for program in ["ip", "tc", "nsenter", "unshare", "sysctl", "python3", "timeout"] {
        if Command::new(program).arg("-V").output().is_err() {
            return Some(format!("there is no {program}"));
        }
    }
    let probe = Command::new("unshare").args(["--net", "sh", "-c", PROBE]).output();
    match probe {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            Some(format!("no namespaces, veth or qdiscs: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Named namespaces, and a separate BPF file system.
pub struct Lab {
    prefix: String,
    names: Vec<&'static str>,
    folder: PathBuf,
}

impl Lab {
    /// Creates the namespaces, without IPv6 so that the kernel sends no packets itself.
    pub fn new(names: &[&'static str]) -> Self {
        let prefix = format!("fl{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(&prefix);
        let lab = Self { prefix, names: names.to_vec(), folder };
        fs::create_dir(lab.bpf_folder().parent().unwrap()).unwrap();
        fs::create_dir(lab.bpf_folder()).unwrap();
        done(Command::new("mount").args(["-t", "bpf", "bpf"]).arg(lab.bpf_folder()));
        for name in names {
            done(Command::new("ip").args(["netns", "add", &lab.namespace(name)]));
            lab.run(name, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
            lab.run(name, "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0");
            lab.run(name, "ip link set lo up");
        }
        lab
    }

    /// Creates a client, a node and a server in a row. The node's port to the server is `out0`.
    pub fn one_node() -> Self {
        let lab = Self::new(&["c", "n", "s"]);
        lab.wire(("c", "c0", "10.1.0.2"), ("n", "in0", "10.1.0.1"));
        lab.wire(("n", "out0", "10.2.0.1"), ("s", "s0", "10.2.0.2"));
        lab.routes(&[("c", "default via 10.1.0.1"), ("s", "default via 10.2.0.1")]);
        lab
    }

    /// Creates client - edge a - core b - server. The link between a and b carries labels.
    pub fn two_nodes() -> Self {
        let lab = Self::new(&["c", "a", "b", "s"]);
        lab.wire(("c", "c0", "10.1.0.2"), ("a", "in0", "10.1.0.1"));
        lab.wire(("a", "mid0", "10.3.0.1"), ("b", "mid1", "10.3.0.2"));
        lab.wire(("b", "out1", "10.2.0.1"), ("s", "s0", "10.2.0.2"));
        let (edge, core) = (("a", "10.2.0.0/24 via 10.3.0.2"), ("b", "10.1.0.0/24 via 10.3.0.1"));
        lab.routes(&[("c", "default via 10.1.0.1"), edge, core, ("s", "default via 10.2.0.1")]);
        lab
    }

    pub fn routes(&self, routes: &[(&str, &str)]) {
        for (name, route) in routes {
            self.run(name, &format!("ip route add {route}"));
        }
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub fn netns_path(&self, name: &str) -> String {
        format!("/run/netns/{}", self.namespace(name))
    }

    fn bpf_folder(&self) -> PathBuf {
        self.folder.join("bpf")
    }

    /// Adds a veth pair with `(namespace, interface, address)` at either end. Neighbours are configured, so no ARP is
    /// sent.
    pub fn wire(&self, a: (&str, &str, &str), b: (&str, &str, &str)) {
        let (from, to) = (self.namespace(a.0), self.namespace(b.0));
        let pair = ["-n", &from, "link", "add", a.1, "type", "veth", "peer", "name", b.1, "netns", &to];
        done(Command::new("ip").args(pair));
        for ((namespace, interface, address), (_, _, peer_address)) in [(a, b), (b, a)] {
            let mac = mac(address);
            self.run(namespace, &format!("ip link set {interface} address {mac} up"));
            self.run(namespace, &format!("ip addr add {address}/24 dev {interface}"));
            let peer_mac = self::mac(peer_address);
            self.run(
                namespace,
                &format!("ip neigh add {peer_address} lladdr {peer_mac} dev {interface} nud permanent"),
            );
        }
    }

    pub fn wire6(&self, a: (&str, &str, &str), b: (&str, &str, &str)) {
        for (namespace, interface, address) in [a, b] {
            self.run(namespace, &format!("sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=0"));
            self.run(namespace, "sysctl -qw net.ipv6.conf.all.forwarding=1");
            self.run(namespace, &format!("ip addr add {address}/64 dev {interface} nodad"));
        }
    }

    /// Writes a configuration whose pins are in the folder `name`. Returns its path.
    pub fn config(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(format!("{name}.toml"));
        let pins = self.bpf_folder().join(name);
        fs::write(&path, format!("[node]\npin_path = \"{}\"\n{text}", pins.display())).unwrap();
        path
    }

    /// Writes a file that is removed with the lab.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Creates a folder that is removed with the lab.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Folder of the pins of a configuration, by name.
    pub fn pins_of(&self, name: &str) -> PathBuf {
        self.bpf_folder().join(name)
    }

    pub fn pins(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.bpf_folder()).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| !path.to_string_lossy().ends_with(".debug")).collect()
    }

    /// A command in a namespace, stopped after `seconds`.
    pub fn command_within(&self, name: &str, seconds: u64, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.netns_path(name)));
        command.args(["timeout", &seconds.to_string(), program]);
        command
    }

    /// A command in a namespace, stopped after 20 s.
    pub fn command(&self, name: &str, program: &str) -> Command {
        self.command_within(name, 20, program)
    }

    /// Runs a command line, split at spaces, in a namespace; it must succeed. Returns its output.
    pub fn run(&self, name: &str, words: &str) -> String {
        let mut words = words.split(' ');
        let mut command = self.command(name, words.next().unwrap());
        done(command.args(words))
    }

    /// Runs `fairlane-node VERB CONFIG`.
    pub fn node(&self, name: &str, verb: &str, config: &std::path::Path) -> Output {
        self.command(name, env!("CARGO_BIN_EXE_fairlane-node")).arg(verb).arg(config).output().unwrap()
    }

    /// The same, which must succeed.
    pub fn node_ok(&self, name: &str, verb: &str, config: &std::path::Path) -> String {
        done(self.command(name, env!("CARGO_BIN_EXE_fairlane-node")).arg(verb).arg(config))
    }

    pub fn status(&self, name: &str, config: &std::path::Path) -> Json {
        let mut command = self.command(name, env!("CARGO_BIN_EXE_fairlane-node"));
        serde_json::from_str(&done(command.args(["status", "--json"]).arg(config))).unwrap()
    }

    pub fn python(&self, name: &str, program: &str) -> String {
        done(self.command(name, "python3").arg("-c").arg(program))
    }

    /// Starts a Python program in a namespace. Returns when it has printed a line to report that it is ready.
    pub fn start_python(&self, name: &str, program: &str) -> Child {
        let mut command = self.command(name, "python3");
        command.arg("-c").arg(program);
        start(command)
    }

    /// Starts a user-space forwarder in a namespace and returns when it is ready.
    pub fn start_forwarder(&self, name: &str, config: &str) -> Child {
        let path = self.folder.join("forward.toml");
        fs::write(&path, config).unwrap();
        let mut command = self.command(name, env!("CARGO_BIN_EXE_fairlane-node"));
        command.arg("forward").arg(path);
        start(command)
    }

    /// Sends `count` UDP packets with `payload` bytes.
    pub fn send(&self, name: &str, to: &str, payload: u32, count: u32, tos: u32) {
        self.python(
            name,
            &format!(
                "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
                 s.setsockopt(socket.IPPROTO_IP,socket.IP_TOS,{tos})\n\
                 for _ in range({count}): s.sendto(bytes({payload}),('{to}',9))"
            ),
        );
    }

    pub fn qdisc(&self, name: &str, interface: &str) -> Json {
        let text = self.run(name, &format!("tc -s -j qdisc show dev {interface} root"));
        serde_json::from_str::<Json>(&text).unwrap()[0].clone()
    }

    /// All settings of a namespace that attaching could change.
    pub fn traces(&self, name: &str) -> String {
        let mut text = self.run(name, "tc qdisc show") + &self.run(name, "ip -o link show");
        let interfaces = self.run(name, "ip -o -br link show");
        for interface in interfaces.lines().filter_map(|line| line.split(['@', ' ']).next()) {
            for side in ["ingress", "egress"] {
                text += &self.run(name, &format!("tc filter show dev {interface} {side}"));
            }
        }
        format!("{text}{:?}", self.pins())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", &self.namespace(name)]).output();
        }
        let _ = Command::new("umount").arg(self.bpf_folder()).output();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Time of the monotonic clock, as in Python's `time.monotonic()`.
pub fn now_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

pub fn port<'a>(status: &'a Json, interface: &str) -> &'a Json {
    status["ports"].as_array().unwrap().iter().find(|port| port["interface"] == interface).unwrap()
}

/// The average of the labels that a port has seen.
pub fn average_activity(status: &Json, interface: &str) -> f64 {
    port(status, interface)["average_activity"].as_f64().unwrap()
}

/// Checks that the averages at both ends of the link, at `mid0` and at the port `out1` behind it, come from the same
/// labels.
///
/// The averages are not exactly equal. Their time constant is 0.3 s, so a pause of a tenth of a second between the two
/// ports changes the weights. This moves an average by less than the range of labels in a burst of 30 packets, log2(30)
/// = 4.9. If 20 of 50 labels were -32, the lowest activity, the average would move by 14.
pub fn assert_same_labels(edge: &Json, core: &Json) {
    let difference = average_activity(edge, "mid0") - average_activity(core, "out1");
    assert!(difference.abs() < 5.0, "{difference} {edge} {core}");
}

pub fn user<'a>(status: &'a Json, name: &str) -> Option<&'a Json> {
    status["users"].as_array().unwrap().iter().find(|user| user["user"] == name)
}

/// A MAC address derived from an IP address.
pub fn mac(address: &str) -> String {
    let [a, b, c, d]: [u8; 4] = address.parse::<std::net::Ipv4Addr>().unwrap().octets();
    format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

/// Starts a command. Returns when it has printed a line to report that it is ready.
fn start(mut command: Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    child
}

/// Runs a command, which must succeed. Returns its output.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
