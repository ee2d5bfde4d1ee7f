//! The one TOML file of a node: every key with its range, one-line errors that name key, value and what is allowed.
//!
//! `examples/node.toml` lists every key. Sections: `[node]`, `[meter]`, `[users_table]`, `[default_user]`, `[[users]]`,
//! `[[ports]]`.

mod port;
mod prefix;
mod user;

pub use port::{Backlog, Carrier, Egress, Ingress, Port, PortParams};
pub use prefix::Prefix;
pub use user::{ClassRule, MeterOf, User, UserParams, UserTableParams};

use fairlane_schemes::abc::MeterParams;
use fairlane_schemes::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::params;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

params! {
    /// What concerns the node as a whole.
    pub struct NodeParams {
        /// Folder on a BPF file system where maps and programs stay while the tool is not running.
        pin_path: String = "/sys/fs/bpf/fairlane", source "our choice";
    }
}

/// The configuration of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// `[node]`.
    pub node: NodeParams,
    /// `[meter]`: the same for all meters of a domain.
    pub meter: MeterParams,
    /// `[users_table]`: how many users, and for how long.
    pub users_table: UserTableParams,
    /// `[default_user]`: who sends from an address of no user.
    pub default_user: UserParams,
    /// `[[users]]`, their prefixes all different.
    pub users: Vec<User>,
    /// `[[ports]]`, at least one, their interfaces all different.
    pub ports: Vec<Port>,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not TOML.
    #[error("{path}: line {line}: {problem}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line of the mistake, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A key has a wrong value.
    #[error("{path}: {source}")]
    Key {
        /// The file.
        path: PathBuf,
        /// Key, value, what is allowed.
        source: ConfigError,
    },
}

impl NodeConfig {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has a wrong key or value.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = std::fs::read_to_string(path).map_err(|source| LoadError::Read { path: path.into(), source })?;
        let json: Json = toml::from_str(&text).map_err(|error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
            LoadError::Syntax { path: path.into(), line, problem: error.message().replace('\n', " ") }
        })?;
        Self::read(&json).map_err(|source| LoadError::Key { path: path.into(), source })
    }

    /// Reads the tables of a configuration.
    ///
    /// # Errors
    /// A key is unknown, missing, of the wrong kind or out of range.
    pub fn read(json: &Json) -> Result<Self, ConfigError> {
        let mut root = Table::new("", json)?;
        let node: NodeParams = section(&mut root, "node")?;
        let meter: MeterParams = section(&mut root, "meter")?;
        let users_table: UserTableParams = section(&mut root, "users_table")?;
        users_table.check(&meter)?;
        let default_user: UserParams = section(&mut root, "default_user")?;
        let users = root.tables("users")?.iter_mut().map(User::read).collect::<Result<Vec<_>, _>>()?;
        let ports = root.tables("ports")?.iter_mut().map(Port::read).collect::<Result<Vec<_>, _>>()?;
        root.finish()?;
        if ports.is_empty() {
            return Err(ConfigError::new("ports", "missing, give at least one [[ports]] table"));
        }
        for (i, port) in ports.iter().enumerate() {
            if ports[..i].iter().any(|other| other.interface == port.interface) {
                return Err(ConfigError::new(
                    format!("ports[{i}].interface"),
                    format!("\"{}\" is in another table already", port.interface),
                ));
            }
        }
        for (i, user) in users.iter().enumerate() {
            if users[..i].iter().any(|other| other.prefix == user.prefix) {
                return Err(ConfigError::new(
                    format!("users[{i}].prefix"),
                    format!("\"{}\" belongs to another user already", user.prefix),
                ));
            }
        }
        Ok(Self { node, meter, users_table, default_user, users, ports })
    }
}

/// The table `name`, which may be absent.
fn section<P: ParamSet>(root: &mut Table<'_>, name: &'static str) -> Result<P, ConfigError> {
    let Some(mut table) = root.table(name)? else { return Ok(P::default()) };
    let params = P::read(&mut table)?;
    table.finish()?;
    Ok(params)
}
