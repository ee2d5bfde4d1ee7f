//! Names of users in reports, from the configuration.

use crate::config::{NodeConfig, User, UserIs};
use crate::records::UserKey;
use std::collections::HashMap;

/// Names of users by the keys of their meters.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: HashMap<UserKey, String>,
}

impl Names {
    /// Creates the names of a configuration's users.
    #[must_use]
    pub fn of(config: &NodeConfig) -> Self {
        let of = |user: &User| user.who.iter().map(|who| (UserKey::of(who), user.name.clone())).collect::<Vec<_>>();
        Self { names: config.users.iter().flat_map(of).collect() }
    }

    /// Name of the user of a meter, with the prefix `to ` for received traffic. A meter without a name gets its key.
    #[must_use]
    pub fn get(&self, key: &UserKey) -> String {
        let name = self.names.get(&key.as_a(UserIs::Source));
        let to = if key.user_is == UserIs::Destination as u8 { "to " } else { "" };
        name.map_or_else(|| key.to_string(), |name| format!("{to}{name}"))
    }
}
