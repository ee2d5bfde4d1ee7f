//! Sessions of a subscriber, as reported by RADIUS accounting.

use super::addresses::Addresses;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Identity of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session {
    /// The access server: its identifier or address.
    pub server: String,
    /// Acct-Session-Id, unique for its server.
    pub id: String,
}

impl Session {
    /// User name of a session without a User-Name: server and session id, separated by a space. Spaces in the server's
    /// name are escaped, so the name is unique.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.server.replace('\\', "\\\\").replace(' ', "\\ "), self.id)
    }
}

/// State of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a session such as {\"at\":0,\"addresses\":{}}")]
pub struct SessionState {
    /// Time of the latest record that changed the session, in seconds since 1970.
    #[serde(default)]
    pub at: u64,
    /// Addresses of the session.
    pub addresses: Addresses,
}

/// Sessions of a subscriber, by server and identifier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions(BTreeMap<String, BTreeMap<String, SessionState>>);

impl Sessions {
    /// Returns true if there are no sessions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// State of a session.
    #[must_use]
    pub fn get(&self, session: &Session) -> Option<&SessionState> {
        self.0.get(&session.server)?.get(&session.id)
    }

    /// Adds a session, or replaces its state.
    pub fn insert(&mut self, session: Session, state: SessionState) {
        self.0.entry(session.server).or_default().insert(session.id, state);
    }

    /// Removes a session.
    pub fn remove(&mut self, session: &Session) {
        let Some(of_server) = self.0.get_mut(&session.server) else { return };
        of_server.remove(&session.id);
        if of_server.is_empty() {
            self.0.remove(&session.server);
        }
    }

    /// All sessions.
    pub fn keys(&self) -> impl Iterator<Item = Session> {
        self.0.keys().flat_map(|server| self.of_server(server))
    }

    /// The sessions of a server.
    pub fn of_server(&self, server: &str) -> impl Iterator<Item = Session> {
        let of_server = self.0.get_key_value(server).into_iter();
        of_server.flat_map(|(server, ids)| ids.keys().map(|id| Session { server: server.clone(), id: id.clone() }))
    }

    /// States of all sessions.
    pub fn states(&self) -> impl Iterator<Item = &SessionState> {
        self.0.values().flat_map(BTreeMap::values)
    }

    /// Mutable states of all sessions.
    pub fn states_mut(&mut self) -> impl Iterator<Item = &mut SessionState> {
        self.0.values_mut().flat_map(BTreeMap::values_mut)
    }

    /// Returns true if any session has an address.
    #[must_use]
    pub fn have_addresses(&self) -> bool {
        self.states().any(|state| !state.addresses.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_identifiers_with_spaces_are_kept_apart() {
        let of = |server: &str, id: &str| Session { server: server.into(), id: id.into() };
        let all = [of("bng", "1 x"), of("bng 1", "x"), of("bng\\", "1 x"), of("bng\\ 1", "x"), of("bng 1 ", "x")];
        let mut sessions = Sessions::default();
        for (at, session) in (0..).zip(&all) {
            sessions.insert(session.clone(), SessionState { at, ..SessionState::default() });
        }
        let names: std::collections::BTreeSet<String> = all.iter().map(Session::name).collect();
        assert_eq!((sessions.keys().count(), names.len()), (5, 5), "{names:?}");
        let text = serde_json::to_string(&sessions).unwrap();
        assert_eq!(serde_json::from_str::<Sessions>(&text).unwrap(), sessions);
        assert_eq!(sessions.of_server("bng").collect::<Vec<_>>(), [of("bng", "1 x")]);
        sessions.remove(&of("bng", "1 x"));
        assert_eq!((sessions.get(&of("bng", "1 x")), sessions.of_server("bng").count()), (None, 0));
        assert_eq!(sessions.get(&of("bng 1", "x")).unwrap().at, 1);
    }
}
