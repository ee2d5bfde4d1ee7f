//! What the events of sessions change: a subscriber has the prefixes of all its sessions, and goes with the last of them
//! unless it was added otherwise.

use super::addresses::Addresses;
use super::radius::{Event, Up};
use super::{Change, Subscriber};
use crate::config::Prefix;
use std::collections::{BTreeMap, HashMap};

/// Subscribers as they are before some events.
pub trait Before {
    /// The one of a name.
    fn subscriber(&self, name: &str) -> Option<&Subscriber>;
    /// All.
    fn subscribers(&self) -> impl Iterator<Item = &Subscriber>;
    /// Who has a session.
    fn holder(&self, session: &str) -> Option<&str>;
    /// Who has a prefix.
    fn owner(&self, prefix: Prefix) -> Option<&str>;
}

/// Subscribers as they are after some events.
struct After<'a, B> {
    before: &'a B,
    /// Those that differ; `None` is gone.
    changed: BTreeMap<String, Option<Subscriber>>,
    /// Who has a session, as far as it differs.
    sessions: HashMap<String, Option<String>>,
    /// Who has a prefix, as far as it differs.
    owners: HashMap<Prefix, Option<String>>,
}

/// The changes that events ask for, in their order.
#[must_use]
pub fn changes<B: Before>(before: &B, events: &[&Event]) -> Vec<Change> {
    let mut after = After { before, changed: BTreeMap::new(), sessions: HashMap::new(), owners: HashMap::new() };
    for event in events {
        match event {
            Event::Up(up) => after.up(up),
            Event::Down(session) => after.down(&session.key()),
            Event::AllDown { server } => after.all_down(server),
            Event::Other => {}
        }
    }
    let change = |(name, subscriber): (String, Option<Subscriber>)| match subscriber {
        Some(subscriber) => (before.subscriber(&name) != Some(&subscriber)).then_some(Change::Put(subscriber)),
        None => before.subscriber(&name).is_some().then_some(Change::Remove(name)),
    };
    after.changed.into_iter().filter_map(change).collect()
}

impl<B: Before> After<'_, B> {
    fn get(&self, name: &str) -> Option<&Subscriber> {
        self.changed.get(name).map_or_else(|| self.before.subscriber(name), Option::as_ref)
    }

    /// The session has these addresses, those that an interim update left out as before; nobody else has them.
    fn up(&mut self, up: &Up) {
        let session = &up.session.key();
        let holder = self.holder(session);
        // An interim update need not repeat the name either.
        let user = match (&up.user, &holder) {
            (Some(user), _) => user.clone(),
            (None, Some(holder)) if !up.is_start => holder.clone(),
            (None, _) => session.clone(),
        };
        let addresses = self.addresses_after(up, session, holder.as_deref());
        if holder.is_some_and(|holder| holder != user) {
            self.down(session);
        }
        for prefix in addresses.prefixes() {
            // An address that was given to somebody else, whose end was not heard of.
            if let Some(other) = self.owner(prefix).filter(|other| *other != user) {
                self.take_from(&other, prefix);
            }
        }
        if addresses.is_empty() && self.get(&user).is_none() {
            // Nothing to meter yet; a later interim update has the addresses.
            return;
        }
        let mut subscriber =
            self.get(&user).cloned().unwrap_or_else(|| Subscriber { name: user.clone(), ..Subscriber::default() });
        subscriber.sessions.insert(session.into(), addresses);
        self.sessions.insert(session.into(), Some(user));
        self.set(subscriber);
    }

    fn addresses_after(&self, up: &Up, session: &str, holder: Option<&str>) -> Addresses {
        let before = holder.and_then(|holder| self.get(holder)?.sessions.get(session));
        let mut addresses = before.filter(|_| !up.is_start).cloned().unwrap_or_default();
        addresses.merge(&up.addresses);
        addresses
    }

    fn down(&mut self, session: &str) {
        let Some(holder) = self.holder(session) else { return };
        self.sessions.insert(session.into(), None);
        let Some(mut subscriber) = self.get(&holder).cloned() else { return };
        subscriber.sessions.remove(session);
        self.set(subscriber);
    }

    fn all_down(&mut self, server: &str) {
        let of_server = |session: &&String| session.strip_prefix(server).is_some_and(|rest| rest.starts_with(' '));
        let kept = self.before.subscribers().flat_map(|subscriber| subscriber.sessions.keys());
        let here = self.sessions.keys();
        let sessions: Vec<String> = kept.chain(here).filter(of_server).cloned().collect();
        sessions.iter().for_each(|session| self.down(session));
    }

    /// Takes a prefix from all sessions of a subscriber.
    fn take_from(&mut self, other: &str, prefix: Prefix) {
        let Some(mut subscriber) = self.get(other).cloned() else { return };
        subscriber.sessions.values_mut().for_each(|addresses| addresses.remove(prefix));
        self.set(subscriber);
    }

    /// Keeps what it is; a subscriber without anything that it is known by goes. What it has after this it owns, also what a
    /// session of it left and another one still has.
    fn set(&mut self, mut subscriber: Subscriber) {
        let name = subscriber.name.clone();
        let before = self.get(&name).map(Subscriber::prefixes).unwrap_or_default();
        let owned = before.into_iter().filter(|prefix| self.owner(*prefix).as_ref() == Some(&name));
        let released: Vec<Prefix> = owned.collect();
        self.owners.extend(released.into_iter().map(|prefix| (prefix, None)));
        let has_address = subscriber.sessions.values().any(|addresses| !addresses.is_empty());
        if !has_address {
            subscriber.sessions.clear();
        }
        self.owners.extend(subscriber.prefixes().into_iter().map(|prefix| (prefix, Some(name.clone()))));
        let is_there = has_address || !subscriber.user.is_empty();
        self.changed.insert(name, is_there.then_some(subscriber));
    }

    fn holder(&self, session: &str) -> Option<String> {
        match self.sessions.get(session) {
            Some(holder) => holder.clone(),
            None => self.before.holder(session).map(String::from),
        }
    }

    fn owner(&self, prefix: Prefix) -> Option<String> {
        match self.owners.get(&prefix) {
            Some(owner) => owner.clone(),
            None => self.before.owner(prefix).map(String::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::addresses::Kind;
    use super::super::radius::Session;
    use super::*;

    /// Subscribers as a node keeps them, without one.
    #[derive(Default)]
    struct Kept(BTreeMap<String, Subscriber>);

    impl Before for Kept {
        fn subscriber(&self, name: &str) -> Option<&Subscriber> {
            self.0.get(name)
        }
        fn subscribers(&self) -> impl Iterator<Item = &Subscriber> {
            self.0.values()
        }
        fn holder(&self, session: &str) -> Option<&str> {
            let mut all = self.0.values();
            all.find(|subscriber| subscriber.sessions.contains_key(session)).map(|subscriber| subscriber.name.as_str())
        }
        fn owner(&self, prefix: Prefix) -> Option<&str> {
            let mut all = self.0.values();
            all.find(|subscriber| subscriber.prefixes().contains(&prefix)).map(|subscriber| subscriber.name.as_str())
        }
    }

    /// Who has which prefixes after some events.
    type Has = Vec<(String, Vec<String>)>;

    impl Kept {
        fn after(&mut self, events: &[Event]) -> Has {
            for change in changes(self, &events.iter().collect::<Vec<_>>()) {
                match change {
                    Change::Put(subscriber) => drop(self.0.insert(subscriber.name.clone(), subscriber)),
                    Change::Remove(name) => assert!(self.0.remove(&name).is_some(), "{name}"),
                }
            }
            let all = self.0.values();
            all.map(|subscriber| {
                (subscriber.name.clone(), subscriber.prefixes().iter().map(Prefix::to_string).collect())
            })
            .collect()
        }
    }

    fn has(list: &[(&str, &[&str])]) -> Has {
        list.iter()
            .map(|(name, prefixes)| ((*name).into(), prefixes.iter().map(|&text| text.into()).collect()))
            .collect()
    }

    fn session(id: &str) -> Session {
        Session { server: "bng".into(), id: id.into() }
    }

    fn up(is_start: bool, user: &str, id: &str, addresses: &[(Kind, &str)]) -> Event {
        let user = Some(user).filter(|user| !user.is_empty()).map(String::from);
        let mut all = Addresses::default();
        addresses.iter().for_each(|(kind, text)| all.push(*kind, text.parse().unwrap()));
        Event::Up(Up { session: session(id), user, addresses: all, is_start })
    }

    fn start(user: &str, id: &str, address: &str) -> Event {
        up(true, user, id, &[(Kind::FramedIpAddress, address)])
    }

    const V4: (Kind, &str) = (Kind::FramedIpAddress, "10.0.0.1");
    const V6: (Kind, &str) = (Kind::DelegatedIpv6Prefix, "2001:db8::/56");

    #[test]
    fn an_interim_update_takes_nothing_away_that_it_does_not_tell() {
        let mut kept = Kept::default();
        let all = has(&[("anna", &["10.0.0.1/32", "2001:db8::/56"])]);
        assert_eq!(kept.after(&[up(true, "anna", "s1", &[V4, V6])]), all);
        assert_eq!(kept.after(&[up(false, "anna", "s1", &[V4])]), all);
        assert_eq!(kept.after(&[up(false, "anna", "s1", &[])]), all);
        // Nor the name.
        assert_eq!(kept.after(&[up(false, "", "s1", &[])]), all);
        // What it tells replaces what the same attribute told.
        let moved = kept.after(&[up(false, "anna", "s1", &[(Kind::FramedIpAddress, "10.0.0.2")])]);
        assert_eq!(moved, has(&[("anna", &["10.0.0.2/32", "2001:db8::/56"])]));
        // The session is known by another name now, and keeps its addresses.
        let renamed = kept.after(&[up(false, "anna@example", "s1", &[])]);
        assert_eq!(renamed, has(&[("anna@example", &["10.0.0.2/32", "2001:db8::/56"])]));
        // A start begins anew.
        assert_eq!(kept.after(&[up(true, "anna", "s1", &[V6])]), has(&[("anna", &["2001:db8::/56"])]));
        assert_eq!(kept.after(&[up(true, "anna", "s1", &[])]), has(&[]));
    }

    #[test]
    fn an_address_of_two_sessions_goes_to_the_newer_one_and_stays_with_the_one_that_is_left() {
        // One by one, and all at once.
        let events =
            [start("anna", "s1", "10.0.0.1"), start("anna", "s2", "10.0.0.1"), start("bert", "s2", "10.0.0.1")];
        let mut kept = Kept::default();
        for event in &events {
            kept.after(std::slice::from_ref(event));
        }
        assert_eq!(kept.after(&[]), has(&[("bert", &["10.0.0.1/32"])]));
        assert_eq!(Kept::default().after(&events), has(&[("bert", &["10.0.0.1/32"])]));
        // One of two sessions with an address ends, and somebody else gets it.
        let anna = has(&[("anna", &["10.0.0.1/32"])]);
        let mut kept = Kept::default();
        assert_eq!(kept.after(&[events[0].clone(), events[1].clone(), Event::Down(session("s2"))]), anna);
        let both = [Event::Down(session("s9")), start("carl", "s3", "10.0.0.1"), Event::Down(session("s1"))];
        assert_eq!(kept.after(&both), has(&[("carl", &["10.0.0.1/32"])]));
    }

    #[test]
    fn what_an_operator_gave_is_not_taken_by_a_session() {
        let user = serde_json::json!({"prefix": ["10.0.0.1"]}).as_object().unwrap().clone();
        let fixed = Subscriber { name: "fixed".into(), user, ..Subscriber::default() };
        let mut kept = Kept(BTreeMap::from([("fixed".into(), fixed)]));
        // The change asks for it, and is refused where changes are checked.
        kept.after(&[start("anna", "s1", "10.0.0.1")]);
        assert_eq!(kept.0["fixed"].prefixes(), ["10.0.0.1".parse().unwrap()]);
    }
}
