//! The configuration of a node together with its subscribers.

use super::store::{self, StoreError, Subscribers};
use super::subscriber::Subscriber;
use crate::config::{LoadError, NodeConfig, TomlFile, User, UserParams, Who};
use fairlane_schemes::base::config::ConfigError;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Maximum number of skipped subscribers that a warning names.
const MOST_TOLD: usize = 5;

/// Loads the configuration at `path` together with the stored subscribers.
///
/// # Errors
/// The configuration or the subscribers cannot be read, or there are not enough slots for both.
pub fn load(path: &Path) -> Result<NodeConfig, LoadSubscribersError> {
    Ok(load_telling(path)?.0)
}

/// Like [`load`], but also returns warnings about skipped subscribers, one per line.
///
/// # Errors
/// See [`load`].
pub fn load_telling(path: &Path) -> Result<(NodeConfig, Vec<String>), LoadSubscribersError> {
    with_kept(NodeConfig::load(path)?, path)
}

/// Adds the stored subscribers to the configuration that was read from `path`. Skips invalid subscribers, because one
/// of them must not disable all others. Returns warnings about skipped subscribers, one per line.
///
/// # Errors
/// The subscribers cannot be read, or there are not enough slots for them.
pub fn with_kept(mut config: NodeConfig, path: &Path) -> Result<(NodeConfig, Vec<String>), LoadSubscribersError> {
    let state = config.state_folder();
    let (kept, mut problems) = store::read(&state)?;
    let (users, unusable) = usable(&config, &kept);
    problems.extend(unusable.into_iter().map(|problem| format!("{}: {problem}", state.display())));
    let with = |source| LoadSubscribersError::Together { path: path.into(), state: state.clone(), source };
    config.add_users(users.into_iter()).map_err(with)?;
    Ok((config, problems))
}

/// Returns the users of the stored subscribers, and one message for each subscriber that is skipped. A subscriber that
/// conflicts with the configuration is skipped.
pub(super) fn usable(config: &NodeConfig, kept: &Subscribers) -> (Vec<User>, Vec<String>) {
    let names: HashSet<&str> = config.users.iter().map(|user| user.name.as_str()).collect();
    let mut owners: HashMap<Who, &str> = HashMap::new();
    for user in &config.users {
        owners.extend(user.who.iter().map(|who| (*who, user.name.as_str())));
    }
    let (mut users, mut problems) = (Vec::with_capacity(kept.len()), Vec::new());
    for subscriber in kept.values() {
        match usable_user(subscriber, &config.default_user, &names, &owners) {
            Ok(None) => {}
            Ok(Some(user)) => {
                owners.extend(user.who.iter().map(|who| (*who, subscriber.name.as_str())));
                users.push(user);
            }
            Err(problem) => problems.push(format!("{problem}; the subscriber is left out")),
        }
    }
    if problems.len() > MOST_TOLD {
        let rest = problems.split_off(MOST_TOLD).len();
        problems.push(format!("{rest} more subscribers are left out"));
    }
    (users, problems)
}

fn usable_user(
    subscriber: &Subscriber,
    default: &UserParams,
    names: &HashSet<&str>,
    owners: &HashMap<Who, &str>,
) -> Result<Option<User>, String> {
    let user = subscriber.user(default).map_err(|error| error.to_string())?;
    if names.contains(subscriber.name.as_str()) {
        return Err(format!("user \"{}\": is in the configuration, which counts", subscriber.name));
    }
    let Some(user) = user else { return Ok(None) };
    if user.who.iter().any(|who| matches!(who, Who::Mark(_))) {
        return Err(format!("user \"{}\": mark: users by mark are in the configuration only", user.name));
    }
    let taken = user.who.iter().find_map(|who| Some((who, owners.get(who)?)));
    match taken {
        Some((who, other)) => Err(format!("user \"{}\": {who} belongs to \"{other}\" already", user.name)),
        None => Ok(Some(user)),
    }
}

/// Loads the configuration at `path` without users, for commands that do not need them.
///
/// # Errors
/// The configuration cannot be read.
pub fn load_without_users(path: &Path) -> Result<NodeConfig, LoadError> {
    let mut file = TomlFile::open(path)?;
    file.json.as_object_mut().and_then(|tables| tables.remove("users"));
    NodeConfig::read_all(&file.json).map_err(|errors| file.wrong(&errors))
}

/// Reason why the configuration or the subscribers cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadSubscribersError {
    /// Error of the configuration.
    #[error(transparent)]
    Config(#[from] LoadError),
    /// Error of the file of subscribers.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Configuration and subscribers are valid separately, but not together.
    #[error("{path} with the subscribers in {state}: {source}")]
    Together {
        /// Path of the configuration.
        path: PathBuf,
        /// Folder of subscribers.
        state: PathBuf,
        /// Problem.
        source: ConfigError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kept(list: &[(&str, &str)]) -> Subscribers {
        let of = |(name, prefix): &(&str, &str)| {
            let user = json!({"prefix": [prefix]}).as_object().unwrap().clone();
            ((*name).into(), Subscriber { name: (*name).into(), user, ..Subscriber::default() })
        };
        list.iter().map(of).collect()
    }

    #[test]
    fn one_that_is_wrong_is_left_out_and_told_and_the_others_are_there() {
        let config = json!({"users": [{"name": "fixed", "prefix": "10.0.0.9"}], "ports": [{"interface": "eth0"}]});
        let mut config = NodeConfig::read(&config).unwrap();
        let list = [
            ("a", "10.0.0.1"),
            ("b", "10.0.0.1"),
            ("c", "10.0.0.300"),
            ("d\u{1b}", "10.0.0.4"),
            ("e", "10.0.0.9"),
            ("fixed", "10.0.0.5"),
            ("g", "10.0.0.6"),
        ];
        let (users, problems) = usable(&config, &kept(&list));
        let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
        assert_eq!(names, ["a", "g"]);
        let expected = [
            "user \"b\": 10.0.0.1/32 belongs to \"a\" already",
            "user \"c\": prefix: \"10.0.0.300\" is not a prefix such as \"10.0.1.0/24\": it has the octet 300, which \
             must be from 0 to 255",
            "user \"d\\u001b\": name: \"d\\u001b\" has a control character, U+001B at place 2, which a name must not \
             have",
            "user \"e\": 10.0.0.9/32 belongs to \"fixed\" already",
            "user \"fixed\": is in the configuration, which counts",
        ];
        let expected: Vec<String> = expected.iter().map(|text| format!("{text}; the subscriber is left out")).collect();
        assert_eq!(problems, expected);
        let many: Vec<(String, &str)> = (0..20).map(|i| (i.to_string(), "10.0.0.1/8")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(name, prefix)| (name.as_str(), *prefix)).collect();
        config.users.clear();
        let (_, problems) = usable(&config, &kept(&many));
        assert_eq!((problems.len(), problems[5].as_str()), (6, "15 more subscribers are left out"));
    }
}
