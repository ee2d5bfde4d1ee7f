//! Kills processes during changes of subscribers. The stored list must be the old or the new one, never a mixture.
//! FAIRLANE_KILLS is the number of kills per kind of change: 6 by default, 120 for the full test.
#![cfg(feature = "ebpf")]

use crate::user_lists::Place;
use fairlane_node::subscribers::store::{self, Subscribers};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SIGNALS: [Signal; 3] = [Signal::KILL, Signal::INT, Signal::TERM];

/// Delays in microseconds between the start of writing a change and the kill.
const DELAYS_US: [u64; 6] = [0, 20, 100, 400, 1500, 5000];

/// Number of names in each list. It is large enough for a kill to happen within the single write of a change.
const NAMES: u32 = 8000;

fn kills() -> usize {
    std::env::var("FAIRLANE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// Number of kills, by phase and signal.
#[derive(Default)]
struct Landed(BTreeMap<(&'static str, i32), usize>);

impl Landed {
    fn add(&mut self, place: &'static str, signal: Signal) {
        *self.0.entry((place, signal.as_raw())).or_default() += 1;
    }

    /// Prints the number of kills by phase and signal. Most kills must happen within a change.
    fn report(&self, kind: &str) {
        let (mut all, mut missed) = (0, 0);
        for ((place, signal), count) in &self.0 {
            println!("{kind}: signal {signal}, {place}: {count}");
            all += count;
            missed += if *place == MISSED { *count } else { 0 };
        }
        assert_eq!(all, kills());
        assert!(missed <= all / 4 + 2, "{missed} of {all} missed");
    }
}

const MISSED: &str = "not within the change";

fn listed(state: &Path) -> Subscribers {
    let (subscribers, problems) = store::read(state).unwrap();
    let is_expected = |problem: &String| problem.contains("a change that was not finished: nothing of it counts");
    assert!(problems.iter().all(is_expected), "{problems:?}");
    subscribers
}

/// Waits until `is_time` returns true, then for the delay, and sends the signal. Returns the exit status of the child.
fn kill_at(child: &mut Child, is_time: impl Fn() -> bool, delay_us: u64, signal: Signal) -> ExitStatus {
    let begin = Instant::now();
    while !is_time() {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        // Leaves the processor to the child until the change, and is short compared with the write.
        std::thread::sleep(Duration::from_micros(20));
        assert!(begin.elapsed() < Duration::from_secs(60), "no sign of the change");
    }
    let seen = Instant::now();
    while seen.elapsed() < Duration::from_micros(delay_us) {
        std::hint::spin_loop();
    }
    let _ = kill_process(Pid::from_child(child), signal);
    while seen.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    panic!("{signal:?} did not end it");
}

/// Returns a subscriber list in the format of the file, with names that begin with `letter`.
fn list_of(letter: char) -> String {
    (0..NAMES).fold(String::new(), |mut text, i| {
        let prefix = format!("10.{}.{}.{}", letter as u32, i / 256, i % 256);
        writeln!(text, "{{\"put\":{{\"name\":\"{letter}{i:05}\",\"user\":{{\"prefix\":[\"{prefix}\"]}}}}}}").unwrap();
        text
    })
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// Kills the subcommand `verb` while it replaces the list of names that begin with `a` by the list of names with `b`.
fn kill_changes(verb: &str, place: &Place, arguments: &[&str]) {
    let state = place.path("state");
    let [file, part, backup] =
        ["subscribers.jsonl", "subscribers.part", "subscribers.before-1"].map(|name| state.join(name));
    fs::create_dir(&state).unwrap();
    let of = |letter| {
        fs::write(&file, list_of(letter)).unwrap();
        listed(&state)
    };
    let (new, old) = (of('b'), of('a'));
    let old_bytes = length(&file);
    let mut landed = Landed::default();
    for number in 0..kills() {
        fs::write(&file, list_of('a')).unwrap();
        let _ = fs::remove_file(&backup);
        let (signal, delay_us) = (SIGNALS[number % 3], DELAYS_US[number / 12 % DELAYS_US.len()]);
        // One in four kills happens during the backup, which is written first.
        let is_early = number / 3 % 4 == 1;
        let mut child = place.command(verb, arguments).stdout(Stdio::null()).spawn().unwrap();
        let is_time = || if is_early { length(&part) > 0 } else { length(&file) > old_bytes };
        let status = kill_at(&mut child, is_time, delay_us, signal);
        let bytes = fs::read(&file).unwrap();
        let at = match status.signal() {
            None => MISSED,
            _ if bytes.len() as u64 == old_bytes && backup.exists() => "between backup and change",
            _ if bytes.len() as u64 == old_bytes => "within the backup",
            _ if bytes.ends_with(b"\n") => "after the write, before the end",
            _ => "within the write",
        };
        landed.add(at, signal);
        let left = listed(&state);
        assert!(left == old || left == new, "{verb} {number}: {} of {} names", left.len(), new.len());
        if backup.exists() {
            assert_eq!(fs::read_to_string(&backup).unwrap(), list_of('a'), "{verb} {number}");
        }
        assert!(backup.exists() || left == old, "{verb} {number}: no backup");
        if number % 8 == 0 && left == old {
            place.ok(verb, arguments);
            assert!(listed(&state) == new, "{verb} {number}");
        }
    }
    landed.report(verb);
}

#[test]
fn a_killed_import_leaves_the_old_list_or_the_new_one() {
    let place = Place::new("");
    let list = place.file(
        "list.csv",
        &(0..NAMES).fold("name,prefix\n".into(), |mut text: String, i| {
            writeln!(text, "b{i:05},10.{}.{}.{}", 'b' as u32, i / 256, i % 256).unwrap();
            text
        }),
    );
    kill_changes("import", &place, &[&list, "--replace", "--force"]);
}

#[test]
fn a_killed_apply_leaves_the_old_list_or_the_new_one() {
    let place = Place::new("");
    let gone = (0..NAMES).fold(String::new(), |mut text, i| {
        writeln!(text, "{{\"remove\":\"a{i:05}\"}}").unwrap();
        text
    });
    let changes = place.file("changes", &(gone + &list_of('b')));
    kill_changes("apply", &place, &[&changes]);
}

/// Number of addresses. Each round starts a session for every address, which moves the address from one of two users to
/// the other.
const SESSIONS: u8 = 150;

/// Returns an Accounting-Request that starts session `round` of an address (RFC 2866).
fn start(address: u8, round: usize) -> Vec<u8> {
    let user = ["left", "right"][round % 2].as_bytes();
    let session = format!("{round}-{address}");
    let attributes: [(u8, &[u8]); 5] =
        [(40, &[0, 0, 0, 1]), (32, b"bng"), (1, user), (44, session.as_bytes()), (8, &[10, 9, 0, address])];
    let body: Vec<u8> =
        attributes.iter().flat_map(|(kind, value)| [&[*kind, value.len() as u8 + 2][..], value].concat()).collect();
    let mut packet = [&[4, address, 0, 20 + body.len() as u8][..], &[0; 16], &body].concat();
    let authenticator = md5::compute([&packet[..], b"xyzzy"].concat());
    packet[4..20].copy_from_slice(&authenticator.0);
    packet
}

/// Starts a session for each address, round by round, until `is_killed`. Returns the last round, and the addresses
/// whose requests were answered in that round.
fn swap_until(is_killed: &AtomicBool, listener: &str) -> (usize, Vec<u8>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(listener).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let first = Instant::now();
    for round in 0.. {
        assert!(first.elapsed().as_secs() < 120, "nobody killed the server in {round} rounds");
        let mut answered: Vec<u8> = Vec::new();
        (0..SESSIONS).for_each(|address| drop(socket.send(&start(address, round))));
        let mut answer = [0; 64];
        let begin = Instant::now();
        while answered.len() < SESSIONS.into() {
            // Answers sent before the kill may still arrive, so the loop receives until none is left.
            let is_last = is_killed.load(Ordering::SeqCst);
            match socket.recv(&mut answer) {
                Ok(_) => answered.push(answer[1]),
                Err(_) if is_last => return (round, answered),
                Err(_) => assert!(begin.elapsed().as_secs() < 60, "round {round}: {} answers", answered.len()),
            }
        }
    }
    unreachable!()
}

/// Two users with a very long site name, so that a kill can happen within the write of a change.
fn two_users() -> String {
    let site = "x".repeat(400_000);
    let of = |(number, name): (usize, &str)| {
        let user = format!("{{\"prefix\":[\"10.1{number}.0.1\"]}}");
        format!("{{\"put\":{{\"name\":\"{name}\",\"site\":\"{site}\",\"user\":{user}}}}}\n")
    };
    ["left", "right"].into_iter().enumerate().map(of).collect()
}

fn owners(state: &Path) -> BTreeMap<u8, String> {
    let mut owners = BTreeMap::new();
    for (name, subscriber) in listed(state) {
        for prefix in subscriber.prefixes().iter().map(|prefix| prefix.to_string()) {
            let Some(address) = prefix.strip_prefix("10.9.0.") else { continue };
            let address = address.trim_end_matches("/32").parse().unwrap();
            assert_eq!(owners.insert(address, name.clone()), None, "{address} has two users");
        }
    }
    owners
}

#[test]
fn a_killed_radius_server_leaves_whole_batches_and_all_that_it_answered() {
    let place = Place::new("");
    let (state, secret) = (place.path("state"), place.file("secret", "xyzzy\n"));
    let file: PathBuf = state.join("subscribers.jsonl");
    let mut landed = Landed::default();
    for number in 0..kills() {
        let _ = fs::remove_dir_all(&state);
        fs::create_dir(&state).unwrap();
        fs::write(&file, two_users()).unwrap();
        let (signal, delay_us) = (SIGNALS[number % 3], DELAYS_US[number / 3 % 3]);
        let mut command = place.tool("radius", &["--secret", &secret, "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut announced = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut announced).unwrap();
        let listener = announced.trim().strip_prefix("listening at ").unwrap().to_string();
        let is_killed = AtomicBool::new(false);
        // Kills the server when the file grows for the n-th time, n from 1 to 7. The file shrinks when the server
        // rewrites it.
        let (last, times) = (Cell::new(length(&file)), Cell::new(0));
        let grows = || {
            let (before, now) = (last.get(), length(&file));
            last.set(now);
            times.set(times.get() + usize::from(now > before));
            times.get() > number % 7
        };
        let (round, answered) = std::thread::scope(|scope| {
            let sender = scope.spawn(|| swap_until(&is_killed, &listener));
            kill_at(&mut child, grows, delay_us, signal);
            is_killed.store(true, Ordering::SeqCst);
            sender.join().unwrap()
        });
        let is_cut_off = !fs::read(&file).unwrap().ends_with(b"\n");
        let owners = owners(&state);
        let side = |round: usize| ["left", "right"][round % 2];
        let mut unanswered = 0;
        for address in 0..SESSIONS {
            let owner = owners.get(&address).map(String::as_str);
            let is_new = owner == Some(side(round));
            let is_old = if round == 0 { owner.is_none() } else { owner == Some(side(round + 1)) };
            assert!(is_new || is_old, "{number}: {address} is that of {owner:?} in round {round}");
            assert!(is_new || !answered.contains(&address), "{number}: {address} was answered in round {round}");
            unanswered += usize::from(is_new && !answered.contains(&address));
        }
        let at = match (is_cut_off, unanswered) {
            (true, _) => "within the write",
            (false, 0) => MISSED,
            (false, _) => "after the write, before the answers",
        };
        landed.add(at, signal);
    }
    landed.report("radius");
}
