//! Finds other users of the packet-mark bits that labels use: policy routing, nftables, iptables, tc filters.
//!
//! Queries each of these with its command-line tool, and skips tools that are not installed.

use crate::config::MarkMask;
use serde_json::Value as Json;
use std::process::Command;

const ALL: u32 = u32::MAX;

/// Returns a warning for each use of a bit of `mask` in this network namespace, including tc filters at `interfaces`.
pub(super) fn overlapping(mask: MarkMask, interfaces: &[&str]) -> Vec<String> {
    let mut uses = Vec::new();
    for (family, name) in [("-4", "ip rule"), ("-6", "ip -6 rule")] {
        uses.extend(of_rules(name, &output("ip", &[family, "-j", "rule", "show"])));
    }
    uses.extend(of_nftables(&output("nft", &["-j", "list", "ruleset"])));
    for program in ["iptables", "ip6tables"] {
        uses.extend(of_iptables(program, &output(&format!("{program}-save"), &[])));
    }
    for interface in interfaces {
        for side in ["root", "ingress", "egress"] {
            let text = output("tc", &["filter", "show", "dev", interface, side]);
            uses.extend(of_tc(&format!("tc filter of {interface}, {side}"), &text));
        }
    }
    let MarkMask(ours) = mask;
    let overlap = |(what, bits): &(String, u32)| {
        let shared = bits & ours;
        (shared != 0).then(|| {
            format!(
                "{what}: uses the bits {shared:#x} of marks, which node.mark_mask {mask} takes for labels; change \
                 either"
            )
        })
    };
    uses.iter().filter_map(overlap).collect()
}

/// Returns the output of a program; empty if the program is missing or fails.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A rule or filter, and the mark bits that it reads or writes.
type Use = (String, u32);

fn of_rules(name: &str, text: &str) -> Vec<Use> {
    let rules: Json = serde_json::from_str(text).unwrap_or_default();
    let rule = |rule: &Json| {
        let mark = rule["fwmark"].as_str()?;
        let mask = rule["fwmask"].as_str().and_then(number).unwrap_or(ALL);
        Some((format!("{name} {}: fwmark {mark}/{mask:#x}", rule["priority"]), mask))
    };
    rules.as_array().into_iter().flatten().filter_map(rule).collect()
}

fn of_nftables(text: &str) -> Vec<Use> {
    let all: Json = serde_json::from_str(text).unwrap_or_default();
    let rule = |object: &Json| {
        let rule = object.get("rule")?;
        let expressions = rule["expr"].as_array()?;
        let bits = expressions.iter().map(bits_of_expression).fold(0, |all, bits| all | bits);
        let at = |key: &str| rule[key].as_str().unwrap_or_default().to_string();
        let what = format!("nftables rule {} {} {} handle {}", at("family"), at("table"), at("chain"), rule["handle"]);
        (bits != 0).then_some((what, bits))
    };
    all["nftables"].as_array().into_iter().flatten().filter_map(rule).collect()
}

/// Mark bits that an nftables statement reads or writes (libnftables-json(5)).
fn bits_of_expression(expression: &Json) -> u32 {
    if let Some(mangle) = expression.get("mangle").filter(|mangle| is_mark(&mangle["key"])) {
        return written(&mangle["value"]);
    }
    match expression {
        _ if is_mark(expression) => ALL,
        Json::Object(fields) => match fields.get("&") {
            // Masked-out bits are not read.
            Some(Json::Array(sides)) if sides.iter().any(is_mark) => {
                sides.iter().find_map(Json::as_u64).map_or(ALL, |mask| mask as u32)
            }
            _ => fields.values().map(bits_of_expression).fold(0, |all, bits| all | bits),
        },
        Json::Array(items) => items.iter().map(bits_of_expression).fold(0, |all, bits| all | bits),
        _ => 0,
    }
}

fn is_mark(expression: &Json) -> bool {
    expression["meta"]["key"] == "mark"
}

/// Returns the mark bits that may change if a statement writes `value` to the mark.
fn written(value: &Json) -> u32 {
    if is_mark(value) {
        return 0;
    }
    let with = |operator: &str| match value.get(operator)?.as_array()?.as_slice() {
        [left, right] => Some((written(left), right.as_u64()? as u32)),
        _ => None,
    };
    if let Some((bits, kept)) = with("&") {
        return bits | !kept;
    }
    with("|").or_else(|| with("^")).map_or(ALL, |(bits, set)| bits | set)
}

fn of_iptables(program: &str, text: &str) -> Vec<Use> {
    let mut table = "";
    let mut uses = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() != Some(&"-A") {
            continue;
        }
        // `-m connmark` and `CONNMARK --set-xmark` concern another mark.
        let jumps_to = |target: &str| words.windows(2).any(|pair| pair == ["-j", target]);
        let matches = words.windows(2).any(|pair| pair == ["-m", "mark"]);
        let mut bits = if matches { bits_after(&words, "--mark") } else { 0 };
        if jumps_to("MARK") {
            bits |= bits_after(&words, "--set-xmark") | bits_after(&words, "--set-mark");
        }
        if jumps_to("CONNMARK") && words.contains(&"--restore-mark") {
            bits |= words.iter().position(|word| *word == "--nfmask").map_or(ALL, |_| bits_after(&words, "--nfmask"));
        }
        bits |= bits_after(&words, "--tproxy-mark");
        if bits != 0 {
            uses.push((format!("{program} -t {table} {line}"), bits));
        }
    }
    uses
}

/// Finds uses of marks in tc output: the fw and u32 classifiers, and the skbedit action.
fn of_tc(what: &str, text: &str) -> Vec<Use> {
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bits = match words.as_slice() {
            ["mark", _, mask, ..] => number(mask).unwrap_or(ALL),
            words if words.contains(&"skbedit") => bits_after(words, "mark"),
            words if words.contains(&"fw") => bits_after(words, "handle"),
            _ => 0,
        };
        (bits != 0).then(|| (format!("{what}: {}", words.join(" ")), bits))
    };
    text.lines().filter_map(of_line).collect()
}

/// Returns the mask of the word `value/mask` or `mask` after a key. A missing mask means all bits, a missing key no
/// bits.
fn bits_after(words: &[&str], key: &str) -> u32 {
    let Some(at) = words.iter().position(|word| *word == key) else { return 0 };
    let word = words.get(at + 1).copied().unwrap_or_default();
    let mask = if key == "--nfmask" { Some(word) } else { word.split_once('/').map(|(_, mask)| mask) };
    mask.map_or(ALL, |mask| number(mask).unwrap_or(ALL))
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(uses: Vec<Use>) -> Vec<u32> {
        uses.into_iter().map(|(_, bits)| bits).collect()
    }

    #[test]
    fn rules_of_policy_routing_say_which_bits_they_read() {
        let text = r#"[{"priority":0,"src":"all","table":"local"},
            {"priority":7,"src":"all","fwmark":"0x10000","fwmask":"0x10000","table":"100"},
            {"priority":8,"src":"all","fwmark":"0x5","table":"100"}]"#;
        let uses = of_rules("ip rule", text);
        assert_eq!(uses[0], ("ip rule 7: fwmark 0x10000/0x10000".into(), 0x10000));
        assert_eq!(uses[1], ("ip rule 8: fwmark 0x5/0xffffffff".into(), ALL));
        assert_eq!(of_rules("ip rule", ""), []);
    }

    #[test]
    fn statements_of_nftables_read_and_write_bits() {
        let mark = r#"{"meta":{"key":"mark"}}"#;
        for (statement, expected) in [
            (
                format!(r#"{{"mangle":{{"key":{mark},"value":{{"|":[{{"&":[{mark},4278452223]}},196608]}}}}}}"#),
                0xff_0000,
            ),
            (format!(r#"{{"mangle":{{"key":{mark},"value":{{"|":[{mark},1]}}}}}}"#), 1),
            (format!(r#"{{"mangle":{{"key":{mark},"value":{{"ct":{{"key":"mark"}}}}}}}}"#), ALL),
            (r#"{"mangle":{"key":{"ct":{"key":"mark"}},"value":7}}"#.into(), 0),
            (format!(r#"{{"match":{{"op":"==","left":{{"&":[{mark},65536]}},"right":65536}}}}"#), 0x10000),
            (format!(r#"{{"match":{{"op":"==","left":{mark},"right":5}}}}"#), ALL),
            (r#"{"counter":{"packets":0,"bytes":0}}"#.into(), 0),
        ] {
            let rule = format!(
                r#"{{"nftables":[{{"metainfo":{{}}}},
                    {{"rule":{{"family":"inet","table":"t","chain":"c","handle":2,"expr":[{statement}]}}}}]}}"#
            );
            let expected =
                if expected == 0 { vec![] } else { vec![("nftables rule inet t c handle 2".into(), expected)] };
            assert_eq!(of_nftables(&rule), expected, "{statement}");
        }
    }

    #[test]
    fn iptables_and_tc_say_which_bits_they_use() {
        let text = "*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j MARK --set-xmark 0x40000/0xff0000\n\
                    -A PREROUTING -m mark --mark 0x2/0x3 -j ACCEPT\n\
                    -A PREROUTING -j CONNMARK --restore-mark --nfmask 0xff00 --ctmask 0xffffffff\n\
                    -A PREROUTING -j CONNMARK --set-xmark 0x1/0xffffffff\n-A OUTPUT -j ACCEPT\nCOMMIT\n";
        let uses = of_iptables("iptables", text);
        assert_eq!(uses[0].0, "iptables -t mangle -A PREROUTING -j MARK --set-xmark 0x40000/0xff0000");
        assert_eq!(bits(uses), [0xff_0000, 3, 0xff00]);
        // The format is that of f_fw.c, f_u32.c and m_skbedit.c in iproute2.
        let text = "filter parent ffff: protocol ip pref 2 fw chain 0 handle 0x10000/0xff0000 classid 1:1\n\
                    filter parent ffff: protocol ip pref 3 fw chain 0 handle 0x7\n\
                    filter parent ffff: protocol ip pref 4 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0\n  \
                    mark 0x20000 0xf0000 (success 0)\n\taction order 1: skbedit  mark 32768/0x8000 pipe\n\
                    filter pref 5 bpf chain 0 handle 0x1 x.o direct-action\n";
        assert_eq!(bits(of_tc("tc", text)), [0xff_0000, ALL, 0xf_0000, 0x8000]);
    }
}
