//! The private extension module `fairlane._fairlane`: a thin layer that passes JSON between Python and the simulator.
//!
//! The public interface is built in Python on top of it; types are in `_fairlane.pyi`.

// There are no unit tests. `cargo test --lib` compiles the crate nevertheless.
#![cfg(not(test))]

mod congestion_control;
mod exit;
mod external;
mod library;

use congestion_control::{
    PyAck, PyConnection, PyEvent, PySegment, find_control, register_congestion_control, registered_congestion_controls,
};
use external::{Packet, Port, find, register_scheme, registered_schemes, with_thread_state};
use fairlane_memory::{LargePages, large_pages};
use fairlane_schemes::base::config::{self, ConfigError, read_value};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::registry::catalogue::catalogue;
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_sim::engine;
use fairlane_sim::engine::batch::{self, Failure};
use fairlane_sim::engine::partition::Partition;
use fairlane_sim::engine::watched_run::{self, Message, Watch};
use fairlane_sim::measure as measured;
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::network::{self, sim_packet::SimPacket};
use fairlane_sim::scenario::{self, Externals, Scenario};
use fairlane_sim::traffic::tcp::{self, Phase};
use fairlane_sim::watch::pcap::PcapOptions;
use fairlane_sim::watch::qlog::{Dialect, QlogOptions};
use library::{library_schemes, load_scheme_library};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value as Json;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

create_exception!(
    fairlane,
    SchemeError,
    PyRuntimeError,
    "A scheme or congestion control of the user's failed: its name, method, mistake."
);
create_exception!(fairlane, ThreadError, PyRuntimeError, "The system starts no thread for a run.");
create_exception!(fairlane, ScenarioError, PyValueError, "A mistake in a scenario: key, value, what is allowed.");

/// Allocator of all Rust memory.
#[global_allocator]
static MEMORY: LargePages = large_pages();

/// The private extension module.
#[pymodule]
mod _fairlane {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        Batch, Packet, Port, PyAck, PyConnection, PyEvent, PySegment, ScenarioError, SchemeError, ThreadError,
        WatchedRun, canonical, congestion_controls, engine_version, gaps_of_trace, layout, library_schemes, links,
        load_scheme_library, long_runs, metrics, near, nodes_of_network, notes, peak_memory_bytes, points_of_cdf,
        record_schema, register_congestion_control, register_scheme, registered_congestion_controls,
        registered_schemes, scenario_schema, schemes, student_t, tcp_states, topologies, tree_of_files,
        unstarted_record, users, version, with_queue,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::exit::register(module)
    }
}

fn scenario_error(error: &ConfigError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

fn read_scenario(text: &str) -> PyResult<Scenario> {
    let value: Json = serde_json::from_str(text).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Scenario::read_with(&value, Externals { schemes: &find, controls: &find_control })
        .map_err(|error| scenario_error(&error))
}

/// Version of the extension, equal to that of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Version of the code that affects records. Two builds with the same version give the same bytes.
#[pyfunction]
fn engine_version() -> &'static str {
    fairlane_sim::version::ENGINE
}

/// Converts a file with a size distribution to the key `points` of a scenario.
#[pyfunction]
fn points_of_cdf(content: &str) -> PyResult<String> {
    scenario::SizeCdf::of_file(content).map(|cdf| cdf.text()).map_err(PyValueError::new_err)
}

/// Checks a scenario and adds all defaults.
#[pyfunction]
fn canonical(scenario: &str) -> PyResult<String> {
    Ok(read_scenario(scenario)?.write().to_string())
}

/// Converts a file in Mahimahi's format to the key `gaps` of a scenario.
#[pyfunction]
fn gaps_of_trace(content: &str) -> PyResult<String> {
    scenario::gaps_of_trace(content).map_err(PyValueError::new_err)
}

/// Reads the nodes of LibreQoS's network.json, in the form that `tree_of_files` expects.
#[pyfunction]
fn nodes_of_network(content: &[u8]) -> PyResult<String> {
    scenario::nodes_of_network(content).map_err(PyValueError::new_err)
}

/// Converts the nodes from `nodes_of_network` and LibreQoS's ShapedDevices.csv to the key `tree` of a scenario.
#[pyfunction]
fn tree_of_files(nodes: &str, devices: &[u8]) -> PyResult<String> {
    scenario::tree_of_files(nodes, devices).map_err(PyValueError::new_err)
}

/// Warnings about a valid scenario: key and text.
#[pyfunction]
fn notes(scenario: &str) -> PyResult<Vec<(String, String)>> {
    Ok(read_scenario(scenario)?.notes().into_iter().map(|note| (note.key, note.text)).collect())
}

/// Suggestions for an unknown name, see `config::near`.
#[pyfunction]
fn near(name: &str, known: Vec<String>, most: usize) -> String {
    config::near(name, &known.iter().map(String::as_str).collect::<Vec<_>>(), most)
}

/// Warning if a run takes hours: key and text. The text includes the reason if the run cannot use several threads.
#[pyfunction]
fn long_runs(scenario: &str) -> PyResult<Option<(String, String)>> {
    let scenario = read_scenario(scenario)?;
    let text = |text: String| match Partition::new(&scenario, 2) {
        Ok(_) => text,
        Err(why) => format!("{text} on one thread: {why}"),
    };
    Ok(scenario.long_runs().map(|note| (note.key, text(note.text))))
}

/// Replaces the queue discipline of a scenario by another with default parameters and the same buffer.
#[pyfunction]
fn with_queue(scenario: &str, scheme: &str) -> PyResult<String> {
    let scenario = read_scenario(scenario)?;
    if let Some(scheme) = find(scheme) {
        return Ok(scenario.with_external(scheme).write().to_string());
    }
    let scheme: Scheme =
        read_value("queue.scheme", &Json::from(scheme), None).map_err(|error| scenario_error(&error))?;
    Ok(scenario.with_queue(scheme).write().to_string())
}

/// The catalogue of schemes.
#[pyfunction]
fn schemes() -> PyResult<String> {
    to_json(&catalogue::<SimPacket>())
}

/// The catalogue of congestion controls.
#[pyfunction]
fn congestion_controls() -> PyResult<String> {
    to_json(&tcp::congestion_controls())
}

/// The list of topologies.
#[pyfunction]
fn topologies() -> String {
    scenario::topologies().to_string()
}

/// JSON Schema of a scenario, generated only once, since this takes 40 ms.
#[pyfunction]
fn scenario_schema() -> &'static str {
    static SCHEMA: LazyLock<String> = LazyLock::new(|| scenario::scenario_schema().to_string());
    &SCHEMA
}

/// The catalogue of metrics.
#[pyfunction]
fn metrics() -> PyResult<String> {
    to_json(&measured::catalogue::catalogue())
}

/// JSON Schema of the record of a run.
#[pyfunction]
fn record_schema() -> String {
    measured::catalogue::record_schema().to_string()
}

/// The record of a run before its start: the record of the scenario without any packets.
#[pyfunction]
fn unstarted_record(scenario: &str) -> PyResult<String> {
    to_json(&engine::unstarted(&read_scenario(scenario)?))
}

/// Two-sided quantile of Student's t distribution.
#[pyfunction]
fn student_t(confidence: f64, degrees: u32) -> PyResult<f64> {
    check_confidence(confidence)?;
    if degrees == 0 {
        return Err(PyValueError::new_err("degrees: 0 must be at least 1"));
    }
    Ok(measured::student_t::student_t(confidence, degrees))
}

fn check_confidence(confidence: f64) -> PyResult<()> {
    if confidence > 0.0 && confidence < 1.0 {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("confidence: {confidence} must lie between 0 and 1")))
}

/// Peak resident memory of this process in bytes, if the kernel reports it (Linux).
#[pyfunction]
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kibibytes.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Converts the error of a run that cannot start: pthread_create(3) returns `EAGAIN` if no further thread can be
/// started; file operations do not.
fn start_error(error: io::Error) -> PyErr {
    if error.kind() == io::ErrorKind::WouldBlock {
        ThreadError::new_err(format!("the system starts no thread for a run: {error}"))
    } else {
        error.into()
    }
}

/// Active runs in separate threads.
#[pyclass(frozen)]
struct Batch(Arc<batch::Batch>);

#[pymethods]
impl Batch {
    /// Starts the jobs, pairs of a scenario and a replication number, on `threads` threads.
    #[new]
    fn new(jobs: Vec<(String, u32)>, threads: usize) -> PyResult<Self> {
        let mut parsed: Vec<(String, Arc<Scenario>)> = Vec::new();
        let mut runs = Vec::with_capacity(jobs.len());
        for (text, replication) in jobs {
            // Replications of a scenario are consecutive, so one parsed copy serves all of them.
            if parsed.last().is_none_or(|(known, _)| *known != text) {
                let scenario = Arc::new(read_scenario(&text)?);
                parsed.push((text, scenario));
            }
            let (_, scenario) = &parsed[parsed.len() - 1];
            runs.push((scenario.clone(), replication));
        }
        let is_external = runs.iter().any(|(scenario, _)| scenario.is_external());
        let batch = Arc::new(
            if is_external {
                batch::Batch::start_within(runs, threads, with_thread_state)
            } else {
                batch::Batch::start(runs, threads)
            }
            .map_err(start_error)?,
        );
        exit::ends_at_exit(&batch);
        Ok(Self(batch))
    }

    /// Waits for the next finished run. Returns the index of its job, its record, and its CPU time in seconds; None
    /// after `timeout_s` seconds.
    fn next(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<(usize, String, f64)>> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(format!("timeout_s: {timeout_s}: {error}")))?;
        match py.detach(|| self.0.next(timeout)) {
            None => Ok(None),
            Some((index, Ok(record))) => Ok(Some((index, to_json(&record)?, known_cost(&record)))),
            Some((_, Err(Failure::External(problem)))) => Err(SchemeError::new_err(problem)),
            Some((_, Err(Failure::Defect(defect)))) => Err(PyRuntimeError::new_err(defect)),
        }
    }

    /// Number of runs not yet returned.
    #[getter]
    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    /// Progress of the active runs: simulated seconds, total seconds, and events.
    fn reached(&self) -> Vec<(f64, f64, u64)> {
        let reached = self.0.reached().into_iter();
        reached.map(|run| (run.now.as_secs_f64(), run.end.as_secs_f64(), run.events)).collect()
    }

    /// Stops all runs within milliseconds.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// Ends the threads, which may be waiting for the GIL to call a scheme.
impl Drop for Batch {
    fn drop(&mut self) {
        Python::attach(|py| py.detach(|| self.0.end()));
    }
}

/// Names of the states of a TCP sender, indexed by their number in tables.
#[pyfunction]
fn tcp_states() -> Vec<&'static str> {
    Phase::NAMES.to_vec()
}

/// Group of each user of a scenario, and the user's number in the group, in the order of users.
#[pyfunction]
fn users(scenario: &str) -> PyResult<(Vec<u32>, Vec<u32>)> {
    let scenario = read_scenario(scenario)?;
    let groups = (0..).zip(&scenario.groups);
    Ok(groups.flat_map(|(group, config)| (0..config.params.users).map(move |user| (group, user))).unzip())
}

/// Names of the links of a scenario, in the order of their numbers.
#[pyfunction]
fn links(scenario: &str) -> PyResult<Vec<String>> {
    Ok(read_scenario(scenario)?.topology.links.into_iter().map(|link| link.name).collect())
}

/// Links, users and flows of a replication, including its initial random values (JSON).
#[pyfunction]
fn layout(scenario: &str, replication: u32) -> PyResult<String> {
    Ok(network::layout::layout(&read_scenario(scenario)?, replication).to_string())
}

/// One watched run, in a separate thread.
#[pyclass(frozen)]
struct WatchedRun(Arc<Mutex<Option<watched_run::WatchedRun>>>);

/// A chunk of a table: the table's name, and a dict from column names to pairs of numpy's type name and the values.
type TableChunk<'py> = (&'static str, Bound<'py, PyDict>);

/// The record of a run, and its CPU time in seconds.
type WatchedRecord = (String, f64);

#[pymethods]
impl WatchedRun {
    /// Checks the request and starts the run.
    #[new]
    #[pyo3(signature = (
        scenario, replication, *, pcap=None, drops=false, snaplen=0, link=0, interval=None, qlog=None,
            qlog_sequential=false,
        qlog_flows=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
    fn new(
        scenario: &str,
        replication: u32,
        pcap: Option<PathBuf>,
        drops: bool,
        snaplen: u32,
        link: u32,
        interval: Option<&str>,
        qlog: Option<PathBuf>,
        qlog_sequential: bool,
        qlog_flows: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let scenario = read_scenario(scenario)?;
        if link as usize >= scenario.topology.links.len() {
            return Err(PyValueError::new_err(format!("link: {link}: there is no such link")));
        }
        let interval = interval.map(|text| read_value::<Time>("trace_interval", &Json::from(text), None));
        let watch = Watch {
            pcap: pcap.map(|path| (path, PcapOptions { drops, snaplen, link })),
            trace: interval.transpose().map_err(|error| scenario_error(&error))?,
            qlog: qlog.map(|path| {
                let dialect = if qlog_sequential { Dialect::Sequential } else { Dialect::Contained };
                (path, QlogOptions { dialect, flows: qlog_flows })
            }),
        };
        watch.check(&scenario).map_err(|error| scenario_error(&error))?;
        let run = if scenario.is_external() {
            watched_run::WatchedRun::start_within(scenario, replication, &watch, with_thread_state)
        } else {
            watched_run::WatchedRun::start(scenario, replication, &watch)
        }
        .map_err(failure_error)?;
        let run = Arc::new(Mutex::new(Some(run)));
        exit::ends_at_exit(&run);
        Ok(Self(run))
    }

    /// Waits up to `timeout_s` seconds for output: nothing, a chunk of a table, or finally the record.
    fn next<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<(Option<TableChunk<'py>>, Option<WatchedRecord>)> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(format!("timeout_s: {timeout_s}: {error}")))?;
        let message = py.detach(|| {
            let mut run = self.0.lock().expect("no holder of the lock panics");
            let message = run.as_ref()?.next(timeout);
            if matches!(message, Some(Message::Ended(_))) {
                *run = None;
            }
            message
        });
        match message {
            None => Ok((None, None)),
            Some(Message::Chunk(chunk)) => {
                let columns = PyDict::new(py);
                for column in &chunk.columns {
                    columns.set_item(column.name, (column.dtype, PyBytes::new(py, &column.bytes)))?;
                }
                Ok((Some((chunk.table, columns)), None))
            }
            Some(Message::Ended(Ok(record))) => Ok((None, Some((to_json(&record)?, known_cost(&record))))),
            Some(Message::Ended(Err(failure))) => Err(failure_error(failure)),
        }
    }

    /// Stops the run within milliseconds.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| exit::Run::end(&*self.0));
    }
}

/// Converts the reason why a watched run has no record; an `OSError` names the file.
fn failure_error(failure: watched_run::Failure) -> PyErr {
    match failure {
        watched_run::Failure::Io(path, error) => {
            let text = error.to_string();
            // In Python's form, the number is separate.
            let words = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((error.raw_os_error(), words, path))
        }
        watched_run::Failure::Thread(error) => start_error(error),
        watched_run::Failure::External(problem) => SchemeError::new_err(problem),
        watched_run::Failure::Defect(defect) => PyRuntimeError::new_err(defect),
    }
}

/// As for [`Batch`].
impl Drop for WatchedRun {
    fn drop(&mut self) {
        Python::attach(|py| py.detach(|| exit::Run::end(&*self.0)));
    }
}

/// CPU time of a run that has just ended.
fn known_cost(record: &RunRecord) -> f64 {
    record.cpu_seconds.unwrap_or_default()
}

fn runtime_error(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(runtime_error)
}
