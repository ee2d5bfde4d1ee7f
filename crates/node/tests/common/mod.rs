//! Code shared by the tests of kernel programs: requirements, frames, and a node with one port.
#![allow(dead_code)]

pub mod library;

use fairlane_node::config::NodeConfig;
use fairlane_node::kernel::{Mode, Outcome, Programs, configure};
use fairlane_node::records::{Places, ReplayInput};
use serde_json::{Value as Json, json};
use std::path::Path;

/// t0 of all meters of the tests.
pub const START_NS: u64 = 1_000_000_000;

/// Index of the loopback interface, which every network namespace has.
pub const LOOPBACK: u32 = 1;

/// `TC_ACT_UNSPEC`: the packet continues.
pub const PASS: i32 = -1;

/// `TC_ACT_SHOT`: the packet is dropped.
pub const DROP: i32 = 2;

/// Returns the reason why kernel programs cannot be loaded here, if any. If the kernel meets all requirements but
/// rejects the programs, the test fails.
pub fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root");
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("the kernel has no BTF");
    }
    let options =
        libbpf_sys::bpf_map_create_opts { sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _, ..Default::default() };
    let map = libbpf_rs::MapHandle::create(libbpf_rs::MapType::Array, Some("probe"), 4, 4, 1, &options);
    map.is_err().then_some("no BPF maps can be made")
}

/// Ends the test and prints the reason if kernel programs cannot be loaded here.
#[macro_export]
macro_rules! skip_unless_possible {
    () => {
        if let Some(reason) = $crate::common::missing() {
            println!("skipped: {reason}");
            return;
        }
    };
}

/// Bits of a packet mark that carry the label in tests: 24 bits, enough for the class and all bits of an activity.
pub const MARK_MASK: &str = "0xffffff00";

/// Returns the label that a mark carries, in the programs' format, or 0 if it carries none. Bits 31 to 24 are 0xfa, bit
/// 22 is the class, and bits 21 to 0 are the activity.
pub fn label_of(mark: u32) -> u32 {
    // The lowest bit is the class. The other bits are the activity plus one, so zero means no label.
    let number = mark >> 8;
    if number < 2 { 0 } else { 0xfa00_0000 | (number & 1) << 22 | ((number >> 1) - 1) }
}

/// Returns the mark of a label, the inverse of [`label_of`].
pub fn mark_of(label: u32) -> u32 {
    if label == 0 { 0 } else { (((label & 0x3f_ffff) + 1) << 1 | label >> 22 & 1) << 8 }
}

/// Returns a node with one port, the loopback interface, which meters and runs the AQM. `changes` are merged into its
/// tables.
pub fn config(port: &Json, changes: &Json) -> NodeConfig {
    let mut tables = json!({
        "node": {"mark_mask": MARK_MASK},
        "ports": [{"interface": "lo", "arrivals": "meter", "queue": {"scheme": "abc"}}],
    });
    for (key, value) in port.as_object().expect("a table") {
        tables["ports"][0][key] = value.clone();
    }
    for (key, value) in changes.as_object().expect("a table") {
        tables[key] = value.clone();
    }
    NodeConfig::read(&tables).expect("a right configuration")
}

/// Loads the programs in replay mode, where the test sets clock and queue length, and configures them with `config`.
pub fn replayed(config: &NodeConfig) -> Programs {
    let programs = Programs::load(Mode::Replay, Places::of(config)).expect("the kernel takes the programs");
    configure(&programs, config, &[LOOPBACK], START_NS).expect("the maps take the configuration");
    programs
}

/// Like [`replayed`], 5 s after the start.
pub fn replayed_later(config: &NodeConfig) -> Programs {
    let programs = replayed(config);
    programs.set_replay(&ReplayInput { now_ns: START_NS + 5_000_000_000, ..Default::default() }).unwrap();
    programs
}

/// Runs the ingress program on a frame, then the egress program with the resulting mark. In both returned outcomes, the
/// label replaces the mark.
pub fn through(programs: &Programs, frame: &[u8], mark: u32) -> (Outcome, Outcome) {
    let metered = programs.run("fairlane_ingress", frame, LOOPBACK, mark, 1).unwrap();
    let sent = programs.run("fairlane_egress", frame, LOOPBACK, metered.mark, 1).unwrap();
    let labelled = |outcome: Outcome| Outcome { mark: label_of(outcome.mark), ..outcome };
    (labelled(metered), labelled(sent))
}

/// Builds an IPv4 frame of `ip_bytes` (at least 20) plus the Ethernet header.
pub fn ipv4(source: [u8; 4], dscp: u8, ip_bytes: u16) -> Vec<u8> {
    let mut frame = ethernet(0x0800);
    frame.extend([0x45, dscp << 2]);
    frame.extend(ip_bytes.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(source);
    frame.extend([10, 255, 0, 1]);
    frame.resize(14 + usize::from(ip_bytes), 0);
    frame
}

/// Builds an IPv6 frame of `ip_bytes` (at least 40) plus the Ethernet header.
pub fn ipv6(source: [u8; 16], dscp: u8, ip_bytes: u16) -> Vec<u8> {
    let mut frame = ethernet(0x86dd);
    frame.extend([0x60 | dscp >> 2, dscp << 6, 0, 0]);
    frame.extend((ip_bytes - 40).to_be_bytes());
    frame.extend([17, 64]);
    frame.extend(source);
    frame.extend([0xfd; 16]);
    frame.resize(14 + usize::from(ip_bytes), 0);
    frame
}

pub fn ethernet(ethertype: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ethertype.to_be_bytes());
    frame
}
