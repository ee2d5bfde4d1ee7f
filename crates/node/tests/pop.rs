//! Tests a point of presence with real TCP in both directions. Subscribers are at the sites of a tree, identified by
//! address, PPPoE session or tags.
//!
//! ```text
//!                                          +-- n0 -- h0   site 0
//!    g ---------- e ---------- b ----------+-- n1 -- h1   site 1
//!  server, BNG   edge      aggregation     +-- n2 -- h2   site 2
//! ```
//!
//! `e`, `b` and each `n` are bridging nodes. `e` labels packets to subscribers; each `n` labels packets from its
//! subscribers. All links carry labels in tags. `b` forwards labels but writes none. The link between `b` and each `n`
//! is the bottleneck of the site in both directions. Users with one CUBIC or BBR flow compete with users with four.
#![cfg(feature = "ebpf")]

use crate::lab::{Lab, port};
use libbpf_rs::MapHandle;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ACCESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pop/access.py");
const TRAFFIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pop/traffic.py");
const SERVER: &str = "10.1.0.1";
const SITE_NODES: [&str; 3] = ["n0", "n1", "n2"];
const SITE_HOSTS: [&str; 3] = ["h0", "h1", "h2"];
const SITE_PORTS: [&str; 3] = ["s0", "s1", "s2"];
const CONTROLS: [&str; 2] = ["cubic", "bbr"];

const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;

/// Rate of each bottleneck.
const RATE_MBPS: f64 = 24.0;

/// The thresholds of the bottleneck depend on its intended number of flows. Fast retransmit needs three duplicate
/// acknowledgements (RFC 5681 3.2), so losses in a window of less than four packets cause timeouts. BBR keeps at least
/// four packets in flight. So `q_base` has room for four packets per flow, if all users have as many flows as the
/// busiest one. Almost no packets are in flight on the path itself. `q_min` and `gamma` are 6/20 and 16/20 of `q_base`,
/// as in the P4 paper. The thresholds are in bytes, not packets, since acknowledgements share the queue.
const FRAME_BYTES: usize = 1518;
const WINDOW_PACKETS: usize = 4;
const MOST_FLOWS: usize = 4;
const ACTIVE: usize = 14;
const Q_BASE_BYTES: usize = WINDOW_PACKETS * MOST_FLOWS * ACTIVE * FRAME_BYTES;

fn queue() -> String {
    let [q_min, gamma] = [6, 16].map(|packets| Q_BASE_BYTES * packets / 20);
    format!(
        "queue = {{ scheme = \"abc\", q_min = \"{q_min} B\", q_base = \"{Q_BASE_BYTES} B\", gamma = \"{gamma} B\", \
         average_over = \"bytes\" }}\n"
    )
}

/// The drop threshold of a user with a quarter of the average activity, `q_base + 2 gamma`. With a lower limit the
/// qdisc would drop packets that ABC accepts.
fn limit_bytes() -> usize {
    Q_BASE_BYTES + 2 * (Q_BASE_BYTES * 16 / 20)
}

/// Directions of TCP that run simultaneously.
type Ways = &'static [&'static str];
const DOWNLOAD: Ways = &["download"];
const UPLOAD: Ways = &["upload"];
const BOTH: Ways = &["download", "upload"];

struct Size {
    sites: usize,
    subscribers: usize,
    /// Subscribers with TCP, per site.
    active: usize,
    settle: Duration,
    measure: Duration,
}

/// Access technology between a subscriber and the bridge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Plain,
    Session,
    Tags,
}

struct Subscriber {
    number: usize,
    sites: usize,
}

impl Subscriber {
    fn site(&self) -> usize {
        self.number % self.sites
    }

    fn name(&self) -> String {
        format!("house {}", self.number)
    }

    fn line(&self) -> Line {
        [Line::Plain, Line::Session, Line::Tags][self.number / self.sites % 3]
    }

    /// Returns the subscriber's addresses: two for every second subscriber, otherwise one.
    fn addresses(&self) -> Vec<String> {
        let kind = self.site() * 4 + self.line() as usize;
        let [.., high, low] = self.number.to_be_bytes();
        let networks = if self.number % 2 == 1 { &[32, 64][..] } else { &[32] };
        networks.iter().map(|network| format!("10.{}.{high}.{low}", network + kind)).collect()
    }

    fn table(&self) -> String {
        let mut text = format!("[[users]]\nname = \"{}\"\nprefix = {:?}\n", self.name(), self.addresses());
        match self.line() {
            Line::Plain => {}
            Line::Session => writeln!(text, "pppoe_session = {}", self.number + 1).unwrap(),
            Line::Tags => writeln!(text, "s_vlan = {}\nc_vlan = {}", self.service(), self.customer()).unwrap(),
        }
        text
    }

    fn service(&self) -> usize {
        100 + self.site()
    }

    fn customer(&self) -> usize {
        1 + self.number / self.sites
    }

    /// Returns the first bytes of the subscriber's frames, in hexadecimal: all bytes before the IP packet, or before
    /// the length field of PPPoE.
    fn head(&self, to: &str, from: &str) -> String {
        let hex = |address: &str| crate::lab::mac(address).replace(':', "");
        let head = hex(to) + &hex(from);
        match self.line() {
            Line::Plain => head + "0800",
            Line::Session => format!("{head}88641100{:04x}", self.number + 1),
            Line::Tags => format!("{head}88a8{:04x}8100{:04x}0800", self.service(), self.customer()),
        }
    }
}

struct Pop {
    lab: Lab,
    size: Size,
    subscribers: Vec<Subscriber>,
    nodes: Vec<(&'static str, PathBuf)>,
    running: Vec<Child>,
}

impl Pop {
    fn new(size: Size) -> Self {
        let sites = size.sites;
        let names = [&["g", "e", "b"], &SITE_NODES[..sites], &SITE_HOSTS[..sites]].concat();
        let lab = Lab::new(&names);
        lab.wire(("g", "g0", SERVER), ("e", "bng", "10.9.0.1"));
        lab.wire(("e", "trunk", "10.9.1.1"), ("b", "trunk", "10.9.2.1"));
        for site in 0..sites {
            let at = |network: usize| format!("10.9.{}.1", network * 10 + site);
            lab.wire(("b", SITE_PORTS[site], &at(1)), (SITE_NODES[site], "uplink", &at(2)));
            lab.wire((SITE_NODES[site], "access", &at(3)), (SITE_HOSTS[site], "c0", &host(site)));
        }
        let subscribers = (0..size.subscribers).map(|number| Subscriber { number, sites }).collect();
        let mut pop = Self { lab, size, subscribers, nodes: Vec::new(), running: Vec::new() };
        pop.bridge();
        pop.route();
        pop.shape();
        pop.configure();
        pop.start_access();
        pop
    }

    fn sites(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.size.sites
    }

    fn at(&self, site: usize) -> impl Iterator<Item = &Subscriber> {
        self.subscribers.iter().filter(move |subscriber| subscriber.site() == site)
    }

    /// Makes nodes bridge all their ports. Disables checksum offload, TSO, GSO and GRO at the hosts.
    fn bridge(&self) {
        let lab = &self.lab;
        let trunk: Vec<&str> = ["trunk"].into_iter().chain(self.sites().map(|site| SITE_PORTS[site])).collect();
        let mut nodes = vec![("e", vec!["bng", "trunk"]), ("b", trunk)];
        nodes.extend(self.sites().map(|site| (SITE_NODES[site], vec!["uplink", "access"])));
        for (name, ports) in nodes {
            lab.run(name, "ip link add br0 type bridge");
            lab.run(name, "ip link set br0 up");
            for port in ports {
                lab.run(name, &format!("ip link set {port} master br0"));
            }
        }
        let hosts = self.sites().map(|site| (SITE_HOSTS[site], "c0"));
        for (name, interface) in hosts.chain([("g", "g0")]) {
            lab.run(name, &format!("ethtool -K {interface} tx off tso off gso off gro off"));
        }
    }

    /// Gives each host all addresses of its site. Routes packets to plain subscribers directly, and packets to other
    /// subscribers through the device of `access.py`.
    fn route(&self) {
        let (lab, server_mac) = (&self.lab, crate::lab::mac(SERVER));
        for site in self.sites() {
            let name = SITE_HOSTS[site];
            lab.run(name, &format!("ip neigh replace {SERVER} lladdr {server_mac} dev c0 nud permanent"));
            lab.run(name, &format!("ip route add {SERVER}/32 dev c0"));
            let mac = crate::lab::mac(&host(site));
            lab.run("g", &format!("ip neigh replace {} lladdr {mac} dev g0 nud permanent", host(site)));
        }
    }

    /// Adds the routes through that device.
    fn route_tunnels(&self) {
        let lab = &self.lab;
        for (site, kind, network) in
            self.sites().flat_map(|site| (0..3).flat_map(move |kind| [32, 64].map(|network| (site, kind, network))))
        {
            let name = SITE_HOSTS[site];
            let prefix = format!("10.{}.0.0/16", network + site * 4 + kind);
            lab.run(name, &format!("ip route add local {prefix} dev lo"));
            if kind == Line::Plain as usize {
                lab.run("g", &format!("ip route add {prefix} via {} dev g0 onlink", host(site)));
            } else {
                lab.run("g", &format!("ip route add {prefix} dev tun0"));
                lab.run(name, &format!("ip rule add from {prefix} lookup 100"));
            }
        }
        for site in self.sites() {
            lab.run(SITE_HOSTS[site], "ip route add default dev tun0 table 100");
        }
    }

    fn shape(&self) {
        let sites = self.sites().flat_map(|site| [("b", SITE_PORTS[site]), (SITE_NODES[site], "uplink")]);
        for (name, interface) in sites {
            let tbf = format!("tbf rate {RATE_MBPS}mbit burst 3100 limit 10000000");
            self.lab.run(name, &format!("tc qdisc add dev {interface} root handle 1: {tbf}"));
            self.lab.run(name, &format!("tc qdisc add dev {interface} parent 1: bfifo limit {}", limit_bytes()));
        }
    }

    fn configure(&mut self) {
        let table = |subscribers: usize| format!("[users_table]\nconfigured = {subscribers}\nlimit = 1024\n");
        let carried = "arrivals = \"trusted\"\ncarrier = \"802.1ad\"\nfar_end = \"reads\"\n";
        let of = |name: &str, rest: &str| format!("[[ports]]\ninterface = \"{name}\"\n{rest}");
        let meter = |user_is: &str| format!("arrivals = \"meter\"\nuser_is = \"{user_is}\"\n");
        let tables = |who: &mut dyn Iterator<Item = &Subscriber>| who.map(Subscriber::table).collect::<String>();
        let edge = table(self.subscribers.len())
            + &tables(&mut self.subscribers.iter())
            + &of("bng", &meter("destination"))
            + &of("trunk", carried);
        let aggregation = of("trunk", carried)
            + &self.sites().map(|site| of(SITE_PORTS[site], &format!("{carried}{}", queue()))).collect::<String>();
        let mut nodes = vec![("e", edge), ("b", aggregation)];
        nodes.extend(self.sites().map(|site| {
            let ports = of("access", &meter("source")) + &of("uplink", &format!("{carried}{}", queue()));
            (SITE_NODES[site], table(self.subscribers.len()) + &tables(&mut self.at(site)) + &ports)
        }));
        self.nodes = nodes.into_iter().map(|(name, text)| (name, self.lab.config(name, &text))).collect();
    }

    /// Starts programs that add sessions and tags to packets, at subscribers and at the BNG.
    fn start_access(&mut self) {
        let mut ends = vec![("g", "g0", self.subscribers.iter().collect::<Vec<_>>())];
        ends.extend(self.sites().map(|site| (SITE_HOSTS[site], "c0", self.at(site).collect())));
        let mut running = Vec::new();
        for (name, interface, subscribers) in ends {
            let heads: serde_json::Map<String, Json> = subscribers
                .iter()
                .filter(|subscriber| subscriber.line() != Line::Plain)
                .flat_map(|subscriber| {
                    let host = host(subscriber.site());
                    let (to, from) = if name == "g" { (host.as_str(), SERVER) } else { (SERVER, host.as_str()) };
                    let head = Json::from(subscriber.head(to, from));
                    subscriber.addresses().into_iter().map(move |address| (address, head.clone()))
                })
                .collect();
            let table = self.lab.file(&format!("{name}.json"), &Json::from(heads).to_string());
            running.push(self.python(name, &[ACCESS, interface, table.to_str().unwrap()]));
        }
        for mut child in running {
            assert_eq!(line_of(&mut child), "ready\n");
            self.running.push(child);
        }
        for name in self.sites().map(|site| SITE_HOSTS[site]).chain(["g"]) {
            self.lab.run(name, "ip link set tun0 mtu 1492 txqueuelen 2000 up");
        }
        self.route_tunnels();
    }

    /// Starts a Python program in a namespace. The test stops it at the end.
    fn python(&self, name: &str, arguments: &[&str]) -> Child {
        let seconds = 120 + 4 * (self.size.settle + self.size.measure).as_secs();
        let mut command = self.lab.command_within(name, seconds, "python3");
        command.args(arguments).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn attach(&self) {
        for (name, config) in &self.nodes {
            self.lab.node_ok(name, "attach", config);
        }
    }

    fn is_attached(&self) -> bool {
        self.lab.pins_of("e").exists()
    }

    fn detach(&self) {
        for (name, config) in &self.nodes {
            self.lab.node_ok(name, "detach", config);
        }
    }

    fn status(&self, name: &str) -> Json {
        let (_, config) = self.nodes.iter().find(|(node, _)| *node == name).unwrap();
        self.lab.status(name, config)
    }

    /// Sends a datagram to each address, and checks that the address answers.
    fn reach_everybody(&mut self) {
        let mut echo = self.python("g", &[TRAFFIC, "echo"]);
        assert_eq!(line_of(&mut echo), "ready\n");
        self.running.push(echo);
        for site in self.sites() {
            let addresses: Vec<String> = self.at(site).flat_map(Subscriber::addresses).collect();
            let mut asking = self.python(SITE_HOSTS[site], &[TRAFFIC, "reach", &json!(addresses).to_string()]);
            assert_eq!(line_of(&mut asking), format!("{}\n", addresses.len()), "answers at site {site}");
            asking.wait().unwrap();
        }
    }

    /// Returns the subscribers with TCP at a site, the same number in each direction.
    fn active(&self, site: usize, ways: Ways) -> Vec<(&Subscriber, &'static str)> {
        let ways = ways.iter().flat_map(|way| std::iter::repeat_n(*way, self.size.active / ways.len()));
        self.at(site).zip(ways).collect()
    }

    /// Returns the connections of all active subscribers. Each subscriber has one connection per address, or four, with
    /// CUBIC or BBR. Subscribers with two addresses use both.
    fn connections(&self, site: usize, ways: Ways) -> Vec<(String, &'static str, &'static str)> {
        let mut connections = Vec::new();
        for (index, (subscriber, way)) in self.active(site, ways).into_iter().enumerate() {
            let addresses = subscriber.addresses();
            let (flows, control) = sender(index, subscriber);
            connections.extend((0..flows).map(|flow| (addresses[flow % addresses.len()].clone(), way, control)));
        }
        connections
    }

    /// Returns the connections with their start times. The golden ratio spreads the starts over the first half of the
    /// settling time, so that consecutive connections start far apart. If all flows start on an empty path, BBR stays
    /// below its share for a long time ([figures](../../../docs/node.md#a-point-of-presence)).
    fn beginnings(&self, site: usize, ways: Ways, start: f64) -> Json {
        let spread = self.size.settle.as_secs_f64() / 2.0;
        let at = |index: usize| start + spread * (index as f64 * GOLDEN_RATIO).fract();
        let connections = self.connections(site, ways).into_iter().enumerate();
        connections.map(|(index, (address, way, control))| json!([address, way, control, at(index)])).collect()
    }

    /// Describes the sender of `subscriber`: direction, congestion control and number of flows. `index` counts the
    /// site's subscribers with TCP.
    fn kind(&self, index: usize, subscriber: &Subscriber, way: &str) -> String {
        let (flows, control) = sender(index, subscriber);
        format!("{way}, {control} x {flows}")
    }

    /// Counters of meters and drops, by the name of the meter: IP bytes, packets, dropped packets.
    fn counted(&self) -> HashMap<String, [u64; 3]> {
        let of = |user: &Json| {
            let counts = ["bytes", "packets", "dropped"].map(|key| user[key].as_u64().unwrap());
            (user["name"].as_str().unwrap().to_string(), counts)
        };
        let nodes = ["e"].into_iter().chain(self.sites().map(|site| SITE_NODES[site]));
        nodes
            .flat_map(|name| self.status(name)["users"].as_array().unwrap().iter().map(of).collect::<Vec<_>>())
            .collect()
    }

    /// Goodput of each subscriber with TCP, in Mb/s.
    fn goodputs(&self, ways: Ways) -> Vec<f64> {
        let now = clock_gettime(ClockId::Monotonic);
        let start = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9 + 1.0;
        let first = start + self.size.settle.as_secs_f64();
        let last = first + self.size.measure.as_secs_f64();
        let times = [first, last].map(|time| time.to_string());
        let mut server = self.python("g", &[TRAFFIC, "server", &times[0], &times[1]]);
        let mut said = BufReader::new(server.stdout.take().unwrap());
        let mut lines = [String::new(), String::new()];
        said.read_line(&mut lines[0]).unwrap();
        assert_eq!(lines[0], "ready\n");
        let clients: Vec<Child> = self
            .sites()
            .map(|site| {
                let connections = self.beginnings(site, ways, start).to_string();
                self.python(SITE_HOSTS[site], &[TRAFFIC, "client", &times[0], &times[1], &connections])
            })
            .collect();
        let mut counts = Vec::new();
        for client in clients {
            let output = client.wait_with_output().unwrap();
            assert!(output.status.success());
            counts.push(serde_json::from_slice::<Json>(&output.stdout).unwrap());
        }
        said.read_line(&mut lines[1]).unwrap();
        server.wait().unwrap();
        counts.push(serde_json::from_str(&lines[1]).unwrap());
        let arrived = |way: &str, address: &String| -> u64 {
            counts.iter().filter_map(|counts| counts[way][address].as_u64()).sum()
        };
        let active = self.sites().flat_map(|site| self.active(site, ways));
        let of = |(subscriber, way): (&Subscriber, &str)| {
            let bytes: u64 = subscriber.addresses().iter().map(|address| arrived(way, address)).sum();
            bytes as f64 * 8e-6 / self.size.measure.as_secs_f64()
        };
        active.map(of).collect()
    }

    /// Checks that the meter with a subscriber's name counts all its packets and no others, for any kind of identifier.
    /// At the edge the subscriber is the destination, at its site the source.
    fn assert_everybody_is_metered(&self) {
        for (name, to) in [("e", "to ")].into_iter().chain(self.sites().map(|site| (SITE_NODES[site], ""))) {
            let status = self.status(name);
            let users = status["users"].as_array().unwrap();
            let packets: HashMap<&str, u64> =
                users.iter().map(|user| (user["name"].as_str().unwrap(), user["packets"].as_u64().unwrap())).collect();
            let here = self.subscribers.iter().filter(|one| name == "e" || SITE_NODES[one.site()] == name);
            for subscriber in here {
                let counted = packets.get(format!("{to}{}", subscriber.name()).as_str());
                assert_eq!(counted, Some(&(subscriber.addresses().len() as u64)), "{} at {name}", subscriber.name());
            }
            assert_eq!((packets["default"], packets.get("unparsed")), (0, None), "{name}");
        }
    }

    /// Checks that every packet at a bottleneck has the label of its edge, and that the node in between adds none.
    fn assert_one_label(&self) {
        let between = self.status("b");
        assert_eq!(between["ingress"]["metered"], 0);
        let ports = self.sites().map(|site| port(&between, SITE_PORTS[site]).clone());
        let ups = self.sites().map(|site| port(&self.status(SITE_NODES[site]), "uplink").clone());
        for port in ports.chain(ups) {
            assert!(port["accepted"].as_u64() > Some(1000) && port["dropped"].as_u64() > Some(0), "{port}");
            // If a path removed labels, all packets of a user would be unlabelled. Fewer than one in 1000 may be
            // unlabelled: the single frames that the nodes' kernels themselves send.
            let (accepted, unlabelled) = (port["accepted"].as_u64(), port["unlabelled"].as_u64());
            assert!(unlabelled.map(|frames| 1000 * frames) < accepted, "{port}");
        }
    }
}

impl Drop for Pop {
    fn drop(&mut self) {
        for child in &mut self.running {
            // `timeout` passes the signal on.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
        for (name, config) in &self.nodes {
            let _ = self.lab.node(name, "detach", config);
        }
    }
}

/// Returns the number of connections (one per address, or four) and the congestion control of a subscriber. `index`
/// counts the site's subscribers with TCP.
fn sender(index: usize, subscriber: &Subscriber) -> (usize, &'static str) {
    let flows = if (index / 2).is_multiple_of(2) { subscriber.addresses().len() } else { MOST_FLOWS };
    (flows, CONTROLS[index / 4 % 2])
}

fn host(site: usize) -> String {
    format!("10.1.0.{}", 10 + site)
}

fn line_of(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

/// Equal share of each of the `active` users with TCP at a bottleneck, in Mb/s of TCP payload. All users with TCP
/// demand more than an equal share; acknowledgements of the other direction take less. The share ignores
/// acknowledgements, so it is too high by their rate. A frame of 1518 bytes, including the label and a PPPoE header or
/// tags, has 1440 bytes of TCP payload. Plain frames have the same size.
fn share_mbps(active: usize) -> f64 {
    RATE_MBPS * 1440.0 / 1518.0 / active as f64
}

/// Runs TCP and prints the results. Returns the smallest goodput of a user, relative to the user's share.
fn shares(what: &str, pop: &Pop, ways: Ways) -> f64 {
    let before = pop.is_attached().then(|| pop.counted());
    let goodputs = pop.goodputs(ways);
    if let Some(before) = before {
        print_kinds(pop, ways, &goodputs, &before);
    }
    let share = share_mbps(pop.size.active / ways.len());
    let worst = goodputs.iter().copied().fold(f64::INFINITY, f64::min) / share;
    let best = goodputs.iter().copied().fold(0.0, f64::max) / share;
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    let jain = sum * sum / squares / goodputs.len() as f64;
    println!(
        "{what}, {}: {} users, worst {worst:.2} and best {best:.2} of a share of {share:.2} Mb/s, Jain index \
         {jain:.3}, {sum:.1} Mb/s",
        ways.join(" and "),
        goodputs.len()
    );
    worst
}

/// Prints the results of each kind of sender: the throughput, the load offered to its meter during the test, and for
/// uploads the fraction of dropped packets.
fn print_kinds(pop: &Pop, ways: Ways, goodputs: &[f64], before: &HashMap<String, [u64; 3]>) {
    let after = pop.counted();
    let seconds = (pop.size.settle + pop.size.measure).as_secs_f64() + 1.0;
    let mut kinds: BTreeMap<String, Vec<[f64; 3]>> = BTreeMap::new();
    let active = pop.sites().flat_map(|site| pop.active(site, ways).into_iter().enumerate());
    for ((index, (subscriber, way)), goodput) in active.zip(goodputs) {
        let name = if way == "download" { format!("to {}", subscriber.name()) } else { subscriber.name() };
        let [bytes, packets, dropped] = [0, 1, 2].map(|i| (after[&name][i] - before[&name][i]) as f64);
        let row = [*goodput, bytes * 8e-6 / seconds, dropped / packets];
        kinds.entry(pop.kind(index, subscriber, way)).or_default().push(row);
    }
    for (kind, rows) in kinds {
        let mean = |i: usize| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64;
        let least = rows.iter().map(|row| row[0]).fold(f64::INFINITY, f64::min);
        let (count, got, offered) = (rows.len(), mean(0), mean(1));
        let dropped =
            if kind.starts_with("upload") { format!(", {:.1} % dropped", mean(2) * 100.0) } else { String::new() };
        println!(
            "  {kind}: {count} users, {got:.2} Mb/s each, {least:.2} the least, {offered:.2} Mb/s offered{dropped}"
        );
    }
}

/// Time that the kernel spent in BPF programs while [`Counting`] exists, and number of their runs.
#[derive(Clone, Copy, Default)]
struct Spent {
    ns: u64,
    runs: u64,
}

/// Makes the kernel measure the run time of BPF programs while this value exists.
struct Counting(String);

impl Counting {
    const FILE: &str = "/proc/sys/kernel/bpf_stats_enabled";

    fn new() -> Self {
        let before = fs::read_to_string(Self::FILE).unwrap();
        fs::write(Self::FILE, "1").unwrap();
        Self(before)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = fs::write(Self::FILE, &self.0);
    }
}

/// Maps of a node with their sizes in kernel memory.
fn maps(folder: &Path) -> Vec<(u32, u64)> {
    let names = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let maps = names.filter_map(|path| MapHandle::from_pinned_path(&path).ok());
    let of = |map: MapHandle| {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd())).unwrap();
        let field = |key: &str| info.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        // The folder also has pins of links, whose fdinfo has no such lines.
        Some((field("map_id:")? as u32, field("memlock:")?))
    };
    maps.filter_map(of).collect()
}

fn spent(maps: &[(u32, u64)]) -> Spent {
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let uses = |ids: &[u32]| ids.iter().any(|id| maps.iter().any(|(map, _)| map == id));
    let programs = ProgInfoIter::with_query_opts(options).filter(|program| uses(&program.map_ids));
    programs.fold(Spent::default(), |all, program| Spent {
        ns: all.ns + program.run_time_ns,
        runs: all.runs + program.run_cnt,
    })
}

#[test]
fn a_small_point_of_presence_labels_once_and_shares() {
    skip_unless_live!();
    let (settle, measure) = (Duration::from_secs(3), Duration::from_secs(4));
    let mut pop = Pop::new(Size { sites: 1, subscribers: 60, active: 8, settle, measure });
    pop.attach();
    pop.reach_everybody();
    pop.assert_everybody_is_metered();
    let worst = shares("with ABC", &pop, BOTH);
    pop.assert_one_label();
    // The test is too short for an exact value, but finds a user that gets almost no throughput.
    assert!(worst > 0.2, "{worst}");
    pop.detach();
}

#[test]
#[ignore = "takes six minutes: make test-long"]
fn two_thousand_subscribers_of_a_tree_get_their_shares() {
    skip_unless_live!();
    let (settle, measure) = (Duration::from_secs(20), Duration::from_secs(40));
    let mut pop = Pop::new(Size { sites: 3, subscribers: 2000, active: ACTIVE, settle, measure });
    let with_two = pop.subscribers.iter().filter(|subscriber| subscriber.addresses().len() == 2).count();
    println!("{} subscribers, {with_two} with two prefixes", pop.subscribers.len());
    let began = Instant::now();
    pop.attach();
    println!("attached 5 nodes in {:.2} s", began.elapsed().as_secs_f64());
    pop.reach_everybody();
    pop.assert_everybody_is_metered();
    let maps = maps(&pop.lab.pins_of("e"));
    let counting = Counting::new();
    let (began, before) = (Instant::now(), spent(&maps));
    let worst = [DOWNLOAD, UPLOAD].map(|ways| shares("with ABC", &pop, ways));
    let (elapsed, after) = (began.elapsed(), spent(&maps));
    drop(counting);
    let (ns, runs) = (after.ns - before.ns, after.runs - before.runs);
    println!(
        "edge: maps of {:.2} MB, {runs} runs of its programs of {:.0} ns each, {:.2} % of a processor",
        maps.iter().map(|(_, bytes)| *bytes).sum::<u64>() as f64 / 1e6,
        ns as f64 / runs as f64,
        ns as f64 / elapsed.as_nanos() as f64 * 100.0
    );
    let both = shares("with ABC", &pop, BOTH);
    pop.assert_one_label();
    pop.detach();
    let without = [DOWNLOAD, UPLOAD].map(|ways| shares("without ABC", &pop, ways));
    let verdict = |worst: f64| if worst >= 0.8 { "reached" } else { "missed" };
    println!(
        "the target, 0.8 for the worst: downloads {}, uploads {}, both at once {}",
        verdict(worst[0]),
        verdict(worst[1]),
        verdict(both)
    );
    // docs/node.md has the measured ratios of the worst subscriber. They are lower in other configurations: 0.5 with an
    // average over packets instead of bytes, 0.17 to 0.24 without ABC.
    assert!(worst.iter().chain([&both]).all(|worst| *worst >= 0.6), "{worst:?} {both}");
    assert!(worst.iter().zip(without).all(|(with, without)| *with > 2.0 * without), "{worst:?} {without:?}");
}
