//! The list of all schemes, and the factory that builds a port's discipline.
//!
//! A scheme implements [`SchemeSpec`] in its own module and is named once in the list below; configuration, schema,
//! catalogue and static dispatch follow from that.

use crate::base::config::{ConfigError, ParamSet, ParamSpec, Table};
use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::choices;
use crate::contract::buffer::{BufferParams, Scheduler};
use crate::contract::discipline::{Backlog, DropSink, QueueDiscipline, Report, StateSize};
use crate::contract::marker::MarkerScheme;
use crate::contract::packet::Packet;
use crate::contract::scheme::{About, Port, SchemeSpec};
use crate::contract::weights::Weights;
use crate::registry::external::{External, ExternalScheme, FindExternal, no_external};
use crate::testing::TestPacket;
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// Declares the list of schemes and what follows from it.
macro_rules! schemes {
    ($( $(#[doc = $doc:literal])+ $Variant:ident = $name:literal, $Spec:ty; )+) => {
        choices! {
            /// The queue disciplines there are.
            pub enum Scheme { $( $(#[doc = $doc])+ $Variant = $name, )+ }
        }

        impl Scheme {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$( Self::$Variant ),+];

            /// The marker that the scheme's labels come from.
            #[must_use]
            pub fn marker(self) -> MarkerScheme {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::MARKER, )+ }
            }

            /// What the catalogue says.
            #[must_use]
            pub fn about(self) -> About {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::ABOUT, )+ }
            }

            /// Its parameters beyond the buffer.
            #[must_use]
            pub fn params(self) -> Vec<ParamSpec> {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::Params::specs(), )+ }
            }

            /// Whether it decides the order of service itself.
            #[must_use]
            pub fn orders_packets(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::ORDERS_PACKETS, )+ }
            }

            /// Whether it may drop a packet that finds the queue empty.
            #[must_use]
            pub fn drops_when_empty(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::DROPS_WHEN_EMPTY, )+ }
            }

            /// Whether packets of one flow may leave in another order than they came.
            #[must_use]
            pub fn reorders_flows(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::REORDERS_FLOWS, )+ }
            }

            /// Bytes that the scheme holds at an idle port, with its default parameters; see [`StateSize`].
            #[must_use]
            pub fn idle_bytes(self) -> usize {
                let port = QueueConfig::of(self, BufferParams::default());
                port.build::<TestPacket>(BitRate(10_000_000), &Weights::equal()).state_size().bytes
            }

            fn default_params(self) -> SchemeParams {
                match self { $( Self::$Variant => SchemeParams::$Variant(Default::default()), )+ }
            }

            fn read_params(self, buffer: &BufferParams, table: &mut Table<'_>) -> Result<SchemeParams, ConfigError> {
                match self {
                    $( Self::$Variant => {
                        let params = <$Spec as SchemeSpec>::Params::read(table)?;
                        <$Spec as SchemeSpec>::check(&params, buffer, table)?;
                        Ok(SchemeParams::$Variant(params))
                    } )+
                }
            }
        }

        /// Parameters of a scheme beyond the buffer.
        #[derive(Clone, Debug, PartialEq)]
        pub enum SchemeParams {
            $( $(#[doc = $doc])+ $Variant(<$Spec as SchemeSpec>::Params), )+
            /// A scheme that is not in the list.
            External(ExternalScheme),
        }

        impl SchemeParams {
            fn scheme(&self) -> Option<Scheme> {
                match self {
                    $( Self::$Variant(_) => Some(Scheme::$Variant), )+
                    Self::External(_) => None,
                }
            }

            fn write(&self, into: &mut Map<String, Json>) {
                match self {
                    $( Self::$Variant(params) => params.write(into), )+
                    Self::External(_) => {}
                }
            }

            fn build<P: Packet>(&self, port: &Port<'_>) -> AnyDiscipline<P> {
                match self {
                    $( Self::$Variant(params) => AnyDiscipline::$Variant(<$Spec as SchemeSpec>::build(params, port)), )+
                    Self::External(scheme) => AnyDiscipline::External(External::new(scheme, port.buffer, port.rate)),
                }
            }
        }

        /// All queue disciplines behind one static dispatch.
        #[derive(Debug)]
        pub enum AnyDiscipline<P: Packet> {
            $( $(#[doc = $doc])+ $Variant(<$Spec as SchemeSpec>::Discipline<P>), )+
            /// See [`crate::registry::external`].
            External(External<P>),
        }

        /// Calls the same method of whichever discipline it is.
        macro_rules! dispatch {
            ($self:expr, $discipline:ident => $call:expr) => {
                match $self {
                    $( AnyDiscipline::$Variant($discipline) => $call, )+
                    AnyDiscipline::External($discipline) => $call,
                }
            };
        }
    };
}

schemes! {
    /// See [`crate::aqm::droptail`].
    DropTail = "droptail", crate::aqm::droptail::DropTailScheme;
    /// See [`crate::label::abc`].
    Abc = "abc", crate::label::abc::AbcScheme;
    /// See [`crate::label::csfq`].
    Csfq = "csfq", crate::label::csfq::CsfqScheme;
    /// See [`crate::label::hcsfq`].
    Hcsfq = "hcsfq", crate::label::hcsfq::HcsfqScheme;
    /// See [`crate::label::afpft`].
    Afpft = "afpft", crate::label::afpft::AfpftScheme;
    /// See [`crate::label::rfq`].
    Rfq = "rfq", crate::label::rfq::RfqScheme;
    /// See [`crate::label::ppv`].
    Ppv = "ppv", crate::label::ppv::PpvScheme;
    /// See [`crate::label::pvpie`].
    PvPie = "pvpie", crate::label::pvpie::PvPieScheme;
    /// See [`crate::label::abc2016`].
    Abc2016 = "abc2016", crate::label::abc2016::Abc2016Scheme;
    /// See [`crate::aqm::red`].
    Red = "red", crate::aqm::red::RedScheme;
    /// See [`crate::aqm::ared`].
    Ared = "ared", crate::aqm::ared::AredScheme;
    /// See [`crate::aqm::fred`].
    Fred = "fred", crate::aqm::fred::FredScheme;
    /// See [`crate::aqm::blue`].
    Blue = "blue", crate::aqm::blue::BlueScheme;
    /// See [`crate::aqm::sfb`].
    Sfb = "sfb", crate::aqm::sfb::SfbScheme;
    /// See [`crate::aqm::red_pd`].
    RedPd = "red_pd", crate::aqm::red_pd::RedPdScheme;
    /// See [`crate::aqm::pie`].
    Pie = "pie", crate::aqm::pie::PieScheme;
    /// See [`crate::aqm::dualpi2`].
    DualPi2 = "dualpi2", crate::aqm::dualpi2::DualPi2Scheme;
    /// See [`crate::aqm::codel`].
    Codel = "codel", crate::aqm::codel::CodelScheme;
    /// See [`crate::aqm::care`].
    Care = "care", crate::aqm::care::CareScheme;
    /// See [`crate::aqm::choke`].
    Choke = "choke", crate::aqm::choke::ChokeScheme;
    /// See [`crate::aqm::black`].
    Black = "black", crate::aqm::black::BlackScheme;
    /// See [`crate::aqm::afc`].
    Afc = "afc", crate::aqm::afc::AfcScheme;
    /// See [`crate::aqm::afd`].
    Afd = "afd", crate::aqm::afd::AfdScheme;
    /// See [`crate::aqm::cp_aqm`].
    CpAqm = "cp_aqm", crate::aqm::cp_aqm::CpAqmScheme;
    /// See [`crate::fairqueue::wfq`].
    Wfq = "wfq", crate::fairqueue::wfq::WfqScheme;
    /// See [`crate::fairqueue::stfq`].
    Stfq = "stfq", crate::fairqueue::stfq::StfqScheme;
    /// See [`crate::fairqueue::drr`].
    Drr = "drr", crate::fairqueue::drr::DrrScheme;
    /// See [`crate::fairqueue::drr_lds`].
    DrrLds = "drr_lds", crate::fairqueue::drr_lds::DrrLdsScheme;
    /// See [`crate::fairqueue::sfq`].
    Sfq = "sfq", crate::fairqueue::sfq::SfqScheme;
    /// See [`crate::fairqueue::fq_codel`].
    FqCodel = "fq_codel", crate::fairqueue::fq_codel::FqCodelScheme;
    /// See [`crate::fairqueue::cake`].
    Cake = "cake", crate::fairqueue::cake::CakeScheme;
    /// See [`crate::fairqueue::afq`].
    Afq = "afq", crate::fairqueue::afq::AfqScheme;
    /// See [`crate::fairqueue::fdpa`].
    Fdpa = "fdpa", crate::fairqueue::fdpa::FdpaScheme;
    /// See [`crate::fairqueue::cebinae`].
    Cebinae = "cebinae", crate::fairqueue::cebinae::CebinaeScheme;
}

/// As `dispatch!`, with the code of the two schemes that run most by far in the caller's place, and that of all others
/// behind a call: with forty schemes in it the loop of an engine would be 6 % slower.
macro_rules! dispatch_near {
    ($self:expr, $discipline:ident => $call:expr, $other:ident => $far:expr) => {
        match $self {
            AnyDiscipline::DropTail($discipline) => $call,
            AnyDiscipline::Abc($discipline) => $call,
            $other => $far,
        }
    };
}

impl<P: Packet> AnyDiscipline<P> {
    #[inline(never)]
    fn enqueue_far(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        dispatch!(self, discipline => discipline.enqueue(packet, now, rng, drops));
    }

    #[inline(never)]
    fn dequeue_far(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        dispatch!(self, discipline => discipline.dequeue(now, rng, drops))
    }

    #[inline(never)]
    fn backlog_far(&self) -> Backlog {
        dispatch!(self, discipline => discipline.backlog())
    }

    #[inline(never)]
    fn drop_threshold_far(&self) -> Option<f64> {
        dispatch!(self, discipline => discipline.drop_threshold())
    }
}

impl<P: Packet> QueueDiscipline<P> for AnyDiscipline<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        dispatch_near!(self, discipline => discipline.enqueue(packet, now, rng, drops),
            other => other.enqueue_far(packet, now, rng, drops));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        dispatch_near!(self, discipline => discipline.dequeue(now, rng, drops),
            other => other.dequeue_far(now, rng, drops))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        dispatch_near!(self, discipline => discipline.backlog(), other => other.backlog_far())
    }

    #[inline]
    fn drop_threshold(&self) -> Option<f64> {
        dispatch_near!(self, discipline => discipline.drop_threshold(), other => other.drop_threshold_far())
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        dispatch!(self, discipline => discipline.set_link_rate(rate));
    }

    fn drop_probability(&self) -> Option<f64> {
        dispatch!(self, discipline => discipline.drop_probability())
    }

    fn state_size(&self) -> StateSize {
        dispatch!(self, discipline => discipline.state_size())
    }

    fn report(&self, report: Report<'_>) {
        dispatch!(self, discipline => discipline.report(report));
    }

    fn failure(&self) -> Option<&str> {
        dispatch!(self, discipline => discipline.failure())
    }
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
        Self { buffer, scheme: scheme.default_params() }
    }

    /// An external scheme on the given buffer.
    #[must_use]
    pub fn external(scheme: ExternalScheme, buffer: BufferParams) -> Self {
        Self { buffer, scheme: SchemeParams::External(scheme) }
    }

    /// Which scheme of the list it is, if it is one of them.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        self.scheme.scheme()
    }

    /// Name of the scheme.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.scheme {
            SchemeParams::External(scheme) => &scheme.name,
            listed => listed.scheme().map_or("", Scheme::name),
        }
    }

    /// The marker that the scheme's labels come from; an external scheme takes any.
    #[must_use]
    pub fn marker(&self) -> MarkerScheme {
        self.scheme().map_or(MarkerScheme::None, Scheme::marker)
    }

    /// Reads a `[queue]` table.
    ///
    /// # Errors
    /// An unknown key, a value out of range, or values that contradict each other or the limit.
    pub fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        Self::read_with(table, &no_external)
    }

    /// As [`QueueConfig::read`]; `scheme` may also name one that `find` finds.
    ///
    /// # Errors
    /// As [`QueueConfig::read`].
    pub fn read_with(table: &mut Table<'_>, find: FindExternal<'_>) -> Result<Self, ConfigError> {
        if let Some(scheme) = table.get("scheme").and_then(Json::as_str).and_then(find) {
            let buffer = BufferParams::read(table)?;
            Self::check_scheduler(&scheme.name, &buffer, table)?;
            table.finish()?;
            return Ok(Self::external(scheme, buffer));
        }
        let scheme: Scheme = table.required("scheme")?;
        let buffer = BufferParams::read(table)?;
        if scheme.orders_packets() {
            Self::check_scheduler(scheme.name(), &buffer, table)?;
        }
        let scheme = scheme.read_params(&buffer, table)?;
        table.finish()?;
        Ok(Self { buffer, scheme })
    }

    /// A scheme that orders packets itself leaves nothing to the buffer's scheduler.
    fn check_scheduler(name: &str, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        if buffer.scheduler == Scheduler::Fifo {
            return Ok(());
        }
        let problem =
            format!("\"{}\" is out of range, it must be fifo: {name} orders packets itself", buffer.scheduler.name());
        Err(ConfigError::new(table.key("scheduler"), problem))
    }

    /// Writes the table that [`QueueConfig::read`] reads, every default filled in.
    #[must_use]
    pub fn write(&self) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("scheme".into(), self.name().into());
        self.buffer.write(&mut map);
        self.scheme.write(&mut map);
        map
    }

    /// The discipline at a link of rate `rate`, whose flows or users have `weights`.
    #[must_use]
    pub fn build<P: Packet>(&self, rate: BitRate, weights: &Weights) -> AnyDiscipline<P> {
        self.scheme.build(&Port { buffer: &self.buffer, rate, weights })
    }
}

/// One entry of the catalogue of schemes.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeInfo {
    /// Name in a scenario.
    pub name: &'static str,
    /// What it is.
    #[serde(flatten)]
    pub about: About,
    /// The marker that it needs at the edge.
    pub marker: &'static str,
    /// Bytes of state at an idle port with default parameters, see [`Scheme::idle_bytes`].
    pub idle_bytes: usize,
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
    Scheme::ALL.iter().map(|&scheme| describe(scheme)).collect()
}

fn describe(scheme: Scheme) -> SchemeInfo {
    let params =
        |specs: Vec<ParamSpec>, table, shared| specs.into_iter().map(move |spec| SchemeParam { spec, table, shared });
    SchemeInfo {
        name: scheme.name(),
        about: scheme.about(),
        marker: scheme.marker().name(),
        idle_bytes: scheme.idle_bytes(),
        params: params(BufferParams::specs(), "queue", true)
            .chain(params(scheme.params(), "queue", false))
            .chain(params(scheme.marker().params(), "marker", false))
            .collect(),
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
        for &scheme in Scheme::ALL {
            let config = QueueConfig::of(scheme, BufferParams::default());
            let value = Json::Object(config.write());
            assert_eq!(QueueConfig::read(&mut Table::new("queue", &value).unwrap()).unwrap(), config);
        }
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
        let bytes = size_of::<AnyDiscipline<TestPacket>>();
        assert!(bytes <= 320, "{bytes} bytes: box what the largest scheme seldom touches");
    }
}
