//! Libraries of schemes: loaded from files and identified by the names of their schemes.

use fairlane_plugin::host::{self, LoadedScheme};
use fairlane_schemes::base::config::ParamSet;
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::contract::scheme::{FlowState, Order};
use fairlane_schemes::registry::external::ExternalScheme;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A scheme of a library, and its entry in the catalogue.
struct Known {
    scheme: ExternalScheme,
    about: Json,
}

/// The schemes of all libraries by name. If two schemes have the same name, the last one loaded is kept.
static LOADED: Mutex<BTreeMap<String, Known>> = Mutex::new(BTreeMap::new());

fn loaded() -> MutexGuard<'static, BTreeMap<String, Known>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads a library of schemes. Returns the names of its schemes.
#[pyfunction]
pub fn load_scheme_library(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
    let library = py.detach(|| host::load(&path)).map_err(PyValueError::new_err)?;
    let names: Vec<String> = library.iter().map(|loaded| loaded.scheme.name.to_string()).collect();
    let mut all = loaded();
    for one in &library {
        let known = Known { scheme: one.scheme.clone(), about: about(one) };
        all.insert(one.scheme.name.to_string(), known);
    }
    Ok(names)
}

/// The catalogue of the schemes of all loaded libraries.
#[pyfunction]
pub fn library_schemes() -> String {
    Json::Array(loaded().values().map(|known| known.about.clone()).collect()).to_string()
}

/// Finds the scheme of a library by name.
pub fn find(name: &str) -> Option<ExternalScheme> {
    loaded().get(name).map(|known| known.scheme.clone())
}

/// Entry of a library's scheme, in the form of [`fairlane_schemes::registry::catalogue`].
fn about(LoadedScheme { scheme, summary }: &LoadedScheme) -> Json {
    let params = |specs: &[_], shared: bool| -> Vec<Json> {
        let with_place = |spec| {
            let mut param = json!(spec);
            param["table"] = "queue".into();
            param["shared"] = shared.into();
            param
        };
        specs.iter().map(with_place).collect()
    };
    let params = [params(&BufferParams::specs(), true), params(scheme.factory.params(), false)].concat();
    json!({
        "name": &*scheme.name,
        "display_name": &*scheme.name,
        "family": "library",
        "title": &*scheme.name,
        "kind": "of a library",
        "summary": summary,
        "source": scheme.factory.library(),
        "state": "as the library tells",
        "flow_state": FlowState::Unknown,
        "order": Order::Unknown,
        "marker": scheme.factory.marker().name(),
        "marks": true,
        "shapes": false,
        "idle_bytes": 0,
        "params": params,
    })
}
