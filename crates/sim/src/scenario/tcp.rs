//! TCP in a scenario: a named profile, and individual parameters that override it.

use crate::traffic::tcp::external::FindControl;
use crate::traffic::tcp::{CongestionControl, Recovery, TcpParams, TcpProfile};
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, Table};
use serde_json::{Map, Value as Json};

/// A profile, and its parameters with overrides.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    profile: TcpProfile,
    /// Parameters, including overrides.
    pub params: TcpParams,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self::of(TcpProfile::Linux)
    }
}

impl TcpConfig {
    fn of(profile: TcpProfile) -> Self {
        Self { profile, params: TcpParams::profile(profile) }
    }

    /// Reads the `[tcp]` table; the caller checks for unknown keys. `congestion_control` may also name an external
    /// control, which `find` looks up.
    ///
    /// # Errors
    /// A value out of range, or timeouts that contradict each other.
    pub fn read(table: &mut Table<'_>, find: FindControl<'_>) -> Result<Self, ConfigError> {
        TcpDefaults { config: &Self::default(), find }.read(table)
    }

    /// Rejects a key of `[tcp]` that has no effect in any of the `sources` that use the key. If `sources` is empty,
    /// checks the parameters of `[tcp]` themselves.
    ///
    /// # Errors
    /// The first such key.
    pub(super) fn check_effects<'a>(&'a self, sources: impl Iterator<Item = &'a Self>) -> Result<(), ConfigError> {
        let mut idle: Vec<_> = self.changed().into_iter().map(|(key, value)| (key, value, None)).collect();
        if idle.is_empty() {
            return Ok(());
        }
        let mut sources = sources.peekable();
        let alone = sources.peek().is_none().then_some(self);
        for source in alone.into_iter().chain(sources) {
            let own = written(&source.params);
            idle.retain_mut(|(key, value, reason)| {
                if own.get(key) != Some(&*value) {
                    return true;
                }
                let why = source.params.why_without_effect(key);
                let is_idle = why.is_some();
                *reason = reason.take().or(why);
                is_idle
            });
            if idle.is_empty() {
                return Ok(());
            }
        }
        // A default that every source overrides is unused, but not an error.
        let unread = idle.into_iter().find_map(|(key, value, reason)| Some((key, value, reason?)));
        unread.map_or(Ok(()), |(key, value, reason)| {
            Err(ConfigError::new(format!("tcp.{key}"), format!("{value} has no effect with {reason}")))
        })
    }

    /// Keys whose values differ from those of the profile.
    fn changed(&self) -> Vec<(String, Json)> {
        let profile = TcpParams::profile(self.profile);
        if profile == self.params {
            return Vec::new();
        }
        let before = written(&profile);
        written(&self.params).into_iter().filter(|(key, value)| before.get(key) != Some(value)).collect()
    }

    /// Writes profile and parameters, including all defaults.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("profile".into(), self.profile.to_json());
        self.params.write(&mut map);
        map
    }
}

/// Default values of the TCP keys of a source.
#[derive(Clone, Copy)]
pub(super) struct TcpDefaults<'a> {
    pub(super) config: &'a TcpConfig,
    pub(super) find: FindControl<'a>,
}

impl TcpDefaults<'_> {
    /// Reads TCP keys. Missing keys get the values of the profile that `table` names, or of the `[tcp]` table if it
    /// names none.
    ///
    /// # Errors
    /// A value out of range, or timeouts that contradict each other.
    pub(super) fn read(self, table: &mut Table<'_>) -> Result<TcpConfig, ConfigError> {
        let base = table.optional("profile", None)?.map_or_else(|| self.config.clone(), TcpConfig::of);
        let before = base.params.clone();
        let params = self.read_params(base.params, table)?;
        if params.min_rto > params.max_rto {
            // The error names the key that this table sets.
            let (key, value, problem) = if table.get("max_rto").is_some() {
                ("max_rto", params.max_rto, format!("at least min_rto, {}", params.min_rto))
            } else {
                ("min_rto", params.min_rto, format!("at most max_rto, {}", params.max_rto))
            };
            return Err(ConfigError::new(table.key(key), format!("\"{value}\" is out of range, it must be {problem}")));
        }
        if let Some(until) = params.app_limited_until
            && until <= params.app_limited_from
        {
            let problem =
                format!("\"{until}\" is out of range, it must be after app_limited_from, {}", params.app_limited_from);
            return Err(ConfigError::new(table.key("app_limited_until"), problem));
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
        check_order(&before, &params, table)?;
        Ok(TcpConfig { profile: base.profile, params })
    }

    /// Reads single parameters, and the congestion control, which may be external.
    fn read_params(self, mut base: TcpParams, table: &mut Table<'_>) -> Result<TcpParams, ConfigError> {
        let named = table.get("congestion_control").and_then(Json::as_str);
        if let Some(control) = named.and_then(self.find) {
            table.settle("congestion_control");
            base.set_external(control);
        }
        let mut params = TcpParams::read_over(base, table)?;
        if !matches!(params.congestion_control, CongestionControl::External(_)) {
            params.congestion.external.control = None;
        }
        Ok(params)
    }

    /// Reads the TCP keys of a source. Rejects keys of this source that have no effect.
    ///
    /// # Errors
    /// The same errors as [`TcpDefaults::read`], or a key without effect.
    pub(super) fn read_source(self, table: &mut Table<'_>) -> Result<TcpConfig, ConfigError> {
        let config = self.read(table)?;
        if config.params == self.config.params {
            return Ok(config);
        }
        let shared = written(&self.config.params);
        for (key, value) in config.changed() {
            // `check_effects` checks values that `[tcp]` sets.
            if shared.get(&key) != Some(&value)
                && let Some(reason) = config.params.why_without_effect(&key)
            {
                return Err(ConfigError::new(table.key(&key), format!("{value} has no effect with {reason}")));
            }
        }
        Ok(config)
    }
}

/// Rejects features that need a record of each outstanding segment if the sender keeps no such records.
fn check_loss_detection(params: &TcpParams, table: &mut Table<'_>) -> Result<(), ConfigError> {
    let mut blame = |first: &'static str, second: &'static str| {
        // The error names the key that this table sets.
        let key = if table.get(first).is_none() && table.get(second).is_some() { second } else { first };
        table.key(key)
    };
    if params.is_tracked() && !params.sack {
        let name = params.loss_detection.name();
        let problem = format!("\"{name}\" counts what SACK reports, it needs sack = true or must be dupack");
        return Err(ConfigError::new(blame("loss_detection", "sack"), problem));
    }
    if params.congestion_control.needs_samples() && !params.is_tracked() {
        let name = params.control_name();
        let problem = format!(
            "\"{name}\" needs loss_detection = \"rack\", as the profile linux has it, \"scoreboard\" or \
             \"packet_threshold\""
        );
        return Err(ConfigError::new(blame("congestion_control", "loss_detection"), problem));
    }
    Ok(())
}

/// Rejects contradictory keys of a congestion control.
fn check_order(before: &TcpParams, params: &TcpParams, table: &mut Table<'_>) -> Result<(), ConfigError> {
    if before.congestion == params.congestion {
        return Ok(());
    }
    let map = written(params);
    for &(low, high) in CongestionControl::ALL.iter().flat_map(|control| control.ordered()) {
        if map[low].as_f64() > map[high].as_f64() {
            let (key, problem) = if table.get(low).is_some() {
                (low, format!("at most {high}, {}", map[high]))
            } else {
                (high, format!("at least {low}, {}", map[low]))
            };
            return Err(ConfigError::new(
                table.key(key),
                format!("{} is out of range, it must be {problem}", map[key]),
            ));
        }
    }
    Ok(())
}

pub(super) fn written(params: &TcpParams) -> Map<String, Json> {
    let mut map = Map::new();
    params.write(&mut map);
    map
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;
    use crate::traffic::tcp::control::Authority;
    use crate::traffic::tcp::external::no_control;
    use serde_json::json;

    fn read(value: &Json) -> Result<TcpConfig, ConfigError> {
        let mut table = Table::new("tcp", value)?;
        let config = TcpConfig::read(&mut table, &no_control)?;
        config.check_effects([].into_iter())?;
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
        let congestion_control = CongestionControl::Reno;
        assert_eq!(params, TcpParams { ecn: true, congestion_control, ..linux });
    }

    #[test]
    fn keys_of_the_other_sender_are_refused_unless_they_say_what_holds_anyway() {
        let refused = |json| read(&json).unwrap_err().to_string();
        assert_eq!(
            refused(json!({"profile": "ns3.26", "tlp": true})),
            "tcp.tlp: true has no effect with loss_detection = \"dupack\""
        );
        let rtt_tick = refused(json!({"profile": "linux", "rtt_tick": "1 ms"}));
        assert_eq!(rtt_tick, "tcp.rtt_tick: \"1 ms\" has no effect with loss_detection = \"rack\"");
        assert_eq!(
            refused(json!({"profile": "linux", "accurate_ecn": true})),
            "tcp.accurate_ecn: true has no effect with ecn = false"
        );
        for name in TcpProfile::ALL.iter().map(|profile| profile.name()) {
            // The same table with all defaults.
            let written = Json::Object(read(&json!({"profile": name})).unwrap().write());
            assert_eq!(read(&written), read(&json!({"profile": name})));
        }
        let dupack = json!({"profile": "linux", "loss_detection": "dupack"});
        let written = Json::Object(read(&dupack).unwrap().write());
        assert_eq!(read(&written), read(&dupack));
    }

    /// Builds a scenario from the `[tcp]` table `tcp` (profile `linux` unless given), with one group per entry of
    /// `sources`, whose kind is `tcp` unless given.
    fn scenario(tcp: &Json, sources: &[Json]) -> Result<Scenario, ConfigError> {
        let with = |base: Json, own: &Json| {
            let mut map = base.as_object().expect("a table").clone();
            map.extend(own.as_object().expect("a table").clone());
            Json::Object(map)
        };
        let groups = sources.iter().map(|own| json!({"sources": [with(json!({"kind": "tcp"}), own)]}));
        let tcp = with(json!({"profile": "linux"}), tcp);
        Scenario::read(&json!({"queue": {"scheme": "droptail"}, "tcp": tcp, "groups": groups.collect::<Vec<_>>()}))
    }

    fn refusal(tcp: &Json, sources: &[Json]) -> String {
        scenario(tcp, sources).unwrap_err().to_string()
    }

    #[test]
    fn keys_that_no_congestion_control_in_use_reads_are_refused() {
        let none = [json!({})];
        assert_eq!(
            refusal(&json!({"dctcp_gain": 0.1}), &none),
            "tcp.dctcp_gain: 0.1 has no effect with congestion_control = \"cubic\": only dctcp reads it"
        );
        assert_eq!(
            refusal(&json!({}), &[json!({}), json!({"congestion_control": "reno", "cubic_c": 0.5})]),
            "groups[1].sources[0].cubic_c: 0.5 has no effect with congestion_control = \"reno\": only cubic reads it"
        );
        assert_eq!(
            refusal(&json!({"byte_counting": false}), &[json!({"congestion_control": "bbr1"})]),
            "tcp.byte_counting: false has no effect with congestion_control = \"bbr1\": only reno, dctcp, vegas, \
             ledbat read it"
        );
        assert_eq!(
            refusal(&json!({"flight_size": "pipe"}), &none),
            "tcp.flight_size: \"pipe\" has no effect with congestion_control = \"cubic\": only reno, dctcp, vegas, \
             ledbat read it"
        );
        // Classic HyStart is part of CUBIC. The profile linux enables it, but it has no effect on other controls.
        assert_eq!(
            refusal(&json!({"profile": "quic", "congestion_control": "reno", "hystart": "classic"}), &none),
            "tcp.hystart: \"classic\" has no effect with congestion_control = \"reno\""
        );
        for tcp in [
            json!({"congestion_control": "reno", "hystart": "classic"}),
            json!({"profile": "quic", "congestion_control": "reno", "hystart": "plusplus"}),
            json!({"profile": "quic", "congestion_control": "cubic", "hystart": "classic"}),
        ] {
            assert!(scenario(&tcp, &none).is_ok(), "{tcp}");
        }
        // `byte_counting` has an effect with every congestion control, in the sender's slow start.
        for profile in ["ns3", "linux"] {
            assert!(read(&json!({"profile": profile, "byte_counting": false})).is_ok());
        }
    }

    #[test]
    fn keys_of_marks_are_refused_where_none_are_asked_for() {
        for (control, key) in
            [("dctcp", "dctcp_gain"), ("dctcp", "dctcp_initial_alpha"), ("prague", "prague_gain"), ("bbr3", "bbr3_ecn")]
        {
            let value = if key == "bbr3_ecn" { json!("alpha") } else { json!(0.5) };
            let source = |ecn: bool| [json!({"congestion_control": control, key: value, "ecn": ecn})];
            let problem = format!("groups[0].sources[0].{key}: {value} has no effect with ecn = false");
            assert_eq!(refusal(&json!({}), &source(false)), problem);
            assert!(scenario(&json!({}), &source(true)).is_ok(), "{key}");
        }
    }

    #[test]
    fn controls_that_set_the_window_themselves_have_no_whole_windows() {
        for &control in CongestionControl::ALL {
            let sources = [json!({"congestion_control": control.name(), "whole_windows": false})];
            if control.authority() == Authority::Full {
                let problem = format!(
                    "groups[0].sources[0].whole_windows: false has no effect with congestion_control = \"{}\"",
                    control.name()
                );
                assert_eq!(refusal(&json!({}), &sources), problem);
            } else {
                assert!(scenario(&json!({}), &sources).is_ok(), "{}", control.name());
            }
        }
    }

    #[test]
    fn every_detection_that_a_sender_with_records_has_is_named_where_one_is_needed() {
        let problem = "tcp.congestion_control: \"bbr1\" needs loss_detection = \"rack\", as the profile linux has it, \
                       \"scoreboard\" or \"packet_threshold\"";
        assert_eq!(read(&json!({"profile": "ns3", "congestion_control": "bbr1"})).unwrap_err().to_string(), problem);
        for detection in ["rack", "scoreboard", "packet_threshold"] {
            let tcp = json!({"profile": "linux", "loss_detection": detection, "congestion_control": "bbr1"});
            assert!(read(&tcp).is_ok(), "{detection}");
        }
    }

    #[test]
    fn a_key_of_tcp_is_taken_if_one_of_the_sources_that_it_reaches_reads_it_and_what_is_written_can_be_read() {
        let cases = [
            (json!({"cubic_c": 0.5}), vec![json!({"congestion_control": "reno"}), json!({})]),
            (
                json!({"congestion_control": "reno", "cubic_c": 0.5}),
                vec![json!({"congestion_control": "cubic"}), json!({})],
            ),
            (json!({"accurate_ecn": true}), vec![json!({"ecn": true}), json!({"congestion_control": "vegas"})]),
            (
                json!({"bbr1_cwnd_gain": 3.0}),
                vec![json!({"kind": "cbr", "rate": "1 Mbit/s"}), json!({"congestion_control": "bbr1"})],
            ),
        ];
        for (tcp, sources) in cases {
            let scenario = scenario(&tcp, &sources).unwrap_or_else(|error| panic!("{tcp}: {error}"));
            assert_eq!(Scenario::read(&scenario.write()), Ok(scenario), "{tcp}");
        }
        // The key has no effect if the source that would use it sets a different value.
        let own = [json!({}), json!({"congestion_control": "reno"}), json!({"cubic_c": 0.6})];
        assert!(scenario(&json!({"cubic_c": 0.5}), &own[..2]).is_ok());
        assert!(scenario(&json!({"cubic_c": 0.5}), &own[1..]).is_err());
    }

    #[test]
    fn bounds_of_vegas_that_are_the_wrong_way_round_are_refused() {
        assert_eq!(
            refusal(&json!({"congestion_control": "vegas", "vegas_alpha": 5}), &[json!({})]),
            "tcp.vegas_alpha: 5 is out of range, it must be at most vegas_beta, 4"
        );
        assert_eq!(
            refusal(&json!({"congestion_control": "vegas"}), &[json!({"vegas_beta": 1})]),
            "groups[0].sources[0].vegas_beta: 1 is out of range, it must be at least vegas_alpha, 2"
        );
    }

    #[test]
    fn records_of_segments_need_sack() {
        let error = read(&json!({"profile": "ns3.26", "loss_detection": "rack"})).unwrap_err().to_string();
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
