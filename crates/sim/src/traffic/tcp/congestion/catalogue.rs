//! Catalogue of congestion controls, built from the declarations that also parse and create the controls.

use super::CongestionControl;
use super::control::{Authority, EcnUse};
use fairlane_schemes::base::config::ParamSpec;
use serde::Serialize;

/// A congestion control with its requirements.
#[derive(Clone, Debug, Serialize)]
pub struct ControlInfo {
    /// Name in a scenario.
    pub name: &'static str,
    /// Name of the control's module and of its chapter in the documentation.
    pub module: &'static str,
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// Part of the window that the control sets.
    pub decides: &'static str,
    /// Feedback on congestion marks that the control uses, if the connection has `ecn`.
    pub marks: &'static str,
    /// True if the control responds to every mark, which requires `ecn`. Other controls respond to one mark per round
    /// trip.
    pub every_mark: bool,
    /// Values of `loss_detection` that support the control.
    pub loss_detection: &'static str,
    /// Keys of the `[tcp]` table that belong to the control.
    pub params: Vec<ParamSpec>,
}

/// Returns all congestion controls.
#[must_use]
pub fn catalogue() -> Vec<ControlInfo> {
    CongestionControl::ALL.iter().map(|&control| describe(control)).collect()
}

fn describe(control: CongestionControl) -> ControlInfo {
    ControlInfo {
        name: control.name(),
        module: control.module(),
        summary: control.summary(),
        decides: match control.authority() {
            Authority::Avoidance => "window growth in congestion avoidance, and window after congestion",
            Authority::Growth => "all window growth, and window after congestion",
            Authority::Full => "window and pacing rate",
        },
        marks: match control.ecn_use() {
            EcnUse::Classic => "once per round trip, ECT(0)",
            EcnUse::AccurateEct0 => "every mark, ECT(0)",
            EcnUse::AccurateEct1 => "every mark, ECT(1)",
        },
        every_mark: control.ecn_use() != EcnUse::Classic,
        loss_detection: if control.needs_samples() { "rack, scoreboard, packet_threshold" } else { "any" },
        params: control.params(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_control_and_every_key_of_it_is_described_and_keys_are_of_one_control_only() {
        let mut keys = HashSet::new();
        for control in catalogue() {
            assert!(!control.summary.is_empty(), "{}", control.name);
            for key in control.params {
                assert!(!key.doc.is_empty() && !key.source.is_empty(), "{} {}", control.name, key.name);
                assert!(keys.insert(key.name), "{} {}", control.name, key.name);
            }
        }
    }
}
