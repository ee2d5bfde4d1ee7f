//! Tests changes to subscribers of a running node while packets pass, and imports.
#![cfg(feature = "ebpf")]

use crate::lab::Lab;
use libbpf_rs::{MapCore as _, MapHandle};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const NODE: &str = env!("CARGO_BIN_EXE_fairlane-node");
const PORT: &str = "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A node whose subscribers are stored in a folder of the test.
pub struct Node {
    pub lab: Lab,
    pub config: PathBuf,
    pub folder: PathBuf,
}

impl Node {
    pub fn new(users: u32, text: &str) -> Self {
        Self::of(&format!("[users_table]\nconfigured = {users}\n{text}"))
    }

    /// Creates a node with these tables and a port.
    fn of(text: &str) -> Self {
        let lab = Lab::one_node();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("fairlane-state-{}-{number}", std::process::id()));
        let state = format!("state_path = \"{}\"\n", folder.display());
        let config = lab.config("n", &format!("{state}{text}{PORT}"));
        Self { lab, config, folder }
    }

    pub fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = self.lab.command_within("n", 120, NODE);
        command.args(arguments);
        command
    }

    fn user(&self, verb: &str, arguments: &[&str]) -> Output {
        let config = self.config.to_str().unwrap();
        self.tool(&[&["user", verb, config], arguments].concat()).output().unwrap()
    }

    pub fn user_ok(&self, verb: &str, arguments: &[&str]) -> String {
        let output = self.user(verb, arguments);
        assert!(output.status.success(), "{verb} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, verb: &str, arguments: &[&str]) -> String {
        let output = self.user(verb, arguments);
        assert_eq!(output.status.code(), Some(1), "{verb} {arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Starts an `apply` that reads its standard input.
    fn stream(&self) -> Child {
        let mut apply = self.tool(&["user", "apply", self.config.to_str().unwrap(), "-"]);
        apply.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    /// Packets metered for the user with a name.
    pub fn packets(&self, name: &str) -> u64 {
        let status = self.lab.status("n", &self.config);
        let users = status["users"].as_array().unwrap().iter().filter(|user| user["name"] == name);
        users.map(|user| user["packets"].as_u64().unwrap()).sum()
    }

    /// Sends a packet from each of these addresses.
    pub fn send_from(&self, addresses: &[[u8; 4]]) {
        let list: Vec<String> = addresses.iter().map(|address| u32::from_be_bytes(*address).to_string()).collect();
        let frames = format!(
            "import socket,struct\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('c0',0))\n\
             for a in [{}]: \
             s.send(bytes.fromhex('02000a010001'+'02000a010002')+struct.pack('!HBBHHHBBH',0x800,0x45,0,40,0,0,9,17,0)\
             +struct.pack('!II',a,0x0a020002)+bytes(20))",
            list.join(",")
        );
        self.lab.python("c", &frames);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.lab.node("n", "detach", &self.config);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn subscribers_come_change_and_go_while_the_node_runs() {
    skip_unless_live!();
    let node = Node::new(64, "[[users]]\nname = \"fixed\"\nprefix = \"10.5.0.1\"\n");
    let told = node.user_ok("add", &["early", "--prefix", "10.5.0.9"]);
    assert_eq!(told, "added \"early\"; nothing is attached: takes effect at the next attach\n");
    node.lab.node_ok("n", "attach", &node.config);
    assert_eq!(node.user_ok("add", &["anna", "--prefix", "10.5.0.2", "--prefix", "10.5.0.3"]), "added \"anna\"\n");
    node.send_from(&[[10, 5, 0, 1], [10, 5, 0, 2], [10, 5, 0, 3], [10, 5, 0, 9]]);
    assert_eq!(["fixed", "anna", "early"].map(|name| node.packets(name)), [1, 2, 1]);
    // A subscriber keeps its meter as long as one of its prefixes stays.
    node.user_ok("set", &["anna", "--prefix", "10.5.0.2", "--key", "reference_rate=20 kbit/s", "--site", "A/B"]);
    node.send_from(&[[10, 5, 0, 2], [10, 5, 0, 3]]);
    assert_eq!(node.packets("anna"), 3);
    // Another user can reuse the identifiers of a user.
    assert_eq!(
        node.refused("add", &["bert", "--prefix", "10.5.0.2"]),
        "error: user \"bert\": 10.5.0.2/32 belongs to \"anna\" already\n"
    );
    assert!(node.refused("add", &["anna", "--prefix", "10.5.0.7"]).contains("exists already; use `user set`"));
    assert!(node.refused("set", &["fixed", "--prefix", "10.5.0.7"]).contains("there is none"));
    assert!(node.refused("add", &["fixed", "--prefix", "10.5.0.7"]).contains("is in the configuration"));
    assert!(node.refused("remove", &["nobody"]).contains("there is none"));
    assert!(node.refused("add", &["x", "--prefix", "10.5.0.7/8"]).contains("prefix"));
    assert!(node.refused("add", &["x", "--prefix", "10.5.0.7", "--key", "colour=red"]).contains("colour"));
    assert_eq!(node.user_ok("remove", &["anna"]), "removed 1\n");
    node.user_ok("add", &["bert", "--prefix", "10.5.0.2"]);
    node.send_from(&[[10, 5, 0, 2]]);
    assert_eq!((node.packets("bert"), node.packets("anna")), (1, 0));
    // A subscriber keeps its meter even if another user gets the other prefix at the same time.
    node.user_ok("set", &["bert", "--prefix", "10.5.0.2", "--prefix", "10.5.0.4"]);
    std::fs::write(
        node.folder.join("swap"),
        "{\"put\":{\"name\":\"bert\",\"user\":{\"prefix\":[\"10.5.0.4\"]}}}\n\
         {\"put\":{\"name\":\"anna\",\"user\":{\"prefix\":[\"10.5.0.2\"]}}}\n",
    )
    .unwrap();
    node.user_ok("apply", &[node.folder.join("swap").to_str().unwrap()]);
    node.send_from(&[[10, 5, 0, 2], [10, 5, 0, 4]]);
    assert_eq!((node.packets("bert"), node.packets("anna")), (2, 1));
    node.user_ok("remove", &["anna"]);
    node.user_ok("set", &["bert", "--prefix", "10.5.0.2"]);
    // A reload and a restart keep the subscribers.
    node.send_from(&[[10, 5, 0, 2]]);
    node.lab.node_ok("n", "attach", &node.config);
    assert_eq!(node.packets("bert"), 1);
    node.lab.node_ok("n", "detach", &node.config);
    node.lab.node_ok("n", "attach", &node.config);
    node.send_from(&[[10, 5, 0, 2]]);
    assert_eq!(node.packets("bert"), 1);
    let listed = node.user_ok("list", &[]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains("bert") && listed.contains("prefix 10.5.0.2"), "{listed}");
    // The tool detects that another process wrote the file between two of its changes.
    let json = node.user_ok("list", &["--json"]);
    assert_eq!(serde_json::from_str::<Json>(json.lines().next().unwrap()).unwrap()["put"]["name"], "bert");
}

/// `count` circuits with two addresses each, in the format of LibreQoS.
fn shaped(count: u32) -> String {
    let mut text = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
                    Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\n"
        .to_string();
    for number in 0..count {
        let [_, _, a, b] = number.to_be_bytes();
        writeln!(
            text,
            "{number},Street {number},{number},d,AP_{},,10.20.{a}.{b},2001:db8:{number:x}::/48,1,1,50,10,",
            number % 3
        )
        .unwrap();
    }
    text
}

/// Applies the changes in a file, one after the other. Returns the time for each in s.
fn time_of_change(node: &Node, changes: &Path, count: usize) -> f64 {
    let began = Instant::now();
    // The command reads standard input, where each line is a separate change. A file would be one change, in which only
    // the last line of each name has an effect.
    let stream = std::fs::File::open(changes).unwrap();
    let mut apply = node.tool(&["user", "apply", node.config.to_str().unwrap(), "-"]);
    assert!(apply.stdin(stream).stdout(Stdio::null()).status().unwrap().success());
    began.elapsed().as_secs_f64() / count as f64
}

/// `FAIRLANE_SUBSCRIBERS=20000` in `make test-long`.
#[test]
fn a_change_costs_no_more_among_thousands_of_subscribers_and_loses_no_packet() {
    skip_unless_live!();
    let count: u32 = std::env::var("FAIRLANE_SUBSCRIBERS").map_or(4000, |text| text.parse().unwrap());
    let node = Node::new(30_000, "");
    node.lab.node_ok("n", "attach", &node.config);
    let [list, network, changes] = ["list.csv", "network.json", "changes"].map(|name| node.folder.join(name));
    std::fs::create_dir_all(&node.folder).unwrap();
    std::fs::write(&list, shaped(count)).unwrap();
    let site = "{\"downloadBandwidthMbps\": 100, \"uploadBandwidthMbps\": 100}";
    std::fs::write(&network, format!("{{\"AP_0\": {site}, \"AP_1\": {site}, \"AP_2\": {site}}}")).unwrap();
    let words = |path: &Path| path.to_str().unwrap().to_string();
    let client = |rate: u32| {
        let user = format!(r#"{{"prefix":["10.1.0.2"],"reference_rate":"{rate} kbit/s"}}"#);
        format!(r#"{{"put":{{"name":"client","user":{user}}}}}"#)
    };
    std::fs::write(&changes, (0..1000).map(|number| client(10 + number % 90) + "\n").collect::<String>()).unwrap();
    let time_alone_s = time_of_change(&node, &changes, 1000);
    let began = Instant::now();
    let told = node.user_ok("import", &[&words(&list), "--network", &words(&network), "--rate-per-mbps", "1 kbit/s"]);
    let import_s = began.elapsed().as_secs_f64();
    assert_eq!(told, format!("imported: {count} new or changed, 0 removed\n"));
    assert_eq!(
        node.user_ok("import", &[&words(&list), "--network", &words(&network), "--rate-per-mbps", "1 kbit/s"]),
        "imported: 0 new or changed, 0 removed\n"
    );
    // Every second user gets another rate, and every fourth is removed and added again. In between, the rate of the
    // user `client`, which has traffic, changes many times.
    let mut text = String::new();
    for number in (0..count).step_by(2) {
        let [_, _, a, b] = number.to_be_bytes();
        let user =
            format!("\"user\":{{\"prefix\":[\"10.20.{a}.{b}\"],\"reference_rate\":\"{} kbit/s\"}}", 20 + number % 7);
        let rate = 10 + number % 90;
        if number % 20 == 0 {
            writeln!(text, "{}", client(rate)).unwrap();
        }
        if number % 4 == 0 {
            writeln!(text, "{{\"remove\":\"Street {number} #{number}\"}}").unwrap();
        }
        writeln!(text, "{{\"put\":{{\"name\":\"Street {number} #{number}\",{user}}}}}").unwrap();
    }
    let total = text.lines().count();
    std::fs::write(&changes, text).unwrap();
    // During the changes, the user `client` sends 500 packets per second. They are received and counted.
    let receive = "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
                   s.setsockopt(socket.SOL_SOCKET,socket.SO_RCVBUF,1<<22)\n\
                   s.bind(('10.2.0.2',9))\ns.settimeout(3)\nn=0\nprint('ready',flush=True)\n\
                   try:\n while True: s.recv(2000); n+=1\nexcept TimeoutError: print(n,flush=True)";
    let mut sink = node.lab.start_python("s", receive);
    let send = "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nprint('go',flush=True)\n\
                end=time.time()+4\nn=0\nwhile time.time()<end or n<=500:\n s.sendto(bytes(100),('10.2.0.2',9)); n+=1; \
                time.sleep(.002)\nprint(n,flush=True)";
    let mut source = node.lab.start_python("c", send);
    let time_s = time_of_change(&node, &changes, total);
    let packets = |child: &mut Child| -> u32 {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child.wait().unwrap();
        line.trim().parse().unwrap()
    };
    let (sent, received) = (packets(&mut source), packets(&mut sink));
    println!("import of {count}: {import_s:.2} s; {:.0} changes a second", 1.0 / time_s);
    assert_eq!(sent, received);
    assert_eq!(node.packets("client"), u64::from(sent));
    assert!(sent > 500, "{sent}");
    // A cost in proportion to the subscribers would be thousands of times higher.
    assert!(time_s < 30.0 * time_alone_s, "{time_s} s, alone {time_alone_s} s");
    node.send_from(&[[10, 20, 0, 4]]);
    assert_eq!(node.packets("Street 4 #4"), 1);
    // Users missing from the list are removed.
    std::fs::write(&list, shaped(10)).unwrap();
    let refused = node.refused("import", &[&words(&list), "--replace"]);
    let gone = count + 1 - 10;
    assert!(refused.contains(&format!("--replace would remove {gone} of {} subscribers", count + 1)), "{refused}");
    let told = node.user_ok("import", &[&words(&list), "--replace", "--force"]);
    assert!(told.ends_with(&format!("{gone} removed\n")), "{told}");
    assert_eq!(node.user_ok("list", &[]).lines().count(), 10);
}

#[test]
fn a_broken_line_leaves_the_node_metered_and_a_full_table_is_told() {
    skip_unless_live!();
    let node = Node::new(4, "");
    std::fs::create_dir_all(&node.folder).unwrap();
    let put = |name: &str, prefix: &str| {
        format!("{{\"put\":{{\"name\":\"{name}\",\"user\":{{\"prefix\":[\"{prefix}\"]}}}}}}\n")
    };
    let broken =
        format!("{}nonsense\n{}{}", put("anna", "10.5.0.2"), put("b\\u001b", "10.5.0.4"), put("bert", "10.5.0.3"));
    let file = node.folder.join("subscribers.jsonl");
    std::fs::write(&file, &broken).unwrap();
    let attached = node.lab.node("n", "attach", &node.config);
    let said = String::from_utf8(attached.stderr).unwrap();
    assert!(attached.status.success(), "{said}");
    assert_eq!(String::from_utf8(attached.stdout).unwrap(), "attached: 1 port\n");
    assert!(said.contains("subscribers.jsonl: line 2: column 1: "), "{said}");
    assert!(
        said.contains(
            "has a control character, U+001B at place 2, which a name must not have; the subscriber is left out"
        ),
        "{said}"
    );
    node.send_from(&[[10, 5, 0, 2], [10, 5, 0, 3]]);
    assert_eq!((node.packets("anna"), node.packets("bert")), (1, 1));
    let checked = || String::from_utf8(node.lab.node("n", "check", &node.config).stdout).unwrap();
    assert!(checked().contains("line 2") && !checked().contains("places are taken"), "{}", checked());
    // A process that changes a subscriber makes a backup of the file, and reports the backup.
    let removed = node.user("remove", &["b\u{1b}"]);
    let said = String::from_utf8(removed.stderr).unwrap();
    assert!(removed.status.success() && said.contains("subscribers.damaged-1"), "{said}");
    assert_eq!(std::fs::read_to_string(node.folder.join("subscribers.damaged-1")).unwrap(), broken);
    assert_eq!(node.lab.node("n", "attach", &node.config).stderr, b"");
    // All four slots are in use.
    node.user_ok("add", &["carl", "--prefix", "10.5.0.5"]);
    node.user_ok("add", &["dora", "--prefix", "10.5.0.6"]);
    let full = "users table: 4 of 4 places are taken, above 80 %: subscribers that find none are refused; raise \
                users_table.configured, then detach and attach\n";
    assert_eq!(
        String::from_utf8(node.lab.node("n", "attach", &node.config).stderr).unwrap(),
        format!("warning: {full}")
    );
    assert!(checked().contains("warning: 4 of 4 places are taken"), "{}", checked());
    let refused = node.refused("add", &["emil", "--prefix", "10.5.0.7"]);
    assert_eq!(refused, "error: users_table.configured: 4 is too few, there would be 5 users\n");
}

/// A disk of 64 kB mounted in a folder, removed with the test.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn at(folder: &'a Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let disk = Self(folder);
        disk.mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"]);
        disk
    }

    fn mount(&self, words: &[&str]) {
        assert!(Command::new("mount").args(words).arg(self.0).status().unwrap().success(), "{words:?}");
    }

    /// Writes a file that uses all remaining space.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// Returns one change per line: for each number i, adds the user `n{i}` with the i-th address of 10.7.0.0/16.
fn puts(numbers: std::ops::Range<u32>) -> String {
    let put = |i: u32| {
        let prefix = format!("10.7.{}.{}", i / 256, i % 256);
        format!("{{\"put\":{{\"name\":\"n{i}\",\"user\":{{\"prefix\":[\"{prefix}\"]}}}}}}\n")
    };
    numbers.map(put).collect()
}

#[test]
fn what_the_disk_does_not_take_the_node_never_has() {
    skip_unless_live!();
    let node = Node::new(1000, "");
    let disk = SmallDisk::at(&node.folder);
    node.lab.node_ok("n", "attach", &node.config);
    node.user_ok("add", &["anna", "--prefix", "10.5.0.2"]);
    let file = node.folder.join("subscribers.jsonl");
    let before = std::fs::read(&file).unwrap();
    let changes = node.lab.file("changes", &format!("{{\"remove\":\"anna\"}}\n{}", puts(0..100)));
    let apply = [changes.to_str().unwrap()];
    let (changes, path) = (changes.display(), file.display());
    // File and maps contain only anna. Other addresses have the default user's meter.
    let mut sent = 0;
    let mut agree = || {
        assert_eq!(std::fs::read(&file).unwrap(), before);
        node.send_from(&[[10, 5, 0, 2], [10, 7, 0, 5]]);
        sent += 1;
        assert_eq!((node.packets("anna"), node.packets("default")), (sent, sent));
    };
    disk.fill();
    let told = node.refused("apply", &apply);
    let full = "No space left on device; nothing was changed; lines 1 to 101 were not applied";
    let backup = file.with_file_name("subscribers.before-1");
    assert_eq!(told, format!("error: {changes}: line 101: {}: {full}\n", backup.display()));
    // A stream makes no backup.
    let stream = std::fs::File::open(apply[0]).unwrap();
    let refused = node.tool(&["user", "apply", node.config.to_str().unwrap(), "-"]).stdin(stream).output().unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains(&format!("{path}: No space left on device; nothing was changed; lines ")), "{told}");
    agree();
    std::fs::remove_file(node.folder.join("filler")).unwrap();
    disk.mount(&["-o", "remount,ro"]);
    assert_eq!(node.refused("remove", &["anna"]), format!("error: {path}: Read-only file system\n"));
    agree();
    disk.mount(&["-o", "remount,rw"]);
    assert_eq!(node.user_ok("apply", &apply), "applied 101 changes\n");
    node.send_from(&[[10, 5, 0, 2], [10, 7, 0, 5]]);
    assert_eq!((node.packets("n5"), node.packets("default")), (1, sent + 1));
}

#[test]
fn what_the_kernel_refuses_half_way_is_undone() {
    skip_unless_live!();
    // The configuration does not set a number of slots, so the kernel, not the tool, rejects a change that needs more
    // than 1024.
    let node = Node::of("");
    node.lab.node_ok("n", "attach", &node.config);
    let apply = |text: &str| node.user("apply", &[node.lab.file("changes", text).to_str().unwrap()]);
    assert!(apply(&puts(0..1000)).status.success());
    // Slots are assigned in the order of the names, except for n4 and n5, which are added again in the opposite order.
    node.user_ok("remove", &["n4", "n5"]);
    node.user_ok("add", &["n5", "--prefix", "10.7.0.5"]);
    node.user_ok("add", &["n4", "--prefix", "10.7.0.4"]);
    let before = std::fs::read(node.folder.join("subscribers.jsonl")).unwrap();
    let mut stream = node.stream();
    stream.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    // The change removes ten users before it runs out of slots. Only the tool can then restore them.
    let gone: String = (0..10).map(|i| format!("{{\"remove\":\"n{i}\"}}\n")).collect();
    let refused = apply(&(gone + &puts(1000..1100)));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), told.lines().count()), (Some(1), 1), "{told}");
    assert!(told.contains("1024 places are taken") && told.ends_with("lines 1 to 110 were not applied\n"), "{told}");
    assert_eq!(std::fs::read(node.folder.join("subscribers.jsonl")).unwrap(), before);
    node.send_from(&[[10, 7, 0, 5], [10, 7, 1, 5], [10, 7, 4, 0]]);
    assert_eq!(["n5", "n261", "n1024", "default"].map(|name| node.packets(name)), [1, 1, 0, 1]);
    // The process of `stream` read the maps before the rejected change. It must detect that the restored users have
    // other slots now.
    let rate = r#"{"put":{"name":"n5","user":{"prefix":["10.7.0.5"],"reference_rate":"20 kbit/s"}}}"#;
    stream.stdin.take().unwrap().write_all(rate.as_bytes()).unwrap();
    assert!(stream.wait().unwrap().success());
    node.send_from(&[[10, 7, 0, 4], [10, 7, 0, 5]]);
    assert_eq!(["n4", "n5"].map(|name| node.packets(name)), [1, 2]);
}

fn rules(lab: &Lab) -> MapHandle {
    MapHandle::from_pinned_path(lab.pins_of("n").join("rules")).unwrap()
}

/// Removes the rules, as if a killed tool had not written them.
fn forget_rules(lab: &Lab) {
    let rules = rules(lab);
    let keys: Vec<_> = rules.keys().collect();
    keys.iter().for_each(|key| rules.delete(key).unwrap());
}

#[test]
fn what_a_killed_tool_left_half_done_is_done_by_the_next_one() {
    skip_unless_live!();
    let node = Node::new(64, "");
    node.lab.node_ok("n", "attach", &node.config);
    let list = node.lab.file("list.csv", "name,prefix\nanna,10.5.0.2\nbert,10.5.0.3\n");
    let import = ["import", list.to_str().unwrap(), "--replace"];
    let import = || node.user_ok(import[0], &import[1..]);
    let mark = node.folder.join("subscribers.unfinished");
    let mut sent = 0;
    let mut finds = |count| {
        assert_eq!((rules(&node.lab).keys().count(), mark.exists()), (count, false));
        node.send_from(&[[10, 5, 0, 2], [10, 5, 0, 3]]);
        sent += 1;
        assert_eq!(["anna", "bert"].map(|name| node.packets(name)), [sent; 2]);
    };
    assert_eq!(import(), "imported: 2 new or changed, 0 removed\n");
    finds(2);
    // Imitates an import that was killed after it had written the subscriber file and before it had written the rules.
    // The next import of the list changes no subscriber, but restores the rules.
    forget_rules(&node.lab);
    std::fs::write(&mark, "").unwrap();
    assert_eq!(import(), "imported: 0 new or changed, 0 removed\n");
    finds(2);
    // A rejected command, any other change, and `attach` also finish the interrupted change.
    let others: [&dyn Fn(); 3] = [
        &|| drop(node.refused("add", &["anna", "--prefix", "10.5.0.2"])),
        &|| drop(node.user_ok("add", &["carl", "--prefix", "10.5.0.4"])),
        &|| drop(node.lab.node_ok("n", "attach", &node.config)),
    ];
    for (other, count) in others.into_iter().zip([2, 3, 3]) {
        forget_rules(&node.lab);
        std::fs::write(&mark, "").unwrap();
        other();
        finds(count);
    }
}

#[test]
fn a_stream_that_goes_on_finishes_what_others_left_half_done() {
    skip_unless_live!();
    let node = Node::new(64, "");
    node.lab.node_ok("n", "attach", &node.config);
    node.user_ok("add", &["anna", "--prefix", "10.5.0.2"]);
    let file = node.folder.join("subscribers.jsonl");
    let mut stream = node.stream();
    let mut put = |numbers| {
        let text = puts(numbers);
        let count = || std::fs::read_to_string(&file).unwrap().matches("{\"put\":").count();
        let changes = count() + text.lines().count();
        stream.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        let mark = node.folder.join("subscribers.unfinished");
        let begin = Instant::now();
        while count() != changes || mark.exists() {
            assert!(begin.elapsed().as_secs() < 20);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    put(0..10);
    forget_rules(&node.lab);
    std::fs::write(node.folder.join("subscribers.unfinished"), "").unwrap();
    put(10..11);
    assert_eq!(rules(&node.lab).keys().count(), 12);
    node.send_from(&[[10, 7, 0, 5], [10, 7, 0, 10]]);
    assert_eq!(["n5", "n10", "default"].map(|name| node.packets(name)), [1, 1, 0]);
    drop(stream.stdin.take());
    assert!(stream.wait().unwrap().success());
}

#[test]
fn a_killed_change_that_has_no_room_can_be_taken_back() {
    skip_unless_live!();
    let node = Node::of("");
    node.lab.node_ok("n", "attach", &node.config);
    let apply = |text: &str| node.user("apply", &[node.lab.file("changes", text).to_str().unwrap()]);
    assert!(apply(&puts(0..1000)).status.success());
    let file = node.folder.join("subscribers.jsonl");
    // The process is killed after writing the file and before writing the maps, which would have rejected the change.
    let kept = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, kept + &puts(1000..1100)).unwrap();
    let mark = node.folder.join("subscribers.unfinished");
    std::fs::write(&mark, "").unwrap();
    let told = node.refused("remove", &["n1000"]);
    assert!(told.contains("places are taken") && told.contains("the next change or attach"), "{told}");
    assert!(mark.exists());
    let gone: String = (1000..1100).map(|i| format!("{{\"remove\":\"n{i}\"}}\n")).collect();
    let output = apply(&gone);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!mark.exists());
    node.send_from(&[[10, 7, 0, 5], [10, 7, 3, 231], [10, 7, 4, 0]]);
    assert_eq!(["n5", "n999", "n1024", "default"].map(|name| node.packets(name)), [1, 1, 0, 1]);
}
