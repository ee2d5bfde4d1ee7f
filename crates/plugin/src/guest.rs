//! A scheme in Rust as a library: the functions of [`SchemeTable`] for a [`SchemeSpec`].
//!
//! A panic ends the run with its message and location. It is caught before it leaves the library; but if the library is
//! built with `panic = "abort"`, it ends the process.

use crate::abi::{LibraryTable, MARKED, OnDrop, OnReading, Parameter, PortView, SchemeTable, VERSION};
use crate::packet::{CPacket, CheckedPacket};
use crate::text;
use fairlane_schemes::base::config::{ParamSet, Table};
use fairlane_schemes::contract::prelude::*;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;

/// Exports schemes, by their names in scenarios, from a crate of type `cdylib`. The library has the crate's name and
/// version.
///
/// ```
/// # use fairlane_schemes::aqm::droptail::DropTailScheme;
/// fairlane_plugin::export! { "my-fifo" = DropTailScheme }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export {
    ($($name:literal = $Spec:ty),+ $(,)?) => {
        /// Entry point of this library for a host.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub extern "C" fn fairlane_schemes(_host_version: u32) -> *const $crate::abi::LibraryTable {
            static LIBRARY: ::std::sync::OnceLock<$crate::abi::LibraryTable> = ::std::sync::OnceLock::new();
            LIBRARY.get_or_init(|| {
                $crate::guest::keep_panics();
                let schemes = vec![$($crate::guest::scheme::<$Spec>($name)),+];
                $crate::guest::library(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), schemes)
            })
        }
    };
}

/// Creates the table of a library, which is never freed.
#[must_use]
pub fn library(name: &str, release: &str, schemes: Vec<SchemeTable>) -> LibraryTable {
    let schemes: Vec<*const SchemeTable> = schemes.into_iter().map(|scheme| &raw const *kept(scheme)).collect();
    let schemes = Box::leak(schemes.into_boxed_slice());
    LibraryTable {
        version: VERSION,
        size: size_of::<LibraryTable>(),
        name: c_text(name),
        release: c_text(release),
        schemes: schemes.as_ptr(),
        scheme_count: schemes.len(),
    }
}

/// Creates the table of a scheme, which is never freed.
#[must_use]
pub fn scheme<S: SchemeSpec>(name: &str) -> SchemeTable {
    let specs = S::Params::specs();
    let parameters: Vec<Parameter> = specs
        .iter()
        .map(|spec| Parameter {
            name: c_text(spec.name),
            kind: c_text(spec.kind),
            default_value: c_value(&spec.default),
            least: c_value(&spec.min),
            most: c_value(&spec.max),
            choices: spec.choices.map_or(null(), |choices| c_text(&choices.join(","))),
            doc: c_text(&spec.doc),
        })
        .collect();
    let parameters = Box::leak(parameters.into_boxed_slice());
    SchemeTable {
        size: size_of::<SchemeTable>(),
        name: c_text(name),
        summary: c_text(S::ABOUT.summary),
        marker: if S::MARKER == MarkerScheme::NONE { null() } else { c_text(S::MARKER.name()) },
        parameters: parameters.as_ptr(),
        parameter_count: parameters.len(),
        check: Some(check::<S>),
        create: Some(create::<S>),
        destroy: Some(destroy::<S>),
        enqueue: Some(enqueue::<S>),
        dequeue: Some(dequeue::<S>),
        set_rate: Some(set_rate::<S>),
        failure: Some(failure::<S>),
        drop_threshold: Some(drop_threshold::<S>),
        state_size: Some(state_size::<S>),
        report: Some(report::<S>),
    }
}

thread_local! {
    /// The last panic of this thread, as one line.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Stores panic messages for [`SchemeTable::failure`] instead of printing them. This panic hook does not affect the
/// host, because the library has its own copy of the standard library.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let words = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let words = words.unwrap_or("a panic").split_whitespace().collect::<Vec<_>>().join(" ");
        let place = info.location().map(|place| format!(" ({}, line {})", place.file(), place.line()));
        PANIC.with(|last| *last.borrow_mut() = words + &place.unwrap_or_default());
    }));
}

/// A scheme at a port.
struct Guest<S: SchemeSpec> {
    discipline: S::Discipline<CheckedPacket>,
    rng: Rng,
    failure: String,
}

/// Passes drops and marks to the host.
struct Sink {
    on_drop: OnDrop,
    context: *mut c_void,
}

impl Sink {
    fn tell(&self, packet: &CheckedPacket, reason: u8) {
        let packet = packet.c();
        // SAFETY: the host gave function and context for this call. The packet outlives the call.
        unsafe { (self.on_drop)(self.context, &raw const packet, reason) };
    }
}

impl DropSink<CheckedPacket> for Sink {
    fn dropped(&mut self, packet: &CheckedPacket, reason: DropReason, _: Backlog) {
        self.tell(packet, reason.index() as u8);
    }
    fn marked(&mut self, packet: &CheckedPacket) {
        self.tell(packet, MARKED);
    }
}

/// A port view, converted to the schemes' types.
struct Description {
    buffer: BufferParams,
    rate: BitRate,
    weights: Weights,
    /// The parameters as a table in scenario notation.
    table: Json,
}

impl Description {
    /// # Safety
    /// `port` must point to a view whose pointers are all valid.
    unsafe fn of(port: *const PortView, specs: &[fairlane_schemes::base::config::ParamSpec]) -> Self {
        // SAFETY: guaranteed by the caller.
        let port = unsafe { *port };
        let limit = match port.limit_packets {
            0 => QueueLimit::Bytes(port.limit_bytes),
            packets => QueueLimit::Packets(packets.try_into().unwrap_or(u32::MAX)),
        };
        let mut table = Map::new();
        for (index, spec) in specs.iter().enumerate().take(port.value_count) {
            // SAFETY: there are `value_count` values, whose texts end with a zero.
            if let Some(text) = unsafe { text::read((*port.values.add(index)).text) } {
                table.insert(spec.name.into(), text::json_of(spec.kind, text));
            }
        }
        let weights = if port.weight_count == 0 {
            Weights::equal()
        } else {
            // SAFETY: there are `weight_count` weights.
            Weights::new(unsafe { std::slice::from_raw_parts(port.weights, port.weight_count) })
        };
        let buffer = BufferParams { limit, mtu: Bytes(port.mtu_bytes), ..Default::default() };
        Self { buffer, rate: BitRate(port.rate_bps), weights, table: Json::Object(table) }
    }

    fn params<S: SchemeSpec>(&self) -> Result<S::Params, ConfigError> {
        let mut table = Table::new("", &self.table)?;
        let params = S::Params::read(&mut table)?;
        S::check(&params, &self.buffer, &table)?;
        Ok(params)
    }
}

/// Runs `body`. Returns 0 on success; otherwise writes the error or panic to the message and returns 1.
///
/// # Safety
/// `message` must be null or point to `size` bytes that no one else uses.
unsafe fn told(message: *mut c_char, size: usize, body: impl FnOnce() -> Result<(), String>) -> c_int {
    let problem = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return 0,
        Ok(Err(problem)) => problem,
        Err(_) => last_panic(),
    };
    // SAFETY: guaranteed by the caller.
    unsafe { text::write(message, size, &problem) };
    1
}

fn last_panic() -> String {
    PANIC.with(|last| std::mem::take(&mut *last.borrow_mut()))
}

/// The first function of a scheme's table. `fairlane.h` describes how a host calls this and the following functions.
unsafe extern "C-unwind" fn check<S: SchemeSpec>(port: *const PortView, message: *mut c_char, size: usize) -> c_int {
    let read = || {
        // SAFETY: the host describes the port for this call.
        let port = unsafe { Description::of(port, &S::Params::specs()) };
        port.params::<S>().map(drop).map_err(|error| error.to_string())
    };
    // SAFETY: the host gave a buffer of this size.
    unsafe { told(message, size, read) }
}

unsafe extern "C-unwind" fn create<S: SchemeSpec>(
    port: *const PortView,
    state: *mut *mut c_void,
    message: *mut c_char,
    size: usize,
) -> c_int {
    let make = || {
        // SAFETY: the host describes the port for this call.
        let (of, seed) = unsafe { (Description::of(port, &S::Params::specs()), (*port).seed) };
        let params = of.params::<S>().map_err(|error| error.to_string())?;
        let port = Port { buffer: &of.buffer, rate: of.rate, weights: &of.weights };
        let rng = Rng::stream(seed, 0, "queue", 0);
        let guest: Guest<S> = Guest { discipline: S::build(&params, &port), rng, failure: String::new() };
        // SAFETY: the host gave room for a pointer.
        unsafe { *state = Box::into_raw(Box::new(guest)).cast() };
        Ok(())
    };
    // SAFETY: the host gave a buffer of this size.
    unsafe { told(message, size, make) }
}

unsafe extern "C-unwind" fn destroy<S: SchemeSpec>(state: *mut c_void) {
    // SAFETY: the state came from `create` and is not used afterwards. A panic while dropping it cannot be reported.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(state.cast::<Guest<S>>()) })));
}

/// Calls a scheme. Returns 1 if it panics, with the reason in `failure`.
///
/// # Safety
/// `state` must come from `create` and not be used elsewhere.
#[inline]
unsafe fn call<S: SchemeSpec>(
    state: *mut c_void,
    body: impl FnOnce(&mut Guest<S>) -> Result<(), &'static str>,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    let guest = unsafe { &mut *state.cast::<Guest<S>>() };
    let problem = match catch_unwind(AssertUnwindSafe(|| body(&mut *guest))) {
        Ok(Ok(())) => return 0,
        Ok(Err(problem)) => problem.into(),
        Err(_) => last_panic(),
    };
    guest.failure = problem;
    1
}

unsafe extern "C-unwind" fn enqueue<S: SchemeSpec>(
    state: *mut c_void,
    packet: *const CPacket,
    now_ps: u64,
    on_drop: OnDrop,
    context: *mut c_void,
) -> c_int {
    let offer = |guest: &mut Guest<S>| {
        // SAFETY: the host gave a packet for this call.
        let packet = CheckedPacket::new(unsafe { *packet }).map_err(|_| "was given a packet out of range")?;
        guest.discipline.enqueue(packet, Time(now_ps), &mut guest.rng, &mut Sink { on_drop, context });
        Ok(())
    };
    // SAFETY: the host passes its own handle.
    unsafe { call::<S>(state, offer) }
}

unsafe extern "C-unwind" fn dequeue<S: SchemeSpec>(
    state: *mut c_void,
    now_ps: u64,
    on_drop: OnDrop,
    context: *mut c_void,
    packet: *mut CPacket,
    found: *mut u8,
) -> c_int {
    let ask = |guest: &mut Guest<S>| {
        let next = guest.discipline.dequeue(Time(now_ps), &mut guest.rng, &mut Sink { on_drop, context });
        // SAFETY: the host gave valid pointers for both results.
        unsafe {
            *found = next.is_some().into();
            if let Some(next) = next {
                *packet = next.c();
            }
        }
        Ok(())
    };
    // SAFETY: the host passes its own handle.
    unsafe { call::<S>(state, ask) }
}

unsafe extern "C-unwind" fn set_rate<S: SchemeSpec>(state: *mut c_void, rate_bps: u64) {
    let set = |guest: &mut Guest<S>| {
        guest.discipline.set_link_rate(BitRate(rate_bps));
        Ok(())
    };
    // SAFETY: the host passes its own handle. If this call panics, the next call that can fail reports the panic.
    let _ = unsafe { call::<S>(state, set) };
}

unsafe extern "C-unwind" fn failure<S: SchemeSpec>(state: *const c_void, message: *mut c_char, size: usize) {
    // SAFETY: the host passes its own handle and a buffer of this size.
    unsafe { text::write(message, size, &(*state.cast::<Guest<S>>()).failure) };
}

/// Returns the result of `body`, which only reads the scheme, or `otherwise` if `body` panics.
///
/// # Safety
/// `state` must come from `create`, and no one may change it.
unsafe fn asked<S: SchemeSpec, T>(state: *const c_void, otherwise: T, body: impl FnOnce(&Guest<S>) -> T) -> T {
    // SAFETY: guaranteed by the caller.
    let guest = unsafe { &*state.cast::<Guest<S>>() };
    catch_unwind(AssertUnwindSafe(|| body(guest))).unwrap_or(otherwise)
}

unsafe extern "C-unwind" fn drop_threshold<S: SchemeSpec>(state: *const c_void) -> f64 {
    // SAFETY: the host passes its own handle.
    unsafe { asked::<S, _>(state, f64::NAN, |guest| guest.discipline.drop_threshold().unwrap_or(f64::NAN)) }
}

unsafe extern "C-unwind" fn state_size<S: SchemeSpec>(state: *const c_void, records: *mut usize, bytes: *mut usize) {
    // SAFETY: the host passes its own handle and pointers to both results.
    unsafe {
        let size = asked::<S, _>(state, StateSize::default(), |guest| guest.discipline.state_size());
        (*records, *bytes) = (size.records, size.bytes);
    }
}

unsafe extern "C-unwind" fn report<S: SchemeSpec>(state: *const c_void, on_reading: OnReading, context: *mut c_void) {
    let tell = |guest: &Guest<S>| {
        guest.discipline.report(&mut |name, value| {
            let name = c_text(name);
            // SAFETY: the host gave function and context for this call.
            unsafe { on_reading(context, name, value) };
        });
    };
    // SAFETY: the host passes its own handle.
    unsafe { asked::<S, _>(state, (), tell) }
}

/// Returns a text that lives as long as the library. Equal texts are stored once.
fn c_text(text: &str) -> *const c_char {
    static TEXTS: std::sync::Mutex<std::collections::BTreeMap<String, &'static std::ffi::CStr>> =
        std::sync::Mutex::new(std::collections::BTreeMap::new());
    let mut texts = TEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let kept = texts.entry(text.into()).or_insert_with(|| {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        Box::leak(text.into_boxed_c_str())
    });
    kept.as_ptr()
}

fn c_value(value: &Json) -> *const c_char {
    if value.is_null() { null() } else { c_text(&text::text_of(value)) }
}

fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
