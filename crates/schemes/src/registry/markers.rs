//! The list of all markers, and the factory that builds the meters of an edge.

use crate::base::config::{ConfigError, ConfigValue, ParamSet, ParamSpec, Table};
use crate::base::rng::Rng;
use crate::base::units::{BitRate, Time};
use crate::contract::discipline::StateSize;
use crate::contract::marker::{Marker, MarkerScheme, MeterSpec};
use crate::contract::packet::Packet;
use crate::label::meter_bank::MeterBank;
use serde_json::{Map, Value as Json};

/// Declares the list of markers and everything derived from it.
macro_rules! markers {
    ($( $Variant:ident = $Marker:ty; )+) => {
        impl MarkerScheme {
            /// All markers, in the order of the documentation.
            pub const ALL: &'static [Self] = &[Self::NONE, $( <$Marker>::SCHEME ),+];

            /// The marker's parameters.
            #[must_use]
            pub fn params(self) -> Vec<ParamSpec> {
                $( if self == <$Marker>::SCHEME {
                    return <$Marker as Marker>::Params::specs();
                } )+
                vec![]
            }

            /// The label of packets that ports drop last or send first. For the marker `none` it is 0, the label of
            /// packets that no marker has labelled.
            #[must_use]
            pub fn best_label(self) -> f64 {
                $( if self == <$Marker>::SCHEME {
                    return <$Marker as Marker>::BEST_LABEL;
                } )+
                0.0
            }
        }

        impl ConfigValue for MarkerScheme {
            const KIND: &'static str = "choice";
            const EXAMPLE: &'static str = Self::NONE.name();
            const CHOICES: Option<&'static [&'static str]> = Some(&[Self::NONE.name(),
                $( <$Marker>::SCHEME.name() ),+]);
            fn parse(value: &Json) -> Option<Self> {
                Self::ALL.iter().copied().find(|scheme| value.as_str() == Some(scheme.name()))
            }
            fn to_json(&self) -> Json {
                self.name().into()
            }
            fn within(&self, _: &Self, _: &Self) -> bool {
                true
            }
        }

        /// Parameters of the marker that every edge node of a domain runs.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MarkerConfig {
            /// Packets have no labels.
            None,
            $( #[doc = concat!("See [`", stringify!($Marker), "`].")] $Variant(<$Marker as Marker>::Params), )+
        }

        impl MarkerConfig {
            /// Creates the configuration of `scheme` with default parameters.
            #[must_use]
            pub fn of(scheme: MarkerScheme) -> Self {
                $( if scheme == <$Marker>::SCHEME {
                    return Self::$Variant(Default::default());
                } )+
                Self::None
            }

            /// Name of the marker.
            #[must_use]
            pub fn scheme(&self) -> MarkerScheme {
                match self {
                    Self::None => MarkerScheme::NONE,
                    $( Self::$Variant(_) => <$Marker>::SCHEME, )+
                }
            }

            /// Reads a `[marker]` table. If the key `scheme` is absent, the marker is `default`, the one that the queue
            /// needs.
            ///
            /// # Errors
            /// If a key is unknown or a value is out of range.
            pub fn read(table: &mut Table<'_>, default: MarkerScheme) -> Result<Self, ConfigError> {
                let mut config = Self::of(table.optional("scheme", None)?.unwrap_or(default));
                match &mut config {
                    Self::None => {}
                    $( Self::$Variant(params) => *params = ParamSet::read(table)?, )+
                }
                table.finish()?;
                Ok(config)
            }

            /// Writes the table that [`MarkerConfig::read`] reads, including defaults.
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

            /// Returns true if the labels depend on reference rates.
            #[must_use]
            pub fn has_reference_rate(&self) -> bool {
                match self {
                    Self::None => false,
                    $( Self::$Variant(_) => <$Marker as Marker>::HAS_REFERENCE_RATE, )+
                }
            }

            /// Creates the meters of an edge node.
            #[must_use]
            pub fn build(&self, users: &[MeterSpec]) -> AnyMeterBank {
                match self {
                    Self::None => AnyMeterBank::None,
                    $( Self::$Variant(params) => AnyMeterBank::$Variant(MeterBank::new(params, users)), )+
                }
            }
        }

        /// The meters of an edge, all of one scheme, behind one static dispatch.
        #[derive(Clone, Debug)]
        pub enum AnyMeterBank {
            /// Leaves packets unchanged.
            None,
            $( #[doc = concat!("See [`", stringify!($Marker), "`].")] $Variant(MeterBank<$Marker>), )+
        }

        impl AnyMeterBank {
            #[inline(never)]
            fn label_far<P: Packet>(&mut self, user: usize, packet: &mut P, now: Time, rng: &mut Rng) {
                match self {
                    Self::None => {}
                    $( Self::$Variant(bank) => bank.label(user, packet, now, rng), )+
                }
            }

            /// Like [`MeterBank::set_reference_rate`].
            pub fn set_reference_rate(&mut self, meter: usize, rate: BitRate) {
                match self {
                    Self::None => {}
                    $( Self::$Variant(bank) => bank.set_reference_rate(meter, rate), )+
                }
            }

            /// Prefetches the meter of user number `user`.
            #[inline]
            pub fn fetch(&self, user: usize) {
                match self {
                    Self::None => {}
                    $( Self::$Variant(bank) => bank.fetch(user), )+
                }
            }

            /// Deletes the meter of a flow that has ended; a late packet creates it again.
            pub fn forget(&mut self, flow: u32) {
                match self {
                    Self::None => {}
                    $( Self::$Variant(bank) => bank.forget(flow), )+
                }
            }

            /// Returns true if there is a meter for each flow.
            #[must_use]
            pub fn is_of_flows(&self) -> bool {
                match self {
                    Self::None => false,
                    $( Self::$Variant(bank) => bank.is_of_flows(), )+
                }
            }

            /// Present size of the edge's state.
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

impl AnyMeterBank {
    /// Like [`MeterBank::label`]. The code of the most frequent markers is inlined at the caller, as for disciplines.
    #[inline]
    pub fn label<P: Packet>(&mut self, user: usize, packet: &mut P, now: Time, rng: &mut Rng) {
        match self {
            Self::None => {}
            Self::Abc(bank) => bank.label(user, packet, now, rng),
            other => other.label_far(user, packet, now, rng),
        }
    }
}

markers! {
    Abc = crate::label::abc::AbcMarker;
    Csfq = crate::label::csfq::CsfqMarker;
    Hcsfq = crate::label::hcsfq::HcsfqMarker;
    Afpft = crate::label::afpft::AfpftMarker;
    Rfq = crate::label::rfq::RfqMarker;
    Ppv = crate::label::ppv::PpvMarker;
    Abc2016 = crate::label::abc2016::Abc2016Marker;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::BitRate;
    use crate::registry::schemes::Scheme;
    use crate::testing::TestPacket;

    /// The label of a packet after the meter must not depend on a label that the user wrote before.
    #[test]
    fn no_marker_reads_the_label_that_a_packet_comes_with() {
        let spec = MeterSpec { reference_rate: BitRate(1_000_000), weight: 1.0, start: Time::ZERO };
        for &scheme in MarkerScheme::ALL.iter().filter(|&&scheme| scheme != MarkerScheme::NONE) {
            let labels = |forged: f64| {
                let mut bank = MarkerConfig::of(scheme).build(&[spec]);
                let mut rng = Rng::stream(1, 0, "test", 0);
                let label = |tick| {
                    let mut packet = TestPacket { label: forged, ..Default::default() };
                    bank.label(0, &mut packet, Time::from_millis(tick), &mut rng);
                    packet.label
                };
                (0..1000).map(label).collect::<Vec<_>>()
            };
            assert_eq!(labels(scheme.best_label()), labels(f64::MAX), "{}", scheme.name());
        }
    }

    #[test]
    fn the_marker_that_a_scheme_names_is_in_the_list() {
        for scheme in Scheme::ALL {
            assert_eq!(MarkerConfig::of(scheme.marker()).scheme(), scheme.marker());
        }
    }
}
