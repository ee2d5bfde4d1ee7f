//! Congestion controls: how the window grows with ACKs, and what is left of it after congestion.

pub mod control;
mod cubic;
pub mod dispatch;
mod reno;

use control::{Connection, Control, Flight, Progress};
use fairlane_schemes::base::config::{ConfigError, ParamSet, ParamSpec, Table};
use fairlane_schemes::choices;
use serde_json::{Map, Value as Json};

congestion_controls! {
    /// Linear growth, halved by congestion (RFC 5681).
    Reno = "reno", reno::Reno;
    /// Growth by a cubic function of the time since the last congestion (RFC 9438).
    Cubic = "cubic", cubic::Cubic;
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
            pub(super) fn new(control: CongestionControl) -> Self {
                match control { $( CongestionControl::$Variant => Self::$Variant(Default::default()), )+ }
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
        }
    };
}
use congestion_controls;
