//! The configuration of a node together with its subscribers.

use super::store::{self, StoreError};
use super::subscriber::Subscriber;
use crate::config::{LoadError, NodeConfig, load_toml};
use fairlane_schemes::base::config::ConfigError;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The configuration at `path` together with the subscribers that are kept.
///
/// # Errors
/// Either cannot be read, or one belongs to two users.
pub fn load(path: &Path) -> Result<NodeConfig, LoadSubscribersError> {
    let mut json = load_toml(path)?;
    let at = |source| LoadError::Key { path: path.into(), source };
    let config = NodeConfig::read(&json).map_err(at)?;
    let kept = store::read(&config.state_folder())?;
    if kept.is_empty() {
        return Ok(config);
    }
    let tables = kept.values().map(Subscriber::table);
    match json.get_mut("users").and_then(Json::as_array_mut) {
        Some(users) => users.extend(tables),
        None => json["users"] = tables.collect::<Vec<_>>().into(),
    }
    let with = |source| LoadSubscribersError::Together { path: path.into(), state: config.state_folder(), source };
    NodeConfig::read(&json).map_err(with)
}

/// The configuration at `path` without any users, for what does not ask for them.
///
/// # Errors
/// It cannot be read.
pub fn load_without_users(path: &Path) -> Result<NodeConfig, LoadError> {
    let mut json = load_toml(path)?;
    json.as_object_mut().and_then(|tables| tables.remove("users"));
    NodeConfig::read(&json).map_err(|source| LoadError::Key { path: path.into(), source })
}

/// Why configuration and subscribers cannot be used together.
#[derive(Debug, thiserror::Error)]
pub enum LoadSubscribersError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] LoadError),
    /// The file of subscribers.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Each is right.
    #[error("{path} with the subscribers in {state}: {source}")]
    Together {
        /// The configuration.
        path: PathBuf,
        /// The folder of subscribers.
        state: PathBuf,
        /// What is wrong.
        source: ConfigError,
    },
}
