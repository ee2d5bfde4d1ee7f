//! Common parts of the measuring programs.

use fairlane_memory::{LargePages, large_pages};
use fairlane_sim::scenario::Scenario;

/// As in the Python package.
#[global_allocator]
static MEMORY: LargePages = large_pages();

/// The scenario that a text in JSON describes; if it describes none the program ends and says why.
#[must_use]
pub fn scenario(text: &str) -> Scenario {
    let json = serde_json::from_str(text).unwrap_or_else(|error| fail(&error.to_string()));
    Scenario::read(&json).unwrap_or_else(|error| fail(&error.to_string()))
}

/// High-water mark of resident memory in bytes, 0 where the system does not tell.
#[must_use]
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

/// Ends the program with one line.
pub fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    std::process::exit(2);
}
