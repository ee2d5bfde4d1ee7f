//! Lists of subscribers as text: plain CSV, and `ShapedDevices.csv` of LibreQoS, told apart by their first line.
//!
//! Plain CSV has a column for each key of `[[users]]` and `site`; several prefixes in one cell are separated by `;` or spaces.
//! Of `ShapedDevices.csv` a subscriber is a circuit: the addresses of all its devices share one meter.

use super::network::Sites;
use super::{Subscriber, prefixes_of};
use crate::config::shown_name;
use fairlane_schemes::base::units::BitRate;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};

/// What the list does not say itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sites, if `Parent Node` is to be looked up.
    pub sites: Option<Sites>,
    /// Reference rate for each Mbit/s of `Download Max Mbps`; without it all have that of the default user.
    pub rate_per_mbps: Option<BitRate>,
    /// Whether devices of `ShapedDevices.csv` without an address are passed over, in place of an error.
    pub skips_without_address: bool,
}

/// The first column of `ShapedDevices.csv`.
const CIRCUIT_ID: &str = "Circuit ID";

/// The column of the plan.
const MAX_MBPS: &str = "Download Max Mbps";

/// Columns of plain CSV that hold numbers.
const NUMBERS: [&str; 5] = ["vlan", "s_vlan", "c_vlan", "pppoe_session", "tunnel"];

/// A list that was read.
#[derive(Debug, Default)]
pub struct List {
    /// Who is in it.
    pub subscribers: Vec<Subscriber>,
    /// The line of each, of a circuit the first.
    pub lines: HashMap<String, u64>,
    /// Devices without an address, which were passed over.
    pub skipped: usize,
}

/// Reads a list.
///
/// # Errors
/// One line that names line, column and value.
pub fn parse(text: &str, options: &Options) -> Result<List, String> {
    let mut reader = csv::ReaderBuilder::new();
    // Cells are counted here, where the list is known.
    reader.comment(Some(b'#')).trim(csv::Trim::All).flexible(true);
    let mut reader = reader.from_reader(text.as_bytes());
    let header = Header::read(reader.headers().map_err(|error| error.to_string())?, options)?;
    let mut list = List::default();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        list.add(&header, &record, line, options).map_err(|problem| format!("line {line}: {problem}"))?;
    }
    if list.lines.is_empty() && list.skipped == 0 {
        return Err("has a header, and no subscriber".into());
    }
    Ok(list)
}

type Cells<'a> = BTreeMap<&'a str, &'a str>;

/// The first line.
struct Header {
    /// In lower case.
    columns: Vec<String>,
    is_shaped: bool,
}

impl Header {
    /// Which list it is, and whether the columns are there that it cannot do without.
    fn read(record: &csv::StringRecord, options: &Options) -> Result<Self, String> {
        let name = |name: &str| name.trim_start_matches('\u{feff}').trim_matches(['"', ' ']).to_lowercase();
        let columns: Vec<String> = record.iter().map(name).collect();
        if columns.iter().all(String::is_empty) {
            return Err("is empty: the first line must name the columns".into());
        }
        let is_there = |column: &str| columns.iter().any(|name| *name == column.to_lowercase());
        let missing = |column: &str| {
            let found: Vec<String> = columns.iter().map(|name| format!("\"{}\"", shown_name(name))).collect();
            format!("line 1: there is no column \"{column}\", but {}; commas separate columns", found.join(", "))
        };
        let is_shaped = is_there(CIRCUIT_ID);
        let twice = (1..columns.len()).find(|at| columns[..*at].contains(&columns[*at]));
        match twice {
            Some(at) if !is_shaped => return Err(format!("line 1: \"{}\" is the name of two columns", columns[at])),
            _ => {}
        }
        if !is_shaped && !is_there("name") {
            return Err(missing("name"));
        }
        if is_shaped && !is_there("IPv4") && !is_there("IPv6") {
            return Err(missing("IPv4"));
        }
        if is_shaped && options.rate_per_mbps.is_some() && !is_there(MAX_MBPS) {
            return Err(missing(MAX_MBPS));
        }
        Ok(Self { columns, is_shaped })
    }

    /// The cells of a row that are not empty. LibreQoS puts up with commas in its comments, at the end of a row.
    fn cells<'a>(&'a self, record: &'a csv::StringRecord) -> Result<Cells<'a>, String> {
        let (cells, columns) = (record.len(), self.columns.len());
        if !self.is_shaped && cells != columns {
            let s = if cells == 1 { "" } else { "s" };
            return Err(format!("{cells} cell{s}, the header has {columns}; \";\" separates prefixes within one"));
        }
        let names = self.columns.iter().map(String::as_str);
        Ok(names.zip(record).filter(|(_, cell)| !cell.is_empty()).collect())
    }
}

impl List {
    fn add(&mut self, header: &Header, record: &csv::StringRecord, line: u64, options: &Options) -> Result<(), String> {
        let cells = header.cells(record)?;
        if header.is_shaped && options.skips_without_address && prefixes(&cells).is_empty() {
            self.skipped += 1;
            return Ok(());
        }
        let subscriber = if header.is_shaped { circuit(&cells, options)? } else { plain(&cells)? };
        subscriber.user().map_err(|error| error.to_string())?;
        let Some(first) = self.lines.get(&subscriber.name) else {
            self.lines.insert(subscriber.name.clone(), line);
            self.subscribers.push(subscriber);
            return Ok(());
        };
        if !header.is_shaped {
            return Err(format!("name: \"{}\" is in line {first} already", subscriber.name));
        }
        // Another device of the circuit.
        self.merge(subscriber)
    }

    fn merge(&mut self, device: Subscriber) -> Result<(), String> {
        let more = device.user.get("prefix").and_then(Json::as_array).into_iter().flatten().cloned();
        // Devices of a circuit mostly follow each other.
        let circuit = self.subscribers.iter_mut().rev().find(|circuit| circuit.name == device.name);
        let prefixes = circuit.and_then(|circuit| circuit.user.get_mut("prefix")).and_then(Json::as_array_mut);
        prefixes.ok_or("has no addresses")?.extend(more);
        Ok(())
    }
}

/// The addresses of a device.
fn prefixes(cells: &Cells<'_>) -> Vec<Json> {
    ["ipv4", "ipv6"].iter().filter_map(|column| cells.get(column)).flat_map(|cell| prefixes_of(cell)).collect()
}

fn plain(cells: &Cells<'_>) -> Result<Subscriber, String> {
    let name = (*cells.get("name").ok_or("name: missing")?).into();
    let mut subscriber = Subscriber { name, ..Subscriber::default() };
    for (column, cell) in cells {
        let value = match *column {
            "name" => continue,
            "site" => {
                subscriber.site = Some((*cell).into());
                continue;
            }
            "prefix" => prefixes_of(cell).into(),
            number if NUMBERS.contains(&number) => {
                cell.parse::<u32>().map(Json::from).map_err(|_| format!("{number}: \"{cell}\" is not a number"))?
            }
            _ => json!(cell),
        };
        subscriber.user.insert((*column).into(), value);
    }
    Ok(subscriber)
}

/// A device of a circuit. Its minimum and maximum rates are what LibreQoS shapes to, which a node does not.
fn circuit(cells: &Cells<'_>, options: &Options) -> Result<Subscriber, String> {
    let id = cells.get("circuit id").ok_or("Circuit ID: missing")?;
    // An identifier has no `#` (LibreQoS), so that this tells circuits apart, whatever their names.
    let name = match cells.get("circuit name") {
        Some(name) => format!("{name} #{id}"),
        None => format!("#{id}"),
    };
    let prefixes = prefixes(cells);
    if prefixes.is_empty() {
        return Err("IPv4: missing, as is IPv6: one of them must be there".into());
    }
    let mut subscriber = Subscriber { name, ..Subscriber::default() };
    subscriber.user.insert("prefix".into(), prefixes.into());
    subscriber.site = match (cells.get("parent node"), &options.sites) {
        (None, _) => None,
        (Some(parent), None) => Some((*parent).into()),
        (Some(parent), Some(sites)) => {
            let site = sites.get(*parent);
            Some(site.ok_or_else(|| format!("Parent Node: \"{parent}\" is no site of the network"))?.path.clone())
        }
    };
    if let Some(per_mbps) = options.rate_per_mbps {
        let column = MAX_MBPS;
        let cell = cells.get(column.to_lowercase().as_str()).ok_or_else(|| format!("{column}: missing"))?;
        let mbps: f64 = cell
            .parse()
            .ok()
            .filter(|mbps| *mbps > 0.0)
            .ok_or_else(|| format!("{column}: \"{cell}\" is not a rate above 0"))?;
        let rate = BitRate((per_mbps.as_f64() * mbps).round() as u64);
        subscriber.user.insert("reference_rate".into(), rate.to_string().into());
    }
    Ok(subscriber)
}

#[cfg(test)]
mod tests {
    use super::super::network;
    use super::*;

    /// In the format of LibreQoS's example, whose last rows have a comma too many in their comments.
    const SHAPED: &str = "# comments come first\n\
        Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,\
        Download Max Mbps,Upload Max Mbps,Comment,sqm\n\
        1,\"1 First St., Town\",1,Device 1,AP_A,,\"100.64.0.1, 100.64.0.14\",fdd7:b724:0:100::/56,1,1,155,20,,\n\
        2,,2,Device 2,,,100.64.0.2,,0.5,0.5,2.5,1.0,slow,fq_codel\n\
        7,\"7 Third St., Town\",5,Device 5,AP_B,,100.64.0.5,fdd7:b724:0:500::/56,1,1,105,18,Down=cake, Up=cake,cake\n\
        7,\"7 Third St., Town\",6,Device 6,AP_B,,100.64.0.6,fdd7:b724:0:600::/56,1,1,105,18,,\n";

    const NETWORK: &str = r#"{"Site_1": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 1000, "children": {
        "AP_A": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500}}},
        "AP_B": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500}}"#;

    #[test]
    fn circuits_become_users_with_all_addresses_of_their_devices() {
        let sites = Some(network::parse(NETWORK).unwrap());
        let options = Options { sites, rate_per_mbps: Some(BitRate(1_000)), ..Options::default() };
        let list = parse(SHAPED, &options).unwrap().subscribers;
        let names: Vec<&str> = list.iter().map(|subscriber| subscriber.name.as_str()).collect();
        assert_eq!(names, ["1 First St., Town #1", "#2", "7 Third St., Town #7"]);
        let sites: Vec<_> = list.iter().map(|subscriber| subscriber.site.as_deref()).collect();
        assert_eq!(sites, [Some("Site_1/AP_A"), None, Some("AP_B")]);
        assert_eq!(
            list[2].user["prefix"],
            json!(["100.64.0.5", "fdd7:b724:0:500::/56", "100.64.0.6", "fdd7:b724:0:600::/56"])
        );
        // 1 kbit/s for each of 2.5 Mbit/s.
        assert_eq!(list[1].user["reference_rate"], "2.5 kbit/s");
        assert_eq!(list[0].user().unwrap().who.len(), 3);
    }

    #[test]
    fn plain_lists_have_the_keys_of_the_configuration() {
        let text = "name,prefix,vlan,reference_rate,traffic_class,site\nanna,10.0.1.0/28;2001:db8:1::/56,,20 kbit/s,EF,east\nberta,,7,,,\n";
        let list = parse(text, &Options::default()).unwrap().subscribers;
        assert_eq!(list[0].user["prefix"], json!(["10.0.1.0/28", "2001:db8:1::/56"]));
        assert_eq!((list[0].site.as_deref(), &list[0].user["traffic_class"]), (Some("east"), &json!("EF")));
        assert_eq!((list[1].name.as_str(), &list[1].user["vlan"]), ("berta", &json!(7)));
    }

    #[test]
    fn mistakes_are_told_with_line_and_column() {
        let shaped = |row: &str| format!("{}{row}\n", &SHAPED[..SHAPED.find("1,\"1").unwrap()]);
        let sites = Some(network::parse(NETWORK).unwrap());
        let options = Options { sites, rate_per_mbps: Some(BitRate(1_000)), ..Options::default() };
        let cases = [
            (shaped(",,1,,,,10.0.0.1,,1,1,1,1,,"), "line 3: Circuit ID: missing"),
            (shaped("1,,1,,,,,,1,1,1,1,,"), "line 3: IPv4: missing, as is IPv6: one of them must be there"),
            (shaped("1,,1,,AP_X,,10.0.0.1,,1,1,1,1,,"), "line 3: Parent Node: \"AP_X\" is no site of the network"),
            (shaped("1,,1,,,,10.0.0.1,,1,1,x,1,,"), "line 3: Download Max Mbps: \"x\" is not a rate above 0"),
            (String::new(), "is empty: the first line must name the columns"),
            ("\n# nobody\n".into(), "is empty: the first line must name the columns"),
            ("name,prefix\n# nobody\n".into(), "has a header, and no subscriber"),
            (
                "name;prefix\na;10.0.0.1\n".into(),
                "line 1: there is no column \"name\", but \"name;prefix\"; commas separate columns",
            ),
            (
                "anna,10.0.0.1\n".into(),
                "line 1: there is no column \"name\", but \"anna\", \"10.0.0.1\"; commas separate columns",
            ),
            ("name,vlan,VLAN\na,1,2\n".into(), "line 1: \"vlan\" is the name of two columns"),
            (
                "name,prefix\nk1,10.40.0.0/24\nk2,10.40.1.0/24,10.41.1.0/24\n".into(),
                "line 3: 3 cells, the header has 2; \";\" separates prefixes within one",
            ),
            ("name,prefix\nk1\n".into(), "line 2: 1 cell, the header has 2; \";\" separates prefixes within one"),
            ("name,prefix\n,10.0.0.1\n".into(), "line 2: name: missing"),
            ("name,vlan\na,x\n".into(), "line 2: vlan: \"x\" is not a number"),
            ("name,prefix\na,10.0.0.1\na,10.0.0.2\n".into(), "line 3: name: \"a\" is in line 2 already"),
        ];
        for (text, problem) in cases {
            assert_eq!(parse(&text, &options).unwrap_err(), problem, "{text}");
        }
        for text in ["name,prefix\na,10.0.0.1/8\n", "name,colour\na,red\n", "name,prefix\na,10.0.0.256\n"] {
            let error = parse(text, &options).unwrap_err();
            assert!(error.starts_with("line 2: user \"a\": ") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn columns_are_found_in_capitals_and_small_letters() {
        let list = parse("Name,PREFIX,Traffic_Class\nAnna,10.0.0.1,EF\n", &Options::default()).unwrap();
        assert_eq!((list.subscribers[0].name.as_str(), list.lines["Anna"]), ("Anna", 2));
        assert_eq!(list.subscribers[0].user["traffic_class"], "EF");
        let list = parse(&SHAPED.to_lowercase(), &Options::default()).unwrap();
        assert_eq!((list.subscribers.len(), list.lines["7 third st., town #7"]), (3, 5));
    }

    #[test]
    fn devices_without_an_address_are_passed_over_if_asked_for() {
        let text = format!("{SHAPED}9,,9,,,,,,1,1,1,1,,\n");
        assert!(parse(&text, &Options::default()).unwrap_err().starts_with("line 7: IPv4: missing, as is IPv6"));
        let list = parse(&text, &Options { skips_without_address: true, ..Options::default() }).unwrap();
        assert_eq!((list.subscribers.len(), list.skipped), (3, 1));
    }
}
