//! What the kernel data plane needs, tried.

use super::programs::{Mode, Programs};
use super::tcx;
use std::fs;
use std::path::Path;

/// What is needed, and what is wrong with it if anything is.
#[must_use]
pub fn check() -> Vec<(&'static str, Option<String>)> {
    let exists = |path: &str| (!Path::new(path).exists()).then(|| format!("there is no {path}"));
    // Loading uses everything but tc: types of the kernel, its functions, timers, locks, maps.
    let programs = Programs::load(Mode::Unpinned, 1).err().map(|error| error.to_string());
    vec![
        ("types of the kernel", exists("/sys/kernel/btf/vmlinux")),
        ("BPF file system", has_bpf_file_system()),
        ("kernel programs", programs),
        ("TCX", (!tcx::is_there()).then(|| "clsact is used in its place".into())),
    ]
}

fn has_bpf_file_system() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_there = mounts.lines().any(|line| line.split(' ').nth(2) == Some("bpf"));
    (!is_there).then(|| "none is mounted; `mount -t bpf bpf /sys/fs/bpf` makes one".into())
}
