//! Subscribers: users that come and go while the node runs, besides those of the configuration.
//!
//! They are kept in a file beside the state of the system (`node.state_path`), since a BPF file system holds maps only; the
//! maps of a running node are changed entry by entry.

pub mod csv;
#[cfg(feature = "ebpf")]
mod live;
pub mod network;
#[cfg(feature = "ebpf")]
pub mod radius;
#[cfg(feature = "ebpf")]
pub mod sessions;
pub mod store;

#[cfg(feature = "ebpf")]
pub use live::{ChangeError, Changed, Live};
pub use store::{Store, StoreError};

use crate::config::{LoadError, NodeConfig, User, load_toml};
use fairlane_schemes::base::config::ConfigError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A subscriber, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriber {
    /// Its name, which tells it apart.
    pub name: String,
    /// Where it is attached, from the root of the network: names of sites with `/` in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Prefixes of each of its sessions (RADIUS accounting), besides those of `user`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sessions: BTreeMap<String, Vec<String>>,
    /// Keys of a table of `[[users]]`, without the name.
    #[serde(default)]
    pub user: Map<String, Json>,
}

impl Subscriber {
    /// The table of `[[users]]` that says the same.
    #[must_use]
    pub fn table(&self) -> Json {
        let mut table = self.user.clone();
        table.insert("name".into(), self.name.clone().into());
        let mut prefixes: Vec<Json> = match table.remove("prefix") {
            Some(Json::Array(prefixes)) => prefixes,
            Some(prefix) => vec![prefix],
            None => Vec::new(),
        };
        for prefix in self.sessions.values().flatten() {
            let prefix = Json::from(prefix.as_str());
            if !prefixes.contains(&prefix) {
                prefixes.push(prefix);
            }
        }
        if !prefixes.is_empty() {
            table.insert("prefix".into(), prefixes.into());
        }
        table.into()
    }

    /// The user that the node meters.
    ///
    /// # Errors
    /// A key is unknown, missing, of the wrong kind or out of range.
    pub fn user(&self) -> Result<User, ConfigError> {
        let user = User::of_table(&self.table());
        user.map_err(|error| ConfigError::new(format!("user \"{}\": {}", self.name, error.key), error.problem))
    }
}

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// This subscriber is there from now on, in place of one of the same name.
    Put(Subscriber),
    /// The one of this name is not.
    Remove(String),
}

impl Change {
    /// Whom it concerns.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Put(subscriber) => &subscriber.name,
            Self::Remove(name) => name,
        }
    }
}

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

/// A prefix as a table of users has it, from an address with or without a length.
pub(crate) fn prefixes_of(cell: &str) -> Vec<Json> {
    cell.split([',', ';', ' ']).map(str::trim).filter(|prefix| !prefix.is_empty()).map(|prefix| json!(prefix)).collect()
}
