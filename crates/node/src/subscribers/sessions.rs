//! What the events of sessions change: a subscriber has the prefixes of all its sessions, and goes with the last of them
//! unless it was added otherwise.

use super::radius::Event;
use super::{Change, Live, Subscriber};
use crate::config::Prefix;
use std::collections::{BTreeMap, HashMap};

/// Subscribers as they are after some events.
struct After<'a> {
    live: &'a Live,
    /// Those that differ; `None` is gone.
    changed: BTreeMap<String, Option<Subscriber>>,
    /// Who has a session, as far as it differs.
    sessions: HashMap<String, Option<String>>,
    /// Who has a prefix, as far as it differs.
    owners: HashMap<Prefix, Option<String>>,
}

/// The changes that events ask for, in their order.
#[must_use]
pub fn changes(live: &Live, events: &[&Event]) -> Vec<Change> {
    let mut after = After { live, changed: BTreeMap::new(), sessions: HashMap::new(), owners: HashMap::new() };
    for event in events {
        match event {
            Event::Up { session, user, prefixes } => after.up(&session.key(), user, prefixes),
            Event::Down(session) => after.down(&session.key()),
            Event::AllDown { server } => after.all_down(server),
            Event::Other => {}
        }
    }
    let change = |(name, subscriber): (String, Option<Subscriber>)| match subscriber {
        Some(subscriber) => (live.subscribers().get(&name) != Some(&subscriber)).then_some(Change::Put(subscriber)),
        None => live.subscribers().contains_key(&name).then_some(Change::Remove(name)),
    };
    after.changed.into_iter().filter_map(change).collect()
}

impl After<'_> {
    fn get(&self, name: &str) -> Option<&Subscriber> {
        self.changed.get(name).map_or_else(|| self.live.subscribers().get(name), Option::as_ref)
    }

    /// The session has these prefixes and no others; nobody else has them.
    fn up(&mut self, session: &str, user: &str, prefixes: &[String]) {
        if self.holder(session).is_some_and(|holder| holder != user) {
            self.down(session);
        }
        let parsed: Vec<(Prefix, &String)> =
            prefixes.iter().filter_map(|text| Some((text.parse().ok()?, text))).collect();
        for (prefix, text) in &parsed {
            // An address that was given to somebody else, whose end was not heard of.
            if let Some(other) = self.owner(*prefix).filter(|other| other != user) {
                self.take_from(&other, text);
            }
        }
        if prefixes.is_empty() && self.get(user).is_none() {
            // Nothing to meter yet; a later interim update has the addresses.
            return;
        }
        let mut subscriber =
            self.get(user).cloned().unwrap_or_else(|| Subscriber { name: user.into(), ..Subscriber::default() });
        for old in subscriber.sessions.insert(session.into(), prefixes.to_vec()).into_iter().flatten() {
            if let Ok(prefix) = old.parse() {
                self.owners.insert(prefix, None);
            }
        }
        for (prefix, _) in parsed {
            self.owners.insert(prefix, Some(user.into()));
        }
        self.sessions.insert(session.into(), Some(user.into()));
        self.set(subscriber);
    }

    fn down(&mut self, session: &str) {
        let Some(holder) = self.holder(session) else { return };
        self.sessions.insert(session.into(), None);
        let Some(mut subscriber) = self.get(&holder).cloned() else { return };
        for old in subscriber.sessions.remove(session).into_iter().flatten() {
            if let Ok(prefix) = old.parse() {
                self.owners.insert(prefix, None);
            }
        }
        self.set(subscriber);
    }

    fn all_down(&mut self, server: &str) {
        let of_server = |session: &&String| session.strip_prefix(server).is_some_and(|rest| rest.starts_with(' '));
        let kept = self.live.subscribers().values().flat_map(|subscriber| subscriber.sessions.keys());
        let here = self.sessions.keys();
        let sessions: Vec<String> = kept.chain(here).filter(of_server).cloned().collect();
        sessions.iter().for_each(|session| self.down(session));
    }

    /// Takes a prefix from all sessions of a subscriber.
    fn take_from(&mut self, other: &str, text: &String) {
        let Some(mut subscriber) = self.get(other).cloned() else { return };
        subscriber.sessions.values_mut().for_each(|prefixes| prefixes.retain(|prefix| prefix != text));
        self.set(subscriber);
    }

    /// Keeps what it is; a subscriber without anything that it is known by goes.
    fn set(&mut self, mut subscriber: Subscriber) {
        let name = subscriber.name.clone();
        let has_prefix = subscriber.sessions.values().any(|prefixes| !prefixes.is_empty());
        let is_there = has_prefix || !subscriber.user.is_empty();
        if !has_prefix {
            subscriber.sessions.retain(|_, prefixes| !prefixes.is_empty());
        }
        self.changed.insert(name, is_there.then_some(subscriber));
    }

    fn holder(&self, session: &str) -> Option<String> {
        match self.sessions.get(session) {
            Some(holder) => holder.clone(),
            None => self.live.holder(session).map(String::from),
        }
    }

    fn owner(&self, prefix: Prefix) -> Option<String> {
        match self.owners.get(&prefix) {
            Some(owner) => owner.clone(),
            None => self.live.owner(&crate::config::Who::Prefix(prefix)).map(String::from),
        }
    }
}
