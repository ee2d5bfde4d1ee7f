//! What users are called in reports: the names of the configuration.

use crate::config::NodeConfig;
use crate::records::UserKey;
use std::collections::HashMap;

/// Names of users by the keys of their meters.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: HashMap<UserKey, String>,
}

impl Names {
    /// Of the users of a configuration.
    #[must_use]
    pub fn of(config: &NodeConfig) -> Self {
        Self { names: config.users.iter().map(|user| (UserKey::of(&user.who), user.name.clone())).collect() }
    }

    /// The name of the user with a meter; without one, what it is known by.
    #[must_use]
    pub fn get(&self, key: &UserKey) -> String {
        self.names.get(key).cloned().unwrap_or_else(|| key.to_string())
    }
}
