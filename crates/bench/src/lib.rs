//! Common parts of the measuring programs.

use fairlane_memory::{LargePages, large_pages};
use fairlane_sim::scenario::Scenario;

/// Memory allocation as in the Python package.
#[global_allocator]
static MEMORY: LargePages = large_pages();

/// Parses a scenario from JSON. If it is invalid, ends the program with the error.
#[must_use]
pub fn scenario(text: &str) -> Scenario {
    let json = serde_json::from_str(text).unwrap_or_else(|error| fail(&error.to_string()));
    Scenario::read(&json).unwrap_or_else(|error| fail(&error.to_string()))
}

/// Peak resident memory in bytes; 0 if the system does not report it.
#[must_use]
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

/// Prints one line and ends the program.
pub fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    std::process::exit(2);
}
