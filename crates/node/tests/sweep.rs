//! Tests that the search for silent addresses does a bounded amount of work at a time, for any size of the table.
#![cfg(feature = "ebpf")]

use crate::common::{LOOPBACK, config, ipv4};
use fairlane_node::kernel::{Mode, Programs, configure};
use fairlane_node::records::{Places, PoolRecord};
use serde_json::json;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Creates a node on the machine's clock, with a table of `limit` slots and `addresses` addresses.
fn node(limit: u32, addresses: u32, timeout: &str) -> Programs {
    let tables = json!({
        "marker": {"memory": "1 ms"},
        "default_user": {"meter_of": "address"},
        "users_table": {"limit": limit, "timeout": timeout},
    });
    let config = config(&json!({}), &tables);
    let programs = Programs::load(Mode::Unpinned, Places::of(&config)).unwrap();
    configure(&programs, &config, &[LOOPBACK], 1).unwrap();
    add(&programs, 0, addresses);
    programs
}

/// Sends a packet from each address from `first` on.
fn add(programs: &Programs, first: u32, addresses: u32) {
    for address in first..first + addresses {
        let [a, b, c, d] = address.to_be_bytes();
        programs.run("fairlane_ingress", &ipv4([10 + a, b, c, d], 0, 100), LOOPBACK, 0, 1).unwrap();
    }
}

/// Starts the timer, and waits until the whole table has been searched. Returns the counters of the search.
fn swept(programs: &Programs, addresses: u32) -> PoolRecord {
    let slices = u64::from(addresses.div_ceil(PoolRecord::SLICE_LOOKED)) + 2;
    programs.run("fairlane_start", &[0; 64], 1, 0, 1).unwrap();
    let start = Instant::now();
    while programs.pool().unwrap().slices < slices {
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", programs.pool());
        sleep(Duration::from_millis(5));
    }
    programs.pool().unwrap()
}

#[test]
fn a_slice_of_the_search_is_bounded_at_any_size_of_the_table() {
    search_slices(1 << 17, &[0, 26_000, 52_000, 105_000]);
}

#[test]
#[ignore = "long: sends a packet from each of a million addresses"]
fn a_slice_of_the_search_is_bounded_for_a_million_addresses() {
    search_slices(1 << 20, &[0, 105_000, 940_000]);
}

/// Searches a table of `limit` slots with these numbers of addresses.
fn search_slices(limit: u32, sizes: &[u32]) {
    skip_unless_possible!();
    // The search handles the table in slices. No address is silent for an hour, so none expires, and each slice checks
    // its maximum number of slots.
    let programs = node(limit, 0, "1 h");
    let mut before = 0;
    for &addresses in sizes {
        add(&programs, before, addresses - before);
        before = addresses;
        // A new timeout makes the search fast enough for a test, since the program reads the timeout in each slice.
        let mut node: fairlane_node::records::NodeRecord = programs.read("config", &0u32).unwrap().unwrap();
        (node.sweep_ns, node.user_timeout_ns) = (1, u64::MAX);
        programs.write("config", &0u32, &node).unwrap();
        let blank = PoolRecord { slices: 0, most_ns: 0, ..programs.pool().unwrap() };
        programs.write("pools", &0u32, &blank).unwrap();
        let pool = swept(&programs, addresses);
        println!("{addresses} addresses: {} slices, the longest {} ns", pool.slices, pool.most_ns);
        assert_eq!((pool.fresh, pool.live, pool.most_expired), (addresses, addresses, 0));
        assert_eq!(pool.most_looked, addresses.min(PoolRecord::SLICE_LOOKED));
    }
}

#[test]
fn silent_addresses_lose_their_places_a_few_at_a_time_and_others_get_them() {
    skip_unless_possible!();
    // All addresses expire at once, the worst case of a slice.
    let programs = node(5000, 5000, "10 ms");
    assert_eq!(programs.pool().unwrap().live, 5000);
    sleep(Duration::from_millis(20));
    programs.run("fairlane_start", &[0; 64], 1, 0, 1).unwrap();
    let start = Instant::now();
    while programs.pool().unwrap().live > 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", programs.pool());
        sleep(Duration::from_millis(5));
    }
    let pool = programs.pool().unwrap();
    println!("the longest slice {} ns", pool.most_ns);
    assert!(pool.most_looked <= PoolRecord::SLICE_LOOKED, "{pool:?}");
    assert_eq!(pool.most_expired, PoolRecord::SLICE_EXPIRED);
    assert_eq!(programs.keys("addresses").len(), 0);
    assert_eq!(programs.ingress_stats().unwrap().expired, 5000);
    // The slots of the expired addresses are free again and no longer count for the limits of user and port.
    add(&programs, 70_000, 1000);
    let stats = programs.ingress_stats().unwrap();
    assert_eq!((stats.no_room, stats.user_full, stats.port_full), (0, 0, 0));
    assert_eq!(programs.pool().unwrap().fresh, 5000);
}
