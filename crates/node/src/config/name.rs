//! Names of users in reports.

use fairlane_schemes::base::config::shortened;
use std::borrow::Cow;

/// Maximum length of a name in characters.
const MOST: usize = 128;

/// Names in reports for meters that belong to no user.
const RESERVED: [&str; 3] = ["default", "overflow", "unparsed"];

/// Checks the name of a user.
///
/// # Errors
/// The name is not allowed. The text of the error is to be printed after the key.
pub fn check_name(name: &str) -> Result<(), String> {
    let shown = shown_name(name);
    if RESERVED.contains(&name) {
        return Err(format!("\"{shown}\" is what reports call a meter of nobody's, as are {}", RESERVED.join(", ")));
    }
    let count = name.chars().count();
    if !(1..=MOST).contains(&count) {
        return Err(format!("\"{shown}\" has {count} characters, it must have from 1 to {MOST}"));
    }
    if let Some((before, character)) = name.chars().enumerate().find(|(_, character)| is_unseen(*character)) {
        let (kind, code) = (if character.is_control() { "a control" } else { "an invisible" }, u32::from(character));
        let place = before + 1;
        return Err(format!(
            "\"{shown}\" has {kind} character, U+{code:04X} at place {place}, which a name must not have"
        ));
    }
    if name.trim() != name {
        return Err(format!("\"{shown}\" begins or ends with a space, which a name must not"));
    }
    Ok(())
}

/// Returns true for control characters, line separators, and the invisible characters of Unicode's category Cf. With
/// such characters, two names could look the same but have different meters. Some of the characters reverse the
/// following text.
fn is_unseen(character: char) -> bool {
    let is_format = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    character.is_control() || is_format
}

/// Shortens and escapes a possibly invalid name for printing on one line.
#[must_use]
pub fn shown_name(name: &str) -> String {
    let shown = |character: char| escaped(character).unwrap_or_else(|| character.into());
    shortened(&name.chars().map(shown).collect::<String>())
}

/// JSON escape of an invisible character; `None` for printable ones.
#[must_use]
pub fn escaped(character: char) -> Option<String> {
    let units =
        |character: char| character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    is_unseen(character).then(|| units(character))
}

/// Escapes invisible characters in a line with names of users. JSON text stays equivalent.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_printable = |character: char| matches!(character, '\n' | '\t') || !is_unseen(character);
    if text.chars().all(is_printable) {
        return text.into();
    }
    let printed = |character: char| match character {
        '\n' | '\t' => character.into(),
        other => escaped(other).unwrap_or_else(|| other.into()),
    };
    text.chars().map(printed).collect::<String>().into()
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
            ("a\u{1b}[2J", "\"a\\u001b[2J\" has a control character, U+001B at place 2, which a name must not have"),
            ("a\nb", "\"a\\u000ab\" has a control character, U+000A at place 2, which a name must not have"),
            ("a\u{202e}b", "\"a\\u202eb\" has an invisible character, U+202E at place 2, which a name must not have"),
            ("\u{200b}", "\"\\u200b\" has an invisible character, U+200B at place 1, which a name must not have"),
            ("a\u{feff}", "\"a\\ufeff\" has an invisible character, U+FEFF at place 2, which a name must not have"),
            (
                "a\u{e0041}",
                "\"a\\udb40\\udc41\" has an invisible character, U+E0041 at place 2, which a name must not have",
            ),
            (" ", "\" \" begins or ends with a space, which a name must not"),
            ("a\u{a0}", "\"a\u{a0}\" begins or ends with a space, which a name must not"),
            ("default", "\"default\" is what reports call a meter of nobody's, as are default, overflow, unparsed"),
        ];
        for (name, problem) in cases {
            assert_eq!(check_name(name).unwrap_err(), problem);
        }
        let later = check_name("Müller\u{9b}2J").unwrap_err();
        assert!(later.contains("U+009B at place 7"), "{later}");
        let long = check_name(&"a".repeat(5000)).unwrap_err();
        // The result has 39 characters, an ellipsis, and 39 characters.
        assert_eq!(long.find(" has 5000 characters"), Some(2 * 39 + '…'.len_utf8() + 2), "{long}");
    }

    #[test]
    fn what_is_printed_does_nothing_to_a_terminal() {
        let name = "a\u{1b}]0;b\u{7}\u{9b}31m\u{202e}\u{e0041}\r";
        assert_eq!(
            printable(&format!("{name}\tü\n")),
            "a\\u001b]0;b\\u0007\\u009b31m\\u202e\\udb40\\udc41\\u000d\tü\n"
        );
        assert!(matches!(printable("as it is\n"), Cow::Borrowed(_)));
        // serde_json does not escape non-ASCII characters.
        let json = serde_json::json!({ name: name });
        let printed = printable(&json.to_string()).into_owned();
        assert!(!printed.contains(['\u{9b}', '\u{202e}']));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), json);
    }
}
