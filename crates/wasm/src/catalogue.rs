//! Names available in a scenario, for a host's menus.

use crate::answer::{Answer, Failed};
use fairlane_schemes::registry::catalogue::catalogue as schemes;
use fairlane_sim::network::sim_packet::SimPacket;
use fairlane_sim::traffic::tcp::congestion_controls;
use serde_json::json;

/// Version, schemes and congestion controls, each with its parameters.
///
/// # Errors
/// It cannot be written.
pub fn catalogue() -> Result<Answer, Failed> {
    Answer::EMPTY.json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "schemes": schemes::<SimPacket>(),
        "congestion_controls": congestion_controls(),
    }))
}
