//! Fetches what events that are due soon will touch.
//!
//! With many flows their state is beyond the caches, and an event waits for each line that it fetches. What comes next
//! in a shared line or on a link is known, so its lines are requested some events before: that costs an instruction
//! each, and the wait is over, or shorter, when the event comes.

use crate::network::Network;
use crate::network::hosts::FlowAck;
use crate::network::sim_packet::{PacketKind, SimPacket};
use crate::network::tcp_flow::flow_index;
use prefetch_index::prefetch_index;
use std::slice::from_ref;

/// How many places behind the first to look.
pub const PLACES_AHEAD: usize = 4;
/// Flows whose state the caches hold, about: fewer are not worth the trouble.
pub const MANY_FLOWS: usize = 4_000;

/// Asks for the cache line in which `value` begins.
#[inline]
fn fetch<T>(value: &T) {
    prefetch_index(from_ref(value), 0);
}

impl Network {
    /// Before an acknowledgement reaches its sender.
    #[inline]
    pub fn fetch_for_ack(&self, ack: &FlowAck) {
        let flow = &self.flows[ack.flow as usize];
        fetch(&flow.armed);
        fetch(&flow.sender);
        self.hosts.fetch(ack.user);
    }

    /// Before a packet reaches its receiver.
    #[inline]
    pub fn fetch_for_packet(&self, packet: &SimPacket) {
        if packet.kind != PacketKind::Udp {
            // Where transfers have numbers of their own, this is the place of another: a line fetched in vain.
            if let Some(flow) = self.flows.get(flow_index(packet.flow) as usize) {
                fetch(&flow.armed);
            }
            self.hosts.fetch(packet.user);
        }
    }
}
