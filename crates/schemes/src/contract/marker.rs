//! The contract of a marker: the edge meters a user and writes a small label into each packet.

use crate::base::config::ParamSet;
use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::contract::flow_key::FlowKey;
use crate::contract::packet::Packet;
use std::fmt::Debug;

/// Names a marker, as a scenario does. Which there are, the registry knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerScheme(&'static str);

impl MarkerScheme {
    /// Packets are not labelled.
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
    /// The part of the user's reference rate that belongs to this ingress, above 0.
    pub reference_rate: BitRate,
    /// The user's weight, above 0, for schemes that share in proportion to weights.
    pub weight: f64,
    /// When the measurement starts.
    pub start: Time,
}

/// Meters users' traffic at the edge and labels their packets. It holds what all meters of a domain have in common;
/// the state of each is apart and small.
pub trait Marker {
    /// Name.
    const SCHEME: MarkerScheme;
    /// The label that ports treat best: the best forgery for a user.
    const BEST_LABEL: f64;
    /// Parameters.
    type Params: ParamSet + Clone + Debug + PartialEq;
    /// State of one meter.
    type State: Clone + Debug;
    /// Meters with these parameters.
    fn new(params: &Self::Params) -> Self;
    /// Unit that is metered.
    fn key(&self) -> FlowKey {
        FlowKey::User
    }
    /// A meter that has seen nothing.
    fn state(&self, spec: &MeterSpec) -> Self::State;
    /// Counts `packet`, offered at `now` to the meter of `state`, and writes its label. Calls for one state come in
    /// the order of time.
    fn label<P: Packet>(&self, state: &mut Self::State, packet: &mut P, now: Time, rng: &mut Rng);
}
