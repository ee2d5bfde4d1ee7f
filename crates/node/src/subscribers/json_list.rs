//! Lists of subscribers in the format of `user list --json`, also used for backups.

use super::Change;
use super::csv::List;
use super::store::problem_of;

/// Returns true if these bytes are a JSON list, not CSV.
#[must_use]
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{")
}

/// Parses a list. Ignores the sessions in the list, so the current sessions stay. Skips subscribers that have only
/// sessions.
///
/// # Errors
/// One line with line number and value.
pub fn parse(bytes: &[u8]) -> Result<List, String> {
    let (mut list, mut sessions_only) = (List::default(), 0);
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let subscriber = match serde_json::from_slice(line) {
            Ok(Change::Put(subscriber)) => Ok(subscriber),
            Ok(Change::Remove(_)) => Err("\"remove\" is no subscriber; `user apply` reads changes".into()),
            Err(error) => Err(problem_of(&error)),
        };
        let subscriber = subscriber.and_then(|subscriber| match list.lines.get(&subscriber.name) {
            Some(first) => Err(format!("name: \"{}\" is in line {first} already", subscriber.name)),
            None => Ok(subscriber),
        });
        if subscriber.as_ref().is_ok_and(|subscriber| !subscriber.is_given()) {
            sessions_only += 1;
            continue;
        }
        list.add(subscriber, number)?;
    }
    if sessions_only > 0 {
        list.notes.push(format!("{sessions_only} with sessions only passed over: sessions are those of RADIUS"));
    }
    Ok(list)
}
