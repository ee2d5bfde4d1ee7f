//! Tests an operator's lists at a running node. Each subscriber has one meter, with the defaults of the default user.
#![cfg(feature = "ebpf")]

use crate::lab::Lab;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::Output;

const NODE: &str = env!("CARGO_BIN_EXE_fairlane-node");
const EDGE: &str = include_str!("../../../examples/node/edge.toml");
const PORT: &str = "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n";

/// A node between a client and a server, with its subscribers in a folder of the lab.
struct Node {
    lab: Lab,
    config: PathBuf,
}

impl Node {
    fn new(text: &str) -> Self {
        let lab = Lab::one_node();
        let state = lab.pins_of("n").with_file_name("").with_file_name("state");
        let config = lab.config("n", &format!("state_path = \"{}\"\n{text}", state.display()));
        Self { lab, config }
    }

    fn tool(&self, arguments: &[&str]) -> Output {
        self.lab.command_within("n", 120, NODE).args(arguments).output().unwrap()
    }

    fn user(&self, verb: &str, arguments: &[&str]) -> Output {
        self.tool(&[&["user", verb, self.config.to_str().unwrap()], arguments].concat())
    }

    fn user_ok(&self, verb: &str, arguments: &[&str]) {
        let output = self.user(verb, arguments);
        assert!(output.status.success(), "{verb} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns names, packets and activities of users that have sent packets, ordered by key.
    fn users(&self) -> Vec<(String, u64, f64)> {
        let status = self.lab.status("n", &self.config);
        let of = |user: &Json| {
            let name = user["name"].as_str().unwrap().to_string();
            (name, user["packets"].as_u64().unwrap(), user["activity"].as_f64().unwrap())
        };
        status["users"].as_array().unwrap().iter().map(of).filter(|(_, packets, _)| *packets > 0).collect()
    }

    fn send(&self, to: &str, packets: u32) {
        let family = if to.contains(':') { "AF_INET6" } else { "AF_INET" };
        let program = format!(
            "import socket\ns=socket.socket(socket.{family},socket.SOCK_DGRAM)\n\
             for i in range({packets}): s.sendto(bytes(900),('{to}',9))"
        );
        self.lab.python("c", &program);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.lab.node("n", "detach", &self.config);
    }
}

#[test]
fn a_host_with_both_families_has_one_meter_at_the_shipped_edge() {
    skip_unless_live!();
    let node = Node::new(&EDGE.replace("\"eth0\"", "\"in0\"").replace("\"eth1\"", "\"out0\""));
    let check = String::from_utf8(node.tool(&["check", node.config.to_str().unwrap()]).stdout).unwrap();
    assert!(check.contains("users table") && !check.contains("meters of addresses"), "{check}");
    node.lab.node_ok("n", "attach", &node.config);
    node.lab.wire6(("c", "c0", "2001:db8:1::2"), ("n", "in0", "2001:db8:1::1"));
    node.lab.run("c", "ip -6 neigh replace 2001:db8:1::1 lladdr 02:00:0a:01:00:01 dev c0 nud permanent");
    node.lab.run("c", "ip -6 route add 2001:db8:9::/64 via 2001:db8:1::1");
    node.send("10.2.0.2", 10);
    node.send("2001:db8:9::1", 10);
    let users = node.users();
    let house = users.iter().filter(|(name, ..)| name == "house-1").collect::<Vec<_>>();
    assert!(house.len() == 1 && house[0].1 >= 20, "{users:?}");
    // The host's own packets from link-local addresses belong to no user.
    assert!(users.iter().all(|(name, ..)| ["house-1", "default", "unparsed"].contains(&name.as_str())), "{users:?}");
}

#[test]
fn check_warns_of_two_meters_of_a_host() {
    skip_unless_live!();
    let warning = |text: &str| {
        let node = Node::new(&format!("{text}{PORT}"));
        let check = String::from_utf8(node.tool(&["check", node.config.to_str().unwrap()]).stdout).unwrap();
        check.lines().find_map(|line| line.strip_prefix("meters of addresses      warning: ")).map(str::to_string)
    };
    let user = |name: &str, prefix: &str| {
        format!("[[users]]\nname = \"{name}\"\nprefix = {prefix}\nmeter_of = \"address\"\naddress_limit = 9\n")
    };
    let told = |whose: &str| {
        Some(format!(
            "meter_of = \"address\" of {whose}: a host with an address of IPv4 and one of IPv6 has two meters and \
             gets twice its share; make it a user that has all its prefixes"
        ))
    };
    assert_eq!(warning("[default_user]\nmeter_of = \"address\"\n"), told("[default_user]"));
    assert_eq!(warning(&user("a", "[\"10.1.0.0/24\", \"2001:db8::/64\"]")), told("user \"a\""));
    let two = user("a", "\"10.1.0.0/24\"") + &user("b", "\"2001:db8::/64\"");
    assert_eq!(warning(&two), told("user \"a\" and user \"b\""));
    assert_eq!(warning(&user("b", "\"2001:db8::/64\"")), None);
}

#[test]
fn a_subscriber_without_a_rate_has_that_of_the_default_user() {
    skip_unless_live!();
    let node = Node::new(&format!("[default_user]\nreference_rate = \"1 Gbit/s\"\n{PORT}"));
    node.lab.node_ok("n", "attach", &node.config);
    let list = node.lab.file("list.csv", "name,prefix\na,10.1.0.2\n");
    node.user_ok("import", &[list.to_str().unwrap()]);
    node.send("10.2.0.2", 100);
    // At a reference rate of 10 kbit/s, 100 datagrams within a memory of 3 s give an activity of 4 to 5.
    let users = node.users();
    let is_below =
        |users: &[(String, u64, f64)], packets| users.len() == 1 && users[0].1 == packets && users[0].2 < 0.0;
    assert!(users[0].0 == "a" && is_below(&users, 100), "{users:?}");
    // Attaching again loads the same subscribers.
    node.lab.node_ok("n", "attach", &node.config);
    node.send("10.2.0.2", 100);
    assert!(is_below(&node.users(), 200), "{:?}", node.users());
}

#[test]
fn an_address_in_its_mapped_form_meters_and_goes_as_one() {
    skip_unless_live!();
    let node = Node::new(PORT);
    node.lab.node_ok("n", "attach", &node.config);
    node.user_ok("add", &["a", "--prefix", "10.1.0.2"]);
    assert!(!node.user("add", &["b", "--prefix", "::ffff:10.1.0.2"]).status.success());
    assert!(!node.user("add", &["c", "--prefix", "::/0"]).status.success());
    node.send("10.2.0.2", 10);
    let packets = || node.users().into_iter().map(|(name, packets, _)| (name, packets)).collect::<Vec<_>>();
    assert_eq!(packets(), [("a".to_string(), 10)]);
    node.user_ok("set", &["a", "--prefix", "::ffff:10.1.0.2"]);
    node.send("10.2.0.2", 10);
    assert_eq!(packets(), [("a".to_string(), 20)]);
}
