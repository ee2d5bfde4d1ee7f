//! Every queue discipline behind one static dispatch, the factory that builds it, and the catalogue of schemes.

use crate::abc::{AbcAqm, AbcParams, MeterParams};
use crate::buffer::{BufferParams, ManagedQueue};
use crate::choices;
use crate::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table};
use crate::discipline::{Backlog, DropSink, QueueDiscipline};
use crate::droptail::DropTail;
use crate::marker::{MarkerConfig, MarkerScheme};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{BitRate, QueueLimit, QueueMeasure, Time};
use serde::Serialize;
use serde_json::{Map, Value as Json};

choices! {
    /// The queue disciplines there are.
    pub enum Scheme {
        /// See [`crate::droptail`].
        DropTail = "droptail",
        /// See [`crate::abc`].
        Abc = "abc",
    }
}

impl Scheme {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 2] = [Self::DropTail, Self::Abc];

    /// The marker that the scheme's labels come from.
    #[must_use]
    pub fn marker(self) -> MarkerScheme {
        match self {
            Self::DropTail => MarkerScheme::None,
            Self::Abc => MarkerScheme::Abc,
        }
    }
}

/// Parameters of a scheme beyond the buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemeParams {
    /// Drop-tail has none.
    DropTail,
    /// ABC.
    Abc(AbcParams),
}

/// Everything that a port's discipline is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Buffer and scheduler.
    pub buffer: BufferParams,
    /// The scheme.
    pub scheme: SchemeParams,
}

impl QueueConfig {
    /// `scheme` with its defaults on the given buffer.
    #[must_use]
    pub fn of(scheme: Scheme, buffer: BufferParams) -> Self {
        let scheme = match scheme {
            Scheme::DropTail => SchemeParams::DropTail,
            Scheme::Abc => SchemeParams::Abc(AbcParams::default()),
        };
        Self { buffer, scheme }
    }

    /// Which scheme it is.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match self.scheme {
            SchemeParams::DropTail => Scheme::DropTail,
            SchemeParams::Abc(_) => Scheme::Abc,
        }
    }

    /// Reads a `[queue]` table.
    ///
    /// # Errors
    /// An unknown key, a value out of range, or thresholds that contradict each other or the limit.
    pub fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let scheme: Scheme = table.required("scheme")?;
        let buffer = BufferParams::read(table)?;
        let scheme = match scheme {
            Scheme::DropTail => SchemeParams::DropTail,
            Scheme::Abc => {
                let params = AbcParams::read(table)?;
                check_thresholds(&params, buffer.limit, table)?;
                SchemeParams::Abc(params)
            }
        };
        table.finish()?;
        Ok(Self { buffer, scheme })
    }

    /// Writes the table that [`QueueConfig::read`] reads, every default filled in.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("scheme".into(), self.scheme().to_json());
        self.buffer.write(&mut map);
        match &self.scheme {
            SchemeParams::DropTail => {}
            SchemeParams::Abc(params) => params.write(&mut map),
        }
        map
    }

    /// The discipline at a link of rate `rate`.
    #[must_use]
    pub fn build<P: Packet>(&self, rate: BitRate) -> AnyDiscipline<P> {
        match &self.scheme {
            SchemeParams::DropTail => AnyDiscipline::DropTail(ManagedQueue::new(&self.buffer, rate, DropTail)),
            SchemeParams::Abc(params) => AnyDiscipline::Abc(ManagedQueue::new(&self.buffer, rate, AbcAqm::new(params))),
        }
    }
}

/// Checks what no single range can: one unit for all thresholds, and room for Q_min below the limit.
fn check_thresholds(params: &AbcParams, limit: QueueLimit, table: &Table<'_>) -> Result<(), ConfigError> {
    let named = [("q_min", params.q_min), ("q_base", params.q_base), ("gamma", params.gamma)];
    let measure = params.q_min.measure();
    if let Some((name, other)) = named.iter().find(|(_, threshold)| threshold.measure() != measure) {
        let problem = format!(
            "\"{other}\" is in {}, but q_min \"{}\" is in {measure}: give q_min, q_base and gamma in one unit",
            other.measure(),
            params.q_min
        );
        return Err(ConfigError::new(table.key(name), problem));
    }
    for (name, threshold) in named {
        if !(0.0..=1e12).contains(&threshold.magnitude()) {
            return Err(ConfigError::new(
                table.key(name),
                format!("\"{threshold}\" is out of range, it must be from 0 to 1e12"),
            ));
        }
    }
    let limit_in_measure = match (limit, measure) {
        (QueueLimit::Packets(packets), QueueMeasure::Packets) => f64::from(packets),
        (QueueLimit::Bytes(bytes), QueueMeasure::Bytes) => bytes as f64,
        _ => return Ok(()),
    };
    if params.q_min.magnitude() > limit_in_measure {
        let problem =
            format!("\"{}\" is out of range, it must be from 0 to the limit of the queue, {limit}", params.q_min);
        return Err(ConfigError::new(table.key("q_min"), problem));
    }
    Ok(())
}

/// All queue disciplines behind one static dispatch.
#[derive(Clone, Debug)]
pub enum AnyDiscipline<P> {
    /// Drop-tail.
    DropTail(ManagedQueue<P, DropTail>),
    /// ABC.
    Abc(ManagedQueue<P, AbcAqm>),
}

/// Calls the same method of whichever discipline it is.
macro_rules! dispatch {
    ($self:expr, $discipline:ident => $call:expr) => {
        match $self {
            AnyDiscipline::DropTail($discipline) => $call,
            AnyDiscipline::Abc($discipline) => $call,
        }
    };
}

impl<P: Packet> QueueDiscipline<P> for AnyDiscipline<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        dispatch!(self, discipline => discipline.enqueue(packet, now, rng, drops));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, drops: &mut impl DropSink<P>) -> Option<P> {
        dispatch!(self, discipline => discipline.dequeue(now, drops))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        dispatch!(self, discipline => discipline.backlog())
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        dispatch!(self, discipline => discipline.set_link_rate(rate));
    }

    #[inline]
    fn drop_threshold(&self) -> Option<f64> {
        dispatch!(self, discipline => discipline.drop_threshold())
    }
}

/// One entry of the catalogue of schemes.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeInfo {
    /// Name in a scenario.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// Queue type and where it drops.
    pub kind: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// State that it keeps.
    pub state: &'static str,
    /// The marker that it needs at the edge.
    pub marker: &'static str,
    /// Parameters.
    pub params: Vec<SchemeParam>,
}

/// A parameter and the table of the scenario that it stands in.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeParam {
    /// The parameter.
    #[serde(flatten)]
    pub spec: ParamSpec,
    /// `queue` or `marker`.
    pub table: &'static str,
    /// Whether all schemes have it.
    pub shared: bool,
}

/// Describes every scheme, from the declarations that also parse and build it.
#[must_use]
pub fn catalogue() -> Vec<SchemeInfo> {
    Scheme::ALL.map(describe).into()
}

fn describe(scheme: Scheme) -> SchemeInfo {
    let params =
        |specs: Vec<ParamSpec>, table, shared| specs.into_iter().map(move |spec| SchemeParam { spec, table, shared });
    let shared = params(BufferParams::specs(), "queue", true);
    let info = SchemeInfo {
        name: scheme.name(),
        title: "Drop-tail",
        kind: "one queue per class and scheduler; drops the arriving packet",
        summary: "Accepts every packet until the queue is full.",
        source: "baseline of abc2018",
        state: "none",
        marker: scheme.marker().name(),
        params: vec![],
    };
    match scheme {
        Scheme::DropTail => SchemeInfo { params: shared.collect(), ..info },
        Scheme::Abc => SchemeInfo {
            title: "Activity-based congestion management",
            summary: "The edge labels packets with the logarithm of their user's relative rate; a port drops a packet \
                      when the queue is longer than a threshold that falls with the packet's activity.",
            source: "Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With \
                     Prioritization, IEEE Access 2018",
            state: "port: 3 numbers; user, at the edge: 2 numbers; flow: none",
            params: shared
                .chain(params(AbcParams::specs(), "queue", false))
                .chain(params(MeterParams::specs(), "marker", false))
                .collect(),
            ..info
        },
    }
}

impl MarkerConfig {
    /// `scheme` with its defaults.
    #[must_use]
    pub fn of(scheme: MarkerScheme) -> Self {
        match scheme {
            MarkerScheme::None => Self::None,
            MarkerScheme::Abc => Self::Abc(MeterParams::default()),
        }
    }

    /// Which marker it is.
    #[must_use]
    pub fn scheme(&self) -> MarkerScheme {
        match self {
            Self::None => MarkerScheme::None,
            Self::Abc(_) => MarkerScheme::Abc,
        }
    }

    /// Reads a `[marker]` table; without a `scheme` it is the marker that `queue` needs.
    ///
    /// # Errors
    /// An unknown key or a value out of range.
    pub fn read(table: &mut Table<'_>, queue: Scheme) -> Result<Self, ConfigError> {
        let config = match table.optional("scheme", None)?.unwrap_or(queue.marker()) {
            MarkerScheme::None => Self::None,
            MarkerScheme::Abc => Self::Abc(MeterParams::read(table)?),
        };
        table.finish()?;
        Ok(config)
    }

    /// Writes the table that [`MarkerConfig::read`] reads, every default filled in.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("scheme".into(), self.scheme().to_json());
        if let Self::Abc(params) = self {
            params.write(&mut map);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(value: &Json) -> String {
        QueueConfig::read(&mut Table::new("queue", value).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_reads_back() {
        for scheme in Scheme::ALL {
            let config = QueueConfig::of(scheme, BufferParams::default());
            let value = Json::Object(config.write());
            assert_eq!(QueueConfig::read(&mut Table::new("queue", &value).unwrap()).unwrap(), config);
        }
    }

    #[test]
    fn thresholds_that_contradict_each_other_are_refused() {
        assert_eq!(
            message(&json!({"scheme": "abc", "q_min": "30 packets"})),
            r#"queue.q_min: "30 packets" is out of range, it must be from 0 to the limit of the queue, 24 packets"#
        );
        assert_eq!(
            message(&json!({"scheme": "abc", "q_min": "14.4 ms"})),
            "queue.q_base: \"20 packets\" is in packets, but q_min \"14.4 ms\" is in delay: \
             give q_min, q_base and gamma in one unit"
        );
    }

    #[test]
    fn a_key_of_another_scheme_is_unknown() {
        assert!(message(&json!({"scheme": "droptail", "gamma": "16 packets"})).starts_with("queue.gamma: unknown key"));
    }

    #[test]
    fn every_scheme_documents_every_parameter() {
        for info in catalogue() {
            for param in &info.params {
                assert!(
                    !param.spec.doc.is_empty() && !param.spec.source.is_empty(),
                    "{} {}",
                    info.name,
                    param.spec.name
                );
            }
        }
    }

    #[test]
    fn static_dispatch_keeps_the_port_small() {
        assert!(size_of::<AnyDiscipline<crate::testing::TestPacket>>() <= 304);
    }
}
