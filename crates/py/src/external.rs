//! Schemes written in Python: registered by name and called under the GIL. Their packets stay outside
//! Python.

use crate::library;
use fairlane_schemes::base::units::{BitRate, QueueLimit, Time};
use fairlane_schemes::contract::discipline::Backlog;
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::registry::external::{
    Actions, Arrival, Call, ExternalDiscipline, ExternalFactory, ExternalPort, ExternalScheme, Handle,
};
use fairlane_schemes::registry::schemes::Scheme;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTraceback};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Registered schemes, which scenarios may name.
static SCHEMES: Mutex<BTreeMap<String, Arc<PyFactory>>> = Mutex::new(BTreeMap::new());

fn registry() -> MutexGuard<'static, BTreeMap<String, Arc<PyFactory>>> {
    SCHEMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers `factory`, which is called with a port, as scheme `name` of scenarios.
#[pyfunction]
pub fn register_scheme(name: &str, factory: Py<PyAny>) -> PyResult<()> {
    if Scheme::ALL.iter().any(|scheme| scheme.name() == name) {
        return Err(PyValueError::new_err(format!("{name}: Fairlane has a scheme of this name")));
    }
    if library::find(name).is_some() {
        return Err(PyValueError::new_err(format!("{name}: a library that is loaded has a scheme of this name")));
    }
    let replaced = registry().insert(name.into(), Arc::new(PyFactory { name: name.into(), factory }));
    drop(replaced); // after the lock: dropping a Python object may run Python code
    Ok(())
}

/// Names of the registered schemes.
#[pyfunction]
pub fn registered_schemes() -> Vec<String> {
    registry().keys().cloned().collect()
}

/// Finds a scheme by name, among registered ones and those of libraries.
pub fn find(name: &str) -> Option<ExternalScheme> {
    let Some(factory) = registry().get(name).cloned() else { return library::find(name) };
    Some(ExternalScheme::new(name, factory))
}

/// Runs `work` in this thread, with one thread state of the interpreter for all calls of schemes. Otherwise each call
/// would create and destroy a thread state, which took most of the time. Between calls the thread does not hold the
/// GIL, so other threads run and signals are handled.
pub fn with_thread_state(work: &mut (dyn FnMut() + Send)) {
    Python::attach(|py| py.detach(work));
}

/// A packet for a scheme.
#[pyclass(frozen, module = "fairlane")]
pub struct Packet {
    handle: Handle,
    /// The transport connection.
    #[pyo3(get)]
    flow: u32,
    /// The user.
    #[pyo3(get)]
    user: u32,
    /// Bytes on the link.
    #[pyo3(get)]
    size: u32,
    class: TrafficClass,
    /// True if the transport supports congestion marks.
    #[pyo3(get)]
    ecn_capable: bool,
    /// The marker's label; 0 without a marker.
    #[pyo3(get)]
    label: f64,
    /// Arrival time at the port, in seconds.
    #[pyo3(get)]
    arrival: f64,
}

#[pymethods]
impl Packet {
    /// BE or EF.
    #[getter]
    fn traffic_class(&self) -> &'static str {
        self.class.name()
    }

    fn __repr__(&self) -> String {
        format!("<Packet of flow {}, user {}, {} bytes, came at {} s>", self.flow, self.user, self.size, self.arrival)
    }
}

/// The port of a scheme.
#[pyclass(module = "fairlane")]
pub struct Port {
    limit: QueueLimit,
    /// Rate of the link.
    #[pyo3(get)]
    link_rate_bps: f64,
    /// The scheme's own random numbers.
    #[pyo3(get)]
    rng: Py<PyAny>,
    /// Waiting packets, without the arriving one.
    #[pyo3(get)]
    packets: u32,
    /// Waiting bytes, without those of the arriving packet.
    #[pyo3(get)]
    bytes: u64,
    actions: Actions,
}

#[pymethods]
impl Port {
    /// Maximum number of waiting packets; None if the limit is in bytes.
    #[getter]
    fn limit_packets(&self) -> Option<u32> {
        match self.limit {
            QueueLimit::Packets(limit) => Some(limit),
            QueueLimit::Bytes(_) => None,
        }
    }

    /// Maximum number of waiting bytes; None if the limit is in packets.
    #[getter]
    fn limit_bytes(&self) -> Option<u64> {
        match self.limit {
            QueueLimit::Packets(_) => None,
            QueueLimit::Bytes(limit) => Some(limit),
        }
    }

    /// Returns true if the packet fits in addition to the waiting ones.
    fn has_room(&self, packet: &Packet) -> bool {
        self.backlog().has_room_for(packet.size, self.limit)
    }

    /// Drops the arriving packet or a waiting one.
    fn drop(&mut self, packet: &Packet) {
        self.actions.drop(packet.handle);
    }

    /// Marks an ECN-capable packet (CE).
    fn mark(&mut self, packet: &Packet) {
        self.actions.marks.push(packet.handle);
    }
}

impl Port {
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets, bytes: self.bytes }
    }
}

/// Creates schemes by calling a class or function.
struct PyFactory {
    name: String,
    factory: Py<PyAny>,
}

impl fmt::Debug for PyFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyFactory({})", self.name)
    }
}

impl ExternalFactory for PyFactory {
    fn create(&self, port: &ExternalPort<'_>) -> Result<Box<dyn ExternalDiscipline>, String> {
        Python::attach(|py| {
            let factory = self.factory.bind(py);
            let called = match factory.getattr("__qualname__") {
                Ok(name) => format!("{}: {name}", self.name),
                Err(_) => self.name.clone(),
            };
            let made = Port::new(py, port).and_then(|made| Ok((factory.call1((&made,))?, made)));
            let (object, made) = made.map_err(|error| format!("{called}: {}", describe(py, &error)))?;
            PyScheme::new(&self.name, &object, made, port.limit).map(|scheme| Box::new(scheme) as _)
        })
    }
}

impl Port {
    fn new(py: Python<'_>, port: &ExternalPort<'_>) -> PyResult<Py<Self>> {
        let rng = py.import("random")?.getattr("Random")?.call1((port.seed,))?.unbind();
        let (limit, link_rate_bps) = (port.limit, port.rate.as_f64());
        Py::new(py, Self { limit, link_rate_bps, rng, packets: 0, bytes: 0, actions: Actions::default() })
    }
}

/// Kind of a scheme, by the decisions that the user's object makes.
enum Kind {
    /// A scheme that decides only on admission to a single queue, which is stored here.
    Admits { admit: Py<PyAny>, queue: VecDeque<Handle> },
    /// A scheme that makes all decisions.
    Orders { enqueue: Py<PyAny>, dequeue: Py<PyAny> },
}

/// A scheme's object at one port.
struct PyScheme {
    /// Scheme and class, for messages.
    called: String,
    port: Py<Port>,
    limit: QueueLimit,
    kind: Kind,
}

impl fmt::Debug for PyScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyScheme({})", self.called)
    }
}

impl PyScheme {
    fn new(name: &str, object: &Bound<'_, PyAny>, port: Py<Port>, limit: QueueLimit) -> Result<Self, String> {
        let class = object.get_type().qualname().map_or_else(|_| "?".into(), |class| class.to_string());
        let called = format!("{name}: {class}");
        let method = |name: &str| object.getattr(name).ok().filter(|method| method.is_callable()).map(Bound::unbind);
        let kind = match (method("admit"), method("enqueue"), method("dequeue")) {
            (Some(admit), None, None) => Kind::Admits { admit, queue: VecDeque::new() },
            (None, Some(enqueue), Some(dequeue)) => Kind::Orders { enqueue, dequeue },
            _ => return Err(format!("{called} must have either the method admit, or enqueue and dequeue")),
        };
        Ok(Self { called, port, limit, kind })
    }

    /// Passes the current backlog to the port and calls a method. Returns the method's result, and adds its drops and
    /// marks to `actions`.
    fn call<'py, T>(
        &self,
        py: Python<'py>,
        call: Call,
        backlog: Backlog,
        actions: &mut Actions,
        method: impl FnOnce() -> PyResult<T>,
    ) -> Result<T, String> {
        let problem = |error: PyErr| format!("{}: {}", self.name_of(call), describe(py, &error));
        {
            let mut port = self.port.try_borrow_mut(py).map_err(|error| problem(error.into()))?;
            (port.packets, port.bytes) = (backlog.packets, backlog.bytes);
        }
        let answer = method();
        let mut port = self.port.try_borrow_mut(py).map_err(|error| problem(error.into()))?;
        actions.drops.append(&mut port.actions.drops);
        actions.marks.append(&mut port.actions.marks);
        answer.map_err(problem)
    }

    fn packet<'py>(py: Python<'py>, arrival: &Arrival, now: Time) -> PyResult<Bound<'py, Packet>> {
        let packet = Packet {
            handle: arrival.handle,
            flow: arrival.flow,
            user: arrival.user,
            size: arrival.wire_bytes,
            class: arrival.class,
            ecn_capable: arrival.ecn.is_capable(),
            label: arrival.label,
            arrival: now.as_secs_f64(),
        };
        Bound::new(py, packet)
    }

    /// Error for a value that a method must not return.
    fn wrong_answer(&self, call: Call, answer: &Bound<'_, PyAny>, wanted: &str) -> String {
        let answer = answer.repr().map_or_else(|_| "something".into(), |repr| repr.to_string());
        format!("{} gave {answer}, it must be {wanted}", self.name_of(call))
    }
}

/// Verdict of an early-drop scheme on a packet.
enum Admission {
    Accept,
    Mark,
    Drop,
}

fn admission(answer: &Bound<'_, PyAny>) -> Option<Admission> {
    if let Ok(accept) = answer.cast::<PyBool>() {
        return Some(if accept.is_true() { Admission::Accept } else { Admission::Drop });
    }
    match answer.cast::<PyString>().ok()?.to_str().ok()? {
        "accept" => Some(Admission::Accept),
        "mark" => Some(Admission::Mark),
        "drop" => Some(Admission::Drop),
        _ => None,
    }
}

impl ExternalDiscipline for PyScheme {
    fn enqueue(&mut self, arrival: &Arrival, backlog: Backlog, now: Time, actions: &mut Actions) -> Result<(), String> {
        Python::attach(|py| {
            let (method, is_admit) = match &self.kind {
                Kind::Admits { admit, .. } => (admit, true),
                Kind::Orders { enqueue, .. } => (enqueue, false),
            };
            let answer = self.call(py, Call::Enqueue, backlog, actions, || {
                let packet = Self::packet(py, arrival, now)?;
                let method = method.bind(py);
                if is_admit {
                    method.call1((packet, &self.port, now.as_secs_f64()))
                } else {
                    method.call1((packet, now.as_secs_f64()))
                }
            })?;
            if !is_admit {
                return if answer.is_none() { Ok(()) } else { Err(self.wrong_answer(Call::Enqueue, &answer, "None")) };
            }
            let Some(admission) = admission(&answer) else {
                let wanted = "True, False, 'accept', 'mark' or 'drop'";
                return Err(self.wrong_answer(Call::Enqueue, &answer, wanted));
            };
            let marks = matches!(admission, Admission::Mark);
            let is_early = matches!(admission, Admission::Drop) || (marks && !arrival.ecn.is_capable());
            if is_early || !backlog.has_room_for(arrival.wire_bytes, self.limit) {
                actions.drop(arrival.handle);
                return Ok(());
            }
            if marks {
                actions.marks.push(arrival.handle);
            }
            if let Kind::Admits { queue, .. } = &mut self.kind {
                queue.push_back(arrival.handle);
            }
            Ok(())
        })
    }

    fn dequeue(&mut self, backlog: Backlog, now: Time, actions: &mut Actions) -> Result<Option<Handle>, String> {
        if let Kind::Admits { queue, .. } = &mut self.kind {
            return Ok(queue.pop_front());
        }
        let Kind::Orders { dequeue, .. } = &self.kind else { return Ok(None) };
        Python::attach(|py| {
            let answer =
                self.call(py, Call::Dequeue, backlog, actions, || dequeue.bind(py).call1((now.as_secs_f64(),)))?;
            if answer.is_none() {
                return Ok(None);
            }
            match answer.cast::<Packet>() {
                Ok(packet) => Ok(Some(packet.get().handle)),
                Err(_) => Err(self.wrong_answer(Call::Dequeue, &answer, "a Packet or None")),
            }
        })
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        Python::attach(|py| {
            if let Ok(mut port) = self.port.try_borrow_mut(py) {
                port.link_rate_bps = rate.as_f64();
            }
        });
    }

    fn name_of(&self, call: Call) -> String {
        let method = match (call, &self.kind) {
            (Call::Enqueue, Kind::Admits { .. }) => "admit",
            (Call::Enqueue, Kind::Orders { .. }) => "enqueue",
            (Call::Dequeue, _) => "dequeue",
        };
        format!("{}.{method}", self.called)
    }
}

/// Formats an exception as one line, with the location where it was raised.
pub fn describe(py: Python<'_>, error: &PyErr) -> String {
    let place = error.traceback(py).and_then(|traceback| place(traceback).ok()).unwrap_or_default();
    let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{text}{place}")
}

/// Returns the location of the innermost frame of a traceback.
fn place(traceback: Bound<'_, PyTraceback>) -> PyResult<String> {
    let mut innermost = traceback.into_any();
    loop {
        let next = innermost.getattr("tb_next")?;
        if next.is_none() {
            break;
        }
        innermost = next;
    }
    let line: u32 = innermost.getattr("tb_lineno")?.extract()?;
    let file: String = innermost.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
    Ok(format!(" ({file}, line {line})"))
}
