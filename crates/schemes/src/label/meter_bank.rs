//! The meters of an edge: a marker and the state of each meter.

use crate::contract::prelude::*;
use crate::flows::flow_table::FlowTable;
use prefetch_index::prefetch_index;

/// A marker and the states of all its meters.
#[derive(Clone, Debug)]
pub struct MeterBank<M: Marker> {
    marker: M,
    meters: Meters<M::State>,
}

/// States of meters.
#[derive(Clone, Debug)]
enum Meters<S> {
    /// One for each user and ingress node.
    OfUsers(Vec<S>),
    /// One for each flow, created at its first packet from the specification of its user.
    OfFlows(FlowTable<S>, Vec<MeterSpec>),
}

impl<M: Marker> MeterBank<M> {
    /// Creates one meter for each of `users`, in order, or for each of their flows.
    #[must_use]
    pub fn new(params: &M::Params, users: &[MeterSpec]) -> Self {
        let marker = M::new(params);
        let meters = match marker.key() {
            FlowKey::User => Meters::OfUsers(users.iter().map(|spec| marker.state(spec)).collect()),
            FlowKey::Flow => Meters::OfFlows(FlowTable::default(), users.to_vec()),
        };
        Self { marker, meters }
    }

    /// Counts `packet`, offered at `now`, in the meter of user number `user`, and writes the packet's label.
    // Always inlined: see `ManagedQueue::enqueue`.
    #[inline(always)]
    pub fn label<P: Packet>(&mut self, user: usize, packet: &mut P, now: Time, rng: &mut Rng) {
        let state = match &mut self.meters {
            Meters::OfUsers(states) => &mut states[user],
            Meters::OfFlows(states, specs) => states.or_insert_with(packet.flow(), || self.marker.state(&specs[user])),
        };
        self.marker.label(state, packet, now, rng);
    }

    /// Changes the part of the reference rate that is assigned to meter number `meter`.
    pub fn set_reference_rate(&mut self, meter: usize, rate: BitRate) {
        if let Meters::OfUsers(states) = &mut self.meters {
            self.marker.set_reference_rate(&mut states[meter], rate);
        }
    }

    /// Prefetches the meter of user number `user`.
    #[inline]
    pub fn fetch(&self, user: usize) {
        if let Meters::OfUsers(states) = &self.meters {
            prefetch_index(states, user);
        }
    }

    /// Deletes the meter of a flow that has ended.
    pub fn forget(&mut self, flow: u32) {
        if let Meters::OfFlows(states, _) = &mut self.meters {
            states.remove(flow);
        }
    }

    /// Returns true if there is a meter for each flow.
    #[must_use]
    pub fn is_of_flows(&self) -> bool {
        matches!(self.meters, Meters::OfFlows(..))
    }

    /// Current size of the edge's state.
    #[must_use]
    pub fn state_size(&self) -> StateSize {
        let (records, bytes) = match &self.meters {
            Meters::OfUsers(states) => (states.len(), size_of_val(states.as_slice())),
            Meters::OfFlows(states, specs) => (states.len(), states.bytes() + size_of_val(specs.as_slice())),
        };
        StateSize { records, bytes }
    }
}
