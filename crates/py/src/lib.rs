//! The private extension module `fairlane._fairlane`: a thin layer that passes JSON between Python and the simulator.
//!
//! Everything that a user sees is built in Python on top of it; types are in `_fairlane.pyi`.

use fairlane_schemes::config::{ConfigError, read_value};
use fairlane_schemes::scheme::{Scheme, catalogue};
use fairlane_sim::batch;
use fairlane_sim::result::RunRecord;
use fairlane_sim::scenario::{self, Scenario};
use fairlane_sim::summary::{self, ResultDocument};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;

create_exception!(fairlane, ScenarioError, PyValueError, "A mistake in a scenario: key, value, what is allowed.");

/// The private extension module.
#[pymodule]
mod _fairlane {
    #[pymodule_export]
    use super::{
        Batch, ScenarioError, canonical, result_schema, scenario_schema, schemes, student_t, summarise, topologies,
        version, with_queue,
    };
}

fn scenario_error(error: &ConfigError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

fn read_scenario(text: &str) -> PyResult<Scenario> {
    let value: Json = serde_json::from_str(text).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Scenario::read(&value).map_err(|error| scenario_error(&error))
}

/// Version of the extension, which is that of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Checks a scenario and fills in every default.
#[pyfunction]
fn canonical(scenario: &str) -> PyResult<String> {
    Ok(read_scenario(scenario)?.write().to_string())
}

/// The scenario with another queue discipline at its defaults, on the same buffer.
#[pyfunction]
fn with_queue(scenario: &str, scheme: &str) -> PyResult<String> {
    let scheme: Scheme =
        read_value("queue.scheme", &Json::from(scheme), None).map_err(|error| scenario_error(&error))?;
    Ok(read_scenario(scenario)?.with_queue(scheme).write().to_string())
}

/// The catalogue of schemes.
#[pyfunction]
fn schemes() -> PyResult<String> {
    to_json(&catalogue())
}

/// The topologies.
#[pyfunction]
fn topologies() -> String {
    scenario::topologies().to_string()
}

/// JSON Schema of a scenario.
#[pyfunction]
fn scenario_schema() -> String {
    scenario::scenario_schema().to_string()
}

/// JSON Schema of a result document.
#[pyfunction]
fn result_schema() -> PyResult<String> {
    to_json(&summary::result_schema())
}

/// Two-sided quantile of Student's t distribution.
#[pyfunction]
fn student_t(confidence: f64, degrees: u32) -> PyResult<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(PyValueError::new_err(format!("confidence: {confidence} must lie between 0 and 1")));
    }
    if degrees == 0 {
        return Err(PyValueError::new_err("degrees: 0 must be at least 1"));
    }
    Ok(summary::student_t(confidence, degrees))
}

/// Joins the records of a scenario to a result document.
#[pyfunction]
fn summarise(scenario: &str, runs: Vec<String>) -> PyResult<String> {
    let scenario = read_scenario(scenario)?;
    let records: Vec<RunRecord> =
        runs.iter().map(|run| serde_json::from_str(run)).collect::<Result<_, _>>().map_err(runtime_error)?;
    if records.is_empty() {
        return Err(PyValueError::new_err("runs: there must be at least one"));
    }
    let document: ResultDocument = summary::summarise(&scenario, records, peak_memory_bytes());
    to_json(&document)
}

/// High-water mark of the resident memory of this process, where the kernel tells it (Linux).
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kibibytes.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Runs under way in threads of their own.
#[pyclass(frozen)]
struct Batch(batch::Batch);

#[pymethods]
impl Batch {
    /// Starts the jobs, pairs of a scenario and the number of a replication, on `threads` threads.
    #[new]
    fn new(jobs: Vec<(String, u32)>, threads: usize) -> PyResult<Self> {
        let mut parsed: Vec<(String, Arc<Scenario>)> = Vec::new();
        let mut runs = Vec::with_capacity(jobs.len());
        for (text, replication) in jobs {
            // Replications of a scenario come one after another: one copy serves them all.
            if parsed.last().is_none_or(|(known, _)| *known != text) {
                let scenario = Arc::new(read_scenario(&text)?);
                parsed.push((text, scenario));
            }
            let (_, scenario) = &parsed[parsed.len() - 1];
            runs.push((scenario.clone(), replication));
        }
        Ok(Self(batch::Batch::start(runs, threads)))
    }

    /// The next finished run: index of its job and its record; None after `timeout_s` seconds without one.
    fn next(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<(usize, String)>> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(format!("timeout_s: {timeout_s}: {error}")))?;
        match py.detach(|| self.0.next(timeout)) {
            None => Ok(None),
            Some((index, Ok(record))) => Ok(Some((index, to_json(&record)?))),
            Some((_, Err(defect))) => Err(PyRuntimeError::new_err(defect)),
        }
    }

    /// Runs not yet given out.
    #[getter]
    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    /// Stops all runs within milliseconds.
    fn cancel(&self) {
        self.0.cancel();
    }
}

fn runtime_error(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(runtime_error)
}
