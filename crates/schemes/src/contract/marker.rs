//! The interface of a marker: the edge meters a user and writes a small label into each packet.

use crate::base::config::ParamSet;
use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::contract::flow_key::FlowKey;
use crate::contract::packet::Packet;
use std::fmt::Debug;

/// Name of a marker, as used in a scenario. The registry lists all markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerScheme(&'static str);

impl MarkerScheme {
    /// No marker: packets have no labels.
    pub const NONE: Self = Self("none");

    /// The marker called `name`.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Name in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// Initial values of one meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeterSpec {
    /// The part of the user's reference rate assigned to this ingress node, above 0.
    pub reference_rate: BitRate,
    /// The user's weight, above 0, for schemes that share in proportion to weights.
    pub weight: f64,
    /// Start of the measurement.
    pub start: Time,
}

/// Meters users' traffic at the edge and labels their packets. This type stores the data shared by all meters of a
/// domain; each meter has a small separate state.
pub trait Marker {
    /// Name of the marker.
    const SCHEME: MarkerScheme;
    /// Label of the packets that ports drop last or send first. A user that forges labels gains most from this one.
    const BEST_LABEL: f64;
    /// Parameters of the marker.
    type Params: ParamSet + Clone + Debug + PartialEq;
    /// State of one meter.
    type State: Clone + Debug;
    /// Creates meters with these parameters.
    fn new(params: &Self::Params) -> Self;
    /// Unit that is metered.
    fn key(&self) -> FlowKey {
        FlowKey::User
    }
    /// True if labels depend on the reference rate, so that [`Marker::set_reference_rate`] has an effect.
    const HAS_REFERENCE_RATE: bool = false;
    /// Changes the part of the user's reference rate that is assigned to this ingress node.
    fn set_reference_rate(&self, _state: &mut Self::State, _rate: BitRate) {}
    /// Creates the initial state of a meter.
    fn state(&self, spec: &MeterSpec) -> Self::State;
    /// Counts `packet`, offered at `now`, in the meter `state`, and writes the packet's label. Calls for one state must
    /// be in the order of time.
    fn label<P: Packet>(&self, state: &mut Self::State, packet: &mut P, now: Time, rng: &mut Rng);
}
