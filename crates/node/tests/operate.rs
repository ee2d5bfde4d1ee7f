//! Tests operational situations: interfaces that appear and disappear, folders where pins do not persist, and a
//! standard output that closes.
#![cfg(feature = "ebpf")]

use crate::lab::{Lab, TWO_PORTS};
use fairlane_node::records::PortRecord;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const NODE: &str = env!("CARGO_BIN_EXE_fairlane-node");

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the output of `check --json` and its exit code.
fn check(lab: &Lab, config: &Path) -> (Json, Option<i32>) {
    let output = lab.command("n", NODE).args(["check", "--json"]).arg(config).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

/// Findings in a state, each as `what: text`.
fn findings(report: &Json, state: &str) -> Vec<String> {
    let all = report["findings"].as_array().unwrap().iter();
    let text = |finding: &Json| format!("{}: {}", finding["what"].as_str().unwrap(), finding["text"].as_str().unwrap());
    all.filter(|finding| finding["state"] == state).map(text).collect()
}

#[test]
fn pins_that_would_vanish_with_a_private_mount_are_refused_with_the_way_out() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let file = std::env::temp_dir().join(format!("fairlane-private-{}.toml", std::process::id()));
    std::fs::write(&file, format!("[node]\npin_path = \"/sys/fs/bpf/fairlane-test\"\n{TWO_PORTS}")).unwrap();
    let namespace = lab.netns_path("n");
    let namespace = namespace.rsplit('/').next().unwrap();
    // These shells have other mounts than `ip netns exec`.
    for mount in ["true", "mount -t bpf bpf /sys/fs/bpf"] {
        let attach = format!("{mount} && exec {NODE} attach {}", file.display());
        let output = Command::new("ip").args(["netns", "exec", namespace, "sh", "-c", &attach]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{mount}");
        let error = stderr(&output);
        assert!(error.starts_with("error: node.pin_path: /sys/fs/bpf/fairlane-test: is "), "{error}");
        assert!(error.contains("nsenter --net=/run/netns/NAME") && error.lines().count() == 1, "{error}");
        let check = attach.replace(" attach ", " check ");
        let output = Command::new("ip").args(["netns", "exec", namespace, "sh", "-c", &check]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{mount}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("nsenter"), "{output:?}");
    }
    std::fs::remove_file(file).unwrap();
    // The solution is to enter only the network namespace.
    let config = lab.config("n", TWO_PORTS);
    lab.node_ok("n", "attach", &config);
    lab.node_ok("n", "detach", &config);
}

#[test]
fn check_fails_where_attach_would_and_says_what_may_go_wrong() {
    skip_unless_live!();
    let lab = Lab::one_node();
    for side in ["in0", "out0"] {
        lab.run("n", &format!("ethtool -K {side} tso off gso off gro off"));
    }
    lab.run("n", "tc qdisc add dev out0 root pfifo limit 100");
    let good = lab.config("n", TWO_PORTS);
    let (report, code) = check(&lab, &good);
    assert_eq!((&report["ok"], code), (&json!(true), Some(0)), "{report}");
    assert_eq!(findings(&report, "warning"), Vec::<String>::new());
    // `check` leaves no pins, and correctly predicts that `attach` succeeds.
    assert_eq!(lab.pins(), Vec::<std::path::PathBuf>::new());
    lab.node_ok("n", "attach", &good);
    // A users table of another size cannot be loaded while the present one is in use.
    let larger = lab.config("n", &format!("{TWO_PORTS}[users_table]\nlimit = 100\n"));
    let (report, code) = check(&lab, &larger);
    assert_eq!(code, Some(1));
    assert!(findings(&report, "missing")[0].starts_with("users table: users_table.limit: "), "{report}");
    assert!(!lab.node("n", "attach", &larger).status.success());
    lab.node_ok("n", "detach", &good);
    // A missing interface.
    let absent = lab.config("n", &TWO_PORTS.replace("out0", "nowhere0"));
    let (report, code) = check(&lab, &absent);
    assert_eq!((&report["ok"], code), (&json!(false), Some(1)));
    assert_eq!(findings(&report, "missing"), ["port nowhere0: there is no such interface in this network namespace"]);
    let text = lab.node("n", "check", &absent);
    assert_eq!((text.status.code(), stderr(&text).as_str()), (Some(1), "error: one thing is missing\n"));
    // This pin path is not on a BPF file system.
    let elsewhere = std::env::temp_dir().join(format!("fairlane-elsewhere-{}.toml", std::process::id()));
    std::fs::write(&elsewhere, format!("[node]\npin_path = \"/tmp/fairlane\"\n{TWO_PORTS}")).unwrap();
    let (report, code) = check(&lab, &elsewhere);
    std::fs::remove_file(elsewhere).unwrap();
    assert_eq!(code, Some(1));
    assert!(findings(&report, "missing")[0].starts_with("pin path: node.pin_path: /tmp/fairlane: is not on"));
    // Two reasons to reject a configuration: the packets of an interface have no Ethernet header for a tag, or the pins
    // belong to another network namespace.
    lab.run("n", "ip tuntap add tun0 mode tun");
    let tun = lab.config("n", "[[ports]]\ninterface = \"tun0\"\narrivals = \"trusted\"\ncarrier = \"802.1ad\"\n");
    lab.wire(("s", "in0", "10.8.0.1"), ("c", "c1", "10.8.0.2"));
    lab.wire(("s", "out0", "10.9.0.1"), ("c", "c2", "10.9.0.2"));
    for (config, at, why) in [
        (&tun, "n", "has no Ethernet header, its carrier can be \"none\" only"),
        (&good, "s", "belongs to another network namespace"),
    ] {
        if at == "s" {
            lab.config("n", TWO_PORTS);
            lab.node_ok("n", "attach", config);
            for verb in ["status", "top"] {
                let output = lab.node("s", verb, config);
                assert!(!output.status.success() && stderr(&output).contains(why), "{verb}: {output:?}");
            }
            let told = scrape((&lab, "s"), config, &[], || (), 1);
            assert!(told.starts_with("503 ") && told.contains(why), "{told}");
        }
        let output = lab.command(at, NODE).args(["check", "--json"]).arg(config).output().unwrap();
        let report: Json = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["ok"], output.status.code()), (&json!(false), Some(1)), "{report}");
        assert!(findings(&report, "missing").iter().any(|text| text.contains(why)), "{why}: {report}");
        let attach = lab.node(at, "attach", config);
        assert!(!attach.status.success() && stderr(&attach).contains(why), "{why}: {attach:?}");
    }
    // The rejected `attach` changed nothing: in0 is still metered. In the other namespace, in0 has another index.
    lab.send("c", "10.2.0.2", 100, 10, 0);
    assert_eq!(lab.status("n", &good)["ingress"]["metered"], 10);
    // Another node at the same interfaces would also meter.
    let second = lab.config("second", TWO_PORTS);
    let (report, code) = check(&lab, &second);
    assert!(
        code == Some(0) && findings(&report, "warning").iter().any(|text| text.contains("another node")),
        "{report}"
    );
    let warned = stderr(&lab.node("n", "attach", &second));
    assert!(warned.contains("warning: in0: programs of another node are attached as well"), "{warned}");
    lab.node_ok("n", "detach", &second);
    let first = lab.node("n", "check", &good);
    assert!(!String::from_utf8_lossy(&first.stdout).contains("another node"), "{first:?}");
    lab.node_ok("n", "detach", &good);
    // These configurations work, but not as intended, so there are only warnings.
    lab.run("n", "tc qdisc del dev out0 root");
    lab.run("n", "ip link set out0 down");
    for (side, offload) in [("in0", "gro"), ("out0", "gso")] {
        lab.run("n", &format!("ethtool -K {side} {offload} on"));
    }
    let (report, code) = check(&lab, &lab.config("n", TWO_PORTS));
    assert_eq!(code, Some(0), "{report}");
    let warnings = findings(&report, "warning");
    assert!(warnings.iter().any(|warning| warning == "port out0: the interface is down"), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.starts_with("port in0: gro make")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("ethtool -K out0 gso off")), "{warnings:?}");
    lab.run("n", "ip link set out0 up");
    let (report, _) = check(&lab, &lab.config("n", TWO_PORTS));
    let warnings = findings(&report, "warning");
    assert!(warnings.iter().any(|warning| warning.contains("root qdisc noqueue keeps no backlog")), "{warnings:?}");
}

#[test]
fn check_fails_for_what_is_attached_as_attach_does() {
    skip_unless_live!();
    let lab = Lab::one_node();
    // The index of far0 is the index of in0 plus the number of slots in the map of ports, so both ports use the same
    // slot.
    let in0: Json = serde_json::from_str(&lab.run("n", "ip -j link show dev in0")).unwrap();
    let index = in0[0]["ifindex"].as_u64().unwrap() + u64::from(PortRecord::PLACES);
    lab.run("n", &format!("ip link add far0 index {index} type veth peer name far1"));
    let shim = "[[ports]]\ninterface = \"far0\"\narrivals = \"trusted\"\ncarrier = \"shim\"\n";
    let other = lab.config("other", shim);
    lab.node_ok("n", "attach", &other);
    lab.node_ok("n", "attach", &lab.config("n", TWO_PORTS));
    let cases = [
        (
            format!("[marker]\nmemory = \"1 s\"\n{TWO_PORTS}"),
            "what is attached: marker.memory: changed from 3000 ms to 1 s, which needs a detach first",
        ),
        (
            format!(
                "[marker]\nscheme = \"csfq\"\n{}",
                TWO_PORTS
                    .replace("queue = { scheme = \"abc\" }", "rate = \"10 Mbit/s\"\nqueue = { scheme = \"csfq\" }")
            ),
            "what is attached: marker.scheme: changed from abc to csfq, which needs a detach first",
        ),
        (shim.into(), "port far0: another program is at XDP, which carrier \"shim\" needs"),
        (
            format!("{TWO_PORTS}[[ports]]\ninterface = \"far0\"\n"),
            "ports: ports: the indices of \"in0\" and \"far0\" differ by a multiple of 1024; make one of them anew",
        ),
    ];
    for (text, problem) in cases {
        let config = lab.config("n", &text);
        let (report, code) = check(&lab, &config);
        assert_eq!((findings(&report, "missing"), code), (vec![problem.to_string()], Some(1)), "{report}");
        assert!(!lab.node("n", "attach", &config).status.success(), "{text}");
    }
    let good = lab.config("n", TWO_PORTS);
    assert_eq!(check(&lab, &good).1, Some(0));
    for config in [&other, &good] {
        lab.node_ok("n", "detach", config);
    }
}

/// A running `attach --follow`, ended with the test.
struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    fn start(lab: &Lab, config: &Path) -> Self {
        Self::telling(lab, config, Stdio::inherit())
    }

    /// Starts the tool; its warnings go to `warnings`.
    fn telling(lab: &Lab, config: &Path, warnings: Stdio) -> Self {
        let mut command = lab.command_within("n", 60, NODE);
        command.args(["attach", "--follow"]).arg(config).stdout(Stdio::piped()).stderr(warnings);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Sends SIGHUP to the tool itself, since `timeout`, which runs it, would not pass the signal on.
    fn reload(&self) {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let tool = std::fs::read_to_string(children).unwrap();
        Command::new("kill").args(["-HUP", tool.trim()]).status().unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // `timeout` passes the signal on.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

#[test]
fn one_missing_interface_blocks_nobody_and_one_made_anew_is_metered_again() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let late = "[[ports]]\ninterface = \"late0\"\narrivals = \"meter\"\n";
    let config = lab.config("n", &format!("{TWO_PORTS}{late}"));
    let first = lab.node("n", "attach", &config);
    assert!(first.status.success());
    assert_eq!(String::from_utf8_lossy(&first.stdout), "attached: 2 of 3 ports\n");
    assert!(stderr(&first).contains("warning: late0: skipped, no such interface"), "{}", stderr(&first));
    assert_eq!(lab.status("n", &config)["absent"], json!(["late0"]));
    let mut follower = Follower::start(&lab, &config);
    assert_eq!(follower.line(), "reloaded: 2 of 3 ports\n");
    let metered = || lab.status("n", &config)["ingress"]["metered"].as_u64().unwrap();
    lab.send("c", "10.2.0.2", 100, 10, 0);
    assert_eq!(metered(), 10);
    // The missing interface appears.
    lab.run("n", "ip link add late0 type veth peer name late1");
    let came = follower.line();
    let index = came.trim().strip_prefix("late0: attached, index ").unwrap();
    assert_eq!(lab.status("n", &config)["absent"], json!([]));
    // The metered interface disappears and reappears, as a new interface with the same name.
    lab.run("n", "ip link del in0");
    assert_eq!(follower.line(), "in0: gone\n");
    assert_eq!(lab.status("n", &config)["absent"], json!(["in0"]));
    lab.wire(("c", "c0", "10.1.0.2"), ("n", "in0", "10.1.0.1"));
    lab.routes(&[("c", "default via 10.1.0.1")]);
    assert!(follower.line().starts_with("in0: attached, index "));
    lab.send("c", "10.2.0.2", 100, 10, 0);
    assert_eq!(metered(), 20, "{}", lab.status("n", &config));
    // The new interface has the index of the old one.
    lab.run("n", "ip link del late0");
    assert_eq!(follower.line(), "late0: gone\n");
    lab.run("n", &format!("ip link add late0 index {index} type veth peer name late1"));
    assert!(follower.line().starts_with("late0: attached, index "));
    // The interface is removed and immediately recreated. The tool may see both events or only the last. In either
    // case, the port finally has its program.
    lab.run("n", "ip link del late0");
    lab.run("n", &format!("ip link add late0 index {index} type veth peer name late1"));
    let until = Instant::now() + Duration::from_secs(10);
    while !counts(&lab, &config, "late0", "late1") {
        assert!(Instant::now() < until, "late0 is not metered");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A killed tool leaves everything attached.
    drop(follower);
    let before = metered();
    lab.send("c", "10.2.0.2", 100, 10, 0);
    assert_eq!(metered(), before + 10);
    lab.node_ok("n", "detach", &config);
    assert_eq!(lab.pins(), Vec::<std::path::PathBuf>::new());
}

fn wait_for(lab: &Lab, config: &Path, interface: &str) {
    let until = Instant::now() + Duration::from_secs(15);
    while !lab.status("n", config)["ports"].as_array().unwrap().iter().any(|port| port["interface"] == interface) {
        assert!(Instant::now() < until, "{interface} is not attached");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_follower_follows_what_others_load_and_goes_on_when_the_file_is_wrong() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    let mut follower = Follower::start(&lab, &config);
    assert_eq!(follower.line(), "attached: 2 ports\n");
    // Another process attaches a port whose interface does not exist yet. The tool that follows the configuration
    // attaches the programs when the interface appears.
    let port = |name: &str| format!("[[ports]]\ninterface = \"{name}\"\narrivals = \"meter\"\n");
    lab.config("n", &format!("{TWO_PORTS}{}", port("late0")));
    lab.node_ok("n", "attach", &config);
    lab.run("n", "ip link add late0 type veth peer name late1");
    assert!(follower.line().starts_with("late0: attached, index "));
    wait_for(&lab, &config, "late0");
    // The file is invalid when an interface reappears. The tool attaches the last valid configuration. Once the file is
    // valid again, the tool attaches the new one.
    std::fs::write(&config, "[[ports").unwrap();
    lab.run("n", "ip link del late0");
    assert_eq!(follower.line(), "late0: gone\n");
    lab.run("n", "ip link add late0 type veth peer name late1");
    assert!(follower.line().starts_with("late0: attached, index "));
    lab.config("n", &format!("{TWO_PORTS}{}{}", port("late0"), port("late1")));
    assert!(follower.line().starts_with("late1: attached, index "));
    // SIGHUP loads the file.
    lab.config("n", TWO_PORTS);
    follower.reload();
    let until = Instant::now() + Duration::from_secs(15);
    while lab.status("n", &config)["ports"].as_array().unwrap().len() != 2 {
        assert!(Instant::now() < until, "the file is not loaded");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A detach by another process ends the tool.
    lab.node_ok("n", "detach", &config);
    assert_eq!(follower.line(), "detached\n");
    assert!(follower.child.wait().unwrap().success());
}

#[test]
fn a_follower_keeps_its_pins_when_the_file_names_others() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    let mut follower = Follower::telling(&lab, &config, Stdio::piped());
    assert_eq!(follower.line(), "attached: 2 ports\n");
    let mut warnings = BufReader::new(follower.child.stderr.take().unwrap()).lines();
    let mut warning =
        |of: &str| warnings.find(|line| line.as_ref().is_ok_and(|line| line.contains(of))).unwrap().unwrap();
    let (from, to) = (lab.pins_of("n"), lab.pins_of("other"));
    lab.file("n.toml", &format!("[node]\npin_path = \"{}\"\n{TWO_PORTS}", to.display()));
    follower.reload();
    let told = format!(
        "warning: node.pin_path: changed from {} to {}, which needs a detach first; going on with the configuration \
         before, and trying again",
        from.display(),
        to.display()
    );
    assert_eq!(warning("pin_path"), told);
    assert!(from.join("ports").exists() && !to.exists());
    // The tool follows the file again once it is valid.
    lab.config("n", &format!("{TWO_PORTS}[[ports]]\ninterface = \"late0\"\narrivals = \"meter\"\n"));
    lab.run("n", "ip link add late0 type veth peer name late1");
    assert!(follower.line().starts_with("late0: attached, index "));
    lab.node_ok("n", "detach", &config);
    assert_eq!(follower.line(), "detached\n");
}

#[test]
fn marks_are_counted_where_people_look() {
    skip_unless_live!();
    let lab = Lab::one_node();
    // A packet of 1000 bytes takes 8 ms, so 60 packets sent at once form a queue. With the default q_base and gamma,
    // packets that find 20 to 36 packets in the queue are marked. Later ones are dropped.
    lab.run("n", "tc qdisc add dev out0 root tbf rate 1mbit burst 1600 limit 100000");
    let config = lab.config("n", &TWO_PORTS.replace("\"abc\" }", "\"abc\", ecn = true }"));
    lab.node_ok("n", "attach", &config);
    let ect_0 = 2;
    lab.send("c", "10.2.0.2", 972, 60, ect_0);
    let status = lab.status("n", &config);
    let port = crate::lab::port(&status, "out0");
    let count = |name: &str| port[name].as_u64().unwrap();
    let marked = count("marked");
    assert!(marked > 0 && marked < count("accepted"), "{port}");
    assert_eq!(count("accepted") + count("dropped") + count("overlimit"), 60, "{port}");
    let mut top = lab.command("n", NODE);
    let top = top.args(["top", "--turns", "1", "--interval", "0.1"]).arg(&config).output().unwrap();
    for text in [lab.node_ok("n", "status", &config), String::from_utf8(top.stdout).unwrap()] {
        let row = text.lines().find(|line| line.starts_with("out0")).unwrap();
        let head = text.lines().next().unwrap();
        assert!(head.ends_with("    marked") && row.ends_with(&format!(" {marked}")), "{text}");
    }
    let counters = scrape((&lab, "n"), &config, &[], || (), 1);
    assert!(
        counters.contains(&format!("fairlane_port_marked_packets_total{{port=\"out0\"}} {marked}\n")),
        "{counters}"
    );
    lab.node_ok("n", "detach", &config);
}

/// Returns true if a frame that arrives at `interface` from its peer is metered.
fn counts(lab: &Lab, config: &Path, interface: &str, peer: &str) -> bool {
    for end in [interface, peer] {
        lab.run("n", &format!("ip link set {end} up"));
    }
    let metered = || lab.status("n", config)["ingress"]["metered"].as_u64().unwrap();
    let before = metered();
    // A broadcast with a local experimental ethertype (IEEE 802), which no program receives.
    let frame = "s.send(bytes.fromhex('ffffffffffff020000000001')+b'\\x88\\xb6'+bytes(60))";
    let open = format!("import socket\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('{peer}',0))\n");
    lab.python("n", &format!("{open}{frame}"));
    metered() > before
}

#[test]
fn a_reader_that_goes_away_ends_the_tool_without_a_word() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", TWO_PORTS);
    lab.node_ok("n", "attach", &config);
    let every: [&[&str]; 4] = [&["status"], &["status", "--json"], &["check"], &["top", "--interval", "0.1"]];
    for arguments in every {
        let mut command = lab.command("n", NODE);
        let mut child =
            command.args(arguments).arg(&config).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Closes the pipe before the tool can write.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{arguments:?}");
    }
    lab.node_ok("n", "detach", &config);
}

#[test]
fn names_of_interfaces_do_nothing_to_a_terminal() {
    skip_unless_live!();
    let lab = Lab::one_node();
    // Linux allows all characters except spaces, slashes and colons.
    lab.run("n", "ip link add e\u{1b}[1m0 type veth peer name p0");
    let port = |name: &str| format!("[[ports]]\ninterface = \"{name}\\u001b[1m0\"\narrivals = \"meter\"\n");
    let config = lab.config("n", &(port("e") + &port("gone")));
    for arguments in [
        &["attach"][..],
        &["check"],
        &["check", "--json"],
        &["status"],
        &["status", "--json"],
        &["top", "--turns", "1", "--interval", "0.1"],
    ] {
        let output = lab.command("n", NODE).args(arguments).arg(&config).output().unwrap();
        let said = String::from_utf8(output.stdout.clone()).unwrap() + &stderr(&output);
        assert!(said.contains("e\\u001b[1m0") && !said.contains('\u{1b}'), "{arguments:?}: {said:?}");
    }
    lab.node_ok("n", "detach", &config);
}

/// Starts the exporter and scrapes it `scrapes` times. Returns the last result.
pub fn scrape(
    (lab, at): (&Lab, &str),
    config: &Path,
    arguments: &[&str],
    between: impl Fn(),
    scrapes: usize,
) -> String {
    let mut command = lab.command(at, NODE);
    let mut export = command.arg("export").args(arguments).arg(config).stdout(Stdio::piped()).spawn().unwrap();
    let mut announced = String::new();
    BufReader::new(export.stdout.take().unwrap()).read_line(&mut announced).unwrap();
    let get = "import urllib.request as r, urllib.error\n\
               try: print(r.urlopen('http://127.0.0.1:9550/metrics').read().decode())\n\
               except urllib.error.HTTPError as e: print(e.code, e.read().decode())";
    let mut text = String::new();
    for number in 0..scrapes {
        if number > 0 {
            between();
        }
        text = lab.python(at, get);
    }
    Command::new("kill").arg(export.id().to_string()).status().unwrap();
    export.wait().unwrap();
    text
}

#[test]
fn a_scrape_of_many_users_is_bounded_and_has_names() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let text = format!(
        "[default_user]\nmeter_of = \"address\"\n[[users]]\nname = \"anna\"\nprefix = \"10.9.0.7\"\n{TWO_PORTS}"
    );
    let config = lab.config("n", &text);
    lab.node_ok("n", "attach", &config);
    // 2000 addresses send a frame each. Between two scrapes anna's address sends 5 frames.
    let send = |addresses: &str| {
        let frames = format!(
            "import socket,struct\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('c0',0))\n\
             for i in {addresses}: \
             s.send(bytes.fromhex('02000a010001'+'02000a010002')+struct.pack('!HBBHHHBBH',0x800,0x45,0,40,0,0,9,17,0)\
             +struct.pack('!II',0x0a090000+i,0x0a020002)+bytes(20))"
        );
        lab.python("c", &frames);
    };
    send("range(2000)");
    let counts = |text: &str, name: &str| text.lines().filter(|line| line.starts_with(name)).count();
    let text = scrape((&lab, "n"), &config, &["--users", "50"], || send("[7]*5"), 2);
    // 2000 users and the default user.
    assert!(text.contains("fairlane_users 2001\n") && text.contains("fairlane_users_shown 50\n"), "{text}");
    assert_eq!(counts(&text, "fairlane_user_bytes_total{"), 50);
    assert!(text.contains("fairlane_user_packets_total{user=\"anna\",key=\"10.9.0.7\"} 6"), "{text}");
    // The size does not depend on the number of users: help lines and ports take less than 10 kB, and each of 50 users
    // has 4 lines of about 70 bytes.
    assert!(text.len() < 30_000, "{}", text.len());
    // Prometheus itself parses the page without an error.
    if let Ok(mut child) =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()
    {
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    } else {
        println!("not checked: there is no promtool");
    }
    let status = lab.node_ok("n", "status", &config);
    assert!(status.contains("anna (10.9.0.7)") && status.contains("and 1981 users more"), "{status}");
    lab.node_ok("n", "detach", &config);
}

/// The systemd units run another program, since the real one is not installed. All other files that the units name must
/// exist.
#[test]
fn systemd_takes_the_units() {
    let version = Command::new("systemd-analyze").arg("--version").output();
    if version.is_err() {
        println!("skipped: there is no systemd-analyze");
        return;
    }
    let folder = std::env::temp_dir().join(format!("fairlane-units-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let share = Path::new(env!("CARGO_MANIFEST_DIR")).join("share");
    let mut units = Vec::new();
    for entry in std::fs::read_dir(share).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".service") {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let text = text.replace("/usr/sbin/fairlane-node", "/bin/true");
            // An instance of a template unit.
            let name = name.replace("@.", "@eth0.");
            std::fs::write(folder.join(&name), text).unwrap();
            units.push(folder.join(name));
        }
    }
    assert!(units.len() >= 3, "{units:?}");
    let mut command = Command::new("timeout");
    let output = command.args(["60", "systemd-analyze", "verify", "--man=no"]).args(&units).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let of_ours = stderr(&output).lines().any(|line| line.contains("fairlane"));
    assert!(output.status.success() && !of_ours, "{}", stderr(&output));
}

/// Opens peers that send no data, and a slow peer that sends a byte now and then. Prints the duration of a scrape, then
/// true if the slow peer is disconnected, and the answer to a request with another host name.
const SLOW_PEERS: &str = "\
import http.client, socket, time
def connect(): return socket.create_connection(('127.0.0.1', 9550))
silent = [connect() for _ in range(100)]
slow = connect(); slow.settimeout(.2)
def get(host):
    peer = http.client.HTTPConnection('127.0.0.1', 9550)
    peer.request('GET', '/metrics', headers={'Host': host} if host else {})
    return peer.getresponse().status
begin = time.monotonic()
statuses = [get(None) for _ in range(5)]
scraped = time.monotonic() - begin
is_dropped = False
while not is_dropped and time.monotonic() - begin < 15:
    try: slow.send(b'G'); is_dropped = slow.recv(1) == b''
    except TimeoutError: pass
    except OSError: is_dropped = True
print(statuses, scraped < 5, is_dropped, get('evil.example:9550'), get('localhost:9550'))
";

#[test]
fn slow_peers_of_the_exporter_block_nobody_and_strangers_get_nothing() {
    skip_unless_live!();
    let lab = Lab::one_node();
    let config = lab.config("n", "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n");
    lab.node_ok("n", "attach", &config);
    let mut command = lab.command_within("n", 120, NODE);
    let mut export = command.arg("export").arg(&config).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(export.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let output = lab.command_within("n", 90, "python3").args(["-c", SLOW_PEERS]).output().unwrap();
    Command::new("kill").arg(export.id().to_string()).status().unwrap();
    export.wait().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert_eq!(printed, "[200, 200, 200, 200, 200] True True 421 200\n");
    lab.node_ok("n", "detach", &config);
}
