//! Tests a node during a mix of events: reloads, kills of the tool, upgrades of the tool, changes to subscribers, a
//! port that disappears and reappears, and more users than slots. FAIRLANE_SOAK_SECONDS is the duration: 8 by default,
//! 600 for the full test.
#![cfg(feature = "ebpf")]

use crate::lab::Lab;
use fairlane_node::records::Places;
use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

const KILLS: u32 = 20;

/// Returns the number of user maps with room for `users` addresses, and the number of programs that use such a map.
fn in_kernel(users: u32) -> (usize, usize) {
    let places = Places { configured: 1024, addresses: users }.all();
    let maps: Vec<u32> = MapInfoIter::default().filter(|map| map.max_entries == places).map(|map| map.id).collect();
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let uses = |ids: &[u32]| ids.iter().any(|id| maps.contains(id));
    (maps.len(), ProgInfoIter::with_query_opts(options).filter(|program| uses(&program.map_ids)).count())
}

/// Waits up to 5 s until [`in_kernel`] returns `expected`, since the kernel frees maps and programs with some delay.
/// Returns true if it does.
fn comes_to(users: u32, expected: (usize, usize)) -> bool {
    (0..50).any(|turn| {
        sleep(Duration::from_millis(if turn == 0 { 0 } else { 100 }));
        in_kernel(users) == expected
    })
}

#[test]
fn reloads_kills_and_a_full_table_lose_no_packet_and_leak_nothing() {
    skip_unless_live!();
    let seconds: u64 = env::var("FAIRLANE_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    // The number of users identifies this node's maps: other nodes on this machine have maps of other sizes.
    let users = 100 + std::process::id() % 97;
    let lab = Lab::one_node();
    let state = lab.pins_of("n").with_file_name("../state").display().to_string();
    // The upgraded tool is a copy of the tool in another file. Its programs replace the running ones.
    let upgraded = lab.file("fairlane-node", "");
    fs::copy(env!("CARGO_BIN_EXE_fairlane-node"), &upgraded).unwrap();
    fs::set_permissions(&upgraded, fs::metadata(env!("CARGO_BIN_EXE_fairlane-node")).unwrap().permissions()).unwrap();
    let tools = [env!("CARGO_BIN_EXE_fairlane-node"), upgraded.to_str().unwrap()];
    let config = |rate: &str| {
        lab.config(
            "n",
            &format!(
                "state_path = \"{state}\"\n[marker]\nmemory = \"100 ms\"\n[users_table]\nlimit = {users}\n\
                 timeout = \"1 s\"\n[default_user]\n\
                 meter_of = \"address\"\nreference_rate = \"{rate}\"\n[[ports]]\ninterface = \"in0\"\n\
                 arrivals = \"meter\"\n[[ports]]\ninterface = \"out0\"\nqueue = {{ scheme = \"abc\" }}\n\
                 [[ports]]\ninterface = \"flap0\"\narrivals = \"meter\"\nqueue = {{ scheme = \"abc\" }}\n"
            ),
        )
    };
    let before = lab.traces("n");
    lab.node_ok("n", "attach", &config("10 kbit/s"));
    let start_ns = lab.status("n", &config("10 kbit/s"))["start_ns"].clone();
    // Sends 1000 numbered packets per second, from 400 addresses in groups of 100. The server prints the number of
    // arrivals.
    let count = seconds * 1000;
    let run = |name: &str, program: String| {
        let mut command = lab.command_within(name, 2 * seconds + 20, "python3");
        command.arg("-c").arg(program);
        command
    };
    let receiver = run(
        "s",
        format!(
            "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind(('10.2.0.2',9))\n\
             s.setsockopt(socket.SOL_SOCKET,33,1<<24)\ns.settimeout(5)\nn=0\n\
             try:\n while n<{count}: s.recv(2000);n+=1\nexcept OSError: pass\nprint(n)"
        ),
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    sleep(Duration::from_millis(500));
    let mut sender = run(
        "c",
        format!(
            "import socket,struct,time\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('c0',0))\n\
             start=time.monotonic()\n\
             for i in range({count}):\n\
             \x20a=struct.pack('!BBBB',10,1,1+i//2000%4,i%100)\n\
             \x20ip=struct.pack('!BBHHHBBH4s4s',0x45,0,128,0,0,64,17,0,a,socket.inet_aton('10.2.0.2'))\n\
             \x20c=sum(struct.unpack('!10H',ip));c=(c&0xffff)+(c>>16);c=(c&0xffff)+(c>>16)\n\
             \x20ip=ip[:10]+struct.pack('!H',~c&0xffff)+ip[12:]\n\
             \x20s.send(bytes.fromhex('02000a01000102000a0100020800')+ip+struct.pack('!HHHH',9,9,108,0)+bytes(100))\n\
             \x20w=start+i/1000-time.monotonic()\n\
             \x20if w>0.002: time.sleep(w)"
        ),
    )
    .spawn()
    .unwrap();
    let (start, mut kills, mut metered) = (Instant::now(), 0, 0);
    let mut turn = 0_usize;
    while start.elapsed() < Duration::from_secs(seconds) {
        let config = config(if turn.is_multiple_of(2) { "20 kbit/s" } else { "10 kbit/s" });
        // A port disappears and reappears, and so does a subscriber whose addresses send packets.
        let has_flap = turn.is_multiple_of(2);
        lab.run("n", if has_flap { "ip link add flap0 type veth peer name flap1" } else { "ip link del flap0" });
        let change = match turn % 3 {
            0 => &["add", "soak", "--prefix", "10.1.2.0/27"][..],
            1 => &["set", "soak", "--prefix", "10.1.2.0/26", "--key", "reference_rate=30 kbit/s"],
            _ => &["remove", "soak"],
        };
        let mut user = lab.command("n", tools[turn % 2]);
        let user = user.args(["user", change[0]]).arg(&config).args(&change[1..]).output().unwrap();
        assert!(user.status.success(), "{change:?}: {}", String::from_utf8_lossy(&user.stderr));
        if kills < KILLS {
            // The tool is killed 0 to 38 ms after its start.
            let mut tool = Command::new("nsenter");
            let netns = lab.netns_path("n");
            let mut tool = tool
                .arg(format!("--net={netns}"))
                .args([env!("CARGO_BIN_EXE_fairlane-node"), "attach"])
                .arg(&config)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            sleep(Duration::from_millis(u64::from(2 * kills)));
            tool.kill().unwrap();
            tool.wait().unwrap();
            kills += 1;
        }
        let tool = lab.command("n", tools[turn / 2 % 2]).arg("attach").arg(&config).output().unwrap();
        let expected = if has_flap { "reloaded: 3 ports\n" } else { "reloaded: 2 of 3 ports\n" };
        assert_eq!(String::from_utf8_lossy(&tool.stdout), expected, "{}", String::from_utf8_lossy(&tool.stderr));
        let status = lab.status("n", &config);
        assert_eq!(status["start_ns"], start_ns);
        let now = status["ingress"]["metered"].as_u64().unwrap();
        assert!(now >= metered, "{now} after {metered}");
        metered = now;
        // The four other meters are those of the default user, the overflow, packets without an address, and the
        // subscriber.
        assert!(status["users"].as_array().unwrap().len() as u32 <= users + 4);
        // There is one map. Its programs are ingress, egress, and the one that starts the timer, which the timer keeps
        // loaded.
        assert!(comes_to(users, (1, 3)), "{:?}", in_kernel(users));
        turn += 1;
        sleep(Duration::from_millis(if seconds > 60 { 900 } else { 100 }));
    }
    assert!(sender.wait().unwrap().success());
    let output = receiver.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), count.to_string(), "packets that came");
    let status = lab.status("n", &config("10 kbit/s"));
    let ingress = &status["ingress"];
    assert_eq!(ingress["metered"], count);
    println!("{seconds} s, {turn} reloads, changes and flaps, {kills} kills: {ingress}");
    // Four groups of 100 addresses send for two seconds each. The first group expires while the third sends.
    assert!(ingress["expired"].as_u64().unwrap() > 0, "{ingress}");
    if turn % 2 == 1 {
        lab.run("n", "ip link del flap0");
    }
    lab.node_ok("n", "detach", &config("10 kbit/s"));
    assert_eq!(lab.traces("n"), before);
    assert!(comes_to(users, (0, 0)), "{:?}", in_kernel(users));
}
