//! Repeatable entropy for stacks that use the system's entropy.
//!
//! quinn's BBR seeds its generator from `rand::rng()`, which reads the system's entropy by the crate getrandom once per
//! thread. `.cargo/config.toml` makes getrandom use this module instead. [`seeded`] creates a controller in a new
//! thread with a given seed, so that it draws the same numbers each time.

use getrandom::Error;
use std::cell::Cell;
use std::thread;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// Returns the result of `make`, with entropy derived from `seed`.
pub fn seeded<T: Send>(seed: u64, make: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let maker = scope.spawn(|| {
            STATE.set(seed);
            make()
        });
        maker.join().expect("a controller is made")
    })
}

/// Returns the next number of SplitMix64.
fn next() -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Fills `dest`. getrandom calls this function as its custom source.
///
/// # Safety
/// `dest` must be valid for writes of `len` bytes.
#[allow(unsafe_code, reason = "the interface of getrandom has a raw pointer")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(dest: *mut u8, len: usize) -> Result<(), Error> {
    for at in 0..len {
        // SAFETY: the caller promises `len` bytes.
        unsafe { dest.add(at).write(next() as u8) };
    }
    Ok(())
}
