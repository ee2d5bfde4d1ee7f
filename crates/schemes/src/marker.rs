//! The contract of a marker: the edge meters a user and writes a small label into each packet.

use crate::abc::{AbcMeter, MeterParams};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{BitRate, Time};

/// Meters one user's traffic at the edge and labels its packets.
pub trait Marker {
    /// Counts `packet`, offered at `now`, and writes its label. Calls come in the order of time.
    fn mark<P: Packet>(&mut self, packet: &mut P, now: Time, rng: &mut Rng);
}

crate::choices! {
    /// The markers there are.
    pub enum MarkerScheme {
        /// Packets are not labelled.
        None = "none",
        /// Activity, see [`crate::abc`].
        Abc = "abc",
    }
}

/// Parameters of the marker that every edge node of a domain runs.
#[derive(Clone, Debug, PartialEq)]
pub enum MarkerConfig {
    /// Packets are not labelled.
    None,
    /// Activity meter.
    Abc(MeterParams),
}

impl MarkerConfig {
    /// A marker for one user, its measurement started at `start`. `reference_rate` is the part of the user's
    /// reference rate that belongs to this ingress.
    #[must_use]
    pub fn build(&self, reference_rate: BitRate, start: Time) -> AnyMarker {
        match self {
            Self::None => AnyMarker::None,
            Self::Abc(params) => AnyMarker::Abc(AbcMeter::new(params, reference_rate.as_f64(), start)),
        }
    }
}

/// All markers behind one static dispatch.
#[derive(Clone, Debug)]
pub enum AnyMarker {
    /// Leaves the packet as it is.
    None,
    /// Activity meter.
    Abc(AbcMeter),
}

impl Marker for AnyMarker {
    #[inline]
    fn mark<P: Packet>(&mut self, packet: &mut P, now: Time, rng: &mut Rng) {
        match self {
            Self::None => {}
            Self::Abc(meter) => meter.mark(packet, now, rng),
        }
    }
}
