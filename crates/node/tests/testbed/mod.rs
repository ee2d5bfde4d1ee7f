//! A client and a server in network namespaces with the forwarder between them. The namespaces are removed even if the
//! test fails.
#![allow(dead_code)]

use fairlane_node::io::Interface;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const CLIENT: &str = "10.9.0.1";
pub const SERVER: &str = "10.9.0.9";
pub const FAR_SERVER: &str = "10.8.0.9";

/// Ends the test and prints the reason if namespaces cannot be created.
#[macro_export]
macro_rules! skip_unless_linked {
    () => {
        if let Some(reason) = $crate::testbed::missing() {
            println!("skipped: {reason}");
            return;
        }
    };
}

/// Reason why namespaces cannot be created, if any.
pub fn missing() -> Option<String> {
    if !geteuid().is_root() {
        return Some("not root".into());
    }
    let is_there = |program: &str| Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_there("ip").err().map(|error| format!("ip: {error}"))
}

/// I/O modes of the forwarder in this build.
pub const IO: &[&str] = if cfg!(feature = "ebpf") { &["af-packet", "af-xdp"] } else { &["af-packet"] };

/// The client's `c0` is connected to the node's `p0`, the server's `s0` to the node's `p1`.
pub struct Testbed {
    names: [String; 3],
    config: PathBuf,
    io: &'static str,
}

impl Testbed {
    /// Creates a testbed whose forwarder uses `AF_PACKET`.
    pub fn new(offload: bool) -> Self {
        Self::on("af-packet", offload)
    }

    /// Creates a testbed whose forwarder uses `io`. Hosts leave checksums to the network card only if `offload` is set.
    pub fn on(io: &'static str, offload: bool) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let names =
            ["client", "node", "server"].map(|role| format!("fairlane-test-{}-{number}-{role}", std::process::id()));
        let config = std::env::temp_dir().join(format!("{}.toml", names[1]));
        let testbed = Self { names, config, io };
        let [client, node, server] = &testbed.names;
        for name in &testbed.names {
            run(&format!("ip netns add {name}"));
            run(&format!("ip netns exec {name} sysctl -qw net.ipv6.conf.default.disable_ipv6=1"));
        }
        for (host, inner, outer, address) in [(client, "c0", "p0", CLIENT), (server, "s0", "p1", SERVER)] {
            run(&format!("ip -n {host} link add {inner} type veth peer name {outer} netns {node}"));
            run(&format!("ip -n {host} addr add {address}/24 dev {inner}"));
            run(&format!("ip -n {node} link set {outer} up"));
            run(&format!("ip -n {host} link set {inner} address {} up", mac(inner)));
            if !offload {
                run(&format!("ip netns exec {host} ethtool -K {inner} tx off tso off gso off gro off"));
            }
        }
        testbed.neighbours();
        testbed
    }

    /// Configures each host with the other's Ethernet address, so no packet waits for address resolution.
    fn neighbours(&self) {
        let [client, _, server] = &self.names;
        run(&format!("ip -n {client} neigh replace {SERVER} lladdr {} dev c0 nud permanent", mac("s0")));
        run(&format!("ip -n {server} neigh replace {CLIENT} lladdr {} dev s0 nud permanent", mac("c0")));
    }

    /// Creates a testbed with hosts in separate subnets. The node is the router of both.
    pub fn routed(io: &'static str) -> Self {
        let testbed = Self::on(io, false);
        let [client, _, server] = &testbed.names;
        run(&format!("ip -n {server} addr flush dev s0"));
        run(&format!("ip -n {server} addr add {FAR_SERVER}/24 dev s0"));
        run(&format!("ip -n {client} route add default via 10.9.0.254"));
        run(&format!("ip -n {server} route add default via 10.8.0.254"));
        testbed
    }

    /// Sends frames from the client. Returns the frames that the server receives, with tags restored. Stops when all
    /// frames have arrived, or if none has arrived for `patience`.
    pub fn exchange(&self, frames: &[Vec<u8>], patience: Duration) -> Vec<Vec<u8>> {
        let at = |host: usize, name: &'static str| {
            let namespace = std::fs::File::open(format!("/run/netns/{}", self.names[host])).unwrap();
            // Opens the sockets in separate threads, since a thread that entered a namespace does not return to its
            // own.
            let open = std::thread::spawn(move || {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
                Interface::open(name, 1600, 64).unwrap()
            });
            open.join().unwrap()
        };
        let (client, mut server) = (at(0, "c0"), at(2, "s0"));
        let slices: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        for batch in slices.chunks(64) {
            assert_eq!(client.send(batch).unwrap(), batch.len());
        }
        let mut received = Vec::new();
        let mut last = Instant::now();
        while received.len() < frames.len() && last.elapsed() < patience {
            server.receive(1, |frame| {
                last = Instant::now();
                let (addresses, rest) = frame.bytes.split_at(12);
                received.push([addresses, frame.tag.as_ref().map_or(&[], |tag| &tag[..]), rest].concat());
            });
        }
        received
    }

    pub fn forward(&self, config: &str) -> Running {
        Running::ready(self.forwarder(config))
    }

    /// Returns the error message and exit code of a forwarder that does not start.
    pub fn refusal(&self, config: &str) -> (String, Option<i32>) {
        let output = self.forwarder(config).output().unwrap();
        (String::from_utf8(output.stderr).unwrap(), output.status.code())
    }

    fn forwarder(&self, config: &str) -> Command {
        std::fs::write(&self.config, format!("[forward]\nio = \"{}\"\n{config}", self.io)).unwrap();
        let path = self.config.display().to_string();
        self.command(1, &["forward", &path, "--time", "300 s"])
    }

    pub fn sink(&self, address: &str) -> Running {
        Running::ready(self.command(2, &["sink", address, "--time", "300 s"]))
    }

    /// Runs the sender at the client until it ends. Returns its report.
    pub fn send(&self, arguments: &[&str]) -> Json {
        let output = self.command(0, &[&["send"], arguments].concat()).output().unwrap();
        serde_json::from_slice(&output.stdout).expect("a report")
    }

    pub fn python(&self, program: &str) -> String {
        let mut command = Command::new("ip");
        let arguments = ["netns", "exec", &self.names[0], "timeout", "20", "python3", "-c", program];
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `ip` at the node, with arguments split at spaces.
    pub fn node_ip(&self, words: &str) -> String {
        run(&format!("ip -n {} {words}", self.names[1]))
    }

    /// Runs `ip` at the client, with arguments split at spaces.
    pub fn client_ip(&self, words: &str) -> String {
        run(&format!("ip -n {} {words}", self.names[0]))
    }

    pub fn client_offload(&self, name: &str) -> bool {
        let features = run(&format!("ip netns exec {} ethtool -k c0", self.names[0]));
        features.lines().any(|line| line.trim().starts_with(&format!("{name}: on")))
    }

    /// Recreates the server's link and brings it up at both ends.
    pub fn make_server_link_anew(&self) {
        let [_, node, server] = &self.names;
        run(&format!("ip -n {server} link del s0"));
        run(&format!("ip -n {server} link add s0 type veth peer name p1 netns {node}"));
        run(&format!("ip -n {server} addr add {SERVER}/24 dev s0"));
        run(&format!("ip -n {node} link set p1 up"));
        run(&format!("ip -n {server} link set s0 address {} up", mac("s0")));
        run(&format!("ip netns exec {server} ethtool -K s0 tx off tso off gso off gro off"));
        self.neighbours();
    }

    fn command(&self, host: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host], env!("CARGO_BIN_EXE_fairlane-node")]).args(arguments);
        command
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
        let _ = std::fs::remove_file(&self.config);
    }
}

/// A process that prints reports.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a command that reports when it is ready.
    pub fn ready(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, lines };
        assert_eq!(running.line()["ready"], true);
        running
    }

    /// Ends the process with a signal and waits for its end.
    pub fn end_by(mut self, signal: Signal) {
        // `ip netns exec` replaces itself by the program, so the child process is the program.
        self.signal(signal);
        self.child.wait().unwrap();
    }

    /// Counters since the last call.
    pub fn report(&mut self) -> Json {
        self.signal(Signal::USR1);
        self.line()
    }

    fn line(&mut self) -> Json {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("a line of JSON")
    }

    /// CPU time of the process: `utime` and `stime` of proc(5), in ticks of 10 ms.
    pub fn cpu_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        Duration::from_millis(fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended because its --time is over, or because it failed, which the test has detected.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// Adds up the reports of the processes until the sums satisfy `is_over`, for at most half a minute. Packets that are
/// missing after that are lost.
pub fn until<const N: usize>(mut running: [&mut Running; N], is_over: impl Fn(&[Json; N]) -> bool) -> [Json; N] {
    let mut sums = running.each_mut().map(|one| one.report());
    let begin = Instant::now();
    while !is_over(&sums) && begin.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
        for (sum, one) in sums.iter_mut().zip(&mut running) {
            add(sum, &one.report());
        }
    }
    sums
}

/// Adds the counters of `more` to `sum`. Of other numbers, keeps the smaller; of other values, the one of `more`.
fn add(sum: &mut Json, more: &Json) {
    match (&mut *sum, more) {
        (Json::Object(sum), Json::Object(more)) => {
            for (key, value) in more {
                sum.entry(key).and_modify(|there| add(there, value)).or_insert_with(|| value.clone());
            }
        }
        (Json::Array(sum), Json::Array(more)) => {
            for (index, value) in more.iter().enumerate() {
                if index < sum.len() { add(&mut sum[index], value) } else { sum.push(value.clone()) }
            }
        }
        (Json::Number(a), Json::Number(b)) => {
            *sum = match (a.as_u64(), b.as_u64()) {
                (Some(a), Some(b)) => (a + b).into(),
                _ => a.as_f64().unwrap().min(b.as_f64().unwrap()).into(),
            };
        }
        (sum, more) => *sum = more.clone(),
    }
}

fn mac(interface: &str) -> &'static str {
    if interface == "c0" { "02:00:00:00:00:01" } else { "02:00:00:00:00:09" }
}

fn run(command: &str) -> String {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
