//! Tests that errors in lists and streams of subscribers give one line that names the position, and change no
//! subscriber. No node is attached.
#![cfg(feature = "ebpf")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

const PORT: &str = "[[ports]]\ninterface = \"in0\"\narrivals = \"meter\"\n";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder with a configuration and subscribers.
pub struct Place(PathBuf);

impl Place {
    pub fn new(users: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("fairlane-lists-{}-{number}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let paths = format!("pin_path = \"{0}/pins\"\nstate_path = \"{0}/state\"\n", folder.display());
        fs::write(folder.join("node.toml"), format!("[node]\n{paths}{users}{PORT}")).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().into()
    }

    /// Creates a command of the tool with the configuration. The command reacts to Ctrl-C even if the test runner
    /// ignores this signal.
    pub fn tool(&self, words: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_fairlane-node")]);
        command.args(words.split(' ')).arg(self.path("node.toml")).args(arguments);
        command
    }

    pub fn command(&self, verb: &str, arguments: &[&str]) -> Command {
        self.tool(&format!("user {verb}"), arguments)
    }

    fn user(&self, verb: &str, arguments: &[&str]) -> Output {
        self.command(verb, arguments).output().unwrap()
    }

    /// Returns the output of the command, without the note that the change takes effect at the next attach.
    pub fn ok(&self, verb: &str, arguments: &[&str]) -> String {
        let output = self.user(verb, arguments);
        assert!(output.status.success(), "{verb} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.replace("; nothing is attached: takes effect at the next attach", "")
    }

    /// Returns the error message without the folder. Checks that existing subscribers are unchanged.
    pub fn refused(&self, verb: &str, arguments: &[&str]) -> String {
        let before = self.ok("list", &["--json"]);
        let output = self.user(verb, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{verb} {arguments:?}: {text}");
        assert_eq!(self.ok("list", &["--json"]), before, "{verb} {arguments:?}");
        text.replace(&format!("{}/", self.0.display()), "").trim_end().into()
    }

    pub fn names(&self) -> Vec<String> {
        let list = self.ok("list", &[]);
        list.lines().map(|line| line.split_whitespace().next().unwrap().into()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const FOUR: &str = "name,prefix\na,10.0.0.1\nb,10.0.0.2\nc,10.0.0.3\nd,10.0.0.4\n";

#[test]
fn a_list_that_is_empty_or_cut_off_removes_nobody() {
    let place = Place::new("");
    place.ok("import", &[&place.file("list.csv", FOUR)]);
    let import = |text: &str, more: &[&str]| {
        place.refused("import", &[&[place.file("list.csv", text).as_str(), "--replace"], more].concat())
    };
    for more in [&[][..], &["--force"][..]] {
        let empty = "error: list.csv: is empty: the first line must name the columns";
        assert_eq!(import("", more), empty);
        assert_eq!(import("name,prefix\n", more), "error: list.csv: has a header, and no subscriber");
    }
    let cut_off = "name,prefix\na,10.0.0.1\n";
    let told = "error: list.csv: --replace would remove 3 of 4 subscribers, more than half; to do so, add --force";
    assert_eq!(import(cut_off, &[]), told);
    assert_eq!(import(cut_off, &["--dry-run"]), told);
    // Removing half of the subscribers is allowed without --force. --dry-run only reports what would be removed.
    let half = place.file("list.csv", "name,prefix\na,10.0.0.1\nb,10.0.0.9\n");
    let dry = place.ok("import", &[&half, "--replace", "--dry-run"]);
    assert_eq!(dry, "would import: 1 new or changed, 2 removed; nothing was changed\n");
    assert_eq!(place.names(), ["a", "b", "c", "d"]);
    assert_eq!(place.ok("import", &[&half, "--replace"]), "imported: 1 new or changed, 2 removed\n");
    let one = place.file("list.csv", "name,prefix\nz,10.0.0.1\n");
    assert_eq!(place.ok("import", &[&one, "--replace", "--force"]), "imported: 1 new or changed, 2 removed\n");
    assert_eq!(place.names(), ["z"]);
}

#[test]
fn keys_may_come_before_a_prefix_and_are_counted() {
    let place = Place::new("[users_table]\nconfigured = 1\n");
    let list = place.file("list.csv", "name,prefix,reference_rate\na,10.0.0.1,\nb,,20 kbit/s\nc,,30 kbit/s\n");
    let told = "imported: 3 new or changed, 0 removed, 2 metered only during RADIUS sessions\n";
    assert_eq!(place.ok("import", &[&list]), told);
    assert_eq!(place.names(), ["a", "b", "c"]);
    let nothing = place.file("list.csv", "name,prefix,reference_rate\nb,,20 kbit/s\nd,,\n");
    let refused = place.refused("import", &[&nothing]);
    assert!(refused.starts_with("error: list.csv: line 3: user \"d\": prefix: missing"), "{refused}");
    // Keys are checked; a rejected subscriber takes no slot.
    assert!(place.refused("add", &["d", "--key", "reference_rate=fast"]).contains("reference_rate"));
    assert!(place.refused("set", &["b", "--prefix", "10.0.0.2"]).contains("1 is too few, there would be 2 users"));
}

#[test]
fn a_list_replaces_what_lists_gave_and_leaves_sessions() {
    let place = Place::new("");
    place.ok("import", &[&place.file("list.csv", "name,prefix,reference_rate\na,10.0.0.1,\nb,10.0.0.2,20 kbit/s\n")]);
    // Subscriber b also has a session and r has only a session, as `radius` stores them.
    let session = |user: &str, name: &str, address: &str| {
        let sessions = format!(
            "\"sessions\":{{\"bng\":{{\"{name}\":{{\"addresses\":{{\"framed_ip_address\":[\"{address}\"]}}}}}}}}"
        );
        format!("{{\"put\":{{\"name\":\"{name}\",{sessions},\"user\":{{{user}}}}}}}\n")
    };
    let of_b = "\"prefix\":[\"10.0.0.2\"],\"reference_rate\":\"20 kbit/s\"";
    let sessions =
        session(of_b, "b", "10.1.0.2/32") + &session("", "r", "10.1.0.3/32") + &session("", "s", "10.1.0.4/32");
    place.ok("apply", &[&place.file("changes", &sessions)]);
    let list = place.file("list.csv", "name,prefix\na,10.0.0.9\n");
    let replace = |more: &[&str]| place.ok("import", &[&[list.as_str(), "--replace"], more].concat());
    let told = "1 new or changed, 0 removed, 1 left with their sessions";
    assert_eq!(replace(&["--dry-run"]), format!("would import: {told}; nothing was changed\n"));
    // Two subscribers come from lists. Removing one of them is not removing more than half; sessions do not count.
    assert_eq!(replace(&[]), format!("imported: {told}\n"));
    let listed = place.ok("list", &[]);
    let of = |name: &str| {
        let line = listed.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(["a", "b", "r"].map(of), ["- prefix 10.0.0.9", "- prefix 10.1.0.2/32", "- prefix 10.1.0.3/32"]);
    assert_eq!(replace(&[]), "imported: 0 new or changed, 0 removed\n");
    // Subscribers that would keep only sessions count as removed, but are reported separately.
    let more = place.file("more.csv", "name,prefix\na,10.0.0.9\nb,10.0.0.2\nc,10.0.0.5\nd,10.0.0.6\n");
    place.ok("import", &[&more]);
    let told = "error: list.csv: --replace would remove 2 of 4 subscribers and leave 1 with their sessions, more than \
                half together; to do so, add --force";
    assert_eq!(place.refused("import", &[&list, "--replace"]), told);
    let told = "0 new or changed, 2 removed, 1 left with their sessions";
    assert_eq!(replace(&["--force"]), format!("imported: {told}\n"));
    // Ending sessions requires another option.
    let told = "error: list.csv: --replace would remove 3 of 4 subscribers, more than half; to do so, add --force";
    assert_eq!(place.refused("import", &[&list, "--replace", "--end-sessions"]), told);
    assert_eq!(replace(&["--end-sessions", "--force"]), "imported: 0 new or changed, 3 removed\n");
    assert_eq!(place.names(), ["a"]);
}

#[test]
fn the_list_before_an_import_can_be_brought_back() {
    let place = Place::new("");
    let session = "{\"put\":{\"name\":\"r\",\"sessions\":{\"bng\":{\"s\":{\"addresses\":\
                   {\"framed_ip_address\":[\"10.1.0.3/32\"]}}}}}}\n";
    place.ok("apply", &[&place.file("changes", session)]);
    place.ok("import", &[&place.file("list.csv", "name,prefix,site\na,10.0.0.1,s\nb,10.0.0.2,\n")]);
    let before = place.ok("list", &["--json"]);
    let import = |list: &str| place.ok("import", &[list, "--replace", "--force"]);
    import(&place.file("list.csv", "name,prefix\nc,10.0.0.1\n"));
    // A command that is rejected or has no effect makes no backup.
    place.refused("import", &[&place.file("list.csv", "name,prefix\nd,10.0.0.1\n")]);
    import(&place.file("list.csv", "name,prefix\nc,10.0.0.1\n"));
    let backup = place.path("state/subscribers.before-1");
    assert_eq!(fs::read_to_string(&backup).unwrap(), before);
    assert_eq!(import(backup.to_str().unwrap()), "imported: 2 new or changed, 1 removed\n");
    assert_eq!(place.ok("list", &["--json"]), before);
    // Imports the backup of the new list.
    import(backup.to_str().unwrap());
    assert_eq!(place.names(), ["c", "r"]);
    let wrong = place.file("list.json", "{\"put\":{\"name\":\"a\",\"user\":{\"vlan\":0}}}\n");
    let told = place.refused("import", &[&wrong]);
    assert!(told.starts_with("error: list.json: line 1: user \"a\": vlan: 0 is out of range"), "{told}");
}

#[test]
fn a_mistake_in_a_list_is_told_with_file_and_line() {
    let place = Place::new("[[users]]\nname = \"fixed\"\nprefix = \"10.9.0.1\"\n");
    place.ok("add", &["old", "--prefix", "10.8.0.1"]);
    let cases = [
        (
            "name,prefix\na,10.0.0.1\nb,10.0.1.0/24,10.0.2.0/24\n",
            "line 3: 3 cells, the header has 2; \";\" separates prefixes within one",
        ),
        (
            "name,prefix\nb,10.0.0.1\na,10.0.0.1\n",
            "line 2: user \"b\": 10.0.0.1/32 belongs to \"a\" already, in line 3",
        ),
        ("name,prefix\na,10.0.0.1\nb,10.8.0.1\n", "line 3: user \"b\": 10.8.0.1/32 belongs to \"old\" already"),
        ("name,prefix\nfixed,10.0.0.1\n", "line 2: user \"fixed\": is in the configuration, change it there"),
        (
            "name,prefix\na,10.0.0.1;10.0.0.2/33\n",
            "line 2: user \"a\": prefix: \"10.0.0.2/33\" is not a prefix such as \"10.0.1.0/24\": it has the length \
             \"33\", which must be from 0 to 32",
        ),
        (
            "name,prefix\ndefault,10.0.0.1\n",
            "line 2: user \"default\": name: \"default\" is what reports call a meter of nobody's, as are default, \
             overflow, unparsed",
        ),
    ];
    for (text, problem) in cases {
        let list = place.file("list.csv", text);
        for more in [&[][..], &["--dry-run"][..]] {
            let told = place.refused("import", &[&[list.as_str()], more].concat());
            assert_eq!(told, format!("error: list.csv: {problem}"), "{text}");
        }
    }
    assert_eq!(
        place.refused("add", &["x", "--prefix", "300.1.1.1"]),
        "error: user \"x\": prefix: \"300.1.1.1\" is not a prefix such as \"10.0.1.0/24\": it has the octet 300, \
         which must be from 0 to 255"
    );
    for name in ["", "a\nb", "a\u{1b}[2J", &"a".repeat(5000)] {
        let told = place.refused("add", &[name, "--prefix", "10.0.0.1"]);
        assert!(told.contains(": name: ") && told.len() < 400 && !told.contains('\u{1b}'), "{told}");
    }
}

#[test]
fn nothing_of_a_list_reaches_the_terminal_as_more_than_text() {
    let place = Place::new("");
    // These escapes set a title, a colour (by the one-byte form of ESC [), and the direction of the following text.
    for (escape, shown, kind, code) in [
        ("\u{1b}]0;x\u{7}", "\\u001b]0;x\\u0007", "a control", "001B"),
        ("\u{9b}31m", "\\u009b31m", "a control", "009B"),
        ("\u{202e}", "\\u202e", "an invisible", "202E"),
    ] {
        let list = |text: String| place.refused("import", &[&place.file("list.csv", &text)]);
        let told = format!(
            "error: list.csv: line 3: user \"ü{shown}\": name: \"ü{shown}\" has {kind} character, U+{code} at place \
             2, which a name must not have"
        );
        assert_eq!(list(format!("name,prefix\na,10.0.0.1\nü{escape},10.0.0.2\n")), told);
        for text in [
            format!("name,vlan\na,{escape}\n"),
            format!("name,prefix\na,10.0.0.1{escape}\n"),
            format!("name,prefix,{escape},{escape}\na,10.0.0.1,,\n"),
            format!("name,prefix,key{escape}\na,10.0.0.1,b\n"),
        ] {
            let told = list(text);
            assert!(!told.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{told:?}");
        }
        // A site, unlike a user's name, is stored unchanged.
        place.ok("import", &[&place.file("list.csv", &format!("name,prefix,site\na,10.0.0.1,s{escape}\n"))]);
        for more in [&[][..], &["--json"]] {
            let told = place.ok("list", more);
            assert!(told.contains("\\u") && !told.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{told:?}");
        }
    }
}

#[test]
fn a_stream_says_which_lines_were_applied() {
    let place = Place::new("");
    let put = |name: &str, prefix: &str| {
        format!("{{\"put\":{{\"name\":\"{name}\",\"user\":{{\"prefix\":[\"{prefix}\"]}}}}}}\n")
    };
    let apply = |text: &str| place.refused("apply", &[&place.file("changes", text)]);
    let two = put("a", "10.0.0.1") + &put("b", "10.0.0.2");
    assert_eq!(
        apply(&format!("{two}{{\"put\":1}}\n")),
        "error: changes: line 3: column 8: invalid type: integer `1`, expected struct Subscriber; lines 1 to 3 were \
         not applied"
    );
    assert_eq!(
        apply(&format!("{two}{{\"remove\":\"nobody\"}}\n{}", put("c", "10.0.0.3"))),
        "error: changes: line 3: user \"nobody\": there is none; lines 1 to 4 were not applied"
    );
    assert_eq!(
        apply("{\"remove\":\"nobody\"}\n"),
        "error: changes: line 1: user \"nobody\": there is none; it was not applied"
    );
    assert_eq!(place.refused("remove", &["nobody"]), "error: user \"nobody\": there is none");
    assert_eq!(apply(&put("\\u001b", "10.0.0.1")).matches('\u{1b}').count(), 0);
    // A file is applied completely or not at all. A stream is applied in parts of 1024 lines, and the error names the
    // lines that were applied.
    let many: String = (0..1100).map(|i| put(&format!("n{i}"), &format!("10.1.{}.{}", i / 256, i % 256))).collect();
    assert!(apply(&format!("{many}x\n")).ends_with("; lines 1 to 1101 were not applied"));
    let stream = fs::File::open(place.path("changes")).unwrap();
    let output = place.command("apply", &["-"]).stdin(stream).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.ends_with("; lines 1025 to 1101 were not applied, lines 1 to 1024 were\n"), "{told}");
    assert_eq!(place.names().len(), 1024);
    // The message has the singular for one change. One file may add a user and remove another.
    assert_eq!(place.ok("apply", &[&place.file("changes", &put("a", "10.0.0.1"))]), "applied 1 change\n");
    let both = place.file("changes", &format!("{}{{\"remove\":\"b\"}}\n", put("b", "10.0.0.2")));
    assert_eq!(place.ok("apply", &[&both]), "applied 2 changes\n");
    assert_eq!(place.names().len(), 1025);
}

#[test]
fn ten_thousand_changes_are_applied_at_once() {
    let place = Place::new("");
    let changes: String = (0..10_000)
        .map(|i| {
            format!("{{\"put\":{{\"name\":\"n{i}\",\"user\":{{\"prefix\":[\"10.1.{}.{}\"]}}}}}}\n", i / 256, i % 256)
        })
        .collect();
    let file = place.file("changes", &changes);
    assert_eq!(place.ok("apply", &[&file]), "applied 10000 changes\n");
    assert_eq!(place.names().len(), 10_000);
}
