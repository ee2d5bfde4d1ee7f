//! `network.json` of LibreQoS: sites within sites, each with its rates.

use super::store::problem_of;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// A site.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Names from the root to it, with `/` in between.
    pub path: String,
    /// Rate to subscribers in Mbit/s.
    pub download_mbps: f64,
    /// Rate from subscribers in Mbit/s.
    pub upload_mbps: f64,
    /// Whether it is a group on paper only, which limits nothing.
    pub is_virtual: bool,
}

/// All sites, by their own names, as `Parent Node` of `ShapedDevices.csv` calls them.
pub type Sites = BTreeMap<String, Site>;

/// Reads the text of a file.
///
/// # Errors
/// One line that names the site and key.
pub fn parse(text: &str) -> Result<Sites, String> {
    let json: Json =
        serde_json::from_str(text).map_err(|error| format!("line {}: {}", error.line(), problem_of(&error)))?;
    let mut sites = Sites::new();
    add(json.as_object().ok_or("is not an object of sites")?, "", &mut sites)?;
    Ok(sites)
}

fn add(level: &Map<String, Json>, above: &str, sites: &mut Sites) -> Result<(), String> {
    for (name, json) in level {
        let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
        let rate = |key: &str| {
            let value = json.get(key).ok_or_else(|| format!("site \"{path}\": {key}: missing"))?;
            let number = value.as_f64().filter(|mbps| *mbps > 0.0);
            number.ok_or_else(|| format!("site \"{path}\": {key}: {value} is not a rate in Mbit/s above 0"))
        };
        let is_virtual = json.get("virtual").and_then(Json::as_bool).unwrap_or(false);
        let (download_mbps, upload_mbps) = (rate("downloadBandwidthMbps")?, rate("uploadBandwidthMbps")?);
        let site = Site { path: path.clone(), download_mbps, upload_mbps, is_virtual };
        if let Some(other) = sites.insert(name.clone(), site) {
            return Err(format!("site \"{path}\": has the name of \"{}\"", other.path));
        }
        match json.get("children") {
            None => {}
            Some(Json::Object(children)) => add(children, &path, sites)?,
            Some(other) => return Err(format!("site \"{path}\": children: {other} is not an object of sites")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_have_their_path() {
        let text = r#"{"Region": {"downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "type": "Site", "children": {
            "Town": {"virtual": true, "downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500, "children": {
            "AP_A": {"downloadBandwidthMbps": 200.5, "uploadBandwidthMbps": 20}}}}}}"#;
        let sites = parse(text).unwrap();
        assert_eq!(sites.len(), 3);
        let expected =
            Site { path: "Region/Town/AP_A".into(), download_mbps: 200.5, upload_mbps: 20.0, is_virtual: false };
        assert_eq!(sites["AP_A"], expected);
        assert!(sites["Town"].is_virtual);
        // A flat network.
        assert_eq!(parse("{}").unwrap(), Sites::new());
    }

    #[test]
    fn mistakes_are_named() {
        let rates = r#""downloadBandwidthMbps": 1, "uploadBandwidthMbps": 1"#;
        let cases = [
            ("[]".to_string(), "is not an object of sites"),
            (r#"{"A": {"downloadBandwidthMbps": 1}}"#.into(), "site \"A\": uploadBandwidthMbps: missing"),
            (
                r#"{"A": {"downloadBandwidthMbps": -1, "uploadBandwidthMbps": 1}}"#.into(),
                "site \"A\": downloadBandwidthMbps: -1 is not a rate in Mbit/s above 0",
            ),
            (
                format!(r#"{{"A": {{{rates}, "children": {{"A": {{{rates}}}}}}}}}"#),
                "site \"A/A\": has the name of \"A\"",
            ),
        ];
        for (text, problem) in cases {
            assert_eq!(parse(&text).unwrap_err(), problem);
        }
        assert!(parse("{").unwrap_err().starts_with("line 1: "));
    }
}
