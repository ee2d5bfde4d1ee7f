//! Checks each requirement of `attach`.

use super::attach::{check_node, check_pin_path, default_rule, places_there, record_of, same_place};
use super::links::{Link, RootQdisc, links, root_qdiscs};
use super::marks;
use super::programs::{Mode, Programs, is_there};
use super::tcx::{self, Side};
use super::users::unfit;
use super::{KernelError, Labels, PortView, SILENT, Snapshot, hook, qdisc};
use crate::config::{Arrivals, BacklogSource, Carrier, MeterOf, NodeConfig, Port, QueueScheme, User, Who};
use crate::io::aggregating_offloads;
use crate::records::{Places, RuleRecord};
use fairlane_schemes::base::units::Threshold;
use serde::Serialize;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// State of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Requirement met.
    Ok,
    /// `attach` works, but the node may not behave as intended.
    Warning,
    /// `attach` fails, or skips a port.
    Missing,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Subject of the check.
    pub what: String,
    /// State of the check.
    pub state: State,
    /// Problem, or details.
    pub text: String,
}

impl Finding {
    /// Creates a finding.
    #[must_use]
    pub fn new(what: impl Into<String>, state: State, text: impl Into<String>) -> Self {
        Self { what: what.into(), state, text: text.into() }
    }

    /// Creates a finding: `Missing` if there is a problem, otherwise `Ok`.
    fn of(what: &str, problem: Option<String>) -> Self {
        let state = if problem.is_some() { State::Missing } else { State::Ok };
        Self::new(what, state, problem.unwrap_or_default())
    }
}

/// Checks whether the kernel and, with a configuration, the rest of the machine meet the requirements of `attach`.
#[must_use]
pub fn check(config: Option<&NodeConfig>) -> Vec<Finding> {
    let exists = |path: &str| (!Path::new(path).exists()).then(|| format!("there is no {path}"));
    let places = config.map_or(Places { configured: 1, addresses: 1 }, Places::of);
    // Except for tc, loading the programs tests all requirements: kernel types and functions, timers, locks, maps, and
    // memory for the maps.
    let programs = Programs::load(Mode::Unpinned, places);
    let own_qdisc = config.filter(|config| config.ports.iter().any(Port::has_own_qdisc)).and_then(|_| {
        let problem = match (qdisc::missing(), &programs) {
            (Some(reason), _) => Some(reason),
            (None, Ok(programs)) => qdisc::problem(programs),
            // The finding about the programs gives the reason.
            (None, Err(_)) => return None,
        };
        Some(Finding::of("BPF qdisc", problem))
    });
    let mut findings = vec![
        Finding::of("types of the kernel", exists("/sys/kernel/btf/vmlinux")),
        Finding::of("kernel programs", programs.err().map(|error| error.to_string())),
        match tcx::is_there() {
            true => Finding::new("TCX", State::Ok, ""),
            false => Finding::new("TCX", State::Warning, "not in this kernel, clsact is used in its place"),
        },
    ];
    findings.extend(own_qdisc);
    match config {
        None => findings.push(Finding::of("BPF file system", has_bpf_file_system())),
        Some(config) => {
            let folder = Path::new(&config.node.pin_path);
            let problem = |checked: Result<(), KernelError>| checked.err().map(|error| error.to_string());
            findings.push(Finding::of("pin path", problem(check_pin_path(folder))));
            if let Some(text) = problem(check_node(config, folder)) {
                findings.push(Finding::new("what is attached", State::Missing, text));
            }
            findings.push(users_table(config, folder));
            findings.extend(two_meters(config).map(|text| Finding::new("meters of addresses", State::Warning, text)));
            findings.extend(ports(config));
            findings.extend(labels(folder));
            let interfaces: Vec<&str> = config.ports.iter().map(|port| port.interface.as_str()).collect();
            let marks = marks::overlapping(config.node.mark_mask, &interfaces);
            findings.extend(marks.into_iter().map(|text| Finding::new("marks", State::Warning, text)));
        }
    }
    findings
}

/// Reports ports that do not write labels yet, or strip labels without announcing this. Empty if no program is
/// attached.
fn labels(folder: &Path) -> Vec<Finding> {
    // Problems with the pins are already reported.
    let ports = Snapshot::without_users(folder).ok().flatten().map_or_else(Vec::new, |snapshot| snapshot.ports);
    let of = |port: &PortView| {
        let waits = (port.labels == Labels::Waiting).then(|| port.labels_in_words()).flatten();
        waits.or_else(|| port.is_silent.then(|| SILENT.into()))
    };
    let texts = ports.iter().filter_map(|port| Some((format!("port {}", port.interface), of(port)?)));
    texts.map(|(what, text)| Finding::new(what, State::Warning, text)).collect()
}

/// Percentage of the table entries that configured users may use without a warning.
const MOST_TAKEN: u64 = 80;

fn has_bpf_file_system() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_there = mounts.lines().any(|line| line.split(' ').nth(2) == Some("bpf"));
    (!is_there).then(|| "none is mounted; `mount -t bpf bpf /sys/fs/bpf` makes one".into())
}

fn users_table(config: &NodeConfig, folder: &Path) -> Finding {
    let what = "users table";
    let mut places = Places::of(config);
    if is_there(folder) {
        match places_there(config, folder) {
            Ok(there) => places = there,
            Err(error) => return Finding::new(what, State::Missing, error.to_string()),
        }
    }
    if let Some(text) = unfit_user(config) {
        return Finding::new(what, State::Missing, text);
    }
    if let Some(text) = too_small(config).or_else(|| almost_full(config, places)) {
        return Finding::new(what, State::Warning, text);
    }
    let (users, addresses) = (config.users.len(), places.addresses);
    Finding::new(what, State::Ok, format!("{users} users of {}, room for {addresses} addresses", places.configured))
}

/// Returns an error text if parameters of a user are out of range for the integer arithmetic.
fn unfit_user(config: &NodeConfig) -> Option<String> {
    let of = |user: &User| RuleRecord::new(0, &user.params, config).map_err(|error| unfit("users", &error)).map(drop);
    let all = default_rule(config).and_then(|_| config.users.iter().try_for_each(of));
    all.err().map(|error| error.to_string())
}

/// Warns if the table will soon be full.
fn almost_full(config: &NodeConfig, places: Places) -> Option<String> {
    let (users, places) = (config.users.len(), places.configured);
    (users as u64 * 100 > u64::from(places) * MOST_TAKEN).then(|| {
        format!(
            "{users} of {places} places are taken, above {MOST_TAKEN} %: subscribers that find none are refused; raise \
             users_table.configured, then detach and attach"
        )
    })
}

/// Warns if a prefix with more addresses than table entries does not limit its per-address meters.
fn too_small(config: &NodeConfig) -> Option<String> {
    let limit = config.users_table.limit;
    let prefixes = config
        .users
        .iter()
        .filter(|user| user.params.meter_of == MeterOf::Address && user.params.address_limit.is_none());
    prefixes.flat_map(|user| &user.who).find_map(|who| match who {
        Who::Prefix(prefix) if u32::from(128 - prefix.bits()) > limit.ilog2() => Some(format!(
            "{prefix} has 2^{} addresses with a meter each, users_table.limit is {limit}: the others share one meter; \
             give the prefix an address_limit, or meter_of = \"prefix\"",
            128 - prefix.bits()
        )),
        _ => None,
    })
}

/// Warns if a host with an IPv4 and an IPv6 address has two meters and therefore two shares.
fn two_meters(config: &NodeConfig) -> Option<String> {
    let each = |user: &&User| user.params.meter_of == MeterOf::Address;
    let has = |user: &User, is_ipv4: bool| {
        user.who.iter().any(|who| !matches!(who, Who::Prefix(prefix) if prefix.address().is_ipv4() != is_ipv4))
    };
    let default = (config.default_user.meter_of == MeterOf::Address).then_some("[default_user]".into());
    let by_address = |is_ipv4| {
        let user = config.users.iter().filter(each).find(|user| has(user, is_ipv4));
        default.clone().or_else(|| user.map(|user| format!("user \"{}\"", user.name)))
    };
    let (v4, v6) = (by_address(true)?, by_address(false)?);
    let where_ = if v4 == v6 { v4 } else { format!("{v4} and {v6}") };
    Some(format!(
        "meter_of = \"address\" of {where_}: a host with an address of IPv4 and one of IPv6 has two meters and gets \
         twice its share; make it a user that has all its prefixes"
    ))
}

/// Returns findings about ports: one per port without problems, or one per problem.
fn ports(config: &NodeConfig) -> Vec<Finding> {
    let (links, roots) = match links().and_then(|links| Ok((links, root_qdiscs()?))) {
        Ok(answers) => answers,
        Err(error) => return vec![Finding::new("ports", State::Missing, format!("asking the kernel: {error}"))],
    };
    let by_name: HashMap<&str, &Link> = links.iter().map(|link| (link.name.as_str(), link)).collect();
    let mut findings = Vec::new();
    let mut indices = Vec::new();
    for port in &config.ports {
        let what = format!("port {}", port.interface);
        let Some(link) = by_name.get(port.interface.as_str()) else {
            findings.push(Finding::new(what, State::Missing, "there is no such interface in this network namespace"));
            continue;
        };
        indices.push((port.interface.clone(), link.index));
        let root = roots.iter().find(|root| root.index == link.index);
        if let Some(text) = port_problem(config, port, link, root) {
            findings.push(Finding::new(what, State::Missing, text));
            continue;
        }
        let problems = port_warnings(config, port, link, root.map(|root| root.kind.as_str()));
        if problems.is_empty() {
            findings.push(Finding::new(what, State::Ok, ""));
        } else {
            findings.extend(problems.into_iter().map(|text| Finding::new(what.as_str(), State::Warning, text)));
        }
    }
    findings.extend(same_place(&indices).map(|error| Finding::new("ports", State::Missing, error.to_string())));
    findings
}

fn port_problem(config: &NodeConfig, port: &Port, link: &Link, root: Option<&RootQdisc>) -> Option<String> {
    let folder = Path::new(&config.node.pin_path);
    let record = match record_of(config, port, link.index, link.framing, false) {
        Ok(record) => record,
        Err(error) => return Some(error.to_string()),
    };
    let foreign = root.filter(|_| port.has_own_qdisc()).and_then(|root| qdisc::foreign(root, folder));
    if foreign.is_some() {
        return foreign;
    }
    let is_taken = || link.has_xdp && !hook::has_link(folder, link.index, Side::Unwrap);
    (record.has_unwrap() && is_taken()).then(|| "another program is at XDP, which carrier \"shim\" needs".into())
}

/// Qdiscs that report no backlog, so the AQM would always find an empty queue.
const WITHOUT_BACKLOG: [&str; 2] = ["noqueue", "pfifo_fast"];

/// Size of a maximum-size Ethernet packet with a label.
const LARGEST_LABELLED: u32 = 1508;

fn port_warnings(config: &NodeConfig, port: &Port, link: &Link, qdisc: Option<&str>) -> Vec<String> {
    let name = &port.interface;
    let mut texts = Vec::new();
    if !link.is_up {
        texts.push("the interface is down".into());
    }
    if hook::has_another_node(Path::new(&config.node.pin_path), link.index) {
        texts.push(
            "programs of another node are attached as well, with pins in another folder: both meter, label and drop \
             its packets; detach one of them"
                .into(),
        );
    }
    let manages = port.queue.scheme != QueueScheme::DropTail;
    if manages
        && port.queue.backlog == BacklogSource::Qdisc
        && let Some(kind) = qdisc.filter(|kind| WITHOUT_BACKLOG.contains(kind))
    {
        texts.push(format!(
            "the root qdisc {kind} keeps no backlog, the AQM sees an empty queue; use tbf, htb or pfifo, or \
             backlog = \"virtual\""
        ));
    }
    let has_shim = matches!(port.params.carrier, Carrier::Ipv6Option | Carrier::Shim);
    if let Some(mtu) = link.mtu.filter(|mtu| has_shim && *mtu < LARGEST_LABELLED) {
        texts.push(format!(
            "the MTU {mtu} has no room for packets of 1500 bytes with a label of 8, they are dropped; \
             `ip link set {name} mtu {LARGEST_LABELLED}`, or routes over it with `mtu {}`",
            mtu.saturating_sub(LARGEST_LABELLED - 1500)
        ));
    }
    texts.extend(aggregates(config, port, link));
    texts
}

/// Warns if a port has thresholds in packets but counts a GSO packet of up to 64 kB as one packet.
fn aggregates(config: &NodeConfig, port: &Port, link: &Link) -> Option<String> {
    let counts = |port: &Port| {
        port.queue.scheme != QueueScheme::DropTail
            && port.thresholds().iter().any(|(_, threshold)| matches!(threshold, Threshold::Packets(_)))
    };
    let brings = port.params.arrivals != Arrivals::None && config.ports.iter().any(counts);
    let relevant: &[&str] = match (counts(port), brings) {
        (true, true) => &["tso", "gso", "gro"],
        (true, false) => &["tso", "gso"],
        (false, true) => &["gro"],
        (false, false) => return None,
    };
    let on: Vec<&str> = aggregating_offloads(&port.interface)
        .into_iter()
        .filter(|offload| relevant.contains(offload))
        .filter(|offload| *offload == "gro" || link.gso_max_segs != Some(1))
        .collect();
    let off: String = on.iter().map(|offload| format!(" {offload} off")).collect();
    (!on.is_empty()).then(|| {
        format!(
            "{} make one packet of many, and thresholds are in packets: give them in bytes, or `ethtool -K {}{off}`",
            on.join(", "),
            port.interface
        )
    })
}

/// Warnings of `attach` about the existing ports.
#[must_use]
pub fn warnings(config: &NodeConfig) -> Vec<Finding> {
    let folder = Path::new(&config.node.pin_path);
    let full = || places_there(config, folder).ok().and_then(|places| almost_full(config, places));
    let table = too_small(config).or_else(full).map(|text| Finding::new("users table", State::Warning, text));
    table.into_iter().chain(ports(config)).filter(|finding| finding.state == State::Warning).collect()
}
