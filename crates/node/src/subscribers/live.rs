//! Changes subscribers in a running node: checks the changes, writes them into the maps, and stores them.

use super::session::Session;
use super::store::{self, Before, Locked, Store, StoreError, Subscribers};
use super::{Change, ChangeError, LoadSubscribersError, Subscriber, load, sessions, unfinished};
use crate::config::{NodeConfig, Prefix, User, Who};
use crate::kernel::{KernelError, UserTable};
use crate::records::UserKey;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Result of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Number of stored changes.
    pub changes: usize,
    /// True if a running node has the changes. Otherwise the next `attach` loads them.
    pub is_live: bool,
}

/// A subscriber in the running node.
#[derive(Clone, Debug)]
struct Known {
    who: Vec<Who>,
    /// Key of the subscriber's meter.
    key: Option<UserKey>,
}

/// Changed subscribers by name; `None` for removed ones.
type LastOfEach<'a> = BTreeMap<&'a str, Option<&'a Subscriber>>;

/// The subscribers of a node, for changes.
#[derive(Debug)]
pub struct Live {
    config: NodeConfig,
    store: Store,
    /// Maps of the node, if it is attached.
    table: Option<UserTable>,
    /// Generation of the maps that `table` reflects.
    generation: u64,
    known: HashMap<String, Known>,
    owners: HashMap<Who, String>,
    sessions: HashMap<Session, String>,
    configured: HashSet<String>,
    /// True if a change failed half-way, so all maps must be read again.
    is_stale: bool,
    /// True if the maps may lack entries of the file because refilling them failed.
    is_unfinished: bool,
    /// Warnings about skipped subscribers, not reported yet.
    problems: Vec<String>,
}

impl Live {
    /// Opens the subscribers of the node with the configuration at `path`.
    ///
    /// # Errors
    /// The configuration or the file of subscribers cannot be read, or a system call fails.
    pub fn open(path: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let config = NodeConfig::load(path).map_err(LoadSubscribersError::from)?;
        let store = Store::open(&config.state_folder())?;
        let configured = config.users.iter().map(|user| user.name.clone()).collect();
        let mut live = Self {
            config,
            store,
            table: None,
            generation: 0,
            known: HashMap::new(),
            owners: HashMap::new(),
            sessions: HashMap::new(),
            configured,
            is_stale: false,
            is_unfinished: false,
            problems: Vec::new(),
        };
        live.read()?;
        Ok(live)
    }

    /// Current subscribers.
    #[must_use]
    pub fn subscribers(&self) -> &Subscribers {
        self.store.subscribers()
    }

    /// Problems found in the file since the last call, one per line.
    pub fn take_problems(&mut self) -> Vec<String> {
        let mut problems = self.store.take_problems();
        problems.append(&mut self.problems);
        problems
    }

    /// Reads the maps, and the owners of sessions.
    fn read(&mut self) -> Result<(), ChangeError> {
        self.generation = store::generation(&self.config.state_folder());
        self.table = UserTable::open(Path::new(&self.config.node.pin_path))?;
        (self.known, self.owners) = (HashMap::new(), HashMap::new());
        for user in &self.config.users {
            self.owners.extend(user.who.iter().map(|who| (*who, user.name.clone())));
        }
        let (users, unusable) = load::usable(&self.config, self.store.subscribers());
        let folder = self.config.state_folder();
        let problems = unusable.into_iter().map(|problem| format!("{}: {problem}", folder.display()));
        let new: Vec<String> = problems.filter(|problem| !self.problems.contains(problem)).collect();
        self.problems.extend(new);
        users.iter().for_each(|user| self.learn(user));
        let subscribers = self.store.subscribers().values();
        self.sessions = subscribers.flat_map(sessions_of).collect();
        self.is_stale = false;
        Ok(())
    }

    fn learn(&mut self, user: &User) {
        let key = self.table.as_ref().map(|table| table.key_of(user));
        self.owners.extend(user.who.iter().map(|who| (*who, user.name.clone())));
        self.known.insert(user.name.clone(), Known { who: user.who.clone(), key });
    }

    /// Applies the changes that `make` returns for the current subscribers, all or none. On return, the changes are in
    /// the maps of a running node and stored on disk.
    ///
    /// # Errors
    /// A change is impossible, or writing to disk fails: then file and maps are unchanged. If the kernel rejects the
    /// change, file and maps are restored; meters of re-added subscribers restart.
    pub fn change(
        &mut self,
        make: impl FnOnce(&Self) -> Result<Vec<Change>, ChangeError>,
    ) -> Result<Changed, ChangeError> {
        self.change_after(|_, _| Ok(()), make)
    }

    /// Like [`Self::change`], for changes of the whole list. Makes a backup of the list first.
    ///
    /// # Errors
    /// See [`Self::change`]. If the backup fails, the list is unchanged.
    pub fn replace(
        &mut self,
        make: impl FnOnce(&Self) -> Result<Vec<Change>, ChangeError>,
    ) -> Result<Changed, ChangeError> {
        self.change_after(|store, lock| store.back_up(lock).map_err(ChangeError::NotKept), make)
    }

    fn change_after(
        &mut self,
        prepare: impl FnOnce(&Store, &Locked) -> Result<(), ChangeError>,
        make: impl FnOnce(&Self) -> Result<Vec<Change>, ChangeError>,
    ) -> Result<Changed, ChangeError> {
        let lock = self.store.lock()?;
        self.catch_up(&lock)?;
        let changes = make(self)?;
        let (removed, users) = self.check(&changes)?;
        if changes.is_empty() && !self.is_unfinished {
            return Ok(Changed { changes: 0, is_live: self.table.is_some() });
        }
        let touched: HashSet<&str> = changes.iter().map(Change::name).collect();
        let ended = self.sessions_of_all(&touched);
        if !changes.is_empty() {
            prepare(&self.store, &lock)?;
        }
        // Writes the file first: if this fails, the maps must not have the change.
        let before = self.keep(&changes, &lock)?;
        self.is_stale = true;
        if let Err(refused) = self.write(&removed, &users) {
            return Err(self.undo(refused, before, &lock));
        }
        ended.iter().for_each(|(session, _)| drop(self.sessions.remove(session)));
        self.sessions.extend(self.sessions_of_all(&touched));
        for name in removed.iter().copied().chain(users.iter().map(|user| user.name.as_str())) {
            for who in self.known.remove(name).into_iter().flat_map(|known| known.who) {
                self.owners.remove(&who);
            }
        }
        users.iter().for_each(|user| self.learn(user));
        self.is_stale = false;
        self.store.tidy(&lock);
        Ok(Changed { changes: changes.len(), is_live: self.table.is_some() })
    }

    /// Reads changes of other processes, and completes unfinished changes.
    fn catch_up(&mut self, lock: &Locked) -> Result<(), ChangeError> {
        let folder = self.config.state_folder();
        self.is_unfinished = unfinished::is_there(&folder) && self.fill().is_err();
        // A process that filled or recreated the maps may have moved users to other slots.
        let is_attached = crate::kernel::is_attached(&self.config);
        let is_current = self.table.is_some() == is_attached && self.generation == store::generation(&folder);
        if lock.was_changed || !is_current || self.is_stale || self.is_unfinished {
            self.read()?;
        }
        Ok(())
    }

    /// Writes the changes into the file. A marker file exists until the maps also have the changes.
    fn keep(&mut self, changes: &[Change], lock: &Locked) -> Result<Before, ChangeError> {
        let folder = self.config.state_folder();
        if self.table.is_some() {
            unfinished::begin(&folder).map_err(ChangeError::NotKept)?;
        }
        self.store.append(changes, lock).map_err(|error| match error {
            // The content of the file is unknown, so the maps must be filled from it again.
            StoreError::Partly { .. } => error.into(),
            StoreError::System { .. } => {
                if !self.is_unfinished {
                    // If this fails, the marker file stays, which only makes the next change slower.
                    let _ = unfinished::finish(&folder);
                }
                ChangeError::NotKept(error)
            }
        })
    }

    /// Writes the changes into the maps. If the maps may lack other entries, refills them from the file instead.
    fn write(&mut self, removed: &[&str], users: &[User]) -> Result<(), ChangeError> {
        if self.is_unfinished {
            return self.fill();
        }
        if let Some(table) = &mut self.table {
            apply(table, &self.known, removed, users, &self.config)?;
            // If this fails, the marker file stays, which only makes the next change slower.
            let _ = unfinished::finish(&self.config.state_folder());
        }
        Ok(())
    }

    /// Sessions of these subscribers, with their owners.
    fn sessions_of_all(&self, names: &HashSet<&str>) -> Vec<(Session, String)> {
        let subscribers = names.iter().filter_map(|name| self.subscribers().get(*name));
        subscribers.flat_map(sessions_of).collect()
    }

    /// Reverts a change that the kernel rejected half-way, in the file and in the maps. Returns the error to report.
    /// Meters of removed subscribers restart. If reverting fails, the marker file stays, and the next change refills
    /// the maps.
    fn undo(&mut self, refused: ChangeError, before: Before, lock: &Locked) -> ChangeError {
        let undone = self.store.take_back(before, lock).map_err(ChangeError::Store).and_then(|()| self.fill());
        match undone {
            Ok(()) => refused,
            Err(error) => {
                self.is_stale = true;
                ChangeError::Half { refused: refused.into(), problem: error.to_string() }
            }
        }
    }

    /// Makes the maps equal to the file, regardless of their content.
    fn fill(&mut self) -> Result<(), ChangeError> {
        self.read()?;
        let folder = self.config.state_folder();
        if let Some(table) = &mut self.table {
            let mut config = self.config.clone();
            config.users.extend(load::usable(&self.config, self.store.subscribers()).0);
            table.fill(&config)?;
            store::next_generation(&folder)?;
            self.read()?;
        }
        Ok(unfinished::finish(&folder)?)
    }

    /// Checks changes as far as possible without applying them.
    ///
    /// # Errors
    /// One of the changes is impossible.
    pub fn try_out(&self, changes: &[Change]) -> Result<(), ChangeError> {
        self.check(changes).map(drop)
    }

    /// Names of subscribers without a meter after the changes, and users that are new or changed.
    fn check<'a>(&self, changes: &'a [Change]) -> Result<(Vec<&'a str>, Vec<User>), ChangeError> {
        let last = self.last_of_each(changes)?;
        let released: HashSet<&Who> =
            last.keys().filter_map(|name| self.known.get(*name)).flat_map(|known| &known.who).collect();
        let mut claimed: HashMap<Who, String> = HashMap::new();
        let (mut removed, mut users) = (Vec::new(), Vec::new());
        for (name, subscriber) in last {
            let user = subscriber.map_or(Ok(None), |subscriber| self.user_of(subscriber));
            let user = user.and_then(|user| {
                let who = user.iter().flat_map(|user| &user.who);
                let taken = who.filter_map(|who| {
                    let owner = self.owners.get(who).filter(|_| !released.contains(who)).or_else(|| claimed.get(who));
                    owner.filter(|other| *other != name).map(|other| (who, other))
                });
                match taken.into_iter().next() {
                    Some((who, other)) => {
                        let (name, who, other) = (name.into(), who.to_string(), other.clone());
                        Err(ChangeError::Taken { name, who, other })
                    }
                    None => Ok(user),
                }
            });
            match user {
                Ok(Some(user)) => {
                    claimed.extend(user.who.iter().map(|who| (*who, user.name.clone())));
                    users.push(user);
                }
                Ok(None) => removed.push(name),
                // The subscriber had no meter and needs none. A session can always end.
                Err(_) if subscriber.is_some_and(|subscriber| self.only_loses_sessions(subscriber)) => {}
                Err(error) => return Err(error),
            }
        }
        self.check_room(&removed, &users)?;
        Ok((removed, users))
    }

    /// Returns the user of a subscriber. Checks the user, but not against other subscribers.
    fn user_of(&self, subscriber: &Subscriber) -> Result<Option<User>, ChangeError> {
        let name = || subscriber.name.clone();
        if self.configured.contains(&subscriber.name) {
            return Err(ChangeError::Configured(name()));
        }
        let user = subscriber.user(&self.config.default_user);
        let user = user.map_err(|source| ChangeError::User { name: name(), source })?;
        match &user {
            Some(user) if user.who.iter().any(|who| matches!(who, Who::Mark(_))) => Err(ChangeError::Mark(name())),
            _ => Ok(user),
        }
    }

    /// Returns true if the subscriber has no entry in the maps, and the change only removes sessions.
    fn only_loses_sessions(&self, after: &Subscriber) -> bool {
        let before = self.subscribers().get(&after.name).filter(|before| !self.known.contains_key(&before.name));
        before.is_some_and(|before| {
            let prefixes = before.prefixes();
            before.user == after.user && after.prefixes().iter().all(|prefix| prefixes.contains(prefix))
        })
    }

    /// Returns the final state of each changed subscriber, by name: a later change replaces an earlier one.
    fn last_of_each<'a>(&self, changes: &'a [Change]) -> Result<LastOfEach<'a>, ChangeError> {
        let mut last = LastOfEach::new();
        for change in changes {
            let name = change.name();
            let subscriber = match change {
                Change::Put(subscriber) => Some(subscriber),
                Change::Remove(_) => None,
            };
            let was_there = match last.insert(name, subscriber) {
                Some(before) => before.is_some(),
                None => self.subscribers().contains_key(name),
            };
            if subscriber.is_none() && !was_there {
                return Err(ChangeError::Nobody(name.into()));
            }
        }
        Ok(last)
    }

    /// Checks the limit of the configuration. The next `attach` checks whether the maps have enough slots.
    fn check_room(&self, removed: &[&str], users: &[User]) -> Result<(), ChangeError> {
        let new = users.iter().filter(|user| !self.known.contains_key(&user.name)).count();
        let gone = removed.iter().filter(|name| self.known.contains_key(**name)).count();
        let users = self.config.users.len() + self.known.len() + new - gone;
        match self.config.users_table.configured {
            Some(places) if new > gone && users > places as usize => Err(ChangeError::Asked(format!(
                "users_table.configured: {places} is too few, there would be {users} users"
            ))),
            _ => Ok(()),
        }
    }
}

impl sessions::Before for Live {
    fn subscriber(&self, name: &str) -> Option<&Subscriber> {
        self.subscribers().get(name)
    }
    fn subscribers(&self) -> impl Iterator<Item = &Subscriber> {
        self.store.subscribers().values()
    }
    fn holder(&self, session: &Session) -> Option<&str> {
        self.sessions.get(session).map(String::as_str)
    }
    fn owner(&self, prefix: Prefix) -> Option<&str> {
        self.owners.get(&Who::Prefix(prefix)).map(String::as_str)
    }
    fn check(&self, subscriber: &Subscriber) -> Result<(), ChangeError> {
        self.user_of(subscriber).map(drop)
    }
}

fn sessions_of(subscriber: &Subscriber) -> impl Iterator<Item = (Session, String)> {
    subscriber.sessions.keys().map(|session| (session, subscriber.name.clone()))
}

/// Writes changes into the maps. Removals come first, so that their identifiers can be reused.
fn apply(
    table: &mut UserTable,
    known: &HashMap<String, Known>,
    removed: &[&str],
    users: &[User],
    config: &NodeConfig,
) -> Result<(), KernelError> {
    let key = |name: &str| known.get(name).and_then(|known| known.key);
    let mut gone: Vec<UserKey> = removed.iter().filter_map(|name| key(name)).collect();
    for user in users {
        let Some(old) = known.get(&user.name) else { continue };
        let Some(key) = old.key.filter(|key| !user.who.iter().any(|who| UserKey::of(who) == *key)) else { continue };
        match old.who.iter().find(|who| user.who.contains(who)) {
            Some(who) => table.rename(&key, UserKey::of(who))?,
            // The subscriber has none of its old identifiers, so its meter restarts.
            None => gone.push(key),
        }
    }
    table.remove(&gone)?;
    table.put(users, config)
}
