//! Tests `p4-commands` as a user calls it: golden output in both formats, and errors in one line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(config: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairlane-node"));
    command.arg("p4-commands").arg(config).args(options).output().unwrap()
}

const STATIONS: [&str; 4] = ["--station", "02:00:00:00:00:01=eth0", "--station", "02:00:00:00:00:fe=eth1"];

/// Compares the result of an example with the file `name`, or rewrites it if `UPDATE_GOLDEN` is set.
fn compare(example: &str, name: &str, options: &[&str]) {
    let output = run(&root().join("examples/node").join(example), &[&STATIONS, options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let path = root().join("crates/node/tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &output.stdout).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), written, "UPDATE_GOLDEN=1 writes {name} anew");
}

#[test]
fn the_examples_for_simple_switch_cli() {
    compare("switch.toml", "switch.p4cli", &[]);
    compare("switch-csfq.toml", "switch-csfq.p4cli", &[]);
}

#[test]
fn the_examples_for_p4runtime() {
    compare("switch.toml", "switch.p4runtime.json", &["--format", "p4runtime"]);
    compare("switch-csfq.toml", "switch-csfq.p4runtime.json", &["--format", "p4runtime"]);
}

#[test]
fn every_line_is_a_command_that_simple_switch_cli_knows() {
    let known =
        ["table_clear", "register_reset", "table_add", "table_set_default", "set_queue_depth", "set_queue_rate"];
    for name in ["switch", "switch-csfq"] {
        let cli = std::fs::read_to_string(root().join(format!("crates/node/tests/golden/{name}.p4cli"))).unwrap();
        for line in cli.lines() {
            let command = line.split(' ').next().unwrap();
            assert!(known.contains(&command), "{line}");
        }
    }
}

#[test]
fn a_switch_compiled_for_more_users_is_told_by_an_option() {
    let config = root().join("examples/node/switch.toml");
    let output = run(&config, &["--users", "65536"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("table_add users set_user_of_address")).unwrap();
    // The block starts at index 2 and has a sixteenth of 65 536 registers.
    assert!(line.ends_with(" 2 2 4096"), "{line}");
    let output = run(&config, &["--users", "0"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{message}");
    assert!(message.contains("'0'") && message.contains("--users") && message.contains("1..=16777216"), "{message}");
}

#[test]
fn both_formats_say_the_same() {
    for name in ["switch", "switch-csfq"] {
        say_the_same(name);
    }
}

fn say_the_same(name: &str) {
    let golden = root().join("crates/node/tests/golden");
    let read = |suffix| std::fs::read_to_string(golden.join(format!("{name}.{suffix}"))).unwrap();
    let cli = read("p4cli");
    let json: serde_json::Value = serde_json::from_str(&read("p4runtime.json")).unwrap();
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    let entries = cli.lines().filter(|line| line.starts_with("table_add") || line.starts_with("table_set_default"));
    let updates = json["updates"].as_array().unwrap();
    assert_eq!(entries.clone().count(), updates.len());
    for (line, update) in entries.zip(updates) {
        let words: Vec<&str> = line.split(' ').filter(|word| *word != "=>").collect();
        assert_eq!(
            [words[1], words[2]],
            [&update["table"], &update["action"]["name"]].map(|name| name.as_str().unwrap())
        );
        let has_key = words[0] == "table_add";
        let params = words[3 + usize::from(has_key)..].iter().map(|word| number(word));
        let updated =
            update["action"]["params"].as_object().unwrap().values().map(|value| number(value.as_str().unwrap()));
        assert!(params.eq(updated), "{line}");
        if has_key {
            let key = &update["match"][0];
            let (value, length) = words[3].split_once('/').unwrap_or((words[3], ""));
            let json_value = key["exact"].as_str().or(key["lpm"]["value"].as_str()).unwrap();
            assert_eq!(number(value), number(json_value), "{line}");
            assert_eq!(length.parse::<u64>().ok(), key["lpm"]["prefix_len"].as_u64());
        }
    }
}

#[test]
fn the_numbers_follow_from_the_configuration() {
    // Q_min (12 packets), Q_base (20), gamma (16) and the limit (24) are in sixteenths of a packet. The switch's queue
    // has room for twice the limit. The accounting factor 3 is in Q20. 50 Mbit/s are 4166 maximum-size packets per
    // second. With a reference rate of 20 kbit/s, labels are one octave (2^31) lower than with 10 kbit/s. 192.0.2.0/28
    // is a prefix of 96 + 28 bits.
    let cli = std::fs::read_to_string(root().join("crates/node/tests/golden/switch.p4cli")).unwrap();
    let words = |start: &str| -> Vec<&str> {
        cli.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}")).split(' ').collect()
    };
    assert_eq!(words("table_add aqm")[7..], ["192", "320", "256", "384", "0"]);
    assert_eq!(words("table_set_default domain")[6..], ["1048576", "3145728", "0"]);
    assert_eq!(words("set_queue_rate"), ["set_queue_rate", "4166", "1"]);
    assert_eq!(words("set_queue_depth"), ["set_queue_depth", "48", "1"]);
    let offset = |line: Vec<&str>, at: usize| line[at].parse::<i64>().unwrap();
    let (ten, twenty) =
        (offset(words("table_set_default default_user"), 3), offset(words("table_add users set_user "), 5));
    assert_eq!(ten - twenty, 1 << 31);
    assert_eq!(words("table_add users set_user ")[3], "0x00000000000000000000ffffc0000200/124");
    assert_eq!(words("table_add stations")[3], "2199023255553"); // 02:00:00:00:00:01
}

#[test]
fn the_numbers_of_csfq_follow_from_the_configuration() {
    // K_c is 100 ms in ns. log2(C/10 kbit/s) = log2(5000) is in Q31. S at rate C is C K_alpha/8 = 625 000 bytes, in
    // Q16. The thresholds (0 and 12 packets) and the limit (24 packets) are in sixteenths of a packet. A tick is at
    // most 2^-19 of K.
    let cli = std::fs::read_to_string(root().join("crates/node/tests/golden/switch-csfq.p4cli")).unwrap();
    let words = |start: &str| -> Vec<i64> {
        let line = cli.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}"));
        // 64-bit numbers in two's complement.
        line.split(' ').filter_map(|word| word.parse::<u64>().ok()).map(u64::cast_signed).collect()
    };
    let q31 = |number: f64| (number.log2() * (1u64 << 31) as f64).round() as i64;
    let aqm = words("table_add aqm set_aqm 1 => ");
    assert_eq!(aqm[4..5], [100_000_000]);
    assert_eq!(aqm[5], q31(5000.0));
    // Two constants are rounded to Q31 each.
    assert!((aqm[6] - q31(625_000.0 * 65_536.0)).abs() <= 2, "{}", aqm[6]);
    assert_eq!(aqm[7..], [0, 192, 384, 0]);
    let domain = words("table_set_default domain");
    // Here K_alpha equals K, so the tables `domain` and `aqm` have the same constants.
    assert_eq!(domain, aqm[1..4]);
    assert_eq!(domain[2], q31((1u64 << domain[1]) as f64 / 1e8));
    let (ten, twenty) = (words("table_set_default default_user")[0], words("table_add users set_user ")[0]);
    assert_eq!(ten - twenty, 1 << 31);
    let resets = cli.lines().filter(|line| line.starts_with("register_reset")).count();
    let registers = ["meter", "aqm"].map(|part| {
        let source = std::fs::read_to_string(root().join(format!("planes/p4/csfq/{part}.p4"))).unwrap();
        source.matches(" register<").count()
    });
    assert_eq!(resets, registers.iter().sum::<usize>());
}

#[test]
fn keys_without_a_use_are_named() {
    let folder = std::env::temp_dir().join(format!("fairlane-p4-unused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("unused.toml");
    let config = "[node]\npin_path = \"/sys/fs/bpf/x\"\nhook = \"auto\"\n\
                  [users_table]\nlimit = 7\ntimeout = \"60 s\"\n[[ports]]\ninterface = \"eth0\"\n\
                  [[ports]]\ninterface = \"eth1\"\nqdisc_class_be = \"1:20\"\nqdisc_class_ef = \"1:10\"\n";
    std::fs::write(&path, config).unwrap();
    let output = run(&path, &[]);
    assert!(output.status.success());
    let unused = [
        "node.pin_path",
        "node.hook",
        "users_table.limit",
        "users_table.timeout",
        "ports[1].qdisc_class_be",
        "ports[1].qdisc_class_ef",
    ];
    let notes = unused.map(|key| format!("note: {key}: not used by P4 switches\n")).concat();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), notes);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn mistakes_are_one_line_with_file_key_and_value() {
    let folder = std::env::temp_dir().join(format!("fairlane-p4-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("bytes.toml");
    let port = "[[ports]]\ninterface = \"eth0\"\n[ports.queue]\nscheme = \"abc\"\nq_min = \"18 kB\"\n\
                q_base = \"30 kB\"\ngamma = \"24 kB\"\n";
    std::fs::write(&path, port).unwrap();
    let output = run(&path, &[]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let problem = "ports[0].queue.q_min: \"18000 B\" is in bytes, a P4 switch has packets, or time for a virtual queue";
    assert_eq!(message, format!("error: {}: line 5: {problem}\n", path.display()));
    let output = run(&root().join("examples/node/switch.toml"), &["--station", "02:00:00:00:00:01=eth7"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.ends_with("--station: \"eth7\" is the interface of no [[ports]] table\n"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}
