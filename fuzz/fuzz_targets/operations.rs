//! Derives a scheme, a limit and a sequence of operations from the bytes. Every scheme must keep its invariants.
#![no_main]

use fairlane_schemes::testing::harness::Harness;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| Harness::run(bytes));
