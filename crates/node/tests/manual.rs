//! Tests that manual pages and completions contain every command and option, and that metric names are valid in
//! Prometheus.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

const NODE: &str = env!("CARGO_BIN_EXE_fairlane-node");

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(NODE).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn subcommands(of: &[&str]) -> Vec<String> {
    let help = printed(&[of, &["--help"]].concat());
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let name = |line: &str| line.split_whitespace().next().unwrap().to_string();
    commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(name)
        .filter(|name| name != "help")
        .collect()
}

fn options(of: &[&str]) -> BTreeSet<String> {
    let help = printed(&[of, &["--help"]].concat());
    let words = help.lines().filter(|line| line.trim_start().starts_with('-')).flat_map(str::split_whitespace);
    words.filter_map(|word| word.strip_prefix("--")).map(|word| word.trim_end_matches(',').to_string()).collect()
}

#[test]
fn every_command_and_option_has_its_place_in_the_manual() {
    let folder = std::env::temp_dir().join(format!("fairlane-man-{}", std::process::id()));
    printed(&["man", "--out", folder.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.8"))).unwrap().replace("\\-", "-");
    let main = page("fairlane-node");
    assert_eq!(main, printed(&["man"]).replace("\\-", "-"));
    assert!(main.contains("CAP_BPF") && main.contains("/etc/fairlane/node.toml"));
    let commands = subcommands(&[]);
    assert!(commands.len() >= 6, "{commands:?}");
    for command in &commands {
        assert!(main.contains(&format!("fairlane-node-{command}(8)")), "{command} in {main}");
        let of = page(&format!("fairlane-node-{command}"));
        for option in options(&[command]) {
            assert!(of.contains(&format!("--{option}")), "{command} --{option} in {of}");
        }
        for below in subcommands(&[command]) {
            let of = page(&format!("fairlane-node-{command}-{below}"));
            for option in options(&[command, &below]) {
                assert!(of.contains(&format!("--{option}")), "{command} {below} --{option} in {of}");
            }
        }
    }
    check_with_man(&folder.join("fairlane-node.8"));
    std::fs::remove_dir_all(folder).unwrap();
}

fn check_with_man(page: &Path) {
    if Command::new("man").arg("--version").output().is_ok() {
        let output = Command::new("man").args(["--warnings", "-l"]).arg(page).env("MANPAGER", "cat").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

/// Returns the pairs of section and key on a page.
fn keys_of(page: &str) -> BTreeSet<(String, String)> {
    let (mut keys, mut section, mut is_key) = (BTreeSet::new(), String::new(), false);
    for line in page.lines() {
        if let Some(title) = line.strip_prefix(".SH ") {
            // Removes the scheme from the title of the section.
            section = title.trim_matches('"').split(" with ").next().unwrap().into();
        } else if let Some(text) = line.strip_prefix("\\fB").filter(|_| is_key) {
            keys.insert((section.clone(), text.split("\\fR").next().unwrap().into()));
        }
        is_key = line == ".TP";
    }
    keys
}

#[test]
fn every_key_of_the_configuration_has_its_place_in_the_manual() {
    let folder = std::env::temp_dir().join(format!("fairlane-man5-{}", std::process::id()));
    printed(&["man", "--out", folder.to_str().unwrap()]);
    let page = std::fs::read_to_string(folder.join("node.toml.5")).unwrap().replace("\\-", "-");
    let found = keys_of(&page);
    let every = include_str!("../../../examples/node/every-key.toml");
    let json: serde_json::Value = toml::from_str(every).unwrap();
    let mut wanted = BTreeSet::new();
    for (name, value) in json.as_object().unwrap() {
        let (title, tables) = match value.as_array() {
            Some(tables) => (format!("[[{name}]]"), tables.as_slice()),
            None => (format!("[{name}]"), std::slice::from_ref(value)),
        };
        for (key, value) in tables.iter().flat_map(|table| table.as_object().unwrap()) {
            let below = value.as_object().into_iter().flat_map(|table| table.keys());
            wanted.extend(below.map(|below| (format!("[{name}.{key}]"), below.clone())));
            wanted.extend((!value.is_object()).then(|| (title.clone(), key.clone())));
        }
    }
    assert!(wanted.len() > 40);
    assert_eq!(wanted.difference(&found).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    // The file has every key. Keys of the other scheme are in comments.
    let is_in_file = |key: &str| every.lines().any(|line| line.contains(&format!("{key} =")));
    let more: Vec<_> = found.iter().filter(|(section, key)| section.starts_with('[') && !is_in_file(key)).collect();
    assert!(more.is_empty(), "{more:?}");
    for text in ["10 kbit/s", "1 to 4094", "\"802.1ad\"", "labels are stripped and users are metered"] {
        assert!(page.contains(text), "{text} in {page}");
    }
    check_with_man(&folder.join("node.toml.5"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn shells_take_their_completions() {
    let commands = subcommands(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let text = printed(&["completions", shell]);
        for command in &commands {
            assert!(text.contains(command), "{command} in {shell}");
        }
        let Ok(child) = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn() else {
            println!("not checked: there is no {shell}");
            continue;
        };
        std::io::Write::write_all(&mut child.stdin.as_ref().unwrap(), text.as_bytes()).unwrap();
        assert!(child.wait_with_output().unwrap().status.success(), "{shell}");
    }
}

#[test]
fn prometheus_takes_the_alerts_and_they_fire() {
    if Command::new("promtool").arg("--version").output().is_err() {
        println!("skipped: there is no promtool");
        return;
    }
    let share = Path::new(env!("CARGO_MANIFEST_DIR")).join("share");
    for arguments in [["check", "rules", "prometheus-alerts.yml"], ["test", "rules", "prometheus-alerts.test.yml"]] {
        let output = Command::new("promtool").current_dir(&share).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
