//! The table of users: slots of meters, and the rules that map packets to slots.
//!
//! A user keeps its slot as long as it is configured; all its identifiers map to this slot. Only differences are
//! written, in few system calls: first slots, then rules. Unused entries are removed at the end. So every rule always
//! has a meter.

use super::KernelError;
use super::batches::{read_all, write_all};
use super::programs::{Programs, ZERO, is_there, open_pinned, read};
use crate::config::{MarkMatch, NodeConfig, User, UserIs, Who};
use crate::records::{Kind, MarkRuleRecord, NodeRecord, NumberKey, Places, PrefixKey, RuleRecord, UserKey, UserState};
use fairlane_schemes::fixed::OutOfRange;
use libbpf_rs::{MapCore, MapHandle};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use zerocopy::IntoBytes;

/// Location of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RuleKey {
    Prefix(PrefixKey),
    Number(NumberKey),
}

/// The maps of a node's users, and their content.
#[derive(Debug)]
pub struct UserTable {
    users: MapHandle,
    rules: MapHandle,
    number_rules: MapHandle,
    mark_rules: MapHandle,
    config: MapHandle,
    places: Places,
    taken: HashMap<UserKey, u32>,
    free: Vec<u32>,
    known: HashMap<RuleKey, RuleRecord>,
}

impl UserTable {
    /// Opens the table attached with pins in `folder`; `None` if nothing is attached.
    ///
    /// # Errors
    /// A system call fails, or the maps are of another version.
    pub fn open(folder: &Path) -> Result<Option<Self>, KernelError> {
        if !is_there(folder) {
            return Ok(None);
        }
        let mut table = Self::of_maps(|name| open_pinned(folder, name))?;
        table.read()?;
        Ok(Some(table))
    }

    /// Creates the table of users of loaded programs. `is_new` is true if the table has never had users.
    pub(super) fn of(programs: &Programs, is_new: bool) -> Result<Self, KernelError> {
        let mut table = Self::of_maps(|name| programs.handle(name))?;
        if is_new {
            table.free = table.places.of_users().collect();
            table.free.reverse();
        } else {
            table.read()?;
        }
        Ok(table)
    }

    fn of_maps(map: impl Fn(&str) -> Result<MapHandle, KernelError>) -> Result<Self, KernelError> {
        let users = map("users")?;
        let places = Places::of_table(users.max_entries(), map("addresses")?.max_entries());
        Ok(Self {
            users,
            rules: map("rules")?,
            number_rules: map("number_rules")?,
            mark_rules: map("mark_rules")?,
            config: map("config")?,
            places,
            taken: HashMap::new(),
            free: Vec::new(),
            known: HashMap::new(),
        })
    }

    fn read(&mut self) -> Result<(), KernelError> {
        let first = UserKey::fixed().len() as u32 * 2;
        read_all(&self.users, "users", |place: u32, user: UserState| {
            if place >= self.places.first_address() {
                return ControlFlow::Break(());
            }
            if place >= first && place.is_multiple_of(2) {
                match user.key.kind() {
                    Kind::Free => self.free.push(place),
                    _ => drop(self.taken.insert(user.key, place)),
                }
            }
            ControlFlow::Continue(())
        })?;
        // Slots are allocated from the end of the list, so the lowest slot must be last.
        self.free.reverse();
        read_all(&self.rules, "rules", |key, rule| {
            self.known.insert(RuleKey::Prefix(key), rule);
            ControlFlow::Continue(())
        })?;
        read_all(&self.number_rules, "number_rules", |key, rule| {
            self.known.insert(RuleKey::Number(key), rule);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Maximum number of configured users, and their current number.
    #[must_use]
    pub fn room(&self) -> (u32, usize) {
        (self.places.configured, self.taken.len())
    }

    /// Makes the table contain exactly the users of `config`.
    ///
    /// # Errors
    /// There are not enough slots, a parameter exceeds the integer arithmetic, or a system call fails.
    pub fn fill(&mut self, config: &NodeConfig) -> Result<(), KernelError> {
        self.hand_on(&config.users)?;
        let gone = self.absent(&config.users);
        let kept = self.taken.len() - gone.len();
        // Removed users stay until the new users are written, unless their slots are needed.
        let (first, last) =
            if config.users.len() - kept > self.free.len() { (&gone[..], &[][..]) } else { (&[][..], &gone[..]) };
        self.remove(first)?;
        self.put(&config.users, config)?;
        self.write_marks(config)?;
        self.remove(last)
    }

    fn absent(&self, users: &[User]) -> Vec<UserKey> {
        if self.taken.is_empty() {
            return Vec::new();
        }
        let wanted: HashSet<UserKey> = users.iter().map(|user| self.key_of(user)).collect();
        self.taken.keys().filter(|key| !wanted.contains(key)).copied().collect()
    }

    /// Key of a user in the table: the identifier that already is a key, otherwise the user's first identifier.
    #[must_use]
    pub fn key_of(&self, user: &User) -> UserKey {
        let mut keys = user.who.iter().map(UserKey::of);
        keys.find(|key| self.taken.contains_key(key)).unwrap_or_else(|| UserKey::of(&user.who[0]))
    }

    /// Changes the keys of meters whose users lost the identifier that was the key, but keep another one for the same
    /// slot. A user that drops an address, or ends one of two sessions, must not restart its meter.
    fn hand_on(&mut self, users: &[User]) -> Result<(), KernelError> {
        if self.taken.is_empty() {
            return Ok(());
        }
        let mut heirs: Vec<(u32, &User)> = Vec::new();
        for user in users.iter().filter(|user| !self.taken.contains_key(&self.key_of(user))) {
            let mut rules = user.who.iter().filter_map(|who| self.known.get(&RuleKey::of(who)?));
            heirs.extend(rules.next().map(|rule| (rule.place, user)));
        }
        if heirs.is_empty() {
            return Ok(());
        }
        let mut holders: HashMap<u32, UserKey> = self.taken.iter().map(|(key, place)| (*place, *key)).collect();
        let wanted: HashSet<UserKey> = users.iter().map(|user| self.key_of(user)).collect();
        holders.retain(|_, key| !wanted.contains(key));
        for (place, user) in heirs {
            // If there are several candidates, the first gets the meter.
            let Some(old) = holders.remove(&place) else { continue };
            self.rename(&old, UserKey::of(&user.who[0]))?;
        }
        Ok(())
    }

    /// Changes the key of a user, which keeps its meters.
    ///
    /// # Errors
    /// A system call fails.
    pub fn rename(&mut self, old: &UserKey, new: UserKey) -> Result<(), KernelError> {
        let Some(place) = self.taken.remove(old) else { return Ok(()) };
        for (place, user_is) in [(place, UserIs::Source), (place + 1, UserIs::Destination)] {
            let Some(state) = read::<UserState>(&self.users, "users", place.as_bytes())? else { continue };
            write_all(&self.users, "users", &[(place, UserState { lock: 0, key: new.as_a(user_is), ..state })])?;
        }
        self.taken.insert(new, place);
        Ok(())
    }

    /// Adds or changes users. A user keeps its meter if one of its identifiers is the key of the meter, see
    /// [`Self::rename`]. Rules of users by mark are written only by [`Self::fill`].
    ///
    /// # Errors
    /// See [`Self::fill`].
    pub fn put(&mut self, users: &[User], config: &NodeConfig) -> Result<(), KernelError> {
        let (mut fresh, mut prefixes, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut stale = self.rules_of(users.iter().filter_map(|user| self.taken.get(&self.key_of(user)).copied()));
        let mut kinds = 0;
        for user in users {
            let place = self.place_for(user, &mut fresh)?;
            let rule = RuleRecord::new(place, &user.params, config).map_err(|error| unfit("users", &error))?;
            for who in &user.who {
                kinds |= 1 << who.kind() as u32;
                let Some(key) = RuleKey::of(who) else { continue };
                stale.remove(&key);
                if self.known.insert(key, rule) == Some(rule) {
                    continue;
                }
                match key {
                    RuleKey::Prefix(key) => prefixes.push((key, rule)),
                    RuleKey::Number(key) => numbers.push((key, rule)),
                }
            }
        }
        write_all(&self.users, "users", &fresh)?;
        write_all(&self.rules, "rules", &prefixes)?;
        write_all(&self.number_rules, "number_rules", &numbers)?;
        self.renew(kinds)?;
        self.forget(&stale)
    }

    /// Removes users. Their packets then match other rules.
    ///
    /// # Errors
    /// A system call fails.
    pub fn remove(&mut self, users: &[UserKey]) -> Result<(), KernelError> {
        let places: Vec<u32> = users.iter().filter_map(|key| self.taken.remove(key)).collect();
        let stale = self.rules_of(places.iter().copied());
        self.forget(&stale)?;
        let blank: Vec<_> = places
            .iter()
            .flat_map(|place| [(*place, UserState::default()), (*place + 1, UserState::default())])
            .collect();
        write_all(&self.users, "users", &blank)?;
        self.free.extend(places);
        Ok(())
    }

    /// Slot of a user. For a new user, appends the initial states of its two meters to `fresh`.
    fn place_for(&mut self, user: &User, fresh: &mut Vec<(u32, UserState)>) -> Result<u32, KernelError> {
        let key = self.key_of(user);
        if let Some(place) = self.taken.get(&key) {
            return Ok(*place);
        }
        let Some(place) = self.free.pop() else { return Err(KernelError::NoPlace(self.places.configured)) };
        self.taken.insert(key, place);
        for (place, user_is) in [(place, UserIs::Source), (place + 1, UserIs::Destination)] {
            fresh.push((place, UserState { key: key.as_a(user_is), ..UserState::default() }));
        }
        Ok(place)
    }

    /// Returns the rules that map to these slots.
    fn rules_of(&self, places: impl Iterator<Item = u32>) -> HashSet<RuleKey> {
        let places: HashSet<u32> = places.collect();
        if places.is_empty() {
            return HashSet::new();
        }
        self.known.iter().filter(|(_, rule)| places.contains(&rule.place)).map(|(key, _)| *key).collect()
    }

    fn forget(&mut self, stale: &HashSet<RuleKey>) -> Result<(), KernelError> {
        for key in stale {
            self.known.remove(key);
            let (map, bytes) = match key {
                RuleKey::Prefix(key) => (&self.rules, key.as_bytes()),
                RuleKey::Number(key) => (&self.number_rules, key.as_bytes()),
            };
            match map.delete(bytes) {
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Err(KernelError::refused("removing a rule")(error));
                }
                _ => {}
            }
        }
        if stale.is_empty() { Ok(()) } else { self.renew(0) }
    }

    /// Writes the rules that identify users by packet mark, in the order of the configuration.
    fn write_marks(&self, config: &NodeConfig) -> Result<(), KernelError> {
        let mut marks: Vec<(u32, MarkRuleRecord)> = Vec::new();
        for user in &config.users {
            for mark in user.who.iter().filter_map(Who::mark) {
                let place = self.taken.get(&self.key_of(user)).copied().unwrap_or_default();
                let rule = RuleRecord::new(place, &user.params, config).map_err(|error| unfit("users", &error))?;
                marks.push((marks.len() as u32, rule.of_mark(mark)));
            }
        }
        write_all(&self.mark_rules, "mark_rules", &marks)
    }

    /// Makes programs look up these kinds of identifiers from now on, and invalidates the programs' caches.
    fn renew(&self, kinds: u32) -> Result<(), KernelError> {
        let Some(mut node) = read::<NodeRecord>(&self.config, "config", ZERO.as_bytes())? else { return Ok(()) };
        node.kinds |= kinds;
        node.generation = node.next_generation();
        write_all(&self.config, "config", &[(ZERO, node)])
    }
}

impl RuleKey {
    fn of(who: &Who) -> Option<Self> {
        match who {
            Who::Prefix(prefix) => Some(Self::Prefix(PrefixKey::new(prefix))),
            Who::Mark(_) => None,
            other => Some(Self::Number(NumberKey::new(other))),
        }
    }
}

impl Who {
    fn mark(&self) -> Option<&MarkMatch> {
        if let Self::Mark(mark) = self { Some(mark) } else { None }
    }
}

/// Error for a parameter that exceeds the integer arithmetic. The configuration was already checked for this.
pub(super) fn unfit(key: &str, error: &OutOfRange) -> KernelError {
    KernelError::system(format!("{key}: {error}"))(std::io::ErrorKind::InvalidInput.into())
}
