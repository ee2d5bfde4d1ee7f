//! The commands of docs/howto/two-routers.md, run on two routers.
#![cfg(feature = "ebpf")]

mod common;
#[path = "common/live.rs"]
mod live;

use live::Lab;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/howto/two-routers.md");
const NODE: &str = env!("CARGO_BIN_EXE_fairlane-node");

/// Who types a command, and what.
fn commands() -> Vec<(&'static str, &'static str)> {
    let block = PAGE.split("```").nth(1).unwrap();
    let typed = block.lines().filter_map(|line| line.split_once("# "));
    typed.map(|(who, command)| (if who == "edge" { "a" } else { "b" }, command)).collect()
}

#[test]
fn ten_commands_make_an_edge_and_a_core() {
    skip_unless_live!();
    let lab = Lab::new(&["c", "a", "b", "s"]);
    lab.wire(("c", "c0", "10.1.0.2"), ("a", "eth0", "10.1.0.1"));
    lab.wire(("a", "eth1", "10.3.0.1"), ("b", "eth0", "10.3.0.2"));
    lab.wire(("b", "eth1", "10.2.0.1"), ("s", "s0", "10.2.0.2"));
    let (edge, core) = (("a", "10.2.0.0/24 via 10.3.0.2"), ("b", "10.1.0.0/24 via 10.3.0.1"));
    lab.routes(&[("c", "default via 10.1.0.1"), edge, core, ("s", "default via 10.2.0.1")]);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/node");
    let commands = commands();
    assert_eq!(commands.len(), 10);
    let mut configs = std::collections::HashMap::new();
    let mut status = String::new();
    for (router, command) in commands {
        if command.starts_with("apt ") {
            // The package has a test of its own.
            continue;
        }
        if let Some(copied) = command.strip_prefix("cp /usr/share/doc/fairlane-node/examples/") {
            let (file, to) = copied.split_once(' ').unwrap();
            assert_eq!(to, "/etc/fairlane/node.toml");
            configs.insert(router, lab.config(router, &std::fs::read_to_string(examples.join(file)).unwrap()));
        } else if command == "systemctl enable --now fairlane-node" {
            // What the unit runs, but for staying.
            lab.node_ok(router, "attach", &configs[router]);
        } else {
            let config = configs[router].display().to_string();
            let words = command.replace("/etc/fairlane/node.toml", &config).replace("fairlane-node", NODE);
            status = lab.run(router, &words);
        }
    }
    assert!(status.contains("eth1"), "{status}");
    lab.send("c", "10.2.0.2", 972, 30, 0);
    let (at_edge, at_core) = (lab.status("a", &configs["a"]), lab.status("b", &configs["b"]));
    assert_eq!((&at_edge["ingress"]["metered"], &at_core["ingress"]["trusted"]), (&30.into(), &30.into()));
    assert_eq!(live::port(&at_core, "eth1")["unlabelled"], 0);
    for router in ["a", "b"] {
        lab.node_ok(router, "detach", &configs[router]);
    }
}
