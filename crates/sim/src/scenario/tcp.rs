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
    fn prr_without_sack_is_refused() {
        let error = read(&json!({"profile": "linux", "sack": false})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tcp.recovery: \"prr\" counts what SACK reports, it needs sack = true or must be newreno"
        );
    }
}
