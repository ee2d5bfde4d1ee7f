//! `ShapedDevices.csv` of LibreQoS 1.4 to 2.2: one row per device of a circuit, with parent and rates.
//!
//! Source: LibreQoS 2.2, src/rust/lqos_config/src/shaped_devices/, src/rust/lqos_topology/src/shaping_inputs.rs,
//! src/LibreQoS.py, docs/v2.0/configuration-advanced.md; LibreQoS 1.4, src/LibreQoS.py.
//!
//! Columns are found by name, independent of order, capitals and spaces. Rows with the same `Circuit ID` are devices of
//! one circuit. Its node is given by `Anchor Node ID`, otherwise by `Parent Node ID`, otherwise by `Parent Node`. A
//! note lists unused columns that are not empty.
//!
//! Cost: each byte is read twice, and a hash table finds a circuit by its identifier.
//!
//! Deviations:
//! 1. A row must have as many cells as the header, and the header must name required columns. LibreQoS accepts shifted
//!    cells, columns without a name at their usual position, and short rows.
//! 2. All devices of a circuit must have the same parent, rates and, if used, name. LibreQoS uses rates and name of the
//!    first device.
//! 3. A named parent must be in `network.json`, unless this has no nodes. LibreQoS warns and attaches the circuit to a
//!    generated node.
//! 4. A node that is not virtual must have both rates. LibreQoS replaces missing or zero rates by those of the parent.
//! 5. An identifier must not contain `#`. LibreQoS's documentation says so, but its code does not check it.
//! 6. A file that is not UTF-8 and has no byte order mark is read as Windows-1252, which includes Latin-1, with a note.
//!    LibreQoS tries this encoding first, which always succeeds.

use crate::{A_RATE, Network, Table, bps, decode, quoted, shown};
use std::collections::HashMap;

/// A circuit: a subscriber with all its devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// Identifier shared by its devices; contains no `#`.
    pub id: String,
    /// Name; empty if there is none.
    pub name: String,
    /// Line of its first device.
    pub line: u64,
    /// Index of the circuit's node, which may be virtual; `None` without a network or a parent.
    pub node: Option<usize>,
    /// Name of its parent, as in the file.
    pub parent: Option<String>,
    /// Maximum rates down and up in bit/s.
    pub most: [Option<u64>; 2],
    /// Assured rates down and up in bit/s.
    pub least: [Option<u64>; 2],
    /// Addresses and prefixes of all devices, as in the file.
    pub addresses: Vec<String>,
}

/// The circuits of a file, in the order of their first devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circuits {
    /// The circuits.
    pub circuits: Vec<Circuit>,
    /// Lines of devices without an address.
    pub without_address: Vec<u64>,
    /// Warnings about the file.
    pub notes: Vec<String>,
}

/// A column that is used. A note lists the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Column {
    CircuitId,
    CircuitName,
    ParentNode,
    ParentNodeId,
    AnchorNodeId,
    Ipv4,
    Ipv6,
    DownloadMax,
    UploadMax,
    DownloadMin,
    UploadMin,
}

/// Names of the columns in the order of [`Column`], and in the form that `ShapedDevice::csv_layout` compares: only
/// letters and digits, in lower case. Names that LibreQoS itself writes, such as `circuit_id`, have the same form.
const COLUMNS: [(&str, [&str; 2]); 11] = [
    ("Circuit ID", ["circuitid", ""]),
    ("Circuit Name", ["circuitname", ""]),
    ("Parent Node", ["parentnode", ""]),
    ("Parent Node ID", ["parentnodeid", ""]),
    ("Anchor Node ID", ["anchornodeid", "id"]),
    ("IPv4", ["ipv4", ""]),
    ("IPv6", ["ipv6", ""]),
    ("Download Max Mbps", ["downloadmaxmbps", "downloadmax"]),
    ("Upload Max Mbps", ["uploadmaxmbps", "uploadmax"]),
    ("Download Min Mbps", ["downloadminmbps", "downloadmin"]),
    ("Upload Min Mbps", ["uploadminmbps", "uploadmin"]),
];

impl Column {
    fn name(self) -> &'static str {
        COLUMNS[self as usize].0
    }

    /// Index among the columns of a header.
    pub(crate) fn find(self, columns: &[String]) -> Option<usize> {
        let normal = |name: &String| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
        };
        columns
            .iter()
            .map(normal)
            .position(|name| !name.is_empty() && COLUMNS[self as usize].1.contains(&name.as_str()))
    }
}

/// Columns that a reader of circuits uses.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    /// Groups of columns. The header must name at least one column of each group. If a group has only one column, every
    /// row must have a value in it. [`Column::CircuitId`] is always required.
    pub required: &'a [&'a [Column]],
    /// Optional columns.
    pub optional: &'a [Column],
    /// Columns of rates that have no effect, but must be equal for all devices of a circuit.
    pub compared: &'a [Column],
}

/// Returns true if the header of a text from [`decode`] is that of `ShapedDevices.csv`.
///
/// # Errors
/// If the text is not a table.
pub fn is_shaped_devices(text: &str) -> Result<bool, String> {
    Ok(Column::CircuitId.find(&Table::open(text)?.columns).is_some())
}

impl Circuits {
    /// Parses the bytes of a file. Parents must be in `network`, if there is one with nodes.
    ///
    /// # Errors
    /// If the file is not valid. The error is one line that names line, column and value.
    pub fn read(bytes: &[u8], network: Option<&Network>, uses: Use<'_>) -> Result<Self, String> {
        let (text, note) = decode(bytes)?;
        let mut circuits = Self::of_text(&text, network, uses)?;
        circuits.notes.splice(0..0, note);
        Ok(circuits)
    }

    /// Parses a text from [`decode`].
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn of_text(text: &str, network: Option<&Network>, uses: Use<'_>) -> Result<Self, String> {
        let mut table = Table::open(text)?;
        let mut reader = CircuitReader::new(&table, network, uses)?;
        let (mut found, mut index) = (Self::default(), HashMap::<String, usize>::new());
        while let Some((line, row)) = table.next("a cell with commas, such as two addresses, needs quotes")? {
            let circuit = reader.circuit(line, row).map_err(|problem| format!("line {line}: {problem}"))?;
            if circuit.addresses.is_empty() {
                found.without_address.push(line);
            }
            match index.get(&circuit.id) {
                Some(&first) => {
                    let first = &mut found.circuits[first];
                    reader.check_same(&circuit, first).map_err(|problem| format!("line {line}: {problem}"))?;
                    first.addresses.extend(circuit.addresses);
                }
                None => {
                    index.insert(circuit.id.clone(), found.circuits.len());
                    found.circuits.push(circuit);
                }
            }
        }
        found.notes = reader.notes(&table.columns);
        Ok(found)
    }
}

/// Indices of columns, and data collected from rows.
struct CircuitReader<'a> {
    /// Index of each used column of [`COLUMNS`], if present.
    places: [Option<usize>; COLUMNS.len()],
    uses: Use<'a>,
    /// Nodes by name and by identifier; `None` without a network.
    nodes: Option<[HashMap<&'a str, usize>; 2]>,
    /// For each column of the header, true if any row has a non-empty cell in it.
    is_filled: Vec<bool>,
    /// Number of rows whose anchor is not in the network, and number of rows whose parent identifier is not in it.
    unknown: [usize; 2],
}

impl<'a> CircuitReader<'a> {
    fn new(table: &Table<'_>, network: Option<&'a Network>, uses: Use<'a>) -> Result<Self, String> {
        let mut places = [None; COLUMNS.len()];
        let required = uses.required.iter().copied().chain([[Column::CircuitId].as_slice()]);
        for &column in required.clone().flatten().chain(uses.optional).chain(uses.compared) {
            places[column as usize] = column.find(&table.columns);
        }
        if let Some(group) = required.clone().find(|group| group.iter().all(|&one| places[one as usize].is_none())) {
            return Err(table.missing(group[0].name()));
        }
        let nodes = network.filter(|network| !network.nodes.is_empty()).map(|network| {
            let [mut names, mut ids] = [HashMap::new(), HashMap::new()];
            for (index, node) in network.nodes.iter().enumerate() {
                names.insert(node.name.as_str(), index);
                ids.extend(node.id.iter().map(|id| (id.as_str(), index)));
            }
            for (index, node) in network.nodes.iter().enumerate() {
                node.aliases.iter().for_each(|alias| _ = names.entry(alias).or_insert(index));
            }
            [names, ids]
        });
        Ok(Self { places, uses, nodes, is_filled: vec![false; table.columns.len()], unknown: [0; 2] })
    }

    fn has_effect(&self, column: Column) -> bool {
        !self.uses.compared.contains(&column)
    }

    fn cell<'r>(&self, row: &'r csv::StringRecord, column: Column) -> Option<&'r str> {
        self.places[column as usize].and_then(|place| row.get(place)).filter(|cell| !cell.is_empty())
    }

    /// Reads the circuit of a device.
    fn circuit(&mut self, line: u64, row: &csv::StringRecord) -> Result<Circuit, String> {
        for (is_filled, cell) in self.is_filled.iter_mut().zip(row) {
            *is_filled |= !cell.is_empty();
        }
        let text = |column| self.cell(row, column).map(str::to_string);
        let id = text(Column::CircuitId).ok_or("Circuit ID: missing, every circuit needs one")?;
        if id.contains('#') {
            return Err(format!("Circuit ID: \"{}\" has a \"#\"", shown(&id)));
        }
        let rate = |column: Column| match self.cell(row, column) {
            Some(cell) => {
                let problem = || format!("{}: \"{}\" is not {A_RATE}", column.name(), shown(cell));
                let rate = cell.parse().ok().and_then(bps);
                if self.has_effect(column) { rate.ok_or_else(problem).map(Some) } else { Ok(rate) }
            }
            None if self.uses.required.contains(&[column].as_slice()) => {
                Err(format!("{}: missing, must be {A_RATE}", column.name()))
            }
            None => Ok(None),
        };
        let most = [rate(Column::DownloadMax)?, rate(Column::UploadMax)?];
        let least = [rate(Column::DownloadMin)?, rate(Column::UploadMin)?];
        for way in 0..2 {
            let [more, less] =
                [[Column::DownloadMax, Column::DownloadMin], [Column::UploadMax, Column::UploadMin]][way];
            if let (Some(most), Some(least)) = (most[way], least[way])
                && least > most
                && self.has_effect(less)
            {
                let [of, cell] = [more, less].map(|column| self.cell(row, column).unwrap_or_default());
                let (name, other) = (less.name(), more.name());
                return Err(format!("{name}: \"{cell}\" is out of range, it must be at most {other}, {of}"));
            }
        }
        let prefixes = [Column::Ipv4, Column::Ipv6].into_iter().filter_map(|column| self.cell(row, column));
        let separate = |cell: &'_ str| -> Vec<String> {
            cell.split([',', ';', ' ', '\n']).filter(|one| !one.is_empty()).map(str::to_string).collect()
        };
        let addresses = prefixes.flat_map(separate).collect();
        let (name, parent) =
            (text(Column::CircuitName).unwrap_or_default().replace('\n', " "), text(Column::ParentNode));
        let parent = parent.filter(|parent| !parent.eq_ignore_ascii_case("none"));
        let [anchor, parent_id] = [text(Column::AnchorNodeId), text(Column::ParentNodeId)];
        let node = self.node(anchor.as_deref(), parent_id.as_deref(), parent.as_deref())?;
        Ok(Circuit { id, name, line, node, parent, most, least, addresses })
    }

    /// Finds the node of a circuit by its anchor, else by its parent's identifier, else by its parent's name
    /// (`build_shaping_inputs` in shaping_inputs.rs, `_resolve_effective_parent_node` in LibreQoS.py).
    fn node(&mut self, anchor: Option<&str>, id: Option<&str>, name: Option<&str>) -> Result<Option<usize>, String> {
        let Some([names, ids]) = &self.nodes else { return Ok(None) };
        let by_id = |id: Option<&str>| id.and_then(|id| ids.get(id).copied());
        let by_name = name.and_then(|name| names.get(name).copied());
        let [of_anchor, of_id] = [by_id(anchor), by_id(id)];
        if let (None, Some(id), Some(of_id), Some(of_name)) = (of_anchor, id, of_id, by_name)
            && of_id != of_name
        {
            let name = shown(name.unwrap_or_default());
            return Err(format!("Parent Node ID: \"{}\" is not the node \"{name}\" of Parent Node", shown(id)));
        }
        self.unknown[0] += usize::from(anchor.is_some() && of_anchor.is_none());
        self.unknown[1] += usize::from(id.is_some() && of_id.is_none());
        let found = of_anchor.or(of_id).or(by_name);
        let named = [(Column::ParentNode, name), (Column::ParentNodeId, id), (Column::AnchorNodeId, anchor)];
        match named.into_iter().find_map(|(column, named)| Some((column, named?))) {
            Some((column, named)) if found.is_none() => {
                Err(format!("{}: \"{}\" is not a node of network.json", column.name(), shown(named)))
            }
            _ => Ok(found),
        }
    }

    /// Returns an error if a further device of a circuit differs from the `first` in parent, rates or name.
    fn check_same(&self, circuit: &Circuit, first: &Circuit) -> Result<(), String> {
        let is_known = circuit.node.is_some();
        let same = [
            (Column::CircuitName, circuit.name == first.name),
            (Column::ParentNode, circuit.node == first.node && (is_known || circuit.parent == first.parent)),
            (Column::DownloadMax, circuit.most[0] == first.most[0]),
            (Column::UploadMax, circuit.most[1] == first.most[1]),
            (Column::DownloadMin, circuit.least[0] == first.least[0]),
            (Column::UploadMin, circuit.least[1] == first.least[1]),
        ];
        match same.into_iter().find_map(|(column, is_same)| (!is_same).then_some(column)) {
            Some(column) => {
                let (id, line, name) = (shown(&first.id), first.line, column.name());
                Err(format!("{name}: differs from that of circuit \"{id}\" in line {line}: it is one subscriber"))
            }
            None => Ok(()),
        }
    }

    fn notes(&self, columns: &[String]) -> Vec<String> {
        let mut notes = Vec::new();
        for (unknown, column) in self.unknown.into_iter().zip([Column::AnchorNodeId, Column::ParentNodeId]) {
            if unknown > 0 {
                let s = if unknown == 1 { " has" } else { "s have" };
                let name = column.name();
                notes.push(format!(
                    "{unknown} row{s} an {name} that network.json does not have: Parent Node stands for it"
                ));
            }
        }
        let mut places = self.places;
        self.uses.compared.iter().for_each(|&column| places[column as usize] = None);
        let is_unread = |(place, _): &(usize, &String)| self.is_filled[*place] && !places.contains(&Some(*place));
        let unread = columns.iter().enumerate().filter(is_unread);
        let names = quoted(unread.map(|(_, name)| name.as_str()));
        if !names.is_empty() {
            notes.push(format!("columns without effect: {names}"));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = r#"{"Site_1": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "id": "s1",
        "children": {"AP_A": {"downloadBandwidthMbps": 250, "uploadBandwidthMbps": 50, "id": "a", "name": "Alpha"},
        "AP_B": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 100, "id": "b"}}}}"#;
    /// Columns of LibreQoS 1.4, 2.0 and 2.1. Version 2.2 has two more columns, and a file with overrides of queues has
    /// one more.
    const HEAD: &str = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
        Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment";
    const HEAD_22: &str = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,Parent Node ID,\
        Anchor Node ID,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment";

    const ALL: Use<'_> = Use {
        required: &[&[Column::DownloadMax], &[Column::UploadMax]],
        optional: &[
            Column::CircuitName,
            Column::ParentNode,
            Column::ParentNodeId,
            Column::AnchorNodeId,
            Column::Ipv4,
            Column::Ipv6,
            Column::DownloadMin,
            Column::UploadMin,
        ],
        compared: &[],
    };

    fn read(head: &str, rows: &str) -> Result<Circuits, String> {
        let network = Network::read(NETWORK.as_bytes()).unwrap();
        Circuits::read(format!("{head}\n{rows}\n").as_bytes(), Some(&network), ALL)
    }

    fn problem(row: &str) -> String {
        read(HEAD, row).unwrap_err()
    }

    #[test]
    fn devices_with_the_same_identifier_are_one_circuit() {
        let found = read(
            HEAD,
            "1,\"1 First St., Town\",1,D1,AP_A,,\"100.64.0.1, 100.64.0.14\",fdd7::/56,25,5,155,20,\n\
             2,,2,D2,none,,,,,0.5,2.5,1,\n\
             1,\"1 First St., Town\",3,D3,AP_A,,100.64.0.3,,25,5,155,20,\n",
        )
        .unwrap();
        let first = Circuit {
            id: "1".into(),
            name: "1 First St., Town".into(),
            line: 2,
            node: Some(1),
            parent: Some("AP_A".into()),
            most: [Some(155_000_000), Some(20_000_000)],
            least: [Some(25_000_000), Some(5_000_000)],
            addresses: ["100.64.0.1", "100.64.0.14", "fdd7::/56", "100.64.0.3"].map(Into::into).into(),
        };
        assert_eq!(found.circuits[0], first);
        let second = &found.circuits[1];
        assert_eq!((second.node, second.parent.as_deref(), second.least), (None, None, [None, Some(500_000)]));
        assert_eq!((found.circuits.len(), found.without_address), (2, vec![3]));
        assert_eq!(found.notes, ["columns without effect: \"Device ID\", \"Device Name\""]);
    }

    #[test]
    fn two_addresses_without_quotes_do_not_shift_the_rates() {
        let row = "1,Anna,1,D1,AP_A,,100.64.0.1,100.64.0.14,fdd7::/56,1,1,155,20,";
        assert_eq!(
            problem(row),
            "line 2: 14 cells, the header has 13; a cell with commas, such as two addresses, needs quotes"
        );
        // The example file of LibreQoS 2.2 has a header of 15 names and rows of 13 cells.
        let row = "1,Anna,1,D1,AP_A,,\"100.64.0.1, 100.64.0.2\",fdd7::/56,1,1,155,20,";
        assert!(read(HEAD, row).is_ok());
        assert!(read(HEAD_22, row).unwrap_err().starts_with("line 2: 13 cells, the header has 15;"));
        // LibreQoS's documentation shows an override after the last of 15 columns.
        let row = "1,Anna,1,D1,AP_A,,,,100.64.0.5,,1,1,105,18,\"\",cake/fq_codel";
        assert!(read(HEAD_22, row).unwrap_err().starts_with("line 2: 16 cells, the header has 15;"));
        let found = read(&format!("{HEAD_22},sqm"), row).unwrap();
        assert_eq!(found.notes, ["columns without effect: \"Device ID\", \"Device Name\", \"sqm\""]);
    }

    #[test]
    fn line_ends_encodings_and_spellings_of_columns_do_not_matter() {
        let row = "1,\"Anna\nBruck\",,,AP_A,,,,1,1,155,20,\"two\nlines\"\n2,,,,AP_B,,,,1,1,105,18,";
        let expected = read(HEAD, row).unwrap();
        assert_eq!(expected.circuits.iter().map(|circuit| circuit.line).collect::<Vec<_>>(), [2, 5]);
        let snake = HEAD.to_lowercase().replace(' ', "_");
        for file in [
            format!("\u{feff}{HEAD}\n{row}"),
            format!("{HEAD}\n{row}").replace('\n', "\r\n"),
            format!("{HEAD}\n{row}").replace('\n', "\r"),
            format!("{snake}\n{row}\n"),
        ] {
            let network = Network::read(NETWORK.as_bytes()).unwrap();
            let found = Circuits::read(file.as_bytes(), Some(&network), ALL).unwrap();
            assert_eq!(found.circuits, expected.circuits, "{file:?}");
        }
        let latin = [HEAD.as_bytes(), b"\n1,Caf\xe9,,,,,,,1,1,155,20,\n"].concat();
        let found = Circuits::read(&latin, None, ALL).unwrap();
        assert_eq!(found.circuits[0].name, "Café");
        assert!(found.notes[0].ends_with("read as Windows-1252 (Latin-1)"), "{:?}", found.notes);
    }

    #[test]
    fn an_anchor_comes_before_the_identifier_of_the_parent_and_that_before_its_name() {
        let node = |parents: &str| {
            let found =
                read(HEAD_22, &format!("1,,,,{parents},,,,1,1,155,20,")).map_err(|problem| problem[8..].to_string());
            found.map(|found| (found.circuits[0].node, found.notes))
        };
        let none = Vec::new;
        for (parents, expected) in
            [("AP_A,,", 1), ("Alpha,,", 1), (",b,", 2), ("AP_A,a,b", 2), ("AP_A,b,b", 2), ("AP_A,,b", 2)]
        {
            assert_eq!(node(parents), Ok((Some(expected), none())), "{parents}");
        }
        assert_eq!(node("none,,"), Ok((None, none())));
        let note =
            |name: &str| format!("1 row has an {name} that network.json does not have: Parent Node stands for it");
        assert_eq!(node("AP_A,,site_1"), Ok((Some(1), vec![note("Anchor Node ID")])));
        assert_eq!(node("AP_A,x,"), Ok((Some(1), vec![note("Parent Node ID")])));
        let refused = [
            ("AP_C,,", "Parent Node: \"AP_C\" is not a node of network.json"),
            (",x,", "Parent Node ID: \"x\" is not a node of network.json"),
            (",,x", "Anchor Node ID: \"x\" is not a node of network.json"),
            ("AP_A,b,", "Parent Node ID: \"b\" is not the node \"AP_A\" of Parent Node"),
        ];
        for (parents, problem) in refused {
            assert_eq!(node(parents), Err(problem.into()), "{parents}");
        }
    }

    #[test]
    fn mistakes_are_one_line_that_says_where() {
        let a_rate = "a rate in Mbit/s from 0.001 to 10000000";
        let first = "1,Anna,,,AP_A,,,,25,5,155,20,";
        let other = |row: &str| problem(&format!("{first}\n{row}"));
        let same = "differs from that of circuit \"1\" in line 2: it is one subscriber";
        assert_eq!(problem(",,,,AP_A,,,,25,5,155,20,"), "line 2: Circuit ID: missing, every circuit needs one");
        assert_eq!(problem("1#2,,,,AP_A,,,,25,5,155,20,"), "line 2: Circuit ID: \"1#2\" has a \"#\"");
        assert_eq!(
            problem("1,,,,AP_A,,,,25,5,fast,20,"),
            format!("line 2: Download Max Mbps: \"fast\" is not {a_rate}")
        );
        assert_eq!(problem("1,,,,AP_A,,,,25,0,155,20,"), format!("line 2: Upload Min Mbps: \"0\" is not {a_rate}"));
        assert_eq!(problem("1,,,,AP_A,,,,,,155,,"), format!("line 2: Upload Max Mbps: missing, must be {a_rate}"));
        assert_eq!(
            problem("1,,,,AP_A,,,,160,5,155,20,"),
            "line 2: Download Min Mbps: \"160\" is out of range, it must be at most Download Max Mbps, 155"
        );
        assert_eq!(other("1,Anna,,,AP_B,,,,25,5,155,20,"), format!("line 3: Parent Node: {same}"));
        assert_eq!(other("1,Anna,,,AP_A,,,,25,5,155,30,"), format!("line 3: Upload Max Mbps: {same}"));
        assert_eq!(other("1,Berta,,,AP_A,,,,25,5,155,20,"), format!("line 3: Circuit Name: {same}"));
        assert_eq!(
            read("Circuit ID,Download Max,Parent", "").unwrap_err(),
            "line 1: there is no column \"Upload Max Mbps\", but \"Circuit ID\", \"Download Max\", \"Parent\"; commas \
             separate columns"
        );
    }
}
