//! The catalogue of schemes: descriptions that hosts show to their users.

use crate::base::config::{ParamSet, ParamSpec};
use crate::base::units::BitRate;
use crate::contract::buffer::BufferParams;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::packet::Packet;
use crate::contract::scheme::About;
use crate::contract::weights::Weights;
use crate::registry::queue_config::QueueConfig;
use crate::registry::schemes::Scheme;
use serde::Serialize;

/// One entry of the catalogue of schemes.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeInfo {
    /// Name in a scenario.
    pub name: &'static str,
    /// Name in tables and figures.
    pub display_name: &'static str,
    /// Name of the scheme's family.
    pub family: &'static str,
    /// Catalogue entry.
    #[serde(flatten)]
    pub about: About,
    /// Marker that the scheme needs at the edge.
    pub marker: &'static str,
    /// True if the scheme marks ECN-capable packets with its default parameters.
    pub marks: bool,
    /// True if the scheme enforces configured rates, as HTB does, and therefore does not share fairly by itself.
    pub shapes: bool,
    /// Bytes of state at an idle port with default parameters, see [`idle_bytes`].
    pub idle_bytes: usize,
    /// Parameters of the scheme.
    pub params: Vec<SchemeParam>,
}

/// A parameter and its table in a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeParam {
    /// The parameter.
    #[serde(flatten)]
    pub spec: ParamSpec,
    /// `queue` or `marker`.
    pub table: &'static str,
    /// True if all schemes have this parameter.
    pub shared: bool,
}

/// Describes every scheme, for a host with packets `P`, from the declarations that also parse and build schemes.
#[must_use]
pub fn catalogue<P: Packet>() -> Vec<SchemeInfo> {
    Scheme::ALL.iter().map(|&scheme| describe::<P>(scheme)).collect()
}

/// Bytes of the scheme's state at an idle port for packets `P`, with default parameters; see `StateSize`.
#[must_use]
pub fn idle_bytes<P: Packet>(scheme: Scheme) -> usize {
    let config = QueueConfig::of(scheme, BufferParams::default());
    config.build::<P>(BitRate(10_000_000), &Weights::equal()).state_size().bytes
}

fn describe<P: Packet>(scheme: Scheme) -> SchemeInfo {
    let params =
        |specs: Vec<ParamSpec>, table, shared| specs.into_iter().map(move |spec| SchemeParam { spec, table, shared });
    SchemeInfo {
        name: scheme.name(),
        display_name: scheme.display_name(),
        family: scheme.family(),
        about: scheme.about(),
        marker: scheme.marker().name(),
        marks: QueueConfig::of(scheme, BufferParams::default()).marks(),
        shapes: scheme.shapes(),
        idle_bytes: idle_bytes::<P>(scheme),
        params: params(BufferParams::specs(), "queue", true)
            .chain(params(scheme.params(), "queue", false))
            .chain(params(scheme.marker().params(), "marker", false))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    #[test]
    fn every_scheme_documents_every_parameter() {
        for info in catalogue::<TestPacket>() {
            for param in &info.params {
                let spec = &param.spec;
                assert!(!spec.doc.is_empty() && !spec.source.is_empty(), "{} {}", info.name, spec.name);
            }
        }
    }
}
