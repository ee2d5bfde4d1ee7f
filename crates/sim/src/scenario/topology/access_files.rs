//! An access network described by LibreQoS's `network.json` and `ShapedDevices.csv`.
//!
//! Source: LibreQoS 2.2, docs/v2.0/configuration-advanced.md, src/virtual_tree_nodes.py.
//!
//! A scenario names the files. The code that loads the scenario converts their content to one text with
//! [`tree_of_files`]: nodes, groups of equal circuits of a node, and notes. `fairlane_libreqos` parses the files.
//! Virtual nodes are skipped; their children are attached to the next non-virtual ancestor (`build_physical_network`).
//!
//! Cost: one line per node, and one line per group of equal circuits of a node.
//!
//! Deviations:
//! 1. A circuit without a parent node, or below only virtual nodes, is attached to the gateway, and a note reports
//!    this. LibreQoS distributes such circuits over generated nodes.
//! 2. Only a tree of shapers (see `htb`) assures the minimum rates, if they are at least 1 kbit/s. LibreQoS requires
//!    the columns of minimum rates. Here the queue's `rate` applies if columns or fields are missing.
//! 3. No node may be called `gateway`, the name of the root.
//! 4. Addresses, names of circuits, queue overrides (`sqm`) and comments have no effect; a note names the columns.

use super::access_tree::{AccessNetworkParams, AccessNode, Subscribers, gateway};
use fairlane_libreqos::{Circuits, Column, Network, Use};
use fairlane_schemes::base::config::{ConfigError, Table, shortened};
use fairlane_schemes::base::units::BitRate;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

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

    /// Returns caveats about the files, each with its key.
    pub(super) fn notes(&self) -> Vec<(String, String)> {
        let json: Json = serde_json::from_str(&self.tree).unwrap_or_default();
        let of_file = |(key, notes): (&String, &Json)| -> Vec<_> {
            notes
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
                .map(|note| (key.clone(), note.to_string()))
                .collect()
        };
        json["notes"].as_object().into_iter().flatten().flat_map(of_file).collect()
    }
}

const COLUMNS: Use<'_> = Use {
    required: &[
        &[Column::ParentNode, Column::ParentNodeId, Column::AnchorNodeId],
        &[Column::DownloadMax],
        &[Column::UploadMax],
    ],
    optional: &[Column::DownloadMin, Column::UploadMin],
    compared: &[],
};

/// Values shared by equal circuits: node, maximum rates, and minimum rates.
type Alike = (usize, [Option<u64>; 2], [Option<u64>; 2]);

/// Reads the content of `network.json` for [`tree_of_files`].
///
/// # Errors
/// An error message.
pub fn nodes_of_network(content: &[u8]) -> Result<String, String> {
    let network = Network::read(content)?;
    if network.nodes.iter().any(|node| node.name == "gateway") {
        return Err("\"gateway\" is reserved: it is the name of the root, above all nodes".into());
    }
    Ok(json!(network).to_string())
}

/// Builds a tree from the nodes of [`nodes_of_network`] and the content of `ShapedDevices.csv`, in the form of a
/// scenario's `files.tree`. It contains nodes with parent index and rates, groups of equal subscribers with number,
/// plan and minimum rates, and notes.
///
/// # Errors
/// A wrong line, with its number.
pub fn tree_of_files(nodes: &str, devices: &[u8]) -> Result<String, String> {
    let network: Network = serde_json::from_str(nodes).map_err(|_| "not nodes of network.json")?;
    let circuits = Circuits::read(devices, Some(&network), COLUMNS)?;
    let (mut rows, mut index) = (Vec::new(), vec![0; network.nodes.len()]);
    let place =
        |node: Option<usize>, index: &[usize]| node.and_then(|node| network.real(node)).map_or(0, |real| index[real]);
    for (number, node) in network.nodes.iter().enumerate().filter(|(_, node)| !node.is_virtual) {
        let [down, up] = node.rates;
        rows.push(json!([node.name, place(node.parent, &index), down, up]));
        index[number] = rows.len();
    }
    let mut counts = BTreeMap::<Alike, u32>::new();
    for circuit in circuits.circuits {
        *counts.entry((place(circuit.node, &index), circuit.most, circuit.least)).or_insert(0) += 1;
    }
    let row = |((node, [down, up], least), count): (Alike, u32)| match least {
        // Writes minimum rates only if there are any, so the text of trees without minimum rates does not change.
        [None, None] => json!([node, count, down, up]),
        [least_down, least_up] => json!([node, count, down, up, least_down, least_up]),
    };
    let mut tree = json!({"nodes": rows, "subscribers": counts.into_iter().map(row).collect::<Vec<_>>()});
    if !(network.notes.is_empty() && circuits.notes.is_empty()) {
        tree["notes"] = json!({"network": network.notes, "devices": circuits.notes});
    }
    Ok(tree.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = r#"{"Site_1": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "type": "Site",
        "children": {"AP_A": {"downloadBandwidthMbps": 250, "uploadBandwidthMbps": 50},
                     "AP_B": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 100}}}}"#;
    const HEAD: &str = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
        Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\n";

    type Tree = (Vec<AccessNode>, Vec<Subscribers>, Vec<(String, String)>);

    fn tree(network: &str, rows: &str) -> Result<Tree, String> {
        let tree = tree_of_files(&nodes_of_network(network.as_bytes())?, format!("{HEAD}{rows}").as_bytes())?;
        let files = FilesConfig { network: String::new(), devices: String::new(), tree };
        let (nodes, subscribers) = files.tree(&AccessNetworkParams::default(), "files").unwrap();
        Ok((nodes, subscribers, files.notes()))
    }

    fn named(nodes: &[AccessNode]) -> Vec<(&str, Option<u32>, u64, bool)> {
        nodes.iter().map(|node| (node.name.as_str(), node.parent, node.rates[1].0, node.is_leaf)).collect()
    }

    #[test]
    fn files_of_libreqos_become_a_tree() {
        let (nodes, subscribers, notes) = tree(
            NETWORK,
            "1,\"968 Circle St., Gurnee\",1,D1,AP_A,,100.64.0.1,,25,5,155,20,\n\
             1,\"968 Circle St., Gurnee\",2,D2,AP_A,,100.64.0.2,,25,5,155,20,\n\
             2,x,3,D3,AP_A,,100.64.0.3,,25,5,155,20,\n3,y,4,D4,AP_B,,100.64.0.4,,,0.5,105,18,\n",
        )
        .unwrap();
        let expected = [
            ("gateway", None, 10_000_000_000, false),
            ("Site_1", Some(0), 500_000_000, false),
            ("AP_A", Some(1), 50_000_000, true),
            ("AP_B", Some(1), 100_000_000, true),
        ];
        assert_eq!(named(&nodes), expected);
        // The two devices of circuit 1 are one subscriber.
        let counts: Vec<_> = subscribers.iter().map(|some| (some.node, some.count, some.plan[0].0)).collect();
        assert_eq!(counts, [(2, 2, 155_000_000), (3, 1, 105_000_000)]);
        let least: Vec<_> = subscribers.iter().map(|some| some.least.map(|rate| rate.map(|rate| rate.0))).collect();
        assert_eq!(least, [[Some(25_000_000), Some(5_000_000)], [None, Some(500_000)]]);
        let note = "columns without effect: \"Circuit Name\", \"Device ID\", \"Device Name\", \"IPv4\"";
        assert_eq!(notes, [("devices".to_string(), note.to_string())]);
    }

    #[test]
    fn virtual_nodes_are_left_out_and_what_is_below_them_moves_up() {
        let group = |rest: &str| format!(r#"{{"downloadBandwidthMbps": 5, "uploadBandwidthMbps": 5, {rest}}}"#);
        let town = group(&format!(r#""type": "virtual", "children": {}"#, NETWORK.replace("Site_1", "Site_2")));
        let network = format!(
            r#"{{"Region": {{"virtual": true, "children": {{
            "Site": {{"downloadBandwidthMbps": 9, "uploadBandwidthMbps": 9, "children": {{"Town": {town}}}}}}}}}}}"#
        );
        let rows = "1,,,,Region,,,,1,1,9,9,\n2,,,,Town,,,,1,1,9,9,\n3,,,,Site_2,,,,1,1,9,9,\n";
        let (nodes, subscribers, notes) = tree(&network, rows).unwrap();
        let expected = [
            ("gateway", None, 10_000_000_000, false),
            ("Site", Some(0), 9_000_000, false),
            ("Site_2", Some(1), 500_000_000, false),
            ("AP_A", Some(2), 50_000_000, true),
            ("AP_B", Some(2), 100_000_000, true),
        ];
        assert_eq!(named(&nodes), expected);
        assert_eq!(subscribers.iter().map(|some| some.node).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(notes, [("network".into(), "virtual, so they limit nothing: \"Region\", \"Town\"".into())]);
    }

    #[test]
    fn without_columns_of_least_rates_and_nothing_to_note_a_tree_is_nodes_and_plans() {
        let nodes = nodes_of_network(NETWORK.as_bytes()).unwrap();
        let devices = b"Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps\n1,AP_A,50,10\n";
        let tree: Json = serde_json::from_str(&tree_of_files(&nodes, devices).unwrap()).unwrap();
        assert_eq!(tree["subscribers"], json!([[2, 1, 50_000_000, 10_000_000]]));
        assert!(tree.get("notes").is_none(), "{tree}");
    }

    #[test]
    fn a_circuit_without_a_parent_is_at_the_gateway() {
        for parent in ["", "none", "None"] {
            let (_, subscribers, _) = tree(NETWORK, &format!("1,,,,{parent},,,,25,5,155,20,\n")).unwrap();
            assert_eq!(subscribers[0].node, 0, "{parent}");
        }
    }

    #[test]
    fn a_node_may_not_have_the_name_of_the_root() {
        let network = NETWORK.replace("AP_A", "gateway");
        let problem = "\"gateway\" is reserved: it is the name of the root, above all nodes";
        assert_eq!(nodes_of_network(network.as_bytes()).unwrap_err(), problem);
    }
}
