//! A configuration table during parsing.

use super::error::{ConfigError, shortened, shown};
use super::names::meant;
use super::value::{ConfigValue, quoted, read_value};
use serde_json::{Map, Value as Json};
use std::fmt::Display;

/// Maximum number of known keys in the error for an unknown one.
const MOST_NAMED: usize = 40;

/// A table of the configuration. Returns values by key, and finally reports unused keys.
#[derive(Debug)]
pub struct Table<'a> {
    path: String,
    map: &'a Map<String, Json>,
    known: Vec<&'static str>,
    settled: Option<&'static str>,
    inherited: Option<(&'static str, &'a Json)>,
}

impl<'a> Table<'a> {
    /// Creates the table `value` found at `path` (empty for the root).
    ///
    /// # Errors
    /// If `value` is not a table.
    pub fn new(path: impl Into<String>, value: &'a Json) -> Result<Self, ConfigError> {
        let path = path.into();
        match value.as_object() {
            Some(map) => Ok(Self { path, map, known: Vec::new(), settled: None, inherited: None }),
            None => Err(ConfigError::new(
                if path.is_empty() { "scenario" } else { &path },
                format!("{} is not a table of keys", shown(value)),
            )),
        }
    }

    /// Path of `name` in this table.
    #[must_use]
    pub fn key(&self, name: impl Display) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    /// The raw value of `name`, if there is one. Marks the key as known.
    pub fn get(&mut self, name: &'static str) -> Option<&'a Json> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.map.get(name).or_else(|| self.inherited.filter(|(key, _)| *key == name).map(|(_, value)| value))
    }

    /// Copies the value of `name` from another table if this one lacks it.
    pub fn inherit(&mut self, name: &'static str, value: Option<&'a Json>) {
        self.inherited = value.map(|value| (name, value));
    }

    /// Treats `name` as absent from now on. Used for a value that is not of the key's type and that the caller has
    /// handled.
    pub fn settle(&mut self, name: &'static str) {
        self.settled = Some(name);
    }

    /// Reads an optional value.
    ///
    /// # Errors
    /// See [`read_value`].
    pub fn optional<T: ConfigValue>(
        &mut self,
        name: &'static str,
        range: Option<(Json, Json)>,
    ) -> Result<Option<T>, ConfigError> {
        self.optional_within(name, || range)
    }

    /// Reads an optional value, whose range is computed only if it is present.
    ///
    /// # Errors
    /// See [`read_value`].
    pub fn optional_within<T: ConfigValue>(
        &mut self,
        name: &'static str,
        range: impl FnOnce() -> Option<(Json, Json)>,
    ) -> Result<Option<T>, ConfigError> {
        let value = self.get(name).filter(|_| self.settled != Some(name));
        value.map(|value| read_value(&self.key(name), value, range())).transpose()
    }

    /// Reads a required value.
    ///
    /// # Errors
    /// If it is missing; see also [`read_value`].
    pub fn required<T: ConfigValue>(&mut self, name: &'static str) -> Result<T, ConfigError> {
        let wanted = match T::CHOICES {
            Some(choices) => format!("one of {}", choices.join(", ")),
            None => format!("a {} such as {}", T::KIND, quoted::<T>()),
        };
        self.optional(name, None)?.ok_or_else(|| ConfigError::new(self.key(name), format!("missing, must be {wanted}")))
    }

    /// Reads a required file name; `example` shows one in the error.
    ///
    /// # Errors
    /// If it is missing or not a text.
    pub fn required_file(&mut self, name: &'static str, example: &str) -> Result<String, ConfigError> {
        let key = self.key(name);
        let problem = match self.get(name) {
            Some(Json::String(file)) => return Ok(file.clone()),
            Some(other) => format!("{} is not the name of a file such as \"{example}\"", shown(other)),
            None => format!("missing, must be the name of a file such as \"{example}\""),
        };
        Err(ConfigError::new(key, problem))
    }

    /// The table under `name`, if there is one.
    ///
    /// # Errors
    /// If the value is not a table.
    pub fn table(&mut self, name: &'static str) -> Result<Option<Self>, ConfigError> {
        let path = self.key(name);
        self.get(name).map(|value| Table::new(path, value)).transpose()
    }

    /// The array of tables under `name`; empty if absent.
    ///
    /// # Errors
    /// If the value is not an array of tables.
    pub fn tables(&mut self, name: &'static str) -> Result<Vec<Self>, ConfigError> {
        let path = self.key(name);
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let Some(items) = value.as_array() else {
            return Err(ConfigError::new(path, format!("{} is not an array of tables", shown(value))));
        };
        items.iter().enumerate().map(|(i, item)| Table::new(format!("{path}[{i}]"), item)).collect()
    }

    /// Checks that every key of the table was read.
    ///
    /// # Errors
    /// If a key is unknown. The error names the first unknown key and the most similar known key, or up to
    /// [`MOST_NAMED`] known keys.
    pub fn finish(&self) -> Result<(), ConfigError> {
        let Some((unknown, value)) = self.map.iter().find(|(key, _)| !self.known.contains(&key.as_str())) else {
            return Ok(());
        };
        let hint = match meant(unknown, self.known.iter().copied()).first() {
            Some(name) => format!("did you mean {name}?"),
            None if self.known.len() > MOST_NAMED => {
                let (first, more) = (self.known[..MOST_NAMED].join(", "), self.known.len() - MOST_NAMED);
                format!("known keys: {first}, and {more} more")
            }
            None => format!("known keys: {}", self.known.join(", ")),
        };
        Err(ConfigError::new(self.key(shortened(unknown)), format!("unknown key (value {}); {hint}", shown(value))))
    }
}
