//! The list of all schemes, and their disciplines.
//!
//! A scheme implements [`SchemeSpec`] in its own module and appears once in the list below. Configuration, schema,
//! catalogue and static dispatch are derived from it.

use crate::base::config::{ConfigError, ParamSet, ParamSpec, Table};
use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::choices;
use crate::contract::buffer::BufferParams;
use crate::contract::class_tree::ClassTree;
use crate::contract::discipline::{Backlog, DisciplineFunction, DropSink, QueueDiscipline, Report, StateSize};
use crate::contract::marker::MarkerScheme;
use crate::contract::packet::Packet;
use crate::contract::scheme::{About, Port, SchemeSpec};
use crate::label::abc::MarkingAbc;
use crate::registry::external::{External, ExternalScheme};
use serde_json::{Map, Value as Json};

/// Declares the list of schemes and all items derived from it.
macro_rules! schemes {
    ($( $Variant:ident = $name:literal, $display:literal, $family:ident::$module:ident::$Spec:ident; )+) => {
        $( use crate::$family::$module::$Spec; )+

        choices! {
            /// Queue disciplines.
            pub enum Scheme {
                $( #[doc = concat!("See [`", stringify!($Spec), "`].")] $Variant = $name, )+
            }
        }

        impl Scheme {
            /// Name in tables and figures, in the field's spelling.
            #[must_use]
            pub fn display_name(self) -> &'static str {
                match self { $( Self::$Variant => $display, )+ }
            }

            /// Name of the scheme's family: `aqm`, `fairqueue` or `label`.
            #[must_use]
            pub fn family(self) -> &'static str {
                match self { $( Self::$Variant => stringify!($family), )+ }
            }

            /// Marker that writes the scheme's labels.
            #[must_use]
            pub fn marker(self) -> MarkerScheme {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::MARKER, )+ }
            }

            /// Catalogue entry.
            #[must_use]
            pub fn about(self) -> About {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::ABOUT, )+ }
            }

            /// Parameters, without those of the buffer.
            #[must_use]
            pub fn params(self) -> Vec<ParamSpec> {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::Params::specs(), )+ }
            }

            /// True if the scheme decides the order of service itself.
            #[must_use]
            pub fn orders_packets(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::ORDERS_PACKETS, )+ }
            }

            /// True if the scheme may drop a packet that arrives at an empty queue.
            #[must_use]
            pub fn drops_when_empty(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::DROPS_WHEN_EMPTY, )+ }
            }

            /// True if packets of one flow may be reordered.
            #[must_use]
            pub fn reorders_flows(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::REORDERS_FLOWS, )+ }
            }

            /// True if the buffer's limit applies to each user's queue.
            #[must_use]
            pub fn limits_each_user(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::LIMITS_EACH_USER, )+ }
            }

            /// True if the scheme enforces configured rates.
            #[must_use]
            pub fn shapes(self) -> bool {
                match self { $( Self::$Variant => <$Spec as SchemeSpec>::SHAPES, )+ }
            }

            pub(super) fn default_params(self) -> SchemeParams {
                match self { $( Self::$Variant => SchemeParams::$Variant(Default::default()), )+ }
            }

            pub(super) fn read_params(
                self,
                buffer: &BufferParams,
                table: &mut Table<'_>,
            ) -> Result<SchemeParams, ConfigError> {
                match self {
                    $( Self::$Variant => {
                        let params = <$Spec as SchemeSpec>::Params::read(table)?;
                        <$Spec as SchemeSpec>::check(&params, buffer, table)?;
                        Ok(SchemeParams::$Variant(params))
                    } )+
                }
            }
        }

        /// Parameters of a scheme, without those of the buffer.
        #[derive(Clone, Debug, PartialEq)]
        pub enum SchemeParams {
            $( #[doc = concat!("See [`", stringify!($Spec), "`].")] $Variant(<$Spec as SchemeSpec>::Params), )+
            /// A scheme that is not in the list.
            External(ExternalScheme),
        }

        impl SchemeParams {
            pub(super) fn scheme(&self) -> Option<Scheme> {
                match self {
                    $( Self::$Variant(_) => Some(Scheme::$Variant), )+
                    Self::External(_) => None,
                }
            }

            pub(super) fn write(&self, into: &mut Map<String, Json>) {
                match self {
                    $( Self::$Variant(params) => params.write(into), )+
                    Self::External(scheme) => scheme.write(into),
                }
            }

            /// See [`SchemeSpec::holds_back`]; `None` for an external scheme.
            pub(super) fn holds_back(&self) -> Option<(&'static str, BitRate)> {
                match self {
                    $( Self::$Variant(params) => <$Spec as SchemeSpec>::holds_back(params), )+
                    Self::External(_) => None,
                }
            }

            /// See [`SchemeSpec::marks`]; true for an external scheme.
            pub(super) fn marks(&self) -> bool {
                match self {
                    $( Self::$Variant(params) => <$Spec as SchemeSpec>::marks(params), )+
                    Self::External(_) => true,
                }
            }

            pub(super) fn build<P: Packet>(&self, port: &Port<'_>) -> AnyDiscipline<P> {
                match self {
                    Self::Abc(params) if params.ecn == Some(true) => {
                        AnyDiscipline::AbcMarking(AbcScheme::build_marking(params, port))
                    }
                    $( Self::$Variant(params) => AnyDiscipline::$Variant(<$Spec as SchemeSpec>::build(params, port)), )+
                    Self::External(scheme) => AnyDiscipline::External(External::new(scheme, port)),
                }
            }
        }

        /// Any queue discipline, behind one static dispatch.
        #[derive(Debug)]
        pub enum AnyDiscipline<P: Packet> {
            $( #[doc = concat!("See [`", stringify!($Spec), "`].")] $Variant(<$Spec as SchemeSpec>::Discipline<P>), )+
            /// ABC with marks is a separate type, so ABC without marks has no branch for them in the engine's loop.
            AbcMarking(MarkingAbc<P>),
            /// See [`crate::registry::external`].
            External(External<P>),
        }

        /// Calls the same method of any discipline.
        macro_rules! dispatch {
            ($self:expr, $discipline:ident => $call:expr) => {
                match $self {
                    $( AnyDiscipline::$Variant($discipline) => $call, )+
                    AnyDiscipline::AbcMarking($discipline) => $call,
                    AnyDiscipline::External($discipline) => $call,
                }
            };
        }
    };
}

schemes! {
    DropTail = "droptail", "DropTail", aqm::droptail::DropTailScheme;
    Abc = "abc", "ABC", label::abc::AbcScheme;
    Csfq = "csfq", "CSFQ", label::csfq::CsfqScheme;
    Hcsfq = "hcsfq", "HCSFQ", label::hcsfq::HcsfqScheme;
    Afpft = "afpft", "AFpFT", label::afpft::AfpftScheme;
    Rfq = "rfq", "RFQ", label::rfq::RfqScheme;
    Ppv = "ppv", "PPV", label::ppv::PpvScheme;
    PvPie = "pvpie", "PVPIE", label::pvpie::PvPieScheme;
    Abc2016 = "abc2016", "ABC 2016", label::abc2016::Abc2016Scheme;
    Red = "red", "RED", aqm::red::RedScheme;
    Ared = "ared", "ARED", aqm::ared::AredScheme;
    Fred = "fred", "FRED", aqm::fred::FredScheme;
    Blue = "blue", "BLUE", aqm::blue::BlueScheme;
    Sfb = "sfb", "SFB", aqm::sfb::SfbScheme;
    RedPd = "red_pd", "RED-PD", aqm::red_pd::RedPdScheme;
    Pie = "pie", "PIE", aqm::pie::PieScheme;
    DualPi2 = "dualpi2", "DualPI2", aqm::dualpi2::DualPi2Scheme;
    DocsisQp = "docsis_qp", "DOCSIS QP", aqm::docsis_qp::DocsisQpScheme;
    Codel = "codel", "CoDel", aqm::codel::CodelScheme;
    Cobalt = "cobalt", "COBALT", aqm::cobalt::CobaltScheme;
    CodelAf = "codel_af", "CodelAF", aqm::codel_af::CodelAfScheme;
    Care = "care", "CARE", aqm::care::CareScheme;
    Choke = "choke", "CHOKe", aqm::choke::ChokeScheme;
    Black = "black", "BLACK", aqm::black::BlackScheme;
    Afc = "afc", "AFC", aqm::afc::AfcScheme;
    Afd = "afd", "AFD", aqm::afd::AfdScheme;
    Ahab = "ahab", "AHAB", aqm::ahab::AhabScheme;
    CpAqm = "cp_aqm", "CP-AQM", aqm::cp_aqm::CpAqmScheme;
    Wfq = "wfq", "WFQ", fairqueue::wfq::WfqScheme;
    Stfq = "stfq", "STFQ", fairqueue::stfq::StfqScheme;
    Drr = "drr", "DRR", fairqueue::drr::DrrScheme;
    DrrLds = "drr_lds", "DRR-LDS", fairqueue::drr_lds::DrrLdsScheme;
    Sfq = "sfq", "SFQ", fairqueue::sfq::SfqScheme;
    FqCodel = "fq_codel", "FQ-CoDel", fairqueue::fq_codel::FqCodelScheme;
    FqPie = "fq_pie", "FQ-PIE", fairqueue::fq_pie::FqPieScheme;
    Cake = "cake", "CAKE", fairqueue::cake::CakeScheme;
    Afq = "afq", "AFQ", fairqueue::afq::AfqScheme;
    Fdpa = "fdpa", "FDPA", fairqueue::fdpa::FdpaScheme;
    Cebinae = "cebinae", "Cebinae", fairqueue::cebinae::CebinaeScheme;
    SpPifo = "sp_pifo", "SP-PIFO", fairqueue::sp_pifo::SpPifoScheme;
    Aifo = "aifo", "AIFO", fairqueue::aifo::AifoScheme;
    Packs = "packs", "PACKS", fairqueue::packs::PacksScheme;
    Rifo = "rifo", "RIFO", fairqueue::rifo::RifoScheme;
    Htb = "htb", "HTB", fairqueue::htb::HtbScheme;
    Scrr = "scrr", "SCRR", fairqueue::scrr::ScrrScheme;
}

/// Like `dispatch!`, but inlines only the two most frequent schemes at the caller and calls all others. With forty
/// schemes inlined, the engine's loop would be 6 % slower.
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
    fn departed_far(&mut self, packet: &P, behind: Backlog, now: Time) {
        dispatch!(self, discipline => discipline.departed(packet, behind, now));
    }

    #[inline(never)]
    fn idle_far(&mut self, now: Time) {
        dispatch!(self, discipline => discipline.idle(now));
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
    #[inline(always)]
    fn apply(&mut self, function: impl DisciplineFunction<P>) {
        match self {
            Self::DropTail(discipline) => function.call(discipline),
            Self::Abc(discipline) => function.call(discipline),
            other => function.call_far(other),
        }
    }

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

    fn is_fifo(&self) -> bool {
        dispatch!(self, discipline => discipline.is_fifo())
    }

    fn admit(
        &mut self,
        packet: &mut P,
        found: (Backlog, Option<Time>),
        now: Time,
        rng: &mut Rng,
        drops: &mut impl DropSink<P>,
    ) -> bool {
        dispatch!(self, discipline => discipline.admit(packet, found, now, rng, drops))
    }

    #[inline(always)]
    fn departed(&mut self, packet: &P, behind: Backlog, now: Time) {
        dispatch_near!(self, discipline => discipline.departed(packet, behind, now),
            other => other.departed_far(packet, behind, now));
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        dispatch_near!(self, discipline => discipline.idle(now), other => other.idle_far(now));
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        dispatch_near!(self, discipline => discipline.backlog(), other => other.backlog_far())
    }

    #[inline]
    fn upcoming(&self, places: usize) -> Option<&P> {
        dispatch_near!(self, discipline => discipline.upcoming(places), _other => None)
    }

    #[inline(always)]
    fn drop_threshold(&self) -> Option<f64> {
        dispatch_near!(self, discipline => discipline.drop_threshold(), other => other.drop_threshold_far())
    }

    fn ready_at(&self) -> Option<Time> {
        match self {
            Self::Htb(htb) => htb.ready_at(),
            Self::Cake(cake) => cake.ready_at(),
            _ => None,
        }
    }

    fn set_classes(&mut self, classes: ClassTree) {
        if let Self::Htb(htb) = self {
            htb.set_classes(classes);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    #[test]
    fn static_dispatch_keeps_the_port_small() {
        let bytes = size_of::<AnyDiscipline<TestPacket>>();
        assert!(bytes <= 320, "{bytes} bytes: box what the largest scheme seldom touches");
    }
}
