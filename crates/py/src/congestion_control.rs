//! Congestion controls written in Python: registered by name, called under the GIL.

use crate::external::describe;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_sim::traffic::tcp::control::{
    Authority, Cause, Connection, EcnUse, Event, Flight, Moment, Output, Progress, Sample,
};
use fairlane_sim::traffic::tcp::external::{ControlFactory, Delivered, ExternalControl, NamedControl, Sent};
use fairlane_sim::traffic::tcp::{CongestionControl, Phase};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Registered congestion controls, which scenarios may name.
static CONTROLS: Mutex<BTreeMap<String, Arc<dyn ControlFactory>>> = Mutex::new(BTreeMap::new());

fn registry() -> MutexGuard<'static, BTreeMap<String, Arc<dyn ControlFactory>>> {
    CONTROLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers `factory` as congestion control `name` of scenarios.
pub fn register(name: &str, factory: Arc<dyn ControlFactory>) -> PyResult<()> {
    if CongestionControl::ALL.iter().any(|control| control.name() == name) {
        return Err(PyValueError::new_err(format!("{name}: Fairlane has a congestion control of this name")));
    }
    let replaced = registry().insert(name.into(), factory);
    drop(replaced); // after the lock: dropping a Python object may run Python code
    Ok(())
}

/// Registers a class as the congestion control `name` of scenarios. The class is called with a connection. If `grows`,
/// the class defines the growth of the window in congestion avoidance and its reduction after congestion; otherwise it
/// always sets the window.
#[pyfunction]
pub fn register_congestion_control(name: &str, class: Py<PyAny>, grows: bool, ecn: &str) -> PyResult<()> {
    let ecn = match ecn {
        "classic" => EcnUse::Classic,
        "ect0" => EcnUse::AccurateEct0,
        "ect1" => EcnUse::AccurateEct1,
        _ => return Err(PyValueError::new_err(format!("{name}: marks must be classic, ect0 or ect1, not {ecn}"))),
    };
    register(name, Arc::new(PyFactory { name: name.into(), class, grows, ecn }))
}

/// Names of the registered congestion controls.
#[pyfunction]
pub fn registered_congestion_controls() -> Vec<String> {
    registry().keys().cloned().collect()
}

/// Finds a registered congestion control by name.
pub fn find_control(name: &str) -> Option<NamedControl> {
    let factory = registry().get(name)?.clone();
    Some(NamedControl { name: name.into(), factory })
}

/// Allowed values of a window, for messages.
const A_WINDOW: &str = "a positive number of bytes, at most 4294967295";

/// Converts a number of bytes given by the user and drops the fraction. `None` if the number is out of range.
fn window_of(bytes: f64) -> Option<u32> {
    (bytes >= 1.0 && bytes <= f64::from(u32::MAX)).then_some(bytes as u32)
}

/// Converts a minimum RTT to seconds. Returns `None` if it is not known yet.
fn known(time: Time) -> Option<f64> {
    (time < Time::NEVER).then(|| time.as_secs_f64())
}

/// The connection of a congestion control.
#[pyclass(module = "fairlane", name = "Connection")]
pub struct PyConnection {
    /// Payload of a full segment in bytes.
    #[pyo3(get)]
    mss: u32,
    /// The control's own random numbers.
    #[pyo3(get)]
    rng: Py<PyAny>,
    output: Output,
}

#[pymethods]
impl PyConnection {
    /// Congestion window in bytes.
    #[getter]
    fn window(&self) -> u32 {
        self.output.cwnd
    }

    #[setter]
    fn set_window(&mut self, bytes: f64) -> PyResult<()> {
        self.output.cwnd =
            window_of(bytes).ok_or_else(|| PyValueError::new_err(format!("window: {bytes} must be {A_WINDOW}")))?;
        Ok(())
    }

    /// Pacing rate of payload in bit/s; None leaves it to the sender.
    #[getter]
    fn pacing_rate_bps(&self) -> Option<f64> {
        self.output.pacing.map(BitRate::as_f64)
    }

    #[setter]
    fn set_pacing_rate_bps(&mut self, rate: Option<f64>) -> PyResult<()> {
        if let Some(rate) = rate.filter(|rate| !(1.0..=1e15).contains(rate)) {
            let problem = format!("pacing_rate_bps: {rate} must be None, or from 1 to 1e15 bit/s");
            return Err(PyValueError::new_err(problem));
        }
        self.output.pacing = rate.map(|rate| BitRate(rate as u64));
        Ok(())
    }
}

/// An ACK for a congestion control.
#[pyclass(frozen, module = "fairlane", name = "Ack")]
pub struct PyAck(Sample);

#[pymethods]
impl PyAck {
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Time::as_secs_f64)
    }
    #[getter]
    fn smoothed_rtt(&self) -> f64 {
        self.0.srtt.as_secs_f64()
    }
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        known(self.0.min_rtt)
    }
    #[getter]
    fn delivered(&self) -> u32 {
        self.0.acked
    }
    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }
    #[getter]
    fn marked(&self) -> u32 {
        self.0.marked
    }
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }
    #[getter]
    fn total_delivered(&self) -> u64 {
        self.0.delivered
    }
    #[getter]
    fn total_lost(&self) -> u64 {
        self.0.total_lost
    }
    #[getter]
    fn delivered_when_sent(&self) -> u64 {
        self.0.prior_delivered
    }
    #[getter]
    fn delivery_rate_bps(&self) -> Option<f64> {
        self.0.delivery_rate.map(BitRate::as_f64)
    }
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }
    #[getter]
    fn window_limited(&self) -> bool {
        self.0.cwnd_limited
    }
    #[getter]
    fn in_recovery(&self) -> bool {
        matches!(self.0.phase, Phase::Recovery | Phase::Loss)
    }
}

/// A segment that is sent, has arrived, or is considered lost.
#[pyclass(frozen, module = "fairlane", name = "Segment")]
pub struct PySegment {
    #[pyo3(get)]
    now: f64,
    #[pyo3(get)]
    sent: f64,
    #[pyo3(get)]
    number: u32,
    #[pyo3(get)]
    size: u32,
    #[pyo3(get)]
    app_limited: bool,
}

/// An event other than an ACK.
#[pyclass(frozen, module = "fairlane", name = "Event")]
pub struct PyEvent {
    #[pyo3(get)]
    name: &'static str,
    #[pyo3(get)]
    now: f64,
    #[pyo3(get)]
    in_flight: u32,
    #[pyo3(get)]
    smoothed_rtt: f64,
    #[pyo3(get)]
    prior_window: Option<u32>,
    #[pyo3(get)]
    idle: Option<f64>,
}

impl PyEvent {
    fn of(event: &Event, at: &Moment) -> Self {
        let name = match event {
            Event::Open => "open",
            Event::Loss => "loss",
            Event::Mark => "mark",
            Event::Timeout => "timeout",
            Event::RecoveryEnds => "recovery_ends",
            Event::Undo { .. } => "undo",
            Event::IdleRestart { .. } => "idle",
            Event::SegmentLost { .. } => "lost",
        };
        let prior_window = if let Event::Undo { cwnd, .. } = event { Some(*cwnd) } else { None };
        let idle = if let Event::IdleRestart { idle } = event { Some(idle.as_secs_f64()) } else { None };
        let (now, in_flight, smoothed_rtt) = (at.now.as_secs_f64(), at.in_flight, at.srtt.as_secs_f64());
        Self { name, now, in_flight, smoothed_rtt, prior_window, idle }
    }
}

/// Creates congestion controls by calling a class.
struct PyFactory {
    name: String,
    class: Py<PyAny>,
    grows: bool,
    ecn: EcnUse,
}

impl fmt::Debug for PyFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyFactory({})", self.name)
    }
}

impl ControlFactory for PyFactory {
    fn authority(&self) -> Authority {
        if self.grows { Authority::Avoidance } else { Authority::Full }
    }

    fn ecn(&self) -> EcnUse {
        self.ecn
    }

    fn create(&self, of: &Connection, seed: u64) -> Result<Box<dyn ExternalControl>, String> {
        Python::attach(|py| {
            let class = self.class.bind(py);
            let called = match class.getattr("__qualname__") {
                Ok(class) => format!("{}: {class}", self.name),
                Err(_) => self.name.clone(),
            };
            Ok(Box::new(PyControl { called, class: self.class.clone_ref(py), mss: of.mss, seed, object: None }) as _)
        })
    }
}

/// The congestion control of one connection.
struct PyControl {
    /// Control and class, for messages.
    called: String,
    class: Py<PyAny>,
    mss: u32,
    seed: u64,
    /// Created at the first call, when the window is known.
    object: Option<Object>,
}

/// The user's object, by its methods.
struct Object {
    connection: Py<PyConnection>,
    on_ack: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_delivered: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
    on_event: Option<Py<PyAny>>,
    grow: Option<Py<PyAny>>,
    reduce: Option<Py<PyAny>>,
}

/// Selects one of the methods.
type Method = fn(&Object) -> Option<&Py<PyAny>>;

impl Object {
    fn new(class: &Bound<'_, PyAny>, mss: u32, seed: u64, output: Output) -> PyResult<Self> {
        let py = class.py();
        let rng = py.import("random")?.getattr("Random")?.call1((seed,))?.unbind();
        let connection = Py::new(py, PyConnection { mss, rng, output })?;
        let object = class.call1((&connection,))?;
        let method = |name: &str| object.getattr(name).ok().filter(|method| method.is_callable()).map(Bound::unbind);
        Ok(Self {
            connection,
            on_ack: method("on_ack"),
            on_sent: method("on_sent"),
            on_delivered: method("on_delivered"),
            on_lost: method("on_lost"),
            on_event: method("on_event"),
            grow: method("grow"),
            reduce: method("reduce"),
        })
    }
}

impl fmt::Debug for PyControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyControl({})", self.called)
    }
}

impl PyControl {
    /// Returns the user's object. The first call creates the object, which may set the window.
    fn object(&mut self, py: Python<'_>, output: &mut Output) -> Result<&Object, String> {
        if self.object.is_none() {
            let made = Object::new(self.class.bind(py), self.mss, self.seed, *output);
            let object = made.map_err(|error| format!("{}: {}", self.called, describe(py, &error)))?;
            *output = object.connection.borrow(py).output;
            self.object = Some(object);
        }
        Ok(self.object.as_ref().expect("just made"))
    }

    /// Copies `output` to the Python connection object, calls the method if the class has it, and copies the values
    /// that the method has set back to `output`.
    fn tell<T>(&mut self, output: &mut Output, name: &str, method: Method, of: impl FnOnce() -> T) -> Result<(), String>
    where
        T: PyClass + Into<PyClassInitializer<T>>,
    {
        if self.object.as_ref().is_some_and(|object| method(object).is_none()) {
            return Ok(());
        }
        Python::attach(|py| {
            self.object(py, output)?;
            let Some(object) = &self.object else { return Ok(()) };
            let Some(method) = method(object) else { return Ok(()) };
            let problem = |error: PyErr| format!("{}.{name}: {}", self.called, describe(py, &error));
            object.connection.try_borrow_mut(py).map_err(|error| problem(error.into()))?.output = *output;
            let answer = Bound::new(py, of()).and_then(|of| method.bind(py).call1((of,))).map_err(problem)?;
            if !answer.is_none() {
                return Err(self.wrong_answer(name, &answer, "None"));
            }
            *output = object.connection.try_borrow(py).map_err(|error| problem(error.into()))?.output;
            Ok(())
        })
    }

    /// Converts the number of bytes that a method returns.
    fn ask(&self, py: Python<'_>, name: &str, answer: PyResult<Bound<'_, PyAny>>) -> Result<u32, String> {
        let answer = answer.map_err(|error| format!("{}.{name}: {}", self.called, describe(py, &error)))?;
        let bytes = answer.extract::<f64>().ok().and_then(window_of);
        bytes.ok_or_else(|| self.wrong_answer(name, &answer, A_WINDOW))
    }

    /// Error message for a method that returned `answer` instead of `wanted`.
    fn wrong_answer(&self, name: &str, answer: &Bound<'_, PyAny>, wanted: &str) -> String {
        let answer = answer.repr().map_or_else(|_| "something".into(), |repr| repr.to_string());
        format!("{}.{name} gave {answer}, it must be {wanted}", self.called)
    }
}

impl ExternalControl for PyControl {
    fn on_sent(&mut self, output: &mut Output, sent: &Sent) -> Result<(), String> {
        self.tell(
            output,
            "on_sent",
            |object| object.on_sent.as_ref(),
            || {
                let now = sent.now.as_secs_f64();
                PySegment { now, sent: now, number: sent.number, size: sent.bytes, app_limited: sent.app_limited }
            },
        )
    }

    fn on_delivered(&mut self, output: &mut Output, delivered: &Delivered) -> Result<(), String> {
        self.tell(
            output,
            "on_delivered",
            |object| object.on_delivered.as_ref(),
            || PySegment {
                now: delivered.now.as_secs_f64(),
                sent: delivered.sent.as_secs_f64(),
                number: delivered.number,
                size: delivered.bytes,
                app_limited: delivered.app_limited,
            },
        )
    }

    fn on_sample(&mut self, output: &mut Output, sample: &Sample) -> Result<(), String> {
        self.tell(output, "on_ack", |object| object.on_ack.as_ref(), || PyAck(*sample))
    }

    fn on_event(&mut self, output: &mut Output, event: &Event, at: &Moment) -> Result<(), String> {
        if let Event::SegmentLost { bytes, sent, number, app_limited, .. } = *event {
            let (now, sent) = (at.now.as_secs_f64(), sent.as_secs_f64());
            let lost = || PySegment { now, sent, number, size: bytes, app_limited };
            return self.tell(output, "on_lost", |object| object.on_lost.as_ref(), lost);
        }
        self.tell(output, "on_event", |object| object.on_event.as_ref(), || PyEvent::of(event, at))
    }

    fn avoid(&mut self, cwnd: &mut u32, progress: &Progress) -> Result<(), String> {
        Python::attach(|py| {
            let Some(grow) = self.object.as_ref().and_then(|object| object.grow.as_ref()) else { return Ok(()) };
            let now = (progress.now.as_secs_f64(), progress.srtt.as_secs_f64());
            *cwnd = self.ask(py, "grow", grow.bind(py).call1((*cwnd, progress.segments, now.0, now.1)))?;
            Ok(())
        })
    }

    fn reduce(&mut self, flight: &Flight) -> Result<u64, String> {
        Python::attach(|py| {
            let reduce = self.object.as_ref().and_then(|object| object.reduce.as_ref());
            let Some(reduce) = reduce else { return Ok(flight.used() / 2) };
            let cause = match flight.cause {
                Cause::Loss => "loss",
                Cause::Mark => "mark",
                Cause::Timeout => "timeout",
            };
            let answer = reduce.bind(py).call1((flight.cwnd, flight.outstanding, flight.pipe, cause));
            self.ask(py, "reduce", answer).map(u64::from)
        })
    }
}
