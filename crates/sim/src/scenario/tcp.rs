//! TCP in a scenario: a named profile, and single parameters that differ from it.

use crate::traffic::tcp::{Recovery, TcpParams, TcpProfile};
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table};
use serde_json::{Map, Value as Json};

/// A profile and the parameters that came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    profile: TcpProfile,
    /// Parameters, overrides included.
    pub params: TcpParams,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self::of(TcpProfile::Ns3_26)
    }
}

impl TcpConfig {
    fn of(profile: TcpProfile) -> Self {
        Self { profile, params: TcpParams::profile(profile) }
    }

    /// Reads the `[tcp]` table; the caller checks for unknown keys.
    ///
    /// # Errors
    /// A value out of range, or timeouts that contradict each other.
    pub fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        Self::read_over(&Self::default(), table)
    }

    /// Reads the TCP keys of a source; absent ones are those of `base`, or of the profile if it names one.
    ///
    /// # Errors
    /// A value out of range, or timeouts that contradict each other.
    pub fn read_over(base: &Self, table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let base = table.optional("profile", None)?.map_or_else(|| base.clone(), Self::of);
        let before = base.params.clone();
        let params = TcpParams::read_over(base.params, table)?;
        if params.min_rto > params.max_rto {
            // Blame the one that was written here.
            let (key, value, problem) = if table.get("max_rto").is_some() {
                ("max_rto", params.max_rto, format!("at least min_rto, {}", params.min_rto))
            } else {
                ("min_rto", params.min_rto, format!("at most max_rto, {}", params.max_rto))
            };
            return Err(ConfigError::new(table.key(key), format!("\"{value}\" is out of range, it must be {problem}")));
        }
        if params.segment_payload + params.header_bytes > 65_535 {
            let problem = format!(
                "{} is out of range, with header_bytes {} it must be at most 65535",
                params.segment_payload, params.header_bytes
            );
            return Err(ConfigError::new(table.key("segment_payload"), problem));
        }
        if params.socket_buffer.0 < u64::from(params.segment_payload) {
            let problem = format!(
                "\"{}\" is out of range, it must hold one segment_payload, {} B",
                params.socket_buffer, params.segment_payload
            );
            return Err(ConfigError::new(table.key("socket_buffer"), problem));
        }
        if params.recovery == Recovery::Prr && !params.sack {
            let problem = "\"prr\" counts what SACK reports, it needs sack = true or must be newreno";
            return Err(ConfigError::new(table.key("recovery"), problem));
        }
        check_loss_detection(&params, table)?;
        check_effects(&before, &params, table)?;
        Ok(Self { profile: base.profile, params })
    }

    /// Writes profile and parameters, every default filled in.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("profile".into(), self.profile.to_json());
        self.params.write(&mut map);
        map
    }
}

/// Refuses what only a sender with a record of each outstanding segment can do, where it has none.
fn check_loss_detection(params: &TcpParams, table: &mut Table<'_>) -> Result<(), ConfigError> {
    let mut blame = |first: &'static str, second: &'static str| {
        // Blame the one that was written here.
        let key = if table.get(first).is_none() && table.get(second).is_some() { second } else { first };
        table.key(key)
    };
    if params.is_tracked() && !params.sack {
        let name = params.loss_detection.name();
        let problem = format!("\"{name}\" counts what SACK reports, it needs sack = true or must be dupack");
        return Err(ConfigError::new(blame("loss_detection", "sack"), problem));
    }
    if params.congestion_control.needs_samples() && !params.is_tracked() {
        let name = params.congestion_control.name();
        let problem =
            format!("\"{name}\" needs loss_detection = \"rack\" or \"packet_threshold\", as the profile linux has it");
        return Err(ConfigError::new(blame("congestion_control", "loss_detection"), problem));
    }
    Ok(())
}

/// Refuses a key that is written here, differs from what was in force before, and has no effect.
fn check_effects(before: &TcpParams, params: &TcpParams, table: &mut Table<'_>) -> Result<(), ConfigError> {
    let (mut old, mut new) = (Map::new(), Map::new());
    before.write(&mut old);
    params.write(&mut new);
    for (key, reason) in params.keys_without_effect() {
        if table.get(key).is_some() && old.get(key) != new.get(key) {
            let problem = format!("{} has no effect with {reason}", new[key]);
            return Err(ConfigError::new(table.key(key), problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Json) -> Result<TcpConfig, ConfigError> {
        let mut table = Table::new("tcp", value)?;
        let config = TcpConfig::read(&mut table)?;
        table.finish()?;
        Ok(config)
    }

    #[test]
    fn a_profile_gives_the_defaults_and_single_keys_differ_from_it() {
        for &profile in TcpProfile::ALL {
            let params = read(&json!({"profile": profile.name()})).unwrap().params;
            assert_eq!(params, TcpParams::profile(profile));
        }
        let linux = TcpParams::profile(TcpProfile::Linux);
        let params = read(&json!({"profile": "linux", "ecn": true, "congestion_control": "reno"})).unwrap().params;
        let congestion_control = crate::traffic::tcp::CongestionControl::Reno;
        assert_eq!(params, TcpParams { ecn: true, congestion_control, ..linux });
    }

    #[test]
    fn keys_of_the_other_sender_are_refused_unless_they_say_what_holds_anyway() {
        let refused = |json| read(&json).unwrap_err().to_string();
        assert_eq!(refused(json!({"tlp": true})), "tcp.tlp: true has no effect with loss_detection = \"dupack\"");
        let rtt_tick = refused(json!({"profile": "linux", "rtt_tick": "1 ms"}));
        assert_eq!(rtt_tick, "tcp.rtt_tick: \"1 ms\" has no effect with loss_detection = \"rack\"");
        assert_eq!(
            refused(json!({"profile": "linux", "accurate_ecn": true})),
            "tcp.accurate_ecn: true has no effect with ecn = false"
        );
        for name in TcpProfile::ALL.iter().map(|profile| profile.name()) {
            // As written, with every default filled in.
            let written = Json::Object(read(&json!({"profile": name})).unwrap().write());
            assert_eq!(read(&written), read(&json!({"profile": name})));
        }
        let dupack = json!({"profile": "linux", "loss_detection": "dupack"});
        let written = Json::Object(read(&dupack).unwrap().write());
        assert_eq!(read(&written), read(&dupack));
    }

    #[test]
    fn records_of_segments_need_sack() {
        let error = read(&json!({"loss_detection": "rack"})).unwrap_err().to_string();
        assert_eq!(
            error,
            "tcp.loss_detection: \"rack\" counts what SACK reports, it needs sack = true or must be dupack"
        );
    }

    #[test]
    fn prr_without_sack_is_refused() {
        let error = read(&json!({"profile": "ns3", "sack": false})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tcp.recovery: \"prr\" counts what SACK reports, it needs sack = true or must be newreno"
        );
    }
}
