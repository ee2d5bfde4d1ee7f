//! Runs the commands of docs/howto/two-routers.md on two routers.
#![cfg(feature = "ebpf")]

use crate::lab::Lab;
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE: &str = include_str!("../../../docs/howto/two-routers.md");
const NODE: &str = env!("CARGO_BIN_EXE_fairlane-node");

/// Returns roles and texts of the commands.
pub fn commands() -> Vec<(&'static str, &'static str)> {
    let block = PAGE.split("```").nth(1).unwrap();
    let typed = block.lines().filter_map(|line| line.split_once("# "));
    typed.map(|(who, command)| (if who == "edge" { "a" } else { "b" }, command)).collect()
}

/// Runs systemd-networkd for a while with a file for `eth1`, in a separate mount namespace, and prints the result. /sys
/// is read-only as in a container, so systemd-networkd does not wait for udev.
const NETWORKD: &str = "mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount -t sysfs -o ro sysfs /sys && \
    mkdir -p /run/systemd/netif /run/systemd/network && chown systemd-network: /run/systemd/netif && \
    printf '[Match]\\nName=eth1\\n\\n%s' \"$0\" > /run/systemd/network/eth1.network && \
    { timeout 15 /lib/systemd/systemd-networkd 2>/run/said & } && \
    for turn in $(seq 100); do tc qdisc show dev eth1 root | grep -q tbf && break; sleep .1; done; \
    kill $!; wait $!; cat /run/said >&2; tc qdisc show dev eth1 root";

#[test]
fn networkd_makes_the_shaper_that_is_typed() {
    skip_unless_live!();
    if !Path::new("/lib/systemd/systemd-networkd").exists() {
        println!("skipped: there is no systemd-networkd");
        return;
    }
    let block = PAGE.split("```ini\n").nth(1).unwrap().split("```").next().unwrap();
    let file: String = block.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let typed = commands().into_iter().find_map(|(_, command)| command.starts_with("tc ").then_some(command)).unwrap();
    assert!(PAGE.contains(&format!("`up {typed}`")), "{typed}");
    let lab = Lab::new(&["b", "s"]);
    lab.wire(("b", "eth1", "10.2.0.1"), ("s", "s0", "10.2.0.2"));
    lab.run("b", typed);
    // Ignores the number of the qdisc.
    let shown = |text: &str| text.split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
    let wanted = shown(&lab.run("b", "tc qdisc show dev eth1 root"));
    lab.run("b", "tc qdisc del dev eth1 root");
    let output = lab.command("b", "unshare").args(["--mount", "sh", "-c", NETWORKD, &file]).output().unwrap();
    let made = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown(&made), wanted, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(wanted.contains("rate 50Mbit"), "{wanted}");
}

/// The two routers and their hosts.
pub fn routers() -> Lab {
    let lab = Lab::new(&["c", "a", "b", "s"]);
    lab.wire(("c", "c0", "10.1.0.2"), ("a", "eth0", "10.1.0.1"));
    lab.wire(("a", "eth1", "10.3.0.1"), ("b", "eth0", "10.3.0.2"));
    lab.wire(("b", "eth1", "10.2.0.1"), ("s", "s0", "10.2.0.2"));
    let (edge, core) = (("a", "10.2.0.0/24 via 10.3.0.2"), ("b", "10.1.0.0/24 via 10.3.0.1"));
    lab.routes(&[("c", "default via 10.1.0.1"), edge, core, ("s", "default via 10.2.0.1")]);
    lab
}

#[test]
fn ten_commands_make_an_edge_and_a_core() {
    skip_unless_live!();
    let lab = routers();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/node");
    let commands = commands();
    assert_eq!(commands.len(), 10);
    let mut configs = std::collections::HashMap::new();
    let mut status = String::new();
    for (router, command) in commands {
        if command.starts_with("apt ") {
            // The package has a separate test.
            continue;
        }
        if let Some(copied) = command.strip_prefix("cp /usr/share/doc/fairlane-node/examples/") {
            let (file, to) = copied.split_once(' ').unwrap();
            assert_eq!(to, "/etc/fairlane/node.toml");
            configs.insert(router, lab.config(router, &std::fs::read_to_string(examples.join(file)).unwrap()));
        } else if command == "systemctl enable --now fairlane-node" {
            // This is the command of the unit, without `--follow` so that it returns.
            lab.node_ok(router, "attach", &configs[router]);
        } else {
            let config = configs[router].display().to_string();
            let words = command.replace("/etc/fairlane/node.toml", &config).replace("fairlane-node", NODE);
            status = lab.run(router, &words);
        }
    }
    assert!(status.contains("eth1"), "{status}");
    // The first packets make the node ask if the far end reads labels.
    let until = Instant::now() + Duration::from_secs(60);
    while crate::lab::port(&lab.status("a", &configs["a"]), "eth1")["labels"] != "written" {
        assert!(Instant::now() < until, "the edge writes no labels");
        lab.send("c", "10.2.0.2", 972, 1, 0);
    }
    let counted =
        |router: &str, counter: &str| lab.status(router, &configs[router])["ingress"][counter].as_u64().unwrap();
    // An answer is valid for 2 s. On a busy machine the first of these packets may make the node ask again.
    loop {
        let before = (counted("a", "metered"), counted("b", "trusted"));
        lab.send("c", "10.2.0.2", 972, 30, 0);
        assert_eq!(counted("a", "metered"), before.0 + 30);
        if counted("b", "trusted") == before.1 + 30 {
            break;
        }
        assert!(Instant::now() < until, "packets without a label");
    }
    for router in ["a", "b"] {
        lab.node_ok(router, "detach", &configs[router]);
    }
}
