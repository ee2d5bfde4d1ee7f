//! A library's scheme as an external scheme.

use super::{guarded, message_of};
use crate::abi::{Dequeue, DropThreshold, Enqueue, MARKED, Parameter, PortView, SchemeTable, Value};
use crate::packet::{CPacket, bits_of};
use crate::text;
use fairlane_schemes::base::config::{ConfigError, ParamSpec, Table, check_declared};
use fairlane_schemes::base::units::{BitRate, Bytes, Probability, QueueLimit, Threshold, Time};
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::contract::discipline::{Backlog, DropReason, Report, StateSize};
use fairlane_schemes::contract::marker::MarkerScheme;
use fairlane_schemes::registry::external::{
    Actions, Arrival, Call, ExternalDiscipline, ExternalFactory, ExternalPort, ExternalScheme, Handle,
};
use fairlane_schemes::registry::schemes::Scheme;
use serde_json::{Map, Value as Json};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// Keys of `[queue]` common to all schemes.
const TAKEN: [&str; 6] = ["scheme", "library", "limit", "scheduler", "be_offset", "mtu"];

/// Creates the disciplines of a scheme.
#[derive(Debug)]
pub(super) struct PluginFactory {
    table: &'static SchemeTable,
    name: &'static str,
    summary: &'static str,
    marker: MarkerScheme,
    params: Vec<ParamSpec>,
    identity: String,
}

impl PluginFactory {
    /// Reads the table of a scheme. Returns the scheme and its name, or an error that begins with the name of the wrong
    /// field.
    ///
    /// # Safety
    /// All pointers of the table must be valid, as described in the header, for the life of the process.
    pub(super) unsafe fn new(table: &'static SchemeTable, identity: &str) -> Result<(&'static str, Self), String> {
        // SAFETY: guaranteed by the caller, for all texts.
        let text = |at| unsafe { text::read(at) };
        let name = text(table.name)
            .filter(|name| is_name(name))
            .ok_or("name: must be lower-case letters, digits, - and _, a letter first")?;
        if Scheme::ALL.iter().any(|scheme| scheme.name() == name) {
            return Err(format!("name: Fairlane has a scheme {name}"));
        }
        for (function, is_there) in [
            ("create", table.create.is_some()),
            ("destroy", table.destroy.is_some()),
            ("enqueue", table.enqueue.is_some()),
            ("dequeue", table.dequeue.is_some()),
        ] {
            if !is_there {
                return Err(format!("{function}: null, but it is needed"));
            }
        }
        let marker = match text(table.marker) {
            None if !table.marker.is_null() => return Err("marker: not UTF-8".into()),
            None => MarkerScheme::NONE,
            Some(name) => *MarkerScheme::ALL
                .iter()
                .find(|marker| marker.name() == name)
                .ok_or_else(|| format!("marker: there is no {name}"))?,
        };
        if table.parameters.is_null() && table.parameter_count > 0 {
            return Err(format!("parameters: null, but parameter_count is {}", table.parameter_count));
        }
        let mut params: Vec<ParamSpec> = Vec::new();
        for place in 0..table.parameter_count {
            // SAFETY: there are `parameter_count` of them.
            let spec = unsafe { param_spec(&*table.parameters.add(place)) };
            let spec = spec.map_err(|problem| format!("parameters[{place}].{problem}"))?;
            if TAKEN.contains(&spec.name) || params.iter().any(|other| other.name == spec.name) {
                return Err(format!("parameters[{place}].name: {} is taken", spec.name));
            }
            check_declared(&spec).map_err(|error| format!("parameters[{place}]: {error}"))?;
            params.push(spec);
        }
        let summary = text(table.summary).unwrap_or_default();
        Ok((name, Self { table, name, summary, marker, params, identity: identity.into() }))
    }

    pub(super) fn summary(&self) -> &str {
        self.summary
    }

    /// Calls `body` with this scheme's view of a port.
    fn with_view<T>(&self, port: &ExternalPort<'_>, body: impl FnOnce(&PortView) -> T) -> T {
        let texts: Vec<Option<CString>> = self.params.iter().map(|spec| c_text(port.params.get(spec.name))).collect();
        let value = |(spec, text): (&ParamSpec, &Option<CString>)| Value {
            number: port.params.get(spec.name).map_or(f64::NAN, |value| number_of(spec, value)),
            text: text.as_ref().map_or(null(), |text| text.as_ptr()),
        };
        let values: Vec<Value> = self.params.iter().zip(&texts).map(value).collect();
        let (limit_packets, limit_bytes) = match port.limit {
            QueueLimit::Packets(packets) => (packets.into(), 0),
            QueueLimit::Bytes(bytes) => (0, bytes),
        };
        let weights = port.weights.as_slice();
        body(&PortView {
            limit_packets,
            limit_bytes,
            mtu_bytes: port.buffer.mtu.0,
            rate_bps: port.rate.0,
            seed: port.seed,
            weights: weights.as_ptr(),
            weight_count: weights.len(),
            values: values.as_ptr(),
            value_count: values.len(),
        })
    }
}

impl ExternalFactory for PluginFactory {
    fn params(&self) -> &[ParamSpec] {
        &self.params
    }

    fn library(&self) -> Option<&str> {
        Some(&self.identity)
    }

    fn other_build(&self, library: &str) -> Option<ExternalScheme> {
        super::loaded(self.name, library)
    }

    fn marker(&self) -> MarkerScheme {
        self.marker
    }

    fn check(&self, params: &Map<String, Json>, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        let Some(check) = self.table.check else { return Ok(()) };
        let weights = Default::default();
        let port = ExternalPort { limit: buffer.limit, buffer, rate: BitRate(0), seed: 0, weights: &weights, params };
        let (code, message) = self.with_view(&port, |view| {
            // SAFETY: a function of the library, with the arguments that the header declares.
            message_of(|at, size| guarded(|| unsafe { check(view, at, size) }))
        });
        if code == 0 {
            return Ok(());
        }
        // A message that begins with a known key concerns this key. Any other message concerns the whole table.
        let known = |key: &str| self.params.iter().any(|spec| spec.name == key) || TAKEN.contains(&key);
        Err(match message.split_once(": ") {
            Some((key, problem)) if known(key) => ConfigError::new(table.key(key), problem),
            _ => ConfigError::new(table.key("scheme"), format!("{} refuses its parameters: {message}", self.name)),
        })
    }

    fn create(&self, port: &ExternalPort<'_>) -> Result<Box<dyn ExternalDiscipline>, String> {
        let create = self.table.create.expect("checked when it was loaded");
        let mut state = null_mut();
        let (code, message) = self.with_view(port, |view| {
            // SAFETY: as for `check`.
            message_of(|at, size| guarded(|| unsafe { create(view, &raw mut state, at, size) }))
        });
        if code != 0 || state.is_null() {
            return Err(failed(self.name, "create", code, &message));
        }
        Ok(Box::new(PluginDiscipline {
            state,
            enqueue: self.table.enqueue.expect("checked when it was loaded"),
            dequeue: self.table.dequeue.expect("checked when it was loaded"),
            drop_threshold: self.table.drop_threshold,
            table: self.table,
            name: self.name,
        }))
    }
}

/// A scheme at a port.
#[derive(Debug)]
struct PluginDiscipline {
    state: *mut c_void,
    enqueue: Enqueue,
    dequeue: Dequeue,
    /// `None` once it is known that the scheme has no threshold.
    drop_threshold: Option<DropThreshold>,
    table: &'static SchemeTable,
    name: &'static str,
}

// SAFETY: only one thread at a time uses a state, and the header requires libraries to allow this.
unsafe impl Send for PluginDiscipline {}

impl Drop for PluginDiscipline {
    fn drop(&mut self) {
        let destroy = self.table.destroy.expect("checked when it was loaded");
        // SAFETY: the state came from `create` of the same table and is not used afterwards.
        guarded(|| unsafe { destroy(self.state) });
    }
}

/// Outputs of a call.
struct Told<'a> {
    actions: &'a mut Actions,
    /// Invalid drop reason that the library gave, if any.
    wrong_reason: Option<u8>,
}

/// Receives a packet that a library drops or marks.
unsafe extern "C" fn on_drop(context: *mut c_void, packet: *const CPacket, reason: u8) {
    // SAFETY: the library passes the context of the current call.
    let told = unsafe { &mut *context.cast::<Told<'_>>() };
    // SAFETY: the library passes a packet; null identifies no waiting packet.
    let handle = Handle::of_bits(unsafe { packet.as_ref() }.map_or(u64::MAX, |packet| packet.id));
    match DropReason::ALL.get(usize::from(reason)) {
        Some(&known) => told.actions.drops.push((handle, Some(known))),
        None if reason == MARKED => told.actions.marks.push(handle),
        None => told.wrong_reason = Some(reason),
    }
}

impl PluginDiscipline {
    /// Reason of a call's failure, if any.
    #[inline]
    fn outcome(&self, call: Call, code: c_int, wrong_reason: Option<u8>) -> Result<(), String> {
        if code == 0 && wrong_reason.is_none() { Ok(()) } else { Err(self.problem(call, code, wrong_reason)) }
    }

    #[cold]
    fn problem(&self, call: Call, code: c_int, wrong_reason: Option<u8>) -> String {
        if let (0, Some(reason)) = (code, wrong_reason) {
            return format!("{} dropped a packet for reason {reason}, it must be 0, 1, 2 or 3", self.name_of(call));
        }
        let message = self.table.failure.map_or_else(String::new, |failure| {
            // SAFETY: the state came from `create` of the same table.
            message_of(|at, size| guarded(|| unsafe { failure(self.state, at, size) })).1
        });
        failed(self.name, function_of(call), code, &message)
    }
}

fn function_of(call: Call) -> &'static str {
    match call {
        Call::Enqueue => "enqueue",
        Call::Dequeue => "dequeue",
    }
}

fn failed(name: &str, function: &str, code: c_int, message: &str) -> String {
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    format!("{name}: {function} failed with {code}{message}")
}

impl ExternalDiscipline for PluginDiscipline {
    #[inline]
    fn enqueue(&mut self, arrival: &Arrival, _: Backlog, now: Time, actions: &mut Actions) -> Result<(), String> {
        let packet = CPacket {
            id: arrival.handle.bits(),
            label: arrival.label,
            flow: arrival.flow,
            user: arrival.user,
            bytes: arrival.wire_bytes,
            traffic_class: arrival.class.index() as u8,
            ecn: bits_of(arrival.ecn),
            reserved: 0,
        };
        let mut told = Told { actions, wrong_reason: None };
        let context = (&raw mut told).cast();
        // SAFETY: a function of the library, with the arguments that the header declares.
        let code = guarded(|| unsafe { (self.enqueue)(self.state, &raw const packet, now.0, on_drop, context) });
        let wrong_reason = told.wrong_reason;
        if let Some(drop_threshold) = self.drop_threshold {
            // SAFETY: as above.
            let threshold = guarded(|| unsafe { drop_threshold(self.state) });
            actions.threshold = (!threshold.is_nan()).then_some(threshold);
            if threshold.is_nan() {
                self.drop_threshold = None;
            }
        }
        self.outcome(Call::Enqueue, code, wrong_reason)
    }

    #[inline]
    fn dequeue(&mut self, _: Backlog, now: Time, actions: &mut Actions) -> Result<Option<Handle>, String> {
        let mut packet =
            CPacket { id: u64::MAX, label: 0.0, flow: 0, user: 0, bytes: 0, traffic_class: 0, ecn: 0, reserved: 0 };
        let mut found = 0;
        let mut told = Told { actions, wrong_reason: None };
        let context = (&raw mut told).cast();
        // SAFETY: as for `enqueue`.
        let code =
            guarded(|| unsafe { (self.dequeue)(self.state, now.0, on_drop, context, &raw mut packet, &raw mut found) });
        let wrong_reason = told.wrong_reason;
        self.outcome(Call::Dequeue, code, wrong_reason)?;
        if found == 0 {
            return Ok(None);
        }
        if !packet.label.is_finite() {
            return Err(format!(
                "{} gave a packet with the label {}, it must be finite",
                self.name_of(Call::Dequeue),
                packet.label
            ));
        }
        actions.label = Some(packet.label);
        Ok(Some(Handle::of_bits(packet.id)))
    }

    fn is_told_of_idleness(&self) -> bool {
        true
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        if let Some(set_rate) = self.table.set_rate {
            // SAFETY: as for `enqueue`.
            guarded(|| unsafe { set_rate(self.state, rate.0) });
        }
    }

    fn name_of(&self, call: Call) -> String {
        format!("{}: {}", self.name, function_of(call))
    }

    fn state_size(&self) -> StateSize {
        let mut size = StateSize::default();
        if let Some(state_size) = self.table.state_size {
            // SAFETY: as for `enqueue`.
            guarded(|| unsafe { state_size(self.state, &raw mut size.records, &raw mut size.bytes) });
        }
        size
    }

    fn report(&self, mut report: Report<'_>) {
        let Some(tell) = self.table.report else { return };
        let context = (&raw mut report).cast();
        // SAFETY: as for `enqueue`; the context is used only within the call.
        guarded(|| unsafe { tell(self.state, on_reading, context) });
    }
}

/// Receives a reading.
unsafe extern "C" fn on_reading(context: *mut c_void, name: *const c_char, value: f64) {
    // SAFETY: the library passes the context of the current call.
    let report = unsafe { &mut *context.cast::<Report<'_>>() };
    if !name.is_null() {
        // SAFETY: names of readings live as long as the library, which is never unloaded.
        let name: &'static CStr = unsafe { CStr::from_ptr(name) };
        if let Ok(name) = name.to_str() {
            report(name, value);
        }
    }
}

/// Reads the declaration of a parameter from a table. Errors begin with the name of the wrong field.
///
/// # Safety
/// The texts of `of` must be null or end with a zero, and live as long as the process.
unsafe fn param_spec(of: &Parameter) -> Result<ParamSpec, String> {
    let read = |at: *const c_char, field: &str| {
        // SAFETY: guaranteed by the caller.
        let text = unsafe { text::read::<'static>(at) };
        if text.is_none() && !at.is_null() { Err(format!("{field}: not UTF-8")) } else { Ok(text) }
    };
    let name = read(of.name, "name")?
        .filter(|name| is_name(name))
        .ok_or("name: must be lower-case letters, digits and _, a letter first")?;
    let kind = read(of.kind, "kind")?.ok_or("kind: null")?;
    let value = |at, field| read(at, field).map(|text| text.map_or(Json::Null, |text| text::json_of(kind, text)));
    let choices = read(of.choices, "choices")?;
    let choices: Option<&'static [&'static str]> =
        choices.map(|choices| &*Box::leak(choices.split(',').collect::<Vec<_>>().into_boxed_slice()));
    if choices.is_none() && kind == "choice" {
        return Err("choices: null, but a choice needs them".into());
    }
    Ok(ParamSpec {
        name,
        symbol: "",
        kind,
        default: value(of.default_value, "default_value")?,
        min: value(of.least, "least")?,
        max: value(of.most, "most")?,
        unit: "",
        choices,
        choice_docs: &[],
        doc: read(of.doc, "doc")?.unwrap_or_default().to_owned(),
        source: "",
    })
}

fn is_name(name: &str) -> bool {
    let is_ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_ok)
}

fn c_text(value: Option<&Json>) -> Option<CString> {
    CString::new(text::text_of(value?)).ok()
}

/// A value as a number in the unit of its kind.
fn number_of(spec: &ParamSpec, value: &Json) -> f64 {
    fn parsed<T: std::str::FromStr>(value: &Json, number: impl FnOnce(T) -> f64) -> f64 {
        value.as_str().and_then(|text| text.parse().ok()).map_or(f64::NAN, number)
    }
    if let Some(choices) = spec.choices {
        return choices.iter().position(|choice| value == choice).map_or(f64::NAN, |place| place as f64);
    }
    match spec.kind {
        "time" => parsed(value, Time::as_secs_f64),
        "rate" => parsed(value, BitRate::as_f64),
        "size" => parsed(value, |size: Bytes| size.0 as f64),
        "threshold" => parsed(value, |threshold: Threshold| threshold.magnitude()),
        "probability" => {
            <Probability as fairlane_schemes::base::config::ConfigValue>::parse(value).map_or(f64::NAN, |p| p.0)
        }
        "flag" => value.as_bool().map_or(f64::NAN, f64::from),
        _ => value.as_f64().unwrap_or(f64::NAN),
    }
}
