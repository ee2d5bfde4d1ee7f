//! Lists of subscribers as text: plain CSV, and `ShapedDevices.csv` of LibreQoS, told apart by their first line.
//!
//! Plain CSV has a column for each key of `[[users]]` and `site`; several prefixes in one cell are separated by `;` or spaces.
//! Of `ShapedDevices.csv` a subscriber is a circuit: the addresses of all its devices share one meter.

use super::network::Sites;
use super::{Subscriber, prefixes_of};
use fairlane_schemes::base::units::BitRate;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// What the list does not say itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sites, if `Parent Node` is to be looked up.
    pub sites: Option<Sites>,
    /// Reference rate for each Mbit/s of `Download Max Mbps`; without it all have that of the default user.
    pub rate_per_mbps: Option<BitRate>,
}

/// The first column of `ShapedDevices.csv`.
const CIRCUIT_ID: &str = "Circuit ID";

/// Columns of plain CSV that hold numbers.
const NUMBERS: [&str; 5] = ["vlan", "s_vlan", "c_vlan", "pppoe_session", "tunnel"];

/// Reads a list.
///
/// # Errors
/// One line that names line, column and value.
pub fn parse(text: &str, options: &Options) -> Result<Vec<Subscriber>, String> {
    let mut reader = csv::ReaderBuilder::new();
    reader.comment(Some(b'#')).trim(csv::Trim::All).flexible(true);
    let mut reader = reader.from_reader(text.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .map_err(|error| error.to_string())?
        .iter()
        .map(|name| name.trim_start_matches('\u{feff}').into())
        .collect();
    let is_shaped = header.iter().any(|name| name == CIRCUIT_ID);
    let mut list = List { is_shaped, options, subscribers: Vec::new(), known: BTreeMap::new() };
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells: Cells<'_> =
            header.iter().map(String::as_str).zip(&record).filter(|(_, cell)| !cell.is_empty()).collect();
        list.add(&cells).map_err(|problem| format!("line {line}: {problem}"))?;
    }
    Ok(list.subscribers)
}

type Cells<'a> = BTreeMap<&'a str, &'a str>;

struct List<'a> {
    is_shaped: bool,
    options: &'a Options,
    subscribers: Vec<Subscriber>,
    /// Where in `subscribers` a name is.
    known: BTreeMap<String, usize>,
}

impl List<'_> {
    fn add(&mut self, cells: &Cells<'_>) -> Result<(), String> {
        let subscriber = if self.is_shaped { circuit(cells, self.options)? } else { plain(cells)? };
        subscriber.user().map_err(|error| error.to_string())?;
        match self.known.get(&subscriber.name) {
            None => {
                self.known.insert(subscriber.name.clone(), self.subscribers.len());
                self.subscribers.push(subscriber);
                Ok(())
            }
            // Another device of the circuit.
            Some(at) if self.is_shaped => {
                let more = subscriber.user.get("prefix").and_then(Json::as_array).into_iter().flatten().cloned();
                let prefixes = self.subscribers[*at].user.get_mut("prefix").and_then(Json::as_array_mut);
                prefixes.ok_or("has no addresses")?.extend(more);
                Ok(())
            }
            Some(_) => Err(format!("name: \"{}\" is in another line already", subscriber.name)),
        }
    }
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
    let id = cells.get(CIRCUIT_ID).ok_or("Circuit ID: missing")?;
    // An identifier has no `#` (LibreQoS), so that this tells circuits apart, whatever their names.
    let name = match cells.get("Circuit Name") {
        Some(name) => format!("{name} #{id}"),
        None => format!("#{id}"),
    };
    let addresses = ["IPv4", "IPv6"].iter().filter_map(|column| cells.get(column));
    let prefixes: Vec<Json> = addresses.flat_map(|cell| prefixes_of(cell)).collect();
    if prefixes.is_empty() {
        return Err("IPv4: missing, as is IPv6: one of them must be there".into());
    }
    let mut subscriber = Subscriber { name, ..Subscriber::default() };
    subscriber.user.insert("prefix".into(), prefixes.into());
    subscriber.site = match (cells.get("Parent Node"), &options.sites) {
        (None, _) => None,
        (Some(parent), None) => Some((*parent).into()),
        (Some(parent), Some(sites)) => {
            let site = sites.get(*parent);
            Some(site.ok_or_else(|| format!("Parent Node: \"{parent}\" is no site of the network"))?.path.clone())
        }
    };
    if let Some(per_mbps) = options.rate_per_mbps {
        let column = "Download Max Mbps";
        let cell = cells.get(column).ok_or_else(|| format!("{column}: missing"))?;
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
        let options = Options { sites, rate_per_mbps: Some(BitRate(1_000)) };
        let list = parse(SHAPED, &options).unwrap();
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
        let list = parse(text, &Options::default()).unwrap();
        assert_eq!(list[0].user["prefix"], json!(["10.0.1.0/28", "2001:db8:1::/56"]));
        assert_eq!((list[0].site.as_deref(), &list[0].user["traffic_class"]), (Some("east"), &json!("EF")));
        assert_eq!((list[1].name.as_str(), &list[1].user["vlan"]), ("berta", &json!(7)));
    }

    #[test]
    fn mistakes_are_told_with_line_and_column() {
        let shaped = |row: &str| format!("{}{row}\n", &SHAPED[..SHAPED.find("1,\"1").unwrap()]);
        let sites = Some(network::parse(NETWORK).unwrap());
        let options = Options { sites, rate_per_mbps: Some(BitRate(1_000)) };
        let cases = [
            (shaped(",,1,,,,10.0.0.1,,1,1,1,1,,"), "line 3: Circuit ID: missing"),
            (shaped("1,,1,,,,,,1,1,1,1,,"), "line 3: IPv4: missing, as is IPv6: one of them must be there"),
            (shaped("1,,1,,AP_X,,10.0.0.1,,1,1,1,1,,"), "line 3: Parent Node: \"AP_X\" is no site of the network"),
            (shaped("1,,1,,,,10.0.0.1,,1,1,x,1,,"), "line 3: Download Max Mbps: \"x\" is not a rate above 0"),
            ("name,prefix\n,10.0.0.1\n".into(), "line 2: name: missing"),
            ("name,vlan\na,x\n".into(), "line 2: vlan: \"x\" is not a number"),
            ("name,prefix\na,10.0.0.1\na,10.0.0.2\n".into(), "line 3: name: \"a\" is in another line already"),
        ];
        for (text, problem) in cases {
            assert_eq!(parse(&text, &options).unwrap_err(), problem, "{text}");
        }
        for text in ["name,prefix\na,10.0.0.1/8\n", "name,colour\na,red\n", "name,prefix\na,10.0.0.256\n"] {
            let error = parse(text, &options).unwrap_err();
            assert!(error.starts_with("line 2: user \"a\": ") && !error.contains('\n'), "{error}");
        }
    }
}
