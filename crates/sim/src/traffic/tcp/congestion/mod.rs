//! Congestion controls: growth of the window with ACKs, and reduction after congestion.

mod bbr1;
mod bbr3;
pub mod catalogue;
pub mod control;
mod copa;
mod cubic;
mod dctcp;
pub mod dispatch;
pub mod external;
mod ledbat;
mod ledbat_plus_plus;
mod model;
mod prague;
mod reno;
#[cfg(test)]
mod testing;
mod vegas;

pub use cubic::CubicClock;

use control::{Authority, Connection, Control, EcnUse, Event, Flight, Moment, Output, Progress, Sample, Window};
use external::{External, ExternalParams, Outside};
use fairlane_schemes::base::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::LazyLock;

congestion_controls! {
    /// Grows linearly and halves the window after congestion (RFC 5681).
    Reno = "reno", reno::Reno;
    /// Grows by a cubic function of the time since the last congestion (RFC 9438).
    Cubic = "cubic", cubic::Cubic;
    /// Reduces the window in proportion to the share of marked bytes (RFC 8257).
    Dctcp = "dctcp", dctcp::Dctcp;
    /// Keeps two to four of its segments in the queue (Brakmo and Peterson, 1995).
    Vegas = "vegas", vegas::Vegas;
    /// Adds a limited delay to its path and yields to other flows (RFC 6817).
    Ledbat = "ledbat", ledbat::Ledbat;
    /// LEDBAT with slower growth, and pauses in which queues drain (draft-irtf-iccrg-ledbat-plus-plus).
    LedbatPlusPlus = "ledbat++", ledbat_plus_plus::LedbatPlusPlus;
    /// Aims at a rate that is inversely proportional to the queuing delay (NSDI 2018).
    Copa = "copa", copa::Copa;
    /// DCTCP for the Internet, with RTT independence (draft-briscoe-iccrg-prague-congestion-control).
    Prague = "prague", prague::Prague;
    /// Uses a model of the path, from delivery rates and RTTs (draft-cardwell-iccrg-bbr-congestion-control-00, as in
    /// Linux).
    Bbr1 = "bbr1", bbr1::Bbr1;
    /// Uses a model of the path, limited by losses and marks (draft-ietf-ccwg-bbr).
    Bbr3 = "bbr3", bbr3::Bbr3;
}

/// Declares the congestion controls: the enum, the keys, and the state of a sender with static dispatch.
macro_rules! congestion_controls {
    ($( $(#[doc = $doc:literal])+ $Variant:ident = $name:literal, $module:ident::$Type:ident; )+) => {
        /// Algorithms of the congestion window.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CongestionControl {
            $( $(#[doc = $doc])+ $Variant, )+
            /// A control that is not in the list, but in [`CongestionParams::external`].
            External(Outside),
        }

        impl CongestionControl {
            /// The listed controls, in the order of the documentation.
            pub const ALL: &[Self] = &[$( Self::$Variant ),+];

            /// Name in a configuration. The name of an external control is in [`CongestionParams::external`].
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$Variant => $name, )+ Self::External(_) => "external" }
            }

            #[inline]
            pub(super) fn has_state(self) -> bool {
                match self { $( Self::$Variant => size_of::<$module::$Type>() > 0, )+ Self::External(_) => true }
            }

            /// Summary, in one sentence.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $( Self::$Variant => concat!($($doc),+).trim_ascii(), )+ Self::External(_) => "" }
            }

            /// Name of its module.
            #[must_use]
            pub fn module(self) -> &'static str {
                match self { $( Self::$Variant => stringify!($module), )+ Self::External(_) => "external" }
            }

            /// Keys of the `[tcp]` table that belong to the control.
            #[must_use]
            pub fn params(self) -> Vec<ParamSpec> {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::Params::specs(), )+
                    Self::External(_) => Vec::new(),
                }
            }

            /// Keys of the connection that this control reads, except those that every control reads.
            pub(super) fn reads(self) -> &'static [&'static str] {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::READS, )+
                    // An external control may read these keys, since they are in [`Connection`].
                    Self::External(_) => &["byte_counting", "flight_size"],
                }
            }

            /// Pairs of the control's keys; the first value of a pair must not exceed the second.
            #[must_use]
            pub fn ordered(self) -> &'static [(&'static str, &'static str)] {
                match self { $( Self::$Variant => <$module::$Type as Control>::ORDERED, )+ Self::External(_) => &[] }
            }

            /// Part of the window that the control sets after an ACK.
            #[must_use]
            #[inline]
            pub fn authority(self) -> Authority {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::AUTHORITY, )+
                    Self::External(outside) => outside.authority,
                }
            }

            /// Returns true if the control is outside this crate.
            #[must_use]
            #[inline]
            pub fn is_external(self) -> bool {
                matches!(self, Self::External(_))
            }

            /// Returns true if the control requires a sender with a record per segment.
            #[must_use]
            #[inline]
            pub fn needs_samples(self) -> bool {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::NEEDS_SAMPLES, )+
                    Self::External(_) => true,
                }
            }

            /// Returns true if each lost segment is reported to the control.
            #[inline]
            pub(super) fn hears_losses(self) -> bool {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::HEARS_LOSSES, )+
                    Self::External(_) => true,
                }
            }

            /// Returns true if a loss causes a second reduction while a mark is reducing the window.
            pub(super) fn answers_loss_after_mark(self) -> bool {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::LOSS_AFTER_MARK, )+
                    Self::External(_) => false,
                }
            }

            /// Returns true if multiplying all times and dividing all rates by the same factor does not change the
            /// behaviour of the control.
            #[must_use]
            pub fn is_scale_free(self) -> bool {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::SCALE_FREE, )+
                    Self::External(_) => false,
                }
            }

            /// Feedback on congestion marks that the control needs.
            #[must_use]
            #[inline]
            pub fn ecn_use(self) -> EcnUse {
                match self {
                    $( Self::$Variant => <$module::$Type as Control>::ECN, )+
                    Self::External(outside) => outside.ecn,
                }
            }
        }

        impl ConfigValue for CongestionControl {
            const KIND: &'static str = "choice";
            const EXAMPLE: &'static str = "";
            const CHOICES: Option<&'static [&'static str]> = Some(&[$($name),+]);
            fn parse(value: &Json) -> Option<Self> {
                match value.as_str()? { $( $name => Some(Self::$Variant), )+ _ => None }
            }
            fn to_json(&self) -> Json {
                self.name().into()
            }
            fn within(&self, _: &Self, _: &Self) -> bool {
                true
            }
        }

        /// Parameters of all congestion controls; their keys are in one table.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct CongestionParams {
            $( $(#[doc = $doc])+ pub $module: <$module::$Type as Control>::Params, )+
            /// External control, if one is selected.
            pub external: ExternalParams,
        }

        impl ParamSet for CongestionParams {
            fn specs() -> Vec<ParamSpec> {
                [$( <$module::$Type as Control>::Params::specs() ),+].concat()
            }
            fn read_over(base: Self, table: &mut Table<'_>) -> Result<Self, ConfigError> {
                Ok(Self {
                    $( $module: ParamSet::read_over(base.$module, table)?, )+
                    external: base.external,
                })
            }
            fn write(&self, into: &mut Map<String, Json>) {
                $( self.$module.write(into); )+
                self.external.write(into);
            }
        }

        /// State of a sender's control.
        #[derive(Debug)]
        pub enum State { $( $Variant($module::$Type), )+ External(External) }

        impl State {
            // Always inlined, so that a control without state costs nothing.
            #[inline(always)]
            pub(super) fn new(
                control: CongestionControl,
                of: Connection,
                params: &CongestionParams,
                seed: u64,
            ) -> Self {
                match control { $(
                    CongestionControl::$Variant => Self::$Variant(Control::new(of, &params.$module, seed)),
                )+
                    CongestionControl::External(_) => Self::External(Control::new(of, &params.external, seed)),
                }
            }
            #[inline(always)]
            fn avoid(&mut self, of: Connection, params: &CongestionParams, window: Window<'_>, progress: Progress) {
                match self {
                    $( Self::$Variant(own) => own.avoid(of, &params.$module, window, progress), )+
                    Self::External(own) => own.avoid(of, &params.external, window, progress),
                }
            }
            fn reduce(&mut self, of: Connection, params: &CongestionParams, flight: Flight) -> u64 {
                match self {
                    $( Self::$Variant(own) => own.reduce(of, &params.$module, flight), )+
                    Self::External(own) => own.reduce(of, &params.external, flight),
                }
            }
            fn timed_out(&mut self) {
                match self { $( Self::$Variant(own) => own.timed_out(), )+ Self::External(own) => own.timed_out() }
            }
            #[inline]
            fn on_sample(&mut self, of: Connection, params: &CongestionParams, output: &mut Output, sample: &Sample) {
                match self {
                    $( Self::$Variant(own) => own.on_sample(of, &params.$module, output, sample), )+
                    Self::External(own) => own.on_sample(of, &params.external, output, sample),
                }
            }
            fn on_event(
                &mut self, of: Connection, params: &CongestionParams, output: &mut Output, event: Event, at: &Moment,
            ) {
                match self {
                    $( Self::$Variant(own) => own.on_event(of, &params.$module, output, event, at), )+
                    Self::External(own) => own.on_event(of, &params.external, output, event, at),
                }
            }
        }
    };
}
use congestion_controls;

impl CongestionParams {
    #[must_use]
    pub(super) fn with_cubic_clock(cubic_clock: CubicClock) -> Self {
        Self { cubic: cubic::CubicParams { cubic_clock, ..Default::default() }, ..Default::default() }
    }

    #[must_use]
    pub(super) fn linux() -> Self {
        Self {
            dctcp: dctcp::DctcpParams { dctcp_alpha_steps: 1024, ..Default::default() }, // DCTCP_MAX_ALPHA
            vegas: vegas::VegasParams { vegas_grows_unused: true, ..Default::default() }, // tcp_vegas_cong_avoid
            ..Self::with_cubic_clock(CubicClock::Sending)                                // cubictcp_cwnd_event
        }
    }
}

/// Controls that read a key of the `[tcp]` table; empty for a key that no control reads.
pub fn readers(key: &str) -> &'static [CongestionControl] {
    static READERS: LazyLock<HashMap<&str, Vec<CongestionControl>>> = LazyLock::new(|| {
        let mut readers = HashMap::<_, Vec<_>>::new();
        for &control in CongestionControl::ALL {
            let own = control.params().into_iter().map(|spec| spec.name);
            for key in own.chain(control.reads().iter().copied()) {
                readers.entry(key).or_default().push(control);
            }
        }
        readers
    });
    READERS.get(key).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::control::{Cause, FlightSize};
    use super::testing::OF;
    use super::*;
    use fairlane_schemes::base::units::Time;

    /// Window growth in congestion avoidance, and window after a loss.
    fn windows(control: CongestionControl, of: Connection) -> (u32, u64) {
        let params = CongestionParams::default();
        let mut state = State::new(control, of, &params, 1);
        let (mut cwnd, mut counted) = (10 * of.mss, 0);
        let rtt = Time::from_millis(100);
        let window = Window { cwnd: &mut cwnd, counted: &mut counted };
        state.avoid(of, &params, window, Progress { segments: 2, now: Time::ZERO, srtt: rtt, min_rtt: rtt });
        let flight = Flight { cwnd, outstanding: 10_000, pipe: 6000, cause: Cause::Loss };
        (cwnd, state.reduce(of, &params, flight))
    }

    #[test]
    fn a_control_reads_only_those_keys_of_the_connection_that_it_names() {
        for &control in CongestionControl::ALL {
            let (cwnd, left) = windows(control, OF);
            let (by_ack, _) = windows(control, Connection { byte_counting: false, ..OF });
            assert!(cwnd == by_ack || control.reads().contains(&"byte_counting"), "{}", control.name());
            let (_, of_pipe) = windows(control, Connection { flight_size: FlightSize::Pipe, ..OF });
            assert!(left == of_pipe || control.reads().contains(&"flight_size"), "{}", control.name());
        }
        let of_reno =
            [CongestionControl::Reno, CongestionControl::Dctcp, CongestionControl::Vegas, CongestionControl::Ledbat];
        assert_eq!(readers("flight_size"), of_reno);
        assert_eq!(readers("cubic_c"), [CongestionControl::Cubic]);
        assert!(readers("initial_window").is_empty());
    }
}
