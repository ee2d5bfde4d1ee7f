//! The simulator as six WebAssembly functions, for the playground (`web/`).
//!
//! A call reads the host's input from [`fairlane_input`] and stores an [`answer::Answer`]: byte arrays, called parts,
//! whose addresses [`fairlane_part`] returns. The answer is valid until the next call.
//!
//! | call | input | parts |
//! |---|---|---|
//! | [`fairlane_catalogue`] | none | JSON: version, schemes and congestion controls with their parameters |
//! | [`fairlane_run`] | scenario, TOML or JSON | the record as JSON, as every host writes it; JSON that describes the columns of the run's events, waits and samples; one part per column |
//!
//! If the status is not 0, the only part is a line with the reason.
//!
//! The interface is hand-written, without wasm-bindgen. Only one text and some arrays cross it, so the JavaScript side
//! is twenty lines, and the build needs only the compiler. `unsafe` is used only for exporting functions: the buffers
//! belong to this module, and the host gets their addresses.

#![allow(unsafe_code, reason = "functions are exported by name; there is no unsafe block")]

pub mod answer;
pub mod catalogue;
pub mod simulation;
pub mod watcher;

use answer::{Answer, Failed};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

/// The call succeeded.
pub const OK: u32 = 0;
/// The input is invalid; the answer has the error.
pub const WRONG_INPUT: u32 = 1;
/// The simulator has a defect; the answer describes it. WebAssembly aborts instead, after storing the answer, and the
/// host must create a new instance.
pub const DEFECT: u32 = 2;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Answer> = const { RefCell::new(Answer::EMPTY) };
}

/// Allocates `length` bytes of input, which the host must write before the next call. Returns their address.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

/// Catalogue, see the table above.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_catalogue() -> u32 {
    answered(|_| catalogue::catalogue())
}

/// Runs replication `replication` of the scenario in the input.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_run(replication: u32) -> u32 {
    answered(|input| simulation::run(input, replication))
}

/// Number of parts of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_parts() -> usize {
    ANSWER.with_borrow(|answer| answer.parts.len())
}

/// Address of a part of the answer; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_part(number: usize) -> *const u8 {
    ANSWER.with_borrow(|answer| answer.parts.get(number).map_or(std::ptr::null(), |part| part.as_ptr()))
}

/// Length of a part of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn fairlane_part_length(number: usize) -> usize {
    ANSWER.with_borrow(|answer| answer.parts.get(number).map_or(0, Vec::len))
}

/// Stores the result of `call`, or its error, as the answer. Returns the status.
fn answered(call: impl FnOnce(&[u8]) -> Result<Answer, Failed>) -> u32 {
    panic::set_hook(Box::new(|defect| leave(Answer::line(&format!("internal error: {defect}")))));
    let input = INPUT.take();
    let (status, answer) = match panic::catch_unwind(AssertUnwindSafe(|| call(&input))) {
        Ok(Ok(answer)) => (OK, answer),
        Ok(Err(Failed(line))) => (WRONG_INPUT, Answer::line(&line)),
        Err(_) => return DEFECT, // the panic hook has stored the answer
    };
    leave(answer);
    status
}

fn leave(answer: Answer) {
    ANSWER.set(answer);
}
