//! The configuration of a node together with its subscribers.

use super::store::{self, StoreError};
use super::subscriber::Subscriber;
use crate::config::{LoadError, NodeConfig, load_toml};
use fairlane_schemes::base::config::ConfigError;
use std::path::{Path, PathBuf};

/// The configuration at `path` together with the subscribers that are kept.
///
/// # Errors
/// Either cannot be read, or one belongs to two users.
pub fn load(path: &Path) -> Result<NodeConfig, LoadSubscribersError> {
    with_kept(NodeConfig::load(path)?, path)
}

/// The configuration that was read from `path`, together with the subscribers that are kept.
///
/// # Errors
/// They cannot be read, or one belongs to two users.
pub fn with_kept(mut config: NodeConfig, path: &Path) -> Result<NodeConfig, LoadSubscribersError> {
    let state = config.state_folder();
    let with = |source| LoadSubscribersError::Together { path: path.into(), state: state.clone(), source };
    let kept = store::read(&state)?;
    let users = kept.values().map(Subscriber::user).collect::<Result<Vec<_>, _>>().map_err(with)?;
    config.add_users(users.into_iter()).map_err(with)?;
    Ok(config)
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
