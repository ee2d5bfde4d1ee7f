//! Congestion control: how the window grows with ACKs and what is left of it after congestion.
//!
//! Source: RFC 5681 3.1 (slow start), RFC 3465 (byte counting). Windows are in bytes.

mod cubic;
mod reno;

use super::{TcpParams, clamped};
use fairlane_schemes::base::config::{ConfigError, ParamSet, ParamSpec, Table};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::choices;
use serde_json::{Map, Value as Json};
use std::fmt::Debug;

congestion_controls! {
    /// Linear growth, halved by congestion (RFC 5681).
    Reno = "reno", reno::Reno;
    /// Growth by a cubic function of the time since the last congestion (RFC 9438).
    Cubic = "cubic", cubic::Cubic;
}

choices! {
    /// What the slow-start threshold of Reno is half of.
    pub enum FlightSize {
        /// What is in the network: without what duplicate ACKs or SACK blocks say has left it.
        Pipe = "pipe",
        /// What is not acknowledged in order, at most the congestion window.
        Outstanding = "outstanding",
    }
}

/// An ACK of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Segments that it acknowledges and that count for growth.
    pub segments: u32,
    /// When it came.
    pub now: Time,
    /// Smoothed RTT.
    pub srtt: Time,
}

/// What is outstanding when congestion shows, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Congestion window.
    pub cwnd: u32,
    /// Sent and not acknowledged in order.
    pub outstanding: u64,
    /// The part of it that is still in the network.
    pub pipe: u64,
}

impl Flight {
    /// RFC 5681 FlightSize without what limited transmit added (RFC 3042), and RFC 9438 4.6 flight_size.
    fn used(&self) -> u64 {
        self.outstanding.min(u64::from(self.cwnd))
    }
}

/// How a congestion control treats the window of one sender; slow start and the least windows are common to all.
pub trait Control: Clone + Debug + Default {
    /// Its own keys of the `[tcp]` table.
    type Params: ParamSet;

    /// Growth in congestion avoidance.
    fn avoid(&mut self, tcp: &TcpParams, params: &Self::Params, cwnd: &mut u32, progress: Progress);

    /// Congestion: what is left of the window, in bytes.
    fn reduce(&mut self, tcp: &TcpParams, params: &Self::Params, flight: Flight) -> u64;

    /// A timeout, after [`Control::reduce`] or instead of it.
    fn timed_out(&mut self) {}
}

/// The congestion control of one sender; empty for one without state, such as Reno.
#[derive(Clone, Debug)]
pub(super) struct Congestion(Option<Box<State>>);

impl Congestion {
    pub(super) fn new(params: &TcpParams) -> Self {
        Self(params.congestion_control.has_state().then(|| State::new(params.congestion_control).into()))
    }

    #[inline]
    fn with_state<R>(&mut self, params: &TcpParams, act: impl FnOnce(&mut State) -> R) -> R {
        // The parameters, which all flows share, are at hand; `self` of Reno need not be fetched.
        if params.congestion_control.has_state()
            && let Some(state) = &mut self.0
        {
            return act(state);
        }
        act(&mut State::new(params.congestion_control))
    }

    /// Window growth. The ACK that crosses `ssthresh` counts in slow start first, then with what is left of it in
    /// congestion avoidance.
    #[inline]
    pub(super) fn grow(&mut self, params: &TcpParams, cwnd: &mut u32, ssthresh: u32, mut progress: Progress) {
        //= RFC 5681 3.1-8: Slow start below ssthresh, congestion avoidance above, either where they are equal.
        //= RFC 9438 4.10-1: Below ssthresh cwnd grows by slow start.
        //= RFC 9438 4.10-3: Slow start is that of Reno.
        if *cwnd < ssthresh && progress.segments > 0 {
            // RFC 5681 3.1, eq. (2); RFC 3465 2.2 without the limit L if bytes are counted.
            let mss = params.segment_payload;
            //= RFC 5681 3.1-9: In slow start an ACK adds the bytes that it covers, one segment at most.
            //= RFC 5681 3.1-9, deviation: In slow start an ACK adds the bytes that it covers, one segment at most.
            //= RFC 3465 2.2-1: In slow start an ACK adds what it covers, up to a limit L.
            //= RFC 3465 2.3-2, deviation: L is not above two segments.
            //= RFC 3465 2.3-3, deviation: L is one segment in the slow start after a timeout.
            let most = if params.byte_counting { (ssthresh - *cwnd).div_ceil(mss) } else { 1 };
            let steps = progress.segments.min(most);
            *cwnd = cwnd.saturating_add(steps.saturating_mul(mss));
            progress.segments -= steps;
        }
        if *cwnd >= ssthresh && progress.segments > 0 {
            self.with_state(params, |state| state.avoid(params, cwnd, progress));
        }
    }

    /// Congestion: the new slow-start threshold, at least two segments.
    pub(super) fn reduce(&mut self, params: &TcpParams, flight: Flight) -> u32 {
        //= RFC 9438 4.6-6, deviation: Marks reduce cwnd down to one segment.
        //= RFC 9438 4.6-7, deviation: Marks at a cwnd of one segment slow the sender further.
        clamped(self.with_state(params, |state| state.reduce(params, flight))).max(2 * params.segment_payload)
    }

    /// A timeout, after [`Congestion::reduce`] or instead of it.
    pub(super) fn timed_out(&mut self) {
        if let Some(state) = &mut self.0 {
            state.timed_out();
        }
    }
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
            fn has_state(self) -> bool {
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
        enum State { $( $Variant($module::$Type), )+ }

        impl State {
            #[inline]
            fn new(control: CongestionControl) -> Self {
                match control { $( CongestionControl::$Variant => Self::$Variant(Default::default()), )+ }
            }
            #[inline]
            fn avoid(&mut self, tcp: &TcpParams, cwnd: &mut u32, progress: Progress) {
                match self { $( Self::$Variant(own) => own.avoid(tcp, &tcp.congestion.$module, cwnd, progress), )+ }
            }
            fn reduce(&mut self, tcp: &TcpParams, flight: Flight) -> u64 {
                match self { $( Self::$Variant(own) => own.reduce(tcp, &tcp.congestion.$module, flight), )+ }
            }
            fn timed_out(&mut self) {
                match self { $( Self::$Variant(own) => own.timed_out(), )+ }
            }
        }
    };
}
use congestion_controls;
