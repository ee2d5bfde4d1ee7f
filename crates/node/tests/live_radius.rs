//! Tests that RADIUS accounting reports subscribers to a running node.
#![cfg(feature = "ebpf")]

use crate::live_users::Node;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Sends accounting requests and prints two values for each: the code of the answer (0 if there is none within half a
/// second), and true if the answer has a valid authenticator and the request's Proxy-State.
const SERVER: &str = r#"
import hashlib, json, socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(.5)
def attribute(kind, value): return bytes([kind, len(value) + 2]) + value
def ask(number, status, user, session, address=None, other=None, nas="bng", delay=None, stamp=None, proxies=()):
    secret = b"xyzzy"
    states = [attribute(33, state.encode()) for state in proxies]
    body = b"".join(states[:1]) + attribute(40, struct.pack("!I", status)) + attribute(32, nas.encode())
    if user: body += attribute(1, user.encode())
    if session: body += attribute(44, session.encode())
    if address: body += attribute(8, socket.inet_aton(address))
    if delay: body += attribute(41, struct.pack("!I", delay))
    if stamp: body += attribute(55, struct.pack("!I", stamp))
    body += b"".join(states[1:])
    head = struct.pack("!BBH", 4, number % 256, 20 + len(body))
    auth = hashlib.md5(head + bytes(16) + body + (other.encode() if other else secret)).digest()
    s.sendto(head + auth + body, ("127.0.0.1", 1813))
    try: answer = s.recv(4096)
    except TimeoutError: print(0, flush=True); return
    expected = hashlib.md5(answer[:4] + auth + answer[20:] + secret).digest()
    is_right = answer[1] == number % 256 and answer[4:20] == expected and answer[20:] == b"".join(states)
    print(answer[0] if is_right else "wrong", flush=True)
for number, request in enumerate(json.loads(sys.argv[1])):
    more = request.pop() if isinstance(request[-1], dict) else {}
    ask(number, *request, **more)
"#;

/// A listening `radius` command, ended with the test.
struct Listener<'a> {
    node: &'a Node,
    child: Child,
}

impl<'a> Listener<'a> {
    fn start(node: &'a Node) -> Self {
        std::fs::create_dir_all(&node.folder).unwrap();
        let [secret, metrics] = ["secret", "radius.prom"].map(|name| node.folder.join(name).display().to_string());
        std::fs::write(&secret, "xyzzy\n").unwrap();
        let config = node.config.to_str().unwrap();
        let mut command = node.tool(&["radius", config, "--secret", &secret, "--metrics", &metrics]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut announced = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut announced).unwrap();
        assert_eq!(announced, "listening at 127.0.0.1:1813\n");
        Self { node, child }
    }

    /// Returns the answers to requests of the form `[status, user, session, address, another secret, {more}]`.
    fn ask(&self, requests: Json) -> Vec<String> {
        self.run(SERVER, &requests.to_string()).lines().map(String::from).collect()
    }

    fn run(&self, program: &str, argument: &str) -> String {
        let mut command = self.node.lab.command_within("n", 120, "python3");
        let output = command.args(["-c", program, argument]).stderr(Stdio::inherit()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn flood(&self, first: u32, count: u32, every: u32) -> (u32, f64) {
        let printed = self.run(FLOOD, &json!([first, count, every]).to_string());
        let (answered, seconds) = printed.trim().split_once(' ').unwrap();
        (answered.parse().unwrap(), seconds.parse().unwrap())
    }

    /// Ends the command. Returns its warnings.
    fn stop(mut self) -> String {
        self.end();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }

    fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

fn names(node: &Node) -> Vec<String> {
    let listed = node.user_ok("list", &[]);
    listed.lines().map(|line| line.split_whitespace().next().unwrap().into()).collect()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn sessions_of_radius_become_subscribers() {
    skip_unless_live!();
    let node = Node::new(64, "[[users]]\nname = \"fixed\"\nprefix = \"10.6.0.1\"\n");
    node.lab.node_ok("n", "attach", &node.config);
    let listener = Listener::start(&node);
    let ask = |requests: Json| listener.ask(requests);
    // Starts a session of anna, a second one whose address arrives only in an interim update, a session of bert (sent
    // twice), and one of dora without an address.
    let answers = ask(json!([
        [1, "anna", "s1", "10.6.0.2"],
        [1, "anna", "s2"],
        [3, "anna", "s2", "10.6.0.3"],
        [1, "bert", "s3", "10.6.0.4"],
        [1, "bert", "s3", "10.6.0.4"],
        [1, "dora", "s7", "0.0.0.0"]
    ]));
    assert_eq!(answers, ["5"; 6]);
    // These updates repeat neither the address nor the name.
    assert_eq!(ask(json!([[3, "anna", "s2"], [3, null, "s2"]])), ["5"; 2]);
    node.send_from(&[[10, 6, 0, 2], [10, 6, 0, 3], [10, 6, 0, 4]]);
    assert_eq!((node.packets("anna"), node.packets("bert")), (2, 1));
    // Requests with a wrong secret are not answered. An address of the configuration is rejected. Other requests
    // succeed.
    let answers = ask(json!([
        [1, "eve", "s9", "10.6.0.9", "another secret"],
        [1, "eve", "s9", "10.6.0.1"],
        [1, "carl", "s4", "10.6.0.5"]
    ]));
    assert_eq!(answers, ["0", "0", "5"]);
    // bert's address moves to carl, though bert's stop was never received; anna's first session stops.
    let answers = ask(json!([[3, "carl", "s4", "10.6.0.4"], [2, "anna", "s1"]]));
    assert_eq!(answers, ["5"; 2]);
    let listed = node.user_ok("list", &[]);
    let names: Vec<&str> = listed.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["anna", "carl"], "{listed}");
    node.send_from(&[[10, 6, 0, 2], [10, 6, 0, 3], [10, 6, 0, 4]]);
    // One of anna's two addresses is removed, but her meter is kept: it has counted two earlier packets and one from
    // her other address. carl had sent no packet, and now has the packet from bert's former address. anna's former
    // address belongs to no user.
    assert_eq!(["anna", "bert", "carl", "default"].map(|name| node.packets(name)), [3, 0, 1, 1]);
    // The access server restarts (RFC 2866 4.1 and 5.1, Acct-Status-Type 7), so all its sessions have ended.
    assert_eq!(ask(json!([[7, null, null]])), ["5"]);
    assert_eq!(node.user_ok("list", &[]), "");
    node.send_from(&[[10, 6, 0, 3], [10, 6, 0, 4]]);
    assert_eq!(node.packets("default"), 3);
    let counted = [
        "{result=\"not_authentic\"} 1\n",
        "{result=\"not_kept\"} 1\n",
        "passed_over_total 1\n",
        "{result=\"kept\"} 12\n",
    ];
    let metrics = || std::fs::read_to_string(node.folder.join("radius.prom")).unwrap();
    let begin = Instant::now();
    while !counted.iter().all(|count| metrics().contains(count)) {
        assert!(begin.elapsed().as_secs() < 20, "{}", metrics());
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = listener.stop();
    // Two requests were not answered, the second immediately after the first. They cause at most two lines of output.
    assert!(said.lines().count() <= 2, "{said}");
    let expected = [
        "discarded 1 request (1 not authentic)",
        "could not keep 1 request",
        "10.6.0.1/32 belongs to \"fixed\" already",
    ];
    assert!(expected.iter().all(|text| said.contains(text)), "{said}");
}

#[test]
fn keys_of_a_user_outlive_its_sessions_and_may_come_before_them() {
    skip_unless_live!();
    let node = Node::new(64, "[[users]]\nname = \"fixed\"\nprefix = \"10.6.0.1\"\n");
    node.lab.node_ok("n", "attach", &node.config);
    let listener = Listener::start(&node);
    assert_eq!(listener.ask(json!([[1, "anna", "s1", "10.6.0.2"], [1, "bert", "s2", "10.6.0.3"]])), ["5"; 2]);
    node.user_ok("set", &["anna", "--key", "reference_rate=20 kbit/s"]);
    let waits = "; it has no prefix and is metered only during RADIUS sessions\n";
    let added = node.user_ok("add", &["carl", "--key", "reference_rate=30 kbit/s"]);
    assert_eq!(added, format!("added \"carl\"{waits}"));
    // When its session stops, a subscriber loses its prefix but keeps its keys. Other subscribers are unaffected.
    assert_eq!(listener.ask(json!([[2, "anna", "s1"], [1, "carl", "s3", "10.6.0.4"]])), ["5"; 2]);
    node.send_from(&[[10, 6, 0, 2], [10, 6, 0, 3], [10, 6, 0, 4]]);
    assert_eq!(["anna", "bert", "carl", "default"].map(|name| node.packets(name)), [0, 1, 1, 1]);
    assert_eq!(listener.ask(json!([[7, null, null]])), ["5"]);
    assert_eq!(names(&node), ["anna", "carl"]);
    // The keys also survive a restart of the node, and apply to the subscriber's next session.
    node.lab.node_ok("n", "detach", &node.config);
    assert_eq!(node.lab.node_ok("n", "attach", &node.config), "attached: 1 port\n");
    assert_eq!(listener.ask(json!([[1, "anna", "s4", "10.6.0.2"]])), ["5"]);
    node.send_from(&[[10, 6, 0, 2]]);
    assert_eq!(node.packets("anna"), 1);
    assert!(node.user_ok("list", &[]).contains("reference_rate 20 kbit/s, prefix 10.6.0.2/32"));
}

#[test]
fn sessions_of_users_that_cannot_be_metered_end_with_those_of_others() {
    skip_unless_live!();
    let node = Node::new(64, "[[users]]\nname = \"fixed\"\nprefix = \"10.6.0.1\"\n");
    node.lab.node_ok("n", "attach", &node.config);
    assert_eq!(Listener::start(&node).ask(json!([[1, "anna", "s1", "10.6.0.2"]])), ["5"]);
    // The configuration now has the name of one subscriber and the address of another.
    let addresses = |addresses: &[&str]| {
        let of = |address| (format!("b{address}"), json!({"addresses": {"framed_ip_address": [address]}}));
        json!({"bng": addresses.iter().map(of).collect::<serde_json::Map<_, _>>()})
    };
    let kept = [
        json!({"put": {"name": "fixed", "sessions": addresses(&["10.6.0.5"])}}),
        json!({"put": {"name": "eve", "user": {"reference_rate": "20 kbit/s"}, "sessions": addresses(&["10.6.0.1",
            "10.6.0.6"])}}),
    ];
    let file = node.folder.join("subscribers.jsonl");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{before}{}\n{}\n", kept[0], kept[1])).unwrap();
    let listener = Listener::start(&node);
    assert_eq!(names(&node), ["anna", "eve", "fixed"]);
    assert_eq!(
        listener.ask(json!([[2, "eve", "b10.6.0.6"], [1, "bert", "s2", "10.6.0.3"], [7, null, null]])),
        ["5"; 3]
    );
    assert_eq!(names(&node), ["eve"]);
}

#[test]
fn records_count_by_the_time_of_their_event() {
    skip_unless_live!();
    let node = Node::new(64, "");
    node.lab.node_ok("n", "attach", &node.config);
    let listener = Listener::start(&node);
    let at = |second: u64| json!({"stamp": now() - 1000 + second});
    let start = |user: &str, session: &str, more: Json| json!([1, user, session, "10.6.0.2", null, more]);
    let stop = |session: &str, more: Json| json!([2, null, session, null, null, more]);
    // The start arrives again after the stop. Start and stop have a timestamp, a delay time, or neither.
    for (first, last) in [(at(1), at(5)), (json!({"delay": 9}), json!({"delay": 2})), (json!({}), json!({}))] {
        let session = format!("of {first}");
        let begin = start("anna", &session, first);
        assert_eq!(listener.ask(json!([begin, stop(&session, last), begin])), ["5"; 3]);
        assert_eq!(node.user_ok("list", &[]), "");
    }
    // An older start does not take the address from the address's current owner; a newer start does.
    let answers = listener.ask(json!([start("bert", "s2", at(20)), start("anna", "s1", at(10))]));
    assert_eq!((answers, names(&node)), (vec!["5".into(); 2], vec!["bert".into()]));
    assert_eq!(
        listener.ask(json!([start("carl", "s3", at(30)), start("anna", "s4", json!({"delay": 985}))])),
        ["5"; 2]
    );
    assert_eq!(names(&node), ["carl"]);
    // Accounting-Off ends only sessions of the access server that sends it, and only those that started earlier.
    let off = |nas: &str, second: u64| json!([8, null, null, null, null, {"nas": nas, "stamp": now() - 1000 + second}]);
    let other = json!([1, "dora", "x", "10.6.0.3", null, {"nas": "bng 1"}]);
    assert_eq!(listener.ask(json!([other, off("bng", 40), start("carl", "s5", at(50)), off("bng", 40)])), ["5"; 4]);
    assert_eq!(names(&node), ["carl", "dora"]);
    assert_eq!(listener.ask(json!([off("bng 1", 60)])), ["5"]);
    assert_eq!(names(&node), ["carl"]);
}

#[test]
fn answers_carry_the_state_of_proxies() {
    skip_unless_live!();
    let node = Node::new(64, "");
    let listener = Listener::start(&node);
    let proxies = json!({"proxies": ["inner", "outer", "inner", "\u{0}"]});
    assert_eq!(
        listener.ask(json!([[1, "anna", "s1", "10.6.0.2", null, proxies], [2, "anna", "s1", proxies]])),
        ["5"; 2]
    );
}

/// Sends the starts of `count` sessions from `first` on, up to 100 at once. Sessions whose number is a multiple of
/// `every` have an address of the configuration. Prints the number of answers and the time in seconds.
const FLOOD: &str = r#"
import hashlib, json, socket, struct, sys, time
first, count, every = json.loads(sys.argv[1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", 1813)); s.settimeout(5)
def attribute(kind, value): return bytes([kind, len(value) + 2]) + value
def request(i):
    address = bytes([10, 6, 0, 1]) if every and (i - first) % every == 0 else struct.pack("!I", 0x0a080000 + i)
    name = str(i).encode()
    body = attribute(40, struct.pack("!I", 1)) + attribute(32, b"bng")
    body += attribute(1, name) + attribute(44, name) + attribute(8, address)
    head = struct.pack("!BBH", 4, i % 256, 20 + len(body))
    return head + hashlib.md5(head + bytes(16) + body + b"xyzzy").digest() + body
requests = [request(first + i) for i in range(count)]
refused = count // every if every else 0
waiting = sent = answered = 0
begin = time.monotonic()
while answered < count - refused:
    while sent < count and waiting < 100:
        s.send(requests[sent]); waiting += not (every and sent % every == 0); sent += 1
    try: s.recv(4096)
    except TimeoutError: break
    answered += 1; waiting -= 1
print(answered, time.monotonic() - begin)
"#;

#[test]
fn a_refused_request_does_not_slow_down_others() {
    skip_unless_live!();
    const COUNT: u32 = 4000;
    let node = Node::new(6 * COUNT + 1, "[[users]]\nname = \"fixed\"\nprefix = \"10.6.0.1\"\n");
    node.lab.node_ok("n", "attach", &node.config);
    let listener = Listener::start(&node);
    let rate = |turn: u32, every: u32| {
        let (answered, seconds) = listener.flood(turn * COUNT, COUNT, every);
        assert_eq!(answered, COUNT - COUNT.checked_div(every).unwrap_or(0));
        f64::from(COUNT) / seconds
    };
    // Takes the best of three rounds, since other load may use the processors.
    let (mut alone, mut with_refused) = (0.0_f64, 0.0_f64);
    for turn in [0, 2, 4] {
        alone = rate(turn, 0).max(alone);
        with_refused = rate(turn + 1, 50).max(with_refused);
    }
    println!("requests a second: {alone:.0}; with one of 50 refused {with_refused:.0}");
    assert!(with_refused > alone / 3.0, "{with_refused:.0} a second in place of {alone:.0}");
}

#[test]
fn starts_for_which_there_is_no_place_are_refused_and_no_others() {
    skip_unless_live!();
    let node = Node::new(41, "[[users]]\nname = \"fixed\"\nprefix = \"10.6.0.1\"\n");
    node.lab.node_ok("n", "attach", &node.config);
    let listener = Listener::start(&node);
    assert_eq!(listener.flood(0, 90, 0).0, 40);
    assert_eq!(names(&node).len(), 40);
    assert_eq!(listener.ask(json!([[1, "anna", "s1", "10.9.0.1"], [2, null, names(&node)[0]]])), ["0", "5"]);
    assert_eq!(listener.ask(json!([[1, "anna", "s1", "10.9.0.1"]])), ["5"]);
}
