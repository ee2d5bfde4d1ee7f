//! Names available in a scenario, for a host's menus.

use crate::answer::{Answer, Failed};
use fairlane_schemes::registry::catalogue::catalogue as schemes;
use fairlane_sim::network::sim_packet::SimPacket;
use fairlane_sim::traffic::tcp::congestion_controls;
use serde_json::json;

/// Returns the version, and the schemes and congestion controls with their parameters, as JSON.
///
/// # Errors
/// The catalogue cannot be written as JSON.
pub fn catalogue() -> Result<Answer, Failed> {
    Answer::EMPTY.json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "schemes": schemes::<SimPacket>(),
        "congestion_controls": congestion_controls(),
    }))
}
