//! The TOML file of a node: every key with its range. Each error is one line with key, value and allowed values.
//!
//! `examples/node/every-key.toml` lists every key. Sections: `[node]`, `[marker]`, `[users_table]`, `[default_user]`,
//! `[[users]]`, `[[ports]]` with `[ports.queue]`.

mod file;
mod keys;
mod mark;
mod name;
mod port;
mod prefix;
mod renamed;
mod text_value;
mod user;

pub use file::{LoadError, TomlFile, in_words};
pub use keys::{Section, sections};
pub use mark::{MarkMask, MarkMatch};
pub use name::{check_name, escaped, printable, shown_name};
pub use port::{Arrivals, BacklogSource, Carrier, FarEnd, Port, PortParams, QueueParams, QueueScheme, UserIs};
pub use prefix::{Prefix, PrefixError};
pub(crate) use renamed::refuse_renamed;
pub use user::{ClassRule, MeterOf, User, UserParams, UserTableParams, Who};

use fairlane_schemes::base::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::contract::flow_key::FlowKey;
use fairlane_schemes::label::abc::{AbcMarkerParams, AbcMeterKind};
use fairlane_schemes::label::csfq::CsfqMarkerParams;
use fairlane_schemes::{choices, params};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

choices! {
    /// Hook at which the programs are attached.
    pub enum Hook {
        /// TCX if the kernel has it (Linux 6.6), otherwise clsact.
        Auto = "auto",
        /// Filters of the qdisc clsact.
        Clsact = "clsact",
    }
}

choices! {
    /// Scheme of the labels on which ports base their decisions; the same on all nodes of a domain.
    pub enum NodeScheme {
        /// The activity of ABC.
        Abc = "abc",
        /// The rate of CSFQ, relative to the reference rate.
        Csfq = "csfq",
    }
}

params! {
    /// Settings of the whole node.
    pub struct NodeParams {
        /// Folder on a BPF file system in which maps and programs are pinned.
        pin_path: String = "/sys/fs/bpf/fairlane", source "our choice";
        /// Hook at which the programs are attached.
        hook: Hook = "auto", source "our choice";
        /// Bits of the packet mark that labels use within the node; other programs may use the other bits.
        mark_mask: MarkMask = "0xffff0000", source "our choice";
        /// Folder of the subscribers that are added and removed while the node runs.
        state_path: String = "/var/lib/fairlane", source "our choice";
    }
}

params! {
    /// Quantity that labels carry; the other keys of the marker are those of its scheme.
    pub struct MarkerParams {
        /// Scheme of the labels on which ports base their decisions. All keys of the marker must be the same on all
        /// nodes of a domain.
        scheme: NodeScheme = "abc", source "our choice";
    }
}

impl NodeParams {
    /// Makes folders independent of the working directory.
    fn check(&self) -> Result<(), ConfigError> {
        let usual = Self::default();
        let paths = [
            ("node.pin_path", &self.pin_path, usual.pin_path),
            ("node.state_path", &self.state_path, usual.state_path),
        ];
        match paths.into_iter().find(|(_, path, _)| !Path::new(path).is_absolute()) {
            Some((key, path, usual)) => {
                Err(ConfigError::new(key, format!("\"{path}\" is not an absolute path such as \"{usual}\"")))
            }
            None => Ok(()),
        }
    }
}

/// The configuration of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// `[node]`.
    pub node: NodeParams,
    /// `scheme` of `[marker]`.
    pub scheme: NodeScheme,
    /// Other keys of `[marker]` with ABC, the same on all nodes of a domain.
    pub abc_marker: AbcMarkerParams,
    /// Other keys of `[marker]` with CSFQ.
    pub csfq_marker: CsfqMarkerParams,
    /// `[users_table]`: number of meters and their timeout.
    pub users_table: UserTableParams,
    /// `[default_user]`: senders whose addresses belong to no user.
    pub default_user: UserParams,
    /// `[[users]]`; their prefixes are distinct.
    pub users: Vec<User>,
    /// `[[ports]]`, at least one; their interfaces are distinct.
    pub ports: Vec<Port>,
}

/// Keys of earlier versions, with their current names.
const RENAMED: [(&str, &str); 21] = [
    ("node.scheme", "marker.scheme"),
    ("meter", "marker"),
    ("csfq_meter", "marker, with scheme = \"csfq\""),
    ("default_user.class", "default_user.traffic_class"),
    ("users[].class", "users[].traffic_class"),
    ("ports[].ingress", "ports[].arrivals"),
    ("ports[].egress", "ports[].queue.scheme"),
    ("ports[].backlog", "ports[].queue.backlog"),
    ("ports[].limit", "ports[].queue.limit"),
    ("ports[].q_min", "ports[].queue.q_min"),
    ("ports[].q_base", "ports[].queue.q_base"),
    ("ports[].gamma", "ports[].queue.gamma"),
    ("ports[].averager_memory", "ports[].queue.averager_memory"),
    ("ports[].delay_estimate", "ports[].queue.delay_estimate"),
    ("ports[].q_threshold", "ports[].queue.q_threshold"),
    ("ports[].aggregate_constant", "ports[].queue.aggregate_constant"),
    ("ports[].window", "ports[].queue.window"),
    ("ports[].variant", "ports[].queue.variant"),
    ("ports[].cut_budget", "ports[].queue.cut_budget"),
    ("ports[].class_be", "ports[].qdisc_class_be"),
    ("ports[].class_ef", "ports[].qdisc_class_ef"),
];

impl NodeConfig {
    /// Folder of the subscribers.
    #[must_use]
    pub fn state_folder(&self) -> PathBuf {
        self.node.state_path.clone().into()
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has a wrong key or value.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let file = TomlFile::open(path)?;
        Self::read_all(&file.json).map_err(|errors| file.wrong(&errors))
    }

    /// Reads the tables of a configuration.
    ///
    /// # Errors
    /// A key is unknown, missing, of the wrong kind or out of range. Returns the first error.
    pub fn read(json: &Json) -> Result<Self, ConfigError> {
        Self::read_all(json).map_err(|mut errors| errors.swap_remove(0))
    }

    /// Like [`Self::read`], but returns the first error of every table.
    ///
    /// # Errors
    /// See [`Self::read`]. Returns at least one error.
    pub fn read_all(json: &Json) -> Result<Self, Vec<ConfigError>> {
        let mut errors = Vec::new();
        match Self::read_tables(json, &mut errors) {
            Ok(Some(config)) => return Ok(config),
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
        Err(errors)
    }

    /// Reads all tables and appends their errors. Returns `None` if there were any.
    fn read_tables(json: &Json, errors: &mut Vec<ConfigError>) -> Result<Option<Self>, ConfigError> {
        refuse_renamed(json, &RENAMED)?;
        let mut root = Table::new("", json)?;
        let node = kept(section(&mut root, "node").and_then(|node: NodeParams| node.check().map(|()| node)), errors);
        let users_table = kept(section::<UserTableParams>(&mut root, "users_table"), errors);
        let marker = kept(read_marker(&mut root), errors);
        let default_user = kept(section::<UserParams>(&mut root, "default_user"), errors);
        let inherited = default_user.clone().unwrap_or_default();
        let mut users = root.tables("users")?;
        let users = users.iter_mut().filter_map(|user| kept(User::read(user, &inherited), errors)).collect();
        let ports = root.tables("ports")?.iter_mut().filter_map(|port| kept(Port::read(port), errors)).collect();
        kept(root.finish(), errors);
        match (node, users_table, marker, default_user) {
            (Some(node), Some(users_table), Some((scheme, abc_marker, csfq_marker)), Some(default_user))
                if errors.is_empty() =>
            {
                let config = Self { node, scheme, abc_marker, csfq_marker, users_table, default_user, users, ports };
                config.check().map(|()| Some(config))
            }
            _ => Ok(None),
        }
    }

    /// Checks across tables.
    fn check(&self) -> Result<(), ConfigError> {
        let Self { scheme, users_table, users, ports, .. } = self;
        let scheme = *scheme;
        match scheme {
            NodeScheme::Abc => users_table.check("marker.memory", self.abc_marker.memory)?,
            NodeScheme::Csfq => users_table.check("marker.rate_constant", self.csfq_marker.rate_constant)?,
        }
        if ports.is_empty() {
            return Err(ConfigError::new("ports", "missing, give at least one [[ports]] table"));
        }
        for (i, port) in ports.iter().enumerate() {
            let of_queue = match port.queue.scheme {
                QueueScheme::DropTail => scheme,
                QueueScheme::Abc => NodeScheme::Abc,
                QueueScheme::Csfq => NodeScheme::Csfq,
            };
            if of_queue != scheme {
                let problem = format!("\"{}\" does not go with marker.scheme \"{}\"", of_queue.name(), scheme.name());
                return Err(ConfigError::new(format!("ports[{i}].queue.scheme"), problem));
            }
            if ports[..i].iter().any(|other| other.interface == port.interface) {
                return Err(ConfigError::new(
                    format!("ports[{i}].interface"),
                    format!("\"{}\" is in another table already", port.interface),
                ));
            }
        }
        check_users(users, users_table)
    }

    /// Adds users after the existing ones.
    ///
    /// # Errors
    /// A user has an identifier of another user, or there are too many users.
    pub fn add_users(&mut self, users: impl Iterator<Item = User>) -> Result<(), ConfigError> {
        self.users.extend(users);
        check_users(&self.users, &self.users_table)
    }
}

/// Returns the value of a result, or appends its error to `errors`.
fn kept<T>(read: Result<T, ConfigError>, errors: &mut Vec<ConfigError>) -> Option<T> {
    read.map_err(|error| errors.push(error)).ok()
}

/// Checks that no two users share an identifier or a name, and that the table has enough slots.
fn check_users(users: &[User], table: &UserTableParams) -> Result<(), ConfigError> {
    let (mut known, mut names) = (HashSet::new(), HashSet::new());
    for (i, user) in users.iter().enumerate() {
        if let Some(who) = user.who.iter().find(|who| !known.insert(**who)) {
            let problem = format!("\"{who}\" belongs to another user already");
            return Err(ConfigError::new(format!("users[{i}].{}", who.key()), problem));
        }
        if !names.insert(user.name.as_str()) {
            let problem = format!("\"{}\" is the name of another user already", user.name);
            return Err(ConfigError::new(format!("users[{i}].name"), problem));
        }
    }
    let marks = known.iter().filter(|who| matches!(who, Who::Mark(_))).count();
    if marks > User::MOST_MARKS {
        return Err(ConfigError::new("users", format!("{marks} users by mark, {} at most", User::MOST_MARKS)));
    }
    match table.configured {
        Some(places) if users.len() > places as usize => Err(ConfigError::new(
            "users_table.configured",
            format!("{places} is too few, there are {} [[users]]", users.len()),
        )),
        _ => Ok(()),
    }
}

/// Parses `[marker]`: the scheme, and the parameters of both schemes. The parameters of the unused scheme are defaults.
fn read_marker(root: &mut Table<'_>) -> Result<(NodeScheme, AbcMarkerParams, CsfqMarkerParams), ConfigError> {
    let (mut abc, mut csfq) = (AbcMarkerParams::default(), CsfqMarkerParams::default());
    let Some(mut table) = root.table("marker")? else { return Ok((NodeScheme::Abc, abc, csfq)) };
    let MarkerParams { scheme } = MarkerParams::read(&mut table)?;
    match scheme {
        NodeScheme::Abc => abc = AbcMarkerParams::read(&mut table)?,
        NodeScheme::Csfq => csfq = CsfqMarkerParams::read(&mut table)?,
    }
    table.finish()?;
    if csfq.share_per != FlowKey::User {
        return Err(ConfigError::new("marker.share_per", "is not possible here, the only one is \"user\""));
    }
    if abc.meter != AbcMeterKind::Normal {
        return Err(ConfigError::new("marker.meter", "is not possible here, the only one is \"normal\""));
    }
    Ok((scheme, abc, csfq))
}

/// The table `name`, if present.
pub(crate) fn section<P: ParamSet>(root: &mut Table<'_>, name: &'static str) -> Result<P, ConfigError> {
    let Some(mut table) = root.table(name)? else { return Ok(P::default()) };
    let params = P::read(&mut table)?;
    table.finish()?;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::label::abc::AbcParams;
    use serde_json::json;

    fn example() -> Json {
        toml::from_str(include_str!("../../../../examples/node/every-key.toml")).unwrap()
    }

    fn message(json: &Json) -> String {
        NodeConfig::read(json).unwrap_err().to_string()
    }

    /// Returns the example configuration with one value changed.
    fn changed(pointer: &str, value: Json) -> Json {
        let mut json = example();
        *json.pointer_mut(pointer).unwrap() = value;
        json
    }

    #[test]
    fn the_example_has_every_key_and_its_default() {
        let config = NodeConfig::read(&example()).unwrap();
        assert_eq!((config.ports.len(), config.users.len()), (2, 5));
        let json = example();
        let has = |table: &str, specs: Vec<fairlane_schemes::base::config::ParamSpec>, same: bool| {
            for spec in specs {
                let value = json.pointer(&format!("{table}/{}", spec.name));
                assert!(value.is_some(), "{table}/{}", spec.name);
                // Keys without a default get an example value.
                let same = same && !spec.default.is_null();
                assert!(!same || value == Some(&spec.default), "{table}/{}: {value:?}", spec.name);
            }
        };
        has("/node", NodeParams::specs(), true);
        has("/marker", AbcMarkerParams::specs(), true);
        has("/users_table", UserTableParams::specs(), true);
        has("/default_user", UserParams::specs(), true);
        has("/users/0", UserParams::specs(), false);
        has("/ports/1", PortParams::specs(), false);
        has("/ports/1/queue", QueueParams::specs(), false);
        has("/ports/1/queue", AbcParams::specs(), true);
    }

    #[test]
    fn the_example_of_a_point_of_presence_is_a_right_one() {
        let json: Json = toml::from_str(include_str!("../../../../examples/node/pop.toml")).unwrap();
        let config = NodeConfig::read(&json).unwrap();
        assert_eq!(
            config.ports.iter().map(|port| port.params.user_is).collect::<Vec<_>>(),
            [UserIs::Source, UserIs::Destination]
        );
        assert_eq!(config.users[2].who.len(), 2);
    }

    #[test]
    fn mistakes_are_told_in_one_line_with_key_value_and_what_is_allowed() {
        let cases = [
            (
                "/node/pin_path",
                json!(""),
                "node.pin_path: \"\" is not an absolute path such as \"/sys/fs/bpf/fairlane\"",
            ),
            ("/node/pin_path", json!("fairlane"), "node.pin_path: \"fairlane\" is not an absolute path"),
            (
                "/ports/1/queue/q_base",
                json!("5 ms"),
                "ports[1].queue.q_base: \"5 ms\" is in delay, but q_min \"12 packets\" is in packets: give q_min, \
                 q_base and gamma in one unit",
            ),
            (
                "/ports/1/queue/limit",
                json!("30 kB"),
                "ports[1].queue.limit: \"30000 B\" is not in packets, which q_min \"12 packets\" asks for",
            ),
            (
                "/ports/1/queue/backlog",
                json!("virtual"),
                "ports[1].queue.backlog: \"virtual\" counts no packets: give q_min, q_base, gamma and limit in bytes \
                 or time",
            ),
            (
                "/ports/1/qdisc_class_ef",
                json!("0:10"),
                "ports[1].qdisc_class_ef: \"0:10\" is not a class of a qdisc such as \"1:10\" (hexadecimal)",
            ),
            (
                "/ports/1/queue/q_min",
                json!("0 packets"),
                "ports[1].queue.q_min: \"0 packets\" is out of range, it must be above 0: otherwise an empty queue \
                 drops packets",
            ),
            ("/ports/1/interface", json!("eth0"), "ports[1].interface: \"eth0\" is in another table already"),
            (
                "/ports/0/arrivals",
                json!("trusted"),
                "ports[0].carrier: \"none\" brings no labels to trust, it must be 802.1ad, ipv6_option or shim",
            ),
            (
                "/ports/0/interface",
                json!("a name too long"),
                "ports[0].interface: \"a name too long\" is not a name of a network interface, 1 to 15 characters",
            ),
            (
                "/users/0/prefix",
                json!("192.0.2.1/28"),
                "users[0].prefix: \"192.0.2.1/28\" is not a prefix such as \"10.0.1.0/24\": it has bits behind its \
                 length, 192.0.2.0/28 has none",
            ),
            ("/users/1/name", json!("alice"), "users[1].name: \"alice\" is the name of another user already"),
            ("/users/1/name", json!(""), "users[1].name: \"\" has 0 characters, it must have from 1 to 128"),
            (
                "/users/1/prefix",
                json!(["192.0.9.0/28", "300.1.1.1"]),
                "users[1].prefix: \"300.1.1.1\" is not a prefix such as \"10.0.1.0/24\": it has the octet 300, which \
                 must be from 0 to 255",
            ),
            (
                "/users/1/prefix",
                json!("192.0.2.0/28"),
                "users[1].prefix: \"192.0.2.0/28\" belongs to another user already",
            ),
            (
                "/users_table/timeout",
                json!("29 s"),
                "users_table.timeout: \"29 s\" is out of range, it must be at least 10 times marker.memory, 30 s",
            ),
            ("/marker/meter", json!("fair"), "marker.meter: is not possible here, the only one is \"normal\""),
            ("/ports/1/queue/scheme", json!("csfq"), "ports[1].queue.average_over: unknown key"),
            ("/users/2/vlan", json!(4095), "users[2].vlan: 4095 is out of range, it must be from 1 to 4094"),
            (
                "/users/4/mark",
                json!("0x10/0x0f"),
                "users[4].mark: \"0x10/0x0f\" is not a mark with its mask, no bit outside of it such as \"0x10/0xff\"",
            ),
            ("/ports", json!([]), "ports: missing, give at least one [[ports]] table"),
        ];
        for (pointer, value, expected) in cases {
            let message = message(&changed(pointer, value));
            assert!(message.starts_with(expected), "{message}");
        }
        let with = |table: &str, key: &str, value: Json| {
            let mut json = example();
            json.pointer_mut(table).unwrap()[key] = value;
            message(&json)
        };
        assert_eq!(
            with("/users/0", "c_vlan", json!(7)),
            "users[0].c_vlan: is the inner tag and needs s_vlan, the outer one; a single 802.1Q tag is vlan"
        );
        let mut mixed = json!({"ports": [{"interface": "a", "rate": "10 Mbit/s", "queue": {"scheme": "csfq"}}]});
        assert_eq!(message(&mixed), "ports[0].queue.scheme: \"csfq\" does not go with marker.scheme \"abc\"");
        mixed["marker"] = json!({"scheme": "csfq", "share_per": "flow"});
        assert_eq!(message(&mixed), "marker.share_per: is not possible here, the only one is \"user\"");
        mixed["marker"] = json!({"scheme": "csfq"});
        assert!(NodeConfig::read(&mixed).is_ok());
        mixed["ports"][0]["queue"]["cut_budget"] = json!("per_window");
        assert_eq!(message(&mixed), "ports[0].queue.cut_budget: is not possible here, the only one is \"on_entry\"");
        mixed["ports"][0] = json!({"interface": "a", "queue": {"scheme": "csfq"}});
        assert_eq!(message(&mixed), "ports[0].rate: missing, csfq cannot do without");
        let own = |key: &str, value: Json| {
            let mut port = json!({
                "interface": "a", "rate": "10 Mbit/s",
                "queue": {"scheme": "abc", "backlog": "bpf", "limit": "24 packets", "scheduler": "medf"},
            });
            port["queue"][key] = value;
            NodeConfig::read(&json!({"ports": [port]})).map_err(|error| error.to_string())
        };
        assert_eq!(
            own("be_offset", json!(1.5)).unwrap().ports[0].be_offset(),
            Some(fairlane_schemes::base::units::Time::from_micros(43_200))
        );
        for (key, value, expected) in [
            ("scheme", json!("droptail"), "ports[0].queue.backlog: \"bpf\" is a queue for scheme \"abc\" only"),
            ("ecn", json!(true), "ports[0].queue.ecn: backlog \"bpf\" cannot mark packets, use \"qdisc\""),
            ("limit", Json::Null, "ports[0].queue.limit: missing, backlog \"bpf\" has no other limit"),
            (
                "backlog",
                json!("qdisc"),
                "ports[0].queue.scheduler: only backlog \"bpf\" has one; other qdiscs have qdisc_class_be and \
                 qdisc_class_ef",
            ),
        ] {
            assert_eq!(own(key, value).unwrap_err(), expected);
        }
        let mut own = changed("/ports/1/queue/backlog", json!("bpf"));
        assert_eq!(
            message(&own),
            "ports[1].queue.backlog: \"bpf\" has no qdisc_class_be and qdisc_class_ef, use scheduler"
        );
        own["ports"][1]["queue"]["be_offset"] = json!(1.5);
        assert_eq!(message(&own), "ports[1].queue.be_offset: only scheduler \"medf\" has one");
        mixed = json!({"marker": {"scheme": "csfq"}, "ports": [{"interface": "a", "rate": "10 Mbit/s"}]});
        mixed["ports"][0]["queue"] = json!({"scheme": "csfq", "backlog": "bpf", "limit": "24 packets"});
        assert_eq!(
            message(&mixed),
            "ports[0].queue.backlog: \"bpf\" cannot write the new labels of csfq into packets, use \"qdisc\""
        );
        let mut unknown = example();
        unknown["ports"][0]["carier"] = json!("none");
        assert_eq!(message(&unknown), "ports[0].carier: unknown key (value \"none\"); did you mean carrier?");
    }

    #[test]
    fn a_key_of_an_earlier_version_is_refused_with_its_name_now() {
        let port = |more: Json| {
            let mut port = json!({"interface": "a"});
            port.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            message(&json!({"users": [{"vlan": 1}], "ports": [{"interface": "b"}, port]}))
        };
        assert_eq!(port(json!({"egress": "abc"})), "ports[1].egress: is now ports[].queue.scheme");
        assert_eq!(port(json!({"class_be": "1:1"})), "ports[1].class_be: is now ports[].qdisc_class_be");
        assert_eq!(message(&json!({"meter": {}})), "meter: is now marker");
        assert_eq!(message(&json!({"node": {"scheme": "abc"}})), "node.scheme: is now marker.scheme");
        assert_eq!(message(&json!({"users": [{"class": "dscp"}]})), "users[0].class: is now users[].traffic_class");
    }

    #[test]
    fn a_file_that_is_no_toml_is_told_with_its_line() {
        let path = std::env::temp_dir().join(format!("fairlane-node-{}.toml", std::process::id()));
        std::fs::write(&path, "[node]\npin_path = \n").unwrap();
        let message = NodeConfig::load(&path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(message.starts_with(&format!("{}: line 2: ", path.display())) && !message.contains('\n'), "{message}");
        let missing = NodeConfig::load(&path).unwrap_err().to_string();
        assert_eq!(missing, format!("{}: there is no such file", path.display()));
    }
}
