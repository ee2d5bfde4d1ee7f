//! Renamed keys.

use fairlane_schemes::base::config::ConfigError;
use serde_json::Value as Json;

/// Rejects a configuration that uses a renamed key. `renamed` contains pairs of an old pattern, such as
/// `users[].class`, and the new name.
pub(crate) fn refuse_renamed(json: &Json, renamed: &[(&str, &str)]) -> Result<(), ConfigError> {
    match renamed.iter().find_map(|(old, new)| Some((fitting(json, old)?, new))) {
        Some((key, new)) => Err(ConfigError::new(key, format!("is now {new}"))),
        None => Ok(()),
    }
}

fn fitting(json: &Json, pattern: &str) -> Option<String> {
    let (head, rest) = pattern.split_once('.').unwrap_or((pattern, ""));
    let Some(tables) = head.strip_suffix("[]") else {
        let value = json.get(head)?;
        return if rest.is_empty() { Some(head.into()) } else { Some(format!("{head}.{}", fitting(value, rest)?)) };
    };
    let tables = json.get(tables)?.as_array()?.iter().enumerate();
    tables
        .into_iter()
        .find_map(|(i, table)| Some(format!("{}[{i}].{}", &head[..head.len() - 2], fitting(table, rest)?)))
}
