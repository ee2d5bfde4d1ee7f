//! A subscriber, and a change to a subscriber.

use super::addresses::Addresses;
use super::session::Sessions;
use crate::config::{Prefix, User, UserParams, Who, shown_name};
use fairlane_schemes::base::config::ConfigError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::HashSet;

/// A subscriber, as stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriber {
    /// Name, unique among subscribers.
    pub name: String,
    /// Site, from the root of the network: names separated by `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// RADIUS sessions, whose addresses are added to those of `user`.
    #[serde(default, skip_serializing_if = "Sessions::is_empty")]
    pub sessions: Sessions,
    /// Keys of a `[[users]]` table, without the name.
    #[serde(default)]
    pub user: Map<String, Json>,
}

impl Subscriber {
    /// The equivalent `[[users]]` table.
    #[must_use]
    pub fn table(&self) -> Json {
        let mut table = self.user.clone();
        table.insert("name".into(), self.name.clone().into());
        let mut prefixes: Vec<Json> = match table.remove("prefix") {
            Some(Json::Array(prefixes)) => prefixes,
            Some(prefix) => vec![prefix],
            None => Vec::new(),
        };
        let mut seen: HashSet<String> =
            prefixes.iter().filter_map(|prefix| prefix.as_str().map(String::from)).collect();
        let of_sessions = self.addresses().flat_map(Addresses::texts);
        prefixes.extend(of_sessions.filter(|prefix| seen.insert((*prefix).to_string())).map(Json::from));
        if !prefixes.is_empty() {
            table.insert("prefix".into(), prefixes.into());
        }
        table.into()
    }

    /// Returns the user that the node meters. The default user's values replace missing keys. Returns `None` if there
    /// are keys but no identifier, for example before the first session reports an address.
    ///
    /// # Errors
    /// A key is unknown, of the wrong kind or out of range, there is no key at all, or a prefix contains all addresses.
    pub fn user(&self, default: &UserParams) -> Result<Option<User>, ConfigError> {
        let table = self.table();
        let user = match self.is_given() {
            true => User::of_keys(&table, default),
            false => User::of_table(&table, default).map(Some),
        };
        let user = user.and_then(|user| user.map(not_everybody).transpose());
        let mut user = user.map_err(|error| {
            ConfigError::new(format!("user \"{}\": {}", shown_name(&self.name), error.key), error.problem)
        })?;
        // An address counts once, even if two sessions have it or write it differently.
        let mut seen = HashSet::new();
        user.iter_mut().for_each(|user| user.who.retain(|who| seen.insert(*who)));
        Ok(user)
    }

    fn addresses(&self) -> impl Iterator<Item = &Addresses> {
        self.sessions.states().map(|state| &state.addresses)
    }

    /// Returns true if any of the data are from an operator or a list, not from sessions.
    #[must_use]
    pub fn is_given(&self) -> bool {
        !self.user.is_empty() || self.site.is_some()
    }

    /// Returns the subscriber with only its sessions, or `None` if the sessions have no addresses.
    #[must_use]
    pub fn sessions_alone(&self) -> Option<Self> {
        let (name, sessions) = (self.name.clone(), self.sessions.clone());
        self.sessions.have_addresses().then(|| Self { name, sessions, ..Self::default() })
    }

    /// All prefixes, including those of sessions.
    #[must_use]
    pub fn prefixes(&self) -> Vec<Prefix> {
        self.given_prefixes().chain(self.addresses().flat_map(Addresses::prefixes)).collect()
    }

    /// Prefixes given by an operator or a list.
    pub fn given_prefixes(&self) -> impl Iterator<Item = Prefix> {
        let of_user = match self.user.get("prefix") {
            Some(Json::Array(prefixes)) => prefixes.as_slice(),
            Some(prefix) => std::slice::from_ref(prefix),
            None => &[],
        };
        of_user.iter().filter_map(|prefix| prefix.as_str()?.parse().ok())
    }
}

/// Rejects prefixes that contain all IPv4 addresses. Such a prefix may be intended in the configuration, but not in a
/// list of subscribers.
fn not_everybody(user: User) -> Result<User, ConfigError> {
    let is_all = |who: &&Who| matches!(who, Who::Prefix(prefix) if *prefix == Prefix::within(prefix.address(), 0));
    match user.who.iter().find(is_all) {
        Some(all) => {
            let problem = format!("\"{all}\" is everybody: [default_user] is whoever is no subscriber");
            Err(ConfigError::new(all.key(), problem))
        }
        None => Ok(user),
    }
}

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Adds this subscriber, or replaces the one with the same name.
    Put(Subscriber),
    /// Removes the subscriber with this name.
    Remove(String),
}

impl Change {
    /// Name of the subscriber.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Put(subscriber) => &subscriber.name,
            Self::Remove(name) => name,
        }
    }
}

/// Returns the prefixes of a cell, which separates them by commas, semicolons or spaces, as values of a `[[users]]`
/// table.
pub(crate) fn prefixes_of(cell: &str) -> Vec<Json> {
    cell.split([',', ';', ' ']).map(str::trim).filter(|prefix| !prefix.is_empty()).map(|prefix| json!(prefix)).collect()
}
