//! The contract of a marker: the edge meters a user and writes a small label into each packet.

use crate::choices;
use crate::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table};
use crate::discipline::StateSize;
use crate::flow::{FlowKey, FlowTable};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{BitRate, Time};
use serde_json::{Map, Value as Json};
use std::fmt::Debug;

/// What one meter is told at its start.
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
    /// Its parameters.
    type Params: ParamSet + Clone + Debug + PartialEq;
    /// What one meter remembers.
    type State: Clone + Debug;
    /// Meters with these parameters.
    fn new(params: &Self::Params) -> Self;
    /// What has a meter of its own.
    fn key(&self) -> FlowKey {
        FlowKey::User
    }
    /// A meter that has seen nothing.
    fn state(&self, spec: &MeterSpec) -> Self::State;
    /// Counts `packet`, offered at `now` to the meter of `state`, and writes its label. Calls for one state come in
    /// the order of time.
    fn mark<P: Packet>(&self, state: &mut Self::State, packet: &mut P, now: Time, rng: &mut Rng);
}

/// A marker with the states of all its meters.
#[derive(Clone, Debug)]
pub struct Bank<M: Marker> {
    marker: M,
    meters: Meters<M::State>,
}

/// States of meters.
#[derive(Clone, Debug)]
enum Meters<S> {
    /// One for each user and ingress.
    OfUsers(Vec<S>),
    /// One for each flow, made at its first packet from the specification of its user.
    OfFlows(FlowTable<S>, Vec<MeterSpec>),
}

impl<M: Marker> Bank<M> {
    /// One meter for each of `users`, numbered in their order, or for each of their flows.
    #[must_use]
    pub fn new(params: &M::Params, users: &[MeterSpec]) -> Self {
        let marker = M::new(params);
        let meters = match marker.key() {
            FlowKey::User => Meters::OfUsers(users.iter().map(|spec| marker.state(spec)).collect()),
            FlowKey::Flow => Meters::OfFlows(FlowTable::default(), users.to_vec()),
        };
        Self { marker, meters }
    }

    /// Counts `packet`, offered at `now`, at the meter of user number `user`, and writes its label.
    // Always: see `ManagedQueue::enqueue`.
    #[inline(always)]
    pub fn mark<P: Packet>(&mut self, user: usize, packet: &mut P, now: Time, rng: &mut Rng) {
        let state = match &mut self.meters {
            Meters::OfUsers(states) => &mut states[user],
            Meters::OfFlows(states, specs) => states.or_insert_with(packet.flow(), || self.marker.state(&specs[user])),
        };
        self.marker.mark(state, packet, now, rng);
    }

    /// Forgets a flow that has ended.
    pub fn forget(&mut self, flow: u32) {
        if let Meters::OfFlows(states, _) = &mut self.meters {
            states.remove(flow);
        }
    }

    /// What the edge remembers now.
    #[must_use]
    pub fn state_size(&self) -> StateSize {
        let (records, bytes) = match &self.meters {
            Meters::OfUsers(states) => (states.len(), size_of_val(states.as_slice())),
            Meters::OfFlows(states, specs) => (states.len(), states.bytes() + size_of_val(specs.as_slice())),
        };
        StateSize { records, bytes }
    }
}

/// Declares the list of markers and what follows from it.
macro_rules! markers {
    ($( $(#[doc = $doc:literal])+ $Variant:ident = $name:literal, $Marker:ty; )+) => {
        choices! {
            /// The markers there are.
            pub enum MarkerScheme {
                /// Packets are not labelled.
                None = "none",
                $( $(#[doc = $doc])+ $Variant = $name, )+
            }
        }

        impl MarkerScheme {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[Self::None, $( Self::$Variant ),+];

            /// The marker's parameters.
            #[must_use]
            pub fn params(self) -> Vec<ParamSpec> {
                match self {
                    Self::None => vec![],
                    $( Self::$Variant => <$Marker as Marker>::Params::specs(), )+
                }
            }
        }

        /// Parameters of the marker that every edge node of a domain runs.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MarkerConfig {
            /// Packets are not labelled.
            None,
            $( $(#[doc = $doc])+ $Variant(<$Marker as Marker>::Params), )+
        }

        impl MarkerConfig {
            /// `scheme` with its defaults.
            #[must_use]
            pub fn of(scheme: MarkerScheme) -> Self {
                match scheme {
                    MarkerScheme::None => Self::None,
                    $( MarkerScheme::$Variant => Self::$Variant(Default::default()), )+
                }
            }

            /// Which marker it is.
            #[must_use]
            pub fn scheme(&self) -> MarkerScheme {
                match self {
                    Self::None => MarkerScheme::None,
                    $( Self::$Variant(_) => MarkerScheme::$Variant, )+
                }
            }

            /// Reads a `[marker]` table; without a `scheme` it is `default`, the marker that the queue needs.
            ///
            /// # Errors
            /// An unknown key or a value out of range.
            pub fn read(table: &mut Table<'_>, default: MarkerScheme) -> Result<Self, ConfigError> {
                let config = match table.optional("scheme", None)?.unwrap_or(default) {
                    MarkerScheme::None => Self::None,
                    $( MarkerScheme::$Variant => Self::$Variant(ParamSet::read(table)?), )+
                };
                table.finish()?;
                Ok(config)
            }

            /// Writes the table that [`MarkerConfig::read`] reads, every default filled in.
            #[must_use]
            pub fn write(&self) -> Map<String, Json> {
                let mut map = Map::new();
                map.insert("scheme".into(), self.scheme().to_json());
                match self {
                    Self::None => {}
                    $( Self::$Variant(params) => params.write(&mut map), )+
                }
                map
            }

            /// The meters of an edge.
            #[must_use]
            pub fn build(&self, users: &[MeterSpec]) -> MarkerBank {
                match self {
                    Self::None => MarkerBank::None,
                    $( Self::$Variant(params) => MarkerBank::$Variant(Bank::new(params, users)), )+
                }
            }
        }

        /// The meters of a whole edge, all of one scheme, behind one static dispatch.
        #[derive(Clone, Debug)]
        pub enum MarkerBank {
            /// Leaves packets as they are.
            None,
            $( $(#[doc = $doc])+ $Variant(Bank<$Marker>), )+
        }

        impl MarkerBank {
            #[inline(never)]
            fn mark_far<P: Packet>(&mut self, user: usize, packet: &mut P, now: Time, rng: &mut Rng) {
                match self {
                    Self::None => {}
                    $( Self::$Variant(bank) => bank.mark(user, packet, now, rng), )+
                }
            }

            /// Forgets a flow that has ended; a packet of it that is late makes a meter again.
            pub fn forget(&mut self, flow: u32) {
                match self {
                    Self::None => {}
                    $( Self::$Variant(bank) => bank.forget(flow), )+
                }
            }

            /// What the edge remembers now.
            #[must_use]
            pub fn state_size(&self) -> StateSize {
                match self {
                    Self::None => StateSize::default(),
                    $( Self::$Variant(bank) => bank.state_size(), )+
                }
            }
        }
    };
}

impl MarkerBank {
    /// As [`Bank::mark`]. As with disciplines, the code of the markers that run most stands in the caller's place.
    #[inline]
    pub fn mark<P: Packet>(&mut self, user: usize, packet: &mut P, now: Time, rng: &mut Rng) {
        match self {
            Self::None => {}
            Self::Abc(bank) => bank.mark(user, packet, now, rng),
            other => other.mark_far(user, packet, now, rng),
        }
    }
}

markers! {
    /// Activity, see [`crate::abc`].
    Abc = "abc", crate::abc::AbcMarker;
    /// Rate, see [`crate::label::csfq`].
    Csfq = "csfq", crate::label::csfq::CsfqMarker;
    /// Rate of each flow, see [`crate::label::hcsfq`].
    Hcsfq = "hcsfq", crate::label::hcsfq::HcsfqMarker;
    /// Negative tag, see [`crate::label::afpft`].
    Afpft = "afpft", crate::label::afpft::AfpftMarker;
    /// Colour, see [`crate::label::rfq`].
    Rfq = "rfq", crate::label::rfq::RfqMarker;
    /// Value, see [`crate::label::ppv`].
    Ppv = "ppv", crate::label::ppv::PpvMarker;
    /// Activity of the first ABC, see [`crate::label::abc2016`].
    Abc2016 = "abc2016", crate::label::abc2016::Abc2016Marker;
}
