//! Converts session events to changes of subscribers. A subscriber has the prefixes of all its sessions. It is removed
//! with its last session, unless an operator or a list also added it.
//!
//! Events are ordered by the time at which they happened. A record older than the known state of its session only adds
//! missing values. It takes no address from a session with a later record. An ended session stays ended.

use super::addresses::Addresses;
use super::ended::{Ended, Ends, Moment, Over};
use super::radius::{Event, Up};
use super::session::{Session, SessionState, Sessions};
use super::{Change, ChangeError, Subscriber};
use crate::config::Prefix;
use std::collections::{BTreeMap, HashMap};

/// Subscribers before some events.
pub trait Before {
    /// Subscriber with a name.
    fn subscriber(&self, name: &str) -> Option<&Subscriber>;
    /// All subscribers.
    fn subscribers(&self) -> impl Iterator<Item = &Subscriber>;
    /// Owner of a session.
    fn holder(&self, session: &Session) -> Option<&str>;
    /// Owner of a prefix.
    fn owner(&self, prefix: Prefix) -> Option<&str>;
    /// Checks the keys of a subscriber, but not whether another subscriber has its addresses.
    ///
    /// # Errors
    /// The subscriber cannot be metered.
    fn check(&self, subscriber: &Subscriber) -> Result<(), ChangeError>;
}

/// Result of events.
pub struct Judged {
    /// Changes caused by all possible events.
    pub changes: Vec<Change>,
    /// For each event, the reason if it is impossible.
    pub refused: Vec<Option<ChangeError>>,
    /// Ended sessions, to be recorded when the changes are stored.
    pub ends: HashMap<Over, Moment>,
}

/// Subscribers after some events.
struct After<'a, B> {
    before: &'a B,
    /// Changed subscribers; `None` for removed ones.
    changed: BTreeMap<String, Option<Subscriber>>,
    sessions: HashMap<Session, Option<String>>,
    owners: HashMap<Prefix, Option<String>>,
    ends: Ends<'a>,
}

/// Returns the changes that `events` cause; `events` are in the order of arrival. An impossible event causes no change
/// and does not block the other events.
#[must_use]
pub fn judge<B: Before>(before: &B, ended: &Ended, events: &[&Event]) -> Judged {
    let (changed, sessions, owners) = (BTreeMap::new(), HashMap::new(), HashMap::new());
    let ends = Ends { before: ended, new: HashMap::new() };
    let mut after = After { before, changed, sessions, owners, ends };
    let refused = events.iter().map(|event| after.apply(event).err()).collect();
    let change = |(name, subscriber): (String, Option<Subscriber>)| match subscriber {
        Some(subscriber) => (before.subscriber(&name) != Some(&subscriber)).then_some(Change::Put(subscriber)),
        None => before.subscriber(&name).is_some().then_some(Change::Remove(name)),
    };
    Judged { changes: after.changed.into_iter().filter_map(change).collect(), refused, ends: after.ends.new }
}

impl<B: Before> After<'_, B> {
    fn apply(&mut self, event: &Event) -> Result<(), ChangeError> {
        match event {
            Event::Up(up) => return self.up(up),
            Event::Down(session, when) => {
                self.down(session);
                self.ends.new.insert(Over::Session(session.clone()), *when);
            }
            Event::AllDown { server, when } => self.all_down(server, *when),
            Event::Other => {}
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&Subscriber> {
        self.changed.get(name).map_or_else(|| self.before.subscriber(name), Option::as_ref)
    }

    fn state(&self, session: &Session) -> Option<&SessionState> {
        self.get(&self.holder(session)?)?.sessions.get(session)
    }

    /// Applies a start or an interim update. Assigns the addresses to the session, and keeps addresses that an interim
    /// update did not mention. Removes the session's addresses from all other sessions.
    fn up(&mut self, up: &Up) -> Result<(), ChangeError> {
        let (session, at) = (&up.session, up.when.at());
        if self.ends.has_ended(session, up.when) {
            return Ok(());
        }
        let (holder, before) = (self.holder(session), self.state(session).cloned());
        let is_older = before.as_ref().is_some_and(|before| at < before.at);
        // A start in the same second as the known record is a retransmission, or was overtaken by an update.
        let is_first = before.as_ref().is_some_and(|before| at == before.at && up.is_start);
        let before = before.unwrap_or_default();
        // An interim update may omit the name. An older record changes the name only if the session has none.
        let user = match (&up.user, &holder) {
            (Some(_), Some(holder)) if is_older && *holder != session.name() => holder.clone(),
            (Some(user), _) => user.clone(),
            (None, Some(holder)) if is_older || !up.is_start => holder.clone(),
            (None, _) => session.name(),
        };
        let addresses = match (is_older || is_first, up.is_start) {
            (true, _) => up.addresses.merged(&before.addresses),
            (false, true) => up.addresses.clone(),
            (false, false) => before.addresses.merged(&up.addresses),
        };
        self.check(&user, session, &addresses)?;
        let is_renamed = holder.is_some_and(|holder| holder != user);
        if is_renamed {
            self.down(session);
        }
        let addresses = self.take(&user, &addresses, at);
        if addresses.is_empty() && self.get(&user).is_none() {
            // The session has no address to meter yet. A later interim update has the addresses.
            return Ok(());
        }
        // A record that changes nothing is not written.
        let is_news = is_renamed || addresses != before.addresses;
        let at = if is_news { at.max(before.at) } else { before.at };
        let mut subscriber = self.subscriber(&user);
        subscriber.sessions.insert(session.clone(), SessionState { at, addresses });
        self.sessions.insert(session.clone(), Some(user));
        self.set(subscriber);
        Ok(())
    }

    /// Returns the subscriber with this name, or a new one if there is none.
    fn subscriber(&self, name: &str) -> Subscriber {
        self.get(name).cloned().unwrap_or_else(|| Subscriber { name: name.into(), ..Subscriber::default() })
    }

    /// Checks that a user can have a session: none of its addresses was given to another user, and the user can be
    /// metered.
    fn check(&self, user: &str, session: &Session, addresses: &Addresses) -> Result<(), ChangeError> {
        for prefix in addresses.prefixes() {
            let Some(other) = self.owner(prefix).filter(|other| other != user) else { continue };
            // Users of the configuration are not subscribers.
            if self.get(&other).is_none_or(|other| other.given_prefixes().any(|given| given == prefix)) {
                return Err(ChangeError::Taken { name: user.into(), who: prefix.to_string(), other });
            }
        }
        let mut subscriber = self.subscriber(user);
        let state = SessionState { addresses: addresses.clone(), ..SessionState::default() };
        subscriber.sessions.insert(session.clone(), state);
        if subscriber.sessions.have_addresses() { self.before.check(&subscriber) } else { Ok(()) }
    }

    /// Removes addresses from sessions of other users, whose end was not reported. A session with a later record keeps
    /// its addresses. Returns the other addresses.
    fn take(&mut self, user: &str, addresses: &Addresses, at: u64) -> Addresses {
        let mut taken = addresses.clone();
        for prefix in addresses.prefixes() {
            let Some(other) = self.owner(prefix).filter(|other| other != user) else { continue };
            let states = self.get(&other).into_iter().flat_map(|other| other.sessions.states());
            let of_prefix = states.filter(|state| state.addresses.prefixes().any(|has| has == prefix));
            match of_prefix.map(|state| state.at).max() {
                Some(latest) if latest > at => taken.remove(prefix),
                _ => self.take_from(&other, prefix),
            }
        }
        taken
    }

    fn down(&mut self, session: &Session) {
        let Some(holder) = self.holder(session) else { return };
        self.sessions.insert(session.clone(), None);
        let Some(mut subscriber) = self.get(&holder).cloned() else { return };
        subscriber.sessions.remove(session);
        self.set(subscriber);
    }

    /// Ends the sessions that a server had when it started or stopped.
    fn all_down(&mut self, server: &str, when: Moment) {
        if self.ends.is_repeated(server, when) {
            return;
        }
        let kept = self.before.subscribers().flat_map(|subscriber| subscriber.sessions.of_server(server));
        let here = self.sessions.keys().filter(|session| session.server == server).cloned();
        let sessions: Vec<Session> = kept.chain(here).collect();
        for session in sessions {
            let Some(at) = self.state(&session).map(|state| state.at) else { continue };
            if at <= when.by_arrival() {
                self.down(&session);
                self.ends.new.insert(Over::Session(session), when.or_stamped(at));
            }
        }
        self.ends.new.insert(Over::Server(server.into()), when);
    }

    fn take_from(&mut self, other: &str, prefix: Prefix) {
        let Some(mut subscriber) = self.get(other).cloned() else { return };
        subscriber.sessions.states_mut().for_each(|state| state.addresses.remove(prefix));
        self.set(subscriber);
    }

    /// Stores a subscriber, or removes it if it has no identifier. Afterwards the subscriber owns all addresses of its
    /// sessions. If two sessions had an address and one lost it, the subscriber still owns the address.
    fn set(&mut self, mut subscriber: Subscriber) {
        let name = subscriber.name.clone();
        let before = self.get(&name).map(Subscriber::prefixes).unwrap_or_default();
        let owned = before.into_iter().filter(|prefix| self.owner(*prefix).as_ref() == Some(&name));
        let released: Vec<Prefix> = owned.collect();
        self.owners.extend(released.into_iter().map(|prefix| (prefix, None)));
        if !subscriber.sessions.have_addresses() {
            subscriber.sessions = Sessions::default();
        }
        self.owners.extend(subscriber.prefixes().into_iter().map(|prefix| (prefix, Some(name.clone()))));
        let is_there = !subscriber.sessions.is_empty() || subscriber.is_given();
        self.changed.insert(name, is_there.then_some(subscriber));
    }

    fn holder(&self, session: &Session) -> Option<String> {
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
    use super::*;
    use crate::config::UserParams;

    /// Subscribers of a node before a change, and the recorded ends of sessions.
    #[derive(Default)]
    struct Kept(BTreeMap<String, Subscriber>, Ended);

    impl Before for Kept {
        fn subscriber(&self, name: &str) -> Option<&Subscriber> {
            self.0.get(name)
        }
        fn subscribers(&self) -> impl Iterator<Item = &Subscriber> {
            self.0.values()
        }
        fn holder(&self, session: &Session) -> Option<&str> {
            let mut all = self.0.values();
            all.find(|subscriber| subscriber.sessions.get(session).is_some()).map(|subscriber| subscriber.name.as_str())
        }
        fn owner(&self, prefix: Prefix) -> Option<&str> {
            let mut all = self.0.values();
            all.find(|subscriber| subscriber.prefixes().contains(&prefix)).map(|subscriber| subscriber.name.as_str())
        }
        fn check(&self, subscriber: &Subscriber) -> Result<(), ChangeError> {
            subscriber
                .user(&UserParams::default())
                .map(drop)
                .map_err(|source| ChangeError::User { name: subscriber.name.clone(), source })
        }
    }

    type Has = Vec<(String, Vec<String>)>;

    impl Kept {
        fn after(&mut self, events: &[Event]) -> Has {
            let judged = judge(self, &self.1, &events.iter().collect::<Vec<_>>());
            self.1.extend(judged.ends);
            for change in judged.changes {
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

    /// Returns a time this number of seconds after the first event of a test, by the server's clock.
    fn at(second: u64) -> Moment {
        Moment::new(1_800_001_000, 0, Some(1_800_000_000 + second))
    }

    /// Returns the same time for a record that has no timestamp of the server, only its time of arrival.
    fn arrived_at(second: u64) -> Moment {
        Moment::new(1_800_000_000 + second, 0, None)
    }

    fn down(id: &str, when: Moment) -> Event {
        Event::Down(session(id), when)
    }

    fn when_at(event: &Event, when: Moment) -> Event {
        match event {
            Event::Up(up) => Event::Up(Up { when, ..up.clone() }),
            _ => panic!("{event:?}"),
        }
    }

    fn up(is_start: bool, user: &str, id: &str, addresses: &[(Kind, &str)]) -> Event {
        let user = Some(user).filter(|user| !user.is_empty()).map(String::from);
        let mut all = Addresses::default();
        addresses.iter().for_each(|(kind, text)| all.push(*kind, text.parse().unwrap()));
        Event::Up(Up { session: session(id), user, addresses: all, is_start, when: at(0) })
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
        // Nothing is written.
        let same = when_at(&up(false, "anna", "s1", &[V4]), at(9));
        assert_eq!(judge(&kept, &Ended::default(), &[&same]).changes, []);
        assert_eq!(kept.after(&[up(false, "anna", "s1", &[])]), all);
        // The session also keeps its name.
        assert_eq!(kept.after(&[up(false, "", "s1", &[])]), all);
        // The new addresses replace those of the same attribute.
        let moved = kept.after(&[up(false, "anna", "s1", &[(Kind::FramedIpAddress, "10.0.0.2")])]);
        assert_eq!(moved, has(&[("anna", &["10.0.0.2/32", "2001:db8::/56"])]));
        // The session now has another name, and keeps its addresses.
        let renamed = kept.after(&[up(false, "anna@example", "s1", &[])]);
        assert_eq!(renamed, has(&[("anna@example", &["10.0.0.2/32", "2001:db8::/56"])]));
        // A start resets the session.
        let again = [[V6].as_slice(), &[]].map(|addresses| up(true, "anna", "s1", addresses));
        assert_eq!(kept.after(&[when_at(&again[0], at(1))]), has(&[("anna", &["2001:db8::/56"])]));
        assert_eq!(kept.after(&[when_at(&again[1], at(2))]), has(&[]));
    }

    #[test]
    fn an_address_of_two_sessions_goes_to_the_newer_one_and_stays_with_the_one_that_is_left() {
        // The events are passed one by one, and all at once.
        let events =
            [start("anna", "s1", "10.0.0.1"), start("anna", "s2", "10.0.0.1"), start("bert", "s2", "10.0.0.1")];
        let mut kept = Kept::default();
        for event in &events {
            kept.after(std::slice::from_ref(event));
        }
        assert_eq!(kept.after(&[]), has(&[("bert", &["10.0.0.1/32"])]));
        assert_eq!(Kept::default().after(&events), has(&[("bert", &["10.0.0.1/32"])]));
        // One of two sessions with an address ends, and another user gets the address.
        let anna = has(&[("anna", &["10.0.0.1/32"])]);
        let mut kept = Kept::default();
        assert_eq!(kept.after(&[events[0].clone(), events[1].clone(), down("s2", at(1))]), anna);
        let both = [down("s9", at(1)), start("carl", "s3", "10.0.0.1"), down("s1", at(1))];
        assert_eq!(kept.after(&both), has(&[("carl", &["10.0.0.1/32"])]));
    }

    fn with_keys(name: &str, keys: serde_json::Value) -> Kept {
        let user = keys.as_object().unwrap().clone();
        Kept(
            BTreeMap::from([(name.into(), Subscriber { name: name.into(), user, ..Subscriber::default() })]),
            Ended::default(),
        )
    }

    #[test]
    fn what_an_operator_gave_is_not_taken_and_the_request_alone_is_refused() {
        let mut kept = with_keys("fixed", serde_json::json!({"prefix": ["10.0.0.1"]}));
        let events = [
            start("carl", "s1", "10.0.0.2"),
            up(true, "anna", "s2", &[V6, V4]),
            up(true, "default", "s3", &[V6]),
            start("dora", "s4", "10.0.0.4"),
        ];
        let judged = judge(&kept, &Ended::default(), &events.iter().collect::<Vec<_>>());
        let refused: Vec<String> = judged.refused.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(refused[0], "user \"anna\": 10.0.0.1/32 belongs to \"fixed\" already");
        assert!(refused[1].contains("name: \"default\""), "{refused:?}");
        assert_eq!(judged.refused.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true, false]);
        let all = has(&[("carl", &["10.0.0.2/32"]), ("dora", &["10.0.0.4/32"]), ("fixed", &["10.0.0.1/32"])]);
        assert_eq!(kept.after(&events), all);
    }

    #[test]
    fn keys_wait_for_a_session_and_outlive_it() {
        let mut kept = with_keys("anna", serde_json::json!({"reference_rate": "20 kbit/s"}));
        assert_eq!(kept.after(&[start("anna", "s1", "10.0.0.1")]), has(&[("anna", &["10.0.0.1/32"])]));
        assert_eq!(kept.after(&[down("s1", at(1))]), has(&[("anna", &[])]));
        assert_eq!(kept.0["anna"].user["reference_rate"], "20 kbit/s");
        kept.after(&[start("anna", "s2", "10.0.0.1"), start("bert", "s3", "10.0.0.3")]);
        let off = Event::AllDown { server: "bng".into(), when: at(2) };
        assert_eq!(kept.after(&[off]), has(&[("anna", &[])]));
    }

    #[test]
    fn accounting_off_ends_the_sessions_of_one_server() {
        let of = |server: &str, id: &str, user: &str, address: &str| {
            let Event::Up(up) = start(user, id, address) else { unreachable!() };
            Event::Up(Up { session: Session { server: server.into(), id: id.into() }, ..up })
        };
        let mut kept = Kept::default();
        kept.after(&[of("bng 1", "x", "anna", "10.0.0.1"), of("bng", "1 x", "bert", "10.0.0.2")]);
        let off = |server: &str, second| Event::AllDown { server: server.into(), when: at(second) };
        assert_eq!(kept.after(&[off("bng", 1)]), has(&[("anna", &["10.0.0.1/32"])]));
        // Accounting-Off at 1 s does not end a session that started at 2 s, even if the record is repeated after that
        // start.
        kept.after(&[when_at(&of("bng", "2", "bert", "10.0.0.2"), at(2))]);
        assert_eq!(kept.after(&[off("bng", 1)]).len(), 2);
        assert_eq!(kept.after(&[off("bng", 3), off("bng 1", 3)]), has(&[]));
        // Without a timestamp, the reported delay gives the time.
        kept.after(&[when_at(&of("nas", "1", "carl", "10.0.0.3"), arrived_at(10))]);
        let late = |delay| Event::AllDown { server: "nas".into(), when: Moment::new(1_800_000_020, delay, None) };
        assert_eq!(kept.after(&[late(15)]), has(&[("carl", &["10.0.0.3/32"])]));
        assert_eq!(kept.after(&[late(5)]), has(&[]));
    }

    #[test]
    fn a_start_that_arrives_after_its_stop_starts_nothing() {
        let begin = start("anna", "s1", "10.0.0.1");
        for (start_at, stop_at, again, is_late) in [
            (at(0), at(5), at(0), true),
            (at(0), at(5), at(5), true),
            // The server reused the identifier for a new session.
            (at(0), at(5), at(6), false),
            // Without a timestamp the record is treated as a retransmission, even if it reports its delay.
            (arrived_at(0), arrived_at(5), arrived_at(9), true),
            (arrived_at(0), arrived_at(5), Moment::new(1_800_002_000, 2000, None), true),
            (arrived_at(0), arrived_at(5), arrived_at(306), false),
        ] {
            let expected = if is_late { has(&[]) } else { has(&[("anna", &["10.0.0.1/32"])]) };
            let events = [when_at(&begin, start_at), down("s1", stop_at), when_at(&begin, again)];
            let mut kept = Kept::default();
            events.iter().take(2).for_each(|event| drop(kept.after(std::slice::from_ref(event))));
            assert_eq!(kept.after(&events[2..]), expected, "{again:?}");
            // The result is the same if all events are passed at once, and if the first start never arrives.
            assert_eq!(Kept::default().after(&events), expected, "{again:?}");
            assert_eq!(Kept::default().after(&events[1..]), expected, "{again:?}");
        }
        // Accounting-On ended the session. The server may reuse the session's identifier, but a record from before
        // Accounting-On is rejected.
        let on = |when| Event::AllDown { server: "bng".into(), when };
        let mut kept = Kept::default();
        assert_eq!(kept.after(&[begin.clone(), on(at(5)), begin.clone()]), has(&[]));
        assert_eq!(kept.after(&[when_at(&begin, at(6))]).len(), 1);
        let begin = when_at(&begin, arrived_at(1001));
        assert_eq!(kept.after(&[begin.clone(), on(arrived_at(1002)), when_at(&begin, arrived_at(1003))]).len(), 1);
    }

    #[test]
    fn an_older_record_takes_no_address_and_adds_what_is_missing_only() {
        let mut kept = Kept::default();
        let old = up(true, "anna", "s1", &[V4, V6]);
        let all = has(&[("bert", &["10.0.0.1/32"])]);
        assert_eq!(kept.after(&[when_at(&start("bert", "s2", "10.0.0.1"), at(5))]), all);
        // One of the two addresses has a current owner.
        let both = has(&[("anna", &["2001:db8::/56"]), ("bert", &["10.0.0.1/32"])]);
        assert_eq!(kept.after(std::slice::from_ref(&old)), both);
        assert_eq!(kept.after(&[when_at(&up(false, "anna", "s1", &[V4]), at(4))]), both);
        assert_eq!(kept.after(&[when_at(&up(false, "anna", "s1", &[V4]), at(6))])[1..], has(&[]));
        // An interim update arrived before the start. The start supplies the name and missing values.
        let mut kept = Kept::default();
        assert_eq!(kept.after(&[when_at(&up(false, "", "s1", &[V4]), at(3))]), has(&[("bng s1", &["10.0.0.1/32"])]));
        let started = when_at(&up(true, "anna", "s1", &[(V4.0, "10.0.0.9"), V6]), at(0));
        let all = has(&[("anna", &["10.0.0.1/32", "2001:db8::/56"])]);
        assert_eq!(kept.after(std::slice::from_ref(&started)), all);
        // Repeated records change nothing.
        assert_eq!(kept.after(&[started, when_at(&up(false, "old", "s1", &[(V4.0, "10.0.0.8")]), at(2))]), all);
    }
}
