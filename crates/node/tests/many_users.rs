//! Tests that the time to load, change and remove many users is proportional to their number.
#![cfg(feature = "ebpf")]

use crate::common::{LOOPBACK, START_NS, config, ipv4, replayed_later};
use fairlane_node::config::Who;
use fairlane_node::kernel::configure;
use fairlane_node::records::UserKey;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value as Json, json};

const USERS: u32 = 50_000;

fn users(count: u32, rate: &str) -> Json {
    let of = |i: u32| {
        let [_, b, c, d] = i.to_be_bytes();
        let prefixes =
            [format!("10.{b}.{c}.{d}"), format!("2001:db8:{b:x}:{:x}::/64", u32::from(c) << 8 | u32::from(d))];
        json!({"name": format!("user {i}"), "prefix": prefixes, "reference_rate": rate})
    };
    (0..count).map(of).collect()
}

/// Returns the CPU time of this thread, which does not depend on other load.
fn cpu_time_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[test]
fn fifty_thousand_users_are_loaded_and_changed() {
    skip_unless_possible!();
    let tables = |count, rate| json!({"users_table": {"configured": USERS}, "users": users(count, rate)});
    let (first, second) = (tables(USERS, "10 kbit/s"), tables(USERS - 1, "20 kbit/s"));
    let mut at = cpu_time_s();
    let mut lap = |what: &str| {
        let took_s = cpu_time_s() - at;
        at += took_s;
        println!("{what}: {took_s:.2} s");
        took_s
    };
    let config = |tables| config(&json!({}), tables);
    let first = config(&first);
    // With twice as many users, a step with quadratic cost took a minute of CPU time. A step with linear cost takes a
    // second, even without optimization.
    assert!(lap("checked") < 6.0);
    let programs = replayed_later(&first);
    assert!(lap("loaded") < 6.0);
    configure(&programs, &first, &[LOOPBACK], START_NS).unwrap();
    assert!(lap("loaded again, nothing changed") < 6.0);
    let second = config(&second);
    lap("checked");
    configure(&programs, &second, &[LOOPBACK], START_NS).unwrap();
    assert!(lap("all changed, one removed") < 6.0);
    // The last remaining user, and the removed one.
    for (last, is_there) in [(USERS - 2, true), (USERS - 1, false)] {
        let [_, b, c, d] = last.to_be_bytes();
        programs.run("fairlane_ingress", &ipv4([10, b, c, d], 0, 100), LOOPBACK, 0, 1).unwrap();
        let key = UserKey::of(&Who::Prefix(format!("10.{b}.{c}.{d}").parse().unwrap()));
        let packets = programs.user_state(&key).unwrap().map(|user| user.packets);
        assert_eq!(packets, is_there.then_some(1));
    }
    assert_eq!(programs.user_state(&UserKey::DEFAULT).unwrap().unwrap().packets, 1);
}
