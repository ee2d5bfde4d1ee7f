//! Lists of subscribers: plain CSV, and `ShapedDevices.csv` of LibreQoS, distinguished by the first line.
//!
//! Plain CSV has a column for each key of `[[users]]` and `site`. Several prefixes in one cell are separated by `;` or
//! spaces. In `ShapedDevices.csv`, a subscriber is a circuit, whose devices share one meter. For the format of that
//! file, see the module docs of `fairlane_libreqos`.

use super::{Subscriber, prefixes_of};
use crate::config::UserParams;
use fairlane_libreqos::{Circuit, Circuits, Column, Network, Table, Use, decode, is_shaped_devices};
use fairlane_schemes::base::units::BitRate;
use serde_json::{Value as Json, json};
use std::collections::HashMap;

/// Options of an import.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Network of LibreQoS in which the circuits' parent nodes are looked up, if any.
    pub network: Option<Network>,
    /// Reference rate per Mbit/s of `Download Max Mbps`. If absent, all subscribers have the reference rate of the
    /// default user.
    pub rate_per_mbps: Option<BitRate>,
    /// Skips devices of `ShapedDevices.csv` without an address instead of failing.
    pub skips_without_address: bool,
}

/// Required and optional columns of `ShapedDevices.csv`.
const REQUIRED: &[&[Column]] = &[&[Column::Ipv4, Column::Ipv6]];
const WITH_RATES: &[&[Column]] = &[&[Column::Ipv4, Column::Ipv6], &[Column::DownloadMax]];
/// Columns of the plan, that is, the rates of a circuit. [`WITH_RATES`] requires the first of them. All devices of a
/// circuit must have the same plan.
const PLAN: &[Column] = &[Column::DownloadMax, Column::UploadMax, Column::DownloadMin, Column::UploadMin];
const OPTIONAL: &[Column] = &[Column::CircuitName, Column::ParentNode, Column::ParentNodeId, Column::AnchorNodeId];

/// Numeric columns of plain CSV.
const NUMBERS: [&str; 5] = ["vlan", "s_vlan", "c_vlan", "pppoe_session", "tunnel"];

/// An imported list.
#[derive(Debug, Default)]
pub struct List {
    /// Subscribers.
    pub subscribers: Vec<Subscriber>,
    /// Line of each subscriber; for a circuit, its first line.
    pub lines: HashMap<String, u64>,
    /// Number of skipped devices without an address.
    pub skipped: usize,
    /// Warnings for the operator.
    pub notes: Vec<String>,
}

/// Parses the bytes of a list.
///
/// # Errors
/// One line with line number, column and value.
pub fn parse(bytes: &[u8], options: &Options) -> Result<List, String> {
    let (text, note) = decode(bytes)?;
    let mut list = List { notes: note.into_iter().collect(), ..List::default() };
    if is_shaped_devices(&text)? {
        list.add_circuits(&text, options)?;
    } else {
        list.add_plain(&text)?;
    }
    if list.lines.is_empty() && list.skipped == 0 {
        return Err("has a header, and no subscriber".into());
    }
    Ok(list)
}

impl List {
    fn add_plain(&mut self, text: &str) -> Result<(), String> {
        let mut table = Table::open(text)?;
        let columns: Vec<String> = table.columns.iter().map(|name| name.to_lowercase()).collect();
        if !columns.iter().any(|name| name == "name") {
            return Err(table.missing("name"));
        }
        while let Some((line, row)) = table.next("\";\" separates prefixes within one")? {
            let cells = columns.iter().map(String::as_str).zip(row).filter(|(_, cell)| !cell.is_empty());
            let subscriber = plain(cells).and_then(|subscriber| match self.lines.get(&subscriber.name) {
                Some(first) => Err(format!("name: \"{}\" is in line {first} already", subscriber.name)),
                None => Ok(subscriber),
            });
            self.add(subscriber, line)?;
        }
        Ok(())
    }

    fn add_circuits(&mut self, text: &str, options: &Options) -> Result<(), String> {
        let has_rates = options.rate_per_mbps.is_some();
        let (required, compared) = if has_rates { (WITH_RATES, &PLAN[1..]) } else { (REQUIRED, PLAN) };
        let read = Circuits::of_text(text, options.network.as_ref(), Use { required, optional: OPTIONAL, compared })?;
        self.notes.extend(read.notes);
        match read.without_address.first() {
            Some(line) if !options.skips_without_address => {
                return Err(format!("line {line}: IPv4: missing, as is IPv6: one of them must be there"));
            }
            _ => self.skipped = read.without_address.len(),
        }
        for circuit in read.circuits.into_iter().filter(|circuit| !circuit.addresses.is_empty()) {
            let line = circuit.line;
            self.add(Ok(subscriber_of(circuit, options)), line)?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, subscriber: Result<Subscriber, String>, line: u64) -> Result<(), String> {
        let checked = subscriber.and_then(|subscriber| match subscriber.user(&UserParams::default()) {
            Ok(_) => Ok(subscriber),
            Err(error) => Err(error.to_string()),
        });
        let subscriber = checked.map_err(|problem| format!("line {line}: {problem}"))?;
        self.lines.insert(subscriber.name.clone(), line);
        self.subscribers.push(subscriber);
        Ok(())
    }
}

fn plain<'a>(cells: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Subscriber, String> {
    let mut subscriber = Subscriber::default();
    for (column, cell) in cells {
        let value = match column {
            "name" => {
                subscriber.name = cell.into();
                continue;
            }
            "site" => {
                subscriber.site = Some(cell.into());
                continue;
            }
            "prefix" => prefixes_of(cell).into(),
            number if NUMBERS.contains(&number) => {
                cell.parse::<u32>().map(Json::from).map_err(|_| format!("{number}: \"{cell}\" is not a number"))?
            }
            _ => json!(cell),
        };
        subscriber.user.insert(column.into(), value);
    }
    if subscriber.name.is_empty() { Err("name: missing".into()) } else { Ok(subscriber) }
}

/// Converts a circuit to a subscriber. Ignores minimum and maximum rates, which LibreQoS enforces but a node does not.
fn subscriber_of(circuit: Circuit, options: &Options) -> Subscriber {
    let Circuit { id, name, node, parent, most, addresses, .. } = circuit;
    // Identifiers contain no `#`, so this name is unique.
    let name = if name.is_empty() { format!("#{id}") } else { format!("{name} #{id}") };
    let mut subscriber = Subscriber { name, ..Subscriber::default() };
    subscriber.user.insert("prefix".into(), addresses.into());
    subscriber.site = match &options.network {
        Some(network) => node.map(|node| network.nodes[node].path.clone()),
        None => parent,
    };
    if let (Some(per_mbps), Some(bps)) = (options.rate_per_mbps, most[0]) {
        let rate = BitRate((per_mbps.as_f64() * bps as f64 / 1e6).round() as u64);
        subscriber.user.insert("reference_rate".into(), rate.to_string().into());
    }
    subscriber
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list in the format of LibreQoS 2.0 with queue overrides.
    const SHAPED: &str = "# comments come first\n\
        Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,\
        Download Max Mbps,Upload Max Mbps,Comment,sqm\n\
        1,\"1 First St., Town\",1,Device 1,AP_A,,\"100.64.0.1, 100.64.0.14\",fdd7:b724:0:100::/56,1,1,155,20,,\n\
        2,,2,Device 2,,,100.64.0.2,,0.5,0.5,2.5,1.0,slow,fq_codel\n\
        7,\"7 Third St., Town\",5,Device 5,AP_B,,100.64.0.5,fdd7:b724:0:500::/56,1,1,105,18,\"Down=cake, \
        Up=cake\",cake\n\
        7,\"7 Third St., Town\",6,Device 6,AP_B,,100.64.0.6,fdd7:b724:0:600::/56,1,1,105,18,,\n";

    const NETWORK: &str = r#"{"Site_1": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 1000, "children": {
        "AP_A": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500}}},
        "AP_B": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500}}"#;

    fn parse(text: &str, options: &Options) -> Result<List, String> {
        super::parse(text.as_bytes(), options)
    }

    #[test]
    fn circuits_become_users_with_all_addresses_of_their_devices() {
        let network = Some(Network::read(NETWORK.as_bytes()).unwrap());
        let options = Options { network, rate_per_mbps: Some(BitRate(1_000)), ..Options::default() };
        let list = parse(SHAPED, &options).unwrap().subscribers;
        let names: Vec<&str> = list.iter().map(|subscriber| subscriber.name.as_str()).collect();
        assert_eq!(names, ["1 First St., Town #1", "#2", "7 Third St., Town #7"]);
        let sites: Vec<_> = list.iter().map(|subscriber| subscriber.site.as_deref()).collect();
        assert_eq!(sites, [Some("Site_1/AP_A"), None, Some("AP_B")]);
        assert_eq!(
            list[2].user["prefix"],
            json!(["100.64.0.5", "fdd7:b724:0:500::/56", "100.64.0.6", "fdd7:b724:0:600::/56"])
        );
        // 1 kbit/s per Mbit/s gives 2.5 kbit/s for 2.5 Mbit/s.
        assert_eq!(list[1].user["reference_rate"], "2.5 kbit/s");
        assert_eq!(list[0].user(&UserParams::default()).unwrap().unwrap().who.len(), 3);
    }

    #[test]
    fn plain_lists_have_the_keys_of_the_configuration() {
        let text = "name,prefix,vlan,reference_rate,traffic_class,site\n\
                    anna,10.0.1.0/28;2001:db8:1::/56,,20 kbit/s,EF,east\nberta,,7,,,\n";
        let list = parse(text, &Options::default()).unwrap().subscribers;
        assert_eq!(list[0].user["prefix"], json!(["10.0.1.0/28", "2001:db8:1::/56"]));
        assert_eq!((list[0].site.as_deref(), &list[0].user["traffic_class"]), (Some("east"), &json!("EF")));
        assert_eq!((list[1].name.as_str(), &list[1].user["vlan"]), ("berta", &json!(7)));
    }

    #[test]
    fn mistakes_are_told_with_line_and_column() {
        let shaped = |row: &str| format!("{}{row}\n", &SHAPED[..SHAPED.find("1,\"1").unwrap()]);
        let network = Some(Network::read(NETWORK.as_bytes()).unwrap());
        let options = Options { network, rate_per_mbps: Some(BitRate(1_000)), ..Options::default() };
        let cases = [
            (shaped(",,1,,,,10.0.0.1,,1,1,1,1,,"), "line 3: Circuit ID: missing, every circuit needs one"),
            (shaped("1,,1,,,,,,1,1,1,1,,"), "line 3: IPv4: missing, as is IPv6: one of them must be there"),
            (shaped("1,,1,,AP_X,,10.0.0.1,,1,1,1,1,,"), "line 3: Parent Node: \"AP_X\" is not a node of network.json"),
            (
                shaped("1,,1,,,,10.0.0.1,,1,1,x,1,,"),
                "line 3: Download Max Mbps: \"x\" is not a rate in Mbit/s from 0.001 to 10000000",
            ),
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
    fn rows_that_do_not_fit_together_are_refused_and_what_has_no_effect_is_noted() {
        let shaped = |row: &str| format!("{}{row}\n", &SHAPED[..SHAPED.find("1,\"1").unwrap()]);
        let problem = |row: &str| parse(&shaped(row), &Options::default()).unwrap_err();
        // Invalid rows: two addresses without quotes, one circuit with two names, one name for two circuits.
        let first = "1,Anna,1,,AP_A,,10.0.0.1,,1,1,155,20,,";
        assert!(
            problem(&first.replace("10.0.0.1", "10.0.0.1,10.0.0.2"))
                .starts_with("line 3: 15 cells, the header has 14;")
        );
        let named = "line 4: Circuit Name: differs from that of circuit \"1\" in line 3: it is one subscriber";
        assert_eq!(problem(&format!("{first}\n{}", first.replace("Anna", "Berta"))), named);
        assert_eq!(problem("1 #2,a,1,,,,10.0.0.1,,1,1,155,20,,"), "line 3: Circuit ID: \"1 #2\" has a \"#\"");
        // Devices of a circuit need not be adjacent.
        let rows = format!("{first}\n2,,2,,,,10.0.0.2,,1,1,155,20,,\n{}", first.replace("10.0.0.1", "10.0.0.3"));
        let list = parse(&shaped(&rows), &Options::default()).unwrap();
        assert_eq!(list.subscribers[0].user["prefix"], json!(["10.0.0.1", "10.0.0.3"]));
        let note = "columns without effect: \"Device ID\", \"Download Min Mbps\", \"Upload Min Mbps\", \"Download Max \
                    Mbps\", \"Upload Max Mbps\"";
        assert_eq!(list.notes, [note]);
    }

    #[test]
    fn spreadsheets_are_read_in_their_encodings() {
        let latin = b"name,site,prefix\rCaf\xe9,east,10.0.0.1\r";
        let list = super::parse(latin, &Options::default()).unwrap();
        assert_eq!((list.subscribers[0].name.as_str(), list.notes.len()), ("Caf\u{e9}", 1));
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("name,prefix\na,10.0.0.1\n".bytes().flat_map(|byte| [byte, 0])).collect();
        assert_eq!(super::parse(&utf16, &Options::default()).unwrap().subscribers[0].name, "a");
    }

    #[test]
    fn devices_without_an_address_are_passed_over_if_asked_for() {
        let text = format!("{SHAPED}9,,9,,,,,,1,1,1,1,,\n");
        assert!(parse(&text, &Options::default()).unwrap_err().starts_with("line 7: IPv4: missing, as is IPv6"));
        let list = parse(&text, &Options { skips_without_address: true, ..Options::default() }).unwrap();
        assert_eq!((list.subscribers.len(), list.skipped), (3, 1));
    }
}
