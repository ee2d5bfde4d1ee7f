//! An access network as LibreQoS describes it, in `network.json` and `ShapedDevices.csv`.
//!
//! Source: LibreQoS, docs/Quickstart/configuration.md.
//!
//! `network.json` is a tree of nodes by name with `downloadBandwidthMbps`, `uploadBandwidthMbps` and `children`;
//! `ShapedDevices.csv` has a line for each device of a circuit with its parent node, its least and its greatest rates. A
//! scenario names the files; whoever reads it hands over their content as one text, which [`tree_of_files`] makes.
//!
//! Cost: a line for each node, and for all circuits of a node that are alike.
//!
//! Deviations:
//! 1. A circuit whose parent node is empty or `none` is at the gateway, and a note says so: LibreQoS deals such circuits out to
//!    nodes of its own making.
//! 2. Devices of a circuit are one subscriber. All its lines must have one parent node and the same rates: LibreQoS takes
//!    the rates of the first.
//! 3. Least rates, from 1 kbit/s up, are what a tree of shapers assures, see `htb`; other schemes do not look at them. Without these
//!    columns, and where a field is empty, `rate` of the queue stands for them: LibreQoS requires them.
//! 4. Names of nodes must differ everywhere in the tree, and none may be `gateway`, the root's.
//! 5. Addresses, names of circuits and comments are left out.

use super::access_tree::{AccessNetworkParams, AccessNode, Subscribers, gateway};
use fairlane_schemes::base::config::{ConfigError, Table, shortened};
use fairlane_schemes::base::units::BitRate;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// Files that a tree is read from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FilesConfig {
    network: String,
    devices: String,
    tree: String,
}

impl FilesConfig {
    pub(super) fn read(table: &mut Table<'_>) -> Result<Option<Self>, ConfigError> {
        let Some(mut table) = table.table("files")? else { return Ok(None) };
        let network = table.required_file("network", "network.json")?;
        let devices = table.required_file("devices", "ShapedDevices.csv")?;
        let Some(tree) = table.optional("tree", None)? else {
            let problem = format!("\"{}\" is the name of a file that nobody has read", shortened(&network));
            return Err(ConfigError::new(table.key("network"), problem));
        };
        table.finish()?;
        Ok(Some(Self { network, devices, tree }))
    }

    pub(super) fn write(&self) -> Json {
        json!({"network": self.network, "devices": self.devices, "tree": self.tree})
    }

    /// Nodes and subscribers.
    pub(super) fn tree(
        &self,
        params: &AccessNetworkParams,
        key: &str,
    ) -> Result<(Vec<AccessNode>, Vec<Subscribers>), ConfigError> {
        let wrong = || ConfigError::new(format!("{key}.tree"), "is not what the files give");
        let json: Json = serde_json::from_str(&self.tree).map_err(|_| wrong())?;
        let rows = |name: &str| json[name].as_array().cloned().ok_or_else(wrong);
        let number = |value: &Json| value.as_u64().ok_or_else(wrong);
        let rates = |row: &Json, at: usize| Ok([BitRate(number(&row[at])?), BitRate(number(&row[at + 1])?)]);
        let mut nodes = vec![gateway(params)];
        for row in rows("nodes")? {
            let name = row[0].as_str().ok_or_else(wrong)?.to_string();
            let parent = number(&row[1])? as u32;
            if parent as usize >= nodes.len() {
                return Err(wrong());
            }
            nodes.push(AccessNode { name, parent: Some(parent), rates: rates(&row, 2)?, is_leaf: true });
        }
        for parent in nodes.iter().filter_map(|node| node.parent).collect::<BTreeSet<_>>() {
            nodes[parent as usize].is_leaf = false;
        }
        let mut subscribers = Vec::new();
        for row in rows("subscribers")? {
            let (node, count) = (number(&row[0])? as u32, number(&row[1])? as u32);
            if node as usize >= nodes.len() {
                return Err(wrong());
            }
            let least = |at: usize| row[at].is_u64().then(|| number(&row[at]).map(BitRate)).transpose();
            subscribers.push(Subscribers { node, count, plan: rates(&row, 2)?, least: [least(4)?, least(5)?] });
        }
        Ok((nodes, subscribers))
    }
}

/// Bounds of a rate in these files, in bit/s.
const RATES: std::ops::RangeInclusive<f64> = 1e3..=1e13;
/// The same in a message.
const ALLOWED: &str = "a rate in Mbit/s from 0.001 to 10000000";
/// Byte order mark, which some programs put in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A rate in bit/s, if there can be one of so many Mbit/s.
fn bps(mbps: f64) -> Option<u64> {
    Some((mbps * 1e6).round()).filter(|rate| RATES.contains(rate)).map(|rate| rate as u64)
}

/// The nodes of the content of `network.json` as [`tree_of_files`] takes them: name, index of the parent, rates.
///
/// # Errors
/// Says what is wrong.
pub fn nodes_of_network(content: &str) -> Result<String, String> {
    let Unambiguous(json) =
        serde_json::from_str(content.trim_start_matches(BYTE_ORDER_MARK)).map_err(|error| json_problem(&error))?;
    let (mut nodes, mut index) = (Vec::new(), HashMap::new());
    add_nodes("the file", &json, 0, &mut nodes, &mut index)?;
    Ok(Json::Array(nodes).to_string())
}

/// What is wrong with a JSON text, and where.
fn json_problem(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let problem = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    match (error.classify(), problem) {
        (serde_json::error::Category::Data, _) => format!("line {line}: {problem}"),
        (_, "recursion limit exceeded") => format!("line {line}: is nested more deeply than 127 objects"),
        _ => format!("line {line}: not JSON: {problem} at column {column}"),
    }
}

/// A JSON value none of whose objects has a key twice: of such a key, a map would keep the last value in silence.
struct Unambiguous(Json);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unique)
    }
}

struct Unique;

impl<'de> Visitor<'de> for Unique {
    type Value = Unambiguous;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unambiguous, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("\"{}\" comes twice, names must differ", shortened(&key))));
            }
            let Unambiguous(value) = map.next_value()?;
            object.insert(key, value);
        }
        Ok(Unambiguous(Json::Object(object)))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Unambiguous, A::Error> {
        let mut array = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Unambiguous(Json::Array(array)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Unambiguous, E> {
        Ok(Unambiguous(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Unambiguous, E> {
        Ok(Unambiguous(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Unambiguous, E> {
        Ok(Unambiguous(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Unambiguous, E> {
        Ok(Unambiguous(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Unambiguous, E> {
        Ok(Unambiguous(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Unambiguous, E> {
        Ok(Unambiguous(Json::Null))
    }
}

/// Adds the nodes of the object that stands at `place`, and those below them.
fn add_nodes(
    place: &str,
    below: &Json,
    parent: u32,
    nodes: &mut Vec<Json>,
    index: &mut HashMap<String, u32>,
) -> Result<(), String> {
    let Some(map) = below.as_object() else {
        return Err(format!("{place}: {} is not an object of nodes by name", shortened(&below.to_string())));
    };
    for (name, node) in map {
        let shown = shortened(name);
        if name == "gateway" {
            return Err(format!("\"{shown}\" is reserved: it is the name of the root, above all nodes"));
        }
        if !node.is_object() {
            return Err(format!("{shown}: {} is not an object with the rates of a node", shortened(&node.to_string())));
        }
        nodes.push(json!([
            name,
            parent,
            rate_of(node, &shown, "downloadBandwidthMbps")?,
            rate_of(node, &shown, "uploadBandwidthMbps")?
        ]));
        let own = nodes.len() as u32;
        if index.insert(name.clone(), own).is_some() {
            return Err(format!("\"{shown}\" comes twice, names of nodes must differ"));
        }
        if let Some(children) = node.get("children").filter(|children| !children.is_null()) {
            add_nodes(&format!("{shown}.children"), children, own, nodes, index)?;
        }
    }
    Ok(())
}

fn rate_of(node: &Json, name: &str, key: &str) -> Result<u64, String> {
    let Some(value) = node.get(key) else { return Err(format!("{name}.{key}: missing, must be {ALLOWED}")) };
    value
        .as_f64()
        .and_then(bps)
        .ok_or_else(|| format!("{name}.{key}: {} is not {ALLOWED}", shortened(&value.to_string())))
}

/// The tree of the nodes of [`nodes_of_network`] and the content of `ShapedDevices.csv`, as `files.tree` of a scenario has
/// it: nodes with the index of their parent and rates, and subscribers that are alike with their number, plan and least
/// rates.
///
/// # Errors
/// Says what is wrong with which line.
pub fn tree_of_files(nodes: &str, devices: &str) -> Result<String, String> {
    let nodes: Vec<Json> = serde_json::from_str(nodes).map_err(|_| "not nodes of network.json")?;
    let names = nodes.iter().map(|node| node[0].as_str().unwrap_or_default().to_string());
    let subscribers = read_devices(devices, &names.zip(1..).collect())?;
    let row = |(of, count): (&Circuit, &u32)| {
        let [down, up] = of.most;
        // Only where they are: a tree without them stays as it was.
        match of.least {
            [None, None] => json!([of.node, count, down, up]),
            [least_down, least_up] => json!([of.node, count, down, up, least_down, least_up]),
        }
    };
    let rows: Vec<Json> = subscribers.iter().map(row).collect();
    Ok(json!({"nodes": nodes, "subscribers": rows}).to_string())
}

/// What of a circuit counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Circuit {
    node: u32,
    most: [u64; 2],
    least: [Option<u64>; 2],
}

/// Columns by the names of LibreQoS: of the circuit, its parent, its greatest and its least rates down and up.
const COLUMNS: [&str; 6] =
    ["Circuit ID", "Parent Node", "Download Max Mbps", "Upload Max Mbps", "Download Min Mbps", "Upload Min Mbps"];
/// How many of them must be there.
const REQUIRED: usize = 4;

/// A line of the devices.
struct Line<'a> {
    number: usize,
    /// A field for each of [`COLUMNS`]; empty where there is none.
    fields: [&'a str; COLUMNS.len()],
}

/// How many subscribers have the same node and rates.
fn read_devices(content: &str, nodes: &HashMap<String, u32>) -> Result<BTreeMap<Circuit, u32>, String> {
    let content = content.trim_start_matches(BYTE_ORDER_MARK);
    let mut lines = (1..).zip(content.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (number, head) = lines.next().ok_or("is empty, its first line has the names of the columns")?;
    let columns = columns_of(number, head)?;
    let (mut seen, mut counts) = (HashMap::new(), BTreeMap::new());
    for (number, line) in lines {
        let row = fields(line);
        let field = |column: Option<usize>| column.and_then(|at| row.get(at)).map_or("", |field| field.trim());
        let line = Line { number, fields: columns.map(field) };
        let circuit = line.circuit(nodes)?;
        let id = line.fields[0];
        if let Some((first, number)) = seen.get(id) {
            line.check_same(&circuit, first, *number)?;
            continue;
        }
        *counts.entry(circuit.clone()).or_insert(0) += 1;
        seen.insert(id.to_string(), (circuit, number));
    }
    Ok(counts)
}

/// Where each of [`COLUMNS`] is.
fn columns_of(number: usize, head: &str) -> Result<[Option<usize>; COLUMNS.len()], String> {
    let names = fields(head);
    let place = |wanted: &str| names.iter().position(|name| name.trim().eq_ignore_ascii_case(wanted));
    let columns = COLUMNS.map(place);
    match columns.iter().zip(COLUMNS).take(REQUIRED).find(|(place, _)| place.is_none()) {
        Some((_, missing)) => Err(format!("line {number}: no column \"{missing}\"")),
        None => Ok(columns),
    }
}

impl Line<'_> {
    fn circuit(&self, nodes: &HashMap<String, u32>) -> Result<Circuit, String> {
        if self.fields[0].is_empty() {
            return Err(self.problem(0, "is empty: devices of a circuit are told by its ID, every circuit needs one"));
        }
        let name = self.fields[1];
        let node = match nodes.get(name) {
            Some(&node) => node,
            None if name.is_empty() || name.eq_ignore_ascii_case("none") || nodes.is_empty() => 0,
            None => return Err(self.problem(1, "is not a node of network.json")),
        };
        let most = [self.rate(2)?, self.rate(3)?];
        let least = [self.least(4, most[0])?, self.least(5, most[1])?];
        Ok(Circuit { node, most, least })
    }

    fn rate(&self, column: usize) -> Result<u64, String> {
        let rate = self.fields[column].parse::<f64>().ok().and_then(bps);
        rate.ok_or_else(|| self.problem(column, &format!("is not {ALLOWED}")))
    }

    /// A least rate, if the field has one; `most` is the greatest.
    fn least(&self, column: usize, most: u64) -> Result<Option<u64>, String> {
        if self.fields[column].is_empty() {
            return Ok(None);
        }
        let least = self.rate(column)?;
        if least > most {
            let (name, of) = (COLUMNS[column - 2], self.fields[column - 2]);
            return Err(self.problem(column, &format!("is out of range, it must be at most {name}, {of}")));
        }
        Ok(Some(least))
    }

    /// Refuses another device of a circuit that is not as the `first`, which stands in line `number`.
    fn check_same(&self, circuit: &Circuit, first: &Circuit, number: usize) -> Result<(), String> {
        let same = [
            circuit.node == first.node,
            circuit.most[0] == first.most[0],
            circuit.most[1] == first.most[1],
            circuit.least[0] == first.least[0],
            circuit.least[1] == first.least[1],
        ];
        let Some(differing) = same.iter().position(|same| !same) else { return Ok(()) };
        let id = shortened(self.fields[0]);
        Err(self.problem(
            1 + differing,
            &format!("is not what circuit \"{id}\" has in line {number}: it is one subscriber"),
        ))
    }

    /// An error of the field of a column.
    fn problem(&self, column: usize, what: &str) -> String {
        format!("line {}: {}: \"{}\" {what}", self.number, COLUMNS[column], shortened(self.fields[column]))
    }
}

/// Fields of a line; one in quotes may have commas.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => fields.last_mut().expect("there is one").push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = r#"{"Site_1": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "type": "Site",
        "children": {"AP_A": {"downloadBandwidthMbps": 250, "uploadBandwidthMbps": 50},
                     "AP_B": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 100}}}}"#;
    const HEAD: &str = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
        Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\n";

    /// The tree of [`NETWORK`] and these lines.
    fn tree(rows: &str) -> Result<(Vec<AccessNode>, Vec<Subscribers>), String> {
        let tree = tree_of_files(&nodes_of_network(NETWORK)?, &format!("{HEAD}{rows}"))?;
        let files = FilesConfig { network: String::new(), devices: String::new(), tree };
        Ok(files.tree(&AccessNetworkParams::default(), "files").unwrap())
    }

    #[test]
    fn files_of_libreqos_become_a_tree() {
        let (nodes, subscribers) = tree(
            "1,\"968 Circle St., Gurnee\",1,D1,AP_A,,100.64.0.1,,25,5,155,20,\n\
             1,\"968 Circle St., Gurnee\",2,D2,AP_A,,100.64.0.2,,25,5,155,20,\n\
             2,x,3,D3,AP_A,,100.64.0.3,,25,5,155,20,\n3,y,4,D4,AP_B,,100.64.0.4,,,0.5,105,18,\n",
        )
        .unwrap();
        let nodes: Vec<_> =
            nodes.iter().map(|node| (node.name.as_str(), node.parent, node.rates[1].0, node.is_leaf)).collect();
        let expected = [
            ("gateway", None, 10_000_000_000, false),
            ("Site_1", Some(0), 500_000_000, false),
            ("AP_A", Some(1), 50_000_000, true),
            ("AP_B", Some(1), 100_000_000, true),
        ];
        assert_eq!(nodes, expected);
        // Two devices of circuit 1 are one subscriber.
        let counts: Vec<_> = subscribers.iter().map(|some| (some.node, some.count, some.plan[0].0)).collect();
        assert_eq!(counts, [(2, 2, 155_000_000), (3, 1, 105_000_000)]);
        let least: Vec<_> = subscribers.iter().map(|some| some.least.map(|rate| rate.map(|rate| rate.0))).collect();
        assert_eq!(least, [[Some(25_000_000), Some(5_000_000)], [None, Some(500_000)]]);
    }

    #[test]
    fn without_columns_of_least_rates_there_are_none() {
        let nodes = nodes_of_network(NETWORK).unwrap();
        let devices = "Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps\n1,AP_A,50,10\n";
        let tree: Json = serde_json::from_str(&tree_of_files(&nodes, devices).unwrap()).unwrap();
        assert_eq!(tree["subscribers"], json!([[2, 1, 50_000_000, 10_000_000]]));
    }

    #[test]
    fn a_circuit_without_a_parent_is_at_the_gateway() {
        for parent in ["", "none", "None"] {
            let (_, subscribers) = tree(&format!("1,,,,{parent},,,,25,5,155,20,\n")).unwrap();
            assert_eq!(subscribers[0].node, 0, "{parent}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_either_file() {
        let nodes = nodes_of_network(&format!("\u{feff}{NETWORK}")).unwrap();
        assert_eq!(nodes, nodes_of_network(NETWORK).unwrap());
        for devices in [format!("\u{feff}# of spring\n{HEAD}"), format!("\u{feff}{HEAD}")] {
            assert!(tree_of_files(&nodes, &devices).is_ok(), "{devices}");
        }
    }

    #[test]
    fn what_is_wrong_is_one_line_that_says_where() {
        let row = |rows: &str| tree(&format!("{rows}\n")).unwrap_err();
        assert_eq!(row("1,,,,AP_C,,,,25,5,155,20,"), "line 2: Parent Node: \"AP_C\" is not a node of network.json");
        assert_eq!(
            row("1,,,,AP_A,,,,25,5,fast,20,"),
            "line 2: Download Max Mbps: \"fast\" is not a rate in Mbit/s from 0.001 to 10000000"
        );
        assert_eq!(
            row("1,,,,AP_A,,,,25,0,155,20,"),
            "line 2: Upload Min Mbps: \"0\" is not a rate in Mbit/s from 0.001 to 10000000"
        );
        assert_eq!(
            row("1,,,,AP_A,,,,160,5,155,20,"),
            "line 2: Download Min Mbps: \"160\" is out of range, it must be at most Download Max Mbps, 155"
        );
        assert_eq!(
            row("1,,,,AP_A,,,,25,5,155,20,\n,,,,AP_A,,,,25,5,155,20,"),
            "line 3: Circuit ID: \"\" is empty: devices of a circuit are told by its ID, every circuit needs one"
        );
        let first = "1,,,,AP_A,,,,25,5,155,20,";
        assert_eq!(
            row(&format!("{first}\n1,,,,AP_B,,,,25,5,155,20,")),
            "line 3: Parent Node: \"AP_B\" is not what circuit \"1\" has in line 2: it is one subscriber"
        );
        assert_eq!(
            row(&format!("{first}\n1,,,,AP_A,,,,25,5,155,30,")),
            "line 3: Upload Max Mbps: \"30\" is not what circuit \"1\" has in line 2: it is one subscriber"
        );
        assert_eq!(tree_of_files("[]", "# x\na,b\n").unwrap_err(), "line 2: no column \"Circuit ID\"");
    }

    #[test]
    fn what_is_wrong_with_the_nodes_is_one_line_that_says_where() {
        let node = |rest: &str| format!(r#""A": {{"downloadBandwidthMbps": 1, "uploadBandwidthMbps": 1{rest}}}"#);
        let deep = format!("{}1{}", r#"{"a": "#.repeat(200), "}".repeat(200));
        let cases = [
            ("[]".into(), "the file: [] is not an object of nodes by name"),
            (format!("{{{}", node("")), "line 1: not JSON: EOF while parsing an object at column 60"),
            (deep, "line 1: is nested more deeply than 127 objects"),
            (r#"{"A": 5}"#.into(), "A: 5 is not an object with the rates of a node"),
            (
                r#"{"A": {"downloadBandwidthMbps": 1}}"#.into(),
                "A.uploadBandwidthMbps: missing, must be a rate in Mbit/s from 0.001 to 10000000",
            ),
            (
                r#"{"A": {"downloadBandwidthMbps": 0}}"#.into(),
                "A.downloadBandwidthMbps: 0 is not a rate in Mbit/s from 0.001 to 10000000",
            ),
            (format!("{{{},\n{}}}", node(""), node("")), "line 2: \"A\" comes twice, names must differ"),
            (
                format!("{{{}}}", node(&format!(r#", "children": {{{}}}"#, node("")))),
                "\"A\" comes twice, names of nodes must differ",
            ),
            (
                format!("{{{}}}", node(r#", "children": ["x"]"#)),
                "A.children: [\"x\"] is not an object of nodes by name",
            ),
            (r#"{"gateway": {}}"#.into(), "\"gateway\" is reserved: it is the name of the root, above all nodes"),
        ];
        for (content, problem) in cases {
            assert_eq!(nodes_of_network(&content).unwrap_err(), problem);
        }
        assert!(nodes_of_network(&format!("{{{}}}", node(r#", "children": null, "type": "AP""#))).is_ok());
    }
}
