//! Tests that cached addresses are valid only for the current rules, and that locks of programs admit one packet at a
//! time.
#![cfg(feature = "ebpf")]

use crate::common::{LOOPBACK, START_NS, config, ipv4, replayed, replayed_later, through};
use fairlane_node::config::{NodeConfig, Who};
use fairlane_node::kernel::{Mode, Outcome, Programs, configure};
use fairlane_node::records::{Places, PortState, ReplayInput, UserKey, UserState};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value as Json, json};
use std::sync::Barrier;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// Pins this thread to one of its allowed processors, counted from 0. Returns false if there are too few. The programs
/// have a separate cache on each processor.
fn stay(number: usize) -> bool {
    let all = sched_getaffinity(None).unwrap();
    let Some(processor) = (0..CpuSet::MAX_CPU).filter(|processor| all.is_set(*processor)).nth(number) else {
        return false;
    };
    let mut one = CpuSet::new();
    one.set(processor);
    sched_setaffinity(None, &one).unwrap();
    true
}

fn send(programs: &Programs, source: [u8; 4]) {
    programs.run("fairlane_ingress", &ipv4(source, 0, 100), LOOPBACK, 0, 1).unwrap();
}

fn prefix(text: &str) -> UserKey {
    UserKey::of(&Who::Prefix(text.parse().unwrap()))
}

fn packets(programs: &Programs, key: &UserKey) -> u64 {
    programs.user_state(key).unwrap().map_or(0, |user| user.packets)
}

#[test]
fn a_change_of_rules_counts_from_the_next_packet_on() {
    skip_unless_possible!();
    stay(0);
    let users = |prefixes: &[&str]| -> Json { prefixes.iter().map(|prefix| json!({"prefix": prefix})).collect() };
    let of = |prefixes: &[&str], default: &str| {
        config(&json!({}), &json!({"users": users(prefixes), "default_user": {"meter_of": default}}))
    };
    let programs = replayed_later(&of(&["10.0.0.0/24"], "prefix"));
    let twice = || [(); 2].map(|()| send(&programs, [10, 0, 0, 7]));
    let change = |config| configure(&programs, &config, &[LOOPBACK], START_NS).unwrap();
    twice();
    assert_eq!(packets(&programs, &prefix("10.0.0.0/24")), 2);
    change(of(&["10.0.0.0/24", "10.0.0.7"], "prefix"));
    twice();
    assert_eq!((packets(&programs, &prefix("10.0.0.0/24")), packets(&programs, &prefix("10.0.0.7"))), (2, 2));
    change(of(&["10.0.0.0/24"], "prefix"));
    twice();
    assert_eq!(packets(&programs, &prefix("10.0.0.0/24")), 4);
    change(of(&[], "prefix"));
    twice();
    assert_eq!(packets(&programs, &UserKey::DEFAULT), 2);
    change(of(&[], "address"));
    twice();
    assert_eq!((packets(&programs, &UserKey::DEFAULT), packets(&programs, &prefix("10.0.0.7"))), (2, 2));
    change(of(&[], "prefix"));
    twice();
    assert_eq!(packets(&programs, &UserKey::DEFAULT), 4);
}

#[test]
fn an_address_that_was_forgotten_does_not_count_for_who_has_its_place_now() {
    skip_unless_possible!();
    stay(0);
    let tables = json!({
        "marker": {"memory": "1 ms"},
        "default_user": {"meter_of": "address"},
        "users_table": {"limit": 1, "timeout": "300 ms"},
    });
    let config = config(&json!({}), &tables);
    let programs = Programs::load(Mode::Unpinned, Places::of(&config)).unwrap();
    configure(&programs, &config, &[LOOPBACK], 1).unwrap();
    send(&programs, [10, 0, 0, 1]);
    send(&programs, [10, 0, 0, 1]);
    assert_eq!(packets(&programs, &prefix("10.0.0.1")), 2);
    programs.run("fairlane_start", &[0; 64], 1, 0, 1).unwrap();
    let start = Instant::now();
    while programs.pool().unwrap().live > 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", programs.pool());
        sleep(Duration::from_millis(5));
    }
    // There is only one slot.
    send(&programs, [10, 0, 0, 2]);
    send(&programs, [10, 0, 0, 1]);
    assert_eq!((packets(&programs, &prefix("10.0.0.2")), packets(&programs, &UserKey::OVERFLOW)), (1, 1));
}

#[test]
fn addresses_that_fall_on_one_entry_count_for_whom_they_are() {
    skip_unless_possible!();
    stay(0);
    // 3072 addresses are three times the number of cache entries (RECENT_BITS of planes/bpf/recent.h).
    let addresses = || (0..3072u32).map(|i| [10, 0, (i >> 8) as u8, i as u8]);
    let twice = |programs: &Programs| (0..2).for_each(|_| addresses().for_each(|address| send(programs, address)));
    let each = replayed_later(&config(&json!({}), &json!({"default_user": {"meter_of": "address"}})));
    twice(&each);
    for [a, b, c, d] in addresses() {
        assert_eq!(packets(&each, &prefix(&format!("{a}.{b}.{c}.{d}"))), 2);
    }
    // Each of twelve users has 256 addresses.
    let prefixes: Vec<String> = (0..12).map(|c| format!("10.0.{c}.0/24")).collect();
    let users: Json = prefixes.iter().map(|prefix| json!({"prefix": prefix})).collect();
    let shared = replayed_later(&config(&json!({}), &json!({"users": users})));
    twice(&shared);
    for text in &prefixes {
        assert_eq!(packets(&shared, &prefix(text)), 512, "{text}");
    }
}

/// Sends many packets on two processors simultaneously. Returns the counts of user and port, and the expected count.
fn counted_by_two_processors() -> ([u64; 3], u64) {
    const TIMES: u32 = 300_000;
    let config = config(&json!({}), &json!({}));
    let programs = Programs::load(Mode::Unpinned, Places::of(&config)).unwrap();
    configure(&programs, &config, &[LOOPBACK], 1).unwrap();
    let frame = ipv4([10, 0, 0, 1], 0, 100);
    let together = Barrier::new(2);
    let runs = scope(|scope| {
        let run = |number| {
            let (programs, frame, together) = (&programs, &frame, &together);
            scope.spawn(move || {
                let is_there = stay(number);
                together.wait();
                for program in ["fairlane_ingress", "fairlane_egress"].iter().filter(|_| is_there) {
                    programs.run(program, frame, LOOPBACK, 0, TIMES).unwrap();
                }
                u64::from(is_there)
            })
        };
        [run(0), run(1)].map(|thread| thread.join().unwrap()).iter().sum::<u64>()
    });
    let port = programs.port_state(LOOPBACK).unwrap().total();
    ([packets(&programs, &UserKey::DEFAULT), port.accepted, port.unlabelled], runs * u64::from(TIMES))
}

#[test]
fn two_processors_count_every_packet_of_one_user_and_of_one_port() {
    skip_unless_possible!();
    for _ in 0..10 {
        let (counts, sent) = counted_by_two_processors();
        assert_eq!(counts, [sent; 3]);
    }
}

/// Time at which the tests lock meter and port.
const LOCKED_NS: u64 = START_NS + 6_000_000_000;

fn write_locks(programs: &Programs, lock: u32) {
    let user: UserState = programs.read("users", &0u32).unwrap().unwrap();
    programs.write("users", &0u32, &UserState { lock, ..user }).unwrap();
    let port = programs.port_state(LOOPBACK).unwrap();
    programs.write("port_states", &LOOPBACK, &PortState { lock, ..port }).unwrap();
}

fn states(programs: &Programs) -> (UserState, PortState) {
    (programs.read("users", &0u32).unwrap().unwrap(), programs.port_state(LOOPBACK).unwrap())
}

/// Sends packets of one user through two nodes. In one node both locks stay locked for `back_ns`, as if a hypervisor
/// had descheduled the processor. `check` receives both outcomes of each packet in that time. Returns both nodes after
/// a last packet, which arrives after the unlock.
fn with_and_without_a_holder(
    config: &NodeConfig,
    gap_ns: u64,
    back_ns: u64,
    check: impl Fn(&[(Outcome, Outcome); 2]),
) -> [(UserState, PortState); 2] {
    let nodes = [(); 2].map(|()| replayed(config));
    let both = |now_ns: u64, packets: u32| {
        let input = ReplayInput { now_ns, packets, random: u32::MAX / 2, ..Default::default() };
        nodes.each_ref().map(|programs| {
            programs.set_replay(&input).unwrap();
            through(programs, &ipv4([10, 0, 0, 1], 0, 1000), 0)
        })
    };
    both(LOCKED_NS - 1_000_000, 3);
    write_locks(&nodes[1], 1);
    let before = states(&nodes[1]);
    let times = (LOCKED_NS..LOCKED_NS + back_ns).step_by(gap_ns as usize).zip(1..);
    // Queues are 0 to 29 packets: below all thresholds, above the thresholds, or above the limit.
    let sent = times.map(|(now_ns, i)| check(&both(now_ns, i % 30))).count() as u64;
    let after = states(&nodes[1]);
    // The lock contains the time of locking, in units of 2^20 ns (planes/bpf/lock.h).
    assert_eq!([after.0.lock, after.1.lock], [(LOCKED_NS >> 20) as u32 | 2; 2]);
    assert_eq!((after.0.meter, after.0.packets), (before.0.meter, before.0.packets));
    assert_eq!((after.1.averager, after.1.csfq), (before.1.averager, before.1.csfq));
    assert_eq!(after.1.counts, before.1.counts);
    assert_eq!(after.0.settled().packets, sent + 1);
    let total = after.1.total();
    assert_eq!((total.accepted + total.drops(), total.drops() > 0), (sent + 1, true));
    write_locks(&nodes[1], 0);
    both(LOCKED_NS + back_ns, 0);
    nodes.each_ref().map(states)
}

fn nodes_of_both_schemes() -> [NodeConfig; 2] {
    [("abc", json!({})), ("csfq", json!({"rate": "10 Mbit/s"}))].map(|(scheme, port)| {
        let mut port = port;
        port["queue"] = json!({"scheme": scheme, "limit": "24 packets"});
        config(&port, &json!({"marker": {"scheme": scheme}}))
    })
}

#[test]
fn what_a_locked_meter_and_port_miss_is_added_by_the_next_packet() {
    skip_unless_possible!();
    let [abc, csfq] = nodes_of_both_schemes();
    let is_whole = |[free, held]: &[(UserState, PortState); 2]| {
        assert_eq!((free.0.packets, free.0.bytes), (held.0.settled().packets, held.0.settled().bytes));
        assert_eq!((held.0.late_amount, held.1.late_sum, held.1.late_count, held.1.late_pending), (0, 0, 0, [0; 2]));
    };
    // All packets arrive at one time, so there is no decay, and the meters must be equal to the last bit.
    let states = with_and_without_a_holder(&abc, 1, 200, |[free, held]| assert_eq!(free.0.mark, held.0.mark));
    is_whole(&states);
    assert_eq!(states[0].0.meter, states[1].0.meter);
    // The estimator of CSFQ assumes that the bytes of a gap between two updates arrived evenly. With the lock, the
    // bytes of up to 11 ms are in one gap instead of several. At K = 100 ms the rates differ by at most a factor
    // e^0.11.
    let states = with_and_without_a_holder(&csfq, 50_000, 10_000_000, |_| ());
    is_whole(&states);
    let rise = (states[1].0.meter.sum as f64 / states[0].0.meter.sum as f64).log2();
    assert!(rise.abs() < 0.11 * std::f64::consts::LOG2_E, "{rise}");
}

#[test]
fn a_holder_that_stands_still_for_half_a_second_moves_labels_by_what_did_not_decay() {
    skip_unless_possible!();
    let [abc, _] = nodes_of_both_schemes();
    let activity = |outcome: &Outcome| f64::from(outcome.mark & 0x3f_ffff) / 65_536.0;
    // Bytes that arrive while the meter is locked do not decay by exp(-t/M_AM) until the unlock. With t = 0.5 s and
    // M_AM = 3 s, the activity is too high by at most 0.24, in log2.
    let most = 0.5 / 3.0 * std::f64::consts::LOG2_E;
    let [free, held] = with_and_without_a_holder(&abc, 1_000_000, 500_000_000, |[free, held]| {
        let rise = activity(&held.0) - activity(&free.0);
        assert!((-1e-4..=most).contains(&rise), "{rise}");
    });
    let rise = (held.0.meter.sum as f64 / free.0.meter.sum as f64).log2();
    assert!((0.0..=most).contains(&rise), "{rise}");
}

#[test]
fn a_lock_that_nobody_gives_back_is_taken_over() {
    skip_unless_possible!();
    let programs = replayed_later(&config(&json!({}), &json!({})));
    write_locks(&programs, 2);
    through(&programs, &ipv4([10, 0, 0, 1], 0, 100), 0);
    let (user, port) = states(&programs);
    assert_eq!((user.key, user.packets, user.lock), (UserKey::DEFAULT, 1, 0));
    assert_eq!((port.counts.accepted, port.lock), (1, 0));
}
