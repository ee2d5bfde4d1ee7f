//! Congestion controls: how the window grows with ACKs, and what is left of it after congestion.

mod bbr1;
mod bbr3;
pub mod catalogue;
pub mod control;
mod copa;
mod cubic;
mod dctcp;
pub mod dispatch;
mod ledbat;
mod ledbat_plus_plus;
mod model;
mod prague;
mod reno;
#[cfg(test)]
mod testing;
mod vegas;

use control::{Authority, Connection, Control, EcnUse, Event, Flight, Moment, Output, Progress, Sample};
use fairlane_schemes::base::config::{ConfigError, ParamSet, ParamSpec, Table};
use fairlane_schemes::choices;
use serde_json::{Map, Value as Json};

congestion_controls! {
    /// Linear growth, halved by congestion (RFC 5681).
    Reno = "reno", reno::Reno;
    /// Growth by a cubic function of the time since the last congestion (RFC 9438).
    Cubic = "cubic", cubic::Cubic;
    /// Backs off by the share of bytes that were marked (RFC 8257).
    Dctcp = "dctcp", dctcp::Dctcp;
    /// Keeps two to four segments of its own in the queue (Brakmo and Peterson, 1995).
    Vegas = "vegas", vegas::Vegas;
    /// Adds a bounded delay to its path and yields to others (RFC 6817).
    Ledbat = "ledbat", ledbat::Ledbat;
    /// LEDBAT with slower growth, and pauses in which queues drain (draft-irtf-iccrg-ledbat-plus-plus).
    LedbatPlusPlus = "ledbat++", ledbat_plus_plus::LedbatPlusPlus;
    /// Aims at a rate that is the inverse of the queuing delay (NSDI 2018).
    Copa = "copa", copa::Copa;
    /// DCTCP for the Internet, independent of short RTTs (draft-briscoe-iccrg-prague-congestion-control).
    Prague = "prague", prague::Prague;
    /// A model of the path, from delivery rates and RTTs (draft-cardwell-iccrg-bbr-congestion-control-00, as in Linux).
    Bbr1 = "bbr1", bbr1::Bbr1;
    /// A model of the path, bounded by losses and marks (draft-ietf-ccwg-bbr).
    Bbr3 = "bbr3", bbr3::Bbr3;
}

/// The list of congestion controls: the choice, the keys, and the state of a sender, dispatched statically.
macro_rules! congestion_controls {
    ($( $(#[doc = $doc:literal])+ $Variant:ident = $name:literal, $module:ident::$Type:ident; )+) => {
        choices! {
            /// How the congestion window grows and shrinks.
            pub enum CongestionControl { $( $(#[doc = $doc])+ $Variant = $name, )+ }
        }

        impl CongestionControl {
            #[inline]
            pub(super) fn has_state(self) -> bool {
                match self { $( Self::$Variant => size_of::<$module::$Type>() > 0, )+ }
            }

            /// What it does, in one sentence.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $( Self::$Variant => concat!($($doc),+).trim_ascii(), )+ }
            }

            /// Name of its module.
            #[must_use]
            pub fn module(self) -> &'static str {
                match self { $( Self::$Variant => stringify!($module), )+ }
            }

            /// Its own keys of the `[tcp]` table.
            #[must_use]
            pub fn params(self) -> Vec<ParamSpec> {
                match self { $( Self::$Variant => <$module::$Type as Control>::Params::specs(), )+ }
            }

            /// Who decides on the window after an ACK.
            #[must_use]
            #[inline]
            pub fn authority(self) -> Authority {
                match self { $( Self::$Variant => <$module::$Type as Control>::AUTHORITY, )+ }
            }

            /// Whether only a sender with a record per segment serves it.
            #[must_use]
            pub fn needs_samples(self) -> bool {
                match self { $( Self::$Variant => <$module::$Type as Control>::NEEDS_SAMPLES, )+ }
            }

            /// The feedback on congestion marks that it needs.
            #[must_use]
            #[inline]
            pub fn ecn_use(self) -> EcnUse {
                match self { $( Self::$Variant => <$module::$Type as Control>::ECN, )+ }
            }
        }

        /// Parameters of each congestion control: the keys of all stand in one table.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct CongestionParams { $( $(#[doc = $doc])+ pub $module: <$module::$Type as Control>::Params, )+ }

        impl ParamSet for CongestionParams {
            fn specs() -> Vec<ParamSpec> {
                [$( <$module::$Type as Control>::Params::specs() ),+].concat()
            }
            fn read_over(base: Self, table: &mut Table<'_>) -> Result<Self, ConfigError> {
                Ok(Self { $( $module: ParamSet::read_over(base.$module, table)?, )+ })
            }
            fn write(&self, into: &mut Map<String, Json>) {
                $( self.$module.write(into); )+
            }
        }

        #[derive(Clone, Debug)]
        /// What the control of one sender remembers.
        pub enum State { $( $Variant($module::$Type), )+ }

        impl State {
            #[inline]
            pub(super) fn new(control: CongestionControl, of: Connection, params: &CongestionParams, seed: u64) -> Self {
                match control { $(
                    CongestionControl::$Variant => Self::$Variant(Control::new(of, &params.$module, seed)),
                )+ }
            }
            #[inline]
            fn avoid(&mut self, of: Connection, params: &CongestionParams, cwnd: &mut u32, progress: Progress) {
                match self { $( Self::$Variant(own) => own.avoid(of, &params.$module, cwnd, progress), )+ }
            }
            fn reduce(&mut self, of: Connection, params: &CongestionParams, flight: Flight) -> u64 {
                match self { $( Self::$Variant(own) => own.reduce(of, &params.$module, flight), )+ }
            }
            fn timed_out(&mut self) {
                match self { $( Self::$Variant(own) => own.timed_out(), )+ }
            }
            #[inline]
            fn on_sample(&mut self, of: Connection, params: &CongestionParams, output: &mut Output, sample: &Sample) {
                match self { $( Self::$Variant(own) => own.on_sample(of, &params.$module, output, sample), )+ }
            }
            fn on_event(
                &mut self, of: Connection, params: &CongestionParams, output: &mut Output, event: Event, at: &Moment,
            ) {
                match self { $( Self::$Variant(own) => own.on_event(of, &params.$module, output, event, at), )+ }
            }
        }
    };
}
use congestion_controls;
