//! `network.json`: nested nodes with their rates.

use crate::{A_RATE, bps, quoted, shown};
use fairlane_schemes::base::config::shortened;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::fmt;

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Name, unique in the network.
    pub name: String,
    /// Names from the root to the node, separated by `/`.
    pub path: String,
    /// Index of the parent node.
    pub parent: Option<usize>,
    /// Rates to the node and from it in bit/s. A virtual node may have none.
    pub rates: [Option<u64>; 2],
    /// True for a group without a limit (`is_virtual_node` in `virtual_tree_nodes.py`).
    pub is_virtual: bool,
    /// Identifier, unique in the network.
    pub id: Option<String>,
    /// Other names that circuits may use for the node (`collect_physical_parent_node_aliases`).
    pub aliases: Vec<String>,
}

/// The tree. Parents precede their children.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Warnings about the file.
    pub notes: Vec<String>,
}

/// Keys of the rates to a node and from it.
const RATES: [&str; 2] = ["downloadBandwidthMbps", "uploadBandwidthMbps"];
/// Other keys that have an effect.
const READ: [&str; 6] = ["children", "type", "virtual", "id", "name", "active_attachment_name"];

impl Network {
    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// If the file is not valid. The error is one line that names the node and key.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let (text, note) = crate::decode(bytes)?;
        let mut json = serde_json::Deserializer::from_str(&text);
        let root = Unique.deserialize(&mut json).and_then(|root| json.end().map(|()| root));
        let mut reader = NetworkReader::default();
        reader.nodes.notes.extend(note);
        reader.add("the file", &root.map_err(|error| json_problem(&error))?, None)?;
        if !reader.unread.is_empty() {
            let keys = quoted(reader.unread.iter().map(String::as_str));
            reader.nodes.notes.push(format!("keys without effect: {keys}"));
        }
        let nodes = reader.nodes.nodes.iter().filter(|node| node.is_virtual).map(|node| node.name.as_str());
        let names = quoted(nodes);
        if !names.is_empty() {
            reader.nodes.notes.push(format!("virtual, so they limit nothing: {}", shortened(&names)));
        }
        Ok(reader.nodes)
    }

    /// Returns the nearest node that is not virtual: the node itself or an ancestor.
    #[must_use]
    pub fn real(&self, node: usize) -> Option<usize> {
        let mut at = Some(node);
        while let Some(virtual_node) = at.filter(|&at| self.nodes[at].is_virtual) {
            at = self.nodes[virtual_node].parent;
        }
        at
    }
}

/// State while a network is read.
#[derive(Default)]
struct NetworkReader {
    nodes: Network,
    index: HashMap<String, usize>,
    ids: HashMap<String, usize>,
    /// Keys without effect, each listed once.
    unread: Vec<String>,
}

impl NetworkReader {
    /// Adds the nodes of the object at `place` and their descendants.
    fn add(&mut self, place: &str, below: &Json, parent: Option<usize>) -> Result<(), String> {
        let Some(map) = below.as_object() else {
            return Err(format!("{place}: {} is not an object of nodes by name", shown(&below.to_string())));
        };
        for (name, json) in map {
            let named = shown(name);
            let Some(keys) = json.as_object() else {
                return Err(format!("{named}: {} is not an object with the rates of a node", shown(&json.to_string())));
            };
            let node = self.node(name, keys, parent).map_err(|problem| format!("{named}.{problem}"))?;
            let own = self.nodes.nodes.len();
            if self.index.insert(name.clone(), own).is_some() {
                return Err(format!("\"{named}\" comes twice, names of nodes must differ"));
            }
            if let Some(other) = node.id.as_ref().and_then(|id| self.ids.insert(id.clone(), own)) {
                let other = shown(&self.nodes.nodes[other].name);
                return Err(format!("{named}.id: {} is also that of {other}", json["id"]));
            }
            self.nodes.nodes.push(node);
            if let Some(children) = keys.get("children").filter(|children| !children.is_null()) {
                self.add(&format!("{named}.children"), children, Some(own))?;
            }
        }
        Ok(())
    }

    fn node(&mut self, name: &str, keys: &Map<String, Json>, parent: Option<usize>) -> Result<Node, String> {
        for key in keys.keys().filter(|key| !RATES.contains(&key.as_str()) && !READ.contains(&key.as_str())) {
            if !self.unread.contains(key) {
                self.unread.push(key.clone());
            }
        }
        let text = |key: &str| match keys.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.trim().to_string()).filter(|text| !text.is_empty())),
            Some(Json::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(format!("{key}: {} is not text", shown(&other.to_string()))),
        };
        let is_virtual = match keys.get("virtual") {
            None | Some(Json::Null) => false,
            Some(Json::Bool(is_virtual)) => *is_virtual,
            Some(other) => return Err(format!("virtual: {} is not true or false", shown(&other.to_string()))),
        } || text("type")?.is_some_and(|kind| kind.eq_ignore_ascii_case("virtual"));
        let rate = |key: &str| match keys.get(key) {
            Some(value) => {
                let bps = value.as_f64().and_then(bps);
                let problem = || format!("{key}: {} is not {A_RATE}", shown(&value.to_string()));
                if bps.is_none() && is_virtual { Ok(None) } else { bps.ok_or_else(problem).map(Some) }
            }
            None if is_virtual => Ok(None),
            None => Err(format!("{key}: missing, must be {A_RATE}")),
        };
        let path = match parent {
            Some(parent) => format!("{}/{name}", self.nodes.nodes[parent].path),
            None => name.to_string(),
        };
        let aliases = [text("name")?, text("active_attachment_name")?].into_iter().flatten().collect();
        let rates = [rate(RATES[0])?, rate(RATES[1])?];
        Ok(Node { name: name.into(), path, parent, rates, is_virtual, id: text("id")?, aliases })
    }
}

/// Formats an error of a JSON text, with its position.
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

/// Reads a JSON value and rejects objects with duplicate keys; a map would silently keep only the last value.
#[derive(Clone, Copy)]
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("\"{}\" comes twice, names must differ", shown(&key))));
            }
            let value = map.next_value_seed(self)?;
            object.insert(key, value);
        }
        Ok(Json::Object(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Network, String> {
        Network::read(text.as_bytes())
    }

    #[test]
    fn nodes_have_their_path_their_rates_and_their_parent() {
        let network = read(
            r#"{"Region": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "type": "Site", "children": {
                "Town": {"virtual": true, "downloadBandwidthMbps": 0, "children": {
                "AP_A": {"downloadBandwidthMbps": 200.5, "uploadBandwidthMbps": 20, "id": "ap-a", "name": "AP A"}}}}},
                "Hill": {"type": "Virtual", "latitude": 1, "children": null}}"#,
        )
        .unwrap();
        let expected = Node {
            name: "AP_A".into(),
            path: "Region/Town/AP_A".into(),
            parent: Some(1),
            rates: [Some(200_500_000), Some(20_000_000)],
            is_virtual: false,
            id: Some("ap-a".into()),
            aliases: vec!["AP A".into()],
        };
        assert_eq!(network.nodes[2], expected);
        assert_eq!([0, 1, 2, 3].map(|node| network.real(node)), [Some(0), Some(0), Some(2), None]);
        let notes = ["keys without effect: \"latitude\"", "virtual, so they limit nothing: \"Town\", \"Hill\""];
        assert_eq!(network.notes, notes);
        assert_eq!(read("{}").unwrap(), Network::default());
    }

    #[test]
    fn mistakes_are_one_line_that_says_where() {
        let node = |rest: &str| format!(r#""A": {{"downloadBandwidthMbps": 1, "uploadBandwidthMbps": 1{rest}}}"#);
        let deep = format!("{}1{}", r#"{"a": "#.repeat(200), "}".repeat(200));
        let cases = [
            ("[]".into(), "the file: [] is not an object of nodes by name"),
            (format!("{{{}", node("")), "line 1: not JSON: EOF while parsing an object at column 60"),
            (format!("{{{}}} {{}}", node("")), "line 1: not JSON: trailing characters at column 63"),
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
            (format!("{{{}}}", node(r#", "virtual": "yes""#)), "A.virtual: \"yes\" is not true or false"),
            (
                format!("{{{}, {}}}", node(r#", "id": "x""#), node(r#", "id": "x""#).replace("\"A\"", "\"B\"")),
                "B.id: \"x\" is also that of A",
            ),
        ];
        for (text, problem) in cases {
            assert_eq!(read(&text).unwrap_err(), problem);
        }
    }
}
