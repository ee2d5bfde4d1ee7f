//! An access network as LibreQoS describes it, in `network.json` and `ShapedDevices.csv`.
//!
//! Source: LibreQoS, docs/Quickstart/configuration.md.
//!
//! `network.json` is a tree of nodes by name with `downloadBandwidthMbps`, `uploadBandwidthMbps` and `children`;
//! `ShapedDevices.csv` has a line for each device of a circuit with its parent node and its greatest rates. A
//! scenario names the files; whoever reads it hands over their content as one text, which [`tree_of_files`] makes.
//!
//! Cost: a line for each node, and for all circuits of a node that are alike.
//!
//! Deviations:
//! 1. A circuit without a parent node is the gateway's own only if the tree has no other node; else it is refused.
//! 2. Devices of a circuit are one subscriber: the first line counts.
//! 3. Addresses, names and comments are left out, and so are least rates: a tree of shapers assures everyone the `rate` of its
//!    queue.

use super::access_tree::{AccessNetworkParams, AccessNode, Subscribers, gateway};
use fairlane_schemes::base::config::{ConfigError, Table, shortened};
use fairlane_schemes::base::units::BitRate;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
        let (network, devices): (String, String) = (table.required("network")?, table.required("devices")?);
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
            subscribers.push(Subscribers { node, count, plan: rates(&row, 2)? });
        }
        Ok((nodes, subscribers))
    }
}

/// The tree of the content of both files, as `files.tree` of a scenario has it: nodes with the index of their parent and
/// rates, and subscribers that are alike with their number and plan.
///
/// # Errors
/// Says what is wrong, and in which file.
pub fn tree_of_files(network: &str, devices: &str) -> Result<String, String> {
    let json: Json = serde_json::from_str(network).map_err(|error| format!("network: {error}"))?;
    let root = json.as_object().ok_or("network: not an object of nodes")?;
    let (mut nodes, mut index) = (Vec::new(), HashMap::new());
    add_nodes(root, 0, &mut nodes, &mut index)?;
    let subscribers = read_devices(devices, &index)?;
    let rows: Vec<Json> =
        subscribers.iter().map(|((node, rates), count)| json!([node, count, rates[0], rates[1]])).collect();
    Ok(json!({"nodes": nodes, "subscribers": rows}).to_string())
}

fn add_nodes(
    map: &Map<String, Json>,
    parent: u32,
    nodes: &mut Vec<Json>,
    index: &mut HashMap<String, u32>,
) -> Result<(), String> {
    for (name, node) in map {
        let rate = |key: &str| {
            let rate = node[key].as_f64().map(|rate| (rate * 1e6).round()).filter(|rate| (1e3..=1e13).contains(rate));
            rate.map(|rate| rate as u64).ok_or_else(|| {
                format!(
                    "network: {}.{key}: {} is not a rate in Mbit/s from 0.001 to 10000000",
                    shortened(name),
                    node[key]
                )
            })
        };
        nodes.push(json!([name, parent, rate("downloadBandwidthMbps")?, rate("uploadBandwidthMbps")?]));
        let own = nodes.len() as u32;
        if name == "gateway" || index.insert(name.clone(), own).is_some() {
            return Err(format!("network: \"{}\" comes twice, names of nodes must differ", shortened(name)));
        }
        if let Some(children) = node.get("children").and_then(Json::as_object) {
            add_nodes(children, own, nodes, index)?;
        }
    }
    Ok(())
}

/// Columns by the names of LibreQoS: of the circuit, its parent, and its greatest rates down and up.
const COLUMNS: [&str; 4] = ["Circuit ID", "Parent Node", "Download Max Mbps", "Upload Max Mbps"];

/// How many subscribers have the same node and rates.
fn read_devices(content: &str, nodes: &HashMap<String, u32>) -> Result<BTreeMap<(u32, [u64; 2]), u32>, String> {
    let mut lines = (1..).zip(content.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (_, head) = lines.next().ok_or("devices: is empty, its first line has the names of the columns")?;
    let names = fields(head);
    let mut columns = [0; COLUMNS.len()];
    for (column, wanted) in columns.iter_mut().zip(COLUMNS) {
        let same = |name: &String| name.trim().trim_start_matches('\u{feff}').eq_ignore_ascii_case(wanted);
        *column = names.iter().position(same).ok_or_else(|| format!("devices: line 1: no column \"{wanted}\""))?;
    }
    let (mut seen, mut counts) = (BTreeSet::new(), BTreeMap::new());
    for (number, line) in lines {
        let row = fields(line);
        let field = |column: usize| row.get(columns[column]).map_or("", |field| field.trim());
        if !seen.insert(field(0).to_string()) {
            continue;
        }
        let node = match nodes.get(field(1)) {
            Some(&node) => node,
            None if nodes.is_empty() => 0,
            None => {
                return Err(format!("devices: line {number}: \"{}\" is not a node of network", shortened(field(1))));
            }
        };
        let rate = |column: usize| {
            let rate = field(column).parse::<f64>().ok().map(|rate| (rate * 1e6).round());
            rate.filter(|rate| (1e3..=1e13).contains(rate)).map(|rate| rate as u64).ok_or_else(|| {
                format!(
                    "devices: line {number}: {}: \"{}\" is not a rate in Mbit/s from 0.001 to 10000000",
                    COLUMNS[column],
                    shortened(field(column))
                )
            })
        };
        *counts.entry((node, [rate(2)?, rate(3)?])).or_insert(0) += 1;
    }
    Ok(counts)
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

    #[test]
    fn files_of_libreqos_become_a_tree() {
        let devices = format!(
            "{HEAD}1,\"968 Circle St., Gurnee\",1,D1,AP_A,,100.64.0.1,,25,5,155,20,\n\
             1,\"968 Circle St., Gurnee\",2,D2,AP_A,,100.64.0.2,,25,5,155,20,\n\
             2,x,3,D3,AP_A,,100.64.0.3,,25,5,155,20,\n3,y,4,D4,AP_B,,100.64.0.4,,25,5,105,18,\n"
        );
        let tree = tree_of_files(NETWORK, &devices).unwrap();
        let files = FilesConfig { network: String::new(), devices: String::new(), tree };
        let (nodes, subscribers) = files.tree(&AccessNetworkParams::default(), "files").unwrap();
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
    }

    #[test]
    fn what_is_wrong_is_one_line_that_says_where() {
        let row = |row: &str| tree_of_files(NETWORK, &format!("{HEAD}{row}\n")).unwrap_err();
        assert_eq!(row("1,,,,AP_C,,,,25,5,155,20,"), "devices: line 2: \"AP_C\" is not a node of network");
        assert_eq!(
            row("1,,,,AP_A,,,,25,5,fast,20,"),
            "devices: line 2: Download Max Mbps: \"fast\" is not a rate in Mbit/s from 0.001 to 10000000"
        );
        assert_eq!(tree_of_files("{}", "a,b\n").unwrap_err(), "devices: line 1: no column \"Circuit ID\"");
        assert!(tree_of_files("[]", HEAD).unwrap_err().starts_with("network: "));
        let error = tree_of_files(r#"{"a": {"downloadBandwidthMbps": 1}}"#, HEAD).unwrap_err();
        assert!(error.starts_with("network: a.uploadBandwidthMbps: null is not a rate"), "{error}");
    }
}
