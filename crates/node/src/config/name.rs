//! Names of users, as reports print them.

use fairlane_schemes::base::config::shortened;

/// Characters of the longest name.
const MOST: usize = 128;

/// What reports call meters that are no user's.
const RESERVED: [&str; 3] = ["default", "overflow", "unparsed"];

/// Checks the name of a user.
///
/// # Errors
/// What is wrong with it, behind the key.
pub fn check_name(name: &str) -> Result<(), String> {
    let shown = shown_name(name);
    if RESERVED.contains(&name) {
        return Err(format!("\"{shown}\" is what reports call a meter of nobody's, as are {}", RESERVED.join(", ")));
    }
    match name.chars().count() {
        1..=MOST if name.chars().any(is_control) => {
            Err(format!("\"{shown}\" has control characters, which a name must not have"))
        }
        1..=MOST => Ok(()),
        count => Err(format!("\"{shown}\" has {count} characters, it must have from 1 to {MOST}")),
    }
}

/// Those of ASCII and Latin 1, ends of lines, and those that turn the direction of what follows.
fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name that may be wrong, in one line that does nothing to a terminal.
#[must_use]
pub fn shown_name(name: &str) -> String {
    let escape = |character: char| match is_control(character) {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    shortened(&name.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_printable_and_nobody_elses() {
        for name in ["a", "Müller & Söhne #7", "anna@example.net", "10.0.0.0/24", &"ü".repeat(128)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let cases = [
            ("", "\"\" has 0 characters, it must have from 1 to 128"),
            ("a\u{1b}[2J", "\"a\\u{1b}[2J\" has control characters, which a name must not have"),
            ("a\nb", "\"a\\nb\" has control characters, which a name must not have"),
            ("a\u{202e}b", "\"a\\u{202e}b\" has control characters, which a name must not have"),
            ("default", "\"default\" is what reports call a meter of nobody's, as are default, overflow, unparsed"),
        ];
        for (name, problem) in cases {
            assert_eq!(check_name(name).unwrap_err(), problem);
        }
        let long = check_name(&"a".repeat(5000)).unwrap_err();
        // 39 characters, the mark of what is left out, 39 characters.
        assert_eq!(long.find(" has 5000 characters"), Some(2 * 39 + '…'.len_utf8() + 2), "{long}");
    }
}
